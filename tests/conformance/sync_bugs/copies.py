"""cp.async: copies that nobody waited for, or waited for too early, in order and in groups."""

from __future__ import annotations

from .form import Bug, cta

BUGS = (
    Bug(
        where="NVIDIA/Fuser#3438",
        what="A copy that was inlined before the loop had no wait of its own: the barrier in the loop waits for no "
        "copies.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            Fence(Sm80_cp_async, cuda_in_order)  # was: Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = s[i]  # mach-read-raw
            Fence(Sm80_generic, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="csarofeen/pytorch#2463",
        what="The wait for all groups but one stood before the commit of the group of the same round, and so waited "
        "for one group too few.",
        text=cta(
            "x: f32[3, 16] @ CudaGmemLinear, y: f32[3, 4] @ CudaGmemLinear",
            """
            s: f32[3, 16] @ CudaSmemLinear
            groups: barrier[4] @ CudaCommitGroup
            for i in cuda_threads(0, 4, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[0, 4 * i : 4 * i + 4], x[0, 4 * i : 4 * i + 4], size=4)
                Arrive(Sm80_cp_async, 1) >> groups[i]
                for k in seq(0, 3):
                    if k < 2:
                        with CudaAsync(Sm80_cp_async):
                            Sm80_cp_async_f32(s[k + 1, 4 * i : 4 * i + 4], x[k + 1, 4 * i : 4 * i + 4], size=4)
                    # was here: Await(groups[i], cuda_in_order, 1)
                    Arrive(Sm80_cp_async, 1) >> groups[i]
                    Await(groups[i], cuda_in_order, 1)  # was missing
                    y[k, i] = s[k, 4 * i + 1]  # mach-read-raw
                Await(groups[i], cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cutlass#1326",
        what="The main loop ends with copies in flight that nobody needs; they land on what the epilogue has put to "
        "the same shared memory.",
        text=cta(
            "x: f32[2, 128] @ CudaGmemLinear, y: f32[128] @ CudaGmemLinear",
            """
            s: f32[128] @ CudaSmemLinear
            for i in cuda_threads(0, 32, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[0, 4 * i : 4 * i + 4], size=4)
            Fence(Sm80_generic, cuda_in_order)  # was: Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = 2.0 * x[1, i]  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[31 - i]
            Fence(Sm80_generic, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cutlass#958",
        what="Pending copies were drained at the end of the main loop only where zero fill clears shared memory.",
        text=cta(
            "zfill: bool, x: f32[2, 64] @ CudaGmemLinear, y: f32[16] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[0, 4 * i : 4 * i + 4], size=4)
            Fence(Sm80_generic, cuda_in_order)  # was missing
            # was here: if zfill:
            # was here:     Fence(Sm80_generic, cuda_in_order)
            for i in cuda_threads(0, 16, unit=cuda_thread):
                s[4 * i] = x[1, i]  # mach-write-waw
                y[i] = s[4 * i]
            Fence(Sm80_generic, cuda_in_order)
            """,
            threads=32,
        ),
        sizes={"zfill": False},
        found=200,
    ),
    Bug(
        where="triton-lang/triton#124",
        what="The wait for the copies of the prologue stood in the loop alone; a program that does not enter the loop "
        "goes on to write to shared memory while they are in flight.",
        text=cta(
            "n: size, x: f32[64] @ CudaGmemLinear, y: f32[16] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            for k in seq(0, n):
                Fence(Sm80_generic, cuda_in_order)
                for i in cuda_threads(0, 16, unit=cuda_thread):
                    y[i] += s[4 * i + k]
            Fence(Sm80_generic, cuda_in_order)  # was missing
            for i in cuda_threads(0, 16, unit=cuda_thread):
                s[4 * i] = y[i] + 1.0  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 16, unit=cuda_thread):
                y[i] = s[60 - 4 * i]
            Fence(Sm80_generic, cuda_in_order)
            """,
            threads=32,
        ),
        sizes={"n": 0},
        found=200,
    ),
    Bug(
        where="triton-lang/triton#2663",
        what="In the last rounds of a pipelined loop copies were masked, which still writes zeros; nothing waits for "
        "these writes.",
        text=cta(
            "x: f32[3, 64] @ CudaGmemLinear, y: f32[2, 16] @ CudaGmemLinear",
            """
            s: f32[2, 64] @ CudaSmemLinear
            groups: barrier[16] @ CudaCommitGroup
            for i in cuda_threads(0, 16, unit=cuda_thread):
                for k in seq(0, 3):
                    if k < 2:  # was: if k < 3:
                        with CudaAsync(Sm80_cp_async):
                            Sm80_cp_async_f32(s[k % 2, 4 * i : 4 * i + 4], x[k, 4 * i : 4 * i + 4], size=4)
                    Arrive(Sm80_cp_async, 1) >> groups[i]
                    if k > 0:
                        Await(groups[i], Sm80_generic, 1)
                        y[k - 1, i] = s[(k - 1) % 2, 4 * i]
                        Fence(cuda_in_order, Sm80_generic)
                s[0, 4 * i] = 5.0  # mach-write-waw
                y[0, i] += s[0, 4 * i]
                Await(groups[i], Sm80_generic, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#2668",
        what="A pipelined loop moved a copy that overwrites a buffer in front of the last use of what is in it.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[2, 16] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[0, 4 * i : 4 * i + 4], size=4)
            Fence(Sm80_generic, Sm80_generic)
            # was here: for i in cuda_threads(0, 16, unit=cuda_thread):
            # was here:     with CudaAsync(Sm80_cp_async):
            # was here:         Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[1, 4 * i : 4 * i + 4], size=4)
            for i in cuda_threads(0, 16, unit=cuda_thread):
                y[0, i] = s[4 * i]  # mach-read-raw
            Fence(cuda_in_order, Sm80_generic)
            for i in cuda_threads(0, 16, unit=cuda_thread):  # was missing
                with CudaAsync(Sm80_cp_async):  # was missing
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[1, 4 * i : 4 * i + 4], size=4)  # was missing
            Fence(Sm80_generic, cuda_in_order)
            for i in cuda_threads(0, 16, unit=cuda_thread):
                y[1, i] = s[4 * i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        unseen="the move changes the sequential reading too, and what the threads show is another value",
    ),
)
