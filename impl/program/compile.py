"""
Compile
=======

From a Python function on tensors to a program: the function is traced once, its graph goes through the stages of the
lowering pipeline, and the C text of all kernels is compiled and loaded. Every stage is kept and can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from soundline.impl.arrays import storage
from soundline.impl.compilation.stages import PROFILES, STAGES, Lowered, lower
from soundline.impl.executables import building
from soundline.impl.executables.pytrees import Form, form_of, parameters_of
from soundline.impl.executables.signatures import Signature
from soundline.impl.lower.callify import callify
from soundline.impl.lower.schedule.schedules import Wanted, given_by
from soundline.impl.program.arguments import results_of, signature_of
from soundline.impl.program.every_size import SizedProgram, is_sized, traced
from soundline.impl.program.program import Program, stage_text
from soundline.impl.search.enabling import width_of
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import UsageError, WrongType

__all__ = [
    "PROFILES",
    "STAGES",
    "Lowered",
    "Program",
    "Signature",
    "compile",
    "lower",
    "stage_text",
]


def compile(  # noqa: A001  # the name of the public function
    fn: Callable[..., Any],
    *examples: Any,
    device: str = "CPU",
    profile: str = "exact",
    schedule: Wanted | None = None,
    beam: int | None = None,
    **named: Any,
) -> Program:
    """Compile a function of tensors for arguments with the dtypes and shapes of the examples.

    Examples may be positional or named. They may be dicts, tuples and lists of examples, nested to any depth, and may
    contain None. The program is called with the same structure. The function must return a Tensor, or a dict, tuple or
    list of Tensors. Tensors that it captures are built into the program. Under the profile ``exact`` the results
    are those of the evaluator, bit for bit.

    `schedule` replaces the choice of the heuristics: OptOps as a string or as steps, for the first kernel, or a mapping
    from kernel numbers to these. A step that is not allowed raises a `ScheduleError`. For kernels without a schedule,
    `beam` is the number of candidates of a search for a faster one (`soundline.impl.search.beam`). The default is the
    environment variable ``SOUNDLINE_BEAM``.

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
        raise WrongType(f"expected a function; got a {type(fn).__name__}", where="compile")
    if schedule is not None and not isinstance(schedule, str | Sequence | Mapping):
        raise WrongType(
            f"expected a string, steps, or a mapping from kernels to these; got {schedule!r}",
            where="schedule",
        )
    leaves, form = form_of(parameters_of(fn), examples, named)
    inputs = [signature_of(e, f"example {path}") for e, path in zip(leaves, form.paths, strict=True)]
    if is_sized(inputs):
        return _at_sizes(fn, inputs, device, profile, form)
    places = [storage.placeholder_on(s.device, s.axis, s.dtype, s.shape) for s in inputs]
    outputs, gives = results_of(form.applied(fn, [Tensor.of(value) for _, value in places]))
    name = getattr(fn, "__name__", "program")
    made = building.build(
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
    return Program.of(made)


def _at_sizes(
    fn: Callable[..., Any], inputs: Sequence[Signature], device: str, profile: str, form: Form
) -> Program:
    """A program for every size that the Variables in the shapes of its arguments may have."""
    found = traced(lambda *values: form.applied(fn, values), inputs)
    takes = [*found.arguments, *found.sizes.values()]
    function = callify(found.outputs, takes)
    captured = tuple(building.contents_of(b) for b in function.src[1 + len(takes) :])
    made = tuple(Signature(o.dtype, s) for s, o in zip(found.shapes, found.outputs, strict=True))
    name = getattr(fn, "__name__", "program")
    recipe = building.Recipe(
        name, function, frozenset(), captured, tuple(inputs), made, device, profile, form, found.gives, (),
        tuple(found.sizes),
    )  # fmt: skip
    return SizedProgram.of(building.built(recipe))
