"""Wrong twins of ``impl/rules/tensors/elementwise_movement.py``."""

from soundline.verify import *


@rule
def permute_of_unary_wrong(x: Tensor, op: UnaryOp, p: Perm):
    """The inverse permutation."""
    return op(x).permute(p), op(x.permute(inverse(p)))


@rule
def permute_of_binary_wrong(x: Tensor, y: Tensor, op: BinaryOp, p: Perm):
    """One operand is left as it was."""
    return op(x, y).permute(p), op(x.permute(p), y)


@rule
def flip_of_unary_wrong(x: Tensor, op: UnaryOp, f: Flags):
    """The flip forgotten."""
    return op(x).flip(f), op(x)


@rule
def flip_of_binary_wrong(x: Tensor, y: Tensor, op: BinaryOp, f: Flags):
    """One operand is left as it was."""
    return op(x, y).flip(f), op(x.flip(f), y)


@rule
def reshape_of_unary_wrong(x: Tensor["m", "n"], op: UnaryOp):
    """A transposition in place of a reshape."""
    return op(x).reshape((x.shape[1], x.shape[0])), op(x.permute((1, 0)))


@rule
def reshape_of_binary_wrong(x: Tensor["m", "n"], y: Tensor["m", "n"], op: BinaryOp):
    """One operand transposed in place of reshaped."""
    return op(x, y).reshape((x.shape[1], x.shape[0])), op(
        x.permute((1, 0)), y.reshape((x.shape[1], x.shape[0]))
    )


@rule
def shrink_of_unary_wrong(x: Tensor, op: UnaryOp, o: Offset, s: Shape):
    """The offset forgotten."""
    return op(x).shrink(o, s), op(x.shrink(0, s))


@rule
def shrink_of_binary_wrong(x: Tensor, y: Tensor, op: BinaryOp, o: Offset, s: Shape):
    """The offset forgotten in one operand."""
    return op(x, y).shrink(o, s), op(x.shrink(o, s), y.shrink(0, s))


@rule
def unary_of_expand_wrong(x: Tensor, op: UnaryOp, s: Shape):
    """The op forgotten."""
    return op(x.expand(s)), x.expand(s)


@rule
def binary_of_expand_wrong(x: Tensor, y: Tensor, op: BinaryOp, s: Shape):
    """Without the condition: the operands may be repeated on different axes."""
    return op(x.expand(s), y.expand(s)), op(x, y).expand(s)


@rule
def unary_of_pad_wrong(x: Tensor, op: UnaryOp, o: Offset, s: Shape):
    """Without the condition: 2 to the power of 0 is 1."""
    return op(x.pad(o, s)), op(x).pad(o, s)


@rule
def add_of_pad_wrong(x: Tensor, y: Tensor, o: Offset, q: Offset, s: Shape):
    """Padded at two offsets."""
    given(x.shape == y.shape)
    return x.pad(o, s) + y.pad(q, s), (x + y).pad(o, s)


@rule
def mul_of_pad_wrong(x: Tensor, y: Tensor, o: Offset, q: Offset, s: Shape):
    """Padded at two offsets."""
    given(x.shape == y.shape)
    return x.pad(o, s) * y.pad(q, s), (x * y).pad(q, s)


@rule
def max_of_pad_wrong(x: Tensor, c: Const, o: Offset, s: Shape):
    """An operand that is not padded with zeros."""
    return maximum(x.pad(o, s), c), maximum(x, c).pad(o, s)


@rule(dtypes=[float32])
def scaled_pad_wrong(x: Tensor, c: Const, o: Offset, s: Shape):
    """Widened to a float: 0.0 · -1.0 is -0.0."""
    return x.pad(o, s) * c, (x * c).pad(o, s)


@rule(s=[int64])
def permute_of_cast_wrong(x: Tensor, p: Perm, s: DTypeVar):
    """The inverse permutation."""
    return x.cast(s).permute(p), x.permute(inverse(p)).cast(s)


@rule(s=[int64])
def flip_of_cast_wrong(x: Tensor, f: Flags, s: DTypeVar):
    """The flip forgotten."""
    return x.cast(s).flip(f), x.cast(s)


@rule(s=[int64])
def reshape_of_cast_wrong(x: Tensor["m", "n"], s: DTypeVar):
    """A transposition in place of a reshape."""
    return x.cast(s).reshape((x.shape[1], x.shape[0])), x.permute((1, 0)).cast(s)


@rule(s=[int64])
def shrink_of_cast_wrong(x: Tensor, o: Offset, t: Shape, s: DTypeVar):
    """The offset forgotten."""
    return x.cast(s).shrink(o, t), x.shrink(0, t).cast(s)


@rule(s=[int64])
def cast_of_expand_wrong(x: Tensor, t: Shape, s: DTypeVar):
    """The conversion forgotten on the way back."""
    return x.expand(t).cast(s).cast(x.dtype), x.cast(int8).cast(x.dtype).expand(t)


@rule(s=[int64])
def cast_of_pad_wrong(x: Tensor, o: Offset, t: Shape, s: DTypeVar):
    """The offset forgotten."""
    return x.pad(o, t).cast(s), x.cast(s).pad(0, t)


@rule
def permute_of_where_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, p: Perm):
    """The condition is left as it was."""
    return where(b, x, y).permute(p), where(b, x.permute(p), y.permute(p))


@rule
def flip_of_where_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, f: Flags):
    """The condition is left as it was."""
    return where(b, x, y).flip(f), where(b, x.flip(f), y.flip(f))


@rule
def reshape_of_where_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, s: Shape):
    """The branches exchanged."""
    return where(b, x, y).reshape(s), where(b.reshape(s), y.reshape(s), x.reshape(s))


@rule
def shrink_of_where_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, o: Offset, s: Shape):
    """The offset forgotten in the condition."""
    return where(b, x, y).shrink(o, s), where(b.shrink(0, s), x.shrink(o, s), y.shrink(o, s))


@rule
def where_of_expand_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, s: Shape):
    """Without the condition on the shape of b."""
    given(x.shape == y.shape)
    return where(b.expand(s), x.expand(s), y.expand(s)), where(b, x, y).expand(s)


@rule
def where_of_pad_wrong(b: Tensor[bool_], x: Tensor, y: Tensor, o: Offset, s: Shape):
    """A choice that is negated: the padding of y is chosen, and the padding of a negation is no negation."""
    given(b.shape == x.shape, x.shape == y.shape)
    return where(~b.pad(o, s), x.pad(o, s), y.pad(o, s)), where(b, x, y).pad(o, s)
