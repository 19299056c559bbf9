"""Every rule of `DECOMPOSE` serves a target: C, or one that lacks an op; what it makes has the values of the law."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c.target import TARGET, target_under
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.instructions import decompositions
from soundline.impl.lower.select import select
from soundline.impl.rules import DECOMPOSE
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    Element,
    all_dtypes,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    index,
    int8,
    int32,
    int64,
    round_to,
    uint8,
    uint32,
    uint64,
)
from soundline.spec.errors import CompileError
from soundline.spec.pipeline.stages import Lowering, Target, check
from soundline.spec.uop import Op, UOp, buffer, const, loop, toposort


def without(*ops: Op) -> Target:
    """C, if it lacked these ops."""
    return replace(TARGET, ops=TARGET.ops - {*ops})


@dataclass(frozen=True)
class Row:
    """A program that a rule serves: an op or an expression, the dtypes of its operands, and the target."""

    expression: Op | Callable[..., UOp]
    dtypes: tuple[DType, ...]
    target: Target = TARGET
    licences: tuple[str, ...] = ()
    operands: int = 2


def by(number: int, op: Op) -> Callable[[UOp], UOp]:
    """An op whose second operand is a number."""
    return lambda x: op(x, const(number, x.dtype))


def natural(op: Op) -> Callable[[UOp, UOp], UOp]:
    """A division of a square by a number that is no less than 1."""
    return lambda x, y: op(Op.Max(x, const(0, x.dtype)), Op.Max(y, const(1, y.dtype)))


WHOLE, FLOATS = (int8, int64, uint8), (float16, float32, float64, float8_e4m3fn)
NO_NEGATION = without(Op.Neg, Op.Mul)

ROWS = {
    "sub_as_add": Row(Op.Sub, (*WHOLE, *FLOATS), without(Op.Sub)),
    "neg_as_mul": Row(Op.Neg, (*WHOLE, *FLOATS), without(Op.Neg), operands=1),
    "neg_as_sub": Row(Op.Neg, WHOLE, NO_NEGATION, operands=1),
    "neg_as_sign_bit_16": Row(Op.Neg, (float16, bfloat16), NO_NEGATION, operands=1),
    "neg_as_sign_bit_32": Row(Op.Neg, (float32,), NO_NEGATION, operands=1),
    "neg_as_sign_bit_64": Row(Op.Neg, (float64,), NO_NEGATION, operands=1),
    "mulacc_as_sum": Row(Op.Mulacc, (*WHOLE, *FLOATS), operands=3),
    "sum_as_mulacc": Row(
        lambda x, y, z: Op.Add(z, Op.Mul(x, y)),
        (float32, float64),
        target_under(["contract"]),
        ("contract",),
        operands=3,
    ),
    "max_as_choice": Row(Op.Max, WHOLE, without(Op.Max)),
    "float_max_as_choice": Row(Op.Max, FLOATS, without(Op.Max)),
    "bool_max_as_or": Row(Op.Max, (bool_,), without(Op.Max)),
    "mod_as_difference": Row(Op.Mod, WHOLE, without(Op.Mod, Op.CMod)),
    "idiv_as_cdiv": Row(by(-3, Op.Idiv), (int8, int64), without(Op.Idiv), operands=1),
    "mod_as_cmod": Row(by(3, Op.Mod), (int8, int64), without(Op.Mod, Op.Idiv), operands=1),
    "natural_idiv_as_cdiv": Row(natural(Op.Idiv), (int8, int64)),
    "natural_mod_as_cmod": Row(natural(Op.Mod), (int8, int64)),
    "unsigned_idiv_as_cdiv": Row(Op.Idiv, (uint8, uint64)),
    "unsigned_mod_as_cmod": Row(Op.Mod, (uint8, uint64)),
    "mod_as_mask": Row(by(8, Op.Mod), (int8, int64), operands=1),
    "xor_as_difference": Row(Op.Xor, WHOLE, without(Op.Xor)),
    "or_as_sum": Row(Op.Or, WHOLE, without(Op.Or)),
    "recip_as_div": Row(Op.Recip, FLOATS, without(Op.Recip), operands=1),
    "div_as_recip": Row(Op.Div, FLOATS, without(Op.Div), ("reciprocal",)),
    "ne_as_not_eq": Row(Op.CmpNe, (*WHOLE, *FLOATS), without(Op.CmpNe)),
    "le_as_not_lt": Row(Op.CmpLe, WHOLE, without(Op.CmpLe)),
    "float_le_as_lt_or_eq": Row(Op.CmpLe, FLOATS, without(Op.CmpLe)),
    "not_as_xor": Row(Op.Not, (bool_,), without(Op.Not), operands=1),
    "where_of_bools": Row(Op.Where, (bool_,), without(Op.Where), operands=3),
    "unsigned_lt_as_signed_32": Row(Op.CmpLt, (uint32,), replace(TARGET, lacks=frozenset({(Op.CmpLt, uint32)}))),
    "unsigned_lt_as_signed_64": Row(Op.CmpLt, (uint64,), replace(TARGET, lacks=frozenset({(Op.CmpLt, uint64)}))),
}  # fmt: skip


def values(dtype: DType) -> list[Element]:
    """Values at which the laws bend."""
    if dtype is bool_:
        return [False, True]
    if dtype.is_float:
        numbers = (-float("inf"), -3.0, -0.0, 0.0, 0.5, 2.0, float("inf"), float("nan"))
        return [round_to(dtype, v) for v in numbers]
    return [int(dtype.min), *range(-4 if dtype.signed else 0, 9), int(dtype.max)]


def program(row: Row, dtype: DType) -> tuple[UOp, dict[int, Array]]:
    """A loop over all combinations of operands, which are loaded, and what the buffers hold."""
    table = list(itertools.product(values(dtype), repeat=row.operands))
    r, size = loop(len(table), 0), len(table)
    loads = [Op.Load(Op.Index(buffer(k, size, dtype), r)) for k in range(row.operands)]
    made = row.expression(*loads)
    stored = Op.Store(Op.Index(buffer(row.operands, size, made.dtype), r), made)
    contents = {k: Array(dtype, (size,), column) for k, column in enumerate(zip(*table, strict=True))}
    return Op.Linear(Op.Sink(Op.End(stored, r))), contents


def test_there_is_a_row_for_each_rule() -> None:
    assert set(ROWS) == {r.id for r in DECOMPOSE}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [pytest.param(name, d, id=f"{name}-{d}") for name, row in ROWS.items() for d in row.dtypes],
)
def test_select_applies_the_rule_and_keeps_the_values(name: str, dtype: DType) -> None:
    row, applied = ROWS[name], Applied()
    before, contents = program(row, dtype)
    after = select(before, row.target, row.licences, applied)
    assert applied[name]
    given = Lowering(before, after, row.target, row.operands, 1)
    exact = "reciprocal" not in row.licences  # whose quotients are rounded twice
    assert check("select", given, contents if exact else None) == []


def test_a_target_that_lacks_nothing_needs_no_rule() -> None:
    everything = Target(TARGET.ops | {Op.Mulacc})
    assert [r.id for r in decompositions(everything)] == []


def test_what_c_asks_for() -> None:
    """C has no floor division of its own, and no Mulacc but under ``contract``."""
    divisions = {"natural_idiv_as_cdiv", "natural_mod_as_cmod", "mod_as_mask"}
    divisions |= {"unsigned_idiv_as_cdiv", "unsigned_mod_as_cmod"}
    assert {r.id for r in decompositions(TARGET)} == divisions | {"mulacc_as_sum"}
    fused = decompositions(target_under(["contract"]), frozenset({"contract"}))
    assert {r.id for r in fused} == divisions | {"mulacc_as_sum", "sum_as_mulacc"}
    dtypes = {r.id: set(r.dtypes or ()) for r in fused}
    assert dtypes["mulacc_as_sum"] == {d for d in all_dtypes if d is not bool_} - dtypes["sum_as_mulacc"]


def test_rules_lead_through_ops_that_the_target_lacks_as_well() -> None:
    """A difference is a sum with a product by -1 where there is no negation."""
    target = without(Op.Sub, Op.Neg)
    before, contents = program(Row(Op.Sub, (int8,)), int8)
    applied = Applied()
    after = select(before, target, (), applied)
    assert {"sub_as_add", "neg_as_mul"} <= applied.keys()
    assert check("select", Lowering(before, after, target, 2, 1), contents) == []


@pytest.mark.parametrize("lacked", [(Op.Xor, Op.Or), (Op.Recip, Op.Div), (Op.Add,)], ids=str)
def test_what_no_rule_gives_is_refused(lacked: Iterable[Op]) -> None:
    """Of two ops that are each other's decomposition one must be there."""
    op = next(iter(lacked))
    dtype = float32 if op is Op.Recip else int32
    before, _ = program(Row(op, (dtype,), operands=1 if op is Op.Recip else 2), dtype)
    with pytest.raises(CompileError) as caught:
        select(before, without(*lacked), ["reciprocal"])
    assert caught.value.where == op.name


def test_a_dtype_alone_may_lack_an_op() -> None:
    target = replace(TARGET, lacks=frozenset({(Op.Max, float32)}))
    assert [(r.id, r.dtypes) for r in decompositions(target) if "max" in r.id] == [
        ("float_max_as_choice", (float32,))
    ]
    assert not target.has(Op.Max, float32)
    assert target.has(Op.Max, float64)


def test_the_bounds_of_loops_are_selected_as_well() -> None:
    """A loop is a name to the engine; how often it runs is a value all the same."""
    outer = loop(9, 0)
    inner = UOp(Op.Range, (Op.Idiv(outer, const(2, index)),), loop(9, 1).arg)
    place = Op.Index(buffer(0, 9, int32), inner)
    made = select(Op.Linear(Op.Sink(Op.End(Op.End(Op.Store(place, const(1, int32)), inner), outer))), TARGET)
    assert {n.src[0].op for n in toposort(made) if n.op is Op.Range} == {Op.Const, Op.CDiv}


def test_the_rules_of_selection_are_told_with_the_program() -> None:
    """A compiled function lists them among the rules that the court has proved."""
    numbers = sl.Tensor(np.arange(-4, 5, dtype=np.int32))
    compiled = sl.compile(lambda x: x % 8, numbers)
    assert compiled(numbers).tolist() == [k % 8 for k in range(-4, 5)]
    assert "mod_as_mask" in {r.id for r in compiled.certificate.rules}
