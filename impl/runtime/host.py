"""
Host
====

The C library that runs programs (``host.c``): it executes the commands of a program, and shares a command that several
cores may run with the workers of one pool. It is compiled once for a machine and kept in the compile cache.

The number of cores in use at most is ``$SOUNDLINE_THREADS``, or else the number that this process may run on.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from soundline.impl.codegen.c.interruption import CHECK
from soundline.impl.codegen.c.renderer import COMMANDS, ENTRY
from soundline.impl.cores import cores
from soundline.impl.runtime import cache
from soundline.impl.toolchain import find_compiler
from soundline.spec.errors import ToolchainError

_Made = TypeVar("_Made")

PROGRAM: Final = f"""
void {ENTRY}(void **slot, uint32_t command, uint32_t core, uint32_t cores);
extern const uint32_t {COMMANDS}[];
extern int (*{CHECK})(void);
"""


_LOCK: Final = threading.RLock()
"""Held while an object is made that exists once per process."""


def once(make: Callable[[], _Made]) -> Callable[[], _Made]:
    """A function that makes its result at the first call, even where several threads call at once."""
    made: list[_Made] = []

    @functools.wraps(make)
    def get() -> _Made:
        if not made:
            with _LOCK:
                if not made:
                    made.append(make())
        return made[0]

    return get


@once
def ffi() -> Any:
    """The foreign functions of hosts and of programs."""
    import cffi  # only programs that run need it

    made = cffi.FFI()
    made.cdef(declarations() + PROGRAM)
    return made


def text() -> str:
    """The C text of the host."""
    return files(__package__).joinpath("host.c").read_text(encoding="utf-8")


def declarations() -> str:
    """The declarations of the host for Python: the part of its text between two comments."""
    first, last = "to the line that says so. */", "/* Python reads no further. */"
    return text().partition(first)[2].partition(last)[0]


def _ask() -> int:
    """The function that a long-running program calls: Python's signal handlers run here, and an exception in one of
    them stops the program.
    """
    for _ in range(2):  # between the steps of a loop they run for certain
        pass
    return 0


class Host:
    """The loaded library, and how it reads arrays."""

    def __init__(self, path: Path, limit: int) -> None:
        try:
            self.library = ffi().dlopen(str(path))
        except OSError as error:
            raise ToolchainError(f"the runtime library cannot be loaded: {error}") from error
        self.call = self.library.soundline_call
        self.execute = self.library.soundline_execute
        self.limit = self.library.soundline_limit(limit)
        self._array = np.ndarray
        self.layout = self._layout()
        self._stopped_by: BaseException | None = None
        self._ask = ffi().callback("int(void)", _ask, error=1, onerror=self._stop)
        self.library.soundline_watch(self._ask, threading.main_thread().ident or 0)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.library.soundline_forked)

    def use(self, cores: int) -> None:
        """Use so many cores at most from now on."""
        self.limit = self.library.soundline_limit(cores)

    def _stop(self, kind: Any, error: BaseException, trace: Any) -> None:
        """Keep what a handler of a signal has raised while a program ran: it cannot pass through C."""
        del kind, trace
        self._stopped_by = error

    def stopped(self) -> BaseException:
        """The exception that stopped the program that has just ended; the caller raises it."""
        error, self._stopped_by = self._stopped_by, None
        return KeyboardInterrupt() if error is None else error.with_traceback(None)

    def workers(self) -> int:
        """How many threads the pool has beside those that call."""
        return int(self.library.soundline_workers())

    def argument(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[Any, list[Any]]:
        """What an argument must be, for C, and what must be kept alive with it."""
        sizes = ffi().new("intptr_t[]", list(shape))
        wanted = ffi().new("struct argument *", (ffi().cast("void *", id(dtype)), len(shape), sizes))
        return wanted, [dtype, sizes]

    def _layout(self) -> Any:
        """Where the fields of arrays lie, or None where that is not as expected: then each is asked in Python."""
        if sys.implementation.name != "cpython":
            return None
        head, pointer = object.__basicsize__, ffi().sizeof("void *")
        fields = {
            "type": head - pointer,
            "items": tuple.__basicsize__,
            "data": head,
            "rank": head + pointer,
            "shape": head + 2 * pointer,
            "dtype": head + 5 * pointer,
            "flags": head + 6 * pointer,
            "array": ffi().cast("void *", id(self._array)),
        }
        if np.ndarray.__basicsize__ < head + 7 * pointer:
            return None
        found = ffi().new("struct layout *", fields)
        return found if self._reads(found) else None

    def _reads(self, layout: Any) -> bool:
        """Whether arrays of every kind are read as what they are."""
        base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        unaligned = np.zeros(9, np.uint8)[1:].view(np.float32)
        examples = (
            *(base, base[1], base[:, 1], base.T, base[..., :0], base.astype(">f4"), base.view(np.int32)),
            *(unaligned, base.view(_Subclass), np.zeros((), np.int8), np.zeros((1, 1, 1, 7), np.complex128)),
            *(np.zeros(3, bool), np.zeros(3, np.int64), np.zeros(2, object)),
        )
        for k, array in enumerate(examples):
            if self.library.soundline_address(layout, id(examples), k) != array.ctypes.data:
                return False
            for dtype, shape in {(a.dtype, a.shape) for a in examples}:
                wanted, _kept = self.argument(dtype, shape)
                flags = array.flags
                truth = type(array) is self._array and array.dtype is dtype and array.shape == shape
                truth = truth and flags.c_contiguous and flags.aligned
                if bool(self.library.soundline_is_plain(layout, id(examples), k, wanted)) != truth:
                    return False
        return True


class _Subclass(np.ndarray[Any, Any]):
    """Arrays that are not plain."""


@once
def host() -> Host:
    """The host of this process."""
    source = text()
    limit = cores()
    return cache.loaded(source, find_compiler(), lambda path: Host(path, limit))
