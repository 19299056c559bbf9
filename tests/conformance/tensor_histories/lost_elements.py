"""Elements that are lost on the way: what is left out, cancelled or multiplied by zero was computed all the same, and
if it was invalid where something reduced it, so is the program."""

# ruff: noqa: F821

from soundline.verify import (
    Axes,
    Body,
    Bool,
    Monoid,
    Range,
    Size,
    Tensor,
    Value,
    all_axes,
    bool_,
    float32,
    given,
    index,
    int8,
    maximum,
    product,
    stack,
    sum_over,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong = HISTORIES.right, HISTORIES.wrong


# A reduction of what may lie outside
# -----------------------------------------------------------------------------------


@right(dtypes=[int8, index])
def sum_that_is_added_and_subtracted(x: Tensor["n"], y: Tensor["m"]):
    """LLVM, InstCombine: x + s - s; of elements that are there."""
    return x.sum(0) + y.sum(0) - y.sum(0), x.sum(0)


@wrong(dtypes=[int8, index])
def gathered_sum_that_is_added_and_subtracted(x: Tensor["n"], y: Tensor["m"], i: Tensor[index, "k"]):
    """The other way round, with elements that may not be there."""
    return x.sum(0), x.sum(0) + y.index(i).sum(0) - y.index(i).sum(0)


@right(dtypes=[int8])
def gathered_sum_that_was_there_before(x: Tensor[1], y: Tensor["m"], i: Tensor[index, "k"]):
    """The same, where the left side reduces these elements too."""
    s = y.index(i).sum(0)
    return s + x, x + s + s - s


@wrong(dtypes=[int8, index])
def gathered_sum_times_zero(x: Tensor["n"], y: Tensor["m"], i: Tensor[index, "k"]):
    """LLVM, InstCombine: 0 · s, read from the right to the left."""
    return x.sum(0), x.sum(0) + y.index(i).sum(0) * 0


@wrong(dtypes=[int8])
def gathered_sum_that_equals_itself(x: Tensor[1], z: Tensor[1], y: Tensor["m"], i: Tensor[index, "k"]):
    """LLVM, InstSimplify: s == s is true; but s must have a value."""
    s = y.index(i).sum(0)
    return x, where(s == s, x, z)


@wrong(dtypes=[int8])
def choice_by_a_gathered_sum(x: Tensor[1], y: Tensor["m"], i: Tensor[index, "k"]):
    """A selector of which nothing depends."""
    return x, where(y.index(i).sum(0) > 0, x, x)


@wrong(dtypes=[float32])
def part_by_a_gathered_sum(x: Tensor[1], y: Tensor["m"], i: Tensor[index, "k"]):
    """The same, of the parts of a stack."""
    at = (y.index(i).sum(0) > 0).reshape(()).cast(index)
    return x, stack(x, x).index(at)


@wrong(dtypes=[int8])
def part_beside_a_gathered_sum(x: Tensor["n"], y: Tensor["m"], i: Tensor[index, "k"]):
    """The part that is not taken is computed."""
    return x.sum(0), stack(y.index(i).sum(0), x.sum(0)).index(1)


@wrong(dtypes=[bool_])
def any_of_gathered_and_not(x: Tensor[1], y: Tensor["m"], i: Tensor[index, "k"]):
    """Nothing is true and false."""
    s = y.index(i).max(0)
    return x, x | (s & ~s)


@wrong(dtypes=[int8])
def gathered_elements_that_cancel(
    x: Tensor["k"], y: Tensor["m"], i: Tensor[index, "k"], b: Tensor[bool_, "k"]
):
    """Within one reduction."""
    a = where(b, y.index(i), 0)
    return x.sum(0), (x + a - a).sum(0)


@wrong(dtypes=[int8])
def gathered_elements_under_a_mask(
    y: Tensor["m"], i: Tensor[index, "k"], b: Tensor[bool_, "k"], d: Tensor[bool_, "k"]
):
    """A mask that is multiplied with leaves nothing out, a choice does."""
    a = where(d, y.index(i), 0)
    return where(b, a, 0).sum(0), (a * b.cast(int8)).sum(0)


@wrong(dtypes=[int8])
def sum_of_a_loop_that_may_not_run(
    y: Tensor["k"], m: Size, n: Size, q: Range["m"], r: Range["n"], f: Body[index, "r"]
):
    """LICM: what a loop computes, computed before it."""
    s = sum_over(r, y.index(f(r)))
    return sum_over(q, s), s * m.cast(int8)


@wrong(dtypes=[int8])
def element_that_is_not_chosen_folded(x: Tensor, i: Value[index], c: Bool, y: Tensor, a: Axes):
    """A reduction along no axis changes nothing, but meets what is invalid."""
    return where(c, x.index(i), y), where(c, x.index(i).sum(a - a), y)


@right(dtypes=[int8])
def sum_of_gathered_beside_a_sum(x: Tensor["n"], y: Tensor["m"], i: Tensor[index, "k"], c: Bool):
    """The choice of two sums is the choice of what was summed before, and after."""
    s, t = x.sum(0), y.index(i).sum(0)
    return where(c, s, t), where(~c, t, s)


# A choice by what may lie outside ---------------------------------------------------------------------------------


@wrong(dtypes=[int8])
def choice_by_gathered_elements(
    x: Tensor["n"], y: Tensor["m"], z: Tensor["n"], c: Tensor[bool_, "n"], i: Tensor[index, "n"]
):
    """A selector on which nothing depends, some of whose elements may not be there."""
    return x, where(where(c, y.index(i), z) > 0, x, x)


@wrong(dtypes=[int8])
def gathered_elements_that_equal_themselves(
    x: Tensor["n"], y: Tensor["m"], z: Tensor["n"], c: Tensor[bool_, "n"], i: Tensor[index, "n"]
):
    """The same with a selector that is always true."""
    a = where(c, y.index(i), z)
    return x, where(a == a, x, z)


@right(dtypes=[int8])
def gathered_elements_that_equal_themselves_where_they_are(
    x: Tensor["n"], y: Tensor["n"], z: Tensor["n"], c: Tensor[bool_, "n"]
):
    """The same with elements that are there."""
    a = where(c, y, z)
    return x, where(a == a, x, z)


# The greatest of no indices ---------------------------------------------------------------------------------------


@wrong(dtypes=[index])
def greatest_of_none_times_zero(x: Tensor, y: Tensor, c: Bool, a: Axes):
    """The greatest of no indices is invalid, also where the left side does not ask for it."""
    return where(c, x.max(a), y), where(c, x.max(a), y) + x.max(a) * 0


@wrong()
def greatest_of_none_that_nobody_asks_for(x: Tensor["n", "m"], y: Tensor[1, 1], p: Bool):
    """At every other dtype the greatest of none has a value: a proof there is none at index."""
    return y, where(p & ~p, x.max(0).max(1), y)


@wrong()
def fold_of_none_that_nobody_asks_for(x: Tensor["n", "m"], y: Tensor[1, 1], p: Bool, o: Monoid):
    """The same of any reduction."""
    return y, where(p & ~p, x.reduce(o, 0).reduce(o, 1), y)


# Axes that are counted --------------------------------------------------------------------------------------------


@wrong(dtypes=[int8])
def two_on_every_axis(x: Tensor, a: Axes):
    """A shape of twos has two elements on one axis alone."""
    given(all_axes(a), x.shape == 2, product(x.shape) > 1)
    return x.sum(a).reshape((1,)), x.reshape((2,)).sum(0)


@wrong(dtypes=[int8])
def twice_along_every_axis(x: Tensor, a: Axes):
    """What is repeated twice along every axis is there more than twice on two axes."""
    given(all_axes(a), x.shape == 1, product(x.expand(2).shape) > 1)
    return x.expand(2).sum(a).reshape((1,)), x.reshape((1,)).expand((2,)).sum(0)


@right(dtypes=[int8])
def one_on_every_axis(x: Tensor, a: Axes):
    """A shape of ones has one element on any number of axes."""
    given(all_axes(a), x.shape == 1)
    return x.sum(a).reshape((1,)), maximum(x, x).reshape((1,))


@right(dtypes=[index])
def greatest_beside_the_greatest(x: Tensor["n"], y: Tensor["n"]):
    """The greatest of none is invalid on both sides, and no reduction meets it."""
    return maximum(x, y).max(0), maximum(x.max(0), y.max(0))


@wrong(dtypes=[index])
def greatest_of_one_that_is_the_greatest_of_none(x: Tensor["n", 1], y: Tensor[1, 1], p: Bool):
    """A reduction of one element meets it."""
    return y, where(p & ~p, x.max(0).max(1), y)
