"""
Memory
======

Memory is bytes. A *place* is an array of the addresses of its elements' bytes, so that every view of a place, a Bitcast
included, is the same movement that it is on values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from soundline.spec.arrays.arrays import INVALID, Array, Cell, Invalid
from soundline.spec.arrays.movement import element_of_bytes
from soundline.spec.dtypes import DType, index, to_bits
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.elementwise.arithmetic import add
from soundline.spec.ops.node import UOp

Byte = int | Invalid
Address = tuple[int, ...]
"""The addresses of the bytes of one element, least significant first."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a Buffer or a written Param lies: its first address and its number of elements."""

    node: UOp
    start: int
    size: int

    @property
    def width(self) -> int:
        """Bytes of one element."""
        return self.node.dtype.itemsize

    @property
    def space(self) -> str:
        """The address space."""
        space: str = self.node.arg.addrspace
        return space

    @property
    def addresses(self) -> range:
        """Every address of the storage."""
        return range(self.start, self.start + self.size * self.width)


@dataclass(slots=True, eq=False)
class Bytes:
    """The bytes at addresses: what this version changes, over the version below."""

    below: Bytes | None = None
    changes: dict[int, Byte] = field(default_factory=dict)

    def byte(self, address: int) -> Byte:
        """The byte at an address; ⊥ where nothing was ever written."""
        memory: Bytes | None = self
        while memory is not None:
            if address in memory.changes:
                return memory.changes[address]
            memory = memory.below
        return INVALID

    def element(self, address: Address, dtype: DType) -> Cell:
        """The element whose bytes are at these addresses."""
        return element_of_bytes([self.byte(a) for a in address], dtype)

    def put(self, write: Write) -> None:
        """Change what a write changes."""
        value = write.value
        if write.adds:
            old = self.element(write.address, write.dtype)
            if isinstance(old, Invalid):
                raise EvaluationError("an AtomicAdd adds to an invalid element", rule="U-01")
            value = add(write.dtype, old, value)
        stored = to_bits(write.dtype, value).to_bytes(len(write.address), "little")
        self.changes.update(zip(write.address, stored, strict=True))


@dataclass(frozen=True, slots=True)
class Write:
    """One element that an effect stores, or adds."""

    address: Address
    dtype: DType
    value: bool | int | float
    storage: Storage
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of an array's elements; ⊥ outside the storage."""

    shape: tuple[int, ...]
    dtype: DType
    addresses: tuple[Address | Invalid, ...]
    storage: Storage
    numbers: Array
    """An array of the same shape that numbers the addresses: moving it moves them."""

    @staticmethod
    def of(
        shape: tuple[int, ...], dtype: DType, addresses: tuple[Address | Invalid, ...], storage: Storage
    ) -> Addresses:
        """The place with these addresses."""
        numbers = Array(index, shape, tuple(range(len(addresses))))
        return Addresses(shape, dtype, addresses, storage, numbers)
