"""The law of movement has several readings: each gives the same answers, and each op is held to what it promises."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs import views
from soundline.spec.arrays.arrays import INVALID, Array, positions
from soundline.spec.arrays.movement import (
    INTEGERS,
    LAWS,
    MOVES,
    Axes,
    Given,
    digits,
    flat,
    groups,
    index_parts,
    moved,
)
from soundline.spec.dtypes import index, int32
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp
from soundline.spec.uop import expand, loop, pad, param, reshape, shape_source, shrink
from soundline.verify.engine.elements import Elements
from soundline.verify.smt.elements.indexing import ALWAYS, Positions, Space
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic
from soundline.verify.smt.integers.formulas import FALSE, TRUE, Formula
from soundline.verify.smt.integers.polynomials import Poly

Case = tuple[Op, Given[int]]

SIZES = st.integers(1, 4)
SHAPES = st.lists(SIZES, max_size=3).map(tuple)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A movement op, and what it is given."""
    op = draw(st.sampled_from(list(MOVES)))
    shape = draw(SHAPES)
    if op is Op.Permute:
        return op, Given((shape,), tuple(draw(st.permutations(range(len(shape))))))
    if op is Op.Flip:
        return op, Given((shape,), tuple(draw(st.booleans()) for _ in shape))
    if op is Op.Reshape:
        return op, Given((shape,), numbers=(draw(st.sampled_from(factored(math.prod(shape)))),))
    if op is Op.Expand:
        new = tuple(draw(SIZES) if size == 1 else size for size in shape)
        return op, Given((shape,), numbers=(new,))
    if op is Op.Pad:
        offset = tuple(draw(st.integers(0, 2)) for _ in shape)
        new = tuple(o + size + draw(st.integers(0, 2)) for o, size in zip(offset, shape, strict=True))
        return op, Given((shape,), numbers=(offset, new))
    offset = tuple(draw(st.integers(0, size)) for size in shape)
    new = tuple(draw(st.integers(0, size - o)) for o, size in zip(offset, shape, strict=True))
    return op, Given((shape,), numbers=(offset, new))


def factored(count: int) -> list[tuple[int, ...]]:
    """Shapes of so many elements."""
    pairs = [(a, count // a) for a in range(1, count + 1) if count % a == 0]
    triples = [(a, b, c // b) for a, c in pairs for b in range(1, c + 1) if c % b == 0]
    return [(count,), *pairs, *triples, *([()] if count == 1 else [])]


def node_of(op: Op, what: Given[Any], source: UOp) -> UOp:
    """The op on a source."""
    return UOp(op, (source, *map(shape_source, what.numbers)), what.arg)


def places(op: Op, what: Given[int]) -> list[int]:
    """For each position of the result the row-major number that is read of the source; -1 for what stands outside."""
    law, shape = MOVES[op], MOVES[op].shape(what)
    found = []
    for p in positions(shape):
        at = law.index(INTEGERS, what, p)
        found.append(flat(int, at, what.shape) if law.inside(INTEGERS, what, at) else -1)
    return found


# the readings -----------------------------------------------------------------------------------------------------


@given(cases())
def test_on_integers_it_is_what_numpy_does(case: Case) -> None:
    op, what = case
    source = np.arange(1, math.prod(what.shape) + 1, dtype=np.int32).reshape(what.shape)
    own = np.array(places(op, what)).reshape(MOVES[op].shape(what)) + 1
    if op is Op.Permute:
        theirs = source.transpose(what.arg)
    elif op is Op.Flip:
        theirs = np.flip(source, tuple(k for k, flag in enumerate(what.arg) if flag))
    elif op is Op.Reshape:
        theirs = source.reshape(what.numbers[0])
    elif op is Op.Expand:
        theirs = np.broadcast_to(source, what.numbers[0])
    elif op is Op.Pad:
        rows = zip(*what.numbers, what.shape, strict=True)
        theirs = np.pad(source, [(o, new - o - size) for o, new, size in rows]) if what.shape else source
    else:
        theirs = source[tuple(slice(o, o + size) for o, size in zip(*what.numbers, strict=True))]
    assert np.array_equal(own, theirs)
    assert moved(op, Array.from_numpy(source), *what.numbers, arg=what.arg).elements == tuple(theirs.flat)


@given(cases())
def test_the_evaluator_and_the_shape_of_a_node_are_that_reading(case: Case) -> None:
    op, what = case
    node = node_of(op, what, param(0, int32, what.shape))
    held = np.arange(1, math.prod(what.shape) + 1, dtype=np.int32).reshape(what.shape)
    value = evaluate(node, {0: held})
    assert node.shape == value.shape == MOVES[op].shape(what)
    assert value.elements == tuple(k + 1 for k in places(op, what))


def at_position(term: UOp | None, loops: Sequence[UOp], p: Sequence[int], params: Any = None) -> Any:
    if term is None:
        return True
    ranges = {r.arg.id: i for r, i in zip(loops, p, strict=True) if r.op is Op.Range}
    return evaluate(term, params=params, ranges=ranges).item()


@settings(deadline=None, max_examples=60)
@given(cases())
def test_on_index_expressions_of_known_sizes_it_reads_the_same_places(case: Case) -> None:
    op, what = case
    node = node_of(op, what, param(0, int32, what.shape))
    shape = MOVES[op].shape(what)
    loops = tuple(loop(size, k) for k, size in enumerate(shape))
    view = views.source_view(node, views.View(0, loops))
    for p, expected in zip(positions(shape), places(op, what), strict=True):
        read = [at_position(c, loops, p) for c in view.coordinates]
        assert (flat(int, read, what.shape) if at_position(view.gate, loops, p) else -1) == expected


@settings(deadline=None, max_examples=60)
@given(cases())
def test_at_sizes_that_are_not_known_it_reads_the_same_places(case: Case) -> None:
    op, what = case
    numbers = list(dict.fromkeys(n for row in (*what.shapes, *what.numbers) for n in row))
    symbol = {n: param(k, index) for k, n in enumerate(numbers)}
    bound = dict(enumerate(numbers))

    def unknown(row: tuple[int, ...]) -> tuple[arithmetic.Term, ...]:
        return tuple(arithmetic.term_of(symbol[n]) for n in row)

    shape = MOVES[op].shape(what)
    loops = tuple(loop(size, k) for k, size in enumerate(shape))
    symbolic = Given((unknown(what.shape),), what.arg, tuple(map(unknown, what.numbers)))
    read, gate = views.read(op, symbolic, loops)
    for p, expected in zip(positions(shape), places(op, what), strict=True):
        at = [at_position(c, loops, p, bound) for c in read]
        assert (flat(int, at, what.shape) if at_position(gate, loops, p, bound) else -1) == expected


@given(cases())
def test_on_polynomials_it_reads_the_same_places(case: Case) -> None:
    op, what = case
    law, shape = MOVES[op], MOVES[op].shape(what)
    a = Positions(Space(Arithmetic(Budget())), ALWAYS)

    def polys(row: Iterable[int]) -> tuple[Poly, ...]:
        return tuple(map(Poly.of, row))

    given_polys = Given((polys(what.shape),), what.arg, tuple(map(polys, what.numbers)))
    for p, expected in zip(positions(shape), places(op, what), strict=True):
        at = law.index(a, given_polys, polys(p))
        condition = law.inside(a, given_polys, at)
        assert condition in (TRUE, FALSE)
        known = [i.constant for i in at]
        assert None not in known
        assert (flat(int, known, what.shape) if condition == TRUE else -1) == expected  # type: ignore[arg-type]


class Whole:
    """The algebra of numpy arrays: all positions at once."""

    def number(self, value: int) -> Any:
        return np.int64(value)

    def same(self, a: Any, b: Any) -> bool:
        return bool(a == b)

    def equal(self, a: Any, b: Any) -> Any:
        return np.equal(a, b)

    def inside(self, i: Any, size: Any) -> Any:
        return (i >= 0) & (i < size)

    def every(self, conditions: Iterable[Any]) -> Any:
        return functools.reduce(np.logical_and, conditions, np.bool_(True))

    def one_of(self, *cases: tuple[Any, Any]) -> Any:
        conditions, found = zip(*cases, strict=True)
        return np.select(np.broadcast_arrays(*conditions), np.broadcast_arrays(*found))

    def groups(self, old: Any, new: Any) -> list[tuple[Axes, Axes]]:
        return list(groups(old, new, 1, lambda a, b: a * b, int))

    def digits(self, number: Any, sizes: Any) -> Any:
        return digits(number, sizes)


@given(cases())
def test_on_arrays_of_positions_and_as_the_engine_moves_it_reads_the_same_places(case: Case) -> None:
    op, what = case
    law, shape = MOVES[op], MOVES[op].shape(what)
    at = law.index(Whole(), what, tuple(np.indices(shape).reshape(len(shape), math.prod(shape))))
    inside = np.broadcast_to(law.inside(Whole(), what, at), (math.prod(shape),))
    numbers = np.broadcast_to(flat(int, at, what.shape), inside.shape)
    expected = places(op, what)
    assert np.where(inside, numbers, -1).tolist() == expected
    source = param(0, int32, what.shape)
    elements = Elements((source,), 1 << 12)
    first = elements.of(source).reshape(-1).tolist()
    theirs = elements.of(node_of(op, what, source)).reshape(-1).tolist()
    assert theirs == [first[k] if k >= 0 else elements.zero(int32) for k in expected]


# what is promised of every op, by Z3 over all integers ------------------------------------------------------------


class Terms:
    """The algebra of Z3's integers."""

    def number(self, value: int) -> Any:
        return z3.IntVal(value)

    def same(self, a: Any, b: Any) -> bool:
        return bool(z3.eq(a, b))

    def equal(self, a: Any, b: Any) -> Any:
        return a == b

    def inside(self, i: Any, size: Any) -> Any:
        return z3.And(i >= 0, i < size)

    def every(self, conditions: Iterable[Any]) -> Any:
        return z3.And(*conditions)

    def one_of(self, *cases: tuple[Any, Any]) -> Any:
        (_, chosen), *others = reversed(cases)
        for condition, found in others:
            chosen = z3.If(condition, found, chosen)
        return chosen

    def groups(self, old: Any, new: Any) -> list[tuple[Axes, Axes]]:
        return [(range(len(old)), range(len(new)))]

    def digits(self, number: Any, sizes: Any) -> Any:
        return tuple(
            n % s if k else n for k, (n, s) in enumerate(zip(_quotients(number, sizes), sizes, strict=True))
        )


def _quotients(number: Any, sizes: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for size in reversed(sizes):
        found.insert(0, number)
        number = number / size  # of Z3's integers: rounded down for a divisor above 0
    return found


def terms(name: str, rank: int) -> tuple[Any, ...]:
    return tuple(z3.Int(f"{name}{k}") for k in range(rank))


def holds(conclusion: Any, *premises: Any) -> bool:
    solver = z3.Solver()
    solver.set("rlimit", 20_000_000)
    solver.add(*premises, z3.Not(conclusion))
    return bool(solver.check() == z3.unsat)


def rows(op: Op, rank: int) -> Iterable[tuple[Given[Any], list[Any]]]:
    """What an op may be given at a rank, and the constraints on it."""
    s, o, new = terms("s", rank), terms("o", rank), terms("t", rank)
    at_least = [x >= 0 for x in (*s, *o, *new)]
    if op is Op.Permute:
        yield from ((Given((s,), order), at_least) for order in permutations(range(rank)))
    elif op is Op.Flip:
        yield from ((Given((s,), flags), at_least) for flags in product((False, True), repeat=rank))
    elif op is Op.Expand:
        fit = [z3.Or(a == 1, a == b) for a, b in zip(s, new, strict=True)]
        yield Given((s,), numbers=(new,)), [*at_least, *fit]
    elif op is Op.Pad:
        fit = [a + b <= c for a, b, c in zip(s, o, new, strict=True)]
        yield Given((s,), numbers=(o, new)), [*at_least, *fit]
    elif op is Op.Shrink:
        fit = [b + c <= a for a, b, c in zip(s, o, new, strict=True)]
        yield Given((s,), numbers=(o, new)), [*at_least, *fit]
    else:  # the sizes of a Reshape are numbers here: products of two unknown sizes are more than Z3 decides
        for old, made in (((2, 3), (6,)), ((6,), (2, 3)), ((4, 3), (2, 6)), ((1, 5), (5, 1)), ((), (1,))):
            yield Given((_values(old),), numbers=(_values(made),)), []


def _values(sizes: Iterable[int]) -> tuple[Any, ...]:
    return tuple(map(z3.IntVal, sizes))


@pytest.mark.parametrize("op", MOVES, ids=lambda op: op.name)
@pytest.mark.parametrize("rank", range(4))
def test_what_is_read_lies_in_the_source(op: Op, rank: int) -> None:
    """Where the law says that a position is inside, and everywhere for the ops that say nothing outside."""
    a = Terms()
    for what, constraints in rows(op, rank):
        shape = MOVES[op].shape(what)
        p = terms("p", len(shape))
        there = [a.inside(i, size) for i, size in zip(p, shape, strict=True)]
        read = MOVES[op].index(a, what, p)
        assert len(read) == len(what.shape)
        lies = a.every(a.inside(i, size) for i, size in zip(read, what.shape, strict=True))
        assert holds(lies == MOVES[op].inside(a, what, read), *constraints, *there)
        assert op is Op.Pad or holds(lies, *constraints, *there)


@pytest.mark.parametrize("op", [Op.Permute, Op.Flip, Op.Reshape], ids=lambda op: op.name)
@pytest.mark.parametrize("rank", range(4))
def test_no_two_positions_read_the_same_one_where_elements_are_only_reordered(op: Op, rank: int) -> None:
    a = Terms()
    for what, constraints in rows(op, rank):
        shape = MOVES[op].shape(what)
        p, q = terms("p", len(shape)), terms("q", len(shape))
        there = [a.inside(i, size) for at in (p, q) for i, size in zip(at, shape, strict=True)]
        one, other = (MOVES[op].index(a, what, at) for at in (p, q))
        same = a.every(a.equal(i, k) for i, k in zip(one, other, strict=True))
        assert holds(a.every(a.equal(i, k) for i, k in zip(p, q, strict=True)), *constraints, *there, same)


@pytest.mark.parametrize("rank", range(4))
def test_a_shrink_undoes_the_pad_with_the_same_offset(rank: int) -> None:
    a = Terms()
    ((what, constraints),) = rows(Op.Pad, rank)
    offset, wide = what.numbers
    p = terms("p", rank)
    there = [a.inside(i, size) for i, size in zip(p, what.shape, strict=True)]
    inner = MOVES[Op.Shrink].index(a, Given((wide,), numbers=(offset, what.shape)), p)
    back = MOVES[Op.Pad].index(a, what, inner)
    assert holds(a.every(map(a.equal, back, p)), *constraints, *there)
    assert holds(MOVES[Op.Pad].inside(a, what, back), *constraints, *there)


# gathering and stacking -------------------------------------------------------------------------------------------


@given(SHAPES.filter(bool), st.data())
def test_an_index_reads_where_its_indices_say(shape: tuple[int, ...], data: st.DataObject) -> None:
    law, a = LAWS[Op.Index], Positions(Space(Arithmetic(Budget())), ALWAYS)
    count = data.draw(st.integers(1, len(shape)))
    ranks = tuple(data.draw(st.sampled_from([(), (2,), (3,)])) for _ in range(count))
    tables = [
        np.array(data.draw(st.lists(st.integers(-1, size), min_size=math.prod(r), max_size=math.prod(r))))
        .reshape(r)
        .astype(int)
        for r, size in zip(ranks, shape, strict=False)
    ]
    shapes = (shape, *ranks)
    made = law.shape(Given(shapes))
    source = param(0, int32, shape)
    loops = tuple(loop(size, k) for k, size in enumerate(made))
    node = Op.Index(source, *(param(k, index, r) for k, r in enumerate(ranks, 1)))
    assert node.shape == made
    held = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    value = node_values(node, held, tables)
    for p, cell in zip(positions(made), value, strict=True):
        parts = list(index_parts(Given(shapes), p))
        numbers = tuple((int(t[part]),) for t, part in zip(tables, parts, strict=True))
        what = Given(shapes, numbers=numbers)
        at = law.index(INTEGERS, what, p)
        inside = all(0 <= i < size for i, size in zip(at, shape, strict=True))
        assert law.inside(INTEGERS, what, at) == inside
        assert cell == (int(held[at]) if inside else INVALID)
        polys = Given(
            tuple(tuple(map(Poly.of, s)) for s in shapes), numbers=tuple((Poly.of(n),) for (n,) in numbers)
        )
        symbolic = law.index(a, polys, tuple(map(Poly.of, p)))
        assert [i.constant for i in symbolic] == list(at)
        expected: Formula = TRUE if inside else FALSE
        assert law.inside(a, polys, symbolic) == expected
    lowered = views.indexed(node, loops, lambda i, part: arithmetic.flatten(part, (10,) * len(part)))
    rest = len(made) - (len(shape) - count)
    assert lowered[count:] == loops[rest:]
    own = [loops[sum(map(len, ranks[:k]))] if r else arithmetic.number(0) for k, r in enumerate(ranks)]
    assert list(lowered[:count]) == own


def node_values(node: UOp, held: np.ndarray, tables: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """The cells of an Index, ⊥ among them."""
    from soundline.spec.arrays.movement import indexed

    found = indexed(Array.from_numpy(held), [Array.of(t.tolist(), index) for t in tables])
    assert found.shape == node.shape
    return found.elements


@given(SHAPES, st.integers(1, 3))
def test_a_stack_reads_the_rest_of_a_position(shape: tuple[int, ...], count: int) -> None:
    law = LAWS[Op.Stack]
    what = Given((shape,) * count)
    made = law.shape(what)
    assert made == (count, *shape) == Op.Stack(*(param(k, int32, shape) for k in range(count))).shape
    held = [np.arange(math.prod(shape), dtype=np.int32).reshape(shape) + 100 * k for k in range(count)]
    value = evaluate(Op.Stack(*(param(k, int32, shape) for k in range(count))), dict(enumerate(held)))
    assert value.elements == tuple(np.stack(held).flat)
    for p in positions(made):
        rest = law.index(INTEGERS, what, p)
        assert int(held[p[0]][rest]) == value.at(p)
        polys = law.index(Positions(Space(Arithmetic(Budget())), ALWAYS), Given(()), tuple(map(Poly.of, p)))
        lowered = views.stacked(tuple(map(arithmetic.number, p)))
        assert [i.constant for i in polys] == [i.arg.value for i in lowered] == list(rest)


@pytest.mark.parametrize(
    ("old", "new"), [((0, 3), (3, 0)), ((3, 0), (0,)), ((1, 0), (0, 1, 5)), ((), (1,)), ((1, 1), ())]
)
def test_groups_of_axes_hold_every_axis_once_where_sizes_are_0_and_1(old: Any, new: Any) -> None:
    found = list(groups(old, new, 1, lambda a, b: a * b, int))
    assert sorted(k for a, _ in found for k in a) == list(range(len(old)))
    assert sorted(k for _, b in found for k in b) == list(range(len(new)))
    for a, b in found:
        assert 0 in old or math.prod(old[k] for k in a) == math.prod(new[k] for k in b)
    what = Given((old,), numbers=(new,))
    loops = tuple(arithmetic.number(0) for _ in new)
    assert len(views.read(Op.Reshape, what, loops)[0]) == len(old)


def test_the_builders_of_nodes_are_the_ops_that_the_law_states() -> None:
    """A builder and its law take offset and shape in the same order."""
    x = param(0, int32, (2, 3))
    assert pad(x, (1, 0), (4, 3)) is node_of(Op.Pad, Given(((2, 3),), None, ((1, 0), (4, 3))), x)
    assert shrink(x, (1, 0), (1, 2)) is node_of(Op.Shrink, Given(((2, 3),), None, ((1, 0), (1, 2))), x)
    assert reshape(x, (6,)) is node_of(Op.Reshape, Given(((2, 3),), None, ((6,),)), x)
    assert expand(x, (2, 3)) is node_of(Op.Expand, Given(((2, 3),), None, ((2, 3),)), x)
