"""The op table in words, each clause beside what computes it.

The laws of the five properties are computed here from their text, on every node that the tests of these properties
have. The meanings are quoted clause by clause beside the test that computes them. No clause of the table is left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from tests.unit import test_bounds, test_derived_props
from tests.unit.sentences import clauses, evidence, stands

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    from_bits,
    index,
    int8,
    int32,
    round_to,
    same_value,
    uint8,
    void,
    zero_of,
)
from soundline.spec.errors import IllFormed
from soundline.spec.ops.bounds import Bounds, dtype_range, greatest, hull, least, min_max
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import param
from soundline.spec.values.elementwise import scalar


def same(a: Any, b: Any, dtype: DType) -> bool:
    return same_value(dtype, a, b)


ROWS = {name: row[0] for name, row in test_derived_props.ROWS.items()}


def several(node: UOp) -> bool:
    return isinstance(node.device, tuple)


def shared(found: list[Any]) -> Any:
    """The one thing other than None among some."""
    known = {x for x in found if x is not None}
    assert len(known) <= 1
    return next(iter(known), None)


def element(node: UOp) -> UOp:
    """The element that a GetTuple takes, before substitution."""
    inner = node.src[0]
    return (inner if inner.op is Op.Tuple else inner.src[0]).src[node.arg]


def moved(node: UOp) -> Any:
    """The shard axis of an Index: that of T, less the axes before it that went, or that of a sharded index."""
    at = node.src[0].axis
    for k, i in enumerate(node.src[1:]):
        if i.axis is not None:
            return sum(j.shape != () for j in node.src[1 : k + 1])
    return at if at is None else at - sum(i.shape == () for i in node.src[1:][:at])


def boundary(node: UOp) -> Any:
    """The shard axis of a Reshape by the law as it is written."""
    x, n = node.src[0], len(node.device) if isinstance(node.device, tuple) else 1
    if x.axis is None:
        return None
    before = math.prod(x.shape[: x.axis])
    fits = [
        k for k, s in enumerate(node.shape) if math.prod(node.shape[:k]) == before and s % n == 0 and s * n
    ] or [k for k, s in enumerate(node.shape) if math.prod(node.shape[:k]) == before and s % n == 0]
    if n == 1 or 0 in node.shape:
        alike = [k for k in fits if node.shape[k] == x.shape[x.axis]]
        return alike[0] if alike else fits[-1]
    return fits[-1] if len(fits) > 1 else fits[0]


AGREED_DEVICE = "the one non-null device that all sources agree on (U-29)"
AGREED_AXIS = "the one non-null axis that all sources agree on (U-29)"
IN_THE_ELEMENT = "of the element, with the arguments substituted"

DTYPES: dict[str, Callable[[UOp], Any]] = {
    "from arg": lambda n: n.arg if isinstance(n.arg, DType) else n.arg.dtype,
    "uint8": lambda n: uint8,
    "src[0].dtype": lambda n: n.src[0].dtype,
    "src[0].dtype; index for the empty Stack": lambda n: n.src[0].dtype if n.src else index,
    "void": lambda n: void,
    "of the element": lambda n: element(n).dtype,
    "bool": lambda n: bool_,
    "src[1].dtype": lambda n: n.src[1].dtype,
    "index": lambda n: index,
    "src[2].dtype": lambda n: n.src[2].dtype,
}
SHAPES: dict[str, Callable[[UOp], Any]] = {
    "()": lambda n: (),
    "none": lambda n: None,
    "(n·size,) on an n-tuple device, else (size,)": lambda n: (
        n.arg.size * (len(n.device) if several(n) else 1),
    ),
    "(len(data),)": lambda n: (len(n.arg),),
    "(len(bytes),)": lambda n: (len(n.arg),),
    "s'[k] = s[π[k]]": lambda n: tuple(n.src[0].shape[k] for k in n.arg),
    "src[0].shape": lambda n: n.src[0].shape,
    "src[2].shape": lambda n: n.src[2].shape,
    "the shapes of the indices, then the axes that were not indexed": lambda n: (
        *(s for i in n.src[1:] for s in i.shape),
        *n.src[0].shape[len(n.src) - 1 :],
    ),
    "(number of sources, *src[0].shape); (0,) for the empty Stack": lambda n: (
        (len(n.src), *n.src[0].shape) if n.src else (0,)
    ),
    "s with 1 on axes": lambda n: tuple(
        1 if k in getattr(n.arg, "axes", n.arg) else s for k, s in enumerate(n.src[0].shape)
    ),
    "(size,)": lambda n: (n.arg.size,),
    "s with the last axis scaled": lambda n: (
        *n.src[0].shape[:-1],
        n.src[0].shape[-1] * n.src[0].dtype.bits // n.dtype.bits,
    ),
    IN_THE_ELEMENT: lambda n: element(n).shape,
    "the shape that all sources share": lambda n: shared([s.shape for s in n.src]),
}
DEVICES: dict[str, Callable[[UOp], Any]] = {
    "from arg": lambda n: n.arg.device,
    "null": lambda n: None,
    "src[0].device": lambda n: n.src[0].device,
    AGREED_DEVICE: lambda n: shared([s.device for s in n.src]),
    "the device that all sources share, else null": lambda n: shared([s.device for s in n.src]),
    IN_THE_ELEMENT: lambda n: element(n).device,
    f"from arg, else {AGREED_DEVICE}": lambda n: (
        n.arg.device if n.arg is not None and n.arg.device is not None else shared([s.device for s in n.src])
    ),
    "src[0].device; the other sources are there too": lambda n: n.src[0].device,
}
AXES: dict[str, Callable[[UOp], Any]] = {
    "from arg": lambda n: n.arg.axis,
    "null": lambda n: None,
    "none": lambda n: None,
    "0 on an n-tuple device, else null": lambda n: 0 if several(n) else None,
    "the k with π[k] = src[0].axis": lambda n: (
        n.arg.index(n.src[0].axis) if n.src[0].axis is not None else None
    ),
    "src[0].axis": lambda n: n.src[0].axis,
    "the new axis with the same product of sizes before it, and a size that n divides; of several (one device, or no "
    "elements) the first of the same size, else the last": boundary,
    "of T, shifted left by the axes that were removed before it, or the axis that a sharded index makes; there is at "
    "most one": moved,
    "the one non-null axis of the sources, plus 1": lambda n: (
        None if (at := shared([s.axis for s in n.src])) is None else at + 1
    ),
    "null if the shard axis is in axes": lambda n: None if n.src[0].axis in n.arg else n.src[0].axis,
    "null if the shard axis is reduced": lambda n: None if n.src[0].axis in n.arg.axes else n.src[0].axis,
    IN_THE_ELEMENT: lambda n: element(n).axis,
    AGREED_AXIS: lambda n: shared([s.axis for s in n.src]),
    "0 where arg names an n-tuple device, null where it names one device, else the one non-null axis of the sources": (
        lambda n: (
            shared([s.axis for s in n.src])
            if n.arg is None or n.arg.device is None
            else 0
            if isinstance(n.arg.device, tuple)
            else None
        )
    ),
    "none; what is written has the axis of src[0], or null": lambda n: None,
}
# What the shape is "from", or is called, is a source of sizes: their values.
FROM_SIZES = {"from src[0]": 0, "s'": -1}
WRITTEN = {"dtype": DTYPES, "shape": SHAPES, "device": DEVICES, "axis": AXES}


def sizes_of(source: UOp) -> tuple[Any, ...]:
    return tuple(s.arg.value if s.op is Op.Const else s for s in source.src)


def test_the_laws_that_are_computed_are_those_of_the_table() -> None:
    for prop, texts in WRITTEN.items():
        used = {e.laws[prop] for e in TABLE.values()}
        assert used == set(texts) | (set(FROM_SIZES) if prop == "shape" else set())
    assert {e.laws["min_max"] for e in TABLE.values()} == set(INTERVALS)


@pytest.mark.parametrize("prop", WRITTEN)
def test_a_property_is_what_its_law_says(prop: str) -> None:
    reached = set()
    for name, build in ROWS.items():
        node = build()
        text = TABLE[node.op].laws[prop]
        reached.add(node.op)
        if text in FROM_SIZES:
            if name != "Param n·2":  # the sum of two sizes, which only arithmetic makes a number
                wanted: Any = sizes_of(node.src[FROM_SIZES[text]])
                assert node.shape == wanted, name
        elif not (node.op is Op.GetTuple and node.src[0].op is not Op.Tuple):
            assert getattr(node, prop) == WRITTEN[prop][text](node), (name, text)
    assert reached == set(TABLE)


# The intervals ----------------------------------------------------------------------------------------------------


def known(*sources: UOp) -> list[Bounds]:
    return [b for b in map(min_max, sources) if b is not None]


def nan(*parts: Bounds) -> bool:
    return any(p.maybe_nan for p in parts)


def ends(node: UOp, values: list[Any], maybe_nan: bool) -> Bounds:
    """The interval of exact ends by the sentence: it fits the dtype, or is that of the dtype; floats are rounded."""
    dtype = node.dtype
    if dtype.is_float:
        rounded = [round_to(dtype, v) for v in values]
        if any(v != v for v in rounded):
            return dtype_range(dtype)
        return Bounds(least(rounded), greatest(rounded), maybe_nan)
    if any(v != v for v in values) or least(values) < dtype.min or greatest(values) > dtype.max:
        return dtype_range(dtype)
    return Bounds(least(values), greatest(values))


def each(law: Callable[..., Any]) -> Callable[[UOp], Bounds | None]:
    """A law on the intervals of the sources; of an empty one nothing comes."""

    def of(node: UOp) -> Bounds | None:
        found = known(*node.src)
        return None if len(found) < len(node.src) else law(node, *found)

    return of


def added(node: UOp, a: Bounds, b: Bounds) -> Bounds:
    meet = node.dtype.is_float and (
        (a.hi == math.inf and b.lo == -math.inf) or (a.lo == -math.inf and b.hi == math.inf)
    )
    return ends(node, [total(a.lo, b.lo), total(a.hi, b.hi)], nan(a, b) or meet)


def total(x: Any, y: Any) -> Any:
    """x + y, where an infinite end of index meets an integer that no float holds."""
    infinite = [v for v in (x, y) if isinstance(v, float)]
    return infinite[0] if len(infinite) == 1 else x + y


def negative(a: Bounds) -> Bounds:
    return Bounds(-a.hi, -a.lo, a.maybe_nan)


def product(x: Any, y: Any, dtype: DType) -> Any:
    if dtype is index and (x == 0 or y == 0):
        return 0
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    return math.copysign(math.inf, (1 if x > 0 else -1) * (1 if y > 0 else -1)) if dtype is index else x * y


def multiplied(node: UOp, a: Bounds, b: Bounds) -> Bounds:
    if node.dtype is bool_:
        return Bounds(bool(a.lo and b.lo), bool(a.hi and b.hi))
    lost = node.dtype.is_float and any(
        math.inf in (abs(x.lo), abs(x.hi)) and y.lo <= 0 <= y.hi for x, y in ((a, b), (b, a))
    )
    corners = [product(x, y, node.dtype) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return ends(node, corners, nan(a, b) or lost)


def fused(node: UOp) -> Bounds | None:
    a, b, c = node.src
    return min_max(Op.Add(Op.Mul(a, b), c))


def remainder(node: UOp, a: Bounds, b: Bounds) -> Bounds:
    if b.lo >= 1:
        return a if a.lo >= 0 and a.hi < b.lo else Bounds(0, b.hi - 1)
    if b.hi <= -1:
        return a if a.lo > b.hi and a.hi <= 0 else Bounds(b.lo + 1, 0)
    return dtype_range(node.dtype)


def floor(x: Any, y: Any) -> Any:
    if isinstance(y, float):
        return math.nan if isinstance(x, float) else 0 if x == 0 or (x > 0) == (y > 0) else -1
    return x * (1 if y > 0 else -1) if isinstance(x, float) else x // y


def quotients(node: UOp, a: Bounds, b: Bounds) -> Bounds:
    if b.lo <= 0 <= b.hi:
        return dtype_range(node.dtype)
    return ends(node, [floor(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)], False)


def compared(node: UOp, a: Bounds, b: Bounds) -> Bounds:
    """Decided where all pairs of values agree; two intervals have all their pairs decided by ends that are compared."""
    if nan(a, b):
        return Bounds(False, True)
    law: dict[Op, tuple[bool, bool]] = {
        Op.CmpLt: (a.hi < b.lo, a.lo < b.hi),
        Op.CmpGt: (b.hi < a.lo, b.lo < a.hi),
        Op.CmpLe: (a.hi <= b.lo, a.lo <= b.hi),
        Op.CmpGe: (b.hi <= a.lo, b.lo <= a.hi),
        Op.CmpEq: (a.lo == a.hi == b.lo == b.hi, a.lo <= b.hi and b.lo <= a.hi),
        Op.CmpNe: (a.hi < b.lo or b.hi < a.lo, not a.lo == a.hi == b.lo == b.hi),
    }
    return Bounds(*law[node.op])


def bitwise(node: UOp, a: Bounds, b: Bounds) -> Bounds:
    x: Any
    y: Any
    (x, y), zero = (a.lo, b.lo), zero_of(node.dtype)
    if a.lo == a.hi and b.lo == b.hi:
        value = {Op.Xor: x ^ y, Op.Or: x | y, Op.And: x & y}[node.op]
        return Bounds(value, value)
    both = node.op is Op.And and a.lo >= 0 and b.lo >= 0
    return Bounds(zero, least((a.hi, b.hi))) if both else dtype_range(node.dtype)


def converted(node: UOp, a: Bounds) -> Bounds:
    source, target = node.src[0].dtype, node.dtype
    if target is bool_:
        zero = a.lo <= 0 <= a.hi
        return Bounds(not zero and not a.maybe_nan, a.maybe_nan or not a.lo == a.hi == 0)
    if not source.is_float:
        return ends(node, [int(e) if isinstance(e, bool) else e for e in (a.lo, a.hi)], False)
    if target.is_float:
        return ends(node, [a.lo, a.hi], a.maybe_nan)
    found = [scalar(Op.Cast, source, e, arg=target) for e in (a.lo, a.hi)]
    return Bounds(least([*found, *[0] * a.maybe_nan]), greatest([*found, *[0] * a.maybe_nan]))


def rooted(node: UOp, a: Bounds) -> Bounds:
    if a.lo < 0:
        return Bounds(-0.0, node.dtype.max, True)
    first, last = (scalar(Op.Sqrt, node.dtype, e) for e in (a.lo, a.hi))
    return Bounds(first, last, a.maybe_nan)


def counted(node: UOp) -> Bounds | None:
    n = min_max(node.src[0])
    return None if n is None or n.hi < 1 else Bounds(0, n.hi - 1)


def folded(node: UOp) -> Bounds | None:
    sizes = [node.src[0].shape[k] for k in node.arg.axes]
    lengths = [min_max(r.src[0]) for r in node.src[1:]]
    something = all(isinstance(s, int) and s > 0 for s in sizes) and all(b and b.lo > 0 for b in lengths)
    return min_max(node.src[0]) if node.arg.op is Op.Max and something else dtype_range(node.dtype)


ROUNDED = "float ends round to nearest, and one that becomes NaN leaves the dtype range"
INTERVALS: dict[str, Callable[[UOp], Bounds | None]] = {
    "none": lambda n: None,
    "dtype range": lambda n: dtype_range(n.dtype),
    "bounds from arg, else dtype range": lambda n: (
        Bounds(*(e.value for e in n.arg.bounds)) if n.arg.bounds else dtype_range(n.dtype)
    ),
    "[v, v]; dtype range of NaN": lambda n: Bounds(v, v) if (v := n.arg.value) == v else dtype_range(n.dtype),
    "src[0]": lambda n: min_max(n.src[0]),
    "src[0]; what may be stored to is never bounded tighter than its dtype": lambda n: min_max(n.src[0]),
    "hull of src[0] with 0": lambda n: hull([min_max(n.src[0]), Bounds(zero_of(n.dtype), zero_of(n.dtype))]),
    "hull of all sources": lambda n: hull(map(min_max, n.src)),
    "hull of src[1] and src[2]": lambda n: hull(map(min_max, n.src[1:])),
    "hull of src[0] and alt": lambda n: hull(map(min_max, n.src[:2])),
    "dtype range; bounds of src[0] for Max where something is reduced": folded,
    "of the element of a Tuple; dtype range of a Function or Call": lambda n: (
        min_max(n.src[0].src[n.arg]) if n.src[0].op is Op.Tuple else dtype_range(n.dtype)
    ),
    "[trunc a, trunc A]": each(
        lambda n, a: Bounds(*(scalar(Op.Trunc, n.dtype, e) for e in (a.lo, a.hi)), a.maybe_nan)
    ),
    "the ends, cast as values are, and 0 where a NaN becomes an integer; [x ≠ 0] for bool; dtype range where an "
    f"integer does not fit its target; {ROUNDED}": each(converted),
    f"[a+b, A+B] where it fits the dtype, else dtype range; {ROUNDED}": each(added),
    f"[a-B, A-b] where it fits the dtype, else dtype range; {ROUNDED}": each(
        lambda n, a, b: added(n, a, negative(b))
    ),
    f"[min, max] of the products of the ends where it fits the dtype, else dtype range; {ROUNDED}": each(
        multiplied
    ),
    "of Add(Mul(a, b), c)": fused,
    "[max(a, b), max(A, B)]": each(
        lambda n, a, b: Bounds(greatest((a.lo, b.lo)), greatest((a.hi, b.hi)), nan(a, b))
    ),
    "[0, B-1] for b ≥ 1, [b+1, 0] for B ≤ -1, src[0] where it is already reduced, else dtype range": each(
        remainder
    ),
    "[min, max] of the floor quotients where b excludes 0 and they fit the dtype, else dtype range": each(
        quotients
    ),
    "from the intervals, where they decide it and NaN is excluded, else [False, True]": each(compared),
    "[0, min(A, B)] of And on non-negative intervals, exact on constants, else dtype range": each(bitwise),
    "[-A, -a] where it fits the dtype, else dtype range": each(
        lambda n, a: ends(n, [-a.hi, -a.lo], a.maybe_nan)
    ),
    "[¬A, ¬a]": each(lambda n, a: Bounds(not a.hi, not a.lo)),
    "[0, ∞]": each(lambda n, a: Bounds(0.0, math.inf, a.maybe_nan)),
    "[-1, 1]; NaN where an end is infinite": each(
        lambda n, a: Bounds(-1.0, 1.0, a.maybe_nan or math.inf in (abs(a.lo), abs(a.hi)))
    ),
    "[√a, √A] for a ≥ 0, else [-0, the greatest of the dtype] or NaN": each(rooted),
    "[0, n-1]": counted,
}


def agrees(node: UOp) -> None:
    wanted = INTERVALS[TABLE[node.op].laws["min_max"]](node)
    found = min_max(node)
    assert test_bounds.same_bounds(node.dtype, found, wanted), (node.op, known(*node.src), found, wanted)


def test_the_interval_of_every_row_is_what_its_law_says() -> None:
    for _, build, _ in test_bounds.EXACT:
        agrees(build())


@pytest.mark.parametrize("dtype", [int8, uint8, bool_, index, float16, float32, float8_e4m3fn])
def test_an_interval_is_what_its_law_says(dtype: DType) -> None:
    """Over pairs of intervals of each dtype, for every elementwise op that takes the dtype."""
    pool = test_bounds.intervals_of(dtype)
    checked: set[Op] = set()
    for op, entry in TABLE.items():
        if entry.group not in ("elementwise", "decomposed") or op is Op.Where:
            continue
        targets = (int8, uint8, bool_, float8_e4m3fn, bfloat16, int32) if op is Op.Cast else (None,)
        for pairs in itertools.product(
            pool if len(entry.sources) < 3 else pool[::4], repeat=len(entry.sources)
        ):
            operands = [param(k, dtype, bounds=pair) for k, pair in enumerate(pairs)]
            for target in targets:
                try:
                    node = op(*operands, arg=target)
                except IllFormed:
                    continue
                checked.add(op)
                agrees(node)
    assert len(checked) >= 9


# The meanings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float16, bfloat16, float8_e4m3fn, float8_e5m2])
def test_reciprocals_and_roots_are_correctly_rounded(dtype: DType) -> None:
    """At every number of the format: 1/x as a fraction, and √x by the squares of the middles beside it."""
    numbers = [from_bits(dtype, p) for p in range(1 << dtype.bits)]
    finite = sorted(x for x in map(float, numbers) if math.isfinite(x))
    above = dict(itertools.pairwise(dict.fromkeys(finite)))
    below = {b: a for a, b in above.items()}
    for x in finite[:: 1 if dtype.bits == 8 else 7]:
        if x != 0:
            assert same(scalar(Op.Recip, dtype, x), round_to(dtype, 1 / Fraction(x)), dtype)
        if x > 0:
            root = Fraction(scalar(Op.Sqrt, dtype, x))
            low, high = (
                (root + Fraction(beside.get(float(root), float(root)))) / 2 for beside in (below, above)
            )
            assert low**2 <= Fraction(x) <= high**2


def test_false_is_less_than_true() -> None:
    pairs = itertools.product((False, True), repeat=2)
    assert [scalar(Op.CmpLt, bool_, a, b) for a, b in pairs] == [False, True, False, False]


SENTENCES = evidence("sentences_of_ops.txt")


@pytest.mark.parametrize("op", TABLE, ids=lambda op: op.name)
def test_every_clause_of_a_meaning_stands_beside_its_test(op: Op) -> None:
    rows = SENTENCES[op.name]
    assert [clause for clause, _ in rows] == clauses(TABLE[op].semantics)
    assert all(stands(test) for _, tests in rows for test in tests)


def test_few_clauses_state_nothing() -> None:
    assert list(SENTENCES) == [op.name for op in TABLE]
    silent = [clause for rows in SENTENCES.values() for clause, tests in rows if not tests]
    assert len(silent) < 26
    assert not any("NaN" in clause or "≥" in clause or "wrap" in clause for clause in silent)
