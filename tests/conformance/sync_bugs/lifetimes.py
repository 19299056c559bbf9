"""Shared memory that is given to another array while somebody still uses it."""

from __future__ import annotations

from .form import Bug, cta

BUGS = (
    Bug(
        where="NVIDIA/Fuser#2000",
        what="The epilogue reuses the shared memory of a circular buffer whose last copies are still in flight.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            for main in seq(0, 1):
                ring: f32[64] @ CudaSmemLinear  # mach-free-write
                for i in cuda_threads(0, 16, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(ring[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
                Fence(Sm80_generic, cuda_in_order)  # was: Fence(cuda_in_order, cuda_in_order)
            out: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                out[i] = 2.0 * x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = out[63 - i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#2293",
        what="Two arrays of different element types share their bytes; the analysis compared indices and saw no "
        "conflict.",
        text=cta(
            "x: f32[32] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            for first in seq(0, 1):
                wide: f32[32] @ CudaSmemLinear  # mach-free-read
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    wide[i] = x[i]
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[i] = wide[31 - i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            for second in seq(0, 1):
                narrow: f16[64] @ CudaSmemLinear
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    narrow[i] = 1.0
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    y[i] += f32(narrow[63 - i])
                Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#2416",
        what="With automatic barriers switched off, shared memory was still reused from one array to the next.",
        text=cta(
            "x: f32[2, 32] @ CudaGmemLinear, y: f32[2, 32] @ CudaGmemLinear",
            """
            for stage in seq(0, 2):
                s: f32[32] @ CudaSmemLinear  # mach-free-read
                with CudaWarps(0, 1):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        s[i] = x[stage, i]
                Fence(cuda_in_order, cuda_in_order)
                with CudaWarps(1, 2):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        y[stage, i] = s[i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            """,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#2699",
        what="After the last read of one array comes the clearing of another one in the same place, without a barrier.",
        text=cta(
            "q: f32[64] @ CudaGmemLinear, o: f32[64] @ CudaGmemLinear",
            """
            for first in seq(0, 1):
                Q: f32[64] @ CudaSmemLinear  # mach-free-read
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    Q[i] = q[i]
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    o[i] = Q[(i + 32) % 64]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            cleared: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                cleared[i] = 0.0
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                o[i] += cleared[63 - i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
)
