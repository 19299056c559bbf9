"""
What C has
==========

The target of the CPU road as the law's `pipeline` asks for it: the ops that the renderer writes, the integer in which
an index is held at most, and the names that it gives to the entry, the kernels and their storage.
"""

from __future__ import annotations

from typing import Final

from soundline.impl.codegen.c.expressions import RENDER
from soundline.impl.codegen.c.renderer import ENTRY
from soundline.spec.dtypes import int64
from soundline.spec.pipeline.stages import Target
from soundline.spec.uop import Op

_STRUCTURE = (Op.Linear, Op.Sink, Op.Group, Op.Range, Op.End, Op.After)
_MEMORY = (Op.Buffer, Op.Index, Op.Load, Op.Store)
_LANES = (Op.Const, Op.Stack, Op.Reshape, Op.Expand, Op.Reduce)

_FUSED = frozenset((Op.Mulacc,))
"""What C rounds once and the law twice: it is written only under the licence `contract`."""

TARGET: Final = Target(
    frozenset((*RENDER, *_STRUCTURE, *_MEMORY, *_LANES)) - _FUSED,
    index=int64,
    entry=ENTRY,
    kernel="kernel_{}",
)
"""The C of the CPU road, without licences."""
