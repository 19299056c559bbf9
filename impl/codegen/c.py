"""
C
=

Render a linear program as one C file: a function per kernel, and one entry that runs them all in order over a table of
pointers, so that a whole program is one foreign call.

A value with a shape is a set of *lanes*: it is never stored as such, but computed lane by lane where a Store needs it,
in loops of known length that the C compiler unrolls or vectorizes.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from soundline.impl.codegen import c_expressions as c
from soundline.impl.codegen import c_lanes as lanes
from soundline.impl.codegen.c_prelude import HEADERS, helpers_for
from soundline.impl.lower import arith
from soundline.impl.lower.linearize import is_global
from soundline.impl.lower.views import shape_of
from soundline.spec.bounds import Bounds
from soundline.spec.dtypes import DType, index, int32
from soundline.spec.errors import CompileError
from soundline.spec.uop import Op, UOp, toposort

ENTRY = "soundline_run"
_SHRINKING = (Op.CDiv, Op.CMod)
"""Ops whose value is never further from 0 than their dividend is."""
_INLINE = 64
"""An expression that is used once and is no longer than this is written where it is used."""

_ENTRY_HEAD = f"""
void {ENTRY}(void **slot) {{
    fenv_t environment; /* round to nearest, subnormals kept, whatever the caller's thread does */
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
"""
_ENTRY_TAIL = """    fesetenv(&environment);
}
"""


def render(program: UOp) -> str:
    """The C source of a planned Linear of Linears."""
    kernels = [Rendering(k, f"kernel_{n}") for n, k in enumerate(program.src)]
    functions = "".join(k.text() for k in kernels)
    calls = "".join(k.call() for k in kernels)
    return HEADERS + helpers_for(functions) + functions + _ENTRY_HEAD + calls + _ENTRY_TAIL


def storage_of(place: UOp) -> UOp:
    """The Buffer or Slice that a place lies in."""
    while place.op in (Op.Index, Op.After, Op.Reshape):
        place = place.src[0]
    return place


KEPT_SCALAR = '__asm__ volatile("");'
"""No instruction, but a loop with this in it stays scalar; the loops inside may still become vectors.

GCC 12 computes wrong values where it makes vectors of a loop that holds others: a sum that is added in one inner loop
and divided by in the next took an element of another row.
"""


@dataclass(slots=True)
class Rendering:
    """One kernel under rendering: its lines, the C text of each value, and how deep the loops are."""

    linear: UOp
    name: str
    lines: list[str] = field(default_factory=list)
    texts: dict[UOp, str] = field(default_factory=dict)
    depth: int = 1
    nests: list[bool] = field(default_factory=list)
    """For each open loop, whether it holds another loop."""
    variables: int = 0
    uses: Counter[UOp] = field(default_factory=Counter)
    lanes: set[int] = field(default_factory=set)
    """The axes over which a loop is open."""
    axes: dict[UOp, frozenset[int]] = field(default_factory=dict)
    """The axes on which values are known to depend."""

    def text(self) -> str:
        """The function."""
        for node in toposort(*self.linear.src):
            self.uses.update(node.src)
        for node in self.linear.src:
            self.instruction(node)
        head = f"\nstatic __attribute__((noinline)) void {self.name}({self.parameters()}) {{"
        return "\n".join([head, f"    typedef {self.index_type()} idx;", *self.lines, "}"]) + "\n"

    def index_type(self) -> str:
        """The narrower of C's index types in which every index expression of the kernel fits (U-02)."""
        known = [
            arith.bounds(n) for n in toposort(self.linear) if n.dtype is index and n.op not in _SHRINKING
        ]
        return "int32_t" if all(k is None or _fits(k, int32) for k in known) else "int64_t"

    def storages(self) -> list[UOp]:
        """The memory that the kernel touches, in order of first use."""
        found: dict[UOp, None] = {}
        for node in toposort(self.linear):
            if node.op is Op.Index and not is_register(storage_of(node)):
                found[storage_of(node)] = None
        return list(found)

    def written(self) -> set[UOp]:
        """The memory that the kernel stores to."""
        return {storage_of(n.src[0]) for n in self.linear.src if n.op is Op.Store}

    def parameters(self) -> str:
        """The parameter list."""
        written = self.written()
        return ", ".join(
            f"{'' if s in written else 'const '}{c.storage_type(s.dtype)} *restrict {name_of(s)}"
            for s in self.storages()
        )

    def call(self) -> str:
        """The statement that runs the kernel on the slots."""
        return f"    {self.name}({', '.join(_pointer(s) for s in self.storages())});\n"

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def instruction(self, node: UOp) -> None:
        """Render one instruction."""
        match node.op:
            case Op.Buffer:
                self.line(f"{c.value_type(node.dtype)} {name_of(node)}[{node.arg.size}];")
            case Op.Range:
                bound, name = self.operand(node.src[0]), f"r{node.arg.id}"
                self.texts[node] = name
                self.line(f"for (idx {name} = 0; {name} < {bound}; {name}++) {{")
                self.depth += 1
                self.nests = [*(True for _ in self.nests), False]
            case Op.End:
                if self.nests.pop():
                    self.line(KEPT_SCALAR)
                self.depth -= 1
                self.line("}")
            case Op.Store if node.src[1].shape:
                lanes.store(self, node)
            case Op.Store:
                self.store(node)
            case Op.Reduce if self.scalar_of(node):
                lanes.fold(self, node)
            case _ if not node.shape:
                self.value(node)

    def value(self, node: UOp) -> None:
        """Give a value a name, or keep its text where it is short and used once."""
        text = self.computed(node)
        if node.op is not Op.Load and len(text) <= _INLINE and self.uses[node] <= 1:
            self.texts[node] = text
        else:
            self.line(f"const {c.value_type(node.dtype)} {self.named(node)} = {text};")

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
        return c.expression(node, [self.operand(s) for s in node.src])

    def operand(self, node: UOp) -> str:
        """An operand: a constant or what an earlier instruction computed."""
        if node.op is Op.Const:
            return c.literal(node.arg.value, node.dtype)
        if node not in self.texts and node.op in (Op.Reshape, Op.Expand):
            return self.operand(node.src[0])
        if node not in self.texts:
            raise CompileError(f"{node.op.name} is used before it is computed", where="render")
        return self.texts[node]

    def scalar_of(self, fold: UOp) -> bool:
        """Whether a fold of lanes leaves one element."""
        return math.prod(shape_of(fold)) == 1

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
        value = place if is_register(storage) else c.loaded(node.dtype, place)
        if len(node.src) == 1:
            return value
        alternative, gate = (self.operand(s) for s in node.src[1:])
        return f"({gate} ? {value} : {alternative})"

    def store(self, node: UOp) -> None:
        """A write."""
        storage, value = storage_of(node.src[0]), self.operand(node.src[1])
        text = value if is_register(storage) else c.stored(node.src[1].dtype, value)
        statement = f"{self.place(node.src[0])} = {text};"
        self.line(f"if ({self.operand(node.src[2])}) {statement}" if len(node.src) > 2 else statement)


def _fits(known: Bounds, dtype: DType) -> bool:
    return dtype.min <= known.lo and known.hi <= dtype.max


def is_register(storage: UOp) -> bool:
    """Whether storage belongs to one kernel."""
    return storage.op is Op.Buffer and not is_global(storage)


def name_of(storage: UOp) -> str:
    """The C name of storage."""
    if storage.op is Op.Slice:
        return f"t{storage.src[1].arg.value}"
    return f"{'b' if is_global(storage) else 'acc'}{storage.arg.slot}"


def _pointer(storage: UOp) -> str:
    if storage.op is Op.Slice:
        return f"(void *)((char *)slot[{storage.src[0].arg.slot}] + {storage.src[1].arg.value})"
    return f"slot[{storage.arg.slot}]"
