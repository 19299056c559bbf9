"""Division toward zero, as C and LLVM have it: reductions of InstCombine, magic numbers, and their bugs."""

from __future__ import annotations

from soundline.verify import (
    Const,
    Value,
    cdiv,
    cmod,
    fits,
    given,
    index,
    int8,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    where,
)

from .form import Histories, absolute

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SIGNED = (index, int8, int32)
WORDS = (int8, int32)


@right(dtypes=[index, int8, int32, uint8, uint64])
def parts_make_the_whole(x: Value, c: Value):
    """The C standard."""
    return cdiv(x, c) * c + cmod(x, c), x


@wrong(dtypes=SIGNED)
def floor_quotient_with_truncated_remainder(x: Value, c: Value):
    """HalideIR #52: the rules of one remainder applied to the other."""
    return (x // c) * c + cmod(x, c), x


@wrong(dtypes=SIGNED)
def truncated_is_floor(x: Value, c: Value):
    """TVM's floordiv lowered to C's division."""
    given(c > 0)
    return cdiv(x, c), x // c


@right(dtypes=[index, int8, int32, uint8])
def truncated_is_floor_of_naturals(x: Value, c: Value):
    """TVM's floordiv lowered to C's division, where it may be."""
    given(x >= 0, c > 0)
    return cdiv(x, c), x // c


@right(dtypes=SIGNED)
def truncated_is_floor_of_equal_signs(x: Value, c: Value):
    """The quotient of two negative numbers."""
    given(x <= 0, c < 0)
    return cdiv(x, c), x // c


@right(dtypes=SIGNED)
def truncated_from_floor(x: Value, c: Value):
    """GCC, expanding a division."""
    return cdiv(x, c), x // c + where((x % c != 0) & ((x < 0) != (c < 0)) & (c != 0), 1, 0)


@wrong(dtypes=SIGNED)
def truncated_from_floor_of_exact(x: Value, c: Value):
    """The correction where nothing is to be corrected."""
    given(c != 0)
    return cdiv(x, c), x // c + where((x < 0) != (c < 0), 1, 0)


@right(dtypes=SIGNED)
def floor_from_truncated(x: Value, c: Value):
    """TVM, lowering floordiv."""
    given(c != 0)
    return cdiv(x, c) - where((cmod(x, c) != 0) & ((cmod(x, c) < 0) != (c < 0)), 1, 0), x // c


@right(dtypes=SIGNED)
def floor_remainder_from_truncated(x: Value, c: Value):
    """TVM, lowering floormod."""
    given(c != 0)
    r = cmod(x, c)
    return where((r != 0) & ((r < 0) != (c < 0)), r + c, r), x % c


@wrong(dtypes=SIGNED)
def floor_remainder_by_sign_alone(x: Value, c: Value):
    """TVM #4127: the divisor may be negative too."""
    given(c != 0)
    r = cmod(x, c)
    return where(r < 0, r + c, r), x % c


@right(dtypes=SIGNED)
def floor_remainder_by_positive_divisor(x: Value, c: Value):
    """The same, where the divisor is positive."""
    given(c > 0)
    r = cmod(x, c)
    return where(r < 0, r + c, r), x % c


@wrong(dtypes=SIGNED, but=[index])
def floor_remainder_by_two_remainders(x: Value, c: Value):
    """((a % b) + b) % b, which wraps."""
    given(c > 0)
    return cmod(cmod(x, c) + c, c), x % c


@right(dtypes=SIGNED)
def floor_remainder_by_two_remainders_that_fit(x: Value, c: Value):
    """((a % b) + b) % b."""
    given(c > 0, c < 64)
    return cmod(cmod(x, c) + c, c), x % c


# Signs ------------------------------------------------------------------------------------------------------------


@right(dtypes=SIGNED)
def negated_dividend(x: Value, c: Value):
    """LLVM, InstCombine: -X / Y."""
    given(fits(-x))
    return cdiv(-x, c), -cdiv(x, c)


@wrong(dtypes=SIGNED, but=[index])
def negated_dividend_that_wraps(x: Value, c: Value):
    """LLVM, InstCombine without nsw."""
    return cdiv(-x, c), -cdiv(x, c)


@right(dtypes=SIGNED)
def negated_divisor(x: Value, c: Value):
    """LLVM, InstCombine: X / -Y."""
    given(fits(-c))
    return cdiv(x, -c), -cdiv(x, c)


@wrong(dtypes=SIGNED, but=[index])
def negated_divisor_that_wraps(x: Value, c: Value):
    """LLVM, InstCombine without nsw."""
    return cdiv(x, -c), -cdiv(x, c)


@right(dtypes=SIGNED)
def remainder_ignores_the_divisors_sign(x: Value, c: Value):
    """LLVM, InstCombine: X % -Y; even for the least value."""
    return cmod(x, -c), cmod(x, c)


@right(dtypes=SIGNED)
def remainder_takes_the_dividends_sign(x: Value, c: Value):
    """LLVM, InstCombine: -X % Y."""
    given(fits(-x))
    return cmod(-x, c), -cmod(x, c)


@wrong(dtypes=SIGNED, but=[index])
def remainder_takes_the_dividends_wrapped_sign(x: Value, c: Value):
    """LLVM, InstCombine without nsw."""
    return cmod(-x, c), -cmod(x, c)


@right(dtypes=SIGNED)
def remainder_of_naturals_is_natural(x: Value, c: Value):
    """LLVM, ValueTracking."""
    given(x >= 0)
    return cmod(x, c) >= 0, x == x


@wrong(dtypes=SIGNED)
def remainder_by_naturals_is_natural(x: Value, c: Value):
    """Indexing a table with a hash of a signed type."""
    given(c > 0)
    return cmod(x, c) >= 0, x == x


@right(dtypes=[index])
def remainder_is_smaller(x: Value, c: Value):
    """LLVM, ValueTracking."""
    given(c != 0)
    return absolute(cmod(x, c)) < absolute(c), c == c


@wrong(dtypes=SIGNED, but=[index])
def number_by_its_negative(x: Value):
    """LLVM #71768: -X / X is 1 at the least value."""
    given(x != 0)
    return cdiv(-x, x), x * 0 - 1


@right(dtypes=[int8])
def number_by_its_negative_in_bytes(x: Value):
    """LLVM #69574."""
    given(x != 0)
    return cdiv(-x, x), where(x == -128, 1, -1)


@right(dtypes=[int32])
def number_by_its_negative_in_words(x: Value):
    """LLVM #69574."""
    given(x != 0)
    return cdiv(-x, x), where(x == -2147483648, 1, -1)


@right(dtypes=SIGNED)
def divided_by_minus_one(x: Value):
    """LLVM, InstCombine; the least value wraps."""
    return cdiv(x, x * 0 - 1), -x


@right(dtypes=[int32])
def divided_by_the_least(x: Value):
    """LLVM, InstCombine: X / INT_MIN."""
    least = (x * 0 + 1) << 31
    return cdiv(x, least), (x == least).cast(int32)


# Two divisors -----------------------------------------------------------------------------------------------------


@right(dtypes=[index])
def quotient_of_quotient(x: Value, a: Const, b: Const):
    """LLVM, InstCombine: (X / C1) / C2, for every sign."""
    return cdiv(cdiv(x, a), b), cdiv(x, a * b)


@right(dtypes=WORDS)
def quotient_of_quotient_that_fits(x: Value, a: Const, b: Const):
    """LLVM, InstCombine: the product must not wrap, and neither may the first quotient."""
    given(fits(a * b), fits(cdiv(x, a)))
    return cdiv(cdiv(x, a), b), cdiv(x, a * b)


@wrong(dtypes=WORDS)
def quotient_of_wrapped_quotient(x: Value, a: Const, b: Const):
    """LLVM, InstCombine: the least value by -1."""
    given(fits(a * b))
    return cdiv(cdiv(x, a), b), cdiv(x, a * b)


@wrong(dtypes=WORDS)
def quotient_by_wrapped_product(x: Value, a: Const, b: Const):
    """LLVM, InstCombine without the check of the product."""
    given(a > 0, b > 0)
    return cdiv(cdiv(x, a), b), cdiv(x, a * b)


@right(dtypes=SIGNED)
def product_divides_out(x: Value, y: Value):
    """LLVM, InstSimplify: (X * Y) / Y."""
    given(y != 0, fits(x * y))
    return cdiv(x * y, y), x


@wrong(dtypes=WORDS)
def wrapped_product_divides_out(x: Value, y: Value):
    """LLVM, InstSimplify without nsw."""
    given(y != 0)
    return cdiv(x * y, y), x


@right(dtypes=SIGNED)
def common_factor(x: Value, y: Value, a: Value):
    """LLVM, InstCombine: (X * Z) / (Y * Z)."""
    given(a != 0, fits(x * a), fits(y * a))
    return cdiv(x * a, y * a), cdiv(x, y)


@right(dtypes=SIGNED)
def common_factor_of_remainder(x: Value, y: Value, a: Value):
    """LLVM, simplifyIRemMulShl: (X * Z) % (Y * Z)."""
    given(fits(x * a), fits(y * a))
    return cmod(x * a, y * a), cmod(x, y) * a


@right(dtypes=SIGNED)
def remainder_of_two_multiples(x: Value):
    """LLVM, simplifyIRemMulShl: (X * 5) % (X * 3)."""
    given(fits(x * 5), fits(x * 3))
    return cmod(x * 5, x * 3), x * 2


@wrong(dtypes=[int8])
def remainder_of_shift_and_multiple(x: Value):
    """LLVM #121584: at 8 bits the shift by 7 is -128, not 128."""
    given(fits(x * 127), fits(x << 7))
    return cmod(x << 7, x * 127), -x


@wrong(dtypes=[int8])
def remainder_of_one_by_a_power(x: Value, y: Value):
    """LLVM #89516."""
    r = cmod(1, 1 << x)
    return where(y < 0, r + (1 << x), r), (x != 0).cast(int8)


@right(dtypes=[index])
def quotient_of_equal_quotients(x: Value, c: Const, d: Const):
    """LLVM: (X % (C * D)) % C."""
    given(c % d == 0, c > 0, d > 0)
    return cmod(cmod(x, c), d), cmod(x, d)


@wrong(dtypes=[index])
def quotient_of_sum(x: Value, y: Value, c: Const):
    """TVM #2308: the rule of the floor."""
    given(c > 0)
    return cdiv(x * c + y, c), x + cdiv(y, c)


@right(dtypes=[index])
def quotient_of_sum_of_naturals(x: Value, y: Value, c: Const):
    """TVM #2308, where it is right."""
    given(c > 0, x >= 0, y >= 0)
    return cdiv(x * c + y, c), x + cdiv(y, c)


@right(dtypes=[index])
def quotient_of_exact_sum(x: Value, y: Value, c: Const):
    """An exact term leaves the quotient whatever the signs."""
    given(c != 0, cmod(y, c) == 0)
    return cdiv(x * c + y, c), x + cdiv(y, c)


@wrong(dtypes=[index])
def sum_with_common_factor(x: Value):
    """TVM #2308: wrong for x = -10."""
    return cdiv(48 * x + 241, 16), 3 * x + 15


@wrong(dtypes=[index])
def last_digit_drops(x: Value):
    """TVM #2308."""
    return cdiv(10 * x + 5, 10), x


# Comparisons ------------------------------------------------------------------------------------------------------


@right(dtypes=SIGNED)
def division_is_monotone(x: Value, y: Value, c: Const):
    """LLVM, InstCombine."""
    given(x <= y, c > 0)
    return cdiv(x, c) <= cdiv(y, c), x == x


@right(dtypes=SIGNED)
def quotient_is_zero(x: Value, c: Const):
    """LLVM, InstCombine: X / C == 0 as a range."""
    given(c > 0)
    return cdiv(x, c) == 0, (-c < x) & (x < c)


@wrong(dtypes=SIGNED)
def quotient_is_zero_below(x: Value, c: Const):
    """The range with one end."""
    given(c > 0)
    return cdiv(x, c) == 0, x < c


@right(dtypes=[index, int8])
def quotient_of_naturals_below(x: Value, y: Value, c: Const):
    """LLVM, InstCombine."""
    given(c > 0, y > 0, fits(y * c))
    return cdiv(x, c) < y, x < y * c


@wrong(dtypes=[index, int8])
def quotient_below(x: Value, y: Value, c: Const):
    """The floor's rule: wrong where y is negative."""
    given(c > 0, fits(y * c))
    return cdiv(x, c) < y, x < y * c


@wrong(dtypes=WORDS)
def odd_by_remainder_one(x: Value):
    """Every code review: -1 % 2 is -1."""
    return cmod(x, 2) == 1, (x & 1) == 1


@right(dtypes=WORDS)
def odd_by_remainder_not_zero(x: Value):
    """The way to ask."""
    return cmod(x, 2) != 0, (x & 1) != 0


# Powers of two and magic numbers -----------------------------------------------------------------------------------


@right(dtypes=[int32])
def divide_by_eight_with_bias(x: Value):
    """Hacker's Delight, 10-1."""
    return cdiv(x, 8), (x + ((x >> 31) & 7)) >> 3


@right(dtypes=[int8])
def divide_by_eight_with_bias_in_bytes(x: Value):
    """Hacker's Delight, 10-1."""
    return cdiv(x, 8), (x + ((x >> 7) & 7)) >> 3


@wrong(dtypes=WORDS)
def divide_by_eight_with_a_shift(x: Value):
    """Hacker's Delight, 10-1: the shift rounds down."""
    return cdiv(x, 8), x >> 3


@right(dtypes=WORDS)
def divide_naturals_with_a_shift(x: Value):
    """Hacker's Delight, 10-1."""
    given(x >= 0)
    return cdiv(x, 8), x >> 3


@wrong(dtypes=WORDS)
def remainder_with_a_mask(x: Value):
    """Hacker's Delight, 10-2."""
    return cmod(x, 8), x & 7


@right(dtypes=[int32])
def remainder_with_bias(x: Value):
    """Hacker's Delight, 10-2."""
    return cmod(x, 8), x - ((x + ((x >> 31) & 7)) & -8)


@right(dtypes=[uint32])
def unsigned_third(x: Value):
    """Hacker's Delight, 10-8."""
    return x // 3, ((x.cast(uint64) * 0xAAAAAAAB) >> 33).cast(uint32)


@right(dtypes=[uint32])
def unsigned_tenth(x: Value):
    """Hacker's Delight, 10-8."""
    return x // 10, ((x.cast(uint64) * 0xCCCCCCCD) >> 35).cast(uint32)


@wrong(dtypes=[uint32])
def unsigned_tenth_with_too_few_bits(x: Value):
    """The multiplier rounded down."""
    return x // 10, ((x.cast(uint64) * 0xCCCCCCCC) >> 35).cast(uint32)


@wrong(dtypes=[uint32])
def unsigned_seventh_without_fixup(x: Value):
    """Hacker's Delight, 10-8: the multiplier for 7 needs 33 bits."""
    return x // 7, ((x.cast(uint64) * 0x24924925) >> 32).cast(uint32)


@right(dtypes=[uint32])
def unsigned_seventh_with_fixup(x: Value):
    """Hacker's Delight, 10-8."""
    high = ((x.cast(uint64) * 0x24924925) >> 32).cast(uint32)
    return x // 7, (((x - high) >> 1) + high) >> 2


@right(dtypes=[uint8])
def unsigned_third_in_bytes(x: Value):
    """Hacker's Delight, 10-8."""
    return x // 3, ((x.cast(uint16) * 171) >> 9).cast(uint8)


@right(dtypes=[int32])
def signed_third(x: Value):
    """Hacker's Delight, 10-3."""
    high = ((x.cast(int64) * 0x55555556) >> 32).cast(int32)
    return cdiv(x, 3), high - (x >> 31)


@wrong(dtypes=[int32])
def signed_third_without_sign(x: Value):
    """Hacker's Delight, 10-3 without the last step."""
    return cdiv(x, 3), ((x.cast(int64) * 0x55555556) >> 32).cast(int32)


@right(dtypes=[uint32])
def divisible_by_three(x: Value):
    """Hacker's Delight, 10-17: by the inverse of 3."""
    return x % 3 == 0, x * 0xAAAAAAAB <= 0x55555555


@wrong(dtypes=[uint32])
def divisible_by_three_strictly(x: Value):
    """Hacker's Delight, 10-17, with the wrong comparison."""
    return x % 3 == 0, x * 0xAAAAAAAB < 0x55555555


@vacuous(dtypes=SIGNED)
def remainder_is_the_divisor(x: Value, c: Value):
    """A bound that is never met."""
    given(c != 0, cmod(x, c) == c)
    return cdiv(x, c), x


@vacuous(dtypes=SIGNED)
def remainder_of_the_wrong_sign(x: Value, c: Value):
    """A natural number has no negative remainder."""
    given(x >= 0, cmod(x, c) < 0)
    return cmod(x, c), c
