"""
Bodies of functions
===================

What a Function asks of its body (U-31): it is closed, it binds exactly its own Params, and its arguments match them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from soundline.spec.dtypes import order
from soundline.spec.ops.axes import is_thread_axis
from soundline.spec.ops.node import Op, ParamArg, RangeArg, Size, UOp, rebuilt, toposort
from soundline.spec.ops.shards import is_alone
from soundline.spec.ops.sizes import Condition, as_node, as_size, every, same_shape


def own_sources(node: UOp) -> tuple[UOp, ...]:
    """The sources that belong to the same body as the node: not the body of a Function or Call."""
    return node.src[1:] if node.op in (Op.Function, Op.Call) else node.src


def own_nodes(*roots: UOp) -> list[UOp]:
    """The nodes of a body, sources before users, without the bodies of the Functions and Calls nested in it."""
    return list(toposort(*roots, below=own_sources))


def bind(root: UOp, replacements: dict[UOp, UOp]) -> UOp:
    """`root` with some of its own nodes replaced; every node above a replacement is checked anew.

    No loop is captured: a Range that `root` closes is renamed where a replacement depends on a loop of its id, and
    where its bound is replaced beside another loop of its id, which it could become.
    """
    names = _kept_apart(root, replacements)

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node in replacements:
            return replacements[node]
        return UOp(Op.Range, src, RangeArg(names[node], node.arg.type), node.tag) if node in names else None

    return rebuilt(root, change, own_sources)


def _kept_apart(root: UOp, replacements: dict[UOp, UOp]) -> dict[UOp, int]:
    """New ids for the Ranges that `root` closes and that would meet another loop in what `bind` makes."""
    nodes = own_nodes(root)
    loops = [n for n in nodes if n.op is Op.Range]
    replaced = [n for n in nodes if n in replacements]
    if not loops or not replaced:
        return {}
    free = free_ranges(root)
    outside = {r.arg.id for n in replaced for r in free_ranges(replacements[n]) if r.op is Op.Range}
    moving = {r.arg.id for r in loops if not replacements.keys().isdisjoint(own_nodes(r))}
    fresh = count(max([*outside, *(r.arg.id for r in loops)]) + 1)
    taken = outside | {r.arg.id for r in loops if r in free and r.arg.id in moving}
    names: dict[UOp, int] = {}
    for r in loops:
        if r not in free and r.arg.id in taken:
            names[r] = next(fresh)
        elif r.arg.id in moving:
            taken.add(r.arg.id)
    return names


def params(body: UOp) -> list[UOp]:
    """The Params that a Function with this body binds, by slot."""
    return sorted((n for n in own_nodes(body) if n.op is Op.Param), key=lambda p: p.arg.slot)


def slots(body: UOp) -> set[int]:
    """The slots that a Function with this body binds."""
    return {p.arg.slot for p in params(body)}


def is_closed(body: UOp) -> bool:
    """Whether a body has no Buffer, no Store or AtomicAdd, and no Range that is not closed inside it."""
    nodes = own_nodes(body)
    return not free_ranges(body) and not any(n.op in (Op.Buffer, Op.Store, Op.AtomicAdd) for n in nodes)


def free_ranges(root: UOp) -> frozenset[UOp]:
    """The loop indices (Ranges and Specials) that a node depends on and that nothing below it has closed."""
    return free_by_node(root)[root]


def free_by_node(*roots: UOp) -> dict[UOp, frozenset[UOp]]:
    """The free loop indices of every own node."""
    free: dict[UOp, frozenset[UOp]] = {}
    for node in own_nodes(*roots):
        below = {free[s] for s in own_sources(node)}  # mostly one set, which is then shared
        inside = below.pop() if len(below) == 1 else frozenset[UOp]().union(*below)
        if node.op in (Op.Range, Op.Special):
            inside |= {node}
        closed = closed_loops(node, free)
        free[node] = inside.difference(closed) if closed else inside
    return free


def closed_loops(node: UOp, free: Mapping[UOp, frozenset[UOp]]) -> tuple[UOp, ...]:
    """The loop indices that a node closes, given those that are free in its sources.

    A Reduce closes its ranges, an End the one it names, and a Barrier the thread axes that its dependencies depend on.
    """
    if node.op in (Op.Reduce, Op.End):
        return node.src[1:]
    if node.op is Op.Barrier:
        below = frozenset[UOp]().union(*(free[s] for s in node.src))
        return tuple(n for n in own_nodes(*node.src) if n in below and is_thread_axis(n))
    return ()


def arguments_match(body: UOp, arguments: tuple[UOp, ...], *, strict: bool) -> Condition:
    """Whether each argument has the dtype and shape of its Param; if `strict`, device, axis and bounds too."""
    conditions: list[Condition] = []
    for param in params(body):
        argument = arguments[param.arg.slot]
        if argument.shape is None or argument.dtype is not param.dtype:
            return False
        if strict and not _placed_alike(param.arg, argument):
            return False
        assert param.shape is not None
        expected = tuple(substituted_size(s, body, arguments) for s in param.shape)
        conditions.append(same_shape(expected, argument.shape))
    return every(conditions)


def _placed_alike(arg: ParamArg, argument: UOp) -> bool:
    from soundline.spec.ops.bounds import min_max

    if argument.device is not None and arg.device not in (None, argument.device):
        return False
    if arg.axis != argument.axis and not is_alone(argument.device):
        return False
    if arg.bounds is None:
        return True
    lo, hi = arg.bounds
    inside = min_max(argument)
    if inside is None:
        return True
    return (
        order(lo.value) <= order(inside.lo) and order(inside.hi) <= order(hi.value) and not inside.maybe_nan
    )


def substituted_size(size: Size, body: UOp, arguments: tuple[UOp, ...]) -> Size:
    """A size of the body with its Params replaced by the arguments."""
    if isinstance(size, int):
        return size
    return as_size(bind(as_node(size), {p: arguments[p.arg.slot] for p in params(body)}))


def elements(node: UOp) -> tuple[UOp, ...] | None:
    """The elements of a Tuple, or of the body of a Function or Call; None where they are not known."""
    if node.op is Op.Tuple:
        return node.src
    if node.op in (Op.Function, Op.Call):
        body = node.src[0]
        return body.src if body.op in (Op.Tuple, Op.CustomFunction) else None
    return None


def element(node: UOp, position: int) -> UOp:
    """Element `position` of a tuple, with the arguments of a Function or Call for the Params of its body."""
    found = (elements(node) or ())[position]
    if node.op is Op.Tuple or node.src[0].op is Op.CustomFunction:
        return found
    return bind(found, {p: node.src[1 + p.arg.slot] for p in params(found)})
