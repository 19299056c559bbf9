"""
The report as JUnit XML
=======================

For continuous integration that shows test results: one suite per rule file and one case per rule. A refuted or vacuous
rule is a failure; an undecided rule is an error, as is a mistake in the input, because nothing was tested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from soundline.verify.files.problems import Problem
from soundline.verify.reports.report import Report
from soundline.verify.reports.text import explanation
from soundline.verify.verdicts.verdict import RuleReport

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""


def render(report: Report) -> str:
    """The report as JUnit XML text."""
    suites = Element("testsuites", name="soundline verify", time=f"{report.seconds:.3f}")
    files = dict.fromkeys([*(r.file for r in report.rules), *(p.file for p in report.problems)])
    for file in files:
        rules = [r for r in report.rules if r.file == file]
        problems = [p for p in report.problems if p.file == file]
        _suite(suites, file, rules, problems)
    for count in ("tests", "failures", "errors"):
        suites.set(count, str(sum(int(s.get(count, "0")) for s in suites)))
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _suite(parent: Element, file: str, rules: Sequence[RuleReport], problems: Sequence[Problem]) -> None:
    failed = sum(r.verdict in ("refuted", "vacuous") for r in rules)
    unknown = sum(r.verdict == "unknown" for r in rules)
    suite = SubElement(parent, "testsuite", name=_clean(file))
    suite.set("tests", str(len(rules) + len(problems)))
    suite.set("failures", str(failed))
    suite.set("errors", str(unknown + len(problems)))
    suite.set("skipped", "0")
    for rule in rules:
        _case(suite, rule)
    for problem in problems:
        name = problem.rule or (f"line {problem.line}" if problem.line else problem.kind)
        case = SubElement(suite, "testcase", classname=_clean(file), name=_clean(name))
        told = SubElement(case, "error", type=problem.kind, message=_clean(problem.message))
        told.text = _clean(f"{problem.place}: {problem.message}\n{problem.hint or ''}".strip())


def _case(suite: Element, rule: RuleReport) -> None:
    case = SubElement(suite, "testcase", classname=_clean(rule.file), name=_clean(rule.id))
    case.set("file", _clean(rule.file))
    case.set("line", str(rule.line))
    if rule.verdict == "proved":
        return
    kind = "error" if rule.verdict == "unknown" else "failure"
    told = SubElement(case, kind, type=rule.verdict, message=_clean(f"{rule.verdict}: {rule.statement}"))
    test = [] if rule.counterexample is None else ["", rule.counterexample.test]
    told.text = _clean("\n".join([*explanation(rule), *test]))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
