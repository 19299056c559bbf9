"""
The ledger of judged programs
=============================

What the court of the machine found of each program, kept between runs in the cache folder of the platform, so that a
run goes on where the last one stopped. An entry holds as long as what it rests on is unchanged: the meaning of the law,
the machine, the readings and the generator. Comments and prose are no part of that.
"""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from soundline.verify.verdicts.sameness import digest

_TABLES = """
create table if not exists programs (version text, seed integer, entry text, primary key (version, seed));
create table if not exists notes (key text primary key, value text);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What was found of one program."""

    seed: int
    kind: str
    changes: tuple[str, ...] = ()
    outcome: str = ""
    """See `machine_judge.Outcome`."""
    ids: tuple[str, ...] = ()
    """The hazards for which the machine refuses it."""
    reason: str = ""
    """Why a refused program shows nothing wrong."""
    communicates: bool = False
    """Whether threads communicate through asynchronous operations."""
    exhaustive: bool = False
    """Whether all interleavings were tried."""
    schedules: int = 0
    """How many states or interleavings were tried."""
    witnessed: tuple[str, ...] = field(default=())
    """The hazards that a wrong interleaving was shown for."""
    milliseconds: int = 0

    @staticmethod
    def read(text: str) -> Entry:
        """An entry from its text."""
        known = {f.name for f in fields(Entry)}
        given: dict[str, Any] = json.loads(text)
        found: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if k in known
        }
        return Entry(**found)


class Ledger:
    """Entries by version and seed. A file that cannot be opened costs the memory, not the run."""

    def __init__(self, file: Path | None) -> None:
        self.connection = self._open(file)

    @staticmethod
    def _open(file: Path | None) -> sqlite3.Connection:
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(file or ":memory:")
            connection.executescript(_TABLES)
        except (OSError, sqlite3.Error):
            connection = sqlite3.connect(":memory:")
            connection.executescript(_TABLES)
        return connection

    def put(self, version: str, entries: Iterable[Entry]) -> None:
        """Keep some entries."""
        rows = [(version, e.seed, json.dumps(asdict(e))) for e in entries]
        with self.connection:
            self.connection.executemany("insert or replace into programs values (?, ?, ?)", rows)

    def entries(self, version: str) -> Iterator[Entry]:
        """The entries of a version, by seed."""
        with closing(self.connection.cursor()) as cursor:
            query = "select entry from programs where version = ? order by seed"
            for (text,) in cursor.execute(query, (version,)):
                yield Entry.read(text)

    def note(self, key: str) -> object | None:
        """What was noted under a key."""
        with closing(self.connection.cursor()) as cursor:
            row = cursor.execute("select value from notes where key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put_note(self, key: str, value: object) -> None:
        """Note something."""
        with self.connection:
            self.connection.execute("insert or replace into notes values (?, ?)", (key, json.dumps(value)))

    def close(self) -> None:
        """Write what is left."""
        self.connection.close()


PARTS = (
    "spec/spork/synchronization/barriers.py",
    "spec/spork/machine/*.py",
    "spec/spork/synchronization/fences.py",
    "spec/spork/library/*.py",
    "spec/spork/interleavings/*.py",
    "spec/spork/readings/*.py",
    "spec/spork/synchronization/rings.py",
    "spec/spork/language/scopes.py",
    "spec/spork/static/*.py",
    "spec/spork/synchronization/timelines.py",
    "spec/spork/synchronization/visibility.py",
    "tests/trials/machine/changes.py",
    "tests/trials/machine/generator.py",
    "verify/findings/instructions.py",
    "tests/trials/machine/judge.py",
    "tests/trials/machine/page.py",
    "tests/trials/machine/reasons.py",
    "tests/trials/machine/skeletons.py",
    "tests/trials/machine/soup.py",
    "tests/trials/machine/verdicts.py",
)
"""What an entry rests on."""


@cache
def version(root: Path | None = None) -> str:
    """The digest of what entries rest on."""
    found = root or Path(__file__).resolve().parents[2]
    files = sorted(f for part in PARTS for f in found.glob(part))
    return digest("".join(f"{f.name} {meaning(f.read_text('utf-8'))}" for f in files))


def meaning(source: str) -> str:
    """A module without its prose."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [s for s in body if not _is_prose(s)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_prose(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
