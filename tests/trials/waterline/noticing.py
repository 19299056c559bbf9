"""
Mistakes that have to be noticed
================================

Goes through all programs and makes their mistakes: synchronizations left out (`drops`), and wrong text of the generator
and its header (`faults`). A mistake is noticed where the emulated program computes other values, waits for ever, or is
reported; a fault that kills the process or never ends is noticed too.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from soundline.spec.errors import GeneratedCodeError, ToolchainError
from trials.child import Child, Ended
from trials.harness import FOUND, Bar, Campaign, ledger_of, run, write
from trials.ledger import Ledger
from trials.waterline import corpus
from trials.waterline.batches import Batch, Case
from trials.waterline.corpus import Work
from trials.waterline.drops import (
    OBSERVED,
    ORDERS,
    SAME,
    SPARED,
    UNLAWFUL,
    UNOBSERVED,
    as_json,
    drops,
    subjects,
)
from trials.waterline.faults import IN_HEADER, IN_PROGRAMS, attempts, in_header, renamed

LEAST: Final = 0.9
"""The share that has to be noticed."""
CHUNK: Final = 24
"""Mistakes of a program that are compiled together."""
SECONDS: Final = 900.0
"""Processor time of a case, and of a single mistake where a case needed more."""
ALONE: Final = 90.0
SLOW: Final = frozenset(
    {
        "attention:small",
        "gemm_sm80_bf16:small",
        "gemm_sm90_bf16:small",
        "gemm_sm90_multicast_bf16:small",
        "gemm_simt_f32:small",
    }
)
"""Flagships that take minutes, and come last."""
BOTH_PLACES: Final = frozenset({"gemm_sm80_ring:gemm", "gemm_sm90_multicast:gemm", "tma_round_trip:double"})
"""Programs in which a mistake is made at its last place as well."""
FOR_HEADER: Final = (
    "attention:small",
    "gemm_sm80_fence:gemm",
    "gemm_sm80_bf16:small",
    "gemm_sm90_tf32:small",
    "gemv:by_shuffles",
    "softmax:small",
    "cp_async:stage",
)
"""What is run against a header with a mistake."""
DOES_NOT_COMPILE: Final = "does not compile"

Row = dict[str, Any]


KINDS: Final = ("text", "header", "drop")


def cases(kinds: Sequence[str] = KINDS) -> list[str]:
    """Everything that is judged, by name: mistakes in programs, mistakes in the header, and what is left out."""
    programs = sorted((str(w) for w in corpus.works()), key=lambda name: name in SLOW)
    found = {
        "text": [f"text {p}" for p in programs],
        "header": [f"header {n}" for n in range(len(IN_HEADER))],
        "drop": [f"drop {s}" for s in sorted(subjects(), key=lambda s: (s in SLOW, ":" in s))],
    }
    every = [case for kind in kinds for case in found[kind]]
    return sorted(every, key=lambda case: case.partition(" ")[2] in SLOW)


def judged(case: str) -> list[Row]:
    """What comes of a case."""
    kind, _, rest = case.partition(" ")
    if kind == "drop":
        return [as_json(d) for d in drops(rest)]
    if kind == "header":
        return [header_fault(int(rest))]
    return list(text_faults(rest))


def text_faults(name: str, places: Sequence[int] | None = None) -> Iterator[Row]:
    """What comes of each mistake in the text of a program, or of some of them."""
    whole = corpus.work_case(Work(*name.split(":")))
    made = list(attempts(whole, last=name in BOTH_PLACES))
    if places is not None:
        made = [made[n] for n in places]
    for start in range(0, len(made), CHUNK):
        chunk = made[start : start + CHUNK]
        said = _said([a.case for a in chunk])
        for attempt, text in zip(chunk, said, strict=True):
            yield _row(attempt.fault.name, attempt.fault.family, name, attempt.place, text)


def _said(given: Sequence[Case]) -> list[str]:
    """What is wrong with each of some programs; those that do not compile are found out one by one."""
    try:
        together = Batch(given, hurried=True)
    except (GeneratedCodeError, ToolchainError) as error:
        if len(given) == 1:
            return [f"{DOES_NOT_COMPILE}: {error}"]
        half = len(given) // 2
        return [*_said(given[:half]), *_said(given[half:])]
    return [together.wrong(n, ORDERS) for n in range(len(given))]


def header_fault(number: int, programs: Sequence[str] = FOR_HEADER) -> Row:
    """What comes of a mistake in the header: the first program that shows it."""
    fault = IN_HEADER[number]
    given = [
        corpus.work_case(Work(*p.split(":")))
        for p in programs
        if not p.startswith("attention") or number in OF_ATTENTION
    ]
    given = [renamed(case, f"h{number}_{n}") for n, case in enumerate(given)]
    with in_header(fault):
        said = _said(given)
    text = next((s for s in said if s), "")
    return _row(fault.name, fault.family, "the header", 0, text)


OF_ATTENTION: Final = frozenset(
    n
    for n, f in enumerate(IN_HEADER)
    if f.name in ("halves of a word", "values of rows", "lanes that exchange")
)
"""Mistakes of what only attention uses."""


def _row(fault: str, family: str, program: str, place: int, said: str) -> Row:
    outcome = OBSERVED if said else UNOBSERVED
    if said.startswith(DOES_NOT_COMPILE):
        outcome = DOES_NOT_COMPILE
    return {
        "fault": fault,
        "family": family,
        "program": program,
        "place": place,
        "outcome": outcome,
        "said": said[:300],
    }


# The campaign -----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Mistakes(Campaign[str, list[Row]]):
    """Every mistake."""

    ledger: Ledger
    version: str
    child: Child
    kinds: Sequence[str] = KINDS
    rows: list[Row] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def cases(self) -> Iterable[str]:
        """By name."""
        return cases(self.kinds)

    def known(self, case: str) -> list[Row] | None:
        """What earlier runs found."""
        found: list[Row] | None = self.ledger.get(self.version, case)
        return found

    def judged(self, case: str, worker: Any) -> list[Row]:
        """What a child finds; where it ends, the mistakes are made one by one."""
        try:
            found = self.child.ask(["all", case], SECONDS)
        except Ended:
            found = list(self._one_by_one(case))
        self.ledger.put(self.version, case, found)
        return list(found)

    def _one_by_one(self, case: str) -> Iterator[Row]:
        kind, _, rest = case.partition(" ")
        if kind != "text":
            yield _row(case, "ended", rest, 0, "the process ended")
            return
        names = self.child.ask(["names", rest], SECONDS)
        for place, (fault, family) in enumerate(names):
            try:
                yield from self.child.ask(["one", rest, place], ALONE)
            except Ended as ended:
                yield _row(fault, family, rest, place, f"ended: {ended}")

    def heard(self, case: str, found: list[Row] | None) -> None:
        """Take it in."""
        if found is None:
            self.left.append(case)
        else:
            self.rows += found

    def progress(self) -> str:
        """How many."""
        counts = Counter(row["outcome"] for row in self.rows)
        return f"{counts[OBSERVED]} mistakes noticed, {counts[UNOBSERVED]} not"


def answer(question: list[Any]) -> Any:
    """What the child says."""
    match question:
        case ["all", case]:
            return judged(case)
        case ["names", name]:
            whole = corpus.work_case(Work(*name.split(":")))
            found = attempts(whole, last=name in BOTH_PLACES)
            return [[a.fault.name, a.fault.family] for a in found]
        case ["one", name, place]:
            return list(text_faults(name, [place]))
    raise AssertionError(question)


def noticing(options: argparse.Namespace, console: Console, output: Path) -> int:
    """Make the mistakes until the time is up; the exit code."""
    from trials.waterline.campaign import SCHEMA, mistakes_version

    with closing(ledger_of(fresh=options.fresh)) as ledger, Child(answer, None) as child:
        mistakes = Mistakes(ledger, mistakes_version(), child, options.kinds)
        with Bar(console, options.minutes) as bar:
            run(mistakes, options.minutes, bar, most=options.most)
    dropped = left_out([r for r in mistakes.rows if "statement" in r])
    made = in_text([r for r in mistakes.rows if "fault" in r])
    for name, found in (("left out", dropped), ("in text", made)):
        console.print(f"{name}: {found['observed']} of {found['total']} noticed", soft_wrap=True)
        for row in found["not observed"]:
            console.print(f"  {row}", markup=False, soft_wrap=True)
    if mistakes.left:
        console.print(f"{len(mistakes.left)} programs are left for the next run")
    parts = {"left out": dropped, "faults": made, "for the next run": mistakes.left}
    write(output, schema=SCHEMA, command="make verify-deep", **parts)
    console.print(f"written to {output}", soft_wrap=True)
    enough = all(found["observed"] >= LEAST * found["total"] for found in (dropped, made))
    return 0 if enough and not made["do not compile"] else FOUND


def left_out(rows: Sequence[Row]) -> dict[str, Any]:
    """Totals of synchronizations that were left out, by kind."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        kinds[row["what"]][row["outcome"]] += 1
    tried = [r for r in rows if r["outcome"] in (OBSERVED, UNOBSERVED)]
    return {
        "total": len(tried),
        "observed": sum(r["outcome"] == OBSERVED for r in tried),
        SAME: sum(r["outcome"] == SAME for r in rows),
        SPARED: sum(r["outcome"] == SPARED for r in rows),
        UNLAWFUL: sum(r["outcome"] == UNLAWFUL for r in rows),
        "by kind": {kind: dict(sorted(counts.items())) for kind, counts in sorted(kinds.items())},
        "not observed": [
            {
                "program": r["program"],
                "statement": r["statement"],
                "hazard": r["hazard"],
                "reason": reason_of(r["hazard"]),
            }
            for r in tried
            if r["outcome"] == UNOBSERVED
        ],
    }


REASONS: Final = {
    "mach-free": "storage ends while others may use it, and nothing takes its place before they have done",
    "mach-barrier-unequal": "a barrier ends with groups that hold no copy, which CUDA allows",
    "mach-write-war": "what was to be read is read at its turn: no later write of the other proxy overtakes it",
}
"""Why a hazard of the machine does not show on the emulator, by the beginning of its id."""


def reason_of(hazard: str) -> str:
    """Why it does not show; nothing where that is not known."""
    return next((why for start, why in REASONS.items() if hazard.startswith(start)), "")


ALIKE: Final = {
    "a parity that is inverted": "in attention, where a ring is filled once and the first tile is at the origin",
    "the other side's mbarrier": "in attention, where a ring is filled once and the first tile is at the origin",
    "an await left out": "in attention, where a ring is filled once and the first tile is at the origin",
    "bytes of the last round": "in attention, where a ring is filled once and the first tile is at the origin",
    "coordinates of a load swapped": "in attention, where a ring is filled once and the first tile is at the origin",
    "sizes of a tensor map swapped": "in attention, where a ring is filled once and the first tile is at the origin",
    "the start of a descriptor": "four elements of 16 bits are less than the 16 bytes that a descriptor counts",
    "a size in the place of another": "the size is 8 already, or is not used at this place",
    "a neighbour's mbarrier": "it is the last place, of an arrive that nobody awaits any more",
    "a barrier of the cluster without its wait": "it is the last one, and nothing is left to go wrong",
    "a barrier that waits for fewer threads": "it is the last one of a kernel, and nothing is left to go wrong",
    "a column off by one": "the columns are those of the only tile",
    "a copy by ordinary words that is short": "all rows of these programs are aligned, and copied at once",
    "a guard of threads one too far": "the thread beyond does once more what another one does",
    "a remainder of threadIdx": "threads do several times what is done once",
    "an arrive that does not advance": "the ring has one slot, or one round",
    "an await that does not advance": "the ring has one slot, or one round",
    "blocks of columns of fragment D": "results are written in blocks of 8 columns, the first block of a fragment",
    "lanes that do not meet before one arrives": "the lanes have met at the mma before",
    "no barrier before the results are read": "it is the last one of the only task of a CTA",
    "quotient and remainder of a task swapped": "there is one tile in a direction",
    "tasks left out by the stride": "each CTA has one task at these sizes",
    "the maximum of two": "a softmax is the same with another number in the place of the maximum",
    "the row stride of global memory": "there is one row of tiles",
    "the stride of a descriptor": "an operand of 8 rows has no second group of rows",
    "values of rows": "a softmax is the same with another number in the place of the maximum",
}
"""Why a mistake may change nothing in some of the programs, at their small sizes."""


def in_text(rows: Sequence[Row]) -> dict[str, Any]:
    """Totals of mistakes in text, by family. A mistake is tried where it can be seen; of those that cannot, why."""
    why = {f.name: f.unobservable for f in (*IN_PROGRAMS, *IN_HEADER)}
    families: dict[str, Counter[str]] = defaultdict(Counter)
    mistakes: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        families[row["family"]][row["outcome"]] += 1
        mistakes[row["fault"]][row["outcome"]] += 1
    seen = [r for r in rows if not why.get(r["fault"]) and r["outcome"] != DOES_NOT_COMPILE]
    return {
        "total": len(seen),
        "observed": sum(r["outcome"] == OBSERVED for r in seen),
        "kinds": len({r["fault"] for r in seen}),
        "kinds observed": len({r["fault"] for r in seen if r["outcome"] == OBSERVED}),
        "by family": {family: dict(sorted(counts.items())) for family, counts in sorted(families.items())},
        "not observed": [
            {
                "fault": name,
                "places": counts[UNOBSERVED],
                "of": counts.total(),
                "reason": ALIKE.get(name, ""),
            }
            for name, counts in sorted(mistakes.items())
            if counts[UNOBSERVED] and not why.get(name)
        ],
        "unobservable": {
            name: {"tried": counts.total(), "observed": counts[OBSERVED], "reason": why[name]}
            for name, counts in sorted(mistakes.items())
            if why.get(name)
        },
        "do not compile": sorted({r["fault"] for r in rows if r["outcome"] == DOES_NOT_COMPILE}),
    }
