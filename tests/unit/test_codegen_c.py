"""C code: every op on special values, conversions on all patterns, and no undefined behaviour."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from soundline.impl.analysis import elementary
from soundline.impl.arrays import storage
from soundline.impl.codegen.c import masks, streams, transpositions, vector_helpers
from soundline.impl.codegen.c.expressions import RENDER, Expressions
from soundline.impl.codegen.c.helpers import NAMED, Helper, Helpers
from soundline.impl.codegen.c.interruption import QUESTION
from soundline.impl.codegen.c.renderer import COMMANDS, ENTRY, render
from soundline.impl.executables.building import computed
from soundline.impl.lower.callify import callify
from soundline.impl.lower.schedule import common_subexpressions
from soundline.impl.program.compile import lower
from soundline.impl.runtime import cpu
from soundline.impl.tensors.tensor import Tensor
from soundline.impl.toolchain import find_compiler
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    floats,
    from_bits,
    ieee_floats,
    index,
    int16,
    int32,
    int64,
    ints,
    largest_finite,
    round_to,
    same_value,
    to_bits,
    to_numpy,
    uint8,
    uint16,
    uint32,
    uint64,
)
from soundline.spec.errors import CompileError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, broadcast_to, buffer, const, element_of, loop, param
from soundline.spec.values.elementwise import scalar

from ..representative import one_in  # noqa: TID252

NARROW = (float16, bfloat16, float8_e4m3fn, float8_e5m2)
VALUE_DTYPES = (bool_, *ints, *floats)

FLOATS = (0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 0.1, 3.0, 1e-3, math.inf, -math.inf, math.nan)
UNARY = {
    "bool": (Op.Not,),
    "int": (Op.Neg,),
    "float": (Op.Neg, Op.Recip, Op.Sqrt, Op.Trunc),
}
COMPARISONS = (Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq)
INTEGER = (
    Op.Add,
    Op.Sub,
    Op.Mul,
    Op.Max,
    Op.Idiv,
    Op.Mod,
    Op.CDiv,
    Op.CMod,
    Op.And,
    Op.Or,
    Op.Xor,
    Op.Shl,
    Op.Shr,
)
BINARY = {
    "bool": (Op.Mul, Op.Max, Op.And, Op.Or, Op.Xor, *COMPARISONS),
    "int": (*INTEGER, *COMPARISONS),
    "float": (Op.Add, Op.Sub, Op.Mul, Op.Div, Op.Max, *COMPARISONS),
}


def kind(dtype: DType) -> str:
    return "int" if dtype.is_int else dtype.kind


def specials(dtype: DType) -> list[object]:
    """The ends of a dtype and what lies beside them."""
    if dtype is bool_:
        return [False, True]
    if dtype.is_int:
        near = {0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits, dtype.bits + 1}
        ends = {int(dtype.max), int(dtype.max) - 1, int(dtype.min), int(dtype.min) + 1}
        signed = {-n for n in near} if dtype.signed else set()
        return sorted(near | ends | signed)
    least, top = from_bits(dtype, 1), to_bits(dtype, dtype.max)
    finite = [from_bits(dtype, top - k) for k in (1, 2)]
    normal = from_bits(dtype, 1 << dtype.mantissa_bits)
    below = from_bits(dtype, (1 << dtype.mantissa_bits) - 1)
    extra = [least, -float(least), normal, below, -float(normal), *finite, *(-float(f) for f in finite)]
    found = {to_bits(dtype, v): v for v in (element_of(x, dtype) for x in (*FLOATS, *extra))}
    return list(found.values())


def kept(values: list[object], dtype: DType) -> UOp:
    return storage.keep(np.array(values, dtype=to_numpy(dtype)))


def check(
    root: UOp, rows: list[tuple[object, ...]], expect: Callable[..., object], found: np.ndarray
) -> None:
    cells = Array.from_numpy(found).elements
    for row, cell in zip(rows, cells, strict=True):
        wanted = expect(*row)
        assert same_value(root.dtype, wanted, cell), (root.op, row, wanted, cell)


@pytest.mark.parametrize("dtype", VALUE_DTYPES, ids=repr)
def test_every_op_on_special_values(dtype: DType) -> None:
    values = specials(dtype)
    pairs = [(a, b) for a in values for b in values]
    x, (left, right) = kept(values, dtype), (kept([p[k] for p in pairs], dtype) for k in (0, 1))
    unary = [UOp(op, (x,)) for op in UNARY[kind(dtype)]]
    binary = [UOp(op, (left, right)) for op in BINARY[kind(dtype)]]
    results = computed([*unary, *binary])
    for root, found in zip(unary, results, strict=False):
        check(root, [(v,) for v in values], lambda v, op=root.op: scalar(op, dtype, v), found)
    for root, found in zip(binary, results[len(unary) :], strict=True):
        check(root, pairs, lambda a, b, op=root.op: scalar(op, dtype, a, b), found)


@pytest.mark.parametrize("dtype", VALUE_DTYPES, ids=repr)
def test_every_cast_on_special_values(dtype: DType) -> None:
    values = specials(dtype)
    if dtype.is_float:  # what lies at the edges of the integer targets
        edges = [e for d in ints for e in (int(d.max), int(d.max) + 1, int(d.min), int(d.min) - 1)]
        values = [*values, *(v for v in (element_of(float(e), dtype) for e in edges) if v not in values)]
    x = kept(values, dtype)
    roots = [Op.Cast(x, arg=target) for target in VALUE_DTYPES if target is not dtype]
    for root, found in zip(roots, computed(roots), strict=True):
        check(root, [(v,) for v in values], lambda v, to=root.arg: scalar(Op.Cast, dtype, v, arg=to), found)


@pytest.mark.parametrize("dtype", [*ints, *floats], ids=repr)
def test_bit_casts_of_special_values(dtype: DType) -> None:
    values = specials(dtype)
    x = kept(values, dtype)
    roots = [Op.Bitcast(x, arg=t) for t in (*ints, *floats) if t.bits == dtype.bits]
    for root, found in zip(roots, computed(roots), strict=True):
        check(root, [(v,) for v in values], lambda v, to=root.arg: from_bits(to, to_bits(dtype, v)), found)


PATTERNS = {1: uint8, 2: uint16, 4: uint32, 8: uint64}
"""The integers that hold the bits of a float, by item size."""


def like(x: UOp, value: float) -> UOp:
    return broadcast_to(const(round_to(x.dtype, value), x.dtype), x.shape or ())


NOT_A_NUMBER: dict[str, Callable[[UOp], UOp]] = {
    "as it is": lambda x: x,
    "negated": Op.Neg,
    "0 / 0": lambda x: Op.Div(like(x, 0.0), Op.Mul(x, like(x, 0.0))),
    "x - x": lambda x: Op.Sub(x, x),
    "root of a negative": lambda x: Op.Sqrt(Op.Neg(Op.Max(x, like(x, 1.0)))),
    "of a sum": lambda x: Op.Add(x, like(x, 1.0)),
    "of a maximum": lambda x: Op.Max(like(x, 1.0), x),
    "selected": lambda x: Op.Where(Op.CmpLt(x, like(x, 0.0)), x, Op.Neg(x)),
    "truncated": Op.Trunc,
}


def with_nans(dtype: DType) -> np.ndarray:
    """Numbers, and NaNs of both signs and of several payloads, as patterns."""
    quiet, sign = to_bits(dtype, math.nan), 1 << (dtype.bits - 1)
    exponent = (sign - 1) & ~((1 << dtype.mantissa_bits) - 1)
    nans = [quiet, exponent | 1, sign - 1, exponent | (1 << dtype.mantissa_bits) // 2 | 1]
    nans = [p for p in nans if math.isnan(float(from_bits(dtype, p)))]
    rest = [0, to_bits(dtype, 1.0), to_bits(dtype, largest_finite(dtype))]
    patterns = [p | s for p in (*nans, *rest) for s in (0, sign)]
    return np.resize(np.array(patterns, f"uint{dtype.bits}"), 16)


@pytest.mark.parametrize("how", NOT_A_NUMBER)
@pytest.mark.parametrize("dtype", floats, ids=repr)
def test_the_bits_of_a_nan_are_the_canonical_ones(dtype: DType, how: str) -> None:
    """Hardware gives NaNs of either sign and keeps payloads; a Bitcast reads neither (U-05)."""
    patterns = with_nans(dtype)
    values = patterns.view(to_numpy(dtype))

    def read(x: UOp) -> list[UOp]:
        made = NOT_A_NUMBER[how](x)
        return [Op.Bitcast(made, arg=t) for t in dict.fromkeys((PATTERNS[dtype.itemsize], uint8, uint64))]

    for root, found in zip(
        read(param(0, dtype, values.shape)), computed(read(storage.keep(values))), strict=True
    ):
        wanted = evaluate(root, {0: Array.of([from_bits(dtype, int(p)) for p in patterns], dtype)})
        assert found.tobytes() == wanted.to_numpy().tobytes(), root.dtype
        assert how != "as it is" or found.tobytes() != patterns.tobytes(), "some NaN is not canonical"


@pytest.mark.parametrize("dtype", floats, ids=repr)
def test_int_to_float_to_int_is_the_identity_but_on_nans(dtype: DType) -> None:
    patterns = with_nans(dtype)
    there_and_back = Op.Bitcast(Op.Bitcast(storage.keep(patterns), arg=dtype), arg=PATTERNS[dtype.itemsize])
    (found,) = computed([there_and_back])
    is_nan = np.array([math.isnan(float(from_bits(dtype, int(p)))) for p in patterns])
    assert np.array_equal(found[~is_nan], patterns[~is_nan])
    assert set(found[is_nan].tolist()) == {to_bits(dtype, math.nan)} != set(patterns[is_nan].tolist())


@pytest.mark.parametrize("dtype", ieee_floats, ids=repr)
def test_exp_where_it_overflows_and_where_it_vanishes(dtype: DType) -> None:
    """exp has the evaluator's bits at the ends of its range: infinity, the least subnormals, zero, and beside them."""
    least = from_bits(dtype, 1)
    ends = [math.log(largest_finite(dtype)), math.log(float(least)), math.log(float(least)) - math.log(2)]
    ends.append(math.log(float(from_bits(dtype, 1 << dtype.mantissa_bits))))
    near = [end + step for end in ends for step in (-1.5, -0.75, -0.1, -1e-3, 0.0, 1e-3, 0.1, 0.75, 1.5)]
    far = [
        100.0,
        1e3,
        2048.0,
        3000.0,
        largest_finite(dtype),
        math.inf,
        math.nan,
        0.0,
        1.0,
        float(least),
        1e-30,
    ]
    values = np.array([round_to(dtype, x) for x in (*near, *far, *(-f for f in far))], to_numpy(dtype))
    (found,) = computed([elementary.exp(storage.keep(values))])
    wanted = evaluate(elementary.exp(param(0, dtype, values.shape)), {0: values})
    pairs = zip(Array.from_numpy(found).elements, wanted.elements, strict=True)
    assert all(same_value(dtype, a, b) for a, b in pairs)
    results = [float(x) for x in wanted.elements]
    assert {math.inf, 0.0, 1.0} <= set(results)
    smallest_normal = float(from_bits(dtype, 1 << dtype.mantissa_bits))
    assert sum(0 < x < smallest_normal for x in results) >= 8, "no subnormal is flushed to zero"
    exact = [math.exp(float(x)) if x < 709 else math.inf for x in values.astype(np.float64)]
    for x, r, e in zip(values, results, exact, strict=True):
        if 0 < e < largest_finite(dtype) * 0.9:
            assert abs(r - e) <= max(float(least), e * 2.0**-dtype.mantissa_bits), x


@pytest.mark.parametrize("dtype", ieee_floats, ids=repr)
def test_exp2_has_every_power_of_two(dtype: DType) -> None:
    lowest = math.frexp(float(from_bits(dtype, 1)))[1] - 1
    highest = math.frexp(largest_finite(dtype))[1] - 1
    powers = [*range(lowest - 2, highest + 3)]
    (found,) = computed([Op.Exp2(kept([float(p) for p in powers], dtype))])
    for p, cell in zip(powers, Array.from_numpy(found).elements, strict=True):
        wanted = math.inf if p > highest else 0.0 if p < lowest else math.ldexp(1.0, p)
        assert same_value(dtype, scalar(Op.Exp2, dtype, float(p)), cell), p
        assert cell == wanted, p


def wrapped(op: Op, *operands: int) -> int:
    """A whole operation at uint8 by the scalar law."""
    return int(scalar(op, uint8, *operands))


PROMOTED: dict[str, tuple[Callable[..., UOp], Callable[[int, int], int | bool]]] = {
    # What C computes in int is cut to its own width before anything else reads it.
    "half a sum": (
        lambda a, b: Op.Idiv(Op.Add(a, b), const_like(a, 2)),
        lambda a, b: wrapped(Op.Add, a, b) // 2,
    ),
    "high bits of a product": (
        lambda a, b: Op.Shr(Op.Mul(a, b), const_like(a, 3)),
        lambda a, b: wrapped(Op.Mul, a, b) >> 3,
    ),
    "order of a difference": (
        lambda a, b: Op.CmpLt(Op.Sub(a, b), a),
        lambda a, b: wrapped(Op.Sub, a, b) < a,
    ),
    "remainder of a negation": (
        lambda a, b: Op.Mod(Op.Neg(a), Op.Max(b, const_like(b, 1))),
        lambda a, b: wrapped(Op.Neg, a) % max(b, 1),
    ),
    "shifted up and down": (
        lambda a, b: Op.Shr(Op.Shl(a, b), b),
        lambda a, b: wrapped(Op.Shr, wrapped(Op.Shl, a, b), b),
    ),
    "widened product": (
        lambda a, b: Op.Cast(Op.Mul(a, b), arg=int32),
        lambda a, b: wrapped(Op.Mul, a, b),
    ),
    "sum of a product": (
        lambda a, b: Op.CmpEq(Op.Mulacc(a, b, a), Op.Mul(a, Op.Add(b, const_like(b, 1)))),
        lambda a, b: True,
    ),
}


def const_like(x: UOp, value: int) -> UOp:
    return broadcast_to(const(value, x.dtype), x.shape or ())


def test_every_pair_of_bytes_wraps_before_it_is_read() -> None:
    pairs = [(a, b) for a in range(256) for b in range(256)]
    left, right = (kept([p[k] for p in pairs], uint8) for k in (0, 1))
    roots = [build(left, right) for build, _ in PROMOTED.values()]
    for (name, (_, expect)), found in zip(PROMOTED.items(), computed(roots), strict=True):
        assert found.tolist() == [expect(a, b) for a, b in pairs], name


def test_products_of_16_bits_do_not_overflow_int() -> None:
    values = [1, 2, 255, 256, 32767, 32768, 46340, 46341, 65521, 65534, 65535]
    pairs = [(a, b) for a in values for b in values]
    assert any(a * b >= 1 << 31 for a, b in pairs), "int is too narrow for some product"
    left, right = (kept([p[k] for p in pairs], uint16) for k in (0, 1))
    third = Op.Idiv(Op.Mul(left, right), const_like(left, 3))
    products, thirds = computed([Op.Mul(left, right), third])
    assert products.tolist() == [scalar(Op.Mul, uint16, a, b) for a, b in pairs]
    assert thirds.tolist() == [a * b % 65536 // 3 for a, b in pairs]


@pytest.mark.parametrize("dtype", ieee_floats, ids=repr)
def test_transcendentals_on_special_values(dtype: DType) -> None:
    values = specials(dtype)
    x = kept(values, dtype)
    roots = [Op.Exp2(x), Op.Log2(x)]
    for root, found in zip(roots, computed(roots), strict=True):
        check(root, [(v,) for v in values], lambda v, op=root.op: scalar(op, dtype, v), found)


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
def test_every_pattern_of_a_narrow_float_widens_and_comes_back(dtype: DType) -> None:
    patterns = np.arange(1 << dtype.bits, dtype=f"uint{dtype.bits}")
    narrow = patterns.view(to_numpy(dtype))
    wide = Tensor(narrow).cast(float32)
    np.testing.assert_array_equal(wide.numpy(), narrow.astype(np.float32))
    back = wide.cast(dtype).numpy()
    real = ~np.isnan(narrow.astype(np.float32))
    np.testing.assert_array_equal(back.view(patterns.dtype)[real], patterns[real])
    canonical = to_bits(dtype, math.nan)
    assert set(back.view(patterns.dtype)[~real].tolist()) == {canonical}


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
@pytest.mark.parametrize("source", [float64, float32, int64, uint64], ids=repr)
def test_one_rounding_beside_every_tie(source: DType, dtype: DType) -> None:
    """Values at, just above and just below the midpoints of a narrow format: a second rounding would move them."""
    step = max(1, (1 << (dtype.bits - 1)) // 300)
    values: set[object] = set()
    for pattern in range(0, to_bits(dtype, dtype.max) - 1, step):
        low, high = (Fraction(float(from_bits(dtype, pattern + k))) for k in (0, 1))
        if not math.isfinite(float(high)):
            continue
        for nudge in (0, 1, -1):
            middle = (low + high) / 2
            exact = middle + nudge * middle / 2**40
            if source.is_float:
                values.add(round_to(source, exact))
            elif source.min <= round(exact) <= source.max and round(exact) != 0:
                values.update((round(exact), round(middle) + nudge))
    inside = [v for v in values if source.is_float or source.min <= v <= source.max]
    if source.is_int:
        inside += [(1 << 62) + (1 << k) + d for k in range(50, 62) for d in (-1, 0, 1)]
    root = Op.Cast(kept(inside, source), arg=dtype)
    check(root, [(v,) for v in inside], lambda v: scalar(Op.Cast, source, v, arg=dtype), computed([root])[0])


@pytest.mark.parametrize("dtype", [float8_e4m3fn, float8_e5m2], ids=repr)
@pytest.mark.parametrize("op", [Op.Add, Op.Mul, Op.Div, Op.Max], ids=lambda op: op.name)
def test_all_pairs_of_the_8_bit_floats(op: Op, dtype: DType) -> None:
    every = np.arange(256, dtype=np.uint8).view(to_numpy(dtype))
    a, b = np.repeat(every, 256), np.tile(every, 256)
    (found,) = computed([UOp(op, (storage.keep(a), storage.keep(b)))])
    wide = {
        Op.Add: np.add,
        Op.Mul: np.multiply,
        Op.Div: np.divide,
        Op.Max: np.maximum,
    }[op]
    with np.errstate(all="ignore"):
        expected = wide(a.astype(np.float64), b.astype(np.float64)).astype(to_numpy(dtype))
    if op is Op.Max:  # numpy does not order the zeros
        zeros = (a == 0) & (b == 0)
        expected[zeros] = np.add(a[zeros].astype(np.float32), b[zeros].astype(np.float32)).astype(
            expected.dtype
        )
    nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), nan)
    np.testing.assert_array_equal(found.view(np.uint8)[~nan], expected.view(np.uint8)[~nan])


def test_float16_arithmetic_rounds_once() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 1 << 16, 20_000, dtype=np.uint16).view(np.float16) for _ in range(2))
    x, y = Tensor(a), Tensor(b)
    with np.errstate(all="ignore"):
        wide = [np.add, np.multiply, np.divide]
        expected = [f(a.astype(np.float64), b.astype(np.float64)).astype(np.float16) for f in wide]
    for found, wanted in zip((x + y, x * y, x / y), expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_bfloat16_products_do_not_round_twice() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 1 << 16, 3000, dtype=np.uint16).view(ml_dtypes.bfloat16) for _ in range(2))
    found = (Tensor(a) * Tensor(b)).numpy()
    for x, y, z in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        assert same_value(bfloat16, scalar(Op.Mul, bfloat16, x, y), z)


# Literals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", VALUE_DTYPES, ids=repr)
def test_literals_are_the_value(dtype: DType) -> None:
    values = specials(dtype)
    cells = [const(v, dtype) for v in values]
    (found,) = computed([Op.Stack(*cells)])
    for wanted, cell in zip(values, Array.from_numpy(found).elements, strict=True):
        assert same_value(dtype, wanted, cell)


def test_index_literals_beyond_32_bits_are_marked() -> None:
    c = Expressions(Helpers())
    assert c.literal(1 << 40, index) == f"INT64_C({1 << 40})"
    assert c.literal(-5, index) == "(-5)"


def numbered(function: UOp) -> UOp:
    """A function whose arguments are numbered from 0."""
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    return Op.Function(function.src[0], *fresh)


# The text ---------------------------------------------------------------------------------------------------------


def source_of(*tensors: Tensor) -> str:
    function = callify([t.uop for t in tensors])
    return lower(function, "exact").source


def test_a_program_holds_only_the_helpers_that_it_calls() -> None:
    plain = source_of(Tensor(np.ones(3, np.float32)) + 1)
    assert "sl_" not in plain
    narrow = source_of(Tensor(np.ones(3, np.float16)) + 1)
    assert "sl_round_f16" in narrow
    assert "sl_round_bf16" not in narrow
    vectors = source_of(Tensor(np.ones(64, np.float32)).maximum(0.0))
    assert "sl_max_f32x" in vectors
    assert "sl_max_f32(" not in vectors


def every_helper() -> list[Helper]:
    """What a program can ask for, of vectors some."""
    found = [*NAMED.values(), QUESTION, streams.FETCH]
    for lane, width in ((f"{k}{b}", 512 // b // n) for k in "fui" for b in (32, 64) for n in (1, 2)):
        bits = int(lane[1:])
        found += [vector_helpers.fill(width), masks.mask(bits, width), masks.every(bits, width)]
        of_all = (
            vector_helpers.vector,
            vector_helpers.loose,
            vector_helpers.maximum,
            masks.choice,
            streams.stream,
        )
        found += [helper(lane, width) for helper in of_all]
        found += [masks.comparison(op, lane, width) for op in COMPARISONS]
        if lane[0] == "f":
            found += [vector_helpers.fused(lane, width), vector_helpers.bits(lane, width)]
        if lane[0] == "u":
            found.append(transpositions.transposing(lane, width))
    return found


def asked(*wanted: Helper | str) -> str:
    """The text for what is asked for, and no more."""
    use = Helpers()
    for helper in wanted:
        use(helper)
    return use.text()


OWN_NAME = re.compile(r"\b(?:sl_\w+|SL_\w+|[fuim](?:32|64)x\d+u?)\b")
DECLARED = re.compile(
    r"^(?:static (?:inline )?\w+|typedef [^;{]*?|#define) ?\b(\w+)(?= __attribute__|;|\(|$)", re.MULTILINE
)


def test_each_helper_comes_with_what_it_needs_and_after_it() -> None:
    for helper in every_helper():
        text = asked(helper)
        declared = {m[1]: m.start(1) for m in reversed(list(DECLARED.finditer(text)))}
        for mention in OWN_NAME.finditer(text):
            if mention[0] not in ("SL_NONE", "SL_MASKS", "SL_ELEMENTWISE_FMA"):
                assert declared.get(mention[0], len(text)) <= mention.start(), (helper.name, mention[0])


def test_helpers_are_declared_once_in_an_order_of_their_own() -> None:
    every = every_helper()
    text = asked(*every)
    defined = re.findall(r"^static inline \w+ (sl_\w+)\(", text, re.MULTILINE)
    assert len(defined) == len(set(defined))
    assert text == asked(*reversed(every), *every)
    assert set(re.findall(r"\b(sl_\w+)\(", text)) <= {*defined, "sl_go_on"}
    assert asked() == ""


def test_every_elementwise_op_of_a_linear_program_has_a_form_or_is_refused() -> None:
    assert {Op.Add, Op.CDiv, Op.Bitcast, Op.Where, Op.Sqrt} <= set(RENDER)
    r = loop(2, 0)
    threefry = Op.Threefry(const(1, uint64), const(2, uint64))
    store = Op.Store(Op.Index(buffer(0, 2, uint64), r), threefry)
    with pytest.raises(CompileError):
        render(Op.Linear(Op.Linear(threefry, r, store, Op.End(store, r))))


def test_indices_that_fit_are_32_bits_wide_and_others_64() -> None:
    small = source_of(Tensor(np.ones((3, 5), np.float32)).T.contiguous())
    assert "typedef int32_t idx;" in small
    r = loop(1 << 33, 0)
    store = Op.Store(Op.Index(buffer(0, 1 << 33, int32), r), const(0, int32))
    assert "typedef int64_t idx;" in render(Op.Linear(Op.Linear(r, store, Op.End(store, r))))


# Undefined behaviour ----------------------------------------------------------------------------------------------

SANITIZE = (
    "-fsanitize=undefined,float-cast-overflow,address",
    "-fno-sanitize-recover=all",
    "-O1",
    "-g",
    "-w",
    "-std=c11",
)


def sanitized(
    source: str, arrays: list[np.ndarray], folder: Path, *flags: str
) -> subprocess.CompletedProcess[str]:
    """Build a program with a main that runs it on these arrays, under the sanitizer, and run it."""
    rows = []
    for k, array in enumerate(arrays):
        data = ",".join(str(b) for b in array.tobytes()) or "0"
        rows.append(f"static _Alignas(64) unsigned char data_{k}[] = {{{data}}};")
    slots = ", ".join(f"data_{k}" for k in range(len(arrays)))
    walk = f"for (uint32_t k = 0; k < {COMMANDS}[0]; k++) {ENTRY}(slot, k, 0, 1);"
    main = f"int main(void) {{ void *slot[] = {{{slots}}}; {walk} return 0; }}\n"
    (folder / "program.c").write_text(source + "\n".join(rows) + "\n" + main, encoding="utf-8")
    command = (*find_compiler().command, *SANITIZE, *flags, "program.c", "-o", "program", "-lm")
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    environment = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=0"}
    environment.pop("LD_PRELOAD", None)
    return subprocess.run(
        ["./program"], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def can_sanitize(folder: Path) -> bool:
    """Whether this machine's compiler has the sanitizer's run-time library."""
    (folder / "probe.c").write_text("int main(void) { return 0; }", encoding="utf-8")
    command = (*find_compiler().command, *SANITIZE, "probe.c", "-o", "probe")
    built = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return built.returncode == 0 and subprocess.run(["./probe"], cwd=folder, check=False).returncode == 0


def everything(dtype: DType) -> tuple[str, list[np.ndarray]]:
    """A program of all ops and casts on all pairs of special values, and its arrays."""
    values = specials(dtype)
    pairs = [(a, b) for a in values for b in values]
    left, right = (kept([p[k] for p in pairs], dtype) for k in (0, 1))
    roots = [UOp(op, (left, right)) for op in BINARY[kind(dtype)]]
    roots += [UOp(op, (left,)) for op in UNARY[kind(dtype)]]
    roots += [Op.Cast(left, arg=t) for t in VALUE_DTYPES]
    roots += [Op.Exp2(left), Op.Log2(left)] if dtype in ieee_floats else []
    function = callify(roots)
    lowered = lower(numbered(function), "exact")
    inputs = [storage.contents(b) for b in function.src[1:]]
    outputs = [np.zeros(len(pairs), to_numpy(r.dtype)) for r in roots]
    return lowered.source, [*inputs, *outputs, np.zeros(1 << 14, np.uint8)]


@pytest.mark.parametrize("dtype", one_in(3, [*ints, float32, float16]), ids=repr)
def test_no_undefined_behaviour_on_special_values(dtype: DType, tmp_path: Path) -> None:
    assert can_sanitize(tmp_path), (
        "the C compiler lacks -fsanitize=undefined,address (install libubsan and libasan)"
    )
    done = sanitized(*everything(dtype), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("call", "breach"),
    [
        (
            "sl_idiv_i32",
            "static inline int32_t sl_idiv_i32(int32_t a, int32_t b) {\n    if (b == 0) return 0;",
        ),
        ("sl_idiv_i32", "    if (b == -1) return (int32_t)(0u - (uint32_t)a);\n    return (int32_t)(a / b"),
    ],
)
def test_the_sanitizer_sees_a_helper_without_its_guard(call: str, breach: str, tmp_path: Path) -> None:
    source, arrays = everything(int32)
    assert breach in source
    kept_part = breach.split("\n")
    weaker = source.replace(breach, "\n".join(line for line in kept_part if "if (b ==" not in line))
    assert call in weaker
    done = sanitized(weaker, arrays, tmp_path)
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("dtype", "guarded", "plain", "breach"),
    [
        # A cast to uint16_t around the product would let the compiler multiply at that width, without overflow.
        (uint16, "((uint32_t)v0 * (uint32_t)v1)", "((int32_t){v0 * v1})", "signed integer overflow"),
        (int16, "((uint32_t)v0 << (uint16_t)v1)", "(v0 << (uint16_t)v1)", "left shift"),
        (int32, "((uint32_t)v0 + (uint32_t)v1)", "(v0 + v1)", "signed integer overflow"),
    ],
)
def test_the_sanitizer_sees_what_c_would_promote_to_int(
    dtype: DType, guarded: str, plain: str, breach: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common_subexpressions, "VECTOR_DTYPES", ())  # one by one
    lower.cache_clear()
    source, arrays = everything(dtype)
    lower.cache_clear()
    assert guarded in source
    done = sanitized(source.replace(guarded, plain), arrays, tmp_path)
    assert done.returncode != 0
    assert breach in done.stderr


def test_gated_loads_do_not_touch_what_lies_outside(tmp_path: Path) -> None:
    x = Tensor(np.arange(5, dtype=np.float32))
    function = callify([x.pad((100_000, 100_000)).sum().uop])
    lowered = lower(numbered(function), "exact")
    library = cpu.build(lowered.source)
    out, arena = np.zeros(1, np.float32), np.zeros(1 << 22, np.uint8)
    library.run([np.arange(5, dtype=np.float32), out, arena])
    assert out[0] == 10.0


def included(text: str) -> set[str]:
    return set(re.findall(r"#include <(\w+)\.h>", text))


def test_a_program_includes_what_it_uses_and_no_more() -> None:
    used = {
        "math": ("INFINITY", "NAN", "sqrtf", "trunc"),
        "stdbool": ("bool", "true"),
        "string": ("memcpy", "sl_bits_f32"),
    }
    for header, names in used.items():
        for name in names:
            assert included(asked(name)) == {header}, name
    assert included(asked("sl_to_f16")) == {"math", "string"}
    assert included(asked("sl_idiv_i32")) == set()
    assert included(source_of(Tensor(np.ones(3, np.float32)) + 1)) == {"stdint"}
    assert included(source_of(Tensor(np.ones(3, np.float32)).sqrt())) == {"stdint", "math"}
    bools = numbered(callify([(Tensor(np.ones(3, np.bool_)) & Tensor(np.ones(3, np.bool_))).uop]))
    assert included(lower(bools, "exact").source) == {"stdint", "stdbool"}
    use = Helpers()
    use.every_header()
    assert included(use.text()) == {"fenv", "stdint", *used}


def test_no_name_of_a_header_is_used_without_it(tmp_path: Path) -> None:
    """Each helper by itself with what it needs: nothing in them is declared by guess."""
    compiler = find_compiler()
    flags = [f for f in compiler.flags if f != "-w"]
    strict = ["-Werror=implicit-function-declaration", "-Werror=implicit-int", "-fsyntax-only"]
    texts = {
        asked(h, "stdint")
        for h in every_helper()
        if h.name[:6] not in ("sl_ge_", "sl_le_", "sl_ne_", "sl_gt_")
    }
    for number, text in enumerate(sorted(texts)):
        source = tmp_path / f"helper{number}.c"
        source.write_text(text, encoding="utf-8")
        command = [*compiler.command, *flags, *strict, str(source)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", [float32, float64, bfloat16, int32], ids=str)
def test_no_program_calls_what_is_not_declared(dtype: DType, tmp_path: Path) -> None:
    """The compiler is told to be silent, so it would guess without a word."""
    places = [storage.placeholder(dtype, (24,)) for _ in range(2)]
    a, b = (Tensor.of(value) for _, value in places)
    made = [a + b, a / b, (a < b).where(a, b), a.maximum(b), a.sum(0), a.cumsum(0)]
    if dtype.is_int:
        made += [a // b, a % b]
    else:
        made += [a.sqrt(), a.exp(), a.sin(), a.trunc(), a.floor(), a.round(), a.isnan().cast(dtype)]
    function = numbered(callify([m.uop for m in made], [place for place, _ in places]))
    source = lower(function, "exact").source
    path = tmp_path / "program.c"
    path.write_text(source, encoding="utf-8")
    compiler = find_compiler()
    flags = [f for f in compiler.flags if f != "-w"]
    strict = ["-Werror=implicit-function-declaration", "-Werror=implicit-int", "-fsyntax-only"]
    command = [*compiler.command, *flags, *strict, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = subprocess.run(
        [*command[: -len(strict) - 1], *strict, "-x", "c", "-"],
        input=re.sub(r"#include <math.h>\n", "", source),
        check=False,
        capture_output=True,
        text=True,
    )
    assert (found.returncode != 0) == ("<math.h>" in source)
