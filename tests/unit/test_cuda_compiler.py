"""NVRTC and nvcc on generated sources: what comes out, what they refuse, and what is said of it."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import _cffi_backend
import pytest

from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime import cache as compile_cache
from soundline.impl.runtime.cuda_compiler import nvcc, nvrtc
from soundline.impl.runtime.cuda_compiler.compilation import compiled, kernel_compiler
from soundline.impl.runtime.cuda_compiler.messages import Usage, line_of_ptx, messages, usages
from soundline.spec.errors import CompileError, GeneratedCodeError, ToolchainError
from soundline.spec.spork.language.programs import Proc

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "spork"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def needed() -> nvrtc.Nvrtc:
    try:
        return nvrtc.nvrtc()
    except ToolchainError as missing:
        pytest.skip(f"NVRTC is needed to compile: {missing}")


@cache
def programs(name: str) -> dict[str, Proc]:
    """The procs of an example."""
    spec = importlib.util.spec_from_file_location(f"spork_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {n: getattr(v, "definition", v) for n, v in vars(module).items()}
    return {n: v for n, v in found.items() if isinstance(v, Proc)}


@cache
def sources() -> dict[str, CudaSource]:
    """Every example that has kernels."""
    made = {
        f"{path.stem}:{name}": generate(proc)
        for path in sorted(EXAMPLES.glob("*.py"))
        for name, proc in programs(path.stem).items()
    }
    return {name: source for name, source in made.items() if source.kernels}


def adding() -> CudaSource:
    return sources()["vector_add:vector_add"]


def changed(source: CudaSource, old: str, new: str) -> tuple[CudaSource, int]:
    """The source with a text of its device part replaced, once, and the line of that."""
    file = f"{source.name}.cuh"
    text = source.files[file]
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    return replace(source, files={**source.files, file: text.replace(old, new, 1)}), line


STATEMENT = re.compile(r"x\[[^\n]*\] \+= [^\n]*;")


def spoiled(text: str) -> tuple[CudaSource, int]:
    """The addition of vectors with a text before its assignment."""
    source = adding()
    found = STATEMENT.search(str(source))
    assert found is not None, str(source)
    return changed(source, found[0], f"{text} {found[0]}")


# What comes out ----------------------------------------------------------------------------------------------------


def test_every_example_is_compiled_for_its_architecture_without_spills() -> None:
    needed()
    assert len(sources()) >= 13
    for name, source in sources().items():
        made = compiled(source)
        assert made.cubin[:4] == b"\x7fELF", name
        assert f".target {source.arch}" in made.ptx
        assert set(made.kernels) == {kernel.name for kernel in source.kernels}
        assert made.spills == {}, name
        assert all(0 < use.registers <= 255 for use in made.kernels.values())
        assert [str(w) for w in made.warnings] == [], name


def test_output_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needed()
    first = compiled(adding())
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "another"))
    assert compiled(adding()) == first


KERNEL = 'extern "C" __global__ void {bounds} k(float *a, int n) {{ {body} }}\n'


def small(body: str, *, arch: str = "sm_90a", bounds: str = "", head: str = "") -> CudaSource:
    """A source with one kernel that is no program's."""
    file = "vector_add.cu"
    text = f'#include "soundline_device.cuh"\n{head}{KERNEL.format(bounds=bounds, body=body)}'
    files = {**adding().files, file: text}
    return replace(adding(), arch=arch, files=files, origins={**adding().origins, file: ()})


def test_a_product_is_not_merged_with_a_sum() -> None:
    needed()
    made = compiled(small("a[0] = a[1] * a[2] + a[3];"))
    assert "mul" in made.ptx
    assert "fma" not in made.ptx


def test_a_spill_is_told() -> None:
    needed()
    body = "float x[96]; for (int i = 0; i < 96; ++i) x[i] = a[i * n]; __syncthreads();"
    body += " for (int i = 0; i < 96; ++i) a[i] = x[i] * x[95 - i];"
    made = compiled(small(body, bounds="__launch_bounds__(1024, 2)"))
    assert made.spills["k"].spill_stores > 0
    assert made.spills["k"].spill_loads > 0
    assert made.kernels["k"].registers <= 32


def test_static_shared_memory_is_told() -> None:
    needed()
    body = "__shared__ float s[96]; s[threadIdx.x] = a[n]; __syncthreads(); a[0] = s[n];"
    use = compiled(small(body)).kernels["k"]
    assert (use.shared, use.barriers) == (384, 1)


WAITING = """
float d[4] = {}; uint64_t x = n;
for (int i = 0; i < n; ++i) {
    ptx::wgmma_fence_sync_aligned();
    ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<8>(d, x, x, i > 0);
    ptx::wgmma_commit_group_sync_aligned();
    WAIT
}
for (int i = 0; i < 4; ++i) a[threadIdx.x * 4 + i] = d[i];
"""


def test_products_that_are_serialized_are_told() -> None:
    needed()
    wait = "ptx::wgmma_wait_group_sync_aligned<0>(); ptx::fence_registers(d);"
    quiet = compiled(small(WAITING.replace("WAIT", wait), bounds="__launch_bounds__(128)"))
    assert quiet.warnings == ()
    loud = compiled(small(WAITING.replace("WAIT", "d[0] += a[i];"), bounds="__launch_bounds__(128)"))
    assert any("serialized" in w.text and w.kernel == "k" and w.severity == "warning" for w in loud.warnings)


def test_an_ignored_setmaxnreg_is_told() -> None:
    needed()
    body = "ptx::setmaxnreg_dec_sync_aligned_u32<40>(); a[n] = 1;"
    assert any("setmaxnreg" in w.text for w in compiled(small(body)).warnings)
    assert compiled(small(body, bounds="__launch_bounds__(128, 1)")).warnings == ()


# What is refused ---------------------------------------------------------------------------------------------------


def origin_of(source: CudaSource, line: int) -> tuple[str, int]:
    node = source.origin(f"{source.name}.cuh", line)
    assert node is not None
    assert node.position is not None
    return node.position.file, node.position.line


def refused(source: CudaSource, line: int, text: str) -> GeneratedCodeError:
    with pytest.raises(GeneratedCodeError) as caught:
        compiled(source)
    error = caught.value
    assert isinstance(error, CompileError)
    assert (error.file, error.line) == (f"{source.name}.cuh", line)
    assert text in error.text
    assert (error.statement_file, error.statement_line) == origin_of(source, line)
    assert error.statement in (EXAMPLES / "vector_add.py").read_text(encoding="utf-8")
    assert error.statement
    assert f"from {error.statement_file}:{error.statement_line}: {error.statement}" in str(error)
    return error


def test_a_name_that_is_not_there_leads_to_the_statement() -> None:
    needed()
    error = refused(*spoiled("missing(1);"), "missing(1);")
    assert "missing" in error.message


def test_a_line_is_told_from_the_one_before_it() -> None:
    needed()
    source, line = changed(adding(), "// x[", "missing(1); // x[")
    assert origin_of(source, line) != origin_of(source, line - 1)
    refused(source, line, "missing(1);")


def test_what_the_assembler_refuses_leads_to_the_statement() -> None:
    needed()
    error = refused(*spoiled('asm volatile("foo.bar;");'), "foo.bar")
    assert "foo" in error.log


def test_an_error_inside_of_a_header_leads_to_its_use() -> None:
    needed()
    text = "{ float d[6]; ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<12>(d, 1, 1, 1); }"
    source, line = spoiled(text)
    error = refused(replace(source, arch="sm_90a"), line, "<12>")
    assert "multiple of 8" in error.message


def test_an_instruction_that_the_architecture_lacks_is_refused_with_its_statement() -> None:
    needed()
    assert adding().arch == "sm_80"
    assert "fence_proxy_async" in refused(*spoiled("ptx::fence_proxy_async();"), "fence_proxy_async").message


def test_a_header_that_is_not_given_is_named() -> None:
    needed()
    source, _ = changed(adding(), "#include", "#include <nothing.h>\n#include")
    with pytest.raises(GeneratedCodeError, match="nothing"):
        compiled(source)


def test_nothing_of_a_refused_source_is_kept(own_cache: Path) -> None:
    needed()
    with pytest.raises(GeneratedCodeError):
        compiled(spoiled("missing(1);")[0])
    assert not list(own_cache.glob("*.result"))


# The cache ---------------------------------------------------------------------------------------------------------


class Never(nvrtc.Nvrtc):
    """A compiler that must not be asked."""

    def __init__(self, version: str) -> None:
        self.version = version

    def compile(self, *_: Any, **__: Any) -> nvrtc.Output:
        raise AssertionError("compiled again")


def test_a_source_is_compiled_once(own_cache: Path) -> None:
    used = needed()
    first = compiled(adding())
    assert len(list(own_cache.glob("*.result"))) == 1
    assert compiled(adding(), compiler=Never(used.version)) == first
    assert compile_cache.clear() == 2


@pytest.mark.parametrize("what", ["text", "options", "version", "arch", "header"])
def test_what_decides_the_output_is_part_of_the_key(what: str) -> None:
    used = needed()
    compiled(adding())
    source = {
        "text": changed(adding(), "#include", "// changed\n#include")[0],
        "arch": replace(adding(), arch="sm_90a"),
        "header": replace(adding(), files={**adding().files, "soundline_ptx.cuh": "// another"}),
    }.get(what, adding())
    options = ("--fmad=true",) if what == "options" else ()
    with pytest.raises(AssertionError, match="compiled again"):
        compiled(source, options, Never("0.0" if what == "version" else used.version))


def test_a_damaged_entry_is_made_again(own_cache: Path) -> None:
    needed()
    first = compiled(adding())
    entry = next(own_cache.glob("*.result"))
    entry.write_bytes(entry.read_bytes()[:-5])
    assert compiled(adding()) == first
    assert compile_cache.result_of(entry.stem, lambda: b"") != b""


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "file" / "cache"))
    assert compiled(adding()).cubin


# Finding the compiler ----------------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which nothing is installed."""
    for variable in (nvrtc.VARIABLE, *nvrtc.TOOLKITS):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(nvrtc, "TOOLKIT", tmp_path / "toolkit")
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvcc, "TOOLKIT", tmp_path / "toolkit")
    return tmp_path


def test_without_a_compiler_it_is_said_what_to_install(bare: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        compiled(adding())
    assert caught.value.where == "CUDA compiler"
    assert "pip install" in (caught.value.hint or "")
    assert nvrtc.VARIABLE in (caught.value.hint or "")


def test_wheels_come_before_toolkits_and_those_of_cuda_12_first(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(bare / "home"))
    monkeypatch.setattr("ctypes.util.find_library", lambda name: f"lib{name}.so.11")
    places = ("nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib", "home/lib64", "toolkit/lib64")
    for place in reversed(places):
        (bare / place).mkdir(parents=True)
        (bare / place / "libnvrtc.so.1").write_text("")
        (bare / place / "libnvrtc-builtins.so.1").write_text("")
    assert list(nvrtc.candidates()) == [*(f"{bare}/{p}/libnvrtc.so.1" for p in places), "libnvrtc.so.11"]


def test_the_variable_names_the_file(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(nvrtc.VARIABLE, str(bare / "nothing.so"))
    with pytest.raises(ToolchainError, match="which is no file"):
        nvrtc.nvrtc()
    (bare / "text.so").write_text("no library")
    monkeypatch.setenv(nvrtc.VARIABLE, str(bare / "text.so"))
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        nvrtc.nvrtc()


def test_a_library_that_is_another_is_refused(bare: Path) -> None:
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        nvrtc.Nvrtc(str(_cffi_backend.__file__))


def test_an_option_that_the_compiler_does_not_know_is_told() -> None:
    needed()
    with pytest.raises(ToolchainError, match="no-such-option"):
        compiled(adding(), ("--no-such-option",))


# nvcc --------------------------------------------------------------------------------------------------------------


def nvcc_needed() -> None:
    if nvcc.find_nvcc() is None:
        pytest.skip("nvcc is needed to compile code that launches kernels")


def test_kernels_and_launch_code_become_an_object(tmp_path: Path) -> None:
    nvcc_needed()
    source = sources()["gemm_sm90_multicast:gemm"]
    said = nvcc.object_of(source, tmp_path / "gemm.o")
    made = (tmp_path / "gemm.o").read_bytes()
    assert made[:4] == b"\x7fELF"
    for kernel in source.kernels:
        assert f"{kernel.name}_launch".encode() in made
        assert usages(said)[kernel.name].spill_stores == 0


def test_what_nvcc_refuses_leads_to_the_statement(tmp_path: Path) -> None:
    nvcc_needed()
    source, line = spoiled("missing(1);")
    with pytest.raises(GeneratedCodeError) as caught:
        nvcc.object_of(source, tmp_path / "a.o")
    assert (caught.value.file, caught.value.line) == ("vector_add.cuh", line)
    assert (caught.value.statement_file, caught.value.statement_line) == origin_of(source, line)


def test_nvcc_that_is_missing_or_fails_is_an_error_of_the_toolchain(
    bare: Path,
) -> None:
    assert nvcc.find_nvcc() is None
    with pytest.raises(ToolchainError, match="not found") as caught:
        nvcc.object_of(adding(), bare / "a.o")
    assert "toolkit" in (caught.value.hint or "")
    command = bare / "nvcc"
    command.write_text("#!/bin/sh\necho 'nvcc fatal   : Unsupported gpu architecture' >&2\nexit 1\n")
    command.chmod(0o755)
    with pytest.raises(ToolchainError, match="Unsupported gpu") as caught:
        nvcc.object_of(adding(), bare / "a.o")
    assert caught.value.command[0] == str(command)


def test_nvcc_stands_in_for_nvrtc(monkeypatch: pytest.MonkeyPatch, bare: Path) -> None:
    assert nvcc.find_nvcc() is None
    monkeypatch.undo()
    nvcc_needed()
    monkeypatch.setattr(nvrtc, "candidates", lambda: iter(()))
    monkeypatch.delenv(nvrtc.VARIABLE, raising=False)
    monkeypatch.setenv(compile_cache.VARIABLE, str(bare / "cache"))
    used = kernel_compiler()
    assert used.version.startswith("nvcc")
    made = compiled(adding())
    assert made.cubin[:4] == b"\x7fELF"
    assert f".target {adding().arch}" in made.ptx
    assert set(made.kernels) == {"vector_add_device0"}
    refused(*spoiled('asm volatile("foo.bar;");'), "foo.bar")


# Logs as compilers write them --------------------------------------------------------------------------------------

LOG = """\
gemm.cuh(3): warning #550-D: variable "x" was set but never used
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'two'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'one' for 'sm_90a'
ptxas info    : Function properties for one
ptxas         .     48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers, used 3 barriers, 48 bytes cumulative stack size, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 1.503 ms
ptxas warning : Stack size is not known
ptxas info    : Compiling entry function 'two' for 'sm_90a'
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
"""


def test_a_log_is_read() -> None:
    assert usages(LOG) == {"one": Usage(255, 40, 44, 48, 1024, 3), "two": Usage(24)}
    said = messages(LOG, sources()["split_k_workspace:split_k"])
    assert [(m.severity, m.file, m.line, m.kernel) for m in said] == [
        ("warning", "gemm.cuh", 3, ""),
        ("warning", "", 0, ""),
        ("warning", "", 0, "two"),
        ("warning", "", 0, "one"),
    ]


def test_a_line_of_ptx_is_led_to_the_innermost_line_of_the_program() -> None:
    ptx = (
        '.file 1 "/tmp/x/soundline_ptx.cuh"\n.file 2 "/tmp/x/gemm.cuh"\n'
        "    .loc 2 7 5\n    add;\n    .loc 1 30 2, function_name $L1, inlined_at 2 9 4\n    mul;\n"
        "    .loc 1 99 1\n    sub;\n"
    )
    assert [line_of_ptx(ptx, n, ["gemm.cuh"]) for n in (2, 4, 6, 8)] == [
        ("", 0),
        ("gemm.cuh", 7),
        ("gemm.cuh", 9),
        ("gemm.cuh", 9),
    ]
