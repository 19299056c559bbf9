"""
Bodies of functions
===================

What a Function asks of its body (U-31): it is closed, it binds exactly its own Params, and its arguments match them.
"""

from __future__ import annotations

from soundline.spec.node import ParamArg, Shape, Size, UOp, substitute, toposort
from soundline.spec.op_schema import Op
from soundline.spec.sizes import Condition, as_node, as_size, every, same_shape


def own_nodes(body: UOp) -> list[UOp]:
    """The nodes of a body, without the bodies of the Functions and Calls nested in it."""
    seen: set[UOp] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            nested = node.op in (Op.Function, Op.Call)
            stack.extend(node.src[1:] if nested else node.src)
    return list(seen)


def params(body: UOp) -> list[UOp]:
    """The Params that a Function with this body binds, by slot."""
    return sorted((n for n in own_nodes(body) if n.op is Op.Param), key=lambda p: p.arg.slot)


def slots(body: UOp) -> set[int]:
    """The slots that a Function with this body binds."""
    return {p.arg.slot for p in params(body)}


def is_closed(body: UOp) -> bool:
    """Whether a body has no Buffer, no Store and no Range that is not closed inside it."""
    nodes = own_nodes(body)
    return not free_ranges(body) and not any(n.op in (Op.Buffer, Op.Store) for n in nodes)


def free_ranges(root: UOp) -> frozenset[UOp]:
    """The Ranges that a node depends on and that neither a Reduce nor an End below it has closed."""
    free: dict[UOp, frozenset[UOp]] = {}
    for node in toposort(root):
        inside = frozenset().union(*(free[s] for s in node.src))
        if node.op is Op.Range:
            inside |= {node}
        elif node.op is Op.Reduce:
            inside = free[node.src[0]] - set(node.src[1:])
        elif node.op is Op.End:
            inside = free[node.src[0]] - {node.src[1]}
        free[node] = inside
    return free[root]


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
    from soundline.spec.bounds import min_max

    if argument.device is not None and arg.device not in (None, argument.device):
        return False
    if arg.axis != argument.axis:
        return False
    if arg.bounds is None:
        return True
    lo, hi = arg.bounds
    inside = min_max(argument)
    return inside is None or (lo.value <= inside.lo and inside.hi <= hi.value and not inside.maybe_nan)


def substituted_size(size: Size, body: UOp, arguments: tuple[UOp, ...]) -> Size:
    """A size of the body with its Params replaced by the arguments."""
    if isinstance(size, int):
        return size
    return as_size(substitute(as_node(size), {p: arguments[p.arg.slot] for p in params(body)}))


def elements(node: UOp) -> tuple[UOp, ...] | None:
    """The elements of a Tuple, or of the body of a Function or Call; None where they are not known."""
    if node.op is Op.Tuple:
        return node.src
    if node.op in (Op.Function, Op.Call):
        body = node.src[0]
        return body.src if body.op in (Op.Tuple, Op.CustomFunction) else None
    return None


def element_shape(node: UOp, position: int) -> Shape | None:
    """The shape of element `position` of a tuple, with the arguments substituted."""
    element = (elements(node) or ())[position]
    if node.op is Op.Tuple or element.shape is None or node.src[0].op is Op.CustomFunction:
        return element.shape
    return tuple(substituted_size(s, node.src[0], node.src[1:]) for s in element.shape)
