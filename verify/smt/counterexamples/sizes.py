"""
Sizes of counterexamples
========================

Which sizes and offsets an instance is tried at: the smallest ones that the solver finds, all that are smaller than
those, and small ones in their order where the solver has no answer. `verify.smt.goals.order` defines the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product

from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.rules.instances import Goal
from soundline.spec.rules.notation import named_sizes
from soundline.verify.smt.counterexamples.replays import concrete, number, sizes
from soundline.verify.smt.goals.order import Key, sizes_key
from soundline.verify.smt.integers.arithmetic import Question, Solution
from soundline.verify.smt.integers.formulas import at_most, equal, less
from soundline.verify.smt.integers.polynomials import ZERO, Poly

MOST_SMALLER = 40
"""The number of smaller sizes that are tried again where the solver may have missed them."""

LARGER = (4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 128, 129, 256)
"""Sizes at which something new may show in a reduction."""

MOST_FOLDED = 300
"""Over so many elements a side may reduce at such sizes."""

MANY = 32
"""Above this the sizes beside the largest are small."""


def smallest(question: Question, goal: Goal) -> Solution | None:
    """A solution with the smallest sizes and then the smallest offsets; None where no solution is found."""
    names = sizes(goal)
    natural = [n for n in names if _is_size(goal, n)]
    axes = [n for n in names if is_axis(goal, n)]
    found = question.solution()
    if found is None:
        return None
    filled = question.solution(*(less(ZERO, Poly.of(n)) for n in axes))
    if filled is not None:
        found = filled
        for name in axes:
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


def is_axis(goal: Goal, name: str) -> bool:
    """Whether a size is that of an axis of a variable, or the end of a range: not one that merely counts something."""
    kinds = goal.rule.kinds
    kind = kinds.get(name)
    if kind is None or kind.kind != "Size":
        return _is_size(goal, name)
    return any(name in named_sizes(k) for k in kinds.values() if k.kind in ("Tensor", "Range"))


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
    place = place_of(goal)
    seen: set[tuple[int, ...]] = set()
    for most in range(1, 4):
        offsets = (0, 1, -1, 2, -2)[: 2 * most - 1]
        choices = [range(most, -1, -1) if is_size else offsets for is_size in natural]
        for chosen in sorted(islice(product(*choices), 2000), key=place):
            if chosen not in seen:
                seen.add(chosen)
                yield dict(zip(names, chosen, strict=True))
    for chosen in _determined_sizes(goal, names, natural):
        if chosen not in seen:
            seen.add(chosen)
            yield dict(zip(names, chosen, strict=True))
    yield from _larger_sizes(goal, names, natural)


def _determined_sizes(goal: Goal, names: Sequence[str], natural: Sequence[bool]) -> Iterator[tuple[int, ...]]:
    """Small sizes and offsets, and what conditions such as ``n == a * b`` make of these for the others."""
    slots = {goal.variables[name].arg.slot: name for name in names}
    told: dict[str, UOp] = {}
    for h in goal.hypotheses:
        for whole, parts in (h.src, h.src[::-1]) if h.op is Op.CmpEq else ():
            of = {n.arg.slot for n in toposort(parts) if n.op is Op.Param}
            name = slots.get(whole.arg.slot) if whole.op is Op.Param else None
            if name is not None and of and name not in told and of <= slots.keys() - {whole.arg.slot}:
                told[name] = parts
    for name, parts in list(told.items()):  # what is told by something that is told itself is left to chance
        if any(slots.get(n.arg.slot) in told for n in toposort(parts) if n.op is Op.Param):
            del told[name]
    free = [(n, is_size) for n, is_size in zip(names, natural, strict=True) if n not in told]
    if not told or not free:
        return
    choices = [range(1, 4) if is_size else (0, 1, -1) for _, is_size in free]
    found: set[tuple[int, ...]] = set()
    for chosen in islice(product(*choices), 500):
        given = {name: n for (name, _), n in zip(free, chosen, strict=True)}
        bound = {goal.variables[name].arg.slot: number(n) for name, n in given.items()}
        given |= {name: int(evaluate(parts, bound).item()) for name, parts in told.items()}
        found.add(tuple(given[name] for name in names))
    yield from sorted(found, key=place_of(goal))


def _larger_sizes(goal: Goal, names: Sequence[str], natural: Sequence[bool]) -> Iterator[dict[str, int]]:
    """Sizes at which a reduction wraps or a tile is not full; only for goals with reductions and one or two sizes."""
    if not 0 < sum(natural) <= 2 or not _reductions(goal):
        return
    for largest in LARGER:
        others = (1, 2) if largest > MANY else (1, 2, largest - 1, largest)
        choices = [{0} if not is_size else {largest, *others} for is_size in natural]
        for chosen in product(*(sorted(c) for c in choices)):
            found = dict(zip(names, chosen, strict=True))
            if max(chosen) == largest and _meets_conditions(goal, found):
                yield found


def _reductions(goal: Goal) -> bool:
    return any(n.op is Op.Reduce for side in _sides(goal) for n in toposort(side))


def _sides(goal: Goal) -> list[UOp]:
    return [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]


def _folded(goal: Goal, chosen: Mapping[str, int]) -> int:
    """Over how many elements a side reduces, those of a reduction inside another as often as that is made."""
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
    """Whether the conditions that speak of sizes alone hold of these, and the sides do not reduce too much."""
    bound = {node.arg.slot: number(chosen[name]) for name, node in goal.variables.items() if name in chosen}
    own = [
        h for h in goal.hypotheses if {n.arg.slot for n in toposort(h) if n.op is Op.Param} <= bound.keys()
    ]
    try:
        return all(evaluate(h, bound).item() for h in own) and _folded(goal, chosen) <= MOST_FOLDED
    except SoundlineError:
        return False


def place_of(goal: Goal) -> Callable[[Sequence[int]], Key]:
    """The place of sizes and offsets, as `sizes` names them, in the order of counterexamples."""
    names = sizes(goal)
    natural, axes = [_is_size(goal, n) for n in names], [is_axis(goal, n) for n in names]

    def place(chosen: Sequence[int]) -> Key:
        return sizes_key(
            [n for n, is_size in zip(chosen, natural, strict=True) if is_size],
            [n for n, is_size in zip(chosen, natural, strict=True) if not is_size],
            [n for n, is_one in zip(chosen, axes, strict=True) if is_one],
        )

    return place


def smaller_sizes(goal: Goal, chosen: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The sizes and offsets that are smaller than these, the smallest first, as far as there are few."""
    names, place = sizes(goal), place_of(goal)
    natural = [_is_size(goal, n) for n in names]
    here = [chosen.get(n, 0) for n in names]
    limit = place(here)
    is_empty, total = limit[:2]
    most = 3 if is_empty else min(total, 3)
    near = min(1, max((abs(n) for n, is_size in zip(here, natural, strict=True) if not is_size), default=0))
    choices = [
        range(1 if is_axis(goal, name) and not is_empty else 0, most + 1)
        if is_size
        else range(-near, near + 1)
        for name, is_size in zip(names, natural, strict=True)
    ]
    few = [c for c in islice(product(*choices), 4000) if place(c) < limit]
    for smaller in sorted(few, key=place)[:MOST_SMALLER]:
        yield dict(zip(names, smaller, strict=True))
