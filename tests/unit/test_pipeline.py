"""The invariants of the stages: the compiler keeps them, and each is broken by a twin of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.lower.callify import callify
from soundline.impl.program.compile import STAGES as NAMES
from soundline.impl.program.compile import Lowered, lower
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bool_, float32, index, int32, uint8
from soundline.spec.errors import StageError
from soundline.spec.kernels.groups import with_local_buffers
from soundline.spec.kernels.iteration_spaces import Kernel
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import apply
from soundline.spec.pipeline.instructions import places, replaced_storage
from soundline.spec.pipeline.stages import (
    STAGES,
    Lowering,
    Violation,
    check,
    check_pipeline,
    meaning,
    require,
    value,
)
from soundline.spec.uop import (
    AxisType,
    Op,
    RangeArg,
    ReduceArg,
    SliceArg,
    UOp,
    buffer,
    const,
    loop,
    param,
    reshape,
    substitute,
    toposort,
)

from ..representative import thorough  # noqa: TID252

Held = Mapping[int, Any]


def stored(*shape: int, dtype: type = np.float32) -> Tensor:
    """Small whole numbers in an order that is no symmetry."""
    count = math.prod(shape)
    return Tensor(((np.arange(count) * 7 + 3) % 11 - 5).reshape(shape).astype(dtype))


def compiled(*roots: Tensor) -> tuple[Lowered, dict[int, np.ndarray]]:
    """The stages of a program, its arguments numbered from 0, and what they hold."""
    function = callify([r.uop for r in roots])
    held = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    return lower(Op.Function(function.src[0], *fresh), "exact"), held


PROGRAMS: dict[str, Callable[[], tuple[Tensor, ...]]] = {
    "gemm with tails": lambda: (stored(9, 5) @ stored(5, 37),),
    "softmax": lambda: ((stored(2, 37).softmax() * 2).sum(0),),
    "blocked sum": lambda: (stored(260).sum(),),
    "tiles": lambda: (stored(2, 18, 17).permute(2, 0, 1).contiguous(),),
    "split max": lambda: (stored(140, dtype=np.int8).max(),),
    "views": lambda: (stored(2, 3, 4).permute(2, 0, 1).reshape(6, 4).pad(((1, 0), (0, 2)))[::-1, ::3],),
    "two outputs": lambda: (stored(3, 4).exp(), stored(3, 4).sum(1)),
    "temporaries": lambda: ((stored(3, 5).softmax() @ stored(5, 3)).softmax(),),
    "empty": lambda: (stored(0, 3).sum(0), stored(0, 3)),
}


@pytest.mark.parametrize("name", [thorough(n) if n == "softmax" else n for n in PROGRAMS])
def test_the_compiler_keeps_every_invariant(name: str) -> None:
    lowered, held = compiled(*PROGRAMS[name]())
    assert check_pipeline(lowered.stages, lowered.source, TARGET, held) == []


def test_the_stages_are_those_of_the_source_and_of_the_compiler() -> None:
    assert tuple(STAGES) == NAMES
    assert [s.title for s in STAGES.values()] == [
        *("Callify", "Rangeify", "Optimize", "Expand", "Instruction Selection"),
        *("Linearize", "Register/Memory Plan", "Render"),
    ]
    ids = [i.id for s in STAGES.values() for i in s.invariants]
    assert len(set(ids)) == len(ids)
    assert STAGES["rangeify"].invariants[0].id == "stage-rangeify-c1"
    assert STAGES["rangeify"].value_id == "stage-rangeify-value"
    assert STAGES["render"].value is None


# Broken twins -----------------------------------------------------------------------------------------------------

GOOD, HELD = compiled(*PROGRAMS["temporaries"]())
ARGUMENTS, OUTPUTS = len(GOOD.stages["callify"].src) - 1, 1


def given_of(name: str, after: UOp | None = None, **changed: Any) -> Lowering:
    """What a stage made of the program, or `after` instead."""
    order = list(STAGES)
    at = order.index(name)
    before = GOOD.stages[order[at - 1]] if at else None
    own = GOOD.stages["plan" if name == "render" else name]
    given = Lowering(before, own if after is None else after, TARGET, ARGUMENTS, OUTPUTS, GOOD.source)
    return replace(given, **changed)


X, Y, OUT = buffer(0, 8, float32), buffer(1, 8, float32), buffer(2, 8, float32)
I, J = loop(8, 900), loop(8, 901)  # noqa: E741  # indices


def put(base: UOp, at: UOp, value: UOp) -> UOp:
    return Op.Store(Op.Index(base, at), value)


def got(base: UOp, at: UOp) -> UOp:
    return Op.Load(Op.Index(base, at))


def small(name: str, after: UOp, before: UOp | None = None, **changed: Any) -> Lowering:
    """A stage of a program of two arguments and one output."""
    return replace(Lowering(before, after, TARGET, 2, 1), **changed)


def kernels(*sinks: UOp) -> UOp:
    return Op.Linear(*sinks)


def copied(kind: AxisType = AxisType.LOOP) -> UOp:
    i = loop(8, 900, kind)
    return Op.Sink(Op.End(put(OUT, i, got(X, i)), i))


def overwritten(kind: AxisType) -> UOp:
    """Every iteration stores to one place."""
    i = loop(8, 900, kind)
    return Op.Sink(Op.End(put(OUT, const(0, index), got(X, i)), i))


def grouped(*, barrier: bool) -> UOp:
    """The sum of an argument by a group that shares memory."""
    j = loop(8, 900, AxisType.REDUCE)
    reduction = Op.Sink(put(OUT, const(0, index), Op.Reduce(got(X, j), j, arg=ReduceArg(Op.Add))))
    split = apply(Kernel(reduction), OptOp("Split", 0, (4, AxisType.GROUP_REDUCE)), ("reassociate",))
    shared = with_local_buffers(split)
    barriers = {n: Op.Group(*n.src) for n in toposort(shared) if n.op is Op.Barrier}
    return shared if barrier else substitute(shared, barriers)


def sequence(*steps: UOp) -> UOp:
    return kernels(Op.Linear(*steps))


ONE = const(1.0, float32)
LOADED = got(X, I)
STORED = put(OUT, I, LOADED)
ENDED = Op.End(STORED, I)


def arena(first: int, second: int, *, overlapping: bool) -> tuple[UOp, UOp]:
    """Two kernels with two temporaries, before and after a plan that puts them at two bytes of one Buffer."""
    t3, t4 = buffer(3, 8, float32), buffer(4, 8, float32)
    steps = [
        (t3, X), (OUT, t3), (t4, X), (OUT, t4)
    ] if not overlapping else [(t3, X), (t4, X), (OUT, t3), (OUT, t4)]  # fmt: skip

    def program(a: UOp, b: UOp) -> UOp:
        of = {t3: a, t4: b}
        lists = []
        for target, source in steps:
            read = got(of.get(source, source), I)
            write = put(of.get(target, target), I, read)
            lists.append(Op.Linear(I, read, write, Op.End(write, I)))
        return kernels(*lists)

    whole = buffer(3, 256, uint8)
    views = [Op.Slice(whole, const(at, index), arg=SliceArg(8, float32)) for at in (first, second)]
    return program(t3, t4), program(*views)


def planned(first: int, second: int, *, overlapping: bool) -> Lowering:
    before, after = arena(first, second, overlapping=overlapping)
    return small("plan", after, before)


def wide_index() -> UOp:
    far = Op.Mul(I, const(1 << 62, index))
    return kernels(Op.Sink(Op.End(put(OUT, Op.Mod(far, const(8, index)), ONE), I)))


P = param(0, float32, (8,))
BROKEN: dict[str, list[Callable[[], Lowering]]] = {
    "stage-callify-c1": [
        lambda: small("callify", P),
        lambda: small("callify", Op.Call(Op.CustomFunction(param(0, float32, (8,)), arg="f"), X)),
    ],
    "stage-callify-c2": [
        lambda: small("callify", Op.Function(Op.Tuple(Op.Load(P)), X)),
        lambda: small("callify", Op.Function(Op.Tuple(Op.GetTuple(Op.Function(Op.Tuple(P), P), arg=0)), X)),
    ],
    "stage-callify-c3": [
        lambda: small("callify", Op.Function(Op.Tuple(P), Y)),
        lambda: small("callify", Op.Function(Op.Tuple(P), reshape(X, (8,)))),
    ],
    "stage-rangeify-c1": [
        lambda: small("rangeify", Op.Group()),
        lambda: small("rangeify", kernels(Op.Sink(Op.Barrier()))),
    ],
    "stage-rangeify-c2": [lambda: small("rangeify", kernels(Op.Sink(Op.Store(OUT, Op.Load(X)))))],
    "stage-rangeify-c3": [
        lambda: small("rangeify", kernels(copied(AxisType.GLOBAL))),
        lambda: small("rangeify", kernels(copied(AxisType.UPCAST))),
    ],
    "stage-rangeify-c4": [
        lambda: small("rangeify", kernels(Op.Sink(Op.End(put(X, I, ONE), I)))),
        lambda: small("rangeify", kernels(copied(), copied())),
        lambda: small("rangeify", kernels(Op.Sink(Op.End(put(OUT, I, got(buffer(3, 8, float32), I)), I)))),
    ],
    "stage-optimize-c1": [
        lambda: small("optimize", kernels(copied(AxisType.UNROLL))),
        lambda: small("optimize", kernels(running(AxisType.LOOP, AxisType.LOOP))),
        lambda: small("optimize", kernels(running(AxisType.THREAD, AxisType.REDUCE))),
        lambda: small(
            "optimize", kernels(over(UOp(Op.Range, (param(0, index),), RangeArg(7, AxisType.REDUCE))))
        ),
    ],
    "stage-optimize-c2": [
        lambda: small("optimize", kernels(overwritten(AxisType.GLOBAL))),
        lambda: small("optimize", kernels(overwritten(AxisType.UPCAST))),
    ],
    "stage-optimize-c3": [
        lambda: small("optimize", kernels(Op.Sink(Op.End(put(Y, I, got(X, I)), I))), kernels(copied())),
        lambda: small("optimize", packed(reading_first=True), kernels(copied())),
        lambda: small("optimize", packed(copies=2), kernels(copied())),
        lambda: small("optimize", packed(copies=0), kernels(copied())),
        lambda: small("optimize", packed(slot=2, dtype=int32), kernels(copied())),
    ],
    "stage-optimize-c4": [
        lambda: small("optimize", kernels(grouped(barrier=False)), kernels(grouped(barrier=True)))
    ],
    "stage-expand-c1": [lambda: small("expand", Op.Group()), lambda: small("expand", sequence())],
    "stage-expand-c2": [lambda: small("expand", kernels(copied(AxisType.UPCAST)))],
    "stage-expand-c3": [
        lambda: small("expand", kernels(Op.Sink(Op.Store(OUT, param(0, float32, (param(1, index),))))))
    ],
    "stage-select-c1": [lambda: small("select", Op.Group())],
    "stage-select-c2": [
        lambda: small("select", kernels(Op.Sink(Op.End(put(OUT, I, Op.Exp2(got(X, I))), I)))),
        lambda: small("select", kernels(Op.Sink(Op.End(put(OUT, I, Op.Mulacc(ONE, ONE, ONE)), I)))),
    ],
    "stage-select-c3": [lambda: small("select", wide_index())],
    "stage-linearize-c1": [
        lambda: small("linearize", Op.Group()),
        lambda: small("linearize", kernels(copied())),
    ],
    "stage-linearize-c2": [
        lambda: small("linearize", sequence(I, STORED, LOADED, ENDED)),
        lambda: small("linearize", sequence(I, LOADED, LOADED, STORED, ENDED)),
    ],
    "stage-linearize-c3": [
        lambda: small("linearize", sequence(I, LOADED, STORED)),
        lambda: small("linearize", sequence(I, J, LOADED, STORED, ENDED, Op.End(STORED, J))),
        lambda: small("linearize", sequence(Op.If(const(True, bool_)), I, LOADED, STORED, ENDED)),
    ],
    "stage-linearize-c4": [
        lambda: small("linearize", sequence(I, LOADED, STORED, ENDED, Op.Add(LOADED, LOADED))),
    ],
    "stage-plan-c1": [
        lambda: small("plan", sequence(I, LOADED, STORED), sequence(I, LOADED, STORED, ENDED)),
        lambda: small("plan", substitute(arena(0, 32, overlapping=False)[1], {ONE: ONE}), sequence(I)),
        lambda: small("plan", *_other_size()),
    ],
    "stage-plan-c2": [lambda: small("plan", *_moved_argument())],
    "stage-plan-c3": [
        lambda: planned(0, 0, overlapping=True),
        lambda: planned(0, 28, overlapping=True),
    ],
    "stage-render-c1": [
        lambda: given_of("render", source=GOOD.source.replace("soundline_run(", "other(")),
        lambda: given_of("render", source=GOOD.source.replace("void kernel_1(", "void kernel_x(")),
    ],
    "stage-render-c2": [
        lambda: given_of("render", source=re.sub(r"    kernel_0\(.*\n", "", GOOD.source)),
        lambda: given_of(
            "render",
            source=re.sub(r"( kernel_0\(.*\n)((?:.*\n){2})( +kernel_1\(.*\n)", r"\3\2\1", GOOD.source),
        ),
    ],
    "stage-render-c3": [lambda: given_of("render", source=GOOD.source.replace("slot[0]", "slot[1]"))],
}


def _other_size() -> tuple[UOp, UOp]:
    """A plan that gives a temporary too few elements."""
    before, after = arena(0, 32, overlapping=False)
    found = replaced_storage(before, after)
    assert found is not None
    (short,) = (v for k, v in found.items() if k.arg.slot == 3)
    return substitute(after, {short: Op.Slice(short.src[0], short.src[1], arg=SliceArg(7, float32))}), before


def _moved_argument() -> tuple[UOp, UOp]:
    before = sequence(I, LOADED, STORED, ENDED)
    return substitute(before, {X: buffer(9, 8, float32)}), before


def running(outer: AxisType, inner: AxisType) -> UOp:
    """The sum of the elements up to each one, or the last of them."""
    i = loop(8, 900, outer)
    k = UOp(Op.Range, (Op.Add(i, const(1, index)),), RangeArg(901, inner))
    if inner is AxisType.REDUCE:
        return Op.Sink(Op.End(put(OUT, i, Op.Reduce(got(X, k), k, arg=ReduceArg(Op.Add))), i))
    return Op.Sink(Op.End(Op.End(put(OUT, i, got(X, k)), k), i))


def over(r: UOp) -> UOp:
    """The sum of the elements along a Range."""
    return Op.Sink(put(OUT, const(0, index), Op.Reduce(got(X, r), r, arg=ReduceArg(Op.Add))))


def packed(slot: int = 3, copies: int = 1, reading_first: bool = False, dtype: DType = float32) -> UOp:
    """A copy of an argument into new storage, and a kernel that reads it there."""
    own = buffer(slot, 8, dtype)
    value = Op.Cast(got(X, I), arg=dtype)
    copy = [Op.Sink(Op.End(put(own, I, value), I)) for _ in range(copies)]
    read = Op.Sink(Op.End(put(OUT, I, Op.Cast(got(own, I), arg=float32)), I))
    return kernels(read, *copy) if reading_first else kernels(*copy, read)


TWINS = [(rule, k) for rule, twins in BROKEN.items() for k in range(len(twins))]


@pytest.mark.parametrize(("rule", "k"), TWINS)
def test_a_broken_invariant_is_found_under_its_id(rule: str, k: int) -> None:
    name = rule.split("-")[1]
    try:
        given = BROKEN[rule][k]()
    except Exception as error:  # the op table refuses some forms by itself
        pytest.fail(f"the twin is no program: {error}")
    assert rule in {v.rule for v in check(name, given)}
    with pytest.raises(StageError) as caught:
        require(name, given)
    assert caught.value.where == STAGES[name].title
    assert caught.value.rule == check(name, given)[0].rule
    assert rule in {r for r, _ in caught.value.violations}


def test_every_invariant_has_a_broken_twin() -> None:
    assert set(BROKEN) == {i.id for s in STAGES.values() for i in s.invariants}


def test_a_reduction_may_run_up_to_a_loop_around_it() -> None:
    given = small("optimize", kernels(running(AxisType.LOOP, AxisType.REDUCE)), kernels(copied()))
    assert check("optimize", given) == []
    assert check("rangeify", given) == []  # a kernel may hold a running reduction (kernel-c3)


def test_storage_for_what_is_packed_is_taken() -> None:
    assert check("optimize", small("optimize", packed(), kernels(copied()))) == []


@pytest.mark.parametrize("name", STAGES)
def test_what_the_compiler_made_is_taken(name: str) -> None:
    assert check(name, given_of(name), HELD) == []
    require(name, given_of(name), HELD)


# Values -----------------------------------------------------------------------------------------------------------

VALUES = [s for s in STAGES if s != "render" and s != "callify"]


@pytest.mark.parametrize("name", VALUES)
def test_another_value_is_found(name: str) -> None:
    """The last store of the output, with another value."""
    after = GOOD.stages[name]
    last = [n for n in toposort(after) if n.op is Op.Store and n.src[0].op is Op.Index][-1]
    wrong = substitute(after, {last: UOp(Op.Store, (last.src[0], Op.Neg(last.src[1]), *last.src[2:]))})
    found = value(name, given_of(name, wrong), HELD)
    assert {v.rule for v in found} == {STAGES[name].value_id}


def test_a_program_without_a_value_is_found() -> None:
    far = kernels(Op.Sink(Op.End(put(OUT, Op.Add(I, const(1, index)), got(X, I)), I)))
    given = small("optimize", far, kernels(copied()))
    (found,) = check("optimize", given, {0: [1.0] * 8, 1: [0.0] * 8})
    assert found.rule == "stage-optimize-value"
    assert "no value" in found.what


def test_an_output_that_is_not_stored_or_of_another_form_is_found() -> None:
    held = {0: [1.0] * 8, 1: [0.0] * 8}
    nothing = small("optimize", kernels(Op.Sink()), kernels(copied()))
    assert check("optimize", nothing, held) == [Violation("stage-optimize-value", "output 0 is not stored")]
    part = buffer(2, 4, float32)
    few = loop(4, 5)
    short = kernels(Op.Sink(Op.End(put(part, few, got(X, few)), few)))
    found = check("expand", small("expand", short, kernels(copied())), held)
    assert found == [Violation("stage-expand-value", "output 0 is float32[4], not float32[8]")]


def test_the_sign_of_zero_is_a_difference_and_the_payload_of_nan_is_none() -> None:
    negated = kernels(Op.Sink(Op.End(put(OUT, I, Op.Neg(got(X, I))), I)))
    given = small("expand", negated, kernels(copied()))
    assert check("expand", given, {0: [math.nan] * 8, 1: [0.0] * 8}) == []
    (found,) = check("expand", given, {0: [math.nan, 0.0, *[math.nan] * 6], 1: [0.0] * 8})
    assert found.what == "element 1 of output 0 is -0.0, not 0.0"


def test_the_meaning_of_a_program_is_what_its_outputs_hold() -> None:
    for name in STAGES:
        if name != "render":
            (found,) = meaning(GOOD.stages[name], HELD, ARGUMENTS, OUTPUTS)
            assert found is not None
            assert found.shape == (9,)


def test_groups_that_meet_at_a_barrier_are_taken() -> None:
    good = kernels(grouped(barrier=True))
    assert check("optimize", small("optimize", good, good), {0: [0.1] * 8, 1: [0.0] * 8}) == []


# The plan ---------------------------------------------------------------------------------------------------------


def test_temporaries_share_bytes_where_they_do_not_live_at_once() -> None:
    assert check("plan", planned(0, 0, overlapping=False)) == []
    assert check("plan", planned(0, 32, overlapping=True)) == []
    before, after = arena(0, 28, overlapping=True)
    a, b = places(before, after, 3)
    assert (a.first_byte, a.end_byte, a.first, a.last) == (0, 32, 0, 2)
    assert (b.first_byte, b.end_byte, b.first, b.last) == (28, 60, 1, 3)
    assert a.meets(b)
    assert b.meets(a)
    assert not replace(a, end_byte=28).meets(b)
    assert not replace(a, last=0).meets(b)


def test_one_storage_for_two_temporaries_is_a_plan_and_two_for_one_is_none() -> None:
    t3, t4, t5 = (buffer(k, 8, float32) for k in (3, 4, 5))
    two = sequence(I, got(t3, I), got(t4, I))
    assert replaced_storage(two, sequence(I, got(t5, I), got(t5, I))) == {t3: t5, t4: t5}
    once = sequence(I, got(t3, I), put(OUT, I, got(t3, I)))
    assert replaced_storage(once, sequence(I, got(t4, I), put(OUT, I, got(t5, I)))) is None


# Sizes that are arguments -----------------------------------------------------------------------------------------


def up_to(storage: UOp) -> UOp:
    """A copy of as many elements as an integer in memory says, 8 at most."""
    size = Op.Mod(Op.Cast(got(storage, const(0, index)), arg=index), const(9, index))
    i = UOp(Op.Range, (size,), loop(8, 900).arg)
    return kernels(Op.Sink(Op.End(put(OUT, i, got(X, i)), i)))


@pytest.mark.parametrize("name", ["rangeify", "optimize"])
def test_a_loop_may_run_up_to_an_argument_and_to_nothing_else_in_memory(name: str) -> None:
    size = buffer(1, 1, int32)
    assert not [v for v in check(name, small(name, up_to(size))) if "kernel-c3" in v.what]
    for other in (buffer(2, 1, int32), buffer(7, 1, int32), buffer(1, 2, int32)):
        assert [v for v in check(name, small(name, up_to(other))) if "kernel-c3" in v.what]


def test_an_index_of_the_hardware_stands_in_no_loop() -> None:
    at = Op.Special(const(8, index), arg="gidx0")
    read = got(X, at)
    given = small("linearize", sequence(at, read, put(OUT, at, read)))
    assert check("linearize", given) == []
