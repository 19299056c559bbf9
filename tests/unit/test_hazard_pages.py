"""Reports on hazards as one HTML file and as SARIF, with timelines and with what can be removed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from soundline.impl.spork import Proc
from soundline.spec.abstract_machine import Verdict, check
from soundline.spec.errors import ProgramError
from soundline.spec.spork.diagnosis.reports import SHORT, Finding, Fix, Redundant
from soundline.spec.spork.synchronization.visibility import MACHINE, Policy
from soundline.verify.reports.hazards import lanes, page, sarif
from soundline.verify.reports.hazards.checked import Checked, report_json
from soundline.verify.reports.hazards.lanes import Sight
from soundline.verify.reports.hazards.timeline import timeline

from .machine_programs import device, exchange, passed
from .test_hazard_reports import BROKEN, WARPS, finding

SVG = "{http://www.w3.org/2000/svg}"
STUCK = """
bar: barrier @ CudaMbarrier
Arrive(cuda_in_order, 1) >> bar
Await(bar, cuda_in_order, ~0)
Await(bar, cuda_in_order, ~0)
"""
NOTE = Redundant((0, 0, 2), 9, "Fence(cuda_in_order, cuda_in_order)", "the <fence>", "k.py")


def checked(proc: Proc, *notes: Redundant) -> Checked:
    return Checked("kernel", {"n": 4}, check(proc, {}), notes)


def drawn(found: Finding) -> ElementTree.Element:
    return ElementTree.fromstring(timeline(found))


# Lanes ------------------------------------------------------------------------------------------------------------


def test_threads_that_do_and_see_the_same_are_one_lane() -> None:
    rows = lanes.lanes(finding(exchange(WARPS), "mach-read-raw"))
    assert [row.label.removesuffix(" of task 0 of launch 0") for row in rows] == [
        "thread 0",
        "threads 1-31",
        "threads 32-62",
        "thread 63",
    ]
    assert [row.acts for row in rows] == [
        (False, True, False, True),
        (False, True, False, False),
        (False, False, True, False),
        (True, False, True, False),
    ]
    none, complete = Sight.none, Sight.complete
    assert [row.sights for row in rows] == [
        (none,) * 4,
        (none,) * 4,
        (none, none, complete, complete),
        (complete,) * 4,
    ]


def test_what_is_known_on_which_timeline() -> None:
    """A copy that no await has completed is in V_A alone; what another timeline knows is not what a read needs."""
    copied = lanes.lanes(finding(BROKEN["copied"], "mach-read-raw"))
    assert {s for row in copied for s in row.sights} == {Sight.none, Sight.asynchronous}
    ring = lanes.lanes(finding(BROKEN["ring, stored"], "mach-write-waw"))
    assert Sight.otherwise in {row.sights[-1] for row in ring}


def test_too_many_lanes_keep_those_of_the_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST", 2)
    found = finding(exchange(WARPS), "mach-read-raw")
    rows = lanes.lanes(found)
    assert [min(row.threads).number for row in rows] == [0, 63]
    assert {t.number for t in lanes.hidden(found, rows)} == set(range(1, 63))
    assert "not shown, no part in the accesses: threads 1-62" in timeline(found)


# Timelines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROKEN)
def test_every_hazard_has_a_picture(name: str) -> None:
    """It is XML; each event is a column with all about it, and the two accesses are numbered."""
    for found in check(BROKEN[name], {}).findings:
        picture = drawn(found)
        columns = [g for g in picture.iter(f"{SVG}g") if "column" in g.get("class", "")]
        assert len(columns) == len(found.around)
        for column, event in zip(columns, found.around, strict=True):
            title = column.findtext(f"{SVG}title") or ""
            assert f"{event.deed.verb} {event.deed.target}" in title
            assert ("V_A" in title) == ("V_S" in title) == bool(event.async_set)
        discs = [t.text for t in picture.iter(f"{SVG}text") if t.get("class") == "disc"]
        assert set(discs) == {"1", "2"}
        heights = [float(r.get("y", 0)) for r in picture.iter(f"{SVG}rect")]
        assert max(heights) < float(picture.get("height", 0))


def test_arcs_lead_from_arrives_to_awaits() -> None:
    found = finding(BROKEN["ring, stored"], "mach-write-waw")
    (arc,) = [p.get("d", "") for p in drawn(found).iter(f"{SVG}path") if p.get("class") == "arc"]
    numbers = [float(n) for n in re.findall(r"[\d.]+", arc)]
    columns = [float(r.get("x", 0)) + 48 for r in drawn(found).iter(f"{SVG}rect") if r.get("class") == "hit"]
    assert (numbers[0], numbers[-2]) == (columns[1], columns[2])


def test_a_hazard_of_a_queue() -> None:
    found = finding(device(STUCK), "mach-await-progress")
    picture = drawn(found)
    assert {t.text for t in picture.iter(f"{SVG}text") if t.get("class") == "disc"} == {"!"}
    assert "in V_A alone" not in timeline(found)


# The page ---------------------------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    """Reads a page: its tags have to be closed in order, and attributes are kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


PAGES = {**BROKEN, "passed": passed(), "stuck": device(STUCK)}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_needs_no_network(name: str) -> None:
    result = checked(PAGES[name])
    text = page.render(
        [result, Checked("other", {}, ProgramError("a < b", rule="prog-bound"))], "literal", "strict"
    )
    read = _Tags(text)
    assert read.open == []
    assert not {"src", "xlink:href"} & {key for key, _ in read.attributes}
    assert all(value and value.startswith("#") for key, value in read.attributes if key == "href")
    assert not re.search(r"url\(|@import|<link|<script", text)
    assert not re.search(r"https?://", text.replace('xmlns="http://www.w3.org/2000/svg"', ""))
    anchors = [value for key, value in read.attributes if key == "id"]
    links = [str(value)[1:] for key, value in read.attributes if key == "href"]
    assert links == anchors
    assert isinstance(result.result, Verdict)
    assert len(anchors) == len(result.result.findings)
    for found in result.result.findings:
        assert SHORT[found.id] in text
        assert found.fix is not None
    assert "a &lt; b" in text
    assert "prefers-color-scheme:dark" in text


def test_what_is_said_is_never_markup() -> None:
    """Whatever a program has in its names and statements."""
    found = replace(finding(exchange(WARPS), "mach-read-raw"), fix=Fix("<fix>"), given="<given>")
    deed = replace(found.later, target="<target>")
    found = replace(found, later=deed, around=(*found.around[:-1], replace(found.around[-1], deed=deed)))
    named = Checked("<name>", {}, Verdict((found,), 1, 1, Policy.temporal))
    text = page.render([named], "<machine>", "temporal")
    for name in ("fix", "given", "target", "name", "machine"):
        assert f"<{name}>" not in text
        assert f"&lt;{name}&gt;" in text


def test_what_can_be_removed_is_told() -> None:
    result = checked(passed(), NOTE)
    assert "the &lt;fence&gt;" in page.render([result], "fast", "temporal")
    assert "note: redundant at these sizes: the <fence>\n  k.py:9: Fence(" in result.text()
    assert result.ok
    assert result.to_json()["redundant"] == [
        {"what": "the <fence>", "statement": NOTE.text, "file": "k.py", "line": 9, "path": [0, 0, 2]}
    ]
    assert "statement 0.1" in Redundant((0, 1), None, "Fence", "the fence").report()


def test_a_report_on_several_programs_says_the_worst() -> None:
    good, bad = checked(passed()), checked(exchange("pass"))
    refused = Checked("other", {}, ProgramError("no", rule="prog-bound"))
    said = [report_json(c, "fast")["verdict"] for c in ([good, good], [good, bad], [bad, refused], [refused])]
    assert said == ["no hazards", "hazards", "refused", "refused"]


# SARIF ------------------------------------------------------------------------------------------------------------


def results(*programs: Checked) -> list[dict[str, Any]]:
    """The results of a log, which has what SARIF 2.1.0 requires."""
    log = json.loads(sarif.render(programs))
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "soundline"
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert isinstance(run["invocations"][0]["executionSuccessful"], bool)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        for flow in result.get("codeFlows", []):
            assert all(thread["locations"] for thread in flow["threadFlows"])
    for region in _all(log, "region"):
        assert region["startLine"] >= 1
        assert region.get("startColumn", 1) >= 1
    return list(run["results"])


def _all(value: Any, name: str) -> list[Any]:
    if isinstance(value, dict):
        own = [value[name]] if name in value else []
        return own + [x for inner in value.values() for x in _all(inner, name)]
    return [x for inner in value for x in _all(inner, name)] if isinstance(value, list) else []


def test_sarif_has_a_rule_for_all_that_the_machine_asks() -> None:
    log = sarif.as_sarif([checked(passed())])
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert set(rules) == {*MACHINE, sarif.REDUNDANT}
    assert rules["mach-read-raw"]["shortDescription"]["text"] == MACHINE["mach-read-raw"]
    assert results(checked(passed())) == []


def test_a_code_flow_leads_from_one_access_to_the_other() -> None:
    (result,) = results(checked(exchange(WARPS)))
    (flow,) = result["codeFlows"][0]["threadFlows"]
    steps = [(s["importance"], s["location"]["message"]["text"].split(",")[0]) for s in flow["locations"]]
    assert steps == [
        ("essential", "writes s[63]"),
        ("important", "fences cuda_in_order before cuda_in_order"),
        ("important", "fences cuda_in_order before cuda_in_order"),
        ("essential", "reads s[63]"),
    ]
    order = [step["executionOrder"] for step in flow["locations"]]
    assert order == sorted(set(order))
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 10, "startColumn": 17}
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 6
    assert (result["level"], result["occurrenceCount"]) == ("error", 64)


@pytest.mark.parametrize("name", PAGES)
def test_every_finding_is_a_result(name: str) -> None:
    result = checked(PAGES[name])
    assert isinstance(result.result, Verdict)
    assert [r["ruleId"] for r in results(result)] == [f.id for f in result.result.findings]


def test_notes_and_refusals_in_sarif() -> None:
    refused = Checked("other", {}, ProgramError("no", rule="prog-bound"))
    note, error = results(checked(passed(), NOTE), refused)
    assert (note["ruleId"], note["level"]) == (sarif.REDUNDANT, "note")
    assert note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "k.py"
    assert (error["ruleId"], error["level"]) == ("prog-bound", "error")
