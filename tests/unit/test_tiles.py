"""Reductions that use elements again: tiles of vectors in registers, packed and blocked, in the order of the law."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c.helpers import Helpers
from soundline.impl.codegen.c.vector_helpers import fill, loose, vector
from soundline.impl.lower.linear.linearize import linearize
from soundline.impl.lower.schedule import heuristics, target, tiles, vectors
from soundline.impl.lower.schedule.target import Target
from soundline.impl.program.compile import lower
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bfloat16, float32, float64, index
from soundline.spec.uop import AxisType, Op, ReduceArg, buffer, const, loop, toposort

from .processors import NARROW, PROCESSORS, WIDE, lower_for
from .test_lowering import check_stages, executed, stored


@pytest.fixture(params=PROCESSORS.values(), ids=list(PROCESSORS))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Programs lowered for one processor after the other; each runs on this one all the same."""
    chosen: Target = request.param
    lower_for(chosen, monkeypatch)
    yield chosen
    lower.cache_clear()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of six rows, everything is far away, and however few rows there are, they are tiled."""
    monkeypatch.setattr(heuristics, "FEW", 0)
    monkeypatch.setattr(tiles, "BLOCK", 6)
    monkeypatch.setattr(tiles, "FAR", 0)
    monkeypatch.setattr(tiles, "ROOM", 0)


def ascending(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product as the law has it: each sum from the first term to the last."""
    total = a[:, :1] * b[:1, :]
    for k in range(1, a.shape[1]):
        total = total + a[:, k : k + 1] * b[k : k + 1, :]
    return total


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


SHAPES = [(1, 7, 70), (6, 1, 64), (13, 5, 131), (500, 3, 9), (7, 40, 4), (481, 2, 65)]


@pytest.mark.parametrize(
    ("m", "k", "n", "dtype"),
    [*((*s, np.float32) for s in SHAPES), *((13, 5, 131, d) for d in (np.float64, np.uint64, np.int32))],
)
@pytest.mark.usefixtures("machine")
def test_a_product_is_the_law_s_bit_for_bit(m: int, k: int, n: int, dtype: type) -> None:
    source = np.random.default_rng(m * n)
    a, b = (source.integers(-9999, 9999, s).astype(dtype) for s in ((m, k), (k, n)))
    if issubclass(dtype, np.floating):
        a, b = a / dtype(7), b / dtype(3)
    assert same_bits(sl.compile(lambda x, y: x @ y, a, b)(a, b), ascending(a, b))


@pytest.mark.usefixtures("small")
def test_blocks_and_packing_change_no_bit(machine: Target) -> None:
    source = np.random.default_rng(machine.vector)
    a, b = (source.standard_normal(s).astype(np.float32) for s in ((39, 17), (17, 150)))
    program = sl.compile(lambda x, y: x @ y, a, b)
    assert same_bits(program(a, b), ascending(a, b))
    assert len(program.kernels) > 1  # what packs comes first


@pytest.mark.usefixtures("machine", "small")
@pytest.mark.parametrize(
    "root",
    [
        stored(9, 5) @ stored(5, 37),
        stored(14, 2) @ stored(2, 19),
        (stored(9, 4) @ stored(4, 37) + stored(37)).relu(),
        stored(2, 7, 3) @ stored(2, 3, 9),
        stored(7, 3, dtype=np.float64) @ stored(3, 20, dtype=np.float64),
        stored(7, 3, dtype=np.int8) @ stored(3, 20, dtype=np.int8),
        stored(7, 3).pad(((1, 0), (0, 2))) @ stored(5, 20),
        stored(7, 3).T.contiguous() @ (stored(7, 20) * 2),
        stored(7, 3).cast(bfloat16) @ stored(3, 20).cast(bfloat16),
    ],
    ids=["tails", "blocks", "epilogue", "batch", "float64", "int8", "padded", "of values", "bfloat16"],
)
def test_every_stage_keeps_the_value_of_tiles(root: Tensor) -> None:
    check_stages([root.uop])


def test_the_sums_of_a_tile_are_vectors_with_names(machine: Target) -> None:
    a, b = np.ones((12, 8), np.float32), np.ones((8, 128), np.float32)
    source = sl.compile(lambda x, y: x @ y, a, b).source
    width = machine.vector // 4
    assert f"f32x{width} acc" in source
    assert source.count(f"f32x{width} acc") == machine.rows * machine.across
    assert "float acc" not in source


def test_what_is_made_of_the_sums_reads_them_side_by_side(machine: Target) -> None:
    a, b = np.ones((12, 8), np.float32), np.ones((8, 128), np.float32)
    source = sl.compile(lambda x, y: (x @ y).sqrt(), a, b).source
    assert re.search(rf"float acc\d+\[{machine.rows * machine.across * machine.vector // 4}\];", source)
    assert f"f32x{machine.vector // 4} acc" in source


def test_a_tile_of_a_dtype_without_vectors_stays_in_loops() -> None:
    a, b = np.ones((12, 8), np.float16), np.ones((8, 128), np.float16)
    program = sl.compile(lambda x, y: x @ y, a, b)
    assert "x16 acc" not in program.source
    assert same_bits(program(a, b), np.full((12, 128), 8, np.float16))


def test_a_product_is_fused_only_where_that_is_licensed() -> None:
    a, b = np.ones((12, 8), np.float32), np.ones((8, 128), np.float32)
    exact, fast = (sl.compile(lambda x, y: x @ y, a, b, profile=p) for p in ("exact", "fast"))
    assert "sl_fma_" not in exact.source
    assert "SL_FMA" not in exact.source
    assert "sl_fma_" in fast.source
    assert not any(n.op is Op.Mulacc for n in toposort(exact.uops))
    assert any(n.op is Op.Mulacc for n in toposort(fast.uops))


@pytest.mark.usefixtures("machine")
def test_whole_numbers_are_exact_however_they_are_fused() -> None:
    source = np.random.default_rng(5)
    a, b = (source.integers(-8, 9, s).astype(np.float32) for s in ((37, 300), (300, 75)))
    assert same_bits(sl.compile(lambda x, y: x @ y, a, b, profile="fast")(a, b), a @ b)


def test_a_fused_product_stays_within_the_bound_of_the_law() -> None:
    source = np.random.default_rng(6)
    a, b = (source.standard_normal(s).astype(np.float32) for s in ((40, 500), (500, 70)))
    found = sl.compile(lambda x, y: x @ y, a, b, profile="fast")(a, b)
    unit = 501 * 2.0**-24
    bound = unit / (1 - unit) * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert np.all(np.abs(found - a.astype(np.float64) @ b.astype(np.float64)) <= bound)


def test_the_sums_of_a_tile_run_in_one_loop(machine: Target) -> None:
    a, b = np.ones((machine.rows, 8), np.float32), np.ones((8, machine.vector), np.float32)
    program = sl.compile(lambda x, y: x @ y, a, b)
    loops = [n for k in program.uops.src for n in k.src if n.op is Op.Range and n.arg.type is AxisType.REDUCE]
    assert len(loops) == 1
    registers = [n for k in program.uops.src for n in k.src if n.op is Op.Buffer]
    assert len(registers) == machine.rows * machine.across


def test_a_reduction_of_another_one_waits_for_it() -> None:
    """Over one Range, a mean and the squares of what differs from it: two loops, one after the other."""
    x, out = buffer(0, 5, float64), buffer(1, 1, float64)
    r = loop(5, 0, AxisType.REDUCE)
    read = Op.Load(Op.Index(x, r))
    mean = Op.Mul(Op.Reduce(read, r, arg=ReduceArg(Op.Add)), const(0.2, float64))
    apart = Op.Sub(read, mean)
    squares = Op.Reduce(Op.Mul(apart, apart), r, arg=ReduceArg(Op.Add))
    beside = Op.Reduce(Op.Mul(read, read), r, arg=ReduceArg(Op.Add))
    store = Op.Store(Op.Index(out, const(0, index)), Op.Add(squares, beside))
    sequence = linearize(Op.Linear(Op.Sink(store)))
    assert sum(n.op is Op.Range for n in sequence.src[0].src) == 2  # the sum and the squares of it share one
    held = {0: np.array([1.0, 2.0, 4.0, 8.0, 16.0])}
    assert executed(sequence, held)[1] == executed(Op.Linear(Op.Sink(store)), held)[1]


@pytest.mark.parametrize(
    ("size", "dtype", "cuts"),
    [(64, float32, [16] * 4), (37, float32, [16, 16, 4, 1]), (15, float64, [8, 4, 2, 1]), (1, float32, [1])],
)
def test_an_axis_is_cut_into_the_widest_vectors(
    size: int, dtype: sl.spec.dtypes.DType, cuts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "this_machine", lambda: WIDE)
    assert list(vectors.widths(size, dtype)) == cuts


@pytest.mark.parametrize(
    ("features", "processor", "expected"),
    [
        ("Linux x86_64 flags : sse2 avx2 avx512f", "x86_64", WIDE),
        ("Linux x86_64 flags : sse2 avx2", "x86_64", Target(32, 16)),
        ("Linux x86_64 flags : sse2", "AMD64", NARROW),
        ("Darwin arm64 ", "arm64", Target(16, 32)),
    ],
)
def test_the_processor_tells_how_wide_its_vectors_are(
    features: str, processor: str, expected: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "machine", lambda: features)
    monkeypatch.setattr(target.platform, "machine", lambda: processor)
    assert target.this_machine.__wrapped__() == expected


@pytest.mark.parametrize(
    ("says", "expected"), [("2048K\n", 1 << 21), ("262144", 1 << 18), ("?", 1 << 20), (None, 1 << 20)]
)
def test_the_system_tells_how_large_the_cache_is(
    says: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "_CACHE", tmp_path / "size")
    if says is not None:
        (tmp_path / "size").write_text(says)
    assert target._cache() == expected


def test_only_the_types_that_are_used_are_declared() -> None:
    use = Helpers()
    for helper in (vector("f32", 16), loose("f32", 16), vector("u32", 4), fill(4)):
        use(helper)
    text = use.text()
    assert "typedef float f32x16 __attribute__((vector_size(64)));" in text
    assert "f32x16u __attribute__((vector_size(64), aligned(4), may_alias))" in text
    assert "typedef uint32_t u32x4 " in text
    assert "#define SL_ALL4(x) {(x), (x), (x), (x)}" in text
    assert text.count("typedef") == 3
    assert "sl_fma" not in text
