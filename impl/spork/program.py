"""
Programs that run
=================

The front end and `Builder` make a `SporkProc`: a `Proc` that can be run, unfolded and checked. The specification
defines its meaning. This module adds convenience: numpy arrays, and sizes that follow from their shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from soundline.impl.spork.on_devices import prepared
from soundline.spec.abstract_machine import Verdict
from soundline.spec.arrays.arrays import Array, same_cell
from soundline.spec.errors import CompileError, EvaluationError, ProgramError
from soundline.spec.spork.language.expressions import Name
from soundline.spec.spork.language.nodes import SPELLING
from soundline.spec.spork.language.programs import Proc, text
from soundline.spec.spork.language.types import Argument, Control, Data
from soundline.spec.spork.machine.conditions import run_failed
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.readings.sequential import run
from soundline.spec.spork.synchronization.visibility import Policy

if TYPE_CHECKING:
    from soundline.impl.codegen.cuda.source import CudaSource


@dataclass(frozen=True, slots=True)
class SporkProc(Proc):
    """A procedure that can be run and checked."""

    @property
    def text(self) -> str:
        """The text of the program, which can be parsed back to the same program."""
        return text(self)

    def events(self, /, **sizes: int) -> Iterator[Event]:
        """The events of the program at given sizes, in sequential order."""
        return unfold(self, _numbers(sizes))

    def check(
        self,
        /,
        *,
        policy: Policy = Policy.temporal,
        machine: str = "fast",
        redundant: bool = False,
        **sizes: int,
    ) -> Verdict:
        """The verdict of the abstract machine at given sizes: the hazards, if there are any.

        The machine is ``"fast"``, which uses a C compiler if there is one, or ``"literal"``, the law word by word. With
        `redundant` the verdict says without which synchronizations there is no hazard either.
        """
        # only programs that are checked need it
        from soundline.impl.spork.checker.machines import judged

        return judged(self, _numbers(sizes), policy=policy, machine=machine, redundant=redundant)

    def run(self, /, *, device: str | Any = None, **arguments: Any) -> None:
        """Run the program sequentially, or on a `device`; arrays are changed in place.

        An argument of data takes a numpy array of its dtype; a scalar that is not written can also be a number. A size
        that follows from the shape of an array can be omitted.

        The device is ``"CUDA"`` or ``"CUDA:1"``, a GPU, where arguments in global memory may also be arrays with
        ``__cuda_array_interface__``; or ``"CUDA-EMULATED"``, which runs the same CUDA C++ on the CPU.
        """
        if (
            device is not None
            and not isinstance(device, str)
            and any(a.name == "device" for a in self.arguments)
        ):
            device, arguments = None, {**arguments, "device": device}  # an argument of this program
        arrays, sizes = self._sorted(arguments)
        if device is not None:
            self._run_on(device, arrays, sizes)
            return
        given = {name: _array(self._argument(name), value) for name, value in arrays.items()}
        found = run(self, self._all_sizes(sizes, given), given)
        changed = [name for name in found if not _same(given[name], found[name])]
        for name in changed:
            self._check_writable(name, arrays)
        for name in changed:
            arrays[name][...] = found[name].to_numpy()

    def _run_on(self, device: str, arrays: dict[str, Any], sizes: dict[str, Any]) -> None:
        """Run the program on a device."""
        # Only who runs a program there loads what runs it.
        from soundline.impl.codegen.cuda.host.writing import written
        from soundline.impl.spork.devices import run_on

        all_sizes = self._all_sizes(sizes, arrays)
        given = prepared(self, all_sizes, arrays)
        for name in written(self):
            if not hasattr(arrays[name], "__cuda_array_interface__"):
                self._check_writable(name, arrays)
        run_on(device, self, all_sizes, given)

    def cuda(
        self, arch: str | None = None, contract: bool = False, *, sizes: Mapping[str, int] | None = None
    ) -> CudaSource:
        """The CUDA C++ and C of the program, by which it runs on a GPU.

        `arch` is ``sm_80`` or ``sm_90a``; the default is the least that serves. With `contract` an ``fma`` of the
        program is rounded once. With `sizes` the abstract machine checks the program first, and the files say at which
        sizes; raises `CompileError` if it finds a hazard.
        """
        from soundline.impl.codegen.cuda.programs.files import (
            generate,  # only who generates code loads generators
        )

        checked = [] if sizes is None else [_numbers(sizes)]
        for own in checked:
            verdict = self.check(**own)
            if not verdict.ok:
                raise CompileError(verdict.text(), where=self.name, hint="no code is generated of a hazard")
        return generate(self, arch, contract, checked)

    def _argument(self, name: str) -> Argument:
        return next(a for a in self.arguments if a.name == name)

    def _sorted(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is given for data, and what is given for control."""
        data = {a.name for a in self.arguments if isinstance(a.type, Data)}
        known = {a.name for a in self.arguments}
        for name in arguments:
            if name not in known:
                given = (
                    f"{name}, where the arguments are: {', '.join(a.name for a in self.arguments) or 'none'}"
                )
                raise run_failed("seq-argument", self, given)
        return (
            {name: value for name, value in arguments.items() if name in data},
            _numbers({name: value for name, value in arguments.items() if name not in data}),
        )

    def _all_sizes(self, sizes: dict[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The sizes that are given, and those that the shapes of arrays are."""
        found = dict(sizes)
        wanted = {a.name for a in self.arguments if isinstance(a.type, Control)}
        for name, array in arrays.items():
            declared = self._argument(name).type
            assert isinstance(declared, Data)
            shape = tuple(getattr(array, "shape", ()))
            if not shape and declared.sizes and not isinstance(array, np.ndarray):
                raise self._misfit(name, f"a {type(array).__name__} where an array is wanted")
            if len(shape) != len(declared.sizes):
                raise self._misfit(name, f"an array of {len(shape)} dimensions")
            for size, extent in zip(declared.sizes, shape, strict=True):
                if isinstance(size, Name) and size.name in wanted:
                    found.setdefault(size.name, extent)
        return found

    def _check_writable(self, name: str, arrays: Mapping[str, Any]) -> None:
        """Refuse to write to an argument that is not an array, is read-only, or shares memory with another argument."""
        value = arrays[name]
        if not isinstance(value, np.ndarray):
            raise self._misfit(
                name, "a number for an argument that the program writes", hint="give an array of shape ()"
            )
        if not value.flags.writeable:
            raise self._misfit(name, "a read-only array for an argument that the program writes")
        for one, other in combinations(arrays, 2):
            pair = arrays[one], arrays[other]
            if (
                name in (one, other)
                and all(isinstance(a, np.ndarray) for a in pair)
                and np.shares_memory(*pair)
            ):
                raise self._misfit(name, f"the memory of {one} and {other}, which the program writes")

    def _misfit(self, name: str, given: str, hint: str | None = None) -> ProgramError:
        return run_failed("seq-argument", self._argument(name), f"{given} for {name}", hint=hint)


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of numpy as those of Python."""
    return {name: v.item() if isinstance(v, np.generic) else v for name, v in values.items()}


def _array(argument: Argument, value: Any) -> Array:
    """What is given for an argument of data."""
    assert isinstance(argument.type, Data)
    dtype = argument.type.dtype
    wants = f"{argument.name}: {SPELLING[dtype]} of {len(argument.type.sizes)} dimensions"
    try:
        if isinstance(value, np.ndarray):
            found = Array.from_numpy(
                np.asarray(value)
            )  # no subclass, whose parts are not what those of arrays are
        elif isinstance(value, bool | int | float | np.generic):
            found = Array.of(value, dtype)
        else:
            raise run_failed("seq-argument", argument, f"a {type(value).__name__} for {wants}")
    except EvaluationError as error:
        raise run_failed("seq-argument", argument, f"{error.message} for {wants}") from None
    if found.dtype is not dtype:
        raise run_failed("seq-argument", argument, f"an array of {found.dtype} for {wants}")
    return found


def _same(before: Array, after: Array) -> bool:
    cells = zip(before.elements, after.elements, strict=True)
    return all(same_cell(before.dtype, a, b) for a, b in cells)
