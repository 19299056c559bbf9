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
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Term, Variable

_LAW = "spec"
_NOT_OF_RULES = "spec/spork"
"""The half of the law that no rewrite rule speaks of."""
_PROVER = ("smt", "judging", "second", "law")
"""The rooms of the court in which verdicts are found."""
_WHAT_A_VERDICT_IS = ("verdict", "layers", "effort")
"""The modules of this package on which verdicts depend; the others store and write verdicts."""


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
    root = here.parent.parent
    law = [f for f in (root / _LAW).rglob("*.py") if not f.is_relative_to(root / _NOT_OF_RULES)]
    prover = [f for room in _PROVER for f in (root / "verify" / room).rglob("*.py")]
    files = sorted([*law, *prover, *(here / f"{name}.py" for name in _WHAT_A_VERDICT_IS)])
    sources = {str(f.relative_to(root)): digest(f.read_bytes()) for f in files}
    return digest(json.dumps([solver_version(), sources], sort_keys=True))


@cache
def solver_version() -> str:
    """The version of Z3, read without starting it."""
    try:
        return version("z3-solver")
    except PackageNotFoundError:  # built from source, without metadata
        import z3

        return str(z3.get_full_version())
