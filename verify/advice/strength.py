"""
Conditions that ask for too much
================================

For a proved rule: each condition is left out, and where that is too much, weakened (> to ≥, ≥ 1 to ≠ 0, and so on). A
weaker rule that is still proved, and that applies where the stated one does not, is reported with an input that it
gains. Each proposal is the ordinary prover's verdict on the rule that it would make.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op, toposort
from soundline.spec.rules.instances import Goal, dtypes_of, goals, shape_dtypes
from soundline.spec.rules.language import Rule, bits_at_most, fits
from soundline.spec.rules.terms import Static, Term, Value, conjuncts
from soundline.verify.advice.implication import follows
from soundline.verify.advice.results import TooStrong
from soundline.verify.advice.weakest import is_proved
from soundline.verify.judging.overflow import operations_inside
from soundline.verify.judging.wording import condition_text
from soundline.verify.smt.counterexamples.first_inputs import counted_inputs
from soundline.verify.smt.counterexamples.python_text import literal
from soundline.verify.smt.counterexamples.replays import replay, sizes
from soundline.verify.smt.counterexamples.sizes import small_sizes
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.goals.trial import is_pointwise

PART = 0.1
"""The part of the budget that one layer of a weaker rule may cost."""

MOST_INSTANCES, MOST_SIZES = 24, 40
"""The number of instances of a rule about shapes that are examined, and the number of choices of small sizes for
each."""


def too_strong(stated: Rule, budget: Budget) -> tuple[TooStrong, ...]:
    """The conditions of a proved rule that it does not need in full, each with the weakest that was proved instead."""
    found = []
    part = budget.share(PART)
    for n, condition in enumerate(stated.given):
        for weaker in _weaker(condition):
            rest = (*stated.given[:n], *weaker, *stated.given[n + 1 :])
            candidate = replace(stated, given=rest)
            try:
                if not _keeps_instances(stated, candidate):
                    continue
                gained = _gained(stated, candidate, part)
                if gained is None and not weaker and not is_pointwise(stated):
                    gained = (
                        ""  # the left side has no value where the condition fails, so it need not be asked
                    )
                if gained is None or not is_proved(candidate, part):
                    continue
            except RuleError:
                continue  # only this condition made the rule well typed
            instead = ", ".join(map(condition_text, weaker))
            found.append(TooStrong(condition_text(condition), instead, gained))
            break
    return tuple(found)


def _keeps_instances(stated: Rule, candidate: Rule) -> bool:
    """Whether a rule with another condition on dtypes has every instance of the stated one.

    A value of int8 is one of index, which is not stored in any number of bits.
    """
    return all(
        {g.label for g in goals(stated, dtype)} <= {g.label for g in goals(candidate, dtype)}
        for dtype in dtypes_of(stated)
        if any(isinstance(c, Static) and c.head in _ABOUT_DTYPES for c in stated.given)
    )


def _gained(stated: Rule, candidate: Rule, budget: Budget) -> str | None:
    """An input that the weaker rule takes and the stated one does not, in words; None where there is none."""
    if not is_pointwise(stated):
        return _gained_sizes(stated, candidate)
    unknown = False
    for dtype in dtypes_of(candidate):
        if not _has_all_instances(stated, candidate, dtype):
            return f"dtype {dtype}"
        for goal in goals(candidate, dtype):
            finding = follows(goal, stated.given, budget)
            if finding.verdict == "refuted" and finding.point is not None:
                named = zip(goal.variables.items(), finding.point, strict=True)
                values = ", ".join(f"{name} = {literal(x)}" for (name, v), x in named)
                return f"{values} at {goal.label}"
            if finding.verdict == "refuted":
                return goal.label
            unknown |= finding.verdict == "unknown"
    return "" if unknown else None


def _gained_sizes(stated: Rule, candidate: Rule) -> str | None:
    """Small sizes that only the weaker of two rules about shapes takes; nothing said where elements may matter."""
    dtype = shape_dtypes(candidate)[0]
    known = {g.label: g for g in goals(stated, dtype)}
    about_sizes = True
    for goal in islice(goals(candidate, dtype), MOST_INSTANCES):
        if goal.label not in known:
            return goal.label
        narrow = known[goal.label]
        about_sizes &= _speak_of_sizes(narrow)
        for chosen in islice(small_sizes(goal), MOST_SIZES):
            inputs = counted_inputs(goal, chosen)
            if inputs is not None and replay(goal, inputs) is not None and replay(narrow, inputs) is None:
                return ", ".join(f"{name} = {n}" for name, n in chosen.items()) + f" at {goal.label}"
    return None if about_sizes else ""


def _speak_of_sizes(goal: Goal) -> bool:
    """Whether the conditions of an instance are about sizes alone, and there are no others."""
    named = {goal.variables[name] for name in sizes(goal)}
    leaves = (n for h in goal.hypotheses for n in toposort(h) if n.op is Op.Param)
    return not goal.fits and all(n in named for n in leaves)


def _has_all_instances(stated: Rule, candidate: Rule, dtype: DType) -> bool:
    try:
        return any(True for _ in goals(stated, dtype)) or not any(True for _ in goals(candidate, dtype))
    except RuleError:
        return True


_ABOUT_DTYPES = ("lossless", "bits_at_most", "same")


# weaker conditions ------------------------------------------------------------------------------------------------

_WEAKER_OPS: dict[Op, tuple[Op, ...]] = {
    Op.CmpGt: (Op.CmpNe, Op.CmpGe),
    Op.CmpLt: (Op.CmpNe, Op.CmpLe),
    Op.CmpEq: (Op.CmpLe, Op.CmpGe),
}


def _weaker(condition: Term) -> Iterator[tuple[Term, ...]]:
    """The replacements of a condition, weakest first: nothing, then weaker conditions."""
    yield ()
    for part in conjuncts(condition):
        yield from ((t,) for t in _weaker_than(part))
        if part is not condition:
            yield (part,)


def _weaker_than(condition: Term) -> Iterator[Term]:
    head, args = condition.head, condition.args
    if head == "fits":
        yield from (fits(inner) for inner in operations_inside(args[0]))
    if head == "every axis":
        yield from (Value(head, (op, *args[1:])) for op in _WEAKER_OPS.get(args[0], ()) if op is not Op.CmpNe)
    if head in _WEAKER_OPS:
        yield from (Value(op, args) for op in _WEAKER_OPS[head])
    if head == "lossless":
        yield bits_at_most(*args)
    if head == "same" and isinstance(condition, Static) and _is_about_dtypes(condition):
        yield from (Static(other, args) for other in ("bits_at_most", "lossless"))


def _is_about_dtypes(condition: Static) -> bool:
    return any(type(a).__name__ in ("DTypeVar", "DTypeTerm", "DType") for a in condition.args)
