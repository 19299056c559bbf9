"""Reductions at every rank: of other dtypes than the rule's, under ops that are homomorphisms, with idle paddings."""

from dataclasses import replace

from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import show
from soundline.verify import (
    Axes,
    Bool,
    Const,
    Flags,
    Monoid,
    Offset,
    Perm,
    Shape,
    Tensor,
    Value,
    bool_,
    fits,
    float16,
    float32,
    given,
    index,
    int8,
    int32,
    maximum,
    no_axes,
    no_flags,
    product,
    rule,
    uint8,
    uint32,
    where,
)
from soundline.verify.judging.judge import prove_layer
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.instances import Court
from soundline.verify.smt.ranks.conditions import Uniform
from soundline.verify.smt.ranks.every_rank import NotShown, plan
from soundline.verify.smt.ranks.reductions import peeled
from soundline.verify.smt.ranks.shapes import of_one_element


def shown_at_every_rank(*rules: Rule) -> None:
    for stated in rules:
        for dtype in stated.dtypes or ():
            found = prove_layer(stated, dtype)
            assert found.verdict == "proved", (stated.id, found)
            assert found.covered.startswith("every rank"), stated.id
            assert ", all sizes" in found.covered, stated.id


def refuted(*rules: Rule) -> None:
    for stated in rules:
        for dtype in stated.dtypes or ():
            assert prove_layer(stated, dtype, derive=False).verdict == "refuted", (stated.id, dtype)


def test_flags_that_are_known_on_every_axis() -> None:
    """Where none of `f & g` is set, nothing is said of f; where none of `f | g` is, none of f is either."""
    p, q = Flags("var", ("p",)), Flags("var", ("q",))

    def uniform(said: Flags, about: Flags) -> bool | None:
        @rule(dtypes=[int8])
        def stated(x: Tensor, p: Flags, q: Flags):
            return x.flip(p).flip(q), x.flip(q).flip(p)

        return Uniform(replace(stated, given=(no_flags(said),))).of(about)

    def joined(word: str, a: Flags, b: Flags) -> Flags:
        return Flags(word, (a, b))

    def turned(a: Flags) -> Flags:
        return Flags("not", (a,))

    for said, known in (
        (p, {"p": False}),
        (turned(p), {"p": True}),
        (joined("or", p, q), {"p": False, "q": False}),
        (joined("and", p, q), {}),
        (turned(joined("and", p, q)), {"p": True, "q": True}),
        (turned(joined("or", p, q)), {}),
        (joined("and", p, p), {"p": False}),
        (turned(joined("or", p, p)), {"p": True}),
        (joined("or", p, turned(q)), {"p": False, "q": True}),
    ):
        found = {name: uniform(said, about) for name, about in (("p", p), ("q", q))}
        assert found == {"p": None, "q": None} | known, show(said)
        assert uniform(said, said) is False
        assert uniform(said, turned(said)) is True


def test_a_permuted_shape_is_one_of_sizes() -> None:
    s, a, p = Shape("var", ("s",)), Offset("var", ("a",)), Perm("var", ("p",))
    for vector, is_shape in ((s, True), (a, False)):
        for of in (vector, vector.permute(p), vector.permute(p).permute(p)):
            known = of if is_shape else None
            assert of_one_element(product(of) == 1) is known
    assert of_one_element(product(s) == 2) is None


def test_what_may_leave_out_something_invalid_is_not_taken_off() -> None:
    """Else a right side that is reduced only there, and is an error then, would be proved."""

    @rule(dtypes=[index])
    def of_indices(x: Tensor, a: Axes, o: Offset, s: Shape):
        return x.max(a).shrink(o, s), x.flip(a).max(a).shrink(o, s)

    @rule(dtypes=[int32])
    def of_numbers(x: Tensor, a: Axes, o: Offset, s: Shape):
        return x.sum(a).shrink(o, s), x.flip(a).sum(a).shrink(o, s)

    @rule(dtypes=[index])
    def outside_all(x: Tensor, a: Axes, s: Shape):
        return -x.max(a), -x.flip(a).max(a)

    assert peeled(of_indices) is None
    for stated in (of_numbers, outside_all):
        inner = peeled(stated)
        assert inner is not None
        assert (inner.left, inner.right) == (stated.left.args[0], stated.right.args[0])


def is_planned(stated: Rule) -> bool:
    """Whether few instances are known to stand for those of every rank."""
    try:
        plan(stated, stated.dtypes or (), Court(Budget()))
    except NotShown:
        return False
    return True


# The dtype of a reduction is not always that of the rule
# ---------------------------------------------------------------


def test_a_fold_of_floats_is_a_list_in_a_rule_about_integers() -> None:
    @rule(dtypes=[int32])
    def fixed(x: Tensor[float32], a: Axes, b: Axes):
        return x.sum(a).sum(b), x.sum(a | b)

    @rule(dtypes=[int32])
    def permuted(x: Tensor[float32], a: Axes, p: Perm):
        return x.permute(p).sum(a.permute(p)), x.sum(a).permute(p)

    @rule(dtypes=[int32])
    def cast(x: Tensor, a: Axes, b: Axes):
        return x.cast(float32).sum(a).sum(b), x.cast(float32).sum(a | b)

    @rule(dtypes=[int32], licences="reassociate")
    def licensed_inside(x: Tensor, a: Axes, b: Axes):
        """The licence speaks of floats that a rule computes, and this one computes integers."""
        return x.cast(float32).sum(a).sum(b).cast(int32), x.cast(float32).sum(a | b).cast(int32)

    refuted(fixed, permuted)
    assert not is_planned(cast)
    assert not is_planned(licensed_inside)

    @rule(dtypes=[float32])
    def of_integers(x: Tensor[int32], a: Axes, b: Axes):
        return x.sum(a).sum(b), x.sum(a | b)

    shown_at_every_rank(of_integers)


def test_or_is_a_maximum_of_bools_alone() -> None:
    @rule(dtypes=[bool_])
    def bits(x: Tensor[uint8], y: Tensor[uint8], a: Axes):
        given(x.shape == y.shape)
        return (x | y).max(a), x.max(a) | y.max(a)

    refuted(bits)


# Paddings ---------------------------------------------------------------------------------------------------------


def test_a_zero_is_nothing_to_a_maximum_of_naturals() -> None:
    @rule(dtypes=[uint8, uint32, bool_])
    def outside(x: Tensor, a: Axes, o: Offset, s: Shape):
        return x.pad(o, s).max(a), x.max(a).pad(where(a, 0, o), where(a, 1, s))

    shown_at_every_rank(outside)

    @rule(dtypes=[int8, float32])
    def negative(x: Tensor, a: Axes, o: Offset, s: Shape):
        return x.pad(o, s).max(a), x.max(a).pad(where(a, 0, o), where(a, 1, s))

    @rule(dtypes=[uint8])
    def negative_inside(x: Tensor[int8], a: Axes, o: Offset, s: Shape):
        return x.pad(o, s).max(a), x.max(a).pad(where(a, 0, o), where(a, 1, s))

    @rule(dtypes=[uint8])
    def products(x: Tensor, a: Axes, o: Offset, s: Shape):
        return x.pad(o, s).prod(a), x.prod(a).pad(where(a, 0, o), where(a, 1, s))

    refuted(negative, negative_inside, products)


# Homomorphisms ----------------------------------------------------------------------------------------------------


def test_ops_that_are_homomorphisms_go_into_folds() -> None:
    @rule(dtypes=[index])
    def shifted(x: Tensor, c: Const, a: Axes):
        given(where(a, x.shape, 1) >= 1)
        return (x + c).max(a), x.max(a) + c

    @rule(dtypes=[int32])
    def shifted_and_fitting(x: Tensor, c: Const, a: Axes):
        given(where(a, x.shape, 1) >= 1, fits(x + c))
        return (x + c).max(a), x.max(a) + c

    @rule(dtypes=[float16])
    def widened(x: Tensor, a: Axes):
        return x.cast(float32).max(a).cast(x.dtype), x.max(a)

    @rule(dtypes=[int8, uint8])
    def widened_integers(x: Tensor, a: Axes):
        given(x.shape >= 1)
        return x.cast(int32).max(a), x.max(a).cast(int32)

    @rule(dtypes=[int32, uint32])
    def narrowed_sums(x: Tensor, a: Axes):
        return x.sum(a).cast(int8), x.cast(int8).sum(a)

    @rule(dtypes=[bool_])
    def de_morgan(x: Tensor, a: Axes):
        return x.prod(a), ~(~x).max(a)

    @rule(dtypes=[int8, float32])
    def chosen(c: Bool, x: Tensor, y: Tensor, m: Monoid, a: Axes):
        return where(c, x, y).reduce(m, a), where(c, x.reduce(m, a), y.reduce(m, a))

    @rule(dtypes=[uint8])
    def of_nothing(x: Tensor, a: Axes):
        """No element is less than nothing here, so that no axis need have elements."""
        return x.cast(uint32).max(a), x.max(a).cast(uint32)

    shown_at_every_rank(
        shifted,
        shifted_and_fitting,
        widened,
        widened_integers,
        narrowed_sums,
        de_morgan,
        chosen,
        of_nothing,
    )


def test_ops_that_are_none_do_not() -> None:
    @rule(dtypes=[int8])
    def wraps(x: Tensor, c: Const, a: Axes):
        given(where(a, x.shape, 1) >= 1)
        return (x + c).max(a), x.max(a) + c

    @rule(dtypes=[int8])
    def of_nothing(x: Tensor, a: Axes):
        """The least value of 8 bits is not that of 32."""
        return x.cast(int32).max(a), x.max(a).cast(int32)

    @rule(dtypes=[int8])
    def not_of_these_axes(x: Tensor, a: Axes, b: Axes):
        given(where(b, x.shape, 1) >= 1)
        return x.cast(int32).max(a), x.max(a).cast(int32)

    @rule(dtypes=[int32])
    def reversed_order(x: Tensor, a: Axes):
        given(where(a, x.shape, 1) >= 1)
        return (-x).max(a), -x.max(a)

    @rule(dtypes=[int32])
    def widened_sum(x: Tensor[int8], a: Axes):
        return x.sum(a).cast(int32), x.cast(int32).sum(a)

    @rule(dtypes=[int8])
    def of_two_shapes(c: Bool, x: Tensor, y: Tensor, a: Axes):
        return where(c, x.sum(a), y.sum(a)), where(c, x, y).sum(a)

    refuted(wraps, of_nothing, not_of_these_axes, reversed_order, of_two_shapes)
    assert not is_planned(widened_sum)


def test_a_choice_between_folds_folds_both() -> None:
    @rule(dtypes=[int8])
    def outside(c: Bool, x: Tensor, i: Value[index], j: Value[index], a: Axes):
        """Where c holds, the left side does not read at j, and the right side does, if need be outside."""
        return where(c, x.index(i), x.index(j)).sum(a), where(c, x.index(i).sum(a), x.index(j).sum(a))

    @rule(dtypes=[int8])
    def inside(c: Bool, x: Tensor, i: Value[index], j: Value[index], a: Axes):
        given(x.index(i).shape == x.index(j).shape)
        return where(c, x.index(i).sum(a), x.index(j).sum(a)), where(c, x.index(i), x.index(j)).sum(a)

    assert prove_layer(outside, int8, derive=False).verdict == "refuted"
    shown_at_every_rank(inside)


def test_what_stands_outside_on_both_sides_is_taken_off_as_before() -> None:
    @rule(dtypes=[int32])
    def two_maxima(x: Tensor, y: Tensor, a: Axes):
        given(x.shape == y.shape)
        return maximum(x.flip(a).max(a), y.max(a)), maximum(x, y).max(a)

    @rule(dtypes=[int32])
    def nothing_folded(x: Tensor, a: Axes, m: Monoid):
        given(no_axes(a))
        return -x.reduce(m, a), -x

    shown_at_every_rank(two_maxima, nothing_folded)
