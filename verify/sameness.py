"""
What makes two rules the same
=============================

Evidence about a rule may be reused for any rule of the same structure: the same sides, conditions, kinds of variables,
dtypes and licences. Where a rule stands, what it is called and what its docstring says play no part. Evidence also
rests on the law and the prover themselves, and on the solver, so these have a fingerprint too.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.op_schema import Op
from soundline.spec.rules import Rule
from soundline.spec.terms import Term, Variable

_BYSTANDERS = frozenset(
    (
        *(
            "__init__",
            "__main__",
            "blame",
            "cache",
            "campaign",
            "cases",
            "cli",
            "cli_bench",
            "cli_compile",
            "cli_run",
            "cli_verify",
            "cluster",
            "cluster_worker",
            "court",
            "deep",
            "explain",
            "explain_results",
            "findings",
        ),
        *(
            "loader",
            "metering",
            "numbered",
            "problems",
            "program_inputs",
            "program_texts",
            "progress",
            "programs",
            "pytest_plugin",
            "replaying",
            "rule_files",
            "sameness",
            "stage_checks",
            "syntax",
        ),
        *(
            "report",
            "report_json",
            "report_junit",
            "report_sarif",
            "report_text",
            "verdict_json",
            "worker",
            "workers",
        ),
    )
)
"""Modules of the court that no verdict depends on; every other one is part of the fingerprint."""

_PART_OF_VERDICTS = ("overflow", "trial", "wording")
"""Of the advice on rules, what every verdict says; the rest is said of verdicts."""


def structure(stated: Rule) -> str:
    """The digest of all that a proof of the rule depends on."""
    terms = _Terms()
    described = {
        "variables": [[name, terms.of(kind)] for name, kind in stated.kinds.items()],
        "given": [terms.of(condition) for condition in stated.given],
        "left": terms.of(stated.left),
        "right": terms.of(stated.right),
        "dtypes": terms.of(stated.dtypes),
        "classes": {name: terms.of(c) for name, c in stated.dtype_classes.items()},
        "licences": sorted(stated.licences),
        "max_rank": stated.max_rank,
    }
    return digest(json.dumps(described, sort_keys=True))


class _Terms:
    """Digests of terms; a shared subterm is read once."""

    def __init__(self) -> None:
        self.known: dict[int, str] = {}

    def of(self, part: Any) -> str:
        """The digest of a term, or the text of what else may stand in one."""
        if isinstance(part, Term):
            if id(part) not in self.known:
                inner = [type(part).__name__, self.of(part.head), *(self.of(a) for a in part.args)]
                self.known[id(part)] = digest(json.dumps(inner))
            return self.known[id(part)]
        if isinstance(part, tuple | list):
            return json.dumps([self.of(p) for p in part])
        if isinstance(part, Variable):
            return f"{part.kind}{self.of(part.inside)}"
        if isinstance(part, DType):
            return f"dtype {astuple(part)}"
        if isinstance(part, Op):
            return f"op {part.name}"
        return f"{type(part).__name__} {part!r}"


def digest(text: str | bytes) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


@cache
def fingerprint() -> str:
    """The digest of everything else that evidence rests on: the law, the prover and the version of the solver."""
    here = Path(__file__).resolve().parent
    others = ("mutation", "machine_")
    court = [
        f
        for f in here.rglob("*.py")
        if f.stem not in _BYSTANDERS
        and not f.stem.startswith(others)
        and (f.parent.name != "advice" or f.stem in _PART_OF_VERDICTS)
        and f.parent.name not in ("engine", "attack")  # these have keys of their own
    ]
    files = [*here.parent.glob("spec/*.py"), *court]
    sources = {str(f.relative_to(here.parent)): digest(f.read_bytes()) for f in files}
    return digest(json.dumps([solver_version(), sources], sort_keys=True))


@cache
def solver_version() -> str:
    """The version of Z3, read without starting it."""
    try:
        return version("z3-solver")
    except PackageNotFoundError:  # built from source, without metadata
        import z3

        return str(z3.get_full_version())
