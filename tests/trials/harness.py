"""
The harness of campaigns
========================

A campaign says which cases there are, what is known of them, and what comes of one. The harness goes through them until
the time is up, on one worker or several, says from time to time how far it is, and gives up what is at hand when it is
interrupted; what was found is in the ledger by then, so that the next run goes on there. Commands share their options,
their exit codes and how they write results.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from soundline.spec.errors import SoundlineError, UsageError
from soundline.verify.verdicts.cache import default_folder
from trials.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"
FOUND, USAGE, INTERRUPTED = 1, 2, 130
EVERY = 60.0
"""Seconds between two lines of progress where there is no terminal."""

T = TypeVar("T")
R = TypeVar("R")


class Campaign(ABC, Generic[T, R]):
    """What a campaign states. Only `judged` is called by several workers at once."""

    @abstractmethod
    def cases(self) -> Iterable[T]:
        """The cases, in the order in which they are taken up."""

    def known(self, case: T) -> R | None:
        """What earlier runs found of a case."""
        return None

    @abstractmethod
    def judged(self, case: T, worker: Any) -> R | None:
        """What comes of a case, which is in the ledger then; None where it is none, or is put off."""

    def heard(self, case: T, found: R | None) -> None:
        """Take in what is known or was found; None where nothing came of a case, or the time was up."""

    def goes_on(self, case: T) -> bool:
        """Whether something may be known of the cases after this one, which was not begun in time."""
        return True

    def progress(self) -> str:
        """How far it is, in words."""
        return ""

    def stop(self) -> None:
        """Give up what is being judged."""


class Bar:
    """How far a campaign is: a bar for the time on a terminal, a line a minute elsewhere. Use it as a context."""

    def __init__(self, console: Console, minutes: float) -> None:
        self.console = console
        self.began = self.spoke = time.monotonic()
        columns = (BarColumn(bar_width=24), TimeRemainingColumn(), TextColumn("{task.description}"))
        self.bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.task = self.bar.add_task("starting", total=60 * minutes)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the bar away."""
        self.bar.stop()

    def tell(self, text: str, aside: str = "") -> None:
        """Say how far it is, and on a terminal what is at hand."""
        now = time.monotonic()
        self.bar.update(self.task, completed=now - self.began, description=f"{text}  [dim]{aside}")
        if text and not self.console.is_terminal and now - self.spoke >= EVERY:
            self.spoke = now
            self.console.print(Text(f"{(now - self.began) / 60:.0f} min: {text}"), soft_wrap=True)


def run(
    campaign: Campaign[T, R],
    minutes: float,
    bar: Bar,
    *,
    most: int | None = None,
    workers: Sequence[Any] = (None,),
) -> None:
    """Take up cases until the time is up, at most so many; a single worker works in this thread."""
    course = _Course(campaign, bar, time.monotonic() + 60 * minutes, most)
    if len(workers) == 1:
        try:
            course.work(workers[0])
        finally:
            campaign.stop()
        return
    with ThreadPoolExecutor(len(workers)) as pool:
        try:  # Thread.join, interrupted, takes a thread for ended that is not (before Python 3.13): wait for results
            ended, _ = wait([pool.submit(course.work, w) for w in workers], return_when=FIRST_EXCEPTION)
        finally:
            course.stopped = True
            campaign.stop()
    for worker in ended:
        worker.result()


@dataclass(eq=False)
class _Course(Generic[T, R]):
    """One run of a campaign."""

    campaign: Campaign[T, R]
    bar: Bar
    deadline: float
    most: int | None
    stopped: bool = False
    begun: int = 0
    lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.cases: Iterator[T] = iter(self.campaign.cases())

    def work(self, worker: Any) -> None:
        """Judge cases until there is none to be begun."""
        while (case := self.fresh()) is not None:
            found = self.campaign.judged(case, worker)
            with self.lock:
                self.hear(case, found)

    def fresh(self) -> T | None:
        """The next case to be judged, once those before it that are known have been heard."""
        with self.lock:
            for case in () if self.stopped else self.cases:
                found = self.campaign.known(case)
                in_time = time.monotonic() < self.deadline and (self.most is None or self.begun < self.most)
                if found is None and in_time:
                    self.begun += 1
                    return case
                self.hear(case, found)
                if found is None and not self.campaign.goes_on(case):
                    break
            self.cases = iter(())
        return None

    def hear(self, case: T, found: R | None) -> None:
        """Tell the campaign, and whoever watches."""
        self.campaign.heard(case, found)
        self.bar.tell(self.campaign.progress())


# commands ---------------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> Any:
        """Raise ``UsageError``."""
        raise UsageError(message, hint=f"{self.prog} --help")


def parser(module: str, description: str, epilog: str, *, minutes: float, output: str) -> Parser:
    """The options that commands share: how long, whether from the beginning, and where the result goes."""
    made = Parser(prog=f"python -m {module}", description=description, epilog=epilog)
    made.add_argument(
        "--minutes", type=positive, default=minutes, metavar="N", help=f"how long ({minutes:g})"
    )
    made.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    made.add_argument("--output", type=Path, metavar="FILE", help=f"where the result goes ({output})")
    return made


def positive(text: str) -> float:
    """A number of minutes."""
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise ValueError
    return minutes


def command(name: str, body: Callable[[], int]) -> int:
    """The exit code of a command; mistakes of its user and interruptions are told in a line."""
    try:
        return body()
    except SoundlineError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return INTERRUPTED


def ledger_of(*, fresh: bool) -> Ledger:
    """The ledger of all campaigns, or an empty one."""
    return Ledger(None if fresh else default_folder() / "trials-1.sqlite")


def write(file: Path, **parts: Any) -> None:
    """Bring parts of a result up to date, and leave the others."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    found = kept | parts
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


def started(module: str, *words: str) -> int:
    """The exit code of a module of the trials, run by another process wherever this one stands."""
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        check=False,
        env=os.environ | {"PYTHONPATH": search_path(ROOT)},
    ).returncode


def search_path(root: Path) -> str:
    """Where a process finds the project in a folder, its trials, and all that this process is told to find."""
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(root / "src"), str(root / "tests"), *([before] if before else [])])
