"""The Spork reference is whole: every id is stated and has its place, and every program on a page does what it says."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
from trials.ledger import Entry
from trials.machine.campaign import write
from trials.machine.report import totals
from trials.machine.slips import Case, Fate, summary

import soundline.spec
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.library.memories import STANDARD as MEMORIES
from soundline.spec.spork.library.table import STANDARD as INSTRUCTIONS
from soundline.spec.spork.synchronization.fences import fence_pieces
from soundline.spec.spork.synchronization.timelines import LEGAL_PAIRS, SYNC_TLS
from soundline.spec.spork.threads.units import STANDARD as UNITS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_ID = re.compile(r"(?:prog|mem|instr|coll|dist|fence|bar|tl|mach|seq|static)-[a-z0-9-]*[a-z0-9]")


def generator(name: str) -> ModuleType:
    """A module of docs/_ext; the pages find them by the path that conf.py adds."""
    folder = str(DOCS / "_ext")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


laws, runs, pages = map(generator, ("spork_laws", "spork_runs", "spork_pages"))
tables, units, errors = map(generator, ("synchronization_pages", "collective_pages", "error_pages"))
memories, instructions = map(generator, ("memory_pages", "instruction_pages"))
adequacy, machine = map(generator, ("adequacy_pages", "machine_shown"))

# Ids --------------------------------------------------------------------------------------------------------------


def ids_of_the_law() -> set[str]:
    """Every id of Spork that is a key of a table of sentences somewhere in the law."""
    found = set()
    for info in pkgutil.walk_packages(soundline.spec.__path__, "soundline.spec."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
                found |= {key for key in value if isinstance(key, str) and _ID.fullmatch(key)}
    return found


def test_every_table_of_the_law_is_registered() -> None:
    assert ids_of_the_law() == set(laws.constraints())


def test_every_id_is_stated_once_by_a_page_that_exists() -> None:
    found = Counter(
        i for page in ("collective_units", "synchronization", "spork_conditions") for i in stated(page)
    )
    assert found == Counter(laws.constraints().keys())


def stated(page: str) -> list[str]:
    text = (DOCS / f"{page}.rst").read_text()
    (part,) = re.findall(r"^\.\. generated:: (.*conditions)$", text, re.MULTILINE)
    shown = generator("parts").PARTS[part]()
    return re.findall(r":anchor:`([^`]+)`", shown)


def test_every_id_has_its_place_in_the_index_of_errors() -> None:
    assert set(laws.constraints()) <= set(errors.anchors())


def test_every_id_belongs_to_a_construct() -> None:
    assert {i for c in CONSTRUCTS.values() for i in c.laws} == set(laws.constraints())


def test_every_decision_on_spork_is_met_on_a_page_of_it() -> None:
    texts = [*pages.pages().values(), *(p.read_text() for p in DOCS.glob("*.rst") if p.stem != "decisions")]
    met = set(re.findall(r":law:`(S-\d\d)`", "".join(texts)))
    assert {d for d in DECISIONS if d.startswith("S-")} <= met


# Constructs -------------------------------------------------------------------------------------------------------

every_construct = pytest.mark.parametrize("construct", CONSTRUCTS.values(), ids=lambda c: c.slug)


@every_construct
def test_the_example_of_a_construct_is_accepted(construct: Construct) -> None:
    judged = runs.example(construct, construct.example)
    assert judged.rules == ()
    assert judged.text.startswith("no hazards")


@every_construct
def test_the_twin_of_an_example_breaks_what_it_says(construct: Construct) -> None:
    judged = runs.example(construct, construct.wrong)
    assert construct.breaks in judged.rules
    assert construct.breaks in construct.laws
    assert f"[{construct.breaks}]" in judged.text


@every_construct
def test_pages_have_one_shape(construct: Construct) -> None:
    text = pages.page(construct)
    assert re.findall(r"^(.+)\n-{4,}$", text, re.MULTILINE) == [
        *("Form", "Meaning", "Readings", "Conditions", "Example", "In CUDA", "Gone wrong", "Decisions"),
        "Source and tests",
    ]
    assert re.findall(r"^   \* - :law:`(.+)`$", text, re.MULTILINE) == list(construct.laws)


def test_every_construct_is_in_the_index_under_its_group() -> None:
    assert {c.group for c in CONSTRUCTS.values()} == set(pages.GROUPS)
    assert all(f"<spork-{slug}>" in pages.index() for slug in CONSTRUCTS)
    assert set(pages.SEE) <= set(CONSTRUCTS)
    assert all((DOCS / f"{page}.rst").exists() for page in pages.SEE.values())


def test_words_are_marked_and_ids_are_links() -> None:
    assert pages.rich("a `size` is *control*, see S-03, not V_A") == (
        r"a ``size`` is *control*, see :law:`S-03`, not V\_A"
    )


# Programs on pages ------------------------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"^\.\. machine:: (.*)\n((?:   :.*\n)*)\n((?:   .*\n|\n)+)", re.MULTILINE)


def shown() -> list[pytest.param]:  # type: ignore[valid-type]
    found = []
    for page in sorted(DOCS.glob("*.rst")):
        for n, match in enumerate(_DIRECTIVE.finditer(page.read_text())):
            options = {k: v for k, v in re.findall(r":(\w+): ?(.*)", match[2]) if k in machine.OPTIONS}
            program = textwrap.dedent(match[3]).strip("\n")
            asked = machine.Shown.of(match[1], program, options)
            found.append(pytest.param(asked, id=f"{page.stem}-{n}"))
    return found


@pytest.mark.parametrize("asked", shown())
def test_the_machine_finds_what_a_page_says_and_draws_it(asked: object) -> None:
    assert set(asked.judged().rules) == set(asked.breaks)  # type: ignore[attr-defined]
    ElementTree.fromstring(asked.picture())  # type: ignore[attr-defined]


def test_the_chapter_on_the_machine_has_pictures_right_and_wrong() -> None:
    asked = [p.values[0] for p in shown()]
    assert any(a.breaks for a in asked)
    assert any(not a.breaks for a in asked)
    assert {a.policy for a in asked} == {"temporal", "strict"}


def test_the_kernel_that_is_shown_is_right_and_each_twin_is_not() -> None:
    text, right, twins = runs.kernel()
    assert right.rules == ()
    assert all(text.count(t.old) == 1 for t in twins)
    assert [sorted(set(t.judged.rules)) for t in twins] == [["mach-write-war", "mach-write-waw"]] * 2
    shown = pages.kernel()
    assert "wgmma" in shown
    assert shown.count("[mach-write-wa") == len(twins)


# Tables -----------------------------------------------------------------------------------------------------------


def test_every_timeline_and_pair_is_said_in_words() -> None:
    assert list(tables.WORDS) == list(SYNC_TLS)
    assert list(tables.PAIR_WORDS) == [f"{p.instr} {p.usage}" for p in LEGAL_PAIRS]
    assert all(f"``{name}``" in tables.timelines() for name in SYNC_TLS)


def rows_of(table: str) -> list[list[str]]:
    """The cells of each row, the head left out."""
    found = re.split(r"^   \* - ", table, flags=re.MULTILINE)[2:]
    return [[cell.strip() for cell in re.split(r"^     - ", row, flags=re.MULTILINE)] for row in found]


def test_every_fence_stands_in_one_row_with_its_pieces() -> None:
    rows: dict[tuple[str, str], str] = {}
    for first, second, cell in rows_of(tables.fences()):
        for a in re.findall(r"``(\w+)``", first):
            for b in SYNC_TLS if second == "any" else re.findall(r"``(\w+)``", second):
                assert (a, b) not in rows
                rows[a, b] = cell
    assert set(rows) == {(a, b) for a in SYNC_TLS for b in SYNC_TLS}
    for (a, b), cell in rows.items():
        told = {name: pieces_in(line) for line in cell.split("\n\n") for name in who(line)}
        for name, by in tables.COLLECTIVES.items():
            made = tables.outcome(
                lambda a=a, b=b, by=by: fence_pieces(SYNC_TLS[a], SYNC_TLS[b], by, opens_wgmma_block=True)
            )
            assert told[name] == [p.lstrip(".") for p in made]


def who(line: str) -> list[str]:
    names = line.split(":", maxsplit=1)[0].strip()
    return list(tables.COLLECTIVES) if names == "whoever executes it" else names.split(" or ")


def pieces_in(text: str) -> list[str]:
    return re.findall(r"`([\w.-]+)`", text)


def test_what_differs_by_collective_is_told_by_collective() -> None:
    made = {"a thread": (), "a warp": ("syncwarp",), "a CTA": (".fence-c6",), "a cluster": (".fence-c6",)}
    assert tables.by_collective(made).split("\n\n") == [
        "a thread: nothing",
        "a warp: ``syncwarp``",
        "a CTA or a cluster: refused, :law:`fence-c6`",
    ]


def test_barriers_become_what_the_law_says() -> None:
    found = {tuple(map(tuple, map(pieces_in, row))) for row in rows_of(tables.barriers()) if len(row) == 4}
    generic = ("cuda_in_order", "cuda_temporal", "Sm80_cp_async", "Sm80_generic", "empty")
    copies = (("Sm80_cp_async",), ("cp.async.commit_group",))
    assert (*copies, generic, ("cp.async.wait_group",)) in found
    assert any(row[:2] == copies and row[3] == ("bar-group-second",) for row in found)
    loads = (("tma_to_smem_async",), ("mbarrier.arrive.expect_tx",))
    assert {row[3] for row in found if row[:2] == loads} == {("mbarrier.try_wait",), ("bar-mbarrier-second",)}
    assert (tuple(SYNC_TLS), ("bar-event",), (), ()) in found
    assert ", by a warpgroup" in tables.barriers()


def test_every_unit_has_words_and_a_picture() -> None:
    assert list(units.SAID) == list(units.shown())
    assert set(UNITS) <= set(units.SAID)
    assert units.units().count("<svg ") == len(units.SAID)


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("cuda_warp", range(32), 8),
        ("cuda_quadpair", [0, 1, 2, 3, 16, 17, 18, 19], 32),
        ("cuda_cta_in_cluster", range(64), 4),
        ("cuda_cluster", range(256), 1),
        ("8 * cuda_threads_strided(4, 16)", [16 * r + c for r in range(8) for c in range(4)], 8),
    ],
)
def test_a_picture_shows_the_threads_of_a_collective(name: str, first: list[int], count: int) -> None:
    unit = units.shown()[name]
    block_dim, cluster_dim = units._sizes(unit)
    found = units.collectives(units.substituted(unit, block_dim=block_dim, cluster_dim=cluster_dim))
    assert [t for t, n in enumerate(found) if n == 0] == list(first)
    assert len(set(found)) == count
    picture = ElementTree.fromstring(units.picture(unit, block_dim, cluster_dim))
    paths = [p.get("d", "") for p in picture if p.tag.endswith("path")]
    assert [p.count("M") for p in paths] == [found.count(n) for n in range(count)]


def test_every_memory_has_its_section() -> None:
    text = memories.memories()
    for name in MEMORIES:
        assert f".. _memory-{name.lower().replace('_', '-')}:" in text
    assert all(memories.documented(memories.law)[name] for name in MEMORIES)


def test_every_instruction_is_in_one_family() -> None:
    found = [
        m.name for c in instructions.CHAPTERS.values() for f in instructions.families(c).values() for m in f
    ]
    assert sorted(found) == sorted(INSTRUCTIONS)
    text = instructions.instructions()
    assert all(f"``{name}``" in text for name in INSTRUCTIONS)
    labels = re.findall(r"^\.\. _(.+):$", text, re.MULTILINE)
    assert len(labels) == len(set(labels))


def test_members_of_a_family_differ_in_dtype_and_rank_alone() -> None:
    for chapter in instructions.CHAPTERS.values():
        for family in instructions.families(chapter).values():
            assert len({(type(m), m.unit, m.instr_tl, m.trailing, tuple(m.data)) for m in family}) == 1


def test_a_result_of_the_court_is_shown_and_its_absence_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "adequacy.json"
    monkeypatch.setattr(adequacy, "RESULT", file)
    assert adequacy.adequacy().startswith("No result is committed")
    judged = [
        Entry(1, "fences", outcome="right", schedules=20_000, communicates=True),
        Entry(2, "rings", outcome="wrong", ids=("mach-read-raw",), witnessed=("mach-read-raw",)),
        Entry(3, "rings", outcome="unobserved", ids=("mach-read-raw",), reason="it stores the same"),
    ]
    write(file, command="make verify-deep", **totals(judged).as_json())
    text = adequacy.adequacy()
    assert "**No disagreement** in 3 programs and 20,000 interleavings" in text
    assert rows_of(text[text.index("Hazard by hazard") :])[0] == [":law:`mach-read-raw`", "2", "1"]
    assert "it stores the same" in text
    assert "33.3 %" in text
    assert "Mistakes made" not in text
    case = Case("spec/spork/synchronization/visibility.py", "x = 1", "drops V_S", True)
    found = summary([(case, Fate("court", "seed 3")), (case, Fate("survived"))])
    write(file, slips=found, slips_that_survived=["drops V_S"], slips_judged_equivalent=[])
    text = adequacy.adequacy()
    assert "Mistakes made in the machine" in text
    assert "* ``drops V_S``" in text
    assert "50.0 %" in text
    write(file, **totals([*judged, Entry(4, "fences", outcome="disagreement")]).as_json())
    assert "**1 disagreements**" in adequacy.adequacy()


# The readme -------------------------------------------------------------------------------------------------------


def test_the_kernel_of_the_readme_has_the_hazards_that_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "README.md").read_text()
    _, _, section = text.partition("## If you write kernels")
    (program,) = re.findall(r"^```python\n(# reverse\.py\n.*?)^```$", section, re.DOTALL | re.MULTILINE)
    said = re.findall(r"^```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "reverse.py").write_text(program)
    monkeypatch.syspath_prepend(str(tmp_path))
    reverse = importlib.import_module("reverse").reverse
    first, second = reverse.check().findings
    assert first.text().replace(f"{tmp_path}/", "") == said.rstrip("\n")
    assert second.id == "mach-free-write"
    fixed = program.replace("Fence(cuda_in_order, cuda_in_order)", "Fence(Sm80_cp_async, cuda_in_order)", 1)
    (tmp_path / "fixed.py").write_text(
        fixed.replace("  # a plain __syncthreads(), which waits for no copy", "")
    )
    right = importlib.import_module("fixed").reverse
    assert right.check().ok
    (code,) = re.findall(r"^```cpp\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert code in str(right.cuda()).replace("fixed.py", "reverse.py")
    *here, on_a_gpu = re.findall(r"^- `(reverse\.run\(.*?\))`", section, re.MULTILINE)
    assert len(here) == 2
    for line in here:
        names = {"reverse": right, "a": np.arange(64, dtype=np.float32), "b": np.zeros(64, np.float32)}
        exec(line, names)  # as it is printed
        assert np.array_equal(names["b"], names["a"][::-1])
    assert 'device="CUDA")' in on_a_gpu
