"""
Advice on rules
===============

`advise` says what there is to say about the conditions of rules and about the rules as a set: the weakest condition
that a refuted rule lacks, conditions that a proved rule does not need in full, the conventions of division that a rule
survives, rules that others cover, and whether rewriting with all of them ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Rule
from soundline.verify.advice.conventions import under_conventions
from soundline.verify.advice.results import Advice, Order, RuleAdvice, Subsumed
from soundline.verify.advice.strength import too_strong
from soundline.verify.advice.subsumption import subsumed
from soundline.verify.advice.termination import is_exempt, order_of
from soundline.verify.advice.weakest import weakest
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.verdict import Verdict


def advise(rules: Sequence[Rule], *, budget: Budget | None = None) -> Advice:
    """Prove rules, and say what their conditions lack or have too much of, what covers what, and whether all this ends.

    Raises ``RuleError`` where a rule is ill-typed.
    """
    from soundline.verify.judging.judge import prove

    budget = budget or Budget()
    verdicts = {rule.id: prove(rule, budget=budget).verdict for rule in rules}
    each = [advise_rule(rule, verdicts[rule.id], budget) for rule in rules]
    proved = [name for name, verdict in verdicts.items() if verdict == "proved"]
    covered, order = advise_together(rules, proved, budget)
    return Advice(with_subsumed(each, covered), order)


def advise_rule(stated: Rule, verdict: Verdict, budget: Budget) -> RuleAdvice:
    """What there is to say about one rule with this verdict."""
    about = RuleAdvice(stated.id, stated.file, stated.line)
    about = replace(about, conventions=under_conventions(stated, verdict, budget))
    if verdict == "refuted":
        return replace(about, missing=weakest(stated, budget)[1])
    if verdict == "proved":
        return replace(about, too_strong=too_strong(stated, budget))
    return about


def advise_together(
    rules: Sequence[Rule], proved: Collection[str], budget: Budget
) -> tuple[Mapping[str, tuple[Subsumed, ...]], Order]:
    """Which rules others cover, by their ids, and whether rewriting with all of them ends.

    Rules that the engine applies apart from the others cover none of them, and none covers these.
    """
    typed = [r for r in rules if _is_typed(r)]
    covered: dict[str, tuple[Subsumed, ...]] = {}
    for rule, how in subsumed([r for r in typed if not is_exempt(r)], proved, budget):
        covered[rule.id] = (*covered.get(rule.id, ()), how)
    return covered, order_of(typed)


def _is_typed(stated: Rule) -> bool:
    from soundline.verify.verdicts.layers import layers_of

    try:
        return bool(layers_of(stated))
    except RuleError:
        return False


def with_subsumed(
    each: Iterable[RuleAdvice], covered: Mapping[str, tuple[Subsumed, ...]]
) -> tuple[RuleAdvice, ...]:
    """The advice on every rule, with what covers it."""
    return tuple(replace(a, subsumed=covered.get(a.id, ())) for a in each)
