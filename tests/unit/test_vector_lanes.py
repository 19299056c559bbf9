"""What is computed alike becomes vectors: every op that has them gives the law's bits, at every width and tail."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.arrays import storage
from soundline.impl.lower.callify import callify
from soundline.impl.lower.schedule import heuristics, rows, transfers
from soundline.impl.lower.schedule.target import Target
from soundline.impl.program.compile import lower
from soundline.impl.tensors.tensor import Tensor
from soundline.impl.toolchain import machine_flags
from soundline.spec.uop import AxisType, Op, toposort

from .processors import PROCESSORS, lower_for
from .test_codegen_c import numbered, sanitized
from .test_lowering import check_stages, stored


@pytest.fixture(params=list(PROCESSORS))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Each kind of processor."""
    found = PROCESSORS[request.param]
    lower_for(found, monkeypatch)
    yield found
    lower.cache_clear()


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, -1.0, 0.5, 1.5, -2.5, 127.5, -149.5]


def floats(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Numbers of every kind, in an order of their own."""
    source = np.random.default_rng(seed)
    found = source.standard_normal(count) * 10.0 ** source.integers(-3, 3, count)
    found[: min(count, 200)] = source.choice(SPECIAL, min(count, 200))
    return found.astype(np.float32)


def whole(count: int, seed: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Whole numbers of every size, the ends among them."""
    kind = np.iinfo(dtype)
    found = np.random.default_rng(seed).integers(kind.min, kind.max, count, dtype, endpoint=True)
    found[::7], found[3::11] = kind.min, kind.max
    found[5::13] = 0
    return found


Binary = Callable[[Any, Any], Any]
OF_FLOATS: dict[str, tuple[Binary, Binary]] = {
    "sum": (lambda a, b: a + b, lambda a, b: a + b),
    "difference": (lambda a, b: a - b, lambda a, b: a - b),
    "product": (lambda a, b: a * b, lambda a, b: a * b),
    "quotient": (lambda a, b: a / b, lambda a, b: a / b),
    "negative": (lambda a, b: -a * b, lambda a, b: -a * b),
    "less": (lambda a, b: (a < b).where(a, b), lambda a, b: np.where(a < b, a, b)),
    "more or equal": (lambda a, b: (a >= b).where(a, b), lambda a, b: np.where(a >= b, a, b)),
    "unequal": (lambda a, b: (a != b).where(a, 2.0), lambda a, b: np.where(a != b, a, np.float32(2))),
    "both": (
        lambda a, b: ((a < b) & (b < 1.0)).where(a, b),
        lambda a, b: np.where((a < b) & (b < 1), a, b),
    ),
    "not": (lambda a, b: (~(a < b)).where(a, b), lambda a, b: np.where(~(a < b), a, b)),
}
OF_WHOLE: dict[str, tuple[Binary, Binary]] = {
    "sum": (lambda a, b: a + b, lambda a, b: a + b),
    "product": (lambda a, b: a * b, lambda a, b: a * b),
    "negative": (lambda a, b: -a - b, lambda a, b: -a - b),
    "maximum": (lambda a, b: a.maximum(b), np.maximum),
    "less": (lambda a, b: (a < b).where(a, b), lambda a, b: np.where(a < b, a, b)),
    "and": (lambda a, b: a & b, lambda a, b: a & b),
    "or, exclusively": (lambda a, b: (a | b) ^ 5, lambda a, b: (a | b) ^ 5),
    "shifts": (lambda a, b: (a >> 3) + (b << 2), lambda a, b: (a >> 3) + (b << 2)),
}


def same(a: Any, b: Any) -> bool:
    """Bit for bit, every NaN one."""
    nan = a != a
    return bool(np.array_equal(nan, b != b) and a[~nan].tobytes() == b[~nan].tobytes())


@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats_in_vectors_are_those_of_the_law(machine: Target, name: str) -> None:
    ours, theirs = OF_FLOATS[name]
    a, b = floats(1003, 1), floats(1003, 2)
    program = sl.compile(ours, a, b)
    assert f"f32x{machine.vector // 4}" in program.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert same(program(a, b), theirs(a, b))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name", OF_WHOLE)
def test_whole_numbers_in_vectors_wrap_and_compare_as_the_law_s(name: str, dtype: Any) -> None:
    ours, theirs = OF_WHOLE[name]
    a, b = whole(517, 1, dtype), whole(517, 2, dtype)
    program = sl.compile(ours, a, b)
    if (name, np.dtype(dtype).itemsize) != ("shifts", 4):  # those are divisions by the rules
        assert re.search(r"u(32|64)x\d+ ", program.source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(program(a, b), theirs(a, b))


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_the_greatest_is_found_among_zeros_and_nan(profile: str) -> None:
    numbers = np.array([-0.0, -3.0, -0.0, -1.0] * 60, np.float32)
    found = sl.compile(lambda x: x.reshape(2, 120).max(1), numbers, profile=profile)
    assert same(found(numbers), np.float32([-0.0, -0.0]))
    numbers[133] = 0.0
    assert same(found(numbers), np.float32([-0.0, 0.0]))
    numbers[7] = np.nan
    assert same(found(numbers), np.float32([np.nan, 0.0]))


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("count", [1, 15, 16, 17, 63, 64, 65, 79, 127, 130, 300])
def test_tails_of_any_length_are_computed(count: int) -> None:
    x = floats(count, count) % 100
    assert same(sl.compile(lambda a: (a * 2 - 1).exp2(), x)(x), np.float32(by_law(x * 2 - 1)))


def by_law(x: np.ndarray[Any, Any]) -> list[float]:
    """2^x one by one, in programs too short for vectors."""
    one = sl.compile(lambda a: a.exp2(), np.ones(1, np.float32))
    return [float(one(x[k : k + 1])[0]) for k in range(len(x))]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    "root",
    [
        stored(37) * 2 + stored(37),
        (stored(3, 70) > 1).where(stored(3, 70), -stored(3, 70)),
        stored(140).max(),
        (stored(2, 150) - stored(2, 150).max(1, keepdim=True)) * 3,
        (stored(4, 20).permute(1, 0) + 1).contiguous(),
        stored(40, dtype=np.int32) << 3,
    ],
    ids=["tail", "chosen", "greatest", "by rows", "moved", "shifted"],
)
def test_every_stage_keeps_the_value_of_vectors(root: Tensor) -> None:
    check_stages([root.uop])


def test_what_has_no_vectors_stays_in_loops() -> None:
    x = np.ones(200, np.float32)
    for ours in (lambda a: a.log2(), lambda a: a.cast(sl.spec.dtypes.int8), lambda a: a.flip(0)):
        assert "f32x16 v" not in sl.compile(ours, x).source


def test_sums_in_a_free_order_go_through_memory_once_in_vectors(machine: Target) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (6, 1024)).astype(np.float32)
    program = sl.compile(lambda a: a.sum(1), x, profile="fast")
    (kernel,) = program.kernels
    reduced = [n for n in toposort(kernel) if n.op is Op.Range and n.arg.type is AxisType.REDUCE]
    assert [int(r.src[0].arg.value) for r in reduced] == [1024 // heuristics.LONE_LANES]
    fits = heuristics.LONE_LANES * 4 // machine.vector < machine.registers
    assert (f"f32x{machine.vector // 4} acc" in program.source) is fits
    assert np.array_equal(program(x), x.sum(1))
    steps = np.ones((4, 3, 5, 7), np.int32).cumsum(1, dtype=np.int32)
    assert np.array_equal(sl.compile(lambda a: a.max((0, 2)), steps)(steps), steps.max((0, 2)))


# past the caches --------------------------------------------------------------------------------------------------


@pytest.fixture
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result is large."""
    monkeypatch.setattr(transfers, "LARGE", 0)
    lower.cache_clear()


@pytest.mark.usefixtures("machine", "small_caches")
@pytest.mark.parametrize("columns", [64, 80, 77])
def test_what_goes_past_the_caches_arrives(columns: int) -> None:
    x = floats(40 * columns, columns).reshape(40, columns)
    program = sl.compile(lambda a: (a * 3, a - a.max(-1, keepdim=True)), x)
    assert program.source.count("sfence") >= 1
    tripled, apart = program(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert same(tripled, x * 3)
        assert same(apart, x - x.max(-1, keepdims=True))


@pytest.mark.usefixtures("small_caches")
def test_what_is_read_again_stays_in_the_caches() -> None:
    x = np.ones((64, 64), np.float32)
    program = sl.compile(lambda a: (a + 1).contiguous().transpose(0, 1) @ a, x)
    stored_past = re.findall(r"sl_stream_\w+\((\w+) \+", program.source)
    assert set(stored_past) <= {"b1"}
    twice = sl.compile(lambda a: ((a + 1).contiguous(), (a + 1).contiguous() @ a), x)
    assert "sl_stream_f32x16(b1 " not in twice.source


def test_small_results_stay_in_the_caches() -> None:
    x = np.ones(1000, np.float32)
    source = sl.compile(lambda a: a + 1, x).source
    assert "sl_stream" not in source
    assert "sfence" not in source


def test_the_next_row_is_fetched_where_a_row_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LEAST", 1)
    for columns, fetched in ((256, True), (64, False), (50_000, False)):
        x = np.ones((8, columns), np.float32)
        source = sl.compile(lambda a: a - a.max(-1, keepdim=True), x).source
        assert ("SL_FETCH(b0" in source) is fetched, columns
    assert "SL_FETCH" not in sl.compile(lambda a: a * 2, np.ones((8, 256), np.float32)).source


@pytest.mark.usefixtures("small_caches")
@pytest.mark.parametrize("profile", ["exact", "fast"])
@pytest.mark.parametrize("columns", [256, 301])
def test_rows_vectors_and_streams_do_nothing_undefined(profile: str, columns: int, tmp_path: Path) -> None:
    x = Tensor(floats(5 * columns, columns).reshape(5, columns))
    function = callify([x.softmax().uop, (x * 2 + 1).uop])
    source = lower(numbered(function), profile).source
    assert "sl_stream_" in source
    outputs = [np.zeros(5 * columns, np.float32) for _ in range(2)]
    arrays = [storage.contents(function.src[1]), *outputs, np.zeros(1 << 14, np.uint8)]
    done = sanitized(source, arrays, tmp_path, *machine_flags())
    assert (done.returncode, done.stderr) == (0, "")
