"""Rules over axes, ranges and bodies: what is a rule and what is none, and the instances of those that are."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from soundline.spec.dtypes import bool_, float32, index, int8, int32, ints
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import AxisType, Op, RangeArg, ReduceArg, UOp
from soundline.spec.rules.building import Abstraction, Env, build_flags
from soundline.spec.rules.choices import axes
from soundline.spec.rules.instances import Goal, dtypes_of, goals, is_about_shapes
from soundline.spec.rules.language import (
    all_axes,
    claim,
    disjoint,
    fits,
    forall,
    fresh,
    given,
    identity,
    max_over,
    no_axes,
    reduce_over,
    rule,
    stack,
    subset,
    sum_over,
    where,
)
from soundline.spec.rules.ranges import Body, Range
from soundline.spec.rules.terms import (
    Axes,
    Bool,
    Const,
    DTypeVar,
    Flags,
    Monoid,
    Shape,
    Size,
    Tensor,
    Value,
    subterms,
)
from soundline.spec.uop import const, loop, param
from soundline.verify.judging.judge import prove
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.sameness import structure

# what is no rule --------------------------------------------------------------------------------------------------


def outside(r: Range["n"], f: Body["r"]):  # noqa: F821
    return r + sum_over(r, f(r)), r


def outside_on_the_right(r: Range["n"], f: Body["r"]):  # noqa: F821
    return sum_over(r, f(r)), f(r)


def outside_in_a_condition(r: Range["n"], f: Body["r"], n: Size):  # noqa: F821
    given(r < n)
    return sum_over(r, f(r)), sum_over(r, f(r) + 0)


def reduced_twice(r: Range["n"], f: Body["r"]):  # noqa: F821
    return sum_over(r, sum_over(r, f(r))), f(0)


def reduced_twice_at_once(r: Range["n"], f: Body["r"]):  # noqa: F821
    return sum_over((r, r), f(r)), f(0)


def reduced_on_the_right_only(r: Range["n"], f: Body["r"]):  # noqa: F821
    return f(0), sum_over(r, f(r))


def free_on_the_left(r: Range["n"], f: Body["r"]):  # noqa: F821
    return f(r), sum_over(r, f(r))


def fresh_on_the_left(x: Value, n: Size):
    k = fresh(n)
    return sum_over(k, x), x


def fresh_without_a_reduction(x: Value, n: Size):
    return x + 0, x + fresh(n)


def too_many_indices(r: Range["n"], f: Body["r"]):  # noqa: F821
    return sum_over(r, f(r, r)), f(0)


def too_few_indices(r: Range["n"], s: Range["n"], f: Body["r", "s"]):  # noqa: F821
    return sum_over((r, s), f(r)), f(0, 0)


def range_without_a_size(r: Range, x: Value):
    return sum_over(r, x), x


def range_of_a_negative_size(r: Range[-1], x: Value):
    return sum_over(r, x), x


def range_of_two_sizes(r: Range[2, 3], x: Value):
    return sum_over(r, x), x


def range_of_an_expression(n: Size, r: Range["n + 1"], x: Value):  # noqa: F821
    return sum_over(r, x), x


def tensor_of_an_expression(n: Size, x: Tensor["2 * n"]):  # noqa: F821
    return x + 0, x


def tensor_of_half_an_element(x: Tensor[0.5]):
    return x + 0, x


def tensor_of_fewer_elements(x: Tensor[-1]):
    return x + 0, x


def value_of_a_size(x: Value[3]):
    return x + 0, x


def body_of_nothing(r: Range[4], f: Body[int32]):
    return sum_over(r, f()), f()


def body_without_brackets(r: Range[4], f: Body):
    return sum_over(r, f(r)), f(0)


def body_of_a_size(n: Size, f: Body["n"]):  # noqa: F821
    return f(n) + 0, f(n)


def body_of_nobody(r: Range[4], f: Body["q"]):  # noqa: F821
    return sum_over(r, f(r)), f(0)


def size_and_monoid(x: Tensor["m"], m: Monoid):  # noqa: F821
    return x.reduce(m, 0), x


def claims_nothing(x: Value):
    return claim()


def claims_a_value(x: Value):
    return claim(3)


def claims_what_is_static(a: Axes, b: Axes):
    return claim(subset(a & b, a))


def claims_that_it_fits(x: Value):
    return claim(fits(x + 1))


NO_RULES: dict[Callable[..., Any], str] = {
    outside: "r is used outside of the reduction over it",
    outside_on_the_right: "r is used outside of the reduction over it",
    outside_in_a_condition: "r is used outside of the reduction over it",
    reduced_twice: "r is reduced over inside another reduction over it",
    reduced_twice_at_once: "r is reduced over inside another reduction over it",
    reduced_on_the_right_only: "r is reduced over, but not on the left side",
    free_on_the_left: "r is reduced over, but not on the left side",
    fresh_on_the_left: "fresh(n) is on the left side",
    fresh_without_a_reduction: "fresh(n) is used outside of the reduction over it",
    too_many_indices: "f(r, r) has 2 indices, and f depends on 1 ranges",
    too_few_indices: "f(r) has 1 indices, and f depends on 2 ranges",
    range_without_a_size: "the range r needs one size",
    range_of_a_negative_size: "the range r needs one size",
    range_of_two_sizes: "the range r needs one size",
    range_of_an_expression: "variable r: 'n + 1' is in the brackets of a Range",
    tensor_of_an_expression: "variable x: '2 * n' is in the brackets of a Tensor",
    tensor_of_half_an_element: "variable x: 0.5 is in the brackets of a Tensor",
    tensor_of_fewer_elements: "variable x: -1 is in the brackets of a Tensor",
    value_of_a_size: "variable x: 3 is in the brackets of a Value",
    body_of_nothing: "the body f names no range",
    body_without_brackets: "the body f names no range",
    body_of_a_size: "f: Body['n'] names no range",
    body_of_nobody: "f: Body['q'] names no range",
    size_and_monoid: "variable m is declared twice, as Size and as Monoid",
    claims_nothing: "claim() needs at least one condition",
    claims_a_value: "claim takes conditions on values, not 3",
    claims_what_is_static: "claim takes conditions on values, not no_flags",
    claims_that_it_fits: "claim takes conditions on values, not fits",
}


@pytest.mark.parametrize("function", NO_RULES, ids=lambda f: f.__name__)
def test_what_is_no_rule_is_refused_with_its_place(function: Callable[..., Any]) -> None:
    with pytest.raises(RuleError) as refusal:
        rule(function)
    first = inspect.getsourcelines(function)[1]
    assert NO_RULES[function] in str(refusal.value)
    assert refusal.value.hint
    assert refusal.value.rule == function.__name__
    assert refusal.value.file == __file__
    assert refusal.value.line in (first, first + 1)


def test_a_mistake_in_the_body_is_found_on_its_line() -> None:
    def late(x: Tensor, f: Flags):
        y = x + 0
        return y.sum(f), x

    with pytest.raises(RuleError, match="a set of axes is needed") as refusal:
        rule(late)
    assert refusal.value.line == late.__code__.co_firstlineno + 2


def test_words_outside_of_a_rule() -> None:
    with pytest.raises(RuleError, match=r"fresh\(…\) is outside of a rule"):
        fresh(4)


# instances --------------------------------------------------------------------------------------------------------


@rule(dtypes=[int32])
def sum_sum(x: Tensor, a: Axes, b: Axes):
    given(disjoint(a, b))
    return x.sum(a).sum(b), x.sum(a | b)


@rule
def reduced(x: Tensor, m: Monoid, a: Axes):
    return x.reduce(m, a), x.reduce(m, a | (a - a))


@rule(dtypes=ints)
def scaled(c: Value, r: Range["n"], f: Body["r"], n: Size):  # noqa: F821
    return sum_over(r, c * f(r)), c * sum_over(r, f(n - 1 - r))


def test_every_set_of_axes_is_an_instance() -> None:
    found = [(g.env.bound["a"], g.env.bound["b"]) for g in goals(sum_sum, int32, 2)]
    assert found[0] == ((), ())
    assert len(found) == 1 + 3 + 9  # each axis is in a, in b, or in neither
    assert len(set(found)) == len(found)
    assert all(not (x and y) for a, b in found for x, y in zip(a, b, strict=True))


def test_axes_become_a_reduce_along_them() -> None:
    (goal,) = [g for g in goals(sum_sum, int32, 3) if g.env.bound["a"] == (True, False, True)][:1]
    assert goal.left.src[0].arg == ReduceArg(Op.Add, (0, 2))
    assert isinstance(goal.right, UOp)
    assert goal.right.arg == ReduceArg(Op.Add, (0, 2))
    assert "a = {0, 2}, b = {}" in goal.label


@pytest.mark.parametrize(
    ("dtype", "ops"),
    [(int32, {Op.Add, Op.Max, Op.Mul}), (bool_, {Op.Max, Op.Mul}), (index, {Op.Add, Op.Max, Op.Mul})],
)
def test_a_monoid_is_any_op_of_reduce_that_the_dtype_has(dtype: Any, ops: set[Op]) -> None:
    assert {g.env.bound["m"] for g in goals(reduced, dtype, 1)} == ops


def test_max_of_no_indices_is_no_identity() -> None:
    @rule
    def neutral(x: Value, m: Monoid):
        return m(x, identity(m)), x

    @rule(dtypes=[index, int8])
    def declared(x: Value, m: Monoid):
        return m(x, identity(m)), x

    for stated in (neutral, declared):
        assert {g.env.bound["m"] for g in goals(stated, index)} == {Op.Add, Op.Mul}
    neutrals = {g.env.bound["m"]: g.left.src[1] for g in goals(neutral, int8)}
    assert neutrals == {Op.Add: const(0, int8), Op.Max: const(-128, int8), Op.Mul: const(1, int8)}
    assert [g.left.src[1] for g in goals(neutral, float32)] == [
        const(v, float32) for v in (0.0, float("-inf"), 1.0)
    ]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (disjoint, [True, True, True, False]),
        (subset, [True, True, False, True]),
        (lambda a, b: no_axes(a), [True, True, False, False]),
        (lambda a, b: all_axes(a), [False, False, True, True]),
        (lambda a, b: a == b, [True, False, False, True]),
        (lambda a, b: a != b, [False, True, True, False]),
        (lambda a, b: a == (0,), [False, False, True, True]),
        (lambda a, b: no_axes(a ^ b) | no_axes(~b), [True, True, False, True]),
    ],
)
def test_conditions_on_axes(condition: Any, holds: list[bool]) -> None:
    @rule(dtypes=[int32])
    def stated(x: Tensor["n"], a: Axes, b: Axes):  # noqa: F821
        given(condition(a, b))
        return x.max(a).max(b), x.max(a | b)

    found = {(g.env.bound["a"], g.env.bound["b"]) for g in goals(stated, int32)}
    every = [((x,), (y,)) for x in (False, True) for y in (False, True)]
    assert [pair in found for pair in every] == holds


def test_axes_by_number() -> None:
    @rule(dtypes=[int32])
    def last(x: Tensor):
        return x.sum(-1).sum((0,)), x.sum((0, -1))

    args = {g.env.bound["rank of"]["x"]: g.left.src[0].arg.axes for g in goals(last, int32, 3)}
    assert args == {2: (1,), 3: (2,)}, "there is no axis -1 at rank 0, and one axis is not named twice"


def test_axes_that_are_named_twice() -> None:
    @rule(dtypes=[int32])
    def twice(x: Tensor["m", "n"]):  # noqa: F821
        return x.sum((0, -2)), x

    assert list(goals(twice, int32)) == []
    assert prove(twice).verdict == "vacuous"
    with pytest.raises(RuleError, match="names one axis twice"):
        axes((1, 1))


def test_axes_where_flags_go() -> None:
    @rule(dtypes=[int32])
    def turned(x: Tensor, a: Axes, s: Shape):
        return x.flip(a).expand(where(a, x.shape, s)), x.expand(where(~a, s, x.shape)).flip(a)

    goal = next(g for g in goals(turned, int32, 2) if g.env.bound["a"] == (False, True))
    assert goal.left.src[0].arg == (False, True)
    assert goal.left.shape == (goal.variables["s[0]"], goal.variables["x.shape[1]"])


def only(stated: Any, dtype: Any) -> Goal:
    (goal,) = goals(stated, dtype)
    return goal


def test_a_reduced_range_is_a_loop_and_a_body_a_table() -> None:
    goal = only(scaled, int32)
    n, c, f = (goal.variables[name] for name in ("n", "c", "f"))
    r = loop(n, 0, AxisType.REDUCE)
    assert goal.env.bound["r"] is r
    assert f.shape == (n,)
    assert goal.env.bound["f"] == Abstraction(Op.Index(f, r), (r,))
    assert goal.left is Op.Reduce(Op.Mul(c, Op.Index(f, r)), r, arg=ReduceArg(Op.Add))
    assert goal.right is Op.Mul(
        c,
        Op.Reduce(Op.Index(f, Op.Sub(Op.Sub(n, const(1, index)), r)), r, arg=ReduceArg(Op.Add)),
    )
    assert set(goal.variables) == {"n", "c", "f"}
    assert goal.hypotheses == (Op.CmpLe(const(0, index), n),)
    assert is_about_shapes(scaled)


def test_a_free_range_is_an_index_with_bounds() -> None:
    @rule
    def digit(r: Range["n"], s: Range[4]):
        return (r * 4 + s) // 4, r

    goal = only(digit, index)
    n, r, s = (goal.variables[name] for name in ("n", "r", "s"))
    zero = const(0, index)
    assert [v.op for v in (r, s)] == [Op.Param, Op.Param]
    assert set(goal.hypotheses) == {
        Op.CmpLe(zero, n),
        Op.CmpLe(zero, r),
        Op.CmpLt(r, n),
        Op.CmpLe(zero, s),
        Op.CmpLt(s, const(4, index)),
    }
    assert dtypes_of(digit) == (index,)
    assert not is_about_shapes(digit)
    assert [name for name, _ in layers_of(digit)] == ["unbounded"]


def test_new_ranges_are_loops_of_their_own() -> None:
    @rule(dtypes=[int32])
    def split(n: Size, r: Range["n"], f: Body["r"]):  # noqa: F821
        given(n % 4 == 0)
        a, b, again = fresh(n // 4), fresh(4), fresh(4)
        return sum_over(r, f(r)), sum_over((a, b), f(a * 4 + b)) + sum_over(again, f(again) * 0)

    goal = only(split, int32)
    assert isinstance(goal.right, UOp)
    first, second = goal.right.src
    ids = [r.arg for reduction in (first, second) for r in reduction.src[1:]]
    assert len({a.id for a in ids} | {goal.env.bound["r"].arg.id}) == 4
    assert all(a == RangeArg(a.id, AxisType.REDUCE) for a in ids)
    assert [r.src[0] for r in first.src[1:]] == [
        Op.Idiv(goal.variables["n"], const(4, index)),
        const(4, index),
    ]


def test_a_body_has_the_dtype_that_its_brackets_say() -> None:
    @rule(dtypes=[int32], s=[int8])
    def mixed(r: Range[3], p: Body["r", bool_], f: Body["r", "s"], g: Body["r"], s: DTypeVar):  # noqa: F821
        return sum_over(r, where(p(r), f(r).cast(int32), g(r))), sum_over(
            r, where(~p(r), g(r), f(r).cast(int32))
        )

    goal = only(mixed, int32)
    assert [goal.variables[name].dtype for name in "pfg"] == [bool_, int8, int32]
    assert goal.variables["p"].shape == (3,)


def test_a_number_that_is_reduced_has_the_dtype_beside_it() -> None:
    @rule(dtypes=[int8])
    def counted(r: Range["n"], x: Value):  # noqa: F821
        return x + sum_over(r, 1), sum_over(r, 1) + x

    assert only(counted, int8).left.src[1].src[0] is const(1, int8)


def test_a_reduction_goes_over_elements_of_any_shape() -> None:
    @rule(dtypes=[int32])
    def constant(r: Range["n"], x: Tensor, c: Value, m: Monoid):  # noqa: F821
        return reduce_over(m, r, x + c), reduce_over(m, r, c + x)

    goal = next(g for g in goals(constant, int32, 2) if g.env.bound["rank of"]["x"] == 2)
    assert goal.left.shape == goal.variables["x"].shape


def test_index_and_stack_are_built() -> None:
    @rule(dtypes=[int32])
    def gathered(x: Tensor["m", "n"], i: Tensor[index, "k"], j: Value[index]):  # noqa: F821
        return stack(x.index(i, 3), x.index(i, j)).index(0), x.index(i, 3)

    goal = only(gathered, int32)
    x, i = goal.variables["x"], goal.variables["i"]
    assert goal.right is Op.Index(x, i, const(3, index))
    assert goal.left.src[0].op is Op.Stack
    assert goal.left.shape == (goal.variables["k"],)


def test_scalars_that_are_stacked_are_about_shapes() -> None:
    @rule(dtypes=[int32])
    def second(x: Value, y: Value):
        return stack(x, y, 0).index(1), y

    assert is_about_shapes(second)
    assert only(second, int32).left.src[0].src[2] is const(0, int32)


def test_a_claim_is_a_rule_whose_right_side_is_true() -> None:
    @rule(dtypes=[index])
    def below(x: Value, c: Const):
        given(c > 0)
        return claim(x % c >= 0, x % c < c)

    goal = only(below, index)
    assert below.claimed
    assert str(below) == "claim (((x % c) >= 0) & ((x % c) < c))  given (c > 0)"
    assert goal.right is const(True, bool_)
    assert goal.left.op is Op.And
    assert prove(below).verdict == "proved"


def test_a_claim_that_does_not_hold_is_refuted() -> None:
    @rule(dtypes=[index])
    def below(x: Value, c: Const):
        return claim(x % c < c)

    assert prove(below).verdict == "refuted"


# sizes that are related -------------------------------------------------------------------------------------------


def test_sizes_that_are_related() -> None:
    @rule
    def product(x: Tensor["n"], n: Size, a: Size, b: Size):  # noqa: F821
        given(n == a * b)
        return x.reshape((a, b)).reshape((n,)), x

    @rule
    def multiple(x: Tensor["n"], n: Size, c: Size):  # noqa: F821
        given(n % c == 0)
        return x.reshape((n // c, c)).reshape((n,)), x

    @rule
    def linear(x: Tensor["n"], n: Size, k: Size):  # noqa: F821
        given(2 * k + 1 <= n)
        return x.shrink((k,), (k + 1,)).index(0), x.index(k)

    @rule
    def not_linear_enough(x: Tensor["n"], n: Size, k: Size):  # noqa: F821
        given(2 * k <= n)
        return x.index(k), x.shrink((k,), (k + 1,)).index(0)

    assert [prove(r).verdict for r in (product, multiple, linear)] == ["proved"] * 3
    assert prove(not_linear_enough).verdict == "refuted"


# what tells rules apart -------------------------------------------------------------------------------------------


def test_every_new_word_tells_rules_apart() -> None:
    def stated(make: Callable[..., Any]) -> str:
        @rule(dtypes=[int32])
        def one(x: Tensor, a: Axes, b: Axes, m: Monoid, n: Size, p: Bool):
            r, s, f = forall(Range["n"], "r"), forall(Range["n"], "s"), forall(Body["r"], "f")
            return where(p, x.sum(a), x.sum(a)), make(x, a, b, m, n, r, s, f)

        return structure(one)

    sides: list[Callable[..., Any]] = [
        lambda x, a, b, m, n, r, s, f: x.sum(a | b),
        lambda x, a, b, m, n, r, s, f: x.sum(a & b),
        lambda x, a, b, m, n, r, s, f: x.sum(a - b),
        lambda x, a, b, m, n, r, s, f: x.sum(b - a),
        lambda x, a, b, m, n, r, s, f: x.max(a | b),
        lambda x, a, b, m, n, r, s, f: x.reduce(m, a | b),
        lambda x, a, b, m, n, r, s, f: x.sum((0,)),
        lambda x, a, b, m, n, r, s, f: x.sum((1,)),
        lambda x, a, b, m, n, r, s, f: m(x, identity(m)),
        lambda x, a, b, m, n, r, s, f: x + f(0),
        lambda x, a, b, m, n, r, s, f: x + f(1),
        lambda x, a, b, m, n, r, s, f: x + sum_over(k := fresh(n), f(k)),
        lambda x, a, b, m, n, r, s, f: x + max_over(k := fresh(n), f(k)),
        lambda x, a, b, m, n, r, s, f: x + sum_over((k := fresh(n), j := fresh(n)), f(k) + f(j)),
        lambda x, a, b, m, n, r, s, f: (
            x + sum_over((k := fresh(n), j := fresh(n)), f(k) + f(k) + 0 * j.cast(int32))
        ),
        lambda x, a, b, m, n, r, s, f: x.index(n),
        lambda x, a, b, m, n, r, s, f: stack(x, x).index(n),
    ]
    assert len({stated(side) for side in sides}) == len(sides)
    assert stated(sides[0]) == stated(sides[0])


def test_numbers_of_axes() -> None:
    assert axes((0, -1)).args == (0, -1)
    assert axes(2).args == (2,)
    with pytest.raises(RuleError, match="a set of axes is needed"):
        axes("0")


def test_an_abstraction_keeps_reductions_inside_apart() -> None:
    r, s = loop(4, 0), loop(4, 1)
    x = param(0, int32, (4, 4))
    inner = Op.Reduce(Op.Index(x, r, s), s, arg=ReduceArg(Op.Add))
    moved = Abstraction(inner, (r,)).at((s,))
    assert moved.src[1] is not s
    assert moved.src[0] is Op.Index(x, s, moved.src[1])


def test_a_set_of_axes_needs_a_rank() -> None:
    with pytest.raises(RuleError, match="need a rank"):
        build_flags(axes(0), Env(int32))
    assert build_flags(axes((0, -1)), Env(int32), 3) == (True, False, True)


def test_a_scalar_of_sizes_and_dtypes_is_repeated_like_any_other() -> None:
    @rule(dtypes=[int32])
    def scaled_by_size(x: Tensor, n: Size):
        return x * n.cast(x.dtype), n.cast(x.dtype) * x

    @rule(dtypes=[int32])
    def scaled_by_own_size(x: Tensor["m", "n"]):  # noqa: F821
        return x * x.shape[0].cast(int32), x * x.shape[-2].cast(int32)

    goal = next(g for g in goals(scaled_by_size, int32, 2) if g.env.bound["rank of"]["x"] == 2)
    assert goal.left.src[1].shape == goal.variables["x"].shape
    assert (
        only(scaled_by_own_size, int32).left.src[1].shape
        == only(scaled_by_own_size, int32).variables["x"].shape
    )


def test_a_shared_term_is_looked_at_once() -> None:
    @rule(dtypes=[int32])
    def shared(x: Value, r: Range["n"], f: Body["r"]):  # noqa: F821
        deep = f(r) + x
        for _ in range(200):
            deep = where(deep == deep, deep + deep, deep)
        return sum_over(r, deep), sum_over(r, deep + 0)

    assert len(list(subterms(shared.left))) < 1000
