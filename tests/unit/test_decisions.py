"""The table of decisions is whole, and what other texts cite exists in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soundline.spec.decisions.table import CHAPTERS, DECISIONS, ops_under
from soundline.spec.ops.table import TABLE, Op

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = (
    *(f"U-{n:02}" for n in (*range(1, 15), *range(20, 36), *range(40, 46), *range(50, 54))),
    *(f"S-{n:02}" for n in range(1, 31)),
)
FINDINGS = {
    *("U-07", "U-08", "U-23", "U-28", "U-29", "U-30", "U-32", "U-34", "U-35", "U-40", "U-41", "U-42", "U-53"),
    *("S-01", "S-02", "S-04", "S-05", "S-11", "S-14", "S-15", "S-25"),
}


def test_every_decision_stands_once_and_in_order() -> None:
    listed = [d.id for chapter in CHAPTERS.values() for d in chapter]
    assert listed == list(EXPECTED)
    assert list(DECISIONS) == listed


def test_the_findings_are_those_of_the_sources() -> None:
    assert {d.id for d in DECISIONS.values() if d.is_finding} == FINDINGS


@pytest.mark.parametrize("decision", DECISIONS.values(), ids=lambda d: d.id)
def test_a_decision_says_something(decision) -> None:
    assert decision.law.endswith(".")
    assert len(decision.law.split()) >= 8
    assert decision.title
    assert not decision.title.endswith(".")
    assert decision.anchor == decision.id.lower()


@pytest.mark.parametrize("op", Op, ids=lambda op: op.name)
def test_an_entry_cites_decisions_that_exist(op: Op) -> None:
    for cited in TABLE[op].decisions:
        assert op in ops_under(DECISIONS[cited])


def test_the_ops_that_a_decision_is_about_cite_it() -> None:
    takes_shape = {op for op, e in TABLE.items() if any("Stack of index scalars" in s.doc for s in e.sources)}
    assert takes_shape == {Op.Param, Op.Reshape, Op.Expand, Op.Pad, Op.Shrink}
    assert set(ops_under(DECISIONS["U-22"])) == takes_shape | {Op.Stack}
    assert set(ops_under(DECISIONS["U-51"])) == {Op.Buffer, Op.Barrier}


def test_every_id_cited_in_the_code_exists() -> None:
    """A citation such as (U-29) anywhere in the three folders leads to a row of the table."""
    unknown = []
    for layer in ("spec", "impl", "verify"):
        for path in sorted((ROOT / layer).rglob("*.py")):
            cited = set(re.findall(r"\b[US]-\d\d\b", path.read_text()))
            unknown += [f"{path.relative_to(ROOT)}: {c}" for c in sorted(cited - set(DECISIONS))]
    assert not unknown, "\n".join(unknown)
