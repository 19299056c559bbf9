"""
Registers of a warp
===================

The CUDA of shuffles and of reductions over the lanes of a warp. Their windows have one element in each lane, so that
in the code of a lane they are scalars.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.places import place, scalar
from soundline.impl.codegen.cuda.operands import CallSite


def shuffle(site: CallSite) -> Iterator[str]:
    """``shfl.sync``, by the mode that the instruction names; a shuffle moves 32 bits, whatever they mean."""
    mode = site.instruction.ptx.split(".")[2]
    to, from_ = place(site, "dst"), place(site, "src")
    (lane,) = site.texts.values()
    bits = f"soundline::bit_cast<uint32_t>({scalar(from_)})"
    moved = f"ptx::shfl_sync_{mode}_b32(soundline::ALL_LANES, {bits}, {lane})"
    yield f"{scalar(to)} = soundline::bit_cast<{CUDA.type_of(to.dtype)}>({moved});"


def warp_reduction(site: CallSite) -> Iterator[str]:
    """Five butterfly shuffles."""
    operation = "max" if "_max_" in site.instruction.name else "sum"
    yield f"{scalar(place(site, 'dst'))} = soundline::warp_{operation}({scalar(place(site, 'src'))});"
