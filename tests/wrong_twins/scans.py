"""Wrong twins of ``impl/rules/tensors/scans.py``."""

import math

from soundline.verify import *


@rule(dtypes=[int8])
def fold_from_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """One iteration too few."""
    given(c >= 0, c < n)
    k = fresh(n - c - 1)
    return reduce_over(m, r, where(c <= r, f(r), identity(m))), reduce_over(m, k, f(k + c))


@rule(dtypes=[float16])
def sum_from_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """A sum of floats notices +0.0."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return sum_over(r, where(c <= r, f(r), 0)), sum_over(k, f(k + c))


@rule(dtypes=[float16])
def sum_from_among_zeros_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """There may be no zero."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return sum_over(r, where(c <= r, f(r), 0)), sum_over(k, f(k + c)) + 0.0


@rule(dtypes=[float16])
def product_from_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """The first element that is left in is lost."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return prod_over(r, where(c < r, f(r), 1)), prod_over(k, f(k + c))


@rule(dtypes=[float16])
def max_from_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """All elements may lie below 0."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return max_over(r, where(c <= r, f(r), 0)), max_over(k, f(k + c))


@rule(dtypes=[int8])
def fold_up_to_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """The gate lets one more through than the bound."""
    given(c > 0, c < n)
    k = fresh(c)
    return reduce_over(m, r, where(r <= c, f(r), identity(m))), reduce_over(m, k, f(k))


@rule(dtypes=[float16])
def sum_up_to_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """Where everything is left out, the left side is -0.0 and the right one +0.0."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c)
    return sum_over(r, where(r < c, f(r), -0.0)), sum_over(k, f(k))


@rule(dtypes=[float16])
def sum_up_to_among_zeros_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """Zeros are noticed."""
    given(c > 0, c <= n)
    k = fresh(c)
    return sum_over(r, where(r < c, f(r), 0)), sum_over(k, f(k))


@rule(dtypes=[float16])
def product_up_to_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """A mask that multiplies is no gate: it does not leave a factor out."""
    given(c > 0, c <= n)
    k = fresh(c)
    return prod_over(r, where(r < c, f(r), 0)), prod_over(k, f(k))


@rule(dtypes=[float16])
def max_up_to_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """A bound above the range reads what is not there."""
    given(c > 0)
    k = fresh(c)
    return max_over(r, where(r < c, f(r), -math.inf)), max_over(k, f(k))


@rule(dtypes=[int8])
def fold_from_or_none_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """The step that is not noticed takes the place of an element."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c)
    left = reduce_over(m, r, where(c <= r, f(r), identity(m)))
    return left, reduce_over(m, k, where(k > 0, f(k + c - 1), identity(m)))


@rule(dtypes=[float16])
def sum_from_or_none_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """A sum of floats notices +0.0: the sum of -0.0 alone."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    return sum_over(r, where(c <= r, f(r), -0.0)), sum_over(k, where(k > 0, f(k + c - 1), 0))


@rule(dtypes=[float16])
def sum_from_or_none_among_zeros_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """Where all fail the gate there are zeros."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    total = sum_over(k, where(k > 0, f(k + c - 1), -0.0))
    return sum_over(r, where(c <= r, f(r), 0)), where(c < n, total + 0.0, total)


@rule(dtypes=[float16])
def product_from_or_none_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """What is not noticed in a sum is noticed in a product."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    return prod_over(r, where(c <= r, f(r), 1)), prod_over(k, where(k > 0, f(k + c - 1), -0.0))


@rule(dtypes=[float16])
def max_from_or_none_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """Nothing is below -∞, but much is below 0."""
    given(c >= 0, c <= n, n > 0)
    k, least = fresh(n - c + 1), -math.inf
    return max_over(r, where(c <= r, f(r), least)), max_over(k, where(k > 0, f(k + c - 1), 0))


@rule(dtypes=[int8])
def fold_up_to_or_none_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """One step too few."""
    given(c > 0, c <= n)
    k = fresh(c)
    left = reduce_over(m, r, where(r < c, f(r), identity(m)))
    return left, reduce_over(m, k, where(k > 0, f(k - 1), identity(m)))


@rule(dtypes=[float16])
def sum_up_to_or_none_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """A sum of floats notices +0.0, and the step before all others is noticed."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    return sum_over(r, where(r < c, f(r), -0.0)), sum_over(k, where(k > 0, f(k - 1), 0))


@rule(dtypes=[float16])
def sum_up_to_or_none_among_zeros_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """There are zeros, and the sum of none is +0.0."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    return sum_over(r, where(r < c, f(r), 0)), sum_over(k, where(k > 0, f(k - 1), -0.0))


@rule(dtypes=[float16])
def product_up_to_or_none_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """What fails the gate is 1, and not 0."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    return prod_over(r, where(r < c, f(r), 1)), prod_over(k, where(k > 0, f(k - 1), 0))


@rule(dtypes=[float16])
def max_up_to_or_none_of_floats_wrong(r: Range["n"], n: Size, f: Body["r"], c: Value[index]):
    """The greatest of no elements is not 0."""
    given(c >= 0, c <= n, n > 0)
    k, least = fresh(c + 1), -math.inf
    return max_over(r, where(r < c, f(r), least)), max_over(k, where(k > 0, f(k - 1), 0))


@rule(dtypes=[float16])
def fold_without_last_wrong(m: Monoid, r: Range["n"], n: Size, f: Body["r"]):
    """The first iteration cannot be done last: the order of a sum of floats matters."""
    given(n > 1)
    k = fresh(n - 1)
    return reduce_over(m, r, f(r)), m(reduce_over(m, k, f(k + 1)), f(0))


@rule(dtypes=[int8])
def fold_of_one_iteration_wrong(m: Monoid, r: Range[2], f: Body["r"]):
    """Two iterations."""
    return reduce_over(m, r, f(r)), f(0)


@rule(dtypes=[bool_])
def any_gated_to_one_wrong(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Outside of the iterations nothing holds, and not everything."""
    given(n > 0)
    gate, near = (0 <= k) & (k < n), -maximum(-maximum(k, 0), 1 - n)
    return max_over(r, where(r == k, f(r), False)), where(gate, f(near), True)


@rule(dtypes=[index])
def nearest_of_inside_wrong(k: Value, c: Const):
    """One more than there are."""
    given(0 <= k, k <= 1 - c)
    return -maximum(-maximum(k, 0), c), k


@rule(dtypes=[int8])
def step_behind_gate_wrong(m: Monoid, p: Bool, x: Value, y: Value):
    """A step that is not done leaves what was there, and not what would have been added."""
    return m(x, where(p, y, identity(m))), where(p, m(x, y), y)


@rule(dtypes=[float16])
def sum_step_behind_gate_wrong(p: Bool, x: Value, y: Value):
    """A sum of floats notices +0.0."""
    return x + where(p, y, 0), where(p, x + y, x)


@rule(dtypes=[float16])
def max_step_behind_gate_wrong(p: Bool, x: Value, y: Value):
    """All may lie below 0."""
    return maximum(x, where(p, y, 0)), where(p, maximum(x, y), x)


@rule
def any_in_32_bits_wrong(r: Range["n"], n: Size, f: Body["r", bool_]):
    """The greatest of nothing is no 0."""
    return max_over(r, f(r)), max_over(r, f(r).cast(int32)) != 0


@rule
def any_in_64_bits_wrong(r: Range["n"], n: Size, f: Body["r", bool_]):
    """The greatest of nothing is no 0."""
    return max_over(r, f(r)), max_over(r, f(r).cast(int64)) != 0


@rule
def all_in_32_bits_wrong(r: Range["n"], n: Size, f: Body["r", bool_]):
    """Those that are true are counted."""
    return prod_over(r, f(r)), max_over(r, f(r).cast(int32)) > 0


@rule
def all_in_64_bits_wrong(r: Range["n"], n: Size, f: Body["r", bool_]):
    """The greatest of nothing is no 0."""
    return prod_over(r, f(r)), max_over(r, (~f(r)).cast(int64)) == 0


@rule(s=[int32])
def mask_as_choice_wrong(p: Bool, s: DTypeVar):
    """The other way round."""
    return p.cast(s), where(p, 0, 1)
