"""
Graph rewriting
===============

The same random graph of integer arithmetic under the same rules: by the engine, with rules of the library, each proved,
and by tinygrad's `graph_rewrite`, with the patterns that say the same. Both give a graph of as many nodes.
"""

from __future__ import annotations

import random
from typing import Any

from soundline.impl.rewriting.engine import rewrite
from soundline.impl.rules.scalars import absorption, identities
from soundline.spec.dtypes import int32
from soundline.spec.uop import Op, UOp, const, param, toposort

NAMES = ("Add", "Sub", "Mul", "Max", "And", "Or", "Xor", "Neg")
RULES = tuple(
    getattr(module, name)
    for module, names in (
        (
            identities,
            (
                "add_zero sub_zero zero_sub mul_one mul_minus_one or_zero and_ones xor_zero neg_neg add_neg sub_neg "
                "neg_sub mul_neg_neg and_self or_self max_self add_sub_cancel sub_add_cancel idiv_one mod_one"
            ),
        ),
        (
            absorption,
            "mul_zero and_zero or_ones xor_self sub_self and_or_absorb or_and_absorb max_max_absorb mod_self idiv_zero",
        ),
    )
    for name in names.split()
)
"""The rules of the library that take part."""

Program = list[tuple[str, Any, Any]]
"""Ops on earlier entries, by position; ("leaf", k, None) and ("const", value, None) are the others."""


def program(count: int, seed: int = 0) -> Program:
    """A graph of about so many operations, drawn so that about one in four is an instance of a rule."""
    draw = random.Random(seed)  # a graph to measure with
    made: Program = [("leaf", k, None) for k in range(64)] + [("const", c, None) for c in (0, 1, -1, 7)]
    constants = range(64, 68)

    def recent() -> int:
        """One of the latest entries that is no constant."""
        found = draw.randrange(max(0, len(made) - 2000), len(made))
        return found if found not in constants else recent()

    while len(made) < count:
        name, a, chance = draw.choice(NAMES), recent(), draw.random()
        b = draw.choice(constants) if chance < 0.2 else a if chance < 0.28 else recent()
        if name in ("Mul", "And") and made[b] == ("const", 0, None):
            b = recent()
        made.append((name, a, None if name == "Neg" else b))
    return made


def ours(drawn: Program) -> UOp:
    """The graph as UOps."""
    made: list[UOp] = []
    for name, a, b in drawn:
        if name == "leaf":
            made.append(param(a, int32))
        elif name == "const":
            made.append(const(a, int32))
        else:
            made.append(UOp(Op[name], tuple(made[k] for k in (a, b) if k is not None)))
    return UOp(Op.Tuple, tuple(made))


def rewritten(graph: UOp) -> UOp:
    """The graph in normal form."""
    return rewrite(graph, RULES).uop


def size(graph: UOp) -> int:
    """How many operations a graph has."""
    return sum(n.op.name in NAMES for n in toposort(graph))
