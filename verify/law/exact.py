"""
Decompositions that are exact
=============================

An op that the table calls decomposed without a licence equals its decomposition bit for bit. The prover that judges
rules is asked for each, at every dtype that the op takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from soundline.spec.dtypes import DType, all_dtypes
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import UOp, param
from soundline.spec.values.decompositions import DECOMPOSITIONS, EXACT
from soundline.verify.law.schema import Obligation, Outcome
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.scalars import equivalent

DEFINED_SO = (Op.Exp2, Op.Log2, Op.Sin, Op.Pow, Op.Threefry)
"""Ops whose value is by definition that of their program: nothing is left to prove."""


def decompositions() -> Iterator[Obligation]:
    """One obligation for each op and dtype."""
    for op in EXACT:
        if op in DEFINED_SO:
            continue
        for dtype in all_dtypes:
            if _node(op, dtype) is not None:
                statement = f"{TABLE[op].title} equals {TABLE[op].decomposition}"
                yield Obligation(
                    f"decomposition {op.name}", f"{dtype}", statement, partial(_equal, op, dtype)
                )


def _params(op: Op, dtype: DType) -> tuple[UOp, ...]:
    return tuple(param(k, dtype) for k in range(len(TABLE[op].sources)))


def _node(op: Op, dtype: DType) -> UOp | None:
    try:
        node = UOp(op, _params(op, dtype))
        DECOMPOSITIONS[op](*node.src)
    except IllFormed:
        return None
    return node


def _equal(op: Op, dtype: DType, budget: Budget) -> Outcome:
    node = _node(op, dtype)
    assert node is not None
    found = equivalent(node, DECOMPOSITIONS[op](*node.src), (), budget)
    if found.verdict == "proved":
        return Outcome("exhaustive" if found.covered.endswith("inputs") else "proved", found.covered)
    if found.verdict == "refuted":
        return Outcome("refuted", found.covered, counterexample=found.counterexample)
    return Outcome("unknown", found.covered, detail=found.detail or found.verdict)
