"""
Accuracy
========

How far `Exp2`, `Log2`, `Sin` and `Pow` may be from the real function, in ulp (U-11), and how far their programs were
measured to be. The functions of one operand were measured on every number of the formats of 16 bits and on every number
of binary32 in [1, 2); all of them on directed points (around integers, halves, powers of two, √½ and multiples of π/4,
at the numbers nearest to a multiple of π/2, and at the ends of the range) and on random ones. `Pow` was measured on
every base at some exponents, and on every exponent at some bases. `soundline.verify.accuracy.decompositions` repeats
these measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

from soundline.spec.dtypes import DType, bfloat16, float16, float32, float64
from soundline.spec.ops.node import Op


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The law's bound on the error, and the greatest error that was found."""

    bound: float
    measured: float
    points: int
    """How many points were measured."""
    exhaustive: bool = False
    """Whether they are every number of the format where the function is finite."""


ACCURACY: dict[tuple[Op, DType], Accuracy] = {
    (Op.Exp2, float16): Accuracy(bound=0.51, measured=0.50002, points=39_744, exhaustive=True),
    (Op.Exp2, bfloat16): Accuracy(bound=0.51, measured=0.5, points=34_314, exhaustive=True),
    (Op.Exp2, float32): Accuracy(bound=0.8, measured=0.7705, points=12_096_811),
    (Op.Exp2, float64): Accuracy(bound=0.8, measured=0.7738, points=2_030_167),
    (Op.Log2, float16): Accuracy(bound=0.5, measured=0.49992, points=31_743, exhaustive=True),
    (Op.Log2, bfloat16): Accuracy(bound=0.5, measured=0.49985, points=32_639, exhaustive=True),
    (Op.Log2, float32): Accuracy(bound=0.51, measured=0.5, points=10_392_315),
    (Op.Log2, float64): Accuracy(bound=0.6, measured=0.5645, points=2_028_998),
    (Op.Sin, float16): Accuracy(bound=0.51, measured=0.49999, points=63_488, exhaustive=True),
    (Op.Sin, bfloat16): Accuracy(bound=0.51, measured=0.5, points=65_280, exhaustive=True),
    (Op.Sin, float32): Accuracy(bound=0.51, measured=0.5, points=10_395_227),
    (Op.Sin, float64): Accuracy(bound=0.8, measured=0.7583, points=2_024_144),
    (Op.Pow, float16): Accuracy(bound=0.51, measured=0.50001, points=10_501_080),
    (Op.Pow, bfloat16): Accuracy(bound=0.51, measured=0.50001, points=9_687_173),
    (Op.Pow, float32): Accuracy(bound=0.51, measured=0.50001, points=52_338_999),
    (Op.Pow, float64): Accuracy(bound=0.85, measured=0.7889, points=2_007_971),
}
"""By op and dtype, in ulp of the exact result. Of Exp2 the worst results are subnormal: the scaling rounds again."""
