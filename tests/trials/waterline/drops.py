"""
Synchronizations left out
=========================

Each fence, arrive and await of a correct program, and each side of a barrier as a whole, is left out, one at a time.
Where the machine then finds a hazard, CUDA is generated all the same, for the generator does not ask the machine; that
CUDA has to go wrong in some order: in its values, by a deadlock, or by a report of the emulator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.spork.program import SporkProc
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Arrive, Await, Fence, statements
from soundline.spec.spork.language.text import lines
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.visibility import Policy
from trials.machine.changes import fresh, substituted, without_barrier
from trials.machine.generator import skeleton
from trials.waterline import corpus
from trials.waterline.batches import SCHEDULES, Batch, Case, Schedule, small_case
from trials.waterline.corpus import Work
from trials.waterline.widening import Unwidened, widened

ORDERS: Final[tuple[Schedule, ...]] = (
    *SCHEDULES,
    *(("random", seed) for seed in range(12, 60)),
    *(("latest", seed) for seed in range(4, 12)),
    *(("earliest", seed) for seed in range(5, 17)),
)
"""What a wrong program is tried with: a hazard may show in few orders."""
SEEDS: Final = 3
"""How many programs there are of each skeleton."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A program without a synchronization."""

    program: str
    what: str
    """What kind of statement was left out."""
    statement: str
    hazard: str
    outcome: str
    """One of `OUTCOMES`."""
    said: str = ""
    """How it was observed."""


SAME = "the generator writes it itself"
SPARED = "the machine can spare it"
UNLAWFUL = "against the static law without it"
OBSERVED = "observed"
UNOBSERVED = "not observed"
OUTCOMES: Final = (OBSERVED, UNOBSERVED, SAME, SPARED, UNLAWFUL)


def hazard(proc: Proc, sizes: Mapping[str, int]) -> str:
    """The first hazard that the machine finds; nothing where it accepts the program."""
    machine = Machine(Policy.temporal, forgets=True)
    for event in unfold(proc, dict(sizes)):
        for found in machine.step(event, event.place.path):
            return str(found.id)
        if machine.stuck:
            return "stuck"
    return ""


def without(proc: Proc) -> Iterator[tuple[str, str, Proc]]:
    """The proc without each synchronization: what kind it is, its text, and what is left."""
    proc = fresh(proc)
    seen = set()
    for statement in statements(proc.body):
        if not isinstance(statement, Fence | Arrive | Await):
            continue
        text = lines(statement)[0]
        kind = type(statement).__name__
        reverse = "" if isinstance(statement, Fence) or not statement.reverse else "Reverse"
        yield f"{reverse}{kind}", text, substituted(proc, statement, ())
        if isinstance(statement, Fence):
            continue
        name = statement.barrier.name if isinstance(statement, Await) else statement.barriers[0].name
        if (name, statement.reverse) not in seen:
            seen.add((name, statement.reverse))
            side = "reverse" if statement.reverse else "forward"
            yield f"{side} side of a barrier", f"all of {name}", without_barrier(proc, statement)


def subjects(seeds: int = SEEDS) -> list[str]:
    """The names of the programs from which something is left out."""
    from trials.machine.skeletons import SKELETONS

    return [str(w) for w in corpus.works()] + [
        f"{kind} {seed}" for kind in SKELETONS for seed in range(seeds)
    ]


def case_of(subject: str) -> Case | None:
    """The program of a name; None for a skeleton that has no CUDA."""
    if ":" in subject:
        return corpus.work_case(Work(*subject.split(":")))
    kind, seed = subject.split()
    try:
        return small_case(widened(skeleton(kind, int(seed)).proc, f"{kind}_{seed}"))
    except Unwidened:
        return None


def drops(subject: str, schedules: Sequence[Schedule] = ORDERS, most: int | None = None) -> list[Drop]:
    """What comes of each synchronization of a program that is left out."""
    whole = case_of(subject)
    if whole is None:
        return []
    found: list[Drop] = []
    tried: list[tuple[str, str, str, Case]] = []
    for number, (what, text, proc) in enumerate(without(whole.proc)):
        if most is not None and len(tried) == most:
            break
        name = f"{whole.proc.name}_without_{number}"
        less = SporkProc(name, proc.arguments, proc.preconditions, proc.body)
        try:
            check(less)
            refused = hazard(less, whole.sizes)
            source = less.cuda()
        except SoundlineError as error:
            found.append(Drop(subject, what, text, "", UNLAWFUL, str(error).splitlines()[0]))
            continue
        if not refused:
            found.append(Drop(subject, what, text, "", SPARED))
        elif code(source, name) == code(whole.source, whole.proc.name):
            found.append(Drop(subject, what, text, refused, SAME))
        else:
            tried.append((what, text, refused, replace(whole, proc=less, source=source)))
    if tried:
        batch = Batch([case for *_, case in tried], hurried=True)
        for number, (what, text, refused, _) in enumerate(tried):
            said = batch.wrong(number, schedules)
            found.append(Drop(subject, what, text, refused, OBSERVED if said else UNOBSERVED, said))
    return found


def code(source: CudaSource, name: str) -> Counter[str]:
    """The lines of a device part without comments, in any order: a fence at the end of a task is one between tasks."""
    lines_of = (line.strip() for line in source.files[f"{source.name}.cuh"].splitlines())
    return Counter(line.replace(name, "") for line in lines_of if line and not line.startswith("//"))


def as_json(drop: Drop) -> dict[str, Any]:
    """A form for the ledger."""
    return {
        "program": drop.program,
        "what": drop.what,
        "statement": drop.statement,
        "hazard": drop.hazard,
        "outcome": drop.outcome,
        "said": drop.said[:300],
    }
