"""
``soundline compile --target cuda``
===================================

Writes the CUDA C++ and the C of a Spork program.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import sys
from collections.abc import Mapping
from typing import Any, Final

from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.program.program import Program
from soundline.impl.spork.checker.machines import judged
from soundline.spec.errors import ProgramError, UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.verify.cli.check import given_sizes, sizes_for
from soundline.verify.cli.machines import Shown, note
from soundline.verify.files.loader import surroundings
from soundline.verify.files.problems import displayed, visible
from soundline.verify.programs import loading
from soundline.verify.reports.hazards.checked import error_text

TENSOR_OPTIONS: Final[dict[str, Any]] = {
    "stage": None,
    "check": False,
    "input": [],
    "profile": None,
    "schedule": [],
    "beam": None,
    "format": "text",
    "device": "CPU",
}
"""The options that speak of tensor programs, and what they are where they are not given."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this target."""
    group = parser.add_argument_group("Spork programs")
    group.add_argument(
        "--target",
        choices=("c", "cuda"),
        default="c",
        help="cuda: the CUDA C++ of a Spork program (default: c)",
    )
    group.add_argument("--arch", metavar="ARCH", help="sm_80 or sm_90a (default: the least that serves)")
    group.add_argument("--contract", action="store_true", help="round fma once")
    group.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="check for hazards at this size first; the files say so",
    )


def check_unused(options: argparse.Namespace) -> None:
    """Refuse the options of this target where another one is chosen."""
    for name in ("arch", "contract", "size"):
        if getattr(options, name):
            raise UsageError(f"--{name} is of Spork programs", hint="add --target cuda")


def run(options: argparse.Namespace) -> int:
    """Generate, and print the device part or write all files to a folder."""
    for option, absent in TENSOR_OPTIONS.items():
        if getattr(options, option) != absent:
            raise UsageError(f"--{option} is of tensor programs", hint="leave it out with --target cuda")
    path, name = loading.split(options.program)
    with surroundings(path) as namespace:
        with contextlib.redirect_stdout(sys.stderr):
            loading.execute(path, namespace)
        proc = _proc(namespace, path, name)
        try:
            return _generated(proc, options)
        except ProgramError as error:
            print(f"soundline: error: {visible(error_text(error))}", file=sys.stderr)
            return 2


def _generated(proc: Proc, options: argparse.Namespace) -> int:
    checked: list[Mapping[str, int]] = []
    if options.size:
        sizes = sizes_for({proc.name: proc}, given_sizes(options.size))[proc.name]
        if isinstance(sizes, UsageError):
            raise sizes
        with Shown() as shown:
            verdict = judged(proc, sizes, progress=shown, told=note)
        if not verdict.ok:
            print(visible(verdict.text(displayed)), file=sys.stderr)
            return 1
        checked.append(sizes)
    source = generate(proc, options.arch, options.contract, checked)
    if options.output is None:
        print(str(source), end="")
    else:
        for file in source.write(options.output):
            print(file)
    return 0


def _proc(namespace: Mapping[str, Any], path: str, name: str | None) -> Proc:
    """The Spork program of a name, or the only one of the file."""
    known = {n: v for n, v in namespace.items() if isinstance(v, Proc)}
    own = {n: p for n, p in known.items() if p.position is None or p.position.file == path}
    if name is None:
        if len(own) == 1:
            return next(iter(own.values()))
        hint = f"name one: FILE.py:PROC, of {', '.join(own)}" if own else "a proc is made by @sl.spork.proc"
        raise UsageError(f"{displayed(path)} defines {len(own) or 'no'} Spork programs", hint=hint)
    if name in known:
        return known[name]
    found = namespace.get(name)
    if inspect.isfunction(found) or isinstance(found, Program):
        raise UsageError(
            f"{name} is a tensor program, and the target cuda takes Spork programs only",
            hint="leave out --target cuda for C, or write the kernel in Spork",
        )
    raise UsageError(
        f"{displayed(path)} defines no Spork program {name}", hint=f"it defines {', '.join(own) or 'none'}"
    )
