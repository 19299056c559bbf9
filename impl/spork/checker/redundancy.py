"""
Redundancy
==========

Which synchronizations of a program without hazards could go: each is left out alone, and the rest of the program runs
without it. One without which there is no hazard either is redundant, at these sizes and with all others in place. Of
two fences that do the same, each is redundant, and yet one has to stay.

What is left out is a fence, or one side of a barrier with all its arrives and awaits. A side at which an instruction
arrives by a trailing barrier is how that instruction completes, and is never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from soundline.impl.spork.checker.checking import Sizes, outcome
from soundline.impl.spork.checker.engine import Progress
from soundline.impl.spork.checker.planning.plan import (
    Action,
    Arrive,
    Await,
    BarrierAlloc,
    Block,
    Fence,
    For,
    If,
    Launch,
    Node,
    Placed,
    Plan,
    Tasks,
    nodes,
)
from soundline.impl.spork.checker.planning.programs import plan_of
from soundline.spec.spork.diagnosis.reports import Redundant
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.text import lines
from soundline.spec.spork.synchronization.barriers import BarrierType, ring_depth
from soundline.spec.spork.synchronization.visibility import Policy


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fence of the program, wherever it is called."""

    statement: int
    """Its identity."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A side of a barrier that a statement allocates."""

    statement: int
    """The identity of that statement."""
    reverse: bool


_Part = _Fence | _Side


def redundant(
    proc: Proc,
    sizes: Sizes,
    policy: Policy = Policy.temporal,
    *,
    budget: int | None = None,
    progress: Progress | None = None,
) -> tuple[Redundant, ...]:
    """The synchronizations of a program without which it has no hazard, in the order of the program; none where it has
    hazards. Raises what `checking.check` raises, but for what is refused in the middle of a run: nothing is said then.
    """
    plan = plan_of(proc, sizes)

    def is_right(tried: Plan) -> bool:
        out = outcome(tried, policy, budget, progress)[1]
        return not out.sightings and out.refused is None

    if not is_right(plan):
        return ()
    stated = _Parts.of(plan)
    return tuple(
        stated.told(part, place) for part, place in stated.candidates() if is_right(stated.without(part))
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """A plan by what may be left out of it."""

    plan: Plan
    owners: dict[int, int]
    """The identity of the statement that allocates some barriers, by their number."""

    @staticmethod
    def of(plan: Plan) -> _Parts:
        """The parts of a plan."""
        made = (node for node in nodes(plan.root) if isinstance(node, BarrierAlloc))
        return _Parts(plan, {node.barriers: id(node.place.statement) for node in made})

    def part(self, node: Node) -> _Part | None:
        """What a node is a part of."""
        match node:
            case Fence(place):
                return _Fence(id(place.statement))
            case Arrive(queues=queues):
                return _Side(self.owners[queues[0].barriers], queues[0].reverse)
            case Await(queue=queue):
                return _Side(self.owners[queue.barriers], queue.reverse)
            case _:
                return None

    def candidates(self) -> Iterator[tuple[_Part, Placed]]:
        """What may be left out, and where it is first."""
        trailing = {
            _Side(self.owners[queue.barriers], queue.reverse)
            for node in nodes(self.plan.root)
            if isinstance(node, Action)
            for queue in node.trailing
        }
        said: set[_Part] = set()
        for node in nodes(self.plan.root):
            part = self.part(node)
            if part is not None and part not in said and part not in trailing:
                assert isinstance(node, Fence | Arrive | Await)
                said.add(part)
                yield part, node.place

    def without(self, part: _Part) -> Plan:
        """The plan without one of them. A ring has as many mbarriers as the lags ask for that are left."""
        root = _mapped(self.plan.root, lambda node: Block() if self.part(node) == part else node)
        assert isinstance(root, Block)
        barriers = self.plan.barriers
        if isinstance(part, _Side):
            barriers = tuple(
                replace(b, depth=_depth(root, b.number))
                if self.owners.get(b.number) == part.statement and b.type is BarrierType.CudaMbarrier
                else b
                for b in barriers
            )
        return replace(self.plan, root=root, barriers=barriers)

    def told(self, part: _Part, place: Placed) -> Redundant:
        """What is said of a part."""
        at, text = place.statement.position, lines(place.statement)[0].strip()
        what = "the fence"
        if isinstance(part, _Side):
            name = next(b.name for b in self.plan.barriers if self.owners.get(b.number) == part.statement)
            side = " on its reverse side" if part.reverse else ""
            what = f"all arrives and awaits of {name}{side}"
        file, line = (at.file, at.line) if at is not None else (None, None)
        return Redundant(place.path, line, text, what, file)


def _depth(root: Block, barriers: int) -> int | None:
    """How many mbarriers a queue with one side needs; None where it is never awaited."""
    for node in nodes(root):
        if isinstance(node, Await) and node.queue.barriers == barriers:
            return ring_depth("", ~node.n)
    return None


def _mapped(node: Node, change: Callable[[Node], Node]) -> Node:
    """A node with every node below it changed."""
    match node:
        case Block(inner):
            return Block(tuple(_mapped(part, change) for part in inner))
        case If(condition, body, orelse):
            return If(condition, _block(body, change), _block(orelse, change))
        case For(body=body) | Tasks(body=body) | Launch(body=body):
            return replace(node, body=_block(body, change))
        case _:
            return change(node)


def _block(block: Block, change: Callable[[Node], Node]) -> Block:
    return Block(tuple(_mapped(part, change) for part in block.nodes))
