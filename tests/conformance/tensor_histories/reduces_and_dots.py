"""Reductions and dots: of themselves, of movement, of pads and broadcasts, distributed over ops, in other orders."""

# ruff: noqa: F821

from soundline.verify import (
    Axes,
    Bool,
    Monoid,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    Value,
    bool_,
    disjoint,
    float16,
    float32,
    given,
    identity,
    index,
    int8,
    int32,
    inverse,
    maximum,
    no_axes,
    subset,
    where,
)

from .form import Histories, dot, filled

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Reductions of reductions -----------------------------------------------------------------------------------------


@right(dtypes=[int8])
def reduce_of_reduce(x: Tensor, m: Monoid, a: Axes, b: Axes):
    """XLA, AlgebraicSimplifier, and TensorRight: two reductions of one kind. Axes that were reduced have size 1."""
    return x.reduce(m, a).reduce(m, b), x.reduce(m, a | b)


@right(dtypes=[float16])
def maximum_of_maximum(x: Tensor, a: Axes, b: Axes):
    """XLA: of floats the maximum alone may be taken in any order."""
    return x.max(a).max(b), x.max(a | b)


@wrong(dtypes=[float16])
def sum_of_sum(x: Tensor, a: Axes, b: Axes):
    """XLA merges sums of floats, which rounds in another order."""
    return x.sum(a).sum(b), x.sum(a | b)


@right(dtypes=[float32], licences="reassociate")
def sum_of_sum_reassociated(x: Tensor, a: Axes, b: Axes):
    """The same, where that is allowed."""
    return x.sum(a).sum(b), x.sum(a | b)


@wrong(dtypes=[int32])
def sum_of_sum_of_converted(x: Tensor, a: Axes, b: Axes):
    """XLA: that what is converted were integers does not make the sums of floats exact."""
    return x.cast(float32).sum(a).sum(b), x.cast(float32).sum(a | b)


@wrong(dtypes=[int8])
def reduce_of_another_reduce(x: Tensor, m: Monoid, k: Monoid, a: Axes, b: Axes):
    """The two reductions were not compared."""
    return x.reduce(m, a).reduce(k, b), x.reduce(m, a | b)


@wrong(dtypes=[int8])
def reduces_of_two_kinds_exchanged(x: Tensor["m", "n"]):
    """A greatest sum is no sum of greatest elements."""
    return x.sum(0).max(1), x.max(1).sum(0)


@right(dtypes=[int8, float16])
def reduce_along_no_axes(x: Tensor, m: Monoid, a: Axes):
    """TVM #2284 and Enzyme-JAX #880: without axes nothing is reduced."""
    given(no_axes(a))
    return x.reduce(m, a), x


@right(dtypes=[int8, float16])
def reduce_of_single_elements(x: Tensor, m: Monoid, a: Axes):
    """XLA, AlgebraicSimplifier: axes of size 1; a reduction of floats begins at its first element."""
    given(where(a, x.shape, 1) == 1)
    return x.reduce(m, a), x


@wrong(dtypes=[int8])
def reduce_of_at_most_single_elements(x: Tensor, m: Monoid, a: Axes):
    """An empty axis becomes one of size 1."""
    given(where(a, x.shape, 1) <= 1)
    return x.reduce(m, a), x


@right(dtypes=[int8, float16])
def reduce_and_squeeze(x: Tensor["m", 1], o: Monoid, m: Size):
    """XLA: a reduction of an axis of size 1 that is dropped is a reshape."""
    return x.reduce(o, 1).reshape((m,)), x.reshape((m,))


@right(dtypes=[int8, float16])
def sum_of_two(x: Tensor["m", 2], m: Size):
    """XLA, AlgebraicSimplifier: a reduction of two elements is one op."""
    return x.sum(1), x.shrink((0, 1), (m, 1)) + x.shrink((0, 0), (m, 1))


@right(dtypes=[int8, float16])
def sum_of_three(x: Tensor["m", 3], m: Size):
    """XLA: and of three it is two, in this order."""
    return x.sum(1), x.shrink((0, 0), (m, 1)) + x.shrink((0, 1), (m, 1)) + x.shrink((0, 2), (m, 1))


@wrong(dtypes=[int8, float16], but=[int8])
def sum_of_three_backwards(x: Tensor["m", 3], m: Size):
    """On floats in no other."""
    return x.sum(1), x.shrink((0, 2), (m, 1)) + x.shrink((0, 1), (m, 1)) + x.shrink((0, 0), (m, 1))


# Reductions of nothing --------------------------------------------------------------------------------------------


@right(dtypes=[int8, float16])
def sum_of_nothing(x: Tensor["m", 0], m: Size):
    """XLA, ZeroSizedHloElimination: an empty sum is 0."""
    return x.sum(1), x.pad((0, 0), (m, 1))


@wrong(dtypes=[int8, float16])
def reduce_of_nothing(x: Tensor["m", 0], o: Monoid, m: Size):
    """An empty product is 1, and an empty maximum the least value."""
    return x.reduce(o, 1), x.pad((0, 0), (m, 1))


@right(dtypes=[int8])
def reduce_of_nothing_is_the_identity(x: Tensor["m", 0], o: Monoid, m: Size):
    """XLA: the initial value, broadcast."""
    return x.reduce(o, 1), where(x.pad((0, 0), (m, 1)) == 0, identity(o), 0)


# Reductions of movement -------------------------------------------------------------------------------------------


@right(dtypes=[int8])
def reduce_of_transpose(x: Tensor, o: Monoid, a: Axes, p: Perm):
    """XLA, AlgebraicSimplifier, and ONNX Runtime, transpose optimizer: the axes move along."""
    return x.permute(p).reduce(o, a), x.reduce(o, a.permute(inverse(p))).permute(p)


@wrong(dtypes=[int8])
def reduce_of_transpose_in_place(x: Tensor, a: Axes, p: Perm):
    """onnx2tf #617: the axes of a reduction keep their numbers."""
    return x.permute(p).sum(a), x.sum(a).permute(p)


@wrong(dtypes=[float16])
def float_sum_of_transpose(x: Tensor["m", "n"]):
    """Two reduced axes that are exchanged change the order of the sum."""
    return x.permute((1, 0)).sum((0, 1)), x.sum((0, 1))


@right(dtypes=[float16])
def float_sum_of_transpose_along_one(x: Tensor["m", "n"]):
    """One axis alone keeps it."""
    return x.permute((1, 0)).sum(0), x.sum(1).permute((1, 0))


@right(dtypes=[int8])
def reduce_of_reverse(x: Tensor, o: Monoid, a: Axes, b: Axes):
    """XLA, AlgebraicSimplifier: reversing what is reduced changes nothing."""
    given(subset(b, a))
    return x.flip(b).reduce(o, a), x.reduce(o, a)


@wrong(dtypes=[int8])
def reduce_of_reverse_elsewhere(x: Tensor, o: Monoid, a: Axes, b: Axes):
    """The same, where other axes are reversed."""
    return x.flip(b).reduce(o, a), x.reduce(o, a)


@right(dtypes=[float16])
def maximum_of_reverse(x: Tensor, a: Axes, b: Axes):
    """A maximum of floats has no order."""
    given(subset(b, a))
    return x.flip(b).max(a), x.max(a)


@wrong(dtypes=[float16])
def float_sum_of_reverse(x: Tensor, a: Axes, b: Axes):
    """XLA: a sum of floats has one."""
    given(subset(b, a))
    return x.flip(b).sum(a), x.sum(a)


@right(dtypes=[float16])
def float_sum_of_reverse_beside(x: Tensor, a: Axes, b: Axes):
    """But reversing other axes leaves it."""
    given(disjoint(a, b))
    return x.flip(b).sum(a), x.sum(a).flip(b)


@right(dtypes=[int8, float16])
def sum_of_flattened(x: Tensor["m", "n"], m: Size, n: Size):
    """XLA, AlgebraicSimplifier: reduce of reshape. One reduction over two axes is in the order of the flat array."""
    return x.reshape((m * n,)).sum(0), x.sum((0, 1)).reshape((1,))


@wrong(dtypes=[int8, float16], but=[int8])
def sum_of_flattened_by_rows(x: Tensor["m", "n"], m: Size, n: Size):
    """XLA, tree reduction: the sum of the sums of the rows is rounded otherwise."""
    return x.reshape((m * n,)).sum(0), x.sum(1).sum(0).reshape((1,))


@right(dtypes=[int8, float16])
def maximum_of_flattened_by_rows(x: Tensor["m", "n"], m: Size, n: Size):
    """XLA, tree reduction: of maxima it may be done."""
    return x.reshape((m * n,)).max(0), x.max(1).max(0).reshape((1,))


@right(dtypes=[int8])
def reduce_by_blocks(x: Tensor["n"], o: Monoid, n: Size, a: Size, b: Size):
    """TVM, rfactor: a reduction is split into reductions of blocks."""
    given(n == a * b)
    return x.reshape((a, b)).reduce(o, 1).reduce(o, 0), x.reduce(o, 0).reshape((1, 1))


@wrong(dtypes=[int8])
def reduce_by_whole_blocks_alone(x: Tensor["n"], n: Size):
    """TVM, rfactor: the tail that fills no block is lost."""
    return x.sum(0), x.shrink((0,), (n // 4 * 4,)).sum(0)


@right(dtypes=[int8])
def reduce_of_slice(x: Tensor["m", "n"], o: Monoid, a: Size, s: Size, n: Size):
    """XLA: a slice of other axes moves out of a reduction."""
    return x.shrink((a, 0), (s, n)).reduce(o, 1), x.reduce(o, 1).shrink((a, 0), (s, 1))


@wrong(dtypes=[int8])
def reduce_of_slice_along(x: Tensor["m", "n"], o: Monoid, m: Size, b: Size, t: Size):
    """A slice of the reduced axis does not."""
    return x.shrink((0, b), (m, t)).reduce(o, 1), x.reduce(o, 1)


# Reductions of broadcasts -----------------------------------------------------------------------------------------


@right(dtypes=[index, int8])
def sum_of_broadcast(x: Tensor["m", 1], m: Size, n: Size):
    """XLA, AlgebraicSimplifier, and ngraph #907: a sum of equal elements is a product."""
    return x.expand((m, n)).sum(1), x * n.cast(x.dtype)


@wrong(dtypes=[float16])
def float_sum_of_broadcast(x: Tensor["m", 1], m: Size, n: Size):
    """On floats it is not, as of nothing at all: 0 times infinity."""
    return x.expand((m, n)).sum(1), x * n.cast(int32).cast(x.dtype)


@wrong(dtypes=[int8])
def sum_of_broadcast_scaled_by_the_other_axis(x: Tensor["m", 1], m: Size, n: Size):
    """The same with the size of the other axis."""
    return x.expand((m, n)).sum(1), x * m.cast(x.dtype)


@right(dtypes=[int8, float16])
def maximum_of_broadcast(x: Tensor["m", 1], m: Size, n: Size):
    """XLA, and Enzyme-JAX #881: a maximum of equal elements."""
    given(n > 0)
    return x.expand((m, n)).max(1), x


@wrong(dtypes=[int8, float16])
def maximum_of_empty_broadcast(x: Tensor["m", 1], m: Size, n: Size):
    """The same, without the look at the size: of nothing the maximum is the least value."""
    return x.expand((m, n)).max(1), x


@right(dtypes=[int8, float16])
def reduce_beside_broadcast(x: Tensor[1, "n"], o: Monoid, m: Size, n: Size):
    """XLA: a broadcast of other axes moves out of a reduction."""
    return x.expand((m, n)).reduce(o, 1), x.reduce(o, 1).expand((m, 1))


@right(dtypes=[int8])
def sum_of_broadcast_sum(x: Tensor["m", "n"], m: Size, k: Size):
    """TVM: a sum that is repeated and summed."""
    return x.sum(1).expand((m, k)).sum(1), x.sum(1) * k.cast(x.dtype)


# Reductions of pads -----------------------------------------------------------------------------------------------


@right(dtypes=[int8])
def sum_of_pad(x: Tensor, a: Offset, s: Shape, c: Axes):
    """XLA: zeros add nothing; what was padded elsewhere stays padded."""
    return x.pad(a, s).sum(c), x.sum(c).pad(where(c, 0, a), where(c, 1, s))


@wrong(dtypes=[float16])
def float_sum_of_pad(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """XLA, AlgebraicSimplifier: of negative zeros alone the sum is one, but not with +0.0."""
    return x.pad((0, b), (m, t)).sum(1), x.sum(1)


@wrong(dtypes=[int8])
def maximum_of_pad(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """tinygrad, PADTO: zeros are greater than what is negative (#17895)."""
    return x.pad((0, b), (m, t)).max(1), x.max(1)


@wrong(dtypes=[int8])
def product_of_pad(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """tinygrad, PADTO: and make any product 0."""
    return x.pad((0, b), (m, t)).prod(1), x.prod(1)


@right(dtypes=[int8, float16])
def maximum_of_padded_rectified(x: Tensor["m", "n"], m: Size, n: Size, b: Size, t: Size):
    """ONNX Runtime: padding before a pool of what is never negative."""
    given(n > 0)
    return maximum(x, 0).pad((0, b), (m, t)).max(1), maximum(x, 0).max(1)


@wrong(dtypes=[int8, float16])
def maximum_of_padded_rectified_nothing(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """Of nothing the maximum is the least value."""
    return maximum(x, 0).pad((0, b), (m, t)).max(1), maximum(x, 0).max(1)


@right(dtypes=[int8])
def reduce_of_filled(x: Tensor["m", "n"], o: Monoid, m: Size, b: Size, t: Size):
    """XLA, AlgebraicSimplifier: padding with the initial value goes away."""
    return filled(x, (0, b), (m, t), identity(o)).reduce(o, 1), x.reduce(o, 1)


@right(dtypes=[float16])
def float_product_of_filled(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """XLA: a product with ones is exact."""
    return filled(x, (0, b), (m, t), 1).prod(1), x.prod(1)


@wrong(dtypes=[float16])
def float_sum_of_filled(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """XLA: -0.0 is the identity of a sum, but an empty one is +0.0."""
    return filled(x, (0, b), (m, t), -0.0).sum(1), x.sum(1)


@right(dtypes=[float16])
def float_sum_of_filled_something(x: Tensor["m", "n"], m: Size, n: Size, b: Size, t: Size):
    """The same, where there is something to sum."""
    given(n > 0)
    return filled(x, (0, b), (m, t), -0.0).sum(1), x.sum(1)


@wrong(dtypes=[int8])
def reduce_of_nothing_beside_pad(x: Tensor["m", "n"], o: Monoid, n: Size, a: Size, s: Size):
    """But not of nothing: the empty reduction of the fill need not be 0."""
    return x.pad((a, 0), (s, n)).reduce(o, 1), x.reduce(o, 1).pad((a, 0), (s, 1))


@right(dtypes=[float16], licences="no_signed_zero")
def float_sum_of_pad_without_signs_of_zero(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """XLA: the zeros of a pad change a sum of -0.0 alone, in its sign."""
    return x.pad((0, b), (m, t)).sum(1), x.sum(1)


@wrong(dtypes=[float16], licences="no_signed_zero")
def reciprocal_of_a_sum_without_signs_of_zero(x: Tensor, a: Axes):
    """Inside an op the sign of a zero matters still: 1 / 0.0 is not 1 / -0.0."""
    return 1 / (x + 0).sum(a), 1 / x.sum(a)


@wrong(dtypes=[float16], licences="no_signed_zero")
def reciprocal_of_a_sum_of_pad(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """The same of a pad."""
    return 1 / x.pad((0, b), (m, t)).sum(1), 1 / x.sum(1)


@wrong(dtypes=[float16], licences="no_signed_zero")
def float_product_of_pad(x: Tensor["m", "n"], m: Size, b: Size, t: Size):
    """Zeros are something to a product."""
    return x.pad((0, b), (m, t)).prod(1), x.prod(1)


@wrong(dtypes=[float16], licences="no_signed_zero")
def float_sum_of_reversed_without_signs_of_zero(x: Tensor["n"]):
    """The order of a sum matters all the same."""
    return x.flip((True,)).sum(0), x.sum(0)


@right(dtypes=[int8])
def reduce_beside_pad(x: Tensor["m", "n"], o: Monoid, m: Size, n: Size, a: Size, s: Size):
    """XLA: a pad of other axes moves out of a reduction of something."""
    given(n > 0)
    return x.pad((a, 0), (s, n)).reduce(o, 1), x.reduce(o, 1).pad((a, 0), (s, 1))


# Reductions of ops ------------------------------------------------------------------------------------------------


@right(dtypes=[int8])
def sum_of_scaled(x: Tensor, c: Value, a: Axes):
    """TASO and XLA: a factor moves out of a sum."""
    return (x * c).sum(a), x.sum(a) * c


@wrong(dtypes=[float16])
def float_sum_of_scaled(x: Tensor, c: Value, a: Axes):
    """TVM #16211: on floats it changes the rounding."""
    return (x * c).sum(a), x.sum(a) * c


@wrong(dtypes=[float32], licences="reassociate")
def float_sum_of_scaled_reassociated(x: Tensor["m", "n"], c: Value):
    """The same, where that is allowed."""
    return (x * c).sum(1), x.sum(1) * c


@wrong(dtypes=[int8])
def product_of_scaled(x: Tensor["m", "n"], c: Value):
    """Out of a product a factor moves once for each element."""
    return (x * c).prod(1), x.prod(1) * c


@right(dtypes=[index, int8])
def sum_of_shifted(x: Tensor["m", "n"], c: Value, n: Size):
    """XLA: a term moves out of a sum as often as there are elements."""
    return (x + c).sum(1), x.sum(1) + c * n.cast(x.dtype)


@wrong(dtypes=[int8])
def sum_of_shifted_once(x: Tensor["m", "n"], c: Value):
    """The same, once."""
    return (x + c).sum(1), x.sum(1) + c


@right(dtypes=[int8])
def sum_of_negated(x: Tensor, a: Axes):
    """XLA: the sign moves out of a sum."""
    return (-x).sum(a), -(x.sum(a))


@wrong(dtypes=[float16])
def float_sum_of_negated(x: Tensor, a: Axes):
    """On floats 1 - 1 has another sign than -1 + 1 then."""
    return (-x).sum(a), -(x.sum(a))


@right(dtypes=[int8])
def sum_of_sums(x: Tensor, y: Tensor, a: Axes):
    """TASO: sums are taken apart."""
    return (x + y).sum(a), x.sum(a) + y.sum(a)


@wrong(dtypes=[float16])
def float_sum_of_sums(x: Tensor["m", "n"], y: Tensor["m", "n"]):
    """On floats they are not."""
    return (x + y).sum(1), x.sum(1) + y.sum(1)


@right(dtypes=[int8])
def reduce_of_combined(x: Tensor, y: Tensor, o: Monoid, a: Axes):
    """XLA: a reduction of its own op, taken apart."""
    return o(x, y).reduce(o, a), o(x.reduce(o, a), y.reduce(o, a))


@right(dtypes=[float16])
def maximum_of_maxima(x: Tensor, y: Tensor, a: Axes):
    """The maximum of floats as well."""
    return maximum(x, y).max(a), maximum(x.max(a), y.max(a))


@wrong(dtypes=[int8])
def maximum_of_sums(x: Tensor["m", "n"], y: Tensor["m", "n"]):
    """The greatest elements need not meet."""
    return (x + y).max(1), x.max(1) + y.max(1)


@wrong(dtypes=[int8])
def maximum_of_shifted(x: Tensor["m", "n"], c: Value):
    """Softmax is shifted by its maximum; where integers wrap the greatest may become the least."""
    return (x + c).max(1), x.max(1) + c


@right(dtypes=[index])
def maximum_of_shifted_unbounded(x: Tensor["m", "n"], c: Value):
    """Without bounds it stays the greatest."""
    return (x + c).max(1), x.max(1) + c


@right(dtypes=[int8, float16])
def maximum_of_clamped(x: Tensor["m", "n"], c: Value, n: Size):
    """TVM: a clamp moves out of a maximum of something."""
    given(n > 0)
    return maximum(x, c).max(1), maximum(x.max(1), c)


@wrong(dtypes=[int8, float16])
def maximum_of_clamped_nothing(x: Tensor["m", "n"], c: Value):
    """Of nothing it does not."""
    return maximum(x, c).max(1), maximum(x.max(1), c)


@right(dtypes=[int8, float16])
def reduce_of_choice(c: Bool, x: Tensor, y: Tensor, o: Monoid, a: Axes):
    """XLA: a select by a scalar moves out of a reduction."""
    return where(c, x, y).reduce(o, a), where(c, x.reduce(o, a), y.reduce(o, a))


@right(dtypes=[int8])
def sum_of_masked(c: Tensor[bool_], x: Tensor, y: Tensor, a: Axes):
    """tinygrad: a sum of choices is a sum of masked sums."""
    return where(c, x, y).sum(a), where(c, x, 0).sum(a) + where(c, 0, y).sum(a)


@wrong()
def any_as_sum(p: Tensor[bool_], a: Axes):
    """NumPy: any of them, as a sum that wraps when there are many."""
    return p.cast(int8).sum(a) != 0, p.max(a)


@right()
def all_as_product(p: Tensor[bool_], a: Axes):
    """NumPy: all of them, as a product of zeros and ones; a maximum of bools is an or."""
    return p.cast(int8).prod(a) != 0, ~((~p).max(a))


@wrong()
def any_as_product(p: Tensor[bool_], a: Axes):
    """A product is of all, not of any."""
    return p.cast(int8).prod(a) != 0, p.max(a)


@right()
def any_as_unbounded_sum(p: Tensor[bool_], a: Axes):
    """PyTorch: any of them, as a count that does not wrap."""
    return p.cast(index).sum(a) > 0, p.max(a)


@wrong()
def any_as_unbounded_sum_of_two(p: Tensor[bool_], a: Axes):
    """The same of more than one."""
    return p.cast(index).sum(a) > 1, p.max(a)


# Reductions of casts ----------------------------------------------------------------------------------------------


@right(dtypes=[int32])
def sum_of_narrowed(x: Tensor, a: Axes):
    """XLA: truncation moves out of a sum that wraps."""
    return x.cast(int8).sum(a), x.sum(a).cast(int8)


@wrong(dtypes=[int8])
def sum_of_widened(x: Tensor, a: Axes):
    """ONNX Runtime: the type in which a sum is accumulated."""
    return x.cast(int32).sum(a), x.sum(a).cast(int32)


@right(dtypes=[int8])
def maximum_of_widened(x: Tensor["m", "n"], n: Size):
    """XLA: widening moves out of a maximum of something."""
    given(n > 0)
    return x.cast(int32).max(1), x.max(1).cast(int32)


@wrong(dtypes=[int8])
def maximum_of_widened_nothing(x: Tensor["m", "n"]):
    """Of nothing the least value is that of the dtype."""
    return x.cast(int32).max(1), x.max(1).cast(int32)


@right(dtypes=[float16])
def maximum_of_widened_floats(x: Tensor["m", "n"]):
    """Floats have one least value, minus infinity."""
    return x.cast(float32).max(1), x.max(1).cast(float32)


@wrong(dtypes=[int32])
def maximum_of_narrowed(x: Tensor["m", "n"]):
    """Truncation does not keep the order."""
    return x.cast(int8).max(1), x.max(1).cast(int8)


@wrong(dtypes=[float16])
def float_sum_of_widened(x: Tensor["m", "n"]):
    """XLA upcasts sums of halves: rounded once, not at each step."""
    return x.cast(float32).sum(1).cast(float16), x.sum(1)


# Dots -------------------------------------------------------------------------------------------------------------


@right(dtypes=[int8, float16])
def transposed_dot(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size):
    """XLA, AlgebraicSimplifier, and TASO: the transpose of a product exchanges its operands."""
    return dot(x, y, m, k, n).permute((1, 0)), dot(y.permute((1, 0)), x.permute((1, 0)), n, k, m)


@wrong(dtypes=[int8])
def transposed_dot_in_order(x: Tensor["n", "n"], y: Tensor["n", "n"], n: Size):
    """The operands are transposed but not exchanged."""
    return dot(x, y, n, n, n).permute((1, 0)), dot(x.permute((1, 0)), y.permute((1, 0)), n, n, n)


@wrong(dtypes=[int8])
def dot_commutes(x: Tensor["n", "n"], y: Tensor["n", "n"], n: Size):
    """Products of matrices do not commute."""
    return dot(x, y, n, n, n), dot(y, x, n, n, n)


@right(dtypes=[int8, float16])
def dot_with_its_transpose(x: Tensor["m", "k"], m: Size, k: Size):
    """TASO: a Gram matrix is symmetric, on floats too."""
    return (
        dot(x, x.permute((1, 0)), m, k, m).permute((1, 0)),
        dot(x, x.permute((1, 0)), m, k, m),
    )


@right(dtypes=[int8, float16])
def dot_of_nothing(x: Tensor["m", 0], y: Tensor[0, "n"], m: Size, n: Size):
    """XLA, ZeroSizedHloElimination, and TensorRight: a product along an empty axis is 0."""
    return dot(x, y, m, 0, n), x.pad((0, 0), (m, 1)).expand((m, n))


@right(dtypes=[int8, float16])
def dot_of_single_column(x: Tensor["m", 1], y: Tensor[1, "n"], m: Size, n: Size):
    """XLA, AlgebraicSimplifier: strength reduction of an outer product."""
    return dot(x, y, m, 1, n), x.expand((m, n)) * y.expand((m, n))


@right(dtypes=[int8])
def dot_is_associative(
    x: Tensor["m", "j"], y: Tensor["j", "k"], z: Tensor["k", "n"], m: Size, j: Size, k: Size, n: Size
):
    """TVM, AdjustMatmulOrder: products of matrices may be taken in either order."""
    return dot(dot(x, y, m, j, k), z, m, k, n), dot(x, dot(y, z, j, k, n), m, j, n)


@wrong(dtypes=[float16])
def float_dot_is_associative(
    x: Tensor["m", "j"], y: Tensor["j", "k"], z: Tensor["k", "n"], m: Size, j: Size, k: Size, n: Size
):
    """TVM, AdjustMatmulOrder: of floats they are rounded otherwise."""
    return dot(dot(x, y, m, j, k), z, m, k, n), dot(x, dot(y, z, j, k, n), m, j, n)


@wrong(dtypes=[int8])
def dot_with_a_transpose_that_is_none(x: Tensor["n", "n"], y: Tensor["n", "n"], p: Perm, n: Size):
    """TVM #20277 and ONNX Runtime #32228: the permutation was not looked at."""
    return dot(x, y.permute(p), n, n, n), dot(x, y.permute((1, 0)), n, n, n)


@right(dtypes=[int8])
def dot_of_sum(x: Tensor["m", "k"], y: Tensor["k", "n"], z: Tensor["k", "n"], m: Size, k: Size, n: Size):
    """TASO: a product distributes over a sum."""
    return dot(x, y + z, m, k, n), dot(x, y, m, k, n) + dot(x, z, m, k, n)


@wrong(dtypes=[float16])
def float_dot_of_sum(
    x: Tensor["m", "k"], y: Tensor["k", "n"], z: Tensor["k", "n"], m: Size, k: Size, n: Size
):
    """On floats it does not."""
    return dot(x, y + z, m, k, n), dot(x, y, m, k, n) + dot(x, z, m, k, n)


@right(dtypes=[int8])
def dot_of_scaled(x: Tensor["m", "k"], y: Tensor["k", "n"], c: Value, m: Size, k: Size, n: Size):
    """XLA and TASO: a scalar factor moves out of a product."""
    return dot(x * c, y, m, k, n), dot(x, y, m, k, n) * c


@wrong(dtypes=[int8])
def dot_scaled_on_both_sides(x: Tensor["m", "k"], y: Tensor["k", "n"], c: Value, m: Size, k: Size, n: Size):
    """A factor of both operands moves out twice."""
    return dot(x * c, y * c, m, k, n), dot(x, y, m, k, n) * c


@right(dtypes=[int8, float16])
def slice_of_dot(
    x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size, a: Size, s: Size, b: Size, t: Size
):
    """XLA, AlgebraicSimplifier: a slice of a product is a product of slices."""
    return (
        dot(x, y, m, k, n).shrink((a, b), (s, t)),
        dot(x.shrink((a, 0), (s, k)), y.shrink((0, b), (k, t)), s, k, t),
    )


@wrong(dtypes=[int8])
def slice_of_dot_along_the_sum(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size, t: Size):
    """The contracted axis may not be sliced."""
    given(t <= k)
    return dot(x, y, m, k, n), dot(x.shrink((0, 0), (m, t)), y.shrink((0, 0), (t, n)), m, t, n)


@right(dtypes=[int8])
def dot_of_reversed(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size):
    """XLA: both operands reversed along the contracted axis."""
    return dot(x.flip((False, True)), y.flip((True, False)), m, k, n), dot(x, y, m, k, n)


@wrong(dtypes=[float16])
def float_dot_of_reversed(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size):
    """On floats the order of the sum is another."""
    return dot(x.flip((False, True)), y.flip((True, False)), m, k, n), dot(x, y, m, k, n)


@wrong(dtypes=[int8])
def dot_of_one_reversed(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size):
    """Only one of them is reversed."""
    return dot(x.flip((False, True)), y, m, k, n), dot(x, y, m, k, n)


@right(dtypes=[int8])
def dot_of_padded(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size, b: Size, t: Size):
    """XLA, cublas_pad_for_gemms: zeros along the contracted axis."""
    return dot(x.pad((0, b), (m, t)), y.pad((b, 0), (t, n)), m, t, n), dot(x, y, m, k, n)


@wrong(dtypes=[int8])
def dot_padded_at_two_places(
    x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size, b: Size, t: Size
):
    """The operands are padded at opposite ends."""
    given(t == k + b)
    return dot(x.pad((0, b), (m, t)), y.pad((0, 0), (t, n)), m, t, n), dot(x, y, m, k, n)


@right(dtypes=[int8])
def padded_dot(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size, s: Size, t: Size):
    """XLA, cublas_pad_for_gemms: the other axes are padded, and the result is sliced."""
    given(m <= s, n <= t)
    return (
        dot(x.pad((0, 0), (s, k)), y.pad((0, 0), (k, t)), s, k, t).shrink((0, 0), (m, n)),
        dot(x, y, m, k, n),
    )


@right(dtypes=[int8])
def sum_of_dot(x: Tensor["m", "k"], y: Tensor["k", "n"], m: Size, k: Size, n: Size):
    """XLA: the sum of the rows of a product needs a product with a single row."""
    return dot(x, y, m, k, n).sum(0), dot(x.sum(0), y, 1, k, n)


# Pools ------------------------------------------------------------------------------------------------------------


@right(dtypes=[int8, float16])
def pool_of_pool(x: Tensor["n"], n: Size):
    """TVM: a maximum of maxima of blocks."""
    given(n % 4 == 0)
    return (
        x.reshape((n // 2, 2)).max(1).reshape((n // 4, 2)).max(1),
        x.reshape((n // 4, 4)).max(1),
    )


@right(dtypes=[int8, float16])
def pool_of_upsampled(x: Tensor["n"], n: Size):
    """ONNX: a maximum pool of the nearest neighbours."""
    return x.reshape((n, 1)).expand((n, 2)).reshape((n * 2,)).reshape((n, 2)).max(1), x.reshape((n, 1))


@wrong(dtypes=[int8])
def pool_of_shifted_upsampled(x: Tensor["n"], n: Size):
    """The same of a tile, which puts other neighbours together."""
    return x.reshape((1, n)).expand((2, n)).reshape((n * 2,)).reshape((n, 2)).max(1), x.reshape((n, 1))


# Nothing is said --------------------------------------------------------------------------------------------------


@vacuous(dtypes=[int8])
def reduce_along_impossible_axes(x: Tensor, a: Axes, b: Axes):
    """A condition that contradicts itself."""
    given(disjoint(a, b), subset(a, b), ~no_axes(a))
    return x.sum(a), x.sum(b)


@vacuous(dtypes=[int8])
def sum_of_itself(x: Tensor, a: Axes):
    """TensorRight counts a rule as verified whose sides are one term."""
    return x.sum(a), x.sum(a)
