"""
Compiled C
==========

A counterexample computed once more by the implementation: both sides are compiled as one program, run on the inputs,
and compared with the evaluator's results for the same text. A missing C compiler, or an op without a C form, is
reported; an element that differs from the evaluator's is a mistake in soundline.

Run as a program it serves cases from its standard input, one JSON object a line, so that native code that crashes ends
a process of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from soundline.impl.program import compile as road
from soundline.impl.tensors.tensor import Tensor
from soundline.impl.toolchain import find_compiler
from soundline.spec.arrays.arrays import Array, Cell, Invalid, positions, same_cell
from soundline.spec.dtypes import BY_NAME, DType, from_bits
from soundline.spec.errors import SoundlineError, ToolchainError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp, substitute, toposort
from soundline.spec.ops.table.parsing import parse
from soundline.verify.verdicts.as_json import case_from_json
from soundline.verify.verdicts.verdict import COMPILED, Case, Replay


def replayed(case: Case) -> Replay:
    """What compiled C says of a counterexample."""
    sides = [parse(text)[0] for text in (case.left, case.right) if text]
    inputs = arrays_of(case)
    expected = [evaluate(side, inputs) for side in sides]
    try:
        find_compiler()
    except ToolchainError as missing:
        return Replay(COMPILED, "not run", missing.message)
    if any(side.dtype.name == "index" for side in sides):
        return Replay(COMPILED, "not run", "numbers without bounds have no C")
    try:
        found = run(sides, inputs)
    except ToolchainError as refusal:  # the compiler is there, and does not take our C
        return Replay(
            COMPILED, "disagrees", f"the C that soundline wrote does not compile: {refusal.message[:300]}"
        )
    except SoundlineError as refusal:
        return Replay(COMPILED, "not run", refusal.message.split("\n", 1)[0][:200])
    for name, wanted, got in zip(("left", "right"), expected, found, strict=False):
        where = _unequal(wanted, got)
        if where is not None:
            return Replay(COMPILED, "disagrees", f"the {name} side{where}")
    if len(expected) == 2 and expected[0] == expected[1]:
        return Replay(COMPILED, "disagrees", "both sides are the same, by the evaluator as well")
    return Replay(COMPILED, "confirmed", "" if len(sides) == 2 else "the left side; the right side is none")


def arrays_of(case: Case) -> dict[int, Array]:
    """The inputs of a case by their slots."""
    return {
        slot: Array(dtype, tuple(shape), tuple(from_bits(dtype, b) for b in bits))
        for slot, name, shape, bits in case.inputs
        for dtype in (BY_NAME[name],)
    }


def run(sides: list[UOp], inputs: Mapping[int, Array]) -> list[Array]:
    """Programs over Params, compiled as one and run on these inputs. Raises the errors of the implementation."""
    params = sorted(
        {n for side in sides for n in toposort(side) if n.op is Op.Param}, key=lambda n: n.arg.slot
    )
    slots = list(dict.fromkeys(n.arg.slot for n in params))
    given = [inputs[slot].to_numpy() for slot in slots]

    def both(*tensors: Any) -> tuple[Tensor, ...]:
        values = {n: tensors[slots.index(n.arg.slot)].uop for n in params}
        return tuple(Tensor.of(substitute(side, values)) for side in sides)

    program = road.compile(both, *given)
    results = program(*given)
    assert isinstance(results, tuple)
    return [Array.from_numpy(r, side.dtype) for r, side in zip(results, sides, strict=True)]


def _unequal(wanted: Array, got: Array) -> str | None:
    """Where a computed value is not what the evaluator says; of an element that is invalid, anything may come."""
    if wanted.shape != got.shape:
        return f" has the shape {got.shape} in C, and {wanted.shape} by the evaluator"
    rows = zip(positions(wanted.shape), wanted.elements, got.elements, strict=True)
    for at, a, b in rows:
        if not isinstance(a, Invalid) and not same_cell(wanted.dtype, a, b):
            place = f" at {list(at)}" if at else ""
            return (
                f"{place} is {_exact(wanted.dtype, b)} in C, and {_exact(wanted.dtype, a)} by the evaluator"
            )
    return None


def _exact(dtype: DType, cell: Cell) -> str:
    return float(cell).hex() if dtype.is_float and isinstance(cell, float) else repr(cell)


def main() -> None:
    """Serve cases until the input ends."""
    for line in sys.stdin:
        try:
            said = asdict(replayed(case_from_json(json.loads(line))))
        except Exception as error:  # noqa: BLE001  # a mistake of ours, told as one
            said = asdict(
                Replay(COMPILED, "disagrees", f"the replay failed: {type(error).__name__}: {error}")
            )
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
