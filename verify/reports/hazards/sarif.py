"""
The report as SARIF
===================

SARIF 2.1.0, the form that code hosts read to show findings beside the lines they are about. A hazard is an error at its
later access, and its code flow leads there from the earlier one, through the synchronizations between the two. What can
be removed is a note. A program that is refused is an error where it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from soundline import __version__
from soundline.spec.abstract_machine import Verdict
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.reports import (
    SHORT,
    Deed,
    Finding,
    Redundant,
    iteration_text,
    statement_text,
    threads_text,
)
from soundline.spec.spork.synchronization.visibility import MACHINE
from soundline.verify.files.problems import displayed
from soundline.verify.reports.hazards.checked import Checked
from soundline.verify.reports.sarif import DOCUMENTATION, artifact

REDUNDANT: Final = "redundant-synchronization"
"""The id of a note on what can be removed."""


def render(checked: Sequence[Checked]) -> str:
    """The report as SARIF text."""
    return json.dumps(as_sarif(checked), indent=2, ensure_ascii=False) + "\n"


def as_sarif(checked: Sequence[Checked]) -> dict[str, Any]:
    """The report as SARIF data."""
    rules = _rules(checked)
    ids = [rule["id"] for rule in rules]
    driver = {
        "name": "soundline",
        "version": __version__,
        "informationUri": f"{DOCUMENTATION}/hazard_reports.html",
        "rules": rules,
    }
    invocation = {"executionSuccessful": True, "exitCode": 0 if all(c.ok for c in checked) else 1}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [
            {**result, "ruleIndex": ids.index(result["ruleId"])}
            for program in checked
            for result in _results(program)
        ],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _rules(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """All that the machine asks; then what is refused, and what can be removed."""
    rules = [
        _rule(name, text, f"{DOCUMENTATION}/hazard_reports.html", "error") for name, text in MACHINE.items()
    ]
    refused = {_id(c.result): c.result for c in checked if isinstance(c.result, SoundlineError)}
    rules += [_rule(name, error.message, error.url, "error") for name, error in refused.items()]
    note = "a synchronization without which the program has no hazards either, at the sizes of the run"
    page = f"{DOCUMENTATION}/hazard_reports.html#redundant-synchronizations"
    return [*rules, _rule(REDUNDANT, note, page, "note")]


def _rule(name: str, text: str, page: str, level: str) -> dict[str, Any]:
    rule = {
        "id": name,
        "shortDescription": {"text": text},
        "helpUri": page,
        "defaultConfiguration": {"level": level},
    }
    return rule | ({"name": SHORT[name].title().replace(" ", "")} if name in SHORT else {})


def _id(error: SoundlineError) -> str:
    return error.rule or type(error).__name__


def _results(program: Checked) -> Iterator[dict[str, Any]]:
    match program.result:
        case Verdict(findings=findings):
            yield from (_hazard(found, program) for found in findings)
        case error:
            yield _refused(error, program)
    yield from (_note(note, program) for note in program.redundant)


def _hazard(found: Finding, program: Checked) -> dict[str, Any]:
    result = {
        "ruleId": found.id,
        "level": "error",
        "message": {"text": f"{program.title}: {found.text(displayed)}"},
        "locations": [_location(found.later)],
        "codeFlows": [{"threadFlows": [{"locations": _flow(found)}]}],
        "occurrenceCount": found.count,
        "partialFingerprints": {"soundlineHazard/v1": _fingerprint(found, program)},
        "properties": {"program": program.name, "sizes": dict(program.sizes), "location": found.later.target},
    }
    if found.earlier is not None:
        result["relatedLocations"] = [
            {**_location(found.earlier), "id": 1, "message": {"text": _said(found.earlier)}}
        ]
    return result


def _fingerprint(found: Finding, program: Checked) -> str:
    """What makes two findings the same, whatever the lines above and the sizes."""
    places = [found.later] if found.earlier is None else [found.earlier, found.later]
    return ":".join([program.name, found.id, *(".".join(map(str, d.place.path)) for d in places)])


def _flow(found: Finding) -> list[dict[str, Any]]:
    """The events around the hazard; the two accesses are what the reader must see."""
    own = [d for d in (found.earlier, found.later) if d is not None]
    events = [(e.deed, e.role != "", e.number) for e in found.around]
    steps = events or [(deed, True, number) for number, deed in enumerate(own)]
    return [
        {
            "location": {**_location(deed), "message": {"text": _said(deed)}},
            "importance": "essential" if essential else "important",
            "executionOrder": number,
        }
        for deed, essential, number in steps
    ]


def _said(deed: Deed) -> str:
    at = iteration_text(deed.place)
    return f"{deed.verb} {deed.target}{f', {at}' if at else ''}, by {threads_text(deed.threads)}"


def _location(deed: Deed) -> dict[str, Any]:
    """Where a statement stands; its path, where it has no source."""
    at = deed.place.statement.position
    if at is None:
        path = ".".join(map(str, deed.place.path))
        return {"logicalLocations": [{"fullyQualifiedName": path, "name": statement_text(deed.place)}]}
    return _at(at.file, at.line, at.column)


def _at(file: str, line: int | None, column: int | None = None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": artifact(displayed(file))}
    if line:
        physical["region"] = {"startLine": line} | ({"startColumn": column} if column else {})
    return {"physicalLocation": physical}


def _refused(error: SoundlineError, program: Checked) -> dict[str, Any]:
    file = getattr(error, "file", None)
    result: dict[str, Any] = {
        "ruleId": _id(error),
        "level": "error",
        "message": {"text": f"{program.name}: {error.message}{f' ({error.hint})' if error.hint else ''}"},
    }
    if file:
        result["locations"] = [_at(file, getattr(error, "line", None), getattr(error, "column", None))]
    return result


def _note(note: Redundant, program: Checked) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": REDUNDANT,
        "level": "note",
        "message": {"text": f"{program.title}: {note.what} can be removed: {note.text}"},
    }
    if note.file is not None:
        result["locations"] = [_at(note.file, note.line)]
    return result
