"""A verdict, and the solver's work for it, are the same whatever the process did before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import z3

from soundline.verify.smt.goals.solving import Budget, check
from soundline.verify.verdicts.metering import measuring

RULES = """
from soundline.verify import (
    Const, Value, cdiv, cmod, emod, float16, float32, given, index, int8, int32, rule, uint32, where,
)


@rule(dtypes=[index])
def nested(x: Value, c: Const, d: Const):
    given(c % d == 0, c > 0, d > 0)
    return cmod(cmod(x, c), d), cmod(x, d)


@rule(dtypes=[index])
def euclidean(x: Value, c: Value):
    return emod(x, c), x % where(c < 0, -c, c)


@rule(dtypes=[index])
def common_factor(x: Value, c: Value, d: Value):
    given(c > 0, d > 0)
    return cmod(x * c, d * c), cmod(x, d) * c


@rule(dtypes=[int8])
def divided_twice(x: Value, c: Const, d: Const):
    given(c > 0, d > 0, c * d == c, c < 11)
    return cdiv(cdiv(x, c), d), cdiv(x, c * d)


@rule(dtypes=[int32])
def wrapped_multiple(x: Value, y: Value, c: Const):
    return (x * c + y) % c, y % c


@rule(dtypes=[int32, uint32])
def masked(x: Value, y: Value):
    return (x & y) + (x | y), x + y


@rule(dtypes=[float16])
def scaled(x: Value):
    return x * 2, x + x


@rule(dtypes=[float32], licences="reassociate")
def quadratic(x: Value, y: Value):
    return (x + y) * (x - y), x * x - y * y


@rule(dtypes=[float32], licences="reassociate")
def of_a_square(x: Value, y: Value):
    given(x * x + y * y <= 1)
    return where(x * y <= 1, x, y), x
"""

PROGRAM = """
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("delicate", sys.argv[1])
delicate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(delicate)

import z3
from soundline.spec.rules.language import Rule
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.metering import measuring
from soundline.verify.judging.judge import prove_layer

rules = [r for r in vars(delicate).values() if isinstance(r, Rule)]
if sys.argv[2] != "alone":
    kept = [z3.Int("x0"), *(z3.Context() for _ in range(int(sys.argv[2])))]
    rules = rules[::-1]
found = {}
for rule in rules:
    for name, dtype in layers_of(rule):
        with measuring() as meter:
            layer = prove_layer(rule, dtype, derive=False)
        shown = str(layer.counterexample)
        found[f"{rule.id} at {name}"] = [layer.verdict, layer.covered, shown, meter.work]
print(json.dumps(found, sort_keys=True))
"""


def judged(tmp_path, how: str) -> dict[str, list]:
    """What a fresh process finds of the delicate rules."""
    file = tmp_path / "delicate.py"
    file.write_text(RULES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file), how], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.thorough
def test_verdicts_and_work_do_not_depend_on_what_else_the_process_holds(tmp_path):
    alone = judged(tmp_path, "alone")
    assert {v[0] for v in alone.values()} == {"proved", "refuted"}
    assert judged(tmp_path, "0") == alone  # the main context and another order
    assert judged(tmp_path, "6") == alone  # and 100 MB in other contexts


# one question -----------------------------------------------------------------------------------------------------


def question(kind: str) -> tuple[z3.Context, list]:
    """Formulas for which Z3's own tactics look at the memory of the process."""
    ctx = z3.Context()
    if kind == "reals":
        x, y, z = z3.Reals("x y z", ctx)
        return ctx, [x * x + y * y + z * z < 1, x + y + z > 2]
    if kind == "bits":
        a, b = z3.BitVecs("a b", 32, ctx)
        return ctx, [(a ^ b) + 2 * (a & b) != a + b]
    x, c, q, r = z3.Ints("x c q r", ctx)
    size = z3.If(c < 0, -c, c)
    return ctx, [x == q * c + r, r >= 0, r < size, c != 0, x * x < 2 * q * size - q * q - size * size, x > 7]


@pytest.mark.parametrize("kind", ["reals", "bits", "integers"])
def test_the_work_for_a_question_does_not_depend_on_other_contexts(kind):
    def asked() -> tuple[str, int]:
        ctx, formulas = question(kind)
        with measuring() as meter:
            status = check(formulas, ctx, Budget(rlimit=400_000)).status
        return status, meter.work

    first = asked()
    kept = [z3.Context() for _ in range(20)]
    assert asked() == first
    assert len(kept) == 20
    assert asked() == first
