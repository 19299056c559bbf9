"""
Statements
==========

The statements of programs: what they compute, which threads execute them, and how those synchronize. Nodes are compared
by what they are; where they stand in a source file is kept beside that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from soundline.spec.dtypes import DType
from soundline.spec.spork.language.expressions import Expr, Index, Name, Span
from soundline.spec.spork.language.nodes import Node, Ref
from soundline.spec.spork.language.types import CudaWarpConfig


@dataclass(frozen=True, slots=True)
class Pass(Node):
    """``pass``: nothing happens."""


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``x[i] = e``."""

    place: Name | Index
    value: Expr


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """``x[i] += e``."""

    place: Name | Index
    value: Expr


@dataclass(frozen=True, slots=True)
class Alloc(Node):
    """``x: f32[16, 32] @ CudaRmem``: storage that lives to the end of the block; a scalar where there are no sizes."""

    name: str
    dtype: DType
    sizes: tuple[Expr, ...] = ()
    memory: Ref | None = None


@dataclass(frozen=True, slots=True)
class AllocBarrier(Node):
    """``bar: barrier[4] @ CudaMbarrier``, or ``bar: barrier @ CudaMbarrier``, whose uses alone say what it has."""

    name: str
    kind: Ref
    sizes: tuple[Expr, ...] | None = None


@dataclass(frozen=True, slots=True)
class WindowOf(Node):
    """``w = x[i, 0:16]``, a name for a window; with ``@ M`` one that the memory M makes, such as a tensor map."""

    name: str
    window: Index
    memory: Ref | None = None


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if condition:``, with ``else:`` where that body is not empty."""

    condition: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopMode:
    """How the iterations of a loop are executed: ``seq``, ``par`` on threads of the CPU, or ``cuda_tasks``."""

    name: Literal["seq", "par", "cuda_tasks"]


@dataclass(frozen=True, slots=True)
class CudaThreads:
    """Every iteration is executed by a thread collective of its own, of the given unit."""

    unit: Ref


Mode = LoopMode | CudaThreads
SEQ, PAR, CUDA_TASKS = LoopMode("seq"), LoopMode("par"), LoopMode("cuda_tasks")


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for iterator in mode(lo, hi):``."""

    iterator: str
    mode: Mode
    lo: Expr
    hi: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class CudaDeviceFunction(Node):
    """``with CudaDeviceFunction(...):``, a kernel: threads by number or by named warps, CTAs of a cluster, CTAs that
    share a multiprocessor.
    """

    body: tuple[Statement, ...]
    block_dim: int | None = None
    warp_config: tuple[CudaWarpConfig, ...] = ()
    cluster_dim: int = 1
    blocks_per_sm: int = 1


@dataclass(frozen=True, slots=True)
class CudaAsync(Node):
    """``with CudaAsync(timeline):``, a block of instructions of one asynchronous timeline."""

    timeline: Ref
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class CudaWarps(Node):
    """``with CudaWarps(lo, hi, name="..."):``, executed by some warps of the collective: those in [lo, hi), those of a
    name, or those in [lo, hi) of a name.
    """

    body: tuple[Statement, ...]
    lo: int | None = None
    hi: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class BarrierAt(Node):
    """``bar[i, :]``: a queue barrier of an array. ``:`` stands for every position, which is multicast."""

    name: str
    indices: tuple[Expr | Span, ...] = ()

    @property
    def is_multicast(self) -> bool:
        """Whether an index stands for every position."""
        return any(isinstance(i, Span) for i in self.indices)


@dataclass(frozen=True, slots=True)
class Fence(Node):
    """``Fence(first, second)``: what the collective did on `first` comes before what it will do on `second`."""

    first: Ref
    second: Ref


@dataclass(frozen=True, slots=True)
class Arrive(Node):
    """``Arrive(first, n) >> bar[...]``, or ``ReverseArrive``; with several barriers it is multicast."""

    first: Ref
    barriers: tuple[BarrierAt, ...]
    n: int = 1
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Await(Node):
    """``Await(bar[...], second, n)``, or ``ReverseAwait``; ``n`` says with which arrive it pairs (S-05)."""

    barrier: BarrierAt
    second: Ref
    n: int
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``f(a, b, key=c) >> bar[...]``: a proc, or an instruction, whose completion may arrive at a trailing barrier."""

    callee: Ref
    arguments: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    trailing: tuple[BarrierAt, ...] = ()


Statement = (
    Pass
    | Assign
    | Reduce
    | Alloc
    | AllocBarrier
    | WindowOf
    | If
    | For
    | CudaDeviceFunction
    | CudaAsync
    | CudaWarps
    | Fence
    | Arrive
    | Await
    | Call
)


def bodies(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks of statements directly inside a statement."""
    match statement:
        case If():
            return (statement.body, statement.orelse) if statement.orelse else (statement.body,)
        case For() | CudaDeviceFunction() | CudaAsync() | CudaWarps():
            return (statement.body,)
        case _:
            return ()


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a block and of the blocks inside it, in the order of the text."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from statements(inner)
