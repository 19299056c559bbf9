"""
Applying procedures
===================

The result of a procedure replaces a node only under these conditions: it has the dtype, shape and place of that node;
it uses nothing that the node left unused (an element may be invalid, U-01); it drops no effect; and the court does not
refute it. The court validates each application: both nodes are compared for all values of their leaves.

Without the court nothing is validated, and the application is *not checked*. An application that the court cannot
decide is not made.
"""

from __future__ import annotations

from dataclasses import dataclass

from soundline.impl import evidence
from soundline.impl.analysis.facts import Facts
from soundline.impl.evidence import Ruling
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import same_shape
from soundline.spec.ops.table import group_of
from soundline.spec.rules.procedures import Procedure

_STRICT = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)) - {Op.Where}
"""Ops that use each element of all sources."""

DECIDED = ("proved", evidence.NOT_CHECKED)
"""The rulings with which an application is kept."""


class WrongApplication(SoundlineError):
    """A procedure made another value of a node, or another dtype or shape; carries both nodes."""

    def __init__(self, procedure: Procedure, before: UOp, after: UOp, message: str) -> None:
        self.procedure = procedure
        self.before = before
        self.after = after
        super().__init__(
            f"{procedure.id} makes {after} of {before}: {message}",
            rule=procedure.id,
            where=f"{procedure.file}:{procedure.line}",
            hint="the procedure is wrong; leave it out until it is put right",
        )


@dataclass(frozen=True, slots=True)
class Application:
    """One use of a procedure, and what the court says of it."""

    procedure: str
    before: UOp
    after: UOp
    ruling: Ruling

    @property
    def kept(self) -> bool:
        """Whether the node was replaced."""
        return self.ruling.verdict in DECIDED


def attempt(procedure: Procedure, node: UOp, facts: Facts, *, ask: bool = True) -> Application | None:
    """The result of a procedure at a node, and the ruling; None where the procedure does not apply. Raises
    `WrongApplication`.

    If not `ask`, the court is left out, and the application is *not checked*.
    """
    try:
        after = procedure(node, facts)
    except IllFormed:  # this dtype or place has no such node
        return None
    if after is None or after is node or after.shape is None or node.shape is None:
        return None
    if after.dtype is not node.dtype or same_shape(after.shape, node.shape) is False:
        message = f"{after.dtype}{list(after.shape)} is not {node.dtype}{list(node.shape)}"
        raise WrongApplication(procedure, node, after, message)
    alike = same_shape(after.shape, node.shape) is True
    if not alike or after.device != node.device or after.axis != node.axis:
        return None
    if facts.has_effect(node) or not demands_no_more(node, after, facts):
        return None
    ruling = evidence.application(node, after) if ask else Ruling(evidence.NOT_CHECKED)
    if ruling.verdict == "refuted":
        raise WrongApplication(procedure, node, after, "the checker finds a different value")
    return Application(procedure.id, node, after, ruling)


def demands_no_more(before: UOp, after: UOp, facts: Facts) -> bool:
    """Whether everything that `after` may use is valid anyway, or is used by `before` whatever its conditions say."""
    used = _surely_used(before)
    stack, seen = [after], set(used)
    while stack:
        node = stack.pop()
        if node in seen or facts.always_valid(node):
            continue
        seen.add(node)
        if node.op not in _STRICT and node.op is not Op.Where:
            return False
        stack.extend(node.src)
    return True


def _surely_used(root: UOp) -> set[UOp]:
    """The nodes whose every element is used where that of `root` is."""
    used, stack = set[UOp](), [root]
    while stack:
        node = stack.pop()
        if node in used:
            continue
        used.add(node)
        if node.op in _STRICT:
            stack.extend(node.src)
        elif node.op is Op.Where:
            stack.append(node.src[0])
    return used
