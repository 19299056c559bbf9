"""Every function of the header of PTX against the law: opcode, types, order of operands, architecture."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from unit.ptx_calls import (
    CALLS_80,
    CALLS_90,
    CALLS_90A,
    HEADER,
    Call,
    Entry,
    Line,
    entries,
    goes_to,
    products,
    split,
    what_is,
)

from soundline.impl.runtime.cuda_compiler.nvrtc import Nvrtc, nvrtc
from soundline.impl.toolchain import find_compiler
from soundline.spec.errors import ToolchainError
from soundline.spec.spork.library.ptx import PTX, PtxInstruction, instructions_of
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.synchronization.barriers import BarrierType, arrive_pieces, await_pieces
from soundline.spec.spork.synchronization.fences import Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import sync_tl

ARCHS = {"sm_80": CALLS_80, "sm_90": CALLS_90, "sm_90a": CALLS_90A}
CALLS = (*CALLS_80, *CALLS_90, *CALLS_90A)


def compiler() -> Nvrtc:
    try:
        return nvrtc()
    except ToolchainError as missing:
        pytest.skip(f"NVRTC is needed to make PTX: {missing}")


def header() -> str:
    return files("soundline.impl.codegen").joinpath("cuda", HEADER).read_text(encoding="utf-8")


def program(calls: tuple[Call, ...]) -> str:
    kernels = "\n".join(call.kernel(f"k{i}") for i, call in enumerate(calls))
    return f'#include "{HEADER}"\n{kernels}\n'


def ptx_of(calls: tuple[Call, ...], arch: str, text: str) -> dict[str, Entry]:
    output = compiler().compile("calls.cu", program(calls), {HEADER: text}, (f"-arch={arch}", "-std=c++17"))
    assert output.succeeded, output.log
    return entries(output.ptx)


@cache
def ptx(arch: str) -> dict[str, Entry]:
    return ptx_of(ARCHS[arch], arch.replace("sm", "compute"), header())


# The comparison ----------------------------------------------------------------------------------------------------

RESULTS = {"taken", "there", "bits", "complete", "elected", "rank", "value"}
"""What the law calls a result: it is stored."""
DROPPED = {"_", "state"}


def wanted(call: Call) -> PtxInstruction | None:
    """The instruction of the law whose name the function has; its words may leave out some of the opcode's."""
    own = call.function.replace("cvta_to_shared_u32", "cvta_to_shared_u64").split("_")  # and then of 32 bits
    found = [i for i in PTX if within(own, words(i))]
    return min(found, key=lambda i: len(words(i)), default=None)


def words(law: PtxInstruction) -> list[str]:
    """The words of an opcode, and of a special register that it reads."""
    special = law.operands[0].partition("%")[2]
    text = re.sub(r"m64n\*", "m64", f"{law.opcode} {special}".strip())
    return re.split(r"[.:%_ ]+", text)


def within(own: list[str], others: list[str]) -> bool:
    """Whether words stand among others, in the order; a star among those is any number."""
    rest = iter(others)
    return all(any(re.fullmatch(re.escape(o).replace(r"\*", r"\d+"), w) for o in rest) for w in own)


def fault(call: Call, entry: Entry, law: PtxInstruction | None = None) -> str | None:
    """What is wrong with the PTX of a call; None where it is what the law says."""
    law = law or wanted(call)
    if law is None:
        return "no instruction of the law has this name"
    made = [ln for ln in entry.lines if law.is_of(ln.opcode) and (ln.inline or ln.opcode.startswith("cvta"))]
    if law.opcode.startswith("cvta"):  # the compiler makes others, for what is stored
        made = [ln for ln in made if what_is(entry, call.names, ln.operands[1]) == "address"]
    if len(made) != 1:
        return f"{law.opcode} stands {len(made)} times in {[ln.opcode for ln in entry.lines if ln.inline]}"
    if shape(call, made[0].opcode) is not None:
        return shape(call, made[0].opcode)
    faults = [f for text in law.operands if (f := operand_fault(call, entry, made[0], text)) is not None]
    return faults[-1] if len(faults) == len(law.operands) else None


def shape(call: Call, opcode: str) -> str | None:
    """The number of columns of a product of a warpgroup is that of its template."""
    number = re.search(r"<(\d+)", call.text)
    if "wgmma.mma" in opcode and number is not None and f".m64n{number[1]}k" not in opcode:
        return f"{opcode} for N = {number[1]}"
    return None


def operand_fault(call: Call, entry: Entry, made: Line, text: str) -> str | None:
    law = split(text)
    if len(law) != len(made.operands):
        return f"{made.operands} where the law has {law}"
    for expected, found in zip(law, made.operands, strict=True):
        if (wrong := one_fault(call, entry, expected, found)) is not None:
            return f"{wrong}, in {made.opcode} {', '.join(made.operands)}"
    return None


def one_fault(call: Call, entry: Entry, expected: str, found: str) -> str | None:
    """What is wrong with an operand; brackets and braces are those of the law, and what stands in them as well."""
    for left in "[{":
        if (expected[0] == left) != (found[0] == left):
            return f"{found} where the law has {expected}"
        if expected[0] == left and left == "[":
            inner, own = split(expected[1:-1]), split(found[1:-1])
            if len(inner) != len(own):
                return f"{found} where the law has {expected}"
            return next(
                (
                    w
                    for e, f in zip(inner, own, strict=True)
                    if (w := one_fault(call, entry, e, f)) is not None
                ),
                None,
            )
        if expected[0] == left:
            return group_fault(call, entry, expected[1:-1], split(found[1:-1]))
    return single_fault(call, entry, expected, found)


def group_fault(call: Call, entry: Entry, name: str, found: tuple[str, ...]) -> str | None:
    """Registers that belong together: as many as there are, in order, and results are stored in order as well."""
    count = len([n for n in call.names if re.fullmatch(rf"{name}\d+", n)])
    if name == "r":
        count = int(re.search(r"r\[(\d)\]", call.text)[1])  # type: ignore[index]
    if len(found) != count:
        return f"{len(found)} registers for {{{name}}}, which has {count}"
    for k, register in enumerate(found):
        if name != "r" and what_is(entry, call.names, register) != f"{name}{k}":
            return f"{register} is {what_is(entry, call.names, register)}, not {name}{k}"
        if name in "dr" and goes_to(entry, register) != f"out{k}":
            return f"{register} goes to {goes_to(entry, register)}, not to out{k}"
    return None


def single_fault(call: Call, entry: Entry, expected: str, found: str) -> str | None:
    if expected in DROPPED:
        return None if found == expected else f"{found}, which is no {expected}"
    if expected.startswith("_|") or (expected in RESULTS and expected not in call.names):
        return None if goes_to(entry, found) == "out0" else f"the result {found} is not stored"
    if re.fullmatch(r"0x\w+|\d+|%\w+", expected):
        return None if found == expected else f"{found} where the law has {expected}"
    if expected in ("bytes", "groups", "registers", "trans_b") and expected not in call.names:
        numbers = re.search(r"<(?:\d+, )?(\d+)>", call.text)
        return None if numbers is not None and found == numbers[1] else f"{expected} is {found}"
    own = what_is(entry, call.names, found)
    return None if own == expected else f"{found} is {own}, not {expected}"


@pytest.mark.parametrize("arch", ARCHS)
def test_each_function_is_the_instruction_of_the_law(arch: str) -> None:
    made = ptx(arch)
    faults = {
        call.text: f for i, call in enumerate(ARCHS[arch]) if (f := fault(call, made[f"k{i}"])) is not None
    }
    assert not faults, "\n".join(f"{text}\n  {why}" for text, why in faults.items())


@pytest.mark.thorough
@pytest.mark.parametrize("n", range(8, 257, 8))
def test_products_of_all_widths_are_the_instruction_of_the_law(n: int) -> None:
    calls = tuple(products([n]))
    made = ptx_of(calls, "compute_90a", header())
    assert [f for i, call in enumerate(calls) if (f := fault(call, made[f"k{i}"])) is not None] == []


def test_products_of_all_widths_have_the_registers_of_theirs() -> None:
    calls = tuple(c for n in range(8, 257, 8) for c in products([n]) if "bf16" in c.text and "a[4]" in c.text)
    calls = tuple(c for c in calls if ", 1>" in c.text)  # the form that has all operands
    made = ptx_of(calls, "compute_90a", header())
    assert [f for i, call in enumerate(calls) if (f := fault(call, made[f"k{i}"])) is not None] == []
    assert len(calls) == 32


def test_every_function_is_called_here() -> None:
    declared = set(functions(header()))
    assert declared == {call.function for call in CALLS} | OTHERS
    assert len(declared) > 80


OTHERS = {
    "fence_registers",  # no instruction: it keeps the compiler from moving uses of registers
    "soundline_dynamic_shared",  # the address of the dynamic shared memory
}


def functions(text: str, mark: str = "__device__ __forceinline__") -> dict[str, set[tuple[str, ...]]]:
    """The functions of a header, of which macros make many: for each form the types of its result and parameters."""
    source = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#include"))
    command = (*find_compiler().command, "-E", "-P", "-x", "c", "-D__CUDACC_RTC__", "-")
    made = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    found: dict[str, set[tuple[str, ...]]] = {}
    for head in re.finditer(rf"{mark} ([\w ]+?[ *])(\w+)\(", made):
        depth, end = 1, head.end()
        while depth:
            depth += (made[end] == "(") - (made[end] == ")")
            end += 1
        given = [p.strip() for p in made[head.end() : end - 1].split(",") if p.strip()]
        types = [type_of(p) for p in given if "__builtin_LINE" not in p]
        found.setdefault(head[2], set()).add((head[1].strip(), *types))
    return found


def type_of(parameter: str) -> str:
    """The type of a parameter: what is left without its name and its default."""
    text = re.sub(r"\s+", " ", parameter.partition("=")[0].strip())
    return re.sub(r"\(&\w+\)", "(&)", text) if "(&" in text else re.sub(r"\w+$", "", text).strip()


TWIN_ALONE = {"of_bf16"}
"""What the twin makes its sums with."""


def test_the_twin_of_the_emulator_has_the_same_functions() -> None:
    text = files("soundline.impl.runtime").joinpath("emulator", HEADER).read_text(encoding="utf-8")
    own, twins = functions(header()), functions(text, "inline")
    assert set(twins) - set(own) == TWIN_ALONE
    assert set(own) <= set(twins)
    different = {name for name in own if own[name] != twins[name]}
    # The twin's have a default for the second, and take any type of 16 bits.
    assert different == {
        "barrier_cta_sync",
        *(f"red_{space}_add_{kind}" for space in ("global", "shared") for kind in ("f16", "bf16")),
    }


INLINE = re.compile(r"\basm\s*(volatile\s*)?\(|__asm__")


def test_inline_ptx_stands_in_this_header_alone() -> None:
    folder = Path(str(files("soundline.impl.codegen").joinpath("cuda")))
    texts = {
        p.name: p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.suffix in (".cuh", ".h", ".py")
    }
    assert [name for name, text in texts.items() if INLINE.search(text)] == [HEADER]
    assert header().count("#include") == 1, "NVRTC has no headers"
    assert "#include <stdint.h>" in header()


# Architectures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arch", "lacking"), [("compute_80", CALLS_90), ("compute_90", CALLS_90A)])
def test_what_an_architecture_lacks_is_not_declared_for_it(arch: str, lacking: tuple[Call, ...]) -> None:
    output = compiler().compile(
        "calls.cu", program(lacking), {HEADER: header()}, (f"-arch={arch}", "-std=c++17")
    )
    refused = {
        int(line) - 2 for line in re.findall(r"calls\.cu\((\d+)\): error: .*\bhas no member", output.log)
    }
    assert refused == set(range(len(lacking)))
    assert all(
        instruction.arch == ("sm_90" if arch == "compute_80" else "sm_90a")
        for instruction in map(wanted, lacking)
        if instruction
    )


@pytest.mark.parametrize("arch", ARCHS)
def test_the_assembler_takes_every_instruction(arch: str) -> None:
    calls = ARCHS[arch]
    output = compiler().compile(
        "calls.cu", program(calls), {HEADER: header()}, (f"-arch={arch}", "-std=c++17")
    )
    assert output.succeeded, output.log
    assert output.cubin[:4] == b"\x7fELF"
    assert {i.arch for call in calls if (i := wanted(call)) is not None} == {arch}


# Who uses what -----------------------------------------------------------------------------------------------------

NO_PTX = {
    "cudaMemcpyAsync": "a function of CUDA that the CPU calls",
    "cudaMemcpy2DAsync": "a function of CUDA that the CPU calls",
    "ld": "a load of C++",
    "st": "a store of C++",
    "st.v2.f32": "two stores of C++, which the compiler makes one of",
    "mov.f32": "an assignment of C++",
    "add.rn.f32": "an addition of C++",
    "sub.rn.f32": "a subtraction of C++",
    "mul.rn.f32": "a multiplication of C++",
    "rcp.rn.f32": "a division of C++",
    "the operand scale-d of wgmma.mma_async": "an operand of another instruction",
}
"""What instructions of the library become that is no function of the header, and why."""

FRAME = {
    "cvta.to.shared.u64": "addresses of shared memory are made of pointers",
    "cvta.to.global.u64": "addresses of global memory are made of pointers",
    "cvt.rn.f16.f32": "arithmetic in f16 is arithmetic in f32 that is rounded",
    "cvt.f32.f16": "arithmetic in f16 is arithmetic in f32 that is rounded",
    "cvt.rn.bf16.f32": "arithmetic in bf16 is arithmetic in f32 that is rounded",
    "mbarrier.init.shared.b64": "barriers are made ready before the first task",
    "mbarrier.inval.shared.b64": "barriers end after the last task",
    "mbarrier.test_wait.parity.shared.b64": "what sm_80 has for mbarrier.try_wait",
    "fence.mbarrier_init.release.cluster": "other CTAs of the cluster see that barriers are ready",
    "mov.u32": "a CTA finds its place in the cluster",
    "mapa.shared::cluster.u32": "an mbarrier of another CTA is found",
    "elect.sync": "one lane of a warp issues an instruction",
    "setmaxnreg.inc.sync.aligned.u32": "warps of a name ask for registers",
    "setmaxnreg.dec.sync.aligned.u32": "warps of a name give registers back",
}
"""What only the frame of kernels needs, and for what."""


def opcodes(text: str) -> list[str]:
    return re.split(r"[,;] ", text.replace(" for 16 bytes", ""))


def pieces() -> set[str]:
    """All pieces of CUDA that fences, arrives and awaits become."""
    thread = Collective(frozenset({0}), block_dim=128, cluster_dim=2)
    warp = Collective(frozenset(range(32)), block_dim=128, cluster_dim=2)
    group = Collective(frozenset(range(128)), block_dim=256, cluster_dim=2)
    cta = Collective(frozenset(range(128)), block_dim=128, cluster_dim=2)
    cluster = Collective(frozenset(range(256)), block_dim=128, cluster_dim=2)
    order, generic, both = (
        sync_tl("cuda_in_order"),
        sync_tl("Sm80_generic"),
        sync_tl("cuda_generic_and_async_proxy"),
    )
    found: set[str] = set()
    for by in (thread, warp, cta, cluster):
        found.update(fence_pieces(generic, both, by))
    found.update(
        fence_pieces(sync_tl("wgmma_fence_1"), sync_tl("wgmma_fence_2"), group, opens_wgmma_block=True)
    )
    for name, by in (("Sm80_cp_async", thread), ("tma_to_gmem_async", thread), ("wgmma_async", group)):
        found.update(arrive_pieces(BarrierType.CudaCommitGroup, sync_tl(name), by, closes_block=True))
        found.update(await_pieces(BarrierType.CudaCommitGroup, sync_tl(name), order, by, n=0))
    for name in ("cuda_in_order", "Sm80_cp_async", "tma_to_smem_async"):
        found.update(arrive_pieces(BarrierType.CudaMbarrier, sync_tl(name), warp, closes_block=True))
    found.update(await_pieces(BarrierType.CudaMbarrier, order, both, warp, n=~0))
    return found


CUDAS_OWN = {"syncwarp"}
"""Pieces that CUDA C++ has a function for."""


def test_each_instruction_of_the_library_has_its_function() -> None:
    texts = {text for instruction in STANDARD.values() for text in opcodes(instruction.ptx)}
    assert {t for t in texts if not instructions_of(t)} == set(NO_PTX)
    assert all(instruction.ptx for instruction in STANDARD.values())


def test_each_piece_of_synchronization_has_its_function() -> None:
    assert {p for p in pieces() if not instructions_of(p)} == CUDAS_OWN
    assert len(pieces()) == 16


def test_each_instruction_of_ptx_is_used_by_the_law_or_the_frame() -> None:
    named = [t for i in STANDARD.values() for t in opcodes(i.ptx)]
    used = {i.opcode for text in (*named, *pieces()) for i in instructions_of(text)}
    assert {i.opcode for i in PTX} - used == set(FRAME)


def test_each_instruction_of_ptx_has_its_function() -> None:
    assert {i.opcode for call in CALLS if (i := wanted(call)) is not None} == {i.opcode for i in PTX}


# Mistakes in the header are seen -----------------------------------------------------------------------------------

MISTAKES = {
    "an address and an operand swapped": (
        '[%0], %1;" ::"r"(cvta_to_shared_u32(bar)), "r"(count)',
        '[%1], %0;" ::"r"(cvta_to_shared_u32(bar)), "r"(count)',
    ),
    "the wrong fence": ('"wgmma.fence.sync.aligned;"', '"wgmma.commit_group.sync.aligned;"'),
    "no .aligned": (
        '"ldmatrix.sync.aligned.m8n8.x" #COUNT ".shared.b16"',
        '"ldmatrix.sync.m8n8.x" #COUNT ".shared.b16"',
    ),
    "no .trans": ('#COUNT ".trans.shared.b16"', '#COUNT ".shared.b16"'),
    "registers of a fragment swapped": (
        'SOUNDLINE_LDMATRICES(2, "%0, %1"',
        'SOUNDLINE_LDMATRICES(2, "%1, %0"',
    ),
    "operands of a product swapped": ("{%4, %5, %6, %7}, {%8, %9}, {%0", "{%4, %5, %7, %6}, {%8, %9}, {%0"),
    "another accumulator": ("{%4, %5}, {%6}, {%0, %1, %2, %3};", "{%4, %5}, {%6}, {%0, %1, %3, %2};"),
    "the wrong type": (
        '"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"',
        '"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"',
    ),
    "the wrong bound of lanes": ("SOUNDLINE_SHUFFLE(up, 0)", "SOUNDLINE_SHUFFLE(up, 0x1f)"),
    "lane and mask swapped": ('"r"(value), "r"(lane), "r"(mask)', '"r"(value), "r"(mask), "r"(lane)'),
    "flushed to zero": ('"noftz.f16"', '"f16"'),
    "another copy": (
        '"cp.async.cg.shared.global [%0], [%1], 16;"',
        '"cp.async.ca.shared.global [%0], [%1], 16;"',
    ),
    "source and destination swapped": (
        '[%0], [%1], 16;" ::"r"(cvta_to_shared_u32(dst)),\n                 "l"(cvta_to_global_u64(src))',
        '[%0], [%1], 16;" ::"r"(cvta_to_shared_u32(src)),\n                 "l"(cvta_to_global_u64(dst))',
    ),
    "coordinates swapped": ('"%2, %3", "%3, %4", "%4, %5")', '"%2, %3", "%4, %3", "%4, %5")'),
    "coordinates of a store swapped": ('"%2, %3", "%3, %4", "%4, %5")', '"%3, %2", "%3, %4", "%4, %5")'),
    "the mask for a coordinate": ('"%4, %5, %6, %7")', '"%4, %5, %6, %3")'),
    "no bulk_group": ('.bulk_group [%0], [%1], %2;"', ' [%0], [%1], %2;"'),
    "bytes for an arrival only": (
        '"mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"',
        '"mbarrier.arrive.shared.b64 _, [%0], %1;"',
    ),
    "the mbarrier of one's own CTA": (
        'release.cluster.shared::cluster.b64 _, [%0];" ::"r"(\n                     mapa_shared_cluster_u32(bar, cta))',
        'release.cluster.shared::cluster.b64 _, [%0];" ::"r"(\n                     cta)',
    ),
    "the rank for the address": (
        '"r"(cvta_to_shared_u32(address)), "r"(cta)',
        '"r"(cta), "r"(cvta_to_shared_u32(address))',
    ),
    "waiting that is no waiting": ("selp.u32 %0, 1, 0, complete;", "mov.u32 %0, 1;"),
    "descriptors swapped": ('"%" #P0, "%" #P1, "%" #P2,', '"%" #P1, "%" #P0, "%" #P2,'),
    "A transposed": ('"1, 1, 0, %" #P3', '"1, 1, %" #P3 ", 0"'),
    "a negated operand": ('#P4, "%" #P5, "1, 1")', '#P4, "%" #P5, "1, -1")'),
    "an accumulator's registers swapped": (
        '#define SOUNDLINE_TEXT_16 SOUNDLINE_TEXT_8 ", %4, %5, %6, %7"',
        '#define SOUNDLINE_TEXT_16 SOUNDLINE_TEXT_8 ", %4, %5, %7, %6"',
    ),
    "always the first product": ('"setp.ne.b32 adds, " SCALE_D ", 0;\\n"', '"setp.ne.b32 adds, 0, 0;\\n"'),
    "more registers": ('"setmaxnreg.dec.sync.aligned.u32 %0;"', '"setmaxnreg.inc.sync.aligned.u32 %0;"'),
    "another width": (
        "CASE(KIND, 64, 32, 33, 34, 35, 36, 37, 38)",
        "CASE(KIND, 64, 33, 34, 35, 36, 37, 38, 39)",
    ),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_in_the_header_is_seen(what: str) -> None:
    old, new = MISTAKES[what]
    assert header().count(old) >= 1
    text = header().replace(old, new)
    seen = []
    for arch, calls in ARCHS.items():
        output = compiler().compile(
            "calls.cu",
            program(calls),
            {HEADER: text},
            (f"-arch={arch.replace('sm', 'compute')}", "-std=c++17"),
        )
        if not output.succeeded:
            seen.append(output.log)
        if seen:
            break
        made = entries(output.ptx)
        seen += [f for i, call in enumerate(calls) if (f := fault(call, made[f"k{i}"])) is not None]
    assert seen
