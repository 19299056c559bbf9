"""Wrong twins of ``impl/rules/tensors/reductions.py``."""

from soundline.verify import *


@rule(dtypes=[int8])
def reduce_of_no_axes_wrong(m: Monoid, x: Tensor, a: Axes):
    """Some axis is reduced."""
    given(~no_axes(a))
    return x.reduce(m, a), x


@rule(dtypes=[int8])
def reduce_of_singletons_wrong(m: Monoid, x: Tensor, a: Axes):
    """Singletons elsewhere."""
    given(where(a, 1, x.shape) == 1)
    return x.reduce(m, a), x


@rule(dtypes=[int8])
def sum_of_sum_wrong(x: Tensor, a: Axes, b: Axes):
    """Axes that both name are reduced once, and then they are gone."""
    return x.sum(a).sum(b), x.sum(a & b)


@rule(dtypes=[float16])
def sum_of_sum_of_floats_wrong(x: Tensor, a: Axes, b: Axes):
    """Without the licence."""
    return x.sum(a).sum(b), x.sum(a | b)


@rule(dtypes=[int8])
def product_of_product_wrong(x: Tensor, a: Axes, b: Axes):
    """The second reduction forgotten."""
    return x.prod(a).prod(b), x.prod(a)


@rule(dtypes=[int8])
def max_of_max_wrong(x: Tensor, a: Axes, b: Axes):
    """The greatest of the sums."""
    return x.sum(a).max(b), x.max(a | b)


@rule(dtypes=[int8])
def sum_of_permute_wrong(x: Tensor, p: Perm, a: Axes):
    """The axes named as they are after the permutation."""
    return x.permute(p).sum(a), x.sum(a).permute(p)


@rule(dtypes=[int8])
def max_of_permute_wrong(x: Tensor, p: Perm, a: Axes):
    """The permutation the other way round."""
    return x.permute(p).max(a), x.max(a.permute(p)).permute(p)


@rule(dtypes=[int8])
def sum_of_flip_wrong(x: Tensor, f: Axes, a: Axes):
    """Axes that are not reduced stay reversed."""
    return x.flip(f).sum(a), x.sum(a)


@rule(dtypes=[float16])
def sum_of_flipped_axes_wrong(x: Tensor, a: Axes):
    """A sum of floats is in one order."""
    return x.flip(a).sum(a), x.sum(a)


@rule(dtypes=[int8])
def max_of_flipped_axes_wrong(x: Tensor, a: Axes, b: Axes):
    """Other axes."""
    return x.flip(b).max(a), x.max(a)


@rule(dtypes=[float16])
def reduce_of_flipped_others_wrong(m: Monoid, x: Tensor, f: Axes, a: Axes):
    """A sum of floats is in one order."""
    return x.flip(f).reduce(m, a), x.reduce(m, a).flip(f)


@rule(dtypes=[int8])
def shrink_of_reduce_wrong(m: Monoid, x: Tensor, a: Axes, o: Offset, s: Shape):
    """The reduced axes cut as well."""
    given(where(a, s, 1) == 1)
    return x.reduce(m, a).shrink(o, s), x.shrink(o, s).reduce(m, a)


@rule(dtypes=[float16])
def sum_of_pad_wrong(x: Tensor, a: Axes, o: Offset, s: Shape):
    """-0.0 with zeros added is +0.0."""
    return x.pad(o, s).sum(a), x.sum(a).pad(where(a, 0, o), where(a, 1, s))


@rule(dtypes=[int8])
def max_of_expand_wrong(x: Tensor, a: Axes, s: Shape):
    """Of no copies there is no greatest one."""
    given(where(a, x.shape, 1) == 1)
    return x.expand(s).max(a), x.expand(where(a, 1, s))


@rule(dtypes=[int8])
def sum_of_neg_wrong(x: Tensor, a: Axes):
    """Not negated again."""
    return (-x).sum(a), x.sum(a)


@rule(dtypes=[int8])
def sum_of_scaled_wrong(x: Tensor, c: Const, a: Axes):
    """A product has as many factors as elements."""
    return (x * c).prod(a), x.prod(a) * c


@rule(dtypes=[int8])
def sum_of_added_sums_wrong(x: Tensor, y: Tensor, a: Axes):
    """Sums of different lengths may stand side by side."""
    return x.sum(a) + y.sum(a), (x + y).sum(a)


@rule(dtypes=[int8])
def max_of_two_maxima_wrong(x: Tensor, y: Tensor, a: Axes):
    """The sum of the greatest is not the greatest sum."""
    given(x.shape == y.shape)
    return x.max(a) + y.max(a), (x + y).max(a)


@rule(dtypes=[int8])
def product_of_two_products_wrong(x: Tensor, y: Tensor, a: Axes):
    """A product of sums is no sum of products."""
    given(x.shape == y.shape)
    return x.sum(a) * y.sum(a), (x * y).sum(a)


@rule(dtypes=[int8])
def sum_of_masked_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, a: Axes):
    """The same mask twice."""
    return where(b, x, 0).sum(a) + where(b, y, 0).sum(a), where(b, x, y).sum(a)
