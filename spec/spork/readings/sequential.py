"""
The sequential reading
======================

What a program computes when one thread executes all of it, in the order in which it is written: the meaning that every
other reading is compared with. Threads, timelines and synchronization say nothing here.

Storage holds nothing when its life begins, its bytes may have been used before; an element that was never written is
not read (S-09). The arguments of the proc are written already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic

from soundline.spec.arrays.arrays import INVALID, Array, Invalid
from soundline.spec.spork.language.nodes import SPELLING
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.machine.algebras import Algebra, Numbers, V, stepped
from soundline.spec.spork.machine.arguments import Sizes
from soundline.spec.spork.machine.conditions import run_failed
from soundline.spec.spork.machine.events import Action, Allocated, Buffer, Cell, Element, Event
from soundline.spec.spork.machine.unfolding import unfold


@dataclass(slots=True)
class Contents(Generic[V]):
    """What memory holds, by the first cell of each element."""

    algebra: Algebra[V]
    cells: dict[Cell, V] = field(default_factory=dict)

    def allocate(self, buffer: Buffer) -> None:
        """The life of some storage begins: it holds nothing."""
        for element in buffer.elements:
            self.cells.pop(element.cells[0], None)

    def get(self, element: Element) -> V | Invalid:
        """What an element holds."""
        return self.cells.get(element.cells[0], INVALID)

    def put(self, element: Element, value: V) -> None:
        """Let an element hold a value."""
        self.cells[element.cells[0]] = value

    def execute(self, action: Action) -> None:
        """Execute the steps of an action, one after another."""

        def load(element: Element) -> V:
            found = self.get(element)
            if isinstance(found, Invalid):
                place = action.place
                given = f"a read of {element}, which was never written,"
                raise run_failed("seq-uninitialized", place.statement, given, place.iteration)
            return found

        for step in action.steps:
            self.put(step.target, stepped(step, self.algebra, load))


def reduction(
    events: Iterable[Event], algebra: Algebra[V], initial: Callable[[Buffer], Iterable[V | Invalid]]
) -> dict[str, tuple[V | Invalid, ...]]:
    """What the arguments of a proc hold after its events, by name and in row-major order.

    `initial` says what they hold before.
    """
    contents = Contents(algebra)
    arguments: dict[str, Buffer] = {}
    for event in events:
        if isinstance(event, Action):
            contents.execute(event)
        elif isinstance(event, Allocated):
            contents.allocate(event.buffer)
            if event.is_argument:
                arguments[event.buffer.name] = event.buffer
                for element, value in zip(event.buffer.elements, initial(event.buffer), strict=True):
                    if not isinstance(value, Invalid):
                        contents.put(element, value)
    return {name: tuple(contents.get(e) for e in b.elements) for name, b in arguments.items()}


def run(proc: Proc, sizes: Sizes, arguments: Mapping[str, Array]) -> dict[str, Array]:
    """What the arguments of data hold after a proc has run at given sizes, by name."""
    data = {a.name: a for a in proc.arguments if isinstance(a.type, Data)}
    for name in arguments:
        if name not in data:
            known = ", ".join(data) or "none"
            raise run_failed("seq-argument", proc, f"{name}, where the arguments of data are: {known}")
    for name, argument in data.items():
        if name not in arguments:
            raise run_failed("seq-argument", argument, f"nothing for {name}")

    def initial(buffer: Buffer) -> Iterable[bool | int | float | Invalid]:
        given = arguments[buffer.name]
        if (given.dtype, given.shape) != (buffer.dtype, buffer.shape):
            wants = f"{SPELLING[buffer.dtype]} of shape {buffer.shape}"
            text = f"{given.dtype} of shape {given.shape} for {buffer.name}: {wants}"
            raise run_failed("seq-argument", data[buffer.name], text)
        return given.elements

    found = reduction(unfold(proc, sizes), Numbers(), initial)
    return {name: Array(arguments[name].dtype, arguments[name].shape, held) for name, held in found.items()}
