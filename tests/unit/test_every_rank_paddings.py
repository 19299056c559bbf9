"""Paddings in reductions: which of them are one test of a position, so that fewer ranks stand for all."""

import pytest

from soundline.spec.dtypes import float32
from soundline.spec.rules.language import Rule, rule, where
from soundline.spec.rules.terms import Axes, Flags, Offset, Shape, Tensor
from soundline.verify.smt.ranks.reductions import axes_of_reductions

TINY = -float("inf")


@rule(dtypes=[float32])
def value_and_mask(x: Tensor, a: Axes, o: Offset, t: Shape):
    return x.pad(o, t, fill=TINY).exp2().sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def value_and_mask_read_elsewhere(x: Tensor, a: Axes, o: Offset, t: Shape, f: Flags):
    return x.pad(o, t, fill=TINY).flip(f).exp2().sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def two_values_of_one_input(x: Tensor, a: Axes, o: Offset, t: Shape):
    return where(x.pad(o, t) < (x * x).pad(o, t), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def two_offsets(x: Tensor, a: Axes, o: Offset, p: Offset, t: Shape):
    return where(x.pad(o, t) < x.pad(p, t), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def two_shapes(x: Tensor, a: Axes, o: Offset, t: Shape, s: Shape):
    return where(x.pad(o, t) < x.pad(o, s).shrink(o, t), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def two_inputs(x: Tensor, y: Tensor, a: Axes, o: Offset, t: Shape):
    return where(x.pad(o, t) < y.pad(o, t), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def at_two_positions(x: Tensor, a: Axes, o: Offset, t: Shape, f: Flags):
    return where(x.pad(o, t) < x.pad(o, t).flip(f), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def of_a_part(x: Tensor, a: Axes, o: Offset, t: Shape, s: Shape):
    return where(x.pad(o, t) < x.shrink(0, s).pad(o, t), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def of_two_sums(x: Tensor, y: Tensor, u: Tensor, v: Tensor, a: Axes, o: Offset, t: Shape):
    return where((x + y).pad(o, t) < (u + v).pad(o, t), 1.0, 2.0).sum(a), x.exp2().sum(a)


@rule(dtypes=[float32])
def one_inside_another(x: Tensor, a: Axes, o: Offset, t: Shape):
    return x.pad(o, t).exp2().pad(o, t).exp2().sum(a), x.exp2().sum(a)


@pytest.mark.parametrize(
    ("stated", "tests"),
    [
        (value_and_mask, 1),
        (value_and_mask_read_elsewhere, 1),
        (two_values_of_one_input, 1),
        (two_offsets, 2),
        (two_shapes, 2),
        (two_inputs, 2),
        (at_two_positions, 2),
        (of_a_part, 2),
        (of_two_sums, 2),
        (one_inside_another, 2),
    ],
    ids=lambda v: v.id if isinstance(v, Rule) else str(v),
)
def test_a_value_and_its_mask_are_padded_by_one_test(stated: Rule, tests: int) -> None:
    """Each test of a position makes three terms of one; the other side is one term more."""
    reads = {"two_offsets": 2, "two_shapes": 2, "at_two_positions": 2, "of_a_part": 2}.get(stated.id, 1)
    pairs = 1 if reads == 2 else 0
    expected = reads * 3**tests + 1 - 1 + pairs
    assert axes_of_reductions(stated, (float32,)).terms == expected
