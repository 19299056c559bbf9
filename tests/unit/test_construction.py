"""Nodes are made fast: what is remembered is what the law says, and the table of nodes is one table."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from typing import Any

import pytest

from soundline.impl.analysis import checks
from soundline.spec.dtypes import bool_, float32, index, int32, void
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op, Properties, RangeArg, ReduceArg, UOp
from soundline.spec.uop import buffer, const, laws, loop, param, shape_source

N = param(9, index, bounds=(0, 8))
OPERANDS = [
    param(0, int32),
    param(1, float32),
    param(2, bool_),
    param(3, int32, (2,)),
    param(4, int32, (2,), device="CPU:1"),
    param(5, int32, (4,), device=("CPU:0", "CPU:1"), axis=0),
    param(6, int32, (N,)),
    const(2, index),
    const(-1, index),
    loop(3, 1),
    Op.Sink(),
]


def outcome(law: checks.Laws, op: Op, src: tuple[Any, ...], arg: Any) -> object:
    try:
        found = law(op, src, arg)
        return found.dtype, found.shape, found.device, found.axis
    except IllFormed as refusal:
        return refusal.rule


@pytest.mark.parametrize("op", sorted(checks.ALIKE, key=lambda op: op.name), ids=lambda op: op.name)
def test_what_is_remembered_is_what_the_law_says(op: Op) -> None:
    remembered = checks.remembering(laws)
    args = (int32, float32, index, void, None) if op is Op.Cast else (None, 1)
    for count in (1, 2, 3):
        for src in itertools.islice(itertools.product(OPERANDS, repeat=count), 0, None, 1 + 6 * (count == 3)):
            for arg in args:
                expected = outcome(laws, op, src, arg)
                assert outcome(remembered, op, src, arg) == expected
                assert outcome(remembered, op, src, arg) == expected


SIZES = [shape_source(sizes) for sizes in ((), (2,), (1, 2), (2, 1), (4,), (2, 3), (-1,), (N,))]


@pytest.mark.parametrize("op", checks.RESIZING, ids=lambda op: op.name)
def test_what_is_remembered_of_views_is_what_the_law_says(op: Op) -> None:
    remembered = checks.remembering(laws)
    for operand in (*OPERANDS, param(7, float32, (1,)), param(8, float32, (1, 1))):
        for sizes in (*SIZES, const(2, index), operand):
            for arg in (None, 1):
                expected = outcome(laws, op, (operand, sizes), arg)
                assert outcome(remembered, op, (operand, sizes), arg) == expected
                assert outcome(remembered, op, (operand, sizes), arg) == expected
    for src in ((), OPERANDS[:1], (OPERANDS[3], SIZES[1], SIZES[1])):
        assert outcome(remembered, op, tuple(src), None) == outcome(laws, op, tuple(src), None)


def effects() -> list[UOp]:
    """Effects, of which some leave a Range open, each in its own way."""
    i, k = loop(4, 1), loop(4, 2)
    inner = UOp(Op.Range, (i,), RangeArg(3))
    x, y = buffer(0, 16, float32), buffer(1, 16, float32)
    value = Op.Load(Op.Index(x, Op.Add(Op.Mul(i, const(4, index)), k)))
    total = Op.Reduce(value, k, arg=ReduceArg(Op.Add))
    stored, whole = Op.Store(Op.Index(y, i), value), Op.Store(Op.Index(y, i), total)
    early = Op.Store(Op.Index(y, const(0, index)), total)
    ragged = Op.Store(Op.Index(y, inner), const(1.0, float32))
    return [
        *(stored, Op.End(stored, i), Op.End(stored, k), Op.End(Op.End(stored, k), i)),
        *(whole, Op.End(whole, i), Op.End(Op.End(whole, k), i), Op.End(early, k), early),
        *(ragged, Op.End(ragged, inner), Op.End(ragged, i), Op.End(Op.End(ragged, inner), i)),
        Op.Group(Op.End(whole, i), Op.End(stored, i)),
        Op.After(y, Op.End(whole, i)),
        Op.Load(Op.Index(Op.After(y, Op.End(whole, i)), k)),
    ]


def test_a_sink_is_refused_where_the_law_refuses_it() -> None:
    remembered = checks.remembering(laws)
    told = set[object]()
    for count in (0, 1, 2):
        for src in itertools.product(effects(), repeat=count):
            expected = outcome(laws, Op.Sink, src, None)
            told.add(expected)
            assert outcome(remembered, Op.Sink, src, None) == expected, src
            assert outcome(remembered, Op.Sink, src, None) == expected, src
            assert checks.closes_all(src) == (expected != "uop-sink-c1"), src
    assert len(told) == 3  # with and without a device, and refused


def test_only_a_sink_whose_ranges_are_closed_is_taken_for_another() -> None:
    judged = []
    remembered = checks.remembering(lambda op, src, arg: judged.append(src) or laws(op, src, arg))  # type: ignore[func-returns-value]
    closed = [e for e in effects() if checks.closes_all((e,)) and e.op is Op.End]
    for effect in closed:
        remembered(Op.Sink, (effect,), None)
    assert len(judged) == 1 < len(closed)


def test_only_the_first_of_alike_tuples_is_judged() -> None:
    judged = []

    def counted(op: Op, src: tuple[UOp, ...], arg: Any) -> Properties:
        judged.append(op)
        return laws(op, src, arg)

    remembered = checks.remembering(counted)
    a, b, c = (param(k, int32, (2, 7)) for k in range(7001, 7004))  # made anew, whatever other tests hold
    for src in ((a, b), (b, c), (c, a)):
        remembered(Op.Add, src, None)
    assert judged == [Op.Add]
    remembered(Op.Add, (param(6, int32, (N,)),) * 2, None)
    remembered(Op.Add, (param(6, int32, (N,)),) * 2, None)
    assert judged == [Op.Add] * 3  # sizes that are nodes are not kept alive
    remembered(Op.Shl, (const(1, index), const(1, index)), None)
    with pytest.raises(IllFormed):
        remembered(Op.Shl, (const(1, index), const(-1, index)), None)


def test_what_only_looks_like_a_node_is_no_source() -> None:
    class Twin:
        dtype, shape, device, axis = int32, (2,), None, None

    a = param(0, int32, (2,))
    remembered = checks.remembering(laws)
    remembered(Op.Add, (a, a), None)
    with pytest.raises(IllFormed):
        remembered(Op.Add, (a, Twin()), None)  # type: ignore[arg-type]


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST", 4)
    judged = []
    remembered = checks.remembering(lambda op, src, arg: judged.append(1) or laws(op, src, arg))  # type: ignore[func-returns-value]
    for _ in range(2):
        for n in range(1, 9):
            remembered(Op.Neg, (param(0, int32, (n,)),), None)
    assert len(judged) == 16


def test_threads_that_make_one_tuple_get_one_node() -> None:
    x, y = buffer(71, 4, int32), buffer(72, 4, int32)
    made: list[list[UOp]] = []
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        made.append([Op.Add(Op.Mul(x, y), Op.Sub(x, y)) for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({id(n) for nodes in made for n in nodes}) == 1


def test_the_table_keeps_no_node_alive_however_deep() -> None:
    node = buffer(73, 4, int32)
    first = weakref.ref(node)
    for _ in range(50_000):
        node = Op.Neg(node)
    last = weakref.ref(node)
    del node
    gc.collect()
    assert last() is None
    assert first() is None


def test_a_constant_is_told_from_its_twins() -> None:
    twins = [const(1, int32), const(1, index), const(True, bool_), const(1.0, float32)]
    zeros = [const(0.0, float32), const(-0.0, float32)]
    assert len({id(c) for c in (*twins, *zeros)}) == 6
    assert const(float("nan"), float32) is const(-float("nan"), float32)
    assert hash(twins[0].arg) == hash(const(1, int32).arg)
    assert zeros[0].arg != zeros[1].arg
