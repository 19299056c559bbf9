# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
"""Flattened indices over ranges and their digits, in three conventions of division: TVM, Halide, tinygrad, Inductor."""

from soundline.verify import (
    Const,
    Range,
    Size,
    Tensor,
    Value,
    cdiv,
    claim,
    cmod,
    ediv,
    emod,
    fits,
    given,
    index,
    int8,
    int32,
    int64,
    uint8,
    uint32,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Digits -----------------------------------------------------------------------------------------------------------


@right()
def high_digit(r: Range["m"], s: Range["n"], n: Size):
    """Every compiler that flattens two axes."""
    return (r * n + s) // n, r


@right()
def low_digit(r: Range["m"], s: Range["n"], n: Size):
    """Every compiler that flattens two axes."""
    return (r * n + s) % n, s


@wrong()
def high_digit_by_the_outer_extent(r: Range["m"], s: Range["n"], m: Size, n: Size):
    """TVM 5505: the scale of a split expression was not brought up to date."""
    return (r * n + s) // m, r


@wrong()
def low_digit_of_a_longer_axis(r: Range["m"], s: Range["k"], k: Size, n: Size):
    """What is added must be shorter than the stride."""
    given(k <= n + 1)
    return (r * n + s) % n, s


@right()
def middle_digit(r: Range["a"], s: Range["b"], t: Range["c"], b: Size, c: Size):
    """MLIR, affine.delinearize_index of affine.linearize_index."""
    return ((r * b + s) * c + t) // c % b, s


@wrong()
def middle_digit_without_a_quotient(r: Range["a"], s: Range["b"], t: Range["c"], b: Size, c: Size):
    """The remainder by the extent of the middle axis, before the last axis is divided away."""
    return ((r * b + s) * c + t) % b, s


@right()
def high_digit_of_three(r: Range["a"], s: Range["b"], t: Range["c"], b: Size, c: Size):
    """MLIR, affine.delinearize_index."""
    return ((r * b + s) * c + t) // (b * c), r


@right()
def low_digits_of_three(r: Range["a"], s: Range["b"], t: Range["c"], b: Size, c: Size):
    """MLIR, the last two of three axes stay flat."""
    return ((r * b + s) * c + t) % (b * c), s * c + t


@right()
def four_digits_of_constants(r: Range["n"], s: Range[3], t: Range[5], u: Range[7]):
    """tinygrad, the index of a view of a view."""
    return (r * 105 + s * 35 + t * 7 + u) // 7 % 5, t


@wrong()
def four_digits_with_a_wrong_stride(r: Range["n"], s: Range[3], t: Range[5], u: Range[7]):
    """A stride that forgets an axis in between."""
    return (r * 105 + s * 21 + t * 7 + u) // 7 % 5, t


@right()
def quotient_and_remainder_of_a_range(r: Range["n"], k: Const[index]):
    """A split index put together again."""
    return r // k * k + r % k, r


@right()
def transposed_flat_index(r: Range["m"], s: Range["n"], m: Size, n: Size):
    """The flat index of a transposed matrix, from that of the matrix."""
    return (r * n + s) % n * m + (r * n + s) // n, s * m + r


@wrong()
def transposed_flat_index_by_the_same_extent(r: Range["m"], s: Range["n"], m: Size, n: Size):
    """The stride of the old rows used for the new ones."""
    return (r * n + s) % n * n + (r * n + s) // n, s * m + r


# Quotients and remainders of each other ---------------------------------------------------------------------------


@right(dtypes=[index])
def quotient_of_a_remainder(x: Value, a: Const, b: Const):
    """TVM, iter_affine_map: the divisor of the quotient divides that of the remainder."""
    given(a > 0, b > 0)
    return x % (a * b) // a, x // a % b


@wrong(dtypes=[index])
def quotient_of_a_remainder_that_it_does_not_divide(x: Value):
    """TVM 15665: 255 is no multiple of 16."""
    return x % 255 // 16, x // 16 % 15


@wrong(dtypes=[index])
def quotient_of_a_remainder_rounded_up(x: Value):
    """TVM 15881, as it was proposed first: right only for what lies below 255 already."""
    return x % 255 // 16, x // 16 % 16


@right()
def quotient_of_a_remainder_within_a_range(x: Range[255]):
    """TVM 15881, for an index that lies in the range."""
    return x % 255 // 16, x // 16 % 16


@wrong(dtypes=[index, int32])
def parity_negated(x: Value, y: Value):
    """TVM 14571: y - x % 2 is not y + x % 2 - 1."""
    return y - x % 2, y + x % 2 - 1


@right(dtypes=[index, int32])
def parity_of_the_next(x: Value, y: Value):
    """TVM 14571: the rule that works has x + 1; it survives wrapping, as two divides every width."""
    return y - x % 2, y + (x + 1) % 2 - 1


@right(dtypes=[index])
def coefficient_reduced(x: Value, y: Value, a: Const, c: Const):
    """TVM 11287: a coefficient under a remainder may be reduced by it."""
    return (x * a + y) % c, (x * (a % c) + y) % c


@wrong(dtypes=[int32])
def coefficient_reduced_with_wrapping(x: Value, y: Value, a: Const, c: Const):
    """The same where products wrap."""
    given(c > 0)
    return (x * a + y) % c, (x * (a % c) + y) % c


@right(dtypes=[index])
def common_factor_of_a_remainder(x: Value, a: Value, b: Value):
    """TVM 17765: the factor comes out of a remainder of floors, whatever its sign."""
    return (x * a) % (x * b), x * (a % b)


@wrong(dtypes=[index])
def common_factor_of_a_remainder_lost(x: Value, a: Value, b: Value):
    """TVM 17765, as it was proposed: the factor is not cancelled but comes out."""
    given(x > 0)
    return (x * a) % (x * b), a % b


@wrong()
def remainder_of_a_ramp(x: Value[index], r: Range[8]):
    """TVM 8616: the lanes of a ramp need not have one quotient."""
    return (x * 2 + r) % 20, (x * 2) % 20 + r


@right()
def remainder_of_an_aligned_ramp(x: Value[index], r: Range[4]):
    """TVM 8852: lanes within one aligned block do."""
    return (x * 4 + r) % 20, (x * 4) % 20 + r


@right()
def window_of_prefix_sums(r: Range["n"], s: Range["n"], n: Size):
    """tinygrad, cumulative sums by a reshape that shears: row by row the window moves one further."""
    return (r * (2 * n) + s) % (2 * n - 1), r + s


@wrong()
def window_of_prefix_sums_too_wide(r: Range["n"], s: Range["k"], n: Size, k: Size):
    """The same with a window that is one longer."""
    given(k == n + 1)
    return (r * (2 * n) + s) % (2 * n - 1), r + s


@right()
def remainder_left_out(r: Range["n"], n: Size, a: Const[index], b: Const[index]):
    """Inductor: ModularIndexing becomes a plain quotient where the index is small."""
    given(a > 0, n <= a * b)
    return r // a % b, r // a


@wrong()
def remainder_left_out_below_zero(r: Range["n"], n: Size, k: Size, a: Const[index], b: Const[index]):
    """Inductor 131761: a masked index of a concatenation may be negative."""
    given(a > 0, n <= a * b)
    return (r - k) // a % b, (r - k) // a


@right()
def carry_of_a_short_range(r: Range[4]):
    """Halide, a ceiling of what is less than the divisor."""
    return (r + 3) // 4, where(r == 0, 0, 1)


@right()
def offset_moved_out(r: Range["n"], c: Const[index], d: Const[index]):
    """Halide, Simplify_Div: a multiple of the divisor comes out."""
    given(d != 0)
    return (r + c * d) // d, r // d + c


@wrong()
def offset_moved_out_of_a_remainder(r: Range["n"], c: Const[index], d: Const[index]):
    """The remainder has no carry to bring along."""
    given(d > 1)
    return (r + c) % d, r % d + c % d


# Three conventions ------------------------------------------------------------------------------------------------


@right()
def digits_below_zero_by_floor(r: Range["n"], s: Range[4]):
    """tinygrad, div reducing after it went over to floors."""
    return (r * 4 - s) // 4, r - (s + 3) // 4


@wrong()
def digits_below_zero_by_c(r: Range["n"], s: Range[4]):
    """tinygrad 10064: the numerator became negative, and C rounds that toward zero."""
    return cdiv(r * 4 - s, 4), r - cdiv(s + 3, 4)


@right()
def digits_by_c(r: Range["n"], s: Range[4]):
    """Above zero all conventions agree."""
    return cmod(r * 4 + s, 4), s


@right()
def quotient_below_zero_by_euclid(r: Range["n"], k: Size):
    """TVM and Halide: by a positive divisor Euclid's quotient is the floor."""
    return ediv(r - k, 8), (r - k) // 8


@wrong()
def quotient_below_zero_by_c(r: Range["n"], k: Size):
    """Triton 619, as Inductor met it: its // is C's."""
    return cdiv(r - k, 8), (r - k) // 8


@right()
def remainder_in_range_by_euclid(r: Range["n"], k: Size):
    """A circular buffer that is read backwards."""
    return emod(r - k, 8), (r - k) % 8


@wrong()
def remainder_below_zero_by_c(r: Range["n"], k: Size):
    """The same in C reads before the buffer."""
    return cmod(r - k, 8), (r - k) % 8


@right(dtypes=[index])
def remainder_by_c_mended(x: Value, n: Size):
    """Shaders and C programs: add the extent once more."""
    given(n > 0)
    return cmod(cmod(x, n) + n, n), x % n


@wrong(dtypes=[index])
def remainder_by_c_mended_too_early(x: Value, n: Size):
    """One extent is enough only for what is less than one extent below zero."""
    given(n > 0)
    return cmod(x + n, n), x % n


@right(dtypes=[index])
def tiles_rounded_up(n: Size, t: Const):
    """The number of tiles, in two ways."""
    given(t > 0)
    return (n + t - 1) // t, (n - 1) // t + 1


@wrong(dtypes=[index])
def tiles_rounded_up_by_c(n: Size, t: Const):
    """CUDA programs: (n - 1) / t + 1 is 1 for no elements."""
    given(t > 1)
    return (n + t - 1) // t, cdiv(n - 1, t) + 1


# Indices in machine words -----------------------------------------------------------------------------------------


@wrong()
def flat_index_in_32_bits(r: Range["m"], s: Range["n"], n: Size):
    """PyTorch, XLA and TVM all had it: the flat index of a large tensor in 32 bits."""
    return (r.cast(int32) * n.cast(int32) + s.cast(int32)).cast(index), r * n + s


@right()
def flat_index_that_fits(r: Range["m"], s: Range["n"], m: Size, n: Size):
    """The same for tensors that are small enough."""
    given(m * n <= 2147483647)
    return (r.cast(int32) * n.cast(int32) + s.cast(int32)).cast(index), r * n + s


@right()
def counter_in_a_byte(r: Range[128]):
    """tinygrad: an arange that fits its dtype is never negative."""
    return r.cast(int8) < 0, (r != r)


@wrong()
def counter_that_leaves_its_byte(r: Range[256]):
    """tinygrad, today: (arange(256).cast(int8) < 0) is reduced to False."""
    return r.cast(int8) < 0, (r != r)


@right(dtypes=[uint8, uint32])
def unsigned_parts(x: Value, c: Const):
    """Shifts and masks for powers of two: halves of an unsigned index."""
    given(c > 0, c <= 3)
    return x // (c * 2) * 2 + x // c % 2, x // c


@right(dtypes=[int32, int64])
def flat_index_taken_apart_where_it_fits(i: Value, j: Value, n: Const):
    """Halide and TVM treat 32-bit indices as integers, which is right where nothing wraps."""
    given(fits(i * n + j), j >= 0, j < n)
    return (i * n + j) // n, i


@wrong(dtypes=[int32, int64])
def flat_index_taken_apart(i: Value, j: Value, n: Const):
    """The same without that: PolyJuice and others found it in compilers that assume it."""
    given(j >= 0, j < n)
    return (i * n + j) // n, i


# Claims -----------------------------------------------------------------------------------------------------------


@right()
def tile_lies_inside(r: Range["n"], n: Size):
    """CUDA, a vector load of a whole tile."""
    given(n % 8 == 0)
    return claim(r // 8 * 8 + 7 < n)


@wrong()
def tile_lies_inside_of_any_extent(r: Range["n"], n: Size):
    """The last tile of an extent that the factor does not divide."""
    return claim(r // 8 * 8 + 7 < n)


@right()
def tiles_cover(r: Range["n"], n: Size, t: Const[index]):
    """The tile of an element is one of the tiles."""
    given(t > 0)
    return claim(r // t < (n + t - 1) // t)


@wrong()
def tiles_cover_rounded_down(r: Range["n"], n: Size, t: Const[index]):
    """A grid that was rounded down."""
    given(t > 0)
    return claim(r // t < n // t)


@right()
def windows_lie_inside(r: Range["k"], s: Range["w"], n: Size, k: Size, w: Size, t: Const[index]):
    """Pooling with a stride: the number of windows."""
    given(t > 0, w <= n, k == (n - w) // t + 1)
    return claim(r * t + s < n)


@wrong()
def windows_lie_inside_rounded_up(r: Range["k"], s: Range["w"], n: Size, k: Size, w: Size, t: Const[index]):
    """Pooling in ceil mode, without the padding that it needs."""
    given(t > 0, w <= n, k == (n - w + t - 1) // t + 1)
    return claim(r * t + s < n)


# Flat tensors -----------------------------------------------------------------------------------------------------


@right()
def element_of_flat_matrix(x: Tensor["m", "n"], m: Size, n: Size, k: Value[index]):
    """tinygrad, rangeify of a reshape."""
    return x.reshape((m * n,)).index(k), x.index(k // n, k % n)


@wrong()
def element_of_flat_matrix_by_columns(x: Tensor["m", "n"], m: Size, n: Size, k: Value[index]):
    """Row-major and column-major mixed up."""
    return x.reshape((m * n,)).index(k), x.index(k % m, k // m)


@right()
def element_at_a_flat_index(x: Tensor["m", "n"], m: Size, n: Size, i: Range["m"], j: Range["n"]):
    """The other way round, for indices that lie in their axes."""
    return x.reshape((m * n,)).index(i * n + j), x.index(i, j)


@wrong()
def element_at_a_flat_index_beyond_its_row(x: Tensor["m", "n"], m: Size, n: Size, i: Range["m"], j: Size):
    """Past the end of a row lies the next one in the flat tensor, and nothing in the matrix."""
    return x.reshape((m * n,)).index(i * n + j), x.index(i, j)


@right()
def element_of_rows_taken_flat(x: Tensor["n"], a: Size, b: Size, i: Range["a"], j: Range["b"], n: Size):
    """A view as a matrix, read at one place."""
    given(n == a * b)
    return x.reshape((a, b)).index(i, j), x.index(i * b + j)


@wrong()
def element_of_rows_taken_flat_and_turned(
    x: Tensor["n"], a: Size, b: Size, i: Range["a"], j: Range["b"], n: Size
):
    """A transposed view is no view with other strides of the same order."""
    given(n == a * b)
    return x.reshape((a, b)).permute((1, 0)).index(j, i), x.index(j * a + i)


@right()
def reshapes_of_three_axes(x: Tensor["a", "b", "c"], a: Size, b: Size, c: Size, k: Value[index]):
    """tinygrad, the index of a flattened tensor in three digits."""
    return x.reshape((a * b * c,)).index(k), x.index(k // (b * c), k // c % b, k % c)


# Rules that say nothing -------------------------------------------------------------------------------------------


@vacuous()
def digit_beyond_its_range(r: Range["m"], s: Range["n"], n: Size):
    """A condition that the range excludes."""
    given(s >= n)
    return (r * n + s) // n, r + 1


@vacuous(dtypes=[index])
def remainder_beyond_its_divisor(x: Value, c: Const):
    """No remainder reaches its divisor."""
    given(c > 0, x % c >= c)
    return x % c, x


# Shifts by counts that are not known ------------------------------------------------------------------------------


@right()
def index_by_a_shift(x: Tensor["n"], n: Size, i: Value[index], c: Const[index]):
    """Every compiler that multiplies by powers of two."""
    given(i >= 0, (i << c) < n)
    return x.index(i << c), x.index(i * (1 << c))


@right()
def rows_of_a_power_of_two(x: Tensor["n"], n: Size, m: Size, c: Const[index], d: Const[index]):
    """Tiles whose sizes are powers of two."""
    given(n == m << (c + d))
    return x.reshape((m << c, 1 << d)).reshape((n,)), x


@right(dtypes=[int8])
def tiles_of_a_power_of_two(x: Tensor["m", 4], m: Size, c: Const[index]):
    """The same of a known size."""
    given(m == 1 << c)
    return x.reshape((1 << (c + 2),)).reshape((m, 4)), x


@wrong()
def rows_of_another_power_of_two(x: Tensor["n"], n: Size, m: Size, c: Const[index], d: Const[index]):
    """One place too far."""
    given(n == m << (c + d))
    return x.reshape((m << c, 1 << d)), x.reshape((m << c, 2 << d))


@wrong()
def index_shifted_down_and_up(x: Tensor["n"], n: Size, i: Value[index], c: Const[index]):
    """The low bits are gone."""
    return x.index((i >> c) << c), x.index(i)
