"""Matching reductions, ranges and bodies: what is matched keeps its value, and a near twin is not matched."""

from typing import Any

import pytest

from soundline.impl.analysis.facts import Facts
from soundline.impl.matching.demands import extra_demands
from soundline.impl.matching.matcher import patterns_of
from soundline.impl.rewriting.engine import rewrite
from soundline.spec.dtypes import bool_, index, int32, ints
from soundline.spec.errors import RuleError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, ReduceArg, UOp, toposort
from soundline.spec.rules.building import Abstraction
from soundline.spec.rules.language import (
    Rule,
    claim,
    disjoint,
    fresh,
    given,
    identity,
    prod_over,
    reduce_over,
    rule,
    stack,
    sum_over,
    where,
)
from soundline.spec.rules.ranges import Body, Range
from soundline.spec.rules.terms import Axes, BinaryOp, Bool, Monoid, Perm, Size, Tensor, Value
from soundline.spec.uop import broadcast_to, const, loop, param, reshape, tensor

TABLE = tensor([3, 1, 4, 1, 5, 9, 2, 6])
CUBE = reshape(tensor(list(range(24))), (2, 3, 4))
R, S, T = loop(8, 3), loop(4, 5), loop(8, 6)


def c(value: int, dtype: Any = int32) -> UOp:
    return const(value, dtype)


def number(r: UOp) -> UOp:
    return Op.Cast(r, arg=int32)


def at(i: UOp) -> UOp:
    return Op.Index(TABLE, i)


def over(op: Op, e: UOp, *ranges: UOp) -> UOp:
    return Op.Reduce(e, *ranges, arg=ReduceArg(op))


def along(op: Op, x: UOp, *axes: int) -> UOp:
    return Op.Reduce(x, arg=ReduceArg(op, axes))


@rule(dtypes=[int32, index])
def factor(k: Value, r: Range["n"], f: Body["r"]):  # noqa: F821
    return sum_over(r, k * f(r)), k * sum_over(r, f(r))


@rule(dtypes=ints)
def pick(n: Size, r: Range["n"], f: Body["r"], k: Value[index]):  # noqa: F821
    given(k >= 0, k < n)
    return sum_over(r, where(r == k, f(r), 0)), f(k)


@rule(dtypes=ints)
def reverse(n: Size, r: Range["n"], f: Body["r"], m: Monoid):  # noqa: F821
    return reduce_over(m, r, f(r)), reduce_over(m, r, f(n - 1 - r))


@rule(dtypes=ints)
def split(n: Size, r: Range["n"], f: Body["r"]):  # noqa: F821
    given(n % 4 == 0)
    a, b = fresh(n // 4), fresh(4)
    return sum_over(r, f(r)), sum_over((a, b), f(a * 4 + b))


@rule(dtypes=ints)
def exchange(r: Range["n"], s: Range["m"], f: Body["r", "s"]):  # noqa: F821
    return sum_over(r, sum_over(s, f(r, s))), sum_over(s, sum_over(r, f(r, s)))


@rule(dtypes=ints)
def product_of_sums(r: Range["n"], s: Range["m"], f: Body["r"], g: Body["s"]):  # noqa: F821
    return sum_over(r, f(r)) * sum_over(s, g(s)), sum_over(r, sum_over(s, f(r) * g(s)))


@rule(dtypes=ints)
def four_times(r: Range[4], k: Value):
    return sum_over(r, k), k * 4


@rule(dtypes=ints)
def twice_the_first(r: Range["n"], f: Body["r"], n: Size):  # noqa: F821
    given(n > 0)
    return prod_over(r, f(r)) + f(0) + f(0), prod_over(r, f(r)) + f(0) * 2


@rule(dtypes=[index])
def quotient_of_digits(r: Range["n"], s: Range[4]):  # noqa: F821
    return (r * 4 + s) // 4, r + 0


@rule(dtypes=ints)
def permute_reduce(x: Tensor, a: Axes, p: Perm, m: Monoid):
    return x.reduce(m, a).permute(p), x.permute(p).reduce(m, a.permute(p))


@rule(dtypes=ints)
def sum_sum(x: Tensor, a: Axes, b: Axes):
    given(disjoint(a, b))
    return x.sum(a).sum(b), x.sum(a | b)


@rule(dtypes=ints)
def last_axis(x: Tensor):
    return x.sum((-1,)).sum((0,)), x.sum((0, -1))


@rule(dtypes=[int32])
def neutral(x: Value, m: Monoid):
    return m(x, identity(m)), x


@rule(dtypes=ints)
def element_of_stack(x: Value, y: Value):
    return stack(x, y).index(1), y


@rule(dtypes=ints)
def row(x: Tensor, i: Value[index], j: Value[index]):
    return x.index(i).index(j), x.index(i, j)


SEVEN = c(7)
PICKED = Op.Where(Op.CmpEq(R, c(5, index)), at(R), c(0))

ACCEPTED: dict[str, tuple[Rule, UOp]] = {
    "a value": (factor, over(Op.Add, Op.Mul(SEVEN, at(R)), R)),
    "a body": (factor, over(Op.Add, Op.Mul(SEVEN, Op.Add(at(R), number(R))), R)),
    "a body that depends on nothing": (factor, over(Op.Add, Op.Mul(SEVEN, c(2)), R)),
    "another index": (pick, over(Op.Add, PICKED, R)),
    "a monoid": (reverse, over(Op.Max, Op.Sub(at(R), number(R)), R)),
    "new ranges": (split, over(Op.Add, Op.Mul(at(R), number(R)), R)),
    "two ranges": (exchange, over(Op.Add, over(Op.Add, Op.Mul(at(R), number(S)), S), R)),
    "two reductions": (product_of_sums, Op.Mul(over(Op.Add, at(R), R), over(Op.Add, number(S), S))),
    "a known size": (four_times, over(Op.Add, SEVEN, S)),
    "a fixed index": (
        twice_the_first,
        Op.Add(Op.Add(over(Op.Mul, at(R), R), at(c(0, index))), at(c(0, index))),
    ),
    "free ranges": (quotient_of_digits, Op.Idiv(Op.Add(Op.Mul(R, c(4, index)), S), c(4, index))),
    "axes": (permute_reduce, Op.Permute(along(Op.Max, CUBE, 2, 0), arg=(2, 0, 1))),
    "disjoint axes": (sum_sum, along(Op.Add, along(Op.Add, CUBE, 1), 0, 2)),
    "numbered axes": (last_axis, along(Op.Add, along(Op.Add, CUBE, 2), 0)),
    "an identity": (neutral, Op.Mul(SEVEN, c(1))),
    "an identity repeated": (neutral, Op.Add(TABLE, broadcast_to(c(0), (8,)))),
    "an identity on the left": (neutral, Op.Max(c(int32.min), SEVEN)),
    "a stack": (element_of_stack, Op.Index(Op.Stack(SEVEN, c(8)), c(1, index))),
    "an index": (row, Op.Index(Op.Index(CUBE, c(1, index)), c(2, index))),
}

REJECTED: dict[str, tuple[Rule, UOp]] = {
    "a value": (factor, over(Op.Add, Op.Mul(number(R), number(R)), R)),
    "a body": (factor, over(Op.Max, Op.Mul(SEVEN, at(R)), R)),
    "a body that depends on nothing": (factor, over(Op.Add, Op.Add(SEVEN, c(2)), R)),
    "another index": (pick, over(Op.Add, Op.Where(Op.CmpEq(R, c(8, index)), at(R), c(0)), R)),
    "a monoid": (reverse, along(Op.Max, TABLE, 0)),
    "new ranges": (split, over(Op.Add, number(loop(6, 3)), loop(6, 3))),
    "two ranges": (exchange, over(Op.Add, over(Op.Add, number(loop(R, 9)), loop(R, 9)), R)),
    "two reductions": (product_of_sums, Op.Mul(over(Op.Add, at(R), R), over(Op.Add, number(R), R))),
    "a known size": (four_times, over(Op.Add, SEVEN, R)),
    "a fixed index": (
        twice_the_first,
        Op.Add(Op.Add(over(Op.Mul, at(R), R), at(c(0, index))), at(c(1, index))),
    ),
    "free ranges": (quotient_of_digits, Op.Idiv(Op.Add(Op.Mul(R, c(4, index)), T), c(4, index))),
    "axes": (permute_reduce, Op.Permute(Op.Flip(CUBE, arg=(True, False, False)), arg=(2, 0, 1))),
    "disjoint axes": (sum_sum, along(Op.Add, along(Op.Add, CUBE, 1), 1, 2)),
    "numbered axes": (last_axis, along(Op.Add, along(Op.Add, CUBE, 1), 0)),
    "an identity": (neutral, Op.Mul(SEVEN, c(0))),
    "an identity repeated": (neutral, Op.Add(TABLE, broadcast_to(c(1), (8,)))),
    "an identity on the left": (neutral, Op.Sub(c(0), SEVEN)),
    "a stack": (element_of_stack, Op.Index(Op.Stack(SEVEN, c(8), c(9)), c(1, index))),
    "an index": (row, Op.Index(Op.Index(CUBE, c(1, index)), tensor([2], index))),
}


def once(stated: Rule, node: UOp) -> UOp | None:
    """What the rule makes of this node, not of those under it; None where it does not match."""
    from soundline.spec.rules.building import build

    for pattern in patterns_of(stated):
        env = pattern.match(node, Facts())
        if env is not None:
            return build(stated.right, env, node)
    return None


def value_of(node: UOp) -> Any:
    """The value of a node for some values of the loops that are open in it."""
    closed = over(Op.Add, over(Op.Add, node, S), R) if node.dtype is index else node
    return evaluate(closed)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_matched_keeps_its_value(name: str) -> None:
    stated, node = ACCEPTED[name]
    made = once(stated, node)
    assert made is not None
    assert made is not node
    assert value_of(made) == value_of(node)


@pytest.mark.parametrize("name", REJECTED)
def test_a_near_twin_is_not_matched(name: str) -> None:
    stated, node = REJECTED[name]
    assert once(stated, node) is None


def test_every_acceptance_has_a_rejection() -> None:
    assert list(ACCEPTED) == list(REJECTED)


def test_operands_are_exchanged_of_a_monoid_and_of_no_other_variable_op() -> None:
    @rule(dtypes=ints)
    def of_itself(f: BinaryOp, x: Value, y: Value):
        return f(f(x, y), y), f(f(x, y), y) + 0

    assert dict(rewrite(Op.Mul(c(1), OPEN), [neutral]).applied) == {"neutral": 1, "monoid_commutative": 1}
    assert dict(rewrite(Op.Mul(OPEN, c(1)), [neutral]).applied) == {"neutral": 1}
    two = param(1, int32)
    assert once(of_itself, Op.Sub(Op.Sub(OPEN, two), two)) is not None
    assert once(of_itself, Op.Sub(two, Op.Sub(OPEN, two))) is None


def test_a_body_is_bound_to_an_expression_and_its_ranges() -> None:
    (pattern,) = patterns_of(reverse)
    env = pattern.match(over(Op.Mul, at(R), R), Facts())
    assert env is not None
    assert env.bound["m"] is Op.Mul
    found = env.bound["f"]
    assert isinstance(found, Abstraction)
    assert (found.expression, found.ranges) == (at(R), (R,))
    assert found.at((c(2, index),)) is at(c(2, index))


def test_an_index_is_not_captured_by_a_reduction_inside_a_body() -> None:
    inner = over(Op.Add, Op.Mul(number(S), at(R)), S)
    made = once(pick, over(Op.Add, Op.Where(Op.CmpEq(R, S), inner, c(0)), R))
    assert made is not None
    whole = over(Op.Max, made, S)
    before = over(Op.Max, over(Op.Add, Op.Where(Op.CmpEq(R, S), inner, c(0)), R), S)
    assert evaluate(whole) == evaluate(before)


def test_a_body_that_closes_its_own_range_again_is_not_matched() -> None:
    shadowed = Op.Add(number(R), over(Op.Add, at(R), R))
    assert once(reverse, over(Op.Add, shadowed, R)) is None


def test_new_ranges_are_new() -> None:
    inner = over(Op.Add, Op.Mul(number(loop(8, 40)), number(R)), loop(8, 40))
    made = once(split, over(Op.Add, inner, R))
    assert made is not None
    ids = [n.arg.id for n in toposort(made) if n.op is Op.Range]
    assert sorted(ids) == [40, 41, 42]
    assert evaluate(made) == evaluate(over(Op.Add, inner, R))


def test_new_ranges_of_one_run_are_told_apart() -> None:
    both = Op.Sub(over(Op.Add, at(R), R), over(Op.Add, number(T), T))
    done = rewrite(both, [split])
    ids = [n.arg.id for n in toposort(done.uop) if n.op is Op.Range]
    assert len(ids) == len(set(ids)) == 4
    assert evaluate(done.uop) == evaluate(both)


def test_a_claim_is_never_applied() -> None:
    @rule(dtypes=[index])
    def below(x: Value, k: Value):
        given(k > 0)
        return claim(x % k < k)

    node = Op.CmpLt(Op.Mod(R, c(5, index)), c(5, index))
    assert patterns_of(below) == ()
    assert rewrite(node, [below]).uop is node


def test_a_body_that_no_match_shows_is_a_rule_error() -> None:
    @rule(dtypes=ints)
    def hidden(r: Range["n"], f: Body["r"]):  # noqa: F821
        return sum_over(r, f(r + 0)), sum_over(r, f(r))

    with pytest.raises(RuleError, match="does not determine f"):
        patterns_of(hidden)


# demands ----------------------------------------------------------------------------------------------------------

OPEN = param(0, int32)
"""A value that may be invalid: nothing is known of what a Param is bound to."""


def test_what_an_empty_reduction_leaves_unused_must_be_valid() -> None:
    n = param(9, index, bounds=(0, 8))
    empty = loop(n, 3)
    full = loop(Op.Add(n, c(1, index)), 3)
    assert extra_demands(factor) == {"k"}
    assert extra_demands(factor, reduces_something=True) == frozenset()
    assert once(factor, over(Op.Add, Op.Mul(OPEN, number(empty)), empty)) is None
    assert once(factor, over(Op.Add, Op.Mul(SEVEN, number(empty)), empty)) is not None
    assert once(factor, over(Op.Add, Op.Mul(OPEN, number(full)), full)) is not None


def test_a_body_is_used_in_the_iteration_of_the_index() -> None:
    @rule(dtypes=ints)
    def pick_another(n: Size, r: Range["n"], f: Body["r"], k: Value[index], j: Value[index]):  # noqa: F821
        given(k >= 0, k < n, j >= 0, j < n)
        return sum_over(r, where(r == k, f(r), 0)) * (j + 1).cast(int32), f(j)

    assert extra_demands(pick, reduces_something=True) == frozenset()
    assert "f" not in extra_demands(pick)
    assert "f" in extra_demands(pick_another, reduces_something=True)
    assert extra_demands(reverse) == frozenset()


def test_a_range_lies_below_its_end() -> None:
    @rule(dtypes=ints)
    def cut_short(n: Size, r: Range["n"], f: Body["r"], k: Size):  # noqa: F821
        given(k <= n)
        i = fresh(k)
        return sum_over(r, where(r < k, f(r), 0)), sum_over(i, f(i))

    @rule(dtypes=ints)
    def cut_shorter(n: Size, r: Range["n"], f: Body["r"], k: Size):  # noqa: F821
        given(k + 1 <= n)
        i = fresh(k + 1)
        return sum_over(r, where(r < k, f(r), 0)), sum_over(i, f(i))

    assert "f" not in extra_demands(cut_short)
    assert "f" in extra_demands(cut_shorter)


def test_the_size_of_a_range_is_used_by_its_reduction() -> None:
    @rule(dtypes=[index])
    def count(r: Range["n"], n: Size):  # noqa: F821
        return sum_over(r, r * 0 + 1), n

    @rule(dtypes=[index])
    def another(r: Range["n"], m: Size):  # noqa: F821
        return sum_over(r, r * 0 + m * 0), m * 0

    assert extra_demands(count) == frozenset()
    assert extra_demands(another) == {"m"}


def test_a_where_selects_no_reductions() -> None:
    @rule(dtypes=ints)
    def into(p: Bool, r: Range[4], f: Body["r"]):  # noqa: F821
        return where(p, sum_over(r, f(r)), 0), sum_over(r, where(p, f(r), 0))

    @rule(dtypes=ints)
    def out_of(p: Bool, r: Range[4], f: Body["r"]):  # noqa: F821
        return sum_over(r, where(p, f(r), 0)), where(p, sum_over(r, f(r)), 0)

    assert extra_demands(into) == frozenset()
    assert extra_demands(out_of) == {"f"}


def test_a_reduction_needs_every_element_of_a_tensor() -> None:
    @rule(dtypes=ints)
    def sum_of_row(x: Tensor["m", "n"], m: Size, i: Value[index]):  # noqa: F821
        given(i >= 0, i < m)
        return x.index(i).sum((0,)), x.sum((1,)).index(i)

    @rule(dtypes=ints)
    def row_of_sum(x: Tensor["m", "n"], m: Size, i: Value[index]):  # noqa: F821
        given(i >= 0, i < m)
        return x.sum((1,)).index(i), x.index(i).sum((0,))

    assert "x" in extra_demands(sum_of_row)
    assert extra_demands(row_of_sum) == frozenset()
    assert extra_demands(sum_sum) == frozenset()
    assert extra_demands(permute_reduce) == frozenset()


def test_what_is_known_of_reductions_and_indices() -> None:
    facts = Facts()
    assert facts.always_valid(at(R))
    assert facts.always_valid(at(c(7, index)))
    assert not facts.always_valid(at(c(8, index)))
    assert not facts.always_valid(at(loop(9, 3)))
    assert not facts.always_valid(Op.Index(OPEN, *()))
    assert facts.always_valid(over(Op.Add, at(R), R))
    assert not facts.always_valid(over(Op.Max, R, R)), "nothing has no greatest index (U-10)"
    assert facts.always_valid(over(Op.Max, number(R), R))
    assert not facts.always_valid(over(Op.Add, OPEN, R))
    assert facts.reduces_something(over(Op.Add, at(R), R))
    assert not facts.reduces_something(over(Op.Add, c(1), loop(0, 3)))
    assert facts.reduces_something(along(Op.Add, CUBE, 0))
    assert not facts.reduces_something(along(Op.Max, param(1, bool_, (2, 0)), 1))
    assert facts.reduces_something(along(Op.Max, param(1, bool_, (2, 0)), 0))
