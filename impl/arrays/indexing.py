"""
Basic indexing
==============

``x[…]`` with integers, slices, ``None`` and ``...``, as movement ops: shrink, flip, and for a step above 1 a reshape
into rows of one step, of which the first element is kept.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any

from soundline.impl.arrays.sizes import Size, size_of
from soundline.spec.errors import UsageError, WrongIndex, WrongType
from soundline.spec.uop import Op, UOp, pad, reshape, shrink

Selector = int | slice | None | EllipsisType


def selectors(index: Any, rank: int) -> list[Selector]:
    """An index expression as one selector per axis, and None where an axis of size 1 is added."""
    given = list(index) if isinstance(index, tuple) else [index]
    for item in given:
        if isinstance(item, bool) or not (item is None or item is ... or isinstance(item, int | slice)):
            raise WrongType(
                f"expected integers, slices, None, ... or arrays of integers or bools; got {item!r}",
                where="[]",
            )
    axes = sum(1 for item in given if item is not None and item is not ...)
    if axes > rank or sum(1 for item in given if item is ...) > 1:
        raise WrongIndex(f"expected at most {rank} indices and one ...; got {given}", where="[]")
    at = next((k for k, item in enumerate(given) if item is ...), len(given))
    return [*given[:at], *[slice(None)] * (rank - axes), *given[at + 1 :]]


def indexed(x: UOp, index: Any) -> UOp:
    """`x[index]`."""
    assert x.shape is not None
    chosen = selectors(index, len(x.shape))
    axis = 0
    shape: list[int] = []
    for selector in chosen:
        if selector is None:
            shape.append(1)
            continue
        size = _size(x, axis)
        if isinstance(selector, slice) and any(
            isinstance(s, Size) for s in (size, selector.start, selector.stop)
        ):
            begin, count = _symbolic_part(selector, size)
            x = _part(x, axis, begin, count) if selector.step != -1 else _flipped(x, axis)
            shape.append(count)
        elif isinstance(selector, slice):
            start, stop, step = selector.indices(size)
            count = len(range(start, stop, step))
            x = _sliced(x, axis, start, count, step)
            shape.append(count)
        elif isinstance(selector, int):
            if not -size <= selector < size:
                raise WrongIndex(
                    f"expected an index inside an axis of size {size}; got {selector}", where="[]"
                )
            x = _part(x, axis, selector + size if selector < 0 else selector, 1)
        axis += 1
    return x if x.shape == tuple(shape) else reshape(x, tuple(shape))


def _size(x: UOp, axis: int) -> int:
    assert x.shape is not None
    found: int = size_of(x.shape[axis])
    return found


def _symbolic_part(selector: slice, size: Any) -> tuple[Any, Any]:
    """The start and length of a slice whose ends are known when the program is called; both must be inside the axis."""
    if selector.step == -1 and selector.start is None and selector.stop is None:
        return 0, size
    if selector.step not in (None, 1):
        raise UsageError(
            f"an axis of symbolic size takes no step except ::-1; got {selector}",
            where="[]",
        )
    begin = 0 if selector.start is None else selector.start
    end = size if selector.stop is None else selector.stop
    begin, end = (size + e if isinstance(e, int) and e < 0 else e for e in (begin, end))
    if begin < 0 or end < begin or end > size:
        raise UsageError(f"expected a part of an axis of size {size}; got {selector}", where="[]")
    return begin, end - begin


def _with(x: UOp, axis: int, here: int, *, elsewhere: int | None = None) -> tuple[int, ...]:
    """The sizes of x with one replaced; the others are kept, or all `elsewhere`."""
    assert x.shape is not None
    sizes = [_size(x, k) if elsewhere is None else elsewhere for k in range(len(x.shape))]
    sizes[axis] = here
    return tuple(sizes)


def _part(x: UOp, axis: int, start: int, count: int) -> UOp:
    if (start, count) == (0, _size(x, axis)):
        return x
    return shrink(x, _with(x, axis, start, elsewhere=0), _with(x, axis, count))


def _sliced(x: UOp, axis: int, start: int, count: int, step: int) -> UOp:
    """Elements start, start + step, … of an axis, `count` of them."""
    if count == 0:
        return _part(x, axis, 0, 0)
    if step < 0:
        last = start + (count - 1) * step
        x = _part(x, axis, last, start - last + 1)
        return _every(_flipped(x, axis), axis, count, -step)
    return _every(_part(x, axis, start, (count - 1) * step + 1), axis, count, step)


def _flipped(x: UOp, axis: int) -> UOp:
    return Op.Flip(x, arg=tuple(k == axis for k in range(len(_with(x, axis, 0)))))


def _every(x: UOp, axis: int, count: int, step: int) -> UOp:
    """Every step-th element of an axis from the first to the last."""
    if step == 1:
        return x
    full = _with(x, axis, count * step)
    rows = pad(x, _with(x, axis, 0, elsewhere=0), full)
    rows = reshape(rows, (*full[:axis], count, step, *full[axis + 1 :]))
    kept = _part(rows, axis + 1, 0, 1)
    return reshape(kept, _with(x, axis, count))
