"""Programs that use barriers in every way that becomes something else in CUDA."""

from __future__ import annotations

from textwrap import dedent, indent

import soundline as sl


def program(body: str, *, arguments: str = "", device: str = "blockDim=64", tasks: int = 1) -> sl.spork.Proc:
    """A proc of one device function, whose tasks have this body; what stands before ``---`` is done on the CPU."""
    before, _, task = dedent(body).rpartition("---\n")
    text = f"def f({arguments}):\n{indent(before, ' ' * 4)}"
    text += f"    with CudaDeviceFunction({device}):\n        for t in cuda_tasks(0, {tasks}):\n"
    return sl.spork.proc_from_text(text + indent(task.strip("\n"), " " * 12) + "\n")


def ring(forward: int, reverse: int, count: int, tasks: int, *, queues: int = 1) -> sl.spork.Proc:
    """Producers and consumers, warp by warp, with these lags."""
    return program(
        f"""
        ring: barrier[{queues}] @ CudaMbarrier
        for k in seq(0, {count}):
            with CudaWarps(0, {queues}):
                for w in cuda_threads(0, {queues}, unit=cuda_warp):
                    ReverseAwait(ring[w], cuda_in_order, ~{reverse})
                    Arrive(cuda_in_order, 1) >> ring[w]
            with CudaWarps({queues}, {2 * queues}):
                for w in cuda_threads(0, {queues}, unit=cuda_warp):
                    Await(ring[w], cuda_in_order, ~{forward})
                    ReverseArrive(cuda_in_order, 1) >> ring[w]
        """,
        device=f"blockDim={64 * queues}",
        tasks=tasks,
    )


AHEAD = program(
    """
    bar: barrier @ CudaMbarrier
    with CudaWarps(0, 1):
        Arrive(cuda_in_order, 1) >> bar
        Arrive(cuda_in_order, 1) >> bar
    with CudaWarps(1, 2):
        Await(bar, cuda_in_order, ~1)
        Await(bar, cuda_in_order, ~1)
    """,
    tasks=4,
)
"""Both slots are full before anybody waits: what the first await would wait for in the next task is a round behind."""

GRID = program(
    """
    x_map = x[:, :] @ Sm90_tensorMap(0, 8, 4)
    ---
    a: f32[2, 2, 8, 4] @ CudaSmemLinear
    b: f32[2, 2, 2, 16, 4] @ CudaSmemLinear
    full: barrier[2, 2] @ CudaMbarrier
    for k in seq(0, 3):
        for m in cuda_threads(0, 2, unit=2 * cuda_cta_in_cluster):
            for n in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                with CudaWarps(0, 1):
                    ReverseAwait(full[m, n], tma_to_smem_async, ~1)
                    with CudaAsync(tma_to_smem_async):
                        for i in seq(0, k % 2 + 1):
                            Sm90_multicast_tensor_to_smem_2d_f32(b[m, :, n, 8 * i : 8 * i + 8, :], x_map[8 * n : 8 * n + 8, 4 * k : 4 * k + 4], ctas=2, n0=8, n1=4) >> full[m, :]
                        if k > 0:
                            Sm90_copy_tensor_to_smem_2d_f32(a[m, n, :, :], x_map[8 * m : 8 * m + 8, 4 * k : 4 * k + 4], n0=8, n1=4) >> full[m, n]
                        Arrive(tma_to_smem_async, 1) >> full[m, :] >> full[:, n]
        for m in cuda_threads(0, 2, unit=2 * cuda_cta_in_cluster):
            for n in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                with CudaWarps(1, 2):
                    Await(full[m, n], cuda_in_order, ~0)
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        if k > 0:
                            y[t, 2 * m + n, k, i, 0] = a[m, n, i, 0]
                        y[t, 2 * m + n, k, i, 0] = b[m, n, 0, i, 0]
                    ReverseArrive(cuda_in_order, 1) >> full[m, :] >> full[:, n]
    Fence(cuda_in_order, cuda_in_order)
    """,  # noqa: E501
    arguments="x: f32[16, 16] @ CudaGmemLinear, y: f32[2, 4, 4, 4, 4] @ CudaGmemLinear",
    device="blockDim=64, clusterDim=4",
    tasks=2,
)
"""A cluster in two dimensions: loads to a row, arrives at a row and a column, and copies in loops and ifs."""

THREADS = program(
    """
    bar: barrier[2, 2] @ CudaMbarrier
    for k in seq(0, 3):
        for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    ReverseAwait(bar[c, w], cuda_in_order, ~2)
                    Arrive(cuda_in_order, 1) >> bar[c, w] >> bar[:, w]
        for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    Await(bar[c, w], cuda_in_order, ~0)
                    ReverseArrive(cuda_in_order, 1) >> bar[:, w] >> bar[c, w]
    """,
    device="blockDim=64, clusterDim=2",
    tasks=3,
)
"""Single threads arrive at several CTAs, and a CTA has two queues."""

NESTED = program(
    """
    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        for w in cuda_threads(0, 2, unit=2 * cuda_warp):
            for k in seq(0, 2):
                bar: barrier @ CudaMbarrier
                with CudaWarps(0, 1):
                    ReverseAwait(bar, cuda_in_order, ~1)
                    Arrive(cuda_in_order, 1) >> bar
                with CudaWarps(1, 2):
                    Await(bar, cuda_in_order, ~0)
                    ReverseArrive(cuda_in_order, 1) >> bar
    """,
    device="blockDim=128, clusterDim=2",
    tasks=2,
)
"""Barriers in a loop and in loops over threads: the iterators around them tell them apart."""

EMPTY = program(
    """
    bar: barrier @ CudaMbarrier
    with CudaWarps(0, 1):
        with CudaAsync(tma_to_smem_async):
            Arrive(tma_to_smem_async, 1) >> bar
    with CudaWarps(1, 2):
        Await(bar, cuda_generic_and_async_proxy, ~0)
    """,
    tasks=2,
)
"""A block of TMA that sends nothing still arrives."""

GROUPS = program(
    """
    for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        for g in cuda_threads(0, 1, unit=cuda_warpgroup):
            group: barrier @ CudaCommitGroup
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_in_order, 1)
            Await(group, cuda_in_order, 0)
        for i in cuda_threads(0, 128, unit=cuda_thread):
            stores: barrier @ CudaCommitGroup
            Arrive(tma_to_gmem_async, 1) >> stores
            Await(stores, cuda_in_order, 0)
            copies: barrier @ CudaCommitGroup
            Arrive(Sm80_cp_async, 1) >> copies
            Await(copies, Sm80_generic, 2)
            Await(copies, Sm80_generic, 0)
            Fence(Sm80_cp_async, cuda_generic_and_async_proxy)
        for w in cuda_threads(0, 4, unit=cuda_warp):
            Fence(Sm80_generic, Sm80_generic)
        Fence(cuda_in_order, Sm80_generic)
    Fence(Sm80_cp_async, cuda_generic_and_async_proxy)
    """,
    device="blockDim=128, clusterDim=2",
)
"""All kinds of commit groups, and fences of every scope."""

TRANSPOSED = program(
    """
    bar: barrier[2, 2] @ CudaMbarrier
    for m in cuda_threads(0, 2, unit=2 * cuda_warp):
        for n in cuda_threads(0, 2, unit=cuda_warp):
            Arrive(cuda_in_order, 1) >> bar[m, n]
            Await(bar[m, n], cuda_in_order, ~0)
    Fence(cuda_in_order, cuda_in_order)
    for m in cuda_threads(0, 2, unit=2 * cuda_warp):
        for n in cuda_threads(0, 2, unit=cuda_warp):
            Arrive(cuda_in_order, 1) >> bar[n, m]
            Await(bar[n, m], cuda_in_order, ~0)
    """,
    device="blockDim=128",
)
"""A thread uses one queue here and another one there: what it counts is then no number of a queue."""

ELSEWHERE = program(
    """
    x_map = x[:, :] @ Sm90_tensorMap(0, 8, 4)
    ---
    b: f32[2, 2, 8, 4] @ CudaSmemLinear
    full: barrier[2] @ CudaMbarrier
    for n in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
        with CudaWarps(0, 1):
            with CudaAsync(tma_to_smem_async):
                Sm90_multicast_tensor_to_smem_2d_f32(b[:, n, :, :], x_map[0:8, 0:4], ctas=2, n0=8, n1=4) >> full[n]
                Arrive(tma_to_smem_async, 1) >> full[n]
        with CudaWarps(1, 2):
            Await(full[n], cuda_in_order, ~0)
            for i in cuda_threads(0, 16, unit=cuda_thread):
                y[n, i] = b[n, n, i // 4, i % 4]
    Fence(cuda_in_order, cuda_in_order)
    """,
    arguments="x: f32[16, 16] @ CudaGmemLinear, y: f32[2, 16] @ CudaGmemLinear",
    device="blockDim=64, clusterDim=2",
)
"""Each CTA writes to both and tells only itself; but TMA tells every CTA that it writes to."""
