"""What a program tells of itself: kernels, reasons, loops, memory, stages, certificate."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.inspect.explanation import Explanation
from soundline.impl.lower.rangeify import realized
from soundline.impl.lower.schedule import threads
from soundline.impl.lower.schedule.schedules import schedule_text
from soundline.impl.program.compile import STAGES, lower
from soundline.spec.dtypes import int32
from soundline.spec.uop import Op, const, toposort

from .processors import WIDE, lower_for


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_for(WIDE, monkeypatch)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def explained(function: Any, *examples: Any, profile: str = "exact") -> Explanation:
    return sl.compile(function, *examples, profile=profile).explain()


def test_what_is_fused_is_one_kernel() -> None:
    (kernel,) = explained(lambda a, b: (a * b + 1).relu(), ones(4, 5), ones(4, 5)).kernels
    assert dict(kernel.ops)["Mul"] == 1
    assert dict(kernel.ops)["Add"] == 1
    assert kernel.stores == ("output 0",)
    assert kernel.reads == ("argument 0", "argument 1")
    assert kernel.why == ("it is an output",)
    assert kernel.title == "elementwise 4×5"


def test_each_reason_to_store_a_value_is_told() -> None:
    def function(x: Any, w: Any) -> Any:
        dear = (x @ x.T).sin()
        return (x @ w).softmax(-1), x.contiguous().T.contiguous(), dear + dear.T

    told = explained(function, ones(16, 24), ones(24, 32))
    reasons = {why for k in told.kernels for why in k.why}
    assert "it is an output" in reasons
    assert "the program asks for it: Contiguous" in reasons
    assert any("read in 2 ways" in why for why in reasons)
    assert any("would be computed again" in why for why in reasons)


def test_the_split_that_is_told_is_the_split_that_was_made() -> None:
    program = sl.compile(lambda x: (x @ x).softmax(-1), ones(20, 20))
    made = realized(program.stages["callify"])
    assert len(made) == len(program.stages["rangeify"].src)
    for told, kernel in zip(made, program.stages["rangeify"].src, strict=True):
        (store,) = [n for n in toposort(kernel) if n.op is Op.Store]
        assert store.src[0].src[0] is told.storage
        assert told.why


def test_a_kernel_says_how_it_runs() -> None:
    told = explained(lambda a, b: a @ b, ones(11, 40), ones(40, 64))
    (kernel,) = told.kernels
    assert kernel.title == "sum 11×64 over 40"
    assert any(note.startswith("tiles of 6×64: each operand") for note in kernel.notes)
    assert any("nests" in note for note in kernel.notes)
    assert "reducing 40 REDUCE" in str(kernel.nests[0])
    assert kernel.work.operations == 2 * 11 * 40 * 64
    (moved,) = explained(lambda a: a.T.contiguous(), ones(64, 64)).kernels
    assert any("reads along one axis and writes along another" in note for note in moved.notes)
    (reduced,) = explained(lambda a: a.max(), ones(4096)).kernels
    assert any("lanes that are reduced at the end" in note for note in reduced.notes)


def test_the_schedule_is_told_with_who_chose_it() -> None:
    program = sl.compile(lambda a, b: a @ b, ones(14, 40), ones(40, 70))
    (kernel,) = program.explain().kernels
    (made,) = program.units[0].schedules
    assert kernel.schedule == schedule_text(made.steps)
    assert kernel.schedule in program.explain()
    assert "by the heuristics" in program.explain()
    given = sl.compile(lambda a: a + 1, ones(64), schedule="Split 0 8 UPCAST").explain()
    assert "schedule, by whoever compiled it: Split 0 8 UPCAST" in given


def test_what_goes_row_by_row_is_told() -> None:
    told = explained(lambda x: x.softmax(-1), ones(64, 96))
    (kernel,) = told.kernels
    (note,) = (n for n in kernel.notes if n.startswith("row by row"))
    assert "maximum over 96" in note
    assert {"Exp2", "Reduce", "Div"} <= {name for name, _ in kernel.ops}
    assert "buffer" in " ".join(kernel.notes)
    assert kernel.stores == ("output 0",)


def test_packing_and_parts_and_cores_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORTH", 0)
    lower.cache_clear()
    told = explained(lambda a, b: a @ b, ones(300, 300), ones(300, 300))
    lower.cache_clear()
    assert told.kernels[0].title.startswith("packing argument")
    assert "reads it again and again" in told.kernels[0].why[0]
    notes = [n for k in told.kernels for n in k.notes]
    assert any(n.startswith("dealt out to as many cores") for n in notes)
    assert any(n.startswith("part 1 of") for n in notes)


def test_memory_is_that_of_the_call() -> None:
    weight = sl.Tensor(ones(24, 32))
    told = explained(lambda x: (x @ weight).softmax(-1), ones(16, 24)).memory
    assert (told.arguments, told.captured, told.results) == (16 * 24 * 4, 24 * 32 * 4, 16 * 32 * 4)
    assert told.temporaries >= told.arena > 0
    assert told.arena % 64 == 0
    assert told.peak == told.arguments + told.captured + told.results + told.arena
    assert explained(lambda x: x + 1, ones(3)).memory.arena == 0


def test_every_stage_has_a_size_and_a_time() -> None:
    told = explained(lambda x: x * 2, ones(3))
    assert [s.name for s in told.stages] == list(STAGES)
    assert all(s.nodes > 0 and s.seconds is not None for s in told.stages)


def test_rules_licences_and_verdicts_are_told() -> None:
    told = explained(lambda x: (x @ x).sum(), ones(40, 40), profile="fast")
    text = str(told)
    assert "licences: approx, contract, reassociate, tensor_core" in text
    assert all(f"{rule.id} × {rule.count}: {rule.ruling.verdict}" in text for rule in told.certificate.rules)
    assert f"{len(told.kernels)} kernel" in text


def test_it_is_shown_everywhere() -> None:
    program = sl.compile(lambda x: (x < 1).where(x, 0) if hasattr(x, "where") else x + 1, ones(3))
    told = program.explain()
    assert str(told).startswith(repr(program))
    assert "kernel 0" in told
    assert "kernel 99" not in told
    page = told._repr_html_()
    assert "<table>" in page
    assert "<lambda>" not in page
    read = json.loads(json.dumps(told.as_json()))
    assert read["kernels"][0]["number"] == 0
    assert [s["name"] for s in read["stages"]] == list(STAGES)
    assert read["memory"]["peak"] == told.memory.peak
    assert "<svg" in program._repr_html_()
    fields = [f if isinstance(f, str) else f[0] for f in program.__rich_repr__()]
    assert fields == [program.name, "inputs", "outputs", "profile", "kernels"]


def called_twice() -> sl.Program:
    layer = sl.function(inline=False)(lambda a: (a @ a).relu())
    return sl.compile(lambda a: layer(layer(a)).sum(0), ones(6, 6))


def test_what_is_called_at_several_places_says_so() -> None:
    told = called_twice().explain()
    assert told.units > 1
    assert told.commands > len(told.kernels)
    assert [k.number for k in told.kernels] == list(range(len(told.kernels)))
    assert max(k.sites for k in told.kernels) == 2
    assert "at 2 places" in told
    assert f"{told.commands} commands over {told.units} units" in told
    assert all(s.seconds is not None for s in told.stages)


def test_a_call_that_is_left_in_a_body_is_refused() -> None:
    call = Op.Call(Op.CustomFunction(const(1, int32), arg="unknown"), const(1, int32))
    with pytest.raises(sl.CompileError, match="no scalar form"):
        lower(Op.Function(Op.Tuple(Op.GetTuple(call, arg=0))), "exact")
