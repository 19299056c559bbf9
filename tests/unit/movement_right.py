"""
Rules about shapes that are right
=================================

Each must be proved, for every rank, size, permutation and dtype.
"""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

from soundline.verify import (
    Flags,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    given,
    inverse,
    is_identity,
    no_flags,
    product,
    rule,
    where,
)


@rule
def identity_permute(x: Tensor, p: Perm):
    given(is_identity(p))
    return x.permute(p), x


@rule
def inverse_permute(x: Tensor, p: Perm):
    return x.permute(p).permute(inverse(p)), x


@rule
def no_flip(x: Tensor, f: Flags):
    given(no_flags(f))
    return x.flip(f), x


@rule
def flip_twice(x: Tensor, f: Flags):
    return x.flip(f).flip(f), x


@rule
def flip_permute(x: Tensor, f: Flags, p: Perm):
    return x.flip(f).permute(p), x.permute(p).flip(f.permute(p))


@rule
def shrink_all(x: Tensor, o: Offset):
    given(o == 0)
    return x.shrink(o, x.shape), x


@rule
def shrink_all_forced(x: Tensor, o: Offset):
    return x.shrink(o, x.shape), x


@rule
def pad_nothing(x: Tensor, o: Offset):
    return x.pad(o, x.shape), x


@rule
def pad_pad(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.pad(a, s).pad(b, t), x.pad(a + b, t)


@rule
def expand_expand(x: Tensor, s: Shape, t: Shape):
    return x.expand(s).expand(t), x.expand(t)


@rule
def expand_nothing(x: Tensor):
    return x.expand(x.shape), x


@rule
def expand_same(x: Tensor, s: Shape):
    given(s == x.shape)
    return x.expand(s), x


@rule
def expand_permute(x: Tensor, s: Shape, p: Perm):
    return x.expand(s).permute(p), x.permute(p).expand(s.permute(p))


@rule
def expand_flip(x: Tensor, s: Shape, f: Flags):
    return x.expand(s).flip(f), x.flip(f).expand(s)


@rule
def pad_permute(x: Tensor, o: Offset, s: Shape, p: Perm):
    return x.pad(o, s).permute(p), x.permute(p).pad(o.permute(p), s.permute(p))


@rule
def shrink_permute(x: Tensor, o: Offset, s: Shape, p: Perm):
    return x.shrink(o, s).permute(p), x.permute(p).shrink(o.permute(p), s.permute(p))


@rule
def pad_flip(x: Tensor, o: Offset, s: Shape, f: Flags):
    return x.pad(o, s).flip(f), x.flip(f).pad(where(f, s - x.shape - o, o), s)


@rule
def shrink_flip(x: Tensor, o: Offset, s: Shape, f: Flags):
    return x.shrink(o, s).flip(f), x.flip(f).shrink(where(f, x.shape - s - o, o), s)


@rule
def expand_shrink(x: Tensor, o: Offset, s: Shape):
    given(s == 1)
    return x.expand(x.shape).shrink(o, s), x.shrink(o, s)


@rule
def shrink_in_pad(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    given(b >= a, b + t <= a + x.shape)
    return x.pad(a, s).shrink(b, t), x.shrink(b - a, t)


@rule
def pad_then_wider_shrink(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    given(b <= a, a + x.shape <= b + t)
    return x.pad(a, s).shrink(b, t), x.pad(a - b, t)


@rule
def pad_of_full_shrink(x: Tensor, a: Offset, s: Shape):
    given(s == x.shape)
    return x.shrink(a, s).pad(a, x.shape), x


@rule
def reshape_own(x: Tensor):
    return x.reshape(x.shape), x


@rule
def reshape_back(x: Tensor, s: Shape):
    return x.reshape(s).reshape(x.shape), x


@rule
def merge_back(a: Size, b: Size, c: Size, x: Tensor["a", "b", "c"]):
    return x.reshape((a * b, c)).reshape((a, b, c)), x


@rule
def merge_flip(a: Size, b: Size, x: Tensor["a", "b"]):
    return x.reshape((a * b,)).flip((True,)), x.flip((True, True)).reshape((a * b,))


@rule
def flip_all_reshape(x: Tensor, s: Shape, f: Flags, g: Flags):
    given(no_flags(~f), no_flags(~g))
    return x.flip(f).reshape(s), x.reshape(s).flip(g)


@rule
def split_permute_merge(a: Size, b: Size, c: Size, x: Tensor["a", "b", "c"]):
    return x.reshape((a * b, c)).permute((1, 0)).reshape((c, a, b)), x.permute((2, 0, 1))


@rule
def unsqueeze_permute(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.reshape((m, 1, n)).permute((1, 0, 2)), x.reshape((1, m, n))


@rule
def transpose_twice(m: Size, n: Size, x: Tensor["m", "n"]):
    return x.permute((1, 0)).permute((1, 0)), x


@rule
def pad_merge(a: Size, b: Size, k: Size, x: Tensor["a", "b"]):
    given(k >= a, b >= 0)
    return x.pad((0, 0), (k, b)).reshape((k * b,)), x.reshape((a * b,)).pad((0,), (k * b,))


@rule
def shrink_merge(a: Size, b: Size, k: Size, x: Tensor["a", "b"]):
    return x.shrink((0, 0), (k, b)).reshape((k * b,)), x.reshape((a * b,)).shrink((0,), (k * b,))


@rule
def split_by_four(m: Size, x: Tensor["m"]):
    given(m % 4 == 0)
    return x.reshape((m // 4, 4)).reshape((m,)), x


@rule
def split_by_n(m: Size, n: Size, x: Tensor["m"]):
    given(n > 0, m % n == 0)
    return x.reshape((m // n, n)).reshape((m,)), x


@rule
def contiguous_permute(x: Tensor, p: Perm):
    return x.contiguous().permute(p), x.permute(p)


@rule
def expand_column(m: Size, n: Size, x: Tensor["m", 1]):
    return x.expand((m, n)).shrink((0, 0), (m, n)), x.expand((m, n))


@rule
def expand_merge(m: Size, n: Size, x: Tensor["m"]):
    return x.reshape((m, 1)).expand((m, n)).permute((1, 0)), x.reshape((1, m)).expand((n, m))


@rule
def drop_and_add_axis(m: Size, n: Size, x: Tensor["m", 1, "n"]):
    return x.reshape((m, n)).reshape((m, 1, n)), x


@rule
def flatten_back(x: Tensor):
    return x.reshape((product(x.shape),)).reshape(x.shape), x


@rule
def six_elements(x: Tensor[2, 3]):
    return x.reshape((6,)).reshape((3, 2)).reshape((2, 3)), x


@rule
def two_steps_of_24(x: Tensor[4, 6]):
    return x.reshape((8, 3)).reshape((2, 12)), x.reshape((2, 12))


@rule
def row_as_column(x: Tensor[1, 6]):
    return x.permute((1, 0)), x.reshape((6, 1))


@rule
def through_eight_by_three(x: Tensor[4, 6]):
    return x.reshape((8, 3)).permute((1, 0)).permute((1, 0)).reshape((4, 6)), x


@rule
def flip_all_24(x: Tensor[4, 6]):
    return x.reshape((8, 3)).flip((True, True)).reshape((4, 6)), x.flip((True, True))


@rule
def disjoint(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    given(b >= a + x.shape)
    return x.pad(a, s).shrink(b, t), x.shrink(0, 0).pad(0, t)


@rule
def pad_reshape_first_row(m: Size, k: Size, x: Tensor["m"]):
    given(k >= 1)
    return x.pad((0,), (k * m,)).reshape((k, m)).shrink((0, 0), (1, m)).reshape((m,)), x


@rule
def tile_first(m: Size, n: Size, x: Tensor["m"]):
    given(n >= 1)
    return x.reshape((1, m)).expand((n, m)).reshape((n * m,)).shrink((0,), (m,)), x


@rule
def ones_flip(x: Tensor, f: Flags):
    given(x.shape == 1)
    return x.flip(f), x


@rule
def small_flip(x: Tensor, f: Flags):
    given(x.shape <= 1)
    return x.flip(f), x


@rule
def one_element_flip(x: Tensor, f: Flags):
    given(product(x.shape) == 1)
    return x.flip(f), x


@rule
def one_element_reshape(x: Tensor, p: Perm):
    given(product(x.shape) == 1)
    return x.permute(p), x.reshape(x.shape.permute(p))


@rule
def first_axis(x: Tensor, f: Flags):
    given(x.shape[0] == 1)
    return x.flip(f).flip(f), x


@rule
def two_halves(m: Size, n: Size, x: Tensor["m"]):
    given(m == 2 * n)
    return x.reshape((n, 2)).reshape((2, n)), x.reshape((2, n))


@rule
def split_swap(a: Size, b: Size, c: Size, x: Tensor["a", "b", "c"]):
    return x.reshape((a * b, c)).reshape((a, b * c)), x.reshape((a, b * c))


@rule
def tiles(a: Size, b: Size, c: Size, d: Size, x: Tensor["a", "b", "c", "d"]):
    merged = x.permute((0, 2, 1, 3)).reshape((a * c, b * d))
    return merged.permute((1, 0)).reshape((b, d, a, c)), x.permute((1, 3, 0, 2))


@rule
def expand_idem(x: Tensor, s: Shape):
    return x.expand(s).expand(s), x.expand(s)


@rule
def expand_of_pad(x: Tensor, o: Offset, s: Shape, t: Shape):
    given(x.shape == 1, s == 1)
    return x.pad(o, s).expand(t), x.expand(t)


@rule
def shrink_expanded(x: Tensor, s: Shape, o: Offset, t: Shape):
    given(x.shape == 1)
    return x.expand(s).shrink(o, t), x.expand(t)


@rule
def pad_expanded(x: Tensor, s: Shape, o: Offset, t: Shape):
    given(x.shape == s)
    return x.expand(s).pad(o, t), x.pad(o, t)


@rule
def last_size(m: Size, n: Size, x: Tensor["m", "n"]):
    given(n == 1)
    return x.reshape((m,)).reshape((1, m)), x.permute((1, 0))


@rule
def broadcast_pair(m: Size, n: Size, x: Tensor["m"], y: Tensor["n"]):
    return x.reshape((m, 1)).expand((m, n)).permute((1, 0)), x.reshape((1, m)).expand((n, m))
