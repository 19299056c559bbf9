"""
Whole programs, CPU and device
==============================

The CPU part and the device part of generated programs together, on the emulator, against the sequential reading: what
the CPU gives to kernels is what they take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soundline.impl.runtime.emulator.emulation import emulated
from soundline.impl.spork.program import SporkProc
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import CompileError, EmulationError
from soundline.spec.spork.language.types import Control, Data
from soundline.spec.spork.machine.names import Names

from .fake_device import parsed

SCALE = """
    def scale(k: size, by: i32, v: f32[k, 4] @ CudaGmemLinear, c: f32[2] @ CudaGridConstant):
        assert k > 0
        with CudaDeviceFunction(blockDim=32):
            for t in cuda_tasks(0, k):
                for i in cuda_threads(0, 4, unit=cuda_thread):
                    v[t, i] = v[t, i] * c[1] + c[0]
    """
STRIDED = """
    def strided(k: size, v: [f32][k, 4] @ CudaGmemLinear):
        with CudaDeviceFunction(blockDim=32):
            for t in cuda_tasks(0, k):
                for i in cuda_threads(0, 4, unit=cuda_thread):
                    v[t, i] += 1.0
    """

PROGRAMS: dict[str, tuple[str, list[dict[str, int]]]] = {
    "a proc with kernels is called twice": (
        """
    def f(n: size, k: i32, x: f32[n, 4] @ CudaGmemLinear, c: f32[2] @ CudaGridConstant):
        d: f32[2] @ CudaGridConstant
        d[0] = c[1] + 1.0
        d[1] = c[0]
        scale(n, k, x, c)
        scale(n // 2, k, x[n // 2:n // 2 * 2, :], d)
    """,
        [{"n": 2}, {"n": 5}],
    ),
    "strides of windows": (
        """
    def f(n: size, x: f32[n, 8] @ CudaGmemLinear, w: [f32][n, 4] @ CudaGmemLinear):
        strided(n, x[:, 4:8])
        strided(n - 1, x[1:n, 0:4])
        strided(n, w)
    """,
        [{"n": 1}, {"n": 3}],
    ),
    "launches in a loop, and none": (
        """
    def f(n: size, m: index, flag: bool, y: i32[n]):
        g: i32[n] @ CudaGmemLinear
        cudaMemcpyAsync_htod_1d_i32(g, y, n)
        for j in seq(m, n):
            if flag or j % 2 == 0:
                with CudaDeviceFunction(blockDim=32):
                    for t in cuda_tasks(j, n):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            if flag:
                                g[t] = g[t] * 2 + i32(j)
                            else:
                                g[t] = g[t] - i32(m) // 2
        cudaMemcpyAsync_dtoh_1d_i32(y, g, n)
    """,
        [{"n": 5, "m": 0, "flag": True}, {"n": 4, "m": 1, "flag": False}, {"n": 3, "m": 3, "flag": True}],
    ),
    "half precision on both sides": (
        """
    def f(n: size, x: bf16[n], h: f16[n] @ CudaGmemLinear, s: f16 @ CudaGridConstant):
        c: bf16[3] @ CudaGridConstant
        g: bf16[n] @ CudaGmemLinear
        for i in par(0, n):
            x[i] = x[i] * 1.5
        c[0] = x[0]
        c[2] = bf16(s) + 1.0
        cudaMemcpyAsync_htod_1d_bf16(g, x, n)
        with CudaDeviceFunction(blockDim=32):
            for t in cuda_tasks(0, n):
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    g[t] = g[t] + c[2] * c[0]
                    h[t] += s
        cudaMemcpyAsync_dtoh_1d_bf16(x, g, n)
    """,
        [{"n": 4}],
    ),
    "the CPU works between kernels": (
        """
    def f(n: size, x: f32[n, 4]):
        g: f32[n, 4] @ CudaGmemLinear
        row: f32[n + 1]
        c: f32[2] @ CudaGridConstant
        c[0] = 0.5
        c[1] = 3.0
        for k in seq(0, 3):
            cudaMemcpyAsync_htod_2d_f32(g, x, n, 4)
            scale(n, 1, g, c)
            cudaMemcpyAsync_dtoh_1d_f32(row[0:n], g[:, k], n)
            cudaMemcpyAsync_dtoh_2d_f32(x, g, n, 4)
            row[n] = 0.0
            for i in seq(0, n):
                row[n] += row[i]
            c[1] = row[n] / 8.0
            x[0, 3] = c[1]
    """,
        [{"n": 1}, {"n": 4}],
    ),
}


def callees() -> dict[str, SporkProc]:
    """The procs that programs call."""
    return {"scale": parsed(SCALE), "strided": parsed(STRIDED)}


def arrays_of(proc: SporkProc, sizes: dict[str, int]) -> dict[str, Any]:
    """Small whole numbers for every argument of data."""
    generator = np.random.default_rng(5)
    names = Names(dict(sizes))
    return {
        a.name: generator.integers(-4, 5, tuple(names.size(s) for s in a.type.sizes)).astype(
            to_numpy(a.type.dtype)
        )
        for a in proc.arguments
        if isinstance(a.type, Data)
    }


def given(proc: SporkProc, sizes: dict[str, int], arrays: dict[str, Any]) -> list[Any]:
    """What the C function is given; a window lies in an array that is twice as wide."""
    found: list[Any] = []
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            found.append(sizes[argument.name])
            continue
        array = arrays[argument.name]
        found.append(array)
        if argument.type.window:
            found += [step // array.itemsize for step in array.strides]
    return found


@pytest.mark.parametrize(("text", "all_sizes"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_parts_together_compute_what_the_law_says(text: str, all_sizes: list[dict[str, int]]) -> None:
    proc = parsed(text, **callees())
    source = proc.cuda()
    program = emulated(source)
    for sizes in all_sizes:
        law = arrays_of(proc, sizes)
        ours = {}
        for argument in proc.arguments:
            if isinstance(argument.type, Data):
                own = law[argument.name]
                wide = np.repeat(own, 2, axis=-1) if argument.type.window else own.copy()
                ours[argument.name] = wide[..., ::2] if argument.type.window else wide
        proc.run(**sizes, **law)
        program.run(source.function, *given(proc, sizes, ours))
        for name, array in law.items():
            assert np.array_equal(ours[name], array), (sizes, name)


def test_a_window_with_gaps_for_a_kernel_that_takes_none_is_refused() -> None:
    proc = parsed(
        """
    def f(n: size, x: f32[n, 8] @ CudaGmemLinear, c: f32[2] @ CudaGridConstant):
        scale(n, 1, x[:, 0:4], c)
    """,
        **callees(),
    )
    source = proc.cuda()
    x, c = np.zeros((2, 8), np.float32), np.zeros(2, np.float32)
    with pytest.raises(EmulationError, match="1005"):
        emulated(source).run(source.function, 2, x, c)


def test_a_grid_constant_with_gaps_is_refused_and_a_window_of_one_is_taken() -> None:
    proc = parsed(
        """
    def f(n: size, x: f32[n, 4] @ CudaGmemLinear, c: f32[3, 2] @ CudaGridConstant):
        scale(n, 1, x, c[2, :])
        if n == 2:
            scale(n, 1, x, c[1:3, 0])
    """,
        **callees(),
    )
    source = proc.cuda()
    program, c = emulated(source), np.arange(6, dtype=np.float32).reshape(3, 2)
    law, ours = np.ones((1, 4), np.float32), np.ones((1, 4), np.float32)
    proc.run(n=1, x=law, c=c.copy())
    program.run(source.function, 1, ours, c)
    assert ours.tolist() == law.tolist() == [[9.0] * 4]
    with pytest.raises(EmulationError, match="1005"):
        program.run(source.function, 2, np.ones((2, 4), np.float32), c)


def test_a_part_of_a_tensor_map_for_a_proc_is_refused() -> None:
    callee = parsed("""
    def callee(m: f32[8, 8] @ Sm90_tensorMap(0, 8, 8)):
        pass
    """)
    for given in ("all[8:16, :]", "part"):
        proc = parsed(
            f"""
    def f(x: f32[16, 8] @ CudaGmemLinear):
        all = x[:, :] @ Sm90_tensorMap(0, 8, 8)
        part = all[8:16, :]
        callee({given})
    """,
            callee=callee,
        )
        with pytest.raises(CompileError, match="a part of a tensor map"):
            proc.cuda()


def test_an_assertion_of_a_called_proc_is_asked() -> None:
    proc = parsed(PROGRAMS["a proc with kernels is called twice"][0], **callees())
    source = proc.cuda()
    arrays = arrays_of(proc, {"n": 1})
    with pytest.raises(EmulationError, match="1002"):
        emulated(source).run(source.function, *given(proc, {"n": 1}, arrays))
