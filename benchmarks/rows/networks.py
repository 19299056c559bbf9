"""
Rows about networks
===================

A convolution, attention, and one training step of a perceptron and of a transformer block, each with the gradients of
all weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rows.by_peer import all_of, by_soundline
from rows.row import EXACT, FAST, Arrays, Builder, Call, Row, Target, normal

EAGER = (Target(FAST, ("torch",), 1.0),)
RATE = 0.01


def attention_of_torch(torch: Any, q: Any, k: Any, v: Any) -> Any:
    """Attention as people write it; torch has one fused operator for it."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def attention_of_jax(jax: Any, q: Any, k: Any, v: Any) -> Any:
    """The same by JAX."""
    return jax.nn.softmax(q @ k.T * (1.0 / q.shape[-1] ** 0.5), -1) @ v


def attention_of_numpy(q: Any, k: Any, v: Any) -> Any:
    """The same by numpy."""
    scores = q @ k.T * np.float32(1.0 / q.shape[-1] ** 0.5)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


# Training ---------------------------------------------------------------------------------------------------------


def weights_and_batch(shapes: list[tuple[int, ...]], batch: tuple[int, ...]) -> Callable[[], Arrays]:
    """Weights of these shapes, small enough to train, and a batch with its target."""

    def made() -> Arrays:
        draw = np.random.default_rng(0)
        weights = [draw.standard_normal(s, np.float32) * np.float32(s[0] ** -0.5) for s in shapes]
        given = draw.standard_normal(batch, np.float32)
        target = draw.standard_normal((*batch[:-1], shapes[-1][-1]), np.float32)
        return (*weights, given, target)

    return made


def step_of_soundline(loss: Callable[..., Any]) -> Callable[..., Any]:
    """The loss and the weights after one step down the gradient."""

    def step(*given: Any) -> Any:
        weights = given[:-2]
        value = loss(*given)
        slopes = value.gradient(*weights)
        return (value, *(w - s * RATE for w, s in zip(weights, slopes, strict=True)))

    return step


def step_of_torch(loss: Callable[..., Any], *, compiled: bool = False) -> Builder:
    """The same by torch, as a training loop does it: the loss, `backward`, and an update of each weight in place."""

    def build(arrays: Arrays) -> Call:
        import torch

        *start, x, y = (torch.from_numpy(a) for a in arrays)
        weights = [w.clone().requires_grad_() for w in start]
        function = torch.compile(loss) if compiled else loss

        def call() -> Any:
            value = function(*weights, x, y)
            slopes = torch.autograd.grad(value, weights)
            with torch.no_grad():
                return (value.detach(), *(w - s * RATE for w, s in zip(weights, slopes, strict=True)))

        return call

    return build


def step_of_jax(loss: Callable[..., Any]) -> Builder:
    """The same by JAX."""

    def build(arrays: Arrays) -> Call:
        import jax

        placed = [jax.device_put(a) for a in arrays]
        both = jax.value_and_grad(loss, argnums=tuple(range(len(arrays) - 2)))

        def step(*given: Any) -> Any:
            value, slopes = both(*given)
            return (value, *(w - s * RATE for w, s in zip(given[:-2], slopes, strict=True)))

        compiled = jax.jit(step)
        return lambda: jax.block_until_ready(compiled(*placed))

    return build


def steps(
    loss: Callable[..., Any], loss_of_torch: Callable[..., Any], loss_of_jax: Callable[..., Any]
) -> dict[str, Builder]:
    """The candidates of a training step."""
    ours = step_of_soundline(loss)
    return {
        "torch": step_of_torch(loss_of_torch),
        "torch.compile": step_of_torch(loss_of_torch, compiled=True),
        "jax": step_of_jax(loss_of_jax),
        EXACT: by_soundline(ours, "exact"),
        FAST: by_soundline(ours, "fast"),
    }


def perceptron(a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
    """The mean squared error of three layers."""
    apart = (((x @ a).maximum(0.0) @ b).maximum(0.0) @ c) - y
    return (apart * apart).mean()


def perceptron_of_torch(a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
    """The same by torch."""
    apart = (x @ a).relu() @ b
    apart = apart.relu() @ c - y
    return (apart * apart).mean()


def perceptron_of_jax(a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
    """The same by JAX."""
    import jax

    apart = jax.nn.relu(jax.nn.relu(x @ a) @ b) @ c - y
    return (apart * apart).mean()


HEADS, WIDTH, LENGTH = 4, 128, 128


def block(
    norm: Callable[[Any], Any], softmax: Callable[[Any], Any], relu: Callable[[Any], Any]
) -> Callable[..., Any]:
    """The mean squared error of a transformer block over x[length, width]."""

    def loss(q: Any, k: Any, v: Any, o: Any, up: Any, down: Any, x: Any, y: Any) -> Any:
        each = WIDTH // HEADS
        normed = norm(x)
        heads = [softmax_and_mix(normed, q, k, v, h * each, each, softmax) for h in range(HEADS)]
        mixed = x
        for h, head in enumerate(heads):
            mixed = mixed + head @ o[h * each : (h + 1) * each]
        out = mixed + relu(norm(mixed) @ up) @ down
        apart = out - y
        return (apart * apart).mean()

    return loss


def softmax_and_mix(
    x: Any, q: Any, k: Any, v: Any, first: int, each: int, softmax: Callable[[Any], Any]
) -> Any:
    """One head of attention."""
    a, b, c = (x @ w[:, first : first + each] for w in (q, k, v))
    return softmax((a @ b.T) * (each**-0.5)) @ c


def transformer() -> dict[str, Builder]:
    """The candidates of the transformer's training step."""

    def of_torch(*given: Any) -> Any:
        import torch

        return block(
            lambda t: torch.nn.functional.layer_norm(t, (WIDTH,)), lambda t: torch.softmax(t, -1), torch.relu
        )(*given)

    def of_jax(*given: Any) -> Any:
        import jax

        def norm(t: Any) -> Any:
            apart = t - t.mean(-1, keepdims=True)
            return apart * jax.lax.rsqrt((apart * apart).mean(-1, keepdims=True) + 1e-5)

        return block(norm, jax.nn.softmax, jax.nn.relu)(*given)

    ours = block(lambda t: t.layer_norm(-1), lambda t: t.softmax(-1), lambda t: t.maximum(0.0))
    return steps(ours, of_torch, of_jax)


ROWS = (
    Row(
        "conv",
        "conv 3×3 64→64, 56²",
        normal((1, 64, 56, 56), (64, 64, 3, 3)),
        2e-9 * 64 * 64 * 9 * 56**2,
        "GFLOP",
        all_of(
            ours=lambda x, w: x.conv2d(w, padding=1),
            torch=lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=1),
            jax=lambda jax, x, w: jax.lax.conv(x, w, (1, 1), "SAME"),
            tinygrad=lambda Tensor, x, w: x.conv2d(w, padding=1),
        ),
        EAGER,
        threads=(1, 2),
    ),
    Row(
        "attention",
        "attention 1024×64",
        normal((1024, 64), (1024, 64), (1024, 64)),
        4e-9 * 1024 * 1024 * 64,
        "GFLOP",
        all_of(
            ours=lambda q, k, v: q.scaled_dot_product_attention(k, v),
            numpy=attention_of_numpy,
            torch=attention_of_torch,
            jax=attention_of_jax,
            tinygrad=lambda Tensor, q, k, v: q.scaled_dot_product_attention(k, v),
        ),
        EAGER,
        threads=(1, 2),
    ),
    Row(
        "mlp-step",
        "training step, perceptron 784-512-512-10, batch 128",
        weights_and_batch([(784, 512), (512, 512), (512, 10)], (128, 784)),
        6e-9 * 128 * (784 * 512 + 512 * 512 + 512 * 10),
        "GFLOP",
        steps(perceptron, perceptron_of_torch, perceptron_of_jax),
        EAGER,
        threads=(1, 2),
    ),
    Row(
        "transformer-step",
        "training step, transformer block 128×128, 4 heads",
        weights_and_batch([(128, 128)] * 4 + [(128, 512), (512, 128)], (128, 128)),
        6e-9 * 128 * (4 * 128 * 128 + 2 * 128 * 512),
        "GFLOP",
        transformer(),
        EAGER,
        threads=(1, 2),
    ),
)
