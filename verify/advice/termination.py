"""
Does rewriting end?
===================

A decreasing order for the rules of a run: measures that are compared one after another. None of the remaining rules may
make a measure greater. The rules that always make it smaller are then covered and need no further measure. The order in
which rules are tried matters: if an earlier rule applies whenever a variable is a constant, a later rule never sees a
constant there. Rules that no measure covers may not terminate; `loops` lets the engine search for a term that shows
this.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import z3

from soundline.impl.matching.matcher import patterns_of
from soundline.impl.rules import DECOMPOSE
from soundline.impl.rules.scalars import commutativity
from soundline.spec.rules.language import Rule
from soundline.verify.advice.loops import looping
from soundline.verify.advice.measures import Measure, Oriented, Unmeasured, oriented, symbols
from soundline.verify.advice.results import Loop, Order
from soundline.verify.advice.subsumption import applies_to
from soundline.verify.verdicts.sameness import structure

WORK = 40_000_000
"""Z3's own count of work for one question."""

MOST_PRODUCTS = 4
"""The most ops that are tried as products of their operands."""


MOST_ROUNDS = 12
"""The number of times that rules are set aside so that others may be covered."""


@dataclass
class _Proof:
    """The rules that are not covered yet, and the measures so far."""

    left: list[Rule]
    instances: dict[str, list[Oriented]]
    measures: list[str] = field(default_factory=list)
    covered: int = 0
    asked_alone: bool = False
    """Whether each rule was tried alone, which need not be done twice."""
    first: list[tuple[str, str, str]] = field(default_factory=list)
    """What earlier rules take: see `Order.first`."""
    asked_order: bool = False
    """Whether earlier rules were asked for."""


def order_of(rules: Sequence[Rule]) -> Order:
    """Why rewriting with these rules ends, or which of them no measure covers."""
    exempt = tuple(r.id for r in rules if is_exempt(r))
    unread = [r for r in rules if r.id not in exempt and not _is_measured(r)]
    proof = _Proof(
        [r for r in rules if r.id not in exempt and r not in unread],
        {r.id: list(oriented(r)) for r in rules if r.id not in exempt},
    )
    stuck: list[Rule] = []
    rounds = 0
    while proof.left:
        if not _cover_some(proof) and not _know_more(proof, rules):
            rounds += 1
            stuck += _set_aside(proof) if rounds < MOST_ROUNDS else proof.left
            proof.left = proof.left if rounds < MOST_ROUNDS else []
    ordered = [r for r in rules if r in stuck]
    loops = tuple(_loops(ordered, rules, exempt))
    told = tuple(x for x in proof.first if x[0] not in {r.id for r in stuck})
    names = tuple(r.id for r in unread)
    return Order(tuple(proof.measures), proof.covered, exempt, loops, unread=names, first=told)


def is_exempt(stated: Rule) -> bool:
    """Whether the engine keeps a rule apart: it tries operands in both orders itself, and decomposes ops last."""
    return structure(stated) in _kept_apart()


@cache
def _kept_apart() -> frozenset[str]:
    matcher = (r for r in vars(commutativity).values() if isinstance(r, Rule))
    return frozenset(structure(r) for r in (*matcher, *DECOMPOSE))


def _is_measured(stated: Rule) -> bool:
    try:
        measure = Measure()
        for at in oriented(stated):
            measure.shrinks(at)
    except Unmeasured:
        return False
    return True


# the order of trying ----------------------------------------------------------------------------------------------


def _know_more(proof: _Proof, rules: Sequence[Rule]) -> bool:
    """Find out which variables of the rules that are left are never constants; whether there are any."""
    if proof.asked_order:
        return False
    proof.asked_order = True
    for late in proof.left:
        place = next(n for n, r in enumerate(rules) if r is late)
        earlier = [r for r in rules[:place] if not is_exempt(r) and _applies_wherever_it_matches(r)]
        for name, kind in late.kinds.items():
            taken = _at_constants(late, name) if kind.kind == "Value" else None
            early = next((r for r in earlier if taken is not None and applies_to(r, taken)), None)
            if early is not None:
                proof.first.append((late.id, name, early.id))
                known = proof.instances[late.id]
                proof.instances[late.id] = [replace(at, varying=at.varying | {name}) for at in known]
    return bool(proof.first)


def _applies_wherever_it_matches(stated: Rule) -> bool:
    """Whether the engine asks for nothing but a match and the conditions: see `impl.matching.matcher`."""
    return not any(p.demanding or p.dropped for p in patterns_of(stated))


def _at_constants(stated: Rule, name: str) -> Rule:
    """A rule with a constant in the place of a value."""
    return replace(stated, kinds={**stated.kinds, name: replace(stated.kinds[name], kind="Const")})


# measures ---------------------------------------------------------------------------------------------------------


def _cover_some(proof: _Proof) -> bool:
    """Find one more measure; whether there was one that makes some rule smaller and none greater."""
    for measure in _templates(proof):
        found = _strictly(measure, proof)
        if found is not None:
            model, smaller = found
            proof.measures.append(measure.text(model))
            proof.covered += len(smaller)
            proof.left = [r for r in proof.left if r not in smaller]
            return True
    return False


def _templates(proof: _Proof) -> list[Measure]:
    """Kinds of measures, simple ones first."""
    binary = symbols([at for r in proof.left for at in proof.instances[r.id][:1]])
    products = [Measure(products=frozenset((s,))) for s in binary[:MOST_PRODUCTS]]
    return [Measure(), Measure(factors=True), *products]


def _strictly(measure: Measure, proof: _Proof) -> tuple[Any, list[Rule]] | None:
    """Numbers with which no rule grows and as many as possible shrink; None where none shrinks."""
    solver = measure.solver
    solver.set("rlimit", WORK)
    solver.set("random_seed", 0)
    strict: dict[str, Any] = {}
    for rule in proof.left:
        asked = [measure.shrinks(at) for at in proof.instances[rule.id]]
        solver.add(*(weakly for weakly, _ in asked))
        strict[rule.id] = z3.And(*(strictly for _, strictly in asked))
    model: Any = None
    smaller: list[Rule] = []
    while len(smaller) < len(proof.left):
        others = [strict[r.id] for r in proof.left if r not in smaller]
        solver.add(z3.Or(*others))
        if solver.check() != z3.sat:
            break
        model = solver.model()
        smaller = [r for r in proof.left if z3.is_true(model.eval(strict[r.id], model_completion=True))]
        solver.add(*(strict[r.id] for r in smaller))
    return (model, smaller) if smaller else None


def _set_aside(proof: _Proof) -> list[Rule]:
    """Give up rules, so that the others may be covered: those without a measure even alone, else those in conflict."""
    alone = []
    if not proof.asked_alone:
        alone = [r for r in proof.left if not _cover_some(_Proof([r], proof.instances))]
        proof.asked_alone = True
    given_up = alone or _in_conflict(proof)
    proof.left = [r for r in proof.left if r not in given_up]
    return given_up


def _in_conflict(proof: _Proof) -> list[Rule]:
    """Rules that cannot all be kept from growing by one measure; all that are left where that is not the reason."""
    for measure in _templates(proof):
        solver = measure.solver
        solver.set("rlimit", WORK)
        solver.set(unsat_core=True)
        names = {}
        for rule in proof.left:
            name = z3.Bool(f"rule {rule.id}", solver.ctx)
            names[str(name)] = rule
            solver.assert_and_track(
                z3.And(*(measure.shrinks(at)[0] for at in proof.instances[rule.id])), name
            )
        if solver.check() == z3.unsat:
            core = [names[str(c)] for c in solver.unsat_core()]
            return [r for r in proof.left if r in core]
    return list(proof.left)


def _loops(stuck: Sequence[Rule], rules: Sequence[Rule], exempt: Collection[str]) -> list[Loop]:
    """The rules without an order, those of one looping term together."""
    if not stuck:
        return []
    usable = [r for r in rules if r.id not in exempt]
    found: list[Loop] = []
    seen: set[str] = set()
    for rule in stuck:
        if rule.id in seen:
            continue
        loop = looping(rule, stuck, usable)
        if loop is not None and rule.id in loop.rules:
            seen |= set(loop.rules)
            found.append(loop)
    rest = tuple(r.id for r in stuck if r.id not in seen)
    if rest:
        found.append(Loop(rest, (), "no term that is rewritten for ever was found either"))
    return found
