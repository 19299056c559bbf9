"""Parts of the prover for symbolic shapes, held by themselves: positions, comparisons, replays and what is shown."""

from collections.abc import Mapping
from itertools import product as combinations
from random import Random
from typing import Any

import pytest

from soundline.spec.arrays import movement
from soundline.spec.arrays.arrays import Array, positions
from soundline.spec.dtypes import all_dtypes, bool_, float32, index, int8, int16, uint8
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import AxisType, BufferArg, Op, RangeArg, SliceArg, UOp, substitute
from soundline.spec.rules.instances import Goal, goals
from soundline.spec.rules.language import Rule, fits, given, is_identity, rule, where
from soundline.spec.rules.terms import Flags, Offset, Perm, Shape, Size, Tensor, UnaryOp, Value
from soundline.spec.uop import ReduceArg, const, expand, loop, pad, param, reshape, shrink
from soundline.spec.values.elementwise import scalar
from soundline.verify.judging.judge import prove
from soundline.verify.smt.counterexamples import replays
from soundline.verify.smt.counterexamples.python_text import Python, paste_ready
from soundline.verify.smt.counterexamples.sizes import small_sizes, smallest
from soundline.verify.smt.counterexamples.tensors import (
    Tries,
    array_text,
    show_difference,
)
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Bools,
    Bottom,
    Choice,
    Constant,
    Element,
    Number,
    Read,
    Truth,
    Unsupported,
    assuming,
    choice,
    conditions,
    constant,
    known,
    operation,
    reads,
)
from soundline.verify.smt.elements.indexing import ALWAYS, Index, Positions, Space
from soundline.verify.smt.elements.numbers import INDEX_LAWS
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic, Question, Solution
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    at_least_zero,
    conjunction,
    disjunction,
    equal,
    holds,
    is_zero,
    less,
    negation,
    opaque,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.proving import comparison
from soundline.verify.smt.proving.comparison import Leaf, _required, differences
from soundline.verify.smt.proving.leaves import Scalars, is_about_elements, obligation

N, M, K = Poly.of("n"), Poly.of("m"), Poly.of("k")
I, J = Poly.of("i"), Poly.of("j")  # noqa: E741


def a_space(*facts: Formula) -> Space:
    space = Space(Arithmetic(Budget()))
    space.assume(facts)
    return space


def read_by(space: Space, op: Op, at: Index, source: Index, new: Index) -> Index:
    """The position of a source that the law of an op reads for a position of its result."""
    given = movement.Given((source,), numbers=(new,))
    return movement.MOVES[op].index(Positions(space, ALWAYS), given, at)


def a_reader(*facts: Formula) -> Denotation:
    return Denotation(a_space(*facts), {})


def read(name: str, *at: Poly, dtype: Any = int8) -> Read:
    return Read(dtype, name, at, tuple(Poly.of(f"s{k}") for k in range(len(at))))


def opaque_bool(name: str) -> Read:
    return read(name, I, dtype=bool_)


# shapes cut into groups -------------------------------------------------------------------------------------------


def groups(old: list[Poly], new: list[Poly]) -> list[tuple[list[int], list[int]]]:
    found = movement.groups(old, new, ONE, lambda a, b: a * b, lambda size: size.key)
    return [(list(a), list(b)) for a, b in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([N], [N], [([0], [0])]),
        ([N, M], [N, M], [([0], [0]), ([1], [1])]),
        ([N * M], [N, M], [([0], [0, 1])]),
        ([N, M], [N * M], [([0, 1], [0])]),
        ([N * M, K], [N, M, K], [([0], [0, 1]), ([1], [2])]),
        ([N * M * 2, K], [N, M, Poly.of(2), K], [([0], [0, 1, 2]), ([1], [3])]),
        ([N, M, Poly.of(2), K], [N * M * 2, K], [([0, 1, 2], [0]), ([3], [1])]),
        ([K, N * M], [K, N, M], [([0], [0]), ([1], [1, 2])]),
        ([K, N, M], [K, M, N], [([0], [0]), ([1, 2], [1, 2])]),
        ([N, M, K], [M, N, K], [([0, 1], [0, 1]), ([2], [2])]),
        ([N], [K, N], [([], [0]), ([0], [1])]),
        ([K, N], [N], [([0], []), ([1], [0])]),
        ([N, M], [K], [([0, 1], [0])]),
        ([N], [N, M], [([0], [0, 1])]),
        ([N, M], [N], [([0, 1], [0])]),
        ([N, M, M], [N, K], [([0], [0]), ([1, 2], [1])]),
        ([N, M, K, K], [N, M, Poly.of("j")], [([0], [0]), ([1], [1]), ([2, 3], [2])]),
        ([], [N], [([], [0])]),
        ([Poly.of(6), K, N], [Poly.of(2), Poly.of(3), N, K], [([0], [0, 1]), ([1, 2], [2, 3])]),
    ],
)
def test_groups_of_axes_have_equal_products(old: list[Poly], new: list[Poly], expected: Any) -> None:
    assert groups(old, new) == expected


@pytest.mark.parametrize("seed", range(20))
def test_groups_hold_every_axis_once_and_in_order(seed: int) -> None:
    random = Random(seed)
    sizes = [random.choice((N, M, K, Poly.of(2))) for _ in range(random.randint(1, 4))]
    new = list(sizes)
    random.shuffle(new)
    if len(new) > 1 and random.random() < 0.5:
        new = [new[0] * new[1], *new[2:]]
    found = groups(sizes, new)
    assert [k for a, _ in found for k in a] == list(range(len(sizes)))
    assert [k for _, b in found for k in b] == list(range(len(new)))
    for a, b in found:
        left, right = ONE, ONE
        for k in a:
            left = left * sizes[k]
        for k in b:
            right = right * new[k]
        assert left == right


# what is known of positions ---------------------------------------------------------------------------------------


def test_a_fact_gives_what_is_less_than_it_says_and_no_more() -> None:
    space = a_space(at_least_zero(N - 3), opaque("p"))
    assert space.plainly(ALWAYS, at_least_zero(N - 3))
    assert space.plainly(ALWAYS, at_least_zero(N))
    assert not space.plainly(ALWAYS, at_least_zero(N - 4))
    assert space.plainly(ALWAYS, opaque("p"))
    assert not space.plainly(ALWAYS, opaque("q"))
    assert space.plainly(ALWAYS, conjunction((opaque("p"), at_least_zero(N - 1))))
    assert not space.plainly(ALWAYS, conjunction((opaque("q"), at_least_zero(N - 1))))
    assert space.plainly(ALWAYS, disjunction((opaque("q"), at_least_zero(N - 1))))
    assert not space.plainly(ALWAYS, FALSE)
    assert space.plainly(ALWAYS, TRUE)
    assert not space.plainly(ALWAYS, at_least_zero(-N))


def test_what_is_learned_on_a_path_holds_there_and_further_on() -> None:
    space = a_space()
    p, q = opaque("p"), opaque("q")
    space.learn(frozenset((p,)), less(I, N))
    assert not space.plainly(ALWAYS, less(I, N))
    assert space.plainly(frozenset((p,)), less(I, N))
    assert space.plainly(frozenset((p, q)), less(I, N))
    assert not space.plainly(frozenset((q,)), less(I, N))
    assert space.plainly(frozenset((q,)), q)
    assert space.shows(frozenset((p,)), less(I - 1, N))
    assert space.shows(frozenset((p,)), less(I * 2, N * 2))
    assert not space.shows(frozenset((q,)), less(I, N))


def test_equations_rewrite_what_is_known() -> None:
    space = a_space(equal(N, M * 2), at_least_zero(M))
    assert space.flat((I, J), (M, N)) == I * space.equations.reduce(N) + J
    assert space.plainly(ALWAYS, equal(N, M + M))
    assert not space.plainly(ALWAYS, equal(N, M))
    one = a_space(equal(N * M, ONE), at_least_zero(N), at_least_zero(M))
    assert one.plainly(ALWAYS, equal(N, ONE))
    assert one.plainly(ALWAYS, equal(M, ONE))
    signed = a_space(equal(N * M, ONE), at_least_zero(N))
    assert not signed.plainly(ALWAYS, equal(N, ONE)), "-1 · -1 is 1"


def test_an_expanded_axis_is_read_at_zero_or_at_its_own_position() -> None:
    space = a_space()
    assert read_by(space, Op.Expand, (I,), (ONE,), (N,)) == (ZERO,)
    assert read_by(space, Op.Expand, (I,), (N,), (N,)) == (I,)
    (chosen,) = read_by(space, Op.Expand, (I,), (N,), (M,))
    one, other = frozenset((equal(N, ONE),)), frozenset((negation(equal(N, ONE)),))
    assert space.shows(one, is_zero(chosen))
    assert space.shows(other, equal(chosen, I))
    assert not space.shows(ALWAYS, equal(chosen, I))
    assert not space.shows(other, is_zero(chosen))


SHAPES = [
    ((N, M), (N * M,)),
    ((N * M,), (N, M)),
    ((N, M, K), (N, M * K)),
    ((N, M), (N, ONE, M)),
    ((N, ONE), (N,)),
    ((N * M, K), (N, M * K)),
]


@pytest.mark.parametrize(("shape", "new"), SHAPES)
def test_a_reshaped_position_has_the_same_row_major_number(shape: Any, new: Any) -> None:
    space = a_space(*(at_least_zero(s - 1) for s in (N, M, K)))
    at = tuple(ZERO if size == ONE else Poly.of(f"@{k}") for k, size in enumerate(shape))
    space.inside(ALWAYS, at, shape)
    moved = read_by(space, Op.Reshape, at, new, shape)
    space.inside(ALWAYS, moved, new)
    assert space.flat(moved, new) == space.flat(at, shape)
    for position, size in zip(moved, new, strict=True):
        assert space.shows(ALWAYS, at_least_zero(position))
        assert space.shows(ALWAYS, less(position, size))
    back = read_by(space, Op.Reshape, moved, shape, new)
    assert space.plainly(ALWAYS, space.same(back, at, shape, ALWAYS))


def test_a_flat_position_is_written_by_the_sizes_it_is_divided_by() -> None:
    assert list(a_space()._forms(I * N + J, (M, N))) == [I * N + J]
    assert list(a_space()._forms(I, (N, ZERO))) == [I]
    space = a_space(equal(N * M, K))
    first, *others = space._forms(I - J, (N, M))
    assert (first, others) == (I - J, [])
    first, *others = space._forms(K - 1 - I, (N, M))
    assert first == K - 1 - I
    assert others == [N * M - 1 - I]


def test_the_empty_stack_has_no_element_at_any_position() -> None:
    reader = a_reader()
    assert isinstance(reader.element(UOp(Op.Stack, ()), (I,), ALWAYS), Bottom)
    assert isinstance(reader.element(UOp(Op.Stack, ()), (ZERO,), ALWAYS), Bottom)


# elements ---------------------------------------------------------------------------------------------------------

A, C = read("a", I), read("c", I)
P = opaque("p")
THREE = Constant(int8, 3)


def test_elements_that_are_known() -> None:
    assert known(THREE) == 3
    assert known(Number(index, Poly.of(4))) == 4
    assert (known(Number(index, N)), known(A), known(Truth(bool_, P))) == (None, None, None)
    assert known(Truth(bool_, TRUE)) is True
    assert known(Truth(bool_, FALSE)) is False
    assert constant(index, 5) == Number(index, Poly.of(5))
    assert constant(int8, 5) == Constant(int8, 5)
    assert Constant(float32, 0.0) != Constant(float32, -0.0)
    assert Constant(float32, float("nan")) == Constant(float32, float("nan"))
    assert Constant(int8, 1) != Constant(int16, 1)
    assert A != read("a", J) != read("c", J)


def test_an_op_on_known_elements_is_computed_by_the_law() -> None:
    assert operation(Op.Add, int8, (THREE, Constant(int8, 127))) == Constant(int8, -126)
    assert operation(Op.CmpLt, bool_, (THREE, THREE)) == Constant(bool_, False)
    assert operation(Op.Cast, int16, (THREE,)) == Constant(int16, 3)
    assert operation(Op.Where, int8, (Constant(bool_, False), THREE, Constant(int8, 9))) == Constant(int8, 9)
    assert operation(Op.Bitcast, int8, (Constant(int8, 7),)) == Constant(int8, 7)
    assert operation(Op.Add, int8, (THREE, A)) == Apply(int8, Op.Add, (THREE, A))
    assert operation(Op.Add, int8, (A, THREE)) != operation(Op.Add, int8, (THREE, A))
    assert isinstance(operation(Op.Add, int8, (THREE, Bottom(int8))), Bottom)
    assert operation(Op.Cast, int16, (A,)) != operation(Op.Cast, index, (A,))


def test_a_choice_is_taken_where_it_is_decided() -> None:
    open_choice = choice(P, A, C)
    assert isinstance(open_choice, Choice)
    assert (choice(TRUE, A, C), choice(FALSE, A, C), choice(P, A, A)) == (A, C, A)
    assert assuming(open_choice, frozenset((P,))) == A
    assert assuming(open_choice, frozenset((negation(P),))) == C
    assert assuming(open_choice, frozenset((opaque("q"),))) == open_choice
    both = Apply(int8, Op.Add, (open_choice, THREE))
    assert assuming(both, frozenset((P,))) == Apply(int8, Op.Add, (A, THREE))
    assert assuming(Apply(int8, Op.Add, (choice(P, THREE, A), THREE)), frozenset((P,))) == Constant(int8, 6)
    nested = choice(P, choice(opaque("q"), A, C), C)
    assert conditions(nested) == [P, opaque("q")]
    assert conditions(both) == [P]
    assert conditions(A) == []
    assert assuming(nested, frozenset((negation(opaque("q")),))) == C
    assert reads(Apply(int8, Op.Add, (A, Apply(int8, Op.Neg, (C,))))) == [A, C]
    assert reads(THREE) == []


@pytest.mark.parametrize(
    "op", [Op.And, Op.Or, Op.Xor, Op.Mul, Op.Max, Op.CmpNe, Op.CmpEq, Op.CmpLt, Op.CmpGt, Op.CmpLe, Op.CmpGe]
)
def test_connectives_of_bools_mean_what_the_op_means(op: Op) -> None:
    bools = Bools()
    x, y = opaque_bool("x"), opaque_bool("y")
    formula = bools.formula(Apply(bool_, op, (x, y)))
    for a, b in combinations((False, True), repeat=2):
        expected = evaluate(UOp(op, (const(a, bool_), const(b, bool_)))).item()
        assert holds(formula, {}, {x.key: a, y.key: b}) is expected


def test_bools_as_conditions_and_back() -> None:
    bools = Bools()
    x, y = opaque_bool("x"), opaque_bool("y")
    assert bools.formula(Constant(bool_, True)) == TRUE
    assert bools.formula(Constant(bool_, False)) == FALSE
    assert bools.formula(Apply(bool_, Op.Not, (x,))) == negation(opaque(x.key))
    compared = Apply(bool_, Op.CmpLt, (A, C))
    assert bools.element(bools.formula(compared)) == compared
    assert bools.element(TRUE) == Constant(bool_, True)
    assert bools.element(FALSE) == Constant(bool_, False)
    assert bools.element(less(I, N)) == Truth(bool_, less(I, N))
    chosen = bools.formula(Choice(bool_, P, x, y))
    for p, a, b in combinations((False, True), repeat=3):
        assert holds(chosen, {}, {"p": p, x.key: a, y.key: b}) is (a if p else b)
    with pytest.raises(Unsupported):
        bools.formula(Bottom(bool_))


def test_an_element_of_a_stack_is_that_of_the_row_that_is_chosen() -> None:
    x, y = param(0, int8, (2, 3)), param(1, int8, (2, 3))
    rows = UOp(Op.Stack, (x, y))
    reader = Denotation(a_space(), {x: "x", y: "y"})
    for k, name in enumerate("xy"):
        found = reader.element(rows, (Poly.of(k), I, J), ALWAYS)
        assert isinstance(found, Read)
        assert (found.name, found.at) == (name, (I, J))
    found = reader.element(rows, (K, I, J), ALWAYS)
    for k, name in enumerate("xy"):
        row = assuming(found, frozenset((equal(K, Poly.of(k)), negation(equal(K, Poly.of(1 - k))))))
        assert isinstance(row, Read)
        assert (row.name, row.at) == (name, (I, J))
    assert isinstance(reader.element(rows, (Poly.of(2), I, J), ALWAYS), Bottom)


# denotations against the evaluator --------------------------------------------------------------------------------

x_, i_, b_, k_ = param(0, int8, (2, 3)), param(1, index, (2,)), param(2, bool_, (2, 3)), param(3, index)
HELD = {
    0: Array(int8, (2, 3), (5, -7, 0, 127, -128, 9)),
    1: Array(index, (2,), (1, -2)),
    2: Array(bool_, (2, 3), (True, False, True, True, False, False)),
    3: Array(index, (), (1,)),
}
NAMES = {x_: "x", i_: "i", b_: "b", k_: "k"}


def number_node(value: int) -> UOp:
    return const(value, index)


PROGRAMS = [
    x_,
    Op.Permute(x_, arg=(1, 0)),
    Op.Flip(x_, arg=(True, False)),
    Op.Flip(x_, arg=(False, True)),
    reshape(x_, (3, 2)),
    reshape(x_, (6,)),
    reshape(reshape(x_, (6,)), (2, 3)),
    expand(reshape(k_, (1, 1)), (2, 3)),
    expand(reshape(x_, (1, 2, 3)), (2, 2, 3)),
    pad(x_, (1, 0), (4, 5)),
    pad(b_, (0, 2), (2, 5)),
    shrink(x_, (0, 1), (2, 2)),
    shrink(x_, (1, 0), (1, 3)),
    Op.Index(x_, number_node(1), number_node(2)),
    Op.Index(x_, number_node(1)),
    Op.Index(x_, k_),
    Op.Index(x_, k_, number_node(0)),
    Op.Stack(x_, Op.Flip(x_, arg=(True, True))),
    Op.Cast(b_, arg=index),
    Op.Cast(i_, arg=bool_),
    Op.Cast(i_, arg=index),
    Op.Cast(x_, arg=int16),
    Op.Cast(b_, arg=bool_),
    Op.Bitcast(x_, arg=uint8),
    Op.Add(i_, i_),
    Op.Sub(i_, Op.Mul(i_, i_)),
    Op.Neg(i_),
    Op.CmpLt(i_, Op.Neg(i_)),
    Op.Where(b_, x_, Op.Neg(x_)),
    Op.Where(Op.CmpLt(i_, Op.Neg(i_)), i_, Op.Add(i_, i_)),
    Op.Where(Op.Not(b_), Op.Cast(b_, arg=int8), x_),
    Op.And(b_, Op.CmpLt(x_, Op.Neg(x_))),
    Op.Xor(b_, Op.Not(b_)),
    Op.Contiguous(Op.Permute(x_, arg=(1, 0))),
    Op.Max(x_, Op.Neg(x_)),
]


def cell(element: Element, reader: Denotation) -> Any:
    """The value of an element without atoms of the space, where the inputs are held."""
    ints = {"k": 1} | {key: cell_of(r) for key, r in reader.numbers.items()}

    def truth(formula: Formula) -> bool:
        return holds(formula, ints, {k: cell(e, reader) for k, e in reader.bools.elements.items()})

    match element:
        case Read():
            return cell_of(element)
        case Constant():
            return element.value
        case Number():
            return element.poly.value(ints)
        case Truth():
            return truth(element.formula)
        case Choice():
            return cell(element.then if truth(element.condition) else element.otherwise, reader)
        case Apply():
            values = [const(cell(o, reader), o.dtype) for o in element.operands]
            arg = element.dtype if element.op in (Op.Cast, Op.Bitcast) else None
            return evaluate(UOp(element.op, tuple(values), arg)).item()
    raise AssertionError(element)


def cell_of(read: Read) -> Any:
    (slot,) = [n.arg.slot for n, name in NAMES.items() if name == read.name]
    array = HELD[slot]
    assert tuple(Poly.of(n) for n in array.shape) == read.shape
    at = tuple(p.value({"k": 1}) for p in read.at)
    assert all(0 <= k < n for k, n in zip(at, array.shape, strict=True)), "read outside of the input"
    return dict(zip(positions(array.shape), array.elements, strict=True))[at]


@pytest.mark.parametrize("node", PROGRAMS, ids=lambda n: f"{n.op.name} {n.shape}")
def test_an_element_is_what_the_evaluator_says_it_is(node: UOp) -> None:
    value = evaluate(node, HELD)
    for at, expected in zip(positions(value.shape), value.elements, strict=True):
        reader = Denotation(a_space(), NAMES)
        element = reader.element(node, tuple(map(Poly.of, at)), ALWAYS)
        assert element.dtype is node.dtype
        assert cell(element, reader) == expected, at


def test_an_index_that_is_no_sum_or_product_is_an_atom() -> None:
    reader = a_reader()
    cast = Apply(index, Op.Cast, (read("a", I),))
    assert reader.number(Number(index, N + 1)) == N + 1
    assert reader.number(cast) == Poly.of(cast.key)
    chosen = reader.number(Choice(index, P, Number(index, N), Number(index, M)))
    assert reader.space.shows(frozenset((P,)), equal(chosen, N))
    assert reader.space.shows(frozenset((negation(P),)), equal(chosen, M))
    assert not reader.space.shows(ALWAYS, equal(chosen, N))
    with pytest.raises(Unsupported):
        reader.number(Bottom(index))


def test_an_index_outside_is_invalid() -> None:
    for outside in (-1, 2):
        found = Denotation(a_space(), NAMES).element(Op.Index(x_, number_node(outside)), (ZERO,), ALWAYS)
        assert isinstance(found, Bottom)


def test_what_has_no_denotation() -> None:
    with pytest.raises(Unsupported):
        Denotation(a_space(), {}).element(loop(4, 0), (), ALWAYS)


def test_what_is_asked_in_brief_is_asked_again_at_length() -> None:
    arithmetic = Arithmetic(Budget())
    first, second = [less(N, M)], [less(M, N)]
    assert arithmetic.satisfiable(first) == "sat"
    with arithmetic.brief():
        assert arithmetic.satisfiable(first) == "sat"
        assert arithmetic.asked == 1
        assert arithmetic.satisfiable(second) == arithmetic.satisfiable(second) == "sat"
        assert arithmetic.asked == 2
        with arithmetic.brief(False):
            assert arithmetic.satisfiable(second) == "sat"
            assert arithmetic.asked == 3
    assert arithmetic.satisfiable(second) == "sat"
    assert arithmetic.asked == 3


def test_a_fold_binds_its_indices() -> None:
    rows = param(0, int8, (2, 4))
    found = Denotation(a_space(), {rows: "x"}).element(
        Op.Reduce(rows, arg=ReduceArg(Op.Add, (1,))), (ZERO, ZERO), ALWAYS
    )
    assert found.key == "Add{x[0, $1.0] | $1.0 < 4}"
    one = Denotation(a_space(), {rows: "x"}).element(
        Op.Reduce(rows, arg=ReduceArg(Op.Add)), (ZERO, ONE), ALWAYS
    )
    assert one.key == "x[0, 1]"


@pytest.mark.parametrize("op", INDEX_LAWS, ids=lambda op: op.name)
def test_arithmetic_of_indices_is_that_of_the_law(op: Op) -> None:
    """What stands for a quotient or a maximum is an atom that its definition fixes."""
    count = 1 if op is Op.Neg else 3 if op is Op.Mulacc else 2
    for operands in combinations((-7, -2, 0, 3, 7), repeat=count):
        if op in (Op.Shl, Op.Shr) and operands[1] < 0:
            continue
        expected = scalar(op, index, *operands)
        reader = Denotation(a_space(), {})
        found = INDEX_LAWS[op](reader, *map(Poly.of, operands))
        if isinstance(found, Number):
            assert reader.space.shows(ALWAYS, equal(found.poly, Poly.of(int(expected)))), operands
            assert not reader.space.shows(ALWAYS, equal(found.poly, Poly.of(int(expected) + 1))), operands
        else:
            assert known(found) is expected, operands


# comparisons ------------------------------------------------------------------------------------------------------


def test_what_two_elements_need_to_be_equal() -> None:
    reader = a_reader(equal(N, M))
    a, b = opaque_bool("x"), opaque_bool("y")

    def required(left: Element, right: Element) -> Formula:
        return _required(reader, left, right, ALWAYS)

    assert required(read("a", I), read("a", J)) == equal(I, J)
    assert required(read("a", I), read("c", I)) == FALSE
    assert required(Number(index, N), Number(index, M)) == TRUE
    assert required(Number(index, N), Number(index, K)) == reader.space.reduced(equal(N, K))
    assert required(THREE, Constant(int8, 4)) == FALSE
    assert required(a, Bottom(bool_)) == FALSE, "what is valid is never what is invalid"
    assert required(A, Bottom(int8)) == FALSE
    assert required(a, Truth(bool_, opaque(a.key))) == TRUE
    same = required(a, b)
    for p, q in combinations((False, True), repeat=2):
        assert holds(same, {}, {a.key: p, b.key: q}) is (p is q)


def leaves_of(left: Element, right: Element, *facts: Formula) -> list[Leaf]:
    return differences(a_reader(*facts), left, right, ALWAYS)


def test_what_is_plainly_equal_leaves_nothing_to_show() -> None:
    assert leaves_of(A, A) == []
    assert leaves_of(Bottom(int8), A) == []
    assert leaves_of(read("a", I), read("a", J), equal(I, J)) == []
    under_op = [Apply(int8, Op.Neg, (read("a", k),)) for k in (I, J)]
    assert leaves_of(*under_op, equal(I, J)) == []
    assert leaves_of(choice(P, A, C), choice(P, A, C)) == []
    assert leaves_of(choice(P, Bottom(int8), A), A) == []


def test_what_is_not_plainly_equal_is_left_with_its_case() -> None:
    (leaf,) = leaves_of(A, C)
    assert (leaf.path, leaf.left, leaf.right, leaf.required) == (ALWAYS, A, C, FALSE)
    (leaf,) = leaves_of(A, Bottom(int8))
    assert leaf.required == FALSE
    (leaf,) = leaves_of(choice(P, A, C), A)
    assert (leaf.path, leaf.left, leaf.right) == (frozenset((negation(P),)), C, A)
    under_op = [Apply(int8, Op.Neg, (read("a", k),)) for k in (I, J)]
    (leaf,) = leaves_of(*under_op)
    assert leaf.required == equal(I, J)
    other_op = Apply(int8, Op.Trunc, (A,))
    (leaf,) = leaves_of(under_op[0], other_op)
    assert leaf.required == FALSE
    two = [Apply(int8, Op.Add, (read("a", k), read("c", k))) for k in (I, J)]
    (leaf,) = leaves_of(*two)
    assert leaf.required == equal(I, J)
    cast = [Apply(int8, Op.Cast, (read(n, I, dtype=d),)) for n, d in (("a", int16), ("c", float32))]
    assert len(leaves_of(*cast)) == 1


def test_a_choice_under_an_op_is_told_apart_by_cases() -> None:
    left = Apply(int8, Op.Add, (choice(P, A, C), THREE))
    right = choice(P, Apply(int8, Op.Add, (A, THREE)), Apply(int8, Op.Add, (C, THREE)))
    assert leaves_of(left, right) == []
    wrong = choice(P, Apply(int8, Op.Add, (C, THREE)), Apply(int8, Op.Add, (C, THREE)))
    (leaf,) = leaves_of(left, wrong)
    assert leaf.path == frozenset((P,))


def test_a_comparison_of_too_many_cases_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def chain(last: Element) -> Element:
        return choice(opaque("p"), read("a", I), choice(opaque("q"), read("c", I), last))

    sides = chain(read("d", I)), chain(read("e", I))
    everything = [choice(opaque("p"), A, read("d", I)), choice(opaque("p"), C, read("e", I))]
    monkeypatch.setattr(comparison, "MOST_CASES", 2)
    assert len(leaves_of(*sides)) == 1
    assert len(leaves_of(*everything)) == 2
    monkeypatch.setattr(comparison, "MOST_CASES", 1)
    with pytest.raises(Unsupported):
        leaves_of(*everything)


# leaves as scalar programs ----------------------------------------------------------------------------------------


def value(node: UOp, scalars: Scalars, of: Mapping[str, Any]) -> Any:
    """A scalar program where the variables have these values."""
    bound = {v: const(of[name], v.dtype) for name, v in scalars.variables.items()}
    return evaluate(substitute(node, bound)).item()


X, Y = opaque_bool("x"), opaque_bool("y")
CONDITIONS = [
    TRUE,
    FALSE,
    at_least_zero(N - 2),
    equal(N, M),
    negation(equal(N, M)),
    opaque(X.key),
    negation(opaque(X.key)),
    conjunction((opaque(X.key), at_least_zero(N), negation(opaque(Y.key)))),
    disjunction((opaque(X.key), at_least_zero(N), negation(opaque(Y.key)))),
    less(N * M, N + 1),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_the_program_of_a_condition_computes_it(condition: Formula) -> None:
    reader = a_reader()
    for element in (X, Y):
        reader.bools.formula(element)
    scalars = Scalars(reader, ALWAYS)
    program = scalars.condition(condition)
    for n, m, x, y in combinations((-1, 0, 1, 2), (-1, 2), (False, True), (False, True)):
        of = {"n": n, "m": m, X.key: x, Y.key: y}
        assert value(program, scalars, of) is holds(condition, {"n": n, "m": m}, {X.key: x, Y.key: y})


@pytest.mark.parametrize("poly", [ZERO, ONE, Poly.of(-7), N, N * M * 3 - N * N + 5, -M], ids=str)
def test_the_program_of_a_polynomial_computes_it(poly: Poly) -> None:
    scalars = Scalars(a_reader(), ALWAYS)
    program = scalars.number(poly)
    assert program.dtype is index
    for n, m in combinations((-2, 0, 3), repeat=2):
        assert value(program, scalars, {"n": n, "m": m}) == poly.value({"n": n, "m": m})


def test_reads_at_one_position_are_one_variable() -> None:
    reader = a_reader(equal(I, J))
    scalars = Scalars(reader, ALWAYS)
    assert scalars.node(read("a", I)) is scalars.node(read("a", J))
    assert scalars.node(read("a", I)) is not scalars.node(read("c", I))
    apart = Scalars(a_reader(), ALWAYS)
    assert apart.node(read("a", I)) is not apart.node(read("a", J))
    cast = scalars.node(Apply(int16, Op.Cast, (read("a", I),)))
    assert (cast.op, cast.arg, cast.dtype) == (Op.Cast, int16, int16)
    assert scalars.node(THREE) is const(3, int8)
    for strange in (Bottom(int8), choice(P, A, C)):
        with pytest.raises(Unsupported):
            scalars.node(strange)


def test_an_obligation_keeps_what_is_known_of_elements_and_nothing_of_sizes() -> None:
    reader = a_reader()
    small = Apply(bool_, Op.CmpLt, (A, THREE))
    reader.space.assume([reader.bools.formula(small), at_least_zero(N)])
    leaf = Leaf(ALWAYS, A, C, FALSE)
    made, scalars = obligation(reader, leaf, [A], "here", frozenset(["no_nan"]))
    a, c = scalars.variables[A.key], scalars.variables[C.key]
    assert (made.left, made.right, made.label, made.licences) == (a, c, "here", frozenset(["no_nan"]))
    assert made.hypotheses == (Op.CmpLt(a, const(3, int8)),)
    assert made.fits == (a,)
    assert made.leading == frozenset()
    sized, _ = obligation(
        reader, Leaf(ALWAYS, Number(index, N), Number(index, M), FALSE), [], "", frozenset()
    )
    assert sized.leading == {"n", "m"}
    assert is_about_elements(opaque("p"))
    assert is_about_elements(conjunction((at_least_zero(N), negation(opaque("p")))))
    assert is_about_elements(disjunction((at_least_zero(N), conjunction((opaque("p"), equal(N, M))))))
    assert not is_about_elements(disjunction((at_least_zero(N), equal(N, M))))
    assert not is_about_elements(TRUE)


# questions --------------------------------------------------------------------------------------------------------


def test_a_question_is_asked_once() -> None:
    arithmetic = Arithmetic(Budget())
    assert arithmetic.asked == 0
    assert arithmetic.entails([at_least_zero(N)], at_least_zero(N + 1)) == "unsat"
    assert arithmetic.entails([at_least_zero(N), TRUE], at_least_zero(N + 1)) == "unsat"
    assert arithmetic.asked == 1
    assert arithmetic.entails([at_least_zero(N)], at_least_zero(N - 1)) == "sat"
    assert arithmetic.asked == 2
    assert arithmetic.satisfiable([FALSE]) == "unsat"


def test_a_solution_meets_what_was_asked_and_what_was_added_is_forgotten() -> None:
    question = Question([at_least_zero(N - 2), P], Budget())
    found = question.solution(less(N, Poly.of(4)), equal(M, N))
    assert found is not None
    assert 2 <= found.ints["n"] < 4
    assert found.ints["m"] == found.ints["n"]
    assert found.truths == {"p": True}
    assert question.solution(less(N, ZERO)) is None
    assert question.check() == "sat"
    assert found.meets(at_least_zero(N - 2))
    assert not found.meets(less(N, Poly.of(2)))
    assert not Solution({}, {}).meets(P)
    assert Solution({}, {}).meets(is_zero(N))


# replays ----------------------------------------------------------------------------------------------------------


def the_goal(stated: Rule, dtype: Any = int8, rank: int = 1) -> Goal:
    """The instance in which every tensor has this rank."""
    for goal in goals(stated, dtype):
        if all(len(n.shape or ()) == rank for k, n in goal.variables.items() if k == "x"):
            return goal
    raise AssertionError("no such instance")


def inputs(goal: Goal, x: list[Any], **others: int) -> dict[str, Array]:
    node = goal.variables["x"]
    sizes = {n: len(x) for n in replays.sizes(goal)} | {
        k.replace("_", "[") + "]": v for k, v in others.items()
    }
    arrays = {n: replays.number(v) for n, v in sizes.items() if n in goal.variables}
    return {**arrays, "x": Array(node.dtype, (len(x),), tuple(x))}


def differs(goal: Goal, x: list[Any], **others: int) -> bool | None:
    shown = replays.replay(goal, inputs(goal, x, **others))
    return None if shown is None else shown.differs


def test_values_of_two_dtypes_are_never_the_same() -> None:
    @rule(dtypes=[int8])
    def widened(x: Tensor):
        return x + 0, x.cast(int16)

    assert differs(the_goal(widened), [1, 2]) is True


def test_values_of_two_shapes_are_never_the_same() -> None:
    @rule(dtypes=[int8])
    def shorter(x: Tensor, s: Shape):
        return x + 0, x.shrink(0, s)

    goal = the_goal(shorter)
    assert differs(goal, [1, 2], s_0=2) is False
    assert differs(goal, [1, 2], s_0=1) is True
    assert differs(goal, [1, 2], s_0=3) is True


def add_zero(x: Tensor):
    return x + 0, x


def double(x: Tensor):
    return x + x, x


def times_zero(x: Tensor):
    return x * 0, where(x == x, 0, 0)  # type: ignore[comparison-overlap]


INFINITE = float("inf")


@pytest.mark.parametrize(
    ("sides", "licences", "at", "expected"),
    [
        (add_zero, [], [-0.0], True),
        (add_zero, [], [0.0, 1.0], False),
        (add_zero, ["no_signed_zero"], [-0.0], False),
        (add_zero, ["reassociate"], [-0.0], True),
        (double, ["no_signed_zero"], [1.0], True),
        (double, ["reassociate"], [0.0, 1.0], True),
        (double, ["no_nan"], [1.0], True),
        (times_zero, [], [INFINITE], True),
        (times_zero, ["no_nan"], [INFINITE], False),
        (times_zero, ["no_nan"], [-1.0, INFINITE], False),
        (times_zero, ["no_signed_zero"], [INFINITE], True),
        (times_zero, [], [-1.0], True),
        (times_zero, ["no_nan"], [-1.0], True),
        (times_zero, ["no_nan", "no_signed_zero"], [-1.0], False),
    ],
)
def test_licences_say_which_values_are_told_apart(
    sides: Any, licences: list[str], at: list[float], expected: bool
) -> None:
    assert differs(the_goal(rule(dtypes=[float32], licences=licences)(sides), float32), at) is expected


def test_a_right_side_that_is_refused_differs() -> None:
    @rule(dtypes=[int8])
    def broken(x: Tensor[2]):
        return x + 0, x.reshape((3,))

    (goal,) = goals(broken, int8)
    shown = replays.replay(goal, {"x": Array(int8, (2,), (1, 2))})
    assert shown is not None
    assert shown.differs
    assert shown.right is goal.right


def test_what_the_conditions_exclude_shows_nothing() -> None:
    @rule(dtypes=[int8])
    def next_one(x: Tensor, s: Shape):
        given(fits(x + 1), s > 2)
        return (x + 1).reshape(s), x.reshape(s)

    goal = the_goal(next_one)
    for candidate in goals(next_one, int8):
        if len(candidate.env.bound["s"]) == 1 and len(candidate.variables["x"].shape or ()) == 1:
            goal = candidate
    assert differs(goal, [1, 2, 3]) is True
    assert differs(goal, [1, 127, 3]) is None
    assert differs(goal, [1, 2]) is None
    assert differs(goal, [1, 2, 3], s_0=4) is None


# what is shown ----------------------------------------------------------------------------------------------------


def run(text: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(text, "<counterexample>", "exec"), names)
    (test,) = [f for n, f in names.items() if n.startswith("test_")]
    test()


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_text_of_a_counterexample_runs_at_every_rank(rank: int) -> None:
    @rule(dtypes=[int8])
    def grown(x: Tensor, c: Value):
        return x + c, x

    goal = the_goal(grown, rank=rank)
    sizes = {n: replays.number(2) for n in replays.sizes(goal)}
    array = Array(int8, (2,) * rank, tuple(range(1, 2**rank + 1)))
    given_inputs = {**sizes, "x": array, "c": Array(int8, (), (5,))}
    shown = replays.replay(goal, given_inputs)
    assert shown is not None
    text = paste_ready(goal, given_inputs, shown)
    run(text)
    assert "const(5, int8)" in text
    with pytest.raises(AssertionError):
        run(text.replace("const(5, int8)", "const(6, int8)"))


def test_the_text_names_the_part_of_the_right_side_that_is_refused() -> None:
    @rule(dtypes=[int8])
    def outermost(x: Tensor[2]):
        return x + 0, x.reshape((3,))

    @rule(dtypes=[int8])
    def inside(x: Tensor[2], f: Flags):
        return x.flip(f), (x.reshape((3,)) + 1).contiguous()

    @rule(dtypes=[int8])
    def under_an_op(x: Tensor[2], g: UnaryOp):
        return x + 0, g(x.shrink((0,), (3,)))

    for stated in (outermost, inside, under_an_op):
        goal = next(iter(goals(stated, int8)))
        given_inputs = {"x": Array(int8, (2,), (1, 2))}
        shown = replays.replay(goal, given_inputs)
        assert shown is not None
        text = paste_ready(goal, given_inputs, shown)
        run(text)
        assert "refusal.rule" in text


def test_a_size_in_a_counterexample_is_a_number_and_a_tensor_is_a_param() -> None:
    @rule(dtypes=[int8])
    def shrunk(x: Tensor, n: Size):
        given(n > 0)
        return x.shrink((0,), (n,)), x.shrink((1,), (n,))

    goal = the_goal(shrunk)
    chosen = dict.fromkeys(replays.sizes(goal), 1) | {"x.shape[0]": 2}
    shown = show_difference(goal, chosen, (), Budget(), Tries())
    assert shown is not None
    run(shown.test)
    assert "param(" in shown.test
    assert "index" not in shown.test
    assert dict(shown.bindings)["n"] == "1"


def test_a_counterexample_is_plain() -> None:
    """What does not matter is 1, 2, 3 …; what matters is as plain as it can be."""

    @rule(dtypes=[int8, bool_])
    def flat(x: Tensor):
        return x.flip((True,)), x.flip((False,))

    goal = the_goal(flat)
    shown = show_difference(goal, {"x.shape[0]": 2}, (), Budget(), Tries())
    assert shown is not None
    assert dict(shown.bindings)["x"].endswith("[1, 2]")
    tries = Tries()
    assert show_difference(goal, {"x.shape[0]": 1}, (), Budget(), tries, most=4) is None
    assert tries.in_vain == 4
    assert show_difference(goal, {"x.shape[0]": -1}, (), Budget(), Tries()) is None
    assert array_text(Array(int8, (2, 2), (1, 2, 3, 4)))


def test_small_sizes_come_smallest_first() -> None:
    @rule
    def moved(x: Tensor, a: Offset, s: Shape):
        return x.shrink(a, s), x.shrink(a, s).contiguous()

    goal = the_goal(moved)
    found = list(small_sizes(goal))
    assert {tuple(sorted(f)) for f in found} == {("a[0]", "s[0]", "x.shape[0]")}
    assert {"x.shape[0]": 1, "a[0]": 0, "s[0]": 1} in found[:4]
    assert max(max(f.values()) for f in found) == 3
    assert {f["a[0]"] for f in found} == {0, 1, -1, 2, -2}


def test_the_solution_that_is_shown_has_the_least_sizes() -> None:
    @rule
    def moved(x: Tensor, a: Offset, s: Shape):
        return x.shrink(a, s), x.shrink(a, s).contiguous()

    goal = the_goal(moved)
    n, a, s = (Poly.of(name) for name in ("x.shape[0]", "a[0]", "s[0]"))
    facts = [at_least_zero(n - 3), at_least_zero(s - 1), at_least_zero(n - a - s), negation(equal(a, ZERO))]
    found = smallest(Question(facts, Budget()), goal)
    assert found is not None
    assert (found.ints["x.shape[0]"], found.ints["s[0]"], abs(found.ints["a[0]"])) == (3, 1, 1)
    assert smallest(Question([FALSE], Budget()), goal) is None


# whole rules ------------------------------------------------------------------------------------------------------


def test_a_proof_says_whether_the_laws_of_the_dtypes_were_used() -> None:
    @rule
    def turned(x: Tensor["n"], f: Flags):  # noqa: F821
        return x.flip(f).flip(f), x

    @rule
    def swapped(x: Tensor["n"], y: Tensor["n"]):  # noqa: F821
        return (x + y).flip((True,)), y.flip((True,)) + x.flip((True,))

    @rule(dtypes=[int8, int16])
    def named(x: Tensor["n"], y: Tensor["n"]):  # noqa: F821
        return (x + y).flip((True,)), y.flip((True,)) + x.flip((True,))

    # bools cannot be added
    covered = [[layer.covered for layer in prove(stated).layers] for stated in (turned, swapped, named)]
    assert covered == [
        ["rank 1, all sizes, all dtypes (elements uninterpreted), 2 instances"],
        [f"rank 1, all sizes, every dtype, by its laws, {len(all_dtypes) - 1} instances"],
        ["rank 1, all sizes, int8", "rank 1, all sizes, int16"],
    ]


def test_a_rule_that_says_nothing_says_why() -> None:
    @rule
    def no_instance(x: Tensor["n"], p: Perm):  # noqa: F821
        given(~is_identity(p))
        return x.permute(p), x

    @rule
    def one_term(x: Tensor["n"]):  # noqa: F821
        return x + 0, x + 0

    @rule
    def no_input(x: Tensor, a: Offset, s: Shape):
        given(a >= 1, a < 1)
        return x.shrink(a, s), x.shrink(a, s).contiguous()

    @rule
    def no_elements(x: Tensor["n"]):  # noqa: F821
        given(x.shape < 1)
        return x + 0, x

    expected = {
        no_instance: "the rule has no instance",
        one_term: "both sides are the same term",
        no_input: "the condition excludes every input beyond rank 0",
        no_elements: "the rule matches only empty tensors",
    }
    for stated, why in expected.items():
        (layer,) = prove(stated).layers
        assert layer.verdict == "vacuous", stated.id
        assert layer.detail.startswith(why), stated.id


@pytest.mark.parametrize("name", ["shapes", "sign"])
def test_a_wrong_side_is_told_by_what_is_wrong(name: str) -> None:
    @rule
    def shapes(x: Tensor, s: Shape):
        given(s > 0)
        return x + 0, x.reshape(s)

    @rule(dtypes=[int8])
    def sign(x: Tensor):
        return -x, x

    report = prove({"shapes": shapes, "sign": sign}[name])
    assert report.verdict == "refuted"
    for layer in report.layers:
        assert layer.counterexample is not None
        run(layer.counterexample.test)


@pytest.mark.parametrize(
    "arg",
    [
        BufferArg(1, 4, bool_, "CPU", "LOCAL"),
        SliceArg(3, float32),
        RangeArg(2, AxisType.UPCAST),
        ReduceArg(Op.Max, (0, 1)),
        float32,
        (1, 0),
    ],
    ids=repr,
)
def test_args_are_written_as_python_that_makes_them_again(arg: object) -> None:
    text = Python()
    written = text.arg(arg)
    scope: dict[str, object] = {}
    exec(text.test("test_it", [f"return {written}"]), scope)
    assert scope["test_it"]() == arg  # type: ignore[operator]
