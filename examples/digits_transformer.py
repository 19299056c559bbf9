"""A small transformer learns handwritten digits: ``python examples/digits_transformer.py``.

The eight rows of an image are its tokens. A step of training - forward, loss, gradients, Adam - is one function of
tensors, compiled to one program. ``--torch`` takes every step in torch too and compares, ``--draw FILE``
draws the curve of the losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import soundline as sl

if __package__:
    from . import digits_training as training
else:
    import digits_training as training

RATE = 3e-3
HEADS = 4


def network(images: sl.Tensor, p: training.Tensors) -> sl.Tensor:
    """Rows as tokens, blocks of attention and of two linear layers, the mean of the tokens: [N, 8, 8] to [N, 10]."""
    x = images.linear(p["embed"]) + p["place"]
    n, tokens, width = x.shape
    for b in range(blocks_of(p)):
        y = x.layer_norm(-1, p[f"{b}.norm1"], p[f"{b}.norm1_bias"]).linear(p[f"{b}.qkv"])
        y = y.reshape(n, tokens, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        y = y[0].scaled_dot_product_attention(y[1], y[2]).transpose(1, 2).reshape(n, tokens, width)
        x = x + y.linear(p[f"{b}.mix"])
        y = x.layer_norm(-1, p[f"{b}.norm2"], p[f"{b}.norm2_bias"])
        x = x + y.linear(p[f"{b}.up"], p[f"{b}.up_bias"]).gelu().linear(p[f"{b}.down"], p[f"{b}.down_bias"])
    return x.layer_norm(-1, p["norm"], p["norm_bias"]).mean(1).linear(p["last"], p["last_bias"])


def torch_network(images: Any, p: dict[str, Any]) -> Any:
    """The same in torch."""
    from torch.nn import functional as f

    x = f.linear(images, p["embed"]) + p["place"]
    n, tokens, width = x.shape
    for b in range(blocks_of(p)):
        y = f.layer_norm(x, (width,), p[f"{b}.norm1"], p[f"{b}.norm1_bias"])
        y = f.linear(y, p[f"{b}.qkv"]).reshape(n, tokens, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        y = f.scaled_dot_product_attention(y[0], y[1], y[2]).transpose(1, 2).reshape(n, tokens, width)
        x = x + f.linear(y, p[f"{b}.mix"])
        y = f.layer_norm(x, (width,), p[f"{b}.norm2"], p[f"{b}.norm2_bias"])
        y = f.gelu(f.linear(y, p[f"{b}.up"], p[f"{b}.up_bias"]))
        x = x + f.linear(y, p[f"{b}.down"], p[f"{b}.down_bias"])
    x = f.layer_norm(x, (width,), p["norm"], p["norm_bias"])
    return f.linear(x.mean(1), p["last"], p["last_bias"])


def blocks_of(p: dict[str, Any]) -> int:
    """How many blocks the parameters are for."""
    return sum(name.endswith(".qkv") for name in p)


def parameters(width: int = 32, blocks: int = 2, seed: int = 0) -> training.Arrays:
    """Weights uniform in ±1/√n, n the inputs of an output; norms of 1, biases of 0."""
    random = np.random.default_rng(seed)

    def weight(outputs: int, inputs: int) -> np.ndarray:
        bound = 1 / np.sqrt(inputs)
        return random.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)

    def norm(name: str) -> training.Arrays:
        return {name: np.ones(width, np.float32), f"{name}_bias": np.zeros(width, np.float32)}

    found = {"embed": weight(width, 8), "place": 0.1 * random.standard_normal((8, width), np.float32)}
    for b in range(blocks):
        found |= norm(f"{b}.norm1")
        found |= {f"{b}.qkv": weight(3 * width, width), f"{b}.mix": weight(width, width)}
        found |= norm(f"{b}.norm2")
        found |= {f"{b}.up": weight(2 * width, width), f"{b}.up_bias": np.zeros(2 * width, np.float32)}
        found |= {f"{b}.down": weight(width, 2 * width), f"{b}.down_bias": np.zeros(width, np.float32)}
    return found | norm("norm") | {"last": weight(10, width), "last_bias": np.zeros(10, np.float32)}


def model(width: int = 32, blocks: int = 2, seed: int = 0) -> training.Model:
    """The network with fresh parameters, before its first step."""
    start = parameters(width, blocks, seed)
    means = [np.zeros_like(p) for _ in range(2) for p in start.values()]
    powers = [np.ones((), np.float32), np.ones((), np.float32)]
    return training.Model("A transformer", network, start, training.adam(RATE), [*means, *powers])


if __name__ == "__main__":
    training.main(model(), lambda: training.Torch(torch_network, training.torch_adam(RATE)), epochs=25)
