"""The static law of memory: what allocates, reads, writes and views it, and what procs are given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.errors import StaticError
from soundline.spec.spork.library.memories import MEMORY_CONSTRAINTS
from soundline.spec.spork.static.conditions import STATIC_CONSTRAINTS

sys.path.insert(0, str(Path(__file__).parent))
from static_cases import check_twins, cluster, cpu, device, law, refused, threads

SWIZZLED = "s: f32[4, 8] @ Sm90_SmemSwizzled(32)"
EIGHT, RANKS = "s: f32[8] @ Sm90_SmemSwizzled(32)", "r:8:cuda_cta_in_cluster t:1:cuda_thread"
OF_8 = "blockDim=32, clusterDim=8"
VIEWED = "g: f32[64, 64] @ CudaGmemLinear\nw = g[0:64, 0:32] @ Sm90_tensorMap(128, 64, 32)"


def asynchronous(text: str) -> str:
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"with CudaAsync(Sm80_cp_async):\n{lines}"


# rule, a program that keeps it, one that breaks it, and where that is
TWINS = [
    ("mem-none", device("s: f32[4] @ CudaSmemLinear"), device("s: f32[4]"), "s: f32[4]"),
    ("mem-none", cpu("s: f32[4]"), device("s: f32"), "s: f32"),
    ("mem-alloc", cpu("g: f32[4] @ CudaGmemLinear"), device("g: f32[4] @ CudaGmemLinear"), "g: f32"),
    ("mem-alloc", device("s: f32[4] @ CudaSmemLinear"), cpu("s: f32[4] @ CudaSmemLinear"), "s: f32"),
    (
        "mem-alloc",
        device("s: f32[4] @ CudaSmemLinear\n" + asynchronous("pass")),
        device(asynchronous("s: f32[4] @ CudaSmemLinear")),
        "s: f32",
    ),
    (
        "mem-alloc",
        "def f(x: f32[4] @ CudaGmemLinear):\n    pass",
        "def f(x: f32[4] @ CudaSmemLinear):\n    pass",
        "x: f32",
    ),
    ("mem-scalar", cpu("g: f32[1] @ CudaGmemLinear"), cpu("g: f32 @ CudaGmemLinear"), "g: f32"),
    (
        "mem-scalar",
        "def f(x: f32[1] @ CudaGmemLinear):\n    pass",
        "def f(x: f32 @ CudaGmemLinear):\n    pass",
        "x: f32",
    ),
    (
        "mem-constant",
        device("s: f32[2 * 2] @ CudaSmemLinear"),
        device("s: f32[n] @ CudaSmemLinear"),
        "s: f32",
    ),
    ("mem-constant", cpu("g: f32[n] @ CudaGmemLinear"), cpu("g: f32[2, n] @ CudaGridConstant"), "g: f32"),
    (
        "mem-constant",
        device("s: f32[max(2, 3)] @ CudaSmemLinear"),
        device("s: f32[max(n, 3)] @ CudaSmemLinear"),
        "s: f32",
    ),
    (
        "mem-tile",
        device("d: f32[2, 16, 8] @ Sm80_RmemMatrixD"),
        device("d: f32[2, 8, 16] @ Sm80_RmemMatrixD"),
        "d: f32",
    ),
    (
        "mem-tile",
        device("d: f32[16, 8] @ Sm80_RmemMatrixD"),
        device("d: f32[8] @ Sm80_RmemMatrixD"),
        "d: f32",
    ),
    (
        "mem-tile",
        device("a: f32[16, 4] @ Sm80_RmemMatrixA"),
        device("a: f32[16, 5] @ Sm80_RmemMatrixA"),
        "a: f32",
    ),
    ("mem-tile", device(SWIZZLED), device(SWIZZLED.replace("8", "16")), "s: f32"),
    ("mem-tile", device(SWIZZLED), device(SWIZZLED.replace("f32", "f16")), "s: f16"),
    (
        "mem-tile",
        device("d: f32[4, 16, 8] @ Sm80_RmemMatrixD\n" + threads("zero(d[w, 0:16, 0:8])", "w:4:cuda_warp")),
        device(
            "d: f32[16, 8] @ Sm80_RmemMatrixD\n" + threads("q = d[w, 0:8]", "w:16:cuda_warp"), "blockDim=512"
        ),
        "d[w, 0:8]",
    ),
    (
        "mem-tile",
        cluster(
            EIGHT.replace("[8]", "[8, 8]") + "\n" + threads("put(s[r, 0], 1.0)", RANKS),
            "blockDim=32, clusterDim=8",
        ),
        cluster(EIGHT + "\n" + threads("put(s[r], 1.0)", RANKS), "blockDim=32, clusterDim=8"),
        "s[r]",
    ),
    (
        "mem-scalar",
        device("r: f32[128, 1] @ Arrays\n" + threads("r[t, 0] = 1.0")),
        device("r: f32[128] @ Arrays\n" + threads("r[t] = 1.0")),
        "r[t]",
    ),
    ("mem-window", cpu(VIEWED), cpu("w: f32[64, 32] @ Sm90_tensorMap(128, 64, 32)"), "w: f32"),
    ("mem-window", cpu("w = x[0:2]"), cpu("w = x[0:2] @ CudaGmemLinear"), "w = x"),
    ("mem-alloc", cpu(VIEWED), device("w = x[0:64] @ Sm90_tensorMap(128, 64)"), "w = x"),
    ("mem-view", cpu(VIEWED), cpu(VIEWED.replace("CudaGmemLinear", "DRAM")), "w = g"),
    ("mem-view", cpu(VIEWED), cpu(VIEWED.replace("CudaGmemLinear", "CudaGridConstant")), "w = g"),
    (
        "mem-view",
        cpu(VIEWED + "\nv = w[0:64, 0:32]"),
        cpu(VIEWED + "\nv = w[0:64, 0:32] @ Sm90_tensorMap(128, 64, 32)"),
        "v = w",
    ),
    ("mem-box", cpu(VIEWED), cpu(VIEWED.replace("64, 32)", "64, 32, 1)")), "w = g"),
    (
        "mem-box",
        "def f(w: [f32][64, 32] @ Sm90_tensorMap(128, 64, 32)):\n    pass",
        "def f(w: [f32][64, 32] @ Sm90_tensorMap(128, 32)):\n    pass",
        "w: [f32]",
    ),
    ("mem-read", cpu("h[0] = h[1]"), cpu("h[0] = x[1]"), "x[1]"),
    ("mem-read", device(threads("x[0] = c")), device(threads("x[0] = h[0]")), "h[0]"),
    (
        "mem-read",
        device(threads("x[0] = x[1] * (x[2] + c)")),
        device(threads("x[0] = x[1] * (h[2] + c)")),
        "h[2]",
    ),
    ("mem-write", cpu("h[0] = 1.0"), cpu("x[0] = 1.0"), "x[0] ="),
    ("mem-write", cpu("h[0] += 1.0"), cpu("x[0] += 1.0"), "x[0] +="),
    ("mem-write", device(threads("x[0] = 1.0")), device(threads("h[0] = 1.0")), "h[0] ="),
    ("mem-write", cpu("c = 1.0"), device(threads("c = 1.0")), "c = 1.0"),
    (
        "mem-write",
        device("s: f32[4] @ CudaSmemLinear\n" + threads("s[0] = 1.0")),
        device("d: f32[4, 16, 8] @ Sm80_RmemMatrixD\n" + threads("d[0, 0, 0] = 1.0")),
        "d[0, 0, 0] =",
    ),
    ("instr-scalar-unit", device(threads("x[0] = 1.0")), device("x[0] = 1.0"), "x[0] ="),
    (
        "instr-scalar-unit",
        device(threads("x[0] += 1.0", "w:4:cuda_warp t:32:cuda_thread")),
        device(threads("x[0] += 1.0", "w:4:cuda_warp")),
        "x[0] +=",
    ),
    (
        "instr-scalar-unit",
        cluster(threads("x[0] = 1.0", "r:2:cuda_cta_in_cluster t:64:cuda_thread")),
        cluster(threads("x[0] = 1.0", "t:64:cuda_thread")),
        "x[0] =",
    ),
    (
        "instr-async-scalar",
        device(threads("x[0] = 1.0")),
        device(threads(asynchronous("x[0] = 1.0"))),
        "x[0] =",
    ),
    (
        "instr-async-scalar",
        device(threads(asynchronous("put_async(x[0], 1.0)"))),
        device(threads(asynchronous("put_async(x[0], x[1] + 1.0)"))),
        "x[1]",
    ),
    (
        "mem-argument",
        cpu("g: f32[4] @ CudaGmemLinear\ncallee(g, h[0:4])"),
        cpu("callee(h[0:4], h[0:4])"),
        "h[0:4]",
    ),
    (
        "mem-argument",
        cpu("callee(x[0:4], h[0:4])"),
        cpu("callee(x[0:4], x[0:4])"),
        "x[0:4])",
    ),
    ("static-object", cpu("m: f32[4] @ DRAM"), cpu("m: f32[4] @ MereMemory"), "MereMemory"),
    (
        "static-object",
        cpu(VIEWED),
        cpu(VIEWED.replace("@ Sm90_tensorMap(128, 64, 32)", "@ MereMemory")),
        "MereMemory",
    ),
    (
        "static-object",
        "def f(m: f32[4] @ DRAM):\n    pass",
        "def f(m: f32[4] @ MereMemory):\n    pass",
        "MereMemory",
    ),
]


@pytest.mark.parametrize(
    ("rule", "good", "bad", "at"), TWINS, ids=[f"{k}-{t[0]}" for k, t in enumerate(TWINS)]
)
def test_a_memory_is_used_as_it_allows(rule: str, good: str, bad: str, at: str) -> None:
    error = check_twins(rule, good, bad, at)
    assert error.wants == {**MEMORY_CONSTRAINTS, **STATIC_CONSTRAINTS}.get(rule, error.wants)


def test_values_and_sizes_are_given_from_anywhere_that_may_be_read() -> None:
    names = {"taking": proc_from_text("def taking(n: size, s: f32, a: f32[4]):\n    a[0] = s")}
    law(cpu("taking(n, h[0] + 1.0, h[0:4])\ntaking(4, h[0], h[0:4])\ntaking(4, 1.0, h[0:4])"), names)
    refused("mem-read", cpu("taking(n, x[0] + 1.0, h[0:4])"), "x[0]", names)
    refused("mem-argument", cpu("taking(n, x[0], h[0:4])"), "x[0]", names)


def test_a_memory_is_made_with_parameters_that_it_takes() -> None:
    law(device(SWIZZLED))
    with pytest.raises(StaticError) as caught:
        law(device(SWIZZLED.replace("32)", "48)")))
    assert caught.value.rule == "mem-parameter"
    assert caught.value.given == "48"
    assert caught.value.line is not None


def test_a_dimension_of_a_tile_may_have_any_size() -> None:
    error = refused("mem-tile", device("d: f32[32, 8] @ Sm90_RmemMatrixD"), "d: f32")
    assert str(error.given).endswith("where tiles are 64×any")
    law(device("d: f32[64, 8] @ Sm90_RmemMatrixD"))
