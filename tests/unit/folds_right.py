"""
Rules about reductions that are right
================================

Reduce along axes and over ranges, on integers, bools, floats in order, floats under a licence, and maxima. Each must
be proved.
"""

# ruff: noqa: F821, E741  (the strings in brackets name sizes and ranges)

from soundline.spec.ops.node import Op
from soundline.verify import (
    Axes,
    Body,
    Bool,
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
    float16,
    float32,
    fresh,
    given,
    identity,
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
    stack,
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
    return x.sum(a).sum(b), x.sum(a | b)


@rule(dtypes=[int32, float32])
def max_of_max(x: Tensor, a: Axes, b: Axes):
    given(disjoint(a, b))
    return x.max(a).max(b), x.max(a | b)


@rule(dtypes=[int32])
def permute_sum(x: Tensor, a: Axes, p: Perm):
    return x.sum(a).permute(p), x.permute(p).sum(a.permute(p))


@rule(dtypes=[int32])
def flip_sum(x: Tensor, a: Axes, f: Flags):
    return x.flip(f).sum(a), x.sum(a).flip(f)


@rule(dtypes=[int32])
def split_sum(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((m * n,)).sum((0,)), x.sum((0, 1)).reshape((1,))


@rule(dtypes=[int32])
def split3_sum(m: Size, n: Size, k: Size, x: Tensor["m", "n", "k"]):
    return x.reshape((m * n * k,)).sum((0,)), x.sum((0, 1, 2)).reshape((1,))


@rule(dtypes=[int32])
def split3_sum_sum(m: Size, n: Size, k: Size, x: Tensor["m", "n", "k"]):
    return x.reshape((m * n, k)).sum((0,)).sum((1,)), x.sum((2,)).sum((1,)).sum((0,)).reshape((1, 1))


@rule(dtypes=[float32])
def split_sum_float(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((m * n,)).sum((0,)), x.sum((0, 1)).reshape((1,))


@rule(dtypes=[int32])
def linear(x: Tensor, y: Tensor, a: Axes):
    return (x + y).sum(a), x.sum(a) + y.sum(a)


@rule(dtypes=[int32])
def factor(x: Tensor, c: Value, a: Axes):
    return (x * c).sum(a), x.sum(a) * c


@rule(dtypes=[int32])
def neg_sum(x: Tensor, a: Axes):
    return (-x).sum(a), -(x.sum(a))


@rule(dtypes=[int32])
def sum_pad(n: Size, m: Size, o: Size, x: Tensor["n"]):
    return x.pad((o,), (m,)).sum((0,)), x.sum((0,))


@rule(dtypes=[int32])
def sum_split(n: Size, k: Size, x: Tensor["n"]):
    given(k <= n)
    return x.shrink((0,), (k,)).sum((0,)) + x.shrink((k,), (n - k,)).sum((0,)), x.sum((0,))


@rule(dtypes=[float32], licences="reassociate")
def sum_of_sum_lic(x: Tensor, a: Axes, b: Axes):
    given(disjoint(a, b))
    return x.sum(a).sum(b), x.sum(a | b)


@rule(dtypes=[int32])
def sum_expand(n: Size, x: Tensor[1]):
    return x.expand((n,)).sum((0,)), x * n.cast(int32)


@rule
def max_expand(n: Size, x: Tensor[1]):
    given(n > 0)
    return x.expand((n,)).max((0,)), x


@rule(dtypes=[index, int8])
def max_max(x: Tensor, y: Tensor, a: Axes):
    return maximum(x, y).max(a), maximum(x.max(a), y.max(a))


@rule(dtypes=[index])
def max_plus(x: Tensor["n"], c: Value, n: Size):
    return (x + c).max((0,)), x.max((0,)) + c


@rule
def one(x: Tensor[1, "n"]):
    return x.sum((0,)), x


@rule(dtypes=[bool_])
def any_all(x: Tensor["n"], n: Size):
    return ~(x.max((0,))), (~x).prod((0,))


@rule(dtypes=[bool_])
def any_any(x: Tensor, y: Tensor, a: Axes):
    return (x | y).max(a), x.max(a) | y.max(a)


@rule(dtypes=[int32])
def one_hot(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, f(r), 0)), f(k)


@rule(dtypes=[float32])
def one_hot_float(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, f(r), -0.0)), f(k)


@rule(dtypes=[int32])
def one_hot_gated(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):
    return sum_over(r, where(r == k, f(r), 0)), where((k >= 0) & (k < n), f(k), 0)


@rule(dtypes=[int32])
def split_range(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    return sum_over((i, j), f(i, j)), sum_over(i, sum_over(j, f(i, j)))


@rule(dtypes=[int32])
def exchange(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    return sum_over(i, sum_over(j, f(i, j))), sum_over(j, sum_over(i, f(i, j)))


@rule(dtypes=[int32])
def linear_of_ranges(n: Size, r: Range["n"], f: Body["r"], g: Body["r"]):
    return sum_over(r, f(r) + g(r)), sum_over(r, f(r)) + sum_over(r, g(r))


@rule(dtypes=[int32])
def factor_of_ranges(n: Size, r: Range["n"], f: Body["r"], c: Value):
    return sum_over(r, c * f(r)), c * sum_over(r, f(r))


@rule(dtypes=[int32])
def constant(n: Size, r: Range["n"], c: Value):
    return sum_over(r, c), c * n.cast(int32)


@rule(dtypes=[int32])
def count_below(n: Size, r: Range["n"], k: Value[index], c: Value):
    given(k >= 0, k <= n)
    return sum_over(r, where(r < k, c, 0)), c * k.cast(int32)


@rule(dtypes=[index])
def count_clamped(n: Size, r: Range["n"], k: Value[index]):
    return sum_over(r, where(r < k, 1, 0)), maximum(0, where(k < n, k, n))


@rule(dtypes=[int32])
def count_above(n: Size, r: Range["n"], k: Value[index], c: Value):
    given(k >= 0, k <= n)
    return sum_over(r, where(r < k, 0, c)), c * (n - k).cast(int32)


@rule(dtypes=[index])
def arange_sum(n: Size, r: Range["n"]):
    return sum_over(r, r) * 2, n * (n - 1)


@rule(dtypes=[index])
def arange_sum_half(n: Size, r: Range["n"]):
    return sum_over(r, r), (n * (n - 1)) // 2


@rule(dtypes=[int32])
def reverse(n: Size, r: Range["n"], f: Body["r"]):
    return sum_over(r, f(n - 1 - r)), sum_over(r, f(r))


@rule(dtypes=[int32])
def merge(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    given(n > 0)
    t = fresh(m * n)
    return sum_over((i, j), f(i, j)), sum_over(t, f(t // n, t % n))


@rule(dtypes=[int32, float32])
def max_exchange(m: Size, n: Size, i: Range["m"], j: Range["n"], f: Body["i", "j"]):
    return max_over(i, max_over(j, f(i, j))), max_over(j, max_over(i, f(i, j)))


@rule(dtypes=[index])
def max_range(n: Size, r: Range["n"]):
    return max_over(r, r), n - 1


@rule(dtypes=[index])
def max_of_affine(n: Size, r: Range["n"], c: Value):
    return max_over(r, r * 3 + c), (n - 1) * 3 + c


@rule(dtypes=[int32])
def where_out(n: Size, r: Range["n"], f: Body["r"], p: Bool):
    return sum_over(r, where(p, f(r), 0)), where(p, sum_over(r, f(r)), 0)


@rule(dtypes=[int32])
def split_by_where(n: Size, r: Range["n"], f: Body["r"], p: Body["r", bool_]):
    return sum_over(r, where(p(r), f(r), 0)) + sum_over(r, where(p(r), 0, f(r))), sum_over(r, f(r))


@rule(dtypes=[bool_])
def any_equal(n: Size, r: Range["n"], k: Value[index]):
    return max_over(r, r == k), (k >= 0) & (k < n)


@rule(dtypes=[bool_])
def all_below(n: Size, r: Range["n"]):
    return prod_over(r, r < n), n >= 0


@rule(dtypes=[int32])
def gather(x: Tensor["n"], n: Size, r: Range["n"], k: Value[index]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, x.index(r), 0)), x.index(k)


@rule(dtypes=[int32])
def empty(r: Range[0], f: Body["r"]):
    return sum_over(r, f(r)), sum_over(r, f(r)) * 2


@rule(dtypes=[int32])
def prod_split(n: Size, r: Range["n"], f: Body["r"], g: Body["r"]):
    return prod_over(r, f(r) * g(r)), prod_over(r, f(r)) * prod_over(r, g(r))


@rule(dtypes=[int32])
def monoid(n: Size, m: Monoid, r: Range["n"], f: Body["r"], g: Body["r"]):
    return reduce_over(m, r, m(f(r), g(r))), m(reduce_over(m, r, f(r)), reduce_over(m, r, g(r)))


@rule(dtypes=[int32, bool_])
def gate_monoid(n: Size, m: Monoid, r: Range["n"], f: Body["r"], k: Value[index]):
    given(k >= 0, k < n)
    return reduce_over(m, r, where(r == k, f(r), identity(m))), f(k)


@rule(dtypes=[int32])
def guard_split(n: Size, k: Size, r: Range["n"], f: Body["r"]):
    given(k <= n)
    s, t = fresh(k), fresh(n - k)
    return sum_over(r, f(r)), sum_over(s, f(s)) + sum_over(t, f(t + k))


@rule(dtypes=[int32])
def tile_pad(n: Size, c: Size, r: Range["n"], f: Body["r"]):
    given(c > 0)
    o, i = fresh((n + c - 1) // c), fresh(c)
    return sum_over(r, f(r)), sum_over((o, i), where(o * c + i < n, f(o * c + i), 0))


@rule(dtypes=[float32])
def tile_pad_float(n: Size, c: Size, r: Range["n"], f: Body["r"]):
    given(c > 0, n > 0)
    o, i = fresh((n + c - 1) // c), fresh(c)
    return sum_over(r, f(r)), sum_over((o, i), where(o * c + i < n, f(o * c + i), -0.0))


@rule(dtypes=[int32])
def square(n: Size, r: Range["n"], f: Body["r"]):
    s = fresh(n)
    return sum_over(r, f(r)) * sum_over(r, f(r)), sum_over(r, sum_over(s, f(r) * f(s)))


@rule(dtypes=[int64], s=[int32])
def cast_sum(n: Size, r: Range["n"], f: Body["r"], s: DTypeVar):
    return sum_over(r, f(r)).cast(s), sum_over(r, f(r).cast(s))


@rule(dtypes=[int32])
def triangular(n: Size, i: Range["n"], j: Range["n"], f: Body["i"]):
    return sum_over(i, sum_over(j, where(j < i, f(i), 0))), sum_over(i, f(i) * i.cast(int32))


@rule(dtypes=[int32])
def h3(m: Size, a: Size, b: Size, x: Tensor["m"]):
    given(m == a * b)
    return x.reshape((a, b)).sum((0, 1)).reshape((1,)), x.sum((0,))


@rule(dtypes=[int32])
def rows(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((m * n,)).sum((0,)), x.sum((1,)).reshape((m,)).sum((0,))


@rule(dtypes=[int32])
def tile2(a: Size, b: Size, c: Size, d: Size, x: Tensor["a", "b", "c", "d"]):
    return x.permute((0, 2, 1, 3)).reshape((a * c, b * d)).sum((0, 1)).reshape((1,)), x.reshape(
        (a * b * c * d,)
    ).sum((0,))


@rule(dtypes=[int32])
def matmul_t(m: Size, n: Size, k: Size, x: Tensor["m", "k"], y: Tensor["k", "n"]):
    a = x.reshape((m, k, 1)).expand((m, k, n))
    b = y.reshape((1, k, n)).expand((m, k, n))
    left = (a * b).sum((1,)).reshape((m, n)).permute((1, 0))
    c = y.permute((1, 0)).reshape((n, k, 1)).expand((n, k, m))
    d = x.permute((1, 0)).reshape((1, k, m)).expand((n, k, m))
    return left, (c * d).sum((1,)).reshape((n, m))


@rule(dtypes=[int32])
def matmul_assoc(
    m: Size, n: Size, k: Size, l: Size, x: Tensor["m", "k"], y: Tensor["k", "l"], z: Tensor["l", "n"]
):
    return times(times(x, y, m, k, l), z, m, l, n), times(x, times(y, z, k, l, n), m, k, n)


@rule(dtypes=[int8, float32])
def pad_max_where(n: Size, m: Size, r: Range["m"], f: Body["r"], k: Size):
    given(k <= m, k > 0)
    s = fresh(k)
    return max_over(r, where(r < k, f(r), identity(Op.Max))), max_over(s, f(s))


@rule(dtypes=[float32])
def sum_of_halves(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.permute((1, 0)).sum((0,)), x.sum((1,)).permute((1, 0))


@rule(dtypes=[float32])
def float_abs_prod(x: Tensor["n"], n: Size):
    return maximum(x, x).prod((0,)), x.prod((0,))


@rule(dtypes=[float16])
def neg_max(x: Tensor["n"], n: Size):
    return (x * 2).max((0,)), x.max((0,)) * 2


@rule(dtypes=[int8], s=[int16])
def cast_max(x: Tensor["n"], n: Size, s: DTypeVar):
    given(n > 0)
    return x.cast(s).max((0,)), x.max((0,)).cast(s)


@rule(dtypes=[float32], licences="reassociate")
def sums_side_by_side(x: Tensor["n"], y: Tensor["n"], n: Size):
    return x.sum((0,)) + y.sum((0,)), (x + y).sum((0,))


@rule(dtypes=[float32], licences="reassociate")
def sum_less_a_sum(x: Tensor["n"], y: Tensor["n"], n: Size):
    return x.sum((0,)) - (-y).sum((0,)).exp2(), (-(-y).sum((0,)).exp2()) + x.sum((0,))


@rule(dtypes=[float32], licences=["reassociate", "no_signed_zero"])
def mean_of_pad(n: Size, m: Size, x: Tensor["n"]):
    given(n <= m)
    return x.pad((0,), (m,)).sum((0,)), x.sum((0,))


@rule(dtypes=[int32])
def shrink_keep(x: Tensor, a: Axes, o: Offset, s: Shape):
    keep = where(a, 0, o)
    return x.sum(a).shrink(keep, where(a, 1, s)), x.shrink(keep, where(a, x.shape, s)).sum(a)


@rule(dtypes=[int32])
def expand_keep(x: Tensor, a: Axes, s: Shape):
    return x.expand(where(a, x.shape, s)).sum(a), x.sum(a).expand(where(a, 1, s))


@rule(dtypes=[int32])
def stack_sum(x: Value, y: Value, z: Value):
    return stack(x, y, z).sum((0,)).reshape(()), x + y + z


@rule(dtypes=[int32])
def stack_rows(n: Size, x: Tensor["n"], y: Tensor["n"]):
    return stack(x, y).sum((0,)).reshape((n,)), x + y


@rule(dtypes=[float32])
def stack_rows_float(n: Size, x: Tensor["n"], y: Tensor["n"]):
    return stack(x, y).sum((0,)).reshape((n,)), x + y


@rule(dtypes=[int32])
def concat(a: Size, b: Size, x: Tensor["a"], y: Tensor["b"]):
    return (x.pad((0,), (a + b,)) + y.pad((a,), (a + b,))).sum((0,)), x.sum((0,)) + y.sum((0,))


@rule(dtypes=[bool_])
def any_concat(a: Size, b: Size, x: Tensor["a"], y: Tensor["b"]):
    return (x.pad((0,), (a + b,)) | y.pad((a,), (a + b,))).max((0,)), x.max((0,)) | y.max((0,))


@rule(dtypes=[bool_])
def any_reshape(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((m * n,)).max((0,)), x.max((0,)).max((1,)).reshape((1,))


@rule(dtypes=[int32])
def sum_sub(x: Tensor, y: Tensor, a: Axes):
    given(x.shape == y.shape)
    return x.sum(a) - y.sum(a), (x - y).sum(a)


@rule(dtypes=[int32])
def sum_shift(x: Tensor["n"], n: Size, c: Value):
    return (x + c).sum((0,)), x.sum((0,)) + c * n.cast(int32)


@rule(dtypes=[int32])
def variance_like(x: Tensor["n"], n: Size, c: Value):
    return ((x - c) * (x - c)).sum((0,)), (x * x).sum((0,)) - 2 * c * x.sum((0,)) + c * c * n.cast(int32)


@rule(dtypes=[float32], licences="reassociate")
def clamp_of_some(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(n > 0)
    return max_over(r, maximum(f(r), c)), maximum(max_over(r, f(r)), c)


@rule(dtypes=[index, int8])
def first_apart(n: Size, r: Range["n"], f: Body["r"]):
    given(n > 0)
    s = fresh(n - 1)
    return sum_over(r, f(r)), f(0) + sum_over(s, f(s + 1))


@rule(dtypes=[index, int8])
def two_columns(m: Size, x: Tensor["m", 2]):
    return x.sum(1), x.shrink((0, 1), (m, 1)) + x.shrink((0, 0), (m, 1))


@rule(dtypes=[index, int8])
def telescope(n: Size, m: Size, r: Range["n"], q: Range["m"], f: Body["q"]):
    given(m == n + 1)
    return sum_over(r, f(r + 1) - f(r)), f(n) - f(0)


@rule(dtypes=[index, int8])
def even_and_odd(n: Size, r: Range["n"], f: Body["r"]):
    i, j = fresh((n + 1) // 2), fresh(n // 2)
    return sum_over(r, f(r)), sum_over(i, f(i * 2)) + sum_over(j, f(j * 2 + 1))


@rule(dtypes=[index, int8])
def every_fourth(n: Size, r: Range["n"], f: Body["r"]):
    s = fresh((n + 3) // 4)
    return sum_over(r, where(r % 4 == 0, f(r), 0)), sum_over(s, f(s * 4))


@rule(dtypes=[index, int8])
def half_of(n: Size, r: Range["n"], f: Body["r"], i: Value[index]):
    given(i >= 0, i < 2 * n)
    return sum_over(r, where(r * 2 == i, f(r), 0)), where(i % 2 == 0, f(i // 2), 0)


@rule(dtypes=[index, int8])
def gated_tiles(n: Size, r: Range["n"], f: Body["r"]):
    given(n % 6 == 0)
    o, i, j = fresh(n // 6), fresh(2), fresh(4)
    at = o * 6 + i * 4 + j
    return sum_over(r, f(r)), sum_over((o, i, j), where(i * 4 + j < 6, f(at), 0))


@rule(dtypes=[index])
def one_element_twice(x: Tensor["n"], n: Size, i: Value[index], j: Value[index]):
    given(i >= 0, i < n, i == j)
    return x.index(i) // 3, x.index(j) // 3


@rule(dtypes=[float32])
def last_apart(n: Size, r: Range["n"], f: Body["r"]):
    given(n > 1)
    s = fresh(n - 1)
    return sum_over(r, f(r)), sum_over(s, f(s)) + f(n - 1)


@rule(dtypes=[float32])
def sum_of_zeros(n: Size, r: Range["n"], f: Body["r"], c: Bool):
    return sum_over(r, where(c, f(r), 0)), where(c, sum_over(r, f(r)), 0)


@rule(dtypes=[index])
def quotient_of_max(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(c > 0)
    return max_over(r, f(r) // c * 2 + 1), max_over(r, f(r)) // c * 2 + 1


@rule(dtypes=[index])
def max_scaled_weakly(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(c >= 0)
    return max_over(r, c * f(r)), c * max_over(r, f(r))


@rule(dtypes=[index])
def max_of_chosen(n: Size, r: Range["n"], f: Body["r"], b: Body["r", bool_]):
    return max_over(r, where(b(r), f(r), 0) + 5), max_over(r, where(b(r), f(r), 0)) + 5


@rule(dtypes=[int32])
def rounded_max(x: Tensor["n"], n: Size):
    given(n > 0)
    return x.cast(float32).max(0), x.max(0).cast(float32)


@rule(dtypes=[index])
def fourth_powers(n: Size, r: Range["n"]):
    return 30 * sum_over(r, r * r * r * r), n * (n - 1) * (2 * n - 1) * (3 * n * n - 3 * n - 1)


@rule(dtypes=[index, int8])
def product_of_pieces(n: Size, r: Range["n"], f: Body["r"], g: Body["r"], k: Size):
    given(k <= n)
    s, t = fresh(k), fresh(n - k)
    return prod_over(r, where(r < k, f(r), g(r))), prod_over(s, f(s)) * prod_over(t, g(t + k))


@rule(dtypes=[index, int8, float16])
def product_of_zeros(n: Size, r: Range["n"], f: Body["r"], c: Bool):
    return prod_over(r, where(c, f(r), 0)), where(c, prod_over(r, f(r)), where(n > 0, 0, 1))


@rule(dtypes=[int8])
def folds_of_padding(o: Monoid, a: Size, s: Size, m: Size, n: Size, x: Tensor["m", "n"]):
    given(n > 0)
    return x.pad((a, 0), (s, n)).reduce(o, 1), x.reduce(o, 1).pad((a, 0), (s, 1))


@rule(dtypes=[index])
def count_within_bounds(n: Size, r: Range["n"], b: Body["r", bool_]):
    s = sum_over(r, where(b(r), 1, 0))
    return claim(s >= 0, s <= n)


@rule(dtypes=[index])
def remainders_within_bounds(n: Size, r: Range["n"], f: Body["r"], c: Value):
    given(c > 0)
    s = sum_over(r, f(r) % c)
    return claim(s >= 0, s <= n * (c - 1))


@rule(dtypes=[float16], licences="no_signed_zero")
def sum_of_shifted_by_zero(n: Size, r: Range["n"], f: Body["r"]):
    return sum_over(r, f(r) + 0), sum_over(r, f(r))


@rule(dtypes=[float16], licences="no_signed_zero")
def sum_of_gated(n: Size, r: Range["n"], f: Body["r"], k: Size):
    given(k <= n)
    i = fresh(k)
    return sum_over(r, where(r < k, f(r), 0)), sum_over(i, f(i))


@rule(dtypes=[index, int8])
def rotated(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    return sum_over(r, f((r + k) % n)), sum_over(r, f(r))


@rule(dtypes=[int8])
def last_tile_inwards(n: Size, r: Range["n"], t: Size, f: Body["r"]):
    given(n >= t, t > 0)
    i, j = fresh((n + t - 1) // t), fresh(t)
    return max_over(r, f(r)), max_over((i, j), f(where(i * t < n - t, i * t, n - t) + j))


@rule(dtypes=[index, int8])
def element_of_a_maximum(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(k >= 0, k < n)
    return claim(f(k) <= max_over(r, f(r)))


@rule(dtypes=[index])
def some_by_count(n: Size, r: Range["n"], b: Body["r", bool_]):
    return sum_over(r, where(b(r), 1, 0)) > 0, max_over(r, b(r))


@rule(dtypes=[int8])
def some_by_count_that_fits(n: Size, r: Range["n"], b: Body["r", bool_]):
    given(n <= 127)
    return sum_over(r, where(b(r), 1, 0)) >= 1, max_over(r, b(r))


@rule(dtypes=[int8])
def all_by_product(n: Size, r: Range["n"], b: Body["r", bool_]):
    return prod_over(r, where(b(r), 1, 0)) == 1, prod_over(r, b(r))


@rule()
def last_of_bytes(n: Size, r: Range["n"]):
    given(n > 0, n <= 128)
    return max_over(r, r.cast(int8)), (n - 1).cast(int8)


@rule(dtypes=[float16])
def one_among_zeros_at_any_size(n: Size, r: Range["n"], k: Value[index], f: Body["r"]):
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, f(r), 0)), where(n > 1, f(k) + 0.0, f(k))


@rule(dtypes=[float16])
def zeros_before_the_rest(n: Size, r: Range["n"], c: Value[index], f: Body["r"]):
    given(c > 0, c < n)
    k = fresh(n - c)
    return sum_over(r, where(r < c, 0, f(r))), 0.0 + sum_over(k, f(k + c))


@rule(dtypes=[float16])
def masked_if_finite(r: Range["n"], n: Size, f: Body["r"], p: Body["r", bool_]):
    j, k = fresh(n), fresh(n)
    total, zeros = sum_over(r, f(r) * where(p(r), 1, 0)), sum_over(j, 0 * f(j))
    return total, where(zeros != 0, total, zeros + sum_over(k, where(p(k), f(k), -0.0)))


@rule(dtypes=[float16])
def least_of_some(r: Range["n"], n: Size, f: Body["r"]):
    given(n > 0)
    k = fresh(n)
    greatest = max_over(r, f(r))
    return greatest, where(greatest == float("-inf"), sum_over(k, f(k)), greatest)


@rule(dtypes=[int8])
def all_chosen(r: Range["n"], n: Size, p: Body["r", bool_], g: Body["r"]):
    j, k = fresh(n), fresh(n)
    total = sum_over(r, where(p(r), g(r), 0))
    return total, where(prod_over(j, where(p(j), 1, 0)) == 1, sum_over(k, g(k)), total)
