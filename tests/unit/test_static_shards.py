"""The static law of distributed memory, told of programs: every use says which shard it means, and all agree."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from soundline.spec.errors import CollectiveError, StaticError
from soundline.spec.spork.static.conditions import STATIC_CONSTRAINTS
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.threads.distributed_memory import CONSTRAINTS, Deduction

sys.path.insert(0, str(Path(__file__).parent))
from static_cases import check_twins, cluster, device, indented, law, refused, threads

TWO = "w:4:cuda_warp l:32:cuda_thread"
R = "r: f32[4, 32, 2] @ CudaRmem\n"
SMEM = "s: f32[2, 8] @ CudaSmemLinear\n"
RANK = "r:2:cuda_cta_in_cluster"
LANES = "v: f32[4, 32] @ CudaRmem\nu: f32[4, 32] @ CudaRmem\n"
FILL = threads("v[w, l] = 1.0\nu[w, l] = 2.0", TWO) + "\n"


def used(*uses: str) -> str:
    """Registers of a CTA, and their uses by single threads."""
    return device(R + "\n".join(threads(use, TWO) for use in uses))


def warps(text: str) -> str:
    return f"with CudaWarps(0, 1):\n{indented(text, 4).rstrip()}"


def both(
    declared: str, first: str, loops: str, second: str, others: str = "", how: str = "blockDim=128"
) -> str:
    """Two uses of one variable, in nests of their own."""
    return device(f"{declared}\n{threads(first, loops)}\n{threads(second, others or loops)}", how)


def by_warps(declared: str, first: str, second: str, lo: int) -> str:
    """A use by each lane of the warp 1, and one in the warp that begins at `lo`."""
    one = f"with CudaWarps(1, 2):\n{indented(threads(first, 't:32:cuda_thread'), 4)}"
    return device(f"{declared}\n{one}with CudaWarps({lo}, {lo + 1}):\n{indented(second, 4).rstrip()}")


def turned(
    use: str, loops: str = "w:4:cuda_warp", *, before: str = LANES + FILL, how: str = "blockDim=128"
) -> str:
    """Registers of the lanes of warps, and an instruction that reads those of all lanes."""
    return device(before + threads(use, loops), how)


def cast(text: str, before: str = SMEM, read: str = "s[r, 0]", how: str = "blockDim=64, clusterDim=2") -> str:
    """A load to the shared memory of CTAs, which each of them reads."""
    block = f"with CudaWarps(0, 1):\n    with CudaAsync(tma_to_smem_async):\n        {text} >> bar[:]\n"
    block += (
        "        Arrive(tma_to_smem_async, 1) >> bar[r] >> bar[:]\n    Await(bar[r], cuda_in_order, ~0)\n"
    )
    block += threads(f"y[t] = {read}", "t:64:cuda_thread")
    return cluster(f"{before}bar: barrier[2] @ CudaMbarrier\n" + threads(block, RANK), how)


TURN = turned("turn(u[w, 0:32], v[w, 0:32])")
CAST = cast("load_all(s[:, 0:4], x[0:4], 2)")
FOURTH = "t:32:4*cuda_thread z:1:cuda_thread"
EIGHTS = "i:16:8*cuda_thread j:8:cuda_thread"
GRID = "i:16:16*cuda_thread j:16:cuda_thread"
OF_GRID = "r: f32[16, 16] @ CudaRmem"
CUBE = "v: f32[2, 2, 32] @ CudaRmem\nu: f32[2, 2, 32] @ CudaRmem\n"
PAIRS = "i:2:2*cuda_warp j:2:cuda_warp"
FILL_CUBE = threads("v[i, j, l] = 1.0\nu[i, j, l] = 1.0", PAIRS + " l:32:cuda_thread") + "\n"

# rule, a program that keeps it, one that breaks it, and where that is
TWINS = [
    (
        "dist-c2",
        device(threads("r: f32[2] @ CudaRmem\nr[0] = 1.0")),
        device(threads("s: f32[2] @ CudaSmemLinear\ns[0] = 1.0")),
        "s: f32",
    ),
    ("dist-c2", device("s: f32[2] @ CudaSmemLinear"), device(warps("s: f32[2] @ CudaSmemLinear")), "s: f32"),
    (
        "dist-c3",
        used("q = r[w, l, 0:2]"),
        device(R + threads("q = r[w, 0, 0:2]", "w:4:cuda_warp")),
        "r[w, 0, 0:2]",
    ),
    (
        "dist-c3",
        cluster(SMEM + threads("q = s[r, 0:8]", RANK)),
        cluster(SMEM + "q = s[0, 0:8]"),
        "s[0, 0:8]",
    ),
    (
        "dist-c4",
        both("e: f32[2, 1] @ OfWarps", "put(e[t, 0], 1.0)", "t:2:cuda_warp z:1:cuda_thread", "pass"),
        both("e: f32[64, 1] @ OfWarps", "put(e[t, 0], 1.0)", "t:64:cuda_thread", "pass"),
        "e[t, 0]",
    ),
    (
        "dist-c5",
        both("r: f32[4, 32] @ CudaRmem", "r[w, l] = 1.0", TWO, "pass"),
        both("r: f32[4] @ CudaRmem", "r[w] = 1.0", TWO, "pass"),
        "r[w]",
    ),
    ("dist-c6", used("r[w, l, 0] = 1.0"), used("r[w, l + 0, 0] = 1.0"), "r[w"),
    ("dist-c6", used("r[w, l, 0] = 1.0"), used("r[w, 3, 0] = 1.0"), "r[w"),
    ("dist-c6", used("x[0] = r[w, l, 0]"), used("x[0] = 2.0 * r[3 - w, l, 0]"), "r[3"),
    (
        "dist-c7",
        used("for i in seq(0, 2):\n    r[w, l, i] = 1.0"),
        used("for i in seq(0, 32):\n    r[w, i, 0] = 1.0"),
        "r[w, i",
    ),
    (
        "dist-c8",
        both("e: f32[4, 32] @ OfWarps", "put(e[w, l], 1.0)", TWO, "pass"),
        both("e: f32[32, 4] @ OfWarps", "put(e[l, w], 1.0)", TWO, "pass"),
        "e[l",
    ),
    ("dist-c9", used("r[w, l, 0] = 1.0"), used("r[w, w, 0] = 1.0"), "r[w"),
    (
        "dist-c10",
        used("r[w, l, 0] = 1.0"),
        device("r: f32[n, 32] @ AnySize\n" + threads("r[w, l] = 1.0", TWO)),
        "r[w",
    ),
    ("dist-c11", used("r[w, l, 0] = 1.0"), used("r[l, w, 0] = 1.0"), "r[l"),
    (
        "dist-c11",
        used("r[w, l, 0] = 1.0"),
        used("r[w, l, 0] = 1.0").replace("[4, 32, 2]", "[4, 31, 2]"),
        "r[w",
    ),
    (
        "dist-c12",
        both("r: f32[16, 8] @ CudaRmem", "r[i, j] = 1.0", EIGHTS, "x[0] = r[i, j]"),
        both(
            "r: f32[16, 8] @ CudaRmem",
            "r[i, j] = 1.0",
            EIGHTS,
            "x[0] = r[i, z]",
            EIGHTS.replace("j:8", "z:1"),
        ),
        "r[i, z]",
    ),
    (
        "dist-c13",
        both(OF_GRID, "r[i, j] = 1.0", GRID, "x[0] = r[i, j]", how="blockDim=256"),
        both(OF_GRID, "r[i, j] = 1.0", GRID, "x[0] = r[j, i]", how="blockDim=256"),
        "r[j, i]",
    ),
    (
        "dist-c14",
        by_warps("r: f32[32] @ CudaRmem", "r[t] = 1.0", threads("x[t] = r[t]", "t:32:cuda_thread"), 1),
        by_warps("r: f32[32] @ CudaRmem", "r[t] = 1.0", threads("x[t] = r[t]", "t:32:cuda_thread"), 2),
        "= |r[t]",
    ),
    ("dist-interval", used("q = r[w, l, 0:2]"), used("q = r[w, 0:32, 0:2]"), "r[w, 0:32"),
    (
        "dist-interval",
        used("copy(r[w, l, 0:2], x[0:2], 2)"),
        used("copy(r[w, 0:2, 0], x[0:2], 2)"),
        "r[w, 0:2",
    ),
    ("dist-interval", used("q = r[w, l, 0:2]\nq[0] = 1.0"), used("q = r[:, l, 0]\nq[0] = 1.0"), "r[:, l"),
    ("dist-interval-whole", CAST, cast("load_all(s[0:1, 0:4], x[0:4], 1)"), "s[0:1"),
    (
        "dist-interval-first",
        CAST,
        cast("load_all(s[r, 0:2, 0:4], x[0:4], 2)", "s: f32[2, 2, 4] @ CudaSmemLinear\n", "s[r, 0, 0]"),
        "s[r, 0:2",
    ),
    (
        "dist-interval-unit",
        by_warps("o: f32[32] @ CudaRmem", "o[t] = 1.0", "turn(o[0:32], o[0:32])", 1),
        both("o: f32[32] @ CudaRmem", "o[t] = 1.0", FOURTH, "turn(o[0:32], o[0:32])", "w:1:cuda_warp"),
        "o[0:32]",
    ),
    ("dist-interval-alone", TURN, TURN.replace("u[w, l] = 2.0", "pass"), "u[w, 0:32]"),
    # an operand of several shards, by the rules of one
    (
        "dist-c5",
        both(
            "o: f32[32] @ CudaRmem",
            "o[t] = 1.0",
            "t:32:cuda_thread",
            "turn(o[0:32], o[0:32])",
            "w:1:cuda_warp",
        ),
        both(
            "o: f32[32] @ CudaRmem",
            "o[t] = 1.0",
            "t:32:cuda_thread",
            "turn(o[0:32], o[0:32])",
            "w:4:cuda_warp",
        ),
        "o[0:32]",
    ),
    ("dist-c6", TURN, turned("turn(u[w, 0:32], v[0, 0:32])"), "v[0"),
    ("dist-c6", TURN, turned("turn(u[3 - w, 0:32], v[w, 0:32])"), "u[3"),
    ("dist-c7", TURN, turned("for k in seq(0, 4):\n    turn(u[w, 0:32], v[k, 0:32])"), "v[k"),
    (
        "dist-c9",
        turned("turn(u[i, j, 0:32], v[i, j, 0:32])", PAIRS, before=CUBE + FILL_CUBE),
        turned("turn(u[i, j, 0:32], v[i, i, 0:32])", PAIRS, before=CUBE + FILL_CUBE),
        "v[i, i, 0:32]",
    ),
    ("dist-c11", TURN, turned("turn(u[w, 0:32], v[w, 0:32])", "w:2:cuda_warp"), "u[w, 0:32]"),
    (
        "dist-c13",
        turned("turn(u[i, j, 0:32], v[i, j, 0:32])", PAIRS, before=CUBE + FILL_CUBE),
        turned("turn(u[i, j, 0:32], v[j, i, 0:32])", PAIRS, before=CUBE + FILL_CUBE),
        "v[j, i",
    ),
    (
        "dist-c14",
        by_warps("o: f32[32] @ CudaRmem", "o[t] = 1.0", "turn(o[0:32], o[0:32])", 1),
        by_warps("o: f32[32] @ CudaRmem", "o[t] = 1.0", "turn(o[0:32], o[0:32])", 2),
        "o[0:32]",
    ),
]


@pytest.mark.parametrize(
    ("rule", "good", "bad", "at"), TWINS, ids=[f"{k}-{t[0]}" for k, t in enumerate(TWINS)]
)
def test_every_use_says_which_shard(rule: str, good: str, bad: str, at: str) -> None:
    error = check_twins(rule, good, bad, at)
    assert error.wants == {**CONSTRAINTS, **STATIC_CONSTRAINTS}[rule]


def test_every_rule_of_programs_has_a_twin() -> None:
    """But for two that no program reaches: names are out of scope, and barriers have their own tests."""
    told = {rule for rule, *_ in TWINS}
    rules = {r for r in (*CONSTRAINTS, *STATIC_CONSTRAINTS) if r.startswith("dist-")}
    assert rules - told == {"dist-c1", "dist-barrier-c1", "dist-barrier-c2", "dist-barrier-c3"}


# Facts ------------------------------------------------------------------------------------------------------------


def only(facts: Facts) -> Deduction | None:
    (found,) = facts.shards.values()
    return found


def test_the_example_of_the_guide() -> None:
    text = "vals: f32[16, 32, 8, 4] @ CudaRmem\n" + threads(
        "for i in seq(0, 8):\n    for j in seq(0, 3):\n        vals[m, n_, i, j + 1] = 1.0",
        "m:16:cuda_warp n_:32:cuda_thread",
    )
    facts = law(device(text, "blockDim=512"))
    assert facts.shards == {(0, 0, 0): Deduction(("m", "n_"), (16, 32), (32, 1), 0, ("i", "j + 1"))}


def test_what_is_allocated_in_the_loop_is_not_distributed() -> None:
    found = only(law(device(threads("r: f32[2] @ CudaRmem\nr[0] = 1.0\nr[1] = r[0]"))))
    assert found is not None
    assert found.distributed == ()
    found = only(
        law(
            cluster(threads("s: f32[4] @ CudaSmemLinear\n" + threads("s[0] = 1.0", "t:64:cuda_thread"), RANK))
        )
    )
    assert found is not None
    assert found.distributed == ()


def test_an_operand_of_several_shards_of_what_is_allocated_in_the_loop() -> None:
    inner = "o: f32[32] @ CudaRmem\n" + threads("o[t] = 1.0", "t:32:cuda_thread") + "\nturn(o[0:32], o[0:32])"
    found = only(law(device(threads(inner, "w:4:cuda_warp"))))
    assert found is not None
    assert found.distributed == ("t",)


def test_what_is_not_used_and_what_nobody_shares_out() -> None:
    assert only(law(device("s: f32[4] @ CudaSmemLinear"))) is None
    assert law(device(threads("x[0] = 1.0"))).shards == {}


def test_a_use_through_windows_is_one_of_what_was_allocated() -> None:
    def stored(text: str) -> str:
        return device("r: f32[4, 32, 6] @ CudaRmem\n" + threads(text, TWO))

    found = only(law(stored("q = r[w, l, 1:5]\np = q[1:3]\np[1] = 1.0")))
    assert found == Deduction(("w", "l"), (4, 32), (32, 1), 0, (":",))
    law(stored("q = r[w, l, 1:5]\nr[w, l, 0] = q[2]"))
    outer = "r: f32[4, 16, 8] @ Sm80_RmemMatrixD\n" + threads("q = r[w, 0:16, 0:8]\nzero(q)", "w:4:cuda_warp")
    assert only(law(device(outer))) == Deduction(("w",), (4,), (32,), 0, (":", ":"))


def test_a_window_is_a_use_even_if_nothing_uses_it() -> None:
    refused("dist-c9", used("q = r[w, w, 0:2]"), "r[w, w")


def test_warps_that_are_chosen_own_other_shards() -> None:
    found = only(law(by_warps("r: f32[32] @ CudaRmem", "r[t] = 1.0", "pass", 1)))
    assert found == Deduction(("t",), (32,), (1,), 32, ())


def test_both_branches_of_an_if_and_loops_count() -> None:
    text = threads(
        "if b:\n    r[w, l, 0] = 1.0\nelse:\n    for i in seq(0, 2):\n        r[w, l, i] = 2.0", TWO
    )
    found = only(law(device(R + text)))
    assert found is not None
    assert found.ordinary == ("0",)
    refused("dist-c6", device(R + text.replace("r[w, l, i]", "r[w, i, 0]".replace("i,", "i + 0,"))), "r[w, i")


def test_shared_memory_of_one_cta_takes_a_multicast_of_one() -> None:
    block = "with CudaAsync(tma_to_smem_async):\n    load_all(s[0:1, 0:4], x[0:4], 1) >> bar\n"
    block += "    Arrive(tma_to_smem_async, 1) >> bar\nAwait(bar, cuda_in_order, ~0)"
    text = "s: f32[1, 4] @ CudaSmemLinear\nbar: barrier @ CudaMbarrier\nwith CudaWarps(0, 1):\n" + indented(
        block, 4
    )
    law(device(text.rstrip()))
    law(cluster(threads(text.rstrip(), RANK)))


def test_a_column_of_a_grid_of_ctas_takes_a_multicast() -> None:
    """Of four CTAs, two by two, those of one row or one column get the same."""
    head = "s: f32[2, 2, 4] @ CudaSmemLinear\nbar: barrier[2, 2] @ CudaMbarrier\n"
    for window, pattern in (("s[m, :, :]", "bar[m, :]"), ("s[:, k, :]", "bar[:, k]")):
        block = "with CudaWarps(0, 1):\n    with CudaAsync(tma_to_smem_async):\n"
        block += f"        load_all({window}, x[0:4], 2) >> {pattern}\n"
        block += f"        Arrive(tma_to_smem_async, 1) >> bar[m, k] >> {pattern}\n"
        block += "    Await(bar[m, k], cuda_in_order, ~0)\n"
        block += threads("y[t] = s[m, k, 0]", "t:32:cuda_thread")
        loops = "m:2:2*cuda_cta_in_cluster k:2:cuda_cta_in_cluster"
        facts = law(cluster(head + threads(block, loops), "blockDim=32, clusterDim=4"))
        found = facts.shards[(0, 0, 0)]
        assert found is not None
        assert (found.distributed, found.pitches) == (("m", "k"), (64, 32))
        assert facts.homes[(0, 0, 2, 0, 0, 0, 0)] == ("m", "k")


def test_the_cause_is_the_error_of_the_chapter() -> None:
    error = refused("dist-c9", used("r[w, w, 0] = 1.0"), "r[w")
    assert isinstance(error.__cause__, CollectiveError)
    assert error.subject == "r"
    assert isinstance(refused("dist-interval", used("q = r[w, 0:32, 0:2]"), "r[w, 0:32"), StaticError)
