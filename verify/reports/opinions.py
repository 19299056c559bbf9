"""
Replaying counterexamples
=========================

The counterexamples of a report, each computed once more by compiled C, in processes of their own: one that crashes or
does not end is a mistake of ours about one rule, and the others are replayed all the same.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

from soundline.verify.processes import serving
from soundline.verify.reports.report import Report
from soundline.verify.verdicts.as_json import replay_from_json
from soundline.verify.verdicts.verdict import COMPILED, Case, Replay, RuleReport

SECONDS = 60.0
"""How long one replay may take, the start of its process and the compiler included."""

NO_TEXT = Replay(COMPILED, "not run", "the sides have no textual form here")


def replayed_in_c(report: Report, jobs: int = 1) -> Report:
    """The report with a replay by compiled C for each counterexample that it shows."""
    shown = [rule for rule in report.rules if rule.verdict == "refuted" and rule.counterexample is not None]
    if not shown or report.interrupted:
        return report
    workers = min(jobs, len(shown))
    parts = [shown[k::workers] for k in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        done = [rule for part in pool.map(_replay_all, parts) for rule in part]
    new = dict(zip((id(rule) for part in parts for rule in part), done, strict=True))
    return replace(report, rules=tuple(new.get(id(rule), rule) for rule in report.rules))


def replayed(rule: RuleReport) -> RuleReport:
    """One rule's report, with a replay by compiled C where it shows a counterexample."""
    return _replay_all([rule])[0] if rule.counterexample is not None else rule


def _replay_all(rules: Sequence[RuleReport]) -> list[RuleReport]:
    with _Replayer() as replayer:
        return [_with(rule, replayer) for rule in rules]


def _with(rule: RuleReport, replayer: _Replayer) -> RuleReport:
    """The report with one more replay of the counterexample that is shown."""
    shown = rule.counterexample
    if shown is None or any(r.by == COMPILED for r in shown.replays):
        return rule
    said = NO_TEXT if shown.case is None else replayer.ask(shown.case)
    more = replace(shown, replays=(*shown.replays, said))
    layers = tuple(replace(x, counterexample=more) if x.counterexample is shown else x for x in rule.layers)
    return replace(rule, layers=layers)


class _Replayer:
    """A process that replays cases, started when there is one, and again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> _Replayer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, case: Case) -> Replay:
        """What compiled C says of a case."""
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(SECONDS, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(asdict(case)) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            is_late = not late.is_alive()
            late.cancel()
        if answer.endswith("\n"):
            return replay_from_json(json.loads(answer))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        status = self._stop()
        what = f"did not end within {SECONDS:g} s" if is_late else f"ended its process (status {status})"
        return Replay(COMPILED, "disagrees", f"the compiled program {what}")

    @staticmethod
    def _started() -> subprocess.Popen[str]:
        return serving("soundline.verify.second.compiled", text=True)

    def _stop(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        process.kill()
        return process.wait()
