"""
The law and graphs of tinygrad
==============================

``python -m trials.differential.tinygrad`` (a step of ``make verify-deep``) writes programs in the words of
tinygrad's operator tests, captures the graph that tinygrad's front end builds of each, imports it and evaluates it by
the law. The value is compared with a formula in numpy, and with what tinygrad itself computes from the same graph on
its interpreted device. Integers, bools and what is moved or rounded once must be equal bit for bit; NaN is NaN.

Where the law decides otherwise, what it must give is stated with the decision, and still compared: such a program
*differs on purpose* if tinygrad or numpy gives something else, and both values can be shown with ``--show``. A graph
that is not imported is counted with its ops. It succeeds if nothing differs, nothing failed, and exactly the families
that are known not to be imported are not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from soundline.impl.arrays import storage
from soundline.impl.importers.reading.errors import UnsupportedGraph
from soundline.impl.importers.tinygrad import from_tinygrad
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, toposort
from trials.differential import tinygrad_decided, tinygrad_elementwise, tinygrad_movement, tinygrad_reductions
from trials.differential.tinygrad_programs import Arrays, Case, Family, cases, difference

SEED = 20
"""What `make verify-deep` draws from."""

FAMILIES: tuple[Family, ...] = (
    *tinygrad_elementwise.FAMILIES,
    *tinygrad_reductions.FAMILIES,
    *tinygrad_movement.FAMILIES,
    *tinygrad_decided.FAMILIES,
    *tinygrad_decided.NOT_IN_THE_LAW,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: agreed, differs on purpose, not importable, or failed."""

    kind: str
    text: str = ""
    ops: tuple[str, ...] = ()
    """Of a graph that is not importable, the ops in the way."""


@dataclass(slots=True)
class Tally:
    """Outcomes, counted."""

    agreed: int = 0
    on_purpose: Counter[str] = field(default_factory=Counter)
    not_importable: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    apart: list[dict[str, str]] = field(default_factory=list)
    """Of each program that differs on purpose or is not importable: the program, by which decision or ops, and how."""

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count one."""
        match outcome.kind:
            case "agreed":
                self.agreed += 1
            case "differs on purpose":
                self.on_purpose[case.family.decision or ""] += 1
                self.note(case, "decision", case.family.decision or "", outcome.text)
            case "not importable":
                self.not_importable[", ".join(outcome.ops)] += 1
                self.note(case, "ops", ", ".join(outcome.ops), outcome.text)
            case _:
                self.failed.append(f"{case}: {outcome.text}")

    def note(self, case: Case, key: str, why: str, text: str) -> None:
        """Keep what is to be shown of one."""
        self.apart.append({"program": str(case), key: why, "how": text})

    def counts(self) -> dict[str, Any]:
        """The counts, as they are recorded."""
        return {
            "agreed": self.agreed,
            "differs on purpose": dict(sorted(self.on_purpose.items())),
            "not importable": dict(sorted(self.not_importable.items())),
            "failed": len(self.failed),
            "apart": self.apart,
        }


def contents(root: UOp) -> dict[int, Arrays]:
    """What the Buffers of an imported graph hold, by slot."""
    return {n.arg.slot: storage.contents(n) for n in toposort(root) if n.op is Op.Buffer}


def lawful(root: UOp) -> Arrays:
    """The value of an imported graph, by the law."""
    return evaluate(root, buffers=contents(root)).to_numpy()


def realized(tensors: Any, graph: Any) -> Arrays:
    """What tinygrad computes; a graph of constants alone is brought to the device by a condition stored there."""
    if graph.uop.device is None:
        graph = tensors(np.array(True)).where(graph, graph.zeros_like())
    return np.asarray(graph.contiguous().numpy())


def outcome(tensors: Any, case: Case) -> Outcome:
    """Compare one case; `tensors` is the class of tinygrad's Tensors."""
    family = case.family
    try:
        graph = family.build(tensors, *(tensors(v) for v in case.values))
    except Exception as error:  # whatever it is, it is shown and fails
        return Outcome("failed", f"tinygrad does not build it: {type(error).__name__} {error}")
    try:
        root = from_tinygrad(graph).uop
    except UnsupportedGraph as error:
        return _not_importable(family, error)
    own = lawful(root)
    wrong = difference(family, own, case.expected(family.formula))
    if wrong is not None:
        return Outcome("failed", f"by its formula {wrong}")
    if family in tinygrad_decided.NOT_IN_THE_LAW:
        return Outcome("failed", "it is imported, and listed as not importable")
    differing = (
        [] if family.usual is None else [("numpy", difference(family, own, case.expected(family.usual)))]
    )
    try:
        other = realized(tensors, graph)
    except Exception as error:  # as above
        differing.append(
            ("tinygrad", f"{own.tolist()} by the law, {type(error).__name__} ({error}) elsewhere")
        )
    else:
        differing.append(("tinygrad", _difference_of_results(family, own, other)))
    found = "; ".join(f"{text.replace('elsewhere', f'by {who}')}" for who, text in differing if text)
    if not found:
        return Outcome("agreed")
    return Outcome("differs on purpose" if family.decision else "failed", found)


def _not_importable(family: Family, error: UnsupportedGraph) -> Outcome:
    kind = "not importable" if family in tinygrad_decided.NOT_IN_THE_LAW else "failed"
    reasons = [f"{name} is not translated" for name in error.ops] + [f"{n}: {why}" for n, why in error.nodes]
    return Outcome(kind, "; ".join(reasons), (*error.ops, *dict.fromkeys(name for name, _ in error.nodes)))


def _difference_of_results(family: Family, own: Arrays, other: Arrays) -> str | None:
    if own.dtype != other.dtype:
        return f"the dtype is {own.dtype} by the law, {other.dtype} elsewhere"
    return difference(family, own, other)


def drawn(seed: int, only: Sequence[str] = ()) -> Iterator[Case]:
    """Every case of a seed, or those of some families."""
    yield from cases(tuple(f for f in FAMILIES if not only or f.name in only), seed)


def compare(console: Console, tensors: Any, found: Sequence[Case], show: bool = False) -> Tally:
    """Compare cases and print what came of them."""
    tally = Tally()
    for case in found:
        tally.add(case, outcome(tensors, case))
    lines = list(tally.failed)
    if show:
        lines += [f"{n.get('decision', 'not importable')}: {n['program']}: {n['how']}" for n in tally.apart]
    purposely = ", ".join(f"{n} {d}" for d, n in sorted(tally.on_purpose.items())) or "none"
    missing = "; ".join(f"{n} for {ops}" for ops, n in sorted(tally.not_importable.items())) or "none"
    families = len({c.family.name for c in found})
    lines.append(
        f"tinygrad: {tally.agreed} of {len(found)} programs of {families} families agree with the law; "
        f"{tally.on_purpose.total()} differ on purpose ({purposely}); {tally.not_importable.total()} not importable "
        f"({missing}); {len(tally.failed)} failed."
    )
    for text in lines:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    return tally


def main(given: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m trials.differential.tinygrad",
        description="Compare the law with graphs that tinygrad's front end builds.",
        epilog="exit codes: 0 nothing failed, 1 something did, 2 wrong use or no tinygrad",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"the seed ({SEED})")
    parser.add_argument(
        "--show", action="store_true", help="show what differs on purpose and what is not importable"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="FAMILY", help="a family; may be repeated"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the counts as JSON")
    options = parser.parse_args(given)
    unknown = sorted(set(options.only) - {f.name for f in FAMILIES})
    if unknown:
        parser.error(f"there is no family {unknown[0]!r}")
    console = Console()
    # Its interpreter needs no compiler, and what it compiled before is of no interest.
    os.environ |= {"DEV": "PYTHON", "CACHELEVEL": "0"}
    try:
        import tinygrad
    except ImportError:
        text = "tinygrad: not compared, it is not installed; pip install 'soundline[conformance]'"
        console.print(text, markup=False)
        return 2
    tally = compare(console, tinygrad.Tensor, list(drawn(options.seed, options.only)), options.show)
    if options.record is not None:
        counts = {"tinygrad": version("tinygrad"), "seed": options.seed} | tally.counts()
        options.record.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n")
    return int(bool(tally.failed))


if __name__ == "__main__":
    sys.exit(main())
