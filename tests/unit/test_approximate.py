"""The licence approx: e^x in half the operations, within its bound, with the special values that it had."""

from __future__ import annotations

import numpy as np
import pytest

import soundline as sl
from soundline.impl.lower.graphs import approximate


def ulps(found: np.ndarray, exact: np.ndarray) -> float:
    """The greatest distance, in units of the last place of the exact result."""
    with np.errstate(over="ignore"):
        place = np.spacing(np.maximum(exact.astype(np.float32), np.float32(2.0**-149))).astype(np.float64)
    inside = exact < np.finfo(np.float32).max
    return float((np.abs(found - exact) / place)[inside].max())


@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0, 110.0])
def test_the_cheap_power_of_e_stays_within_its_bound(scale: float) -> None:
    x = (np.random.default_rng(int(scale * 10)).uniform(-scale, scale, 100_003)).astype(np.float32)
    fast = sl.compile(lambda a: a.exp(), x, profile="fast")
    assert "0x1.6a21aap-10f" in fast.source
    assert ulps(fast(x), np.exp(x.astype(np.float64))) <= approximate.BOUND


def test_special_values_are_what_they_were() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 88.8, 1e30, -104.0, -1e30, 1e-45] * 7, np.float32)
    found = sl.compile(lambda a: a.exp(), x, profile="fast")(x)
    assert np.array_equal(
        found[:10], np.float32([1, 1, np.inf, 0, np.nan, np.inf, np.inf, 0, 0, 1]), equal_nan=True
    )
    assert found.tobytes() == np.tile(found[:10], 7).tobytes()


def test_nothing_is_approximated_without_the_licence() -> None:
    x = np.ones(40, np.float32)
    assert "0x1.6a21aap-10f" not in sl.compile(lambda a: a.exp(), x).source


@pytest.mark.parametrize("name", ["exp2", "scaled", "double"])
def test_what_only_looks_like_it_is_left_alone(name: str) -> None:
    x = np.ones(40, np.float64 if name == "double" else np.float32)
    ours = {
        "exp2": lambda a: a.exp2(),
        "scaled": lambda a: (a * 1.4427).exp2().maximum(1),
        "double": lambda a: a.exp(),
    }[name]
    assert "0x1.6a21aap-10f" not in sl.compile(ours, x, profile="fast").source


def test_softmax_in_the_fast_profile_sums_to_one() -> None:
    x = np.random.default_rng(4).standard_normal((50, 301)).astype(np.float32) * 10
    fast = sl.compile(lambda a: a.softmax(), x, profile="fast")(x)
    exact = sl.compile(lambda a: a.softmax(), x)(x)
    assert np.allclose(fast.sum(-1), 1, atol=1e-6)
    assert np.allclose(fast, exact, rtol=1e-5, atol=1e-9)
