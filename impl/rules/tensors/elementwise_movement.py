"""
Elementwise ops and movement
============================

An elementwise op does not care where its elements stand, so views move through it: toward the sources where they only
rearrange or cut, so that they meet other views, and toward the users where they repeat or pad, so that less is
computed.
"""

from soundline.spec.dtypes import bool_, floats, index, ints
from soundline.spec.rules.language import Sides, forall, given, maximum, preserves_zero, rule, where
from soundline.spec.rules.terms import BinaryOp, Const, DTypeVar, Flags, Offset, Perm, Shape, Tensor, UnaryOp


@rule
def permute_of_unary(x: Tensor, op: UnaryOp, p: Perm) -> Sides:
    """Toward the source."""
    return op(x).permute(p), op(x.permute(p))


@rule
def permute_of_binary(x: Tensor, y: Tensor, op: BinaryOp, p: Perm) -> Sides:
    """Toward the sources."""
    return op(x, y).permute(p), op(x.permute(p), y.permute(p))


@rule
def flip_of_unary(x: Tensor, op: UnaryOp, f: Flags) -> Sides:
    """Toward the source."""
    return op(x).flip(f), op(x.flip(f))


@rule
def flip_of_binary(x: Tensor, y: Tensor, op: BinaryOp, f: Flags) -> Sides:
    """Toward the sources."""
    return op(x, y).flip(f), op(x.flip(f), y.flip(f))


@rule
def reshape_of_unary(x: Tensor, op: UnaryOp, s: Shape) -> Sides:
    """Toward the source."""
    return op(x).reshape(s), op(x.reshape(s))


@rule
def reshape_of_binary(x: Tensor, y: Tensor, op: BinaryOp, s: Shape) -> Sides:
    """Toward the sources."""
    return op(x, y).reshape(s), op(x.reshape(s), y.reshape(s))


@rule
def shrink_of_unary(x: Tensor, op: UnaryOp, o: Offset, s: Shape) -> Sides:
    """Toward the source, so that only what is kept is computed."""
    return op(x).shrink(o, s), op(x.shrink(o, s))


@rule
def shrink_of_binary(x: Tensor, y: Tensor, op: BinaryOp, o: Offset, s: Shape) -> Sides:
    """Toward the sources, so that only what is kept is computed."""
    return op(x, y).shrink(o, s), op(x.shrink(o, s), y.shrink(o, s))


@rule
def unary_of_expand(x: Tensor, op: UnaryOp, s: Shape) -> Sides:
    """Toward the user: compute once, then repeat."""
    return op(x.expand(s)), op(x).expand(s)


@rule
def binary_of_expand(x: Tensor, y: Tensor, op: BinaryOp, s: Shape) -> Sides:
    """Toward the user: what both operands repeat is computed once."""
    given(x.shape == y.shape)
    return op(x.expand(s), y.expand(s)), op(x, y).expand(s)


@rule
def unary_of_pad(x: Tensor, op: UnaryOp, o: Offset, s: Shape) -> Sides:
    """Toward the user, where the op makes the padding of the padding: zeros stay zeros."""
    given(preserves_zero(op))
    return op(x.pad(o, s)), op(x).pad(o, s)


@rule
def add_of_pad(x: Tensor, y: Tensor, o: Offset, s: Shape) -> Sides:
    """Toward the user, where both operands are padded alike: 0 + 0 is the 0 that pads."""
    given(x.shape == y.shape)
    return x.pad(o, s) + y.pad(o, s), (x + y).pad(o, s)


@rule
def mul_of_pad(x: Tensor, y: Tensor, o: Offset, s: Shape) -> Sides:
    """Toward the user, where both operands are padded alike."""
    given(x.shape == y.shape)
    return x.pad(o, s) * y.pad(o, s), (x * y).pad(o, s)


@rule
def max_of_pad(x: Tensor, y: Tensor, o: Offset, s: Shape) -> Sides:
    """Toward the user, where both operands are padded alike."""
    given(x.shape == y.shape)
    return maximum(x.pad(o, s), y.pad(o, s)), maximum(x, y).pad(o, s)


@rule(dtypes=[bool_, index, *ints])
def scaled_pad(x: Tensor, c: Const, o: Offset, s: Shape) -> Sides:
    """Toward the user. Not for floats: 0.0 · -1.0 is -0.0, and 0.0 · ∞ is NaN."""
    return x.pad(o, s) * c, (x * c).pad(o, s)


@rule
def permute_of_cast(x: Tensor, p: Perm, s: DTypeVar) -> Sides:
    """Toward the source."""
    return x.cast(s).permute(p), x.permute(p).cast(s)


@rule
def flip_of_cast(x: Tensor, f: Flags, s: DTypeVar) -> Sides:
    """Toward the source."""
    return x.cast(s).flip(f), x.flip(f).cast(s)


@rule
def reshape_of_cast(x: Tensor, t: Shape, s: DTypeVar) -> Sides:
    """Toward the source."""
    return x.cast(s).reshape(t), x.reshape(t).cast(s)


@rule
def shrink_of_cast(x: Tensor, o: Offset, t: Shape, s: DTypeVar) -> Sides:
    """Toward the source, so that only what is kept is converted."""
    return x.cast(s).shrink(o, t), x.shrink(o, t).cast(s)


@rule
def cast_of_expand(x: Tensor, t: Shape, s: DTypeVar) -> Sides:
    """Toward the user: convert once, then repeat."""
    return x.expand(t).cast(s), x.cast(s).expand(t)


@rule(s=[bool_, *ints, *floats])
def cast_of_pad(x: Tensor, o: Offset, t: Shape, s: DTypeVar) -> Sides:
    """Toward the user: every conversion makes zero of zero."""
    return x.pad(o, t).cast(s), x.cast(s).pad(o, t)


@rule
def permute_of_where(x: Tensor, y: Tensor, p: Perm) -> Sides:
    """Toward the sources."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    return where(b, x, y).permute(p), where(b.permute(p), x.permute(p), y.permute(p))


@rule
def flip_of_where(x: Tensor, y: Tensor, f: Flags) -> Sides:
    """Toward the sources."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    return where(b, x, y).flip(f), where(b.flip(f), x.flip(f), y.flip(f))


@rule
def reshape_of_where(x: Tensor, y: Tensor, s: Shape) -> Sides:
    """Toward the sources."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    return where(b, x, y).reshape(s), where(b.reshape(s), x.reshape(s), y.reshape(s))


@rule
def shrink_of_where(x: Tensor, y: Tensor, o: Offset, s: Shape) -> Sides:
    """Toward the sources, so that only what is kept is computed."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    return where(b, x, y).shrink(o, s), where(b.shrink(o, s), x.shrink(o, s), y.shrink(o, s))


@rule
def where_of_expand(x: Tensor, y: Tensor, s: Shape) -> Sides:
    """Toward the user: what all three repeat is computed once."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    given(b.shape == x.shape, x.shape == y.shape)
    return where(b.expand(s), x.expand(s), y.expand(s)), where(b, x, y).expand(s)


@rule
def where_of_pad(x: Tensor, y: Tensor, o: Offset, s: Shape) -> Sides:
    """Toward the user, where all three are padded alike: a choice between zeros is zero."""
    b = forall(Tensor[bool_], "b")  # type: ignore[misc]
    given(b.shape == x.shape, x.shape == y.shape)
    return where(b.pad(o, s), x.pad(o, s), y.pad(o, s)), where(b, x, y).pad(o, s)
