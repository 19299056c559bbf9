"""
Reductions along axes
=====================

A Reduce of a Reduce, of what moves elements, and of what is computed from them. Sums and products of floats are
reductions in one order (U-10): what changes the order, or leaves out a zero, is right for whole numbers, and for floats
by the licence ``reassociate``. The greatest element does not depend on the order at any dtype.
"""

from soundline.spec.dtypes import bool_, floats, index, ints
from soundline.spec.rules.language import (
    Sides,
    disjoint,
    forall,
    given,
    inverse,
    maximum,
    no_axes,
    rule,
    where,
)
from soundline.spec.rules.terms import Axes, Const, Monoid, Offset, Perm, Shape, Tensor

whole = (index, *ints)
numbers = (*whole, *floats)


@rule
def reduce_of_no_axes(m: Monoid, x: Tensor, a: Axes) -> Sides:
    """Nothing is reduced."""
    given(no_axes(a))
    return x.reduce(m, a), x


@rule
def reduce_of_singletons(m: Monoid, x: Tensor, a: Axes) -> Sides:
    """A reduction of one element is that element."""
    given(where(a, x.shape, 1) == 1)
    return x.reduce(m, a), x


@rule(dtypes=whole)
def sum_of_sum(x: Tensor, a: Axes, b: Axes) -> Sides:
    """Two sums are one."""
    return x.sum(a).sum(b), x.sum(a | b)


@rule(dtypes=floats, licences="reassociate")
def sum_of_sum_of_floats(x: Tensor, a: Axes, b: Axes) -> Sides:
    """Two sums of floats are one, in another order."""
    return x.sum(a).sum(b), x.sum(a | b)


@rule(dtypes=whole)
def product_of_product(x: Tensor, a: Axes, b: Axes) -> Sides:
    """Two products are one."""
    return x.prod(a).prod(b), x.prod(a | b)


@rule
def max_of_max(x: Tensor, a: Axes, b: Axes) -> Sides:
    """The greatest of the greatest."""
    return x.max(a).max(b), x.max(a | b)


# what moves elements ----------------------------------------------------------------------------------------------


@rule(dtypes=whole)
def sum_of_permute(x: Tensor, p: Perm, a: Axes) -> Sides:
    """Axes are reduced before they change places."""
    return x.permute(p).sum(a), x.sum(a.permute(inverse(p))).permute(p)


@rule
def max_of_permute(x: Tensor, p: Perm, a: Axes) -> Sides:
    """Axes are reduced before they change places."""
    return x.permute(p).max(a), x.max(a.permute(inverse(p))).permute(p)


@rule(dtypes=whole)
def sum_of_flipped_axes(x: Tensor, a: Axes) -> Sides:
    """A sum does not see the order."""
    return x.flip(a).sum(a), x.sum(a)


@rule(dtypes=whole)
def sum_of_flip(x: Tensor, f: Axes, a: Axes) -> Sides:
    """A sum does not see the order; other axes are reversed after it."""
    return x.flip(f).sum(a), x.sum(a).flip(f - a)


@rule
def max_of_flipped_axes(x: Tensor, a: Axes) -> Sides:
    """The greatest element does not depend on the order."""
    return x.flip(a).max(a), x.max(a)


@rule
def reduce_of_flipped_others(m: Monoid, x: Tensor, f: Axes, a: Axes) -> Sides:
    """Each reduction by itself is as it was, whatever the dtype."""
    given(disjoint(a, f))
    return x.flip(f).reduce(m, a), x.reduce(m, a).flip(f)


@rule
def shrink_of_reduce(m: Monoid, x: Tensor, a: Axes, o: Offset, s: Shape) -> Sides:
    """What is not wanted is not reduced."""
    given(where(a, s, 1) == 1)
    return x.reduce(m, a).shrink(o, s), x.shrink(where(a, 0, o), where(a, x.shape, s)).reduce(m, a)


@rule(dtypes=whole)
def sum_of_pad(x: Tensor, a: Axes, o: Offset, s: Shape) -> Sides:
    """Padding adds zeros; other axes are padded after the sum."""
    return x.pad(o, s).sum(a), x.sum(a).pad(where(a, 0, o), where(a, 1, s))


@rule
def max_of_expand(x: Tensor, a: Axes, s: Shape) -> Sides:
    """The greatest of copies; of no copies there is none, so the new axes must not be empty."""
    given(where(a, x.shape, 1) == 1, where(a, s, 1) >= 1)
    return x.expand(s).max(a), x.expand(where(a, 1, s))


# what is computed from elements -----------------------------------------------------------------------------------


@rule(dtypes=whole)
def sum_of_neg(x: Tensor, a: Axes) -> Sides:
    """One negation in place of many."""
    return (-x).sum(a), -x.sum(a)


@rule(dtypes=whole)
def sum_of_scaled(x: Tensor, c: Const, a: Axes) -> Sides:
    """A constant factor is multiplied once."""
    return (x * c).sum(a), x.sum(a) * c


@rule(dtypes=whole)
def sum_of_masked(x: Tensor, y: Tensor, a: Axes) -> Sides:
    """Two sums behind one mask and its opposite are one."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    return where(b, x, 0).sum(a) + where(b, 0, y).sum(a), where(b, x, y).sum(a)


@rule(dtypes=whole)
def sum_of_added_sums(x: Tensor, y: Tensor, a: Axes) -> Sides:
    """Two sums over the same axes are one over the sums of the elements."""
    given(x.shape == y.shape)
    return x.sum(a) + y.sum(a), (x + y).sum(a)


@rule
def max_of_two_maxima(x: Tensor, y: Tensor, a: Axes) -> Sides:
    """Two greatest elements over the same axes are one over the greater elements."""
    given(x.shape == y.shape)
    return maximum(x.max(a), y.max(a)), maximum(x, y).max(a)


@rule(dtypes=whole)
def product_of_two_products(x: Tensor, y: Tensor, a: Axes) -> Sides:
    """Two products over the same axes are one over the products of the elements."""
    given(x.shape == y.shape)
    return x.prod(a) * y.prod(a), (x * y).prod(a)
