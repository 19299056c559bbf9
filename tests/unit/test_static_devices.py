"""The static law of device functions, loops over threads and choices of warps, told of programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from soundline.impl.spork import Builder, proc_from_text
from soundline.spec.dtypes import float32
from soundline.spec.errors import CollectiveError, ProgramError, StaticError, SynchronizationError
from soundline.spec.spork.language.scopes import HOST
from soundline.spec.spork.language.statements import Pass
from soundline.spec.spork.library.memories import CudaGmemLinear
from soundline.spec.spork.static.law import static_law
from soundline.spec.spork.static.scope import Standing
from soundline.spec.spork.threads.units import cuda_thread

sys.path.insert(0, str(Path(__file__).parent))
from static_cases import check_twins, cpu, device, law, refused, threads

KERNEL = "with CudaDeviceFunction(blockDim=32):\n    for task in cuda_tasks(0, 1):\n        pass"
INNER = "\n".join(f"    {line}" for line in KERNEL.split("\n"))
OF = "blockDim=32, clusterDim="
NAMED = 'warp_config=[CudaWarpConfig("a", 1), CudaWarpConfig("b", 3)]'


def registers(*warps: str) -> str:
    return f"warp_config=[{', '.join(f'CudaWarpConfig({w})' for w in warps)}]"


def loops(text: str) -> str:
    return device(threads("pass", text))


def warps(arguments: str, how: str = "blockDim=128") -> str:
    return device(f"with CudaWarps({arguments}):\n    pass", how)


def tasks(inner: str) -> str:
    nest = f"for i in cuda_tasks(0, n):\n        for j in cuda_tasks({inner}):\n            pass"
    return cpu(f"with CudaDeviceFunction(blockDim=32):\n    {nest}")


def par(text: str) -> str:
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return cpu(f"for p in par(0, n):\n{lines}")


DEEPER = "for k in cuda_tasks(0, ?):\n                    pass"
SEQ = "for q in seq(0, n):\n    if b:\n        ?"

# rule, a program that keeps it, one that breaks it, and where that is
TWINS = [
    ("coll-device-c2", device("pass", "blockDim=96"), device("pass", "blockDim=100"), "with Cuda"),
    (
        "static-cluster",
        device("pass", "blockDim=32, clusterDim=4"),
        device("pass", "blockDim=32, clusterDim=3"),
        "with",
    ),
    ("static-task-bounds", tasks("0, n"), tasks("0, i"), "i):"),
    ("static-task-bounds", tasks("n - n, n"), tasks("n - i, n"), "n - i"),
    (
        "static-task-bounds",
        tasks("0, n").replace("pass", DEEPER.replace("?", "n")),
        tasks("0, n").replace("pass", DEEPER.replace("?", "n + i")),
        "n + i",
    ),
    (
        "static-par",
        par(SEQ.replace("?", "h[q] = 1.0")),
        par(
            SEQ.replace(
                "?",
                "with CudaDeviceFunction(blockDim=32):\n            for t in cuda_tasks(0, 1):\n                pass",
            )
        ),
        "with Cuda",
    ),
    ("static-par", cpu(KERNEL), par(KERNEL), "with Cuda"),
    (
        "static-par",
        par("for q in seq(0, n):\n    h[q] = 1.0"),
        par(f"if b:\n    {KERNEL.replace(chr(10), chr(10) + '    ')}"),
        "with",
    ),
    (
        "coll-maxnreg-c2",
        device("pass", registers('"a", 4, 40')),
        device("pass", registers('"a", 4, 41')),
        "with",
    ),
    (
        "coll-maxnreg-c3",
        device("pass", registers('"a", 4, 40')),
        device("pass", registers('"a", 5, 40')),
        "with",
    ),
    (
        "coll-maxnreg-c4",
        device("pass", registers('"a", 1, 40', '"b", 3, 40', '"c", 4, None, 232')),
        device("pass", registers('"a", 1, 40', '"b", 3, 48', '"c", 4, None, 232')),
        "with",
    ),
    ("coll-tile-c4", loops("w:4:cuda_warp"), loops("t:2:8*cuda_thread q:1:cuda_quadpair"), "for q"),
    ("coll-tile-c5", loops("w:4:cuda_warp"), loops("w:5:cuda_warp"), "for w"),
    (
        "coll-tile-c5",
        loops("w:4:cuda_warp t:8:4*cuda_thread"),
        loops("w:4:cuda_warp t:10:4*cuda_thread"),
        "for t in cuda_thr",
    ),
    ("coll-tile-c6", loops("w:4:cuda_warp v:1:cuda_warp"), loops("w:4:cuda_warp v:2:cuda_warp"), "for v"),
    ("coll-tile-c2", loops("w:1:cuda_warp"), loops("w:0:cuda_warp"), "for w"),
    ("coll-domain-c4", loops("w:2:32*cuda_thread"), loops("w:2:24*cuda_thread v:2:cuda_quadpair"), "for v"),
    ("coll-warps-c2", warps("3, 4"), warps("3, 5"), "with CudaWarps"),
    ("coll-named-c1", warps('name="a"', NAMED), warps("0, 1", NAMED), "with CudaWarps"),
    (
        "coll-named-c3",
        device(
            'with CudaWarps(name="b"):\n    for w in cuda_threads(0, 3, unit=cuda_warp):\n        pass', NAMED
        ),
        device(
            'for w in cuda_threads(0, 4, unit=cuda_warp):\n    with CudaWarps(name="b"):\n        pass', NAMED
        ),
        "with CudaWarps",
    ),
    (
        "coll-named-c4",
        device('with CudaWarps(name="b"):\n    with CudaWarps(0, 1, name="b"):\n        pass', NAMED),
        device('with CudaWarps(name="b"):\n    with CudaWarps(0, 1, name="a"):\n        pass', NAMED),
        "with CudaWarps(0",
    ),
    (
        "coll-named-c5",
        device('with CudaWarps(name="b"):\n    with CudaWarps(1, 3):\n        pass', NAMED),
        device('with CudaWarps(name="b"):\n    with CudaWarps(name="b"):\n        pass', NAMED),
        '…with CudaWarps(name="b")',
    ),
    (
        "tl-async-block",
        device("with CudaAsync(Sm80_cp_async):\n    pass"),
        device("with CudaAsync(cuda_in_order):\n    pass"),
        "with CudaAsync",
    ),
    ("static-object", loops("t:2:cuda_thread"), loops("t:2:mere_unit"), "mere_unit"),
    (
        "static-object",
        device("with CudaAsync(Sm80_cp_async):\n    pass"),
        device("with CudaAsync(mere_timeline):\n    pass"),
        "mere_timeline",
    ),
]


@pytest.mark.parametrize(
    ("rule", "good", "bad", "at"), TWINS, ids=[f"{k}-{t[0]}" for k, t in enumerate(TWINS)]
)
def test_threads_are_there(rule: str, good: str, bad: str, at: str) -> None:
    check_twins(rule, good, bad, at)


def test_an_error_keeps_what_its_chapter_says() -> None:
    error = refused("coll-tile-c5", loops("w:5:cuda_warp"), "for w")
    assert error.most == 4
    assert error.given == "5 * 32 > 128"
    assert isinstance(error.__cause__, CollectiveError)
    assert error.hint == error.__cause__.hint
    assert error.subject == error.__cause__.subject == "cuda_threads(0, 5, unit=cuda_warp)"
    assert str(error).startswith("<text>:4: cuda_threads(0, 5, unit=cuda_warp): expected: count times")
    other = refused("tl-async-block", device("with CudaAsync(empty):\n    pass"), "with CudaAsync")
    assert isinstance(other.__cause__, SynchronizationError)
    assert other.subject == "CudaAsync(empty)"


def test_a_program_without_a_text_is_refused_without_a_place() -> None:
    build = Builder("made")
    x = build.argument("x", float32, (8,), CudaGmemLinear)
    with build.device_function(block_dim=32), build.tasks("t", 1), build.threads("i", 33, cuda_thread) as i:
        build.assign(x[i], 1.0)
    with pytest.raises(StaticError) as caught:
        static_law(build.done())
    assert caught.value.rule == "coll-tile-c5"
    assert (caught.value.file, caught.value.line, caught.value.column) == (None, None, None)
    assert caught.value.most == 32


def test_a_program_that_is_not_well_formed_is_refused_first() -> None:
    proc = proc_from_text(loops("w:5:cuda_warp"))
    broken = type(proc)(proc.name, proc.arguments, proc.preconditions, ())
    with pytest.raises(ProgramError) as caught:
        static_law(broken)
    assert caught.value.rule == "prog-body"


def test_procs_are_read_where_they_are_called() -> None:
    kernel = proc_from_text(
        "def kernel(x: f32[4] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=32):\n"
        "        for t in cuda_tasks(0, 1):\n            s: f32[4] @ CudaSmemLinear\n"
        "            bar: barrier @ CudaMbarrier\n            Fence(cuda_in_order, cuda_in_order)"
    )
    facts = law(cpu("if b:\n    pass\nelse:\n    pass\n    kernel(x[0:4])"), {"kernel": kernel})
    call = (0, 2)
    assert set(facts.shards) == {(*call, 0, 0, 0), (*call, 0, 0, 1)}
    assert set(facts.barriers) == {(*call, 0, 0, 1)}
    assert facts.pieces == {(*call, 0, 0, 2): ("syncwarp",)}
    with pytest.raises(StaticError) as caught:
        static_law(proc_from_text(par("kernel(x[0:4])"), {"kernel": kernel}))
    assert caught.value.rule == "static-par"
    assert "with CudaDeviceFunction" in str(caught.value)


def test_a_called_proc_that_breaks_the_law_is_refused_at_its_own_line() -> None:
    wrong = proc_from_text("def wrong(x: f32[4] @ CudaGmemLinear):\n    x[0] = 1.0", file="other.py")
    with pytest.raises(StaticError) as caught:
        static_law(proc_from_text(cpu("wrong(x[0:4])"), {"wrong": wrong}))
    assert (caught.value.rule, caught.value.file, caught.value.line) == ("mem-write", "other.py", 2)


def test_a_statement_stands_in_nothing_that_is_not_said() -> None:
    found = Standing(Pass())
    assert (found.scope, found.names, found.path, found.par) == (HOST, {}, (), False)
    assert (found.tasks, found.around, found.asynchronous) == ((), (), None)
