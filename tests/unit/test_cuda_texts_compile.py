"""The CUDA of every instruction is C++ that NVRTC takes with the headers of a program: each name and each type fits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.table import text_of
from soundline.impl.codegen.cuda.memories import has_sum_flag, register_storage
from soundline.impl.codegen.cuda.operands import CallSite, Place
from soundline.impl.codegen.cuda.source import header_text
from soundline.impl.runtime.cuda_compiler.nvrtc import Output, nvrtc
from soundline.spec.errors import ToolchainError
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import STANDARD

from .cuda_sites import sites

FAMILIES = sorted({type(i) for i in STANDARD.values() if i.unit is not None}, key=lambda f: f.__name__)
HEADERS = {name: header_text(name) for name in ("soundline_device.cuh", "soundline_ptx.cuh")}
MOST = 120
"""Texts of a family; of more a part is compiled."""


def declared(at: Place, *, written: bool) -> Iterator[str]:
    """The variables that a place names; what is only read is constant where it has an address."""
    own = CUDA.type_of(at.dtype)
    sizes = tuple(c for c in at.constants if c is not None)
    if at.memory.space != "registers":
        pointer = f"{own} *" if written else f"{own} const *"
        yield f"{pointer}{at.argument}_at = reinterpret_cast<{pointer}>(memory);"
    elif at.memory.tiles:
        kind, words, _ = register_storage(at.memory, at.dtype, sizes)
        yield f"{kind} {at.argument}_all[130][{words}]; auto &{at.argument}_rmem = {at.argument}_all[0];"
    elif sizes:
        yield f"{own} {at.argument}_all[{sizes[0]}]; {own} *{at.argument}_at = {at.argument}_all;"
    else:
        yield f"{own} {at.argument}_rmem;"
    if has_sum_flag(at.memory):
        yield f"int {at.argument}_accumulates = 1;"
    yield from (f"int {c} = 0;" for c in at.coordinates)
    yield f"uint16_t {at.ctas} = 3;"


def program(texts: dict[str, CallSite]) -> str:
    """A kernel that has all texts, each in a block with what it names."""
    blocks = []
    for text, site in texts.items():
        places = [(at, name in site.instruction.written) for name, at in site.places.items()]
        variables = [v for at, w in places if isinstance(at, Place) for v in declared(at, written=w)]
        controls = [f"int {name} = 8;" for name in site.texts if name not in site.sizes]
        blocks.append("\n".join(["{", *variables, *controls, text, "}"]))
    return "\n".join(
        [
            '#include "soundline_device.cuh"',
            "struct Args { soundline::tensor_map src_map, dst_map; };",
            'extern "C" __global__ void all(unsigned char *memory, uint64_t *bar, const __grid_constant__ Args args) {',
            *blocks,
            "}",
        ]
    )


def compiled(text: str, arch: str) -> Output:
    try:
        compiler = nvrtc()
    except ToolchainError as missing:
        pytest.skip(f"NVRTC is needed to compile: {missing}")
    options = (f"-arch={arch}", "-std=c++17", "--fmad=false", "--diag-suppress=177,549")
    return compiler.compile("all.cu", text, HEADERS, options)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_texts_are_taken_by_the_compiler(family: type[Instruction]) -> None:
    found = {"\n".join(text_of(s)): s for i in STANDARD.values() if type(i) is family for s in sites(i)}
    part = dict(list(found.items())[:: len(found) // MOST + 1])
    output = compiled(program(part), "compute_90a")
    assert output.succeeded, output.log[:2000]


def test_a_text_with_a_wrong_type_is_not_taken() -> None:
    site = next(sites(STANDARD["Sm80_mma_tf32"]))
    (text,) = text_of(site)
    assert compiled(program({text: site}), "compute_80").succeeded
    for wrong in (
        text.replace("A_rmem", "B_rmem"),
        text.replace("k8", "k4"),
        text.replace("tf32_tf32", "s32_s32"),
    ):
        if wrong != text:
            assert not compiled(program({wrong: site}), "compute_80").succeeded
