"""
The ledger of mutants
=====================

What became of each mutant, kept between runs in the cache folder of the platform, so that a run goes on where the last
one stopped. An entry holds as long as what it rests on is unchanged: a killed mutant, the module and the test that
killed it; a surviving one, the module and all its tests.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

Status = Literal["killed", "timeout", "survived", "true"]
"""`timeout`: it did not end in time, which is noticed too. `true`: a changed rule that is as true as the first."""

_TABLES = """
create table if not exists outcomes (
    mutant text primary key, status text, killer text, rests_on text,
    line integer, before text, after text, seconds real
);
create table if not exists notes (key text primary key, value text);
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutant, which line it changes and how, and the test that killed it."""

    status: Status
    line: int
    before: str
    after: str
    killer: str = ""
    """The test that failed; for a rule, the verdict; empty where the module could not be imported any more."""
    seconds: float = 0.0


class Ledger:
    """Outcomes by the digest of the mutant. A file that cannot be opened costs the memory, not the run."""

    def __init__(self, file: Path | None) -> None:
        self.lock = Lock()
        self.connection = self._open(file)

    @staticmethod
    def _open(file: Path | None) -> sqlite3.Connection:
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(file or ":memory:", check_same_thread=False)
            connection.executescript(_TABLES)
        except (OSError, sqlite3.Error):
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            connection.executescript(_TABLES)
        return connection

    def get(self, mutant: str) -> tuple[Outcome, str] | None:
        """The outcome and the digest of what it rests on."""
        columns = "status, line, before, after, killer, seconds, rests_on"
        with self.lock, closing(self.connection.cursor()) as cursor:
            row = cursor.execute(f"select {columns} from outcomes where mutant = ?", (mutant,)).fetchone()
        return None if row is None else (Outcome(*row[:-1]), row[-1])

    def put(self, mutant: str, outcome: Outcome, rests_on: str) -> None:
        """Keep an outcome."""
        row = (mutant, outcome.status, outcome.killer, rests_on, outcome.line, outcome.before, outcome.after)
        with self.lock:
            self.connection.execute(
                "insert or replace into outcomes values (?, ?, ?, ?, ?, ?, ?, ?)", (*row, outcome.seconds)
            )
            self.connection.commit()

    def note(self, key: str) -> dict[str, float] | None:
        """Numbers that were noted under a key."""
        with self.lock, closing(self.connection.cursor()) as cursor:
            row = cursor.execute("select value from notes where key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put_note(self, key: str, value: dict[str, float]) -> None:
        """Note some numbers."""
        with self.lock:
            self.connection.execute("insert or replace into notes values (?, ?)", (key, json.dumps(value)))
            self.connection.commit()

    def close(self) -> None:
        """Write what is left."""
        with self.lock:
            self.connection.close()
