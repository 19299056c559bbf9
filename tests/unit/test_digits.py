"""The networks of the digits: each step of training is the law's, and they learn. Images are made up: no package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.spec.arrays.arrays import Array

from ..representative import thorough  # noqa: TID252
from .tensor_cases import law

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> Any:
    """A module of the examples."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))


training = example("digits_training")
cnn, transformer = example("digits_cnn"), example("digits_transformer")
SMALL = {"cnn": lambda: cnn.model((2, 3)), "transformer": lambda: transformer.model(8, 1)}


@pytest.mark.parametrize("name", [thorough("cnn"), "transformer"])
def test_a_step_of_training_is_the_law_s(name: str) -> None:
    """Loss, new parameters and new state: bit for bit the evaluator's; under `fast` near it."""
    model, data = SMALL[name](), training.made_up(4)
    given = [data.images[:1], data.classes[:1], *model.values()]
    lawful = law(sl.Tensor.cat(*(v.flatten() for v in model.step(*map(sl.Tensor, given)))).uop)
    for profile in ("exact", "fast") if name == "cnn" else ("exact",):
        found = sl.compile(model.step, *given, profile=profile)(*given)
        row = np.concatenate([np.asarray(v).reshape(-1) for v in found])
        if profile == "exact":
            assert Array.from_numpy(row) == lawful
        np.testing.assert_allclose(row, lawful.to_numpy(), rtol=1e-4, atol=1e-5)


def test_the_convolutional_network_learns() -> None:
    data, model = training.made_up(), cnn.model((4, 8))
    losses = training.train(model, data, epochs=12, batch=32)
    assert np.mean(losses[-16:]) < 0.2 < 2 < np.mean(losses[:4])
    assert model.accuracy(data.held_images, data.held_classes, "exact") > 0.95


@pytest.mark.thorough
def test_the_transformer_learns() -> None:
    data, model = training.made_up(), transformer.model(8, 1)
    losses = training.train(model, data, epochs=8, batch=32, profile="fast")
    assert np.mean(losses[-16:]) < 0.6 < 1.5 < np.mean(losses[:4])
    assert model.accuracy(data.held_images, data.held_classes, "fast") > 0.9


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        training.digits()
