"""Below the waterline: emulated CUDA computes what the sequential reading does, and mistakes are noticed.

`make verify-deep` runs thousands of programs and makes every mistake; here are some of each, always the same ones.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from trials.machine.generator import drawn
from trials.waterline.batches import SCHEDULES, Batch, Case
from trials.waterline.corpus import Work, work_case
from trials.waterline.drops import OBSERVED, SAME, drops
from trials.waterline.faults import HEADER, IN_HEADER, IN_PROGRAMS, attempts, in_header, renamed
from trials.waterline.noticing import in_text, left_out
from trials.waterline.programs import small
from trials.waterline.widening import Unwidened, widened

from soundline.impl.runtime.emulator import texts
from soundline.spec.errors import EmulationError

NUMBERS = (
    *(4, 9, 13, 15, 16, 19, 24, 26, 39, 41, 44, 46, 48, 49, 51, 52, 54, 56, 62, 64, 69, 77, 81, 87, 95, 100),
    *(106, 111, 117, 127, 129, 130, 133, 135, 141, 142, 149, 151, 156, 163, 165, 167, 179, 186, 187, 190),
    *(204, 207, 208, 216, 227, 228),
)
"""Programs that the machine accepts, of every kind."""
FAULTS = (
    "a parity that is inverted",
    "a parity that never changes",
    "an arrival too many expected",
    "arrays that overlap",
    "coordinates of a load swapped",
    "coordinates of a store swapped",
    "half of the bytes expected",
    "no commit of stores",
    "no proxy fence before a store by TMA",
    "the stride of a tensor map",
    "too little shared memory",
    "an await left out",
)
"""Mistakes that are made in a copy by TMA."""


@pytest.fixture(scope="module")
def batch() -> Batch:
    """The programs that still are accepted, with their CUDA."""
    return Batch([case for case, _ in map(small, NUMBERS) if case is not None], hurried=True)


def test_random_programs_compute_what_the_sequential_reading_does(batch: Batch) -> None:
    assert len(batch.cases) > 45
    wrong = {batch.cases[n].proc.name: batch.wrong(n) for n in range(len(batch.cases))}
    assert {name: said for name, said in wrong.items() if said} == {}


def test_another_value_is_wrong(batch: Batch) -> None:
    given = batch.cases[0]
    after = {name: array + 1 for name, array in given.after.items()}
    batch.cases = [replace(given, after=after), *batch.cases[1:]]
    assert "sequentially" in batch.wrong(0)
    batch.cases = [given, *batch.cases[1:]]
    assert batch.wrong(0) == ""


@pytest.fixture(scope="module")
def copies() -> Case:
    """An example that loads and stores by TMA."""
    return work_case(Work("tma_round_trip", "double"))


def test_mistakes_of_generated_text_are_noticed(copies: Case) -> None:
    made = [a for a in attempts(copies, last=False) if a.fault.name in FAULTS]
    assert {a.fault.name for a in made} == set(FAULTS)
    together = Batch([a.case for a in made], hurried=True)
    assert [a.fault.name for n, a in enumerate(made) if not together.wrong(n)] == []


def test_a_mistake_of_the_header_is_noticed() -> None:
    whole = work_case(Work("gemv", "by_shuffles"))
    assert Batch([renamed(whole, "whole")], hurried=True).wrong(0) == ""
    with in_header(next(f for f in IN_HEADER if f.name == "the last step of a sum of lanes")):
        assert "sequentially" in Batch([renamed(whole, "broken")], hurried=True).wrong(0)


@pytest.mark.parametrize("subject", ["ring 0", "bulk_store 0", "multicast 0"])
def test_a_synchronization_that_is_left_out_is_missed(subject: str) -> None:
    found = drops(subject, SCHEDULES)
    tried = [d for d in found if d.hazard and d.outcome != SAME]
    assert len(tried) >= 2
    ends = [d for d in tried if d.outcome != OBSERVED]  # of storage, whose place nothing takes
    assert [d.statement for d in ends if not d.hazard.startswith("mach-free")] == []


def test_every_mistake_of_the_header_has_a_place() -> None:
    text = texts._library(HEADER) or ""
    assert [f.name for f in IN_HEADER if not f.places(text)] == []


def test_names_of_mistakes_are_their_own() -> None:
    names = [f.name for f in (*IN_PROGRAMS, *IN_HEADER)]
    assert len(set(names)) == len(names)


def test_wgmma_has_no_small_form() -> None:
    proc = next(d.proc for d in map(drawn, range(400)) if d.kind == "tensor_cores")
    with pytest.raises(Unwidened, match="wgmma"):
        widened(proc, "p")


def test_totals_count_what_was_tried() -> None:
    row = {"fault": FAULTS[0], "family": "parity", "program": "p", "place": 0, "said": ""}
    unobservable = next(f.name for f in IN_PROGRAMS if f.unobservable)
    rows = [row | {"outcome": OBSERVED}, row | {"outcome": "not observed"}]
    found = in_text([*rows, row | {"fault": unobservable, "outcome": "not observed"}])
    assert (found["observed"], found["total"], list(found["unobservable"])) == (1, 2, [unobservable])
    drop = {"program": "p", "what": "Fence", "statement": "Fence", "hazard": "mach-free-read", "said": ""}
    lost = left_out([drop | {"outcome": "not observed"}, drop | {"outcome": SAME}])
    assert (lost["observed"], lost["total"], lost[SAME]) == (0, 1, 1)
    assert lost["not observed"][0]["reason"]


def test_what_is_written_outside_of_an_array_is_seen(copies: Case) -> None:
    class Writes:
        order, seed = "latest", 0

        def run(self, _: str, *arguments: object) -> None:
            x = arguments[1]
            assert isinstance(x, np.ndarray)
            ctypes.c_ubyte.from_address(x.ctypes.data - 1).value = 0

    together = Batch([copies])
    together.program = Writes()  # type: ignore[assignment]
    assert "writes outside of x" in together.wrong(0)


def test_what_is_written_behind_shared_memory_is_reported(copies: Case) -> None:
    name = next(n for n in copies.source.files if n.endswith(".c"))
    text = copies.source.files[name].replace(".shared_bytes = 384", ".shared_bytes = 376")
    assert text != copies.source.files[name]
    source = replace(copies.source, files={**copies.source.files, name: text})
    together = Batch([replace(copies, source=source)])
    given = {n: a.copy() for n, a in copies.before.items()}
    with pytest.raises(EmulationError):
        together.program.run(source.function, *copies.given(given))
