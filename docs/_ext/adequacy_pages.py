"""How the abstract machine fared on trial, from the result that `make verify-deep` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rst import block, bullets, code, escape, law, table, title

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks/results/adequacy.json"


def adequacy() -> str:
    """What was counted: programs, hazards, refusals that show nothing, kinds, and mistakes made in the machine."""
    if not RESULT.exists():
        return "No result is committed; ``make verify-deep`` makes one.\n"
    result = json.loads(RESULT.read_text())
    parts = [title("What was found", "-")]
    if "programs" in result:
        parts += [_said(result["programs"], result["command"]), _numbers(result["programs"])]
        parts += [title("Hazard by hazard", "-"), _HAZARDS, _hazards(result["hazards"])]
        parts += [title("Refused, and nothing to see", "-"), _REFUSALS]
        parts.append(_numbers(result["refusals_that_show_nothing"]))
        parts += [title("Kinds of programs", "-"), _numbers(result["kinds_of_programs"])]
    if "slips" in result:
        parts += [title("Mistakes made in the machine", "-"), _SLIPS, _slips(result["slips"])]
        for key in ("slips_that_survived", "slips_judged_equivalent"):
            if result.get(key):
                parts += [f"{_words(key).capitalize()}:\n", bullets(code(s) for s in result[key])]
    return "\n".join(parts)


_HAZARDS = (
    "For each hazard: how many programs the machine rejects for it, and for how many of these, without "
    "other hazards, a wrong interleaving is found.\n"
)
_REFUSALS = (
    "Programs that the machine rejects although no interleaving is wrong, with the reason. A race that "
    "stores the same value twice is still a race.\n"
)
_SLIPS = (
    "A mistake is noticed by this comparison, if the changed machine accepts a program with a wrong "
    "interleaving or rejects a program that is correct by construction, or else by a unit test.\n"
)


def _said(programs: Mapping[str, Any], command: str) -> str:
    """The one sentence that matters."""
    wrong, refused = (
        programs[k] for k in ("accepted_though_wrong", "refused_though_correct_by_construction")
    )
    none = not wrong and not refused
    found = "**No disagreement**" if none else f"**{wrong + refused} disagreements**"
    return (
        f"{found} in {programs['judged']:,} programs and {programs['interleavings']:,} interleavings: "
        f"{wrong} programs were accepted although an interleaving is wrong, {refused} rejected although "
        f"they are correct by construction. This command repeats or continues the run:\n\n{block('sh', command)}"
    )


def _numbers(found: Mapping[str, Any]) -> str:
    rows = [(escape(_words(name)), _number(name, value)) for name, value in found.items()]
    return table(("what", "how many"), rows, widths=(74, 26)) if rows else "None.\n"


def _hazards(found: Mapping[str, Mapping[str, int]]) -> str:
    rows = [(law(name), f"{n['refused']:,}", f"{n['shown_wrong']:,}") for name, n in found.items()]
    return table(("hazard", "programs refused", "shown to go wrong"), rows, widths=(40, 30, 30))


def _slips(found: Mapping[str, Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    rows = [(_words(kind), *(_number(n, row.get(n)) for n in names)) for kind, row in found.items()]
    return table(("", *map(_words, names)), rows)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _number(name: str, value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, float) or "share" in name:
        return (
            f"{100 * value:.2f} %" if 0.999 < value < 1 else f"{100 * value:.1f} %"
        )  # nearly all is not all
    return f"{value:,}"
