"""What the prover takes for known of rounded operations holds of every pair of eight-bit floats, bit-blasted."""

from __future__ import annotations

import random
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
import z3

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    exponent_range,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    from_bits,
    round_to,
)
from soundline.spec.ops.node import Op
from soundline.spec.uop import UOp, const, param
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify import Value, rule
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.values import ieee, narrowing, rounding
from soundline.verify.smt.values.narrowing import narrowed
from soundline.verify.smt.values.rounding import Rounded
from soundline.verify.smt.values.rounding_facts import FACTS, is_power_of_two, of_square, power_of_two
from soundline.verify.smt.values.rounding_pairs import PAIRS, undone

NARROW = (float8_e5m2, float8_e4m3fn)
SMALL = DType("float6_e3m2", "float", 6, 3, 2)
"""A format so small that questions about four variables are quick; Z3 adds no numbers of E5M2."""


class Real(Rounded):
    """As `Rounded`, but each operation is the real one, and no facts are given of it."""

    def apply(self, op, dtype, x, y):
        nearest = z3.RNE(self.ctx)
        make = {Op.Add: z3.fpAdd, Op.Mul: z3.fpMul, Op.Div: z3.fpDiv}
        exact = z3.fpSqrt(nearest, x, self.ctx) if op is Op.Sqrt else make[op](nearest, x, y, self.ctx)
        return ieee.rounded(self, dtype, exact)


def algebra(dtype, names):
    """The real arithmetic of a format, and variables of it."""
    true = const(True, bool_)
    found = Real(Obligation("test", {}, frozenset(), (), (), true, true))
    return found, [ieee.variable(found, name, dtype) for name in names]


def holds(found, facts):
    """Whether the facts can not all be broken."""
    solver = z3.Solver(ctx=found.ctx)
    solver.add(*found.facts, z3.Not(z3.And(*facts)))
    return solver.check() == z3.unsat


@pytest.mark.parametrize("op", FACTS, ids=lambda op: op.name)
def test_facts_about_one_operation(op):
    found, (x, y) = algebra(SMALL, "xy")
    assert holds(found, FACTS[op](found, SMALL, x, y, found.apply(op, SMALL, x, y)))


@pytest.mark.parametrize("value", [0.5, 1.0, 2.0, 3.0, 4.0, 8.0])
def test_products_by_literals(value):
    found, (x,) = algebra(SMALL, "x")
    literal = found.number(SMALL, value)
    facts = FACTS[Op.Mul](found, SMALL, x, literal, found.apply(Op.Mul, SMALL, x, literal))
    assert len(facts) == 11
    assert holds(found, facts)


@pytest.mark.parametrize("value", [0.5, 2.0, -4.0])
def test_quotients_by_literal_powers_of_two(value):
    found, (x,) = algebra(SMALL, "x")
    literal = found.number(SMALL, value)
    assert holds(found, FACTS[Op.Div](found, SMALL, x, literal, found.apply(Op.Div, SMALL, x, literal)))


@pytest.mark.parametrize("op", PAIRS, ids=lambda op: op.name)
def test_facts_about_two_operations(op):
    found, (x, y, u, v) = algebra(SMALL, "xyuv")
    one, other = (x, y, found.apply(op, SMALL, x, y)), (u, v, found.apply(op, SMALL, u, v))
    assert holds(found, list(PAIRS[op](found, one, other)))


def test_sums_that_are_undone():
    found, (x, y) = algebra(SMALL, "xy")
    r, minus_y = found.apply(Op.Add, SMALL, x, y), found.negated(y)
    facts = list(undone(found, SMALL, (x, y, r), (r, minus_y, found.apply(Op.Add, SMALL, r, minus_y))))
    assert len(facts) == 1
    assert holds(found, facts)


def test_roots_of_squares():
    found, (x,) = algebra(SMALL, "x")
    square = found.apply(Op.Mul, SMALL, x, x)
    root = found.apply(Op.Sqrt, SMALL, square, square)
    assert holds(found, [of_square(found, SMALL, x, square, root)])
    assert not holds(found, [z3.Implies(found.numbers(root), found.same(root, found.size(x)))])


@pytest.mark.parametrize("dtype", [float8_e4m3fn, float8_e5m2, bfloat16, float16], ids=str)
def test_roots_of_all_squares_of_short_formats(dtype):
    law = ELEMENTWISE
    for pattern in range(0, 1 << dtype.bits, 1 if dtype.bits == 8 else 5):
        x = from_bits(dtype, pattern)
        square = law[Op.Mul](dtype, x, x)
        if 2.0 ** exponent_range(dtype)[0] <= square < float("inf"):
            assert law[Op.Sqrt](dtype, square) == abs(x)


def test_a_fact_that_is_none_is_found_out():
    found, (x, y) = algebra(SMALL, "xy")
    r = found.apply(Op.Add, SMALL, x, y)
    assert not holds(found, [z3.Implies(found.numbers(r), found.le(x, r))])
    s = found.apply(Op.Add, SMALL, r, found.negated(y))
    assert not holds(found, [z3.Implies(found.numbers(r), found.same(s, x))])


def test_powers_of_two_have_exact_reciprocals():
    found, (x,) = algebra(SMALL, "x")
    reciprocal = found.apply(Op.Div, SMALL, found.number(SMALL, 1.0), x)
    product = found.apply(Op.Mul, SMALL, reciprocal, x)
    exact = found.same(product, found.number(SMALL, 1.0))
    assert holds(found, [z3.Implies(power_of_two(found, SMALL, x), exact)])


class Law(Rounded):
    """As `Rounded`, but each operation on numbers is the law's own."""

    def apply(self, op, dtype, x, y):
        operands = [x] if op is Op.Sqrt else [x, y]
        values = [ieee.element(self, self.empty, dtype, t) for t in operands]
        return ieee.number(self, dtype, ELEMENTWISE[op](dtype, *values))

    @property
    def empty(self):
        """A model of nothing, which evaluates literals."""
        solver = z3.Solver(ctx=self.ctx)
        assert solver.check() == z3.sat
        return solver.model()


@pytest.mark.parametrize("op", FACTS, ids=lambda op: op.name)
def test_facts_of_a_format_without_infinities(op):
    """E4M3FN, in which NaN stands where other formats have infinities: at random numbers and at all its ends."""
    source = random.Random(1)
    ends = (0.0, -0.0, 1.0, -1.0, 448.0, -448.0, 2.0**-9, -(2.0**-9), 2.0**-6, 1.5, float("nan"), 3.0)
    true = const(True, bool_)
    found = Law(Obligation("test", {}, frozenset(), (), (), true, true))
    for _ in range(60):
        x, y, u, v = (
            found.number(
                float8_e4m3fn,
                source.choice(ends)
                if source.random() < 0.6
                else from_bits(float8_e4m3fn, source.randrange(256)),
            )
            for _ in range(4)
        )
        r, s = found.apply(op, float8_e4m3fn, x, y), found.apply(op, float8_e4m3fn, u, v)
        facts = [*FACTS[op](found, float8_e4m3fn, x, y, r), *PAIRS[op](found, (x, y, r), (u, v, s))]
        assert all(z3.is_true(z3.simplify(fact)) for fact in facts), (op, x, y, u, v)


def test_which_literals_have_exact_reciprocals():
    assert [is_power_of_two(float16, v) for v in (2.0, 0.5, -4.0, 3.0, 0.0, float("inf"))] == [
        1,
        1,
        1,
        0,
        0,
        0,
    ]
    assert is_power_of_two(float16, 2.0**15)
    assert not is_power_of_two(float16, 2.0**-24)
    assert is_power_of_two(float8_e4m3fn, 2.0**-8)
    assert not is_power_of_two(float8_e4m3fn, 2.0**-9)


# Narrowing --------------------------------------------------------------------------------------------------------

NUMPY = {
    float8_e5m2: ml_dtypes.float8_e5m2,
    float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    float16: np.float16,
    bfloat16: ml_dtypes.bfloat16,
    float32: np.float32,
    float64: np.float64,
}


def cast_back(op, wide, narrow):
    """An operation of the wide format on narrow operands, rounded into the narrow one."""
    operands = [param(k, narrow) for k in range(1 if op is Op.Sqrt else 2)]
    return UOp(Op.Cast, (UOp(op, tuple(UOp(Op.Cast, (x,), wide) for x in operands)),), narrow)


def test_which_formats_are_much_finer():
    found = {
        (wide.name, narrow.name)
        for wide in NUMPY
        for narrow in NUMPY
        if narrow is not wide and narrowed(cast_back(Op.Add, wide, narrow)) is not None
    }
    below = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn")
    assert found == {
        *(("float64", n) for n in ("float32", *below)),
        *(("float32", n) for n in below),
        *(("float16", n) for n in below[2:]),
        ("bfloat16", "float8_e5m2"),
    }


@pytest.mark.parametrize(("wide", "narrow"), [(float32, float16), (float64, float32)], ids=str)
def test_a_finer_format_must_reach_below_products_of_subnormals(wide, narrow, monkeypatch):
    """Of the formats there are each that is fine enough does; one of as few exponents would round twice."""
    bits = narrow.mantissa_bits + 2 * (narrow.mantissa_bits + 1) - wide.mantissa_bits
    for lowest, enough in ((-100 - bits, True), (-99 - bits, False), (-101 - bits, True)):
        ranges = {wide: (lowest, 1000), narrow: (-100, 100)}
        monkeypatch.setattr(narrowing, "exponent_range", ranges.__getitem__)
        assert narrowing._much_finer(wide, narrow) is enough


@pytest.mark.parametrize("narrow", NARROW, ids=str)
@pytest.mark.parametrize("wide", [float16, bfloat16, float32, float64], ids=str)
@pytest.mark.parametrize("op", [Op.Add, Op.Sub, Op.Mul, Op.Div, Op.Sqrt], ids=lambda op: op.name)
def test_narrowing_changes_no_result(op, wide, narrow):
    if narrowed(cast_back(op, wide, narrow)) is None:
        assert (wide, narrow) == (bfloat16, float8_e4m3fn)
        return
    functions = {
        Op.Add: np.add,
        Op.Sub: np.subtract,
        Op.Mul: np.multiply,
        Op.Div: np.divide,
        Op.Sqrt: np.sqrt,
    }
    every = np.arange(256, dtype=np.uint8).view(NUMPY[narrow]).astype(np.float64)
    operands = [every] if op is Op.Sqrt else np.meshgrid(every, every)
    with np.errstate(all="ignore"):
        once = functions[op](*operands)
        twice = once.astype(NUMPY[wide])
        first, second = (v.astype(NUMPY[narrow]).astype(np.float64) for v in (once, twice))
    numbers = ~np.isnan(first)
    assert np.array_equal(first, second, equal_nan=True)
    assert np.array_equal(np.signbit(first)[numbers], np.signbit(second)[numbers])


def test_narrowing_of_bfloat16_at_its_subnormal_halves():
    """Products that lie next to half of the least subnormal, where float32 is subnormal too."""
    source = np.random.default_rng(0)
    signs = source.choice([-1.0, 1.0], 4000)
    x = source.integers(128, 256, 4000) * 2.0 ** source.integers(-75, -60, 4000)
    y = source.integers(128, 256, 4000) * 2.0 ** source.integers(-75, -60, 4000) * signs
    scale = 2.0**-14
    for exact in (x * y * scale, x / y * 2.0**-133):
        once = [round_to(bfloat16, v) for v in exact]
        twice = [round_to(bfloat16, round_to(float32, v)) for v in exact]
        assert once == twice


def test_what_is_not_narrowed():
    x = param(0, float32)
    wide = UOp(Op.Cast, (x,), float64)
    inexact, exact = const(0.1, float64), const(0.5, float64)
    assert narrowed(UOp(Op.Cast, (UOp(Op.Mul, (wide, exact)),), float32)) is not None
    assert narrowed(UOp(Op.Cast, (UOp(Op.Mul, (wide, inexact)),), float32)) is None
    twice = UOp(Op.Add, (UOp(Op.Add, (wide, wide)), wide))
    assert narrowed(UOp(Op.Cast, (twice,), float32)) is None
    assert narrowed(UOp(Op.Cast, (UOp(Op.Max, (wide, wide)),), float32)) is None
    half = UOp(Op.Cast, (param(1, float16),), float64)
    assert narrowed(UOp(Op.Cast, (UOp(Op.Add, (wide, half)),), float32)) is not None
    assert narrowed(UOp(Op.Cast, (UOp(Op.Add, (wide, half)),), float16)) is None


# Rules that need it, with their twins ------------------------------------------------------------------------------

WIDE = (float32, float64)


@rule(dtypes=WIDE)
def long_quotients_by_powers_of_two(x: Value, y: Value):
    return (x + y) / 4.0, (y + x) * 0.25


@rule(dtypes=WIDE)
def long_quotients_by_three(x: Value, y: Value):
    return (x + y) / 3.0, (y + x) * (1 / 3)


@rule(dtypes=WIDE)
def thrice(x: Value, y: Value):
    return (x / y) * 3.0, (x / y) + (x / y) + (x / y)


@rule(dtypes=WIDE)
def seven_times(x: Value, y: Value):
    return (x / y) * 7.0, (x / y) * 8.0 - (x / y)


TWINS = [
    (long_quotients_by_powers_of_two, long_quotients_by_three),
    (thrice, seven_times),
]


@pytest.mark.parametrize(("right", "wrong"), TWINS, ids=lambda r: r.id)
def test_twins(right, wrong):
    assert [layer.verdict for layer in prove(right).layers] == ["proved", "proved"]
    assert [layer.verdict for layer in prove(wrong).layers] == ["refuted", "refuted"]


def test_facts_are_given_in_a_fixed_order():
    def texts():
        nodes = [param(k, float16) for k in range(2)]
        total = UOp(Op.Add, (UOp(Op.Mul, (nodes[0], nodes[1])), nodes[0]))
        ob = Obligation("t", dict(zip("xy", nodes, strict=True)), frozenset(), (), (), total, nodes[0])
        return [str(f) for f in rounding.Rounded(ob).denial()]

    first, *others = (texts() for _ in range(3))
    assert all(a == b for a, b in pairwise([first, *others]))
