"""
Devices
=======

Where a Spork program runs. ``CUDA`` is the first GPU and ``CUDA:1`` the second; ``CUDA-EMULATED`` runs the same CUDA
text on the CPU, so that it needs no GPU. A program is generated and compiled at its first run on a device, and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from soundline.impl.codegen.cuda.host.writing import written
from soundline.impl.codegen.cuda.programs.device import least_arch
from soundline.impl.codegen.cuda.programs.files import ARCHS, generate
from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.cpu_part import CpuPart, compiled, row_major, self_contained
from soundline.impl.runtime.cuda import Gpu
from soundline.impl.runtime.cuda_compiler import compilation
from soundline.impl.runtime.drivers.choice import driver
from soundline.impl.runtime.drivers.interface import DeviceFacts
from soundline.impl.runtime.emulator.emulation import Emulated, OnDevice, emulated
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.types import Control

GPU: Final = "CUDA"
EMULATED: Final = "CUDA-EMULATED"
DEVICES: Final = (GPU, f"{GPU}:1", EMULATED)
"""The names of devices, with an example of one that has a number."""

_KEPT: Final = 64
"""How many programs are kept."""


def run_on(device: str, proc: Proc, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Run a program on a device; arrays are changed in place."""
    if device == EMULATED:
        program = _emulated(proc)
        assert program.source is not None
        program.run(program.source.function, *_arguments(proc, sizes, arrays))
    else:
        gpu(proc, _number(device)).run(sizes, arrays)


def _arguments(proc: Proc, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> Iterator[Any]:
    """The arguments of the C function, with copies in C order; a window is followed by its strides."""
    changed = written(proc)
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            yield sizes[argument.name]
            continue
        value = arrays[argument.name]
        if not isinstance(value, np.ndarray):
            raise UsageError(f"{argument.name} lies on a GPU", hint=f"give a numpy array to {EMULATED}")
        yield OnDevice(value, argument.name in changed)
        if argument.type.window:
            yield from row_major(value.shape)


def gpu(proc: Proc, number: int = 0, *, contract: bool = False) -> Gpu:
    """A program on a GPU, compiled and loaded; with `contract` an ``fma`` is rounded once."""
    return _on_gpu(proc, number, contract)


def _number(device: str) -> int:
    """The number of a GPU."""
    name, _, number = str(device).partition(":")
    if name != GPU or (number and not number.isdecimal()) or str(device).endswith(":"):
        raise UsageError(f"there is no device {device!r}", hint=f"one of {', '.join(DEVICES)}")
    return int(number or 0)


@lru_cache(_KEPT)
def _source(proc: Proc, contract: bool, arch: str | None = None) -> CudaSource:
    return generate(proc, arch, contract)


def arch_for(proc: Proc, facts: DeviceFacts) -> str | None:
    """The newest architecture that a device executes and that has what a program uses: machine code for an older one
    of another major number does not run there. None where there is none, and the least is refused by name.
    """
    run = [name for name, number in ARCHS.items() if facts.runs(name) and number >= least_arch(proc)]
    return run[-1] if run else None


@lru_cache(_KEPT)
def _emulated(proc: Proc) -> Emulated:
    return emulated(_source(proc, contract=False))


@lru_cache(_KEPT)
def _on_gpu(proc: Proc, number: int, contract: bool) -> Gpu:
    on = driver(number)
    source = _source(proc, contract, arch_for(proc, on.facts))
    cubin = compilation.compiled(source).cubin if source.kernels else b""
    part = CpuPart(proc, source.function, compiled(self_contained(f"{source.name}.c", source.files)))
    return Gpu(proc, source.arch, source.kernels, cubin, part, on)
