"""
Tensor
======

`Tensor` is the front of the compiler: a lazy value over a UOp. An operation builds nodes and computes nothing; the
value is computed, by one compiled program, when it is asked for (`numpy`, `item`, ``np.asarray``). Shapes broadcast
and dtypes promote as in numpy; both are written into the graph as movement ops and casts, because UOps themselves do
neither (U-14, U-20).

>>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
>>> (x @ x.T + 1).sum(axis=0).tolist()
[18.0, 38.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl import elementary, indexing, storage, sums
from soundline.impl.drawing import svg
from soundline.impl.operands import (
    Axes,
    axes_of,
    axis_of,
    broadcast,
    is_number,
    shape_of,
    sizes_of,
    stored_or_constant,
)
from soundline.impl.products import matrix_product
from soundline.impl.promotion import accumulated, check_dtype, floating, promoted, summed, weak
from soundline.spec.dtypes import DType, bool_
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, broadcast_to, pad, reshape, shrink

Number = bool | int | float
Operand = Any
"""A Tensor, or anything that `Tensor` takes."""


class Tensor:
    """A value of a shape and a dtype, made from numbers, nested lists, arrays, or anything that speaks DLPack.

    Python floats become float32 and Python integers int32 (int64 where they need it), unless `dtype` says otherwise;
    an array keeps its dtype and is copied.
    """

    __slots__ = ("uop",)
    __array_ufunc__ = None  # numpy leaves mixed operators to this class
    __hash__ = object.__hash__

    uop: UOp
    """The graph of this value."""

    def __init__(self, data: Operand, dtype: DType | None = None) -> None:
        if dtype is not None:
            check_dtype(dtype)
        if isinstance(data, Tensor):
            self.uop = data.uop if dtype is None else data.cast(dtype).uop
        else:
            self.uop = stored_or_constant(data, dtype)

    @staticmethod
    def of(uop: UOp) -> Tensor:
        """A tensor over a graph of your own."""
        if uop.shape is None or not all(isinstance(s, int) for s in uop.shape):
            raise UsageError(f"{uop.op.name} has the shape {uop.shape}; a Tensor has a shape of numbers")
        made = Tensor.__new__(Tensor)
        made.uop = uop
        return made

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """One size per axis."""
        return shape_of(self.uop)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.uop.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of shape () has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype})"

    def _repr_html_(self) -> str:
        """The graph of the tensor, drawn; a notebook shows it."""
        return svg(self.uop)

    def __rich_repr__(self) -> Any:
        """The fields that rich shows."""
        yield "shape", self.shape
        yield "dtype", self.dtype

    # The value ----------------------------------------------------------------------------------------------------

    def realize(self) -> Tensor:
        """Compute the value now, and keep it in place of its graph; the tensor itself is returned."""
        if storage.buffer_of(self.uop) is None:
            from soundline.impl.compile import computed

            (value,) = computed([self.uop])
            self.uop = storage.keep(value)
        return self

    def numpy(self) -> npt.NDArray[Any]:
        """The value as a numpy array of your own; the narrow floats have the dtypes of ml_dtypes."""
        held = storage.buffer_of(self.realize().uop)
        assert held is not None
        return storage.contents(held).reshape(self.shape).copy()

    def item(self) -> Number:
        """The only element, as a Python number."""
        if self.size != 1:
            raise UsageError(f"a tensor of shape {self.shape} is not one element")
        value: Number = self.numpy().reshape(()).item()
        return value

    def tolist(self) -> Any:
        """The value as nested lists."""
        return self.numpy().tolist()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The value, for ``np.asarray``."""
        if copy is False:
            raise ValueError("a lazy tensor has no array to share")
        value = self.numpy()
        return value if dtype is None else value.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule of the computed value."""
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU."""
        return np.empty(0).__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    # Elementwise --------------------------------------------------------------------------------------------------

    def cast(self, dtype: DType) -> Tensor:
        """Each element converted: integers wrap, floats round, a float to an integer truncates and saturates."""
        if check_dtype(dtype) is self.dtype:
            return self
        return Tensor.of(Op.Cast(self.uop, arg=dtype))

    def __add__(self, other: Operand) -> Tensor:
        return _binary(Op.Add, self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return _binary(Op.Add, other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return _binary(Op.Sub, self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return _binary(Op.Sub, other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return _binary(Op.Mul, self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return _binary(Op.Mul, other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return _quotient(self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return _quotient(other, self)

    def __floordiv__(self, other: Operand) -> Tensor:
        return _binary(Op.Idiv, self, other)

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return _binary(Op.Idiv, other, self)

    def __mod__(self, other: Operand) -> Tensor:
        return _binary(Op.Mod, self, other)

    def __rmod__(self, other: Operand) -> Tensor:
        return _binary(Op.Mod, other, self)

    def __and__(self, other: Operand) -> Tensor:
        return _binary(Op.And, self, other)

    def __or__(self, other: Operand) -> Tensor:
        return _binary(Op.Or, self, other)

    def __xor__(self, other: Operand) -> Tensor:
        return _binary(Op.Xor, self, other)

    def __lshift__(self, other: Operand) -> Tensor:
        return _binary(Op.Shl, self, other)

    def __rshift__(self, other: Operand) -> Tensor:
        return _binary(Op.Shr, self, other)

    def __lt__(self, other: Operand) -> Tensor:
        return _binary(Op.CmpLt, self, other)

    def __le__(self, other: Operand) -> Tensor:
        return _binary(Op.CmpLe, self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return _binary(Op.CmpGt, self, other)

    def __ge__(self, other: Operand) -> Tensor:
        return _binary(Op.CmpGe, self, other)

    def __eq__(self, other: Operand) -> Tensor:  # type: ignore[override]  # elementwise, as in numpy
        return _binary(Op.CmpEq, self, other)

    def __ne__(self, other: Operand) -> Tensor:  # type: ignore[override]  # elementwise, as in numpy
        return _binary(Op.CmpNe, self, other)

    def __neg__(self) -> Tensor:
        return Tensor.of(Op.Neg(self.uop))

    def __invert__(self) -> Tensor:
        if self.dtype is bool_:
            return Tensor.of(Op.Not(self.uop))
        return self ^ -1 if self.dtype.signed else self ^ int(self.dtype.max)

    def __abs__(self) -> Tensor:
        return self.maximum(-self) if self.dtype.signed else self

    def maximum(self, other: Operand) -> Tensor:
        """The greater of each pair; NaN if either is, and +0 is above -0."""
        return _binary(Op.Max, self, other)

    def minimum(self, other: Operand) -> Tensor:
        """The lesser of each pair; NaN if either is, and -0 is below +0."""
        a, b = _aligned(self, other)
        return Tensor.of(_reversed(Op.Max(_reversed(a), _reversed(b))))

    def where(self, a: Operand, b: Operand) -> Tensor:
        """`a` where this tensor of bools is True, else `b`."""
        x, y = _typed(a, b)
        p, x, y = broadcast(self.uop, x, y)
        return Tensor.of(Op.Where(p, x, y))

    def reciprocal(self) -> Tensor:
        """1/x, correctly rounded."""
        return self._real(Op.Recip)

    def sqrt(self) -> Tensor:
        """√x, correctly rounded."""
        return self._real(Op.Sqrt)

    def exp2(self) -> Tensor:
        """2^x."""
        return self._real(Op.Exp2)

    def log2(self) -> Tensor:
        """log₂ x."""
        return self._real(Op.Log2)

    def exp(self) -> Tensor:
        """e^x."""
        return Tensor.of(elementary.exp(self.cast(floating(self.dtype)).uop))

    def log(self) -> Tensor:
        """ln x."""
        return Tensor.of(elementary.log(self.cast(floating(self.dtype)).uop))

    def trunc(self) -> Tensor:
        """x rounded toward zero."""
        return Tensor.of(Op.Trunc(self.uop)) if self.dtype.is_float else self

    def relu(self) -> Tensor:
        """The greater of x and 0."""
        return self.maximum(0)

    def _real(self, op: Op) -> Tensor:
        return Tensor.of(UOp(op, (self.cast(floating(self.dtype)).uop,)))

    # Movement -----------------------------------------------------------------------------------------------------

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The elements in row-major order under another shape; one size may be -1."""
        wanted = sizes_of(shape)
        if wanted.count(-1) == 1:
            rest = -math.prod(wanted)
            wanted = tuple((self.size // rest if rest else 0) if s == -1 else s for s in wanted)
        return Tensor.of(reshape(self.uop, wanted))

    def expand(self, *shape: int | Sequence[int]) -> Tensor:
        """Axes of size 1 repeated, and leading axes added, up to a shape; -1 keeps a size."""
        wanted = sizes_of(shape)
        offset = len(wanted) - self.ndim
        kept = tuple(self.shape[k - offset] if s == -1 and k >= offset else s for k, s in enumerate(wanted))
        return Tensor.of(broadcast_to(self.uop, kept))

    def permute(self, *order: int | Sequence[int]) -> Tensor:
        """The axes in another order."""
        return Tensor.of(Op.Permute(self.uop, arg=tuple(axis_of(k, self.ndim) for k in sizes_of(order))))

    def transpose(self, a: int = -2, b: int = -1) -> Tensor:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        a, b = axis_of(a, self.ndim), axis_of(b, self.ndim)
        order[a], order[b] = order[b], order[a]
        return self.permute(order)

    @property
    def T(self) -> Tensor:
        """All axes reversed."""
        return self.permute(tuple(reversed(range(self.ndim))))

    def pad(self, widths: Sequence[tuple[int, int]] | tuple[int, int]) -> Tensor:
        """Zeros (before, after) each axis; one pair alone is for a tensor of one axis."""
        pairs = [widths] if widths and isinstance(widths[0], int) else list(widths)
        if len(pairs) != self.ndim:
            raise UsageError(f"{len(pairs)} pairs of widths for a tensor of rank {self.ndim}")
        rows = [(int(p[0]), int(p[1])) for p in pairs if isinstance(p, Sequence)]
        shape = tuple(a + s + b for (a, b), s in zip(rows, self.shape, strict=True))
        return Tensor.of(pad(self.uop, tuple(a for a, _ in rows), shape))

    def shrink(self, bounds: Sequence[tuple[int, int]]) -> Tensor:
        """The part from start to stop, exclusive, of each axis."""
        offset = tuple(start for start, _ in bounds)
        return Tensor.of(shrink(self.uop, offset, tuple(stop - start for start, stop in bounds)))

    def flip(self, axis: Axes = None) -> Tensor:
        """Axes reversed; all of them where none is named."""
        axes = axes_of(axis, self.ndim)
        return Tensor.of(Op.Flip(self.uop, arg=tuple(k in axes for k in range(self.ndim))))

    def unsqueeze(self, axis: int) -> Tensor:
        """An axis of size 1 added before position `axis` of the result."""
        at = axis_of(axis, self.ndim + 1)
        return self.reshape((*self.shape[:at], 1, *self.shape[at:]))

    def squeeze(self, axis: int) -> Tensor:
        """An axis of size 1 removed."""
        at = axis_of(axis, self.ndim)
        if self.shape[at] != 1:
            raise UsageError(f"axis {at} has size {self.shape[at]}, not 1")
        return self.reshape((*self.shape[:at], *self.shape[at + 1 :]))

    def __getitem__(self, index: Any) -> Tensor:
        """Basic indexing: integers, slices, None and ``...``."""
        return Tensor.of(indexing.indexed(self.uop, index))

    def contiguous(self) -> Tensor:
        """The same value, stored in memory of its own when it is computed."""
        return Tensor.of(Op.Contiguous(self.uop))

    # Reductions ---------------------------------------------------------------------------------------------------

    def sum(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """The sum over axes. Integers and bools are summed in 64 bits, the narrow floats in float32 and rounded once.

        A long float sum over the last axis has the fixed blocked order of `sums`; any other ascends.
        """
        wide = accumulated(summed(self.dtype))
        axes = axes_of(axis, self.ndim)
        total = Tensor.of(sums.added(self.cast(wide).uop, axes)).cast(summed(self.dtype))
        return _dropped(total, axes, keepdim)

    def mean(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """The sum over axes, divided by the number of elements."""
        axes = axes_of(axis, self.ndim)
        real = self.cast(floating(self.dtype))
        total = Tensor.of(sums.added(real.cast(accumulated(real.dtype)).uop, axes))
        count = math.prod(self.shape[a] for a in axes)
        return _dropped((total / float(count)).cast(real.dtype), axes, keepdim)

    def prod(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """The product over axes, ascending. Integers and bools are multiplied in 64 bits."""
        wide = accumulated(summed(self.dtype))
        return _folded(self.cast(wide), Op.Mul, axis, keepdim).cast(summed(self.dtype))

    def max(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """The greatest element over axes; NaN if one is. Of no elements: the least value of the dtype."""
        return _folded(self, Op.Max, axis, keepdim)

    def min(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """The least element over axes; NaN if one is. Of no elements: the greatest value of the dtype."""
        greatest = _folded(Tensor.of(_reversed(self.uop)), Op.Max, axis, keepdim)
        return Tensor.of(_reversed(greatest.uop))

    def any(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """Whether some element is not 0."""
        return _folded(self.cast(bool_), Op.Max, axis, keepdim)

    def all(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        """Whether every element is not 0."""
        return _folded(self.cast(bool_), Op.Mul, axis, keepdim)

    # Compositions -------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Operand) -> Tensor:
        return Tensor.of(matrix_product(*_typed(self, _tensor(other))))

    def __rmatmul__(self, other: Operand) -> Tensor:
        return Tensor.of(matrix_product(*_typed(_tensor(other), self)))

    def matmul(self, other: Operand) -> Tensor:
        """The matrix product, batched as in numpy."""
        return Tensor.of(matrix_product(*_typed(self, _tensor(other))))

    def softmax(self, axis: int = -1) -> Tensor:
        """e^x over its sum along an axis, from the difference to the greatest element."""
        power = (self - self.max(axis, keepdim=True)).exp()
        return power / power.sum(axis, keepdim=True)

    def log_softmax(self, axis: int = -1) -> Tensor:
        """The logarithm of the softmax."""
        shifted = self - self.max(axis, keepdim=True)
        return shifted - shifted.exp().sum(axis, keepdim=True).log()


# Operands ---------------------------------------------------------------------------------------------------------


def _tensor(data: Operand) -> Tensor:
    return data if isinstance(data, Tensor) else Tensor(data)


def _dropped(x: Tensor, axes: Sequence[int], keepdim: bool) -> Tensor:
    if keepdim or not axes:
        return x
    return x.reshape(tuple(s for k, s in enumerate(x.shape) if k not in axes))


def _folded(x: Tensor, op: Op, axis: Axes, keepdim: bool) -> Tensor:
    axes = axes_of(axis, x.ndim)
    return _dropped(Tensor.of(sums.fold(x.uop, op, axes)), axes, keepdim)


def _typed(a: Operand, b: Operand) -> tuple[UOp, UOp]:
    """Two operands in the dtype that they promote to; a Python number is weak."""
    if is_number(a) and isinstance(b, Tensor):
        a = Tensor(a, weak(a, b.dtype))
    elif is_number(b) and isinstance(a, Tensor):
        b = Tensor(b, weak(b, a.dtype))
    x, y = _tensor(a), _tensor(b)
    dtype = promoted(x.dtype, y.dtype)
    return x.cast(dtype).uop, y.cast(dtype).uop


def _aligned(a: Operand, b: Operand) -> tuple[UOp, ...]:
    return broadcast(*_typed(a, b))


def _binary(op: Op, a: Operand, b: Operand) -> Tensor:
    return Tensor.of(UOp(op, _aligned(a, b)))


def _quotient(a: Operand, b: Operand) -> Tensor:
    """a / b; integers are divided as floats."""
    x, y = _aligned(a, b)
    real = floating(x.dtype)
    return Tensor.of(Op.Div(Tensor.of(x).cast(real).uop, Tensor.of(y).cast(real).uop))


def _reversed(x: UOp) -> UOp:
    """An order-reversing bijection of a dtype that is its own inverse: -x, ~x, ¬x."""
    return (~Tensor.of(x)).uop if not x.dtype.is_float else Op.Neg(x)


__all__ = ["Tensor"]
