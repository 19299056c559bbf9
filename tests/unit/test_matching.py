"""Matching: for every kind of variable and of condition, a node that is matched and a twin that is not."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from soundline.impl.analysis.facts import Facts, repeated_constant, repeated_scalar
from soundline.impl.matching import conditions
from soundline.impl.matching.demands import extra_demands
from soundline.impl.matching.matcher import patterns_of
from soundline.impl.rules import LIBRARY
from soundline.spec.dtypes import bool_, float16, float32, index, int8, int16, int32, ints, uint8
from soundline.spec.errors import RuleError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.building import Env, build
from soundline.spec.rules.language import (
    Rule,
    bits_at_most,
    compose,
    fits,
    given,
    is_identity,
    lossless,
    no_flags,
    preserves_zero,
    rule,
    variables_in,
    where,
)
from soundline.spec.rules.terms import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Flags,
    Interval,
    Offset,
    Perm,
    Shape,
    Tensor,
    Term,
    UnaryOp,
    Value,
)
from soundline.spec.uop import broadcast_to, buffer, const, expand, loop, pad, param, reshape, shrink

X, Y = param(0, int32), param(1, int32)
X3 = param(2, int32, (3,))
F = param(3, float32)
P, Q = param(4, bool_), param(5, bool_)
M = param(6, int32, (2, 3))
I = loop(8, 0)  # noqa: E741


def bound(stated: Rule, node: UOp) -> dict[str, Any] | None:
    """What the first pattern that matches binds; None where none does."""
    facts = Facts()
    found = (p.match(node, facts) for p in patterns_of(stated))
    env = next((e for e in found if e is not None), None)
    return None if env is None else env.bound


def c(number: Any, dtype: Any = int32) -> UOp:
    return const(number, dtype)


@rule(dtypes=ints)
def value_and_literal(x: Value):
    return x + 1, x


@rule(dtypes=[index, *ints])
def constant(x: Value, k: Const):
    return x * k, x


@rule(dtypes=ints)
def twice(x: Value):
    return x - x, 0


@rule
def boolean(p: Bool):
    return p & p, p


@rule(dtypes=[index])
def interval(x: Interval):
    given(x.lo >= 0, x.hi < 8)
    return x % 8, x


@rule(dtypes=[float32])
def float_interval(x: Interval):
    given(x.lo >= 0)
    return x.trunc(), x


@rule
def nonzero(x: Value, k: Const):
    given(k != 0)
    return x // k, x


@rule(dtypes=ints)
def fitting(x: Value, k: Const):
    given(fits(x * k))
    return (x * k) // k, x


@rule(dtypes=ints)
def value_condition(x: Value):
    given(x > 0)
    return x // x, 1


@rule
def permutation(x: Tensor, p: Perm):
    given(is_identity(p))
    return x.permute(p), x


@rule
def fixed_permutation(x: Tensor["m", "n"]):  # noqa: F821  (sizes)
    return x.permute((1, 0)), x


@rule
def flags(x: Tensor, f: Flags):
    given(no_flags(f))
    return x.flip(f), x


@rule
def shape(x: Tensor):
    return x.expand(x.shape), x


@rule
def same_shape_twice(x: Tensor, s: Shape):
    return x.expand(s).expand(s), x.expand(s)


@rule
def offset(x: Tensor, o: Offset, s: Shape):
    return x.pad(o, s).shrink(o, x.shape), x


@rule
def every_axis(x: Tensor, o: Offset, s: Shape):
    given(o >= 1)
    return x.pad(o, s), x.pad(o, s)


@rule
def zero_offset(x: Tensor, s: Shape):
    return x.pad(0, s), x


@rule
def named_sizes(x: Tensor["n", "n"]):  # noqa: F821  (sizes)
    return x.permute((1, 0)), x


@rule
def entries(x: Tensor["m", "n"]):  # noqa: F821  (sizes)
    return x.reshape((x.shape[1], x.shape[0])), x


@rule(dtypes=[int8, int16], s=[int32, int16])
def dtype_variable(x: Value, s: DTypeVar):
    given(lossless(x.dtype, s))
    return x.cast(s).cast(x.dtype), x


@rule(dtypes=ints, s=ints)
def narrower(x: Value, s: DTypeVar):
    given(bits_at_most(s, x.dtype))
    return x.cast(s), x.cast(s)


@rule
def unary(x: Tensor, op: UnaryOp, o: Offset, s: Shape):
    given(preserves_zero(op))
    return op(x.pad(o, s)), op(x).pad(o, s)


@rule
def binary(x: Tensor, y: Tensor, op: BinaryOp, p: Perm):
    return op(x, y).permute(p), op(x.permute(p), y.permute(p))


@rule
def bool_tensor(b: Tensor[bool_], x: Tensor, f: Flags):
    return where(b, x, x).flip(f), x.flip(f)


@rule(dtypes=[int32])
def scaled(x: Tensor, k: Const, p: Perm):
    return (x * k).permute(p), x.permute(p) * k


@rule(dtypes=[float32])
def negative_zero(x: Value):
    return x + -0.0, x


@rule(dtypes=[int32])
def computed_shape(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q).permute(compose(p, q)), x


@rule(dtypes=[int32])
def constant_twice(k: Const):
    return k - k, k * 0


def test_where_one_value_stands_twice_the_sources_are_one_node() -> None:
    """A constant may be two views that repeat it, and other variables are other nodes."""
    for stated, op, is_one in (
        (twice, Op.Sub, True),
        (constant_twice, Op.Sub, False),
        (value_and_literal, Op.Add, False),
    ):
        (pattern, *_) = patterns_of(stated)
        ops = (op, Op.Const, Op.Const)
        assert pattern.may_match(ops, twice=True)
        assert pattern.may_match(ops, twice=False) is not is_one
    views = [expand(reshape(c(7), (1,) * n), (3,) * n) for n in (1, 2)]
    rows = Op.Sub(views[1], expand(reshape(views[0], (1, 3)), (3, 3)))
    assert bound(constant_twice, rows) == {"k": c(7)}


ACCEPTED = {
    "literal": (value_and_literal, Op.Add(X, c(1))),
    "literal at another dtype": (value_and_literal, Op.Add(param(0, uint8), c(1, uint8))),
    "literal repeated": (value_and_literal, Op.Add(X3, broadcast_to(c(1), (3,)))),
    "literal exchanged": (value_and_literal, Op.Add(c(1), X)),
    "-0.0": (negative_zero, Op.Add(F, c(-0.0, float32))),
    "constant": (constant, Op.Mul(X, c(7))),
    "constant repeated": (constant, Op.Mul(X3, expand(reshape(c(7), (1,)), (3,)))),
    "the same node twice": (twice, Op.Sub(X, X)),
    "bool": (boolean, Op.And(P, P)),
    "interval": (interval, Op.Mod(I, c(8, index))),
    "interval of a float": (float_interval, Op.Trunc(param(0, float32, bounds=(0.0, 9.0)))),
    "condition on a constant": (nonzero, Op.Idiv(X, c(3))),
    "fits": (fitting, Op.Idiv(Op.Mul(param(0, int8, bounds=(0, 9)), c(3, int8)), c(3, int8))),
    "condition on a value": (value_condition, Op.Idiv(*[param(0, int32, bounds=(1, 9))] * 2)),
    "permutation": (permutation, Op.Permute(M, arg=(0, 1))),
    "fixed permutation": (fixed_permutation, Op.Permute(M, arg=(1, 0))),
    "flags": (flags, Op.Flip(M, arg=(False, False))),
    "shape": (shape, expand(M, (2, 3))),
    "one shape twice": (same_shape_twice, expand(expand(param(0, int32, (1, 3)), (2, 3)), (2, 3))),
    "offset": (offset, shrink(pad(M, (1, 2), (4, 6)), (1, 2), (2, 3))),
    "every axis": (every_axis, pad(M, (1, 2), (4, 6))),
    "one number for every axis": (zero_offset, pad(M, (0, 0), (4, 6))),
    "named sizes": (named_sizes, Op.Permute(param(0, int32, (3, 3)), arg=(1, 0))),
    "entries": (entries, reshape(M, (3, 2))),
    "dtype variable": (dtype_variable, Op.Cast(Op.Cast(param(0, int8), arg=int32), arg=int8)),
    "bits": (narrower, Op.Cast(X, arg=int16)),
    "unary op": (unary, Op.Neg(pad(M, (0, 1), (2, 5)))),
    "binary op": (binary, Op.Permute(Op.Max(M, M), arg=(1, 0))),
    "bool tensor": (bool_tensor, Op.Flip(Op.Where(param(0, bool_, (3,)), X3, X3), arg=(True,))),
    "constant beside a tensor": (scaled, Op.Permute(Op.Mul(M, broadcast_to(c(3), (2, 3))), arg=(1, 0))),
}
REJECTED = {
    "literal": (value_and_literal, Op.Add(X, c(2))),
    "literal at another dtype": (value_and_literal, Op.Add(F, c(1.0, float32))),
    "literal repeated": (value_and_literal, Op.Add(X3, broadcast_to(c(2), (3,)))),
    "literal exchanged": (value_and_literal, Op.Sub(c(1), X)),
    "-0.0": (negative_zero, Op.Add(F, c(0.0, float32))),
    "constant": (constant, Op.Mul(X, Y)),
    "constant repeated": (constant, Op.Mul(X3, Op.Stack(c(7), c(7), c(7)))),
    "the same node twice": (twice, Op.Sub(X, Y)),
    "bool": (boolean, Op.And(P, Q)),
    "interval": (interval, Op.Mod(loop(9, 0), c(8, index))),
    "interval of a float": (float_interval, Op.Trunc(F)),
    "condition on a constant": (nonzero, Op.Idiv(X, c(0))),
    "fits": (fitting, Op.Idiv(Op.Mul(param(0, int8, bounds=(0, 99)), c(3, int8)), c(3, int8))),
    "condition on a value": (value_condition, Op.Idiv(*[param(0, int32, bounds=(0, 9))] * 2)),
    "permutation": (permutation, Op.Permute(M, arg=(1, 0))),
    "fixed permutation": (fixed_permutation, Op.Permute(M, arg=(0, 1))),
    "flags": (flags, Op.Flip(M, arg=(False, True))),
    "shape": (shape, expand(param(0, int32, (1, 3)), (2, 3))),
    "one shape twice": (same_shape_twice, expand(expand(param(0, int32, (1, 1)), (1, 3)), (2, 3))),
    "offset": (offset, shrink(pad(M, (1, 2), (4, 6)), (1, 1), (2, 3))),
    "every axis": (every_axis, pad(M, (1, 0), (4, 6))),
    "one number for every axis": (zero_offset, pad(M, (0, 1), (4, 6))),
    "named sizes": (named_sizes, Op.Permute(M, arg=(1, 0))),
    "entries": (entries, reshape(M, (6, 1))),
    "dtype variable": (dtype_variable, Op.Cast(Op.Cast(param(0, int8), arg=uint8), arg=int8)),
    "bits": (narrower, Op.Cast(param(0, int16), arg=int32)),
    "unary op": (unary, Op.Exp2(pad(param(0, float32, (2,)), (0,), (3,)))),
    "binary op": (binary, Op.Permute(Op.CmpLt(M, M), arg=(1, 0))),
    "bool tensor": (bool_tensor, Op.Flip(Op.Where(param(0, bool_, (3,)), X3, Op.Neg(X3)), arg=(True,))),
    "constant beside a tensor": (scaled, Op.Permute(Op.Mul(M, M), arg=(1, 0))),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(name: str) -> None:
    stated, node = ACCEPTED[name]
    assert bound(stated, node) is not None


@pytest.mark.parametrize("name", REJECTED)
def test_rejects(name: str) -> None:
    stated, node = REJECTED[name]
    assert bound(stated, node) is None


def test_every_acceptance_has_a_rejection() -> None:
    assert list(ACCEPTED) == list(REJECTED)


def test_binds_what_stands_there() -> None:
    found = bound(constant, Op.Mul(X3, broadcast_to(c(7), (3,))))
    assert found is not None
    assert found["x"] is X3
    assert found["k"] is c(7)
    ends = bound(interval, Op.Mod(I, c(8, index)))
    assert ends is not None
    assert (ends["x.lo"], ends["x.hi"]) == (c(0, index), c(7, index))


def test_a_tag_is_no_part_of_a_constant() -> None:
    tagged = UOp(Op.Const, (), c(1).arg, "seen")
    assert tagged is not c(1)
    assert bound(value_and_literal, Op.Add(X, tagged)) is not None


def test_a_rank_for_which_a_rule_is_not_meant_is_not_matched() -> None:
    for rank, matches in ((4, True), (5, False)):
        x = param(0, int32, (1,) * rank)
        permuted, expanded = Op.Permute(x, arg=tuple(range(rank))), expand(x, (1,) * rank)
        for stated, node in ((permutation, permuted), (shape, expanded)):
            assert (bound(replace(stated, max_rank=4), node) is not None) is matches
            assert bound(stated, node) is not None


def test_scalar_rules_match_at_every_rank() -> None:
    x = param(0, int32, (1,) * 6)
    assert bound(twice, Op.Sub(x, x)) is not None


def test_symbolic_sizes_are_compared_as_polynomials() -> None:
    n, m = param(8, index, bounds=(0, 9)), param(9, index, bounds=(0, 9))
    x = param(0, int32, (Op.Add(n, m),))
    assert bound(shape, expand(x, (Op.Add(m, n),))) is not None
    assert bound(shape, expand(x, (m,))) is None


def test_bitcast_of_another_width_is_no_elementwise_rule() -> None:
    @rule(dtypes=[uint8], s=[uint8, int8, float16])
    def back(x: Value, s: DTypeVar):
        return x.bitcast(s).bitcast(x.dtype), x

    bytes_ = param(0, uint8, (4,))
    same = Op.Bitcast(Op.Bitcast(bytes_, arg=int8), arg=uint8)
    wider = Op.Bitcast(Op.Bitcast(bytes_, arg=float16), arg=uint8)
    assert bound(back, same) is not None
    assert bound(back, wider) is None, "two bytes of a NaN do not come back"


def test_infinite_bounds_of_index_are_no_constants() -> None:
    @rule(dtypes=[index])
    def lower(x: Interval):
        given(x.lo >= 0)
        return x // 1, x

    unbounded = Op.Mul(param(0, index), param(0, index))
    assert bound(lower, Op.Idiv(unbounded, c(1, index))) is None
    assert bound(lower, Op.Idiv(I, c(1, index))) is not None


def test_an_empty_loop_has_no_bounds() -> None:
    assert bound(interval, Op.Mod(loop(0, 0), c(8, index))) is None


def test_unbound_variable_is_a_rule_error() -> None:
    @rule(dtypes=ints)
    def floating(x: Value, k: Const):
        return x + 0, x + k

    with pytest.raises(RuleError) as error:
        patterns_of(floating)
    assert error.value.rule == "floating"
    assert error.value.line is not None


# Facts and conditions -----------------------------------------------------------------------------------------------


def test_repeated_scalars_are_seen_through_views() -> None:
    seven = broadcast_to(c(7), (2, 3))
    for view in (
        seven,
        Op.Permute(seven, arg=(1, 0)),
        Op.Flip(seven, arg=(True, False)),
        reshape(seven, (6,)),
    ):
        assert repeated_constant(view) is c(7)
        assert repeated_scalar(view) is c(7)
    assert repeated_constant(pad(seven, (0, 1), (2, 5))) is None, "the padding is another number"
    assert repeated_scalar(broadcast_to(X, (3,))) is X
    assert repeated_constant(broadcast_to(X, (3,))) is None
    assert repeated_scalar(X3) is None


@pytest.mark.parametrize(
    ("wanted", "x", "k", "dtype"),
    [
        (True, (0, 42), 3, int8),
        (False, (0, 43), 3, int8),
        (True, (-42, 0), 3, int8),
        (False, (-43, 0), 3, int8),
        (True, (-128, 127), 1, int8),
        (False, (-128, 127), -1, int8),
        (True, (-127, 127), -1, int8),
        (True, (0, 85), 3, uint8),
        (False, (0, 86), 3, uint8),
        (True, (0, 10**30), 3, index),
    ],
)
def test_fits_is_exact_at_the_ends(wanted: bool, x: tuple[int, int], k: int, dtype: Any) -> None:
    @rule(dtypes=[dtype])
    def product(x: Value, k: Const):
        given(fits(x * k))
        return (x * k) // k, x

    node = Op.Mul(param(0, dtype, bounds=x), c(k, dtype))
    assert (bound(product, Op.Idiv(node, c(k, dtype))) is not None) is wanted


def test_fits_asks_for_every_operation_inside() -> None:
    @rule(dtypes=[int8])
    def sums(x: Value, y: Value, z: Value):
        given(fits(x + y - z))
        return x + y - z, x - z + y

    def of(hi: int) -> UOp:
        x, y, z = (param(k, int8, bounds=(hi, hi)) for k in range(3))
        return Op.Sub(Op.Add(x, y), z)

    assert bound(sums, of(60)) is not None
    assert bound(sums, of(64)) is None, "the sum wraps though the whole does not"


def _on_constants(stated: Rule) -> list[Term]:
    """The conditions of a rule that speak of constants and bounds alone."""
    known = {name for name, kind in stated.kinds.items() if kind.kind in ("Const", "Interval")}
    values = [g for g in stated.given if isinstance(g, Value) and g.head not in ("fits", "every axis")]
    return [g for g in values if variables_in(g) <= known]


def test_conditions_on_constants_are_those_of_the_nodes_that_are_built() -> None:
    """The direct computation and the node that `build` makes of a condition agree, for every rule of the library."""
    compared = 0
    for stated in LIBRARY:
        for condition in _on_constants(stated):
            names = sorted(variables_in(condition))
            for dtype in (int8, uint8, index, float32):
                if dtype not in (stated.dtypes or ()):
                    continue
                for chosen in itertools.product((0, 1, 2, 3, 64, 127), repeat=len(names)):
                    values = {
                        n: c(float(v) if dtype.is_float else v, dtype)
                        for n, v in zip(names, chosen, strict=True)
                    }
                    ends = {f"{n}.{e}": v for n, v in values.items() for e in ("lo", "hi")}
                    env = Env(dtype, {**values, **ends})
                    direct = conditions.holds(condition, env, Facts())
                    assert direct is evaluate(build(condition, env)).item(), (
                        f"{stated} {condition} {chosen} {dtype}"
                    )
                    compared += 1
    assert compared > 1000


# Demands -------------------------------------------------------------------------------------------------------------


def test_demands_are_compared_under_every_outcome() -> None:
    wanted = {
        "where_same": set(),
        "where_true": set(),
        "where_not": set(),
        "where_and": {"q"},
        "where_or": {"q"},
        "where_to_and": {"x"},
        "where_to_or": {"x"},
        "where_where_then": set(),
        "permute_of_where": set(),
        "where_of_expand": set(),
        "add_zero": set(),
    }
    by_id = {r.id: r for r in LIBRARY}
    assert {name: set(extra_demands(by_id[name])) for name in wanted} == wanted


@rule(dtypes=[float32])
def gate_inside_opposite_of_floats(i: Value, j: Value, x: Value, y: Value, z: Value):
    return where(i < j, where(j <= i, x, y), z), where(i < j, y, z)


@rule(i=[index, float32])
def gate_inside_opposite_of_either(i: DTypeVar, k: Value["i"], m: Value["i"], x: Value, y: Value):  # noqa: F821
    return where(k < m, x, where(m <= k, y, x)), where(m <= k, y, x)


@rule
def gate_inside_greater(i: Value[index], j: Value[index], x: Value, y: Value, z: Value):
    return where(i > j, where(j >= i, x, y), where(j < i, y, z)), where(j < i, y, z)


def test_a_bound_and_its_opposite_are_one_condition_where_there_is_no_nan() -> None:
    by_id = {r.id: r for r in LIBRARY}
    assert extra_demands(by_id["gate_inside_opposite_then"]) == set()
    assert extra_demands(by_id["gate_inside_opposite_else"]) == set()
    assert extra_demands(gate_inside_greater) == set()
    assert extra_demands(gate_inside_opposite_of_floats) == {"y"}
    assert extra_demands(gate_inside_opposite_of_either) == {"y"}


def test_a_demanded_variable_must_be_valid() -> None:
    by_id = {r.id: r for r in LIBRARY}
    always = Op.CmpLt(I, c(3, index))
    read = Op.Index(param(0, bool_, (4,)), param(1, index))
    false = c(False, bool_)
    assert bound(by_id["where_to_and"], Op.Where(P, always, false)) is not None
    assert bound(by_id["where_to_and"], Op.Where(P, read, false)) is None


def test_a_dropped_variable_must_have_no_effect() -> None:
    store = Op.Store(buffer(0, 1, int32), broadcast_to(c(5), (1,)))
    ordered = Op.After(X, store)
    by_id = {r.id: r for r in LIBRARY}
    assert bound(by_id["mul_zero"], Op.Mul(X, c(0))) is not None
    assert bound(by_id["mul_zero"], Op.Mul(ordered, c(0))) is None
    assert bound(by_id["mul_one"], Op.Mul(ordered, c(1))) is not None


def test_nan_is_no_interval() -> None:
    by_id = {r.id: r for r in LIBRARY}
    low, high = param(0, float32, bounds=(-math.inf, 0.0)), param(1, float32, bounds=(1.0, math.inf))
    assert bound(by_id["lt_is_true"], Op.CmpLt(low, high)) is not None
    assert bound(by_id["lt_is_true"], Op.CmpLt(Op.Add(low, high), high)) is None
