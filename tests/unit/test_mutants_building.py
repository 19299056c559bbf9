"""Building terms and declaring rules, held where several readings of a term are near each other."""

from typing import Any

import pytest

from soundline.spec.dtypes import all_dtypes, bool_, float16, float32, float64, index, int8, int16, int32
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules import building, ranks
from soundline.spec.rules.building import Env, build, build_vector
from soundline.spec.rules.instances import dtypes_of, goals
from soundline.spec.rules.language import Rule, given, inverse, rule, where
from soundline.spec.rules.terms import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Flags,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    Term,
    UnaryOp,
    Value,
    vector,
)
from soundline.spec.uop import const, param, shrink
from soundline.verify.verdicts.layers import SYMBOLIC, dtypes_in_layer, layer_name, layers_of

X, Y = Value("var", ("x",)), Value("var", ("y",))
T = Tensor("var", ("t",))
S, A = Shape("var", ("s",)), Offset("var", ("a",))
P, F, G = Perm("var", ("p",)), Flags("var", ("f",)), Flags("var", ("g",))
ONE, TWO = UnaryOp("var", ("one",)), BinaryOp("var", ("two",))

x8, y8 = param(0, int8), param(1, int8)
m, n = param(2, index), param(3, index)
t = param(4, int8, (m, n))
ENV = Env(
    int8,
    {
        "x": x8,
        "y": y8,
        "t": t,
        "s": (m, 4),
        "a": (0, m),
        "p": (1, 0),
        "f": (True, False),
        "g": (True, True),
        "one": Op.Neg,
        "two": Op.Sub,
    },
)
ZERO = const(0, index)


# values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "node"),
    [
        (ONE(X), Op.Neg(x8)),
        (TWO(X, Y), Op.Sub(x8, y8)),
        (TWO(Y, X), Op.Sub(y8, x8)),
        (TWO(X, 1), Op.Sub(x8, const(1, int8))),
        (TWO(1, X), Op.Sub(const(1, int8), x8)),
        (ONE(TWO(X, Y)), Op.Neg(Op.Sub(x8, y8))),
        (ONE(T), Op.Neg(t)),
    ],
)
def test_an_op_variable_is_applied_to_its_operands_in_order(term: Term, node: Any) -> None:
    assert build(term, ENV) is node


@pytest.mark.parametrize("wrong", [lambda: ONE("text"), lambda: TWO(X, None), lambda: TWO(P, X)])
def test_an_op_variable_is_applied_to_values(wrong: Any) -> None:
    with pytest.raises(RuleError, match="a value is needed"):
        wrong()


def test_a_number_beside_a_tensor_under_an_op_variable_is_repeated() -> None:
    built = build(TWO(T, 1), ENV)
    assert built.op is Op.Sub
    assert built.src[0] is t
    assert built.src[1].shape == (m, n)
    assert build(TWO(X, T), ENV).src[1] is t


def test_the_ways_of_a_choice_give_numbers_their_dtype_and_the_condition_does_not() -> None:
    narrow, wide = param(0, bool_), param(1, int16)
    env = Env(int8, {"c": narrow, "x": wide})
    c = Bool("var", ("c",))
    assert build(where(c, X, 7), env) is Op.Where(narrow, wide, const(7, int16))
    assert build(where(c, 7, X), env) is Op.Where(narrow, const(7, int16), wide)
    assert build(where(c, 1, 2), env) is Op.Where(narrow, const(1, int8), const(2, int8))
    assert build(where(True, X, 7), env) is Op.Where(const(True, bool_), wide, const(7, int16))
    with pytest.raises(RuleError, match="is not a bool"):
        build(where(2, X, X), env)  # type: ignore[arg-type]


def test_a_condition_over_a_tensor_repeats_the_ways() -> None:
    built = build(where(T < 0, X, 0), ENV)
    assert [s.shape for s in built.src] == [(m, n)] * 3
    assert [s.dtype for s in built.src] == [bool_, int8, int8]


# vectors ----------------------------------------------------------------------------------------------------------


def every(*conditions: Any) -> Any:
    """The conditions on each axis, joined."""
    found = conditions[0]
    for condition in conditions[1:]:
        found = Op.And(found, condition)
    return found


@pytest.mark.parametrize(
    ("term", "node"),
    [
        (where(F, A, 7) >= 0, every(Op.CmpGe(ZERO, ZERO), Op.CmpGe(const(7, index), ZERO))),
        (where(F, 7, A) >= 0, every(Op.CmpGe(const(7, index), ZERO), Op.CmpGe(m, ZERO))),
        (where(F, 0, 7) >= 0, every(Op.CmpGe(ZERO, ZERO), Op.CmpGe(const(7, index), ZERO))),
        (where(F ^ G, 0, 7) >= 0, every(Op.CmpGe(const(7, index), ZERO), Op.CmpGe(ZERO, ZERO))),
        (where(~F, 0, 7) >= 0, every(Op.CmpGe(const(7, index), ZERO), Op.CmpGe(ZERO, ZERO))),
        (where(F.permute(P), 0, 7) >= 0, every(Op.CmpGe(const(7, index), ZERO), Op.CmpGe(ZERO, ZERO))),
        (A.permute(P) >= 0, every(Op.CmpGe(m, ZERO), Op.CmpGe(ZERO, ZERO))),
        (A.permute(inverse(P)) >= 0, every(Op.CmpGe(m, ZERO), Op.CmpGe(ZERO, ZERO))),
        (
            A.permute((1, 0)) + 1 >= 0,
            every(Op.CmpGe(Op.Add(m, const(1, index)), ZERO), Op.CmpGe(const(1, index), ZERO)),
        ),
        (1 + A >= 0, every(Op.CmpGe(const(1, index), ZERO), Op.CmpGe(Op.Add(const(1, index), m), ZERO))),
        (vector(0) <= A, every(Op.CmpLe(ZERO, ZERO), Op.CmpLe(ZERO, m))),
        (vector((1, X)) > vector(0), None),
        (vector(0) < T.shape, every(Op.CmpLt(ZERO, m), Op.CmpLt(ZERO, n))),
    ],
)
def test_one_number_for_every_axis_takes_its_rank_from_what_is_beside_it(term: Term, node: Any) -> None:
    if node is not None:
        assert build(term, ENV) is node
    else:
        assert build(term, Env(index, {**ENV.bound, "x": n})).shape == ()


@pytest.mark.parametrize(
    ("term", "rank", "sizes"),
    [
        (where(F, 0, 7) + 1, None, (1, 8)),
        (where(F, 0, 7) + 1, 2, (1, 8)),
        (vector(3) + 1, 2, (4, 4)),
        (vector(3) * vector((5, 7)), None, (15, 21)),
        (vector((5, 7)).permute((1, 0)), 2, (7, 5)),
        (vector(3).permute((1, 0)), None, (3, 3)),
    ],
)
def test_a_vector_has_the_rank_that_is_given_or_that_it_has(term: Any, rank: Any, sizes: Any) -> None:
    assert build_vector(term, ENV, rank) == sizes


def test_the_rank_that_is_given_counts_before_that_of_a_part() -> None:
    """A shape that is one number beside a tensor: the tensor says for how many axes."""
    assert build(T.shrink(0, 2), ENV) is shrink(t, (0, 0), (2, 2))
    with pytest.raises(RuleError, match="needs a rank"):
        build_vector(vector(3) + 1, ENV, None)


# ranks ------------------------------------------------------------------------------------------------------------


def ranked(function: Any) -> dict[str, Any]:
    return ranks.rank_classes(rule(function))


def test_numbers_in_brackets_say_how_many_axes_there_are() -> None:
    def one_axis(x: Tensor, k: Size):
        return x.shrink((0,), (k,)), x.shrink((0,), (k,)).contiguous()

    def two_axes(x: Tensor, s: Shape, a: Offset):
        given(a >= (0, 0))
        return x.shrink(a, s), x.shrink(a, s).contiguous()

    def chosen(x: Tensor, f: Flags):
        return x.shrink(0, where(f, (1, 1, 1), 2)), x.contiguous()

    assert ranked(one_axis) == {"x": 1}
    assert ranked(two_axes) == {"x": 2, "s": 2, "a": 2}
    assert ranked(chosen) == {"x": 3, "f": 3}


def test_a_tensor_with_named_sizes_has_that_rank_and_others_have_any() -> None:
    def sized(x: Tensor["m", 3], y: Tensor, z: Tensor[bool_], n: Size):
        return x.reshape((n,)), x.reshape((n,)).contiguous()

    found = ranked(sized)
    assert found == {"x": 2, "y": "y", "z": "z"}
    assert {tuple(r.items()) for r in ranks.assignments(found, 1)} == {
        (("x", 2), ("y", j), ("z", k)) for j in (0, 1) for k in (0, 1)
    }


def test_a_variable_that_is_not_used_has_a_rank_of_its_own() -> None:
    def unused(x: Tensor, s: Shape):
        return x + 0, x

    assert ranked(unused) == {"x": "x", "s": "s"}


def test_a_clash_of_ranks_says_where_the_rule_stands() -> None:
    def clashing(x: Tensor["m"]):
        return x.permute((1, 0)), x

    with pytest.raises(RuleError, match=r"joins rank [12] with rank [12]") as refused:
        ranked(clashing)
    assert refused.value.file == __file__
    assert refused.value.line == clashing.__code__.co_firstlineno
    assert refused.value.rule == "clashing"


# declarations -----------------------------------------------------------------------------------------------------


def refused(function: Any, **options: Any) -> RuleError:
    with pytest.raises(RuleError) as error:
        rule(**options)(function)
    return error.value


def test_a_size_that_is_named_by_a_tensor_may_be_declared_before_or_after() -> None:
    @rule
    def after(x: Tensor["k", "k"], k: Size):  # noqa: F821
        return x.reshape((k, k)), x

    @rule
    def before(k: Size, x: Tensor["k", 2]):  # noqa: F821
        return x.reshape((k, 2)), x

    assert {name: kind.kind for name, kind in after.kinds.items()} == {"x": "Tensor", "k": "Size"}
    assert {name: kind.kind for name, kind in before.kinds.items()} == {"x": "Tensor", "k": "Size"}


@pytest.mark.parametrize("kind", [Value, Const, Shape, DTypeVar, Tensor])
def test_a_size_that_is_named_by_a_tensor_is_nothing_else(kind: Any) -> None:
    def before(k: kind, x: Tensor["k", 2]):  # noqa: F821
        return x + 0, x

    def after(x: Tensor["k", 2], k: kind):  # noqa: F821
        return x + 0, x

    for function in (before, after):
        error = refused(function)
        assert "k is declared twice" in error.message
        assert "Size" in error.message
        assert kind.__name__ in error.message


def test_a_tensor_whose_size_has_its_own_name_is_refused() -> None:
    def itself(x: Tensor["x"]):  # noqa: F821
        return x + 0, x

    assert "declared twice" in refused(itself).message


@pytest.mark.parametrize("name", ["x", "c", "b", "s"])
def test_a_class_of_dtypes_is_for_a_dtype_variable(name: str) -> None:
    def mixed(x: Value, c: Const, b: Bool, s: Shape, d: DTypeVar):
        return where(b, x, c), where(b, x, c)

    assert "is not a dtype variable" in refused(mixed, **{name: [int8]}).message  # type: ignore[arg-type]
    assert rule(d=[int8])(mixed).dtype_classes == {"d": (int8,)}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["x", "c", "b"])
def test_a_value_of_another_dtype_names_a_dtype_variable(name: str) -> None:
    def mixed(x: Value, c: Const, b: Bool, y: Value):
        return where(b, x + c, y), y

    mixed.__annotations__ = {"x": Value, "c": Const, "b": Bool, "y": Value[name]}
    assert "names no dtype variable" in refused(mixed).message


def test_a_refusal_names_the_rule_by_its_id() -> None:
    def plain(x: Value):
        return x

    assert refused(plain, id="a-better-name").rule == "a-better-name"
    assert refused(plain).rule == "plain"


# instances --------------------------------------------------------------------------------------------------------


def test_an_ill_typed_instance_says_where_and_what() -> None:
    @rule(dtypes=[int8], id="halves")
    def half(x: Value):
        return x, x / 2

    with pytest.raises(RuleError) as error:
        list(goals(half, int8))
    assert (error.value.file, error.value.line) == (__file__, half.line)
    assert error.value.rule.startswith("uop-")
    assert "leave that dtype out" in error.value.hint


@pytest.mark.parametrize("wanted", ["dtype", "bool", "float"])
def test_a_tensor_rule_is_ill_typed_where_an_op_wants_another_dtype(wanted: str) -> None:
    """What an op says that it wants: one dtype of all sources, a bool, or a float."""

    def one_dtype(x: Tensor, y: Tensor[float32]):
        return x + 0, x + y

    def a_bool(x: Tensor, y: Tensor):
        return x + 0, where(x, x, y)  # type: ignore[arg-type]

    def a_float(x: Tensor):
        return x + 0, x.sqrt()

    stated = rule(dtypes=[int8])({"dtype": one_dtype, "bool": a_bool, "float": a_float}[wanted])
    with pytest.raises(RuleError, match="ill-typed at dtype int8"):
        list(goals(stated, int8))


def test_a_tensor_rule_whose_right_side_has_another_shape_is_wrong_and_not_ill_typed() -> None:
    @rule(dtypes=[int8])
    def reshaped(x: Tensor[2, 3]):
        return x.reshape((3, 2)), x.reshape((3, 3))

    (goal,) = goals(reshaped, int8)
    assert isinstance(goal.right, IllFormed)


# layers -----------------------------------------------------------------------------------------------------------


def layer_names(stated: Rule) -> list[str]:
    return [name for name, _ in layers_of(stated)]


def test_shapes_make_one_layer_unless_dtypes_are_named() -> None:
    @rule
    def any_dtype(x: Tensor):
        return x + 0, x

    @rule(dtypes=[int8, float32])
    def some(x: Tensor):
        return x * 1, x

    @rule
    def scalars(x: Value):
        return x % 1, x

    assert layer_names(any_dtype) == [SYMBOLIC]
    assert layer_names(some) == ["bit-precise int8", "IEEE float32"]
    assert SYMBOLIC not in layer_names(scalars)
    assert layer_name(any_dtype, int8) == layer_name(any_dtype, bool_) == SYMBOLIC
    assert layer_name(some, int8) == "bit-precise int8"
    assert layer_name(scalars, bool_) == "boolean"
    assert set(dtypes_in_layer(any_dtype, int8)) == set(dtypes_of(any_dtype))
    assert dtypes_in_layer(some, int8) == (int8,)


def test_the_layer_of_shapes_is_told_with_the_dtype_that_is_tried_first() -> None:
    @rule
    def moved(x: Tensor, p: Perm):
        return x.permute(p).permute(inverse(p)), x

    @rule
    def added(x: Tensor):
        return x + 0, x

    assert layers_of(moved) == layers_of(added) == ((SYMBOLIC, int32),)
    assert dtypes_in_layer(moved, int8) == (int32,)
    assert dtypes_in_layer(added, int8)[:3] == (int32, float32, bool_)


def test_under_a_licence_of_rounding_each_dtype_has_a_layer() -> None:
    @rule(dtypes=[float64, float16, float32, int8], licences="reassociate")
    def turned(x: Value, y: Value, z: Value):
        return (x + y) + z, x + (y + z)

    names = dict(layers_of(turned))
    floats_in_order = [d for d in all_dtypes if d in (float16, float32, float64)]
    assert list(names) == ["bit-precise int8", *(f"IEEE {d} + reassociate" for d in floats_in_order)]
    assert list(names.values())[1:] == floats_in_order
    assert dtypes_in_layer(turned, float32) == (float32,)


def test_a_dtype_without_an_instance_has_no_layer() -> None:
    @rule
    def half(x: Value):
        return x / 1, x

    assert layer_names(half)
    assert all(name.startswith("IEEE") for name in layer_names(half))


def test_a_size_of_numbers_is_a_number() -> None:
    def of(n: int) -> UOp:
        return const(n, index)

    nested = Op.Add(Op.Idiv(of(7), of(2)), Op.Mul(of(5), Op.Max(of(-1), of(4))))
    assert building._number(nested) == 23
    assert building._number(Op.Add(nested, param(0, index))) is None
    assert building._number(const(3, int8)) is None
