"""Rules about tensors that are rules about their elements, and what is plain at every rank."""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

from typing import Any

import pytest

from soundline.spec.rules.language import Rule
from soundline.verify import (
    Axes,
    Const,
    Flags,
    Monoid,
    Perm,
    Shape,
    Size,
    Tensor,
    Value,
    bool_,
    fits,
    float16,
    float32,
    given,
    index,
    int8,
    int16,
    int32,
    maximum,
    no_flags,
    product,
    rule,
    uint32,
    where,
)
from soundline.verify.judging.judge import prove
from soundline.verify.smt.ranks.elements import about_elements


def clamp(low: Any, x: Any, high: Any) -> Any:
    held = where(x < high, x, high)
    return where(held < low, low, held)


def verdicts(*rules: Rule) -> set[str]:
    return {prove(stated).verdict for stated in rules}


def test_what_holds_of_scalars_holds_of_elements() -> None:
    @rule(dtypes=[int8])
    def twice(x: Tensor, a: Value, b: Value):
        return clamp(a, clamp(a, x, b), b), clamp(a, x, b)

    @rule(dtypes=[int8])
    def within(x: Tensor, a: Value, b: Value, c: Value, d: Value):
        given(a <= b, c <= d, a <= c, d <= b)
        return clamp(c, clamp(a, x, b), d), clamp(c, x, d)

    @rule(dtypes=[int16])
    def saturated(x: Tensor["n"]):
        return clamp(-128, x, 127).cast(int8).cast(int16), clamp(-128, x, 127)

    @rule(dtypes=[float16])
    def magnitude(x: Tensor):
        size = where(x < 0, -x, x)
        return where(size < 0, x * 0, size), size

    @rule(dtypes=[int32])
    def quotient(x: Tensor, c: Const):
        given(c > 0, fits(x * c))
        return (x * c) // c, x

    assert verdicts(twice, within, saturated, magnitude, quotient) == {"proved"}
    (layer,) = prove(within).layers
    assert layer.covered.startswith("every rank, all sizes, each element alone")


def test_conditions_on_shapes_are_not_forgotten() -> None:
    @rule(dtypes=[int8])
    def never(x: Tensor, a: Value, b: Value):
        given(a < b, b < a)
        return clamp(a, x, b), clamp(b, x, a)

    @rule(dtypes=[int8])
    def of_no_shape(x: Tensor, a: Value, b: Value):
        given(x.shape < 0)
        return clamp(a, clamp(a, x, b), b), clamp(a, x, b)

    @rule(dtypes=[int8])
    def of_empty_tensors(x: Tensor["n"], n: Size, a: Value, b: Value):
        given(n < 1)
        return clamp(a, clamp(a, x, b), b), clamp(a, x, b)

    assert verdicts(never, of_no_shape, of_empty_tensors) == {"vacuous"}


def test_tensors_of_other_shapes_are_not_elements_at_one_position() -> None:
    @rule(dtypes=[int8])
    def another_shape(x: Tensor, y: Tensor, a: Value):
        return x * a, x * (y + a) - x * y

    @rule(dtypes=[int8])
    def moved(x: Tensor, f: Flags):
        return x.flip(f) + x, x + x.flip(f)

    @rule(dtypes=[int8])
    def wrong(x: Tensor, a: Value, b: Value):
        return clamp(a, x, b), clamp(b, x, a)

    assert about_elements(another_shape) is None
    assert about_elements(moved) is None
    assert verdicts(another_shape, wrong) == {"refuted"}

    @rule(dtypes=[int8])
    def known_shape(x: Tensor, y: Tensor, a: Value):
        given(x.shape == y.shape)
        return x * a, x * (y + a) - x * y

    assert verdicts(known_shape) == {"proved"}


def test_a_bitcast_to_as_many_bytes_is_an_op_like_others() -> None:
    @rule(dtypes=[int32, float32])
    def there_and_back(x: Tensor, p: Perm):
        return x.bitcast(uint32).permute(p).bitcast(x.dtype), x.permute(p)

    assert {layer.covered[:10] for layer in prove(there_and_back).layers} == {"every rank"}

    @rule(dtypes=[int32, float32])
    def there(x: Tensor, p: Perm):
        return x.bitcast(uint32).permute(p).bitcast(int32), x.permute(p).cast(int32)

    assert {layer.layer: layer.verdict for layer in prove(there).layers} == {
        "bit-precise int32": "proved",
        "IEEE float32": "refuted",
    }


@pytest.mark.thorough
def test_digits_of_a_size_that_is_a_product_are_found_in_products_with_it() -> None:
    @rule
    def shuffled_and_back(x: Tensor["n"], n: Size, a: Size, b: Size):
        given(n == a * b)
        turned = x.reshape((a, b)).permute((1, 0)).reshape((n,))
        return turned.reshape((b, a)).permute((1, 0)).reshape((n,)), x

    @rule
    def shuffled_twice(x: Tensor["n"], n: Size, a: Size, b: Size):
        given(n == a * b)
        turned = x.reshape((a, b)).permute((1, 0)).reshape((n,))
        return turned.reshape((a, b)).permute((1, 0)).reshape((n,)), x

    assert [prove(stated).verdict for stated in (shuffled_and_back, shuffled_twice)] == ["proved", "refuted"]


def test_flags_joined_with_themselves_are_what_they_are() -> None:
    @rule(dtypes=[index, int32])
    def none_and_none(x: Tensor, f: Axes, a: Axes):
        given(no_flags(f & f))
        return x.flip(f).sum(a), x.sum(a).flip(f)

    @rule(dtypes=[int32])
    def none_in_either(m: Monoid, x: Tensor, f: Axes, g: Axes, a: Axes):
        given(no_flags(f | g))
        return x.flip(f).reduce(m, a), x.reduce(m, a).flip(g)

    assert verdicts(none_and_none, none_in_either) == {"proved"}

    @rule
    def none_in_both(x: Tensor, f: Flags, g: Axes, h: Axes):
        given(no_flags(g & h))
        return x.flip(f).flip(g), x.flip(f)

    assert verdicts(none_in_both) == {"refuted"}


def test_sides_that_are_one_term_say_nothing() -> None:
    @rule(dtypes=[bool_, int8])
    def one_term(x: Tensor, c: Const, a: Axes):
        return maximum(x, c).prod(a), maximum(x, c).prod(a)

    assert {(layer.verdict, layer.detail) for layer in prove(one_term).layers} == {
        ("vacuous", "both sides are the same term")
    }


def test_copies_that_are_as_many_are_no_copies() -> None:
    @rule
    def as_many(x: Tensor, s: Shape):
        given(product(s) == product(x.shape), product(s) > 0)
        return x.expand(s), x

    @rule
    def as_many_or_none(x: Tensor, s: Shape):
        given(product(s) == product(x.shape))
        return x.expand(s), x

    @rule
    def as_many_as_another(x: Tensor, s: Shape, t: Shape):
        given(product(t) == product(x.shape), product(s) > 0)
        return x.expand(s), x

    assert [prove(r).verdict for r in (as_many, as_many_or_none, as_many_as_another)] == [
        "proved",
        "refuted",
        "refuted",
    ]
