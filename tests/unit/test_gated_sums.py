"""Sums of gated products: the zeros that gates leave are added apart, signs and all, and gates become masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c import masks
from soundline.impl.codegen.c.helpers import Helpers
from soundline.impl.codegen.c.vector_helpers import vector
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.reductions import gated_sums
from soundline.impl.lower.schedule.target import Target
from soundline.impl.program.program import Program
from soundline.spec.uop import AxisType, Op, toposort

from .processors import PROCESSORS, WIDE, lower_for


@pytest.fixture(params=list(PROCESSORS))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Each kind of processor."""
    found = PROCESSORS[request.param]
    lower_for(found, monkeypatch)
    yield found
    lower.cache_clear()


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One processor, whatever this one is."""
    lower_for(WIDE, monkeypatch)
    yield
    lower.cache_clear()


def gate_of_rows(z: Any, g: Any, w: Any) -> Any:
    """A product g @ w in which z closes elements of g."""
    (m, k), n = g.shape, w.shape[1]
    term = g.reshape(m, k, 1) * w.reshape(1, k, n)
    return (z.reshape(m, k, 1) < 0.0).where(0.0, term).sum(1)


def gate_of_lanes(z: Any, x: Any, g: Any) -> Any:
    """A product x.T @ g in which z closes elements of g; the gate chooses the product."""
    (k, m), n = x.shape, g.shape[1]
    term = x.reshape(k, m, 1) * g.reshape(k, 1, n)
    return (z.reshape(k, 1, n) >= 0.0).where(term, 0.0).sum(0)


CASES = {
    "rows": (gate_of_rows, ((21, 9), (21, 9), (9, 131))),
    "lanes": (gate_of_lanes, ((9, 83), (9, 129), (9, 83))),
    "few": (gate_of_rows, ((3, 5), (3, 5), (5, 18))),
}


def law(f: Any, z: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum as the law reduces it."""
    with np.errstate(all="ignore"):
        if f is gate_of_rows:
            terms = np.where(z[:, :, None] < 0, np.float32(0), a[:, :, None] * b[None])
            terms = np.moveaxis(terms, 1, 0)
        else:
            terms = np.where(z[:, None] >= 0, a[:, :, None] * b[:, None], np.float32(0))
        total = terms[0]
        for term in terms[1:]:
            total = total + term
    return total


def whole_numbers(case: str) -> list[np.ndarray]:
    """Arguments whose sums are exact in any order: what is left to tell is NaN, ∞, and the signs of zeros."""
    draw = np.random.default_rng(5)
    _, shapes = CASES[case]
    z, a, b = (draw.integers(-2, 3, s).astype(np.float32) for s in shapes)
    if CASES[case][0] is gate_of_rows:
        a[1:3], z[1], z[2] = -0.0, 1, [-1, *(1 for _ in z[2, 1:])]
    else:
        a[:, 1], z[:, 2], z[:, 3] = -0.0, 1, [-1, *(1 for _ in z[1:, 3])]
    b[:, 2:4] = np.abs(b[:, 2:4])  # with -0.0 all products are -0.0, one of which a gate may replace
    b[-1, 7:10] = [np.inf, np.nan, np.nan]
    if CASES[case][0] is gate_of_lanes:
        z[-1, 7:10] = [1, 1, -1]
    return [z, a, b]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays are equal, zeros with their signs."""
    numbers = ~np.isnan(b)
    return bool(np.array_equal(np.isnan(a), ~numbers) and (a.view("u4") == b.view("u4"))[numbers].all())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_the_sum_is_the_laws_with_the_signs_of_its_zeros(case: str, profile: str, machine: Target) -> None:
    f, _ = CASES[case]
    given = whole_numbers(case)
    wanted = law(f, *given)
    assert (np.signbit(wanted) & (wanted == 0)).any()
    assert np.isnan(wanted).any()
    assert same(np.asarray(sl.compile(f, *given, profile=profile)(*given)), wanted)


def fused(program: Program) -> int:
    """How many steps add a product where a gate is open."""
    steps = [n for k in program.stages["linearize"].src for n in k.src if n.op is Op.Where]
    return sum(any(s.op is Op.Mulacc for s in n.src) for n in steps)


@pytest.mark.parametrize("case", ["rows", "lanes"])
def test_a_step_is_one_instruction_under_the_licences(case: str, wide: None) -> None:
    f, _ = CASES[case]
    given = whole_numbers(case)
    fast, exact = (sl.compile(f, *given, profile=p) for p in ("fast", "exact"))
    assert fused(fast)
    assert not fused(exact)
    before = [
        k
        for k in fast.stages["optimize"].src
        if any(n.op is Op.Reduce and n.arg.op is Op.Max for n in toposort(k))
    ]
    assert len(before) == 1
    assert len(exact.stages["optimize"].src) < len(fast.stages["optimize"].src)


def test_a_gate_as_large_as_the_product_stays(wide: None) -> None:
    def f(z: Any, a: Any, b: Any) -> Any:
        return (z < 0.0).where(0.0, a * b).sum(1)

    draw = np.random.default_rng(1)
    given = [draw.standard_normal((40, 30)).astype(np.float32) for _ in range(3)]
    program = sl.compile(f, *given, profile="fast")
    assert not fused(program)
    np.testing.assert_allclose(
        program(*given), np.where(given[0] < 0, 0, given[1] * given[2]).sum(1), 1e-5, 1e-5
    )


def test_zeros_of_the_other_sign_are_seen(wide: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above can fail: with the sums of zeros left out it does."""
    made = gated_sums._signs

    def wrong(*given: Any) -> Any:
        nest, load = made(*given)
        return nest, Op.Mul(load, load)

    f, _ = CASES["rows"]
    given = whole_numbers("rows")
    monkeypatch.setattr(gated_sums, "_signs", wrong)
    lower.cache_clear()
    assert not same(np.asarray(sl.compile(f, *given, profile="fast")(*given)), law(f, *given))


def test_a_factor_that_its_gate_chooses_is_chosen_once() -> None:
    p = np.array([True, False])
    x, z = np.array([2.0, 3.0], np.float32), np.array([np.inf, np.inf], np.float32)
    program = sl.compile(lambda p, x, z: p.where(p.where(x, 0.0) * z, 0.0), p, x, z)
    assert any("where_mul_chosen" in str(r) for r in program.certificate.rules)
    assert np.asarray(program(p, x, z)).tolist() == [np.inf, 0.0]


@pytest.mark.parametrize(
    ("f", "shapes", "higher"),
    [
        pytest.param(gate_of_lanes, ((128, 512), (128, 512), (128, 512)), True, id="gates of lanes"),
        pytest.param(gate_of_rows, ((512, 128), (512, 128), (128, 512)), False, id="gates of rows"),
    ],
)
def test_a_tile_asks_few_gates(f: Any, shapes: tuple[tuple[int, int], ...], higher: bool, wide: None) -> None:
    given = [np.ones(s, np.float32) for s in shapes]
    program = sl.compile(f, *given, profile="fast")
    upcast = [
        s.arg[0] for s in program.schedules[-1].steps if s.op == "Split" and s.arg[1] is AxisType.UPCAST
    ]
    lanes, rows = upcast[:2]
    assert lanes % 16 == 0
    assert rows > 1
    assert (rows > WIDE.rows) == higher
    assert (lanes < 16 * WIDE.across) == higher


def test_bools_in_lanes_have_a_type_of_their_own() -> None:
    use = Helpers()
    use(masks.comparison(Op.CmpLt, "f32", 16))
    use(masks.every(32, 4))
    text = use.text()
    assert "typedef uint16_t m32x16;" in text
    assert "typedef u32x16 m32x16;" in text
    assert "typedef u32x4 m32x4;" in text
    assert "uint16_t m32x4" not in text
    plain = Helpers()
    plain(vector("f32", 16))
    assert "m32" not in plain.text()
