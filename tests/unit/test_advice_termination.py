"""Whether rewriting ends: measures that shrink, and terms on which the engine goes on for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soundline.impl.rewriting.engine import RewriteError, rewrite
from soundline.impl.rules import SIMPLIFY, rules_in
from soundline.impl.rules.scalars.commutativity import add_commutative
from soundline.impl.rules.tensors import ranges
from soundline.spec.dtypes import index, int8, int32, int64, ints
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import BinaryOp, Bool, Const, DTypeVar, Interval, Perm, Tensor, Value
from soundline.spec.uop import Op, RangeArg, ReduceArg, const, param
from soundline.verify.advice.loops import NOT_WITH_ALL, text_of
from soundline.verify.advice.measures import CONSTANT, Measure, Weighted, oriented
from soundline.verify.advice.termination import order_of
from soundline.verify.advice.text import lines_about_order

whole = (index, *ints)


@rule(dtypes=whole)
def distribute(x: Value, y: Value, z: Value):
    return x * (y + z), x * y + x * z


@rule(dtypes=whole)
def factor(x: Value, y: Value, z: Value):
    return x * y + x * z, x * (y + z)


@rule(dtypes=whole)
def mul_one(x: Value):
    return x * 1, x


@rule(dtypes=whole)
def grow(x: Value, y: Value):
    return x // y, (x * 3) // (y * 3)


@rule(dtypes=whole)
def turn(x: Value, y: Value):
    return x - y, -(y - x)


@rule(dtypes=whole)
def turn_back(x: Value, y: Value):
    return -(y - x), x - y


@rule(dtypes=whole)
def outward(x: Value, y: Value, c: Const):
    return (x + c) + y, (x + y) + c


@rule(dtypes=whole)
def gather(x: Value, c: Const, d: Const):
    return (x + c) + d, x + (c + d)


@rule(dtypes=whole)
def gather_some(x: Value, c: Const, d: Const):
    given(d > 0)
    return (x + c) + d, x + (c + d)


@rule(dtypes=whole)
def gather_others(x: Value, c: Const, d: Const):
    given(d <= 0)
    return (x + c) + d, x + (c + d)


@rule(dtypes=[index])
def gather_at_index(x: Value, c: Const, d: Const):
    return (x + c) + d, x + (c + d)


@rule(dtypes=whole)
def gather_and_drop(x: Value, c: Const, d: Const):
    return (x + c) + d, 0  # wrong, and not applied where x has an effect


@rule(dtypes=[int32])
def step(x: Value, c: Const):
    given(c >= 2)
    return x // c, x // (c - 1)


@rule(dtypes=whole)
def one_value(x: Interval):
    given(x.lo == x.hi)
    return x, x.lo


@rule
def permute_of_op(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
    return f(x, y).permute(p), f(x.permute(p), y.permute(p))


@rule
def op_of_permute(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
    return f(x.permute(p), y.permute(p)), f(x, y).permute(p)


@rule
def de_morgan(a: Bool, b: Bool):
    return ~(a & b), ~a | ~b


@rule(dtypes=[index], s=[int32, int64])
def compared_as_index(x: Value, s: DTypeVar, y: Value["s"]):  # noqa: F821, UP037
    return x.cast(s) == y, x == y.cast(index)


@rule(dtypes=[int32, int64])
def compared_as_integer(x: Value, s: DTypeVar, y: Value["s"]):  # noqa: F821, UP037
    given(s == index)
    return x.cast(s) == y, x == y.cast(x.dtype)


@rule(dtypes=[int32], s=[index, int64])
def compared_as_either(x: Value, s: DTypeVar, y: Value["s"]):  # noqa: F821, UP037
    return x.cast(s) == y, x == y.cast(int32)


def loops_of(*rules: Rule) -> list[set[str]]:
    return [set(loop.rules) for loop in order_of(rules).loops]


@pytest.mark.parametrize(
    "rules",
    [
        (mul_one,),
        (factor, mul_one),
        (distribute, mul_one),
        (turn_back,),
        (one_value,),
        (permute_of_op, mul_one),
        (op_of_permute,),
        (de_morgan,),
    ],
    ids=lambda rules: "+".join(r.id for r in rules),
)
def test_rules_that_end_have_a_measure(rules: tuple[Rule, ...]) -> None:
    order = order_of(rules)
    assert order.loops == ()
    assert order.rules == len(rules)
    assert order.measures
    assert all(text.startswith("leaves 1") for text in order.measures)


def test_two_rules_that_undo_each_other_go_round() -> None:
    order = order_of((distribute, mul_one, factor))
    assert order.rules < 3
    (loop,) = order.loops
    assert set(loop.rules) == {"distribute", "factor"}
    assert [rule for _, rule in loop.steps] == ["distribute", "factor"]
    assert loop.steps[0][0] == "(x * (y + z))"
    assert loop.text == "comes back: (x * (y + z))"


def test_a_rule_that_undoes_itself_goes_round() -> None:
    (loop,) = order_of((turn,)).loops
    assert loop.rules == ("turn",)
    assert loop.text.startswith("comes back")


def test_a_rule_that_feeds_itself_grows() -> None:
    (loop,) = order_of((grow, mul_one)).loops
    assert loop.rules == ("grow",)
    assert loop.text.startswith("grows on and on")
    assert len(loop.steps) == 6
    assert len(loop.steps[-1][0]) > len(loop.steps[0][0])


def test_loops_that_have_nothing_in_common_are_told_apart() -> None:
    assert loops_of(turn, grow, mul_one, distribute) == [{"turn"}, {"grow"}]


def test_movement_in_both_directions_goes_round() -> None:
    (loop,) = order_of((permute_of_op, op_of_permute)).loops
    assert set(loop.rules) == {"permute_of_op", "op_of_permute"}


def test_a_rule_without_a_measure_and_without_a_loop_says_so() -> None:
    (loop,) = order_of((step,)).loops
    assert loop.rules == ("step",)
    assert "no term" in loop.text


def test_the_loop_is_what_the_engine_finds() -> None:
    """The term that is shown is one on which the engine itself does not end."""
    x, y, z = (param(n, index) for n in range(3))
    start = UOp_mul(x, UOp_add(y, z))
    with pytest.raises(RewriteError):
        rewrite(start, (distribute, factor), limit=50)
    rewrite(start, (distribute, mul_one), limit=50)
    rewrite(start, (factor, mul_one), limit=50)


def UOp_mul(a, b):
    return Op.Mul(a, b)


def UOp_add(a, b):
    return Op.Add(a, b)


def test_rules_that_the_matcher_uses_are_exempt() -> None:
    order = order_of((add_commutative, mul_one))
    assert order.exempt == ("add_commutative",)
    assert order.loops == ()
    own = replace(add_commutative, id="mine")  # the same rule under another name
    assert order_of((own, mul_one)).exempt == ("mine",)


def test_a_cast_to_index_and_another_cast_are_two_ops() -> None:
    order = order_of((compared_as_index,))
    assert order.loops == ()
    assert order.rules == 1
    assert any("Cast " in text for text in order.measures)


@pytest.mark.parametrize("casting", [compared_as_integer, compared_as_either], ids=lambda r: r.id)
def test_a_dtype_that_may_be_index_is_read_both_ways(casting: Rule) -> None:
    """It has a measure where its dtype is index, but none where it is not, or none beside the rule that undoes it."""
    assert len(list(oriented(compared_as_either))) == 2
    assert {name for loop in loops_of(compared_as_index, casting) for name in loop} >= {casting.id}


@pytest.mark.thorough
def test_the_shipped_rules_end() -> None:
    order = order_of(SIMPLIFY)
    assert order.loops == ()
    assert order.first == (("add_constant_outward", "y", "add_add_constants"),)
    assert set(order.unread) <= {r.id for r in rules_in(ranges)}  # of bodies no measure speaks
    assert order.exempt == ("mulacc_is_mul_add",)
    assert order.rules == len(SIMPLIFY) - len(order.unread) - len(order.exempt)


def test_the_order_of_trying_tells_what_is_never_a_constant() -> None:
    order = order_of((gather, outward))
    assert order.loops == ()
    assert order.rules == 2
    assert order.first == (("outward", "y", "gather"),)
    assert lines_about_order(order)[-1] == "  y of outward is no constant: gather comes first and takes those"


@pytest.mark.parametrize("early", [gather_some, gather_at_index, gather_and_drop], ids=lambda r: r.id)
def test_an_earlier_rule_that_does_not_take_every_constant_tells_nothing(early: Rule) -> None:
    order = order_of((early, outward))
    assert {name for loop in order.loops for name in loop.rules} == {"outward"}
    assert order.first == ()


def test_a_rule_that_comes_later_takes_nothing() -> None:
    order = order_of((outward, gather))
    assert "outward" in {name for loop in order.loops for name in loop.rules}
    assert order.first == ()


def test_a_rule_that_loops_only_without_the_others_says_so() -> None:
    (loop,) = order_of((gather_some, gather_others, outward)).loops
    assert loop.rules == ("outward",)
    assert loop.text.endswith(NOT_WITH_ALL)


# measures -------------------------------------------------------------------------------------------------------------


def shrinks(stated: Rule, measure: Measure) -> bool:
    """Whether some numbers make a rule shrink."""
    for at in oriented(stated):
        measure.solver.add(measure.shrinks(at)[1])
    return str(measure.solver.check()) == "sat"


def test_a_plain_measure_counts_what_stands_twice() -> None:
    assert shrinks(factor, Measure())
    assert not shrinks(distribute, Measure())
    assert shrinks(distribute, Measure(products=frozenset({"Mul"})))


def test_factors_see_how_deep_something_stands() -> None:
    assert not shrinks(permute_of_op, Measure())
    assert shrinks(permute_of_op, Measure(factors=True))


def test_no_measure_shrinks_both_ways() -> None:
    for kind in (Measure, lambda: Measure(factors=True), lambda: Measure(products=frozenset({"Mul"}))):
        measure = kind()
        assert not (shrinks(distribute, measure) and shrinks(factor, measure))


def test_constants_and_operations_on_them_count_the_same() -> None:
    measure = Measure()
    (at,) = oriented(outward)
    c = outward.variables["c"]
    assert isinstance(c, Value)
    assert measure.of(c, at) == measure.of(c * 3 + 1, at) == Weighted.of(CONSTANT)


def test_an_op_variable_stands_for_every_op() -> None:
    names = {at.ops["f"] for at in oriented(permute_of_op)}
    assert {Op.Add, Op.Mul, Op.Max, Op.And, Op.CmpLt, Op.Cast} - names == {
        Op.Cast
    }  # bools keep their dtype in CmpLt


# terms ----------------------------------------------------------------------------------------------------------------


def test_nodes_are_told_in_the_notation_of_rules() -> None:
    (goal,) = goals(distribute, index)
    names = {node: name for name, node in goal.variables.items()}
    assert text_of(goal.left, names) == "(x * (y + z))"
    assert text_of(Op.Add(param(7, int8), const(3, int8)), names) == "(x7 + 3)"
    (flat,) = list(goals(permute_of_op, int32, max_rank=0))[:1]
    assert "permute(())" in text_of(flat.left, {node: name for name, node in flat.variables.items()})
    x = param(7, int32, (2, 3))
    assert text_of(Op.Reduce(x, arg=ReduceArg(Op.Add, (0,))), names) == "x7.sum((0,))"
    r = Op.Range(const(3, index), arg=RangeArg(0))
    body = Op.Add(r, const(1, index))
    assert text_of(Op.Reduce(body, r, arg=ReduceArg(Op.Max, ())), {r: "r"}) == "max_over(r, (r + 1))"
