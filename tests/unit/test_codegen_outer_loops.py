"""A loop that holds other loops stays scalar: GCC 12 makes wrong vectors of such a loop."""

from __future__ import annotations

import numpy as np
import pytest

from soundline.impl import storage
from soundline.impl.codegen import c
from soundline.impl.compile import compile, computed  # noqa: A004
from soundline.impl.tensor import Tensor
from soundline.spec.arrays import Array
from soundline.spec.dtypes import float32
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, toposort


def masked_share(scores: Tensor, weights: Tensor) -> Tensor:
    """Each weight's share of its row, as a float32; 0 where every score of the row is -inf."""
    nothing = scores.max(-1, keepdim=True) == -np.inf
    return nothing.where(0.0, (weights / weights.sum(-1, keepdim=True)).cast(float32))


@pytest.mark.parametrize("rows", [8, 32])
@pytest.mark.parametrize("columns", [4, 6])
def test_a_sum_that_divides_the_row_it_sums_is_that_row_s(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows * columns)
    scores = Tensor(rng.standard_normal((rows, columns)).astype(np.float32)).contiguous()
    weights = Tensor(rng.random((rows, columns)) + 1.0).contiguous()
    root = masked_share(scores, weights).uop
    held = {n.arg.slot: storage.contents(n) for n in toposort(root) if n.op is Op.Buffer}
    assert Array.from_numpy(computed([root])[0]) == evaluate(root, buffers=held)


def test_only_loops_that_hold_loops_are_kept_scalar() -> None:
    x = np.zeros((32, 6))
    source = compile(masked_share, x.astype(np.float32), x).source
    body = source[source.index("static __attribute__((noinline)) void kernel_0") :]
    innermost = [part.split("}")[0] for part in body.split("for (")[1:]]
    assert len(innermost) == 4
    assert body.count(c.KEPT_SCALAR) == 1
    assert all(c.KEPT_SCALAR not in part for part in innermost)
