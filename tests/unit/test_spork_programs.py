"""Which Spork programs are well formed: every condition with a program that keeps it and one that breaks it."""

from __future__ import annotations

import math

import pytest

from soundline.impl.spork import Builder, Named, check, named, proc_from_text, references, text
from soundline.impl.spork.builder import apply, binary, cast
from soundline.spec.dtypes import float32, int32, uint8
from soundline.spec.errors import ProgramError, UsageError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.conditions import CONDITIONS
from soundline.spec.spork.language.expressions import Binary, Const, Name, Unary, number, walk
from soundline.spec.spork.language.nodes import SORTS, Position, Ref, ref
from soundline.spec.spork.language.programs import Proc, constant
from soundline.spec.spork.language.statements import Assign, Pass, statements
from soundline.spec.spork.language.types import Argument, Data

NAMES = {**named("instruction", "instr"), "TILE": 16, "NEGATIVE": -2}
NAMES["callee"] = proc_from_text("def callee(n: size, on: bool, x: f32[n], s: f32):\n    x[0] = s")
NAMES["writer"] = proc_from_text("def writer(s: f32):\n    s = 1.0")

HEAD = "def f(n: size, b: bool, x: f32[n], y: i32[n, n], s: f32, r: f32[4], z: bool[n]):\n"
DEVICE = "    with CudaDeviceFunction(blockDim=64):\n        for t in cuda_tasks(0, n):\n"


def cpu(line: str) -> str:
    return HEAD + "".join(f"    {part}\n" for part in line.split("\n"))


def device(line: str) -> str:
    return HEAD + DEVICE + "".join(f"            {part}\n" for part in line.split("\n"))


def block(arguments: str) -> str:
    return cpu(f"with CudaDeviceFunction({arguments}):\n    for t in cuda_tasks(0, n):\n        pass")


BAR = "bar: barrier[2] @ CudaMbarrier\n"
TASKS = "for u in cuda_tasks(0, 2):\n    pass"
ASYNC = "with CudaAsync(empty):\n    pass"
ONE_WARP = "with CudaWarps(0, 1):\n    pass"
ARRIVE = "Arrive(empty, 1) >> bar"
AWAIT = "Await(bar[0], empty, 0)"
KERNEL = "with CudaDeviceFunction(blockDim=32):\n    pass"
WARPS = 'warp_config=[CudaWarpConfig("a", 1), CudaWarpConfig("b", 3)]'

# rule, a program that keeps it, one that breaks it, and the text that the caret points at
TWINS = [
    ("prog-syntax", cpu("x[0] += 1.0"), cpu("x[0] -= 1.0"), "x[0] -= 1.0"),
    ("prog-syntax", cpu("pass"), cpu("while b: pass"), "while"),
    ("prog-syntax", cpu("pass"), cpu("return"), "return"),
    ("prog-syntax", cpu("for i in seq(0, n):\n    pass"), cpu("for i in range(n):\n    pass"), "range"),
    ("prog-syntax", cpu("for i in seq(0, n):\n    pass"), cpu("for i in seq(n):\n    pass"), "seq(n)"),
    ("prog-syntax", cpu("w: f32[2]"), cpu("w: float"), "float"),
    ("prog-syntax", cpu("s = sqrt(s)"), cpu("s = sqrt(s, s)"), "sqrt"),
    ("prog-syntax", cpu("s = x[0]"), cpu("s = x[0] if b else 1.0"), "x[0]"),
    ("prog-syntax", block("blockDim=64"), block("blockdim=64"), "blockdim"),
    ("prog-syntax", device("Fence(empty, empty)"), device("Fence(empty)"), "Fence"),
    ("prog-syntax", cpu("instr(r[0:2])"), cpu("instr(r[0:4:2])"), "2])"),
    ("prog-syntax", "def f(n: size):\n    pass", "def f(n):\n    pass", "n):"),
    ("prog-syntax", "def f(n: size):\n    pass", "def f(n: size = 1):\n    pass", "1)"),
    ("prog-syntax", "def f(n: size):\n    pass", "def f(n: size) -> f32:\n    pass", "f32"),
    ("prog-syntax", "def f():\n    pass", "def f():\n    pass\nx = 1", "x = 1"),
    ("prog-identifier", cpu("w: f32"), cpu("sqrt: f32"), "sqrt"),
    (
        "prog-identifier",
        cpu("for i in seq(0, n):\n    pass"),
        cpu("for i8 in seq(0, n):\n    pass"),
        "for i8",
    ),
    ("prog-bound", cpu("x[TILE] = s"), cpu("x[TILES] = s"), "TILES"),
    ("prog-bound", cpu("w: f32\nw = s"), cpu("w = s\nw: f32"), "w = s"),
    ("prog-bound", cpu("if b:\n    w: f32\n    w = s"), cpu("if b:\n    w: f32\nw = s"), "w = s"),
    ("prog-fresh", cpu("w: f32"), cpu("s: f32"), "s: f32"),
    ("prog-fresh", cpu("for i in seq(0, n):\n    pass"), cpu("for n in seq(0, 2):\n    pass"), "for n"),
    ("prog-kind", cpu("s = 1.0"), cpu("n = 1"), "n = 1"),
    ("prog-kind", device(BAR + AWAIT), device("Await(x[0], empty, 0)"), "x[0]"),
    ("prog-kind", device("x[0] = 1.0"), device(BAR + "bar[0] = 1.0"), "bar[0] ="),
    ("prog-reference", cpu("w: f32 @ DRAM"), cpu("w: f32 @ DRUM"), "DRUM"),
    ("prog-reference", cpu("w: f32 @ DRAM"), cpu("w: f32 @ CudaMbarrier"), "CudaMbarrier"),
    ("prog-reference", cpu("w: barrier @ CudaEvent"), cpu("w: barrier @ DRAM"), "DRAM"),
    ("prog-reference", cpu("w: barrier @ CudaEvent"), cpu("w: barrier"), "barrier"),
    ("prog-reference", device("Fence(empty, empty)"), device("Fence(empty, cuda_warp)"), "cuda_warp"),
    ("prog-reference", cpu("instr(n)"), cpu("TILE(n)"), "TILE"),
    ("prog-rank", cpu("y[0, 1] = 2"), cpu("y[0] = 2"), "y[0]"),
    (
        "prog-rank",
        device(BAR + AWAIT),
        device(BAR + "Await(bar, empty, 0)"),
        "bar, empty",
    ),
    ("prog-index", cpu("x[n - 1] = s"), cpu("x[y[0, 0]] = s"), "y[0, 0]"),
    ("prog-index", cpu("x[0] = s"), cpu("x[0.0] = s"), "0.0"),
    ("prog-index", cpu("for i in seq(0, n):\n    pass"), cpu("for i in seq(0, b):\n    pass"), "b)"),
    ("prog-index", cpu("w: f32[TILE]"), cpu("w: f32[NEGATIVE]"), "NEGATIVE"),
    ("prog-window", cpu("instr(x[0:2])"), cpu("s = x[0:2] + 1.0"), "x[0:2]"),
    ("prog-window", cpu("instr(x)"), cpu("s = x"), "x"),
    ("prog-window", cpu("w = x[0:2] @ DRAM"), cpu("w = x[0] @ DRAM"), "w = x[0]"),
    ("prog-dtype", cpu("s = x[0] + 1"), cpu("s = x[0] + y[0, 0]"), "x[0] + y"),
    ("prog-dtype", cpu("s = f32(y[0, 0])"), cpu("s = y[0, 0]"), "y[0, 0]"),
    ("prog-dtype", cpu("s = x[0] * f32(n)"), cpu("s = x[0] * n"), "x[0] * n"),
    ("prog-dtype", cpu("y[0, 0] = y[0, 0] % 2"), cpu("s = s % 2.0"), "s % 2.0"),
    ("prog-dtype", cpu("s = s / 2.0"), cpu("y[0, 0] = y[0, 0] / 2"), "y[0, 0] / 2"),
    ("prog-dtype", cpu("s = select(b, s, 0.0)"), cpu("s = select(n, s, 0.0)"), "select"),
    ("prog-dtype", cpu("z[0] = not z[1]"), cpu("z[0] = not s"), "not s"),
    ("prog-dtype", cpu("y[0, 0] += 1"), cpu("z[0] += True"), "z[0]"),
    ("prog-dtype", cpu("y[0, 0] = 1"), cpu("y[0, 0] = 1.0"), "1.0"),
    ("prog-dtype", cpu("y[0, 0] = y[0, 1] & 3"), cpu("s = s & s"), "s & s"),
    ("prog-dtype", cpu("y[0, 0] = y[0, 1] << 3"), cpu("x[n << 1] = s"), "n << 1"),
    ("prog-dtype", cpu("z[0] = s < 1.0"), cpu("z[0] = z[1] < z[2]"), "z[1] < z[2]"),
    ("prog-dtype", cpu("s = sqrt(s)"), cpu("y[0, 0] = sqrt(y[0, 0])"), "sqrt"),
    ("prog-condition", cpu("if 0 < n:\n    pass"), cpu("if s < 1.0:\n    pass"), "s < 1.0"),
    ("prog-condition", cpu("if b:\n    pass"), cpu("if n:\n    pass"), "n:"),
    ("prog-literal", cpu("s = 1e30"), cpu("s = 1e999"), "1e999"),
    ("prog-assert", cpu("assert b\npass"), cpu("pass\nassert b"), "assert"),
    (
        "prog-threads-bounds",
        device("for i in cuda_threads(0, TILE * 2, unit=cuda_thread):\n    pass"),
        device("for i in cuda_threads(1, 16, unit=cuda_thread):\n    pass"),
        "1, 16",
    ),
    (
        "prog-threads-bounds",
        device("for i in cuda_threads(0, 16, unit=cuda_thread):\n    pass"),
        device("for i in cuda_threads(0, n, unit=cuda_thread):\n    pass"),
        "n, unit",
    ),
    (
        "prog-device-nest",
        block("blockDim=64"),
        cpu("with CudaDeviceFunction(blockDim=64):\n    for t in cuda_tasks(0, n):\n        pass\n    pass"),
        "pass",
    ),
    (
        "prog-device-nest",
        block("blockDim=64"),
        cpu("with CudaDeviceFunction(blockDim=64):\n    for t in seq(0, n):\n        pass"),
        "for t",
    ),
    (
        "prog-tasks-place",
        device(TASKS),
        cpu(TASKS),
        "for u",
    ),
    (
        "prog-tasks-place",
        device(TASKS),
        device("pass\nfor u in cuda_tasks(0, 2):\n    pass"),
        "for u",
    ),
    (
        "prog-tasks-place",
        device(TASKS),
        device("if b:\n    for u in cuda_tasks(0, 1):\n        pass"),
        "for u",
    ),
    ("prog-cpu-only", cpu("for i in par(0, n):\n    pass"), device("for i in par(0, n):\n    pass"), "for i"),
    ("prog-cpu-only", cpu("callee(4, b, r, s)"), device("callee(4, b, r, s)"), "callee"),
    (
        "prog-cpu-only",
        block("blockDim=64"),
        device(KERNEL),
        "with CudaDeviceFunction(blockDim=32):",
    ),
    (
        "prog-device-only",
        device(ASYNC),
        cpu(ASYNC),
        "with CudaAsync",
    ),
    (
        "prog-device-only",
        device(ONE_WARP),
        cpu(ONE_WARP),
        "with CudaWarps",
    ),
    (
        "prog-device-only",
        device("for i in cuda_threads(0, 2, unit=cuda_warp):\n    pass"),
        cpu("for i in cuda_threads(0, 2, unit=cuda_warp):\n    pass"),
        "for i",
    ),
    (
        "prog-async-nest",
        device(ASYNC),
        device("with CudaAsync(empty):\n    if b:\n        with CudaAsync(Sm80_cp_async):\n            pass"),
        "with CudaAsync(Sm80",
    ),
    ("prog-block-dim", block("blockDim=64"), block("clusterDim=2"), "with"),
    ("prog-block-dim", block(WARPS), block(f"blockDim=128, {WARPS}"), "with"),
    ("prog-device-number", block("blockDim=64"), block("blockDim=0"), "with"),
    ("prog-device-number", block("blockDim=4 * TILE"), block("blockDim=n"), "n)"),
    ("prog-device-number", block("blockDim=64, clusterDim=2"), block("blockDim=64, clusterDim=0"), "with"),
    ("prog-device-number", block(WARPS), block(WARPS.replace("3", "0")), "with"),
    ("prog-warp-config", block(WARPS), block(WARPS.replace('"b"', '"a"')), "with"),
    ("prog-warp-config", block(WARPS), block("warp_config=[TILE]"), "[TILE]"),
    (
        "prog-warp-config",
        block('warp_config=[CudaWarpConfig("a", 4, setmaxnreg_inc=40)]'),
        block('warp_config=[CudaWarpConfig("a", 4, 40, 40)]'),
        "with",
    ),
    (
        "prog-warps-range",
        device(ONE_WARP),
        device(ONE_WARP.replace("0", "1")),
        "with CudaWarps",
    ),
    (
        "prog-warps-range",
        device(ONE_WARP),
        device(ONE_WARP.replace("0, 1", "")),
        "with CudaWarps",
    ),
    (
        "prog-warps-range",
        device(ONE_WARP),
        device(ONE_WARP.replace("0, 1", "hi=1")),
        "with CudaWarps",
    ),
    (
        "prog-warps-name",
        device('with CudaWarps(name="b"):\n    pass').replace("blockDim=64", WARPS),
        device('with CudaWarps(name="c"):\n    pass').replace("blockDim=64", WARPS),
        "with CudaWarps",
    ),
    (
        "prog-barrier-index",
        device(BAR + ARRIVE + "[:]"),
        device(BAR + ARRIVE + "[0:1]"),
        "0:1",
    ),
    (
        "prog-barrier-index",
        device(BAR + AWAIT),
        device(BAR + "Await(bar[:], empty, 0)"),
        ":], empty",
    ),
    (
        "prog-arrive",
        device(BAR + "Arrive(empty, 1) >> bar[0]"),
        device(BAR + "Arrive(empty, 2) >> bar[0]"),
        "Arrive",
    ),
    (
        "prog-arrive",
        device(BAR + "Arrive(empty, 1) >> bar[0] >> bar[1]"),
        device(BAR + "other: barrier @ CudaMbarrier\nArrive(empty, 1) >> bar[0] >> other[1]"),
        "Arrive",
    ),
    ("prog-await", device(BAR + "Await(bar[0], empty, ~0)"), device(BAR + "Await(bar[0], empty, n)"), "n)"),
    ("prog-call", cpu("callee(4, b, r, s)"), cpu("callee(4, b, r)"), "callee"),
    ("prog-call", cpu("callee(4, b, r, s=s)"), cpu("callee(4, b, r, s, s=s)"), "callee"),
    ("prog-call", cpu("callee(4, b, r, s=s)"), cpu("callee(4, b, r, q=s)"), "callee"),
    ("prog-call", cpu("callee(4, b, r, s)"), cpu("callee(4, b, r, s, s)"), "callee"),
    ("prog-call", cpu("callee(n, b, r, s)"), cpu("callee(s, b, r, s)"), "s, b"),
    ("prog-call", cpu("callee(4, b, r, s)"), cpu("callee(4, 1, r, s)"), "1, r"),
    ("prog-call", cpu("callee(4, b, x[0:4], s)"), cpu("callee(4, b, x[0], s)"), "x[0]"),
    ("prog-call", cpu("callee(4, b, r, s)"), cpu("callee(4, b, y, s)"), "y, s"),
    ("prog-call", cpu("writer(s)"), cpu("writer(1.0)"), "1.0"),
    ("prog-trailing", device(BAR + "instr(n) >> bar[0]"), cpu(BAR + "writer(s) >> bar[0]"), "bar[0]"),
    (
        "prog-trailing",
        device(BAR + "instr(n) >> bar[0]"),
        device(BAR + "Fence(empty, empty) >> bar[0]"),
        "bar[0]",
    ),
]


@pytest.mark.parametrize(
    ("rule", "kept", "broken", "at"), TWINS, ids=[f"{n}-{t[0]}" for n, t in enumerate(TWINS)]
)
def test_twins(rule: str, kept: str, broken: str, at: str) -> None:
    accepted = proc_from_text(kept, NAMES)
    assert proc_from_text(text(accepted), {**NAMES, **references(accepted)}) == accepted
    with pytest.raises(ProgramError) as caught:
        proc_from_text(broken, NAMES, file="program.py")
    error = caught.value
    assert (error.rule, error.file) == (rule, "program.py")
    assert error.line is not None
    assert error.column is not None
    line = broken.splitlines()[error.line - 1]
    assert line[error.column - 1 :].startswith(at)
    assert str(error).endswith(f"\n  {line}\n  {' ' * (error.column - 1)}^")
    assert error.url.endswith(f"#{rule}")
    assert CONDITIONS[rule] in str(error)


def test_every_condition_has_twins() -> None:
    """A block without a statement is no Python, so that only code can make one."""
    assert {twin[0] for twin in TWINS} | {"prog-body"} == set(CONDITIONS)


def test_a_block_holds_a_statement() -> None:
    with pytest.raises(ProgramError) as caught:
        check(Proc("f", (), (), ()))
    assert (caught.value.rule, caught.value.line) == ("prog-body", None)
    assert check(Proc("f", (), (), (Pass(),))).name == "f"


@pytest.mark.parametrize("value", [-1, -0.0, math.inf, math.nan])
def test_literals_that_no_text_can_say(value: float) -> None:
    b = Builder("f")
    x = b.alloc("x", float32)
    b.add(Assign(Name("x"), Const(value)))
    assert repr(x) == "Term(x)"
    with pytest.raises(ProgramError) as caught:
        b.done()
    assert caught.value.rule == "prog-literal"


def test_where_a_node_stands_is_no_part_of_what_it_is() -> None:
    here = Const(1, position=Position("a.py", 1, 1))
    assert here == Const(1)
    assert hash(here) == hash(Const(1))
    assert len({Const(1), Const(1.0), Const(True)}) == 3
    assert Const(1) != 1
    assert proc_from_text("def f():\n    pass") == proc_from_text("\n\ndef f():\n\n  pass")


def test_numbers_and_references() -> None:
    assert number(Binary(Op.Mod, Const(7), constant(-2))) == -1
    assert number(Binary(Op.Idiv, Const(7), Const(0))) is None
    assert number(Binary(Op.Sub, Const(7), Const(2))) == 5
    assert number(Binary(Op.Add, Const(7), Name("n"))) is None
    assert number(Const(1.0)) is None
    assert number(Unary(Op.Not, Const(1))) is None
    assert constant(True) == Const(True)
    assert constant(-2.5) == Unary(Op.Neg, Const(2.5))
    assert ref(Named("a", "unit")).name == "a"
    assert ref(Builder).name == "Builder"
    assert Ref("x", 3).sort is None
    assert [Ref("x", Named("x", sort)).sort for sort in SORTS] == list(SORTS)


def test_a_walk_goes_through_all_nodes_and_not_into_what_is_called() -> None:
    program = proc_from_text(cpu("callee(4, b, r, s)"), NAMES)
    names = [node.name for node in walk(program) if isinstance(node, Name)]
    assert names == ["n", "n", "n", "n", "b", "r", "s"]
    assert len(list(statements(program.body))) == 1


def test_code_makes_what_a_text_says() -> None:
    kind, memory, tl = (Named(n, s) for n, s in (("K", "barrier"), ("M", "memory"), ("tl", "timeline")))
    unit, instr = Named("u", "unit"), Named("instr", "instruction")
    b = Builder("f")
    n, i, on = b.size("n"), b.index("i"), b.flag("on")
    x = b.argument("x", float32, (n, 4), memory, window=True)
    b.require((i < n) & ~(i <= 2))
    q = b.alloc("q", int32)
    w = b.window("w", x[0, 1:], memory)
    with b.par("p", n), b.seq("s", n, 1):
        b.assign(q, -(2 - q) // 3 % 5)
    with b.when(on):
        b.nothing()
    with b.otherwise():
        b.reduce(w[2], apply("max", 1.0 / x[0, 0], cast(float32, binary("==", i, 1)) + -1.5))
    with b.device_function(64, cluster_dim=2, blocks_per_sm=3), b.tasks("t", n // 2):
        bar = b.barrier("bar", kind, (2,))
        with b.threads("k", 2, unit), b.warps(0, 1):
            b.fence(tl, tl)
            with b.asynchronous(tl):
                b.call(instr, x[:, i], n * 2, trailing=[bar[0]], size=4)
            b.arrive(tl, bar[:], bar[1], reverse=True)
            b.await_(bar[1], tl, -1)
    program = b.done()
    assert (
        str(program)
        == """@proc
def f(n: size, i: index, on: bool, x: [f32][n, 4] @ M):
    assert i < n and not i <= 2
    q: i32
    w = x[0, 1:] @ M
    for p in par(0, n):
        for s in seq(1, n):
            q = -(2 - q) // 3 % 5
    if on:
        pass
    else:
        w[2] += max(1.0 / x[0, 0], f32(i == 1) + -1.5)
    with CudaDeviceFunction(blockDim=64, clusterDim=2, blocks_per_sm=3):
        for t in cuda_tasks(0, n // 2):
            bar: barrier[2] @ K
            for k in cuda_threads(0, 2, unit=u):
                with CudaWarps(0, 1):
                    Fence(tl, tl)
                    with CudaAsync(tl):
                        instr(x[:, i], n * 2, size=4) >> bar[0]
                    ReverseArrive(tl, 1) >> bar[:] >> bar[1]
                    Await(bar[1], tl, ~0)
"""
    )
    assert proc_from_text(str(program), references(program)) == program


def test_code_that_makes_no_statement_is_told_so() -> None:
    b = Builder("f")
    x = b.argument("x", uint8, (4,))
    for wrong in (
        lambda: b.assign(x[0] + 1, 2),
        lambda: (x[0] + 1)[2],
        lambda: x[0:4:2],
        lambda: b.window("w", x),
        lambda: b.otherwise().__enter__(),
    ):
        with pytest.raises(UsageError):
            wrong()


def test_what_is_not_said_of_data_is_not_so() -> None:
    assert Data(float32) == Data(float32, (), False)
    assert Data(float32) != Data(float32, (), True)
    assert Argument("x", Data(float32)).memory is None


@pytest.mark.parametrize("value", ["1 + 0.5", "0.5 + 1", "2 * (1 - 0.5)"])
def test_literals_of_both_kinds_make_one_of_a_float(value: str) -> None:
    check(proc_from_text(f"def f(x: f32[1]):\n    x[0] = {value}"))
    check(proc_from_text(f"def f(x: f32[1], y: f32[1]):\n    x[0] = y[0] * ({value})"))
    with pytest.raises(ProgramError) as refused:
        check(proc_from_text(f"def f(x: i32[1]):\n    x[0] = {value}"))
    assert refused.value.rule == "prog-dtype"
