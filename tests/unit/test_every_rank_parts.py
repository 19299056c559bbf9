"""Reductions inside two sides that are shown to be one, so that an input stands for both."""

from soundline.spec.dtypes import DType, index, int32
from soundline.spec.rules.language import Rule, disjoint, given, rule
from soundline.spec.rules.ranks import rank_classes
from soundline.spec.rules.terms import Axes, Monoid, Tensor, Value, show
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving.instances import Court
from soundline.verify.smt.ranks.parts import with_equal_reductions_named


def named(stated: Rule, dtype: DType = int32) -> list[Rule]:
    court = Court(Budget())
    return [r for r, _ in with_equal_reductions_named(stated, rank_classes(stated), (dtype,), court)]


def test_folds_that_are_one_become_an_input() -> None:
    @rule(dtypes=[int32])
    def flipped(x: Tensor, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.flip(a).sum(a).max(b), x.sum(a).flip(b).max(b)

    (found,) = named(flipped)
    (text,) = (n for n in found.kinds if n.startswith("<"))
    assert show(found.left) == f"{text}.max(b)"
    assert show(found.right) == f"{text}.flip(b).max(b)"
    assert f"{text}.shape == where(a, 1, x.flip(a).shape)" in show(found.given[-1])


def test_one_pair_after_another_is_named() -> None:
    @rule(dtypes=[int32])
    def thrice(x: Tensor, a: Axes, b: Axes, c: Axes):
        given(disjoint(a, b), disjoint(b, c), disjoint(a, c))
        return x.flip(a).sum(a).max(b).prod(c), x.sum(a).flip(b).max(b).flip(c).prod(c)

    assert len(named(thrice)) == 2


def test_folds_that_differ_are_left_alone() -> None:
    @rule(dtypes=[int32])
    def other_axes(x: Tensor, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.flip(a).sum(a).max(b), x.sum(b).flip(b).max(b)

    @rule(dtypes=[int32])
    def other_op(x: Tensor, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.flip(a).sum(a).max(b), x.prod(a).flip(b).max(b)

    @rule(dtypes=[int32])
    def axes_of_one_element(x: Tensor, a: Axes, b: Axes):
        return x.flip(a).sum(a).sum(b).max(b), x.sum(a).flip(b).sum(b - a).max(b)

    assert not named(other_axes)
    assert not named(other_op)
    for stated in (other_axes, other_op):
        assert prove(stated).verdict == "refuted"
    assert prove(axes_of_one_element).verdict == "proved"  # what is reduced by a has one element there


def test_what_may_be_invalid_is_no_input() -> None:
    """The maximum of no indices is none; nor is it known of a variable op which it is."""

    @rule(dtypes=[index])
    def of_maxima(x: Tensor, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.flip(a).max(a).sum(b), x.max(a).flip(b).sum(b)

    @rule(dtypes=[index])
    def of_any(x: Tensor, m: Monoid, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.flip(a).reduce(m, a).sum(b), x.reduce(m, a).flip(b).sum(b)

    assert not named(of_maxima, index)
    assert not named(of_any, index)
    assert len(named(of_maxima)) == len(named(of_any)) == 1


def test_a_part_that_is_moved_is_named_with_its_move() -> None:
    @rule(dtypes=[int32])
    def moved(x: Tensor, a: Axes, b: Axes):
        given(disjoint(a, b))
        return x.flip(b).sum(a).max(b), x.sum(a).flip(b).max(b)

    def texts(found: Rule) -> tuple[str, str]:
        return show(found.left), show(found.right)

    assert [texts(r) for r in named(moved)] == [("<x.flip(b).sum(a)>.max(b)", "<x.flip(b).sum(a)>.max(b)")]


def test_one_value_for_two_tensors_is_no_proof() -> None:
    """Both inner reductions are named apart: they are different tensors."""

    @rule(dtypes=[int32])
    def two(x: Tensor, y: Tensor, a: Axes, b: Axes):
        given(x.shape == y.shape, disjoint(a, b))
        left: Value = x.flip(a).sum(a).max(b) + y.sum(a).max(b)
        return left, x.sum(a).max(b) + x.sum(a).max(b)

    assert prove(two).verdict == "refuted"
