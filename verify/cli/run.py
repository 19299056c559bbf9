"""
``soundline run``
=================

Compiles a program, calls it once and prints what it returns, or writes it to a file; with ``--check`` the evaluator
computes it too, and every element is compared.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.program.program import Program
from soundline.spec.errors import UsageError
from soundline.verify.programs import loading
from soundline.verify.programs.replaying import MOST, Difference, replayed

Arrays = npt.NDArray[Any]
SCHEMA = 1
SHOWN = 200
"""Only the ends are printed of a result with more elements than this."""

DESCRIPTION = f"""\
Compile a program, call it once, and print what it returns, or write it to a file.

{loading.INPUTS_HELP}
With --check the evaluator computes the original graph of the program, and every element is compared: bit for bit
under the profile exact, and within --tolerance under fast.
"""

EPILOG = """\
exit codes: 0 it ran, 1 --check found a difference, 2 wrong use, or a program that does not run,
3 --check could not decide: the evaluator would take too long, or results of the profile fast differ and there
is no --tolerance

examples:
  soundline run model.py:layer --input x.npy --input 'float32[8, 2]' --input 'float32[2]'
  soundline run model.py:layer --random 7 -o results.npz
  soundline run model.onnx --check
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    loading.common_arguments(parser)
    parser.add_argument("--check", action="store_true", help="compare with the evaluator")
    parser.add_argument(
        "--tolerance",
        metavar="ULP",
        help="largest difference under the profile fast, in units in the last place",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="of the report (default: text)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the results to this .npz or .npy file")


def run(options: argparse.Namespace) -> int:
    """Compile, call, compare and print."""
    tolerance = _tolerance(options.tolerance)
    if options.output is not None and not options.output.endswith((".npz", ".npy")):
        raise UsageError(
            f"{options.output} is not a file for arrays", hint="name an .npz file, or .npy for one result"
        )
    with loading.chosen(options) as found:
        returned = found.program(*found.inputs)
        several = returned if isinstance(returned, tuple) else (returned,)
        results = [np.asarray(r) for r in several]  # what lies on several devices is a Tensor
        told = None
        if options.check:
            told = replayed(found.program, found.function, found.inputs, results)
    _keep(results, options.output)
    code = _code(told, tolerance, found.program) if options.check else 0
    if options.format == "json":
        print(json.dumps(_json(found.program, results, told, code, options), indent=2, ensure_ascii=False))
    else:
        for line in _lines(found.program, results, told, options):
            print(line)
    return code


def _tolerance(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise UsageError(f"--tolerance {text} is not a number of units in the last place")
    return found


def _code(told: Sequence[Difference] | None, tolerance: float | None, program: Program) -> int:
    """Right, wrong, or not decided."""
    if told is None:
        return 3
    allowed = tolerance or 0.0
    if not any(d.differing and not (d.ulp is not None and d.ulp <= allowed) for d in told):
        return 0
    return 3 if tolerance is None and program.certificate.licences else 1


def _keep(results: Sequence[Arrays], file: str | None) -> None:
    if file is None:
        return
    if file.endswith(".npy") and len(results) != 1:
        raise UsageError(f"{len(results)} results do not fit into one .npy file", hint="name an .npz file")
    try:
        with Path(file).open("wb") as stream:
            if file.endswith(".npy"):
                np.save(stream, results[0])
            else:
                named: dict[str, Any] = {f"output_{k}": array for k, array in enumerate(results)}
                np.savez(stream, **named)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


def _lines(
    program: Program,
    results: Sequence[Arrays],
    told: Sequence[Difference] | None,
    options: argparse.Namespace,
) -> list[str]:
    found = []
    for signature, array in zip(program.outputs, results, strict=True):
        found.append(str(signature))
        if options.output is None:
            found.append(np.array2string(array, threshold=SHOWN, prefix=""))
    if options.check:
        found += [_undecided()] if told is None else [str(d) for d in told]
    return found


def _undecided() -> str:
    return f"not compared: the evaluator takes minutes for more than {MOST} elements; name smaller inputs"


def _json(
    program: Program,
    results: Sequence[Arrays],
    told: Sequence[Difference] | None,
    code: int,
    options: argparse.Namespace,
) -> dict[str, Any]:
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "run",
        "program": repr(program),
        "profile": program.certificate.profile,
        "outputs": [
            {"signature": str(s), **({"file": options.output} if options.output else {"value": a.tolist()})}
            for s, a in zip(program.outputs, results, strict=True)
        ],
        "exit_code": code,
    }
    if options.check:
        report["check"] = None if told is None else [d.as_json() for d in told]
    return report
