"""
What running costs, measured
============================

``python benchmarks/runtime.py`` measures what a program costs beside its kernels: a warm call, each further command of
the buffer, sharing a command with the pool, and compiling against running the compiler alone. Each figure stands beside
what it is compared with, taken in turns in one process; on a machine that does other things, the ratios are what holds.
The result is ``benchmarks/results/runtime.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from run import RESULTS, ROOT, interleaved, machine, shown

import soundline as sl
from soundline.impl import toolchain
from soundline.impl.runtime import cpu
from soundline.impl.runtime.commands import Command, CommandBuffer
from soundline.impl.runtime.host import ffi, host

F32 = np.dtype(np.float32)


def main() -> int:
    """Measure, show, and write the result."""
    parser = argparse.ArgumentParser(description="Measure what running programs costs beside their kernels.")
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    result: dict[str, Any] = {"schema": 1, "machine": machine(), "repeats": repeats}
    result["warm_call"] = [shown(f"warm call, {n} arguments", warm(n, repeats)) for n in (1, 3, 8)]
    result["commands"] = shown("commands", further(repeats))
    result["pool"] = shown("pool", shared(repeats))
    result["cold_compile"] = shown("cold compile", cold(repeats))
    result["batch_of_16"] = shown("batch of 16", batch(max(3, repeats // 3)))
    target = RESULTS / "runtime.json"
    target.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"written: {target.relative_to(ROOT)}")
    return 0


# Calls ------------------------------------------------------------------------------------------------------------


def warm(arguments: int, repeats: int) -> dict[str, Any]:
    """A whole call on arrays of one element beside numpy's addition of two, the cheapest call that numpy has."""
    given = [np.ones(1, np.float32) for _ in range(arguments)]
    program = sl.compile(lambda *xs: sum(xs[1:], xs[0]), *given)
    empty = ffi().new("void *[]", 1)
    execute, commands = host().execute, ffi().new("struct command[]", 1)
    calls: list[Callable[[], object]] = [
        lambda: program(*given),
        lambda: np.add(given[0], given[-1]),
        lambda: execute(commands, 0, empty),
    ]
    ours, numpy, foreign = interleaved(calls, repeats)
    return {
        "microseconds": round(ours * 1e6, 3),
        "numpy_add_microseconds": round(numpy * 1e6, 3),
        "foreign_call_microseconds": round(foreign * 1e6, 3),
        "least_microseconds": round(least(calls[0]) * 1e6, 3),
    }


def least(call: Callable[[], object], turns: int = 200, count: int = 200) -> float:
    """The seconds of a call when nothing disturbs it."""
    found = []
    for _ in range(turns):
        began = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - began) / count)
    return min(found)


NOTHING = """#include <stdint.h>
const uint32_t soundline_commands[] = {1, 8};
void soundline_run(void **slot, uint32_t command, uint32_t core, uint32_t cores) {
    switch (command) {
    case 0:
        break;
    }
}
"""


def _nothing(count: int, cores: int) -> Callable[[], object]:
    run = cpu.build(NOTHING).commands[0].run
    table = CommandBuffer([Command(run, 0, 0, cores)] * count, [], [], [])
    return lambda: table.run(())


def further(repeats: int) -> dict[str, Any]:
    """What a thousand commands more cost, for each."""
    calls = [_nothing(1, 1), _nothing(1001, 1)]
    one, many = interleaved(calls, repeats)
    return {
        "nanoseconds_per_further_command": round((many - one) * 1e6, 2),
        "least_nanoseconds": round((least(calls[1], count=5) - least(calls[0])) * 1e6, 2),
    }


def shared(repeats: int) -> dict[str, Any]:
    """What it costs to share a command with a worker that is awake, beside running it alone."""
    before = host().limit
    host().use(2)
    calls = [_nothing(101, 1), _nothing(101, 2)]
    alone, together = interleaved(calls, repeats)
    undisturbed = least(calls[1], count=1) - least(calls[0])
    host().use(before)
    return {
        "microseconds_per_shared_command": round((together - alone) * 1e4, 3),
        "least_microseconds": round(undisturbed * 1e4, 3),
    }


# Compiling --------------------------------------------------------------------------------------------------------


def processor() -> float:
    """The processor time that this process and its children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def compiler_alone(source: str, folder: str) -> tuple[float, float]:
    """The seconds of one run of the compiler on a text, with the flags of the road: by the clock, and of processor."""
    compiler = toolchain.find_compiler()
    text, built = Path(folder) / "alone.c", Path(folder) / "alone.so"
    text.write_text(source, encoding="utf-8")
    command = (*compiler.command, *compiler.flags, "-o", str(built), str(text), "-lm")
    return timed(lambda: subprocess.run(command, check=True))[1]


def timed(call: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """What a call returns, and its seconds by the clock and of processor."""
    began, used = time.perf_counter(), processor()
    result = call()
    return result, (time.perf_counter() - began, processor() - used)


def compared(compile_one: Callable[[int], sl.Program], repeats: int) -> dict[str, Any]:
    """Compiling programs from the function to the loaded library, beside the compiler alone on the same texts."""
    ours, alone, kernels = [], [], 1
    compile_one(1000)  # what a process does once is measured by run.py
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SOUNDLINE_CACHE_DIR"] = folder
        for k in range(repeats):
            program, spent = timed(lambda k=k: compile_one(k))  # type: ignore[misc]
            ours.append(spent)
            alone.append(compiler_alone(program.source, folder))
            kernels = len(program.kernels)
    found: dict[str, Any] = {"kernels": kernels}
    for k, name in enumerate(("", "processor_")):
        mine, bare = (statistics.median(s[k] for s in times) * 1e3 / kernels for times in (ours, alone))
        found |= {
            f"{name}milliseconds_per_kernel": round(mine, 2),
            f"compiler_alone_{name}milliseconds_per_kernel": round(bare, 2),
            f"{name}ratio": round(mine / bare, 3),
        }
    return found


def cold(repeats: int) -> dict[str, Any]:
    """One small kernel."""
    x = np.ones(64, np.float32)
    return compared(lambda k: sl.compile(lambda a, b, c: a * b + c * (k + 2.0), x, x, x), repeats)


def sixteen(x: sl.Tensor, y: sl.Tensor, n: int) -> tuple[sl.Tensor, ...]:
    """Sixteen kernels, half of them sums."""
    return tuple((x * (k + n) + y).sum(0) if k % 2 else x * (k + n) - y for k in range(16))


def batch(repeats: int) -> dict[str, Any]:
    """A function of sixteen kernels: one file, and one run of the compiler."""
    x = np.ones((64, 64), np.float32)
    return compared(lambda k: sl.compile(lambda a, b: sixteen(a, b, k + 2), x, x), repeats)


if __name__ == "__main__":
    sys.exit(main())
