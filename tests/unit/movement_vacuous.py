"""
Rules about shapes that say nothing
===================================

Nothing that has elements can meet their conditions, or their sides are one term.
"""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

from soundline.verify import (
    Const,
    Flags,
    Perm,
    Shape,
    Size,
    Tensor,
    float32,
    given,
    int32,
    inverse,
    is_identity,
    product,
    rule,
)


@rule(dtypes=[float32, int32])
def less_than_itself(x: Tensor, c: Const, p: Perm):
    given(c < c)
    return (x + c).permute(p), x.permute(p)


@rule
def both_sides_alike(x: Tensor, p: Perm):
    return x.permute(p), x.permute(p)


@rule
def negative_size(m: Size, x: Tensor["m"]):
    given(m < 0)
    return x.flip((True,)), x


@rule
def no_elements(x: Tensor, p: Perm):
    given(x.shape == 0)
    return x.permute(p), x.permute(inverse(p))


@rule
def no_elements_in_a_row(m: Size, x: Tensor["m"]):
    given(m < 1)
    return x.flip((True,)), x


@rule
def inverse_of_inverse(x: Tensor, p: Perm):
    return x.permute(p), x.permute(inverse(inverse(p)))


@rule
def negative_axes(x: Tensor, p: Perm):
    given(x.shape < 0)
    return x.permute(p), x


@rule
def no_elements_in_a_reshape(x: Tensor, s: Shape, f: Flags):
    given(product(x.shape) == 0)
    return x.reshape(s).flip(f), x.reshape(s)


@rule
def no_such_permutation(x: Tensor, p: Perm):
    given(is_identity(p), p != p)
    return x.permute(p), x
