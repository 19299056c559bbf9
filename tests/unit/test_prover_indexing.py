"""What is read at computed positions: flat indices, elements of dtype index, masks, and what is never valid."""

# ruff: noqa: F821  (the strings in the brackets of a Tensor name sizes)

import pytest

from soundline.spec.rules.language import Rule
from soundline.verify import (
    Bool,
    Offset,
    Shape,
    Size,
    Tensor,
    Value,
    bool_,
    float32,
    given,
    index,
    int8,
    int32,
    rule,
    stack,
    where,
)
from soundline.verify.judging.judge import prove


def verdicts(*rules: Rule) -> set[str]:
    return {prove(stated).verdict for stated in rules}


def everywhere(x: Tensor) -> Value:
    """True at every position, NaN or not."""
    return (x == x) | (x != x)


def filled(x: Tensor, a: Offset, s: Shape, v: Value) -> Value:
    """A padding with something else than zeros."""
    return where(everywhere(x).pad(a, s), x.pad(a, s), v)


def test_flat_indices_are_quotients_and_remainders() -> None:
    @rule
    def row_and_column(x: Tensor["m", "n"], m: Size, n: Size, i: Value[index]):
        given(i >= 0, i < m * n)
        return x.reshape((m * n,)).index(i), x.index(i // n, i % n)

    @rule
    def repeated_rows(x: Tensor["n"], n: Size, k: Size, i: Value[index]):
        given(i >= 0, i < k * n)
        return x.reshape((1, n)).expand((k, n)).reshape((k * n,)).index(i), x.index(i % n)

    @rule
    def repeated_elements(x: Tensor["n"], n: Size, k: Size, i: Value[index]):
        given(i >= 0, i < n * k)
        return x.reshape((n, 1)).expand((n, k)).reshape((n * k,)).index(i), x.index(i // k)

    assert verdicts(row_and_column, repeated_rows, repeated_elements) == {"proved"}

    @rule
    def column_and_row(x: Tensor["m", "n"], m: Size, n: Size, i: Value[index]):
        given(i >= 0, i < m * n)
        return x.reshape((m * n,)).index(i), x.index(i // m, i % m)

    @rule
    def other_repetition(x: Tensor["n"], n: Size, k: Size, i: Value[index]):
        given(i >= 0, i < k * n)
        return x.reshape((1, n)).expand((k, n)).reshape((k * n,)).index(i), x.index(i // k)

    assert verdicts(column_and_row, other_repetition) == {"refuted"}


def test_elements_of_dtype_index_at_one_position_are_one_number() -> None:
    @rule(dtypes=[index])
    def rows(x: Tensor["m", "n"], n: Size):
        given(x.shape[0] >= 2)
        return stack(x.index(0), x.index(1)), x.shrink((0, 0), (2, n))

    @rule(dtypes=[index])
    def from_the_end(x: Tensor["n"], n: Size, i: Value[index]):
        given(-n <= i, i < n)
        return where(i < 0, x.index(where(i < 0, i + n, 0)), x.index(where(i < 0, 0, i))), x.index(i % n)

    assert verdicts(rows, from_the_end) == {"proved"}

    @rule(dtypes=[index])
    def rows_exchanged(x: Tensor["m", "n"], n: Size):
        given(x.shape[0] >= 2)
        return stack(x.index(1), x.index(0)), x.shrink((0, 0), (2, n))

    @rule(dtypes=[index])
    def two_inputs(x: Tensor["m"], y: Tensor["m"], i: Value[index]):
        return x.index(i), y.index(i)

    assert verdicts(rows_exchanged, two_inputs) == {"refuted"}


def test_what_equals_itself_is_a_mask() -> None:
    @rule(dtypes=[int8, float32])
    def cut_by_a_mask(x: Tensor, a: Offset, s: Shape):
        cut = x.shrink(a, s)
        return cut.pad(a, x.shape), where(everywhere(cut).pad(a, x.shape), x, 0)

    @rule(dtypes=[int8])
    def filled_twice(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value):
        return filled(filled(x, a, s, v), b, t, v), filled(x, a + b, t, v)

    @rule(dtypes=[int8, int32, index, bool_])
    def itself(x: Tensor, a: Offset, s: Shape):
        return (x == x).pad(a, s), ((x != x) == (x > x)).pad(a, s)

    assert verdicts(cut_by_a_mask, filled_twice, itself) == {"proved"}

    @rule(dtypes=[float32])
    def itself_or_nan(x: Tensor, c: Bool, y: Tensor):
        given(x.shape == y.shape)
        return where(x == x, x, y), x

    @rule(dtypes=[int8])
    def filled_with_two(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape, v: Value, w: Value):
        return filled(filled(x, a, s, v), b, t, w), filled(x, a + b, t, w)

    assert verdicts(itself_or_nan, filled_with_two) == {"refuted"}


def test_what_is_never_valid_says_nothing() -> None:
    @rule
    def of_nothing(x: Tensor[0], y: Tensor["n"], i: Value[index]):
        return x.index(i), y.index(0)

    @rule
    def before_the_first(x: Tensor["n"], y: Tensor["m"]):
        return x.index(-1), y.index(0)

    @rule
    def in_two_places(x: Tensor["n"], n: Size, i: Value[index]):
        return x.index(i) == x.index(i + n), x.index(i) == x.index(i)

    for stated in (of_nothing, before_the_first, in_two_places):
        report = prove(stated)
        assert report.verdict == "vacuous"
        assert {layer.detail for layer in report.layers} == {"the left side is never valid"}

    @rule
    def first_of_some(x: Tensor["n"], y: Tensor["n"]):
        return x.index(0), y.index(0)

    assert prove(first_of_some).verdict == "refuted"


@pytest.mark.parametrize("dtype", [int32, float32])
def test_a_right_side_of_another_shape_is_refuted_without_asking_for_conditions(dtype: object) -> None:
    @rule(dtypes=[dtype], licences="reassociate" if dtype is float32 else ())
    def one_sum(x: Tensor, y: Tensor):
        return x.sum(0) + y.sum(0), (x + y).sum(0)

    (layer,) = prove(one_sum).layers
    assert (layer.verdict, layer.holds_when) == ("refuted", ())
    assert layer.counterexample is not None
    assert layer.counterexample.note == "the left side is valid, the right side is not"


def test_a_wrong_gather_is_shown_by_indices_that_lie_inside() -> None:
    @rule
    def exchanged(x: Tensor["n"], i: Tensor[index, "n"], j: Tensor[index, "n"]):
        return x.index(i).index(j), x.index(j.index(i))

    @rule
    def flipped(x: Tensor["n"], i: Tensor[index, "k"]):
        return x.index(i).flip((True,)), x.flip((True,)).index(i)

    assert verdicts(exchanged, flipped) == {"refuted"}

    @rule
    def composed(x: Tensor["n"], i: Tensor[index, "n"], j: Tensor[index, "n"]):
        return x.index(i).index(j), x.index(i.index(j))

    @rule
    def flipped_indices(x: Tensor["n"], i: Tensor[index, "k"]):
        return x.index(i).flip((True,)), x.index(i.flip((True,)))

    assert verdicts(composed, flipped_indices) == {"proved"}
