"""
ONNX models
===========

`from_onnx` reads an ONNX model and gives a program of our own: a graph of UOps over the model's inputs, which can be
called, compiled, evaluated by the law and looked at. Everything that is not supported is listed at once.

Shapes are numbers here. A size that has a name in the model is given in `sizes`; an input whose *value* decides a shape
(the shape of a Reshape, the starts of a Slice) is given in `constants`, and is then no input any more.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soundline.impl.arrays import storage
from soundline.impl.arrays.operands import array_of
from soundline.impl.importers.operators import OPERATORS
from soundline.impl.importers.reading import protos
from soundline.impl.importers.reading.graph import Scope, Translator
from soundline.impl.importers.reading.node import Refusal
from soundline.impl.lower.callify import callify
from soundline.impl.program.compile import Program, Signature, compile  # noqa: A004  # the public function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, substitute

if TYPE_CHECKING:
    from onnx import ModelProto

Arrays = npt.NDArray[Any]


class ImportedModel:
    """A model as a program: call it with arrays or Tensors, by position or by the names of the inputs.

    For arrays the results are arrays, computed by a program that is compiled at the first call. For Tensors they are
    lazy Tensors. Several outputs are returned as a tuple, in the order of `outputs`.
    """

    name: str
    inputs: Mapping[str, Signature]
    """The dtype and shape of every input, in order."""
    outputs: Mapping[str, Signature]
    """The dtype and shape of every output, in order."""

    def __init__(
        self, name: str, inputs: Mapping[str, tuple[Signature, UOp, UOp]], outputs: Mapping[str, Tensor]
    ) -> None:
        self.name = name
        self.inputs = {n: signature for n, (signature, _, _) in inputs.items()}
        self.outputs = {n: Signature(t.dtype, t.shape) for n, t in outputs.items()}
        self._buffers = tuple(buffer for _, buffer, _ in inputs.values())
        self._values = tuple(value for _, _, value in inputs.values())
        self._results = tuple(t.uop for t in outputs.values())

    def __repr__(self) -> str:
        takes = ", ".join(f"{n}: {s}" for n, s in self.inputs.items())
        gives = ", ".join(f"{n}: {s}" for n, s in self.outputs.items())
        return f"ImportedModel({self.name}: ({takes}) -> ({gives}))"

    @functools.cached_property
    def function(self) -> UOp:
        """The model as one Function: its Params are the inputs and the stored constants, its body is `uops`."""
        return callify(self._results, self._buffers)

    @property
    def uops(self) -> UOp:
        """The Tuple of the outputs, over Params."""
        return self.function.src[0]

    @property
    def results(self) -> tuple[UOp, ...]:
        """The outputs as graphs over Buffers, those of the inputs first; what `soundline.spec.evaluate` takes."""
        return self._results

    def bindings(self, *arguments: Any, **named: Any) -> dict[int, Arrays]:
        """What the Buffers of `results` hold in a call, by slot: the arguments, and the stored constants."""
        given = [np.asarray(a) for a in self._arguments(arguments, named)]
        held = {b.arg.slot: a.reshape(-1) for b, a in zip(self._buffers, given, strict=True)}
        for b in self.function.src[1 + len(self._buffers) :]:
            held[b.arg.slot] = storage.contents(b)
        return held

    def compile(self, *, device: str = "CPU", profile: str = "exact") -> Program:
        """The compiled program, which takes the inputs by position."""

        def model(*arguments: Tensor) -> Tensor | tuple[Tensor, ...]:
            return self._applied(arguments)

        model.__name__ = self.name or "model"
        return compile(model, *self.inputs.values(), device=device, profile=profile)

    @functools.cached_property
    def _program(self) -> Program:
        return self.compile()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The outputs for these inputs."""
        given = self._arguments(arguments, named)
        if any(isinstance(a, Tensor) for a in given):
            return self._applied([a if isinstance(a, Tensor) else Tensor(array_of(a)) for a in given])
        return self._program(*given)

    def _arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        names = list(self.inputs)
        if len(arguments) > len(names):
            raise UsageError(f"{self.name} takes {len(names)} inputs, not {len(arguments)}")
        given = dict(zip(names, arguments, strict=False))
        wrong = [n for n in named if n not in self.inputs or n in given]
        if wrong:
            raise UsageError(
                f"{wrong[0]!r} is not an input that is still open", hint=f"inputs: {', '.join(names)}"
            )
        given |= named
        absent = [n for n in names if n not in given]
        if absent:
            raise UsageError(f"{self.name} misses the inputs {', '.join(absent)}")
        return [given[n] for n in names]

    def _applied(self, arguments: Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
        for (name, wanted), a in zip(self.inputs.items(), arguments, strict=True):
            if (a.dtype, a.shape) != (wanted.dtype, wanted.shape):
                raise UsageError(f"the input {name} is {wanted}; got {a.dtype}{list(a.shape)}")
        replaced = dict(zip(self._values, (a.uop for a in arguments), strict=True))
        whole = substitute(Op.Tuple(*self._results), replaced)
        found = tuple(Tensor.of(u) for u in whole.src)
        return found[0] if len(found) == 1 else found


def from_onnx(
    source: str | Path | bytes | ModelProto,
    *,
    constants: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> ImportedModel:
    """Read an ONNX model from a path, bytes or a ModelProto.

    `constants` fixes inputs to values, and `sizes` gives the named sizes of the model. Raises `UnsupportedModel` with
    a list of everything that is not supported, and `UsageError` if the source is not a model.
    """
    proto = protos.model_of(source)
    graph = proto.graph
    translator = Translator(OPERATORS, {(_domain(f.domain), f.name): f for f in proto.functions})
    scope = translator.initializers(graph)
    fixed = {name: np.asarray(value) for name, value in (constants or {}).items()}
    unknown = sorted(set(fixed) - {i.name for i in graph.input})
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not an input of the model")
    inputs = _inputs(graph, translator, scope, fixed, sizes or {})
    translator.run(graph.node, scope, protos.opsets_of(proto.opset_import))
    translator.finish()
    outputs = {o.name: scope.get(o.name) for o in graph.output}
    absent = [n for n, t in outputs.items() if t is None]
    if absent:
        raise UsageError(f"no node makes the output {absent[0]!r}")
    found = {n: t for n, t in outputs.items() if t is not None}
    return ImportedModel(graph.name or "model", inputs, found)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _inputs(
    graph: Any, translator: Translator, scope: Scope, fixed: Mapping[str, Arrays], sizes: Mapping[str, int]
) -> dict[str, tuple[Signature, UOp, UOp]]:
    """A placeholder for every input that is neither an initializer nor fixed; all are added to the scope."""
    found: dict[str, tuple[Signature, UOp, UOp]] = {}
    for info in graph.input:
        if info.name in fixed:
            scope[info.name] = _fixed(info, fixed[info.name], translator)
            continue
        if info.name in scope:
            continue
        try:
            dtype, shape = protos.signature(info, sizes)
        except Refusal as refusal:
            translator.refuse(info.name, "input", str(refusal))
            scope[info.name] = None
            continue
        buffer, value = storage.placeholder(dtype, shape)
        translator.inputs[buffer] = info.name
        found[info.name] = (Signature(dtype, shape), buffer, value)
        scope[info.name] = Tensor.of(value)
    return found


def _fixed(info: Any, value: Arrays, translator: Translator) -> Tensor | None:
    try:
        return Tensor(value)
    except UsageError as error:
        translator.refuse(info.name, "input", error.message)
        return None
