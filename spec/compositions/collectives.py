"""
Collectives
===========

What n devices D = (d₀, …, dₙ₋₁) do together, as programs over Load, movement and Reduce (U-28). Each docstring states
the value, the shape, the device and the axis of the result; `devices.evaluate_on_devices` shows what each device holds
and what is sent. Every collective holds for n = 1 and for empty parts, and takes values of any rank: where the source
writes (s,), the shape is (s, …), and the first axis is the one that is divided.

A broken constraint is an ``IllFormed`` under its id. The three listings of the source that lack their last Reshape
stand beside ours with the ending ``_of_the_source``: by them the result has shape (1, s).
"""

from __future__ import annotations

from soundline.spec.dtypes import bool_
from soundline.spec.errors import IllFormed
from soundline.spec.ops.building import expand, reduced, reshape
from soundline.spec.ops.node import LoadArg, Op, ReduceArg, Shape, UOp
from soundline.spec.ops.shards import parts
from soundline.spec.ops.sizes import Condition, divides

CONSTRAINTS: dict[str, str] = {
    "uop-broadcast-c1": "T is on one device, or on none",
    "uop-scatter-c1": "T is on one device, or on none",
    "uop-scatter-c2": "T has a first axis, and n divides it",
    "uop-collect-c1": "T is on a tuple of devices",
    "uop-reducetoone-c1": "T is on a tuple of n devices with axis 0, whose size is a number",
    "uop-reducetoone-c2": "the dtype of T is a number",
    "uop-allgather-c1": "T is on a tuple of n devices with axis 0, whose size is a number",
    "uop-reducescatter-c1": "T is on a tuple of n devices with axis 0, whose size is a number",
    "uop-reducescatter-c2": "the dtype of T is a number",
    "uop-reducescatter-c3": "n divides s, where T has shape (n·s, …)",
}
"""What the operand of each collective must satisfy, by id."""

Devices = tuple[str, ...]


def _demand(condition: Condition, rule: str, T: UOp) -> None:
    """Refuse an operand that breaks a constraint; a condition on symbolic sizes is left to the nodes that are built."""
    if condition is False:
        given = f"{T.dtype}{list(T.shape or ())} on {T.device!r} with axis {T.axis}"
        raise IllFormed(rule.split("-")[1], rule, given=given, wants=CONSTRAINTS[rule])


def _shape(T: UOp) -> Shape:
    return T.shape or ()


def copied(T: UOp, device: Devices | str) -> UOp:
    """T.copy(device) of the listings: a Load (U-25). On n devices it is divided along axis 0, on one it is whole."""
    return Op.Load(T, arg=LoadArg(device))


def _is_divided(T: UOp) -> bool:
    return isinstance(T.device, tuple) and T.axis == 0 and isinstance(_shape(T)[0], int)


def _rows(T: UOp, divisor: int) -> int:
    """The size of the first axis, divided by a number that divides it."""
    size = _shape(T)[0]
    assert isinstance(size, int)
    return size // divisor


def _replicated(T: UOp, devices: Devices) -> UOp:
    """T once for each device, copied to them, and known to be the same on all: shape (1, …)."""
    n, shape = len(devices), _shape(T)
    rows = expand(reshape(T, (1, *shape)), (n, *shape))
    return Op.Replicated(copied(rows, devices), arg=(0,))


def broadcast(T: UOp, devices: Devices) -> UOp:
    """T (s, …) on one device → (s, …) on D, axis null: every device holds T."""
    _demand(not isinstance(T.device, tuple), "uop-broadcast-c1", T)
    return reshape(_replicated(T, devices), _shape(T))


def broadcast_of_the_source(T: UOp, devices: Devices) -> UOp:
    """The source's listing: (1, s), where its comment says (s,)."""
    return _replicated(T, devices)


def scatter(T: UOp, devices: Devices) -> UOp:
    """T (s, …) on one device → (s, …) on D, axis 0: device j holds rows j·s/n … (j+1)·s/n - 1. n divides s."""
    _demand(not isinstance(T.device, tuple), "uop-scatter-c1", T)
    _demand(bool(_shape(T)) and divides(len(devices), _shape(T)[0]), "uop-scatter-c2", T)
    return copied(T, devices)


def gather(T: UOp) -> UOp:
    """T (n·s, …) on D → (n·s, …) on d₀, axis null: d₀ holds all of T, whatever its axis is."""
    _demand(isinstance(T.device, tuple), "uop-collect-c1", T)
    assert isinstance(T.device, tuple)
    return copied(T, T.device[0])


def reduce(T: UOp) -> UOp:
    """T (n·s, …) on D, axis 0 → (s, …) on d₀, axis null: the sum of the n parts, in the order of the devices."""
    _demand(_is_divided(T), "uop-reducetoone-c1", T)
    _demand(T.dtype is not bool_, "uop-reducetoone-c2", T)
    n = parts(T.device)
    return reduced(Op.Add, reshape(gather(T), (n, _rows(T, n), *_shape(T)[1:])), (0,))


def allgather(T: UOp) -> UOp:
    """T (n·s, …) on D, axis 0 → (n·s, …) on D, axis null: every device holds all of T."""
    return reshape(allgather_of_the_source(T), _shape(T))


def allgather_of_the_source(T: UOp) -> UOp:
    """The source's listing: (1, n·s), where its comment says (n·s,)."""
    _demand(_is_divided(T), "uop-allgather-c1", T)
    assert isinstance(T.device, tuple)
    return _replicated(T, T.device)


def reduce_scatter(T: UOp) -> UOp:
    """T (n·s, …) on D, axis 0 → (s, …) on D, axis 0: the sum of the n parts in the order of the devices, divided.

    Device j is sent piece j of every part, and adds them. n divides s.
    """
    _demand(_is_divided(T), "uop-reducescatter-c1", T)
    _demand(T.dtype is not bool_, "uop-reducescatter-c2", T)
    assert isinstance(T.device, tuple)
    n, rest = parts(T.device), _shape(T)[1:]
    _demand(divides(n * n, _shape(T)[0]), "uop-reducescatter-c3", T)
    pieces = reshape(T, (n, n, _rows(T, n * n), *rest))
    order = (1, 0, *range(2, 3 + len(rest)))
    sums = Op.Reduce(copied(Op.Permute(pieces, arg=order), T.device), arg=ReduceArg(Op.Add, (1,)))
    return reshape(sums, (_rows(T, n), *rest))


def allreduce(T: UOp) -> UOp:
    """T (n·s, …) on D, axis 0 → (s, …) on D, axis null: every device holds the sum of the n parts. n divides s."""
    return allgather(reduce_scatter(T))


def allreduce_of_the_source(T: UOp) -> UOp:
    """The source's listing: (1, s), where its comment says (s,)."""
    return allgather_of_the_source(reduce_scatter(T))
