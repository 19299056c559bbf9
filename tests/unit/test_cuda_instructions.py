"""The CUDA of instructions: which there is, how it is written, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl.codegen.cuda import memories as memories_in_cuda
from soundline.impl.codegen.cuda.instructions.table import TEXTS, text_of
from soundline.impl.codegen.cuda.instructions.tma import bytes_of
from soundline.impl.codegen.cuda.instructions.user import CudaInstruction, include_lines
from soundline.impl.codegen.cuda.memories import register_storage
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.impl.spork import instr, instr_from_text
from soundline.spec.dtypes import DType, bfloat16, float16, float32, float64, int8
from soundline.spec.errors import CompileError, UsageError
from soundline.spec.spork.library import copies, tma
from soundline.spec.spork.library.memories import (
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm80_RmemMatrixA,
    Sm80_RmemMatrixB,
    Sm80_RmemMatrixD,
    Sm90_RmemMatrixA,
    Sm90_RmemMatrixD,
    Sm90_SmemSwizzled,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.library.text import references, text
from soundline.spec.spork.threads.units import cuda_thread

from .cuda_sites import place, shape_of, site, sites

HEADERS = Path(memories_in_cuda.__file__).parent
ON_DEVICE = [i for i in STANDARD.values() if i.unit is not None]


# Which there is ---------------------------------------------------------------------------------------------------


def test_every_family_of_the_device_has_a_text_and_nothing_else_has() -> None:
    assert {*TEXTS} - {CudaInstruction} == {type(i) for i in ON_DEVICE}
    assert copies.CpuCopy not in TEXTS


@pytest.mark.parametrize("family", sorted({type(i) for i in ON_DEVICE}, key=lambda f: f.__name__))
def test_every_instruction_has_a_text_with_every_memory(family: type[Instruction]) -> None:
    header = (HEADERS / "soundline_device.cuh").read_text() + (HEADERS / "soundline_ptx.cuh").read_text()
    for instruction in (i for i in ON_DEVICE if type(i) is family):
        found = [text_of(s) for s in sites(instruction)]
        assert found
        for lines in found:
            assert all(line.endswith((";", "{", "}")) for line in lines)
            assert "None" not in "".join(lines)
            for name in re.findall(r"soundline::(\w+)", "".join(lines)):
                assert re.search(rf"\b{name}\b", header), name


GOLDEN: dict[str, tuple[str, ...]] = {
    "cuda_copy_f32": (
        "soundline::copy<4>(soundline::window<128>(dst_at, 1), soundline::window<128>(src_at, 1));",
    ),
    "cuda_atomic_add_bf16": ("ptx::red_shared_add_bf16(&(dst_at)->bits, (value_rmem).bits);",),
    "cuda_shfl_up_f32": (
        (
            "dst_rmem = soundline::bit_cast<float>(ptx::shfl_sync_up_b32("
            "soundline::ALL_LANES, soundline::bit_cast<uint32_t>(src_rmem), 3));"
        ),
    ),
    "Sm80_mma_bf16": ("ptx::mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(D_rmem, A_rmem, B_rmem);",),
    "Sm80_mma_load_b_col_f16": ("soundline::mma_load_b(B_rmem, soundline::window<128>(src_at, 1, 64));",),
    "Sm80_ldmatrix_x4_trans_a_f16": (
        (
            "ptx::ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16("
            "A_rmem, soundline::ldmatrix_row_across<4>(soundline::window<128>(src_at, 64, 1)));"
        ),
    ),
    "Sm90_multicast_tensor_to_smem_2d_f32": (
        (
            "if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global_multicast_cluster("
            "dst_at, &args.src_map, bar, dst_ctas, src_1, src_0);"
        ),
    ),
    "Sm90_reduce_tensor_to_gmem_3d_bf16": (
        "ptx::cp_reduce_async_bulk_tensor_3d_global_shared_cta_add(&args.dst_map, dst_2, dst_1, dst_0, src_at);",
    ),
    "Sm90_bulk_copy_to_smem_i32": (
        "if (ptx::elect_sync()) ptx::cp_async_bulk_shared_cluster_global(dst_at, src_at, 64, bar);",
    ),
    "Sm90_zero_scale_d_f32": ("D_accumulates = 0;",),
    "Sm90_mma_async_kn_bf16": (
        (
            "ptx::wgmma_mma_async_sync_aligned_m64k16_f32_bf16_bf16<256, 1>(D_rmem, "
            "soundline::smem_descriptor<128>(A_at, 16, 1024), soundline::smem_descriptor<128>(B_at, 2048, 1024), "
            "D_accumulates);"
        ),
        "D_accumulates = 1;",
    ),
    "Sm90_mma_async_ra_tf32": (
        (
            "ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<256>(D_rmem, A_rmem, "
            "soundline::smem_descriptor<128>(B_at, 16, 1024), D_accumulates);"
        ),
        "D_accumulates = 1;",
    ),
    "Sm90_mma_write_d_col_major_f32": (
        "soundline::wgmma_write_d(soundline::window(dst_at, 1, 64), D_rmem, D_accumulates);",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_texts_are_these(name: str) -> None:
    assert GOLDEN[name] in {text_of(s) for s in sites(STANDARD[name])}


def test_a_size_that_is_no_number_is_chosen_at_run_time() -> None:
    instruction = STANDARD["Sm80_cp_async_f32"]
    known = next(sites(instruction))
    unknown = replace(known, sizes={}, texts={"size": "n"})
    assert [line.partition(" sound")[0] for line in text_of(unknown)] == [
        "if (n == 1)",
        "else if (n == 2)",
        "else if (n == 4)",
    ]


def test_known_alignment_leaves_nothing_to_ask() -> None:
    instruction = STANDARD["Sm80_cp_async_bf16"]
    to = place("dst", bfloat16, Sm90_SmemSwizzled(64), (8,), alignment=16)
    from_ = place("src", bfloat16, CudaGmemLinear, (8,), alignment=32)
    direct = "ptx::cp_async_cg_shared_global(soundline::swizzle<64>(dst_at), src_at);"
    assert text_of(site(instruction, {"size": 8}, {"dst": to, "src": from_})) == (direct,)
    asked = site(instruction, {"size": 8}, {"dst": to, "src": replace(from_, alignment=8)})
    assert text_of(asked) == (
        "soundline::cp_async<8>(soundline::window<64, 16>(dst_at, 1), soundline::window<0, 8>(src_at, 1));",
    )


@pytest.mark.parametrize("instruction", [i for i in ON_DEVICE if "tma_to_smem" in str(i.instr_tl)], ids=str)
def test_a_load_counts_the_bytes_that_each_cta_receives(instruction: Instruction) -> None:
    for given in sites(instruction):
        shape = shape_of(instruction, "dst", given.sizes)
        itemsize = instruction.arguments[0].type.dtype.itemsize  # type: ignore[union-attr]
        assert bytes_of(given) == int(np.prod(shape)) * itemsize
    if isinstance(instruction, tma.BulkLoad):
        assert bytes_of(replace(given, sizes={}, texts={"size": "n"})) == f"uint32_t({itemsize} * (n))"


def test_what_counts_no_bytes_has_none() -> None:
    with pytest.raises(CompileError) as caught:
        bytes_of(next(sites(STANDARD["Sm80_mma_tf32"])))
    assert caught.value.rule == "cuda-instruction"


# Registers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "dtype", "sizes", "type_", "words"),
    [
        (Sm80_RmemMatrixA, float32, (2, 16, 4), "uint32_t", 2),
        (Sm80_RmemMatrixA, float32, (16, 8), "uint32_t", 4),
        (Sm80_RmemMatrixA, bfloat16, (16, 8), "uint32_t", 2),
        (Sm80_RmemMatrixA, float16, (16, 16), "uint32_t", 4),
        (Sm80_RmemMatrixB, float32, (4, 8), "uint32_t", 1),
        (Sm80_RmemMatrixB, float32, (8, 8), "uint32_t", 2),
        (Sm80_RmemMatrixB, bfloat16, (8, 8), "uint32_t", 1),
        (Sm80_RmemMatrixB, bfloat16, (3, 16, 8), "uint32_t", 2),
        (Sm80_RmemMatrixD, float32, (16, 8), "float", 4),
        (Sm90_RmemMatrixD, float32, (64, 24), "float", 12),
        (Sm90_RmemMatrixA, float32, (64, 8), "uint32_t", 4),
        (Sm90_RmemMatrixA, bfloat16, (64, 16), "uint32_t", 4),
        (CudaRmem, float64, (3, 5), "double", 1),
        (CudaRmem, bfloat16, (), "soundline::bf16", 1),
    ],
)
def test_registers_of_a_memory(
    memory: Memory, dtype: DType, sizes: tuple[int, ...], type_: str, words: int
) -> None:
    assert register_storage(memory, dtype, sizes) == (type_, words, 0 if memory is CudaRmem else 2)


@pytest.mark.parametrize(
    ("memory", "dtype", "sizes"),
    [
        (CudaSmemLinear, float32, (4,)),
        (Sm80_RmemMatrixB, int8, (4, 8)),
        (replace(Sm80_RmemMatrixD, tiles=()), float32, (16, 8)),
        (replace(Sm80_RmemMatrixD, native=None), float32, (16, 8)),
    ],
)
def test_registers_that_cannot_be_declared(memory: Memory, dtype: DType, sizes: tuple[int, ...]) -> None:
    with pytest.raises(CompileError) as caught:
        register_storage(memory, dtype, sizes)
    assert caught.value.rule == "cuda-memory"


# What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "strides", "memory", "more"),
    [
        ("A", ("32", "2"), Sm90_SmemSwizzled(128), {}),
        ("A", ("16", "1"), Sm90_SmemSwizzled(128), {}),
        ("A", ("2048", "1"), Sm90_SmemSwizzled(128), {}),
        ("A", ("s", "1"), Sm90_SmemSwizzled(128), {}),
        ("B", ("32", "1"), Sm90_SmemSwizzled(128), {"alignment": 8}),
    ],
)
def test_rows_that_no_descriptor_names_are_refused(
    argument: str, strides: tuple[str, ...], memory: Memory, more: dict[str, Any]
) -> None:
    given = next(sites(STANDARD["Sm90_mma_async_tf32"]))
    own = replace(given.places[argument], strides=strides, memory=memory, **more)
    with pytest.raises(CompileError) as caught:
        text_of(replace(given, places={**given.places, argument: own}))
    assert caught.value.rule == "cuda-instruction"


@pytest.mark.parametrize(
    ("strides", "swizzle", "alignment"),
    [
        (("1024", "32", "1"), 128, 0),
        (("1024", "64", "1"), 64, 0),
        (("s", "64", "1"), 128, 0),
        (("1024", "64", "1"), 128, 64),
    ],
)
def test_blocks_that_no_descriptor_names_are_refused(
    strides: tuple[str, ...], swizzle: int, alignment: int
) -> None:
    given = next(sites(STANDARD["Sm90_mma_async_kn_bf16"]))
    own = replace(given.places["B"], strides=strides, memory=Sm90_SmemSwizzled(swizzle), alignment=alignment)
    with pytest.raises(CompileError):
        text_of(replace(given, places={**given.places, "B": own}))


def with_place(name: str, argument: str, **more: Any) -> CallSite:
    """A call of an instruction in which one place is another."""
    given = next(sites(STANDARD[name]))
    return replace(given, places={**given.places, argument: replace(given.places[argument], **more)})


REFUSED: dict[str, Callable[[], CallSite]] = {
    "TMA on sm_80": lambda: replace(next(sites(STANDARD["Sm90_copy_tensor_to_gmem_1d_f32"])), arch=80),
    "a bulk copy on sm_80": lambda: replace(next(sites(STANDARD["Sm90_bulk_copy_to_gmem_f32"])), arch=80),
    "wgmma on sm_80": lambda: replace(next(sites(STANDARD["Sm90_mma_async_bf16"])), arch=80),
    "an addition of bf16 on sm_80": lambda: replace(next(sites(STANDARD["cuda_atomic_add_bf16"])), arch=80),
    "a box with gaps": lambda: with_place("Sm90_copy_tensor_to_smem_2d_f32", "dst", strides=("64", "1")),
    "a box of unknown strides": lambda: with_place(
        "Sm90_copy_tensor_to_smem_2d_f32", "dst", strides=("s", "1")
    ),
    "a box of unknown sizes": lambda: with_place(
        "Sm90_copy_tensor_to_smem_2d_f32", "dst", constants=(8, None)
    ),
    "a box that is not aligned": lambda: with_place("Sm90_copy_tensor_to_smem_2d_f32", "dst", alignment=64),
    "a bulk copy with gaps": lambda: with_place("Sm90_bulk_copy_to_smem_f32", "src", strides=("2",)),
    "a bulk copy that is not aligned": lambda: with_place("Sm90_bulk_copy_to_smem_f32", "src", alignment=8),
    "a load without barrier": lambda: replace(
        next(sites(STANDARD["Sm90_copy_tensor_to_smem_1d_f32"])), trailing=None
    ),
    "columns for ldmatrix": lambda: with_place("Sm80_ldmatrix_x4_a_f16", "src", strides=("16", "2")),
    "rows of 8 bytes for ldmatrix": lambda: with_place("Sm80_ldmatrix_x4_a_f16", "src", strides=("20", "1")),
    "rows at 8 bytes for ldmatrix": lambda: with_place("Sm80_ldmatrix_x4_a_f16", "src", alignment=8),
    "a fragment of unknown size": lambda: with_place(
        "Sm80_mma_f16", "A", constants=(16, None), sizes=("16", "k")
    ),
    "a value where a place is wanted": lambda: replace(
        next(sites(STANDARD["cuda_copy_f32"])),
        places={"dst": Value("x", float32), "src": place("src", float32, CudaSmemLinear, (4,))},
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_hardware_does_not_do_is_refused(what: str) -> None:
    with pytest.raises(CompileError) as caught:
        text_of(REFUSED[what]())
    assert caught.value.rule == "cuda-instruction"
    assert caught.value.where


def test_a_pair_of_fragments_goes_to_two_tiles() -> None:
    given = with_place("Sm80_ldmatrix_x4_b_bf16", "B", strides=("4", "8", "1"), storage="B[k * 4]")
    assert [line.strip() for line in text_of(given)[3:-1]] == [
        "B[k * 4][0] = words__[0];",
        "B[k * 4][1] = words__[1];",
        "(&B[k * 4])[4][0] = words__[2];",
        "(&B[k * 4])[4][1] = words__[3];",
    ]
    unknown = with_place("Sm80_ldmatrix_x4_b_bf16", "B", strides=("n + 1", "8", "1"))
    assert "(&B_rmem)[1 * (n + 1)][0] = words__[2];" in "".join(text_of(unknown))


def test_what_one_thread_executes_elects_nobody() -> None:
    (line,) = text_of(replace(next(sites(STANDARD["Sm90_bulk_copy_to_smem_f32"])), whole_warp=False))
    assert line.startswith("ptx::cp_async_bulk_shared_cluster_global(")


# Instructions of users --------------------------------------------------------------------------------------------

SCALE = '''
@instr(
    unit=cuda_thread,
    instr_tl=cuda_in_order,
    operands={"dst": Operand(memories=[CudaGmemLinear, CudaRmem])},
    cuda="mine::scale<{n}>({dst}, {dst.stride0}, {factor}); // {{{dst.size0}}}",
    includes=["mine.cuh", "<math.h>"],
)
def scale(dst: [f32][n], factor: f32, n: size):
    """Scale."""
    for i in seq(0, n):
        dst[i] = dst[i] * factor
'''


def scale(**changes: str) -> Instruction:
    written = SCALE
    for old, new in changes.items():
        written = re.sub(rf"    {old}=.*\n", f"    {old}={new},\n" if new else "", written)
    return instr_from_text(written)


def test_an_instruction_brings_its_text() -> None:
    instruction = scale()
    assert isinstance(instruction, CudaInstruction)
    places: dict[str, Place | Value] = {
        "dst": place("dst", float32, CudaGmemLinear, (4,), (3,)),
        "factor": Value("2.0f", float32),
    }
    assert text_of(site(instruction, {"n": 4}, places)) == ("mine::scale<4>(dst_at, 3, 2.0f); // {4}",)
    places["factor"] = place("factor", float32, CudaGmemLinear, ())
    places["dst"] = place("dst", float32, CudaRmem, (4,), (1,), address="x + 4")
    assert text_of(site(instruction, {"n": 4}, places)) == ("mine::scale<4>(x + 4, 1, *(factor_at)); // {4}",)
    assert include_lines(instruction) == ('#include "mine.cuh"', "#include <math.h>")


def test_the_text_of_an_instruction_keeps_its_cuda() -> None:
    instruction = scale()
    assert instr_from_text(text(instruction), references(instruction)) == instruction


def test_a_decorator_takes_cuda() -> None:
    @instr(
        unit=cuda_thread,
        instr_tl="cuda_in_order",
        operands={"dst": Operand(memories=[CudaSmemLinear])},
        cuda="""
        mine::first({dst.address}, {dst.swizzle});
        mine::second({dst});
        """,
        includes=["mine.cuh"],
    )
    def both(dst: [f32][n], n: size):  # type: ignore  # noqa: F821, PGH003
        for i in seq(0, n):  # noqa: F821
            dst[i] = 0.0

    found = text_of(site(both, {"n": 4}, {"dst": place("dst", float32, CudaSmemLinear, (4,))}))
    assert [line.strip() for line in found if line.strip()] == [
        "mine::first(dst_at, 0);",
        "mine::second(dst_at);",
    ]
    assert include_lines(both) == ('#include "mine.cuh"',)


@pytest.mark.parametrize(
    "cuda",
    [
        "f({other});",
        "f({dst.stride1});",
        "f({dst.size});",
        "f({dst.elsewhere});",
        "f({n.stride0});",
        "f({barrier});",
        "if (x) { f(); }",
        "f({dst!r});",
        "f({dst:x});",
        "f({});",
        "f({dst);",
    ],
)
def test_a_template_that_names_nothing_is_refused(cuda: str) -> None:
    with pytest.raises(UsageError) as caught:
        scale(cuda=repr(cuda))
    assert caught.value.rule == "cuda-template"
    assert caught.value.hint


@pytest.mark.parametrize("includes", ["['']", "['<a.h']", "['a\\\"b']"])
def test_a_header_that_is_none_is_refused(includes: str) -> None:
    with pytest.raises(UsageError) as caught:
        scale(includes=includes)
    assert caught.value.rule == "cuda-template"


def test_what_goes_with_cuda_is_asked_for() -> None:
    plain = {"family": Instruction, "CudaInstruction": CudaInstruction, "Instruction": Instruction}
    without = re.sub(r"    (cuda|includes)=.*\n", "", SCALE)
    assert type(instr_from_text(without)) is Instruction
    for head in ("cuda='f();', family=Instruction", "includes=['a.h']", "family=CudaInstruction", "cuda=3"):
        with pytest.raises(UsageError):
            instr_from_text(without.replace("@instr(", f"@instr(\n    {head},"), plain)


def test_an_instruction_without_cuda_says_how_to_give_it() -> None:
    instruction = scale(cuda="", includes="")
    places = {"dst": place("dst", float32, CudaGmemLinear, (4,)), "factor": Value("x", float32)}
    with pytest.raises(CompileError) as caught:
        text_of(site(instruction, {"n": 4}, places))
    assert "cuda=" in (caught.value.hint or "")


def test_a_part_that_a_place_does_not_have_is_refused() -> None:
    for part in ("map", "ctas", "coordinate0"):
        instruction = scale(cuda=repr(f"f({{dst.{part}}});"))
        places = {
            "dst": place("dst", float32, CudaGmemLinear, (4,), ctas=""),
            "factor": Value("x", float32),
        }
        with pytest.raises(CompileError) as caught:
            text_of(site(instruction, {"n": 4}, places))
        assert caught.value.rule == "cuda-instruction"
    with pytest.raises(CompileError):
        text_of(site(scale(cuda="'f({factor.address});'"), {"n": 4}, places))


def test_a_user_may_name_a_trailing_barrier_and_a_tensor_map() -> None:
    law = STANDARD["Sm90_copy_tensor_to_smem_2d_f32"]
    said = {
        f: getattr(law, f) for f in ("arguments", "body", "unit", "instr_tl", "operands", "preconditions")
    }
    own = CudaInstruction(
        name="own",
        **said,
        trailing=law.trailing,
        trailing_required=True,
        cuda="own({dst}, {src.map}, {barrier}, {src.coordinate1}, {n0});",
    )
    given = next(sites(own))
    assert text_of(given) == ("own(dst_at, &args.src_map, bar, src_1, 8);",)
    with pytest.raises(CompileError):
        text_of(replace(given, trailing=None))


def test_an_instruction_of_a_user_says_how_many_bytes_it_brings() -> None:
    law = STANDARD["Sm90_bulk_copy_to_smem_f32"]
    said = {f.name: getattr(law, f.name) for f in fields(law) if f.name not in ("name", "ptx", "doc")}
    own = CudaInstruction(name="own", **said, cuda="own({dst}, {barrier});", expect_tx="4 * {size}")
    given = next(sites(own))
    assert bytes_of(given) == f"uint32_t(4 * {given.texts['size']})"
    silent = CudaInstruction(name="own", **said, cuda="own({dst}, {barrier});")
    with pytest.raises(CompileError, match="expect_tx"):
        bytes_of(next(sites(silent)))
    with pytest.raises(UsageError):
        CudaInstruction(name="own", **said, cuda="own({dst});", expect_tx="{dst}")


def test_operators_of_a_template_take_no_operand_apart() -> None:
    law = STANDARD["cuda_copy_f32"]
    said = {f.name: getattr(law, f.name) for f in fields(law) if f.name not in ("name", "ptx", "doc")}
    own = CudaInstruction(name="own", **said, cuda="f({dst}, {src}); *{dst} = {src}[1];")
    given = next(sites(own))
    places = {n: replace(p, address=f"{n} + 4") for n, p in given.places.items()}
    (text,) = text_of(replace(given, places=places))
    assert text == "f(dst + 4, src + 4); *(dst + 4) = (src + 4)[1];"


def test_a_family_derived_from_one_of_the_library_has_its_text() -> None:
    class Mine(copies.VectorCopy):
        __slots__ = ()

    law = STANDARD["cuda_copy_f32"]
    mine = Mine(**{f.name: getattr(law, f.name) for f in fields(law)})
    given = next(sites(law))
    assert text_of(replace(given, instruction=mine)) == text_of(given)
