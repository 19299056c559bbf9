"""
Kernels on a GPU, for values and for errors
===========================================

``make gpu-test`` runs this on a machine with an NVIDIA GPU. It needs CPython, torch, the package of a driver and CUDA's
compiler, and neither pytest nor the prover. Every flagship kernel is run

- at small sizes against the sequential reading of its program, on fresh random integers, whose sums are exact;
- at sizes of several tiles against torch in double precision, on fresh random numbers;
- under ``compute-sanitizer``, memcheck and racecheck, where that is installed.

The examples are run against what they expect. What is right is told in a line, and so is what is wrong::

    python tests/gpu/main.py --only softmax

With ``--device CUDA-EMULATED`` the examples run without a GPU, and nothing else does.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from soundline.impl.spork import SporkProc
from soundline.impl.spork.devices import GPU, gpu
from soundline.spec.errors import SoundlineError

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from gpu_children import done, in_children  # noqa: E402  found by the path

FLAGSHIPS = ROOT / "examples" / "spork" / "flagships"
TOOLS = ("memcheck", "racecheck")
LIMIT = 90
"""Seconds for one test, and for one run of a sanitizer."""
AT_ONCE = 4
"""How many sanitizers run at one time: each is slow by itself, and asks little of the GPU."""

Told = tuple[str, str | None]
"""What was tried, and what is wrong with it, if anything."""


def main() -> int:
    """Try everything, or what is named, and say what is wrong."""
    options = _options()
    if options.inside:
        return _inside(options.inside)
    if options.names:
        return _child(options.names, options.device)
    wrong, began = 0, time.monotonic()
    names = [name for name in _tests(options.device) if _named(name, options.only)]

    def command(rest: Sequence[str]) -> list[str]:
        return [sys.executable, __file__, f"--device={options.device}", *(f"--name={name}" for name in rest)]

    for name, complaint in in_children(names, command, LIMIT):
        wrong += complaint is not None
        print(
            f"{'ok' if complaint is None else 'WRONG':6}{name}{'' if complaint is None else f': {complaint}'}",
            flush=True,
        )
    for name, complaint in _sanitizers(options) if options.device == GPU else ():
        wrong += complaint is not None
        print(
            f"{'ok' if complaint is None else 'WRONG':6}{name}{'' if complaint is None else f': {complaint}'}",
            flush=True,
        )
    print(f"{wrong} wrong, in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def _tests(device: str) -> dict[str, Callable[[], str | None]]:
    """Everything that is tried, by its name."""
    found: dict[str, Callable[[], str | None]] = {
        f"{module.__name__}, as expected": partial(_example, module, device) for module in _modules()
    }
    if device == GPU:
        from gpu_rows import ROWS  # torch is imported only where there is a GPU

        found |= {f"{row.name}, against torch": partial(_values, row) for row in ROWS}
    return found | {"the court is not imported": _court}


def _child(names: Sequence[str], device: str) -> int:
    """Try these in this process, which ends where one is wrong: another one has its GPU as it was."""
    tests = _tests(device)
    for name in names:
        try:
            complaint = tests[name]()
        except SoundlineError as error:
            complaint = str(error)
        if complaint is not None:
            print(complaint, flush=True)
            return 1
        done(name)
    return 0


def _court() -> str | None:
    """Running a program is no matter of the prover and the court."""
    court = [name for name in sys.modules if name == "z3" or name.startswith("soundline.verify")]
    return f"running a program imported {', '.join(court[:3])}" if court else None


def _sanitizers(options: argparse.Namespace) -> Iterator[Told]:
    tool = shutil.which("compute-sanitizer")
    if not options.sanitizers or tool is None:
        print("sanitizers: left out" if tool else "sanitizers: compute-sanitizer is not installed")
        return
    modules = [m.__name__ for m in _modules() if _named(m.__name__, options.only)]
    runs = list(product(modules, TOOLS))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        complaints = pool.map(lambda run: _sanitized(tool, run[1], run[0]), runs)
        for (module, name), complaint in zip(runs, complaints, strict=True):
            yield f"{module}, {name}", complaint


def _named(name: str, only: list[str] | None) -> bool:
    return only is None or any(word in name for word in only)


# Values -----------------------------------------------------------------------------------------------------------


def _modules() -> list[ModuleType]:
    """The examples and flagships."""
    sys.path += [str(FLAGSHIPS.parent), str(FLAGSHIPS)]
    files = [*sorted((ROOT / "examples" / "spork").glob("*.py")), *sorted(FLAGSHIPS.glob("*.py"))]
    return [importlib.import_module(file.stem) for file in files]


def _program(module: ModuleType) -> SporkProc:
    """The program of a file: the small one of a flagship, and of an example its last."""
    found = [value for value in vars(module).values() if isinstance(value, SporkProc)]
    small = getattr(module, "small", None)
    return small if isinstance(small, SporkProc) else found[-1]


def _example(module: ModuleType, device: str = GPU) -> str | None:
    """An example at its small sizes, against what it expects."""
    given = module.arguments()
    wanted = module.expected(**{name: np.copy(value) for name, value in given.items()})
    _program(module).run(device=device, **module.SIZES, **given)
    for name, want in wanted.items():
        found = np.asarray(given[name], np.float64)
        if not np.allclose(found, np.asarray(want, np.float64), rtol=1e-2, atol=1e-3):
            return f"{name} is {found.ravel()[:4]}, not {np.asarray(want).ravel()[:4]}"
    return None


def _values(row: Any) -> str | None:
    """A flagship at sizes of several tiles, against torch."""
    import torch
    from gpu import apart
    from gpu_rows import shared

    random = torch.Generator("cuda")
    random.manual_seed(time.time_ns() % (1 << 31))
    sizes = row.small or row.sizes
    given = row.make(sizes, random)
    arrays = {name: shared(tensor) for name, tensor in given.items()}
    torch.cuda.synchronize()
    program = gpu(row.proc(), contract=row.contract)
    for _ in range(2):  # a second launch finds what the first one left
        program.run(sizes, arrays)
        for name, want in row.wanted(sizes, given).items():
            error = apart(given[name], want)
            if not error <= row.error:
                return (
                    f"{name} is off by {error:.1e}, of {row.error:.0e} allowed; seed {random.initial_seed()}"
                )
    return None


# Sanitizers -------------------------------------------------------------------------------------------------------


def _sanitized(tool: str, name: str, module: str) -> str | None:
    """An example in a process of its own, watched by a sanitizer."""
    command = [tool, "--tool", name, "--error-exitcode", "99", sys.executable, __file__, "--inside", module]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {LIMIT} s"
    if done.returncode == 0:
        return None
    said = [line for line in done.stdout.splitlines() if "=========" in line][:6]
    return f"exit code {done.returncode}\n" + "\n".join(said or done.stderr.splitlines()[-6:])


def _inside(module: str) -> int:
    sys.path += [str(FLAGSHIPS.parent), str(FLAGSHIPS)]
    complaint = _example(importlib.import_module(module))
    print(complaint or "ok")
    return 1 if complaint else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="WORD", help="what has this word in its name")
    parser.add_argument("--device", default=GPU)
    parser.add_argument("--no-sanitizers", dest="sanitizers", action="store_false")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--name", dest="names", action="append", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
