"""Comparisons: chains, ranges, products, and the difference that NaN makes."""

from __future__ import annotations

from soundline.verify import (
    Bool,
    Const,
    Value,
    bfloat16,
    fits,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    given,
    index,
    int8,
    int32,
    maximum,
    uint8,
    uint32,
    uint64,
    where,
)

from .form import Histories, absolute, minimum

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (index, int8, int32, uint8, uint64)
SIGNED = (index, int8, int32)
WORDS = (int8, int32, uint8, uint64)
FLOATS = (float16, float32, float64, bfloat16, float8_e4m3fn, float8_e5m2)
ANY = (*SOME, *FLOATS)


@right(dtypes=SOME)
def not_less(x: Value, y: Value):
    """Every compiler, on integers."""
    return ~(x < y), y <= x


@wrong(dtypes=FLOATS)
def not_less_of_floats(x: Value, y: Value):
    """LLVM: the inverse of an ordered comparison is an unordered one."""
    return ~(x < y), y <= x


@right(dtypes=ANY)
def not_equal(x: Value, y: Value):
    """The one comparison whose inverse holds for NaN."""
    return ~(x == y), x != y


@right(dtypes=ANY)
def less_or_equal(x: Value, y: Value):
    """LLVM, InstCombine: two ordered comparisons joined."""
    return (x < y) | (x == y), x <= y


@right(dtypes=SOME)
def less_or_greater(x: Value, y: Value):
    """LLVM, InstCombine."""
    return (x < y) | (x > y), x != y


@wrong(dtypes=FLOATS)
def less_or_greater_of_floats(x: Value, y: Value):
    """LLVM: `one` is not `une`."""
    return (x < y) | (x > y), x != y


@right(dtypes=ANY)
def less_and_greater(x: Value, y: Value):
    """Never both."""
    return (x < y) & (y < x), x < x


@wrong(dtypes=ANY, but=SOME)
def equal_to_itself(x: Value):
    """NaN."""
    return x == x, ~(x < x)


@right(dtypes=ANY)
def antisymmetry(x: Value, y: Value):
    """LLVM, InstCombine: also for zeros of two signs."""
    return (x <= y) & (y <= x), x == y


@right(dtypes=ANY)
def transitivity(x: Value, y: Value, z: Value):
    """TVM, transitive comparisons."""
    given(x < y, y <= z)
    return x < z, y == y


@wrong(dtypes=ANY)
def transitivity_of_inequality(x: Value, y: Value, z: Value):
    """Unequal to one thing."""
    given(x != y, y != z)
    return x != z, z == z


@right(dtypes=ANY)
def strictly_less_by_two(x: Value, c: Const):
    """LLVM, InstCombine."""
    return (x <= c) & (x != c), x < c


@right(dtypes=SIGNED)
def below_the_next(x: Value, c: Const):
    """Canonical forms."""
    given(fits(c + 1))
    return x < c + 1, x <= c


@wrong(dtypes=SOME, but=[index])
def below_the_wrapped_next(x: Value, c: Const):
    """LLVM: x <= MAX becomes x < MIN."""
    return x < c + 1, x <= c


@wrong(dtypes=[float16, float32])
def below_the_next_float(x: Value, c: Const):
    """A rule of integers, on floats."""
    return x < c + 1, x <= c


# Sums and products ------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def sum_on_both_sides(x: Value, y: Value, c: Const):
    """LLVM, InstCombine."""
    given(fits(x + c), fits(y + c))
    return x + c < y + c, x < y


@wrong(dtypes=SOME, but=[index])
def wrapped_sum_on_both_sides(x: Value, y: Value, c: Const):
    """LLVM, InstCombine without nsw."""
    return x + c < y + c, x < y


@right(dtypes=SOME)
def equal_sums(x: Value, y: Value, c: Value):
    """Right even where they wrap."""
    return x + c == y + c, x == y


@wrong(dtypes=[float16, float64])
def equal_float_sums(x: Value, y: Value, c: Value):
    """Absorption."""
    given(x == x, y == y, c == 1)
    return x + c == y + c, x == y


@right(dtypes=SOME)
def moved_constant(x: Value, c: Const, d: Const):
    """LLVM, InstCombine: icmp eq (add X, C), D."""
    return x + c == d, x == d - c


@wrong(dtypes=[float16, float32, float64])
def moved_float_constant(x: Value, c: Const, d: Const):
    """The same on floats."""
    return x + c == d, x == d - c


@wrong(dtypes=SIGNED, but=[index])
def difference_below_zero(x: Value, y: Value):
    """qsort's comparators."""
    return x - y < 0, x < y


@right(dtypes=SIGNED)
def difference_that_fits_below_zero(x: Value, y: Value):
    """qsort's comparators, repaired."""
    given(fits(x - y))
    return x - y < 0, x < y


@right(dtypes=SOME)
def difference_is_zero(x: Value, y: Value):
    """Right even where it wraps."""
    return x - y == 0, x == y


@wrong(dtypes=FLOATS, but=[float8_e4m3fn])
def float_difference_is_zero(x: Value, y: Value):
    """Infinities; subnormals make it right elsewhere."""
    return x - y == 0, x == y


@right(dtypes=SOME)
def product_on_both_sides(x: Value, y: Value, c: Const):
    """LLVM, InstCombine."""
    given(c > 0, fits(x * c), fits(y * c))
    return x * c < y * c, x < y


@wrong(dtypes=SIGNED)
def product_of_any_sign_on_both_sides(x: Value, y: Value, c: Const):
    """LLVM, InstCombine without the sign."""
    given(c != 0, fits(x * c), fits(y * c))
    return x * c < y * c, x < y


@wrong(dtypes=SOME, but=[index])
def wrapped_product_on_both_sides(x: Value, y: Value, c: Const):
    """LLVM, InstCombine without nsw."""
    given(c > 0)
    return x * c < y * c, x < y


@right(dtypes=SIGNED)
def negated_on_both_sides(x: Value, y: Value):
    """LLVM, InstCombine."""
    given(fits(-x), fits(-y))
    return -x < -y, y < x


@wrong(dtypes=SIGNED, but=[index])
def wrapped_negated_on_both_sides(x: Value, y: Value):
    """The least value."""
    return -x < -y, y < x


@right(dtypes=FLOATS)
def negated_floats_on_both_sides(x: Value, y: Value):
    """LLVM, InstCombine: fcmp of two negatives."""
    return -x < -y, y < x


@wrong(dtypes=SOME, but=[index, uint8, uint64])
def square_is_natural(x: Value):
    """Squares that wrap."""
    return x * x >= 0, x == x


@right(dtypes=[index])
def square_of_a_sum(x: Value, y: Value):
    """The inequality of the means."""
    return x * x + y * y >= 2 * x * y, x == x


@right(dtypes=[index])
def squares_in_order(x: Value, y: Value):
    """Monotone on naturals."""
    given(x >= 0, y >= 0)
    return x * x < y * y, x < y


@wrong(dtypes=[index])
def squares_of_anything_in_order(x: Value, y: Value):
    """Not on integers."""
    return x * x < y * y, x < y


@right(dtypes=[index])
def zero_product(x: Value, y: Value):
    """No divisors of zero."""
    return x * y == 0, (x == 0) | (y == 0)


@wrong(dtypes=WORDS)
def wrapped_zero_product(x: Value, y: Value):
    """Machine words have them."""
    return x * y == 0, (x == 0) | (y == 0)


# Ranges -----------------------------------------------------------------------------------------------------------


@right(dtypes=[int32])
def range_by_one_comparison(x: Value, lo: Const, hi: Const):
    """LLVM, InstCombine: two comparisons become one unsigned."""
    given(lo <= hi)
    return (x >= lo) & (x < hi), (x - lo).bitcast(uint32) < (hi - lo).bitcast(uint32)


@wrong(dtypes=[int32])
def empty_range_by_one_comparison(x: Value, lo: Const, hi: Const):
    """LLVM, InstCombine: the range may be empty."""
    return (x >= lo) & (x < hi), (x - lo).bitcast(uint32) < (hi - lo).bitcast(uint32)


@right(dtypes=[int32])
def range_from_zero(x: Value, n: Const):
    """Bounds checks."""
    given(n >= 0)
    return (x >= 0) & (x < n), x.bitcast(uint32) < n.bitcast(uint32)


@right(dtypes=ANY)
def below_both(x: Value, a: Value, b: Value):
    """Halide, Simplify_LT; NaN included."""
    return (a < x) & (b < x), maximum(a, b) < x


@wrong(dtypes=FLOATS)
def below_one_of_floats(x: Value, a: Value, b: Value):
    """A maximum that keeps NaN."""
    return (x < a) | (x < b), x < maximum(a, b)


@right(dtypes=SOME)
def below_one(x: Value, a: Value, b: Value):
    """Halide, Simplify_LT."""
    return (x < a) | (x < b), x < maximum(a, b)


@wrong(dtypes=SOME)
def below_one_taken_for_both(x: Value, a: Value, b: Value):
    """And for or."""
    return (x < a) & (x < b), x < maximum(a, b)


@right(dtypes=SOME)
def below_the_lesser(x: Value, a: Value, b: Value):
    """Halide, Simplify_LT."""
    return x < minimum(a, b), (x < a) & (x < b)


@right(dtypes=ANY)
def overlapping_ranges(x: Value, a: Const, b: Const):
    """LLVM, InstCombine: the tighter bound stays."""
    given(a <= b)
    return (x < a) & (x < b), x < a


@wrong(dtypes=ANY)
def overlapping_ranges_loosened(x: Value, a: Const, b: Const):
    """The looser bound stays."""
    given(a <= b)
    return (x < a) & (x < b), x < b


@right(dtypes=SOME)
def adjacent_ranges(x: Value, a: Const, b: Const, c: Const):
    """TVM, splitting of loops."""
    given(a <= b, b <= c)
    return ((x >= a) & (x < b)) | ((x >= b) & (x < c)), (x >= a) & (x < c)


@right(dtypes=[index])
def far_from_a_point(x: Value, c: Const, r: Const):
    """A window around a point."""
    given(r >= 0)
    return absolute(x - c) <= r, (x >= c - r) & (x <= c + r)


@wrong(dtypes=[index])
def far_from_a_point_strictly(x: Value, c: Const, r: Const):
    """A window with one end too many."""
    given(r >= 0)
    return absolute(x - c) < r, (x >= c - r) & (x < c + r)


# Single values ----------------------------------------------------------------------------------------------------


@right(dtypes=[uint8, uint32, uint64])
def unsigned_is_natural(x: Value):
    """Every compiler."""
    return x >= 0, x == x


@right(dtypes=[uint8, uint32, uint64])
def unsigned_below_one(x: Value):
    """Every compiler."""
    return x < 1, x == 0


@right(dtypes=[int32])
def sign_by_shift(x: Value):
    """Every compiler."""
    return (x >> 31) != 0, x < 0


@right(dtypes=ANY)
def compared_choices(c: Bool, x: Value, y: Value, z: Value):
    """LLVM, InstCombine: cmp of a select."""
    return where(c, x, y) < z, where(c, x < z, y < z)


@wrong(dtypes=[float16, float32, float64, bfloat16])
def equal_bits(x: Value, y: Value):
    """Two zeros."""
    given(x == x)
    return x == y, ((x - y) == 0) & (x.recip() == y.recip())


@wrong(dtypes=[float32])
def equality_of_bits(x: Value, y: Value):
    """GCC: comparing floats by memcmp."""
    return x == y, x.bitcast(uint32) == y.bitcast(uint32)


@right(dtypes=[float32])
def nan_by_its_bits(x: Value):
    """Every library of mathematics."""
    return x != x, (x.bitcast(uint32) & 0x7FFFFFFF) > 0x7F800000


@right(dtypes=[float64])
def nan_by_its_long_bits(x: Value):
    """Every library of mathematics."""
    return x != x, (x.bitcast(uint64) & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000


@wrong(dtypes=[float32])
def nan_or_infinity_by_its_bits(x: Value):
    """The comparison with its end."""
    return x != x, (x.bitcast(uint32) & 0x7FFFFFFF) >= 0x7F800000


@vacuous(dtypes=ANY)
def less_than_itself(x: Value, y: Value):
    """No number is less than itself, and NaN is not either."""
    given(x < x)
    return maximum(x, y), y


@vacuous(dtypes=ANY)
def circle(x: Value, y: Value, z: Value):
    """An order has no circles."""
    given(x < y, y < z, z < x)
    return where(x < z, x, y), z


@vacuous(dtypes=[int8])
def above_the_greatest(x: Value):
    """A bound beyond the dtype."""
    given(x > 126, x < 127)
    return x * 2, x


@vacuous(dtypes=FLOATS)
def number_and_no_number(x: Value):
    """NaN and not NaN."""
    given(x == x, x != x)
    return x + x, x
