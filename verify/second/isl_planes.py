"""
Planes of isl
=============

The functions and sets over a few integer unknowns, with the arithmetic that both translations into Presburger sets
need. isl (``pip install soundline[solvers]``) counts its operations; a question that takes too many is `Outside`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from soundline.spec.dtypes import DType
from soundline.verify.second.solvers import needed

MOST_OPERATIONS = 3_000_000
"""The most operations that isl may spend on one question."""


class Outside(Exception):
    """The question is not one about Presburger sets, or too hard a one."""


@contextmanager
def isl() -> Iterator[tuple[Any, Any]]:
    """The library and a context with a limit; what isl refuses is `Outside`."""
    needed("islpy")
    import islpy

    context = islpy.Context()
    context.set_max_operations(MOST_OPERATIONS)
    try:
        yield islpy, context
    except islpy.Error as error:
        raise Outside(_told(str(error))) from None


def _told(text: str) -> str:
    if "constant" in text:
        return "a product or a quotient of variables"
    said = text.partition(" in /")[0].partition("failed: ")[2]
    return f"isl gave up ({said})" if said else "isl gave up"


class Plane:
    """Functions and sets over some integer unknowns."""

    def __init__(self, library: Any, context: Any, dimensions: int) -> None:
        self.isl, self.context = library, context
        names = [f"v{k}" for k in range(dimensions)]
        self.space = library.Space.create_from_names(context, set=names)
        self.everywhere = library.Set.universe(self.space)
        self.nowhere = library.Set.empty(self.space)
        self._local = library.LocalSpace.from_space(self.space)

    def unknown(self, place: int) -> Any:
        """One of the unknowns."""
        return self.isl.PwAff.from_aff(self.isl.Aff.var_on_domain(self._local, self.isl.dim_type.set, place))

    def number(self, value: int) -> Any:
        """A number, everywhere."""
        zero = self.isl.Aff.zero_on_domain(self._local)
        return self.isl.PwAff.from_aff(zero.add_constant_val(self.value(value)))

    def value(self, number: int) -> Any:
        """A number of isl's."""
        return self.isl.Val(str(number), self.context)

    def within(self, dtype: DType, x: Any) -> Any:
        """Where a number lies in the range of a dtype."""
        return x.ge_set(self.number(int(dtype.min))) & x.le_set(self.number(int(dtype.max)))

    def choice(self, where: Any, a: Any, b: Any) -> Any:
        """a in a set, b outside it."""
        return self.isl.PwAff.cond(where.indicator_function(), a, b)

    def floor(self, a: Any, divisor: int) -> Any:
        """The greatest whole number that is not above a quotient; 0 where the divisor is."""
        if divisor == 0:
            return self.number(0)
        a = a if divisor > 0 else a.neg()
        return a.scale_down_val(self.value(abs(divisor))).floor()

    def rest(self, a: Any, divisor: int) -> Any:
        """What floor division leaves."""
        return a.sub(self.floor(a, divisor).scale_val(self.value(divisor)))

    def toward_zero(self, a: Any, divisor: int) -> Any:
        """A quotient without its fraction; 0 where the divisor is."""
        if divisor <= 0:
            return self.toward_zero(a, -divisor).neg() if divisor else self.number(0)
        negative = a.lt_set(self.number(0))
        return self.choice(negative, self.floor(a.neg(), divisor).neg(), self.floor(a, divisor))


def differ(a: Any, b: Any) -> Any:
    """Where one of two sets is and the other is not."""
    return a.subtract(b) | b.subtract(a)
