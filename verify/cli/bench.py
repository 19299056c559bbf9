"""
``soundline bench``
===================

How fast a program is: a call from Python, each kernel against the peak of the machine, and, where the file has one, a
function of numpy that computes the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl.inspect import peaks
from soundline.impl.inspect.profile import MOST, Profile, duration
from soundline.spec.errors import UsageError
from soundline.verify.programs import loading
from soundline.verify.programs.inputs import array_of_input
from soundline.verify.programs.loading import Chosen

Arrays = npt.NDArray[Any]
SCHEMA = 1
SECONDS: Final = 1.0
"""Without a given number of repeats, calls are repeated for about this long."""
FEWEST: Final = 5
NEAR: Final = 1e-3
"""A reference that differs by more than this, relative to its greatest element, computes something else."""

DESCRIPTION = f"""\
Compile a program, call it repeatedly, and report how fast it is.

{loading.INPUTS_HELP}
A function of numpy arrays in the same file is measured for comparison, in alternation, if it has the name of
the program with the suffix _numpy, or is named by --against:

    def layer_numpy(x, w, b):
        ...
"""

EPILOG = """\
exit codes: 0 it was measured, 1 the reference gives another result, 2 wrong use, or a program that does not run

examples:
  soundline bench model.py:layer
  soundline bench model.py:layer --against slow_layer --repeats 50 --format json -o layer.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    loading.common_arguments(parser)
    parser.add_argument("--repeats", metavar="N", help="number of calls (default: for about a second)")
    parser.add_argument("--against", metavar="NAME", help="a function in the file from arrays to arrays")
    parser.add_argument(
        "--measure-peaks", action="store_true", help="measure the peaks of the machine again, and store them"
    )
    loading.output_arguments(parser, "text", "json")


def run(options: argparse.Namespace) -> int:
    """Compile, measure and print."""
    repeats = _repeats(options.repeats)
    if options.measure_peaks:
        peaks.of_this_machine(again=True)
    path, _ = loading.split(options.program)
    with loading.chosen(options) as found:
        reference = _reference(found, options.against)
        arrays = [array_of_input(a, s) for a, s in zip(found.inputs, found.program.inputs, strict=True)]
        with loading.blamed(path):
            difference = _difference(found, reference, arrays) if reference else None
            times = _timed(
                [lambda: found.program(*arrays), *([lambda: reference(*arrays)] if reference else [])],
                repeats,
            )
        profile = found.program.profile(*arrays, repeats=len(times[0]))
    report = _report(found, profile, times, difference)
    shown = (
        json.dumps(report, indent=2, ensure_ascii=False)
        if options.format == "json"
        else _text(report, profile)
    )
    loading.written(shown, options.output)
    return 1 if difference is not None and not difference <= NEAR else 0


def _repeats(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST):
        raise UsageError(f"--repeats {text} is not a number from 1 to {MOST}")
    return int(text)


def _reference(found: Chosen, name: str | None) -> Callable[..., Any] | None:
    """The function that is measured beside the program."""
    reference = found.namespace.get(name or f"{found.name}_numpy")
    if name is not None and not callable(reference):
        raise UsageError(f"the file defines no function {name}")
    return reference if callable(reference) else None


def _difference(found: Chosen, reference: Callable[..., Any], arrays: Sequence[Arrays]) -> float:
    """How far the results are apart, relative to the greatest element of the reference's."""
    ours, theirs = (_several(f(*arrays)) for f in (found.program, reference))
    if [a.shape for a in ours] != [np.shape(b) for b in theirs]:
        raise UsageError(
            f"the reference returns {', '.join(str(np.shape(b)) for b in theirs)}, and the program "
            f"{', '.join(str(a.shape) for a in ours)}"
        )
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.size:
            exact = np.asarray(b).astype(np.float64)
            apart = np.abs(np.asarray(a).astype(np.float64) - exact).max()
            worst = max(worst, float(apart / max(np.abs(exact).max(), np.finfo(np.float64).tiny)))
            worst = float("inf") if np.isnan(apart) else worst
    return worst


def _several(returned: Any) -> list[Any]:
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def _timed(calls: Sequence[Callable[[], Any]], repeats: int | None) -> list[list[float]]:
    """The seconds of each call; the calls take turns, so that what else the machine does meets all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    began = time.perf_counter()
    while len(times[0]) < (repeats or FEWEST) or (
        repeats is None and time.perf_counter() - began < SECONDS and len(times[0]) < 1000
    ):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return times


def _report(
    found: Chosen, profile: Profile, times: Sequence[Sequence[float]], difference: float | None
) -> dict[str, Any]:
    ours, *others = ({"median_seconds": statistics.median(t), "best_seconds": min(t)} for t in times)
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "bench",
        "compiled_as": found.program.certificate.profile,
        "calls": len(times[0]),
        "call": ours,
        **profile.as_json(),
    }
    if others:
        ratio = others[0]["median_seconds"] / ours["median_seconds"]
        report["reference"] = {**others[0], "ratio": ratio, "difference": difference}
    return report


def _text(report: dict[str, Any], profile: Profile) -> str:
    call = report["call"]
    about = f"median of {report['calls']} calls, profile {report['compiled_as']}"
    best = duration(call["best_seconds"])
    lines = [f"a call takes {duration(call['median_seconds'])} (best {best}; {about})"]
    reference = report.get("reference")
    if reference is not None:
        lines.append(
            f"the reference takes {duration(reference['median_seconds'])} (best "
            f"{duration(reference['best_seconds'])}): {reference['ratio']:.2f} times as long"
        )
        same = reference["difference"] <= NEAR
        lines.append(
            f"the results differ by {reference['difference']:.2g} of the greatest element"
            + ("" if same else ": the reference computes something else")
        )
    return "\n".join([*lines, "", str(profile)])
