"""Rewrites of tensors, of any rank and shape."""

from soundline.verify import Axes, Offset, Shape, Tensor, UnaryOp, given, ints, preserves_zero, rule


@rule
def shrink_of_shrink(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.shrink(a, s).shrink(b, t), x.shrink(a + b, t)


@rule
def op_below_pad(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    """The padding goes through f as well, so f has to keep zero."""
    given(preserves_zero(f))
    return f(x.pad(o, s)), f(x).pad(o, s)


@rule(dtypes=ints)
def sum_of_sum(x: Tensor, a: Axes, b: Axes):
    """Two reductions in one; of floats this needs licences="reassociate"."""
    return x.sum(a).sum(b), x.sum(a | b)
