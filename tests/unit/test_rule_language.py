"""The words of the rule language: what they are recorded as, how they are shown, and what they refuse."""

from __future__ import annotations

import pytest

from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.choices import axes
from soundline.spec.rules.notation import show
from soundline.spec.rules.ranges import Body, Range, max_over, prod_over, reduce_over, sum_over
from soundline.spec.rules.terms import Axes, Flags, Monoid, Perm, Tensor, Value, conjuncts, rebuilt
from soundline.spec.rules.vocabulary import all_axes, disjoint, identity, no_axes, stack, subset

x, y, i = Tensor("var", ("x",)), Tensor("var", ("y",)), Value("var", ("i",))
a, b, p, f = Axes("var", ("a",)), Axes("var", ("b",)), Perm("var", ("p",)), Flags("var", ("f",))
m, r, s, g = Monoid("var", ("m",)), Range("var", ("r",)), Range("var", ("s",)), Body("var", ("g",))

SHOWN = {
    "(a | b)": a | b,
    "(a & b)": a & b,
    "(a - b)": a - b,
    "(a ^ b)": a ^ b,
    "~a": ~a,
    "a.permute(p)": a.permute(p),
    "(~a).permute((1, 0))": (~a).permute((1, 0)),
    "(a - (0,))": a - axes(0),
    "(a == (0, -1))": a == (0, -1),
    "no_flags((a & b))": disjoint(a, b),
    "no_flags((a - b))": subset(a, b),
    "no_flags(a)": no_axes(a),
    "no_flags(~a)": all_axes(a),
    "x.flip(a)": x.flip(a),
    "x.sum(a)": x.sum(a),
    "x.max((0, 1))": x.max((0, 1)),
    "x.prod((-1,))": x.prod(-1),
    "x.reduce(m, a)": x.reduce(m, a),
    "(-x).sum(a)": (-x).sum(a),
    "m(x, y)": m(x, y),
    "identity(m)": identity(m),
    "x.index(i, 3)": x.index(i, 3),
    "stack(i, 0)": stack(i, 0),
    "sum_over(r, (g(r) * i))": sum_over(r, g(r) * i),
    "max_over(r, g(r))": max_over(r, g(r)),
    "prod_over((r, s), g(r, s))": prod_over((r, s), g(r, s)),
    "reduce_over(m, r, g((r + 1)))": reduce_over(m, r, g(r + 1)),
    "fresh(4)": Range("fresh", (Value("literal", (4,)), 1)),
    "fresh(i, 2)": Range("fresh", (i, 2)),
}


@pytest.mark.parametrize("text", SHOWN)
def test_a_term_is_shown_as_it_is_written(text: str) -> None:
    assert show(SHOWN[text]) == text


def test_sets_of_axes_stay_sets() -> None:
    for made in (a | b, a & b, a - b, a ^ b, ~a, a.permute(p), axes(2), axes((0, 1))):
        assert type(made) is Axes
    assert type(f ^ f) is Flags


REFUSED = {
    "a number for flags": (lambda: x.flip((0,)), "a bool for each axis is needed, not (0,)"),
    "flags for axes": (lambda: x.sum(f), "a set of axes is needed, not f"),
    "no numbers": (lambda: x.sum((True,)), "a set of axes is needed, not (True,)"),
    "union with flags": (lambda: a | f, "a set of axes is needed, not f"),
    "no reduction": (lambda: x.reduce(Op.Sub, a), "uses a Monoid"),
    "an op in the place of a monoid": (lambda: identity(i), "uses a Monoid"),
    "reduction over a value": (lambda: sum_over(i, i), "a reduction is over ranges, not over i"),
    "reduction over a size": (lambda: sum_over((r, 4), i), "a reduction is over ranges, not over 4"),
    "an empty stack": (stack, "joins at least one value"),
    "no truth value": (lambda: bool(disjoint(a, b)), "has no truth value"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_word_is_refused(what: str) -> None:
    say, message = REFUSED[what]
    with pytest.raises(RuleError) as refusal:
        say()
    assert message in str(refusal.value)
    assert refusal.value.hint


def test_conditions_are_taken_apart_in_their_order() -> None:
    x, y = Value("var", ("x",)), Value("var", ("y",))
    every = Value("var", ("p",)) & ((x < 1) & (y < 2)) & (x < y)
    assert list(map(show, conjuncts(every, x == 0))) == ["p", "(x < 1)", "(y < 2)", "(x < y)", "(x == 0)"]
    one_or_other = (x < 1) | (y < 2)
    assert list(conjuncts(one_or_other)) == [one_or_other]
    assert list(conjuncts()) == []


def test_a_term_is_rebuilt_only_where_something_changes() -> None:
    x, y = Value("var", ("x",)), Value("var", ("y",))
    whole = (x + 1) * y
    assert rebuilt(whole, lambda part: part) is whole
    made = rebuilt(whole, lambda part: x if part is y else part)
    assert show(made) == "((x + 1) * x)"
    assert type(made) is type(whole)
    assert made.args[0] is whole.args[0]
