"""
Obligations
===========

What is to be shown of two scalar programs: for all values of the variables, where the hypotheses hold and the
expressions of `fits` do not wrap, both sides have the same value. A rule's typed instance is one obligation; a pair of
programs that someone wants to exchange is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from soundline.spec.dtypes import DType, index
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.ops.table import group_of
from soundline.spec.rules.instances import Goal
from soundline.spec.uop import obligations
from soundline.verify.verdicts.layers import ROUNDING

SCALAR_OPS = frozenset((*group_of("elementwise", "decomposed"), Op.Bitcast, Op.CDiv, Op.CMod))
"""The ops that compute one element from one element of each source; every other node is a leaf."""


@dataclass(frozen=True, eq=False)
class Obligation:
    """Two sides and the conditions under which they must be equal."""

    label: str
    variables: Mapping[str, UOp]
    leading: frozenset[str]
    """Constants, sizes and bounds: what a counterexample makes small first."""
    hypotheses: tuple[UOp, ...]
    fits: tuple[UOp, ...]
    left: UOp
    right: UOp
    licences: frozenset[str] = frozenset()
    name: str = "pair"
    """The rule's, or another name that may stand in the name of a test."""
    goal: Goal | None = None
    """The instance of a rule that it is, where it is one."""
    demands: tuple[tuple[str, UOp], ...] = ()
    """What the right side needs in order to have a value, in order: the constraint and the condition (`demands`)."""

    @property
    def is_trivial(self) -> bool:
        """Whether both sides are the same term."""
        return self.left is self.right

    @property
    def licensed(self) -> bool:
        """Whether a licence admits another rounding here (`theories`)."""
        return not self.licences.isdisjoint(ROUNDING)

    def nodes(self) -> list[UOp]:
        """Every node of the sides and conditions, sources first; leaves are not entered."""
        return list(scalar_nodes(*self.hypotheses, *self.fits, self.left, self.right))

    def leaves(self) -> list[UOp]:
        """The nodes without a scalar law that are not constants."""
        return [n for n in self.nodes() if n.op not in SCALAR_OPS and n.op is not Op.Const]


def obligation_of(goal: Goal) -> Obligation:
    """The obligation that a scalar instance of a rule states."""
    if isinstance(goal.right, IllFormed):
        raise RuleError(
            f"the right side is ill-formed: {goal.right}", file=goal.rule.file, line=goal.rule.line
        )
    if goal.left.dtype is not goal.right.dtype:
        raise RuleError(
            f"the sides have different dtypes, {goal.left.dtype} and {goal.right.dtype}, at {goal.label}",
            file=goal.rule.file,
            line=goal.rule.line,
        )
    kinds = goal.rule.kinds
    leading = frozenset(n for n in goal.variables if n not in kinds or kinds[n].kind in ("Const", "Size"))
    licences = frozenset(goal.rule.licences)
    if not goal.env.dtype.is_float:
        licences -= set(ROUNDING)
    needed = [c for node in (*goal.hypotheses, *goal.fits, goal.left) for _, c in obligations(node)]
    return Obligation(
        name=goal.rule.id,
        label=goal.label,
        variables=goal.variables,
        leading=leading,
        hypotheses=(*dict.fromkeys(needed), *goal.hypotheses),
        fits=goal.fits,
        left=goal.left,
        right=goal.right,
        licences=licences,
        goal=goal,
        demands=tuple(obligations(goal.right)),
    )


def scalar_nodes(*roots: UOp) -> Iterator[UOp]:
    """The nodes that the roots reach through scalar ops, sources first, each once."""
    return toposort(*roots, below=scalar_sources)


def scalar_sources(node: UOp) -> tuple[UOp, ...]:
    """What a scalar op reads; nothing of any other node, which stands for its value."""
    return node.src if node.op in SCALAR_OPS else ()


_WRAPPING = frozenset((Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Shl, Op.Mulacc, Op.Idiv, Op.CDiv))


def may_wrap(node: UOp) -> bool:
    """Whether the exact result of this operation can lie outside its dtype, so that it wraps (U-02)."""
    if not node.dtype.is_int:
        return False
    if node.op is Op.Cast:
        return is_whole(node.src[0].dtype)
    return node.op in _WRAPPING


def wrapping_nodes(expressions: Iterable[UOp]) -> list[UOp]:
    """The operations inside the expressions of `fits` that could wrap."""
    return [n for n in scalar_nodes(*expressions) if may_wrap(n)]


def is_whole(dtype: DType) -> bool:
    """Whether the elements are integers, of fixed width or not."""
    return dtype.is_int or dtype is index
