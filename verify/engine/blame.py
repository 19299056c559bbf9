"""
Whose rewrite it was
====================

A wrong rewrite is minimized before it is shown: the step is applied again, alone, to smaller and smaller terms, as long
as it still changes their value. The result is the smallest term found that shows the mistake, with inputs on which the
evaluator itself finds that both sides differ, and a test that can be pasted anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soundline.impl.analysis.facts import Facts
from soundline.impl.analysis.folding import fold
from soundline.impl.matching.matcher import patterns_of
from soundline.impl.rewriting.applications import attempt
from soundline.impl.rewriting.engine import Folding, Step
from soundline.spec.dtypes import bool_, index
from soundline.spec.errors import SoundlineError
from soundline.spec.ops.node import Op, UOp, rebuilt, substitute, toposort
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.rules.building import build
from soundline.spec.rules.procedures import Procedure
from soundline.spec.uop import const, param
from soundline.verify.engine.inputs import Difference, Inputs, search
from soundline.verify.engine.views import Reader, promised
from soundline.verify.smt.counterexamples.python_text import Python

TRIED = 24
"""On how many inputs a smaller term is tried."""

ROUNDS = 60
"""How often a term is made smaller."""


@dataclass(frozen=True)
class Shown:
    """A wrong rewrite: the smallest term found, what the step makes of it, and inputs on which they differ."""

    before: UOp
    after: UOp
    difference: Difference


def apply_alone(step: Step, node: UOp) -> UOp | None:
    """The result of a step at a node, without validation and without other steps."""
    facts = Facts()
    try:
        if isinstance(step, Folding):
            return fold(node)
        if isinstance(step, Procedure):
            made = attempt(step, node, facts, ask=False) if node.op in step.ops else None
            return None if made is None else made.after
        for pattern in patterns_of(step):
            env = pattern.match(node, facts)
            if env is not None:
                return build(step.right, env, node)
    except SoundlineError:
        return None
    return None


def smallest(step: Step, before: UOp, after: UOp, found: Difference) -> Shown:
    """The smallest term on which the step is seen to be wrong."""
    shown = Shown(before, after, found)
    for _ in range(ROUNDS):
        smaller = next(
            (s for b in candidates(shown.before) if (s := _wrong(step, b, shown)) is not None), None
        )
        if smaller is None:
            return shown
        shown = smaller
    return shown


def _wrong(step: Step, before: UOp, than: Shown) -> Shown | None:
    """A smaller term, where the step is wrong about it too."""
    if size(before) >= size(than.before):
        return None
    after = apply_alone(step, before)
    if after is None or after is before or after.shape is None:
        return None
    _, found = search(before, after, "blame", TRIED)
    return None if found is None else Shown(before, after, found)


def size(node: UOp) -> tuple[int, int, int, int]:
    """What is made small: operations, then elements, then leaves, then the size of numbers."""
    nodes = [n for n in toposort(node) if n.shape is not None and not _is_sizes(n)]
    steps = sum(bool(n.src) and n.op not in (Op.Param, Op.Range) for n in nodes)
    elements = sum(
        math.prod(s for s in n.shape or () if isinstance(s, int)) + len(n.shape or ()) for n in nodes
    )
    numbers = sum(_magnitude(n) for n in nodes if n.op is Op.Const)
    promised = sum(n.op is Op.Param and n.arg.bounds is not None for n in nodes)
    return steps, elements, len(nodes) + promised, numbers


def _is_sizes(node: UOp) -> bool:
    return node.op is Op.Stack and sizes_of(node) is not None


def _magnitude(constant: UOp) -> int:
    value = constant.arg.value
    if value != value or value in (math.inf, -math.inf):
        return 1 << 40
    return min(1 << 39, abs(int(value)) * 2 + int(value < 0) + int(value != int(value)))


def candidates(root: UOp) -> Iterator[UOp]:
    """Terms that may be smaller: a part that is unknown, a part left out, a simpler number, fewer elements."""
    nodes = [n for n in toposort(root) if n.shape is not None and not _is_sizes(n)]
    reader = Reader()
    slot = 1 + max((n.arg.slot for n in toposort(root) if n.op is Op.Param), default=-1)
    inner = [n for n in reversed(nodes) if n is not root and n.op is not Op.Const and n.op is not Op.Param]
    for node in inner:
        yield from _put(root, node, _unknown(node, slot, reader))
    for node in inner:
        for source in node.src:
            if source.dtype is node.dtype and source.shape == node.shape:
                yield from _put(root, node, (source,))
    yield from _with_other_sizes(root)
    for node in nodes:
        if node.op is Op.Const:
            yield from _put(root, node, _simpler(node))
        elif node.op is Op.Param and node.arg.bounds is not None:
            yield from _put(root, node, (param(node.arg.slot, node.dtype, node.shape or ()),))


def _put(root: UOp, node: UOp, others: Sequence[UOp]) -> Iterator[UOp]:
    for other in others:
        try:
            yield substitute(root, {node: other})
        except SoundlineError:
            continue


def _unknown(node: UOp, slot: int, reader: Reader) -> tuple[UOp, ...]:
    """A Param in the place of a node: of any value, then of its bounds."""
    shape = node.shape or ()
    plain = param(slot, node.dtype, shape)
    bounds = promised(node.dtype, reader.bounds(node))
    return (plain,) if bounds is None else (plain, param(slot, node.dtype, shape, bounds=bounds))


def _simpler(constant: UOp) -> tuple[UOp, ...]:
    value, dtype = constant.arg.value, constant.dtype
    if dtype is bool_ or _magnitude(constant) == 0:
        return ()
    numbers = (0, 1, 2, -1, 3, -2)
    kept = [n for n in numbers if dtype is index or dtype.is_float or dtype.min <= n <= dtype.max]
    if isinstance(value, int) and abs(value) > 3:
        kept += [value // 2, value - 1]
    return tuple(const(float(n) if dtype.is_float else n, dtype) for n in kept)


def _with_other_sizes(root: UOp) -> Iterator[UOp]:
    """The term with one size smaller wherever it stands, where that is still a term; and without any axes."""
    yield from _rebuilt(root, {}, flat=True)
    known = sorted({s for n in toposort(root) for s in n.shape or () if isinstance(s, int) and s > 1})
    for old in known:
        for new in range(1, old):
            yield from _rebuilt(root, {old: new}, flat=False)


def _rebuilt(root: UOp, sizes: dict[int, int], *, flat: bool) -> Iterator[UOp]:
    try:
        made = rebuilt(root, lambda node, src: _resized(node, src, sizes, flat=flat))
    except (SoundlineError, ValueError, IndexError):
        return
    yield made


def _resized(node: UOp, src: tuple[UOp, ...], sizes: dict[int, int], *, flat: bool) -> UOp | None:
    if node.op is Op.Param:
        bounds = None if node.arg.bounds is None else tuple(b.value for b in node.arg.bounds)
        whole = [s for s in node.shape or () if isinstance(s, int)]
        shape = () if flat else tuple(sizes.get(s, s) for s in whole)
        return param(
            node.arg.slot, node.dtype, shape, bounds=None if bounds is None else (bounds[0], bounds[1])
        )
    if flat and node.op in (Op.Reshape, Op.Expand):
        return src[0]
    if _is_sizes(node) and all(s.op is Op.Const for s in node.src):
        return UOp(Op.Stack, tuple(const(sizes.get(s.arg.value, s.arg.value), index) for s in node.src))
    return None


# The test ---------------------------------------------------------------------------------------------------------


def paste_ready(name: str, shown: Shown) -> str:
    """A test that builds both sides and holds that they differ on the inputs."""
    text = _Python()
    lines = [f"before = {text.node(shown.before)}", f"after = {text.node(shown.after)}"]
    text.use("soundline.spec.evaluate", "evaluate")
    given = text.inputs(shown.difference.inputs)
    lines.append(f"found = evaluate(before{given})")
    lines.append(f"assert found == {text.array(shown.difference.before)}")
    if shown.difference.after is not None:
        lines.append(f"assert evaluate(after{given}) != found")
    else:
        error = text.use("soundline.spec.errors", "SoundlineError")
        lines += [
            "try:",
            f"    evaluate(after{given})",
            f"except {error}:",
            "    return",
            'raise AssertionError("the right side has a value")',
        ]
    safe = "".join(c if c.isalnum() else "_" for c in name)
    return text.test(f"test_{safe}_is_wrong", lines)


class _Python(Python):
    """Writes nodes as the calls that build them."""

    def inputs(self, inputs: Inputs) -> str:
        """The arguments of `evaluate` behind the program."""
        parts = []
        for name, arrays in (("params", inputs.params), ("buffers", inputs.buffers)):
            if arrays:
                rows = ", ".join(f"{k}: {self.array(a)}" for k, a in sorted(arrays.items()))
                parts.append(f"{name}={{{rows}}}")
        if inputs.ranges:
            parts.append(f"ranges={inputs.ranges!r}")
        return "".join(f", {p}" for p in parts)

    def node(self, node: UOp) -> str:
        """The expression that builds a node."""
        if node.op is Op.Const:
            return self.constant(node.dtype, node.arg.value)
        if node.op is Op.Param:
            return self._param(node)
        shape = sizes_of(node) if node.op is Op.Stack else None
        if shape is not None and all(isinstance(s, int) for s in shape):
            return f"{self.built('shape_source')}({shape!r})"
        return self.call(node.op, [self.node(s) for s in node.src], node.arg)

    def _param(self, node: UOp) -> str:
        parts = [str(node.arg.slot), self.dtype(node.dtype)]
        if node.shape:
            parts.append(repr(node.shape))
        if node.arg.bounds is not None:
            low, high = (self.value(b.value) for b in node.arg.bounds)
            parts.append(f"bounds=({low}, {high})")
        return f"{self.built('param')}({', '.join(parts)})"
