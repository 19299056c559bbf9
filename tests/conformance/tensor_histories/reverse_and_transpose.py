"""Reversals and transposes: of themselves, of pads, slices and broadcasts, and those that look like something else."""

# ruff: noqa: F821

from soundline.verify import (
    Axes,
    BinaryOp,
    Flags,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    compose,
    float32,
    given,
    int32,
    inverse,
    is_identity,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Reversals --------------------------------------------------------------------------------------------------------


@right()
def reverse_of_reverse(x: Tensor, f: Flags):
    """XLA, AlgebraicSimplifier; TensorRight."""
    return x.flip(f).flip(f), x


@right()
def reverse_along_equal_axes(x: Tensor, a: Axes, b: Axes):
    """XLA: two reversals along one set of axes."""
    given(a == b)
    return x.flip(a).flip(b), x


@wrong()
def reverse_along_any_axes(x: Tensor, a: Axes, b: Axes):
    """The same, without comparing the axes."""
    return x.flip(a).flip(b), x


@wrong()
def reverse_joined(x: Tensor, a: Axes, b: Axes):
    """An axis that both reverse is not reversed."""
    return x.flip(a).flip(b), x.flip(a | b)


@right()
def reverse_symmetric_difference(x: Tensor, a: Axes, b: Axes):
    """What the two reversals are."""
    return x.flip(a).flip(b), x.flip((a | b) - (a & b))


@right()
def reverse_of_single_elements(x: Tensor, f: Flags):
    """XLA, AlgebraicSimplifier: reversing axes of size 1."""
    given(where(f, x.shape, 1) == 1)
    return x.flip(f), x


@right()
def reverse_of_at_most_single_elements(x: Tensor, f: Flags):
    """The same holds of empty axes."""
    given(where(f, x.shape, 1) <= 1)
    return x.flip(f), x


@wrong()
def reverse_beside_single_elements(x: Tensor, f: Flags):
    """The condition asks for the size of the other axes."""
    given(where(f, 1, x.shape) == 1)
    return x.flip(f), x


@right()
def reverse_of_broadcast(x: Tensor, s: Shape, f: Flags):
    """TensorRight: a reversal moves into a broadcast."""
    return x.expand(s).flip(f), x.flip(f).expand(s)


@right()
def reverse_of_broadcast_axes(x: Tensor, s: Shape, f: Flags):
    """XLA, AlgebraicSimplifier: reversing axes along which all elements are one."""
    given(where(f, x.shape, 1) == 1)
    return x.expand(s).flip(f), x.expand(s)


@wrong()
def reverse_of_any_broadcast(x: Tensor, s: Shape, f: Flags):
    """The same, where other axes are reversed too."""
    return x.expand(s).flip(f), x.expand(s)


@right()
def reverse_of_pad(x: Tensor, a: Offset, s: Shape, f: Flags):
    """TensorRight: a reversed pad has its low and high padding exchanged."""
    return x.pad(a, s).flip(f), x.flip(f).pad(where(f, s - a - x.shape, a), s)


@wrong()
def reverse_of_pad_in_place(x: Tensor, a: Offset, s: Shape, f: Flags):
    """The same, with the padding left where it was."""
    return x.pad(a, s).flip(f), x.flip(f).pad(a, s)


@right()
def slice_of_reverse(x: Tensor, a: Offset, s: Shape, f: Flags):
    """XLA and TensorRight; empty slices included, of which TensorRight says nothing."""
    return x.flip(f).shrink(a, s), x.shrink(where(f, x.shape - a - s, a), s).flip(f)


@wrong()
def slice_of_reverse_from_the_end(x: Tensor, a: Offset, s: Shape, f: Flags):
    """The length of the slice is not taken off."""
    return x.flip(f).shrink(a, s), x.shrink(where(f, x.shape - a, a), s).flip(f)


@wrong()
def slice_of_reverse_by_one(x: Tensor, a: Offset, s: Shape, f: Flags):
    """Off by one, as where the last index is taken for the size."""
    return x.flip(f).shrink(a, s), x.shrink(where(f, x.shape - a - s - 1, a), s).flip(f)


@wrong()
def slice_of_reverse_not_reversed(x: Tensor, a: Offset, s: Shape, f: Flags):
    """The right part in the wrong order."""
    return x.flip(f).shrink(a, s), x.shrink(where(f, x.shape - a - s, a), s)


@right()
def reverse_of_both_operands(f: BinaryOp, x: Tensor, y: Tensor, a: Axes):
    """XLA, AlgebraicSimplifier: an op of two reversed operands."""
    return f(x.flip(a), y.flip(a)), f(x, y).flip(a)


@wrong(dtypes=[int32, float32])
def reverse_of_one_operand(x: Tensor, y: Tensor, a: Axes):
    """The same, where only one is reversed."""
    return x.flip(a) + y, (x + y).flip(a)


@right()
def reverse_flat(x: Tensor["m", "n"], m: Size, n: Size):
    """NumPy: a flat array read backwards is reversed along every axis."""
    return x.reshape((m * n,)).flip((True,)).reshape((m, n)), x.flip((True, True))


@wrong()
def reverse_flat_rows(x: Tensor["m", "n"], m: Size, n: Size):
    """The rows themselves are reversed too."""
    return x.reshape((m * n,)).flip((True,)).reshape((m, n)), x.flip((True, False))


# Transposes -------------------------------------------------------------------------------------------------------


@right()
def transpose_and_back(x: Tensor, p: Perm):
    """XLA; Samsung TICO #842, where the inverse of a transpose was to be cancelled."""
    return x.permute(p).permute(inverse(p)), x


@right()
def transposes_that_undo_each_other(x: Tensor, p: Perm, q: Perm):
    """TVM, relay SimplifyExpr (#7656)."""
    given(is_identity(compose(p, q)))
    return x.permute(p).permute(q), x


@wrong()
def transposes_of_one_kind(x: Tensor["a", "b", "c"]):
    """A cycle of three axes is not its own inverse."""
    return x.permute((1, 2, 0)).permute((1, 2, 0)), x


@right()
def transposes_thrice(x: Tensor["a", "b", "c"]):
    """Three times it is nothing."""
    return x.permute((1, 2, 0)).permute((1, 2, 0)).permute((1, 2, 0)), x


@right()
def fused_transposes(x: Tensor["a", "b", "c"]):
    """ONNX, fuse_consecutive_transposes (onnx #2446), as it should be."""
    return x.permute((1, 0, 2)).permute((0, 2, 1)), x.permute((1, 2, 0))


@wrong()
def fused_transposes_in_the_other_order(x: Tensor["a", "b", "c"]):
    """ONNX, fuse_consecutive_transposes, as it was (onnx #2446)."""
    return x.permute((1, 0, 2)).permute((0, 2, 1)), x.permute((2, 0, 1))


@right()
def transpose_by_identity(x: Tensor, p: Perm):
    """TVM, relay SimplifyExpr (#14858)."""
    given(is_identity(p))
    return x.permute(p), x


@right()
def transpose_of_a_matrix(x: Tensor["m", "n"], p: Perm):
    """ONNX Runtime, GemmTransposeFusion, with the look at the permutation that was missing."""
    given(~is_identity(p))
    return x.permute(p).permute((1, 0)), x


@wrong()
def every_transpose_of_a_matrix(x: Tensor["m", "n"], p: Perm):
    """ONNX Runtime #32228, TVM #20277: a permutation that changes nothing was taken for a transpose."""
    return x.permute(p), x.permute((1, 0))


@wrong()
def transpose_of_a_square(x: Tensor["n", "n"]):
    """That the shape does not change does not make a transpose a no-op."""
    return x.permute((1, 0)), x


@right()
def transpose_on_the_other_side(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
    """ONNX Runtime, transpose optimizer: a transpose is pushed through an op."""
    return f(x.permute(p), y), f(x, y.permute(inverse(p))).permute(p)


@wrong(dtypes=[int32])
def transpose_on_the_other_side_again(x: Tensor, y: Tensor, p: Perm):
    """The same, without the inverse."""
    return x.permute(p) + y, (x + y.permute(p)).permute(p)


@right()
def transpose_of_reverse(x: Tensor, f: Flags, p: Perm):
    """TensorRight: the axes that are reversed move along."""
    return x.flip(f).permute(p), x.permute(p).flip(f.permute(p))


@wrong()
def transpose_of_reverse_in_place(x: Tensor, f: Flags, p: Perm):
    """The axes keep their numbers."""
    return x.flip(f).permute(p), x.permute(p).flip(f)


@right()
def transpose_of_pad(x: Tensor, a: Offset, s: Shape, p: Perm):
    """XLA and ONNX Runtime, transpose optimizer."""
    return x.pad(a, s).permute(p), x.permute(p).pad(a.permute(p), s.permute(p))


@wrong()
def transpose_of_pad_forgets_the_offset(x: Tensor, a: Offset, s: Shape, p: Perm):
    """tf2onnx #226: an attribute is not transposed with the operand."""
    return x.pad(a, s).permute(p), x.permute(p).pad(a, s.permute(p))


@right()
def transpose_of_slice(x: Tensor, a: Offset, s: Shape, p: Perm):
    """XLA and ONNX Runtime, transpose optimizer."""
    return x.shrink(a, s).permute(p), x.permute(p).shrink(a.permute(p), s.permute(p))


@right()
def slice_of_transpose(x: Tensor, a: Offset, s: Shape, p: Perm):
    """TensorRight: the other way takes the inverse."""
    return x.permute(p).shrink(a, s), x.shrink(a.permute(inverse(p)), s.permute(inverse(p))).permute(p)


@wrong()
def slice_of_transpose_the_same_way(x: Tensor, a: Offset, s: Shape, p: Perm):
    """The same without the inverse, which only transposes that undo themselves forgive."""
    return x.permute(p).shrink(a, s), x.shrink(a.permute(p), s.permute(p)).permute(p)


@right()
def transpose_of_broadcast(x: Tensor, s: Shape, p: Perm):
    """MLIR, linalg: transpose of broadcast (llvm-project #97063)."""
    return x.expand(s).permute(p), x.permute(p).expand(s.permute(p))


# Transposes and reshapes ------------------------------------------------------------------------------------------


@right()
def transpose_of_single_axes(x: Tensor[1, "h", 1, "c"], h: Size, c: Size):
    """Glow #2630 and ngraph #4708: a transpose that only moves axes of size 1 is a reshape."""
    return x.permute((0, 2, 1, 3)), x.reshape((1, 1, h, c))


@wrong()
def transpose_of_some_single_axes(x: Tensor["h", "w", 1, "c"], h: Size, w: Size, c: Size):
    """ONNX Runtime, in review (#10627): the axes that are not of size 1 must keep their order."""
    return x.permute((1, 0, 2, 3)), x.reshape((w, h, 1, c))


@right()
def transpose_of_a_row_or_column(x: Tensor["m", "n"], m: Size, n: Size):
    """Glow #3532; of empty matrices it holds as well."""
    given((m <= 1) | (n <= 1))
    return x.permute((1, 0)), x.reshape((n, m))


@wrong()
def transpose_as_reshape_of_a_matrix(x: Tensor["m", "n"], m: Size, n: Size):
    """A transpose and a reshape with one shape."""
    return x.permute((1, 0)), x.reshape((n, m))


@right()
def transposes_around_a_reshape(x: Tensor["a", "b", "c"], a: Size, b: Size, c: Size):
    """Samsung ONE #11891: axes that are merged in their order, and moved back."""
    return x.permute((1, 2, 0)).reshape((b * c, a)).permute((1, 0)), x.reshape((a, b * c))


@wrong()
def transposes_around_a_reshape_out_of_order(x: Tensor["a", "b", "c"], a: Size, b: Size, c: Size):
    """The same, where the merged axes were exchanged."""
    return x.permute((2, 1, 0)).reshape((c * b, a)).permute((1, 0)), x.reshape((a, b * c))


@right()
def space_to_depth_of_depth_to_space(x: Tensor["h", "w", "d"], h: Size, w: Size, d: Size, c: Size):
    """TensorFlow Lite: the two undo each other."""
    given(d == 4 * c)
    space = x.reshape((h, w, 2, 2, c)).permute((0, 2, 1, 3, 4)).reshape((h * 2, w * 2, c))
    return space.reshape((h, 2, w, 2, c)).permute((0, 2, 1, 3, 4)).reshape((h, w, d)), x


@wrong()
def space_to_depth_of_another_order(x: Tensor["h", "w", "d"], h: Size, w: Size, d: Size, c: Size):
    """ONNX has two orders of DepthToSpace, which are taken for one another."""
    given(d == 4 * c)
    space = x.reshape((h, w, c, 2, 2)).permute((0, 3, 1, 4, 2)).reshape((h * 2, w * 2, c))
    return space.reshape((h, 2, w, 2, c)).permute((0, 2, 1, 3, 4)).reshape((h, w, d)), x


@right()
def channel_shuffle_and_back(x: Tensor["n"], n: Size, g: Size, c: Size):
    """ONNX Runtime: a channel shuffle is undone with the number of groups exchanged."""
    given(n == g * c)
    return x.reshape((g, c)).permute((1, 0)).reshape((n,)).reshape((c, g)).permute((1, 0)).reshape((n,)), x


@wrong()
def channel_shuffle_twice(x: Tensor["n"], n: Size, g: Size, c: Size):
    """The same shuffle twice."""
    given(n == g * c)
    once = x.reshape((g, c)).permute((1, 0)).reshape((n,))
    return once.reshape((g, c)).permute((1, 0)).reshape((n,)), x


@right()
def reverse_of_split(x: Tensor["n"], n: Size, a: Size, b: Size):
    """TVM: a reversal before a split reverses both parts."""
    given(n == a * b)
    return x.flip((True,)).reshape((a, b)), x.reshape((a, b)).flip((True, True))


@wrong()
def reverse_of_split_outside(x: Tensor["n"], n: Size, a: Size, b: Size):
    """The same, where only the outer part is reversed."""
    given(n == a * b)
    return x.flip((True,)).reshape((a, b)), x.reshape((a, b)).flip((True, False))


# Symmetry ---------------------------------------------------------------------------------------------------------


@right(dtypes=[int32, float32])
def symmetric_part(x: Tensor["n", "n"]):
    """JAX: a matrix made symmetric is its own transpose."""
    return (x + x.permute((1, 0))).permute((1, 0)), x + x.permute((1, 0))


@wrong(dtypes=[int32, float32])
def skew_part(x: Tensor["n", "n"]):
    """The difference changes its sign."""
    return (x - x.permute((1, 0))).permute((1, 0)), x - x.permute((1, 0))


# Nothing is said --------------------------------------------------------------------------------------------------


@vacuous()
def transpose_by_no_permutation(x: Tensor, p: Perm):
    """A condition that contradicts itself."""
    given(is_identity(p), p != compose(p, p))
    return x.permute(p), x.permute(inverse(p))


@vacuous()
def reverse_of_empty(x: Tensor["m", 0]):
    """Only empty tensors match."""
    return x.flip((True, False)), x
