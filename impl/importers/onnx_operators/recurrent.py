"""
Recurrent networks
==================

RNN, GRU and LSTM, unrolled over the steps of their sequence. A step of a shorter sequence that has ended keeps its
state and gives zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from soundline.impl.importers.reading.node import Node, Refusal, filled, joined, operator
from soundline.impl.tensors.numerics import special
from soundline.impl.tensors.tensor import Tensor

Activation = Callable[[Tensor], Tensor]

_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": special.logistic,
    "tanh": special.tanh,
    "relu": lambda x: x.relu(),
    "softsign": lambda x: x / (abs(x) + 1.0),
    "softplus": special.softplus,
}


@dataclass(slots=True)
class Weights:
    """What one direction of a network is made of: its matrices as columns for each gate, and its activations."""

    inputs: list[Tensor]
    states: list[Tensor]
    input_biases: list[Tensor]
    state_biases: list[Tensor]
    peepholes: list[Tensor]
    activations: list[Activation]
    limit: float

    def kept(self, x: Tensor) -> Tensor:
        """The argument of an activation, within the limit."""
        return x if math.isinf(self.limit) else x.maximum(-self.limit).minimum(self.limit)

    def gate(self, k: int, x: Tensor, h: Tensor) -> Tensor:
        """x·Wᵀ + h·Rᵀ + both biases."""
        total = x @ self.inputs[k] + h @ self.states[k]
        return total + (self.input_biases[k] + self.state_biases[k])


State = tuple[Tensor, ...]
Cell = Callable[[Weights, Tensor, State], State]


def _parts(x: Tensor, count: int, size: int) -> list[Tensor]:
    return [x.shrink([(k * size, (k + 1) * size), *((0, s) for s in x.shape[1:])]) for k in range(count)]


def _activation(name: str) -> Activation:
    if name.lower() not in _ACTIVATIONS:
        raise Refusal(f"the activation {name!r}")
    return _ACTIVATIONS[name.lower()]


def _weights(node: Node, direction: int, gates: int, defaults: list[str]) -> Weights:
    w, r, b = node[1][direction], node[2][direction], node.get(3)
    size = r.shape[-1]
    both = filled(0.0, (2 * gates * size,), w.dtype) if b is None else b[direction]
    biases = _parts(both, 2 * gates, size)
    names = [n.decode() if isinstance(n, bytes) else str(n) for n in node.attribute("activations") or []]
    count = len(defaults)
    own = names[direction * count : (direction + 1) * count] or defaults
    peep = node.get(7)
    return Weights(
        [p.T for p in _parts(w, gates, size)],
        [p.T for p in _parts(r, gates, size)],
        biases[:gates],
        biases[gates:],
        [] if peep is None else _parts(peep[direction], 3, size),
        [_activation(n) for n in own],
        node.number("clip", math.inf),
    )


def _run(node: Node, gates: int, defaults: list[str], cell: Cell, states: int) -> list[Tensor | None]:
    """The results of a network: all states h, and the last of each state."""
    x, batch_first = node[0], node.flag("layout", False)
    x = x.transpose(0, 1) if batch_first else x
    steps, batch = x.shape[:2]
    size = node.integer("hidden_size", node[2].shape[-1])
    way = node.text("direction", "forward")
    if node.has("activation_alpha") or node.has("activation_beta"):
        raise Refusal("activations with parameters")
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(way)
    if directions is None:
        raise Refusal(f"the direction {way!r} is not supported")
    lengths = node.get(4)
    rows: list[Tensor] = []
    lasts: list[State] = []
    for d, backward in enumerate(directions):
        weights = _weights(node, d, gates, defaults)
        state = tuple(_initial(node.get(5 + k), d, batch_first, (batch, size), x) for k in range(states))
        seen: list[Tensor] = [filled(0.0, (batch, size), x.dtype)] * steps
        for step in reversed(range(steps)) if backward else range(steps):
            made = cell(weights, x[step], state)
            if lengths is not None:
                going = (lengths > step).unsqueeze(1)
                state = tuple(going.where(new, old) for new, old in zip(made, state, strict=True))
                seen[step] = going.where(made[0], 0.0)
            else:
                state = made
                seen[step] = made[0]
        rows.append(joined([s.unsqueeze(0) for s in seen], 0).unsqueeze(1))
        lasts.append(state)
    every = joined(rows, 1)
    ends = [joined([last[k].unsqueeze(0) for last in lasts], 0) for k in range(states)]
    if batch_first:
        return [every.permute(2, 0, 1, 3), *(e.transpose(0, 1) for e in ends)]
    return [every, *ends]


def _initial(
    given: Tensor | None, direction: int, batch_first: bool, shape: tuple[int, int], x: Tensor
) -> Tensor:
    if given is None:
        return filled(0.0, shape, x.dtype)
    return given[:, direction] if batch_first else given[direction]


@operator("RNN")
def rnn(node: Node) -> list[Tensor | None]:
    """h = f(x·Wᵀ + h·Rᵀ + b)."""

    def cell(w: Weights, x: Tensor, state: State) -> State:
        return (w.activations[0](w.kept(w.gate(0, x, state[0]))),)

    return _run(node, 1, ["Tanh"], cell, 1)


@operator("GRU")
def gru(node: Node) -> list[Tensor | None]:
    """h = (1 - z)·n + z·h, with an update gate z, a reset gate r and a new state n."""
    reset_after = node.flag("linear_before_reset", False)

    def cell(w: Weights, x: Tensor, state: State) -> State:
        (h,) = state
        f, g = w.activations
        z, r = (f(w.kept(w.gate(k, x, h))) for k in (0, 1))
        if reset_after:
            inner = r * (h @ w.states[2] + w.state_biases[2])
        else:
            inner = (r * h) @ w.states[2] + w.state_biases[2]
        n = g(w.kept(x @ w.inputs[2] + inner + w.input_biases[2]))
        return ((1.0 - z) * n + z * h,)

    return _run(node, 3, ["Sigmoid", "Tanh"], cell, 1)


@operator("LSTM")
def lstm(node: Node) -> list[Tensor | None]:
    """c = f·c + i·n and h = o·tanh(c), with gates i, o, f; the peepholes let the gates see c."""
    coupled = node.flag("input_forget", False)

    def cell(w: Weights, x: Tensor, state: State) -> State:
        h, c = state
        f, g, last = w.activations
        i, o, forget, n = (w.gate(k, x, h) for k in range(4))
        if w.peepholes:
            i, forget = i + w.peepholes[0] * c, forget + w.peepholes[2] * c
        i = f(w.kept(i))
        forget = 1.0 - i if coupled else f(w.kept(forget))
        c = forget * c + i * g(w.kept(n))
        o = o + w.peepholes[1] * c if w.peepholes else o
        return f(w.kept(o)) * last(c), c

    return _run(node, 4, ["Sigmoid", "Tanh", "Tanh"], cell, 2)
