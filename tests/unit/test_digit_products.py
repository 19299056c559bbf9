"""Products of digits with strides: the lemma holds of all integers, and what is learned decides strided pads."""

from itertools import product

import pytest

from soundline.spec.dtypes import int32
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import Size, Tensor
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.formulas import holds
from soundline.verify.smt.integers.polynomials import ONE, Poly
from soundline.verify.smt.proving import instances
from soundline.verify.smt.proving.digit_products import compared
from soundline.verify.smt.proving.instances import Court, Instance

A, B, W = (Poly.of(name) for name in "abw")


def test_the_lemma_holds_of_all_small_integers() -> None:
    for e, w in ((A, W), (A - B * W, W), (A - B - ONE, W), (A * W - B, B), (A, A), (A - B, W * B)):
        for a, b, n in product(range(-4, 5), range(-4, 5), range(-2, 4)):
            assert holds(compared(e, w), {"a": a, "b": b, "w": n}, {}), (e, w, a, b, n)


def test_the_lemma_says_how_far_a_product_is_from_zero() -> None:
    """With any other number in the place of the product it fails where the stride is positive."""
    for a, n in product(range(-3, 4), range(1, 4)):
        for wrong in (-n + 1, n - 1, 0) if a else (1, -1):
            if (a > 0 and wrong >= n) or (a < 0 and wrong <= -n):
                continue
            said = compared(A, W)
            apart = {"a": a, "w": n, "a·w": wrong}
            assert not _holds_with_product(said, apart), (a, n, wrong)


def _holds_with_product(formula: object, values: dict[str, int]) -> bool:
    """The truth of a formula where the monomial a·w is a number of its own."""
    from soundline.verify.smt.integers.formulas import mapped

    apart = mapped(
        formula, lambda p: Poly({(("a·w",) if m == ("a", "w") else m): n for m, n in p.terms.items()})
    )  # type: ignore[arg-type]
    return holds(apart, values, {})


@rule
def dilation_of_padding(x: Tensor["n"], n: Size, a: Size, s: Size, t: Size, k: Size):  # noqa: F821
    given(n >= 1, k >= 1)
    return x.pad((a,), (s,)).pad((0,), (t,), (k,)), x.pad((a * k,), (t,), (k,))


@rule
def dilation_of_another_padding(x: Tensor["n"], n: Size, a: Size, s: Size, t: Size, k: Size):  # noqa: F821
    given(n >= 1, k >= 1, a >= 1, t > a + (n - 1) * k)
    return x.pad((a,), (s,)).pad((0,), (t,), (k,)), x.pad((a,), (t,), (k,))


def judged(stated: Rule) -> str:
    (goal,) = goals(stated, int32)
    return Instance(goal, Court(Budget(rlimit=1_000_000)).without_refutations()).judge().verdict


def test_what_is_learned_decides_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(dilation_of_padding) == "proved"
    assert judged(dilation_of_another_padding) == "unknown"
    monkeypatch.setattr(instances, "learn_of_products", lambda reader, leaf: False)
    assert judged(dilation_of_padding) == "unknown"
