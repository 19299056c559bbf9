"""The theorem of the chapter on devices: what the devices hold, joined along the axis, is the value (U-35)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from soundline.spec.arrays.arrays import Array
from soundline.spec.devices.evaluation import evaluate_on_devices, needs_others
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import evaluate
from soundline.spec.evaluation.functions import inlined
from soundline.spec.ops.shards import parts
from soundline.spec.uop import UOp, toposort

from .device_programs import programs, sizes

Case = tuple[UOp, dict[int, Array], dict[int, Array]]


def divided(node: UOp) -> tuple[int, ...]:
    """The shape of one part."""
    shape = list(sizes(node))
    if node.axis is not None:
        shape[node.axis] //= parts(node.device)
    return tuple(shape)


@settings(max_examples=250, deadline=None)
@given(programs())
def test_the_devices_hold_the_value(case: Case) -> None:
    node, params, buffers = case
    try:
        value = evaluate(node, params, buffers)
    except EvaluationError as refused:
        rule = refused.rule
        with pytest.raises(EvaluationError) as alike:
            evaluate_on_devices(node, params, buffers)
        assert alike.value.rule == rule
        return
    held = evaluate_on_devices(node, params, buffers)
    assert (held.device, held.axis) == (node.device, node.axis)
    assert held.joined() == value
    assert len(held.shards) == parts(node.device)
    assert all(s.shape == divided(node) for s in held.shards)
    if node.axis is None:
        assert all(s == value for s in held.shards)
    if not any(needs_others(n) for n in toposort(inlined(node))):
        assert held.transfers == ()
