# ruff: noqa: SIM300  (the order of operands is what is tested)
"""The rule language, held piece by piece: notation, declarations, ranks, instances, building."""

import math
from typing import Any

import pytest

from soundline.spec.dtypes import (
    all_dtypes,
    bool_,
    float16,
    float32,
    floats,
    index,
    int8,
    int16,
    ints,
    uint8,
)
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules import notation, ranks, terms
from soundline.spec.rules.building import (
    Env,
    build,
    build_dtype,
    build_flags,
    build_perm,
    build_vector,
    has_dtype,
)
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.instances import (
    Goal,
    conjunction,
    dtypes_of,
    goals,
    is_about_shapes,
    ops_for,
)
from soundline.spec.rules.language import (
    Rule,
    bits_at_most,
    cdiv,
    cmod,
    collecting,
    compose,
    default_dtypes,
    ediv,
    emod,
    fits,
    forall,
    given,
    inverse,
    is_boolean,
    is_float,
    is_identity,
    is_signed,
    lossless,
    maximum,
    mulacc,
    no_flags,
    preserves_zero,
    product,
    rule,
    variables_in,
    where,
)
from soundline.spec.rules.terms import (
    BinaryOp,
    Bool,
    Const,
    DTypeTerm,
    DTypeVar,
    Flags,
    Interval,
    Offset,
    Perm,
    Shape,
    Size,
    Static,
    Tensor,
    Term,
    UnaryOp,
    Value,
    Variable,
    Vector,
    apply,
    named_sizes,
    show,
    subterms,
    value,
    vector,
)
from soundline.spec.uop import const, expand, pad, param, reshape, shape_source, shrink

X, Y = Value("var", ("x",)), Value("var", ("y",))
T, U = Tensor("var", ("t",)), Tensor("var", ("u",))
S, A = Shape("var", ("s",)), Offset("var", ("a",))
P, Q = Perm("var", ("p",)), Perm("var", ("q",))
F, G = Flags("var", ("f",)), Flags("var", ("g",))
D = DTypeVar("var", ("d",))
I = Interval("var", ("i",))  # noqa: E741
N = Size("var", ("n",))


# notation ---------------------------------------------------------------------------------------------------------


SHOWN: list[tuple[Term, str]] = [
    (X + Y, "(x + y)"),
    (1 + X, "(1 + x)"),
    (X - 1, "(x - 1)"),
    (1 - X, "(1 - x)"),
    (X * 2, "(x * 2)"),
    (2 * X, "(2 * x)"),
    (X / Y, "(x / y)"),
    (1 / X, "(1 / x)"),
    (X // Y, "(x // y)"),
    (1 // X, "(1 // x)"),
    (X % Y, "(x % y)"),
    (1 % X, "(1 % x)"),
    (X << Y, "(x << y)"),
    (1 << X, "(1 << x)"),
    (X >> Y, "(x >> y)"),
    (1 >> X, "(1 >> x)"),
    (X & Y, "(x & y)"),
    (1 & X, "(1 & x)"),
    (X | Y, "(x | y)"),
    (1 | X, "(1 | x)"),
    (X ^ Y, "(x ^ y)"),
    (1 ^ X, "(1 ^ x)"),
    (X < Y, "(x < y)"),
    (X <= Y, "(x <= y)"),
    (X > Y, "(x > y)"),
    (X >= Y, "(x >= y)"),
    (X == Y, "(x == y)"),
    (X != Y, "(x != y)"),
    (-X, "-x"),
    (~X, "~x"),
    (X.cast(int8), "x.cast(int8)"),
    (X.bitcast(D), "x.bitcast(d)"),
    (X.recip(), "x.recip()"),
    (X.trunc(), "x.trunc()"),
    (X.sqrt(), "x.sqrt()"),
    (X.exp2(), "x.exp2()"),
    (X.log2(), "x.log2()"),
    (where(X < 0, X, Y), "where((x < 0), x, y)"),
    (maximum(X, 0), "maximum(x, 0)"),
    (mulacc(X, Y, 1), "mulacc(x, y, 1)"),
    (cdiv(X, Y), "cdiv(x, y)"),
    (cmod(X, 2), "cmod(x, 2)"),
    (fits(X + Y), "fits((x + y))"),
    (I.lo, "i.lo"),
    (I.hi, "i.hi"),
    (T.permute(P), "t.permute(p)"),
    (T.permute((1, 0)), "t.permute((1, 0))"),
    (T.flip(F), "t.flip(f)"),
    (T.reshape(S), "t.reshape(s)"),
    (T.reshape((N,)), "t.reshape((n,))"),
    (T.expand((N, 2)), "t.expand((n, 2))"),
    (T.pad(A, S), "t.pad(a, s)"),
    (T.shrink(A, S), "t.shrink(a, s)"),
    (T.shrink(0, S), "t.shrink(0, s)"),
    (T.contiguous(), "t.contiguous()"),
    (T.shape, "t.shape"),
    (X.dtype, "x.dtype"),
    (S[0], "s[0]"),
    (S[-1], "s[-1]"),
    (S + A, "(s + a)"),
    (1 + A, "(1 + a)"),
    (S - A, "(s - a)"),
    (1 - A, "(1 - a)"),
    (S * 2, "(s * 2)"),
    (2 * S, "(2 * s)"),
    (A >= 0, "a >= 0"),
    (A > 0, "a > 0"),
    (A + S <= T.shape, "(a + s) <= t.shape"),
    (A < S, "a < s"),
    (A == S, "a == s"),
    (A != S, "~(a == s)"),
    (A.permute(P), "a.permute(p)"),
    (where(F, A, S), "where(f, a, s)"),
    (compose(P, Q), "compose(p, q)"),
    (inverse(P), "inverse(p)"),
    (P == Q, "(p == q)"),
    (P != Q, "~(p == q)"),
    (F ^ G, "(f ^ g)"),
    (~F, "~f"),
    (F == G, "(f == g)"),
    (F != G, "~(f == g)"),
    (F.permute(P), "f.permute(p)"),
    (is_identity(P) & no_flags(F), "(is_identity(p) & no_flags(f))"),
    (is_identity(P) | ~no_flags(F), "(is_identity(p) | ~no_flags(f))"),
    (lossless(D, int8), "lossless(d, int8)"),
    (D == X.dtype, "(d == x.dtype)"),
    (D != int8, "~(d == int8)"),
    (product(S), "product(s)"),
    (UnaryOp("var", ("f",))(X), "f(x)"),
    (BinaryOp("var", ("f",))(X, Y), "f(x, y)"),
    (emod(X, Y), "where(((y < 0) & ((x % y) < 0)), ((x % y) - y), (x % y))"),
    (ediv(X, Y), "where(((y < 0) & ((x % y) < 0)), ((x // y) + 1), (x // y))"),
    ((-X).cast(int8), "(-x).cast(int8)"),
    (-X.cast(int8), "-x.cast(int8)"),
    ((-T).permute(P), "(-t).permute(p)"),
    (-T.permute(P), "-t.permute(p)"),
    ((-T).shape, "(-t).shape"),
    ((-X).dtype, "(-x).dtype"),
    ((~F).permute(P), "(~f).permute(p)"),
    (~F.permute(P), "~f.permute(p)"),
    ((S + A)[0], "(s + a)[0]"),
    (-X - Y, "(-x - y)"),
    (-(X - Y), "-(x - y)"),
    (~(A < S), "~(a < s)"),
    ((A < S) & (S <= 4), "((a < s) & (s <= 4))"),
    (where(A < S, X, Y), "where(a < s, x, y)"),
]


@pytest.mark.parametrize(("term", "text"), SHOWN)
def test_a_term_is_shown_as_it_is_written(term: Term, text: str) -> None:
    assert show(term) == text == str(term)


NAMES = dict(zip("xytusapqfgdin", (X, Y, T, U, S, A, P, Q, F, G, D, I, N), strict=True))


def parts(term: Any) -> Any:
    """A term as a tree that can be compared."""
    return (term.head, *map(parts, term.args)) if isinstance(term, Term) else term


@pytest.mark.parametrize(("term", "text"), SHOWN)
def test_what_is_shown_means_the_term(term: Term, text: str) -> None:
    """The notation is Python: read again, it makes the same term."""
    functions = {"f": term.args[0]} if term.head == "op" else {}
    assert parts(eval(text, {**globals(), **NAMES, **functions})) == parts(term)


def test_terms_are_shown_by_their_notation() -> None:
    assert terms.show is notation.show
    assert terms.Term is notation.Term
    assert all(hasattr(terms, name) for name in terms.__all__)


@pytest.mark.parametrize("condition", [X < Y, P == Q, A >= 0, is_identity(P)])
def test_a_condition_has_no_truth_value(condition: Term) -> None:
    with pytest.raises(RuleError, match="no truth value"):
        bool(condition)


def test_sorts_of_terms() -> None:
    assert isinstance(A >= 0, Value)
    assert isinstance(P == Q, Static)
    assert isinstance(S[0], Value)
    assert isinstance(S + 1, Vector)
    assert isinstance(F ^ G, Flags)
    assert isinstance(X.dtype, DTypeTerm)
    assert isinstance(where(F, A, 0), Vector)
    assert isinstance(where(X < 0, X, 0), Value)
    assert vector(3).head == vector(X).head == "everywhere"
    assert vector((1, X)).head == "entries"
    assert vector(S) is S
    assert value(X) is X
    assert value(True).args == (True,)
    assert apply(Op.Add, X, 1).args[1].args == (1,)


@pytest.mark.parametrize("bad", ["text", None, S, P, F, int8])
def test_what_is_no_value_is_refused(bad: Any) -> None:
    with pytest.raises(RuleError, match="a value is needed"):
        value(bad)


@pytest.mark.parametrize("bad", ["text", None, 1.5, T, P])
def test_what_is_no_vector_is_refused(bad: Any) -> None:
    with pytest.raises(RuleError, match="a shape or an offset is needed"):
        vector(bad)


def test_only_an_interval_has_bounds() -> None:
    for term in (X, T, I + 1):
        with pytest.raises(RuleError, match="no known bounds"):
            _ = term.lo
        with pytest.raises(RuleError, match="no known bounds"):
            _ = term.hi


def test_kinds_with_brackets() -> None:
    assert Value["s"] == Variable("Value", ("s",))
    assert Tensor["m", 3] == Variable("Tensor", ("m", 3))
    assert named_sizes(Tensor["m", 3]) == ("m", 3)
    assert named_sizes(Tensor[bool_]) == ()
    assert Const[int8] == Variable("Const", (int8,))


def test_subterms_and_variables() -> None:
    term = (X + 1) * Y
    assert [show(t) for t in subterms(term)] == ["((x + 1) * y)", "(x + 1)", "x", "1", "y"]
    assert variables_in(term) == {"x", "y"}
    assert variables_in(value(1)) == set()


# declarations -----------------------------------------------------------------------------------------------------


@rule(dtypes=[index, *ints], id="named")
def whole(x: Value, c: Const):
    """What it is about."""
    given(c != 0, fits(x * c))
    return (x * c) // c, x


@rule
def moved(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(p, q))


def test_a_declaration_keeps_what_was_said() -> None:
    assert (whole.id, whole.doc) == ("named", "What it is about.")
    assert whole.file == __file__
    assert "whole" in open(__file__).read().splitlines()[whole.line] or whole.line > 1  # noqa: SIM115, PTH123
    assert list(whole.variables) == ["x", "c"]
    assert {n: k.kind for n, k in whole.kinds.items()} == {"x": "Value", "c": "Const"}
    assert whole.dtypes == (index, *ints)
    assert str(whole) == "((x * c) // c) → x  given (c != 0), fits((x * c))"
    assert repr(whole) == f"Rule(named: {whole})"
    assert str(moved) == "x.permute(p).permute(q) → x.permute(compose(p, q))"
    assert moved.id == "moved"
    assert moved.doc == ""
    assert moved.dtypes is None
    assert moved.licences == ()


def test_licences_and_classes_are_kept() -> None:
    @rule(licences="reassociate", dtypes=[float32, float32], s=floats)
    def one(x: Value["s"], s: DTypeVar):  # noqa: F821
        return x + 0, x

    @rule(licences=["contract", "no_nan"])
    def two(x: Value):
        return x + 0, x

    assert one.licences == ("reassociate",)
    assert one.dtypes == (float32,)
    assert one.dtype_classes == {"s": floats}
    assert two.licences == ("contract", "no_nan")

    @rule(dtypes=[int8], s=[int8, int16])
    def three(c: Const["s"], s: DTypeVar):  # noqa: F821
        return c + 0, c

    assert {n: k.kind for n, k in three.kinds.items()} == {"c": "Const", "s": "DTypeVar"}


def declared(function: Any, **options: Any) -> Rule:
    return rule(**options)(function) if options else rule(function)


def no_sides(x: Value):
    return x


def three_sides(x: Value):
    return x, x, x


def number_left(x: Value):
    return 1, x


def no_annotation(x):
    return x, x


def wrong_annotation(x: int):
    return x, x


def false_given(x: Value):
    given(True)
    return x, x


def vector_given(x: Value, s: Shape):
    given(s + 1)
    return x, x


def breaks(x: Value):
    return x.nothing, x


def names(x: Value):
    return x + unheard_of, x  # noqa: F821


def no_such_dtype(x: Value["s"]):  # noqa: F821
    return x, x


def declares_twice(x: Value):
    forall(Value, "x")
    return x, x


def plain(x: Value):
    return x + 0, x


@pytest.mark.parametrize(
    ("function", "options", "text"),
    [
        (no_sides, {}, "returns its two sides"),
        (three_sides, {}, "returns its two sides"),
        (number_left, {}, "left side of a rule is not a number"),
        (no_annotation, {}, "annotation nothing"),
        (wrong_annotation, {}, "which is not a kind of variable"),
        (false_given, {}, "given takes conditions"),
        (vector_given, {}, "given takes conditions"),
        (breaks, {}, "x is a Value, which has no nothing"),
        (names, {}, "unknown name: unheard_of"),
        (no_such_dtype, {}, "names no dtype variable"),
        (declares_twice, {}, "declared twice"),
        (plain, {"dtypes": []}, "dtypes is empty"),
        (plain, {"dtypes": ["int8"]}, "is not a dtype"),
        (plain, {"dtypes": [int8], "s": [int8]}, "is not a dtype variable of the rule"),
        (plain, {"licences": "everything"}, "there is no licence 'everything'"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_no_rule_is_refused_with_file_and_line(
    function: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(RuleError) as refused:
        declared(function, **options)
    assert text in str(refused.value)
    assert refused.value.file == __file__
    assert refused.value.line >= function.__code__.co_firstlineno
    assert refused.value.rule == function.__name__


def test_the_line_of_a_mistake_inside_the_body() -> None:
    with pytest.raises(RuleError) as refused:
        rule(breaks)
    assert refused.value.line == breaks.__code__.co_firstlineno + 1


def test_collecting_gathers_instead_of_raising() -> None:
    with collecting() as found:
        kept = rule(plain)
        lost = rule(no_sides)
        with collecting() as inner:
            rule(plain)
    assert found.rules == [kept]
    assert lost is None
    assert [e.rule for e in found.errors] == ["no_sides"]
    assert len(inner.rules) == 1
    with pytest.raises(RuleError):
        rule(no_sides)


@pytest.mark.parametrize("use", [lambda: given(X < Y), lambda: forall(Value, "x")])
def test_outside_a_rule_nothing_can_be_given(use: Any) -> None:
    with pytest.raises(RuleError, match="is outside of a rule"):
        use()


def test_forall_and_named_sizes() -> None:
    @rule(dtypes=[int8])
    def more(x: Value):
        y = forall(Const, "y")
        return x + y, y + x

    assert {n: k.kind for n, k in more.kinds.items()} == {"x": "Value", "y": "Const"}

    @rule
    def sized(x: Tensor["m", "n", 3], n: Size):
        return x.reshape((n, 3)), x.reshape((n, 3))

    assert {k: v.kind for k, v in sized.kinds.items()} == {"x": "Tensor", "m": "Size", "n": "Size"}


def test_dtypes_at_which_a_rule_is_tried() -> None:
    @rule
    def logic(a: Bool, b: Bool):
        return a & b, b & a

    @rule
    def masks(a: Tensor[bool_]):
        return a & a, a

    assert is_boolean(logic)
    assert is_boolean(masks)
    assert dtypes_of(logic) == (bool_,)
    assert not is_boolean(whole)
    assert not is_boolean(moved)
    assert dtypes_of(moved) == default_dtypes(moved) == all_dtypes
    assert dtypes_of(whole) == (index, *ints)
    assert is_about_shapes(moved)
    assert not is_about_shapes(whole)

    @rule(dtypes=[int8])
    def mixed(a: Bool, b: Bool):
        return a & b, b & a

    assert not is_boolean(mixed)


# ranks ------------------------------------------------------------------------------------------------------------


def classes(function: Any) -> set[frozenset[str]]:
    found: dict[object, set[str]] = {}
    for name, stands_for in ranks.rank_classes(rule(function)).items():
        found.setdefault(stands_for, set()).add(name)
    return {frozenset(v) for v in found.values()}


def joined(*groups: str) -> set[frozenset[str]]:
    return {frozenset(g) for g in groups}


def test_what_must_have_one_rank() -> None:
    def movement(x: Tensor, p: Perm, f: Flags):
        return x.permute(p).flip(f), x.flip(f).permute(p)

    def elementwise(x: Tensor, y: Tensor):
        return x + y, y + x

    def reshaped(x: Tensor, s: Shape, r: Shape):
        return x.reshape(s).reshape(r), x.reshape(r)

    def compared(x: Tensor, s: Shape, a: Offset, r: Shape):
        given(a + s <= x.shape)
        return x.shrink(a, s).reshape(r), x.shrink(a, s).reshape(r)

    def counted(x: Tensor, s: Shape):
        given(product(s) == 1, s[0] == 1)
        return x + 0, x

    def same(x: Tensor, y: Tensor, p: Perm, q: Perm):
        given(p == q)
        return x.permute(p) + 0, x.permute(p)

    def chained(x: Tensor, p: Perm, f: Flags):
        return x.permute(p).flip(f), x.permute(p).flip(f).contiguous()

    def beside_scalars(x: Tensor, c: Value, s: Shape):
        return (x + c).reshape(s) + c, (c + x).reshape(s) + c

    assert classes(chained) == joined("xpf")
    assert classes(beside_scalars) == joined("x", "s")
    assert classes(movement) == joined("xpf")
    assert classes(elementwise) == joined("xy")
    assert classes(reshaped) == joined("x", "s", "r")
    assert classes(compared) == joined("xsa", "r")
    assert classes(counted) == joined("x", "s")
    assert classes(same) == joined("xpq", "y")


def test_known_ranks() -> None:
    @rule
    def sized(x: Tensor["m", "n"], s: Shape):
        return x.reshape(s), x.reshape(s)

    @rule
    def literal(x: Tensor):
        return x.permute((1, 0)), x.permute((1, 0))

    found = ranks.rank_classes(sized)
    assert found["x"] == 2
    assert found["s"] == "s"
    assert ranks.rank_classes(literal)["x"] == 2
    with pytest.raises(RuleError, match="joins rank"):
        ranks.rank_classes(rule(clashing))


def clashing(x: Tensor["m"]):
    return x.permute((1, 0)), x


def test_assignments_come_smallest_first() -> None:
    found = list(ranks.assignments({"x": "x", "y": "x", "s": "s", "k": 2}, 2))
    assert len(found) == 9
    assert found[0] == {"x": 0, "y": 0, "s": 0, "k": 2}
    totals = [f["x"] + f["s"] for f in found]
    assert totals == sorted(totals)
    assert totals[-1] == 4
    assert all(f["x"] == f["y"] for f in found)
    assert list(ranks.assignments({}, 4)) == [{}]


# instances --------------------------------------------------------------------------------------------------------


def labels(stated: Rule, dtype: Any = int8, **options: Any) -> list[str]:
    return [g.label for g in goals(stated, dtype, **options)]


def only(stated: Rule, dtype: Any = int8) -> Goal:
    (goal,) = goals(stated, dtype)
    return goal


def test_a_scalar_goal() -> None:
    goal = only(whole)
    x, c = goal.variables["x"], goal.variables["c"]
    assert goal.left is Op.Idiv(Op.Mul(x, c), c)
    assert goal.right is x
    assert goal.hypotheses == (Op.CmpNe(c, const(0, int8)),)
    assert goal.fits == (Op.Mul(x, c),)
    assert goal.label == "dtype int8"
    assert (x.dtype, x.shape, c.arg.slot) == (int8, (), 1)


def test_an_interval_has_its_ends_as_leaves() -> None:
    @rule(dtypes=[int8])
    def inside(x: Interval, n: Size):
        given(x.hi < 5)
        return x < 5, True

    goal = only(inside)
    assert list(goal.variables) == ["x", "x.lo", "x.hi", "n"]
    x, lo, hi, n = goal.variables.values()
    assert n.dtype is index
    assert set(goal.hypotheses) == {
        Op.CmpLe(lo, x),
        Op.CmpLe(x, hi),
        Op.CmpLe(const(0, index), n),
        Op.CmpLt(hi, const(5, int8)),
    }


def test_sizes_are_natural_and_offsets_are_not() -> None:
    @rule
    def taken(x: Tensor, a: Offset, s: Shape):
        return x.shrink(a, s), x.shrink(a, s).contiguous()

    ((_, goal),) = enumerate(g for g in goals(taken, int8, max_rank=1) if g.left.shape != ())
    zero = const(0, index)
    sizes = [goal.variables[n] for n in ("x.shape[0]", "s[0]")]
    assert set(goal.hypotheses) == {Op.CmpLe(zero, size) for size in sizes}
    assert "a[0]" in goal.variables


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_that_is_not_there_gives_no_instance(axis: int) -> None:
    @rule
    def entry(x: Tensor["m", "n"]):
        given(x.shape[axis] == 1)
        return x + 0, x

    assert list(goals(entry, int8)) == []


def test_instances_over_permutations_and_flags() -> None:
    @rule
    def flipped(x: Tensor, f: Flags):
        given(~no_flags(f))
        return x.flip(f).flip(f), x.contiguous()

    assert len(labels(moved, max_rank=3)) == 1 + 1 + 4 + 36
    assert labels(moved, max_rank=0) == ["dtype int8, rank of x 0, p = (), q = ()"]
    assert labels(flipped, max_rank=1) == ["dtype int8, rank of x 1, f = (True,)"]
    assert len(labels(flipped, max_rank=2)) == 1 + 3
    assert len(labels(flipped)) == 1 + 3 + 7 + 15


def test_instances_over_ops_and_dtypes() -> None:
    @rule(dtypes=[int8], s=[float16, float32])
    def cast(x: Value["s"], s: DTypeVar):  # noqa: F821
        given(lossless(s, float32))
        return x.cast(float32).cast(s), x

    assert labels(cast) == ["dtype int8, s = float16", "dtype int8, s = float32"]
    assert [g.left.dtype for g in goals(cast, int8)] == [float16, float32]
    unary, binary = ops_for("UnaryOp", int8), ops_for("BinaryOp", int8)
    assert {Op.Neg} <= set(unary)
    assert {Op.Not, Op.Sqrt, Op.Cast, Op.Add} & set(unary) == set()
    assert {Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Idiv, Op.Mod, Op.And, Op.Shl} <= set(binary)
    assert {Op.CmpLt, Op.Div, Op.Neg, Op.Where} & set(binary) == set()
    assert Op.Sqrt in ops_for("UnaryOp", float32)
    assert {Op.Div} <= set(ops_for("BinaryOp", float32))
    assert Op.And in ops_for("BinaryOp", bool_)


def test_a_rule_without_an_instance_at_a_dtype() -> None:
    @rule
    def halves(x: Value):
        return x / 2, x * 0.5

    assert list(goals(halves, int8)) == []
    assert len(list(goals(halves, float32))) == 1

    @rule(dtypes=[int8])
    def wrong(x: Value):
        return x / 2, x

    @rule(dtypes=[int8])
    def wrong_right(x: Value):
        return x, x.sqrt()

    @rule(dtypes=[int8])
    def wrong_condition(x: Value):
        given(x + 1)
        return x, x + 0

    @rule(dtypes=[int8])
    def wrong_with_a_constant(x: Value, c: Const):
        return x / c, x

    @rule(dtypes=[int8])
    def wrong_tensor(x: Tensor):
        return x.sqrt(), x

    for stated in (wrong, wrong_right, wrong_condition, wrong_with_a_constant, wrong_tensor):
        with pytest.raises(RuleError) as refused:
            list(goals(stated, int8))
        assert "int8" in str(refused.value)


def test_a_right_side_that_is_refused_is_part_of_the_goal() -> None:
    @rule
    def unpadded(x: Tensor, a: Offset, s: Shape):
        return x.pad(a, s), x.expand(s)

    rights = [g.right for g in goals(unpadded, int8, max_rank=1)]
    assert not isinstance(rights[0], IllFormed)
    mixed = [isinstance(r, IllFormed) for r in rights]
    assert mixed.count(False) >= 1

    @rule
    def narrowed(x: Tensor[2, 3]):
        return x.reshape((3, 2)), x.reshape((3, 3))

    (goal,) = goals(narrowed, int8)
    assert isinstance(goal.right, IllFormed)


def test_a_conjunction_of_conditions() -> None:
    p, q = param(0, bool_), param(1, bool_)
    true = const(True, bool_)
    assert conjunction(()) is true
    assert conjunction((p, q)) is Op.And(Op.And(true, p), q)


# building ---------------------------------------------------------------------------------------------------------

x8, y8 = param(0, int8), param(1, int8)
m, n = param(2, index), param(3, index)
t = param(4, int8, (m, n))
ENV = Env(
    int8,
    {
        "x": x8,
        "y": y8,
        "t": t,
        "u": param(5, int8, (m, n)),
        "n": n,
        "s": (m, 4),
        "a": (0, m),
        "p": (1, 2, 0),
        "q": (1, 0, 2),
        "f": (True, False, False),
        "g": (True, True, False),
        "d": int16,
        "i": x8,
        "i.lo": y8,
        "i.hi": param(9, int8),
    },
)
TWO_AXES = Env(int8, {**ENV.bound, "p": (1, 0), "f": (True, False)})


@pytest.mark.parametrize(
    ("term", "node"),
    [
        (X + 1, Op.Add(x8, const(1, int8))),
        (1 + X, Op.Add(const(1, int8), x8)),
        (X + 300, Op.Add(x8, const(44, int8))),
        (value(3), const(3, int8)),
        (X < 0, Op.CmpLt(x8, const(0, int8))),
        (where(X < 0, 1, Y), Op.Where(Op.CmpLt(x8, const(0, int8)), const(1, int8), y8)),
        (where(X < 0, X, 2), Op.Where(Op.CmpLt(x8, const(0, int8)), x8, const(2, int8))),
        (where(True, X, Y), Op.Where(const(True, bool_), x8, y8)),
        (X.cast(D), Op.Cast(x8, arg=int16)),
        (X.cast(D) + 1, Op.Add(Op.Cast(x8, arg=int16), const(1, int16))),
        (X.bitcast(uint8), Op.Bitcast(x8, arg=uint8)),
        (N + 1, Op.Add(n, const(1, index))),
        (I.lo, y8),
        (I.hi, param(9, int8)),
        (S[0], m),
        (S[1], const(4, index)),
        (S[-1], const(4, index)),
        (S[-2], m),
        (product(S), Op.Mul(m, const(4, index))),
        ((X < 0) & (Y < 0), Op.And(Op.CmpLt(x8, const(0, int8)), Op.CmpLt(y8, const(0, int8)))),
        (mulacc(X, 2, Y), Op.Mulacc(x8, const(2, int8), y8)),
    ],
)
def test_a_value_term_is_built(term: Term, node: Any) -> None:
    assert build(term, ENV) is node


@pytest.mark.parametrize(
    ("term", "node"),
    [
        (T.permute(P), Op.Permute(t, arg=(1, 0))),
        (T.flip(F), Op.Flip(t, arg=(True, False))),
        (T.reshape((N, S[0])), reshape(t, (n, m))),
        (T.shrink(0, T.shape), shrink(t, (0, 0), (m, n))),
        (T.pad(A, (S[0], 4)), None),
        (T + U, Op.Add(t, param(5, int8, (m, n)))),
        (T.contiguous(), Op.Contiguous(t)),
        (T + 1, Op.Add(t, expand(reshape(const(1, int8), (1, 1)), (m, n)))),
        (X + T, Op.Add(expand(reshape(x8, (1, 1)), (m, n)), t)),
        (where(X < 0, T, 0), None),
    ],
)
def test_a_tensor_term_is_built(term: Term, node: Any) -> None:
    built = build(term, TWO_AXES)
    assert built.shape is not None
    assert len(built.shape) == 2
    if node is not None:
        assert built is node


def test_a_scalar_on_the_right_takes_the_shape_of_the_left() -> None:
    zero = build(value(0), TWO_AXES, t)
    assert zero.shape == (m, n)
    assert zero.dtype is int8
    assert build(value(0), TWO_AXES, param(8, float32)) is const(0.0, float32)
    assert build(X, TWO_AXES, t).shape == (m, n)


@pytest.mark.parametrize(("number", "dtype"), [(2, bool_), (1.5, int8), (0.5, index), (-1, bool_)])
def test_a_number_that_the_dtype_has_not_is_refused(number: float, dtype: Any) -> None:
    with pytest.raises(RuleError, match="is no"):
        build(value(number), Env(dtype))


@pytest.mark.parametrize(
    ("number", "dtype", "element"), [(1, bool_, True), (0, bool_, False), (2.0, int8, 2), (1.5, float32, 1.5)]
)
def test_a_number_becomes_an_element(number: float, dtype: Any, element: Any) -> None:
    assert build(value(number), Env(dtype)) is const(element, dtype)
    assert math.isnan(build(value(math.nan), Env(float32)).arg.value)


@pytest.mark.parametrize(
    ("term", "rank", "sizes"),
    [
        (S, None, (m, 4)),
        (S + A, None, (Op.Add(m, const(0, index)), Op.Add(const(4, index), m))),
        (A + 1, None, (1, Op.Add(m, const(1, index)))),
        (1 - Vector("entries", (value(5),)), None, (-4,)),
        (vector((5, 7)) - vector((2, 3)), None, (3, 4)),
        (vector((5, 7)) * 2, None, (10, 14)),
        (vector(3), 2, (3, 3)),
        (vector((1, N)), None, (1, n)),
        (T.shape, None, (m, n)),
        (vector((1, 2, 3)).permute(P), None, (2, 3, 1)),
        (where(F, vector((1, 2, 3)), 9), None, (1, 9, 9)),
        (where(F, 0, 7), None, (0, 7, 7)),
    ],
)
def test_a_vector_term_is_built(term: Any, rank: int | None, sizes: Any) -> None:
    assert build_vector(term, ENV, rank) == sizes


@pytest.mark.parametrize(
    ("build_it", "text"),
    [
        (lambda: build_vector(vector(3), ENV, None), "needs a rank"),
        (lambda: build_vector(S + vector((1, 2, 3)), ENV, None), "joins vectors of ranks 2 and 3"),
        (lambda: build(vector((1, 2, 3)) == S, ENV), "have different ranks (3 and 2)"),
        (lambda: build_perm(Perm("other", ()), ENV), "is not a permutation"),
        (lambda: build_flags(Flags("compose", ()), ENV), "is not a vector of flags"),
        (lambda: build_dtype(DTypeTerm("other", ()), ENV), "is not a dtype"),
        (lambda: decide(Static("other", ()), ENV), "is not a condition"),
        (lambda: build(Value("other", ()), ENV), "is not a value"),
        (lambda: build_perm(compose(P, Perm("var", ("s",))), ENV), "composes permutations of 3 and 2 axes"),
    ],
)
def test_what_cannot_be_built_is_refused(build_it: Any, text: str) -> None:
    with pytest.raises(RuleError) as refused:
        build_it()
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("term", "order"),
    [
        (P, (1, 2, 0)),
        ((2, 0, 1), (2, 0, 1)),
        (compose(P, Q), (2, 1, 0)),
        (compose(Q, P), (0, 2, 1)),
        (inverse(P), (2, 0, 1)),
        (inverse(compose(P, Q)), (2, 1, 0)),
    ],
)
def test_a_permutation_is_built(term: Any, order: tuple[int, ...]) -> None:
    assert build_perm(term, ENV) == order


@pytest.mark.parametrize(
    ("term", "flags"),
    [
        (F, (True, False, False)),
        ((True, False), (True, False)),
        (F ^ G, (False, True, False)),
        (~F, (False, True, True)),
        (F.permute(P), (False, False, True)),
    ],
)
def test_flags_are_built(term: Any, flags: tuple[bool, ...]) -> None:
    assert build_flags(term, ENV) == flags


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (is_identity(P), False),
        (is_identity(compose(P, inverse(P))), True),
        (no_flags(F), False),
        (no_flags(F ^ F), True),
        (is_identity(P) | ~no_flags(F), True),
        (is_identity(P) & ~no_flags(F), False),
        (~is_identity(P) & ~no_flags(F), True),
        (is_identity(P) | no_flags(F), False),
        (P == (1, 2, 0), True),
        (P == Q, False),
        (P != Q, True),
        (F == G, False),
        (F == (True, False, False), True),
        (F != G, True),
        (int16 == D, True),
        (X.dtype == D, False),
        (X.dtype != D, True),
        (lossless(X.dtype, D), True),
        (lossless(D, X.dtype), False),
        (bits_at_most(X.dtype, D), True),
        (bits_at_most(D, X.dtype), False),
        (bits_at_most(D, int16), True),
        (is_float(D), False),
        (is_signed(D), True),
    ],
)
def test_a_static_condition_is_decided(condition: Static, holds: bool) -> None:
    assert decide(condition, ENV) is holds


@pytest.mark.parametrize(
    ("kind", "op", "dtype", "holds"),
    [
        (UnaryOp, Op.Neg, int8, True),
        (UnaryOp, Op.Neg, float32, False),
        (UnaryOp, Op.Sqrt, float32, True),
        (UnaryOp, Op.Exp2, float32, False),
        (UnaryOp, Op.Recip, float32, False),
        (BinaryOp, Op.Add, int8, True),
        (BinaryOp, Op.Mul, float32, True),
        (BinaryOp, Op.Div, float32, False),
        (UnaryOp, Op.Not, bool_, False),
        (BinaryOp, Op.Or, bool_, True),
    ],
)
def test_which_ops_keep_zero(kind: Any, op: Op, dtype: Any, holds: bool) -> None:
    assert decide(preserves_zero(kind("var", ("o",))), Env(dtype, {"o": op})) is holds


@pytest.mark.parametrize(
    "condition", [S == S, vector((1, 2)) <= vector((1, 3)), vector((1, 2)) < vector((1, 3)), T.shape == S]
)
def test_a_condition_on_every_axis_is_one_bool(condition: Term) -> None:
    built = build(condition, ENV)
    assert (built.dtype, built.shape) == (bool_, ())


def test_a_condition_compares_axis_by_axis() -> None:
    zero = const(0, index)
    assert build(A >= 0, ENV) is Op.And(Op.CmpGe(zero, zero), Op.CmpGe(m, zero))
    assert build(A < S, ENV) is Op.And(Op.CmpLt(zero, m), Op.CmpLt(m, const(4, index)))


def test_which_terms_have_a_dtype() -> None:
    assert has_dtype(X)
    assert has_dtype(X + 1)
    assert has_dtype(1 + X)
    assert not has_dtype(value(1))
    assert not has_dtype(apply(Op.Add, 1, 2))
    assert has_dtype(value(1) < 2)
    assert has_dtype(value(1).cast(int8))
    assert not has_dtype(where(X < 0, 1, 2))
    assert has_dtype(where(X < 0, 1, Y))
    assert has_dtype(T.shape[0])


def test_sources_of_movement_are_built_in_place() -> None:
    padded = build(T.pad(A, (S[0], 4)), TWO_AXES)
    assert padded is pad(t, (0, m), (m, 4))
    assert padded.src[1] is shape_source((0, m))
