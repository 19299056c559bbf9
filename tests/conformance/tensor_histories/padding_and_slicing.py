"""Padding and slicing: nested, one inside the other, crops, updates, fills, and ops moved through a pad."""

# ruff: noqa: F821

from soundline.verify import (
    DTypeVar,
    Offset,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    Value,
    bool_,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    maximum,
    preserves_zero,
    where,
)

from .form import Histories, clamp, everywhere, filled, updated

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Pads and slices, nested ------------------------------------------------------------------------------------------


@right()
def pad_of_pad(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """XLA, AlgebraicSimplifier: two pads with one fill become one."""
    return x.pad(a, s).pad(b, t), x.pad(a + b, t)


@wrong()
def pad_of_pad_forgets_the_inner_offset(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """The same, with the offset of the outer pad alone."""
    return x.pad(a, s).pad(b, t), x.pad(b, t)


@right()
def pad_by_nothing(x: Tensor, a: Offset, s: Shape):
    """MLIR, tosa.pad: a pad that leaves the shape as it is. That its offset is 0 follows."""
    given(s == x.shape)
    return x.pad(a, s), x


@wrong()
def pad_at_offset_zero(x: Tensor, s: Shape):
    """MLIR, tosa.pad: reduced although the type of the result differs (llvm-project #98356)."""
    return x.pad(0, s), x


@right()
def slice_of_everything(x: Tensor, a: Offset, s: Shape):
    """XLA, AlgebraicSimplifier: a slice of the whole operand."""
    given(s == x.shape)
    return x.shrink(a, s), x


@right()
def slice_of_slice_of_slice(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, c: Offset, u: Shape):
    """XLA, AlgebraicSimplifier: slice of slice, twice."""
    return x.shrink(a, s).shrink(b, t).shrink(c, u), x.shrink(a + b + c, u)


@wrong()
def slice_of_slice_at_the_outer_offset(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """MLIR, tensor.extract_slice of extract_slice: the inner offset is lost."""
    return x.shrink(a, s).shrink(b, t), x.shrink(b, t)


@wrong()
def slice_of_slice_to_the_outer_length(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """The lengths are mixed up: right only where nothing was cut off twice."""
    return x.shrink(a, s).shrink(b, t), x.shrink(a + b, s)


# Slices of pads ---------------------------------------------------------------------------------------------------


@right()
def slice_inside_of_pad(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """XLA, and MLIR, tosa.slice of tosa.pad: the slice keeps to what was padded (llvm-project #138900)."""
    given(a <= b, b + t <= a + x.shape)
    return x.pad(a, s).shrink(b, t), x.shrink(b - a, t)


@wrong()
def slice_inside_of_pad_by_one_too_many(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """The same, off by one at the high end."""
    given(a <= b, b + t <= a + x.shape + 1)
    return x.pad(a, s).shrink(b, t), x.shrink(b - a, t)


@right()
def slice_overlaps_the_low_padding(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """MLIR, tosa.slice of tosa.pad: what is left of the padding is padded again (llvm-project #138900)."""
    given(b <= a, a <= b + t, b + t <= a + x.shape)
    return x.pad(a, s).shrink(b, t), x.shrink(0, b + t - a).pad(a - b, t)


@right()
def slice_overlaps_the_high_padding(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """MLIR, tosa.slice of tosa.pad, at the other end."""
    given(a <= b, b <= a + x.shape, a + x.shape <= b + t)
    return x.pad(a, s).shrink(b, t), x.shrink(b - a, a + x.shape - b).pad(0, t)


@wrong()
def slice_overlaps_and_keeps_the_offset(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """The padding that the slice has cut off is not taken from the offset."""
    given(b <= a, a + x.shape <= b + t, a + x.shape <= t)
    return x.pad(a, s).shrink(b, t), x.pad(a, t)


@right()
def slice_around_what_was_padded(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """MLIR, tosa.slice of tosa.pad, which only trims the padding (llvm-project #184615)."""
    given(b <= a, a + x.shape <= b + t)
    return x.pad(a, s).shrink(b, t), x.pad(a - b, t)


@right()
def slice_of_the_low_padding(x: Tensor["n"], a: Size, s: Size, b: Size, t: Size):
    """XLA, AlgebraicSimplifier: a slice of padding alone is a broadcast of the fill."""
    given(b + t <= a)
    return x.pad((a,), (s,)).shrink((b,), (t,)), x.shrink((0,), (0,)).pad((0,), (t,))


@wrong()
def slice_of_the_low_padding_and_one(x: Tensor["n"], a: Size, s: Size, b: Size, t: Size):
    """The same, when the slice reaches one element further."""
    given(b + t <= a + 1)
    return x.pad((a,), (s,)).shrink((b,), (t,)), x.shrink((0,), (0,)).pad((0,), (t,))


@right()
def slice_of_the_high_padding(x: Tensor["n"], a: Size, s: Size, b: Size, t: Size, n: Size):
    """XLA, AlgebraicSimplifier, at the other end."""
    given(a + n <= b)
    return x.pad((a,), (s,)).shrink((b,), (t,)), x.shrink((0,), (0,)).pad((0,), (t,))


@right()
def slice_of_the_padding_at_every_rank(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """The same along all axes; at rank 0, where the condition says nothing, both sides keep the one element."""
    given(b + t <= a)
    return x.pad(a, s).shrink(b, t), x.shrink(0, 0).pad(0, t)


@wrong(dtypes=[int8])
def slice_of_the_padding_at_rank_zero(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    """The same as a product with 0: at rank 0 the one element is not padding."""
    given(b + t <= a)
    return x.pad(a, s).shrink(b, t), x.pad(a, s).shrink(b, t) * 0


@right()
def slice_of_padding_in_one_axis(x: Tensor["m", "n"], a: Size, m: Size, s: Size, n: Size, t: Size, u: Size):
    """XLA: one axis in the padding is enough."""
    given(t <= a)
    return (
        x.pad((a, 0), (s, n)).shrink((0, 0), (t, u)),
        x.shrink((0, 0), (0, u)).pad((0, 0), (t, u)),
    )


@right()
def high_padding_is_cut_off_again(x: Tensor, s: Shape, t: Shape):
    """TVM, relay SimplifyExpr: strided_slice of pad."""
    given(t <= x.shape)
    return x.pad(0, s).shrink(0, t), x.shrink(0, t)


# Crops ------------------------------------------------------------------------------------------------------------


@wrong()
def crop_and_pad_is_nothing(x: Tensor, a: Offset, s: Shape):
    """XLA: a negative pad was added to the padding of the window behind it (openxla/xla #48715)."""
    return x.shrink(a, s).pad(a, x.shape), x


@right(dtypes=[int8, float32])
def crop_and_pad_is_a_mask(x: Tensor, a: Offset, s: Shape):
    """What crop and pad are: the elements outside of the crop are lost."""
    return x.shrink(a, s).pad(a, x.shape), where(everywhere(x.shrink(a, s)).pad(a, x.shape), x, 0)


@wrong()
def crop_and_pad_as_net_padding(x: Tensor["n"], n: Size, c: Size, p: Size):
    """XLA: the net padding of a crop and a pad on one side (openxla/xla #48715)."""
    given(c <= n, c <= p)
    return x.shrink((c,), (n - c,)).pad((p,), (n - c + p,)), x.pad((p - c,), (n - c + p,))


@right()
def crop_of_one_side_and_pad_of_the_other(x: Tensor["n"], n: Size, c: Size, p: Size):
    """XLA: of the two sides of an axis one may be cropped first or last."""
    given(c <= n)
    return x.shrink((c,), (n - c,)).pad((0,), (n - c + p,)), x.pad((0,), (n + p,)).shrink((c,), (n - c + p,))


@right()
def nothing_padded_at_any_place(x: Tensor, a: Offset, s: Shape):
    """XLA, ZeroSizedHloElimination: of an empty operand only the fill is left."""
    given(x.shape == 0)
    return x.pad(a, s), x.pad(0, s)


@wrong()
def anything_padded_at_any_place(x: Tensor, a: Offset, s: Shape):
    """The same, without the condition."""
    return x.pad(a, s), x.pad(0, s)


# Strides ----------------------------------------------------------------------------------------------------------


@right()
def every_second_of_interior_padding(x: Tensor["n"], n: Size):
    """XLA, AlgebraicSimplifier: a strided slice undoes interior padding."""
    spread = x.reshape((n, 1)).pad((0, 0), (n, 2)).reshape((n * 2,))
    return spread.reshape((n, 2)).shrink((0, 0), (n, 1)).reshape((n,)), x


@right()
def every_other_of_interior_padding(x: Tensor["n"], n: Size):
    """XLA: a strided slice that starts between the elements sees the fill."""
    spread = x.reshape((n, 1)).pad((0, 0), (n, 2)).reshape((n * 2,))
    return spread.reshape((n, 2)).shrink((0, 1), (n, 1)).reshape((n,)), x.shrink((0,), (0,)).pad((0,), (n,))


@wrong()
def interior_padding_as_edge_padding(x: Tensor["n"], n: Size):
    """XLA: interior padding is not padding at the end, but for one element."""
    return x.reshape((n, 1)).pad((0, 0), (n, 2)).reshape((n * 2,)), x.pad((0,), (n * 2,))


# Slices whose start is clamped ------------------------------------------------------------------------------------


@right()
def dynamic_slice_inside(x: Tensor["n"], n: Size, i: Value[index], t: Size):
    """XLA, AlgebraicSimplifier: a dynamic slice with a known start is a slice."""
    given(i >= 0, i + t <= n)
    return x.shrink((clamp(0, i, n - t),), (t,)), x.shrink((i,), (t,))


@wrong()
def dynamic_slice_anywhere(x: Tensor["n"], n: Size, i: Value[index], t: Size):
    """XLA: a reduction forgot that the start is clamped (openxla/xla #49121)."""
    return x.shrink((clamp(0, i, n - t),), (t,)), x.shrink((i,), (t,))


@right()
def dynamic_slice_of_everything(x: Tensor["n"], n: Size, i: Value[index]):
    """XLA, AlgebraicSimplifier: a dynamic slice as long as its operand starts at 0, wherever it is told to."""
    return x.shrink((clamp(0, i, n - n),), (n,)), x


@wrong()
def dynamic_slices_added(x: Tensor["n"], n: Size, i: Value[index], s: Size, j: Value[index], t: Size):
    """TensorRight: nested dynamic slices; each clamps on its own."""
    inner = x.shrink((clamp(0, i, n - s),), (s,))
    return inner.shrink((clamp(0, j, s - t),), (t,)), x.shrink((clamp(0, i + j, n - t),), (t,))


@right()
def dynamic_slices_clamped_and_added(
    x: Tensor["n"], n: Size, i: Value[index], s: Size, j: Value[index], t: Size
):
    """TensorRight: the sum of the two clamped starts is inside."""
    inner = x.shrink((clamp(0, i, n - s),), (s,))
    return (
        inner.shrink((clamp(0, j, s - t),), (t,)),
        x.shrink((clamp(0, i, n - s) + clamp(0, j, s - t),), (t,)),
    )


# Updates ----------------------------------------------------------------------------------------------------------


@right(dtypes=[int8, float32])
def slice_of_update(x: Tensor, u: Tensor, a: Offset):
    """XLA, AlgebraicSimplifier: a slice of what was just written."""
    return updated(x, u, a).shrink(a, u.shape), u


@wrong(dtypes=[int8])
def slice_of_update_at_another_place(x: Tensor, u: Tensor, a: Offset, b: Offset):
    """The same, without comparing the offsets."""
    return updated(x, u, a).shrink(b, u.shape), u


@right(dtypes=[int8, float32])
def update_of_everything(x: Tensor, u: Tensor, a: Offset):
    """XLA, AlgebraicSimplifier: an update as large as the operand."""
    given(u.shape == x.shape)
    return updated(x, u, a), u


@right(dtypes=[int8, float32])
def update_with_nothing(x: Tensor["n"], u: Tensor[0], a: Size):
    """XLA, AlgebraicSimplifier: an empty update writes nothing."""
    return updated(x, u, (a,)), x


@right(dtypes=[int8])
def update_over_update(x: Tensor, u: Tensor, v: Tensor, a: Offset):
    """XLA: of two updates at one place the last remains."""
    given(u.shape == v.shape)
    return updated(updated(x, u, a), v, a), updated(x, v, a)


@wrong(dtypes=[int8])
def update_over_larger_update(x: Tensor, u: Tensor, v: Tensor, a: Offset):
    """The same, where the last one is the smaller."""
    given(v.shape <= u.shape)
    return updated(updated(x, u, a), v, a), updated(x, v, a)


@right(dtypes=[int8])
def update_with_what_was_there(x: Tensor, a: Offset, s: Shape):
    """XLA, AlgebraicSimplifier: a slice that is written back."""
    return updated(x, x.shrink(a, s), a), x


@right(dtypes=[int8])
def slice_beside_the_update(x: Tensor["n"], u: Tensor["m"], a: Size, b: Size, t: Size, m: Size):
    """XLA: a slice of what an update left alone."""
    given((b + t <= a) | (a + m <= b))
    return updated(x, u, (a,)).shrink((b,), (t,)), x.shrink((b,), (t,))


@wrong(dtypes=[int8])
def slice_at_the_edge_of_the_update(x: Tensor["n"], u: Tensor["m"], a: Size, b: Size, t: Size, m: Size):
    """The same, off by one."""
    given((b + t <= a) | (a + m <= b + 1))
    return updated(x, u, (a,)).shrink((b,), (t,)), x.shrink((b,), (t,))


@right(dtypes=[int8])
def updates_that_do_not_meet(x: Tensor["n"], u: Tensor["k"], v: Tensor["m"], a: Size, b: Size, k: Size):
    """XLA: updates commute where they do not overlap."""
    given(a + k <= b)
    return updated(updated(x, u, (a,)), v, (b,)), updated(updated(x, v, (b,)), u, (a,))


@wrong(dtypes=[int8])
def updates_that_begin_apart(x: Tensor["n"], u: Tensor["k"], v: Tensor["m"], a: Size, b: Size):
    """The same, where only their beginnings are known to differ."""
    given(a < b)
    return updated(updated(x, u, (a,)), v, (b,)), updated(updated(x, v, (b,)), u, (a,))


# Fills ------------------------------------------------------------------------------------------------------------


@right(dtypes=[int8, float32])
def slice_of_filled(x: Tensor, a: Offset, s: Shape, v: Value):
    """XLA: any fill is cut off again."""
    return filled(x, a, s, v).shrink(a, x.shape), x


@right(dtypes=[int8])
def filled_twice(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value):
    """XLA, AlgebraicSimplifier: two pads with one fill."""
    return filled(filled(x, a, s, v), b, t, v), filled(x, a + b, t, v)


@wrong(dtypes=[int8])
def filled_with_two_values(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value, w: Value):
    """The same, without comparing the fills."""
    return filled(filled(x, a, s, v), b, t, w), filled(x, a + b, t, w)


@right(dtypes=[int8, int32])
def fill_as_a_shift(x: Tensor, a: Offset, s: Shape, v: Value):
    """A fill other than 0, where only 0 can be filled in: wraps cancel."""
    return filled(x, a, s, v), (x - v).pad(a, s) + v


@wrong(dtypes=[float16])
def fill_as_a_shift_of_floats(x: Tensor, a: Offset, s: Shape, v: Value):
    """The same on floats, where the difference is rounded."""
    return filled(x, a, s, v), (x - v).pad(a, s) + v


# Ops through a pad ------------------------------------------------------------------------------------------------


@right()
def op_that_keeps_zero(f: UnaryOp, x: Tensor, a: Offset, s: Shape):
    """tinygrad: a pad moves through an op that makes 0 of 0."""
    given(preserves_zero(f))
    return f(x).pad(a, s), f(x.pad(a, s))


@wrong()
def op_of_any_kind(f: UnaryOp, x: Tensor, a: Offset, s: Shape):
    """tinygrad: padding through exp2 and recip made ones and infinities of the fill (tinygrad #2935)."""
    return f(x).pad(a, s), f(x.pad(a, s))


@wrong(dtypes=[int8, float16], but=[int8])
def negation(x: Tensor, a: Offset, s: Shape):
    """XLA: the fill of floats becomes -0.0."""
    return (-x).pad(a, s), -(x.pad(a, s))


@wrong(dtypes=[float16])
def reciprocal(x: Tensor, a: Offset, s: Shape):
    """tinygrad #2935: 1 / 0."""
    return x.recip().pad(a, s), x.pad(a, s).recip()


@right(dtypes=[int8, float16])
def scaled_by_zero(x: Tensor, a: Offset, s: Shape):
    """A product with 0 keeps the fill, on floats too."""
    return (x * 0).pad(a, s), x.pad(a, s) * 0


@wrong(dtypes=[int8, float16], but=[int8])
def scaled(x: Tensor, a: Offset, s: Shape, c: Value):
    """XLA, sinking a pad below a multiplication: NaN where c is infinite, -0.0 where it is negative."""
    return (x * c).pad(a, s), x.pad(a, s) * c


@wrong(dtypes=[int8])
def shifted(x: Tensor, a: Offset, s: Shape, c: Value):
    """Sinking a pad below an addition."""
    return (x + c).pad(a, s), x.pad(a, s) + c


@right(dtypes=[int8, float16])
def sum_of_pads(x: Tensor, y: Tensor, a: Offset, s: Shape):
    """XLA: two pads alike, added."""
    given(x.shape == y.shape)
    return x.pad(a, s) + y.pad(a, s), (x + y).pad(a, s)


@wrong(dtypes=[int8])
def sum_of_pads_of_two_shapes(x: Tensor, y: Tensor, a: Offset, s: Shape):
    """XLA: what was padded need not have one shape."""
    return x.pad(a, s) + y.pad(a, s), (x + y).pad(a, s)


@right(dtypes=[int8, float16])
def choice_of_pads(c: Tensor[bool_], x: Tensor, y: Tensor, a: Offset, s: Shape):
    """XLA: a select whose three operands are padded alike."""
    given(c.shape == x.shape, x.shape == y.shape)
    return where(c.pad(a, s), x.pad(a, s), y.pad(a, s)), where(c, x, y).pad(a, s)


@right(dtypes=[int8, float16])
def rectified(x: Tensor, a: Offset, s: Shape):
    """XLA and TVM: relu of pad."""
    return maximum(x.pad(a, s), 0), maximum(x, 0).pad(a, s)


@right(dtypes=[int8, float16])
def at_least_something_not_above_zero(x: Tensor, a: Offset, s: Shape, c: Value):
    """A clamp moves through a pad when it lets 0 through."""
    given(c <= 0)
    return maximum(x.pad(a, s), c), maximum(x, c).pad(a, s)


@wrong(dtypes=[int8, float16])
def at_least_anything(x: Tensor, a: Offset, s: Shape, c: Value):
    """TVM: a clamp that lifts the fill."""
    return maximum(x.pad(a, s), c), maximum(x, c).pad(a, s)


@right(dtypes=[bool_, int8, float16], t=(bool_, int8, int32, float32))
def cast_of_pad(x: Tensor, a: Offset, s: Shape, t: DTypeVar):
    """XLA: convert of pad; every cast makes 0 of 0."""
    return x.pad(a, s).cast(t), x.cast(t).pad(a, s)


# Nothing is said --------------------------------------------------------------------------------------------------


@vacuous()
def pad_to_less(x: Tensor["n"], n: Size, a: Size, s: Size):
    """No pad shortens."""
    given(s < n)
    return x.pad((a,), (s,)), x.shrink((a,), (s,))


@vacuous()
def slice_beyond_the_end(x: Tensor["n"], n: Size, a: Size, s: Size):
    """TensorRight has rules whose condition excludes every input."""
    given(n < a)
    return x.shrink((a,), (s,)), x


@vacuous()
def pad_of_pad_of_nothing(x: Tensor[0], n: Size):
    """A slice of no elements equals any other."""
    return x.pad((0,), (n,)).shrink((0,), (0,)), x
