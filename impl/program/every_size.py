"""
Programs for every size
=======================

A function that is compiled for examples whose shapes hold a `Variable` is compiled once, and runs at every size that
the variables may have. The sizes are found in the shapes of the arguments of a call, are held to their bounds, and go
to the kernels as arguments of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.analysis import arithmetic
from soundline.impl.arrays import storage
from soundline.impl.arrays.operands import array_of, shape_of
from soundline.impl.arrays.sizes import as_node, bound, capacity, is_size, is_variable, name_of, variables
from soundline.impl.executables.pytrees import Tree
from soundline.impl.executables.signatures import Signature
from soundline.impl.program.arguments import checked, results_of
from soundline.impl.program.program import Program
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import index, int32
from soundline.spec.errors import UsageError
from soundline.spec.ops.sizes import polynomial, product
from soundline.spec.uop import Op, UOp, reshape, shrink, substitute

Arrays = npt.NDArray[Any]


def is_sized(inputs: Sequence[Signature]) -> bool:
    """Whether some argument has a symbolic size."""
    return any(is_size(s) for i in inputs for s in i.shape)


@dataclass(frozen=True, slots=True)
class Traced:
    """A function traced at symbolic sizes: the storage of its arguments and of its sizes, and its results over them."""

    arguments: tuple[UOp, ...]
    sizes: Mapping[UOp, UOp]
    """For each Variable the storage of its value."""
    outputs: tuple[UOp, ...]
    """The results, over sizes that are read from storage."""
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of the results, over Variables."""
    gives: Tree
    """The structure of the results."""


def traced(fn: Callable[..., Any], inputs: Sequence[Signature]) -> Traced:
    """Trace a function for arguments of symbolic shapes."""
    if any(s.device != "CPU" for s in inputs):
        raise UsageError("a value with a symbolic size cannot be on several devices")
    places = [storage.placeholder(s.dtype, (capacity(s.shape),)) for s in inputs]
    values = [_shaped(value, s) for (_, value), s in zip(places, inputs, strict=True)]
    outputs, gives = results_of(fn(*(Tensor.of(v) for v in values)))
    graphs = [o.uop for o in outputs]
    used = variables(*graphs, *values)
    found = {line[0] for i in inputs for s in i.shape if (line := _line(s))}
    for v in used:
        if v not in found:
            raise UsageError(f"no argument has an axis of the size {name_of(v)}", hint="add one that has it")
    stored = {v: storage.placeholder(int32, (1,)) for v in used}
    read = {v: _read(v, value) for v, (_, value) in stored.items()}
    return Traced(
        tuple(b for b, _ in places),
        {v: b for v, (b, _) in stored.items()},
        substitute(Op.Tuple(*graphs), read).src,
        tuple(shape_of(g) for g in graphs),
        gives,
    )


def _line(size: Any) -> tuple[UOp, int, int] | None:
    """A size that is a·v + b for a Variable v: v, a and b. It tells what v is."""
    terms = dict(polynomial(as_node(size)).terms)
    b = terms.pop((), 0)
    (atoms, a) = next(iter(terms.items()), ((), 0))
    if len(terms) != 1 or len(atoms) != 1 or a < 1 or not is_variable(atoms[0]):
        return None
    return atoms[0], a, b


def _shaped(stored: UOp, wanted: Signature) -> UOp:
    """The elements that an argument of this shape has of storage for the greatest."""
    count = product([as_node(s) for s in wanted.shape])
    return reshape(shrink(stored, (0,), (count,)), wanted.shape)


def _read(variable: UOp, stored: UOp) -> UOp:
    """A size as a kernel reads it: (stored - lo) mod (hi - lo + 1) + lo, which is in its bounds whatever is stored.

    It is written as the rules leave it, so that a size has one form wherever it is read.
    """
    lo, hi = (int(end.value) for end in variable.arg.bounds)
    count = hi - lo + 1
    from_least = arithmetic.add(Op.Cast(reshape(stored, ()), arg=index), arithmetic.number(-lo % count))
    return arithmetic.add(arithmetic.mod(from_least, count), arithmetic.number(lo))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SizedProgram(Program):
    """A program that is compiled for every size that its variables may have."""

    @property
    def _sizes(self) -> tuple[UOp, ...]:
        """The Variables whose values are arguments."""
        return self.recipe.sizes

    def sizes_at(self, arguments: Sequence[Any], **named: Any) -> dict[str, int]:
        """The sizes at which a call with these arguments runs; raises `UsageError` where they are none."""
        leaves = self._leaves(arguments, named)
        arrays = [array_of(a) if not isinstance(a, Tensor) else np.asarray(a) for a in leaves]
        return {name_of(v): value for v, value in self._bound([a.shape for a in arrays]).items()}

    def _bound(self, shapes: Sequence[tuple[int, ...]]) -> dict[UOp, int]:
        """The value of each Variable, by the shapes of the arguments."""
        found: dict[UOp, int] = {}
        for label, shape, wanted in zip(self._labels, shapes, self.inputs, strict=True):
            if len(shape) != len(wanted.shape):
                raise UsageError(f"{label} has shape {shape}; the program was compiled for {wanted}")
            for size, s in zip(shape, wanted.shape, strict=True):
                line = _line(s)
                if line is None or (size - line[2]) % line[1]:
                    continue  # it is held to its size when all are known
                node, a, b = line
                value = (size - b) // a
                lo, hi = (int(end.value) for end in node.arg.bounds)
                about = f"{label} has shape {shape}: the size {name_of(node)} is"
                if not lo <= value <= hi:
                    hint = "compile for a wider range"
                    raise UsageError(f"{about} {value}, not one of {lo} … {hi}", hint=hint)
                if found.setdefault(node, value) != value:
                    raise UsageError(f"{about} {found[node]} in another argument")
        missing = next((v for v in self._sizes if v not in found), None)
        if missing is not None:
            raise UsageError(f"the shapes {list(shapes)} do not determine the size {name_of(missing)}")
        return found

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the program at the sizes of the arguments."""
        arguments = self._leaves(arguments, named)
        if any(isinstance(a, Tensor) and (not a.is_computable or a.device != "CPU") for a in arguments):
            raise UsageError(
                f"{self.name} has symbolic sizes; it takes arrays, and Tensors on one device that have a value"
            )
        given, values = self._checked(arguments)
        sizes = [np.array([values[v]], np.int32) for v in self._sizes]
        shapes = [tuple(bound(n, values) for n in s.shape) for s in self.outputs]
        results = self._commands.run_into([*given, *sizes], shapes)
        return results[0] if self._single else self._shaped(results)

    def _checked(self, arguments: Sequence[Any]) -> tuple[list[Arrays], dict[UOp, int]]:
        """The arrays of a call, held to the sizes that they tell, and these sizes."""
        arrays = [np.asarray(a) if isinstance(a, Tensor) else array_of(a) for a in arguments]
        values = self._bound([a.shape for a in arrays])
        wanted = [Signature(s.dtype, tuple(bound(n, values) for n in s.shape)) for s in self.inputs]
        rows = zip(arrays, wanted, self._labels, strict=True)
        return [checked(a, s, label) for a, s, label in rows], values

    def _measurable(self, arguments: Sequence[Any]) -> tuple[list[Arrays], dict[int, int]]:
        """The arrays of a call and of its sizes, and the sizes by slot."""
        given, values = self._checked(arguments)
        sizes = {len(given) + k: values[v] for k, v in enumerate(self._sizes)}
        return [*given, *(np.array([n], np.int32) for n in sizes.values())], sizes

    def applied(self, *arguments: Any, **named: Any) -> Any:
        """Refused: a program of symbolic sizes is no part of another."""
        del arguments, named
        raise UsageError(f"{self.name} has symbolic sizes; it cannot be part of another program")
