"""Padding and cutting are read through: no kernel is made for them, and no copy of what is padded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import soundline as sl
from soundline.impl.executables.building import computed
from soundline.impl.lower.callify import callify
from soundline.impl.lower.rangeify import realized
from soundline.spec.arrays.arrays import Array
from soundline.spec.uop import Op

from .tensor_cases import law

X = np.random.default_rng(1).normal(size=(2, 3, 12, 12)).astype(np.float32)
W = np.random.default_rng(2).normal(size=(4, 3, 3, 3)).astype(np.float32)

PADDED: dict[str, tuple[Callable[[sl.Tensor, sl.Tensor], sl.Tensor], int]] = {
    "convolution": (lambda x, w: x.conv2d(w, padding=1), 1),
    "strided convolution": (lambda x, w: x.conv2d(w, padding=1, stride=2), 1),
    "convolution of what is cheap": (lambda x, w: (x * 2.0 + 1.0).relu().conv2d(w, padding=1), 1),
    "convolution of what is dear": (lambda x, w: x.exp().conv2d(w, padding=1), 2),
    "largest of windows": (lambda x, w: x.max_pool2d(3, stride=2, padding=1), 1),
    "mean of windows": (lambda x, w: x.avg_pool2d(3, stride=2, padding=1), 1),
    "sum of a padded part": (lambda x, w: x.pad([(0, 0), (0, 0), (2, 1), (1, 0)]).sum(3), 1),
    "cut and padded": (
        lambda x, w: x.shrink([(0, 1), (0, 3), (1, 9), (2, 8)]).pad([(0, 0), (0, 0), (1, 1), (0, 2)]) + 1.0,
        1,
    ),
    "one beside the other": (lambda x, w: x.cat(x * 2.0, axis=1) * 3.0, 1),
}


@pytest.mark.parametrize("name", PADDED)
def test_no_value_is_stored_because_it_is_padded(name: str) -> None:
    made, count = PADDED[name]
    x, w = sl.Tensor(X), sl.Tensor(W)
    function = callify([made(x, w).uop])
    found = realized(function)
    assert len(found) == count
    assert all(r.node.op is not Op.Pad for r in found)
    assert all(r.storage.arg.size <= max(X.size, found[-1].storage.arg.size) for r in found)


@pytest.mark.parametrize("name", ["strided convolution", "largest of windows", "cut and padded"])
def test_what_is_padded_keeps_its_value(name: str) -> None:
    made, _ = PADDED[name]
    x, w = sl.Tensor(X[:1, :, :9, :8]), sl.Tensor(W[:1])
    graph = made(x, w).uop
    (value,) = computed([graph])
    assert Array.from_numpy(value) == law(graph)
