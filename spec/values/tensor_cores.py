"""
Tensor cores
============

A tensor core multiplies small dense matrices that lie in the registers of a warp. A *fragment* is the part of a matrix
that one lane holds; a *fragment map* says which element of the matrix is element e of lane l. Because all sizes are
powers of two, a map is a choice of binary digits: the row and the column of a place are spelled with the digits of the
lane (``l0``, the lowest, to ``l4``) and of the element (``e0`` …), each of which is used once. So every map is a
bijection; `fragment_map` lists it, and `spec.spork.library.fragments` has the same maps as the instruction set writes
them.

`multiply_accumulate` is the meaning on dense matrices, `warp_product` the same on the fragments of a whole warp. The
order in which hardware accumulates is not specified (U-52): the value here is the ascending one, from the accumulator
on, with products and sums rounded to the accumulator's dtype, and `tolerance` bounds how far another order may be from
the exact sum. On integers all orders agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from soundline.spec.arrays.arrays import INVALID, Cell, Invalid
from soundline.spec.dtypes import (
    DType,
    Element,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    from_bits,
    int8,
    int32,
    to_bits,
    uint8,
)
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.elementwise.arithmetic import add, mul
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.node import WmmaArg

Operand = Literal["A", "B", "C"]
"""The matrices: A is M by K, B is K by N; C, the accumulator, and the result are M by N."""

Place = tuple[int, int]
"""A row and a column."""

Matrix = Sequence[Sequence[Cell]]
Fragments = Sequence[Sequence[Cell]]
"""For each lane of a warp, the elements that it holds."""

LANES = 32
"""The lanes of a warp."""


@dataclass(frozen=True, slots=True)
class Digits:
    """A fragment map: the digits that spell the row and the column, lowest first."""

    row: tuple[str, ...]
    column: tuple[str, ...]

    @property
    def elements(self) -> int:
        """How many elements a lane holds."""
        return 1 << sum(d.startswith("e") for d in (*self.row, *self.column))

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of the matrix."""
        return 1 << len(self.row), 1 << len(self.column)

    def place(self, lane: int, element: int) -> Place:
        """The row and column of an element of a lane."""
        return _spelled(self.row, lane, element), _spelled(self.column, lane, element)


def _spelled(digits: tuple[str, ...], lane: int, element: int) -> int:
    held = {"l": lane, "e": element}
    return sum((held[d[0]] >> int(d[1]) & 1) << position for position, d in enumerate(digits))


def _digits(row: str, column: str) -> Digits:
    return Digits(tuple(row.split()), tuple(column.split()))


@dataclass(frozen=True, slots=True)
class TensorCore:
    """A configuration: its name, its dims (M, N, K), its dtypes, its fragment maps, the first machine that has it."""

    name: str
    dims: tuple[int, int, int]
    input: DType
    accumulator: DType
    a: Digits
    b: Digits
    c: Digits
    machine: str = "Sm80"
    mantissa: int | None = None
    """The bits of mantissa that an operand keeps, where that is less than its dtype has: tf32."""

    @property
    def arg(self) -> WmmaArg:
        """The arg of a Wmma of this configuration."""
        m, n, k = self.dims
        return WmmaArg((n, m, k), self.input, self.accumulator)

    def digits(self, operand: Operand) -> Digits:
        """The fragment map of an operand, as digits."""
        return {"A": self.a, "B": self.b, "C": self.c}[operand]


# The configurations -----------------------------------------------------------------------------------------------

_C = _digits("l2 l3 l4 e1", "e0 l0 l1")
_HALVES_8 = _digits("l2 l3 l4 e1", "e0 l0 l1"), _digits("e0 l0 l1", "l2 l3 l4"), _C
_HALVES_16 = _digits("l2 l3 l4 e1", "e0 l0 l1 e2"), _digits("e0 l0 l1 e1", "l2 l3 l4"), _C
_WORDS_4 = _digits("l2 l3 l4 e0", "l0 l1"), _digits("l0 l1", "l2 l3 l4"), _C
_WORDS_8 = _digits("l2 l3 l4 e0", "l0 l1 e1"), _digits("l0 l1 e0", "l2 l3 l4"), _C
_BYTES_16 = _digits("l2 l3 l4 e2", "e0 e1 l0 l1"), _digits("e0 e1 l0 l1", "l2 l3 l4"), _C
_BYTES_32 = _digits("l2 l3 l4 e2", "e0 e1 l0 l1 e3"), _digits("e0 e1 l0 l1 e2", "l2 l3 l4"), _C
_DOUBLES_4 = _digits("l2 l3 l4", "l0 l1"), _digits("l0 l1", "l2 l3 l4"), _digits("l2 l3 l4", "e0 l0 l1")

CORES: tuple[TensorCore, ...] = (
    TensorCore("m16n8k8.f16.f32", (16, 8, 8), float16, float32, *_HALVES_8, machine="Sm75"),
    TensorCore("m16n8k8.f16.f16", (16, 8, 8), float16, float16, *_HALVES_8, machine="Sm75"),
    TensorCore("m16n8k16.f16.f32", (16, 8, 16), float16, float32, *_HALVES_16),
    TensorCore("m16n8k16.f16.f16", (16, 8, 16), float16, float16, *_HALVES_16),
    TensorCore("m16n8k8.bf16.f32", (16, 8, 8), bfloat16, float32, *_HALVES_8),
    TensorCore("m16n8k16.bf16.f32", (16, 8, 16), bfloat16, float32, *_HALVES_16),
    TensorCore("m16n8k4.tf32.f32", (16, 8, 4), float32, float32, *_WORDS_4, mantissa=10),
    TensorCore("m16n8k8.tf32.f32", (16, 8, 8), float32, float32, *_WORDS_8, mantissa=10),
    TensorCore("m8n8k4.f64.f64", (8, 8, 4), float64, float64, *_DOUBLES_4),
    TensorCore("m16n8k16.s8.s32", (16, 8, 16), int8, int32, *_BYTES_16),
    TensorCore("m16n8k32.s8.s32", (16, 8, 32), int8, int32, *_BYTES_32),
    TensorCore("m16n8k16.u8.s32", (16, 8, 16), uint8, int32, *_BYTES_16),
    TensorCore("m16n8k32.u8.s32", (16, 8, 32), uint8, int32, *_BYTES_32),
    TensorCore("m16n8k32.e4m3.f32", (16, 8, 32), float8_e4m3fn, float32, *_BYTES_32, machine="Sm89"),
    TensorCore("m16n8k32.e5m2.f32", (16, 8, 32), float8_e5m2, float32, *_BYTES_32, machine="Sm89"),
)
"""The dense configurations of ``mma.sync`` with A by rows and B by columns; no two share dims and dtypes."""


def core_named(name: str) -> TensorCore | None:
    """The configuration of a name."""
    return next((core for core in CORES if core.name == name), None)


def core_of(arg: WmmaArg) -> TensorCore:
    """The configuration that the arg of a Wmma names."""
    for core in CORES:
        if core.arg == arg:
            return core
    raise EvaluationError(f"no tensor core is known as {arg}", rule="uop-wmma-sem", where="Wmma")


# Fragments --------------------------------------------------------------------------------------------------------


def fragment_map(core: TensorCore, operand: Operand) -> dict[tuple[int, int], Place]:
    """Where in its matrix each element of each lane lies: (lane, element) → (row, column)."""
    digits = core.digits(operand)
    return {(lane, e): digits.place(lane, e) for lane in range(LANES) for e in range(digits.elements)}


def fragments_of(core: TensorCore, operand: Operand, matrix: Matrix) -> list[list[Cell]]:
    """The fragments of a dense matrix, lane by lane."""
    where, elements = fragment_map(core, operand), core.digits(operand).elements
    return [
        [matrix[row][column] for row, column in (where[lane, e] for e in range(elements))]
        for lane in range(LANES)
    ]


def matrix_of(core: TensorCore, operand: Operand, fragments: Fragments) -> list[list[Cell]]:
    """The dense matrix that the fragments of a warp make up."""
    rows, columns = core.digits(operand).shape
    elements = core.digits(operand).elements
    if len(fragments) != LANES or any(len(lane) != elements for lane in fragments):
        raise EvaluationError(
            f"{operand} of {core.name} is {elements} elements in each of {LANES} lanes",
            rule="uop-wmma-sem",
            where="Wmma",
        )
    matrix: list[list[Cell]] = [[INVALID] * columns for _ in range(rows)]
    for (lane, e), (row, column) in fragment_map(core, operand).items():
        matrix[row][column] = fragments[lane][e]
    return matrix


# The product ------------------------------------------------------------------------------------------------------


def operand_value(core: TensorCore, x: Element) -> Element:
    """What the core sees of an operand: of a tf32, ten bits of mantissa, rounded to nearest with ties away from 0."""
    if core.mantissa is None or x != x or x in (float("inf"), -float("inf")):
        return x
    lost = core.input.mantissa_bits - core.mantissa
    pattern = to_bits(core.input, x) + (1 << (lost - 1))
    return from_bits(core.input, pattern >> lost << lost)


def multiply_accumulate(core: TensorCore, a: Matrix, b: Matrix, c: Matrix) -> list[list[Cell]]:
    """c + a·b, each element the ascending reduction from the accumulator on; ⊥ where anything it needs is ⊥."""
    columns = list(zip(*b, strict=True))
    return [
        [_dot(core, row, column, start) for column, start in zip(columns, starts, strict=True)]
        for row, starts in zip(a, c, strict=True)
    ]


def _dot(core: TensorCore, row: Sequence[Cell], column: Sequence[Cell], total: Cell) -> Cell:
    for x, y in zip(row, column, strict=True):
        if isinstance(x, Invalid) or isinstance(y, Invalid) or isinstance(total, Invalid):
            return INVALID
        p, q = (cast(core.input, operand_value(core, v), core.accumulator) for v in (x, y))
        total = add(core.accumulator, total, mul(core.accumulator, p, q))
    return total


def warp_product(core: TensorCore, a: Fragments, b: Fragments, c: Fragments) -> list[list[Cell]]:
    """The fragments of c + a·b, lane by lane, from the fragments of a whole warp."""
    dense = multiply_accumulate(
        core, matrix_of(core, "A", a), matrix_of(core, "B", b), matrix_of(core, "C", c)
    )
    return fragments_of(core, "C", dense)


def tolerance(core: TensorCore, start: Element, products: Sequence[Fraction]) -> Fraction:
    """How far an element may be from the exact sum of its accumulator and its exact products.

    Each of the K products and K additions loses less than one unit in the last place, truncated rather than rounded,
    in any order: (1 + 2^(1-p))^2K - 1 times the sum of the magnitudes, barring overflow and underflow. On integers
    nothing is lost.
    """
    if not core.accumulator.is_float:
        return Fraction(0)
    magnitudes = abs(Fraction(start)) + sum((abs(p) for p in products), Fraction(0))
    step = Fraction(1, 1 << core.accumulator.mantissa_bits)
    return magnitudes * ((1 + step) ** (2 * core.dims[2]) - 1)
