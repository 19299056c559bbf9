"""The Spork examples are right: they compute what they say, sequentially and by threads; their broken twins are not."""

from __future__ import annotations

import gc
import re
import runpy
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from soundline.impl.spork.program import SporkProc
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.readings.parallel import sample
from soundline.spec.spork.static.law import static_law
from soundline.spec.spork.synchronization.visibility import Policy
from soundline.verify.cli.main import main

from ..representative import of_each_family, one_in  # noqa: TID252
from .spork_twins import EXAMPLES, TWINS, Twin, load

REAL_SIZES = {
    "vector_add": ("CHUNK = 64", "CHUNK = 1024"),
    "fences": ("WARPS = 2", "WARPS = 32"),
    "cp_async": ("THREADS = 64", "THREADS = 1024"),
    "cp_async_groups": ("THREADS, AHEAD = 32, 2", "THREADS, AHEAD = 256, 5"),
    "gemm_sm80_fence": ("= 32, 32, 16, 32, 8, 8", "= 192, 256, 96, 64, 16, 8"),
    "gemm_sm80_ring": ("= 32, 32, 16, 32, 8, 8", "= 192, 256, 96, 64, 16, 8"),
    "tma_round_trip": ("= 8, 8, 64", "= 64, 16, 1024"),
    "gemm_sm90_ring": ("= 1, 8, 8, 2", "= 2, 256, 32, 4"),
    "gemm_sm90_multicast": ("= 2, 1, 8, 8, 2", "= 2, 2, 256, 32, 4"),
    "split_k_workspace": ("= 4, 8, 3", "= 16, 64, 8"),
    "split_k_atomics": ("= 4, 8, 3", "= 16, 64, 8"),
    "gemv": ("WARPS = 2", "WARPS = 8"),
}
"""The constants of each example, and what they are for a real GPU."""

SMALL = ("vector_add", "fences", "tma_round_trip", "gemv", "split_k_workspace", "split_k_atomics")
"""The examples whose threads a test can interleave."""

ALL = [(name, twin) for name, twins in TWINS.items() for twin in twins]


@cache
def example(name: str) -> ModuleType:
    return load(EXAMPLES / f"{name}.py")


def programs(module: ModuleType) -> dict[str, SporkProc]:
    return {name: found for name, found in vars(module).items() if isinstance(found, SporkProc)}


PROGRAMS = [(name, program) for name in TWINS for program in programs(example(name))]


def twin_of(name: str, twin: Twin, folder: Path) -> ModuleType:
    """The module of a twin, in a file of its own."""
    path = folder / f"{name}.py"
    path.write_text(twin.text((EXAMPLES / f"{name}.py").read_text()))
    return load(path)


def found_in(name: str, twin: Twin, folder: Path) -> tuple[str, int | None, str]:
    """The id by which a twin is refused, the line of the statement, and the text of the twin."""
    text = twin.text((EXAMPLES / f"{name}.py").read_text())
    try:
        module = twin_of(name, twin, folder)
        program = programs(module)[twin.program or next(iter(programs(module)))]
        if twin.rule == "seq-uninitialized":
            program.run(**module.arguments())
        verdict = program.check(policy=twin.policy, **{**module.SIZES, **twin.sizes})
    except SoundlineError as error:
        return error.rule or "", getattr(error, "line", None), text
    if verdict.ok:
        return "accepted", None, text
    first = verdict.findings[0]
    position = first.later.place.statement.position
    return first.id, position.line if position else None, text


def test_every_example_is_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(TWINS)
    listed = (EXAMPLES.parent / "README.md").read_text()
    assert all(f"| `spork/{name}.py` |" in listed for name in TWINS)


def test_the_command_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    command = re.search(
        r"`soundline check (examples/\S+) --size (\S+)`", (EXAMPLES.parent / "README.md").read_text()
    )
    assert command is not None
    assert main(["check", str(EXAMPLES.parents[1] / command[1]), "--size", command[2]]) == 0
    assert "no hazards" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "program"), PROGRAMS)
def test_an_example_computes_what_it_says(name: str, program: str) -> None:
    module = example(name)
    arrays = module.arguments()
    wanted = module.expected(**arrays)
    unchanged = {key: array.copy() for key, array in arrays.items() if key not in wanted}
    programs(module)[program].run(**arrays)
    for key, array in {**unchanged, **wanted}.items():
        np.testing.assert_array_equal(arrays[key], array)


@pytest.mark.parametrize(("name", "program"), PROGRAMS)
def test_an_example_has_no_hazards_under_the_strict_policy(name: str, program: str) -> None:
    """Under the policy that is the default each example checks itself, see below."""
    module = example(name)
    verdict = programs(module)[program].check(policy=Policy.strict, **module.SIZES)
    assert verdict.ok, verdict.text()


@pytest.mark.thorough
def test_what_a_check_makes_is_in_no_cycles() -> None:
    """Why the collector of cycles may be paused meanwhile."""
    module = example("gemm_sm80_fence")
    gc.collect()
    gc.disable()
    try:
        programs(module)["gemm"].check(**module.SIZES)
        assert gc.collect() < 100
    finally:
        gc.enable()


@pytest.mark.parametrize("name", TWINS)
def test_an_example_can_be_large(name: str, tmp_path: Path) -> None:
    """With the sizes of a real GPU it still passes the static law."""
    small, large = REAL_SIZES[name]
    text = (EXAMPLES / f"{name}.py").read_text()
    assert text.count(small) == 1
    path = tmp_path / f"{name}.py"
    path.write_text(text.replace(small, large))
    for program in programs(load(path)).values():
        static_law(program)


@pytest.mark.parametrize("name", one_in(3, TWINS))
def test_an_example_runs_as_a_program(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "False" not in printed
    assert printed.count(": True\nno hazards (") == len(programs(example(name)))


def of(twins: list[tuple[str, Twin]]) -> list[object]:
    """The twins, the first of each example and the first with each id for `make test`."""
    cases = [pytest.param(name, twin, id=f"{name}: {twin.mistake}") for name, twin in twins]
    return of_each_family(cases, lambda name, twin: [name, twin.rule, twin.policy])


@pytest.mark.parametrize(("name", "twin"), of(ALL))
def test_a_broken_twin_is_refused_where_it_is_broken(name: str, twin: Twin, tmp_path: Path) -> None:
    rule, line, text = found_in(name, twin, tmp_path)
    assert (rule, line) == (twin.rule, twin.flagged(text))


def test_a_proxy_fence_before_a_write_is_a_matter_of_policy(tmp_path: Path) -> None:
    """S-08: after a read a barrier suffices where the policy is temporal."""
    twin = next(t for t in TWINS["tma_round_trip"] if t.policy is Policy.strict)
    lenient = replace(twin, policy=Policy.temporal)
    assert found_in("tma_round_trip", lenient, tmp_path)[0] == "accepted"


# Interleavings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "program"), [found for found in PROGRAMS if found[0] in SMALL])
def test_interleavings_of_an_example_end_alike(name: str, program: str) -> None:
    module = example(name)
    found = sample(programs(module)[program].events(**module.SIZES), schedules=2)
    assert found.wrong == ()
    assert len(found.outcomes) == 1


@pytest.mark.parametrize(
    ("name", "twin"), of([(n, t) for n, t in ALL if n in SMALL and t.rule.startswith("mach-")])
)
def test_interleavings_of_a_broken_twin_end_differently(name: str, twin: Twin, tmp_path: Path) -> None:
    """The hazards are real: some run of the threads goes wrong, unless the twin says why none does."""
    module = twin_of(name, twin, tmp_path)
    program = programs(module)[twin.program or next(iter(programs(module)))]
    schedules = 2 if twin.unseen else 12
    found = sample(program.events(**{**module.SIZES, **twin.sizes}), schedules=schedules, stop=True)
    assert bool(found.wrong) == (not twin.unseen)
