"""Blocks of one launch, and memory that they share: nothing orders them but atomics and the end of the launch."""

from __future__ import annotations

from .form import Bug, cta, proc

BUGS = (
    Bug(
        where="vllm-project/vllm#30719",
        what="Blocks along k add to the output atomically, and one of them zeroes it first: __syncthreads is no order "
        "between blocks.",
        text=proc(
            """
            def f(x: f32[3, 32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
                with CudaDeviceFunction(blockDim=32):  # was missing
                    for t in cuda_tasks(0, 1):  # was missing
                        for i in cuda_threads(0, 32, unit=cuda_thread):  # was missing
                            y[i] = 0.0  # was missing
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 3):
                        # was here: for i in cuda_threads(0, 32, unit=cuda_thread):
                        # was here:     if t == 0:
                        # was here:         y[i] = 0.0
                        # was here: Fence(cuda_in_order, cuda_in_order)
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            cuda_atomic_add_f32(y[i], x[t, i])  # mach-write-waw
            """
        ),
        found=200,
    ),
    Bug(
        where="NVIDIA/Fuser#2391",
        what="The blocks of a split-K reduction add to one partial sum in turn, and hand it on without a fence; here "
        "the turns are launches.",
        text=proc(
            """
            def f(x: f32[2, 32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 1):  # was: for t in cuda_tasks(0, 2):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            y[i] += x[t, i]  # mach-write-waw
                with CudaDeviceFunction(blockDim=32):  # was missing
                    for t in cuda_tasks(1, 2):  # was missing
                        for i in cuda_threads(0, 32, unit=cuda_thread):  # was missing
                            y[i] += x[t, i]  # was missing
            """
        ),
        found=200,
    ),
    Bug(
        where="pytorch/pytorch#128455",
        what="The last block of a reduction in two stages reads the partial sums of the others without acquiring "
        "them; here the second stage is a launch.",
        text=proc(
            """
            def f(x: f32[3, 32] @ CudaGmemLinear, y: f32[1] @ CudaGmemLinear):
                partial: f32[3] @ CudaGmemLinear
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 3):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            partial[t] = x[t, 0] + x[t, 31]
                            # was here: if t == 2:
                            # was here:     y[0] = partial[0] + partial[1] + partial[2]  # mach-read-raw
                with CudaDeviceFunction(blockDim=32):  # was missing
                    for t in cuda_tasks(0, 1):  # was missing
                        for i in cuda_threads(0, 1, unit=cuda_thread):  # was missing
                            y[0] = partial[0] + partial[1] + partial[2]  # was missing
            """
        ),
        found=200,
    ),
    Bug(
        where="tile-ai/TileOPs#1729",
        what="A backward pass reads the rows of the next positions from the buffer to which their blocks write in the "
        "same launch.",
        text=proc(
            """
            def f(d: f32[5, 32] @ CudaGmemLinear, e: f32[5, 32] @ CudaGmemLinear):
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 4):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            e[t, i] = d[t, i] + d[t + 1, i]  # was: d[t, i] = d[t, i] + d[t + 1, i]  # mach-write-war
            """
        ),
        found=200,
    ),
    Bug(
        where="omlins/ParallelStencil.jl#73",
        what="A viscosity is computed, and averaged over neighbouring cells, in one and the same kernel.",
        text=proc(
            """
            def f(T: f32[2, 32] @ CudaGmemLinear, eta: f32[2, 32] @ CudaGmemLinear, r: f32[2, 32] @ CudaGmemLinear):
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 2):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            eta[t, i] = 1.0 - T[t, i]
                            # was here: r[t, i] = eta[t, i] + eta[0, i]  # mach-read-raw
                with CudaDeviceFunction(blockDim=32):  # was missing
                    for t in cuda_tasks(0, 2):  # was missing
                        for i in cuda_threads(0, 32, unit=cuda_thread):  # was missing
                            r[t, i] = eta[t, i] + eta[0, i]  # was missing
            """
        ),
        found=200,
    ),
    Bug(
        where="vgvassilev/clad#1104",
        what="The derivative of a kernel in which all threads read one element adds to one element from all threads, "
        "with +=.",
        text=cta(
            "d_a: f32[64] @ CudaGmemLinear, d_b: f32[1] @ CudaGmemLinear",
            """
            for i in cuda_threads(0, 64, unit=cuda_thread):
                cuda_atomic_add_f32(d_b[0], d_a[i])  # was: d_b[0] += d_a[i]  # mach-write-waw
            """,
        ),
        found=200,
    ),
    Bug(
        where="numba/numba#4907",
        what="Every thread adds to one cell of shared memory with +=, and one of the additions survives.",
        text=cta(
            "x: f32[2] @ CudaGmemLinear, y: f32[1] @ CudaGmemLinear",
            """
            count: f32[1] @ CudaSmemLinear
            for i in cuda_threads(0, 1, unit=cuda_thread):
                count[0] = 0.0
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 2, unit=cuda_thread):
                cuda_atomic_add_f32(count[0], x[i])  # was: count[0] += x[i]  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 1, unit=cuda_thread):
                y[0] = count[0]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="gunrock/gunrock#829",
        what="A plain load tests a counter which other threads decrease atomically in the same kernel; the result "
        "belongs in an array of its own.",
        text=cta(
            "degree: f32[64] @ CudaGmemLinear, less: f32[64] @ CudaGmemLinear, keep: f32[64] @ CudaGmemLinear",
            """
            for i in cuda_threads(0, 64, unit=cuda_thread):
                keep[i] = degree[i]  # mach-read-raw
                cuda_atomic_add_f32(less[(i + 1) % 64], -1.0)  # was: cuda_atomic_add_f32(degree[(i + 1) % 64], -1.0)
            """,
        ),
        found=200,
    ),
    Bug(
        where="vllm-project/vllm-xpu-kernels#586",
        what="A global counter was zeroed inside of the kernel by one workgroup, while all others already count with "
        "it.",
        text=proc(
            """
            def f(count: f32[1] @ CudaGmemLinear):
                with CudaDeviceFunction(blockDim=32):  # was missing
                    for t in cuda_tasks(0, 1):  # was missing
                        for i in cuda_threads(0, 1, unit=cuda_thread):  # was missing
                            count[0] = 0.0  # was missing
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 3):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            # was here: if t == 0:
                            # was here:     count[0] = 0.0
                            cuda_atomic_add_f32(count[0], 1.0)  # mach-write-waw
            """
        ),
        found=200,
    ),
    Bug(
        where="ComputationalRadiationPhysics/picongpu#3239",
        what="Voronoi cells are set up by one thread and counted in by all, with nothing between.",
        text=cta(
            "w: f32[64] @ CudaGmemLinear, y: f32[2] @ CudaGmemLinear",
            """
            cell: f32[2] @ CudaSmemLinear
            for one in cuda_threads(0, 1, unit=cuda_thread):
                cell[0] = 0.0
                cell[1] = 0.0
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                cuda_atomic_add_f32(cell[i % 2], w[i])  # mach-write-waw
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 2, unit=cuda_thread):
                y[i] = cell[i]
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="CESNET/GPUJPEG#23",
        what="A block reserves output with an atomic addition, and its threads read the place before the addition of "
        "every warp is done.",
        text=cta(
            "x: f32[2] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear",
            """
            place: f32[1] @ CudaSmemLinear
            for one in cuda_threads(0, 1, unit=cuda_thread):
                place[0] = 0.0
            Fence(cuda_in_order, cuda_in_order)
            for w in cuda_threads(0, 2, unit=cuda_warp):
                for one in cuda_threads(0, 1, unit=cuda_thread):
                    cuda_atomic_add_f32(place[0], x[w])
            Fence(cuda_in_order, cuda_in_order)  # was missing
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = place[0]  # mach-read-raw
            Fence(cuda_in_order, cuda_in_order)
            """,
        ),
        found=200,
    ),
    Bug(
        where="ORNL/HeCBench#289",
        what="A kernel accumulates into a buffer that was allocated and never set.",
        text=proc(
            """
            def f(x: f32[2, 32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
                sums: f32[32] @ CudaGmemLinear
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 1):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            sums[i] = 0.0  # was missing
                            for k in seq(0, 2):
                                sums[i] += x[k, i]  # seq-uninitialized
                            y[i] = sums[i]
            """
        ),
        unseen="no order of threads changes what was never written",
    ),
    Bug(
        where="NVIDIA/cutlass#3538",
        what="The pointers of a parallel split-K product were not set up: the partial products went to the output, "
        "and the reduction read a workspace that nobody had written.",
        text=proc(
            """
            def f(x: f32[2, 32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
                workspace: f32[2, 32] @ CudaGmemLinear
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 1):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            for k in seq(0, 2):
                                workspace[k, i] = 2.0 * x[k, i]  # was: y[i] = 2.0 * x[k, i]
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(0, 1):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            y[i] = workspace[0, i] + workspace[1, i]  # seq-uninitialized
            """
        ),
        unseen="no order of threads changes what was never written",
    ),
    Bug(
        where="dlsys-course/examples#1",
        what="A window sum loads the tail of its tile only where the block is full, and adds what was never loaded.",
        text=cta(
            "x: f32[34] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear",
            """
            tile: f32[34] @ CudaSmemLinear
            for i in cuda_threads(0, 32, unit=cuda_thread):
                tile[i] = x[i]
                if i < 2:  # was: if i < 1:
                    tile[32 + i] = x[32 + i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 32, unit=cuda_thread):
                y[i] = tile[i] + tile[i + 1] + tile[i + 2]  # seq-uninitialized
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=32,
        ),
        unseen="no order of threads changes what was never written",
    ),
)
