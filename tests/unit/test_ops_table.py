"""The op table: every entry complete, every example true."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

from soundline.spec.decisions.table import DECISIONS
from soundline.spec.derived_props import AXIS, DEVICE, DTYPE, MIN_MAX, SHAPE, min_max
from soundline.spec.evaluate import VALUES
from soundline.spec.evaluation.frames import is_effect
from soundline.spec.examples import namespace
from soundline.spec.ops.schema import entry
from soundline.spec.ops.table import PROPERTIES, TABLE, Entry, Op, constraint_text, group_of
from soundline.spec.values.decompositions import DECOMPOSITIONS, EXACT

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = list(TABLE.values())
SOURCE = {
    "source": ["Param", "Buffer", "Const", "Binary"],
    "movement": [
        *["Permute", "Flip", "Reshape", "Expand", "Pad", "Shrink", "Index", "Stack"],
        *["Replicated", "Slice", "Bitcast"],
    ],
    "reduce": ["Reduce"],
    "call": ["Function", "Call", "Tuple", "GetTuple"],
    "load": ["Load"],
    "store": ["Store"],
    "ordering": ["Range", "End", "After", "Group", "Sink", "Linear"],
    "elementwise": [
        *["Recip", "Trunc", "Cast", "Add", "Mul", "Max", "Mod", "Idiv", "CmpLt", "CmpNe"],
        *["Xor", "Or", "And", "Shr", "Shl", "Where"],
    ],
    "decomposed": [
        *["Neg", "Sub", "Div", "CmpGt", "CmpGe", "CmpLe", "CmpEq", "Not", "Exp2", "Log2"],
        *["Sin", "Sqrt", "Pow", "Mulacc", "Threefry"],
    ],
    "marker": ["Contiguous", "ContiguousBackward", "Detach"],
    "codegen": [
        *["Barrier", "Ins", "Special", "If", "Endif", "Wmma", "Custom", "AtomicAdd"],
        *["CustomFunction", "Program", "Source", "BinaryCode", "CDiv", "CMod"],
    ],
}
"""The ops of the source, group by group; its two Binary ops are two, and CDiv and CMod are the project's own (U-03)."""


def test_the_table_holds_the_ops_of_the_source_in_their_groups() -> None:
    assert {group: [op.name for op in group_of(group)] for group in SOURCE} == SOURCE  # type: ignore[arg-type]
    assert set(TABLE) == set(Op)
    assert all(TABLE[op].op is op for op in Op)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.op.name)
def test_an_entry_is_complete(entry: Entry) -> None:
    assert tuple(entry.laws) == PROPERTIES
    assert entry.semantics
    assert entry.example.startswith(">>> ")
    assert entry.title
    assert entry.section.startswith("UOps, ")
    assert [c.id for c in entry.constraints] == [
        f"uop-{entry.slug}-c{k}" for k in range(1, len(entry.constraints) + 1)
    ]
    assert all(constraint_text(c.id) == c.text for c in entry.constraints)
    names = [s.name for s in entry.sources]
    assert len(set(names)) == len(names)
    assert all(s.doc for s in entry.sources)
    assert entry.law_id("min_max") == f"uop-{entry.slug}-min-max"
    if (entry.arg == "none") != (entry.arg_types == (type(None),)):
        pytest.fail(f"{entry.op.name} says arg: {entry.arg}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.op.name)
def test_an_entry_cites_decisions_that_exist(entry: Entry) -> None:
    known = set(DECISIONS)
    assert set(entry.decisions) <= known
    assert list(entry.decisions) == sorted(set(entry.decisions))
    cited = re.findall(r"U-\d\d", " ".join([entry.semantics, *entry.laws.values()]))
    assert set(cited) <= known


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.op.name)
def test_the_example_of_an_entry_is_true(entry: Entry) -> None:
    example = doctest.DocTestParser().get_doctest(entry.example, namespace(), entry.op.name, None, 0)
    assert example.examples
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert result.failed == 0, "".join(said)
    names = {entry.op.name, entry.op.name.lower(), {Op.Range: "loop"}.get(entry.op, entry.op.name)}
    assert any(name in entry.example for name in names)


def test_an_example_that_is_wrong_would_be_noticed() -> None:
    wrong = doctest.DocTestParser().get_doctest(
        ">>> scalar(Op.Add, int8, 1, 1)\n3", namespace(), "Add", None, 0
    )
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda _: None).failed == 1


def test_an_op_has_a_value_or_an_effect_or_says_nothing() -> None:
    values = {op for op, e in TABLE.items() if e.laws["dtype"] != "void"}
    assert set(MIN_MAX) == values
    assert values - set(VALUES) <= {Op.Wmma}
    assert set(VALUES) <= values
    assert set(DTYPE) == set(SHAPE) == set(DEVICE) == set(AXIS) == set(Op)


def test_decompositions_are_those_that_the_table_states() -> None:
    stated = {op for op, e in TABLE.items() if e.decomposition is not None}
    assert stated == set(group_of("decomposed"))
    assert stated == set(DECOMPOSITIONS)
    licensed = {op for op, e in TABLE.items() if e.licences}
    assert licensed == {Op.Div, Op.Sqrt, Op.Pow, Op.CmpGe, Op.CmpLe}
    # CmpGe, CmpLe and Pow have two: the source's under a licence, and one that always holds, in DECOMPOSITIONS.
    assert set(EXACT) == set(DECOMPOSITIONS) - {Op.Div, Op.Sqrt}


def test_the_names_that_examples_use_are_the_real_ones() -> None:
    names = namespace()
    assert names["min_max"] is min_max
    assert names["p"].arg.slot == 0
    assert is_effect(names["Op"].End(names["Op"].Group(), names["loop"](1, 0)))


def entries_in(source: str) -> list[list[str]]:
    """The labels of each entry that a module states, in their order."""
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    return [
        [k.arg for k in call.keywords if k.arg]
        for call in calls
        if ast.unparse(call.func) in ("entry", "unary", "binary") and len(call.keywords) > 2
    ]


def test_every_entry_has_the_same_labels_in_the_same_order() -> None:
    order = list(inspect.signature(entry).parameters)
    modules = sorted((ROOT / "spec/ops").glob("*/*.py"))
    found = [labels for path in modules for labels in entries_in(path.read_text())]
    assert len(found) >= len(TABLE) - 6  # the bitwise ops and the markers share one each
    for labels in found:
        assert labels == sorted(labels, key=order.index)


def test_labels_in_another_order_would_be_noticed() -> None:
    order = list(inspect.signature(entry).parameters)
    (labels,) = entries_in("X = binary(Op.X, 'x', WHOLE, adjoint=WHOLE, scalar=mod, example='')")
    assert labels != sorted(labels, key=order.index)


def test_unknown_ids_are_refused() -> None:
    with pytest.raises(KeyError):
        constraint_text("uop-add-c9")
