"""
The process that runs candidates
================================

A search runs untested code. So it runs it in a worker process, which may crash or be killed without harm. It reads one
request a line from standard input, in JSON, and answers each with one line. The first opens storage and fills it, the
same in every process; then candidates are run, compared with what was kept, and timed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import memory
from soundline.impl.runtime.cpu import Library
from soundline.impl.runtime.host import ffi, host
from soundline.spec.dtypes import BY_NAME, to_numpy

Array = npt.NDArray[Any]
ROUND = 2e-4
"""The least number of seconds for which a candidate is run in each round."""


class Worker:
    """Storage, and the libraries that are run over it."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.written: list[int] = []
        self.libraries: dict[str, Library] = {}
        self.table: Any = None
        self.tolerance = 0.0
        self.wanted: list[Array] = []

    def open(
        self, buffers: Sequence[Sequence[Any]], arena: int, tolerance: float, whole: bool = False
    ) -> dict[str, Any]:
        """Storage for a kernel: of each buffer the dtype, the size, and whether the kernel writes it."""
        source = np.random.default_rng(2024)
        self.arrays, self.written, self.libraries = [], [], {}
        for k, (dtype, size, written) in enumerate(buffers):
            stored = to_numpy(BY_NAME[dtype])
            array = memory.empty(max(size, 1), stored)
            array[:size] = filled(source, stored, size, whole)
            self.arrays.append(array)
            if written:
                self.written.append(k)
        self.arrays.append(memory.empty(max(arena, 1), np.dtype(np.uint8)))
        self.tolerance = tolerance
        pointers = [ffi().cast("void *", a.ctypes.data) for a in self.arrays]
        self.table = ffi().new("void *[]", pointers)
        return {}

    def run(self, library: str, first: int, count: int, times: int = 1) -> float:
        """Run some commands of a library; the seconds that it took."""
        if library not in self.libraries:
            self.libraries[library] = Library(Path(library))
        commands = self.libraries[library].commands[first : first + count]
        rows = ffi().new("struct command[]", [(c.run, c.number, c.first, c.cores) for c in commands])
        execute = host().execute
        began = time.perf_counter()
        for _ in range(times):
            execute(rows, len(commands), self.table)
        return time.perf_counter() - began

    def outputs(self) -> list[Array]:
        """What the kernel has written."""
        return [self.arrays[k].copy() for k in self.written]

    def reference(self, library: str, first: int, count: int, kept: str) -> dict[str, Any]:
        """The expected result of every candidate; kept in a file for a worker process that takes over."""
        seconds = self.run(library, first, count)
        self.wanted = self.outputs()
        np.savez(kept, *[w.view(np.uint8) for w in self.wanted])
        return {"seconds": seconds}

    def remember(self, kept: str) -> dict[str, Any]:
        """What was wanted of every candidate."""
        with np.load(kept) as held:
            found = [held[name] for name in held.files]
        self.wanted = [h.view(self.arrays[k].dtype) for h, k in zip(found, self.written, strict=True)]
        return {}

    def check(self, library: str, first: int, count: int) -> dict[str, Any]:
        """Whether a candidate writes the expected result into storage that held something else before."""
        for k in self.written:
            self.arrays[k].view(np.uint8)[:] = 0xA5
        seconds = self.run(library, first, count)
        same = all(agree(w, f, self.tolerance) for w, f in zip(self.wanted, self.outputs(), strict=True))
        return {"same": same, "seconds": seconds}

    def time(self, candidates: Sequence[tuple[str, int, int]], rounds: int) -> dict[str, Any]:
        """The least seconds of each candidate, which are run in turns."""
        once = [self.run(*c) for c in candidates]
        times = [max(1, int(ROUND / max(s, 1e-9))) for s in once]
        best = list(once)
        for _ in range(rounds):
            for k, candidate in enumerate(candidates):
                if once[k] < 3 * min(best) + ROUND:  # what is far behind is not run again
                    best[k] = min(best[k], self.run(*candidate, times[k]) / times[k])
        return {"seconds": best}


def filled(source: np.random.Generator, dtype: np.dtype[Any], size: int, whole: bool) -> Array:
    """Contents for a buffer; whole ones are small integers, of which every order makes one sum."""
    if dtype == np.bool_:
        return source.integers(0, 2, size).astype(dtype)
    if dtype.kind in "iu" or whole:
        low = 0 if dtype.kind == "u" else -8
        return source.integers(low, 9, size).astype(dtype)
    return source.standard_normal(size).astype(dtype)


def agree(wanted: Array, found: Array, tolerance: float) -> bool:
    """Whether two results have the same bits, or, where a tolerance is given, are as close."""
    if wanted.tobytes() == found.tobytes():
        return True
    if wanted.dtype.kind in "iub":
        return False
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    if tolerance == 0:  # of a NaN it does not count which
        return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return False
    finite = np.isfinite(a)
    scale = float(np.abs(a[finite]).max(initial=1e-30))
    return bool(np.all(np.abs(a[finite] - b[finite]) <= tolerance * scale))


def main() -> None:
    """Answer requests until there are none."""
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
