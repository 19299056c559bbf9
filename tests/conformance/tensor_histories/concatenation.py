"""Concatenations: as pads, taken apart by slices, of slices, of themselves, and ops moved through them.

A concatenation is the one operand over the other, which is padded; along a set of axes it is one wherever the set holds
a single axis.
"""

# ruff: noqa: F821

from soundline.verify import (
    Axes,
    BinaryOp,
    DTypeVar,
    Monoid,
    Perm,
    Size,
    Tensor,
    UnaryOp,
    Value,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    maximum,
    no_axes,
    stack,
    where,
)

from .form import Histories, dot, joined, joined_along

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# Slices of concatenations -----------------------------------------------------------------------------------------


@right(dtypes=[int8, float16])
def slice_of_the_first(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size):
    """XLA, AlgebraicSimplifier, and tt-mlir #7700: a slice that stays in the first operand."""
    given(a + s <= m)
    return joined(x, y).shrink((a,), (s,)), x.shrink((a,), (s,))


@right(dtypes=[int8, float16])
def slice_of_the_second(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size):
    """XLA, AlgebraicSimplifier: a slice that stays in the second operand begins earlier there."""
    given(m <= a)
    return joined(x, y).shrink((a,), (s,)), y.shrink((a - m,), (s,))


@wrong(dtypes=[int8])
def slice_of_the_second_at_the_same_place(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size, n: Size):
    """The offset is not made relative to the second operand."""
    given(m <= a, a + s <= n)
    return joined(x, y).shrink((a,), (s,)), y.shrink((a,), (s,))


@wrong(dtypes=[int8])
def slice_of_the_first_and_one(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size):
    """Off by one at the seam."""
    given(a + s <= m + 1)
    return joined(x, y).shrink((a,), (s,)), x.shrink((a,), (s,))


@right(dtypes=[int8, float16])
def slice_across_the_seam(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size):
    """tt-mlir #7700: a slice across the seam is a concatenation of slices."""
    given(a <= m, m <= a + s)
    return joined(x, y).shrink((a,), (s,)), joined(x.shrink((a,), (m - a,)), y.shrink((0,), (a + s - m,)))


@wrong(dtypes=[int8])
def slice_anywhere_across_the_seam(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size):
    """The same, for slices that end before the seam."""
    given(a <= m)
    return joined(x, y).shrink((a,), (s,)), joined(x.shrink((a,), (m - a,)), y.shrink((0,), (a + s - m,)))


@right(dtypes=[int8, float16])
def first_of_joined(x: Tensor, y: Tensor, a: Axes):
    """TensorRight: the first operand is a slice of any concatenation."""
    return joined_along(x, y, a).shrink(0, x.shape), x


@right(dtypes=[int8, float16])
def second_of_joined(x: Tensor, y: Tensor, a: Axes):
    """TensorRight: and so is the second one."""
    given(where(a, 1, x.shape) == where(a, 1, y.shape), ~no_axes(a))
    return joined_along(x, y, a).shrink(where(a, x.shape, 0), y.shape), y


@wrong(dtypes=[int8])
def second_of_joined_along_nothing(x: Tensor, y: Tensor, a: Axes):
    """Along no axis the first operand covers the second."""
    given(where(a, 1, x.shape) == where(a, 1, y.shape))
    return joined_along(x, y, a).shrink(where(a, x.shape, 0), y.shape), y


@right(dtypes=[int8])
def element_of_joined(x: Tensor["m"], y: Tensor["n"], i: Value[index], m: Size, n: Size):
    """TVM: an element of a concatenation is a choice, of which only one side is read."""
    given(i >= 0, i < m + n)
    return joined(x, y).index(i), where(i < m, x.index(i), y.index(i - m))


@wrong(dtypes=[int8])
def element_of_joined_up_to_the_seam(x: Tensor["m"], y: Tensor["n"], i: Value[index], m: Size, n: Size):
    """The comparison takes in the first element of the second operand."""
    given(i >= 0, i < m + n)
    return joined(x, y).index(i), where(i <= m, x.index(i), y.index(i - m))


@right(dtypes=[int8, float16])
def column_of_joined_columns(x: Tensor["m", 1], y: Tensor["m", 1], m: Size):
    """XLA: of two columns side by side the second."""
    return joined_along(x, y, (False, True)).shrink((0, 1), (m, 1)), y


# Concatenations of slices -----------------------------------------------------------------------------------------


@right(dtypes=[int8, float16])
def joined_halves(x: Tensor["n"], k: Size, n: Size):
    """XLA, AlgebraicSimplifier, and PyTorch Inductor, split_cat: adjacent slices, joined again."""
    given(k <= n)
    return joined(x.shrink((0,), (k,)), x.shrink((k,), (n - k,))), x


@right(dtypes=[int8])
def joined_neighbours(x: Tensor["n"], a: Size, s: Size, t: Size):
    """XLA: adjacent slices are one slice."""
    return joined(x.shrink((a,), (s,)), x.shrink((a + s,), (t,))), x.shrink((a,), (s + t,))


@wrong(dtypes=[int8])
def joined_slices_with_a_gap(x: Tensor["n"], a: Size, s: Size, b: Size, t: Size):
    """PyTorch Inductor #113822: slices that do not follow one another were merged."""
    given(a + s <= b)
    return joined(x.shrink((a,), (s,)), x.shrink((b,), (t,))), x.shrink((a,), (s + t,))


@wrong(dtypes=[int8])
def joined_halves_exchanged(x: Tensor["n"], k: Size, n: Size):
    """In the other order the array is rotated."""
    given(k <= n)
    return joined(x.shrink((k,), (n - k,)), x.shrink((0,), (k,))), x


@right(dtypes=[int8])
def rotated_and_back(x: Tensor["n"], k: Size, n: Size):
    """JAX, roll: a rotation is undone by the rotation of the rest."""
    given(k <= n)
    turned = joined(x.shrink((k,), (n - k,)), x.shrink((0,), (k,)))
    return joined(turned.shrink((n - k,), (k,)), turned.shrink((0,), (n - k,))), x


@wrong(dtypes=[int8])
def rotated_twice(x: Tensor["n"], k: Size, n: Size):
    """Twice the same rotation is none but for halves."""
    given(k <= n)
    turned = joined(x.shrink((k,), (n - k,)), x.shrink((0,), (k,)))
    return joined(turned.shrink((k,), (n - k,)), turned.shrink((0,), (k,))), x


@right(dtypes=[int8])
def joined_rows_of_a_matrix(x: Tensor["m", "n"], k: Size, m: Size, n: Size):
    """PyTorch Inductor, split_cat: a split of rows, joined again."""
    given(k <= m)
    return joined_along(x.shrink((0, 0), (k, n)), x.shrink((k, 0), (m - k, n)), (True, False)), x


# Concatenations of concatenations ---------------------------------------------------------------------------------


@right(dtypes=[int8])
def joined_is_associative(x: Tensor["k"], y: Tensor["m"], z: Tensor["n"]):
    """XLA, AlgebraicSimplifier: nested concatenations are flattened."""
    return joined(joined(x, y), z), joined(x, joined(y, z))


@wrong(dtypes=[int8])
def joined_commutes(x: Tensor["n"], y: Tensor["n"]):
    """The operands are exchanged."""
    return joined(x, y), joined(y, x)


@right(dtypes=[int8, float16])
def joined_with_nothing(x: Tensor["n"], y: Tensor[0]):
    """XLA, AlgebraicSimplifier: empty operands are dropped."""
    return joined(x, y), x


@right(dtypes=[int8, float16])
def nothing_joined(x: Tensor[0], y: Tensor["n"]):
    """XLA, AlgebraicSimplifier: at the front as well."""
    return joined(x, y), y


@right(dtypes=[int8, float16])
def joined_with_itself(x: Tensor["m", 1], m: Size):
    """XLA #26780: one operand of size 1 joined with itself is a broadcast."""
    return joined_along(x, x, (False, True)), x.expand((m, 2))


@right(dtypes=[int8])
def joined_with_itself_as_tile(x: Tensor["m", "n"], m: Size, n: Size):
    """TVM: otherwise it is a tile."""
    return joined_along(x, x, (False, True)), x.reshape((m, 1, n)).expand((m, 2, n)).reshape((m, 2 * n))


@wrong(dtypes=[int8])
def joined_with_itself_as_repeat(x: Tensor["m", "n"], m: Size, n: Size):
    """XLA #26780, without the look at the size: a broadcast puts the copies beside one another."""
    return joined_along(x, x, (False, True)), x.reshape((m, n, 1)).expand((m, n, 2)).reshape((m, n * 2))


# Concatenations as something else ---------------------------------------------------------------------------------


@right(dtypes=[int8])
def joined_as_sum_of_pads(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """XLA: where nothing overlaps, pads can be added."""
    return joined(x, y), x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))


@wrong(dtypes=[float16])
def joined_as_sum_of_float_pads(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """On floats -0.0 is lost with the zeros that are added."""
    return joined(x, y), x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))


@wrong(dtypes=[int8])
def joined_as_maximum_of_pads(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """The greater of two pads hides what is negative."""
    return joined(x, y), maximum(x.pad((0,), (m + n,)), y.pad((m,), (m + n,)))


@right(dtypes=[int8, float16])
def joined_with_zeros(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """XLA, AlgebraicSimplifier: joined with a broadcast scalar it is a pad."""
    return joined(x, y.shrink((0,), (0,)).pad((0,), (n,))), x.pad((0,), (m + n,))


@right(dtypes=[int8, float16])
def joined_after_zeros(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """XLA, AlgebraicSimplifier: at the low end as well."""
    return joined(y.shrink((0,), (0,)).pad((0,), (n,)), x), x.pad((n,), (m + n,))


@right(dtypes=[int8])
def stacked_rows(x: Tensor["n"], y: Tensor["n"], n: Size):
    """ONNX: a stack is a concatenation of reshapes."""
    return stack(x, y).reshape((2 * n,)), joined(x, y)


@wrong(dtypes=[int8])
def interleaved_rows(x: Tensor["n"], y: Tensor["n"], n: Size):
    """Along another axis it interleaves."""
    return stack(x, y).permute((1, 0)).reshape((n * 2,)), joined(x, y)


@right(dtypes=[int8])
def flattened_rows(x: Tensor["k", "n"], y: Tensor["m", "n"], k: Size, m: Size, n: Size):
    """TVM: joined rows, flattened, are joined flat."""
    both = joined_along(x, y, (True, False))
    return both.reshape(((k + m) * n,)), joined(x.reshape((k * n,)), y.reshape((m * n,)))


@wrong(dtypes=[int8])
def flattened_columns(x: Tensor["n", "k"], y: Tensor["n", "m"], k: Size, m: Size, n: Size):
    """Joined columns are not."""
    both = joined_along(x, y, (False, True))
    return both.reshape((n * (k + m),)), joined(x.reshape((n * k,)), y.reshape((n * m,)))


# Movement of concatenations ---------------------------------------------------------------------------------------


@right(dtypes=[int8])
def reverse_of_joined(x: Tensor["m"], y: Tensor["n"]):
    """TensorRight: a reversal exchanges the operands."""
    return joined(x, y).flip((True,)), joined(y.flip((True,)), x.flip((True,)))


@wrong(dtypes=[int8])
def reverse_of_joined_in_order(x: Tensor["n"], y: Tensor["n"]):
    """The operands are reversed but not exchanged."""
    return joined(x, y).flip((True,)), joined(x.flip((True,)), y.flip((True,)))


@right(dtypes=[int8])
def transpose_of_joined(x: Tensor, y: Tensor, a: Axes, p: Perm):
    """ONNX Runtime, transpose optimizer: the axis of a concatenation moves along."""
    given(where(a, 1, x.shape) == where(a, 1, y.shape))
    return joined_along(x, y, a).permute(p), joined_along(x.permute(p), y.permute(p), a.permute(p))


@wrong(dtypes=[int8])
def transpose_of_joined_in_place(x: Tensor["n", "n"], y: Tensor["n", "n"], n: Size):
    """ONNX Runtime: the axis keeps its number, and a reshape makes up for it."""
    turned = joined_along(x.permute((1, 0)), y.permute((1, 0)), (True, False))
    return joined_along(x, y, (True, False)).permute((1, 0)), turned.reshape((n, 2 * n))


@right(dtypes=[int8])
def broadcast_of_joined(x: Tensor[1, "m"], y: Tensor[1, "n"], k: Size, m: Size, n: Size):
    """XLA: a broadcast of other axes moves into a concatenation."""
    return (
        joined_along(x, y, (False, True)).expand((k, m + n)),
        joined_along(x.expand((k, m)), y.expand((k, n)), (False, True)),
    )


@right(dtypes=[int8, float16])
def padded_joined(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size, k: Size):
    """TVM: padding behind a concatenation is padding of the last operand."""
    return joined(x, y).pad((0,), (m + n + k,)), joined(x, y.pad((0,), (n + k,)))


@wrong(dtypes=[int8])
def padded_joined_first(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size, k: Size):
    """Not of the first one."""
    return joined(x, y).pad((0,), (m + n + k,)), joined(x.pad((0,), (m + k,)), y).reshape((m + n + k,))


# Ops on concatenations --------------------------------------------------------------------------------------------


@right(dtypes=[int8, float16])
def op_of_joined(x: Tensor["m"], y: Tensor["n"]):
    """XLA: an op moves into a concatenation."""
    return maximum(joined(x, y), 1), joined(maximum(x, 1), maximum(y, 1))


@right(dtypes=[int8])
def any_op_of_joined(f: UnaryOp, x: Tensor["m"], y: Tensor["n"]):
    """TensorRight: any op of one operand, whatever it makes of 0."""
    return f(joined(x, y)), joined(f(x), f(y))


@right(dtypes=[int8])
def op_of_two_joined(f: BinaryOp, x: Tensor["m"], y: Tensor["n"], u: Tensor["m"], v: Tensor["n"]):
    """XLA and TASO: an op of two concatenations with one seam."""
    return f(joined(x, y), joined(u, v)), joined(f(x, u), f(y, v))


@wrong(dtypes=[int8])
def op_of_two_joined_elsewhere(
    x: Tensor["m"], y: Tensor["n"], u: Tensor["n"], v: Tensor["m"], m: Size, n: Size
):
    """With two seams the parts do not meet."""
    given(m == n)
    return joined(x, y) + joined(u, v), joined(x + v, y + u)


@right(dtypes=[int8])
def reduce_of_joined(x: Tensor["k", "m"], y: Tensor["k", "n"], o: Monoid):
    """TensorRight: a reduction along the joined axis is the op of two reductions."""
    return joined_along(x, y, (False, True)).reduce(o, 1), o(x.reduce(o, 1), y.reduce(o, 1))


@wrong(dtypes=[float16])
def float_sum_of_joined(x: Tensor["m"], y: Tensor["n"]):
    """A sum of floats goes on where the first one ended."""
    return joined(x, y).sum(0), x.sum(0) + y.sum(0)


@right(dtypes=[float16])
def float_maximum_of_joined(x: Tensor["m"], y: Tensor["n"]):
    """Their maximum may be taken in parts."""
    return joined(x, y).max(0), maximum(x.max(0), y.max(0))


@wrong(dtypes=[int8])
def product_of_joined(x: Tensor["m"], y: Tensor["n"]):
    """The op of the parts has to be that of the reduction."""
    return joined(x, y).prod(0), x.prod(0) + y.prod(0)


@right(dtypes=[int8])
def reduce_beside_joined(x: Tensor["m", "k"], y: Tensor["n", "k"], o: Monoid):
    """XLA: a reduction of another axis moves into a concatenation."""
    return (
        joined_along(x, y, (True, False)).reduce(o, 1),
        joined_along(x.reduce(o, 1), y.reduce(o, 1), (True, False)),
    )


@right(dtypes=[int8])
def dot_of_joined_along_the_sum(
    x: Tensor["m", "j"],
    y: Tensor["m", "k"],
    u: Tensor["j", "n"],
    v: Tensor["k", "n"],
    m: Size,
    j: Size,
    k: Size,
    n: Size,
):
    """XLA, AlgebraicSimplifier, and TASO: a product of blocks is a sum of products."""
    rows, columns = joined_along(x, y, (False, True)), joined_along(u, v, (True, False))
    return dot(rows, columns, m, j + k, n), dot(x, u, m, j, n) + dot(y, v, m, k, n)


@right(dtypes=[int8, float16])
def dot_with_joined_columns(
    x: Tensor["m", "k"], u: Tensor["k", "i"], v: Tensor["k", "j"], m: Size, k: Size, i: Size, j: Size
):
    """TASO: two products with one operand are one product with joined columns."""
    return (
        joined_along(dot(x, u, m, k, i), dot(x, v, m, k, j), (False, True)),
        dot(x, joined_along(u, v, (False, True)), m, k, i + j),
    )


@right(dtypes=[int8, float16])
def dot_with_joined_rows(
    x: Tensor["i", "k"], y: Tensor["j", "k"], u: Tensor["k", "n"], i: Size, j: Size, k: Size, n: Size
):
    """TASO: and so are two products with joined rows."""
    return (
        joined_along(dot(x, u, i, k, n), dot(y, u, j, k, n), (True, False)),
        dot(joined_along(x, y, (True, False)), u, i + j, k, n),
    )


@wrong(dtypes=[int8])
def dot_of_blocks_that_do_not_meet(
    x: Tensor["n", "n"], y: Tensor["n", "n"], u: Tensor["n", "n"], v: Tensor["n", "n"], n: Size
):
    """TASO: the blocks of one operand are exchanged."""
    rows, columns = joined_along(x, y, (False, True)), joined_along(v, u, (True, False))
    return dot(rows, columns, n, n + n, n), dot(x, u, n, n, n) + dot(y, v, n, n, n)


@right(dtypes=[int8], t=(int32, float32))
def cast_of_joined(x: Tensor["m"], y: Tensor["n"], t: DTypeVar):
    """XLA: a conversion moves into a concatenation."""
    return joined(x, y).cast(t), joined(x.cast(t), y.cast(t))


# Nothing is said --------------------------------------------------------------------------------------------------


@vacuous(dtypes=[int8])
def slice_beyond_both(x: Tensor["m"], y: Tensor["n"], a: Size, s: Size, m: Size, n: Size):
    """No slice reaches beyond both operands."""
    given(m + n < a)
    return joined(x, y).shrink((a,), (s,)), x.shrink((a,), (s,))
