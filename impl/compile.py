"""
Compile
=======

From a Python function on tensors to a program: the function is traced once, its graph goes through the stages of the
lowering pipeline, and the C text of all kernels is compiled and loaded. Every stage is kept and can be shown.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy.typing as npt

from soundline.impl import storage
from soundline.impl.beam import width_of
from soundline.impl.custom import CustomFunction, registered
from soundline.impl.linking import linked
from soundline.impl.lower.callify import callify, inlined
from soundline.impl.lower.calls import called_bodies
from soundline.impl.lower.placement import is_placed, placed
from soundline.impl.lower.schedule import Numbered, Wanted, given_by
from soundline.impl.lower.steps import Place, Run, Steps, numbered, steps_of
from soundline.impl.lower.views import shape_of
from soundline.impl.program import Program, stage_text
from soundline.impl.runtime import cpu
from soundline.impl.runtime.assembly import Loaded, assembled
from soundline.impl.runtime.callbacks import callback
from soundline.impl.runtime.memory import in_words
from soundline.impl.signatures import Signature, signature_of
from soundline.impl.sized import SizedProgram, is_sized, traced
from soundline.impl.sizes import capacity
from soundline.impl.stages import PROFILES, STAGES, Lowered, lower
from soundline.impl.tensor import Tensor
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import OutOfMemoryError, UsageError
from soundline.spec.uop import UOp

__all__ = [
    "PROFILES",
    "STAGES",
    "Lowered",
    "Program",
    "Signature",
    "compile",
    "computed",
    "lower",
    "stage_text",
]

Arrays = npt.NDArray[Any]

ADDRESSABLE: Final = 1 << 56
"""A result of more bytes is refused at once: processors address less."""


@functools.lru_cache(maxsize=512)
def _library(source: str) -> cpu.Library:
    return cpu.build(source)


def compile(  # noqa: A001  # the name of the public function
    fn: Callable[..., Any],
    *examples: Any,
    device: str = "CPU",
    profile: str = "exact",
    schedule: Wanted | None = None,
    beam: int | None = None,
) -> Program:
    """Compile a function of tensors for arguments like the examples, of which only dtype and shape count.

    The function must return a Tensor, or a tuple or list of them. Tensors that it uses from outside are built in. Under
    the profile ``exact`` the results are those of the law, bit for bit.

    A `schedule` takes the place of what the heuristics choose: OptOps as text or as steps, for the first kernel, or for
    kernels by number. A step that may not be done raises a `ScheduleError`. For the kernels to which none is given, a
    `beam` of so many candidates looks for one that is faster (`soundline.impl.search`); without it the environment
    variable ``SOUNDLINE_BEAM`` says whether.

    >>> import numpy as np
    >>> double = compile(lambda x: x + x, np.arange(3, dtype=np.int32))
    >>> double(np.array([5, 6, 7], np.int32))
    array([10, 12, 14], dtype=int32)
    """
    if device != "CPU":
        raise UsageError(f"there is no device {device!r}", hint="compile for the CPU")
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"one of {', '.join(PROFILES)}")
    inputs = [signature_of(e, k) for k, e in enumerate(examples)]
    if is_sized(inputs):
        return _at_sizes(fn, inputs, device, profile)
    places = [storage.placeholder_on(s.device, s.axis, s.dtype, s.shape) for s in inputs]
    result = fn(*(Tensor.of(value) for _, value in places))
    single = not isinstance(result, tuple | list)
    outputs = [result] if single else list(result)
    if not outputs or not all(isinstance(o, Tensor) for o in outputs):
        raise UsageError(f"the function must return Tensors, not {type(result).__name__}")
    name = getattr(fn, "__name__", "program")
    return _compiled(
        name,
        [o.uop for o in outputs],
        [b for b, _ in places],
        inputs,
        device,
        profile,
        single,
        given_by(schedule),
        width_of(beam),
    )


def _compiled(
    name: str,
    outputs: Sequence[UOp],
    arguments: Sequence[UOp],
    inputs: Sequence[Signature],
    device: str,
    profile: str,
    single: bool,
    given: Numbered = (),
    beam: int = 0,
) -> Program:
    _check_room(outputs)
    called = called_bodies(outputs)
    takes = [part for b in arguments for part in storage.parts_of(b)]
    function = callify(_on_devices(outputs, called), takes, called)
    captured = tuple(_contents_of(b) for b in function.src[1 + len(takes) :])
    steps = steps_of(function, called)
    if beam:
        from soundline.impl.search import schedules_for  # only who searches needs it

        given = (*given, *schedules_for(steps.units, profile, beam, {k for k, _ in given}))
    program = linked(steps, profile, given, lambda name: registered(name).kernel)
    _check_embedded(program.embedded, profile)
    made = tuple(Signature(o.dtype, shape_of(o), o.device or "CPU", o.axis) for o in outputs)
    called_back = [registered(n) for n, kernel in program.foreign.items() if kernel is None]
    pointers = {f.name: _pointer(f) for f in called_back}
    loaded = Loaded(program, _library(program.source).commands, pointers, profile)
    gives = [array for s in made for array in s.arrays]
    plain = all(s.device == "CPU" for s in (*inputs, *made))
    return Program(
        name=name,
        inputs=tuple(inputs),
        outputs=made,
        device=device,
        _profile=profile,
        _function=function,
        loaded=loaded,
        _single=single,
        _plain=plain,
        _commands=assembled(loaded, [array for s in inputs for array in s.arrays], captured, gives),
    )


def _at_sizes(fn: Callable[..., Any], inputs: Sequence[Signature], device: str, profile: str) -> Program:
    """A program for every size that the Variables in the shapes of its arguments may have."""
    found = traced(fn, inputs)
    takes = [*found.arguments, *found.sizes.values()]
    function = callify(found.outputs, takes)
    captured = tuple(_contents_of(b) for b in function.src[1 + len(takes) :])
    places = [Place(b.arg.size, b.dtype) for b in function.src[1:]]
    results = [Place(capacity(shape), o.dtype) for shape, o in zip(found.shapes, found.outputs, strict=True)]
    ids = tuple(range(len(places) + len(results)))
    run = Run(numbered(function), ids[: len(places)], ids[len(places) :])
    program = linked(Steps(len(places), len(results), (*places, *results), (run,)), profile)
    made = tuple(Signature(o.dtype, s) for s, o in zip(found.shapes, found.outputs, strict=True))
    loaded = Loaded(program, _library(program.source).commands, {}, profile)
    return SizedProgram(
        name=getattr(fn, "__name__", "program"),
        inputs=tuple(inputs),
        outputs=made,
        device=device,
        _profile=profile,
        _function=function,
        loaded=loaded,
        _single=found.single,
        _plain=False,
        _commands=assembled(
            loaded,
            [(to_numpy(p.dtype), (p.size,)) for p in places[: len(takes)]],
            captured,
            [(to_numpy(p.dtype), (p.size,)) for p in results],
        ),
        _sizes=tuple(found.sizes),
    )


def _check_room(outputs: Sequence[UOp]) -> None:
    """Refuse results that no machine can address, before anything is compiled for them."""
    for o in outputs:
        nbytes = math.prod(shape_of(o)) * o.dtype.itemsize
        if nbytes > ADDRESSABLE:
            shape = f"{o.dtype}[{', '.join(map(str, shape_of(o)))}]"
            raise OutOfMemoryError(
                f"{in_words(nbytes)} of memory are wanted for a result {shape}, and no machine has them",
                hint="compute it in parts, or fold it before it is a result",
            )


def _on_devices(outputs: Sequence[UOp], called: frozenset[UOp]) -> list[UOp]:
    """Results as the values of single devices, in order."""
    if not is_placed(outputs):
        return list(outputs)
    return [own for parts in placed(inlined(outputs, called=called)) for own in parts]


def _pointer(function: CustomFunction) -> Any:
    """A custom function in Python as C calls it."""
    takes, gives = ([(s.storage, s.shape) for s in some] for some in (function.takes, function.gives))
    return callback(function.name, function.result, takes, gives)


def _check_embedded(programs: Sequence[Program], profile: str) -> None:
    """What a program calls must keep the promise of its profile."""
    for p in programs:
        more = set(PROFILES[p.loaded.profile]) - set(PROFILES[profile])
        if more:
            raise UsageError(
                f"{p.name} was compiled under {p.loaded.profile}, and this program is to be {profile}",
                hint=f"compile it under {profile}",
            )


def _contents_of(captured: UOp) -> Arrays:
    if not storage.holds(captured):
        raise UsageError(
            "the function uses a tensor of another trace",
            hint="return it from there, or pass it as an argument",
        )
    return storage.contents(captured)


def computed(outputs: Sequence[UOp]) -> list[Arrays]:
    """The values of graphs over stored tensors, by one program under the profile ``exact``."""
    program = _compiled("value", outputs, [], [], "CPU", "exact", single=False)
    return list(program())


def stored(outputs: Sequence[UOp]) -> list[UOp]:
    """The same, as stored values, each on the devices of its graph."""
    return _compiled("value", outputs, [], [], "CPU", "exact", single=False).stored()
