"""
Fences and barriers in CUDA
===========================

The text of every statement that synchronizes. Which pieces of CUDA a statement becomes is said by the law
(`Facts.pieces`), and which mbarriers there are by `barriers.rings`; here they are spelled.

*Numbers.* Arrive i of a queue is at mbarrier i mod depth of its ring, in phase i div depth. An await with lag L that
is the k-th waits for arrive k - L, or for nothing where that is negative. A thread uses one queue of each side, with
the same others every time (`dist-barrier-c3`); so what it counts for itself is what the queue counts. It keeps the
number as slot and parity: ``next`` steps the slot, and turns the parity where a round is over.

*Arrives.* Of a warp one lane arrives, after ``__syncwarp()``: then all that its lanes did comes before (the arrive is a
release), and all of them have left the await that lets the slot be used again. At the mbarriers of other CTAs, lane c
arrives at that of CTA c. An arrive that ends a block of TMA announces the bytes that the block has sent to each CTA; a
block that has sent none announces 0, and still arrives. A phase is complete when all have arrived and all bytes are
there, in whatever order.

*Tasks.* A CTA executes its next task with the same shared memory and the same mbarriers. When a task ends each of its
threads knows all that was done to shared memory (S-06), but somebody may still wait for an mbarrier, and TMA and wgmma
do not see what was done through the generic proxy. So between tasks all threads meet, and then each of them executes
``fence.proxy.async`` where the asynchronous proxy is used. A proxy fence is of shared memory alone where TMA and
threads reach different arrays of global memory. The phases of mbarriers go on from task to task, and so do the
counters, with one step between: in the law the queues of a task are new, so that its first L awaits wait for nothing.
They would else wait for the last L arrives of the task before, and these may be as much as a round behind, where a slot
no longer tells whether they were made. A task ends with as many awaits as arrives (S-05), of which L were not waited
for; ``restart`` steps over these L, which have been made when all threads have met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final

from soundline.impl.codegen.cuda.barriers.rings import BYTES, NOINC, Ring, Side, rings_of, targets_of
from soundline.impl.codegen.cuda.barriers.targets import Targets, covered, largest, own_cta
from soundline.impl.codegen.cuda.barriers.uses import Use, uses_of
from soundline.impl.codegen.cuda.names import Names
from soundline.impl.codegen.cuda.operands import Trailing
from soundline.impl.codegen.cuda.writing import Writer
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.scopes import Scope, device_shape
from soundline.spec.spork.language.statements import (
    Arrive,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    Fence,
    Statement,
)
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.static.windows import Path
from soundline.spec.spork.synchronization.fences import Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import sync_tl

PIECES: Final = {
    "cp.async.wait_all": ("ptx::cp_async_wait_all();",),
    "syncwarp": ("__syncwarp();",),
    "barrier.cta.sync": ("ptx::barrier_cta_sync(0);",),
    "barrier.cluster": ("ptx::barrier_cluster_arrive();", "ptx::barrier_cluster_wait();"),
    "fence.proxy.async": ("ptx::fence_proxy_async{proxy}();",),
    "wgmma.fence": ("ptx::wgmma_fence_sync_aligned();",),
    "cp.async.commit_group": ("ptx::cp_async_commit_group();",),
    "cp.async.bulk.commit_group": ("ptx::cp_async_bulk_commit_group();",),
    "wgmma.commit_group": ("ptx::wgmma_commit_group_sync_aligned();",),
    "cp.async.wait_group": ("ptx::cp_async_wait_group<{n}>();",),
    "cp.async.bulk.wait_group": ("ptx::cp_async_bulk_wait_group<{n}>();",),
    "wgmma.wait_group": ("ptx::wgmma_wait_group_sync_aligned<{n}>();",),
}
"""How a piece is spelled, for all threads of the statement alike; those of mbarriers have more to say."""

LATER: Final = frozenset({"barrier.cluster", "fence.proxy.async", "wgmma.fence", "mbarrier.arrive.expect_tx"})
"""Pieces that an sm_80 does not have."""

WITH_PROXY: Final = "cuda_generic_and_async_proxy"
"""The second side of a fence after which the asynchronous proxy sees what was done."""


class Synchronization:
    """The synchronization of one device function."""

    def __init__(
        self,
        facts: Facts,
        function: CudaDeviceFunction,
        path: Path,
        arch: int,
        arrays_are_apart: bool = False,
    ) -> None:
        self.facts = facts
        self.arch = arch
        self._proxy = "_shared_cta" if arrays_are_apart else ""
        shape = device_shape(function)
        size = shape.block_dim * shape.cluster_dim
        self._all = Collective(frozenset(range(size)), shape.block_dim, shape.cluster_dim)
        self._uses = uses_of(function, path, facts)
        self._rings = rings_of(self._uses, facts)
        _check_arch(facts, path, arch, clustered=shape.cluster_dim > 1)

    @property
    def shared_bytes(self) -> int:
        """The bytes at the front of dynamic shared memory in which the mbarriers lie."""
        return BYTES * sum(ring.mbarriers * len(ring.sides) for ring in self._rings.values())

    @property
    def uses_async_proxy(self) -> bool:
        """Whether anything reaches memory through the asynchronous proxy."""
        return self._uses.uses_async_proxy

    # The kernel ---------------------------------------------------------------------------------------------------

    def declare(self, out: Writer) -> None:
        """The struct of what each thread counts; `sync` is one of these."""
        with out.block("struct SyncState", tail="};"):
            if not self._rings:
                out.line("// No mbarriers: nothing is counted.")
                return
            _declare_helpers(out)
            for ring in self._rings.values():
                out.line("")
                out.comment(ring.statement)
                for side in ring.sides.values():
                    self._declare_side(out, ring, side)

    def _declare_side(self, out: Writer, ring: Ring, side: Side) -> None:
        queues = f"{ring.queues} times " if ring.queues > 1 else ""
        last = side.first + ring.mbarriers - 1
        numbers = f"mbarrier {last}" if last == side.first else f"mbarriers {side.first} to {last}"
        out.line(
            f"// {'Reverse' if side.reverse else 'Forward'}: {queues}{ring.depth} in a ring, {numbers}; {side.each}."
        )
        out.line(f"Turn<{ring.depth}> {_counter(ring, side.reverse)}_arrives;", ring.statement)
        turn = f"Turn<{ring.depth}, {side.lag}>" if side.lag else f"Turn<{ring.depth}>"
        out.line(f"{turn} {_counter(ring, side.reverse)}_awaits;", ring.statement)
        if not side.reverse:
            for name in self._byte_counters(ring):
                out.line(f"uint32_t {name} = 0;", ring.statement)

    def setup(self, out: Writer) -> None:
        """Initialize the mbarriers, once: by one thread of each CTA, before all threads that use them go on.

        The initialization is a generic write: TMA, which counts bytes there, sees it after a proxy fence, and another
        CTA of the cluster after ``fence.mbarrier_init`` and the barrier of the cluster.
        """
        if not self._rings:
            return
        with out.block("if (threadIdx.x == 0)"):
            for ring in self._rings.values():
                for side in ring.sides.values():
                    init = f"ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), {side.arrivals});"
                    out.line(_each_mbarrier(ring, side) + init, ring.statement)
            if self._all.cluster_dim > 1:
                out.line("ptx::fence_mbarrier_init_release_cluster();")
            if self.uses_async_proxy:
                out.lines(self._spelled(["fence.proxy.async"]))
        out.lines(self._meeting())

    def shutdown(self, out: Writer) -> None:
        """Invalidate the mbarriers when nobody uses them. Of a cluster no CTA exits before: another one may still
        arrive there, or TMA write to its shared memory. Where copies arrive and nobody awaits the last of them, threads
        wait for their copies; the arrive itself may still be under way, so such mbarriers are left as they are, and end
        with the CTA.
        """
        if any(s.is_by_copies for r in self._rings.values() for s in r.sides.values()):
            out.line("ptx::cp_async_wait_all();")
        if self._all.cluster_dim > 1 or self._rings:
            out.lines(self._meeting())
        awaited = [(r, s) for r in self._rings.values() for s in r.sides.values() if not s.is_by_copies]
        if not awaited:
            return
        with out.block("if (threadIdx.x == 0)"):
            for ring, side in awaited:
                inval = "ptx::mbarrier_inval_shared_b64(SyncState::mbarrier(k));"
                out.line(_each_mbarrier(ring, side) + inval, ring.statement)

    def _meeting(self) -> list[str]:
        return self._spelled(fence_pieces(sync_tl("cuda_in_order"), sync_tl("cuda_in_order"), self._all))

    def task_boundary(self, out: Writer, last: Statement | None) -> None:
        """Between tasks of one CTA: all threads meet, and a proxy fence.

        What the last statement of the task does of this is left out. Where it is a fence of all threads, everything of
        the task comes before it in each thread, so that they have met after the task. Its proxy fence comes after the
        meeting, in each thread, and so before whatever that thread will give to the asynchronous proxy.
        """
        second = WITH_PROXY if self.uses_async_proxy else "cuda_in_order"
        wanted = fence_pieces(sync_tl("cuda_in_order"), sync_tl(second), self._all)
        done: tuple[str, ...] = ()
        if isinstance(last, Fence) and last.first.value.name != "wgmma_fence_1":
            done = fence_pieces(last.first.value, last.second.value, self._all)
        missing = [piece for piece in wanted if piece not in done]
        if missing:
            out.line("// The next task uses the same shared memory and the same mbarriers.")
        else:
            out.line(f"// The fence at the end of the task orders the next one: {' and '.join(wanted)}.")
        out.lines(self._spelled(missing))
        for ring in self._rings.values():
            for side in ring.sides.values():
                if side.lag:
                    out.line(f"sync.{_counter(ring, side.reverse)}_awaits.restart();", ring.statement)

    def _spelled(self, pieces: Iterable[str], n: int = 0) -> list[str]:
        return [line.format(n=n, proxy=self._proxy) for piece in pieces for line in PIECES[piece]]

    # Statements ---------------------------------------------------------------------------------------------------

    def fence(self, out: Writer, statement: Fence, path: Path, scope: Scope, names: Names) -> None:
        """A fence: its pieces, in their order."""
        del scope, names  # which the law has looked at
        out.lines(self._spelled(self.facts.pieces[path]), statement)

    def arrive(self, out: Writer, statement: Arrive, path: Path, scope: Scope, names: Names) -> None:
        """An arrive: the end of a commit group, or at mbarriers."""
        ring = self._rings.get(self._uses.uses[path].barrier)
        if ring is None:
            out.lines(self._spelled(self.facts.pieces[path]), statement)
            return
        del scope
        (piece,) = self.facts.pieces[path]
        use, side = self._uses.uses[path], ring.sides[statement.reverse]
        at = _mbarrier(ring, side, use, names, "arrives")
        targets = largest(targets_of(use, statement.barriers))
        whole_warps = prod(use.tiling.box) > 1
        if piece == NOINC:
            out.line(f"ptx::cp_async_mbarrier_arrive_noinc_shared_b64({at});", statement)
        elif all(t == own_cta(use.tiling) for t in targets):
            self._arrive_here(out, statement, use, at, whole_warps=whole_warps)
        else:
            self._arrive_there(out, statement, use, at, targets, names, whole_warps=whole_warps)
        out.line(f"sync.{_counter(ring, side.reverse)}_arrives.next();", statement)

    def _arrive_here(self, out: Writer, statement: Arrive, use: Use, at: str, *, whole_warps: bool) -> None:
        """At the mbarrier of the own CTA: one lane of each warp, or the one thread that is there."""
        arrive = f"ptx::mbarrier_arrive_shared_b64({at});"
        if use.path in self._uses.closes and "expect_tx" in self.facts.pieces[use.path][0]:
            counters = self._counters_of(use)
            arrive = f"ptx::mbarrier_arrive_expect_tx_shared_b64({at}, {_sum(counters.values())});"
        if whole_warps:
            out.line("__syncwarp();", statement)
            arrive = f"if ({self._elected}) {arrive}"
        out.line(arrive, statement)

    def _arrive_there(
        self,
        out: Writer,
        statement: Arrive,
        use: Use,
        at: str,
        targets: Sequence[Targets],
        names: Names,
        *,
        whole_warps: bool,
    ) -> None:
        """At the mbarriers of several CTAs: lane c of each warp at that of CTA c, or one thread at all of them."""
        mask = _masks(targets, names)
        what, announced = "arrive", ""
        if "expect_tx" in self.facts.pieces[use.path][0]:
            what = "arrive_expect_tx"
            announced = f", {_sum(self._announced(use, targets, names))}"
        arrive = f"ptx::mbarrier_{what}_release_cluster_shared_cluster_b64({at}, target_cta{announced});"
        if whole_warps:
            out.line("__syncwarp();", statement)
            head = f"if (const uint32_t target_cta = threadIdx.x % 32; {mask} >> target_cta & 1)"
            with out.block(head, statement):
                out.line(arrive, statement)
            return
        with out.block(
            f"for (uint32_t target_cta = 0; target_cta < {self._all.cluster_dim}; ++target_cta)", statement
        ):
            out.line(f"if ({mask} >> target_cta & 1) {arrive}", statement)

    @property
    def _elected(self) -> str:
        return "ptx::elect_sync()" if self.arch >= 90 else "threadIdx.x % 32 == 0"

    def await_(self, out: Writer, statement: Await, path: Path, scope: Scope, names: Names) -> None:
        """An await: for groups that were committed, or for a phase of an mbarrier, by each thread."""
        del scope
        use = self._uses.uses[path]
        ring = self._rings.get(use.barrier)
        if ring is None:
            out.lines(self._spelled(self.facts.pieces[path], statement.n), statement)
            return
        side = ring.sides[statement.reverse]
        turn = f"sync.{_counter(ring, side.reverse)}_awaits"
        at = _mbarrier(ring, side, use, names, "awaits")
        lines = [
            f"while (!ptx::{self._wait(side)}({at}, {turn}.parity)) {{}}",
            f"{turn}.next();",
            *self._spelled(p for p in self.facts.pieces[path] if p != "mbarrier.try_wait"),
        ]
        if not side.lag:
            out.lines(lines, statement)
            return
        with out.block(f"if ({turn}.is_due())", statement):
            out.lines(lines, statement)

    def _wait(self, side: Side) -> str:
        """What other CTAs did before they arrived is seen by an acquire of the cluster alone."""
        if side.is_remote:
            return "mbarrier_try_wait_parity_acquire_cluster_shared_b64"
        return f"mbarrier_{'try' if self.arch >= 90 else 'test'}_wait_parity_shared_b64"

    # Copies -------------------------------------------------------------------------------------------------------

    def async_block(self, out: Writer, statement: CudaAsync, path: Path, scope: Scope) -> None:
        """The start of a block: where an arrive at its end will announce bytes, none have been sent."""
        del scope
        closing = (*path, len(statement.body) - 1)
        use = self._uses.uses.get(closing)
        if use is not None and "mbarrier.arrive.expect_tx" in self.facts.pieces.get(closing, ()):
            out.lines((f"{counter} = 0;" for counter in self._counters_of(use).values()), statement)

    def trailing(
        self, call: Call, path: Path, scope: Scope, bytes_text: str, names: Names
    ) -> tuple[Trailing, list[str]]:
        """The mbarrier at which a copy completes, and the lines that count its bytes for the arrive at the end.

        `bytes_text` is what each CTA that is written to gets. All threads of the warp execute these lines.
        """
        del scope
        use = self._uses.uses[path]
        ring = self._rings[use.barrier]
        written = self._uses.written[path]
        assert covered(written, targets_of(use, call.trailing), use.tiling), (
            "the law asks that: bar-trailing-ctas"
        )
        closing = next(u for u in self._uses.uses.values() if self._closes(u, use))
        counter = self._counters_of(closing)[written]
        at = _mbarrier(ring, ring.sides[False], use, names, "arrives")
        return Trailing(at), [f"{counter} += {bytes_text};"]

    def _closes(self, arrive: Use, copy: Use) -> bool:
        """Whether an arrive ends the block in which a copy stands."""
        around = arrive.path[:-1]
        return arrive.path in self._uses.closes and copy.path[: len(around)] == around

    def _counters_of(self, arrive: Use) -> dict[Targets, str]:
        """The counters of bytes of the block that an arrive ends, by the CTAs that are written to."""
        ring = self._rings[arrive.barrier]
        found: dict[Targets, str] = {}
        for targets in self._uses.closes[arrive.path].reached:
            all_of = [i for i, _ in own_cta(arrive.tiling).fixed if i not in dict(targets.fixed)]
            found[targets] = "_".join([f"sync.{ring.name}_bytes", *(f"all_{i}" for i in all_of)])
        return found

    def _byte_counters(self, ring: Ring) -> list[str]:
        """All counters of bytes of a barrier."""
        arrives = [u for p, u in self._uses.uses.items() if u.barrier == ring.path and p in self._uses.closes]
        names = (c.removeprefix("sync.") for u in arrives for c in self._counters_of(u).values())
        return list(dict.fromkeys(names))

    def _announced(self, arrive: Use, targets: Sequence[Targets], names: Names) -> Iterator[str]:
        """The terms of the bytes that were sent to `cta`."""
        for reached, counter in self._counters_of(arrive).items():
            if (reached,) == tuple(targets):
                yield counter
            elif reached == own_cta(arrive.tiling):
                yield f"(target_cta == ptx::cluster_ctarank() ? {counter} : 0)"
            else:
                yield f"({_masks([reached], names)} >> target_cta & 1 ? {counter} : 0)"


# Text -------------------------------------------------------------------------------------------------------------


def _declare_helpers(out: Writer) -> None:
    """What the counters of all rings have in common."""
    with out.block("static __device__ __forceinline__ uint64_t *mbarrier(int k)"):
        out.line("return reinterpret_cast<uint64_t *>(soundline_dynamic_shared()) + k;")
    out.line(
        "// Which mbarrier of a ring is the next, and the parity of its phase; the first LAG awaits are not due."
    )
    with out.block("template <int DEPTH, int LAG = 0> struct Turn", tail="};"):
        out.lines(["int slot = 0;", "uint32_t parity = 0;", "int early = LAG;"])
        with out.block("__device__ __forceinline__ bool is_due()"):
            out.lines(["if (early == 0) return true;", "--early;", "return false;"])
        with out.block("__device__ __forceinline__ void next()"):
            out.line("if (++slot < DEPTH) return;")
            out.lines(["slot = 0;", "parity ^= 1;"])
        with out.block("__device__ __forceinline__ void restart()"):
            out.line("for (; early < LAG; ++early) next();")


def _counter(ring: Ring, reverse: bool) -> str:
    return f"{ring.name}_reverse" if reverse else ring.name


def _each_mbarrier(ring: Ring, side: Side) -> str:
    return f"for (int k = {side.first}; k < {side.first + ring.mbarriers}; ++k) "


def _mbarrier(ring: Ring, side: Side, use: Use, names: Names, what: str) -> str:
    """A pointer to the mbarrier of the own CTA whose turn it is."""
    terms = [str(side.first)] if side.first else []
    for iterator, factor in ring.queue(use.home):
        by = factor * ring.depth
        terms.append(f"{by} * {names.texts[iterator]}" if by > 1 else names.texts[iterator])
    if ring.depth > 1:
        terms.append(f"sync.{_counter(ring, side.reverse)}_{what}.slot")
    return f"SyncState::mbarrier({' + '.join(terms) or '0'})"


def _masks(targets: Iterable[Targets], names: Names) -> str:
    """The CTAs as bits, in parentheses where that is needed for a shift."""
    found = [_mask(t, names) for t in targets]
    text = " | ".join(found)
    return f"({text})" if len(found) > 1 or " " in text else text


def _mask(targets: Targets, names: Names) -> str:
    by = " + ".join(f"{step} * {names.texts[i]}" if step > 1 else names.texts[i] for i, step in targets.fixed)
    if not by:
        return hex(targets.mask)
    return f"{targets.mask:#x} << {by}" if " " not in by else f"{targets.mask:#x} << ({by})"


def _sum(terms: Iterable[str]) -> str:
    return " + ".join(terms) or "0"


def _check_arch(facts: Facts, path: Path, arch: int, *, clustered: bool) -> None:
    """Refuse what the architecture does not have."""
    if arch >= 90:
        return
    own = (piece for at, pieces in facts.pieces.items() if at[: len(path)] == path for piece in pieces)
    missing = next((p for p in own if p in LATER), "barrier.cluster" if clustered else None)
    if missing is not None:
        raise CompileError(f"{missing} is an instruction of sm_90", where=f"sm_{arch}")
