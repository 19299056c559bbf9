"""
Named warps
===========

The sizes of a device function (`DeviceShape`): how many threads a CTA has, how many CTAs a cluster. The threads are
given either by number, or as warps with names, of which each may ask for another number of registers per thread
(setmaxnreg). Named warps follow each other in the order in which they are written; `choose_named_warps` is the tiling
of the body of ``with CudaWarps(lo, hi, name=...)``.

>>> shape = DeviceShape(
...     warps=(NamedWarps("producer", 1, dec=40), NamedWarps("unused", 3, dec=40), NamedWarps("consumer", 8, inc=232))
... )
>>> shape.block_dim
384
>>> body = choose_named_warps(shape, shape.tiling(), name="consumer")
>>> body.offset, body.box
((128,), (256,))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, matches, top_level
from soundline.spec.spork.threads.units import cuda_agnostic_intact_cta, is_count

CONSTRAINTS: Final = {
    "coll-device-c1": "a device function has either a blockDim or named warps",
    "coll-device-c2": "blockDim is a positive multiple of 32",
    "coll-device-c3": "clusterDim is a positive integer",
    "coll-device-c4": "blocks_per_sm is a positive integer",
    "coll-device-c5": "named warps have different names",
    "coll-device-c6": "the number of warps with a name is a positive integer",
    "coll-device-c7": "a CTA has at most 1024 threads",
    "coll-device-c8": (
        "the name of warps is an identifier of letters, digits and _, because functions are named after it"
    ),
    "coll-maxnreg-c1": "a warp name requests more registers or fewer, not both",
    "coll-maxnreg-c2": "the number of registers is a multiple of 8 from 24 to 256",
    "coll-maxnreg-c3": "if numbers of registers are given, blockDim is a multiple of 128",
    "coll-maxnreg-c4": "the four warps of an aligned group request the same number of registers",
    "coll-named-c1": "if there are several warp names, the outermost CudaWarps gives a name",
    "coll-named-c2": "the name is one of the warp names of the device function",
    "coll-named-c3": "a name is chosen only where all threads of a CTA run",
    "coll-named-c4": "a nested CudaWarps keeps the name",
    "coll-named-c5": "a CudaWarps without a name has both lo and hi",
}
"""What a device function and its named warps must satisfy, by id."""


MOST_THREADS: Final = 1024
"""The threads that a CTA may have."""


def refused(subject: str, rule: str, given: str) -> CollectiveError:
    """The error of a device function or a choice of warps that breaks a rule."""
    return CollectiveError(subject, rule, given=given, wants=CONSTRAINTS[rule])


@dataclass(frozen=True, slots=True)
class NamedWarps:
    """Warps under one name, and the number of registers that their threads ask for, if any."""

    name: str
    count: int
    inc: int | None = None
    """The number of registers after an increase."""
    dec: int | None = None
    """The number of registers after a decrease."""

    def __post_init__(self) -> None:
        name: object = self.name
        if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
            raise refused("CudaWarpConfig", "coll-device-c8", repr(self.name))
        if not is_count(self.count):
            raise refused(self.name, "coll-device-c6", repr(self.count))
        if self.inc is not None and self.dec is not None:
            raise refused(self.name, "coll-maxnreg-c1", f"inc {self.inc} and dec {self.dec}")
        number = self.registers
        if number is not None and not (type(number) is int and 24 <= number <= 256 and number % 8 == 0):
            raise refused(self.name, "coll-maxnreg-c2", repr(number))

    @property
    def registers(self) -> int | None:
        """The number of registers per thread, where it is changed."""
        return self.dec if self.inc is None else self.inc


class DeviceShape:
    """The sizes of a device function."""

    block_dim: Final[int]
    cluster_dim: Final[int]
    blocks_per_sm: Final[int]
    warps: Final[tuple[NamedWarps, ...]]

    def __init__(
        self,
        *,
        block_dim: int | None = None,
        warps: Sequence[NamedWarps] = (),
        cluster_dim: int = 1,
        blocks_per_sm: int = 1,
    ) -> None:
        subject = "CudaDeviceFunction"
        if (block_dim is None) != bool(warps):
            raise refused(subject, "coll-device-c1", "both" if warps else "neither")
        if block_dim is not None and not (is_count(block_dim) and block_dim % 32 == 0):
            raise refused(subject, "coll-device-c2", repr(block_dim))
        if not is_count(cluster_dim):
            raise refused(subject, "coll-device-c3", repr(cluster_dim))
        if not is_count(blocks_per_sm):
            raise refused(subject, "coll-device-c4", repr(blocks_per_sm))
        self.block_dim = 32 * sum(w.count for w in warps) if block_dim is None else block_dim
        if self.block_dim > MOST_THREADS:
            raise refused(subject, "coll-device-c7", str(self.block_dim))
        self.cluster_dim = cluster_dim
        self.blocks_per_sm = blocks_per_sm
        self.warps = tuple(warps)
        _check_names(self.warps)
        _check_registers(self.warps)

    def tiling(self) -> Tiling:
        """The tiling of a task: all threads of a CTA, or of a cluster."""
        return top_level(self.block_dim, self.cluster_dim)

    def range_of(self, name: str) -> tuple[int, int]:
        """The first warp of a name, and the first one after them."""
        names = [w.name for w in self.warps]
        if name not in names:
            raise refused("CudaWarps", "coll-named-c2", name)
        at = names.index(name)
        first = sum(w.count for w in self.warps[:at])
        return first, first + self.warps[at].count


def _check_names(warps: Sequence[NamedWarps]) -> None:
    names = [w.name for w in warps]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise refused("CudaDeviceFunction", "coll-device-c5", f"{name} twice")


def _check_registers(warps: Sequence[NamedWarps]) -> None:
    each = [w for w in warps for _ in range(w.count)]
    if all(w.registers is None for w in each):
        return
    if len(each) % 4:
        raise refused("CudaDeviceFunction", "coll-maxnreg-c3", f"blockDim {32 * len(each)}")
    for first in range(0, len(each), 4):
        asked = {(w.inc, w.dec) for w in each[first : first + 4]}
        if len(asked) > 1:
            given = f"warps {first} to {first + 3} of {', '.join(w.name for w in each[first : first + 4])}"
            raise refused("CudaDeviceFunction", "coll-maxnreg-c4", given)


def choose_named_warps(
    shape: DeviceShape,
    tiling: Tiling,
    lo: int | None = None,
    hi: int | None = None,
    *,
    name: str | None = None,
) -> Tiling:
    """The body of ``with CudaWarps(lo, hi, name=name)`` in a device function; lo and hi count from the first of the
    name, or within the warps that run here.
    """
    subject = f"CudaWarps({lo}, {hi}, name={name})"
    if tiling.warps is None and name is not None:
        first, end = shape.range_of(name)
        if not matches(tiling, cuda_agnostic_intact_cta):
            raise refused(subject, "coll-named-c3", f"{tiling.box} of {tiling.domain} threads")
        named = replace(choose_warps(tiling, first, end), warps=name)
        return named if lo is None and hi is None else choose_named_warps(shape, named, lo, hi)
    if tiling.warps is None and len(shape.warps) > 1:
        raise refused(subject, "coll-named-c1", "none")
    if name not in (None, tiling.warps):
        raise refused(subject, "coll-named-c4", f"{name} in {tiling.warps}")
    if lo is None or hi is None:
        raise refused(subject, "coll-named-c5", f"lo {lo}, hi {hi}")
    return choose_warps(tiling, lo, hi)
