"""Rules at every rank whose variables stand in several orders, are invariant, numbered, indexed or stacked."""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

import pytest

from soundline.spec.rules.instances import shape_dtypes
from soundline.spec.rules.language import Rule
from soundline.spec.rules.ranks import rank_classes
from soundline.verify import (
    Axes,
    BinaryOp,
    Flags,
    Offset,
    Perm,
    Shape,
    Tensor,
    Value,
    compose,
    float32,
    given,
    index,
    int32,
    inverse,
    product,
    rule,
    stack,
)
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.instances import Court
from soundline.verify.smt.ranks.every_rank import NotShown, Plan, plan
from soundline.verify.smt.ranks.leading_axes import Leading
from soundline.verify.verdicts.verdict import LayerResult


def only(stated: Rule) -> LayerResult:
    (layer,) = prove(stated).layers
    return layer


def planned(stated: Rule) -> Plan:
    return plan(stated, stated.dtypes or shape_dtypes(stated), Court(Budget()))


def shown_at_every_rank(*rules: Rule) -> None:
    for stated in rules:
        found = only(stated)
        assert found.verdict == "proved", (stated.id, found)
        assert found.covered.startswith("every rank"), stated.id
        assert ", all sizes" in found.covered, stated.id


def refuted(*rules: Rule) -> None:
    for stated in rules:
        assert only(stated).verdict == "refuted", stated.id


# Variables in several orders --------------------------------------------------------------------------------------


def test_a_vector_in_two_orders_counts_as_two() -> None:
    @rule
    def flipped_before_and_after(x: Tensor, p: Perm, f: Flags):
        return x.flip(f).permute(p).flip(f), x.permute(p).flip(f.permute(p) ^ f)

    @rule
    def cut_before_and_after(x: Tensor, p: Perm, o: Offset, s: Shape):
        return x.shrink(o, s).permute(p).pad(o, s), x.permute(p).shrink(o.permute(p), s.permute(p)).pad(o, s)

    shown_at_every_rank(flipped_before_and_after, cut_before_and_after)
    assert set(planned(flipped_before_and_after).rule.kinds) == {"x", "p", "f", "f'2"}

    @rule
    def flipped_once(x: Tensor, p: Perm, f: Flags):
        return x.flip(f).permute(p).flip(f), x.permute(p)

    @rule
    def flipped_in_the_wrong_order(x: Tensor, p: Perm, f: Flags):
        return x.flip(f).permute(p).flip(f), x.permute(p).flip(f.permute(inverse(p)) ^ f)

    refuted(flipped_once, flipped_in_the_wrong_order)


def test_a_tensor_in_two_orders_counts_as_two() -> None:
    @rule
    def symmetric(f: BinaryOp, x: Tensor, p: Perm):
        return f(x, x.permute(p)).contiguous(), f(x, x.permute(p))

    shown_at_every_rank(symmetric)
    assert planned(symmetric).apart == "x"

    @rule(dtypes=[int32])
    def exchanged(x: Tensor, p: Perm):
        return x - x.permute(p), x.permute(p) - x

    refuted(exchanged)


def test_conditions_are_stated_of_each_of_the_two() -> None:
    @rule
    def both_short(x: Tensor, p: Perm, s: Shape):
        given(s == 1)
        return x.permute(p).expand(s).expand(s), x.permute(p).expand(s.permute(p))

    @rule
    def mixed(x: Tensor, p: Perm, s: Shape, t: Shape):
        given(x.shape == s, s == t)
        return x.permute(p).contiguous().shrink(0, s.permute(p)), x.permute(p).shrink(0, t.permute(p))

    shown_at_every_rank(both_short, mixed)


# Invariance -------------------------------------------------------------------------------------------------------


def test_what_is_invariant_may_stand_in_any_order() -> None:
    @rule
    def same_flags(x: Tensor, p: Perm, f: Flags):
        given(f.permute(p) == f)
        return x.flip(f).permute(p), x.permute(p).flip(f)

    @rule
    def turned_back(x: Tensor, p: Perm, f: Flags):
        given(f == f.permute(p))
        return x.flip(f).permute(inverse(p)), x.permute(inverse(p)).flip(f)

    @rule
    def often(x: Tensor, p: Perm, q: Perm, f: Flags):
        given(f.permute(p) == f, f.permute(q) == f)
        turned = compose(p, compose(inverse(q), p))
        return x.flip(f).permute(turned), x.permute(turned).flip(f)

    @rule
    def round_about(x: Tensor, p: Perm, q: Perm, f: Flags, g: Flags):
        given(f.permute(p) == g, g.permute(q) == f)
        return x.flip(f).permute(compose(p, q)), x.permute(compose(p, q)).flip(f)

    @rule
    def same_sizes(x: Tensor, p: Perm, s: Shape):
        given(x.shape == s, s.permute(p) == s)
        return x.permute(p).expand(s), x.permute(p)

    @rule
    def square(x: Tensor, p: Perm, o: Offset, s: Shape):
        given(x.permute(p).shape == x.shape)
        return x.permute(p).pad(o, s).shrink(o, x.shape), x.permute(p)

    @rule(dtypes=[int32])
    def same_axes(x: Tensor, p: Perm, a: Axes):
        given(a.permute(p) == a)
        return x.sum(a).permute(p), x.permute(p).sum(a)

    shown_at_every_rank(same_flags, turned_back, often, round_about, same_sizes, square, same_axes)


def test_what_is_invariant_under_something_else_may_not() -> None:
    @rule
    def another(x: Tensor, p: Perm, q: Perm, f: Flags):
        given(f.permute(p) == f)
        return x.flip(f).permute(q), x.permute(q).flip(f)

    @rule
    def half_way(x: Tensor, p: Perm, q: Perm, f: Flags, g: Flags):
        given(f.permute(p) == g, g.permute(q) == f)
        return x.flip(f).permute(compose(q, p)), x.permute(compose(q, p)).flip(f)

    @rule
    def elements(x: Tensor, p: Perm):
        given(x.permute(p).shape == x.shape)
        return x.permute(p), x.contiguous()

    @rule
    def denied(x: Tensor, p: Perm, f: Flags):
        given(~(f.permute(p) == f))
        return x.flip(f).permute(p), x.permute(p).flip(f)

    @rule
    def squared(x: Tensor, p: Perm, f: Flags):
        """Invariance under p² is not one under p."""
        given(f.permute(compose(p, p)) == f)
        return x.flip(f).permute(p), x.permute(p).flip(f)

    refuted(another, half_way, elements, denied, squared)


# Numbers ----------------------------------------------------------------------------------------------------------


def test_numbered_axes_fix_the_order() -> None:
    @rule
    def numbered_and_permuted(x: Tensor, p: Perm):
        given(x.shape[0] == 1)
        return x.permute(p).permute(inverse(p)), x

    @rule(dtypes=[int32])
    def last_of_the_turned(x: Tensor, p: Perm, q: Perm):
        return x.permute(p).permute(q).sum(-1), x.permute(compose(p, q)).sum(-1)

    shown_at_every_rank(numbered_and_permuted, last_of_the_turned)

    @rule(dtypes=[int32])
    def last_before_and_after(x: Tensor, p: Perm):
        return x.permute(p).sum(-1), x.sum(-1).permute(p)

    @rule
    def first_of_the_turned(x: Tensor, p: Perm, f: Flags):
        given(x.shape[0] == 1, x.shape[1] == 1, x.shape[-1] == 1)
        return x.permute(p).flip(f), x.permute(p)

    refuted(last_before_and_after, first_of_the_turned)


# Leading axes -----------------------------------------------------------------------------------------------------


def test_leading_axes_are_taken_away_and_added() -> None:
    @rule
    def second_part(x: Tensor, y: Tensor):
        return stack(x, y).index(1), y

    @rule
    def two_at_once(x: Tensor, i: Value[index], j: Value[index]):
        return x.index(i).index(j), x.index(i, j)

    @rule
    def part_is_moved(x: Tensor, y: Tensor, p: Perm, f: Flags):
        return stack(x, y).index(0).permute(p).flip(f), x.permute(p).flip(f)

    @rule
    def gathered(x: Tensor, i: Tensor[index, "k"], j: Tensor[index, "m"]):
        return x.index(i).index(0, 1), x.index(i.index(0), 1)

    @rule
    def op_of_parts(f: BinaryOp, x: Tensor, y: Tensor, z: Tensor, w: Tensor):
        return f(stack(x, y), stack(z, w)), stack(f(x, z), f(y, w))

    @rule(dtypes=[int32])
    def folded_part(x: Tensor, y: Tensor, a: Axes):
        return stack(x, y).index(0).sum(a), x.sum(a)

    @rule
    def stack_of_stacks(x: Tensor, y: Tensor):
        return stack(stack(x, y), stack(y, x)).index(1, 0), y

    shown_at_every_rank(
        second_part, two_at_once, part_is_moved, gathered, op_of_parts, folded_part, stack_of_stacks
    )


def test_leading_axes_are_not_the_others() -> None:
    @rule
    def first_part(x: Tensor, y: Tensor):
        return stack(x, y).index(1), x

    @rule
    def exchanged(x: Tensor, i: Value[index], j: Value[index]):
        return x.index(i).index(j), x.index(j, i)

    @rule
    def third_axis_is_short(x: Tensor, i: Value[index], j: Value[index], f: Flags):
        """Of what is left, the first axis has one element; the second may have more."""
        given(x.shape[2] == 1)
        return x.index(i, j).flip(f), x.index(i, j)

    @rule
    def first_axis_of_the_part(x: Tensor, y: Tensor, f: Flags):
        given(stack(x, y).shape[1] == 1, x.shape[-1] == 1)
        return stack(x, y).index(0).flip(f), x

    @rule
    def part_is_turned(x: Tensor, y: Tensor, p: Perm):
        return stack(x, y).index(0).permute(p), x

    refuted(first_part, exchanged, third_axis_is_short, first_axis_of_the_part, part_is_turned)


def test_axes_that_lead_are_kept() -> None:
    @rule
    def two_at_once(x: Tensor, i: Value[index], j: Value[index]):
        return x.index(i).index(j), x.index(i, j)

    @rule
    def third_axis(x: Tensor, i: Value[index], j: Value[index]):
        given(x.index(i, j).shape[0] == 1)
        return x.index(i).index(j), x.index(i, j)

    assert Leading(two_at_once, rank_classes(two_at_once)).kept() == 2
    assert (planned(two_at_once).max_rank, planned(third_axis).max_rank) == (1 + 2, 1 + 2 + 1)


def test_leading_axes_that_other_axes_are_joined_with_are_not_shown() -> None:
    @rule
    def same_flags(x: Tensor, i: Value[index], f: Flags):
        return x.flip(f).index(i).contiguous(), x.flip(f ^ f ^ f).index(i)

    shown_at_every_rank(same_flags)

    @rule
    def reshaped(x: Tensor, i: Value[index], s: Shape):
        given(product(s) == product(x.index(i).shape))
        return x.index(i).reshape(s).contiguous(), x.index(i).reshape(s)

    with pytest.raises(NotShown, match="both reshaped and indexed"):
        planned(reshaped)

    @rule
    def joined(x: Tensor, y: Tensor, i: Value[index], f: Flags):
        given((y.shape == 1) | (x.index(i).shape == y.shape))
        return x.flip(f).index(i).flip(f).contiguous(), x.flip(f).index(i).flip(f)

    with pytest.raises(NotShown, match="tells apart"):
        planned(joined)


def test_a_float_fold_of_what_is_indexed_has_its_order() -> None:
    @rule(dtypes=[float32])
    def folded_part(x: Tensor, y: Tensor, a: Axes):
        return stack(x, y).index(0).sum(a), x.sum(a)

    shown_at_every_rank(folded_part)


def test_a_condition_may_speak_of_shapes_that_no_index_touches() -> None:
    @rule(dtypes=[int32])
    def exchanged(x: Tensor, y: Tensor, i: Value[index]):
        given(y.shape == x.shape)
        return stack(x.index(0), x.index(1)).index(i), x.index(1 - i)

    refuted(exchanged)
