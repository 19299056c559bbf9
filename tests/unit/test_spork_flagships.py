"""The flagships are right: they compute what they say, sequentially, by threads, and as emulated CUDA of real sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from soundline.impl.runtime.cuda_compiler.compilation import compiled
from soundline.impl.runtime.emulator.emulation import emulated
from soundline.impl.spork.program import SporkProc
from soundline.spec.errors import SoundlineError, ToolchainError
from soundline.spec.spork.static.law import static_law

from .spork_twins import EXAMPLES, FREE_READ, RAW, STUCK, UNEQUAL, WAR, WAW, load

FLAGSHIPS = EXAMPLES / "flagships"


@dataclass(frozen=True)
class Flagship:
    """A file of a flagship."""

    sizes: dict[str, dict[str, int]]
    """By the name of a program of real tiles, sizes at which it is emulated."""
    arch: str = "sm_80"
    tolerance: float = 0.0
    quick: bool = True
    """Whether the small program is read sequentially and checked in a few seconds."""


ALL = {
    "gemm_simt_f32": Flagship({name: {"M": 256, "N": 256, "K": 48} for name in ("gemm", "wide")}),
    "gemm_sm80_tf32": Flagship(
        {"gemm": {"M": 192, "N": 512, "K": 64}, "even": {"M": 128, "N": 256, "K": 96}}
    ),
    "gemm_sm80_bf16": Flagship({"gemm": {"M": 256, "N": 256, "K": 192}}, quick=False),
    "gemm_sm90_tf32": Flagship({"gemm": {"M": 256, "N": 512, "K": 256, "WM": 1, "WN": 2}}, "sm_90a"),
    "gemm_sm90_bf16": Flagship(
        {"gemm": {"M": 256, "N": 512, "K": 512, "WM": 2, "WN": 1}}, "sm_90a", quick=False
    ),
    "gemm_sm90_multicast_bf16": Flagship(
        {"gemm": {"M": 512, "N": 256, "K": 512, "WM": 1, "WN": 1}}, "sm_90a", quick=False
    ),
    "softmax": Flagship({"softmax": {"ROWS": 9}}, tolerance=1e-5),
    "reduction": Flagship({"total": {"n": 37 * 16384}}),
    "prefix_sum": Flagship({"prefixes": {"n": 37 * 4096}}),
    "attention": Flagship(
        {"attention": {"HEADS": 2, "QUERIES": 128, "KEYS": 384}}, "sm_90a", tolerance=0.01, quick=False
    ),
}

BY_COST = [pytest.param(n, marks=() if f.quick else pytest.mark.thorough) for n, f in ALL.items()]

PROGRAMS = [(name, program) for name, flagship in ALL.items() for program in flagship.sizes]


@cache
def flagship(name: str) -> ModuleType:
    return load(FLAGSHIPS / f"{name}.py")


def is_expected(name: str, module: ModuleType, arrays: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key, array in wanted.items():
        found, tolerance = arrays[key].astype(np.float64), ALL[name].tolerance
        np.testing.assert_allclose(found, array.astype(np.float64), rtol=tolerance, atol=tolerance)


def test_every_flagship_is_here() -> None:
    assert {path.stem for path in FLAGSHIPS.glob("*.py")} == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_a_flagship_keeps_the_static_law(name: str) -> None:
    programs = {key: p for key, p in vars(flagship(name)).items() if isinstance(p, SporkProc)}
    assert set(programs) == {"small", *ALL[name].sizes}
    for program in programs.values():
        static_law(program)


@pytest.mark.parametrize("name", BY_COST)
def test_a_flagship_computes_what_it_says(name: str) -> None:
    module = flagship(name)
    arrays = module.arguments()
    wanted = module.expected(**arrays)
    module.small.run(**module.SIZES, **arrays)
    is_expected(name, module, arrays, wanted)


@pytest.mark.parametrize("name", BY_COST)
def test_a_flagship_has_no_hazards(name: str) -> None:
    module = flagship(name)
    verdict = module.small.check(**module.SIZES)
    assert verdict.ok, verdict.text()


TWINS = {
    "gemm_simt_f32": [("Fence(Sm80_generic, Sm80_generic)", "pass", RAW)],
    "gemm_sm80_tf32": [("Fence(Sm80_generic, Sm80_generic)", "pass", RAW)],
    "gemm_sm80_bf16": [
        ("Fence(cuda_in_order, Sm80_generic)", "pass", RAW),
        ("STAGES - 2)\n", "STAGES - 1)\n", RAW),
    ],
    "gemm_sm90_tf32": [
        ("Fence(wgmma_fence_1, wgmma_fence_2)", "pass", WAR),
        ("Await(group[wg], cuda_in_order, 1)", "Await(group[wg], cuda_in_order, 2)", WAR),
        ("Await(stored[wg], cuda_in_order, 1)", "Await(stored[wg], cuda_in_order, 2)", WAR),
        ("Await(part[wg], cuda_generic_and_async_proxy, ~0)", "Await(part[wg], cuda_in_order, ~0)", RAW),
        ("ReverseAwait(ring, tma_to_smem_async, ~RING)", "pass", UNEQUAL),
        ("                    Fence(cuda_in_order, cuda_in_order)\n", "", FREE_READ),
    ],
    "gemm_sm90_bf16": [("Await(group[wg], cuda_in_order, 1)", "Await(group[wg], cuda_in_order, 2)", WAR)],
    "gemm_sm90_multicast_bf16": [("if k > 0:", "if k > 1:", STUCK)],
    "softmax": [("Fence(cuda_in_order, cuda_in_order)", "pass", RAW)],
    "reduction": [("Fence(cuda_in_order, cuda_in_order)", "pass", RAW)],
    "prefix_sum": [("Fence(cuda_in_order, cuda_in_order)", "pass", RAW)],
    "attention": [
        ("Await(group[wg], cuda_in_order, 1)", "Await(group[wg], cuda_in_order, 2)", RAW),
        ("                                Await(group[wg], cuda_in_order, 0)\n", "", WAW),
    ],
}
"""Mistakes in each flagship: what stands there, what stands in its place the first time, and what is found."""


def found_in(module: ModuleType) -> set[str | None]:
    """The ids of what is wrong with a small program."""
    try:
        return {finding.id for finding in module.small.check(**module.SIZES).findings}
    except SoundlineError as error:
        return {error.rule}


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    [
        pytest.param(name, *twin, marks=() if ALL[name].quick and k < 2 else pytest.mark.thorough)
        for name, twins in TWINS.items()
        for k, twin in enumerate(twins)
    ],
)
def test_a_flagship_without_one_synchronization_is_a_hazard(
    name: str, old: str, new: str, rule: str, tmp_path: Path
) -> None:
    text = (FLAGSHIPS / f"{name}.py").read_text()
    assert old in text
    path = tmp_path / f"{name}.py"
    path.write_text(text.replace(old, new, 1))
    assert rule in found_in(load(path))


@pytest.mark.thorough
def test_prefix_sums_are_carried_from_one_round_of_chunks_to_the_next() -> None:
    """There are more chunks than the one warp of the second kernel has lanes."""
    module = flagship("prefix_sum")
    program = module.prefixes_of(module.Tiles(WARPS=1, VECTORS=1, blocks_per_sm=1))
    x = np.random.default_rng(1).integers(-9, 10, 34 * 128).astype(np.float32)
    y = np.full(x.shape, np.nan, np.float32)
    program.run(x=x, y=y)
    np.testing.assert_array_equal(y, np.cumsum(x))


# CUDA -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "program"), PROGRAMS)
def test_a_flagship_of_real_tiles_is_right_where_it_is_emulated(
    name: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, sizes = flagship(name), ALL[name].sizes[program]
    monkeypatch.setattr(module, "SIZES", sizes)
    monkeypatch.setattr(module, "SMALL", module.REAL)
    proc: SporkProc = getattr(module, program)
    source = proc.cuda(ALL[name].arch)
    for seed, order in ((0, "latest"), (1, "random")):
        arrays = module.arguments()
        wanted = module.expected(**arrays)
        given = [sizes.get(a.name, arrays.get(a.name)) for a in proc.arguments]
        emulated(source, seed=seed, order=order).run(source.function, *given)
        is_expected(name, module, arrays, wanted)


COMPILED = [(*program, False) for program in PROGRAMS] + [("gemm_simt_f32", "gemm", True)]


@pytest.mark.parametrize(("name", "program", "contract"), COMPILED)
def test_a_flagship_compiles_without_spills(name: str, program: str, contract: bool) -> None:
    proc: SporkProc = getattr(flagship(name), program)
    try:
        made = compiled(proc.cuda("sm_90a", contract=contract))
    except ToolchainError as error:
        if "NVRTC" not in str(error):
            raise
        pytest.skip(f"no NVRTC is here: {error}")
    assert made.spills == {}
    assert all(kernel.stack == 0 for kernel in made.kernels.values())
    assert made.warnings == (), made.log
