"""
tinygrad graphs
===============

`from_tinygrad` reads the graph behind a lazy tensor of tinygrad, as its front end built it, and gives a lazy Tensor of
our own: the same ops over Buffers that hold the same contents. Nothing is computed by tinygrad. What is not translated
is listed at once.

The objects of the graph are read by their public attributes (op, src, arg, dtype, shape), so the package itself is not
imported. The form is that of tinygrad 0.14, which differs from the language of the source: operands of elementwise ops
are broadcast, Expand adds axes in front, Reduce folds the leading axes and removes them, and a constant can be weak,
which is to say that it takes the dtype of what stands beside it.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from soundline.impl.arrays import storage
from soundline.impl.importers.reading.errors import ExtraMissing, UnsupportedGraph
from soundline.impl.importers.tinygrad_nodes import (
    Refusal,
    common_dtype,
    dtype_of,
    is_weak,
    name_of,
    numbers_of,
    ordered,
    shape_of,
    sources_of,
    stored,
    unmoved,
)
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bool_, index, to_numpy
from soundline.spec.errors import IllFormed, UsageError
from soundline.spec.uop import Op, ReduceArg, UOp, broadcast_to, const, element_of, pad, reshape, shrink

ELEMENTWISE: dict[str, Op] = {
    "ADD": Op.Add,
    "AND": Op.And,
    "CDIV": Op.CDiv,
    "CMOD": Op.CMod,
    "CMPEQ": Op.CmpEq,
    "CMPLT": Op.CmpLt,
    "CMPNE": Op.CmpNe,
    "EXP2": Op.Exp2,
    "FDIV": Op.Div,
    "FLOORDIV": Op.Idiv,
    "FLOORMOD": Op.Mod,
    "LOG2": Op.Log2,
    "MAX": Op.Max,
    "MUL": Op.Mul,
    "MULACC": Op.Mulacc,
    "NEG": Op.Neg,
    "OR": Op.Or,
    "POW": Op.Pow,
    "RECIPROCAL": Op.Recip,
    "SHL": Op.Shl,
    "SHR": Op.Shr,
    "SIN": Op.Sin,
    "SQRT": Op.Sqrt,
    "SUB": Op.Sub,
    "THREEFRY": Op.Threefry,
    "TRUNC": Op.Trunc,
    "WHERE": Op.Where,
    "XOR": Op.Xor,
}
_MODULAR = ("ADD", "SUB", "MUL", "MULACC", "AND", "OR", "XOR", "WHERE")
"""Ops in which an integer constant may wrap first."""
_COMPARISONS = ("CMPLT", "CMPNE", "CMPEQ")
_MARKERS = {
    "CONTIGUOUS": Op.Contiguous,
    "CONTIGUOUS_BACKWARD": Op.ContiguousBackward,
    "DETACH": Op.Detach,
}
_SAME_VALUE = ("COPY", "NOOP")
"""A copy to another device has the same value, and here there is one device."""
_FOLDS = {"ADD": Op.Add, "MUL": Op.Mul, "MAX": Op.Max}


def from_tinygrad(graph: Any) -> Tensor:
    """The lazy Tensor that a tinygrad Tensor, or a UOp of one, stands for.

    Buffers that hold something are copied. Raises `UnsupportedGraph` with all that is not supported.
    """
    root = getattr(graph, "uop", graph)
    if not all(hasattr(root, name) for name in ("op", "src", "arg", "dtype")):
        if importlib.util.find_spec("tinygrad") is None:
            raise ExtraMissing(
                f"{type(graph).__name__} is not a tinygrad Tensor, and tinygrad is not installed",
                hint="pip install 'soundline[conformance]'",
            )
        raise UsageError(f"{type(graph).__name__} is neither a Tensor nor a UOp of tinygrad")
    return Tensor.of(_Translator().translated(root))


class _Translator:
    """A graph under translation: each node once, a weak one once for each dtype that is wanted of it."""

    def __init__(self) -> None:
        self.made: dict[tuple[Any, DType | None], UOp | None] = {}
        self.unknown: Counter[str] = Counter()
        self.refused: dict[tuple[str, str], None] = {}

    def translated(self, root: Any) -> UOp:
        """The whole graph."""
        order = list(ordered(root))
        wanted: dict[Any, dict[DType | None, None]] = {node: {} for node in order}
        wanted[root] = {None: None}
        for node in reversed(order):
            for dtype in wanted[node]:
                for source, of in zip(sources_of(node), self.wants(node, dtype), strict=True):
                    wanted[source][of if is_weak(source) else None] = None
        for node in order:
            for dtype in wanted[node]:
                self.made[node, dtype] = self.node(node, dtype)
        if self.unknown or self.refused:
            raise UnsupportedGraph(self.unknown, list(self.refused))
        found = self.made[root, None]
        assert found is not None
        return found

    def wants(self, u: Any, dtype: DType | None) -> list[DType | None]:
        """The dtype that is wanted of each source, if it is weak."""
        sources = sources_of(u)
        try:
            if name_of(u) in ("CAST", "BITCAST", "INDEX"):
                return [None] * len(sources)
            if name_of(u) in _COMPARISONS:
                return [common_dtype(sources)] * len(sources)
            return [dtype_of(u, dtype)] * len(sources)
        except Refusal:
            return [None] * len(sources)

    def node(self, u: Any, dtype: DType | None) -> UOp | None:
        """One node; None where it, or one of its sources, is not translated."""
        name = name_of(u)
        kind = "elementwise" if name in ELEMENTWISE else name.lower()
        make: Callable[..., UOp] | None = getattr(self, f"_{kind}", None)
        if name in _MARKERS or name in _SAME_VALUE:
            make = self._marked
        if make is None or (name == "AFTER" and stored(u) is None):
            self.unknown[name] += 1
            return None
        sources = [
            self.made[s, of if is_weak(s) else None]
            for s, of in zip(sources_of(u), self.wants(u, dtype), strict=True)
        ]
        if any(s is None for s in sources):
            return None
        try:
            return make(u, sources, dtype_of(u, dtype))
        except Refusal as refusal:
            self.refused[name, str(refusal)] = None
        except IllFormed as error:
            self.refused[name, f"expected: {error.wants} ({error.rule})"] = None
        return None

    # Sources and markers ------------------------------------------------------------------------------------------

    def _const(self, u: Any, _: list[UOp], dtype: DType) -> UOp:
        if not isinstance(u.arg, bool | int | float):
            raise Refusal(f"the constant {u.arg!r} is not a number")
        value = const(element_of(u.arg, dtype), dtype)
        return broadcast_to(value, shape_of(u))

    def _buffer(self, u: Any, _: list[UOp], dtype: DType) -> UOp:
        held = getattr(u, "realized", None)
        if held is None:
            raise Refusal("a buffer holds nothing yet")
        array = np.frombuffer(bytes(held.as_memoryview()), dtype=to_numpy(dtype))
        if array.size != math.prod(shape_of(u)):
            raise Refusal(f"a buffer of {array.size} elements has the shape {shape_of(u)}")
        return storage.keep(array)

    def _after(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return broadcast_to(sources[0], shape_of(u))

    def _marked(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        op = _MARKERS.get(name_of(u))
        return sources[0] if op is None else UOp(op, (sources[0],))

    # Elementwise --------------------------------------------------------------------------------------------------

    def _elementwise(self, u: Any, sources: list[UOp], dtype: DType) -> UOp:
        shape = shape_of(u)
        op = ELEMENTWISE[name_of(u)]
        if op is Op.Add and dtype is bool_:
            op = Op.Or  # the law has no Add of bools (U-14)
        if op in (Op.Shl, Op.Shr):
            sources = [sources[0], self._as(sources[1], sources[0].dtype)]  # the law has one dtype for both
        if name_of(u) in _COMPARISONS:
            dtype = common_dtype(u.src)
        if op is not Op.Where and dtype.is_float:
            sources = [self._as(s, dtype) for s in sources]  # an integer beside a float, or its reciprocal
        if name_of(u) not in _MODULAR and dtype.is_int:
            self._fitting(u, dtype)
        return UOp(op, tuple(broadcast_to(s, shape) for s in sources))

    @staticmethod
    def _fitting(u: Any, dtype: DType) -> None:
        """Refuse a weak constant that the dtype beside it does not have: what is asked of it is not said."""
        for s in map(unmoved, u.src):
            if is_weak(s) and name_of(s) == "CONST" and not dtype.min <= s.arg <= dtype.max:
                raise Refusal(f"the constant {s.arg} is not a value of {dtype}")

    @staticmethod
    def _as(x: UOp, dtype: DType) -> UOp:
        return x if x.dtype is dtype else Op.Cast(x, arg=dtype)

    def _cast(self, _u: Any, sources: list[UOp], dtype: DType) -> UOp:
        return self._as(sources[0], dtype)

    def _bitcast(self, _u: Any, sources: list[UOp], dtype: DType) -> UOp:
        return sources[0] if sources[0].dtype is dtype else Op.Bitcast(sources[0], arg=dtype)

    # Movement and folds -------------------------------------------------------------------------------------------

    def _reshape(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return reshape(sources[0], shape_of(u))

    def _expand(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return broadcast_to(sources[0], shape_of(u))

    def _permute(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return Op.Permute(sources[0], arg=tuple(u.arg))

    def _flip(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return Op.Flip(sources[0], arg=tuple(bool(f) for f in u.arg))

    def _pad(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return pad(sources[0], numbers_of(u.src[1]), shape_of(u))

    def _shrink(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        return shrink(sources[0], numbers_of(u.src[1]), shape_of(u))

    def _stack(self, _u: Any, sources: list[UOp], _: DType) -> UOp:
        return UOp(Op.Stack, tuple(sources))

    def _index(self, _u: Any, sources: list[UOp], _: DType) -> UOp:
        return UOp(Op.Index, (sources[0], *(self._as(i, index) for i in sources[1:])))

    def _reduce(self, u: Any, sources: list[UOp], _: DType) -> UOp:
        op, count = u.arg
        if len(u.src) != 1 or not isinstance(count, int) or op.name not in _FOLDS:
            raise Refusal(f"this form, with arg {u.arg!r} and {len(u.src)} sources, is not known")
        folded = Op.Reduce(sources[0], arg=ReduceArg(_FOLDS[op.name], tuple(range(count))))
        return reshape(folded, shape_of(u))
