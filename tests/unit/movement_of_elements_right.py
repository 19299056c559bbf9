"""
Rules about shapes and elements that are right
==============================================

Movement beside elementwise ops, constants, casts and choices. Each must be proved.
"""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

from soundline.verify import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Flags,
    Interval,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    bool_,
    fits,
    float32,
    floats,
    given,
    index,
    int8,
    int32,
    ints,
    maximum,
    preserves_zero,
    rule,
    uint8,
    uint16,
    where,
)


@rule
def unary_permute(f: UnaryOp, x: Tensor, p: Perm):
    return f(x).permute(p), f(x.permute(p))


@rule
def unary_flip(f: UnaryOp, x: Tensor, g: Flags):
    return f(x).flip(g), f(x.flip(g))


@rule
def unary_reshape(f: UnaryOp, x: Tensor, s: Shape):
    return f(x).reshape(s), f(x.reshape(s))


@rule
def unary_expand(f: UnaryOp, x: Tensor, s: Shape):
    return f(x).expand(s), f(x.expand(s))


@rule
def unary_shrink(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    return f(x).shrink(o, s), f(x.shrink(o, s))


@rule
def unary_pad(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    given(preserves_zero(f))
    return f(x).pad(o, s), f(x.pad(o, s))


@rule
def binary_permute(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
    return f(x.permute(p), y.permute(p)), f(x, y).permute(p)


@rule(dtypes=[int32])
def binary_flip(f: BinaryOp, x: Tensor, y: Tensor, g: Flags):
    return f(x.flip(g), y.flip(g)), f(x, y).flip(g)


@rule
def binary_reshape(f: BinaryOp, x: Tensor, y: Tensor, s: Shape):
    return f(x, y).reshape(s), f(x.reshape(s), y.reshape(s))


@rule(dtypes=[int32])
def binary_expand(f: BinaryOp, x: Tensor, y: Tensor, s: Shape):
    given(x.shape == y.shape)
    return f(x.expand(s), y.expand(s)), f(x, y).expand(s)


@rule(dtypes=[int32, float32])
def const_beside(x: Tensor, c: Const, p: Perm):
    return (x + c).permute(p), x.permute(p) + c


@rule(dtypes=[int32, float32])
def scale_pad(x: Tensor, o: Offset, s: Shape):
    return (x * 2).pad(o, s), x.pad(o, s) * 2


@rule
def cast_permute(x: Tensor, t: DTypeVar, p: Perm):
    return x.cast(t).permute(p), x.permute(p).cast(t)


@rule(t=floats)
def cast_pad(x: Tensor, t: DTypeVar, o: Offset, s: Shape):
    return x.cast(t).pad(o, s), x.pad(o, s).cast(t)


@rule
def where_permute(c: Tensor[bool_], x: Tensor, y: Tensor, p: Perm):
    return where(c, x, y).permute(p), where(c.permute(p), x.permute(p), y.permute(p))


@rule
def where_pad(c: Tensor[bool_], x: Tensor, o: Offset, s: Shape):
    return where(c, x, x * 0).pad(o, s), where(c.pad(o, s), x.pad(o, s), (x * 0).pad(o, s))


@rule(dtypes=ints)
def commute_through(x: Tensor, y: Tensor, p: Perm):
    return x.permute(p) + y.permute(p), (y + x).permute(p)


@rule
def where_scalar(c: Bool, x: Tensor, y: Tensor, p: Perm):
    return where(c, x, y).permute(p), where(c, x.permute(p), y.permute(p))


@rule(dtypes=[int8, uint16, float32, index])
def add_pads(x: Tensor, y: Tensor, o: Offset, s: Shape):
    given(x.shape == y.shape)
    return x.pad(o, s) + y.pad(o, s), (x + y).pad(o, s)


@rule(dtypes=ints)
def mask_by_pad(x: Tensor, y: Tensor, o: Offset):
    return x.pad(o, y.shape) * y, (x * y.shrink(o, x.shape)).pad(o, y.shape)


@rule
def bitcast_move(x: Tensor[int32], p: Perm):
    return x.bitcast(float32).permute(p), x.permute(p).bitcast(float32)


@rule
def de_morgan(x: Tensor[bool_], y: Tensor[bool_], p: Perm):
    return (~(x & y)).permute(p), ~x.permute(p) | ~y.permute(p)


@rule
def where_pulled(f: UnaryOp, c: Tensor[bool_], x: Tensor, y: Tensor):
    return f(where(c, x, y)), where(c, f(x), f(y))


@rule
def where_not(c: Tensor[bool_], x: Tensor, y: Tensor):
    return where(~c, x, y), where(c, y, x)


@rule
def scaled_pad_of_indices(x: Tensor[index], o: Offset, s: Shape):
    return (x * 3).pad(o, s), x.pad(o, s) * 3


@rule
def maximum_with_padding(x: Tensor[uint8], o: Offset, s: Shape):
    return maximum(x.pad(o, s), 0), x.pad(o, s)


@rule(dtypes=[int32])
def outer_sum(m: Size, n: Size, x: Tensor["m"], y: Tensor["n"]):
    rows, columns = x.reshape((m, 1)).expand((m, n)), y.reshape((1, n)).expand((m, n))
    turned = y.reshape((n, 1)).expand((n, m)) + x.reshape((1, m)).expand((n, m))
    return (rows + columns).permute((1, 0)), turned


@rule(dtypes=[int32])
def fits_rule(x: Tensor, c: Const, p: Perm):
    given(fits(x * c), c != 0)
    return ((x * c) // c).permute(p), x.permute(p)


@rule(dtypes=[float32, int32])
def times_an_interval(x: Tensor, c: Interval, p: Perm):
    given(c.lo >= 1, c.hi <= 1)
    return (x * c).permute(p), x.permute(p)


@rule(dtypes=[float32], licences="no_signed_zero")
def zero_without_its_sign(x: Tensor, p: Perm):
    return (x + 0).permute(p), x.permute(p)


@rule(dtypes=[float32], licences="no_nan")
def maximum_of_one(x: Tensor, p: Perm):
    return maximum(x, x).permute(p), x.permute(p)


@rule(dtypes=[float32], licences="reassociate")
def reassociated(x: Tensor, y: Tensor, z: Tensor, p: Perm):
    return ((x + y) + z).permute(p), x.permute(p) + (y + z).permute(p)


@rule(licences="reassociate")
def reassociated_at_every_dtype(x: Tensor, y: Tensor, z: Tensor, p: Perm):
    return ((x + y) + z).permute(p), x.permute(p) + (y + z).permute(p)


@rule(dtypes=[float32, int32])
def times_the_constant_one(x: Tensor, c: Const, p: Perm):
    given(c == 1)
    return (x * c).permute(p), x.permute(p)


@rule(dtypes=[index])
def times_one_in_index(x: Tensor, c: Const, p: Perm):
    given(c < 2, c > 0)
    return (x * c).permute(p), x.permute(p)


@rule(dtypes=[index])
def division_of_indices(x: Tensor, c: Const, p: Perm):
    given(c != 0)
    return ((x * c) // c).permute(p), x.permute(p)
