"""Functions of tensors on which the rules of the library fire, by the rule (`test_every_rule_fires`)."""

# ruff: noqa: B002, PLW0108, SIM300  # what stands twice, and in the order of a rule, is the point

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import soundline as sl
from soundline.spec.compositions.tensors import prefix_sum_of_the_source
from soundline.spec.uop import (
    Op,
    ReduceArg,
    UOp,
    broadcast_to,
    const,
    expand,
    pad,
    reshape,
    shrink,
)

Tensor, T = sl.Tensor, sl.Tensor
Row = Callable[[], Any]


def of(op: Op, *operands: Tensor) -> Tensor:
    """An op that has no method."""
    return T.of(op(*(t.uop for t in operands)))


def array(values: Any, dtype: Any) -> Tensor:
    return T(np.array(values, dtype))


class Idx:
    """Arithmetic of indices, which movement makes; here of numbers that are read."""

    def __init__(self, uop: UOp) -> None:
        self.uop = uop

    def by(self, op: Op, other: Idx | int) -> Idx:
        if isinstance(other, int):
            return Idx(op(self.uop, broadcast_to(const(other, sl.index), self.uop.shape or ())))
        return Idx(op(self.uop, other.uop))

    def __add__(self, other: Idx | int) -> Idx:
        return self.by(Op.Add, other)

    def __sub__(self, other: Idx | int) -> Idx:
        return self.by(Op.Sub, other)

    def __mul__(self, other: Idx | int) -> Idx:
        return self.by(Op.Mul, other)

    def __floordiv__(self, other: Idx | int) -> Idx:
        return self.by(Op.Idiv, other)

    def __mod__(self, other: Idx | int) -> Idx:
        return self.by(Op.Mod, other)

    def __lt__(self, other: Idx | int) -> Tensor:
        return T.of(self.by(Op.CmpLt, other).uop)

    def __le__(self, other: Idx | int) -> Tensor:
        return T.of(self.by(Op.CmpLe, other).uop)

    @property
    def t(self) -> Tensor:
        return T.of(Op.Cast(self.uop, arg=sl.int64))


def I(tensor: Tensor) -> Idx:  # noqa: E743
    return Idx(Op.Cast(tensor.uop, arg=sl.index))


x, y, z = (array(v, np.int32) for v in ([3, -1, 4, 7, 0, -6], [2, 7, 1, 8, -2, 5], [1, 4, 0, 3, -9, 2]))
B8, C8 = array([1, 2, 3, 4, 5, 6], np.int8), array([7, -2, 3, 9, 1, 0], np.int8)
u8 = array([0, 1, 2, 3, 4, 5], np.uint8)
w8 = u8.cast(sl.int32)
f, h = (array([1.5, -2, 0, 3, 7, 0.25], d) for d in ("f4", "f2"))
g = array([2, 5, -1, 0, 1, 8], "f4")
p, q, r = (array(v, bool) for v in ([1, 0, 1, 1, 0, 0], [1, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]))
m = T(np.arange(12).reshape(3, 4))
n, mf, mb = T(np.arange(12).reshape(3, 4) * 3 - 7), m.cast(sl.float32), m > 4
i, j, k = I(x), I(y), I(z)
i5, j7 = i % 5, j % 7
A, AI, AB = T(np.arange(100, dtype="f4") - 50), T(np.arange(100) * 7 % 11), T(np.arange(100) % 3 == 0)
A16, big = A.cast(sl.float16), T(np.arange(6400, dtype="f4").reshape(100, 64))
sqi, VI = T(np.arange(36).reshape(6, 6)), T(np.arange(6))
at, at100 = array([5, 3, 99, 0] * 25, np.int32), array([7] * 100, np.int32)
LEAST = float("-inf")


def W(gate: Tensor, a: Any, b: Any) -> Tensor:
    return gate.where(a, b)


def C(value: Any, like: Tensor) -> Tensor:
    """A constant of a tensor's shape and dtype."""
    return T.of(broadcast_to(const(value, like.dtype), like.shape))


def S(t: Tensor, axis: int) -> Tensor:
    return t.sum(axis, keepdim=True)


def M(t: Tensor, axis: int) -> Tensor:
    return t.max(axis, keepdim=True)


def P(t: Tensor, axis: int) -> Tensor:
    return t.prod(axis, keepdim=True)


def row(t: Tensor) -> Tensor:
    return t.reshape(1, -1)


def col(t: Tensor) -> Tensor:
    return t.reshape(-1, 1)


def ar(size: int) -> Tensor:
    return T.arange(size)


def le(size: int) -> Tensor:
    return row(ar(size)) <= col(ar(size))


def lt(size: int) -> Tensor:
    return row(ar(size)) < col(ar(size))


def ge(size: int) -> Tensor:
    return row(ar(size)) >= col(ar(size))


def onehot() -> Tensor:
    return row(ar(100)) == col(at)


def win(padded: Tensor, size: int) -> Tensor:
    """The windows of a row, each one place further: how prefix sums are written."""
    length = padded.shape[0]
    rows = padded.reshape(1, length).expand(size + 1, length).reshape((size + 1) * length)
    return rows[: size * (length + 1)].reshape(size, length + 1)[:, :size]


COMPILED: dict[str, Row] = {
    "any_in_32_bits": lambda: (f > 0).any(0),
    "any_in_64_bits": lambda: (m > 3).any(1),
    "all_in_32_bits": lambda: (f > 0).all(0),
    "all_in_64_bits": lambda: (m > 3).all(1),
    "mask_as_choice": lambda: (f > 0).any(0),
    "idiv_one": lambda: x // 1,
    "mod_one": lambda: x % 1,
    "or_zero": lambda: x | 0,
    "and_ones": lambda: x & -1,
    "max_self": lambda: x.maximum(x),
    "or_ones": lambda: x | -1,
    "xor_self": lambda: x ^ x,
    "sub_self": lambda: x - x,
    "mod_self": lambda: x % x,
    "idiv_self": lambda: (x.maximum(1)) // (x.maximum(1)),
    "zero_idiv": lambda: C(0, x) // x,
    "zero_mod": lambda: C(0, x) % x,
    "and_or_absorb": lambda: x & (x | y),
    "or_and_absorb": lambda: x | (x & y),
    "max_max_absorb": lambda: x.maximum(x.maximum(y)),
    "ne_is_true": lambda: x.maximum(3) != 1,
    "lt_of_max": lambda: f.maximum(5) < 3,
    "cdiv_to_idiv": lambda: x.maximum(0).div(3, rounding_mode="trunc"),
    "cmod_to_mod": lambda: x.maximum(0).fmod(3),
    "eq_self": lambda: x == x,
    "ne_self": lambda: x != x,
    "not_le": lambda: ~(x <= y),
    "lt_add_same": lambda: (i + k) < (j + k),
    "eq_add_same": lambda: (x + z) == (y + z),
    "lt_sub_zero": lambda: (i - j) < 0,
    "eq_sub_zero": lambda: (x - y) == 0,
    "eq_neg_zero": lambda: -x == 0,
    "lt_or_eq": lambda: (x < y) | (x == y),
    "le_and_ge": lambda: (x <= y) & (y <= x),
    "lt_or_gt": lambda: (x < y) | (y < x),
    "lt_and_le": lambda: (x < y) & (x <= y),
    "and_not_self": lambda: p & ~p,
    "not_and_not": lambda: ~p & ~q,
    "and_or_not_absorb": lambda: p & (~p | q),
    "or_and_not_absorb": lambda: p | (~p & q),
    "or_of_both": lambda: (p & q) | (p & ~q),
    "or_of_and": lambda: (p & q) | (p & r),
    "eq_true": lambda: p == C(True, p),
    "eq_false": lambda: p == C(False, p),
    "ne_true": lambda: p != C(True, p),
    "ne_false": lambda: p != C(False, p),
    "where_or": lambda: W(p, x, W(q, x, y)),
    "where_lt_constants": lambda: W(p, 1, 5) < 3,
    "where_ne_constants": lambda: W(p, 1, 5) != 1,
    "where_mask_mul": lambda: W(p, x, 0) * y,
    "where_add_complement": lambda: W(p, x, 0) + W(p, 0, y),
    "where_lt_to_max": lambda: W(x < y, y, x),
    "where_eq_same": lambda: W(x == y, x, y),
    "where_ne_same": lambda: W(x != y, x, y),
    "gate_with_common_value": lambda: W(p, W(q, x, y), W(q, x, z)),
    "gate_inside_opposite_then": lambda: W(i5 < j7, W(j7 <= i5, x, y), z),
    "gate_inside_opposite_else": lambda: W(i5 < j7, x, W(j7 <= i5, y, z)),
    "gate_inside_narrower": lambda: W(p & q, W(p, x, y), z),
    "gate_outside_wider": lambda: W(p | q, x, W(p, y, z)),
    "bound_inside_tighter": lambda: W(x < 2, W(x < 5, y, z), x),
    "bound_outside_looser": lambda: W(x < 5, y, W(x < 2, z, x)),
    "bounds_from_above": lambda: (x < 5) & (x < 2),
    "bounds_from_below": lambda: (2 < x) & (5 < x),
    "bounds_that_exclude": lambda: (x < 2) & (x >= 5),
    "max_of_gate_and_default": lambda: W(p, x, y).maximum(y),
    "gate_differs_from_value": lambda: W(p, x, y) != x,
    "product_of_both_branches": lambda: W(p, x, y) * W(p, y, x),
    "max_of_both_branches": lambda: W(p, x, y).maximum(W(p, y, x)),
    "cast_int_through_float": lambda: B8.cast(sl.float32).cast(sl.int8),
    "cast_mask_there_and_back": lambda: p.cast(sl.float32).cast(sl.bool_),
    "lt_of_widened": lambda: B8.cast(sl.int32) < C8.cast(sl.int32),
    "lt_of_widened_floats": lambda: h.cast(sl.float32) < (h * 2).cast(sl.float32),
    "eq_of_widened": lambda: B8.cast(sl.int32) == C8.cast(sl.int32),
    "narrow_sum_of_widened": lambda: (B8.cast(sl.int32) + C8.cast(sl.int32)).cast(sl.int8),
    "narrow_product_of_widened": lambda: (B8.cast(sl.int16) * C8.cast(sl.int16)).cast(sl.int8),
    "cast_of_where": lambda: W(p, B8.cast(sl.int32), C8.cast(sl.int32)),
    "add_negative_zero": lambda: f + C(-0.0, f),
    "div_1024": lambda: f / 1024,
    "div_minus_one": lambda: f / -1,
    "recip_neg": lambda: (-f).reciprocal(),
    "trunc_trunc": lambda: f.trunc().trunc(),
    "trunc_neg": lambda: (-f).trunc(),
    "trunc_of_int": lambda: B8.cast(sl.float32).trunc(),
    "max_least": lambda: f.maximum(float("-inf")),
    "ne_zero_of_neg": lambda: -f != 0,
    "mulacc_is_mul_add": lambda: of(Op.Mulacc, f, g, f),
    "shl_zero": lambda: x << 0,
    "zero_shl": lambda: C(0, x) << y,
    "zero_shr": lambda: C(0, x) >> y,
    "and_of_shl": lambda: (x << z) & (y << z),
    "or_of_shl": lambda: (x << z) | (y << z),
    "mod_from_idiv": lambda: x - (x // y) * y,
    "mul_div_cancel": lambda: (i * 6 // 6).t,
    "mul_mod_cancel": lambda: (i * 6 % 6).t,
    "add_mul_div": lambda: ((i * 6 + j) // 6).t,
    "add_mul_mod": lambda: ((i * 6 + j) % 6).t,
    "mod_mod": lambda: (x % y) % y,
    "mod_idiv": lambda: (x % y) // y,
    "mul_idiv_common": lambda: (i * 2 // 6).t,
    "mul_idiv_multiple": lambda: (i * 6 // 2).t,
    "mul_mod_common": lambda: (i * 2 % 6).t,
    "add_mul_div_common": lambda: ((i * 6 + j) // 2).t,
    "add_mul_mod_common": lambda: ((i * 6 + j) % 2).t,
    "mod_add_mod": lambda: ((i5 % (j7 + 1) + i % 3) % (j7 + 1)).t,
    "idiv_neg_neg": lambda: ((i5 * -1) // ((j7 + 1) * -1)).t,
    "scaled_digits_recombine": lambda: (i // 2 % 3 * 5 + i // 6 * 15).t,
    "row_digits_recombine_beside": lambda: ((j + i // 6) * 6 + (k + i % 6)).t,
    "scaled_row_digits_recombine": lambda: ((j + i // 6) * 12 + i % 6 * 2).t,
    "add_multiples": lambda: x * 3 + x * 5,
    "sub_multiples": lambda: x * 3 - x * 5,
    "and_and_constants": lambda: (x & 12) & 10,
    "or_or_constants": lambda: (x | 12) | 3,
    "max_max_constants": lambda: x.maximum(2).maximum(3),
    "flip_of_expand": lambda: T.of(Op.Flip(expand((x * 3).reshape(6, 1).uop, (6, 4)), arg=(True, False))),
    "pad_pad": lambda: m.pad(((1, 0), (0, 1))).pad(((0, 2), (1, 0))),
    "sum_of_sum": lambda: S(S(m, 0), 1),
    "product_of_product": lambda: P(P(m, 0), 1),
    "sum_of_permute": lambda: S(m.T, 0),
    "sum_of_flipped_axes": lambda: S(m.flip(0), 0),
    "sum_of_flip": lambda: S(m.flip((0, 1)), 0),
    "max_of_flipped_axes": lambda: M(m.flip(0), 0),
    "shrink_of_reduce": lambda: S(m, 0)[:, 1:3],
    "sum_of_pad": lambda: S(m.pad(((1, 1), (1, 2))), 0),
    "sum_of_neg": lambda: S(-m, 0),
    "sum_of_scaled": lambda: S(m * 3, 0),
    "sum_of_masked": lambda: S(W(mb, m, 0), 0) + S(W(mb, 0, n), 0),
    "sum_of_added_sums": lambda: S(m, 0) + S(n, 0),
    "max_of_two_maxima": lambda: M(m, 0).maximum(M(n, 0)),
    "product_of_two_products": lambda: P(m, 0) * P(n, 0),
    "fold_from": lambda: AI.cumsum(0),
    "sum_from_among_zeros": lambda: T.of(prefix_sum_of_the_source(A.uop)),
    "sum_from_of_floats": lambda: A.cumsum(0),
    "product_from_of_floats": lambda: A.cumprod(0),
    "max_from_of_floats": lambda: A.cummax(0),
    "fold_up_to": lambda: le(100).where(row(AI), 0).sum(1),
    "sum_up_to_of_floats": lambda: le(100).where(row(A), -0.0).sum(1),
    "sum_up_to_among_zeros": lambda: le(100).where(row(A), 0.0).sum(1),
    "product_up_to_of_floats": lambda: le(100).where(row(A), 1.0).prod(1),
    "max_up_to_of_floats": lambda: le(100).where(row(A), LEAST).max(1),
    "fold_from_or_none": lambda: win(AI.pad(((100, 0),)), 100).sum(1),
    "sum_from_or_none_among_zeros": lambda: win(A.pad(((100, 0),)), 100).sum(1),
    "fold_up_to_or_none": lambda: lt(100).where(row(AI), 0).sum(1),
    "sum_up_to_or_none_of_floats": lambda: lt(100).where(row(A), -0.0).sum(1),
    "sum_up_to_or_none_among_zeros": lambda: lt(100).where(row(A), 0.0).sum(1),
    "product_up_to_or_none_of_floats": lambda: lt(100).where(row(A), 1.0).prod(1),
    "max_up_to_or_none_of_floats": lambda: lt(100).where(row(A), LEAST).max(1),
    "step_behind_gate": lambda: (row(at) == col(ar(100))).where(row(AI), 0).sum(1),
    "sum_step_behind_gate": lambda: (row(at) == col(ar(100))).where(row(A), -0.0).sum(1),
    "max_step_behind_gate": lambda: (row(at) == col(ar(100))).where(row(A), LEAST).max(1),
    "max_gated_to_one": lambda: onehot().where(row(A), LEAST).max(1),
    "fold_gated_to_one": lambda: onehot().where(row(AI), 0).sum(1),
    "sum_gated_to_one": lambda: onehot().where(row(A), -0.0).sum(1),
    "sum_of_one_among_zeros": lambda: onehot().where(row(A), 0.0).sum(1),
    "any_at_one": lambda: (onehot() & row(AI > 3)).any(1),
    "any_is": lambda: onehot().any(1),
    "sum_of_same": lambda: T.of(Op.Reduce(expand(x.reshape(6, 1).uop, (6, 9)), arg=ReduceArg(Op.Add, (1,)))),
    "sum_below": lambda: (row(ar(8)) < col(ar(6))).where(3, 0).sum(1),
    "sum_not_below": lambda: T.arange(9) + ge(9).where(3, 0).sum(1),
    "sum_of_scaled_body": lambda: (sqi * VI.reshape(6, 1)).sum(1),
    "sum_of_negated_body": lambda: (-sqi).reshape(3, 12).sum(1),
    "masked_sum": lambda: onehot().where(1.0, 0.0) @ big,
    "masked_sum_of_cast": lambda: onehot().cast(sl.float32) @ big,
    "sum_among_zeros": lambda: big.take(at100, 0).gradient(big, gradient=big)[0],
    "reduce_of_no_axes": lambda: T.of(Op.Reduce(m.uop, arg=ReduceArg(Op.Add, ()))),
    "max_of_max": lambda: M(M(m, 0), 1),
    "max_of_permute": lambda: M(m.T, 0),
    "reduce_of_flipped_others": lambda: M(m.flip(1), 0),
    "max_of_expand": lambda: M(T.of(expand((x * 3).reshape(6, 1).uop, (6, 4))), 1),
    "permute_permute": lambda: (m * 2).reshape(3, 2, 2).permute(1, 2, 0).permute(1, 2, 0),
    "permute_identity": lambda: T.of(Op.Permute((m * 2).uop, arg=(0, 1))),
    "flip_flip": lambda: (m * 2).flip(0).flip(1),
    "flip_nothing": lambda: T.of(Op.Flip((m * 2).uop, arg=(False, False))),
    "flip_of_permute": lambda: (m * 2).T.flip(0),
    "reshape_reshape": lambda: (m * 2).reshape(12).reshape(2, 6),
    "reshape_to_same": lambda: T.of(reshape((m * 2).uop, (3, 4))),
    "expand_expand": lambda: T.of(expand(expand((x * 3).reshape(6, 1, 1).uop, (6, 4, 1)), (6, 4, 2))),
    "expand_to_same": lambda: T.of(expand((m * 2).uop, (3, 4))),
    "permute_of_expand": lambda: T.of(expand((x * 3).reshape(6, 1).uop, (6, 4))).T,
    "pad_to_same": lambda: T.of(pad((m * 2).uop, (0, 0), (3, 4))),
    "shrink_shrink": lambda: (m * 2)[:, :3][1:],
    "shrink_to_same": lambda: T.of(shrink((m * 2).uop, (0, 0), (3, 4))),
    "shrink_of_pad": lambda: (m * 2).pad(((1, 1), (2, 0)))[1:4, 2:],
    "shrink_inside_pad": lambda: (m * 2).pad(((1, 1), (2, 0)))[1:3, 2:5],
    "shrink_of_permute": lambda: (m * 2).T[1:3],
    "shrink_of_flip": lambda: (m * 2).flip(0)[1:],
    "permute_of_pad": lambda: (m * 2).pad(((1, 0), (0, 0))).T,
    "flip_of_pad": lambda: (m * 2).pad(((1, 0), (0, 0))).flip(0),
    "sub_zero": lambda: f - 0.0,
    "zero_sub": lambda: C(0, x) - x,
    "mul_one": lambda: x * 1,
    "div_one": lambda: f / 1,
    "or_false": lambda: p | C(False, p),
    "xor_zero": lambda: x ^ 0,
    "neg_neg": lambda: -(-f),
    "sub_neg": lambda: f - -g,
    "neg_sub": lambda: -(x - y),
    "mul_neg_neg": lambda: -f * -g,
    "and_self": lambda: x & x,
    "or_self": lambda: x | x,
    "add_sub_cancel": lambda: (x + y) - y,
    "sub_add_cancel": lambda: (x - y) + y,
    "mul_zero": lambda: x * 0,
    "or_true": lambda: p | C(True, p),
    "idiv_zero": lambda: x // C(0, x),
    "mod_zero": lambda: x % C(0, x),
    "mod_of_reduced": lambda: w8 % 300,
    "idiv_to_zero": lambda: w8 // 300,
    "idiv_in_one_row": lambda: (w8 + 256) // 256,
    "mod_in_one_row": lambda: ((i % 4 + 8) % 8).t,
    "unflatten_idiv": lambda: ((i5 * 8 + j7) // 8).t,
    "unflatten_mod": lambda: ((i5 * 8 + j7) % 8).t,
    "lt_is_false": lambda: x.maximum(3) < 2,
    "le_is_true": lambda: C(1, x) <= x.maximum(3),
    "le_is_false": lambda: x.maximum(3) <= 1,
    "eq_is_false": lambda: x.maximum(3) == 1,
    "max_is_left": lambda: w8.maximum(-5),
    "float_max_is_left": lambda: u8.cast(sl.float32).maximum(-5.0),
    "lt_self": lambda: x < x,
    "le_self": lambda: x <= x,
    "not_lt": lambda: ~(x < y),
    "not_eq": lambda: ~(x == y),
    "not_ne": lambda: ~(x != y),
    "lt_neg_neg": lambda: -f < -g,
    "lt_and_gt": lambda: (x < y) & (y < x),
    "not_not": lambda: ~~p,
    "or_not_self": lambda: p | ~p,
    "xor_true": lambda: p ^ C(True, p),
    "not_or_not": lambda: ~p | ~q,
    "bool_mul_to_and": lambda: p * q,
    "bool_max_to_or": lambda: of(Op.Max, p, q),
    "bool_ne_to_xor": lambda: p != q,
    "bool_eq_to_not_xor": lambda: p == q,
    "bool_lt_to_and": lambda: of(Op.CmpLt, p, q),
    "bool_le_to_or": lambda: of(Op.CmpLe, p, q),
    "where_same": lambda: W(p, x, x),
    "where_true": lambda: W(C(True, p), x, y),
    "where_false": lambda: W(C(False, p), x, y),
    "where_not": lambda: W(~p, x, y),
    "where_where_then": lambda: W(p, W(p, x, y), z),
    "where_where_else": lambda: W(p, x, W(p, y, z)),
    "where_and": lambda: W(p, W(q, x, y), y),
    "where_to_bool": lambda: W(p, C(True, p), C(False, p)),
    "where_to_not": lambda: W(p, C(False, p), C(True, p)),
    "where_to_and": lambda: W(p, q, C(False, p)),
    "where_to_or": lambda: W(p, C(True, p), q),
    "where_add": lambda: W(p, x, 3) + 4,
    "where_mul_constants": lambda: W(p, 2, 3) * 4,
    "where_mul_chosen": lambda: W(p, W(p, f, g) * f, g),
    "where_mul_not_chosen": lambda: W(p, f, W(p, g, f) * g),
    "gate_with_common_default": lambda: W(p, W(q, x, z), W(q, y, z)),
    "gate_of_and": lambda: W(p, x, 0) & y,
    "gate_equals_value": lambda: W(p, x, y) == x,
    "sum_of_both_branches": lambda: W(p, f, g) + W(p, g, f),
    "gates_of_operands": lambda: W(p, x, y) - W(p, z, x),
    "cast_to_same": lambda: T.of(Op.Cast(x.uop, arg=sl.int32)),
    "cast_float_there_and_back": lambda: f.cast(sl.float64).cast(sl.float32),
    "cast_float_through_wider": lambda: f.cast(sl.float64).cast(sl.float16),
    "cast_to_bool": lambda: x.cast(sl.bool_),
    "product_with_mask": lambda: p.cast(sl.int32) * x,
    "index_there_and_back": lambda: I(T.of(Op.Cast(i5.uop, arg=sl.int32))).t,
    "index_through_wide": lambda: T.of(Op.Cast(T.of(Op.Cast(i5.uop, arg=sl.int32)).uop, arg=sl.int64)),
    "float_add_same": lambda: f + f,
    "div_two": lambda: f / 2,
    "div_four": lambda: f / 4,
    "one_div": lambda: 1 / f,
    "mul_neg": lambda: -f * g,
    "shr_zero": lambda: x >> 0,
    "shl_to_mul": lambda: x << 3,
    "shr_to_idiv": lambda: x >> 3,
    "row_digits_recombine": lambda: ((j + i // 6) * 6 + i % 6).t,
    "scaled_row_digits_recombine_beside": lambda: ((j + i // 6) * 12 + (k + i % 6 * 2)).t,
    "mod_mod_divides": lambda: (i % 12 % 4).t,
    "sub_constant_outward": lambda: (x + 3) - y,
    "constant_sub_add": lambda: C(9, x) - (x + 3),
    "add_to_constant_sub": lambda: (C(9, x) - x) + 3,
    "sub_add_constant": lambda: x - (y + 3),
    "mul_mul_constants": lambda: x * 3 * 5,
    "neg_mul_constant": lambda: -x * 3,
    "add_same": lambda: x + x,
    "add_multiple_and_self": lambda: x * 3 + x,
    "xor_xor_constants": lambda: (x ^ 3) ^ 5,
    "eq_add_constants": lambda: x + 3 == 8,
    "lt_mul_constants": lambda: (i * 3) < 8,
    "lt_idiv_constants": lambda: (i // 3) < 8,
    "mul_commutative": lambda: 1 * x,
    "max_commutative": lambda: of(Op.Max, C(LEAST, f), f),
    "and_commutative": lambda: C(0, x) & x,
    "or_commutative": lambda: C(0, x) | x,
    "xor_commutative": lambda: C(0, x) ^ x,
    "any_other": lambda: big.take(at100, 0).gradient(big, gradient=big)[0],
    "cast_of_masked": lambda: (A16.reshape(100, 1) * (col(ar(100)) == row(at)).cast(sl.float16)).sum(0),
    "shifted_cast_index": lambda: ar(8) + 3,
    "reduce_of_singletons": lambda: (x * 3).reshape(6, 1).sum(1),
}
"""Functions of tensors, compiled exactly."""

FAST: dict[str, Row] = {"sum_of_sum_of_floats": lambda: S(S(mf, 0), 1)}
"""Those whose rules need a licence."""
