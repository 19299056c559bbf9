"""
Building programs
=================

From graphs over storage to what can be run: they go through the stages of the lowering pipeline, the C text of all
kernels is compiled and loaded, and the commands are laid out. Tensors are computed by it, and `program.compile` makes
programs of it that users call.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.arrays.memory import in_words
from soundline.impl.arrays.sizes import capacity
from soundline.impl.compilation.linking import Linked, linked
from soundline.impl.compilation.stages import PROFILES
from soundline.impl.executables.assembly import Loaded, assembled
from soundline.impl.executables.foreign import Foreign, registered
from soundline.impl.executables.pytrees import NO_ARGUMENTS, Form, Tree, several
from soundline.impl.executables.signatures import Signature
from soundline.impl.lower.callify import callify, inlined
from soundline.impl.lower.graphs.calls import called_bodies
from soundline.impl.lower.graphs.placement import is_placed, placed
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule.schedules import Numbered
from soundline.impl.lower.steps import Place, Run, Steps, numbered, steps_of
from soundline.impl.runtime import cpu
from soundline.impl.runtime.callbacks import callback
from soundline.impl.runtime.commands import CommandBuffer
from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import OutOfMemoryError, UsageError
from soundline.spec.uop import UOp

Arrays = npt.NDArray[Any]

ADDRESSABLE: Final = 1 << 56
"""A result of more bytes is refused at once: processors address less."""


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What a program is made from: all that another process needs to make it again."""

    name: str
    function: UOp
    """What was compiled: a Function over flat Buffers, those of the arguments and then the captured ones."""
    called: frozenset[UOp]
    """The bodies in it that are compiled apart."""
    captured: tuple[Arrays, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    device: str
    profile: str
    takes: Form
    """How it is called."""
    gives: Tree
    """The structure of its results."""
    given: Numbered = ()
    """The schedules that were given, or found by a search."""
    sizes: tuple[UOp, ...] = ()
    """The Variables whose values are arguments too."""

    @property
    def is_sized(self) -> bool:
        """Whether some size is known only when it runs."""
        return bool(self.sizes)

    @property
    def is_plain(self) -> bool:
        """Whether every argument and result is one array in the unnamed memory."""
        return not self.sizes and all(s.device == "CPU" for s in (*self.inputs, *self.outputs))


@dataclass(frozen=True, slots=True, eq=False)
class Executable:
    """A recipe, lowered, linked, loaded and ready to run."""

    recipe: Recipe
    loaded: Loaded
    commands: CommandBuffer


@functools.lru_cache(maxsize=512)
def _library(source: str) -> cpu.Library:
    return cpu.build(source)


def build(
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
) -> Executable:
    """The executable of graphs over the storage of their arguments.

    For the kernels to which no schedule is given, a `beam` of so many candidates looks for one that is faster.
    """
    _check_room(outputs)
    called = called_bodies(outputs)
    takes = [part for b in arguments for part in storage.parts_of(b)]
    function = callify(_on_devices(outputs, called), takes, called)
    captured = tuple(contents_of(b) for b in function.src[1 + len(takes) :])
    steps = steps_of(function, called)
    if beam:
        from soundline.impl.search.beam import schedules_for  # only who searches needs it

        given = (*given, *schedules_for(steps.units, profile, beam, {k for k, _ in given}))
    made = tuple(Signature(o.dtype, shape_of(o), o.device or "CPU", o.axis) for o in outputs)
    recipe = Recipe(
        name, function, called, captured, tuple(inputs), made, device, profile, form, gives, given
    )
    return _built(recipe, steps)


def built(recipe: Recipe) -> Executable:
    """The executable of a recipe, in this process or another than the one that traced it: its kernels are taken from
    the compile cache, or compiled.
    """
    return (
        _built_at_sizes(recipe)
        if recipe.is_sized
        else _built(recipe, steps_of(recipe.function, recipe.called))
    )


def _built(recipe: Recipe, steps: Steps) -> Executable:
    profile, captured = recipe.profile, recipe.captured
    program = linked(steps, profile, recipe.given, lambda name: registered(name).kernel)
    _check_embedded(program, profile)
    called_back = [registered(n) for n, kernel in program.foreign.items() if kernel is None]
    pointers = {f.name: _pointer(f) for f in called_back}
    loaded = Loaded(program, _library(program.source).commands, pointers, profile)
    gives = [array for s in recipe.outputs for array in s.arrays]
    takes = [array for s in recipe.inputs for array in s.arrays]
    return Executable(recipe, loaded, assembled(loaded, takes, captured, gives))


def _built_at_sizes(recipe: Recipe) -> Executable:
    function, captured, profile = recipe.function, recipe.captured, recipe.profile
    takes = function.src[1 : len(function.src) - len(captured)]
    places = [Place(b.arg.size, b.dtype) for b in function.src[1:]]
    results = [Place(capacity(s.shape), s.dtype) for s in recipe.outputs]
    ids = tuple(range(len(places) + len(results)))
    run = Run(numbered(function), ids[: len(places)], ids[len(places) :])
    program = linked(Steps(len(places), len(results), (*places, *results), (run,)), profile)
    loaded = Loaded(program, _library(program.source).commands, {}, profile)
    commands = assembled(
        loaded,
        [(to_numpy(p.dtype), (p.size,)) for p in places[: len(takes)]],
        captured,
        [(to_numpy(p.dtype), (p.size,)) for p in results],
    )
    return Executable(recipe, loaded, commands)


def _check_room(outputs: Sequence[UOp]) -> None:
    """Refuse results that no machine can address before anything is compiled."""
    for o in outputs:
        nbytes = math.prod(shape_of(o)) * o.dtype.itemsize
        if nbytes > ADDRESSABLE:
            shape = f"{o.dtype}[{', '.join(map(str, shape_of(o)))}]"
            raise OutOfMemoryError(
                f"{in_words(nbytes)} of memory would be needed for a result {shape}, more than any machine has",
                hint="compute it in parts, or reduce it before returning it",
            )


def _on_devices(outputs: Sequence[UOp], called: frozenset[UOp]) -> list[UOp]:
    """Results as the values of single devices, in order."""
    if not is_placed(outputs):
        return list(outputs)
    return [own for parts in placed(inlined(outputs, called=called)) for own in parts]


def _pointer(function: Foreign) -> Any:
    """A custom function in Python as C calls it."""
    takes, gives = ([(s.storage, s.shape) for s in some] for some in (function.takes, function.gives))
    return callback(function.name, function.result, takes, gives)


def _check_embedded(program: Linked, profile: str) -> None:
    """Refuse a called program whose profile grants licences that this profile does not grant."""
    for p in program.embedded:
        more = set(PROFILES[p.loaded.profile]) - set(PROFILES[profile])
        if more:
            raise UsageError(
                f"{p.name} was compiled under {p.loaded.profile}, and this program is compiled under {profile}",
                hint=f"compile it under {profile}",
            )


def contents_of(captured: UOp) -> Arrays:
    """What the storage of a captured tensor holds; raises `UsageError` where it holds nothing yet."""
    if not storage.holds(captured):
        raise UsageError(
            "the function uses a tensor from the trace of another function",
            hint="return it from that function, or pass it as an argument",
        )
    return storage.contents(captured)


# The values of graphs ---------------------------------------------------------------------------------------------


def kept(outputs: Sequence[Signature], arrays: Sequence[Arrays]) -> list[UOp]:
    """Results as stored values, each where it is."""
    rest = iter(arrays)
    rows = ((s, list(itertools.islice(rest, len(s.arrays)))) for s in outputs)
    return [storage.keep_on(s.device, s.axis, s.shape, own) for s, own in rows]


def computed(outputs: Sequence[UOp]) -> list[Arrays]:
    """The values of graphs over stored tensors, by one program under the profile ``exact``."""
    made = _of_values(outputs)  # it holds the functions in Python that its commands call
    return list(made.commands.run_checked([]))


def stored(outputs: Sequence[UOp]) -> list[UOp]:
    """The same, as stored values, each on the devices of its graph."""
    made = _of_values(outputs)
    return kept(made.recipe.outputs, made.commands.run_checked([]))


def _of_values(outputs: Sequence[UOp]) -> Executable:
    return build("value", outputs, [], [], "CPU", "exact", NO_ARGUMENTS, several(len(outputs)))
