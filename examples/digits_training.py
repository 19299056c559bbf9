"""What both networks of the digits share: the data, the optimizers, the loop, the curve, and torch to compare with."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soundline as sl

LOSS_TOLERANCE = 1e-5
"""How far a loss may be from torch's."""
VALUE_TOLERANCE = 5e-5
"""How far a new value may be from torch's, as a share of the greatest of its tensor."""

Arrays = dict[str, np.ndarray]
Tensors = dict[str, sl.Tensor]
Network = Callable[[sl.Tensor, Tensors], sl.Tensor]
Optimizer = Callable[[Sequence[sl.Tensor], Sequence[sl.Tensor], Sequence[sl.Tensor]], list[sl.Tensor]]


# Data -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Digits:
    """Images [N, 8, 8] of numbers from 0 to 1 and their classes, to train on and to hold out."""

    images: np.ndarray
    classes: np.ndarray
    held_images: np.ndarray
    held_classes: np.ndarray

    def batches(self, size: int, epochs: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Batches of one size, in an order that is drawn anew in every epoch; what fills none is left out."""
        random = np.random.default_rng(seed)
        for _ in range(epochs):
            order = random.permutation(len(self.images))
            for start in range(0, len(order) - size + 1, size):
                chosen = order[start : start + size]
                yield self.images[chosen], self.classes[chosen]


def digits() -> Digits:
    """The 1797 handwritten digits of scikit-learn, a fifth of them held out."""
    found = wanted("sklearn.datasets", "scikit-learn").load_digits()
    images = (found.images / 16).astype(np.float32)
    classes = found.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    train, held = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]
    return Digits(images[train], classes[train], images[held], classes[held])


def made_up(count: int = 640, seed: int = 0) -> Digits:
    """Images that need no package: ten patterns under noise."""
    random = np.random.default_rng(seed)
    patterns = random.random((10, 8, 8), np.float32)
    classes = random.integers(0, 10, count)
    images = np.clip(patterns[classes] + 0.1 * random.standard_normal((count, 8, 8)), 0, 1).astype(np.float32)
    train = count * 4 // 5
    return Digits(images[:train], classes[:train], images[train:], classes[train:])


def wanted(module: str, package: str) -> Any:
    """A module of a package that is not installed with soundline."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        sys.exit(f"{error}; try: pip install {package}, or run this with --made-up")


# Optimizers: (parameters, gradients, state) -> new parameters and new state ----------------------------------------


def momentum(rate: float, kept: float = 0.9) -> Optimizer:
    """Stochastic gradient descent with momentum, as torch has it. Its state is a velocity for each parameter."""

    def update(
        parameters: Sequence[sl.Tensor], gradients: Sequence[sl.Tensor], state: Sequence[sl.Tensor]
    ) -> list[sl.Tensor]:
        velocities = [v * kept + g for v, g in zip(state, gradients, strict=True)]
        return [*(p - v * rate for p, v in zip(parameters, velocities, strict=True)), *velocities]

    return update


def adam(rate: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> Optimizer:
    """Adam. Its state are two means for each parameter, and the powers of both betas."""

    def update(
        parameters: Sequence[sl.Tensor], gradients: Sequence[sl.Tensor], state: Sequence[sl.Tensor]
    ) -> list[sl.Tensor]:
        count = len(parameters)
        first = [m * betas[0] + g * (1 - betas[0]) for m, g in zip(state[:count], gradients, strict=True)]
        second = [
            v * betas[1] + g * g * (1 - betas[1])
            for v, g in zip(state[count : 2 * count], gradients, strict=True)
        ]
        powers = [power * beta for power, beta in zip(state[2 * count :], betas, strict=True)]
        new = [
            p - rate * (m / (1 - powers[0])) / ((v / (1 - powers[1])).sqrt() + eps)
            for p, m, v in zip(parameters, first, second, strict=True)
        ]
        return [*new, *first, *second, *powers]

    return update


# Training ---------------------------------------------------------------------------------------------------------


@dataclass
class Model:
    """A network, its parameters, and how they are trained."""

    name: str
    network: Network
    parameters: Arrays
    optimizer: Optimizer
    state: list[np.ndarray]

    def step(self, images: sl.Tensor, classes: sl.Tensor, *values: sl.Tensor) -> list[sl.Tensor]:
        """One step of training as a program: the loss, the new parameters and the new state.

        `values` are the parameters, then the state.
        """
        given = values[: len(self.parameters)]
        loss = self.network(images, dict(zip(self.parameters, given, strict=True))).cross_entropy(classes)
        return [loss, *self.optimizer(given, loss.gradient(*given), values[len(given) :])]

    def values(self) -> list[np.ndarray]:
        """What `step` takes after a batch."""
        return [*self.parameters.values(), *self.state]

    def take(self, values: Sequence[np.ndarray]) -> None:
        """Go on from what `step` gave after the loss."""
        count = len(self.parameters)
        self.parameters = dict(zip(self.parameters, values[:count], strict=True))
        self.state = list(values[count:])

    def accuracy(self, images: np.ndarray, classes: np.ndarray, profile: str) -> float:
        """The share of images whose class is found."""

        def classified(x: sl.Tensor, *given: sl.Tensor) -> sl.Tensor:
            return self.network(x, dict(zip(self.parameters, given, strict=True))).argmax(-1)

        given = list(self.parameters.values())
        found = sl.compile(classified, images, *given, profile=profile)(images, *given)
        return float(np.mean(np.asarray(found) == classes))


Compared = Callable[[Model, np.ndarray, np.ndarray, Sequence[np.ndarray]], None]


def train(
    model: Model,
    data: Digits,
    *,
    epochs: int,
    batch: int = 64,
    seed: int = 1,
    profile: str = "exact",
    compare: Compared | None = None,
) -> list[float]:
    """Train by one compiled program, a call for each batch; the losses. `compare` sees each step before it is taken."""
    losses: list[float] = []
    program = None
    for images, classes in data.batches(batch, epochs, seed):
        if program is None:
            program = sl.compile(model.step, images, classes, *model.values(), profile=profile)
        loss, *values = program(images, classes, *model.values())
        if compare is not None:
            compare(model, images, classes, [loss, *values])
        model.take(values)
        losses.append(float(loss))
    return losses


# Torch ------------------------------------------------------------------------------------------------------------


@dataclass
class Torch:
    """The same network in torch: each of our steps is taken there too, from the same parameters and state."""

    network: Callable[[Any, dict[str, Any]], Any]
    update: Callable[[Any, list[Any], list[Any], list[Any]], list[Any]]
    worst_loss: float = 0.0
    """The greatest difference of losses."""
    worst_value: float = 0.0
    """The greatest difference of a new parameter or of the state, of the greatest magnitude in its tensor."""

    def __post_init__(self) -> None:
        self.torch = wanted("torch", "torch")

    def __call__(
        self, model: Model, images: np.ndarray, classes: np.ndarray, ours: Sequence[np.ndarray]
    ) -> None:
        torch = self.torch
        given = [torch.tensor(v) for v in model.values()]
        parameters = [p.requires_grad_() for p in given[: len(model.parameters)]]
        output = self.network(torch.tensor(images), dict(zip(model.parameters, parameters, strict=True)))
        loss = torch.nn.functional.cross_entropy(output, torch.tensor(classes))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            theirs = self.update(torch, parameters, list(gradients), given[len(parameters) :])
        self.worst_loss = max(self.worst_loss, abs(float(ours[0]) - loss.item()))
        for mine, other in zip(ours[1:], theirs, strict=True):
            apart = float(np.max(np.abs(mine - other.numpy())))
            self.worst_value = max(self.worst_value, apart / float(np.max(np.abs(other.numpy()))))


def torch_momentum(
    rate: float, kept: float = 0.9
) -> Callable[[Any, list[Any], list[Any], list[Any]], list[Any]]:
    """One step of torch.optim.SGD from a given velocity."""

    def update(torch: Any, parameters: list[Any], gradients: list[Any], state: list[Any]) -> list[Any]:
        new = [p.detach().clone().requires_grad_() for p in parameters]
        optimizer = torch.optim.SGD(new, lr=rate, momentum=kept)
        for p, g, v in zip(new, gradients, state, strict=True):
            p.grad = g
            optimizer.state[p]["momentum_buffer"] = v.clone()
        optimizer.step()
        return [*(p.detach() for p in new), *(optimizer.state[p]["momentum_buffer"] for p in new)]

    return update


def torch_adam(rate: float) -> Callable[[Any, list[Any], list[Any], list[Any]], list[Any]]:
    """One step of torch.optim.Adam from given means; the number of steps is read off the power of the first beta."""

    def update(torch: Any, parameters: list[Any], gradients: list[Any], state: list[Any]) -> list[Any]:
        new = [p.detach().clone().requires_grad_() for p in parameters]
        optimizer = torch.optim.Adam(new, lr=rate)
        count = len(new)
        taken = torch.round(torch.log(state[-1].double()) / np.log(0.999)).float()
        for p, g, m, v in zip(new, gradients, state[:count], state[count : 2 * count], strict=True):
            p.grad = g
            optimizer.state[p].update(step=taken.clone(), exp_avg=m.clone(), exp_avg_sq=v.clone())
        optimizer.step()
        means = [optimizer.state[p][name] for name in ("exp_avg", "exp_avg_sq") for p in new]
        return [*(p.detach() for p in new), *means, state[-2] * 0.9, state[-1] * 0.999]

    return update


# Main -------------------------------------------------------------------------------------------------------------


def draw(path: Path, title: str, losses: Sequence[float], per_epoch: int, accuracy: float) -> None:
    """The curve of the losses, each batch and the mean of each epoch, as SVG."""
    matplotlib = wanted("matplotlib", "matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "digits", "font.size": 11})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    steps = np.arange(1, len(losses) + 1)
    axes.plot(steps, losses, color="#9ecae1", linewidth=1, label="each batch")
    means = np.array(losses[: len(losses) // per_epoch * per_epoch]).reshape(-1, per_epoch).mean(axis=1)
    middle = (np.arange(len(means)) + 0.5) * per_epoch
    axes.plot(middle, means, color="#08519c", linewidth=2, marker="o", markersize=4, label="mean of an epoch")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("cross entropy")
    axes.set_title(f"{title}: {100 * accuracy:.1f} % of the held-out digits right")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    path.write_text(
        "\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n", encoding="utf-8"
    )


def main(model: Model, torch: Callable[[], Torch], epochs: int, batch: int = 64) -> None:
    """Train, print the losses and the accuracy; draw the curve and compare with torch where that is asked for."""
    parser = argparse.ArgumentParser(description=model.name)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--profile", choices=("exact", "fast"), default="exact")
    parser.add_argument("--torch", action="store_true", help="take every step in torch too, and compare")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the curve of the losses, as SVG")
    parser.add_argument("--made-up", action="store_true", help="images that need no package")
    chosen = parser.parse_args()
    data = made_up() if chosen.made_up else digits()
    compare = torch() if chosen.torch else None
    losses = train(model, data, epochs=chosen.epochs, batch=batch, profile=chosen.profile, compare=compare)
    per_epoch = len(data.images) // batch
    for epoch in range(chosen.epochs):
        mean = np.mean(losses[epoch * per_epoch : (epoch + 1) * per_epoch])
        print(f"epoch {epoch + 1}: loss {mean:.4f}")
    accuracy = model.accuracy(data.held_images, data.held_classes, chosen.profile)
    print(f"right of {len(data.held_classes)} held-out images: {100 * accuracy:.1f} %")
    if compare is not None:
        print(
            f"against torch, {len(losses)} steps: losses differ by at most {compare.worst_loss:.1e}, "
            f"new values by at most {compare.worst_value:.1e} of the greatest of their tensor"
        )
        if compare.worst_loss > LOSS_TOLERANCE or compare.worst_value > VALUE_TOLERANCE:
            sys.exit(f"further apart than {LOSS_TOLERANCE} and {VALUE_TOLERANCE}")
    if chosen.draw is not None:
        draw(chosen.draw, model.name, losses, per_epoch, accuracy)
