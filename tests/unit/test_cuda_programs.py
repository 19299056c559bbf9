"""Programs that call instructions of each family, emulated: they compute what their sequential reading does."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.runtime.emulator.emulation import Emulated
from soundline.impl.spork import proc_from_text

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "u32": np.uint32,
    "u64": np.uint64,
}


def integers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Small integers, whose sums are exact in every order."""
    low = 0 if dtype.startswith("u") else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(DTYPES[dtype])


def same(
    text: str,
    arrays: dict[str, np.ndarray],
    arch: str | None = None,
    wanted: dict[str, np.ndarray] | None = None,
) -> None:
    """Hold the emulated program to its sequential reading, or to what that is known to compute."""
    program = proc_from_text(text)
    expected = {n: a.copy() for n, a in arrays.items()}
    if wanted is None:
        program.run(**expected)
    expected |= wanted or {}
    source = generate(program, arch) if arch else generate(program)
    for order in ("latest", "random"):
        emulated = {n: a.copy() for n, a in arrays.items()}
        device = Emulated(source, seed=1, order=order, multiprocessors=2)  # type: ignore[arg-type]
        device.run(program.name, *emulated.values())
        for name, array in emulated.items():
            assert np.array_equal(array, expected[name]), f"{name}, {order}"
    assert any(not np.array_equal(a, expected[n]) for n, a in arrays.items()), "the program does nothing"


# A warp -----------------------------------------------------------------------------------------------------------

WARP = """
@proc
def product(A: {t}[16, 16] @ CudaGmemLinear, B: {t}[16, 16] @ CudaGmemLinear, C: f32[16, 16] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            A_smem: {t}[16, {row}] @ {memory}
            B_smem: {t}[16, {row}] @ {memory}
            for lane in cuda_threads(0, 32, unit=cuda_thread):
                cuda_copy_{t}(
                    A_smem[lane // 2, {first} + 8 * (lane % 2):{first} + 8 * (lane % 2) + 8],
                    A[lane // 2, 8 * (lane % 2):8 * (lane % 2) + 8],
                    size=8,
                )
                cuda_copy_{t}(
                    B_smem[lane // 2, {first} + 8 * (lane % 2):{first} + 8 * (lane % 2) + 8],
                    B[lane // 2, 8 * (lane % 2):8 * (lane % 2) + 8],
                    size=8,
                )
            Fence(cuda_in_order, cuda_in_order)
            A_rmem: {t}[16, 16] @ Sm80_RmemMatrixA
            B_rmem: {t}[2, 16, 8] @ Sm80_RmemMatrixB
            D: f32[2, 16, 8] @ Sm80_RmemMatrixD
            {a}
            {b}
            for j in seq(0, 2):
                Sm80_mma_zero_d_{t}(D[j, :, :])
                Sm80_mma_{t}(D[j, :, :], A_rmem[:, :], B_rmem[j, :, :], K=16)
                Sm80_mma_store_d_{t}(C[:, 8 * j:8 * j + 8], D[j, :, :])
            Fence(cuda_in_order, cuda_in_order)
"""
A = "A_smem[:, {first}:{first} + 16]"
B = "B_smem[:, {first}:{first} + 16]"
ROWS = "B_smem[{first8}:{first8} + 8, {first}:{first} + 16]"
COLUMNS = "B_smem[:, {first} + {first8}:{first} + {first8} + 8]"


def each(name: str, source: str) -> str:
    """A load for each of two tiles of B."""
    found = [f"{name}(B_rmem[{j}, :, :], {source.replace('{first8}', str(8 * j))})" for j in range(2)]
    return "\n            ".join(found)


FORMS = {
    "ldmatrix, pairs": (
        f"Sm80_ldmatrix_x4_a_{{t}}(A_rmem[:, :], {A})",
        f"Sm80_ldmatrix_x4_b_{{t}}(B_rmem[:, :, :], {B})",
    ),
    "transposed ldmatrix, pairs": (
        f"Sm80_ldmatrix_x4_trans_a_{{t}}(A_rmem[:, :], {A})",
        f"Sm80_ldmatrix_x4_trans_b_{{t}}(B_rmem[:, :, :], {B})",
    ),
    "ldmatrix, one by one": (
        f"Sm80_ldmatrix_x4_a_{{t}}(A_rmem[:, :], {A})",
        each("Sm80_ldmatrix_x2_b_{t}", ROWS),
    ),
    "transposed ldmatrix, one by one": (
        f"Sm80_mma_load_a_{{t}}(A_rmem[:, :], {A}, K=16)",
        each("Sm80_ldmatrix_x2_trans_b_{t}", COLUMNS),
    ),
    "loads of threads": (
        f"Sm80_mma_load_a_{{t}}(A_rmem[:, :], {A}, K=16)",
        each("Sm80_mma_load_b_{t}", COLUMNS).replace("])\n", "], K=16)\n").removesuffix(")") + ", K=16)",
    ),
    "loads of threads, by columns": (
        f"Sm80_mma_load_a_{{t}}(A_rmem[:, :], {A}, K=16)",
        each("Sm80_mma_load_b_col_{t}", ROWS).replace("])\n", "], K=16)\n").removesuffix(")") + ", K=16)",
    ),
}
WHERE = (
    ("CudaSmemLinear", 24, 8),
    ("Sm90_SmemSwizzled(32)", 16, 0),
    ("Sm90_SmemSwizzled(64)", 32, 16),
    ("Sm90_SmemSwizzled(128)", 64, 32),
)


@pytest.mark.parametrize("number", range(len(FORMS) * 2))
def test_warps_multiply(number: int) -> None:
    a, b = list(FORMS.values())[number // 2]
    t = ("bf16", "f16")[number % 2]
    memory, row, first = WHERE[number % len(WHERE)]
    text = WARP.replace("{a}", a).replace("{b}", b)
    for name, value in (("t", t), ("memory", memory), ("row", row), ("first", first)):
        text = text.replace(f"{{{name}}}", str(value))
    arrays = {n: integers((16, 16), t, k) for k, n in enumerate("AB")}
    same(text, {**arrays, "C": np.full((16, 16), np.nan, np.float32)})


LANES = """
@proc
def passed(x: {t}[32] @ CudaGmemLinear, y: {t}[6, 32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            own: {t}[32] @ CudaRmem
            got: {t}[32] @ CudaRmem
            for lane in cuda_threads(0, 32, unit=cuda_thread):
                own[lane] = x[lane]
{calls}
            Fence(cuda_in_order, cuda_in_order)
"""


@pytest.mark.parametrize("t", ["f32", "i32", "u32"])
def test_lanes_pass_their_registers_around(t: str) -> None:
    ways = ("shfl_broadcast", "shfl_xor", "shfl_down", "shfl_up", "warp_sum", "warp_max")
    given = (", source=5", ", mask=4", ", delta=3", ", delta=7", "", "")
    calls = []
    for k, (way, more) in enumerate(zip(ways, given, strict=True)):
        calls += [
            f"            cuda_{way}_{t}(got[:], own[:]{more})",
            "            for lane in cuda_threads(0, 32, unit=cuda_thread):",
            f"                y[{k}, lane] = got[lane]",
        ]
    text = LANES.replace("{t}", t).replace("{calls}", "\n".join(calls))
    same(text, {"x": integers((32,), t, 3), "y": np.full((6, 32), 99, DTYPES[t])})


ADDED = """
@proc
def added(x: {t}[64] @ CudaGmemLinear, y: {t}[2] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            sums: {t}[2] @ CudaSmemLinear
            for i in cuda_threads(0, 2, unit=cuda_thread):
                sums[i] = y[i]
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 64, unit=cuda_thread):
                cuda_atomic_add_{t}(sums[i % 2], x[i])
                cuda_atomic_add_{t}(y[i // 32], x[i])
            Fence(cuda_in_order, cuda_in_order)
            for i in cuda_threads(0, 2, unit=cuda_thread):
                y[i] += sums[i]
            Fence(cuda_in_order, cuda_in_order)
"""


@pytest.mark.parametrize("t", ["f32", "f64", "f16", "bf16", "i32", "u32", "u64"])
def test_threads_add_to_memory(t: str) -> None:
    same(ADDED.replace("{t}", t), {"x": integers((64,), t, 4), "y": integers((2,), t, 5)}, "sm_90a")


# A warpgroup ------------------------------------------------------------------------------------------------------

GROUP = """
@proc
def product(A: {t}[64, {k}] @ CudaGmemLinear, B: {t}[{shape}] @ CudaGmemLinear, C: f32[{out}] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for task in cuda_tasks(0, 1):
            A_smem: {t}[64, {k}] @ Sm90_SmemSwizzled({swizzle})
            B_smem: {t}[{shape}] @ Sm90_SmemSwizzled({swizzle})
            A_rmem: {t}[{k} // {depth}, 64, {depth}] @ Sm90_RmemMatrixA
            D: f32[64, {n}] @ Sm90_RmemMatrixD
            group: barrier @ CudaCommitGroup
            for tid in cuda_threads(0, 64, unit=cuda_thread):
                for j in seq(0, {k} // {piece}):
                    cuda_copy_{t}(
                        A_smem[tid, {piece} * j:{piece} * j + {piece}],
                        A[tid, {piece} * j:{piece} * j + {piece}],
                        size={piece},
                    )
{copy}
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            for i in seq(0, {k} // {depth}):
                Sm90_mma_load_a_{t32}(A_rmem[i, :, :], A_smem[:, {depth} * i:{depth} * i + {depth}])
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                Sm90_zero_scale_d_f32(D[:, :], N={n})
                for i in seq(0, {k} // {depth}):
                    Sm90_mma_async_{form}{t32}(D[:, :], {a}, {b}, N={n})
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_in_order, 0)
            Sm90_mma_write_d_{way}_major_f32(C[:, :], D[:, :], N={n})
            Fence(cuda_in_order, cuda_in_order)
"""
SHARED = "A_smem[:, {depth} * i:{depth} * i + {depth}]"
ROWS_OF_B = "B_smem[:, {depth} * i:{depth} * i + {depth}]"
BLOCKS_OF_B = "B_smem[:, {depth} * i:{depth} * i + {depth}, :]"
COPY_ROWS = """            for tid in cuda_threads(0, {n}, unit=cuda_thread):
                for j in seq(0, {k} // {piece}):
                    cuda_copy_{t}(
                        B_smem[tid, {piece} * j:{piece} * j + {piece}],
                        B[tid, {piece} * j:{piece} * j + {piece}],
                        size={piece},
                    )"""
COPY_BLOCKS = """            for tid in cuda_threads(0, {k}, unit=cuda_thread):
                for block in seq(0, {n} // 64):
                    for j in seq(0, 8):
                        cuda_copy_{t}(B_smem[block, tid, 8 * j:8 * j + 8], B[block, tid, 8 * j:8 * j + 8], size=8)"""


@pytest.mark.parametrize(
    ("form", "t", "n", "swizzle", "way"),
    [
        ("", "bf16", 24, 128, "row"),
        ("", "f16", 8, 64, "col"),
        ("", "f32", 16, 32, "row"),
        ("", "f32", 40, 128, "col"),
        ("ra_", "bf16", 16, 64, "row"),
        ("ra_", "f32", 8, 128, "col"),
        ("kn_", "bf16", 64, 128, "row"),
        ("kn_", "f16", 128, 128, "col"),
    ],
)
def test_warpgroups_multiply(form: str, t: str, n: int, swizzle: int, way: str) -> None:
    itemsize = np.dtype(DTYPES[t]).itemsize
    k = swizzle // itemsize
    shape = (n // 64, k, 64) if form == "kn_" else (n, k)
    out = (n, 64) if way == "col" else (64, n)
    values = {
        "form": form,
        "t32": "tf32" if t == "f32" else t,
        "way": way,
        "a": "A_rmem[i, :, :]" if form == "ra_" else SHARED,
        "b": BLOCKS_OF_B if form == "kn_" else ROWS_OF_B,
        "copy": COPY_BLOCKS if form == "kn_" else COPY_ROWS,
        "shape": ", ".join(map(str, shape)),
        "out": ", ".join(map(str, out)),
        "depth": 32 // itemsize,
        "piece": 16 // itemsize,
        "swizzle": swizzle,
        "t": t,
        "n": n,
        "k": k,
    }
    text = GROUP
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    arrays = {"A": integers((64, k), t, 6), "B": integers(shape, t, 7)}
    left, right = (a.astype(np.float32) for a in arrays.values())
    columns = right.transpose(0, 2, 1).reshape(n, k) if form == "kn_" else right
    product = left @ columns.T
    wanted = {"C": product.T if way == "col" else product}
    same(text, {**arrays, "C": np.full(out, np.nan, np.float32)}, wanted=wanted)


# Copies that nobody waits for -------------------------------------------------------------------------------------

BULK = """
@proc
def moved(x: {t}[3, 64] @ CudaGmemLinear, y: {t}[3, 64] @ CudaGmemLinear, z: {t}[64, 8] @ CudaGmemLinear):
    z_map = z[:, :] @ Sm90_tensorMap(0, 8, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            line: {t}[64] @ CudaSmemLinear
            tile: {t}[8, 8] @ CudaSmemLinear
            loaded: barrier @ CudaMbarrier
            stored: barrier @ CudaCommitGroup
            for tid in cuda_threads(0, 64, unit=cuda_thread):
                tile[tid // 8, tid % 8] = x[2, tid]
            for i in seq(0, 3):
                with CudaWarps(0, 1):
                    with CudaAsync(tma_to_smem_async):
                        Sm90_bulk_copy_to_smem_{t}(line[:], x[i, :], size=64) >> loaded
                        Arrive(tma_to_smem_async, 1) >> loaded
                Await(loaded, cuda_in_order, ~0)
                for tid in cuda_threads(0, 64, unit=cuda_thread):
                    line[tid] += line[tid]
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
                z_tile = z_map[16 * i:16 * i + 8, :]
                for tid in cuda_threads(0, 1, unit=cuda_thread):
                    with CudaAsync(tma_to_gmem_async):
                        Sm90_bulk_copy_to_gmem_{t}(y[i, :], line[:], size=64)
                        Sm90_reduce_tensor_to_gmem_2d_{t}(z_tile, tile[:, :], n0=8, n1=8)
                        Arrive(tma_to_gmem_async, 1) >> stored
                    Await(stored, cuda_in_order, 0)
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
"""


@pytest.mark.parametrize("t", ["f32", "bf16", "i32"])
def test_bulk_copies_and_additions_reach_memory(t: str) -> None:
    arrays = {
        "x": integers((3, 64), t, 8),
        "y": np.full((3, 64), 77, DTYPES[t]),
        "z": integers((64, 8), t, 9),
    }
    same(BULK.replace("{t}", t), arrays)
