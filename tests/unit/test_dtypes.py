"""The scalar types: ranges, rounding, wrapping and bit patterns, held to numpy and ml_dtypes on every pattern."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    BY_NAME,
    DType,
    all_dtypes,
    bfloat16,
    bool_,
    exponent_range,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    floats,
    from_bits,
    from_numpy,
    ieee_floats,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    is_element,
    largest_finite,
    lossless,
    order,
    round_to,
    same_value,
    sints,
    to_bits,
    to_numpy,
    uint8,
    uint16,
    uint32,
    uint64,
    uints,
    void,
    wrap,
    zero_of,
)

SMALL_FLOATS = (float16, bfloat16, float8_e4m3fn, float8_e5m2)
NAN = math.nan
INF = math.inf


def test_the_classes_partition_the_dtypes() -> None:
    assert all_dtypes == (bool_, *ints, index, *floats)
    assert ints == (*sints, *uints)
    assert floats == (*ieee_floats, float8_e4m3fn, float8_e5m2)
    assert set(BY_NAME.values()) == {*all_dtypes, void}
    assert all(BY_NAME[d.name] is d for d in BY_NAME.values())
    assert [d.name for d in all_dtypes if d.is_float] == [d.name for d in floats]
    assert [d for d in all_dtypes if d.is_int] == list(ints)
    assert [d for d in all_dtypes if d.signed] == [*sints, index, *floats]


@pytest.mark.parametrize(
    ("dtype", "low", "high", "size"),
    [
        (bool_, False, True, 1),
        (int8, -128, 127, 1),
        (int16, -32768, 32767, 2),
        (int32, -(2**31), 2**31 - 1, 4),
        (int64, -(2**63), 2**63 - 1, 8),
        (uint8, 0, 255, 1),
        (uint16, 0, 65535, 2),
        (uint32, 0, 2**32 - 1, 4),
        (uint64, 0, 2**64 - 1, 8),
        (index, -INF, INF, 0),
        (float16, -INF, INF, 2),
        (bfloat16, -INF, INF, 2),
        (float32, -INF, INF, 4),
        (float64, -INF, INF, 8),
        (float8_e4m3fn, -448.0, 448.0, 1),
        (float8_e5m2, -INF, INF, 1),
        (void, 0, 0, 0),
    ],
)
def test_ranges_and_sizes(dtype: DType, low: object, high: object, size: int) -> None:
    assert (dtype.min, dtype.max, dtype.itemsize) == (low, high, size)
    assert (type(dtype.min), type(dtype.max)) == (type(low), type(high))
    assert repr(dtype) == dtype.name


@pytest.mark.parametrize("dtype", floats)
def test_the_format_parameters_are_those_of_numpy(dtype: DType) -> None:
    info = ml_dtypes.finfo(to_numpy(dtype))
    assert largest_finite(dtype) == float(info.max)
    assert dtype.mantissa_bits == info.nmant
    assert exponent_range(dtype)[0] == info.minexp
    assert math.ldexp(1.0, exponent_range(dtype)[0] - dtype.mantissa_bits) == float(info.smallest_subnormal)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_every_bit_pattern_means_what_numpy_says(dtype: DType) -> None:
    unsigned = np.dtype(f"uint{dtype.bits}")
    patterns = np.arange(1 << dtype.bits, dtype=unsigned)
    with np.errstate(invalid="ignore"):
        theirs = patterns.view(to_numpy(dtype)).astype(np.float64).tolist()
    for pattern, value in zip(patterns.tolist(), theirs, strict=True):
        ours = from_bits(dtype, pattern)
        assert same_value(float64, ours, value)
        back = to_bits(dtype, ours)
        assert back == pattern or math.isnan(value)
        assert round_to(dtype, float(ours)) == ours or math.isnan(value)


@pytest.mark.parametrize(
    ("dtype", "pattern"),
    [
        (float16, 0x7E00),
        (bfloat16, 0x7FC0),
        (float32, 0x7FC00000),
        (float64, 0x7FF8000000000000),
        (float8_e4m3fn, 0x7F),
        (float8_e5m2, 0x7E),
    ],
)
def test_every_nan_is_stored_as_the_canonical_quiet_one(dtype: DType, pattern: int) -> None:
    assert to_bits(dtype, NAN) == to_bits(dtype, -NAN) == pattern
    assert math.isnan(float(from_bits(dtype, pattern)))
    assert math.isnan(float(from_bits(dtype, pattern | 1 << (dtype.bits - 1))))
    assert same_value(dtype, NAN, from_bits(dtype, pattern))


@pytest.mark.parametrize("dtype", [float32, float64])
def test_wide_bit_patterns_agree_with_numpy(dtype: DType) -> None:
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 1 << dtype.bits, 3000, dtype=np.uint64).astype(f"uint{dtype.bits}")
    edges = [0, 1, 2, (1 << dtype.mantissa_bits) - 1, 1 << dtype.mantissa_bits, to_bits(dtype, INF)]
    edges += [e | 1 << (dtype.bits - 1) for e in edges] + [to_bits(dtype, INF) - 1]
    patterns = np.concatenate([patterns, np.array(edges, dtype=patterns.dtype)])
    for pattern, value in zip(patterns.tolist(), patterns.view(to_numpy(dtype)).tolist(), strict=True):
        assert same_value(dtype, from_bits(dtype, pattern), value)
        assert to_bits(dtype, value) == pattern or math.isnan(value)


def _halfway_points(dtype: DType) -> np.ndarray:
    """Random numbers over the range, the numbers of the format, the middles between them, and their neighbours."""
    rng = np.random.default_rng(2)
    least = exponent_range(dtype)[0] - dtype.mantissa_bits
    random = np.ldexp(rng.uniform(1, 2, 4000), rng.integers(least - 3, exponent_range(dtype)[1] + 2, 4000))
    if dtype is float32:
        patterns = np.concatenate(
            [rng.integers(0, 0x7F7FFFFF, 2000), np.array([0, 1, 2, 0x7FFFFF, 0x7F7FFFFE])]
        )
        grid = patterns.astype(np.uint32).view(np.float32).astype(np.float64)
        after = (patterns + 1).astype(np.uint32).view(np.float32).astype(np.float64)
    else:
        patterns = np.arange((1 << (dtype.bits - 1)) - 1)
        if dtype.bits == 16:  # every seventh, and all where numbers are subnormal or about to overflow
            kept = (patterns % 7 == 0) | (patterns < 300) | (patterns > 0x7B00) & (patterns < 0x7C00)
            patterns = np.repeat(patterns[kept], 2) + np.tile([0, 1], int(kept.sum()))
        patterns = patterns.astype(f"uint{dtype.bits}")
        values = patterns.view(to_numpy(dtype)).astype(np.float64)
        values = values[np.isfinite(values)]
        grid, after = values[:-1], values[1:]
    middles = (grid + after) / 2
    top = largest_finite(dtype)
    ends = top * np.array([1.0, 1 + 2.0 ** -(dtype.mantissa_bits + 2), 1 + 2.0**-dtype.mantissa_bits, 2.0])
    points = np.concatenate(
        [random, grid, middles, np.nextafter(middles, 0), np.nextafter(middles, INF), ends]
    )
    return np.concatenate([points, -points, [INF, -INF, NAN]])


@pytest.mark.parametrize("dtype", [*SMALL_FLOATS, float32])
def test_rounding_is_that_of_numpy_at_and_around_every_tie(dtype: DType) -> None:
    points = _halfway_points(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        theirs = points.astype(to_numpy(dtype)).astype(np.float64)
    # ml_dtypes rounds binary64 to its own formats by way of binary32; away from the ties of binary32 that is the same.
    through_single = dtype in (bfloat16, float8_e4m3fn, float8_e5m2)
    for x, value in zip(points.tolist(), theirs.tolist(), strict=True):
        if through_single and not math.isnan(x) and float(np.float32(x)) != x:
            continue
        assert same_value(dtype, round_to(dtype, x), value), x
        if math.isfinite(x) and x != 0:
            assert same_value(dtype, round_to(dtype, Fraction(x)), round_to(dtype, x)), x


@pytest.mark.parametrize("dtype", floats)
def test_rounding_by_definition(dtype: DType) -> None:
    top = largest_finite(dtype)
    ulp = math.ldexp(1.0, exponent_range(dtype)[1] - dtype.mantissa_bits)
    if dtype is not float8_e4m3fn:
        beyond = Fraction(top) + Fraction(ulp) / 2
    else:
        beyond = Fraction(464)  # half way to the first number that does not exist
    lost = INF if dtype.has_infinity else NAN
    assert same_value(dtype, round_to(dtype, beyond - Fraction(1, 2**2000)), top)
    # The tie goes to the even neighbour: infinity, but 448 has an even significand in E4M3.
    assert same_value(dtype, round_to(dtype, beyond), top if dtype is float8_e4m3fn else lost)
    assert same_value(dtype, round_to(dtype, beyond + Fraction(1, 2**2000)), lost)
    assert same_value(dtype, round_to(dtype, -beyond - 1), -lost)
    least = Fraction(2) ** (exponent_range(dtype)[0] - dtype.mantissa_bits)
    assert round_to(dtype, least / 2) == 0.0
    assert round_to(dtype, least / 2 + least / 2**300) == float(least)
    assert round_to(dtype, least * 3 / 2) == float(2 * least)
    assert math.copysign(1.0, round_to(dtype, -least / 4)) == -1.0
    assert same_value(dtype, round_to(dtype, -0.0), -0.0)
    assert same_value(dtype, round_to(dtype, Fraction(0)), 0.0)
    assert same_value(dtype, round_to(dtype, INF), lost)
    assert same_value(dtype, round_to(dtype, -INF), -lost)
    assert math.isnan(round_to(dtype, NAN))


def test_rounding_to_half_happens_once() -> None:
    # 1 + 2^-11 + 2^-26 rounds up in one step; by way of binary32 it would become a tie and round down.
    x = 1 + 2.0**-11 + 2.0**-26
    assert round_to(float16, x) == 1 + 2.0**-10
    assert round_to(float16, round_to(float32, x)) == 1.0


@pytest.mark.parametrize("dtype", ints)
def test_wrapping_is_twos_complement(dtype: DType) -> None:
    low, high, span = int(dtype.min), int(dtype.max), 1 << dtype.bits
    assert high - low + 1 == span
    for value in (low, high, 0, 1, high // 2):
        for turns in (-2, -1, 0, 1, 3):
            assert wrap(dtype, value + turns * span) == value
    assert wrap(dtype, high + 1) == low
    assert wrap(dtype, low - 1) == high
    for value in (low, high, 0, 5):
        assert from_bits(dtype, to_bits(dtype, value)) == value
        assert to_bits(dtype, value) == value % span


def test_index_is_the_integers() -> None:
    assert wrap(index, 2**200) == 2**200
    assert to_bits(index, -5) == -5
    assert is_element(index, -(2**200))


def test_bits_of_bools() -> None:
    assert [to_bits(bool_, v) for v in (False, True)] == [0, 1]
    assert [from_bits(bool_, n) for n in (0, 1, 2)] == [False, True, True]


def test_observable_equality() -> None:
    assert same_value(float32, NAN, NAN)
    assert not same_value(float32, 0.0, -0.0)
    assert not same_value(float32, NAN, INF)
    assert same_value(int8, 1, 1)
    assert not same_value(int8, 1, 2)


def test_the_order_of_elements_puts_minus_zero_first() -> None:
    values = [-INF, -1.0, -0.0, 0.0, 5e-324, 1.0, INF]
    assert sorted(values, key=order) == values
    assert [math.copysign(1, v) for v in sorted([0.0, -0.0], key=order)] == [-1, 1]
    assert order(3) < order(4)
    assert order(False) < order(True)


def test_what_is_an_element() -> None:
    assert is_element(bool_, True)
    assert not is_element(bool_, 1)
    assert is_element(int8, -128)
    assert not is_element(int8, -129)
    assert not is_element(int8, True)
    assert is_element(int8, 127)
    assert not is_element(int8, 128)
    assert is_element(float32, 0.5)
    assert not is_element(float32, 0.1)
    assert not is_element(float32, 1)
    assert is_element(float16, NAN)
    assert is_element(float16, -INF)
    assert not is_element(float8_e4m3fn, INF)
    assert not is_element(void, 0)
    assert not is_element(int8, 1.0)
    assert not is_element(index, 1.0)


@pytest.mark.parametrize("dtype", [d for d in all_dtypes if d is not index])
def test_numpy_names_the_same_dtype(dtype: DType) -> None:
    assert from_numpy(to_numpy(dtype)) is dtype
    assert to_numpy(dtype).itemsize == dtype.itemsize


def test_numpy_has_dtypes_that_the_language_has_not() -> None:
    assert to_numpy(index) == np.dtype(object)
    with pytest.raises(KeyError):
        from_numpy(np.complex64)


def _witnesses(dtype: DType) -> list[object]:
    if dtype is bool_:
        return [False, True]
    if dtype is index:
        return [0, -1, 2**70]
    if dtype.is_int:
        return [int(dtype.min), int(dtype.max), int(dtype.max) - 1, 0, 1]
    e_min, _e_max = exponent_range(dtype)
    least = math.ldexp(1.0, e_min - dtype.mantissa_bits)
    finest = 1 + math.ldexp(1.0, -dtype.mantissa_bits)
    own = [INF] if dtype.has_infinity else []
    return [largest_finite(dtype), least, finest, -0.0, NAN, *own]


@pytest.mark.parametrize("source", all_dtypes)
def test_a_cast_is_lossless_exactly_where_it_keeps_every_extreme(source: DType) -> None:
    """The extremes of a dtype (ends, least and finest number, infinity) survive iff all its numbers do."""
    from soundline.spec.ops.elementwise.conversion import cast

    for target in all_dtypes:
        if index in (source, target) and (source.is_float or target.is_float):
            assert not lossless(source, target)
            continue
        there = [cast(source, x, target) for x in _witnesses(source)]
        back = [cast(target, y, source) for y in there]
        kept = all(
            same_value(source, x, y)  # type: ignore[arg-type]
            for x, y in zip(_witnesses(source), back, strict=True)
        )
        # A cast from an int through a narrower signedness can come back by wrapping; the values in between differ.
        same = all(x == y or (x != x and y != y) for x, y in zip(_witnesses(source), there, strict=True))
        assert lossless(source, target) == (kept and same), target


@pytest.mark.parametrize("dtype", [float16, float32, float64])
def test_fractions_that_no_format_holds_round_to_the_nearest(dtype: DType) -> None:
    for x in (
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(5, 3),
        Fraction(-1, 10),
        Fraction(7, 5),
        Fraction(10**6, 7),
    ):
        found = round_to(dtype, x)
        theirs = float(np.array([x.numerator / x.denominator]).astype(to_numpy(dtype))[0])
        assert same_value(dtype, found, theirs)
        assert is_element(dtype, found)


def test_the_zero_of_a_dtype() -> None:
    for dtype in all_dtypes:
        zero = zero_of(dtype)
        assert is_element(dtype, zero)
        assert to_bits(dtype, zero) == 0


@pytest.mark.parametrize("dtype", floats, ids=repr)
def test_every_nan_of_numpy_is_read_without_a_warning(dtype: DType) -> None:
    patterns = np.arange(1 << min(dtype.bits, 16), dtype=f"uint{dtype.bits}")
    if dtype.bits > 16:  # signalling and quiet ones, of both signs
        exponent = ((1 << (dtype.bits - 1)) - 1) & ~((1 << dtype.mantissa_bits) - 1)
        patterns = np.array([exponent | 1, exponent | 3 << (dtype.mantissa_bits - 1)], patterns.dtype)
        patterns = np.concatenate([patterns, patterns | (1 << (dtype.bits - 1)), patterns - exponent])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Array.from_numpy(patterns.view(to_numpy(dtype))).elements
    assert all(same_value(dtype, x, from_bits(dtype, int(p))) for x, p in zip(found, patterns, strict=True))
    assert any(x != x for x in found)
    assert not all(x != x for x in found)
