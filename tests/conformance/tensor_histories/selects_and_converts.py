"""Selects, clamps and conversions of tensors: nested, broadcast, moved through movement, disguised as arithmetic."""

# ruff: noqa: F821

from soundline.verify import (
    DTypeVar,
    Flags,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    Value,
    bfloat16,
    bits_at_most,
    bool_,
    float16,
    float32,
    float64,
    given,
    int8,
    int16,
    int32,
    lossless,
    maximum,
    uint8,
    uint16,
    uint32,
    where,
)

from .form import Histories, absolute, clamp, minimum

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (int8, float16)


# Selects ----------------------------------------------------------------------------------------------------------


@right()
def select_of_one(c: Tensor[bool_], x: Tensor):
    """XLA, AlgebraicSimplifier: both sides are one."""
    given(c.shape == x.shape)
    return where(c, x, x), x


@right()
def select_by_negation(c: Tensor[bool_], x: Tensor, y: Tensor):
    """XLA, AlgebraicSimplifier: a select by not."""
    return where(~c, x, y), where(c, y, x)


@wrong(dtypes=SOME)
def select_by_negation_in_order(c: Tensor[bool_], x: Tensor, y: Tensor):
    """The sides are not exchanged."""
    return where(~c, x, y), where(c, x, y)


@right(dtypes=SOME)
def select_in_the_first(c: Tensor[bool_], x: Tensor, y: Tensor, z: Tensor):
    """MLIR, arith.select: of two by one predicate the inner one is decided."""
    return where(c, where(c, x, y), z), where(c, x, z)


@right(dtypes=SOME)
def select_in_the_second(c: Tensor[bool_], x: Tensor, y: Tensor, z: Tensor):
    """MLIR, arith.select."""
    return where(c, x, where(c, y, z)), where(c, x, z)


@wrong(dtypes=SOME)
def select_in_the_second_otherwise(c: Tensor[bool_], x: Tensor, y: Tensor, z: Tensor):
    """MLIR, arith.select, with the wrong one of the two left."""
    return where(c, x, where(c, y, z)), where(c, x, y)


@right(dtypes=SOME)
def select_by_both(c: Tensor[bool_], d: Tensor[bool_], x: Tensor, y: Tensor):
    """MLIR, arith.select: nested selects with one other side."""
    return where(c, where(d, x, y), y), where(c & d, x, y)


@wrong(dtypes=SOME)
def select_by_either(c: Tensor[bool_], d: Tensor[bool_], x: Tensor, y: Tensor):
    """MLIR, arith.select: and taken for or."""
    return where(c, where(d, x, y), y), where(c | d, x, y)


@right()
def select_of_bools(c: Tensor[bool_], p: Tensor[bool_]):
    """XLA, AlgebraicSimplifier: a select of predicates is logic."""
    return where(c, p, c), c & p


@right(dtypes=SOME)
def select_of_transposes(c: Tensor[bool_], x: Tensor, y: Tensor, p: Perm):
    """XLA: three operands transposed alike."""
    return where(c.permute(p), x.permute(p), y.permute(p)), where(c, x, y).permute(p)


@wrong(dtypes=SOME)
def select_of_transposes_by_none(c: Tensor[bool_], x: Tensor, y: Tensor, p: Perm):
    """The predicate is not transposed."""
    return where(c, x.permute(p), y.permute(p)), where(c, x, y).permute(p)


@right(dtypes=SOME)
def select_of_reversed(c: Tensor[bool_], x: Tensor, y: Tensor, f: Flags):
    """TensorRight: a reversal moves through a select."""
    return where(c, x.flip(f), y.flip(f)), where(c.flip(f), x, y).flip(f)


@right(dtypes=SOME)
def select_of_slices(c: Tensor[bool_], x: Tensor, y: Tensor, a: Offset, s: Shape):
    """XLA and TensorRight: a slice moves into a select."""
    return where(c, x, y).shrink(a, s), where(c.shrink(a, s), x.shrink(a, s), y.shrink(a, s))


@wrong(dtypes=SOME)
def select_of_pads(c: Tensor[bool_], x: Tensor, y: Tensor, a: Offset, s: Shape):
    """A pad moves into a select, but the fill of the other side is another's."""
    given(x.shape == c.shape)
    return where(c.pad(a, s), x.pad(a, s), y), where(c, x, y.shrink(a, x.shape)).pad(a, s)


@right(dtypes=SOME)
def select_of_reshapes(c: Tensor[bool_], x: Tensor, y: Tensor, s: Shape):
    """XLA: a reshape moves into a select."""
    return where(c, x, y).reshape(s), where(c.reshape(s), x.reshape(s), y.reshape(s))


@right(dtypes=SOME)
def select_by_a_broadcast_row(
    c: Tensor[bool_, 1, "n"], x: Tensor["m", "n"], y: Tensor["m", "n"], m: Size, n: Size, i: Size
):
    """XLA: a row of a select by a broadcast row."""
    given(i < m)
    return (
        where(c.expand((m, n)), x, y).shrink((i, 0), (1, n)),
        where(c, x.shrink((i, 0), (1, n)), y.shrink((i, 0), (1, n))),
    )


@right(dtypes=[bool_])
def select_as_logic(c: Tensor[bool_], x: Tensor, y: Tensor):
    """XLA: a select of bools as and, or, not."""
    return where(c, x, y), (c & x) | (~c & y)


@right(dtypes=[int8])
def select_as_product(c: Tensor[bool_], x: Tensor):
    """TVM: a mask as a product with zeros and ones."""
    return x * c.cast(x.dtype), where(c, x, 0)


@wrong(dtypes=[float16])
def select_as_float_product(c: Tensor[bool_], x: Tensor):
    """PyTorch: on floats NaN and infinity get through the mask."""
    return x * c.cast(x.dtype), where(c, x, 0)


@right(dtypes=[int8])
def select_of_greater(x: Tensor, y: Tensor):
    """XLA, AlgebraicSimplifier: select of greater is a maximum."""
    return where(x > y, x, y), maximum(x, y)


@wrong(dtypes=[float16])
def select_of_greater_floats(x: Tensor, y: Tensor):
    """Of floats it is not, for NaN and zeros of two signs."""
    return where(x > y, x, y), maximum(x, y)


@wrong(dtypes=[int8, float16], but=[int8])
def rectified_by_select(x: Tensor):
    """TVM: relu as a select makes 0 of NaN."""
    return where(x > 0, x, 0), maximum(x, 0)


@wrong(dtypes=[int8, float16], but=[int8])
def select_of_equal(x: Tensor, y: Tensor):
    """LLVM, InstCombine: where they are equal one is as good as the other, but for zeros of two signs."""
    return where(x == y, x, y), y


@right(dtypes=[int8, float16])
def comparison_of_itself(x: Tensor, y: Tensor):
    """XLA, AlgebraicSimplifier: nothing is less than itself."""
    return where(x < x, x, y), y


@wrong(dtypes=[int8, float16], but=[int8])
def equality_of_itself(x: Tensor, y: Tensor):
    """XLA, AlgebraicSimplifier: NaN does not equal itself."""
    given(x.shape == y.shape)
    return where(x == x, x, y), x


# Clamps -----------------------------------------------------------------------------------------------------------


@right(dtypes=[int8])
def clamp_of_clamp(x: Tensor, a: Value, b: Value):
    """XLA, AlgebraicSimplifier: a clamp twice with the same bounds."""
    return clamp(a, clamp(a, x, b), b), clamp(a, x, b)


@right(dtypes=[int8])
def clamp_inside_of_clamp(x: Tensor, a: Value, b: Value, c: Value, d: Value):
    """MLIR, tosa.clamp: two clamps become one."""
    given(a <= b, c <= d, a <= c, d <= b)
    return clamp(c, clamp(a, x, b), d), clamp(c, x, d)


@wrong(dtypes=[int8])
def clamp_in_any_clamp(x: Tensor, a: Value, b: Value, c: Value, d: Value):
    """MLIR, tosa.clamp: bounds that do not overlap."""
    given(a <= b, c <= d)
    return clamp(c, clamp(a, x, b), d), clamp(maximum(a, c), x, minimum(b, d))


@right(dtypes=[int8])
def clamps_that_overlap(x: Tensor, a: Value, b: Value, c: Value, d: Value):
    """MLIR, tosa.clamp: the bounds that overlap are joined."""
    given(a <= b, c <= d, c <= b, a <= d)
    return clamp(c, clamp(a, x, b), d), clamp(maximum(a, c), x, minimum(b, d))


@wrong(dtypes=[int8])
def clamp_in_either_order(x: Tensor, a: Value, b: Value):
    """JAX: the order of minimum and maximum counts where the bounds are exchanged."""
    return minimum(maximum(x, a), b), maximum(minimum(x, b), a)


@right(dtypes=[int8])
def clamp_in_either_order_of_bounds_in_order(x: Tensor, a: Value, b: Value):
    """JAX: but not where they are in order."""
    given(a <= b)
    return minimum(maximum(x, a), b), maximum(minimum(x, b), a)


@right(dtypes=[int8, float16])
def clamp_of_transpose(x: Tensor, a: Value, p: Perm):
    """XLA: an op with scalars moves through a transpose."""
    return maximum(x.permute(p), a), maximum(x, a).permute(p)


@right(dtypes=[int8])
def clamp_to_the_range_of_the_dtype(x: Tensor):
    """TVM: a clamp to what the dtype holds anyway."""
    return clamp(-128, x, 127), x


@wrong(dtypes=[int8])
def clamp_to_the_symmetric_range(x: Tensor):
    """Quantization: the least value has no opposite."""
    return clamp(-127, x, 127), x


@right(dtypes=[int16])
def saturated_cast(x: Tensor):
    """XLA: after a clamp a conversion loses nothing."""
    return clamp(-128, x, 127).cast(int8).cast(int16), clamp(-128, x, 127)


@wrong(dtypes=[int16])
def saturated_cast_by_one(x: Tensor):
    """Off by one: 128 wraps."""
    return clamp(-128, x, 128).cast(int8).cast(int16), clamp(-128, x, 128)


@wrong(dtypes=[int8, float16], but=[float16])
def magnitude_twice(x: Tensor):
    """XLA: abs of a magnitude is one, but the least integer has none."""
    return where(absolute(x) < 0, x * 0, absolute(x)), absolute(x)


# Conversions ------------------------------------------------------------------------------------------------------


@right(dtypes=(int8, uint8, float16), t=(int16, int32, float32, float64))
def convert_there_and_back(x: Tensor, t: DTypeVar):
    """Glow #3183: a round trip is nothing where no value is lost."""
    given(lossless(x.dtype, t))
    return x.cast(t).cast(x.dtype), x


@wrong(dtypes=[float32])
def convert_to_halves_and_back(x: Tensor):
    """tinygrad #17208 and ONNX Runtime #8787: what halves do not hold."""
    return x.cast(float16).cast(float32), x


@wrong(dtypes=[float32])
def convert_to_integers_and_back(x: Tensor):
    """Glow #3183: the fraction is what the round trip is for."""
    return x.cast(int32).cast(float32), x


@wrong(dtypes=[int32])
def convert_to_floats_and_back(x: Tensor):
    """Glow #3209: 24 bits of a float do not hold 32."""
    return x.cast(float32).cast(int32), x


@right(dtypes=[int16])
def convert_to_floats_and_back_from_less(x: Tensor):
    """But 16."""
    return x.cast(float32).cast(int16), x


@right(dtypes=[int32], t=(int8, int16, uint8), u=(int8, uint8))
def convert_twice_to_less(x: Tensor, t: DTypeVar, u: DTypeVar):
    """XLA, AlgebraicSimplifier: of two truncations the last remains."""
    given(bits_at_most(u, t))
    return x.cast(t).cast(u), x.cast(u)


@wrong(dtypes=[int32], t=(int8, uint8), u=(int16, int32))
def convert_to_less_and_more(x: Tensor, t: DTypeVar, u: DTypeVar):
    """XLA, AlgebraicSimplifier, without the look at the sizes."""
    return x.cast(t).cast(u), x.cast(u)


@wrong(dtypes=[float32])
def convert_through_halves(x: Tensor):
    """XLA, simplify-fp-conversions: two roundings are not one."""
    return x.cast(float16).cast(bfloat16), x.cast(bfloat16)


@wrong(dtypes=[int16])
def convert_to_bools_and_back(x: Tensor):
    """MLIR, tosa.equal of tosa.cast: a bool holds 1 bit (llvm-project #57951)."""
    return x.cast(bool_).cast(int16), x


@right()
def convert_bools_there_and_back(p: Tensor[bool_]):
    """MLIR: the other way nothing is lost."""
    return p.cast(int8).cast(bool_), p


@right(dtypes=[int16])
def comparison_with_a_converted_bool(x: Tensor, p: Tensor[bool_]):
    """MLIR, tosa.equal (llvm-project #57951): compared with a bool, as it should be."""
    return x == p.cast(int16), where(p, x == 1, x == 0)


@wrong(dtypes=[int16])
def comparison_with_a_bool_that_is_extended(x: Tensor, p: Tensor[bool_]):
    """MLIR, tosa.equal (llvm-project #57951): True was reduced to -1."""
    return x == p.cast(int16), where(p, x == -1, x == 0)


@right(dtypes=[int32], t=(int8, float32))
def convert_of_movement(x: Tensor, p: Perm, f: Flags, t: DTypeVar):
    """ONNX Runtime, PropagateCastOps (#7191): a conversion moves through movement."""
    return x.permute(p).flip(f).cast(t), x.cast(t).permute(p).flip(f)


@right(dtypes=[int32], t=(int8, uint8, int16))
def convert_of_sum_to_less(x: Tensor, y: Tensor, t: DTypeVar):
    """LLVM, InstCombine: truncation moves into a sum."""
    return (x + y).cast(t), x.cast(t) + y.cast(t)


@wrong(dtypes=[int8], t=(int16, int32))
def convert_of_sum_to_more(x: Tensor, y: Tensor, t: DTypeVar):
    """XLA: widening does not, where the sum wraps."""
    return (x + y).cast(t), x.cast(t) + y.cast(t)


@wrong(dtypes=[float32])
def convert_of_sum_to_halves(x: Tensor, y: Tensor):
    """ONNX Runtime, PropagateCastOps: computing in less is rounded otherwise."""
    return (x + y).cast(float16), x.cast(float16) + y.cast(float16)


@right(dtypes=[float16])
def convert_of_maximum_to_more(x: Tensor, y: Tensor):
    """XLA: widening keeps the order of floats."""
    return maximum(x, y).cast(float32), maximum(x.cast(float32), y.cast(float32))


@right(dtypes=[float32])
def convert_of_maximum_to_halves(x: Tensor, y: Tensor):
    """XLA: and rounding does not reverse it."""
    return maximum(x, y).cast(float16), maximum(x.cast(float16), y.cast(float16))


@wrong(dtypes=[float32])
def convert_of_maximum_to_integers(x: Tensor, y: Tensor):
    """Conversion to integers makes 0 of NaN."""
    return maximum(x, y).cast(int32), maximum(x.cast(int32), y.cast(int32))


@right(dtypes=[int8], t=(int16, float16))
def convert_of_select(c: Tensor[bool_], x: Tensor, y: Tensor, t: DTypeVar):
    """LLVM, InstCombine: a conversion moves into a select."""
    return where(c, x, y).cast(t), where(c, x.cast(t), y.cast(t))


@right(dtypes=[int8])
def comparison_of_widened(x: Tensor, y: Tensor):
    """XLA: comparing what was widened."""
    return x.cast(int32) < y.cast(int32), x < y


@wrong(dtypes=[int32])
def comparison_of_narrowed(x: Tensor, y: Tensor):
    """XLA: comparing what was truncated."""
    return x.cast(int8) < y.cast(int8), x < y


@wrong(dtypes=[int8])
def comparison_of_unsigned(x: Tensor, y: Tensor):
    """LLVM, InstCombine: signed and unsigned comparisons differ."""
    return x.cast(uint8) < y.cast(uint8), x < y


@right(dtypes=[int32, float32])
def bitcast_there_and_back(x: Tensor):
    """XLA, AlgebraicSimplifier: bitcast-convert of itself."""
    return x.bitcast(uint32).bitcast(x.dtype), x


@right(dtypes=[float16])
def bitcast_of_movement(x: Tensor, p: Perm):
    """XLA: a bitcast to a dtype of one size moves through a transpose."""
    return x.permute(p).bitcast(uint16), x.bitcast(uint16).permute(p)


@wrong(dtypes=[float16])
def bitcast_of_pad_of_ones(x: Tensor, a: Offset, s: Shape):
    """What is 0 to one dtype is 0 to the other, but -0.0 is not."""
    return (x.pad(a, s) == 0), (x.bitcast(uint16).pad(a, s) == 0)


# Nothing is said --------------------------------------------------------------------------------------------------


@vacuous(dtypes=[int8])
def clamp_between_exchanged_bounds(x: Tensor, a: Value, b: Value):
    """A condition that contradicts itself."""
    given(a < b, b < a)
    return clamp(a, x, b), x


@vacuous(dtypes=[int16], t=(int8, uint8))
def convert_losslessly_to_less(x: Tensor, t: DTypeVar):
    """No dtype admits it."""
    given(lossless(int16, t))
    return x.cast(t).cast(int16), x
