"""
Cases by remainder
==================

Where all divisors are small numbers, a variable is n·k + r for their common multiple n: in the case of one r, products
divide out as polynomials do. Every case is asked by itself; the obligation is met if all of them are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import lcm
from typing import Any, ClassVar

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.goals.obligations import Obligation, is_whole
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.integers.terms import Residue

GREATEST = 48
"""The greatest common multiple of divisors for which cases are made."""

MOST_CASES = 150
"""So many cases are asked at most."""


class Cases(Integers):
    """As `Integers`, with each variable n·k + r for the n and r of the case."""

    NAME: ClassVar[str] = "integers by remainders"

    def __init__(self, obligation: Obligation, n: int, case: Mapping[str, int]) -> None:
        super().__init__(obligation)
        self.n, self.case = n, case

    def variable(self, name: str, dtype: DType) -> Any:
        """n·k + r in the range of its dtype, or a Bool."""
        if name not in self.case:
            return super().variable(name, dtype)
        x = self.fresh(name) * self.int(self.n) + self.int(self.case[name])
        if dtype is not index:
            self.facts += [x >= self.int(int(dtype.min)), x <= self.int(int(dtype.max))]
        return Residue(x, True)


def cases(obligation: Obligation) -> Iterator[Cases] | None:
    """The algebra of each case; None where there are none to make, or too many."""
    n = _modulus(obligation.nodes())
    names = [name for name, v in obligation.variables.items() if is_whole(v.dtype)]
    others = [v for v in obligation.variables.values() if not is_whole(v.dtype) and v.dtype is not bool_]
    if n is None or not names or others or n ** len(names) > MOST_CASES:
        return None
    return (
        Cases(obligation, n, dict(zip(names, case, strict=True)))
        for case in product(range(n), repeat=len(names))
    )


def _modulus(nodes: list[UOp]) -> int | None:
    """The least common multiple of all divisors, if they are numbers and it is small."""
    divisors = [n.src[1] for n in nodes if n.op in (Op.Mod, Op.Idiv, Op.CMod, Op.CDiv)]
    if not divisors or not all(d.op is Op.Const and d.arg.value != 0 for d in divisors):
        return None
    n = lcm(*(int(d.arg.value) for d in divisors))
    return n if 1 < n <= GREATEST else None
