"""
Rules in one function
=====================

Many rules say only which ops stand where: no conditions, no tensors, nothing that is computed before it is compared.
The steps of such a pattern, and the making of its right side, are written out as one Python function, which does for
each node what `Pattern.match` and `building.build` do, without a call for each term. It is written from the terms of
the rule that is proved. Where it cannot decide, for example where shapes differ or the law refuses its result, it falls
back to the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

from soundline.impl.analysis.facts import Facts, repeated_constant
from soundline.impl.matching.steps import number_at
from soundline.spec.dtypes import DType, all_dtypes, bool_
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.table import group_of
from soundline.spec.rules.building import has_dtype
from soundline.spec.rules.instances import dtypes_of, is_about_shapes
from soundline.spec.rules.language import Rule
from soundline.spec.rules.spellings import is_truth
from soundline.spec.rules.terms import Term, Value

Apply = Callable[[UOp, Facts], UOp | None]
"""The result of a rule at a node; None where the rule does not apply."""

_ASK = "by_steps(node, facts)"

OPS = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)) - {Op.Cast, Op.Where}
"""Ops without an arg whose operands have one dtype."""


class _SaysMore(Exception):
    """The rule says more than which ops stand where."""


class _Writer:
    """The lines of a function, and the values that they name."""

    def __init__(self, stated: Rule, by_steps: Apply) -> None:
        self.stated = stated
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"by_steps": by_steps, "UOp": UOp, "IllFormed": IllFormed}
        self.names |= {"constant_of": repeated_constant, "Const": Op.Const}
        self.bound: dict[str, str] = {}
        self.last: list[tuple[str, bool]] = []
        self.dtype_bound = False
        self.count = 0

    def fresh(self, value: Any = None) -> str:
        """A new name, of a value if one is given."""
        self.count += 1
        name = f"n{self.count}"
        if value is not None:
            self.names[name] = value
        return name

    def unless(self, condition: str, outcome: str = "None") -> None:
        """End the function where a condition does not hold."""
        self.lines.append(f"    if not ({condition}): return {outcome}")

    def is_one_op(self, term: Term) -> None:
        """Refuse a term that is not one op at every dtype: ~ on an integer is not."""
        if term.head not in OPS or (term.head is Op.Not and not is_truth(term, self.stated.kinds)):
            raise _SaysMore

    def compare(self, term: Term, node: str, *, typed: bool) -> None:
        """Compare the node of this name with a term."""
        if term.head == "var":
            self.variable(term.args[0], node)
        elif term.head == "literal":
            self.literal(term.args[0], node, typed=typed)
        else:
            self.is_one_op(term)
            self.operation(term, node, typed=typed)

    def operation(self, term: Term, node: str, *, typed: bool) -> None:
        """Compare op and operands."""
        self.unless(f"{node}.op is {self.fresh(term.head)}")
        self.operands(term, f"{node}.src", typed=typed or any(has_dtype(a) for a in term.args))

    def operands(self, term: Term, sources: str, *, typed: bool) -> None:
        """Compare operands: ops first, then numbers, then variables, which most nodes are."""
        inside = [(a, self.fresh()) for a in term.args]
        self.lines.append(f"    {', '.join(name for _, name in inside)}, = {sources}")
        order = {"literal": 1, "var": 2}
        for a, name in sorted(inside, key=lambda pair: order.get(pair[0].head, 0)):
            self.compare(a, name, typed=typed)

    def variable(self, name: str, node: str) -> None:
        """Bind a variable, or compare with what it is bound to."""
        kind = self.stated.kinds[name]
        if kind.kind not in ("Value", "Bool") or kind.inside:
            raise _SaysMore
        if name in self.bound:
            self.unless(f"{node} is {self.bound[name]}")
            return
        self.bound[name] = node
        self.last.append((node, kind.kind == "Bool"))

    def values(self) -> None:
        """Compare the shapes and dtypes of the variables, once all else is as the rule says."""
        for node, is_bool in self.last:
            self.unless(f"{node}.shape is not None")
            if is_bool:
                self.unless(f"{node}.dtype is {self.fresh(bool_)}")
            else:
                self.dtype(f"{node}.dtype")

    def dtype(self, found: str) -> None:
        """Bind the rule's dtype, or compare with it."""
        if self.dtype_bound:
            self.unless(f"{found} is dtype")
        else:
            self.dtype_bound = True
            self.lines.append(f"    dtype = {found}")
            self.unless(f"dtype in {self.fresh(frozenset(dtypes_of(self.stated)))}")

    def literal(self, number: Any, node: str, *, typed: bool) -> None:
        """Compare with a number of the node's dtype, or a view that repeats it."""
        wanted: dict[DType, UOp | None] = {d: number_at(number, d) for d in all_dtypes}
        seen = self.fresh()
        self.lines.append(f"    {seen} = {node} if {node}.op is Const else constant_of({node})")
        self.unless(f"{seen} is not None")
        self.unless(f"{seen}.tag is None", _ASK)
        self.unless(f"{seen} is {self.fresh(wanted)}[{seen}.dtype]")
        if not typed:
            self.dtype(f"{seen}.dtype")

    def made(self, term: Term) -> str:
        """The expression that makes a term of values of the shape of the node."""
        if term.head == "var":
            return self.bound[term.args[0]]
        self.is_one_op(term)
        inside = [self.made(a) for a in term.args]
        return f"UOp({self.fresh(term.head)}, ({', '.join(inside)},))"

    def result(self, left: Term, right: Term) -> None:
        """Make the right side, if everything has one shape."""
        self.lines.append("    given = node.properties")
        if right.head == "literal":
            self.unless("node.shape == ()", _ASK)
            numbers = {d: number_at(right.args[0], d) for d in all_dtypes}
            self.lines.append(f"    right = {self.fresh(numbers)}[node.dtype]")
            self.unless("right is not None", _ASK)
        else:
            used = {v: n for v, n in self.bound.items() if v in _variables(right)}
            for name in used.values():
                self.unless(f"{name}.properties is given or {name}.shape == node.shape", _ASK)
            self.lines += ["    try:", f"        right = {self.made(right)}"]
            self.lines += ["    except IllFormed: return " + _ASK]
        alike = [f"right.{p} == node.{p}" for p in ("shape", "device", "axis")]
        same = " and ".join(["right.dtype is node.dtype", *alike])
        self.unless(f"right.properties is given or {same}", _ASK)
        if right.head is left.head:
            self.unless("right is not node")
        self.lines.append("    return right")


def _variables(term: Term) -> set[str]:
    if term.head == "var":
        return {term.args[0]}
    return {v for a in term.args if isinstance(a, Term) for v in _variables(a)}


def written(
    stated: Rule, left: Term, dropped: tuple[str, ...], demanded: frozenset[str], by_steps: Apply
) -> Apply | None:
    """One order of a rule's left side, with its right side, as a function; None where the rule says more.

    `dropped` are the variables that must have no effect, `demanded` those that must be valid.
    """
    if stated.given or is_about_shapes(stated) or not isinstance(stated.right, Value):
        return None
    writer = _Writer(stated, by_steps)
    try:
        writer.is_one_op(left)
        writer.operation(left, "node", typed=False)
        writer.values()
        for name in dropped:
            writer.unless(f"not facts.has_effect({writer.bound[name]})")
        for name in sorted(demanded):
            writer.unless(f"facts.always_valid({writer.bound[name]})")
        writer.result(left, stated.right)
    except _SaysMore:
        return None
    lines = ["def function(node, facts):", *writer.lines]
    exec(_compiled("\n".join(lines)), writer.names)  # noqa: S102  # written above
    function: Apply = writer.names["function"]
    return function


@cache
def _compiled(text: str) -> CodeType:
    """The code of a function; many rules have the same, with other ops and numbers for its names."""
    return compile(text, "<rule>", "exec")
