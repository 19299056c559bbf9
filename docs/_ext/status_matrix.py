"""The status matrix: op × {typing, derived properties, evaluator, adjoint, SMT, C, tests}, from the live registries."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import probes
from citations import tests_by_citation
from rst import table

from soundline.spec.gradients.table import ADJOINTS, Nothing, Passes, Refused, Through
from soundline.spec.ops.table import TABLE, Entry, Op
from soundline.verify.smt.elements import denotation
from soundline.verify.smt.values.algebras import SMT, UNINTERPRETED

ROOT = Path(__file__).resolve().parents[2]


SHORT = {"bit vectors": "BV", "all": "leaf"}


def typing(op: Op) -> str | None:
    """The constraints of the entry, each a sentence with its predicate; how many there are."""
    return str(len(TABLE[op].constraints))


def derived(op: Op) -> str | None:
    """Each of the five laws is a function, unless it says that there is none."""
    valued = TABLE[op].laws["min_max"] != "none"
    return "all five" if (TABLE[op].bounds is not None) == valued else None


def evaluator(op: Op) -> str | None:
    """The evaluator gives a smallest program with the op its value, or its effect on memory."""
    if not probes.evaluates(op):
        return None
    return "effect" if op in probes.EFFECTS else "value"


_ADJOINT: dict[type, str] = {
    Passes: "a program",
    Through: "reverse mode",
    Nothing: "passes nothing",
    Refused: "an error",
}


def adjoint(op: Op) -> str | None:
    """The table of adjoints says what the op hands to its sources in reverse mode: a program, nothing, or an error."""
    return _ADJOINT[type(ADJOINTS[op])] if op in ADJOINTS else None


def smt(op: Op) -> str | None:
    """The prover has a law for it: in an algebra of scalars, or as a map of symbolic positions."""
    found = [SHORT.get(name, name) for name in SMT.get(op, ())]
    if op in denotation.LAWS and op not in SMT:
        found.append("positions")
    if op in UNINTERPRETED:
        return "uninterpreted"
    return ", ".join(found) or None


def c(op: Op) -> str | None:
    """The road takes a smallest program with the op to C (lowered), or makes the op on the way and renders it."""
    if probes.lowered(op):
        return "lowered"
    return "rendered" if op in probes.rendered() else None


COLUMNS: dict[str, Callable[[Op], str | None]] = {
    "typing": typing,
    "derived properties": derived,
    "evaluator": evaluator,
    "adjoint": adjoint,
    "SMT": smt,
    "C": c,
}


def _cells(op: Op) -> list[str]:
    return [_cell(column(op)) for column in COLUMNS.values()]


def _cell(text: str | None) -> str:
    return f":yes:`{text}`" if text else ":no:`not yet`"


def row(op: Op) -> str:
    """The row of one op, for its page."""
    return table((*COLUMNS, "tests"), [(*_cells(op), _tests(TABLE[op]))], css="status")


def matrix() -> str:
    """All rows."""
    rows = [(f":ref:`{e.title} <op-{e.slug}>`", *_cells(e.op), _tests(e)) for e in TABLE.values()]
    return table(("op", *COLUMNS, "tests"), rows, css="status")


def summary() -> str:
    """How many ops have each column."""
    rows = []
    for name, column in COLUMNS.items():
        have = [op for op in TABLE if column(op)]
        lacking = ", ".join(TABLE[op].title for op in TABLE if op not in have)
        rows.append(
            (
                name,
                f"{len(have)} of {len(TABLE)}",
                (inspect.getdoc(column) or "").split("\n")[0],
                lacking or "—",
            )
        )
    return table(("column", "ops", "means", "not yet"), rows, widths=(15, 12, 40, 33))


def _tests(entry: Entry) -> str:
    """How many tests cite an id of the entry, and how many use the op."""
    found = tests_by_citation()
    citing = {t for key, tests in found.items() if key.startswith(f"uop-{entry.slug}-") for t in tests}
    naming = set(found.get(f"Op.{entry.op.name}", []))
    return f"{len(citing | naming)}"


def entry_link(entry: Entry) -> str:
    """A link to the entry: the line of its module that opens with its op."""
    for path in sorted((ROOT / "spec/ops").glob("*/*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(rf"    Op\.{entry.op.name},$", line):
                where = path.relative_to(ROOT)
                return f":source:`{where} <{where}:{number}>`"
    raise LookupError(f"no entry of {entry.op.name} in spec/ops")
