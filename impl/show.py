"""
Showing programs
================

A graph as numbered lines, one node a line, sources before users. Constants, storage, loop indices and shapes are
written where they are used.
"""

from __future__ import annotations

from soundline.spec.uop import Op, UOp, toposort


def shown(root: UOp) -> str:
    """A graph as text; a Linear of kernels kernel by kernel, instructions indented by the loops around them.

    >>> from soundline.spec.dtypes import int32
    >>> from soundline.spec.uop import const, param
    >>> print(shown(Op.Add(param(0, int32, (2,)), param(1, int32, (2,)))))
    %0 = Param(slot 0) : int32[2]
    %1 = Param(slot 1) : int32[2]
    %2 = Add(%0, %1) : int32[2]
    """
    if root.op is Op.Linear and any(s.op in (Op.Sink, Op.Linear) for s in root.src):
        parts: list[str] = []
        for number, kernel in enumerate(root.src):
            inside = "\n".join("    " + line for line in shown(kernel).splitlines())
            parts.append(f"kernel {number}:\n{inside}")
        return "\n".join(parts)
    return "\n".join(_Writer().written(root))


class _Writer:
    """The lines of one graph, and the name of each node in them."""

    def __init__(self) -> None:
        self.names: dict[UOp, str] = {}
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0

    def written(self, root: UOp) -> list[str]:
        """The lines of a graph, or of a sequence of instructions."""
        if root.op is not Op.Linear:
            self.reach(root)
            return self.lines
        for node in root.src:
            self.depth -= node.op is Op.End
            self.reach(node)
            if node.op in (Op.Range, Op.Buffer):
                self.line(f"{self.names[node]} = {_declaration(node)}")
            self.depth += node.op is Op.Range
        return self.lines

    def reach(self, root: UOp) -> None:
        """Write whatever a node needs and is not written, and the node."""
        for node in toposort(root):
            if node in self.names:
                continue
            inline = self.inline(node)
            if inline is None:
                self.names[node] = f"%{self.count}"
                self.count += 1
                self.line(f"{self.names[node]} = {self.call(node)}{_type(node)}")
            else:
                self.names[node] = inline

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def inline(self, node: UOp) -> str | None:
        """What is written where a node is used, for a node without a line of its own."""
        match node.op:
            case Op.Const:
                return str(node.arg.value)
            case Op.Buffer:
                return f"{'reg' if node.arg.addrspace == 'REG' else 'buf'}{node.arg.slot}"
            case Op.Range:
                return f"r{node.arg.id}"
            case Op.Stack if all(s.op is Op.Const for s in node.src):
                return f"[{', '.join(self.names[s] for s in node.src)}]"
            case _:
                return None

    def call(self, node: UOp) -> str:
        """The op, the names of its sources, and its arg."""
        sources = () if node.op is Op.Param else node.src
        parts = [_loop(s) if node.op is Op.End and s.op is Op.Range else self.names[s] for s in sources]
        return f"{node.op.name}({', '.join([*parts, *_arg(node)])})"


def _loop(node: UOp) -> str:
    bound = node.src[0].arg.value if node.src[0].op is Op.Const else "…"
    return f"r{node.arg.id} {node.arg.type.name} < {bound}"


def _declaration(node: UOp) -> str:
    if node.op is Op.Range:
        return f"Range({_loop(node)})"
    return f"Buffer({node.arg.addrspace}) : {node.dtype}[{node.arg.size}]"


def _type(node: UOp) -> str:
    if node.shape is None:
        return ""
    return f" : {node.dtype}[{', '.join(map(str, node.shape))}]" if node.shape else f" : {node.dtype}"


def _arg(node: UOp) -> list[str]:
    match node.op:
        case _ if node.arg is None:
            return []
        case Op.Param:
            return [f"slot {node.arg.slot}"]
        case Op.Reduce:
            return [f"{node.arg.op.name} over {list(node.arg.axes)}" if node.arg.axes else node.arg.op.name]
        case Op.Slice:
            return [f"{node.arg.dtype}[{node.arg.size}]"]
        case _:
            return [str(node.arg)]
