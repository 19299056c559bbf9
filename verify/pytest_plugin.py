"""
The pytest plugin
=================

Rule files of a repository, collected and judged as tests. Name them in the configuration of pytest, and every rule in
them becomes a test of its own::

    [tool.pytest.ini_options]
    soundline_rules = ["rules/*.py"]

A test passes where its rule is proved; else its failure says why, with the counterexample. Each mistake in a rule file
is a failing test as well. The tests carry the marker ``soundline``. Where the option is not set, this plugin does
nothing, and imports nothing of the law or the prover.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from soundline.verify.campaigns.campaign import Campaign
    from soundline.verify.files.problems import Problem
    from soundline.verify.reports.cases import Case

MARKER = "soundline"


class NotProved(Exception):
    """A rule was not proved; the text says why."""


class BadInput(Exception):
    """A rule file or a rule in it is wrong; the text says how."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the configuration file."""
    parser.addini(
        "soundline_rules",
        "globs of rule files, relative to the root of the repository",
        type="args",
        default=[],
    )
    parser.addini("soundline_budget", "limit for one goal: seconds, or quick, normal, deep", default="normal")
    parser.addini(
        "soundline_rule_time", "seconds that one rule may take; default: those of ten goals", default=""
    )
    parser.addini("soundline_jobs", "processes that prove; default: one per processor", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", f"{MARKER}: a rewrite rule, judged by soundline")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the files that the configuration names."""
    globs = parent.config.getini("soundline_rules")
    if not globs or file_path.suffix != ".py":
        return None
    try:
        place = file_path.relative_to(parent.config.rootpath).as_posix()
    except ValueError:
        place = file_path.as_posix()
    if any(fnmatch.fnmatchcase(place, g) or fnmatch.fnmatchcase(f"/{place}", g) for g in globs):
        collector: pytest.Collector = RuleFile.from_parent(parent, path=file_path)
        return collector
    return None


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers."""
    campaign = config.stash.get(_CAMPAIGN, None)
    if campaign is not None:
        campaign.__exit__(None, None, None)


_CAMPAIGN: pytest.StashKey[Any] = pytest.StashKey()


def _campaign(config: pytest.Config) -> Campaign:
    """The campaign of this run of pytest, begun on first use."""
    campaign = config.stash.get(_CAMPAIGN, None)
    if campaign is None:
        from soundline.spec.errors import UsageError
        from soundline.verify.campaigns.campaign import Campaign, Settings
        from soundline.verify.verdicts.cache import Cache
        from soundline.verify.verdicts.effort import effort_of, processes_of, processors, seconds_of

        try:
            effort = effort_of(config.getini("soundline_budget"))
            chosen = config.getini("soundline_jobs")
            jobs = processes_of(chosen) if chosen else processors()
            limit = config.getini("soundline_rule_time")
            rule_seconds = seconds_of(limit) if limit else None
        except UsageError as error:
            raise pytest.Collector.CollectError(f"soundline: {error}") from None
        if hasattr(config, "workerinput"):
            jobs = 1  # under pytest-xdist the rules are spread already
        campaign = Campaign(Settings(jobs=jobs, effort=effort, rule_seconds=rule_seconds, cache=Cache()))
        config.stash[_CAMPAIGN] = campaign
    return campaign


class RuleFile(pytest.File):
    """A rule file: a collector of rules and of mistakes."""

    def collect(self) -> Iterable[pytest.Item]:
        """One test for each rule, in the order of the file, and one for each mistake."""
        from soundline.verify.reports.cases import duplicates

        campaign = _campaign(self.config)
        cases, problems = campaign.read_one(str(self.path))
        problems += [p for _, p in duplicates(cases)]
        if self.path.name == "__init__.py":  # which a package of rules has, and which need not state any
            problems = [p for p in problems if p.kind != "no-rules"]
        taken: set[str] = set()
        for case in cases:
            name = _free(case.id, case.said["line"], taken)
            yield RuleItem.from_parent(self, name=name, case=case)
        for problem in problems:
            name = _free(problem.rule or f"line {problem.line or 1}", problem.line, taken)
            yield ProblemItem.from_parent(self, name=name, problem=problem)


def _free(name: str, line: int | None, taken: set[str]) -> str:
    """A name that no other test of the file has."""
    if name in taken:
        name = f"{name}[line {line}]"
    while name in taken:
        name += "'"
    taken.add(name)
    return name


class _Item(pytest.Item):
    """What rules and mistakes have in common: how a failure is shown."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text of the failure; a traceback would only show us."""
        if isinstance(excinfo.value, NotProved | BadInput):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class RuleItem(_Item):
    """A rule as a test."""

    def __init__(self, *, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Judge the rule; fail unless it is proved."""
        from soundline.verify.files.problems import Problem
        from soundline.verify.reports.opinions import replayed

        found = _campaign(self.config).judge(self.case)
        if isinstance(found, Problem):
            raise BadInput(_told(found))
        found = replayed(found)
        if found.verdict != "proved":
            raise NotProved("\n".join(_evidence(found)))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the rule stands."""
        return self.path, self.case.said["line"] - 1, self.name


class ProblemItem(_Item):
    """A mistake as a test that fails."""

    def __init__(self, *, problem: Problem, **rest: Any) -> None:
        super().__init__(**rest)
        self.problem = problem
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Fail."""
        raise BadInput(_told(self.problem))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the mistake stands."""
        return self.path, (self.problem.line or 1) - 1, self.name


def _told(problem: Problem) -> str:
    from soundline.verify.files.problems import displayed

    hint = f"\nhint: {problem.hint}" if problem.hint else ""
    place = f"{displayed(problem.file)}:{problem.line}" if problem.line else displayed(problem.file)
    return f"{place}: {problem.message}{hint}"


def _evidence(found: Any) -> Iterator[str]:
    from soundline.verify.reports.text import explanation

    why = ""
    if found.counterexample is not None:
        why = f" by {', '.join(f'{name} = {text}' for name, text in found.counterexample.bindings)}"
    yield f"{found.verdict}{why}"
    yield ""
    yield f"  {found.statement}"
    yield from (f"  {line}" if line else "" for line in explanation(found))
    if found.counterexample is not None and found.counterexample.test:
        yield ""
        yield found.counterexample.test.strip("\n")
