"""
Examples
--------
The names that the examples of the op table use. The documentation shows the examples, and a test runs each of them.
"""

from __future__ import annotations

from typing import Any

from soundline.spec import dtypes
from soundline.spec.derived_props import min_max
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.uop import (
    AxisType,
    Op,
    ReduceArg,
    SliceArg,
    WmmaArg,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
    tensor,
)
from soundline.spec.values.elementwise import scalar


def namespace() -> dict[str, Any]:
    """Every name that an example may use; ``p`` is a Param, ``frag`` and ``acc`` are fragments of a tensor core."""
    names = {d.name: d for d in dtypes.all_dtypes} | {"bool_": dtypes.bool_, "void": dtypes.void}
    builders = (buffer, const, expand, loop, pad, param, reshape, shrink, tensor)
    functions = (evaluate, execute, min_max, scalar)
    types = (AxisType, Op, ReduceArg, SliceArg, WmmaArg)
    return {
        **names,
        **{f.__name__: f for f in (*builders, *functions, *types)},
        "p": param(0, dtypes.int32),
        "frag": param(0, dtypes.float16, (16,)),
        "acc": param(1, dtypes.float32, (16,)),
    }
