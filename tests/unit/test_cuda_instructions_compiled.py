"""The text of every instruction of the library as PTX: it is the instructions that the law names, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from math import prod

import pytest

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.table import text_of
from soundline.impl.codegen.cuda.memories import has_sum_flag, register_storage
from soundline.impl.codegen.cuda.operands import CallSite, Place
from soundline.impl.codegen.cuda.source import header_text
from soundline.impl.runtime.cuda_compiler.nvrtc import Nvrtc, nvrtc
from soundline.spec.errors import ToolchainError
from soundline.spec.spork.library.ptx import PTX, PtxInstruction, instructions_of
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import CHAPTERS

from .cuda_sites import sites
from .ptx_calls import Entry, entries

HEADERS = {name: header_text(name) for name in ("soundline_device.cuh", "soundline_ptx.cuh")}
ARGS = "struct Args { soundline::tensor_map dst_map, src_map; };"
OWN = ("elect.sync", "cvta.", "cvt.")
"""What any instruction may need beside its own: an elected lane, addresses, and rounding to 16 bits."""


def compiler() -> Nvrtc:
    try:
        return nvrtc()
    except ToolchainError as missing:
        pytest.skip(f"NVRTC is needed to make PTX: {missing}")


def device_instructions(chapter: str) -> list[Instruction]:
    return [i for i in CHAPTERS[chapter] if i.unit is not None]


def whole(given: CallSite) -> CallSite:
    """The call with the first of several tiles, where it was made for one: they follow each other."""
    places = dict(given.places)
    for name, place in given.places.items():
        if isinstance(place, Place) and place.memory.tiles and len(place.sizes) > 2:
            places[name] = replace(place, storage=f"{place.storage}[0]", strides=("1", *place.strides[1:]))
    return replace(given, places=places)


def kernel(name: str, call: CallSite) -> str:
    """A kernel that does nothing but the call: registers come from memory and go back there."""
    given = whole(call)
    parameters, before, after = ["const __grid_constant__ Args args", "char *out", "uint64_t *bar"], [], []
    for place in (p for p in given.places.values() if isinstance(p, Place)):
        if place.memory.window:
            parameters += [f"int {at}" for at in place.coordinates]
        elif place.memory.space == "registers":
            name_of = held(place)
            before += registers(place, name_of, len(before))
            after.append(f"memcpy(out + {4096 * len(after)}, &{name_of}, sizeof {name_of});")
        else:
            parameters.append(f"{CUDA.type_of(place.dtype)} *{place.address}")
        if place.ctas in " ".join(text_of(given)):
            parameters.append(f"uint16_t {place.ctas}")
    body = "\n    ".join([*before, *text_of(given), *after])
    return f'extern "C" __global__ void {name}({", ".join(parameters)}) {{\n    {body}\n}}\n'


def held(place: Place) -> str:
    """The variable that is or has the registers: arrays are named by their address, all others by their storage."""
    return place.storage.removesuffix("[0]") if place.memory.tiles or not place.sizes else place.address


def registers(place: Place, name: str, number: int) -> Iterator[str]:
    """The declaration of registers, with what lies in memory."""
    sizes = [int(s) for s in place.sizes]
    if place.memory.tiles:
        made = register_storage(place.memory, place.dtype, sizes)
        outer = "".join(f"[{n}]" for n in sizes[: len(sizes) - 2])
        yield f"{made.type} {name}{outer}[{made.words}];"
    else:
        yield f"{CUDA.type_of(place.dtype)} {name}{f'[{prod(sizes)}]' if sizes else ''};"
    yield f"memcpy(&{name}, out + {65536 + 4096 * number}, sizeof {name});"
    if has_sum_flag(place.memory):
        yield f"int {place.accumulates} = int(out[{131072}]);"


def opcodes(instruction: Instruction) -> list[str]:
    return re.split(r"[,;] ", instruction.ptx.replace(" for 16 bytes", ""))


def own(instruction: Instruction) -> set[PtxInstruction]:
    """The instructions of PTX that the law names."""
    return set(chain.from_iterable(instructions_of(text) for text in opcodes(instruction)))


def used(entry: Entry, named: set[PtxInstruction]) -> set[PtxInstruction]:
    """The instructions of PTX in a kernel, without those that any instruction may need, where it does not name them."""
    spared = {i for i in PTX if i.opcode.startswith(OWN) or i.opcode == "mov.u32"} - named
    return {i for line in entry.lines for i in PTX if i.is_of(line.opcode)} - spared


def compiled(calls: list[CallSite]) -> dict[str, Entry]:
    kernels = "".join(kernel(f"k{k}", call) for k, call in enumerate(calls))
    text = f'#include "soundline_device.cuh"\n{ARGS}\n{kernels}'
    output = compiler().compile("calls.cu", text, HEADERS, ("-arch=sm_90a", "-std=c++17", "--fmad=false"))
    assert output.succeeded, output.log[:3000]
    return entries(output.ptx)


def check(calls: list[CallSite]) -> None:
    made = compiled(calls)
    wrong = []
    for k, call in enumerate(calls):
        named = own(call.instruction)
        found = used(made[f"k{k}"], named)
        if not found <= named or (named and not found):
            wrong.append(f"{call.instruction.name} {dict(call.sizes)}: {found} where the law has {named}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_text_of_each_instruction_is_that_of_the_law(chapter: str) -> None:
    check([call for i in device_instructions(chapter) for call in list(sites(i))[:1]])


@pytest.mark.thorough
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_so_it_is_with_all_memories_and_sizes(chapter: str) -> None:
    for instruction in device_instructions(chapter):
        check(list(sites(instruction)))


def test_a_text_with_another_instruction_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    call = next(sites(next(i for i in CHAPTERS["TMA"] if i.name == "Sm90_copy_tensor_to_gmem_1d_f32")))
    wrong = "ptx::cp_reduce_async_bulk_tensor_1d_global_shared_cta_add(&args.dst_map, dst_0, src_at);"
    check([call])
    monkeypatch.setitem(globals(), "text_of", lambda _: (wrong,))
    with pytest.raises(AssertionError, match="where the law has"):
        check([call])
