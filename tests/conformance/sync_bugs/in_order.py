"""Threads of a CTA and its shared memory: barriers that were missing, too small, or at the wrong place."""

from __future__ import annotations

from .form import Bug, cta

BUGS = (
    Bug(
        where="arrayfire/arrayfire#633",
        what="A step of a reduction in shared memory reads what another thread wrote in the step before, without a "
        "barrier between the steps.",
        text=cta(
            "x: f32[128] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear",
            """
            s: f32[128] @ CudaSmemLinear
            for i in cuda_threads(0, 128, unit=cuda_thread):
                s[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                s[i] += s[i + 64]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = s[i] + s[i + 32]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        found=200,
    ),
    Bug(
        where="alicevision/popsift#82",
        what="A histogram in shared memory is zeroed by some threads and added to atomically by others, without a "
        "barrier between.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear",
            """
            bins: f32[8] @ CudaSmemLinear
            for i in cuda_threads(0, 8, unit=cuda_thread):
                bins[i] = 0.0
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                cuda_atomic_add_f32(bins[i // 8], x[i])  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 8, unit=cuda_thread):
                y[i] = bins[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cuml#6578",
        what="While thread 0 still sums up shared memory, the others go on to the next row and overwrite it.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for row in seq(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    s[i] = x[row, i]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    y[row] = 0.0
                    for k in seq(0, 64):
                        y[row] += s[k]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#253",
        what="A tile is loaded over one that slower threads still render from: there is a barrier after the load, and "
        "none after the use.",
        text=cta(
            "x: f32[3, 64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            tile: f32[64] @ CudaSmemLinear
            near: f32[64] @ CudaRmem
            for i in cuda_threads(0, 64, unit=cuda_thread):
                near[i] = 0.0
            for k in seq(0, 3):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    tile[i] = x[k, i]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    near[i] += tile[(i + 33) % 64] * tile[(i + 31) % 64]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = near[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#254",
        what="One thread writes two sums to shared memory, and all threads read them at once.",
        text=cta(
            "x: f32[2] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            sums: f32[2] @ CudaSmemLinear
            for one in cuda_threads(0, 1, unit=cuda_thread):
                sums[0] = x[0]
                sums[1] = x[1]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = sums[0] - sums[1]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#256",
        what="In a step of a systolic pipeline each thread reads its neighbour's output and then writes its own, with "
        "no barrier between the reads and the writes.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            out: f32[64] @ CudaSmemLinear
            taken: f32[64] @ CudaRmem
            for i in cuda_threads(0, 64, unit=cuda_thread):
                out[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for step in seq(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    taken[i] = out[(i + 63) % 64]
                Fence(cuda_in_order, cuda_in_order)  # was missing
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    out[i] = 0.5 * taken[i]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = out[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#255",
        what="A scan in place (Hillis and Steele) reads an element that another warp has already updated in the same "
        "step.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            other: f32[64] @ CudaRmem
            for i in cuda_threads(0, 64, unit=cuda_thread):
                s[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                if i >= 32:
                    other[i] = s[i - 32]
                else:
                    other[i] = 0.0
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                s[i] = max(s[i], other[i])  # mach-write-war
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                x[i] = s[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#261",
        what="The rounds of a blocked Floyd-Warshall read a row of the tile which another warp updates in the round "
        "before, and there is no barrier at the end of a round.",
        text=cta(
            "d: f32[2, 64] @ CudaGmemLinear",
            """
            tile: f32[2, 64] @ CudaSmemLinear
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    tile[w, i] = d[w, i]
                    tile[w, 32 + i] = d[w, 32 + i]
            Fence(cuda_in_order, cuda_in_order)
            for k in seq(0, 2):
                for w in cuda_threads(0, 2, unit=cuda_warp):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        if w != k:
                            tile[w, i] = tile[w, i] + tile[k, i]  # mach-read-raw
                Fence(cuda_in_order, cuda_in_order)  # was missing
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    d[w, i] = tile[w, i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="csarofeen/pytorch#380",
        what="Generated code used shared memory in a loop and had no barrier at the end of the body.",
        text=cta(
            "a: f32[2, 64] @ CudaGmemLinear, b: f32[2, 64] @ CudaGmemLinear",
            """
            for k in seq(0, 2):
                s: f32[64] @ CudaSmemLinear  # mach-free-read
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    s[i] = a[k, i]
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    b[k, i] = s[63 - i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            """,
        ),
        found=200,
    ),
    Bug(
        where="opencv/opencv#5742",
        what="Two reductions follow each other over the same shared memory; some warps begin the second while others "
        "still read the result of the first.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[2, 64] @ CudaGmemLinear",
            """
            part: f32[2] @ CudaSmemLinear
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    part[w] = x[32 * w]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[0, i] = part[0] + part[1]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    part[w] = x[32 * w + 1]  # mach-write-war
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[1, i] = part[0] + part[1]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cudf#17985",
        what="A batch of columns is aggregated in shared memory; the cells are set anew for the next batch while "
        "other threads still write the last one out.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[2, 4] @ CudaGmemLinear",
            """
            cells: f32[4] @ CudaSmemLinear
            for batch in seq(0, 2):
                for i in cuda_threads(0, 4, unit=cuda_thread):
                    cells[i] = 0.0  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    cuda_atomic_add_f32(cells[i % 4], x[batch, i])
                Fence(cuda_in_order, cuda_in_order)
                with CudaWarps(1, 2):
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        y[batch, i] = cells[i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cudf#13485",
        what="A block sum keeps one partial sum for each warp in shared memory; called in a loop, a fast warp writes "
        "its next partial sum before the first thread has read the last ones.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear",
            """
            sums: f32[2] @ CudaSmemLinear
            lanes: f32[2, 32] @ CudaRmem
            total: f32[2, 32] @ CudaRmem
            for k in seq(0, 2):
                for w in cuda_threads(0, 2, unit=cuda_warp):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        lanes[w, i] = x[k, 32 * w + i]
                    Fence(cuda_in_order, cuda_in_order)
                    cuda_warp_sum_f32(total[w, :], lanes[w, :])
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        if i == 0:
                            sums[w] = total[w, i]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    y[k] = sums[0] + sums[1]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cudf#14598",
        what="Between two calls of a block reduction with one scratch there was no barrier, though the scratch is also "
        "what the first call reads its result from.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear",
            """
            scratch: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                scratch[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for one in cuda_threads(0, 1, unit=cuda_thread):
                y[0] = scratch[0] + scratch[63]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                scratch[i] = x[i] * x[i]  # mach-write-war
            Fence(cuda_in_order, cuda_in_order)
            for one in cuda_threads(0, 1, unit=cuda_thread):
                y[1] = scratch[0] + scratch[63]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="flashinfer-ai/flashinfer#3624",
        what="A sampling kernel broadcasts the winner of a block reduction through shared memory in a loop over the "
        "vocabulary; the next round replaces it before everybody has read it.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            best: f32[1] @ CudaSmemLinear
            mine: f32[64] @ CudaRmem
            for i in cuda_threads(0, 64, unit=cuda_thread):
                mine[i] = 0.0
            for k in seq(0, 2):
                with CudaWarps(0, 1):
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        best[0] = x[k, 5]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    mine[i] = max(mine[i], best[0])
                Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = mine[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ggml-org/llama.cpp#20507",
        what="A copy transposes tiles through shared memory: a warp stores the next tile while another still reads "
        "the last one, in another order.",
        text=cta(
            "x: f32[2, 8, 8] @ CudaGmemLinear, y: f32[2, 8, 8] @ CudaGmemLinear",
            """
            tile: f32[8, 8] @ CudaSmemLinear
            for k in seq(0, 2):
                for i in cuda_threads(0, 8, unit=8 * cuda_thread):
                    for j in cuda_threads(0, 8, unit=cuda_thread):
                        tile[i, j] = x[k, i, j]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 8, unit=8 * cuda_thread):
                    for j in cuda_threads(0, 8, unit=cuda_thread):
                        y[k, i, j] = tile[j, i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ggml-org/llama.cpp#24360",
        what="A state-space scan loads two vectors of a step to shared memory; they were loaded for the next step "
        "while others still multiplied with them.",
        text=cta(
            "b: f32[2, 32] @ CudaGmemLinear, c: f32[2, 32] @ CudaGmemLinear, y: f32[2, 64] @ CudaGmemLinear",
            """
            B: f32[32] @ CudaSmemLinear
            C: f32[32] @ CudaSmemLinear
            for step in seq(0, 2):
                with CudaWarps(0, 1):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        B[i] = b[step, i]  # mach-write-war
                with CudaWarps(1, 2):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        C[i] = 2.0 * c[step, i]
                Fence(cuda_in_order, cuda_in_order)
                with CudaWarps(1, 2):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        y[step, i] = B[i] * C[i]
                        y[step, 32 + i] = B[31 - i] * C[i]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="gittensor-ai-lab/sparkinfer#705",
        what="A normalizer is kept in the first of the partial sums; a lagging warp reads it when the next token has "
        "already put a partial sum there.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[2, 64] @ CudaGmemLinear",
            """
            sw: f32[2] @ CudaSmemLinear
            for token in seq(0, 2):
                for w in cuda_threads(0, 2, unit=cuda_warp):
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        sw[w] = x[token, 32 * w]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    sw[0] = sw[0] + sw[1]
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    y[token, i] = x[token, i] * sw[0]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="uw-ipd/tmol#91",
        what="A segmented scan writes to shared memory and reads its neighbours there at once; on one GPU the warps "
        "diverged and it was seen.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            root: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                root[i] = x[i]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = root[max(i - 1, 0)]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="vernamlab/cuFHE#4",
        what="Two stages of a transform go over the same shared memory with different strides, without a barrier "
        "between.",
        text=cta(
            "x: f32[128] @ CudaGmemLinear",
            """
            s: f32[128] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                s[i] = x[i]
                s[i + 64] = x[i + 64]
                s[i] += s[i + 64]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                x[2 * i] = s[2 * i]
                x[2 * i + 1] = s[2 * i + 1]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cudf#4199",
        what="A copy by a block was followed by a barrier of each warp where the whole block reads what was copied.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                s[i] = x[i]
            for w in cuda_threads(0, 1, unit=2 * cuda_warp):  # was: for w in cuda_threads(0, 2, unit=cuda_warp):
                Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = s[(i + 32) % 64]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="kokkos/kokkos#8648",
        what="A scan used a memory fence of each thread where a barrier was needed: nobody waits for the thread that "
        "writes.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                s[i] = x[i]
                # was here: Fence(cuda_in_order, cuda_in_order)
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = s[63 - i]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="yelhousni/zprize-GPU-MSM-harness#1",
        what="A loop in which all threads post a value and then look at those of all others has one barrier, and "
        "needs two.",
        text=cta(
            "n: size, x: f32[n, 64] @ CudaGmemLinear, y: f32[n, 64] @ CudaGmemLinear",
            """
            posted: f32[64] @ CudaSmemLinear
            for k in seq(0, n):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    posted[i] = x[k, i]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    y[k, i] = posted[(i + 1) % 64] + posted[(i + 40) % 64]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        sizes={"n": 2},
        found=200,
    ),
    Bug(
        where="GridTools/gridtools#617",
        what="The last stage of a stencil has no barrier: a warp begins the next level, and overwrites a cache that "
        "another warp has not consumed.",
        text=cta(
            "x: f32[2, 64] @ CudaGmemLinear, y: f32[2, 64] @ CudaGmemLinear",
            """
            cache: f32[2, 64] @ CudaSmemLinear
            for level in seq(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    cache[0, i] = x[level, i]
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    cache[1, i] = cache[0, (i + 1) % 64] - cache[0, i]
                Fence(cuda_in_order, cuda_in_order)
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    y[level, i] = cache[1, (i + 63) % 64]
                Fence(cuda_in_order, cuda_in_order)  # was missing
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    cache[1, i] = 0.0  # mach-write-war
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="Xtra-Computing/thundersvm#99",
        what="Two arrays of a reduction overlap in shared memory: what one thread writes as an index another writes "
        "as a value.",
        text=cta(
            "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            both: f32[128] @ CudaSmemLinear
            for i in cuda_threads(0, 64, unit=cuda_thread):
                both[i] = f32(i)  # mach-write-waw
                both[64 + i] = x[i]  # was: both[32 + i] = x[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = both[i] + both[64 + i]  # was: y[i] = both[i] + both[32 + i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/cutlass#3597",
        what="A maximum over four warps goes through scratch in shared memory; the next reduction writes to it before "
        "every warp has read the last one.",
        text=cta(
            "x: f32[2, 4] @ CudaGmemLinear, y: f32[2, 4] @ CudaGmemLinear",
            """
            scratch: f32[4] @ CudaSmemLinear
            for k in seq(0, 2):
                for w in cuda_threads(0, 4, unit=cuda_warp):
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        scratch[w] = x[k, w]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for w in cuda_threads(0, 4, unit=cuda_warp):
                    for one in cuda_threads(0, 1, unit=cuda_thread):
                        y[k, w] = max(max(scratch[0], scratch[1]), max(scratch[2], scratch[3]))
                Fence(cuda_in_order, cuda_in_order)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#2613",
        what="All threads stage a tile that both groups of warps then use, for one step of K after the other; the "
        "barrier at the loop's back edge was left out.",
        text=cta(
            "a: f32[2, 64] @ CudaGmemLinear, c: f32[2, 32] @ CudaGmemLinear",
            """
            tile: f32[64] @ CudaSmemLinear
            sums: f32[2, 32] @ CudaRmem
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    sums[w, i] = 0.0
            for k in seq(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    tile[i] = a[k, i]  # mach-write-war
                Fence(cuda_in_order, cuda_in_order)
                for w in cuda_threads(0, 2, unit=cuda_warp):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        sums[w, i] += tile[2 * i + w]
                Fence(cuda_in_order, cuda_in_order)  # was missing
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for i in cuda_threads(0, 32, unit=cuda_thread):
                    c[w, i] = sums[w, i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/TileOPs#1405",
        what="The output of an attention kernel is staged through shared memory on its way out, without a barrier "
        "between the copy in and the copy out.",
        text=cta(
            "o: f32[8, 8] @ CudaGmemLinear",
            """
            acc: f32[8, 8] @ CudaRmem
            staged: f32[8, 8] @ CudaSmemLinear
            for i in cuda_threads(0, 8, unit=8 * cuda_thread):
                for j in cuda_threads(0, 8, unit=cuda_thread):
                    acc[i, j] = f32(8 * i + j) + o[i, j]
                    staged[i, j] = acc[i, j]
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 8, unit=8 * cuda_thread):
                for j in cuda_threads(0, 8, unit=cuda_thread):
                    o[i, j] = staged[j, i]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/tilelang#2703",
        what="A buffer in shared memory is cleared by one instruction and then filled, and the compiler did not know "
        "that the clearing writes to it.",
        text=cta(
            "x: f32[40] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            s: f32[64] @ CudaSmemLinear
            for one in cuda_threads(0, 1, unit=cuda_thread):
                for k in seq(0, 64):
                    s[k] = 0.0
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 40, unit=cuda_thread):
                s[i] = x[i]  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = s[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
)
