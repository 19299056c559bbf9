"""Tensors on several devices: what each holds, what is copied, and that values are those of one device."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.executables import assembly
from soundline.impl.executables.signatures import Signature
from soundline.impl.lower.graphs.placement import agrees, placed
from soundline.impl.program.compile import Program, compile  # noqa: A004
from soundline.impl.runtime.host import host
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.devices.evaluation import OnDevices, evaluate_on_devices
from soundline.spec.dtypes import float32
from soundline.spec.errors import CompileError, IllFormed, SoundlineError, UsageError
from soundline.spec.uop import Op, UOp, reshape, toposort

RNG = np.random.default_rng(35)
Apply = Callable[[Tensor], Tensor]


def devices(n: int) -> tuple[str, ...]:
    return tuple(f"CPU:{k}" for k in range(n))


D2 = devices(2)


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Numbers of different sizes, so that a float sum shows its order."""
    return (RNG.integers(-1000, 1000, shape) * (0.37 if dtype is np.float32 else 1)).astype(dtype)


def law(x: Tensor) -> OnDevices:
    """What the law says that the devices hold, and what was sent for it."""
    held = {n.arg.slot: storage.contents(n) for n in toposort(x.uop) if n.op is Op.Buffer}
    return evaluate_on_devices(x.uop, buffers=held)


def same(a: Any, b: Any) -> None:
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def copied(program: Program) -> Counter[tuple[str, str]]:
    """Bytes by sender and receiver."""
    total: Counter[tuple[str, str]] = Counter()
    for source, target, nbytes in program.copies:
        assert source != target
        total[source, target] += nbytes
    return +total


def sent(held: OnDevices) -> Counter[tuple[str, str]]:
    total: Counter[tuple[str, str]] = Counter()
    for t in held.transfers:
        total[t.source, t.target] += t.bytes
    return +total


def check(apply: Apply, x: Tensor, *, counted: bool = True) -> Program:
    """What every device holds is what the law says, and so is what was sent."""
    held = law(apply(x))
    program = compile(apply, x)
    found = program(x)
    assert isinstance(found, Tensor) is isinstance(held.device, tuple)
    shards = found.shards if isinstance(found, Tensor) else (found,)
    assert len(shards) == len(held.shards)
    for own, wanted in zip(shards, held.shards, strict=True):
        same(own, wanted.to_numpy())
    if counted:
        assert copied(program) == sent(held)
    lazy = apply(x)
    assert (lazy.device, lazy.axis) == (held.device or "CPU", held.axis)
    same(lazy.numpy(), held.joined().to_numpy())
    return program


# Collectives ------------------------------------------------------------------------------------------------------

COLLECTIVES: dict[str, Apply] = {
    "reduce": Tensor.reduce_to_one,
    "allgather": Tensor.allgather,
    "reduce_scatter": Tensor.reduce_scatter,
    "allreduce": Tensor.allreduce,
    "gather": lambda x: x.to("CPU:0"),
    "gather on another": lambda x: x.to("CPU:7"),
}


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize(
    ("n", "rest", "dtype"), [(1, (), "f4"), (2, (3,), "f4"), (3, (), "i4"), (4, (2,), "f4")], ids=str
)
def test_collectives_are_those_of_the_law(name: str, n: int, rest: tuple[int, ...], dtype: str) -> None:
    x = Tensor(array(n * n * 2, *rest, dtype=np.dtype(dtype).type)).shard(devices(n), 0).realize()
    program = check(COLLECTIVES[name], x)
    if n > 1:
        assert program.copies


def test_by_default_each_device_holds_a_copy() -> None:
    """An axis is divided where it is named, and only there: of a batch of 3 on 2 devices nothing is lost."""
    given = array(3, 2)
    x = Tensor(given).shard(D2)
    assert x.axis is None
    assert x.device == D2
    assert len(x.shards) == 2
    for part in x.shards:
        np.testing.assert_array_equal(part, given)
    divided = Tensor(array(4, 2)).shard(D2, dim=0)
    assert [part.shape for part in divided.shards] == [(2, 2), (2, 2)]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scatter_and_broadcast(n: int, axis: int | None) -> None:
    x = Tensor(array(6, 6))
    y = x.shard(devices(n), axis)
    assert (y.device, y.axis) == (devices(n), axis)
    own = tuple(s // n if k == axis else s for k, s in enumerate(x.shape))
    assert [s.shape for s in y.shards] == [own] * n
    memory = {s.ctypes.data for s in y.shards} | {storage.contents(storage.buffer_of(x.uop)).ctypes.data}  # type: ignore[arg-type]
    assert len(memory) == n + 1
    same(y.numpy(), x.numpy())
    check(lambda t: t.shard(devices(n), axis), Tensor(array(6, 6)).to("CPU:0").realize())


MOVES = [*itertools.product((None, 0, 1), repeat=2)]


@pytest.mark.parametrize(("before", "after"), MOVES, ids=str)
@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 2), (2, 2)], ids=str)
def test_what_is_divided_is_divided_anew(before: int | None, after: int | None, n: int, m: int) -> None:
    x = Tensor(array(6, 6)).shard(devices(n), before).realize()
    if after is None:
        check(lambda t: t.to("CPU:5").shard(devices(m), None), x)
    else:
        check(lambda t: t.shard(devices(m), after), x)


# Computation ------------------------------------------------------------------------------------------------------

ROW, TABLE, TALL = Tensor(array(6)), Tensor(array(4, 6)), Tensor(array(6, 3))

CASES: dict[str, tuple[Apply, int | None]] = {
    "elementwise": (lambda x: (x * 2 + 1).exp(), 0),
    "with a replica": (lambda x: x + ROW.shard(D2, None) * x, 0),
    "cut from a replica": (lambda x: x + TABLE.shard(D2, None), 1),
    "softmax beside the axis": (lambda x: x.softmax(1), 0),
    "softmax across the axis": (lambda x: (x * 0.01).softmax(0), 0),
    "sum beside": (lambda x: x.sum(1), 0),
    "sum across": (lambda x: x.sum(0), 0),
    "sum of all": (lambda x: x.sum(), 1),
    "max across": (lambda x: x.max(1), 1),
    "transposed": (lambda x: x.T.contiguous() + 1, 0),
    "reshaped": (lambda x: x.reshape(4, 2, 3).sum(2), 0),
    "flipped": (lambda x: x.flip(1) - x, 0),
    "padded": (lambda x: x.pad(((0, 0), (1, 2)))[:, 1:], 0),
    "rows times a replica": (lambda x: x @ TALL.shard(D2, None), 0),
    "columns times rows": (lambda x: x @ TALL.shard(D2, 0), 1),
    "a replica": (lambda x: (x @ x.T).cumsum(1), None),
    "stacked": (lambda x: Tensor.stack(x, x * 2).sum(0), 0),
    "in a function": (lambda x: function(inline=False)(lambda a: a * a)(x) + 1, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_one_device(name: str) -> None:
    apply, axis = CASES[name]
    check(apply, Tensor(array(4, 6)).shard(D2, axis).realize(), counted=False)


def test_equal_work_of_devices_is_compiled_once() -> None:
    x = Tensor(array(8, 4)).shard(devices(4), 0).realize()
    program = check(lambda t: (t * 3).softmax(1), x)
    one = compile(lambda t: (t * 3).softmax(1), array(2, 4))
    assert len(program.units) == 1
    assert len(program.kernels) == len(one.kernels)
    assert program.command_count == 4 * one.command_count
    assert not program.copies


def test_of_a_product_the_factors_are_sent() -> None:
    """The gradient of a weight is a sum over the divided batch of an outer product."""
    x, g = (Tensor(array(8, n)).shard(D2, 0).realize() for n in (5, 7))
    product = x.T @ g
    program = compile(lambda a, b: a.T @ b, x, g)
    same(program(x, g).numpy(), product.numpy())
    assert copied(program) == dict.fromkeys((D2, D2[::-1]), 4 * (5 + 7) * 4)
    assert sum(sent(law(x.T @ g)).values()) == 2 * 4 * 5 * 7 * 4


# Training ---------------------------------------------------------------------------------------------------------


def step(x: Tensor, y: Tensor, up: Tensor, down: Tensor) -> tuple[Tensor, ...]:
    """One step of gradient descent on a network of two layers."""
    loss = (((x @ up).relu() @ down - y) ** 2).mean()
    d_up, d_down = loss.gradient(up, down)
    return loss, up - d_up * 0.1, down - d_down * 0.1


def test_a_training_step_on_two_devices_is_that_of_one() -> None:
    given = [array(8, 4) / 500, array(8, 2) / 500, array(4, 6) / 500, array(6, 2) / 500]
    wanted = compile(step, *given)(*given)
    axes = (0, 0, None, None)
    tensors = [Tensor(a).shard(D2, axis).realize() for a, axis in zip(given, axes, strict=True)]
    program = compile(step, *tensors)
    results = program(*tensors)
    for found, value in zip(results, wanted, strict=True):
        assert found.device == D2
        assert found.axis is None
        for shard in found.shards:  # all replicas, bit for bit
            same(shard, value)
    assert program.copies
    following = program(*tensors[:2], *results[1:])  # its results are arguments where they are
    same(following[0].numpy(), compile(step, *given)(*given[:2], *wanted[1:])[0])


def test_backward_reaches_leaves_on_devices() -> None:
    x, w = array(4, 3), array(3, 2)
    leaf = Tensor(Tensor(w).shard(D2, None).realize(), requires_grad=True)
    divided = Tensor(Tensor(x).shard(D2, 0).realize(), requires_grad=True)
    (divided @ leaf).relu().sum().backward()
    one, plain = Tensor(w, requires_grad=True), Tensor(x, requires_grad=True)
    (plain @ one).relu().sum().backward()
    for a, b, axis in ((leaf, one, None), (divided, plain, 0)):
        assert a.grad is not None
        assert b.grad is not None
        assert (a.grad.device, a.grad.axis) == (D2, axis)
        same(a.grad.numpy(), b.grad.numpy())


def test_backward_reaches_leaves_behind_a_move() -> None:
    """Leaves in the memory without a name, whose values are divided and copied on the way."""
    x, w = array(4, 3), array(3, 2)

    def gradients(place: Callable[[Tensor, int | None], Tensor]) -> list[np.ndarray]:
        leaves = [Tensor(x, requires_grad=True), Tensor(w, requires_grad=True)]
        ((place(leaves[0], 0) @ place(leaves[1], None)).relu() ** 2).sum().backward()
        assert all(leaf.grad is not None and leaf.grad.device == "CPU" for leaf in leaves)
        return [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]

    for a, b in zip(gradients(lambda t, axis: t.shard(D2, axis)), gradients(lambda t, axis: t), strict=True):
        same(a, b)


def test_gradients_of_each_device_and_their_allreduce() -> None:
    """The usual form: each device sums over its own part, and the sums are added."""
    x = array(4, 4)
    w = Tensor(array(4)).shard(D2, None).realize()
    parts = Tensor(x).shard(D2, 0).realize()

    def gradients(x: Tensor, w: Tensor) -> Tensor:
        rows = x.reshape(2, 2, 4) * w
        return (rows * x.reshape(2, 2, 4)).sum(1).reshape(8).allreduce()

    program = compile(gradients, parts, w)
    rows = x * w.numpy() * x
    wanted = (rows[0] + rows[1]) + (rows[2] + rows[3])
    for shard in program(parts, w).shards:
        same(shard, wanted)


# Errors -----------------------------------------------------------------------------------------------------------


def on(axis: int | None) -> Tensor:
    return Tensor(array(4, 6)).shard(D2, axis).realize()


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (lambda: array(4, 6), "is on CPU; the program"),
        (lambda: on(1), "is on CPU:0.CPU:1 along axis 1"),
        (lambda: on(None), "along axis None"),
        (lambda: Tensor(array(4, 6)).to("CPU:0"), "is on CPU:0"),
        (lambda: Tensor(array(4, 6)).shard(devices(4), 0), "CPU:3 along axis 0"),
        (lambda: Tensor(array(8, 6)).shard(D2, 0), r"argument 0 is float32\[8, 6\]"),
        (lambda: Tensor(array(4, 6, dtype=np.int32)).shard(D2, 0), r"argument 0 is int32\[4, 6\]"),
    ],
    ids=["array", "axis", "replicas", "one", "four", "shape", "dtype"],
)
def test_arguments_elsewhere_are_refused(argument: Callable[[], Any], says: str) -> None:
    program = compile(lambda x: x + 1, on(0))
    with pytest.raises(UsageError, match=says):
        program(argument())


def test_a_program_for_one_device_refuses_others() -> None:
    program = compile(lambda x: x + 1, array(4, 6))
    for other in (on(0), on(None), Tensor(array(4, 6)).to("CPU:1")):
        with pytest.raises(UsageError, match="is on CPU:"):
            program(other)
    named = compile(lambda x: x + 1, Tensor(array(4, 6)).to("CPU:1"))
    with pytest.raises(UsageError, match="is on CPU; "):
        named(array(4, 6))
    with pytest.raises(UsageError, match="takes 1 arguments"):
        compile(lambda x: x + 1, on(0))(on(0), on(0))


WRONG: dict[str, tuple[Callable[[], Any], type[SoundlineError], str]] = {
    "no device": (lambda: Tensor(array(4)).to("gpu0"), CompileError, "no device 'gpu0'"),
    "no devices": (lambda: Tensor(array(4)).shard((), 0), UsageError, "one or more devices"),
    "twice": (lambda: Tensor(array(4)).shard(("CPU:0", "CPU:0"), 0), UsageError, "each once"),
    "not divisible": (lambda: Tensor(array(5)).shard(D2, 0), UsageError, "2 devices divide"),
    "two devices": (lambda: Tensor(array(4)).to("CPU:0") + Tensor(array(4)).to("CPU:1"), IllFormed, "device"),
    "two axes": (lambda: on(0) + on(1), IllFormed, "axis"),
    "broken boundary": (lambda: on(0).reshape(3, 8), IllFormed, "Reshape"),
    "allreduce of one": (lambda: Tensor(array(4)).allreduce(), IllFormed, "axis 0"),
    "allreduce of an odd part": (lambda: Tensor(array(6)).shard(D2, 0).allreduce(), IllFormed, "divides s"),
    "a part for a Call": (lambda: _called(on(0)).numpy(), SoundlineError, "Call"),
}


def _called(x: Tensor) -> Tensor:
    from soundline.impl.program.custom import CustomFunction

    name = f"placed_{next(_NUMBERS)}"
    f = CustomFunction(name, takes=[Signature(float32, (4, 6))], gives=[Signature(float32, (4, 6))], call=abs)
    return f(x) + x


_NUMBERS = itertools.count()


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_a_typed_error(name: str) -> None:
    make, error, says = WRONG[name]
    with pytest.raises(error, match=says):
        make()


def test_slices_that_may_differ_are_no_replicas() -> None:
    """U-28 as an obligation: it is discharged by how the slices were made, or refused."""
    parts = Tensor(array(2, 3)).shard(D2, 0).realize()
    with pytest.raises(CompileError, match="not known that the slices along axis 0 agree"):
        placed([Op.Replicated(_flat(parts.uop), arg=(0,))])
    copies = Tensor(array(1, 3)).expand(2, 3).shard(D2, 0)
    assert agrees(copies.uop, 0)
    assert not agrees(copies.uop, 1)
    (found,) = placed([Op.Replicated(_flat(copies.uop), arg=(0,))])
    assert [f.shape for f in found] == [(1, 3), (1, 3)]


def _flat(x: UOp) -> UOp:
    from soundline.impl.lower.callify import inlined

    return inlined([x])[0]


def test_copies_that_are_not_made_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant of the assembly: no copy at all."""
    monkeypatch.setattr(assembly, "pieces", lambda nbytes: iter(()))
    x = on(0)
    found = compile(lambda t: t.sum(0), x)(x).numpy()
    monkeypatch.undo()
    assert found.tobytes() != compile(lambda t: t.sum(0), x)(x).numpy().tobytes()


def test_large_places_are_copied_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_COPIED", 20)
    x = array(4, 6)
    program = compile(lambda t: t.to("CPU:3") * 2, x)
    same(program(x), x * 2)
    assert program.command_count == len(program.kernels) + 5


# Threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ["read where they lie", "asked in Python"])
def test_threads_run_one_placed_program(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if road == "asked in Python":
        monkeypatch.setattr(host(), "layout", None)
    program = compile(lambda t: (t * 2).softmax(0), on(0))
    given = [on(0) for _ in range(3)]
    wanted = [program(x).numpy() for x in given]
    wrong: list[int] = []

    def work(k: int) -> None:
        runs = (program(given[k]).numpy().tobytes() for _ in range(20))
        wrong.extend(k for found in runs if found != wanted[k].tobytes())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_tensor_tells_where_it_is() -> None:
    x = Tensor(array(4, 6))
    assert (x.device, x.axis, len(x.shards)) == ("CPU", None, 1)
    assert (Tensor(1.0).device, x.to("CPU:2").device) == ("CPU", "CPU:2")
    assert str(Signature(float32, (4, 6), D2, 1)) == "float32[4, 6] on CPU:0+CPU:1 along axis 1"
    with pytest.raises(ValueError, match="read-only"):
        on(0).shards[0][0] = 1
    assert reshape(x.uop, (24,)).device == "CPU"
