"""
Spellings
=========

Words of the rule language that are not ops: what they stand for depends on the dtype. The lesser of two floats is
-max(-a, -b), since NaN and the order of the zeros are those of Max (U-06); of two integers it is a choice, since the
least of them has no negative; of two bools it is And. One table says so, and it is read twice: with UOps, when an
instance is built, and with terms, when a rule is compiled for matching.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from soundline.spec.dtypes import DType, bool_, index, int64, uints
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.notation import Variable

Sort = Literal["bool", "unsigned", "signed", "index", "float"]
"""The condition of a spelling on a dtype."""

Make = Callable[..., Any]
"""Applies an op to operands."""

GREATEST_POWER = 64
"""The greatest exponent with which an integer is multiplied by itself."""

BELOW = 1 << 63
"""The powers of two that `is_power_of_two` knows of among the mathematical integers are less than this."""


def sort_of(dtype: DType) -> Sort:
    """The sort of a dtype."""
    if dtype is bool_:
        return "bool"
    if dtype is index:
        return "index"
    if dtype.is_float:
        return "float"
    return "unsigned" if dtype in uints else "signed"


def _minimum(sort: Sort, make: Make, number: Make, a: Any, b: Any) -> Any:
    if sort == "bool":
        return make(Op.And, a, b)
    if sort == "float":
        return make(Op.Neg, make(Op.Max, make(Op.Neg, a), make(Op.Neg, b)))
    return make(Op.Where, make(Op.CmpLt, b, a), b, a)


def _absolute(sort: Sort, make: Make, number: Make, x: Any) -> Any:
    return x if sort in ("bool", "unsigned") else make(Op.Max, x, make(Op.Neg, x))


def _inverted(sort: Sort, make: Make, number: Make, x: Any) -> Any:
    if sort in ("signed", "unsigned"):
        return make(Op.Xor, x, number(-1, x))
    return make(Op.Not, x)


def _power_of_two(sort: Sort, make: Make, number: Make, c: Any) -> Any:
    if sort == "index":
        small = make(Op.And, make(Op.CmpGt, c, number(0, c)), make(Op.CmpLt, c, number(BELOW, c)))
        return make(Op.And, small, _one_bit(make, number, make(Op.Cast, c)))
    return make(Op.And, make(Op.CmpGt, c, number(0, c)), _one_bit(make, number, c))


def _one_bit(make: Make, number: Make, c: Any) -> Any:
    return make(Op.CmpEq, make(Op.And, c, make(Op.Sub, c, number(1, c))), number(0, c))


def _power(sort: Sort, make: Make, number: Make, x: Any, exponent: Any, times: object = None) -> Any:
    """x to a power: Pow of floats; of whole numbers a product, where `times` is the number of its factors."""
    if sort in ("float", "bool") or type(times) is not int:
        return make(Op.Pow, x, exponent)
    if not 0 <= times <= GREATEST_POWER:
        raise RuleError(
            f"an integer to the power {times} is not a product",
            hint=f"the exponent of an integer is a number from 0 to {GREATEST_POWER}",
        )
    found = number(1, x) if times == 0 else x
    for _ in range(times - 1):
        found = make(Op.Mul, found, x)
    return found


SPELLED: dict[object, Callable[..., Any]] = {
    "minimum": _minimum,
    "abs": _absolute,
    Op.Not: _inverted,
    "is_power_of_two": _power_of_two,
    "power": _power,
}
"""By head: what a word stands for at a dtype."""

CAST_TO = int64
"""Where the bits of an index are looked at."""


def times_of(head: object, args: tuple[Any, ...]) -> tuple[object, ...]:
    """How often a power multiplies, where its exponent is a number; nothing for the other words."""
    if head != "power":
        return ()
    exponent = args[1]
    return (exponent.args[0] if exponent.head == "literal" else None,)


_TRUTHS = (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe, "every axis", "is_power_of_two")


def is_truth(term: Any, kinds: Mapping[str, Variable]) -> bool:
    """Whether a term is a bool at every dtype of its rule, so that ``~`` is Not."""
    if term.head == "var":
        kind = kinds[term.args[0]]
        return kind.kind == "Bool" or bool_ in kind.inside
    if term.head in (Op.And, Op.Or, Op.Xor, Op.Not):
        return any(is_truth(a, kinds) for a in term.args)
    return term.head in _TRUTHS or (term.head == "literal" and type(term.args[0]) is bool)
