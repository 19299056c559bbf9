"""Programs that use the language as the examples do not, emulated: they compute what their sequential reading does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soundline.impl.runtime.emulator.emulation import Emulated, OnDevice
from soundline.impl.spork import proc_from_text


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Small integers, whose sums are exact."""
    return np.random.default_rng(len(shape)).integers(-5, 6, shape).astype(dtype)


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return numbers(shape, "float32")


def f64(*shape: int) -> np.ndarray[Any, Any]:
    return numbers(shape, "float64")


def i32(*shape: int) -> np.ndarray[Any, Any]:
    return numbers(shape, "int32")


def given(arguments: dict[str, Any]) -> list[Any]:
    """Arguments as the C function takes them."""
    return [OnDevice(a) if isinstance(a, np.ndarray) else a for a in arguments.values()]


PROGRAMS = {
    "nested_ifs": """
@proc
def nest(n: size, k: index, flag: bool, x: f32[n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, (n + 63) // 64):
            for t in cuda_threads(0, 64, unit=cuda_thread):
                if 64 * task + t < n:
                    if (64 * task + t) % 3 == 0:
                        if flag and not (t > k):
                            y[64 * task + t] = x[64 * task + t] * 2.0
                        else:
                            if t // 2 % 2 == 1 or k < 0:
                                y[64 * task + t] = -x[64 * task + t]
                            else:
                                y[64 * task + t] = 7.0
                    else:
                        if (t - 40) // 7 == -3:
                            y[64 * task + t] = 1.5
                        else:
                            if (t - 40) % 7 == 2:
                                y[64 * task + t] = 2.5
                            else:
                                y[64 * task + t] += x[n - 1 - (64 * task + t)]
""",
    "negative_control": """
@proc
def neg(n: size, k: index, x: i32[n] @ CudaGmemLinear, y: i32[8, 32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                y[0, t] = i32(k // 4)
                y[1, t] = i32(k % 4)
                y[2, t] = i32((k + t) // 5)
                y[3, t] = i32((k + t) % 5)
                y[4, t] = i32((t - 16) // 8)
                y[5, t] = i32((t - 16) % 8)
                y[6, t] = i32(k // (t - 40))
                y[7, t] = i32(-(k) % (t + 1)) - i32(t // (t - 16))
""",
    "lo_loops": """
@proc
def lo(n: size, k: index, x: f32[n, 32] @ CudaGmemLinear, y: f32[32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(2, 3):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                acc: f32[4] @ CudaRmem
                for j in seq(0, 4):
                    acc[j] = 0.0
                for i in seq(k + 5, n):
                    for j in seq(1, 3):
                        acc[j] += x[i, t]
                    for j in seq(i, i):
                        acc[0] = 99.0
                for i in seq(n, 2):
                    acc[3] = 55.0
                for j in seq(0, 4):
                    y[t] += acc[j]
""",
    "windows_of_windows": """
@proc
def ww(n: size, x: f32[n, 4, 6, 8] @ CudaGmemLinear, y: f32[n, 4, 6, 8] @ CudaGmemLinear):
    x0 = x[1:n, :, 2:6, :]
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, n - 1):
            s: f32[4, 4, 8] @ CudaSmemLinear
            w = x0[task, 1:4, :, 2:8]
            v = w[1:3, 1:3, 0:5]
            sv = s[:, 1, :]
            sw = sv[1:3, 2:7]
            for t in cuda_threads(0, 5, unit=cuda_thread):
                u = v[:, 1, t]
                for i in seq(0, 2):
                    sw[i, t] = u[i] + w[0, 3, t]
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 5, unit=cuda_thread):
                z = y[task, 0:2, 5, :]
                for i in seq(0, 2):
                    z[i, t] = sw[i, 4 - t]
            Fence(cuda_in_order, cuda_in_order)
""",
    "five_d": """
@proc
def five(a: size, b: size, x: f64[a, b, 3, 2, 4] @ CudaGmemLinear, y: f64[4, 2, 3, b, a] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=96):
        for i in cuda_tasks(0, a):
            for j in cuda_tasks(0, b):
                for k in cuda_threads(0, 3, unit=32 * cuda_thread):
                    for l in cuda_threads(0, 2, unit=16 * cuda_thread):
                        for m in cuda_threads(0, 4, unit=4 * cuda_thread):
                            for o in cuda_threads(0, 1, unit=cuda_thread):
                                y[m, l, k, j, i] = x[i, j, k, l, m]
""",
    "scalars_everywhere": """
@proc
def sc(x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear, s: f32, q: i16[3]):
    c: f32 @ CudaGridConstant
    d: i16[3] @ CudaGridConstant
    c = s * 2.0
    for i in seq(0, 3):
        d[i] = q[i]
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            sh: f32 @ CudaSmemLinear
            for t in cuda_threads(0, 1, unit=cuda_thread):
                sh = x[5]
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 64, unit=cuda_thread):
                r: f32 @ CudaRmem
                r = x[t] + sh
                r += c
                r += f32(d[t % 3])
                y[t] = r * r
            Fence(cuda_in_order, cuda_in_order)
""",
    "warps_nested": """
@proc
def wn(x: f32[256] @ CudaGmemLinear, y: f32[256] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, 1):
            with CudaWarps(1, 7):
                with CudaWarps(2, 5):
                    for w in cuda_threads(0, 3, unit=cuda_warp):
                        with CudaWarps(0, 1):
                            for t in cuda_threads(0, 20, unit=cuda_thread):
                                y[32 * w + t] = x[t] + f32(w)
                with CudaWarps(5, 6):
                    for t in cuda_threads(0, 32, unit=cuda_thread):
                        y[200 + t] = x[t] * 3.0
            for wg in cuda_threads(0, 2, unit=cuda_warpgroup):
                with CudaWarps(3, 4):
                    for t in cuda_threads(0, 8, unit=4 * cuda_thread):
                        for u in cuda_threads(0, 4, unit=cuda_thread):
                            y[100 + 32 * wg + 4 * t + u] = x[t] - f32(u)
""",
    "reuse_shared": """
@proc
def rs(x: f32[128] @ CudaGmemLinear, y: f32[128] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            keep: f64[32] @ CudaSmemLinear
            for t in cuda_threads(0, 32, unit=cuda_thread):
                keep[t] = f64(x[t])
            for r in seq(0, 3):
                a: f32[128] @ CudaSmemLinear
                for t in cuda_threads(0, 128, unit=cuda_thread):
                    a[t] = x[t] + f32(r)
                Fence(cuda_in_order, cuda_in_order)
                if r == 1:
                    b: i8[100] @ CudaSmemLinear
                    for t in cuda_threads(0, 100, unit=cuda_thread):
                        b[t] = i8(a[127 - t])
                    Fence(cuda_in_order, cuda_in_order)
                    for t in cuda_threads(0, 100, unit=cuda_thread):
                        y[t] += f32(b[99 - t])
                    Fence(cuda_in_order, cuda_in_order)
                for t in cuda_threads(0, 128, unit=cuda_thread):
                    y[t] += a[127 - t]
                Fence(cuda_in_order, cuda_in_order)
            c: u16[128] @ CudaSmemLinear
            for t in cuda_threads(0, 128, unit=cuda_thread):
                c[t] = u16(t)
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 32, unit=cuda_thread):
                y[t] += f32(keep[31 - t]) + f32(c[127 - t])
            Fence(cuda_in_order, cuda_in_order)
""",
    "par_cpu": """
@proc
def pc(n: size, m: size, x: f32[n, m], y: f32[n, m], z: f32[n, m] @ CudaGmemLinear):
    for i in par(0, n):
        acc: f64
        acc = 0.0
        row: f32[m]
        for j in seq(0, m):
            row[j] = x[i, m - 1 - j]
            acc += f64(x[i, j])
        for j in par(0, m):
            y[i, j] = row[j] + f32(acc)
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(0, n):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                if t < m:
                    z[i, t] = 2.0
    for i in par(2, n):
        for j in par(0, m // 2):
            y[i, 2 * j] = y[i, 2 * j] + 1.0
""",
    "barrier_arrays": """
@proc
def ba(n: size, x: f32[n, 128] @ CudaGmemLinear, y: f32[n, 128] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=256):
        for task in cuda_tasks(0, n):
            s: f32[2, 128] @ CudaSmemLinear
            full: barrier[2] @ CudaMbarrier
            for wg in cuda_threads(0, 2, unit=cuda_warpgroup):
                for r in seq(0, 3):
                    with CudaWarps(0, 2):
                        ReverseAwait(full[wg], cuda_in_order, ~1)
                        for t in cuda_threads(0, 64, unit=cuda_thread):
                            for j in seq(0, 2):
                                s[wg, 64 * j + t] = x[task, 64 * j + t] + f32(r + wg)
                        Arrive(cuda_in_order, 1) >> full[wg]
                    with CudaWarps(2, 4):
                        Await(full[wg], cuda_in_order, ~0)
                        for t in cuda_threads(0, 64, unit=cuda_thread):
                            y[task, 64 * wg + t] += s[wg, 127 - t]
                        ReverseArrive(cuda_in_order, 1) >> full[wg]
            Fence(cuda_in_order, cuda_in_order)
""",
    "control_funcs": """
@proc
def cf(n: size, k: index, flag: bool, y: i32[n, 32] @ CudaGmemLinear):
    assert n > 0
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, max(n - 1, select(flag, n, 1))):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                y[task, t] = i32(max(t - 16, k)) + i32(select(t > 5 and not flag, -t, t * t)) * i32(-(t - 3) // 4)
                if (t % 2 == 0) == flag:
                    y[task, t] += 100
                if flag != (t < k) or (flag ^ (t > 30)):
                    y[task, t] += 1000
""",
    "bools": """
@proc
def bo(x: bool[64] @ CudaGmemLinear, f: f32[64] @ CudaGmemLinear,
       y: bool[3, 64] @ CudaGmemLinear, z: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: bool[64] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                r: bool @ CudaRmem
                r = x[t] and f[t] > 0.0
                s[t] = not r
                y[0, t] = r != x[63 - t]
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[1, t] = s[63 - t] ^ (f[t] <= f[63 - t])
                z[t] = select(s[t] or x[t], f[t], -1.0) + f32(s[t])
                y[2, t] = bool(z[t])
            Fence(cuda_in_order, cuda_in_order)
""",
    "dynamic_regs": """
@proc
def dr(x: f32[128] @ CudaGmemLinear, y: f32[4, 128] @ CudaGmemLinear, q: f32[5]):
    c: f32[5] @ CudaGridConstant
    for i in seq(0, 5):
        c[i] = q[i]
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            acc: f32[128, 2, 3] @ CudaRmem
            for t in cuda_threads(0, 128, unit=cuda_thread):
                for i in seq(0, 2):
                    for j in seq(0, 3):
                        acc[t, i, j] = x[(t + i) % 128] * f32(j)
            Fence(cuda_in_order, cuda_in_order)
            for w in cuda_threads(0, 4, unit=cuda_warp):
                for l in cuda_threads(0, 32, unit=cuda_thread):
                    y[0, 32 * w + l] = c[(w + l) % 5]
            for t in cuda_threads(0, 128, unit=cuda_thread):
                acc[t, t % 2, (t + 1) % 3] += c[t % 5]
                for k in seq(1, 4):
                    y[k, t] = acc[t, (t + k) % 2, k % 3] + acc[t, 1 - t % 2, 2]
""",
    "many_tasks_few_ctas": """
@proc
def mt(n: size, x: f32[n, 32] @ CudaGmemLinear, y: f32[n, 32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, n):
            full: barrier @ CudaMbarrier
            s: f32[32] @ CudaSmemLinear
            for r in seq(0, task % 3 + 1):
                with CudaWarps(0, 1):
                    ReverseAwait(full, cuda_in_order, ~1)
                    for t in cuda_threads(0, 32, unit=cuda_thread):
                        s[t] = x[task, t] + f32(r)
                    Arrive(cuda_in_order, 1) >> full
                with CudaWarps(1, 2):
                    Await(full, cuda_in_order, ~0)
                    for t in cuda_threads(0, 32, unit=cuda_thread):
                        y[task, t] += s[31 - t]
                    ReverseArrive(cuda_in_order, 1) >> full
            Fence(cuda_in_order, cuda_in_order)
""",
    "barrier_in_if": """
@proc
def bi(n: size, x: f32[n, 64] @ CudaGmemLinear, y: f32[n, 64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, n):
            if task % 2 == 1:
                full: barrier @ CudaMbarrier
                s: f32[64] @ CudaSmemLinear
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    s[t] = x[task, t]
                Arrive(cuda_in_order, 1) >> full
                Await(full, cuda_in_order, ~0)
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    y[task, t] = s[63 - t]
                Fence(cuda_in_order, cuda_in_order)
            else:
                g: barrier @ CudaMbarrier
                s2: f32[64] @ CudaSmemLinear
                for j in seq(0, 3):
                    for t in cuda_threads(0, 64, unit=cuda_thread):
                        s2[t] = x[task, t] * f32(j)
                    Arrive(cuda_in_order, 1) >> g
                    Await(g, cuda_in_order, ~0)
                    for t in cuda_threads(0, 64, unit=cuda_thread):
                        y[task, t] += s2[63 - t]
                    Fence(cuda_in_order, cuda_in_order)
""",
}

ARGUMENTS: dict[str, dict[str, Any]] = {
    "nested_ifs": {"n": 70, "k": 21, "flag": True, "x": f32(70), "y": f32(70)},
    "negative_control": {"n": 3, "k": -23, "x": i32(3), "y": i32(8, 32)},
    "lo_loops": {"n": 6, "k": -3, "x": f32(6, 32), "y": f32(32)},
    "windows_of_windows": {"n": 4, "x": f32(4, 4, 6, 8), "y": f32(4, 4, 6, 8)},
    "five_d": {"a": 2, "b": 3, "x": f64(2, 3, 3, 2, 4), "y": f64(4, 2, 3, 3, 2)},
    "scalars_everywhere": {
        "x": f32(64),
        "y": f32(64),
        "s": np.array(3, np.float32),
        "q": np.arange(3).astype(np.int16),
    },
    "warps_nested": {"x": f32(256), "y": f32(256)},
    "reuse_shared": {"x": f32(128), "y": f32(128)},
    "par_cpu": {"n": 9, "m": 13, "x": f32(9, 13), "y": f32(9, 13), "z": f32(9, 13)},
    "barrier_arrays": {"n": 2, "x": f32(2, 128), "y": f32(2, 128)},
    "control_funcs": {"n": 3, "k": -5, "flag": False, "y": i32(3, 32)},
    "bools": {"x": f32(64) > 0, "f": f32(64), "y": np.zeros((3, 64), bool), "z": f32(64)},
    "dynamic_regs": {"x": f32(128), "y": f32(4, 128), "q": f32(5)},
    "many_tasks_few_ctas": {"n": 7, "x": f32(7, 32), "y": f32(7, 32)},
    "barrier_in_if": {"n": 5, "x": f32(5, 64), "y": f32(5, 64)},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_it_does_sequentially(name: str) -> None:
    program = proc_from_text(PROGRAMS[name])
    arguments = ARGUMENTS[name]
    arrays = {n: a for n, a in arguments.items() if isinstance(a, np.ndarray)}
    wanted = {n: a.copy() for n, a in arrays.items()}
    program.run(**{**arguments, **wanted})
    assert any(not np.array_equal(wanted[n], a) for n, a in arrays.items()), "the program does nothing"
    source = program.cuda()
    for seed, order in ((1, "latest"), (2, "random"), (3, "earliest")):
        found = {n: a.copy() for n, a in arrays.items()}
        device = Emulated(source, seed=seed, order=order, multiprocessors=2)  # type: ignore[arg-type]
        device.run(source.function, *given({**arguments, **found}))
        for n in arrays:
            np.testing.assert_array_equal(found[n], wanted[n], err_msg=f"{n}, {order}")
