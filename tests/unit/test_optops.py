"""OptOps: what each makes, each condition refused, and what the refused kernel would have computed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from soundline.spec.dtypes import (
    DType,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    floats,
    from_bits,
    index,
    int8,
    int32,
    ints,
    round_to,
    same_value,
)
from soundline.spec.errors import EvaluationError, ScheduleError
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.kernels.groups import is_grouped, unsynchronized, with_local_buffers
from soundline.spec.kernels.iteration_spaces import AXES, Kernel, fresh_axes, replace_axis, run
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import OPTOPS, apply, schedule
from soundline.spec.kernels.padto import neutral
from soundline.spec.kernels.warps import spelled
from soundline.spec.uop import (
    AxisType,
    Op,
    RangeArg,
    ReduceArg,
    UOp,
    buffer,
    const,
    loop,
    substitute,
    toposort,
)
from soundline.spec.values.elementwise import scalar
from soundline.spec.values.tensor_cores import CORES, core_named, operand_value

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from kernel_programs import (
    Case,
    copy_kernel,
    filled,
    gemm_kernel,
    kernel,
    load,
    nest,
    nested_kernel,
    numbers,
    reduction_kernel,
    scan_kernel,
    shared_kernel,
    store,
    two_reductions_kernel,
    two_stores_kernel,
)

from .wmma_written_out import holder, operand, place, written_out

A = AxisType


def refused(
    rule: str, made: Kernel, opts: Sequence[OptOp] | OptOp, licences: Sequence[str] = ()
) -> ScheduleError:
    """The refusal of a list of OptOps, which names the condition."""
    with pytest.raises(ScheduleError) as caught:
        schedule(made, [opts] if isinstance(opts, OptOp) else opts, licences)
    assert caught.value.rule == rule
    return caught.value


def keeps(case: Case, opts: Sequence[OptOp] | OptOp, licences: Sequence[str] = ()) -> Kernel:
    """The scheduled kernel, which computes what the kernel did."""
    made = schedule(case.kernel, [opts] if isinstance(opts, OptOp) else opts, licences)
    assert run(made, case.buffers) == run(case.kernel, case.buffers)
    return made


def sizes(made: Kernel) -> list[int]:
    return [int(r.src[0].arg.value) for r in made.axes]


# The table --------------------------------------------------------------------------------------------------------


def test_the_table_has_the_five_optops_of_the_source() -> None:
    assert list(OPTOPS) == ["Split", "Padto", "Swap", "Nolocals", "TC"]
    ids = [c.id for e in OPTOPS.values() for c in e.constraints]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "opt-split-c1"
    assert OPTOPS["Split"].licences == OPTOPS["Swap"].licences == ("reassociate",)
    assert OPTOPS["TC"].licences == ("tensor_core", "tf32")
    assert not OPTOPS["Padto"].licences
    assert not OPTOPS["Nolocals"].licences


def test_an_unknown_name_and_a_malformed_triple_are_refused() -> None:
    made = copy_kernel(int32, 4, 4)
    refused("U-50", made, OptOp("Upcast", 0, 4))
    for bad in (
        OptOp("Split", 9, (2, A.LOCAL)),
        OptOp("Split", True, (2, A.LOCAL)),
        OptOp("Split", -1, (2, A.LOCAL)),
        OptOp("Split", 0, 2),
        OptOp("Split", 0, (2, "l")),
        OptOp("Split", 0, (2, A.LOCAL, 1)),
        OptOp("Swap", 0, None),
        OptOp("Padto", None, 2),
        OptOp("Nolocals", 0),
        OptOp("TC", 0, "m8n8k4.f64.f64"),
        OptOp("TC", (0, 1), "m8n8k4.f64.f64"),
    ):
        error = refused(f"opt-{bad.op.lower()}-arg", made, bad)
        assert error.opt == str(bad)
        assert error.wants == f"axis: {OPTOPS[bad.op].axis}; arg: {OPTOPS[bad.op].arg}"


def test_a_refusal_names_the_axis_what_was_given_and_what_is_wanted() -> None:
    error = refused("opt-split-c1", copy_kernel(int32, 4, 6), OptOp("Split", 1, (4, A.LOCAL)))
    assert error.axis == "axis 1 (L6)"
    assert error.given == "the factor 4 for 6 iterations"
    assert error.wants == "the factor is a number ≥ 1 that divides the size of the axis"
    assert error.hint == "Padto the axis to a multiple of 4 first"


# Split ------------------------------------------------------------------------------------------------------------


def test_a_split_makes_an_inner_axis_and_with_top_an_outer_one() -> None:
    case = filled(copy_kernel(int32, 6, 2), 1)
    inner = keeps(case, OptOp("Split", 0, (2, A.LOCAL)))
    assert (inner.letters, sizes(inner)) == ("LlL", [3, 2, 2])
    outer = keeps(case, OptOp("Split", 0, (2, A.THREAD, True)))
    assert (outer.letters, sizes(outer)) == ("tLL", [2, 3, 2])
    assert (keeps(case, OptOp("Split", 0, (6, A.UPCAST))).letters, keeps(case, OptOp("Split", 0, (1, A.UPCAST))).letters) == ("LuL", "LuL")  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("kind", [A.LOOP, A.GLOBAL])
def test_every_split_of_the_table_keeps_the_value_and_every_other_is_refused(kind: AxisType) -> None:
    outputs = filled(copy_kernel(float32, 4, 6, kind), 2)
    reductions = filled(reduction_kernel(Op.Add, int32, 2, 6, kind=kind), 3)
    for target, row in AXES.items():
        for case, source, axis in ((outputs, kind, 1), (reductions, A.REDUCE, 1)):
            for top in (False, True):
                opt = OptOp("Split", axis, (3, target, top))
                if source not in (*row.split_from, *row.decided_from):
                    refused("opt-split-c2", case.kernel, opt)
                elif ("outer" if top else "inner") not in row.direction:
                    refused("opt-split-c3", case.kernel, opt)
                else:
                    keeps(case, opt)


def test_second_splits_follow_the_table_too() -> None:
    outputs = filled(copy_kernel(float32, 4, 6), 2)
    local = OptOp("Split", 1, (6, A.LOCAL))
    assert keeps(outputs, [local, OptOp("Split", 2, (2, A.UPCAST))]).letters == "LLlu"
    refused("opt-split-c2", outputs.kernel, [local, OptOp("Split", 2, (2, A.LOCAL))])
    reductions = filled(reduction_kernel(Op.Add, int32, 2, 8), 3)
    group = OptOp("Split", 1, (4, A.GROUP_REDUCE))
    assert (
        keeps(reductions, [group, OptOp("Split", 1, (2, A.UNROLL)), OptOp("Split", 3, (2, A.UNROLL))]).letters
        == "LGrRr"
    )
    refused("opt-split-c2", reductions.kernel, [group, OptOp("Split", 1, (2, A.REDUCE))])


@pytest.mark.parametrize("factor", [0, -2, 4, 7, True, 2.0, None])
def test_the_factor_divides(factor: Any) -> None:
    refused("opt-split-c1", copy_kernel(int32, 6, 6), OptOp("Split", 0, (factor, A.UPCAST)))


def test_a_factor_that_does_not_divide_would_lose_elements() -> None:
    case = filled(reduction_kernel(Op.Add, int32, 1, 7), 4)
    sink, axis = case.kernel.sink, case.kernel.axes[1]
    outer, inner = fresh_axes(sink, (7 // 2, A.REDUCE), (2, A.REDUCE))
    value = Op.Add(Op.Mul(outer, const(2, index)), inner)
    assert run(Kernel(replace_axis(sink, axis, value, (outer, inner))), case.buffers) != run(
        case.kernel, case.buffers
    )
    keeps(case, [OptOp("Padto", 1, 2), OptOp("Split", 1, (2, A.REDUCE))])


def test_an_ordered_axis_with_a_dependence_is_not_made_parallel() -> None:
    case = filled(scan_kernel(int32, 4, 3), 5)
    for target, top in ((A.LOCAL, False), (A.THREAD, True)):
        refused("opt-split-c4", case.kernel, OptOp("Split", 0, (2, target, top)))
        sink, axis = case.kernel.sink, case.kernel.axes[0]
        outer, inner = fresh_axes(sink, (2, A.LOOP), (2, target))
        outer, inner = (inner, outer) if top else (outer, inner)
        value = Op.Add(Op.Mul(outer, const(2, index)), inner)
        with pytest.raises(EvaluationError) as caught:
            run(Kernel(replace_axis(sink, axis, value, (outer, inner))), case.buffers)
        assert caught.value.rule == "U-26"
    keeps(case, OptOp("Split", 0, (2, A.UPCAST)))  # stays in order
    keeps(case, OptOp("Split", 1, (3, A.LOCAL)))
    unknown = nest(Op.Store(Op.Index(buffer(1, 4, int32), Op.Cast(load(buffer(0, 4, int32), (loop(4, 0), 1)), arg=index)), const(1, int32)), loop(4, 0))  # fmt: skip  # noqa: E501
    assert "may carry" in refused("opt-split-c4", kernel(unknown), OptOp("Split", 0, (2, A.LOCAL))).given


def test_groups_of_floats_need_reassociate_and_change_bits() -> None:
    for op in (Op.Add, Op.Mul):
        made = reduction_kernel(op, float32, 1, 8)
        for top in (False, True):
            opt = OptOp("Split", 1, (4, A.GROUP_REDUCE, top))
            refused("opt-split-c5", made, opt)
            after = apply(made, opt, ("reassociate",))
            held = [{0: [1 + k / 7 for k in numbers(int8, 8, seed)]} for seed in range(8)]
            assert any(run(after, x)[1] != run(made, x)[1] for x in held)
    keeps(filled(reduction_kernel(Op.Max, float32, 2, 8), 1), OptOp("Split", 1, (4, A.GROUP_REDUCE)))
    keeps(filled(reduction_kernel(Op.Mul, bool_, 2, 8), 1), OptOp("Split", 1, (4, A.GROUP_REDUCE)))
    keeps(filled(reduction_kernel(Op.Add, int8, 2, 8), 1), OptOp("Split", 1, (4, A.GROUP_REDUCE, True)))


def test_members_of_a_group_reduction_apart_and_are_joined_in_order() -> None:
    case = Case(
        reduction_kernel(Op.Add, float32, 1, 8), {0: [1.0, 2.0**-24, 2.0**-24, 2.0**-24, 3.0, 5.0, 7.0, 9.0]}
    )

    def total(xs: Sequence[float]) -> float:
        found = xs[0]
        for x in xs[1:]:
            found = round_to(float32, found + x)
        return found

    xs = case.buffers[0]
    strided = apply(case.kernel, OptOp("Split", 1, (2, A.GROUP_REDUCE)), ("reassociate",))
    assert strided.letters == "LGR"
    assert run(strided, case.buffers)[1].elements == (total([total(xs[0::2]), total(xs[1::2])]),)
    chunks = apply(case.kernel, OptOp("Split", 1, (2, A.GROUP_REDUCE, True)), ("reassociate",))
    assert run(chunks, case.buffers)[1].elements == (total([total(xs[:4]), total(xs[4:])]),)


def test_blocking_and_unrolling_a_float_reduction_are_exact() -> None:
    case = filled(reduction_kernel(Op.Add, float32, 2, 12), 6)
    made = keeps(case, [OptOp("Split", 1, (3, A.UNROLL)), OptOp("Split", 1, (2, A.REDUCE)), OptOp("Split", 2, (2, A.REDUCE, True))])  # fmt: skip  # noqa: E501
    assert (made.letters, sizes(made)) == ("LRRRr", [2, 2, 2, 1, 3])


def test_storage_that_would_change_hands_is_not_split_over() -> None:
    i = loop(4, 0, A.GLOBAL)
    for space in ("LOCAL", "REG"):
        own = buffer(7, 1, int32, addrspace=space)
        put = store(own, load(buffer(0, 4, int32), (i, 1)))
        made = kernel(nest(store(buffer(1, 4, int32), load(Op.After(own, put)), (i, 1)), i))
        case = Case(made, {0: [1, 2, 3, 4]})
        refused("opt-split-c7", made, OptOp("Split", 0, (2, A.UPCAST)))
        keeps(case, OptOp("Split", 0, (2, A.THREAD, True)))
    local = Case(made, {0: [1, 2, 3, 4]})
    assert keeps(local, OptOp("Split", 0, (2, A.LOCAL))).letters == "gl"  # every thread has its registers
    shared = substitute(made.sink, {own: buffer(7, 1, int32, addrspace="LOCAL")})
    refused("opt-split-c7", Kernel(shared), OptOp("Split", 0, (2, A.LOCAL)))
    (axis,) = Kernel(shared).axes
    outer, inner = fresh_axes(shared, (2, A.GLOBAL), (2, A.LOCAL))
    value = Op.Add(Op.Mul(outer, const(2, index)), inner)
    with pytest.raises(EvaluationError):
        run(Kernel(replace_axis(shared, axis, value, (outer, inner))), local.buffers)


def test_what_is_done_to_an_axis_of_two_nests_is_done_in_both() -> None:
    case = filled(shared_kernel(int32, 4, 6), 3)
    opts = [
        OptOp("Split", 0, (2, A.LOCAL)),
        OptOp("Padto", 2, 4),
        OptOp("Split", 2, (4, A.UPCAST)),
        OptOp("Swap", 0, 2),
    ]
    assert keeps(case, opts).letters == "LlLu"
    i, j = loop(2, 0), loop(2, 1)
    x = buffer(0, 4, int32)
    one = nest(store(buffer(1, 4, int32), load(x, (i, 2), (j, 1)), (i, 2), (j, 1)), i, j)
    other = nest(store(buffer(2, 2, int32), load(x, (i, 1)), (i, 1)), i)
    refused("opt-swap-c2", kernel(one, other), OptOp("Swap", 0, 1))
    two = gemm_kernel(float64, float64, 8, 8, 4)
    extra = nest(store(buffer(5, 8, float64), const(0.0, float64), (two.axes[0], 1)), two.axes[0])
    refused("opt-tc-c2", kernel(*two.sink.src, extra), F64_TC, ("tensor_core",))


# Padto ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float32, float16, int8, bool_])
@pytest.mark.parametrize("op", [Op.Add, Op.Mul, Op.Max])
def test_a_padded_reduction_is_the_reduction(op: Op, dtype: DType) -> None:
    if op is Op.Add and dtype is bool_:
        return
    for n in (1, 3, 5):
        made = keeps(
            filled(reduction_kernel(op, dtype, 3, n), n), [OptOp("Padto", 1, 4), OptOp("Padto", 0, 2)]
        )
        assert sizes(made) == [4, -(-n // 4) * 4]


def test_a_multiple_stays_and_an_empty_reduction_stays_empty() -> None:
    made = reduction_kernel(Op.Add, float32, 2, 4)
    assert apply(made, OptOp("Padto", 1, 4)).sink is made.sink
    empty = kernel(store(buffer(1, 1, float32), Op.Reduce(const(1.0, float32), loop(0, 0, A.REDUCE), arg=ReduceArg(Op.Add))))  # fmt: skip  # noqa: E501
    assert run(keeps(Case(empty, {}), OptOp("Padto", 0, 4)))[1].elements == (0.0,)


@pytest.mark.parametrize("multiple", [0, -1, 2.0, True, None])
def test_the_multiple_is_a_number(multiple: Any) -> None:
    refused("opt-padto-c1", copy_kernel(int32, 3, 3), OptOp("Padto", 0, multiple))


@pytest.mark.parametrize("dtype", [*floats, *ints, bool_])
def test_the_identity_changes_no_bit(dtype: DType) -> None:
    if dtype.bits == 8 and dtype is not bool_:
        held = [from_bits(dtype, k) for k in range(256)]
    elif dtype.is_float:
        held = [round_to(dtype, v) for v in numbers(dtype, 60)]
    else:
        held = [True, False] if dtype is bool_ else [dtype.min, dtype.max, 0, 1, *range(2, 9)]
    for op in (Op.Add, Op.Mul, Op.Max):
        if op is Op.Add and dtype is bool_:
            continue
        e = neutral(op, dtype)
        assert e is not None
        for x in held:
            assert same_value(dtype, scalar(op, dtype, x, e.arg.value), x), (op, x)
            assert same_value(dtype, scalar(op, dtype, e.arg.value, x), x), (op, x)
    assert neutral(Op.Max, index) is None
    least = neutral(Op.Max, float8_e4m3fn)
    assert least is not None
    assert least.arg.value == -448.0


def masked_wrong(made: Kernel, size: int, mask: Callable[[UOp, UOp, UOp], UOp]) -> Kernel:
    """The kernel with axis 1 longer and its Reduce masked in another way: mask(valid, body, load) → operand."""
    axis = made.axes[1]
    (longer,) = made.fresh_axes((size, A.REDUCE))
    valid = Op.CmpLt(longer, axis.src[0])
    (reduction,) = (n for n in toposort(made.sink) if n.op is Op.Reduce)
    (read,) = (n for n in toposort(made.sink) if n.op is Op.Load)
    place = substitute(read.src[0], {axis: longer})
    gated = Op.Load(place, const(0.0, read.dtype), valid)
    body = substitute(reduction.src[0], {axis: longer})
    body = substitute(body, {Op.Load(place): gated})
    return Kernel(
        substitute(made.sink, {reduction: UOp(Op.Reduce, (mask(valid, body, gated), longer), reduction.arg)})
    )


def test_the_mask_comes_after_the_elementwise_operations() -> None:
    case = filled(reduction_kernel(Op.Add, float32, 1, 3, body=Op.Exp2), 2, whole=True)
    keeps(case, OptOp("Padto", 1, 4))
    zero = const(-0.0, float32)
    right = masked_wrong(case.kernel, 4, lambda valid, body, read: Op.Where(valid, body, zero))
    assert run(right, case.buffers) == run(case.kernel, case.buffers)
    before = masked_wrong(case.kernel, 4, lambda valid, body, read: Op.Exp2(Op.Where(valid, read, zero)))
    expected = run(case.kernel, case.buffers)[1].elements[0]
    assert run(before, case.buffers)[1].elements[0] == expected + 1  # 2^0


def test_the_mask_of_a_float_sum_is_the_negative_zero() -> None:
    case = Case(reduction_kernel(Op.Add, float32, 1, 3), {0: [-0.0, -0.0, -0.0]})
    keeps(case, OptOp("Padto", 1, 4))
    positive = masked_wrong(
        case.kernel, 4, lambda valid, body, read: Op.Where(valid, body, const(0.0, float32))
    )
    assert math.copysign(1, run(case.kernel, case.buffers)[1].elements[0]) == -1
    assert math.copysign(1, run(positive, case.buffers)[1].elements[0]) == 1


def test_padding_loads_and_stores_nothing_outside() -> None:
    case = filled(copy_kernel(int32, 3, 3), 1)
    made = keeps(case, [OptOp("Padto", 0, 4), OptOp("Padto", 1, 2)])
    touched = [n for n in toposort(made.sink) if n.op in (Op.Load, Op.Store)]
    assert all(len(n.src) == 3 for n in touched)
    gateless = {n: UOp(n.op, n.src[: 1 if n.op is Op.Load else 2]) for n in touched}
    for op in (Op.Load, Op.Store):
        wrong = made.sink
        for n in [n for n in toposort(wrong) if n.op is op]:
            if n in gateless:
                wrong = substitute(wrong, {n: gateless[n]})
        if op is Op.Store:
            with pytest.raises(EvaluationError):
                run(Kernel(wrong), case.buffers)


def test_a_gate_that_was_there_stays() -> None:
    i = loop(5, 0)
    even = Op.CmpEq(Op.Mod(i, const(2, index)), const(0, index))
    place = Op.Index(buffer(0, 5, int32), i)
    read = Op.Load(place, const(9, int32), even)
    made = kernel(nest(Op.Store(Op.Index(buffer(1, 5, int32), i), read, Op.CmpLt(i, const(3, index))), i))
    after = keeps(Case(made, {0: [1, 2, 3, 4, 5], 1: [0] * 5}), OptOp("Padto", 0, 4))
    assert run(after, {0: [1, 2, 3, 4, 5], 1: [0] * 5})[1].elements == (1, 9, 3, 0, 0)


def test_an_index_into_a_value_stays_inside() -> None:
    i, j = loop(3, 0), loop(3, 1, A.REDUCE)
    table = Op.Stack(*(const(k * k, int32) for k in range(3)))
    total = Op.Reduce(Op.Mul(Op.Index(table, i), Op.Index(table, j)), j, arg=ReduceArg(Op.Add))
    case = Case(kernel(nest(store(buffer(1, 3, int32), total, (i, 1)), i)), {})
    assert keeps(case, [OptOp("Padto", 0, 4), OptOp("Padto", 1, 4)]).letters == "LR"


def test_padding_an_effect_that_has_no_gate_is_refused() -> None:
    i = loop(3, 0)
    made = kernel(nest(Op.AtomicAdd(Op.Index(buffer(1, 3, int32), i), const(1, int32)), i))
    refused("opt-padto-c3", made, OptOp("Padto", 0, 2))
    case = Case(made, {1: [0, 0, 0]})
    (longer,) = made.fresh_axes((4, A.LOOP))
    with pytest.raises(EvaluationError):
        run(Kernel(replace_axis(made.sink, i, longer, (longer,))), case.buffers)


def test_padding_a_reduction_without_identity_is_refused() -> None:
    j = loop(3, 0, A.REDUCE)
    made = kernel(store(buffer(1, 1, int32), Op.Cast(Op.Reduce(j, j, arg=ReduceArg(Op.Max)), arg=int32)))
    refused("opt-padto-c4", made, OptOp("Padto", 0, 2))
    summed = kernel(store(buffer(1, 1, int32), Op.Cast(Op.Reduce(j, j, arg=ReduceArg(Op.Add)), arg=int32)))
    keeps(Case(summed, {}), OptOp("Padto", 0, 2))


def running() -> Kernel:
    """out[i] = the sum of x[k] for k ≤ i."""
    i = loop(4, 0)
    k = UOp(Op.Range, (Op.Add(i, const(1, index)),), RangeArg(1, A.REDUCE))
    total = Op.Reduce(load(buffer(0, 4, int32), (k, 1)), k, arg=ReduceArg(Op.Add))
    return kernel(nest(store(buffer(1, 4, int32), total, (i, 1)), i))


def test_an_axis_whose_size_is_no_number_is_not_split_and_not_padded() -> None:
    assert "axis 1 (R*)" in str(refused("opt-split-c1", running(), OptOp("Split", 1, (1, A.REDUCE))))
    refused("opt-padto-c5", running(), OptOp("Padto", 1, 2))
    refused("kernel-c3", running(), OptOp("Split", 0, (2, A.LOOP)))  # the size would know two axes
    keeps(Case(running(), {0: [1, 2, 3, 4], 1: [0] * 4}), OptOp("Padto", 0, 3))


# Swap -------------------------------------------------------------------------------------------------------------


def shifted(di: int, dj: int) -> Case:
    """out[i + di, j + dj] = out[i, j] + 1."""
    i, j = loop(3, 0), loop(3, 1)
    base = buffer(0, 25, int32)
    value = Op.Add(load(base, (i, 5), (j, 1), plus=6), const(1, int32))
    return filled(kernel(nest(store(base, value, (i, 5), (j, 1), plus=6 + 5 * di + dj), i, j)), 1)


def test_a_swap_exchanges_two_axes() -> None:
    case = filled(copy_kernel(int32, 2, 3), 1)
    made = keeps(case, OptOp("Swap", 0, 1))
    assert [r.arg.id for r in made.axes] == [1, 0]
    assert [r.arg.id for r in keeps(case, OptOp("Swap", 1, 0)).axes] == [1, 0]
    assert keeps(case, OptOp("Swap", 1, 1)).sink is case.kernel.sink
    assert [
        r.arg.id for r in keeps(filled(copy_kernel(int32, 2, 3, A.GLOBAL), 1), OptOp("Swap", 0, 1)).axes
    ] == [1, 0]
    far = filled(two_stores_kernel(int32, 1, 3), 1)
    keeps(far, OptOp("Swap", 0, 1))


@pytest.mark.parametrize("shift", [(1, 0), (0, 1), (1, 1), (-1, 0), (0, 0)])
def test_a_swap_that_keeps_every_dependence_is_done(shift: tuple[int, int]) -> None:
    keeps(shifted(*shift), OptOp("Swap", 0, 1))


@pytest.mark.parametrize("shift", [(1, -1), (-1, 1)])
def test_a_swap_that_reverses_a_dependence_is_refused_and_would_be_wrong(shift: tuple[int, int]) -> None:
    case = shifted(*shift)
    assert "would be reversed" in refused("opt-swap-c3", case.kernel, OptOp("Swap", 0, 1)).given
    end = case.kernel.sink.src[0]
    swapped = nest(end.src[0].src[0], end.src[0].src[1], end.src[1])
    assert run(kernel(swapped), case.buffers) != run(case.kernel, case.buffers)


def test_a_swap_of_which_nothing_is_known_is_refused() -> None:
    i, j = loop(2, 0), loop(2, 1)
    where = Op.Index(buffer(1, 9, int32), Op.Cast(load(buffer(0, 4, int32), (i, 2), (j, 1)), arg=index))
    made = kernel(nest(Op.Store(where, Op.Cast(i, arg=int32)), i, j))
    assert "may be reversed" in refused("opt-swap-c3", made, OptOp("Swap", 0, 1)).given


def test_axes_of_different_kinds_or_places_are_not_swapped() -> None:
    case = gemm_kernel(int32, int32, 2, 2, 2)
    refused("opt-swap-c1", case, OptOp("Swap", 0, 2))
    refused("opt-swap-c1", case, [OptOp("Split", 0, (2, A.LOCAL)), OptOp("Swap", 0, 1)])
    refused("opt-swap-c2", nested_kernel(int32, 2, 2), OptOp("Swap", 0, 1))
    x = buffer(0, 2, int32)
    apart = kernel(*(nest(store(buffer(k, 2, int32), load(x, (i, 1)), (i, 1)), i) for k, i in ((1, loop(2, 1)), (2, loop(2, 2)))))  # fmt: skip  # noqa: E501
    refused("opt-swap-c2", apart, OptOp("Swap", 0, 1))


def test_swapping_reduce_axes_of_floats_needs_reassociate_and_changes_bits() -> None:
    case = Case(two_reductions_kernel(Op.Add, float32, 2, 2), {0: [1.0, 2.0**24, -(2.0**24), 0.5]})
    refused("opt-swap-c4", case.kernel, OptOp("Swap", 0, 1))
    after = apply(case.kernel, OptOp("Swap", 0, 1), ("reassociate",))
    assert run(after, case.buffers)[1] != run(case.kernel, case.buffers)[1]
    keeps(filled(two_reductions_kernel(Op.Max, float32, 2, 3), 1), OptOp("Swap", 0, 1))
    keeps(filled(two_reductions_kernel(Op.Add, int32, 2, 3), 1), OptOp("Swap", 0, 1))


# Nolocals ---------------------------------------------------------------------------------------------------------


def test_nolocals_makes_local_axes_global_and_refuses_new_ones() -> None:
    case = filled(copy_kernel(int32, 4, 2), 1)
    opts = [OptOp("Split", 0, (2, A.LOCAL)), OptOp("Nolocals")]
    assert keeps(case, opts).letters == "LgL"
    refused("opt-split-c6", case.kernel, [*opts, OptOp("Split", 2, (2, A.LOCAL))])
    reduction = reduction_kernel(Op.Add, int32, 2, 4)
    refused("opt-split-c6", reduction, [OptOp("Nolocals"), OptOp("Split", 1, (2, A.GROUP_REDUCE))])
    assert keeps(case, [*opts, OptOp("Split", 2, (2, A.UPCAST)), OptOp("Nolocals")]).letters == "LgLu"


def test_nolocals_refuses_what_only_a_workgroup_has() -> None:
    reduction = reduction_kernel(Op.Add, int32, 2, 4)
    refused("opt-nolocals-c1", reduction, [OptOp("Split", 1, (2, A.GROUP_REDUCE)), OptOp("Nolocals")])
    own = buffer(7, 1, int32, addrspace="LOCAL")
    put = store(own, const(1, int32))
    out = buffer(1, 1, int32)
    refused("opt-nolocals-c1", kernel(store(out, load(Op.After(own, put)))), OptOp("Nolocals"))
    refused("opt-nolocals-c1", kernel(store(out, Op.After(const(1, int32), Op.Barrier()))), OptOp("Nolocals"))
    refused("opt-nolocals-c1", gemm_kernel(int8, int32, 16, 8, 16), [OptOp("TC", (1, 0, 2), "m16n8k16.s8.s32"), OptOp("Nolocals")])  # fmt: skip  # noqa: E501


# Groups in shared memory ------------------------------------------------------------------------------------------

SPLIT_4 = OptOp("Split", 1, (4, A.GROUP_REDUCE))
THREADS = (OptOp("Split", 0, (2, A.THREAD, True)), OptOp("Split", 2, (4, A.GROUP_REDUCE, True)))
GROUPED: dict[str, tuple[list[OptOp], list[int]]] = {
    "LGR": ([SPLIT_4], [4]),
    "LlGR": ([OptOp("Split", 0, (2, A.LOCAL)), OptOp("Split", 2, (4, A.GROUP_REDUCE))], [8]),
    "tLGRr": ([*THREADS, OptOp("Split", 3, (3, A.UNROLL))], [4]),
    "LGGR": ([SPLIT_4, OptOp("Split", 2, (3, A.GROUP_REDUCE))], [4, 12]),  # a group in each member of a group
}


@pytest.mark.parametrize("letters", GROUPED)
def test_a_group_in_shared_memory_has_the_value_of_its_reduction(letters: str) -> None:
    case = filled(reduction_kernel(Op.Add, float32, 4, 12), 3)
    opts, elements = GROUPED[letters]
    made = schedule(case.kernel, opts, ("reassociate",))
    assert made.letters == letters
    shared = with_local_buffers(made)
    assert execute(shared, buffers=case.buffers)[1] == run(made, case.buffers)[1]
    assert unsynchronized(shared) == []
    assert Kernel(shared).axes
    assert not any(is_grouped(n) for n in toposort(shared))
    locals_ = [n for n in toposort(shared) if n.op is Op.Buffer and n.arg.addrspace == "LOCAL"]
    assert sorted(n.arg.size for n in locals_) == elements


def test_a_group_without_a_barrier_is_found() -> None:
    shared = with_local_buffers(
        schedule(reduction_kernel(Op.Add, int32, 2, 4), [OptOp("Split", 1, (2, A.GROUP_REDUCE))])
    )
    barriers = {n: Op.Group(*n.src) for n in toposort(shared) if n.op is Op.Barrier}
    assert len(barriers) == 1
    (read,) = unsynchronized(substitute(shared, barriers))
    assert read.op is Op.After


def test_a_kernel_without_groups_stays_as_it_is() -> None:
    made = reduction_kernel(Op.Add, int32, 2, 4)
    assert with_local_buffers(made) is made.sink


# TC ---------------------------------------------------------------------------------------------------------------

F64 = "m8n8k4.f64.f64"
S8 = "m16n8k16.s8.s32"
F64_TC = OptOp("TC", (1, 0, 2), F64)


def test_tc_makes_a_wmma_of_whole_tiles() -> None:
    made = apply(gemm_kernel(int8, int32, 32, 24, 48), OptOp("TC", (1, 0, 2), S8))
    assert (made.letters, sizes(made)) == ("LLwuR", [2, 3, 32, 4, 3])
    (wmma,) = (n for n in toposort(made.sink) if n.op is Op.Wmma)
    core = core_named(S8)
    assert core is not None
    assert wmma.arg == core.arg
    assert [s.shape for s in wmma.src] == [(8,), (4,), (4,)]


def test_tc_keeps_integers_without_a_licence() -> None:
    case = filled(gemm_kernel(int8, int32, 16, 8, 16), 7)
    made = apply(case.kernel, OptOp("TC", (1, 0, 2), S8))
    assert execute(written_out(made.sink), buffers=case.buffers)[2] == run(case.kernel, case.buffers)[2]


def test_tc_on_floats_is_exact_where_every_order_agrees_and_by_the_law_of_wmma() -> None:
    case = filled(gemm_kernel(float64, float64, 8, 16, 8), 8, whole=True)
    made = keeps(case, F64_TC, ("tensor_core",))
    assert execute(written_out(made.sink), buffers=case.buffers)[2] == run(case.kernel, case.buffers)[2]


def test_tc_of_one_step_is_the_ascending_reduction() -> None:
    for name, inputs, total in (
        ("m16n8k8.f16.f32", float16, float32),
        ("m16n8k8.tf32.f32", float32, float32),
    ):
        draw = [round_to(float16, v) for v in numbers(float32, 500, 3, whole=False) if math.isfinite(v)]
        case = Case(gemm_kernel(inputs, total, 16, 8, 8), {0: draw[:128], 1: draw[128:192]})
        made = apply(case.kernel, OptOp("TC", (1, 0, 2), name), ("tensor_core", "tf32"))
        expected = run(case.kernel, case.buffers)[2]
        assert execute(written_out(made.sink), buffers=case.buffers)[2] == expected


def test_tf32_loses_bits_in_the_written_out_reading_too() -> None:
    core = core_named("m16n8k8.tf32.f32")
    assert core is not None
    for x in (1.0, 1 + 2.0**-11, -(1 + 2.0**-11), math.inf, math.nan, -0.0, 3.4e38, 1e-40, 0.1):
        x = round_to(float32, x)
        assert same_value(float32, evaluate(operand(core, const(x, float32))).item(), operand_value(core, x))


@pytest.mark.parametrize("core", CORES, ids=lambda c: c.name)
def test_rows_and_columns_as_index_expressions_are_those_of_the_fragment_map(core: Any) -> None:
    first, second = loop(64, 0), loop(64, 1)
    for digits in (core.a, core.b, core.c):
        places = Op.Stack(*spelled(digits, first, second), *place(digits, first, second))
        held = Op.Stack(*holder(digits, first, second))
        for lane in range(0, 32, 5):
            for e in range(digits.elements):
                row, column = digits.place(lane, e)
                assert evaluate(places, ranges={0: lane, 1: e}).elements == (row, column, row, column)
                assert evaluate(held, ranges={0: row, 1: column}).elements == (lane, e)


def test_tc_takes_one_of_several_reduce_axes() -> None:
    i, j, s, k = loop(8, 0), loop(8, 1), loop(2, 2, A.REDUCE), loop(4, 3, A.REDUCE)
    a, b, out = buffer(0, 64, float64), buffer(1, 64, float64), buffer(2, 64, float64)
    product = Op.Mul(load(a, (i, 8), (s, 4), (k, 1)), load(b, (s, 32), (k, 8), (j, 1)))
    made = kernel(nest(store(out, Op.Reduce(product, s, k, arg=ReduceArg(Op.Add)), (i, 8), (j, 1)), i, j))
    case = filled(made, 4, whole=True)
    after = apply(made, OptOp("TC", (1, 0, 3), F64), ("tensor_core",))
    assert (after.letters, sizes(after)) == ("LLwuRR", [1, 1, 32, 2, 2, 1])
    assert execute(written_out(after.sink), buffers=case.buffers)[2] == run(made, case.buffers)[2]


def test_tc_comes_first_and_at_most_once() -> None:
    made = gemm_kernel(float64, float64, 16, 16, 8)
    refused("opt-tc-c1", made, [F64_TC, F64_TC], ("tensor_core",))
    refused("opt-tc-c1", made, [OptOp("Split", 0, (2, A.UPCAST)), F64_TC], ("tensor_core",))
    refused("opt-tc-c1", made, [OptOp("Nolocals"), F64_TC], ("tensor_core",))


def test_tc_wants_two_output_axes_and_a_sum() -> None:
    made = gemm_kernel(float64, float64, 8, 8, 8)
    for axes in ((0, 0, 2), (0, 2, 1), (2, 1, 0)):
        refused("opt-tc-c2", made, OptOp("TC", axes, F64), ("tensor_core",))
    (reduction,) = (n for n in toposort(made.sink) if n.op is Op.Reduce)
    greatest = substitute(made.sink, {reduction: UOp(Op.Reduce, reduction.src, ReduceArg(Op.Max))})
    refused("opt-tc-c2", Kernel(greatest), F64_TC, ("tensor_core",))


def test_tc_wants_a_product_in_its_dtypes() -> None:
    refused("opt-tc-c3", gemm_kernel(float32, float32, 8, 8, 4), F64_TC, ("tensor_core",))
    refused("opt-tc-c3", gemm_kernel(int32, int32, 16, 8, 16), OptOp("TC", (1, 0, 2), S8))
    made = gemm_kernel(float64, float64, 8, 8, 4)
    (product,) = (n for n in toposort(made.sink) if n.op is Op.Mul and n.dtype is float64)
    added = Kernel(substitute(made.sink, {product: Op.Add(*product.src)}))
    refused("opt-tc-c3", added, F64_TC, ("tensor_core",))


def test_tc_wants_each_operand_on_its_own_output_axis() -> None:
    made = gemm_kernel(float64, float64, 8, 8, 8)
    assert (
        apply(made, OptOp("TC", (0, 1, 2), F64), ("tensor_core",)).letters == "LLwuR"
    )  # the transposed product
    case = filled(made, 5, whole=True)
    keeps(case, OptOp("TC", (0, 1, 2), F64), ("tensor_core",))
    n = made.axes[1]
    (x,) = (s for s in toposort(made.sink) if s.op is Op.Load and s.src[0].src[0].arg.slot == 0)
    both = substitute(made.sink, {x: Op.Mul(x, Op.Cast(Op.Cast(n, arg=int32), arg=float64))})
    refused("opt-tc-c4", Kernel(both), F64_TC, ("tensor_core",))


def test_tc_wants_whole_tiles() -> None:
    for m, n, k in ((9, 8, 4), (8, 9, 4), (8, 8, 6)):
        refused("opt-tc-c5", gemm_kernel(float64, float64, m, n, k), F64_TC, ("tensor_core",))


def test_tc_wants_independent_output_axes() -> None:
    made = gemm_kernel(float64, float64, 8, 8, 4)
    (put,) = (s for s in toposort(made.sink) if s.op is Op.Store)
    row = Op.Store(Op.Index(put.src[0].src[0], made.axes[0]), put.src[1])
    refused("opt-tc-c6", Kernel(substitute(made.sink, {put: row})), F64_TC, ("tensor_core",))


def test_tc_wants_a_core_that_is_known() -> None:
    made = gemm_kernel(float64, float64, 8, 8, 4)
    refused("opt-tc-c7", made, OptOp("TC", (1, 0, 2), "m1n1k1"), ("tensor_core",))
    refused("opt-tc-c7", made, OptOp("TC", (1, 0, 2), (8, 8, 4)), ("tensor_core",))


def test_tc_on_floats_wants_licences_and_changes_bits() -> None:
    made = gemm_kernel(float64, float64, 8, 8, 8)
    refused("opt-tc-c8", made, F64_TC)
    refused("opt-tc-c8", made, F64_TC, ("reassociate", "tf32"))
    tf32 = gemm_kernel(float32, float32, 16, 8, 8)
    error = refused("opt-tc-c8", tf32, OptOp("TC", (1, 0, 2), "m16n8k8.tf32.f32"), ("tensor_core",))
    assert error.hint == "grant tf32"
    case = filled(made, 9)
    case = Case(made, {slot: [v if math.isfinite(v) else 0.3 for v in x] for slot, x in case.buffers.items()})
    after = apply(made, F64_TC, ("tensor_core",))
    assert run(after, case.buffers)[2] != run(made, case.buffers)[2]


def test_tc_does_not_split_a_warp_again() -> None:
    made = apply(gemm_kernel(float64, float64, 8, 8, 8), F64_TC, ("tensor_core",))
    assert made.letters == "LLwuR"
    refused("opt-padto-c2", made, OptOp("Padto", 2, 64))
    refused("opt-split-c2", made, OptOp("Split", 2, (2, A.LOCAL)))
    case = filled(gemm_kernel(float64, float64, 16, 8, 8), 9, whole=True)
    keeps(case, [F64_TC, OptOp("Split", 0, (2, A.LOCAL)), OptOp("Split", 5, (2, A.UNROLL))], ("tensor_core",))


def test_every_condition_is_refused_by_a_test_here() -> None:
    text = Path(__file__).read_text()
    assert [c.id for e in OPTOPS.values() for c in e.constraints if f'refused("{c.id}"' not in text] == []


def test_axes_of_one_iteration_do_not_hide_that_iterations_are_apart() -> None:
    """A kernel too large to list: what is left of an axis that is split whole has its stride, and one iteration."""
    made = copy_kernel(int32, 97, 61)
    whole = apply(made, OptOp("Split", 0, (97, A.UPCAST)))
    assert apply(whole, OptOp("Split", 2, (61, A.THREAD, True))).letters == "LutL"
    i, j = loop(5000, 0), loop(1, 1)
    twice = kernel(nest(store(buffer(1, 5000, int32), load(buffer(0, 1, int32), (j, 1)), (j, 1)), i, j))
    refused("opt-split-c4", twice, OptOp("Split", 0, (5000, A.THREAD, True)))
