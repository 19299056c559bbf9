"""Rules with Reduce: exact verdicts on right and wrong ones, and the parts of the proof held by themselves."""

import importlib.util
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from soundline.spec.dtypes import bool_, float32, index, int8, int32, same_value
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, collecting, rule
from soundline.spec.rules.terms import Tensor
from soundline.spec.uop import ReduceArg, loop, param
from soundline.spec.values.elementwise import scalar
from soundline.verify.judging.judge import prove
from soundline.verify.smt.counterexamples.reduction_inputs import telling
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Choice,
    Constant,
    Element,
    Number,
    Read,
    Reduction,
    Unsupported,
    atoms,
    choice,
    constant,
    may_be_invalid,
)
from soundline.verify.smt.elements.indexing import ALWAYS, Space
from soundline.verify.smt.elements.substitution import Replacement, within
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    conjunction,
    disjunction,
    equal,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.proving.comparison import proved
from soundline.verify.smt.reductions.bijections import Bijections
from soundline.verify.smt.reductions.covers import Covers
from soundline.verify.smt.reductions.guesses import Solver
from soundline.verify.smt.reductions.orders import Orders
from soundline.verify.smt.reductions.pieces import Piece, Pieces, opened
from soundline.verify.smt.reductions.sums import Products, Sums, is_ring, order_is_free
from soundline.verify.verdicts.verdict import Counterexample

from ..representative import of_each_word  # noqa: TID252

HERE = Path(__file__).parent
N, M, K = Poly.of("n"), Poly.of("m"), Poly.of("k")
I, J = Poly.of("$1.0"), Poly.of("$1.1")  # noqa: E741
NATURAL = [at_least_zero(N), at_least_zero(M)]


def rules_of(name: str) -> list[Rule]:
    """The rules of a file beside this one."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    with collecting() as found:
        spec.loader.exec_module(made)
    assert not found.errors, found.errors
    return found.rules


RIGHT, WRONG = rules_of("folds_right"), rules_of("folds_wrong")


def run_test_of(shown: Counterexample) -> None:
    """Run the test that a counterexample brings; it must hold, and say what was wrong."""
    names: dict[str, object] = {}
    exec(compile(shown.test, "<counterexample>", "exec"), names)
    (test,) = [f for n, f in names.items() if n.startswith("test_")]
    test()  # type: ignore[operator]


# Verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", RIGHT, ids=lambda r: r.id)
def test_a_right_rule_is_proved(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "proved", report


@pytest.mark.parametrize("stated", of_each_word(WRONG))
def test_a_wrong_rule_is_refuted(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "refuted", report
    assert report.counterexample is not None


def test_there_are_many_rules_of_each_sort() -> None:
    assert len(RIGHT) >= 75
    assert len(WRONG) >= 75


# Parts ------------------------------------------------------------------------------------------------------------


def a_reader(*facts: Formula, licences: tuple[str, ...] = ()) -> Denotation:
    space = Space(Arithmetic(Budget()))
    space.assume([*NATURAL, *facts])
    reader = Denotation(space, {})
    reader.licences = frozenset(licences)
    return reader


def read(*at: Poly, name: str = "x", dtype=int32) -> Element:
    return Read(dtype, name, at, (N,) * len(at))


def reduction(body: Element, *sizes: Poly, op: Op = Op.Add) -> Reduction:
    return Reduction(body.dtype, op, tuple((f"$1.{k}", size) for k, size in enumerate(sizes)), body)


def same(reader: Denotation, a: Element, b: Element) -> bool:
    return proved(reader, a, b, ALWAYS)


def test_a_fold_names_its_indices_by_its_depth() -> None:
    rows = param(0, int8, (2, 4))
    inner = Op.Reduce(rows, arg=ReduceArg(Op.Max, (1,)))
    found = Denotation(a_reader().space, {rows: "x"}).element(
        Op.Reduce(inner, arg=ReduceArg(Op.Add, (0,))), (ZERO, ZERO), ALWAYS
    )
    assert found.key == "Add{Max{x[$1.0, $2.0] | $2.0 < 4} | $1.0 < 2}"


def test_a_fold_over_ranges_names_the_first_outermost() -> None:
    rows = param(0, int8, (2, 4))
    i, j = loop(2, 0), loop(4, 1)
    found = Denotation(a_reader().space, {rows: "x"}).element(
        Op.Reduce(Op.Index(rows, i, j), j, i, arg=ReduceArg(Op.Add)), (), ALWAYS
    )
    assert found.key == "Add{x[$1.1, $1.0] | $1.0 < 4, $1.1 < 2}"


def test_the_fold_of_nothing_is_the_identity_and_of_one_the_element() -> None:
    for op, dtype, expected in (
        (Op.Add, int8, "0:int8"),
        (Op.Mul, int8, "1:int8"),
        (Op.Max, int8, "-128:int8"),
        (Op.Max, bool_, "False:bool"),
        (Op.Mul, bool_, "True:bool"),
        (Op.Max, float32, "-inf:float32"),
        (Op.Max, index, "⊥"),
    ):
        rows = param(0, dtype, (0, 1))
        reader = Denotation(a_reader().space, {rows: "x"})
        assert reader.element(Op.Reduce(rows, arg=ReduceArg(op, (0,))), (ZERO, ZERO), ALWAYS).key == expected
        assert reader.by_law
        kept = Op.Reduce(rows, arg=ReduceArg(op, (1,)))
        assert reader.element(kept, (N, ZERO), ALWAYS).key == "x[n, 0]"


def test_the_maximum_of_indices_is_invalid_where_there_are_none() -> None:
    rows = param(0, index, (param(1, index),))
    reader = Denotation(a_reader().space, {rows: "x", rows.shape[0]: "n"})  # type: ignore[index]
    found = reader.element(Op.Reduce(rows, arg=ReduceArg(Op.Max, (0,))), (ZERO,), ALWAYS)
    assert isinstance(found, Choice)
    assert found.condition == less(ZERO, N)
    assert isinstance(found.otherwise, Bottom)


def test_an_index_is_replaced_in_all_that_was_made_of_it() -> None:
    reader = a_reader()
    r = Poly.of("r")
    at = [*reader.space.digits(r, (N, M), frozenset((less(r, N * M), at_least_zero(r))))]
    assert all(p.key.startswith(("#", "-#")) for p in at)
    number = reader.number(Read(index, "i", (r,), (N,)))
    element = choice(less(number, K), Apply(int32, Op.Max, (read(*at), read(r, name="y"))), read(r))
    inside = within((("a", N), ("b", M)))
    moved = Replacement(reader, {"r": Poly.of("a") * M + Poly.of("b")}).element(element, inside)
    assert isinstance(moved, Choice)
    assert moved.condition == less(Poly.of("i[a·m + b]"), K)
    assert moved.then.key == "Max(x[a, b], y[a·m + b])"
    assert moved.otherwise.key == "x[a·m + b]"


def test_digits_outside_their_shape_are_not_said_to_lie_in_it() -> None:
    reader = a_reader()
    r = Poly.of("r")
    at = reader.space.digits(r, (N, M), frozenset((less(r, N * M), at_least_zero(r))))
    anywhere = Poly.of("t")
    moved = [Replacement(reader, {"r": anywhere}).poly(p, ALWAYS) for p in at]
    assert not reader.space.shows(ALWAYS, at_least_zero(moved[0]))
    there = frozenset((at_least_zero(anywhere), less(anywhere, N * M)))
    assert reader.space.shows(there, conjunction((at_least_zero(moved[0]), less(moved[0], N))))


def test_an_inner_fold_keeps_its_own_index() -> None:
    reader = a_reader()
    inner = Reduction(int32, Op.Max, (("$2.0", M),), read(I, Poly.of("$2.0")))
    bound, body, inside = opened(reader, reduction(inner, N), ALWAYS)
    ((name, size),) = bound
    assert size == N
    assert inside == within(bound)
    assert body.key == f"Max{{x[{name}, $2.0] | $2.0 < m}}"
    assert atoms(body, {}) == {name, "m"}


@pytest.mark.parametrize("low", range(-3, 4))
@pytest.mark.parametrize("high", range(-3, 4))
@pytest.mark.parametrize("power", range(6))
def test_the_sum_of_powers_between_bounds(low: int, high: int, power: int) -> None:
    """Σ r^power for 0 ≤ r < 3 and low ≤ r < high, as pieces without an index."""
    pieces = Pieces(a_reader(), counting=True, signed=True)
    r = Poly.of("~r")
    number = ONE
    for _ in range(power):
        number = number * r
    guard = [at_least_zero(r - low), less(r, Poly.of(high))]
    piece = Piece((("~r", Poly.of(3)),), factors=(), number=number).under(guard)
    found = pieces.simplified(piece, ALWAYS)
    assert not any(p.bound for p in found)
    total = sum((p.number.constant or 0) * p.scale for p in found if FALSE not in p.guard)
    assert total == Fraction(sum(k**power for k in range(3) if low <= k < high))


def test_what_is_left_of_a_piece_is_all_but_what_was_taken() -> None:
    """Cases of what is not: a value, a range, an alternative."""
    reader = a_reader()
    r = Poly.of("~r")
    conditions = {
        "not 1": negation(equal(r, ONE)),
        "ends": disjunction((less(r, ONE), less(ONE, r))),
        "all": TRUE,
    }
    for condition in conditions.values():
        for signed in (True, False):
            pieces = Pieces(reader, counting=True, signed=signed)
            piece = Piece((("~r", Poly.of(4)),), factors=(read(ZERO),)).under((condition,))
            found = pieces.simplified(piece, ALWAYS)
            expected = 4 if condition == TRUE else 3
            assert sum((p.number.constant or 0) * p.scale for p in found) == expected


def test_digits_are_solved_for_in_every_order_and_direction() -> None:
    reader = a_reader()
    t = Poly.of("t")
    bound = (("~1", N), ("~2", M), ("~3", K))
    a, b, c = (Poly.of(name) for name, _ in bound)
    path = within((("t", N * M * K),))
    for flat in (a * M * K + b * K + c, c * N * M + a * M + b):
        found = Solver(reader, bound, path).solve([flat - t])
        assert set(found.values) == {"~1", "~2", "~3"}
        back = flat
        for name, value in found.values.items():
            back = Poly(back.terms) if name not in back.atoms else _put(back, name, value)
        assert reader.space.equations.reduce(back) == t
    down = Solver(reader, bound[:2], path).solve([(N - 1 - a) * M + b - t])
    assert set(down.values) == {"~1", "~2"}
    assert not Solver(reader, bound[:2], path).solve([a * K + b - t]).values.keys() >= {"~1", "~2"}


def _put(poly: Poly, name: str, value: Poly) -> Poly:
    total = ZERO
    for monomial, n in poly.terms.items():
        term = Poly.of(n)
        for atom in monomial:
            term = term * (value if atom == name else Poly.of(atom))
        total = total + term
    return total


def test_a_map_that_is_no_bijection_is_not_taken_for_one() -> None:
    """2·j for j < n does not reach the odd numbers below 2·n, and j // 2 takes two numbers to one."""
    reader = a_reader()
    maps = Bijections(reader, lambda a, b, path: proved(reader, a, b, path))
    evens = Piece((("~1", N),), factors=(read(Poly.of("~1") * 2),))
    all_ = Piece((("~2", N * 2),), factors=(read(Poly.of("~2")),))
    found = maps.common(all_, evens, ALWAYS)
    assert found is not None
    assert [c.key for c in found[0].conditions] == ["~2 - 2·(~2 // 2) = 0"]
    assert found[1].conditions == ()
    half = Poly.of("~4")
    twice = Piece((("~3", N), ("~4", Poly.of(2))), factors=(read(Poly.of("~3")),))
    once = Piece((("~5", N),), factors=(read(Poly.of("~5")),))
    assert maps.common(twice, once, ALWAYS) is None
    assert maps.common(twice, once, ALWAYS, partly=True) is None
    single = maps.common(once, Piece(factors=(read(ONE),)), ALWAYS, partly=True)
    assert single is not None
    assert [c.key for c in single[0].conditions] == ["~5 - 1 ≥ 0", "-~5 + 1 ≥ 0"]
    assert [c.key for c in single[1].conditions] == ["n - 2 ≥ 0"]
    assert half.atoms == {"~4"}
    covering = maps.covering(twice, once, ALWAYS, of_right=False)
    assert covering is not None
    assert not covering.conditions


@pytest.mark.parametrize("op", [Op.Add, Op.Mul, Op.Max])
def test_a_longer_fold_is_not_a_shorter_one(op: Op) -> None:
    reader = a_reader()
    assert same(reader, reduction(read(I), N, op=op), reduction(read(N - 1 - I), N, op=op))
    assert not same(reader, reduction(read(I), N, op=op), reduction(read(I), N + 1, op=op))
    assert not same(reader, reduction(read(I), N + 1, op=op), reduction(read(I), N, op=op))
    assert not same(
        reader, reduction(read(I), N, op=op), reduction(read(I), N, op=Op.Add if op is Op.Max else Op.Max)
    )


def test_only_the_right_side_must_be_valid() -> None:
    """Where the left side reduces what is invalid, the rule says nothing; where the right side does, it is wrong."""
    reader = a_reader()
    gated = Choice(int32, less(I + 1, N), read(I), Bottom(int32))
    for op in (Op.Add, Op.Mul, Op.Max):
        assert same(reader, reduction(gated, N, op=op), reduction(read(I), N, op=op))
        assert not same(reader, reduction(read(I), N, op=op), reduction(gated, N, op=op))
        nothing = reduction(Bottom(int32), N, op=op)
        assert may_be_invalid(nothing)
        assert not same(reader, reduction(read(I), N, op=op), nothing)


def test_floats_are_folded_in_order() -> None:
    reader = a_reader()
    x = read(I, dtype=float32)
    for op in (Op.Add, Op.Mul):
        assert same(reader, reduction(x, N, op=op), reduction(x, N, op=op))
        assert not same(reader, reduction(x, N, op=op), reduction(read(N - 1 - I, dtype=float32), N, op=op))
        two = read(I, J, dtype=float32)
        turned = read(J, I, dtype=float32)
        assert not same(reader, reduction(two, N, M, op=op), reduction(turned, M, N, op=op))
    backwards = read(N - 1 - I, dtype=float32)
    assert same(reader, reduction(x, N, op=Op.Max), reduction(backwards, N, op=Op.Max))
    assert same(a_reader(licences=("reassociate",)), reduction(x, N), reduction(backwards, N))


@pytest.mark.parametrize(("zero", "kept"), [(-0.0, True), (0.0, False)])
def test_only_the_negative_zero_is_left_out_of_a_sum(zero: float, kept: bool) -> None:
    x = read(I, dtype=float32)
    padded = reduction(choice(less(I, K), x, Constant(float32, zero)), N)
    some = a_reader(less(ZERO, K), less(K, N))
    assert same(some, padded, reduction(x, K)) is kept
    maybe_none = a_reader(at_least_zero(K), less(K, N))
    assert not same(maybe_none, padded, reduction(x, K))
    ones = reduction(choice(less(I, K), x, Constant(float32, 1.0)), N, op=Op.Mul)
    assert same(maybe_none, ones, reduction(x, K, op=Op.Mul))


def test_the_order_of_two_positions_is_asked_where_it_is_not_plain() -> None:
    """Pads of two axes keep the order of what is inside; halves that change places do not."""
    some = a_reader(less(ZERO, K), less(K, N), less(ZERO, M))
    both = conjunction((less(I, K), less(J, M)))
    x = read(I, J, dtype=float32)
    padded = reduction(choice(both, x, Constant(float32, -0.0)), N, M + 1)
    assert same(some, padded, reduction(x, K, M))
    orders = Orders(some, Op.Add, lambda a, b, path: proved(some, a, b, path))
    assert orders.unrolled(reduction(read(I, dtype=float32), Poly.of(3)), ALWAYS) is not None
    assert orders.unrolled(reduction(read(I, dtype=float32), N), ALWAYS) is None
    assert orders.unrolled(reduction(read(I, dtype=float32), Poly.of(9)), ALWAYS) is None


def test_which_dtypes_are_rings() -> None:
    plain, licensed = a_reader(), a_reader(licences=("reassociate",))
    assert is_ring(int8)
    assert is_ring(index)
    assert not is_ring(float32)
    assert not is_ring(bool_)
    assert order_is_free(licensed, float32)
    assert not order_is_free(licensed, int8)
    assert not order_is_free(plain, float32)


def test_what_wraps_to_nothing_is_nothing() -> None:
    """256 times an int8 is 0; 128 times it is not, and of an int32 neither is."""
    for dtype, times, expected in ((int8, 256, True), (int8, 128, False), (int32, 256, False)):
        reader = a_reader()
        x = Read(dtype, "x", (I,), (N,))
        many = Apply(
            dtype, Op.Mul, (reduction(x, N), reader.operation(Op.Cast, dtype, (Number(index, N * times),)))
        )
        assert same(reader, many, constant(dtype, 0)) is expected


def test_too_many_pieces_are_given_up() -> None:
    reader = a_reader()
    sums: Element = read(ZERO, name="a0")
    for k in range(1, 9):
        sums = Apply(int32, Op.Add, (sums, read(ZERO, name=f"a{k}")))
    cube = Apply(int32, Op.Mul, (Apply(int32, Op.Mul, (sums, sums)), sums))
    with pytest.raises(Unsupported):
        Sums(reader, lambda a, b, path: False).of(cube, ALWAYS)


def test_a_product_counts_how_often_a_factor_occurs() -> None:
    reader = a_reader()
    x = read(ZERO)
    assert same(reader, Apply(int32, Op.Mul, (reduction(x, N, op=Op.Mul), x)), reduction(x, N + 1, op=Op.Mul))
    assert not same(reader, reduction(x, N, op=Op.Mul), reduction(x, N + 1, op=Op.Mul))
    assert Products(reader, lambda a, b, path: False).of(Constant(int32, 1), ALWAYS) == []


def test_a_maximum_grows_with_its_number() -> None:
    """The greatest of a·r + b for 0 ≤ r < n stands at an end, by the sign of a."""
    for factor, end in product((3, -2), ("first", "last")):
        reader = a_reader(less(ZERO, N))
        numbers = reduction(Number(index, I * factor + M), N, op=Op.Max)
        greatest = M + (N - 1) * factor if end == "last" else M
        expected = (factor > 0) == (end == "last")
        assert same(reader, Number(index, reader.number(numbers)), Number(index, greatest)) is expected


def test_some_and_all() -> None:
    reader = a_reader()
    p, q = (Read(bool_, name, (I,), (N,)) for name in "pq")
    some, every = reduction(p, N, op=Op.Max), reduction(p, N, op=Op.Mul)
    denied = reader.bools.element(negation(reader.bools.formula(some)))
    not_p = reader.bools.element(negation(reader.bools.formula(p)))
    assert same(reader, denied, reduction(not_p, N, op=Op.Mul))
    assert not same(reader, denied, reduction(not_p, N, op=Op.Max))
    assert not same(reader, some, every)
    both = reader.bools.element(conjunction(reader.bools.formula(e) for e in (p, q)))
    apart = reader.bools.element(
        conjunction(reader.bools.formula(reduction(e, N, op=Op.Mul)) for e in (p, q))
    )
    assert same(reader, reduction(both, N, op=Op.Mul), apart)
    covers = Covers(reader, lambda a, b, path: proved(reader, a, b, path))
    assert covers.same(reduction(both, N, op=Op.Mul), apart, ALWAYS)


def test_a_goal_without_folds_has_no_inputs_that_tell_folds_apart() -> None:
    @rule(dtypes=[float32])
    def plain(x: Tensor["n"]):  # type: ignore[type-arg]  # noqa: F821
        return x + x, x * 2

    @rule(dtypes=[float32])
    def reductions(x: Tensor["n"]):  # type: ignore[type-arg]  # noqa: F821
        return x.sum((0,)), x.sum((0,)) * 1

    shapes, dtypes = {"x": (3,)}, {"x": float32}
    assert not list(telling(next(goals(plain, float32)), shapes, dtypes))
    found = [a["x"].elements for a in telling(next(goals(reductions, float32)), shapes, dtypes)]
    assert any(not same_value(float32, in_order(a, b, c), in_order(c, b, a)) for a, b, c in found)


def in_order(first: object, *others: object) -> object:
    """The sum of float32 numbers from the left to the right."""
    for other in others:
        first = scalar(Op.Add, float32, first, other)  # type: ignore[arg-type]
    return first
