"""Random programs of the CPU mean what the same program means in Python over numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from sequential_programs import HELPERS, Twins, twins

from soundline.impl.spork import proc_from_text
from soundline.spec.errors import ProgramError

CALLED = {"axpy": proc_from_text(HELPERS, file="called")}


def ends(found: Twins) -> bool:
    """Whether both programs end, which then leave the same; else they stop at the same line."""
    arrays = {name: array.copy() for name, array in found.arrays.items()}
    wanted, stopped = found.execute()
    error = failure(found, arrays)
    if error is None:
        assert stopped is None, f"stops at {stopped} in\n{found.spork}"
        for name, array in arrays.items():
            assert same(array, wanted[name]), f"{name}: {array} for {wanted[name]} in\n{found.spork}"
        return True
    inside = error.file == "called" and stopped and "axpy" in found.spork.splitlines()[stopped - 1]
    assert inside or error.line == stopped, f"{found.spork}\n{error}"
    assert error.rule in ("seq-bounds", "seq-uninitialized")
    return False


def failure(found: Twins, arrays: dict[str, npt.NDArray[Any]]) -> ProgramError | None:
    """Run the program on arrays; the error at which it stops, if it does."""
    program = proc_from_text(found.spork, CALLED)
    try:
        program.run(**arrays)
    except ProgramError as error:
        return error
    return None


def same(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether arrays are equal, where NaN is NaN and the sign of zero counts."""
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    both = np.isnan(one) & np.isnan(other)
    return bool(np.all(both | ((one == other) & (np.signbit(one) == np.signbit(other)))))


@settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_both_languages_say_the_same(seed: int) -> None:
    ends(twins(seed))


def test_most_programs_end_and_change_something_and_some_do_not_end() -> None:
    made = [twins(seed) for seed in range(60)]
    ended = [found for found in made if ends(found)]
    changed = [
        found for found in ended if any(not same(a, found.arrays[k]) for k, a in found.execute()[0].items())
    ]
    assert len(changed) >= 25
    assert len(ended) < 60
