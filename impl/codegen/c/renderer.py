"""
C
=

Render a linear program as one C file: a function per kernel, and one entry that runs the kernel with a given number
over a table of pointers; the runtime goes through the numbers in order, so that a whole program is one foreign call.
The iterations of a Range of axis type THREAD are dealt out to cores: a kernel with one takes the number of its core,
and of how many.

A value with a shape is a set of *lanes*: it is never stored as such, but computed lane by lane where a Store needs it,
in loops of known length that the C compiler unrolls or vectorizes.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

from soundline.impl.analysis import arithmetic
from soundline.impl.codegen.c import interruption as stops
from soundline.impl.codegen.c import lanes, streams, vectors
from soundline.impl.codegen.c.expressions import Expressions, storage_type
from soundline.impl.codegen.c.helpers import ROLLED, Helpers
from soundline.impl.codegen.c.kernel import Kernel, is_register, name_of
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule.forms import forms_of
from soundline.impl.lower.schedule.transfers import storage_of
from soundline.spec.dtypes import DType, index, int32
from soundline.spec.errors import CompileError
from soundline.spec.ops.bounds import Bounds
from soundline.spec.uop import AxisType, Op, UOp, toposort

ENTRY = "soundline_run"
COMMANDS = "soundline_commands"
"""The description of a library: the number of its kernels, and over how many cores each may be spread."""
MOST_CORES = 256
_SHRINKING = (Op.CDiv, Op.CMod)
"""Ops whose value is never further from 0 than their dividend is."""
_ENTRY_HEAD = f"""
void {ENTRY}(void **slot, uint32_t command, uint32_t core, uint32_t cores) {{
    switch (command) {{
"""
_ENTRY_TAIL = """    }
}
"""


def render(program: UOp) -> str:
    """The C source of a planned Linear of Linears."""
    use = Helpers()
    each = enumerate(zip(program.src, forms_of(program), strict=True))
    kernels = [Rendering(kernel, f"kernel_{n}", Expressions(use), forms) for n, (kernel, forms) in each]
    functions = "".join(k.text() for k in kernels)
    calls = "".join(f"    case {n}:\n        {k.call()}\n        break;\n" for n, k in enumerate(kernels))
    counts = ", ".join(str(n) for n in (len(kernels), *(k.cores() for k in kernels)))
    table = f"\nconst uint32_t {COMMANDS}[] = {{{counts}}};\n"
    given = "".join(f"\n{i.arg}\n" for k in program.src for i in k.src if i.op is Op.Source)
    use("stdint")
    if given:
        use.every_header()
    return "".join((use.text(), given, functions, table, _ENTRY_HEAD, calls, _ENTRY_TAIL))


SMALL = 48
"""A kernel of at most this many lines may be inlined: GCC takes some milliseconds for a function, however small."""
APART = "__attribute__((noinline)) "
"""The attribute that keeps a larger kernel from being inlined, so that its registers and stack affect no other
kernel."""

KEPT_SCALAR = '__asm__ volatile("");'
"""This is not an instruction, but a loop that contains it stays scalar; the loops inside may still be vectorized. GCC
12 computes wrong values where it vectorizes a loop that contains others: a sum that is added in one inner loop and
divided by in the next took an element of another row.
"""
_MANY_SUMS = 8
"""From this number of vectors on, a loop that reduces into them is not unrolled: two iterations would not fit into the
registers."""


@dataclass
class Rendering(Kernel):
    """One kernel under rendering: its instructions, and what its loops are."""

    closing: list[str] = field(default_factory=list)
    """For each open loop, what closes it."""
    nests: list[bool] = field(default_factory=list)
    """For each open loop, whether it holds another loop."""
    has_arrays: bool = False
    """Whether it has storage of its own that is not a machine register."""
    stops: dict[UOp, int] = field(default_factory=dict)
    """The loops that ask whether the kernel is to end (`interruption`)."""

    @functools.cached_property
    def nodes(self) -> list[UOp]:
        """What the instructions reach."""
        return list(toposort(*self.linear.src))

    @functools.cached_property
    def sums_in_vectors(self) -> int:
        """How many registers of the kernel hold vectors."""
        return sum(n.op is Op.Buffer for n in self.forms.vectors)

    def text(self) -> str:
        """The function."""
        self.uses.update([s for node in self.nodes for s in node.src])
        self.stops = stops.stops(self.linear.src)
        for node in self.linear.src:
            self.instruction(node)
        if self.fenced:
            self.lines.append(streams.FENCE)
        small = len(self.lines) <= SMALL and not self.has_arrays
        head = f"\nstatic {'' if small else APART}void {self.name}({self.parameters()}) {{"
        return "\n".join([head, f"    typedef {self.index_type()} idx;", *self.lines, "}"]) + "\n"

    def index_type(self) -> str:
        """The narrower of C's index types in which every index expression of the kernel fits (U-02)."""
        known = [arithmetic.bounds(n) for n in self.nodes if n.dtype is index and n.op not in _SHRINKING]
        return "int32_t" if all(k is None or _fits(k, int32) for k in known) else "int64_t"

    @functools.cached_property
    def storages(self) -> list[UOp]:
        """The memory that the kernel touches, in order of first use."""
        found: dict[UOp, None] = {}
        for node in self.nodes:
            if node.op is Op.Index and not is_register(storage_of(node)):
                found[storage_of(node)] = None
            elif node.op is Op.Custom:
                found.update(dict.fromkeys(node.src))
        return list(found)

    def written(self) -> set[UOp]:
        """The memory that the kernel stores to."""
        stored = {storage_of(n.src[0]) for n in self.linear.src if n.op is Op.Store}
        return stored.union(*(n.src for n in self.linear.src if n.op is Op.Custom))

    def parameters(self) -> str:
        """The parameter list."""
        written = self.written()
        storages = [
            f"{'' if s in written else 'const '}{storage_type(s.dtype)} *restrict {name_of(s)}"
            for s in self.storages
        ]
        return ", ".join(storages + ["uint32_t core", "uint32_t cores"] * bool(self.threads()))

    def call(self) -> str:
        """The statement that runs the kernel on the slots."""
        storages = [_pointer(s) for s in self.storages]
        return f"{self.name}({', '.join(storages + ['core', 'cores'] * bool(self.threads()))});"

    def threads(self) -> list[UOp]:
        """The Ranges whose iterations are dealt out to cores."""
        return [n for n in self.linear.src if n.op is Op.Range and n.arg.type is AxisType.THREAD]

    def cores(self) -> int:
        """Over how many cores the kernel may be spread: its one outermost THREAD Range says it, which holds all that
        is stored, so that no core waits for another.
        """
        threads = self.threads()
        if not threads:
            return 1
        opened: list[UOp] = []
        spread = True
        for node in self.linear.src:
            if node.op is Op.Range:
                opened.append(node)
                spread = len(threads) == 1 and opened[0] is threads[0]
            elif node.op is Op.End:
                opened.pop()
            elif node.op is Op.Store and not is_register(storage_of(node.src[0])):
                spread = bool(opened) and spread
            if not spread:
                raise CompileError(
                    "a kernel with a THREAD Range must be a single nest inside that Range", where="render"
                )
        bound = threads[0].src[0]
        return min(int(bound.arg.value), MOST_CORES) if bound.op is Op.Const else MOST_CORES

    def instruction(self, node: UOp) -> None:
        """Render one instruction."""
        match node.op:
            case Op.Buffer if node in self.forms.vectors:
                vectors.register(self, node)
            case Op.Store if node in self.forms.vectors:
                vectors.store(self, node)
            case _ if node in self.forms.vectors:
                vectors.value(self, node)
            case Op.Source:
                pass  # stands before all kernels
            case Op.Custom:
                self.line(node.arg.format(*map(name_of, node.src)))
            case Op.Buffer:
                aligned = "_Alignas(64) " if node.arg.size * node.dtype.itemsize >= 64 else ""
                self.has_arrays |= node.arg.size > 1
                self.line(f"{aligned}{self.c.value_type(node.dtype)} {name_of(node)}[{node.arg.size}];")
            case Op.Range:
                self.loop(node)
            case Op.End:
                if self.nests.pop():
                    self.line(KEPT_SCALAR)
                self.depth -= 1
                self.line(self.closing.pop())
            case Op.Store if node.src[1].shape:
                lanes.store(self, node)
            case Op.Store:
                self.store(node)
            case Op.Reduce if math.prod(shape_of(node)) == 1:
                lanes.reduction(self, node)
            case _ if not node.shape:
                self.value(node)

    def loop(self, node: UOp) -> None:
        """Open a loop."""
        bound, name = self.operand(node.src[0]), f"r{node.arg.id}"
        self.texts[node] = name
        first, end = _ends(node, bound)
        every = self.stops.get(node, 0)
        if every:
            self.c.use(stops.QUESTION)
        if every > 1:
            head, first, end = stops.blocks(name, first, end, every)
            self.line(head)
        if node.arg.type is AxisType.REDUCE and self.sums_in_vectors >= _MANY_SUMS:
            self.lines.append(ROLLED)
        self.line(_loop(name, first, end))
        self.closing.append("} }" if every > 1 else "}")
        self.depth += 1
        if every == 1:
            self.line(stops.QUESTION.name)
        self.nests = [*(True for _ in self.nests), False]


def _ends(loop: UOp, bound: str) -> tuple[str, str]:
    """Where a loop begins and ends; of a THREAD Range each core takes a part in one piece."""
    if loop.arg.type is not AxisType.THREAD:
        return "0", bound
    first, end = (f"(idx)((int64_t){bound} * {core} / cores)" for core in ("core", "(core + 1)"))
    return first, end


def _loop(name: str, first: str, end: str) -> str:
    """The head of a loop."""
    if first == "0":
        return f"for (idx {name} = 0; {name} < {end}; {name}++) {{"
    return f"for (idx {name} = {first}, {name}_end = {end}; {name} < {name}_end; {name}++) {{"


def _fits(known: Bounds, dtype: DType) -> bool:
    return dtype.min <= known.lo and known.hi <= dtype.max


def _pointer(storage: UOp) -> str:
    if storage.op is Op.Slice:
        return f"(void *)((char *)slot[{storage.src[0].arg.slot}] + {storage.src[1].arg.value})"
    return f"slot[{storage.arg.slot}]"
