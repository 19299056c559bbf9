"""
Replaying by the evaluator
==========================

Whether a compiled program gave what the law says: the function is traced anew on the inputs, and its graph, which no
stage has touched, is evaluated. Under the profile ``exact`` every element must be the same, bit for bit. Under ``fast``
the greatest difference is reported, in units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.program.program import Program
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array, same_cell
from soundline.spec.errors import UsageError
from soundline.spec.evaluate import bound_value, evaluate
from soundline.spec.uop import Op, UOp, toposort
from soundline.verify.programs.inputs import array_of_input

Arrays = npt.NDArray[Any]

MOST: Final = 3_000_000
"""With more elements than this in all values, the evaluator takes minutes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One result against the law's: how many elements differ, the first of them, and by how many ulp at most."""

    output: int
    elements: int
    differing: int
    first: tuple[int, ...] = ()
    computed: str = ""
    law: str = ""
    ulp: float | None = None

    def __str__(self) -> str:
        if not self.differing:
            return f"output {self.output}: {self.elements} elements, each the evaluator's, bit for bit"
        where = list(self.first)
        by = "" if self.ulp is None else f", by {self.ulp:.4g} ulp at most"
        return (
            f"output {self.output}: {self.differing} of {self.elements} elements differ{by}; "
            f"at {where} it is {self.computed}, and the law says {self.law}"
        )

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "output": self.output,
            "elements": self.elements,
            "differing": self.differing,
            "first": list(self.first),
            "computed": self.computed,
            "law": self.law,
            "ulp": self.ulp,
        }


def replayed(
    program: Program, function: Callable[..., Any] | None, inputs: Sequence[Any], results: Sequence[Arrays]
) -> list[Difference] | None:
    """Each result against what the evaluator says; None where that would take too long."""
    graphs, buffers = _graphs(program, function, inputs)
    if sum(math.prod(_sizes(n)) for n in toposort(*graphs)) > MOST:
        return None
    pairs = zip(graphs, results, strict=True)
    return [_compared(k, evaluate(graph, buffers=buffers), array) for k, (graph, array) in enumerate(pairs)]


def _graphs(
    program: Program, function: Callable[..., Any] | None, inputs: Sequence[Any]
) -> tuple[list[UOp], dict[int, Arrays]]:
    """The graphs of the results, and what their Buffers hold."""
    if function is None:
        if len(program.units) > 1:
            raise UsageError(
                "the file contains this Program already compiled, and it makes calls",
                hint="name its function",
            )
        whole = program.stages["callify"]
        held = [*(np.asarray(a) for a in inputs), *program.captured]
        return [Op.GetTuple(whole, arg=k) for k in range(len(program.outputs))], {
            b.arg.slot: a.reshape(-1) for b, a in zip(whole.src[1:], held, strict=True)
        }
    given = [
        value if isinstance(value, Tensor) else Tensor(array_of_input(value, taken))
        for value, taken in zip(inputs, program.inputs, strict=True)
    ]
    result = function(*given)
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    graphs = [o.uop for o in outputs]
    buffers = [n for n in toposort(*graphs) if n.op is Op.Buffer and storage.holds(n)]
    return graphs, {b.arg.slot: storage.contents(b) for b in buffers}


def _sizes(node: UOp) -> list[int]:
    return [s for s in node.shape or () if isinstance(s, int)]


def _compared(output: int, law: Array, array: Arrays) -> Difference:
    dtype = law.dtype
    computed = bound_value(array, dtype)
    rows = list(zip(computed.elements, law.elements, strict=True))
    wrong = [k for k, (a, b) in enumerate(rows) if not same_cell(dtype, a, b)]
    if not wrong:
        return Difference(output, len(rows), 0)
    first = tuple(int(n) for n in np.unravel_index(wrong[0], law.shape)) if law.shape else ()
    mine, theirs = rows[wrong[0]]
    ulp = max(_ulp(array.dtype, rows[k]) for k in wrong) if dtype.is_float else None
    return Difference(output, len(rows), len(wrong), first, str(mine), str(theirs), ulp)


def _ulp(dtype: np.dtype[Any], pair: tuple[Any, Any]) -> float:
    """How far two numbers are apart, in ulp of the second; infinitely where one of them is no finite number."""
    a, b = (float(x) for x in pair)
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    form: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    exponent = math.frexp(b)[1] - 1 if b else 0
    step = max(math.ldexp(1.0, exponent - form.nmant) if b else 0.0, float(form.smallest_subnormal))
    return abs(a - b) / step
