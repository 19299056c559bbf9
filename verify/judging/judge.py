"""
Judging rules
=============

A rule is judged layer by layer. Each layer has its typed instances; `verify.smt.proving.scalars` decides scalar ones,
and `verify.smt.tensors` those about tensors of symbolic shapes. What is proved here is the object that a rewrite engine
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from soundline.spec.dtypes import DType, int8, uint8
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import UOp
from soundline.spec.rules.instances import Goal, dtypes_of, goals, is_about_shapes
from soundline.spec.rules.language import Rule
from soundline.verify.judging import overflow
from soundline.verify.judging.weaker import with_divisors, with_less
from soundline.verify.judging.wording import condition_text
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving import scalars
from soundline.verify.verdicts.layers import dtypes_in_layer, layer_name, layers_of
from soundline.verify.verdicts.verdict import LayerResult, RuleReport

FOR_CONDITIONS = 0.1
"""The part of the budget for each attempt to prove a refuted layer under no-overflow conditions."""
FOR_WEAKER = 0.3
"""The part of the budget for each attempt to prove an undecided layer under weaker conditions."""


def prove(rule: Rule, *, budget: Budget | None = None) -> RuleReport:
    """All that can be shown of a rule. Raises ``RuleError`` where it is ill-typed."""
    budget = budget or Budget()
    layers = [prove_layer(rule, dtype, budget) for _, dtype in layers_of(rule)]
    if not layers:
        layers = [
            LayerResult("instances", "vacuous", "", None, "no dtype admits the rule and its conditions")
        ]
    return RuleReport(rule.id, rule.file, rule.line, str(rule), tuple(layers))


def prove_layer(
    rule: Rule, dtype: DType, budget: Budget | None = None, *, derive: bool = True
) -> LayerResult:
    """What can be shown of a rule at the layer of one dtype. Raises ``RuleError`` where it is ill-typed.

    Where the layer is refuted and `derive` is set, also what must not overflow so that it holds.
    """
    budget = budget or Budget()
    found = _with_opinions(rule, dtype, budget) if budget.opinions else _judged(rule, dtype, budget)
    if not derive or found.verdict != "refuted":
        return found
    if found.counterexample is not None and found.counterexample.note:
        return found  # a side that does not exist, or has another shape, does so whatever its elements are
    part = budget.share(FOR_CONDITIONS)
    missing = overflow.derived(rule, dtype, lambda r: _is_proved(r, dtype, part))
    return replace(found, holds_when=tuple(condition_text(c) for c in missing))


def _with_opinions(rule: Rule, dtype: DType, budget: Budget) -> LayerResult:
    """The verdict at the layer of one dtype, and what those whom the budget names say of it."""
    from soundline.verify.second.opinions import with_opinions

    return with_opinions(rule, dtype, budget, lambda: _judged(rule, dtype, budget))


def _by_weaker_conditions(
    rule: Rule, dtype: DType, budget: Budget, forms: Iterable[tuple[Rule, str]]
) -> LayerResult | None:
    """A proof under weaker conditions of a rule that applies to something; None where there is none."""
    part = budget.share(FOR_WEAKER)
    for other, said in forms:
        found = _proof(other, dtype, part)
        if found is not None:
            return replace(found, covered=f"{found.covered}; {said}") if _applies(rule, dtype, part) else None
    return None


def _applies(rule: Rule, dtype: DType, budget: Budget) -> bool:
    """Whether the conditions are known to admit something."""
    dtypes = dtypes_in_layer(rule, dtype)
    if not is_about_shapes(rule):
        return scalars.applies(_instances(rule, dtypes), budget)
    from soundline.verify.smt import tensors

    return tensors.applies(rule, dtypes, layer_name(rule, dtype), budget)


def _is_proved(rule: Rule, dtype: DType, budget: Budget) -> bool:
    """Whether a rule is proved at the layer of one dtype."""
    return _proof(rule, dtype, budget) is not None


def _proof(rule: Rule, dtype: DType, budget: Budget) -> LayerResult | None:
    """The proof of a rule at the layer of one dtype, if there is one; a rule about shapes is not evaluated for that."""
    layer, dtypes = layer_name(rule, dtype), dtypes_in_layer(rule, dtype)
    try:
        if is_about_shapes(rule):
            from soundline.verify.smt import tensors

            found = tensors.prove_rule(rule, dtypes, layer, budget, refutes=False)
        else:
            found = scalars.prove_goals(_instances(rule, dtypes), layer, budget)
    except RuleError:  # without a condition something has no rank or dtype
        return None
    return found if found.verdict == "proved" else None


def _judged(rule: Rule, dtype: DType, budget: Budget) -> LayerResult:
    """The verdict at the layer of one dtype."""
    found = None
    if is_about_shapes(
        rule
    ):  # a size that is known unrolls a reduction, which may hide what its divisors show
        found = _by_weaker_conditions(rule, dtype, budget, with_divisors(rule, dtype))
    found = found or _under_its_conditions(rule, dtype, budget)
    if found.verdict != "unknown":
        return found
    more = () if is_about_shapes(rule) else with_divisors(rule, dtype)
    return _by_weaker_conditions(rule, dtype, budget, chain(more, with_less(rule))) or found


def _under_its_conditions(rule: Rule, dtype: DType, budget: Budget) -> LayerResult:
    layer = layer_name(rule, dtype)
    instances = _instances(rule, dtypes_in_layer(rule, dtype))
    if is_about_shapes(rule):
        from soundline.verify.smt import tensors

        return tensors.prove_rule(rule, dtypes_in_layer(rule, dtype), layer, budget)
    found = scalars.prove_goals(instances, layer, budget)
    if found.verdict == "unknown" and dtype.is_int and dtype.bits > 8:
        return _with_small_widths(rule, found, budget)
    if found.verdict == "unknown" and dtype.is_float:
        from soundline.verify.second.opinions import attacked

        return attacked(rule, dtype, found, budget)
    return found


def _with_small_widths(rule: Rule, found: LayerResult, budget: Budget) -> LayerResult:
    """An undecided layer that says what is known of the rule at 8 bits."""
    covered = [found.covered]
    for dtype in (int8, uint8):
        if dtype in dtypes_of(rule):
            small = scalars.prove_goals(goals(rule, dtype), str(dtype), budget.share(0.1))
            covered += [f"{small.covered} at {dtype}"] if small.verdict == "proved" else []
    return replace(found, covered="; ".join(covered))


def _instances(rule: Rule, dtypes: Iterable[DType]) -> Iterator[Goal]:
    for dtype in dtypes:
        yield from goals(rule, dtype)


def equivalent(
    left: UOp, right: UOp, hypotheses: Sequence[UOp] = (), *, budget: Budget | None = None
) -> LayerResult:
    """Whether two scalar programs have the same value wherever the hypotheses hold, for all values of their leaves.

    A leaf is a Param, a Range, or any other node that is not an elementwise op: of that, nothing is known but its dtype
    and bounds, and that equal nodes have equal values.
    """
    return scalars.equivalent(left, right, tuple(hypotheses), budget or Budget())
