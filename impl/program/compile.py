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
from typing import Any, Final

import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.arrays.memory import in_words
from soundline.impl.arrays.sizes import capacity
from soundline.impl.compilation.assembly import Loaded, assembled
from soundline.impl.compilation.linking import linked
from soundline.impl.compilation.signatures import Signature, signature_of
from soundline.impl.compilation.stages import PROFILES, STAGES, Lowered, lower
from soundline.impl.lower.callify import callify, inlined
from soundline.impl.lower.graphs.calls import called_bodies
from soundline.impl.lower.graphs.placement import is_placed, placed
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule.schedules import Numbered, Wanted, given_by
from soundline.impl.lower.steps import Place, Run, Steps, numbered, steps_of
from soundline.impl.program.custom import CustomFunction, registered
from soundline.impl.program.every_size import SizedProgram, is_sized, traced
from soundline.impl.program.program import Program, Recipe, stage_text
from soundline.impl.program.pytrees import (
    NO_ARGUMENTS,
    Form,
    Tree,
    form_of,
    parameters_of,
    results_of,
    several,
)
from soundline.impl.runtime import cpu
from soundline.impl.runtime.callbacks import callback
from soundline.impl.search.enabling import width_of
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import OutOfMemoryError, UsageError, WrongType
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
    **named: Any,
) -> Program:
    """Compile a function of tensors for arguments like the examples, of which only dtype and shape count.

    Examples may be given by name, and may be dicts, tuples and lists of examples, at any depth, with None where there
    is none; the program is then called alike. The function must return a Tensor, or a dict, tuple or list of them.
    Tensors that it uses from outside are built in. Under the profile ``exact`` the results are those of the law, bit
    for bit.

    A `schedule` takes the place of what the heuristics choose: OptOps as text or as steps, for the first kernel, or for
    kernels by number. A step that may not be done raises a `ScheduleError`. For the kernels to which none is given, a
    `beam` of so many candidates looks for one that is faster (`soundline.impl.search.beam`); without it the environment
    variable ``SOUNDLINE_BEAM`` says whether.

    >>> import numpy as np
    >>> double = compile(lambda x: x + x, np.arange(3, dtype=np.int32))
    >>> double(np.array([5, 6, 7], np.int32))
    array([10, 12, 14], dtype=int32)
    >>> layer = compile(lambda x, p: x @ p["w"] + p["b"], np.eye(2), p={"w": np.eye(2), "b": np.ones(2)})
    >>> layer(np.eye(2), p={"w": np.eye(2) * 3, "b": np.zeros(2)})
    array([[3., 0.],
           [0., 3.]])
    """
    if device != "CPU":
        raise UsageError(f"there is no device {device!r}", hint="compile for the CPU")
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"one of {', '.join(PROFILES)}")
    if not callable(fn):
        raise WrongType(f"wants a function; given a {type(fn).__name__}", where="compile")
    if schedule is not None and not isinstance(schedule, str | Sequence | Mapping):
        raise WrongType(f"wants a text, steps, or these by kernel; given {schedule!r}", where="schedule")
    leaves, form = form_of(parameters_of(fn), examples, named)
    inputs = [signature_of(e, f"example {path}") for e, path in zip(leaves, form.paths, strict=True)]
    if is_sized(inputs):
        return _at_sizes(fn, inputs, device, profile, form)
    places = [storage.placeholder_on(s.device, s.axis, s.dtype, s.shape) for s in inputs]
    outputs, gives = results_of(form.applied(fn, [Tensor.of(value) for _, value in places]))
    name = getattr(fn, "__name__", "program")
    return _compiled(
        name,
        [o.uop for o in outputs],
        [b for b, _ in places],
        inputs,
        device,
        profile,
        form,
        gives,
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
    form: Form,
    gives: Tree,
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
        from soundline.impl.search.beam import schedules_for  # only who searches needs it

        given = (*given, *schedules_for(steps.units, profile, beam, {k for k, _ in given}))
    made = tuple(Signature(o.dtype, shape_of(o), o.device or "CPU", o.axis) for o in outputs)
    recipe = Recipe(
        name, function, called, captured, tuple(inputs), made, device, profile, form, gives, given
    )
    return _built(recipe, steps)


def _built(recipe: Recipe, steps: Steps) -> Program:
    """The program of a recipe: lowered, linked and loaded."""
    profile, captured = recipe.profile, recipe.captured
    program = linked(steps, profile, recipe.given, lambda name: registered(name).kernel)
    _check_embedded(program.embedded, profile)
    called_back = [registered(n) for n, kernel in program.foreign.items() if kernel is None]
    pointers = {f.name: _pointer(f) for f in called_back}
    loaded = Loaded(program, _library(program.source).commands, pointers, profile)
    gives = [array for s in recipe.outputs for array in s.arrays]
    plain = all(s.device == "CPU" for s in (*recipe.inputs, *recipe.outputs))
    return Program(
        recipe=recipe,
        loaded=loaded,
        _plain=plain,
        _commands=assembled(loaded, [array for s in recipe.inputs for array in s.arrays], captured, gives),
    )


def _at_sizes(
    fn: Callable[..., Any], inputs: Sequence[Signature], device: str, profile: str, form: Form
) -> Program:
    """A program for every size that the Variables in the shapes of its arguments may have."""
    found = traced(lambda *values: form.applied(fn, values), inputs)
    takes = [*found.arguments, *found.sizes.values()]
    function = callify(found.outputs, takes)
    captured = tuple(_contents_of(b) for b in function.src[1 + len(takes) :])
    made = tuple(Signature(o.dtype, s) for s, o in zip(found.shapes, found.outputs, strict=True))
    name = getattr(fn, "__name__", "program")
    recipe = Recipe(
        name, function, frozenset(), captured, tuple(inputs), made, device, profile, form, found.gives, (),
        tuple(found.sizes),
    )  # fmt: skip
    return _built_at_sizes(recipe)


def _built_at_sizes(recipe: Recipe) -> Program:
    """The program of a recipe with symbolic sizes."""
    function, captured, profile = recipe.function, recipe.captured, recipe.profile
    takes = function.src[1 : len(function.src) - len(captured)]
    places = [Place(b.arg.size, b.dtype) for b in function.src[1:]]
    results = [Place(capacity(s.shape), s.dtype) for s in recipe.outputs]
    ids = tuple(range(len(places) + len(results)))
    run = Run(numbered(function), ids[: len(places)], ids[len(places) :])
    program = linked(Steps(len(places), len(results), (*places, *results), (run,)), profile)
    loaded = Loaded(program, _library(program.source).commands, {}, profile)
    return SizedProgram(
        recipe=recipe,
        loaded=loaded,
        _plain=False,
        _commands=assembled(
            loaded,
            [(to_numpy(p.dtype), (p.size,)) for p in places[: len(takes)]],
            captured,
            [(to_numpy(p.dtype), (p.size,)) for p in results],
        ),
    )


def built(recipe: Recipe) -> Program:
    """The program of a recipe, in this process or another than the one that traced it: its kernels are taken from the
    compile cache, or compiled.
    """
    return (
        _built_at_sizes(recipe) if recipe.sizes else _built(recipe, steps_of(recipe.function, recipe.called))
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
    program = _compiled("value", outputs, [], [], "CPU", "exact", NO_ARGUMENTS, several(len(outputs)))
    return list(program())


def stored(outputs: Sequence[UOp]) -> list[UOp]:
    """The same, as stored values, each on the devices of its graph."""
    program = _compiled("value", outputs, [], [], "CPU", "exact", NO_ARGUMENTS, several(len(outputs)))
    return program.stored()
