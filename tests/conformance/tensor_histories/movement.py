# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
"""Movement around ops and reductions: pads and what they fill, flips, permutations, concatenations, views of views."""

from soundline.verify import (
    Axes,
    BinaryOp,
    Flags,
    Monoid,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    Value,
    bool_,
    compose,
    disjoint,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    inverse,
    is_identity,
    maximum,
    no_flags,
    preserves_zero,
    uint8,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (index, int8, int32)


def rolled(x, n, k):
    """The last k elements in front of the others."""
    return x.shrink((n - k,), (k,)).pad((0,), (n,)) + x.shrink((0,), (n - k,)).pad((k,), (n,))


# Ops through pads -------------------------------------------------------------------------------------------------


@right(dtypes=[int8, float32])
def op_of_padded(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    """tinygrad, safe pad ops: those that take zero to zero."""
    given(preserves_zero(f))
    return f(x.pad(o, s)), f(x).pad(o, s)


@wrong(dtypes=[float32])
def reciprocal_of_padded(x: Tensor, o: Offset, s: Shape):
    """tinygrad 9478: a view with padding was pushed through a reciprocal."""
    return x.pad(o, s).recip(), x.recip().pad(o, s)


@wrong(dtypes=[float16, float32])
def exponential_of_padded(x: Tensor, o: Offset, s: Shape):
    """tinygrad, softmax of an axis that PADTO made longer: 2 to the 0 is 1."""
    return x.pad(o, s).exp2(), x.exp2().pad(o, s)


@wrong(dtypes=[float32])
def sum_of_reciprocals_padded(x: Tensor["n"], m: Size):
    """tinygrad 2935: PADTO of a reduce axis below a division; what is padded becomes infinity and is added."""
    return x.recip().sum(0), x.pad((0,), (m,)).recip().sum(0)


@right(dtypes=[int8, int32])
def sum_of_products_padded(x: Tensor["n"], y: Tensor["n"], m: Size):
    """tinygrad, PADTO of a matmul over integers."""
    given(x.shape[0] <= m)
    return (x * y).sum(0), (x.pad((0,), (m,)) * y.pad((0,), (m,))).sum(0)


@wrong(dtypes=[int8, int32])
def product_of_padded(x: Tensor["n"], m: Size):
    """A product with what is padded is 0."""
    given(x.shape[0] <= m)
    return x.prod(0), x.pad((0,), (m,)).prod(0)


@wrong(dtypes=[int8, float32])
def max_of_padded(x: Tensor["n"], m: Size):
    """tinygrad 2375 and tt-mlir 3246: Max needs the least value as padding."""
    given(x.shape[0] <= m)
    return x.max(0), x.pad((0,), (m,)).max(0)


@right(dtypes=[uint8])
def max_of_padded_naturals(x: Tensor["n"], m: Size):
    """Of unsigned numbers 0 is the least."""
    given(x.shape[0] <= m)
    return x.max(0), x.pad((0,), (m,)).max(0)


@right()
def choice_of_padded(b: Tensor[bool_], x: Tensor, y: Tensor, o: Offset, s: Shape):
    """A choice is padded with the choice of zeros."""
    given(b.shape == x.shape, x.shape == y.shape)
    return where(b, x, y).pad(o, s), where(b.pad(o, s), x.pad(o, s), y.pad(o, s))


@wrong(dtypes=[int8, float32])
def choice_padded_in_one_branch(b: Tensor[bool_], x: Tensor, c: Value, o: Offset, s: Shape):
    """A masked fill moved below a pad: the fill then fills the padding too."""
    given(b.shape == x.shape)
    return where(b, x, c).pad(o, s), where(b.pad(o, s), x.pad(o, s), c)


@right(dtypes=[int32, float32])
def masked_fill_of_padded(b: Tensor[bool_], x: Tensor, o: Offset, s: Shape):
    """The same with zero."""
    given(b.shape == x.shape)
    return where(b, x, 0).pad(o, s), where(b.pad(o, s), x.pad(o, s), 0)


@wrong(dtypes=[int8, float32])
def comparison_of_padded(x: Tensor, y: Tensor, o: Offset, s: Shape):
    """Zero equals zero, and padding of flags is false."""
    given(x.shape == y.shape)
    return (x.pad(o, s) == y.pad(o, s)), (x == y).pad(o, s)


@right(dtypes=[int8, float32])
def strict_comparison_of_padded(x: Tensor, y: Tensor, o: Offset, s: Shape):
    """Zero is not below zero."""
    given(x.shape == y.shape)
    return (x.pad(o, s) < y.pad(o, s)), (x < y).pad(o, s)


# Crops and pads ---------------------------------------------------------------------------------------------------


@wrong()
def crop_undone_by_a_pad(x: Tensor["n"], n: Size):
    """XLA 48715: a crop and the padding of a window on one side were added up to nothing."""
    given(n >= 1)
    return x.shrink((1,), (n - 1,)).pad((1,), (n,)), x


@right()
def pad_undone_by_a_crop(x: Tensor, o: Offset, s: Shape, a: Offset):
    """XLA, a slice of a pad that takes off all that was padded, and nothing else."""
    return x.pad(o, s).pad(a, a + s).shrink(a + o, x.shape), x


@right()
def crop_within_the_padded(x: Tensor, o: Offset, s: Shape, a: Offset, z: Shape):
    """A window that lies inside of what was padded."""
    given(o <= a, a + z <= o + x.shape)
    return x.pad(o, s).shrink(a, z), x.shrink(a - o, z)


@wrong()
def crop_within_the_padded_from_its_start(x: Tensor, o: Offset, s: Shape, a: Offset, z: Shape):
    """The same with the offset of the padded tensor."""
    given(o <= a, a + z <= o + x.shape)
    return x.pad(o, s).shrink(a, z), x.shrink(a, z)


@right(dtypes=[int32, float32])
def crop_beside_the_padded(x: Tensor["n"], o: Size, s: Size, z: Size):
    """A window of padding alone is zero."""
    given(z <= o)
    return x.pad((o,), (s,)).shrink((0,), (z,)), x.shrink((0,), (0,)).pad((0,), (z,))


@wrong(dtypes=[int32, float32])
def crop_one_past_the_padding(x: Tensor["n"], o: Size, s: Size, z: Size):
    """One element too many."""
    given(z <= o + 1)
    return x.pad((o,), (s,)).shrink((0,), (z,)), x.shrink((0,), (0,)).pad((0,), (z,))


# Concatenation ----------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def first_part_of_a_concatenation(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """tinygrad, cat as a sum of pads."""
    return (x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))).shrink((0,), (m,)), x


@wrong(dtypes=[float16, float32])
def first_part_of_a_concatenation_of_floats(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """tinygrad, the same on floats: -0.0 plus the padding is 0.0."""
    return (x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))).shrink((0,), (m,)), x


@right(dtypes=SOME)
def concatenation_flipped(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """Both parts are flipped, and change places."""
    both = x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))
    return both.flip((True,)), y.flip((True,)).pad((0,), (m + n,)) + x.flip((True,)).pad((n,), (m + n,))


@wrong(dtypes=SOME)
def concatenation_flipped_in_place(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """Both parts are flipped where they are."""
    both = x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))
    return both.flip((True,)), x.flip((True,)).pad((0,), (m + n,)) + y.flip((True,)).pad((m,), (m + n,))


@right(dtypes=[int8, int32])
def sum_of_a_concatenation(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """XLA, a reduce of a concatenate is a sum of reduces."""
    return (x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))).sum(0), x.sum(0) + y.sum(0)


@wrong(dtypes=[int8, int32])
def max_of_a_concatenation_by_pads(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size):
    """The same for Max, where a sum of pads stands for the concatenation of one empty part and another."""
    return maximum(x.pad((0,), (m + n,)), y.pad((m,), (m + n,))).max(0), maximum(x.max(0), y.max(0))


@right(dtypes=SOME)
def op_of_a_concatenation(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size, c: Value):
    """A factor goes into both parts; an addend would go into both paddings."""
    both = x.pad((0,), (m + n,)) + y.pad((m,), (m + n,))
    return both * c, (x * c).pad((0,), (m + n,)) + (y * c).pad((m,), (m + n,))


@wrong(dtypes=SOME)
def addend_of_a_concatenation(x: Tensor["m"], y: Tensor["n"], m: Size, n: Size, c: Value):
    """An addend added to the whole, as if it were in the parts."""
    both = (x + c).pad((0,), (m + n,)) + (y + c).pad((m,), (m + n,))
    return both, x.pad((0,), (m + n,)) + y.pad((m,), (m + n,)) - c


@right(dtypes=SOME)
def roll_and_roll_back(x: Tensor["n"], n: Size, k: Size):
    """numpy, roll: two slices that change places, twice."""
    given(k <= n)
    return rolled(rolled(x, n, k), n, n - k), x


@wrong(dtypes=SOME)
def roll_twice(x: Tensor["n"], n: Size, k: Size):
    """Rolled twice the same way."""
    given(k <= n)
    return rolled(rolled(x, n, k), n, k), x


# Flips and permutations -------------------------------------------------------------------------------------------


@right()
def flip_of_padded(x: Tensor, o: Offset, s: Shape, f: Flags):
    """What was padded in front is padded behind."""
    return x.pad(o, s).flip(f), x.flip(f).pad(where(f, s - o - x.shape, o), s)


@wrong()
def flip_of_padded_in_place(x: Tensor, o: Offset, s: Shape, f: Flags):
    """XLA, a reverse moved through a pad that is longer on one side."""
    return x.pad(o, s).flip(f), x.flip(f).pad(o, s)


@right()
def flip_of_shrunk(x: Tensor, o: Offset, s: Shape, f: Flags):
    """TensorRight, a slice of a reverse; of empty slices as well."""
    return x.shrink(o, s).flip(f), x.flip(f).shrink(where(f, x.shape - o - s, o), s)


@wrong()
def flip_of_shrunk_off_by_one(x: Tensor, o: Offset, s: Shape, f: Flags):
    """The last position where the end was meant; at an empty slice it even leaves the tensor."""
    given(o + s + 1 <= x.shape)
    return x.shrink(o, s).flip(f), x.flip(f).shrink(where(f, x.shape - o - s - 1, o), s)


@right()
def flip_of_expanded(x: Tensor, s: Shape, f: Flags):
    """A flip of copies is none; other axes are flipped before."""
    return x.expand(s).flip(f), x.flip(f).expand(s)


@right()
def flip_of_copies_alone(x: Tensor, s: Shape, f: Flags):
    """tinygrad: a flip of axes of length one before the expand is nothing."""
    given(where(f, x.shape, 1) == 1)
    return x.expand(s).flip(f), x.expand(s)


@wrong()
def flip_of_copies_and_others(x: Tensor, s: Shape, f: Flags):
    """Nothing is a copy here but the empty."""
    given(where(f, s, 1) >= 1)
    return x.expand(s).flip(f), x.expand(s)


@right()
def flip_of_permuted(x: Tensor, p: Perm, f: Flags):
    """Flags go along with their axes."""
    return x.permute(p).flip(f.permute(p)), x.flip(f).permute(p)


@wrong()
def flip_of_permuted_with_old_flags(x: Tensor, p: Perm, f: Flags):
    """Flags of the axes as they were numbered before."""
    return x.permute(p).flip(f), x.flip(f).permute(p)


@right()
def pad_of_permuted(x: Tensor, p: Perm, o: Offset, s: Shape):
    """Offsets and shapes go along with their axes."""
    return x.pad(o, s).permute(p), x.permute(p).pad(o.permute(p), s.permute(p))


@wrong()
def pad_of_permuted_by_the_inverse(x: Tensor, p: Perm, o: Offset, s: Shape):
    """They go along by the inverse, which is another one from three axes on."""
    return x.pad(o, s).permute(p), x.permute(p).pad(o.permute(inverse(p)), s.permute(inverse(p)))


@right()
def permuted_and_back(x: Tensor, p: Perm):
    """TASO, transposes that cancel."""
    return x.permute(p).permute(inverse(p)), x


@right()
def permuted_three_times(x: Tensor, p: Perm, q: Perm):
    """A conjugate: there, elsewhere, and back."""
    return x.permute(p).permute(q).permute(inverse(p)), x.permute(compose(compose(p, q), inverse(p)))


@wrong()
def permutations_exchanged(x: Tensor, p: Perm, q: Perm):
    """Transposes commute with two axes and not with three."""
    return x.permute(p).permute(q), x.permute(q).permute(p)


@right()
def op_of_flipped_and_permuted(g: BinaryOp, x: Tensor, y: Tensor, p: Perm, f: Flags):
    """TASO, movement through an elementwise op of two operands."""
    given(x.shape == y.shape)
    return g(x.permute(p).flip(f), y.permute(p).flip(f)), g(x, y).permute(p).flip(f)


@wrong(dtypes=[int8, float32])
def op_of_one_flipped_operand(x: Tensor, y: Tensor, f: Flags):
    """Convolution is not correlation: one operand is flipped."""
    given(x.shape == y.shape)
    return x.flip(f) - y, (x - y).flip(f)


# Reductions of what was moved
# ------------------------------------------------------------------------------------------


@right(dtypes=[int8, int32])
def fold_of_flipped_axes(m: Monoid, x: Tensor, a: Axes):
    """tinygrad: no reduction of integers knows a direction."""
    return x.flip(a).reduce(m, a), x.reduce(m, a)


@wrong(dtypes=[float16, float32])
def sum_of_flipped_floats(x: Tensor["n"]):
    """Backwards it rounds otherwise."""
    return x.flip((True,)).sum(0), x.sum(0)


@right(dtypes=[int8, float32])
def fold_of_other_flipped_axes(m: Monoid, x: Tensor, a: Axes, b: Axes):
    """Rows are reduced each by itself."""
    given(disjoint(a, b))
    return x.flip(b).reduce(m, a), x.reduce(m, a).flip(b)


@wrong(dtypes=[int8, float32])
def fold_of_flipped_axes_forgets_the_others(x: Tensor, a: Axes, b: Axes):
    """Only flips of reduced axes vanish."""
    return x.flip(b).max(a), x.max(a)


@right(dtypes=[int8, int32])
def sum_of_copies(x: Tensor[1], n: Size):
    """tinygrad, a Reduce of an Expand is a product."""
    return x.expand((n,)).sum(0), x * n.cast(x.dtype)


@right(dtypes=[int8, float32])
def max_of_copies(x: Tensor["m", 1], m: Size, n: Size):
    """Of copies any is the greatest, if there is one."""
    given(n > 0)
    return x.expand((m, n)).max(1), x


@wrong(dtypes=[int8, float32])
def max_of_no_copies(x: Tensor["m", 1], m: Size, n: Size):
    """tinygrad: an expand to nothing."""
    return x.expand((m, n)).max(1), x


@right(dtypes=[int8, int32])
def sum_after_a_reshape(x: Tensor["m", "n"], m: Size, n: Size):
    """tinygrad, a Reduce over all axes is one over the flat tensor."""
    return x.sum((0, 1)).reshape((1,)), x.reshape((m * n,)).sum(0)


@right(dtypes=[int8, float32])
def sum_after_a_reshape_of_other_axes(x: Tensor["a", "b", "c"], a: Size, b: Size, c: Size):
    """XLA, a reduce after a reshape of the axes that stay: each row is added in its order."""
    return x.reshape((a * b, c)).sum(1).reshape((a, b, 1)), x.sum(2)


@wrong(dtypes=[int8, int32])
def sum_after_a_reshape_across_rows(x: Tensor["m", "n"], m: Size, n: Size):
    """Rows and columns of a square exchanged by a reshape."""
    return x.reshape((n, m)).sum(1).reshape((n,)), x.sum(0).reshape((n,))


# Views of views ---------------------------------------------------------------------------------------------------


@right()
def channels_shuffled_and_back(x: Tensor["n"], n: Size, a: Size, b: Size):
    """ShuffleNet: the inverse of a shuffle has the groups the other way."""
    given(n == a * b)
    shuffled = x.reshape((a, b)).permute((1, 0)).reshape((n,))
    return shuffled.reshape((b, a)).permute((1, 0)).reshape((n,)), x


@wrong()
def channels_shuffled_twice(x: Tensor["n"], n: Size, a: Size, b: Size):
    """rocMLIR 922: a transpose between an expand and a collapse of shapes, taken for its own inverse."""
    given(n == a * b)
    shuffled = x.reshape((a, b)).permute((1, 0)).reshape((n,))
    return shuffled.reshape((a, b)).permute((1, 0)).reshape((n,)), x


@right()
def flip_of_a_flat_matrix(x: Tensor["m", "n"], m: Size, n: Size):
    """A flat tensor backwards is the matrix with both axes backwards."""
    return x.flip((True, True)).reshape((m * n,)), x.reshape((m * n,)).flip((True,))


@wrong()
def flip_of_the_rows_of_a_flat_matrix(x: Tensor["m", "n"], m: Size, n: Size):
    """One axis backwards is not the whole backwards."""
    return x.flip((True, False)).reshape((m * n,)), x.reshape((m * n,)).flip((True,))


@right()
def tiles_of_a_matrix(x: Tensor["m", "n"], m: Size, n: Size, a: Size, b: Size):
    """Blocked layouts: tiled and taken apart again."""
    given(m == a * 4, n == b * 8)
    tiled = x.reshape((a, 4, b, 8)).permute((0, 2, 1, 3))
    return tiled.permute((0, 2, 1, 3)).reshape((m, n)), x


@wrong()
def tiles_of_a_matrix_read_flat(x: Tensor["m", "n"], m: Size, n: Size, a: Size, b: Size):
    """A blocked layout read as if it were row-major."""
    given(m == a * 4, n == b * 8)
    return x.reshape((a, 4, b, 8)).permute((0, 2, 1, 3)).reshape((m, n)), x


@right()
def rows_cut_off_a_flat_matrix(x: Tensor["m", "n"], m: Size, n: Size, k: Size):
    """The first rows are the first part of the flat tensor."""
    given(k <= m)
    return x.reshape((m * n,)).shrink((0,), (k * n,)).reshape((k, n)), x.shrink((0, 0), (k, n))


@wrong()
def columns_cut_off_a_flat_matrix(x: Tensor["m", "n"], m: Size, n: Size, k: Size):
    """The first columns are not."""
    given(k <= n)
    return x.reshape((m * n,)).shrink((0,), (m * k,)).reshape((m, k)), x.shrink((0, 0), (m, k))


# Rules that say nothing -------------------------------------------------------------------------------------------


@vacuous()
def flip_of_nothing_that_is_something(x: Tensor, f: Flags, p: Perm):
    """Flags that are none and differ from none."""
    given(no_flags(f), ~no_flags(f), is_identity(p))
    return x.flip(f).permute(p), x


@vacuous()
def pad_that_does_not_fit(x: Tensor["n"], n: Size, k: Size):
    """A pad to less than there is."""
    given(k < n)
    return x.pad((0,), (k,)), x


@vacuous()
def expand_of_a_long_axis(x: Tensor["n"], n: Size, k: Size):
    """An expand of what is neither one nor as long."""
    given(n > 1, k > n)
    return x.expand((k,)), x
