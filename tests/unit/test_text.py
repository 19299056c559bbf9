"""The textual form: what is written is read back to the same nodes, and what is no program is refused at its place."""

from __future__ import annotations

import doctest
import math
from typing import Any

import pytest

from soundline.spec.dtypes import all_dtypes, bool_, float16, float32, index, int32, uint64
from soundline.spec.errors import TextError
from soundline.spec.evaluate import evaluate
from soundline.spec.examples import namespace
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.ops.table.parsing import parse
from soundline.spec.ops.textual_form import program_text
from soundline.spec.uop import (
    AxisType,
    LoadArg,
    ReduceArg,
    SliceArg,
    UOp,
    WmmaArg,
    buffer,
    const,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    tensor,
)


def same(*roots: UOp) -> str:
    text = program_text(*roots)
    assert parse(text) == roots
    return text


@pytest.mark.parametrize("op", list(TABLE), ids=lambda op: op.name)
def test_the_example_of_every_op_is_read_back(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[UOp] = []
    make = UOp.__new__

    def recording(cls: type[UOp], *args: Any, **named: Any) -> UOp:
        node = make(cls, *args, **named)
        built.append(node)
        return node

    with monkeypatch.context() as patch:
        patch.setattr(UOp, "__new__", recording)
        names = namespace()
        for example in doctest.DocTestParser().get_examples(TABLE[op].example):
            exec(compile(example.source, op.name, "single"), names)
    own = [node for node in built if node.op is op] or [node for node in built if node.src]
    assert own
    for node in own:
        same(node)


def test_a_program_reads_like_this() -> None:
    x = param(0, float32, (2, 3))
    y = Op.Reduce(Op.Mul(x, x), arg=ReduceArg(Op.Add, (1,)))
    assert same(y, Op.Cast(y, arg=int32)).splitlines() == [
        "%0 = Param([2, 3]; slot=0, dtype=float32)  # float32[2, 3]",
        "%1 = Mul(%0, %0)  # float32[2, 3]",
        "%2 = Reduce(%1; op=Add, axes=(1,))  # float32[2, 1]",
        "%3 = Cast(%2; int32)  # int32[2, 1]",
        "return %2, %3",
    ]


@pytest.mark.parametrize("dtype", all_dtypes, ids=lambda d: d.name)
def test_constants_keep_dtype_and_bits(dtype: Any) -> None:
    values = [dtype.min, dtype.max, True if dtype is bool_ else 1]
    if dtype.is_float:
        values += [0.0, -0.0, math.nan]
    if dtype is index:
        values = [-(10**30), 0, 10**30]
    for value in values:
        same(const(float(value) if dtype.is_float else value, dtype))


def test_all_kinds_of_args_are_read_back() -> None:
    n = param(3, index, bounds=(1, 9))
    x = param(0, float16, (n, 4), device=("CPU:0", "CPU:1"), axis=1)
    frag = tensor([1.0] * 4, float16)
    r = loop(n, 7, AxisType.GROUP_REDUCE)
    nodes = [
        Op.Reshape(param(1, int32, (n, 4)), Op.Stack(Op.Mul(n, const(4, index)))),
        pad(tensor([1, 2]), (1,), (5,)),
        Op.Permute(x, arg=(1, 0)),
        Op.Permute(const(1, int32), arg=()),
        Op.Flip(x, arg=(True, False)),
        Op.Load(x, arg=LoadArg()),
        Op.Load(x, arg=LoadArg(device="CPU")),
        Op.Load(x),
        Op.Slice(tensor([1, 2]), const(0, index), arg=SliceArg(2, int32)),
        Op.Reduce(Op.Cast(r, arg=int32), r, arg=ReduceArg(Op.Max)),
        Op.Wmma(frag, frag, tensor([1.0] * 4, float32), arg=WmmaArg((8, 16, 16), float16, float32)),
        Op.Binary(arg=b"\x00'\"\\\n"),
        Op.Custom(arg="a 'quoted' \"text\" # with\n\\ everything é"),
        Op.Ins(arg=("s_nop", 3, None, 1.5, (True,))),
        Op.Special(n, arg="gidx0"),
        buffer(0, 4, uint64, device=("A", "B"), addrspace="LOCAL"),
        shape_source(()),
        Op.Group(),
        Op.Function(Op.Tuple(Op.Add(param(0, int32), param(0, int32))), const(3, int32)),
    ]
    same(*nodes)
    for node in nodes:
        same(node)
    assert parse(program_text()) == ()


def test_a_tag_is_not_written() -> None:
    assert parse(program_text(Op.Neg(const(1, int32), tag="here"))) == (Op.Neg(const(1, int32)),)


def test_what_has_no_text_is_refused() -> None:
    with pytest.raises(TextError):
        program_text(Op.Ins(arg=frozenset({1})))


def test_a_person_writes_it_more_freely() -> None:
    text = """
    # the sum of the squares of 1, 2, 3
    %x = Stack(1.0:float32, 2:float32, 3e0:float32)
    %square = Mul(%x,
                  %x)   # on two lines
    return Reshape(Reduce(%square; axes=(0,), op=Add), [])
    """
    (found,) = parse(text)
    assert evaluate(found).item() == 14.0
    assert parse("return [2, 3:index]") == (shape_source((2, 3)),)
    assert parse('return Special(2:index; "lidx0")') == (Op.Special(const(2, index), arg="lidx0"),)


WRONG = {
    "": (1, 1),
    "return %0": (1, 8),
    "%0 = Nothing()\nreturn %0": (1, 6),
    "%0 = Sink()\n%0 = Sink()\nreturn": (2, 1),
    "return 3": (1, 8),
    "return 3:int": (1, 10),
    "return 300:int8": (1, 8),
    "return 1.5:int8": (1, 8),
    "return Neg(3:int32": (1, 19),
    "return Neg(3:int32) more": (1, 21),
    "return [1.5]": (1, 9),
    "return Cast(1:int8; float33)": (1, 21),
    "return Cast(1:int8; float32, 3)": (1, 28),
    "return Range(3:index; id=1, kind=LOOP)": (1, 23),
    "return Range(3:index; id=1, id=1)": (1, 23),
    "return Custom(; 'open)": (1, 17),
    "return Custom(; '\\x')": (1, 17),
    "return $": (1, 8),
    "return Sink()\n\n%0 = Sink()": (3, 1),
    "return " + "Neg(" * 5000 + "1:int8" + ")" * 5000: (None, None),
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_no_program_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == WRONG[text]


def test_a_node_that_breaks_a_law_is_refused_with_its_id() -> None:
    with pytest.raises(TextError) as caught:
        parse("%0 = Param([2]; slot=0, dtype=int8)\nreturn Add(%0, 1:int8)")
    assert caught.value.rule == "uop-add-c1"
    assert caught.value.line == 2
    assert "^" in str(caught.value)
    with pytest.raises(TextError) as caught:
        parse("return Permute(1:int8; (0,))")
    assert caught.value.rule == "uop-permute-c1"
    with pytest.raises(TextError) as caught:
        parse("return Permute(1:int8; 'x')")
    assert caught.value.rule == "uop-permute-arg"


def test_a_long_chain_is_no_matter() -> None:
    x = const(1, int32)
    for _ in range(3000):
        x = Op.Neg(x)
    same(x)
    same(reshape(x, (1, 1)))
