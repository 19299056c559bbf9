"""
Elementwise families
====================

What tinygrad's operator tests call by the names of one element: arithmetic, comparisons, functions, bits, conversions.
"""

from __future__ import annotations

import math

import numpy as np

from trials.differential.tinygrad_programs import BINARY, FLOATS, INTS, UNARY, Family

NUMBERS = ("float32", "float16", "int32", "uint8")
TWO = (((3, 4), (3, 4)), ((3, 1), (4,)))
ONE = (((3, 4),), ((),))

_erf = np.vectorize(math.erf, otypes=[np.float64])


ARITHMETIC: tuple[Family, ...] = (
    Family("add", lambda _, a, b: a + b, lambda a, b: a + b, NUMBERS, BINARY, ("wide",)),
    Family("sub", lambda _, a, b: a - b, lambda a, b: a - b, NUMBERS, BINARY),
    Family("mul", lambda _, a, b: a * b, lambda a, b: a * b, NUMBERS, BINARY, ("wide",)),
    # The quotient is captured as a product with a reciprocal: two roundings for one.
    Family("div", lambda _, a, b: a / b, lambda a, b: a / b, FLOATS, BINARY, ("any", "positive"), 2),
    Family(
        "div of ints", lambda _, a, b: a / b, lambda a, b: a / b, ("int32",), BINARY, ("any", "positive"), 2
    ),
    Family("reciprocal", lambda _, x: x.reciprocal(), lambda x: (1 / x).astype(x.dtype), draw=("positive",)),
    Family("add of a number", lambda _, x: x + 3, lambda x: x + x.dtype.type(3), NUMBERS),
    Family("sub from a number", lambda _, x: 3 - x, lambda x: x.dtype.type(3) - x, NUMBERS),
    Family("mul by a number", lambda _, x: x * 2.5, lambda x: x * x.dtype.type(2.5)),
    Family("neg", lambda _, x: -x, lambda x: -x, ("float32", "int32", "int8")),
    Family("maximum", lambda _, a, b: a.maximum(b), np.maximum, NUMBERS, TWO),
    Family("minimum", lambda _, a, b: a.minimum(b), np.minimum, NUMBERS, TWO),
    Family("abs", lambda _, x: x.abs(), np.abs, ("float32", "int32")),
    Family("sign", lambda _, x: x.sign(), np.sign, ("float32", "int32")),
    Family("square", lambda _, x: x.square(), lambda x: x * x, ("float32", "float16")),
    Family(
        "lerp",
        lambda _, a, b: a.lerp(b, 0.25),
        lambda a, b: a + (b - a) * 0.25,
        ("float32",),
        TWO,
        ulps=2,
        scale=8,
    ),
    Family("floor division", lambda _, a, b: a // b, lambda a, b: a // b, INTS, BINARY, ("wide", "nonzero")),
    Family("modulo", lambda _, a, b: a % b, lambda a, b: a % b, INTS, BINARY, ("wide", "nonzero")),
    Family(
        "truncating division",
        lambda _, a, b: a.div(b, rounding_mode="trunc"),
        lambda a, b: np.trunc(a / b).astype(a.dtype),
        ("int32", "int8"),
        BINARY,
        ("wide", "nonzero"),
    ),
    Family("fmod", lambda _, a, b: a.fmod(b), np.fmod, ("int32", "int8"), BINARY, ("wide", "nonzero")),
    Family("pow", lambda _, a, b: a**b, lambda a, b: a**b, FLOATS, BINARY, ("positive", "any"), 8),
    Family("pow by 2", lambda _, x: x**2, lambda x: x**2, FLOATS, ulps=2),
    Family("pow by 0.5", lambda _, x: x**0.5, lambda x: x**0.5, FLOATS, draw=("positive",), ulps=2),
    Family("pow by -1", lambda _, x: x**-1, lambda x: 1 / x, FLOATS, draw=("positive",), ulps=2),
    Family("pow of 2", lambda _, x: 2**x, lambda x: 2**x, FLOATS, ulps=4),
)

COMPARISONS: tuple[Family, ...] = (
    Family("less", lambda _, a, b: a < b, lambda a, b: a < b, NUMBERS, TWO, ("count",)),
    Family("greater", lambda _, a, b: a > b, lambda a, b: a > b, NUMBERS, TWO, ("count",)),
    Family("less or equal", lambda _, a, b: a <= b, lambda a, b: a <= b, NUMBERS, TWO, ("count",)),
    Family("greater or equal", lambda _, a, b: a >= b, lambda a, b: a >= b, NUMBERS, TWO, ("count",)),
    Family("equal", lambda _, a, b: a == b, lambda a, b: a == b, ("int32", "bool", "uint8"), TWO, ("bit",)),
    Family(
        "not equal", lambda _, a, b: a != b, lambda a, b: a != b, ("int32", "bool", "uint8"), TWO, ("bit",)
    ),
    Family("isnan", lambda _, x: x.isnan(), np.isnan, FLOATS, draw=("special",)),
    Family("isinf", lambda _, x: x.isinf(), np.isinf, FLOATS, draw=("special",)),
    Family("isfinite", lambda _, x: x.isfinite(), np.isfinite, FLOATS, draw=("special",)),
    Family(
        "where",
        lambda _, p, a, b: p.where(a, b),
        np.where,
        NUMBERS,
        (((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), ())),
        ("any bool", "any"),
    ),
    Family(
        "clip",
        lambda _, x: x.clip(-1, 2),
        lambda x: np.clip(x, x.dtype.type(-1), x.dtype.type(2)),
        ("float32", "int32"),
    ),
    Family(
        "masked_fill",
        lambda _, x: x.masked_fill(x > 1, 0),
        lambda x: np.where(x > 1, x.dtype.type(0), x),
        NUMBERS,
    ),
)

FUNCTIONS: tuple[Family, ...] = (
    # exp(x) is 2**(x·log2 e): the rounding of the exponent, |x| ≤ 4, is multiplied by at most 4·log2 e + 1.
    Family("exp", lambda _, x: x.exp(), np.exp, ulps=10),
    Family("exp2", lambda _, x: x.exp2(), np.exp2, ulps=2),
    Family("log", lambda _, x: x.log(), np.log, draw=("positive",), ulps=3, scale=1),
    Family("log2", lambda _, x: x.log2(), np.log2, draw=("positive",), ulps=2, scale=1),
    Family("log10", lambda _, x: x.log10(), np.log10, draw=("positive",), ulps=3, scale=1),
    Family("sqrt", lambda _, x: x.sqrt(), np.sqrt, draw=("positive",)),
    Family("rsqrt", lambda _, x: x.rsqrt(), lambda x: 1 / np.sqrt(x), draw=("positive",), ulps=2),
    Family("sin", lambda _, x: x.sin(), np.sin, ulps=2, scale=0.1),
    # The cosine is captured as the sine of π/2 - x, which is rounded: an error of |π/2 - x|/2 units of 1.
    Family("cos", lambda _, x: x.cos(), np.cos, ulps=4, scale=1),
    Family("tan", lambda _, x: x.tan(), np.tan, draw=("unit",), ulps=6, scale=1),
    Family("sinh", lambda _, x: x.sinh(), np.sinh, ("float32", "float64"), ulps=12, scale=30),
    Family("cosh", lambda _, x: x.cosh(), np.cosh, ("float32", "float64"), ulps=12, scale=1),
    Family("tanh", lambda _, x: x.tanh(), np.tanh, ulps=8, scale=1),
    Family("sigmoid", lambda _, x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), ulps=10),
    Family("silu", lambda _, x: x.silu(), lambda x: x / (1 + np.exp(-x)), ulps=10, scale=1),
    Family(
        "softplus",
        lambda _, x: x.softplus(),
        lambda x: np.logaddexp(x, 0),
        ("float32", "float64"),
        ulps=10,
        scale=4,
    ),
    Family("relu", lambda _, x: x.relu(), lambda x: np.maximum(x, x.dtype.type(0)), NUMBERS),
    Family(
        "relu6", lambda _, x: x.relu6(), lambda x: np.clip(x, 0, 6), ("float32", "float64"), ulps=2, scale=6
    ),
    Family("leaky_relu", lambda _, x: x.leaky_relu(0.1), lambda x: np.where(x < 0, x * 0.1, x), ulps=2),
    Family("elu", lambda _, x: x.elu(), lambda x: np.where(x > 0, x, np.exp(x) - 1), ulps=10, scale=1),
    Family("hardtanh", lambda _, x: x.hardtanh(), lambda x: np.clip(x, x.dtype.type(-1), x.dtype.type(1))),
    Family("hardswish", lambda _, x: x.hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6, ulps=6, scale=4),
    Family("softsign", lambda _, x: x.softsign(), lambda x: x / (1 + np.abs(x)), ulps=3),
    # The polynomial of Abramowitz and Stegun, 7.1.26, is off by 1.5e-7, which is two units of 1 in float32.
    Family("erf", lambda _, x: x.erf(), _erf, ("float32",), ulps=8, scale=1),
    Family("trunc", lambda _, x: x.trunc(), np.trunc, decision="U-13"),
    Family("ceil", lambda _, x: x.ceil(), np.ceil, ulps=0),
    Family("floor", lambda _, x: x.floor(), np.floor, ulps=0),
    Family("round", lambda _, x: x.round(), np.round, ulps=0),
)

BITS: tuple[Family, ...] = (
    Family("and", lambda _, a, b: a & b, lambda a, b: a & b, (*INTS, "bool"), TWO, ("wide",)),
    Family("or", lambda _, a, b: a | b, lambda a, b: a | b, (*INTS, "bool"), TWO, ("wide",)),
    Family("xor", lambda _, a, b: a ^ b, lambda a, b: a ^ b, (*INTS, "bool"), TWO, ("wide",)),
    Family("bitwise not", lambda _, x: x.bitwise_not(), lambda x: ~x, (*INTS, "bool"), ONE, ("wide",)),
    Family("logical not", lambda _, x: x.logical_not(), np.logical_not, ("bool", "int32"), ONE, ("bit",)),
    Family("shift left", lambda _, x: x << 3, lambda x: x << 3, ("int32", "uint8", "int64"), ONE, ("wide",)),
    Family("shift right", lambda _, x: x >> 3, lambda x: x >> 3, INTS, ONE, ("wide",)),
    Family(
        "bitcast",
        lambda _, x: x.bitcast("int32"),
        lambda x: x.view(np.int32),
        ("float32", "uint32"),
        UNARY,
        ("wide",),
    ),
    Family(
        "bitcast to bytes",
        lambda _, x: x.bitcast("uint8"),
        lambda x: x.view(np.uint8),
        ("int32", "float16"),
        (((3, 4),),),
    ),
)


def _cast(target: str, *sources: str, kind: str = "any") -> Family:
    return Family(
        f"cast to {target}",
        lambda _, x: x.cast(target),
        lambda x: x.astype(target),
        sources,
        ONE,
        (kind,),
    )


CASTS: tuple[Family, ...] = (
    _cast("int32", "float32", "float64", "int64", "uint8", "bool"),
    _cast("int8", "int32", "int64", "uint8", kind="wide"),
    _cast("uint8", "int32", "int8", kind="wide"),
    _cast("int64", "int32", "uint32", "float32", kind="wide"),
    _cast("bool", "int32", "float32", "uint8", kind="bit"),
    _cast("float16", "float32", "float64", "int32"),
    _cast("float32", "float16", "float64", "int32", "bool"),
    _cast("float64", "float32", "int64", "uint8", kind="wide"),
)

FAMILIES = (*ARITHMETIC, *COMPARISONS, *FUNCTIONS, *BITS, *CASTS)
