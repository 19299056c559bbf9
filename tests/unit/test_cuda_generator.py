"""The text of device functions: golden files of the guide's figures, statements, tasks, warps, and refusals."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest

from soundline.impl.codegen.cuda.programs.device import device_functions, least_arch
from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.codegen.cuda.programs.standard import LIBRARY
from soundline.impl.codegen.cuda.writing import Writer
from soundline.impl.runtime.emulator.emulation import Order, emulated
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.types import Control
from soundline.spec.spork.static.windows import constants

from .cuda_figures import FIGURES, GOLDEN, code_of, examples, figure, on_device, parsed, programs, text_of

PROGRAMS = programs()
EXAMPLES = dict(examples())


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


def test_a_launch_counts_tasks_with_functions_that_the_cpu_has() -> None:
    proc = parsed(
        """
@proc
def program(a: index, n: size, x: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(0, max(a, n)):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                x[max(i, 3)] = 0.0
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(0, n):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                x[i] = 0.0
"""
    )
    first, second = device_functions(proc, 80)
    assert first.header.text.count("static __host__ __device__ __forceinline__ int32_t max_i32") == 1
    assert "max_i32" not in second.header.text


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
    between = on_device(body.replace("60000", str(200 * 256)))
    assert device_functions(between, 90)[0].kernel.shared_bytes == 200 * 1024
    with pytest.raises(CompileError, match=f"at most {163 * 1024} bytes"):
        device_functions(between, 80)
    # A CTA takes a KiB of the multiprocessor's 228 for itself.
    for kib, fits in ((113, True), (114, False)):
        half = on_device(body.replace("60000", str(kib * 256)), head="blockDim=64, blocks_per_sm=2")
        if fits:
            assert device_functions(half, 90)
            continue
        with pytest.raises(CompileError, match=f"at most {113 * 1024} bytes.*where 2 CTAs"):
            device_functions(half, 90)
    smaller = body.replace("60000", "20000")
    assert device_functions(on_device(smaller), 80)[0].kernel.shared_bytes == 80000
    with pytest.raises(CompileError, match="where 3 CTAs share a multiprocessor"):
        device_functions(on_device(smaller, head="blockDim=64, blocks_per_sm=3"), 90)


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
    assert (
        'extern "C" __global__ void __launch_bounds__(256, 1) SOUNDLINE_CLUSTER(2) gemm_device0('
        in found.entry.text
    )


# Values -----------------------------------------------------------------------------------------------------------


_ORDERS: tuple[tuple[int, Order], ...] = ((0, "latest"), (2, "random"))


@pytest.mark.skipif(shutil.which("g++") is None and shutil.which("clang++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_compute_what_they_compute_sequentially(name: str) -> None:
    proc = figure(name)
    seed = np.random.default_rng(5)
    sizes = {"n": 256}
    given: dict[str, Any] = {}
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            given[argument.name] = sizes[argument.name]
        else:
            shape = [256 if n is None else n for n in constants(argument.type.sizes)]
            given[argument.name] = seed.integers(-4, 5, shape).astype(np.float32)
    wanted = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    proc.run(**wanted)
    source = generate(proc)
    for seed_of_order, order in _ORDERS:
        found = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
        emulated(source, seed=seed_of_order, order=order).run(source.function, *found.values())
        for key, value in wanted.items():
            assert np.array_equal(found[key], value), key
