"""The static law of fences and barriers, told of programs: collectives, queues, turns, rings and multicast."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from soundline.spec.errors import CollectiveError, SynchronizationError
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.static.queues import BarrierFacts
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import sync_tl
from soundline.spec.spork.threads.distributed_memory import Deduction

sys.path.insert(0, str(Path(__file__).parent))
from static_cases import check_twins, cluster, cpu, device, indented, law, refused, threads

IO = "cuda_in_order"
FENCE = f"Fence({IO}, {IO})"
MBAR = "bar: barrier @ CudaMbarrier\n"
EVENT = "bar: barrier @ CudaEvent\n"
WARP, LANE, CTA = "w:4:cuda_warp", "t:128:cuda_thread", "r:2:cuda_cta_in_cluster"
NAMED = 'warp_config=[CudaWarpConfig("one", 4), CudaWarpConfig("two", 4), CudaWarpConfig("three", 8)]'


def under(head: str, text: str) -> str:
    return f"{head}:\n{indented(text, 4).rstrip()}"


def loop(text: str, head: str = "for k in seq(0, n)") -> str:
    return under(head, text)


def block(text: str, timeline: str) -> str:
    return under(f"with CudaAsync({timeline})", text)


def warps(text: str, which: str = "0, 1") -> str:
    return under(f"with CudaWarps({which})", text)


def lines(*parts: str) -> str:
    return "\n".join(parts)


def await_(n: str = "~0", *, side: str = "", at: str = "", by: str = IO) -> str:
    return f"{side}Await(bar{at}, {by}, {n})"


def arrive(*, side: str = "", at: str = "", by: str = IO) -> str:
    return f"{side}Arrive({by}, 1) >> bar{at}"


R = "Reverse"
TURNS = lines(await_("~2", side=R), arrive(), await_(), arrive(side=R))
COPY_GROUP = "bar: barrier @ CudaCommitGroup\n"


def grouped(name: str, by: str) -> str:
    return f"{name}: barrier @ CudaCommitGroup\nArrive({by}, 1) >> {name}\nAwait({name}, {IO}, 0)"


GROUPED = grouped("bar", "Sm80_cp_async")
WGMMA_GROUP = lines(block(arrive(by="wgmma_async"), "wgmma_async"), await_("0"))


def mbarrier(*parts: str) -> str:
    """Statements of the whole CTA, with an mbarrier."""
    return device(MBAR + lines(*parts))


def ring(*parts: str) -> str:
    """The same, in a loop."""
    return device(MBAR + loop(lines(*parts)))


def group(text: str, loops: str = LANE) -> str:
    return device(threads(text, loops))


def copies(end: str, *, trailing: str = " >> bar", after: str = "") -> str:
    """A load by TMA in a block with an end, and an await."""
    inside = lines(f"load(s[0:4], x[0:4]){trailing}", end) if end else f"load(s[0:4], x[0:4]){trailing}"
    body = lines(block(inside, "tma_to_smem_async"), *([after] if after else []), await_())
    return device("s: f32[4] @ CudaSmemLinear\n" + MBAR + "other: barrier @ CudaMbarrier\n" + warps(body))


ENDS = "Arrive(tma_to_smem_async, 1) >> bar"


def cast(arrives: str, *, awaits: str = "", loops: str = CTA, how: str = "blockDim=64, clusterDim=2") -> str:
    """Arrives and awaits at an array of barriers, by the CTAs of a cluster."""
    body = lines(arrives, awaits or await_(at="[r]"))
    return cluster("bar: barrier[2] @ CudaMbarrier\n" + threads(body, loops), how)


# rule, a program that keeps it, one that breaks it, and where that is
def twice(declared: str, second: str = "[m, w]") -> str:
    """Each warp arrives at its own of four mbarriers, and then once more."""
    each = [threads(arrive(at=at), "m:2:2*cuda_warp w:2:cuda_warp") for at in ("[m, w]", second)]
    awaits = threads(lines(await_(at="[m, w]"), await_(at="[m, w]")), "m:2:2*cuda_warp w:2:cuda_warp")
    return device(declared + "\n" + lines(*each, awaits))


def own_groups(awaited: str) -> str:
    """Four threads commit a group each, and then await one."""
    loops = "m:2:2*cuda_thread k:2:cuda_thread"
    each = [threads(arrive(by="Sm80_cp_async", at="[m, k]"), loops), threads(await_("0", at=awaited), loops)]
    return device("bar: barrier[2, 2] @ CudaCommitGroup\n" + lines(*each))


def grid(written: str, trailing: str, *, arrives: str = "[:, k] >> bar[m, :]") -> str:
    """In a cluster of two by two each CTA loads a row to some of them."""
    name, size = ("load_all", ", n=2") if ":" in written else ("load", "")
    load = f"{name}(s[{written}, 0, :], x[0:4]{size}) >> bar{trailing}"
    body = warps(block(lines(load, arrive(at=arrives, by="tma_to_smem_async")), "tma_to_smem_async"))
    use = warps(threads("s[m, k, 0, i] = 0.0", "i:4:cuda_thread"))
    loops = "m:2:2*cuda_cta_in_cluster k:2:cuda_cta_in_cluster"
    declared = "s: f32[2, 2, 1, 4] @ CudaSmemLinear\nbar: barrier[2, 2] @ CudaMbarrier\n"
    return cluster(
        declared + threads(lines(body, use, await_(at="[m, k]")), loops), "blockDim=32, clusterDim=4"
    )


TWINS = [
    # fences
    (
        "fence-c1",
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        device(block(f"Fence(wgmma_fence_1, {IO})", "wgmma_async")),
        "Fence",
    ),
    (
        "fence-c2",
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async"), "blockDim=256"),
        "Fence",
    ),
    (
        "fence-c3",
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        device(block("pass\nFence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        "Fence",
    ),
    (
        "fence-c3",
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "Sm80_cp_async")),
        "Fence",
    ),
    (
        "fence-c3",
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        device(block(loop("Fence(wgmma_fence_1, wgmma_fence_2)"), "wgmma_async")),
        "Fence",
    ),
    (
        "fence-c3",
        device(block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async")),
        device("Fence(wgmma_fence_1, wgmma_fence_2)"),
        "Fence",
    ),
    ("fence-c4", device(f"Fence(Sm80_generic, {IO})"), device(f"Fence(cuda_async_proxy, {IO})"), "Fence"),
    ("fence-c5", group(FENCE, WARP), group(FENCE, "w:8:16*cuda_thread"), "Fence"),
    ("fence-c5", group(FENCE), group(FENCE, "w:2:48*cuda_thread"), "Fence"),
    ("fence-c6", group(FENCE, WARP), group(FENCE, "w:2:2*cuda_warp"), "Fence"),
    ("fence-c6", cluster(FENCE), cluster(threads(FENCE, "w:2:cuda_warp")), "Fence"),
    (
        "fence-c7",
        device(f"Fence({IO}, cuda_generic_and_async_proxy)"),
        device(f"Fence({IO}, wgmma_async)"),
        "Fence",
    ),
    ("static-fence-cpu", cpu("Fence(cpu_in_order, cpu_in_order)"), cpu(FENCE), "Fence"),
    ("static-fence-cpu", device(FENCE), cpu("Fence(cpu_in_order, empty)"), "Fence"),
    ("static-object", device(FENCE), device(f"Fence({IO}, mere_timeline)"), "mere_timeline"),
    # where barriers are, and of which type
    ("bar-alloc", device(MBAR.strip()), cpu(MBAR.strip()), "bar:"),
    ("bar-alloc", cpu(EVENT.strip()), cpu(COPY_GROUP.strip()), "bar:"),
    (
        "bar-alloc",
        device(MBAR + block("pass", "Sm80_cp_async")),
        device(block(MBAR.strip(), "Sm80_cp_async")),
        "bar:",
    ),
    ("static-object", device(MBAR.strip()), device("bar: barrier @ MereBarrier"), "MereBarrier"),
    (
        "static-object",
        mbarrier(arrive(), await_()),
        mbarrier(arrive(by="mere_timeline"), await_()),
        "mere_timeline",
    ),
    (
        "static-object",
        mbarrier(arrive(), await_()),
        mbarrier(arrive(), await_(by="mere_timeline")),
        "mere_timeline",
    ),
    ("bar-place", mbarrier(arrive(), await_()), cpu(EVENT + arrive()), "Arrive"),
    ("bar-place", mbarrier(arrive(), await_()), cpu(EVENT + await_()), "Await"),
    ("bar-event", mbarrier(arrive(), await_()), device(EVENT + arrive()), "Arrive"),
    ("bar-event", mbarrier(arrive(), await_()), device(EVENT + await_()), "Await"),
    (
        "bar-reverse",
        ring(TURNS),
        group(GROUPED + "\nReverseArrive(Sm80_cp_async, 1) >> bar"),
        "ReverseArrive",
    ),
    ("bar-reverse", ring(TURNS), group(GROUPED + "\nReverseAwait(bar, cuda_in_order, 0)"), "ReverseAwait"),
    # commit groups
    ("bar-group-first", group(GROUPED), group(GROUPED.replace("Sm80_cp_async", "Sm80_generic")), "Arrive"),
    (
        "bar-group-second",
        group(GROUPED),
        group(GROUPED.replace("bar, cuda_in_order", "bar, cuda_async_proxy")),
        "Await",
    ),
    ("bar-group-n", group(GROUPED), group(GROUPED.replace("order, 0", "order, ~0")), "Await"),
    ("bar-group-unit", group(GROUPED), group(GROUPED, WARP), "Arrive"),
    ("bar-group-unit", device(COPY_GROUP + WGMMA_GROUP), group(COPY_GROUP + WGMMA_GROUP, WARP), "Arrive"),
    (
        "bar-group-last",
        device(COPY_GROUP + WGMMA_GROUP),
        device(COPY_GROUP + lines(block(arrive(by="wgmma_async") + "\npass", "wgmma_async"), await_("0"))),
        "Arrive",
    ),
    (
        "bar-group-last",
        device(COPY_GROUP + WGMMA_GROUP),
        device(COPY_GROUP + lines(block(arrive(by="wgmma_async"), "Sm80_cp_async"), await_("0"))),
        "Arrive",
    ),
    (
        "bar-group-alone",
        group(GROUPED + "\n" + grouped("too", "tma_to_gmem_async")),
        group(GROUPED + "\n" + grouped("too", "Sm80_cp_async")),
        "too:",
    ),
    (
        "bar-group-owner",
        device(
            "bar: barrier[32] @ CudaCommitGroup\n"
            + lines(
                warps(threads(arrive(by="Sm80_cp_async", at="[t]"), "t:32:cuda_thread")),
                warps(threads(await_("0", at="[t]"), "t:32:cuda_thread")),
            )
        ),
        device(
            "bar: barrier[32] @ CudaCommitGroup\n"
            + lines(
                warps(threads(arrive(by="Sm80_cp_async", at="[t]"), "t:32:cuda_thread")),
                warps(threads(await_("0", at="[t]"), "t:32:cuda_thread"), "1, 2"),
            )
        ),
        "Await",
    ),
    # mbarriers
    (
        "bar-mbarrier-first",
        mbarrier(arrive(), await_()),
        mbarrier(arrive(by="Sm80_generic"), await_()),
        "Arrive",
    ),
    (
        "bar-mbarrier-second",
        mbarrier(arrive(), await_()),
        mbarrier(arrive(), await_(by="wgmma_async")),
        "Await",
    ),
    ("bar-mbarrier-n", mbarrier(arrive(), await_()), mbarrier(arrive(), await_("0")), "Await"),
    (
        "bar-mbarrier-unit",
        mbarrier(arrive(), await_()),
        device("bar: barrier[8] @ CudaMbarrier\n" + threads(arrive(at="[w]"), "w:8:16*cuda_thread")),
        "Arrive",
    ),
    (
        "bar-mbarrier-last",
        device(MBAR + warps(lines(block(ENDS, "tma_to_smem_async"), await_()))),
        device(MBAR + warps(lines(block(ENDS + "\npass", "tma_to_smem_async"), await_()))),
        "Arrive",
    ),
    ("bar-mbarrier-last", copies(ENDS), mbarrier(arrive(by="tma_to_smem_async"), await_()), "Arrive"),
    ("bar-mbarrier-cta", cast(arrive(at="[r]")), cluster(MBAR + lines(arrive(), await_())), "Arrive"),
    (
        "bar-mbarrier-home",
        cluster(
            "bar: barrier[2, 2] @ CudaMbarrier\n"
            + threads(lines(arrive(at="[r, w]"), await_(at="[r, w]")), CTA + " w:2:cuda_warp")
        ),
        cluster(
            "bar: barrier[2, 2] @ CudaMbarrier\n"
            + threads(lines(arrive(at="[r, w]"), await_(at="[w, r]")), CTA + " w:2:cuda_warp")
        ),
        "Await",
    ),
    ("bar-awaited", mbarrier(arrive(), await_()), mbarrier(await_()), "Await"),
    ("bar-awaited", ring(TURNS), ring(TURNS.replace("ReverseArrive", "Arrive")), "ReverseAwait"),
    # what statements agree on
    (
        "bar-same-first",
        mbarrier(arrive(), arrive(), await_(), await_()),
        mbarrier(arrive(), arrive(by="Sm80_cp_async"), await_(), await_()),
        "Arrive(Sm80",
    ),
    (
        "bar-same-second",
        mbarrier(arrive(), arrive(), await_(), await_()),
        mbarrier(arrive(), arrive(), await_(), await_(by="Sm80_generic")),
        "Await(bar, Sm80",
    ),
    (
        "bar-same-n",
        mbarrier(arrive(), arrive(), await_(), await_()),
        mbarrier(arrive(), arrive(), await_(), await_("~1")),
        "Await(bar, cuda_in_order, ~1",
    ),
    (
        "bar-same-unit",
        mbarrier(arrive(), arrive(), await_()),
        mbarrier(arrive(), warps(arrive()), await_()),
        "…Arrive",
    ),
    (
        "dist-barrier-c2",
        mbarrier(warps(arrive()), warps(arrive()), await_()),
        mbarrier(warps(arrive()), warps(arrive(), "1, 2"), await_()),
        "…Arrive",
    ),
    (
        "dist-barrier-c3",
        twice("bar: barrier[2, 2] @ CudaMbarrier"),
        twice("bar: barrier[2, 2] @ CudaMbarrier", "[w, m]"),
        "…Arrive",
    ),
    ("bar-group-owner", own_groups("[m, k]"), own_groups("[k, m]"), "Await"),
    (
        "bar-reverse-unit",
        ring(warps(lines(await_("~2", side=R), arrive())), warps(lines(await_(), arrive(side=R)), "1, 4")),
        ring(
            warps(lines(await_("~2", side=R), arrive())),
            warps(await_(), "1, 4"),
            warps(arrive(side=R), "0, 2"),
        ),
        "ReverseArrive",
    ),
    (
        "bar-reverse-unit",
        ring(warps(lines(await_("~2", side=R), arrive())), warps(lines(await_(), arrive(side=R)), "1, 2")),
        ring(
            warps(lines(await_("~2", side=R), arrive())),
            warps(await_(), "1, 2"),
            warps(arrive(side=R), "2, 3"),
        ),
        "ReverseArrive",
    ),
    # turns and rings
    (
        "bar-turns",
        ring(TURNS),
        ring(await_("~2", side=R), arrive(), await_(), await_(), arrive(side=R)),
        "Await(bar, cuda_in_order, ~0)",
    ),
    (
        "bar-turns",
        ring(TURNS),
        ring(await_("~2", side=R), await_(), arrive(), arrive(side=R), await_("~2", side=R)),
        "…ReverseAwait",
    ),
    (
        "bar-turns-loop",
        ring(TURNS),
        ring(await_("~2", side=R), arrive(), await_(), loop(arrive(side=R), "for j in seq(0, 1)")),
        "for j",
    ),
    (
        "bar-turns",
        ring(TURNS),
        ring(await_("~2", side=R), arrive(), loop(await_(), "for j in seq(0, 1)"), arrive(side=R)),
        "Await(bar, cuda_in_order, ~0)",
    ),
    (
        "bar-turns-if",
        ring(await_("~2", side=R), arrive(), await_(), under("if b", arrive(side=R))),
        ring(
            await_("~2", side=R),
            arrive(),
            await_(),
            under("if b", arrive(side=R)) + "\n" + under("else", arrive(side=R)),
        ),
        "if b",
    ),
    (
        "bar-turns-if",
        ring(await_("~2", side=R), arrive(), under("if b", lines(await_(), arrive(side=R)))),
        ring(await_("~2", side=R), arrive(), await_(), under("if b", lines(arrive(side=R), arrive(side=R)))),
        "if b",
    ),
    (
        "bar-turns",
        ring(TURNS),
        ring(await_("~2", side=R), arrive(), under("if b", await_()), arrive(side=R)),
        "Await(bar, cuda_in_order, ~0)",
    ),
    (
        "bar-turns",
        ring(await_("~2", side=R), arrive(), arrive(side=R), await_()),
        ring(await_("~2", side=R), arrive(), under("if b", arrive(side=R)), await_()),
        "Await(bar, cuda_in_order, ~0)",
    ),
    (
        "bar-turns",
        ring(await_("~2", side=R), arrive(), arrive(side=R), await_()),
        ring(await_("~2", side=R), arrive(), arrive(side=R), under("if b", await_())),
        "Await(bar, cuda_in_order, ~0)",
    ),
    ("bar-depth", ring(TURNS.replace("~2", "~1")), ring(TURNS.replace("~2", "~0")), "bar:"),
    # trailing barriers
    ("bar-trailing", copies(ENDS), copies("", after=block(ENDS, "tma_to_smem_async")), "load(s"),
    ("bar-trailing", copies(ENDS), copies(ENDS.replace("tma_to_smem_async", IO)), "load(s"),
    ("bar-trailing", copies(ENDS), copies(ENDS, trailing=" >> other"), ">> |other"),
    ("bar-trailing", copies(ENDS), copies(ENDS.replace("bar", "other")), ">> |bar"),
    (
        "bar-trailing",
        grid(":, k", "[:, k]"),
        grid(":, k", "[:, k]", arrives="[m, :] >> bar[m, k]"),
        ">> |bar",
    ),
    (
        "bar-trailing",
        grid("m, k", "[m, k]", arrives="[m, k] >> bar[:, :]"),
        grid("m, k", "[k, m]", arrives="[m, k] >> bar[:, :]"),
        ">> |bar",
    ),
    ("bar-trailing-ctas", grid(":, k", "[:, k]"), grid(":, k", "[m, k]"), ">> |bar"),
    ("bar-trailing-ctas", grid(":, k", "[:, k]"), grid(":, k", "[m, :]"), ">> |bar"),
    ("bar-trailing-ctas", grid(":, k", "[:, k]"), grid(":, k", "[:, k] >> bar[m, :]"), ">> |bar"),
    ("bar-trailing-ctas", grid("m, :", "[m, :]"), grid("m, :", "[:, k]"), ">> |bar"),
    ("bar-trailing-ctas", grid("m, :", "[m, k] >> bar[m, :]"), grid("m, :", "[m, k]"), ">> |bar"),
    ("bar-trailing-ctas", grid("m, k", "[m, k]"), grid("m, k", "[m, :]"), ">> |bar"),
    # multicast
    ("bar-multicast-home", cast(arrive(at="[r] >> bar[:]")), cast(arrive(at="[:]")), "Arrive"),
    (
        "bar-multicast-points",
        cast(arrive(at="[r] >> bar[r]")),
        cast(arrive(at="[r] >> bar[w]"), loops=CTA + " w:2:cuda_warp"),
        "Arrive",
    ),
    (
        "bar-multicast-type",
        cast(arrive(at="[r] >> bar[:]")),
        cluster(
            "bar: barrier[2] @ CudaCommitGroup\n"
            + threads(arrive(at="[r] >> bar[:]", by="Sm80_cp_async"), CTA + " t:1:cuda_thread")
        ),
        "Arrive",
    ),
    (
        "bar-multicast-cta",
        cast(arrive(at="[r] >> bar[:]")),
        device("bar: barrier[4] @ CudaMbarrier\n" + threads(arrive(at="[w] >> bar[:]"), WARP)),
        "Arrive",
    ),
    (
        "bar-multicast-between",
        cast(arrive(at="[r] >> bar[:]")),
        cast(loop(arrive(at="[r] >> bar[:]"))),
        "Arrive",
    ),
    (
        "bar-multicast-between",
        cast(warps(arrive(at="[r] >> bar[:]"))),
        cast(under("if r == 0", arrive(at="[r] >> bar[:]"))),
        "Arrive",
    ),
    (
        "bar-multicast-between",
        cast(under("if b", arrive(at="[r] >> bar[:]"))),
        cast(under("if b and r < n", arrive(at="[r] >> bar[:]"))),
        "Arrive",
    ),
    (
        "bar-multicast-copies",
        cast(arrive(at="[r]", by="Sm80_cp_async")),
        cast(arrive(at="[r] >> bar[:]", by="Sm80_cp_async")),
        "Arrive",
    ),
    # who gives a slot back: some of those who awaited, and several slots at once
    (
        "bar-reverse-unit",
        ring(
            warps(lines(await_("~2", side=R), arrive())),
            warps(lines(await_(), FENCE, threads(arrive(side=R), "t:1:cuda_thread")), "1, 2"),
        ),
        ring(
            warps(lines(await_("~2", side=R), arrive())),
            warps(await_(), "1, 2"),
            warps(threads(arrive(side=R), "t:1:cuda_thread"), "2, 3"),
        ),
        "ReverseArrive",
    ),
    (
        "bar-turns",
        ring(lines(*[await_("~2", side=R), arrive()] * 2), lines(await_(), await_(), *[arrive(side=R)] * 2)),
        ring(
            lines(*[await_("~2", side=R), arrive()] * 2),
            lines(await_(), await_(), await_(), *[arrive(side=R)] * 2),
        ),
        "Await(bar, cuda_in_order, ~0)",
    ),
    (
        "bar-multicast-same",
        cast(lines(*[arrive(at="[r] >> bar[:]")] * 2)),
        cast(lines(arrive(at="[r] >> bar[:]"), arrive(at="[r]"))),
        "…Arrive",
    ),
    # indices
    ("dist-c5", cast(arrive(at="[r]")), cast(threads(arrive(at="[r]"), "w:2:cuda_warp")), "Arrive"),
    ("dist-c6", cast(arrive(at="[r]")), cast(arrive(at="[r + 0]")), "Arrive"),
    ("dist-c6", cast(arrive(at="[r]")), cast(arrive(at="[r]"), awaits=await_(at="[1]")), "Await"),
    (
        "dist-c11",
        cast(arrive(at="[r]")),
        cast(arrive(at="[r]")).replace("barrier[2]", "barrier[3]"),
        "Arrive",
    ),
    (
        "dist-c10",
        cast(arrive(at="[r]")),
        cast(arrive(at="[r]")).replace("barrier[2]", "barrier[n]"),
        "Arrive",
    ),
    (
        "dist-c11",
        cast(arrive(at="[r]")).replace("barrier[2]", "barrier"),
        device(
            "bar: barrier @ CudaMbarrier\n"
            + threads(arrive(at="[w]"), WARP)
            + "\n"
            + threads(await_(at="[v]"), "v:3:cuda_warp")
        ),
        "Await",
    ),
    (
        "dist-c12",
        cast(arrive(at="[r]")).replace("barrier[2]", "barrier"),
        device("bar: barrier @ CudaMbarrier\n" + threads(arrive(at="[w]"), WARP) + "\n" + await_()),
        "Await",
    ),
    (
        "dist-barrier-c1",
        cast(arrive(at="[r]")).replace("barrier[2]", "barrier"),
        cast(lines("pass", arrive(at="[r]")), awaits=await_(at="[r, 0]"))
        .replace("barrier[2]", "barrier")
        .replace("Arrive(cuda_in_order, 1) >> bar[r]", "pass"),
        "Await",
    ),
]


@pytest.mark.parametrize(
    ("rule", "good", "bad", "at"), TWINS, ids=[f"{k}-{t[0]}" for k, t in enumerate(TWINS)]
)
def test_barriers_are_used_as_they_are_made(rule: str, good: str, bad: str, at: str) -> None:
    check_twins(rule, good, bad, at)


def test_other_chapters_are_the_cause() -> None:
    error = refused("fence-c6", group(FENCE, "w:2:2*cuda_warp"), "Fence")
    assert isinstance(error.__cause__, SynchronizationError)
    assert error.subject == "Fence(cuda_in_order, cuda_in_order)"
    error = refused("bar-reverse-unit", reversed_by("2, 3"), "ReverseArrive")
    assert isinstance(error.__cause__, CollectiveError)


def reversed_by(which: str) -> str:
    awaits = warps(await_(), "1, 2")
    return ring(warps(lines(await_("~2", side=R), arrive())), awaits, warps(arrive(side=R), which))


# Every iteration --------------------------------------------------------------------------------------------------


def test_the_collective_of_every_iteration_is_asked() -> None:
    """The first four warps of five are an aligned warpgroup; those of the next five are not."""
    inner = under("with CudaWarps(0, 4)", block("Fence(wgmma_fence_1, wgmma_fence_2)", "wgmma_async"))
    law(device(threads(inner, "g:1:5*cuda_warp"), "blockDim=320"))
    error = refused("fence-c2", device(threads(inner, "g:2:5*cuda_warp"), "blockDim=320"), "Fence")
    assert error.given == "128 threads"


def test_what_follows_from_the_collective() -> None:
    facts = law(device(lines(FENCE, threads(FENCE, WARP), threads(FENCE))))
    assert list(facts.pieces.values()) == [("barrier.cta.sync",), ("syncwarp",), ()]
    assert law(cluster(FENCE)).pieces == {(0, 0, 0): ("barrier.cluster",)}
    assert law(cpu("Fence(cpu_in_order, cpu_in_order)")).pieces == {(0,): ()}


# Facts ------------------------------------------------------------------------------------------------------------


def only(facts: Facts) -> BarrierFacts:
    (found,) = facts.barriers.values()
    return found


def test_sides_may_have_collectives_of_other_sizes() -> None:
    """What an index counts within a CTA may differ: an mbarrier is reached from all of it."""
    text = lines(
        threads(arrive(at="[w]"), "w:2:cuda_warp"),
        threads(await_(at="[p]"), "p:2:2*cuda_warp"),
    )
    facts = only(law(device("bar: barrier[2] @ CudaMbarrier\n" + text)))
    assert facts.forward is not None
    assert facts.forward.awaits is not None
    assert (facts.forward.arrives.pitches, facts.forward.awaits.pitches) == ((32,), (64,))


def test_a_ring() -> None:
    facts = law(ring(TURNS.replace("~2", "~3")))
    found = only(facts)
    assert (found.type, found.extents, found.depth) == (BarrierType.CudaMbarrier, (), 3)
    assert found.forward is not None
    assert found.reverse is not None
    assert (found.forward.first, found.forward.second) == (sync_tl(IO), sync_tl(IO))
    assert (found.forward.ns, found.reverse.ns) == ((-1,), (-4,))
    assert (found.forward.arriving, found.reverse.arriving) == (128, 128)
    path = (0, 0, 1)
    assert facts.pieces == {
        (*path, 0): ("mbarrier.try_wait",),
        (*path, 1): ("mbarrier.arrive",),
        (*path, 2): ("mbarrier.try_wait",),
        (*path, 3): ("mbarrier.arrive",),
    }
    assert facts.shards == {(0, 0, 0): Deduction((), (), (), 0, ())}
    assert facts.homes == dict.fromkeys(facts.pieces, ())


def test_who_arrives_first_takes_one_slot_more() -> None:
    """The consumer asks before it waits, so that the producer may be one tile further."""
    first = lines(await_("~1", side=R), arrive(), arrive(side=R), await_())
    assert only(law(ring(first))).depth == 2
    assert only(law(ring(TURNS.replace("~2", "~1")))).depth == 1
    both = lines(arrive(), await_("~1", side=R), arrive(side=R), await_())
    assert only(law(ring(both))).depth == 3


def test_an_mbarrier_without_a_reverse_side() -> None:
    assert only(law(mbarrier(arrive(), await_()))).depth == 1
    found = only(law(mbarrier(arrive(), await_("~2"))))
    assert found.depth == 3
    assert found.reverse is None


def test_what_nobody_awaits_or_uses() -> None:
    found = only(law(mbarrier(arrive())))
    assert found.depth is None
    assert found.forward is not None
    assert (found.forward.second, found.forward.ns, found.forward.awaits) == (None, (), None)
    assert only(law(device(MBAR.strip()))).forward is None
    assert law(device(MBAR.strip())).shards == {(0, 0, 0): None}
    assert only(law(cpu(EVENT.strip()))).type is BarrierType.CudaEvent


def test_ifs_around_both_and_around_the_arrive() -> None:
    law(ring(under("if b", TURNS)))
    law(
        ring(
            under("if b", lines(await_("~2", side=R), arrive())),
            under("if b", lines(await_(), arrive(side=R))),
        )
    )
    law(
        ring(
            await_("~2", side=R),
            under("if b", arrive()),
            await_(),
            under("if b", warps(arrive(side=R), "0, 4")),
        )
    )
    law(ring(under("if b", "pass") + "\n" + under("else", TURNS)))


def test_more_arrives_than_awaits_are_left_to_the_counters() -> None:
    law(ring(TURNS, arrive()))
    law(mbarrier(arrive(side=R), loop(TURNS)))


def test_groups_of_several_kinds_live_together_and_one_after_the_other() -> None:
    law(group(GROUPED + "\n" + grouped("too", "tma_to_gmem_async")))
    law(group(lines(under("if b", GROUPED), under("if b", grouped("too", "Sm80_cp_async")))))
    law(group(COPY_GROUP + grouped("too", "Sm80_cp_async")))  # the first is not used
    mine = MBAR.replace("bar:", "m:") + "Arrive(Sm80_cp_async, 1) >> m\nAwait(m, cuda_in_order, ~0)\n"
    law(group(mine + GROUPED))
    others = grouped("too", "tma_to_gmem_async") + "\n" + grouped("more", "Sm80_cp_async")
    refused("bar-group-alone", group(GROUPED + "\n" + others), "more:")
    refused("bar-group-alone", group(GROUPED + "\n" + loop(grouped("too", "Sm80_cp_async"))), "too:")


def test_every_n_of_a_group_is_known() -> None:
    found = only(law(group(GROUPED + "\n" + lines(arrive(by="Sm80_cp_async"), await_("1")))))
    assert found.depth is None
    assert found.forward is not None
    assert found.forward.ns == (0, 1)


def test_a_multicast_arrives_at_all() -> None:
    facts = law(cast(warps(arrive(at="[r] >> bar[:]")), awaits=await_(at="[r]")))
    found = only(facts)
    assert found.extents == (2,)
    assert found.forward is not None
    assert found.forward.arriving == 64
    assert found.forward.arrives == Deduction(("r",), (2,), (64,), 0, ())
    assert set(facts.homes.values()) == {("r",)}
    plain = only(law(cast(warps(arrive(at="[r]")), awaits=await_(at="[r]"))))
    assert plain.forward is not None
    assert plain.forward.arriving == 32


def test_a_multicast_over_rows_and_columns() -> None:
    loops = "m:2:2*cuda_cta_in_cluster k:2:cuda_cta_in_cluster"
    text = lines("Arrive(cuda_in_order, 1) >> bar[m, :] >> bar[:, k]", await_(at="[m, k]"))
    facts = law(
        cluster("bar: barrier[2, 2] @ CudaMbarrier\n" + threads(text, loops), "blockDim=32, clusterDim=4")
    )
    found = only(facts)
    assert found.forward is not None
    assert found.forward.arriving == 3 * 32


def test_a_colon_over_one_cta_stands_for_it() -> None:
    one = "bar: barrier[1] @ CudaMbarrier\n" + threads(
        lines(arrive(at="[r] >> bar[:]"), await_(at="[r]")), "r:1:cuda_cta_in_cluster"
    )
    found = only(law(device(one)))
    assert found.forward is not None
    assert found.forward.arriving == 128


def test_iterators_of_other_loops_may_have_other_names() -> None:
    two = lines(
        threads(arrive(at="[r] >> bar[:]"), CTA),
        threads(lines(arrive(at="[q] >> bar[:]"), await_(at="[q]")), CTA.replace("r:", "q:")),
    )
    law(cluster("bar: barrier[2] @ CudaMbarrier\n" + two))


def test_a_trailing_barrier_has_the_home_of_the_arrive() -> None:
    facts = law(copies(ENDS))
    assert facts.homes[(0, 0, 3, 0, 0)] == ()
    (barrier, other) = facts.barriers.values()
    assert barrier.forward is not None
    assert (barrier.forward.arriving, barrier.depth) == (32, 1)
    assert other.forward is None


def test_the_counts_of_a_ring_on_a_cluster_of_two() -> None:
    """A warp of each CTA fills the slots of both, and eight warps of each empty them."""
    how = 'warp_config=[CudaWarpConfig("fill", 1), CudaWarpConfig("rest", 3), CudaWarpConfig("use", 8)], clusterDim=2'
    fill = warps(lines(await_("~4", side=R, at="[r]"), arrive(at="[r] >> bar[:]")), 'name="fill"')
    empty = warps(lines(await_(at="[r]"), arrive(side=R, at="[r] >> bar[:]")), 'name="use"')
    text = "bar: barrier[2] @ CudaMbarrier\n" + loop(lines(threads(fill, CTA), threads(empty, CTA)))
    found = only(law(cluster(text, how)))
    assert found.forward is not None
    assert found.reverse is not None
    assert (found.forward.arriving, found.reverse.arriving, found.depth) == (32 * 2, 256 * 2, 4)
    assert (found.forward.arrives.first, found.reverse.arrives.first) == (0, 128)
