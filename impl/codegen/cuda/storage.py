"""
Storage in C++
==============

How what a task allocates is declared: shared memory as a pointer to where the law lays it out, registers as arrays and
scalars, fragments of matrices as the words that a thread has of each tile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.library import Library
from soundline.impl.codegen.cuda.names import spelled
from soundline.impl.codegen.cuda.refusals import refused
from soundline.impl.codegen.cuda.windows import Dimension, Kind, View, row_major
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.expressions import Const, Span
from soundline.spec.spork.language.scopes import Scope
from soundline.spec.spork.language.statements import Alloc, CudaDeviceFunction, statements
from soundline.spec.spork.library.memories import Memory, Sm90_RmemMatrixD
from soundline.spec.spork.static.sizes import value as number_of
from soundline.spec.spork.threads.distributed_memory import Deduction
from soundline.spec.spork.threads.tilings import Tiling

KIB = 1024
MOST_SHARED = {80: 163 * KIB, 90: 227 * KIB}
"""The shared memory that a CTA may have, by arch."""
OF_MULTIPROCESSOR = {80: 164 * KIB, 90: 228 * KIB}
"""The shared memory of a multiprocessor, of which each CTA takes a KiB for the system."""


def shared_arrays(block: CudaDeviceFunction) -> Iterable[Memory]:
    """The memories of what a device function allocates in shared memory."""
    for statement in statements(block.body):
        if isinstance(statement, Alloc) and statement.memory is not None:
            memory: Memory = statement.memory.value
            if memory.space == "shared":
                yield memory


def first_byte(block: CudaDeviceFunction, behind: int) -> int:
    """Where the arrays of shared memory begin behind the mbarriers: so that those that are aligned in the law, where
    they begin at 0, are aligned.
    """
    most = max((memory.alignment for memory in shared_arrays(block)), default=1)
    return -(-behind // most) * most


def check_shared(block: CudaDeviceFunction, size: int, blocks_per_sm: int, arch: int) -> None:
    """Refuse more shared memory than a CTA may have, or a multiprocessor has for as many CTAs as are asked for."""
    given = f"{size} bytes"
    if size > MOST_SHARED[arch]:
        wants = f"at most {MOST_SHARED[arch]} bytes of shared memory for sm_{arch}"
        more = "; sm_90a has more" if size <= max(MOST_SHARED.values()) else ""
        raise refused(block, "shared", wants, given, f"use smaller tiles, or a ring of fewer slots{more}")
    most = OF_MULTIPROCESSOR[arch] // blocks_per_sm - KIB
    if size > most:
        wants = f"at most {most} bytes of shared memory where {blocks_per_sm} CTAs share a multiprocessor"
        raise refused(block, "shared", wants, given, "lower blocks_per_sm")


def declared(
    statement: Alloc, shards: Deduction | None, scope: Scope, first: int | None, library: Library
) -> tuple[View, list[tuple[str, str]]]:
    """What a name stands for, and the names that are declared for it, each with its line; `first` is the byte of shared
    memory where it begins.
    """
    try:
        if first is not None:
            return _shared(statement, shards, scope, first)
        return _registers(statement, shards, library)
    except CompileError as error:
        if error.where == "CUDA":
            raise
        raise refused(statement, "type", "storage that CUDA has", error.message) from error


def kept_sizes(statement: Alloc, shards: Deduction | None) -> tuple[int, ...]:
    """The sizes of a shard; without a use that says otherwise, there is one shard of everything."""
    erased = len(shards.distributed) if shards is not None else 0
    sizes = tuple(number_of(size) for size in statement.sizes)
    return tuple(n for n in sizes[erased:] if n is not None)


def _shared(
    statement: Alloc, shards: Deduction | None, scope: Scope, first: int
) -> tuple[View, list[tuple[str, str]]]:
    assert statement.memory is not None
    memory: Memory = statement.memory.value
    erased = len(shards.distributed) if shards is not None else 0
    name, type_ = spelled(statement.name), CUDA.type_of(statement.dtype)
    view = View(
        statement.name,
        Kind.pointer,
        statement.dtype,
        memory,
        name,
        row_major(statement.sizes, erased),
        alignment=memory.alignment,
    )
    if shards is not None and scope.tiling is not None:
        view = _over_ctas(view, shards, scope.tiling)
    at = f"soundline_dynamic_shared() + {first}" if first else "soundline_dynamic_shared()"
    return view, [(name, f"{type_} *const {name} = reinterpret_cast<{type_} *>({at});")]


def _over_ctas(view: View, shards: Deduction, tiling: Tiling) -> View:
    """Shared memory that is distributed over the CTAs of a cluster."""
    block = tiling.block_dim
    return replace(
        view,
        shards=tuple((Span(), pitch // block) for pitch in shards.pitches),
        counts=tuple(shards.extents),
    )


def _registers(
    statement: Alloc, shards: Deduction | None, library: Library
) -> tuple[View, list[tuple[str, str]]]:
    assert statement.memory is not None
    memory: Memory = statement.memory.value
    name, sizes = spelled(statement.name), kept_sizes(statement, shards)
    type_, words, rank = library.register_storage(memory, statement.dtype, sizes)
    erased = len(statement.sizes) - len(sizes)
    if not rank:
        view = View(
            statement.name,
            Kind.array,
            statement.dtype,
            memory,
            name,
            row_major(statement.sizes, erased),
            is_array=bool(sizes),
            alignment=statement.dtype.itemsize,
        )
        return view, [(name, f"{type_} {name}{_extent(sizes)};")]
    outer = sizes[: len(sizes) - rank]
    dims = row_major(statement.sizes[: len(statement.sizes) - rank], erased)
    inner = range(len(statement.sizes) - rank, len(statement.sizes))
    dims += tuple(Dimension(statement.sizes[axis], Const(0), axis) for axis in inner)
    flags = f"{name}_holds_sum" if memory == Sm90_RmemMatrixD else ""
    view = View(
        statement.name,
        Kind.tiles,
        statement.dtype,
        memory,
        name,
        dims,
        is_array=bool(outer),
        tile_sizes=sizes[len(sizes) - rank :],
        flags=flags,
    )
    lines = [(name, f"{type_} {name}{_extent(outer)}[{words}];")]
    if flags:
        lines.append((flags, f"int {flags}{_extent(outer)} = {'{}' if outer else '0'};"))
    return view, lines


def _extent(sizes: tuple[int, ...]) -> str:
    """The brackets of an array of one dimension; none for a scalar."""
    return f"[{' * '.join(map(str, sizes))}]" if sizes else ""


def shared_bytes(statement: Alloc, shards: Deduction | None) -> int:
    """The bytes of a shard."""
    return prod(kept_sizes(statement, shards)) * statement.dtype.itemsize
