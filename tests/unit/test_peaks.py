"""The kernels that measure the machine: what they compute and move, and where the numbers are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soundline.impl.codegen.c.renderer import render
from soundline.impl.inspect import peaks
from soundline.impl.inspect.peaks import Peaks
from soundline.impl.lower.linear.counts import work_of
from soundline.impl.runtime import cache, cpu
from soundline.impl.runtime.commands import CommandBuffer
from soundline.spec.dtypes import bfloat16, float32, float64, to_numpy
from soundline.spec.uop import Op

GIVEN = Peaks(
    1, {"float32": 100.0, "float64": 50.0}, {"float32": 60.0, "float64": 55.0}, ((64, 8.0), (512, 2.0))
)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "ENOUGH", 1)
    monkeypatch.setattr(peaks, "REPEATS", 1)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_the_kernels_do_as_much_as_is_said(cores: int) -> None:
    for name, (kernel, count) in peaks.programs(cores).items():
        work = work_of(kernel)
        if name.startswith("read"):
            again = max(1, peaks.READ // int(name[5:]))
            assert work.read * again == count, name
            assert work.read <= int(name[5:])
        else:
            assert work.operations == count, name


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("fused", [True, False])
def test_sums_in_registers_are_really_computed(cores: int, dtype: object, fused: bool) -> None:
    assert dtype in (float32, float64)
    kernel = peaks.registers(dtype, cores, fused=fused)  # type: ignore[arg-type]
    (command,) = cpu.build(render(Op.Linear(kernel))).commands
    out = np.zeros(peaks._CELLS // 8, to_numpy(dtype))  # type: ignore[arg-type]
    given = np.array([1.0, 1.0], to_numpy(dtype))  # type: ignore[arg-type]
    CommandBuffer([command], [], [np.zeros(1, np.float32), given, out], []).measured([])
    width, several = peaks._shape(dtype)  # type: ignore[arg-type]
    wanted = np.repeat(np.arange(several) + peaks.STEPS, width)  # each adds 1 so often to its own number
    for core in range(cores):
        np.testing.assert_array_equal(out[core * several * width : (core + 1) * several * width], wanted)


@pytest.mark.parametrize("cores", [1, 2])
def test_every_element_is_read(cores: int) -> None:
    size = 1 << 15
    (command,) = cpu.build(render(Op.Linear(peaks.reading(size, cores)))).commands
    array, out = np.ones(size // 4, np.float32), np.zeros(peaks._CELLS, np.float32)
    CommandBuffer([command], [], [array, np.zeros(2, np.float32), out], []).measured([])
    width, several = peaks._shape(float32)
    started = cores * width * sum(range(several))
    count = (size // 4 // cores // (several * width)) * several * width * cores
    assert out.sum() == started + count * (peaks.READ // size)


def test_measured_peaks_are_kept_and_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(peaks, "SIZES", (1 << 14, 1 << 15))
    monkeypatch.setattr(peaks, "measured", lambda cores: GIVEN)
    assert peaks.of_this_machine(1) == GIVEN
    monkeypatch.setattr(peaks, "measured", lambda cores: pytest.fail("it was measured before"))
    assert peaks.of_this_machine(1) == GIVEN
    (kept,) = tmp_path.glob("peaks-*.json")
    text = kept.read_text()
    other = Peaks(1, {"float32": 1.0}, {"float32": 1.0}, ((64, 1.0),))
    monkeypatch.setattr(peaks, "measured", lambda cores: other)
    for damaged in ("{", text[: len(text) // 2], text.replace("100", "900")):
        kept.write_text(damaged)
        assert peaks.of_this_machine(1) == other, damaged
        kept.write_text(text)
    assert peaks.of_this_machine(1) == GIVEN
    assert peaks.of_this_machine(1, again=True) == other
    assert cache.clear() == 1
    assert not list(tmp_path.glob("peaks-*"))


def test_a_folder_that_cannot_be_written_costs_another_measurement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    monkeypatch.setattr(peaks, "measured", lambda cores: GIVEN)
    assert peaks.of_this_machine(1) == GIVEN


def test_the_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    found = peaks.measured(1, sizes=(1 << 14, 1 << 16))
    rates = [*found.fused.values(), *found.apart.values(), *(rate for _, rate in found.reads)]
    assert len(rates) == 6
    assert min(rates) > 0
    assert [size for size, _ in found.reads] == [1 << 14, 1 << 16]


def test_several_cores_can_do_no_less_than_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    busy = Peaks(
        2, {"float32": 90.0, "float64": 70.0}, {"float32": 1.0, "float64": 90.0}, ((64, 9.0), (512, 1.0))
    )
    monkeypatch.setattr(peaks, "measured", lambda cores: GIVEN if cores == 1 else busy)
    found = peaks.of_this_machine(2)
    assert found == Peaks(
        2, {"float32": 100.0, "float64": 70.0}, {"float32": 60.0, "float64": 90.0}, ((64, 9.0), (512, 2.0))
    )
    assert peaks.of_this_machine(2) == found


def test_a_peak_is_that_of_the_dtype_and_of_the_size() -> None:
    assert GIVEN.operations(float32) == 100
    assert GIVEN.operations(float64) == 55
    assert GIVEN.operations(bfloat16) == 100
    assert [GIVEN.bandwidth(n) for n in (1, 64, 65, 512, 10**9)] == [8, 8, 2, 2, 2]
