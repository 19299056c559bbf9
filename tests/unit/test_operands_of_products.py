"""Products: their operands are computed once, and what their lanes read from places apart is packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.rangeify import realized
from soundline.impl.program.program import Program
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, toposort

from .processors import WIDE, lower_for

WHY = "it is computed, and reductions use each element again and again"


@pytest.fixture(autouse=True)
def one_processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Schedules for one processor, whatever this one is."""
    lower_for(WIDE, monkeypatch)
    yield
    lower.cache_clear()


def compiled(f: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[Program, list[np.ndarray]]:
    """A program, and arguments for it."""
    draw = np.random.default_rng(3)
    arrays = [draw.standard_normal(s).astype(np.float32) for s in shapes]
    return sl.compile(f, *arrays), arrays


def stored_operands(program: Program) -> list[Op]:
    """What is stored because a product uses it again and again."""
    return [r.node.op for r in realized(program.stages["callify"]) if r.why == WHY]


def in_order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A product, reduced as the law reduces it."""
    wanted = np.full((a.shape[0], b.shape[1]), -0.0, np.float32)
    for k in range(a.shape[1]):
        wanted = wanted + a[:, k, None] * b[None, k]
    return wanted


# Operands ---------------------------------------------------------------------------------------------------------


def test_what_a_product_uses_again_is_computed_once() -> None:
    program, (x, a, b) = compiled(lambda x, a, b: (x @ a).maximum(0.0) @ b, (20, 24), (24, 18), (18, 17))
    assert len(stored_operands(program)) == 1
    assert not any(n.op is Op.Max for n in toposort(program.stages["rangeify"].src[-1]))
    wanted = in_order(np.maximum(in_order(x, a), np.float32(0)), b)
    assert program(x, a, b).tobytes() == wanted.tobytes()


def test_so_are_both_operands() -> None:
    program, (a, b) = compiled(lambda a, b: (a * 3.0) @ (b + 1.0), (20, 24), (24, 18))
    assert len(stored_operands(program)) == 2
    wanted = in_order(a * np.float32(3), b + np.float32(1))
    assert program(a, b).tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        pytest.param(lambda a, b: (a * 3.0) @ b, ((20, 24), (24, 7)), id="few uses"),
        pytest.param(lambda a, b: (a * b).sum(1), ((20, 24), (20, 24)), id="one use"),
        pytest.param(lambda a, b: a @ b, ((20, 24), (24, 18)), id="nothing is computed"),
        pytest.param(lambda a, b: a.T @ b, ((24, 20), (24, 18)), id="it is only moved"),
        pytest.param(lambda a, b: (a * 3.0).cumsum(1) + b, ((20, 24), (20, 24)), id="a running sum"),
    ],
)
def test_what_is_not_used_again_is_not_stored(
    f: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]
) -> None:
    program, arrays = compiled(f, *shapes)
    assert stored_operands(program) == []
    program(*arrays)


def test_a_choice_by_position_stays_one() -> None:
    def f(table: Any, ids: Any) -> Any:
        return (ids.reshape(40, 1) == sl.Tensor.arange(30).reshape(1, 30)).where(1.0, 0.0) @ table

    table = np.random.default_rng(0).standard_normal((30, 20)).astype(np.float32)
    program = sl.compile(f, table, np.arange(40, dtype=np.int32) % 30)
    assert stored_operands(program) == []


# Packing ----------------------------------------------------------------------------------------------------------


def by_rows(a: Any, b: Any) -> Any:
    """The product of one matrix with another one transposed, which is not copied before."""
    return (a.reshape(a.shape[0], 1, a.shape[1]) * b.reshape(1, *b.shape)).sum(2)


def packs(program: Program) -> int:
    return sum(step.op == "Pack" for s in program.schedules for step in s.steps)


@pytest.mark.parametrize(("rows", "columns", "reduced"), [(20, 70, 33), (16, 16, 5), (33, 130, 1)])
def test_a_product_with_a_transposed_matrix_goes_by_packed_tiles(
    rows: int, columns: int, reduced: int
) -> None:
    program, (a, b) = compiled(by_rows, (rows, reduced), (columns, reduced))
    assert reduced == 1 or packs(program)
    assert program(a, b).tobytes() == in_order(a, b.T.copy()).tobytes()


def test_both_may_be_transposed() -> None:
    program, (a, b) = compiled(lambda a, b: by_rows(a.T, b), (21, 34), (19, 21))
    assert packs(program)
    assert program(a, b).tobytes() == in_order(a.T.copy(), b.T.copy()).tobytes()


def test_the_result_may_be_transposed() -> None:
    program, (a, b) = compiled(lambda a, b: (a @ b).T.contiguous(), (34, 21), (21, 19))
    assert program(a, b).tobytes() == in_order(a, b).T.tobytes()


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        pytest.param(by_rows, ((8, 40), (40, 40)), id="few rows"),
        pytest.param(by_rows, ((40, 40), (8, 40)), id="few columns"),
        pytest.param(lambda a, b: a @ b, ((40, 40), (40, 40)), id="side by side"),
        pytest.param(lambda a, b: (a * b).sum(1), ((40, 40), (40, 40)), id="nothing is used again"),
    ],
)
def test_where_it_does_not_pay_nothing_is_packed(
    f: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]
) -> None:
    program, _ = compiled(f, *shapes)
    assert packs(program) == 0


# Together ---------------------------------------------------------------------------------------------------------


def test_a_step_of_training_is_the_same_bit_for_bit() -> None:
    def loss(a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
        apart = ((x @ a).maximum(0.0) @ b).maximum(0.0) @ c - y
        return (apart * apart).mean()

    def step(*given: Any) -> Any:
        value = loss(*given)
        return (value, *(w - s * 0.125 for w, s in zip(given[:3], value.gradient(*given[:3]), strict=True)))

    program, arrays = compiled(step, (18, 20), (20, 17), (17, 16), (24, 18), (24, 16))
    assert stored_operands(program)
    assert packs(program)
    function = program.stages["callify"]
    held = {n.arg.slot: a.reshape(-1) for n, a in zip(function.src[1:], arrays, strict=True)}
    for k, got in enumerate(program(*arrays)):
        wanted = evaluate(Op.GetTuple(function, arg=k), buffers=held)
        assert got.tobytes() == np.array(wanted.elements, np.float32).tobytes()
