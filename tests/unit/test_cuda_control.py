"""Names, integers of control and coordinates of threads in generated code, against the law."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from soundline.impl.codegen.cuda.expressions import Names, control_text
from soundline.impl.codegen.cuda.names import spelled
from soundline.impl.codegen.cuda.threads import coordinate_text, guard_text, has_whole_warps
from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Name, Unary
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, iteration, tile, top_level
from soundline.spec.spork.threads.units import (
    CollUnit,
    cuda_cta_in_cluster,
    cuda_thread,
    cuda_warp,
    cuda_warpgroup,
)
from soundline.spec.values.elementwise import ELEMENTWISE

from .cuda_figures import code_of, parsed

COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.mark.parametrize("name", ["k", "K", "tid", "x_1"])
def test_a_name_keeps_its_spelling(name: str) -> None:
    assert spelled(name) == name


def test_names_that_cxx_or_the_text_around_uses_are_spelled_otherwise() -> None:
    names = ["double", "double_", "register", "args", "sync", "threadIdx", "max_f32", "task_producer", "β"]
    found = [spelled(name) for name in names]
    assert found == [
        "double_",
        "double__",
        "register_",
        "args_",
        "sync_",
        "threadIdx_",
        "max_f32_",
        "task_producer_",
        "_u03b2",
    ]
    assert len(set(found)) == len(names)


# Control ----------------------------------------------------------------------------------------------------------

_BINARY = (Op.Add, Op.Sub, Op.Mul, Op.Idiv, Op.Mod)
_VALUES = {"i": (0, 9), "n": (0, 40), "s": (1, 12), "z": (-9, 9)}


def drawn(seed: random.Random, depth: int) -> Expr:
    """An integer of control."""
    if depth == 0 or seed.random() < 0.2:
        return seed.choice(
            [Name("i"), Name("n"), Name("s"), Name("z"), Const(seed.choice([0, 1, 2, 3, 4, 7, 8, 16]))]
        )
    inner = [drawn(seed, depth - 1) for _ in range(2)]
    if seed.random() < 0.1:
        return Unary(Op.Neg, inner[0])
    if seed.random() < 0.1:
        return Apply(Op.Max, tuple(inner))
    return Binary(seed.choice(_BINARY), *inner)


def law(expression: Expr, values: dict[str, int]) -> int:
    """The value of an integer of control."""
    match expression:
        case Const(value):
            return int(value)
        case Name(name):
            return values[name]
        case Unary(op, operand):
            return int(ELEMENTWISE[op](index, law(operand, values)))
        case Binary(op, left, right) | Apply(op, (left, right)):
            return int(ELEMENTWISE[op](index, law(left, values), law(right, values)))
    raise AssertionError(expression)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_control_in_cxx_has_the_values_of_the_law_and_lies_where_it_is_said_to(tmp_path: Path) -> None:
    seed = random.Random(3)
    names = Names()
    for name, bounds in _VALUES.items():
        names = names.with_control(name, bounds)
    lines, wanted = [], []
    for _ in range(400):
        expression = drawn(seed, 3)
        values = {name: seed.randint(*bounds) for name, bounds in _VALUES.items()}
        value = law(expression, values)
        lo, hi = names.interval(expression)
        assert lo is None or lo <= value, (expression, values)
        assert hi is None or value <= hi, (expression, values)
        assert value % (names.divisor(expression) or 1) == 0
        given = ", ".join(str(values[name]) for name in _VALUES)
        lines.append(
            f"put([](int i, int n, int s, int z) {{ return {control_text(expression, names)}; }}({given}));"
        )
        wanted.append(value)
    floor = (
        "int floor_div(int a, int b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }"
        "int floor_mod(int a, int b) { return a - b * floor_div(a, b); }"
    )
    helpers = "\n".join(names.helpers.texts()).replace("static __device__ __forceinline__ ", "static ")
    put = 'static void put(int x) { printf("%d\\n", x); }'
    source = f"#include <cstdio>\n#include <cstdint>\nnamespace soundline {{ {floor} }}\n{helpers}\n{put}\n"
    path = tmp_path / "control.cpp"
    path.write_text(source + "int main() {\n" + "\n".join(lines) + "\n}\n")
    assert COMPILER is not None
    subprocess.run([COMPILER, "-std=c++17", "-w", str(path), "-o", str(tmp_path / "control")], check=True)
    out = subprocess.run([str(tmp_path / "control")], check=True, capture_output=True, text=True).stdout
    assert [int(line) for line in out.split()] == wanted


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0, None), "k / 3"),
        ((None, None), "soundline::floor_div(k, 3)"),
        ((-1, None), "soundline::floor_div(k, 3)"),
    ],
)
def test_division_is_that_of_cxx_where_the_dividend_is_not_negative(bounds: Any, text: str) -> None:
    assert control_text(Binary(Op.Idiv, Name("k"), Const(3)), Names().with_control("k", bounds)) == text


def test_division_by_what_may_be_zero_is_no_operator() -> None:
    names = Names().with_control("k", (0, None)).with_control("n", (0, None)).with_control("m", (1, None))
    assert control_text(Binary(Op.Mod, Name("k"), Name("n")), names) == "soundline::floor_mod(k, n)"
    assert control_text(Binary(Op.Mod, Name("k"), Name("m")), names) == "k % m"


def test_a_condition_tells_what_its_block_knows() -> None:
    names = Names().with_control("k", (0, None))
    ring = Binary(Op.Mod, Binary(Op.Sub, Name("k"), Const(1)), Const(3))
    condition = Binary(Op.CmpGe, Name("k"), Const(1))
    assert control_text(ring, names) == "soundline::floor_mod(k - 1, 3)"
    assert control_text(ring, names.assuming(condition)) == "(k - 1) % 3"
    assert names.assuming(condition, False).interval(Name("k")) == (0, 0)
    both = Binary(Op.And, condition, Binary(Op.CmpLt, Name("k"), Const(9)))
    assert names.assuming(both).interval(Name("k")) == (1, 8)
    assert names.assuming(Unary(Op.Not, condition)).interval(Name("k")) == (0, 0)


# Threads ----------------------------------------------------------------------------------------------------------


def tilings() -> list[Tiling]:
    """Bodies of loops over threads and of choices of warps."""
    cta, cluster = top_level(256), top_level(64, 4)
    warps = choose_warps(cta, 2, 7)
    return [
        tile(tile(cta, "m", 7, 32 * cuda_thread), "n", 10, 3 * cuda_thread),
        tile(tile(warps, "w", 3, cuda_warp), "t", 32, cuda_thread),
        choose_warps(tile(cta, "g", 2, 4 * cuda_warp), 1, 3),
        tile(tile(cluster, "cta", 4, cuda_cta_in_cluster), "t", 20, 2 * cuda_thread),
    ]


@pytest.mark.parametrize("tiling", tilings(), ids=lambda t: str(t.box))
def test_iterators_and_guards_are_those_of_every_thread_of_the_law(tiling: Tiling) -> None:
    def computed(text: str, thread: int) -> int:
        rank, at = divmod(thread, tiling.block_dim)
        text = text.replace("threadIdx.x", str(at)).replace("blockIdx.x", str(rank)).replace("/", "//")
        return int(eval(text.replace("&&", "and").replace("true", "True")))

    for thread in range(tiling.block_dim * tiling.cluster_dim):
        runs = all(computed(guard_text(guard, tiling), thread) for guard in tiling.guards)
        wanted = iteration(tiling, thread)
        assert runs is (wanted is not None)
        if wanted is not None:
            found = [computed(coordinate_text(i.value, tiling), thread) for i in tiling.iterators]
            assert tuple(found) == wanted


@pytest.mark.parametrize(
    ("unit", "count", "whole"),
    [
        (cuda_warp, 8, True),
        (cuda_warpgroup, 2, True),
        (cuda_thread, 256, False),
        (40 * cuda_thread, 6, False),
        (48 * cuda_thread, 5, False),
        (64 * cuda_thread, 3, True),
    ],
    ids=str,
)
def test_whether_warps_run_whole(unit: CollUnit, count: int, whole: bool) -> None:
    """What has all lanes of one warp, and some of another, is not whole."""
    assert has_whole_warps(tile(top_level(256), "i", count, unit)) is whole


def test_iterators_are_known_to_be_where_their_loops_are() -> None:
    proc = parsed(
        """
@proc
def program(a: index, n: size, x: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for i in cuda_tasks(3, n):
            for t in cuda_threads(0, 1, unit=cuda_thread):
                for k in seq(1, n):
                    x[(k - 1) // 3] = 0.0
                    x[(k - 2) // 3] = 1.0
                for k in seq(a, 9):
                    x[(8 - k) // 3] = 2.0
                    x[k // 3] = 3.0
                if a < 0:
                    x[0] = 4.0
                else:
                    x[a // 3] = 5.0
                x[(i - 3) // 7 + t // 3] = 6.0
"""
    )
    code = code_of(proc)
    for line in (
        "x[(k - 1) / 3] = 0.0f;",
        "x[soundline::floor_div(k - 2, 3)] = 1.0f;",
        "x[(8 - k) / 3] = 2.0f;",
        "x[soundline::floor_div(k, 3)] = 3.0f;",
        "x[a / 3] = 5.0f;",
        "x[(i - 3) / 7 + t / 3] = 6.0f;",
    ):
        assert line in code


def test_intervals_of_division_by_what_may_be_zero() -> None:
    """By 0 a quotient is 0 and a remainder the dividend (U-03)."""
    names = Names().with_control("k", (5, 9)).with_control("n", (0, 2)).with_control("m", (1, 2))
    assert names.interval(Binary(Op.Idiv, Name("k"), Name("n"))) == (0, 9)
    assert names.interval(Binary(Op.Idiv, Name("k"), Name("m"))) == (2, 9)
    assert names.interval(Binary(Op.Mod, Name("k"), Name("n"))) == (0, 9)
    assert names.interval(Binary(Op.Mod, Name("k"), Name("m"))) == (0, 1)
