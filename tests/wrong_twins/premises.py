"""Wrong twins of ``impl/rules/premises.py``."""

from soundline.verify import *


@rule(dtypes=[float16])
def masked_sum_wrong(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    """Without its premise: 0 · ∞ is NaN."""
    j, k = fresh(n), fresh(n)
    zeros = sum_over(j, f(j) * 0)
    return sum_over(r, where(p(r), 1, 0) * f(r)), sum_over(k, where(p(k), f(k), -0.0)) + zeros


@rule(dtypes=[float16])
def masked_sum_of_cast_wrong(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    """The zeros that a mask leaves behind have signs: where all elements are negative, they are -0.0."""
    j, k = fresh(n), fresh(n)
    total = sum_over(r, p(r).cast(f(r).dtype) * f(r))
    chosen = sum_over(k, where(p(k), f(k), -0.0)) + 0.0
    return total, where(sum_over(j, f(j) * 0) == 0, chosen, total)


@rule(dtypes=[float16])
def sum_among_zeros_wrong(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    """No zero is added where there are some, and the sum of nothing but -0.0 is -0.0."""
    j, k = fresh(n), fresh(n)
    total = sum_over(k, where(p(k), f(k), -0.0))
    return sum_over(r, where(p(r), f(r), 0)), where(max_over(j, ~p(j)), total, total + 0.0)


@rule
def any_other_wrong(r: Range["n"], n: Size, e: Body["r", index], k: Value[index]):
    """They may be alike, and all of them another one."""
    given(n > 0)
    j = fresh(n)
    return max_over(r, e(r) != k), max_over(j, e(j) != e(0))


@rule(dtypes=[float32], s=[float16])
def cast_of_masked_wrong(p: Bool, x: Value, s: DTypeVar):
    """What does not fit becomes infinite, and 0 · ∞ is NaN."""
    return (p.cast(x.dtype) * x).cast(s), p.cast(s) * x.cast(s)


@rule(dtypes=[int8], s=[int16])
def cast_of_choice_wrong(p: Bool, x: Value, y: Value, s: DTypeVar):
    """Both ways are converted, and not one of them."""
    return where(p, x, y).cast(s), where(p, x.cast(s), -y.cast(s))


@rule(dtypes=[int8])
def fold_not_chosen_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"], p: Bool, y: Value):
    """No iteration where the reduction is chosen."""
    k = fresh(where(p, n, 0))
    return where(p, y, reduce_over(m, r, f(r))), where(p, y, reduce_over(m, k, f(k)))
