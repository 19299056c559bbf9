"""
Evaluation
==========

The doors to the meaning of a program: `evaluate` gives the value of a node, `execute` what a program leaves in its
Buffers, `run_kernel` what a kernel leaves in its arguments.

Symbolic sizes are known once their Params are bound, and then every constraint is checked again, so that a program that
is ill formed at these sizes is refused as at construction. ⊥ that reaches a Reduce, a Store or the result is an
`EvaluationError` (U-01).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soundline.spec.arrays.arrays import Array, Invalid, same_cell
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluation.frames import Frame, Functions, Laws, Program
from soundline.spec.evaluation.linear import run_linear
from soundline.spec.evaluation.loops import launched, repeated
from soundline.spec.evaluation.memory import Addresses, Bytes, Write
from soundline.spec.evaluation.memory_effects import (
    buffer_length,
    contents,
    in_memory,
    initial,
    lay_out,
    place,
)
from soundline.spec.evaluation.values import (
    MOVEMENT,
    VALUES,
    Bindings,
    bind_sizes,
    bound_value,
    operands,
    param_value,
)
from soundline.spec.ops import bodies
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.places import base_of

__all__ = ["LAWS", "VALUES", "Bindings", "bound_value", "evaluate", "execute", "open_frame", "run_kernel"]


def _written_params(root: UOp) -> list[UOp]:
    """The Params that a program writes, or hands to a compiled kernel, which may write them."""
    found: dict[UOp, None] = {}
    for node in bodies.own_nodes(root):
        places = node.src[:1] if node.op in (Op.Store, Op.AtomicAdd) else ()
        if node.op is Op.Call and node.src[0].op is Op.Program:
            places = node.src[1:]
        found |= {base_of(p): None for p in places if base_of(p).op is Op.Param}
    return list(found)


def open_frame(root: UOp, params: Bindings, buffers: Bindings, functions: Functions) -> Frame:
    """The outermost frame of a program, in whose memory lie its Buffers and the Params that it writes."""
    outside = Frame(Program(LAWS, params, functions, {}), Bytes())
    outside.program.learn(root)
    written = {p: param_value(outside, p) for p in _written_params(root)}
    lengths = {p: len(array.elements) for p, array in written.items()}
    held = dict(written)
    for node in bodies.own_nodes(root):
        if node.op is Op.Buffer:
            lengths[node] = buffer_length(node.arg)
            if node.arg.slot in buffers:
                held[node] = _buffer_contents(node, buffers[node.arg.slot])
    storage = lay_out(lengths)
    return Frame(Program(LAWS, params, functions, storage), initial(storage, held))


def _buffer_contents(node: UOp, value: Any) -> Array:
    array = bound_value(value, node.dtype)
    if array.shape != node.shape:
        raise EvaluationError(
            f"contents have shape {array.shape}, but {node.shape} is expected",
            rule="uop-buffer-shape",
            where=f"Buffer {node.arg.slot}",
        )
    return array


def _inside(frame: Frame, root: UOp, ranges: Mapping[int | str, int]) -> Frame:
    """The frame in which the given loop indices have their values."""
    frame.program.learn(root)
    free = frame.program.free[root]
    ordered = [node for node in bodies.own_nodes(root) if node in free]  # a bound may depend on another loop
    for loop in ordered:
        name = loop.arg if loop.op is Op.Special else loop.arg.id
        if name in ranges:
            if not 0 <= ranges[name] < frame.number(loop.src[0]):
                raise EvaluationError(
                    f"{ranges[name]} is outside the loop {loop!r}", rule="uop-range-min-max", where="Range"
                )
            frame = frame.iteration(loop, ranges[name])
    return frame


def evaluate(
    u: UOp,
    params: Bindings | None = None,
    buffers: Bindings | None = None,
    ranges: Mapping[int | str, int] | None = None,
    functions: Functions | None = None,
) -> Array:
    """The value of a node.

    `params` and `buffers` bind slots; a Buffer that is not bound was never written. `ranges` gives values to free
    Ranges by id and to Specials by name, `functions` gives the CustomFunctions by name.
    """
    root = bind_sizes(u, params or {})
    if root.shape is None:
        raise EvaluationError(
            "this node has no value", rule=f"uop-{root.op.name.lower()}-sem", where=root.op.name
        )
    frame = _inside(open_frame(root, params or {}, buffers or {}, functions or {}), root, ranges or {})
    value = frame.value(root)
    if not value.valid:
        raise EvaluationError("the result has an invalid element", rule="U-01", where=root.op.name)
    return value


def execute(
    program: UOp,
    buffers: Bindings | None = None,
    params: Bindings | None = None,
    functions: Functions | None = None,
) -> dict[int, Array]:
    """What every Buffer holds, by slot, after the effects of a Sink (or another effect), or of a Linear in order.

    An element that was never written is ⊥.
    """
    return {
        node.arg.slot: array
        for node, array in _final(program, params or {}, buffers or {}, functions or {}).items()
        if node.op is Op.Buffer
    }


def run_kernel(linear: UOp, arguments: Sequence[Any], functions: Functions | None = None) -> list[Array]:
    """What the arguments of a kernel, which are its Params by slot, hold after its Linear has run."""
    params = dict(enumerate(arguments))
    left = {n.arg.slot: a for n, a in _final(linear, params, {}, functions or {}).items() if n.op is Op.Param}
    own = {p.arg.slot: p.dtype for p in bodies.params(linear)}
    return [
        left[slot] if slot in left else bound_value(value, own[slot]) if slot in own else value
        for slot, value in params.items()
    ]


def _final(program: UOp, params: Bindings, buffers: Bindings, functions: Functions) -> dict[UOp, Array]:
    """The contents of memory after a program, by Buffer and by written Param."""
    root = bind_sizes(program, params)
    frame = open_frame(root, params, buffers, functions)
    frame.program.learn(root)
    if root.op is Op.Linear:
        memory = run_linear(frame, root)
    else:
        memory = launched(frame, root)
    return {
        node: contents(memory, storage, frame.shape(node.shape))
        for node, storage in frame.program.storage.items()
    }


def _invoked(frame: Frame, call: UOp) -> list[Write]:
    """The Call of a Program: its Linear runs on the arguments, and what it changes in them is written back."""
    arguments = call.src[1:]
    values = [frame.value(a) for a in arguments]
    after = run_kernel(call.src[0].src[0], values, frame.program.functions)
    found: list[Write] = []
    for k, argument in enumerate(arguments):
        if values[k] != after[k]:
            if not in_memory(frame, argument):
                raise EvaluationError(
                    "a kernel writes an argument that is not a memory location",
                    rule="uop-call-sem",
                    where="Call",
                )
            _check_apart(frame, argument, arguments[:k] + arguments[k + 1 :])
            found += _changes(place(frame, argument), values[k], after[k])
    return found


def _changes(where: Addresses, old: Array, new: Array) -> list[Write]:
    """The writes that turn the old contents of a place into the new ones."""
    found: list[Write] = []
    for address, was, cell in zip(where.addresses, old.elements, new.elements, strict=True):
        if same_cell(where.dtype, was, cell) or isinstance(cell, Invalid):
            continue
        if isinstance(address, Invalid):
            raise EvaluationError("a kernel writes outside its argument", rule="U-01", where="Call")
        found.append(Write(address, where.dtype, cell, where.storage))
    return found


def _check_apart(frame: Frame, written: UOp, others: tuple[UOp, ...]) -> None:
    """Refuse an argument that is written and shares bytes with another: a kernel's Params are apart."""
    own = _bytes_of(place(frame, written))
    for other in others:
        if in_memory(frame, other) and not own.isdisjoint(_bytes_of(place(frame, other))):
            raise EvaluationError(
                "a kernel writes an argument that overlaps another", rule="U-26", where="Call"
            )


def _bytes_of(where: Addresses) -> set[int]:
    return {b for address in where.addresses if not isinstance(address, Invalid) for b in address}


LAWS = Laws(VALUES, MOVEMENT, operands, _invoked, repeated)
"""What every evaluation goes by."""
