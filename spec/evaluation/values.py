"""
Values
======

The value of every op, one law each: the meaning that every other part of soundline is held to. A law is asked in a
`Frame`, which knows the values of the loops, Params and memory around the node. An op that is missing in `VALUES` is
typed but has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from soundline.spec.arrays import movement
from soundline.spec.arrays.arrays import INVALID, Array, Cell, Invalid, positions
from soundline.spec.dtypes import DType, index, order, uint8
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluation.frames import Frame, Program
from soundline.spec.evaluation.lanes import wmma
from soundline.spec.evaluation.memory import Bytes
from soundline.spec.evaluation.memory_effects import gate, in_memory, read, version
from soundline.spec.ops import bodies
from soundline.spec.ops.node import ConstArg, Op, UOp
from soundline.spec.ops.places import VIEWS
from soundline.spec.ops.programs.reduction import reduction
from soundline.spec.values.elementwise import ELEMENTWISE, law_of, operand_dtype

Bindings = Mapping[int, Any]
"""Values by slot: an Array, a numpy array, nested lists of numbers, or one number."""


# Source ops -------------------------------------------------------------------------------------------------------


def bound_value(value: Any, dtype: DType) -> Array:
    """A binding as an array of `dtype`."""
    if isinstance(value, Array):
        array = value
    elif isinstance(value, np.ndarray):
        array = Array.from_numpy(value, dtype)
    else:
        array = Array.of(value, dtype)
    if array.dtype is not dtype:
        raise EvaluationError(
            f"a value of dtype {array.dtype} is bound, but {dtype} is expected", rule="uop-param-dtype"
        )
    return array


def param_value(frame: Frame, node: UOp) -> Array:
    """The value bound to the slot, which has the dtype, the shape and the bounds of the Param."""
    slot = node.arg.slot
    if slot not in frame.program.params:
        raise EvaluationError(f"nothing is bound to slot {slot}", rule="U-01", where=f"Param {slot}")
    array = bound_value(frame.program.params[slot], node.dtype)
    shape = frame.shape(node.shape)
    if array.shape != shape:
        raise EvaluationError(
            f"a value of shape {array.shape} is bound, but {shape} is expected",
            rule="uop-param-shape",
            where=f"Param {slot}",
        )
    check_bounds(node, array)
    return array


def check_bounds(node: UOp, array: Array) -> None:
    """Refuse a binding outside the bounds of its Param; NaN is outside."""
    if node.arg.bounds is None:
        return
    lo, hi = (end.value for end in node.arg.bounds)
    for cell in array.elements:
        if isinstance(cell, Invalid):
            continue
        if cell != cell or not order(lo) <= order(cell) <= order(hi):
            raise EvaluationError(
                f"{cell!r} is outside [{lo!r}, {hi!r}]",
                rule="uop-param-min-max",
                where=f"Param {node.arg.slot}",
            )


def _const(frame: Frame, node: UOp) -> Array:
    return Array(node.dtype, (), (node.arg.value,))


def _binary(frame: Frame, node: UOp) -> Array:
    return Array(uint8, (len(node.arg),), tuple(node.arg))


def _loop_index(frame: Frame, node: UOp) -> Array:
    """The value that a frame around gives to a Range or Special."""
    at = frame.bound(node)
    if at is None:
        raise EvaluationError(f"{node!r} is not inside its loop", rule="U-01", where=node.op.name)
    return Array(index, (), (at,))


# Movement ---------------------------------------------------------------------------------------------------------


def _numbers(frame: Frame, node: UOp) -> tuple[int, ...]:
    """The numbers that a shape or offset source holds."""
    return tuple(frame.number(s) for s in node.src)


def _slice(frame: Frame, node: UOp, source: Array) -> Array:
    return movement.sliced(source, frame.number(node.src[1]), node.arg.size, node.arg.dtype)


def _view(frame: Frame, node: UOp, source: Array) -> Array:
    return movement.moved(node.op, source, *(_numbers(frame, s) for s in node.src[1:]), arg=node.arg)


MOVEMENT: dict[Op, Callable[[Frame, UOp, Array], Array]] = {
    **dict.fromkeys(movement.MOVES, _view),
    Op.Index: lambda frame, node, source: movement.indexed(source, [frame.value(i) for i in node.src[1:]]),
    Op.Replicated: lambda frame, node, source: movement.replicated(source, node.arg),
    Op.Slice: _slice,
    Op.Bitcast: lambda frame, node, source: movement.bitcast(source, node.arg),
}
"""How each movement op of one value moves its elements."""


def _moved(frame: Frame, node: UOp) -> Array:
    """A movement op: a place is read where the op leads, a value is moved."""
    if in_memory(frame, node):
        return read(frame, node)
    return MOVEMENT[node.op](frame, node, frame.value(node.src[0]))


def _stack(frame: Frame, node: UOp) -> Array:
    return movement.stack([frame.value(s) for s in node.src], node.dtype)


# Elementwise ------------------------------------------------------------------------------------------------------


def _elementwise(frame: Frame, node: UOp) -> Array:
    """The scalar law of the op on the elements at each position; ⊥ wherever an operand is ⊥."""
    law, dtype = law_of(node.op), operand_dtype(node)
    extra = (node.arg,) if node.op is Op.Cast else ()
    sources = [frame.value(s) for s in node.src]
    rows = zip(*(s.elements for s in sources), strict=True)
    cells = tuple(INVALID if INVALID in row else law(dtype, *row, *extra) for row in rows)
    return Array(node.dtype, sources[0].shape, cells)


def _where(frame: Frame, node: UOp) -> Array:
    """Of a and b only the selected element is needed (U-01)."""
    condition, a, b = (frame.value(s) for s in node.src)
    rows = zip(condition.elements, a.elements, b.elements, strict=True)
    return Array(node.dtype, a.shape, tuple(INVALID if p is INVALID else x if p else y for p, x, y in rows))


# Reduce -----------------------------------------------------------------------------------------------------------


def identity(op: Op, dtype: DType) -> Cell:
    """The value of the empty reduce; that of Max on index is ⊥ (U-10)."""
    return reduced(op, dtype, [])


def reduced(op: Op, dtype: DType, cells: Sequence[Cell]) -> Cell:
    """The reduction of elements, none of which may be ⊥."""
    elements = [c for c in cells if not isinstance(c, Invalid)]
    if len(elements) < len(cells):
        raise EvaluationError("an invalid element is reduced", rule="U-01", where="Reduce")
    found = reduction(op, dtype, elements)
    return INVALID if found is None else found


def _reduce(frame: Frame, node: UOp) -> Array:
    return _reduce_ranges(frame, node) if len(node.src) > 1 else _reduce_axes(frame, node)


def _reduce_axes(frame: Frame, node: UOp) -> Array:
    """For each position of the result, one reduction over the reduced axes in row-major order."""
    source = frame.value(node.src[0])
    shape = tuple(1 if k in node.arg.axes else size for k, size in enumerate(source.shape))
    along = tuple(size if k in node.arg.axes else 1 for k, size in enumerate(source.shape))
    cells = []
    for p in positions(shape):
        row = [source.at(tuple(i + j for i, j in zip(p, q, strict=True))) for q in positions(along)]
        cells.append(reduced(node.arg.op, node.dtype, row))
    return Array(node.dtype, shape, tuple(cells))


def _iterations(frame: Frame, loops: tuple[UOp, ...]) -> Iterator[Frame]:
    """The frames of a nest of loops, the first of which is the outermost."""
    if not loops:
        yield frame
        return
    for at in range(frame.number(loops[0].src[0])):
        yield from _iterations(frame.iteration(loops[0], at), loops[1:])


def _reduce_ranges(frame: Frame, node: UOp) -> Array:
    """For each position, one reduction over the iterations of the ranges."""
    steps = [inner.value(node.src[0]).elements for inner in _iterations(frame, node.src[1:])]
    shape = frame.shape(node.shape)
    count = len(list(positions(shape)))
    rows = [[step[k] for step in steps] for k in range(count)]
    return Array(node.dtype, shape, tuple(reduced(node.arg.op, node.dtype, row) for row in rows))


def bind_sizes(root: UOp, params: Bindings) -> UOp:
    """`root` with every bound Param that is an index scalar made a constant, so that its sizes are checked."""
    replacements: dict[UOp, UOp] = {}
    for node in bodies.own_nodes(root):
        if node.op is Op.Param and node.dtype is index and node.shape == () and node.arg.slot in params:
            array = bound_value(params[node.arg.slot], index)
            check_bounds(node, array)
            replacements[node] = UOp(Op.Const, (), ConstArg(array.item(), index))
    return bodies.bind(root, replacements)


# Calls ------------------------------------------------------------------------------------------------------------


def _get_tuple(frame: Frame, node: UOp) -> Array:
    """An element of a tuple; of a Function or Call, its element with the arguments for the Params."""
    called, position = node.src[0], int(node.arg)
    if called.op is Op.Tuple:
        return frame.value(called.src[position])
    if called.src[0].op is Op.CustomFunction:
        return _custom(frame, called)[position]
    return apply(frame, called.src[0].src[position], called.src[1:])


def apply(frame: Frame, body: UOp, arguments: tuple[UOp, ...]) -> Array:
    """The value of a body whose Params are the arguments; those of index scalars are substituted, as sizes are."""
    values = {p.arg.slot: frame.value(arguments[p.arg.slot]) for p in bodies.params(body)}
    inner = bind_sizes(body, values)
    program = Program(frame.program.laws, values, frame.program.functions, {})
    return Frame(program, Bytes()).value(inner)


def _custom(frame: Frame, call: UOp) -> tuple[Array, ...]:
    """The results of a CustomFunction, which the caller of `evaluate` provides."""
    name = call.src[0].arg
    if name not in frame.program.functions:
        raise EvaluationError(f"no function {name!r} is given", rule="uop-customfunction-sem", where=name)
    found = frame.program.functions[name](*(frame.value(a) for a in call.src[1:]))
    results = found if isinstance(found, tuple) else (found,)
    wanted = [(p.dtype, frame.shape(p.shape)) for p in call.src[0].src]
    given = [(r.dtype, r.shape) if isinstance(r, Array) else None for r in results]
    if given != wanted:
        raise EvaluationError(
            f"{name!r} returns {given}, but its prototypes say {wanted}",
            rule="uop-customfunction-sem",
            where=name,
        )
    return results


# Load and ordering ------------------------------------------------------------------------------------------------


def _load(frame: Frame, node: UOp) -> Array:
    """The value of a place or of anything else; where a gate is False, the value of alt."""
    if len(node.src) == 1:
        return frame.value(node.src[0])
    alternative = frame.value(node.src[1])
    wanted = gate(frame, node.src[2], len(alternative.elements))
    if in_memory(frame, node.src[0]):
        found = read(frame, node.src[0], wanted)
    else:
        found = frame.value(node.src[0])
    rows = zip(wanted, found.elements, alternative.elements, strict=True)
    return Array(node.dtype, found.shape, tuple(x if p else y for p, x, y in rows))


def _after(frame: Frame, node: UOp) -> Array:
    """A value after effects: what it reads of memory is as they leave it."""
    if in_memory(frame, node):
        return read(frame, node)
    return version(frame, node.src[1:]).value(node.src[0])


VALUES: dict[Op, Callable[[Frame, UOp], Array]] = {
    Op.Param: lambda frame, node: read(frame, node) if in_memory(frame, node) else param_value(frame, node),
    Op.Buffer: read,
    Op.Const: _const,
    Op.Binary: _binary,
    Op.BinaryCode: _binary,
    **dict.fromkeys(MOVEMENT, _moved),
    Op.Stack: _stack,
    Op.Reduce: _reduce,
    Op.GetTuple: _get_tuple,
    Op.Load: _load,
    Op.Range: _loop_index,
    Op.Special: _loop_index,
    Op.After: _after,
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    Op.Where: _where,
    Op.Wmma: wmma,
    **dict.fromkeys(
        (Op.Contiguous, Op.ContiguousBackward, Op.Detach), lambda frame, node: frame.value(node.src[0])
    ),
}
"""The law of every op that has a value."""


def operands(frame: Frame, node: UOp) -> tuple[UOp, ...]:
    """The sources whose values the law of a node asks for in the same frame."""
    if node.op in (Op.Param, Op.Buffer, Op.GetTuple, Op.After, Op.Range, Op.Special, Op.Wmma):
        return ()
    if node.op is Op.Reduce:
        return node.src if len(node.src) == 1 else ()
    if node.op is Op.Load:
        gated_place = len(node.src) > 1 and in_memory(frame, node.src[0])
        return node.src[1:] if gated_place else node.src
    if node.op in VIEWS and in_memory(frame, node):
        return ()
    return node.src
