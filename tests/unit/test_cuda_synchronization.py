"""
Fences and barriers in CUDA
===========================

The generated text of every statement that synchronizes, read beside its Spork; the same text executed in the order of
the program and held against the queues of the law; and mistakes in the generator, each of which is seen.
"""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from soundline.impl.codegen.cuda.barriers.rings import rings_of, targets_of
from soundline.impl.codegen.cuda.barriers.synchronization import PIECES, Synchronization
from soundline.impl.codegen.cuda.barriers.targets import Targets, largest
from soundline.impl.codegen.cuda.barriers.uses import uses_of
from soundline.impl.codegen.cuda.writing import Writer
from soundline.spec.abstract_machine import check
from soundline.spec.errors import CompileError, StaticError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Arrive
from soundline.spec.spork.machine.events import Arrived, BarrierAllocated
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.static.law import static_law

from .cuda_barrier_programs import (
    AHEAD,
    ELSEWHERE,
    EMPTY,
    GRID,
    GROUPS,
    NESTED,
    THREADS,
    TRANSPOSED,
    program,
    ring,
)
from .cuda_barriers import device_functions, execute, listing
from .spork_twins import EXAMPLES, load

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ executes the generated lines")


def example(name: str) -> tuple[Proc, dict[str, int]]:
    """The proc of an example, and its sizes."""
    module = load(EXAMPLES / f"{name}.py")
    proc = next(v for v in vars(module).values() if isinstance(v, Proc))
    return proc, dict(getattr(module, "SIZES", {}))


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
WITH_MBARRIERS = ["gemm_sm80_ring", "gemm_sm90_multicast", "gemm_sm90_ring", "tma_round_trip"]


# The text ---------------------------------------------------------------------------------------------------------


def test_fences_are_spelled_piece_by_piece() -> None:
    found = listing(GROUPS)
    assert found.of("Fence(wgmma_fence_1") == ["ptx::wgmma_fence_sync_aligned();"]
    assert found.of("Fence(Sm80_cp_async, cuda_generic") == [  # by one thread
        "ptx::cp_async_wait_all();",
        "ptx::fence_proxy_async();",
    ]
    assert found.of("Fence(Sm80_generic, Sm80_generic)") == ["ptx::cp_async_wait_all();", "__syncwarp();"]
    assert found.of("Fence(cuda_in_order, Sm80_generic)") == ["ptx::barrier_cta_sync(0);"]
    assert found.lines[max(found.lines)] == [
        "ptx::cp_async_wait_all();",
        "ptx::barrier_cluster_arrive();",
        "ptx::barrier_cluster_wait();",
        "ptx::fence_proxy_async();",
    ]


def test_commit_groups() -> None:
    found = listing(GROUPS)
    assert found.of("Arrive(wgmma_async") == ["ptx::wgmma_commit_group_sync_aligned();"]
    assert found.of("Await(group, cuda_in_order, 1)") == ["ptx::wgmma_wait_group_sync_aligned<1>();"]
    assert found.of("Arrive(tma_to_gmem_async") == ["ptx::cp_async_bulk_commit_group();"]
    assert found.of("Await(stores") == ["ptx::cp_async_bulk_wait_group<0>();"]
    assert found.of("Arrive(Sm80_cp_async") == ["ptx::cp_async_commit_group();"]
    assert found.of("Await(copies, Sm80_generic, 2)") == ["ptx::cp_async_wait_group<2>();"]
    assert found.synchronization.shared_bytes == 0
    assert found.part("setup") == []
    assert found.part("declare") == [
        "struct SyncState {",
        "    // No mbarriers: nothing is counted.",
        "};",
    ]


def test_a_ring_with_two_sides() -> None:
    proc, _ = example("gemm_sm80_ring")
    found = listing(proc, arch=80)
    assert found.of("ReverseAwait") == [
        "if (sync.ring_reverse_awaits.is_due()) {",
        (
            "    while (!ptx::mbarrier_test_wait_parity_shared_b64(SyncState::mbarrier(3 + "
            "sync.ring_reverse_awaits.slot), sync.ring_reverse_awaits.parity)) {}"
        ),
        "    sync.ring_reverse_awaits.next();",
        "}",
    ]
    assert found.of("Arrive") == [
        "ptx::cp_async_mbarrier_arrive_noinc_shared_b64(SyncState::mbarrier(sync.ring_arrives.slot));",
        "sync.ring_arrives.next();",
    ]
    assert found.of("Await") == [
        (
            "while (!ptx::mbarrier_test_wait_parity_shared_b64(SyncState::mbarrier(sync.ring_awaits.slot), "
            "sync.ring_awaits.parity)) {}"
        ),
        "sync.ring_awaits.next();",
    ]
    assert found.of("ReverseArrive") == [
        "__syncwarp();",
        (
            "if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive_shared_b64(SyncState::mbarrier(3 + "
            "sync.ring_reverse_arrives.slot));"
        ),
        "sync.ring_reverse_arrives.next();",
    ]
    assert found.synchronization.shared_bytes == 8 * 6
    assert not found.synchronization.uses_async_proxy
    assert [line for line in found.part("declare") if "Turn<3" in line] == [
        "    Turn<3> ring_arrives;",
        "    Turn<3> ring_awaits;",
        "    Turn<3> ring_reverse_arrives;",
        "    Turn<3, 3> ring_reverse_awaits;",
    ]
    assert found.part("setup") == [
        "if (threadIdx.x == 0) {",
        "    for (int k = 0; k < 3; ++k) ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), 64);",
        "    for (int k = 3; k < 6; ++k) ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), 2);",
        "}",
        "ptx::barrier_cta_sync(0);",
    ]
    # At the forward side copies may still be about to arrive: nobody has to await the last of them.
    assert found.part("shutdown") == [
        "ptx::cp_async_wait_all();",
        "ptx::barrier_cta_sync(0);",
        "if (threadIdx.x == 0) {",
        "    for (int k = 3; k < 6; ++k) ptx::mbarrier_inval_shared_b64(SyncState::mbarrier(k));",
        "}",
    ]


def test_multicast_with_bytes() -> None:
    found = listing(example("gemm_sm90_multicast")[0])
    assert found.of("with CudaAsync(tma") == ["sync.ring_bytes = 0;", "sync.ring_bytes_all_cta = 0;"]
    assert found.of("Sm90_copy_tensor") == ["sync.ring_bytes += BYTES;"]
    assert found.of("Sm90_multicast_tensor") == ["sync.ring_bytes_all_cta += BYTES;"]
    assert set(found.pointers.values()) == {"SyncState::mbarrier(sync.ring_arrives.slot)"}
    assert found.of("Arrive(tma") == [
        "__syncwarp();",
        "if (const uint32_t target_cta = threadIdx.x % 32; 0x3 >> target_cta & 1) {",
        (
            "    ptx::mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64(SyncState::mbarrier("
            "sync.ring_arrives.slot), target_cta, (target_cta == ptx::cluster_ctarank() ? sync.ring_bytes : 0) + "
            "sync.ring_bytes_all_cta);"
        ),
        "}",
        "sync.ring_arrives.next();",
    ]
    assert found.of("Await(ring") == [  # what other CTAs did is acquired; all of it went through one proxy
        (
            "while (!ptx::mbarrier_try_wait_parity_acquire_cluster_shared_b64(SyncState::mbarrier("
            "sync.ring_awaits.slot), sync.ring_awaits.parity)) {}"
        ),
        "sync.ring_awaits.next();",
    ]
    assert found.of("ReverseAwait")[-2:] == ["    ptx::fence_proxy_async();", "}"]
    assert found.part("setup")[-4:] == [
        "    ptx::fence_proxy_async();",
        "}",
        "ptx::barrier_cluster_arrive();",
        "ptx::barrier_cluster_wait();",
    ]
    assert "    ptx::fence_mbarrier_init_release_cluster();" in found.part("setup")
    assert found.part("shutdown")[:2] == ["ptx::barrier_cluster_arrive();", "ptx::barrier_cluster_wait();"]


def test_a_grid_of_ctas() -> None:
    found = listing(GRID)
    assert found.of("ReverseArrive")[1] == (
        "if (const uint32_t target_cta = threadIdx.x % 32; (0x3 << (2 * m) | 0x5 << n) >> target_cta & 1) {"
    )
    assert "((0x3 << (2 * m)) >> target_cta & 1 ? sync.full_bytes_all_n : 0)" in found.of("Arrive(tma")[2]


def test_one_thread_and_several_queues() -> None:
    found = listing(THREADS)
    assert found.of("Arrive") == [
        "for (uint32_t target_cta = 0; target_cta < 2; ++target_cta) {",
        (
            "    if (0x3 >> target_cta & 1) ptx::mbarrier_arrive_release_cluster_shared_cluster_b64("
            "SyncState::mbarrier(2 * w + sync.bar_arrives.slot), target_cta);"
        ),
        "}",
        "sync.bar_arrives.next();",
    ]
    assert found.of("Await")[0].count("SyncState::mbarrier(2 * w + sync.bar_awaits.slot)") == 1
    assert found.synchronization.shared_bytes == 8 * 2 * 2 * 2


def test_a_block_that_sends_nothing_arrives() -> None:
    found = listing(EMPTY)
    assert found.of("with CudaAsync") == []
    assert found.of("Arrive") == [
        "__syncwarp();",
        "if (ptx::elect_sync()) ptx::mbarrier_arrive_expect_tx_shared_b64(SyncState::mbarrier(0), 0);",
        "sync.bar_arrives.next();",
    ]


def test_iterators_around_an_allocation_tell_barriers_apart() -> None:
    found = listing(NESTED)
    assert "SyncState::mbarrier(2 + w)" in found.of("ReverseAwait")[1]
    assert found.synchronization.shared_bytes == 8 * 2 * 2


def test_barriers_of_one_name_are_told_apart() -> None:
    one = """
    if x_size > {k}:
        bar: barrier @ CudaMbarrier
        Arrive(cuda_in_order, 1) >> bar
        Await(bar, cuda_in_order, ~0)
    """
    found = listing(program(one.format(k=0) + one.format(k=1), arguments="x_size: size"))
    declared = [line.split()[-1] for line in found.part("declare") if "Turn<1>" in line]
    assert declared == ["bar_arrives;", "bar_awaits;", "bar2_arrives;", "bar2_awaits;"]


@pytest.mark.parametrize("name", NAMES)
def test_every_piece_of_the_law_is_spelled_in_its_order(name: str) -> None:
    proc, _ = example(name)
    facts = static_law(proc)
    for which, (_, path) in enumerate(device_functions(proc.body)):
        lines = listing(proc, which=which).lines
        own = {at: pieces for at, pieces in facts.pieces.items() if at[: len(path)] == path}
        assert own.keys() <= lines.keys()
        for at, pieces in own.items():
            text = "\n".join(lines[at])
            calls = [re.split(r"[(<{]", line)[0] for p in pieces for line in PIECES.get(p, ())]
            places = [text.find(call) for call in calls]
            assert -1 not in places
            assert places == sorted(places)
            assert text.count("fence_proxy_async") == pieces.count("fence.proxy.async")
            assert all(PIECES.get(piece) or "mbarrier" in text for piece in pieces)


# Between tasks ----------------------------------------------------------------------------------------------------


MEETS, PROXY = "ptx::barrier_cta_sync(0);", "ptx::fence_proxy_async();"
LOAD = """
with CudaWarps(0, 1):
    bar: barrier @ CudaMbarrier
    with CudaAsync(tma_to_smem_async):
        Arrive(tma_to_smem_async, 1) >> bar
    Await(bar, cuda_generic_and_async_proxy, ~0)
"""


@pytest.mark.parametrize(
    ("body", "device", "wanted"),
    [
        ("pass", "blockDim=64", [MEETS]),
        ("pass", "blockDim=32", ["__syncwarp();"]),
        ("Fence(cuda_in_order, cuda_in_order)", "blockDim=64", []),
        (LOAD, "blockDim=64", [MEETS, PROXY]),
        (f"{LOAD}Fence(cuda_in_order, cuda_in_order)", "blockDim=64", [PROXY]),
        (f"{LOAD}Fence(cuda_in_order, cuda_generic_and_async_proxy)", "blockDim=64", []),
        (
            f"{LOAD}with CudaWarps(0, 1):\n    Fence(cuda_in_order, cuda_in_order)",
            "blockDim=64",
            [MEETS, PROXY],
        ),
        (
            "for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):\n    Fence(cuda_in_order, cuda_in_order)",
            "blockDim=64, clusterDim=2",
            ["ptx::barrier_cluster_arrive();", "ptx::barrier_cluster_wait();"],
        ),
        ("Fence(cuda_in_order, cuda_in_order)", "blockDim=64, clusterDim=2", []),
    ],
)
def test_what_the_last_fence_of_a_task_does_is_left_out(body: str, device: str, wanted: list[str]) -> None:
    found = listing(program(body, device=device))
    comment, *lines = found.part("boundary")
    assert comment.startswith("// The ")
    assert lines == wanted


def test_a_cluster_ends_together() -> None:
    found = listing(program("pass", device="blockDim=64, clusterDim=2"))
    assert found.part("shutdown") == ["ptx::barrier_cluster_arrive();", "ptx::barrier_cluster_wait();"]


# The text is executed ---------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    "proc", [AHEAD, EMPTY, GRID, NESTED, THREADS], ids=["ahead", "empty", "grid", "nested", "threads"]
)
def test_slots_and_parities_are_those_of_the_law(proc: Proc, tmp_path: Path) -> None:
    assert check(proc, {}).ok
    execute(proc, {}, tmp_path)


@needs_compiler
@pytest.mark.parametrize("name", WITH_MBARRIERS)
def test_slots_and_parities_of_the_examples(name: str, tmp_path: Path) -> None:
    execute(*example(name), tmp_path)


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_slots_and_parities_of_rings_of_any_lags(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    forward, reverse = chosen.randrange(4), chosen.randrange(1, 5)
    proc = ring(
        forward, reverse, chosen.randrange(1, 8), chosen.randrange(2, 6), queues=chosen.randrange(1, 3)
    )
    assert check(proc, {}).ok
    execute(proc, {}, tmp_path)


MUTANTS = {
    "the parity never turns": (AHEAD, r"parity \^= 1", "parity ^= 0"),
    "the parity begins odd": (EMPTY, r"parity = 0", "parity = 1"),
    "a round is longer by one": (THREADS, r"< DEPTH", "<= DEPTH"),
    "slots are not stepped": (THREADS, r"\+\+slot", "slot + 1"),
    "the lag is shorter by one": (THREADS, r"Turn<2, 2>", "Turn<2, 1>"),
    "the lag is not stepped over": (AHEAD, r"early < LAG", "false"),
    "a task begins with the lag of the last": (AHEAD, r"sync\.\w+\.restart\(\);", ""),
    "one arrival too many": (EMPTY, r"mbarrier\(k\), 1\)", "mbarrier(k), 2)"),
    "one arrival too few": (GRID, r"mbarrier\(k\), 3\)", "mbarrier(k), 2)"),
    "all lanes arrive": (EMPTY, r"if \(ptx::elect_sync\(\)\) ptx::mbarrier", "ptx::mbarrier"),
    "a CTA is left out": (GRID, r"0x3 << \(2 \* m\) \| ", ""),
    "another row": (GRID, r"2 \* m", "2 * n"),
    "bytes of a loop are not counted": (GRID, r"full_bytes_all_n \+=", "full_bytes_all_n ="),
    "bytes are announced to all": (GRID, r"\(target_cta == ptx::cluster_ctarank\(\) \? (\S+) : 0\)", r"\1"),
    "bytes of the last block remain": (GRID, r"sync\.full_bytes(_all_n)? = 0;", ""),
    "two queues share mbarriers": (THREADS, r"2 \* w \+ ", ""),
    "two barriers share mbarriers": (NESTED, r"2 \+ w", "w"),
    "an mbarrier is not initialized": (THREADS, r"k < 4", "k < 3"),
}


@needs_compiler
@pytest.mark.parametrize("mistake", MUTANTS)
def test_a_mistake_is_seen(mistake: str, tmp_path: Path) -> None:
    proc, old, new = MUTANTS[mistake]

    def changed(text: str) -> str:
        found, count = re.subn(old, new, text)
        assert count, "there is nothing to change"
        return found

    with pytest.raises(AssertionError, match=r"^(?!there is nothing to change)"):
        execute(proc, {}, tmp_path, changed)


# Counts and targets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("proc", [GRID, THREADS], ids=["grid", "threads"])
def test_targets_are_the_queues_of_the_machine(proc: Proc) -> None:
    ((function, path),) = device_functions(proc.body)
    facts = static_law(proc)
    uses = uses_of(function, path, facts)
    paths, seen = {}, 0
    for event in unfold(proc, {}):
        if isinstance(event, BarrierAllocated):
            paths[event.barrier] = event.place.path
        if isinstance(event, Arrived):
            use, values = uses.uses[event.place.path], dict(event.place.iteration)
            assert isinstance(use.statement, Arrive)
            ranks = [t.ranks(values) for t in largest(targets_of(use, use.statement.barriers))]
            steps = [
                p // use.tiling.block_dim
                for p in facts.barriers[paths[event.queues[0].barrier]].forward.arrives.pitches
            ]
            wanted = {sum(a * s for a, s in zip(q.at, steps, strict=True)) for q in event.queues}
            assert frozenset().union(*ranks) == wanted
            seen += 1
    assert seen > 8


def test_an_index_adds_nothing_to_a_colon() -> None:
    own = Targets((("m", 2), ("n", 1)))
    row, column, every = own.without("n", 2), own.without("m", 2), own.without("m", 2).without("n", 2)
    assert largest([own, row]) == (row,)
    assert largest([row, column, own]) == (row, column)
    assert largest([row, every, row]) == (every,)
    assert (row.mask, column.mask, every.mask) == (0b11, 0b101, 0b1111)


def test_mbarriers_lie_side_by_side() -> None:
    proc, _ = example("gemm_sm90_multicast")
    ((function, path),) = device_functions(proc.body)
    facts = static_law(proc)
    (found,) = rings_of(uses_of(function, path, facts), facts).values()
    sides = [(s.first, s.arrivals, s.lag, s.is_remote) for s in found.sides.values()]
    assert (found.depth, found.queues, sides) == (2, 1, [(0, 2, 0, True), (2, 8, 2, True)])


# What cannot be said in CUDA --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proc", "rule"),
    [(TRANSPOSED, "dist-barrier-c3"), (ELSEWHERE, "bar-trailing-ctas")],
    ids=["queues", "bytes"],
)
def test_what_mbarriers_cannot_do_is_refused_by_the_law(proc: Proc, rule: str) -> None:
    with pytest.raises(StaticError, match=rf"\[{rule}\]"):
        static_law(proc)


@pytest.mark.parametrize(
    ("proc", "piece"),
    [(EMPTY, "mbarrier.arrive.expect_tx"), (GROUPS, "wgmma.fence"), (THREADS, "barrier.cluster")],
    ids=["arrive", "fence", "cluster"],
)
def test_what_an_architecture_lacks_is_refused(proc: Proc, piece: str) -> None:
    with pytest.raises(CompileError, match=rf"sm_80: {piece} is an instruction of sm_90"):
        listing(proc, arch=80)


def test_each_line_knows_its_statement() -> None:
    ((function, path),) = device_functions(AHEAD.body)
    made, out = Synchronization(static_law(AHEAD), function, path, 90), Writer()
    made.setup(out)
    assert sum(origin is not None for origin in out.origins) == 1
