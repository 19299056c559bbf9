"""The text of device functions: golden files of the guide's figures, windows, layout, guards, tasks, and refusals."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cuda_figures import GOLDEN, examples, figure, programs, text_of

from soundline.impl.codegen.cuda.calls import place
from soundline.impl.codegen.cuda.device import DeviceFunction, device_functions, least_arch
from soundline.impl.codegen.cuda.expressions import Names, control_text
from soundline.impl.codegen.cuda.names import spelled
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.impl.codegen.cuda.standard import LIBRARY
from soundline.impl.codegen.cuda.storage import declared
from soundline.impl.codegen.cuda.threads import coordinate_text, guard_text
from soundline.impl.codegen.cuda.writing import Writer
from soundline.impl.spork import proc_from_text
from soundline.spec.dtypes import float32, index
from soundline.spec.errors import CompileError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Index, Name, Span, Unary
from soundline.spec.spork.language.nodes import ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import HOST
from soundline.spec.spork.language.statements import Alloc, Call
from soundline.spec.spork.library.memories import Sm80_RmemMatrixD
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.machine.events import Allocated
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, iteration, tile, top_level
from soundline.spec.spork.threads.units import cuda_cta_in_cluster, cuda_thread, cuda_warp
from soundline.spec.values.elementwise import ELEMENTWISE

COMPILER = shutil.which("g++") or shutil.which("clang++")
PROGRAMS = programs()
EXAMPLES = dict(examples())


def parsed(text: str, **names: Any) -> Proc:
    """A program; the first line of the text is empty."""
    return proc_from_text(text.lstrip("\n"), names, file="program.py")


def on_device(body: str, arguments: str = "x: f32[64] @ CudaGmemLinear", head: str = "blockDim=64") -> Proc:
    """A program of one task with some statements."""
    lines = "\n".join(f"            {line}" for line in body.strip("\n").splitlines())
    return parsed(
        f"@proc\ndef program({arguments}):\n    with CudaDeviceFunction({head}):\n"
        f"        for task in cuda_tasks(0, 1):\n{lines}\n"
    )


def code_of(proc: Proc, arch: int | None = None, **given: Any) -> str:
    """The code of the device part, without comments and indents."""
    found = device_functions(proc, least_arch(proc) if arch is None else arch, **given)
    text = "".join(f.header.text + f.entry.text for f in found)
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


# Golden files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_is_that_of_the_golden_file(name: str) -> None:
    """`python tests/unit/cuda_figures.py` writes the files anew."""
    assert text_of(PROGRAMS[name]) == (GOLDEN / f"{name}.cuh").read_text()


def test_the_golden_files_are_those_of_the_programs() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(PROGRAMS)


@pytest.mark.parametrize(
    ("name", "proc"), list(examples()), ids=lambda given: str(given) if isinstance(given, str) else ""
)
def test_every_example_has_the_same_text_each_time(name: str, proc: Proc) -> None:
    assert name
    assert text_of(proc) == text_of(proc)


# Statement for statement ------------------------------------------------------------------------------------------


def test_every_line_of_a_task_knows_the_statement_that_it_came_from() -> None:
    (found,) = device_functions(figure("my_warp_config"), 90)
    lines = found.header.text.splitlines()
    assert len(lines) == len(found.header.origins)
    for line, origin in zip(lines, found.header.origins, strict=True):
        if line.strip().startswith("y[") or line.strip().startswith("data["):
            assert origin is not None
            assert origin.position is not None
            assert line.strip().split("[")[0] in origin.position.text


def test_statements_stand_in_the_order_of_the_program() -> None:
    (found,) = device_functions(EXAMPLES["gemm_sm80_ring_gemm"], 80)
    task = found.header.text.split("void task(")[1].split("int64_t tasks(")[0]
    numbers = [int(n) for n in re.findall(r"// .*gemm_sm80_ring.py:(\d+)$", task, re.MULTILINE)]
    assert len(numbers) > 40
    assert numbers == sorted(set(numbers))


def test_a_writer_drops_what_no_code_of_the_block_names() -> None:
    out = Writer()
    with out.block("void f()"):
        out.declaration("a", "int a = 0;")
        with out.block(""):
            out.declaration("b", "int b = a;")
            out.line("// b and c")
        out.declaration("c", "int c = 0;")
        out.line("g(c);")
        with out.block(""):
            out.line("int b = 0;")
    # With b goes the only use of a.
    wanted = ["void f() {", "{", "// b and c", "}", "int c = 0;", "g(c);", "{", "int b = 0;", "}", "}"]
    assert [line.strip() for line in out.without_unused().text.splitlines()] == wanted


@pytest.mark.parametrize("name", ["k", "K", "tid", "x_1"])
def test_a_name_keeps_its_spelling(name: str) -> None:
    assert spelled(name) == name


def test_names_that_cxx_or_the_text_around_uses_are_spelled_otherwise() -> None:
    names = ["double", "double_", "register", "args", "sync", "threadIdx", "max_f32", "task_producer", "β"]
    found = [spelled(name) for name in names]
    assert found == [
        "double_",
        "double__",
        "register_",
        "args_",
        "sync_",
        "threadIdx_",
        "max_f32_",
        "task_producer_",
        "_u03b2",
    ]
    assert len(set(found)) == len(names)


# Control ----------------------------------------------------------------------------------------------------------

_BINARY = (Op.Add, Op.Sub, Op.Mul, Op.Idiv, Op.Mod)
_VALUES = {"i": (0, 9), "n": (0, 40), "s": (1, 12), "z": (-9, 9)}


def drawn(seed: random.Random, depth: int) -> Expr:
    """An integer of control."""
    if depth == 0 or seed.random() < 0.2:
        return seed.choice(
            [Name("i"), Name("n"), Name("s"), Name("z"), Const(seed.choice([0, 1, 2, 3, 4, 7, 8, 16]))]
        )
    inner = [drawn(seed, depth - 1) for _ in range(2)]
    if seed.random() < 0.1:
        return Unary(Op.Neg, inner[0])
    if seed.random() < 0.1:
        return Apply(Op.Max, tuple(inner))
    return Binary(seed.choice(_BINARY), *inner)


def law(expression: Expr, values: dict[str, int]) -> int:
    """The value of an integer of control."""
    match expression:
        case Const(value):
            return int(value)
        case Name(name):
            return values[name]
        case Unary(op, operand):
            return int(ELEMENTWISE[op](index, law(operand, values)))
        case Binary(op, left, right) | Apply(op, (left, right)):
            return int(ELEMENTWISE[op](index, law(left, values), law(right, values)))
    raise AssertionError(expression)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_control_in_cxx_has_the_values_of_the_law_and_lies_where_it_is_said_to(tmp_path: Path) -> None:
    seed = random.Random(3)
    names = Names()
    for name, bounds in _VALUES.items():
        names = names.with_control(name, bounds)
    lines, wanted = [], []
    for _ in range(400):
        expression = drawn(seed, 3)
        values = {name: seed.randint(*bounds) for name, bounds in _VALUES.items()}
        value = law(expression, values)
        lo, hi = names.interval(expression)
        assert lo is None or lo <= value, (expression, values)
        assert hi is None or value <= hi, (expression, values)
        assert value % (names.divisor(expression) or 1) == 0
        given = ", ".join(str(values[name]) for name in _VALUES)
        lines.append(
            f"put([](int i, int n, int s, int z) {{ return {control_text(expression, names)}; }}({given}));"
        )
        wanted.append(value)
    floor = (
        "int floor_div(int a, int b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }"
        "int floor_mod(int a, int b) { return a - b * floor_div(a, b); }"
    )
    helpers = "\n".join(names.helpers.texts()).replace("static __device__ __forceinline__ ", "static ")
    put = 'static void put(int x) { printf("%d\\n", x); }'
    source = f"#include <cstdio>\n#include <cstdint>\nnamespace soundline {{ {floor} }}\n{helpers}\n{put}\n"
    path = tmp_path / "control.cpp"
    path.write_text(source + "int main() {\n" + "\n".join(lines) + "\n}\n")
    assert COMPILER is not None
    subprocess.run([COMPILER, "-std=c++17", "-w", str(path), "-o", str(tmp_path / "control")], check=True)
    out = subprocess.run([str(tmp_path / "control")], check=True, capture_output=True, text=True).stdout
    assert [int(line) for line in out.split()] == wanted


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0, None), "k / 3"),
        ((None, None), "soundline::floor_div(k, 3)"),
        ((-1, None), "soundline::floor_div(k, 3)"),
    ],
)
def test_division_is_that_of_cxx_where_the_dividend_is_not_negative(bounds: Any, text: str) -> None:
    assert control_text(Binary(Op.Idiv, Name("k"), Const(3)), Names().with_control("k", bounds)) == text


def test_division_by_what_may_be_zero_is_no_operator() -> None:
    names = Names().with_control("k", (0, None)).with_control("n", (0, None)).with_control("m", (1, None))
    assert control_text(Binary(Op.Mod, Name("k"), Name("n")), names) == "soundline::floor_mod(k, n)"
    assert control_text(Binary(Op.Mod, Name("k"), Name("m")), names) == "k % m"


def test_a_condition_tells_what_its_block_knows() -> None:
    names = Names().with_control("k", (0, None))
    ring = Binary(Op.Mod, Binary(Op.Sub, Name("k"), Const(1)), Const(3))
    condition = Binary(Op.CmpGe, Name("k"), Const(1))
    assert control_text(ring, names) == "soundline::floor_mod(k - 1, 3)"
    assert control_text(ring, names.assuming(condition)) == "(k - 1) % 3"
    assert names.assuming(condition, False).interval(Name("k")) == (0, 0)
    both = Binary(Op.And, condition, Binary(Op.CmpLt, Name("k"), Const(9)))
    assert names.assuming(both).interval(Name("k")) == (1, 8)
    assert names.assuming(Unary(Op.Not, condition)).interval(Name("k")) == (0, 0)


# Threads ----------------------------------------------------------------------------------------------------------


def tilings() -> list[Tiling]:
    """Bodies of loops over threads and of choices of warps."""
    cta, cluster = top_level(256), top_level(64, 4)
    warps = choose_warps(cta, 2, 7)
    return [
        tile(tile(cta, "m", 7, 32 * cuda_thread), "n", 10, 3 * cuda_thread),
        tile(tile(warps, "w", 3, cuda_warp), "t", 32, cuda_thread),
        choose_warps(tile(cta, "g", 2, 4 * cuda_warp), 1, 3),
        tile(tile(cluster, "cta", 4, cuda_cta_in_cluster), "t", 20, 2 * cuda_thread),
    ]


@pytest.mark.parametrize("tiling", tilings(), ids=lambda t: str(t.box))
def test_iterators_and_guards_are_those_of_every_thread_of_the_law(tiling: Tiling) -> None:
    def computed(text: str, thread: int) -> int:
        rank, at = divmod(thread, tiling.block_dim)
        text = text.replace("threadIdx.x", str(at)).replace("blockIdx.x", str(rank)).replace("/", "//")
        return int(eval(text.replace("&&", "and").replace("true", "True")))

    for thread in range(tiling.block_dim * tiling.cluster_dim):
        runs = all(computed(guard_text(guard, tiling), thread) for guard in tiling.guards)
        wanted = iteration(tiling, thread)
        assert runs is (wanted is not None)
        if wanted is not None:
            found = [computed(coordinate_text(i.value, tiling), thread) for i in tiling.iterators]
            assert tuple(found) == wanted


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


def test_mbarriers_lie_before_the_arrays() -> None:
    (found,) = device_functions(EXAMPLES["gemm_sm80_ring_gemm"], 80)
    assert min(offsets(found).values()) == 128


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


# Tasks, warps and loops -------------------------------------------------------------------------------------------


def test_tasks_are_decoded_outermost_first_and_go_by_clusters() -> None:
    code = code_of(EXAMPLES["gemm_sm90_multicast_gemm"])
    assert "return int64_t(M >> 7) * int64_t(N >> 3);" in code
    assert "task_number = blockIdx.x / 2, task_count = tasks(args)" in code
    assert "task_number += gridDim.x / 2" in code
    assert "const int m = int(task_number / (N >> 3));" in code
    assert "const int n = int(task_number % (N >> 3));" in code


def test_tasks_that_begin_elsewhere_and_may_be_none() -> None:
    proc = parsed(
        """
@proc
def program(a: index, b: index, n: size, x: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(a, b):
            for j in cuda_tasks(1, n):
                for t in cuda_threads(0, 1, unit=cuda_thread):
                    x[i + j] = 0.0
"""
    )
    code = code_of(proc)
    assert "return int64_t((b - a > 0 ? b - a : 0)) * int64_t((n - 1 > 0 ? n - 1 : 0));" in code
    assert "const int i = a + int(task_number / (n - 1 > 0 ? n - 1 : 0));" in code
    assert "const int j = 1 + int(task_number % (n - 1 > 0 ? n - 1 : 0));" in code


def test_named_warps_take_their_registers_and_their_ways() -> None:
    code = code_of(figure("my_warp_config"))
    ways = re.findall(r"^((?:else )?(?:if \(.*\) )?\{)\n(ptx::setmaxnreg\w+<\d+>\(\);)", code, re.MULTILINE)
    assert [way for way, _ in ways] == ["if (threadIdx.x < 32) {", "else if (threadIdx.x < 128) {", "else {"]
    assert [registers for _, registers in ways] == [
        "ptx::setmaxnreg_dec_sync_aligned_u32<40>();",
        "ptx::setmaxnreg_dec_sync_aligned_u32<40>();",
        "ptx::setmaxnreg_inc_sync_aligned_u32<232>();",
    ]


def test_loops_over_registers_are_unrolled_and_no_others() -> None:
    body = """
v: f32[64, 100] @ CudaRmem
w: f32[64] @ CudaRmem
for t in cuda_threads(0, 64, unit=cuda_thread):
    for i in seq(0, 100):
        v[t, i] = 0.0
    for i in seq(0, 100):
        v[t, 3] += 1.0
    for i in seq(0, 8):
        w[t] = x[i]
"""
    lines = code_of(on_device(body)).splitlines()
    loops = [
        lines[k - 1] == "#pragma unroll" for k, line in enumerate(lines) if line.startswith("for (int i")
    ]
    assert loops == [True, False, False]


def test_device_functions_of_a_called_proc_have_its_names_and_the_path_of_the_call() -> None:
    inner = parsed(
        """
@proc
def fill(n: size, y: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(0, n):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                y[i] = 0.0
"""
    )
    outer = parsed(
        """
@proc
def both(m: size, x: f32[m] @ CudaGmemLinear):
    fill(m, x)
    for r in seq(0, 2):
        fill(m, x)
""",
        fill=inner,
    )
    found = device_functions(outer, 80)
    assert [(f.kernel.name, f.path) for f in found] == [("both_device0", (0, 0)), ("both_device1", (1, 0, 0))]
    assert [a.spork for a in found[0].arguments] == ["n", "y"]


# Refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemm_sm90_ring_gemm", "gemm_sm90_multicast_gemm", "tma_round_trip_double"])
def test_what_an_architecture_lacks_is_refused(name: str) -> None:
    proc = EXAMPLES[name]
    assert least_arch(proc) == 90
    with pytest.raises(CompileError, match=r"what sm_80 has; got: (TMA|clusters|setmaxnreg).*architectures"):
        device_functions(proc, 80)


def test_more_shared_memory_than_there_is_is_refused() -> None:
    body = """
s: f32[60000] @ CudaSmemLinear
for t in cuda_threads(0, 1, unit=cuda_thread):
    s[0] = 0.0
Fence(cuda_in_order, cuda_in_order)
"""
    for arch, most in ((80, 163), (90, 227)):
        with pytest.raises(CompileError, match=f"at most {most * 1024} bytes.*got: 240000 bytes"):
            device_functions(on_device(body), arch)
    smaller = body.replace("60000", "20000")
    assert device_functions(on_device(smaller), 80)[0].kernel.shared_bytes == 80000
    with pytest.raises(CompileError, match="where 3 CTAs share a multiprocessor"):
        device_functions(on_device(smaller, head="blockDim=64, blocks_per_sm=3"), 90)


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


def test_an_instruction_without_a_text_is_refused() -> None:
    library = type(LIBRARY)({}, LIBRARY.bytes_of, LIBRARY.register_storage, LIBRARY.synchronization)
    with pytest.raises(
        CompileError, match=r"gemv.py:\d+: expected an instruction with a text.*got: cuda_warp_sum_f32"
    ):
        device_functions(EXAMPLES["gemv_by_shuffles"], 80, library=library)


def test_contraction_is_asked_for() -> None:
    body = "for t in cuda_threads(0, 1, unit=cuda_thread):\n    x[0] = fma(x[1], x[2], x[3])"
    assert "x[0] = x[1] * x[2] + x[3];" in code_of(on_device(body))
    assert "x[0] = soundline::fma(x[1], x[2], x[3]);" in code_of(on_device(body), contract=True)


def test_kernels_tell_what_a_launch_needs() -> None:
    (found,) = device_functions(EXAMPLES["gemm_sm90_multicast_gemm"], 90)
    kernel = found.kernel
    assert (kernel.name, kernel.args, kernel.block_dim, kernel.cluster_dim, kernel.blocks_per_sm) == (
        "gemm_device0",
        "gemm_device0_Args",
        256,
        2,
        1,
    )
    assert 'extern "C" __global__ void __launch_bounds__(256, 1) gemm_device0(' in found.entry.text
