"""
Threads in C++
==============

Which iteration of the loops over threads a thread runs, and whether it runs at all. Both are what the law says of the
tiling of a statement (``spec.spork.threads``): the value of an iterator is an expression in ``threadIdx.x`` and the
number of the CTA in its cluster, and a guard stands where threads are left idle.
"""

from __future__ import annotations

from soundline.spec.spork.synchronization.fences import WARP
from soundline.spec.spork.threads.domains import Coordinate
from soundline.spec.spork.threads.tilings import Guard, Tiling, threads


def coordinate_text(coordinate: Coordinate, tiling: Tiling) -> str:
    """A number that a thread computes of its own index."""
    return str(coordinate).replace("clusterDim", str(tiling.cluster_dim))


def guard_text(guard: Guard, tiling: Tiling) -> str:
    """The condition under which a thread runs on. threadIdx.x is unsigned, and so is the coordinate."""
    text = coordinate_text(guard.coordinate, tiling)
    least = [f"{text} >= {guard.lo}"] if guard.lo else []
    most = [f"{text} < {guard.hi}"] if guard.hi < tiling.block_dim else []
    return " && ".join(least + most) or "true"


def new_guards(outer: Tiling, inner: Tiling) -> tuple[Guard, ...]:
    """The guards that a loop or a choice of warps adds."""
    return inner.guards[len(outer.guards) :]


def has_whole_warps(tiling: Tiling) -> bool:
    """Whether all lanes of a warp run together, in every iteration."""
    who = threads(tiling, [0] * len(tiling.iterators))
    return all(WARP * (t // WARP) + lane in who for t in who for lane in range(WARP))
