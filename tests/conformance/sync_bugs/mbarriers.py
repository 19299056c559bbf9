"""Producers and consumers with mbarriers: sides that are missing, phases that are not the right ones."""

from __future__ import annotations

from .form import Bug, cta

BUGS = (
    Bug(
        where="NVIDIA/cutlass#2404",
        what="The consumer of a pipeline never releases a stage, and the producer waits for it forever.",
        text=cta(
            "x: f32[3, 32] @ CudaGmemLinear, y: f32[3, 32] @ CudaGmemLinear",
            """
            s: f32[2, 32] @ CudaSmemLinear
            ring: barrier @ CudaMbarrier
            for k in seq(0, 3):
                with CudaWarps(0, 1):
                    ReverseAwait(ring, cuda_in_order, ~2)  # bar-awaited
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        s[k % 2, i] = x[k, i]
                    Arrive(cuda_in_order, 1) >> ring
                with CudaWarps(1, 2):
                    Await(ring, cuda_in_order, ~0)
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        y[k, i] = s[k % 2, i]
                    ReverseArrive(cuda_in_order, 1) >> ring  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        unseen="it is refused before it runs",
    ),
    Bug(
        where="tile-ai/tilelang#3087",
        what="The consumer waits for the parity of the phase before, which is over, and goes on at once.",
        text=cta(
            "x: f32[2, 32] @ CudaGmemLinear, y: f32[2, 32] @ CudaGmemLinear",
            """
            s: f32[2, 32] @ CudaSmemLinear
            ring: barrier @ CudaMbarrier
            for k in seq(0, 2):
                with CudaWarps(0, 1):
                    ReverseAwait(ring, cuda_in_order, ~1)
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        s[k, i] = x[k, i]
                    Arrive(cuda_in_order, 1) >> ring
                with CudaWarps(1, 2):
                    Await(ring, cuda_in_order, ~0)  # was: Await(ring, cuda_in_order, ~1)
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        y[k, i] = s[k, 31 - i]  # mach-read-raw
                    ReverseArrive(cuda_in_order, 1) >> ring
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/TensorRT-LLM#15338",
        what="The consumer polls the barrier of the first stage in every round, because its pointer is computed once.",
        text=cta(
            "x: f32[2, 32] @ CudaGmemLinear, y: f32[2, 32] @ CudaGmemLinear",
            """
            s: f32[2, 32] @ CudaSmemLinear
            first: barrier @ CudaMbarrier
            second: barrier @ CudaMbarrier
            with CudaWarps(0, 1):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    s[0, i] = x[0, i]
                Arrive(cuda_in_order, 1) >> first
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    s[1, i] = x[1, i]
                Arrive(cuda_in_order, 1) >> second
            with CudaWarps(1, 2):
                Await(first, cuda_in_order, ~0)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[0, i] = s[0, i]
                Await(second, cuda_in_order, ~0)  # was: Await(first, cuda_in_order, ~0)  # mach-await-progress
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[1, i] = s[1, i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="flashinfer-ai/flashinfer#4732",
        what="The warps that compute arrive for the next tile before those that load have seen the arrival for this "
        "one; a phase completes without them, and a later one never does.",
        text=cta(
            "x: f32[4, 32] @ CudaGmemLinear, y: f32[4, 32] @ CudaGmemLinear",
            """
            s: f32[4, 32] @ CudaSmemLinear
            done: barrier @ CudaMbarrier
            for k in seq(0, 4):
                with CudaWarps(0, 1):
                    ReverseAwait(done, cuda_in_order, ~2)  # was missing
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        s[k, i] = x[k, i]
                    Arrive(cuda_in_order, 1) >> done  # mach-arrive-overrun
                with CudaWarps(1, 2):
                    Await(done, cuda_in_order, ~0)
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        y[k, i] = s[k, i]
                    ReverseArrive(cuda_in_order, 1) >> done  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
)
