"""
Conformance groups
==================

What an implementation may claim: which ops and ids belong to each group, and what the suites of others count. The
group of an op is decided in one place, `GROUP_OF_KIND` with the exceptions in `GROUP_OF_OP`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rst import code, law, prose, table, title

from soundline.spec.ops.table import PROPERTIES, TABLE, Entry, Op

ROOT = Path(__file__).resolve().parents[2]
SUITES = ROOT / "tests" / "conformance"
ONNX = SUITES / "onnx_cases.json"
GRAPHS = SUITES / "tinygrad_counts.json"


@dataclass(frozen=True, slots=True)
class Claim:
    """A group: its name, the groups that a claim of it includes, and what is claimed."""

    name: str
    needs: tuple[str, ...]
    text: str


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "elementwise",
        (),
        "Constants, placeholders, and every elementwise op on every dtype and every operand, decomposed ops included. "
        "This is the base: every other claim includes it.",
    ),
    Claim(
        "movement",
        ("elementwise",),
        "Shapes, views and reinterpretation, over numbers and over symbolic sizes, at rank 0 and at sizes 0 and 1; the "
        "markers, which are identities.",
    ),
    Claim(
        "reduce",
        ("elementwise", "movement"),
        "Reductions along axes; for floats in the defined order. Reductions over Ranges are included for "
        "those who also claim memory and order.",
    ),
    Claim("call", ("elementwise",), "Functions (by substitution), opaque calls, tuples."),
    Claim(
        "memory and order",
        ("elementwise", "movement"),
        "Storage, versions of it, effects, loops of every AxisType, and the error for unordered effects.",
    ),
    Claim(
        "codegen",
        ("elementwise", "movement", "memory and order"),
        "Grids, barriers, blocks, atomic adds, tensor cores, truncating division. The ops of this group are outside "
        "the core of the language and may change; Ins and Custom have no meaning, so a "
        "program that contains them has no value.",
    ),
)

GROUP_OF_KIND: dict[str, str] = {
    "movement": "movement",
    "reduce": "reduce",
    "call": "call",
    "load": "memory and order",
    "store": "memory and order",
    "ordering": "memory and order",
    "elementwise": "elementwise",
    "decomposed": "elementwise",
    "marker": "movement",
    "codegen": "codegen",
}
"""The conformance group of the ops of one group of the op table."""

GROUP_OF_OP: dict[Op, str] = {
    Op.Const: "elementwise",
    Op.Param: "elementwise",
    Op.Binary: "movement",
    Op.Buffer: "memory and order",
}
"""The source ops, which are a group of the table and no claim."""


def group_of(entry: Entry) -> str:
    """The conformance group of an op."""
    return GROUP_OF_OP.get(entry.op) or GROUP_OF_KIND[entry.group]


def link(entry: Entry) -> str:
    """A link to the conformance group of an op."""
    name = group_of(entry)
    return f":ref:`conformance group {name} <conformance-{name.replace(' ', '-')}>`"


def members(name: str) -> list[Entry]:
    """The ops of a group, in the order of the table."""
    return [e for e in TABLE.values() if group_of(e) == name]


def ids(entry: Entry) -> list[str]:
    """Every id of an op that a claim covers."""
    return [
        *(entry.law_id(name) for name in ("sem", "src", "arg")),
        *(entry.law_id(name) for name in PROPERTIES),
        entry.law_id("adjoint"),
        *(c.id for c in entry.constraints),
    ]


def groups() -> str:
    """One section a group: the claim, and its ops with their ids."""
    parts = []
    for claim in CLAIMS:
        entries = members(claim.name)
        decisions = ", ".join(law(d) for d in sorted({d for e in entries for d in e.decisions})) or "none"
        count = sum(len(ids(e)) for e in entries)
        includes = f"Includes *{', '.join(claim.needs)}*. " if claim.needs else ""
        parts += [
            f".. _conformance-{claim.name.replace(' ', '-')}:\n",
            title(claim.name.capitalize(), "-"),
            f"{prose(claim.text)} {includes}**{len(entries)} ops, {count} ids**. Decisions: {decisions}.\n",
            table(("op", "ids: uop-OP-…"), [_row(e) for e in entries], widths=(22, 78)),
        ]
    return "\n".join(parts)


def _row(entry: Entry) -> tuple[str, str]:
    prefix = f"uop-{entry.slug}-"
    links = [f":ref:`{i.removeprefix(prefix)} <{i}>`" for i in ids(entry)]
    return f":ref:`{entry.title} <op-{entry.slug}>`", " ".join(links)


def summary() -> str:
    """The groups in one table."""
    rows = [
        (
            f":ref:`{c.name} <conformance-{c.name.replace(' ', '-')}>`",
            str(len(members(c.name))),
            str(sum(len(ids(e)) for e in members(c.name))),
            ", ".join(c.needs) or "—",
        )
        for c in CLAIMS
    ]
    total = (f"**{len(TABLE)}**", f"**{sum(len(ids(e)) for e in TABLE.values())}**")
    return table(
        ("group", "ops", "ids", "includes"), [*rows, ("**all**", *total, "")], widths=(30, 12, 12, 46)
    )


def suites() -> str:
    """The suites of tests/conformance: what each holds the law to, and what was counted."""
    counted = _counted()
    files = [SUITES / name for name in counted if (SUITES / name).exists()]
    files += [p for p in sorted(SUITES.glob("test_*.py")) if p not in files and p.name != "test_counts.py"]
    if not files:
        return "This copy of the source has no suites of other projects.\n"
    rows = [
        (f":source:`{p.name} <tests/conformance/{p.name}>`", _says(p), *_counts(p, counted)) for p in files
    ]
    heads = ("suite", "what it holds to what", "cases", "not applicable")
    return "\n".join([table(heads, rows, widths=(20, 38, 12, 30)), onnx()])


def _says(path: Path) -> str:
    """The first sentence of a file."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
    return prose(text.partition(". ")[0])


def _counted() -> dict[str, tuple[int, int, str]]:
    """By file, in order: cases compared, cases that do not apply, and why, as the README of the folder says.

    A test of the folder holds the README to the suites.
    """
    readme = SUITES / "README.md"
    text = readme.read_text() if readme.exists() else ""
    rows = re.findall(r"^\| `(\S+)` \| (\d+) \| (\d+) \| ?(.*?) ?\|$", text, re.MULTILINE)
    found = {name: (int(compared), int(apart), why) for name, compared, apart, why in rows}
    if ONNX.exists():
        both, compiled, reasons = _onnx_counts()
        found["test_onnx.py"] = (both + compiled, sum(reasons.values()), "see below")
    return found


def _counts(path: Path, counted: dict[str, tuple[int, int, str]]) -> tuple[str, str]:
    """How many cases there are, and how many do not apply and why, where that is counted."""
    if path.name not in counted:
        return "not counted", ""
    compared, apart, why = counted[path.name]
    return f"{compared:,}", f"{apart:,}" + (f": {prose(why)}" if why else "")


def _listed() -> dict[str, Any]:
    listed: dict[str, Any] = json.loads(ONNX.read_text())
    return listed


def _onnx_counts() -> tuple[int, int, Counter[str]]:
    """Cases that the evaluator and the compiler pass, those that only the compiler runs, and the others by reason."""
    listed = _listed()
    reasons: Counter[str] = Counter()
    for row in listed["omitted"]:
        reasons[row["reason"]] += len(row["cases"])
    return len(listed["evaluated and compiled"]), len(listed["compiled only"]), reasons


def onnx() -> str:
    """What the list of ONNX cases says, where there is one."""
    if not ONNX.exists():
        return "The cases of ONNX are not counted in this copy of the source.\n"
    listed = _listed()
    both, compiled, reasons = _onnx_counts()
    rows = [
        ("passed, by the evaluator and compiled", str(both)),
        ("passed, compiled only (too large for the evaluator)", str(compiled)),
        *((f"not applicable: {prose(reason)}", str(n)) for reason, n in reasons.most_common()),
        ("**all**", f"**{both + compiled + sum(reasons.values())}**"),
    ]
    heading = title(f"The node tests of {listed['suite']}", "~")
    omitted: dict[str, list[str]] = {}
    for row in listed["omitted"]:
        omitted.setdefault(row["operator"], []).append(f"{len(row['cases'])}: {prose(row['reason'])}")
    every = table(
        ("operator", "cases: why"), [(code(o), "; ".join(w)) for o, w in omitted.items()], widths=(30, 70)
    )
    return f"{heading}\n{table(('case', 'count'), rows, widths=(80, 20))}\nEvery omission, by operator:\n\n{every}"


def graphs() -> str:
    """What the comparison with graphs of tinygrad counted, and every program of it that stands apart."""
    if not GRAPHS.exists():
        return "The graphs of tinygrad are not counted in this copy of the source.\n"
    found: dict[str, Any] = json.loads(GRAPHS.read_text())
    rows = [
        ("agreed with the law", f"{found['agreed']:,}"),
        *((f"differs on purpose, by {law(d)}", str(n)) for d, n in found["differs on purpose"].items()),
        *((f"not importable: {code(ops)}", str(n)) for ops, n in found["not importable"].items()),
    ]
    apart = [
        (
            law(row["decision"]) if "decision" in row else "not importable",
            code(row["program"]),
            prose(row["how"]),
        )
        for row in found["apart"]
    ]
    heading = title(f"Graphs of tinygrad {found['tinygrad']}", "~")
    every = table(("why", "program", "values"), apart, widths=(14, 40, 46))
    return f"{heading}\n{table(('program', 'count'), rows, widths=(80, 20))}\nEvery program apart:\n\n{every}"
