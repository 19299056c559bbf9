"""
Linear algebra
==============

Matrix products, and sums of products named by letters.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Self

from soundline.impl.analysis import sums
from soundline.impl.arrays.operands import broadcast, is_number
from soundline.impl.arrays.products import matrix_product
from soundline.impl.arrays.promotion import accumulated, promoted
from soundline.impl.tensors.core.arithmetic import cast, typed
from soundline.impl.tensors.core.values import Operand, as_graph
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.methods.reductions import Reductions
from soundline.impl.tensors.methods.selection import Selection
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op


class LinearAlgebra(Selection, Reductions):
    """Matrix products."""

    __slots__ = ()

    def _product(self, a: Operand, b: Operand) -> Self:
        if is_number(a) or is_number(b):
            raise refuse("@", "at least one axis on both sides", "a number")
        return self.of(matrix_product(*typed(a, b)))

    def __matmul__(self, other: Operand) -> Self:
        return self._product(self, other)

    def __rmatmul__(self, other: Operand) -> Self:
        return self._product(other, self)

    def matmul(self, other: Operand) -> Self:
        """The matrix product, batched, and with vectors on either side, as in numpy; dtypes promote.

        Products and sums are rounded in the dtype, of narrow floats in float32 and once at the end; the sums ascend.
        """
        return self._product(self, other)

    def dot(self, other: Operand) -> Self:
        """The matrix product of tensors of one or two axes."""
        return self._product(self, other)

    def outer(self, other: Operand) -> Self:
        """The products of all elements of two vectors, as a matrix."""
        y = self.__class__(other)
        if (self.ndim, y.ndim) != (1, 1):
            raise refuse("outer", "two vectors", (self.shape, y.shape))
        return self.unsqueeze(1) * y

    def linear(self, weight: Operand, bias: Operand | None = None) -> Self:
        """x[…, I] · weight[O, I]ᵀ + bias[O], as torch's layer has it."""
        w = self.__class__(weight)
        if w.ndim != 2 or not self.ndim or self.shape[-1] != w.shape[1]:
            raise refuse("linear", "x[…, I] and weight[O, I]", (self.shape, w.shape))
        product = self @ w.T
        return product if bias is None else product + bias

    def tril(self, diagonal: int = 0) -> Self:
        """The lower triangle of the last two axes, up to a diagonal; zeros above it."""
        return self._triangle("tril", diagonal, lower=True)

    def triu(self, diagonal: int = 0) -> Self:
        """The upper triangle of the last two axes, from a diagonal on; zeros below it."""
        return self._triangle("triu", diagonal, lower=False)

    def _triangle(self, where: str, diagonal: int, *, lower: bool) -> Self:
        if self.ndim < 2:
            raise refuse(where, "at least two axes", self.shape)
        column, last = self.place(-1), self.place(-2) + diagonal
        inside = column <= last if lower else column >= last
        return inside.where(self, self.constant(0))

    def diagonal(self, offset: int = 0) -> Self:
        """The diagonal of the last two axes, as the last axis; `offset` counts to the right."""
        if self.ndim < 2:
            raise refuse("diagonal", "at least two axes", self.shape)
        rows, columns = self.shape[-2:]
        top, left = max(-offset, 0), max(offset, 0)
        n = max(0, min(rows - top, columns - left))
        square = self.narrow(-2, min(top, rows), n).narrow(-1, min(left, columns), n)
        eye = square.place(-1) == square.place(-2)
        return square._chosen(eye, -2)

    def trace(self) -> Self:
        """The sum of the diagonal of the last two axes."""
        return self.diagonal().sum(-1)

    @classmethod
    def einsum(cls, formula: str, *operands: Operand) -> Self:
        """The sum of products that a formula names, as ``"bij,bjk->bik"``; dtypes promote.

        Each letter is an axis. A letter that the result lacks is summed over, ascending; without ``->`` the result has
        the letters that occur once, in alphabetical order. ``...`` stands for axes that broadcast. A letter twice in an
        operand takes its diagonal.
        """
        given = [as_graph(x) for x in operands]
        terms, result = _formula(formula, [len(g.shape or ()) for g in given])
        if not given:
            raise refuse("einsum", "at least one operand", "none")
        dtype = given[0].dtype
        for g in given[1:]:
            dtype = promoted(dtype, g.dtype)
        wide = accumulated(dtype)
        letters = [*result, *dict.fromkeys(c for t in terms for c in t if c not in result)]
        laid = [cls.of(cast(g, wide))._laid(t, letters, formula) for g, t in zip(given, terms, strict=True)]
        parts = broadcast(*(x.uop for x in laid))
        product = parts[0]
        for part in parts[1:]:
            product = Op.Mul(product, part)
        axes = list(range(len(result), len(letters)))
        total = sums.reduced(product, Op.Max if dtype is bool_ else Op.Add, axes) if axes else product
        return cls.of(cast(total, dtype))._dropped(axes, keepdim=False)

    def _laid(self, term: str, letters: Sequence[str], formula: str) -> Self:
        """An operand with one axis for each letter, in their order; size 1 where it lacks the letter."""
        x, names = self, list(term)
        for letter in dict.fromkeys(term):
            while names.count(letter) > 1:
                first = names.index(letter)
                second = names.index(letter, first + 1)
                if x.shape[first] != x.shape[second]:
                    raise refuse("einsum", f"equal sizes for {letter} in {formula!r}", self.shape)
                x = x.movedim((first, second), (-2, -1)).diagonal()
                names = [n for k, n in enumerate(names) if k not in (first, second)] + [letter]
        order = sorted(range(len(names)), key=lambda k: letters.index(names[k]))
        x = x.permute(order)
        present = {names[k]: x.shape[n] for n, k in enumerate(order)}
        return x.reshape(tuple(present.get(c, 1) for c in letters))


def _formula(formula: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of every operand and of the result; dots are given letters of their own."""
    text = formula.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    letters = set(text) - set(",->.")
    if len(terms) != len(ranks) or not letters <= set(string.ascii_letters):
        raise refuse("einsum", f"letters, for each of {len(ranks)} operands", repr(formula))
    spare = [c for c in map(chr, range(0x3B1, 0x3CA)) if c not in letters]
    found, most = [], 0
    for term, rank in zip(terms, ranks, strict=True):
        named = len(term.replace("...", ""))
        dots = rank - named
        if ("..." in term and dots < 0) or ("..." not in term and dots) or "." in term.replace("...", "", 1):
            raise refuse("einsum", f"one letter for each of {rank} axes", repr(term))
        most = max(most, dots)
        found.append(term.replace("...", "".join(spare[len(spare) - dots :])))
    common = "".join(spare[len(spare) - most :])
    if arrow:
        result = right.replace("...", common)
    else:
        every = "".join(found)
        result = common + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in common))
    if len(set(result)) != len(result) or not set(result) <= set("".join(found)) | set(common):
        raise refuse("einsum", "letters of the operands, each once, in the result", repr(formula))
    return found, result
