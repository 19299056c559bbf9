"""
Lanes
=====

The lanes of a warp compute a Wmma together: each gives its fragments of A and B and gets its fragment of the result
(U-52). The lanes are the iterations of the WARP axis that the operands depend on, or of a Special that counts threads;
there are 32 of them. The product of the fragments is the chapter `tensor_cores`.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.spec.arrays.arrays import INVALID, Array, Cell
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluation.frames import Frame
from soundline.spec.evaluation.memory import Bytes
from soundline.spec.ops import bodies
from soundline.spec.ops.axes import axis_type, is_private
from soundline.spec.ops.node import AxisType, Op, UOp
from soundline.spec.values.tensor_cores import LANES, TensorCore, core_of, fragment_map, warp_product

LANE_AXES = (AxisType.WARP, AxisType.LOCAL)


def _refuse(why: str) -> EvaluationError:
    return EvaluationError(why, rule="uop-wmma-sem", where="Wmma")


def lane_axis(frame: Frame, node: UOp) -> UOp:
    """The loop whose iterations are the lanes: the one WARP axis, else the one thread axis, that A and B depend on."""
    operands = frame.program.free[node.src[0]] | frame.program.free[node.src[1]]
    for kind in LANE_AXES:
        axes = [loop for loop in operands if axis_type(loop) is kind]
        if len(axes) == 1:
            if frame.number(axes[0].src[0]) != LANES:
                raise _refuse(f"{axes[0]!r} does not have the {LANES} lanes of a warp")
            return axes[0]
    raise _refuse("the operands depend on no axis whose iterations are the lanes of a warp")


def product(node: UOp, operands: Sequence[Sequence[Array]]) -> list[Array]:
    """The result of each lane, given the operands (A, B, acc) of each lane."""
    fragments = [[list(lane[k].elements) for lane in operands] for k in range(3)]
    results = warp_product(core_of(node.arg), *fragments)
    return [
        Array(node.dtype, lane[2].shape, tuple(cells)) for lane, cells in zip(operands, results, strict=True)
    ]


def wmma(frame: Frame, node: UOp) -> Array:
    """The fragment of this lane, from its own acc and the rows of A and columns of B that others hold.

    What another lane holds is computed as that lane would.
    """
    lanes = lane_axis(frame, node)
    at = frame.bound(lanes)
    if at is None:
        raise _refuse(f"{lanes!r} has no value here")
    _refuse_registers(node, axis_type(lanes))
    own = [frame.value(source) for source in node.src]
    asked = _asked(core_of(node.arg), at)
    operands: list[list[Array]] = []
    for lane in range(LANES):
        there = frame.iteration(lanes, lane, Bytes(frame.memory))
        held = [_unknown(x) for x in own]
        for k in (0, 1):
            if lane in asked[k]:
                held[k] = there.value(node.src[k])
        operands.append(own if lane == at else held)
    return product(node, operands)[at]


def _asked(core: TensorCore, at: int) -> tuple[set[int], set[int]]:
    """The lanes that hold the rows of A, and the columns of B, which the result of one lane needs."""
    mine = [place for (lane, _), place in fragment_map(core, "C").items() if lane == at]
    rows, columns = {row for row, _ in mine}, {column for _, column in mine}
    a = {lane for (lane, _), (row, _) in fragment_map(core, "A").items() if row in rows}
    b = {lane for (lane, _), (_, column) in fragment_map(core, "B").items() if column in columns}
    return a, b


def _unknown(like: Array) -> Array:
    """A fragment that is not asked for."""
    cells: tuple[Cell, ...] = (INVALID,) * len(like.elements)
    return Array(like.dtype, like.shape, cells)


def _refuse_registers(node: UOp, kind: AxisType) -> None:
    """A and B may not read storage of which each lane has its own copy: the other copies are not seen from here."""
    for operand in bodies.own_nodes(*node.src[:2]):
        if operand.op is Op.Buffer and is_private(operand.arg.addrspace, kind):
            raise _refuse(
                f"A or B reads {operand!r}, of which every lane has its own copy; put the Wmma into a Linear"
            )
