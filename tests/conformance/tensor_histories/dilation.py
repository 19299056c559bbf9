"""Dilation: elements spread with a stride between them, by a factor that is a size, and sums over what was spread."""

# ruff: noqa: F821

from typing import Any

from soundline.verify import (
    Body,
    Offset,
    Range,
    Shape,
    Size,
    Tensor,
    float32,
    fresh,
    given,
    index,
    int8,
    max_over,
    prod_over,
    sum_over,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


def spread(x: Any, n: Any, k: Any) -> Any:
    """A vector of n elements with k - 1 zeros behind each."""
    return x.reshape((n, 1)).pad((0, 0), (n, k)).reshape((n * k,))


def taken(x: Any, n: Any, k: Any) -> Any:
    """The first of every k of n · k elements."""
    return x.reshape((n, k)).shrink((0, 0), (n, 1)).reshape((n,))


# Loops over what was spread ---------------------------------------------------------------------------------------


@right(dtypes=[index, int8])
def sum_over_a_dilated_range(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """Halide and polyhedral compilers: a loop with a guard on its stride steps by the stride."""
    given(b > 0)
    i = fresh((n + b - 1) // b)
    return sum_over(r, where(r % b == 0, f(r), 0)), sum_over(i, f(i * b))


@right(dtypes=[float32])
def float_sum_over_a_dilated_range(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """The same of floats, with what is neutral: the order is kept."""
    given(b > 0)
    i = fresh((n + b - 1) // b)
    return sum_over(r, where(r % b == 0, f(r), -0.0)), sum_over(i, f(i * b))


@right(dtypes=[int8])
def product_over_a_dilated_range(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """The same of a product."""
    given(b > 0)
    i = fresh((n + b - 1) // b)
    return prod_over(r, where(r % b == 0, f(r), 1)), prod_over(i, f(i * b))


@right(dtypes=[index, int8])
def maximum_over_a_dilated_range(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """The same of a maximum."""
    given(b > 0, n > 0)
    i = fresh((n + b - 1) // b)
    return max_over(r, where(r % b == 0, f(r), f(0))), max_over(i, f(i * b))


@right(dtypes=[index, int8])
def sum_over_a_range_dilated_evenly(r: Range["n"], n: Size, m: Size, b: Size, f: Body["r"]):
    """The same where the stride divides the extent."""
    given(b > 0, n == m * b)
    i = fresh(m)
    return sum_over(r, where(r % b == 0, f(r), 0)), sum_over(i, f(i * b))


@right(dtypes=[index, int8])
def sum_over_a_dilated_range_from_the_middle(r: Range["n"], n: Size, b: Size, c: Size, f: Body["r"]):
    """The same of any one phase of the stride."""
    given(c < b)
    i = fresh((n + b - 1 - c) // b)
    return sum_over(r, where(r % b == c, f(r), 0)), sum_over(i, f(i * b + c))


@right(dtypes=[int8])
def sum_over_a_range_dilated_twice(r: Range["n"], m: Size, n: Size, a: Size, b: Size, f: Body["r"]):
    """A stride of a stride."""
    given(a > 0, b > 0, n == m * a * b)
    i = fresh(m)
    return sum_over(r, where(r % (a * b) == 0, f(r), 0)), sum_over(i, f(i * a * b))


@right(dtypes=[int8])
def dot_over_a_dilated_range(r: Range["n"], n: Size, b: Size, f: Body["r"], g: Body["r"]):
    """Two factors, the one read where the other was spread."""
    given(b > 0)
    i = fresh((n + b - 1) // b)
    return sum_over(r, where(r % b == 0, f(r // b) * g(r), 0)), sum_over(i, f(i) * g(i * b))


@wrong(dtypes=[index, int8])
def sum_over_a_dilated_range_rounded_down(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """The last, incomplete stride is lost."""
    given(b > 0)
    i = fresh(n // b)
    return sum_over(r, where(r % b == 0, f(r), 0)), sum_over(i, f(i * b))


@wrong(dtypes=[index, int8])
def sum_over_a_dilated_range_too_far(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """One stride too many reads outside."""
    given(b > 0)
    i = fresh(n // b + 1)
    return sum_over(r, where(r % b == 0, f(r), 0)), sum_over(i, f(i * b))


@wrong(dtypes=[int8])
def sum_over_a_dilated_range_undone(r: Range["n"], n: Size, m: Size, b: Size, f: Body["r"]):
    """The elements as if they had not been spread."""
    given(b > 0, n == m * b)
    i = fresh(m)
    return sum_over(r, where(r % b == 0, f(r), 0)), sum_over(i, f(i))


@wrong(dtypes=[int8])
def product_over_a_dilated_range_with_zeros(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """Zero is nothing to a sum, and everything to a product."""
    given(b > 0)
    i = fresh((n + b - 1) // b)
    return prod_over(r, where(r % b == 0, f(r), 0)), prod_over(i, f(i * b))


@wrong(dtypes=[float32])
def float_sum_over_a_dilated_range_with_zeros(r: Range["n"], n: Size, b: Size, f: Body["r"]):
    """+0.0 is not neutral: the sum of -0.0 alone is -0.0."""
    given(b > 0)
    i = fresh((n + b - 1) // b)
    return sum_over(r, where(r % b == 0, f(r), 0.0)), sum_over(i, f(i * b))


# Dilation twice ---------------------------------------------------------------------------------------------------


@right()
def dilation_twice(x: Tensor["n"], n: Size, a: Size, b: Size):
    """XLA, AlgebraicSimplifier: interior padding of interior padding, by sizes."""
    return spread(spread(x, n, a), n * a, b), spread(x, n, a * b)


@right()
def dilation_by_a_product(x: Tensor["n"], n: Size, a: Size, b: Size):
    """The same, read the other way and in the other order."""
    return spread(x, n, a * b), spread(spread(x, n, b), n * b, a)


@right()
def dilation_three_times(x: Tensor["n"], n: Size, a: Size, b: Size, c: Size):
    """And once more."""
    return spread(spread(spread(x, n, a), n * a, b), n * a * b, c), spread(x, n, a * b * c)


@right()
def dilation_by_a_number_and_a_size(x: Tensor["n"], n: Size, b: Size):
    """One factor is a number."""
    return spread(spread(x, n, 3), n * 3, b), spread(x, n, 3 * b)


@right()
def stride_of_a_stride(x: Tensor, n: Size, a: Size, b: Size):
    """XLA, a strided slice of a strided slice."""
    given(x.shape == (n * a * b,))
    return taken(taken(x, n * a, b), n, a), taken(x, n, a * b)


@right()
def stride_of_dilation_by_more(x: Tensor["n"], n: Size, a: Size, b: Size):
    """A stride that divides what was spread leaves the rest of it."""
    return taken(spread(x, n, a * b), n * a, b), spread(x, n, a)


@right()
def dilation_in_the_other_order(x: Tensor["n"], n: Size, a: Size, b: Size):
    """Two dilations commute."""
    return spread(spread(x, n, b), n * b, a), spread(spread(x, n, a), n * a, b)


@right()
def dilation_of_padding(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, k: Shape):
    """XLA, AlgebraicSimplifier: interior padding, by any stride, of what is padded at its ends."""
    given(x.shape >= 1, k >= 1)
    return x.pad(a, s).pad(b, t, k), x.pad(b + a * k, t, k)


@right()
def padding_of_dilation(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, k: Shape):
    """The same in the other order."""
    given(x.shape >= 1, k >= 1)
    return x.pad(a, s, k).pad(b, t), x.pad(a + b, t, k)


@right()
def dilation_of_dilation_with_offsets(
    x: Tensor["n"], n: Size, a: Size, s: Size, b: Size, t: Size, k: Size, j: Size
):
    """Both at once: strides multiply, and the inner offset is spread."""
    given(n >= 1, k >= 1, j >= 1)
    return x.pad((a,), (s,), (k,)).pad((b,), (t,), (j,)), x.pad((a * j + b,), (t,), (k * j,))


@wrong()
def dilation_of_padding_without_its_stride(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, k: Shape):
    """The inner offset as it was."""
    given(x.shape >= 1, k >= 1)
    return x.pad(a, s).pad(b, t, k), x.pad(b + a, t, k)


@wrong()
def dilation_of_dilation_with_the_other_stride(
    x: Tensor["n"], n: Size, a: Size, s: Size, b: Size, t: Size, k: Size, j: Size
):
    """The inner offset times its own stride."""
    given(n >= 1, k >= 1, j >= 1)
    return x.pad((a,), (s,), (k,)).pad((b,), (t,), (j,)), x.pad((a * k + b,), (t,), (k * j,))


@wrong()
def dilation_in_another_order_by_one_factor(x: Tensor["n"], n: Size, a: Size, b: Size):
    """One factor twice."""
    return spread(spread(x, n, b), n * b, a), spread(spread(x, n, a), n * a, a)


@wrong()
def dilation_twice_by_the_sum(x: Tensor["n"], n: Size, a: Size, b: Size):
    """The factors added."""
    return spread(spread(x, n, a), n * a, b), spread(x, n, a + b)


@wrong()
def stride_of_dilation_by_the_other_factor(x: Tensor["n"], n: Size, a: Size, b: Size):
    """The factors mixed up."""
    given(b > 1)
    return taken(spread(x, n, a * b), n * b, a), spread(x, n, a)


@wrong()
def dilation_in_the_middle(x: Tensor["n"], n: Size, a: Size, b: Size):
    """The inner elements spread to the wrong ends."""
    given(a > 1, b > 1)
    return spread(x, n, a * b), x.reshape((n, 1)).pad((0, 1), (n, a * b)).reshape((n * a * b,))
