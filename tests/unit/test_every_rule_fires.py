"""Every rule of the library fires on some program: compiled where a program can be, else on a graph."""

from __future__ import annotations

import pytest

import soundline as sl
from soundline.impl.lower.callify import callify
from soundline.impl.program.compile import lower
from soundline.impl.rewriting.engine import rewrite
from soundline.impl.rules import DECOMPOSE, LIBRARY, SIMPLIFY
from soundline.spec.uop import (
    AxisType,
    Op,
    ReduceArg,
    UOp,
    broadcast_to,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
)

from .rule_programs import COMPILED, FAST, LEAST, Row, m, mb, mf, n, x, y

R = loop(5, 9, AxisType.REDUCE)
ONE = loop(1, 9, AxisType.REDUCE)


def read(slot: int, dtype: sl.DType, at: UOp = R) -> UOp:
    return Op.Index(param(slot, dtype, (9,)), at)


def counted() -> UOp:
    """A value of a loop that is never invalid."""
    return Op.Cast(Op.Cast(Op.Mul(R, const(3, sl.index)), arg=sl.int32), arg=sl.float32)


def total(body: UOp, op: Op = Op.Add, along: UOp = R) -> UOp:
    return Op.Reduce(body, along, arg=ReduceArg(op))


def behind(fill: float, op: Op) -> UOp:
    """What is behind an index that may be the last, reduced."""
    gate = Op.CmpLe(param(7, sl.index, bounds=(0, 5)), R)
    return total(Op.Where(gate, counted(), const(fill, sl.float32)), op)


v32, s32 = param(0, sl.float32), param(1, sl.int32)
gate = param(2, sl.bool_)
a3, b3, c3 = ((t.reshape(6, 1)).uop for t in (x * 3, y * 5, x > 3))


def over(t: UOp) -> UOp:
    return expand(t, (6, 4))


def put(t: UOp) -> UOp:
    return pad(t, (1, 0), (8, 1))


def swap(t: UOp) -> UOp:
    return Op.Permute(t, arg=(1, 0))


def turn(t: UOp) -> UOp:
    return Op.Flip(t, arg=(True, False))


def flat(t: UOp) -> UOp:
    return reshape(t, (2, 6))


def cut(t: UOp) -> UOp:
    return shrink(t, (1, 1), (2, 2))


def unary(t: UOp) -> UOp:
    return Op.Trunc(t)


def half(t: UOp) -> UOp:
    return Op.Cast(t, arg=sl.float16)


mu, nu, pu = ((t.uop) for t in (m, n, mb))
real = mf.uop

GRAPHS: dict[str, Row] = {
    "sum_of_one_iteration": lambda: total(read(0, sl.int32, ONE), along=ONE),
    "max_of_one_iteration": lambda: total(read(0, sl.int32, ONE), Op.Max, ONE),
    "max_of_same": lambda: total(v32, Op.Max),
    "sum_gated_to_one_float": lambda: total(
        Op.Where(Op.CmpEq(R, param(3, sl.index)), counted(), const(0.0, sl.float32))
    ),
    "max_of_range": lambda: total(R, Op.Max),
    "sums_over_one_range": lambda: Op.Add(total(read(0, sl.int32)), total(read(1, sl.int32))),
    "maxima_over_one_range": lambda: Op.Max(
        total(read(0, sl.int32), Op.Max), total(read(1, sl.int32), Op.Max)
    ),
    "max_of_shifted_body": lambda: total(Op.Add(read(0, sl.index), param(3, sl.index)), Op.Max),
    "sum_from_or_none_of_floats": lambda: behind(-0.0, Op.Add),
    "product_from_or_none_of_floats": lambda: behind(1.0, Op.Mul),
    "max_from_or_none_of_floats": lambda: behind(LEAST, Op.Max),
    "single_value": lambda: param(0, sl.int32, bounds=(3, 3)),
    "monoid_commutative": lambda: Op.Add(Op.Where(gate, s32, const(0, sl.int32)), param(3, sl.int32)),
    "permute_of_unary": lambda: swap(unary(real)),
    "permute_of_binary": lambda: swap(Op.Add(mu, nu)),
    "flip_of_unary": lambda: turn(unary(real)),
    "flip_of_binary": lambda: turn(Op.Add(mu, nu)),
    "reshape_of_unary": lambda: flat(unary(real)),
    "reshape_of_binary": lambda: flat(Op.Add(mu, nu)),
    "shrink_of_unary": lambda: cut(unary(real)),
    "shrink_of_binary": lambda: cut(Op.Add(mu, nu)),
    "unary_of_expand": lambda: Op.Neg(over(a3)),
    "binary_of_expand": lambda: Op.Sub(over(a3), over(b3)),
    "unary_of_pad": lambda: Op.Neg(put(a3)),
    "add_of_pad": lambda: Op.Add(put(a3), put(b3)),
    "mul_of_pad": lambda: Op.Mul(put(a3), put(b3)),
    "max_of_pad": lambda: Op.Max(put(a3), put(b3)),
    "scaled_pad": lambda: Op.Mul(put(a3), broadcast_to(const(7, sl.int32), (8, 1))),
    "permute_of_cast": lambda: swap(half(mu)),
    "flip_of_cast": lambda: turn(half(mu)),
    "reshape_of_cast": lambda: flat(half(mu)),
    "shrink_of_cast": lambda: cut(half(mu)),
    "cast_of_expand": lambda: half(over(a3)),
    "cast_of_pad": lambda: half(put(a3)),
    "permute_of_where": lambda: swap(Op.Where(pu, mu, nu)),
    "flip_of_where": lambda: turn(Op.Where(pu, mu, nu)),
    "reshape_of_where": lambda: flat(Op.Where(pu, mu, nu)),
    "shrink_of_where": lambda: cut(Op.Where(pu, mu, nu)),
    "where_of_expand": lambda: Op.Where(over(c3), over(a3), over(b3)),
    "where_of_pad": lambda: Op.Where(put(c3), put(a3), put(b3)),
}
"""Graphs that are rewritten: what no tensor is (loops with a body, an index), what lowering leaves to others
(elementwise ops across movement), and what needs a licence that no profile grants."""

DERIVED = {"any_gated_to_one": {"where_to_and", "any_at_one"}}
"""Rules that are proved and in no set of the engine: others, tried before, do what they do, wherever they apply."""

BY_ID = {stated.id: stated for stated in LIBRARY}


def compiled(row: Row, profile: str) -> set[str]:
    """The rules that lowering applies to a tensor's graph."""
    function = callify((row().uop,))
    buffers = (buffer(slot, b.arg.size, b.dtype) for slot, b in enumerate(function.src[1:]))
    return set(lower(Op.Function(function.src[0], *buffers), profile).applied)


def rewritten(name: str) -> set[str]:
    """The rules that the engine applies to a graph: all that simplify, and the one in question."""
    stated = BY_ID[name]
    by = [BY_ID["step_behind_gate"]] if name == "monoid_commutative" else [*SIMPLIFY]
    more = [] if stated in by or name == "monoid_commutative" else [stated]
    return {rule for rule, _ in rewrite(GRAPHS[name](), by + more, licences=stated.licences).applied}


def test_every_rule_has_a_program() -> None:
    """Those of `DECOMPOSE` have theirs in `test_lacking_targets`."""
    rows = [*COMPILED, *FAST, *GRAPHS]
    beside = set().union(*(compiled(row, "exact") for row in COMPILED.values()))
    assert {*BY_ID} - {stated.id for stated in DECOMPOSE} - {*DERIVED} <= {*rows, *beside}
    assert len(rows) == len({*rows})


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_program_is_rewritten_by_the_rule(name: str) -> None:
    assert name in compiled(COMPILED[name], "exact")


@pytest.mark.parametrize("name", FAST)
def test_a_licence_admits_the_rule(name: str) -> None:
    assert name in compiled(FAST[name], "fast")
    assert name not in compiled(FAST[name], "exact")


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_rewritten_by_the_rule(name: str) -> None:
    assert name in rewritten(name)


def test_others_do_what_a_derived_rule_does() -> None:
    some = Op.CmpLt(R, loop(6, 1))
    chosen = total(Op.Where(Op.CmpEq(R, loop(7, 2)), some, const(False, sl.bool_)), Op.Max)
    by_others = rewrite(chosen, SIMPLIFY)
    assert {rule for rule, _ in by_others.applied} >= DERIVED["any_gated_to_one"]
    by_it = rewrite(chosen, [BY_ID["any_gated_to_one"]])
    assert by_it.uop is not chosen
    assert rewrite(by_it.uop, SIMPLIFY).uop is by_others.uop
