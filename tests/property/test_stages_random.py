"""Every stage of the compiler, and the C that it ends in, keep the value of programs that it does everything to."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundline.spec.uop import UOp

sys.path.insert(0, str(Path(__file__).parent))
from shaped_programs import shaped
from small_machine import MACHINES, small_machine, traced

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
machines = st.sampled_from(list(MACHINES))


@settings(RANDOM, max_examples=14)
@given(shaped(), machines)
def test_every_stage_keeps_its_invariant_in_small(roots: list[UOp], machine: str) -> None:
    with small_machine(machine):
        assert traced(*roots).violations() == []


@settings(RANDOM, max_examples=8)
@given(shaped(whole=True), machines)
def test_licences_change_no_whole_number(roots: list[UOp], machine: str) -> None:
    """Small whole numbers are exact in every order, and fused or not: then every stage keeps the bits under `fast`."""
    with small_machine(machine):
        assert traced(*roots).violations("fast") == []


@settings(RANDOM, max_examples=8)
@given(shaped(), machines)
def test_the_text_computes_the_value_in_small(roots: list[UOp], machine: str) -> None:
    with small_machine(machine):
        assert traced(*roots).differences() == []


@settings(RANDOM, max_examples=5)
@given(shaped(whole=True), machines)
def test_the_text_under_licences_is_exact_on_whole_numbers(roots: list[UOp], machine: str) -> None:
    with small_machine(machine):
        assert traced(*roots).differences("fast") == []
