# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
"""Casts and bitcasts around reductions and movement: accumulators, narrowing, orders of floats,
tests of any and all.
"""

from soundline.verify import (
    Axes,
    Body,
    DTypeVar,
    Flags,
    Offset,
    Perm,
    Range,
    Shape,
    Size,
    Tensor,
    bfloat16,
    bits_at_most,
    bool_,
    float16,
    float32,
    float64,
    given,
    index,
    int8,
    int16,
    int32,
    ints,
    lossless,
    max_over,
    sum_over,
    uint8,
    uint32,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (bool_, int8, uint8, int32, float16, float32)


# Widening ---------------------------------------------------------------------------------------------------------


@wrong(dtypes=[int8, uint8])
def sum_widened_after_it(x: Tensor, a: Axes):
    """cumo 224: partial sums of bytes kept in bytes, though the accumulator was said to be wide."""
    return x.cast(int32).sum(a), x.sum(a).cast(int32)


@wrong(dtypes=[int8, uint8])
def product_widened_after_it(x: Tensor["n"]):
    """cumo 224, the product."""
    return x.cast(int32).prod(0), x.prod(0).cast(int32)


@right(dtypes=[int8, uint8])
def max_widened_after_it(x: Tensor, a: Axes):
    """tinygrad, a cast moved out of a Max: of no elements the two dtypes have different least values."""
    given(where(a, x.shape, 1) >= 1)
    return x.cast(int32).max(a), x.max(a).cast(int32)


@wrong(dtypes=[int8, uint8])
def max_of_nothing_widened_after_it(x: Tensor, a: Axes):
    """The same without the condition: the least value of a byte, widened, is not the least of the wide dtype."""
    return x.cast(int32).max(a), x.max(a).cast(int32)


@right(dtypes=[float16, bfloat16])
def max_of_floats_widened_after_it(x: Tensor, a: Axes):
    """Of floats the Max of nothing is minus infinity in every width."""
    return x.cast(float32).max(a), x.max(a).cast(float32)


@wrong(dtypes=[float16, bfloat16])
def sum_of_floats_widened_after_it(x: Tensor["n"]):
    """Mixed precision: the accumulator is wide so that sums of halves do not round at each step."""
    return x.cast(float32).sum(0), x.sum(0).cast(float32)


@wrong(dtypes=[int8, uint8])
def products_widened_after_them(x: Tensor["n"], y: Tensor["n"]):
    """Quantized matmuls: the product of two bytes needs two bytes."""
    return (x.cast(int32) * y.cast(int32)).sum(0), (x * y).cast(int32).sum(0)


@wrong(dtypes=[float16])
def sum_in_float_kept_in_half(x: Tensor["n"]):
    """tinygrad and PyTorch: a sum of halves is accumulated in float and rounded once."""
    return x.cast(float32).sum(0).cast(float16), x.sum(0)


@right(dtypes=[float16, bfloat16])
def max_in_float_kept_in_half(x: Tensor, a: Axes):
    """tinygrad: no Max needs the wider accumulator."""
    return x.cast(float32).max(a).cast(x.dtype), x.max(a)


@right(dtypes=[uint8])
def sum_over_a_range_widened_twice(r: Range["n"], f: Body["r"]):
    """A sum modulo 2 to the 16 does not need 32 bits."""
    return sum_over(r, f(r).cast(int32)).cast(int16), sum_over(r, f(r).cast(int16))


# Narrowing --------------------------------------------------------------------------------------------------------


@right(dtypes=[int32, uint32])
def sum_narrowed_before_it(x: Tensor, a: Axes):
    """LLVM, narrowing of an accumulator of which only the low bits are used."""
    return x.sum(a).cast(int8), x.cast(int8).sum(a)


@right(dtypes=[int32, uint32])
def product_narrowed_before_it(x: Tensor["n"]):
    """The same for products: low bits depend on low bits alone."""
    return x.prod(0).cast(uint8), x.cast(uint8).prod(0)


@wrong(dtypes=[int32, uint32])
def max_narrowed_before_it(x: Tensor["n"]):
    """LLVM, narrowing of a Max: what wraps loses its order."""
    given(x.shape[0] >= 1)
    return x.max(0).cast(int8), x.cast(int8).max(0)


@right(dtypes=[int8, uint8])
def matmul_narrowed(x: Tensor["n"], y: Tensor["n"]):
    """A widened product that is narrowed again in the end."""
    return (x.cast(int32) * y.cast(int32)).sum(0).cast(x.dtype), (x * y).sum(0)


@wrong(dtypes=[int8])
def mean_narrowed_before_it(x: Tensor["n"], n: Size):
    """An average: the quotient needs the high bits of the sum."""
    given(n > 0)
    return (x.cast(int32).sum(0) // n.cast(int32)).cast(int8), x.sum(0) // n.cast(int8)


@right(dtypes=[float32])
def max_of_floats_narrowed_before_it(x: Tensor, a: Axes):
    """Rounding is monotone, with overflow to infinity and with the signs of zeros."""
    return x.max(a).cast(float16), x.cast(float16).max(a)


@wrong(dtypes=[float32])
def sum_of_floats_narrowed_before_it(x: Tensor["n"]):
    """Mixed precision, inputs rounded before the sum."""
    return x.sum(0).cast(float16), x.cast(float16).sum(0)


@wrong(dtypes=[float32, float64])
def max_of_floats_as_integers(x: Tensor["n"]):
    """tinygrad 862: a NaN makes the Max a NaN, and a NaN becomes 0."""
    given(x.shape[0] >= 1)
    return x.max(0).cast(int32), x.cast(int32).max(0)


@right(dtypes=[int8, uint8])
def max_of_integers_as_floats(x: Tensor["n"]):
    """Quantization: small integers are exact as floats; there must be one."""
    given(x.shape[0] >= 1)
    return x.cast(float32).max(0), x.max(0).cast(float32)


@right(dtypes=[int32])
def max_of_large_integers_as_floats(x: Tensor["n"]):
    """Not exact for large ones, but rounding is monotone."""
    given(x.shape[0] >= 1)
    return x.cast(float32).max(0), x.max(0).cast(float32)


@wrong(dtypes=[int32])
def sum_of_integers_as_floats(x: Tensor["n"]):
    """Integers are added exactly, floats are not."""
    return x.cast(float32).sum(0), x.sum(0).cast(float32)


@wrong(dtypes=[int32])
def max_of_integers_with_another_sign(x: Tensor["n"]):
    """An order that changes with the sign."""
    given(x.shape[0] >= 1)
    return x.cast(uint32).max(0), x.max(0).cast(uint32)


@right(dtypes=[int32])
def sum_of_integers_with_another_sign(x: Tensor["n"]):
    """Sums of both signs have the same bits."""
    return x.cast(uint32).sum(0), x.sum(0).cast(uint32)


# Any and all ------------------------------------------------------------------------------------------------------


@right(dtypes=[uint8, uint32])
def any_of_the_greatest(x: Tensor, a: Axes):
    """numpy and tinygrad, any as a Max, of naturals."""
    return x.cast(bool_).max(a), x.max(a).cast(bool_)


@wrong(dtypes=[int8, int32])
def any_of_the_greatest_of_integers(x: Tensor["n"]):
    """Below zero is true as well: the Max of -1 and 0 is false."""
    given(x.shape[0] >= 1)
    return x.cast(bool_).max(0), x.max(0).cast(bool_)


@wrong(dtypes=[uint8])
def all_of_the_product(x: Tensor["n"]):
    """numpy, all as a product: 16 times 16 is 0 in a byte."""
    return x.cast(bool_).prod(0), x.prod(0).cast(bool_)


@right()
def all_is_not_any_not(x: Tensor[bool_], a: Axes):
    """De Morgan along axes."""
    return x.prod(a), ~(~x).max(a)


@wrong()
def all_is_any(x: Tensor[bool_], a: Axes):
    """One true element is not all."""
    return x.prod(a), x.max(a)


@right()
def any_of_padded(x: Tensor[bool_, "n"], k: Size, m: Size):
    """What is padded is false, and adds nothing to any."""
    return x.pad((k,), (m,)).max(0), x.max(0)


@wrong()
def all_of_padded(x: Tensor[bool_, "n"], k: Size, m: Size):
    """tinygrad, PADTO of an all: what is padded is false."""
    return x.pad((k,), (m,)).prod(0), x.prod(0)


@wrong(dtypes=[int8])
def count_in_bytes(x: Tensor[bool_, "n"]):
    """xtensor 283, dpctl 2017: a sum of flags keeps a narrow dtype."""
    return x.cast(int8).sum(0).cast(int32), x.cast(int32).sum(0)


@right(dtypes=[index])
def count_of_either(r: Range["n"], n: Size, b: Body["r", bool_]):
    """numpy, count_nonzero: what is not counted is counted by the opposite."""
    return sum_over(r, where(b(r), 1, 0)) + sum_over(r, where(b(r), 0, 1)), n


# Through movement -------------------------------------------------------------------------------------------------


@right(t=SOME, dtypes=SOME)
def cast_of_padded(x: Tensor, t: DTypeVar, o: Offset, z: Shape):
    """XLA and tinygrad: zero is zero in every dtype."""
    return x.pad(o, z).cast(t), x.cast(t).pad(o, z)


@right()
def bitcast_of_padded(x: Tensor[float32], o: Offset, s: Shape):
    """The bits of 0.0 are those of 0."""
    return x.pad(o, s).bitcast(int32), x.bitcast(int32).pad(o, s)


@right()
def bitcast_of_permuted(x: Tensor[float32], p: Perm):
    """A bitcast to the same width is elementwise."""
    return x.permute(p).bitcast(int32), x.bitcast(int32).permute(p)


@right()
def bitcast_of_flipped(x: Tensor[float32], f: Flags):
    """A bitcast to the same width is elementwise."""
    return x.flip(f).bitcast(uint32), x.bitcast(uint32).flip(f)


@wrong()
def max_of_floats_by_their_bits(x: Tensor[float32, "n"]):
    """The trick that compares floats as integers: it is right for what has no sign."""
    return x.max(0), x.bitcast(int32).max(0).bitcast(float32)


@right(dtypes=ints, t=ints)
def narrowing_cast_of_a_choice(x: Tensor, y: Tensor, b: Tensor[bool_], t: DTypeVar):
    """LLVM, a trunc of a select."""
    given(bits_at_most(t, x.dtype), x.shape == y.shape, x.shape == b.shape)
    return where(b, x, y).cast(t), where(b, x.cast(t), y.cast(t))


@right(dtypes=ints, t=ints)
def max_through_a_lossless_cast(x: Tensor["n"], t: DTypeVar):
    """LLVM, vectorized reductions at the narrower width."""
    given(lossless(x.dtype, t), x.shape[0] >= 1)
    return x.cast(t).max(0), x.max(0).cast(t)


@wrong()
def rounded_twice(x: Tensor[float64]):
    """tinygrad's C for halves: a double goes through float, and is rounded twice."""
    return x.cast(float32).cast(float16), x.cast(float16)


# Counters ---------------------------------------------------------------------------------------------------------


@right()
def sum_of_a_counter_in_bytes(r: Range["n"], n: Size):
    """The low bits of a closed form are those of the sum."""
    return sum_over(r, r.cast(uint8)), (n * (n - 1) // 2).cast(uint8)


@wrong()
def sum_of_a_counter_halved_in_bytes(r: Range["n"], n: Size):
    """The closed form computed in the narrow dtype: halving needs the high bits."""
    return sum_over(r, r.cast(uint8)), n.cast(uint8) * (n - 1).cast(uint8) // 2


@wrong()
def last_of_a_counter_in_bytes(r: Range["n"], n: Size):
    """tinygrad 11975: an arange that leaves its dtype has its greatest element elsewhere."""
    given(n > 0)
    return max_over(r, r.cast(int8)), (n - 1).cast(int8)


@right()
def count_in_a_wide_dtype_and_cast(r: Range["n"], b: Body["r", bool_]):
    """tinygrad, one-hot counts at any width."""
    return sum_over(r, b(r).cast(int32)).cast(int8), sum_over(r, b(r).cast(int8))


@right()
def last_of_a_counter_that_fits(r: Range["n"], n: Size):
    """The same where it does not leave it."""
    given(n > 0, n <= 128)
    return max_over(r, r.cast(int8)), (n - 1).cast(int8)


@wrong()
def last_of_a_counter_one_too_long(r: Range["n"], n: Size):
    """One more, and the last is the least."""
    given(n > 0, n <= 129)
    return max_over(r, r.cast(int8)), (n - 1).cast(int8)


@wrong()
def last_of_a_counter_that_may_be_empty(r: Range["n"], n: Size):
    """The greatest of nothing is the least of the dtype."""
    given(n <= 128)
    return max_over(r, r.cast(int8)), (n - 1).cast(int8)


@right(dtypes=[index])
def all_of_the_product_of_integers(x: Tensor["n"]):
    """Without wrapping a product is 0 only where a factor is."""
    return x.cast(bool_).prod(0), x.prod(0).cast(bool_)


@wrong(dtypes=[int8])
def all_of_the_product_of_bytes(x: Tensor["n"]):
    """With it 16 * 16 is 0 as well."""
    return x.cast(bool_).prod(0), x.prod(0).cast(bool_)


@wrong(dtypes=[index])
def any_of_the_sum_of_integers(x: Tensor["n"]):
    """A sum is 0 where a number and its negative meet."""
    return x.cast(bool_).max(0), x.sum(0).cast(bool_)


@wrong(dtypes=[int32])
def sum_of_sum_of_converted(x: Tensor, a: Axes, b: Axes):
    """Integers near 2 ** 24 are rounded as floats are, in an order."""
    return x.cast(float32).sum(a).sum(b), x.cast(float32).sum(a | b)


# Rules that say nothing -------------------------------------------------------------------------------------------


@vacuous(dtypes=[int32])
def narrowing_that_widens(x: Tensor["n"], n: Size):
    """An extent that no tensor has."""
    given(n + 1 <= 0)
    return x.max(0).cast(int8), x.cast(int8).max(0)
