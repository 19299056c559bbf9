"""
Promises
========

How near the results of a program are to what, by the law: bit for bit the evaluator's, or, where licences are granted,
within the bounds of reductions (U-10) and of transcendental functions (U-11), for the reductions and functions that are
in it.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from soundline.impl.lower.graphs.approximate import BOUND
from soundline.spec.uop import Op, UOp, toposort
from soundline.spec.values.accuracy import ACCURACY
from soundline.spec.values.error_bounds import gamma

SAME = "every element is the evaluator's, bit for bit, as no licence is granted (U-09)"
_NAMES = {Op.Add: "sum", Op.Mul: "product"}


def promises(program: UOp, licences: Collection[str]) -> tuple[str, ...]:
    """What is promised of the results of a program, as `callify` makes it, under licences."""
    nodes = [n for n in toposort(program) if n.shape is not None and n.dtype.is_float]
    functions = sorted({(n.op, n.dtype.name, n.dtype) for n in nodes if (n.op, n.dtype) in ACCURACY}, key=str)
    real = [f"{op.name} of {name}: within {ACCURACY[op, d].bound} ulp (U-11)" for op, name, d in functions]
    if not licences:
        return (SAME, *real)
    reductions = {_reduction(n, licences): None for n in nodes if n.op is Op.Reduce and n.arg.op in _NAMES}
    if "approx" in licences:
        real = [
            f"{t}; e^x within {BOUND} ulp (approx)" if t.startswith("Exp2 of float32") else t for t in real
        ]
    fused = ["a product that is added may be rounded once with the sum (contract)"] * ("contract" in licences)
    return (*(text for text in reductions if text), *fused, *real)


def _reduction(node: UOp, licences: Collection[str]) -> str:
    """The bound of one reduction; nothing of one whose order is kept, or that has one term."""
    sizes = [(node.src[0].shape or ())[axis] for axis in node.arg.axes]
    numbers = [s for s in sizes if isinstance(s, int)]
    known = len(numbers) == len(sizes)
    if "reassociate" not in licences or (known and math.prod(numbers) < 2):
        return ""
    products = node.arg.op is Op.Add and node.src[0].op is Op.Mul
    terms = "Σ|a·b|" if products else "Σ|x|" if node.arg.op is Op.Add else "∏|x|"
    name = "dot product" if products else _NAMES[node.arg.op]
    if not known:
        return f"a {name} of n {node.dtype}, in any order: within γ_{'{n+1}' if products else 'n'}·{terms} (U-10)"
    n = math.prod(numbers) + products
    factor = gamma(n, node.dtype)
    said = "no bound" if factor is None else f"within γ_{n}·{terms}, γ_{n} = {float(factor):.2g}"
    return f"a {name} of {math.prod(numbers)} {node.dtype}, in any order: {said} (U-10)"
