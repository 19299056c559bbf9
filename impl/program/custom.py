"""
Custom functions
================

Functions that soundline does not see into: a text in C, which is compiled with the program, or a function in Python,
which the program calls back. Each is registered under a name with a declared signature, and is applied to Tensors of
that signature; in the graph it is the Call of a ``CustomFunction`` with a prototype of each result.

What it computes is taken on trust, and the certificate of a program says so. A *reference*, a function on Tensors, says
what it should compute: the evaluator computes by it, and `CustomFunction.check` compares the two. An *adjoint* lets
gradients pass; without one the Call is opaque (U-31).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.executables import building, foreign
from soundline.impl.executables.signatures import Signature
from soundline.impl.tensors.core import functions
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.arrays.arrays import Array
from soundline.spec.errors import UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp, buffer, param

Arrays = npt.NDArray[Any]
_RESERVED: Final = ("kernel_", "sl_", "soundline_")
"""How names of the generated C begin."""


class CustomFunction:
    """A registered function: call it with Tensors, or values for them, of the dtypes and shapes that it declares.

    `takes` and `gives` are the signatures of the arguments and results. The function is one of:

    * `c`: C code that defines ``void NAME(const T0 *a0, …, U0 *r0, …)`` over C-contiguous arrays, first the arguments,
      then the results. Narrow floats are passed as their bits, bools as the bytes 0 and 1. The function must write all
      elements of the results, and nothing else. It is compiled without contraction and fast math, like all kernels.
    * `call`: a Python function from numpy arrays to an array or a tuple of arrays. It must not keep or change its
      arguments.

    `reference` is a function of Tensors with the same results. `adjoint` takes the arguments, the results and the
    gradients of the results, as Tensors, and returns a gradient or None for each argument.
    """

    def __init__(
        self,
        name: str,
        *,
        takes: Sequence[Signature],
        gives: Sequence[Signature],
        c: str | None = None,
        call: Callable[..., Any] | None = None,
        reference: Callable[..., Any] | None = None,
        adjoint: Callable[..., Any] | None = None,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z]\w*", name) or name.startswith(_RESERVED):
            hint = f"an identifier of C that does not begin with {', '.join(_RESERVED)}"
            raise UsageError(f"{name!r} is not a name of a custom function", hint=hint)
        if (c is None) == (call is None):
            raise UsageError(f"{name} needs either C code or a Python function")
        if c is not None and not re.search(rf"\bvoid\s+{name}\s*\(", c):
            raise UsageError(f"the C code does not define void {name}(…)", where=name)
        if foreign.is_registered(name):
            raise UsageError(f"a custom function named {name!r} exists already", hint="choose another name")
        self.name = name
        self.takes, self.gives = tuple(takes), tuple(gives)
        if not self.gives or not all(isinstance(s, Signature) for s in (*self.takes, *self.gives)):
            raise UsageError("expected Signatures, and at least one for a result", where=name)
        self.c, self.call = c, call
        self.reference, self.adjoint = reference, adjoint
        foreign.register(self)

    def __repr__(self) -> str:
        takes, gives = (", ".join(map(str, s)) for s in (self.takes, self.gives))
        return f"CustomFunction({self.name}: ({takes}) -> ({gives}))"

    def __call__(self, *arguments: Any) -> Any:
        """The results, as lazy Tensors: one, or a tuple of several. Raises `UsageError` for other arguments."""
        node = Op.Call(self.prototype, *(t.uop for t in self._taken(arguments)))
        found = tuple(Tensor.of(Op.GetTuple(node, arg=k)) for k in range(len(self.gives)))
        return found if len(found) > 1 else found[0]

    def _taken(self, arguments: Sequence[Any]) -> list[Tensor]:
        if len(arguments) != len(self.takes):
            raise UsageError(f"{self.name} takes {len(self.takes)} arguments, not {len(arguments)}")
        tensors = [a if isinstance(a, Tensor) else Tensor(a) for a in arguments]
        for k, (t, s) in enumerate(zip(tensors, self.takes, strict=True)):
            if (t.dtype, t.shape) != (s.dtype, s.shape):
                given = Signature(t.dtype, t.shape)
                raise UsageError(f"argument {k} is {given}; {self.name} takes {s}", where=self.name)
        return tensors

    @property
    def prototype(self) -> UOp:
        """The CustomFunction node: its name, and a Param like each result."""
        results = (param(k, s.dtype, s.shape) for k, s in enumerate(self.gives))
        return Op.CustomFunction(*results, arg=self.name)

    @property
    def kernel(self) -> UOp | None:
        """The function as a kernel over Buffers, arguments first: its text, and a Custom that calls it. None where it
        is written in Python.
        """
        if self.c is None:
            return None
        storages = [buffer(k, s.size, s.dtype) for k, s in enumerate((*self.takes, *self.gives))]
        places = ", ".join(f"{{{k}}}" for k in range(len(storages)))
        return Op.Linear(Op.Source(arg=self.c), Op.Custom(*storages, arg=f"{self.name}({places});"))

    def result(self, *arguments: Arrays) -> tuple[Arrays, ...]:
        """What a function in Python gives for arrays; raises `UsageError` where that is not what it declares."""
        assert self.call is not None
        found = self.call(*arguments)
        results = tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))
        given = [(r.dtype, r.shape) for r in results]
        if given != [(s.storage, s.shape) for s in self.gives]:
            shown = ", ".join(f"{dtype}{list(shape)}" for dtype, shape in given)
            raise UsageError(f"it returned {shown}, not {', '.join(map(str, self.gives))}", where=self.name)
        return results

    # The reference ------------------------------------------------------------------------------------------------

    def evaluated(self, *arguments: Array) -> tuple[Array, ...]:
        """What the reference gives, by the evaluator: what `evaluate` wants of a function."""
        if self.reference is None:
            raise UsageError("it has no reference to evaluate", where=self.name)
        places = [storage.placeholder(s.dtype, s.shape) for s in self.takes]
        found = self.reference(*(Tensor.of(value) for _, value in places))
        results = list(found) if isinstance(found, tuple | list) else [found]
        given = [Signature(r.dtype, r.shape) for r in results]
        if given != list(self.gives):
            wanted = ", ".join(map(str, self.gives))
            raise UsageError(
                f"the reference gives {', '.join(map(str, given))}, not {wanted}", where=self.name
            )
        body, outside = functions.parameterized([r.uop for r in results], places)
        if outside:
            raise UsageError("the reference uses a stored tensor from outside", where=self.name)
        bound = dict(enumerate(arguments))
        return tuple(evaluate(b, bound, functions=foreign.references()) for b in body)

    def check(self, *arguments: Any) -> None:
        """Compare what the function computes with its reference, bit for bit; raises `UsageError` where they differ.

        NaNs are one value (U-05).
        """
        tensors = self._taken(arguments)
        found = self(*(Tensor(t.numpy()) for t in tensors))
        values = building.computed([t.uop for t in (found if isinstance(found, tuple) else (found,))])
        wanted = self.evaluated(*(Array.from_numpy(t.numpy()) for t in tensors))
        for k, (value, law) in enumerate(zip(values, wanted, strict=True)):
            got = Array.from_numpy(value)
            if got != law:
                at = next(
                    n for n, (a, b) in enumerate(zip(got.elements, law.elements, strict=True)) if a != b
                )
                place = tuple(map(int, np.unravel_index(at, value.shape)))
                raise UsageError(
                    f"result {k} has {got.elements[at]!r} at {place}; the reference gives {law.elements[at]!r}",
                    where=self.name,
                )

    def passes(self, call: UOp, position: int, g: UOp) -> list[UOp | None]:
        """What the arguments of a Call receive for one result: the adjoint, where all others receive zero."""
        assert self.adjoint is not None
        arguments = [Tensor.of(a) for a in call.src[1:]]
        results = [Tensor.of(Op.GetTuple(call, arg=k)) for k in range(len(self.gives))]
        zeros = (Tensor.zeros(*s.shape, dtype=s.dtype) for s in self.gives)
        gradients = [Tensor.of(g) if k == position else z for k, z in enumerate(zeros)]
        found = self.adjoint(*arguments, *results, *gradients)
        parts = list(found) if isinstance(found, tuple | list) else [found]
        return [p.uop if isinstance(p, Tensor) else None for p in parts]
