"""Pictures of stages: kernels as graphs and as listings, readable however large they are."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import soundline as sl
from soundline.impl.analysis import arithmetic
from soundline.impl.inspect.graphs import WIDEST
from soundline.impl.inspect.listings import LONGEST, Line, Listing, lines_of, text_picture
from soundline.impl.inspect.stages import KERNELS, expression, loop_text, place_text, stage_picture
from soundline.impl.program.compile import STAGES
from soundline.spec.dtypes import float32, index
from soundline.spec.uop import AxisType, Op, buffer, const, loop, param

from .processors import WIDE, lower_for

NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_for(WIDE, monkeypatch)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def texts(picture: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(picture).iter(f"{NAMESPACE}text")]


def product() -> Any:
    return sl.compile(lambda a, b: (a @ b).softmax(-1), ones(14, 40), ones(40, 70))


def test_every_stage_of_every_program_is_a_picture() -> None:
    programs = [product(), sl.compile(lambda x: x.cumsum(0), ones(9)), sl.compile(lambda x: x * 1, ones(0))]
    for program in programs:
        for stage in STAGES:
            root = ElementTree.fromstring(program.svg(stage))
            assert root.tag == f"{NAMESPACE}svg"
            assert float(root.attrib["width"]) <= WIDEST, stage


def test_a_stage_has_the_names_of_the_law() -> None:
    program = product()
    assert program.svg("Instruction Selection") == program.svg("select")
    assert program.svg("register/memory plan") == program.svg("plan")
    with pytest.raises(sl.UsageError, match="no stage 'nowhere'"):
        program.svg("nowhere")


def test_places_and_loops_are_written_where_they_are_used() -> None:
    program = sl.compile(lambda a: a.sum(1), ones(5, 7))
    found = texts(program.svg("rangeify"))
    assert found[0] == "kernel 0"
    assert [t for t in found if t.startswith("Load b0[r")]
    assert any(t.startswith("over r") and t.endswith("< 7") for t in found)
    assert any(t.startswith("for r") and t.endswith("< 5") for t in found)
    assert not any(t.startswith(("Range", "Index", "End", "Buffer")) for t in found)


def test_a_gate_is_written_as_a_condition() -> None:
    found = texts(sl.compile(lambda a: a.pad(((1, 1),)), ones(100)).svg("rangeify"))
    assert any(" if " in t and "<" in t for t in found)


def test_an_index_that_is_read_from_memory_is_an_edge() -> None:
    picture = sl.compile(lambda t, i: t[i], ones(50), np.zeros(6, np.int32)).svg("rangeify")
    assert any("·" in t for t in texts(picture))
    assert sum(t.startswith("Load") for t in texts(picture)) == 2
    assert picture.count("<path") >= 2


def test_vectors_that_are_alike_are_counted() -> None:
    found = texts(product().svg("select"))
    assert any("more like it" in t for t in found)


def test_a_listing_nests_loops_and_counts_what_is_alike() -> None:
    program = product()
    lines = lines_of(program.stages["plan"].src[0])
    loops = [line for line in lines if line.opens]
    assert loops
    assert all(line.text.startswith("for r") for line in loops)
    assert max(line.depth for line in lines) >= 2
    assert any("more like these" in line.text for line in lines)
    made = {line.text.split(" = ")[0]: line.text for line in lines if line.text.startswith("v")}
    assert {line.text for line in lines if line.text.startswith("v")} == {
        *made.values()
    }  # one name, one value
    assert Listing(lines).drawn(0).count("<rect") >= len(loops)


def test_what_is_left_out_is_counted() -> None:
    many = "\n".join(f"line {k}" for k in range(LONGEST + 7))
    assert texts(text_picture(many))[-1] == "… and 7 more lines"
    assert texts(text_picture("a < b && c"))[0] == "a < b && c"
    kernels = [sl.compile(lambda x: x + 1, ones(3)).stages["plan"].src[0]] * (KERNELS + 2)
    assert texts(stage_picture(Op.Linear(*kernels)))[-1] == "and 2 more kernels"
    assert Listing([Line(0, "x")]).height > 0


def test_index_arithmetic_is_what_a_reader_would_write() -> None:
    i, k = loop(4, 0), loop(8, 1, AxisType.UPCAST)
    at = arithmetic.add(arithmetic.mul(arithmetic.add(i, arithmetic.number(1)), arithmetic.number(8)), k)
    assert expression(at) == "(r0 + 1)*8 + r1"
    assert expression(Op.Mod(at, const(3, index))) == "((r0 + 1)*8 + r1) % 3"
    assert expression(Op.CmpLt(i, const(2, index))) == "r0 < 2"
    assert expression(Op.Stack(*(const(n, index) for n in range(16)))) == "0…15"
    assert expression(Op.Stack(const(3, index), const(1, index))) == "[3, 1]"
    assert expression(param(2, index)) == "n2"
    assert place_text(Op.Index(Op.After(buffer(5, 64, float32), i), at)) == "b5[(r0 + 1)*8 + r1]"
    assert place_text(buffer(3, 4, float32, addrspace="REG")) == "acc3"
    assert loop_text(k) == "r1 < 8 UPCAST"
    assert loop_text(i) == "r0 < 4"
