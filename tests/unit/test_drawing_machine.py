"""The pictures of the abstract machine: what the records say is what is drawn."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from soundline.impl.inspect.machine import KNOWN, SEEN, WRONG, group_name, pair_name, stamp_name, svg
from soundline.impl.inspect.machine_growth import Growth, growth
from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import check
from soundline.spec.spork.diagnosis.reports import statement_text
from soundline.spec.spork.machine.events import Allocated, Freed
from soundline.spec.spork.synchronization.barriers import QueueId, Stamp
from soundline.spec.spork.synchronization.timelines import CP_RAM, IO_RAM, IO_RMEM, LEGAL_PAIRS
from soundline.spec.spork.synchronization.visibility import CPU_THREAD, Policy, Signature, Thread

NAMESPACE = "{http://www.w3.org/2000/svg}"
TASK = (0, 0)

STAGED = """
def staged(x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for t in cuda_tasks(0, 1):
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            Fence(FIRST, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = s[63 - i]
            Fence(cuda_in_order, cuda_in_order)
"""

HANDED = """
def handed(x: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for t in cuda_tasks(0, 1):
            ready: barrier @ CudaMbarrier
            with CudaWarps(0, 1):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    x[i] = 1.0
                Arrive(cuda_in_order, 1) >> ready
            with CudaWarps(1, 2):
                Await(ready, cuda_in_order, ~0)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    x[i] = 2.0
"""


def staged(first: str, policy: Policy = Policy.temporal) -> Growth:
    return growth(proc_from_text(STAGED.replace("FIRST", first)).events(), "s[20]", policy)


def on(pair: tuple[object, object], number: int) -> Signature:
    return Signature(*pair, Thread(TASK, number))  # type: ignore[arg-type]


def test_the_rows_are_the_statements_that_concern_the_location() -> None:
    rows = staged("Sm80_cp_async").rows
    assert [statement_text(r.place)[:12] for r in rows] == [
        *("s: f32[64] @", "Sm80_cp_asyn", "Fence(Sm80_c", "y[i] = s[63 ", "Fence(cuda_i", "s: f32[64] @"),
    ]
    assert isinstance(rows[0].event, Allocated)
    assert isinstance(rows[-1].event, Freed)


def test_threads_that_do_the_same_are_one_group() -> None:
    groups = staged("Sm80_cp_async").groups
    assert [sorted(t.number for t in g)[:2] for g in groups] == [[0, 1], [5], [43]]
    assert sum(map(len, groups)) == 64


def test_records_begin_grow_and_are_asked() -> None:
    _, copied, fenced, read, last, freed = staged("Sm80_cp_async").rows
    (write,) = copied.lines
    assert (write.kind, write.age, write.origin) == ("write", "new", CP_RAM)
    assert write.sync_set == frozenset()
    assert write.async_set == {on(CP_RAM, 5)}
    (write,) = fenced.lines
    assert write.age == "old"
    assert write.gained == write.sync_set == {on(p, t) for p in (IO_RAM, IO_RMEM) for t in range(64)}
    write, new = read.lines
    assert write.asked == {(on(IO_RAM, 43), True)}
    assert (new.kind, new.age, new.asked) == ("read", "new", frozenset())
    assert [bool(line.gained) for line in last.lines] == [False, True]
    assert all(line.asked == {(on(IO_RAM, t), True) for t in range(64)} for line in freed.lines)
    assert not any(row.hazards for row in (copied, fenced, read, last, freed))


def test_a_weak_fence_changes_nothing_and_hazards_stand_where_they_are_found() -> None:
    rows = staged("cuda_in_order").rows
    assert not rows[2].lines[0].gained
    assert rows[3].lines[0].asked == {(on(IO_RAM, 43), False)}
    assert [[h.id for h in row.hazards] for row in rows] == [
        *([], [], [], ["mach-read-raw"], []),
        ["mach-free-write"],
    ]
    verdict = check(proc_from_text(STAGED.replace("FIRST", "cuda_in_order")), {})
    assert [f.id for f in verdict.findings] == ["mach-read-raw", "mach-free-write"]


def test_the_policy_is_that_of_the_machine() -> None:
    pairs = [
        {(s.instr, s.usage) for s in staged("Sm80_cp_async", p).rows[-1].lines[1].sync_set} for p in Policy
    ]
    assert pairs == [set(LEGAL_PAIRS) - {LEGAL_PAIRS[0], *LEGAL_PAIRS[6:8]}, {IO_RMEM, IO_RAM, CP_RAM}]


def test_a_write_takes_the_place_of_records_and_stamps_are_shown() -> None:
    rows = growth(proc_from_text(HANDED).events(), "x[3]").rows
    told = [[(line.kind, line.age) for line in row.lines] for row in rows]
    assert told == [
        *([], [("write", "new")], [("write", "old")], [("write", "old")]),
        [("write", "gone"), ("write", "new")],
    ]
    (stamp,) = rows[2].lines[0].stamps
    assert stamp_name(stamp) == "+ready #0"
    assert rows[3].lines[0].stamps == frozenset()
    assert rows[4].lines[0].asked == {(on(IO_RAM, 35), True)}


SHUFFLED = """
def shuffled(x: f32[32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for t in cuda_tasks(0, 1):
            v: f32[32] @ CudaRmem
            w: f32[32] @ CudaRmem
            for i in cuda_threads(0, 32, unit=cuda_thread):
                v[i] = x[i]
            cuda_shfl_xor_f32(w[0:32], v[0:32], mask=1)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                x[i] = w[i]
"""


def test_of_a_shuffle_only_the_owner_of_a_register_is_asked() -> None:
    rows = growth(proc_from_text(SHUFFLED).events(), "v[3]").rows
    write, read = rows[2].lines
    assert write.asked == {(on(IO_RMEM, 3), True)}
    assert (read.kind, len(read.threads)) == ("read", 32)
    assert not any(row.hazards for row in rows)


def test_an_element_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no element is called s\[64\]"):
        growth(proc_from_text(STAGED.replace("FIRST", "Sm80_cp_async")).events(), "s[64]")


# The picture ------------------------------------------------------------------------------------------------------


def colours(picture: str) -> list[str]:
    """The colours of the frames, the legend left out, which has one cell of each kind."""
    root = ElementTree.fromstring(picture)
    return [r.get("stroke", "") for r in root.iter(f"{NAMESPACE}rect")][:-7]


def test_cells_and_rings_are_those_of_the_records() -> None:
    right, wrong = svg(staged("Sm80_cp_async")), svg(staged("cuda_in_order"))
    groups = 3
    grown = staged("Sm80_cp_async")
    full = 0
    for row in grown.rows:
        for line in row.lines:
            for group in grown.groups:
                one = min(group)
                full += sum(Signature(*p, one) in line.sync_set for p in grown.pairs)
    assert colours(right).count(SEEN) == full
    assert colours(right).count(KNOWN) == 5
    assert colours(right).count(WRONG) == 0
    assert colours(wrong).count(WRONG) == 1 + groups
    assert "read after write: thread 43 does not see the write  [mach-read-raw]" in wrong
    assert "mach-" not in right


def test_a_picture_can_end_early() -> None:
    grown = staged("cuda_in_order")
    whole, part = svg(grown), svg(grown, rows=3)
    assert "mach-read-raw" in whole
    assert "mach-read-raw" not in part
    assert len(part) < len(whole)


def test_nothing_is_drawn_outside_and_no_colour_hides_on_a_dark_page() -> None:
    root = ElementTree.fromstring(svg(staged("cuda_in_order")))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for rect in root.iter(f"{NAMESPACE}rect"):
        x, y, w, h = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for text in root.iter(f"{NAMESPACE}text"):
        assert text.get("fill") in {"currentColor", WRONG}
        assert 0 <= float(text.get("x", -1)) <= width


def test_names_of_threads_fit() -> None:
    some = frozenset(Thread(TASK, t) for t in (0, *range(2, 32)))
    assert group_name(some) == "threads 0, 2-31"
    assert group_name(some, 60) == "0, 2-31"
    assert group_name(frozenset(Thread(TASK, 2 * t) for t in range(9)), 80) == "9 threads"
    assert group_name(frozenset(Thread(TASK, 2 * t) for t in range(9)), 8) == "9"
    assert group_name(frozenset({CPU_THREAD})) == "CPU"


def test_every_pair_has_a_name_of_its_own() -> None:
    assert len({pair_name(p) for p in LEGAL_PAIRS}) == len(LEGAL_PAIRS)


def test_a_stamp_names_position_and_side() -> None:
    assert stamp_name(Stamp(QueueId(("ring", 2), (1, 0), True), 4)) == "−ring[1, 0] #4"
