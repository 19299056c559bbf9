"""Rules at every rank: which few instances stand for all, and rules that are right only at the first ranks."""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

import pytest

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.rules.instances import goals, shape_dtypes
from soundline.spec.rules.language import Rule
from soundline.verify import (
    Axes,
    BinaryOp,
    Flags,
    Monoid,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    all_axes,
    bool_,
    compose,
    disjoint,
    fits,
    float32,
    forall,
    given,
    int8,
    int32,
    inverse,
    is_identity,
    maximum,
    no_axes,
    no_flags,
    product,
    rule,
    where,
)
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.instances import Court
from soundline.verify.smt.ranks.every_rank import HIGHEST, NotShown, Plan, plan
from soundline.verify.smt.ranks.permutations import inverted, joined
from soundline.verify.verdicts.verdict import LayerResult


def only(stated: Rule) -> LayerResult:
    (layer,) = prove(stated).layers
    return layer


def planned(stated: Rule, dtypes: tuple[DType, ...] | None = None) -> Plan:
    return plan(stated, dtypes or stated.dtypes or shape_dtypes(stated), Court(Budget()))


def highest(stated: Rule) -> int:
    """The highest rank that is proved so that every rank follows."""
    return planned(stated).max_rank


def shown_at_every_rank(*rules: Rule) -> None:
    for stated in rules:
        found = only(stated)
        assert found.verdict == "proved", (stated.id, found)
        assert found.covered.startswith("every rank"), stated.id
        assert ", all sizes" in found.covered, stated.id


def rank_of_counterexample(stated: Rule) -> int:
    found = only(stated)
    assert found.verdict == "refuted", (stated.id, found)
    assert found.counterexample is not None
    said = [part for part in found.counterexample.instance.split(", ") if part.startswith("rank of x ")]
    return int(said[0].removeprefix("rank of x "))


# Permutations -----------------------------------------------------------------------------------------------------


def test_words_are_reduced() -> None:
    p, q = (("p", 1),), (("q", 1),)
    assert joined(p, q, inverted(q), inverted(p)) == ()
    assert inverted(joined(p, q)) == (("q", -1), ("p", -1))
    assert joined(p, q) != joined(q, p)


def test_the_identity_stands_for_all_permutations_where_frames_unify() -> None:
    @rule
    def three(x: Tensor, p: Perm, q: Perm, r: Perm):
        return x.permute(p).permute(compose(q, r)), x.permute(compose(p, q)).permute(r)

    @rule
    def vectors_follow(x: Tensor, p: Perm, o: Offset, s: Shape):
        return x.permute(p).shrink(o, s), x.shrink(o.permute(inverse(p)), s.permute(inverse(p))).permute(p)

    @rule
    def turned_round(x: Tensor, p: Perm, f: Flags):
        given(no_flags(~f))
        return x.permute(p).flip(f), x.flip(f).permute(p)

    @rule
    def two_inputs(f: BinaryOp, x: Tensor, y: Tensor, p: Perm, q: Perm, g: Flags):
        return f(x.permute(p).flip(g), y.permute(q).flip(g)), f(x.permute(p), y.permute(q)).flip(g)

    shown_at_every_rank(three, vectors_follow, turned_round, two_inputs)
    assert (
        "60 instances" in only(two_inputs).covered
    )  # 20 ops, at rank 0 and at rank 1 with a flag and without


def test_sides_that_look_alike_under_identities_are_two_terms_still() -> None:
    @rule
    def regrouped(x: Tensor, p: Perm, q: Perm, r: Perm):
        return x.permute(compose(p, q)).permute(r), x.permute(p).permute(compose(q, r))

    shown_at_every_rank(regrouped)


def test_conditions_on_permutations_relate_words() -> None:
    @rule
    def known_equal(x: Tensor, p: Perm, q: Perm):
        given(p == q)
        return x.permute(p).permute(inverse(q)), x

    @rule
    def known_inverse(x: Tensor, p: Perm, q: Perm):
        given(p == inverse(q))
        return x.permute(p).permute(q), x

    @rule
    def known_together(x: Tensor, p: Perm, q: Perm):
        given(is_identity(compose(p, q)))
        return x.permute(q).permute(p), x

    @rule
    def known_chain(x: Tensor, p: Perm, q: Perm, r: Perm):
        given(p == compose(q, r), is_identity(q))
        return x.permute(p).permute(inverse(r)), x

    @rule
    def known_involution(x: Tensor, p: Perm):
        given(p == inverse(p))
        return x.permute(p).permute(p), x

    @rule
    def known_for_vectors(x: Tensor, p: Perm, o: Offset, s: Shape):
        given(is_identity(p))
        return x.shrink(o, s).permute(p), x.shrink(o.permute(p), s)

    @rule
    def known_to_differ(x: Tensor, p: Perm):
        given(~is_identity(p))
        return x.permute(p).permute(inverse(p)), x

    shown_at_every_rank(
        known_equal,
        known_inverse,
        known_together,
        known_chain,
        known_involution,
        known_for_vectors,
        known_to_differ,
    )

    @rule
    def known_otherwise(x: Tensor, p: Perm, q: Perm):
        given((p == q) | is_identity(p))
        return x.permute(p).permute(inverse(q)), x

    assert prove(known_otherwise).verdict == "refuted"


def test_rules_about_permutations_that_are_right_at_the_first_ranks_only() -> None:
    @rule
    def twice(x: Tensor, p: Perm):
        return x.permute(p).permute(p), x

    @rule
    def backwards(x: Tensor, p: Perm):
        return x.permute(p), x.permute(inverse(p))

    @rule
    def exchanged(x: Tensor, p: Perm, q: Perm):
        return x.permute(p).permute(q), x.permute(q).permute(p)

    assert [rank_of_counterexample(r) for r in (twice, backwards, exchanged)] == [3, 3, 3]

    @rule
    def twelve_times(x: Tensor, p: Perm):
        """A cycle of five axes is not undone by twelve steps; every permutation of at most four is."""
        turned = x
        for _ in range(12):
            turned = turned.permute(p)
        return turned, x

    found = only(twelve_times)
    assert found.verdict == "unknown"
    assert found.covered.startswith("ranks 0–4, all sizes")
    assert found.covered.endswith("not shown for every rank")
    assert "axes in different orders" in found.detail


def test_no_permutation_that_a_rule_admits() -> None:
    @rule
    def never(x: Tensor, p: Perm):
        given(is_identity(p), ~is_identity(p))
        return x.permute(p).permute(inverse(p)), x

    assert only(never).verdict == "vacuous"


def test_a_reshape_asks_for_the_order_of_the_axes() -> None:
    @rule
    def one_order(x: Tensor, p: Perm, q: Perm, s: Shape):
        return x.permute(p).permute(q).reshape(s), x.permute(compose(p, q)).reshape(s)

    @rule
    def two_orders(x: Tensor, p: Perm, s: Shape):
        return x.permute(p).reshape(s), x.reshape(s)

    @rule
    def ones_have_no_order(x: Tensor, p: Perm, s: Shape):
        given(product(x.shape) == 1)
        return x.permute(p).reshape(s), x.reshape(s)

    shown_at_every_rank(one_order, ones_have_no_order)
    assert rank_of_counterexample(two_orders) == 2


# Counts -----------------------------------------------------------------------------------------------------------


def test_one_axis_suffices_where_both_sides_read_at_one_position() -> None:
    @rule
    def cut(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
        return x.shrink(a, s).shrink(b, t), x.shrink(a + b, t)

    @rule
    def turned(x: Tensor, a: Offset, s: Shape, f: Flags):
        return x.pad(a, s).flip(f), x.flip(f).pad(where(f, s - a - x.shape, a), s)

    assert (highest(cut), highest(turned)) == (1, 1)


def test_paddings_and_accesses_are_counted() -> None:
    @rule
    def two_paddings(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
        return x.pad(a, s).pad(b, t), x.pad(a + b, t)

    @rule
    def two_inputs_padded(x: Tensor, y: Tensor, o: Offset, q: Offset, s: Shape):
        return x.pad(o, s) + y.pad(q, s), y.pad(q, s) + x.pad(o, s)

    @rule
    def three_reads(x: Tensor, a: Offset, b: Offset, c: Offset, s: Shape):
        i, j, k = (x.shrink(o, s) for o in (a, b, c))
        return (i + j) * k, k * (j + i)

    assert (highest(two_paddings), highest(two_inputs_padded), highest(three_reads)) == (2, 2, 3)


def test_conditions_that_are_not_simply_demanded_are_counted() -> None:
    @rule
    def demanded(x: Tensor, s: Shape):
        given(x.shape == 1, s >= 1)
        return x.expand(s).expand(s), x.expand(s)

    @rule
    def denied(x: Tensor, s: Shape, f: Flags):
        given(~(x.shape == 1), (s > 1) | (s == x.shape), ~no_flags(f))
        return x.expand(s).expand(s), x.expand(s)

    assert (highest(demanded), highest(denied)) == (1, 5)


def test_numbered_axes_are_kept() -> None:
    @rule
    def from_both_ends(x: Tensor, f: Flags):
        given(x.shape[1] == 1, x.shape[-1] == 1)
        return x.flip(f).flip(f), x

    assert highest(from_both_ends) == 1 + 2 + 1
    shown_at_every_rank(from_both_ends)


def test_too_many_axes_are_not_tried() -> None:
    @rule
    def nine_reads(x: Tensor, s: Shape):
        a, b, c, d, e = (x.shrink(forall(Offset, name), s) for name in "abcde")
        return a * b * c * d + e, e + a * b * c * d

    with pytest.raises(NotShown, match="instances up to rank 10 would be needed"):
        planned(nine_reads)
    assert HIGHEST < 10


def test_fits_speaks_of_all_elements_of_several_inputs() -> None:
    @rule(dtypes=[int8])
    def product_fits(x: Tensor, y: Tensor, p: Perm):
        given(fits(x * y))
        return (x * y).permute(p), y.permute(p) * x.permute(p)

    assert highest(product_fits) == 2
    assert only(product_fits).covered.startswith("every rank")

    @rule(dtypes=[int8])
    def moved_fits(x: Tensor, o: Offset, s: Shape):
        given(fits(x.pad(o, s) + 1))
        return x.pad(o, s).flip(forall(Flags, "f")), x.pad(o, s)

    with pytest.raises(NotShown, match="elements that are moved"):
        planned(moved_fits)


# Twins: right at the first ranks ----------------------------------------------------------------------------------


def test_two_parts_that_cover_a_row_do_not_cover_a_square() -> None:
    @rule
    def covered(x: Tensor, y: Tensor, z: Tensor):
        given(z.shape == x.shape + y.shape)
        return (x == x).pad(0, z.shape) | (y == y).pad(x.shape, z.shape), z == z

    @rule(dtypes=[int32])
    def covered_row(m: Size, n: Size, k: Size, x: Tensor["m"], y: Tensor["n"], z: Tensor["k"]):
        given(k == m + n)
        return (x == x).pad((0,), (k,)) | (y == y).pad((m,), (k,)), z == z

    assert rank_of_counterexample(covered) == 2
    assert prove(covered_row).verdict == "proved"


def test_of_three_elements_of_a_row_of_two_two_are_one() -> None:
    """But a square of four has three others."""

    @rule(dtypes=[int32])
    def three_in_a_pair(x: Tensor, a: Offset, b: Offset, c: Offset):
        given(x.shape <= 2)
        i, j, k = (x.shrink(o, 1) for o in (a, b, c))
        return (i == j) | (j == k) | (i == k), i == i

    assert highest(three_in_a_pair) == 3
    assert prove(three_in_a_pair, budget=Budget(rlimit=100_000)).verdict != "proved"


def test_ends_that_meet_at_the_first_ranks() -> None:
    @rule
    def ends(x: Tensor, f: Flags):
        given(x.shape[0] == 1, x.shape[-1] == 1)
        return x.flip(f), x

    @rule
    def two_at_each_end(x: Tensor, f: Flags):
        given(x.shape[0] == 1, x.shape[1] == 1, x.shape[-2] == 1, x.shape[-1] == 1)
        return x.flip(f), x

    @rule
    def far(x: Tensor, f: Flags):
        given(x.shape[0] == 1, x.shape[5] == 1)
        return x.flip(f), x

    assert [rank_of_counterexample(r) for r in (ends, two_at_each_end, far)] == [3, 5, 6]


def test_some_axis_is_not_this_axis() -> None:
    @rule
    def not_all_ones(x: Tensor, s: Shape):
        given(~(x.shape == 1))
        return x.expand(s), x

    @rule
    def not_all_long(x: Tensor, f: Flags):
        given(~(x.shape > 1))
        return x.flip(f), x

    @rule
    def two_denials(x: Tensor, f: Flags, g: Flags):
        given(~(x.shape > 1), ~no_flags(g))
        return x.flip(f).flip(g).flip(g), x

    assert [rank_of_counterexample(r) for r in (not_all_ones, not_all_long, two_denials)] == [2, 2, 2]


# Classes that a reshape mixes -------------------------------------------------------------------------------------


def test_reshapes_that_equal_shapes_undo() -> None:
    @rule
    def there_and_back(x: Tensor, o: Offset, s: Shape, t: Shape):
        return x.pad(o, s).reshape(t).reshape(s), x.pad(o, s)

    @rule
    def under_a_reshape(x: Tensor, o: Offset, s: Shape, q: Offset, t: Shape, u: Shape):
        return x.pad(o, s).pad(q, t).reshape(u), x.pad(o + q, t).reshape(u)

    @rule
    def op_of_reshapes(f: BinaryOp, x: Tensor, y: Tensor, s: Shape, g: Flags):
        given(x.shape == y.shape)
        return f(x.reshape(s), y.reshape(s)).flip(g), f(x, y).reshape(s).flip(g)

    @rule
    def as_it_is(x: Tensor, s: Shape, f: Flags):
        given(x.shape == s)
        return x.reshape(s).flip(f), x.flip(f)

    shown_at_every_rank(there_and_back, under_a_reshape, op_of_reshapes, as_it_is)


def test_a_shape_between_must_be_known_to_fit_before_it_is_dropped() -> None:
    @rule
    def dropped_on_the_left(x: Tensor, s: Shape):
        return x.reshape(s).reshape(x.shape), x

    @rule
    def made_up_on_the_right(x: Tensor, s: Shape):
        return x.contiguous(), x.reshape(s).reshape(x.shape)

    @rule
    def known_on_the_right(x: Tensor, s: Shape):
        given(product(s) == product(x.shape))
        return x.contiguous(), x.reshape(s).reshape(x.shape)

    shown_at_every_rank(dropped_on_the_left, known_on_the_right)
    assert prove(made_up_on_the_right).verdict == "refuted"


def test_vectors_of_one_product_are_not_one_vector() -> None:
    @rule
    def grown(x: Tensor, s: Shape):
        given(s >= x.shape)
        return x.reshape(s), x

    @rule
    def ones_of_another_rank(x: Tensor, s: Shape):
        given(x.shape == 1, s == 1)
        return x.reshape(s), x

    @rule
    def one_number_at_two_ranks(m: Size, x: Tensor, s: Shape, y: Tensor):
        given(x.shape == m, s == m)
        return x.reshape((product(x.shape),)).reshape(x.shape), x.reshape(s).reshape(x.shape)

    assert rank_of_counterexample(grown) == 2
    assert prove(ones_of_another_rank).verdict == "refuted"
    assert prove(one_number_at_two_ranks).verdict == "refuted"


def test_a_class_that_a_reshape_mixes_acts_as_one_axis() -> None:
    @rule
    def turned_round(x: Tensor, s: Shape, f: Flags, g: Flags):
        given(no_flags(~f), no_flags(~g))
        return x.flip(f).reshape(s), x.reshape(s).flip(g)

    @rule
    def spread(x: Tensor, s: Shape, t: Shape):
        given(x.shape == 1)
        return x.expand(s).reshape(t), x.reshape((1,)).expand((product(s),)).reshape(t)

    @rule
    def flattened(f: UnaryOp, x: Tensor, s: Shape):
        return f(x.reshape((product(x.shape),))).reshape(s), f(x).reshape(s)

    shown_at_every_rank(turned_round, spread, flattened)
    assert highest(turned_round) == 1


def test_what_tells_mixed_axes_apart_is_not_shown() -> None:
    @rule
    def some_flag(x: Tensor, s: Shape, f: Flags, g: Flags):
        given(~no_flags(f), no_flags(~g))
        return x.flip(f).reshape(s), x.reshape(s).flip(g)

    @rule
    def padded_between(x: Tensor, s: Shape, o: Offset, t: Shape):
        return x.reshape(s).pad(o, t), x.flip(forall(Flags, "f")).reshape(s).pad(o, t)

    assert rank_of_counterexample(some_flag) == 2
    for stated in (some_flag, padded_between):
        with pytest.raises(NotShown, match="a reshape or a product mixes"):
            planned(stated)


# Reductions
# ------------------------------------------------------------------------------------------------------------


def test_folds_are_shown_at_every_rank() -> None:
    @rule(dtypes=[int32])
    def moved(x: Tensor, a: Axes, p: Perm):
        return x.permute(p).sum(a.permute(p)), x.sum(a).permute(p)

    @rule(dtypes=[int32])
    def joined_sums(x: Tensor, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.sum(a).sum(b), x.sum(a | b)

    @rule
    def joined_maxima(x: Tensor, y: Tensor, a: Axes):
        return maximum(x, y).max(a), maximum(y.max(a), x.max(a))

    @rule(dtypes=[int32])
    def padded(x: Tensor, o: Offset, s: Shape, a: Axes):
        return x.pad(o, s).sum(a), x.sum(a).pad(where(a, 0, o), where(a, 1, s))

    @rule(dtypes=[int32])
    def repeated(x: Tensor, s: Shape, a: Axes):
        given(x.shape == 1)
        return x.expand(s).sum(a), x.expand(where(a, 1, s)) * product(where(a, s, 1)).cast(int32)

    @rule(dtypes=[bool_])
    def some(x: Tensor, y: Tensor, a: Axes):
        return (x | y).max(a), x.max(a) | y.max(a)

    @rule
    def nothing_folded(m: Monoid, x: Tensor, a: Axes):
        given(no_axes(a))
        return x.reduce(m, a), x

    @rule(dtypes=[int32])
    def flattened(x: Tensor, a: Axes):
        given(all_axes(a))
        return x.reshape((product(x.shape),)).sum((0,)), x.sum(a).reshape((1,))

    @rule(dtypes=[int32])
    def reshaped(x: Tensor, s: Shape, a: Axes, b: Axes):
        given(all_axes(a), all_axes(b))
        return x.reshape(s).sum(b), x.sum(a).reshape(x.reshape(s).sum(b).shape)

    shown_at_every_rank(
        reshaped, moved, joined_sums, joined_maxima, padded, repeated, some, nothing_folded, flattened
    )
    assert [highest(r) for r in (moved, joined_sums, joined_maxima, padded, repeated)] == [1, 1, 1, 1, 1]


def test_a_fold_of_floats_asks_for_the_order_of_its_axes() -> None:
    @rule(dtypes=[float32])
    def moved(x: Tensor, a: Axes, p: Perm):
        return x.permute(p).sum(a.permute(p)), x.sum(a).permute(p)

    @rule(dtypes=[float32], licences="reassociate")
    def moved_by_licence(x: Tensor, a: Axes, p: Perm):
        return x.permute(p).sum(a.permute(p)), x.sum(a).permute(p)

    @rule(dtypes=[float32])
    def turned_pair(x: Tensor, a: Axes):
        """The sum of two floats does not depend on their order; that of four does."""
        given(x.shape <= 2)
        return x.flip(a).sum(a), x.sum(a)

    assert rank_of_counterexample(moved) == 2
    shown_at_every_rank(moved_by_licence)
    assert prove(turned_pair).verdict == "refuted"


def test_terms_that_cancel_at_the_first_ranks_only() -> None:
    """Where every axis has one element or two, the number of elements is 1, 2, 4, 8 …"""

    @rule(dtypes=[int32])
    def two_powers(x: Tensor, s: Shape, a: Axes):
        given(x.shape == 1, all_axes(a), s >= 1, s <= 2)
        total = x.expand(s).sum(a)
        return (total - x) * (total - x - x), x - x

    assert rank_of_counterexample(two_powers) == 2

    @rule(dtypes=[int32])
    def three_powers(x: Tensor, s: Shape, a: Axes):
        given(x.shape == 1, all_axes(a), s >= 1, s <= 2)
        total = x.expand(s).sum(a)
        return (total - x) * (total - x - x) * (total - x - x - x - x), x - x

    with pytest.raises(NotShown, match="would be needed"):
        planned(three_powers)


def test_terms_of_folds_are_counted() -> None:
    @rule(dtypes=[int32])
    def squares(x: Tensor, y: Tensor, a: Axes):
        return (x.sum(a) + y.sum(a)) * (x.sum(a) - y.sum(a)), x.sum(a) * x.sum(a) - y.sum(a) * y.sum(a)

    @rule(dtypes=[int32])
    def dots(x: Tensor, y: Tensor, a: Axes):
        return (x * y).sum(a), (y * x).sum(a)

    assert (highest(squares), highest(dots)) == (2 + 2 - 1 + 1, 1)
    shown_at_every_rank(squares, dots)

    @rule(dtypes=[int32])
    def fitting(x: Tensor, a: Axes):
        given(fits(x * 2))
        return x.flip(a).sum(a).flip(a), x.sum(a)

    @rule(dtypes=[int32])
    def halves(x: Tensor, s: Shape, a: Axes):
        given(x.shape == 1)
        return x.expand(s).sum(a), x.expand(where(a, 1, s)) * (product(where(a, s, 1)) // 1).cast(int32)

    for stated, why in ((fitting, "what fits is not known of each term"), (halves, "a product mixes")):
        with pytest.raises(NotShown, match=why):
            planned(stated)


def test_an_op_of_folds_is_taken_off_or_its_folds_named() -> None:
    @rule(dtypes=[int32])
    def taken_off(f: UnaryOp, x: Tensor, a: Axes):
        return f(x.flip(a).sum(a)), f(x.sum(a))

    @rule
    def named(x: Tensor, y: Tensor, a: Axes):
        return x.sum(a).expand(y.shape) + y, y + x.sum(a).expand(y.shape)

    @rule(dtypes=[float32])
    def shifted(x: Tensor, a: Axes, p: Perm):
        turned = x.permute(p)
        return (
            (x - x.max(a).expand(x.shape)).exp2().permute(p),
            (turned - turned.max(a.permute(p)).expand(turned.shape)).exp2(),
        )

    shown_at_every_rank(taken_off, named, shifted)

    @rule(dtypes=[int32])
    def neither(x: Tensor, a: Axes):
        return where(x.flip(a).sum(a) < x.sum(a), x.max(a), x.sum(a)), x.sum(a)

    with pytest.raises(NotShown, match="several ops"):
        planned(neither)


# Bounded rules ----------------------------------------------------------------------------------------------------


def test_a_rule_says_up_to_which_rank_it_is_meant() -> None:
    @rule(max_rank=2)
    def twice(x: Tensor, p: Perm):
        return x.permute(p).permute(p), x

    @rule(max_rank=3)
    def twice_too_far(x: Tensor, p: Perm):
        return x.permute(p).permute(p), x

    @rule(max_rank=2)
    def thrice(x: Tensor, p: Perm):
        return x.permute(p).permute(p).permute(p), x.permute(p)

    for stated in (twice, thrice):
        assert only(stated).verdict == "proved"
        assert only(stated).covered.startswith("ranks 0–2, all sizes")
    assert rank_of_counterexample(twice_too_far) == 3
    assert max(len(g.env.bound["p"]) for g in goals(twice, int32, 2)) == 2


@pytest.mark.parametrize("bound", [-1, 2.0, True, "4"])
def test_a_bound_that_is_no_rank_is_refused(bound: object) -> None:
    with pytest.raises(RuleError, match="is not a rank"):

        @rule(max_rank=bound)  # type: ignore[arg-type]
        def identity(x: Tensor, p: Perm):
            return x.permute(p).permute(inverse(p)), x


def test_a_fixed_rank_is_told_as_it_is() -> None:
    @rule
    def pair(x: Tensor["m", "n"]):
        return x.permute((1, 0)).permute((1, 0)), x

    assert only(pair).covered == "rank 2, all sizes, all dtypes (elements uninterpreted)"


def test_a_bitcast_that_changes_the_last_axis_keeps_that_apart() -> None:
    @rule
    def same_size(x: Tensor[float32], p: Perm):
        return x.permute(p).bitcast(int32), x.bitcast(int32).permute(p)

    @rule
    def smaller(x: Tensor[float32], f: Flags):
        given(no_flags(f))
        return x.flip(f).bitcast(int8), x.bitcast(int8)

    @rule
    def permuted(x: Tensor[float32], p: Perm):
        return x.permute(p).bitcast(int8), x.bitcast(int8).permute(p)

    @rule
    def reduced(x: Tensor[float32], a: Axes):
        return x.max(a).bitcast(int8), x.bitcast(int8).max(a)

    @rule
    def reshaped(x: Tensor[float32], s: Shape):
        return x.reshape(s).bitcast(int8), x.bitcast(int8).reshape(s)

    shown_at_every_rank(same_size)
    assert planned(same_size).max_rank + 1 == planned(smaller).max_rank
    shown_at_every_rank(smaller)
    for stated in (permuted, reduced, reshaped):
        with pytest.raises(NotShown, match="may change the last axis"):
            planned(stated)


def test_a_choice_reads_its_condition_like_another_input() -> None:
    @rule
    def chosen(x: Tensor, y: Tensor, o: Offset, s: Shape, q: Offset, t: Shape):
        b = forall(Tensor[bool_], "b")
        given(x.shape == y.shape, y.shape == b.shape)
        return (
            where(b, x, y).pad(o, s).pad(q, t),
            where(b.pad(o + q, t), x.pad(o + q, t), y.pad(o + q, t)),
        )

    assert highest(chosen) == 2
    shown_at_every_rank(chosen)
