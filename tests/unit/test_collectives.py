"""The collectives: value, shape, device and axis, what each device holds and what is sent, for one to four devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.compositions.collectives import (
    CONSTRAINTS,
    allgather,
    allgather_of_the_source,
    allreduce,
    allreduce_of_the_source,
    broadcast,
    broadcast_of_the_source,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
from soundline.spec.devices.evaluation import OnDevices, evaluate_on_devices
from soundline.spec.dtypes import DType, bool_, float32, index, int32, to_numpy
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import UOp, buffer, const, param, reshape

COUNTS = (1, 2, 3, 4)
DTYPES = (int32, float32)
REST: tuple[tuple[int, ...], ...] = ((), (2,), (0, 3))
N = param(9, index)


def devices(n: int) -> tuple[str, ...]:
    return tuple(f"gpu{k}" for k in range(n))


def values(dtype: DType, *shape: int) -> Any:
    """Numbers of different sizes, so that a float sum shows its order."""
    rng = np.random.default_rng(sum(shape) + len(shape))
    x = rng.integers(-1000, 1000, shape)
    return (x * np.where(x % 3 == 0, 1e6 + 0.25, 0.5) if dtype.is_float else x).astype(to_numpy(dtype))


def on_one(dtype: DType, shape: tuple[int, ...], device: str | None = "gpu0") -> UOp:
    return param(0, dtype, shape, device=device)


def divided(dtype: DType, n: int, shape: tuple[int, ...], axis: int = 0) -> UOp:
    return param(0, dtype, shape, device=devices(n), axis=axis)


def checked(u: UOp, x: Any) -> OnDevices:
    """What the devices hold, after the theorem has been checked."""
    held, value = evaluate_on_devices(u, {0: x}), evaluate(u, {0: x})
    assert held.joined() == value
    assert (held.device, held.axis) == (u.device, u.axis)
    if u.axis is None:
        assert all(s == value for s in held.shards)
    return held


def law(u: UOp, x: Any, expected: Any, device: Any, axis: int | None) -> OnDevices:
    """What the devices hold of a program that has this value, on this device, with this axis."""
    held = checked(u, x)
    assert held.joined() == Array.from_numpy(np.array(expected), u.dtype)
    assert (u.shape, u.device, u.axis) == (np.shape(expected), device, axis)
    return held


def sent(held: OnDevices) -> dict[tuple[str, str], int]:
    """Bytes by sender and receiver."""
    total: dict[tuple[str, str], int] = {}
    for t in held.transfers:
        total[t.source, t.target] = total.get((t.source, t.target), 0) + t.bytes
    return total


def between_all(n: int, size: int) -> dict[tuple[str, str], int]:
    """Every device sends `size` bytes to every other."""
    names = devices(n)
    return {(a, b): size for a in names for b in names if a != b and size}


def in_order(parts: Any) -> Any:
    """The sum over the first axis, ascending."""
    total = parts[0].copy()
    for part in parts[1:]:
        total = total + part
    return total


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (2, 2), (), (0, 3)])
def test_broadcast_puts_the_value_on_every_device(n: int, dtype: DType, shape: tuple[int, ...]) -> None:
    x = values(dtype, *shape)
    held = law(broadcast(on_one(dtype, shape), devices(n)), x, x, devices(n), None)
    assert sent(held) == {("gpu0", d): x.nbytes for d in devices(n)[1:] if x.nbytes}
    nowhere = law(broadcast(on_one(dtype, shape, None), devices(n)), x, x, devices(n), None)
    assert sent(nowhere) == {}
    elsewhere = law(broadcast(on_one(dtype, shape, "host"), devices(n)), x, x, devices(n), None)
    assert sent(elsewhere) == {("host", d): x.nbytes for d in devices(n) if x.nbytes}


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("s", [0, 1, 2])
@pytest.mark.parametrize("rest", REST)
def test_scatter_and_gather_undo_each_other(n: int, dtype: DType, s: int, rest: tuple[int, ...]) -> None:
    x = values(dtype, n * s, *rest)
    parts = scatter(on_one(dtype, (n * s, *rest)), devices(n))
    held = law(parts, x, x, devices(n), 0)
    chunks = np.split(x, n)
    assert [s.elements for s in held.shards] == [tuple(c.ravel().tolist()) for c in chunks]
    size = chunks[0].nbytes
    assert sent(held) == {("gpu0", d): size for d in devices(n)[1:] if size}
    back = law(gather(parts), x, x, "gpu0", None)
    expected = {(a, b): size for d in devices(n)[1:] if size for a, b in (("gpu0", d), (d, "gpu0"))}
    assert sent(back) == expected


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("s", [0, 1, 3])
@pytest.mark.parametrize("rest", REST)
def test_reduce_adds_the_parts_in_the_order_of_the_devices(
    n: int, dtype: DType, s: int, rest: tuple[int, ...]
) -> None:
    x = values(dtype, n * s, *rest)
    total = in_order(x.reshape(n, s, *rest))
    held = law(reduce(divided(dtype, n, (n * s, *rest))), x, total, "gpu0", None)
    assert sent(held) == {(d, "gpu0"): total.nbytes for d in devices(n)[1:] if total.nbytes}


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("s", [0, 1, 2])
@pytest.mark.parametrize("rest", REST)
def test_allgather_puts_all_parts_on_every_device(
    n: int, dtype: DType, s: int, rest: tuple[int, ...]
) -> None:
    x = values(dtype, n * s, *rest)
    held = law(allgather(divided(dtype, n, (n * s, *rest))), x, x, devices(n), None)
    assert sent(held) == between_all(n, x.nbytes // n)


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pieces", [0, 1, 2])
@pytest.mark.parametrize("rest", REST)
def test_reduce_scatter_sends_each_device_its_pieces(
    n: int, dtype: DType, pieces: int, rest: tuple[int, ...]
) -> None:
    s = n * pieces
    x = values(dtype, n * s, *rest)
    total = in_order(x.reshape(n, s, *rest))
    held = law(reduce_scatter(divided(dtype, n, (n * s, *rest))), x, total, devices(n), 0)
    assert sent(held) == between_all(n, total.nbytes // n)


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_allreduce_puts_the_sum_on_every_device(n: int, dtype: DType, pieces: int) -> None:
    s = n * pieces
    x = values(dtype, n * s)
    total = in_order(x.reshape(n, s))
    held = law(allreduce(divided(dtype, n, (n * s,))), x, total, devices(n), None)
    assert sent(held) == between_all(n, 2 * total.nbytes // n), "a piece to add, and the piece of the sum"
    reduced = checked(reduce(divided(dtype, n, (n * s,))), x)
    assert held.shards[0] == reduced.shards[0], "both add in the order of the devices"


def test_collectives_meet_on_one_device_as_on_several() -> None:
    """The axis is 0 for n = 1 too, where every axis of size 1 could be it."""
    for n in COUNTS:
        mine, theirs = divided(int32, n, (n * n, 2)), buffer(1, 2, int32, device=devices(n))
        assert Op.Add(reduce_scatter(mine), reshape(theirs, (n, 2))).axis == 0


def test_collectives_take_buffers() -> None:
    b = buffer(0, 2, float32, device=devices(2))
    held = evaluate_on_devices(allreduce(b), buffers={0: [1.0, 2.0, 10.0, 20.0]})
    assert [s.elements for s in held.shards] == [(11.0, 22.0), (11.0, 22.0)]


def test_gather_takes_parts_along_any_axis_and_replicas() -> None:
    x = values(int32, 3, 4)
    columns = checked(gather(divided(int32, 2, (3, 4), axis=1)), x)
    assert columns.joined() == Array.from_numpy(x, int32)
    assert sent(columns) == {("gpu1", "gpu0"): 24}
    replicas = param(0, int32, (3, 4), device=devices(2))
    assert sent(checked(gather(replicas), x)) == {}


# The listings of the source ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", COUNTS)
def test_the_listings_of_the_source_lack_a_reshape(n: int) -> None:
    x = values(float32, n * n)
    parts = divided(float32, n, (n * n,))
    for theirs, ours in (
        (
            broadcast_of_the_source(on_one(float32, (n * n,)), devices(n)),
            broadcast(on_one(float32, (n * n,)), devices(n)),
        ),
        (allgather_of_the_source(parts), allgather(parts)),
        (allreduce_of_the_source(parts), allreduce(parts)),
    ):
        assert theirs.shape == (1, *(ours.shape or ()))
        assert reshape(theirs, ours.shape or ()) is ours
        assert theirs.axis is None
        checked(theirs, x)


# Constraints ------------------------------------------------------------------------------------------------------

Twin = tuple[list[Callable[[], UOp]], list[Callable[[], UOp]]]
TWINS: dict[str, Twin] = {
    "uop-broadcast-c1": (
        [lambda: broadcast(on_one(int32, (3,)), devices(2)), lambda: broadcast(const(1, int32), devices(2))],
        [lambda: broadcast(divided(int32, 2, (4,)), devices(2))],
    ),
    "uop-scatter-c1": (
        [
            lambda: scatter(on_one(int32, (4,)), devices(2)),
            lambda: scatter(on_one(int32, (4,), None), devices(2)),
        ],
        [lambda: scatter(divided(int32, 2, (4,)), devices(2))],
    ),
    "uop-scatter-c2": (
        [
            lambda: scatter(on_one(int32, (3,)), devices(3)),
            lambda: scatter(param(0, int32, (N,)), devices(2)),
        ],
        [lambda: scatter(on_one(int32, (3,)), devices(2)), lambda: scatter(on_one(int32, ()), devices(1))],
    ),
    "uop-collect-c1": (
        [lambda: gather(divided(int32, 1, (3,)))],
        [lambda: gather(on_one(int32, (3,))), lambda: gather(const(1, int32))],
    ),
    "uop-reducetoone-c1": (
        [lambda: reduce(divided(int32, 2, (6,)))],
        [
            lambda: reduce(divided(int32, 2, (3, 2), axis=1)),
            lambda: reduce(on_one(int32, (4,))),
            lambda: reduce(param(0, int32, (4,), device=devices(2))),
            lambda: reduce(param(0, int32, (N,), device=devices(2), axis=0)),
        ],
    ),
    "uop-reducetoone-c2": (
        [lambda: reduce(divided(int32, 2, (6,)))],
        [lambda: reduce(divided(bool_, 2, (6,)))],
    ),
    "uop-allgather-c1": (
        [lambda: allgather(divided(bool_, 2, (6,)))],
        [
            lambda: allgather(divided(int32, 2, (3, 2), axis=1)),
            lambda: allgather(on_one(int32, (4,))),
            lambda: allgather(param(0, int32, (4,), device=devices(2))),
        ],
    ),
    "uop-reducescatter-c1": (
        [lambda: reduce_scatter(divided(int32, 2, (4,)))],
        [
            lambda: reduce_scatter(divided(int32, 2, (3, 2), axis=1)),
            lambda: reduce_scatter(on_one(int32, (4,))),
            lambda: allreduce(param(0, int32, (4,), device=devices(2))),
        ],
    ),
    "uop-reducescatter-c2": (
        [lambda: reduce_scatter(divided(int32, 2, (4,)))],
        [lambda: reduce_scatter(divided(bool_, 2, (4,)))],
    ),
    "uop-reducescatter-c3": (
        [lambda: reduce_scatter(divided(int32, 3, (9,))), lambda: allreduce(divided(int32, 2, (0,)))],
        [
            lambda: reduce_scatter(divided(int32, 3, (6,))),
            lambda: allreduce(divided(int32, 2, (6,))),
            lambda: reduce_scatter(buffer(0, 3, int32, device=devices(2))),
        ],
    ),
}


def test_every_constraint_has_twins() -> None:
    assert set(TWINS) == set(CONSTRAINTS)


@pytest.mark.parametrize("rule", TWINS)
def test_operands_that_satisfy_a_constraint_are_taken(rule: str) -> None:
    for build in TWINS[rule][0]:
        assert build().shape is not None


@pytest.mark.parametrize("rule", TWINS)
def test_operands_that_break_it_are_refused_under_its_id(rule: str) -> None:
    for build in TWINS[rule][1]:
        with pytest.raises(IllFormed) as refused:
            build()
        assert refused.value.rule == rule
        assert refused.value.wants == CONSTRAINTS[rule]
