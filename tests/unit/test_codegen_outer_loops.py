"""How kernels stand in the text: a loop that holds loops stays scalar, and small kernels need not be apart."""

from __future__ import annotations

import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.codegen.c import renderer
from soundline.impl.executables.building import computed
from soundline.impl.program.compile import compile, lower  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
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
    body = source[source.index("void kernel_0(") :]
    innermost = [part.split("}")[0] for part in body.split("for (")[1:]]
    assert len(innermost) == 4
    assert body.count(renderer.KEPT_SCALAR) == 1
    assert all(renderer.KEPT_SCALAR not in part for part in innermost)


def test_small_kernels_may_be_compiled_where_they_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(64, dtype=np.float32)

    def several(a: Tensor) -> tuple[Tensor, ...]:
        return a * 2, (a + 1).reshape(8, 8).sum(0), a.cumsum(0), a.reshape(8, 8) @ a.reshape(8, 8)

    found = []
    for most in (-1, renderer.SMALL, 10_000):
        monkeypatch.setattr(renderer, "SMALL", most)
        lower.cache_clear()
        program = compile(several, x)
        kernels = program.source.count("void kernel_")
        found.append((program.source.count(renderer.APART), kernels, [r.tobytes() for r in program(x)]))
    (most, every, values), (some, _, same), (least, _, too) = found
    assert least <= some < most == every
    assert values == same == too


def test_a_kernel_with_storage_of_its_own_is_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack that it needs is no concern of the others."""
    monkeypatch.setattr(renderer, "SMALL", 10_000)
    lower.cache_clear()
    x = np.ones((64, 64), np.float32)
    source = compile(lambda a: (a * 2, a.softmax(-1)), x, profile="fast").source
    for text in source.split("\nstatic ")[1:]:
        body = text[: text.index("\n}")]
        if "void kernel_" in body:
            assert body.startswith(renderer.APART) == ("_Alignas(64)" in body)
    assert renderer.APART in source
    assert "\nstatic void kernel_" in source
