# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
"""Indexing of what was moved, gathers as loads, windows with moving starts: ONNX Runtime, XLA, tinygrad, Inductor."""

from soundline.verify import (
    BinaryOp,
    Body,
    Range,
    Size,
    Tensor,
    Value,
    cmod,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    max_over,
    stack,
    sum_over,
    where,
)

from .form import Histories, clamp

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (index, int8, int32)


def written(x, u, k, a, i):
    """The element at i of x, after u of k elements was written at a."""
    inside = (a <= i) & (i < a + k)
    return where(inside, u.index(i - a), x.index(i))


# An element of what was moved -------------------------------------------------------------------------------------


@right()
def element_of_shrunk(x: Tensor["n"], a: Size, k: Size, i: Value[index]):
    """tinygrad, rangeify: a shrink adds its offset to the index."""
    return x.shrink((a,), (k,)).index(i), x.index(i + a)


@wrong()
def element_of_shrunk_the_other_way(x: Tensor["n"], a: Size, k: Size, i: Value[index]):
    """tinygrad, rangeify, with the sign that a pad has."""
    return x.shrink((a,), (k,)).index(i), x.index(i - a)


@right(dtypes=[int32, float32])
def element_of_padded(x: Tensor["n"], n: Size, a: Size, m: Size, i: Value[index]):
    """tinygrad, rangeify: a pad is a gate and an offset."""
    return x.pad((a,), (m,)).index(i), where((a <= i) & (i < a + n), x.index(i - a), 0)


@wrong(dtypes=[int32, float32])
def element_of_padded_one_too_far(x: Tensor["n"], n: Size, a: Size, m: Size, i: Value[index]):
    """The end of the gate is not among the elements."""
    return x.pad((a,), (m,)).index(i), where((a <= i) & (i <= a + n), x.index(i - a), 0)


@wrong(dtypes=[int32, float32])
def element_of_padded_without_a_start(x: Tensor["n"], n: Size, a: Size, m: Size, i: Value[index]):
    """tinygrad, simplification of a valid that dropped its lower end."""
    return x.pad((a,), (m,)).index(i), where(i < a + n, x.index(i - a), 0)


@right()
def element_of_expanded(x: Tensor["m", 1], m: Size, n: Size, i: Value[index], j: Value[index]):
    """tinygrad, rangeify: an axis that was expanded is read at 0."""
    return x.expand((m, n)).index(i, j), x.index(i, 0)


@wrong()
def element_of_expanded_at_its_own_place(
    x: Tensor["m", 1], m: Size, n: Size, i: Value[index], j: Value[index]
):
    """A stride that should have been 0."""
    return x.expand((m, n)).index(i, j), x.index(i, j)


@right()
def element_of_transposed(x: Tensor["m", "n"], i: Value[index], j: Value[index]):
    """tinygrad, rangeify: indices are permuted back."""
    return x.permute((1, 0)).index(i, j), x.index(j, i)


@wrong()
def element_of_turned(x: Tensor["l", "m", "n"], i: Value[index], j: Value[index], k: Value[index]):
    """A permutation applied where its inverse was due; with two axes they are the same."""
    return x.permute((1, 2, 0)).index(i, j, k), x.index(j, k, i)


@right()
def element_of_turned_back(x: Tensor["l", "m", "n"], i: Value[index], j: Value[index], k: Value[index]):
    """The same with the inverse."""
    return x.permute((1, 2, 0)).index(i, j, k), x.index(k, i, j)


@right()
def element_of_flipped_rows(x: Tensor["m", "n"], m: Size, i: Value[index], j: Value[index]):
    """tinygrad, rangeify: only the flipped axis counts down."""
    return x.flip((True, False)).index(i, j), x.index(m - 1 - i, j)


@wrong()
def element_of_flipped_from_the_end(x: Tensor["m", "n"], i: Value[index], j: Value[index]):
    """Indices from the end as Python has them: -1 - i is outside here."""
    return x.flip((True, False)).index(i, j), x.index(-1 - i, j)


@right()
def element_of_shrunk_and_flipped(x: Tensor["n"], a: Size, k: Size, i: Value[index]):
    """XLA, a reverse of a slice, read at one place."""
    return x.shrink((a,), (k,)).flip((True,)).index(i), x.index(a + k - 1 - i)


@wrong()
def element_of_flipped_and_shrunk(x: Tensor["n"], a: Size, k: Size, i: Value[index]):
    """XLA, slice and reverse are not exchanged with the same start."""
    return x.flip((True,)).shrink((a,), (k,)).index(i), x.index(a + k - 1 - i)


@right()
def element_of_stacked(x: Value, y: Value, z: Value, i: Value[index]):
    """tinygrad, an Index of a Stack becomes a choice; what lies outside was invalid before."""
    return stack(x, y, z).index(i), where(i == 0, x, where(i == 1, y, z))


@wrong()
def element_of_stacked_counting_from_one(x: Value, y: Value, z: Value, i: Value[index]):
    """The same, off by one."""
    return stack(x, y, z).index(i), where(i == 1, x, where(i == 2, y, z))


@right()
def stack_flipped(x: Value, y: Value, z: Value):
    """MLIR, a reverse of vector.from_elements."""
    return stack(x, y, z).flip((True,)), stack(z, y, x)


@right()
def stack_of_rows(x: Tensor["m", "n"], n: Size):
    """MLIR, extracts in order are one slice."""
    given(x.shape[0] >= 2)
    return stack(x.index(0), x.index(1)), x.shrink((0, 0), (2, n))


@wrong()
def stack_of_rows_in_reverse(x: Tensor[2, "n"]):
    """MLIR 2024: extracts reduced into their source without a look at their order."""
    return stack(x.index(1), x.index(0)), x


@right()
def stack_of_transposed_rows(x: Tensor["n"], y: Tensor["n"]):
    """A column of a stack has one element of each."""
    return stack(x, y).permute((1, 0)).index(0), stack(x.index(0), y.index(0))


# Gathers ----------------------------------------------------------------------------------------------------------


@right()
def gather_of_gather(x: Tensor["n"], i: Tensor[index, "k"], j: Tensor[index, "l"]):
    """XLA, a gather of a gather has its indices gathered."""
    return x.index(i).index(j), x.index(i.index(j))


@right()
def gather_by_gathered_indices(x: Tensor["n"], i: Tensor[index, "k"], j: Tensor[index, "l"]):
    """The same backwards: an index that j does not choose may lie outside, but then its element is not read."""
    return x.index(i.index(j)), x.index(i).index(j)


@wrong(dtypes=[int8, int32])
def sum_of_gathered_by_gathered_indices(x: Tensor["n"], i: Tensor[index, "k"], j: Tensor[index, "k"]):
    """A sum uses all that was gathered, chosen or not: where j repeats an index the elements differ."""
    return x.index(i.index(j)).sum(0), x.index(i).sum(0)


@wrong()
def gather_of_gather_in_the_wrong_order(x: Tensor["n"], i: Tensor[index, "n"], j: Tensor[index, "n"]):
    """Compositions of permutations of tokens, as mixtures of experts have them, the wrong way round."""
    return x.index(i).index(j), x.index(j.index(i))


@right(dtypes=[int8, float32])
def gather_of_op(f: BinaryOp, x: Tensor["n"], y: Tensor["n"], i: Tensor[index, "k"]):
    """OpenVINO and XLA: gathers move above elementwise ops."""
    return f(x, y).index(i), f(x.index(i), y.index(i))


@right()
def rows_of_transposed(x: Tensor["m", "n"], i: Tensor[index, "k"], j: Value[index]):
    """ONNX Runtime, the transpose optimizer's Gather: the axis is permuted with the data."""
    return x.permute((1, 0)).index(i, j), x.index(j, i)


@wrong()
def rows_of_transposed_without_transposing(x: Tensor["n", "n"], i: Tensor[index, "k"]):
    """ONNX Runtime 28755: pushing a transpose past a Gather has to change the axis."""
    return x.permute((1, 0)).index(i), x.index(i)


@right()
def element_of_gathered(x: Tensor["m", "n"], i: Tensor[index, "k"], j: Value[index], c: Value[index]):
    """tinygrad, rangeify: an index into a gather is an index of its indices."""
    return x.index(i).index(j, c), x.index(i.index(j), c)


@right()
def gather_of_flipped(x: Tensor["n"], n: Size, i: Tensor[index, "k"]):
    """A flip is a change of the indices."""
    return x.flip((True,)).index(i), x.index(n - 1 - i)


@right()
def flip_of_gathered(x: Tensor["n"], i: Tensor[index, "k"]):
    """A flip of the rows that were gathered gathers in reverse."""
    return x.index(i).flip((True,)), x.index(i.flip((True,)))


@wrong()
def flip_of_gathered_data(x: Tensor["n"], i: Tensor[index, "k"]):
    """The result is flipped, not the table."""
    return x.index(i).flip((True,)), x.flip((True,)).index(i)


@right(dtypes=[int8, float32])
def gather_after_a_sum_of_other_axes(x: Tensor["m", "n"], i: Tensor[index, "k"]):
    """Embedding bags: rows that are not wanted are not added up."""
    return x.sum(1).index(i), x.index(i).sum(1)


@wrong(dtypes=[int8, float32])
def gather_after_a_sum_of_its_axis(x: Tensor["m", "n"], i: Tensor[index, "k"]):
    """Embedding bags: the sum over the chosen rows is not that over all."""
    return x.index(i).sum(0), x.sum(0)


@right()
def index_from_the_end(x: Tensor["n"], n: Size, i: Value[index]):
    """ONNX, Gather: a negative index counts from the end, and floor remainders know it."""
    given(-n <= i, i < n)
    return where(i < 0, x.index(where(i < 0, i + n, 0)), x.index(where(i < 0, 0, i))), x.index(i % n)


@wrong()
def index_from_the_end_by_c(x: Tensor["n"], n: Size, i: Value[index]):
    """PyTorch 102602: a negative index reached the loaded address; C's remainder stays negative."""
    given(-n <= i, i < n)
    return x.index(i % n), x.index(cmod(i, n))


@right()
def gather_of_a_matrix_read_flat(
    x: Tensor["m", "n"], m: Size, n: Size, i: Tensor[index, "k"], j: Value[index]
):
    """tinygrad, rangeify: an index into a reshape is a quotient and a remainder."""
    return x.reshape((m * n,)).index(i).index(j), x.index(i.index(j) // n, i.index(j) % n)


# One-hot ----------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def one_hot_row(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """tinygrad, fancy indexing as a masked sum, which becomes a load again."""
    given(i >= 0, i < n)
    return sum_over(r, where(i == r, f(r), 0)), f(i)


@wrong(dtypes=SOME)
def one_hot_row_from_the_end(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """tinygrad: an index that is in no iteration gives 0, and does not count from the end."""
    given(-n <= i, i < n)
    return sum_over(r, where(i == r, f(r), 0)), f(i % n)


@wrong(dtypes=[float16, float32])
def one_hot_by_product(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """A gather as a product with a one-hot row: an infinity elsewhere makes NaN of all."""
    given(i >= 0, i < n)
    return sum_over(r, where(i == r, 1.0, 0.0) * f(r)), f(i)


@right(dtypes=SOME)
def one_hot_by_product_of_integers(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """The same on integers."""
    given(i >= 0, i < n)
    return sum_over(r, where(i == r, 1, 0) * f(r)), f(i)


@right(dtypes=[int8, int32])
def one_hot_diagonal(r: Range["n"], s: Range["n"], f: Body["r", "s"]):
    """numpy, the trace of a matrix by an eye."""
    return sum_over(r, sum_over(s, where(r == s, f(r, s), 0))), sum_over(r, f(r, r))


@wrong(dtypes=[int8, int32])
def one_hot_by_max(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """MaxPool backwards as a masked Max: 0 wins against what is negative."""
    given(i >= 0, i < n)
    return max_over(r, where(i == r, f(r), 0)), f(i)


@right(dtypes=SOME)
def one_hot_with_an_offset(r: Range["n"], n: Size, i: Value[index], f: Body["r"], k: Size):
    """tinygrad, reduce collapse where the comparison has an addend."""
    given(k <= i, i < n + k)
    return sum_over(r, where(r + k == i, f(r), 0)), f(i - k)


@wrong(dtypes=SOME)
def one_hot_with_a_stride(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """Not every index is a multiple of the stride."""
    given(i >= 0, i < 2 * n)
    return sum_over(r, where(r * 2 == i, f(r), 0)), f(i // 2)


@right(dtypes=SOME)
def one_hot_with_a_stride_gated(r: Range["n"], n: Size, i: Value[index], f: Body["r"]):
    """The same behind a gate."""
    given(i >= 0, i < 2 * n)
    return sum_over(r, where(r * 2 == i, f(r), 0)), where(i % 2 == 0, f(i // 2), 0)


# Windows with moving starts ---------------------------------------------------------------------------------------


@right()
def window_of_a_window(
    x: Tensor["n"],
    n: Size,
    k: Size,
    w: Size,
    a: Value[index],
    b: Value[index],
    j: Range["w"],
):
    """XLA 49121, as it is specified: each start is clamped by its own window."""
    given(w <= k, k <= n)
    inner, outer = clamp(0, a, n - k), clamp(0, b, k - w)
    return x.shrink((inner,), (k,)).shrink((outer,), (w,)).index(j), x.index(inner + outer + j)


@wrong()
def window_of_a_window_unclamped(
    x: Tensor["n"],
    n: Size,
    k: Size,
    w: Size,
    a: Value[index],
    b: Value[index],
    j: Range["w"],
):
    """XLA 49121: the starts were added, and clamped once."""
    given(w <= k, k <= n)
    inner, outer = clamp(0, a, n - k), clamp(0, b, k - w)
    return x.shrink((inner,), (k,)).shrink((outer,), (w,)).index(j), x.index(clamp(0, a + b, n - w) + j)


@right()
def update_read_inside(x: Tensor["n"], n: Size, u: Tensor["k"], k: Size, a: Value[index], j: Range["k"]):
    """XLA, a dynamic-slice of a dynamic-update-slice at one start is the update."""
    given(a >= 0, a + k <= n)
    return written(x, u, k, a, a + j), u.index(j)


@right()
def update_of_an_update(
    x: Tensor["n"], n: Size, u: Tensor["k"], v: Tensor["k"], k: Size, a: Value[index], i: Range["n"]
):
    """XLA, of two updates at one place the later stays."""
    given(a >= 0, a + k <= n)
    inside = (a <= i) & (i < a + k)
    return where(inside, v.index(i - a), written(x, u, k, a, i)), written(x, v, k, a, i)


@wrong()
def update_of_an_update_elsewhere(
    x: Tensor["n"],
    n: Size,
    u: Tensor["k"],
    v: Tensor["k"],
    k: Size,
    a: Value[index],
    b: Value[index],
    i: Range["n"],
):
    """The same at two places: what the earlier one wrote may remain."""
    given(a >= 0, a + k <= n, b >= 0, b + k <= n)
    inside = (b <= i) & (i < b + k)
    return where(inside, v.index(i - b), written(x, u, k, a, i)), written(x, v, k, b, i)


@right()
def update_with_what_was_there(x: Tensor["n"], n: Size, k: Size, a: Value[index], i: Range["n"]):
    """XLA, a dynamic-update-slice of a dynamic-slice of the same operand is no update."""
    given(a >= 0, a + k <= n)
    return written(x, x.shrink((a,), (k,)), k, a, i), x.index(i)


@wrong()
def update_with_what_was_elsewhere(x: Tensor["n"], n: Size, k: Size, a: Value[index], i: Range["n"]):
    """XLA 49176: an update by a shifted slice of its own operand is a copy, not the operand."""
    given(a >= 0, a + k + 1 <= n)
    return written(x, x.shrink((a,), (k,)), k, a + 1, i), x.index(i)


@right(dtypes=[int32, float32])
def update_as_pads(x: Tensor["n"], n: Size, u: Tensor["k"], k: Size, a: Value[index], i: Range["n"]):
    """DynamicUpdateSlice as a choice between two pads."""
    given(a >= 0, a + k <= n)
    return written(x, u, k, a, i), where((a <= i) & (i < a + k), u.pad((a,), (n,)).index(i), x.index(i))


# Rules that say nothing -------------------------------------------------------------------------------------------


@vacuous()
def element_of_nothing(x: Tensor[0], y: Tensor["n"], i: Value[index]):
    """No index lies inside of an empty axis."""
    return x.index(i), y.index(0)


@vacuous()
def window_that_does_not_fit(x: Tensor["n"], n: Size, k: Size, i: Value[index]):
    """A window that is longer than what it is taken from."""
    given(k > n)
    return x.shrink((0,), (k,)).index(i), x.index(i)
