"""Normal forms: the same whether rules are functions or steps, by the same rules, used as often."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections import Counter
from collections.abc import Sequence
from itertools import permutations, product

import pytest

from soundline.impl.analysis.checks import on_sources
from soundline.impl.collecting import collection_paused
from soundline.impl.matching.matcher import Pattern
from soundline.impl.rewriting.engine import FOLDING, RewriteError, Rewritten, Step, rewrite
from soundline.impl.rules import SIMPLIFY
from soundline.impl.rules.procedural import PROCEDURES
from soundline.impl.rules.scalars import absorption, identities
from soundline.spec.dtypes import DType, bool_, index, int8, int32
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import toposort
from soundline.spec.rules.language import Rule, Sides, rule
from soundline.spec.rules.procedures import Knowledge, Procedure, procedure
from soundline.spec.rules.terms import Value
from soundline.spec.uop import Op, ReduceArg, UOp, buffer, const, expand, loop, param, reshape

FEW = (
    *(identities.add_zero, identities.sub_zero, identities.zero_sub, identities.mul_one, identities.neg_neg),
    *(
        identities.add_neg,
        identities.sub_neg,
        identities.neg_sub,
        identities.mul_neg_neg,
        identities.and_self,
    ),
    *(identities.max_self, identities.add_sub_cancel, identities.sub_add_cancel, absorption.mul_zero),
    *(absorption.sub_self, absorption.xor_self, absorption.and_or_absorb, absorption.max_max_absorb),
)
EVERY = (*SIMPLIFY, *PROCEDURES)
INTEGERS = (Op.Add, Op.Sub, Op.Mul, Op.Max, Op.And, Op.Or, Op.Xor, Op.Neg)
BOOLS = (Op.And, Op.Or, Op.Xor, Op.Not)


def drawn(seed: int, count: int, dtype: DType = int32, shape: tuple[int, ...] = ()) -> UOp:
    """A graph of about so many operations, of which many are instances of rules."""
    draw = random.Random(seed)
    numbers = (0, 1) if dtype is bool_ else (0, 1, -1, 3)
    constants = [const(bool(v) if dtype is bool_ else v, dtype) for v in numbers]
    if shape:
        constants = [expand(reshape(c, (1,) * len(shape)), shape) for c in constants]
    pool = [*(param(k, dtype, shape) for k in range(4)), *constants]
    while len(pool) < count:
        op, a = draw.choice(BOOLS if dtype is bool_ else INTEGERS), draw.choice(pool[-60:])
        chance = draw.random()
        b = draw.choice(constants) if chance < 0.2 else a if chance < 0.3 else draw.choice(pool[-60:])
        try:
            pool.append(
                UOp(op, (a,) if op in (Op.Neg, Op.Not) else (a, b), tag="t" if chance > 0.98 else None)
            )
        except IllFormed:  # the law has no such op at this dtype
            continue
    return Op.Tuple(*pool)


def both_ways(graph: UOp, rules: Sequence[Rule | Procedure]) -> tuple[Rewritten, Rewritten]:
    """What the functions of rules give, and what their steps give."""
    found = rewrite(graph, rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pattern, "apply", property(lambda pattern: pattern.by_steps))
        return found, rewrite(graph, rules)


@pytest.mark.parametrize("shape", [(), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", [int8, int32, bool_], ids=str)
def test_functions_lead_where_steps_lead(dtype: DType, shape: tuple[int, ...]) -> None:
    for seed in range(3):
        found, expected = both_ways(drawn(seed, 700, dtype, shape), FEW)
        assert found == expected


def test_they_do_with_all_rules_and_procedures() -> None:
    for dtype in (int32, index):
        found, expected = both_ways(drawn(11, 250, dtype), EVERY)
        assert found.uop is expected.uop
        assert (found.applied, found.folded) == (expected.applied, expected.folded)


def test_functions_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    by_steps: list[UOp] = []
    match = Pattern.match
    monkeypatch.setattr(
        Pattern, "match", lambda self, node, facts: by_steps.append(node) or match(self, node, facts)
    )
    assert rewrite(drawn(5, 700), FEW).applied
    assert len(by_steps) < 100
    both_ways(drawn(5, 700), FEW)
    assert len(by_steps) > 200


def test_every_step_is_watched_and_counted_once() -> None:
    graph, seen = drawn(5, 700), []
    found = rewrite(graph, FEW, watch=lambda *step: seen.append(step))
    assert found == rewrite(graph, FEW)
    rules = Counter(step.id for step, _, _ in seen if step is not FOLDING)
    counted = {name: n for name, n in found.applied if not name.endswith("commutative")}
    assert rules == counted
    assert found.folded == len(seen) - rules.total()
    assert len({before for _, before, _ in seen}) == len(seen)


def test_a_step_leads_on_from_finished_operands() -> None:
    """Each node before a step stands on normal forms, and no step leads to itself."""
    finished: set[UOp] = set()

    def watch(step: Step, before: UOp, after: UOp) -> None:
        assert not finished & {before}
        assert after is not before
        assert all(rewrite(s, FEW).uop is s for s in before.src)
        finished.add(before)

    rewrite(drawn(9, 120), FEW, watch=watch)
    assert finished


@rule(dtypes=[int32])
def into_circle(x: Value, y: Value) -> Sides:
    return x + y, x ^ y


def test_a_circle_names_its_own_rules_only() -> None:
    graph = Op.Add(param(0, int32), param(1, int32))
    with pytest.raises(RewriteError) as caught:
        rewrite(graph, (into_circle, to_and, to_xor))
    assert caught.value.rules == ("to_and", "to_xor")


@rule(dtypes=[int32])
def difference(x: Value, y: Value) -> Sides:
    a, b = -x, -y
    return x ^ y, -a - -b


def test_operands_are_rewritten_from_left_to_right() -> None:
    """Those of what a rule makes like those of the program: new ranges are numbered in this order."""
    x, y = param(0, int32), param(1, int32)
    negated = [Op.Neg(Op.Neg(n)) for n in (x, y)]
    for graph in (Op.Xor(x, y), Op.Sub(*negated)):
        seen: list[UOp] = []
        rewrite(
            graph,
            (difference, identities.neg_neg),
            watch=lambda step, before, after, seen=seen: seen.append(before),  # type: ignore[misc]
        )
        assert seen[-2:] == negated


def test_what_a_rule_makes_may_be_deeper_than_the_stack_of_python() -> None:
    depth = 2 * sys.getrecursionlimit()

    @procedure(Op.Xor)
    def tower(node: UOp, known: Knowledge) -> UOp | None:
        """x + y + y + …, with a zero in it."""
        x, y = node.src
        made = Op.Add(x, const(0, int32))
        for _ in range(depth):
            made = Op.Add(made, y)
        return made

    x, y = param(0, int32), param(1, int32)
    found = rewrite(Op.Xor(x, y), (tower, identities.add_zero), validate=False)
    assert dict(found.applied) == {"tower": 1, "add_zero": 1}
    assert sum(n.op is Op.Add for n in toposort(found.uop)) == depth


def test_what_has_an_effect_is_kept_however_often_its_like_is_dropped() -> None:
    zero, x = const(0, int32), param(0, int32)
    harmless = [Op.Mul(Op.Add(x, param(k, int32)), zero) for k in range(1, 200)]
    effect = Op.Custom(x, arg="f")
    stored = Op.After(Op.Load(Op.Index(buffer(0, 4, int32, None), const(0, index))), effect)
    kept = Op.Mul(Op.Add(x, stored), zero)
    for order in ([*harmless, kept], [kept, *harmless], [*harmless[:100], kept, *harmless[100:]]):
        result = rewrite(Op.Tuple(*order), FEW).uop
        assert [n for n in result.src if n is not zero] == [kept]


def test_an_effect_in_a_size_is_an_effect() -> None:
    """What is not rewritten, as the sizes of a view, is looked through as well."""
    zero = const(0, int32)
    length = Op.After(param(9, index, bounds=(1, 4)), Op.Custom(param(0, int32), arg="f"))
    total = Op.Reduce(Op.Cast(loop(length, 7), arg=int32), loop(length, 7), arg=ReduceArg(Op.Add))
    harmless = [Op.Mul(Op.Add(param(0, int32), param(k, int32)), zero) for k in range(1, 120)]
    result = rewrite(Op.Tuple(*harmless, Op.Mul(total, zero)), FEW).uop
    assert result.src[-1] is Op.Mul(total, zero)


@rule(dtypes=[int32])
def apart(x: Value, y: Value) -> Sides:
    return x ^ y, (x | y) - (x & y)


@rule(dtypes=[int32])
def together(x: Value, y: Value) -> Sides:
    return (x | y) - (x & y), x ^ y


def test_a_circle_is_an_error_also_where_the_rules_are_functions() -> None:
    graph = Op.Xor(param(0, int32), param(1, int32))
    for _ in range(2):
        with pytest.raises(RewriteError) as caught:
            rewrite(graph, (apart, together))
        assert set(caught.value.rules) == {"apart", "together"}


@rule(dtypes=[int32])
def to_and(x: Value, y: Value) -> Sides:
    return x ^ y, x & y


@rule(dtypes=[int32])
def to_xor(x: Value, y: Value) -> Sides:
    return x & y, x ^ y


def test_a_circle_through_finished_operands_is_an_error_as_well() -> None:
    graph = Op.Xor(param(0, int32), param(1, int32))
    for _ in range(2):
        with pytest.raises(RewriteError) as caught:
            rewrite(graph, (to_and, to_xor))
        assert set(caught.value.rules) == {"to_and", "to_xor"}


def test_a_node_that_is_met_twice_counts_once() -> None:
    """A conjunction is replaced on its finished operands; a right side makes another like it."""
    rules = (identities.neg_neg, identities.and_self, apart)
    for k in range(3):
        x = param(k, int32)
        found, expected = both_ways(Op.Tuple(Op.And(Op.Neg(Op.Neg(x)), x), Op.Xor(x, x)), rules)
        assert found == expected
        assert dict(found.applied)["and_self"] == 1


def test_the_limit_holds_also_where_the_rules_are_functions() -> None:
    graph = drawn(3, 700)
    count = sum(n for name, n in rewrite(graph, FEW).applied if not name.endswith("commutative"))
    assert rewrite(graph, FEW, limit=count)
    with pytest.raises(RewriteError, match=f"more than {count - 1} applications"):
        rewrite(graph, FEW, limit=count - 1)


def test_a_node_on_other_sources_is_what_the_law_makes() -> None:
    pool = [*(param(k, d, s) for k, (d, s) in enumerate(product((int8, int32, bool_), ((), (2, 3), (3,)))))]
    pool += [const(1, int32), const(True, bool_), buffer(0, 4, int32), param(90, int32, device="CUDA")]
    made = 0
    for op, tag in product((Op.Add, Op.CmpLt, Op.Where, Op.Neg, Op.And), (None, "t")):
        count = {Op.Where: 3, Op.Neg: 1}.get(op, 2)
        for own in product(pool, repeat=count):
            try:
                node = UOp(op, own, None, tag)
            except IllFormed:
                continue
            for other in product(pool, repeat=count) if count < 3 else permutations(own):
                try:
                    expected = UOp(op, other, None, tag)
                except IllFormed:
                    expected = node
                assert on_sources(node, other) is expected
                made += expected is not node
    assert made > 500
    p, x, y = param(70, bool_), param(71, int32), param(72, int32)
    choice = Op.Where(p, x, y)
    assert on_sources(choice, (p, y, y)) is Op.Where(p, y, y)
    assert on_sources(choice, (p, param(73, int8), y)) is choice, "there is no such choice"
    cast = Op.Cast(pool[0], arg=int32)
    assert on_sources(cast, (param(80, int8),)) is Op.Cast(param(80, int8), arg=int32)


def test_what_was_rewritten_is_let_go() -> None:
    graph = drawn(8, 700)
    result = rewrite(graph, FEW).uop
    gone = [weakref.ref(n) for n in (graph, result)]
    gc.disable()  # no cycle keeps it
    try:
        del graph, result
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()


class Knot:
    """A reference cycle."""

    def __init__(self) -> None:
        self.self = self


def test_cycles_that_are_made_while_collection_pauses_are_found_later() -> None:
    with collection_paused():
        knots = [Knot() for _ in range(20_000)]
        gone = weakref.ref(knots[0])
        del knots
        assert gone() is not None
    gc.collect()
    assert gone() is None
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_others_have_frozen_stays_frozen() -> None:
    gc.collect()
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with collection_paused():
            kept = [[] for _ in range(20_000)]  # type: ignore[var-annotated]
        assert gc.get_freeze_count() == before
        assert kept
    finally:
        gc.unfreeze()
