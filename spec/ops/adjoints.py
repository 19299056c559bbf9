"""
What an adjoint is
==================

The adjoint of a node is the derivative of a scalar with respect to the node's value: an array of its shape and dtype.
The law of an op says, from the adjoint ``g`` of its value, what each source receives (U-33).

Where a value does not read an element of a source, as the element that `Where` does not select or that `Shrink` cuts
off, the source receives zero there, whatever the derivative around it: ``0·∞`` must not make it NaN, and an invalid
element must not make it invalid (U-01, U-30). So an adjoint records, beside its elements, which of them are *live*: for
the others no derivative is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soundline.spec.dtypes import DType, Element, bool_, float64, zero_of
from soundline.spec.ops.building import broadcast_to, const, element_of
from soundline.spec.ops.node import Op, ReduceArg, UOp
from soundline.spec.ops.sizes import shape_of

Parts = Sequence[UOp | None]
"""What each source receives; None where nothing passes."""
Law = Callable[[UOp, UOp], Parts]
"""(node, adjoint of its value) → the adjoint of each source."""


def everywhere(node: UOp, live: UOp) -> Sequence[UOp]:
    """The liveness that an elementwise op hands on: its own, to every source."""
    return (live,) * len(node.src)


def never(node: UOp) -> bool:
    """No element of a source is left out."""
    return False


def always(node: UOp) -> bool:
    """Elements of a source may be left out."""
    return True


def unchanged(node: UOp, live: UOp) -> UOp:
    """The node itself."""
    return node


@dataclass(frozen=True, slots=True)
class Passes:
    """The op is differentiable."""

    formula: str
    """What the sources receive, for the reader."""
    law: Law
    live: Law = everywhere
    """The same for a bool array: which elements of each source are read by elements that are live."""
    narrows: Callable[[UOp], bool] = never
    """Whether the value may leave out elements of a source."""
    scales: bool = True
    """Whether the law reads operands, which it must not where an element is not live."""
    readable: Callable[[UOp, UOp], UOp] = unchanged
    """(node, live) → the node as its law may read it: without the operands of what is not live."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No derivative passes to any source."""

    formula: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Through:
    """Reverse mode itself says what passes (`spec.gradients.backward`)."""

    formula: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A derivative that reaches the op is an error."""

    formula: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The adjoint of a composition, stated instead of derived from the ops of which it is made."""

    operands: tuple[UOp, ...]
    """What the composition is a function of."""
    law: Law
    """The same as that of an op: (node, adjoint of its value) → the adjoint of each operand."""


Adjoint = Passes | Nothing | Through | Refused
"""What an entry of the op table says of its adjoint."""

LEAF = Nothing("nothing: a leaf of the program")
WHOLE = Nothing(
    "nothing: the value is a whole number or a truth value, which does not move with its operands"
)
NO_VALUE = Nothing("nothing: it has no value")
LOOP_INDEX = Nothing("nothing: a loop index is a whole number")


def guarded(law: Law) -> Law:
    """The liveness that a law routes by operands, which may be invalid where nothing is live."""
    return lambda node, live: [part if part is None else kept(live, part) for part in law(node, live)]


def routes(formula: str, law: Law, narrows: Callable[[UOp], bool] = never) -> Passes:
    """An op that only moves or adds elements: what is live moves like the adjoint."""
    return Passes(formula, law, law, narrows, scales=False)


# Building blocks --------------------------------------------------------------------------------------------------


def filled(x: UOp, value: Element, dtype: DType | None = None) -> UOp:
    """A constant of the shape of x, and of its dtype unless another is given."""
    wanted = dtype or x.dtype
    return broadcast_to(const(element_of(value, wanted), wanted), shape_of(x))


def zeros(x: UOp) -> UOp:
    """Zeros (or False) of the shape and dtype of x."""
    return filled(x, zero_of(x.dtype))


def kept(p: UOp, g: UOp) -> UOp:
    """g where p is True, else zero."""
    return Op.Where(p, g, zeros(g))


def dropped(p: UOp, g: UOp) -> UOp:
    """g where p is False, else zero."""
    return Op.Where(p, zeros(g), g)


def total(g: UOp, axes: tuple[int, ...]) -> UOp:
    """The sum over axes, which stay with size 1; of what is live, whether any is."""
    return Op.Reduce(g, arg=ReduceArg(Op.Max if g.dtype is bool_ else Op.Add, axes))


def shared(g: UOp, count: UOp) -> UOp:
    """g/count, correctly rounded, for a count that the dtype of g need not hold."""
    return Op.Cast(Op.Div(Op.Cast(g, arg=float64), Op.Cast(count, arg=float64)), arg=g.dtype)
