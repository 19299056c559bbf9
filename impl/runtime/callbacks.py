"""
Callbacks
=========

Functions in Python as commands: a pointer that C calls as it calls a kernel. The arguments and results are arrays over
the memory that the slots point to.

An exception cannot pass through C. It is kept for the thread that runs the program, and raised when the call returns;
the results of that call are then discarded.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.runtime.commands import Shaped
from soundline.impl.runtime.host import ffi
from soundline.spec.errors import UsageError

_FAILED = threading.local()


def callback(
    name: str,
    compute: Callable[..., Sequence[npt.NDArray[Any]]],
    takes: Sequence[Shaped],
    gives: Sequence[Shaped],
) -> Any:
    """A kernel that computes its results from its arguments in Python; the pointer must be kept while it is used."""
    shapes = [*takes, *gives]

    def run(slot: Any, command: int, core: int, cores: int) -> None:
        arrays = [_array(slot[k], dtype, shape) for k, (dtype, shape) in enumerate(shapes)]
        for argument in arrays[: len(takes)]:
            argument.flags.writeable = False
        for place, value in zip(arrays[len(takes) :], compute(*arrays[: len(takes)]), strict=True):
            place[...] = value

    def failed(kind: Any, error: BaseException, trace: Any) -> None:
        if not hasattr(_FAILED, "first"):
            _FAILED.first = (name, error)

    return ffi().callback("void(void **, uint32_t, uint32_t, uint32_t)", run, onerror=failed)


def _array(pointer: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    nbytes = math.prod(shape) * dtype.itemsize
    if not nbytes:
        return np.empty(shape, dtype)
    return np.frombuffer(ffi().buffer(pointer, nbytes), np.uint8).view(dtype).reshape(shape)


def raise_failures() -> None:
    """Raise what a callback of this thread has raised."""
    failure = getattr(_FAILED, "first", None)
    if failure is not None:
        del _FAILED.first
        name, error = failure
        if isinstance(error, UsageError):
            raise error
        raise UsageError(f"the custom function {name} failed: {type(error).__name__}: {error}") from error
