"""The measurements, from the results that `make bench` and `make verify-deep` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rst import code, table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def measurements() -> str:
    """The tables of the latest run, or a sentence that there is none."""
    path = RESULTS / "latest.json"
    if not path.exists():
        return "No result is committed; ``make bench`` makes one.\n"
    result = json.loads(path.read_text())
    machine = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    taken = (
        f"Taken on {machine['processor']}, {machine['cores']} cores (load {machine['load']}), "
        f"Python {machine['python']}, {versions}. Medians of {result['repeats']} interleaved repeats. "
        f"Peers that were not installed: {', '.join(result['absent']) or 'none'}.\n"
    )
    machine_rows = result.get("abstract_machine", [])
    return "\n".join([taken, _costs(result), _abstract_machine(machine_rows), _kernels(result["kernels"])])


def checker_costs() -> str:
    """What `benchmarks/checker.py` found, or a sentence that there is no result."""
    path = RESULTS / "checker.json"
    if not path.exists():
        return "No result is committed; ``python benchmarks/checker.py`` makes one.\n"
    found = json.loads(path.read_text())
    machine = found["machine"]
    rows = [
        (
            row["name"],
            f"{row['seconds']:.2f} s",
            f"{row['megabytes']:.0f} MB",
            f"{row['events']:,}",
            str(row["hazards"]),
        )
        for row in found["rows"]
    ]
    taken = (
        f"Processor seconds of one check in a process of its own, without importing, on {machine['processor']} "
        f"(load {machine['load']}); ``python benchmarks/checker.py`` repeats it.\n"
    )
    header = ("program and size", "seconds", "memory", "events of the run", "hazards")
    return "\n".join([taken, table(header, rows, widths=(38, 12, 12, 26, 12))])


def checker_trials() -> str:
    """What the campaign on the fast checker has found, or a sentence that there is no result."""
    path = RESULTS / "checker_trials.json"
    if not path.exists():
        return "No result is committed; ``python -m trials.checker.campaign`` makes one.\n"
    found = json.loads(path.read_text())
    told = found["programs"]
    return (
        f"Compared so far: {told['compared']:,} random programs, of which {told['hazardous']:,} have hazards and "
        f"{told['repeating']:,} repeat themselves; {len(found['disagreements'])} disagreements. ``make verify-deep`` "
        "goes on.\n"
    )


def runtime_costs() -> str:
    """What `benchmarks/runtime.py` found, or a sentence that there is no result."""
    path = RESULTS / "runtime.json"
    if not path.exists():
        return "No result is committed; ``python benchmarks/runtime.py`` makes one.\n"
    found = json.loads(path.read_text())
    machine, call = found["machine"], found["warm_call"][1]
    one, many = found["cold_compile"], found["batch_of_16"]
    rows = [
        (
            "a warm call, 3 arguments",
            _both(call, "microseconds", "µs"),
            f"numpy's ``add``: {call['numpy_add_microseconds']} µs",
        ),
        ("each further command", _both(found["commands"], "nanoseconds_per_further_command", "ns"), "—"),
        (
            "sharing a command with a worker thread",
            _both(found["pool"], "microseconds_per_shared_command", "µs"),
            "—",
        ),
        (
            "compiling one small kernel",
            _spent(one, ""),
            f"the compiler alone: {_spent(one, 'compiler_alone_')}",
        ),
        ("each of 16 kernels", _spent(many, ""), f"the compiler alone: {_spent(many, 'compiler_alone_')}"),
    ]
    taken = (
        f"Taken on {machine['processor']}, {machine['cores']} cores (load {machine['load']}). Medians of "
        f"{found['repeats']} interleaved repeats; in brackets the least, or the processor time.\n"
    )
    return taken + "\n" + table(("", "soundline", "beside it"), rows, widths=(34, 33, 33))


def _both(found: dict[str, Any], name: str, unit: str) -> str:
    least = found[f"least_{name.partition('_')[0]}"]
    return f"{found[name]} {unit} ({least} {unit})"


def _spent(found: dict[str, Any], whose: str) -> str:
    clock, used = (found[f"{whose}{kind}milliseconds_per_kernel"] for kind in ("", "processor_"))
    return f"{clock} ms ({used} ms)"


def _abstract_machine(rows: list[dict[str, Any]]) -> str:
    """What it costs to run the examples of Spork on the abstract machine."""
    if not rows:
        return ""
    shown = [
        (
            code(r["program"]),
            f"{r['events']:,}",
            f"{r['accesses']:,}",
            f"{r['unfold_seconds']} s",
            f"{r['machine_seconds']} s",
        )
        for r in rows
    ]
    header = ("example on the literal machine", "events", "accesses", "unfolding", "machine")
    return table(header, shown, widths=(40, 14, 16, 15, 15))


def _costs(result: dict[str, Any]) -> str:
    rows = []
    if "prover" in result:
        p = result["prover"]
        what = f"verifying {p['rules']} rules at {p['layers']} layers"
        rows.append((what, f"{p['cold_seconds']} s", f"{p['cached_seconds']} s"))
        rows.append(("per rule", f"{p['cold_seconds_per_rule']} s", f"{p['cached_seconds_per_rule']} s"))
        if "goals" in p:
            g = p["goals"]
            rows.append((f"one of {g['count']:,} goals, median", f"{1000 * g['median_seconds']:.1f} ms", "—"))
            rows.append(("95 % of the goals take at most", f"{1000 * g['p95_seconds']:.0f} ms", "—"))
            rows.append(("the slowest goal", f"{g['slowest_seconds']:.1f} s", "—"))
    c = result["compile"]
    rows.append(("compiling gemm + bias + softmax", f"{c['cold_seconds']} s", f"{c['cached_seconds']} s"))
    return table(("", "nothing cached", "cached"), rows, widths=(50, 25, 25))


def _kernels(rows: list[dict[str, Any]]) -> str:
    shown = [
        (
            f"{r['m']} × {r['n']} × {r['k']}",
            code(r["profile"]),
            f"{r['soundline_seconds'] * 1e3:.3g} ms",
            f"{r['numpy_seconds'] * 1e3:.3g} ms",
            f"{r['speed_relative_to_numpy']:.2f}",
        )
        for r in rows
    ]
    header = ("softmax(x @ w + b), m × n × k", "profile", "soundline", "numpy", "speed relative to numpy")
    return table(header, shown, widths=(32, 14, 16, 16, 22))
