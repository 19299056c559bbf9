"""
Symmetry of tasks
=================

The tasks of a launch have threads, shared memory, registers and barriers of their own (S-07). Where nothing else is
kept of what a launch does, no task notices another: whatever one of them does in the machine depends on its own events
alone. And two tasks whose events are the same, apart from what is left out, do the same: so the first of them stands
for all, in the order of the program, and what it counts is counted as often.

Whether two tasks are the same is asked of every term of the body in which an iterator of the tasks is: bounds,
conditions, threads, queues, windows. Each gives a *signature* of the task, a few numbers such that tasks with equal
signatures have equal values of the term in all inner iterations:

- a sum is a part in the iterators of the tasks, which is the signature, and a part without them;
- a rest by a constant is the rest of that signature;
- a comparison is decided by the part in the iterators of the tasks, where it is so large or so small that the other
  part, within its interval, cannot turn it: then the signature says which way; else it is that part itself;
- anything else has the signatures of its operands.

Tasks with equal signatures of all terms are equal. That unequal signatures may belong to equal tasks costs time, not
truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from soundline.impl.spork.checker.planning.plan import (
    Action,
    Alloc,
    Applied,
    Array,
    Arrive,
    Await,
    BarrierAlloc,
    BarrierFree,
    Block,
    For,
    Free,
    If,
    Launch,
    Node,
    Tasks,
    Term,
    Var,
    nodes,
)
from soundline.impl.spork.checker.planning.terms import Sum, as_sum, variables
from soundline.impl.spork.checker.reducing.ranges import Around, as_term, inside, is_mod, walked
from soundline.impl.spork.checker.reducing.values import queues_of, terms_of, value
from soundline.spec.ops.node import Op

MOST_TASKS = 1 << 24
"""Of more tasks than that it is not asked which are equal."""
MOST_CLASSES = 1 << 12
"""More classes than that are no classes."""

ORDERED = {Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe}


def with_classes(root: Block, arrays: tuple[Array, ...]) -> Block:
    """A plan with one of several equal tasks each."""
    return _in_block(root, arrays, Around())


def _in_block(block: Block, arrays: tuple[Array, ...], around: Around) -> Block:
    return Block(tuple(_in_node(n, arrays, around) for n in block.nodes))


def _in_node(node: Node, arrays: tuple[Array, ...], around: Around) -> Node:
    """A node of the CPU, or a launch."""
    match node:
        case Block():
            return _in_block(node, arrays, around)
        case If(condition, body, orelse):
            return If(condition, _in_block(body, arrays, around), _in_block(orelse, arrays, around))
        case For(body=body):
            inner = inside(node, around)
            return node if inner is None else replace(node, body=_in_block(body, arrays, inner))
        case Launch(body=body):
            inner = replace(around, vars=())
            return replace(node, body=Block(tuple(_classes(n, arrays, inner) for n in body.nodes)))
    return node


def _classes(node: Node, arrays: tuple[Array, ...], around: Around) -> Node:
    """A nest of loops over tasks, of which equal ones are run once."""
    nest: list[For] = []
    at: Node = node
    while isinstance(at, For) and at.kind == "tasks":
        if not (around.known.fits(at.lo) and around.known.fits(at.hi)):
            return node
        nest.append(at)
        around_body = inside(at, around)
        if around_body is None:
            return node
        around = around_body
        if at.is_task:
            break
        if len(at.body.nodes) != 1:
            return node
        at = at.body.nodes[0]
    if not nest or not nest[-1].is_task or not _alone(nest[-1].body):
        return node
    grid = _grid(nest)
    if grid is None:
        return node
    signature = _Signature(grid, {loop.var for loop in nest})
    for inner, where in walked(nest[-1].body, around):
        for term in terms_of(inner, arrays):
            if not (signature.vars.isdisjoint(variables(term)) or where.known.fits(term)):
                return node  # the values of all tasks are computed in 64 bits
            signature.add(term, where)
    chosen = signature.chosen()
    if chosen is None:
        return node
    return Tasks(nest[-1].place, tuple(loop.var for loop in nest), chosen, nest[-1].body)


def _alone(body: Block) -> bool:
    """Whether a task uses only what it allocates itself."""
    own = {n.array for n in nodes(body) if isinstance(n, Alloc)}
    barriers = {n.barriers for n in nodes(body) if isinstance(n, BarrierAlloc)}
    for node in nodes(body):
        match node:
            case Action(touches=touches) if any(r.array not in own for t in touches for r in t.regions):
                return False
            case Free(array=array) if array not in own:
                return False
            case BarrierFree(barriers=number) if number not in barriers:
                return False
            case Action() | Arrive() | Await() if any(q.barriers not in barriers for q in queues_of(node)):
                return False
    return True


def _grid(nest: list[For]) -> dict[Var, np.ndarray] | None:
    """The iterators of all tasks, in the order of the program; None where bounds depend on more than the nest."""
    found: dict[Var, np.ndarray] = {}
    size = 1
    for loop in nest:
        if not {*variables(loop.lo), *variables(loop.hi)} <= set(found):
            return None
        lo, hi = (np.broadcast_to(value(bound, found), size) for bound in (loop.lo, loop.hi))
        counts = np.maximum(hi - lo, 0)
        size = int(counts.sum())
        if not 0 < size <= MOST_TASKS:
            return None
        first = np.repeat(lo - (np.cumsum(counts) - counts), counts)
        found = {var: np.repeat(values, counts) for var, values in found.items()}
        found[loop.var] = first + np.arange(size)
    return found


@dataclass(slots=True)
class _Signature:
    """What tells tasks apart."""

    grid: dict[Var, np.ndarray]
    vars: set[Var]
    columns: list[np.ndarray] = field(default_factory=list)
    seen: set[tuple[Term, tuple[int, int] | None]] = field(default_factory=set)

    def add(self, term: Term, around: Around) -> None:
        """Tasks with different values of a term are different."""
        self.columns += self.of(term, around)

    def of(self, term: Term, around: Around) -> Iterator[np.ndarray]:
        """The signature of a term; what was there already is left out."""
        if self.vars.isdisjoint(variables(term)):
            return
        if isinstance(term, Applied) and term.op in ORDERED:
            yield from self.compared(term, around)
            return
        outer, inner = self.parts(as_sum(term))
        if self.vars.isdisjoint(v for part in inner.parts for v in variables(part)):
            yield from self.exactly(as_term(outer))
        elif is_mod(term):
            assert isinstance(term, Applied)
            outer, inner = self.parts(as_sum(term.operands[0]))
            if self.vars.isdisjoint(v for part in inner.parts for v in variables(part)):
                yield from self.exactly(Applied(Op.Mod, (as_term(outer), term.operands[1])))
            else:
                yield from self.of(term.operands[0], around)
        else:
            for operand in self.operands(term):
                yield from self.of(operand, around)

    def operands(self, term: Term) -> tuple[Term, ...]:
        """What a term is made of: of a sum its parts, for it is no smaller than them."""
        parts = tuple(as_sum(term).parts)
        if parts != (term,):
            return parts
        return term.operands if isinstance(term, Applied) else ()

    def parts(self, of: Sum) -> tuple[Sum, Sum]:
        """What of a sum is in the iterators of the tasks alone, and the rest."""
        own = {part: f for part, f in of.parts.items() if self.vars.issuperset(variables(part))}
        return Sum(0, own), Sum(of.number, {p: f for p, f in of.parts.items() if p not in own})

    def exactly(self, term: Term) -> Iterator[np.ndarray]:
        """The value of a term in the iterators of the tasks."""
        if (term, None) not in self.seen:
            self.seen.add((term, None))
            yield np.broadcast_to(value(term, self.grid), self.size)

    @property
    def size(self) -> int:
        """How many tasks there are."""
        return len(next(iter(self.grid.values())))

    def compared(self, term: Applied, around: Around) -> Iterator[np.ndarray]:
        """The signature of a comparison."""
        x, y = term.operands
        outer, inner = self.parts(as_sum(x).plus(as_sum(y), -1))
        bounds = around.known.interval(as_term(inner))
        if bounds is None or not self.vars.isdisjoint(v for part in inner.parts for v in variables(part)):
            yield from self.of(x, around)
            yield from self.of(y, around)
            return
        key = Applied(term.op, (as_term(outer), 0)), bounds
        if key in self.seen:
            return
        self.seen.add(key)
        own = np.broadcast_to(value(as_term(outer), self.grid), self.size)
        low, high = own + bounds[0], own + bounds[1]
        if term.op in {Op.CmpLt, Op.CmpGe}:
            yes, no = high < 0, low >= 0
        elif term.op in {Op.CmpLe, Op.CmpGt}:
            yes, no = high <= 0, low > 0
        else:
            yes, no = (low == 0) & (high == 0), (high < 0) | (low > 0)
        yield np.where(yes, 1, np.where(no, 2, 0))
        yield np.where(yes | no, 0, own)

    def chosen(self) -> tuple[tuple[tuple[int, ...], int], ...] | None:
        """The first task of each class, and how many are in it; None where nothing is gained."""
        key = np.zeros(self.size, np.int64)
        for column in self.columns:
            _, number = np.unique(column, return_inverse=True)
            _, key = np.unique(key * (int(number.max()) + 1) + number, return_inverse=True)
            if int(key.max()) >= MOST_CLASSES:
                return None
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        at = sorted(zip(first.tolist(), counts.tolist(), strict=True))
        names = list(self.grid)
        return tuple((tuple(int(self.grid[v][k]) for v in names), n) for k, n in at)
