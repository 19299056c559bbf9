"""
Accuracy
========

How far `Exp2` and `Log2` may be from the real function, in ulp (U-11), and how far their programs were measured to be.
The formats of 16 bits were measured on every number; the wider ones densely (some 10⁷ points) and on directed points:
around integers, halves, powers of two, √½, and the ends of the range. `soundline.verify.accuracy` repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass

from soundline.spec.dtypes import DType, bfloat16, float16, float32, float64
from soundline.spec.op_schema import Op


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The law's bound on the error, and the greatest error that was found."""

    bound: float
    measured: float
    exhaustive: bool
    """Whether every number of the format was measured."""


ACCURACY: dict[tuple[Op, DType], Accuracy] = {
    (Op.Exp2, float16): Accuracy(bound=0.51, measured=0.50002, exhaustive=True),
    (Op.Exp2, bfloat16): Accuracy(bound=0.51, measured=0.5, exhaustive=True),
    (Op.Exp2, float32): Accuracy(bound=0.8, measured=0.7663, exhaustive=False),
    (Op.Exp2, float64): Accuracy(bound=0.8, measured=0.7664, exhaustive=False),
    (Op.Log2, float16): Accuracy(bound=0.5, measured=0.49992, exhaustive=True),
    (Op.Log2, bfloat16): Accuracy(bound=0.5, measured=0.49985, exhaustive=True),
    (Op.Log2, float32): Accuracy(bound=0.51, measured=0.5, exhaustive=False),
    (Op.Log2, float64): Accuracy(bound=0.6, measured=0.5645, exhaustive=False),
}
"""By op and dtype, in ulp of the exact result. The worst Exp2 results are subnormal: there the scaling rounds again."""
