"""Synchronization bugs of public GPU kernels, with their fixes, restated as small programs."""

from __future__ import annotations

from . import clusters, copies, divergent, in_order, lifetimes, mbarriers, tasks, tma, warps, wgmma
from .form import Bug

FAMILIES = (in_order, warps, divergent, copies, mbarriers, tma, wgmma, lifetimes, tasks, clusters)
BUGS: tuple[Bug, ...] = tuple(bug for family in FAMILIES for bug in family.BUGS)
"""All of them."""
