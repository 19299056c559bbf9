"""
Counterexamples with shapes
===========================

From a condition that should follow and does not: the smallest sizes that break it, inputs that show it, and both
sides as the evaluator has them. What is smaller, `order` says. The solver gives sizes below which there is nothing;
where that is not sure, all smaller ones are tried.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from soundline.spec.arrays import Array, Cell, Invalid, positions, same_cell
from soundline.spec.dtypes import DType, Element
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.instances import Goal
from soundline.spec.node import UOp, toposort
from soundline.spec.op_schema import Op
from soundline.spec.uop import element_of
from soundline.verify.smt.arithmetic import Question, Solution
from soundline.verify.smt.closing import case_of
from soundline.verify.smt.fold_inputs import telling
from soundline.verify.smt.formulas import at_most, equal, less
from soundline.verify.smt.gather_inputs import gathering
from soundline.verify.smt.order import Key, counted, elements_key, simplicity, sizes_key
from soundline.verify.smt.polynomials import ZERO, Poly
from soundline.verify.smt.python_text import literal, paste_ready
from soundline.verify.smt.replays import CONFIRMED, Inputs, Shown, concrete, number, replay, sizes, slots
from soundline.verify.smt.sampling import directed
from soundline.verify.smt.solving import Budget
from soundline.verify.smt.steps import element_text, nested, steps
from soundline.verify.verdicts import Counterexample, Difference

MOST_ELEMENTS = 4096
"""Inputs with more elements than this are not tried."""

MOST_SMALLER = 40
"""So many smaller sizes are tried again, where the solver might have overlooked them."""

FEW_FILLS = 3
"""With so many inputs each."""

PLAIN_ELEMENTS = (24, 12, 6, 4, 3, 2, 2)
"""How many plain elements are combined, by the number of elements in all inputs."""

LARGER = (4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 128, 129, 256)
"""Sizes at which something new may show in a fold."""

MOST_FOLDED = 300
"""Over so many elements a side may fold at such sizes."""

MANY = 32
"""Above this the sizes beside the largest are small."""

MOST_DIFFERENCES = 4
"""So many of the elements that differ are told one by one."""

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
    natural = [_is_size(goal, n) for n in names]
    seen: set[tuple[int, ...]] = set()
    for most in range(1, 4):
        offsets = (0, 1, -1, 2, -2)[: 2 * most - 1]
        choices = [range(most, -1, -1) if is_size else offsets for is_size in natural]
        for chosen in sorted(islice(product(*choices), 2000), key=lambda c: _key(c, natural)):
            if chosen not in seen:
                seen.add(chosen)
                yield dict(zip(names, chosen, strict=True))
    yield from _larger_sizes(goal, names, natural)


def _larger_sizes(goal: Goal, names: Sequence[str], natural: Sequence[bool]) -> Iterator[dict[str, int]]:
    """Sizes at which a fold wraps or a tile is not full; only for goals with folds and one or two sizes."""
    if not 0 < sum(natural) <= 2 or not _folds(goal):
        return
    for largest in LARGER:
        others = (1, 2) if largest > MANY else (1, 2, largest - 1, largest)
        choices = [{0} if not is_size else {largest, *others} for is_size in natural]
        for chosen in product(*(sorted(c) for c in choices)):
            found = dict(zip(names, chosen, strict=True))
            if max(chosen) == largest and _meets_conditions(goal, found):
                yield found


def _folds(goal: Goal) -> bool:
    return any(n.op is Op.Reduce for side in _sides(goal) for n in toposort(side))


def _sides(goal: Goal) -> list[UOp]:
    return [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]


def _folded(goal: Goal, chosen: Mapping[str, int]) -> int:
    """Over how many elements a side folds, those of a fold inside another as often as that is made."""
    given = {name: number(n) for name, n in chosen.items()}
    found: dict[UOp, int] = {}
    for node in (n for side in _sides(goal) for n in toposort(side)):
        own = 1
        if node.op is Op.Reduce:
            source, *ranges = node.src
            axes = (source.shape[k] for k in node.arg.axes) if source.shape else ()
            lengths = concrete((*axes, *(r.src[0] for r in ranges)), goal, given)
            own = math.prod(lengths)
        found[node] = own * max((found[s] for s in node.src), default=1)
    return max(found[side] for side in _sides(goal))


def _meets_conditions(goal: Goal, chosen: Mapping[str, int]) -> bool:
    """Whether the conditions that speak of sizes alone hold of these, and the sides do not fold too much."""
    bound = {node.arg.slot: number(chosen[name]) for name, node in goal.variables.items() if name in chosen}
    own = [
        h for h in goal.hypotheses if {n.arg.slot for n in toposort(h) if n.op is Op.Param} <= bound.keys()
    ]
    try:
        return all(evaluate(h, bound).item() for h in own) and _folded(goal, chosen) <= MOST_FOLDED
    except SoundlineError:
        return False


def _key(chosen: Sequence[int], natural: Sequence[bool]) -> Key:
    """The place of sizes and offsets in the order of counterexamples."""
    return sizes_key(
        [n for n, is_size in zip(chosen, natural, strict=True) if is_size],
        [n for n, is_size in zip(chosen, natural, strict=True) if not is_size],
    )


def _smaller_sizes(goal: Goal, chosen: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The sizes and offsets that are smaller than these, the smallest first, as far as there are few."""
    names = sizes(goal)
    natural = [_is_size(goal, n) for n in names]
    here = [chosen.get(n, 0) for n in names]
    limit = _key(here, natural)
    is_empty, total = limit[:2]
    most = 3 if is_empty else min(total, 3)
    near = min(1, max((abs(n) for n, is_size in zip(here, natural, strict=True) if not is_size), default=0))
    choices = [
        range(0 if is_empty else 1, most + 1) if is_size else range(-near, near + 1) for is_size in natural
    ]
    few = [c for c in islice(product(*choices), 4000) if _key(c, natural) < limit]
    for smaller in sorted(few, key=lambda c: _key(c, natural))[:MOST_SMALLER]:
        yield dict(zip(names, smaller, strict=True))


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
    for smaller in _smaller_sizes(goal, chosen):
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
    tensors = {name: node for name, node in goal.variables.items() if name not in given}
    try:
        shapes = {name: concrete(node.shape, goal, given) for name, node in tensors.items()}
    except SoundlineError:
        return None
    if any(n < 0 for s in shapes.values() for n in s) or sum(map(math.prod, shapes.values())) > MOST_ELEMENTS:
        return None
    dtypes = {name: node.dtype for name, node in tensors.items()}
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
        return f"ill-formed [{refusal.rule}]: {refusal.op} wants {refusal.wants}"
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
