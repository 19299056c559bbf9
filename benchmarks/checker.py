"""
What it costs to check synchronization, measured
================================================

``python benchmarks/checker.py`` checks every example and flagship of Spork with the fast checker: at the sizes for
which the program was made, and the matrix product of Hopper from 512³ to 16384³, with what is skipped and without.
Beside it stands the literal machine where it comes to an end within minutes. Each check has a process of its own, whose
processor seconds and memory are counted; the C core was compiled before. The figures of the peer are carried from its
measurement on another machine (`PEER`): ratios to them say the order of magnitude and no more.

The result is ``benchmarks/results/checker.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from run import RESULTS, ROOT, machine

EXAMPLES = ROOT / "examples" / "spork"
Sizes = Mapping[str, int]

PEER: dict[str, float] = {"hopper 512": 0.38, "hopper 2048": 23.55, "tf32 768x1024x1024": 114.0}
"""Processor seconds of camspork (exo-lang/exo, branch akeley98/endgame) for the same programs: a product of bf16 by
clusters of 2, tiles of 128 x 256, steps of 64, a ring of 4; and a product of tf32 by cp.async with tiles of 192 x 256.
"""

GROUPS_OF_COPIES = '''
from __future__ import annotations

import soundline as sl


@sl.spork.proc
def rows(n: size, g: f32[n, 8 * THREADS] @ CudaGmemLinear, y: f32[n, 8 * THREADS] @ CudaGmemLinear):
    """Every thread copies the 8 elements of a row that it uses itself, two rows ahead."""
    with CudaDeviceFunction(blockDim=THREADS):
        for task in cuda_tasks(0, 1):
            rows: f32[3, 8 * THREADS] @ CudaSmemLinear
            groups: barrier[THREADS] @ CudaCommitGroup
            for tid in cuda_threads(0, THREADS, unit=cuda_thread):
                for i in seq(0, n + 2):
                    if i < n:
                        with CudaAsync(Sm80_cp_async):
                            for c in seq(0, 2):
                                Sm80_cp_async_f32(
                                    rows[i % 3, 8 * tid + 4 * c : 8 * tid + 4 * c + 4],
                                    g[i, 8 * tid + 4 * c : 8 * tid + 4 * c + 4],
                                    size=4,
                                )
                    Arrive(Sm80_cp_async, 1) >> groups[tid]
                    if i >= 2:
                        Await(groups[tid], cuda_in_order, 2)
                        for j in seq(0, 8):
                            y[i - 2, 8 * tid + j] = 2.0 * rows[(i - 2) % 3, 8 * tid + j]
                        Fence(cuda_in_order, Sm80_generic)
                Await(groups[tid], cuda_in_order, 0)
            Fence(cuda_in_order, cuda_in_order)
'''
"""A kernel in which every thread has a commit group of its own."""

COLLECTIVES = '''
from __future__ import annotations

import soundline as sl


@sl.spork.proc
def rounds(n: size, y: f32[CTAS, n] @ CudaGmemLinear):
    """A thread of each CTA writes, all of the cluster meet, and another one reads, again and again."""
    with CudaDeviceFunction(blockDim=THREADS, clusterDim=CTAS):
        for task in cuda_tasks(0, 1):
            s: f32[CTAS, 8] @ CudaSmemLinear
            for k in seq(0, n):
                for c in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                    with CudaWarps(0, 1):
                        for t in cuda_threads(0, 1, unit=cuda_thread):
                            s[c, k % 8] = 1.0
                Fence(cuda_in_order, cuda_in_order)
                for c in cuda_threads(0, CTAS, unit=cuda_cta_in_cluster):
                    with CudaWarps(WARP, WARP + 1):
                        for t in cuda_threads(0, 1, unit=cuda_thread):
                            y[c, k] = s[c, k % 8]
                Fence(cuda_in_order, cuda_in_order)
'''
"""A kernel whose collectives are small or large, and which does the same with both."""
TEXTS = {"rows": GROUPS_OF_COPIES, "rounds": COLLECTIVES}


@dataclass(frozen=True, slots=True)
class Row:
    """A program at sizes."""

    name: str
    file: str
    """Below ``examples/spork``, or none for a text above."""
    proc: str
    sizes: Sizes
    constants: Mapping[str, str] = field(default_factory=dict)
    """Numbers of the file that are others here: by the left side of the assignment."""
    without: str = ""
    """A text that is left out of the program, so that it has hazards."""
    asked: float | None = None
    """Seconds that it may take."""
    literal: bool = False
    """Whether the literal machine comes to an end."""
    whole: bool = False
    """Without what is skipped: no task and no iteration."""


HOPPER = "flagships/gemm_sm90_multicast_bf16.py"
SM80 = {"M1, N1, Mw, Nw, K0, MMA_K": "192, 256, 96, 64, 16, 8"}
SM90 = {"GROUPS, N1, K0, RING": "2, 256, 32, 4"}


def cubic(n: int, **more: int) -> dict[str, int]:
    """The sizes of a product of n³."""
    return {"M": n, "N": n, "K": n, **more}


def rows() -> Iterator[Row]:
    """Everything that is measured."""
    for n, asked in ((512, 0.15), (2048, 0.25), (16384, 1.0)):
        clusters = {"WM": min(8, n // 256), "WN": min(8, n // 256)}
        yield Row(f"hopper {n}", HOPPER, "gemm", cubic(n, **clusters), asked=asked)
    whole = cubic(2048, WM=8, WN=8)
    yield Row("hopper 2048, nothing skipped", HOPPER, "gemm", whole, asked=2.5, whole=True)
    long = {"M": 2048, "N": 2048, "K": 65536, "WM": 8, "WN": 8}
    yield Row("hopper 2048 x 2048 x 65536", HOPPER, "gemm", long)
    yield Row("hopper 65536", HOPPER, "gemm", cubic(65536, WM=8, WN=8))
    tf32 = {"M": 768, "N": 1024, "K": 1024}
    yield Row("tf32 768x1024x1024", "gemm_sm80_fence.py", "gemm", tf32, SM80, asked=0.5)
    fence = "                    Fence(Sm80_generic, Sm80_generic)\n"
    yield Row("tf32 768x1024x1024, no fence", "gemm_sm80_fence.py", "gemm", tf32, SM80, without=fence)
    small = {"M": 64, "N": 16, "K": 96}
    yield Row("ring 64x16x96", "gemm_sm90_ring.py", "gemm", small, literal=True)
    yield Row("groups of 32 threads", "", "rows", {"n": 6}, {"THREADS": "32"}, literal=True)
    yield Row("groups 6x256x8", "", "rows", {"n": 6}, {"THREADS": "256"}, asked=0.5)
    for ctas, threads in ((16, 64), (16, 1024)):
        numbers = {"CTAS": str(ctas), "THREADS": str(threads), "WARP": str(threads // 32 - 1)}
        name = f"20,000 rounds of {ctas} x {threads} threads"
        yield Row(name, "", "rounds", {"n": 20000}, numbers, whole=True)
    yield from (Row(**{"asked": 0.3, **row}) for row in REAL)


REAL: tuple[dict[str, Any], ...] = (
    {"name": "cp_async", "file": "cp_async.py", "proc": "stage", "sizes": {}},
    {"name": "cp_async_groups", "file": "cp_async_groups.py", "proc": "double", "sizes": {"n": 4096}},
    {"name": "fences", "file": "fences.py", "proc": "add_sums", "sizes": {}},
    {
        "name": "gemm_sm80_fence",
        "file": "gemm_sm80_fence.py",
        "proc": "gemm",
        "sizes": {"M": 3840, "N": 4096, "K": 4096},
        "constants": SM80,
    },
    {
        "name": "gemm_sm80_ring",
        "file": "gemm_sm80_ring.py",
        "proc": "gemm",
        "sizes": {"M": 3840, "N": 4096, "K": 4096},
        "constants": SM80,
    },
    {
        "name": "gemm_sm90_ring",
        "file": "gemm_sm90_ring.py",
        "proc": "gemm",
        "sizes": cubic(4096),
        "constants": SM90,
    },
    {
        "name": "gemm_sm90_multicast",
        "file": "gemm_sm90_multicast.py",
        "proc": "gemm",
        "sizes": cubic(4096),
        "constants": {"CTAS, GROUPS, N1, K0, RING": "2, 2, 256, 32, 4"},
    },
    {
        "name": "gemv through shared memory",
        "file": "gemv.py",
        "proc": "through_shared_memory",
        "sizes": {"M": 4096, "K": 4096},
        "constants": {"WARPS": "8"},
    },
    {
        "name": "gemv by shuffles",
        "file": "gemv.py",
        "proc": "by_shuffles",
        "sizes": {"M": 4096, "K": 4096},
        "constants": {"WARPS": "8"},
    },
    {
        "name": "split_k_atomics",
        "file": "split_k_atomics.py",
        "proc": "split_k",
        "sizes": {"M": 64, "N": 64, "K": 8192},
        "constants": {"TM, TN, SPLITS": "16, 16, 16"},
    },
    {
        "name": "split_k_workspace",
        "file": "split_k_workspace.py",
        "proc": "split_k",
        "sizes": {"M": 64, "N": 64, "K": 8192},
        "constants": {"TM, TN, SPLITS": "16, 16, 16"},
    },
    {"name": "tma_round_trip", "file": "tma_round_trip.py", "proc": "double", "sizes": {"n": 65536}},
    {
        "name": "vector_add",
        "file": "vector_add.py",
        "proc": "vector_add",
        "sizes": {"n": 2**24 + 100},
        "constants": {"CHUNK": "1024"},
    },
    {
        "name": "attention",
        "file": "flagships/attention.py",
        "proc": "attention",
        "sizes": {"HEADS": 128, "QUERIES": 4096, "KEYS": 4096},
    },
    {"name": "gemm_simt_f32", "file": "flagships/gemm_simt_f32.py", "proc": "gemm", "sizes": cubic(4096)},
    {"name": "gemm_sm80_bf16", "file": "flagships/gemm_sm80_bf16.py", "proc": "gemm", "sizes": cubic(8192)},
    {
        "name": "gemm_sm80_tf32",
        "file": "flagships/gemm_sm80_tf32.py",
        "proc": "gemm",
        "sizes": {"M": 7680, "N": 8192, "K": 8192},
    },
    {
        "name": "gemm_sm90_bf16",
        "file": "flagships/gemm_sm90_bf16.py",
        "proc": "gemm",
        "sizes": cubic(8192, WM=16, WN=8),
    },
    {
        "name": "gemm_sm90_multicast_bf16",
        "file": "flagships/gemm_sm90_multicast_bf16.py",
        "proc": "gemm",
        "sizes": cubic(8192, WM=8, WN=8),
    },
    {
        "name": "gemm_sm90_tf32",
        "file": "flagships/gemm_sm90_tf32.py",
        "proc": "gemm",
        "sizes": cubic(8192, WM=16, WN=8),
    },
    {"name": "prefix_sum", "file": "flagships/prefix_sum.py", "proc": "prefixes", "sizes": {"n": 2**24}},
    {"name": "reduction", "file": "flagships/reduction.py", "proc": "total", "sizes": {"n": 2**24}},
    {"name": "softmax", "file": "flagships/softmax.py", "proc": "softmax", "sizes": {"ROWS": 4096}},
)
"""Examples and flagships at the tiles and sizes for which they were made."""


# One check --------------------------------------------------------------------------------------------------------

CHILD = """
import json, resource, runpy, sys, time
began = time.process_time()
import soundline as sl
from soundline.impl.spork.checker.checking import check
from soundline.spec.abstract_machine import check as literal
imported = time.process_time()
path, proc, sizes, machine = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
program = runpy.run_path(path)[proc]
if program.arguments and machine == "whole":
    from soundline.impl.spork.checker import checking
    checker = lambda p, s: checking.check(p, s, skips=False)
else:
    checker = literal if machine == "literal" else check
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read = time.process_time()
verdict = checker(program, sizes)
done = time.process_time()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
again = []
if machine != "literal":
    for _ in range(2):
        start = time.process_time()
        checker(program, sizes)
        again.append(time.process_time() - start)
print(json.dumps({
    "seconds": done - read, "again": min(again, default=None), "import_seconds": imported - began,
    "megabytes": after / 1024, "more_megabytes": (after - before) / 1024,
    "events": verdict.events, "accesses": verdict.accesses, "findings": len(verdict.findings),
    "hazards": sum(f.count for f in verdict.findings),
}))
"""


def text_of(row: Row) -> str:
    """The file of a row with its own numbers."""
    if not row.file:
        numbers = "\n".join(f"{name} = {number}" for name, number in row.constants.items())
        return TEXTS[row.proc].replace("import soundline as sl", f"import soundline as sl\n\n{numbers}", 1)
    text = (EXAMPLES / row.file).read_text(encoding="utf-8")
    for left, right in row.constants.items():
        text, found = re.subn(rf"^{re.escape(left)} = .*$", f"{left} = {right}", text, flags=re.MULTILINE)
        assert found == 1, f"{row.file} assigns {left} {found} times"
    assert row.without in text
    return text.replace(row.without, "", 1)


def measured(row: Row, machine_name: str, repeats: int) -> dict[str, Any]:
    """What one check costs: the median of some processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(text_of(row), encoding="utf-8")
        command = [
            sys.executable,
            "-c",
            CHILD,
            str(path),
            row.proc,
            json.dumps(dict(row.sizes)),
            machine_name,
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        taken = []
        for _ in range(repeats):
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise SystemExit(f"{row.name}, {machine_name}:\n{ran.stderr}")
            taken.append(json.loads(ran.stdout))
    return {
        key: value if not isinstance(value, float) else round(statistics.median(t[key] for t in taken), 4)
        for key, value in taken[0].items()
    }


def compared(row: Row, repeats: int) -> dict[str, Any]:
    """A row, beside the literal machine and the peer where they stand beside it."""
    fast = measured(row, "whole" if row.whole else "fast", repeats)
    found = {
        **{k: v for k, v in asdict(row).items() if k not in {"literal", "file", "proc", "whole"}},
        **fast,
    }
    if row.literal:
        literal = measured(row, "literal", 1)
        same = all(literal[k] == fast[k] for k in ("events", "accesses", "findings", "hazards"))
        found["literal"] = {"seconds": literal["seconds"], "same": same}
        found["literal"]["ratio"] = round(literal["seconds"] / fast["seconds"], 1)
    if row.name in PEER:
        found["peer_ratio"] = round(PEER[row.name] / fast["seconds"], 1)
    return found


def main() -> int:
    """Measure, show, and write the result."""
    parser = argparse.ArgumentParser(description="Measure what it costs to check synchronization.")
    parser.add_argument("--row", action="append", default=[], help="only rows whose name contains this")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    chosen = [r for r in rows() if not options.row or any(part in r.name for part in options.row)]
    found = []
    for row in chosen:
        found.append(told := compared(row, options.repeats))
        asked = f"of {row.asked} s" if row.asked is not None else ""
        beside = f"literal x {told['literal']['ratio']}" if "literal" in told else ""
        print(
            f"{row.name:32} {told['seconds']:8.3f} s {asked:10} again {told['again']:7.3f} s "
            f"{told['megabytes']:6.0f} MB {told['events']:14,} events {told['findings']} findings {beside}",
            flush=True,
        )
    if not options.row:
        result = {"schema": 1, "machine": machine(), "repeats": options.repeats, "peer": PEER, "rows": found}
        target = RESULTS / "checker.json"
        target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"written: {target.relative_to(ROOT)}")
    late = [r["name"] for r in found if r["asked"] is not None and r["seconds"] > r["asked"]]
    print(f"slower than asked: {', '.join(late) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
