"""
The transcript cache
====================

A layer that was decided once need not be decided again while the rule, the law, the prover and the solver are the same.
Each result is a file of its own with a checksum, written in one step; a file that cannot be read back is treated as
absent. A proof holds under any budget; a verdict that more effort could change is reused only where no more is offered.

The cache stays bounded by itself. Entries are spread evenly over 256 folders, and a folder that holds too many loses
those that were used least recently, a few at a time and while new ones are written.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from soundline.verify.verdicts.as_json import layer_from_json, layer_to_json
from soundline.verify.verdicts.effort import Effort
from soundline.verify.verdicts.sameness import digest, fingerprint
from soundline.verify.verdicts.verdict import LayerResult

SCHEMA = 1
_WRITING = ".writing-"
FOLDER_VARIABLE = "SOUNDLINE_CACHE_DIR"
"""The environment variable that names another folder for the cache."""
MOST = 1 << 17
"""How many entries the cache holds, about. One takes a block of the disk, mostly 4 KiB."""
FOLDERS = 256
DAY = 86400.0
"""Seconds after which a use of an entry is noted anew, and a half-written file is one that nobody will finish."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a result is about. Rules of one structure share a result, whose counterexample takes the id of each."""

    structure: str
    layer: str
    dtype: str
    rule: str
    seed: int

    @property
    def name(self) -> str:
        """The file name: one digest of everything that decides the result."""
        parts = [SCHEMA, fingerprint(), self.structure, self.layer, self.dtype, self.seed]
        return digest(json.dumps(parts))


class Cache:
    """Results by key, in a folder of the user."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or default_folder()) / f"verdicts-{SCHEMA}"
        self.broken: str | None = None
        """Why nothing can be written, once that was seen."""

    def get(self, key: Key, effort: Effort) -> LayerResult | None:
        """The result that this effort would find, if it is known."""
        file = self._file(key)
        try:
            entry = json.loads(file.read_bytes())
            content = entry["content"]
            if entry["checksum"] != _checksum(content):
                return None
            result = layer_from_json(content["result"])
            spent = Effort(content["rlimit"], content["seconds"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        lasting = result.verdict in ("proved", "vacuous")
        if not lasting and not spent.covers(effort):
            return None
        _note_use(file)
        if result.counterexample is None:
            return result
        return replace(result, counterexample=result.counterexample.named(key.rule))

    def put(self, key: Key, effort: Effort, result: LayerResult) -> None:
        """Keep a result. If the folder cannot be written, the result is not cached, and the run goes on."""
        content = {
            "rlimit": effort.rlimit,
            "seconds": effort.seconds,
            "result": layer_to_json(result),
        }
        file = self._file(key)
        try:
            _write(file, {"checksum": _checksum(content), "content": content})
        except OSError as error:
            self.broken = f"{self.folder}: {error.strerror or error}"
            return
        if int(key.name[-1], 16) == 0:  # looking at one entry in sixteen is often enough
            prune(file.parent)

    def _file(self, key: Key) -> Path:
        name = key.name
        return self.folder / name[:2] / f"{name[2:]}.json"


def prune(folder: Path, most: int = MOST // FOLDERS) -> int:
    """Remove entries of one folder until so many are left, the least recently used first; how many were removed.

    Others may read, write and prune meanwhile: an entry that is gone is one that is not known.
    """
    used: list[tuple[float, str]] = []
    removed = 0
    with contextlib.suppress(OSError), os.scandir(folder) as inside:
        for entry in inside:
            with contextlib.suppress(OSError):
                age = time.time() - entry.stat().st_mtime
                if entry.name.startswith(_WRITING) and age > DAY:
                    removed += _removed(entry.path)
                elif entry.name.endswith(".json") and entry.is_file():
                    used.append((-age, entry.path))
    for _, path in sorted(used)[: max(0, len(used) - most)]:
        removed += _removed(path)
    return removed


def _removed(path: str) -> bool:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return False
    return True


def _note_use(file: Path) -> None:
    """Mark an entry as used, at most once a day: reading must stay cheap."""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > DAY:
            os.utime(file)


def default_folder() -> Path:
    """The folder of the cache: the user's own choice, or the platform's place for such things."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("soundline", appauthor=False))


def _checksum(content: Any) -> str:
    return digest(json.dumps(content, sort_keys=True))


def _write(file: Path, entry: dict[str, Any]) -> None:
    """Write the whole file in one step, so that no reader ever sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=_WRITING)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(entry, stream)
        os.replace(temporary, file)  # noqa: PTH105  # the atomic step
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
