"""
Skeletons
=========

Programs that are synchronized as programs of CUDA are: staged copies, double buffers, rings, reduction trees, copies by
cp.async, TMA and their groups and barriers, wgmma. Each is correct as it is written, so that the machine has to accept
it; `machine_changes` then takes something away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from trials.machine.page import (
    BOTH,
    CP,
    GENERIC,
    IO,
    T2G,
    T2S,
    TEMPORAL,
    WGMMA,
    Page,
    window,
)

Skeleton = Callable[[Page], None]


def _value(page: Page, source: str) -> str:
    """A value that tells from which element it was made."""
    return page.pick(source, f"{source} * 3 + {page.number(1, 9)}", f"{source} + {page.number(1, 99)}")


def _fill(page: Page, how: str, target: str, at: str, source: str) -> None:
    """One element of shared memory from global memory, in order or by cp.async."""
    if how == "store":
        page.say(f"{target}[{at}] = {_value(page, f'x[{source}]')}")
    elif how == "copy":
        page.say(f"copy_1({window(target, at)}, {window('x', source)})")
    else:
        with page.asynchronous(CP):
            page.say(f"cp_async_1({window(target, at)}, {window('x', source)})")


def _arrives_by(how: str) -> str:
    """The timeline on which a filling is waited for."""
    return CP if how == "cp_async" else IO


def _loads(page: Page, bar: str, target: str, at: str, source: str) -> None:
    """A load by TMA that arrives at a barrier."""
    with page.asynchronous(T2S):
        page.say(
            f"tma_load_1({window(target, at)}, {window('x', source)}) >> {bar}", f"Arrive({T2S}, 1) >> {bar}"
        )


# Fences -----------------------------------------------------------------------------------------------------------


def staged(page: Page) -> None:
    """Threads fill shared memory, a fence, and each reads what another wrote; once more for each round."""
    n, rounds = page.number(2, 3), page.number(1, 2)
    how = page.pick("store", "cp_async", "cp_async", "cp_async", "copy")
    first = page.pick(CP, GENERIC) if how == "cp_async" else page.pick(IO, GENERIC)
    again = page.pick(GENERIC, BOTH) if how == "cp_async" else page.pick(IO, GENERIC)
    with page.device(page.pick(32, 32, 64)):
        page.say(f"s: i32[{n}] @ CudaSmemLinear")
        with page.block(f"for k in seq(0, {rounds})"):
            with page.threads(n):
                _fill(page, how, "s", "t", f"t + {n} * k")
            page.fence(first, page.pick(IO, GENERIC))
            with page.threads(n):
                page.say(f"y[{n} * k + t] = {_value(page, f's[(t + {page.number(1, n - 1)}) % {n}]')}")
            page.fence(IO, again)


def double_buffer(page: Page) -> None:
    """Slot k % 2 is filled while slot (k - 1) % 2 is read; one fence in each round."""
    n, rounds = page.number(1, 2), page.number(2, 3)
    how = page.pick("store", "cp_async", "cp_async", "cp_async")
    with page.device(32):
        page.say(f"s: i32[2, {n}] @ CudaSmemLinear")
        with page.block(f"for k in seq(0, {rounds + 1})"):
            with page.block(f"if k < {rounds}"), page.threads(n):
                if how == "store":
                    page.say(f"s[k % 2, t] = x[{n} * k + t]")
                else:
                    with page.asynchronous(CP):
                        page.say(f"cp_async_1(s[k % 2, t:t + 1], x[{n} * k + t:{n} * k + t + 1])")
            with page.block("if k > 0"), page.threads(n):
                page.say(f"y[{n} * (k - 1) + t] = {_value(page, f's[(k - 1) % 2, {n} - 1 - t]')}")
            page.fence(GENERIC if how == "cp_async" else page.pick(IO, GENERIC), GENERIC)


def reduction(page: Page) -> None:
    """A tree: half of the threads add what the other half has, then half of these."""
    n = page.pick(2, 4)
    with page.device(page.pick(32, 64)):
        page.say(f"s: i32[{n}] @ CudaSmemLinear")
        with page.threads(n):
            page.say("s[t] = x[t]")
        half = n // 2
        while half:
            page.fence(page.pick(IO, GENERIC))
            with page.threads(half):
                page.say(f"s[t] += s[t + {half}]")
            half //= 2
        if page.often(0.5):
            page.fence()
            with page.one(0):
                page.say(f"y[{page.number(0, 7)}] = {_value(page, 's[0]')}")
        else:
            with page.one():
                page.say("y[0] = s[0]")
        page.fence()


def warps(page: Page) -> None:
    """Lanes of each of two warps exchange by a fence of the warp; then the warps by one of the CTA."""
    with page.device(64):
        page.say("s: i32[2, 2] @ CudaSmemLinear")
        with page.block("for w in cuda_threads(0, 2, unit=cuda_warp)"):
            with page.threads(2):
                page.say("s[w, t] = x[2 * w + t]")
            page.fence()
            with page.threads(2):
                page.say(f"y[2 * w + t] = {_value(page, 's[w, 1 - t]')}")
            if page.often(0.5):
                page.fence(IO, page.pick(IO, TEMPORAL))
                with page.threads(1):
                    page.say("s[w, 0] = z[w]")
        page.fence()
        with page.leaders(2):
            page.say(f"y[4 + w] = {_value(page, 's[1 - w, 0]')}")
        page.fence()


def fragments(page: Page) -> None:
    """Registers of a warp are loaded from shared memory, as those of mma, and stored by the warp."""
    with page.device(32):
        page.say("s: i32[2] @ CudaSmemLinear", "r: i32[2] @ WarpRegisters")
        with page.threads(2):
            page.say("s[t] = x[t]")
        page.fence()
        page.say(f"warp_load(r[0:1], s[{page.pick('0:1', '1:2')}])", "warp_load(r[1:2], s[0:1])")
        page.fence()
        with page.threads(2):
            page.say("s[t] = z[t]")
        if page.often(0.5):
            page.fence()
            page.say("warp_store(s[1:2], r[0:1])")
            page.fence()
            with page.one():
                page.say("y[3] = s[1]", "y[4] = s[0]")
        page.say("warp_store(y[0:1], r[1:2])")
        page.fence()


# Groups of one thread ---------------------------------------------------------------------------------------------


def groups(page: Page) -> None:
    """Each thread commits groups of copies, and waits for all but the last few before it reads them."""
    n, count = page.number(1, 2), page.number(1, 3)
    spared = page.number(0, count - 1)
    shared = page.often(0.6)
    with page.device(32):
        page.say(f"s: i32[{count}, {n}] @ CudaSmemLinear")
        with page.threads(n):
            page.say("g: barrier @ CudaCommitGroup")
            for k in range(count):
                with page.asynchronous(CP):
                    page.say(f"cp_async_1(s[{k}, t:t + 1], x[{n * k} + t:{n * k} + t + 1])")
                page.say(f"Arrive({CP}, 1) >> g")
            second = page.pick(IO, GENERIC)
            page.say(f"Await(g, {second}, {spared})")
            for k in range(count - spared):
                page.say(f"y[{n * k} + t] = {_value(page, f's[{k}, t]')}")
            if spared or page.often(0.5):
                page.say(f"Await(g, {second}, 0)")
        if shared:
            page.fence()
            with page.threads(n):
                page.say(f"y[{n * count} + t] = s[{count - 1}, {n - 1} - t]")
        page.fence()


def overwritten(page: Page) -> None:
    """One thread reads an element, then has it filled by a copy, and waits before it reads it again."""
    with page.device(32):
        page.say("s: i32[2] @ CudaSmemLinear")
        with page.one():
            page.say("s[0] = x[0]", "s[1] = x[1]", f"y[0] = {_value(page, 's[0]')}")
            page.fence(IO, GENERIC)
            n = page.number(1, 2)
            with page.asynchronous(CP):
                page.say(f"cp_async_{n}(s[0:{n}], x[2:{2 + n}])")
            page.fence(page.pick(CP, GENERIC), IO)
            page.say(f"y[1] = {_value(page, 's[0]')}", "y[2] = s[1]")
        page.fence()


# Mbarriers --------------------------------------------------------------------------------------------------------


def handed_over(page: Page) -> None:
    """One thread fills and arrives, another awaits and reads; perhaps once more, with the same storage and mbarrier."""
    how = page.pick("store", "cp_async", "cp_async", "cp_async", "copy")
    n = page.number(1, 2)
    with page.device(64), page.maybe(0.4, "for k in seq(0, 2)"):
        page.say(f"s: i32[{n}] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with page.one(0):
            for i in range(n):
                _fill(page, how, "s", str(i), str(i))
            page.say(f"Arrive({_arrives_by(how)}, 1) >> bar")
        with page.one(1):
            page.say(f"Await(bar, {page.pick(IO, GENERIC)}, ~0)")
            for i in range(n):
                page.say(f"{page.result()} = {_value(page, f's[{i}]')}")
            if page.often(0.3):
                page.say("s[0] = z[0]", f"{page.result()} = s[0]")
        page.fence(IO, GENERIC)


def passed_on(page: Page) -> None:
    """The first thread writes, the second waits for it and tells the third, which reads."""
    how = page.pick("store", "cp_async", "cp_async")
    with page.device(96):
        page.say("s: i32[2] @ CudaSmemLinear", "a: barrier @ CudaMbarrier", "b: barrier @ CudaMbarrier")
        with page.one(0):
            _fill(page, how, "s", "0", "0")
            page.say(f"Arrive({_arrives_by(how)}, 1) >> a")
        with page.one(1):
            page.say(f"Await(a, {IO}, ~0)")
            if page.often(0.5):
                page.say("s[1] = s[0] + 1")
            else:
                page.say("s[1] = x[5]")
            page.say(f"Arrive({IO}, 1) >> b")
        with page.one(2):
            page.say(f"Await(b, {IO}, ~0)", f"y[0] = {_value(page, 's[0]')}", "y[1] = s[1]")
            if page.often(0.4):
                page.say("s[0] = x[3]", "y[2] = s[0]")
        page.fence()


def gathered(page: Page) -> None:
    """A whole warp or CTA arrives, and one thread or all await."""
    n = page.number(2, 3)
    wide = page.often(0.5)
    with page.device(64):
        page.say(f"s: i32[{n}] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with page.block("with CudaWarps(0, 1)"):
            with page.threads(n):
                page.say("s[t] = x[t]")
            page.say(f"Arrive({IO}, 1) >> bar")
        with page.block("with CudaWarps(1, 2)"), ExitStack() as stack:
            if not wide:
                stack.enter_context(page.one())
            page.say(f"Await(bar, {IO}, ~0)")
            if wide:
                stack.enter_context(page.threads(n))
            at, which = ("t", f"{n - 1} - t") if wide else ("4", str(n - 1))
            page.say(f"y[{at}] = {_value(page, f's[{which}]')}")
        page.fence()


def ring(page: Page) -> None:
    """A producer and a consumer with a ring of slots; the consumer gives slots back by the reverse side."""
    depth, rounds = page.number(1, 2), page.number(2, 3)
    how = page.pick("store", "cp_async", "cp_async", "tma", "tma", "tma")
    back = {"store": page.pick(IO, GENERIC), "cp_async": GENERIC, "tma": BOTH}[how]
    with page.device(64):
        page.say(f"s: i32[{depth}] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with page.block(f"for k in seq(0, {rounds})"):
            with page.one(0):
                page.say(f"ReverseAwait(bar, {back}, ~{depth})")
                if how == "tma":
                    _loads(page, "bar", "s", f"k % {depth}", "k")
                else:
                    _fill(page, how, "s", f"k % {depth}", "k")
                    page.say(f"Arrive({_arrives_by(how)}, 1) >> bar")
            with page.one(1):
                page.say(
                    f"Await(bar, {page.pick(IO, GENERIC)}, ~0)",
                    f"y[k] = {_value(page, f's[k % {depth}]')}",
                    f"ReverseArrive({IO}, 1) >> bar",
                )
        page.fence()


def elected(page: Page) -> None:
    """A ring whose consumer is a warp: all lanes await and read, then meet, and one lane gives the slot back."""
    depth, rounds = page.number(1, 2), page.number(2, 3)
    tma = page.often(0.6)
    with page.device(64):
        page.say(f"s: i32[{depth}] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with page.block(f"for k in seq(0, {rounds})"):
            with page.one(0):
                page.say(f"ReverseAwait(bar, {BOTH if tma else GENERIC}, ~{depth})")
                if tma:
                    _loads(page, "bar", "s", f"k % {depth}", "k")
                else:
                    _fill(page, "cp_async", "s", f"k % {depth}", "k")
                    page.say(f"Arrive({CP}, 1) >> bar")
            with page.block("with CudaWarps(1, 2)"):
                page.say(f"Await(bar, {IO}, ~0)")
                with page.threads(2):
                    page.say(f"y[2 * k + t] = {_value(page, f's[k % {depth}]')}")
                page.fence(IO, page.pick(IO, TEMPORAL))
                with page.one():
                    page.say(f"ReverseArrive({IO}, 1) >> bar")
        page.fence()


def in_pairs(page: Page) -> None:
    """A ring whose consumer awaits two slots, reads both and then gives both back."""
    depth = page.number(2, 3)
    tma = page.often(0.5)
    with page.device(64):
        page.say(f"s: i32[{depth}] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with page.block(f"for k in seq(0, {page.number(1, 2)})"):
            with page.one(0), page.block("for j in seq(0, 2)"):
                page.say(f"ReverseAwait(bar, {BOTH if tma else page.pick(IO, GENERIC)}, ~{depth})")
                slot = f"(2 * k + j) % {depth}"
                if tma:
                    _loads(page, "bar", "s", slot, "2 * k + j")
                else:
                    page.say(f"s[{slot}] = x[2 * k + j]", f"Arrive({IO}, 1) >> bar")
            with page.one(1):
                page.say(f"Await(bar, {IO}, ~0)", f"Await(bar, {IO}, ~0)")
                page.say(f"y[k] = s[2 * k % {depth}] * 3 + s[(2 * k + 1) % {depth}]")
                page.say(f"ReverseArrive({IO}, 1) >> bar", f"ReverseArrive({IO}, 1) >> bar")
        page.fence()


def bulk_load(page: Page) -> None:
    """A load by TMA, awaited by one thread, a warp or all, and read by several."""
    n = page.number(1, 2)
    warp = n == 1 and page.often(0.3)
    with page.device(page.pick(32, 64)):
        page.say(f"s: i32[{n}] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with ExitStack() as stack:
            stack.enter_context(page.block("with CudaWarps(0, 1)") if warp else page.one(0))
            with page.asynchronous(T2S):
                load = "tma_load_warp" if warp else f"tma_load_{n}"
                page.say(f"{load}(s[0:{n}], x[1:{1 + n}]) >> bar", f"Arrive({T2S}, 1) >> bar")
        if page.often(0.5):
            page.say(f"Await(bar, {page.pick(IO, GENERIC, BOTH)}, ~0)")
        else:
            with page.one(0):
                page.say(f"Await(bar, {IO}, ~0)", "y[5] = s[0]")
            page.fence()
        with page.threads(2):
            page.say(f"y[t] = {_value(page, f's[{n - 1}]')}")
        page.fence()


def refilled(page: Page) -> None:
    """Shared memory is filled by TMA, read by several threads, and filled again after a barrier without a proxy fence:
    what was written through the proxy is visible to it already, and what was read only has to be over (S-08).
    """
    n = page.number(1, 2)
    with page.device(page.pick(32, 64)):
        page.say(f"s: i32[{n}] @ CudaSmemLinear")
        for k in range(2):
            page.say(f"bar{k}: barrier @ CudaMbarrier")
            with page.one(0), page.asynchronous(T2S):
                source = window("x", n * k, n)
                page.say(f"tma_load_{n}(s[0:{n}], {source}) >> bar{k}", f"Arrive({T2S}, 1) >> bar{k}")
            page.say(f"Await(bar{k}, {BOTH}, ~0)")
            with page.threads(2):
                page.say(f"y[{2 * k} + t] = {_value(page, f's[{n - 1}]')}")
            page.fence(IO, page.pick(IO, TEMPORAL) if k == 0 else IO)


def bulk_store(page: Page) -> None:
    """Threads fill shared memory, a fence with the other proxy, and one thread stores by TMA; perhaps once more."""
    n, rounds = page.number(1, 2), page.number(1, 2)
    add = n == 1 and page.often(0.3)
    with page.device(page.pick(32, 64)):
        page.say(f"s: i32[{n}] @ CudaSmemLinear")
        with page.block(f"for k in seq(0, {rounds})"):
            with page.threads(n):
                page.say(f"s[t] = {_value(page, f'x[{n} * k + t]')}")
            page.fence(IO, BOTH)
            with page.one(0):
                page.say("g: barrier @ CudaCommitGroup")
                with page.asynchronous(T2G):
                    if add:
                        page.say("tma_add(z[0:1], s[0:1])")
                    else:
                        page.say(f"tma_store_{n}(y[{n} * k:{n} * k + {n}], s[0:{n}])")
                page.say(f"Arrive({T2G}, 1) >> g", f"Await(g, {IO}, 0)")
            page.fence()


def bulk_both(page: Page) -> None:
    """A load by TMA is changed in order, and stored by TMA."""
    with page.device(64):
        page.say("s: i32[2] @ CudaSmemLinear", "bar: barrier @ CudaMbarrier")
        with page.one(0), page.asynchronous(T2S):
            page.say("tma_load_2(s[0:2], x[0:2]) >> bar", f"Arrive({T2S}, 1) >> bar")
        page.say(f"Await(bar, {IO}, ~0)")
        with page.threads(2):
            page.say(f"s[t] = {_value(page, 's[t]')}")
        page.fence(IO, BOTH)
        with page.one(page.number(0, 1)):
            page.say("g: barrier @ CudaCommitGroup")
            with page.asynchronous(T2G):
                page.say("tma_store_2(y[0:2], s[0:2])")
            page.say(f"Arrive({T2G}, 1) >> g", f"Await(g, {IO}, 0)")
        page.fence()


# Tensor cores -----------------------------------------------------------------------------------------------------


def tensor_cores(page: Page) -> None:
    """Operands in shared memory, a group of wgmma, and its result read by the warpgroup."""
    count = page.number(1, 2)
    source = page.pick("store", "tma")
    from_registers = page.often(0.3)
    with page.device(128):
        page.say("s: i32[2] @ CudaSmemLinear", "d: i32[1] @ TinyRegisters")
        if from_registers:
            page.say("a: i32[1] @ TinyRegisters", "wg_fill(a[0:1], x[6:7])")
        if source == "store":
            with page.threads(2):
                page.say("s[t] = x[t]")
            page.fence(IO, BOTH)
        else:
            page.say("bar: barrier @ CudaMbarrier")
            with page.one(0), page.asynchronous(T2S):
                page.say("tma_load_2(s[0:2], x[0:2]) >> bar", f"Arrive({T2S}, 1) >> bar")
            page.say(f"Await(bar, {BOTH}, ~0)")
        page.say("g: barrier @ CudaCommitGroup")
        with page.asynchronous(WGMMA):
            page.say("Fence(wgmma_fence_1, wgmma_fence_2)", "wg_zero(d[0:1])")
            for _ in range(count):
                if from_registers:
                    page.say("wg_mma_registers(d[0:1], a[0:1], s[1:2])")
                else:
                    page.say("wg_mma(d[0:1], s[0:1], s[1:2])")
            page.say(f"Arrive({WGMMA}, 1) >> g")
        page.say(f"Await(g, {IO}, 0)")
        page.say("wg_read(y[0:1], d[0:1])")
        page.fence()
        if page.often(0.4):
            with page.threads(2):
                page.say("s[t] = z[t]", "y[2 + t] = s[t]")
            page.fence()


def wgmma_rows(page: Page) -> None:
    """Two warps of a warpgroup multiply each a row of its own by what both read; then one overwrites an operand: its
    own row at once, for it waited for that itself, or what both read after they have met.
    """
    alone = page.often(0.4)
    own = page.often(0.5)
    again = page.number(0, 1)
    with page.device(128):
        page.say("s: i32[3] @ CudaSmemLinear", "d: i32[2] @ TinyRegisters", "g: barrier @ CudaCommitGroup")
        with page.one(2):
            page.say("s[2] = x[2]")
        if alone:
            page.fence(IO, BOTH)
            with page.leaders(2):
                page.say("s[w] = x[w]")
            with page.block("for w in cuda_threads(0, 2, unit=cuda_warp)"):
                page.fence(IO, BOTH)
        else:
            with page.leaders(2):
                page.say("s[w] = x[w]")
            page.fence(IO, BOTH)
        with page.asynchronous(WGMMA):
            page.say("Fence(wgmma_fence_1, wgmma_fence_2)", "wg_zero_rows(d[0:2])")
            page.say("wg_mma_rows(d[0:2], s[0:2], s[2:3])", f"Arrive({WGMMA}, 1) >> g")
        page.say(f"Await(g, {page.pick(IO, GENERIC, BOTH)}, 0)")
        if not own:
            page.fence()
        with page.one(again):
            page.say(f"s[{again if own else 2}] = z[0]", f"y[4] = s[{again if own else 2}]")
        page.say("wg_read_rows(y[0:2], d[0:2])")
        page.fence()


# Storage, tasks and the CPU ---------------------------------------------------------------------------------------


def reused(page: Page) -> None:
    """Storage that ends, and other storage in its place."""
    kinds = page.pick(("i32", "i32"), ("i32", "i16"), ("i16", "i32"))
    ways = [page.pick("store", "cp_async", "cp_async") if kind == "i32" else "store" for kind in kinds]
    with page.device(page.pick(32, 64)):
        for n, (kind, how) in enumerate(zip(kinds, ways, strict=True)):
            name = f"s{n}"
            with page.block("for k in seq(0, 1)"):
                page.say(f"{name}: {kind}[2] @ CudaSmemLinear")
                with page.threads(2):
                    if kind == "i32":
                        _fill(page, how, name, "t", f"t + {2 * n}")
                    else:
                        page.say(f"{name}[t] = {kind}(x[t + {2 * n}])")
                page.fence(GENERIC if how == "cp_async" else page.pick(IO, GENERIC), IO)
                with page.threads(2):
                    page.say(f"y[t + {2 * n}] = i32({name}[1 - t])")
                page.fence(IO, GENERIC)


def tasks(page: Page) -> None:
    """Each task has elements of its own, and shared memory of its own; perhaps they add to one element together."""
    n = page.number(2, 3)
    total = page.pick("none", "atomic", "atomic")
    with page.device(32, n):
        page.say("s: i32[2] @ CudaSmemLinear")
        with page.threads(2):
            page.say("s[t] = x[2 * task + t]")
        page.fence()
        with page.threads(2):
            page.say(f"y[2 * task + t] = {_value(page, 's[1 - t]')}")
            if total == "atomic":
                page.say("atomic_add(z[0:1], s[t:t + 1])")
        page.fence()


def kernels(page: Page) -> None:
    """What one kernel writes, the next one reads; the CPU copies before, between and after."""
    if page.often(0.5):
        page.say("to_device(x[2:4], h[0:2])")
    with page.device(32, page.number(1, 2)), page.threads(2):
        page.say(f"z[2 * task + t] = {_value(page, 'x[2 * task + t + 1]')}")
    if page.often(0.5):
        page.say("to_host(h[2:4], z[0:2])")
    if page.often(0.5):
        page.say("to_device(x[0:2], h[1:3])")
    with page.device(32), page.threads(2):
        page.say("y[t] = z[1 - t] + x[t]")
    if page.often(0.5):
        page.say("to_host(h[4:6], y[0:2])")


def atomics(page: Page) -> None:
    """Threads add to one element at the same time, and after a fence one of them reads it."""
    n = page.number(2, 3)
    place = page.pick("s", "z")
    with page.device(page.pick(32, 64)):
        page.say("s: i32[2] @ CudaSmemLinear")
        with page.one():
            page.say("s[0] = x[7]", "s[1] = x[6]")
        page.fence()
        with page.threads(n):
            page.say(f"atomic_add({place}[0:1], x[t:t + 1])")
        page.fence()
        with page.one(0):
            page.say(f"y[0] = {_value(page, f'{place}[0]')}", f"{place}[0] = 5", "y[1] = s[1]")
        page.fence()


def parallel_loop(page: Page) -> None:
    """Threads of the CPU, each with elements of its own."""
    n = page.number(2, 3)
    with page.block(f"for i in par(0, {n})"):
        page.say(f"h[i] = h[i] + {page.number(1, 9)}")
        if page.often(0.5):
            page.say("t: i32", "t = h[i] * 2", f"h[i + {n}] = t")
        if page.often(0.5):
            page.say("cpu_copy(h[i:i + 1], h[7:8])")
    if page.often(0.7):
        page.say("h[6] = h[0] + h[1] * 2")
    if page.often(0.4):
        page.say("to_device(x[0:2], h[0:2])")
        with page.device(32), page.threads(2):
            page.say("y[t] = x[1 - t]")


def cluster(page: Page) -> None:
    """Two CTAs, each with shared memory of its own, and an mbarrier that each tells both of."""
    many = page.often(0.5)
    with page.device(32, cluster=2):
        page.say("s: i32[2, 2] @ CudaSmemLinear")
        if many:
            page.say("bar: barrier[2] @ CudaMbarrier")
        ctas = "for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster)"
        with page.block(ctas):
            with page.threads(2):
                page.say("s[c, t] = x[2 * c + t]")
            if many:
                with page.one():
                    page.say(f"z[c] = {_value(page, 'x[c]')}")
                page.say(f"Arrive({IO}, 1) >> bar[c] >> bar[:]")
            else:
                page.fence()
        with page.block(ctas):
            if many:
                page.say(f"Await(bar[c], {IO}, ~0)")
            with page.threads(2):
                page.say(f"y[2 * c + t] = {_value(page, 's[c, 1 - t]')}")
                if many:
                    page.say("y[4 + 2 * c + t] = z[1 - c]")
        if page.often(0.5):
            page.fence()
            with page.block("for c in cuda_threads(0, 1, unit=cuda_cta_in_cluster)"), page.one():
                page.say("y[7] = y[2]")
        page.fence()


def multicast(page: Page) -> None:
    """Each of two CTAs loads half of what both need to both, with a ring of slots that both give back."""
    depth = page.number(1, 2)
    ctas = "for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster)"
    with page.device(64, cluster=2):
        page.say(f"s: i32[2, {depth}, 2] @ CudaSmemLinear", "bar: barrier[2] @ CudaMbarrier")
        with page.block("for k in seq(0, 2)"):
            with page.block(ctas, "with CudaWarps(0, 1)"):
                page.say(f"ReverseAwait(bar[c], {page.pick(T2S, BOTH)}, ~{depth})")
                with page.asynchronous(T2S):
                    page.say(
                        f"tma_load_everywhere(s[:, k % {depth}, c:c + 1], x[2 * k + c:2 * k + c + 1])"
                        " >> bar[c] >> bar[:]",
                        f"Arrive({T2S}, 1) >> bar[c] >> bar[:]",
                    )
            with page.block(ctas, "with CudaWarps(1, 2)"):
                page.say(f"Await(bar[c], {IO}, ~0)")
                with page.one():
                    page.say(f"y[2 * k + c] = s[c, k % {depth}, 0] * 3 + s[c, k % {depth}, 1]")
                page.say(f"ReverseArrive({IO}, 1) >> bar[c] >> bar[:]")
        page.fence()


SKELETONS: Final[Mapping[str, tuple[Skeleton, int]]] = {
    "staged": (staged, 5),
    "double_buffer": (double_buffer, 5),
    "reduction": (reduction, 1),
    "warps": (warps, 1),
    "fragments": (fragments, 1),
    "groups": (groups, 3),
    "overwritten": (overwritten, 1),
    "handed_over": (handed_over, 6),
    "passed_on": (passed_on, 5),
    "gathered": (gathered, 1),
    "ring": (ring, 9),
    "elected": (elected, 4),
    "in_pairs": (in_pairs, 3),
    "bulk_load": (bulk_load, 6),
    "refilled": (refilled, 4),
    "bulk_store": (bulk_store, 6),
    "bulk_both": (bulk_both, 5),
    "tensor_cores": (tensor_cores, 2),
    "wgmma_rows": (wgmma_rows, 3),
    "reused": (reused, 5),
    "tasks": (tasks, 1),
    "kernels": (kernels, 1),
    "atomics": (atomics, 1),
    "parallel_loop": (parallel_loop, 1),
    "cluster": (cluster, 1),
    "multicast": (multicast, 2),
}
"""Every skeleton, with how often it is drawn in relation to the others."""
