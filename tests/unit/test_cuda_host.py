"""
The CPU part of CUDA programs
=============================

The C of what the CPU does computes what the law says, bit for bit, and asks the device for what the program says: the
same copies, tensor maps and launches, in the same order; and whatever fails on the way, all memory is given back.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl.codegen.cuda.host.function import function
from soundline.impl.codegen.cuda.host.launches import Launch
from soundline.impl.spork.front_end import proc_from_text
from soundline.spec.dtypes import DType, from_bits, ieee_floats, ints, same_value, to_numpy
from soundline.spec.errors import CompileError, ProgramError
from soundline.spec.spork.language.nodes import SPELLING

from .fake_device import BROKEN, FakeDevice, Mapped, c_text, compiled, parsed

OK, TOO_LARGE, ASSERTION, NEGATIVE, GAPS = 0, 1001, 1002, 1004, 1005
TO_DEVICE, TO_HOST = 1, 2


@dataclass(frozen=True)
class Member:
    """A member of the arguments of a kernel."""

    name: str
    type: str
    spork: str
    kind: Any
    count: int = 1
    dimension: int = 0


def launch(kernel: str, *members: Member, **changes: int) -> Launch:
    """A launch of 64 threads, if nothing else is said."""
    shape = {"block_dim": 64, "cluster_dim": 1, "blocks_per_sm": 1, "shared_bytes": 0, **changes}
    return Launch(kernel, members, **shape)


# Arithmetic -------------------------------------------------------------------------------------------------------


def patterns(dtype: DType, count: int, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """Numbers of a dtype: random bits, and small ones among them."""
    array = np.frombuffer(generator.bytes(count * dtype.itemsize), to_numpy(dtype)).copy()
    array[::3] = np.arange(-(count // 6), len(array[::3]) - count // 6).astype(to_numpy(dtype))
    return array


def same(dtype: DType, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether arrays hold the same values; NaNs are one."""
    bits = f"u{dtype.itemsize}"
    pairs = zip(a.view(bits).ravel().tolist(), b.view(bits).ravel().tolist(), strict=True)
    return all(x == y or same_value(dtype, from_bits(dtype, x), from_bits(dtype, y)) for x, y in pairs)


FLOAT = ("x[i] + y[i] * 3.0", "x[i] / y[i]", "-x[i] - 0.5", "max(x[i], y[i])", "sqrt(x[i]) + recip(y[i])")
FLOAT += ("exp2(x[i])", "log2(x[i])", "trunc(x[i])", "fma(x[i], y[i], 3.0)", "pow(x[i], y[i])", "sin(x[i])")
FLOAT += ("select(x[i] <= y[i], x[i], 1.5)", "select(not (x[i] != y[i]) or x[i] > 2.0, y[i], x[i])")
INTEGER = (
    "x[i] + y[i] * 3",
    "x[i] // y[i]",
    "x[i] % y[i] - 1",
    "max(x[i], y[i])",
    "x[i] << y[i]",
    "x[i] >> 3",
)
INTEGER += ("(x[i] & y[i]) | (x[i] ^ 5)", "x[i] >> y[i]", "select(x[i] >= y[i], x[i], -y[i])")


@pytest.mark.parametrize("dtype", [*ieee_floats, *ints], ids=str)
def test_arithmetic_is_that_of_the_law(dtype: DType, tmp_path: Path) -> None:
    name, count = SPELLING[dtype], 48
    expressions = FLOAT if dtype.is_float else INTEGER
    lines = "\n".join(f"        z[{k}, i] = {e}" for k, e in enumerate(expressions))
    proc = proc_from_text(
        f"def f(n: size, x: {name}[n], y: {name}[n], z: {name}[{len(expressions)}, n], s: {name}[n], f: f32[n]):\n"
        f"    for i in seq(0, n):\n{lines}\n        s[i] += x[i]\n        f[i] = f32(x[i])\n        s[i] = {name}(f[i])"
    )
    generator = np.random.default_rng(dtype.bits)
    x, y, s = (patterns(dtype, count, generator) for _ in range(3))
    z, f = np.zeros((len(expressions), count), x.dtype), np.zeros(count, np.float32)
    arrays = {"x": x, "y": y, "z": z, "s": s, "f": f}
    ours = {k: v.copy() for k, v in arrays.items()}
    proc.run(n=count, **arrays)
    assert compiled(proc, tmp_path)(FakeDevice(), count, *ours.values()) == OK
    for k, expression in enumerate(expressions):
        assert same(dtype, ours["z"][k], arrays["z"][k]), expression
    assert same(dtype, ours["s"], arrays["s"])
    assert np.array_equal(ours["f"], arrays["f"], equal_nan=True)


def test_division_of_control_is_that_of_the_law(tmp_path: Path) -> None:
    proc = parsed("""
    def f(a: index, b: index, z: i64[7]):
        z[0] = i64(a // b)
        z[1] = i64(a % b)
        z[2] = i64((a * a) // 7)
        z[3] = i64(max(a, b) - a)
        for q in seq(a // 7, a // 7 + 1):
            for r in seq(a % 7, a % 7 + 1):
                z[5] = i64(q * 100 + r)
        for q in seq(a // b, a // b + 1):
            for r in seq(a % b, a % b + 1):
                z[6] = i64(q * 100 + r)
        for i in seq(a - 1, a):
            z[4] = i64(i // 2)
    """)
    run = compiled(proc, tmp_path)
    for a in (-9, -1, 0, 5, 12):
        for b in (-4, 0, 3):
            law, ours = np.zeros(7, np.int64), np.zeros(7, np.int64)
            proc.run(a=a, b=b, z=law)
            assert run(FakeDevice(), a, b, ours) == OK
            assert ours.tolist() == law.tolist(), (a, b)


def test_a_literal_takes_the_dtype_of_what_it_meets(tmp_path: Path) -> None:
    proc = parsed("""
    def f(n: size, x: i64[3], y: f32[3]):
        for i in seq(0, 3):
            y[i] = select(x[i] < 1099511627777, 1.0, f32(x[i] // 2))
        if n == 3:
            y[0] += f32(n) * 0.5
    """)
    x = np.array([1 << 40, (1 << 40) + 1, (1 << 40) + 3], np.int64)
    law, ours = np.zeros(3, np.float32), np.zeros(3, np.float32)
    proc.run(n=3, x=x, y=law)
    assert compiled(proc, tmp_path)(FakeDevice(), 3, x, ours) == OK
    assert ours.tolist() == law.tolist()


def test_control_flow_storage_windows_and_calls_compute_what_the_law_says(tmp_path: Path) -> None:
    scale = parsed("""
    def scale(k: size, v: [f32][k], by: f32, out: [f32][k]):
        assert k > 1
        for i in seq(0, k):
            out[i] = v[i] * by
        out[0] += by
    """)
    proc = parsed(
        """
    def f(n: size, flag: bool, x: f32[n, n], y: [f32][n, 2], k: i32):
        row: f32[n + 1]
        few: f32[3]
        last: f32
        last = 0.0
        few[0] = 1.0
        for i in seq(0, n):
            if flag and i % 2 == 0:
                few[i % 3] = x[i, 0]
                scale(n, x[i, :], x[0, 1] + 1.0, y[:, 1])
            else:
                column = x[0:n, i]
                scale(n, column, 2.0, row[1:n + 1])
                last += row[n] + few[0]
        k = 3
        y[0, 0] = last
        scale(n, y[:, 0], y[0, 0], y[:, 1])
    """,
        scale=scale,
    )
    run = compiled(proc, tmp_path)
    for n, flag in ((2, True), (3, False), (6, True)):
        generator = np.random.default_rng(n)
        x, base = (
            generator.normal(size=(n, n)).astype(np.float32),
            generator.normal(size=(n, 4)).astype(np.float32),
        )
        k, ours = np.zeros((), np.int32), base.copy()
        law, x_law, k_law = base[:, ::2].copy(), x.copy(), k.copy()
        proc.run(n=n, flag=flag, x=x_law, y=law, k=k_law)
        assert run(FakeDevice(), n, flag, x, ours, 4, 2, k) == OK
        assert np.array_equal(ours[:, ::2], law)
        assert np.array_equal(ours[:, 1::2], base[:, 1::2]), "what lies between the elements of a window"
        assert np.array_equal(x, x_law)
        assert k == 3


def test_a_value_that_is_given_is_read_when_the_argument_is(tmp_path: Path) -> None:
    callee = parsed("""
    def callee(v: f32, y: f32[2]):
        y[0] = 5.0
        y[1] = v
    """)
    proc = parsed("def f(y: f32[2]):\n    callee(y[0] + 1.0, y)", callee=callee)
    law, ours = np.ones(2, np.float32), np.ones(2, np.float32)
    proc.run(y=law)
    assert compiled(proc, tmp_path)(FakeDevice(), ours) == OK
    assert ours.tolist() == law.tolist() == [5.0, 6.0]


def test_names_that_c_has_other_meanings_for(tmp_path: Path) -> None:
    proc = parsed("""
    def double(int: size, device: f32[int], error: f32):
        free: f32[int]
        for end in seq(0, int):
            free[end] = error
            device[end] = free[end]
    """)
    x = np.zeros(3, np.float32)
    assert function(proc, {}).name == "double_"
    assert compiled(proc, tmp_path)(FakeDevice(), 3, x, np.full((), 2.0, np.float32)) == OK
    assert x.tolist() == [2.0] * 3


def test_only_what_is_never_written_is_const(tmp_path: Path) -> None:
    callee = parsed("def callee(v: f32[2], u: f32[2]):\n    v[0] = u[1]")
    proc = parsed(
        """
    def round(a: f32[4], b: f32[4], c: f32[2], d: f32[2] @ CudaGmemLinear, e: f32, g: f32[2]):
        w = a[1:4]
        v = w[1:3]
        v[0] += b[0]
        callee(c, b[2:4])
        cudaMemcpyAsync_htod_1d_f32(d, g, 2)
    """,
        callee=callee,
    )
    found = function(proc, {})
    assert found.name == "round_", "round is a function of C"
    given = "float *a, float const *b, float *c, float *d, float const *e, float const *g"
    assert found.signature == f"int round_(struct soundline_device const *device, {given})"
    arrays = [np.arange(n, dtype=np.float32) for n in (4, 4, 2, 2)]
    assert compiled(proc, tmp_path)(FakeDevice(), *arrays, np.zeros(()), np.ones(2, np.float32)) == OK
    assert [a.tolist() for a in arrays] == [[0, 1, 2, 3], [0, 1, 2, 3], [3, 1], [1, 1]]


# What is refused --------------------------------------------------------------------------------------------------


def test_sizes_and_assertions_are_asked_at_run(tmp_path: Path) -> None:
    proc = parsed("""
    def f(n: size, m: index, x: f32[n - 2]):
        assert n % 2 == 0
        t: f32[m]
        x[0] = 1.0
        t[0] = x[0]
    """)
    run = compiled(proc, tmp_path)
    x = np.zeros(8, np.float32)
    asked = {(4, 1): OK, (5, 1): ASSERTION, (-2, 1): NEGATIVE, (4, -1): NEGATIVE, (0, 1): NEGATIVE}
    for (n, m), code in asked.items():
        assert run(FakeDevice(), n, m, x) == code, (n, m)
        if code == OK:
            continue
        with pytest.raises(ProgramError):
            proc.run(n=n, m=m, x=x[: max(n - 2, 0)])
    assert run(FakeDevice(), 4, 1 << 62, x) == TOO_LARGE


def test_a_call_whose_sizes_do_not_fit_is_refused(tmp_path: Path) -> None:
    callee = parsed("def callee(k: size, v: f32[k]):\n    v[0] = 1.0")
    proc = parsed("def f(n: size, x: f32[8]):\n    callee(n, x[0:4])\n    callee(8, x)", callee=callee)
    run, x = compiled(proc, tmp_path), np.zeros(8, np.float32)
    assert [run(FakeDevice(), n, x) for n in (4, 5)] == [OK, ASSERTION]
    assert c_text(proc).count("SOUNDLINE_ASSERTION") == 1, "of what is known before a run nothing is asked"


# Copies, tensor maps and launches ---------------------------------------------------------------------------------

STAGED = """
    def staged(n: size, m: size, x: f32[n, m], y: [f32][n, m], z: f32[n]):
        g: f32[n, m] @ CudaGmemLinear
        h: f32[m, n] @ CudaGmemLinear
        cudaMemcpyAsync_htod_2d_f32(g[:, :], x[:, :], n, m)
        cudaMemcpyAsync_dtoh_2d_f32(y[:, :], g[:, :], n, m)
        cudaMemcpyAsync_dtoh_1d_f32(z[:], g[:, 1], n)
        cudaMemcpyAsync_htod_1d_f32(h[0, 0:n], z, n)
        cudaMemcpyAsync_dtoh_1d_f32(x[0, 0:m], g[1, :], m)
    """


def test_copies_move_what_the_law_says(tmp_path: Path) -> None:
    proc, n, m = parsed(STAGED), 3, 4
    x = np.arange(n * m, dtype=np.float32).reshape(n, m)
    for base, view, strides in (
        (np.zeros((n, 6), np.float32), np.s_[:, :4], (6, 1)),
        (np.zeros((m, n), np.float32).T.base, np.s_[:], (1, n)),
    ):
        device, z, ours_x = FakeDevice(), np.zeros(n, np.float32), x.copy()
        law_y, law_z, law_x = np.zeros((n, m), np.float32), z.copy(), x.copy()
        proc.run(n=n, m=m, x=law_x, y=law_y, z=law_z)
        folder = tmp_path / str(strides[0])
        assert compiled(proc, folder)(device, n, m, ours_x, base, *strides, z) == OK
        found = base[view] if strides[1] == 1 else base.T
        assert np.array_equal(found, law_y)
        assert np.array_equal(z, law_z)
        assert np.array_equal(ours_x, law_x)
        assert not device.live, "all memory is given back"
        assert device.copies[0].kind == TO_DEVICE
        assert {c.kind for c in device.copies[1:3]} == {TO_HOST}


def test_whatever_fails_the_code_is_returned_and_memory_given_back(tmp_path: Path) -> None:
    proc = parsed(STAGED)
    run, arrays = compiled(proc, tmp_path), [np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32)]
    whole = FakeDevice()
    assert run(whole, 2, 2, *arrays, 2, 1, np.zeros(2, np.float32)) == OK
    assert len(whole.calls) == 10
    for at in range(1, len(whole.calls) + 1):
        device = FakeDevice(fails_at=at)
        assert run(device, 2, 2, *arrays, 2, 1, np.zeros(2, np.float32)) == BROKEN
        assert device.calls[:at] == whole.calls[:at]
        assert set(device.calls[at:]) <= {"release"}
        lost = {"release"} & {whole.calls[at - 1]}
        assert len(device.live) == len(lost), "but for what could not be given back"


def test_tensor_maps_have_the_sizes_strides_and_box_of_the_window(tmp_path: Path) -> None:
    proc = parsed("""
    def f(n: size, x: bf16[4, n, 64] @ CudaGmemLinear, w: [f32][n, 8] @ CudaGmemLinear):
        a = x[1, 0:n, 32:64] @ Sm90_tensorMap(64, 16, 32)
        b = w[:, :] @ Sm90_tensorMap(0, 2, 8)
        c = x[:, :, :] @ Sm90_tensorMap(128, 1, 8, 64)
    """)
    n, device = 6, FakeDevice()
    run = compiled(proc, tmp_path)
    x, w = np.zeros((4, n, 64), np.uint16), np.zeros((n, 16), np.float32)
    assert run(device, n, x, w, 16, 1) == OK
    at, there = x.ctypes.data, w.ctypes.data
    assert device.maps == [
        Mapped(9, at + 2 * (n * 64 + 32), (32, n), (128,), (32, 16), 64),
        Mapped(7, there, (8, n), (64,), (8, 2), 0),
        Mapped(9, at, (64, n, 4), (128, 128 * n), (64, 8, 1), 128),
    ]
    assert run(FakeDevice(), n, x, w, 32, 2) == GAPS
    empty = FakeDevice()
    assert run(empty, 0, x, w, 16, 1) == OK
    assert not empty.maps, "there is no tensor map of nothing"


def test_a_tensor_map_of_a_column_is_refused() -> None:
    proc = parsed("def f(n: size, x: f32[n, 8] @ CudaGmemLinear):\n    a = x[:, 0] @ Sm90_tensorMap(0, 4)")
    with pytest.raises(CompileError, match="last dimension"):
        function(proc, {})


LAUNCHED = """
    def f(n: size, k: index, b: bool, x: f32[n] @ CudaGmemLinear, c: f32[2] @ CudaGridConstant,
          s: f32 @ CudaGridConstant):
        m = x[:] @ Sm90_tensorMap(0, 8)
        t: bf16[3] @ CudaGridConstant
        for j in seq(0, 3):
            t[j] = bf16(c[1]) + 1.0
        for j in seq(0, 2):
            with CudaDeviceFunction(blockDim=64):
                for t0 in cuda_tasks(j, n // 4):
                    for t1 in cuda_tasks(0, k - 1):
                        for i in cuda_threads(0, 64, unit=cuda_thread):
                            pass
    """
MEMBERS = (
    Member("n", "int", "n", "size"),
    Member("j", "int", "j", "size"),
    Member("b", "bool", "b", "bool"),
    Member("x", "float", "x", "pointer"),
    Member("c", "float", "c", "constant", 2),
    Member("s", "float", "s", "constant"),
    Member("t", "soundline_bf16", "t", "constant", 3),
    Member("x_stride_0", "int64_t", "x", "stride"),
    Member("m", "soundline_tensor_map", "m", "map"),
)


def test_a_launch_gives_the_kernel_its_arguments_and_counts_the_tasks(tmp_path: Path) -> None:
    proc = parsed(LAUNCHED)
    shape = {"block_dim": 384, "cluster_dim": 2, "blocks_per_sm": 3, "shared_bytes": 4096}
    run = compiled(proc, tmp_path, {(3, 0): launch("f_device0", *MEMBERS, **shape)})
    x, c, s = np.zeros(16, np.float32), np.array([3.0, 5.0], np.float32), np.full((), 7.0, np.float32)
    device = FakeDevice()
    assert run(device, 16, 4, True, x, c, s) == OK
    assert [one.tasks for one in device.launches] == [4 * 3, 3 * 3]
    bf16_six = 0x40C0
    for j, one in enumerate(device.launches):
        head = struct.pack("<ii?7xQfff", 16, j, True, x.ctypes.data, 3.0, 5.0, 7.0)[: 4 + 4 + 8 + 8 + 12]
        assert one.args[: len(head)] == head
        assert one.args[36:42] == struct.pack("<HHH", bf16_six, bf16_six, bf16_six)
        assert one.args[48:56] == struct.pack("<q", 1)
        assert one.args[64:] == bytes([1] * 128)
        assert one[2:6] == (384, 2, 3, 4096)


def test_a_nest_without_tasks_launches_nothing(tmp_path: Path) -> None:
    run = compiled(parsed(LAUNCHED), tmp_path, {(3, 0): launch("f_device0", *MEMBERS)})
    x, c, s = np.zeros(16, np.float32), np.zeros(2, np.float32), np.zeros((), np.float32)
    for n, k, launched in ((16, 1, 0), (16, -5, 0), (0, -5, 0), (3, 4, 0), (4, 2, 1), (8, 2, 2)):
        device = FakeDevice()
        assert run(device, n, k, False, x, c, s) == OK
        assert len(device.launches) == launched, (n, k)


def test_control_that_the_device_cannot_compute_with_is_refused(tmp_path: Path) -> None:
    run = compiled(parsed(LAUNCHED), tmp_path, {(3, 0): launch("f_device0", *MEMBERS)})
    x, c, s = np.zeros(16, np.float32), np.zeros(2, np.float32), np.zeros((), np.float32)
    most = (1 << 31) - 1
    for n, k, code in ((1 << 31, 2, TOO_LARGE), (16, 1 << 31, TOO_LARGE), (16, -(1 << 31) - 1, TOO_LARGE)):
        assert run(FakeDevice(), n, k, False, x, c, s) == code, (n, k)
    assert run(FakeDevice(), most, most, False, x, c, s) == TOO_LARGE, "more tasks than an int can count"
    device = FakeDevice()
    assert run(device, 4, most, False, x, c, s) == OK
    assert device.launches[0].tasks == most - 1


def test_an_iterator_that_the_device_cannot_compute_with_is_refused(tmp_path: Path) -> None:
    proc = parsed("""
    def f(k: index):
        for j in seq(k + 1, k + 2):
            with CudaDeviceFunction(blockDim=64):
                for t in cuda_tasks(0, 1):
                    pass
    """)
    run = compiled(proc, tmp_path, {(0, 0): launch("f_device0", Member("j", "int", "j", "size"))})
    device, most = FakeDevice(), (1 << 31) - 1
    assert [run(device, k) for k in (most - 1, most)] == [OK, TOO_LARGE]
    assert [struct.unpack("<i", one.args) for one in device.launches] == [(most,)]
