"""The reference is whole: every op has its rule, its group and its ids, and what the pages show runs as printed."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from soundline.impl.inspect.graphs import svg
from soundline.impl.rules import LIBRARY
from soundline.spec.arrays.movement import LAWS
from soundline.spec.ops.schema import Entry
from soundline.spec.ops.table import PROPERTIES, TABLE, Op
from soundline.spec.ops.table.parsing import parse
from soundline.spec.rules.language import Rule
from soundline.spec.uop import UOp

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OWN_IDS = {
    e.op: {
        e.law_id("src"),
        e.law_id("arg"),
        *(e.law_id(p) for p in PROPERTIES),
        *(c.id for c in e.constraints),
    }
    for e in TABLE.values()
}


def generator(name: str) -> ModuleType:
    """A module of docs/_ext; the pages find them by the path that conf.py adds."""
    folder = str(DOCS / "_ext")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


inference, formal, conformance = map(generator, ("inference", "formal", "conformance_pages"))
grammar, history, rule_index = map(generator, ("grammar_pages", "history_pages", "rule_index"))

movement_formulas, op_pages = map(generator, ("movement_formulas", "op_pages"))

# Inference rules --------------------------------------------------------------------------------------------------


def cited(text: str) -> list[str]:
    return re.findall(r":law:`(uop-[^`]*)`", text)


@pytest.mark.parametrize("entry", TABLE.values(), ids=lambda e: e.op.name)
def test_the_rule_of_an_op_has_every_id_of_it_once(entry: Entry) -> None:
    found = cited(inference.rule(entry))
    implied = {entry.law_id("src")} if not entry.sources else set()
    implied |= {entry.law_id("arg")} if entry.arg == "none" else set()
    assert sorted(found) == sorted(OWN_IDS[entry.op] - implied)


def test_no_formula_has_outlived_its_sentence() -> None:
    assert list(inference.problems()) == []


def test_a_formula_without_a_sentence_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(formal.CONSTRAINTS, "a sentence of no op", "x")
    monkeypatch.setitem(formal.PROPERTIES["axis"], "another", "x")
    assert list(inference.problems()) == [
        "no constraint says 'a sentence of no op'",
        "no axis law says 'another'",
    ]


def test_a_changed_sentence_stands_as_it_is_and_not_as_the_old_formula(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = TABLE[Op.Reshape].constraints[1].text
    formula = inference.latex(formal.CONSTRAINTS[text], TABLE[Op.Reshape])
    assert formula in inference.rule(TABLE[Op.Reshape])
    monkeypatch.delitem(formal.CONSTRAINTS, text)
    shown = inference.rule(TABLE[Op.Reshape])
    assert formula not in shown
    assert f"{generator('rst').prose(text)} :law:`uop-reshape-c2`" in shown


def test_nearly_every_law_is_a_formula() -> None:
    laws = [c.text in formal.CONSTRAINTS for e in TABLE.values() for c in e.constraints]
    laws += [e.laws[p] in formal.PROPERTIES[p] for e in TABLE.values() for p in PROPERTIES]
    assert laws.count(False) <= 6


def test_words_sources_and_agreement_are_filled_in() -> None:
    add, stack, load = TABLE[Op.Add], TABLE[Op.Stack], TABLE[Op.Load]
    assert inference.latex("<all:s_>", add) == "s_{a} = s_{b}"
    assert inference.latex("<all:s_>", stack) == r"s_{T_0} = \dots = s_{T_{m-1}}"
    assert inference.latex(r"<join:\delta_>", load) == (
        r"\delta_{\text{buf}} \sqcup \delta_{\text{alt}} \sqcup \delta_{\text{gate}}"
    )
    assert inference.latex("`mm`(<1>)", add) == r"\text{mm}(b)"


def test_formulas_have_balanced_braces_and_known_sources() -> None:
    """What a formula names besides words are the sources of the op, and letters that the notation introduces."""
    for entry in TABLE.values():
        for formula in re.findall(r":math:`([^`]*)`", inference.rule(entry)):
            assert formula.count("{") - formula.count(r"\{") == formula.count("}") - formula.count(r"\}"), (
                formula
            )
            assert "<" not in re.sub(r" < |_\{j<[^}]*\}", "", formula), formula


# Conformance groups -----------------------------------------------------------------------------------------------


def test_the_groups_partition_the_ops_and_their_ids() -> None:
    names = [c.name for c in conformance.CLAIMS]
    assert names == ["elementwise", "movement", "reduce", "call", "memory and order", "codegen"]
    ops = [e.op for name in names for e in conformance.members(name)]
    assert sorted(ops, key=lambda op: op.name) == sorted(TABLE, key=lambda op: op.name)
    ids = [i for e in TABLE.values() for i in conformance.ids(e)]
    assert len(set(ids)) == len(ids)
    assert {i for own in OWN_IDS.values() for i in own} <= set(ids)


def test_what_a_claim_includes_stands_before_it_and_includes_its_own() -> None:
    earlier: dict[str, set[str]] = {}
    for claim in conformance.CLAIMS:
        assert set(claim.needs) <= set(earlier)
        assert all(earlier[n] <= set(claim.needs) for n in claim.needs)
        earlier[claim.name] = set(claim.needs)


def test_every_group_of_the_table_has_a_conformance_group() -> None:
    for entry in TABLE.values():
        if entry.group == "source":
            assert entry.op in conformance.GROUP_OF_OP
        else:
            assert entry.op not in conformance.GROUP_OF_OP
            assert entry.group in conformance.GROUP_OF_KIND


def test_without_the_suites_of_others_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "SUITES", tmp_path)
    assert conformance.suites() == "This copy of the source has no suites of other projects.\n"
    monkeypatch.setattr(conformance, "ONNX", tmp_path / "none.json")
    assert conformance.onnx() == "The cases of ONNX are not counted in this copy of the source.\n"


def test_the_counts_of_onnx_are_those_of_its_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "onnx_cases.json"
    listed.write_text(
        '{"suite": "onnx 1", "evaluated and compiled": ["a", "b"], "compiled only": ["c"], '
        '"omitted": [{"operator": "If", "reason": "no", "cases": ["d"]}]}'
    )
    monkeypatch.setattr(conformance, "ONNX", listed)
    cells = re.findall(r"- ([^*\n].*|\*\*.*)", conformance.onnx())
    table = cells[: cells.index("**4**") + 1]
    assert table == [
        *("case", "count"),
        *("passed, by the evaluator and compiled", "2"),
        *("passed, compiled only (too large for the evaluator)", "1"),
        *("not applicable: no", "1"),
        *("**all**", "**4**"),
    ]


def test_the_counts_of_a_suite_are_those_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("test_b.py", "test_a.py", "test_counts.py"):
        (tmp_path / name).write_text(f'"""What {name} holds. More."""\n')
    (tmp_path / "README.md").write_text(
        "| suite | n |\n| --- | ---: |\n| `test_b.py` | 1234 | 5 | U-13 differs |\n"
    )
    monkeypatch.setattr(conformance, "SUITES", tmp_path)
    monkeypatch.setattr(conformance, "ONNX", tmp_path / "none.json")
    cells = [c.strip() for c in re.findall(r"^ {3}[* ] - (.*)$", conformance.suites(), re.MULTILINE)]
    assert cells[5:] == [
        *("What test\\_b.py holds", "1,234", "5: :law:`U-13` differs"),
        *(":source:`test_a.py <tests/conformance/test_a.py>`", "What test\\_a.py holds", "not counted", "\\"),
    ]


# What the pages show ----------------------------------------------------------------------------------------------

SESSIONS = sorted(p for p in DOCS.glob("*.rst") if ">>> " in p.read_text())


def test_the_introduction_and_the_textual_form_are_sessions() -> None:
    assert {"introduction.rst", "textual.rst"} <= {p.name for p in SESSIONS}


@pytest.mark.parametrize("page", SESSIONS, ids=lambda p: p.stem)
def test_the_examples_of_a_page_print_what_it_says_and_its_graphs_are_programs(page: Path) -> None:
    session = generator("sessions").Session(page)
    for number, line in enumerate(page.read_text().splitlines(), 1):
        drawn = re.match(r"\.\. graph:: (.+)", line)
        if drawn:
            session.run_to(number)
            nodes = session.program(drawn.group(1))
            assert all(isinstance(n, UOp) for n in nodes)
            assert svg(*nodes).startswith("<svg ")
    session.run_to(10**9)
    assert session.differences == []
    assert session.left == []


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text(">>> x = 1\n>>> x + 1\n3\n\ntext\n\n>>> x + 2\n3\n")
    session = generator("sessions").Session(page)
    session.run_to(6)
    assert len(session.differences) > 0
    session.differences.clear()
    session.run_to(100)
    assert session.differences == []


def test_the_introduction_shows_every_part_of_the_language() -> None:
    text = (DOCS / "introduction.rst").read_text()
    made = {op for op in Op if f"Op.{op.name}(" in text}
    groups = {conformance.group_of(TABLE[op]) for op in made}
    assert groups == {c.name for c in conformance.CLAIMS}
    assert text.count(".. graph::") >= 10


def contents(page: str) -> list[str]:
    """The pages of docs/ in the tables of contents of a page."""
    text = (DOCS / f"{page}.rst").read_text()
    return [
        name
        for body in re.findall(r"^\.\. toctree::\n((?:   .*\n|\n)+)", text, re.MULTILINE)
        for name in re.findall(r"^   (\w+)$", body, re.MULTILINE)
    ]


def test_every_page_is_in_one_table_of_contents() -> None:
    chapters = contents("index")
    listed = [*chapters, *(page for chapter in chapters for page in contents(chapter))]
    assert sorted(listed) == sorted(p.stem for p in DOCS.glob("*.rst") if p.stem != "index")


def test_the_sidebar_has_a_dozen_entries_at_most_and_each_opens() -> None:
    chapters = contents("index")
    assert 6 <= len(chapters) <= 12
    assert all(len(contents(chapter)) > 1 for chapter in chapters)


@pytest.mark.parametrize("chapter", contents("index"))
def test_a_chapter_says_what_each_of_its_pages_is_for(chapter: str) -> None:
    said = re.findall(r"^:doc:`(\w+)`$\n   \S", (DOCS / f"{chapter}.rst").read_text(), re.MULTILINE)
    assert said == contents(chapter)


def test_the_picture_of_the_first_page_is_well_formed_and_leads_to_pages() -> None:
    picture = ElementTree.fromstring((DOCS / "_static" / "road.svg").read_text())
    links = [e.get("href") for e in picture.iter() if e.tag.endswith("}a")]
    assert len(links) >= 4
    assert all((DOCS / f"{str(link).removesuffix('.html')}.rst").exists() for link in links)
    assert "_static/road.svg" in (DOCS / "index.rst").read_text()


def test_the_table_beside_other_systems_says_for_each_what_it_proves_runs_and_checks() -> None:
    peers = generator("beside_pages").PEERS
    assert len(peers) >= 6
    assert all(len(row) == 4 and all(row) and "https://" in row[0] for row in peers)


def test_lists_of_tests_reduction_away_under_their_number() -> None:
    page = generator("op_pages").page(TABLE[Op.Reshape])
    reduced = re.findall(r"^\.\. reduced:: (\d+) tests .*\n\n((?:   .*\n|\n)+)", page, re.MULTILINE)
    assert len(reduced) == 2
    assert all(int(number) == body.count(":source:`") for number, body in reduced)
    assert page.count(":source:`test_") == sum(int(number) for number, _ in reduced)


def test_every_generated_part_is_computed_by_something() -> None:
    known = set(generator("parts").PARTS)
    used = {
        n
        for p in DOCS.glob("*.rst")
        for n in re.findall(r"^\.\. generated:: (.+)$", p.read_text(), re.MULTILINE)
    }
    assert used == known


# Grammar, history, rules ------------------------------------------------------------------------------------------


def test_every_name_of_the_grammar_is_a_production_or_a_token() -> None:
    found = grammar.productions()
    used = {w for text in found.values() for w in re.findall(r"\w+", re.sub(r'"[^"]*"', "", text))}
    assert used - set(found) <= {"name", "op", "dtype", "integer", "word", "number", "string", "bytes"}
    assert set(found) - used == {"program"}
    assert "`operand`" in grammar.grammar()
    assert '"return"' in grammar.grammar()


def test_a_program_by_the_grammar_is_read() -> None:
    (node,) = parse("%a = Neg(2:int8) # a comment\nreturn Add(%a, 1:int8)")
    assert node.op is Op.Add


def test_a_changelog_is_shown_as_it_stands() -> None:
    shown = history.changes(
        "# Changelog\n\nSee [here](https://example.org).\n\n## [1.0]\n\n### Added\n\n- `a_b` and **c**\n"
    )
    words = "See `here <https://example.org>`__. 1.0 ---- Added ~~~~~ * ``a_b`` and **c**"
    assert " ".join(shown.split()) == words
    assert "Unreleased" in history.changes()


def test_the_citation_is_that_of_the_citation_file() -> None:
    said = history.citation()
    entry = history.bibtex()
    assert re.fullmatch(r"@software\{soundline,\n(  \w+ +=( )\{.+\},?\n)+\}\n", entry)
    assert entry.count("{") == entry.count("}")
    assert f"{{{said['version']}}}" in entry
    assert said["author"] in entry
    assert "date-released" in said or "Not yet released" in entry


def test_a_release_date_becomes_year_and_month(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {**history.citation(), "date-released": "2027-03-04"}
    monkeypatch.setattr(history, "citation", lambda: said)
    assert re.search(r"year +=( )\{2027\}", history.bibtex())
    assert re.search(r"month +=( )\{03\}", history.bibtex())
    assert "Not yet" not in history.bibtex()


def test_the_index_of_rules_has_every_rule_under_the_ops_in_it() -> None:
    assert rule_index.by_id().count("<rule-") == len(LIBRARY)
    by_name: dict[str, Rule] = {r.id: r for r in LIBRARY}
    assert rule_index.ops_in(by_name["add_mul_div"]) == {Op.Add, Op.Mul, Op.Idiv}
    rows = rule_index.by_op()
    assert all(f"<op-{TABLE[op].slug}>" in rows for r in LIBRARY for op in rule_index.ops_in(r))


# Special cases ----------------------------------------------------------------------------------------------------

special, structural = map(generator, ("special_cases", "structural_cases"))
ELEMENTWISE = [e.op for e in TABLE.values() if e.group in ("elementwise", "decomposed")]


@pytest.mark.parametrize("op", [*ELEMENTWISE, Op.CDiv, Op.CMod], ids=lambda op: op.name)
def test_every_elementwise_op_has_its_edges_in_a_table(op: Op) -> None:
    shown = special.section(op)
    assert shown.count("   * - ") > 2
    assert op not in structural.OF


@pytest.mark.parametrize(
    ("ops", "asked"),
    [
        ((Op.Idiv, Op.Mod, Op.CDiv, Op.CMod, Op.Div), "division by zero"),
        ((Op.Shl, Op.Shr), "shift count above the width"),
        ((Op.Shl, Op.Shr), "negative shift count"),
        ((Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Idiv), "overflow"),
        ((Op.Max, Op.CmpLt, Op.Add), "NaN and a number"),
        ((Op.Max, Op.CmpEq), "signed zeros"),
        ((Op.Sqrt, Op.Log2), "negative zero"),
        ((Op.Cast,), "NaN to an integer"),
        ((Op.Reduce,), "the empty sum"),
        ((Op.Index,), "out of range"),
    ],
)
def test_the_words_that_a_reader_looks_for_are_on_the_page(ops: tuple[Op, ...], asked: str) -> None:
    for op in ops:
        assert asked in special.section(op)


@pytest.mark.parametrize("op", structural.OF, ids=lambda op: op.name)
def test_a_structural_case_has_a_value_or_the_id_that_refuses_it(op: Op) -> None:
    rows = list(structural.rows(op))
    assert len({asked for asked, _, _ in rows}) == len(rows)
    for _, program, said in rows:
        assert any(said in program for said in (op.name, op.name.lower(), "loop"))
        refused = re.fullmatch(r"refused: :law:`(.+)`", said)
        assert refused is None or re.fullmatch(
            rf"[US]-\d\d|uop-{op.name.lower()}-(c\d+|src|arg)", refused.group(1)
        )


def test_structural_answers_are_those_of_the_evaluator() -> None:
    assert structural.answer("Op.Index(tensor([5]), const(1, index))") == "refused: :law:`U-01`"
    assert structural.answer("reshape(tensor([1, 2]), (3,))") == "refused: :law:`uop-reshape-c2`"
    assert structural.answer("Op.Flip(Op.Load(filled), arg=(True,))") == "``4, 3`` of shape (2,)"
    assert structural.answer("shrink(tensor([1]), (0,), (0,))") == "nothing of shape (0,)"


# Formulas of movement ---------------------------------------------------------------------------------------------

FORMULAS = {
    Op.Permute: "x[p[0], p[1], p[2]] = T[p[2], p[0], p[1]]",
    Op.Flip: "x[p[0], p[1]] = T[s_T[0] - 1 - p[0], p[1]]",
    Op.Reshape: r"x[p[0], p[1]] = T[\lfloor (p[0] \cdot s'[1] + p[1]) / s_T[1] \rfloor, "
    r"(p[0] \cdot s'[1] + p[1]) \bmod s_T[1]]",
    Op.Expand: r"x[p[0]] = T[\begin{cases} {}0 & \text{if } s_T[0] = 1 \\ "
    r"{}p[0] & \text{if } s_T[0] = s'[0] \end{cases}]",
    Op.Pad: r"x[p[0]] = \begin{cases} {}T[p[0] - o[0]] & \text{if } 0 \le p[0] - o[0] < s_T[0] \\ "
    r"{}0 & \text{else} \end{cases}",
    Op.Shrink: "x[p[0], p[1]] = T[p[0] + o[0], p[1] + o[1]]",
    Op.Index: r"x[p[0], p[1]] = \begin{cases} {}T[i_0[p[0]], p[1]] & \text{if } 0 \le i_0[p[0]] < s_T[0] \\ "
    r"{}\bot & \text{else} \end{cases}",
    Op.Stack: "x[p[0], p[1]] = T_{p[0]}[p[1]]",
}


@pytest.mark.parametrize("op", FORMULAS, ids=lambda op: op.name)
def test_the_formula_of_a_movement_op_is_its_law_read_on_names(op: Op) -> None:
    assert movement_formulas.formula(op) == FORMULAS[op]
    page = op_pages.page(TABLE[op])
    for shown in (movement_formulas.formula(op), movement_formulas.shape(op)):
        assert f".. math::\n\n   {shown}\n" in page
        assert shown.count("{") == shown.count("}") == len(re.findall(r"(?<!\\)[{}]", shown)) / 2


def test_every_law_of_movement_has_a_formula() -> None:
    assert set(movement_formulas.SHOWN) == set(LAWS) == set(FORMULAS)
