"""
Values
======

Conversion of tensors from and to numbers, lists, arrays, buffers and DLPack, without a copy if the layout allows it.

Shared memory must not change while the tensor, or a graph that uses it, is in use, because later results would be
computed from the new contents. An array that shares the memory of a tensor is read-only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import memory, storage
from soundline.impl.arrays.operands import array_of, shape_of, stored_or_constant
from soundline.impl.arrays.promotion import DTypeLike, check_dtype
from soundline.impl.arrays.sizes import is_known
from soundline.impl.inspect import notebooks as _notebooks  # noqa: F401  # nodes learn to show themselves
from soundline.impl.inspect.graphs import svg
from soundline.impl.tensors.core import history, parts
from soundline.impl.tensors.core.showing import shown
from soundline.spec.dtypes import DType, bool_, to_numpy
from soundline.spec.errors import TracingError, UsageError, WrongType
from soundline.spec.ops.bodies import own_nodes
from soundline.spec.uop import Op, UOp

Number = bool | int | float
Operand = Any
"""A Tensor, or anything that `Tensor` takes."""


class Values:
    """A value of a shape and a dtype, over a graph."""

    __slots__ = ("__weakref__", "_uop", "grad")
    __array_ufunc__ = None  # numpy leaves mixed operators to this class
    __hash__ = object.__hash__

    _uop: UOp
    grad: Self | None
    """The gradient that `backward` has added up here; None before."""

    def __init__(self, data: Operand, dtype: DTypeLike | None = None, requires_grad: bool = False) -> None:
        if dtype is not None:
            dtype = check_dtype(dtype)
        self.grad = None
        if isinstance(data, Values):
            given = data.uop
            self._uop = given if dtype in (None, given.dtype) else Op.Cast(given, arg=dtype)
        else:
            self._uop = stored_or_constant(data, dtype)
        if requires_grad:
            self._become_leaf()

    def _become_leaf(self) -> None:
        """Let the value begin here, as far as gradients are concerned."""
        if not self.dtype.is_float:
            raise UsageError(f"only floats have gradients; got {self.dtype}", where="requires_grad")
        self._uop = history.leaf(self._uop)

    @classmethod
    def of(cls, uop: UOp) -> Self:
        """A tensor over a graph of your own."""
        if uop.shape is None or not all(is_known(s) for s in uop.shape):
            raise UsageError(
                f"{uop.op.name} has the shape {uop.shape}; a Tensor has a shape of numbers and Variables"
            )
        made = cls.__new__(cls)
        made._uop = uop
        made.grad = None
        return made

    # From memory --------------------------------------------------------------------------------------------------

    @classmethod
    def from_numpy(cls, array: npt.NDArray[Any], *, copy: bool | None = None) -> Self:
        """The value of a numpy array, of its shape and dtype.

        With `copy` None the memory is shared where the array is contiguous in row-major order, aligned and of native
        byte order, and copied otherwise; with True it is copied; with False a layout that cannot be shared is a
        `UsageError`, and so is a dtype that soundline does not have. Shared memory must not change while it is in use.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> Tensor.from_numpy(np.arange(3.0)).tolist()
        [0.0, 1.0, 2.0]
        """
        if not isinstance(array, np.ndarray):
            raise UsageError(
                f"expected a numpy array; got {type(array).__name__}",
                where="from_numpy",
                hint="Tensor(data) takes lists and numbers too",
            )
        own = storage.dtype_of(array)
        flags = array.flags
        shared = flags.c_contiguous and flags.aligned and array.dtype.isnative
        if copy is False and not shared:
            raise UsageError(
                "copy=False expected an aligned, native array, contiguous in row-major order; "
                f"got strides {array.strides}, dtype {array.dtype.str}",
                where="from_numpy",
            )
        if copy or not shared:
            array = np.array(array, dtype=to_numpy(own), order="C", copy=True)
        return cls.of(storage.keep(array))

    @classmethod
    def from_dlpack(cls, source: Any, *, copy: bool | None = None) -> Self:
        """The value of anything on the CPU with ``__dlpack__``; `copy` is that of `from_numpy`."""
        if not hasattr(source, "__dlpack__"):
            raise UsageError(
                f"expected an object with __dlpack__; got {type(source).__name__}", where="from_dlpack"
            )
        try:
            array = np.from_dlpack(source)
        except (BufferError, RuntimeError, TypeError) as error:
            raise UsageError(f"numpy cannot take it: {error}", where="from_dlpack") from None
        return cls.from_numpy(array, copy=copy)

    @classmethod
    def from_buffer(
        cls, source: Any, dtype: DTypeLike, shape: Sequence[int] | None = None, *, copy: bool | None = None
    ) -> Self:
        """The bytes of a buffer (bytes, bytearray, memoryview, mmap, …) as elements of `dtype`, in a shape if given.

        Shares the memory unless `copy` is True. A number of bytes that does not fit the dtype or the shape raises a
        `UsageError`.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> from soundline.spec.dtypes import int16
        >>> Tensor.from_buffer(bytes([1, 0, 2, 0]), int16).tolist()
        [1, 2]
        """
        dtype = check_dtype(dtype)
        try:
            raw = np.frombuffer(source, np.uint8) if memoryview(source) else np.empty(0, np.uint8)
        except (TypeError, ValueError) as error:
            raise UsageError(f"expected a contiguous buffer: {error}", where="from_buffer") from None
        if raw.size % dtype.itemsize:
            raise UsageError(
                f"expected a multiple of {dtype.itemsize} bytes; got {raw.size} bytes", where="from_buffer"
            )
        if raw.ctypes.data % dtype.itemsize:
            if copy is False:
                raise UsageError("copy=False expected aligned memory", where="from_buffer")
            raw = raw.copy()
        if dtype is bool_ and raw.size and raw.max() > 1:
            if copy is False:
                raise UsageError("copy=False expected the bytes 0 and 1 for bools", where="from_buffer")
            raw = (raw != 0).view(np.uint8)
        wanted = (raw.size // dtype.itemsize,) if shape is None else tuple(shape)
        if math.prod(wanted) * dtype.itemsize != raw.size:
            raise UsageError(
                f"expected {math.prod(wanted)} elements for the shape {wanted}; got {raw.size // dtype.itemsize}",
                where="from_buffer",
            )
        return cls.from_numpy(raw.view(to_numpy(dtype)).reshape(wanted), copy=copy)

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def uop(self) -> UOp:
        """The graph of this value."""
        return history.seen(self._uop)

    @property
    def shape(self) -> tuple[int, ...]:
        """One size per axis."""
        return shape_of(self._uop)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._uop.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the elements take."""
        return self.size * self.dtype.itemsize

    @property
    def is_computable(self) -> bool:
        """Whether it has a value; an argument of a function that is being traced has none."""
        graph = history.without_marks(self._uop)
        return all(storage.holds(n) for n in own_nodes(graph) if n.op is Op.Buffer)

    @property
    def is_stored(self) -> bool:
        """Whether the value has been computed and is in memory."""
        return _stored(self._uop) is not None

    def __len__(self) -> int:
        if not self.shape:
            raise WrongType("a tensor of shape () has no length", where="len")
        return self.shape[0]

    def __repr__(self) -> str:
        return shown(self)

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form else str(self)

    def _repr_html_(self) -> str:
        """The graph of the tensor, drawn; a notebook shows it."""
        return svg(self._uop)

    def __rich_repr__(self) -> Any:
        """The fields that rich shows."""
        yield "shape", self.shape
        yield "dtype", self.dtype

    # The value ----------------------------------------------------------------------------------------------------

    def realize(self, *others: Values) -> Self:
        """Compute the value now and store it; returns the tensor itself.

        The values of several tensors are computed by one program: ``a.realize(b, c)``.
        """
        return self._realized("realize", *others)

    def _realized(self, where: str, *others: Values) -> Self:
        """The same for a method of this name, which is refused while a function is traced."""
        together: tuple[Values, ...] = (self, *others)
        waiting = [t for t in dict.fromkeys(together) if _stored(t._uop) is None and not t._is_part()]
        if not all(t.is_computable for t in waiting):
            raise _no_value(where)
        if waiting:
            from soundline.impl.executables.building import stored

            graphs = [t._uop for t in waiting]
            for tensor, graph, value in zip(waiting, graphs, stored(graphs), strict=True):
                tensor._uop = history.kept(value, graph)
        return self

    def _is_part(self) -> bool:
        """Whether the value is part of one that is in memory: then it is stored from there."""
        graph = self._uop
        found = parts.held(graph)
        if found is not None:
            self._uop = history.kept(storage.keep(np.ascontiguousarray(found).reshape(found.shape)), graph)
        return found is not None

    def _held(self, where: str) -> npt.NDArray[Any]:
        """The computed value, in memory that must not be written."""
        value = history.without_marks(self._realized(where)._uop)
        held = storage.buffer_of(value)
        assert held is not None
        view = storage.whole(value, held)
        view.flags.writeable = False
        return view

    def numpy(self) -> npt.NDArray[Any]:
        """The value as a new numpy array; the narrow floats have the dtypes of ml_dtypes.

        ``np.asarray(x)`` gives a read-only array without a copy.
        """
        held = self._held("numpy")
        with memory.wanted(held.nbytes, f"a copy of a tensor of shape {self.shape}"):
            return held.copy()

    def item(self) -> Number:
        """The only element, as a Python number; raises `UsageError` if there are more or none."""
        return self._number("item")

    def _number(self, where: str) -> Number:
        if self.size != 1:
            hint = "any() and all() make one of many" if where == "bool" else None
            raise UsageError(f"a tensor of shape {self.shape} is not one element", where=where, hint=hint)
        value: Number = self._held(where).reshape(()).item()
        return value

    def tolist(self) -> Any:
        """The value as nested lists."""
        return self._held("tolist").tolist()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The value, for ``np.asarray``: memory that cannot be written, unless a copy is asked for or needed."""
        held = self._held("np.asarray")
        if dtype is not None and np.dtype(dtype) != held.dtype:
            if copy is False:
                raise UsageError(f"cannot share {held.dtype} as {np.dtype(dtype)}", where="np.asarray")
            return held.astype(dtype)
        return held.copy() if copy else held

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule of the computed value.

        A consumer that knows of memory that cannot be written (DLPack 1.0) shares it; any other is given a copy.
        """
        if options.get("max_version") and not options.get("copy"):
            return self._held("__dlpack__").__dlpack__(**options)
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU."""
        return np.empty(0).__dlpack_device__()

    def __buffer__(self, flags: int) -> memoryview:
        """The computed value for ``memoryview`` (from Python 3.12 on); it cannot be written."""
        return self._held("memoryview").data

    def __bool__(self) -> bool:
        return bool(self._number("bool"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __index__(self) -> int:
        if not self.dtype.is_int or self.ndim:
            raise WrongType(f"a tensor of shape {self.shape} and dtype {self.dtype} is not an index")
        return int(self._number("index"))

    # Copies -------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Self:
        return self.of(self._uop)

    def __deepcopy__(self, memo: object) -> Self:
        copied = self.of(history.without_marks(self._uop))
        if history.is_leaf(self._uop):
            copied._become_leaf()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the value, which is computed for it."""
        place = (self._uop.device, self._uop.axis)
        return _loaded, (type(self), np.asarray(self), history.is_leaf(self._uop), place)


def _loaded(kind: type[Any], array: npt.NDArray[Any], asks: bool, place: tuple[Any, int | None]) -> Any:
    """A tensor that was pickled, where it was."""
    device, axis = place
    value = kind(array)
    if isinstance(device, tuple):
        value = value.shard(device, axis).realize()
    elif device not in (None, "CPU"):
        value = value.to(device).realize()
    return kind(value, requires_grad=asks)


def _no_value(where: str) -> TracingError:
    """What it is to ask for a value while a function is traced."""
    hint = "return the tensor from the function, or compute this outside and pass it as an argument"
    if where == "bool":
        hint = "use x.where(a, b) to choose between values; an if can test shapes and dtypes, which are known"
    return TracingError(
        "the tensor has no value: it depends on an argument of a function that is being traced, and gets a value only "
        "when the compiled program is called",
        where=where,
        hint=hint,
    )


def _stored(node: UOp) -> UOp | None:
    """The buffer that a value is read from unchanged, if there is one."""
    return storage.buffer_of(history.without_marks(node))


def as_graph(data: Operand, dtype: DType | None = None) -> UOp:
    """The graph of a Tensor, or of any argument of `Tensor`."""
    if isinstance(data, Values):
        return data.uop if dtype in (None, data.dtype) else Op.Cast(data.uop, arg=dtype)
    return stored_or_constant(data, dtype)


__all__ = ["Number", "Operand", "Values", "array_of", "as_graph"]
