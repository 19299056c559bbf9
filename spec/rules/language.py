"""
The rule language
=================

A rewrite rule is declared once, as a Python function over typed variables that returns its two sides. The object that
`rule` makes of it is matched, rewritten with, and proved: what is proved is what runs::

    @rule(dtypes=[index, *ints])
    def mul_div_cancel(x: Value, c: Const):
        given(c != 0, fits(x * c))
        return (x * c) // c, x

A rule means: for every instance (a dtype of its class, a rank, a permutation …) and all values of its variables, if
the conditions hold and the left side is valid, then the right side is valid and has the same shape, dtype and values
(U-01).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, overload

from soundline.spec.dtypes import DType, all_dtypes, bool_, index
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.kinds import SIZED, ranges_of
from soundline.spec.rules.licences import LICENCES
from soundline.spec.rules.mistakes import body_error
from soundline.spec.rules.notation import Term, Variable, show, shown
from soundline.spec.rules.ranges import check_ranges, max_over, prod_over, reduce_over, sum_over
from soundline.spec.rules.statements import Statement, declare, forall, fresh, given, stating
from soundline.spec.rules.terms import Value, apply, subterms, value
from soundline.spec.rules.vocabulary import (
    all_axes,
    bits_at_most,
    cdiv,
    cmod,
    compose,
    concat,
    disjoint,
    ediv,
    emod,
    fill,
    fits,
    identity,
    invalid,
    inverse,
    is_float,
    is_identity,
    is_power_of_two,
    is_signed,
    lossless,
    maximum,
    minimum,
    mulacc,
    no_axes,
    no_flags,
    one_axis,
    preserves_zero,
    product,
    stack,
    subset,
    where,
)

__all__ = [
    "Claim",
    "Collection",
    "Rule",
    "Sides",
    "all_axes",
    "bits_at_most",
    "cdiv",
    "claim",
    "cmod",
    "collecting",
    "compose",
    "concat",
    "default_dtypes",
    "disjoint",
    "ediv",
    "emod",
    "fill",
    "fits",
    "forall",
    "fresh",
    "given",
    "identity",
    "invalid",
    "inverse",
    "is_boolean",
    "is_float",
    "is_identity",
    "is_power_of_two",
    "is_signed",
    "lossless",
    "max_over",
    "maximum",
    "minimum",
    "mulacc",
    "no_axes",
    "no_flags",
    "one_axis",
    "preserves_zero",
    "prod_over",
    "product",
    "reduce_over",
    "rule",
    "stack",
    "subset",
    "sum_over",
    "variables_in",
    "where",
]

Sides = tuple[Any, Any]
"""What the function of a rule returns, for those who annotate it: its left and its right side."""


@dataclass(frozen=True, eq=False, repr=False)
class Claim:
    """Conditions that a rule says to hold."""

    conditions: tuple[Value, ...]

    def __repr__(self) -> str:
        return f"claim({', '.join(map(show, self.conditions))})"


def claim(*conditions: Any) -> Claim:
    """The result of a rule that rewrites nothing: under the rule's conditions, all of these hold."""
    for condition in conditions:
        if not isinstance(condition, Value) or condition.head == "fits":
            raise RuleError(
                f"claim takes conditions on values, not {shown(condition)}",
                hint="for example return claim(x % c >= 0, x % c < c)",
            )
    if not conditions:
        raise RuleError("claim() needs at least one condition", hint="return claim(a <= b)")
    return Claim(conditions)


@dataclass(frozen=True, eq=False)
class Rule:
    """A declared rule: its variables, conditions and sides, and where it stands."""

    id: str
    file: str
    line: int
    doc: str
    variables: dict[str, Term]
    kinds: dict[str, Variable]
    given: tuple[Term, ...]
    left: Value
    right: Value
    dtypes: tuple[DType, ...] | None
    """The dtypes the rule is declared for; None: every dtype on which both sides are well formed."""
    dtype_classes: dict[str, tuple[DType, ...]]
    licences: tuple[str, ...] = ()
    claimed: bool = False
    """Whether the left side is a condition that is claimed to hold; such a rule is proved, and never applied."""
    max_rank: int | None = None
    """The highest rank for which the rule is meant; None: every rank."""

    def __repr__(self) -> str:
        return f"Rule({self.id}: {self})"

    def __str__(self) -> str:
        conditions = f"  given {', '.join(show(c) for c in self.given)}" if self.given else ""
        said = f"claim {show(self.left)}" if self.claimed else f"{show(self.left)} → {show(self.right)}"
        return f"{said}{conditions}"


@dataclass
class Collection:
    """The rules, the procedures and the errors that were met while a rule file was read."""

    rules: list[Rule] = field(default_factory=list)
    procedures: list[Any] = field(default_factory=list)
    """Those of `procedures`, a later chapter."""
    errors: list[RuleError] = field(default_factory=list)


_collection: ContextVar[Collection | None] = ContextVar("_collection", default=None)


@contextmanager
def collecting() -> Iterator[Collection]:
    """Collect every rule declared inside, and the errors of those that are not rules, instead of raising them."""
    collection = Collection()
    token = _collection.set(collection)
    try:
        yield collection
    finally:
        _collection.reset(token)


def collection() -> Collection | None:
    """What is being collected, if anything is."""
    return _collection.get()


@overload
def rule(function: Callable[..., Any], /) -> Rule: ...
@overload
def rule(
    *,
    dtypes: Sequence[DType] | None = ...,
    licences: str | Sequence[str] = ...,
    id: str | None = ...,
    max_rank: int | None = ...,
    **classes: Sequence[DType],
) -> Callable[[Callable[..., Any]], Rule]: ...


def rule(
    function: Callable[..., Any] | None = None,
    /,
    *,
    dtypes: Sequence[DType] | None = None,
    licences: str | Sequence[str] = (),
    id: str | None = None,  # noqa: A002  (the public keyword is the word that reports use)
    max_rank: int | None = None,
    **classes: Sequence[DType],
) -> Rule | Callable[[Callable[..., Any]], Rule]:
    """Declare a rewrite rule.

    `dtypes` is the class of dtypes of its values; a keyword named like a DTypeVar gives that variable's class.
    `licences` are those the rule needs (U-09). `max_rank` bounds the ranks for which it is claimed, and with which it
    is applied. Raises ``RuleError``, with file and line, where it is not a rule.
    """
    if function is None:
        return lambda f: _stated(f, dtypes, licences, id, max_rank, classes)
    return _stated(function, dtypes, licences, id, max_rank, classes)


def _stated(
    function: Callable[..., Any],
    dtypes: Sequence[DType] | None,
    licences: str | Sequence[str],
    name: str | None,
    max_rank: int | None,
    classes: dict[str, Sequence[DType]],
) -> Rule:
    collection = _collection.get()
    try:
        made = _state(function, dtypes, licences, name, max_rank, classes)
    except RuleError as error:
        located = _located(error, function, name)
        if collection is None:
            raise located from None
        collection.errors.append(located)
        return None  # type: ignore[return-value]  # the name is bound to nothing; the error says why
    if collection is not None:
        collection.rules.append(made)
    return made


def _located(error: RuleError, function: Callable[..., Any], name: str | None) -> RuleError:
    code = function.__code__
    line = error.line or code.co_firstlineno
    return RuleError(
        error.message, file=code.co_filename, line=line, rule=name or function.__name__, hint=error.hint
    )


def _state(
    function: Callable[..., Any],
    dtypes: Sequence[DType] | None,
    licences: str | Sequence[str],
    name: str | None,
    max_rank: int | None,
    classes: dict[str, Sequence[DType]],
) -> Rule:
    statement = Statement()
    arguments = _arguments(function, statement)
    try:
        with stating(statement):
            sides = function(**arguments)
        left, right = _two_sides(sides)
        _check_classes(statement, classes)
        _check_bodies(statement, (left, right, *statement.given))
        check_ranges(left, right, tuple(statement.given))
    except Exception as error:  # whatever a rule's body does wrong is the rule's error
        raise body_error(error, function) from error
    return Rule(
        id=name or function.__name__,
        file=function.__code__.co_filename,
        line=function.__code__.co_firstlineno,
        doc=inspect.getdoc(function) or "",
        variables=statement.variables,
        kinds=statement.kinds,
        given=tuple(statement.given),
        left=left,
        right=right,
        dtypes=None if dtypes is None else _dtype_class(dtypes, "dtypes"),
        dtype_classes={k: _dtype_class(v, k) for k, v in classes.items()},
        licences=_licences(licences),
        claimed=isinstance(sides, Claim),
        max_rank=_max_rank(max_rank),
    )


def _arguments(function: Callable[..., Any], statement: Statement) -> dict[str, Term]:
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except NameError as error:
        raise RuleError(f"unknown name in an annotation: {error.name}") from error
    return {name: declare(statement, name, p.annotation) for name, p in parameters.items()}


def _two_sides(sides: object) -> tuple[Value, Value]:
    if isinstance(sides, Claim):
        return reduce(lambda a, b: apply(Op.And, a, b), sides.conditions), value(True)
    if not isinstance(sides, tuple) or len(sides) != 2:
        raise RuleError(f"a rule returns its two sides, not {shown(sides)}", hint="return left, right")
    left, right = (value(s) for s in sides)
    if left.head == "literal":
        raise RuleError("the left side of a rule is not a number", hint="return left, right, in this order")
    return left, right


def _dtype_class(dtypes: object, what: str) -> tuple[DType, ...]:
    members: tuple[Any, ...] = tuple(dtypes) if isinstance(dtypes, Sequence) else (dtypes,)
    bad = [d for d in members if not isinstance(d, DType)]
    if bad:
        raise RuleError(f"{what}={bad[0]!r} is not a dtype", hint="for example dtypes=[index, *ints]")
    if not members:
        raise RuleError(f"{what} is empty, so the rule says nothing")
    return tuple(dict.fromkeys(members))


def _check_classes(statement: Statement, classes: dict[str, Sequence[DType]]) -> None:
    declared = _names_of(statement, "DTypeVar")
    for name in set(classes) - declared:
        raise RuleError(
            f"{name}=… is not a dtype variable of the rule", hint=f"add a parameter {name}: DTypeVar"
        )
    for name, kind in statement.kinds.items():
        known = declared if kind.kind != "Body" else declared | _names_of(statement, "Range")
        for inside in kind.inside:
            if isinstance(inside, str) and kind.kind not in SIZED and inside not in known:
                sort, missing = (
                    ("range", "Range[…]") if kind.kind == "Body" else ("dtype variable", "DTypeVar")
                )
                raise RuleError(
                    f"{name}: {kind.kind}[{inside!r}] names no {sort}", hint=f"add {inside}: {missing}"
                )


def _names_of(statement: Statement, kind: str) -> set[str]:
    return {n for n, k in statement.kinds.items() if k.kind == kind}


def _check_bodies(statement: Statement, terms: tuple[Term, ...]) -> None:
    """Every Body stands with as many indices as it has ranges."""
    for term in (t for top in terms for t in subterms(top) if t.head == "body"):
        body, *indices = term.args
        ranges = ranges_of(statement.kinds[body.args[0]], statement.kinds)
        if len(ranges) != len(indices):
            raise RuleError(
                f"{show(term)} has {len(indices)} indices, and {show(body)} depends on {len(ranges)} ranges",
                hint=f"write {show(body)}({', '.join(ranges)})",
            )


def _max_rank(rank: object) -> int | None:
    if rank is None or (type(rank) is int and rank >= 0):
        return rank
    raise RuleError(f"max_rank={rank!r} is not a rank", hint="the highest rank for which the rule is claimed")


def _licences(licences: str | Sequence[str]) -> tuple[str, ...]:
    names = (licences,) if isinstance(licences, str) else tuple(licences)
    for name in names:
        if name not in LICENCES:
            raise RuleError(f"there is no licence {name!r}", hint=f"the licences are {', '.join(LICENCES)}")
    return names


def variables_in(term: Term) -> set[str]:
    """The names of the variables in a term."""
    return {t.args[0] for t in subterms(term) if t.head == "var"}


def default_dtypes(stated: Rule) -> tuple[DType, ...]:
    """The dtypes a rule is tried on: those it declares, else the only one that its variables have, else all."""
    if stated.dtypes is not None:
        return stated.dtypes
    fixed = fixed_dtype(stated)
    return all_dtypes if fixed is None else (fixed,)


def is_boolean(stated: Rule) -> bool:
    """Whether every value variable of the rule is bool, so that no dtype is to be chosen."""
    return stated.dtypes is None and fixed_dtype(stated) is bool_


def fixed_dtype(stated: Rule) -> DType | None:
    """The dtype that names a rule whose variables all declare their dtypes; None where a dtype is to be chosen."""
    found: list[DType] = []
    for kind in stated.kinds.values():
        if kind.kind in ("Bool", "Size", "Range"):
            found.append(bool_ if kind.kind == "Bool" else index)
        elif kind.kind in ("Value", "Const", "Interval", "Tensor", "Body"):
            own = [n for n in kind.inside if isinstance(n, DType)]
            if not own:
                return None
            found += own
        elif kind.kind in ("UnaryOp", "BinaryOp", "Monoid"):
            return None
    return next((d for d in found if d not in (bool_, index)), index if index in found else bool_)
