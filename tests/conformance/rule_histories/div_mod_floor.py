"""Division that rounds down: shapes of the simplifiers of Halide and TVM, and their bugs."""

from __future__ import annotations

from soundline.verify import (
    Const,
    Size,
    Value,
    fits,
    given,
    index,
    int8,
    int32,
    int64,
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


# One divisor ------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def parts_make_the_whole(x: Value, c: Value):
    """Every compiler; c = 0 included."""
    return (x // c) * c + x % c, x


@right(dtypes=SOME)
def remainder_from_quotient(x: Value, c: Value):
    """Every compiler."""
    return x - (x // c) * c, x % c


@right(dtypes=SOME)
def align_down(x: Value, c: Value):
    """Allocators of buffers."""
    return x - x % c, (x // c) * c


@right(dtypes=SOME)
def remainder_twice(x: Value, c: Value):
    """Halide, Simplify_Mod."""
    return (x % c) % c, x % c


@right(dtypes=SOME)
def quotient_of_remainder(x: Value, c: Value):
    """TVM, rewrite_simplify."""
    return (x % c) // c, 0


@right(dtypes=SOME)
def divide_by_one(x: Value):
    """Every compiler."""
    return x // 1, x


@right(dtypes=SOME)
def remainder_by_one(x: Value):
    """Every compiler."""
    return x % 1, 0


@right(dtypes=SIGNED)
def divide_by_minus_one(x: Value):
    """LLVM, InstSimplify: the least value wraps on both sides."""
    return x // -1, -x


@right(dtypes=SOME)
def zero_divided(x: Value):
    """Halide #4047, #4048: 0 % 0 was once reduced without a look at the divisor."""
    return (0 * x) // x + (0 * x) % x, 0


@right(dtypes=SOME)
def self_remainder(x: Value):
    """Halide, Simplify_Mod; 0 % 0 is 0."""
    return x % x, 0


@right(dtypes=SOME)
def self_quotient(x: Value):
    """Halide, Simplify_Div."""
    given(x != 0)
    return x // x, 1


@wrong(dtypes=SOME)
def self_quotient_at_zero(x: Value):
    """Halide #4638: rules that held until division by zero was defined."""
    return x // x, 1


@right(dtypes=SOME)
def exact_division_multiplies_back(x: Value, c: Const):
    """LLVM, `exact` division."""
    given(x % c == 0)
    return (x // c) * c, x


@wrong(dtypes=SOME)
def inexact_division_multiplies_back(x: Value, c: Const):
    """LLVM, `exact` without its promise."""
    given(c > 0)
    return (x // c) * c, x


@right(dtypes=SOME)
def multiple_divides_out(x: Value, c: Const):
    """LLVM, InstSimplify: (X * Y) / Y."""
    given(c != 0, fits(x * c))
    return (x * c) // c, x


@wrong(dtypes=SOME, but=[index])
def wrapped_multiple_divides_out(x: Value, c: Const):
    """LLVM, InstSimplify without the flag that nothing wraps."""
    given(c != 0)
    return (x * c) // c, x


@right(dtypes=SOME)
def remainder_lies_below_divisor(x: Value, c: Value):
    """Bounds of indices."""
    given(c > 0)
    return (x % c >= 0) & (x % c < c), x == x


@right(dtypes=SIGNED)
def remainder_lies_above_negative_divisor(x: Value, c: Value):
    """Python's manual."""
    given(c < 0)
    return (x % c <= 0) & (x % c > c), x == x


@wrong(dtypes=SIGNED)
def remainder_is_never_negative(x: Value, c: Value):
    """The same, from a Euclidean simplifier."""
    given(c != 0)
    return x % c >= 0, x == x


@right(dtypes=[index, int8, int32, uint8])
def division_is_monotone(x: Value, y: Value, c: Const):
    """Halide, Monotonic.cpp."""
    given(x <= y, c > 0)
    return x // c <= y // c, x == x


@wrong(dtypes=SIGNED)
def division_by_a_negative_is_monotone(x: Value, y: Value, c: Const):
    """Halide, Monotonic.cpp without the sign of the divisor."""
    given(x <= y, c != 0)
    return x // c <= y // c, x == x


@right(dtypes=SOME)
def maximum_divides(x: Value, y: Value, c: Const):
    """Halide, Simplify_Max: max(x / c, y / c)."""
    given(c > 0)
    return maximum(x // c, y // c), maximum(x, y) // c


@wrong(dtypes=SIGNED)
def maximum_divides_by_a_negative(x: Value, y: Value, c: Const):
    """Halide, Simplify_Max: a negative divisor makes it a minimum."""
    given(c < 0)
    return maximum(x // c, y // c), maximum(x, y) // c


@right(dtypes=[index])
def minimum_divides_by_a_negative(x: Value, y: Value, c: Const):
    """Halide, Simplify_Max, the right rule."""
    given(c < 0)
    return maximum(x // c, y // c), minimum(x, y) // c


# Small numbers ----------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def small_quotient_is_zero(x: Value, c: Value):
    """TVM, rewrite_simplify."""
    given(x >= 0, x < c)
    return x // c, 0


@right(dtypes=SOME)
def small_remainder_is_itself(x: Value, c: Value):
    """TVM, rewrite_simplify."""
    given(x >= 0, x < c)
    return x % c, x


@wrong(dtypes=SIGNED)
def small_quotient_without_lower_bound(x: Value, c: Value):
    """A simplifier that asked for the upper bound alone."""
    given(x < c)
    return x // c, 0


@right(dtypes=SIGNED)
def just_below_zero(x: Value, c: Value):
    """TVM, rewrite_simplify."""
    given(x < 0, x >= -c, c > 0)
    return x // c, x * 0 - 1


@right(dtypes=SIGNED)
def remainder_just_below_zero(x: Value, c: Value):
    """Padding that wraps around."""
    given(x < 0, x >= -c, c > 0)
    return x % c, x + c


@right(dtypes=[index, int8, int32])
def remainder_in_second_period(x: Value, c: Value):
    """Circular buffers."""
    given(x >= c, x < 2 * c, fits(2 * c))
    return x % c, x - c


@wrong(dtypes=[index, int8, int32])
def remainder_in_second_period_and_its_end(x: Value, c: Value):
    """Circular buffers, off by one."""
    given(x >= c, x <= 2 * c, fits(2 * c))
    return x % c, x - c


# Sums -------------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def multiple_leaves_the_quotient(x: Value, y: Value, c: Const):
    """Halide, Simplify_Div: (x * c + y) / c."""
    given(c != 0, fits(x * c + y))
    return (x * c + y) // c, x + y // c


@wrong(dtypes=SOME)
def multiple_leaves_the_quotient_by_zero(x: Value, y: Value, c: Const):
    """Halide #4689: the rule lost its footing when x / 0 became 0."""
    given(fits(x * c + y))
    return (x * c + y) // c, x + y // c


@right(dtypes=SOME)
def multiple_leaves_the_remainder(x: Value, y: Value, c: Const):
    """Halide, Simplify_Mod."""
    given(fits(x * c + y))
    return (x * c + y) % c, y % c


@wrong(dtypes=SOME, but=[index])
def wrapped_multiple_leaves_the_remainder(x: Value, y: Value, c: Const):
    """Halide at 8 bits: 2^8 is no multiple of c."""
    return (x * c + y) % c, y % c


@right(dtypes=SIGNED)
def constant_multiple_leaves_the_quotient(x: Value, c0: Const, c1: Const):
    """Halide, Simplify_Div: (x + c0) / c1."""
    given(c0 % c1 == 0, c1 > 0, fits(x + c0))
    return (x + c0) // c1, x // c1 + c0 // c1


@wrong(dtypes=SIGNED)
def constant_leaves_the_quotient(x: Value, c0: Const, c1: Const):
    """Halide, Simplify_Div without divisibility."""
    given(c1 > 0, fits(x + c0))
    return (x + c0) // c1, x // c1 + c0 // c1


@right(dtypes=SIGNED)
def difference_from_one_less_than_a_multiple(y: Value, c0: Const, c1: Const):
    """Halide #5771: (c0 - y) / c1."""
    given(c1 > 0, (c0 + 1) % c1 == 0, fits(c0 + 1), fits(c0 - y))
    return (c0 - y) // c1, c0 // c1 - y // c1


@wrong(dtypes=SIGNED)
def difference_from_a_multiple(y: Value, c0: Const, c1: Const):
    """Halide #5771, one off."""
    given(c1 > 0, c0 % c1 == 0, fits(c0 - y))
    return (c0 - y) // c1, c0 // c1 - y // c1


@right(dtypes=[index])
def ternary_sum(x: Value, y: Value, z: Value):
    """Halide #1349."""
    return ((x * 4 - y) + z) // 2, x * 2 + (z - y) // 2


@wrong(dtypes=[index])
def ternary_sum_negated(x: Value, y: Value, z: Value):
    """Halide #1349, as a reviewer found it: (-a) / 2 is not -(a / 2)."""
    return ((x * 4 - y) + z) // 2, x * 2 - (y - z) // 2


@right(dtypes=[index])
def negative_multiple(x: Value, y: Value):
    """Halide #4909."""
    return (x * -2 - y) // 2, (0 - y) // 2 - x


@wrong(dtypes=[index])
def negative_multiple_with_the_sign_outside(x: Value, y: Value):
    """Halide #4909, with the sign of y taken out."""
    return (x * -2 - y) // 2, 0 - y // 2 - x


@right(dtypes=[index, int32])
def sum_with_common_factor(x: Value):
    """TVM #2308: right for the floor."""
    given(fits(48 * x + 241))
    return (48 * x + 241) // 16, 3 * x + 15


@right(dtypes=[index])
def last_digit_drops(x: Value):
    """TVM #2308."""
    return (10 * x + 5) // 10, x


@right(dtypes=SOME)
def one_period_on(x: Value, c: Value):
    """Circular indices."""
    given(fits(x + c))
    return (x + c) % c, x % c


@wrong(dtypes=SOME, but=[index])
def one_wrapped_period_on(x: Value, c: Value):
    """Circular indices in narrow counters."""
    return (x + c) % c, x % c


@right(dtypes=[index])
def one_period_back(x: Value, c: Value):
    """Halide, Simplify_Div."""
    given(c != 0)
    return (x - c) // c, x // c - 1


@wrong(dtypes=[index])
def one_period_back_by_zero(x: Value, c: Value):
    """The same where c may be 0."""
    return (x - c) // c, x // c - 1


@wrong(dtypes=SOME)
def quotient_of_a_sum(x: Value, y: Value, c: Const):
    """The first thing that a beginner writes."""
    given(c > 0, fits(x + y))
    return (x + y) // c, x // c + y // c


@right(dtypes=[index, int8, int32])
def quotient_of_a_sum_with_a_multiple(x: Value, y: Value, c: Const):
    """TVM, canonical_simplify."""
    given(c > 0, x % c == 0, fits(x + y))
    return (x + y) // c, x // c + y // c


@right(dtypes=[index])
def halves_of_a_number(x: Value):
    """Hermite's identity."""
    return x // 2 + (x + 1) // 2, x


@right(dtypes=[index])
def thirds_of_a_number(x: Value):
    """Hermite's identity."""
    return x // 3 + (x + 1) // 3 + (x + 2) // 3, x


@wrong(dtypes=SOME)
def two_equal_halves(x: Value):
    """Splitting work in two."""
    return x // 2 + x // 2, x


@right(dtypes=[index, int32])
def rounding_up_to_even(x: Value):
    """Halves that round up."""
    given(fits(x + 1))
    return (x + x % 2) // 2, (x + 1) // 2


@right(dtypes=[index])
def remainder_of_a_sum_of_remainders(x: Value, y: Value, c: Value):
    """Modular arithmetic."""
    return (x % c + y % c) % c, (x + y) % c


@wrong(dtypes=[int8, uint8, int32])
def remainder_of_a_wrapped_sum(x: Value, y: Value, c: Value):
    """Modular arithmetic in machine words."""
    return (x % c + y) % c, (x + y) % c


@right(dtypes=[index])
def remainder_of_a_product(x: Value, y: Value, c: Value):
    """Modular arithmetic."""
    return ((x % c) * (y % c)) % c, (x * y) % c


@right(dtypes=[index])
def remainder_of_a_difference(x: Value, y: Value, c: Value):
    """Modular arithmetic."""
    return (x - y % c) % c, (x - y) % c


# Signs ------------------------------------------------------------------------------------------------------------


@right(dtypes=[index])
def sign_moves_to_the_divisor(x: Value, c: Value):
    """Halide #2949, in the convention in which it is right."""
    return (-x) // c, x // (-c)


@right(dtypes=[index])
def both_signs_change(x: Value, c: Value):
    """LLVM, InstCombine: -X / -Y."""
    return (-x) // (-c), x // c


@wrong(dtypes=[int8, int32])
def both_signs_change_in_words(x: Value, c: Value):
    """LLVM, InstCombine: -X / -Y without nsw."""
    return (-x) // (-c), x // c


@right(dtypes=[index])
def negative_gcd(x: Value):
    """Halide #2949."""
    return (x * -3) // 6, x // -2


@wrong(dtypes=SIGNED)
def sign_moves_out(x: Value, c: Value):
    """A C programmer's rule."""
    given(c > 0)
    return (-x) // c, -(x // c)


@right(dtypes=[index])
def remainder_changes_sign_with_both(x: Value, c: Value):
    """Python's manual."""
    return (-x) % (-c), -(x % c)


@wrong(dtypes=SIGNED)
def sign_of_the_divisor_does_not_matter(x: Value, c: Value):
    """A rule of the truncating remainder."""
    return x % (-c), x % c


@right(dtypes=[index, int8, int32])
def remainder_of_the_negative(x: Value, c: Value):
    """Distance to the next multiple."""
    given(c > 0, fits(-x))
    return (-x) % c, where(x % c == 0, 0, c - x % c)


@wrong(dtypes=[index, int8, int32])
def remainder_of_the_negative_of_a_multiple(x: Value, c: Value):
    """Distance to the next multiple, which is never c."""
    given(c > 0, fits(-x))
    return (-x) % c, c - x % c


# Rounding up ------------------------------------------------------------------------------------------------------


@right(dtypes=[index, int8, int32, int64])
def ceiling_by_negation(x: Value, c: Value):
    """Numbers of blocks."""
    given(c > 0, fits(x + c - 1), fits(-x))
    return (x + c - 1) // c, -((-x) // c)


@right(dtypes=SOME)
def ceiling_by_test(x: Value, c: Value):
    """Numbers of blocks."""
    given(c > 0, fits(x + (c - 1)))
    return (x + (c - 1)) // c, where(x % c == 0, x // c, x // c + 1)


@right(dtypes=SOME)
def ceiling_from_below(x: Value, c: Value):
    """Numbers of blocks."""
    given(c > 0, fits(x - 1), fits(x + (c - 1)))
    return (x + (c - 1)) // c, (x - 1) // c + 1


@wrong(dtypes=[uint8, uint64])
def ceiling_from_below_zero(x: Value, c: Value):
    """Numbers of blocks, of no elements."""
    given(c > 0, fits(x + (c - 1)))
    return (x + (c - 1)) // c, (x - 1) // c + 1


@wrong(dtypes=SOME)
def ceiling_one_too_many(x: Value, c: Value):
    """Numbers of blocks, off by one."""
    given(c > 0, fits(x + c))
    return (x + c) // c, where(x % c == 0, x // c, x // c + 1)


@wrong(dtypes=[uint8, int32, uint64])
def ceiling_that_wraps(x: Value, c: Value):
    """Numbers of blocks of nearly all memory."""
    given(c > 0, x >= 0)
    return (x + (c - 1)) // c, where(x % c == 0, x // c, x // c + 1)


@right(dtypes=[index])
def trip_count(a: Value, b: Value, s: Const):
    """LLVM, scalar evolution."""
    given(s > 0, a < b)
    return (b - a + s - 1) // s, (b - 1 - a) // s + 1


@right(dtypes=[index])
def rounded_up_multiple(x: Value, c: Const):
    """Padding of buffers."""
    given(c > 0)
    return ((x + c - 1) // c) * c, x + (-x) % c


# Comparisons ------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def quotient_below(x: Value, y: Value, c: Const):
    """Halide, Simplify_LT: x / c < y."""
    given(c > 0, fits(y * c))
    return x // c < y, x < y * c


@wrong(dtypes=SOME)
def quotient_at_most(x: Value, y: Value, c: Const):
    """Halide, Simplify_LT, with the wrong comparison."""
    given(c > 0, fits(y * c))
    return x // c <= y, x <= y * c


@right(dtypes=[index, int8, int32])
def quotient_above(x: Value, y: Value, c: Const):
    """Halide, Simplify_LT."""
    given(c > 0, fits((y + 1) * c))
    return x // c > y, x >= (y + 1) * c


@right(dtypes=[index, int8, int32])
def quotient_equals(x: Value, y: Value, c: Const):
    """LLVM, InstCombine: (X / C) == Y as a range."""
    given(c > 0, fits(y * c + c))
    return x // c == y, (y * c <= x) & (x < y * c + c)


@right(dtypes=SOME)
def parts_are_equal(x: Value, y: Value, c: Value):
    """Strides and offsets compared one by one."""
    return (x // c == y // c) & (x % c == y % c), x == y


@wrong(dtypes=SOME)
def remainders_are_equal(x: Value, y: Value, c: Const):
    """Hash buckets taken for keys."""
    given(c > 0)
    return x % c == y % c, x == y


@right(dtypes=[index, int8])
def upper_half_of_a_period(x: Value, c: Const):
    """Double buffers."""
    given(c > 0, fits(c * 2))
    return x % (c * 2) >= c, (x // c) % 2 == 1


# Two divisors -----------------------------------------------------------------------------------------------------


@right(dtypes=SIGNED)
def quotient_of_quotient(x: Value, a: Const, b: Const):
    """Halide, Simplify_Div: (x / a) / b."""
    given(a > 0, b > 0, fits(a * b))
    return (x // a) // b, x // (a * b)


@right(dtypes=[index])
def quotient_of_quotient_of_any_sign_first(x: Value, a: Const, b: Const):
    """The first divisor may have any sign."""
    given(b > 0)
    return (x // a) // b, x // (a * b)


@wrong(dtypes=SIGNED)
def quotient_of_quotient_of_any_sign(x: Value, a: Const, b: Const):
    """The second may not."""
    given(a > 0, fits(a * b))
    return (x // a) // b, x // (a * b)


@wrong(dtypes=SOME, but=[index])
def quotient_by_a_wrapped_product(x: Value, a: Const, b: Const):
    """LLVM, InstCombine checks this product."""
    given(a > 0, b > 0)
    return (x // a) // b, x // (a * b)


@right(dtypes=SOME)
def order_of_divisors(x: Value, a: Const, b: Const):
    """Right even where the product of the divisors would wrap."""
    given(a > 0, b > 0)
    return (x // a) // b, (x // b) // a


@wrong(dtypes=SIGNED)
def order_of_divisors_of_any_sign(x: Value, a: Const, b: Const):
    """The same without signs."""
    given(a != 0, b != 0)
    return (x // a) // b, (x // b) // a


@right(dtypes=SOME)
def common_factor_of_quotient(x: Value, y: Value, a: Value):
    """Halide, Simplify_Div; all of them variables."""
    given(a != 0, fits(x * a), fits(y * a))
    return (x * a) // (y * a), x // y


@wrong(dtypes=SOME)
def common_factor_zero_of_quotient(x: Value, y: Value, a: Value):
    """The factor may be 0."""
    given(fits(x * a), fits(y * a))
    return (x * a) // (y * a), x // y


@right(dtypes=SOME)
def common_factor_of_remainder(x: Value, y: Value, a: Value):
    """Halide, Simplify_Mod; even for a factor of 0."""
    given(fits(x * a), fits(y * a))
    return (x * a) % (y * a), (x % y) * a


@wrong(dtypes=SOME)
def common_factor_lost_from_remainder(x: Value, y: Value, a: Value):
    """The quotient's rule, applied to the remainder."""
    given(a > 0, fits(x * a), fits(y * a))
    return (x * a) % (y * a), x % y


@right(dtypes=SOME)
def remainder_by_a_divisor_of_the_divisor(x: Value, c: Const, d: Const):
    """Halide, Simplify_Mod; for every sign."""
    given(c % d == 0)
    return (x % c) % d, x % d


@wrong(dtypes=SOME)
def remainder_by_a_multiple_of_the_divisor(x: Value, c: Const, d: Const):
    """The condition the wrong way round."""
    given(d % c == 0, c > 0)
    return (x % c) % d, x % d


@right(dtypes=SOME)
def quotient_of_remainder_by_a_divisor(x: Value, c: Const, d: Const):
    """Index splitting: a digit of a digit."""
    given(d > 0, c > 0, c % d == 0)
    return (x % c) // d, (x // d) % (c // d)


@wrong(dtypes=SOME)
def quotient_of_remainder_by_any_number(x: Value, c: Const, d: Const):
    """Index splitting where the split is uneven."""
    given(d > 0, c > 0)
    return (x % c) // d, (x // d) % (c // d)


@wrong(dtypes=SIGNED)
def quotient_of_remainder_of_negative_period(x: Value, c: Const, d: Const):
    """Index splitting with a negative period."""
    given(d > 0, c < 0, c % d == 0)
    return (x % c) // d, (x // d) % (c // d)


@right(dtypes=SOME)
def digit_of_a_number(x: Value, a: Const, b: Const):
    """TVM, iter_affine_map."""
    given(a > 0, b > 0, fits(a * b))
    return (x % (a * b)) // a, (x // a) % b


@wrong(dtypes=SOME)
def digit_of_a_number_in_the_wrong_order(x: Value, a: Const, b: Const):
    """Row-major taken for column-major."""
    given(a > 0, b > 0, fits(a * b))
    return (x % (a * b)) // a, (x // b) % a


@right(dtypes=SOME)
def digits_make_the_number(x: Value, a: Const, b: Const):
    """TVM, iter_affine_map."""
    given(a > 0, b > 0, fits(a * b))
    return (x // (a * b)) * b + (x // a) % b, x // a


@right(dtypes=[index, int8, int32])
def two_digits_make_the_remainder(x: Value, a: Const, b: Const):
    """TVM, iter_affine_map."""
    given(a > 0, b > 0, fits(a * b))
    return ((x // a) % b) * a + x % a, x % (a * b)


@right(dtypes=[index])
def three_digits_make_the_number(x: Value, a: Const, b: Const):
    """Unflattening and flattening again."""
    given(a > 0, b > 0)
    return ((x // (a * b)) * a + (x // b) % a) * b + x % b, x


@right(dtypes=[index, int32])
def factor_of_divisor_cancels(x: Value, c0: Const, c1: Const):
    """Halide, Simplify_Div: (x * c0) / c1."""
    given(c0 > 0, c1 > 0, c1 % c0 == 0, fits(x * c0))
    return (x * c0) // c1, x // (c1 // c0)


@right(dtypes=SOME)
def divisor_of_factor_cancels(x: Value, c0: Const, c1: Const):
    """Halide, Simplify_Div: (x * c0) / c1."""
    given(c1 > 0, c0 % c1 == 0, fits(x * c0))
    return (x * c0) // c1, x * (c0 // c1)


@wrong(dtypes=SOME)
def factor_cancels_rounded(x: Value, c0: Const, c1: Const):
    """Without divisibility."""
    given(c1 > 0, fits(x * c0))
    return (x * c0) // c1, x * (c0 // c1)


@right(dtypes=[index, int32])
def factor_cancels_from_a_sum(x: Value, y: Value, c0: Const, c1: Const):
    """Halide, Simplify_Div: (x * c0 + y) / c1."""
    given(c0 > 0, c1 > 0, c1 % c0 == 0, fits(x * c0 + y), fits(x + y // c0))
    return (x * c0 + y) // c1, (x + y // c0) // (c1 // c0)


@wrong(dtypes=[index, int32])
def factor_cancels_from_a_sum_unevenly(x: Value, y: Value, c0: Const, c1: Const):
    """Halide, Simplify_Div without divisibility."""
    given(c0 > 0, c1 >= c0, fits(x * c0 + y), fits(x + y // c0))
    return (x * c0 + y) // c1, (x + y // c0) // (c1 // c0)


@right(dtypes=[index])
def factor_stays_in_the_remainder(x: Value, y: Value, c0: Const, c1: Const):
    """Halide, Simplify_Mod: (x * c0 + y) % c1."""
    given(c0 > 0, c1 > 0, c1 % c0 == 0)
    return (x * c0 + y) % c1, ((x + y // c0) % (c1 // c0)) * c0 + y % c0


@right(dtypes=[index, int32])
def small_rest_stays(x: Value, y: Value, c0: Const, c1: Const):
    """TVM #8616: the remainder of a ramp."""
    given(c0 > 0, c1 > 0, c1 % c0 == 0, y >= 0, y < c0, fits(x * c0 + y))
    return (x * c0 + y) % c1, (x * c0) % c1 + y


@wrong(dtypes=[index, int32])
def any_rest_stays(x: Value, y: Value, c0: Const, c1: Const):
    """TVM #8616, #8852: the check of the coefficient was missing."""
    given(c0 > 0, c1 > 0, c1 % c0 == 0, y >= 0, fits(x * c0 + y))
    return (x * c0 + y) % c1, (x * c0) % c1 + y


@right(dtypes=[index, int32])
def small_rest_drops(x: Value, y: Value, c0: Const, c1: Const):
    """TVM #8852: the quotient of a ramp."""
    given(c0 > 0, c1 > 0, c1 % c0 == 0, y >= 0, y < c0, fits(x * c0 + y))
    return (x * c0 + y) // c1, (x * c0) // c1


@right(dtypes=[index])
def middle_digit(x: Value, y: Value, z: Value, a: Size, b: Size):
    """Flattening three axes and reading one."""
    given(y >= 0, y < a, z >= 0, z < b)
    return (((x * a + y) * b + z) // b) % a, y


@wrong(dtypes=[index])
def middle_digit_with_its_end(x: Value, y: Value, z: Value, a: Size, b: Size):
    """An index that may equal its size."""
    given(y >= 0, y <= a, z >= 0, z < b)
    return (((x * a + y) * b + z) // b) % a, y


@right(dtypes=[index])
def leading_digit(x: Value, y: Value, z: Value, a: Size, b: Size):
    """Flattening three axes and reading the first."""
    given(y >= 0, y < a, z >= 0, z < b)
    return ((x * a + y) * b + z) // (a * b), x


@right(dtypes=[index])
def distributed_leading_digit(x: Value, y: Value, z: Value, a: Size, b: Size):
    """The same, multiplied out."""
    given(y >= 0, y < a, z >= 0, z < b)
    return (x * a * b + y * b + z) // (a * b), x


@right(dtypes=[index])
def flattened_index_stays_inside(i: Value, j: Value, m: Size, n: Size):
    """Bounds of a flattened access."""
    given(i >= 0, i < m, j >= 0, j < n)
    return i * n + j < m * n, i == i


@wrong(dtypes=[index])
def flattened_index_with_the_other_stride(i: Value, j: Value, m: Size, n: Size):
    """Bounds with the wrong stride."""
    given(i >= 0, i < m, j >= 0, j < n)
    return i * m + j < m * n, i == i


@right(dtypes=[index])
def square_tile_swizzle(x: Value, c: Size):
    """Transposing inside a flat index, twice."""
    given(x >= 0, x < c * c)
    return ((x % c) * c + x // c) // c, x % c


# Parity -----------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def square_keeps_parity(x: Value):
    """Number theory; wrapping keeps it."""
    return (x * x) % 2, x % 2


@right(dtypes=SOME)
def neighbours_make_an_even_product(x: Value):
    """Number theory."""
    return (x * (x + 1)) % 2, 0


@right(dtypes=[index])
def triangular_number(n: Value):
    """Packed triangles: n(n + 1)/2 is whole."""
    return ((n * (n + 1)) // 2) * 2, n * (n + 1)


@right(dtypes=[index])
def triangular_step(n: Value):
    """Packed triangles: the next row starts n + 1 further."""
    return ((n + 1) * (n + 2)) // 2, (n * (n + 1)) // 2 + n + 1


@right(dtypes=[index, int8, uint32])
def odd_squares(x: Value):
    """Number theory."""
    given(x % 2 == 1)
    return (x * x) % 8, 1


@wrong(dtypes=[index, int8, uint32])
def even_squares(x: Value):
    """Number theory, misremembered."""
    given(x % 2 == 0)
    return (x * x) % 8, 0


@right(dtypes=[index])
def cube_minus_itself(x: Value):
    """Number theory."""
    return (x * x * x - x) % 6, 0


@wrong(dtypes=[index])
def fifth_is_not_six(x: Value):
    """Number theory, overdone."""
    return (x * x * x - x) % 12, 0


# Nothing said -----------------------------------------------------------------------------------------------------


@vacuous(dtypes=SOME)
def remainder_reaches_divisor(x: Value, c: Const):
    """A bound the wrong way round."""
    given(c > 0, x % c >= c)
    return x % c, c


@vacuous(dtypes=SOME)
def odd_and_even(x: Value):
    """Two conditions that contradict each other."""
    given(x % 2 == 1, x % 4 == 2)
    return x // 4, x // 2


@vacuous(dtypes=[index, int8, int32])
def twice_something_is_one(x: Value, c: Const):
    """No even number is odd, wrapped or not."""
    given(c * 2 == 1)
    return x // c, x


@vacuous(dtypes=[index, int8, uint32])
def root_of_two(x: Value):
    """No square is 2, wrapped or not."""
    given(x * x == 2)
    return x + 1, x


@vacuous(dtypes=[index])
def two_squares_make_three(x: Value, y: Value):
    """Fermat."""
    given(x * x + y * y == 3)
    return x + y, x


@vacuous(dtypes=SOME)
def same_quotient_twice(x: Value, c: Value):
    """A typing slip: both sides are one term."""
    return x // c, x // c


@vacuous(dtypes=[index])
def quotient_grows(x: Value, c: Const):
    """No quotient of natural numbers is greater."""
    given(x > 0, c > 0, x // c > x)
    return x, c


@right(dtypes=[index])
def distance_is_a_remainder(x: Value, y: Value, n: Size):
    """Neighbours on a ring."""
    given(x >= 0, x < n, y >= 0, y < n, x <= y)
    return (x - y) % n, where(x == y, 0, n - (y - x))


@right(dtypes=[index])
def magnitude_of_a_remainder(x: Value, c: Value):
    """Python's manual."""
    given(c != 0)
    return absolute(x % c) < absolute(c), c == c
