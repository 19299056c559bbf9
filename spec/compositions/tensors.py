"""
Compositions
============

The tensor operations that the source spells out as listings, as programs over the primitive ops: matrix product, prefix
sum, arange, gather and scatter_add. Each takes nodes and gives a node. Its *constraints* are numbered as those of an op
are, and a broken one is an ``IllFormed`` under its id; what a composition means is stated without the program.

Where a listing of the source has another meaning, it stands beside ours with the ending ``_of_the_source`` (U-30,
U-34). The listings are in tensor notation (U-20): ``sum`` drops the axis that Reduce keeps, and sizes broadcast.
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, bool_, index, int64, zero_of
from soundline.spec.errors import IllFormed
from soundline.spec.ops.building import (
    broadcast_to,
    const,
    counted,
    element_of,
    expand,
    nothing,
    pad,
    reduced,
    reshape,
    running_sum,
    windows,
)
from soundline.spec.ops.node import Op, Shape, Size, UOp
from soundline.spec.ops.sizes import Condition, add, equal

CONSTRAINTS: dict[str, str] = {
    "uop-gemm-c1": "A has shape (M, K) and B has shape (K, N)",
    "uop-gemm-c2": "A and B have one dtype, and it is a number",
    "uop-prefixsum-c1": "T has shape (n,)",
    "uop-prefixsum-c2": "the dtype of T is a number",
    "uop-arange-c1": "n is a size: an int ≥ 0, or an index scalar",
    "uop-gather-c1": "T has shape (K,) and idx has shape (D,)",
    "uop-gather-c2": "the dtype of idx is an integer or index",
    "uop-scatteradd-c1": "T has shape (K,), idx and val have shape (D,)",
    "uop-scatteradd-c2": "the dtype of idx is an integer or index",
    "uop-scatteradd-c3": "T and val have one dtype, and it is a number",
}
"""What the operands of each composition must satisfy, by id."""

WIDE = int64
"""The dtype in which positions are counted before they are cast to the dtype that was asked for."""


def _demand(condition: Condition, rule: str, *operands: UOp) -> None:
    """Refuse operands that break a constraint; a condition on symbolic sizes is left to the nodes that are built."""
    if condition is False:
        given = "; ".join(f"{x.dtype}{list(x.shape) if x.shape is not None else ''}" for x in operands)
        raise IllFormed(rule.split("-")[1], rule, given=given, wants=CONSTRAINTS[rule])


def _shape(x: UOp) -> Shape:
    return x.shape or ()


def _is_vector(x: UOp) -> bool:
    return x.shape is not None and len(x.shape) == 1


def _is_number(x: UOp) -> bool:
    return x.dtype is not bool_


def _repeated(x: UOp, axis: int, shape: Shape) -> UOp:
    """A vector laid along one axis of `shape`, and repeated along the others."""
    return expand(reshape(x, tuple(s if k == axis else 1 for k, s in enumerate(shape))), shape)


# gemm -------------------------------------------------------------------------------------------------------------


def gemm(A: UOp, B: UOp) -> UOp:
    """The matrix product: out[m, n] = Σ_k A[m, k] · B[k, n], each product rounded, the sum ascending in k.

    The source's listing, with its broadcasting written out. For K = 0 every element is the empty sum, +0.
    """
    rows, columns = _shape(A), _shape(B)
    _demand(len(rows) == len(columns) == 2 and equal(rows[1], columns[0]), "uop-gemm-c1", A, B)
    _demand(A.dtype is B.dtype and _is_number(A), "uop-gemm-c2", A, B)
    whole = (rows[0], rows[1], columns[1])
    left = expand(reshape(A, (*rows, 1)), whole)
    right = expand(reshape(B, (1, *columns)), whole)
    return reduced(Op.Add, Op.Mul(left, right), (1,))


# prefix_sum -------------------------------------------------------------------------------------------------------


def prefix_sum(T: UOp) -> UOp:
    """The running sum: out[i] is the ascending reduction of T[0] … T[i]. Of nothing: nothing.

    The source's sliding windows, see `running_sum`.
    """
    _demand(_is_vector(T), "uop-prefixsum-c1", T)
    _demand(_is_number(T), "uop-prefixsum-c2", T)
    (n,) = _shape(T)
    return running_sum(T, n)


def prefix_sum_of_the_source(T: UOp) -> UOp:
    """The source's listing: T behind n-1 zeros, so that a leading -0.0 becomes +0.0; ill formed for n = 0."""
    _demand(_is_vector(T), "uop-prefixsum-c1", T)
    (n,) = _shape(T)
    row = pad(T, (add(n, -1),), (add(n, add(n, -1)),))
    return reduced(Op.Add, windows(row, n), (1,))


# arange -----------------------------------------------------------------------------------------------------------


def arange(n: Size, dtype: DType = WIDE) -> UOp:
    """out[i] = i for 0 ≤ i < n, cast to `dtype`: integers wrap, floats round to nearest. arange(0) is empty.

    The prefix sum of ones, less 1, counted in 64 bits (in index for index) and cast once.
    """
    if not _is_size(n):
        raise IllFormed("arange", "uop-arange-c1", given=repr(n), wants=CONSTRAINTS["uop-arange-c1"])
    wide = index if dtype is index else WIDE
    places = counted(n, wide)
    return places if dtype is wide else Op.Cast(places, arg=dtype)


def _is_size(n: object) -> bool:
    if isinstance(n, UOp):
        return n.dtype is index and n.shape == ()
    return type(n) is int and n >= 0


def _ones(n: Size, dtype: DType) -> UOp:
    return broadcast_to(const(element_of(1, dtype), dtype), (n,))


def arange_of_the_source(n: Size, dtype: DType) -> UOp:
    """The source's listing at a dtype: the ones are added in it, so that a float stops at 2^(mantissa bits + 1)."""
    return Op.Sub(prefix_sum_of_the_source(_ones(n, dtype)), _ones(n, dtype))


# gather, scatter_add ----------------------------------------------------------------------------------------------


def _matches(count: Size, idx: UOp) -> UOp:
    """Where position k, of `count` positions, is idx[d]: shape (count, D). Compared as index, where nothing wraps."""
    shape = (count, *_shape(idx))
    wanted = idx if idx.dtype is index else Op.Cast(idx, arg=index)
    return Op.CmpEq(_repeated(arange(count, index), 0, shape), _repeated(wanted, 1, shape))


def _is_whole(x: UOp) -> bool:
    return x.dtype is index or x.dtype.is_int


def gather(T: UOp, idx: UOp) -> UOp:
    """out[d] = T[idx[d]], exactly as a load gives it; zero where idx[d] is outside 0 … K-1.

    A one-hot mask selects, it does not multiply: what is not selected is -0.0, which does not change the sum (U-30). A
    table of bools is gathered by Or.
    """
    _demand(_is_vector(T) and _is_vector(idx), "uop-gather-c1", T, idx)
    _demand(_is_whole(idx), "uop-gather-c2", T, idx)
    (K,), (D,) = _shape(T), _shape(idx)
    mask = _matches(K, idx)
    chosen = Op.Where(mask, _repeated(T, 0, (K, D)), nothing(T.dtype, (K, D)))
    found = reduced(Op.Add if _is_number(T) else Op.Max, chosen, (0,))
    inside = reduced(Op.Max, mask, (0,))
    return Op.Where(inside, found, broadcast_to(const(zero_of(T.dtype), T.dtype), (D,)))


def scatter_add(T: UOp, idx: UOp, val: UOp) -> UOp:
    """out[k] = T[k] + Σ val[d] over the d with idx[d] = k, ascending; an idx[d] outside 0 … K-1 is ignored.

    The sum is accumulated apart from T and added once, and out[k] is T[k] where nothing is added (U-30).
    """
    _demand(_is_vector(T) and _is_vector(idx) and _is_vector(val), "uop-scatteradd-c1", T, idx, val)
    _demand(equal(_shape(idx)[0], _shape(val)[0]), "uop-scatteradd-c1", T, idx, val)
    _demand(_is_whole(idx), "uop-scatteradd-c2", T, idx, val)
    _demand(T.dtype is val.dtype and _is_number(T), "uop-scatteradd-c3", T, idx, val)
    (K,), (D,) = _shape(T), _shape(idx)
    chosen = Op.Where(_matches(K, idx), _repeated(val, 1, (K, D)), nothing(T.dtype, (K, D)))
    return Op.Add(T, reduced(Op.Add, _never_empty(chosen), (1,)))


def _never_empty(x: UOp) -> UOp:
    """x (K, D) behind one column that does not change a sum: the empty sum is +0.0, and -0.0 + 0.0 is not -0.0."""
    K, D = _shape(x)
    wider = (K, add(D, 1))
    real = pad(broadcast_to(const(True, bool_), (K, D)), (0, 1), wider)
    return Op.Where(real, pad(x, (0, 1), wider), nothing(x.dtype, wider))


def _one_hot_of_the_source(count: Size, idx: UOp, dtype: DType) -> UOp:
    shape = (count, *_shape(idx))
    pos = arange_of_the_source(count, idx.dtype)
    return Op.Cast(Op.CmpEq(_repeated(pos, 0, shape), _repeated(idx, 1, shape)), arg=dtype)


def gather_of_the_source(T: UOp, idx: UOp) -> UOp:
    """The source's listing: T times the mask, summed. 0·∞ and 0·NaN are NaN, in every element."""
    (K,), (D,) = _shape(T), _shape(idx)
    mask = _one_hot_of_the_source(K, idx, T.dtype)
    return reduced(Op.Add, Op.Mul(_repeated(T, 0, (K, D)), mask), (0,))


def scatter_add_of_the_source(T: UOp, idx: UOp, val: UOp) -> UOp:
    """The source's listing: the mask times val, summed and added to T."""
    (K,), (D,) = _shape(T), _shape(idx)
    mask = _one_hot_of_the_source(K, idx, T.dtype)
    return Op.Add(T, reduced(Op.Add, Op.Mul(mask, _repeated(val, 1, (K, D))), (1,)))
