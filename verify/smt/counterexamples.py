"""
Counterexamples
===============

A point at which two sides differ is made small, evaluated by the specification's evaluator, and only then shown, with
a test that can be pasted anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from soundline.spec.dtypes import DType, Element, bool_, same_value
from soundline.spec.evaluate import evaluate
from soundline.spec.node import UOp, substitute
from soundline.spec.op_schema import Op
from soundline.spec.uop import const
from soundline.verify.smt.obligations import Obligation, scalar_nodes, wrapping_nodes
from soundline.verify.smt.points import FAILS, Point, Points, not_nan, wraps
from soundline.verify.smt.sampling import directed, simplicity
from soundline.verify.smt.solving import Budget
from soundline.verify.verdicts import Counterexample

# Making it small --------------------------------------------------------------------------------------------------


def shrink(obligation: Obligation, trial: Points, point: Point, budget: Budget) -> Point:
    """A smaller point at which the sides differ: each variable in turn simpler, until none can be."""
    names = list(obligation.variables)
    order = sorted(range(len(names)), key=lambda k: (names[k] not in obligation.leading, k))
    improved = True
    while improved:
        improved = False
        for k in order:
            smaller = _simpler(obligation, trial, point, k)
            if smaller is not None:
                point, improved = smaller, True
    return point


def _simpler(obligation: Obligation, trial: Points, point: Point, k: int) -> Point | None:
    """The point with variable k simpler, if the sides still differ."""
    dtype = list(obligation.variables.values())[k].dtype

    def fails(value: Element) -> bool:
        return trial.at((*point[:k], value, *point[k + 1 :])) == FAILS

    best = point[k]
    for value in directed(dtype, 60):
        if simplicity(dtype, value) >= simplicity(dtype, best):
            break
        if fails(value):
            best = value
            break
    if dtype.is_int or dtype.kind == "index":
        best = _toward_zero(int(best), fails)
    return (
        None
        if best == point[k] and same_value(dtype, best, point[k])
        else (*point[:k], best, *point[k + 1 :])
    )


def _toward_zero(value: int, fails: Callable[[Element], bool]) -> int:
    """A value of lesser magnitude that fails, by halving the interval between one that does not and one that does."""
    sign, high = (1 if value >= 0 else -1), abs(value)
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if fails(sign * middle):
            high = middle
        else:
            low = middle
    return sign * high


# Replay -----------------------------------------------------------------------------------------------------------


def replay(obligation: Obligation, point: Point) -> Counterexample | None:
    """The counterexample as the evaluator sees it; None where it does not confirm that the sides differ."""
    bound = dict(zip(obligation.variables.values(), point, strict=True))
    constants = {v: const(value, v.dtype) for v, value in bound.items()}
    if not _applies(obligation, constants):
        return None
    left, right = (value_of(substitute(side, constants)) for side in (obligation.left, obligation.right))
    dtype = obligation.left.dtype
    if same_value(dtype, left, right):
        return None
    if "no_signed_zero" in obligation.licences and left == right == 0:
        return None
    bindings = tuple((name, show(v.dtype, bound[v])) for name, v in obligation.variables.items())
    test = paste_ready(obligation, bound, left, right)
    return Counterexample(obligation.label, bindings, show(dtype, left), show(dtype, right), test)


def _applies(obligation: Obligation, constants: dict[UOp, UOp]) -> bool:
    """Whether the evaluator finds every premise met."""
    if not all(value_of(substitute(h, constants)) for h in obligation.hypotheses):
        return False
    for node in wrapping_nodes(obligation.fits):
        parts = (node, *node.src)
        if wraps(node, {part: value_of(substitute(part, constants)) for part in parts}):
            return False
    return not any(math.isnan(value_of(substitute(n, constants))) for n in not_nan(obligation))


def value_of(node: UOp) -> Element:
    """The one element of a closed scalar program."""
    (element,) = evaluate(node).elements
    assert isinstance(element, bool | int | float)
    return element


def show(dtype: DType, value: Element) -> str:
    """An element for a reader."""
    if dtype.is_float and math.isfinite(value) and value != 0 and not 1e-4 <= abs(value) < 1e16:
        return float(value).hex()
    return repr(value)


# The test ---------------------------------------------------------------------------------------------------------


def paste_ready(obligation: Obligation, bound: dict[UOp, Element], left: Element, right: Element) -> str:
    """A test that builds both sides on these values and holds that they are what the evaluator says, and differ."""
    source = _Source(obligation, bound)
    lines = [f"    {line}" for line in source.lines()]
    dtype = obligation.left.dtype
    dtypes = ", ".join(sorted({_variable_name(d) for d in source.dtypes}))
    return "\n".join(
        [
            f"from soundline.spec.dtypes import {dtypes}, same_value",
            "from soundline.spec.evaluate import evaluate",
            "from soundline.spec.uop import Op, const",
            "",
            "",
            f"def test_{obligation.name}_is_wrong():",
            *lines,
            "    (a,), (b,) = evaluate(left).elements, evaluate(right).elements",
            f"    assert same_value({_variable_name(dtype)}, a, {literal(left)})",
            f"    assert same_value({_variable_name(dtype)}, b, {literal(right)})",
            f"    assert not same_value({_variable_name(dtype)}, a, b)",
        ]
    )


class _Source:
    """The Python that builds both sides."""

    def __init__(self, obligation: Obligation, bound: dict[UOp, Element]) -> None:
        self.obligation, self.bound = obligation, bound
        self.dtypes: set[DType] = {obligation.left.dtype}
        self.names = {v: name.replace(".", "_") for name, v in obligation.variables.items()}

    def lines(self) -> Iterator[str]:
        """One assignment for each variable and each side."""
        used = set(scalar_nodes(self.obligation.left, self.obligation.right))
        for variable, value in self.bound.items():
            if variable in used:
                self.dtypes.add(variable.dtype)
                yield f"{self.names[variable]} = const({literal(value)}, {_variable_name(variable.dtype)})"
        yield f"left = {self.text(self.obligation.left)}"
        yield f"right = {self.text(self.obligation.right)}"

    def text(self, node: UOp) -> str:
        """The expression that builds a node."""
        if node in self.names:
            return self.names[node]
        if node.op is Op.Const:
            self.dtypes.add(node.dtype)
            return f"const({literal(node.arg.value)}, {_variable_name(node.dtype)})"
        sources = [self.text(s) for s in node.src]
        if node.op in (Op.Cast, Op.Bitcast):
            self.dtypes.add(node.arg)
            sources.append(f"arg={_variable_name(node.arg)}")
        return f"Op.{node.op.name}({', '.join(sources)})"


def literal(value: Element) -> str:
    """An element as Python source."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _variable_name(dtype: DType) -> str:
    return "bool_" if dtype is bool_ else dtype.name
