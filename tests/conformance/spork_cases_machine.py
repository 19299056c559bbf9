"""Small Spork programs about what the machine knows and passes on, as those of `spork_cases`."""

# ruff: noqa: E501 - what was there stands on the line of what is there

from __future__ import annotations

from dataclasses import replace

from soundline.spec.spork.synchronization.visibility import Policy

from .spork_cases import XY, X, case, whole

COMMITTED = """
s: f32[2, 128] @ CudaSmemLinear
groups: barrier[32] @ CudaCommitGroup
for i in cuda_threads(0, 32, unit=cuda_thread):
    for k in seq(0, 2):
        with CudaAsync(Sm80_cp_async):
            Sm80_cp_async_f32(s[k, 4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
        Arrive(Sm80_cp_async, 1) >> groups[i]
    Await(groups[i], cuda_in_order, 1)
    y[i] = s[0, 4 * i]  # was: y[i] = s[1, 4 * i]  # mach-read-raw
    Await(groups[i], cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""

MACHINE = (
    case("a wait for all groups but one is no wait for the last", COMMITTED, XY, 32),
    case(
        "what a thread has waited for a fence passes on",
        """
        s: f32[128] @ CudaSmemLinear
        groups: barrier[32] @ CudaCommitGroup
        for i in cuda_threads(0, 32, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            Arrive(Sm80_cp_async, 1) >> groups[i]
            Await(groups[i], cuda_in_order, 0)  # was missing
        Fence(cuda_in_order, cuda_in_order)
        for i in cuda_threads(0, 32, unit=cuda_thread):
            y[i] = s[127 - 4 * i]  # mach-read-raw
            # was here: Await(groups[i], cuda_in_order, 0)
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
        32,
    ),
    case(
        "an arrive in order passes on what its threads were told of",
        """
        s: f32[32] @ CudaSmemLinear
        a: barrier @ CudaMbarrier
        b: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = x[i]
            Arrive(cuda_in_order, 1) >> a
        with CudaWarps(1, 2):
            Await(a, cuda_in_order, ~0)
            Arrive(cuda_in_order, 1) >> b  # was: Arrive(Sm80_cp_async, 1) >> b
        with CudaWarps(2, 3):
            Await(b, cuda_in_order, ~0)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "an mbarrier orders those who arrive and those who await",
        """
        s: f32[32] @ CudaSmemLinear
        a: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = x[i]
            Arrive(cuda_in_order, 1) >> a
        with CudaWarps(1, 2):
            Await(a, cuda_in_order, ~0)
        with CudaWarps(1, 2):  # was: with CudaWarps(2, 3):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "a lag is no longer than there are slots",
        """
        s: f32[2, 32] @ CudaSmemLinear
        ring: barrier @ CudaMbarrier
        for k in seq(0, 4):
            with CudaWarps(0, 1):
                ReverseAwait(ring, cuda_in_order, ~2)  # was: ReverseAwait(ring, cuda_in_order, ~3)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    s[k % 2, i] = x[32 * k + i]  # mach-write-war
                Arrive(cuda_in_order, 1) >> ring
            with CudaWarps(1, 2):
                Await(ring, cuda_in_order, ~0)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[32 * k + i] = s[k % 2, i]
                ReverseArrive(cuda_in_order, 1) >> ring
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "the slots of a ring are used in turn",
        """
        s: f32[2, 32] @ CudaSmemLinear
        ring: barrier @ CudaMbarrier
        for k in seq(0, 4):
            with CudaWarps(0, 1):
                ReverseAwait(ring, cuda_in_order, ~2)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    s[k % 2, i] = x[32 * k + i]  # was: s[0, i] = x[32 * k + i]  # mach-write-war
                Arrive(cuda_in_order, 1) >> ring
            with CudaWarps(1, 2):
                Await(ring, cuda_in_order, ~0)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[32 * k + i] = s[k % 2, i]  # was: y[32 * k + i] = s[0, i]
                ReverseArrive(cuda_in_order, 1) >> ring
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "what was added atomically is read behind a fence",
        """
        for i in cuda_threads(0, 64, unit=cuda_thread):
            cuda_atomic_add_f32(y[0], x[i])
        Fence(cuda_in_order, cuda_in_order)  # was missing
        for i in cuda_threads(0, 1, unit=cuda_thread):
            y[1] = y[0]  # mach-read-raw
        """,
        XY,
    ),
    whole(
        "TMA adds atomically and stores plainly",
        """
        def f(y: f32[4] @ CudaGmemLinear):
            m = y[:] @ Sm90_tensorMap(0, 4)
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 2):
                    s: f32[4] @ CudaSmemLinear
                    stored: barrier @ CudaCommitGroup
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        for k in seq(0, 4):
                            s[k] = f32(t)
                        Fence(cuda_in_order, cuda_async_proxy)
                        with CudaAsync(tma_to_gmem_async):
                            Sm90_reduce_tensor_to_gmem_1d_f32(m[0:4], s[:], n0=4)  # was: Sm90_copy_tensor_to_gmem_1d_f32(m[0:4], s[:], n0=4)  # mach-write-waw
                            Arrive(tma_to_gmem_async, 1) >> stored
                        Await(stored, cuda_in_order, 0)
                    Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    whole(
        "copies of the CPU have two ends",
        """
        def f(x: f32[4] @ DRAM):
            g: f32[4] @ CudaGmemLinear
            cudaMemcpyAsync_htod_1d_f32(g[:], x[:], n=4)  # was: cudaMemcpyAsync_dtoh_1d_f32(g[:], x[:], n=4)  # instr-memory
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        g[i] = 2.0 * g[i]
            cudaMemcpyAsync_dtoh_1d_f32(x[:], g[:], n=4)
        """,
    ),
    case(
        "a fragment is loaded behind a fence",
        """
        s: f16[16, 16] @ CudaSmemLinear
        a: f16[16, 16] @ Sm80_RmemMatrixA
        for i in cuda_threads(0, 16, unit=cuda_thread):
            for k in seq(0, 16):
                s[i, k] = 1.0
        Fence(cuda_in_order, cuda_in_order)  # was missing
        Sm80_ldmatrix_x4_a_f16(a[:, :], s[:, :])  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        threads=32,
    ),
    case(
        "a warp passes whole rows of registers around",
        """
        v: f32[32] @ CudaRmem
        w: f32[32] @ CudaRmem
        for i in cuda_threads(0, 32, unit=cuda_thread):
            v[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)
        cuda_warp_sum_f32(w[:], v[:])  # was: cuda_warp_sum_f32(w[0:32], v[1:32])  # instr-size
        for i in cuda_threads(0, 32, unit=cuda_thread):
            x[i] = w[i]
        """,
        threads=32,
    ),
    case(
        "a shuffle flips one bit",
        """
        v: f32[32] @ CudaRmem
        w: f32[32] @ CudaRmem
        for i in cuda_threads(0, 32, unit=cuda_thread):
            v[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)
        cuda_shfl_xor_f32(w[:], v[:], mask=4)  # was: cuda_shfl_xor_f32(w[:], v[:], mask=3)  # instr-size
        for i in cuda_threads(0, 32, unit=cuda_thread):
            x[i] = w[i]
        """,
        threads=32,
    ),
    case(
        "names meet at a barrier",
        """
        s: f32[32] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = x[i]
            Arrive(cuda_in_order, 1) >> full
        with CudaWarps(1, 2):
            Await(full, cuda_in_order, ~0)  # was: Await(full, cuda_temporal, ~0)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "halves are copied four bytes at a time",
        """
        s: f16[64] @ CudaSmemLinear
        for i in cuda_threads(0, 32, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f16(s[2 * i : 2 * i + 2], h[2 * i : 2 * i + 2], size=2)  # was: Sm80_cp_async_f16(s[i : i + 1], h[i : i + 1], size=1)  # instr-size
        Fence(Sm80_generic, cuda_in_order)
        """,
        "h: f16[64] @ CudaGmemLinear",
        32,
    ),
    case(
        "a thread copies to registers of its own",
        """
        v: f32[32, 4] @ CudaRmem
        for i in cuda_threads(0, 32, unit=cuda_thread):
            cuda_copy_f32(v[i, 0:4], x[4 * i : 4 * i + 4], size=4)  # was: cuda_copy_f32(v[0, 0:4], x[4 * i : 4 * i + 4], size=4)  # dist-c6
        """,
        threads=32,
    ),
    case(
        "each warp has a barrier",
        """
        bars: barrier[4] @ CudaMbarrier
        one: barrier @ CudaMbarrier
        for w in cuda_threads(0, 4, unit=cuda_warp):
            Arrive(cuda_in_order, 1) >> bars[w]  # was: Arrive(cuda_in_order, 1) >> one  # dist-c5
            Await(bars[w], cuda_in_order, ~0)  # was: Await(one, cuda_in_order, ~0)
        """,
    ),
    case(
        "a fence that is not reached orders nothing",
        """
        s: f32[64] @ CudaSmemLinear
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        if n >= 0:  # was: if n > 0:
            Fence(cuda_in_order, cuda_in_order)
        for i in cuda_threads(0, 64, unit=cuda_thread):
            x[i] = s[63 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        f"n: size, {X}",
        n=0,
    ),
    whole(
        "a fence of each CTA does not order a cluster",
        """
        def f(x: f32[2] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            y[c] = x[c]
                        # was here: Fence(cuda_in_order, cuda_in_order)
                    Fence(cuda_in_order, cuda_in_order)  # was missing
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            x[c] = y[1 - c]  # mach-read-raw
        """,
    ),
    case(
        "a fence from nothing waits for nothing",
        """
        s: f32[64] @ CudaSmemLinear
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)  # was: Fence(empty, cuda_in_order)
        for i in cuda_threads(0, 64, unit=cuda_thread):
            x[i] = s[63 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "a fence to nothing shows nothing",
        """
        s: f32[64] @ CudaSmemLinear
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        Fence(cuda_in_order, cuda_in_order)  # was: Fence(cuda_in_order, empty)
        for i in cuda_threads(0, 64, unit=cuda_thread):
            x[i] = s[63 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "who commits waits",
        """
        group: barrier[1] @ CudaCommitGroup
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 1, unit=cuda_thread):
                Arrive(Sm80_cp_async, 1) >> group[i]
        with CudaWarps(0, 1):  # was: with CudaWarps(1, 2):
            for i in cuda_threads(0, 1, unit=cuda_thread):
                Await(group[i], cuda_in_order, 0)  # bar-group-owner
        """,
    ),
    whole(
        "commit groups are not multicast",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    group: barrier[2, 32] @ CudaCommitGroup
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            Arrive(Sm80_cp_async, 1) >> group[c, i]  # was: Arrive(Sm80_cp_async, 1) >> group[c, i] >> group[:, i]  # bar-multicast-type
                            Await(group[c, i], cuda_in_order, 0)
        """,
    ),
    whole(
        "all arrives go to the same barriers",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    full: barrier[2] @ CudaMbarrier
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        Arrive(cuda_in_order, 1) >> full[c] >> full[:]
                        Await(full[c], cuda_in_order, ~0)
                    Fence(cuda_in_order, cuda_in_order)
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        Arrive(cuda_in_order, 1) >> full[c] >> full[:]  # was: Arrive(cuda_in_order, 1) >> full[c]  # bar-multicast-same
                        Await(full[c], cuda_in_order, ~0)
        """,
    ),
    whole(
        "no loop stands between a multicast and its CTAs",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    full: barrier[2] @ CudaMbarrier
                    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        for k in cuda_threads(0, 1, unit=cuda_cta_in_cluster):  # was: for k in seq(0, 1):
                            Arrive(cuda_in_order, 1) >> full[c] >> full[:]  # bar-multicast-between
                            Await(full[c], cuda_in_order, ~0)
        """,
    ),
    replace(
        case(
            "under strict a read that TMA overwrites needs a proxy fence",
            """
            s: f32[8] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            for k in seq(0, 2):
                with CudaAsync(tma_to_smem_async):
                    Sm90_bulk_copy_to_smem_f32(s[:], x[8 * k : 8 * k + 8], size=8) >> full  # mach-write-war
                    Arrive(tma_to_smem_async, 1) >> full
                Await(full, cuda_generic_and_async_proxy, ~0)
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    y[i] = s[i]
                Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was: Fence(cuda_in_order, cuda_temporal)
            """,
            XY,
            32,
        ),
        policy=Policy.strict,
    ),
    case(
        "a barrier of TMA leads to who reads",
        """
        s: f32[8] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        with CudaAsync(tma_to_smem_async):
            Sm90_bulk_copy_to_smem_f32(s[:], x[0:8], size=8) >> full
            Arrive(tma_to_smem_async, 1) >> full
        Await(full, cuda_in_order, ~0)  # was: Await(full, cuda_async_proxy, ~0)
        for i in cuda_threads(0, 8, unit=cuda_thread):
            y[i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
        32,
    ),
    case(
        "products on one accumulator follow each other, registers of operands are awaited",
        """
        b: f32[8, 8] @ Sm90_SmemSwizzled(32)
        a: f32[64, 8] @ Sm90_RmemMatrixA
        d: f32[64, 8] @ Sm90_RmemMatrixD
        group: barrier @ CudaCommitGroup
        for i in cuda_threads(0, 64, unit=cuda_thread):
            b[i // 8, i % 8] = x[i]
        Fence(cuda_in_order, cuda_generic_and_async_proxy)
        Sm90_mma_load_a_tf32(a[:, :], m[:, :])
        with CudaAsync(wgmma_async):
            Fence(wgmma_fence_1, wgmma_fence_2)
            Sm90_zero_scale_d_f32(d[:, :], N=8)
            Sm90_mma_async_ra_tf32(d[:, :], a[:, :], b[:, :], N=8)
            Sm90_mma_async_ra_tf32(d[:, :], a[:, :], b[:, :], N=8)
            Arrive(wgmma_async, 1) >> group
        Await(group, cuda_generic_and_async_proxy, 0)  # was missing
        Sm90_mma_load_a_tf32(a[:, :], m[:, :])  # mach-write-war
        Await(group, cuda_generic_and_async_proxy, 0)
        Fence(cuda_in_order, cuda_in_order)
        """,
        f"m: f32[64, 8] @ CudaGmemLinear, {X}",
    ),
    whole(
        "a par loop is joined",
        """
        def f(x: f32[4] @ DRAM, y: f32[4] @ DRAM):
            for i in par(0, 4):
                y[i] = x[i]
                # was here: x[0] = y[0]  # mach-read-raw
            x[0] = y[3]
        """,
    ),
    whole(
        "each task has shared memory of its own",
        """
        def f(x: f32[2, 32] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 2):
                    s: f32[32] @ CudaSmemLinear
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        s[i] = x[t, i]
                    Fence(cuda_in_order, cuda_in_order)
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        x[t, i] = s[31 - i]  # was: x[0, i] = s[31 - i]  # mach-write-waw
                    Fence(cuda_in_order, cuda_in_order)
        """,
    ),
    case(
        "sequential iterations of a thread are in order",
        """
        for i in cuda_threads(0, 32, unit=cuda_thread):
            for k in seq(1, 4):
                x[4 * i + k] = x[4 * i + k - 1]  # was: x[4 * i + k] = x[(4 * i + k + 4) % 128]  # mach-write-war
        """,
    ),
    case(
        "a choice by warps is no order between them",
        """
        s: f32[32] @ CudaSmemLinear
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = x[i]
        with CudaWarps(0, 1):  # was: with CudaWarps(1, 2):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
    case(
        "a fence by other warps does not help",
        """
        s: f32[64] @ CudaSmemLinear
        for i in cuda_threads(0, 64, unit=cuda_thread):
            s[i] = x[i]
        with CudaWarps(0, 1):  # was: with CudaWarps(1, 2):
            Fence(cuda_in_order, cuda_in_order)
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[31 - i]  # mach-read-raw
        Fence(cuda_in_order, cuda_in_order)
        """,
        XY,
    ),
)
