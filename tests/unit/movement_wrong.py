"""
Rules about shapes that are wrong
=================================

Most are a rule of `movement_right` without its condition, or with one thing exchanged. Each must be refuted.
"""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

from soundline.verify import (
    BinaryOp,
    Const,
    DTypeVar,
    Flags,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    bool_,
    compose,
    float32,
    floats,
    given,
    index,
    int8,
    int32,
    inverse,
    maximum,
    preserves_zero,
    rule,
    where,
)


@rule(dtypes=[float32])
def mask_by_pad(x: Tensor, y: Tensor, o: Offset):
    return x.pad(o, y.shape) * y, (x * y.shrink(o, x.shape)).pad(o, y.shape)


@rule
def transpose_of_24(x: Tensor[4, 6]):
    return x.permute((1, 0)), x.reshape((6, 4))


@rule
def flip_one_of_24(x: Tensor[4, 6]):
    return x.reshape((8, 3)).flip((True, False)).reshape((4, 6)), x.flip((True, False))


@rule
def tile_first(m: Size, n: Size, x: Tensor["m"]):
    given(n >= 1)
    return x.reshape((m, 1)).expand((m, n)).reshape((n * m,)).shrink((0,), (m,)), x


@rule
def permute_reshape(x: Tensor, p: Perm):
    return x.permute(p), x.reshape(x.shape.permute(p))


@rule
def tiles_crossed(a: Size, b: Size, x: Tensor["a", "b", "a", "b"]):
    merged = x.permute((0, 2, 1, 3)).reshape((a * a, b * b))
    return merged.permute((1, 0)).reshape((b, b, a, a)), x.permute((3, 1, 0, 2))


@rule
def shrink_expanded(x: Tensor, s: Shape, o: Offset, t: Shape):
    return x.expand(s).shrink(o, t), x.expand(t)


@rule(dtypes=[int8])
def maximum_with_negative(x: Tensor, o: Offset, s: Shape):
    return maximum(x.pad(o, s), 0), x.pad(o, s)


@rule(dtypes=[int32])
def fits_rule(x: Tensor, c: Const, p: Perm):
    given(c != 0)
    return ((x * c) // c).permute(p), x.permute(p)


@rule(dtypes=[float32], licences="no_signed_zero")
def one_is_no_zero(x: Tensor, p: Perm):
    return (x + 1).permute(p), x.permute(p)


@rule(dtypes=[float32], licences="reassociate")
def reassociated_with_another(x: Tensor, y: Tensor, z: Tensor, p: Perm):
    return ((x + y) + z).permute(p), x.permute(p) + (y + y).permute(p)


@rule(dtypes=[index])
def times_up_to_two(x: Tensor, c: Const, p: Perm):
    given(c < 3, c > 0)
    return (x * c).permute(p), x.permute(p)


@rule(dtypes=[index])
def division_by_zero(x: Tensor, c: Const, p: Perm):
    return ((x * c) // c).permute(p), x.permute(p)


@rule
def identity_forgotten(x: Tensor, p: Perm):
    return x.permute(p), x


@rule
def inverse_forgotten(x: Tensor, p: Perm):
    return x.permute(p).permute(p), x


@rule
def compose_swapped(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(q, p))


@rule
def compose_inverse(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(inverse(compose(p, q)))


@rule
def flip_dropped(x: Tensor, f: Flags):
    return x.flip(f), x


@rule
def flip_or(x: Tensor, f: Flags, g: Flags):
    return x.flip(f).flip(g), x.flip(f)


@rule
def flip_not(x: Tensor, f: Flags):
    return x.flip(f), x.flip(~f)


@rule
def flip_permute_same_flags(x: Tensor, f: Flags, p: Perm):
    return x.flip(f).permute(p), x.permute(p).flip(f)


@rule
def flip_permute_inverse(x: Tensor, f: Flags, p: Perm):
    return x.flip(f).permute(p), x.permute(p).flip(f.permute(inverse(p)))


@rule
def shrink_offsets_dropped(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.shrink(a, s).shrink(b, t), x.shrink(b, t)


@rule
def shrink_offsets_minus(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.shrink(a, s).shrink(b, t), x.shrink(a - b, t)


@rule
def shrink_wrong_size(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.shrink(a, s).shrink(b, t), x.shrink(a + b, s)


@rule
def pad_offsets_dropped(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.pad(a, s).pad(b, t), x.pad(a, t)


@rule
def pad_then_shrink_any(x: Tensor, a: Offset, s: Shape, b: Offset):
    return x.pad(a, s).shrink(b, x.shape), x


@rule
def shrink_then_pad(x: Tensor, a: Offset, s: Shape):
    return x.shrink(a, s).pad(a, x.shape), x


@rule
def pad_flip_same_offset(x: Tensor, o: Offset, s: Shape, f: Flags):
    return x.pad(o, s).flip(f), x.flip(f).pad(o, s)


@rule
def pad_flip_off_by_one(x: Tensor, o: Offset, s: Shape, f: Flags):
    return x.pad(o, s).flip(f), x.flip(f).pad(where(f, s - x.shape - o - 1, o), s)


@rule
def shrink_flip_same_offset(x: Tensor, o: Offset, s: Shape, f: Flags):
    return x.shrink(o, s).flip(f), x.flip(f).shrink(o, s)


@rule
def shrink_in_pad_unconditional(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    given(b >= a)
    return x.pad(a, s).shrink(b, t), x.shrink(b - a, t)


@rule
def pad_permute_same_offset(x: Tensor, o: Offset, s: Shape, p: Perm):
    return x.pad(o, s).permute(p), x.permute(p).pad(o, s.permute(p))


@rule
def expand_permute_same(x: Tensor, s: Shape, p: Perm):
    return x.expand(s).permute(p), x.permute(p).expand(s)


@rule
def expand_dropped(x: Tensor, s: Shape):
    return x.expand(s), x


@rule
def expand_shrink_same(x: Tensor, s: Shape, o: Offset):
    given(x.shape <= s)
    return x.expand(s).shrink(o, x.shape), x.shrink(o, x.shape).expand(s)


@rule
def reshape_wrong_target(x: Tensor, s: Shape, t: Shape):
    return x.reshape(s).reshape(t), x.reshape(s)


@rule
def reshape_dropped(x: Tensor, s: Shape):
    return x.reshape(s), x


@rule
def reshape_is_transpose(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.permute((1, 0)), x.reshape((n, m))


@rule
def merge_wrong_order(a: Size, b: Size, x: Tensor["a", "b"]):
    return x.permute((1, 0)).reshape((a * b,)), x.reshape((a * b,))


@rule
def merge_flip_one(a: Size, b: Size, x: Tensor["a", "b"]):
    return x.reshape((a * b,)).flip((True,)), x.flip((False, True)).reshape((a * b,))


@rule
def split_permute_merge_wrong(a: Size, b: Size, c: Size, x: Tensor["a", "b", "c"]):
    return x.reshape((a * b, c)).permute((1, 0)).reshape((c, a, b)), x.permute((2, 1, 0))


@rule
def split_wrong(m: Size, x: Tensor["m"]):
    given(m % 4 == 0)
    return x.reshape((m // 4, 4)), x.reshape((4, m // 4))


@rule
def pad_merge_inner(a: Size, b: Size, k: Size, x: Tensor["a", "b"]):
    given(k >= b)
    return x.pad((0, 0), (a, k)).reshape((a * k,)), x.reshape((a * b,)).pad((0,), (a * k,))


@rule
def shrink_merge_inner(a: Size, b: Size, k: Size, x: Tensor["a", "b"]):
    given(k <= b)
    return x.shrink((0, 0), (a, k)).reshape((a * k,)), x.reshape((a * b,)).shrink((0,), (a * k,))


@rule
def ill_formed_right(m: Size, x: Tensor["m"]):
    return x.flip((True,)), x.reshape((m + 1,))


@rule
def unary_pad_no_condition(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    return f(x).pad(o, s), f(x.pad(o, s))


@rule
def binary_pad_no_condition(f: BinaryOp, x: Tensor, y: Tensor, o: Offset, s: Shape):
    given(x.shape == y.shape)
    return f(x.pad(o, s), y.pad(o, s)), f(x, y).pad(o, s)


@rule
def binary_pad_shapes(f: BinaryOp, x: Tensor, y: Tensor, o: Offset, s: Shape):
    given(preserves_zero(f))
    return f(x.pad(o, s), y.pad(o, s)), f(x, y).pad(o, s)


@rule
def binary_swapped(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
    return f(x, y).permute(p), f(y.permute(p), x.permute(p))


@rule
def binary_expand_shapes(f: BinaryOp, x: Tensor, y: Tensor, s: Shape):
    return f(x.expand(s), y.expand(s)), f(x, y).expand(s)


@rule
def one_side_permuted(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
    return f(x, y).permute(p), f(x.permute(p), y)


@rule(dtypes=[float32])
def add_positive_zero(x: Tensor, p: Perm):
    return (x + 0).permute(p), x.permute(p)


@rule(dtypes=[int32, float32])
def shift_pad(x: Tensor, o: Offset, s: Shape):
    return (x + 1).pad(o, s), x.pad(o, s) + 1


@rule(t=floats)
def cast_twice(x: Tensor, t: DTypeVar, p: Perm):
    return x.cast(t).permute(p).cast(int8), x.permute(p).cast(int8)


@rule
def where_swapped(c: Tensor[bool_], x: Tensor, y: Tensor, p: Perm):
    return where(c, x, y).permute(p), where(c.permute(p), y.permute(p), x.permute(p))


@rule
def sizes_assumed(x: Tensor, s: Shape, o: Offset):
    given(o >= 0)
    return x.shrink(o, s), x.shrink(o, x.shape)


@rule(dtypes=[index])
def less_than_another(x: Tensor, p: Perm):
    return (x < 1000).permute(p), (x.permute(p) < 2000)


@rule(dtypes=[index])
def maximum_with_five(x: Tensor, p: Perm):
    given(x.shape >= 1)
    return maximum(x, 5).permute(p), x.permute(p)


@rule
def negation_of_padding(x: Tensor[bool_], o: Offset, s: Shape):
    return (~x).pad(o, s), ~(x.pad(o, s))
