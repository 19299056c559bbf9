"""
Graphs of tinygrad: their translation, the programs that are drawn, and the comparison

The graphs here are made of objects with the public attributes that tinygrad's have, so tinygrad is not needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from trials.differential import tinygrad as differential
from trials.differential import tinygrad_decided
from trials.differential.tinygrad_programs import Case, Family, cases, difference

from soundline.impl.importers.reading.errors import ExtraMissing, UnsupportedGraph
from soundline.impl.importers.tinygrad import from_tinygrad
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.dtypes import bool_, float32, float64, int32, uint8
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, toposort

ROOT = Path(__file__).resolve().parents[2]


class Node:
    """A node with tinygrad's attributes."""

    def __init__(
        self, op: str, dtype: str, shape: tuple[int, ...], *src: Node, arg: Any = None, realized: Any = None
    ) -> None:
        self.op = SimpleNamespace(name=op)
        self.dtype = SimpleNamespace(name=dtype)
        self.shape = shape
        self.src = src
        self.arg = arg
        self.realized = realized
        self.device = "PYTHON"


NAMES = {"float32": "float", "int32": "int", "uint8": "unsigned char", "bool": "bool", "float64": "double"}


def held(values: Any, dtype: str = "float32") -> Node:
    """A buffer with contents, in the shape of the values."""
    array = np.array(values, dtype)
    stored = SimpleNamespace(as_memoryview=lambda: memoryview(array.tobytes()))
    flat = Node("BUFFER", NAMES[dtype], (array.size,), weak(array.size), realized=stored)
    return flat if array.ndim == 1 else reshaped(flat, array.shape)


def weak(value: float) -> Node:
    return Node("CONST", "weakfloat" if isinstance(value, float) else "weakint", (), arg=value)


def sizes(numbers: tuple[int, ...]) -> Node:
    return Node("STACK", "weakint", (len(numbers),), *map(weak, numbers))


def reshaped(x: Node, shape: tuple[int, ...]) -> Node:
    return Node("RESHAPE", x.dtype.name, shape, x, sizes(shape))


def law(graph: Any) -> Any:
    """The value of an imported graph."""
    return differential.lawful(from_tinygrad(graph).uop).tolist()


# Translation ------------------------------------------------------------------------------------------------------


def test_a_condition_and_constants_that_take_the_dtype_beside_them() -> None:
    x = held([[-1.0, 2.0], [3.0, -4.0]])
    condition = Node("CMPLT", "bool", (2, 2), weak(0.0), x)
    relu = Node("WHERE", "float", (2, 2), condition, x, weak(0.0))
    assert from_tinygrad(relu).dtype is float32
    assert law(relu) == [[0.0, 2.0], [3.0, 0.0]]
    assert law(SimpleNamespace(uop=relu)) == [[0.0, 2.0], [3.0, 0.0]]  # a Tensor


def test_reduce_reductions_the_leading_axes_and_removes_them() -> None:
    x = held([[1, 2, 3], [4, 5, 6]], "int32")
    add, largest = SimpleNamespace(name="ADD"), SimpleNamespace(name="MAX")
    assert law(Node("REDUCE", "int", (3,), x, arg=(add, 1))) == [5, 7, 9]
    assert law(Node("REDUCE", "int", (), x, arg=(largest, 2))) == 6
    with pytest.raises(UnsupportedGraph, match="REDUCE: this form"):
        from_tinygrad(Node("REDUCE", "int", (3,), x, arg=(add, (0,))))


def test_movement() -> None:
    x = held([[1, 2, 3], [4, 5, 6]], "int32")
    assert law(Node("PERMUTE", "int", (3, 2), x, arg=(1, 0))) == [[1, 4], [2, 5], [3, 6]]
    assert law(Node("FLIP", "int", (2, 3), x, arg=(False, True))) == [[3, 2, 1], [6, 5, 4]]
    assert law(Node("SHRINK", "int", (1, 2), x, sizes((1, 0)), sizes((1, 2)))) == [[4, 5]]
    assert law(Node("STACK", "int", (2, 2, 3), x, x)) == [[[1, 2, 3], [4, 5, 6]]] * 2
    padded = Node("PAD", "int", (3, 3), x, sizes((1, 0)), sizes((3, 3)))
    assert law(padded) == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert law(Node("PAD", "int", (3,), held([7], "int32"), weak(1), weak(3))) == [
        0,
        7,
        0,
    ]  # one number alone


def test_expand_adds_axes_in_front_and_operands_are_broadcast() -> None:
    x = held([1, 2, 3], "int32")
    assert law(Node("EXPAND", "int", (2, 3), x, weak(2))) == [[1, 2, 3]] * 2
    column = held([[10], [20]], "int32")
    assert law(Node("ADD", "int", (2, 3), column, x)) == [[11, 12, 13], [21, 22, 23]]


def test_markers_and_copies_are_the_value() -> None:
    x = held([1.0, 2.0])
    device = Node("PYLITERAL", "void", ())
    chain = Node(
        "DETACH", "float", (2,), Node("CONTIGUOUS", "float", (2,), Node("COPY", "float", (2,), x, device))
    )
    assert law(chain) == [1.0, 2.0]
    assert {n.op for n in toposort(from_tinygrad(chain).uop)} >= {Op.Contiguous, Op.Detach}


def test_conversions() -> None:
    x = held([1.9, -1.9])
    assert law(Node("CAST", "int", (2,), x, arg=None)) == [1, -1]
    assert law(Node("BITCAST", "unsigned int", (2,), held([1.0, 2.0]))) == [0x3F800000, 0x40000000]
    integer = held([4, 8], "int32")
    assert law(Node("RECIPROCAL", "float", (2,), integer)) == [0.25, 0.125]


def test_a_weak_value_with_nothing_beside_it_has_the_default_dtype() -> None:
    total = Node("ADD", "weakfloat", (), weak(2.0), weak(1))
    assert from_tinygrad(total).dtype is float32
    assert law(total) == 3.0
    assert from_tinygrad(weak(3)).dtype is int32


def test_a_weak_value_is_translated_once_for_each_dtype_beside_it() -> None:
    tenth = weak(0.1)
    wide = Node("CAST", "double", (1,), held([1.0]))
    narrow = Node("CAST", "double", (1,), Node("MUL", "float", (1,), held([1.0]), tenth))
    both = Node("STACK", "double", (2, 1), Node("MUL", "double", (1,), wide, tenth), narrow)
    assert from_tinygrad(both).dtype is float64
    assert law(both) == [[0.1], [float(np.float32(0.1))]]


def test_a_weak_constant_wraps_in_a_sum_and_is_refused_in_a_comparison() -> None:
    x = held([1, 2], "uint8")
    total = Node("ADD", "unsigned char", (2,), x, weak(-1))
    assert from_tinygrad(total).dtype is uint8
    assert law(total) == [0, 1]
    with pytest.raises(UnsupportedGraph, match="the constant -1 is not a value of uint8"):
        from_tinygrad(Node("CMPLT", "bool", (2,), x, weak(-1)))
    with pytest.raises(UnsupportedGraph, match="the constant 300 is not a value of uint8"):
        from_tinygrad(Node("MAX", "unsigned char", (2,), x, reshaped(weak(300), (1,))))


def test_a_float_beside_integers_is_compared_as_a_float() -> None:
    assert law(Node("CMPLT", "bool", (2,), held([0, 1], "int32"), weak(0.5))) == [True, False]


def test_a_weak_float_never_becomes_an_integer() -> None:
    with pytest.raises(UnsupportedGraph, match="a float stands for int32"):
        from_tinygrad(Node("ADD", "int", (2,), held([0, 1], "int32"), weak(0.5)))


def test_the_sum_of_bools_is_or_and_a_count_takes_the_dtype_of_what_is_shifted() -> None:
    a, b = held([True, True, False], "bool"), held([True, False, False], "bool")
    assert from_tinygrad(Node("ADD", "bool", (3,), a, b)).dtype is bool_
    assert law(Node("ADD", "bool", (3,), a, b)) == [True, True, False]
    count = Node("CAST", "unsigned int", (2,), held([1, 2], "int32"))
    assert law(Node("SHL", "int", (2,), held([3, 3], "int32"), count)) == [6, 12]


def test_what_is_stored_into_a_whole_place_is_its_value_from_then_on() -> None:
    place = held([0.0, 0.0])
    value = held([1.0, 2.0])
    assert law(Node("AFTER", "float", (2,), place, Node("STORE", "void", (), place, value))) == [1.0, 2.0]
    part = Node("SHRINK", "float", (1,), place, weak(0), weak(1))
    with pytest.raises(UnsupportedGraph) as caught:
        from_tinygrad(Node("AFTER", "float", (2,), place, Node("STORE", "void", (), part, held([1.0]))))
    assert caught.value.ops == {"AFTER": 1, "STORE": 1}


def test_one_error_lists_all_that_is_not_supported() -> None:
    strange = Node("STRANGE", "float", (2,), held([1.0, 2.0]))
    odd = Node("ODD", "float", (2,), strange)
    again = Node("STRANGE", "float", (2,), odd)
    unheld = Node("BUFFER", "float", (2,), weak(2))
    complex_ = Node("CAST", "complex", (2,), held([1.0, 2.0]))
    logical = Node("AND", "float", (2,), held([1.0, 2.0]), held([1.0, 2.0]))
    graph = Node("STACK", "float", (4, 2), again, unheld, complex_, logical)
    with pytest.raises(UnsupportedGraph) as caught:
        from_tinygrad(graph)
    assert caught.value.ops == {"ODD": 1, "STRANGE": 2}
    assert caught.value.nodes == (
        ("BUFFER", "a buffer holds nothing yet"),
        ("CAST", "the dtype complex is not supported"),
        ("AND", "expected: the dtype is bool or an integer of fixed width (uop-and-c3)"),
    )
    assert "op STRANGE, 2 nodes" in str(caught.value)


def test_a_size_without_a_number_is_refused() -> None:
    x = held([1.0, 2.0])
    symbolic = Node("SHRINK", "float", (1,), x, Node("SPECIAL", "weakint", ()), weak(1))
    with pytest.raises(UnsupportedGraph, match="an offset is not a number"):
        from_tinygrad(symbolic)
    open_ = Node("RESHAPE", "float", (SimpleNamespace(),), x, weak(2))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedGraph, match="is not made of numbers"):
        from_tinygrad(open_)


def test_what_is_no_graph_is_a_typed_error_with_and_without_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match="tinygrad is not installed") as caught:
        from_tinygrad("x + 1")
    assert caught.value.hint == "pip install 'soundline[conformance]'"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: SimpleNamespace())
    with pytest.raises(UsageError, match="str is neither") as other:
        from_tinygrad("x + 1")
    assert not isinstance(other.value, ExtraMissing)


def test_importing_needs_no_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tinygrad", None)
    assert law(Node("NEG", "float", (1,), held([1.0]))) == [-1.0]


# What is drawn ----------------------------------------------------------------------------------------------------


def test_cases_are_drawn_from_the_seed_alone() -> None:
    first, again, other = (list(differential.drawn(seed)) for seed in (20, 20, 21))
    assert [str(c) for c in first] == [str(c) for c in again] == [str(c) for c in other]
    assert all(
        a.tobytes() == b.tobytes()
        for c, d in zip(first, again, strict=True)
        for a, b in zip(c.values, d.values, strict=True)
    )
    assert any(
        a.tobytes() != b.tobytes()
        for c, d in zip(first, other, strict=True)
        for a, b in zip(c.values, d.values, strict=True)
    )


def test_families_are_many_and_each_name_is_one() -> None:
    names = [f.name for f in differential.FAMILIES]
    assert len(set(names)) == len(names) >= 200
    assert len(list(differential.drawn(20))) >= 1000
    assert [c.family.name for c in differential.drawn(20, ["add", "eye alone"])] == ["add"] * 12 + [
        "eye alone"
    ]


def test_what_differs_on_purpose_cites_a_decision_and_has_no_tolerance() -> None:
    for family in differential.FAMILIES:
        assert family.decision is None or family.decision in DECISIONS
        assert family.decision is None or family.ulps is None
        assert family.usual is None or family.decision is not None
    assert all(f.decision for f in tinygrad_decided.FAMILIES)


def test_formulas_are_formulas() -> None:
    """Every formula gives numbers on what is drawn, and integer families are exact."""
    for case in differential.drawn(20):
        expected = case.expected(case.family.formula)
        assert expected.dtype.kind in "biuf"
        if case.family.ulps is None and case.family.decision is None and "special" not in case.family.draw:
            assert not np.any(np.isnan(expected)), str(case)


# The comparison ---------------------------------------------------------------------------------------------------


class Graph:
    """What a program builds: a graph, and what tinygrad would compute from it."""

    def __init__(self, root: Node, computed: Any) -> None:
        self.uop = root
        self.computed = computed

    def contiguous(self) -> Graph:
        return self

    def numpy(self) -> Any:
        if isinstance(self.computed, Exception):
            raise self.computed
        return self.computed


def doubled(computed: Callable[[Any], Any], op: str = "ADD") -> Family:
    """A family whose program adds a number to itself."""

    def build(tensors: Any, x: Any) -> Graph:
        operand = held(x, str(x.dtype))
        return Graph(Node(op, NAMES[str(x.dtype)], x.shape, operand, operand), computed(x))

    return Family("doubled", build, lambda x: x + x, ("float32",), (((3,),),))


def came_of(family: Family) -> differential.Outcome:
    (case,) = cases((family,), 1)
    return differential.outcome(lambda v: v, case)


def test_equal_results_agree() -> None:
    assert came_of(doubled(lambda x: x + x)) == differential.Outcome("agreed")


def test_another_value_or_dtype_fails() -> None:
    wrong = came_of(doubled(lambda x: x + x + np.float32([0, 1, 0])))
    assert wrong.kind == "failed"
    assert "element [1] is" in wrong.text
    assert wrong.text.endswith("by tinygrad")
    assert (
        "the dtype is float32 by the law, float64"
        in came_of(doubled(lambda x: (x + x).astype(np.float64))).text
    )
    assert came_of(doubled(lambda x: RuntimeError("no"))).text.endswith("RuntimeError (no) by tinygrad")


def test_another_formula_fails_even_where_the_law_decides_otherwise() -> None:
    for decision in (None, "U-05"):
        family = replace(doubled(lambda x: x + x), formula=lambda x: x * np.float32(3), decision=decision)
        found = came_of(family)
        assert found.kind == "failed"
        assert "by its formula" in found.text


def test_what_is_decided_differs_on_purpose() -> None:
    other = replace(doubled(lambda x: x * 0), decision="U-05")
    assert came_of(other).kind == "differs on purpose"
    usual = replace(doubled(lambda x: x + x), decision="U-07", usual=lambda x: x * 0)
    found = came_of(usual)
    assert (found.kind, found.text.endswith("by numpy")) == ("differs on purpose", True)
    assert came_of(replace(doubled(lambda x: x + x), decision="U-05")).kind == "agreed"


def test_a_graph_that_is_not_imported_fails_unless_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    family = doubled(lambda x: x + x, op="STRANGE")
    assert came_of(family).kind == "failed"
    monkeypatch.setattr(tinygrad_decided, "NOT_IN_THE_LAW", (family,))
    found = came_of(family)
    assert (found.kind, found.ops) == ("not importable", ("STRANGE",))
    assert found.text == "STRANGE is not translated"
    known = doubled(lambda x: x + x)
    monkeypatch.setattr(tinygrad_decided, "NOT_IN_THE_LAW", (known,))
    assert came_of(known).text == "it is imported, and listed as not importable"


def test_a_program_that_tinygrad_refuses_fails() -> None:
    def build(tensors: Any, x: Any) -> Any:
        raise TypeError("no such method")

    found = came_of(replace(doubled(lambda x: x), build=build))
    assert (found.kind, found.text) == ("failed", "tinygrad does not build it: TypeError no such method")


def test_the_summary_counts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    good, wrong = doubled(lambda x: x + x), replace(doubled(lambda x: x), name="wrong")
    decided = replace(doubled(lambda x: x), name="decided", decision="U-05")
    strange = replace(doubled(lambda x: x, op="STRANGE"), name="strange")
    monkeypatch.setattr(tinygrad_decided, "NOT_IN_THE_LAW", (strange,))
    out = io.StringIO()
    found = list(cases((good, wrong, decided, strange), 1))
    tally = differential.compare(Console(file=out, width=300), lambda v: v, found, show=True)
    *shown, last = out.getvalue().splitlines()
    assert last == (
        "tinygrad: 1 of 4 programs of 4 families agree with the law; 1 differ on purpose (1 U-05); "
        "1 not importable (1 for STRANGE); 1 failed."
    )
    assert [line.partition(":")[0] for line in shown] == ["wrong of float32 [3]", "U-05", "not importable"]
    assert tally.counts() == {
        "agreed": 1,
        "differs on purpose": {"U-05": 1},
        "not importable": {"STRANGE": 1},
        "failed": 1,
        "apart": [
            {"program": "decided of float32 [3]", "decision": "U-05", "how": tally.apart[0]["how"]},
            {"program": "strange of float32 [3]", "ops": "STRANGE", "how": "STRANGE is not translated"},
        ],
    }
    assert tally.apart[0]["how"].endswith("by tinygrad")


EXACT = Family("exact", lambda t: t, lambda: 0)
NEAR = Family("near", lambda t: t, lambda: 0, ulps=2)


def of(*values: float) -> Any:
    return np.array(values, np.float32)


def test_exact_is_bit_for_bit_and_nan_is_nan() -> None:
    assert difference(EXACT, of(1, math.nan, -0.0), of(1, math.nan, -0.0)) is None
    assert difference(EXACT, of(0.0), of(-0.0)) is not None
    assert difference(EXACT, of(1.0), of(math.nan)) is not None
    assert difference(EXACT, of(1.0), np.nextafter(of(1.0), of(2.0))) is not None
    assert (
        difference(EXACT, of(1.0), of(1.0).reshape(1, 1)) == "the shape is (1,) by the law, (1, 1) elsewhere"
    )
    assert difference(EXACT, np.array([1, 2]), np.array([1, 3])) == "element [1] is 2 by the law, 3 elsewhere"


def test_a_tolerance_is_so_many_units_of_the_value_or_the_scale() -> None:
    unit = float(np.finfo(np.float32).eps)
    assert difference(NEAR, of(1 + 2 * unit), of(1.0)) is None
    assert difference(NEAR, of(1 + 3 * unit), of(1.0)) is not None
    assert difference(NEAR, of(1e-6), of(1e-6 + unit)) is not None
    assert difference(replace(NEAR, scale=1.0), of(1e-6), of(1e-6 + unit)) is None
    assert difference(NEAR, of(math.inf, math.nan), of(math.inf, math.nan)) is None
    assert difference(NEAR, of(math.inf), of(1.0)) is not None
    assert difference(NEAR, of(1.0), of(math.inf)) is not None
    assert difference(NEAR, of(-math.inf), of(math.inf)) is not None
    assert difference(NEAR, of(math.nan), of(1.0)) is not None
    assert difference(NEAR, of(1.0), of(math.nan)) is not None


def test_a_case_is_named_by_its_family_dtype_and_shapes() -> None:
    assert str(Case(EXACT, "int32", ((2, 3), ()), ())) == "exact of int32 [2, 3], []"
    assert str(Case(EXACT, "", (), ())) == "exact"


# The command ------------------------------------------------------------------------------------------------------


def test_without_tinygrad_it_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEV", "")
    monkeypatch.setenv("CACHELEVEL", "")
    monkeypatch.setitem(sys.modules, "tinygrad", None)
    assert differential.main([]) == 2
    assert "tinygrad: not compared, it is not installed" in capsys.readouterr().out


def test_the_command_records_the_counts_and_fails_where_something_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DEV", "")
    monkeypatch.setenv("CACHELEVEL", "")
    monkeypatch.setattr(differential, "version", lambda name: "0.14.0")
    monkeypatch.setitem(sys.modules, "tinygrad", SimpleNamespace(Tensor=lambda v: v))  # type: ignore[arg-type]
    target = tmp_path / "counts.json"
    monkeypatch.setattr(differential, "FAMILIES", (doubled(lambda x: x + x),))
    assert differential.main(["--record", str(target), "--seed", "3"]) == 0
    recorded = json.loads(target.read_text())
    assert (recorded["tinygrad"], recorded["seed"], recorded["agreed"]) == ("0.14.0", 3, 1)
    monkeypatch.setattr(differential, "FAMILIES", (doubled(lambda x: x),))
    assert differential.main([]) == 1
    with pytest.raises(SystemExit) as caught:
        differential.main(["--only", "undoubled"])
    assert caught.value.code == 2


def test_the_recorded_counts_are_those_of_what_is_drawn() -> None:
    recorded = json.loads((ROOT / "tests" / "conformance" / "tinygrad_counts.json").read_text())
    apart = sum(recorded["differs on purpose"].values()) + sum(recorded["not importable"].values())
    assert recorded["failed"] == 0
    assert recorded["agreed"] + apart == len(list(differential.drawn(recorded["seed"])))
    assert set(recorded["differs on purpose"]) <= {f.decision for f in differential.FAMILIES}
    assert recorded["seed"] == differential.SEED


def test_the_page_shows_the_recorded_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    pages = importlib.import_module("conformance_pages")
    recorded = json.loads(pages.GRAPHS.read_text())
    text = pages.graphs()
    assert f"Graphs of tinygrad {recorded['tinygrad']}" in text
    assert f"- {recorded['agreed']:,}" in text
    for decision, count in recorded["differs on purpose"].items():
        assert f"differs on purpose, by :law:`{decision}`\n     - {count}\n" in text
    for row in recorded["apart"]:
        assert f"``{row['program']}``" in text
    monkeypatch.setattr(pages, "GRAPHS", tmp_path / "none.json")
    assert pages.graphs() == "The graphs of tinygrad are not counted in this copy of the source.\n"
