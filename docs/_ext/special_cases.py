"""What an op gives at the edges, computed by the evaluator: NaN, infinities, zeros, extremes, zero divisors, shifts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rst import code, table

from soundline.spec.dtypes import DType, Element, bool_, float32, float64, int8, int32, uint8, uint64
from soundline.spec.errors import SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops import TABLE, Op
from soundline.spec.uop import UOp, const

NAN, INF = math.nan, math.inf
TINY, HUGE = 2.0**-149, float.fromhex("0x1.fffffep127")

UNARY: tuple[tuple[DType, tuple[Element, ...]], ...] = (
    (float32, (NAN, INF, -INF, 0.0, -0.0, TINY, HUGE, -2.5)),
    (int8, (-128,)),
    (uint8, (1,)),
    (bool_, (False, True)),
)
BINARY: tuple[tuple[DType, tuple[tuple[Element, Element], ...]], ...] = (
    (
        float32,
        (
            (NAN, 1.0),
            (INF, -INF),
            (0.0, INF),
            (-0.0, 0.0),
            (0.0, -0.0),
            (1.0, 0.0),
            (HUGE, HUGE),
            (TINY, TINY),
        ),
    ),
    (int8, ((-128, -1), (7, 0), (-7, 2), (7, -2), (127, 1), (1, 7), (1, 8), (-128, 9), (1, -1))),
    (uint8, ((0, 1), (255, 255), (7, 0), (128, 9))),
    (bool_, ((True, True), (True, False))),
)
CASTS: tuple[tuple[DType, Element, DType], ...] = (
    (int32, 300, int8),
    (int8, -1, uint8),
    (int8, -1, uint64),
    (float32, 2.75, int8),
    (float32, -2.75, int8),
    (float32, 300.0, int8),
    (float32, -1.0, uint8),
    (float32, INF, int8),
    (float32, NAN, int8),
    (float32, NAN, bool_),
    (float32, -0.0, bool_),
    (int32, 16777217, float32),
)
OF_ITS_OWN: dict[Op, tuple[DType, tuple[tuple[Element, ...], ...]]] = {
    Op.Sin: (float64, ((1e22,), (math.pi,))),
    Op.Pow: (
        float32,
        (
            *(
                (NAN, 0.0),
                (1.0, NAN),
                (-1.0, INF),
                (-8.0, 1.5),
                (-2.0, 3.0),
                (0.0, -3.0),
                (-0.0, -3.0),
                (-0.0, -2.0),
            ),
            *((-INF, 3.0), (-INF, -3.0), (-INF, 2.5), (0.5, INF), (0.5, -INF), (2.0, -149.0), (2.0, 128.0)),
        ),
    ),
    Op.Threefry: (uint64, ((0, 0), (2**64 - 1, 2**64 - 1), (0x85A308D3243F6A88, 0x0370734413198A2E))),
}
"""Cases of single ops."""


def section(op: Op) -> str:
    """The table of special cases of an elementwise op; for others a plain sentence."""
    if TABLE[op].group not in ("elementwise", "decomposed") and op not in (Op.CDiv, Op.CMod):
        return "None beyond the semantics: they hold as stated at rank 0 and where a size is 0 or 1.\n"
    rows = list(_rows(op))
    if not rows:
        return "This version types the op and does not evaluate it yet.\n"
    note = "Computed by the evaluator when this page was built.\n"
    return f"{note}\n{table(('operands', 'dtype', 'value'), rows, widths=(50, 20, 30))}"


def _rows(op: Op) -> Iterator[tuple[str, str, str]]:
    if op is Op.Cast:
        for source, value, target in CASTS:
            yield _row((value,), f"{source} to {target}", Op.Cast(const(value, source), arg=target))
        return
    operands = len(TABLE[op].sources)
    cases = {1: UNARY, 2: BINARY}.get(operands, ())
    for dtype, values in cases:
        for value in values:
            given = value if isinstance(value, tuple) else (value,)
            row = _attempt(op, dtype, given)
            if row:
                yield row
    if operands == 3:
        yield from _ternary(op)
    if op in OF_ITS_OWN:
        dtype, rows = OF_ITS_OWN[op]
        yield from (_row(given, dtype.name, op(*(const(v, dtype) for v in given))) for given in rows)


def _ternary(op: Op) -> Iterator[tuple[str, str, str]]:
    if op is Op.Where:
        for chosen in (True, False):
            given = (chosen, 1.0, NAN)
            sources = (const(chosen, bool_), const(1.0, float32), const(NAN, float32))
            yield _row(given, "bool, float32", op(*sources))
        return
    for dtype, given in ((float32, (HUGE, 2.0, -INF)), (float32, (0.0, INF, 1.0)), (int8, (64, 2, 127))):
        row = _attempt(op, dtype, given)
        if row:
            yield row


def _attempt(op: Op, dtype: DType, given: tuple[Element, ...]) -> tuple[str, str, str] | None:
    """The row, where the op admits this dtype and the evaluator knows the op."""
    try:
        return _row(given, dtype.name, op(*(const(v, dtype) for v in given)))
    except SoundlineError:
        return None


def _row(given: tuple[Element, ...], dtype: str, node: UOp) -> tuple[str, str, str]:
    (value,) = evaluate(node).elements
    return code(", ".join(map(_text, given))), code(dtype), code(_text(value))


def _text(value: object) -> str:
    named = {TINY: "2**-149 (least subnormal)", HUGE: "largest finite"}
    if isinstance(value, float) and value in named:
        return named[value]
    return repr(value)
