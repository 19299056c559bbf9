"""Floats under licences: what fast math grants, and what it does not."""

from __future__ import annotations

from soundline.verify import (
    Const,
    Value,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    given,
    maximum,
    mulacc,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

FLOATS = (float16, float32, float64, bfloat16, float8_e4m3fn, float8_e5m2)
WIDE = (float16, float32, float64, bfloat16)


# No NaN, no signed zero -------------------------------------------------------------------------------------------


@right(dtypes=FLOATS, licences="no_nan")
def difference_with_itself(x: Value):
    """XLA, A - A: the result is no NaN, so A is finite."""
    return x - x, 0.0


@right(dtypes=FLOATS, licences="no_nan")
def quotient_with_itself(x: Value):
    """XLA, A / A: the result is no NaN, so A is neither zero nor infinite."""
    return x / x, 1.0


@wrong(dtypes=FLOATS, licences="no_signed_zero")
def quotient_with_itself_of_anything(x: Value):
    """The wrong licence."""
    return x / x, 1.0


@right(dtypes=FLOATS, licences=["no_nan", "no_signed_zero"])
def times_zero(x: Value):
    """LLVM, InstSimplify: fmul nnan nsz X, 0."""
    return x * 0.0, 0.0


@wrong(dtypes=FLOATS, licences="no_nan")
def times_zero_of_a_negative(x: Value):
    """LLVM, InstSimplify without nsz."""
    return x * 0.0, 0.0


@right(dtypes=FLOATS, licences="no_nan")
def not_less(x: Value, y: Value):
    """LLVM, InstCombine under nnan."""
    return ~(x < y), y <= x


@right(dtypes=FLOATS, licences="no_nan")
def equal_to_itself(x: Value):
    """LLVM, InstSimplify under nnan."""
    return x == x, ~(x < x)


@right(dtypes=FLOATS, licences="no_signed_zero")
def plus_zero(x: Value):
    """LLVM, InstSimplify under nsz."""
    return x + 0.0, x


@right(dtypes=FLOATS, licences="no_signed_zero")
def zero_minus(x: Value):
    """LLVM, InstCombine under nsz."""
    return 0.0 - x, -x


@right(dtypes=FLOATS, licences="no_signed_zero")
def sign_of_a_difference(x: Value, y: Value):
    """LLVM, InstCombine under nsz."""
    return -(x - y), y - x


@wrong(dtypes=FLOATS, licences="no_nan")
def sign_of_a_difference_under_another(x: Value, y: Value):
    """LLVM, InstCombine under nnan."""
    return -(x - y), y - x


@wrong(dtypes=FLOATS, licences="no_signed_zero", but=[float8_e4m3fn])
def quotient_of_an_unsigned_zero(x: Value):
    """The sign of a zero comes back as that of an infinity."""
    return (0.0 - x).recip(), (-x).recip()


@right(dtypes=FLOATS, licences=["no_nan", "no_signed_zero"])
def maximum_by_choice(x: Value, y: Value):
    """LLVM, InstCombine: fcmp and select to maxnum."""
    return where(x < y, y, x), maximum(x, y)


@wrong(dtypes=FLOATS, licences="no_nan")
def maximum_by_choice_with_zeros(x: Value, y: Value):
    """LLVM #213133: the sign of a zero."""
    return where(x < y, y, x), maximum(x, y)


@right(dtypes=FLOATS, licences="no_signed_zero")
def equal_arms(x: Value):
    """LLVM, InstSimplify: a select of equals."""
    return where(x == 0, 0.0, x), x


# Other roundings --------------------------------------------------------------------------------------------------
#
# What the fast-math flags of other compilers grant by appeal to the real numbers is wrong here where no equation of the
# licences leads from one side to the other (U-53): it is another order, one rounding or a reciprocal, and nothing else.


@right(dtypes=FLOATS, licences="reassociate")
def reassociated(x: Value, y: Value, z: Value):
    """LLVM, Reassociate."""
    return (x + y) + z, x + (z + y)


@wrong(dtypes=FLOATS, licences="reassociate")
def common_factor(x: Value, y: Value, z: Value):
    """LLVM, InstCombine under reassoc."""
    return x * y + x * z, x * (y + z)


@right(dtypes=FLOATS, licences="reassociate")
def products_regrouped(x: Value, y: Value, z: Value):
    """LLVM, Reassociate."""
    return (x * y) * (z * -y), -((z * x) * (y * y))


@right(dtypes=FLOATS, licences="reassociate")
def constants_gathered(x: Value):
    """LLVM, Reassociate: constants meet."""
    return (x + 1.0) + 2.0, x + 3.0


@right(dtypes=FLOATS, licences=["reassociate", "no_signed_zero"])
def difference_of_a_sum(x: Value, y: Value, z: Value):
    """LLVM, Reassociate, which asks for nsz."""
    return x - (y + z), (x - y) - z


@right(dtypes=FLOATS, licences=["reassociate", "reciprocal"])
def product_of_a_quotient(x: Value, y: Value, z: Value):
    """LLVM, InstCombine under reassoc and arcp."""
    return (x / y) * z, (z * x) / y


@wrong(dtypes=FLOATS, licences="contract")
def reassociated_by_contraction(x: Value, y: Value, z: Value):
    """The licence of another change."""
    return (x + y) + z, x + (y + z)


@wrong(dtypes=FLOATS, licences="contract")
def difference_for_a_zero(x: Value):
    """Over the real numbers both are zero."""
    return x * 0.0, x - x


@wrong(dtypes=FLOATS, licences="reciprocal")
def quotient_with_itself_by_reciprocal(x: Value):
    """Defined everywhere, which the quotient is not at zero."""
    return x / x, x * 0.0 + 1.0


@wrong(dtypes=FLOATS, licences="reassociate")
def common_factor_of_one(x: Value, y: Value, z: Value):
    """A factor lost."""
    return x * y + z, x * (y + z)


@wrong(dtypes=FLOATS, licences="reassociate")
def difference_of_squares(x: Value, y: Value):
    """Herbie."""
    return x * x - y * y, (x - y) * (x + y)


@wrong(dtypes=FLOATS, licences="reassociate")
def square_of_a_sum_without_middle(x: Value, y: Value):
    """The freshman's dream."""
    return (x + y) * (x + y), x * x + y * y


@wrong(dtypes=FLOATS, licences="reassociate")
def horner(x: Value, a: Const, b: Const, c: Const):
    """Horner's scheme."""
    return a * x * x + b * x + c, (a * x + b) * x + c


@wrong(dtypes=FLOATS, licences="reassociate")
def kahan_optimised_away(x: Value, y: Value):
    """Kahan's compensation is zero over the reals: why the licence is not granted lightly."""
    return ((x + y) - x) - y, 0.0 * x


@wrong(dtypes=FLOATS, licences="reassociate")
def lerp(x: Value, y: Value, t: Value):
    """Two ways to interpolate."""
    return x + t * (y - x), (1.0 - t) * x + t * y


@wrong(dtypes=FLOATS, licences="reassociate")
def lerp_reversed(x: Value, y: Value, t: Value):
    """The ends exchanged."""
    return x + t * (y - x), t * x + (1.0 - t) * y


@right(dtypes=FLOATS, licences="contract")
def fused(x: Value, y: Value, z: Value):
    """LLVM, contraction."""
    return x * y + z, mulacc(y, x, z)


@right(dtypes=FLOATS, licences="reciprocal")
def division_as_a_product(x: Value, y: Value):
    """LLVM, InstCombine under arcp."""
    return x / y, x * y.recip()


@right(dtypes=FLOATS, licences="reciprocal")
def division_by_a_constant(x: Value, c: Const):
    """LLVM, InstCombine under arcp."""
    given(c != 0)
    return x / c, x * (1.0 / c)


@wrong(dtypes=FLOATS, licences="reciprocal")
def reciprocal_twice(x: Value):
    """The left side is defined only where x is not 0."""
    return x.recip().recip(), x


@wrong(dtypes=FLOATS, licences="reciprocal")
def reciprocal_introduced(x: Value):
    """The right side is not defined at 0."""
    return x, x.recip().recip()


@wrong(dtypes=FLOATS, licences="reciprocal")
def divisors_merge(x: Value, y: Value, z: Value):
    """XLA: (A / B) / C."""
    return (x / y) / z, x / (y * z)


@wrong(dtypes=FLOATS, licences="reciprocal")
def divisor_of_a_divisor(x: Value, y: Value, z: Value):
    """XLA: A / (B / C)."""
    return x / (y / z), (x * z) / y


@wrong(dtypes=FLOATS, licences="reciprocal")
def divisor_of_a_divisor_backwards(x: Value, y: Value, z: Value):
    """XLA: A / (B / C), where C may be 0."""
    return (x * z) / y, x / (y / z)


@wrong(dtypes=FLOATS, licences=["reciprocal", "reassociate"])
def common_divisor(x: Value, y: Value, z: Value):
    """Herbie."""
    return x / z + y / z, (x + y) / z


@wrong(dtypes=FLOATS, licences=["reciprocal", "reassociate"])
def common_dividend(x: Value, y: Value, z: Value):
    """Fractions added by their ends."""
    return x / y + x / z, x / (y + z)


@wrong(dtypes=FLOATS, licences=["reciprocal", "reassociate"])
def fractions_added(x: Value, y: Value, z: Value, w: Value):
    """Herbie."""
    return x / y + z / w, (x * w + z * y) / (y * w)


@wrong(dtypes=FLOATS, licences="approx")
def square_of_a_root(x: Value):
    """Defined where x is not negative."""
    return x.sqrt() * x.sqrt(), x


@wrong(dtypes=FLOATS, licences="approx")
def root_of_a_square(x: Value):
    """XLA #42732, under fast math: a magnitude."""
    return (x * x).sqrt(), maximum(x, -x)


@wrong(dtypes=FLOATS, licences="approx")
def root_of_a_square_without_magnitude(x: Value):
    """The sign is lost."""
    return (x * x).sqrt(), x


@wrong(dtypes=FLOATS, licences="approx")
def root_of_a_product(x: Value, y: Value):
    """Two negative factors."""
    return (x * y).sqrt(), x.sqrt() * y.sqrt()


@wrong(dtypes=FLOATS, licences="approx")
def root_of_a_natural_product(x: Value, y: Value):
    """XLA under fast math."""
    given(x >= 0, y >= 0)
    return (x * y).sqrt(), x.sqrt() * y.sqrt()


@wrong(dtypes=FLOATS, licences=["approx", "reciprocal"])
def quotient_by_its_root(x: Value):
    """XLA #40844, under fast math."""
    return x / x.sqrt(), x.sqrt()


@wrong(dtypes=FLOATS, licences=["approx", "reciprocal"])
def root_of_a_reciprocal(x: Value):
    """rsqrt two ways."""
    return x.recip().sqrt(), x.sqrt().recip()


@wrong(dtypes=WIDE, licences="approx")
def product_of_exponentials(x: Value, y: Value):
    """XLA #48186, under fast math."""
    return x.exp2() * y.exp2(), (x + y).exp2()


@wrong(dtypes=WIDE, licences="approx")
def sum_of_exponentials(x: Value, y: Value):
    """A product is no sum."""
    return x.exp2() + y.exp2(), (x + y).exp2()


@wrong(dtypes=WIDE, licences=["approx", "reciprocal"])
def quotient_of_exponentials(x: Value, y: Value):
    """XLA #48186, under fast math."""
    return x.exp2() / y.exp2(), (x - y).exp2()


@wrong(dtypes=WIDE, licences="approx")
def logarithm_of_an_exponential(x: Value):
    """XLA #42732, under fast math."""
    return x.exp2().log2(), x


@wrong(dtypes=WIDE, licences="approx")
def exponential_of_a_logarithm(x: Value):
    """Defined where x is positive."""
    return x.log2().exp2(), x


@wrong(dtypes=WIDE, licences="approx")
def exponential_of_a_logarithm_backwards(x: Value):
    """Undefined where x is not positive."""
    return x, x.log2().exp2()


@wrong(dtypes=WIDE, licences="approx")
def logarithm_of_a_product(x: Value, y: Value):
    """Two negative factors."""
    return (x * y).log2(), x.log2() + y.log2()


@wrong(dtypes=WIDE, licences="approx")
def logarithm_of_a_positive_product(x: Value, y: Value):
    """Sums of log-probabilities."""
    given(x > 0, y > 0)
    return (x * y).log2(), x.log2() + y.log2()


@wrong(dtypes=WIDE, licences="approx")
def logarithm_of_a_square(x: Value):
    """XLA: log of a power, of a negative base."""
    return (x * x).log2(), 2.0 * x.log2()


@wrong(dtypes=WIDE, licences="approx")
def logarithm_of_a_positive_square(x: Value):
    """XLA: log of a power."""
    given(x > 0)
    return (x * x).log2(), 2.0 * x.log2()


@wrong(dtypes=(float32, float64, bfloat16), licences=["approx", "reciprocal", "reassociate"])
def sigmoid_of_the_negative(x: Value):
    """Two forms of the logistic function."""
    return (1.0 + x.exp2()).recip(), 1.0 - (1.0 + (-x).exp2()).recip()


@wrong(dtypes=WIDE, licences=["approx", "reciprocal", "reassociate"])
def hyperbolic_tangent(x: Value):
    """Two forms of tanh."""
    e = (-x - x).exp2()
    return (1.0 - e) / (1.0 + e), 2.0 / (1.0 + e) - 1.0


@wrong(dtypes=WIDE, licences=["approx", "reciprocal", "reassociate"])
def softmax_shifted(x: Value, y: Value, m: Value):
    """Softmax is shifted by the maximum without a change."""
    return (x - m).exp2() / ((x - m).exp2() + (y - m).exp2()), x.exp2() / (x.exp2() + y.exp2())


@wrong(dtypes=WIDE, licences=["approx", "reciprocal", "reassociate"])
def softmax_shifted_once(x: Value, y: Value, m: Value):
    """Softmax, shifted in one place."""
    return (x - m).exp2() / ((x - m).exp2() + y.exp2()), x.exp2() / (x.exp2() + y.exp2())


@wrong(dtypes=FLOATS, licences="reassociate")
def scaled_maximum(x: Value, y: Value, c: Const):
    """Scaling before a maximum."""
    given(c > 0)
    return maximum(x * c, y * c), maximum(x, y) * c


@wrong(dtypes=FLOATS, licences="reassociate")
def scaled_maximum_of_any_sign(x: Value, y: Value, c: Const):
    """Scaling by a negative number."""
    return maximum(x * c, y * c), maximum(x, y) * c


@wrong(dtypes=FLOATS, licences="reassociate")
def shifted_maximum(x: Value, y: Value, z: Value):
    """The shift of a softmax's maximum."""
    return maximum(x + z, y + z), maximum(x, y) + z


@wrong(dtypes=FLOATS, licences="reassociate")
def truncation_of_a_shifted(x: Value):
    """A whole summand leaves a truncation, for naturals."""
    given(x >= 0)
    return (x + 3.0).trunc(), x.trunc() + 3.0


@wrong(dtypes=FLOATS, licences="reassociate")
def truncation_of_a_shifted_negative(x: Value):
    """Across zero it does not."""
    return (x + 3.0).trunc(), x.trunc() + 3.0


@vacuous(dtypes=FLOATS, licences="reassociate")
def negative_square(x: Value):
    """No square is negative."""
    given(x * x < 0)
    return (x + 1.0) + 2.0, x + 3.0


@vacuous(dtypes=FLOATS, licences="approx")
def negative_root(x: Value):
    """No root is negative."""
    given(x.sqrt() < 0)
    return x.sqrt() + 1.0, x


@right(dtypes=(float16, float32, float64, bfloat16, float8_e5m2), licences="reciprocal")
def zero_reciprocal(x: Value):
    """That of an infinity is zero."""
    given(x.recip() == 0)
    return x / 2.0, x


@vacuous(dtypes=FLOATS, licences="no_nan")
def nan_under_no_nan(x: Value):
    """The licence and the condition exclude each other."""
    given(x != x)
    return x + 1.0, x
