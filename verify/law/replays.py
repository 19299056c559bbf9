"""
Replays
=======

A row of intervals is refuted by a program: operands that lie in their intervals, and a value that does not lie in the
interval of the node. The program is built, its interval is computed, and the evaluator computes its value, before a row
is reported as wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from soundline.spec.dtypes import BY_NAME, DType, Element, bool_, index, order
from soundline.spec.errors import SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops import bounds
from soundline.spec.ops.bounds import Bounds, Known
from soundline.spec.ops.node import Op, UOp
from soundline.spec.uop import const, pad, param, reshape
from soundline.verify.verdicts.verdict import Counterexample


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand: its dtype, its interval, and the value at which a row is tried."""

    dtype: DType
    bounds: Bounds
    value: Element


def contains(known: Known, value: Element) -> bool:
    """Whether a value lies in an interval; NaN where the flag allows it."""
    if known is None:
        return False
    if value != value:
        return known.maybe_nan
    return order(known.lo) <= order(value) <= order(known.hi)


def node_of(slot: int, operand: Operand) -> UOp:
    """A node with the interval of the operand, made of the Param in that slot."""
    dtype, lo, hi = operand.dtype, operand.bounds.lo, operand.bounds.hi
    whole = order(lo) == order(dtype.min) and order(hi) == order(dtype.max)
    if whole and operand.bounds.maybe_nan == dtype.is_float:
        return param(slot, dtype)
    if not operand.bounds.maybe_nan and not (dtype is index and math.inf in (-lo, hi)):
        return param(slot, dtype, bounds=(lo, hi))
    node = param(slot, dtype)
    if order(lo) != order(dtype.min):
        node = UOp(Op.Max, (node, const(lo, dtype)))
    if order(hi) != order(dtype.max):
        negated = UOp(Op.Max, (UOp(Op.Neg, (node,)), const(-hi, dtype)))
        node = UOp(Op.Neg, (negated,))
    return node


def refutation(op: Op, operands: Sequence[Operand], target: DType | None = None) -> Counterexample | None:
    """The counterexample that these operands are, or None where the value lies in the interval after all."""
    try:
        node = _node(op, tuple(node_of(k, o) for k, o in enumerate(operands)), target)
        found = bounds.min_max(node)
        elements = evaluate(node, {k: o.value for k, o in enumerate(operands)}).elements
    except SoundlineError:
        return None
    escaped: list[Any] = [v for v in elements if not contains(found, v)]  # type: ignore[arg-type]
    if not escaped:
        return None
    value = escaped[0]
    names = "xyz"[: len(operands)]
    return Counterexample(
        instance=", ".join(dict.fromkeys(o.dtype.name for o in operands)),
        bindings=tuple(
            (n, f"{o.value!r} in {interval(o.bounds)}") for n, o in zip(names, operands, strict=True)
        ),
        left=f"the interval {interval(found)}",
        right=f"the value {value!r}",
        test=_test(op, operands, target),
        note="every value of a node lies in its interval",
    )


def _node(op: Op, operands: tuple[UOp, ...], target: DType | None) -> UOp:
    """The op on scalar operands; a Pad pads a vector of one by one on each side."""
    if op is Op.Pad:
        return pad(reshape(operands[0], (1,)), (1,), (3,))
    return UOp(op, operands, target)


def interval(known: Known) -> str:
    """An interval as text."""
    if known is None:
        return "the empty interval"
    return f"[{known.lo!r}, {known.hi!r}]" + (" or NaN" if known.maybe_nan else "")


def _test(op: Op, operands: Sequence[Operand], target: DType | None) -> str:
    """A paste-ready test, where the dtypes have names."""
    plain = op is not Op.Pad and not any(o.bounds.maybe_nan or _half_open(o) for o in operands)
    if not plain or any(o.dtype.name not in BY_NAME for o in operands):
        return ""
    params = ", ".join(
        f"param({k}, {_name(o.dtype)}, bounds={_pair(o.bounds)})" for k, o in enumerate(operands)
    )
    arg = f", arg={_name(target)}" if target else ""
    values = ", ".join(f"{k}: {_number(o.value)}" for k, o in enumerate(operands))
    names = sorted({_name(d) for d in (*(o.dtype for o in operands), *([target] if target else []))})
    return "\n".join(
        (
            "from math import inf, nan",
            f"from soundline.spec.dtypes import {', '.join(names)}",
            "from soundline.spec.ops.bounds import min_max",
            "from soundline.spec.evaluate import evaluate",
            "from soundline.spec.ops.table import Op",
            "from soundline.spec.uop import param",
            "",
            f"def test_the_interval_of_{op.name.lower()}_holds_its_value() -> None:",
            f"    node = Op.{op.name}({params}{arg})",
            f"    value = evaluate(node, {{{values}}}).elements[-1]",
            "    known = min_max(node)",
            "    assert known is not None",
            "    assert known.lo <= value <= known.hi or (value != value and known.maybe_nan)",
            "",
        )
    )


def _half_open(operand: Operand) -> bool:
    return operand.dtype is index and math.inf in (-operand.bounds.lo, operand.bounds.hi)


def _name(dtype: DType) -> str:
    return "bool_" if dtype is bool_ else dtype.name


def _pair(known: Bounds) -> str:
    return f"({_number(known.lo)}, {_number(known.hi)})"


def _number(value: Any) -> str:
    return repr(value)
