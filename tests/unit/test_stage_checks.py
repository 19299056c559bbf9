"""`soundline compile --check`: every stage of a program is held to its law, and one that breaks it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.spec.pipeline.stages import STAGES
from soundline.spec.uop import Op, UOp, const, substitute, toposort
from soundline.verify.cli.main import main
from soundline.verify.programs import stage_checks
from soundline.verify.programs.stage_checks import SMALL, checked

X = np.ones((4, 5), np.float32)


def program(profile: str = "exact", size: int = 4) -> sl.Program:
    return sl.compile(lambda x: (x * 3 + 1).sum(1), np.ones((size, 5), np.float32), profile=profile)


def test_every_stage_keeps_its_law() -> None:
    told = checked(program())
    assert [c.stage for c in told] == list(STAGES)
    assert all(c.broken == () for c in told)
    assert [c.compared for c in told] == [False, *(True for _ in told[2:]), False]
    assert all("conditions hold" in str(c) for c in told)


@pytest.mark.parametrize(
    "made", [lambda: program("fast"), lambda: program(size=SMALL)], ids=["fast", "large"]
)
def test_values_are_compared_where_that_can_be(made: Any) -> None:
    told = checked(made())
    assert all(c.broken == () and not c.compared for c in told)


@pytest.mark.parametrize("stage", [s for s in STAGES if s not in ("callify", "render")])
def test_a_stage_that_changes_a_value_is_named(stage: str) -> None:
    made = program()
    (unit,) = made.units
    node: UOp = unit.stages[stage]
    three = next(n for n in toposort(node) if n.op is Op.Const and n.arg.value == 3.0)
    wrong = substitute(node, {three: const(4.0, three.dtype)})
    unit.stages[stage] = wrong  # type: ignore[index]
    try:
        (broken,) = [c for c in checked(made) if c.stage == stage]
        assert broken.broken
        rule = "stage-plan-c1" if stage == "plan" else STAGES[stage].value_id  # a plan replaces storage only
        assert broken.broken[0].rule == rule
        assert rule in str(broken)
    finally:
        unit.stages[stage] = node  # type: ignore[index]


def test_symbolic_sizes_are_left_open() -> None:
    n = sl.Variable("n", 1, 8)
    told = checked(sl.compile(lambda x: x + 1, sl.Signature(sl.float32, (n,))))
    assert all(c.broken is None for c in told)
    assert "not decided" in str(told[0])


def test_the_command_says_how_it_stands(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text('def f(x: "float32[3]"):\n    return x * 2\n')
    assert main(["compile", "model.py", "--check"]) == 0
    assert capfd.readouterr().out.count("conditions hold") == len(STAGES)
    assert main(["compile", "model.py", "--check", "--format", "json"]) == 2
    monkeypatch.setattr(stage_checks, "is_symbolic", lambda function: True)
    assert main(["compile", "model.py", "--check"]) == 3
    monkeypatch.undo()
