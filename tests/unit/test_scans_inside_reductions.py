"""Running reductions that another loop changes: they keep no register around it, and have the bits of the law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, toposort

CASES: dict[str, Callable[[Tensor], Tensor]] = {
    "summed across": lambda x: x.cumsum(1).sum(0),
    "summed along": lambda x: x.cumsum(1).sum(1),
    "greatest across": lambda x: x.cumsum(0).max(1),
    "from the end": lambda x: x.flip(1).cumsum(1).sum(0),
    "with the sum itself": lambda x: x.cumsum(1).sum(0) + x.sum(0),
    "of products": lambda x: (x.cumsum(1) * x).sum(0),
    "twice": lambda x: x.cumsum(1).cumsum(0).sum(1),
    "times a matrix": lambda x: x.cumsum(0) @ x.T,
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_law_s(name: str) -> None:
    x = np.random.default_rng(5).standard_normal((5, 4)).astype(np.float32)
    graph = CASES[name](Tensor(x)).uop
    held = {n.arg.slot: storage.contents(n) for n in toposort(graph) if n.op is Op.Buffer}
    assert compile(CASES[name], x)(x).tobytes() == evaluate(graph, buffers=held).to_numpy().tobytes()
