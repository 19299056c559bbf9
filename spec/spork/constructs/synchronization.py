"""
Constructs that synchronize
===========================

Fences and split barriers: what they say in each reading. They order what is done before by some threads on some
timelines before what is done after; `timelines` lists the timelines.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.spork.constructs.schema import Construct, program

FENCE: Final = Construct(
    slug="fence",
    title="Fence",
    group="synchronization",
    section="Synchronization Statements",
    form="Fence(FIRST, SECOND)",
    prose=(
        "All threads of the collective wait for each other. Their earlier accesses on the first timeline come "
        "before their later accesses on the second."
    ),
    sequential="Nothing.",
    machine=(
        "A record synchronizes if V_A meets full(FIRST) × C and, if FIRST is not transitive, its own timeline "
        "is in FIRST. Records of writes that synchronize gain full(SECOND) × C in V_A and V_S; records of reads "
        "gain temporal(SECOND) × C (S-03, S-08)."
    ),
    parallel=(
        "Each thread executes the pieces before the barrier, waits for all others, and executes the pieces "
        "after it."
    ),
    lowering=(
        "cp.async.wait_all if FIRST has copies; nothing for one thread, bar.warp.sync for a warp, "
        "barrier.cta.sync for a CTA, barrier.cluster.arrive and wait for a cluster; fence.proxy.async if SECOND "
        "has the asynchronous proxy. Fence(wgmma_fence_1, wgmma_fence_2) is wgmma.fence."
    ),
    laws=(
        "tl-pair",
        "tl-sync",
        *(f"fence-c{n}" for n in range(1, 8)),
        "static-fence-cpu",
        "mach-read-raw",
    ),
    example=program(
        """
        def f(x: f32[64] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64):
                for t in cuda_tasks(0, 1):
                    s: f32[64] @ CudaSmemLinear
                    for i in cuda_threads(0, 64, unit=cuda_thread):
                        s[i] = x[i]
                    Fence(cuda_in_order, cuda_in_order)
                    for i in cuda_threads(0, 64, unit=cuda_thread):
                        x[i] = s[63 - i]
                    Fence(cuda_in_order, cuda_in_order)
        """
    ),
    wrong=program(
        """
        def f(x: f32[64] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64):
                for t in cuda_tasks(0, 1):
                    s: f32[64] @ CudaSmemLinear
                    for i in cuda_threads(0, 64, unit=cuda_thread):
                        s[i] = x[i]
                    for w in cuda_threads(0, 2, unit=cuda_warp):
                        Fence(cuda_in_order, cuda_in_order)
                    for i in cuda_threads(0, 64, unit=cuda_thread):
                        x[i] = s[63 - i]
                    Fence(cuda_in_order, cuda_in_order)
        """
    ),
    breaks="mach-read-raw",
)

BARRIER: Final = Construct(
    slug="barrier",
    title="Barrier variable",
    group="synchronization",
    section="Synchronization Statements",
    form=program(
        """
        NAME: barrier[SIZE, ...] @ TYPE        NAME: barrier @ TYPE
        """
    ),
    prose=(
        "One or more queue barriers, of the type CudaCommitGroup, CudaMbarrier or CudaEvent. All of its indices "
        "are distributed: each collective that uses it has its own, the same in all statements of a side (S-25). A "
        "CudaMbarrier has a hidden second side for "
        "ReverseArrive and ReverseAwait. A CudaEvent may be declared, and orders nothing (S-22)."
    ),
    sequential="Nothing.",
    machine=(
        "Two counters for each position and side, initially 0: the arrives and the awaits. They must be equal "
        "at the end of the barrier (S-05). A barrier that a loop allocates again goes on counting (S-27)."
    ),
    parallel=(
        "A commit group is a queue of each thread, or for wgmma of each warp of the warpgroup (S-15). An "
        "mbarrier is a ring of physical barriers, which count arrivals and bytes and complete phase by phase."
    ),
    lowering=(
        "A commit group needs no storage, and an unused one generates no code (S-19). An mbarrier is 8 bytes of "
        "shared memory for each slot of its ring, initialized before the first task with the number of arriving "
        "threads. The number of slots is the sum of the lags of both sides, or the lag plus one without a "
        "reverse side."
    ),
    laws=(
        "bar-event",
        "bar-group-alone",
        "bar-depth",
        "bar-same-first",
        "bar-same-second",
        "bar-same-n",
        "bar-same-unit",
        "bar-reverse-unit",
        "dist-barrier-c1",
        "dist-barrier-c2",
        "dist-barrier-c3",
        "prog-barrier-index",
        "mach-barrier-unequal",
        "bar-alloc",
        "bar-awaited",
        "bar-group-owner",
        "bar-mbarrier-home",
    ),
    example=program(
        """
        def f(x: f32[32] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    done: barrier[32] @ CudaCommitGroup
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        Arrive(Sm80_cp_async, 1) >> done[i]
                        Await(done[i], Sm80_generic, 0)
        """
    ),
    wrong=program(
        """
        def f(x: f32[32] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    ready: barrier @ CudaMbarrier
                    Arrive(cuda_in_order, 1) >> ready
                    Arrive(cuda_in_order, 1) >> ready
                    Await(ready, cuda_in_order, ~0)
        """
    ),
    breaks="mach-barrier-unequal",
)

ARRIVE: Final = Construct(
    slug="arrive",
    title="Arrive, ReverseArrive",
    group="synchronization",
    section="Synchronization Statements",
    form=program(
        """
        Arrive(FIRST, 1) >> BARRIER[INDEX, ...] >> ...        ReverseArrive(FIRST, 1) >> BARRIER[INDEX, ...]
        """
    ),
    prose=(
        "The first half of a split barrier: earlier accesses of the collective on the first timeline come "
        "before what follows the paired await (S-01). With `:` for an index, or with several barriers of one "
        "array, it is multicast and arrives at all of them; the position without a colon is its *home*."
    ),
    sequential="Nothing.",
    machine=(
        "Every record that synchronizes, as at a fence, gets the stamp (queue, number of arrives before); then "
        "the counter of the home advances. A multicast stamps with each of its queues. At an mbarrier, the "
        "await of the arrive that used the same slot of the ring before must be known to be over (S-14)."
    ),
    parallel=(
        "Commit group: everything that the thread has issued and not committed becomes the next group. "
        "Mbarrier: each thread arrives; for copies, when its copies are complete; for TMA, the expected bytes "
        "are announced."
    ),
    lowering="Commit group: cp.async.commit_group, cp.async.bulk.commit_group or wgmma.commit_group. Mbarrier: "
    "mbarrier.arrive, cp.async.mbarrier.arrive.noinc, or mbarrier.arrive.expect_tx.",
    laws=(
        "prog-arrive",
        "bar-arrive-n",
        "bar-reverse",
        "bar-group-first",
        "bar-group-unit",
        "bar-group-last",
        "bar-mbarrier-first",
        "bar-mbarrier-unit",
        "bar-mbarrier-last",
        "bar-multicast-type",
        "bar-multicast-home",
        "bar-multicast-points",
        "bar-multicast-cta",
        "bar-multicast-same",
        "bar-place",
        "bar-mbarrier-cta",
        "bar-turns",
        "bar-turns-loop",
        "bar-turns-if",
        "bar-multicast-between",
        "bar-multicast-copies",
        "mach-arrive-overrun",
        "mach-read-raw",
    ),
    example=program(
        """
        def f(x: f32[64] @ CudaGmemLinear):
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
                            x[32 + i] = x[31 - i]
        """
    ),
    wrong=program(
        """
        def f(x: f32[64] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64):
                for t in cuda_tasks(0, 1):
                    ready: barrier @ CudaMbarrier
                    with CudaWarps(0, 1):
                        Arrive(cuda_in_order, 1) >> ready
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            x[i] = 1.0
                    with CudaWarps(1, 2):
                        Await(ready, cuda_in_order, ~0)
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            x[32 + i] = x[31 - i]
        """
    ),
    breaks="mach-read-raw",
)

AWAIT: Final = Construct(
    slug="await",
    title="Await, ReverseAwait",
    group="synchronization",
    section="Queue Barrier",
    form=program(
        """
        Await(BARRIER[INDEX, ...], SECOND, N)        ReverseAwait(BARRIER[INDEX, ...], SECOND, N)
        """
    ),
    prose=(
        "The second half, which pairs with arrives of the same queue. With N ≥ 0 it waits for all arrives "
        "except the last N. With N < 0 the lag is ~N: the first ~N awaits wait for nothing, and each later one "
        "waits for the next arrive."
    ),
    sequential="Nothing.",
    machine=(
        "With N ≥ 0 the stamps below arrives − N are released, and awaits becomes the greater of itself and "
        "that. With N < 0 nothing is released while awaits < ~N; otherwise the stamps up to awaits − ~N are "
        "released, and awaits advances. An arrive that does not come before it in the sequential order is an "
        "error. Released records gain what a fence would give (S-05)."
    ),
    parallel=(
        "Commit group: the thread blocks until all except its last N groups are complete; for wgmma, those that "
        "its own warp issued, and not those of the other warps of the warpgroup (S-15). Mbarrier: it blocks "
        "until the phase is complete, and then knows of all arrivals."
    ),
    lowering=(
        "cp.async.wait_group N, cp.async.bulk.wait_group N or wgmma.wait_group N; a loop on "
        "mbarrier.try_wait.parity, then fence.proxy.async if SECOND has the asynchronous proxy and FIRST does "
        "not."
    ),
    laws=(
        "prog-await",
        "bar-group-second",
        "bar-group-n",
        "bar-mbarrier-second",
        "bar-mbarrier-n",
        "bar-multicast-await",
        "mach-await-progress",
        "bar-place",
        "bar-mbarrier-cta",
        "bar-group-owner",
        "bar-turns",
        "bar-turns-loop",
        "bar-turns-if",
        "mach-write-waw",
    ),
    example=program(
        """
        def f(x: f32[2, 128] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    s: f32[2, 128] @ CudaSmemLinear
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        group: barrier @ CudaCommitGroup
                        for k in seq(0, 2):
                            with CudaAsync(Sm80_cp_async):
                                Sm80_cp_async_f32(s[k, 4 * i : 4 * i + 4], x[k, 4 * i : 4 * i + 4], size=4)
                            Arrive(Sm80_cp_async, 1) >> group
                        Await(group, Sm80_generic, 1)
                        s[0, 4 * i] = 0.0
                        Await(group, Sm80_generic, 0)
                        s[1, 4 * i] = 0.0
                    Fence(cuda_in_order, cuda_in_order)
        """
    ),
    wrong=program(
        """
        def f(x: f32[2, 128] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    s: f32[2, 128] @ CudaSmemLinear
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        group: barrier @ CudaCommitGroup
                        for k in seq(0, 2):
                            with CudaAsync(Sm80_cp_async):
                                Sm80_cp_async_f32(s[k, 4 * i : 4 * i + 4], x[k, 4 * i : 4 * i + 4], size=4)
                            Arrive(Sm80_cp_async, 1) >> group
                        Await(group, Sm80_generic, 1)
                        s[1, 4 * i] = 0.0
                        Await(group, Sm80_generic, 0)
                    Fence(cuda_in_order, cuda_in_order)
        """
    ),
    breaks="mach-write-waw",
)

SYNCHRONIZATION: Final = (FENCE, BARRIER, ARRIVE, AWAIT)
"""The constructs of this chapter."""
