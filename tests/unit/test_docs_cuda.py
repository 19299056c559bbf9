"""Generated CUDA on pages: every construct, instruction, memory and piece of synchronization has its text."""

from __future__ import annotations

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.language.statements import Assign, For, If
from soundline.spec.spork.library.memories import STANDARD as MEMORIES
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import CHAPTERS
from soundline.spec.spork.static.law import static_law

from .test_docs_spork import generator

cuda, programs = generator("generated_cuda"), generator("shown_programs")
constructs, pages = generator("constructs_in_cuda"), generator("spork_pages")
instructions, memories = generator("instruction_pages"), generator("memory_pages")
synchronization = generator("synchronization_pages")

# Cutting ----------------------------------------------------------------------------------------------------------

PROGRAM = """\
def f(n: size, x: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, n):
            for i in cuda_threads(0, 1, unit=cuda_thread):
                for k in seq(0, 2):
                    if k == 0:
                        x[task] = 1.0
                    else:
                        x[task] += 2.0
"""


def lines(pair: object) -> list[tuple[str, str]]:
    """The lines of both sides, those that are empty on both left out."""
    sides = zip(pair.spork.split("\n"), pair.cuda.split("\n"), strict=True)  # type: ignore[attr-defined]
    return [(spork, code) for spork, code in sides if spork.strip() or code.strip()]


def test_each_statement_stands_beside_what_it_becomes() -> None:
    program = proc_from_text(PROGRAM, file="program")
    pair = cuda.of(program, lambda n: isinstance(n, For) and n.iterator == "k")
    assert lines(pair) == [
        ("for k in seq(0, 2):", "for (int k = 0; k < 2; ++k) {"),
        ("    if k == 0:", "    if (k == 0) {"),
        ("        x[task] = 1.0", "        x[task] = 1.0f;"),
        ("", "    }"),
        ("    else:", "    else {"),
        ("        x[task] += 2.0", "        x[task] += 2.0f;"),
        ("", "    }"),
        ("", "}"),
    ]


def test_a_statement_is_cut_out_of_its_neighbours() -> None:
    program = proc_from_text(PROGRAM, file="program")
    assert lines(cuda.of(program, lambda n: isinstance(n, Assign))) == [("x[task] = 1.0", "x[task] = 1.0f;")]
    (first, *_) = lines(cuda.of(program, lambda n: isinstance(n, If)))
    assert first == ("if k == 0:", "if (k == 0) {")


def test_a_function_ends_with_its_brace() -> None:
    text = cuda.function(proc_from_text(PROGRAM, file="program"), "main_loop(")
    assert text[0].text.strip().startswith("static __device__")
    assert text[-1].text == "    }"
    assert "task_number += gridDim.x" in cuda.code_of(text)


def test_comments_are_no_code() -> None:
    assert not cuda.has_code(cuda.Beside("a", "// nothing\n"))
    assert cuda.has_code(cuda.Beside("a", "x;"))


# What is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("construct", CONSTRUCTS.values(), ids=lambda c: c.slug)
def test_every_construct_has_its_cuda(construct: Construct) -> None:
    program, pair = constructs.shown(construct)
    assert cuda.has_code(pair)
    assert lines(pair)
    ending = cuda.device(program)
    assert f"The whole file {program.name}{ending} of the example" in constructs.section(construct)


def test_constructs_without_cuda_fail() -> None:
    assert {*constructs._STATEMENTS, *constructs._FUNCTIONS} == set(CONSTRUCTS)
    with pytest.raises(LookupError):
        programs.shown(lambda node: False)
    with pytest.raises(LookupError):
        programs.shown_piece("no such piece")


FAMILIES = {
    name: members for chapter in CHAPTERS.values() for name, members in instructions.families(chapter).items()
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_instruction_has_its_cuda(family: str) -> None:
    members: list[Instruction] = FAMILIES[family]
    pair = instructions.in_cuda(members)
    assert cuda.has_code(pair)
    assert any(pair.spork.startswith(f"{member.name}(") for member in members)
    assert "In CUDA:" in instructions._family(family, members)


@pytest.mark.parametrize("name", MEMORIES)
def test_every_memory_has_its_cuda(name: str) -> None:
    pair = memories.in_cuda(name)
    assert cuda.has_code(pair)
    assert f"@ {name}" in pair.spork


@pytest.mark.parametrize("piece", synchronization.all_pieces())
def test_every_piece_of_synchronization_has_its_cuda(piece: str) -> None:
    pair = programs.shown_piece(piece)
    word = piece.replace(".", "_").replace("try_wait", "").replace("syncwarp", "__syncwarp")
    assert word in pair.cuda or word == "mbarrier_"
    assert pair.spork.split("(")[0].removeprefix("Reverse") in ("Fence", "Arrive", "Await")


@pytest.mark.parametrize("program", programs.own(), ids=lambda p: p.name)
def test_the_programs_that_are_shown_are_right(program: object) -> None:
    static_law(program)  # type: ignore[arg-type]
    if program.name != "product":  # type: ignore[attr-defined]  # which takes half a minute
        sizes = {"n": 3} if any(a.name == "n" for a in program.arguments) else {}  # type: ignore[attr-defined]
        assert program.check(**sizes).ok  # type: ignore[attr-defined]


@pytest.mark.thorough
def test_so_is_the_product_of_a_warpgroup() -> None:
    (product,) = (p for p in programs.own() if p.name == "product")
    assert product.check().ok
