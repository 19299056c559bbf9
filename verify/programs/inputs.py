"""
Inputs of programs
==================

What a program from a file is called with: arrays from files, and random ones of a dtype and shape.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.executables.signatures import Signature
from soundline.spec.dtypes import DType, all_dtypes, index, to_numpy
from soundline.spec.errors import UsageError

Arrays = npt.NDArray[Any]
_INPUT = re.compile(r"(\w+)\[([\d\s,]*)\]")


def from_text(text: str, generator: np.random.Generator) -> Arrays:
    """An array: from a file, or random of a dtype and shape."""
    if text.endswith(".npy"):
        try:
            array: Arrays = np.load(text, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise UsageError(f"--input {text} cannot be read: {str(error).splitlines()[0]}") from None
        return array
    found = signature_in(text)
    if found is None:
        names = ", ".join(d.name for d in all_dtypes if d is not index)
        raise UsageError(f"{text!r} is not an input", hint=f"such as 'float32[4, 8]'; the dtypes are {names}")
    return random_array(found.dtype, found.shape, generator)


def signature_in(text: str) -> Signature | None:
    """The dtype and shape that a text says; None where it says something else."""
    told = _INPUT.fullmatch(text.strip().strip("\"'"))
    dtype = next((d for d in all_dtypes if told and d.name == told[1] and d is not index), None)
    if told is None or dtype is None:
        return None
    return Signature(dtype, tuple(int(n) for n in told[2].replace(" ", "").split(",") if n))


def as_input(example: Any, generator: np.random.Generator) -> Any:
    """An example as an input: random where it says a dtype and shape only."""
    if isinstance(example, Signature):
        return random_array(example.dtype, example.shape, generator)
    return from_text(example, generator) if isinstance(example, str) else example


def example_of(parameter: inspect.Parameter, examples: Sequence[Any], position: int) -> Any:
    """What a parameter says of its input, or the examples do: its default value, its annotation, or None."""
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default
    annotation = parameter.annotation
    if isinstance(annotation, Signature):
        return annotation
    told = signature_in(annotation) if isinstance(annotation, str) else None
    if told is not None:
        return told
    return examples[position] if position < len(examples) else None


def array_of_input(value: Any, taken: Signature) -> Arrays:
    """An input as an array; a number of Python's has the dtype that the program takes."""
    return np.asarray(value, taken.storage if isinstance(value, bool | int | float) else None)


def memory() -> int:
    """The bytes of memory that this machine has."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return 1 << 34
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def random_array(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> Arrays:
    """Random elements: numbers around 0 for floats, small whole numbers for integers. Raises ``UsageError`` for more
    than there is memory for.
    """
    if math.prod(shape) * 16 > memory():  # it is made of wider numbers, and converted
        raise UsageError(
            f"there is not enough memory for {dtype}[{', '.join(map(str, shape))}]", hint="name a smaller one"
        )
    if dtype.is_float:
        return generator.standard_normal(shape).astype(to_numpy(dtype))
    low = -8 if dtype.signed else 0
    high = 2 if dtype.name == "bool" else 9
    return generator.integers(low, high, shape).astype(to_numpy(dtype))
