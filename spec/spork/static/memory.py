"""
Uses of memory
==============

Which memory data may be allocated in, read, written and given to others, by the instr-tl of the statement. What of this
concerns instructions stands in `spec.spork.static.calls`, who owns which shard in `spec.spork.static.shards`.
"""

from __future__ import annotations

from math import prod

from soundline.spec.spork.language.expressions import Expr, Index, Name, walk
from soundline.spec.spork.language.nodes import Node, Ref
from soundline.spec.spork.language.statements import Alloc, Assign, Reduce, WindowOf
from soundline.spec.spork.language.types import Argument, Data
from soundline.spec.spork.library.memories import DRAM, Memory
from soundline.spec.spork.static.conditions import static_refusal
from soundline.spec.spork.static.scope import Standing
from soundline.spec.spork.static.windows import Declared, Window, constants
from soundline.spec.spork.synchronization.timelines import InstrTl


def memory_of(reference: Ref | None, at: Node) -> Memory:
    """The memory that is named; DRAM where none is."""
    if reference is None:
        return DRAM
    if not isinstance(reference.value, Memory):
        raise static_refusal("static-object", reference, reference.name, "no memory of the law", within=at)
    return reference.value


# Storage ----------------------------------------------------------------------------------------------------------


def declared_argument(argument: Argument) -> Declared:
    """What an argument of data is: storage that the CPU has allocated, or a window that it has made."""
    assert isinstance(argument.type, Data)
    memory = memory_of(argument.memory, argument)
    found = Declared(argument.name, argument.type.dtype, argument.type.sizes, memory)
    _check_timeline(memory, InstrTl.cpu_in_order, argument, argument.name)
    if memory.window:
        _check_box(memory, len(found.sizes), argument, argument.name)
    else:
        _check_sizes(found, argument)
    return found


def allocated(statement: Alloc, standing: Standing) -> Declared:
    """What a statement allocates."""
    scope = standing.scope
    if statement.memory is None and scope.on_device:
        hint = "write @ and a memory after the type, such as @ CudaRmem"
        raise static_refusal("mem-none", statement, statement.name, "none", hint=hint)
    memory = memory_of(statement.memory, statement)
    if memory.window:
        raise static_refusal("mem-window", statement, statement.name, f"storage in {memory}")
    _check_timeline(memory, scope.instr_tl, statement, statement.name)
    found = Declared(statement.name, statement.dtype, statement.sizes, memory, standing.path, scope.tiling)
    _check_sizes(found, statement)
    return found


def _check_timeline(memory: Memory, instr_tl: InstrTl, at: Node, name: str) -> None:
    if memory.allocated is not instr_tl:
        given = f"{memory}, which is allocated on {memory.allocated}, on {instr_tl}"
        raise static_refusal("mem-alloc", at, name, given)


def _check_sizes(storage: Declared, at: Node) -> None:
    memory, sizes = storage.memory, constants(storage.sizes)
    if not sizes and not memory.scalars:
        raise static_refusal("mem-scalar", at, storage.name, f"a scalar in {memory}")
    if memory.constant and None in sizes:
        raise static_refusal("mem-constant", at, storage.name, f"dimension {sizes.index(None)} of {memory}")
    _check_tiles(storage, sizes, at)
    last = sizes[-1] if sizes else None
    if (
        memory.row_bytes is not None
        and last is not None
        and last * storage.dtype.itemsize != memory.row_bytes
    ):
        given = f"rows of {last * storage.dtype.itemsize} bytes in {memory}"
        raise static_refusal("mem-tile", at, storage.name, given)


def _check_tiles(storage: Declared, sizes: tuple[int | None, ...], at: Node) -> None:
    tiles = storage.memory.tiles
    if tiles and not any(_is_tile(sizes, tile) for tile in tiles):
        wanted = ", ".join("×".join("any" if n is None else str(n) for n in tile) for tile in tiles)
        given = f"the last sizes of {sizes}, where tiles are {wanted}"
        raise static_refusal("mem-tile", at, storage.name, given)


def _is_tile(sizes: tuple[int | None, ...], tile: tuple[int | None, ...]) -> bool:
    last = sizes[len(sizes) - len(tile) :]
    return len(sizes) >= len(tile) and all(n in (None, s) for n, s in zip(tile, last, strict=True))


def check_shard(storage: Declared, distributed: int, at: Node, within: Node) -> None:
    """Refuse indices of shards among the dimensions of a tile, a row, or an array that holds no scalar."""
    memory = storage.memory
    rank = max((len(tile) for tile in memory.tiles), default=0)
    rank = max(rank, memory.row_bytes is not None, not memory.scalars)
    if len(storage.sizes) - distributed < rank:
        given = f"{distributed} of {len(storage.sizes)} dimensions that tell shards apart, in {memory}"
        rule = "mem-tile" if memory.tiles or memory.row_bytes is not None else "mem-scalar"
        raise static_refusal(rule, at, storage.name, given, within=within)


# Windows ----------------------------------------------------------------------------------------------------------


def window_of(statement: WindowOf, standing: Standing) -> Window:
    """The window that a statement names; it may be made by another memory."""
    found = standing.window(statement.window)
    if statement.memory is None:
        return found
    memory = memory_of(statement.memory, statement)
    if not memory.window:
        raise static_refusal("mem-window", statement, statement.name, f"a window that {memory} makes")
    _check_timeline(memory, standing.scope.instr_tl, statement, statement.name)
    source = found.memory
    if source.window or source.space != memory.space or not memory.instructions <= source.instructions:
        raise static_refusal("mem-view", statement, statement.name, f"a window of {source} by {memory}")
    _check_box(memory, len(found.sizes), statement, statement.name)
    return Window(found.of, found.indices, memory)


def _check_box(memory: Memory, rank: int, at: Node, name: str) -> None:
    if memory.box and rank != len(memory.box):
        given = f"{rank} dimensions for a box of {len(memory.box)}"
        raise static_refusal("mem-box", at, name, given)


# Direct accesses --------------------------------------------------------------------------------------------------


def check_assignment(statement: Assign | Reduce, standing: Standing) -> None:
    """An assignment or a reduction, by a single thread where it is on the device."""
    scope, place = standing.scope, statement.place
    if scope.block is not None:
        hint = "only instructions touch memory in a CudaAsync block"
        raise static_refusal("instr-async-scalar", statement, place.name, "a direct write", hint=hint)
    if scope.tiling is not None and prod(scope.tiling.box) != 1:
        raise static_refusal("instr-scalar-unit", statement, place.name, f"{prod(scope.tiling.box)} threads")
    memory = standing.window(place).memory
    if scope.instr_tl not in memory.writes:
        raise static_refusal("mem-write", statement, place.name, f"a write of {memory} on {scope.instr_tl}")


def check_read(place: Name | Index, standing: Standing) -> None:
    """A direct read."""
    memory, instr_tl, within = standing.window(place).memory, standing.scope.instr_tl, standing.statement
    if standing.scope.block is not None:
        hint = "only instructions touch memory in a CudaAsync block"
        raise static_refusal(
            "instr-async-scalar", place, place.name, "a direct read", within=within, hint=hint
        )
    if instr_tl not in memory.reads:
        given = f"a read of {memory} on {instr_tl}"
        raise static_refusal("mem-read", place, place.name, given, within=within)


def read_places(value: Expr, standing: Standing) -> list[Name | Index]:
    """The places of data that a value reads."""
    return [n for n in walk(value) if isinstance(n, Name | Index) and standing.is_data(n.name)]
