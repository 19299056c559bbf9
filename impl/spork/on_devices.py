"""
Programs on devices
===================

What is asked of the arguments of a program before it runs on a GPU or emulated: the same as of a sequential run, for
arrays that are much larger. Arrays of numpy are changed in place; memory that lies on the device already is given as an
array with ``__cuda_array_interface__``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soundline.spec.dtypes import to_numpy
from soundline.spec.errors import ProgramError
from soundline.spec.spork.language.nodes import SPELLING
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.types import Argument, Data
from soundline.spec.spork.machine.arguments import check_assertions, control_arguments
from soundline.spec.spork.machine.conditions import run_failed
from soundline.spec.spork.machine.names import Names

_MOST = (1 << 63) - 1
"""The greatest number that the C function is given."""


def prepared(proc: Proc, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of data as arrays; refused where they do not fit the program."""
    names = Names(control_arguments(proc, sizes))
    for argument in proc.arguments:
        value = sizes.get(argument.name, 0)
        if abs(value) > _MOST:
            given = f"{value}, which is no integer of 64 bits, for {argument.name}"
            raise run_failed("seq-argument", argument, given)
    check_assertions(proc, names)
    found = {}
    for argument in proc.arguments:
        if isinstance(argument.type, Data):
            if argument.name not in arrays:
                raise run_failed("seq-argument", argument, f"nothing for {argument.name}")
            found[argument.name] = _array(argument, arrays[argument.name], names)
    return found


def _array(argument: Argument, value: Any, names: Names) -> Any:
    """What is given for an argument; a number becomes an array of no dimension."""
    assert isinstance(argument.type, Data)
    wanted = np.dtype(to_numpy(argument.type.dtype))
    shape = tuple(names.size(size) for size in argument.type.sizes)
    given = getattr(value, "__cuda_array_interface__", None)
    if given is not None:
        found, there = tuple(given["shape"]), _same(np.dtype(given["typestr"]), wanted)
    elif isinstance(value, np.ndarray):
        found, there = value.shape, value.dtype == wanted
    elif isinstance(value, bool | int | float | np.generic) and not shape:
        return np.array(value, wanted)
    else:
        raise _misfit(argument, f"a {type(value).__name__}", shape)
    if not there or found != shape:
        own = given["typestr"] if given is not None else value.dtype
        raise _misfit(argument, f"an array of {own} of shape {found}", shape)
    return value


def _same(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether dtypes are the same; libraries of GPUs give those that numpy has not as bytes or as integers."""
    return one == other or (other.kind == "V" and one.itemsize == other.itemsize and one.kind in "Vu")


def _misfit(argument: Argument, given: str, shape: tuple[int, ...]) -> ProgramError:
    assert isinstance(argument.type, Data)
    wants = f"{argument.name}: {SPELLING[argument.type.dtype]} of shape {shape}"
    return run_failed("seq-argument", argument, f"{given} for {wants}")
