"""
Counterexamples with shapes
===========================

From a condition that should follow and does not: the smallest sizes that break it, inputs that show it, and both
sides as the evaluator has them. Sizes are made small in this order: no axis is empty, if that can be; their sum; the
sizes themselves, in the order of declaration; then the offsets. Inputs hold 1, 2, 3 … where that shows the difference,
so that the reader sees which element went astray.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from soundline.spec.arrays import Array, Cell, positions, same_cell
from soundline.spec.dtypes import DType, Element, bool_
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.instances import Goal
from soundline.spec.op_schema import Op
from soundline.spec.uop import element_of
from soundline.verify.smt.arithmetic import Question, Solution
from soundline.verify.smt.formulas import at_most, equal, less
from soundline.verify.smt.polynomials import ZERO, Poly
from soundline.verify.smt.python_text import literal, paste_ready
from soundline.verify.smt.replays import Inputs, Shown, concrete, number, replay, sizes
from soundline.verify.smt.sampling import directed
from soundline.verify.smt.solving import Budget
from soundline.verify.verdicts import Counterexample

MOST_ELEMENTS = 4096
"""Inputs with more elements than this are not tried."""

Hint = tuple[str, tuple[int, ...], Element]
"""An element that is believed to show the difference: (variable, position, element)."""


# sizes ------------------------------------------------------------------------------------------------------------


def smallest(question: Question, goal: Goal) -> Solution | None:
    """A solution with the smallest sizes and then the smallest offsets; None where no solution is found."""
    names = sizes(goal)
    natural = [n for n in names if _is_size(goal, n)]
    found = question.solution()
    if found is None:
        return None
    filled = question.solution(*(less(ZERO, Poly.of(n)) for n in natural))
    if filled is not None:
        found = filled
        for name in natural:
            question.add(less(ZERO, Poly.of(name)))
    total = sum((Poly.of(n) for n in natural), ZERO)
    found = _least(question, total, found)
    for name in natural:
        found = _least(question, Poly.of(name), found)
    for name in names:
        if name not in natural:
            found = _nearest_zero(question, name, found)
    return found


def _is_size(goal: Goal, name: str) -> bool:
    """Whether a variable is never negative: a Size, an entry of a Shape, or an axis of a Tensor."""
    kind = goal.rule.kinds.get(name.partition("[")[0].partition(".")[0])
    return kind is not None and kind.kind in ("Size", "Shape", "Tensor")


def _least(question: Question, poly: Poly, found: Solution) -> Solution:
    """A solution with the least value ≥ 0 of a polynomial, which is then demanded."""
    low, high = 0, _value(poly, found)
    while low < high:
        middle = low + min((high - low) // 2, max(low, 4))
        better = question.solution(at_most(poly, Poly.of(middle)))
        if better is None:
            low = middle + 1
        else:
            found, high = better, _value(poly, better)
    question.add(at_most(poly, Poly.of(high)))
    return question.solution() or found


def _nearest_zero(question: Question, name: str, found: Solution) -> Solution:
    """A solution with an index nearest to zero, the positive one first."""
    index = Poly.of(name)
    for bound in range(abs(_value(index, found)) + 1):
        for value in dict.fromkeys((bound, -bound)):
            better = question.solution(equal(index, Poly.of(value)))
            if better is not None:
                question.add(equal(index, Poly.of(value)))
                return better
    return found


def _value(poly: Poly, solution: Solution) -> int:
    return poly.value({atom: solution.ints.get(atom, 0) for atom in poly.atoms})


def small_sizes(goal: Goal) -> Iterator[dict[str, int]]:
    """Small sizes and offsets, the smallest first, for goals on which the solver has nothing to say."""
    names = sizes(goal)
    for most in range(1, 4):
        choices = [range(most, -1, -1) if _is_size(goal, n) else range(most) for n in names]
        for chosen in sorted(islice(product(*choices), 2000), key=lambda c: (0 in c, sum(c), c)):
            yield dict(zip(names, chosen, strict=True))


# inputs -----------------------------------------------------------------------------------------------------------


@dataclass
class Tries:
    """How many inputs met the conditions of an instance and showed no difference."""

    in_vain: int = 0


def show_difference(
    goal: Goal,
    chosen: Mapping[str, int],
    hints: Iterable[Hint],
    budget: Budget,
    tries: Tries,
    most: int = 100,
) -> Counterexample | None:
    """A counterexample with these sizes; None where none of the first inputs, as many as `most`, shows a difference."""
    given = {name: number(chosen.get(name, 0)) for name in sizes(goal)}
    tensors = {name: node for name, node in goal.variables.items() if name not in given}
    try:
        shapes = {name: concrete(node.shape, goal, given) for name, node in tensors.items()}
    except SoundlineError:
        return None
    if any(n < 0 for s in shapes.values() for n in s) or sum(map(math.prod, shapes.values())) > MOST_ELEMENTS:
        return None
    dtypes = {name: node.dtype for name, node in tensors.items()}
    for fill in islice(_fills(shapes, dtypes, list(hints), budget), most):
        inputs: Inputs = {**given, **fill}
        shown = replay(goal, inputs)
        if shown is not None and shown.differs:
            inputs, shown = _plainer(goal, inputs, shown)
            return _told(goal, inputs, shown)
        tries.in_vain += shown is not None
    return None


def _fills(
    shapes: Mapping[str, tuple[int, ...]],
    dtypes: Mapping[str, DType],
    hints: Sequence[tuple[str, tuple[int, ...], Element]],
    budget: Budget,
) -> Iterator[dict[str, Array]]:
    """Inputs to try: 1, 2, 3 …; the hints among those; the directed elements of the dtype; random ones."""
    count = iter(range(1, MOST_ELEMENTS + 1))
    plain = {
        name: Array(
            dtypes[name], shape, tuple(_counted(dtypes[name], next(count)) for _ in range(math.prod(shape)))
        )
        for name, shape in shapes.items()
    }
    yield plain
    hinted = {name: _with(array, [h[1:] for h in hints if h[0] == name]) for name, array in plain.items()}
    yield hinted
    for background in (False, True):
        constant = {n: _filled(a, element_of(int(background), a.dtype)) for n, a in plain.items()}
        yield {name: _with(array, [h[1:] for h in hints if h[0] == name]) for name, array in constant.items()}
    generator = random.Random(budget.seed)  # noqa: S311  (a search, not a secret)
    for most in (2, 4, 8, 16, 60):
        for _ in range(12):
            yield {n: _chosen(a, directed(a.dtype, most), generator) for n, a in plain.items()}


def _counted(dtype: DType, count: int) -> Element:
    """The elements 1, 2, 3 … of a dtype; True and False in turn."""
    return count % 2 == 1 if dtype is bool_ else element_of(count, dtype)


def _with(array: Array, placed: Iterable[tuple[tuple[int, ...], Element]]) -> Array:
    cells = dict(zip(positions(array.shape), array.elements, strict=True))
    cells |= {at: element for at, element in placed if at in cells}
    return Array(array.dtype, array.shape, tuple(cells.values()))


def _filled(array: Array, element: Element) -> Array:
    return Array(array.dtype, array.shape, (element,) * len(array.elements))


def _chosen(array: Array, among: Sequence[Element], generator: random.Random) -> Array:
    return Array(array.dtype, array.shape, tuple(generator.choice(among) for _ in array.elements))


def _plainer(goal: Goal, inputs: Inputs, shown: Shown) -> tuple[Inputs, Shown]:
    """The same with plainer elements, as long as a difference shows: one element after another made 1 or 0."""
    for name, array in inputs.items():
        if name in sizes(goal) or not array.elements or _is_counted(array):
            continue
        for k, at in enumerate(islice(positions(array.shape), 64)):
            for value in (0, 1):
                element = element_of(value, array.dtype)
                if same_cell(array.dtype, inputs[name].elements[k], element):
                    break
                simpler = {**inputs, name: _with(inputs[name], [(at, element)])}
                found = replay(goal, simpler)
                if found is not None and found.differs:
                    inputs, shown = simpler, found
                    break
    return inputs, shown


def _is_counted(array: Array) -> bool:
    """Whether an array holds successive numbers, which are plain enough."""
    if array.dtype is bool_ or not isinstance(array.elements[0], int | float):
        return False
    first = array.elements[0]
    return array.elements == tuple(element_of(first + k, array.dtype) for k in range(len(array.elements)))


# telling ----------------------------------------------------------------------------------------------------------


def _told(goal: Goal, inputs: Inputs, shown: Shown) -> Counterexample:
    bindings = tuple((name, _binding(goal, name, inputs)) for name in goal.rule.kinds)
    left, right = shown.left, shown.right
    wrong: set[int] = set()
    if isinstance(right, Array) and right.shape == left.shape and right.dtype is left.dtype:
        rows = enumerate(zip(left.elements, right.elements, strict=True))
        wrong = {k for k, (a, b) in rows if not same_cell(left.dtype, a, b)}
    said = array_text(right, wrong) if isinstance(right, Array) else refusal_text(right)
    note = "" if isinstance(right, Array) else "the left side is valid, the right side is not"
    return Counterexample(
        goal.label, bindings, array_text(left, wrong), said, paste_ready(goal, inputs, shown), note
    )


def array_text(array: Array, wrong: Iterable[int] = ()) -> str:
    """An array for a reader: dtype, shape, and nested lists in which the elements that differ stand in « »."""
    marked = set(wrong)
    cells = [f"«{literal(e)}»" if k in marked else literal(e) for k, e in enumerate(array.elements)]
    return f"{array.dtype} {array.shape}: {_nested(cells, array.shape)}"


def _nested(cells: Sequence[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return cells[0]
    step = math.prod(shape[1:])
    rows = [_nested(cells[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]
    return f"[{', '.join(rows)}]"


def refusal_text(refusal: SoundlineError) -> str:
    """Why a side has no value."""
    if isinstance(refusal, IllFormed):
        return f"ill-formed [{refusal.rule}]: {refusal.op} wants {refusal.wants}"
    return f"no value [{refusal.rule}]: {refusal.message}"


def _binding(goal: Goal, name: str, inputs: Inputs) -> str:
    """What a variable of the rule is in the counterexample."""
    kind, bound = goal.rule.kinds[name].kind, goal.env.bound[name]
    if kind in ("Shape", "Offset"):
        return repr(tuple(inputs[f"{name}[{k}]"].elements[0] for k in range(len(bound))))
    if kind == "Interval":
        ends = [_cell(inputs[f"{name}.{end}"].elements[0]) for end in ("lo", "hi")]
        return f"{_cell(inputs[name].elements[0])} in [{', '.join(ends)}]"
    if name in inputs:
        array = inputs[name]
        return array_text(array) if kind == "Tensor" else _cell(array.elements[0])
    return bound.name if isinstance(bound, Op | DType) else repr(bound)


def _cell(cell: Cell) -> str:
    return literal(cell)
