"""Wrong twins of ``impl/rules/tensors/movement.py``."""

from soundline.verify import *


@rule
def permute_permute_wrong(x: Tensor, p: Perm, q: Perm):
    """The permutations composed in the wrong order."""
    return x.permute(p).permute(q), x.permute(compose(q, p))


@rule
def permute_identity_wrong(x: Tensor, p: Perm):
    """Without the condition."""
    return x.permute(p), x


@rule
def flip_flip_wrong(x: Tensor, f: Flags, g: Flags):
    """The second flip forgotten."""
    return x.flip(f).flip(g), x.flip(f)


@rule
def flip_nothing_wrong(x: Tensor, f: Flags):
    """Without the condition."""
    return x.flip(f), x


@rule
def flip_of_permute_wrong(x: Tensor, p: Perm, f: Flags):
    """The flags in the wrong order."""
    return x.permute(p).flip(f), x.flip(f.permute(p)).permute(p)


@rule
def reshape_reshape_wrong(x: Tensor["m", "n"]):
    """A transposition in place of the first reshape."""
    return x.permute((1, 0)).reshape((x.shape[0] * x.shape[1],)), x.reshape((x.shape[0] * x.shape[1],))


@rule
def reshape_to_same_wrong(x: Tensor["m", "n"]):
    """The sizes in another order."""
    return x.reshape((x.shape[1], x.shape[0])), x.permute((1, 0))


@rule
def expand_expand_wrong(x: Tensor, s: Shape, t: Shape):
    """The second broadcast forgotten."""
    return x.expand(s).expand(t), x.expand(s)


@rule
def expand_to_same_wrong(x: Tensor, s: Shape):
    """Another shape."""
    return x.expand(s), x


@rule
def permute_of_expand_wrong(x: Tensor, s: Shape, p: Perm):
    """The new sizes in the old order."""
    return x.expand(s).permute(p), x.permute(p).expand(s)


@rule
def flip_of_expand_wrong(x: Tensor, s: Shape, f: Flags):
    """The flip forgotten: not all axes are repeated."""
    return x.expand(s).flip(f), x.expand(s)


@rule
def pad_pad_wrong(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape):
    """The inner offset forgotten."""
    return x.pad(o, s).pad(q, t), x.pad(q, t)


@rule
def pad_to_same_wrong(x: Tensor, s: Shape):
    """Another shape."""
    return x.pad(0, s), x


@rule
def shrink_shrink_wrong(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape):
    """The outer offset forgotten."""
    return x.shrink(o, s).shrink(q, t), x.shrink(o, t)


@rule
def shrink_to_same_wrong(x: Tensor, s: Shape):
    """Another shape."""
    return x.shrink(0, s), x


@rule
def shrink_of_pad_wrong(x: Tensor, o: Offset, q: Offset, s: Shape):
    """A cut at another offset."""
    return x.pad(o, s).shrink(q, x.shape), x


@rule
def shrink_inside_pad_wrong(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape):
    """Without the condition at the far end."""
    given(o <= q)
    return x.pad(o, s).shrink(q, t), x.shrink(q - o, t)


@rule
def shrink_of_permute_wrong(x: Tensor, p: Perm, o: Offset, s: Shape):
    """Offset and shape in the wrong order."""
    return x.permute(p).shrink(o, s), x.shrink(o.permute(p), s.permute(p)).permute(p)


@rule
def shrink_of_flip_wrong(x: Tensor, f: Flags, o: Offset, s: Shape):
    """The offset counted from the same end."""
    return x.flip(f).shrink(o, s), x.shrink(o, s).flip(f)


@rule
def permute_of_pad_wrong(x: Tensor, o: Offset, s: Shape, p: Perm):
    """The offset in the old order."""
    return x.pad(o, s).permute(p), x.permute(p).pad(o, s.permute(p))


@rule
def flip_of_pad_wrong(x: Tensor, o: Offset, s: Shape, f: Flags):
    """The offset counted from the same end."""
    return x.pad(o, s).flip(f), x.flip(f).pad(o, s)
