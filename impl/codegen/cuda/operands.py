"""
Operands of instructions
========================

What the text of an instruction is made of. A call of an instruction in a program becomes a `CallSite`: for each of its
arguments the place of the data in C++, or the value that is given, and for control arguments numbers and texts. The
text of an instruction (`instructions`) knows nothing of the program around.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from soundline.spec.dtypes import DType
from soundline.spec.spork.language.statements import Call
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction


@dataclass(frozen=True, slots=True)
class Place:
    """Data, as the text of an instruction names it."""

    argument: str
    """The name of the argument of the instruction."""
    dtype: DType
    memory: Memory
    """The memory of the data, or of the tensor map through which it is given."""
    sizes: tuple[str, ...]
    """The sizes of the window in C++, without distributed dimensions."""
    constants: tuple[int | None, ...]
    """The same as numbers, where they are known."""
    strides: tuple[str, ...]
    """By how many elements neighbours are apart, in memory that has addresses: global, shared, and CudaRmem."""
    address: str
    """A pointer to the first element. In swizzled shared memory, the address before the swizzle is applied."""
    storage: str
    """In registers the lvalue: the array of the words of one tile, a scalar, or an element of an array."""
    tensor_map: str = ""
    """A pointer to the tensor map."""
    coordinates: tuple[str, ...] = ()
    """Where the box starts in the tensor map, outermost dimension first."""
    ctas: str = ""
    """Of a multicast destination, the mask of the CTAs (uint16_t)."""
    accumulates: str = ""
    """Of an accumulator of wgmma, the lvalue of its int flag: whether it holds a sum already (scale-d)."""
    alignment: int = 0
    """Bytes of which the address of the first element is known to be a multiple; 0 where nothing is known."""
    row_alignment: int = 0
    """The same of the address of every row, where it is a matrix in memory; 0 where nothing is said of rows."""


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar that is given by value."""

    text: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Trailing:
    """The barrier that follows a call."""

    barrier: str
    """A pointer (``uint64_t *``) to the mbarrier in the shared memory of this CTA."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of an instruction in the code of a device function."""

    instruction: Instruction
    call: Call
    arch: int
    """80 or 90."""
    places: Mapping[str, Place | Value]
    """By argument of data."""
    sizes: Mapping[str, int]
    """By control argument, where it is a number."""
    texts: Mapping[str, str]
    """By control argument, in C++."""
    trailing: Trailing | None
    whole_warp: bool
    """Whether all lanes of a warp execute the call."""
