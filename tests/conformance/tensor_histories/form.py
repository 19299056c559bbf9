"""How a history of tensors is stated: as one of scalars, with the words in which tensor compilers speak of padding and
updates."""

from __future__ import annotations

from typing import Any

from soundline.verify import where

from ..rule_histories.form import Histories, History, absolute, minimum  # noqa: TID252

__all__ = ["Histories", "History", "absolute", "clamp", "everywhere", "filled", "minimum", "updated"]


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
