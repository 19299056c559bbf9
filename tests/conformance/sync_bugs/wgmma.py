"""Asynchronous products of warpgroups: their registers, and the shared memory that they read."""

from __future__ import annotations

from .form import Bug, cta

LARGE = "an accumulator has too many elements for random schedules that are worth their time"

BUGS = (
    Bug(
        where="NVIDIA/Fuser#3680",
        what="Registers that the threads have just used in order are used by wgmma without the wgmma.fence that has to "
        "come first.",
        text=cta(
            "a: f32[64, 8] @ CudaGmemLinear, b: f32[8, 8] @ CudaGmemLinear, c: f32[64, 8] @ CudaGmemLinear",
            """
            B: f32[8, 8] @ Sm90_SmemSwizzled(32)
            A: f32[64, 8] @ Sm90_RmemMatrixA
            D: f32[64, 8] @ Sm90_RmemMatrixD
            group: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 64, unit=cuda_thread):
                B[i // 8, i % 8] = b[i // 8, i % 8]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            Sm90_mma_load_a_tf32(A[:, :], a[:, :])
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)  # was missing
                Sm90_zero_scale_d_f32(D[:, :], N=8)  # mach-write-waw
                Sm90_mma_async_ra_tf32(D[:, :], A[:, :], B[:, :], N=8)
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_generic_and_async_proxy, 0)
            Sm90_mma_write_d_row_major_f32(c[:, :], D[:, :], N=8)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=LARGE,
    ),
    Bug(
        where="triton-lang/triton#2478",
        what="The wait that belongs to an asynchronous product was not generated, so that its result could be used "
        "while it is computed.",
        text=cta(
            "a: f32[64, 8] @ CudaGmemLinear, b: f32[8, 8] @ CudaGmemLinear, c: f32[64, 8] @ CudaGmemLinear",
            """
            A: f32[64, 8] @ Sm90_SmemSwizzled(32)
            B: f32[8, 8] @ Sm90_SmemSwizzled(32)
            D: f32[64, 8] @ Sm90_RmemMatrixD
            group: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 64, unit=cuda_thread):
                B[i // 8, i % 8] = b[i // 8, i % 8]
                for k in seq(0, 8):
                    A[i, k] = a[i, k]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Sm90_zero_scale_d_f32(D[:, :], N=8)
                Sm90_mma_async_tf32(D[:, :], A[:, :], B[:, :], N=8)
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_generic_and_async_proxy, 0)  # was missing
            Sm90_mma_write_d_row_major_f32(c[:, :], D[:, :], N=8)  # mach-read-raw
            Await(group, cuda_generic_and_async_proxy, 0)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=LARGE,
    ),
    Bug(
        where="triton-lang/triton#3106",
        what="A product was left in flight over a round of the loop although one of its operands has a single buffer, "
        "which the round overwrites.",
        text=cta(
            "a: f32[64, 8] @ CudaGmemLinear, b: f32[2, 8, 8] @ CudaGmemLinear, c: f32[64, 8] @ CudaGmemLinear",
            """
            B: f32[8, 8] @ Sm90_SmemSwizzled(32)
            A: f32[64, 8] @ Sm90_RmemMatrixA
            D: f32[64, 8] @ Sm90_RmemMatrixD
            group: barrier @ CudaCommitGroup
            Sm90_mma_load_a_tf32(A[:, :], a[:, :])
            for k in seq(0, 2):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    B[i // 8, i % 8] = b[k, i // 8, i % 8]  # mach-write-war
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
                with CudaAsync(wgmma_async):
                    Fence(wgmma_fence_1, wgmma_fence_2)
                    if k == 0:
                        Sm90_zero_scale_d_f32(D[:, :], N=8)
                    Sm90_mma_async_ra_tf32(D[:, :], A[:, :], B[:, :], N=8)
                    Arrive(wgmma_async, 1) >> group
                Await(group, cuda_generic_and_async_proxy, 0)  # was: Await(group, cuda_generic_and_async_proxy, 1)
                Fence(cuda_in_order, cuda_in_order)
            Await(group, cuda_generic_and_async_proxy, 0)
            Sm90_mma_write_d_row_major_f32(c[:, :], D[:, :], N=8)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=LARGE,
    ),
    Bug(
        where="NVIDIA/Fuser#3561",
        what="The warps that multiply told the producer that a stage is free without a commit and a wait for the "
        "products that read it.",
        text=cta(
            "a: f32[64, 8] @ CudaGmemLinear, b: f32[2, 64] @ CudaGmemLinear, c: f32[64, 8] @ CudaGmemLinear",
            """
            B: f32[8, 8] @ Sm90_SmemSwizzled(32)
            A: f32[64, 8] @ Sm90_RmemMatrixA
            D: f32[64, 8] @ Sm90_RmemMatrixD
            ring: barrier @ CudaMbarrier
            group: barrier @ CudaCommitGroup
            with CudaWarps(0, 4):
                Sm90_mma_load_a_tf32(A[:, :], a[:, :])
            for k in seq(0, 2):
                with CudaWarps(4, 5):
                    ReverseAwait(ring, cuda_in_order, ~1)
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        B[i // 8, i % 8] = b[k, i]  # mach-write-war
                        B[4 + i // 8, i % 8] = b[k, 32 + i]
                    Arrive(cuda_in_order, 1) >> ring
                with CudaWarps(0, 4):
                    Await(ring, cuda_generic_and_async_proxy, ~0)
                    with CudaAsync(wgmma_async):
                        Fence(wgmma_fence_1, wgmma_fence_2)
                        if k == 0:
                            Sm90_zero_scale_d_f32(D[:, :], N=8)
                        Sm90_mma_async_ra_tf32(D[:, :], A[:, :], B[:, :], N=8)
                        Arrive(wgmma_async, 1) >> group
                    Await(group, cuda_generic_and_async_proxy, 0)  # was missing
                    ReverseArrive(cuda_in_order, 1) >> ring
            with CudaWarps(0, 4):
                Await(group, cuda_generic_and_async_proxy, 0)
                Sm90_mma_write_d_row_major_f32(c[:, :], D[:, :], N=8)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=256,
        ),
        unseen=LARGE,
    ),
    Bug(
        where="sgl-project/sglang#39124",
        what="A tile is widened in shared memory by the threads and then read by the tensor cores through the "
        "asynchronous proxy; __syncthreads does not order the two.",
        text=cta(
            "a: f32[64, 8] @ CudaGmemLinear, b: f16[8, 8] @ CudaGmemLinear, c: f32[64, 8] @ CudaGmemLinear",
            """
            B: f32[8, 8] @ Sm90_SmemSwizzled(32)
            A: f32[64, 8] @ Sm90_RmemMatrixA
            D: f32[64, 8] @ Sm90_RmemMatrixD
            group: barrier @ CudaCommitGroup
            Sm90_mma_load_a_tf32(A[:, :], a[:, :])
            for i in cuda_threads(0, 64, unit=cuda_thread):
                B[i // 8, i % 8] = f32(b[i // 8, i % 8])
            Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was: Fence(cuda_in_order, cuda_in_order)
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Sm90_zero_scale_d_f32(D[:, :], N=8)
                Sm90_mma_async_ra_tf32(D[:, :], A[:, :], B[:, :], N=8)  # mach-read-raw
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_generic_and_async_proxy, 0)
            Sm90_mma_write_d_row_major_f32(c[:, :], D[:, :], N=8)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=LARGE,
    ),
    Bug(
        where="tile-ai/tilelang#2634",
        what="The pass that inserts proxy fences knew the dense wgmma and not the sparse one: what the threads wrote "
        "to an operand in shared memory was not fenced.",
        text=cta(
            "a: f32[64, 8] @ CudaGmemLinear, b: f32[8, 8] @ CudaGmemLinear, c: f32[64, 8] @ CudaGmemLinear",
            """
            A: f32[64, 8] @ Sm90_SmemSwizzled(32)
            B: f32[8, 8] @ Sm90_SmemSwizzled(32)
            D: f32[64, 8] @ Sm90_RmemMatrixD
            ready: barrier @ CudaMbarrier
            group: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 64, unit=cuda_thread):
                B[i // 8, i % 8] = b[i // 8, i % 8]
                for k in seq(0, 8):
                    A[i, k] = a[i, k]
            Arrive(cuda_in_order, 1) >> ready
            Await(ready, cuda_generic_and_async_proxy, ~0)  # was: Await(ready, cuda_in_order, ~0)
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Sm90_zero_scale_d_f32(D[:, :], N=8)
                Sm90_mma_async_tf32(D[:, :], A[:, :], B[:, :], N=8)  # mach-read-raw
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_generic_and_async_proxy, 0)
            Sm90_mma_write_d_row_major_f32(c[:, :], D[:, :], N=8)
            Fence(cuda_in_order, cuda_in_order)
            """,
            threads=128,
        ),
        unseen=LARGE,
    ),
)
