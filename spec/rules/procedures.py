"""
Procedural rules
================

A rewrite whose right side only a procedure can compute: reduction by a gcd, for example, or the collection of like
terms of a sum of any length. A *procedure* is a Python function from a node, and what is known of nodes, to the node
that is to stand in its place, or None::

    @procedure(Op.Idiv, Op.Mod)
    def reduction_gcd(node: UOp, known: Knowledge) -> UOp | None:
        ...

No procedure is ever proved as a whole. What a procedure means is what it does, one application at a time, and each
application is held to the meaning of a rule: for all values of the leaves, if the node is valid then what replaces it
is valid and has the same dtype, shape and values (U-01).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from soundline.spec.errors import RuleError
from soundline.spec.ops.bounds import Known
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.language import collection
from soundline.spec.rules.licences import LICENCES


class Knowledge(Protocol):
    """What a procedure may ask about a node; every answer is on the safe side."""

    def bounds(self, node: UOp) -> Known:
        """An interval that holds every value of the node; None where it can have none."""
        ...

    def always_valid(self, node: UOp) -> bool:
        """Whether no element of the node can be invalid, whatever the program is run on."""
        ...


Body = Callable[[UOp, Knowledge], UOp | None]
"""What a procedure does: the node and what is known, to the node in its place, or None."""


@dataclass(frozen=True, eq=False)
class Procedure:
    """A declared procedure: the ops of the nodes that it looks at, what it does, and where it stands."""

    id: str
    file: str
    line: int
    doc: str
    ops: frozenset[Op]
    body: Body
    licences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Procedure({self.id}: {', '.join(sorted(op.name for op in self.ops))})"

    def __call__(self, node: UOp, known: Knowledge) -> UOp | None:
        """What is to stand in the place of a node; None for the node itself."""
        return self.body(node, known)


def procedure(
    *ops: Op,
    id: str | None = None,  # noqa: A002  (the public keyword is the word that reports use)
    licences: str | Sequence[str] = (),
) -> Callable[[Body], Procedure]:
    """Declare a procedural rule that looks at nodes of these ops; `licences` are those it needs (U-09).

    Raises ``RuleError``, with file and line, where it is none.
    """
    named = (licences,) if isinstance(licences, str) else tuple(licences)
    return lambda body: _declared(body, ops, id, named)


def _declared(body: Body, ops: tuple[Op, ...], name: str | None, licences: tuple[str, ...]) -> Procedure:
    code = body.__code__
    wrong, hint = _mistake(body, ops, licences)
    if wrong:
        raise RuleError(
            wrong, file=code.co_filename, line=code.co_firstlineno, rule=name or body.__name__, hint=hint
        )
    made = Procedure(
        id=name or body.__name__,
        file=code.co_filename,
        line=code.co_firstlineno,
        doc=inspect.getdoc(body) or "",
        ops=frozenset(ops),
        body=body,
        licences=licences,
    )
    collected = collection()
    if collected is not None:
        collected.procedures.append(made)
    return made


def _mistake(body: Body, ops: tuple[object, ...], licences: tuple[str, ...]) -> tuple[str, str]:
    """What is wrong with a declaration, and how to correct it; empty where nothing is wrong."""
    if not ops or not all(isinstance(op, Op) for op in ops):
        return "a procedure names the ops that it looks at", "for example @procedure(Op.Idiv, Op.Mod)"
    if len(inspect.signature(body).parameters) != 2:
        return "a procedure takes a node and what is known of nodes", "def name(node, known): …"
    unknown = [name for name in licences if name not in LICENCES]
    if unknown:
        return f"there is no licence {unknown[0]!r}", f"the licences are {', '.join(LICENCES)}"
    return "", ""
