"""A rule written out as one function does what the long way does."""

from __future__ import annotations

import itertools
import random

import pytest

from soundline.impl.analysis.facts import Facts
from soundline.impl.matching import candidates
from soundline.impl.matching.candidates import right_side
from soundline.impl.matching.matcher import Pattern, patterns_of
from soundline.impl.matching.straight_line import UNSURE
from soundline.impl.rules import LIBRARY
from soundline.spec.dtypes import bool_, float32, index, int8, int32
from soundline.spec.errors import IllFormed
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import Value
from soundline.spec.uop import Op, UOp, buffer, const, expand, loop, param, reshape

DIRECT = [(p, d) for r in LIBRARY for p in patterns_of(r) if (d := p.direct()) is not None]


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
    return made if shape else [*made, loaded]


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


def by_the_long_way(pattern: Pattern, node: UOp) -> UOp | None:
    facts = Facts()
    env = pattern.match(node, facts)
    return right_side(pattern.rule, env, node) if env is not None else None


def test_many_rules_are_direct() -> None:
    assert len({p.rule.id for p, _ in DIRECT}) > 60


@pytest.mark.parametrize("shape", [(), (2, 3)], ids=str)
def test_direct_functions_do_what_the_long_way_does(shape: tuple[int, ...]) -> None:
    draw, pool = random.Random(7), leaves(shape)
    matched: set[str] = set()
    for pattern, function in DIRECT:
        for node in nodes(pattern, pool, draw):
            found = function.at_node(node, Facts())
            if found is not UNSURE:
                assert found is by_the_long_way(pattern, node), (pattern.rule, node)
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
    found = patterns_of(stated)[0].direct()
    return None if found is None else found.at_node


def test_a_condition_or_an_inner_number_goes_the_long_way() -> None:
    assert function_of(conditional) is None
    assert function_of(needs_both) is None


def test_what_has_an_effect_is_not_dropped() -> None:
    apply = function_of(drops)
    x = param(0, int32)
    effect = Op.Custom(x, arg="f")
    zero = const(0, int32)
    assert apply(Op.Mul(x, zero), Facts()) is zero
    stored = Op.After(Op.Load(Op.Index(buffer(0, 4, int32), const(0, index))), effect)
    node = Op.Mul(stored, zero)
    assert apply(node, Facts()) is None
    assert by_the_long_way(patterns_of(drops)[0], node) is None


def test_another_dtype_or_another_number_does_not_match() -> None:
    apply = function_of(drops)
    for c, x in itertools.product((const(0, int8), const(1, int32)), (param(0, int8), param(1, int32))):
        if c.dtype is x.dtype:
            assert apply(Op.Mul(x, c), Facts()) is None


def test_patterns_are_written_out_when_they_are_tried_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_OFTEN", 3)
    candidate = candidates.Candidate(patterns_of(drops)[0])
    x = param(0, int32)
    results = [candidate.right(Op.Mul(x, const(0, int32)), Facts()) for _ in range(5)]
    assert set(results) == {const(0, int32)}
    assert candidate.direct is not None
