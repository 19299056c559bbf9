"""
The law and StableHLO's reference interpreter
=============================================

``python -m trials.differential.stablehlo`` (the first step of ``make verify-deep``) draws random programs,
gives each to our evaluator and, printed as StableHLO, to the reference interpreter that `jaxlib` brings, and compares
the results bit for bit; NaN is NaN. Then it compares Threefry with JAX's. A program at which the interpreter ends its
process is counted and shown. It succeeds if nothing differs and everything was answered.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from rich.console import Console

from soundline.spec.arrays.arrays import Array, same_cell
from soundline.spec.dtypes import DType, Element, bool_, from_bits, to_bits, uint64
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.ops.textual_form import program_text
from soundline.spec.values.elementwise import scalar
from trials.child import Child, Ended
from trials.differential import hlo_worker
from trials.differential.hlo_programs import KINDS, Drawn, drawn
from trials.differential.hlo_text import carrier, module

SECONDS = 60.0
"""What one answer may take."""
SEED, COUNT, WORDS = 20, 2400, 200
"""What `make verify-deep` draws: the seed, the number of programs, and of Threefry blocks."""


class Oracle:
    """The child that answers."""

    def __init__(self) -> None:
        # What JAX reserves is no measure of what it uses.
        self.child = Child(hlo_worker.answer, memory=None)

    def ask(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None where the child ended instead."""
        try:
            found: dict[str, Any] = self.child.ask(question, SECONDS)
        except Ended:
            return None
        return found

    def close(self) -> None:
        """End the child."""
        self.child.close()


def question(program: Drawn) -> dict[str, Any]:
    """A program and its inputs, as the oracle takes them."""
    arguments = [
        {
            "dtype": _numpy_name(value.dtype),
            "shape": list(value.shape),
            "elements": [_outside(value.dtype, e) for e in value.elements],
        }
        for value in program.values
    ]
    return {"ask": "evaluate", "module": module(program.root, program.params), "arguments": arguments}


def _numpy_name(dtype: DType) -> str:
    return carrier(dtype).replace("ui", "uint") if carrier(dtype)[0] == "u" else dtype.name


def _outside(dtype: DType, value: Any) -> int:
    """An element as the integer that carries it."""
    return to_bits(dtype, value) if dtype is bool_ or dtype.is_float else int(value)


def _inside(dtype: DType, carried: int) -> Element:
    return from_bits(dtype, carried) if dtype is bool_ or dtype.is_float else carried


def lawful(program: Drawn) -> Array:
    """The value of a program, by the law."""
    return evaluate(program.root, params=dict(enumerate(program.values)))


def difference(program: Drawn, answer: dict[str, Any]) -> str | None:
    """How an answer differs from the law; None where it does not."""
    if "error" in answer:
        return str(answer["error"])
    expected = lawful(program)
    found = [_inside(expected.dtype, e) for e in answer["elements"]]
    if len(found) != len(expected.elements):
        return f"{len(found)} elements for {len(expected.elements)}"
    for k, (own, other) in enumerate(zip(expected.elements, found, strict=True)):
        if not same_cell(expected.dtype, own, other):
            return f"element {k} is {own} by the law, {other} by StableHLO"
    return None


def threefry_questions(seed: int, count: int) -> Iterator[tuple[int, int]]:
    """Counters and keys."""
    rng = random.Random(seed)  # no secret
    for _ in range(count):
        yield rng.getrandbits(64), rng.getrandbits(64)


def threefry_differences(oracle: Oracle, seed: int, count: int) -> list[str]:
    """Where Threefry is not JAX's."""
    rows = list(threefry_questions(seed, count))
    pairs = [[_words(key), _words(counter)] for counter, key in rows]
    answer = oracle.ask({"ask": "threefry", "pairs": pairs})
    if answer is None:
        return ["JAX gave no answer about Threefry"]
    found = []
    for (counter, key), words in zip(rows, answer["words"], strict=True):
        own = scalar(Op.Threefry, uint64, counter, key)
        if _words(int(own)) != words:
            found.append(f"Threefry({counter:#x}, {key:#x}) is {_words(int(own))} by the law, {words} by JAX")
    return found


def _words(value: int) -> list[int]:
    return [value & 0xFFFFFFFF, value >> 32]


def compare(console: Console, seed: int, count: int, words: int) -> int:
    """Run the comparison; the exit code."""
    agreed: Counter[str] = Counter()
    differing: list[str] = []
    unanswered: list[str] = []
    oracle = Oracle()
    try:
        for number in range(count):
            program = drawn(seed, number)
            answer = oracle.ask(question(program))
            if answer is None:
                unanswered.append(f"program {number} ({program.kind}) ended the interpreter")
                continue
            problem = difference(program, answer)
            if problem is None:
                agreed[program.kind] += 1
            else:
                differing.append(
                    f"program {number} ({program.kind}): {problem}\n{program_text(program.root)}"
                )
        wrong_words = threefry_differences(oracle, seed, words)
    finally:
        oracle.close()
    for text in (*differing[:10], *unanswered[:10], *wrong_words[:10]):
        console.print(text, markup=False, highlight=False)
    kinds = ", ".join(f"{agreed[k]} {k}" for k in KINDS)
    console.print(
        f"StableHLO: {agreed.total()} of {count} random programs equal bit for bit ({kinds}); "
        f"{len(differing)} differ, {len(unanswered)} ended the interpreter. "
        f"Threefry: {words - len(wrong_words)} of {words} blocks equal JAX's. Seed {seed}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return int(bool(differing or unanswered or wrong_words))


def main(given: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m trials.differential.stablehlo",
        description="Compare the law with StableHLO's reference interpreter on random programs, and Threefry with JAX.",
        epilog="exit codes: 0 all equal, 1 something differs or was not answered, 2 wrong use or no jaxlib",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"the seed ({SEED})")
    parser.add_argument("--count", type=int, default=COUNT, help=f"how many programs ({COUNT})")
    parser.add_argument("--words", type=int, default=WORDS, help=f"how many Threefry blocks ({WORDS})")
    options = parser.parse_args(given)
    console = Console()
    if find_spec("jaxlib") is None:  # the child needs it, and forks before anything of it is loaded
        text = "StableHLO: not compared, jaxlib is not installed; pip install 'soundline[conformance]'"
        console.print(text, markup=False)
        return 2
    return compare(console, options.seed, options.count, options.words)


if __name__ == "__main__":
    sys.exit(main())
