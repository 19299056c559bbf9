"""
``soundline verify``
====================

Reads the options of the command, runs the campaign with progress on the terminal, and writes the report.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from rich.console import Console

from soundline.spec.errors import UsageError
from soundline.verify.campaigns.campaign import Settings, verify
from soundline.verify.files.finding import named, published
from soundline.verify.reports.opinions import replayed_in_c
from soundline.verify.reports.progress import Lines, Live
from soundline.verify.reports.report import Report
from soundline.verify.reports.text import WIDTH, last_line, show
from soundline.verify.verdicts.cache import Cache
from soundline.verify.verdicts.effort import BUDGETS, effort_of, processes_of, processors, seconds_of, seed_of
from soundline.verify.verdicts.metering import in_words

if TYPE_CHECKING:
    from soundline.verify.reports.law import LawReport

T = TypeVar("T")
FORMATS = ("text", "json", "sarif", "junit")

DESCRIPTION = """\
Prove rewrite rules for all inputs, or show the smallest input on which they are wrong.

Without a path, all published rules are verified: those that soundline ships, and those that installed packages
publish under the entry-point group soundline.rules. A path is a rule file, or a directory that is searched for
rule files. A rule file is plain Python:

    from soundline.verify import Const, Value, fits, given, index, ints, rule

    @rule(dtypes=[index, *ints])
    def mul_div_cancel(x: Value, c: Const):
        given(c != 0, fits(x * c))
        return (x * c) // c, x
"""

EPILOG = """\
verdicts:
  proved     correct at every layer, for everything that the layer covers
  refuted    wrong; the evaluator has confirmed the counterexample
  unknown    neither, within the budget
  vacuous    the rule says nothing: it never applies, or both sides are the same

exit codes:
  0  every rule is proved           2  bad input or wrong usage; the other rules were still verified
  1  a rule is refuted or vacuous   3  a rule is unknown, and nothing is worse
  4  soundline contradicts itself: a bug of soundline
  130  interrupted; the results so far are reported

examples:
  soundline verify my_rules.py
  soundline verify rules/ --filter 'pad_*' --filter shrink
  soundline verify --format sarif --output soundline.sarif
  soundline verify --executor dask://10.0.0.7:8786
  soundline verify --offline                    # from the cache only
  soundline verify --advise my_rules.py         # which condition is missing, or too strong
  soundline verify --law                        # the specification: intervals, findings, decompositions
  soundline verify --engine                     # every rewrite of the engine on a corpus of graphs
  soundline verify --engine --graphs 500 my_rules.py
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR", help="rule files, or folders of them")
    parser.add_argument(
        "--law",
        action="store_true",
        help="prove properties of the specification itself: sound intervals, findings, exact decompositions; "
        "rules only if named",
    )
    parser.add_argument(
        "--engine",
        action="store_true",
        help="run the whole rewrite engine over a corpus of graphs and validate every rewrite that it makes",
    )
    parser.add_argument("--graphs", metavar="N", help="with --engine: random graphs (default: 10,000)")
    parser.add_argument(
        "--corpus",
        action="append",
        choices=("random", "compositions", "onnx"),
        default=[],
        help="with --engine: only this part of the corpus; may be repeated",
    )
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="TEXT",
        help="only rules whose id contains TEXT, or matches it if it has * or ?; may be repeated",
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="of the report (default: text)")
    parser.add_argument("--output", metavar="FILE", help="write the report there instead of standard output")
    parser.add_argument(
        "--jobs",
        metavar="N",
        help="processes (default: one per processor)",
    )
    parser.add_argument(
        "--executor",
        metavar="dask://HOST:PORT",
        help="prove on a running Dask cluster (needs the extra soundline[cluster])",
    )
    parser.add_argument(
        "--budget",
        default="normal",
        metavar="SECONDS|NAME",
        help=f"what one goal may cost: seconds, or {', '.join(BUDGETS)} (default: normal, 30 s)",
    )
    parser.add_argument(
        "--rule-time",
        metavar="SECONDS",
        help="limit for all layers of one rule together (default: 10 goals, 300 s)",
    )
    parser.add_argument("--seed", default="0", metavar="N", help="of the solver's choices (default: 0)")
    parser.add_argument(
        "--advise",
        action="store_true",
        help="after the verdicts: missing conditions of refuted rules, conditions that are too "
        "strong, rules that others cover, rules that may not terminate",
    )
    parser.add_argument(
        "--second",
        action="store_true",
        help="ask for second opinions: small operands, directed floats, and all installed solvers",
    )
    parser.add_argument(
        "--solver",
        action="append",
        default=[],
        metavar="NAME",
        help="also ask this solver: bitwuzla or cvc5 (needs the extra soundline[solvers]); may be repeated",
    )
    parser.add_argument(
        "--offline", action="store_true", help="do not solve: a verdict that is not cached is unknown"
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write cached verdicts")
    parser.add_argument(
        "--reading-time",
        default="30",
        metavar="SECONDS",
        help="limit for reading one rule file (default: 30)",
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="of the text")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress and no table: only findings and the last line"
    )


def run(options: argparse.Namespace) -> int:
    """Judge the rules and write the report; the exit code says how it went."""
    if options.offline and options.no_cache:
        raise UsageError("--offline and --no-cache cannot be combined: there would be no verdicts")
    if options.executor and (options.offline or options.law):
        raise UsageError(
            f"--executor proves rules, so it cannot be combined with {'--offline' if options.offline else '--law'}"
        )
    if options.offline and options.advise:
        raise UsageError("--offline cannot be combined with --advise, whose results are not cached")
    if options.law and options.offline:
        raise UsageError("--offline cannot be combined with --law, whose results are not cached")
    opinions = _opinions(options)
    if (options.graphs or options.corpus) and not options.engine:
        raise UsageError("--graphs and --corpus need --engine")
    target = _target(options.output)
    on_stdout = options.format == "text" and target is None
    console = _console(sys.stdout if on_stdout else sys.stderr, options.color)
    if options.engine:
        from soundline.verify.engine.cli import run_command

        return run_command(options, console, None if on_stdout else lambda text: _write(text, target))
    cache = None if options.no_cache or opinions else Cache()  # whoever is asked today says so today
    settings = replace(_settings(options, cache), opinions=opinions)
    report = law = None
    if options.paths or not options.law:
        found = named(options.paths) if options.paths else published()
        with _progress(console, options.quiet) as progress:
            report = verify(found, settings, progress)
        report = replayed_in_c(report, settings.jobs)
    if options.law and not (report is not None and report.interrupted):
        law = _law(settings, console, options.quiet)
    if on_stdout:
        _show(report, law, console, table=not options.quiet)
    else:
        _write(_rendered(report, law, options.format), target)
        for line in _last_lines(report, law):
            console.print(line, style="bold", soft_wrap=True, highlight=False)
    spent = "" if report is None or options.quiet else in_words(report.costs)
    if spent:
        console.print(spent, style="dim", soft_wrap=True, highlight=False)
    if cache is not None and cache.broken:
        print(f"soundline: note: verdicts could not be cached ({cache.broken})", file=sys.stderr)
    return _together(report, law).exit_code


def _opinions(options: argparse.Namespace) -> tuple[str, ...]:
    """Who is asked for a second opinion, all of them there."""
    if not (options.second or options.solver):
        return ()
    if options.offline or (options.law and not options.paths):
        raise UsageError("--second and --solver need rules to prove, and cannot be combined with --offline")
    from soundline.verify.second.opinions import chosen

    return chosen(options.second, options.solver)


def _settings(options: argparse.Namespace, cache: Cache | None) -> Settings:
    """How the campaign runs, as the options say."""
    return Settings(
        jobs=_value("--jobs", processes_of, options.jobs) if options.jobs else processors(),
        effort=replace(
            _value("--budget", effort_of, options.budget), seed=_value("--seed", seed_of, options.seed)
        ),
        offline=options.offline,
        cache=cache,
        filters=tuple(options.filter),
        advise=options.advise,
        reading_seconds=_value("--reading-time", seconds_of, options.reading_time),
        rule_seconds=_value("--rule-time", seconds_of, options.rule_time) if options.rule_time else None,
        executor=options.executor,
    )


def _law(settings: Settings, console: Console, quiet: bool) -> LawReport:
    """Meet the law's own obligations, with progress."""
    from soundline.verify.campaigns.law import LawSettings, check_law

    with _progress(console, quiet) as progress:
        return check_law(LawSettings(settings.jobs, settings.effort, settings.filters), progress)


def _show(report: Report | None, law: LawReport | None, console: Console, *, table: bool) -> None:
    if report is not None:
        show(report, console, table=table)
    if law is not None:
        from soundline.verify.reports.law import show as show_law

        show_law(law, console, table=table)


def _last_lines(report: Report | None, law: LawReport | None) -> list[str]:
    lines = [] if report is None else [last_line(report)]
    if law is not None:
        from soundline.verify.reports.law import last_line as last_line_of_law

        lines.append(last_line_of_law(law))
    return lines


def _together(report: Report | None, law: LawReport | None) -> Report:
    """Rules and law as one report."""
    first = report or Report((), (), 0.0)
    if law is None:
        return first
    second = law.as_report()
    return Report(
        (*first.rules, *second.rules),
        first.problems,
        first.seconds + second.seconds,
        first.interrupted or second.interrupted,
        first.advice,
        first.costs,
    )


def _value(option: str, read: Callable[[str], T], text: str) -> T:
    """The value of an option; what is wrong with it is said with its name."""
    try:
        return read(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}") from None


class _Console(Console):
    """A console that says so when its reader has left, instead of ending the program itself."""

    def on_broken_pipe(self) -> None:
        """Raise ``BrokenPipeError``."""
        raise BrokenPipeError


def _progress(console: Console, quiet: bool) -> Lines:
    live = console.is_terminal and console.file.isatty() and not console.is_dumb_terminal
    return (Live if live else Lines)(console, lines=not quiet)


def _console(stream: TextIO, color: str) -> Console:
    """A console on a stream; where that is no terminal, lines are as wide as in a file."""
    wide = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    force = True if color == "always" else None
    plain = color == "never"
    return _Console(file=stream, width=wide, force_terminal=force, no_color=plain or None, highlight=False)


def _rendered(report: Report | None, law: LawReport | None, form: str) -> str:
    if form == "text":
        return _as_text(report, law)
    if form == "json":
        from soundline.verify.reports.as_json import render as render_json

        return render_json(report or Report((), (), 0.0), law)
    if form == "sarif":
        from soundline.verify.reports.sarif import render
    else:
        from soundline.verify.reports.junit import render
    return render(_together(report, law))


def _as_text(report: Report | None, law: LawReport | None) -> str:
    from soundline.verify.reports.law import render as render_law
    from soundline.verify.reports.text import render

    parts = [*([] if report is None else [render(report)]), *([] if law is None else [render_law(law)])]
    return "\n".join(parts)


def _target(output: str | None) -> Path | None:
    """Where the report goes; refused before any work where nothing can be written there."""
    if output is None or output == "-":
        return None
    target = Path(output)
    if target.is_dir():
        raise UsageError(f"--output {output} is a directory")
    if not target.parent.is_dir():
        raise UsageError(f"--output {output}: there is no directory {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"--output {output} cannot be written")
    return target


def _write(text: str, target: Path | None) -> None:
    if target is None:
        sys.stdout.write(text)
        return
    try:
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"--output {target} cannot be written: {error.strerror}") from error
