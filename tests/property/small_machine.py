"""
The compiler in small
=====================

What lowering does to large programs, done to small ones: every threshold from which lanes, tiles, packing, blocks and
threads pay is lowered, so that a program of a hundred elements goes through all of it and the evaluator can follow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET, target_under
from soundline.impl.compilation.stages import STAGES, Lowered, lower
from soundline.impl.lower.callify import callify
from soundline.impl.lower.linear import scans
from soundline.impl.lower.schedule import heuristics, rows, threads, tile_choice, tiles, vector_types, vectors
from soundline.impl.lower.schedule.target import Target
from soundline.impl.runtime import cpu
from soundline.spec.arrays.arrays import Array, same_cell
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op
from soundline.spec.pipeline.stages import Lowering, Violation, meaning, structure
from soundline.spec.uop import UOp, buffer, toposort

FUSING = target_under(["contract"])
"""C under the licence `contract`."""


class SmallTarget(Target):
    """A processor whose tiles are small: three rows of two vectors."""

    @property
    def across(self) -> int:
        return 2

    @property
    def rows(self) -> int:
        return 3


MACHINES: dict[str, Target] = {
    "narrow": SmallTarget(vector=16, registers=16),
    "middle": SmallTarget(vector=32, registers=32),
    "wide": Target(vector=64, registers=32),
}

THRESHOLDS: Mapping[tuple[Any, str], int] = {
    (heuristics, "LONE_LANES"): 4,
    (heuristics, "WIDE_LANES"): 8,
    (heuristics, "TILE"): 2,
    (heuristics, "_NARROW"): 2,
    (heuristics, "FEW"): 2,
    (heuristics, "WAITING"): 4,
    (heuristics, "MUCH"): 0,
    (tile_choice, "WORTH"): 0,
    (rows, "LEAST"): 0,
    (scans, "ROWS"): 2,
    (scans, "LANES"): 8,
    (threads, "WORTH"): 0,
    (threads, "EVEN"): 2,
    (tiles, "FAR"): 0,
    (tiles, "ROOM"): 0,
}


@contextlib.contextmanager
def small_machine(name: str = "narrow", **changed: int) -> Iterator[None]:
    """Lower for a processor with small tiles, and with low thresholds; `changed` gives some of them by name."""
    chosen = MACHINES[name]
    with contextlib.ExitStack() as patches:
        for module in (tiles, vector_types, vectors):
            patches.enter_context(mock.patch.object(module, "this_machine", return_value=chosen))
        blocks = {(tiles, "BLOCK"): chosen.rows}
        for (module, constant), value in {**THRESHOLDS, **blocks}.items():
            patches.enter_context(mock.patch.object(module, constant, changed.get(constant, value)))
        yield


@dataclass(frozen=True)
class Traced:
    """A program over stored values: its function, its arguments numbered from 0, and what they hold."""

    roots: tuple[UOp, ...]
    function: UOp
    held: dict[int, np.ndarray]

    def lawful(self) -> list[Array]:
        """The value of every root, by the evaluator."""
        kept = {n.arg.slot: storage.contents(n) for n in toposort(*self.roots) if n.op is Op.Buffer}
        return [evaluate(r, buffers=kept) for r in self.roots]

    def lowered(self, profile: str = "exact") -> Lowered:
        """After every stage, lowered anew."""
        return lower.__wrapped__(self.function, profile)

    def violations(self, profile: str = "exact") -> list[Violation]:
        """What the first stage breaks that breaks anything: its conditions, or the value that the graphs have."""
        made = self.lowered(profile)
        target = TARGET if profile == "exact" else FUSING
        wanted = [a.elements for a in self.lawful()]
        before: UOp | None = None
        for name in STAGES:
            after = made.stages["plan" if name == "render" else name]
            given = Lowering(before, after, target, len(self.held), len(wanted), made.source)
            found = structure(name, given)
            if not found and name != "render":
                found = self._other_values(name, after, wanted)
            if found:
                return found
            before = after
        return []

    def _other_values(self, name: str, after: UOp, wanted: list[tuple[Any, ...]]) -> list[Violation]:
        rule = f"stage-{name}-value"
        try:
            got = meaning(after, self.held, len(self.held), len(wanted))
        except EvaluationError as error:
            return [Violation(rule, error.message)]
        rows = [() if a is None else a.elements for a in got]
        pairs = zip(self.roots, rows, wanted, strict=True)
        return [
            Violation(rule, f"output {k} holds other elements")
            for k, (root, row, right) in enumerate(pairs)
            if len(row) != len(right) or not all(map(partial(same_cell, root.dtype), row, right))
        ]

    def ran(self, profile: str = "exact") -> list[np.ndarray]:
        """The outputs of the C text, each as a row; cores share what is dealt out."""
        made = self.lowered(profile)
        outputs = [np.zeros(count(r), to_numpy(r.dtype)) for r in self.roots]
        first = len(self.held) + len(outputs)
        arena = sum(
            b.arg.size for b in toposort(made.stages["plan"]) if _is_global(b) and b.arg.slot >= first
        )
        given = [np.ascontiguousarray(self.held[k]) for k in range(len(self.held))]
        cpu.build(made.source).run([*given, *outputs, np.zeros(max(arena, 1), np.uint8)])
        return outputs

    def differences(self, profile: str = "exact") -> list[str]:
        """Where the outputs of the C text are not the law's, bit for bit."""
        found = []
        for k, (row, wanted) in enumerate(zip(self.ran(profile), self.lawful(), strict=True)):
            got = Array.from_numpy(row).elements
            found += [
                f"element {n} of output {k} is {x!r}, not {y!r}"
                for n, (x, y) in enumerate(zip(got, wanted.elements, strict=True))
                if not same_cell(wanted.dtype, y, x)
            ]
        return found


def traced(*roots: UOp) -> Traced:
    """A program over stored values."""
    function = callify(roots)
    held = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    return Traced(tuple(roots), Op.Function(function.src[0], *fresh), held)


def count(root: UOp) -> int:
    """How many elements a value has."""
    return int(np.prod([int(s) for s in root.shape or ()], dtype=int))


def _is_global(node: UOp) -> bool:
    return node.op is Op.Buffer and node.arg.addrspace == "GLOBAL"


def features(made: Lowered) -> set[str]:
    """Which of what lowering can do it did to a program."""
    optimized = made.stages["optimize"]
    found = {n.arg.type.name for n in toposort(optimized) if n.op is Op.Range}
    scans = [n for n in toposort(optimized) if n.op is Op.Range and n.src[0].op is not Op.Const]
    new = _slots(optimized) - _slots(made.stages["rangeify"])
    arena = any(n.op is Op.Slice for n in toposort(made.stages["plan"]))
    told = {
        "running reductions": scans,
        "packing": new,
        "vectors": "vector_size" in made.source,
        "arena": arena,
    }
    return found | {name for name, there in told.items() if there}


def _slots(program: UOp) -> set[int]:
    return {n.arg.slot for n in toposort(program) if _is_global(n)}
