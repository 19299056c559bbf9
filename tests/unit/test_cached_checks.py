"""What lowering remembers of nodes is what it would find, and goes with them."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable

import pytest

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.cached import Remembered
from soundline.impl.lower.graphs import rebuilding
from soundline.impl.lower.graphs.rebuilding import under
from soundline.spec.dtypes import bool_, float32, index, int32
from soundline.spec.ops import bodies
from soundline.spec.ops.bodies import free_ranges, own_nodes
from soundline.spec.ops.walks import filled
from soundline.spec.uop import Op, ReduceArg, UOp, buffer, const, loop, over, param, rebuilt, toposort


def grown(seed: int, count: int = 120) -> UOp:
    """A graph with shared parts, loops, and reductions of them."""
    draw = random.Random(seed)
    pool: list[UOp] = [*(param(k, index) for k in range(3)), *(loop(4, 100 * seed + k) for k in range(4))]
    for _ in range(count):
        a, b = draw.choice(pool[-20:]), draw.choice(pool)
        op = draw.choice((Op.Add, Op.Mul, Op.Max, Op.Sub))
        pool.append(UOp(op, (a, b)))
        loops = sorted(free_ranges(pool[-1]), key=lambda r: r.arg.id)
        if loops and draw.random() < 0.2:
            pool.append(Op.Reduce(pool[-1], draw.choice(loops), arg=ReduceArg(Op.Add)))
    return pool[-1]


def by_recursion(root: UOp) -> list[UOp]:
    """Sources from left to right, then the node, each once."""
    found: dict[UOp, None] = {}

    def visit(node: UOp) -> None:
        if node not in found:
            for source in node.src:
                visit(source)
            found[node] = None

    visit(root)
    return list(found)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_nodes_is_that_of_recursion(seed: int) -> None:
    root, other = grown(seed), grown(seed + 10)
    expected = by_recursion(root)
    assert list(toposort(root)) == own_nodes(root) == expected
    assert [*under(root)] == [*under(root)] == expected
    both = list(dict.fromkeys([*expected, *by_recursion(other)]))
    assert list(toposort(root, other)) == both
    assert list(toposort()) == []


def test_a_list_that_is_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "LONGEST", 10)
    root = grown(77)
    before = len(rebuilding._BELOW)
    assert list(under(root)) == list(under(root)) == by_recursion(root)
    assert len(rebuilding._BELOW) == before
    small = Op.Neg(param(55, int32))
    assert list(under(small)) == list(toposort(small))
    assert len(rebuilding._BELOW) == before + 1


def test_what_is_listed_is_let_go_with_its_root() -> None:
    root = Op.Neg(Op.Neg(param(56, float32)))
    under(root)
    gc.collect()
    gone = [weakref.ref(root), weakref.ref(root.src[0])]
    before = len(rebuilding._BELOW)
    del root
    gc.collect()
    assert [r() for r in gone] == [None, None]
    assert len(rebuilding._BELOW) == before - 1


def test_a_table_of_nodes_forgets_with_the_nodes() -> None:
    table: Remembered[int] = Remembered()
    a, b = Op.Neg(param(57, int32)), Op.Neg(param(58, int32))
    table[a] = 1
    table[a] = 2
    table[b] = 3
    assert (table[a], table[b], len(table)) == (2, 3, 2)
    assert param(57, int32) not in table
    with pytest.raises(KeyError):
        table[param(57, int32)]
    del a
    gc.collect()
    assert len(table) == 1
    assert b in table


def test_a_law_is_asked_once_of_each_node() -> None:
    asked: list[UOp] = []
    depths: Remembered[int] = Remembered()

    def depth(node: UOp) -> int:
        asked.append(node)
        return 1 + max((depths[s] for s in node.src), default=0)

    root = grown(3)
    assert depths.found(root, depth) == depths.found(root, depth)
    assert sorted(map(id, asked)) == sorted(map(id, toposort(root)))
    deep = param(59, int32)
    for _ in range(20_000):
        deep = Op.Neg(deep)
    assert depths.found(deep, depth) == 20_000 + depths[param(59, int32)]


@pytest.mark.parametrize("seed", range(3))
def test_ranges_are_those_that_the_law_leaves_free(seed: int) -> None:
    for n in toposort(grown(seed)):
        assert arithmetic.ranges_of(n) == arithmetic.ranges_of(n) == free_ranges(n)


def test_numbers_are_index_constants() -> None:
    assert arithmetic.number(1) is arithmetic.number(1) is const(1, index)
    assert arithmetic.number(0) is const(0, index)
    assert arithmetic.number(1).dtype is index


def test_a_node_is_made_anew_only_over_other_sources() -> None:
    x, y, z = (param(k, int32) for k in range(3))
    total = UOp(Op.Add, (x, y), tag="kept")
    assert over(total, (x, y)) is total
    assert over(total, (z, y)) is UOp(Op.Add, (z, y), tag="kept")
    assert over(total, (y, x)) is UOp(Op.Add, (y, x), tag="kept")
    assert over(x, x.src) is x
    flag = param(3, bool_)
    assert over(Op.Cast(flag, arg=int32), (Op.Not(flag),)) is Op.Cast(Op.Not(flag), arg=int32)


@pytest.mark.parametrize("made_by", [rebuilt, rebuilding.rebuilt])
def test_a_graph_is_rebuilt_from_its_sources_up(
    made_by: Callable[[UOp, Callable[[UOp, tuple[UOp, ...]], UOp | None]], UOp],
) -> None:
    x, y, z = (param(k, int32) for k in range(3))
    inner = UOp(Op.Add, (x, y), tag="kept")
    root = Op.Mul(inner, Op.Neg(y))
    met: list[tuple[UOp, tuple[UOp, ...]]] = []

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        met.append((node, src))
        return z if node is x else None

    moved = UOp(Op.Add, (z, y), tag="kept")
    assert made_by(root, change) is Op.Mul(moved, Op.Neg(y))
    assert [n for n, _ in met] == list(toposort(root)), "every node once, sources before users"
    assert dict(met)[root] == (moved, Op.Neg(y)), "what is asked about comes with its new sources"
    assert made_by(root, lambda _node, _src: None) is root
    assert made_by(root, lambda n, _: z if n is root else None) is z
    assert made_by(Op.Neg(root), lambda n, src: src[0] if n.op is Op.Neg else None) is Op.Mul(inner, y)


def test_a_law_is_asked_of_what_is_not_known_alone() -> None:
    below = {"root": ("a", "b"), "a": ("known",), "b": ("a", "leaf"), "known": ("never",), "leaf": ()}
    found, asked = {"known": 10}, []

    def law(name: str) -> int:
        asked.append(name)
        return 1 + sum(found[n] for n in below[name])

    for _ in range(2):
        assert filled(found, "root", below.__getitem__, law) == 1 + 11 + (1 + 11 + 1)
    assert asked == ["a", "leaf", "b", "root"], "each once, after what lies below it"
    assert filled(found, "known", below.__getitem__, law) == 10


def test_a_walk_goes_where_it_is_told() -> None:
    x, y, z = (param(k, int32) for k in range(3))
    function = Op.Function(Op.Tuple(Op.Add(x, y)), Op.Neg(x), y)
    root = Op.Neg(Op.GetTuple(function, arg=0))
    own = bodies.own_sources
    walked = [n for n in toposort(root, below=own) if n.op is not Op.Stack]
    assert walked == [x, Op.Neg(x), y, function, root.src[0], root]
    other = rebuilt(root, lambda n, _: z if n is x else None, own)
    assert other.src[0].src[0] is Op.Function(function.src[0], Op.Neg(z), y), "the body stays as it is"

    def stops(n: UOp) -> tuple[UOp, ...]:
        return () if n is root.src[0] else n.src

    assert list(toposort(root, below=stops)) == [root.src[0], root]
    assert rebuilt(root, lambda n, _: z if n is x else None, stops) is root


def test_storage_is_no_part_of_what_is_remembered() -> None:
    storage = buffer(990, 4, float32)
    value = Op.Load(Op.Index(storage, loop(4, 991)))
    arithmetic.ranges_of(value)
    arithmetic.bounds(value.src[0].src[1])
    under(value)
    gone = weakref.ref(storage)
    del storage, value
    gc.collect()
    assert gone() is None
