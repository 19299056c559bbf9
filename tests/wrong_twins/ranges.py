"""Wrong twins of ``impl/rules/ranges.py``."""

from soundline.verify import *


@rule(dtypes=[index])
def sum_of_same_wrong(r: Range["n"], n: Size, x: Value):
    """One iteration too few."""
    return sum_over(r, x), (n - 1) * x


@rule(dtypes=[int8])
def max_of_same_wrong(r: Range["n"], n: Size, x: Value):
    """There may be none."""
    return max_over(r, x), x


@rule(dtypes=[int8])
def sum_gated_to_one_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """An index that is in no iteration."""
    given(k >= 0)
    return sum_over(r, where(r == k, f(r), 0)), f(k)


@rule(dtypes=[float16])
def sum_gated_to_one_float_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Without the licences."""
    return sum_over(r, where(r == k, f(r), 0)), where((k >= 0) & (k < n), f(k), 0)


@rule(dtypes=[index])
def count_below_wrong(r: Range["n"], n: Size, k: Value[index]):
    """A bound below zero."""
    return sum_over(r, where(r < k, 1, 0)), where(k < n, k, n)


@rule(dtypes=[index])
def max_of_range_wrong(r: Range["n"], n: Size):
    """The size is in no iteration."""
    return max_over(r, r), n


@rule(dtypes=[int8])
def sum_of_one_iteration_wrong(r: Range[2], f: Body["r"]):
    """Two iterations."""
    return sum_over(r, f(r)), f(0)


@rule(dtypes=[int8])
def max_of_one_iteration_wrong(r: Range[2], f: Body["r"]):
    """Two iterations."""
    return max_over(r, f(r)), f(0)


@rule(dtypes=[float16])
def sum_of_scaled_body_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value):
    """Floats round."""
    return sum_over(r, f(r) * c), sum_over(r, f(r)) * c


@rule(dtypes=[int8])
def sum_of_negated_body_wrong(r: Range["n"], n: Size, f: Body["r"]):
    """A greatest element is no sum."""
    return max_over(r, -f(r)), -max_over(r, f(r))


@rule(dtypes=[int8])
def sums_over_one_range_wrong(r: Range["n"], n: Size, f: Body["r"], g: Body["r"]):
    """A product of sums is no sum of products."""
    return sum_over(r, f(r)) * sum_over(r, g(r)), sum_over(r, f(r) * g(r))


@rule(dtypes=[int8])
def maxima_over_one_range_wrong(r: Range["n"], n: Size, f: Body["r"], g: Body["r"]):
    """The sum of the greatest is not the greatest sum."""
    return max_over(r, f(r)) + max_over(r, g(r)), max_over(r, f(r) + g(r))


@rule(dtypes=[int8])
def max_of_shifted_body_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value):
    """A fixed width has a greatest of nothing, and wraps."""
    return max_over(r, f(r) + c), max_over(r, f(r)) + c
