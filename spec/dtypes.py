"""
Data types
==========

The scalar types of UOps and the three things that every op needs from one: its range, rounding or wrapping into it,
and its bit pattern.

An *element* is a Python ``bool``, ``int`` or ``float``. A float of any format is held as the Python ``float`` of the
same value, which is exact because binary64 contains every other format here. ``index`` is the mathematical integers
(U-02). The sign of a zero is observable, the sign and payload of a NaN are not (U-05).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

Element = bool | int | float
Kind = Literal["bool", "int", "uint", "index", "float", "void"]


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """A scalar type: its name, its kind, and the number of bits it stores. There is one object of each."""

    name: str
    kind: Kind
    bits: int
    exponent_bits: int = 0
    """Width of the exponent field of a float format."""
    mantissa_bits: int = 0
    """Width of the stored significand of a float format, without the implicit bit."""
    has_infinity: bool = True
    """False for E4M3FN, whose topmost exponent holds numbers and one NaN."""

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the name, so that a dtype stays the one object that it is."""
        return _named, (self.name,)

    @property
    def is_float(self) -> bool:
        """Whether this is a binary floating-point format."""
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        """Whether this is an integer of fixed width; ``index`` is not."""
        return self.kind in ("int", "uint")

    @property
    def signed(self) -> bool:
        """Whether negative values exist."""
        return self.kind in ("int", "index", "float")

    @property
    def itemsize(self) -> int:
        """Bytes of one stored element; ``index`` and ``void`` are never stored and have 0."""
        return (self.bits + 7) // 8

    @property
    def min(self) -> Element:
        """The least value: the lower end of the *dtype range* of the source's property table."""
        match self.kind:
            case "bool":
                return False
            case "int":
                return -(1 << (self.bits - 1))
            case "uint" | "void":
                return 0
            case _:
                return -math.inf if self.has_infinity else -largest_finite(self)

    @property
    def max(self) -> Element:
        """The greatest value: the upper end of the *dtype range*."""
        match self.kind:
            case "bool":
                return True
            case "int":
                return (1 << (self.bits - 1)) - 1
            case "uint":
                return (1 << self.bits) - 1
            case "void":
                return 0
            case _:
                return math.inf if self.has_infinity else largest_finite(self)


void = DType("void", "void", 0)
"""The type of a node that has no value, such as a Store."""
bool_ = DType("bool", "bool", 8)
int8, int16, int32, int64 = (DType(f"int{n}", "int", n) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{n}", "uint", n) for n in (8, 16, 32, 64))
index = DType("index", "index", 0)
float16 = DType("float16", "float", 16, 5, 10)
bfloat16 = DType("bfloat16", "float", 16, 8, 7)
float32 = DType("float32", "float", 32, 8, 23)
float64 = DType("float64", "float", 64, 11, 52)
float8_e4m3fn = DType("float8_e4m3fn", "float", 8, 4, 3, has_infinity=False)
float8_e5m2 = DType("float8_e5m2", "float", 8, 5, 2)

sints = (int8, int16, int32, int64)
uints = (uint8, uint16, uint32, uint64)
ints = (*sints, *uints)
ieee_floats = (float16, bfloat16, float32, float64)
"""The formats of the IEEE 754 shape, which Exp2, Log2, Sin and Pow have programs for."""
floats = (*ieee_floats, float8_e4m3fn, float8_e5m2)
all_dtypes = (bool_, *ints, index, *floats)
BY_NAME = {d.name: d for d in (*all_dtypes, void)}


def _named(name: str) -> DType:
    return BY_NAME[name]


_NUMPY: dict[DType, npt.DTypeLike] = {
    bool_: np.bool_,
    **{d: d.name for d in ints},
    index: np.object_,
    **{d: d.name for d in (float16, float32, float64)},
    bfloat16: ml_dtypes.bfloat16,
    float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    float8_e5m2: ml_dtypes.float8_e5m2,
}


def to_numpy(dtype: DType) -> np.dtype[np.generic]:
    """The numpy dtype with the same elements; ``index`` becomes ``object``, which holds Python ints."""
    return np.dtype(_NUMPY[dtype])


def from_numpy(dtype: npt.DTypeLike) -> DType:
    """The soundline dtype of a numpy or ml_dtypes dtype. Raises ``KeyError`` where there is none."""
    return {np.dtype(n): d for d, n in _NUMPY.items()}[np.dtype(dtype)]


def exponent_range(dtype: DType) -> tuple[int, int]:
    """The exponents (e_min, e_max) of the normal numbers 1.m · 2^e of a float format."""
    bias = (1 << (dtype.exponent_bits - 1)) - 1
    return 1 - bias, bias if dtype.has_infinity else bias + 1


def largest_finite(dtype: DType) -> float:
    """The greatest finite number of a float format."""
    _, e_max = exponent_range(dtype)
    return math.ldexp(_greatest_significand(dtype), e_max - dtype.mantissa_bits)


def _greatest_significand(dtype: DType) -> int:
    """The significand of the greatest finite number, in ulps; E4M3FN gives the topmost one to NaN."""
    return (2 << dtype.mantissa_bits) - (1 if dtype.has_infinity else 2)


def wrap(dtype: DType, value: int) -> int:
    """The two's complement reading of `value` at a fixed width; ``index`` keeps every integer (U-02)."""
    if not dtype.is_int:
        return value
    low = int(dtype.min)
    return (value - low) % (1 << dtype.bits) + low


def round_to(dtype: DType, value: float | Fraction) -> float:
    """The number of a float format nearest to `value`, ties to even (U-05).

    Subnormals are kept. What rounds past the largest finite number is an infinity, or NaN in E4M3FN.
    """
    if isinstance(value, float):
        if value == 0.0 or math.isnan(value):
            return value
        if math.isinf(value):
            return _overflowed(dtype, value)
    elif value == 0:
        return 0.0
    e_min, e_max = exponent_range(dtype)
    m = dtype.mantissa_bits
    ulp = max(_floor_log2(value), e_min) - m
    multiple = abs(_round_half_even(value, ulp))
    if (ulp, multiple) > (e_max - m, _greatest_significand(dtype)):
        return _overflowed(dtype, value)
    return _signed(math.ldexp(multiple, ulp), value)


def _overflowed(dtype: DType, value: float | Fraction) -> float:
    return _signed(math.inf, value) if dtype.has_infinity else math.nan


def _signed(magnitude: float, value: float | Fraction) -> float:
    return -magnitude if value < 0 else magnitude


def _floor_log2(value: float | Fraction) -> int:
    """The e with 2^e ≤ |value| < 2^(e+1)."""
    if isinstance(value, float):
        return math.frexp(value)[1] - 1
    e = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return e if Fraction(2) ** e <= abs(value) else e - 1


def _round_half_even(value: float | Fraction, ulp: int) -> int:
    """The integer nearest to value / 2^ulp; Python rounds half to even, and the scaling is exact."""
    if isinstance(value, float):
        return round(math.ldexp(value, -ulp))
    return round(value * Fraction(2) ** -ulp)


def to_bits(dtype: DType, value: Element) -> int:
    """The stored bit pattern of an element, as an unsigned integer. Every NaN is the canonical quiet NaN."""
    if dtype is bool_:
        return int(bool(value))
    if not dtype.is_float:
        return int(value) % (1 << dtype.bits) if dtype.is_int else int(value)
    number = float(value)
    top = (1 << dtype.exponent_bits) - 1
    m = dtype.mantissa_bits
    sign = int(math.copysign(1.0, number) < 0) << (dtype.bits - 1)
    if math.isnan(number):
        return (top << m) | ((1 << (m - 1)) if dtype.has_infinity else (1 << m) - 1)
    if math.isinf(number):
        return sign | (top << m)
    if number == 0.0:
        return sign
    e_min, _ = exponent_range(dtype)
    e = max(math.frexp(abs(number))[1] - 1, e_min)
    units = int(math.ldexp(abs(number), m - e))  # in ulps; below 2^m for a subnormal
    return sign | (units if units < 1 << m else ((e - e_min + 1) << m) + units - (1 << m))


def from_bits(dtype: DType, pattern: int) -> Element:
    """The element that an unsigned bit pattern stores."""
    if dtype is bool_:
        return bool(pattern)
    if not dtype.is_float:
        return wrap(dtype, pattern)
    m = dtype.mantissa_bits
    sign = -1.0 if pattern >> (dtype.bits - 1) & 1 else 1.0
    field, units = pattern >> m & ((1 << dtype.exponent_bits) - 1), pattern & ((1 << m) - 1)
    e_min, _ = exponent_range(dtype)
    if dtype.has_infinity and field == (1 << dtype.exponent_bits) - 1:
        return math.nan if units else math.copysign(math.inf, sign)
    if not dtype.has_infinity and pattern & ((1 << (dtype.bits - 1)) - 1) == (1 << (dtype.bits - 1)) - 1:
        return math.nan
    if field:
        units += 1 << m
    return math.copysign(math.ldexp(units, e_min + max(field - 1, 0) - m), sign)


def same_value(dtype: DType, a: Element, b: Element) -> bool:
    """Whether two elements of `dtype` are observably equal: NaN is NaN, and -0.0 is not +0.0 (U-05)."""
    return to_bits(dtype, a) == to_bits(dtype, b)


def order(value: Element) -> tuple[Element, float]:
    """A sort key of the elements that are not NaN; it puts ``-0.0`` below ``+0.0``."""
    return value, math.copysign(1.0, value) if isinstance(value, float) else 0.0


def is_element(dtype: DType, value: object) -> bool:
    """Whether a Python object is an element of `dtype`, in the one representation that an element has."""
    if dtype is bool_:
        return type(value) is bool
    if dtype.is_float:
        return type(value) is float and (math.isnan(value) or round_to(dtype, value) == value)
    if type(value) is not int:
        return False
    return dtype is index or (dtype.is_int and bool(dtype.min <= value <= dtype.max))


def lossless(source: DType, target: DType) -> bool:
    """Whether every value of `source` is a value of `target`, so that the cast there and back is the identity."""
    if source == target:
        return True
    if source is bool_:
        return target is not void
    if source.is_float:
        return target.is_float and _formats_nest(source, target)
    if target.is_float:
        return (
            source.is_int and max(-int(source.min), int(source.max)).bit_length() <= target.mantissa_bits + 1
        )
    if target is index:
        return source.is_int
    return source.is_int and target.is_int and target.min <= source.min and source.max <= target.max


def _formats_nest(source: DType, target: DType) -> bool:
    (s_min, s_max), (t_min, t_max) = exponent_range(source), exponent_range(target)
    infinities = target.has_infinity or not source.has_infinity
    finest = s_min - source.mantissa_bits >= t_min - target.mantissa_bits
    return infinities and source.mantissa_bits <= target.mantissa_bits and finest and s_max <= t_max


def zero_of(dtype: DType) -> Element:
    """The zero of a dtype: False, 0 or +0.0 (U-14)."""
    if dtype is bool_:
        return False
    return 0.0 if dtype.is_float else 0
