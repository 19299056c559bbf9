"""
A row
=====

What is measured: inputs, the work in them, and one candidate for each peer. A candidate makes, of the inputs, a call
without arguments that runs the work once and returns the result; what it imports is there only if the peer is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]
Call = Callable[[], Any]
Builder = Callable[[Arrays], Call]

OPENBLAS_512 = "OpenBLAS-512"
BEAM = "tinygrad BEAM=2"
EXACT, FAST = "soundline exact", "soundline fast"
ENVIRONMENTS = {OPENBLAS_512: "openblas-512", "tinygrad": "tinygrad", BEAM: "tinygrad-beam"}
"""The candidates that do not run in the process of all others: another environment, or calls that may take too long."""


@dataclass(frozen=True)
class Target:
    """A ratio that is wanted: a candidate against the fastest of some peers, with a number of threads."""

    candidate: str
    peers: tuple[str, ...]
    least: float
    threads: int = 1


@dataclass(frozen=True)
class Row:
    """One subject of the comparison."""

    name: str
    title: str
    inputs: Callable[[], Arrays]
    work: float
    unit: str
    """What `work` counts: GFLOP or GB."""
    candidates: dict[str, Builder]
    targets: tuple[Target, ...] = ()
    tolerance: float = 1e-3
    """How far, relative to the greatest element, a result may be from the first candidate's."""
    threads: tuple[int, ...] = (1,)


@dataclass
class Taken:
    """The seconds of a candidate's turns, by the clock and of processor, and what its result was off by."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    off: float = 0.0
    why: str = ""
    """Why there are none."""


def normal(*shapes: tuple[int, ...]) -> Callable[[], Arrays]:
    """Arrays of normal numbers, the same in every process."""

    def made() -> Arrays:
        draw = np.random.default_rng(0)
        return tuple(draw.standard_normal(s, np.float32) for s in shapes)

    return made


ALL_PEERS = (
    "numpy",
    "torch",
    "torch out=",
    "torch.compile",
    "oneDNN",
    "jax",
    "tinygrad",
    BEAM,
)
