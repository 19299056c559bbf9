"""What reads along one axis and writes along another goes by blocks, of which each is transposed in registers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c import transpositions
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.schedule.target import Target

from .processors import PROCESSORS, lower_for


@pytest.fixture(params=list(PROCESSORS))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Each kind of processor."""
    found = PROCESSORS[request.param]
    lower_for(found, monkeypatch)
    yield found
    lower.cache_clear()


def by_rows(a: Any, b: Any) -> Any:
    """The product of one matrix with another one transposed."""
    return (a.reshape(a.shape[0], 1, a.shape[1]) * b.reshape(1, *b.shape)).sum(2)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.int32, np.float64, np.uint64], ids=lambda d: np.dtype(d).name
)
def test_a_transposed_copy_moves_every_element(dtype: type, machine: Target) -> None:
    a = np.arange(64 * 96).reshape(64, 96).astype(dtype)
    program = sl.compile(lambda a: a.T.contiguous(), a)
    assert "sl_transpose_" in program.source
    assert np.asarray(program(a)).tobytes() == a.T.tobytes()


def test_nan_keeps_its_bits(machine: Target) -> None:
    a = np.full((64, 64), 0x7FC12345, np.uint32).view(np.float32)
    assert np.asarray(sl.compile(lambda a: a.T.contiguous(), a)(a)).tobytes() == a.tobytes()


@pytest.mark.parametrize("shape", [(70, 45), (16, 17), (5, 96)], ids=str)
def test_what_fills_no_block_goes_by_elements(shape: tuple[int, int], machine: Target) -> None:
    a = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    assert np.asarray(sl.compile(lambda a: a.T.contiguous(), a)(a)).tobytes() == a.T.tobytes()


@pytest.mark.parametrize("other", ["bool", "int16"])
def test_other_widths_go_by_elements(other: str, machine: Target) -> None:
    a = (np.arange(64 * 64).reshape(64, 64) % 3).astype(other)
    program = sl.compile(lambda a: a.T.contiguous(), a)
    assert "sl_transpose_" not in program.source
    assert np.asarray(program(a)).tobytes() == a.T.tobytes()


@pytest.mark.parametrize("reduced", [64, 80, 37])
def test_what_lanes_read_apart_is_packed_by_blocks(reduced: int, machine: Target) -> None:
    draw = np.random.default_rng(2)
    a, b = (draw.integers(-4, 5, (n, reduced)).astype(np.float32) for n in (18, 128))
    program = sl.compile(by_rows, a, b)
    assert ("sl_transpose_" in program.source) == (reduced % 16 == 0)
    assert np.asarray(program(a, b)).tolist() == (a @ b.T).tolist()


def test_a_block_of_wrong_halves_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_for(PROCESSORS["narrow"], monkeypatch)
    block = transpositions._block
    monkeypatch.setattr(
        transpositions, "_block", lambda t, width: block(t, width).replace("0, 4, 2, 6", "0, 5, 2, 6")
    )
    transpositions.transposing.cache_clear()
    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    assert np.asarray(sl.compile(lambda a: a.T.contiguous(), a)(a)).tobytes() != a.T.tobytes()
    lower.cache_clear()
    transpositions.transposing.cache_clear()
