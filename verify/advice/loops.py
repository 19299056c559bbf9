"""
Terms on which rewriting does not terminate
===========================================

This module runs the engine itself: the engine gets the left side of a rule, with constants that meet the conditions,
and rewrites it with the rules of the run. It raises `RewriteError` where the rules form a cycle or do not terminate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

from soundline.impl.rewriting.engine import RewriteError, Step, rewrite
from soundline.spec.dtypes import DType, bool_, float32, index, int32
from soundline.spec.errors import SoundlineError
from soundline.spec.ops.node import Op, UOp, substitute
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.rules.instances import Goal, dtypes_of, goals
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Value, Vector, show
from soundline.spec.uop import const, element_of, param
from soundline.verify.advice.results import Loop

LIMIT = 200
"""The number of applications after which the rules are assumed not to terminate."""

STEPS = 6
"""The most steps of a loop that are shown."""

MOST_TERMS = 60
"""The most terms that are rewritten for one rule."""

SMALL = (0, 1, 2, 3, -1)

NOT_WITH_ALL = "; with all rules of the run, which are tried in their order, no such term was found"


def looping(stated: Rule, stuck: Sequence[Rule], rules: Sequence[Rule]) -> Loop | None:
    """A term on which the rules do not terminate, built from the left side of this one."""
    licences = sorted({name for r in rules for name in r.licences})
    starts = list(islice(_starts(stated, stuck), MOST_TERMS))
    for used in (tuple(rules), tuple(stuck)):
        for goal, start in starts:
            loop = _tried(goal, start, used, licences)
            if loop is not None and stated.id in loop.rules:
                alone = len(used) < len(rules)
                return replace(loop, text=loop.text + NOT_WITH_ALL) if alone else loop
    return None


def _tried(goal: Goal, start: UOp, rules: tuple[Rule, ...], licences: Sequence[str]) -> Loop | None:
    seen: list[tuple[Step, UOp, UOp]] = []
    names = {node: name for name, node in goal.variables.items()}
    try:
        rewrite(start, rules, limit=LIMIT, licences=licences, watch=lambda r, a, b: seen.append((r, a, b)))
    except RewriteError as error:
        steps = tuple((text_of(before, names), rule.id) for rule, before, _ in seen[:STEPS])
        used = tuple(r.id for r in rules if any(r is s for s, _, _ in seen))
        growing = "more than" in error.message
        last = text_of(seen[min(len(seen), STEPS) - 1][2], names) if seen else text_of(start, names)
        return Loop(used, steps, f"{'grows on and on' if growing else 'comes back'}: {last}")
    except SoundlineError:
        return None  # rules that the engine cannot use
    return None


# where to start ---------------------------------------------------------------------------------------------------

_FIRST = (int32, index, float32, bool_)


def _starts(stated: Rule, others: Sequence[Rule]) -> Iterator[tuple[Goal, UOp]]:
    """The left side with constants for its Consts; then with other left sides in the places of its values."""
    for dtype in sorted(dtypes_of(stated), key=lambda d: d not in _FIRST)[:3]:
        for goal in islice(goals(stated, dtype, max_rank=2), 24):
            for start in islice(_with_constants(goal), 8):
                yield goal, start
            yield from ((goal, start) for start in _with_constants_for_values(goal))
    for dtype in sorted(dtypes_of(stated), key=lambda d: d not in _FIRST)[:1]:
        for goal in islice(goals(stated, dtype, max_rank=1), 2):
            for other in others:
                yield from ((goal, start) for start in _nested(goal, other, dtype))


def _with_constants(goal: Goal) -> Iterator[UOp]:
    """The left side with numbers for constants and bounds."""
    kinds = goal.rule.kinds
    names = [n for n in goal.variables if kinds.get(n) and kinds[n].kind == "Const"]
    bounds = [n for n in goal.variables if n.endswith((".lo", ".hi"))]
    for chosen in product(SMALL, repeat=len(names) + len(bounds)):
        values = dict(zip((*names, *bounds), chosen, strict=True))
        bound: dict[UOp, UOp] = {}
        for name, number in values.items():
            node = goal.variables[name]
            bound[node] = const(element_of(number, node.dtype), node.dtype)
        for name in (n for n in goal.variables if f"{n}.lo" in values):
            low, high = values[f"{name}.lo"], values[f"{name}.hi"]
            if low > high:
                break
            bound[goal.variables[name]] = _between(goal.variables[name], low, high)
        else:
            yield substitute(goal.left, bound)
    return


def _with_constants_for_values(goal: Goal) -> Iterator[UOp]:
    """The left side with a constant in the place of one of its values, too."""
    start = next(_with_constants(goal), None)
    for name, node in goal.variables.items():
        kind = goal.rule.kinds.get(name)
        if start is not None and kind is not None and kind.kind == "Value":
            yield substitute(start, {node: const(element_of(2, node.dtype), node.dtype)})


def _between(node: UOp, low: int, high: int) -> UOp:
    """A Param with these bounds, in the place of a variable with bounds."""
    ends = element_of(low, node.dtype), element_of(high, node.dtype)
    return param(node.arg.slot, node.dtype, bounds=ends)


def _nested(goal: Goal, other: Rule, dtype: DType) -> Iterator[UOp]:
    """The left side with that of another rule in the place of one of its values."""
    if dtype not in dtypes_of(other):
        return
    for inner in islice(goals(other, dtype, max_rank=1), 2):
        shifted = {
            node: UOp(Op.Param, node.src, _moved(node.arg, 100), node.tag)
            for node in inner.variables.values()
        }
        for node in goal.variables.values():
            left = substitute(inner.left, shifted)
            if left.dtype is node.dtype and left.shape == node.shape == ():
                yield substitute(goal.left, {node: left})


def _moved(arg: Any, by: int) -> Any:
    return replace(arg, slot=arg.slot + by)


# terms ------------------------------------------------------------------------------------------------------------


def text_of(node: UOp, names: dict[UOp, str]) -> str:
    """A node in the notation of rules."""
    return show(_term(node, names))


def _term(node: UOp, names: dict[UOp, str]) -> Value:
    if node in names:
        return Value("var", (names[node],))
    if node.op is Op.Const:
        return Value("literal", (node.arg.value,))
    if node.op is Op.Param:
        return Value("var", (f"x{node.arg.slot}",))
    if node.op in (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink):
        vectors = [Vector("entries", _entries(s, names)) for s in node.src[1:]]
        return Value(node.op, (_term(node.src[0], names), *vectors))
    if node.op is Op.Reduce:
        reduced, *ranges = (_term(s, names) for s in node.src)
        op, axes = node.arg.op, node.arg.axes
        return Value("over", (op, reduced, *ranges)) if ranges else Value(Op.Reduce, (reduced, op, axes))
    extra = () if node.arg is None else (node.arg,)
    return Value(node.op, (*(_term(s, names) for s in node.src), *extra))


def _entries(source: UOp, names: dict[UOp, str]) -> tuple[Value, ...]:
    sizes = sizes_of(source) or ()
    return tuple(Value("literal", (s,)) if isinstance(s, int) else _term(s, names) for s in sizes)
