"""What lowering remembers of nodes is what it would find, and goes with them."""

from __future__ import annotations

import gc
import random
import weakref

import pytest

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.cached import Remembered
from soundline.impl.lower.graphs import rebuilding
from soundline.impl.lower.graphs.rebuilding import over, under
from soundline.spec.dtypes import bool_, float32, index, int32
from soundline.spec.ops.bodies import free_ranges, own_nodes
from soundline.spec.uop import Op, ReduceArg, UOp, buffer, const, loop, param, toposort


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
    for node in toposort(grown(seed)):
        assert arithmetic.ranges_of(node) == arithmetic.ranges_of(node) == free_ranges(node)


def test_numbers_are_index_constants() -> None:
    assert arithmetic.number(1) is arithmetic.number(1) is const(1, index)
    assert arithmetic.number(0) is const(0, index)
    assert arithmetic.number(1).dtype is index


def test_a_node_is_made_anew_only_over_other_sources() -> None:
    x, y, z = (param(k, int32) for k in range(3))
    total = UOp(Op.Add, (x, y), tag="kept")
    assert over(total, {x: x, y: y}) is total
    assert over(total, {x: z, y: y}) is UOp(Op.Add, (z, y), tag="kept")
    assert over(total, {x: y, y: x}) is UOp(Op.Add, (y, x), tag="kept")
    assert over(x, {s: s for s in x.src}) is x
    flag = param(3, bool_)
    assert over(Op.Cast(flag, arg=int32), {flag: Op.Not(flag)}) is Op.Cast(Op.Not(flag), arg=int32)


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
