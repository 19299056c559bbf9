"""
Windows in C++
==============

What a name of data stands for in generated code. A `View` is a window of storage: a pointer, an array or a scalar of
C++, what is added to it for the indices that are given already, and the dimensions that are left. Dimensions whose
indices tell shards apart are erased: each CTA, warp or thread has its own shard under the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import gcd, prod

from soundline.impl.codegen.cuda.expressions import control, control_text
from soundline.impl.codegen.cuda.names import Names
from soundline.impl.codegen.cuda.operators import ATOM, Written, operator, plus
from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Index, Name, Span
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.static.sizes import value as number_of


class Kind(Enum):
    """How storage is held."""

    pointer = "a pointer to memory with addresses"
    array = "an array of registers, or a scalar"
    tiles = "fragments of matrices: an array of the words of each tile"
    constant = "a member of the arguments of the kernel"
    tensor_map = "a tensor map"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension that is left in a view."""

    size: Expr
    stride: Expr | None
    """In elements; None where the dimension is erased."""
    axis: int
    """Which dimension of the storage it is."""


@dataclass(frozen=True, slots=True)
class View:
    """All of some storage, or a window of it."""

    root: str
    """The name of the storage in the program."""
    kind: Kind
    dtype: DType
    memory: Memory
    base: str
    """The pointer, array or scalar in C++."""
    dims: tuple[Dimension, ...]
    terms: tuple[tuple[Expr, Expr], ...] = ()
    """What is added to the base: indices, each times a stride."""
    starts: tuple[Expr, ...] = ()
    """Of a tensor map, where the window starts along each of its dimensions."""
    is_array: bool = True
    """Whether registers or constants are an array, not a scalar or a single tile."""
    tile_sizes: tuple[int, ...] = ()
    """Of fragments, the sizes of a tile, which are those of the last dimensions."""
    alignment: int = 0
    """Bytes of which the base is a multiple; 0 where nothing is known."""
    is_large: bool = False
    """Whether offsets may not fit 32 bits."""
    flags: str = ""
    """Of accumulators of wgmma, the flags that say which of them hold a sum."""
    shards: tuple[tuple[Expr | Span, int], ...] = ()
    """Of shared memory that is distributed over the CTAs of a cluster: for each erased dimension its index, or an
    interval, and by how many CTAs its shards are apart.
    """
    counts: tuple[int, ...] = ()
    """The extents of those dimensions."""

    def at(self, place: Name | Index) -> View:
        """The window or element that indices name in it."""
        if isinstance(place, Name):
            return self
        terms, starts, shards = list(self.terms), list(self.starts), list(self.shards)
        dims: list[Dimension] = []
        for index, dim in zip(place.indices, self.dims, strict=True):
            lo = index.lo if isinstance(index, Span) else index
            if isinstance(index, Span):
                dims.append(replace(dim, size=_size(index, dim.size)))
            if dim.stride is None:
                if dim.axis < len(shards) and not isinstance(index, Span):
                    shards[dim.axis] = (index, shards[dim.axis][1])
            elif lo is not None and lo != Const(0):
                terms.append((lo, dim.stride))
                if starts:
                    starts[dim.axis] = _plus(starts[dim.axis], lo)
        return replace(self, terms=tuple(terms), dims=tuple(dims), starts=tuple(starts), shards=tuple(shards))

    @property
    def kept(self) -> tuple[Dimension, ...]:
        """The dimensions that are left and not erased."""
        return tuple(d for d in self.dims if d.stride is not None)

    @property
    def spans_shards(self) -> bool:
        """Whether it is a window of several shards."""
        return any(d.stride is None for d in self.dims)

    def named(self, text: str, alignment: int) -> View:
        """The same window, where a pointer to its first element has a name of its own."""
        return replace(self, base=text, terms=(), alignment=alignment)


def _size(interval: Span, size: Expr) -> Expr:
    hi = size if interval.hi is None else interval.hi
    if interval.lo is None or interval.lo == Const(0):
        return hi
    known = number_of(Binary(Op.Sub, hi, interval.lo))
    return Binary(Op.Sub, hi, interval.lo) if known is None else Const(known)


def _plus(left: Expr, right: Expr) -> Expr:
    return right if left == Const(0) else Binary(Op.Add, left, right)


def _times(left: Expr, right: Expr) -> Expr:
    if right == Const(1):
        return left
    return right if left == Const(1) else Binary(Op.Mul, left, right)


def row_major(sizes: Sequence[Expr], erased: int = 0) -> tuple[Dimension, ...]:
    """The dimensions of an array in C order, of which the first are erased."""
    dims: list[Dimension] = []
    stride: Expr = Const(1)
    for axis in reversed(range(len(sizes))):
        dims.append(Dimension(sizes[axis], stride if axis >= erased else None, axis))
        known = number_of(_times(sizes[axis], stride))
        stride = _times(sizes[axis], stride) if known is None else Const(known)
    return tuple(reversed(dims))


def aligned(view: View, names: Names) -> int:
    """Bytes of which the address of the first element is shown to be a multiple."""
    found = view.alignment
    for index, stride in view.terms if found else ():
        found = gcd(found, names.divisor(index) * names.divisor(stride) * view.dtype.itemsize)
    return found


def may_be_large(sizes: Sequence[Expr]) -> bool:
    """Whether an array may have more elements than 32 bits count."""
    known = [number_of(size) for size in sizes]
    return None in known or prod(n for n in known if n is not None) >= 1 << 31


# Texts ------------------------------------------------------------------------------------------------------------


def offset(view: View, names: Names) -> Written | None:
    """How many elements the window is behind its base; None for none. It has 64 bits in global memory whose size is not
    known to be small.
    """
    if not view.is_large:
        total = _total(view)
        return None if number_of(total) == 0 else control(total, names)
    found: Written | None = None
    for index, stride in view.terms:
        term = control(_times(index, stride), names)
        if stride != Const(1) and number_of(_times(index, stride)) is None:
            term = control(index, names)
            term = Written(names.dialect.cast("int64_t", term.text))
            for factor in _factors(stride):
                term = operator("*", term, control(factor, names))
        found = term if found is None else plus(found, term)
    return found


def _total(view: View) -> Expr:
    total: Expr = Const(0)
    for index, stride in view.terms:
        total = _plus(total, _times(index, stride))
    return total


def _factors(stride: Expr) -> list[Expr]:
    match stride:
        case Binary(Op.Mul, left, right):
            return [*_factors(left), *_factors(right)]
        case _:
            return [stride]


def address(view: View, names: Names) -> str:
    """A pointer to the first element; of swizzled memory the one before the swizzle."""
    by = offset(view, names)
    return view.base if by is None else plus(Written(view.base), by).text


def element(view: View, names: Names) -> str:
    """The lvalue of the first element, of which there is only one where no dimension is left."""
    if view.kind is Kind.tiles:
        return tile(view, names)
    by = offset(view, names)
    if view.memory.space == "shared" and view.memory.row_bytes is not None:
        return f"*soundline::swizzle<{view.memory.row_bytes}>({address(view, names)})"
    if view.kind is Kind.pointer:
        return f"{view.base}[{by.text if by else 0}]"
    return f"{view.base}[{by.text if by else 0}]" if view.is_array else view.base


def tile(view: View, names: Names) -> str:
    """The words of the tile that a window of fragments is, or starts with."""
    number = tile_number(view, names)
    return view.base if number is None else f"{view.base}[{number}]"


def flag(view: View, names: Names) -> str:
    """The flag of an accumulator of wgmma; an empty text for anything else."""
    if not view.flags:
        return ""
    number = tile_number(view, names)
    return view.flags if number is None else f"{view.flags}[{number}]"


def tile_number(view: View, names: Names) -> str | None:
    """Which tile a window is; None where the storage is one tile."""
    if not view.is_array:
        return None
    return control_text(_total(view), names)


def coordinates(view: View, names: Names) -> tuple[str, ...]:
    """Where a window of a tensor map starts, outermost dimension first."""
    return tuple(control_text(start, names) for start in view.starts)


def cta_mask(view: View, names: Names) -> str:
    """The CTAs whose shards a window has, as a mask of 16 bits; an empty text where it has one shard."""
    if not view.spans_shards or not view.shards:
        return ""
    ranks = [0]  # warps are chosen in each CTA alike, so that the first shard is that of the first CTA
    shift: Expr = Const(0)
    for (index, pitch), count in zip(view.shards, view.counts, strict=True):
        if isinstance(index, Span):
            ranks = [rank + j * pitch for rank in ranks for j in range(count)]
        else:
            shift = _plus(shift, _times(index, Const(pitch)))
    mask = hex(sum(1 << rank for rank in set(ranks)))
    by = control(shift, names)
    return f"uint16_t({mask})" if number_of(shift) == 0 else f"uint16_t({mask} << {by.within(ATOM)})"
