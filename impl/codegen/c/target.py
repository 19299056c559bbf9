"""
The C target
============

The target of the CPU road as the law's `pipeline` asks for it: the ops that the renderer writes, the integer in which
an index is held at most, and the names that it gives to the entry, the kernels and their storage.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from soundline.impl.codegen.c.expressions import RENDER
from soundline.impl.codegen.c.renderer import ENTRY
from soundline.impl.lower.graphs.scalars import FUSED
from soundline.spec.dtypes import all_dtypes, int64, uints
from soundline.spec.pipeline.stages import Target
from soundline.spec.uop import Op

_STRUCTURE = (Op.Linear, Op.Sink, Op.Group, Op.Range, Op.End, Op.After)
_MEMORY = (Op.Buffer, Op.Index, Op.Load, Op.Store)
_LANES = (Op.Const, Op.Stack, Op.Reshape, Op.Expand, Op.Reduce)

_FLOOR = frozenset((Op.Idiv, Op.Mod))
"""C rounds quotients toward zero; what rounds them down is a helper, where there are signs."""
_UNSIGNED = frozenset((op, d) for op in _FLOOR for d in uints)

TARGET: Final = Target(
    frozenset((*RENDER, *_STRUCTURE, *_MEMORY, *_LANES)) - {Op.Mulacc},
    lacks=_UNSIGNED,
    routines=_FLOOR,
    index=int64,
    entry=ENTRY,
    kernel="kernel_{}",
)
"""The C of the CPU road, without licences."""

_FUSING: Final = replace(
    TARGET,
    ops=TARGET.ops | {Op.Mulacc},
    lacks=_UNSIGNED | frozenset((Op.Mulacc, d) for d in all_dtypes if d not in FUSED),
)


def target_under(licences: Collection[str]) -> Target:
    """The C target of the CPU. An operation that C rounds once and the law twice is written only under the licence
    ``contract``.
    """
    return _FUSING if "contract" in licences else TARGET
