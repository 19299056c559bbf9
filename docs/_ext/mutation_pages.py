"""How well the tests hold the law, from the result that `make verify-deep` wrote."""

from __future__ import annotations

import json
from math import floor
from pathlib import Path
from typing import Any

from rst import block, code, escape, table, title
from trials.mutation.judged import JUDGED
from trials.mutation.targets import LEFT_OUT, TARGETS

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks/results/mutation.json"
OF_RULES = ROOT / "benchmarks/results/rule_mutation.json"


def mutation() -> str:
    """The score in total and for each target, what survived, what was judged, what is left out."""
    if not RESULT.exists():
        return "No result is committed; ``make verify-deep`` makes one.\n"
    result = json.loads(RESULT.read_text())
    parts = [_summary(result), title("Targets", "-"), _targets(result["targets"])]
    parts += [title("Survivors", "-"), *_survivors(result["survivors"])]
    parts += [title("Judged", "-"), _judged(), title("Left out", "-"), _left_out()]
    return "\n".join(parts)


def rule_mutation() -> str:
    """Every mutant of every shipped rule: the score for each file, what survived, what is as true as the rule."""
    if not OF_RULES.exists():
        return "No result is committed; ``python -m trials.mutation.rule_campaign`` makes one.\n"
    result = json.loads(OF_RULES.read_text())
    total = result["total"]
    score = (
        "no" if total["score"] is None else f"{floor(1000 * total['score']) / 10} %"
    )  # no better than it is
    said = (
        f"**{score} of {total['tried'] - total['as_true']:,} wrong mutants are not proved**; {total['as_true']:,} "
        f"more are as correct as the rule. {total['tried']:,} of {total['possible']:,} possible mutants were tried.\n"
    )
    names = (
        "possible",
        "tried",
        "refuted",
        "says_nothing",
        "no_rule",
        "as_true",
        "undecided",
        "wrongly_proved",
    )
    rows = [
        (
            f":source:`{path}`",
            *(str(found[n]) for n in names),
            "—" if found["score"] is None else f"{100 * found['score']:.1f} %",
        )
        for path, found in result["files"].items()
    ]
    header = ("file", *(n.replace("_", " ") for n in names), "score")
    parts = [said, table(header, rows, css="status")]
    for heading, key in (("Undecided or wrongly proved", "survivors"), ("As true as the rule", "equivalent")):
        found = [
            (code(m["rule"]), code(m["before"]), code(m["after"]), escape(m["why"])) for m in result[key]
        ]
        parts.append(title(heading, "~"))
        parts.append(table(("rule", "before", "after", "why"), found) if found else "None.\n")
    return "\n".join(parts)


def _summary(result: dict[str, Any]) -> str:
    total = result["total"]
    score, threshold = 100 * total["score"], 100 * result["threshold"]
    outcome = "which is enough" if total["score"] >= result["threshold"] else "which is too few"
    return (
        f"**{score:.1f} % of {total['tried'] - total['excused']} mutants were noticed**, {outcome}: the run fails "
        f"below {threshold:.0f} %. They are a random sample of {total['possible']} possible ones, about as many of "
        "each target, so that a small target counts as much as a large one. The score is that of the tests "
        "at the time of the run; they may notice more by now. This command repeats it:\n\n"
        + block("sh", result["command"])
    )


def _targets(targets: dict[str, Any]) -> str:
    names = ("possible", "tried", "killed", "timeout", "survived", "excused")
    tests = {t.path: ", ".join(f":source:`{_short(f)} <{f}>`" for f in t.tests) for t in TARGETS}
    rows = [
        (
            _place(path),
            *(str(found[n]) for n in names),
            "—" if found["score"] is None else f"{100 * found['score']:.0f} %",
            tests.get(path, "the prover" if (ROOT / path).exists() else "the tests of what it became"),
        )
        for path, found in targets.items()
    ]
    header = (
        "target",
        "mutants",
        "tried",
        "killed",
        "timed out",
        "survived",
        "excused",
        "score",
        "held now by",
    )
    return table(header, rows, css="status")


def _short(test: str) -> str:
    return Path(test).stem.removeprefix("test_")


def _survivors(survivors: list[dict[str, Any]]) -> list[str]:
    if not survivors:
        return ["None of those tried.\n"]
    return [
        f"{_place(s['file'])}, line {s['line']} when it was taken\n\n"
        + block("diff", f"- {s['before']}\n+ {s['after']}")
        for s in survivors
    ]


def _place(path: str) -> str:
    return f":source:`{path}`" if (ROOT / path).exists() else code(path)


def _judged() -> str:
    said = "Survivors that are equivalent programs, or that differ in a way that no test should fix.\n\n"
    rows = [(_place(j.path), code(j.before), code(j.after), escape(j.why)) for j in JUDGED]
    return said + table(("module", "before", "after", "why"), rows) if rows else "Nothing yet.\n"


def _left_out() -> str:
    rows = [(_place(path), escape(why)) for path, why in LEFT_OUT.items()]
    return table(("module", "why"), rows, widths=(30, 70)) if rows else "Nothing.\n"
