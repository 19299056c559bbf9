"""
Counterexamples
===============

A point at which two sides differ is evaluated by the specification's evaluator, and only then shown, with a test that
can be pasted anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, Element, bool_, same_value
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp, substitute
from soundline.spec.uop import const
from soundline.verify.smt.counterexamples.closing import case_of
from soundline.verify.smt.counterexamples.replays import CONFIRMED
from soundline.verify.smt.goals.obligations import Obligation, scalar_nodes, wrapping_nodes
from soundline.verify.smt.goals.points import FAILS, Point, not_nan, wraps
from soundline.verify.smt.goals.steps import element_text, steps
from soundline.verify.smt.values.licensed_values import LicensedPoints
from soundline.verify.verdicts.verdict import Counterexample, Difference, name_of_test

# Replay -----------------------------------------------------------------------------------------------------------


def replay(obligation: Obligation, point: Point) -> Counterexample | None:
    """The counterexample as the evaluator sees it; None where it does not confirm that the sides differ."""
    bound = dict(zip(obligation.variables.values(), point, strict=True))
    constants = {v: const(value, v.dtype) for v, value in bound.items()}
    if not _applies(obligation, constants):
        return None
    left, right = (value_of(substitute(side, constants)) for side in (obligation.left, obligation.right))
    dtype = obligation.left.dtype
    if not _differ(obligation, point, left, right):
        return None
    bindings = tuple((name, element_text(v.dtype, bound[v])) for name, v in obligation.variables.items())
    shown = (element_text(dtype, left), element_text(dtype, right))
    arrays = {v: Array(v.dtype, (), (value,)) for v, value in bound.items()}
    known = all(v.op is Op.Param for v in bound)
    return Counterexample(
        obligation.label,
        bindings,
        *shown,
        paste_ready(obligation, bound, left, right),
        differences=(Difference((), *shown),),
        differing=1,
        steps=()
        if obligation.goal is None
        else steps(obligation.goal, {n.arg.slot: a for n, a in arrays.items()}),
        replays=(CONFIRMED,),
        case=case_of(obligation.left, obligation.right, arrays) if known else None,
    )


def _differ(obligation: Obligation, point: Point, left: Element, right: Element) -> bool:
    """Whether these values refute the obligation."""
    if obligation.licensed and LicensedPoints(obligation).at(point) != FAILS:
        return False
    if "no_signed_zero" in obligation.licences and left == right == 0:
        return False
    return not same_value(obligation.left.dtype, left, right)


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
            f"def {name_of_test(obligation.name)}():",
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
