"""
The ledger of the trials
========================

What campaigns found of each case, kept between runs in the cache folder of the platform, so that a run goes on where
the last one stopped. A finding holds as long as what it rests on is unchanged, which its version says: of a program of
the machine, the meaning of the law, the machine, the readings and the generator. Comments and prose are no part of it.
"""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from soundline.verify.verdicts.sameness import digest

_TABLE = """
pragma synchronous = off;
create table if not exists findings (version text, key, finding text, primary key (version, key));
"""
"""Each finding is written at once, which costs little where the disk is not waited for."""


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


def entries(ledger: Ledger, version: str) -> Iterator[Entry]:
    """The entries of a version, by seed."""
    known = {f.name for f in fields(Entry)}
    for given in ledger.all(version):
        found: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if k in known
        }
        yield Entry(**found)


class Ledger:
    """Findings in JSON, by a version and by a key. A file that cannot be opened costs the memory, not the run."""

    def __init__(self, file: Path | None) -> None:
        self.lock = Lock()
        self.connection = self._open(file)

    @staticmethod
    def _open(file: Path | None) -> sqlite3.Connection:
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(file or ":memory:", check_same_thread=False, timeout=60)
            connection.executescript(_TABLE)
        except (OSError, sqlite3.Error):
            return Ledger._open(None)
        return connection

    def _rows(self, query: str, *values: str | int) -> list[Any]:
        with self.lock, closing(self.connection.cursor()) as cursor:
            return [json.loads(text) for (text,) in cursor.execute(query, values)]

    def get(self, version: str, key: str | int) -> Any | None:
        """What was found of one case."""
        found = self._rows("select finding from findings where version = ? and key = ?", version, key)
        return found[0] if found else None

    def all(self, version: str) -> list[Any]:
        """What was found of all cases of a version, by their keys."""
        return self._rows("select finding from findings where version = ? order by key", version)

    def put(self, version: str, key: str | int, finding: object) -> None:
        """Keep what was found of a case."""
        with self.lock, self.connection:
            row = (version, key, json.dumps(finding))
            self.connection.execute("insert or replace into findings values (?, ?, ?)", row)

    def close(self) -> None:
        """Write what is left."""
        with self.lock:
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
