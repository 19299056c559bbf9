"""Threads of a warp: they do not run in lockstep, so that a warp needs barriers of its own."""

from __future__ import annotations

from .form import Bug, cta

BUGS = (
    Bug(
        where="OP-DSL/OP2-Common#185",
        what="Each step of a reduction by a warp reads the element of another lane, and nothing says that the lane is "
        "done with the step before.",
        text=cta(
            "x: f32[32] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear",
            """
            s: f32[32] @ CudaSmemLinear
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 16, unit=cuda_thread):
                s[i] += s[i + 16]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 8, unit=cuda_thread):
                y[i] = s[i] + s[i + 8]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#91",
        what="A volatile array was taken for a barrier: the last steps of a reduction read and write it without "
        "__syncwarp.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[1] @ CudaGmemLinear",
            """
            s: f32[2, 2] @ CudaSmemLinear
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 2, unit=cuda_thread):
                    s[w, i] = x[32 * w + i]
            Fence(cuda_in_order, cuda_in_order)
            with CudaWarps(0, 1):
                for i in cuda_threads(0, 2, unit=cuda_thread):
                    s[0, i] = s[0, i] + s[1, i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    y[0] = s[0, 0] + s[0, 1]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#263",
        what="A minimum over a warp in shared memory: a lane replaces its element while the lane below still reads "
        "it for the same step.",
        text=cta(
            "x: f32[32] @ CudaGmemLinear",
            """
            s: f32[32] @ CudaSmemLinear
            least: f32[32] @ CudaRmem
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                least[i] = -max(-s[i], -s[(i + 4) % 32])
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 32, unit=cuda_thread):
                s[i] = least[i]  # mach-write-war
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                x[i] = s[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="kokkos/kokkos#6630",
        what="One thread of a warp updates a shared value, and other threads of the warp read it without __syncwarp.",
        text=cta(
            "x: f32[32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear",
            """
            total: f32[1] @ CudaSmemLinear
            for i in cuda_threads(0, 32, unit=cuda_thread):
                if i == 31:
                    total[0] = x[i]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = x[i] + total[0]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="kokkos/kokkos#4855",
        what="Every lane takes the value of lane 0, and so lane 0 writes its own value to itself while the others "
        "read it.",
        text=cta(
            "x: f32[4] @ CudaGmemLinear, y: f32[4] @ CudaGmemLinear",
            """
            value: f32[4] @ CudaSmemLinear
            for i in cuda_threads(0, 4, unit=cuda_thread):
                value[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 4, unit=cuda_thread):
                if i != 0:  # was: if i >= 0:
                    value[i] = value[0]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 4, unit=cuda_thread):
                y[i] = value[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        unseen="it writes the value that is there, so that no result differs; C++ calls it a race all the same",
    ),
    Bug(
        where="ggml-org/llama.cpp#28475",
        what="A warp stores expert ids to shared memory in one loop, and reads those of other lanes in the next one.",
        text=cta(
            "ids: i32[64] @ CudaGmemLinear, out: i32[64] @ CudaGmemLinear",
            """
            store: i32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 32, unit=cuda_thread):
                for k in seq(0, 2):
                    store[2 * i + k] = ids[32 * k + i]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 32, unit=cuda_thread):
                for k in seq(0, 2):
                    out[32 * k + i] = store[32 * k + i]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="tpruvot/ccminer#75",
        what="A tree is expanded level by level in shared memory, every fourth lane for itself, with no __syncwarp "
        "between the levels.",
        text=cta(
            "x: f32[2] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear",
            """
            levels: f32[8] @ CudaSmemLinear
            for i in cuda_threads(0, 2, unit=4 * cuda_thread):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    levels[i] = x[i]
                    levels[i + 2] = 2.0 * x[i]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 4, unit=2 * cuda_thread):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    y[i] = levels[i]  # mach-read-raw
                    y[i + 4] = 3.0 * levels[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#221",
        what="The first lane of each warp stores the place of a scratch buffer, the other lanes read it on the next "
        "line: the __syncwarp between was commented out.",
        text=cta(
            "x: f32[2] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            place: f32[2] @ CudaSmemLinear
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    place[w] = x[w]
                Fence(cuda_in_order, cuda_in_order)  # was missing
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    y[32 * w + i] = place[w]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="JustVugg/colibri#1099",
        what="A warp stores its accumulator to shared memory as a matrix, and lanes read elements that other lanes "
        "have stored.",
        text=cta(
            "y: f32[128] @ CudaGmemLinear",
            """
            out: f32[16, 8] @ CudaSmemLinear
            acc: f32[16, 8] @ Sm80_RmemMatrixD
            Sm80_mma_zero_d_tf32(acc[:, :])
            Sm80_mma_store_d_tf32(out[:, :], acc[:, :])
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 32, unit=cuda_thread):
                for k in seq(0, 4):
                    y[32 * k + i] = out[4 * k + i // 8, i % 8]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cudf#2983",
        what="A decompressor has its __syncwarp after it writes what is no literal, and needs it before it reads what "
        "the literal before has written.",
        text=cta(
            "x: f32[32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear",
            """
            out: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 32, unit=cuda_thread):
                out[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 32, unit=cuda_thread):
                out[32 + i] = out[i // 2]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = out[63 - i]
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        found=200,
    ),
    Bug(
        where="punica-ai/punica#51",
        what="After a shuffle only lane 0 has the sum of the warp, but all lanes wrote what they had to one element.",
        text=cta(
            "x: f32[2, 32] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear",
            """
            sums: f32[2] @ CudaSmemLinear
            have: f32[2, 32] @ CudaRmem
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    have[w, i] = x[w, i]
                    if i == 31:  # was: if i >= 0:
                        sums[w] = have[w, i]  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for one in cuda_threads(0, 2, unit=cuda_thread):
                y[one] = sums[one]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/Fuser#489",
        what="A warp reduction ends without a barrier, and the block broadcast that follows uses the same shared "
        "memory.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            scratch: f32[2] @ CudaSmemLinear
            got: f32[64] @ CudaRmem
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    scratch[w] = x[32 * w]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                got[i] = scratch[0] + scratch[1]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 1, unit=cuda_thread):
                scratch[0] = 2.0 * x[i]  # mach-write-war
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = got[i] + scratch[0]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
)
