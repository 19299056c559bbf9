"""
The transcript cache
====================

A layer that was decided once need not be decided again while the rule, the law, the prover and the solver are the same.
Each result is a file of its own with a checksum, written in one step; a file that does not read back is as good as
absent. A proof holds under any budget; a verdict that more effort could change is reused only where no more is offered.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soundline.verify.effort import Effort
from soundline.verify.sameness import digest, fingerprint
from soundline.verify.verdict_json import layer_from_json, layer_to_json
from soundline.verify.verdicts import LayerResult

SCHEMA = 1
FOLDER_VARIABLE = "SOUNDLINE_CACHE_DIR"
"""The environment variable that names another folder for the cache."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a result is about. The id is the rule's: a counterexample names it in the test that it carries."""

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
        try:
            entry = json.loads(self._file(key).read_bytes())
            content = entry["content"]
            if entry["checksum"] != _checksum(content):
                return None
            result = layer_from_json(content["result"])
            spent = Effort(content["rlimit"], content["seconds"])
            same_rule = content["rule"] == key.rule
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if result.verdict in ("proved", "vacuous"):
            return result
        if not spent.covers(effort) or (result.counterexample is not None and not same_rule):
            return None
        return result

    def put(self, key: Key, effort: Effort, result: LayerResult) -> None:
        """Keep a result. A folder that cannot be written costs the cache, not the run."""
        content = {
            "rule": key.rule,
            "rlimit": effort.rlimit,
            "seconds": effort.seconds,
            "result": layer_to_json(result),
        }
        try:
            _write(self._file(key), {"checksum": _checksum(content), "content": content})
        except OSError as error:
            self.broken = f"{self.folder}: {error.strerror or error}"

    def _file(self, key: Key) -> Path:
        name = key.name
        return self.folder / name[:2] / f"{name[2:]}.json"


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
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(entry, stream)
        os.replace(temporary, file)  # noqa: PTH105  # the atomic step
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
