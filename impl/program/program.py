"""
Programs
========

A compiled program: what it takes and gives, every stage that it went through, and what it is to call it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from soundline.impl.compilation.certificate import Certificate
from soundline.impl.compilation.derivation import derivation, measured, rules_of
from soundline.impl.compilation.linking import Linked
from soundline.impl.compilation.stages import PROFILES, Lowered, stage_named
from soundline.impl.executables import pickling
from soundline.impl.executables.assembly import Loaded
from soundline.impl.executables.building import Executable, Recipe, built, kept
from soundline.impl.executables.command_buffer import command_buffer
from soundline.impl.executables.pytrees import rebuilt
from soundline.impl.executables.signatures import Signature
from soundline.impl.inspect.explanation import Explanation, explained
from soundline.impl.inspect.listings import text_picture
from soundline.impl.inspect.profile import Profile, profiled
from soundline.impl.inspect.stages import stage_picture
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule.schedules import Scheduled
from soundline.impl.lower.steps import Compiled
from soundline.impl.program.arguments import parts_of
from soundline.impl.program.promises import promises
from soundline.impl.runtime.commands import CommandBuffer
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import UsageError
from soundline.spec.ops.textual_form import program_text
from soundline.spec.uop import Op, UOp, reshape

Arrays = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled program: call it with arrays or Tensors of the dtypes and shapes that it was compiled for.

    A call returns new numpy arrays, in the structure that the function returned. Several threads may call a program at
    the same time. A program can be pickled; when it is loaded, its kernels come from the compile cache or are compiled.
    """

    recipe: Recipe
    loaded: Loaded
    """The program as it is linked and loaded."""
    _commands: CommandBuffer
    _plain: bool = field(init=False)
    """Whether every argument and result is one array in the unnamed memory."""
    _count: int = field(init=False)
    """The number of positional arguments, if each is one leaf; otherwise -1."""
    _single: bool = field(init=False)
    """Whether the result is one array."""

    def __post_init__(self) -> None:
        takes = self.recipe.takes
        object.__setattr__(self, "_plain", self.recipe.is_plain)
        object.__setattr__(self, "_count", len(takes.placed) if takes.is_flat else -1)
        object.__setattr__(self, "_single", self.recipe.gives.is_single)

    @classmethod
    def of(cls, executable: Executable) -> Self:
        """The program that runs this."""
        return cls(executable.recipe, executable.loaded, executable.commands)

    @classmethod
    def unpickled(cls, packed: dict[str, Any]) -> Self:
        """The program of a pickled recipe: its kernels are taken from the compile cache, or compiled."""
        return cls.of(built(pickling.unpacked(packed)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpickled, (pickling.packed(self.recipe),)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.recipe.name

    @property
    def inputs(self) -> tuple[Signature, ...]:
        """The dtypes and shapes of the arguments, leaf by leaf."""
        return self.recipe.inputs

    @property
    def outputs(self) -> tuple[Signature, ...]:
        """The dtypes and shapes of the results, leaf by leaf."""
        return self.recipe.outputs

    @property
    def device(self) -> str:
        """The device for which it was compiled."""
        return self.recipe.device

    @property
    def _profile(self) -> str:
        return self.recipe.profile

    @property
    def _function(self) -> UOp:
        return self.recipe.function

    def __repr__(self) -> str:
        takes, gives = (", ".join(map(str, signatures)) for signatures in (self.inputs, self.outputs))
        return f"Program({self.name}: ({takes}) -> ({gives}) on {self.device})"

    @property
    def _linked(self) -> Linked:
        return self.loaded.program

    @property
    def _arena(self) -> int:
        return self._linked.arena

    @property
    def units(self) -> tuple[Lowered, ...]:
        """What was lowered apart, each once: the program itself where it calls nothing, or the bodies that it calls and
        what lies between the calls.
        """
        return self._linked.units

    @property
    def stages(self) -> Mapping[str, UOp]:
        """The UOps after each stage, by the stage's name; of several `units`, those of all."""
        return self._linked.stages

    @property
    def uops(self) -> UOp:
        """The program as the renderer got it: linear UOps."""
        return self.stages["plan"]

    @property
    def kernels(self) -> tuple[UOp, ...]:
        """The kernels, as nests of loops over scalars."""
        return self._linked.kernels

    @property
    def captured(self) -> tuple[Arrays, ...]:
        """The contents of the tensors from outside that are built in, flat."""
        return self._commands.captured

    @property
    def command_buffer(self) -> UOp:
        """The commands as UOps: a Linear of Calls of compiled Programs over storage, which the evaluator can run."""
        return command_buffer(self._linked)

    @property
    def command_count(self) -> int:
        """The number of commands: one for each kernel and each place where it runs, and for each copy."""
        return self._commands.count

    @property
    def schedules(self) -> tuple[Scheduled, ...]:
        """What Optimize has done to each kernel of Rangeify: its OptOps, and who chose them."""
        return self._linked.schedules

    @property
    def copies(self) -> tuple[tuple[str, str, int], ...]:
        """The copies between devices, in order: from which, to which, and how many bytes."""
        places = self._linked.steps.places
        rows = ((places[c.takes[0]], places[c.gives[0]]) for c in self._linked.copies)
        return tuple((str(a.device or "CPU"), str(b.device or "CPU"), a.nbytes) for a, b in rows)

    @property
    def source(self) -> str:
        """The C text."""
        return self._linked.source

    @property
    def certificate(self) -> Certificate:
        """What stands behind the program, as far as it is known now."""
        linked, licences = self._linked, PROFILES[self._profile]
        return Certificate(
            profile=self._profile,
            licences=tuple(licences),
            rules=rules_of(linked.applied),
            obligations=tuple(linked.discharged),
            steps=(*derivation(linked), *measured(licences)),
            promised=promises(self.stages["callify"], licences),
            trusted=tuple(linked.foreign),
            called=tuple((p.name, p.certificate) for p in linked.embedded),
        )

    def explain(self) -> Explanation:
        """What became of the function: its kernels and why they are so, memory, stages, certificate; ``print`` it."""
        commands = self._commands
        return explained(
            repr(self),
            self._linked,
            self.certificate,
            self.inputs,
            self.outputs,
            sum(array.nbytes for array in commands.captured),
            commands.count,
        )

    def profile(self, *arguments: Any, repeats: int = 20, **named: Any) -> Profile:
        """Run so often, and tell of every kernel how long it takes and what share of the machine's peak that is."""
        arguments = self._leaves(arguments, named)
        given, sizes = self._measurable(arguments)
        return profiled(repr(self), self._linked, self._commands, given, repeats, sizes)

    def svg(self, stage: str = "callify") -> str:
        """The picture of the program after a stage, which is named as in `stages` or as in the law."""
        return stage_svg(self, stage)

    def _repr_html_(self) -> str:
        """The explanation and the function, drawn; a notebook shows it."""
        return f"{self.explain()._repr_html_()}\n{self.svg()}"

    def __rich_repr__(self) -> Any:
        """The fields that rich shows."""
        yield self.name
        yield "inputs", [str(s) for s in self.inputs]
        yield "outputs", [str(s) for s in self.outputs]
        yield "profile", self._profile
        yield "kernels", len(self.kernels)

    def applied(self, *arguments: Any, **named: Any) -> Any:
        """The results as lazy Tensors: the program as part of another, which runs its kernels and compiles nothing.

        In the graph it is a Call, through which no gradient passes.
        """
        return self._applied(self._leaves(arguments, named))

    def _applied(self, arguments: Sequence[Any]) -> Any:
        if not self._plain:
            raise UsageError(f"{self.name} is placed on devices; it cannot be part of another program")
        tensors = [a if isinstance(a, Tensor) else Tensor(a) for a in arguments]
        for label, t, wanted in zip(self._labels, tensors, self.inputs, strict=True):
            given = Signature(t.dtype, t.shape, t.device, t.axis)
            if given != wanted:
                raise UsageError(f"{label} is {given}; the program was compiled for {wanted}")
        values = [*(t.uop for t in tensors), *map(Op.Load, self._function.src[1 + len(tensors) :])]
        flat = [
            v if v.shape == p else reshape(v, p) for v, p in ((v, (math.prod(shape_of(v)),)) for v in values)
        ]
        call = Op.Call(self._function.src[0], *flat, tag=Compiled(self))
        found = [Op.GetTuple(call, arg=k) for k in range(len(self.outputs))]
        results = tuple(Tensor.of(f) for f in found)
        return results[0] if self._single else self._shaped(results)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the program; raises `UsageError` where the arguments are not what it was compiled for.

        While a function is traced, where a Tensor has no value yet, the program becomes part of it (`applied`).
        """
        if named or len(arguments) != self._count:
            arguments = self._leaves(arguments, named)
        results = self._commands.run(arguments) if self._plain else None
        if results is None:
            if any(isinstance(a, Tensor) and not a.is_computable for a in arguments):
                return self._applied(arguments)
            results = self._commands.run_checked(self._given(arguments))
        if not self._plain:
            results = self._together(results)
        return results[0] if self._single else self._shaped(results)

    def stored(self, *arguments: Any, **named: Any) -> list[UOp]:
        """Run the program; its results as stored values, each where it is."""
        arguments = self._leaves(arguments, named)
        return kept(self.outputs, self._commands.run_checked(self._given(arguments)))

    def _together(self, arrays: Sequence[Arrays]) -> tuple[Any, ...]:
        """The results: an array, or of what is on several devices a Tensor of the arrays there."""
        rows = zip(self.outputs, kept(self.outputs, arrays), strict=True)
        found = ((s, Tensor.of(value)) for s, value in rows)
        return tuple(t if isinstance(s.device, tuple) else np.asarray(t) for s, t in found)

    def _leaves(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call, leaf by leaf."""
        return tuple(self.recipe.takes.leaves(self.name, arguments, named))

    def _shaped(self, results: tuple[Any, ...]) -> Any:
        """Results in the structure of what the function returned."""
        gives = self.recipe.gives
        return results if gives.is_row else rebuilt(gives, iter(results))

    @property
    def _labels(self) -> list[str]:
        """What errors call each leaf of the arguments."""
        return self.recipe.takes.labels

    def _measurable(self, arguments: Sequence[Any]) -> tuple[list[Arrays], dict[int, int]]:
        """The arrays of a call, and the sizes among them, by slot."""
        return self._given(arguments), {}

    def _given(self, arguments: Sequence[Any]) -> list[Arrays]:
        rows = zip(arguments, self.inputs, self._labels, strict=True)
        return [part for a, s, label in rows for part in parts_of(a, s, label)]


def stage_text(program: Program, name: str) -> str:
    """A stage of a program in the textual form, or C for ``render``; raises `UsageError` for a name that is no stage.

    >>> import numpy as np
    >>> from soundline.impl.program.compile import compile
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
    stage = stage_named(name)
    return program.source if stage == "render" else program_text(program.stages[stage])


def stage_svg(program: Program, name: str) -> str:
    """The picture of a stage; raises `UsageError` for a name that is no stage."""
    stage = stage_named(name)
    return text_picture(program.source) if stage == "render" else stage_picture(program.stages[stage])
