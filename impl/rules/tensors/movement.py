"""
Movement
========

Compositions of views, for all shapes. They have one direction: a view of a view becomes one view, or the two exchange
places so that what is cheap to absorb stands inside: from the inside out Shrink, Flip, Permute, and outside them
Expand and Pad.
"""

from soundline.spec.rules.language import Sides, compose, given, inverse, is_identity, no_flags, rule, where
from soundline.spec.rules.terms import Flags, Offset, Perm, Shape, Tensor


@rule
def permute_permute(x: Tensor, p: Perm, q: Perm) -> Sides:
    """Two transpositions become one; q(p(x)) reads axis p[q[i]] of x."""
    return x.permute(p).permute(q), x.permute(compose(p, q))


@rule
def permute_identity(x: Tensor, p: Perm) -> Sides:
    """A permutation that keeps every axis."""
    given(is_identity(p))
    return x.permute(p), x


@rule
def flip_flip(x: Tensor, f: Flags, g: Flags) -> Sides:
    """An axis that is reversed twice is not reversed."""
    return x.flip(f).flip(g), x.flip(f ^ g)


@rule
def flip_nothing(x: Tensor, f: Flags) -> Sides:
    """A flip of no axis."""
    given(no_flags(f))
    return x.flip(f), x


@rule
def flip_of_permute(x: Tensor, p: Perm, f: Flags) -> Sides:
    """A flip goes inside a transposition, with its flags in the old order."""
    return x.permute(p).flip(f), x.flip(f.permute(inverse(p))).permute(p)


@rule
def reshape_reshape(x: Tensor, s: Shape, t: Shape) -> Sides:
    """The elements stay in row-major order, so the shape between does not matter."""
    return x.reshape(s).reshape(t), x.reshape(t)


@rule
def reshape_to_same(x: Tensor) -> Sides:
    """A reshape to the shape that it has."""
    return x.reshape(x.shape), x


@rule
def expand_expand(x: Tensor, s: Shape, t: Shape) -> Sides:
    """Two broadcasts become one."""
    return x.expand(s).expand(t), x.expand(t)


@rule
def expand_to_same(x: Tensor) -> Sides:
    """A broadcast that repeats nothing."""
    return x.expand(x.shape), x


@rule
def permute_of_expand(x: Tensor, s: Shape, p: Perm) -> Sides:
    """A broadcast comes out of a transposition, so that what is moved is small."""
    return x.expand(s).permute(p), x.permute(p).expand(s.permute(p))


@rule
def flip_of_expand(x: Tensor, s: Shape, f: Flags) -> Sides:
    """A broadcast comes out of a flip; its repeated axes look alike from both ends."""
    return x.expand(s).flip(f), x.flip(f).expand(s)


@rule
def pad_pad(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape) -> Sides:
    """Two paddings become one, at the sum of the offsets."""
    return x.pad(o, s).pad(q, t), x.pad(o + q, t)


@rule
def pad_to_same(x: Tensor) -> Sides:
    """A padding by nothing."""
    return x.pad(0, x.shape), x


@rule
def shrink_shrink(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape) -> Sides:
    """A part of a part, at the sum of the offsets."""
    return x.shrink(o, s).shrink(q, t), x.shrink(o + q, t)


@rule
def shrink_to_same(x: Tensor) -> Sides:
    """The part that is everything."""
    return x.shrink(0, x.shape), x


@rule
def shrink_of_pad(x: Tensor, o: Offset, s: Shape) -> Sides:
    """Cutting off what was padded."""
    return x.pad(o, s).shrink(o, x.shape), x


@rule
def shrink_inside_pad(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape) -> Sides:
    """A part of a padded tensor that no padding reaches is a part of the tensor."""
    given(o <= q, q + t <= o + x.shape)
    return x.pad(o, s).shrink(q, t), x.shrink(q - o, t)


@rule
def shrink_of_permute(x: Tensor, p: Perm, o: Offset, s: Shape) -> Sides:
    """A cut goes inside a transposition."""
    return x.permute(p).shrink(o, s), x.shrink(o.permute(inverse(p)), s.permute(inverse(p))).permute(p)


@rule
def shrink_of_flip(x: Tensor, f: Flags, o: Offset, s: Shape) -> Sides:
    """A cut goes inside a flip; on a reversed axis it is counted from the other end."""
    return x.flip(f).shrink(o, s), x.shrink(where(f, x.shape - o - s, o), s).flip(f)


@rule
def permute_of_pad(x: Tensor, o: Offset, s: Shape, p: Perm) -> Sides:
    """A padding comes out of a transposition, so that what is moved is small."""
    return x.pad(o, s).permute(p), x.permute(p).pad(o.permute(p), s.permute(p))


@rule
def flip_of_pad(x: Tensor, o: Offset, s: Shape, f: Flags) -> Sides:
    """A padding comes out of a flip, at the offset from the other end."""
    return x.pad(o, s).flip(f), x.flip(f).pad(where(f, s - o - x.shape, o), s)
