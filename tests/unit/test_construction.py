"""Nodes are made fast: what is remembered is what the law says, and the table of nodes is one table."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from typing import Any

import pytest

from soundline.impl import construction
from soundline.spec.dtypes import bool_, float32, index, int32, void
from soundline.spec.errors import IllFormed
from soundline.spec.node import Properties, UOp
from soundline.spec.op_schema import Op
from soundline.spec.uop import buffer, const, laws, loop, param

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


def outcome(law: construction.Laws, op: Op, src: tuple[Any, ...], arg: Any) -> object:
    try:
        found = law(op, src, arg)
        return found.dtype, found.shape, found.device, found.axis
    except IllFormed as refusal:
        return refusal.rule


@pytest.mark.parametrize("op", sorted(construction.ALIKE, key=lambda op: op.name), ids=lambda op: op.name)
def test_what_is_remembered_is_what_the_law_says(op: Op) -> None:
    remembered = construction.remembering(laws)
    args = (int32, float32, index, void, None) if op is Op.Cast else (None, 1)
    for count in (1, 2, 3):
        for src in itertools.islice(itertools.product(OPERANDS, repeat=count), 0, None, 1 + 6 * (count == 3)):
            for arg in args:
                expected = outcome(laws, op, src, arg)
                assert outcome(remembered, op, src, arg) == expected
                assert outcome(remembered, op, src, arg) == expected


def test_only_the_first_of_alike_tuples_is_judged() -> None:
    judged = []

    def counted(op: Op, src: tuple[UOp, ...], arg: Any) -> Properties:
        judged.append(op)
        return laws(op, src, arg)

    remembered = construction.remembering(counted)
    a, b, c = (param(k, int32, (2,)) for k in range(3))
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
    remembered = construction.remembering(laws)
    remembered(Op.Add, (a, a), None)
    with pytest.raises(IllFormed):
        remembered(Op.Add, (a, Twin()), None)  # type: ignore[arg-type]


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(construction, "MOST", 4)
    judged = []
    remembered = construction.remembering(lambda op, src, arg: judged.append(1) or laws(op, src, arg))  # type: ignore[func-returns-value]
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
