"""
The report as SARIF
===================

SARIF 2.1.0, the form that code hosts read to show findings beside the lines they are about. Results are what a reader
must act on: refuted, vacuous and unknown rules. Mistakes in the input are notifications of the run, which then was not
successful. Proved rules are listed as rules and have no result.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from soundline import __version__
from soundline.verify.advice.text import notes
from soundline.verify.files.problems import Problem
from soundline.verify.reports.report import Report
from soundline.verify.reports.text import explanation
from soundline.verify.verdicts.verdict import RuleReport

DOCUMENTATION = "https://soundline.readthedocs.io/en/latest"
LEVELS = {"refuted": "error", "vacuous": "warning", "unknown": "note"}


def render(report: Report) -> str:
    """The report as SARIF text."""
    return json.dumps(as_sarif(report), indent=2, ensure_ascii=False) + "\n"


def as_sarif(report: Report) -> dict[str, Any]:
    """The report as SARIF data."""
    ids = list(dict.fromkeys(r.id for r in report.rules))
    first = {r.id: r for r in reversed(report.rules)}
    driver = {
        "name": "soundline",
        "version": __version__,
        "informationUri": f"{DOCUMENTATION}/check_your_rules.html",
        "rules": [_descriptor(first[name]) for name in ids],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.problems and not report.interrupted,
                "exitCode": report.exit_code,
                "toolConfigurationNotifications": [_notification(p) for p in report.problems],
            }
        ],
        "results": [
            *(_result(r, ids.index(r.id)) for r in report.rules if r.verdict in LEVELS),
            *(_note(n, ids.index(n[0])) for n in _notes(report) if n[0] in ids),
        ],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }


def _descriptor(rule: RuleReport) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.statement},
        "helpUri": f"{DOCUMENTATION}/check_your_rules.html#verdicts",
        "properties": {"verdict": rule.verdict, "layers": {x.layer: x.settled for x in rule.layers}},
    }


def _result(rule: RuleReport, index: int) -> dict[str, Any]:
    found = rule.counterexample
    properties: dict[str, Any] = {
        "verdict": rule.verdict,
        "layers": {x.layer: x.settled for x in rule.layers},
    }
    if found is not None:
        properties |= {"test": found.test, "replays": {r.by: r.result for r in found.replays}}
    holds = {x.layer: list(x.holds_when) for x in rule.layers if x.holds_when}
    properties |= {"holdsWhen": holds} if holds else {}
    return {
        "ruleId": rule.id,
        "ruleIndex": index,
        "level": LEVELS[rule.verdict],
        "message": {"text": "\n".join([f"{rule.verdict}: {rule.statement}", *explanation(rule)])},
        "locations": [_location(rule.file, rule.line)],
        "properties": properties | ({"bugs": list(rule.bugs)} if rule.bugs else {}),
    }


def _notes(report: Report) -> list[tuple[str, str, int, str]]:
    """What is advised about rules: (rule id, file, line, text)."""
    return [] if report.advice is None else list(notes(report.advice))


def _note(note: tuple[str, str, int, str], index: int) -> dict[str, Any]:
    """Advice on a rule, which is no finding against it."""
    name, file, line, text = note
    return {
        "ruleId": name,
        "ruleIndex": index,
        "level": "note",
        "kind": "informational",
        "message": {"text": f"advice: {text}"},
        "locations": [_location(file, line)],
    }


def _notification(problem: Problem) -> dict[str, Any]:
    text = problem.message if problem.hint is None else f"{problem.message} (hint: {problem.hint})"
    return {
        "descriptor": {"id": problem.kind},
        "level": "error",
        "message": {"text": text},
        "locations": [_location(problem.file, problem.line)],
    }


def _location(file: str, line: int | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": artifact(file)}
    if line:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def artifact(file: str) -> dict[str, str]:
    """A file by its address; a file name need not be text, but its bytes can always be quoted."""
    prefix = "file://" if Path(file).is_absolute() else ""
    return {"uri": prefix + quote(os.fsencode(Path(file).as_posix()))}
