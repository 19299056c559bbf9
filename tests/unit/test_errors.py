"""Every error leads to an anchor of the index of errors, and errors name ids that exist."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from soundline.spec.compositions import collectives, tensors
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.dtypes import float32, int8, int32
from soundline.spec.errors import (
    DOCUMENTATION,
    EvaluationError,
    GradientError,
    IllFormed,
    NoSpaceError,
    OutOfMemoryError,
    RuleError,
    ScheduleError,
    SoundlineError,
    TextError,
    ToolchainError,
    TracingError,
    UsageError,
    WrongIndex,
    WrongType,
)
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import PROPERTIES, TABLE, Op
from soundline.spec.uop import const, param, reshape, tensor

ROOT = Path(__file__).resolve().parents[2]


def known_ids() -> set[str]:
    """Every id that an error may carry: laws and constraints of the op table, and decisions."""
    ids = {e.law_id(name) for e in TABLE.values() for name in ("sem", "src", "arg", "adjoint", *PROPERTIES)}
    ids |= {c.id for e in TABLE.values() for c in e.constraints}
    return ids | set(DECISIONS) | set(collectives.CONSTRAINTS) | set(tensors.CONSTRAINTS)


def test_a_refused_node_names_constraint_place_and_page() -> None:
    with pytest.raises(IllFormed) as caught:
        reshape(tensor([1, 2, 3]), (2, 2))
    assert caught.value.rule == "uop-reshape-c2"
    assert caught.value.where == "Reshape"
    assert caught.value.url == f"{DOCUMENTATION}#uop-reshape-c2"
    assert "[uop-reshape-c2]" in str(caught.value)


def test_a_decision_is_an_anchor_in_small_letters() -> None:
    assert EvaluationError("no value", rule="U-01").url == f"{DOCUMENTATION}#u-01"


def test_an_error_without_a_law_leads_to_its_class() -> None:
    assert UsageError("no").url == f"{DOCUMENTATION}#usageerror"
    assert ToolchainError("no compiler").url == f"{DOCUMENTATION}#toolchainerror"


def test_the_id_of_a_readers_rule_is_no_anchor() -> None:
    error = RuleError("no side", file="mine.py", line=3, rule="my_rule")
    assert error.url == f"{DOCUMENTATION}#ruleerror"
    assert error.where == "mine.py:3"
    assert RuleError("ill-typed", rule="uop-add-c3").url == f"{DOCUMENTATION}#uop-add-c3"
    assert RuleError("no name").url == f"{DOCUMENTATION}#ruleerror"


def test_hint_is_shown_on_a_line_of_its_own() -> None:
    assert str(SoundlineError("wrong", where="x.py:1", hint="do that")) == "x.py:1: wrong\n  hint: do that"


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        (lambda: Op.Add(const(1, int8), const(1, int32)), "uop-add-c2"),
        (lambda: Op.Add(const(1, int8)), "uop-add-src"),
        (lambda: Op.Cast(const(1, int8)), "uop-cast-arg"),
        (lambda: Op.Add(param(0, int8, (), device="A"), param(1, int8, (), device="B")), "uop-add-device"),
        (lambda: evaluate(param(0, float32)), "U-01"),
    ],
    ids=["constraint", "sources", "arg", "property", "meaning"],
)
def test_errors_of_every_kind_carry_a_known_id(build, rule: str) -> None:
    with pytest.raises(SoundlineError) as caught:
        build()
    assert caught.value.rule == rule
    assert rule in known_ids()


def test_every_id_written_in_the_code_exists() -> None:
    """An id in a string of the three folders is one that the tables have."""
    known = known_ids()
    unknown = []
    for layer in ("spec", "impl", "verify"):
        for path in sorted((ROOT / layer).rglob("*.py")):
            cited = re.findall(r"[\"'`](uop-[a-z0-9]+(?:-[a-z0-9]+)+)[\"'`]", path.read_text())
            unknown += [f"{path.relative_to(ROOT)}: {c}" for c in cited if c not in known]
    assert not unknown, "\n".join(unknown)


PYTHONS: dict[type[SoundlineError], tuple[type[Exception], ...]] = {
    UsageError: (ValueError,),
    IllFormed: (ValueError,),
    ScheduleError: (ValueError,),
    GradientError: (ValueError,),
    TextError: (ValueError,),
    WrongType: (TypeError, ValueError),
    WrongIndex: (IndexError, ValueError),
    TracingError: (TypeError, ValueError),
    OutOfMemoryError: (MemoryError,),
    NoSpaceError: (OSError,),
    EvaluationError: (),
    ToolchainError: (),
}


@pytest.mark.parametrize("kind", PYTHONS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_one_of_python_that_its_users_catch(kind: type[SoundlineError]) -> None:
    known = (ValueError, TypeError, IndexError, KeyError, MemoryError, OSError)
    assert issubclass(kind, SoundlineError)
    assert {e for e in known if issubclass(kind, e)} == set(PYTHONS[kind])


def test_errors_of_several_kinds_keep_message_place_and_hint() -> None:
    for kind in (WrongType, WrongIndex, TracingError, OutOfMemoryError):
        error = kind("no", where="here", hint="do that")
        assert str(error) == "here: no\n  hint: do that"
        assert error.url == f"{DOCUMENTATION}#{kind.__name__.lower()}"
    full = NoSpaceError("no room", command=("cc",), stderr="full", hint="make room")
    assert str(full) == "C compiler: no room\n  hint: make room"
    assert (full.errno, full.command, full.stderr) == (errno.ENOSPC, ("cc",), "full")
