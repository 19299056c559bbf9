"""
Random expressions on the CPU
=============================

Expressions of every op and dtype, with casts between all of them, in the C of the CPU part and by the law: on random
bits and small numbers they are the same, bit for bit.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl.spork.front_end import proc_from_text
from soundline.spec.dtypes import DType, from_bits, same_value, to_numpy
from soundline.spec.spork.language.nodes import DTYPES

from .fake_device import FakeDevice, compiled

NAMES = [name for name in DTYPES if name != "bool"]
COUNT, LINES, DEPTH = 24, 4, 3
BINARY = {"int": ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"], "float": ["+", "-", "*", "/"]}
FUNCTIONS = ("sqrt({})", "recip({})", "trunc({})", "exp2({})", "log2({})", "sin({})", "(-{})")
LITERALS = {"int": ("0", "1", "3", "7", "100"), "float": ("0.0", "1.0", "0.1", "3.5", "1000.0")}


class Expressions:
    """Random expressions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, dtype: str, depth: int) -> str:
        """An expression of a dtype."""
        kind, chance = "float" if DTYPES[dtype].is_float else "int", self.random.random()
        if depth == 0:
            return self.random.choice(
                [f"a_{dtype}[i]", f"b_{dtype}[i]", f"{dtype}({self.random.choice('inm')})"]
            )
        if chance < 0.2:
            return f"{dtype}({self.value(self.random.choice(NAMES), depth - 1)})"
        operands = [self.value(dtype, depth - 1) for _ in range(3)]
        if chance < 0.3:
            return f"select({self.condition(depth - 1)}, {operands[0]}, {operands[1]})"
        if chance < 0.4:
            return f"max({operands[0]}, {operands[1]})"
        if chance < 0.6 and kind == "float":
            form = self.random.choice([*FUNCTIONS, f"fma({{}}, {operands[1]}, {operands[2]})"])
            return form.format(operands[0])
        right = self.random.choice(LITERALS[kind]) if chance > 0.9 else operands[1]
        return f"({operands[0]} {self.random.choice(BINARY[kind])} {right})"

    def condition(self, depth: int) -> str:
        """A condition of data."""
        dtype, below = self.random.choice(NAMES), max(depth - 1, 0)
        sign = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        found = f"{self.value(dtype, below)} {sign} {self.value(dtype, below)}"
        if depth == 0 or self.random.random() < 0.6:
            return found
        joined = f"({found}) {self.random.choice(['and', 'or', '^'])} ({self.condition(depth - 1)})"
        return self.random.choice([joined, f"not ({found})"])


def numbers(dtype: DType, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """Random bits, and every third one a small number."""
    array = np.frombuffer(generator.bytes(COUNT * dtype.itemsize), to_numpy(dtype)).copy()
    array[::3] = np.arange(-4, len(array[::3]) - 4).astype(to_numpy(dtype))
    return array


def different(dtype: DType, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether arrays hold different values; NaNs are one."""
    bits = f"u{dtype.itemsize}"
    pairs = zip(a.view(bits).tolist(), b.view(bits).tolist(), strict=True)
    return any(x != y and not same_value(dtype, from_bits(dtype, x), from_bits(dtype, y)) for x, y in pairs)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(1, 6))])
def test_expressions_are_what_the_law_says(seed: int, tmp_path: Path) -> None:
    expressions, generator = Expressions(seed), np.random.default_rng(seed)
    lines = {
        (d, k): f"z_{d}[{k}, i] {'=' if k else '+='} {expressions.value(d, DEPTH)}"
        for d in NAMES
        for k in range(LINES)
    }
    data = [
        f"{one}_{d}: {d}[{size}]"
        for one, size in (("a", "n"), ("b", "n"), ("z", f"{LINES}, n"))
        for d in NAMES
    ]
    body = "\n        ".join(lines.values())
    proc = proc_from_text(
        f"def f(n: size, m: index, {', '.join(data)}):\n    for i in seq(0, n):\n        {body}"
    )
    law = {f"{one}_{d}": numbers(DTYPES[d], generator) for one in "ab" for d in NAMES}
    law |= {f"z_{d}": np.ones((LINES, COUNT), to_numpy(DTYPES[d])) for d in NAMES}
    ours = {name: array.copy() for name, array in law.items()}
    proc.run(n=COUNT, m=-3, **law)
    run = compiled(proc, tmp_path)
    assert run(FakeDevice(), COUNT, -3, *ours.values()) == 0
    wrong = [lines[d, k] for d, k in lines if different(DTYPES[d], ours[f"z_{d}"][k], law[f"z_{d}"][k])]
    assert not wrong
