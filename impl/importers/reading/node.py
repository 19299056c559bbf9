"""
Nodes of a model
================

What the translation of an operator gets: its operands as Tensors, its attributes, the version of its operator set, and
the values of what is constant. A translation is a function from a `Node` to one Tensor or several; `operator` says of
which operators it is the translation.

What a translation does not read it does not understand: an attribute that nobody asked for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.analysis.sums import reduced
from soundline.impl.arrays import storage
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    to_numpy,
    uint8,
    uint16,
    uint32,
    uint64,
)
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, toposort

Arrays = npt.NDArray[Any]
Result = Tensor | Sequence[Tensor | None]
Translation = Callable[["Node"], Result]

DTYPES: dict[int, DType] = {
    1: float32,
    2: uint8,
    3: int8,
    4: uint16,
    5: int16,
    6: int32,
    7: int64,
    9: bool_,
    10: float16,
    11: float64,
    12: uint32,
    13: uint64,
    16: bfloat16,
    17: float8_e4m3fn,
    19: float8_e5m2,
}
"""Our dtypes by the number that a model gives them."""

NUMBERS: dict[DType, int] = {d: n for n, d in DTYPES.items()}


class Refusal(Exception):  # caught by the importer, never seen by a user
    """A node is not translated, for this reason."""


class NeedsValue(Exception):  # caught by the importer, never seen by a user
    """A node needs the value of something that depends on these buffers."""

    def __init__(self, what: str, buffers: Sequence[UOp]) -> None:
        super().__init__(what)
        self.buffers = tuple(buffers)


@dataclass(frozen=True, slots=True)
class Operator:
    """A translation, with the operators that it translates."""

    translation: Translation
    names: tuple[tuple[str, str], ...]
    """Domain and name of each."""

    def __call__(self, node: Node) -> Result:
        """The translation of a node."""
        return self.translation(node)


def operator(*names: str, domain: str = "") -> Callable[[Translation], Operator]:
    """A translation as that of these operators."""
    return lambda translation: Operator(translation, tuple((domain, name) for name in names))


def value_of(x: Tensor) -> Arrays:
    """The value of a tensor that depends on constants alone, by the law; raises `NeedsValue` for any other."""
    buffers = [n for n in toposort(x.uop) if n.op is Op.Buffer]
    missing = [b for b in buffers if not storage.holds(b)]
    if missing:
        raise NeedsValue("it depends on inputs of the model", missing)
    held = storage.buffer_of(x.uop)
    if held is not None:
        return storage.contents(held).reshape(x.shape)
    result = evaluate(x.uop, buffers={b.arg.slot: storage.contents(b) for b in buffers})
    return np.array(result.elements, dtype=to_numpy(x.dtype)).reshape(x.shape)


def stored(array: Arrays, dtype: DType | None = None) -> Tensor:
    """A constant tensor."""
    return Tensor(np.asarray(array, dtype=None if dtype is None else to_numpy(dtype)))


@dataclass(slots=True)
class Node:
    """One use of an operator."""

    op_type: str
    domain: str
    name: str
    opset: int
    operands: tuple[Tensor | None, ...]
    attributes: dict[str, Any]
    wanted: tuple[str, ...]
    """The names of its results; an empty one is not wanted."""
    run: Callable[[Any, Sequence[Tensor]], list[Tensor]]
    """Translate a graph that is an attribute, with these values for its inputs."""
    read: set[str] = field(default_factory=set)

    # Operands -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.operands)

    def __getitem__(self, k: int) -> Tensor:
        """An operand that must be there."""
        found = self.get(k)
        if found is None:
            raise Refusal(f"operand {k} is missing")
        return found

    def get(self, k: int) -> Tensor | None:
        """An operand, or None where it is left out."""
        return self.operands[k] if k < len(self.operands) else None

    def all(self) -> list[Tensor]:
        """Every operand; none may be missing."""
        return [self[k] for k in range(len(self.operands))]

    def wants(self, k: int) -> bool:
        """Whether result k is used."""
        return k < len(self.wanted) and bool(self.wanted[k])

    def value(self, k: int) -> Arrays:
        """The value of an operand that must be constant."""
        return value_of(self[k])

    def values(self, k: int) -> list[int]:
        """A constant operand as a list of ints."""
        return [int(v) for v in self.value(k).reshape(-1)]

    # Attributes ---------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether an attribute is given."""
        return name in self.attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as it is."""
        self.read.add(name)
        return self.attributes.get(name, default)

    def ignore(self, *names: str) -> None:
        """Attributes that do not change the result here."""
        self.read.update(names)

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute that is an int."""
        found = self.attribute(name, default)
        if found is None:
            raise Refusal(f"the attribute {name} is missing")
        return int(found)

    def flag(self, name: str, default: bool) -> bool:
        """An attribute that is 0 or 1."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute that is a float."""
        found = self.attribute(name, default)
        if found is None:
            raise Refusal(f"the attribute {name} is missing")
        return float(found)

    def text(self, name: str, default: str) -> str:
        """An attribute that is a string."""
        found = self.attribute(name, default)
        return found.decode() if isinstance(found, bytes) else str(found)

    def integers(self, name: str) -> list[int] | None:
        """An attribute that is a list of ints, or None where it is not given."""
        found = self.attribute(name)
        return None if found is None else [int(v) for v in found]

    def listed(self, name: str, operand: int, since: int) -> list[int] | None:
        """Ints that are an attribute before a version of the operator set, and an operand from then on."""
        if self.opset < since:
            return self.integers(name)
        return None if self.get(operand) is None else self.values(operand)

    def dtype(self, name: str, default: DType) -> DType:
        """An attribute that names a dtype; 0 is the default."""
        number = self.integer(name, 0)
        if number == 0:
            return default
        if number not in DTYPES:
            raise Refusal(f"{dtype_name(number)} is not supported")
        return DTYPES[number]


def dtype_name(number: int) -> str:
    """The name that ONNX gives a dtype."""
    import onnx

    try:
        return f"the dtype {onnx.TensorProto.DataType.Name(number)}"
    except ValueError:
        return f"the dtype number {number}"


# What many translations need --------------------------------------------------------------------------------------


def axis_in(node: Node, axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise Refusal(f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank if rank else 0


def number_line(count: int, dtype: DType = int64) -> Tensor:
    """0, 1, …, count - 1."""
    return stored(np.arange(count), dtype)


def along(x: Tensor, axis: int, rank: int) -> Tensor:
    """A vector laid along one axis of a tensor of some rank, the other axes having size 1."""
    return x.reshape(tuple(x.size if k == axis else 1 for k in range(rank)))


def filled(value: bool | int | float, shape: Sequence[int], dtype: DType) -> Tensor:
    """One value everywhere."""
    exact = bool(value) if dtype is bool_ else float(value) if dtype.is_float else int(value)
    return Tensor(exact, dtype).expand(tuple(shape))


def joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after another along an axis."""
    kept = [p for p in parts if p.shape[axis] > 0] or list(parts[:1])
    total = sum(p.shape[axis] for p in kept)
    result: Tensor | None = None
    start = 0
    for part in kept:
        end = start + part.shape[axis]
        widths = [(start, total - end) if k == axis else (0, 0) for k in range(part.ndim)]
        moved = part.pad(widths) if any(map(any, widths)) else part
        if result is None:
            result = moved
        else:
            mask = along(number_line(total) < start, axis, part.ndim)
            result = mask.where(result, moved)
        start = end
    assert result is not None
    return result


def selected(mask: Tensor, values: Tensor, axis: int | Sequence[int]) -> Tensor:
    """The value at the one place along the axes where the mask holds; zero where it holds nowhere (U-30)."""
    shape = np.broadcast_shapes(mask.shape, values.shape)
    axes = sorted(a % len(shape) for a in ([axis] if isinstance(axis, int) else axis))
    nothing = Tensor(-0.0 if values.dtype.is_float else False if values.dtype is bool_ else 0, values.dtype)
    chosen = mask.where(values, nothing).expand(shape)
    op = Op.Max if values.dtype is bool_ else Op.Add
    total = Tensor.of(reduced(chosen.uop, op, axes))
    return total.reshape(tuple(s for k, s in enumerate(shape) if k not in axes))
