"""
Graphs of a model
=================

Translate a graph node by node. A node that cannot be translated is noted and its results are marked as missing; nodes
that read a missing value are passed over, and only their operators are looked up, so that one pass finds everything
that stands in the way.

An operator without a translation of its own that the standard defines by a function is translated through the body of
that function; so are the functions that a model brings along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from soundline.impl.importers.reading import protos
from soundline.impl.importers.reading.errors import (
    UnsupportedModel,
    UnsupportedNode,
    UnsupportedOperator,
    ValueNeeded,
)
from soundline.impl.importers.reading.node import NeedsValue, Node, Refusal, Translation
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import SoundlineError
from soundline.spec.uop import UOp


class _PassedOver(Exception):  # never leaves this module
    """A node has no results, for reasons that are noted elsewhere."""


Scope = dict[str, Tensor | None]
"""What the names of a graph stand for; None for a value that could not be made."""


@dataclass(slots=True)
class Translator:
    """The state of one import: the inputs, the model's functions, and what was refused."""

    translations: Mapping[tuple[str, str], Translation]
    """Our own, by domain and name of the operator."""
    functions: Mapping[tuple[str, str], Any]
    inputs: dict[UOp, str] = field(default_factory=dict)
    """The names of the graph inputs, by their buffers."""
    refused: list[UnsupportedNode] = field(default_factory=list)
    operators: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    depth: int = 0

    def refuse(self, name: str, op_type: str, reason: str) -> None:
        """Note what is not supported."""
        self.refused.append(UnsupportedNode(name, op_type, reason))

    def finish(self) -> None:
        """Raise `UnsupportedModel` if anything was refused."""
        if self.operators or self.refused:
            found = [UnsupportedOperator(o, d, v, n) for (d, o, v), n in sorted(self.operators.items())]
            raise UnsupportedModel(found, list(dict.fromkeys(self.refused)))

    def run(self, nodes: Sequence[Any], scope: Scope, opsets: Mapping[str, int]) -> None:
        """Translate nodes in their order; their results are added to the scope."""
        for proto in nodes:
            self.step(proto, scope, opsets)

    def step(self, proto: Any, scope: Scope, opsets: Mapping[str, int]) -> None:
        """Translate one node."""
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        opset = opsets.get(domain, 1)
        operands = tuple(scope.get(name) if name else None for name in proto.input)
        missing = any(name and scope.get(name) is None for name in proto.input)
        outputs: Sequence[Tensor | None] = ()
        translation = self.lookup(proto, domain, opsets, operands, missing)
        if translation is None:
            self.operators[domain, proto.op_type, opset] += 1
        elif not missing:
            outputs = self.translated(proto, domain, opset, operands, translation, scope, opsets)
        for k, name in enumerate(proto.output):
            if name:
                scope[name] = outputs[k] if k < len(outputs) else None

    def lookup(
        self,
        proto: Any,
        domain: str,
        opsets: Mapping[str, int],
        operands: Sequence[Tensor | None],
        missing: bool,
    ) -> Translation | None:
        """How a node is translated: by a function of the model, by our own translation, by the standard's function."""
        opset = opsets.get(domain, 1)
        own = self.functions.get((domain, proto.op_type))
        if own is not None:
            return lambda node: self.call(own, node, opsets)
        if (domain, proto.op_type) in self.translations:
            return self.translations[domain, proto.op_type]
        if missing:  # whether there is a body may depend on the operands
            return (lambda node: ()) if protos.is_defined_by_function(proto, opset) else None
        body = protos.function_body(proto, opset, operands)
        return None if body is None else lambda node: self.call(body, node, opsets)

    def translated(
        self,
        proto: Any,
        domain: str,
        opset: int,
        operands: tuple[Tensor | None, ...],
        translation: Translation,
        scope: Scope,
        opsets: Mapping[str, int],
    ) -> Sequence[Tensor | None]:
        """The results of a node, or nothing where it is refused."""

        def run(graph: Any, arguments: Sequence[Tensor]) -> list[Tensor]:
            return self.subgraph(graph, arguments, scope, opsets)

        name = proto.name or next((o for o in proto.output if o), "")
        attributes = protos.attributes(proto)
        node = Node(proto.op_type, domain, name, opset, operands, attributes, tuple(proto.output), run)
        try:
            made = translation(node)
            unread = sorted(set(node.attributes) - node.read)
            if unread and (domain, proto.op_type) in self.translations:
                raise Refusal(f"the attribute {unread[0]} is not understood")
        except _PassedOver:
            return ()
        except Refusal as refusal:
            self.refuse(name, proto.op_type, str(refusal))
            return ()
        except NeedsValue as needed:
            names = tuple(sorted(self.inputs.get(b, "?") for b in needed.buffers))
            reason = f"its shape depends on the value of {', '.join(names)}"
            self.refused.append(ValueNeeded(name, proto.op_type, reason, names))
            return ()
        except SoundlineError as error:
            self.refuse(name, proto.op_type, error.message)
            return ()
        results = [made] if isinstance(made, Tensor) else list(made)
        for k, wanted in enumerate(proto.output):
            if wanted and (k >= len(results) or results[k] is None):
                self.refuse(name, proto.op_type, f"its result {k} is not supported")
        return results

    def call(self, function: Any, node: Node, opsets: Mapping[str, int]) -> list[Tensor | None]:
        """The results of a function of nodes."""
        node.read.update(node.attributes)
        if self.depth > 16:
            raise Refusal("functions call each other too deeply")
        padded = [*node.operands, *[None] * (len(function.input) - len(node.operands))]
        scope: Scope = dict(zip(function.input, padded, strict=True))
        nodes, own = protos.instantiated(function, node.attributes)
        self.depth += 1
        before = len(self.refused) + self.operators.total()
        self.run(nodes, scope, {**opsets, **own})
        self.depth -= 1
        if len(self.refused) + self.operators.total() > before:
            raise _PassedOver
        return [scope.get(name) for name in function.output]

    def subgraph(
        self, graph: Any, arguments: Sequence[Tensor], outer: Scope, opsets: Mapping[str, int]
    ) -> list[Tensor]:
        """The results of a graph that is an attribute; it sees the names around it."""
        scope: Scope = dict(outer)
        scope.update(self.initializers(graph))
        scope.update(zip((i.name for i in graph.input), arguments, strict=True))
        self.run(graph.node, scope, opsets)
        found = [f for o in graph.output if (f := scope.get(o.name)) is not None]
        if len(found) < len(graph.output):
            raise _PassedOver
        return found

    def initializers(self, graph: Any) -> Scope:
        """The constants of a graph."""
        found: Scope = {}
        for proto in graph.initializer:
            try:
                found[proto.name] = Tensor(protos.array(proto))
            except Refusal as refusal:
                self.refuse(proto.name, "initializer", str(refusal))
                found[proto.name] = None
        for proto in graph.sparse_initializer:
            self.refuse(proto.values.name, "initializer", "sparse tensors are not supported")
            found[proto.values.name] = None
        return found
