"""
Frames
======

Where a node is evaluated: the value of each enclosing loop index, what the Params are bound to, what memory holds, and
which effects have happened. The value of a node is a function of its frame.

A frame remembers the values that it has computed. A node that does not depend on what a frame adds is left to the frame
around it, so that a loop computes what does not change in it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from soundline.spec.arrays.arrays import INVALID, Array
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluation.memory import Addresses, Bytes, Storage, Write
from soundline.spec.ops import bodies as closed
from soundline.spec.ops.node import Op, Shape, UOp
from soundline.spec.ops.places import VIEWS
from soundline.spec.ops.sizes import as_node
from soundline.spec.ops.table.entries import TABLE, constraint_text

Functions = Mapping[str, Callable[..., object]]
"""What the CustomFunctions of a program compute, by name: arrays to an array, or to a tuple of them."""


def is_effect(node: UOp) -> bool:
    """Whether a node has an effect: it writes memory, repeats nodes that do, or means something to a machine only."""
    if node.op is Op.Call:
        return node.src[0].op is Op.Program
    return node.op in (Op.Store, Op.AtomicAdd, Op.End, Op.Barrier, Op.If, Op.Custom, Op.Ins)


@dataclass(frozen=True, slots=True)
class Laws:
    """What frames ask of the chapters above them, which `evaluate` puts together."""

    values: Mapping[Op, Callable[[Frame, UOp], Array]]
    """The law of every op that has a value."""
    movement: Mapping[Op, Callable[[Frame, UOp, Array], Array]]
    """How a movement op moves the elements of its first source."""
    operands: Callable[[Frame, UOp], tuple[UOp, ...]]
    """The sources whose values a law asks for in the same frame."""
    invoked: Callable[[Frame, UOp], list[Write]]
    """What the Call of a Program writes."""
    repeated: Callable[[Frame, UOp], list[Write]]
    """What an End or a Barrier writes."""


@dataclass(slots=True)
class Program:
    """What all frames of one evaluation share: the laws, the bindings, and facts about the nodes met so far."""

    laws: Laws
    params: Mapping[int, object]
    functions: Functions
    storage: dict[UOp, Storage]
    """Where each Buffer, and each Param that is written, lies in memory."""
    reads: list[set[int]] = field(default_factory=list)
    """One set for each unordered iteration that is running: the addresses it has read."""
    journals: list[list[Write]] = field(default_factory=list)
    """One list for each thread of a Linear that is running: what it has written."""
    free: dict[UOp, frozenset[UOp]] = field(default_factory=dict)
    """The loop indices that a node depends on."""
    remembering: dict[UOp, bool] = field(default_factory=dict)
    """Whether a node depends on memory."""
    moving: dict[UOp, tuple[frozenset[UOp], bool]] = field(default_factory=dict)
    """The same two facts about the addresses of a place."""
    effects: dict[UOp, dict[UOp, None]] = field(default_factory=dict)
    """What must have happened for a node, in order."""
    conditions: dict[UOp, list[tuple[str, UOp]]] = field(default_factory=dict)

    def learn(self, *roots: UOp) -> None:
        """Compute the facts about every node of the roots."""
        if all(root in self.free for root in roots):
            return
        self.free |= closed.free_by_node(*roots)
        for node in closed.own_nodes(*roots):
            below = closed.own_sources(node)
            self.remembering[node] = node in self.storage or any(self.remembering[s] for s in below)
            self.effects[node] = self._effects(node)
            self.moving[node] = self._moving(node)

    def _moving(self, node: UOp) -> tuple[frozenset[UOp], bool]:
        """What the addresses of a place depend on: the operands of its views, but not the versions it names."""
        if node.op not in VIEWS:
            return frozenset(), False
        loops, remembering = self.moving[node.src[0]]
        if node.op is Op.After:
            return (self.free[node] if remembering else loops), remembering
        operands = node.src[1:]
        loops = loops.union(*(self.free[s] for s in operands))
        return loops, remembering or any(self.remembering[s] for s in operands)

    def _effects(self, node: UOp) -> dict[UOp, None]:
        """The effects that must have happened before a node, in order; those inside a loop are left to its End."""
        found = {e: None for s in closed.own_sources(node) for e in self.effects[s]}
        if node.op in (Op.End, Op.Reduce, Op.Barrier):
            inside = self.inside_loop(node)
            found = {e: None for e in found if e not in inside}
        if is_effect(node):
            found[node] = None
        return found

    def inside_loop(self, node: UOp) -> set[UOp]:
        """The effects that the loop of an End (or of a Reduce over ranges, or of a Barrier) repeats.

        They are the body itself, whatever depends on the loop's index, and whatever comes after one of these.
        """
        closes = set(closed.closed_loops(node, self.free))
        inside = members(node.src[0]) if node.op is Op.End else set()
        bodies = node.src if node.op is Op.Barrier else node.src[:1]
        for effect in {e: None for body in bodies for e in self.effects[body]}:
            before = (e for s in closed.own_sources(effect) for e in self.effects[s])
            if closes & self.free[effect] or any(e in inside for e in before):
                inside.add(effect)
        return inside

    def open_conditions(self, node: UOp) -> list[tuple[str, UOp]]:
        """The constraints of a node that its construction could not decide."""
        if node not in self.conditions:
            asked = ((c.id, c.holds(node.src, node.arg)) for c in TABLE[node.op].constraints)
            self.conditions[node] = [(name, c) for name, c in asked if isinstance(c, UOp)]
        return self.conditions[node]


def members(effect: UOp) -> set[UOp]:
    """An effect and, through Groups, what it consists of."""
    found, stack = set[UOp](), [effect]
    while stack:
        node = stack.pop()
        found.add(node)
        if node.op in (Op.Group, Op.Sink):
            stack.extend(node.src)
    return found


@dataclass(slots=True, eq=False)
class Frame:
    """One place of evaluation; see the chapter."""

    program: Program
    memory: Bytes
    parent: Frame | None = None
    loop: UOp | None = None
    """The Range or Special that this frame gives a value."""
    at: int = 0
    """Its value."""
    happened: frozenset[UOp] = frozenset()
    """The effects that memory already shows."""
    sequential: bool = False
    """Whether a Linear is being executed, where nothing happens before its turn."""
    listed: frozenset[UOp] = frozenset()
    """The instructions of that Linear, whose values stay what they were when their turn came."""
    values: dict[UOp, Array] = field(default_factory=dict)
    written: dict[UOp, list[Write]] = field(default_factory=dict)
    versions: dict[frozenset[UOp], Frame] = field(default_factory=dict)
    places: dict[UOp, Addresses] = field(default_factory=dict)

    def home(self, node: UOp) -> Frame:
        """The outermost frame in which the node has the same value, or the one that remembers it already."""
        frame = self
        while frame.parent is not None and node not in frame.values and not frame.concerns(node):
            frame = frame.parent
        if self.sequential and node not in frame.values:
            return self
        return frame

    def forget(self) -> None:
        """After memory has changed in place: drop what was read from it, but not the values of instructions."""
        frame: Frame | None = self
        while frame is not None:
            known, places = frame.program.remembering, frame.program.moving
            frame.values = {n: v for n, v in frame.values.items() if n in self.listed or not known[n]}
            frame.places = {n: p for n, p in frame.places.items() if not places[n][1]}
            frame.written.clear()
            frame = frame.parent

    def concerns(self, node: UOp) -> bool:
        """Whether what this frame adds can change the value of a node."""
        if self.loop is not None and self.loop in self.program.free[node]:
            return True
        assert self.parent is not None
        return self.memory is not self.parent.memory and self.program.remembering[node]

    def moves(self, node: UOp) -> bool:
        """Whether what this frame adds can change the addresses of a place."""
        loops, remembering = self.program.moving[node]
        assert self.parent is not None
        return self.loop in loops or (remembering and self.memory is not self.parent.memory)

    def value(self, root: UOp) -> Array:
        """The value of a node."""
        self.program.learn(root)
        stack = [root]
        while stack:
            node = stack[-1]
            home = self.home(node)
            if node in home.values:
                stack.pop()
                continue
            missing = [s for s in self.program.laws.operands(home, node) if s not in self.home(s).values]
            if missing:
                stack.extend(missing)
            else:
                home.values[node] = home.compute(node)
        return self.home(root).values[root]

    def compute(self, node: UOp) -> Array:
        """The value of a node whose operands are known; every law that depended on values is checked here."""
        self.check(node)
        law = self.program.laws.values.get(node.op)
        if law is None:
            raise EvaluationError(
                "this op has no value", rule=f"uop-{node.op.name.lower()}-sem", where=node.op.name
            )
        return law(self, node)

    def check(self, node: UOp) -> None:
        """Refuse a node that breaks a constraint with the values that its sizes and offsets have here."""
        for name, condition in self.program.open_conditions(node):
            if not self.value(condition).item():
                raise IllFormed(
                    node.op.name, name, given=f"{condition!r} does not hold here", wants=constraint_text(name)
                )

    def number(self, node: UOp) -> int:
        """The value of an index scalar."""
        value = self.value(node).elements[0]
        if value is INVALID:
            raise EvaluationError("an invalid number is used as a size or bound", rule="U-01")
        return int(value)

    def shape(self, shape: Shape | None) -> tuple[int, ...]:
        """A shape with its sizes as numbers."""
        assert shape is not None
        return tuple(s if isinstance(s, int) else self.number(as_node(s)) for s in shape)

    def iteration(self, loop: UOp, at: int, memory: Bytes | None = None) -> Frame:
        """The frame of one iteration of a loop inside this one."""
        return Frame(
            self.program,
            memory or self.memory,
            self,
            loop,
            at,
            self.happened,
            sequential=self.sequential,
            listed=self.listed,
        )

    def bound(self, loop: UOp) -> int | None:
        """The value of a loop index, if a frame around gives it one."""
        frame: Frame | None = self
        while frame is not None and frame.loop is not loop:
            frame = frame.parent
        return None if frame is None else frame.at
