"""The engine: fixed points, circles, deep programs, and what it leaves alone."""

from __future__ import annotations

import pytest

from soundline.impl.analysis.folding import fold, repeat
from soundline.impl.rewriting.engine import RewriteError, rewrite
from soundline.impl.rules import LIBRARY, SIMPLIFY
from soundline.spec.dtypes import DType, bool_, float32, index, int8, int32, ints
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.node import AxisType, Op, ReduceArg, UOp, toposort
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, Sides, given, rule
from soundline.spec.rules.terms import Const, Tensor, Value
from soundline.spec.uop import broadcast_to, buffer, const, loop, pad, param, reshape
from soundline.verify.verdicts.layers import layers_of

X, Y = param(0, int32), param(1, int32)
BY_ID = {r.id: r for r in LIBRARY}


def c(number: int, dtype: DType = int32) -> UOp:
    return const(number, dtype)


# Fixed points -------------------------------------------------------------------------------------------------------


def test_rewrites_to_a_fixed_point_and_counts() -> None:
    program = Op.Add(Op.Add(Op.Mul(X, c(1)), c(5)), c(-5))
    done = rewrite(program, SIMPLIFY)
    assert done.uop is X
    assert done.applied == (("add_add_constants", 1), ("add_zero", 1), ("mul_one", 1))
    assert done.folded == 1


def test_nothing_to_do_gives_the_same_node() -> None:
    program = Op.Add(X, Y)
    assert rewrite(program, SIMPLIFY).uop is program
    assert rewrite(program, SIMPLIFY).applied == ()


def test_the_earlier_rule_wins() -> None:
    @rule(dtypes=ints)
    def to_left(x: Value, y: Value) -> Sides:
        return x ^ y, x

    @rule(dtypes=ints)
    def to_right(x: Value, y: Value) -> Sides:
        return x ^ y, y

    program = Op.Xor(X, Y)
    assert rewrite(program, [to_left, to_right]).uop is X
    assert rewrite(program, [to_right, to_left]).uop is Y


def test_shared_nodes_are_rewritten_once() -> None:
    node = Op.Add(X, c(0))
    for _ in range(40):
        node = Op.Max(Op.Neg(node), node)
    done = rewrite(node, [BY_ID["add_zero"]])
    assert done.applied == (("add_zero", 1),)


def test_is_deterministic() -> None:
    program = Op.Mod(Op.Add(Op.Mul(loop(4, 0), c(8, index)), loop(8, 1)), c(8, index))
    first, second = rewrite(program, SIMPLIFY), rewrite(program, SIMPLIFY)
    assert first == second
    assert first.uop is second.uop
    assert first.uop is loop(8, 1)


def test_flattened_index_is_unflattened() -> None:
    row, column = loop(4, 0), loop(8, 1)
    flat = Op.Add(Op.Mul(row, c(8, index)), column)
    assert rewrite(Op.Idiv(flat, c(8, index)), SIMPLIFY).uop is row
    assert rewrite(Op.Idiv(flat, c(7, index)), SIMPLIFY).uop is not row


def test_watch_sees_each_application() -> None:
    seen: list[tuple[str, UOp, UOp]] = []
    program = Op.Neg(Op.Neg(Op.Mul(X, c(1))))
    rewrite(program, SIMPLIFY, watch=lambda r, before, after: seen.append((r.id, before, after)))
    assert [name for name, _, _ in seen] == ["mul_one", "neg_neg"]
    for _, before, after in seen:
        assert evaluate(before, {0: -7}) == evaluate(after, {0: -7})


# Circles ------------------------------------------------------------------------------------------------------------


@rule(dtypes=ints)
def to_difference(x: Value, y: Value) -> Sides:
    return x + y, x - -y


@rule(dtypes=ints)
def to_sum(x: Value, y: Value) -> Sides:
    return x - -y, x + y


@rule(dtypes=ints)
def grow(x: Value) -> Sides:
    return -x, -(-(-x))  # noqa: B002  (the growth is the point)


@rule(dtypes=ints)
def count_up(x: Value, k: Const) -> Sides:
    return x * k, x * (k + 1)


def test_circle_is_an_error_that_names_its_rules() -> None:
    with pytest.raises(RewriteError) as error:
        rewrite(Op.Add(X, Y), [BY_ID["mul_one"], to_difference, to_sum])
    assert set(error.value.rules) == {"to_difference", "to_sum"}
    assert error.value.hint


def test_circle_of_one_rule() -> None:
    with pytest.raises(RewriteError) as error:
        rewrite(Op.Add(X, Y), [BY_ID["add_commutative"]])
    assert error.value.rules == ("add_commutative",)


def test_growth_through_itself_is_a_circle() -> None:
    with pytest.raises(RewriteError) as error:
        rewrite(Op.Neg(X), [grow])
    assert error.value.rules == ("grow",)


def test_endless_growth_meets_the_limit() -> None:
    with pytest.raises(RewriteError) as error:
        rewrite(Op.Mul(param(0, int32), c(2)), [count_up], limit=50)
    assert error.value.rules == ("count_up",)


def test_limit_counts_applications() -> None:
    program = Op.Max(Op.Mul(X, c(1)), Op.Mul(Y, c(1)))
    assert rewrite(program, [BY_ID["mul_one"]], limit=2).uop is Op.Max(X, Y)
    with pytest.raises(RewriteError):
        rewrite(program, [BY_ID["mul_one"]], limit=1)


# Wrong rules and licences -------------------------------------------------------------------------------------------


def test_rule_that_changes_the_dtype_or_shape_is_an_error() -> None:
    @rule
    def to_other_shape(x: Tensor) -> Sides:
        return x.flip((True,)), x.reshape((1, x.shape[0]))

    @rule(dtypes=ints)
    def to_other_dtype(x: Value) -> Sides:
        return -x, x == x

    with pytest.raises(RewriteError) as error:
        rewrite(Op.Flip(param(0, int32, (3,)), arg=(True,)), [to_other_shape])
    assert error.value.rules == ("to_other_shape",)
    with pytest.raises(RewriteError) as error:
        rewrite(Op.Neg(X), [to_other_dtype])
    assert error.value.rules == ("to_other_dtype",)


def test_rule_needs_its_licence() -> None:
    @rule(dtypes=[float32], licences="reassociate")
    def regroup(x: Value, k: Const, d: Const) -> Sides:
        return (x + k) + d, x + (k + d)

    program = Op.Add(Op.Add(param(0, float32), const(1.0, float32)), const(2.0, float32))
    assert rewrite(program, [regroup]).uop is program
    assert rewrite(program, [regroup], licences=("contract",)).uop is program
    assert rewrite(program, [regroup], licences=("reassociate",)).uop is not program


def test_device_is_kept() -> None:
    """x · 0 on a device is no constant, which is on none (U-01)."""
    here, nowhere = param(0, int32, device="CPU"), param(0, int32)
    assert rewrite(Op.Mul(nowhere, c(0)), [BY_ID["mul_zero"]]).uop is c(0)
    on_device = Op.Mul(here, c(0))
    assert rewrite(on_device, [BY_ID["mul_zero"]]).uop is on_device


# Deep programs ------------------------------------------------------------------------------------------------------

DEEP = 5_000


def test_deep_chain_that_collapses() -> None:
    node = X
    for _ in range(DEEP):
        node = Op.Add(node, c(1))
    assert rewrite(node, SIMPLIFY).uop is Op.Add(X, c(DEEP))


def test_deep_chain_that_stays() -> None:
    node = X
    for k in range(DEEP):
        node = Op.Max(Op.Xor(node, Y), c(k))
    assert rewrite(node, SIMPLIFY).uop is node


def test_view_that_sinks_through_a_deep_chain() -> None:
    node = param(0, int32, (2, 3))
    for _ in range(DEEP):
        node = Op.Max(Op.Neg(node), param(1, int32, (2, 3)))
    done = rewrite(Op.Flip(node, arg=(True, False)), SIMPLIFY)
    flips = [n for n in toposort(done.uop) if n.op is Op.Flip]
    assert all(f.src[0].op is Op.Param for f in flips)
    assert len(flips) == 2


# Folding ------------------------------------------------------------------------------------------------------------


def test_operations_on_constants_are_evaluated() -> None:
    assert fold(Op.Add(c(127, int8), c(1, int8))) is c(-128, int8)
    assert fold(Op.CmpLt(c(1), c(2))) is const(True, bool_)
    assert fold(Op.Cast(const(3e9, float32), arg=int32)) is c(2**31 - 1)
    assert fold(Op.Bitcast(const(1.0, float32), arg=int32)) is c(0x3F800000)
    assert fold(Op.Add(X, c(1))) is None
    assert fold(c(1)) is None


def test_views_of_repeated_constants_have_one_form() -> None:
    seven = broadcast_to(c(7), (2, 3))
    assert fold(seven) is None
    assert fold(Op.Permute(seven, arg=(1, 0))) is repeat(c(7), (3, 2))
    assert fold(reshape(seven, (6,))) is repeat(c(7), (6,))
    assert fold(pad(seven, (0, 1), (2, 5))) is None


# What is left alone -------------------------------------------------------------------------------------------------


def test_bodies_of_functions_are_not_entered() -> None:
    body = Op.Tuple(Op.Mul(param(0, int32), c(1)))
    call = Op.GetTuple(Op.Function(body, Op.Mul(Y, c(1))), arg=0)
    done = rewrite(call, SIMPLIFY)
    assert done.uop.src[0].src == (body, Y)


def test_argument_that_must_stay_inside_bounds_is_kept() -> None:
    @rule(dtypes=[index])
    def forget(x: Value) -> Sides:
        return x % 8, x

    bounded = param(0, index, bounds=(0, 7))
    call = Op.GetTuple(Op.Function(Op.Tuple(bounded), Op.Mod(param(1, index), c(8, index))), arg=0)
    assert rewrite(call, [forget]).uop is call


def test_a_loop_of_one_iteration_keeps_its_reduce() -> None:
    once = loop(1, 0, AxisType.REDUCE)
    total = Op.Reduce(Op.Cast(Op.Add(once, c(3, index)), arg=int32), once, arg=ReduceArg(Op.Add))
    done = rewrite(total, [r for r in SIMPLIFY if r.id not in ("sum_of_one_iteration", "sum_of_same")])
    assert done.uop.op is Op.Reduce
    assert done.uop.src[1:] == (once,)
    assert once not in toposort_of(done.uop.src[0])
    assert evaluate(done.uop) == evaluate(total)
    assert rewrite(total, SIMPLIFY).uop is c(3, int32)


def toposort_of(node: UOp) -> set[UOp]:
    return set(toposort(node))


def test_sizes_and_names_are_kept() -> None:
    n = Op.Mul(param(0, index, bounds=(1, 9)), c(1, index))
    x = param(1, int32, (n,))
    assert rewrite(Op.Neg(Op.Neg(x)), SIMPLIFY).uop is x


def test_a_place_stays_a_place() -> None:
    """A Store still stores there, at a simpler index."""
    out = buffer(0, 4, int32)
    place = Op.Index(out, Op.Add(loop(4, 0), c(0, index)))
    store = Op.End(Op.Store(place, Op.Mul(c(3), c(1))), loop(4, 0))
    done = rewrite(Op.Sink(store), SIMPLIFY)
    stores = [n for n in toposort(done.uop) if n.op is Op.Store]
    assert [s.src for s in stores] == [(Op.Index(out, loop(4, 0)), c(3))]
    before, after = (execute(p, {}, {0: [0, 0, 0, 0]}) for p in (Op.Sink(store), done.uop))
    assert before == after


@pytest.mark.parametrize("stated", [r for r in SIMPLIFY if not r.given], ids=lambda r: r.id)
def test_simplification_is_a_fixed_point_of_each_right_side(stated: Rule) -> None:
    """No rule of the set undoes another: every right side comes to rest under all of them."""
    for _, dtype in layers_of(stated)[:3]:
        for _, goal in zip(range(6), goals(stated, dtype, 2), strict=False):
            if isinstance(goal.right, IllFormed):
                continue
            once = rewrite(goal.right, SIMPLIFY).uop
            assert rewrite(once, SIMPLIFY).uop is once
            rewrite(goal.left, SIMPLIFY)


def test_condition_is_checked_again_at_each_node() -> None:
    @rule(dtypes=ints)
    def positive(x: Value, k: Const) -> Sides:
        given(k > 0)
        return x * k, x

    assert rewrite(Op.Mul(Op.Mul(X, c(3)), c(-3)), [positive]).uop is Op.Mul(X, c(-3))
