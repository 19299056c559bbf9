"""
A kernel being written
======================

What all parts of the renderer, also those that know vectors and lanes, share of the kernel that is written: its lines,
the names and texts of its values, and how a scalar is computed, read and written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from soundline.impl.codegen.c.expressions import Expressions
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.forms import Forms
from soundline.impl.lower.schedule.transfers import storage_of
from soundline.spec.dtypes import index
from soundline.spec.errors import CompileError
from soundline.spec.uop import Op, UOp

_INLINE = 64
"""An expression that is used once and is no longer than this is written where it is used."""


@dataclass
class Kernel:
    """The lines of a kernel, the C text of each value, and how deep the loops are."""

    linear: UOp
    name: str
    c: Expressions
    """The C of its scalars, and the helpers that were asked for."""
    forms: Forms
    """In which form values are held and moved."""
    lines: list[str] = field(default_factory=list)
    texts: dict[UOp, str] = field(default_factory=dict)
    depth: int = 1
    variables: int = 0
    uses: Counter[UOp] = field(default_factory=Counter)
    lanes: set[int] = field(default_factory=set)
    """The axes over which a loop is open."""
    axes: dict[UOp, frozenset[int]] = field(default_factory=dict)
    """The axes on which values are known to depend."""
    fenced: bool = False
    """Whether it has non-temporal stores."""

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def value(self, node: UOp) -> None:
        """Give a value a name, or keep its text where it is short and used once."""
        text = self.computed(node)
        if node.op is not Op.Load and len(text) <= _INLINE and self.uses[node] <= 1:
            self.texts[node] = text
        else:
            self.line(f"const {self.c.value_type(node.dtype)} {self.named(node)} = {text};")

    def named(self, node: UOp) -> str:
        """A fresh variable for a value."""
        name = f"{'i' if node.dtype is index else 'v'}{self.variables}"
        self.variables += 1
        self.texts[node] = name
        return name

    def computed(self, node: UOp) -> str:
        """The expression of a value."""
        if node.op is Op.Load:
            return self.load(node)
        return self.c.expression(node, [self.operand(s) for s in node.src])

    def operand(self, node: UOp) -> str:
        """An operand: a constant or what an earlier instruction computed."""
        if node.op is Op.Const:
            return self.c.literal(node.arg.value, node.dtype)
        if node not in self.texts and node.op in (Op.Reshape, Op.Expand):
            return self.operand(node.src[0])
        if node not in self.texts:
            raise CompileError(f"{node.op.name} is used before it is computed", where="render")
        return self.texts[node]

    def storage_name(self, place: UOp) -> str:
        """The C name of the storage of a place."""
        return name_of(storage_of(place))

    def place(self, place: UOp) -> str:
        """The C lvalue of a place."""
        return f"{name_of(storage_of(place))}[{self.operand(place.src[1])}]"

    def load(self, node: UOp) -> str:
        """A read, which a gate may replace by its alternative."""
        storage = storage_of(node.src[0])
        place = self.place(node.src[0])
        value = place if is_register(storage) else self.c.loaded(node.dtype, place)
        if len(node.src) == 1:
            return value
        alternative, gate = (self.operand(s) for s in node.src[1:])
        return f"({gate} ? {value} : {alternative})"

    def store(self, node: UOp) -> None:
        """A write."""
        storage, value = storage_of(node.src[0]), self.operand(node.src[1])
        text = value if is_register(storage) else self.c.stored(node.src[1].dtype, value)
        statement = f"{self.place(node.src[0])} = {text};"
        self.line(f"if ({self.operand(node.src[2])}) {statement}" if len(node.src) > 2 else statement)


def name_of(storage: UOp) -> str:
    """The C name of storage."""
    if storage.op is Op.Slice:
        return f"t{storage.src[1].arg.value}"
    return f"{'b' if is_global(storage) else 'acc'}{storage.arg.slot}"


def is_register(storage: UOp) -> bool:
    """Whether storage belongs to one kernel."""
    return storage.op is Op.Buffer and not is_global(storage)
