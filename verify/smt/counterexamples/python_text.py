"""
Counterexamples as Python
=========================

An instance with concrete inputs, written as a test that can be pasted anywhere: it builds both sides as nodes, has them
evaluated, and asserts the evaluator's result for each. `Python` writes the parts that such tests have in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from soundline.spec.arrays.arrays import INVALID, Array
from soundline.spec.dtypes import DType, bool_
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.evaluation.strides import strided_steps
from soundline.spec.ops.node import Op, RangeArg, ReduceArg, Size, UOp
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.rules.building import (
    Env,
    build,
    build_dtype,
    build_flags,
    build_perm,
    build_vector,
)
from soundline.spec.rules.instances import Goal
from soundline.spec.rules.terms import Term, subterms
from soundline.verify.smt.counterexamples.replays import Inputs, Shown, slots
from soundline.verify.verdicts.verdict import identifier, name_of_test

_BUILDERS = {Op.Reshape: "reshape", Op.Expand: "expand", Op.Pad: "pad", Op.Shrink: "shrink"}


def literal(value: object) -> str:
    """An element as Python."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


class Python:
    """Writes dtypes, args and arrays as Python, and remembers which names that takes."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {}

    def use(self, module: str, name: str) -> str:
        """A name that the test imports."""
        self.names.setdefault(module, set()).add(name)
        return name

    def dtype(self, dtype: DType) -> str:
        """A dtype."""
        return self.use("soundline.spec.dtypes", "bool_" if dtype is bool_ else dtype.name)

    def built(self, name: str) -> str:
        """A name from the builders."""
        return self.use("soundline.spec.uop", name)

    def value(self, value: object) -> str:
        """An element."""
        return self.use("soundline.spec.arrays.arrays", "INVALID") if value is INVALID else literal(value)

    def constant(self, dtype: DType, value: object) -> str:
        """A constant."""
        return f"{self.built('const')}({self.value(value)}, {self.dtype(dtype)})"

    def array(self, array: Array) -> str:
        """An array."""
        elements = ", ".join(map(self.value, array.elements))
        comma = "," if len(array.elements) == 1 else ""
        name = self.use("soundline.spec.arrays.arrays", "Array")
        return f"{name}({self.dtype(array.dtype)}, {array.shape!r}, ({elements}{comma}))"

    def call(self, op: Op, sources: list[str], arg: Any) -> str:
        """The op of a node, called."""
        parts = [*sources, *([f"arg={self.arg(arg)}"] if arg is not None else [])]
        return f"{self.built('Op')}.{op.name}({', '.join(parts)})"

    def arg(self, arg: Any) -> str:
        """An arg."""
        if isinstance(arg, DType):
            return self.dtype(arg)
        if isinstance(arg, ReduceArg):
            return f"{self.built('ReduceArg')}({self.built('Op')}.{arg.op.name}, {arg.axes!r})"
        if isinstance(arg, RangeArg):
            kind = f"{self.use('soundline.spec.ops.node', 'AxisType')}.{arg.type.name}"
            return f"{self.use('soundline.spec.ops.node', 'RangeArg')}({arg.id}, {kind})"
        if not is_dataclass(arg):
            return repr(arg)
        parts = (f"{f.name}={self.arg(getattr(arg, f.name))}" for f in fields(arg))
        return f"{self.use('soundline.spec.ops.node', type(arg).__name__)}({', '.join(parts)})"

    def test(self, name: str, lines: Iterable[str]) -> str:
        """A test of these lines, after its imports."""
        imports = [
            f"from {module} import {', '.join(sorted(used))}" for module, used in sorted(self.names.items())
        ]
        return "\n".join([*imports, "", "", f"def {name}():", *(f"    {line}" for line in lines)])


class Script(Python):
    """Writes nodes as the calls that build them, with the sizes of a counterexample."""

    def __init__(self, goal: Goal, inputs: Inputs) -> None:
        super().__init__()
        self.goal = goal
        self.bound = slots(goal, inputs)
        self.variables = {node: identifier(name) for name, node in goal.variables.items()}

    def size(self, size: Size) -> int:
        """A size with the numbers of the counterexample."""
        return size if isinstance(size, int) else int(evaluate(size, self.bound).item())

    def sizes(self, shape: tuple[Size, ...]) -> str:
        """A shape; of a size that is ill-formed, the expression that is refused."""
        try:
            return repr(tuple(self.size(s) for s in shape))
        except IllFormed:
            return f"({', '.join(str(s) if isinstance(s, int) else self.node(s) for s in shape)},)"

    def node(self, node: UOp) -> str:
        """The expression that builds a node."""
        if node.op is Op.Param:
            if node.shape == ():
                return self.constant(node.dtype, self.bound[node.arg.slot].elements[0])
            return self.variables[node]
        if node.op is Op.Const:
            return self.constant(node.dtype, node.arg.value)
        if node.op in _BUILDERS:
            vectors = [sizes_of(s) or () for s in node.src[1:]]
            return self.moved(node.op, self.node(node.src[0]), vectors)
        return self.call(node.op, [self.node(s) for s in node.src], node.arg)

    def moved(self, op: Op, source: str, vectors: list[tuple[Size, ...]]) -> str:
        """A movement that takes shapes or offsets."""
        return f"{self.built(_BUILDERS[op])}({', '.join([source, *map(self.sizes, vectors)])})"

    def inputs(self) -> Iterator[str]:
        """A line for each tensor."""
        for name, node in self.goal.variables.items():
            if node.shape:
                shape = self.sizes(node.shape)
                yield f"{identifier(name)} = {self.built('param')}({node.arg.slot}, {self.dtype(node.dtype)}, {shape})"

    def bindings(self) -> str:
        """The arrays of the tensors, by slot."""
        tensors = [n for n in self.goal.variables.values() if n.shape]
        return "{" + ", ".join(f"{n.arg.slot}: {self.array(self.bound[n.arg.slot])}" for n in tensors) + "}"


def paste_ready(goal: Goal, inputs: Inputs, shown: Shown) -> str:
    """A test that builds both sides on these inputs and holds what the evaluator says of them."""
    script = Script(goal, inputs)
    evaluated = script.use("soundline.spec.evaluate", "evaluate")
    lines = [
        *script.inputs(),
        f"values = {script.bindings()}",
        f"left = {evaluated}({script.node(goal.left)}, values)",
    ]
    lines.append(f"assert left == {script.array(shown.left)}")
    if isinstance(shown.right, Array):
        assert isinstance(goal.right, UOp)
        lines += [
            f"right = {evaluated}({script.node(goal.right)}, values)",
            f"assert right == {script.array(shown.right)}",
            "assert left != right",
        ]
    else:
        error = script.use("soundline.spec.errors", type(shown.right).__name__)
        lines += [
            "try:",
            f"    {evaluated}({_refused(script, goal)}, values)",
            f"except {error} as refusal:",
            f"    assert refusal.rule == {shown.right.rule!r}",
            "else:",
            '    raise AssertionError("the right side is admitted")',
        ]
    return script.test(name_of_test(goal.rule.id), lines)


def _refused(script: Script, goal: Goal) -> str:
    """The expression of the right side, or the part of it that cannot be built for this instance."""
    if isinstance(goal.right, UOp):
        return script.node(goal.right)
    for term in reversed(list(subterms(goal.rule.right))):
        if (isinstance(term.head, Op) or term.head in ("op", "fill")) and _is_refused(term, goal.env):
            return _attempt(script, term, goal.env)
    return _attempt(script, goal.rule.right, goal.env)


def _is_refused(term: Term, env: Env) -> bool:
    try:
        build(term, env)
    except IllFormed:
        return True
    return False


def _attempt(script: Script, term: Term, env: Env) -> str:
    """The call that a term makes of its parts."""
    op: Any = term.head
    args = term.args
    if op == "op":
        op, args = env.bound[args[0].args[0]], args[1:]
    source = build(args[0], env)
    if op == "fill":
        shape = script.sizes(build_vector(args[1], env, None))
        return f"{script.built('broadcast_to')}({script.node(source)}, {shape})"
    if op in _BUILDERS:
        rank = None if op is Op.Reshape else len(source.shape or ())
        vectors = [build_vector(v, env, rank) for v in args[1:]]
        text = script.node(source)
        steps = strided_steps(op, source.shape or (), *vectors) if len(vectors) == 3 else [(op, *vectors)]
        for step, *parts in steps:
            text = script.moved(step, text, parts)
        return text
    if op in (Op.Permute, Op.Flip):
        arg: Any = build_perm(args[1], env) if op is Op.Permute else build_flags(args[1], env)
        return script.call(op, [script.node(source)], arg)
    if op in (Op.Cast, Op.Bitcast):
        return script.call(op, [script.node(source)], build_dtype(args[1], env))
    return script.call(op, [script.node(build(a, env, source)) for a in args], None)
