"""
Memory and effects
==================

Nothing is ever overwritten in the meaning of a program: a node names a *version* of memory. A Buffer by itself names
what memory holds in its frame; ``After(buf, deps)`` names that with the effects of `deps`, and whatever those come
after, laid over it (U-26). Effects of which neither comes after the other are unordered, and may not write one place.

The chapter `loops` says what a loop writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from soundline.spec.arrays.arrays import INVALID, Array, Cell, Invalid
from soundline.spec.arrays.movement import stored_bytes
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluation.frames import Frame
from soundline.spec.evaluation.memory import Address, Addresses, Byte, Bytes, Storage, Write
from soundline.spec.ops.node import BufferArg, Op, UOp
from soundline.spec.ops.places import VIEWS, base_of

# Places -----------------------------------------------------------------------------------------------------------


def in_memory(frame: Frame, node: UOp) -> bool:
    """Whether a node is a view of storage, rather than of a computed value."""
    return base_of(node) in frame.program.storage


def place(frame: Frame, node: UOp) -> Addresses:
    """The place that a view of storage names.

    Movement is the same on addresses as on elements: the law of the view is asked where each number goes.
    """
    while frame.parent is not None and node not in frame.places and not frame.moves(node):
        frame = frame.parent
    if node not in frame.places:
        frame.places[node] = _place(frame, node)
    return frame.places[node]


def _place(frame: Frame, node: UOp) -> Addresses:
    if node.op is Op.After:
        reads_memory = frame.program.moving[node][1]
        return place(version(frame, node.src[1:]) if reads_memory else frame, node.src[0])
    storage = frame.program.storage.get(node)
    if storage is not None:
        width = storage.width
        firsts = range(storage.start, storage.start + storage.size * width, width)
        addresses = tuple(tuple(range(a, a + width)) for a in firsts)
        return Addresses.of(frame.shape(node.shape), node.dtype, addresses, storage)
    frame.check(node)
    under = place(frame, node.src[0])
    if node.op in (Op.Slice, Op.Bitcast):
        return _reinterpreted(frame, node, under)
    moved = frame.program.laws.movement[node.op](frame, node, under.numbers)
    taken = tuple(INVALID if isinstance(n, Invalid) else under.addresses[int(n)] for n in moved.elements)
    return Addresses.of(moved.shape, under.dtype, taken, under.storage)


def _reinterpreted(frame: Frame, node: UOp, under: Addresses) -> Addresses:
    """A Slice or Bitcast: the bytes of the elements, taken together anew."""
    shape = frame.shape(node.shape)
    flat: list[Byte] = []
    for address in under.addresses:
        flat += [INVALID] * under.dtype.itemsize if isinstance(address, Invalid) else address
    first = frame.number(node.src[1]) * under.dtype.itemsize if node.op is Op.Slice else 0
    width = node.dtype.itemsize
    starts = range(first, first + width * math.prod(shape), width)
    return Addresses.of(shape, node.dtype, tuple(_joined(flat, k, width) for k in starts), under.storage)


def _joined(flat: Sequence[Byte], start: int, width: int) -> Address | Invalid:
    """The address whose bytes are these; ⊥ where one of them is outside."""
    inside = [flat[b] for b in range(start, start + width) if 0 <= b < len(flat)]
    known = tuple(b for b in inside if not isinstance(b, Invalid))
    return known if len(known) == width else INVALID


def memory_of(frame: Frame, node: UOp) -> Bytes:
    """The version of memory that a view of storage names."""
    while node.op in VIEWS:
        if node.op is Op.After:
            frame = version(frame, node.src[1:])
        node = node.src[0]
    return frame.memory


def read(frame: Frame, node: UOp, wanted: Sequence[bool] | None = None) -> Array:
    """The elements of a place; where `wanted` is False the place is not touched, and the element is ⊥."""
    where, memory = place(frame, node), memory_of(frame, node)
    cells: list[Cell] = []
    for k, address in enumerate(where.addresses):
        if isinstance(address, Invalid) or (wanted is not None and not wanted[k]):
            cells.append(INVALID)
            continue
        for touched in frame.program.reads:
            touched.update(address)
        cells.append(memory.element(address, where.dtype))
    return Array(where.dtype, where.shape, tuple(cells))


# Effects ----------------------------------------------------------------------------------------------------------


def version(frame: Frame, roots: tuple[UOp, ...]) -> Frame:
    """The frame in which all effects that the roots come after have happened."""
    frame.program.learn(*roots)
    todo = not_yet(frame, roots)
    if not todo:
        return frame
    key = frozenset(todo)
    if key not in frame.versions:
        memory = Bytes(frame.memory)
        happen(frame, todo, memory)
        frame.versions[key] = Frame(frame.program, memory, frame, happened=frame.happened | key)
    return frame.versions[key]


def not_yet(frame: Frame, roots: Iterable[UOp]) -> list[UOp]:
    """The effects of the roots that memory does not show, in order."""
    effects = frame.program.effects
    todo = [e for e in {e: None for r in roots for e in effects[r]} if e not in frame.happened]
    if todo and frame.sequential:
        raise EvaluationError(
            f"{todo[0].op.name} is used before it is computed", rule="uop-linear-sem", where="Linear"
        )
    return todo


def happen(frame: Frame, effects: Sequence[UOp], memory: Bytes) -> list[Write]:
    """Lay the writes of effects over memory, each after those that it comes after; unordered ones may not meet."""
    last: dict[int, tuple[UOp, bool]] = {}
    done: list[Write] = []
    for effect in effects:
        before = {e for s in effect.src for e in frame.program.effects.get(s, ())}
        for write in writes(frame, effect):
            for address in write.address:
                other, added = last.get(address, (effect, False))
                if other is not effect and other not in before and not (added and write.adds):
                    raise conflict("two unordered effects write", write.storage)
                last[address] = (effect, write.adds)
            memory.put(write)
            done.append(write)
    return done


def conflict(what: str, storage: Storage) -> EvaluationError:
    """The error of two unordered accesses that meet in a storage."""
    return EvaluationError(f"{what} one place of {storage.node!r}", rule="U-26", where=storage.node.op.name)


def writes(frame: Frame, effect: UOp) -> list[Write]:
    """What an effect writes, in order."""
    if effect not in frame.written:
        match effect.op:
            case Op.Store | Op.AtomicAdd:
                found = _store(frame, effect)
            case Op.End | Op.Barrier:
                found = frame.program.laws.repeated(frame, effect)
            case Op.Call:
                found = frame.program.laws.invoked(frame, effect)
            case _:
                raise EvaluationError(
                    "this op has no value: it is for machine code only",
                    rule=f"uop-{effect.op.name.lower()}-sem",
                    where=effect.op.name,
                )
        frame.written[effect] = found
    return frame.written[effect]


def _store(frame: Frame, effect: UOp) -> list[Write]:
    """The writes of a Store or AtomicAdd: only where its gate is True, and all of its value is read first."""
    where = place(frame, effect.src[0])
    values = frame.value(effect.src[1])
    open_gate = gate(frame, effect.src[2] if len(effect.src) > 2 else None, len(values.elements))
    found: list[Write] = []
    taken: set[int] = set()
    for address, value, wanted in zip(where.addresses, values.elements, open_gate, strict=True):
        if not wanted:
            continue
        if isinstance(address, Invalid) or isinstance(value, Invalid):
            what = "place" if isinstance(address, Invalid) else "value"
            raise EvaluationError(f"a {what} that is stored is invalid", rule="U-01", where=effect.op.name)
        if effect.op is Op.Store and not taken.isdisjoint(address):
            raise conflict("a Store writes twice", where.storage)
        taken.update(address)
        found.append(Write(address, where.dtype, value, where.storage, effect.op is Op.AtomicAdd))
    return found


def gate(frame: Frame, node: UOp | None, count: int) -> list[bool]:
    """For each of `count` elements, whether the place may be touched."""
    if node is None:
        return [True] * count
    cells = frame.value(node).elements
    if INVALID in cells:
        raise EvaluationError("a gate is invalid", rule="U-01")
    return [bool(c) for c in (cells * count if node.shape == () else cells)]


# The memory of a program ------------------------------------------------------------------------------------------


def lay_out(lengths: Mapping[UOp, int]) -> dict[UOp, Storage]:
    """Storage for Buffers and written Params of these lengths, one after the other."""
    found: dict[UOp, Storage] = {}
    slots: dict[tuple[Op, int], UOp] = {}
    start = 0
    for node, length in lengths.items():
        if slots.setdefault((node.op, node.arg.slot), node) is not node:
            raise EvaluationError(
                f"two {node.op.name}s have the slot {node.arg.slot}", rule="U-21", where=node.op.name
            )
        found[node] = Storage(node, start, length)
        start += length * node.dtype.itemsize
    return found


def initial(storage: Mapping[UOp, Storage], contents: Mapping[UOp, Array]) -> Bytes:
    """Memory that holds these contents; what is not among them was never written."""
    memory = Bytes()
    for node, array in contents.items():
        memory.changes.update(zip(storage[node].addresses, stored_bytes(array), strict=True))
    return memory


def contents(memory: Bytes, storage: Storage, shape: tuple[int, ...]) -> Array:
    """What memory holds at a storage."""
    firsts = range(0, len(storage.addresses), storage.width)
    addresses = (tuple(storage.addresses[k : k + storage.width]) for k in firsts)
    cells = tuple(memory.element(a, storage.node.dtype) for a in addresses)
    return Array(storage.node.dtype, shape, cells)


def buffer_length(arg: BufferArg) -> int:
    """The number of elements of a Buffer on all its devices (U-32)."""
    return arg.size * (len(arg.device) if isinstance(arg.device, tuple) else 1)
