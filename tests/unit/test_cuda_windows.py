"""Where data are in generated code: shared memory as the machine lays it out, windows, and registers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from soundline.impl.codegen.cuda.calls import place
from soundline.impl.codegen.cuda.expressions import Names
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.impl.codegen.cuda.outside import device_functions_of
from soundline.impl.codegen.cuda.programs.device import DeviceFunction, device_functions, least_arch
from soundline.impl.codegen.cuda.programs.standard import LIBRARY
from soundline.impl.codegen.cuda.storage import declared
from soundline.spec.dtypes import float32
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.expressions import Const, Index, Name, Span
from soundline.spec.spork.language.nodes import ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import HOST
from soundline.spec.spork.language.statements import Alloc, Call
from soundline.spec.spork.library.memories import Sm80_RmemMatrixD
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.machine.events import Allocated
from soundline.spec.spork.machine.unfolding import unfold

from .cuda_figures import code_of, examples, on_device, parsed

EXAMPLES = dict(examples())


# Shared memory ----------------------------------------------------------------------------------------------------

NESTED = """
@proc
def nested(x: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64, clusterDim=2):
        for task in cuda_tasks(0, 1):
            a: bf16[2, 5] @ CudaSmemLinear
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    a[cta, 0] = 1.0
            if 0 < 1:
                b: f32[2, 8, 8] @ Sm90_SmemSwizzled(32)
                c: f32[2, 3] @ CudaSmemLinear
                for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        b[cta, 0, 0] = 0.0
                        c[cta, 0] = 0.0
                Fence(cuda_in_order, cuda_in_order)
            else:
                e: f64[2, 1] @ CudaSmemLinear
                for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        e[cta, 0] = 0.0
                Fence(cuda_in_order, cuda_in_order)
            d: f32[2, 4, 32] @ Sm90_SmemSwizzled(128)
            for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    d[cta, 1, 0] = 0.0
            Fence(cuda_in_order, cuda_in_order)
"""


def offsets(found: DeviceFunction) -> dict[str, int]:
    """Where the pointers of shared memory point."""
    pattern = r"(\w+) = reinterpret_cast<[^>]*>\(soundline_dynamic_shared\(\)(?: \+ (\d+))?\)"
    return {name: int(at or 0) for name, at in re.findall(pattern, found.header.text)}


@pytest.mark.parametrize(
    ("proc", "sizes"),
    [
        (parsed(NESTED), {}),
        *((p, s) for p, s in [(EXAMPLES["gemm_sm90_ring_gemm"], {"M": 64, "N": 8, "K": 24})]),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_shared_memory_is_laid_out_as_in_the_machine(proc: Proc, sizes: dict[str, int]) -> None:
    (found,) = device_functions(proc, 90)
    wanted: dict[str, int] = {}
    for event in unfold(proc, sizes):
        if isinstance(event, Allocated) and event.buffer.memory.space == "shared":
            first = event.buffer.elements[0].cells[0]
            size = event.buffer.dtype.itemsize // len(event.buffer.elements[0].cells)
            assert wanted.setdefault(event.buffer.name, first.address * size) == first.address * size
    at = offsets(found)
    base = min(at.values()) - min(wanted.values())
    assert {name: at[name] - base for name in wanted} == wanted
    assert base % 1024 == 0 or base % 256 == 0
    assert found.kernel.shared_bytes >= max(at.values())


def test_memory_is_used_again_after_the_end_of_a_block() -> None:
    (found,) = device_functions(parsed(NESTED), 90)
    at = offsets(found)
    assert at == {"a": 0, "b": 256, "c": 512, "e": 128, "d": 1024}
    assert found.kernel.shared_bytes == 1024 + 4 * 128


def test_a_kernel_asks_for_the_most_that_lives_at_once() -> None:
    body = """
for k in seq(0, 2):
    a: f32[1000] @ CudaSmemLinear
    for t in cuda_threads(0, 1, unit=cuda_thread):
        a[0] = 0.0
    Fence(cuda_in_order, cuda_in_order)
b: f32[10] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    b[0] = 0.0
Fence(cuda_in_order, cuda_in_order)
"""
    (found,) = device_functions(on_device(body), 80)
    assert (offsets(found), found.kernel.shared_bytes) == ({"a": 0, "b": 0}, 4000)


def test_mbarriers_lie_before_the_arrays() -> None:
    (found,) = device_functions(EXAMPLES["gemm_sm80_ring_gemm"], 80)
    assert min(offsets(found).values()) == 128
    assert found.kernel.shared_bytes == 128 + 3 * 32 * 8 * 4 + 3 * 8 * 32 * 4
    body = """
bar: barrier @ CudaMbarrier
Arrive(cuda_in_order, 1) >> bar
Await(bar, cuda_in_order, ~0)
"""
    (alone,) = device_functions(on_device(body), 80)
    assert alone.kernel.shared_bytes == 8


# Windows ----------------------------------------------------------------------------------------------------------


class Probe(dict[type[Instruction], Any]):
    """Texts that keep the sites."""

    def __init__(self) -> None:
        self.sites: list[CallSite] = []
        super().__init__({Instruction: self.keep})

    def keep(self, site: CallSite) -> list[str]:
        """Nothing is written."""
        self.sites.append(site)
        return []


def sites(proc: Proc) -> list[CallSite]:
    """The calls of a program."""
    probe = Probe()
    library = type(LIBRARY)(probe, lambda site: "0", LIBRARY.register_storage, LIBRARY.synchronization)
    device_functions(proc, 90, library=library)
    return probe.sites


def test_the_places_of_a_multicast() -> None:
    found = {s.instruction.name: s for s in sites(EXAMPLES["gemm_sm90_multicast_gemm"])}
    site = found["Sm90_multicast_tensor_to_smem_2d_f32"]
    dst, src = site.places["dst"], site.places["src"]
    assert isinstance(dst, Place)
    assert isinstance(src, Place)
    assert (dst.sizes, dst.constants, dst.strides) == (("4", "8"), (4, 8), ("8", "1"))
    assert (dst.ctas, dst.alignment) == ("uint16_t(0x3)", 128)
    assert dst.address == "B_smem + (k & 1) * 64 + 4 * cta * 8"
    assert (src.tensor_map, src.coordinates) == ("&args.B_map", ("8 * n + 4 * cta", "8 * k"))
    assert (site.whole_warp, site.sizes) == (True, {"ctas": 2, "n0": 4, "n1": 8})
    store = found["Sm90_mma_write_d_row_major_f32"].places
    assert isinstance(store["D"], Place)
    assert isinstance(store["dst"], Place)
    assert (store["D"].storage, store["D"].accumulates) == ("D[wg]", "D_holds_sum[wg]")
    assert store["dst"].address == "C + int64_t(64 * (2 * m + cta) + 64 * wg) * N + 8 * n"
    assert (store["dst"].strides, store["dst"].alignment) == (("N", "1"), 16)


GRID_OF_CTAS = """
@proc
def grid(x: f32[8, 8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 4, 8)
    with CudaDeviceFunction(blockDim=32, clusterDim=4):
        for task in cuda_tasks(0, 1):
            s: f32[2, 2, 4, 8] @ CudaSmemLinear
            bar: barrier[2, 2] @ CudaMbarrier
            for r in cuda_threads(0, 2, unit=2 * cuda_cta_in_cluster):
                for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                    with CudaAsync(tma_to_smem_async):
                        Sm90_multicast_tensor_to_smem_2d_f32(
                            s[r, :, :, :], x_map[4 * c : 4 * c + 4, :], ctas=2, n0=4, n1=8) >> bar[r, c] >> bar[r, :]
                        Arrive(tma_to_smem_async, 1) >> bar[r, c] >> bar[r, :]
                    Await(bar[r, c], cuda_in_order, ~0)
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        s[r, c, 0, 0] = 0.0
"""


def test_a_mask_of_ctas_moves_with_the_iterators_and_spans_the_colons() -> None:
    (site,) = sites(parsed(GRID_OF_CTAS))
    dst = site.places["dst"]
    assert isinstance(dst, Place)
    assert dst.ctas == "uint16_t(0x3 << (r * 2))"


def test_windows_of_windows_and_of_arguments_with_strides() -> None:
    proc = parsed(
        """
@proc
def copy(n: size, x: [f32][n, 8] @ CudaGmemLinear, y: f32[n, 4, 8] @ CudaGmemLinear):
    z = y[:, 1, :]
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(0, n):
            row = z[i, 2:6]
            part = row[1:3]
            for t in cuda_threads(0, 2, unit=cuda_thread):
                part[t] = x[i, t]
""",
    )
    code = code_of(proc)
    assert "auto *const row = y + 8 + int64_t(i) * 32 + 2;" in code
    assert "auto *const part = row + 1;" in code
    assert "part[t] = x[int64_t(i) * x_stride_0 + int64_t(t) * x_stride_1];" in code
    (found,) = device_functions(proc, 80)
    assert [(a.name, a.type, a.spork, a.kind, a.dimension) for a in found.arguments] == [
        ("n", "int", "n", "size", 0),
        ("x", "float", "x", "pointer", 0),
        ("y", "float", "y", "pointer", 0),
        ("x_stride_0", "int64_t", "x", "stride", 0),
        ("x_stride_1", "int64_t", "x", "stride", 1),
    ]
    assert "float const *x;" in code
    assert "float *y;" in code


def test_grid_constants_are_members_of_the_arguments() -> None:
    arguments = "n: size, on: bool, c: f32 @ CudaGridConstant, t: i32[2, 3] @ CudaGridConstant, "
    arguments += "x: f32[64] @ CudaGmemLinear"
    body = "for i in cuda_threads(0, 2, unit=cuda_thread):\n    if on:\n        x[i] = c * f32(t[i, 2])"
    proc = on_device(body, arguments)
    code = code_of(proc)
    assert "x[i] = args.c * float(args.t[i * 3 + 2]);" in code
    assert "if (on) {" in code
    (found,) = device_functions(proc, 80)
    assert [(a.name, a.type, a.kind, a.count) for a in found.arguments] == [
        ("on", "bool", "bool", 1),
        ("c", "float", "constant", 1),
        ("t", "int32_t", "constant", 6),
        ("x", "float", "pointer", 1),
    ]
    assert "int32_t t[6];" in code


def test_swizzled_memory_is_reached_through_its_swizzle() -> None:
    body = """
s: f32[4, 8] @ Sm90_SmemSwizzled(32)
for t in cuda_threads(0, 1, unit=cuda_thread):
    s[3, 2] = 0.0
    s[1, 1] += s[3, 2]
Fence(cuda_in_order, cuda_in_order)
"""
    code = code_of(on_device(body))
    assert "*soundline::swizzle<32>(s + 26) = 0.0f;" in code
    assert "*soundline::swizzle<32>(s + 9) += *soundline::swizzle<32>(s + 26);" in code


def test_scalars_and_half_precision_in_registers() -> None:
    body = """
for t in cuda_threads(0, 64, unit=cuda_thread):
    h: bf16 @ CudaRmem
    v: f16[3] @ CudaRmem
    h = bf16(x[t])
    h += 0.5
    v[2] = max(f16(h), 1.0)
    x[t] = f32(v[2])
"""
    code = code_of(on_device(body))
    for line in (
        "soundline::bf16 h;",
        "soundline::f16 v[3];",
        "h = soundline::bf16(x[t]);",
        "h = soundline::bf16(float(h) + float(soundline::bf16(0.5f)));",
        "v[2] = max_f16(soundline::f16(float(h)), soundline::f16(1.0f));",
        "x[t] = float(v[2]);",
    ):
        assert line in code
    assert code.count("static __device__ __forceinline__ float max_f32") == 1


def test_a_value_and_a_whole_array_are_given_to_an_instruction() -> None:
    found = sites(EXAMPLES["gemv_by_shuffles"])
    assert [type(p) for p in found[0].places.values()] == [Place, Place]
    assert [p.storage for p in found[0].places.values() if isinstance(p, Place)] == ["total", "sums"]
    atomics = sites(EXAMPLES["split_k_atomics_split_k"])
    values = [v for s in atomics for v in s.places.values() if isinstance(v, Value)]
    assert all(v.text for v in values)


@pytest.mark.parametrize("part", [(Span(Const(0), Const(8)), Span()), (Span(Const(8), Const(16)), Span())])
def test_a_part_of_a_tile_is_refused(part: tuple[Span, Span]) -> None:
    sizes = (Const(3), Const(16), Const(8))
    statement = Alloc("D", float32, sizes, ref(Sm80_RmemMatrixD))
    view, lines = declared(statement, None, HOST, None, LIBRARY)
    assert lines == [("D", "float D[3][4];")]
    call = Call(ref(STANDARD["Sm80_mma_zero_d_tf32"]), (Name("D"),))
    whole = place("d", view.at(Index("D", (Const(2), Span(), Span()))), Names(), call, several=False)
    assert (whole.storage, whole.constants) == ("D[2]", (16, 8))
    several = place(
        "d", view.at(Index("D", (Span(Const(1), Const(3)), Span(), Span()))), Names(), call, several=False
    )
    assert (several.storage, several.constants, several.strides) == ("D[1]", (2, 16, 8), ("1", "0", "0"))
    with pytest.raises(CompileError, match="a whole tile"):
        place("d", view.at(Index("D", (Const(2), *part))), Names(), call, several=False)


def test_an_iterator_of_the_name_that_arrives_count_ctas_by_keeps_its_meaning() -> None:
    text = GRID_OF_CTAS.replace("c in", "cta in").replace("* c ", "* cta ").replace("r, c", "r, cta")
    code = code_of(
        parsed(text.replace("bar[r, :]", "bar[:, cta]").replace("s[r, :, :, :]", "s[:, cta, :, :]"))
    )
    assert "0x5 << cta) >> target_cta & 1" in code
    assert "uint16_t(0x5 << cta)" in code


WINDOWED = """
@proc
def windowed(n: size, x: f32[n, 16] @ CudaGmemLinear):
    assert n % 8 == 0
    x_map = x[8:n, 4:16] @ Sm90_tensorMap(0, 4, 8)
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            s: f32[8, 16] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            for k in seq(0, 2):
                rows = x_map[4 * k : 4 * k + 8, :]
                tile = rows[1:5, 4:12]
                to = s[4:8, :]
                with CudaAsync(tma_to_smem_async):
                    Sm90_copy_tensor_to_smem_2d_f32(to[0:4, 4:12], tile, n0=4, n1=8) >> bar
                    Arrive(tma_to_smem_async, 1) >> bar
                Await(bar, cuda_in_order, ~0)
                Fence(cuda_in_order, cuda_generic_and_async_proxy)
"""


def test_windows_of_a_tensor_map_count_from_where_the_map_begins() -> None:
    """The CPU encodes the map from its first element on; what the device adds are the starts of its own windows."""
    (site,) = sites(parsed(WINDOWED))
    dst, src = site.places["dst"], site.places["src"]
    assert isinstance(dst, Place)
    assert isinstance(src, Place)
    assert src.coordinates == ("4 * k + 1", "4")
    assert (src.tensor_map, src.sizes, src.constants) == ("&args.x_map", ("4", "8"), (4, 8))
    # to begins at a multiple of 256 bytes, but its name promises the 128 of the array; and 16 bytes are added.
    assert (dst.address, dst.strides, dst.alignment) == ("to + 4", ("16", "1"), 16)


def test_what_is_known_of_addresses() -> None:
    found = {s.instruction.name: s.places for s in sites(EXAMPLES["gemm_sm80_ring_gemm"])}
    copies = found["Sm80_cp_async_f32"]
    # K is a multiple of K0, and 4 * k of 16 bytes.
    assert [p.alignment for p in copies.values() if isinstance(p, Place)] == [16, 16]
    tiles = found["Sm80_mma_load_b_tf32"]["src"]
    assert isinstance(tiles, Place)
    assert tiles.alignment == 32


def test_clusters_alone_need_sm_90() -> None:
    proc = parsed(NESTED)
    assert least_arch(proc) == 90
    with pytest.raises(CompileError, match="got: clusters"):
        device_functions(proc, 80)


def test_what_is_known_of_the_addresses_of_arguments() -> None:
    """An array begins where an access of 16 bytes may; a window begins at any element."""
    proc = parsed(
        """
@proc
def program(n: size, x: [f32][n] @ CudaGmemLinear, y: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(0, n):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                y[i] = x[i]
"""
    )
    ((_, _, outside),) = device_functions_of(proc)
    assert (outside.views["x"].alignment, outside.views["y"].alignment) == (4, 16)


def test_a_control_argument_is_a_number_only_where_it_is_one_number() -> None:
    body = """
s: f32[64] @ CudaSmemLinear
g: barrier @ CudaCommitGroup
for t in cuda_threads(0, 1, unit=cuda_thread):
    with CudaAsync(tma_to_gmem_async):
        Sm90_bulk_copy_to_gmem_f32(x[0:n], s[0:n], size=n)
        Sm90_bulk_copy_to_gmem_f32(x[0 : 4 * t + 8], s[0 : 4 * t + 8], size=4 * t + 8)
        Arrive(tma_to_gmem_async, 1) >> g
    Await(g, cuda_in_order, 0)
Fence(cuda_in_order, cuda_in_order)
"""
    found = sites(on_device(body, "n: size, x: f32[64] @ CudaGmemLinear"))
    assert [(s.sizes, s.texts["size"]) for s in found] == [({}, "n"), ({"size": 8}, "(4 * t + 8)")]


def test_a_multicast_to_one_cta() -> None:
    """The first dimension of the destination, which counts CTAs, is left away even if the memory is not divided."""
    proc = parsed(
        """
@proc
def alone(x: f32[8, 8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 4, 8)
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            s: f32[1, 4, 8] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            with CudaAsync(tma_to_smem_async):
                Sm90_multicast_tensor_to_smem_2d_f32(s[:, :, :], x_map[0:4, :], ctas=1, n0=4, n1=8) >> bar
                Arrive(tma_to_smem_async, 1) >> bar
            Await(bar, cuda_in_order, ~0)
"""
    )
    (site,) = sites(proc)
    dst = site.places["dst"]
    assert isinstance(dst, Place)
    assert (dst.sizes, dst.strides) == (("4", "8"), ("8", "1"))
    assert (dst.address, dst.ctas) == ("s", "uint16_t(1u << ptx::cluster_ctarank())")
