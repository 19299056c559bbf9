"""
The other side
==============

A process that evaluates StableHLO modules with the reference interpreter inside `jaxlib`, and Threefry with JAX. It is
a process of its own because the interpreter ends it where an op is missing. Each line of the input is a question, each
line of the output the answer; nothing else is written there.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import numpy.typing as npt


def main() -> int:
    """Answer until the input ends."""
    for line in sys.stdin:
        question = json.loads(line)
        answer = _threefry(question) if question["ask"] == "threefry" else _evaluated(question)
        print(json.dumps(answer), flush=True)
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
