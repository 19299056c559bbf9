"""The page on hazard reports: its programs have the mistakes that it explains, and all names of the JSON are told."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from soundline.spec.spork.diagnosis.reports import Around
from soundline.verify.reports.hazards import sarif
from soundline.verify.reports.hazards.lanes import Lane, Sight, lanes

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "hazard_reports.rst").read_text()
sys.path.insert(0, str(DOCS / "_ext"))
pages = importlib.import_module("hazard_pages")
parts = importlib.import_module("parts")


def test_the_page_shows_every_part_once() -> None:
    shown = re.findall(r"^\.\. generated:: (\S+)$", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(pages.PARTS)
    assert set(pages.PARTS) <= set(parts.PARTS)


@pytest.mark.parametrize("name", pages.SHOWN)
def test_pictures_are_pictures(name: str) -> None:
    svg = "".join(line.strip() for line in pages.picture(name).splitlines() if "raw::" not in line)
    root = ElementTree.fromstring(svg)[0]
    columns = [e for e in root.iter() if "column" in e.get("class", "")]
    assert len(columns) == len(pages.found(name).around) >= 3


def rows(name: str) -> tuple[list[Lane], tuple[Around, ...]]:
    return lanes(pages.found(name)), pages.found(name).around


def test_what_is_said_of_the_fences() -> None:
    """Thread 63 takes no part in the fence of thread 0, nor thread 0 in that of thread 63."""
    found, events = rows("warps")
    fences = [i for i, e in enumerate(events) if e.deed.verb == "fences"]
    acting = [{t.number for row in found if row.acts[i] for t in row.threads} for i in fences]
    assert acting == [set(range(32)), set(range(32, 64))]
    assert pages.found("warps").blind == found[0].threads
    assert [t.number for t in found[-1].threads] == [63]
    assert pages.found("warps").fix.tried
    assert "by the whole CTA" in pages.found("warps").fix.text


def test_what_is_said_of_the_copy() -> None:
    found, _ = rows("copy")
    assert found[0].sights[-1] is Sight.asynchronous
    assert "does not wait for (Sm80_cp_async, cuda_ram)" in pages.text("copy")


def test_what_is_said_of_the_ring() -> None:
    """There is one arc, and no thread of the first warp ever sees the read."""
    found, events = rows("ring")
    assert sum(e.waits_for is not None for e in events) == 1
    first = [row for row in found if min(row.threads).number < 32]
    assert {s for row in first for s in row.sights} == {Sight.none}


def test_every_name_of_the_json_is_told() -> None:
    def names(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(names, value.values()))
        return set().union(*map(names, value)) if isinstance(value, list) else set()

    told = pages._checked("ring").to_json()
    said = PAGE + pages.as_json()
    assert [n for n in sorted(names(told)) if not re.search(rf"\b{n}\b", said)] == []


def test_the_address_of_notes_in_sarif_is_on_the_page() -> None:
    rule = next(r for r in sarif._rules([]) if r["id"] == sarif.REDUNDANT)
    page, _, anchor = rule["helpUri"].rpartition("/")[2].partition("#")
    assert page == "hazard_reports.html"
    assert f".. _{anchor}:\n" in PAGE
