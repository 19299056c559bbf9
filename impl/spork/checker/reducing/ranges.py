"""
Ranges
======

Which values iterators have where a statement stands, and what follows from it for the elements that a region covers in
all of its iterations.

The elements of a region, over all iterations of the loops around it, are a base and a sum of *generators*: multiples of
a coefficient, one generator for each iterator and each dimension of the region. Two claims are decided here, and both
are of the kind "shown, or not known":

- *each element is met by one event at most* (`met_once`): ascending by coefficients, each coefficient is greater than
  all that the generators before it can add up to. Then the numbers are numerals in a mixed radix: different digits are
  different numbers. Iterators that are in no generator may have one value only;
- *two regions never meet* (`never_meet`): the difference of their bases is no sum of multiples that the generators
  allow. The search goes through the coefficients in descending order and leaves a branch where the rest is out of
  reach, so that it ends after a few steps for windows of arrays; where it does not, nothing is claimed.

Intervals of iterators are those of all iterations, so the sets that are looked at are supersets of what is touched:
what is shown for them holds for what is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from soundline.impl.spork.checker.planning.plan import (
    Applied,
    Block,
    For,
    If,
    Launch,
    Node,
    Region,
    Tasks,
    Term,
    Var,
)
from soundline.impl.spork.checker.planning.terms import Known, Sum, applied, as_sum, variables
from soundline.spec.ops.node import Op

MOST_STEPS = 4000
"""How long it is looked for a common element of two regions."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is around a node."""

    known: Known = field(default_factory=Known)
    vars: tuple[int, ...] = ()
    """The iterators of the loops around, outermost first; within a launch those of the launch."""
    par: int | None = None
    """The iterator of the innermost par loop."""
    launch: int | None = None
    """The identity of the node of the launch."""


def inside(node: For | Tasks, around: Around) -> Around | None:
    """Inside of a loop; None where it has no iteration."""
    if isinstance(node, Tasks):
        ranges = dict(around.known.ranges)
        for var, values in zip(node.vars, zip(*(at for at, _ in node.chosen), strict=True), strict=True):
            ranges[var.number] = min(values), max(values)
        known: Known | None = replace(around.known, ranges=ranges)
        numbers = tuple(v.number for v in node.vars)
    else:
        known, numbers = around.known.looped(node.var, node.lo, node.hi), (node.var.number,)
    if known is None:
        return None
    par = node.var.number if isinstance(node, For) and node.kind == "par" else around.par
    return replace(around, known=narrowed(known), vars=(*around.vars, *numbers), par=par)


def branches(node: If, around: Around) -> tuple[Around, Around]:
    """Where a condition holds, and where it does not."""
    known = around.known
    yes, no = (narrowed(known.where(node.condition, holds)) for holds in (True, False))
    return replace(around, known=yes), replace(around, known=no)


def narrowed(known: Known) -> Known:
    """With the intervals of iterators that follow from what is known of single ones."""
    ranges = dict(known.ranges)
    for fact in known.facts:
        if len(fact.parts) != 1:
            continue
        (term, factor), *_ = fact.parts.items()
        if not isinstance(term, Var) or term.number not in ranges:
            continue
        low, high = ranges[term.number]
        bound = -(fact.number // factor) if factor > 0 else fact.number // -factor
        low, high = (max(low, bound), high) if factor > 0 else (low, min(high, bound))
        if low <= high:  # else no iteration comes here
            ranges[term.number] = low, high
    return replace(known, ranges=ranges)


def walked(node: Node, around: Around) -> Iterator[tuple[Node, Around]]:
    """All nodes that may run, with what is around them."""
    yield node, around
    match node:
        case Block(nodes):
            for part in nodes:
                yield from walked(part, around)
        case If(_, body, orelse):
            yes, no = branches(node, around)
            yield from walked(body, yes)
            yield from walked(orelse, no)
        case For(body=body) | Tasks(body=body):
            inner = inside(node, around)
            if inner is not None:
                yield from walked(body, inner)
        case Launch(body=body):
            yield from walked(body, replace(around, vars=(), launch=id(node)))


# Generators -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """The elements of a region in all iterations of the loops around it: a base and the sums of its generators."""

    array: int
    base: int
    symbols: frozenset[tuple[Term, int]]
    """What is the same in all of these iterations, with its factors."""
    generators: tuple[tuple[int, int], ...]
    """Coefficient and count of each; both greater than 0."""
    free: bool
    """Whether an iterator with several values is in none of them."""


def spread(region: Region, around: Around) -> Spread | None:
    """How a region moves; None where its place is no sum of iterators."""
    found = as_sum(region.first)
    base, symbols, generators = found.number, set(), []
    ranges = around.known.ranges
    inner = set(around.vars)
    for part, factor in found.parts.items():
        if inner.isdisjoint(v.number for v in variables(part)):
            symbols.add((part, factor))
            continue
        if not isinstance(part, Var) or part.number not in ranges:
            return None
        low, high = ranges[part.number]
        base += factor * (low if factor > 0 else high)
        generators.append((abs(factor), high - low + 1))
    for count, stride in region.dims:
        base += min(0, stride * (count - 1))
        if stride or count == 0:
            generators.append((abs(stride), count))
    moved = {part.number for part in found.parts if isinstance(part, Var)}
    free = any(v not in moved and (v not in ranges or ranges[v][0] < ranges[v][1]) for v in inner)
    kept = tuple(sorted((c, n) for c, n in generators if n != 1))
    return Spread(region.array, base, frozenset(symbols), kept, free)


def met_once(of: Spread) -> bool:
    """Whether it is shown that no two events touch the same element through this region."""
    if of.free:
        return False
    reach = 0
    for coefficient, count in of.generators:
        if coefficient <= reach:
            return False
        reach += coefficient * (count - 1)
    return True


def never_meet(one: Spread, other: Spread) -> bool:
    """Whether it is shown that no element is in both regions, in whatever iterations of each."""
    if any(count == 0 for of in (one, other) for _, count in of.generators):
        return True
    if one.symbols != other.symbols:
        return False
    bounds: dict[int, tuple[int, int]] = {}
    for coefficient, count in one.generators:
        low, high = bounds.get(coefficient, (0, 0))
        bounds[coefficient] = low, high + count - 1
    for coefficient, count in other.generators:
        low, high = bounds.get(coefficient, (0, 0))
        bounds[coefficient] = low - count + 1, high
    steps = sorted(((c, *b) for c, b in bounds.items()), reverse=True)
    return not _reached(other.base - one.base, steps)


def _reached(distance: int, steps: list[tuple[int, int, int]]) -> bool:
    """Whether a distance is a sum of multiples within their bounds; yes where the search would be long."""
    lows, highs = [0], [0]
    for coefficient, low, high in reversed(steps):
        lows.append(lows[-1] + coefficient * low)
        highs.append(highs[-1] + coefficient * high)
    lows.reverse()
    highs.reverse()
    open_: list[tuple[int, int]] = [(0, distance)]
    for _ in range(MOST_STEPS):
        if not open_:
            return False
        depth, rest = open_.pop()
        if depth == len(steps):
            if rest == 0:
                return True
            continue
        coefficient, low, high = steps[depth]
        first = max(low, -((highs[depth + 1] - rest) // coefficient))
        last = min(high, (rest - lows[depth + 1]) // coefficient)
        if last - first > MOST_STEPS:
            return True
        open_ += [(depth + 1, rest - coefficient * k) for k in range(first, last + 1)]
    return True


def as_term(of: Sum) -> Term:
    """A sum as a term."""
    found: Term = of.number
    for part, factor in of.parts.items():
        found = applied(Op.Add, found, applied(Op.Mul, part, factor))
    return found


def is_mod(term: Term) -> bool:
    """Whether a term is a rest by a positive number."""
    return isinstance(term, Applied) and term.op is Op.Mod and _positive(term.operands[1])


def _positive(term: Term) -> bool:
    return isinstance(term, int) and term > 0
