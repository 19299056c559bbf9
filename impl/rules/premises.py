# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
# mypy: disable-error-code="name-defined,type-arg,valid-type"
"""
Premises that a program decides
===============================

The source gathers by a product with a one-hot mask, and a sum. For floats 0 · ∞ is NaN, so that is no choice of the
elements that the mask lets through, unless all elements are finite. Nobody knows that of a table before the program
runs; but then the sum of 0 · x over all of them tells: it is zero if and only if every x is finite. It also tells of
which sign the zeros are that the mask leaves behind. So each of these rules has its premise on the right side: a choice
that the program makes, between what is cheap where the premise holds and what was there before, of which then no
iteration runs.

A sum of what goes to one place, as a gradient of a gather has it, leaves zeros behind as well. If all that is summed
goes to one place there are none; whether it does is a premise, too.

The court proves them by induction along the loop (``verify/smt/reduction_inductions``): the condition on the whole sum
holds of every beginning of it. Lowering (``impl/lower/premises``) asks for them where the premise is worth what it
costs.
"""

from soundline.spec.dtypes import bool_, floats, ieee_floats, index, ints
from soundline.spec.rules.language import Sides, fresh, given, lossless, rule, where
from soundline.spec.rules.ranges import Body, Range, max_over, reduce_over, sum_over
from soundline.spec.rules.terms import Bool, DTypeVar, Monoid, Size, Value


def chosen_if_finite(p: Body, f: Body, n: Size, otherwise: Value) -> Value:
    """The sum of what a mask chooses, if all is finite: other elements add a zero, whose sign counts."""
    j, k = fresh(n), fresh(n)
    zeros = sum_over(j, f(j) * 0)
    chosen: Value = sum_over(k, where(p(k), f(k), -0.0)) + zeros
    found: Value = where(zeros == 0, chosen, otherwise)
    return found


@rule(dtypes=ieee_floats)
def masked_sum(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]) -> Sides:
    """A sum of products with a mask of ones and zeros chooses, if all elements are finite."""
    total = sum_over(r, where(p(r), 1, 0) * f(r))
    return total, chosen_if_finite(p, f, n, total)


@rule(dtypes=ieee_floats)
def masked_sum_of_cast(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]) -> Sides:
    """The same where the mask is made a number by a cast, as the source has it."""
    total = sum_over(r, p(r).cast(f(r).dtype) * f(r))
    return total, chosen_if_finite(p, f, n, total)


@rule(dtypes=floats)
def sum_among_zeros(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]) -> Sides:
    """What a mask leaves behind may be left out, but for one zero, if there is any."""
    j, k = fresh(n), fresh(n)
    total = sum_over(k, where(p(k), f(k), -0.0))
    return sum_over(r, where(p(r), f(r), 0)), where(max_over(j, ~p(j)), total + 0.0, total)


@rule
def any_other(r: Range["n"], n: Size, e: Body["r", index], k: Value[index]) -> Sides:
    """Whether some index is another one than k: if they are not all alike, for every k; else the first one tells."""
    given(n > 0)
    j = fresh(n)
    return max_over(r, e(r) != k), max_over(j, e(j) != e(0)) | (e(0) != k)


@rule(dtypes=ieee_floats, s=ieee_floats)
def cast_of_masked(p: Bool, x: Value, s: DTypeVar) -> Sides:
    """What is multiplied with a mask may be converted before, as a sum in a wider dtype has it."""
    given(lossless(x.dtype, s))
    return (p.cast(x.dtype) * x).cast(s), p.cast(s) * x.cast(s)


@rule(dtypes=[*ints, *ieee_floats], s=[*ints, *ieee_floats])
def cast_of_choice(p: Bool, x: Value, y: Value, s: DTypeVar) -> Sides:
    """The same of what a mask chooses."""
    given(lossless(x.dtype, s))
    return where(p, x, y).cast(s), where(p, x.cast(s), y.cast(s))


@rule(dtypes=[index, *ints, *floats])
def fold_not_chosen(m: Monoid, r: Range["n"], n: Size, f: Body["r"], p: Bool, y: Value) -> Sides:
    """A reduction that a choice leaves out needs no iteration."""
    k = fresh(where(p, 0, n))
    return where(p, y, reduce_over(m, r, f(r))), where(p, y, reduce_over(m, k, f(k)))
