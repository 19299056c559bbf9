"""
Compile
=======

From a Python function on tensors to a program: the function is traced once, its graph goes through the stages of the
lowering pipeline, and the C text of all kernels is compiled and loaded. Every stage is kept and can be shown.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl import storage
from soundline.impl.certificate import Certificate, certified
from soundline.impl.codegen.c import render
from soundline.impl.lower.callify import callify
from soundline.impl.lower.expand import expand
from soundline.impl.lower.linearize import linearize
from soundline.impl.lower.obligations import Obligation, obligations
from soundline.impl.lower.optimize import optimize
from soundline.impl.lower.plan import plan
from soundline.impl.lower.rangeify import rangeify
from soundline.impl.lower.select import select
from soundline.impl.lower.simplify import Applied, simplified
from soundline.impl.lower.views import shape_of
from soundline.impl.operands import array_of
from soundline.impl.runtime import cpu
from soundline.impl.runtime.commands import CommandBuffer
from soundline.impl.tensor import Tensor
from soundline.spec.dtypes import DType, to_numpy
from soundline.spec.errors import UsageError
from soundline.spec.text import program_text
from soundline.spec.uop import Op, UOp, toposort

Arrays = npt.NDArray[Any]

PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "exact": (),
    "fast": ("approx", "contract", "reassociate", "tensor_core"),
}
"""The licences that each profile grants (U-09)."""

STAGES: Final = ("callify", "rangeify", "optimize", "expand", "select", "linearize", "plan", "render")
"""The names of the stages, in order."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function after every stage: the UOps of each, and the C text of the last."""

    stages: Mapping[str, UOp]
    source: str
    profile: str
    applied: Applied
    discharged: tuple[Obligation, ...]


@functools.lru_cache(maxsize=512)
def lower(function: UOp, profile: str) -> Lowered:
    """Take a Function (`callify`) through the pipeline."""
    licences = PROFILES[profile]
    applied = Applied()
    body = simplified(function.src[0], licences, applied)
    stages = {"callify": Op.Function(body, *function.src[1:])}
    stages["rangeify"] = rangeify(stages["callify"])
    discharged = obligations(stages["rangeify"])
    stages["optimize"] = optimize(stages["rangeify"], licences, applied)
    stages["expand"] = expand(stages["optimize"])
    stages["select"] = select(stages["expand"], licences)
    stages["linearize"] = linearize(stages["select"], licences)
    temporaries = len(function.src) - 1 + len(function.src[0].src)
    stages["plan"] = plan(stages["linearize"], temporaries)
    return Lowered(stages, render(stages["plan"]), profile, applied, tuple(discharged))


@functools.lru_cache(maxsize=512)
def _library(source: str) -> cpu.Library:
    return cpu.build(source)


@dataclass(frozen=True, slots=True)
class Signature:
    """The dtype and shape of a value that goes in or comes out."""

    dtype: DType
    shape: tuple[int, ...]
    size: int = field(init=False, repr=False)
    storage: np.dtype[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", math.prod(self.shape))
        object.__setattr__(self, "storage", to_numpy(self.dtype))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled program: call it with arrays or Tensors of the dtypes and shapes that it was compiled for.

    A call returns fresh numpy arrays, one or as many as the function returned. It may be called from several threads.
    """

    name: str
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    device: str
    _lowered: Lowered
    _arena: int
    _single: bool
    _commands: CommandBuffer

    def __repr__(self) -> str:
        takes, gives = (", ".join(map(str, signatures)) for signatures in (self.inputs, self.outputs))
        return f"Program({self.name}: ({takes}) -> ({gives}) on {self.device})"

    @property
    def stages(self) -> Mapping[str, UOp]:
        """The UOps after each stage, by the stage's name."""
        return self._lowered.stages

    @property
    def uops(self) -> UOp:
        """The program as the renderer got it: linear UOps."""
        return self.stages["plan"]

    @property
    def kernels(self) -> tuple[UOp, ...]:
        """The kernels, as nests of loops over scalars."""
        return self.stages["optimize"].src

    @property
    def source(self) -> str:
        """The C text."""
        return self._lowered.source

    @property
    def certificate(self) -> Certificate:
        """What stands behind the program, as far as it is known now."""
        lowered = self._lowered
        applied = lowered.applied
        licences = PROFILES[lowered.profile]
        return certified(lowered.profile, licences, applied, lowered.discharged, applied.rulings)

    def explain(self) -> str:
        """What the program does and what is known about it, for a reader."""
        size = (
            f"{len(self.kernels)} kernels, {self._arena} bytes of temporaries, {len(self.source)} bytes of C"
        )
        return "\n".join([repr(self), size, str(self.certificate)])

    def __call__(self, *arguments: Any) -> Arrays | tuple[Arrays, ...]:
        """Run the program; raises `UsageError` where the arguments are not what it was compiled for."""
        if len(arguments) != len(self.inputs):
            raise UsageError(f"{self.name} takes {len(self.inputs)} arguments, not {len(arguments)}")
        results = self._commands.run(arguments)
        if results is None:
            results = self._commands.run_checked(self._given(arguments))
        return results[0] if self._single else results

    def _given(self, arguments: Sequence[Any]) -> list[Arrays]:
        return [_checked(a, s, k) for k, (a, s) in enumerate(zip(arguments, self.inputs, strict=True))]


def _checked(argument: Any, wanted: Signature, position: int) -> Arrays:
    """An argument as an aligned C-contiguous array, if it has the dtype and shape that are wanted."""
    try:
        array = np.asarray(argument) if isinstance(argument, Tensor) else array_of(argument)
    except UsageError as error:
        raise UsageError(f"argument {position}: {error.message}", hint=error.hint) from None
    if array.dtype != wanted.storage and array.dtype.newbyteorder("=") != wanted.storage:
        raise UsageError(
            f"argument {position} has dtype {array.dtype}; the program was compiled for {wanted}",
            hint="cast it, or compile for this dtype",
        )
    if array.shape != wanted.shape:
        raise UsageError(
            f"argument {position} has shape {array.shape}; the program was compiled for {wanted}",
            hint="compile for this shape",
        )
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, wanted.storage, ("C", "A"))


def compile(  # noqa: A001  # the name of the public function
    fn: Callable[..., Any], *examples: Any, device: str = "CPU", profile: str = "exact"
) -> Program:
    """Compile a function of tensors for arguments like the examples, of which only dtype and shape count.

    The function must return a Tensor, or a tuple or list of them. Tensors that it uses from outside are built in. Under
    the profile ``exact`` the results are those of the law, bit for bit.

    >>> double = compile(lambda x: x + x, np.arange(3, dtype=np.int32))
    >>> double(np.array([5, 6, 7], np.int32))
    array([10, 12, 14], dtype=int32)
    """
    if device != "CPU":
        raise UsageError(f"there is no device {device!r}", hint="compile for the CPU")
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"one of {', '.join(PROFILES)}")
    inputs = [_signature(e, k) for k, e in enumerate(examples)]
    places = [storage.placeholder(s.dtype, s.shape) for s in inputs]
    result = fn(*(Tensor.of(value) for _, value in places))
    single = not isinstance(result, tuple | list)
    outputs = [result] if single else list(result)
    if not outputs or not all(isinstance(o, Tensor) for o in outputs):
        raise UsageError(f"the function must return Tensors, not {type(result).__name__}")
    name = getattr(fn, "__name__", "program")
    return _compiled(name, [o.uop for o in outputs], [b for b, _ in places], inputs, device, profile, single)


def _signature(example: Any, position: int) -> Signature:
    if isinstance(example, Tensor):
        return Signature(example.dtype, example.shape)
    if isinstance(example, Signature):
        return example
    try:
        array = array_of(example)
        return Signature(storage.dtype_of(array), array.shape)
    except UsageError as error:
        raise UsageError(f"example {position}: {error.message}", hint=error.hint) from None


def _compiled(
    name: str,
    outputs: Sequence[UOp],
    arguments: Sequence[UOp],
    inputs: Sequence[Signature],
    device: str,
    profile: str,
    single: bool,
) -> Program:
    function = callify(outputs, arguments)
    captured = tuple(_contents_of(b) for b in function.src[1 + len(arguments) :])
    lowered = lower(_renumbered(function), profile)
    arena = _arena_size(lowered.stages["plan"], len(function.src) - 1 + len(outputs))
    made = tuple(Signature(o.dtype, shape_of(o)) for o in outputs)
    return Program(
        name=name,
        inputs=tuple(inputs),
        outputs=made,
        device=device,
        _lowered=lowered,
        _arena=arena,
        _single=single,
        _commands=CommandBuffer(
            _library(lowered.source).commands,
            [(s.storage, s.shape) for s in inputs],
            captured,
            [(s.storage, s.shape) for s in made],
            arena,
        ),
    )


def _contents_of(captured: UOp) -> Arrays:
    if not storage.holds(captured):
        raise UsageError(
            "the function uses a tensor of another trace",
            hint="return it from there, or pass it as an argument",
        )
    return storage.contents(captured)


def _renumbered(function: UOp) -> UOp:
    """The function with its arguments numbered from 0, so that equal functions are one node."""
    from soundline.spec.uop import buffer

    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    return Op.Function(function.src[0], *fresh)


def _arena_size(program: UOp, slot: int) -> int:
    return next((n.arg.size for n in toposort(program) if n.op is Op.Buffer and n.arg.slot == slot), 0)


def computed(outputs: Sequence[UOp]) -> list[Arrays]:
    """The values of graphs over stored tensors, by one program under the profile ``exact``."""
    program = _compiled("value", outputs, [], [], "CPU", "exact", single=False)
    return list(program())


def stage_text(program: Program, name: str) -> str:
    """A stage of a program in the textual form, or C for ``render``; raises `UsageError` for a name that is no stage.

    >>> double = compile(lambda x: x + x, np.arange(3, dtype=np.int32))
    >>> print(stage_text(double, "callify"))
    %0 = Param([3]; slot=0, dtype=int32)  # int32[3]
    %1 = Reshape(2:int32, [1])  # int32[1]
    %2 = Expand(%1, [3])  # int32[3]
    %3 = Mul(%0, %2)  # int32[3]
    %4 = Tuple(%3)
    %5 = Buffer(; slot=0, size=3, dtype=int32)  # int32[3]
    %6 = Function(%4, %5)
    return %6
    """
    if name == "render":
        return program.source
    if name not in program.stages:
        raise UsageError(f"there is no stage {name!r}", hint=f"one of {', '.join(STAGES)}")
    return program_text(program.stages[name])
