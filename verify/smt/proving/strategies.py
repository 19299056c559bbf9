"""
Ways to ask
===========

Which algebras are asked about an obligation, with which lemmas, in which order and with which part of the budget: what
is quick for most rules first, then each at length. An algebra that is exact may refute; one that forgets something may
only prove.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.verify.smt.goals.algebra import Algebra, Outside
from soundline.verify.smt.goals.obligations import Obligation, is_whole, scalar_nodes
from soundline.verify.smt.goals.solving import Budget, Search, check
from soundline.verify.smt.integers.division import Lemmas
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.integers.residues import Cases, cases
from soundline.verify.smt.values.machine_numbers import Machine, Opaque, Structure, is_conversion
from soundline.verify.smt.values.rounding import Rounded


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask: an algebra, with or without the lemmas of division, its share of the work, and the search."""

    algebra: type[Algebra]
    share: float
    lemmas: Literal["none", "likely", "many"] = "none"
    search: Search = "plain"


QUICK = (
    Way(Integers, 0.01),
    Way(Integers, 0.01, "likely"),
    Way(Integers, 0.02, "likely", "tactics"),
    Way(Integers, 0.05, "many"),
    Way(Integers, 0.05, "many", "tactics"),
    Way(Cases, 0.01, "likely"),
)
"""What decides most rules over integers."""

LONG = (
    Way(Integers, 0.2, "none", "tactics"),
    Way(Integers, 0.2, "likely"),
    Way(Integers, 0.2, "many"),
    Way(Integers, 0.2, "many", "tactics"),
)
"""The same at length."""


def ways(obligation: Obligation) -> tuple[Way, ...]:
    """How to ask, in this order."""
    dtypes = {n.dtype for n in obligation.nodes()}
    if any(d.is_float for d in dtypes):
        exact = Way(Machine, 1.0, search="tactics")
        nodes = obligation.nodes()
        computes = any(n.dtype.is_float and n.op in Structure.FORGOTTEN for n in nodes)
        structure, rounded = Way(Structure, 0.05, search="tactics"), Way(Rounded, 0.1, search="tactics")
        if computes:
            return structure, rounded, exact
        return (structure, exact) if any(map(is_conversion, nodes)) else (exact,)
    only_chosen = (Way(Opaque, 0.02, search="tactics"),) if _chooses(obligation) else ()
    if index in dtypes or not any(d.is_int for d in dtypes):
        quick = sorted(QUICK, key=lambda way: way.share > 0.01) if _multiplies(obligation) else QUICK
        return (*only_chosen, *quick, *LONG)
    machine, at_length = Way(Machine, 0.02, search="tactics"), Way(Machine, 0.5, search="tactics")
    return (*only_chosen, *QUICK[:2], machine, *QUICK[2:], *LONG, at_length)


def _chooses(obligation: Obligation) -> bool:
    """Whether both sides apply the same costly operations, and choose."""
    sides = [list(scalar_nodes(side)) for side in (obligation.left, obligation.right)]
    costly = [{n.op for n in side if n.op in Opaque.COSTLY} for side in sides]
    return (
        bool(costly[0]) and costly[0] == costly[1] and any(n.op is Op.Where for side in sides for n in side)
    )


def _multiplies(obligation: Obligation) -> bool:
    """Whether variables are multiplied, so that a case by case proof may be the only one."""
    return any(
        n.op is Op.Mul and all(s.op is not Op.Const for s in n.src)
        for n in obligation.nodes()
        if is_whole(n.dtype)
    )


def with_lemmas(algebra: Algebra, formulas: list[Any], way: Way) -> list[Any] | None:
    """The formulas and the lemmas that the way asks for; None where it asks for some and there are none."""
    if way.lemmas == "none":
        return formulas
    if not isinstance(algebra, Integers) or isinstance(algebra, Machine) or not algebra.quotients:
        return None
    known = len(algebra.facts)
    instances = list(Lemmas(algebra).instances(many=way.lemmas == "many"))
    return [*formulas, *instances, *algebra.facts[known:]]


# Whether the premises can be met ----------------------------------------------------------------------------------


def can_be_met(obligation: Obligation, budget: Budget) -> bool | None:
    """Whether any input meets the premises; None where that is not known."""
    for way in ways(obligation):
        if not issubclass(way.algebra, Structure):
            met = (
                _in_some_case(obligation, way, budget)
                if way.algebra is Cases
                else _asked(obligation, way, budget)
            )
            if met is not None:
                return met
    return None


def _asked(obligation: Obligation, way: Way, budget: Budget) -> bool | None:
    try:
        return _met(way.algebra(obligation), way, budget)
    except Outside:
        return None


def _in_some_case(obligation: Obligation, way: Way, budget: Budget) -> bool | None:
    """The same, asked for the remainders of the variables one by one."""
    answer: bool | None = None
    for algebra in cases(obligation) or ():
        try:
            answer = _met(algebra, way, budget)
        except Outside:
            return None
        if answer is not False:
            return answer
    return answer


def _met(algebra: Algebra, way: Way, budget: Budget) -> bool | None:
    """Whether the premises can be met, as one algebra says it."""
    premises = algebra.premises()
    formulas = with_lemmas(algebra, [*premises, *algebra.facts], way)
    if formulas is None:
        return None
    answer = check(formulas, algebra.ctx, budget.share(way.share), way.search)
    if answer.status == "unsat":
        return False
    return None if answer.status == "unknown" or algebra.spurious else True
