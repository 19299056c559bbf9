"""A rule written out as one function does what its steps do."""

from __future__ import annotations

import itertools
import random

import pytest

from soundline.impl.analysis.facts import Facts
from soundline.impl.matching.matcher import Pattern, patterns_of
from soundline.impl.rules import LIBRARY
from soundline.spec.dtypes import bool_, float32, index, int8, int32
from soundline.spec.errors import IllFormed
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import Value
from soundline.spec.uop import Op, UOp, buffer, const, expand, loop, param, reshape

WRITTEN = [p for r in LIBRARY for p in patterns_of(r) if p.apply != p.by_steps]


def leaves(shape: tuple[int, ...]) -> list[UOp]:
    made = [param(k, dtype, shape) for k, dtype in enumerate((int32, int8, bool_, float32, index) * 2)]
    for dtype, values in (
        (int32, (0, 1, -1, 2)),
        (bool_, (True, False)),
        (float32, (0.0, -0.0, 1.0)),
        (index, (0, 1)),
    ):
        for v in values:
            c = const(v, dtype)
            made.append(expand(reshape(c, (1,) * len(shape)), shape) if shape else c)
    loaded = Op.Load(Op.Index(buffer(0, 8, int32), loop(8, 1)))
    tagged = [UOp(Op.Const, (), const(v, int32).arg, "tag") for v in (0, 1)]
    return made if shape else [*made, loaded, *tagged]


def nodes(pattern: Pattern, pool: list[UOp], draw: random.Random) -> list[UOp]:
    """Nodes with the ops of a left side, on operands drawn from a pool and repeated often."""

    def made(term: Value, chosen: dict[str, UOp]) -> UOp:
        if not isinstance(term.head, Op):
            name = str(term.args[0])
            if name not in chosen or draw.random() < 0.1:
                chosen[name] = draw.choice(pool)
            return chosen[name]
        return UOp(term.head, tuple(made(a, chosen) for a in term.args))

    found = []
    for _ in range(150):
        try:
            found.append(made(pattern.left, {}))
        except IllFormed:
            continue
    return found


def test_many_rules_are_written_out() -> None:
    assert len({p.rule.id for p in WRITTEN}) > 60


@pytest.mark.parametrize("shape", [(), (2, 3)], ids=str)
def test_functions_do_what_the_steps_do(shape: tuple[int, ...]) -> None:
    draw, pool = random.Random(7), leaves(shape)
    matched: set[str] = set()
    for pattern in WRITTEN:
        for node in nodes(pattern, pool, draw):
            found = pattern.apply(node, Facts())
            assert found is pattern.by_steps(node, Facts()), (pattern.rule, node)
            if found is not None:
                matched.add(pattern.rule.id)
    assert len(matched) > 30


@rule(dtypes=[int32])
def drops(x: Value):
    return x * 0, 0


@rule(dtypes=[int32])
def needs_both(x: Value, y: Value):
    return x - y, x - y - 0


@rule(dtypes=[int32])
def conditional(x: Value, y: Value):
    given(y != 0)
    return x + y, x


def function_of(stated: Rule):
    pattern = patterns_of(stated)[0]
    return None if pattern.apply == pattern.by_steps else pattern.apply


def test_a_condition_or_an_inner_number_is_left_to_the_steps() -> None:
    assert function_of(conditional) is None
    assert function_of(needs_both) is None


def test_what_has_an_effect_is_not_dropped() -> None:
    apply = function_of(drops)
    x = param(0, int32)
    effect = Op.Custom(x, arg="f")
    zero = const(0, int32)
    assert apply(Op.Mul(x, zero), Facts()) is zero
    stored = Op.After(Op.Load(Op.Index(buffer(0, 4, int32, None), const(0, index))), effect)
    node = Op.Mul(stored, zero)
    assert node.device is zero.device
    assert apply(node, Facts()) is None
    assert patterns_of(drops)[0].by_steps(node, Facts()) is None


def test_another_dtype_or_another_number_does_not_match() -> None:
    apply = function_of(drops)
    for c, x in itertools.product((const(0, int8), const(1, int32)), (param(0, int8), param(1, int32))):
        if c.dtype is x.dtype:
            assert apply(Op.Mul(x, c), Facts()) is None


def test_what_a_function_cannot_tell_the_steps_decide() -> None:
    """Beside an array stands a number that is repeated: the function leaves it to the steps."""
    x = param(0, int32, (2, 3))
    zeros = expand(reshape(const(0, int32), (1, 1)), (2, 3))
    assert function_of(drops)(Op.Mul(x, zeros), Facts()) is zeros


def test_a_function_is_for_one_op() -> None:
    assert function_of(drops)(Op.Add(param(0, int32), const(0, int32)), Facts()) is None
