"""Clusters: what one CTA does to the shared memory of another has to be ordered by the cluster."""

from __future__ import annotations

from textwrap import indent

from .form import Bug, proc


def cluster(body: str) -> str:
    """A program of one cluster of two CTAs with a warp each, which multicast halves of 8 elements to each other."""
    return (
        "def f(x: f32[16] @ CudaGmemLinear, y: f32[2, 8] @ CudaGmemLinear):\n"
        "    x_map = x[:] @ Sm90_tensorMap(0, 4)\n"
        "    with CudaDeviceFunction(blockDim=32, clusterDim=2):\n"
        f"        for t in cuda_tasks(0, 1):\n{indent(proc(body), 12 * ' ')}"
    )


BUGS = (
    Bug(
        where="inclusionAI/humming#56",
        what="A CTA waits for its own epilogue and then multicasts to the shared memory of both, while the peer still "
        "reads the last tile there.",
        text=cluster(
            """
            s: f32[2, 8] @ CudaSmemLinear
            full: barrier[2] @ CudaMbarrier
            for k in seq(0, 2):
                for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                    part = x_map[8 * k + 4 * cta : 8 * k + 4 * cta + 4]
                    with CudaAsync(tma_to_smem_async):
                        Sm90_multicast_tensor_to_smem_1d_f32(  # mach-write-war
                            s[:, 4 * cta : 4 * cta + 4], part, ctas=2, n0=4
                        ) >> full[cta] >> full[:]
                        Arrive(tma_to_smem_async, 1) >> full[cta] >> full[:]
                for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                    Await(full[cta], cuda_generic_and_async_proxy, ~0)
                    for i in cuda_threads(0, 8, unit=cuda_thread):
                        y[cta, i] = s[cta, i]
                    # was here: Fence(cuda_in_order, cuda_generic_and_async_proxy)
                Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was missing
            Fence(cuda_in_order, cuda_in_order)
            """
        ),
        found=200,
    ),
    Bug(
        where="facebookexperimental/triton#2292",
        what="A CTA writes to the shared memory of its peer before the peer has come to the point where that is set "
        "up.",
        text=cluster(
            """
            s: f32[2, 8] @ CudaSmemLinear
            full: barrier[2] @ CudaMbarrier
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    s[cta, i] = -1.0
                # was here: Fence(cuda_in_order, cuda_generic_and_async_proxy)
            Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was missing
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                part = x_map[4 * cta : 4 * cta + 4]
                with CudaAsync(tma_to_smem_async):
                    Sm90_multicast_tensor_to_smem_1d_f32(  # mach-write-waw
                        s[:, 4 * cta : 4 * cta + 4], part, ctas=2, n0=4
                    ) >> full[cta] >> full[:]
                    Arrive(tma_to_smem_async, 1) >> full[cta] >> full[:]
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                Await(full[cta], cuda_in_order, ~0)
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    y[cta, i] = s[cta, i]
            Fence(cuda_in_order, cuda_in_order)
            """
        ),
        found=200,
    ),
    Bug(
        where="triton-lang/triton#11328",
        what="The pass that inserts cluster barriers does not look through views: a multicast load into a view of "
        "shared memory that the peers still read goes without.",
        text=cluster(
            """
            s: f32[2, 2, 8] @ CudaSmemLinear
            full: barrier[2] @ CudaMbarrier
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    s[cta, 1, i] = x[i]
                    y[cta, i] = s[cta, 1, i]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)  # was missing
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                part = x_map[8 + 4 * cta : 12 + 4 * cta]
                with CudaAsync(tma_to_smem_async):
                    Sm90_multicast_tensor_to_smem_1d_f32(  # mach-write-war
                        s[:, 1, 4 * cta : 4 * cta + 4], part, ctas=2, n0=4
                    ) >> full[cta] >> full[:]
                    Arrive(tma_to_smem_async, 1) >> full[cta] >> full[:]
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                Await(full[cta], cuda_in_order, ~0)
                for i in cuda_threads(0, 8, unit=cuda_thread):
                    y[cta, i] += s[cta, 1, i]
            Fence(cuda_in_order, cuda_in_order)
            """
        ),
        found=200,
    ),
)
