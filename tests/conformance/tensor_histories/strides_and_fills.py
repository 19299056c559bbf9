"""Pads and slices with a stride or with a fill, fills and concatenations, at every rank."""

# ruff: noqa: F821

from soundline.verify import (
    Axes,
    Offset,
    Shape,
    Size,
    Tensor,
    Value,
    concat,
    disjoint,
    fill,
    float32,
    given,
    int8,
    maximum,
    minimum,
    one_axis,
    subset,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Slices with a stride ---------------------------------------------------------------------------------------------


@right()
def slice_with_stride_one(x: Tensor, a: Offset, s: Shape):
    """XLA, HLO slice: without a stride."""
    return x.shrink(a, s, 1), x.shrink(a, s)


@right()
def slice_of_slice_with_strides(x: Tensor, a: Offset, s: Shape, k: Shape, b: Offset, t: Shape, j: Shape):
    """XLA, AlgebraicSimplifier, and TensorRight: strided slices compose; strides multiply."""
    return x.shrink(a, s, k).shrink(b, t, j), x.shrink(a + b * k, t, k * j)


@right()
def slice_undoes_interior_padding(x: Tensor, a: Offset, s: Shape, k: Shape):
    """XLA, AlgebraicSimplifier: a strided slice takes back what interior padding spread."""
    return x.pad(a, s, k).shrink(a, x.shape, k), x


@right(dtypes=[int8])
def slice_between_interior_padding(x: Tensor["n"], n: Size, v: Value):
    """XLA: a strided slice that starts between the elements sees the fill."""
    return x.pad((0,), (2 * n,), 2, fill=v).shrink((1,), (n,), 2), fill(v, (n,))


@wrong()
def slice_of_slice_with_strides_not_scaled(
    x: Tensor, a: Offset, s: Shape, k: Shape, b: Offset, t: Shape, j: Shape
):
    """The inner offset is not multiplied by the outer stride."""
    return x.shrink(a, s, k).shrink(b, t, j), x.shrink(a + b, t, k * j)


@wrong()
def slice_undoes_interior_padding_with_another_stride(x: Tensor, a: Offset, s: Shape, k: Shape, j: Shape):
    """The strides differ."""
    return x.pad(a, s, k).shrink(a, x.shape, j), x


@wrong()
def slice_by_two_is_a_slice(x: Tensor, a: Offset, s: Shape):
    """The stride is dropped."""
    return x.shrink(a, s, 2), x.shrink(a, s)


# Interior and valued padding --------------------------------------------------------------------------------------


@right()
def pad_of_pad_with_interior(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """TensorRight: padding between and around, twice, of what has elements."""
    given(x.shape >= 1)
    return x.pad(a, s).pad(b, t, 2), x.pad(b + a * 2, t, 2)


@wrong()
def pad_of_empty_with_interior(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, k: Shape):
    """The same, where nothing may be padded: the offset alone can lie outside."""
    given(k >= 1)
    return x.pad(a, s).pad(b, t, k), x.pad(b + a * k, t, k)


@right(dtypes=[int8, float32])
def pad_of_pad_with_one_fill(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value):
    """XLA, AlgebraicSimplifier: two pads with one fill become one."""
    return x.pad(a, s, fill=v).pad(b, t, fill=v), x.pad(a + b, t, fill=v)


@wrong(dtypes=[int8])
def pad_of_pad_with_two_fills(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value, w: Value):
    """The fills differ."""
    return x.pad(a, s, fill=v).pad(b, t, fill=w), x.pad(a + b, t, fill=v)


@right(dtypes=[int8])
def pad_with_zero(x: Tensor, a: Offset, s: Shape):
    """A pad with zeros, said with its fill."""
    return x.pad(a, s, fill=0), x.pad(a, s)


@right(dtypes=[int8])
def pad_then_cropping_pad(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value):
    """XLA, AlgebraicSimplifier: a pad of negative amounts crops what was padded before; what is left is one pad."""
    low = maximum(b - a, 0)
    given(minimum(b + t - a, x.shape) >= low)
    kept = x.shrink(low, minimum(b + t - a, x.shape) - low)
    return x.pad(a, s, fill=v).shrink(b, t), kept.pad(maximum(a - b, 0), t, fill=v)


@right()
def pad_then_cropping_of_padding(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """XLA: the crop takes padding alone."""
    given(b <= a, a + x.shape <= b + t)
    return x.pad(a, s).shrink(b, t), x.pad(a - b, t)


@wrong()
def pad_then_cropping_pad_at_the_high_end(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """What the crop takes at the high end is forgotten."""
    low = maximum(b - a, 0)
    given(x.shape >= low)
    return x.pad(a, s).shrink(b, t), x.shrink(low, x.shape - low).pad(maximum(a - b, 0), t)


# Fills ------------------------------------------------------------------------------------------------------------


@right()
def slice_of_fill(v: Value, s: Shape, a: Offset, t: Shape):
    """XLA, AlgebraicSimplifier: a slice of a broadcast scalar."""
    return fill(v, s).shrink(a, t), fill(v, t)


@right()
def pad_of_fill(v: Value, s: Shape, a: Offset, t: Shape):
    """XLA: a pad of its own fill."""
    return fill(v, s).pad(a, t, fill=v), fill(v, t)


@right(dtypes=[int8, float32])
def op_on_fills(v: Value, w: Value, s: Shape):
    """XLA, scalars broadcast and combined."""
    return fill(v, s) * fill(w, s), fill(v * w, s)


@wrong(dtypes=[int8])
def pad_of_fill_with_another(v: Value, w: Value, s: Shape, a: Offset, t: Shape):
    """Two fills that differ."""
    return fill(v, s).pad(a, t, fill=w), fill(v, t)


@wrong(dtypes=[int8])
def sum_of_fill(v: Value, s: Shape, a: Axes):
    """As often as there are elements, not once."""
    return fill(v, s).sum(a), fill(v, where(a, 1, s))


# Concatenation ----------------------------------------------------------------------------------------------------


@right(dtypes=[int8])
def concatenation_is_associative(x: Tensor, y: Tensor, z: Tensor, a: Axes):
    """XLA, concatenate of concatenate along one dimension."""
    given(one_axis(a))
    return concat(concat(x, y, a), z, a), concat(x, concat(y, z, a), a)


@right(dtypes=[int8])
def slice_of_the_first(x: Tensor, y: Tensor, a: Axes):
    """XLA, slice of concatenate: the first operand."""
    given(one_axis(a))
    return concat(x, y, a).shrink(0, x.shape), x


@right(dtypes=[int8])
def slice_of_the_second(x: Tensor, y: Tensor, a: Axes):
    """XLA, slice of concatenate: the second operand."""
    given(one_axis(a))
    return concat(x, y, a).shrink(where(a, x.shape, 0), y.shape), y


@right()
def reverse_of_concatenation(x: Tensor, y: Tensor, a: Axes):
    """XLA, reverse of concatenate: both reversed, and exchanged."""
    given(one_axis(a))
    return concat(x, y, a).flip(a), concat(y.flip(a), x.flip(a), a)


@right(dtypes=[int8])
def op_of_concatenations(x: Tensor, y: Tensor, u: Tensor, v: Tensor, a: Axes):
    """TensorRight: an elementwise op moves into concatenations of the same sizes."""
    given(one_axis(a), x.shape == u.shape, y.shape == v.shape)
    return concat(x, y, a) - concat(u, v, a), concat(x - u, y - v, a)


@right(dtypes=[int8])
def sum_of_concatenation(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """XLA, reduce of concatenate, along a set of axes that has that one."""
    given(one_axis(a), subset(a, b))
    return concat(x, y, a).sum(b), x.sum(b) + y.sum(b)


@right(dtypes=[int8])
def sum_beside_concatenation(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """XLA, reduce of concatenate, along other axes."""
    given(one_axis(a), disjoint(a, b))
    return concat(x, y, a).sum(b), concat(x.sum(b), y.sum(b), a)


@right(dtypes=[int8])
def dot_of_concatenations(x: Tensor, y: Tensor, u: Tensor, v: Tensor, a: Axes, b: Axes):
    """TensorRight, dot of concatenations along a contracted dimension, with any set of contracted ones."""
    given(one_axis(a), subset(a, b), x.shape == u.shape, y.shape == v.shape)
    return (concat(x, y, a) * concat(u, v, a)).sum(b), (x * u).sum(b) + (y * v).sum(b)


@right()
def concatenation_with_strides(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size, s: Size, p: Size, t: Size):
    """TensorRight, a strided slice of a concatenation where the stride meets the seam."""
    given(p >= 1, s <= m, (m - s) % p == 0, n == t * p)
    first = (m - s) // p
    return (
        concat(x, y, 0).shrink((s,), (first + t,), (p,)),
        concat(x.shrink((s,), (first,), (p,)), y.shrink((0,), (t,), (p,)), 0),
    )


@wrong()
def concatenation_with_strides_across_the_seam(
    x: Tensor["m"], y: Tensor["n"], m: Size, n: Size, s: Size, p: Size, t: Size
):
    """The same where the stride steps over the seam."""
    given(p >= 1, s <= m, n == t * p)
    first = (m - s) // p
    return (
        concat(x, y, 0).shrink((s,), (first + t,), (p,)),
        concat(x.shrink((s,), (first,), (p,)), y.shrink((0,), (t,), (p,)), 0),
    )


@wrong(dtypes=[int8])
def slice_of_the_second_is_the_first(x: Tensor, y: Tensor, a: Axes):
    """The operands mixed up."""
    given(one_axis(a))
    return concat(x, y, a).shrink(where(a, x.shape, 0), y.shape), x


@wrong()
def reverse_of_concatenation_not_exchanged(x: Tensor, y: Tensor, a: Axes):
    """Both reversed, in the old order."""
    given(one_axis(a))
    return concat(x, y, a).flip(a), concat(x.flip(a), y.flip(a), a)


@wrong(dtypes=[int8])
def dot_of_concatenations_along_others(x: Tensor, y: Tensor, u: Tensor, v: Tensor, a: Axes, b: Axes):
    """The axis of the concatenation is not contracted."""
    given(one_axis(a), x.shape == u.shape, y.shape == v.shape)
    return (concat(x, y, a) * concat(u, v, a)).sum(b), (x * u).sum(b) + (y * v).sum(b)


@wrong(dtypes=[int8])
def sum_of_concatenation_along_no_axis(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """A set with no axis in it, or with several: no concatenation."""
    given(subset(a, b))
    return concat(x, y, a).sum(b), x.sum(b) + y.sum(b)


# Sums that do not notice zeros ------------------------------------------------------------------------------------

NOTHING = -float("inf")


@right(dtypes=[float32])
def softmax_sum_with_a_masked_tail(x: Tensor["n"], n: Size, m: Size):
    """Attention kernels: rows padded with -inf; 2^x makes +0.0 of it, which no sum of what is positive notices."""
    given(n <= m)
    return x.pad((0,), (m,), fill=NOTHING).exp2().sum(0), x.exp2().sum(0)


@right(dtypes=[float32])
def softmax_sum_with_a_masked_tail_along_any_axes(x: Tensor, a: Axes, t: Shape):
    """The same along a set of axes, at every rank."""
    given(x.shape <= t)
    return x.pad(0, where(a, t, x.shape), fill=NOTHING).exp2().sum(a), x.exp2().sum(a)


@right(dtypes=[float32])
def softmax_sum_masked_on_both_sides(x: Tensor, a: Axes, o: Offset, t: Shape):
    """The same with a head and a tail, as a window that slides has them."""
    given(o >= 0, o + x.shape <= t)
    return x.pad(where(a, o, 0), where(a, t, x.shape), fill=NOTHING).exp2().sum(a), x.exp2().sum(a)


@right(dtypes=[float32], licences="reassociate")
def softmax_sum_with_a_masked_tail_in_any_order(x: Tensor, a: Axes, t: Shape):
    """The same where sums may be taken in another order."""
    given(x.shape <= t)
    return x.pad(0, where(a, t, x.shape), fill=NOTHING).exp2().sum(a), x.exp2().sum(a)


@right(dtypes=[float32])
def maximum_with_a_masked_tail_along_any_axes(x: Tensor, a: Axes, t: Shape):
    """And the maximum that goes before it."""
    given(x.shape <= t)
    return x.pad(0, where(a, t, x.shape), fill=NOTHING).max(a), x.max(a)


@wrong(dtypes=[float32])
def softmax_sum_with_a_zero_tail_along_any_axes(x: Tensor, a: Axes, t: Shape):
    """2^0 is 1."""
    given(x.shape <= t)
    return x.pad(0, where(a, t, x.shape)).exp2().sum(a), x.exp2().sum(a)


@wrong(dtypes=[float32])
def softmax_sum_with_a_tail_of_the_least_exponent(x: Tensor, a: Axes, t: Shape):
    """2^-126 is little, and not nothing."""
    given(x.shape <= t)
    return x.pad(0, where(a, t, x.shape), fill=-126.0).exp2().sum(a), x.exp2().sum(a)


@wrong(dtypes=[float32])
def softmax_product_with_a_masked_tail(x: Tensor, a: Axes, t: Shape):
    """To a product nothing is everything."""
    given(x.shape <= t)
    return x.pad(0, where(a, t, x.shape), fill=NOTHING).exp2().prod(a), x.exp2().prod(a)


@wrong(dtypes=[float32])
def weighted_softmax_sum_with_a_masked_tail(x: Tensor, y: Tensor, a: Axes, t: Shape):
    """A weight makes -0.0 of what is not added."""
    given(x.shape <= t, x.shape == y.shape)
    masked = x.pad(0, where(a, t, x.shape), fill=NOTHING).exp2()
    return (masked * y.pad(0, where(a, t, x.shape))).sum(a), (x.exp2() * y).sum(a)


@right(dtypes=[float32])
def sum_of_magnitudes_with_a_zero_tail(x: Tensor["n"], n: Size, m: Size):
    """The same of magnitudes."""
    given(n <= m)
    return abs(x).pad((0,), (m,)).sum(0), abs(x).sum(0)


@right(dtypes=[float32])
def sum_of_squares_with_a_zero_head(x: Tensor["n"], n: Size, a: Size, m: Size):
    """The same of squares, with zeros on both sides."""
    return (x * x).pad((a,), (m,)).sum(0), (x * x).sum(0)


@wrong(dtypes=[float32])
def sum_with_a_zero_tail(x: Tensor["n"], n: Size, m: Size):
    """The sum of -0.0 alone is -0.0."""
    given(n <= m)
    return x.pad((0,), (m,)).sum(0), x.sum(0)


@wrong(dtypes=[float32])
def sum_of_roots_with_a_zero_tail(x: Tensor["n"], n: Size, m: Size):
    """The root of -0.0 is -0.0."""
    given(n <= m)
    return x.sqrt().pad((0,), (m,)).sum(0), x.sqrt().sum(0)


@wrong(dtypes=[float32])
def softmax_sum_with_a_zero_tail(x: Tensor["n"], n: Size, m: Size):
    """2^0 is 1."""
    given(n <= m)
    return x.pad((0,), (m,)).exp2().sum(0), x.exp2().sum(0)


@wrong(dtypes=[float32])
def sum_of_what_may_be_negative_zero(x: Tensor["n"], n: Size, m: Size):
    """max(x, -0.0) may be -0.0."""
    given(n <= m)
    return maximum(x, -0.0).pad((0,), (m,)).sum(0), maximum(x, -0.0).sum(0)
