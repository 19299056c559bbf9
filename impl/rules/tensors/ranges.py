# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
# mypy: disable-error-code="name-defined,type-arg,valid-type"
"""
Reductions over ranges
=================

What a loop computes that need not be a loop: sums of what does not depend on the range, of what is gated to one
iteration, and loops in other orders. The source's compositions write one-hot products and counts in this way; here
they become loads and arithmetic again.
"""

from soundline.spec.dtypes import bool_, floats, index, ints
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Sides, given, identity, maximum, rule, where
from soundline.spec.rules.ranges import Body, Range, max_over, reduce_over, sum_over
from soundline.spec.rules.terms import Monoid, Size, Value

whole = (index, *ints)


def nearest(k: Value, n: Value) -> Value:
    """The iteration that is nearest to an index: what stands behind a gate is read within its bounds all the same."""
    before: Value = maximum(-maximum(k, 0), 1 - n)
    return -before


@rule
def sum_of_one_iteration(r: Range[1], f: Body["r"]) -> Sides:
    """A loop that runs once."""
    return sum_over(r, f(r)), f(0)


@rule
def max_of_one_iteration(r: Range[1], f: Body["r"]) -> Sides:
    """A loop that runs once."""
    return max_over(r, f(r)), f(0)


@rule(dtypes=whole)
def sum_of_same(r: Range["n"], n: Size, x: Value) -> Sides:
    """The same summand in every iteration."""
    return sum_over(r, x), x * n.cast(x.dtype)


@rule
def max_of_same(r: Range["n"], n: Size, x: Value) -> Sides:
    """The same value in every iteration, if there is one."""
    given(n > 0)
    return max_over(r, x), x


@rule(dtypes=whole)
def fold_gated_to_one(m: Monoid, r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """A one-hot reduction is a load, behind a gate for an index that is in no iteration."""
    given(n > 0)
    gate = (k >= 0) & (k < n)
    return reduce_over(m, r, where(r == k, f(r), identity(m))), where(gate, f(nearest(k, n)), identity(m))


@rule(dtypes=floats)
def sum_gated_to_one(r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """The same for floats, bit for bit, where what is left out is -0.0."""
    given(n > 0)
    gate = (k >= 0) & (k < n)
    return sum_over(r, where(r == k, f(r), -0.0)), where(gate, f(nearest(k, n)), -0.0)


@rule(dtypes=floats)
def max_gated_to_one(r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """The same for the greatest float."""
    given(n > 0)
    gate, least = (k >= 0) & (k < n), identity(Op.Max)
    return max_over(r, where(r == k, f(r), least)), where(gate, f(nearest(k, n)), least)


@rule(dtypes=floats, licences="no_signed_zero")
def sum_gated_to_one_float(r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """The same where what is left out is 0.0, up to the sign of zero: 0.0 is added to what is loaded."""
    given(n > 0)
    gate = (k >= 0) & (k < n)
    return sum_over(r, where(r == k, f(r), 0)), where(gate, f(nearest(k, n)), 0)


@rule(dtypes=floats)
def sum_of_one_among_zeros(r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """Where what is left out is 0.0, there is some of it, and it is added to what is loaded."""
    given(n > 1)
    gate = (k >= 0) & (k < n)
    return sum_over(r, where(r == k, f(r), 0)), where(gate, f(nearest(k, n)) + 0.0, 0)


@rule(dtypes=[bool_])
def any_at_one(r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """Whether something holds in one iteration."""
    given(n > 0)
    return max_over(r, (r == k) & f(r)), (k >= 0) & (k < n) & f(nearest(k, n))


@rule(dtypes=[bool_])
def any_is(r: Range["n"], n: Size, k: Value[index]) -> Sides:
    """Whether an index is in some iteration."""
    return max_over(r, r == k), (k >= 0) & (k < n)


@rule(dtypes=whole)
def sum_below(r: Range["n"], n: Size, k: Value[index], x: Value) -> Sides:
    """The same summand in every iteration before k; of ones, an arange that was written as a sum."""
    return sum_over(r, where(r < k, x, 0)), x * maximum(where(k < n, k, n), 0).cast(x.dtype)


@rule(dtypes=whole)
def sum_not_below(r: Range["n"], n: Size, k: Value[index], x: Value) -> Sides:
    """The same summand in every iteration from k on, as a prefix sum of ones has it."""
    return sum_over(r, where(k <= r, x, 0)), x * maximum(n - maximum(k, 0), 0).cast(x.dtype)


@rule(dtypes=[index])
def max_of_range(r: Range["n"], n: Size) -> Sides:
    """The last iteration; where there is none, the greatest of no indices has no value."""
    return max_over(r, r), n - 1


@rule(dtypes=whole)
def sum_of_scaled_body(r: Range["n"], n: Size, f: Body["r"], c: Value) -> Sides:
    """A factor that every iteration has."""
    return sum_over(r, f(r) * c), sum_over(r, f(r)) * c


@rule(dtypes=whole)
def sum_of_negated_body(r: Range["n"], n: Size, f: Body["r"]) -> Sides:
    """One negation in place of many."""
    return sum_over(r, -f(r)), -sum_over(r, f(r))


@rule(dtypes=whole)
def sums_over_one_range(r: Range["n"], n: Size, f: Body["r"], g: Body["r"]) -> Sides:
    """Two loops over one range are one."""
    return sum_over(r, f(r)) + sum_over(r, g(r)), sum_over(r, f(r) + g(r))


@rule
def maxima_over_one_range(r: Range["n"], n: Size, f: Body["r"], g: Body["r"]) -> Sides:
    """Two loops over one range are one."""
    return maximum(max_over(r, f(r)), max_over(r, g(r))), max_over(r, maximum(f(r), g(r)))


@rule(dtypes=[index])
def max_of_shifted_body(r: Range["n"], n: Size, f: Body["r"], c: Value) -> Sides:
    """What is added in every iteration is added to the greatest."""
    return max_over(r, f(r) + c), max_over(r, f(r)) + c
