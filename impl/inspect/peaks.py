"""
Peaks
=====

The peak performance of this machine, to which the speed of a kernel is compared: floating-point operations in a second,
and bytes read in a second from arrays of several sizes, which lie in caches or beyond them. The numbers are measured,
by kernels of soundline's own: sums that stay in registers, and sums of what is read. They are measured once for a
machine, a compiler and a number of cores, and kept beside the compile cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl.analysis import arithmetic
from soundline.impl.arrays import memory
from soundline.impl.codegen.c.renderer import render
from soundline.impl.lower.schedule.target import this_machine
from soundline.impl.runtime import cache, cpu
from soundline.impl.runtime.commands import Command, CommandBuffer
from soundline.impl.runtime.host import host
from soundline.impl.toolchain import find_compiler
from soundline.spec.dtypes import DType, float32, float64, index, to_numpy
from soundline.spec.uop import AxisType, Op, UOp, buffer, const, expand, loop, reshape, toposort

SIZES: Final = tuple(1 << n for n in (14, 16, 18, 20, 22, 24, 26, 28))
"""The sizes of the arrays that are read, in bytes."""
STEPS: Final = 1 << 13
"""The number of steps of the sums in a kernel that stays in registers."""
READ: Final = 1 << 21
"""The least number of bytes that are read in one run; a smaller array is read repeatedly."""
REPEATS: Final = 5
ENOUGH: Final = 20_000_000
"""The least number of runs, and of nanoseconds. The best run counts, because other work of the machine can only make a
run slower.
"""
_CELLS: Final = 1 << 14
Arrays = npt.NDArray[Any]
_Places = Callable[[int], UOp]


@dataclass(frozen=True, slots=True)
class Peaks:
    """The measured peaks of so many cores."""

    cores: int
    fused: dict[str, float]
    """Floating-point operations in a second where a product and a sum are one instruction, by dtype."""
    apart: dict[str, float]
    """The same where they are two, as under the profile ``exact``."""
    reads: tuple[tuple[int, float], ...]
    """Bytes in a second that are read from an array, by its size in bytes."""

    def operations(self, dtype: DType) -> float:
        """The most operations in a second; narrow floats are computed as float32."""
        name = dtype.name if dtype.name in self.fused else float32.name
        return max(self.fused[name], self.apart[name])

    def bandwidth(self, moved: int) -> float:
        """The most bytes in a second for a kernel that moves so many: arrays of the next greater size that was read."""
        return next((rate for size, rate in self.reads if size >= moved), self.reads[-1][1])


# The kernels ------------------------------------------------------------------------------------------------------


def registers(dtype: DType, cores: int, *, fused: bool) -> UOp:
    """A kernel of sums in registers: each is multiplied by one number and added to another, again and again."""
    width, several = _shape(dtype)
    around = _cores(cores)
    given, out = buffer(1, 2, dtype), buffer(2, cores * several * width, dtype)
    x, y = (Op.Load(Op.Index(given, arithmetic.number(k))) for k in range(2))
    factor, term = _repeated(x, width), _repeated(y, width)

    def step(so_far: UOp, k: int) -> list[UOp]:  # the same for all sums
        if fused:
            return [Op.Mulacc(so_far, factor, term)]
        product = Op.Mul(so_far, factor)
        return [product, Op.Add(product, term)]

    steps = loop(STEPS, 1)
    return Op.Linear(
        *around, x, y, *_sums(dtype, around, [steps], step, _places(out, around, several, width))
    )


def reading(size: int, cores: int) -> UOp:
    """A kernel that adds up an array of so many bytes, each core a part of it, again and again where it is small."""
    width, several = _shape(float32)
    around = _cores(cores)
    part = size // float32.itemsize // cores
    array, out = buffer(0, part * cores, float32), buffer(2, cores * several * width, float32)
    again, along = loop(max(1, READ // size), 1), loop(part // (several * width), 2)
    first = arithmetic.add(_scaled(around, part), arithmetic.mul(along, arithmetic.number(several * width)))

    def step(so_far: UOp, k: int) -> list[UOp]:
        at = arithmetic.add(first, arithmetic.number(k * width))
        element = Op.Load(_neighbours(array, at, width))
        return [*_arithmetic(at), element, Op.Add(so_far, element)]

    places = _places(out, around, several, width)
    return Op.Linear(*around, *_sums(float32, around, [again, along], step, places))


def _shape(dtype: DType) -> tuple[int, int]:
    """The lanes of a vector, and how many sums hide the time that one step takes."""
    target = this_machine()
    return target.vector // dtype.itemsize, target.registers * 3 // 4


def _cores(cores: int) -> list[UOp]:
    return [loop(cores, 0, AxisType.THREAD)] if cores > 1 else []


def _scaled(around: Sequence[UOp], part: int) -> UOp:
    """Where the part of a core begins."""
    return arithmetic.mul(around[0], arithmetic.number(part)) if around else arithmetic.number(0)


def _arithmetic(at: UOp) -> list[UOp]:
    """The instructions that compute an index, sources before users."""
    return [n for n in toposort(at) if n.op in (Op.Add, Op.Mul)]


def _repeated(value: UOp, width: int) -> UOp:
    return expand(reshape(value, (1,)), (width,))


def _neighbours(storage: UOp, first: UOp, width: int) -> UOp:
    counted = Op.Stack(*(const(k, index) for k in range(width)))
    return Op.Index(storage, Op.Add(_repeated(first, width), counted))


def _first(place: UOp) -> UOp:
    """The index of the first of neighbours."""
    return place.src[1].src[0].src[0].src[0]


def _places(out: UOp, around: Sequence[UOp], several: int, width: int) -> _Places:
    """Where each sum of a core is left."""
    start = _scaled(around, several * width)
    return lambda k: _neighbours(out, arithmetic.add(start, arithmetic.number(k * width)), width)


def _sums(
    dtype: DType,
    around: Sequence[UOp],
    loops: Sequence[UOp],
    step: Callable[[UOp, int], list[UOp]],
    places: _Places,
) -> list[UOp]:
    """The instructions of sums in registers: set, stepped in the loops, and stored after them."""
    width, several = _shape(dtype)
    sums = [buffer(3 + k, width, dtype, addrspace="REG") for k in range(several)]
    starts = [
        # Numbers that differ: of equal sums the C compiler would compute one.
        Op.Store(Op.After(s, *around) if around else s, _repeated(const(float(k), dtype), width))
        for k, s in enumerate(sums)
    ]
    found = [*(i for pair in zip(sums, starts, strict=True) for i in pair), *loops]
    done: list[UOp] = []
    for k, (s, start) in enumerate(zip(sums, starts, strict=True)):
        so_far = Op.Load(Op.After(s, start, *loops))
        stepped = step(so_far, k)
        done.append(Op.Store(s, stepped[-1]))
        found += [so_far, *(n for n in stepped if n not in found), done[-1]]
    end: UOp = Op.Group(*done)
    for r in reversed(loops):
        end = Op.End(end, r)
        found.append(end)
    stores = []
    for k, s in enumerate(sums):
        left, place = Op.Load(Op.After(s, end)), places(k)
        stores.append(Op.Store(place, left))
        found += [*(n for n in _arithmetic(_first(place)) if n not in found), left, stores[-1]]
    if around:
        found.append(Op.End(Op.Group(*stores), around[0]))
    return found


# Measuring --------------------------------------------------------------------------------------------------------


def programs(cores: int) -> dict[str, tuple[UOp, int]]:
    """The kernels by name, with how many operations or bytes one run of each is."""
    found: dict[str, tuple[UOp, int]] = {}
    for dtype in (float32, float64):
        width, several = _shape(dtype)
        count = 2 * cores * several * width * STEPS
        for name, fused in (("fused", True), ("apart", False)):
            found[f"{name} {dtype.name}"] = (registers(dtype, cores, fused=fused), count)
    for size in SIZES:
        width, several = _shape(float32)
        one = several * width * float32.itemsize * cores
        found[f"read {size}"] = (reading(size, cores), max(1, READ // size) * (size // one) * one)
    return found


def measured(cores: int, sizes: Sequence[int] = SIZES) -> Peaks:
    """Measure now."""
    kernels = {n: k for n, k in programs(cores).items() if not n.startswith("read") or int(n[5:]) in sizes}
    commands = cpu.build(render(Op.Linear(*(kernel for kernel, _ in kernels.values())))).commands
    array = memory.empty(max(sizes) // float32.itemsize, to_numpy(float32), memory.Pool(kept=0))
    array.fill(1.0)
    out = np.empty(_CELLS * cores, np.uint8)
    rates = {}
    for command, (name, (_, work)) in zip(commands, kernels.items(), strict=True):
        dtype = to_numpy(float64 if name.endswith("64") and "float" in name else float32)
        rates[name] = work / _seconds(command, array, np.array([0.5, 1.0], dtype), out)
    fused, apart = (
        {d.name: rates[f"{kind} {d.name}"] for d in (float32, float64)} for kind in ("fused", "apart")
    )
    return Peaks(cores, fused, apart, tuple((size, rates[f"read {size}"]) for size in sizes))


def _seconds(command: Command, *slots: Arrays) -> float:
    run = CommandBuffer([command], [], slots, [])
    taken: list[int] = []
    while len(taken) < REPEATS or sum(taken) < ENOUGH:
        taken += (max(t, 1) for t in run.measured([])[1])
    return min(taken) / 1e9


def of_this_machine(cores: int | None = None, *, again: bool = False) -> Peaks:
    """The peaks of so many cores, or of as many as programs may use: measured, unless they have been before."""
    cores = cores or host().limit
    kept = _kept(cores)
    known = None if again else _read(kept)
    if known is not None:
        return known
    found = measured(cores)
    if cores > 1:
        found = _no_less(found, of_this_machine(1))
    _keep(kept, found)
    return found


def _no_less(found: Peaks, one: Peaks) -> Peaks:
    """The peaks of several cores, each at least that of one core: on a busy machine not all cores are free."""
    fused, apart = (
        {name: max(rate, least[name]) for name, rate in rates.items()}
        for rates, least in ((found.fused, one.fused), (found.apart, one.apart))
    )
    reads = (
        (size, max(rate, least)) for (size, rate), (_, least) in zip(found.reads, one.reads, strict=True)
    )
    return Peaks(found.cores, fused, apart, tuple(reads))


def _kept(cores: int) -> Path:
    return cache.cache_folder() / f"{cache.PEAKS}{cache.key_of(_source(cores), find_compiler())}.json"


@functools.cache
def _source(cores: int) -> str:
    return render(Op.Linear(*(kernel for kernel, _ in programs(cores).values())))


def _read(path: Path) -> Peaks | None:
    """The peaks in a file; None where there is none, or one that was damaged."""
    try:
        text, _, checksum = path.read_text(encoding="utf-8").rpartition("\n")
        if hashlib.sha256(text.encode()).hexdigest() != checksum:
            return None
        found = json.loads(text)
    except (OSError, ValueError):
        return None
    reads = tuple((int(size), float(rate)) for size, rate in found["reads"])
    return Peaks(found["cores"], found["fused"], found["apart"], reads)


def _keep(path: Path, peaks: Peaks) -> None:
    """Write the peaks for later; without a folder to write to they are measured again."""
    text = json.dumps(asdict(peaks))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix="build-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}")
        Path(name).replace(path)
