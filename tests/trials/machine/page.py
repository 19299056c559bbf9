"""
Programs that are drawn
=======================

A `Page` is a program under construction: lines with their indentation, a source of chance, and the few roles that the
threads of the court's programs have. `machine_skeletons` and `machine_soup` write on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from soundline.impl.spork import proc_from_text
from soundline.spec.spork.language.programs import Proc
from soundline.verify.findings.instructions import NAMES

T = TypeVar("T")

IO, CP, GENERIC = "cuda_in_order", "Sm80_cp_async", "Sm80_generic"
BOTH, PROXY, TEMPORAL = "cuda_generic_and_async_proxy", "cuda_async_proxy", "cuda_temporal"
T2S, T2G, WGMMA = "tma_to_smem_async", "tma_to_gmem_async", "wgmma_async"

SIZE = 8
"""Elements of each array of global memory."""
X, Y, Z = "x", "y", "z"
"""What is read, what is written, what is both."""


@dataclass(slots=True)
class Page:
    """A program under construction."""

    random: Random
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    written: int = 0
    """How many elements of the result are in use."""
    names: int = 0

    # Chance -------------------------------------------------------------------------------------------------------

    def pick(self, *choices: T) -> T:
        """One of some things."""
        return self.random.choice(choices)

    def often(self, share: float) -> bool:
        """True with this probability."""
        return self.random.random() < share

    def number(self, lo: int, hi: int) -> int:
        """An integer, both ends included."""
        return self.random.randint(lo, hi)

    # Text ---------------------------------------------------------------------------------------------------------

    def say(self, *lines: str) -> None:
        """Some statements."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def block(self, *heads: str) -> Iterator[None]:
        """The inside of blocks in each other; blocks that nothing is said in are left out."""
        outside = len(self.lines)
        for head in heads:
            self.say(f"{head}:")
            self.depth += 1
        inside = len(self.lines)
        yield
        self.depth -= len(heads)
        if len(self.lines) == inside:
            del self.lines[outside:]

    def name(self, stem: str) -> str:
        """A name that is not in use."""
        self.names += 1
        return f"{stem}{self.names}"

    def result(self) -> str:
        """An element of the result that nothing else is written to, as long as there is one."""
        self.written += 1
        return f"y[{(self.written - 1) % SIZE}]"

    # Roles --------------------------------------------------------------------------------------------------------

    @contextmanager
    def device(self, block_dim: int = 32, tasks: int = 1, *, cluster: int = 1) -> Iterator[None]:
        """A task of a kernel."""
        shape = f"blockDim={block_dim}" + (f", clusterDim={cluster}" if cluster > 1 else "")
        with self.block(f"with CudaDeviceFunction({shape})", f"for task in cuda_tasks(0, {tasks})"):
            yield

    @contextmanager
    def one(self, warp: int | None = None) -> Iterator[None]:
        """One thread: the first of the CTA, or of a warp."""
        heads = ["for e in cuda_threads(0, 1, unit=cuda_thread)"]
        if warp is not None:
            heads.insert(0, f"with CudaWarps({warp}, {warp + 1})")
        with self.block(*heads):
            yield

    @contextmanager
    def threads(self, count: int, iterator: str = "t") -> Iterator[None]:
        """Some threads, from the first on."""
        with self.block(f"for {iterator} in cuda_threads(0, {count}, unit=cuda_thread)"):
            yield

    @contextmanager
    def leaders(self, count: int, iterator: str = "w") -> Iterator[None]:
        """The first thread of each of some warps."""
        heads = (f"for {iterator} in cuda_threads(0, {count}, unit=cuda_warp)",)
        with self.block(*heads, "for e in cuda_threads(0, 1, unit=cuda_thread)"):
            yield

    @contextmanager
    def asynchronous(self, timeline: str) -> Iterator[None]:
        """Instructions of an asynchronous timeline."""
        with self.block(f"with CudaAsync({timeline})"):
            yield

    @contextmanager
    def maybe(self, share: float, *heads: str) -> Iterator[None]:
        """These blocks, or none."""
        with ExitStack() as stack:
            if self.often(share):
                stack.enter_context(self.block(*heads))
            yield

    def fence(self, first: str = IO, second: str = IO) -> None:
        """A fence."""
        self.say(f"Fence({first}, {second})")

    def ended(self) -> Proc:
        """The program."""
        return proc_from_text(self.text(), NAMES)

    def text(self) -> str:
        """What is written so far."""
        memory = "i32[8] @ CudaGmemLinear"
        head = f"def f({', '.join(f'{name}: {memory}' for name in (X, Y, Z))}, h: i32[8] @ DRAM):"
        return "\n".join([head, *self.lines]) + "\n"


def window(name: str, index: str | int, count: int = 1) -> str:
    """Some elements of an array of one dimension."""
    if isinstance(index, int):
        return f"{name}[{index}:{index + count}]"
    return f"{name}[{index}:{index} + {count}]"


def joined(*parts: Sequence[T]) -> tuple[T, ...]:
    """All of some sequences."""
    return tuple(item for part in parts for item in part)
