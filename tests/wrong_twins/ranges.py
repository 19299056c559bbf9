"""Wrong twins of ``impl/rules/tensors/ranges.py``."""

import math

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
def fold_gated_to_one_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """An index behind the last iteration is let in."""
    given(n > 0)
    gate, near = (0 <= k) & (k <= n), -maximum(-maximum(k, 0), 1 - n)
    return reduce_over(m, r, where(r == k, f(r), identity(m))), where(gate, f(near), identity(m))


@rule(dtypes=[float16])
def sum_gated_to_one_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """A mask that multiplies: 0 · ∞ is not 0."""
    given(n > 0)
    gate, near = (0 <= k) & (k < n), -maximum(-maximum(k, 0), 1 - n)
    return sum_over(r, where(r == k, 1, 0) * f(r)), where(gate, f(near), 0)


@rule(dtypes=[float16])
def sum_of_one_among_zeros_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Where there is one iteration, there may be no zero."""
    given(n > 0)
    gate, near = (0 <= k) & (k < n), -maximum(-maximum(k, 0), 1 - n)
    return sum_over(r, where(r == k, f(r), 0)), where(gate, f(near) + 0.0, 0)


@rule(dtypes=[float16])
def max_gated_to_one_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Without the gate the nearest iteration is read."""
    given(n > 0)
    near = -maximum(-maximum(k, 0), 1 - n)
    return max_over(r, where(r == k, f(r), -math.inf)), f(near)


@rule(dtypes=[float16])
def sum_gated_to_one_float_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Without the licences."""
    given(n > 0)
    gate, near = (0 <= k) & (k < n), -maximum(-maximum(k, 0), 1 - n)
    return sum_over(r, where(r == k, f(r), 0)), where(gate, f(near), 0)


@rule(dtypes=[bool_])
def any_at_one_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """What is read at the index alone."""
    given(n > 0)
    return max_over(r, (r == k) & f(r)), f(-maximum(-maximum(k, 0), 1 - n))


@rule(dtypes=[bool_])
def any_is_wrong(r: Range["n"], n: Size, k: Value[index]):
    """The size is in no iteration."""
    return max_over(r, r == k), (0 <= k) & (k <= n)


@rule(dtypes=[index])
def sum_below_wrong(r: Range["n"], n: Size, k: Value[index], x: Value):
    """A bound below zero."""
    return sum_over(r, where(r < k, x, 0)), x * where(k < n, k, n)


@rule(dtypes=[int8])
def sum_not_below_wrong(r: Range["n"], n: Size, k: Value[index], x: Value):
    """A bound below zero."""
    return sum_over(r, where(k <= r, x, 0)), x * maximum(n - k, 0).cast(x.dtype)


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
