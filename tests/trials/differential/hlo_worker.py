"""
The other side
==============

Evaluates StableHLO modules with the reference interpreter inside `jaxlib`, and Threefry with JAX; in a child, because
the interpreter ends its process where an op is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """What JAX says of a question."""
    return _threefry(question) if question["ask"] == "threefry" else _evaluated(question)


def _array(given: dict[str, Any]) -> npt.NDArray[Any]:
    return np.array(given["elements"], dtype=given["dtype"]).reshape(given["shape"])


def _evaluated(question: dict[str, Any]) -> dict[str, Any]:
    """The result of a module on arrays of integers."""
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with make_ir_context():
        try:
            module = ir.Module.parse(question["module"])
        except ir.MLIRError as error:
            return {"error": f"the module is not accepted: {error}"}
        arguments = [_attribute(ir, _array(a)) for a in question["arguments"]]
        (result,) = stablehlo.eval_module(module, arguments)
        return {"elements": np.array(result).reshape(-1).tolist()}


def _attribute(ir: Any, array: npt.NDArray[Any]) -> Any:
    kind = ir.IntegerType.get_unsigned if array.dtype.kind == "u" else ir.IntegerType.get_signless
    return ir.DenseElementsAttr.get(array, type=kind(8 * array.dtype.itemsize), shape=array.shape)


def _threefry(question: dict[str, Any]) -> dict[str, Any]:
    """Two words for each pair of a key and a counter, as JAX computes them."""
    from jax.extend.random import threefry_2x32

    found = []
    for key, counter in question["pairs"]:
        words = threefry_2x32(np.array(key, np.uint32), np.array(counter, np.uint32))
        found.append([int(w) for w in np.asarray(words)])
    return {"words": found}
