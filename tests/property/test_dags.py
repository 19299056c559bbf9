"""What holds of programs with any op in them, over numbers and symbols: text, bounds, properties, laws between ops."""

from __future__ import annotations

import math
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array, Invalid
from soundline.spec.dtypes import bool_, floats, index, ints, order, same_value
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.evaluation.values import bind_sizes
from soundline.spec.ops.bounds import min_max
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.ops.table.parsing import parse
from soundline.spec.ops.textual_form import program_text
from soundline.spec.uop import (
    ReduceArg,
    UOp,
    const,
    obligations,
    pad,
    reshape,
    shape_source,
    shrink,
    substitute,
    toposort,
)

sys.path.insert(0, str(Path(__file__).parent))
from dags import FUNCTIONS, OTHER, SIZE_SLOT, STEPS, Case, cases

FEW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
MORE = settings(FEW, max_examples=60)


def ops(root: UOp) -> set[Op]:
    return {n.op for n in toposort(root)}


def value(case: Case, root: UOp | None = None) -> Array:
    return evaluate(root or case.root, case.params, case.buffers, functions=FUNCTIONS)


def broken(case: Case, params: dict[int, Any]) -> set[str]:
    """The laws whose obligations do not hold where the sizes have these values."""
    return {law for law, condition in obligations(case.root) if not evaluate(condition, params).item()}


def test_every_op_is_drawn_or_named() -> None:
    assert set(STEPS) | set(OTHER) == set(TABLE)
    assert not set(STEPS) & set(OTHER)


@pytest.mark.parametrize("op", list(STEPS), ids=lambda op: op.name)
@FEW
@given(data=st.data())
def test_a_program_has_text_properties_and_bounds(op: Op, data: st.DataObject) -> None:
    case = data.draw(cases(op))
    root = case.root
    assert op in ops(root)
    assert parse(program_text(root)) == (root,)
    assert pickle.loads(pickle.dumps(root)) is root
    assert substitute(root, {}) is root
    assert not broken(case, case.params)
    bound = bind_sizes(root, case.params)
    found = value(case)
    assert found == value(case, bound)
    assert found.dtype is root.dtype
    assert root.shape is not None
    assert len(found.shape) == len(root.shape)
    assert found.shape == bound.shape
    within(root, found)
    within(bound, found)


@settings(FEW, max_examples=200)
@given(cases().filter(lambda c: max(c.params, default=0) >= SIZE_SLOT), st.data())
def test_sizes_are_refused_exactly_where_an_obligation_is_broken(case: Case, data: st.DataObject) -> None:
    drawn = {slot: data.draw(st.integers(0, 4)) for slot in case.params if slot >= SIZE_SLOT}
    params = {**case.params, **drawn}
    wrong = broken(case, params)
    if not wrong:
        bind_sizes(case.root, params)
        return
    with pytest.raises(IllFormed) as refused:
        bind_sizes(case.root, params)
    assert refused.value.rule in wrong


def within(node: UOp, found: Array) -> None:
    """Every element lies in the node's bounds."""
    bounds = min_max(node)
    for cell in found.elements:
        assert bounds is not None
        assert not isinstance(cell, Invalid)
        if cell != cell:
            assert bounds.maybe_nan
        else:
            assert order(bounds.lo) <= order(cell) <= order(bounds.hi)


# Laws between ops -------------------------------------------------------------------------------------------------


def numbers(case: Case) -> tuple[int, ...]:
    return value(case).shape


def sizes(data: st.DataObject, count: int) -> tuple[int, ...]:
    return tuple(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))


@MORE
@given(cases(), st.data())
def test_shrink_undoes_pad(case: Case, data: st.DataObject) -> None:
    shape = numbers(case)
    before, after = sizes(data, len(shape)), sizes(data, len(shape))
    assert case.root.shape is not None
    padded = pad(case.root, before, tuple(a + s + b for a, s, b in zip(before, shape, after, strict=True)))
    again = UOp(Op.Shrink, (padded, shape_source(before), shape_source(case.root.shape)))
    assert value(case, again) == value(case)


@MORE
@given(cases(), st.data())
def test_a_permutation_is_undone_by_its_inverse(case: Case, data: st.DataObject) -> None:
    there = data.draw(st.permutations(range(len(numbers(case)))))
    back = tuple(there.index(k) for k in range(len(there)))
    again = Op.Permute(Op.Permute(case.root, arg=tuple(there)), arg=back)
    assert value(case, again) == value(case)
    assert again.shape == case.root.shape


@MORE
@given(cases())
def test_reshapes_compose(case: Case) -> None:
    shape = numbers(case)
    assert case.root.shape is not None
    flat = reshape(case.root, (math.prod(shape),))
    assert value(case, reshape(flat, case.root.shape)) == value(case)
    assert value(case, reshape(flat, tuple(reversed(shape)))) == value(
        case, reshape(case.root, tuple(reversed(shape)))
    )


@MORE
@given(cases().filter(lambda c: c.root.dtype not in (bool_, index)), st.data())
def test_a_bitcast_comes_back_where_nothing_is_nan(case: Case, data: st.DataObject) -> None:
    kinds = [d for d in (*ints, *floats) if d.bits == case.root.dtype.bits]
    target = data.draw(st.sampled_from(kinds))
    found = value(case)
    there = Op.Bitcast(case.root, arg=target)
    again = value(case, Op.Bitcast(there, arg=case.root.dtype))
    nan = any(x != x for x in (*found.elements, *value(case, there).elements))
    if not nan:
        assert again == found
    elif target not in floats:  # to an integer and back, a NaN is the canonical one
        assert all(same_value(found.dtype, a, b) for a, b in zip(again.elements, found.elements, strict=True))


@MORE
@given(cases().filter(lambda c: c.root.dtype is not index), st.data())
def test_a_reduce_splits(case: Case, data: st.DataObject) -> None:
    """A reduction along an axis is the reduction of its parts, in order, where the op is associative on the dtype."""
    shape = numbers(case)
    dtype = case.root.dtype
    reduction = data.draw(st.sampled_from((Op.Max,) if dtype in floats else (Op.Max, Op.Mul)))
    if not shape:
        return
    axis = data.draw(st.integers(0, len(shape) - 1))
    cut = data.draw(st.integers(0, shape[axis]))
    starts = [tuple(cut if k == axis and part else 0 for k in range(len(shape))) for part in (0, 1)]
    lengths = (cut, shape[axis] - cut)
    parts = [
        shrink(case.root, start, tuple(length if k == axis else s for k, s in enumerate(shape)))
        for start, length in zip(starts, lengths, strict=True)
    ]
    whole = Op.Reduce(case.root, arg=ReduceArg(reduction, (axis,)))
    reduced = [Op.Reduce(p, arg=ReduceArg(reduction, (axis,))) for p in parts]
    assert value(case, whole) == value(case, UOp(reduction, tuple(reduced)))


@MORE
@given(cases(), st.data())
def test_flips_undo_themselves_and_stack_is_undone_by_index(case: Case, data: st.DataObject) -> None:
    flags = tuple(data.draw(st.booleans()) for _ in numbers(case))
    assert value(case, Op.Flip(Op.Flip(case.root, arg=flags), arg=flags)) == value(case)
    stack = Op.Stack(case.root, case.root)
    assert value(case, Op.Index(stack, const(data.draw(st.integers(0, 1)), index))) == value(case)


# Shrinking --------------------------------------------------------------------------------------------------------


def smallest(op: Op, condition) -> UOp:  # type: ignore[no-untyped-def]
    found: Case = find(cases(op), condition, settings=settings(FEW, max_examples=2000, database=None))
    return found.root


@pytest.mark.parametrize(
    ("op", "most"), [(Op.Pad, 5), (Op.Reduce, 6), (Op.Add, 6), (Op.End, 12), (Op.Function, 14)]
)
def test_a_failure_shrinks_to_a_small_program(op: Op, most: int) -> None:
    root = smallest(op, lambda case: op in ops(case.root))
    assert len(list(toposort(root))) <= most, program_text(root)


def test_symbols_shrink_away_where_they_do_not_matter() -> None:
    def is_symbolic(root: UOp) -> bool:
        return any(n.op is Op.Param and n.arg.slot >= SIZE_SLOT for n in toposort(root))

    assert not is_symbolic(smallest(Op.Pad, lambda case: Op.Pad in ops(case.root)))
    assert is_symbolic(smallest(Op.Pad, lambda case: is_symbolic(case.root)))
