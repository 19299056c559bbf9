"""Operations and bytes of kernels, told from their UOps, against what a hand computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import arithmetic
from soundline.impl.lower.linear.counts import touched, work_of
from soundline.spec.dtypes import float32, float64
from soundline.spec.uop import Op, buffer, loop

from .processors import MIDDLE, lower_for

F4 = 4
"""Bytes of a float32."""


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_for(MIDDLE, monkeypatch)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def total(function: Callable[..., Any], *examples: Any, profile: str = "exact") -> tuple[int, int, int]:
    works = [work_of(k) for k in sl.compile(function, *examples, profile=profile).stages["plan"].src]
    return tuple(sum(getattr(w, n) for w in works) for n in ("operations", "read", "written"))  # type: ignore[return-value]


@pytest.mark.parametrize("profile", ["exact", "fast"])
@pytest.mark.parametrize(
    ("m", "k", "n", "lanes"), [(1, 1, 1, 1), (13, 40, 70, 72), (7, 3, 5, 8), (24, 16, 32, 32)]
)
def test_a_product_of_matrices(m: int, k: int, n: int, lanes: int, profile: str) -> None:
    """The last vector overlaps the one before: its lanes are computed, and count, twice."""
    found = total(lambda a, b: a @ b, ones(m, k), ones(k, n), profile=profile)
    reductions = 2 if k > 1 else 1  # one term is multiplied, and added to nothing
    assert found == (reductions * m * k * lanes, F4 * (m * k + k * n), F4 * m * n)


def test_a_packed_operand_is_moved_once_more() -> None:
    made = sl.compile(lambda a, b: a @ b, ones(300, 300), ones(300, 300))
    works = [work_of(k) for k in made.stages["plan"].src]
    size, overlapping = F4 * 300**2, F4 * 300 * 304  # the last vectors overlap the ones before
    packing = [w for w in works if not w.operations]
    assert size <= sum(w.written for w in packing) <= sum(w.read for w in packing) <= overlapping
    parts = [w for w in works if w.operations]
    assert sum(w.operations for w in parts) == 2 * 300 * 300 * 304
    assert sum(w.written for w in parts) == overlapping
    assert all(w.written < w.read <= 2 * size for w in parts)


def test_what_is_fused_is_read_and_written_once() -> None:
    assert total(lambda a, b, c: a * b + c, *[ones(1000)] * 3) == (2000, 3 * 4000, 4000)


def test_moving_is_no_operation() -> None:
    assert total(lambda a: a.transpose(), ones(64, 48)) == (0, 64 * 48 * F4, 64 * 48 * F4)


def test_only_what_is_taken_is_read() -> None:
    assert total(lambda a: a[::2, 3:5] + 1, ones(64, 8)) == (64, 64 * F4, 64 * F4)
    table, indices = ones(4096), np.zeros(100, np.int32)
    assert total(lambda t, i: t[i], table, indices) == (0, 100 * F4 + 100 * F4, 100 * F4)
    assert total(lambda t, i: t[i], ones(8), indices) == (0, 8 * F4 + 100 * F4, 100 * F4)


def test_a_pad_reads_no_more_than_there_is() -> None:
    assert total(lambda a: a.pad(((1, 2), (3, 4))), ones(5, 6)) == (0, 5 * 6 * F4, 8 * 13 * F4)


def test_a_sum_adds_every_element() -> None:
    for size in (1, 7, 64, 1000):
        operations, read, written = total(lambda a: a.sum(), ones(size))
        assert size - 1 <= operations <= size + 64  # a register that is set to the identity takes one more
        assert (read, written) == (size * F4, F4)


def test_operations_are_told_by_dtype() -> None:
    program = sl.compile(lambda a, b: a * 2 + b, np.ones(10), np.ones(10, np.int32))
    (work,) = [work_of(k) for k in program.stages["plan"].src]
    assert work.flops == {float64: 20}
    (work,) = [work_of(k) for k in sl.compile(lambda a: a * 2 + 1, np.ones(9, np.int32)).stages["plan"].src]
    assert work.flops == {}


def test_what_selection_puts_in_the_place_of_an_op_counts() -> None:
    operations, *_ = total(lambda a: a.exp2(), ones(100))
    assert operations > 100 * 10
    assert operations % 100 == 0


def test_elements_are_counted_once_where_accesses_overlap() -> None:
    storage, i, k = buffer(0, 100, float32), loop(10, 0), loop(5, 1)
    row = arithmetic.add(arithmetic.mul(i, arithmetic.number(4)), k)  # 0 … 40, some of them twice
    assert touched(storage, [row]) == 41
    assert touched(storage, [i, arithmetic.add(i, arithmetic.number(5))]) == 15
    assert touched(storage, [i, arithmetic.add(i, arithmetic.number(50))]) == 20
    assert touched(storage, [arithmetic.mul(i, arithmetic.number(10))]) == 10
    assert touched(storage, [arithmetic.number(3), arithmetic.number(3)]) == 1
    assert touched(storage, [arithmetic.mul(i, arithmetic.number(1000))]) <= 10
    assert touched(storage, []) == 0


def test_registers_are_no_memory() -> None:
    register = buffer(3, 1, float32, addrspace="REG")
    cell = Op.Index(register, arithmetic.number(0))
    i = loop(8, 0)
    load = Op.Load(Op.Index(buffer(0, 8, float32), i))
    store = Op.Store(cell, load)
    work = work_of(Op.Linear(i, load, store, Op.End(store, i)))
    assert (work.read, work.written, work.operations) == (32, 0, 0)
