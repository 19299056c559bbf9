"""
Intervals of bitwise ops
========================

Xor, Or and And are functions of bits, so their rows run on symbolic machine words: the row of the law and the law of
the op, on bit vectors of the width of each dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import z3

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import DType
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.law.replays import Operand, refutation
from soundline.verify.law.schema import Outcome
from soundline.verify.law.symbols import Paths, Truth, between
from soundline.verify.smt.goals.solving import Budget, check


class Word:
    """Any word of a fixed width, signed or not."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Any, signed: bool, paths: Paths) -> None:
        self.term = term
        self.signed = signed
        self.paths = paths

    def _of(self, function: Callable[[Any, Any], Any], other: Any) -> Word:
        return Word(function(self.term, self._term(other)), self.signed, self.paths)

    def _term(self, other: Any) -> Any:
        return other.term if isinstance(other, Word) else z3.BitVecVal(int(other), self.term.size())

    def _truth(self, signed: Any, unsigned: Any, other: Any) -> Truth:
        return Truth((signed if self.signed else unsigned)(self.term, self._term(other)), self.paths)

    def __xor__(self, other: Any) -> Word:
        return self._of(lambda a, b: a ^ b, other)

    def __or__(self, other: Any) -> Word:
        return self._of(lambda a, b: a | b, other)

    def __and__(self, other: Any) -> Word:
        return self._of(lambda a, b: a & b, other)

    def __lt__(self, other: Any) -> Truth:
        return self._truth(lambda a, b: a < b, z3.ULT, other)

    def __le__(self, other: Any) -> Truth:
        return self._truth(lambda a, b: a <= b, z3.ULE, other)

    def __gt__(self, other: Any) -> Truth:
        return self._truth(lambda a, b: a > b, z3.UGT, other)

    def __ge__(self, other: Any) -> Truth:
        return self._truth(lambda a, b: a >= b, z3.UGE, other)

    def __eq__(self, other: Any) -> Any:
        return Truth(self.term == self._term(other), self.paths)


def bitwise(op: Op, dtype: DType, budget: Budget) -> Outcome:
    """The row of a bitwise op at one dtype."""
    premises: list[Any] = []
    paths = Paths(premises, budget)
    names = [(f"lo{k}", f"x{k}", f"hi{k}") for k in range(2)]
    words = [tuple(Word(z3.BitVec(n, dtype.bits), dtype.signed, paths) for n in triple) for triple in names]
    premises += [(lo <= x).term for lo, x, _ in words] + [(x <= hi).term for _, x, hi in words]
    sources = [SimpleNamespace(dtype=dtype, ends=between(lo, hi)) for lo, _, hi in words]
    node = SimpleNamespace(op=op, src=tuple(sources), dtype=dtype, arg=None)

    def asked() -> Any:
        row: Any = MIN_MAX[op](node, lambda s: s.ends)  # type: ignore[arg-type,attr-defined]
        return row, ELEMENTWISE[op](dtype, words[0][1], words[1][1])

    for path in paths.run(asked):
        known, value = path.result
        outside = z3.Or((value < known.lo).term, (value > known.hi).term)
        answer = check([*premises, *path.conditions, outside], None, budget)
        if answer.status == "unknown":
            return Outcome("unknown", "", detail=answer.reason)
        if answer.status == "sat":
            found = [[_element(answer.model, dtype, n) for n in triple] for triple in names]
            shown = refutation(op, [Operand(dtype, Bounds(lo, hi), x) for lo, x, hi in found])
            if shown is None:
                return Outcome("unknown", "", detail="internal: replay disagrees with the solver's model")
            return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)
    return Outcome("proved", f"all intervals, all words of {dtype.bits} bits")


def _element(model: Any, dtype: DType, name: str) -> int:
    found = model.eval(z3.BitVec(name, dtype.bits), model_completion=True)
    return int(found.as_signed_long() if dtype.signed else found.as_long())
