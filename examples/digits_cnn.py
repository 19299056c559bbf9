"""A small convolutional network learns handwritten digits: ``python examples/digits_cnn.py``.

A step of training - forward, loss, gradients, the new parameters - is one function of tensors, traced once and compiled
to one program. ``--torch`` takes every step in torch too and compares, ``--draw FILE`` draws the curve of the losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import soundline as sl

if __package__:
    from . import digits_training as training
else:
    import digits_training as training

RATE = 0.05


def network(images: sl.Tensor, p: training.Tensors) -> sl.Tensor:
    """Two convolutions, each with a maximum over windows, and a linear layer: [N, 8, 8] to [N, 10]."""
    x = images.unsqueeze(1)
    x = x.conv2d(p["first"], p["first_bias"], padding=1).relu().max_pool2d(2)
    x = x.conv2d(p["second"], p["second_bias"], padding=1).relu().max_pool2d(2)
    return x.flatten(1).linear(p["last"], p["last_bias"])


def torch_network(images: Any, p: dict[str, Any]) -> Any:
    """The same in torch."""
    from torch.nn import functional as f

    x = images.unsqueeze(1)
    x = f.max_pool2d(f.relu(f.conv2d(x, p["first"], p["first_bias"], padding=1)), 2)
    x = f.max_pool2d(f.relu(f.conv2d(x, p["second"], p["second_bias"], padding=1)), 2)
    return f.linear(x.flatten(1), p["last"], p["last_bias"])


def parameters(channels: tuple[int, int] = (16, 32), seed: int = 0) -> training.Arrays:
    """Uniform numbers in ±1/√n, n the inputs of an output; biases too, so that no background is exactly 0."""
    random = np.random.default_rng(seed)
    one, two = channels
    shapes = {"first": (one, 1, 3, 3), "second": (two, one, 3, 3), "last": (10, two * 4)}
    found = {}
    for name, shape in shapes.items():
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        found[name] = random.uniform(-bound, bound, shape).astype(np.float32)
        found[f"{name}_bias"] = random.uniform(-bound, bound, shape[:1]).astype(np.float32)
    return found


def model(channels: tuple[int, int] = (16, 32), seed: int = 0) -> training.Model:
    """The network with fresh parameters and no velocity."""
    start = parameters(channels, seed)
    still = [np.zeros_like(p) for p in start.values()]
    return training.Model("A convolutional network", network, start, training.momentum(RATE), still)


if __name__ == "__main__":
    training.main(model(), lambda: training.Torch(torch_network, training.torch_momentum(RATE)), epochs=15)
