"""
Dialects of C
=============

Expressions of Spork are written in two dialects: CUDA C++ on the device, and C on the CPU. They differ in how a value
is cast, in how half-precision numbers are held, and in where helper functions stand.

A helper is a function that the generated code needs and that no header has. It is written for each dtype for which it
is asked, and what is not asked for is not written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int32,
    int64,
    ints,
)
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.nodes import SPELLING


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one dialect of C writes what the two write differently."""

    name: str
    scope: str
    """What stands before the names of the library."""
    qualifiers: str
    """What stands before a helper function."""
    functional: bool
    """Whether a cast is written as a call of the type."""
    control: DType
    """In what integers of control are computed."""

    def cast(self, type_: str, text: str) -> str:
        """A value of another type."""
        return f"{type_}({text})" if self.functional else f"(({type_})({text}))"

    def type_of(self, dtype: DType) -> str:
        """The type of the elements of a dtype."""
        if dtype in HALVES:
            return f"{self.scope}{SPELLING[dtype]}"
        if dtype not in _TYPES:
            raise CompileError(f"a type of {self.name} for elements: expected one of {_NAMES}; got: {dtype}")
        return _TYPES[dtype]

    def narrowed(self, dtype: DType, text: str) -> str:
        """A number of float32 rounded to half precision."""
        if self.functional:
            return f"{self.type_of(dtype)}({text})"
        return f"{self.scope}{SPELLING[dtype]}_of({text})"

    def widened(self, dtype: DType, text: str) -> str:
        """A number of half precision as float32."""
        return f"float({text})" if self.functional else f"{self.scope}f32_of_{SPELLING[dtype]}({text})"


HALVES = (float16, bfloat16)
"""The dtypes of half precision, which compute in float32 and round."""

_TYPES = {
    bool_: "bool",
    float32: "float",
    float64: "double",
    **{d: f"{d.name}_t" for d in ints},
}
_NAMES = ", ".join(SPELLING[d] for d in (*_TYPES, *HALVES))

CUDA = Dialect("CUDA C++", "soundline::", "static __device__ __forceinline__ ", True, int32)
"""The device: half precision are the types ``soundline::f16`` and ``soundline::bf16``, made of a float and cast to
one.
"""
C = Dialect("C", "soundline_", "static inline ", False, int64)
"""The CPU: half precision are the types ``soundline_f16`` and ``soundline_bf16``."""


@dataclass(slots=True)
class Helpers:
    """The helper functions that were asked for, by their names, in an order in which each stands before its users."""

    found: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        """Ask for a function with a text; what it needs was asked for before."""
        self.found.setdefault(name, text)

    def texts(self) -> Iterator[str]:
        """The texts of all functions."""
        yield from self.found.values()
