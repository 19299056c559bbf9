"""TMA: loads and stores through the asynchronous proxy, which a barrier alone does not order with other accesses."""

from __future__ import annotations

from soundline.spec.spork.synchronization.visibility import Policy

from .form import Bug, cta

BUGS = (
    Bug(
        where="MoonshotAI/FlashKDA#24",
        what="A state is written to shared memory by all threads and stored by TMA behind a __syncthreads, without a "
        "proxy fence.",
        text=cta(
            "x: f32[32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear",
            """
            s: f32[32] @ CudaSmemLinear
            stored: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = 2.0 * x[i]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was: Fence(cuda_in_order, cuda_in_order)
            for one in cuda_threads(0, 1, unit=cuda_thread):
                with CudaAsync(tma_to_gmem_async):
                    Sm90_bulk_copy_to_gmem_f32(y[0:32], s[0:32], size=32)  # mach-read-raw
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/Fuser#1967",
        what="One thread fills shared memory and at once starts the TMA store of it: in order for the thread, and not "
        "for the asynchronous proxy.",
        text=cta(
            "x: f32[8] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear",
            """
            s: f32[8] @ CudaSmemLinear
            stored: barrier @ CudaCommitGroup
            for one in cuda_threads(0, 1, unit=cuda_thread):
                for k in seq(0, 8):
                    s[k] = x[k]
                Fence(cuda_in_order, cuda_async_proxy)  # was missing
                with CudaAsync(tma_to_gmem_async):
                    Sm90_bulk_copy_to_gmem_f32(y[0:8], s[0:8], size=8)  # mach-read-raw
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="triton-lang/triton#9610",
        what="The compiler put no proxy fence between a store to shared memory and the copy of it to a tensor in "
        "global memory.",
        text=cta(
            "x: f32[8, 4] @ CudaGmemLinear, y: f32[8, 4] @ CudaGmemLinear",
            """
            s: f32[8, 4] @ CudaSmemLinear
            stored: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 8, unit=4 * cuda_thread):
                for j in cuda_threads(0, 4, unit=cuda_thread):
                    s[i, j] = x[i, j]
            Fence(cuda_in_order, cuda_async_proxy)  # was: Fence(cuda_in_order, cuda_in_order)
            for one in cuda_threads(0, 1, unit=cuda_thread):
                tile = y_map[0:8, 0:4]
                with CudaAsync(tma_to_gmem_async):
                    Sm90_copy_tensor_to_gmem_2d_f32(tile, s[:, :], n0=8, n1=4)  # mach-read-raw
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
            before="y_map = y[:, :] @ Sm90_tensorMap(0, 8, 4)",
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#666",
        what="Shared memory is cleared by the threads before a pipelined loop, and TMA loads to it without a proxy "
        "fence between.",
        text=cta(
            "x: f32[8] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear",
            """
            s: f32[32] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = 0.0
            Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was: Fence(cuda_in_order, cuda_in_order)
            with CudaAsync(tma_to_smem_async):
                Sm90_bulk_copy_to_smem_f32(s[0:8], x[0:8], size=8) >> full  # mach-write-waw
                Arrive(tma_to_smem_async, 1) >> full
            Await(full, cuda_in_order, ~0)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[31 - i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="deepseek-ai/DeepEP#657",
        what="A copy through two stages waits for all TMA stores but one before it loads to a stage again, and that "
        "one is the store from this stage.",
        text=cta(
            "x: f32[3, 4] @ CudaGmemLinear, y: f32[3, 4] @ CudaGmemLinear",
            """
            s: f32[2, 4] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            for k in seq(0, 4):
                if k < 3:
                    ReverseAwait(full, cuda_temporal, ~2)
                    with CudaAsync(tma_to_smem_async):
                        Sm90_bulk_copy_to_smem_f32(s[k % 2, 0:4], x[k, 0:4], size=4) >> full  # mach-write-war
                        Arrive(tma_to_smem_async, 1) >> full
                if k > 0:
                    Await(full, cuda_generic_and_async_proxy, ~0)
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        with CudaAsync(tma_to_gmem_async):
                            Sm90_bulk_copy_to_gmem_f32(y[k - 1, 0:4], s[(k - 1) % 2, 0:4], size=4)
                            Arrive(tma_to_gmem_async, 1) >> stored
                        # was here: Await(stored, cuda_generic_and_async_proxy, 1)
                        Await(stored, cuda_generic_and_async_proxy, 0)  # was missing
                    ReverseArrive(cuda_in_order, 1) >> full
            for one in cuda_threads(0, 1, unit=cuda_thread):
                Await(stored, cuda_generic_and_async_proxy, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=400,
    ),
    Bug(
        where="NVIDIA/TransformerEngine#3417",
        what="The thread that started a TMA store waits until it has read its source; the others write to the source "
        "again without waiting for that thread.",
        text=cta(
            "x: f32[2, 32] @ CudaGmemLinear, y: f32[2, 32] @ CudaGmemLinear",
            """
            s: f32[32] @ CudaSmemLinear
            stored: barrier @ CudaCommitGroup
            for k in seq(0, 2):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    s[i] = x[k, i]  # mach-write-war
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    with CudaAsync(tma_to_gmem_async):
                        Sm90_bulk_copy_to_gmem_f32(y[k, 0:32], s[0:32], size=32)
                        Arrive(tma_to_gmem_async, 1) >> stored
                    Await(stored, cuda_in_order, 0)
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/Fuser#5448",
        what="The wait for TMA stores stood behind the loop, whose rounds write to the source of the store before.",
        text=cta(
            "x: f32[2, 8] @ CudaGmemLinear, y: f32[2, 8] @ CudaGmemLinear",
            """
            s: f32[8] @ CudaSmemLinear
            stored: barrier @ CudaCommitGroup
            for one in cuda_threads(0, 1, unit=cuda_thread):
                for k in seq(0, 2):
                    for i in seq(0, 8):
                        s[i] = x[k, i]  # mach-write-war
                    Fence(cuda_in_order, cuda_async_proxy)
                    with CudaAsync(tma_to_gmem_async):
                        Sm90_bulk_copy_to_gmem_f32(y[k, 0:8], s[0:8], size=8)
                        Arrive(tma_to_gmem_async, 1) >> stored
                    Await(stored, cuda_in_order, 0)  # was missing
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="uccl-project/mKernel#18",
        what="One tile of shared memory holds an input and then the output of a task; the load for the next task did "
        "not wait until the store of the output had drained.",
        text=cta(
            "x: f32[2, 8] @ CudaGmemLinear, y: f32[2, 8] @ CudaGmemLinear",
            """
            tile: f32[8] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            for k in seq(0, 2):
                with CudaAsync(tma_to_smem_async):
                    Sm90_bulk_copy_to_smem_f32(tile[0:8], x[k, 0:8], size=8) >> full  # mach-write-war
                    Arrive(tma_to_smem_async, 1) >> full
                # was here: for one in cuda_threads(0, 1, unit=cuda_thread):
                # was here:     Await(stored, cuda_generic_and_async_proxy, 0)
                Await(full, cuda_in_order, ~0)
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    tile[i] += 1.0
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    with CudaAsync(tma_to_gmem_async):
                        Sm90_bulk_copy_to_gmem_f32(y[k, 0:8], tile[0:8], size=8)
                        Arrive(tma_to_gmem_async, 1) >> stored
                    Await(stored, cuda_generic_and_async_proxy, 0)  # was missing
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
            for one in cuda_threads(0, 1, unit=cuda_thread):
                Await(stored, cuda_generic_and_async_proxy, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="facebookexperimental/triton#430",
        what="A consumer tells the producer that a buffer is free, and then starts a TMA store that reads it.",
        text=cta(
            "x: f32[2, 4] @ CudaGmemLinear, y: f32[2, 4] @ CudaGmemLinear",
            """
            s: f32[4] @ CudaSmemLinear
            ring: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            for k in seq(0, 2):
                with CudaWarps(0, 1):
                    ReverseAwait(ring, cuda_in_order, ~1)
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        s[i] = x[k, i]  # mach-write-war
                    Arrive(cuda_in_order, 1) >> ring
                with CudaWarps(1, 2):
                    Await(ring, cuda_generic_and_async_proxy, ~0)
                    # was here: ReverseArrive(cuda_in_order, 1) >> ring
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        with CudaAsync(tma_to_gmem_async):
                            Sm90_bulk_copy_to_gmem_f32(y[k, 0:4], s[0:4], size=4)
                            Arrive(tma_to_gmem_async, 1) >> stored
                        Await(stored, cuda_in_order, 0)
                    ReverseArrive(cuda_in_order, 1) >> ring  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="triton-lang/triton#10415",
        what="The wait for a TMA store ended before the store was in global memory, so that others who were told of it "
        "could read what was there before.",
        text=cta(
            "x: f32[4] @ CudaGmemLinear, y: f32[4] @ CudaGmemLinear, z: f32[4] @ CudaGmemLinear",
            """
            s: f32[4] @ CudaSmemLinear
            stored: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 4, unit=cuda_thread):
                s[i] = x[i]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            for one in cuda_threads(0, 1, unit=cuda_thread):
                with CudaAsync(tma_to_gmem_async):
                    Sm90_bulk_copy_to_gmem_f32(y[0:4], s[0:4], size=4)
                    Arrive(tma_to_gmem_async, 1) >> stored
                Await(stored, cuda_in_order, 0)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 4, unit=cuda_thread):
                z[i] = y[3 - i]  # mach-read-raw
            for one in cuda_threads(0, 1, unit=cuda_thread):
                Await(stored, cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/TransformerEngine#2695",
        what="Threads read a stage, a barrier follows, and TMA loads the next data to the stage: a barrier, and no "
        "proxy fence.",
        text=cta(
            "x: f32[2, 8] @ CudaGmemLinear, y: f32[2, 8] @ CudaGmemLinear",
            """
            s: f32[8] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            for k in seq(0, 2):
                with CudaAsync(tma_to_smem_async):
                    Sm90_bulk_copy_to_smem_f32(s[0:8], x[k, 0:8], size=8) >> full  # mach-write-war
                    Arrive(tma_to_smem_async, 1) >> full
                Await(full, cuda_generic_and_async_proxy, ~0)
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    y[k, i] = s[i]
                Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was: Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        policy=Policy.strict,
        unseen="the parallel reading lets the barrier suffice, as the policy temporal does (S-08)",
    ),
    Bug(
        where="deepseek-ai/DeepEP#642",
        what="A warp waits on an mbarrier for the readers of a buffer and then starts a TMA load to it, without "
        "a proxy fence between wait and load.",
        text=cta(
            "x: f32[2, 8] @ CudaGmemLinear, y: f32[2, 8] @ CudaGmemLinear",
            """
            s: f32[8] @ CudaSmemLinear
            ring: barrier @ CudaMbarrier
            for k in seq(0, 2):
                with CudaWarps(0, 1):
                    ReverseAwait(ring, tma_to_smem_async, ~1)  # was: ReverseAwait(ring, cuda_temporal, ~1)
                    with CudaAsync(tma_to_smem_async):
                        Sm90_bulk_copy_to_smem_f32(s[0:8], x[k, 0:8], size=8) >> ring  # mach-write-war
                        Arrive(tma_to_smem_async, 1) >> ring
                with CudaWarps(1, 2):
                    Await(ring, cuda_generic_and_async_proxy, ~0)
                    for i in cuda_threads(0, 8, unit=cuda_thread):
                        y[k, i] = s[i]
                    ReverseArrive(cuda_in_order, 1) >> ring
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        policy=Policy.strict,
        unseen="the parallel reading lets the barrier suffice, as the policy temporal does (S-08)",
    ),
    Bug(
        where="deepseek-ai/DeepGEMM#389",
        what="A combine loop loads to one of two stages by TMA while a warp reads the other; before a stage is used "
        "again there is the order of the warp, and no proxy fence.",
        text=cta(
            "x: f32[3, 8] @ CudaGmemLinear, y: f32[3, 8] @ CudaGmemLinear",
            """
            s: f32[2, 8] @ CudaSmemLinear
            full: barrier @ CudaMbarrier
            for k in seq(0, 3):
                with CudaAsync(tma_to_smem_async):
                    Sm90_bulk_copy_to_smem_f32(s[k % 2, 0:8], x[k, 0:8], size=8) >> full  # mach-write-war
                    Arrive(tma_to_smem_async, 1) >> full
                Await(full, cuda_generic_and_async_proxy, ~0)
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    y[k, i] = s[k % 2, 7 - i]
                Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was: Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        policy=Policy.strict,
        unseen="the parallel reading lets the barrier suffice, as the policy temporal does (S-08)",
    ),
)
