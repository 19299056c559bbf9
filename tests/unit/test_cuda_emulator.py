"""
CUDA on the CPU: for every feature a right kernel, which has one result in all orders, and twins that lack one thing,
which some order betrays by a wrong value, a report or a deadlock. The kernels are in ``tests/emulated_kernels``.
"""

from __future__ import annotations

import functools
import re
import runpy
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.runtime.emulator.emulation import Emulated, Order, emulated
from soundline.impl.toolchain import find_cpp_compiler
from soundline.spec.dtypes import DType
from soundline.spec.errors import EmulationError, GeneratedCodeError, ToolchainError, UsageError
from soundline.spec.values.tensor_cores import CORES, TensorCore, fragments_of, multiply_accumulate

KERNELS = Path(__file__).resolve().parents[1] / "emulated_kernels"
ORDERS: tuple[tuple[int, Order], ...] = (
    (0, "latest"),
    (1, "latest"),
    *((seed, "random") for seed in range(2, 12)),
    (0, "earliest"),
    (1, "earliest"),
    (3, "earliest"),
)


@functools.cache
def program(name: str) -> Emulated:
    return emulated({file: (KERNELS / file).read_text() for file in (f"{name}.cu", "launching.cuh")})


def called(name: str, seed: int, order: Order, *arguments: object) -> None:
    """One run; the file and the function are named alike."""
    file, entry = name.split(".")
    there = program(file)
    there.seed, there.order = seed, order
    assert there.call(f"run_{entry}", *arguments) == 0


def outcomes(run: Callable[[int, Order], bool]) -> set[str]:
    """What the orders show: ``right``, ``wrong``, or the kind of what was reported."""
    seen = set()
    for seed, order in ORDERS:
        try:
            seen.add("right" if run(seed, order) else "wrong")
        except EmulationError as error:
            seen.add(error.kind)
    return seen


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).integers(1, 10, shape).astype(np.float32)


def simple(name: str, size: int, result: Callable[[np.ndarray], np.ndarray], without: int) -> set[str]:
    """The outcomes of a kernel with one input and one output."""
    x = numbers(size)
    wanted = result(x)

    def run(seed: int, order: Order) -> bool:
        y = np.zeros_like(wanted)
        called(name, seed, order, without, x, y)
        return np.array_equal(y, wanted)

    return outcomes(run)


SIMPLE: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray], tuple[set[str], ...]]] = {
    "blocks.reverse": (128, lambda x: x[::-1].copy(), ({"wrong"}, {"exited"})),
    "blocks.pairs": (
        128,
        lambda x: x.reshape(2, 64)[:, ::-1].reshape(-1),
        ({"barrier", "exited"}, {"deadlock"}, {"barrier"}, {"barrier"}),
    ),
    "blocks.lanes": (64, lambda x: x[np.arange(64) ^ 30], ({"wrong"}, {"exited"})),
    "blocks.groups": (
        256,
        lambda x: x.reshape(2, 32, 4).sum((0, 2))[::-1].copy(),
        ({"wrong"}, {"wrong"}, {"wrong"}, {"unfinished"}),
    ),
    "blocks.faults": (
        32,
        lambda x: x,
        ({"fault"}, {"fault"}, {"fault"}, {"alignment"}, {"memory"}, {"fault"}),
    ),
    "blocks.registers": (384, lambda x: x, ({"registers"}, {"registers"}, {"registers"})),
    "mbarriers.hand_over": (
        256,
        lambda x: 2 * x,
        (
            {"mbarrier"},  # no initialization
            {"deadlock"},  # a count too high
            {"mbarrier"},  # two initializations
            {"mbarrier"},  # used before it is initialized
            {"wrong", "deadlock"},  # no wait for what is read
            {"deadlock"},  # a parity of the reader
            {"wrong", "deadlock"},  # an arrive before the warp has written
            {"deadlock"},  # no arrive
            {"deadlock", "wrong"},  # two arrives
            {"wrong", "deadlock"},  # no wait for what is written
            {"wrong", "deadlock"},  # a parity of the writer
            {"wrong", "deadlock"},  # an arrive before the warp has read
            {"mbarrier"},  # overwritten
            {"mbarrier"},  # used when it is invalid
        ),
    ),
    "mbarriers.copied": (
        32,
        lambda x: x[::-1].copy(),
        ({"wrong", "unfinished", "mbarrier"}, {"deadlock"}, {"wrong"}),
    ),
    "tma.staged": (
        64,
        lambda x: x + 1,
        (
            {"wrong"},  # no proxy fence after writes to global memory
            {"wrong", "mbarrier"},  # no barrier
            {"fault"},  # a copy reads beyond an array, when nobody can go on
            {"tensor map"},  # a map reaches beyond its array
        ),
    ),
}
"""For each kernel its size, its result, and for each twin the kinds that may be seen."""


@pytest.mark.parametrize("name", SIMPLE)
def test_a_right_kernel_has_one_result_in_all_orders(name: str) -> None:
    size, result, _ = SIMPLE[name]
    assert simple(name, size, result, 0) == {"right"}


@pytest.mark.parametrize(
    ("name", "without"), [(name, k + 1) for name, (_, _, twins) in SIMPLE.items() for k in range(len(twins))]
)
def test_a_twin_that_lacks_one_thing_is_noticed(name: str, without: int) -> None:
    size, result, twins = SIMPLE[name]
    seen = simple(name, size, result, without) - {"right"}
    assert seen
    assert seen <= twins[without - 1]


@pytest.mark.parametrize("without", [1, 2])
def test_what_is_not_waited_for_comes_late_in_one_order_and_at_once_in_another(without: int) -> None:
    size, result, _ = SIMPLE["blocks.groups"]
    x = numbers(size)
    for order in ("latest", "earliest"):
        y = np.zeros_like(result(x))
        called("blocks.groups", 0, order, without, x, y)  # type: ignore[arg-type]
        assert np.array_equal(y, result(x)) == (order == "earliest")


def test_blocks_and_parameters_are_what_was_launched() -> None:
    y = np.zeros(96, np.int32)
    called("blocks.places", 0, "latest", y)
    assert y.reshape(3, 32).tolist() == [[300 + k for k in range(32)]] * 3


# Reports ------------------------------------------------------------------------------------------------------------


def test_a_deadlock_says_what_every_warp_waits_for_and_where() -> None:
    with pytest.raises(EmulationError) as caught:
        called("mbarriers.hand_over", 0, "latest", 8, numbers(256), np.zeros(256, np.float32))
    error = caught.value
    assert (error.kind, error.kernel, error.block, error.thread) == ("deadlock", "hand_over", (0, 0, 0), 0)
    assert [wait.split(",")[1].strip()[:6] for wait in error.waits] == ["warp 0", "warp 1"]
    assert "phase 0, 1 of 1 arrivals pending" in error.waits[1]
    for wait in error.waits:
        line = re.search(r"mbarriers\.cu:(\d+)", wait)
        assert line
        assert "wait_for" in (KERNELS / "mbarriers.cu").read_text().splitlines()[int(line[1]) - 1]


def test_a_report_names_thread_and_line_and_the_process_goes_on() -> None:
    with pytest.raises(EmulationError) as caught:
        called("blocks.faults", 0, "latest", 4, numbers(32), np.zeros(32, np.float32))
    error = caught.value
    assert (error.thread, error.file) == (5, "blocks.cu")
    assert error.line is not None
    assert "cp_async_cg_shared_global(soundline_dynamic_shared() + 4" in error.text
    assert simple("blocks.faults", 32, lambda x: x, 0) == {"right"}


def test_a_refused_text_is_shown_with_its_own_line() -> None:
    text = '#include <cuda_runtime.h>\n\nextern "C" int run() {\n    return nothing;\n}\n'
    with pytest.raises(GeneratedCodeError) as caught:
        emulated({"wrong.cu": text})
    assert (caught.value.file, caught.value.line, caught.value.text.strip()) == (
        "wrong.cu",
        4,
        "return nothing;",
    )


def test_a_report_of_generated_text_names_the_statement() -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "spork" / "cp_async.py"
    proc = runpy.run_path(str(example))["stage"]
    source = generate(proc)
    name = f"{source.name}.cuh"
    lines = source.files[name].splitlines()
    dropped = [k for k, line in enumerate(lines) if "cp_async_wait_all" in line]
    lines[dropped[0]] = ""
    twin = replace(source, files={**source.files, name: "\n".join(lines)})
    arrays = [np.zeros(4096, np.float32) for _ in proc.arguments]
    with pytest.raises(EmulationError) as caught:
        emulated(twin).run(source.function, *arrays)
    error = caught.value
    assert (error.kind, error.file) == ("unfinished", name)
    assert error.statement_file == str(example)
    assert error.statement_line is not None
    assert error.statement.startswith("Sm80_cp_async")
    assert example.read_text().splitlines()[error.statement_line - 1].strip() == error.statement


def test_a_missing_compiler_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(ToolchainError, match="CXX names") as caught:
        find_cpp_compiler()
    assert "CXX" in (caught.value.hint or "")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler") as caught:
        find_cpp_compiler()
    assert "install a C++ compiler" in (caught.value.hint or "")


def test_what_cannot_be_called_or_asked_for_is_refused() -> None:
    with pytest.raises(UsageError):
        program("blocks").call("run_nothing")
    with pytest.raises(UsageError):
        program("blocks").call("run_reverse", 0.5)
    with pytest.raises(UsageError):
        emulated({}, order="soon")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        emulated({}, multiprocessors=0)


# Fragments ----------------------------------------------------------------------------------------------------------

KINDS = (
    "m16n8k4.tf32.f32",
    "m16n8k8.tf32.f32",
    "m16n8k8.f16.f32",
    "m16n8k16.f16.f32",
    "m16n8k8.bf16.f32",
    "m16n8k16.bf16.f32",
)


def _words(values: list[list[object]], dtype: DType) -> np.ndarray:
    """Fragments as the registers of the lanes."""
    if dtype.itemsize == 4:
        return np.array(values, np.float32).view(np.uint32)
    half = np.float16 if dtype.name == "float16" else ml_dtypes.bfloat16
    return np.ascontiguousarray(np.array(values, np.float32).astype(half).view(np.uint16)).view(np.uint32)


def _operands(core: TensorCore) -> tuple[list[list[float]], ...]:
    m, n, k = core.dims
    random = np.random.default_rng(3)
    shapes = ((m, k), (k, n), (m, n))
    # Eleven bits of mantissa are enough for every kind, so that no operand is rounded; sums are.
    return tuple(
        (random.integers(-1000, 1000, shape) / 64).astype(np.float32).astype(_held(core)).tolist()
        for shape in shapes
    )


def _held(core: TensorCore) -> object:
    return {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}.get(core.input.name, np.float32)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_products_of_fragments_are_those_of_the_law(kind: int) -> None:
    core = next(core for core in CORES if core.name == KINDS[kind])
    a, b, c = ([[float(x) for x in row] for row in matrix] for matrix in _operands(core))
    d = np.array(fragments_of(core, "C", c), np.float32)
    called(
        "mma.fragments",
        0,
        "latest",
        kind,
        0,
        _words(fragments_of(core, "A", a), core.input),
        _words(fragments_of(core, "B", b), core.input),
        d,
    )
    wanted = fragments_of(core, "C", multiply_accumulate(core, a, b, c))
    assert d.tolist() == np.array(wanted, np.float32).tolist()


def test_thirteen_bits_of_a_tf32_have_no_effect() -> None:
    ones = np.full((32, 4), 0x3F800000, np.uint32)
    d = np.zeros((2, 32, 4), np.float32)
    for k, low in enumerate((0, 0x1FFF)):
        called("mma.fragments", 0, "latest", 1, 0, ones | np.uint32(low), ones, d[k])
    assert np.array_equal(d[0], d[1])
    assert d[0, 0, 0] == 8


def test_a_lane_that_is_missing_is_reported() -> None:
    ones, d = np.full((32, 4), 0x3F800000, np.uint32), np.zeros((32, 4), np.float32)
    with pytest.raises(EmulationError, match="lane 9") as caught:
        called("mma.fragments", 0, "latest", 1, 1, ones, ones, d)
    assert caught.value.kind == "exited"


@pytest.mark.parametrize("transposed", [0, 1])
def test_ldmatrix_gives_each_lane_two_neighbours(transposed: int) -> None:
    x = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    y = np.zeros((32, 4), np.uint32)
    called("mma.matrices", 0, "latest", transposed, x, y)
    read = x.transpose(0, 2, 1) if transposed else x
    for lane in range(32):
        for matrix in range(4):
            low, high = read[matrix, lane // 4, lane % 4 * 2 : lane % 4 * 2 + 2]
            assert y[lane, matrix] == int(low) | int(high) << 16


@pytest.mark.parametrize("without", range(4))
def test_a_gemm_of_256_takes_seconds_and_needs_its_waits(without: int) -> None:
    n = 256 if without == 0 else 128
    a, b = numbers(n, n) - 5, numbers(n, n)[::-1].copy() - 5
    seen = set()
    for seed, order in ((0, "latest"), (1, "latest"), (3, "random"), (1, "earliest")):
        c = np.zeros((n, n), np.float32)
        began = time.process_time()
        try:
            called("mma.gemm", seed, order, without, n, a, b, c)  # type: ignore[arg-type]
        except EmulationError as error:
            seen.add(error.kind)
            continue
        assert time.process_time() - began < 5
        seen.add("right" if np.array_equal(c, a @ b) else "wrong")
    assert seen == {"right"} if without == 0 else "wrong" in seen


# Boxes and clusters -------------------------------------------------------------------------------------------------


def boxes(without: int, swizzle: int) -> set[str]:
    rows, columns = 20, 44
    x = numbers(rows, columns)
    column = np.arange(columns) % (swizzle // 4 or 32)

    def run(seed: int, order: Order) -> bool:
        y, sums = np.zeros_like(x), np.zeros(32, np.float32)
        called("tma.boxes", seed, order, without, columns, rows, swizzle, x, y, sums)
        return np.array_equal(y, 2 * x + column) and sums.sum() == (x * (column + 1)).sum()

    return outcomes(run)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_boxes_are_filled_with_zeros_and_dropped_beyond_the_tensor(swizzle: int) -> None:
    assert boxes(0, swizzle) == {"right"}


@pytest.mark.parametrize(
    ("without", "kinds"),
    [
        (1, {"mbarrier"}),  # initialized without a fence
        (2, {"deadlock"}),  # too few bytes expected
        (3, {"deadlock"}),  # too many
        (4, {"wrong"}),  # a wrong coordinate
        (5, {"wrong", "mbarrier", "unfinished"}),  # not waited for
        (6, {"wrong"}),  # another swizzle
        (7, {"wrong"}),  # no proxy fence
        (8, {"wrong"}),  # stored before all have written
        (9, {"unfinished", "wrong"}),  # no group
        (10, {"unfinished", "wrong"}),  # no wait
    ],
)
def test_a_twin_of_a_tensor_copy_is_noticed(without: int, kinds: set[str]) -> None:
    seen = boxes(without, 128) - {"right"}
    assert seen
    assert seen <= kinds


@pytest.mark.parametrize(("without", "wanted"), [(0, {"right"}), (1, {"alignment"})])
def test_bulk_copies_and_additions(without: int, wanted: set[str]) -> None:
    x = numbers(64)

    def run(seed: int, order: Order) -> bool:
        y, sums = np.zeros(64, np.float32), np.ones(64, np.float32)
        called("tma.flat", seed, order, without, x, y, sums)
        return np.array_equal(y, x) and np.array_equal(sums, x + 1)

    assert outcomes(run) == wanted


@pytest.mark.parametrize(
    ("without", "kinds"),
    [
        (0, set()),
        (1, {"mbarrier"}),  # initialized without a fence
        (2, {"mbarrier"}),  # no barrier after that
        (3, {"wrong"}),  # the other block has not read
        (4, {"unfinished", "deadlock", "wrong", "mbarrier"}),  # too few bytes expected
        (5, {"deadlock"}),  # a mask that leaves the other block out
        (6, {"deadlock"}),  # nobody says that it has read
        (7, {"wrong"}),  # told to oneself
        (8, {"cluster"}),  # told to a block that is not there
        (9, {"exited"}),  # ends before the other
        (10, {"barrier"}),  # arrives twice
        (11, {"barrier"}),  # waits without having arrived
    ],
)
def test_blocks_of_a_cluster_reach_each_other(without: int, kinds: set[str]) -> None:
    x = numbers(128)

    def run(seed: int, order: Order) -> bool:
        y = np.zeros((2, 128), np.float32)
        called("clusters.shared_out", seed, order, without, x, y)
        return bool((y == x).all())

    seen = outcomes(run)
    if without == 0:
        assert seen == {"right"}
    else:
        assert seen - {"right"}
        assert seen - {"right"} <= kinds


# wgmma --------------------------------------------------------------------------------------------------------------


def products(without: int, swizzle: int, transposed: int) -> set[str]:
    a, b = numbers(64, 64) - 5, numbers(64, 64).T.copy() - 4
    words = [x.astype(ml_dtypes.bfloat16).view(np.uint16) for x in (a, b)]
    wanted = a @ (b if transposed else b.T)

    def run(seed: int, order: Order) -> bool:
        d = np.zeros((64, 64), np.float32)
        called("wgmma.products", seed, order, without, swizzle, transposed, *words, d)
        return np.array_equal(d, wanted)

    return outcomes(run)


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_descriptors_say_where_operands_lie(swizzle: int, transposed: int) -> None:
    assert products(0, swizzle, transposed) == {"right"}


def test_a_pattern_may_begin_where_the_base_offset_says() -> None:
    assert products(15, 128, 0) == {"right"}


@pytest.mark.parametrize(
    ("without", "swizzle", "transposed", "kinds"),
    [
        (1, 128, 0, {"wrong"}),  # no proxy fence
        (2, 128, 0, {"wrong"}),  # no barrier
        (3, 128, 0, {"wgmma"}),  # no wgmma.fence
        (4, 128, 0, {"wgmma"}),  # the accumulator is written after it
        (5, 128, 0, {"wrong"}),  # another swizzle
        (6, 128, 0, {"wrong"}),  # a wrong stride
        (7, 0, 0, {"wrong"}),  # a wrong leading distance
        (8, 128, 0, {"wrong"}),  # added to what was there
        (9, 128, 0, {"wgmma"}),  # the accumulator is written while products are in flight
        (10, 128, 0, {"unfinished", "wrong"}),  # no group
        (11, 128, 0, {"wrong"}),  # an operand is overwritten before the wait
        (12, 128, 0, {"wrong"}),  # a wait for too little
        (13, 128, 0, {"wrong"}),  # no wait
        (14, 128, 0, {"wrong"}),  # an operand is overwritten, and that is published
        (16, 128, 0, {"wrong"}),  # no base offset where the pattern begins elsewhere
    ],
)
def test_a_twin_of_wgmma_is_noticed(without: int, swizzle: int, transposed: int, kinds: set[str]) -> None:
    seen = products(without, swizzle, transposed) - {"right"}
    assert seen
    assert seen <= kinds


@pytest.mark.parametrize(
    ("without", "in_registers", "wanted"),
    [(0, 0, "right"), (0, 1, "right"), (1, 1, "wgmma"), (2, 0, "wgmma")],
)
def test_words_in_registers_or_in_memory(without: int, in_registers: int, wanted: str) -> None:
    a, b = numbers(64, 8) - 5, numbers(16, 8) - 4

    def run(seed: int, order: Order) -> bool:
        d = np.zeros((64, 16), np.float32)
        called("wgmma.words", seed, order, without, in_registers, a, b, d)
        return np.array_equal(d, a @ b.T)

    assert outcomes(run) == {wanted}
