"""
Markers
=======

The identity, with a wish: about layout, or about gradients.
"""

from __future__ import annotations

from soundline.spec.ops.adjoints import Adjoint, Nothing, Passes, routes
from soundline.spec.ops.laws import INHERITED, SAME_BOUNDS
from soundline.spec.ops.movement.shared import T
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Entry, entry


def _marker(op: Op, semantics: str, adjoint: Adjoint, *decisions: str) -> Entry:
    return entry(
        op,
        "marker",
        semantics,
        sources=(T,),
        typing=INHERITED,
        bounds=SAME_BOUNDS,
        adjoint=adjoint,
        example=f">>> evaluate(Op.{op.name}(tensor([1, 2]))).elements\n(1, 2)",
        decisions=decisions,
    )


CONTIGUOUS = _marker(
    Op.Contiguous,
    "The identity; asks for a contiguous layout.",
    routes("to T: g", lambda node, g: (g,)),
    "U-25",
)

CONTIGUOUS_BACKWARD = _marker(
    Op.ContiguousBackward,
    "The identity; its adjoint asks for a contiguous layout.",
    Passes("to T: Contiguous(g)", lambda node, g: (Op.Contiguous(g),), scales=False),
    "U-31",
)

DETACH = _marker(
    Op.Detach,
    "The identity; no gradient passes through it.",
    Nothing("nothing: that is its meaning"),
    "U-31",
)
