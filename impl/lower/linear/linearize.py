"""
Linearize
=========

Topologically sort the graph and determine execution order.

Input: a Linear of Sinks. Output: a Linear of Linears, one sequence of instructions per kernel. A Range opens a loop and
the End of it closes the loop; a Reduce becomes a register, set to the identity before its loops and reduced inside them
(ascending, so the order of the law is kept; the identity of a float Add is ``-0.0``, which changes no bit). A Reduce
that reduces one element more in each iteration of a loop (`scans`) is set before that loop, and takes one step in it.
Constants, places and After are operands of instructions and are not listed.

*Invariant*: every instruction comes after those whose results it uses, inside exactly the loops it depends on or in
loops around which it could be hoisted; executing the sequence stores what the Sink stores.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.effects import nest_of
from soundline.impl.lower.graphs.scalars import FUSED, filled, identity_of
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.reductions.gated_sums import Gated, gated, is_neutral
from soundline.impl.lower.reductions.scatters import parts
from soundline.spec.uop import Op, UOp, buffer, over, reshape, substitute, toposort

__all__ = [
    "instructions",
    "is_global",
    "linearize",
    "nest_of",
    "runs_along",
]

_OPERANDS = frozenset((Op.Const, Op.Index, Op.After, Op.Stack, Op.Slice, Op.Reshape, Op.Expand))


def linearize(kernels: UOp, licences: Collection[str] = ()) -> UOp:
    """Order the instructions of every kernel; under ``contract`` a step that adds a product is one instruction."""
    slots = [n.arg.slot for n in toposort(kernels) if n.op is Op.Buffer]
    first, contract = max(slots, default=-1) + 1, "contract" in licences
    return Op.Linear(*(_Linearizer(first, contract).kernel(k) for k in kernels.src))


def runs_along(reduction: UOp, r: UOp) -> bool:
    """Whether a Reduce in a loop reduces, in iteration r, one element more than in the iteration before."""
    if len(reduction.src) != 2 or r in arithmetic.ranges_of(reduction.src[0]):
        return False
    return reduction.src[1].src[0] is Op.Add(r, arithmetic.number(1))


def _is_ordered(body: UOp) -> bool:
    """Whether members of a Group are nests by themselves, or read what others write. Stores that write again what
    others write are in order by themselves.
    """
    members = set(body.src) if body.op is Op.Group else set()
    used = [s for m in members for s in _used(m)]
    return any(m.op is Op.End for m in members) or any(
        n.op is Op.After and not members.isdisjoint(n.src[1:]) for n in toposort(*used)
    )


def _used(member: UOp) -> tuple[UOp, ...]:
    """What an effect is made of, but for the storage that a Store writes to."""
    if member.op is Op.Store and member.src[0].op is Op.Index:
        return (member.src[0].src[1], *member.src[1:])
    return (member,)


class _Linearizer:
    """The sequence under construction, and which loops are open at its end."""

    def __init__(self, first_register: int, contract: bool) -> None:
        self.contract = contract
        self.sequence: list[UOp] = []
        self.placed: dict[UOp, UOp] = {}
        self.open: dict[UOp, None] = {}
        self.body: UOp = Op.Group()
        self.ordered: dict[UOp, bool] = {}
        self.listed: dict[UOp, list[UOp]] = {}
        """What nodes reach, of those that were asked for."""
        self.later: set[UOp] = set()
        """Members of Groups whose turn is still to come."""
        self.next_register = first_register
        self.running: dict[UOp, tuple[UOp, UOp, UOp]] = {}
        """Of each scan whose loop is open: its step, its register, and the first store."""

    def under(self, root: UOp) -> list[UOp]:
        """What a node reaches, sources before users."""
        found = self.listed.get(root)
        if found is None:
            found = self.listed[root] = list(toposort(root))
        return found

    def is_ordered(self, body: UOp) -> bool:
        """Whether members of a Group come in an order; each body is asked about once."""
        found = self.ordered.get(body)
        if found is None:
            found = self.ordered[body] = _is_ordered(body)
        return found

    def kernel(self, sink: UOp) -> UOp:
        """The sequence of a kernel's nests, one after the other."""
        for nest in sink.src:
            for effect in parts(nest):
                self.placed[effect] = self.nest(effect)  # one that comes later may name it
        return Op.Linear(*self.sequence)

    def start_along(self, r: UOp) -> None:
        """Set the registers of the reductions that run along a loop, before it; one that another loop inside it changes
        is reduced anew there.
        """
        around = {*self.open, r}
        for reduction in self.under(self.body):
            runs = reduction.op is Op.Reduce and reduction not in self.placed and runs_along(reduction, r)
            if runs and arithmetic.ranges_of(reduction) <= around:
                step = Op.Reduce(substitute(reduction.src[0], {reduction.src[1]: r}), r, arg=reduction.arg)
                self.running[reduction] = (step, *self.started(step))

    def nest(self, effect: UOp) -> UOp:
        """Place loops and what they repeat."""
        ranges, body = nest_of(effect)
        self.body = body
        if self.is_ordered(body):
            self.later.update(body.src)
        for r in ranges:
            self.hoist(r.src[0])  # what is placed inside of a loop is out of reach after it
        for r in ranges:
            self.hoist(body)
            self.start_along(r)
            self.enter(r)
        done = self.effect(body)
        for r in reversed(ranges):
            done = self.leave(done, r)
        return done

    def effect(self, body: UOp) -> UOp:
        """Place a Store after what it stores, or each member of a Group, which may be a nest by itself."""
        if body.op is Op.Group:
            ordered = self.is_ordered(body)
            return Op.Group(*(self.member(s) if ordered else self.effect(s) for s in body.src))
        self.place(body)
        return self.placed[body]

    def member(self, effect: UOp) -> UOp:
        """Place a member of a Group, now that it is its turn."""
        self.later.discard(effect)
        self.placed[effect] = self.nest(effect)
        return self.placed[effect]

    def enter(self, r: UOp) -> None:
        """Open a loop; a bound that is no constant is computed before it."""
        self.place(r.src[0])
        self.sequence.append(r)
        self.placed[r] = r
        self.open[r] = None

    def leave(self, body: UOp, r: UOp) -> UOp:
        """Close a loop; what was computed inside it is out of reach after it."""
        end = Op.End(body, r)
        self.sequence.append(end)
        del self.open[r]
        self.placed = {old: new for old, new in self.placed.items() if r not in arithmetic.ranges_of(old)}
        return end

    def hoist(self, root: UOp) -> None:
        """Place everything under `root` that no loop still to be opened changes."""
        early: set[UOp] = set()  # what comes after a member of a Group whose turn is still to come
        for node in self.under(root):
            if node in self.placed:
                continue
            if node in self.later or not early.isdisjoint(node.src):
                early.add(node)
            elif node.shape is not None and arithmetic.ranges_of(node) <= self.open.keys():
                self.place(node)

    def place(self, root: UOp) -> None:
        """Place a node whose loops are open, after all that it uses."""
        for node in self.waiting(root):
            if node in self.placed:
                continue
            if node in self.running:
                self.run(node)
            elif node.op is Op.Reduce and len(node.src) > 1:
                self.reduction(self.reductions_with(node))
            else:
                self.append(node)

    def append(self, node: UOp) -> None:
        """Place a node whose sources are placed."""
        made = over(node, tuple([self.placed[s] for s in node.src]))
        self.placed[node] = made
        if made.op not in _OPERANDS and not is_global(made):
            self.sequence.append(made)

    def waiting(self, root: UOp) -> Iterator[UOp]:
        """What `root` uses and is not placed, sources before users; what a Reduce reduces is its own affair."""
        done: set[UOp] = set()
        stack: list[tuple[UOp, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in done or node in self.placed:
                continue
            if ready or (node.op is Op.Reduce and len(node.src) > 1):
                done.add(node)
                yield node
            else:
                stack.append((node, True))
                stack.extend((s, False) for s in reversed(node.src))

    def reductions_with(self, node: UOp) -> list[UOp]:
        """A Reduce, and all others of the nest that can run in the same loops."""
        found = [node]
        for other in self.under(self.body):
            alike = other.op is Op.Reduce and other.src[1:] == node.src[1:] and other not in self.placed
            if other is node or other in self.running:
                continue
            if alike and arithmetic.ranges_of(other) <= self.open.keys():
                found.append(other)
        if len(found) == 1:
            return found
        inner = {f: set(self.under(f)) for f in found}
        return [f for f in found if f is node or not any(o is not f and o in inner[f] for o in found)]

    def reduction(self, reductions: Sequence[UOp]) -> None:
        """Reduces over the same ranges as registers and loops; the values are the loads after them."""
        ranges = reductions[0].src[1:]
        started = [self.started(f) for f in reductions]
        for r in ranges:
            for f in reductions:
                self.hoist(f.src[0])
            self.enter(r)
        stepped = [self.stepped(f, *s) for f, s in zip(reductions, started, strict=True)]
        done: UOp = stepped[0] if len(reductions) == 1 else Op.Group(*stepped)
        for r in reversed(ranges):
            done = self.leave(done, r)
        for f, (register, _) in zip(reductions, started, strict=True):
            self.result(f, register, done)

    def run(self, node: UOp) -> None:
        """One step of a reduction that runs along an open loop; its value is the load after it."""
        step, register, start = self.running[node]
        self.result(node, register, self.stepped(step, register, start))

    def result(self, node: UOp, register: UOp, done: UOp) -> None:
        """Place the load of a register as the value of its Reduce."""
        shape = shape_of(node)
        found = Op.Load(_cell(Op.After(register, done), shape))
        self.sequence.append(found)
        self.placed[node] = _shaped(found, shape)

    def started(self, node: UOp) -> tuple[UOp, UOp]:
        """The register of a Reduce, and its first store."""
        self.hoist(node.src[0])
        shape = shape_of(node)
        register = buffer(self.next_register, math.prod(shape), node.dtype, addrspace="REG")
        self.next_register += 1
        place = _cell(
            Op.After(register, *self.open) if self.open else register, shape
        )  # set anew in every iteration
        start = Op.Store(place, filled(identity_of(node.arg.op, node.dtype), _flat(shape)))
        self.sequence += [register, start]
        return register, start

    def stepped(self, node: UOp, register: UOp, start: UOp) -> UOp:
        """One step of a Reduce, inside its loops."""
        body, *ranges = node.src
        shape = shape_of(node)
        product, choice = self.product(node)
        terms = [body] if product is None else [*product.src, *([choice.gate] if choice else [])]
        for term in terms:
            self.place(term)
        so_far = Op.Load(_cell(Op.After(register, start, *ranges), shape))
        before, found = _shaped(so_far, shape), [self.placed[t] for t in terms]
        if product is None:
            total = UOp(node.arg.op, (before, *found))
        else:
            total = Op.Mulacc(*found[:2], before)
        made = [so_far, total]
        if choice:
            total = replace(choice, gate=found[2]).choice(total, before)
            made.append(total)
        done = Op.Store(_cell(register, shape), _shaped(total, _flat(shape)))
        self.sequence += [*made, done]
        return done

    def product(self, reduction: UOp) -> tuple[UOp | None, Gated | None]:
        """The product that a step adds and rounds once, and the gate, if what it adds where that is closed is -0.0."""
        body = reduction.src[0]
        if not self.contract or reduction.arg.op is not Op.Add or reduction.dtype not in FUSED:
            return None, None
        if body.op is Op.Mul:
            return body, None
        choice = gated(body)
        return (choice.product, choice) if choice and is_neutral(choice.zero) else (None, None)


def _cell(register: UOp, shape: Sequence[int]) -> UOp:
    """The place of a register: its one element, or for a value with axes all of it."""
    return register if shape else Op.Index(register, arithmetic.number(0))


def _flat(shape: Sequence[int]) -> tuple[int, ...]:
    return (math.prod(shape),) if shape else ()


def _shaped(value: UOp, shape: Sequence[int]) -> UOp:
    return value if value.shape == tuple(shape) else reshape(value, tuple(shape))


def is_global(node: UOp) -> bool:
    """Whether a node is storage that outlives its kernel."""
    return node.op is Op.Buffer and node.arg.addrspace == "GLOBAL"


def instructions(kernels: UOp) -> Iterable[UOp]:
    """All instructions of all kernels."""
    return (i for kernel in kernels.src for i in kernel.src)
