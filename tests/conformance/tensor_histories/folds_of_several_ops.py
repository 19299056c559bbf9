"""Sums, products and maxima inside one another, at every rank: what an inner reduction is may be
said in other words.
"""

from soundline.verify import (
    Axes,
    Offset,
    Shape,
    Tensor,
    bool_,
    disjoint,
    float32,
    given,
    index,
    int8,
    int32,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


@right(dtypes=[index, int32])
def maximum_of_sums_of_flipped(x: Tensor, a: Axes, b: Axes):
    """XLA, a reverse along what is reduced goes away, in each of two reductions."""
    given(disjoint(a, b))
    return x.flip(a).sum(a).max(b), x.sum(a).flip(b).max(b)


@wrong(dtypes=[float32])
def maximum_of_float_sums_of_flipped(x: Tensor, a: Axes, b: Axes):
    """A sum of floats has an order."""
    given(disjoint(a, b))
    return x.flip(a).sum(a).max(b), x.sum(a).flip(b).max(b)


@right(dtypes=[float32])
def maximum_of_float_sums_flipped_beside(x: Tensor, a: Axes, b: Axes):
    """A maximum of floats has none."""
    given(disjoint(a, b))
    return x.flip(b).sum(a).max(b), x.sum(a).flip(b).max(b)


@wrong(dtypes=[int32])
def maximum_and_sum_exchanged(x: Tensor, a: Axes, b: Axes):
    """Reductions by different ops keep their order."""
    given(disjoint(a, b))
    return x.sum(a).max(b), x.max(b).sum(a)


@wrong(dtypes=[int32])
def maximum_along_other_axes(x: Tensor, a: Axes, b: Axes):
    """The axes of the two reductions exchanged."""
    return x.flip(b).sum(a).max(b), x.sum(b).flip(b).max(a)


@right(dtypes=[int32])
def three_folds_of_flipped(x: Tensor, a: Axes, b: Axes, c: Axes):
    """The same three times."""
    given(disjoint(a, b), disjoint(b, c), disjoint(a, c))
    return x.flip(a).sum(a).max(b).prod(c), x.sum(a).flip(b).max(b).flip(c).prod(c)


@right(dtypes=[int32])
def maximum_of_a_sum_of_sums(x: Tensor, a: Axes, b: Axes, c: Axes):
    """ONNX Runtime, two reductions of one op are one."""
    given(disjoint(a, b))
    return x.sum(a).sum(b).max(c), x.sum(a | b).max(c)


@wrong(dtypes=[int32])
def maximum_of_a_sum_along_too_few_axes(x: Tensor, a: Axes, b: Axes, c: Axes):
    """Only along what both are."""
    return x.sum(a).sum(b).max(c), x.sum(a & b).max(c)


@right(dtypes=[int32])
def maximum_of_a_sum_of_two(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """A sum of sums under another reduction."""
    given(x.shape == y.shape, disjoint(a, b))
    return (x + y).sum(a).max(b), (x.sum(a) + y.sum(a)).max(b)


@wrong(dtypes=[int32])
def maximum_of_a_sum_along_different_axes(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """The second sum along the axes of the maximum."""
    given(x.shape == y.shape, disjoint(a, b))
    return (x + y).sum(a).max(b), (x.sum(a) + y.sum(b)).max(b)


@right(dtypes=[int8])
def maximum_of_scaled_sums(x: Tensor, a: Axes, b: Axes):
    """A factor goes out of a sum inside a maximum."""
    given(disjoint(a, b))
    return (x * 2).sum(a).max(b), (x.sum(a) * 2).max(b)


@right(dtypes=[int32])
def maximum_of_sums_of_padded(x: Tensor, a: Axes, b: Axes, o: Offset, s: Shape):
    """A padding stays where it is."""
    given(disjoint(a, b))
    return x.pad(o, s).sum(b).flip(a).max(a), x.pad(o, s).sum(b).max(a)


@right(dtypes=[bool_])
def all_of_any_of_repeated(y: Tensor, a: Axes, b: Axes, s: Shape):
    """numpy, all of any of a broadcast: what is repeated goes out of the inner reduction."""
    given(where(~a, s, 1) >= 1, where(~a, y.shape, 1) == 1)
    return y.expand(s).max(~a).prod(b).prod(a), y.max(~a).expand(where(~a, 1, s)).prod(b | a)


@vacuous(dtypes=[int32])
def the_same_folds(x: Tensor, a: Axes, b: Axes):
    """Nothing is said."""
    return x.sum(a).max(b), x.sum(a).max(b)
