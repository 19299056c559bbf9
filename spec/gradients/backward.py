"""
Gradients
=========

Reverse mode over a program: `gradient` gives the derivative of a scalar with respect to any of its nodes, as UOps.

The order is fixed, so that the exact profile is reproducible. The nodes of the program, in the order of
`spec.ops.bodies.own_nodes` (sources before users, first sources first), are visited last to first. A visited node hands
their adjoints to its sources from the first to the last, and an adjoint is the sum of what arrives, from the left.

A derivative is asked for only between x and y: an op that has none is an error there, and nowhere else. A Call is
opaque, unless it calls a CustomFunction whose adjoint is given: then its arguments receive what that adjoint computes.

A composition may *state* its adjoint: a program may compute an elementary function in steps that correct each other's
rounding. Its derivative is known, and the derivative of the steps is another rounding of it. Then the operands of the
composition receive the stated adjoint, and the nodes inside it receive nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from soundline.spec.dtypes import bool_
from soundline.spec.errors import GradientError
from soundline.spec.gradients.table import ADJOINTS
from soundline.spec.ops import bodies
from soundline.spec.ops.adjoints import Nothing, Passes, Refused, Stated, Through, filled, kept, zeros
from soundline.spec.ops.node import LoadArg, Op, UOp
from soundline.spec.ops.sizes import same_shape, shape_of
from soundline.spec.ops.table.entries import TABLE
from soundline.spec.uop import expand, param, reshape


@dataclass(frozen=True, slots=True)
class Cotangent:
    """The adjoint of a node so far, and which of its elements are live; None if all are."""

    value: UOp
    live: UOp | None = None


GivenAdjoint = Callable[[UOp, int, UOp], Sequence[UOp | None]]
"""What a CustomFunction passes on: given a Call of it, the number of a result and the adjoint of that, the part of each
argument, or None where it receives nothing."""
GivenAdjoints = Mapping[str, GivenAdjoint]
"""The adjoints of CustomFunctions, by name."""
StatedAdjoint = Callable[[UOp], Stated | None]
"""The adjoint that a node states, if it is the value of a composition that does."""


def gradient(
    y: UOp,
    xs: Sequence[UOp],
    seed: UOp | None = None,
    adjoints: GivenAdjoints = MappingProxyType({}),
    stated: StatedAdjoint | None = None,
) -> tuple[UOp, ...]:
    """The derivative of y, or of the sum of seed·y, with respect to each of xs; zeros where y does not depend on it.

    y is a float, and a scalar unless a seed of its dtype and shape is given. Each x is a float node: a Param, a Buffer
    or any node inside y. `adjoints` gives the adjoints of CustomFunctions, by name. `stated` gives the adjoints of
    compositions; a composition without one, or with an x inside it, is differentiated op by op. Raises `GradientError`.

    >>> from soundline.spec.dtypes import float64
    >>> from soundline.spec.evaluate import evaluate
    >>> x = param(0, float64)
    >>> evaluate(gradient(Op.Mul(Op.Mul(x, x), x), [x])[0], {0: 5.0}).elements
    (75.0,)
    """
    for node in (y, *xs):
        if node.shape is None or not node.dtype.is_float:
            raise GradientError(
                f"{node!r} of dtype {node.dtype} is not a float", rule="U-33", where=node.op.name
            )
    start = _seed(y, seed)
    found = backward(y, Cotangent(start), frozenset(xs), adjoints, stated)
    return tuple(found[x].value if x in found else zeros(x) for x in xs)


def _seed(y: UOp, seed: UOp | None) -> UOp:
    """The adjoint of y itself."""
    if seed is None:
        if y.shape != ():
            raise GradientError(
                f"y has the shape {y.shape}",
                rule="U-33",
                where=y.op.name,
                hint="give a seed of this shape, or take the gradient of a scalar",
            )
        return filled(y, 1.0)
    if seed.shape is None or seed.dtype is not y.dtype or same_shape(seed.shape, shape_of(y)) is not True:
        raise GradientError(
            f"the seed is a {seed.dtype} of shape {seed.shape}, y a {y.dtype} of shape {y.shape}",
            rule="U-33",
            where=y.op.name,
        )
    return seed


def backward(
    y: UOp,
    seed: Cotangent,
    xs: Collection[UOp],
    adjoints: GivenAdjoints = MappingProxyType({}),
    stated: StatedAdjoint | None = None,
) -> dict[UOp, Cotangent]:
    """The adjoints of the nodes between xs and y; those inside of a composition that states its own have none."""
    nodes = bodies.own_nodes(y)
    between = dependents(nodes, xs)
    found = {y: seed}
    for node in reversed(nodes):
        if node not in between or node not in found:
            continue
        own = _stating(node, xs, stated)
        given = (
            passed(node, found[node], between, adjoints, stated)
            if own is None
            else _stated(own, node, found[node])
        )
        for source, part in given:
            if source in between:
                placed = Cotangent(
                    placed_like(part.value, source),
                    None if part.live is None else placed_like(part.live, source),
                )
                found[source] = joined(found[source], placed) if source in found else placed
    return found


def operands(node: UOp) -> tuple[UOp, ...]:
    """The nodes to which a node hands adjoints: its sources, or for a GetTuple the sources of the tuple."""
    if node.op is not Op.GetTuple:
        return node.src
    called = node.src[0]
    return (called.src[node.arg],) if called.op is Op.Tuple else called.src[1:]


def dependents(nodes: Iterable[UOp], xs: Collection[UOp]) -> set[UOp]:
    """The nodes, given sources first, through which a derivative with respect to xs may pass.

    They are floats, and effects: what an effect writes may be read again, and After then says that it has no adjoint.
    """
    found: set[UOp] = set()
    for node in nodes:
        passes = node.shape is None or (node.dtype.is_float and not isinstance(ADJOINTS[node.op], Nothing))
        if node in xs or (passes and any(s in found for s in operands(node))):
            found.add(node)
    return found


def joined(a: Cotangent, b: Cotangent) -> Cotangent:
    """The sum; an element is live if it is in either."""
    live = None if a.live is None or b.live is None else Op.Or(a.live, b.live)
    return Cotangent(Op.Add(a.value, b.value), live)


def _stating(node: UOp, xs: Collection[UOp], stated: StatedAdjoint | None) -> Stated | None:
    """The adjoint that a node states; None where one of xs is inside of the composition."""
    own = None if stated is None else stated(node)
    stack = [] if own is None else [node]
    seen = {node} if own is None else {node, *own.operands}
    while stack:
        new = [s for s in stack.pop().src if s not in seen]
        if any(s in xs for s in new):
            return None
        seen.update(new)
        stack += new
    return own


def passed(
    node: UOp,
    g: Cotangent,
    between: Collection[UOp],
    adjoints: GivenAdjoints = MappingProxyType({}),
    stated: StatedAdjoint | None = None,
) -> list[tuple[UOp, Cotangent]]:
    """What a node hands on to its operands."""
    law = ADJOINTS[node.op]
    match law:
        case Passes():
            return _passed(law, node, g)
        case Through() if node.op is Op.GetTuple:
            return _through(node, g, between, adjoints, stated)
        case Refused():
            raise _refusal(node)
        case _:
            return []


def _refusal(node: UOp) -> GradientError:
    reason = ADJOINTS[node.op].formula
    return GradientError(reason, rule=TABLE[node.op].law_id("adjoint"), where=node.op.name)


def _passed(law: Passes, node: UOp, g: Cotangent) -> list[tuple[UOp, Cotangent]]:
    """The adjoints of the sources, by the law of the op; an element that is not live receives zero, and no derivative
    is used.
    """
    start = filled(node, True, bool_) if g.live is None and law.narrows(node) else g.live
    read = node if g.live is None else law.readable(node, g.live)
    lives = [None] * len(node.src) if start is None else law.live(read, start)
    found = []
    for source, value, live in zip(node.src, law.law(read, g.value), lives, strict=True):
        if value is not None:
            masked = kept(live, value) if law.scales and g.live is not None and live is not None else value
            found.append((source, Cotangent(masked, live)))
    return found


def _stated(own: Stated, node: UOp, g: Cotangent) -> list[tuple[UOp, Cotangent]]:
    """What a composition hands on to its operands, which are all live where it is."""
    return [
        (operand, Cotangent(value if g.live is None else kept(g.live, value), g.live))
        for operand, value in zip(own.operands, own.law(node, g.value), strict=True)
        if value is not None
    ]


# Tuples and functions ---------------------------------------------------------------------------------------------


def _through(
    node: UOp,
    g: Cotangent,
    between: Collection[UOp],
    adjoints: GivenAdjoints,
    stated: StatedAdjoint | None,
) -> list[tuple[UOp, Cotangent]]:
    """An element of a Tuple receives g. The arguments of a Function receive the elements of another Function."""
    called = node.src[0]
    if called.op is Op.Tuple:
        return [(called.src[node.arg], g)]
    if called.op is Op.Call:
        if called.src[0].op is not Op.CustomFunction or called.src[0].arg not in adjoints:
            raise _refusal(called)
        return _given(adjoints[called.src[0].arg], node, g)
    result, arguments = called.src[0].src[node.arg], called.src[1:]
    wanted = [p for p in bodies.params(result) if arguments[p.arg.slot] in between]
    given = [g.value] if g.live is None else [g.value, g.live]
    seeds = [_binder(len(arguments) + k, result, given[k]) for k in range(len(given))]
    inside = backward(result, Cotangent(*seeds), wanted, adjoints, stated)
    reached = [p for p in wanted if p in inside]
    elements: list[UOp] = []
    for p in reached:
        elements += [part for part in (inside[p].value, inside[p].live) if part is not None]
    adjoint = Op.Function(Op.Tuple(*elements), *arguments, *given, tag=called.tag)
    found, position = [], 0
    for p in reached:
        count = 1 if inside[p].live is None else 2
        parts = [Op.GetTuple(adjoint, arg=position + k) for k in range(count)]
        found.append((arguments[p.arg.slot], Cotangent(*parts)))
        position += count
    return found


def _given(adjoint: GivenAdjoint, node: UOp, g: Cotangent) -> list[tuple[UOp, Cotangent]]:
    """What the arguments of a CustomFunction receive for one of its results, where it is live."""
    call = node.src[0]
    parts = adjoint(call, node.arg, g.value if g.live is None else kept(g.live, g.value))
    if len(parts) != len(call.src) - 1:
        raise _ill_given(call, f"{len(parts)} parts for {len(call.src) - 1} arguments")
    found = []
    for argument, part in zip(call.src[1:], parts, strict=True):
        if part is None:
            continue
        if part.dtype is not argument.dtype or same_shape(shape_of(part), shape_of(argument)) is False:
            wanted = f"{argument.dtype}{list(shape_of(argument))}"
            raise _ill_given(call, f"{part.dtype}{list(shape_of(part))} for an argument {wanted}")
        found.append((argument, Cotangent(part)))
    return found


def _ill_given(call: UOp, what: str) -> GradientError:
    return GradientError(f"the adjoint gives {what}", rule="uop-call-adjoint", where=call.src[0].arg)


def _binder(slot: int, result: UOp, argument: UOp) -> UOp:
    """A Param of the shape of a result, to be bound to an argument."""
    return param(slot, argument.dtype, shape_of(result), device=argument.device, axis=argument.axis)


# Devices ----------------------------------------------------------------------------------------------------------


def placed_like(g: UOp, x: UOp) -> UOp:
    """g on the device and with the shard axis of x, so that it can be added to what x receives elsewhere."""
    if None in (g.device, x.device) or (g.device, g.axis) == (x.device, x.axis):
        return g
    if not isinstance(x.device, tuple):
        return Op.Load(g, arg=LoadArg(device=x.device))
    if x.axis is None:
        return replicas(g, x.device)
    rank = len(shape_of(g))
    forth = (x.axis, *(k for k in range(rank) if k != x.axis))
    sharded = Op.Load(Op.Permute(g, arg=forth), arg=LoadArg(device=x.device))
    return Op.Permute(sharded, arg=tuple(forth.index(k) for k in range(rank)))


def replicas(g: UOp, devices: tuple[str, ...]) -> UOp:
    """g on every one of several devices (U-28)."""
    one = Op.Load(g, arg=LoadArg(device=devices[0]))
    shape = shape_of(g)
    copies = Op.Load(expand(reshape(one, (1, *shape)), (len(devices), *shape)), arg=LoadArg(device=devices))
    return reshape(Op.Replicated(copies, arg=(0,)), shape)
