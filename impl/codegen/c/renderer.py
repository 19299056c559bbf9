"""
C
=

Render a linear program as one C file: a function per kernel, and one entry that runs the kernel of a number over a
table of pointers; the runtime walks the numbers in order, so that a whole program is one foreign call. The iterations
of a Range of axis type THREAD are dealt out to cores: a kernel with one takes the number of its core, and of how many.

A value with a shape is a set of *lanes*: it is never stored as such, but computed lane by lane where a Store needs it,
in loops of known length that the C compiler unrolls or vectorizes.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import dataclass, field

from soundline.impl.analysis import arithmetic
from soundline.impl.codegen.c import interruption as stops
from soundline.impl.codegen.c import lanes, streams, vectors
from soundline.impl.codegen.c.expressions import Expressions, storage_type
from soundline.impl.codegen.c.helpers import ROLLED, Helpers
from soundline.impl.codegen.c.kernel import is_register
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.forms import Forms, forms_of
from soundline.impl.lower.schedule.transfers import storage_of
from soundline.spec.dtypes import DType, index, int32
from soundline.spec.errors import CompileError
from soundline.spec.ops.bounds import Bounds
from soundline.spec.uop import AxisType, Op, UOp, toposort

ENTRY = "soundline_run"
COMMANDS = "soundline_commands"
"""What a library tells of itself: the number of its kernels, and over how many cores each may be spread."""
MOST_CORES = 256
_SHRINKING = (Op.CDiv, Op.CMod)
"""Ops whose value is never further from 0 than their dividend is."""
_INLINE = 64
"""An expression that is used once and is no longer than this is written where it is used."""

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
"""A kernel of so few lines may be compiled where it is called: GCC takes some milliseconds for a function, however
small."""
APART = "__attribute__((noinline)) "
"""What keeps a greater kernel apart, so that what it needs of registers and stack concerns no other."""

KEPT_SCALAR = '__asm__ volatile("");'
"""No instruction, but a loop with this in it stays scalar; the loops inside may still become vectors.

GCC 12 computes wrong values where it makes vectors of a loop that holds others: a sum that is added in one inner loop
and divided by in the next took an element of another row.
"""
_MANY_SUMS = 8
"""From so many vectors on, a loop that reduces into them stays as it is: two of its iterations would have no room."""


@dataclass
class Rendering:
    """One kernel under rendering: its lines, the C text of each value, and how deep the loops are."""

    linear: UOp
    name: str
    c: Expressions
    forms: Forms
    lines: list[str] = field(default_factory=list)
    texts: dict[UOp, str] = field(default_factory=dict)
    depth: int = 1
    closing: list[str] = field(default_factory=list)
    """For each open loop, what closes it."""
    nests: list[bool] = field(default_factory=list)
    """For each open loop, whether it holds another loop."""
    variables: int = 0
    uses: Counter[UOp] = field(default_factory=Counter)
    has_arrays: bool = False
    """Whether it has storage of its own that is no register of the machine."""
    lanes: set[int] = field(default_factory=set)
    """The axes over which a loop is open."""
    axes: dict[UOp, frozenset[int]] = field(default_factory=dict)
    """The axes on which values are known to depend."""
    fenced: bool = False
    """Whether it writes past the caches."""
    stops: dict[UOp, int] = field(default_factory=dict)
    """The loops that ask whether the kernel is to end, see `c_stops`."""

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
                    "a kernel with a THREAD Range is one nest around which it is", where="render"
                )
        bound = threads[0].src[0]
        return min(int(bound.arg.value), MOST_CORES) if bound.op is Op.Const else MOST_CORES

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

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
            case Op.Reduce if self.scalar_of(node):
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

    def scalar_of(self, reduction: UOp) -> bool:
        """Whether a reduction of lanes leaves one element."""
        return math.prod(shape_of(reduction)) == 1

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


def name_of(storage: UOp) -> str:
    """The C name of storage."""
    if storage.op is Op.Slice:
        return f"t{storage.src[1].arg.value}"
    return f"{'b' if is_global(storage) else 'acc'}{storage.arg.slot}"


def _pointer(storage: UOp) -> str:
    if storage.op is Op.Slice:
        return f"(void *)((char *)slot[{storage.src[0].arg.slot}] + {storage.src[1].arg.value})"
    return f"slot[{storage.arg.slot}]"
