"""Words of the rule language that no op is: what they say in conditions and in the engine, and how they are shown."""

from __future__ import annotations

import pytest

from soundline.impl.analysis.facts import Facts
from soundline.impl.matching.matcher import patterns_of
from soundline.spec.dtypes import bool_, float32, index, int8, uint8
from soundline.spec.errors import IllFormed, RuleError, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.evaluation.strides import of_sizes
from soundline.spec.ops.node import Op
from soundline.spec.rules.building import Env, build
from soundline.spec.uop import const, param, tensor
from soundline.verify import (
    Bool,
    Const,
    Offset,
    Shape,
    Size,
    Tensor,
    Value,
    concat,
    fill,
    given,
    ints,
    invalid,
    is_power_of_two,
    maximum,
    minimum,
    rule,
    where,
)
from soundline.verify import (
    index as index_dtype,
)
from soundline.verify.judging.judge import prove_layer

X = Value("var", ("x",))
Y = Value("var", ("y",))


def value_of(term, dtype, **values):
    bound = {name: const(value, dtype) for name, value in values.items()}
    return evaluate(build(term, Env(dtype, bound)), {}).item()


@pytest.mark.parametrize(
    ("dtype", "x", "y", "least"),
    [
        (int8, -128, 127, -128),
        (uint8, 0, 255, 0),
        (index, -(10**30), 1, -(10**30)),
        (bool_, True, False, False),
        (float32, 2.0, 1.0, 1.0),
    ],
)
def test_minimum(dtype, x, y, least):
    assert value_of(minimum(X, Y), dtype, x=x, y=y) == least
    assert value_of(minimum(X, Y), dtype, x=y, y=x) == least


def test_minimum_of_floats_that_a_choice_gets_wrong():
    nan = float("nan")
    assert value_of(minimum(X, Y), float32, x=nan, y=1.0) != value_of(X, float32, x=1.0)
    assert str(value_of(minimum(X, Y), float32, x=0.0, y=-0.0)) == "-0.0"
    assert str(value_of(minimum(X, Y), float32, x=1.0, y=nan)) == "nan"


def test_magnitude():
    assert value_of(abs(X), int8, x=-128) == -128
    assert value_of(abs(X), uint8, x=200) == 200
    assert str(value_of(abs(X), float32, x=-0.0)) == "0.0"


def test_powers():
    assert value_of(X**3, int8, x=5) == 125
    assert value_of(X**3, int8, x=6) == 216 - 256
    assert value_of(X**0, index, x=0) == 1
    assert value_of(X**2.0, float32, x=3.0) == 9.0
    assert value_of(2**X, float32, x=3.0) == 8.0
    with pytest.raises(RuleError, match="power -1"):
        value_of(X**-1, int8, x=1)
    with pytest.raises(IllFormed) as refusal:
        value_of(X**Y, int8, x=1, y=2)
    assert refusal.value.rule == "uop-pow-c3"


def test_bits():
    assert value_of(~X, int8, x=5) == -6
    assert value_of(~X, uint8, x=5) == 250
    assert value_of(~X, bool_, x=True) is False
    for dtype in (index, float32):
        with pytest.raises(IllFormed):
            value_of(~X, dtype, x=1)


@pytest.mark.parametrize("dtype", [int8, uint8, index])
def test_powers_of_two(dtype):
    found = [
        n for n in range(-1 if dtype is not uint8 else 0, 100) if value_of(is_power_of_two(X), dtype, x=n)
    ]
    assert found == [1, 2, 4, 8, 16, 32, 64]
    assert not value_of(is_power_of_two(X), int8, x=-128)
    assert not value_of(is_power_of_two(X), index, x=2**64 + 1)
    assert [n for n in range(58, 68) if value_of(is_power_of_two(X), index, x=2**n)] == [*range(58, 63)]


def test_what_is_invalid():
    chosen = where(Bool("var", ("c",)), X, invalid)
    for c in (True, False):
        env = Env(float32, {"c": const(c, bool_), "x": const(2.0, float32)})
        if c:
            assert evaluate(build(chosen, env), {}).item() == 2.0
        else:
            with pytest.raises(SoundlineError, match="valid"):
                evaluate(build(chosen, env), {})


def _placed(x, offset, shape, stride, fill_=None):
    a, s, k = (Offset("var", (n,)) for n in "ask")
    term = Tensor("var", ("x",)).pad(a, s, k, fill=fill_)
    bound = {"x": x, "a": offset, "s": shape, "k": stride}
    return evaluate(build(term, Env(x.dtype, bound)), {})


def test_pads_with_a_stride_and_a_fill():
    x = tensor([[1, 2], [3, 4]])
    assert _placed(x, (1, 0), (4, 4), (2, 3)).elements == (0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 4)
    assert _placed(tensor([1, 2]), (1,), (6,), (3,), fill_=7).elements == (7, 1, 7, 7, 2, 7)
    assert _placed(tensor([1, 2]), (0,), (2,), (1,)).elements == (1, 2)


@pytest.mark.parametrize(
    ("offset", "shape", "stride"), [((1,), (4,), (3,)), ((0,), (6,), (0,)), ((-1,), (6,), (2,))]
)
def test_pads_with_a_stride_that_do_not_fit(offset, shape, stride):
    with pytest.raises(IllFormed):
        _placed(tensor([1, 2]), offset, shape, stride)


def test_slices_with_a_stride():
    a, s, k = (Offset("var", (n,)) for n in "ask")
    term = Tensor("var", ("x",)).shrink(a, s, k)

    def kept(offset, shape, stride):
        bound = {"x": tensor(list(range(7))), "a": offset, "s": shape, "k": stride}
        return evaluate(build(term, Env(int8, bound)), {}).elements

    assert kept((0,), (3,), (3,)) == (0, 3, 6)
    assert kept((2,), (3,), (2,)) == (2, 4, 6)
    assert kept((6,), (1,), (5,)) == (6,)
    for wrong in (((1,), (3,), (3,)), ((0,), (1,), (0,)), ((-1,), (1,), (2,))):
        with pytest.raises(IllFormed):
            kept(*wrong)


def test_concatenation_and_fill():
    x, y = (Tensor("var", (n,)) for n in "xy")
    bound = {"x": tensor([[1, 2]]), "y": tensor([[3], [4]])}
    with pytest.raises(IllFormed):
        build(concat(x, y, 1), Env(int8, bound))
    bound["y"] = tensor([[3]])
    assert evaluate(build(concat(x, y, 1), Env(int8, bound)), {}).elements == (1, 2, 3)
    assert evaluate(build(fill(5, (2, 2)), Env(int8, {})), {}).elements == (5, 5, 5, 5)


def test_vectors_by_axis():
    s, t = Shape("var", ("s",)), Shape("var", ("t",))
    env = Env(int8, {"x": tensor([0] * 6), "s": (5,), "t": (3,)})
    x = Tensor("var", ("x",))
    for size, shape in ((5, maximum(s, t)), (3, minimum(s, t)), (1, s // t), (2, s % t)):
        assert build(x.shrink(0, shape), env).shape == (size,)


# The engine -------------------------------------------------------------------------------------------------------


@rule(dtypes=ints)
def not_of_not(x: Value):
    return ~~x, x


@rule(dtypes=[int8, float32])
def least_of_itself(x: Value):
    return minimum(x, x), x


@rule(dtypes=ints)
def remainder(x: Value, c: Const):
    given(is_power_of_two(c))
    return x % c, x & (c - 1)


@rule(dtypes=[int8])
def as_bits(x: Value):
    return -1 - x, ~x


def rewritten(stated, node):
    facts = Facts()
    for pattern in patterns_of(stated):
        env = pattern.match(node, facts)
        if env is not None:
            return build(stated.right, env, node)
    return None


def test_the_engine_matches_words_by_dtype():
    x = param(0, int8)
    once = Op.Xor(x, const(-1, int8))
    assert rewritten(not_of_not, Op.Xor(once, const(-1, int8))) is x
    assert rewritten(not_of_not, Op.Xor(once, const(1, int8))) is None
    assert rewritten(least_of_itself, Op.Where(Op.CmpLt(x, x), x, x)) is x
    y = param(0, float32)
    assert rewritten(least_of_itself, Op.Neg(Op.Max(Op.Neg(y), Op.Neg(y)))) is y
    assert rewritten(least_of_itself, Op.Max(y, y)) is None
    assert rewritten(as_bits, Op.Sub(const(-1, int8), x)) is once


@pytest.mark.parametrize(("c", "holds"), [(8, True), (12, False), (1, True), (0, False), (-128, False)])
def test_the_engine_decides_powers_of_two(c, holds):
    x = param(0, int8)
    found = rewritten(remainder, Op.Mod(x, const(c, int8)))
    assert (found is not None) == holds


def test_a_condition_on_the_bits_of_a_constant_is_not_one_on_its_truth():
    @rule(dtypes=[int8])
    def only_of_minus_one(x: Value, c: Const):
        given(~c == 0)
        return x & c, x

    x = param(0, int8)
    assert prove_layer(only_of_minus_one, int8).verdict == "proved"
    assert rewritten(only_of_minus_one, Op.And(x, const(-1, int8))) is x
    assert rewritten(only_of_minus_one, Op.And(x, const(5, int8))) is None


def test_what_the_engine_cannot_match_is_said():
    @rule
    def strided(x: Tensor, a: Offset, s: Shape, stride: Size):
        return x.shrink(a, s, stride), x.shrink(a, s, stride)

    with pytest.raises(RuleError, match="does not determine stride"):
        patterns_of(strided)


def test_words_are_shown_as_they_are_written():
    x, c = Value("var", ("x",)), Bool("var", ("c",))
    assert str(minimum(x, 3)) == "minimum(x, 3)"
    assert str(abs(x)) == "abs(x)"
    assert str(x**2) == "(x ** 2)"
    assert str(x.sin()) == "x.sin()"
    assert str(invalid) == "invalid"
    assert str(~c) == "~c"
    assert str(is_power_of_two(x)) == "is_power_of_two(x)"
    assert str(Tensor("var", ("t",)).shrink(0, (3,), 2)) == "t.shrink(0, (3,), 2)"
    assert index_dtype is index


@pytest.mark.parametrize(("op", "found"), [(Op.Idiv, 3), (Op.Mod, 1), (Op.Max, 7)])
def test_an_op_on_sizes_is_a_number_only_of_numbers(op, found):
    assert of_sizes(op, 7, 2) == found
    n = param(0, index)
    for x, y in ((n, 2), (7, n), (n, n)):
        made = of_sizes(op, x, y)
        numbers = [7 if x is n else x, 2 if y is n and x is not n else 7 if y is n else y]
        given = {0: 7 if x is n else 2}
        assert evaluate(made, given).item() == of_sizes(op, *numbers)
