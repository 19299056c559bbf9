"""The float laws against Berkeley SoftFloat 3e, operation by operation, on directed and random operands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from soundline.spec.dtypes import (
    DType,
    Element,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_bits,
    int32,
    int64,
    same_value,
    to_bits,
    uint32,
    uint64,
)
from soundline.spec.ops.table import Op
from soundline.spec.values.elementwise import scalar

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from float_cases import Counts, Operands, directed, drawn, families, pairs, truncates_into, whole_numbers
from representative import of_each_family

WITH_SOFTFLOAT = sys.version_info < (3, 14)
if WITH_SOFTFLOAT:
    import softfloatpy
needs_softfloat = pytest.mark.skipif(
    not WITH_SOFTFLOAT, reason="softfloatpy has no wheel for Python 3.14 and later"
)

KINDS = {
    float16: ("f16", "Float16"),
    float32: ("f32", "Float32"),
    float64: ("f64", "Float64"),
    bfloat16: ("bf16", "BFloat16"),
    int32: ("i32", "Int32"),
    int64: ("i64", "Int64"),
    uint32: ("ui32", "UInt32"),
    uint64: ("ui64", "UInt64"),
}
FLOATS = (float16, float32, float64)
WHOLE = (int32, int64, uint32, uint64)
BINARY = {Op.Add: "add", Op.Sub: "sub", Op.Mul: "mul", Op.Div: "div"}
COMPARISONS = {Op.CmpLt: "lt_quiet", Op.CmpLe: "le_quiet", Op.CmpEq: "eq"}
TURNED = {Op.CmpGt: Op.CmpLt, Op.CmpGe: Op.CmpLe}


def given(dtype: DType, x: Element) -> object:
    """An element as SoftFloat takes it."""
    kind = getattr(softfloatpy, KINDS[dtype][1])
    return kind.from_bytes(to_bits(dtype, x).to_bytes(dtype.itemsize, "big"))


def taken(dtype: DType, x: object) -> Element:
    """What SoftFloat gives as an element."""
    if dtype is bool_:
        return bool(x)
    return from_bits(dtype, int.from_bytes(x.to_bytes(), "big"))  # type: ignore[attr-defined]


def soft(dtype: DType, name: str, *operands: Element, result: DType | None = None) -> Element:
    """An operation of SoftFloat on elements of one dtype."""
    function = getattr(softfloatpy, f"{KINDS[dtype][0]}_{name}")
    return taken(result or dtype, function(*(given(dtype, x) for x in operands)))


def truncated(dtype: DType, x: Element) -> Element:
    """Rounding to an integer, toward zero."""
    function = getattr(softfloatpy, f"{KINDS[dtype][0]}_round_to_int")
    return taken(dtype, function(given(dtype, x), softfloatpy.RoundingMode.MIN_MAG))


def converted(source: DType, target: DType, x: Element) -> Element:
    """A conversion; toward zero where it leaves the floats."""
    function = getattr(softfloatpy, f"{KINDS[source][0]}_to_{KINDS[target][0]}")
    toward_zero = (softfloatpy.RoundingMode.MIN_MAG,) if source.is_float and target in WHOLE else ()
    return taken(target, function(given(source, x), *toward_zero))


@dataclass(frozen=True)
class Suite:
    """One op at one dtype: its operands, what SoftFloat says of them, and where the laws differ on purpose."""

    op: Op
    dtype: DType
    theirs: Callable[..., Element]
    operands: Callable[[], Iterator[Operands]]
    target: DType | None = None

    @property
    def name(self) -> str:
        return f"{self.op.name} {self.dtype}" + (f" to {self.target}" if self.target else "")

    def applies(self, operands: Operands) -> bool:
        """An integer that does not fit is whatever the processor makes of it in SoftFloat, and decided in U-13."""
        if self.op is Op.Cast and self.dtype.is_float and self.target in WHOLE:
            return truncates_into(float(operands[0]), self.target)
        return True

    def counts(self) -> Counts:
        found = [self.applies(o) for o in self.operands()]
        return Counts(sum(found), len(found) - sum(found))


def _one(dtype: DType, count: int) -> Iterator[Operands]:
    return ((x,) for x in [*directed(dtype), *drawn(dtype, count, 4)])


def _three(dtype: DType, count: int) -> Iterator[Operands]:
    few = directed(dtype)[::5]
    yield from ((a, b, c) for a in few for b in few for c in few)
    yield from zip(*(drawn(dtype, count, seed) for seed in (5, 6, 7)), strict=True)


def _near_sums(dtype: DType, count: int) -> Iterator[Operands]:
    """Addends that cancel a rounded product, where a fused operation gives something else."""
    for a, b in zip(drawn(dtype, count, 8), drawn(dtype, count, 9), strict=True):
        yield a, b, scalar(Op.Neg, dtype, scalar(Op.Mul, dtype, a, b))


def suites() -> list[Suite]:
    """Every comparison."""
    found = []
    for d in FLOATS:
        two = lambda d=d: pairs(d, 600)  # noqa: E731
        one = lambda d=d: _one(d, 2000)  # noqa: E731
        for op, name in BINARY.items():
            found.append(Suite(op, d, lambda a, b, d=d, n=name: soft(d, n, a, b), two))
        for op, name in COMPARISONS.items():
            found.append(Suite(op, d, lambda a, b, d=d, n=name: soft(d, n, a, b, result=bool_), two))
        for op, turned in TURNED.items():
            name = COMPARISONS[turned]
            found.append(Suite(op, d, lambda a, b, d=d, n=name: soft(d, n, b, a, result=bool_), two))
        found.append(Suite(Op.CmpNe, d, lambda a, b, d=d: not soft(d, "eq", a, b, result=bool_), two))
        found.append(Suite(Op.Sqrt, d, lambda x, d=d: soft(d, "sqrt", x), one))
        found.append(Suite(Op.Recip, d, lambda x, d=d: soft(d, "div", 1.0, x), one))
        found.append(Suite(Op.Neg, d, lambda x, d=d: soft(d, "neg", x), one))
        found.append(Suite(Op.Trunc, d, lambda x, d=d: truncated(d, x), one))
        two_roundings = lambda a, b, c, d=d: soft(d, "add", soft(d, "mul", a, b), c)  # noqa: E731
        found.append(Suite(Op.Mulacc, d, two_roundings, lambda d=d: _three(d, 500)))
        found.append(Suite(Op.Mulacc, d, two_roundings, lambda d=d: _near_sums(d, 500)))
    return found + list(_casts())


def _casts() -> Iterator[Suite]:
    between = [(s, t) for s in FLOATS for t in (*FLOATS, *WHOLE) if s is not t]
    for s, t in [*between, (float32, bfloat16), (bfloat16, float32)]:
        theirs = lambda x, s=s, t=t: converted(s, t, x)  # noqa: E731
        yield Suite(Op.Cast, s, theirs, lambda s=s: _one(s, 2000), t)
    for s in WHOLE:
        for t in FLOATS:
            theirs = lambda x, s=s, t=t: converted(s, t, x)  # noqa: E731
            yield Suite(Op.Cast, s, theirs, lambda s=s: ((n,) for n in whole_numbers(s, 500)), t)


PARAMETERS = of_each_family(
    [pytest.param(suite, id=suite.name) for suite in suites()], lambda suite: families(suite.name)
)
"""Each op, each dtype of operands, and each dtype to cast from and to, is in `make test`."""


@needs_softfloat
@pytest.mark.parametrize("suite", PARAMETERS)
def test_the_law_is_that_of_softfloat(suite: Suite) -> None:
    compared = 0
    result = suite.target or (bool_ if suite.op in (*COMPARISONS, *TURNED, Op.CmpNe) else suite.dtype)
    for operands in suite.operands():
        if suite.applies(operands):
            found, wanted = (
                scalar(suite.op, suite.dtype, *operands, arg=suite.target),
                suite.theirs(*operands),
            )
            assert type(found) is type(wanted), operands
            assert same_value(result, found, wanted), (operands, found, wanted)
            compared += 1
    assert compared == suite.counts().compared > 0


@needs_softfloat
def test_the_comparison_sees_an_error_of_one_bit() -> None:
    """Of a rounding that is one step off, and of a fused multiplication and addition."""
    ulp = 2.0**-23
    assert soft(float32, "mul", 1 + ulp, 1 + ulp) == 1 + 2 * ulp != 1 + 3 * ulp
    assert soft(float32, "mul_add", 1 + ulp, 1 + ulp, -(1 + 2 * ulp)) == ulp * ulp
    assert scalar(Op.Mulacc, float32, 1 + ulp, 1 + ulp, -(1 + 2 * ulp)) == 0.0


def counts() -> Counts:
    """The cases of all suites."""
    each = [suite.counts() for suite in suites()]
    return Counts(sum(c.compared for c in each), sum(c.not_applicable for c in each))
