"""
Rows about arrays
=================

Products, elementwise arithmetic, sums, rows of softmax and layernorm, running sums, and gathering.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rows.by_peer import all_of, by_numpy, by_onednn_product
from rows.row import BEAM, EXACT, FAST, OPENBLAS_512, Arrays, Row, Target, normal

M16 = 1 << 24
SIDE = 4096


def product(n: int) -> Row:
    """A matrix product."""
    large = n == 4096
    candidates = all_of(
        ours=lambda a, b: a @ b,
        numpy=lambda a, b: a @ b,
        torch=lambda torch, a, b: a @ b,
        torch_out=lambda torch, out, a, b: torch.mm(a, b, out=out),
        jax=lambda jax, a, b: a @ b,
        tinygrad=lambda Tensor, a, b: a @ b,
    )
    candidates[OPENBLAS_512] = by_numpy(lambda a, b: a @ b)
    candidates["oneDNN"] = by_onednn_product
    return Row(
        f"gemm-{n}",
        f"gemm {n}",
        normal((n, n), (n, n)),
        2e-9 * n**3,
        "GFLOP",
        candidates,
        (
            Target(FAST, (OPENBLAS_512,), 0.90 if large else 0.95),
            Target(EXACT, (OPENBLAS_512,), 0.80 if large else 0.85),
            Target(FAST, ("numpy",), 1.7),
            Target(FAST, ("tinygrad",), 8.0),
            Target(FAST, ("numpy",), 1.5, threads=2),
            Target(EXACT, ("numpy",), 1.4, threads=2),
        ),
        threads=(1, 2),
    )


def against(least: float, *peers: str, only: tuple[str, ...] = (FAST, EXACT)) -> tuple[Target, ...]:
    """The same ratio for both profiles."""
    return tuple(Target(candidate, peers, least) for candidate in only)


EVERY = ("numpy", "torch", "torch out=", "torch.compile", "jax", "tinygrad", BEAM)


def _fused_out(torch: Any, out: Any, a: Any, b: Any, c: Any) -> Any:
    return torch.addcmul(c, a, b, out=out)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layernorm(x: Any) -> Any:
    apart = x - x.mean(-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(-1, keepdims=True) + np.float32(1e-5))


def _layernorm_jax(jax: Any, x: Any) -> Any:
    apart = x - x.mean(-1, keepdims=True)
    return apart * jax.lax.rsqrt((apart * apart).mean(-1, keepdims=True) + 1e-5)


def _table_and_places() -> Arrays:
    draw = np.random.default_rng(0)
    return draw.standard_normal(4096, np.float32), draw.integers(0, 4096, 1 << 20, np.int32)


def _one_hot(table: Any, places: Any) -> Any:
    """The source's gather: the one-hot mask, as numbers, times the table, summed."""
    count = table.shape[0]
    mask = (table.__class__.arange(count).reshape(count, 1) == places.reshape(1, -1)).cast(table.dtype)
    return (table.reshape(count, 1) * mask).sum(0)


def _chosen(table: Any, places: Any) -> Any:
    """The same by a mask that selects, so that an infinite element of the table is one like all others."""
    count = table.shape[0]
    mask = table.__class__.arange(count).reshape(count, 1) == places.reshape(1, -1)
    return mask.where(table.reshape(count, 1), 0.0).sum(0)


ROWS = (
    *(product(n) for n in (512, 1024, 2048, 4096)),
    Row(
        "fused",
        "a · b + c, 16M",
        normal((M16,), (M16,), (M16,)),
        16e-9 * M16,
        "GB",
        all_of(
            ours=lambda a, b, c: a * b + c,
            numpy=lambda a, b, c: a * b + c,
            torch=lambda torch, a, b, c: a * b + c,
            torch_out=_fused_out,
            jax=lambda jax, a, b, c: a * b + c,
            tinygrad=lambda Tensor, a, b, c: a * b + c,
        ),
        against(1.2, *EVERY),
        threads=(1, 2),
    ),
    Row(
        "sum",
        "sum, 16M",
        normal((M16,)),
        4e-9 * M16,
        "GB",
        all_of(
            ours=lambda x: x.sum(),
            numpy=lambda x: x.sum(),
            torch=lambda torch, x: x.sum(),
            jax=lambda jax, x: x.sum(),
            tinygrad=lambda Tensor, x: x.sum(),
        ),
        against(1.0, *EVERY),
        tolerance=1e-2,
        threads=(1, 2),
    ),
    Row(
        "softmax",
        "softmax 4096²",
        normal((SIDE, SIDE)),
        8e-9 * SIDE**2,
        "GB",
        all_of(
            ours=lambda x: x.softmax(-1),
            numpy=_softmax,
            torch=lambda torch, x: torch.softmax(x, -1),
            torch_out=lambda torch, out, x: torch.softmax(x, -1, out=out),
            jax=lambda jax, x: jax.nn.softmax(x, -1),
            tinygrad=lambda Tensor, x: x.softmax(-1),
        ),
        (
            Target(FAST, ("numpy",), 5.0),
            Target(FAST, ("torch out=",), 1.5),
            Target(FAST, ("tinygrad",), 10.0),
        ),
        threads=(1, 2),
    ),
    Row(
        "layernorm",
        "layernorm 4096²",
        normal((SIDE, SIDE)),
        8e-9 * SIDE**2,
        "GB",
        all_of(
            ours=lambda x: x.layer_norm(-1),
            numpy=_layernorm,
            torch=lambda torch, x: torch.nn.functional.layer_norm(x, (SIDE,)),
            jax=_layernorm_jax,
            tinygrad=lambda Tensor, x: x.layernorm(-1),
        ),
        (Target(FAST, ("numpy",), 5.0), Target(FAST, ("torch",), 4.0)),
        threads=(1, 2),
    ),
    Row(
        "cumsum",
        "cumsum 4096²",
        normal((SIDE, SIDE)),
        8e-9 * SIDE**2,
        "GB",
        all_of(
            ours=lambda x: x.cumsum(1),
            numpy=lambda x: np.cumsum(x, 1),
            torch=lambda torch, x: torch.cumsum(x, 1),
            torch_out=lambda torch, out, x: torch.cumsum(x, 1, out=out),
            jax=lambda jax, x: jax.numpy.cumsum(x, 1),
            tinygrad=lambda Tensor, x: x.cumsum(1),
        ),
        against(4.0, "numpy"),
        threads=(1, 2),
    ),
    Row(
        "gather",
        "one-hot gather as the source writes it, 1M of 4096",
        _table_and_places,
        8e-9 * (1 << 20),
        "GB",
        all_of(
            ours=_one_hot,
            numpy=lambda table, places: table[places],
            torch=lambda torch, table, places: table[places],
            jax=lambda jax, table, places: table[places],
            tinygrad=lambda Tensor, table, places: table[places],
        ),
        against(1.0, "numpy"),
    ),
    Row(
        "gather-selected",
        "one-hot gather by a mask that selects, 1M of 4096",
        _table_and_places,
        8e-9 * (1 << 20),
        "GB",
        all_of(
            ours=_chosen,
            numpy=lambda table, places: table[places],
            torch=lambda torch, table, places: table[places],
            jax=lambda jax, table, places: table[places],
            tinygrad=lambda Tensor, table, places: table[places],
        ),
        against(1.0, "numpy"),
    ),
)
