"""How the abstract machine fared on trial, from the result that `make verify-deep` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rst import code, escape, table, title

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks/results/adequacy.json"


def adequacy() -> str:
    """What was counted, as it stands in the result."""
    if not RESULT.exists():
        return "No result is committed; ``make verify-deep`` makes one.\n"
    return "\n".join(_parts(json.loads(RESULT.read_text())))


def _parts(result: dict[str, Any]) -> list[str]:
    """Numbers and words in one table, each group of them in one of its own."""
    plain = [(escape(_words(k)), _cell(v)) for k, v in result.items() if not isinstance(v, dict | list)]
    parts = [table(("what", "found"), plain, widths=(60, 40))] if plain else []
    for key, value in result.items():
        if isinstance(value, dict) and value:
            parts += [title(_words(key).capitalize(), "-"), _group(value)]
        elif isinstance(value, list) and value:
            parts += [title(_words(key).capitalize(), "-"), "".join(f"* {_cell(v)}\n" for v in value)]
    return parts


def _group(found: dict[str, Any]) -> str:
    """A table; rows that are tables themselves have a column for each of their names."""
    if all(isinstance(v, dict) for v in found.values()):
        names = list(dict.fromkeys(name for v in found.values() for name in v))
        rows = [(_name(k), *(_cell(v.get(name, "")) for name in names)) for k, v in found.items()]
        return table(("", *(_words(n) for n in names)), rows)
    return table(("", ""), [(_name(k), _cell(v)) for k, v in found.items()], widths=(60, 40))


def _name(key: str) -> str:
    return code(key) if "-" in key else escape(_words(key))


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict | list):
        return escape(json.dumps(value))
    return escape(str(value))
