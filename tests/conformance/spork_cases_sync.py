"""Small Spork programs about synchronization, as those of `spork_cases`."""

# ruff: noqa: E501 - what was there stands on the line of what is there

from __future__ import annotations

from .spork_cases import XY, X, case, whole
from .sync_bugs.form import Bug, proc

FENCES = (
    case(
        "copies of TMA are awaited by a barrier",
        """
        Fence(Sm80_generic, cuda_in_order)  # was: Fence(tma_to_smem_async, cuda_in_order)  # fence-c4
        """,
    ),
    case(
        "no fence leads to registers of wgmma",
        """
        Fence(cuda_in_order, cuda_async_proxy)  # was: Fence(cuda_in_order, wgmma_async)  # fence-c7
        """,
    ),
    case(
        "two warps of four have no fence",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):  # was: for w in cuda_threads(0, 2, unit=2 * cuda_warp):
            Fence(cuda_in_order, cuda_in_order)  # fence-c6
        """,
    ),
    case(
        "half a warp has no fence",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):  # was: for w in cuda_threads(0, 4, unit=16 * cuda_thread):
            Fence(cuda_in_order, cuda_in_order)  # fence-c5
        """,
    ),
    case(
        "a warpgroup that is the CTA has a fence",
        """
        for g in cuda_threads(0, 2, unit=cuda_warpgroup):
            # was here: Fence(cuda_in_order, cuda_in_order)  # fence-c6
            pass
        Fence(cuda_in_order, cuda_in_order)
        """,
        threads=256,
    ),
    case(
        "wgmma_fence_1 leads to wgmma_fence_2",
        """
        with CudaAsync(wgmma_async):
            Fence(wgmma_fence_1, wgmma_fence_2)  # was: Fence(wgmma_fence_1, cuda_in_order)  # fence-c1
        """,
    ),
    case(
        "wgmma.fence comes first",
        """
        d: f32[64, 8] @ Sm90_RmemMatrixD
        group: barrier @ CudaCommitGroup
        with CudaAsync(wgmma_async):
            Fence(wgmma_fence_1, wgmma_fence_2)  # was missing
            Sm90_zero_scale_d_f32(d[:, :], N=8)
            # was here: Fence(wgmma_fence_1, wgmma_fence_2)  # fence-c3
            Arrive(wgmma_async, 1) >> group
        Await(group, cuda_in_order, 0)
        """,
    ),
    case(
        "wgmma.fence stands in a block of wgmma",
        """
        with CudaAsync(wgmma_async):  # was: for k in seq(0, 1):
            Fence(wgmma_fence_1, wgmma_fence_2)  # fence-c3
        """,
    ),
    case(
        "wgmma.fence is of one warpgroup",
        """
        for g in cuda_threads(0, 2, unit=cuda_warpgroup):  # was: for g in cuda_threads(0, 1, unit=2 * cuda_warpgroup):
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)  # fence-c2
        """,
        threads=256,
    ),
    whole(
        "the CPU fences the CPU",
        """
        def f(x: f32[4] @ DRAM):
            Fence(cpu_in_order, cpu_in_order)  # was: Fence(cpu_in_order, cuda_in_order)  # static-fence-cpu
        """,
    ),
    case(
        "a fence from the temporal timeline waits for nothing",
        """
        s: f32[128] @ CudaSmemLinear
        for i in cuda_threads(0, 128, unit=cuda_thread):
            s[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)  # was: Fence(cuda_temporal, cuda_in_order)
        for i in cuda_threads(0, 128, unit=cuda_thread):
            x[i] = s[127 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "a fence to the temporal timeline shows no values",
        """
        s: f32[128] @ CudaSmemLinear
        for i in cuda_threads(0, 128, unit=cuda_thread):
            s[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)  # was: Fence(cuda_in_order, cuda_temporal)
        for i in cuda_threads(0, 128, unit=cuda_thread):
            x[i] = s[127 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "it suffices for a write after a read",
        """
        for i in cuda_threads(0, 64, unit=cuda_thread):
            y[i] = x[i]
        Fence(cuda_in_order, cuda_temporal)  # was missing
        for i in cuda_threads(0, 64, unit=cuda_thread):
            x[63 - i] = 0.0  # mach-write-war
        """,
        XY,
    ),
    case(
        "a fence of copies is one of copies alone",
        """
        s: f32[128] @ CudaSmemLinear
        for i in cuda_threads(0, 128, unit=cuda_thread):
            s[i] = x[i]
        Fence(Sm80_generic, cuda_in_order)  # was: Fence(Sm80_cp_async, cuda_in_order)
        for i in cuda_threads(0, 128, unit=cuda_thread):
            x[i] = s[127 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "copies over copies need a fence that leads to copies",
        """
        s: f32[128] @ CudaSmemLinear
        for k in seq(0, 2):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)  # mach-write-waw
            Fence(Sm80_generic, Sm80_generic)  # was: Fence(Sm80_generic, cuda_in_order)
        """,
    ),
    case(
        "a fence of copies does not pass on what a warp was told of",
        """
        s: f32[128] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            with CudaAsync(tma_to_smem_async):
                Sm90_bulk_copy_to_smem_f32(s[:], x[:], size=128) >> full
                Arrive(tma_to_smem_async, 1) >> full
            Await(full, cuda_in_order, ~0)
        Fence(cuda_in_order, cuda_in_order)  # was: Fence(Sm80_generic, cuda_in_order)
        for i in cuda_threads(0, 128, unit=cuda_thread):
            y[i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "a thread sees what it has written",
        """
        s: f32[64] @ CudaSmemLinear
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        for i in cuda_threads(0, 64, unit=cuda_thread):
            x[i] = s[i]  # was: x[i] = s[i // 2]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "threads may read together",
        """
        for i in cuda_threads(0, 64, unit=cuda_thread):
            y[i] = x[0]  # was: y[0] = x[i]  # mach-write-waw
        """,
        XY,
    ),
    case(
        "atomic additions may be made together",
        """
        for i in cuda_threads(0, 64, unit=cuda_thread):
            cuda_atomic_add_f32(y[0], x[i])  # mach-write-waw
            # was here: y[0] += 1.0
        """,
        XY,
    ),
    case(
        "a fence of each warp does for a warp",
        """
        s: f32[128] @ CudaSmemLinear
        for w in cuda_threads(0, 4, unit=cuda_warp):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[32 * w + i] = x[32 * w + i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                x[32 * w + i] = s[32 * w + 31 - i]  # was: x[32 * w + i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
)


def met(name: str, body: str, threads: int = 128) -> Bug:
    """A case about one mbarrier."""
    return case(name, "full: barrier @ CudaMbarrier\n" + proc(body), X, threads)


def grouped(name: str, body: str) -> Bug:
    """A case about a commit group of each of 32 threads."""
    inside = "".join(f"    {line}\n" for line in proc(body).splitlines())
    head = "groups: barrier[32] @ CudaCommitGroup\nfor i in cuda_threads(0, 32, unit=cuda_thread):\n"
    return case(name, head + inside, X, 32)


BARRIERS = (
    met(
        "the await of an mbarrier has a lag",
        """
        Arrive(cuda_in_order, 1) >> full
        Await(full, cuda_in_order, ~0)  # was: Await(full, cuda_in_order, 0)  # bar-mbarrier-n
        """,
    ),
    grouped(
        "the await of a commit group has none",
        """
        Arrive(Sm80_cp_async, 1) >> groups[i]
        Await(groups[i], cuda_in_order, 0)  # was: Await(groups[i], cuda_in_order, ~0)  # bar-group-n
        """,
    ),
    met(
        "an arrive is one arrive",
        """
        Arrive(cuda_in_order, 1) >> full  # was: Arrive(cuda_in_order, 2) >> full  # prog-arrive
        Await(full, cuda_in_order, ~0)
        """,
    ),
    grouped(
        "a commit group has no reverse side",
        """
        Arrive(Sm80_cp_async, 1) >> groups[i]  # was: ReverseArrive(Sm80_cp_async, 1) >> groups[i]  # bar-reverse
        Await(groups[i], cuda_in_order, 0)  # was: ReverseAwait(groups[i], cuda_in_order, 0)
        """,
    ),
    case(
        "an event is not used on the device",
        """
        full: barrier @ CudaMbarrier  # was: full: barrier @ CudaEvent
        Arrive(cuda_in_order, 1) >> full  # bar-event
        Await(full, cuda_in_order, ~0)
        """,
    ),
    grouped(
        "nothing in order is committed",
        """
        Arrive(Sm80_cp_async, 1) >> groups[i]  # was: Arrive(cuda_in_order, 1) >> groups[i]  # bar-group-first
        Await(groups[i], cuda_in_order, 0)
        """,
    ),
    grouped(
        "a wait for copies leads to the generic proxy",
        """
        Arrive(Sm80_cp_async, 1) >> groups[i]
        Await(groups[i], Sm80_generic, 0)  # was: Await(groups[i], cuda_async_proxy, 0)  # bar-group-second
        """,
    ),
    case(
        "each thread commits its own copies",
        """
        groups: barrier[32] @ CudaCommitGroup  # was: groups: barrier[1] @ CudaCommitGroup
        for i in cuda_threads(0, 32, unit=cuda_thread):  # was: for i in cuda_threads(0, 1, unit=cuda_warp):
            Arrive(Sm80_cp_async, 1) >> groups[i]  # bar-group-unit
            Await(groups[i], cuda_in_order, 0)
        """,
        threads=32,
    ),
    case(
        "groups of two kinds live together",
        """
        a: barrier @ CudaCommitGroup
        b: barrier @ CudaCommitGroup  # bar-group-alone
        for i in cuda_threads(0, 1, unit=cuda_thread):
            Arrive(Sm80_cp_async, 1) >> a
            Await(a, cuda_in_order, 0)
            Arrive(tma_to_gmem_async, 1) >> b  # was: Arrive(Sm80_cp_async, 1) >> b
            Await(b, cuda_in_order, 0)
        """,
    ),
    met(
        "wgmma does not arrive at an mbarrier",
        """
        Arrive(cuda_in_order, 1) >> full  # was: Arrive(wgmma_async, 1) >> full  # bar-mbarrier-first
        Await(full, cuda_in_order, ~0)
        """,
    ),
    met(
        "an mbarrier does not lead to registers of wgmma",
        """
        Arrive(cuda_in_order, 1) >> full
        Await(full, cuda_async_proxy, ~0)  # was: Await(full, cuda_async_proxy_wgmma, ~0)  # bar-mbarrier-second
        """,
    ),
    met(
        "whole warps use an mbarrier",
        """
        for w in cuda_threads(0, 1, unit=32 * cuda_thread):  # was: for w in cuda_threads(0, 1, unit=16 * cuda_thread):
            Arrive(cuda_in_order, 1) >> full  # bar-mbarrier-unit
            Await(full, cuda_in_order, ~0)
        """,
    ),
    met(
        "arrives are of one timeline",
        """
        for k in seq(0, 2):
            if k == 0:
                Arrive(cuda_in_order, 1) >> full
            else:
                Arrive(cuda_in_order, 1) >> full  # was: Arrive(Sm80_cp_async, 1) >> full  # bar-same-first
            Await(full, cuda_in_order, ~0)
        """,
    ),
    met(
        "awaits are of one timeline",
        """
        for k in seq(0, 2):
            Arrive(cuda_in_order, 1) >> full
            if k == 0:
                Await(full, cuda_in_order, ~0)
            else:
                Await(full, cuda_in_order, ~0)  # was: Await(full, Sm80_generic, ~0)  # bar-same-second
        """,
    ),
    met(
        "awaits of an mbarrier have one lag",
        """
        for k in seq(0, 2):
            Arrive(cuda_in_order, 1) >> full
            if k == 0:
                Await(full, cuda_in_order, ~0)
            else:
                Await(full, cuda_in_order, ~0)  # was: Await(full, cuda_in_order, ~1)  # bar-same-n
        """,
    ),
    met(
        "the same threads arrive",
        """
        for k in seq(0, 2):
            if k == 0:
                with CudaWarps(0, 1):
                    Arrive(cuda_in_order, 1) >> full
            else:
                with CudaWarps(0, 1):  # was: with CudaWarps(1, 2):
                    Arrive(cuda_in_order, 1) >> full  # dist-barrier-c2
            Await(full, cuda_in_order, ~0)
            Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    met(
        "who awaits arrives at the other side",
        """
        with CudaWarps(0, 1):
            ReverseAwait(full, cuda_in_order, ~1)
            Arrive(cuda_in_order, 1) >> full
        with CudaWarps(1, 2):
            Await(full, cuda_in_order, ~0)
            ReverseArrive(cuda_in_order, 1) >> full  # was missing
        # was here: with CudaWarps(2, 3):
        # was here:     ReverseArrive(cuda_in_order, 1) >> full  # bar-reverse-unit
        """,
    ),
    case(
        "a ring has a slot",
        """
        full: barrier @ CudaMbarrier  # bar-depth
        with CudaWarps(0, 1):
            ReverseAwait(full, cuda_in_order, ~1)  # was: ReverseAwait(full, cuda_in_order, ~0)
            Arrive(cuda_in_order, 1) >> full
        with CudaWarps(1, 2):
            Await(full, cuda_in_order, ~0)
            ReverseArrive(cuda_in_order, 1) >> full
        """,
    ),
    met(
        "every barrier with an await has an arrive",
        """
        Arrive(cuda_in_order, 1) >> full  # was: pass
        Await(full, cuda_in_order, ~0)  # bar-awaited
        """,
    ),
    whole(
        "barriers are allocated in tasks",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            # was here: full: barrier @ CudaMbarrier  # bar-alloc
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    full: barrier @ CudaMbarrier  # was missing
                    Arrive(cuda_in_order, 1) >> full
                    Await(full, cuda_in_order, ~0)
        """,
    ),
    grouped(
        "an index of a barrier tells who uses it",
        """
        Arrive(Sm80_cp_async, 1) >> groups[i]
        Await(groups[i], cuda_in_order, 0)  # was: Await(groups[0], cuda_in_order, 0)  # dist-c6
        """,
    ),
    grouped(
        "an await has no colon",
        """
        Arrive(Sm80_cp_async, 1) >> groups[i]
        Await(groups[i], cuda_in_order, 0)  # was: Await(groups[:], cuda_in_order, 0)  # prog-barrier-index
        """,
    ),
    met(
        "an await is followed by its turn",
        """
        for k in seq(0, 2):
            with CudaWarps(0, 1):
                ReverseAwait(full, cuda_in_order, ~1)
                Arrive(cuda_in_order, 1) >> full
            with CudaWarps(1, 2):
                Await(full, cuda_in_order, ~0)  # bar-turns
                # was here: Await(full, cuda_in_order, ~0)
                ReverseArrive(cuda_in_order, 1) >> full
        """,
    ),
    met(
        "no loop stands between an await and its turn",
        """
        with CudaWarps(0, 1):
            ReverseAwait(full, cuda_in_order, ~1)
            Arrive(cuda_in_order, 1) >> full
        with CudaWarps(1, 2):
            Await(full, cuda_in_order, ~0)
            for k in seq(0, 1):  # bar-turns-loop
                pass
                # was here: ReverseArrive(cuda_in_order, 1) >> full
            ReverseArrive(cuda_in_order, 1) >> full  # was missing
        """,
    ),
    case(
        "the arrive of TMA ends its block",
        """
        s: f32[8] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        with CudaAsync(tma_to_smem_async):
            # was here: Arrive(tma_to_smem_async, 1) >> full  # bar-mbarrier-last
            Sm90_bulk_copy_to_smem_f32(s[:], x[0:8], size=8) >> full
            Arrive(tma_to_smem_async, 1) >> full  # was missing
        Await(full, cuda_in_order, ~0)
        """,
        threads=32,
    ),
    case(
        "the arrive of wgmma ends its block",
        """
        d: f32[64, 8] @ Sm90_RmemMatrixD
        group: barrier @ CudaCommitGroup
        with CudaAsync(wgmma_async):
            Fence(wgmma_fence_1, wgmma_fence_2)
            # was here: Arrive(wgmma_async, 1) >> group  # bar-group-last
            Sm90_zero_scale_d_f32(d[:, :], N=8)
            Arrive(wgmma_async, 1) >> group  # was missing
        Await(group, cuda_in_order, 0)
        """,
    ),
    case(
        "a barrier ends with as many awaits as arrives",
        """
        full: barrier @ CudaMbarrier  # mach-barrier-unequal
        for k in seq(0, 2):
            Arrive(cuda_in_order, 1) >> full
            Await(full, cuda_in_order, ~0)
        # was here: Arrive(cuda_in_order, 1) >> full
        """,
    ),
    met(
        "an await comes after its arrive",
        """
        # was here: Await(full, cuda_in_order, ~0)  # mach-await-progress
        Arrive(cuda_in_order, 1) >> full
        Await(full, cuda_in_order, ~0)  # was missing
        """,
    ),
    met(
        "a ring is not overrun",
        """
        for k in seq(0, 2):
            with CudaWarps(0, 1):
                ReverseAwait(full, cuda_in_order, ~1)  # was missing
                Arrive(cuda_in_order, 1) >> full  # mach-arrive-overrun
            with CudaWarps(1, 2):
                Await(full, cuda_in_order, ~0)
                ReverseArrive(cuda_in_order, 1) >> full  # was missing
        """,
    ),
    whole(
        "an mbarrier is of one CTA",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    full: barrier[2] @ CudaMbarrier  # was: full: barrier[1] @ CudaMbarrier
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):  # was: for c in cuda_threads(0, 1, unit=cuda_cluster):
                        Arrive(cuda_in_order, 1) >> full[c]  # bar-mbarrier-cta
                        Await(full[c], cuda_in_order, ~0)
        """,
    ),
    whole(
        "a colon stands for CTAs",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    full: barrier[2, 2] @ CudaMbarrier
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        for w in cuda_threads(0, 2, unit=cuda_warp_in_cluster):
                            Arrive(cuda_in_order, 1) >> full[c, w] >> full[:, w]  # was: Arrive(cuda_in_order, 1) >> full[c, w] >> full[c, :]  # bar-multicast-cta
                            Await(full[c, w], cuda_in_order, ~0)
        """,
    ),
    whole(
        "every position has an iterator in some pattern",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    full: barrier[2] @ CudaMbarrier
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        Arrive(cuda_in_order, 1) >> full[c] >> full[:]  # was: Arrive(cuda_in_order, 1) >> full[:]  # bar-multicast-home
                        Await(full[c], cuda_in_order, ~0)
        """,
    ),
)

LIFETIMES = (
    case(
        "who frees has seen the reads",
        """
        s: f32[64] @ CudaSmemLinear  # mach-free-read
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)
        for i in cuda_threads(0, 64, unit=cuda_thread):
            x[i] = s[63 - i]
        Fence(cuda_in_order, cuda_in_order)  # was missing
        """,
    ),
    case(
        "who frees has seen the writes",
        """
        s: f32[64] @ CudaSmemLinear  # mach-free-write
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)  # was missing
        """,
    ),
    case(
        "who frees has seen the copies",
        """
        s: f32[128] @ CudaSmemLinear  # mach-free-write
        for i in cuda_threads(0, 32, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
        Fence(Sm80_generic, cuda_in_order)  # was: Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "registers end with their thread",
        """
        for i in cuda_threads(0, 64, unit=cuda_thread):
            v: f32 @ CudaRmem
            v = x[i]
            y[i] = v  # was: y[0] = v  # mach-write-waw
        """,
        XY,
    ),
    whole(
        "tasks are not ordered",
        """
        def f(n: size, x: f32[n] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, n):
                    for i in cuda_threads(0, 1, unit=cuda_thread):
                        x[t] = 1.0  # was: x[0] = 1.0  # mach-write-waw
        """,
        n=2,
    ),
    whole(
        "launches are ordered",
        """
        def f(x: f32[2] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 1, unit=cuda_thread):
                        x[0] = 1.0
                    # was here: for i in cuda_threads(0, 2, unit=cuda_thread):
                    # was here:     x[1] = x[0]  # mach-read-raw
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 1, unit=cuda_thread):
                        x[1] = x[0]
        """,
    ),
    whole(
        "iterations of par are not ordered",
        """
        def f(n: size, x: f32[n] @ DRAM):
            for i in par(1, n):
                x[i] = x[i] + 1.0  # was: x[i] = x[i - 1] + 1.0  # mach-read-raw
        """,
        n=4,
    ),
    whole(
        "sizes are not negative",
        """
        def f(n: size, x: f32[n] @ DRAM):
            v: f32[n] @ DRAM  # was: v: f32[n - 3] @ DRAM  # seq-size
            x[0] = 0.0
        """,
        n=2,
    ),
    case(
        "a copy is not there before it is waited for, not for its own thread",
        """
        s: f32[128] @ CudaSmemLinear
        groups: barrier[32] @ CudaCommitGroup
        for i in cuda_threads(0, 32, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            Arrive(Sm80_cp_async, 1) >> groups[i]
            Await(groups[i], cuda_in_order, 0)  # was missing
            y[i] = s[4 * i]  # mach-read-raw
            Await(groups[i], cuda_in_order, 0)
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
        32,
    ),
    case(
        "a wait for groups is for those of one thread",
        """
        s: f32[128] @ CudaSmemLinear
        groups: barrier[32] @ CudaCommitGroup
        for i in cuda_threads(0, 32, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            Arrive(Sm80_cp_async, 1) >> groups[i]
            Await(groups[i], cuda_in_order, 0)
            y[i] = s[4 * i]  # was: y[i] = s[127 - 4 * i]  # seq-uninitialized
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
        32,
    ),
)
