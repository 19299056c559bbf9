"""
Callify
=======

Transform the Tensor graph into a single stateless function.

Input: the graphs of the outputs, over Buffers. Output: a Function whose body is a Tuple of the outputs over flat
Params, and whose arguments are the Buffers: first those named, in their order, then those that the graphs captured.
Functions and Calls inside are replaced by their bodies, but for those that are to be Calls (`calls`): these stay, and
`steps` cuts the function there. Load on the same device, Detach and ContiguousBackward, which are identities, are
dropped.

*Invariant*: ``GetTuple(result, k)`` has the value of output k; the body has no Buffer, no Function and no Load, and no
Call but those that were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.impl.lower.graphs.placement import check_device
from soundline.spec.errors import CompileError
from soundline.spec.ops.bodies import elements, own_nodes, own_sources
from soundline.spec.ops.node import Device, rebuilt_nodes
from soundline.spec.uop import Op, UOp, param, toposort

_IDENTITIES = (Op.Detach, Op.ContiguousBackward)
_FOREIGN = (Op.Store, Op.AtomicAdd, Op.Range, Op.Special, Op.Custom, Op.Ins, Op.Wmma)


def callify(
    outputs: Sequence[UOp], arguments: Sequence[UOp] = (), called: frozenset[UOp] = frozenset()
) -> UOp:
    """The function of the outputs; `arguments` are the Buffers that come first among its arguments.

    `called` are the bodies that stay apart, as Calls.
    """
    flat = inlined(outputs, called=called)
    found = dict.fromkeys(arguments)
    found.update(dict.fromkeys(n for n in own_nodes(*flat) if n.op is Op.Buffer))
    storages = list(found)
    params = {b: param(k, b.dtype, (b.arg.size,), device=_named(b)) for k, b in enumerate(storages)}
    new = rebuilt_nodes(own_nodes(*flat), lambda node, _: params.get(node), own_sources)
    return Op.Function(Op.Tuple(*(new[r] for r in flat)), *storages)


def _named(storage: UOp) -> Device:
    """The device of a Buffer, where it matters: on the only one there is a Param names none."""
    return None if storage.device == "CPU" else storage.device


def inlined(
    roots: Sequence[UOp], bound: dict[int, UOp] | None = None, called: frozenset[UOp] = frozenset()
) -> list[UOp]:
    """Graphs without Functions, identities and Calls, but those of the bodies in `called` and of CustomFunctions.

    `bound` gives the values of the Params by slot.
    """
    order = toposort(*roots, below=_inner)
    new = rebuilt_nodes(order, lambda node, src: _inlined_node(node, src, bound or {}, called), _inner)
    return [new[r] for r in roots]


def _inner(node: UOp) -> tuple[UOp, ...]:
    """The sources that belong to the same function as a node: not the body that it calls."""
    if node.op is Op.GetTuple:
        called = node.src[0]
        return called.src[1:] if called.op in (Op.Function, Op.Call) else (called.src[node.arg],)
    return node.src


def _inlined_node(
    node: UOp, src: tuple[UOp, ...], bound: dict[int, UOp], called: frozenset[UOp]
) -> UOp | None:
    if node.op in _FOREIGN:
        raise CompileError(f"{node.op.name} is not part of a tensor program", where="callify")
    check_device(node.device)
    if node.op is Op.Param:
        return bound.get(node.arg.slot, node)
    if node.op is Op.GetTuple:
        return _called(node, src, called)
    moves = node.op is Op.Load and node.arg is not None and node.arg.device is not None
    if node.op in _IDENTITIES or (node.op is Op.Load and len(node.src) == 1 and not moves):
        return src[0]
    if node.op is Op.Load and len(node.src) > 1:
        value, alternative, gate = src
        if gate.shape != value.shape:
            raise CompileError("a Load with one gate for many elements is not lowered", where="callify")
        chosen = Op.Where(gate, value, alternative)
        return Op.Load(chosen, arg=node.arg) if moves else chosen
    return None


def _called(node: UOp, src: tuple[UOp, ...], apart: frozenset[UOp]) -> UOp:
    """One result of a Tuple, or of a Function or Call with its arguments for its Params, or of a Call that stays."""
    called = node.src[0]
    if called.op is Op.Tuple:
        return src[0]
    if called.src[0].op is Op.CustomFunction or called.src[0] in apart:
        call = Op.Call(called.src[0], *src, tag=called.tag)
        return Op.GetTuple(call, arg=node.arg)
    if called.src[0].op is not Op.Tuple:
        raise CompileError(f"a Call of a {called.src[0].op.name} has no body to compile", where="Call")
    (result,) = inlined([(elements(called) or ())[node.arg]], dict(enumerate(src)), apart)
    return result
