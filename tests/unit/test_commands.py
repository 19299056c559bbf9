"""Command buffers: what a call may be given, tables that threads do not share, and kernels spread over cores."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from soundline.impl.arrays import memory
from soundline.impl.codegen.c.renderer import render
from soundline.impl.program.compile import Program, compile  # noqa: A004
from soundline.impl.runtime import commands, cpu
from soundline.impl.runtime.commands import Command, CommandBuffer
from soundline.impl.runtime.host import host
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32, int32
from soundline.spec.errors import CompileError, UsageError
from soundline.spec.uop import AxisType, Op, UOp, buffer, const, loop

F32 = np.dtype(np.float32)
SOURCE = """#include <stdint.h>
const uint32_t soundline_commands[] = {2, 1, 1};
void soundline_run(void **slot, uint32_t command, uint32_t core, uint32_t cores) {
    float *out = slot[1];
    if (command == 0) out[0] = ((float *)slot[0])[0] * 2;
    else out[0] = ((float *)slot[0])[0] + 1;
}
"""
"""Kernel 0 doubles, kernel 1 adds one; each from its slot 0 to its slot 1."""


@pytest.fixture
def kernels() -> list[Command]:
    return cpu.build(SOURCE).commands


@pytest.fixture(params=["read where they lie", "asked in Python"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in which a call finds its arguments."""
    if request.param == "asked in Python":
        monkeypatch.setattr(host(), "layout", None)
    return str(request.param)


def one(value: float) -> np.ndarray:
    return np.array([value], np.float32)


# Commands ---------------------------------------------------------------------------------------------------------


def test_commands_run_in_order_over_their_slots(kernels: list[Command], road: str) -> None:
    double, increment = (k.run for k in kernels), kernels[1].number
    assert increment == 1
    run = next(double)
    # slots: 0 the argument, 1 and 2 results; (x * 2, (x * 2) + 1)
    table = CommandBuffer([Command(run, 0, 0), Command(run, 1, 1)], [(F32, (1,))], [], [(F32, (1,))] * 2)
    results = table.run((one(5),)) or table.run_checked([one(5)])
    assert [float(r[0]) for r in results] == [10.0, 11.0]
    backwards = CommandBuffer([Command(run, 1, 0), Command(run, 0, 1)], [(F32, (1,))], [], [(F32, (1,))] * 2)
    assert [float(r[0]) for r in backwards.run_checked([one(5)])] == [6.0, 12.0]


def test_one_kernel_runs_at_several_sites_through_aliases(kernels: list[Command], road: str) -> None:
    run = kernels[0].run
    # slots: 0, 1 arguments; 2, 3 results; 4 the unused temporaries; 5 to 8 what the two sites see
    sites = [Command(run, 0, 5), Command(run, 0, 7)]
    aliases = [(5, 0, 0), (6, 2, 0), (7, 1, 0), (8, 3, 0)]
    table = CommandBuffer(sites, [(F32, (1,))] * 2, [], [(F32, (1,))] * 2, 0, aliases)
    for x, y in ((1.0, 2.0), (7.0, 8.0)):
        results = table.run((one(x), one(y))) or table.run_checked([one(x), one(y)])
        assert [float(r[0]) for r in results] == [2 * x, 2 * y]


def test_each_command_is_measured(kernels: list[Command]) -> None:
    run = kernels[0].run
    table = CommandBuffer([Command(run, 0, 0), Command(run, 1, 1)], [(F32, (1,))], [], [(F32, (1,))] * 2)
    results, taken = table.measured([one(5)])
    assert [float(r[0]) for r in results] == [10.0, 11.0]
    assert len(taken) == 2
    assert all(t >= 0 for t in taken)


def test_a_buffer_without_commands_does_nothing(road: str) -> None:
    table = CommandBuffer([], [(F32, (1,))], [], [])
    assert (table.run((one(1),)) or table.run_checked([one(1)])) == ()


# Arguments --------------------------------------------------------------------------------------------------------


class Subclass(np.ndarray):
    pass


def test_what_is_no_plain_array_is_not_run_on(kernels: list[Command]) -> None:
    """The call gives such an argument back to Python before it runs anything."""
    shape = (2, 3)
    table = CommandBuffer([], [(F32, shape), (F32, ())], [], [(F32, (1,))])
    plain, scalar = np.zeros(shape, np.float32), np.zeros((), np.float32)
    assert table.run((plain, scalar)) is not None
    assert table.run((np.zeros((2, 3, 0), np.float32)[..., :0].sum(-1), scalar)) is not None
    others = [
        *(plain.astype(np.float64), plain.astype(np.int32), plain.astype(">f4"), plain.view(Subclass)),
        *(np.zeros((3, 2), np.float32), np.zeros((3, 2), np.float32).T, np.zeros(6, np.float32)),
        *(np.zeros((2, 3, 1), np.float32), np.zeros((2, 4), np.float32)[:, :3], np.zeros(shape, object)),
        *(np.frombuffer(b"\0" * 25, np.uint8)[1:].view(np.float32).reshape(shape), np.float32(1), None, 1.5),
        *([[0.0] * 3] * 2, "text", Tensor(plain), memoryview(plain), plain.dtype, np.ndarray, object()),
    ]
    for other in others:
        assert table.run((other, scalar)) is None, other
        assert table.run((plain, other)) is None, other


def test_every_dtype_is_taken_as_it_is() -> None:
    """The dtypes that numpy gives to arrays are those that programs compare with."""
    for dtype in (np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float16, np.float64):
        array = np.zeros(3, dtype)
        program = compile(lambda x: x.contiguous(), array)
        assert program._commands.run((array,)) is not None
        assert program._commands.run((array.astype(dtype),)) is not None
    for narrow in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        array = np.zeros(3, narrow)
        assert compile(lambda x: x.contiguous(), array)._commands.run((array,)) is not None


def added() -> Program:
    x = np.ones((2, 3), np.float32)
    return compile(lambda a, b: (a + b, (a * b).sum()), x, x)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (np.ones((2, 3), np.float64), "dtype float64"),
        (np.ones((2, 3), np.int32), "dtype int32"),
        (np.ones((2, 4), np.float32), "shape (2, 4)"),
        (np.ones(6, np.float32), "shape (6,)"),
        (np.float32(1), "shape ()"),
        (1.5, "shape ()"),
        ([1, 2, 3], "dtype int32"),
        ([[1.0], [2.0, 3.0]], "not a tensor"),
        ("text", "dtype"),
        (None, "dtype object"),
        (object, "dtype object"),
        (Tensor(np.ones(3, np.float32)), "shape (3,)"),
    ],
    ids=str,
)
@pytest.mark.parametrize("position", [0, 1])
def test_wrong_arguments_are_usage_errors(argument: object, says: str, position: int, road: str) -> None:
    program, good = added(), np.ones((2, 3), np.float32)
    given = [good, good]
    given[position] = argument  # type: ignore[call-overload]
    with pytest.raises(UsageError) as caught:
        program(*given)
    assert says in caught.value.message
    np.testing.assert_array_equal(program(good, good)[0], good + good)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_arguments_is_a_usage_error(count: int) -> None:
    with pytest.raises(UsageError, match="takes 2 arguments"):
        added()(*[np.ones((2, 3), np.float32)] * count)


def elsewhere(device: tuple[int, int]) -> object:
    """An array of another library on another device."""

    def refuse(**options: object) -> object:
        raise BufferError("this array is not on the CPU")

    return SimpleNamespace(__dlpack__=refuse, __dlpack_device__=lambda: device)


class Elsewhere:
    """An array of another library on another device, which cannot be converted as it is."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


@pytest.mark.parametrize("argument", [elsewhere((2, 0)), Elsewhere()], ids=["dlpack", "array"])
def test_an_array_on_another_device_is_a_usage_error(argument: object) -> None:
    program, good = added(), np.ones((2, 3), np.float32)
    with pytest.raises(UsageError) as caught:
        program(good, argument)
    assert "argument 1" in caught.value.message
    with pytest.raises(UsageError):
        compile(lambda x: x, argument)


@pytest.mark.parametrize("device", ["GPU", "cpu", "CUDA:0", ""])
def test_a_device_that_is_none_is_a_usage_error(device: str) -> None:
    with pytest.raises(UsageError, match="no device"):
        compile(lambda x: x, np.ones(3, np.float32), device=device)


def test_arguments_that_need_converting_are_converted(road: str) -> None:
    program = added()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    wanted = x + x
    views = [
        x.copy("F"),
        x.astype(">f4"),
        x.view(Subclass),
        Tensor(x),
        x.tolist(),
        np.repeat(x, 2, 1)[:, ::2],
    ]
    for view in views:
        np.testing.assert_array_equal(program(view, x)[0], wanted)
        np.testing.assert_array_equal(program(x, view)[0], wanted)


# Tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [commands.KEPT, 16], ids=["small temporaries", "large temporaries"])
def test_threads_in_one_program_do_not_share_a_table(
    monkeypatch: pytest.MonkeyPatch, road: str, kept: int
) -> None:
    """Each thread finds its own results, computed through temporaries, though all run one program at once."""
    monkeypatch.setattr(commands, "KEPT", kept)
    x = np.random.default_rng(0).standard_normal((48, 48)).astype(np.float32)
    program = compile(lambda a, b: ((a @ b).softmax().sum(0), (a - b)), x, x)
    assert program._arena > 16
    inputs = [x * (k + 1) for k in range(4)]
    expected = [[r.copy() for r in program(a, x)] for a in inputs]
    start, wrong = threading.Barrier(4), []

    def work(k: int) -> None:
        start.wait()
        for _ in range(60):
            found = program(inputs[k], x)
            wrong.extend(k for f, e in zip(found, expected[k], strict=True) if f.tobytes() != e.tobytes())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert 1 <= len(program._commands._tables) <= 4


def test_temporaries_are_prepared_once_for_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((48, 48), np.float32)
    program = compile(lambda a: (a @ a).softmax(), x)
    program(x)
    prepared = len(program._commands._arenas)
    monkeypatch.setattr(memory, "empty", lambda *_: pytest.fail("taken for a call"))
    for _ in range(5):
        program(x)
    assert prepared == len(program._commands._arenas) == 1


def test_results_are_fresh_at_each_call(road: str) -> None:
    program, x = added(), np.ones((2, 3), np.float32)
    first = program(x, x)
    second = program(x * 5, x)
    assert not any(np.shares_memory(a, b) for a in first for b in second)
    assert (first[0] == 2).all()
    assert (second[0] == 6).all()


def test_captured_arrays_stay_alive_with_the_program(road: str) -> None:
    captured = Tensor(np.arange(5, dtype=np.float32))
    program = compile(lambda a: a + captured, np.ones(5, np.float32))
    junk = [np.full(5, 9, np.float32) for _ in range(50)]
    np.testing.assert_array_equal(program(junk[0]), np.arange(5) + 9)


# Kernels over cores -----------------------------------------------------------------------------------------------


def spread(size: int, threads: int, *, outer: bool = False) -> UOp:
    """``out[i] = in[i] * 3``, the outer half of i dealt out to cores."""
    source, target = buffer(0, size, float32), buffer(1, size, float32)
    t, r = loop(threads, 0, AxisType.THREAD), loop(size // threads, 1)
    place = UOp(Op.Add, (UOp(Op.Mul, (t, const(size // threads, t.dtype))), r))
    load = Op.Load(Op.Index(source, place))
    value = UOp(Op.Mul, (load, const(3.0, float32)))
    store = Op.Store(Op.Index(target, place), value)
    ranges = (r, t) if outer else (t, r)
    inner = Op.End(store, ranges[1])
    body = [*ranges, UOp(Op.Mul, (t, const(size // threads, t.dtype))), place, load, value, store, inner]
    return Op.Linear(*body, Op.End(inner, ranges[0]))


@pytest.mark.parametrize("threads", [1, 2, 5, 8])
def test_a_thread_range_is_dealt_out_to_cores(threads: int) -> None:
    size = 40 * threads
    library = cpu.build(render(Op.Linear(spread(size, threads))))
    assert [c.cores for c in library.commands] == [threads]
    table = CommandBuffer(library.commands, [(F32, (size,))], [], [(F32, (size,))])
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    before = host().limit
    try:
        for cores in (1, 2, 3, 4):
            host().use(cores)
            for _ in range(20):
                results = table.run((x,))
                assert results is not None
                assert results[0].tobytes() == (x * np.float32(3)).tobytes()
    finally:
        host().use(before)


def test_two_python_threads_may_want_the_pool_at_once() -> None:
    size = 4000
    library = cpu.build(render(Op.Linear(spread(size, 4))))
    table = CommandBuffer(library.commands * 8, [(F32, (size,))], [], [(F32, (size,))])
    before, wrong = host().limit, []
    host().use(3)

    def work(k: int) -> None:
        x = np.full(size, k, np.float32)
        wrong.extend(k for _ in range(100) if not (table.run((x,))[0] == 3 * k).all())  # type: ignore[index]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    host().use(before)
    assert wrong == []


def test_a_thread_range_that_is_not_around_all_is_refused() -> None:
    with pytest.raises(CompileError):
        render(Op.Linear(spread(40, 4, outer=True)))
    nest = spread(40, 4).src
    beside = Op.Store(Op.Index(buffer(2, 1, int32), const(0, nest[0].dtype)), const(0, int32))
    for sequence in ((*nest, beside), (beside, *nest), (*nest, *nest)):
        with pytest.raises(CompileError):
            render(Op.Linear(Op.Linear(*sequence)))
