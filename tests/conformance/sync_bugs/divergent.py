"""Barriers that only some of the threads reach: these are refused before anything runs."""

from __future__ import annotations

from .form import Bug, cta

REFUSED = "it is refused before it runs"

BUGS = (
    Bug(
        where="flashinfer-ai/flashinfer#2996",
        what="Of the warps of a block, only those that compute reach a __syncthreads; the block hangs now and then.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            buffer: f32[64] @ CudaSmemLinear
            with CudaWarps(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    buffer[i] = x[i]
                # was here: Fence(cuda_in_order, cuda_in_order)  # fence-c6
            Fence(cuda_in_order, cuda_in_order)  # was missing
            with CudaWarps(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    y[i] = buffer[63 - i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=REFUSED,
    ),
    Bug(
        where="ggml-org/llama.cpp#27870",
        what="The barrier between writing and combining the metadata of a tile stands in a branch that only every "
        "other pair of warps takes.",
        text=cta(
            "x: f32[4] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear",
            """
            meta: f32[4] @ CudaSmemLinear
            for w in cuda_threads(0, 4, unit=cuda_warp):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    meta[w] = x[w]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for half in cuda_threads(0, 2, unit=2 * cuda_warp):
                # was here: Fence(cuda_in_order, cuda_in_order)  # fence-c6
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    y[half] = meta[half] + meta[half + 2]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=REFUSED,
    ),
    Bug(
        where="NVIDIA/cuCollections#522",
        what="The block synchronizes inside of the test whether the index of a thread is in range, which not all "
        "threads pass.",
        text=cta(
            "x: f32[40] @ CudaGmemLinear, y: f32[40] @ CudaGmemLinear",
            """
            found: f32[40] @ CudaSmemLinear
            for i in cuda_threads(0, 40, unit=cuda_thread):
                found[i] = x[i]
            # was here: for c in cuda_threads(0, 1, unit=40 * cuda_thread):
            for c in cuda_threads(0, 1, unit=64 * cuda_thread):  # was missing
                Fence(cuda_in_order, cuda_in_order)  # fence-c5
            for i in cuda_threads(0, 40, unit=cuda_thread):
                y[i] = found[39 - i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        unseen=REFUSED,
    ),
    Bug(
        where="pytorch/FBGEMM#5857",
        what="Threads beyond the last element return before the barriers of the reduction; the others wait for them.",
        text=cta(
            "x: f32[16] @ CudaGmemLinear, y: f32[1] @ CudaGmemLinear",
            """
            s: f32[16] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                s[i] = x[i]
            # was here: for g in cuda_threads(0, 1, unit=16 * cuda_thread):
            for g in cuda_threads(0, 1, unit=32 * cuda_thread):  # was missing
                Fence(cuda_in_order, cuda_in_order)  # fence-c5
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    y[0] = s[0] + s[15]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        unseen=REFUSED,
    ),
)
