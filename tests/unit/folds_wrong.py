"""
Rules about reductions that are wrong
================================

Most are a rule of `folds_right` without its condition, at a dtype where it does not hold, or with one thing exchanged.
Each must be refuted.
"""

# ruff: noqa: F821, E741  (the strings in brackets name sizes and ranges)

from soundline.verify import (
    Axes,
    Body,
    Bool,
    Const,
    DTypeVar,
    Flags,
    Monoid,
    Offset,
    Perm,
    Range,
    Shape,
    Size,
    Tensor,
    Value,
    bool_,
    claim,
    disjoint,
    float8_e4m3fn,
    float16,
    float32,
    fresh,
    given,
    index,
    int8,
    int16,
    int32,
    int64,
    max_over,
    maximum,
    prod_over,
    reduce_over,
    rule,
    sum_over,
    where,
)


def times(a, b, m, k, n):
    """The product of two matrices of these sizes."""
    products = a.reshape((m, k, 1)).expand((m, k, n)) * b.reshape((1, k, n)).expand((m, k, n))
    return products.sum((1,)).reshape((m, n))


@rule(dtypes=[int32])
def sum_of_sum(x: Tensor, a: Axes, b: Axes):
    given(disjoint(a, b))
    return x.sum(a).sum(b), x.sum(a)


@rule(dtypes=[float32])
def flip_sum_float(x: Tensor, a: Axes, f: Flags):
    return x.flip(f).sum(a), x.sum(a).flip(f)


@rule(dtypes=[float32])
def permute_sum_float(x: Tensor, a: Axes, p: Perm):
    return x.sum(a).permute(p), x.permute(p).sum(a.permute(p))


@rule(dtypes=[int32])
def permute_sum_wrong(x: Tensor, a: Axes, p: Perm):
    return x.sum(a).permute(p), x.permute(p).sum(a)


@rule(dtypes=[int32])
def split_sum(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((m * n,)).sum((0,)), x.sum((0,)).sum((0,)).reshape((n,))


@rule(dtypes=[int32])
def split_sum2(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((n, m)).sum((0,)), x.permute((1, 0)).sum((0,))


@rule(dtypes=[float32])
def linear_float(x: Tensor, y: Tensor, a: Axes):
    return (x + y).sum(a), x.sum(a) + y.sum(a)


@rule(dtypes=[float32])
def factor_float(x: Tensor, c: Value, a: Axes):
    return (x * c).sum(a), x.sum(a) * c


@rule(dtypes=[int32])
def factor_add(x: Tensor, c: Value, a: Axes):
    return (x + c).sum(a), x.sum(a) + c


@rule(dtypes=[float32])
def sum_pad_float(n: Size, m: Size, o: Size, x: Tensor["n"]):
    return x.pad((o,), (m,)).sum((0,)), x.sum((0,))


@rule(dtypes=[int32])
def max_pad(n: Size, m: Size, o: Size, x: Tensor["n"]):
    return x.pad((o,), (m,)).max((0,)), x.max((0,))


@rule(dtypes=[int32])
def prod_pad(n: Size, m: Size, o: Size, x: Tensor["n"]):
    return x.pad((o,), (m,)).prod((0,)), x.prod((0,))


@rule(dtypes=[int32])
def exp_pad(n: Size, m: Size, o: Size, x: Tensor["n"]):
    return (x.pad((o,), (m,)) + 1).sum((0,)), (x + 1).sum((0,))


@rule(dtypes=[int32])
def sum_split(n: Size, k: Size, x: Tensor["n"]):
    given(k <= n)
    return x.shrink((0,), (k,)).sum((0,)) + x.shrink((k,), (n - k,)).sum((0,)) + 1, x.sum((0,))


@rule(dtypes=[int32])
def sum_expand(n: Size, x: Tensor[1]):
    return x.expand((n,)).sum((0,)), x


@rule
def max_expand(n: Size, x: Tensor[1]):
    return x.expand((n,)).max((0,)), x


@rule(dtypes=[int8])
def max_plus8(x: Tensor, c: Value, a: Axes):
    return (x + c).max(a), x.max(a) + c


@rule(dtypes=[int8])
def max_neg(x: Tensor, a: Axes):
    return (-x).max(a), -(x.max(a))


@rule(dtypes=[int8])
def max_mul(x: Tensor, c: Value, a: Axes):
    return (x * c).max(a), x.max(a) * c


@rule(dtypes=[bool_])
def any_and(x: Tensor, y: Tensor, a: Axes):
    return (x & y).max(a), x.max(a) & y.max(a)


@rule(dtypes=[bool_])
def any_all(x: Tensor, a: Axes):
    return ~(x.max(a)), (~x).max(a)


@rule(dtypes=[int32])
def sum_mul(x: Tensor, y: Tensor, a: Axes):
    return (x * y).sum(a), x.sum(a) * y.sum(a)


@rule(dtypes=[int32])
def sum_shrink(x: Tensor, a: Axes, o: Offset, s: Shape):
    return x.shrink(o, s).sum(a), x.sum(a).shrink(o, s)


@rule
def two(x: Tensor[2, "n"]):
    return x.max((0,)), x.shrink((0, 0), (1, x.shape[1]))


@rule(dtypes=[int32])
def one_hot(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0)
    return sum_over(r, where(r == k, f(r), 0)), f(k)


@rule(dtypes=[float32])
def one_hot_float(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, f(r), 0.0)), f(k)


@rule(dtypes=[float32])
def one_hot_times(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, 1.0, 0.0) * f(r)), f(k)


@rule(dtypes=[int32])
def one_hot_shift(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k + 1, f(r), 0)), f(k)


@rule(dtypes=[int32])
def one_hot_gated(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    return sum_over(r, where(r == k, f(r), 0)), where((k >= 0) & (k <= n), f(k), 0)


@rule(dtypes=[float32])
def exchange_float(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    return sum_over(i, sum_over(j, f(i, j))), sum_over(j, sum_over(i, f(i, j)))


@rule(dtypes=[int32])
def exchange_mixed(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    return sum_over(i, max_over(j, f(i, j))), max_over(j, sum_over(i, f(i, j)))


@rule(dtypes=[int32])
def linear(n: Size, r: Range["n"], f: Body["r"], g: Body["r"]):
    return sum_over(r, f(r) * g(r)), sum_over(r, f(r)) * sum_over(r, g(r))


@rule(dtypes=[float32])
def factor_float_of_ranges(n: Size, r: Range["n"], f: Body["r"], c: Value):
    return sum_over(r, c * f(r)), c * sum_over(r, f(r))


@rule(dtypes=[int32])
def constant(n: Size, r: Range["n"], c: Value):
    return sum_over(r, c), c


@rule(dtypes=[int32])
def count_below(n: Size, r: Range["n"], k: Value[index], c: Value):
    given(k <= n)
    return sum_over(r, where(r < k, c, 0)), c * k.cast(int32)


@rule(dtypes=[int32])
def count_below_top(n: Size, r: Range["n"], k: Value[index], c: Value):
    given(k >= 0)
    return sum_over(r, where(r < k, c, 0)), c * k.cast(int32)


@rule(dtypes=[int32])
def count_le(n: Size, r: Range["n"], k: Value[index], c: Value):
    given(k >= 0, k < n)
    return sum_over(r, where(r <= k, c, 0)), c * k.cast(int32)


@rule(dtypes=[index])
def arange_sum(n: Size, r: Range["n"]):
    return sum_over(r, r) * 2, n * (n + 1)


@rule(dtypes=[index])
def arange_sum_half(n: Size, r: Range["n"]):
    return sum_over(r, r), (n * n) // 2


@rule(dtypes=[int32])
def reverse(n: Size, r: Range["n"], f: Body["r"]):
    return sum_over(r, where(n - r < n, f(n - r), 0)), sum_over(r, f(r))


@rule(dtypes=[float32])
def reverse_float(n: Size, r: Range["n"], f: Body["r"]):
    return sum_over(r, f(n - 1 - r)), sum_over(r, f(r))


@rule(dtypes=[int32])
def merge(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    given(n > 0)
    t = fresh(m * n)
    return sum_over((i, j), f(i, j)), sum_over(t, f(t // n, t // n))


@rule(dtypes=[index])
def max_range(n: Size, r: Range["n"]):
    return max_over(r, r), n


@rule(dtypes=[int32])
def where_out(n: Size, r: Range["n"], f: Body["r"], p: Bool):
    return sum_over(r, where(p, f(r), 1)), where(p, sum_over(r, f(r)), 1)


@rule(dtypes=[int32])
def split_by_where(n: Size, r: Range["n"], f: Body["r"], p: Body["r", bool_]):
    return sum_over(r, where(p(r), f(r), 0)) + sum_over(r, where(p(r), f(r), 0)), sum_over(r, f(r))


@rule(dtypes=[bool_])
def any_equal(n: Size, r: Range["n"], k: Value[index]):
    return max_over(r, r == k), (k >= 0)


@rule(dtypes=[int32])
def prod_split(n: Size, r: Range["n"], f: Body["r"], g: Body["r"]):
    return prod_over(r, f(r) + g(r)), prod_over(r, f(r)) + prod_over(r, g(r))


@rule(dtypes=[int32])
def monoid(n: Size, m: Monoid, r: Range["n"], f: Body["r"], c: Value):
    return reduce_over(m, r, m(f(r), c)), m(reduce_over(m, r, f(r)), c)


@rule(dtypes=[int32])
def gate_monoid(n: Size, m: Monoid, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return reduce_over(m, r, where(r == k, f(r), 0)), f(k)


@rule(dtypes=[int32])
def guard_split(n: Size, k: Size, r: Range["n"], f: Body["r"]):
    given(k < n)
    s, t = fresh(k), fresh(n - k - 1)
    return sum_over(r, f(r)), sum_over(s, f(s)) + sum_over(t, f(t + k))


@rule(dtypes=[int32])
def tile_pad(n: Size, c: Size, r: Range["n"], f: Body["r"]):
    given(c > 0)
    o, i = fresh(n // c), fresh(c)
    return sum_over(r, f(r)), sum_over((o, i), where(o * c + i < n, f(o * c + i), 0))


@rule(dtypes=[float32])
def tile_pad_float(n: Size, c: Size, r: Range["n"], f: Body["r"]):
    given(c > 0, n > 0)
    o, i = fresh((n + c - 1) // c), fresh(c)
    return sum_over(r, f(r)), sum_over((o, i), where(o * c + i < n, f(o * c + i), 0.0))


@rule(dtypes=[int64], s=[int32])
def cast_sum(n: Size, r: Range["n"], f: Body["r", "s"], s: DTypeVar):
    return sum_over(r, f(r)).cast(int64), sum_over(r, f(r).cast(int64))


@rule(dtypes=[int32])
def triangular(n: Size, i: Range["n"], j: Range["n"], f: Body["i"]):
    return sum_over(i, sum_over(j, where(j <= i, f(i), 0))), sum_over(i, f(i) * i.cast(int32))


@rule(dtypes=[int32])
def max_gate_zero(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return max_over(r, where(r == k, f(r), 0)), f(k)


@rule(dtypes=[int32])
def load_out(x: Tensor["n"], n: Size, r: Range["n"], k: Value[index]):
    return sum_over(r, where(r == k, x.index(r), 0)), x.index(k)


@rule(dtypes=[int32])
def folded_outside(x: Tensor["n"], n: Size, k: Value[index]):
    given(n > 0)
    s = fresh(n + 1)
    return where(k < 0, 0, x.sum((0,)).reshape(())), where(
        k < 0, sum_over(s, x.index(s)) * 0, x.sum((0,)).reshape(())
    )


@rule(dtypes=[int32])
def max_of_more(x: Tensor["n"], n: Size, r: Range["n"]):
    s = fresh(n + 1)
    return max_over(r, x.index(r)), max_over(s, x.index(s))


@rule(dtypes=[int32])
def max_takes_invalid(x: Tensor["n"], n: Size, r: Range["n"]):
    given(n > 0)
    s = fresh(n)
    return max_over(r, x.index(r)), max_over(
        s, maximum(x.index(s), where(s == 0, x.index(s - 1), x.index(s)))
    )


@rule(dtypes=[int32])
def zero_times_invalid(x: Tensor["n"], n: Size, r: Range["n"]):
    s = fresh(n)
    return sum_over(r, x.index(r)), sum_over(s, x.index(s) + 0 * x.index(s + 1))


@rule(dtypes=[int32])
def difference_of_invalid(x: Tensor["n"], n: Size, r: Range["n"]):
    s = fresh(n)
    return sum_over(r, x.index(r)), sum_over(s, x.index(s) + x.index(s + 1) - x.index(s + 1))


@rule(dtypes=[bool_])
def any_of_invalid(x: Tensor["n"], n: Size, r: Range["n"]):
    s = fresh(n)
    return max_over(r, x.index(r)), max_over(s, x.index(s) | (x.index(s) & x.index(s + 1)))


@rule(dtypes=[int8])
def empty_max_is_zero(x: Tensor[0]):
    return x.max((0,)), x.sum((0,))


@rule(dtypes=[int8])
def empty_prod_is_zero(x: Tensor[0]):
    return x.prod((0,)), x.sum((0,))


@rule(dtypes=[int8])
def cast_max_empty(x: Tensor["n"], n: Size):
    return x.cast(int16).max((0,)), x.max((0,)).cast(int16)


@rule(dtypes=[float32])
def neg_zero_pad(n: Size, m: Size, r: Range["m"], f: Body["r"]):
    given(n <= m)
    s = fresh(n)
    return sum_over(r, where(r < n, f(r), -0.0)), sum_over(s, f(s))


@rule(dtypes=[float32], licences="reassociate")
def sum_and_zero(x: Tensor["n"], n: Size):
    return x.sum((0,)) + 0.0, x.sum((0,))


@rule(dtypes=[float32], licences="reassociate")
def neutral_pad_of_nothing(n: Size, m: Size, r: Range["m"], f: Body["r"]):
    given(n <= m)
    s = fresh(n)
    return sum_over(r, where(r < n, f(r), -0.0)), sum_over(s, f(s))


@rule(dtypes=[float32], licences="reassociate")
def sum_of_padded(n: Size, m: Size, x: Tensor["n"]):
    given(n <= m)
    return x.pad((0,), (m,)).sum((0,)), x.sum((0,))


@rule(dtypes=[float32], licences="reassociate")
def sum_of_nothing_is_no_neutral_element(x: Tensor["n"], y: Tensor["m"], n: Size, m: Size):
    return x.sum((0,)) + y.sum((0,)).exp2() * -0.0, y.sum((0,)).exp2() * -0.0 + x.sum((0,)) + x.sum(
        (0,)
    ) * 0.0


@rule(dtypes=[float32], licences="reassociate")
def last_of_some_or_none(x: Tensor["n"], n: Size):
    return x.sum((0,)), x.pad((0,), (n + 1,)).sum((0,))


@rule(dtypes=[float32], licences="contract")
def contract_does_not_reorder(x: Tensor["m", "n"], m: Size, n: Size):
    return x.sum((0,)).sum((1,)), x.sum((0, 1))


@rule(dtypes=[float32], licences="reassociate")
def div_out(x: Tensor["n"], c: Value, n: Size):
    return (x / c).sum((0,)), x.sum((0,)) / c


@rule(dtypes=[float32], licences="reassociate")
def affine_of_maybe_none(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(c > 0)
    return max_over(r, f(r) / c - 1), max_over(r, f(r)) / c - 1


@rule(dtypes=[float32], licences="reassociate")
def exp_max(x: Tensor["n"], n: Size):
    return x.sum((0,)).exp2(), x.exp2().sum((0,))


@rule(dtypes=[int32])
def sum_cover_twice(n: Size, k: Size, r: Range["n"], f: Body["r"]):
    given(k < n)
    s, t = fresh(k + 1), fresh(n - k)
    return sum_over(r, f(r)), sum_over(s, f(s)) + sum_over(t, f(t + k))


@rule(dtypes=[int32])
def permuted_digits(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((n, m)).sum((1,)).reshape((n,)), x.sum((0,)).reshape((n,))


@rule(dtypes=[int32])
def split_by_other(m: Size, n: Size, k: Size, x: Tensor["m", "n", "k"]):
    return x.reshape((m * n, k)).sum((0,)).reshape((k,)), x.permute((1, 2, 0)).reshape((n * k, m)).sum(
        (0,)
    ).reshape((m,))


@rule(dtypes=[int32])
def matmul_untransposed(m: Size, k: Size, x: Tensor["m", "k"], y: Tensor["k", "m"]):
    return times(x, y, m, k, m), times(x, y, m, k, m).permute((1, 0))


@rule(dtypes=[float32])
def matmul_assoc_float(
    m: Size, n: Size, k: Size, l: Size, x: Tensor["m", "k"], y: Tensor["k", "l"], z: Tensor["l", "n"]
):
    return times(times(x, y, m, k, l), z, m, l, n), times(x, times(y, z, k, l, n), m, k, n)


@rule(dtypes=[bool_])
def all_is_any(x: Tensor["n"], n: Size):
    given(n > 0)
    return x.max((0,)), x.prod((0,))


@rule(dtypes=[int32])
def prod_of_sum(x: Tensor["m", "n"], m: Size, n: Size):
    return x.sum((0,)).prod((1,)), x.prod((1,)).sum((0,))


@rule(dtypes=[int8])
def wraps(x: Tensor["n"], n: Size):
    return x.cast(int32).sum((0,)).cast(int16), x.sum((0,)).cast(int16)


@rule(dtypes=[int32])
def mean_like(x: Tensor["n"], n: Size, c: Const):
    given(c != 0)
    return x.sum((0,)) // c, (x // c).sum((0,))


@rule(dtypes=[index, int8])
def max_of_padded(n: Size, m: Size, x: Tensor["n"]):
    given(n > 0, n <= m)
    return x.max((0,)), x.pad((0,), (m,)).max((0,))


@rule(dtypes=[float32])
def rows_then_columns(x: Tensor["m", "n"], m: Size, n: Size):
    return x.sum((1,)).sum((0,)), x.sum((0, 1))


@rule(dtypes=[float32])
def columns_first(x: Tensor["m", "n"], m: Size, n: Size):
    return x.sum((0, 1)), x.permute((1, 0)).sum((0, 1))


@rule(dtypes=[int32])
def sum_and_max_exchanged(x: Tensor["m", "n"], m: Size, n: Size):
    return x.sum((0,)).max((1,)), x.max((1,)).sum((0,))


@rule(dtypes=[float32], licences="reassociate")
def clamp_of_maybe_none(n: Size, r: Range["n"], f: Body["r"], c: Value):
    return maximum(max_over(r, f(r)), c), max_over(r, maximum(f(r), c))


@rule(dtypes=[float32], licences="reassociate")
def nothing_of_maybe_none(n: Size, r: Range["n"], f: Body["r"]):
    return max_over(r, f(r) * 0), max_over(r, f(r)) * 0


@rule(dtypes=[float32], licences="reassociate")
def power_of_maybe_none(x: Tensor["n"], n: Size):
    return x.max((0,)).exp2(), x.exp2().max((0,))


@rule(dtypes=[index, int8])
def first_apart_of_maybe_none(n: Size, r: Range["n"], f: Body["r"]):
    given(n > 0)
    s = fresh(n - 1)
    return sum_over(r, f(r)), f(0) + sum_over(s, f(s))


@rule(dtypes=[index, int8])
def telescope_by_two(n: Size, m: Size, r: Range["n"], q: Range["m"], f: Body["q"]):
    given(m == n + 2)
    return sum_over(r, f(r + 2) - f(r)), f(n + 1) - f(0)


@rule(dtypes=[index, int8])
def even_twice(n: Size, r: Range["n"], f: Body["r"]):
    i, j = fresh((n + 1) // 2), fresh(n // 2)
    return sum_over(r, f(r)), sum_over(i, f(i * 2)) + sum_over(j, f(j * 2))


@rule(dtypes=[index, int8])
def every_fourth_but_the_last(n: Size, r: Range["n"], f: Body["r"]):
    s = fresh(n // 4)
    return sum_over(r, where(r % 4 == 0, f(r), 0)), sum_over(s, f(s * 4))


@rule(dtypes=[index, int8])
def half_of_odd(n: Size, r: Range["n"], f: Body["r"], i: Value[index]):
    given(i >= 0, i < 2 * n)
    return sum_over(r, where(r * 2 == i, f(r), 0)), f(i // 2)


@rule(dtypes=[index])
def another_element(x: Tensor["n"], n: Size, i: Value[index], j: Value[index]):
    given(i >= 0, i <= j, j < n)
    return x.index(i) // 3, x.index(j) // 3


@rule(dtypes=[index, int8])
def tiles_counted_twice(n: Size, r: Range["n"], f: Body["r"]):
    given(n % 6 == 0)
    o, i, j = fresh(n // 6), fresh(2), fresh(4)
    at = o * 6 + i * 4 + j
    return sum_over(r, f(r)), sum_over((o, i, j), where(at < n, f(at), 0))


@rule(dtypes=[float32])
def tiles_of_floats(n: Size, r: Range["n"], f: Body["r"]):
    given(n % 8 == 0)
    i, j = fresh(n // 8), fresh(8)
    return sum_over(r, f(r)), sum_over(i, sum_over(j, f(i * 8 + j)))


@rule(dtypes=[float32])
def scaled_by_infinity(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(n > 0, c > 0)
    return max_over(r, f(r) * c), max_over(r, f(r)) * c


@rule(dtypes=[float32])
def shifted_by_infinity(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(n > 0)
    return max_over(r, f(r) + c), max_over(r, f(r)) + c


@rule
def count_that_wraps(n: Size, r: Range["n"], b: Body["r", bool_]):
    return sum_over(r, b(r).cast(int8)) != 0, max_over(r, b(r))


@rule(dtypes=[float32])
def cast_of_nan(x: Tensor["n"], n: Size):
    given(n > 0)
    return x.max(0).cast(int32), x.cast(int32).max(0)


@rule(dtypes=[int8])
def product_that_wraps_to_zero(x: Tensor["n"], n: Size):
    return x.cast(bool_).prod(0), x.prod(0).cast(bool_)


@rule(dtypes=[float32])
def rows_of_products(r: Range["m"], s: Range["n"], f: Body["r", "s"]):
    return prod_over((r, s), f(r, s)), prod_over(r, prod_over(s, f(r, s)))


@rule(dtypes=[int8])
def gauss_that_wraps(n: Size, r: Range["n"]):
    return sum_over(r, r.cast(int8)), n.cast(int8) * (n - 1).cast(int8) // 2


@rule(dtypes=[float32])
def last_of_one_apart(n: Size, r: Range["n"], f: Body["r"]):
    given(n > 0)
    s = fresh(n - 1)
    return sum_over(r, f(r)), sum_over(s, f(s)) + f(n - 1)


@rule(dtypes=[float32])
def sum_of_ones(n: Size, r: Range["n"], f: Body["r"], c: Bool):
    return sum_over(r, where(c, f(r), 1)), where(c, sum_over(r, f(r)), 1)


@rule(dtypes=[float32])
def product_of_zeros_or_none(n: Size, r: Range["n"], f: Body["r"], c: Bool):
    return prod_over(r, where(c, f(r), 0)), where(c, prod_over(r, f(r)), 0)


@rule(dtypes=[index])
def quotient_of_max_by_any(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(n > 0)
    return max_over(r, f(r) // c), max_over(r, f(r)) // c


@rule(dtypes=[index])
def max_of_chosen_and_more(n: Size, r: Range["n"], f: Body["r"], b: Body["r", bool_]):
    return max_over(r, where(b(r), f(r), 0) + 5), max_over(r, where(b(r), f(r), 0))


@rule(dtypes=[index])
def max_of_chosen_twice(n: Size, r: Range["n"], f: Body["r"], p: Bool):
    return max_over(r, where(p, f(r), 0) * 2), max_over(r, where(p, f(r), 0))


@rule(dtypes=[index])
def max_of_maybe_invalid_and_more(x: Tensor["n"], n: Size, r: Range["n"], k: Value[index]):
    return max_over(r, x.index(k) + 5), max_over(r, x.index(k))


@rule(dtypes=[int32])
def rounded_max_of_maybe_none(x: Tensor["n"], n: Size):
    return x.cast(float32).max(0), x.max(0).cast(float32)


@rule(dtypes=[int32])
def rounded_to_nan(x: Tensor["n"], n: Size):
    given(n > 0)
    return x.cast(float8_e4m3fn).max(0), x.max(0).cast(float8_e4m3fn)


@rule(dtypes=[index, int8, float16])
def product_of_zeros_is_zero(n: Size, r: Range["n"], f: Body["r"], c: Bool):
    return prod_over(r, where(c, f(r), 0)), where(c, prod_over(r, f(r)), 0)


@rule(dtypes=[int8])
def folds_of_no_padding(o: Monoid, a: Size, s: Size, m: Size, n: Size, x: Tensor["m", "n"]):
    return x.pad((a, 0), (s, n)).reduce(o, 1), x.reduce(o, 1).pad((a, 0), (s, 1))


@rule(dtypes=[int8])
def product_of_minus_ones(n: Size, r: Range["n"], f: Body["r"], c: Bool):
    return prod_over(r, where(c, f(r), -1)), where(c, prod_over(r, f(r)), -1)


@rule(dtypes=[index])
def count_below_all(n: Size, r: Range["n"], b: Body["r", bool_]):
    given(n > 0)
    return claim(sum_over(r, where(b(r), 1, 0)) < n)


@rule(dtypes=[index])
def signs_add_up(n: Size, r: Range["n"], b: Body["r", bool_]):
    return claim(sum_over(r, where(b(r), 1, -1)) >= 0)


@rule(dtypes=[index])
def remainders_by_zero(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(c >= 0)
    return claim(sum_over(r, f(r) % c) <= n * (c - 1))


@rule(dtypes=[index])
def indices_below_their_end(n: Size, r: Range["n"]):
    given(n > 0)
    return claim(sum_over(r, r) < n)


@rule(dtypes=[float16], licences="no_signed_zero")
def reciprocal_of_sum_of_shifted(n: Size, r: Range["n"], f: Body["r"]):
    return 1 / sum_over(r, f(r) + 0), 1 / sum_over(r, f(r))


@rule(dtypes=[float16], licences="no_signed_zero")
def choice_by_a_reciprocal(n: Size, r: Range["n"], f: Body["r"]):
    below = 1 / sum_over(r, f(r) + 0) < 0, 1 / sum_over(r, f(r)) < 0
    return where(below[0], 1.0, 0.0), where(below[1], 1.0, 0.0)


@rule(dtypes=[float16], licences="no_signed_zero")
def reciprocal_of_gated_sum(n: Size, r: Range["n"], f: Body["r"]):
    return 1 / sum_over(r, where(r > 0, f(r), 0)), 1 / sum_over(r, where(r > 0, f(r), -0.0))


@rule(dtypes=[float16], licences="no_nan")
def folds_of_the_right_side(n: Size, r: Range["n"], f: Body["r"], g: Body["r", int8], x: Value):
    """NaN on the right side alone is not promised away."""
    a, b = max_over(r, f(r) * 0 + 0), max_over(r, (g(r) * 0).cast(float16))
    above = max_over(r, f(r)) < max_over(r, g(r).cast(float16))
    return where(above, x, x), where(a.bitcast(int16) == b.bitcast(int16), x, x + 1)


@rule(dtypes=[float16], licences="no_nan")
def difference_with_itself_on_the_right(n: Size, r: Range["n"], f: Body["r"]):
    return max_over(r, f(r)), max_over(r, f(r) - f(r) + f(r))


@rule(dtypes=[float16])
def rotated_floats(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    return sum_over(r, f((r + k) % n)), sum_over(r, f(r))


@rule(dtypes=[int8])
def rotated_with_a_stride(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    return sum_over(r, f((2 * r + k) % n)), sum_over(r, f(r))


@rule(dtypes=[int8])
def last_tile_too_far_inwards(n: Size, r: Range["n"], t: Size, f: Body["r"]):
    given(n > t, t > 0)
    i, j = fresh((n + t - 1) // t), fresh(t)
    return max_over(r, f(r)), max_over((i, j), f(where(i * t < n - t - 1, i * t, n - t - 1) + j))


@rule(dtypes=[int8])
def element_below_a_maximum(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(k >= 0, k < n)
    return claim(f(k) < max_over(r, f(r)))


@rule(dtypes=[float16])
def float_of_a_maximum(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(k >= 0, k < n)
    return claim(f(k) <= max_over(r, f(r)))


@rule(dtypes=[int8])
def some_by_count_that_wraps(n: Size, r: Range["n"], b: Body["r", bool_]):
    given(n <= 128)
    return sum_over(r, where(b(r), 1, 0)) >= 1, max_over(r, b(r))


@rule(dtypes=[int8])
def exactly_one_by_count(n: Size, r: Range["n"], b: Body["r", bool_]):
    given(n <= 127)
    return sum_over(r, where(b(r), 1, 0)) == 1, max_over(r, b(r))


@rule(dtypes=[int8])
def all_by_product_of_signs(n: Size, r: Range["n"], b: Body["r", bool_]):
    return prod_over(r, where(b(r), 1, -1)) == 1, prod_over(r, b(r))


@rule()
def last_of_bytes_that_wrap(n: Size, r: Range["n"]):
    given(n > 0, n <= 129)
    return max_over(r, r.cast(int8)), (n - 1).cast(int8)


@rule(dtypes=[float16])
def two_among_zeros(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(n > 2, k >= 0, k + 1 < n)
    return sum_over(r, where((r == k) | (r == k + 1), f(r), 0)), f(k) + 0.0


@rule(dtypes=[float16])
def one_among_zeros_of_both_signs(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(n > 1, k >= 0, k < n)
    return sum_over(r, where(r == k, f(r), where(r < k, 0, -0.0))), f(k) + 0.0


@rule(dtypes=[float16])
def one_among_zeros_in_a_product(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(n > 1, k >= 0, k < n)
    return prod_over(r, where(r == k, f(r), 0)), f(k) + 0.0


@rule(dtypes=[float16])
def zeros_that_may_be_none(n: Size, r: Range["n"], c: Value[index], f: Body["r"]):
    given(c >= 0, c < n)
    k = fresh(n - c)
    return sum_over(r, where(c <= r, f(r), 0)), sum_over(k, f(k + c)) + 0.0


@rule(dtypes=[float16])
def zeros_that_are_ones(n: Size, r: Range["n"], c: Value[index], f: Body["r"]):
    given(c > 0, c < n)
    k = fresh(c)
    return sum_over(r, where(r < c, f(r), 1.0)), sum_over(k, f(k)) + 1.0


@rule(dtypes=[float16])
def zero_out_of_nowhere(n: Size, r: Range["n"], f: Body["r"]):
    given(n > 1)
    return sum_over(r, f(r)), sum_over(r, f(r)) + 0.0


@rule(dtypes=[float16])
def masked_by_another_premise(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    """A sum may be a number though an element of it is infinite."""
    j, k = fresh(n), fresh(n)
    total, told = sum_over(r, where(p(r), 1, 0) * f(r)), sum_over(j, f(j))
    return total, where(told == told, sum_over(k, where(p(k), f(k), -0.0)) + sum_over(j, f(j) * 0), total)


@rule(dtypes=[float16])
def masked_without_signs(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    """What a mask leaves behind has a sign."""
    j, k = fresh(n), fresh(n)
    total = sum_over(r, where(p(r), 1, 0) * f(r))
    return total, where(sum_over(j, f(j) * 0) == 0, sum_over(k, where(p(k), f(k), -0.0)), total)


@rule(dtypes=[float16])
def masked_without_the_last(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    """The last element may be the one that is not finite."""
    given(n > 1)
    j, k = fresh(n - 1), fresh(n)
    total, zeros = sum_over(r, where(p(r), 1, 0) * f(r)), sum_over(j, f(j) * 0)
    return total, where(zeros == 0, sum_over(k, where(p(k), f(k), -0.0)) + zeros, total)


@rule(dtypes=[float16])
def least_of_some_or_none(r: Range["n"], n: Size, f: Body["r"]):
    """Where the greatest is -∞ all are, and so is their sum; but the sum of nothing is 0."""
    k = fresh(n)
    greatest = max_over(r, f(r))
    return greatest, where(greatest == float("-inf"), sum_over(k, f(k)), greatest)


@rule(dtypes=[int8])
def all_chosen_by_a_sum(r: Range["n"], n: Size, p: Body["r", bool_], g: Body["r"]):
    """One that is chosen is not all."""
    j, k = fresh(n), fresh(n)
    total = sum_over(r, where(p(r), g(r), 0))
    return total, where(sum_over(j, where(p(j), 1, 0)) == 1, sum_over(k, g(k)), total)
