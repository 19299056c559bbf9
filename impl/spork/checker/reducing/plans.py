"""
Reducing
========

A plan with the same verdict in which less has to be run. Each step is exact by itself, and what a step cannot show it
leaves as it is:

1. touches that can be no hazard are left out (`uses`); their accesses stay counted;
2. what has no effect on what is kept becomes numbers, loops of it products (`counted`, here);
3. of tasks that do the same to storage that no other task uses, one is run (`symmetry`);
4. loops whose iterations repeat say so, and after how many (`periods`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from soundline.impl.spork.checker.planning.plan import (
    Action,
    Alloc,
    Arrive,
    Await,
    BarrierAlloc,
    BarrierFree,
    Block,
    Counted,
    Fence,
    For,
    Free,
    If,
    Launch,
    Node,
    Plan,
    nodes,
)
from soundline.impl.spork.checker.planning.terms import applied, as_number
from soundline.impl.spork.checker.reducing.periods import with_periods
from soundline.impl.spork.checker.reducing.symmetry import with_classes
from soundline.impl.spork.checker.reducing.uses import Uses, uses
from soundline.spec.ops.node import Op


def reduced(plan: Plan, *, touches: bool = True, tasks: bool = True, periods: bool = True) -> Plan:
    """The plan with less to run. Each of the steps can be left out: touches that are no hazards and what is only
    counted, equal tasks, and periods.
    """
    root = _Counting(plan, uses(plan)).all() if touches else plan.root
    if tasks:
        root = with_classes(root, plan.arrays)
    if periods:
        root = with_periods(root, plan.arrays)
    return replace(plan, root=root)


@dataclass(slots=True)
class _Counting:
    """Leaves out, and counts what then has no effect."""

    plan: Plan
    uses: Uses
    launch: int | None = None
    idle: bool = False
    """Whether nothing is kept in the launch that a fence concerns."""

    def all(self) -> Block:
        """The whole plan."""
        return Block(tuple(self.block(self.plan.root)))

    def block(self, block: Block) -> list[Node]:
        """The nodes of a block, with those of blocks in it that own no shared memory."""
        found: list[Node] = []
        for node in block.nodes:
            for part in self.node(node):
                if isinstance(part, Counted) and found and isinstance(found[-1], Counted):
                    found[-1] = _sum(found[-1], part)
                elif not isinstance(part, Counted) or part.events or part.accesses:
                    found.append(part)
        return found

    def node(self, node: Node) -> Iterable[Node]:
        """What a node becomes."""
        match node:
            case Action():
                return [self.action(node)]
            case Alloc(array=number) | Free(array=number) if number in self.uses.everywhere:
                return [Counted(len(self.plan.arrays[number].owners), 0)]
            case Fence() if self.idle:
                return [Counted(1, 0)]
            case Block():
                inner = self.block(node)
                return [Block(tuple(inner))] if any(self.has_stack(n) for n in inner) else inner
            case If(condition):
                body, orelse = self.block(node.body), self.block(node.orelse)
                if body == orelse and (not body or (len(body) == 1 and isinstance(body[0], Counted))):
                    return body
                return [If(condition, Block(tuple(body)), Block(tuple(orelse)))]
            case For():
                return self.loop(node)
            case Launch():
                return [self.device(node)]
        return [node]

    def has_stack(self, node: Node) -> bool:
        """Whether a node of a block takes shared memory, which falls back at its end."""
        return isinstance(node, Alloc) and self.plan.arrays[node.array].memory.space == "shared"

    def action(self, action: Action) -> Node:
        """With the touches that are recorded."""
        kept = []
        for touch in action.touches:
            regions = tuple(r for r in touch.regions if r.elements and self.uses.needed(r.array, self.launch))
            if regions:
                kept.append(touch if regions == touch.regions else replace(touch, regions=regions))
        if not kept and not action.trailing:
            return Counted(1, action.accesses)
        return replace(action, touches=tuple(kept))

    def loop(self, loop: For) -> list[Node]:
        """A loop of events that are only counted is a product."""
        body = self.block(loop.body)
        own = 2 if loop.is_task else 0
        around = 2 if loop.kind == "par" else 0
        times = as_number(applied(Op.Sub, loop.hi, loop.lo))
        if times is not None and times <= 0:
            return [Counted(around, 0)]
        if not body or (len(body) == 1 and isinstance(body[0], Counted)):
            one = body[0] if body else Counted(0, 0)
            assert isinstance(one, Counted)
            if one == Counted(0, 0) and not own:
                return [Counted(around, 0)]
            if times is not None:
                return [Counted(times * (one.events + own) + around, times * one.accesses)]
        return [replace(loop, body=Block(tuple(body)))]

    def device(self, launch: Launch) -> Launch:
        """A launch; where it has neither records nor barriers, no fence does anything."""
        self.launch = id(launch)
        self.idle = not any(self.records(n) for n in nodes(launch.body))
        body = self.block(launch.body)
        self.launch, self.idle = None, False
        return replace(launch, body=Block(tuple(body)))

    def records(self, node: Node) -> bool:
        """Whether a node makes records, or has to do with barriers."""
        match node:
            case Arrive() | Await() | BarrierAlloc() | BarrierFree():
                return True
            case Action():
                return not isinstance(self.action(node), Counted)
            case Alloc(array=number):
                return self.plan.arrays[number].left is not None and number not in self.uses.everywhere
        return False


def _sum(one: Counted, other: Counted) -> Counted:
    return Counted(one.events + other.events, one.accesses + other.accesses)
