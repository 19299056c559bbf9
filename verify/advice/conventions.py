"""
Three conventions of division
=============================

Quotients are rounded down, toward zero, or so that no remainder is negative, and a rule that is right under one of
these conventions may be wrong under another. A rule that divides in one of them is judged under the other two as well,
with all divisions of its sides and conditions exchanged. This shows whether the rule is also right in a compiler with
another convention, and if not, where it fails. All three agree on divisors of 0, on unsigned dtypes and on sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import dtypes_of
from soundline.spec.rules.language import Rule, cdiv, cmod, ediv, emod, variables_in
from soundline.spec.rules.terms import Term, Value, rebuilt, show, subterms
from soundline.verify.advice.results import UnderConvention
from soundline.verify.judging.judge import prove_layer
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.verdict import LayerResult, Verdict

PART = 0.1
"""The part of the budget that a layer may cost at first; the whole where that decides nothing."""


@dataclass(frozen=True, slots=True)
class Convention:
    """A way to divide: its name, its quotient and its remainder."""

    name: str
    quotient: Callable[[Value, Value], Value]
    remainder: Callable[[Value, Value], Value]


FLOOR = Convention("floor", lambda a, b: a // b, lambda a, b: a % b)
TRUNCATED = Convention("truncated", cdiv, cmod)
EUCLIDEAN = Convention("Euclidean", ediv, emod)
CONVENTIONS = (FLOOR, TRUNCATED, EUCLIDEAN)


@dataclass(frozen=True, slots=True)
class _Division:
    """A quotient or a remainder in some convention."""

    convention: Convention
    is_quotient: bool
    dividend: Value
    divisor: Value

    def under(self, other: Convention, dividend: Value, divisor: Value) -> Value:
        """The same in another convention, of other operands."""
        return (other.quotient if self.is_quotient else other.remainder)(dividend, divisor)


def under_conventions(stated: Rule, verdict: Verdict, budget: Budget) -> tuple[UnderConvention, ...]:
    """What becomes of a rule with this verdict under each convention.

    Nothing where it does not divide, mixes them, or is wrong under all of them.
    """
    own = convention_of(stated)
    if own is None or not any(d.kind in ("int", "index") for d in dtypes_of(stated)):
        return ()
    found = tuple(
        UnderConvention(c.name, verdict, stated=True) if c is own else _judged(stated, c, budget)
        for c in CONVENTIONS
    )
    return () if all(x.verdict == "refuted" for x in found) else found


def convention_of(stated: Rule) -> Convention | None:
    """The one convention in which a rule divides; None where it does not divide, or in more than one."""
    found = {d.convention.name: d.convention for side in _parts(stated) for d in _divisions(side, stated)}
    return next(iter(found.values())) if len(found) == 1 else None


def in_convention(stated: Rule, convention: Convention) -> Rule:
    """The rule with all its divisions exchanged for those of another convention."""
    left, right, *given = (_exchanged(part, convention, stated) for part in _parts(stated))
    assert isinstance(left, Value)
    assert isinstance(right, Value)
    return replace(stated, left=left, right=right, given=tuple(given))


def _parts(stated: Rule) -> tuple[Term, ...]:
    return (stated.left, stated.right, *stated.given)


# divisions in terms ---------------------------------------------------------------------------------------------------

_OPS = {
    Op.Idiv: (FLOOR, True),
    Op.Mod: (FLOOR, False),
    Op.CDiv: (TRUNCATED, True),
    Op.CMod: (TRUNCATED, False),
}


def _division(term: Term, stated: Rule) -> _Division | None:
    """A term as a division whose convention matters."""
    found = None
    if isinstance(term.head, Op) and term.head in _OPS:
        found = _Division(*_OPS[term.head], *term.args)
    elif term.head is Op.Where:
        found = _euclidean(term)
    return found if found is not None and _may_be_negative(term, stated) else None


def _euclidean(choice: Term) -> _Division | None:
    """A choice as `ediv` and `emod` make it."""
    for inner in subterms(choice):
        if inner.head is Op.Mod:
            dividend, divisor = inner.args
            for is_quotient, made in ((True, ediv), (False, emod)):
                if show(made(dividend, divisor)) == show(choice):
                    return _Division(EUCLIDEAN, is_quotient, dividend, divisor)
    return None


def _may_be_negative(term: Term, stated: Rule) -> bool:
    """Whether anything in a term may be: sizes are not, nor are sums, products and quotients of them."""
    if any(stated.kinds[name].kind not in ("Size", "Range") for name in variables_in(term)):
        return True
    return any(t.head in (Op.Sub, Op.Neg) or (t.head == "literal" and t.args[0] < 0) for t in subterms(term))


def _divisions(term: Term, stated: Rule) -> Iterator[_Division]:
    found = _division(term, stated)
    inside: tuple[object, ...] = term.args
    if found is not None:
        yield found
        inside = (found.dividend, found.divisor)
    for part in inside:
        if isinstance(part, Term):
            yield from _divisions(part, stated)


def _exchanged(term: Term, convention: Convention, stated: Rule) -> Term:
    found = _division(term, stated)
    if found is not None:
        dividend, divisor = (_exchanged(t, convention, stated) for t in (found.dividend, found.divisor))
        assert isinstance(dividend, Value)
        assert isinstance(divisor, Value)
        return found.under(convention, dividend, divisor)
    return rebuilt(term, lambda a: _exchanged(a, convention, stated))


# verdicts -------------------------------------------------------------------------------------------------------------


def _judged(stated: Rule, convention: Convention, budget: Budget) -> UnderConvention:
    """The ordinary prover's verdict on the rule in another convention: refuted by the first layer that is."""
    verdict: Verdict = "proved"
    try:
        candidate = in_convention(stated, convention)
        for _, dtype in layers_of(candidate):
            result = prove_layer(candidate, dtype, budget.share(PART), derive=False)
            if result.verdict == "unknown":
                result = prove_layer(candidate, dtype, budget, derive=False)
            if result.verdict == "refuted":
                return UnderConvention(convention.name, "refuted", _where(result))
            if result.verdict != "proved":
                verdict = result.verdict if verdict != "unknown" else verdict
    except (RuleError, IllFormed) as error:
        return UnderConvention(convention.name, "unknown", error.message)
    return UnderConvention(convention.name, verdict)


def _where(result: LayerResult) -> str:
    """The counterexample in a few words."""
    shown = result.counterexample
    if shown is None:
        return result.layer
    values = ", ".join(f"{name} = {text}" for name, text in shown.bindings)
    return f"{values} ({result.layer})" if values else result.layer
