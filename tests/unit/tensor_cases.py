"""What the tests of Tensor share: several values by one program, compared with numpy and the law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.executables.building import computed
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.errors import UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, toposort


def law(root: UOp) -> Array:
    """The value of a graph over stored values, by the evaluator."""
    held = {n.arg.slot: storage.contents(n) for n in toposort(root) if n.op is Op.Buffer}
    return evaluate(root, buffers=held)


def all_same(pairs: dict[str, tuple[Tensor, Any]], ulps: float = 0.0, signs: bool = True) -> None:
    """Tensors that equal what numpy gave, in shape and dtype too, and the evaluator bit for bit.

    Without `signs` a zero may have another sign than numpy's, whose sums begin with +0.
    """
    values = computed([found.uop for found, _ in pairs.values()])
    for (name, (found, expected)), value in zip(pairs.items(), values, strict=True):
        wanted = np.asarray(expected)
        assert value.shape == wanted.shape == found.shape, name
        assert Array.from_numpy(value) == law(found.uop), f"{name} is not the law's"
        if ulps:
            scale = np.spacing(np.maximum(abs(wanted), np.finfo(value.dtype).tiny).astype(value.dtype))
            assert (abs(value.astype(np.float64) - wanted) <= ulps * scale.astype(np.float64)).all(), name
        else:
            assert value.dtype == wanted.dtype, name
            np.testing.assert_array_equal(value, wanted, err_msg=name)
            numbers = ~np.isnan(wanted) if wanted.dtype.kind == "f" else np.zeros(wanted.shape, bool)
            assert not signs or (np.signbit(value[numbers]) == np.signbit(wanted[numbers])).all(), name


def refused(name: str, call: Callable[[], Any]) -> None:
    """A `UsageError` that names the function, what was expected and what was given."""
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.where == name
    assert "expected" in str(caught.value)
