"""
Counterexamples with shapes
===========================

From a condition that should follow and does not: at the sizes that break it (`verify.smt.counterexamples.sizes`),
inputs that show it, as plain as can be, and both sides as the evaluator has them. The solver gives sizes below which
there is nothing; where that is not sure, all smaller ones are tried.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from soundline.spec.arrays.arrays import Array, Cell, Invalid, positions, same_cell
from soundline.spec.dtypes import DType, Element
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.instances import Goal
from soundline.spec.uop import element_of
from soundline.verify.smt.counterexamples.closing import case_of
from soundline.verify.smt.counterexamples.gather_inputs import gathering
from soundline.verify.smt.counterexamples.python_text import literal, paste_ready
from soundline.verify.smt.counterexamples.reduction_inputs import telling
from soundline.verify.smt.counterexamples.replays import (
    CONFIRMED,
    Inputs,
    Shown,
    number,
    replay,
    shapes_at,
    sizes,
    slots,
)
from soundline.verify.smt.counterexamples.sizes import smaller_sizes
from soundline.verify.smt.goals.order import Key, counted, elements_key, simplicity
from soundline.verify.smt.goals.sampling import directed
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.goals.steps import element_text, nested, steps
from soundline.verify.verdicts.verdict import Counterexample, Difference

MOST_ELEMENTS = 4096
"""Inputs with more elements than this are not tried."""

FEW_FILLS = 3
"""The number of inputs that are tried at each of the smaller sizes."""

PLAIN_ELEMENTS = (24, 12, 6, 4, 3, 2, 2)
"""How many plain elements are combined, by the number of elements in all inputs."""

MOST_DIFFERENCES = 4
"""The most differing elements that are reported one by one."""

Hint = tuple[str, tuple[int, ...], Element]
"""An element that is believed to show the difference: (variable, position, element)."""


# inputs -----------------------------------------------------------------------------------------------------------


@dataclass
class Tries:
    """How many inputs met the conditions of an instance and showed no difference, and which sizes were chosen."""

    in_vain: int = 0
    seen: set[tuple[str, tuple[tuple[str, int], ...]]] = field(default_factory=set)


def show_difference(
    goal: Goal,
    chosen: Mapping[str, int],
    hints: Iterable[Hint],
    budget: Budget,
    tries: Tries,
    most: int = 100,
) -> Counterexample | None:
    """A counterexample with these sizes; None where none of the first inputs, as many as `most`, shows a difference."""
    found = _shown_at(goal, chosen, list(hints), budget, tries, most)
    if found is None:
        return None
    for smaller in smaller_sizes(goal, chosen):
        place = (goal.label, tuple(smaller.items()))
        if place not in tries.seen:
            better = _shown_at(goal, smaller, (), budget, tries, FEW_FILLS)
            if better is not None:
                return told_counterexample(goal, *better)
    return told_counterexample(goal, *found)


def _shown_at(
    goal: Goal,
    chosen: Mapping[str, int],
    hints: Sequence[Hint],
    budget: Budget,
    tries: Tries,
    most: int,
) -> tuple[Inputs, Shown] | None:
    """Inputs of these sizes that show a difference, as plain as can be; None where none is found."""
    tries.seen.add((goal.label, tuple(chosen.items())))
    given = {name: number(chosen.get(name, 0)) for name in sizes(goal)}
    shapes = shapes_at(goal, given, MOST_ELEMENTS)
    if shapes is None:
        return None
    dtypes = {name: goal.variables[name].dtype for name in shapes}
    special = [*telling(goal, shapes, dtypes), *gathering(goal, shapes, dtypes)]
    for fill in islice(_fills(shapes, dtypes, hints, budget, special), most + len(special)):
        inputs: Inputs = {**given, **fill}
        shown = replay(goal, inputs)
        if shown is not None and shown.differs:
            return _plainest(goal, inputs, shown)
        tries.in_vain += shown is not None
    return None


def _fills(
    shapes: Mapping[str, tuple[int, ...]],
    dtypes: Mapping[str, DType],
    hints: Sequence[tuple[str, tuple[int, ...], Element]],
    budget: Budget,
    special: Iterable[dict[str, Array]] = (),
) -> Iterator[dict[str, Array]]:
    """Inputs to try: 1, 2, 3 …; the hints among those; special ones; directed elements of the dtype; random ones."""
    count = iter(range(1, MOST_ELEMENTS + 1))
    plain = {
        name: Array(
            dtypes[name], shape, tuple(counted(dtypes[name], next(count)) for _ in range(math.prod(shape)))
        )
        for name, shape in shapes.items()
    }
    yield plain
    hinted = {name: _with(array, [h[1:] for h in hints if h[0] == name]) for name, array in plain.items()}
    yield hinted
    yield from special
    for background in (False, True):
        constant = {n: _filled(a, element_of(int(background), a.dtype)) for n, a in plain.items()}
        yield {name: _with(array, [h[1:] for h in hints if h[0] == name]) for name, array in constant.items()}
    generator = random.Random(budget.seed)  # noqa: S311  (a search, not a secret)
    for most in (2, 4, 8, 16, 60):
        for _ in range(12):
            yield {n: _chosen(a, directed(a.dtype, most), generator) for n, a in plain.items()}


def _with(array: Array, placed: Iterable[tuple[tuple[int, ...], Element]]) -> Array:
    cells = dict(zip(positions(array.shape), array.elements, strict=True))
    cells |= {at: element for at, element in placed if at in cells}
    return Array(array.dtype, array.shape, tuple(cells.values()))


def _filled(array: Array, element: Element) -> Array:
    return Array(array.dtype, array.shape, (element,) * len(array.elements))


def _chosen(array: Array, among: Sequence[Element], generator: random.Random) -> Array:
    return Array(array.dtype, array.shape, tuple(generator.choice(among) for _ in array.elements))


def _plainest(goal: Goal, inputs: Inputs, shown: Shown) -> tuple[Inputs, Shown]:
    """The same with the plainest elements that still show a difference, as far as they are few enough to try."""
    tensors = {name: a for name, a in inputs.items() if name not in sizes(goal)}
    if _place(tensors) == (0,):
        return inputs, shown
    inputs, shown = _plainer(goal, inputs, shown)
    best = _place({name: inputs[name] for name in tensors})
    for candidate in _plain_elements(tensors):
        if _place(candidate) >= best:
            break
        found = replay(goal, {**inputs, **candidate})
        if found is not None and found.differs:
            return {**inputs, **candidate}, found
    return inputs, shown


def _place(tensors: Mapping[str, Array]) -> Key:
    """The place of inputs in the order of counterexamples."""
    cells = [(a.dtype, e) for a in tensors.values() for e in a.elements if not isinstance(e, Invalid)]
    return elements_key(cells)


def _plain_elements(tensors: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """Inputs of these shapes that hold a few plain elements, the smallest first; none where they are many."""
    slots = [a.dtype for a in tensors.values() for _ in a.elements]
    if len(slots) > len(PLAIN_ELEMENTS):
        return
    lists = [directed(d, PLAIN_ELEMENTS[len(slots) - 1]) for d in slots]
    made = [_filled_in_turn(tensors, chosen) for chosen in product(*lists)]
    yield from sorted(made, key=_place)


def _filled_in_turn(tensors: Mapping[str, Array], elements: Sequence[Element]) -> dict[str, Array]:
    filled, at = {}, 0
    for name, array in tensors.items():
        count = len(array.elements)
        filled[name] = Array(array.dtype, array.shape, tuple(elements[at : at + count]))
        at += count
    return filled


def _plainer(goal: Goal, inputs: Inputs, shown: Shown) -> tuple[Inputs, Shown]:
    """The same with plainer elements, as long as a difference shows: one after another made smaller."""
    for name, array in inputs.items():
        if name in sizes(goal):
            continue
        for k, at in enumerate(islice(positions(array.shape), 64)):
            for element in directed(array.dtype, 9):
                if _is_plain(array.dtype, inputs[name].elements[k], element):
                    break
                simpler = {**inputs, name: _with(inputs[name], [(at, element)])}
                found = replay(goal, simpler)
                if found is not None and found.differs:
                    inputs, shown = simpler, found
                    break
    return inputs, shown


def _is_plain(dtype: DType, cell: Cell, element: Element) -> bool:
    """Whether a cell holds an element that is as small as this one."""
    return isinstance(cell, Invalid) or simplicity(dtype, cell) <= simplicity(dtype, element)


# telling ----------------------------------------------------------------------------------------------------------


def told_counterexample(goal: Goal, inputs: Inputs, shown: Shown) -> Counterexample:
    """What is shown of inputs on which the sides differ."""
    bindings = tuple((name, _binding(goal, name, inputs)) for name in goal.rule.kinds)
    left, right = shown.left, shown.right
    wrong = _wrong(left, right)
    said = array_text(right, wrong) if isinstance(right, Array) else refusal_text(right)
    at = list(positions(left.shape))
    bound = {node: inputs[name] for name, node in goal.variables.items() if name in inputs}
    second = goal.right if isinstance(goal.right, UOp) and isinstance(right, Array) else None
    return Counterexample(
        goal.label,
        bindings,
        array_text(left, wrong),
        said,
        paste_ready(goal, inputs, shown),
        _note(left, right),
        differences=tuple(
            Difference(
                at[k], element_text(left.dtype, left.elements[k]), element_text(left.dtype, right.elements[k])
            )
            for k in wrong[:MOST_DIFFERENCES]
            if isinstance(right, Array)
        ),
        differing=len(wrong),
        steps=steps(goal, slots(goal, inputs)),
        replays=(CONFIRMED,),
        case=case_of(goal.left, second, bound),
    )


def _wrong(left: Array, right: Array | SoundlineError) -> list[int]:
    """Where two sides with one dtype and shape differ."""
    if not isinstance(right, Array) or right.shape != left.shape or right.dtype is not left.dtype:
        return []
    rows = enumerate(zip(left.elements, right.elements, strict=True))
    return [k for k, (a, b) in rows if not same_cell(left.dtype, a, b)]


def _note(left: Array, right: Array | SoundlineError) -> str:
    """What is wrong with the right side where it is not only elements."""
    if not isinstance(right, Array):
        return "the left side is valid, the right side is not"
    if right.dtype is not left.dtype:
        return f"the dtypes differ: {left.dtype} and {right.dtype}"
    return "" if right.shape == left.shape else f"the shapes differ: {left.shape} and {right.shape}"


def array_text(array: Array, wrong: Iterable[int] = ()) -> str:
    """An array for a reader: dtype, shape, and nested lists in which the elements that differ stand in « »."""
    marked = set(wrong)
    cells = [f"«{literal(e)}»" if k in marked else literal(e) for k, e in enumerate(array.elements)]
    return f"{array.dtype} {array.shape}: {nested(cells, array.shape)}"


def refusal_text(refusal: SoundlineError) -> str:
    """Why a side has no value."""
    if isinstance(refusal, IllFormed):
        return f"ill-formed [{refusal.rule}]: {refusal.op} requires: {refusal.wants}"
    return f"no value [{refusal.rule}]: {refusal.message}"


def _binding(goal: Goal, name: str, inputs: Inputs) -> str:
    """What a variable of the rule is in the counterexample."""
    kind, bound = goal.rule.kinds[name].kind, goal.env.bound[name]
    if kind in ("Shape", "Offset"):
        return repr(tuple(inputs[f"{name}[{k}]"].elements[0] for k in range(len(bound))))
    if isinstance(bound, UOp) and bound.op is Op.Range:
        return f"range({evaluate(bound.src[0], slots(goal, inputs)).item()})"
    if kind == "Interval":
        ends = [_cell(inputs[f"{name}.{end}"].elements[0]) for end in ("lo", "hi")]
        return f"{_cell(inputs[name].elements[0])} in [{', '.join(ends)}]"
    if name in inputs:
        array = inputs[name]
        return array_text(array) if kind == "Tensor" or array.shape else _cell(array.elements[0])
    return bound.name if isinstance(bound, Op | DType) else repr(bound)


def _cell(cell: Cell) -> str:
    return literal(cell)
