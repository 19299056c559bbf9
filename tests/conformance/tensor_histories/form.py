"""How a history of tensors is stated: as one of scalars, with the words in which tensor compilers speak of padding and
updates."""

from __future__ import annotations

from typing import Any

from soundline.verify import where

from ..rule_histories.form import Histories, History, absolute, minimum  # noqa: TID252

__all__ = [
    "Histories",
    "History",
    "absolute",
    "clamp",
    "dot",
    "everywhere",
    "filled",
    "joined",
    "joined_along",
    "minimum",
    "updated",
]


def everywhere(x: Any) -> Any:
    """True, in the shape of x."""
    return (x == x) | (x != x)


def filled(x: Any, offset: Any, shape: Any, value: Any) -> Any:
    """Place x at an offset of a shape that is otherwise filled with a value."""
    return where(everywhere(x).pad(offset, shape), x.pad(offset, shape), value)


def updated(x: Any, u: Any, offset: Any) -> Any:
    """Write u over x at an offset."""
    return filled(u, offset, x.shape, x)


def clamp(low: Any, x: Any, high: Any) -> Any:
    """Bring an integer into bounds: what lies above the high one becomes it, and then what lies below the low one."""
    held = minimum(x, high)
    return where(held < low, low, held)


def dot(x: Any, y: Any, m: Any, k: Any, n: Any) -> Any:
    """The product of a matrix of m rows and k columns with one of k rows and n columns."""
    left = x.reshape((m, k, 1)).expand((m, k, n))
    right = y.reshape((1, k, n)).expand((m, k, n))
    return (left * right).sum(1).reshape((m, n))


def joined(x: Any, y: Any) -> Any:
    """Concatenate two vectors."""
    shape = (x.shape[0] + y.shape[0],)
    return filled(x, 0, shape, y.pad((x.shape[0],), shape))


def joined_along(x: Any, y: Any, axes: Any) -> Any:
    """Concatenate along an axis, given as a set of axes or as one flag per axis."""
    if isinstance(axes, tuple):
        shape = tuple(
            m + n if here else m for here, m, n in zip(axes, _sizes(x, axes), _sizes(y, axes), strict=True)
        )
        at = tuple(m if here else 0 for here, m in zip(axes, _sizes(x, axes), strict=True))
        return filled(x, 0, shape, y.pad(at, shape))
    shape = where(axes, x.shape + y.shape, x.shape)
    return filled(x, 0, shape, y.pad(where(axes, x.shape, 0), shape))


def _sizes(x: Any, axes: tuple[bool, ...]) -> list[Any]:
    return [x.shape[k] for k in range(len(axes))]
