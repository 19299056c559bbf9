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
from typing import Any, overload

from soundline.spec.dtypes import DType, all_dtypes, bool_
from soundline.spec.errors import RuleError
from soundline.spec.op_schema import Op
from soundline.spec.terms import (
    KINDS,
    Axes,
    DTypeTerm,
    Flags,
    Monoid,
    Perm,
    Static,
    Term,
    Value,
    Variable,
    Vector,
    apply,
    axes,
    fold_op,
    show,
    subterms,
    value,
    vector,
)

LICENCES = (
    "reassociate",
    "contract",
    "reciprocal",
    "approx",
    "no_nan",
    "no_signed_zero",
    "tensor_core",
    "tf32",
)
"""The licences of U-09."""

Sides = tuple[Any, Any]
"""What the function of a rule returns, for those who annotate it: its left and its right side."""


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

    def __repr__(self) -> str:
        return f"Rule({self.id}: {self})"

    def __str__(self) -> str:
        conditions = f"  given {', '.join(show(c) for c in self.given)}" if self.given else ""
        return f"{show(self.left)} → {show(self.right)}{conditions}"


@dataclass
class _Statement:
    """What a rule's body has said so far."""

    variables: dict[str, Term] = field(default_factory=dict)
    kinds: dict[str, Variable] = field(default_factory=dict)
    given: list[Term] = field(default_factory=list)


@dataclass
class Collection:
    """The rules and the errors that were met while a rule file was read."""

    rules: list[Rule] = field(default_factory=list)
    errors: list[RuleError] = field(default_factory=list)


_statement: ContextVar[_Statement | None] = ContextVar("_statement", default=None)
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


def given(*conditions: Term | bool) -> None:
    """State that the rule holds where all these conditions do."""
    statement = _statement.get()
    if statement is None:
        raise RuleError(
            "given(…) stands outside a rule", hint="call it inside a function decorated with @rule"
        )
    for condition in conditions:
        if not isinstance(condition, Value | Static):
            raise RuleError(
                f"given takes conditions, not {condition!r}",
                hint="a condition compares values, sizes, bounds or dtypes, for example c != 0",
            )
        statement.given.append(condition)


def forall(kind: Any, name: str) -> Any:
    """One more variable of this kind, for a rule that needs it inside its body."""
    statement = _statement.get()
    if statement is None:
        raise RuleError(
            "forall(…) stands outside a rule", hint="call it inside a function decorated with @rule"
        )
    return _declare(statement, name, kind)


def _declare(statement: _Statement, name: str, annotation: Any) -> Term:
    kind = annotation if isinstance(annotation, Variable) else None
    if annotation in KINDS.values():
        kind = Variable(annotation.__name__)
    if kind is None:
        raise RuleError(
            f"variable {name} has the annotation {_annotation_text(annotation)}, which is no kind of variable",
            hint=f"the kinds are {', '.join(KINDS)}",
        )
    if name in statement.variables:
        if kind == statement.kinds[name] == Variable("Size"):  # a Tensor["m", "n"] has named it already
            return statement.variables[name]
        raise RuleError(
            f"variable {name} is declared twice, as {statement.kinds[name].kind} and as {kind.kind}",
            hint="a name in the brackets of a Tensor is a Size",
        )
    variable = KINDS[kind.kind]("var", (name,))
    statement.variables[name] = variable
    statement.kinds[name] = kind
    if kind.kind == "Tensor":
        for size in kind.inside:
            if isinstance(size, str):
                _declare(statement, size, Variable("Size"))
    return variable


def _annotation_text(annotation: Any) -> str:
    return "nothing" if annotation is inspect.Parameter.empty else str(annotation)


@overload
def rule(function: Callable[..., Any], /) -> Rule: ...
@overload
def rule(
    *,
    dtypes: Sequence[DType] | None = ...,
    licences: str | Sequence[str] = ...,
    id: str | None = ...,
    **classes: Sequence[DType],
) -> Callable[[Callable[..., Any]], Rule]: ...


def rule(
    function: Callable[..., Any] | None = None,
    /,
    *,
    dtypes: Sequence[DType] | None = None,
    licences: str | Sequence[str] = (),
    id: str | None = None,  # noqa: A002  (the public keyword is the word that reports use)
    **classes: Sequence[DType],
) -> Rule | Callable[[Callable[..., Any]], Rule]:
    """Declare a rewrite rule.

    `dtypes` is the class of dtypes of its values; a keyword named like a DTypeVar gives that variable's class.
    `licences` are those the rule needs (U-09). Raises ``RuleError``, with file and line, where it is not a rule.
    """
    if function is None:
        return lambda f: _stated(f, dtypes, licences, id, classes)
    return _stated(function, dtypes, licences, id, classes)


def _stated(
    function: Callable[..., Any],
    dtypes: Sequence[DType] | None,
    licences: str | Sequence[str],
    name: str | None,
    classes: dict[str, Sequence[DType]],
) -> Rule:
    collection = _collection.get()
    try:
        made = _state(function, dtypes, licences, name, classes)
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
    classes: dict[str, Sequence[DType]],
) -> Rule:
    statement = _Statement()
    arguments = _arguments(function, statement)
    token = _statement.set(statement)
    try:
        sides = function(**arguments)
    except RuleError:
        raise
    except Exception as error:  # whatever a rule's body does wrong is the rule's error
        raise _body_error(error, function) from error
    finally:
        _statement.reset(token)
    left, right = _two_sides(sides)
    _check_classes(statement, classes)
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
    )


def _arguments(function: Callable[..., Any], statement: _Statement) -> dict[str, Term]:
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except NameError as error:
        raise RuleError(f"unknown name in an annotation: {error.name}") from error
    return {name: _declare(statement, name, p.annotation) for name, p in parameters.items()}


def _body_error(error: Exception, function: Callable[..., Any]) -> RuleError:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is function.__code__:
            line = trace.tb_lineno
        trace = trace.tb_next
    what = (
        f"unknown name: {error.name}" if isinstance(error, NameError) else f"{type(error).__name__}: {error}"
    )
    return RuleError(what, line=line)


def _two_sides(sides: object) -> tuple[Value, Value]:
    if not isinstance(sides, tuple) or len(sides) != 2:
        raise RuleError(f"a rule returns its two sides, not {show(sides)}", hint="return left, right")
    left, right = (value(s) for s in sides)
    if left.head == "literal":
        raise RuleError("the left side of a rule is not a number", hint="return left, right, in this order")
    return left, right


def _dtype_class(dtypes: object, what: str) -> tuple[DType, ...]:
    members: tuple[Any, ...] = tuple(dtypes) if isinstance(dtypes, Sequence) else (dtypes,)
    bad = [d for d in members if not isinstance(d, DType)]
    if bad:
        raise RuleError(f"{what}={bad[0]!r} is no dtype", hint="for example dtypes=[index, *ints]")
    if not members:
        raise RuleError(f"{what} is empty, so the rule says nothing")
    return tuple(dict.fromkeys(members))


def _check_classes(statement: _Statement, classes: dict[str, Sequence[DType]]) -> None:
    declared = {n for n, k in statement.kinds.items() if k.kind == "DTypeVar"}
    for name in set(classes) - declared:
        raise RuleError(
            f"{name}=… names no dtype variable of the rule", hint=f"add a parameter {name}: DTypeVar"
        )
    for name, kind in statement.kinds.items():
        for inside in kind.inside:
            if isinstance(inside, str) and kind.kind != "Tensor" and inside not in declared:
                raise RuleError(
                    f"{name}: {kind.kind}[{inside!r}] names no dtype variable", hint=f"add {inside}: DTypeVar"
                )


def _licences(licences: str | Sequence[str]) -> tuple[str, ...]:
    names = (licences,) if isinstance(licences, str) else tuple(licences)
    for name in names:
        if name not in LICENCES:
            raise RuleError(f"there is no licence {name!r}", hint=f"the licences are {', '.join(LICENCES)}")
    return names


# the vocabulary of rules ------------------------------------------------------------------------------------------


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; per axis where the condition is Flags."""
    if isinstance(condition, Flags):
        return Vector("where", (condition, vector(a), vector(b)))
    return apply(Op.Where, condition, a, b)


def maximum(a: Any, b: Any) -> Value:
    """The greater of two values (U-06)."""
    return apply(Op.Max, a, b)


def mulacc(a: Any, b: Any, c: Any) -> Value:
    """a · b + c in two roundings."""
    return apply(Op.Mulacc, a, b, c)


def cdiv(a: Any, b: Any) -> Value:
    """The quotient rounded toward zero."""
    return apply(Op.CDiv, a, b)


def cmod(a: Any, b: Any) -> Value:
    """The remainder of `cdiv`, with the sign of `a`."""
    return apply(Op.CMod, a, b)


def ediv(a: Any, b: Any) -> Value:
    """The Euclidean quotient: its remainder is never negative."""
    dividend, divisor = value(a), value(b)
    return apply(Op.Where, divisor < 0, -(dividend // -divisor), dividend // divisor)


def emod(a: Any, b: Any) -> Value:
    """The Euclidean remainder, 0 ≤ emod(a, b) < |b|."""
    dividend, divisor = value(a), value(b)
    return apply(Op.Where, divisor < 0, dividend % -divisor, dividend % divisor)


def fits(expression: Any) -> Value:
    """No operation of this integer expression wraps. Always true for ``index``."""
    return Value("fits", (value(expression),))


def compose(p: Perm, q: Perm) -> Perm:
    """The permutation that permutes by p, then by q: compose(p, q)[i] = p[q[i]]."""
    return Perm("compose", (p, q))


def inverse(p: Perm) -> Perm:
    """The permutation that undoes p."""
    return Perm("inverse", (p,))


def is_identity(p: Perm) -> Static:
    """Whether p keeps every axis."""
    return Static("is_identity", (p,))


def no_flags(f: Flags) -> Static:
    """Whether no axis is flagged."""
    return Static("no_flags", (f,))


def no_axes(a: Axes) -> Static:
    """Whether the set is empty."""
    return Static("no_flags", (axes(a),))


def all_axes(a: Axes) -> Static:
    """Whether every axis is in the set."""
    return Static("no_flags", (~axes(a),))


def disjoint(a: Axes, b: Axes) -> Static:
    """Whether no axis is in both sets."""
    return Static("no_flags", (axes(a) & axes(b),))


def subset(a: Axes, b: Axes) -> Static:
    """Whether every axis of `a` is in `b`."""
    return Static("no_flags", (axes(a) - axes(b),))


def identity(op: Monoid | Op) -> Value:
    """The value of folding nothing with `op` (U-10). Its dtype is that of the operand beside it, as of a number."""
    return Value("identity", (fold_op(op),))


def lossless(source: DTypeTerm | DType, target: DTypeTerm | DType) -> Static:
    """Whether every value of `source` is a value of `target`."""
    return Static("lossless", (source, target))


def is_float(dtype: DTypeTerm) -> Static:
    """Whether the dtype is a float."""
    return Static("is_float", (dtype,))


def is_signed(dtype: DTypeTerm) -> Static:
    """Whether the dtype has negative values."""
    return Static("is_signed", (dtype,))


def bits_at_most(source: DTypeTerm | DType, target: DTypeTerm | DType) -> Static:
    """Whether `source` is stored in at most as many bits as `target`."""
    return Static("bits_at_most", (source, target))


def preserves_zero(op: Term) -> Static:
    """Whether the elementwise op gives the zero of its dtype (+0.0 for a float) when every operand is that zero."""
    return Static("preserves_zero", (op,))


def product(shape: Any) -> Value:
    """The number of elements of a shape."""
    return Value("product", (vector(shape),))


def variables_in(term: Term) -> set[str]:
    """The names of the variables in a term."""
    return {t.args[0] for t in subterms(term) if t.head == "var"}


def default_dtypes(stated: Rule) -> tuple[DType, ...]:
    """The dtypes a rule is tried on: those it declares, else all."""
    return stated.dtypes if stated.dtypes is not None else all_dtypes


def is_boolean(stated: Rule) -> bool:
    """Whether every value variable of the rule is bool, so that no dtype is to be chosen."""
    valued = [k for k in stated.kinds.values() if k.kind in ("Value", "Const", "Interval", "Tensor", "Bool")]
    return stated.dtypes is None and all(k.kind == "Bool" or k.inside == (bool_,) for k in valued)
