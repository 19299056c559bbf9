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
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from soundline.impl.spork import SporkProc
from soundline.impl.spork.devices import GPU, gpu
from soundline.spec.errors import SoundlineError

ROOT = Path(__file__).resolve().parents[2]
FLAGSHIPS = ROOT / "examples" / "spork" / "flagships"
TOOLS = ("memcheck", "racecheck")
LIMIT = 120
"""Seconds for one run of a sanitizer."""

Told = tuple[str, str | None]
"""What was tried, and what is wrong with it, if anything."""


def main() -> int:
    """Try everything, or what is named, and say what is wrong."""
    options = _options()
    if options.inside:
        return _inside(options.inside)
    wrong, began = 0, time.monotonic()
    for what, complaint in _everything(options):
        wrong += complaint is not None
        print(
            f"{'ok' if complaint is None else 'WRONG':6}{what}{'' if complaint is None else ': ' + complaint}",
            flush=True,
        )
    court = [name for name in sys.modules if name == "z3" or name.startswith("soundline.verify")]
    if court:
        wrong += 1
        print(f"WRONG running a program imported {', '.join(court[:3])}")
    print(f"{wrong} wrong, in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def _everything(options: argparse.Namespace) -> Iterator[Told]:
    modules = [m for m in _modules() if _named(m.__name__, options.only)]
    for module in modules:
        yield _guarded(f"{module.__name__}, as expected", lambda m=module: _example(m, options.device))
    if options.device != GPU:
        return
    yield from _flagships(options.only)
    tool = shutil.which("compute-sanitizer")
    if not options.sanitizers or tool is None:
        print("sanitizers: left out" if tool else "sanitizers: compute-sanitizer is not installed")
        return
    for module in modules:
        for name in TOOLS:
            yield f"{module.__name__}, {name}", _sanitized(tool, name, module.__name__)


def _flagships(only: list[str] | None) -> Iterator[Told]:
    sys.path.append(str(ROOT / "benchmarks"))
    import torch  # as is all that has to do with it, only where there is a GPU
    from gpu_rows import ROWS

    random = torch.Generator("cuda")
    random.manual_seed(time.time_ns() % (1 << 31))
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, seed {random.initial_seed()}", flush=True
    )
    for row in ROWS:
        if _named(row.name, only):
            yield _guarded(f"{row.name}, against torch", lambda r=row: _values(r, random))


def _named(name: str, only: list[str] | None) -> bool:
    return only is None or any(word in name for word in only)


def _guarded(what: str, test: Any) -> Told:
    try:
        return what, test()
    except SoundlineError as error:
        return what, str(error)


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


def _values(row: Any, random: Any) -> str | None:
    """A flagship at sizes of several tiles, against torch."""
    import torch
    from gpu import apart
    from gpu_rows import shared

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
                return f"{name} is off by {error:.1e}, of {row.error:.0e} allowed"
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
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
