"""What random rules have shown of the prover, from the result that `python -m trials.attack` wrote."""

from __future__ import annotations

import json
from pathlib import Path

from rst import code, escape, table

RESULT = Path(__file__).resolve().parents[2] / "benchmarks/results/attack.json"


def attack() -> str:
    """How many random rules the prover was asked about, what it said, and every one that it called proved wrongly."""
    if not RESULT.exists():
        return "No result is committed; ``python -m trials.attack`` makes one.\n"
    result = json.loads(RESULT.read_text())
    rules = result["rules"]
    wrong = result["wrongly_proved"]
    said = (
        f"**Of {rules['total']:,} random rules {rules.get('proved', 0):,} were proved, and inputs against "
        f"{len(wrong) or 'none'} of these were found.** {rules.get('refuted', 0):,} were refuted."
    )
    rows = [(escape(name), f"{count:,}") for name, count in rules.items() if name != "total"]
    parts = [said, "", table(("verdict", "rules"), rows)]
    for title, found in (("Wrongly proved", wrong), ("Not seen to be wrong", result["missed"])):
        if found:
            parts.append(table((title, "shown by"), [(str(m["number"]), code(m["shown"])) for m in found]))
    return "\n".join(parts)
