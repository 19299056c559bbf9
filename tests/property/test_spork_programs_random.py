"""Random Spork programs: well formed, and the same after writing and reading."""

from __future__ import annotations

import ast
import pickle
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).parent))
from spork_programs import program, programs

from soundline.impl.spork import proc_from_text
from soundline.spec.spork.language.nodes import Named
from soundline.spec.spork.language.programs import Proc, references, text
from soundline.spec.spork.language.statements import Call, statements
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.library.schema import Instruction

LARGE = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@LARGE
@given(programs())
def test_a_program_is_read_back_as_it_was_written(program: Proc) -> None:
    check(program)
    written = text(program)
    again = proc_from_text(written, references(program))
    assert again == program
    assert hash(again) == hash(program)
    assert text(again) == written


def test_real_instructions_are_called() -> None:
    called = [
        statement.callee.value
        for seed in range(150)
        for statement in statements(program(seed, 3).body)
        if isinstance(statement, Call)
    ]
    families = {type(callee) for callee in called if isinstance(callee, Instruction)}
    assert len(families) >= 6
    assert sum(isinstance(callee, Named) for callee in called) >= 20


@LARGE
@given(programs())
def test_the_text_is_python_and_a_program_survives_pickling(program: Proc) -> None:
    ast.parse(text(program))
    assert pickle.loads(pickle.dumps(program)) == program
