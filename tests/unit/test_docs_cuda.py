"""Generated CUDA on pages: every construct, instruction, memory and piece of synchronization has its text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from soundline.impl.codegen.cuda.refusals import CONDITIONS, SECTIONS
from soundline.impl.spork import proc_from_text
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Assign, For, If
from soundline.spec.spork.library.memories import STANDARD as MEMORIES
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import CHAPTERS
from soundline.spec.spork.static.law import static_law
from soundline.verify.cli.explain import explanation

from .test_docs_spork import DOCS, generator, rows_of

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


def test_no_side_begins_with_an_empty_line_which_would_shift_it() -> None:
    text = cuda.shown(cuda.Beside("\ns", "\nc"))
    assert "# (no statement)\n      s" in text
    assert "// (nothing)\n      c" in text
    text = constructs.section(CONSTRUCTS["proc"])
    assert "def scale(n: size, x: f32[n] @ DRAM):\n" in text
    assert "(no statement)" not in "".join(map(constructs.section, CONSTRUCTS.values()))


def test_few_wide_lines_stand_under_each_other() -> None:
    def head(spork: str) -> str:
        return str(cuda.shown(cuda.Beside(spork, spork)).splitlines()[0])

    assert head("x" * cuda.WIDE) == ".. container:: spork-cuda"
    assert head("x" * (cuda.WIDE + 1)) == ".. container:: spork-cuda stacked"
    assert head("x" * (cuda.WIDE + 1) + "\ny" * cuda.FEW) == ".. container:: spork-cuda"


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


# Chapters ---------------------------------------------------------------------------------------------------------

parts, below, chapter = generator("parts"), generator("below_pages"), generator("from_spork_pages")


def test_errors_name_sections_that_exist() -> None:
    text = (DOCS / "from_spork.rst").read_text()
    titles = re.findall(r"^(.+)\n[-=]{4,}$", text, re.MULTILINE)
    assert titles[0] == "From Spork to CUDA"
    assert set(chapter.named_sections()) <= set(titles)
    assert all(where.startswith("From Spork to CUDA, ") for where in SECTIONS.values())


def test_every_id_of_the_generator_stands_in_the_index_of_errors() -> None:
    named = {
        rule
        for path in (DOCS.parent / "impl").rglob("*.py")
        for rule in re.findall(r"""["'](cuda-[a-z]+)["']""", path.read_text())
    }
    assert {rule for rule in named if rule != "cuda-bindings"} == set(CONDITIONS)
    assert set(CONDITIONS) <= set(generator("error_pages").anchors())
    for rule, text in CONDITIONS.items():
        assert text in " ".join(explanation(rule).split())


@pytest.mark.parametrize("part", chapter.PARTS)
def test_every_part_of_the_chapter_has_code(part: str) -> None:
    assert f".. generated:: {part}\n" in (DOCS / "from_spork.rst").read_text()
    assert ".. code-block:: cpp" in parts.PARTS[part]()


def test_the_consumer_of_the_ring_stands_beside_its_program() -> None:
    pair = chapter.shown(*chapter.RING, "task_consumer(")
    found = {spork.strip(): code.strip() for spork, code in lines(pair) if spork.strip()}
    assert found["Arrive(wgmma_async, 1) >> group[wg]"] == "ptx::wgmma_commit_group_sync_aligned();"
    assert found['with CudaWarps(name="producer"):'] == "// other warps"
    assert found["group: barrier[1] @ CudaCommitGroup"] == ""


def test_results_of_the_compiler_are_those_of_all_flagships() -> None:
    committed = json.loads(below.COMPILED.read_text())["kernels"]
    flagships = (programs.EXAMPLES / "flagships").glob("*.py")
    made = {
        (path.stem, name)
        for path in flagships
        for name, value in programs.module(path).items()
        if isinstance(value, Proc) and name != "small"
    }
    assert {(row["flagship"], row["program"]) for row in committed} == made
    assert "no kernel spills registers, and the compiler warns of none" in below.compiler()
    text = below.flagships()
    assert all(f"<examples/spork/flagships/{name}.py>" in text for name, _ in made)
    assert all(f"     - {row['registers']}\n" in text for row in committed)


def test_spills_and_warnings_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = json.loads(below.COMPILED.read_text())
    result["kernels"][0] |= {"spill_stores": 8, "warnings": ["serialized"]}
    monkeypatch.setattr(below, "COMPILED", tmp_path / "compiled.json")
    assert below.compiler().startswith("No result is committed")
    below.COMPILED.write_text(json.dumps(result))
    name = f"``{result['kernels'][0]['kernel']}`` of {result['kernels'][0]['flagship']}"
    assert f"registers are spilled by {name}, and the compiler warns of {name}" in below.compiler()


ROW = {"sizes": {"M": 8192}, "error": 1e-3, "most": 1e-2, "goal": 0.95, "ratio": 0.97, "tflops": 700.2}
CARD = {"card": "A Card", "multiprocessors": 132, "torch": "2", "cuda": "12", "date": "today"}


def test_results_of_a_gpu_are_shown_and_their_absence_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(below, "RESULTS", tmp_path)
    assert below.on_a_gpu().startswith("No result is committed: no GPU was at hand")
    slow = ROW | {"ratio": 0.5, "error": 1.0, "terabytes_per_second": 3.0}
    del slow["tflops"]
    rows = {"gemm": ROW, "softmax": slow}
    (tmp_path / "gpu-a-card.json").write_text(json.dumps({"machine": CARD, "rows": rows}))
    found = rows_of(below.on_a_gpu())
    assert found[0] == ["``gemm``", "M = 8,192", "0.970", "≥ 0.95", "met", "700 TFLOP/s", "1.0e-03"]
    assert found[1][4:] == ["**missed**", "3.00 TB/s", "**1.0e+00**"]


def test_the_waterline_is_shown_and_its_absence_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(below, "WATERLINE", tmp_path / "waterline.json")
    assert below.waterline().startswith("No result")
    result = {
        "schema": 1,
        "random": {"programs": 3000, "wrong": [], "by kind": {"rings": 2000, "fences": 1000}},
        "works": {"runs": 12, "wrong": ["softmax: nan"]},
        "faults": {"share observed": 0.96, "kinds": {"drops": {"observed": 9, "not observed": 1}}},
    }
    below.WATERLINE.write_text(json.dumps(result))
    text = below.waterline()
    assert [re.findall(r"rubric:: (.*)", text), rows_of(text)[0]] == [
        ["Random", "Works", "Faults"],
        ["programs", "3,000"],
    ]
    assert "* softmax: nan" in text
    assert "96.0 %" in text
    assert "   * - drops\n     - 9\n     - 1\n" in text
