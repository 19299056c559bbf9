"""
Control flow
============

What is known when the model is read is unrolled: a condition chooses its branch, a loop of a known number of steps is
repeated, a scan runs over the slices of its inputs.
"""

from __future__ import annotations

from soundline.impl.importers.reading.node import Node, Refusal, joined, operator, value_of
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, int64

LIMIT = 4096
"""A loop of more steps is refused."""


@operator("If")
def if_(node: Node) -> list[Tensor]:
    """One of two graphs, by a known condition."""
    chosen = "then_branch" if bool(node.value(0).reshape(())) else "else_branch"
    node.ignore("then_branch", "else_branch")
    return node.run(node.attribute(chosen), [])


@operator("Loop")
def loop(node: Node) -> list[Tensor]:
    """A graph repeated while a known condition holds, at most a known number of times."""
    count = None if node.get(0) is None else int(node.value(0).reshape(()))
    going = True if node.get(1) is None else bool(node.value(1).reshape(()))
    carried = [node[k] for k in range(2, len(node))]
    body = node.attribute("body")
    rows: list[list[Tensor]] = [[] for _ in body.output[1 + len(carried) :]]
    step = 0
    while going and (count is None or step < count):
        if step >= LIMIT:
            raise Refusal(f"a loop of more than {LIMIT} steps")
        condition, *made = node.run(body, [Tensor(step, int64), Tensor(True, bool_), *carried])
        carried, outputs = made[: len(carried)], made[len(carried) :]
        for row, output in zip(rows, outputs, strict=True):
            row.append(output)
        going = bool(value_of(condition).reshape(()))
        step += 1
    if not step and rows:
        raise Refusal("a loop with no iterations has no elements to stack")
    return [*carried, *(_stacked(row, 0) for row in rows)]


def _stacked(row: list[Tensor], axis: int) -> Tensor:
    return joined([x.unsqueeze(axis) for x in row], axis)


@operator("Scan")
def scan(node: Node) -> list[Tensor]:
    """A graph run over the slices of its last inputs, with a state."""
    if node.opset < 9:
        return _scan_in_batches(node)
    inputs = node.integer("num_scan_inputs")
    values = node.all()
    states, sequences = values[: len(values) - inputs], values[len(values) - inputs :]
    axes = node.integers("scan_input_axes") or [0] * inputs
    backward = node.integers("scan_input_directions") or [0] * inputs
    return _scanned(node, states, sequences, axes, backward)


def _scanned(
    node: Node, states: list[Tensor], sequences: list[Tensor], axes: list[int], backward: list[int]
) -> list[Tensor]:
    body = node.attribute("body")
    outputs = len(body.output) - len(states)
    out_axes = node.integers("scan_output_axes") or [0] * outputs
    out_backward = node.integers("scan_output_directions") or [0] * outputs
    steps = sequences[0].shape[axes[0]]
    rows: list[list[Tensor]] = [[] for _ in range(outputs)]
    for step in range(steps):
        slices = [
            _slice(x, a, steps - 1 - step if b else step)
            for x, a, b in zip(sequences, axes, backward, strict=True)
        ]
        made = node.run(body, [*states, *slices])
        states = made[: len(states)]
        for row, output in zip(rows, made[len(states) :], strict=True):
            row.append(output)
    found = []
    for row, axis, back in zip(rows, out_axes, out_backward, strict=True):
        ordered = row[::-1] if back else row
        found.append(_stacked(ordered, axis % (row[0].ndim + 1)))
    return [*states, *found]


def _scan_in_batches(node: Node) -> list[Tensor]:
    """The older form: every input has a batch axis first, and a first operand says how long each sequence is."""
    if node.get(0) is not None:
        raise Refusal("sequences of different lengths")
    inputs = node.integer("num_scan_inputs")
    values = [node[k] for k in range(1, len(node))]
    states, sequences = values[: len(values) - inputs], values[len(values) - inputs :]
    backward = node.integers("directions") or [0] * inputs
    batches = []
    for k in range(sequences[0].shape[0]):
        own = [_slice(x, 0, k) for x in states]
        rows = [_slice(x, 0, k) for x in sequences]
        batches.append(_scanned(node, own, rows, [0] * inputs, backward))
    return [_stacked([b[k] for b in batches], 0) for k in range(len(batches[0]))]


def _slice(x: Tensor, axis: int, place: int) -> Tensor:
    axis %= x.ndim
    return x.shrink([(place, place + 1) if k == axis else (0, s) for k, s in enumerate(x.shape)]).squeeze(
        axis
    )
