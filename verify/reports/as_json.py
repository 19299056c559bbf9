"""
The report as JSON
==================

Schema 1, for programs that read the verdicts::

    {"schema": 1, "rules": [{"id", "file", "line", "statement", "verdict", "layers": {name: verdict},
     "counterexample": null | {"instance", "bindings", "left", "right", "test", "note", "differences", "differing",
     "steps", "replays"}, "opinions": {name: [{"by", "answer", "detail"}]}, "bugs": […],
     "covered", "detail", "holds_when": {layer: ["fits(…)", …]}, "cached"}],
     "errors": [{"file", "line", "kind", "message", "hint", "rule"}], "summary": {…},
     "times": {"goals": {"count", "median_seconds", "p95_seconds", "slowest_seconds", "seconds", "work", "slowest"},
     "layers": [{"rule", "layer", "seconds", "goals", "work"}]}}

Verdicts are the same in every run; `times`, and `seconds` of the summary, are not, and tell only of what was judged in
this run. `work` is the solver's own count.

With ``--advise`` there is also ``"advice": {"rules": [{"id", "file", "line", "missing": null | {"weakest": […],
"literals", "points", "tried", "note"}, "too_strong": [{"condition", "instead", "example"}], "subsumed": [{"by", "how",
"same"}], "note", "conventions": [{"name", "verdict", "at",
"stated"}]}], "order": null | {"measures", "rules", "exempt", "loops": [{"rules", "steps", "text"}], "note", "unread",
"first": [[rule, variable, earlier rule]]}}``.

With ``--law`` there is also ``"law": {"obligations": [{"subject", "name", "statement", "kind", "covered", "tightness",
"witness", "detail", "counterexample"}], "summary": {…}}``.

`verdict` is ``proved`` iff every layer is, ``refuted`` iff any is. Names are only ever added to a schema; one that is
renamed or removed makes the next.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from soundline.verify.advice.text import as_json as advice_as_json
from soundline.verify.files.problems import Problem
from soundline.verify.reports.report import Report
from soundline.verify.verdicts.metering import summary
from soundline.verify.verdicts.verdict import Counterexample, RuleReport

if TYPE_CHECKING:
    from soundline.verify.reports.law import LawReport

SCHEMA = 1


def render(report: Report, law: LawReport | None = None) -> str:
    """The report as JSON text; with that of the law under ``law``, where it was asked for."""
    found = as_json(report)
    if law is not None:
        from soundline.verify.reports.law import as_json as law_as_json

        found["law"] = law_as_json(law)
        both = replace(report, rules=(*report.rules, *law.as_report().rules), interrupted=law.interrupted)
        found["summary"]["exit_code"] = both.exit_code
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON data."""
    advice = {} if report.advice is None else {"advice": advice_as_json(report.advice)}
    return {
        "schema": SCHEMA,
        "rules": [_rule(r) for r in report.rules],
        "errors": [_error(p) for p in report.problems],
        "summary": {
            "proved": report.count("proved"),
            "refuted": report.count("refuted"),
            "unknown": report.count("unknown"),
            "vacuous": report.count("vacuous"),
            "errors": len(report.problems),
            "cached": report.cached,
            "bugs": report.bugs,
            "opinions": report.opinions,
            "interrupted": report.interrupted,
            "seconds": round(report.seconds, 3),
            "exit_code": report.exit_code,
        },
        **advice,
        "times": {
            "goals": summary(report.costs),
            "layers": [
                {
                    "rule": c.rule,
                    "layer": c.layer,
                    "seconds": c.seconds,
                    "goals": len(c.goals),
                    "work": sum(g.work for g in c.goals),
                }
                for c in report.costs
            ],
        },
    }


def _rule(rule: RuleReport) -> dict[str, Any]:
    return {
        "id": rule.id,
        "file": rule.file,
        "line": rule.line,
        "statement": rule.statement,
        "verdict": rule.verdict,
        "layers": {x.layer: x.settled for x in rule.layers},
        "counterexample": _counterexample(rule.counterexample),
        "covered": rule.covered,
        "detail": {x.layer: x.detail for x in rule.layers if x.detail},
        "holds_when": {x.layer: list(x.holds_when) for x in rule.layers if x.holds_when},
        "cached": rule.cached,
        "opinions": {x.layer: [asdict(o) for o in x.opinions] for x in rule.layers if x.opinions},
        "bugs": list(rule.bugs),
    }


def _counterexample(found: Counterexample | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "instance": found.instance,
        "bindings": dict(found.bindings),
        "left": found.left,
        "right": found.right,
        "test": found.test,
        "note": found.note,
        "differences": [asdict(d) for d in found.differences],
        "differing": found.differing,
        "steps": [list(step) for step in found.steps],
        "replays": [asdict(r) for r in found.replays],
    }


def _error(problem: Problem) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "kind": problem.kind,
        "message": problem.message,
        "hint": problem.hint,
        "rule": problem.rule,
    }
