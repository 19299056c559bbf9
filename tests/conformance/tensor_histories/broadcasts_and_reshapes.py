"""Broadcasts and reshapes: of themselves, of pads and slices, tiles, and ops moved through them."""

# ruff: noqa: F821

from soundline.verify import (
    BinaryOp,
    Bool,
    Offset,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    Value,
    bool_,
    float32,
    given,
    index,
    int8,
    int32,
    product,
    stack,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Broadcasts -------------------------------------------------------------------------------------------------------


@right()
def broadcast_to_its_own_shape(x: Tensor, s: Shape):
    """XLA, AlgebraicSimplifier; MLIR, linalg.broadcast."""
    given(s == x.shape)
    return x.expand(s), x


@wrong()
def broadcast_to_a_shape_with_as_many(x: Tensor, s: Shape):
    """That the numbers of elements agree is not enough: of empty tensors they do."""
    given(product(s) == product(x.shape))
    return x.expand(s), x


@right()
def broadcast_to_a_shape_with_as_many_and_some(x: Tensor, s: Shape):
    """Where there are elements their number tells: axes of size 1 only grow."""
    given(product(s) == product(x.shape), product(s) > 0)
    return x.expand(s), x


@right()
def broadcast_of_broadcast(x: Tensor, s: Shape, t: Shape):
    """XLA, AlgebraicSimplifier: merge broadcasts."""
    return x.expand(s).expand(t), x.expand(t)


@wrong()
def broadcast_of_broadcast_halfway(x: Tensor, s: Shape, t: Shape):
    """The outer one is lost."""
    return x.expand(s).expand(t), x.expand(s)


@right()
def op_of_broadcast(f: UnaryOp, x: Tensor, s: Shape):
    """XLA, AlgebraicSimplifier: sink a broadcast below an op, which is done less often then."""
    return f(x.expand(s)), f(x).expand(s)


@right()
def op_of_broadcasts(f: BinaryOp, x: Tensor, y: Tensor, s: Shape):
    """XLA: the same of two broadcasts."""
    given(x.shape == y.shape)
    return f(x.expand(s), y.expand(s)), f(x, y).expand(s)


@wrong(dtypes=[int32])
def op_of_broadcasts_of_two_shapes(x: Tensor, y: Tensor, s: Shape):
    """XLA: what was broadcast need not have one shape."""
    return x.expand(s) + y.expand(s), (x + y).expand(s)


@right()
def slice_of_broadcast(x: Tensor["m", 1], m: Size, n: Size, a: Size, s: Size, b: Size, t: Size):
    """XLA and TensorRight: a slice along a broadcast axis changes its size alone."""
    return x.expand((m, n)).shrink((a, b), (s, t)), x.shrink((a, 0), (s, 1)).expand((s, t))


@right()
def slice_of_broadcast_element(x: Tensor, s: Shape, a: Offset, t: Shape):
    """XLA: a slice of a broadcast scalar."""
    given(x.shape == 1)
    return x.expand(s).shrink(a, t), x.expand(t)


@wrong()
def slice_of_any_broadcast(x: Tensor, s: Shape, a: Offset, t: Shape):
    """The same, where some axes are not broadcast."""
    return x.expand(s).shrink(a, t), x.expand(t)


@right()
def pad_beside_broadcast(x: Tensor["m", 1], m: Size, n: Size, a: Size, s: Size):
    """XLA: padding other axes than those that are broadcast."""
    return x.expand((m, n)).pad((a, 0), (s, n)), x.pad((a, 0), (s, 1)).expand((s, n))


@wrong()
def pad_of_broadcast(x: Tensor["m", 1], m: Size, n: Size, b: Size, t: Size):
    """Padding along a broadcast axis."""
    return x.expand((m, n)).pad((0, b), (m, t)), x.expand((m, t))


@right()
def element_of_broadcast(x: Tensor["m", 1], m: Size, n: Size, i: Value[index], j: Value[index]):
    """XLA: a dynamic slice of a broadcast."""
    given(i >= 0, i < m, j >= 0, j < n)
    return x.expand((m, n)).index(i, j), x.index(i, 0)


@right()
def choice_by_a_scalar(c: Bool, x: Tensor, y: Tensor, s: Shape):
    """XLA, AlgebraicSimplifier: a select whose predicate is a broadcast scalar moves through a broadcast."""
    return where(c, x, y).expand(s), where(c, x.expand(s), y.expand(s))


@wrong()
def choice_by_a_scalar_of_two_shapes(c: Bool, x: Tensor, y: Tensor, s: Shape):
    """The other way, what is chosen from need not have one shape before."""
    return where(c, x.expand(s), y.expand(s)), where(c, x, y).expand(s)


@right(dtypes=[int8, float32])
def choice_of_broadcasts(c: Tensor[bool_], x: Tensor, y: Tensor, s: Shape):
    """XLA: a select of three broadcasts."""
    given(c.shape == x.shape, x.shape == y.shape)
    return where(c.expand(s), x.expand(s), y.expand(s)), where(c, x, y).expand(s)


@right()
def transposed_broadcast_of_a_row(x: Tensor["n"], m: Size, n: Size):
    """MLIR, vector.transpose of vector.broadcast (llvm-project #135096)."""
    return (
        x.reshape((1, n)).expand((m, n)).permute((1, 0)),
        x.reshape((n, 1)).expand((n, m)),
    )


@wrong()
def transposed_broadcast_of_a_row_to_a_square(x: Tensor["n"], n: Size):
    """The same for a square, when only the shapes are compared."""
    return x.reshape((1, n)).expand((n, n)).permute((1, 0)), x.reshape((1, n)).expand((n, n))


@right()
def transposed_broadcast_of_an_element(x: Tensor[1, 1], m: Size, n: Size):
    """MLIR: of a scalar every transpose of a broadcast is one."""
    return x.expand((m, n)).permute((1, 0)), x.expand((n, m))


# Reshapes ---------------------------------------------------------------------------------------------------------


@right()
def reshape_to_its_own_shape(x: Tensor, s: Shape):
    """XLA, AlgebraicSimplifier; ONNX Runtime, ReshapeFusion."""
    given(s == x.shape)
    return x.reshape(s), x


@right()
def reshape_and_back(x: Tensor, s: Shape):
    """XLA, AlgebraicSimplifier: reshape of reshape."""
    return x.reshape(s).reshape(x.shape), x


@wrong()
def reshape_to_the_first_shape(x: Tensor, s: Shape, t: Shape):
    """The outer of two reshapes is the one that counts."""
    return x.reshape(s).reshape(t), x.reshape(s)


@right()
def squeeze_of_unsqueeze(x: Tensor["m", "n"], m: Size, n: Size):
    """ONNX: a squeeze undoes an unsqueeze."""
    return x.reshape((m, 1, n)).reshape((m, n)), x


@right()
def unsqueeze_at_either_place(x: Tensor["m", 1, "n"], m: Size, n: Size):
    """TVM: axes of size 1 move past others by a reshape."""
    return x.reshape((1, m, n)).permute((1, 0, 2)), x


@wrong()
def flatten_and_unflatten_the_other_way(x: Tensor["m", "n"], m: Size, n: Size):
    """A reshape leaves the elements in their order, also one that exchanges the sizes."""
    return x.reshape((m * n,)).reshape((n, m)), x.permute((1, 0))


@right()
def reshape_of_op(f: UnaryOp, x: Tensor, s: Shape):
    """XLA: sink a reshape below an op."""
    return f(x.reshape(s)), f(x).reshape(s)


@right()
def reshape_of_ops(f: BinaryOp, x: Tensor, y: Tensor, s: Shape):
    """XLA: the same of two reshapes of one shape."""
    given(x.shape == y.shape)
    return f(x.reshape(s), y.reshape(s)), f(x, y).reshape(s)


@wrong(dtypes=[int32])
def reshape_of_ops_of_two_shapes(x: Tensor["m", "n"], y: Tensor["n", "m"], m: Size, n: Size):
    """XLA: operands of two shapes may be reshaped to one."""
    return x.reshape((m * n,)) + y.reshape((m * n,)), (x + y.permute((1, 0))).reshape((m * n,))


@right()
def reshape_of_broadcast_element(x: Tensor[1], n: Size, a: Size, b: Size):
    """XLA, AlgebraicSimplifier: a reshape of a broadcast scalar is a broadcast."""
    given(n == a * b)
    return x.expand((n,)).reshape((a, b)), x.reshape((1, 1)).expand((a, b))


@right()
def reshape_of_broadcast_axis(x: Tensor["m", 1], m: Size, n: Size, a: Size, b: Size):
    """XLA: only the broadcast axis is split."""
    given(n == a * b)
    return x.expand((m, n)).reshape((m, a, b)), x.reshape((m, 1, 1)).expand((m, a, b))


@wrong()
def reshape_of_broadcast_column(x: Tensor["m", 1], m: Size, n: Size):
    """XLA: a broadcast column, reshaped, has no equal rows."""
    return x.expand((m, n)).reshape((n, m)), x.reshape((1, m)).expand((n, m))


@right()
def reshape_of_padded_rows(x: Tensor["m", "n"], m: Size, n: Size, a: Size, s: Size):
    """TVM: padding the outermost axis is padding the flat array."""
    return x.pad((a, 0), (s, n)).reshape((s * n,)), x.reshape((m * n,)).pad((a * n,), (s * n,))


@wrong()
def reshape_of_padded_columns(x: Tensor["m", "n"], m: Size, n: Size, b: Size, t: Size):
    """The innermost axis is padded in every row."""
    return x.pad((0, b), (m, t)).reshape((m * t,)), x.reshape((m * n,)).pad((b,), (m * t,))


@right()
def reshape_of_sliced_rows(x: Tensor["m", "n"], m: Size, n: Size, a: Size, s: Size):
    """XLA and MLIR: a slice of rows lies in one piece."""
    return x.shrink((a, 0), (s, n)).reshape((s * n,)), x.reshape((m * n,)).shrink((a * n,), (s * n,))


@wrong()
def reshape_of_sliced_rows_from_the_start(x: Tensor["m", "n"], m: Size, n: Size, a: Size, s: Size):
    """The offset is not scaled."""
    return x.shrink((a, 0), (s, n)).reshape((s * n,)), x.reshape((m * n,)).shrink((a,), (s * n,))


@wrong()
def reshape_of_sliced_columns(x: Tensor["m", "n"], m: Size, n: Size, b: Size, t: Size):
    """A slice of columns does not lie in one piece."""
    return x.shrink((0, b), (m, t)).reshape((m * t,)), x.reshape((m * n,)).shrink((b,), (m * t,))


@right()
def reshape_of_a_sliced_row(x: Tensor[1, "n"], n: Size, b: Size, t: Size):
    """But of a single row it does."""
    return x.shrink((0, b), (1, t)).reshape((t,)), x.reshape((n,)).shrink((b,), (t,))


@right()
def transpose_by_parts(x: Tensor["m", "n"], m: Size, n: Size, a: Size, b: Size):
    """Samsung ONE: an axis that is split, moved and merged."""
    given(m == a * b)
    return x.reshape((a, b, n)).permute((2, 0, 1)).reshape((n, m)), x.permute((1, 0))


@wrong()
def transpose_by_exchanged_parts(x: Tensor["m", "n"], m: Size, n: Size, a: Size, b: Size):
    """The same, where the parts are exchanged."""
    given(m == a * b)
    return x.reshape((a, b, n)).permute((2, 1, 0)).reshape((n, m)), x.permute((1, 0))


@right()
def row_as_slice(x: Tensor["m", "n"], m: Size, n: Size):
    """MLIR: an extracted row, as a slice."""
    given(m > 0)
    return x.index(0), x.shrink((0, 0), (1, n)).reshape((n,))


@wrong()
def row_as_slice_of_nothing(x: Tensor["m", "n"], n: Size):
    """A row of no elements can be read where no row can be cut out."""
    return x.index(0), x.shrink((0, 0), (1, n)).reshape((n,))


@right()
def element_of_reshape(x: Tensor["m", "n"], m: Size, n: Size, i: Value[index]):
    """XLA: a dynamic slice of a reshape."""
    given(i >= 0, i < m * n)
    return x.reshape((m * n,)).index(i), x.index(i // n, i % n)


@wrong()
def element_of_reshape_by_rows(x: Tensor["m", "n"], m: Size, n: Size, i: Value[index]):
    """The size of the wrong axis, which only square matrices forgive."""
    given(i >= 0, i < m * n, i // m < m, i % m < n)
    return x.reshape((m * n,)).index(i), x.index(i // m, i % m)


# Tiles ------------------------------------------------------------------------------------------------------------


@right()
def first_tile(x: Tensor["n"], k: Size, n: Size):
    """TVM: a slice of a tile."""
    return x.reshape((1, n)).expand((k, n)).reshape((k * n,)).shrink((0,), (n,)), x


@right()
def any_tile(x: Tensor["n"], k: Size, n: Size, i: Size):
    """TVM: of whole tiles any is the same."""
    given(i < k)
    return x.reshape((1, n)).expand((k, n)).reshape((k * n,)).shrink((i * n,), (n,)), x


@wrong()
def slice_across_tiles(x: Tensor["n"], k: Size, n: Size, i: Size):
    """A slice that begins inside a tile is rotated."""
    return x.reshape((1, n)).expand((k, n)).reshape((k * n,)).shrink((i,), (n,)), x


@right()
def element_of_tile(x: Tensor["n"], k: Size, n: Size, i: Value[index]):
    """NumPy: tile reads the index modulo the size."""
    given(i >= 0, i < k * n)
    return x.reshape((1, n)).expand((k, n)).reshape((k * n,)).index(i), x.index(i % n)


@right()
def element_of_repeat(x: Tensor["n"], k: Size, n: Size, i: Value[index]):
    """NumPy: repeat divides the index by the number of repetitions."""
    given(i >= 0, i < n * k)
    return x.reshape((n, 1)).expand((n, k)).reshape((n * k,)).index(i), x.index(i // k)


@wrong()
def repeat_as_tile(x: Tensor["n"], k: Size, n: Size):
    """PyTorch: repeat and repeat_interleave are taken for one another."""
    return (
        x.reshape((n, 1)).expand((n, k)).reshape((n * k,)),
        x.reshape((1, n)).expand((k, n)).reshape((n * k,)),
    )


@right()
def tile_of_tile(x: Tensor["n"], j: Size, k: Size, n: Size):
    """TVM: tiles of tiles multiply."""
    return (
        x.reshape((1, n)).expand((j, n)).reshape((1, j * n)).expand((k, j * n)).reshape((k * j * n,)),
        x.reshape((1, n)).expand((k * j, n)).reshape((k * j * n,)),
    )


@right()
def stack_as_broadcast(x: Tensor["n"], n: Size):
    """XLA, AlgebraicSimplifier: one operand stacked on itself is a broadcast."""
    return stack(x, x, x), x.reshape((1, n)).expand((3, n))


# Nothing is said --------------------------------------------------------------------------------------------------


@vacuous()
def broadcast_of_more_than_one(x: Tensor["n"], n: Size, m: Size):
    """No broadcast changes another size than 1."""
    given(n != 1, m != n)
    return x.expand((m,)), x


@vacuous()
def reshape_to_another_number(x: Tensor, s: Shape):
    """No reshape changes the number of elements."""
    given(product(s) > product(x.shape))
    return x.reshape(s), x
