"""
Matrix products
===============

The source's gemm as a composition: (A[…, M, K, 1] · B[…, 1, K, N]) summed over K, ascending. Narrow floats are
multiplied and added in float32 and rounded once; bools are joined by and, or.
"""

from __future__ import annotations

from soundline.impl.analysis import sums
from soundline.impl.arrays.operands import broadcast, shape_of
from soundline.impl.arrays.promotion import accumulated
from soundline.spec.dtypes import DType, bool_
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, reshape


def matrix_product(a: UOp, b: UOp) -> UOp:
    """The product of values of one dtype, batched and with vectors on either side as in numpy."""
    if not a.shape or not b.shape:
        raise UsageError("@ expected at least one axis on both sides", hint="multiply by a number with *")
    rows = _wide(a if len(a.shape) > 1 else reshape(a, (1, *a.shape)))
    columns = _wide(b if len(b.shape) > 1 else reshape(b, (*b.shape, 1)))
    (*_, m, k), (*_, other, n) = shape_of(rows), shape_of(columns)
    if k != other:
        raise UsageError(f"@ expected equal inner sizes; got {a.shape} and {b.shape}")
    if _is_transposed(columns):
        columns = Op.Contiguous(columns)  # so that the lanes of the product read neighbours
    left = reshape(rows, (*shape_of(rows), 1))
    right = reshape(columns, (*shape_of(columns)[:-2], 1, k, n))
    products = Op.Mul(*broadcast(left, right))
    rank = len(shape_of(products))
    total = sums.reduced(products, Op.Max if a.dtype is bool_ else Op.Add, [rank - 2])
    batch = shape_of(products)[:-3]
    kept = (*batch, *((m,) if len(a.shape) > 1 else ()), *((n,) if len(b.shape) > 1 else ()))
    return _cast(reshape(total, kept), a.dtype)


def _wide(x: UOp) -> UOp:
    return _cast(x, accumulated(x.dtype))


def _cast(x: UOp, dtype: DType) -> UOp:
    return x if x.dtype is dtype else Op.Cast(x, arg=dtype)


def _is_transposed(x: UOp) -> bool:
    """Whether neighbours along the last axis are not neighbours in memory, as far as a look at the graph tells."""
    while x.op in (Op.Cast, Op.Contiguous):
        x = x.src[0]
    return x.op is Op.Permute and x.arg[-1] != len(x.arg) - 1 and all(s != 1 for s in shape_of(x)[-2:])
