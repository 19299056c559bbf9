"""Sentences of the law that state something computable, each beside what computes it.

A sentence is quoted as far as it is computed. If its text changes, so must the computation.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.sentences import clauses, evidence, stands

import soundline as sl
from soundline.impl.arrays.operands import broadcast
from soundline.impl.compilation.stages import PROFILES
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.dtypes import (
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    index,
    int8,
    int32,
    round_to,
    same_value,
    uint8,
    uint32,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.bounds import min_max
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import ReduceArg, const, loop, pad, param, tensor

SPECIAL = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 0.1, 3e38)


def value(node: UOp) -> Any:
    return evaluate(node).elements[0]


def refuses(make: Callable[[], UOp]) -> bool:
    try:
        make()
    except IllFormed:
        return True
    return False


def same(a: Any, b: Any, dtype: Any = float32) -> bool:
    return same_value(dtype, a, b)


def ends_are_nearest() -> bool:
    """Ends are the rounded sums, and every rounded sum between them is inside."""
    a = param(0, float32, bounds=(round_to(float32, 0.1), round_to(float32, 0.7)))
    b = param(1, float32, bounds=(round_to(float32, 1e-9), round_to(float32, 0.3)))
    found = min_max(Op.Add(a, b))
    assert found is not None
    (la, ha), (lb, hb) = ([float(end.value) for end in r.arg.bounds] for r in (a, b))
    exact = (la + lb, ha + hb)
    assert (found.lo, found.hi) == (round_to(float32, exact[0]), round_to(float32, exact[1]))
    assert found.lo > exact[0] or found.hi < exact[1] or (found.lo, found.hi) != exact  # an end is inexact
    inside = [la + (ha - la) * k / 7 for k in range(8)], [lb + (hb - lb) * k / 7 for k in range(8)]
    rounded = ((round_to(float32, x), round_to(float32, y)) for x, y in itertools.product(*inside))
    return all(
        found.lo <= value(Op.Add(const(x, float32), const(y, float32))) <= found.hi for x, y in rounded
    )


def division_rounds_down() -> bool:
    pairs = itertools.product((-128, -7, -1, 0, 1, 5, 127), repeat=2)
    for a, b in pairs:
        x, y = const(a, int8), const(b, int8)
        quotient, rest = value(Op.Idiv(x, y)), value(Op.Mod(x, y))
        if b == 0:
            assert (quotient, rest) == (0, a)
        elif (a, b) != (-128, -1):
            assert (quotient, rest) == (a // b, a % b)
    return True


def maximum_is_a_semilattice() -> bool:
    def greatest(a: float, b: float) -> float:
        return float(value(Op.Max(const(a, float32), const(b, float32))))

    numbers = [round_to(float32, v) for v in SPECIAL]
    assert all(same(greatest(a, b), greatest(b, a)) for a, b in itertools.product(numbers, repeat=2))
    assert all(same(greatest(a, a), a) for a in numbers)
    triples = itertools.product(numbers, repeat=3)
    return all(same(greatest(greatest(a, b), c), greatest(a, greatest(b, c))) for a, b, c in triples)


def reduced(op: Op, values: list[Any], dtype: Any) -> Any:
    return value(Op.Reduce(tensor(values, dtype), arg=ReduceArg(op, (0,))))


def nothing_reduced(op: Op, dtype: Any) -> Any:
    return evaluate(Op.Reduce(param(0, dtype, (0,)), arg=ReduceArg(op, (0,))), {0: []}).elements[0]


def cast(number: Any, source: Any, target: Any) -> Any:
    return value(Op.Cast(const(number, source), arg=target))


DECIDED: list[tuple[str, str, Callable[[], bool]]] = [
    ("U-03", "Idiv is floor division, and Mod is the remainder that goes with it", division_rounds_down),
    (
        "U-03",
        "The least value divided by -1 wraps",
        lambda: value(Op.Idiv(const(-128, int8), const(-1, int8))) == -128,
    ),
    (
        "U-03",
        "CDiv(a, 0) = 0 and CMod(a, 0) = a",
        lambda: [value(op(const(-7, int8), const(0, int8))) for op in (Op.CDiv, Op.CMod)] == [0, -7],
    ),
    (
        "U-04",
        "A count of at least the width gives 0 for Shl and for the logical Shr",
        lambda: [value(op(const(200, uint8), const(8, uint8))) for op in (Op.Shl, Op.Shr)] == [0, 0],
    ),
    (
        "U-04",
        "the sign fill for the arithmetic Shr of signed dtypes",
        lambda: [value(Op.Shr(const(v, int8), const(100, int8))) for v in (-3, 3)] == [-1, 0],
    ),
    (
        "U-04",
        "The count is read as unsigned",
        lambda: value(Op.Shl(const(1, int8), const(-1, int8))) == 0,
    ),
    (
        "U-05",
        "overflow is NaN in E4M3FN and ±∞ in E5M2",
        lambda: (
            math.isnan(cast(1e9, float32, float8_e4m3fn)) and cast(-1e9, float32, float8_e5m2) == -math.inf
        ),
    ),
    (
        "U-05",
        "in bfloat16 and float16 once, at the op's result",
        lambda: all(
            same(
                value(Op.Add(const(a, d), const(b, d))),
                round_to(d, a + b),
                d,
            )
            for d in (bfloat16, float16)
            for a, b in ((1.0, round_to(d, 0.1)), (round_to(d, 2.7), round_to(d, -0.3)))
        ),
    ),
    (
        "U-05",
        "Bitcast to or from bool and index is ill-typed",
        lambda: (
            refuses(lambda: Op.Bitcast(const(True, bool_), arg=uint8))
            and refuses(lambda: Op.Bitcast(const(1, index), arg=int32))
        ),
    ),
    ("U-06", "commutative, associative and idempotent on every dtype", maximum_is_a_semilattice),
    (
        "U-06",
        "NaN if either operand is NaN, and +0 > -0",
        lambda: (
            math.isnan(value(Op.Max(const(math.nan, float32), const(1.0, float32))))
            and math.copysign(1, value(Op.Max(const(-0.0, float32), const(0.0, float32)))) == 1
        ),
    ),
    (
        "U-10",
        "On floats it is the ascending reduction that starts at its first element",
        lambda: (
            reduced(Op.Add, [2.0**24, 1.0, 1.0, -(2.0**24)], float32) == 0.0
            and math.copysign(1, reduced(Op.Add, [-0.0, -0.0], float32)) == -1
        ),
    ),
    (
        "U-10",
        "the empty reduce is +0.0, 1, or the dtype's least value (invalid for index)",
        lambda: (
            math.copysign(1, nothing_reduced(Op.Add, float32)) == 1
            and nothing_reduced(Op.Mul, int8) == 1
            and nothing_reduced(Op.Max, int8) == -128
            and nothing_reduced(Op.Max, float32) == -math.inf
        ),
    ),
    (
        "U-13",
        "Trunc keeps the sign of a zero",
        lambda: math.copysign(1, value(Op.Trunc(const(-0.5, float32)))) == -1,
    ),
    (
        "U-13",
        "float to integer truncates, then saturates, and NaN becomes 0",
        lambda: [cast(v, float32, int8) for v in (-1.75, 300.0, -math.inf, math.nan)] == [-1, 127, -128, 0],
    ),
    ("U-13", "Integer to integer wraps", lambda: cast(300, int32, uint8) == 44),
    ("U-13", "integer to float rounds to nearest even", lambda: cast(2**24 + 1, uint32, float32) == 2.0**24),
    ("U-13", "anything to bool is ≠ 0, so NaN becomes true", lambda: cast(math.nan, float32, bool_) is True),
    (
        "U-14",
        "On bool, Max is Or and Mul is And, elementwise and in Reduce, and Add is ill-typed",
        lambda: (
            [reduced(op, [True, False], bool_) for op in (Op.Max, Op.Mul)] == [True, False]
            and refuses(lambda: Op.Add(const(True, bool_), const(True, bool_)))
        ),
    ),
    (
        "U-14",
        "Pad fills with False, 0 and +0.0",
        lambda: (
            evaluate(pad(tensor([-1.0], float32), (1,), (2,))).elements[0] == 0.0
            and math.copysign(1, evaluate(pad(tensor([-1.0], float32), (1,), (2,))).elements[0]) == 1
        ),
    ),
    ("U-43", "Ends are rounded to nearest, as the values between them are", ends_are_nearest),
    (
        "U-43",
        "0·∞ and ∞ - ∞ set it",
        lambda: all(
            found is not None and found.maybe_nan
            for found in (
                min_max(Op.Mul(const(0.0, float32), const(math.inf, float32))),
                min_max(Op.Sub(const(math.inf, float32), const(math.inf, float32))),
            )
        ),
    ),
    ("U-44", "For n = 0 the interval is empty", lambda: min_max(loop(const(0, index), 0)) is None),
    (
        "U-40",
        "if that fits the dtype, and otherwise the range of the dtype",
        lambda: (
            [
                (b.lo, b.hi)
                for b in (
                    min_max(Op.Add(param(0, int8, bounds=(0, top)), param(1, int8, bounds=(0, 27))))
                    for top in (100, 101)
                )
                if b is not None
            ]
            == [(0, 127), (-128, 127)]
        ),
    ),
]


@pytest.mark.parametrize(
    ("decision", "sentence", "holds"), DECIDED, ids=[f"{d}-{s[:30]}" for d, s, _ in DECIDED]
)
def test_a_sentence_of_a_decision_is_what_is_computed(
    decision: str, sentence: str, holds: Callable[[], bool]
) -> None:
    assert sentence in DECISIONS[decision].law
    assert holds()


def test_entries_say_how_the_ends_of_floats_are_rounded() -> None:
    for op in (Op.Add, Op.Sub, Op.Cast):
        text = TABLE[op].properties.min_max if hasattr(TABLE[op], "properties") else repr(TABLE[op])
        assert "float ends round to nearest" in text
    assert "outward" not in "".join(repr(entry) for entry in TABLE.values())
    assert ends_are_nearest()


# The other clauses ------------------------------------------------------------------------------------------------


def test_what_the_profiles_grant() -> None:
    assert set(PROFILES["exact"]) == set()
    assert set(PROFILES["fast"]) == {"reassociate", "contract", "approx", "tensor_core"}
    default = inspect.signature(sl.compile).parameters["profile"].default
    assert default == "exact"


def test_the_broadcast_of_two_sizes() -> None:
    for a, b in itertools.product((0, 1, 3), repeat=2):
        if a == b or 1 in (a, b):
            joined = Op.Add(*broadcast(param(0, int32, (a,)), param(1, int32, (b,))))
            assert joined.shape == (b if a == 1 else a,)


def test_five_constants_are_five_things() -> None:
    made = [
        const(1, int32),
        const(1.0, float32),
        const(True, bool_),
        const(-0.0, float32),
        const(math.nan, float32),
    ]
    assert len(set(made)) == 5
    assert const(-0.0, float32) is not const(0.0, float32)
    assert const(math.nan, float32) is const(-math.nan, float32)


SENTENCES = evidence("sentences_of_decisions.txt")


@pytest.mark.parametrize("decision", DECISIONS)
def test_every_clause_of_a_decision_stands_beside_its_test(decision: str) -> None:
    rows = SENTENCES[decision]
    assert [clause for clause, _ in rows] == clauses(DECISIONS[decision].law)
    assert all(stands(test) for _, tests in rows for test in tests)


def test_few_clauses_state_nothing() -> None:
    """What gives a name, a reason or what another project does is computed nowhere."""
    assert list(SENTENCES) == list(DECISIONS)
    silent = [clause for rows in SENTENCES.values() for clause, tests in rows if not tests]
    assert len(silent) <= 28, silent
