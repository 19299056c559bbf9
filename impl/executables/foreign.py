"""
Custom functions by name
========================

The functions that soundline does not see into, under the names by which graphs call them. `program.custom` makes them
for users; compiling, evaluating and differentiating find them here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy.typing as npt

from soundline.impl.executables.signatures import Signature
from soundline.spec.arrays.arrays import Array
from soundline.spec.errors import UsageError
from soundline.spec.gradients.backward import GivenAdjoint
from soundline.spec.uop import UOp


class Foreign(Protocol):
    """A registered function."""

    name: str
    takes: tuple[Signature, ...]
    gives: tuple[Signature, ...]
    reference: Callable[..., Any] | None
    adjoint: Callable[..., Any] | None

    @property
    def kernel(self) -> UOp | None:
        """The function as a kernel over Buffers, arguments first; None where it is written in Python."""

    def result(self, *arguments: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        """What a function in Python gives for arrays."""

    def evaluated(self, *arguments: Array) -> tuple[Array, ...]:
        """What the reference gives, by the evaluator."""

    def passes(self, call: UOp, position: int, g: UOp) -> Sequence[UOp | None]:
        """What the arguments of a Call receive for one result."""


_REGISTERED: Final[dict[str, Foreign]] = {}


def is_registered(name: str) -> bool:
    """Whether there is a custom function of a name."""
    return name in _REGISTERED


def register(function: Foreign) -> None:
    """Let a custom function be found by its name."""
    _REGISTERED[function.name] = function


def forget(name: str) -> None:
    """Let a name be free again."""
    _REGISTERED.pop(name, None)


def registered(name: str) -> Foreign:
    """The custom function of a name."""
    if name not in _REGISTERED:
        raise UsageError(f"there is no custom function {name!r}", hint="make a CustomFunction of this name")
    return _REGISTERED[name]


def references() -> Mapping[str, Callable[..., tuple[Array, ...]]]:
    """The references of all custom functions that have one: what `evaluate` takes as `functions`."""
    return {name: f.evaluated for name, f in _REGISTERED.items() if f.reference is not None}


def adjoints() -> Mapping[str, GivenAdjoint]:
    """The adjoints of all custom functions that have one: what `gradient` takes as `adjoints`."""
    return {name: f.passes for name, f in _REGISTERED.items() if f.adjoint is not None}
