"""A Wmma is the product of the matrices whose fragments the lanes of a warp hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from soundline.spec.dtypes import float16, float32, index
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.table import Op
from soundline.spec.uop import AxisType, UOp, WmmaArg, buffer, const, loop, tensor
from soundline.spec.values.tensor_cores import LANES, TensorCore, core_named, fragment_map

CORE = core_named("m16n8k16.f16.f32")
assert CORE is not None
M, N, K = CORE.dims
A, B, C = buffer(0, M * K, float16), buffer(1, K * N, float16), buffer(2, M * N, float32)
OUT = buffer(3, M * N, float32)
WARP = loop(LANES, 0, AxisType.WARP)

rng = np.random.default_rng(0)
LEFT = rng.integers(-9, 9, (M, K)).astype(np.float16)
RIGHT = rng.integers(-9, 9, (K, N)).astype(np.float16)
START = rng.integers(-9, 9, (M, N)).astype(np.float32)
DATA = {0: LEFT.ravel(), 1: RIGHT.ravel(), 2: START.ravel()}
EXPECTED = LEFT.astype(np.float32) @ RIGHT.astype(np.float32) + START


def places(core: TensorCore, operand: str, lane: UOp) -> UOp:
    """Where in memory the elements of a lane's fragment are."""
    where = fragment_map(core, operand)  # type: ignore[arg-type]
    columns = core.digits(operand).shape[1]  # type: ignore[arg-type]
    elements = core.digits(operand).elements  # type: ignore[arg-type]
    rows = [[r * columns + c for r, c in (where[k, e] for e in range(elements))] for k in range(LANES)]
    return Op.Index(tensor(rows, index), lane)  # type: ignore[no-any-return]


def multiplied(lane: UOp, *, a: UOp = A) -> UOp:
    fragments = (Op.Index(m, places(CORE, o, lane)) for m, o in ((a, "A"), (B, "B"), (C, "C")))
    return Op.Wmma(*map(Op.Load, fragments), arg=CORE.arg)  # type: ignore[no-any-return]


def stored(lane: UOp, value: UOp) -> UOp:
    return Op.Store(Op.Index(OUT, places(CORE, "C", lane)), value)  # type: ignore[no-any-return]


def result(program: UOp) -> np.ndarray:
    return np.array(execute(program, DATA)[3].elements, np.float32).reshape(M, N)


def refused(rule: str, run: Callable[[], object]) -> str:
    with pytest.raises(EvaluationError) as caught:
        run()
    assert caught.value.rule == rule
    return str(caught.value)


def test_the_lanes_of_a_warp_multiply_matrices() -> None:
    product = multiplied(WARP)
    store = stored(WARP, product)
    end = Op.End(store, WARP)
    for program in (Op.Sink(end), Op.Linear(WARP, product, store, end), Op.Linear(WARP, store, end)):
        assert np.array_equal(result(program), EXPECTED)


def test_the_threads_of_a_grid_are_lanes() -> None:
    lane = Op.Special(const(LANES, index), arg="lidx0")
    product = multiplied(lane)
    store = stored(lane, product)
    assert np.array_equal(result(Op.Linear(product, store)), EXPECTED)
    assert np.array_equal(result(Op.Sink(store)), EXPECTED)


def test_one_lane_gets_its_own_fragment() -> None:
    found = evaluate(multiplied(WARP), buffers=DATA, ranges={0: 5})
    assert list(found.elements) == [
        EXPECTED[place] for (lane, _), place in fragment_map(CORE, "C").items() if lane == 5
    ]


def test_a_chain_of_products_accumulates_in_order() -> None:
    first = multiplied(WARP)
    again = Op.Wmma(first.src[0], first.src[1], first, arg=CORE.arg)
    store = stored(WARP, again)
    end = Op.End(store, WARP)
    expected = EXPECTED + LEFT.astype(np.float32) @ RIGHT.astype(np.float32)
    assert np.array_equal(result(Op.Sink(end)), expected)
    assert np.array_equal(result(Op.Linear(WARP, first, again, store, end)), expected)


def test_fragments_in_registers_are_seen_in_a_linear_only() -> None:
    registers = buffer(4, 8, float16, addrspace="REG")
    kept = Op.Store(registers, Op.Load(Op.Index(A, places(CORE, "A", WARP))))
    own = Op.Load(Op.After(registers, kept))
    b, c = multiplied(WARP).src[1:]
    product = Op.Wmma(own, b, c, arg=CORE.arg)
    store = stored(WARP, product)
    end = Op.End(store, WARP)
    assert np.array_equal(result(Op.Linear(WARP, kept, own, product, store, end)), EXPECTED)
    assert "every lane has its own" in refused("uop-wmma-sem", lambda: result(Op.Sink(end)))


def test_a_wmma_needs_the_lanes_of_a_warp() -> None:
    half = loop(LANES // 2, 0, AxisType.WARP)
    for lane in (half, loop(LANES, 0), loop(LANES, 0, AxisType.GLOBAL), const(3, index)):
        end = Op.Store(OUT, Op.Load(C)) if lane.op is Op.Const else None
        store = stored(lane, multiplied(lane))
        program = store if end is not None else Op.End(store, lane)
        refused("uop-wmma-sem", lambda p=program: result(Op.Sink(p)))
    product = multiplied(WARP)
    refused("uop-wmma-sem", lambda: evaluate(product, buffers=DATA))
    inner = loop(2, 1, AxisType.LOCAL)
    store = stored(WARP, product)
    steps = Op.Linear(WARP, inner, product, store, Op.End(store, inner), Op.End(Op.End(store, inner), WARP))
    assert "innermost" in refused("uop-wmma-sem", lambda: result(steps))
    group = loop(LANES, 2, AxisType.GLOBAL)
    alone = multiplied(group)
    listed = Op.Linear(group, alone, Op.End(Op.Group(), group))
    assert "lanes" in refused("uop-wmma-sem", lambda: result(listed))


def test_a_wmma_needs_a_known_configuration_and_its_fragments() -> None:
    unknown = WmmaArg((3, 3, 3), float16, float32)
    b, c = multiplied(WARP).src[1:]
    for product in (
        Op.Wmma(b, b, c, arg=CORE.arg),
        Op.Wmma(*multiplied(WARP).src, arg=unknown),
    ):
        refused("uop-wmma-sem", lambda p=product: result(Op.Sink(Op.End(stored(WARP, p), WARP))))
