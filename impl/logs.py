"""
Logging
=======

soundline logs under the names ``soundline.compile`` (stages, with what they leave and the time that they take),
``soundline.runtime`` (the C compiler and the compile cache), ``soundline.search`` and ``soundline.profile``, through
Python's `logging`; nothing is printed unless the application, or ``SOUNDLINE_LOG``, asks for it. The variable holds a
level, or levels of single loggers: ``info`` or ``compile=debug,runtime=info``.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from soundline.spec.errors import UsageError

VARIABLE: Final = "SOUNDLINE_LOG"
ROOT: Final = "soundline"
LEVELS: Final = ("debug", "info", "warning", "error")
FORMAT: Final = "%(name)s: %(message)s"
_Made = TypeVar("_Made")

logging.getLogger(ROOT).addHandler(logging.NullHandler())


def logger(subject: str) -> logging.Logger:
    """The logger of a subject, such as ``compile``."""
    return logging.getLogger(f"{ROOT}.{subject}")


def levels(text: str) -> Iterator[tuple[str, int]]:
    """The loggers that a text names, and their levels; raises `UsageError` where it says something else."""
    for part in filter(None, (p.strip() for p in text.split(","))):
        subject, _, level = part.rpartition("=")
        if level.lower() not in LEVELS:
            raise UsageError(
                f"{VARIABLE} names the level {level!r}", hint=f"one of {', '.join(LEVELS)}, or compile=debug"
            )
        name = f"{ROOT}.{subject.removeprefix(f'{ROOT}.')}" if subject and subject != ROOT else ROOT
        yield name, getattr(logging, level.upper())


def show(text: str) -> None:
    """Show on standard error what the loggers that `text` names say."""
    wanted = list(levels(text))
    root = logging.getLogger(ROOT)
    if wanted and not any(isinstance(h, _Shown) for h in root.handlers):
        handler = _Shown()
        handler.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(handler)
    for name, level in wanted:
        logging.getLogger(name).setLevel(level)


class _Shown(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what is standard error at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        self.setStream(sys.stderr)
        super().emit(record)


def show_what_is_asked_for() -> None:
    """Follow ``SOUNDLINE_LOG``; what cannot be followed is a warning, since nothing else depends on it."""
    try:
        show(os.environ.get(VARIABLE, ""))
    except UsageError as error:
        warnings.warn(f"{error.message} ({error.hint})", RuntimeWarning, stacklevel=2)


class Stopwatch:
    """Runs steps one after the other, and keeps how long each took."""

    def __init__(self, subject: str) -> None:
        self._logger = logger(subject)
        self.seconds: dict[str, float] = {}

    def __call__(
        self, name: str, step: Callable[[], _Made], told: Callable[[_Made], str] | None = None
    ) -> _Made:
        """The result of a step; at level debug the log describes it with `told`, and says how long it took."""
        began = time.perf_counter()
        made = step()
        self.seconds[name] = taken = time.perf_counter() - began
        if self._logger.isEnabledFor(logging.DEBUG):
            about = f"{told(made)}, " if told else ""
            self._logger.debug("%s: %s%.2f ms", name, about, taken * 1e3)
        return made
