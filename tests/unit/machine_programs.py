"""Programs with one mistake and without it, for the tests of the abstract machine and of its reports."""

from __future__ import annotations

import textwrap

from soundline.impl.spork import Proc, proc_from_text

FENCE = "Fence(cuda_in_order, cuda_in_order)"
COPY = "Sm80_cp_async_f32(s[t:t + 1], y[t:t + 1], size=1)"
LOAD = "Sm90_copy_tensor_to_smem_2d_f32(s[:, :], tile, n0=1, n1=8) >> bar"


def device(body: str, *, arguments: str = "", threads: int = 64, tasks: int = 1, **options: int) -> Proc:
    """A program of one device function; a line of the body that is only ``pass`` does nothing."""
    extra = "".join(f", {name}={value}" for name, value in options.items())
    head = f"""\
def program({arguments}):
    with CudaDeviceFunction(blockDim={threads}{extra}):
        for task in cuda_tasks(0, {tasks}):
"""
    return proc_from_text(head + textwrap.indent(textwrap.dedent(body).strip("\n") + "\n", " " * 12))


def host(body: str, arguments: str = "") -> Proc:
    return proc_from_text(f"def program({arguments}):\n" + textwrap.indent(textwrap.dedent(body), "    "))


def exchange(fence: str, unit: str = "") -> Proc:
    """Each thread writes its element, and reads that of another."""
    return device(
        f"""
        s: f32[64] @ CudaSmemLinear
        for t in cuda_threads(0, 64, unit=cuda_thread):
            s[t] = 1.0
        {fence}
        for t in cuda_threads(0, 64, unit=cuda_thread):
            y[t] = s[63 - t]
        {FENCE}
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )


def again(fence: str) -> Proc:
    """A thread writes what another one wrote before."""
    return device(
        f"""
        s: f32[64] @ CudaSmemLinear
        for t in cuda_threads(0, 64, unit=cuda_thread):
            s[t] = 1.0
        {fence}
        for t in cuda_threads(0, 64, unit=cuda_thread):
            s[63 - t] = 2.0
        {FENCE}
        """
    )


def reuse(fence: str) -> Proc:
    """A slot that all threads read is written by one thread."""
    return device(
        f"""
        s: f32[1] @ CudaSmemLinear
        for i in seq(0, 2):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                s[0] = 1.0
            {FENCE}
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[t] = s[0]
            {fence}
        {FENCE}
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )


def freed(fence: str) -> Proc:
    return device(
        f"""
        s: f32[64] @ CudaSmemLinear
        for t in cuda_threads(0, 64, unit=cuda_thread):
            s[t] = 1.0
            y[t] = s[t]
        {fence}
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )


def two_tasks(index: str) -> Proc:
    return device(
        f"""
        for t in cuda_threads(0, 1, unit=cuda_thread):
            y[{index}] = 1.0
        """,
        arguments="y: f32[2] @ CudaGmemLinear",
        tasks=2,
    )


def copied(after: str) -> Proc:
    return device(
        f"""
        s: f32[64] @ CudaSmemLinear
        for t in cuda_threads(0, 64, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                {COPY}
        {after}
        for t in cuda_threads(0, 64, unit=cuda_thread):
            z[t] = s[63 - t]
        {FENCE}
        """,
        arguments="y: f32[64] @ CudaGmemLinear, z: f32[64] @ CudaGmemLinear",
    )


def passed(n: str = "~0", arrive: str = "Arrive(cuda_in_order, 1) >> bar") -> Proc:
    """The warps pass an element on by an mbarrier."""
    return device(
        f"""
        s: f32[1] @ CudaSmemLinear
        bar: barrier @ CudaMbarrier
        for i in seq(0, 3):
            with CudaWarps(0, 1):
                ReverseAwait(bar, cuda_in_order, ~1)
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    s[0] = 1.0
                {FENCE}
                {arrive}
            with CudaWarps(1, 2):
                Await(bar, cuda_in_order, {n})
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    y[t] = s[0]
                ReverseArrive(cuda_in_order, 1) >> bar
        {FENCE}
        """,
        arguments="y: f32[64] @ CudaGmemLinear",
    )


def ring(
    second: str = "cuda_in_order", back: str = "tma_to_smem_async", store: str = "y[t] = s[0, t]"
) -> Proc:
    """TMA fills one slot again and again, which is read on `second`, and handed back on `back`."""
    return proc_from_text(
        f"""\
def program(x: f32[1, 8] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 1, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[1, 8] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            for i in seq(0, 3):
                tile = x_map[0:1, 0:8]
                with CudaWarps(0, 1):
                    ReverseAwait(bar, {back}, ~1)
                    with CudaAsync(tma_to_smem_async):
                        {LOAD}
                        Arrive(tma_to_smem_async, 1) >> bar
                with CudaWarps(1, 2):
                    Await(bar, {second}, ~0)
                    for t in cuda_threads(0, 8, unit=cuda_thread):
                        {store}
                    ReverseArrive(cuda_in_order, 1) >> bar
            {FENCE}
"""
    )
