"""The sequential reading: values, what is never written, and the two algebras that values are computed in."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.arrays.arrays import INVALID, Array
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    index,
    int8,
    int32,
    round_to,
    uint8,
)
from soundline.spec.errors import ProgramError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.machine.algebras import Numbers, Tokens, ValueToken, evaluated
from soundline.spec.spork.machine.events import Action, Computed, Converted, Event, Load, Number
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.readings.sequential import Contents, reduction, run
from soundline.spec.values.elementwise import scalar


def program(text: str, **names: Any) -> Proc:
    return proc_from_text(textwrap.dedent(text), names)


def results(text: str, arrays: dict[str, Array], names: dict[str, Any] | None = None, **sizes: int) -> Any:
    found = run(program(text, **(names or {})), sizes, arrays)
    return {name: list(array.elements) for name, array in found.items()}


def array(values: Any, dtype: DType = float32) -> Array:
    return Array.of(values, dtype)


def rule_of(text: str, arrays: dict[str, Array], **sizes: int) -> str:
    with pytest.raises(ProgramError) as caught:
        results(text, arrays, **sizes)
    assert caught.value.rule is not None
    return caught.value.rule


# Values -----------------------------------------------------------------------------------------------------------


def test_a_program_computes_in_its_own_order() -> None:
    text = """
        def scan(n: size, x: i32[n]):
            for i in seq(1, n):
                x[i] += x[i - 1]
        """
    assert results(text, {"x": array([1, 2, 3, 4], int32)}, n=4) == {"x": [1, 3, 6, 10]}


def test_threads_run_one_after_another() -> None:
    text = """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for task in cuda_tasks(0, 2):
                    s: f32[4] @ CudaSmemLinear
                    for t in cuda_threads(0, 4, unit=cuda_thread):
                        s[t] = x[t] * 2
                    for t in cuda_threads(0, 4, unit=cuda_thread):
                        x[t] = s[3 - t] + f32(task)
        """
    # The first task turns the array round and doubles it, the second does so once more and adds one.
    assert results(text, {"x": array([1.0, 2.0, 3.0, 4.0])}) == {"x": [5.0, 9.0, 13.0, 17.0]}


def test_values_are_those_of_the_ops() -> None:
    text = """
        def f(a: f16[1], b: bf16[1], c: u8[2], d: f32[6]):
            a[0] = a[0] + 0.0004
            b[0] = bf16(a[0]) * 3
            c[0] = c[0] - 1
            c[1] = u8(a[0] - 300) // 0
            d[0] = max(d[0], d[1])
            d[1] = -d[2]
            d[2] = d[2] / d[2]
            d[3] = fma(d[3], 3, 1)
            d[4] = select(d[4] < 0.5, 1, f32(a[0] == a[0]))
            d[5] = exp2(d[5])
        """
    found = results(
        text,
        {
            "a": array([1.0], float16),
            "b": array([0.0], bfloat16),
            "c": array([0, 7], uint8),
            "d": array([-0.0, 0.0, 0.0, 0.1, 0.25, 0.5]),
        },
    )
    assert found["a"] == [1.0]  # half of the distance to the next number, to even
    assert found["b"] == [3.0]
    assert found["c"] == [255, 0]  # wraps; a division by zero is 0
    assert math.copysign(1.0, found["d"][0]) == 1.0
    assert math.copysign(1.0, found["d"][1]) == -1.0
    assert math.isnan(found["d"][2])
    assert found["d"][3] == scalar(Op.Mulacc, float32, round_to(float32, 0.1), 3.0, 1.0)
    assert found["d"][4] == 1.0
    assert found["d"][5] == scalar(Op.Exp2, float32, 0.5)


def test_an_instruction_executes_its_body() -> None:
    text = """
        def f(g: f32[16, 8] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for task in cuda_tasks(0, 1):
                    a: f32[16, 4] @ Sm80_RmemMatrixA
                    b: f32[4, 8] @ Sm80_RmemMatrixB
                    d: f32[16, 8] @ Sm80_RmemMatrixD
                    Sm80_mma_load_a_tf32(a[0:16, 0:4], g[0:16, 0:4], K=4)
                    Sm80_mma_load_b_tf32(b[0:4, 0:8], g[0:4, 0:8], K=4)
                    Sm80_mma_zero_d_tf32(d[0:16, 0:8])
                    Sm80_mma_tf32(d[0:16, 0:8], a[0:16, 0:4], b[0:4, 0:8], K=4)
                    Sm80_mma_store_d_tf32(g[0:16, 0:8], d[0:16, 0:8])
        """
    rows = [[float(i * 8 + j) for j in range(8)] for i in range(16)]
    found = results(text, {"g": array(rows)})["g"]
    wanted = [sum(rows[i][k] * rows[k][j] for k in range(4)) for i in range(16) for j in range(8)]
    assert found == wanted


def test_a_called_proc_changes_what_it_was_given() -> None:
    called = program("def g(n: size, x: i32[n], y: i32):\n    for i in seq(0, n):\n        x[i] += y\n")
    text = "def f(a: i32[2, 3]):\n    g(3, a[1, :], 10)\n    g(2, a[0:2, 1], a[1, 1])\n"
    found = results(text, {"a": array([[0, 1, 2], [3, 4, 5]], int32)}, {"g": called})
    assert found == {"a": [0, 15, 2, 13, 28, 15]}  # the scalar is the element itself, which has changed to 28


# What was never written -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["y = t[1]", "t[1] += 1.0", "y = t[0] + t[1]"])
def test_what_was_never_written_is_not_read(statement: str) -> None:
    text = f"def f(y: f32):\n    t: f32[2]\n    t[0] = 1.0\n    {statement}\n"
    assert rule_of(text, {"y": array(0.0)}) == "seq-uninitialized"
    assert results(text.replace("t[0] = 1.0", "t[0] = 1.0\n    t[1] = 2.0"), {"y": array(0.0)})


def test_the_error_names_element_statement_and_iteration() -> None:
    text = "def f(y: f32):\n    for i in seq(0, 3):\n        t: f32[3]\n        y = t[i]\n"
    with pytest.raises(ProgramError) as caught:
        results(text, {"y": array(0.0)})
    assert (caught.value.rule, caught.value.line) == ("seq-uninitialized", 4)
    assert "t[0]" in str(caught.value)
    assert "i = 0" in str(caught.value)


def test_storage_that_is_used_again_holds_nothing() -> None:
    text = """
        def f(y: f32[2] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for task in cuda_tasks(0, 1):
                    for k in seq(0, 2):
                        s: f32[1] @ CudaSmemLinear
                        for t in cuda_threads(0, 1, unit=cuda_thread):
                            if k == 0:
                                s[0] = 1.0
                            y[k] = s[0]
        """
    assert rule_of(text, {"y": array([0.0, 0.0])}) == "seq-uninitialized"
    assert results(text.replace("k == 0", "k < 2"), {"y": array([0.0, 0.0])}) == {"y": [1.0, 1.0]}


def test_storage_of_another_dtype_covers_what_was_there() -> None:
    text = """
        def f(y: f32[1] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for task in cuda_tasks(0, 1):
                    if True:
                        a: f16[4] @ CudaSmemLinear
                        for t in cuda_threads(0, 4, unit=cuda_thread):
                            a[t] = 1.0
                    b: f32[2] @ CudaSmemLinear
                    for t in cuda_threads(0, 1, unit=cuda_thread):
                        y[0] = b[1]
        """
    assert rule_of(text, {"y": array([0.0])}) == "seq-uninitialized"


def test_an_argument_may_begin_without_values() -> None:
    text = "def f(x: f32[2]):\n    x[0] = 1.0\n"
    empty = Array(float32, (2,), (INVALID, INVALID))
    assert run(program(text), {}, {"x": empty})["x"].elements == (1.0, INVALID)
    assert rule_of("def f(x: f32[2]):\n    x[0] = x[1]\n", {"x": empty}) == "seq-uninitialized"


# Arguments --------------------------------------------------------------------------------------------------------


def test_arguments_fit_their_types() -> None:
    text = "def f(n: size, x: f32[n], y: i8):\n    pass\n"
    good = {"x": array([1.0, 2.0]), "y": array(1, int8)}
    assert results(text, good, n=2) == {"x": [1.0, 2.0], "y": [1]}
    assert rule_of(text, good, n=3) == "seq-argument"
    assert rule_of(text, {**good, "y": array(1, int32)}, n=2) == "seq-argument"
    assert rule_of(text, {**good, "y": array([1], int8)}, n=2) == "seq-argument"
    assert rule_of(text, {"x": good["x"]}, n=2) == "seq-argument"
    assert rule_of(text, {**good, "z": good["y"]}, n=2) == "seq-argument"
    assert rule_of(text, {**good, "n": good["y"]}, n=2) == "seq-argument"


# Algebras ---------------------------------------------------------------------------------------------------------


def test_numbers_are_computed_by_the_scalar_laws() -> None:
    numbers = Numbers()
    below = Computed(Op.CmpLt, (Number(1.0, float64), Number(2.0, float64)), bool_)
    choice = Computed(Op.Where, (below, Number(3, int8), Number(4, int8)), int8)
    assert evaluated(choice, numbers, _nothing) == 3
    tokens = Tokens()
    one, two, three, four = (
        tokens.number(v, d) for v, d in ((1.0, float64), (2.0, float64), (3, int8), (4, int8))
    )
    condition = tokens.compute(Op.CmpLt, float64, [one, two])
    assert evaluated(choice, tokens, _nothing) is tokens.compute(Op.Where, int8, [condition, three, four])
    wide = Converted(Computed(Op.Mul, (Number(300, index), Number(3, index)), index), uint8)
    assert evaluated(wide, numbers, _nothing) == 900 % 256
    assert numbers.add(int8, 127, 1, atomic=False) == numbers.add(int8, 127, 1, atomic=True) == -128


def _nothing(element: object) -> Any:
    raise AssertionError(element)


def test_equal_terms_are_one_token() -> None:
    tokens = Tokens()
    x, y = tokens.unknown("x"), tokens.unknown("y")
    assert x is tokens.unknown("x") is not y
    assert tokens.number(0.0, float32) is tokens.number(0.0, float32)
    assert tokens.number(0.0, float32) is not tokens.number(-0.0, float32)
    assert tokens.number(1, int8) is not tokens.number(1, int32)
    assert tokens.number(math.nan, float32) is tokens.number(-math.nan, float32)
    assert tokens.compute(Op.Add, float32, [x, y]) is tokens.compute(Op.Add, float32, [x, y])
    assert tokens.compute(Op.Add, float32, [x, y]) is not tokens.compute(Op.Add, float32, [y, x])
    assert tokens.compute(Op.Add, float32, [x, y]) is not tokens.compute(Op.Add, float16, [x, y])
    assert tokens.compute(Op.Add, float32, [x, y]) is not tokens.compute(Op.Sub, float32, [x, y])
    assert tokens.convert(x, float32, float16) is not tokens.convert(x, float32, float64)
    assert tokens.convert(x, float32, float16) is not tokens.convert(x, float64, float16)
    assert tokens.number(1, int8) is not tokens.unknown(("number", int8, 1))


def test_the_order_of_atomic_additions_is_no_part_of_a_term() -> None:
    tokens = Tokens()
    old, a, b = (tokens.unknown(name) for name in ("old", "a", "b"))

    def added(*values: ValueToken, atomic: bool = True) -> ValueToken:
        held = old
        for value in values:
            held = tokens.add(float32, held, value, atomic=atomic)
        return held

    assert added(a, b) is added(b, a)
    assert added(a, a, b) is added(a, b, a)
    assert added(a, a, b) is not added(a, b)
    assert added(a) is not added(b)
    assert added(a) is not added(a, atomic=False)
    assert added(a, b, atomic=False) is not added(b, a, atomic=False)
    assert tokens.add(float32, old, a, atomic=False) is tokens.compute(Op.Add, float32, [old, a])
    mixed = tokens.add(float32, added(a, b), a, atomic=False)
    assert mixed is tokens.compute(Op.Add, float32, [added(b, a), a])
    assert tokens.add(float32, mixed, b, atomic=True) is not tokens.add(float32, added(a, b), b, atomic=True)


def test_a_program_over_tokens_says_what_it_computes() -> None:
    text = "def f(x: f32[2]):\n    x[0] += x[1] * 2\n    x[1] = x[0]\n"
    tokens = Tokens()
    found = reduction(
        unfold(program(text), {}), tokens, lambda buffer: [tokens.unknown(str(e)) for e in buffer.elements]
    )
    product = tokens.compute(Op.Mul, float32, [tokens.unknown("x[1]"), tokens.number(2.0, float32)])
    total = tokens.compute(Op.Add, float32, [tokens.unknown("x[0]"), product])
    assert found == {"x": (total, total)}
    assert str(total) != str(product)


def test_atomics_of_a_program_commute() -> None:
    text = """
        def f(g: f32[3] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for task in cuda_tasks(0, 1):
                    for t in cuda_threads(0, 2, unit=cuda_thread):
                        cuda_atomic_add_f32(g[0], g[1 + t])
        """
    tokens = Tokens()
    found: list[Event] = list(unfold(program(text), {}))
    actions = [k for k, event in enumerate(found) if isinstance(event, Action)]
    swapped = list(found)
    swapped[actions[0]], swapped[actions[1]] = found[actions[1]], found[actions[0]]
    one, two = (
        reduction(events, tokens, lambda b: [tokens.unknown(str(e)) for e in b.elements])
        for events in (found, swapped)
    )
    assert one == two


def test_contents_can_be_read_and_written_by_hand() -> None:
    action = next(
        e for e in unfold(program("def f(x: f32[2]):\n    x[0] = x[1]\n"), {}) if isinstance(e, Action)
    )
    (step,) = action.steps
    assert isinstance(step.value, Load)
    contents = Contents(Numbers())
    contents.put(step.value.element, 2.0)
    assert contents.get(step.target) is INVALID
    contents.execute(action)
    assert contents.get(step.target) == 2.0
