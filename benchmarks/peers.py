"""
soundline beside its peers
==========================

``make bench-peers`` runs this: every row of work, by numpy, torch, oneDNN, JAX, tinygrad and soundline, as installed
and at their best, with one thread and with two. The candidates of a row take turns, in another order each time; medians
and minima are written with every single turn to ``benchmarks/results/peers.json``, from which the documentation's table
is made. With one thread, what is compared is processor time, with two it is time by the clock. A peer that is not
installed is named as absent::

    python benchmarks/peers.py --row gemm-1024 --row softmax --threads 1
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rows import arrays, chains, costs, networks
from rows.row import BEAM, OPENBLAS_512, Row, Taken, Target
from rows.turns import Workers, measured, order
from run import RESULTS, ROOT, machine

_LONGEST = ("gemm-2048", "gemm-4096")
ROWS = tuple(sorted((*arrays.ROWS, *networks.ROWS, *chains.ROWS), key=lambda row: row.name in _LONGEST))
"""The rows, those that take longest last."""
NEEDS = {
    "torch": "torch",
    "torch out=": "torch",
    "torch.compile": "torch",
    "oneDNN": "torch",
    "jax": "jax",
    "tinygrad": "tinygrad",
    BEAM: "tinygrad",
}
"""The package that a candidate needs."""
PACKAGES = ("soundline", "numpy", "torch", "jax", "tinygrad")


def main() -> int:
    """Measure what is asked for, and put it in the place of what the result said of it."""
    options = _options()
    absent = [p for p in PACKAGES if _version(p) is None]
    path = RESULTS / ("peers.json.tmp" if absent else "peers.json")  # what is committed has every peer
    before = json.loads(path.read_text()) if path.exists() and (options.row or options.threads) else {}
    rows: dict[str, Any] = before.get("rows", {})
    for row in rows.values():
        row.setdefault("processor", before["machine"]["processor"])  # what stays was perhaps taken elsewhere
    result = {
        "schema": 1,
        "machine": machine(),
        "versions": {p: v for p in PACKAGES if (v := _version(p)) is not None},
        "absent": absent,
        "rows": rows,
    }

    def keep() -> None:
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    for name, cost in costs.ROWS.items():
        if not options.row or name in options.row:
            rows[name] = shown_cost(name, cost)
            keep()
    for threads in options.threads or (1, 2):
        workers = Workers(threads)
        for row in ROWS:
            if threads in row.threads and (not options.row or row.name in options.row):
                rows[f"{row.name}, {threads}"] = shown(row, threads, one(row, workers, options))
                keep()
        workers.stop()
    print(f"written: {path.relative_to(ROOT)}")
    return 0


def _options() -> argparse.Namespace:
    names = [*(row.name for row in ROWS), *costs.ROWS]
    parser = argparse.ArgumentParser(description="Measure soundline beside its peers.")
    parser.add_argument(
        "--row", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}"
    )
    parser.add_argument("--threads", type=int, action="append", choices=(1, 2), help="default: 1, then 2")
    parser.add_argument("--repeats", type=int, default=9, help="turns of each candidate (default: 9)")
    parser.add_argument("--seconds", type=float, default=12.0, help="after which a row ends (default: 12)")
    parser.add_argument("--without", action="append", default=[], metavar="CANDIDATE", help="leave one out")
    return parser.parse_args()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def has_avx512() -> bool:
    """Whether OpenBLAS can be asked for its kernels of AVX-512."""
    info = Path("/proc/cpuinfo")
    return info.exists() and "avx512f" in info.read_text()


def one(row: Row, workers: Workers, options: argparse.Namespace) -> dict[str, Any]:
    """A row's result."""
    wanted, absent = [], {}
    for c in order(row):
        if c in NEEDS and importlib.util.find_spec(NEEDS[c]) is None:
            absent[c] = f"{NEEDS[c]} is not installed"
        elif c == OPENBLAS_512 and not has_avx512():
            absent[c] = "the processor has no AVX-512"
        elif c in options.without or (c == BEAM and workers.threads > 1):
            absent[c] = "left out"
        else:
            wanted.append(c)
    before = os.getloadavg()[0]
    taken = measured(row, workers, wanted, options.repeats, options.seconds)
    absent |= {c: t.why for c, t in taken.items() if t.why}
    return {
        "row": row.name,
        "title": row.title,
        "threads": workers.threads,
        "work": row.work,
        "unit": row.unit,
        "processor": machine()["processor"],
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "taken": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()),
        "candidates": {c: _figures(t) for c, t in taken.items() if t.wall},
        "absent": absent,
        "wrong": [c for c, t in taken.items() if t.wall and t.off > row.tolerance],
        "targets": [_judged(t, taken, workers.threads) for t in row.targets if t.threads == workers.threads],
    }


def _figures(taken: Taken) -> dict[str, Any]:
    return {
        "wall": [float(f"{s:.4g}") for s in taken.wall],
        "cpu": [float(f"{s:.4g}") for s in taken.cpu],
        "off": float(f"{taken.off:.2g}"),
    }


def seconds(taken: Taken, threads: int) -> float:
    """The median that is compared: of processor time with one thread, by the clock with more."""
    return statistics.median(taken.cpu if threads == 1 else taken.wall)


def _judged(target: Target, taken: dict[str, Taken], threads: int) -> dict[str, Any]:
    """A target beside what was measured; no ratio where a side is absent."""
    peers = {p: seconds(taken[p], threads) for p in target.peers if p in taken and taken[p].wall}
    ours = taken.get(target.candidate)
    said: dict[str, Any] = {"candidate": target.candidate, "least": target.least}
    if not peers or ours is None or not ours.wall:
        return said | {"peer": " or ".join(target.peers), "ratio": None}
    best = min(peers, key=lambda p: peers[p])
    return said | {"peer": best, "ratio": round(peers[best] / seconds(ours, threads), 3)}


def shown(row: Row, threads: int, found: dict[str, Any]) -> dict[str, Any]:
    """Print a row as it falls, and pass it on."""
    print(f"{row.title}, {threads} thread{'s' * (threads > 1)} (load {found['load'][1]})")
    for c, figures in found["candidates"].items():
        median = statistics.median(figures["cpu" if threads == 1 else "wall"])
        print(
            f"  {c:18} {median * 1e3:10.3f} ms  {row.work / median:9.1f} {row.unit}/s  off {figures['off']:.1e}"
        )
    for c, why in found["absent"].items():
        print(f"  {c:18} absent: {why}")
    for t in found["targets"]:
        said = "not measured" if t["ratio"] is None else "met" if t["ratio"] >= t["least"] else "missed"
        print(f"    {t['candidate']} against {t['peer']}: {t['ratio']} of {t['least']}: {said}")
    sys.stdout.flush()
    return found


def shown_cost(name: str, cost: costs.Cost) -> dict[str, Any]:
    """Measure a row of costs, print it, and pass it on."""
    found: dict[str, Any] = {"row": name, "title": cost.title, "processor": machine()["processor"]}
    found["load"] = [round(os.getloadavg()[0], 2)]
    found |= cost.measure()
    print(f"{cost.title}: {json.dumps(found['targets'], ensure_ascii=False)}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
