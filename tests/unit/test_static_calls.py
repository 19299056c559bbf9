"""The static law of instructions: who executes them, where, on which memory, of which sizes."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from soundline.impl.spork import Instruction, proc_from_text
from soundline.spec.errors import CollectiveError, ProgramError, SynchronizationError
from soundline.spec.spork.library.memories import CudaSmemLinear
from soundline.spec.spork.library.schema import INSTRUCTION_CONSTRAINTS, Operand
from soundline.spec.spork.static.law import static_law
from soundline.spec.spork.synchronization.timelines import InstrTl, UsageTl

sys.path.insert(0, str(Path(__file__).parent))
from static_cases import INSTRUCTIONS, NAMES, check_twins, cpu, device, indented, law, refused, threads

SHARED = "s: f32[4, 8] @ CudaSmemLinear\n"
GROUP = "bar: barrier @ CudaMbarrier\n"
D = "d: f32[4, 16, 8] @ Sm80_RmemMatrixD\n"
D_ASYNC = "d: f32[64, 16] @ Sm90_RmemMatrixD\n"


CALL_ZERO = "with CudaAsync(wgmma_async):\n    zero_async(d[0:64, 0:16], 16)"
ZERO_ASYNC = D_ASYNC + CALL_ZERO


def block(text: str, timeline: str = "Sm80_cp_async") -> str:
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"with CudaAsync({timeline}):\n{lines}"


def copied(size: str, window: str, loops: str = "t:128:cuda_thread") -> str:
    return device(threads(f"copy(y[0:{window}], x[n:n + {window}], {size})", loops))


def loaded(text: str, kind: str = "CudaMbarrier") -> str:
    """A load by TMA in a block that ends as it should."""
    lines = block(f"{text}\nArrive(tma_to_smem_async, 1) >> bar", "tma_to_smem_async")
    waited = "\nAwait(bar, cuda_in_order, ~0)"
    return device(
        f"{SHARED}bar: barrier @ {kind}\nwith CudaWarps(0, 1):\n" + indented(lines + waited, 4).rstrip()
    )


# rule, a program that keeps it, one that breaks it, and where that is
TWINS = [
    (
        "instr-timeline",
        device(SHARED + threads(block("cp(s[0, 0:4], x[0:4])"))),
        device(SHARED + threads("cp(s[0, 0:4], x[0:4])")),
        "cp(s",
    ),
    ("instr-timeline", cpu("host_copy(x[0:4], h[0:4])"), device("host_copy(x[0:4], h[0:4])"), "host_copy("),
    ("instr-timeline", copied("4", "4"), cpu("copy(y[0:4], x[0:4], 4)"), "copy(y"),
    (
        "instr-timeline",
        device(SHARED + threads(block("store(x[0:4], s[0, 0:4])", "tma_to_gmem_async"))),
        device(SHARED + threads(block("store(x[0:4], s[0, 0:4])", "tma_to_smem_async"))),
        "store(x",
    ),
    ("instr-unit", copied("4", "4"), copied("4", "4", "w:4:cuda_warp"), "copy(y"),
    (
        "instr-unit",
        device(D + threads("zero(d[w, 0:16, 0:8])", "w:4:cuda_warp")),
        device(D + threads("zero(d[0, 0:16, 0:8])", "w:2:2*cuda_warp")),
        "zero(d",
    ),
    (
        "instr-unit",
        device(ZERO_ASYNC),
        device(
            D_ASYNC + "with CudaWarps(1, 5):\n    " + CALL_ZERO.replace("\n", "\n    "),
            "blockDim=256",
        ),
        "zero_async(d",
    ),
    (
        "instr-memory",
        device(SHARED + threads(block("cp(s[0, 0:4], x[0:4])"))),
        device(SHARED + threads(block("cp(s[0, 0:4], s[1, 0:4])"))),
        "s[1, 0:4]",
    ),
    ("instr-memory", cpu("host_copy(x[0:4], h[0:4])"), cpu("host_copy(h[0:4], h[0:4])"), "h[0:4], h"),
    (
        "mem-instruction",
        copied("4", "4"),
        device(threads("copy(y[0:4], h[0:4], 4)")),
        "h[0:4]",
    ),
    ("mem-read-only", device(threads("put(y[0], 1.0)")), device(threads("put(c, 1.0)")), "c, 1.0"),
    ("mem-read-only", device(threads("put(y[0], c)")), device(threads("put(c, y[0])")), "c, y"),
    ("instr-size", copied("4", "4"), copied("4", "2"), "y[0:2]"),
    ("instr-size", copied("2", "2"), copied("3", "3"), "copy(y"),
    (
        "instr-size",
        device(threads("for i in seq(0, n):\n    copy(y[4 * i:4 * i + 4], x[i * 4:(1 + i) * 4], 4)")),
        device(threads("for i in seq(0, n):\n    copy(y[4 * i:4 * i + 4], x[i * 4:(2 + i) * 4], 4)")),
        "x[i * 4",
    ),
    (
        "instr-size",
        device(SHARED + threads("w = s[1, 0:4]\ncopy(w, x[0:4], 4)")),
        device(SHARED + threads("w = s[1, 0:5]\ncopy(w, x[0:4], 4)")),
        "w, x",
    ),
    (
        "instr-size",
        device(SHARED + threads("copy(s[1, 4:], x[0:4], 4)")),
        device(SHARED + threads("copy(s[1, 5:], x[0:4], 4)")),
        "s[1, 5:]",
    ),
    (
        "instr-size",
        device(SHARED + threads("copy(s[1, :4], x[0:4], 4)")),
        device(SHARED + threads("copy(s[1, :], x[0:4], 4)")),
        "s[1, :]",
    ),
    (
        "static-object",
        copied("4", "4"),
        copied("4", "4").replace("copy(", "mere_instruction("),
        "mere_instruction",
    ),
    ("instr-trailing", loaded("load(s[0, 0:4], x[0:4]) >> bar"), loaded("load(s[0, 0:4], x[0:4])"), "load(s"),
    (
        "instr-trailing",
        loaded("load_all(s[0:1, 0:4], x[0:4], 1) >> bar"),
        device(SHARED + GROUP + threads(block("cp(s[0, 0:4], x[0:4]) >> bar"))),
        ">> |bar",
    ),
    (
        "instr-trailing",
        loaded("load(s[0, 0:4], x[0:4]) >> bar"),
        loaded("load(s[0, 0:4], x[0:4]) >> bar", "CudaCommitGroup"),
        ") >> |bar",
    ),
]


@pytest.mark.parametrize(
    ("rule", "good", "bad", "at"), TWINS, ids=[f"{k}-{t[0]}" for k, t in enumerate(TWINS)]
)
def test_an_instruction_is_called_as_it_asks(rule: str, good: str, bad: str, at: str) -> None:
    error = check_twins(rule, good, bad, at)
    assert error.wants == INSTRUCTION_CONSTRAINTS.get(rule, error.wants)


def test_a_unit_that_does_not_match_says_why() -> None:
    error = refused("instr-unit", copied("4", "4", "w:4:cuda_warp"), "copy(y")
    assert isinstance(error.__cause__, CollectiveError)
    assert error.__cause__.rule == "coll-match-c2"
    assert "coll-match-c2" in error.given
    assert error.subject == "copy"


def test_what_depends_on_sizes_is_left_to_the_run() -> None:
    law(device(threads("copy(y[0:n], x[0:n], n)")))
    law(device(threads("copy(y[0:n], x[0:4], 4)")))
    law(device(threads("for i in seq(0, 4):\n    copy(y[0:i], x[0:i], i)")))
    refused("instr-size", device(threads("copy(y[0:n], x[0:n + 1], n)")), "x[0:n + 1]")


def test_arguments_by_name_are_those_by_place() -> None:
    law(device(threads("copy(n=4, src=x[0:4], dst=y[0:4])")))
    refused("instr-size", device(threads("copy(n=4, src=x[0:2], dst=y[0:4])")), "x[0:2]")
    refused("instr-size", device(threads("copy(y[0:4], n=8, src=x[0:8])")), "y[0:4]")


class Odd(Instruction):
    """An instruction that wants two memories to differ, and a size that is known."""

    __slots__ = ()

    def disagreement(self, memories, sizes) -> str | None:
        if memories["dst"] == memories["src"]:
            return "one memory"
        return None if sizes == {"n": 4} else f"sizes {sizes}"


def test_a_family_may_ask_more_of_memories_and_sizes_together() -> None:
    plain = INSTRUCTIONS["copy"]
    said = {f.name: getattr(plain, f.name) for f in fields(plain)}
    odd = Odd(**said | {"name": "odd"})
    names = {"odd": odd}
    law(device(SHARED + threads("odd(s[0, 0:4], x[0:4], 4)")), names)
    error = refused("instr-memory", device(threads("odd(y[0:4], x[0:4], 4)")), "odd(y", names)
    assert error.given == "one memory"
    error = refused("instr-memory", device(SHARED + threads("odd(s[0, 0:2], x[0:2], 2)")), "odd(s", names)
    assert error.given == "sizes {'n': 2}"
    law(device(SHARED + threads("odd(s[0, 0:n], x[0:n], n)")), names)  # asked when the program runs


def test_an_operand_has_a_legal_pair_of_timelines() -> None:
    anywhere = replace(
        INSTRUCTIONS["put"],
        name="anywhere",
        instr_tl=InstrTl.wgmma_async,
        operands={"dst": Operand(), "v": Operand()},
    )
    sync = replace(CudaSmemLinear, name="Sync", usage=UsageTl.cuda_sync_rmem)
    names = {"anywhere": anywhere, "Sync": sync}
    text = "s: f32[4] @ {}\n" + threads(block("anywhere(s[0], x[0])", "wgmma_async"))
    law(device(text.format("CudaSmemLinear")), names)
    error = refused("tl-pair", device(text.format("Sync")), "s[0]", names)
    assert isinstance(error.__cause__, SynchronizationError)


def test_a_value_is_no_place_to_write_to() -> None:
    law(device(threads("put(y[0], x[0] + 1.0)")))
    with pytest.raises(ProgramError) as caught:
        static_law(proc_from_text(device(threads("put(y[0] + 1.0, x[0])")), NAMES))
    assert caught.value.rule == "prog-call"
    refused("mem-read", device(threads("put(y[0], h[0] + 1.0)")), "h[0]")
