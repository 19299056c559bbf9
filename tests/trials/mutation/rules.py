"""
Mutants of rules
================

A shipped rule with a condition or a part of one dropped, a constant moved, two operands exchanged, an operator, a
reduction, a set of axes or a bound replaced by its neighbour, or declared for one kind of dtypes more. The prover must
not prove it. One that it does prove is either a fault of the prover or a rule that asks for more than it needs, and
both are worth a look.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from soundline.spec.dtypes import DType, bool_, float16, float32, index, int8, int16, int32, uint8
from soundline.spec.errors import SoundlineError
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import dtypes_of
from soundline.spec.rules.language import Rule, is_boolean
from soundline.spec.rules.terms import FOLDS, Static, Term, Value, show
from soundline.verify.verdicts.sameness import digest, fingerprint, structure
from trials.mutation.trial import difference

_EITHER_ORDER = (Op.Add, Op.Mul, Op.Max, Op.And, Op.Or, Op.Xor, Op.CmpEq, Op.CmpNe)
_NEIGHBOUR = {
    Op.Add: Op.Sub,
    Op.Sub: Op.Add,
    Op.Mul: Op.Add,
    Op.Div: Op.Mul,
    Op.Idiv: Op.CDiv,
    Op.CDiv: Op.Idiv,
    Op.Mod: Op.CMod,
    Op.CMod: Op.Mod,
    Op.Max: Op.Add,
    Op.And: Op.Or,
    Op.Or: Op.And,
    Op.Xor: Op.Or,
    Op.Shl: Op.Shr,
    Op.Shr: Op.Shl,
    Op.CmpLt: Op.CmpLe,
    Op.CmpLe: Op.CmpLt,
    Op.CmpGt: Op.CmpGe,
    Op.CmpGe: Op.CmpGt,
    Op.CmpEq: Op.CmpNe,
    Op.CmpNe: Op.CmpEq,
}
_OTHER_END = {"lo": "hi", "hi": "lo", "and": "or", "or": "and", "without": "and"}
_DROPPED = (Op.Neg, Op.Not, Op.Trunc, Op.Permute, Op.Flip, "inverse", "permuted", "not", "xor", "without")
_SWAPPED = ("compose", "without", "subset", "body")
"""Heads whose first two operands, or for a body its first two indices, mean something else in the other order."""
_OTHER_DTYPE = {int32: int16, float32: float16, bool_: int8, index: int32}
_WIDER: tuple[tuple[Callable[[DType], bool], DType], ...] = (
    (lambda d: d.is_float, float32),
    (lambda d: d.is_int, int8),
)


_FEW_ELEMENTS = (bool_, int8, uint8)
"""Dtypes at which a rule is decided by trying every value, most often."""

WRONGLY_PROVED = "wrongly proved"
"""The prover proved a mutant that the evaluator refutes."""
NO_CONDITION = "no such condition"
UNNEEDED = "the rule holds without this condition"
ANOTHER = "another true rule"


@dataclass(frozen=True, slots=True)
class RuleMutant:
    """A changed rule, and what was changed in the notation of rules."""

    rule: Rule
    before: str
    after: str
    only: DType | None = None
    """The dtype that was added, where the change is a wider class of dtypes."""


def rule_mutants(stated: Rule) -> list[RuleMutant]:
    """Every mutant of a rule, each of another structure than the rule and than the others.

    A rule in which none of the changes can be made loses an op that moves or converts on one of its sides.
    """
    return _told_apart(stated, _all(stated)) or _told_apart(stated, _losses(stated))


def _told_apart(stated: Rule, mutants: Iterator[RuleMutant]) -> list[RuleMutant]:
    seen = {structure(stated)}
    kept = []
    for mutant in mutants:
        key = structure(mutant.rule)
        if key not in seen:
            seen.add(key)
            kept.append(mutant)
    return kept


def rules_of(module: str) -> list[Rule]:
    """The rules that a module declares."""
    return [v for v in vars(importlib.import_module(module)).values() if isinstance(v, Rule)]


def describe(module: str) -> list[dict[str, Any]]:
    """The mutants of a module's rules, for another process."""
    rests_on = fingerprint()
    return [
        {
            "module": module,
            "rule": stated.id,
            "number": number,
            "line": stated.line,
            "before": mutant.before,
            "after": mutant.after,
            "identity": digest(f"{structure(mutant.rule)} {mutant.only} {rests_on}"),
        }
        for stated in rules_of(module)
        for number, mutant in enumerate(rule_mutants(stated))
    ]


def judge(module: str, rule: str, number: int) -> dict[str, str]:
    """What the prover says of one mutant: a verdict, or that the rule is refused."""
    stated = next(r for r in rules_of(module) if r.id == rule)
    return judged(rule_mutants(stated)[number])


def judged(mutant: RuleMutant) -> dict[str, str]:
    """What the prover says of it; what it proves is tried by the evaluator."""
    try:
        verdict = _verdict(mutant)
    except SoundlineError as refusal:
        return {"verdict": "refused", "why": str(refusal)}
    if verdict != "proved":
        return {"verdict": verdict}
    shown = difference(mutant.rule, dtypes_of(mutant.rule) if mutant.only is None else (mutant.only,))
    if shown is not None:
        return {"verdict": WRONGLY_PROVED, "why": shown}
    return {"verdict": "proved", "why": UNNEEDED if mutant.after == NO_CONDITION else ANOTHER}


def _verdict(mutant: RuleMutant) -> str:
    """Refuted by the first layer that is, of those of few elements before the others; proved only if every layer is."""
    from soundline.verify.judging.judge import prove_layer
    from soundline.verify.smt.goals.solving import Budget
    from soundline.verify.verdicts.layers import layers_of

    found: dict[str, str] = {}
    layers = [x for x in layers_of(mutant.rule) if mutant.only is None or x[1] is mutant.only]
    for name, dtype in sorted(layers, key=lambda x: x[1] not in _FEW_ELEMENTS):
        result = prove_layer(mutant.rule, dtype, Budget().share(0.25), derive=False)
        if result.verdict == "unknown":
            result = prove_layer(mutant.rule, dtype, Budget(), derive=False)
        if result.verdict == "refuted":
            return f"refuted at {name}"
        found.setdefault(result.verdict, name)
    for verdict in ("unknown", "vacuous"):
        if verdict in found:
            return f"{verdict} at {found[verdict]}"
    return "proved" if found else "vacuous"


# the changes ------------------------------------------------------------------------------------------------------


def _all(stated: Rule) -> Iterator[RuleMutant]:
    for n, condition in enumerate(stated.given):
        others = (*stated.given[:n], *stated.given[n + 1 :])
        yield RuleMutant(replace(stated, given=others), f"given({show(condition)})", NO_CONDITION)
    for n, condition in enumerate(stated.given):
        for changed in _variants(condition, stated):
            parts = (*stated.given[:n], changed, *stated.given[n + 1 :])
            yield _mutant(stated, condition, changed, given=parts)
    for changed in _variants(stated.left, stated):
        if changed.head != "literal":
            yield _mutant(stated, stated.left, changed, left=changed)
    for changed in _variants(stated.right, stated):
        yield _mutant(stated, stated.right, changed, right=changed)
    yield from _wider(stated)


def _losses(stated: Rule) -> Iterator[RuleMutant]:
    for name in ("left", "right"):
        side = getattr(stated, name)
        for changed in _lost(side):
            if changed.head != "literal":
                yield _mutant(stated, side, changed, **{name: changed})


def _lost(term: Term) -> Iterator[Any]:
    """The term without one of its ops, outermost first."""
    if isinstance(term.head, Op) or term.head == "op":
        yield from (a for a in term.args if isinstance(a, Value))
    for n, part in enumerate(term.args):
        if isinstance(part, Value):
            for changed in _lost(part):
                yield type(term)(term.head, (*term.args[:n], changed, *term.args[n + 1 :]))


def _mutant(stated: Rule, before: Term, after: Term, **parts: Any) -> RuleMutant:
    return RuleMutant(replace(stated, **parts), show(before), show(after))


def _wider(stated: Rule) -> Iterator[RuleMutant]:
    """The rule at one dtype of a kind for which it is not declared."""
    for name, members in stated.dtype_classes.items():
        for of_kind, dtype in _WIDER:
            if not any(of_kind(d) for d in members):
                classes = {**stated.dtype_classes, name: (*members, dtype)}
                yield RuleMutant(
                    replace(stated, dtype_classes=classes), f"{name} as declared", f"{name} and {dtype}"
                )
    if stated.dtypes is None or is_boolean(stated):
        return
    for of_kind, dtype in _WIDER:
        if not any(of_kind(d) for d in stated.dtypes):
            wider = replace(stated, dtypes=(*stated.dtypes, dtype))
            yield RuleMutant(wider, "dtypes as declared", f"dtypes and {dtype}", only=dtype)


def _variants(term: Term, stated: Rule) -> Iterator[Any]:
    """The term with one change somewhere in it, outermost first."""
    yield from _changed_here(term, stated)
    for n, part in enumerate(term.args):
        if isinstance(part, Term):
            changes: Iterator[Any] = _variants(part, stated)
        elif isinstance(part, DType) and part in _OTHER_DTYPE:
            changes = iter([_OTHER_DTYPE[part]])
        elif isinstance(part, Op) and term.head in (Op.Reduce, "over"):
            changes = iter([other for other in FOLDS if other is not part])
        else:
            continue
        for changed in changes:
            yield type(term)(term.head, (*term.args[:n], changed, *term.args[n + 1 :]))


def _changed_here(term: Term, stated: Rule) -> Iterator[Term]:
    head, args = term.head, term.args
    same = type(term)
    if head == "literal":
        yield from (Value("literal", (x,)) for x in _moved(args[0]))
    if head == "var":
        yield from _another_variable(term, stated)
    if isinstance(head, Op) and len(args) == 2 and head in _NEIGHBOUR and head not in _EITHER_ORDER:
        yield same(head, (args[1], args[0]))
    if head in (Op.Where, "where"):
        yield same(head, (args[0], args[2], args[1]))
    if head in _SWAPPED:
        first = 1 if head == "body" else 0
        if len(args) > first + 1:
            yield same(head, (*args[:first], args[first + 1], args[first], *args[first + 2 :]))
    if head == "axes":
        yield from (same(head, (*args[:n], *args[n + 1 :])) for n in range(len(args)))
    if isinstance(head, Op) and head in _NEIGHBOUR:
        yield same(_NEIGHBOUR[head], args)
    if head == "every axis":
        yield same(head, (_NEIGHBOUR[args[0]], *args[1:]))
    if isinstance(head, str) and head in _OTHER_END:
        yield same(_OTHER_END[head], args)
    if head in _DROPPED:
        yield args[0]
    if isinstance(term, Static) and head in ("and", "or"):
        yield from args
    if head is Op.And:
        yield from (a for a in args if isinstance(a, Term) and a.head != "literal")


def _moved(number: bool | int | float) -> tuple[bool | int | float, ...]:
    return (not number,) if isinstance(number, bool) else (number + 1, number - 1)


def _another_variable(term: Term, stated: Rule) -> Iterator[Term]:
    """The next variable of the same kind in its place."""
    names = [n for n, kind in stated.kinds.items() if kind == stated.kinds[term.args[0]]]
    if len(names) > 1:
        yield stated.variables[names[(names.index(term.args[0]) + 1) % len(names)]]
