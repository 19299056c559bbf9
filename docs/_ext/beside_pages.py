"""The table of the first page: what soundline and its peers prove, run and check; numbers of soundline are computed."""

from __future__ import annotations

import rule_pages
from rst import table

from soundline.spec.ops.table import TABLE
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.library.table import CHAPTERS

PEERS = (
    (
        "`tinygrad <https://github.com/tinygrad/tinygrad>`__",
        "with Z3, optionally: that indices stay inside their buffers; not its rewrite rules",
        "models, on CPUs and on GPUs of several vendors",
        "tests against numpy and torch; fuzzing of symbolic expressions",
    ),
    (
        "`Exo <https://doi.org/10.1145/3519939.3523446>`__",
        "that each scheduling step keeps the meaning of a loop program and stays in bounds, for all sizes",
        "kernels in C, with instructions that users define",
        "effects of statements, by an SMT solver over linear integer arithmetic",
    ),
    (
        "`Halide <https://doi.org/10.1145/3428234>`__",
        "the scalar rules of its simplifier; conditions can be synthesized",
        "image and tensor pipelines, on CPUs and GPUs",
        "bounds of regions, by interval analysis; tests",
    ),
    (
        "`TVM <https://www.usenix.org/conference/osdi18/presentation/chen>`__",
        "facts on index expressions, by its own analyzers; not its rewrites",
        "models, on CPUs, GPUs and accelerators",
        "tests; structural checks of its IR",
    ),
    (
        "`Triton <https://github.com/triton-lang/triton>`__",
        "nothing",
        "kernels over tiles, on GPUs",
        "ConSan: races and misused barriers of one instrumented run",
    ),
    (
        "`Alive2 <https://doi.org/10.1145/3453483.3454030>`__",
        "that an optimized LLVM function refines the original: integers, floats, memory; loops up to a bound",
        "nothing",
        "the passes of LLVM, function by function",
    ),
    (
        "`TensorRight <https://doi.org/10.1145/3704865>`__",
        "rewrites of tensor graphs for every rank and size: 115 of 175 rules of XLA, over integers and reals",
        "nothing",
        "conditions that are stronger than needed",
    ),
)
"""What the papers and sources that stand in the links say."""


def beside() -> str:
    """soundline first, then the peers."""
    judged = rule_pages.report()
    families = sum(map(len, CHAPTERS.values()))
    proves = (
        f"its rewrite rules: {judged['summary']['proved']} of {len(judged['rules'])}, for every size, and for floats "
        "bit by bit or under a named licence; rules of users"
    )
    runs = (
        f"{len(TABLE)} ops and the Tensor interface, as C on CPUs; kernels in Spork as CUDA, on GPUs or emulated; an "
        "evaluator for everything"
    )
    checks = (
        f"kernels of {len(CONSTRUCTS)} constructs and {families} instructions for races, at given sizes; every "
        "compiled result can be compared with the evaluator"
    )
    return table(
        ("", "proves", "runs", "checks"),
        (("**soundline**", proves, runs, checks), *PEERS),
        widths=(14, 34, 24, 28),
    )
