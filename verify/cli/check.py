"""
``soundline check``
===================

Runs Spork programs of a Python file on the abstract machine and reports every hazard. What the static law refuses is
reported as well, with the place in the program.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from soundline.spec.errors import OutOfMemoryError, ProgramError, SoundlineError, ToolchainError, UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import CudaDeviceFunction, statements
from soundline.spec.spork.language.types import Control
from soundline.spec.spork.synchronization.visibility import Policy
from soundline.verify.cli import machines
from soundline.verify.files.loader import surroundings
from soundline.verify.files.problems import displayed, visible
from soundline.verify.programs import loading
from soundline.verify.reports.hazards import page, sarif
from soundline.verify.reports.hazards.checked import Checked, error_text, report_json

DESCRIPTION = """\
Check Spork programs for hazards: run them at given sizes on the abstract machine, which checks that every
access is ordered after those on which it depends.

The file is plain Python that defines procs:

    from __future__ import annotations
    import soundline as sl

    @sl.spork.proc
    def program(n: size, x: f32[n] @ CudaGmemLinear):
        ...

Without a name, all procs of the file are checked that have a device function or take no sizes.
"""

EPILOG = """\
examples:
  soundline check kernel.py
  soundline check kernel.py:gemm --size M=64 --size N=64 --size K=32
  soundline check kernel.py:gemm --size M=64 --size N=64 --size K=32 --policy strict --format json
  soundline check kernel.py --format html > report.html
  soundline check kernel.py --redundant

exit codes: 0 no hazards, 1 hazards or a program that is refused, 2 wrong use, bad input or not enough
memory, 130 interrupted
"""

BAD_INPUT = frozenset({"seq-argument", "seq-assert"})
"""The ids of errors which say that the sizes do not fit the program."""

TRUTH = {"true": True, "True": True, "false": False, "False": False}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.add_argument("program", metavar="FILE[:PROC]", help="the file, and which proc of it")
    machines.arguments(parser)
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a size, index or flag: n=128, flag=true",
    )
    parser.add_argument(
        "--policy",
        choices=tuple(str(p) for p in Policy),
        default=str(Policy.temporal),
        help="whether a write through the asynchronous proxy after a read needs a proxy fence: "
        "temporal (no, the default) or strict (yes)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "html", "sarif"),
        default="text",
        help="of the report: html is one file with pictures, sarif is for code hosts",
    )


def run(options: argparse.Namespace) -> int:
    """Check and print."""
    path, name = loading.split(options.program)
    sizes = given_sizes(options.size)
    with surroundings(path) as namespace:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                loading.execute(path, namespace)
        except ProgramError as error:
            return _report(options, [Checked(name or displayed(path), {}, error)])
        chosen = _chosen(namespace, path, name)
        given = sizes_for(chosen, sizes)
        with loading.blamed(path):
            checked = [_checked(n, chosen[n], own, options) for n, own in given.items()]
    return _report(options, checked)


def _report(options: argparse.Namespace, checked: Sequence[Checked]) -> int:
    match options.format:
        case "json":
            print(json.dumps(report_json(checked, options.machine), indent=2))
        case "html":
            print(page.render(checked, options.machine, options.policy), end="")
        case "sarif":
            print(sarif.render(checked), end="")
        case _:
            print("\n\n".join(visible(c.text()) for c in checked))
    return 0 if all(c.ok for c in checked) else 1


def _checked(
    name: str, proc: Proc, sizes: Mapping[str, int | bool] | UsageError, options: argparse.Namespace
) -> Checked:
    """The verdict on a proc, or why it is refused. Raises ``UsageError`` where its sizes do not fit it."""
    if isinstance(sizes, UsageError):
        return Checked(name, {}, sizes)
    try:
        found = machines.verdict(proc, sizes, Policy(options.policy), options)
    except (OutOfMemoryError, ToolchainError, UsageError):
        raise  # nothing was found out about the program
    except SoundlineError as error:
        if error.rule in BAD_INPUT:
            raise UsageError(f"{name}: {error_text(error)}", hint="give other sizes") from None
        return Checked(name, sizes, error)
    return Checked(name, sizes, replace(found, redundant=()), found.redundant)


# Which procs, and with what ---------------------------------------------------------------------------------------


def _chosen(namespace: Mapping[str, Any], path: str, name: str | None) -> dict[str, Proc]:
    """The proc of a name, or those of the file that can be checked without one."""
    known = {n: v for n, v in namespace.items() if isinstance(v, Proc)}
    own = {n: p for n, p in known.items() if p.position is None or p.position.file == path}
    if name is not None:
        if name not in known:
            hint = f"it defines {', '.join(own)}" if own else "it defines none"
            raise UsageError(f"{displayed(path)} defines no proc {name}", hint=hint)
        return {name: known[name]}
    chosen = {n: p for n, p in own.items() if _on_device(p) or not _controls(p)}
    if not chosen:
        hint = f"name one: FILE.py:PROC, of {', '.join(own)}" if own else "a proc is made by @sl.spork.proc"
        raise UsageError(
            f"{displayed(path)} defines no proc with a device function or without sizes", hint=hint
        )
    return chosen


def _on_device(proc: Proc) -> bool:
    return any(isinstance(s, CudaDeviceFunction) for s in statements(proc.body))


def _controls(proc: Proc) -> dict[str, Control]:
    return {a.name: a.type for a in proc.arguments if isinstance(a.type, Control)}


def given_sizes(given: Sequence[str]) -> dict[str, int | bool]:
    """What ``--size`` says."""
    found: dict[str, int | bool] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals:
            raise UsageError(f"--size {text} is not a size", hint="such as --size n=128")
        if name in found:
            raise UsageError(f"--size {name} is given twice")
        try:
            found[name] = TRUTH[value] if value in TRUTH else int(value)
        except ValueError:
            raise UsageError(f"--size {text} is not a size", hint=f"{value} is not a number") from None
    return found


def sizes_for(
    chosen: Mapping[str, Proc], sizes: Mapping[str, int | bool]
) -> dict[str, dict[str, int | bool] | UsageError]:
    """The sizes of each proc; of one among several that misses some, what is missing. Raises ``UsageError`` where no
    proc has its sizes, or nothing takes one.
    """
    wanted = {name: _controls(proc) for name, proc in chosen.items()}
    for size in sizes:
        if not any(size in controls for controls in wanted.values()):
            known = sorted({c for controls in wanted.values() for c in controls})
            hint = f"the sizes are {', '.join(known)}" if known else "there are no sizes"
            raise UsageError(f"no proc takes the size {size}", hint=hint)
    found: dict[str, dict[str, int | bool] | UsageError] = {}
    for name, controls in wanted.items():
        missing = [c for c in controls if c not in sizes]
        if missing:
            hint = " ".join(f"--size {c}={'true' if controls[c].name == 'bool' else '…'}" for c in missing)
            found[name] = UsageError(
                f"{name} takes sizes that are not given: {', '.join(missing)}", hint=hint
            )
            continue
        negative = [c for c in controls if controls[c].name == "size" and sizes[c] < 0]
        if negative:
            raise UsageError(f"{name}: the size {negative[0]} is negative")
        found[name] = {c: sizes[c] for c in controls}
    lacking = [own for own in found.values() if isinstance(own, UsageError)]
    if len(lacking) == len(found):
        raise lacking[0]
    return found
