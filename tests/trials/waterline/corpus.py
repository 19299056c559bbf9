"""
Examples and flagships
======================

The programs of the project with sizes at which they are emulated, and what their own files say that they compute.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from soundline.impl.spork.program import SporkProc
from trials.harness import ROOT
from trials.waterline.batches import Case

EXAMPLES: Final = ROOT / "examples/spork"
APPROXIMATE: Final = {"attention": 0.01, "softmax": 1e-5}
"""How far values of flagships may be off that use approximate functions."""
QUICK: Final = 10.0
"""Programs that the machine checks within so many seconds, about."""
SLOW: Final = frozenset({"attention", "gemm_sm80_bf16", "gemm_sm90_bf16", "gemm_sm90_multicast_bf16"})
"""Programs for which it takes longer."""


@dataclass(frozen=True, slots=True)
class Work:
    """A program of a file."""

    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"


@cache
def module(file: str) -> ModuleType:
    """A file of an example, or of a flagship."""
    path = next(p for p in (EXAMPLES / f"{file}.py", EXAMPLES / "flagships" / f"{file}.py") if p.exists())
    spec = spec_from_file_location(f"waterline_{file}", path)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def works() -> list[Work]:
    """Every program that has sizes and arguments: each example, and of each flagship the small one."""
    plain = [Work(p.stem, n) for p in sorted(EXAMPLES.glob("*.py")) for n in _programs(p)]
    return plain + [Work(p.stem, "small") for p in sorted((EXAMPLES / "flagships").glob("*.py"))]


def _programs(path: Path) -> list[str]:
    return [name for name, value in vars(module(path.stem)).items() if isinstance(value, SporkProc)]


def program(work: Work) -> SporkProc:
    """The program."""
    found = getattr(module(work.file), work.name)
    assert isinstance(found, SporkProc)
    return found


def sizes(work: Work) -> Mapping[str, int]:
    """The sizes at which it is tried."""
    found: Mapping[str, int] = module(work.file).SIZES
    return found


@cache
def sequential(work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays before, and after the sequential reading."""
    before = module(work.file).arguments()
    after = {name: array.copy() for name, array in before.items()}
    program(work).run(**sizes(work), **after)
    return before, after


def work_case(work: Work, proc: SporkProc | None = None) -> Case:
    """The program, or a changed one that is to compute the same."""
    before, after = sequential(work)
    given = program(work) if proc is None else proc
    return Case(given, given.cuda(), before, after, sizes(work), tolerance=APPROXIMATE.get(work.file, 0.0))
