"""
Choices of a rule
=================

The terms that are known when a rule meets a program: permutations, flags, sets of axes and dtypes. A rule is proved for
every choice of them. *Static* conditions speak of choices alone, and are decided before any value is looked at.
"""

from __future__ import annotations

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.rules.notation import Term, number, show, shown


class Static(Term):
    """A condition that is decided when dtypes, ranks, permutations, flags and ops are known."""

    __slots__ = ()

    def __and__(self, other: object) -> Static:
        return Static("and", (self, static(other)))

    def __or__(self, other: object) -> Static:
        return Static("or", (self, static(other)))

    def __invert__(self) -> Static:
        return Static("not", (self,))


def static(of: object) -> Static:
    """`of` as a condition on choices."""
    if isinstance(of, Static):
        return of
    raise RuleError(
        f"a condition on dtypes, permutations or axes joins with another of them, not with {shown(of)}",
        hint="give conditions on values apart: given(p == q, x < y)",
    )


class Perm(Term):
    """A permutation of the axes."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, permutation(other)))

    def __ne__(self, other: object) -> Static:  # type: ignore[override]
        return ~(self == other)


def permutation(of: object) -> Perm | tuple[int, ...]:
    """`of` as a permutation: a Perm, or the numbers of all axes in their new order."""
    if isinstance(of, Perm):
        return of
    order = tuple(number(k) for k in of) if isinstance(of, tuple | list) else (None,)
    if all(type(k) is int for k in order) and sorted(order) == list(range(len(order))):  # type: ignore[type-var]
        return order  # type: ignore[return-value]
    raise RuleError(
        f"a permutation is needed, not {shown(of)}",
        hint="annotate the variable Perm, or write each axis once, as in x.permute((1, 0))",
    )


class Flags(Term):
    """One bool per axis."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __xor__(self, other: object) -> Flags:
        return Flags("xor", (self, flagged(other)))

    def __invert__(self) -> Flags:
        return Flags("not", (self,))

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, flagged(other)))

    def __ne__(self, other: object) -> Static:  # type: ignore[override]
        return ~(self == other)

    def permute(self, order: Perm | tuple[int, ...]) -> Flags:
        """Flag k of the result is flag order[k]."""
        return Flags("permuted", (self, permutation(order)))


def flagged(of: object) -> Flags | tuple[bool, ...]:
    """`of` as flags: Flags or Axes, or a bool for each axis."""
    if isinstance(of, Flags):
        return of
    bools = tuple(number(f) for f in of) if isinstance(of, tuple | list) else (None,)
    if all(type(f) is bool for f in bools):
        return bools  # type: ignore[return-value]
    raise RuleError(
        f"a bool for each axis is needed, not {shown(of)}",
        hint="annotate the variable Flags or Axes, or write x.flip((True, False))",
    )


class Axes(Flags):
    """A set of axes. Wherever flags are wanted, the axes of the set are flagged."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __or__(self, other: object) -> Axes:
        return Axes("or", (self, axes(other)))

    def __and__(self, other: object) -> Axes:
        return Axes("and", (self, axes(other)))

    def __sub__(self, other: object) -> Axes:
        return Axes("without", (self, axes(other)))

    def __xor__(self, other: object) -> Axes:
        return Axes("xor", (self, axes(other)))

    def __invert__(self) -> Axes:
        """All other axes."""
        return Axes("not", (self,))

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, axes(other)))

    def permute(self, order: Perm | tuple[int, ...]) -> Axes:
        """The set that holds axis k where this one holds axis order[k]."""
        return Axes("permuted", (self, permutation(order)))


def axes(of: object) -> Axes:
    """`of` as a set of axes: Axes, or the numbers of axes, of which a negative one counts from the right."""
    if isinstance(of, Axes):
        return of
    numbers = tuple(number(n) for n in (of if isinstance(of, tuple | list) else (of,)))
    if len(set(map(repr, numbers))) < len(numbers):
        raise RuleError(f"{show(numbers)} names one axis twice", hint="name each axis once")
    if all(type(n) is int for n in numbers):
        return Axes("axes", numbers)
    raise RuleError(
        f"a set of axes is needed, not {shown(of)}",
        hint="annotate the variable Axes, or write the numbers of the axes, as in x.sum((0, 1))",
    )


class DTypeTerm(Term):
    """A dtype that is known when the rule is applied."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, dtype_of(other)))

    def __ne__(self, other: object) -> Static:  # type: ignore[override]
        return ~(self == other)


class DTypeVar(DTypeTerm):
    """A dtype variable; its class is given by keyword: ``@rule(dtypes=ints, s=floats)``."""

    __slots__ = ()
    __hash__ = object.__hash__


def dtype_of(of: object) -> DTypeTerm | DType:
    """`of` as a dtype: one of the language, a DTypeVar, or ``x.dtype``."""
    if isinstance(of, DTypeTerm | DType):
        return of
    raise RuleError(
        f"a dtype is needed, not {shown(of)}",
        hint="write x.cast(int32), x.cast(y.dtype), or x.cast(s) with s: DTypeVar",
    )
