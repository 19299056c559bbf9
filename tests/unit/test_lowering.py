"""The lowering stages: each keeps the value of a program, and each does what its name says."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from soundline.impl.analysis import arithmetic
from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.lower.callify import callify
from soundline.impl.lower.graphs.loops import stride
from soundline.impl.lower.graphs.obligations import assuming, obligations
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.linear.expand import expand
from soundline.impl.lower.linear.linearize import linearize
from soundline.impl.lower.linear.plan import placements
from soundline.impl.lower.optimize import optimize
from soundline.impl.lower.rangeify import rangeify
from soundline.impl.lower.schedule import tiles
from soundline.impl.lower.schedule.legality import LANE_TYPES
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.select import select
from soundline.impl.program.compile import STAGES, compile, lower, stage_text  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float16, float32, index, int32, int64, uint8
from soundline.spec.errors import CompileError, UsageError
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.table.parsing import parse
from soundline.spec.ops.textual_form import program_text
from soundline.spec.uop import (
    AxisType,
    Op,
    ParamArg,
    RangeArg,
    ReduceArg,
    UOp,
    WmmaArg,
    buffer,
    const,
    loop,
    param,
    reshape,
    shape_source,
    toposort,
)
from soundline.spec.values.decompositions import PROGRAMS

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from programs import programs


def function_of(*roots: UOp) -> tuple[UOp, dict[int, np.ndarray]]:
    """The callified function of stored graphs, its arguments numbered from 0, and what they hold."""
    function = callify(roots)
    held = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    return Op.Function(function.src[0], *fresh), held


def executed(kernels: UOp, held: dict[int, np.ndarray]) -> dict[int, Array]:
    """What the buffers hold after all kernels, in order."""
    memory: dict[int, object] = dict(held)
    for kernel in kernels.src:
        kept = {n.arg.slot for n in toposort(kernel) if n.op is Op.Buffer and n.arg.addrspace == "GLOBAL"}
        memory.update({slot: a for slot, a in execute(kernel, buffers=memory).items() if slot in kept})
    return {slot: value for slot, value in memory.items() if isinstance(value, Array)}


def check_stages(roots: list[UOp]) -> None:
    """After every stage, the outputs hold the values of the graphs, and the stage has a text that reads back."""
    function, held = function_of(*roots)
    expected = [evaluate(r, buffers={n.arg.slot: storage.contents(n) for n in buffers_of(r)}) for r in roots]
    lowered = lower(function, "exact")
    assert [parse(program_text(stage)) for stage in lowered.stages.values()] == [
        (stage,) for stage in lowered.stages.values()
    ]
    body = lowered.stages["callify"]
    for k, value in enumerate(expected):
        assert evaluate(Op.GetTuple(body, arg=k), buffers=held) == value
    for name in STAGES[1:-1]:
        memory = executed(lowered.stages[name], held)
        for k, value in enumerate(expected):
            if value.elements:
                found = memory[len(held) + k]
                assert (
                    found.elements == value.elements
                    or Array(value.dtype, value.shape, found.elements) == value
                ), name


def nested_reduces() -> UOp:
    """A reduction inside two loops of another one, which lanes do not take apart."""
    inner = Op.Reduce(stored(2, 2, 3).uop, arg=ReduceArg(Op.Add, (2,)))
    return Op.Reduce(inner, arg=ReduceArg(Op.Mul, (0, 1)))


def buffers_of(root: UOp) -> list[UOp]:
    return [n for n in toposort(root) if n.op is Op.Buffer]


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(programs(steps=4))
def test_every_stage_keeps_the_value(roots: list[UOp]) -> None:
    check_stages(roots)


def stored(*shape: int, dtype: type = np.float32) -> Tensor:
    """Small whole numbers in an order that is no symmetry."""
    count = math.prod(shape)
    return Tensor(((np.arange(count) * 7 + 3) % 11 - 5).reshape(shape).astype(dtype))


@pytest.mark.parametrize(
    "root",
    [
        stored(9, 5) @ stored(5, 37),
        (stored(2, 37).softmax() * 2).sum(0),
        stored(260).sum(),
        Tensor.of(nested_reduces()),
        stored(2, 18, 17).permute(2, 0, 1).contiguous(),
        stored(2, 300).sum(1),
        stored(140, dtype=np.int8).max(),
        stored(2, 3, 4).permute(2, 0, 1).reshape(6, 4).pad(((1, 0), (0, 2)))[::-1, ::3],
        (stored(6, 4) > 0).any(1).where(stored(6), 1.5),
    ],
    ids=[
        "gemm with tails",
        "softmax",
        "blocked sum",
        "nested",
        "tiles",
        "blocked rows",
        "split max",
        "views",
        "bool temporary",
    ],
)
def test_every_stage_keeps_the_value_where_lanes_are_made(root: Tensor) -> None:
    check_stages([root.uop])


# Callify ----------------------------------------------------------------------------------------------------------


def test_callify_inlines_nested_functions_whose_params_share_slots() -> None:
    p = param(0, int32)
    double = Op.Function(Op.Tuple(Op.Add(p, p)), Op.Mul(p, const(3, int32)))
    outer = Op.Function(Op.Tuple(Op.Add(Op.GetTuple(double, arg=0), p)), const(5, int32))
    root = Op.GetTuple(outer, arg=0)
    function = callify([root])
    assert all(n.op not in (Op.Function, Op.Param) for n in toposort(function.src[0]))
    assert evaluate(Op.GetTuple(function, arg=0)).item() == evaluate(root).item() == 35


def test_callify_drops_markers_and_orders_arguments() -> None:
    a, b = buffer(10_001, 2, int32), buffer(10_002, 2, int32)
    root = Op.Detach(Op.Add(Op.Load(b), Op.ContiguousBackward(a)))
    function = callify([root], [a])
    assert function.src[1:] == (a, b)
    assert {n.op for n in toposort(function.src[0])} <= {Op.Tuple, Op.Add, Op.Param, Op.Stack, Op.Const}


def test_callify_refuses_effects_and_other_devices() -> None:
    far = UOp(Op.Buffer, (), buffer(0, 2, int32).arg.__class__(0, 2, int32, "CUDA"))
    with pytest.raises(CompileError):
        callify([far])
    with pytest.raises(CompileError):
        callify([Op.Cast(loop(3, 0), arg=int64)])


# Rangeify ---------------------------------------------------------------------------------------------------------


def kernels_of(*tensors: Tensor) -> list[UOp]:
    function, _ = function_of(*(t.uop for t in tensors))
    return list(rangeify(function).src)


def test_elementwise_chains_are_one_kernel() -> None:
    x = stored(3, 4)
    assert len(kernels_of(((x + 1) * x).T.reshape(12) - 2)) == 1


def test_a_cheap_epilogue_joins_its_reduction() -> None:
    a, b = stored(3, 4), stored(4, 5)
    assert len(kernels_of(a @ b + stored(5))) == 1


def test_softmax_stores_the_exponentials_once() -> None:
    kernels = kernels_of(stored(3, 4).softmax())
    assert len(kernels) == 2
    assert sum(n.op is Op.Exp2 for k in kernels for n in toposort(k)) == 1


def test_a_value_needed_moved_and_as_it_is_is_computed_once() -> None:
    program = compile(
        lambda x: x.softmax(), np.ones((3, 320), np.float32)
    )  # its sum is over a reshape of the powers
    assert len(program.kernels) == 1  # one loop over rows
    assert sum(n.op is Op.Exp2 for k in program.kernels for n in toposort(k)) == 1


def test_a_reduction_that_every_element_needs_is_computed_once() -> None:
    x = stored(30, 4)
    column = x - x.sum(
        0
    )  # the sum depends on the inner loop only, so it would run anew in each of the outer one
    assert len(kernels_of(column)) == 2
    row = x - x.sum(1, keepdim=True)
    assert len(kernels_of(row)) == 1


def test_a_reduction_is_stored_where_padding_would_repeat_it() -> None:
    assert len(kernels_of(stored(3, 4).sum(1).pad((1, 1)))) == 2


def test_contiguous_forces_a_kernel() -> None:
    x = stored(3, 4)
    assert len(kernels_of(x.T.contiguous() + 1)) == 2


def test_every_value_is_a_scalar_and_one_output_may_be_given_twice() -> None:
    x = stored(2, 3)
    kernels = kernels_of(x, x, x + 1)
    assert len(kernels) == 3
    for node in itertools.chain.from_iterable(map(toposort, kernels)):
        assert node.op is Op.Buffer or node.shape in ((), None)


def test_empty_reductions_and_empty_outputs() -> None:
    nothing = Tensor(np.zeros((0, 3), np.float32))
    total = nothing.sum(0)
    np.testing.assert_array_equal(total.numpy(), [0, 0, 0])
    assert not np.signbit(total.numpy()).any()
    np.testing.assert_array_equal(nothing.max(0).numpy(), [-np.inf] * 3)
    np.testing.assert_array_equal(nothing.prod(0).numpy(), [1, 1, 1])
    assert kernels_of(nothing) == []
    assert nothing.numpy().shape == (0, 3)


def test_shapes_must_be_numbers() -> None:
    n = param(0, index)
    x = UOp(Op.Param, (shape_source((n,)),), ParamArg(1, float32))
    function = Op.Function(Op.Tuple(Op.Neg(x)), const(4, index), buffer(0, 4, float32))
    with pytest.raises(CompileError):
        rangeify(function)


# Obligations ------------------------------------------------------------------------------------------------------


def test_every_access_has_a_discharged_obligation() -> None:
    padded = stored(3).pad((2, 1))
    function, _ = function_of(padded.uop)
    kernels = rangeify(function)
    found = obligations(kernels)
    assert {(o.access, o.slot, o.how) for o in found} == {("load", 0, "guarded"), ("store", 1, "proved")}
    assert {o.interval for o in found} == {(0, 2), (0, 5)}


@pytest.mark.parametrize(
    ("offset", "size", "fits"), [(0, 6, True), (1, 6, False), (0, 5, False), (-1, 7, False)]
)
def test_an_index_must_stay_inside(offset: int, size: int, fits: bool) -> None:
    r = loop(6, 0)
    place = Op.Index(buffer(0, size, int32), Op.Add(r, const(offset, index)))
    kernel = Op.Linear(Op.Sink(Op.End(Op.Store(place, const(1, int32)), r)))
    if fits:
        assert [o.how for o in obligations(kernel)] == ["proved"]
    else:
        with pytest.raises(CompileError) as caught:
            obligations(kernel)
        assert caught.value.rule == "U-01"


@pytest.mark.parametrize(
    ("low", "high", "fits"), [(0, 4, True), (0, 5, False), (-1, 4, False), (None, 4, False), (0, None, False)]
)
def test_a_gate_must_imply_the_bounds(low: int | None, high: int | None, fits: bool) -> None:
    at = Op.Add(loop(9, 0), const(-2, index))
    parts = [] if low is None else [Op.CmpLe(const(low, index), at)]
    parts += [] if high is None else [Op.CmpLt(at, const(high, index))]
    gate = parts[0] if len(parts) == 1 else Op.And(*parts)
    load = Op.Load(Op.Index(buffer(0, 4, int32), at), const(0, int32), gate)
    kernel = Op.Linear(Op.Sink(Op.End(Op.Store(Op.Index(buffer(1, 9, int32), loop(9, 0)), load), loop(9, 0))))
    if fits:
        assert "guarded" in [o.how for o in obligations(kernel)]
    else:
        with pytest.raises(CompileError):
            obligations(kernel)


def test_a_gate_narrows_only_what_it_speaks_of() -> None:
    a, b = loop(10, 0), loop(10, 1)
    gate = Op.And(Op.CmpLe(const(2, index), a), Op.CmpLt(a, const(5, index)))
    known = arithmetic.bounds(assuming(gate, Op.Add(a, b)))
    assert known is not None
    assert (known.lo, known.hi) == (2, 4 + 9)


def test_a_closed_gate_guards_everything() -> None:
    at = const(99, index)
    load = Op.Load(Op.Index(buffer(0, 4, int32), at), const(0, int32), const(False, bool_))
    kernel = Op.Linear(Op.Sink(Op.Store(Op.Index(buffer(1, 1, int32), const(0, index)), load)))
    assert [o.interval for o in obligations(kernel) if o.access == "load"] == [None]


# Optimize and expand ----------------------------------------------------------------------------------------------


def optimized(*tensors: Tensor) -> UOp:
    function, _ = function_of(*(t.uop for t in tensors))
    return optimize(rangeify(function), (), Applied())


def lanes_of(kernels: UOp) -> list[list[int]]:
    """The sizes of the ranges of each nest that are lanes."""
    return [
        [int(n.src[0].arg.value) for n in toposort(nest) if n.op is Op.Range and n.arg.type in LANE_TYPES]
        for kernel in kernels.src
        for nest in kernel.src
    ]


@pytest.mark.parametrize(
    ("machine", "tiles_made"),
    [
        (Target(64, 32), [[4, 6], [4, 64], [5, 6], [5, 64]]),
        (Target(32, 16), [[4, 6], [4, 16], [5, 6], [5, 16]]),
    ],
    ids=["wide", "narrow"],
)
def test_a_matrix_product_gets_rows_and_lanes_and_tails(
    machine: Target, tiles_made: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "this_machine", lambda: machine)
    found = lanes_of(optimized(stored(19, 3) @ stored(3, 70)))
    assert sorted(map(sorted, found)) == tiles_made


def test_a_float_sum_along_memory_keeps_its_order_without_a_licence() -> None:
    x = stored(2, 200)
    assert lanes_of(optimized(x.sum(1))) == [[]]
    function, _ = function_of(x.sum(1).uop)
    assert lanes_of(optimize(rangeify(function), ("reassociate",), Applied())) != [[]]
    assert lanes_of(optimized(stored(2, 200, dtype=np.int64).sum(1))) != [[]]


def test_only_loops_that_every_access_walks_as_one_are_merged() -> None:
    def loops(t: Tensor) -> int:
        return sum(n.op is Op.Range for n in toposort(optimized(t).src[0]))

    x, y = stored(3, 4), stored(3, 4)
    assert loops(x + y) == 1
    assert loops(x + y.reshape(4, 3).T) == 2
    assert loops(x + stored(4)) == 2


def test_a_transpose_goes_by_tiles_and_a_copy_does_not() -> None:
    assert [32, 32] in lanes_of(optimized(stored(40, 35).T.contiguous()))
    assert not any(
        32 in found and len(found) > 1 for found in lanes_of(optimized(stored(40, 20)[::-1].contiguous()))
    )
    assert lanes_of(optimized(stored(40, 5).T.contiguous())) == [[]]


def test_a_gate_that_only_the_last_step_fails_is_peeled() -> None:
    x = stored(7).pad((0, 1)).reshape(4, 2)
    nests = optimized(x * 2).src[0].src
    gated = [any(n.op is Op.Load and len(n.src) == 3 for n in toposort(nest)) for nest in nests]
    assert len(gated) <= 2
    assert gated.count(True) <= 1


@pytest.mark.parametrize(
    ("expression", "expected"), [("r*3 + 1", 3), ("r*r", None), ("r//2", None), ("5", 0)]
)
def test_strides(expression: str, expected: int | None) -> None:
    r = loop(6, 0)
    nodes = {
        "r*3 + 1": Op.Add(Op.Mul(r, const(3, index)), const(1, index)),
        "r*r": Op.Mul(r, r),
        "r//2": Op.Idiv(r, const(2, index)),
        "5": const(5, index),
    }
    assert stride(nodes[expression], r) == expected


def test_expand_leaves_no_parallel_range_and_gives_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "this_machine", lambda: Target(64, 32))
    kernels = expand(optimized(stored(9, 3) @ stored(3, 33)))
    nodes = list(toposort(kernels))
    assert not any(n.op is Op.Range and n.arg.type is AxisType.UPCAST for n in nodes)
    shapes = {n.shape for n in nodes if n.op is Op.Reduce}
    assert shapes == {(5, 33), (4, 33)}


# Select, linearize, plan ------------------------------------------------------------------------------------------


def test_select_leaves_only_what_c_has() -> None:
    x, z = stored(3).uop, storage.keep(np.arange(3, dtype=np.uint64))
    roots = [Op.Exp2(x), Op.Log2(x), Op.Sin(x), Op.Pow(x, x), Op.Threefry(z, z), Op.Mulacc(x, x, x)]
    function, _ = function_of(*roots)
    ops = {n.op for n in toposort(select(rangeify(function), TARGET))}
    assert not ops & {*PROGRAMS, Op.Mulacc}


@pytest.mark.parametrize(("start", "truncates"), [(0, True), (-1, False)])
def test_c_division_only_where_the_dividend_is_not_negative(start: int, truncates: bool) -> None:
    r = loop(6, 0)
    at = Op.Idiv(Op.Add(r, const(start, index)), const(2, index))
    store = Op.Store(Op.Index(buffer(0, 6, int64), r), Op.Cast(at, arg=int64))
    chosen = select(Op.Linear(Op.Sink(Op.End(store, r))), TARGET)
    assert any(n.op is Op.CDiv for n in toposort(chosen)) is truncates


def test_select_refuses_what_has_no_c_form_and_what_does_not_fit_an_index() -> None:
    fragment, sums = param(1, float16, (8,)), param(2, float32, (4,))
    product = Op.Wmma(fragment, fragment, sums, arg=WmmaArg((8, 16, 16), float16, float32))
    with pytest.raises(CompileError) as caught:
        select(Op.Linear(Op.Sink(Op.Store(buffer(0, 4, float32), product))), TARGET)
    assert caught.value.where == "Wmma"
    rows, columns = loop(1 << 40, 0), loop(1 << 40, 1)
    huge = Op.Mul(Op.Mul(rows, columns), const(0, index))
    stored = Op.Store(Op.Index(buffer(0, 1, float32), huge), const(1.0, float32))
    with pytest.raises(CompileError) as caught:
        select(Op.Linear(Op.Sink(Op.End(Op.End(stored, columns), rows))), TARGET)
    assert caught.value.rule == "U-02"


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(programs(steps=5))
def test_instructions_come_after_what_they_use_and_loops_nest(roots: list[UOp]) -> None:
    function, _ = function_of(*roots)
    for kernel in linearize(select(expand(optimize(rangeify(function), (), Applied())), TARGET)).src:
        seen: set[UOp] = set()
        open_loops: list[UOp] = []
        listed = set(kernel.src)
        for node in kernel.src:
            needed = [n for n in toposort(node) if n is not node and n in listed and n.op is not Op.Range]
            assert all(n in seen for n in needed)
            if node.op is Op.Range:
                open_loops.append(node)
            elif node.op is Op.End:
                assert open_loops.pop() is node.src[1]
            else:
                assert arithmetic.ranges_of(node) <= set(open_loops) | ranges_closed_in(node)
            seen.add(node)
        assert not open_loops


def ranges_closed_in(node: UOp) -> set[UOp]:
    """The ranges that the versions which a node reads have closed, or follow."""
    return {
        r
        for n in toposort(node)
        if n.op is Op.After
        for d in n.src[1:]
        for r in toposort(d)
        if r.op is Op.Range
    }


def test_loop_invariants_are_hoisted() -> None:
    x, row = stored(3, 5), stored(3, 1)
    function, _ = function_of((x * row.exp2()).uop)
    (kernel,) = linearize(select(rangeify(function), TARGET)).src
    ops = [n.op for n in kernel.src]
    inner = [k for k, op in enumerate(ops) if op is Op.Range][1]
    assert Op.Bitcast in ops[:inner]
    assert Op.Bitcast not in ops[inner:]


def chain(*sizes: int) -> UOp:
    """Kernels that copy buffer k to buffer k + 1; buffer 0 is given, and the last is the output 1."""
    slots = [0, *range(2, len(sizes)), 1]
    storages = [buffer(slot, size, uint8) for slot, size in zip(slots, sizes, strict=True)]
    kernels = []
    for a, b in itertools.pairwise(storages):
        zero = const(0, index)
        kernels.append(Op.Linear(Op.Store(Op.Index(b, zero), Op.Load(Op.Index(a, zero)))))
    return Op.Linear(*kernels)


@pytest.mark.parametrize("sizes", [(1, 64, 64, 64, 1), (1, 100, 1, 300, 65, 2, 9), (1, 0, 5, 1)])
def test_live_temporaries_never_share_bytes_and_dead_ones_do(sizes: tuple[int, ...]) -> None:
    layout = placements(chain(*sizes), 2)
    for a, b in itertools.combinations(layout, 2):
        alive_at_once = a.first <= b.last and b.first <= a.last
        disjoint = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
        assert disjoint or not alive_at_once
    assert all(p.offset % 64 == 0 and p.size >= p.storage.arg.size for p in layout)
    if sizes == (1, 64, 64, 64, 1):
        assert max(p.offset + p.size for p in layout) == 128


def test_bounds_are_those_of_the_law_and_ranges_are_closed() -> None:
    r = loop(5, 0)
    body = Op.Cast(Op.Add(r, const(2, index)), arg=int64)
    reduced = Op.Reduce(body, r, arg=ReduceArg(Op.Add))
    assert arithmetic.ranges_of(body) == {r}
    assert arithmetic.ranges_of(reduced) == frozenset()
    known = arithmetic.bounds(body)
    assert known is not None
    assert (known.lo, known.hi) == (2, 6)


# Stages as text ---------------------------------------------------------------------------------------------------


def test_every_stage_is_shown_in_the_textual_form() -> None:
    program = compile(lambda x: (x @ x).softmax(), np.ones((5, 5), np.float32))
    texts = {name: stage_text(program, name) for name in STAGES}
    assert len(set(texts.values())) == len(STAGES)
    assert "soundline_run" in texts.pop("render")
    assert {name: parse(text) for name, text in texts.items()} == {n: (s,) for n, s in program.stages.items()}
    with pytest.raises(UsageError):
        stage_text(program, "nonsense")


def test_equal_programs_are_lowered_once() -> None:
    first = compile(lambda x: x + 1, np.ones(3, np.float32))
    second = compile(lambda y: y + 1, np.ones(3, np.float32))
    assert first.stages["plan"] is second.stages["plan"]


def test_ranges_have_distinct_numbers() -> None:
    kernels = optimized((stored(20, 3) @ stored(3, 40)).softmax())
    ranges = {n for n in toposort(kernels) if n.op is Op.Range}
    assert len({r.arg.id for r in ranges}) == len(ranges)
    assert all(isinstance(r.arg, RangeArg) for r in ranges)


def test_reshape_of_equal_groups_needs_no_division() -> None:
    x = Tensor.of(reshape(stored(6, 8).uop, (2, 3, 8, 1)))
    ops = {n.op for k in kernels_of(x * 2) for n in toposort(k)}
    assert not ops & {Op.Idiv, Op.Mod}
