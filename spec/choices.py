"""
Choices of a rule
=================

The terms that are known when a rule meets a program: permutations, flags, sets of axes and dtypes. A rule is proved for
every choice of them. *Static* conditions speak of choices alone, and are decided before any value is looked at.
"""

from __future__ import annotations

from soundline.spec.errors import RuleError
from soundline.spec.notation import Term


class Static(Term):
    """A condition that is decided when dtypes, ranks, permutations, flags and ops are known."""

    __slots__ = ()

    def __and__(self, other: Static) -> Static:
        return Static("and", (self, other))

    def __or__(self, other: Static) -> Static:
        return Static("or", (self, other))

    def __invert__(self) -> Static:
        return Static("not", (self,))


class Perm(Term):
    """A permutation of the axes."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, other))

    def __ne__(self, other: object) -> Static:  # type: ignore[override]
        return ~(self == other)


class Flags(Term):
    """One bool per axis."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __xor__(self, other: object) -> Flags:
        return Flags("xor", (self, other))

    def __invert__(self) -> Flags:
        return Flags("not", (self,))

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, other))

    def __ne__(self, other: object) -> Static:  # type: ignore[override]
        return ~(self == other)

    def permute(self, order: Perm | tuple[int, ...]) -> Flags:
        """Flag k of the result is flag order[k]."""
        return Flags("permuted", (self, order))


class Axes(Flags):
    """A set of axes. Wherever flags are wanted, the axes of the set are flagged."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __or__(self, other: Axes) -> Axes:
        return Axes("or", (self, axes(other)))

    def __and__(self, other: Axes) -> Axes:
        return Axes("and", (self, axes(other)))

    def __sub__(self, other: Axes) -> Axes:
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
        return Axes("permuted", (self, order))


def axes(of: object) -> Axes:
    """`of` as a set of axes: Axes, or the numbers of axes, of which a negative one counts from the right."""
    if isinstance(of, Axes):
        return of
    numbers = of if isinstance(of, tuple | list) else (of,)
    if len(set(map(repr, numbers))) < len(numbers):
        raise RuleError(f"{numbers} names one axis twice", hint="name each axis once")
    if all(type(n) is int for n in numbers):
        return Axes("axes", tuple(numbers))
    raise RuleError(
        f"a set of axes is needed, not {of if isinstance(of, Term) else repr(of)}",
        hint="annotate the variable Axes, or write the numbers of the axes, as in x.sum((0, 1))",
    )


class DTypeTerm(Term):
    """A dtype that is known when the rule is applied."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Static:  # type: ignore[override]
        return Static("same", (self, other))

    def __ne__(self, other: object) -> Static:  # type: ignore[override]
        return ~(self == other)


class DTypeVar(DTypeTerm):
    """A dtype variable; its class is given by keyword: ``@rule(dtypes=ints, s=floats)``."""

    __slots__ = ()
    __hash__ = object.__hash__
