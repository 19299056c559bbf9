"""
Solving
=======

Linear algebra beyond products: determinants, inverses, linear systems, the Cholesky factor, powers of matrices, norms.
The last two axes are the matrix, the others a batch; sizes must be known. Narrow floats are computed in float32.

A matrix of n rows is eliminated in n steps, each of which is one Function of the matrix and its number: it is compiled
once and runs n times, and what it computes is a composition like any other, so gradients pass. Rows are exchanged for
the greatest pivot. Values never raise errors: a singular matrix has the determinant 0, and infinities and NaN in its
inverse; a matrix that is not positive definite has NaN in its Cholesky factor. Eigenvalues, singular values and QR have
no finite or no short composition and are not provided.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Self

from soundline.impl.arrays.operands import Axes, common_shape
from soundline.impl.arrays.promotion import accumulated, floating
from soundline.impl.arrays.sizes import is_size
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.core.values import Operand
from soundline.impl.tensors.methods.creation import Creation
from soundline.impl.tensors.methods.divisions import Divisions
from soundline.impl.tensors.methods.movement import refuse
from soundline.spec.dtypes import int64


class Solving(Creation, Divisions):
    """Determinants, inverses, systems, factors and norms."""

    __slots__ = ()

    # Determinants and systems -------------------------------------------------------------------------------------

    def det(self) -> Self:
        """The determinant: the product of the pivots, times the sign of the exchanges. Gradients where it is not 0."""
        triangle, sign = self._square("det")._triangular()
        return (triangle.diagonal().prod(-1) * sign).cast(floating(self.dtype))

    def slogdet(self) -> tuple[Self, Self]:
        """The sign of the determinant, and the logarithm of its magnitude: 0 and -∞ of a singular matrix."""
        triangle, sign = self._square("slogdet")._triangular()
        pivots, own = triangle.diagonal(), floating(self.dtype)
        return (pivots.sign().prod(-1) * sign).cast(own), pivots.abs().log().sum(-1).cast(own)

    def inv(self) -> Self:
        """The inverse, as the solution of A·X = I."""
        x = self._square("inv")
        eye = self.eye(x.shape[-1], dtype=x.dtype).expand(*x.shape)
        return x._solved(eye).cast(floating(self.dtype))

    def solve(self, other: Operand) -> Self:
        """X of A·X = B, where A is this tensor [..., n, n], and B is [..., n, m] or a vector [n].

        Gauss and Jordan's elimination, rows exchanged for the greatest pivot. Batches broadcast.
        """
        x, b, vector = self._system("solve", other)
        found = x._solved(b).cast(floating(self.dtype))
        return found.squeeze(-1) if vector else found

    def solve_triangular(self, other: Operand, upper: bool = False, unitriangular: bool = False) -> Self:
        """X of A·X = B by substitution, where A is triangular: its other triangle is not read.

        With `unitriangular` its diagonal is taken for ones.
        """
        x, b, vector = self._system("solve_triangular", other)
        if upper:
            x, b = x.flip((-2, -1)), b.flip(-2)
        if unitriangular:
            x = (x.place(-1) == x.place(-2)).where(1.0, x)
        for k in range(x.shape[-1]):
            b = _step(_substituted)(x, b, _number(self, k))
        found = (b.flip(-2) if upper else b).cast(floating(self.dtype))
        return found.squeeze(-1) if vector else found

    def cholesky(self, upper: bool = False) -> Self:
        """The lower triangle L with L·Lᵀ = A of a positive definite matrix, or with `upper` its transpose.

        Only the lower triangle of A is read, so a gradient has only that.
        """
        x = self._square("cholesky")
        for k in range(x.shape[-1]):
            x = _step(_factored)(x, _number(self, k))
        found = x.tril().cast(floating(self.dtype))
        return found.mT if upper else found

    def matrix_power(self, exponent: int) -> Self:
        """The matrix times itself, by repeated squaring; of a power below 0 the inverse is taken first."""
        x = self._square("matrix_power") if exponent < 0 else self._matrix("matrix_power")
        if exponent < 0:
            return x.inv().matrix_power(-exponent).cast(floating(self.dtype))
        result: Self | None = None
        square = x
        for digit in reversed(f"{exponent:b}"):
            if digit == "1":
                result = square if result is None else result @ square
            square = square @ square
        return self.eye(x.shape[-1], dtype=x.dtype).expand(*x.shape) if result is None else result

    # Norms --------------------------------------------------------------------------------------------------------

    def norm(self, axis: Axes = None, keepdim: bool = False, ord: float | str = 2) -> Self:  # noqa: A002  # numpy's name
        """The norm of the elements over axes: (Σ|x|^p)^(1/p), by default √Σx².

        `ord` is p: a number, 0 for how many are not 0, ±∞ for the greatest or least magnitude, or ``"fro"`` for 2. As
        torch's vector norm has it, it is that of all elements of a matrix too. At 0 its derivatives are 0.
        """
        power = 2 if ord == "fro" else ord
        if isinstance(power, str) or power != power:
            raise refuse("norm", 'a number, or "fro", as ord', repr(ord))
        if power == 2:
            return super().norm(axis, keepdim)
        size = self.cast(accumulated(floating(self.dtype))).abs()
        if math.isinf(power):
            found = size.max(axis, keepdim) if power > 0 else size.min(axis, keepdim)
        elif power == 0:
            found = size.ne(0.0).cast(size.dtype).sum(axis, keepdim)
        elif power == 1:
            found = size.sum(axis, keepdim)
        else:
            found = size.pow(float(power)).sum(axis, keepdim)._root(lambda total: total.pow(1.0 / power))
        return found.cast(floating(self.dtype))

    # Inside -------------------------------------------------------------------------------------------------------

    def _matrix(self, where: str) -> Self:
        if self.ndim < 2 or self.shape[-1] != self.shape[-2] or is_size(self.shape[-1]):
            raise refuse(where, "a square matrix, or a batch of them, of a known size", self.shape)
        return self

    def _square(self, where: str) -> Self:
        """A square matrix in the dtype that it is computed in."""
        return self._matrix(where).cast(accumulated(floating(self.dtype)))

    def _system(self, where: str, other: Operand) -> tuple[Self, Self, bool]:
        """A and B in one dtype, over one batch, B as a matrix; and whether it was a vector."""
        x, b = self._square(where), self.__class__(other)
        vector = b.ndim == 1
        b = b.unsqueeze(-1) if vector else b
        if b.ndim < 2 or b.shape[-2] != x.shape[-1]:
            raise refuse(where, f"{x.shape[-1]} rows on the right, as {self.shape} has", b.shape)
        batch = common_shape([x.shape[:-2], b.shape[:-2]])
        home = accumulated(floating(b.dtype))
        home = home if home.bits > x.dtype.bits else x.dtype
        return x.cast(home).expand(*batch, *x.shape[-2:]), b.cast(home).expand(*batch, *b.shape[-2:]), vector

    def _solved(self, b: Self) -> Self:
        n = self.shape[-1]
        whole = self.cat([self, b], axis=-1)
        for k in range(n):
            whole = _step(_reduced)(whole, _number(self, k))
        return whole[..., n:]

    def _triangular(self) -> tuple[Self, Self]:
        """The upper triangle of the elimination, and the sign of the exchanges."""
        x, sign = self, self.ones(self.shape[:-2], dtype=self.dtype)
        for k in range(self.shape[-1]):
            x, sign = _step(_eliminated)(x, sign, _number(self, k))
        return x, sign


def _number(like: Solving, k: int) -> Any:
    return like.__class__(k, dtype=int64)


# Steps: functions of a matrix and of their number k -------------------------------------------------------------


@functools.cache
def _step(body: Callable[..., Any]) -> Callable[..., Any]:
    """A step as a Function, compiled once for all numbers."""
    found: Callable[..., Any] = function(inline=False)(body)
    return found


def _row(x: Any, at: Any) -> Any:
    """The row at a place: the one element of each column that is chosen, and exactly that."""
    return x._chosen(x.place(-2) == at, -2).unsqueeze(-2)


def _column(x: Any, at: Any) -> Any:
    return x._chosen(x.place(-1) == at, -1).unsqueeze(-1)


def _exchanged(x: Any, k: Any) -> tuple[Any, Any, Any]:
    """A matrix with the row of the greatest pivot in place k; that row, and where it was."""
    column = _column(x, k)
    candidates = (column.place(-2) >= k).where(column.abs(), -1.0)
    best = candidates.argmax(-2, keepdim=True)
    here, there = _row(x, k), _row(x, best)
    rows = x.place(-2)
    return (rows == k).where(there, (rows == best).where(here, x)), there, best


def _reduced(x: Any, k: Any) -> Any:
    """One step of Gauss and Jordan: column k of the matrix becomes that of the identity."""
    x, row, _ = _exchanged(x, k)
    column = _column(x, k)
    unit = row / _column(row, k)
    rest = x - (column.place(-2) == k).where(0.0, column) * unit
    return (x.place(-2) == k).where(unit, rest)


def _eliminated(x: Any, sign: Any, k: Any) -> tuple[Any, Any]:
    """One step of Gauss: zeros below the pivot k; a column of zeros is left as it is."""
    x, row, best = _exchanged(x, k)
    column, pivot = _column(x, k), _column(row, k)
    none = pivot.eq(0.0)
    factor = ((column.place(-2) > k) & ~none).where(column / none.where(1.0, pivot), 0.0)
    swapped = best.reshape(sign.shape) != k
    return x - factor * row, swapped.where(-sign, sign)


def _factored(x: Any, k: Any) -> Any:
    """One step of Cholesky: column k is the factor's, and what it explains is taken from the rest."""
    column = _column(x, k)
    pivot = _row(column, k).sqrt()
    factor = (column.place(-2) >= k).where(column / pivot, 0.0)
    rest = x - (factor.place(-2) > k).where(factor, 0.0) * factor.mT
    return (x.place(-1) == k).where(factor, (x.place(-1) > k).where(rest, x))


def _substituted(x: Any, b: Any, k: Any) -> Any:
    """One step of substitution: unknown k, and the rest of the right-hand side without it."""
    column = _column(x, k)
    known = _row(b, k) / _row(column, k)
    rest = b - (column.place(-2) > k).where(column, 0.0) * known
    return (b.place(-2) == k).where(known, rest)
