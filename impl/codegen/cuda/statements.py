"""
Statements in C++
=================

The body of a task, statement for statement. Each statement of Spork stands as a comment before its C++, in the same
order and under the same names. A function of named warps has the statements that these warps execute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from soundline.impl.codegen.cuda.arithmetic import operation
from soundline.impl.codegen.cuda.calls import call_site
from soundline.impl.codegen.cuda.expressions import Names, control_text, data
from soundline.impl.codegen.cuda.library import Library, Synchronizing
from soundline.impl.codegen.cuda.names import spelled
from soundline.impl.codegen.cuda.operators import LEVELS, Written
from soundline.impl.codegen.cuda.refusals import refused
from soundline.impl.codegen.cuda.storage import declared, shared_bytes
from soundline.impl.codegen.cuda.threads import coordinate_text, guard_text, new_guards
from soundline.impl.codegen.cuda.windows import Kind, View, address, aligned, element
from soundline.impl.codegen.cuda.writing import Writer, statement_text
from soundline.spec.dtypes import float32, float64, uint32, uint64
from soundline.spec.errors import CompileError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Expr, Index, Name, walk
from soundline.spec.spork.language.names import DataName
from soundline.spec.spork.language.scopes import Scope, inside
from soundline.spec.spork.language.statements import (
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Pass,
    Reduce,
    Statement,
    WindowOf,
    bodies,
    statements,
)
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.machine.addresses import SharedStacks
from soundline.spec.spork.static.law import Facts
from soundline.spec.spork.static.sizes import value as number_of
from soundline.spec.spork.static.windows import Path
from soundline.spec.spork.threads.tilings import Guard

UNROLLED = 64
"""Up to how many iterations a loop is unrolled for the registers in its body, whose indices do not depend on it."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where a statement stands, and what the names there are."""

    scope: Scope
    path: Path
    names: Names
    views: Mapping[str, View]

    def within(self, scope: Scope) -> Here:
        """The same names in another scope."""
        return replace(self, scope=scope)

    def with_view(self, name: str, view: View) -> Here:
        """One more name of data."""
        views = {**self.views, name: view}
        names = self.names.with_data(name, DataName(view.dtype, len(view.dims)))
        return replace(self, views=views, names=elements_of(views, names))


def elements_of(views: Mapping[str, View], names: Names) -> Names:
    """The names, with elements of these views."""

    def text(place: Name | Index) -> str:
        return element(views[place.name].at(place), here[0])

    found = replace(names, element=text)
    here = [found]
    return found


@dataclass(slots=True)
class Statements:
    """Writes the statements of a task for some of its warps."""

    out: Writer
    facts: Facts
    library: Library
    sync: Synchronizing
    arch: int
    warps: str | None = None
    """The name of the warps that execute the function; None for all."""
    first_byte: int = 0
    """Where arrays of shared memory begin."""
    stacks: SharedStacks = field(default_factory=lambda: SharedStacks((), 1))
    peak: int = 0
    """The most bytes of shared memory that were live."""
    written: set[str] = field(default_factory=set)
    """The storage that is written."""

    def body(self, block: Sequence[Statement], here: Here, start: int = 0) -> None:
        """A block, at the end of which the shared memory that is allocated there is free."""
        tops = dict(self.stacks.tops)
        around = here
        for k, statement in enumerate(block):
            scope, path = here.scope.at(k, len(block)), (*here.path, start + k)
            around = self._statement(statement, replace(around, scope=scope, path=path))
        self.stacks.tops = tops

    def _statement(self, statement: Statement, here: Here) -> Here:
        """A statement; what is known after it."""
        if not self._concerns(statement, here.scope):
            self.out.line(f"// {statement_text(statement)}: other warps", statement)
            return here
        self.out.comment(statement)
        match statement:
            case Alloc():
                return self._alloc(statement, here)
            case WindowOf():
                return self._window(statement, here)
            case AllocBarrier() | Pass():
                return here
            case Assign() | Reduce():
                self._assign(statement, here)
            case Call():
                self._call(statement, here)
            case Fence():
                self.sync.fence(self.out, statement, here.path, here.scope, here.names)
            case Arrive():
                self.sync.arrive(self.out, statement, here.path, here.scope, here.names)
            case Await():
                self.sync.await_(self.out, statement, here.path, here.scope, here.names)
                self._keep_behind(statement, here)
            case _:
                self._block(statement, here)
        return here

    def _keep_behind(self, statement: Await, here: Here) -> None:
        """Keep what is done to accumulators after a wait for wgmma behind it, of which the compiler sees no effect."""
        if "wgmma.wait_group" not in self.facts.pieces[here.path]:
            return
        held = {v.base for v in here.views.values() if v.flags and not v.terms}
        self.out.lines((f"ptx::fence_registers({base});" for base in sorted(held)), statement)

    def _concerns(self, statement: Statement, scope: Scope) -> bool:
        """Whether the warps of the function execute anything in a statement."""
        if self.warps is None or not bodies(statement):
            return True
        if isinstance(statement, CudaWarps) and statement.name is not None:
            return statement.name == self.warps
        return any(self._concerns(inner, scope) for body in bodies(statement) for inner in body)

    # Storage ------------------------------------------------------------------------------------------------------

    def _alloc(self, statement: Alloc, here: Here) -> Here:
        assert statement.memory is not None
        memory: Memory = statement.memory.value
        shards = self.facts.shards.get(here.path)
        first = None
        if memory.space == "shared":
            at = self.stacks.take(0, shared_bytes(statement, shards), memory.alignment)
            first = self.first_byte + at
            self.peak = max(self.peak, self.stacks.tops[0])
        view, lines = declared(statement, shards, here.scope, first, self.library)
        for name, line in lines:
            self.out.declaration(name, line, statement)
        return here.with_view(statement.name, view)

    def _window(self, statement: WindowOf, here: Here) -> Here:
        """A window in memory gets a pointer of its name; of what has no address only the name is known."""
        view = here.views[statement.window.name].at(statement.window)
        if view.kind is Kind.pointer and not view.spans_shards and view.terms:
            name = spelled(statement.name)
            self.out.declaration(name, f"auto *const {name} = {address(view, here.names)};", statement)
            view = view.named(name, aligned(view, here.names))
        return here.with_view(statement.name, view)

    # Data ---------------------------------------------------------------------------------------------------------

    def _assign(self, statement: Assign | Reduce, here: Here) -> None:
        view = here.views[statement.place.name].at(statement.place)
        self.written.add(view.root)
        place = element(view, here.names)
        try:
            value = data(statement.value, view.dtype, here.names)
        except CompileError as error:
            raise refused(statement, "type", "values that CUDA has", error.message) from error
        if isinstance(statement, Assign):
            self.out.line(f"{place} = {value.text};", statement)
        elif view.dtype in (float32, float64, uint32, uint64):
            self.out.line(f"{place} += {value.text};", statement)
        else:
            total = operation(Op.Add, view.dtype, [_lvalue(place), value], here.names)
            self.out.line(f"{place} = {total.text};", statement)

    def _call(self, call: Call, here: Here) -> None:
        site = call_site(call, here.scope, here.names, here.views, self.arch)
        instruction: Instruction = call.callee.value
        for argument, given in zip(site.places, _given(call, site.places), strict=True):
            if argument in instruction.written and given in here.views:
                self.written.add(here.views[given].root)
        if call.trailing:
            count = str(self.library.bytes_of(site))
            trailing, lines = self.sync.trailing(call, here.path, here.scope, count, here.names)
            self.out.lines(lines, call)
            site = replace(site, trailing=trailing)
        for family in type(instruction).__mro__:
            if family in self.library.texts:
                self.out.lines(self.library.texts[family](site), call)
                return
        given_text = f"{instruction}, of the family {type(instruction).__name__}"
        hint = "an instruction of a program's own brings its text: @instr(..., cuda=...)"
        raise refused(call, "instruction", "an instruction with a text in CUDA", given_text, hint)

    # Blocks -------------------------------------------------------------------------------------------------------

    def _block(self, statement: Statement, here: Here) -> None:
        inner = here.within(inside(here.scope, statement))
        match statement:
            case For(mode=CudaThreads()):
                self._threads(statement, here, inner)
            case For():
                self._loop(statement, inner)
            case If():
                self._if(statement, inner)
            case CudaAsync():
                with self.out.block("", statement):
                    self.sync.async_block(self.out, statement, here.path, here.scope)
                    self.body(statement.body, inner)
            case CudaWarps():
                with self._guarded(self._guards_of_warps(statement, here, inner), inner, statement):
                    self.body(statement.body, inner)

    def _threads(self, loop: For, here: Here, inner: Here) -> None:
        """A loop over threads: each of them computes which iteration it runs."""
        outer, tiling = here.scope.tiling, inner.scope.tiling
        assert outer is not None
        assert tiling is not None
        found = tiling.iterators[-1]
        names = inner.names.with_control(loop.iterator, (0, found.count - 1))
        iterator = f"const int {names.texts[loop.iterator]} = {coordinate_text(found.value, tiling)};"
        inner = replace(inner, names=elements_of(inner.views, names))
        guards = new_guards(outer, tiling)
        if guards:
            head = f"if ({iterator} {names.texts[loop.iterator]} < {found.count})"
            with self.out.block(head, loop):
                self.body(loop.body, inner)
        else:
            with self.out.block("", loop):
                self.out.declaration(names.texts[loop.iterator], iterator, loop)
                self.body(loop.body, inner)

    def _guards_of_warps(self, block: CudaWarps, here: Here, inner: Here) -> tuple[Guard, ...]:
        """The guards of a choice of warps. A function of named warps runs on these warps alone."""
        assert here.scope.tiling is not None
        assert inner.scope.tiling is not None
        assert here.scope.shape is not None
        guards = new_guards(here.scope.tiling, inner.scope.tiling)
        if block.name is None or here.scope.tiling.warps is not None:
            return guards
        first, end = here.scope.shape.range_of(block.name)
        has_guard = (32 * first, 32 * end) != (0, here.scope.shape.block_dim)
        return guards[1:] if has_guard else guards

    @contextmanager
    def _guarded(self, guards: tuple[Guard, ...], inner: Here, statement: Statement) -> Iterator[None]:
        assert inner.scope.tiling is not None
        condition = " && ".join(guard_text(guard, inner.scope.tiling) for guard in guards)
        with self.out.block(f"if ({condition})" if condition else "", statement):
            yield

    def _loop(self, loop: For, inner: Here) -> None:
        """A sequential loop, unrolled where registers are indexed by it."""
        names = inner.names
        lo, hi = names.interval(loop.lo), names.interval(loop.hi)
        known = names.with_control(loop.iterator, (lo[0], None if hi[1] is None else hi[1] - 1))
        iterator = known.texts[loop.iterator]
        begin, end = control_text(loop.lo, names), control_text(loop.hi, names, within=LEVELS["<"] + 1)
        if self._is_unrolled(loop, inner):
            self.out.line("#pragma unroll", loop)
        head = f"for (int {iterator} = {begin}; {iterator} < {end}; ++{iterator})"
        with self.out.block(head, loop):
            self.body(loop.body, replace(inner, names=elements_of(inner.views, known)))

    def _is_unrolled(self, loop: For, here: Here) -> bool:
        count = number_of(Binary(Op.Sub, loop.hi, loop.lo))
        if count is None:
            return False
        if _touched(loop, here.views, loop.iterator) or _chosen(loop, here.views):
            return True
        return count <= UNROLLED and _touched(loop, here.views)

    def _if(self, statement: If, inner: Here) -> None:
        names = inner.names
        with self.out.block(f"if ({control_text(statement.condition, names)})", statement):
            self.body(statement.body, _assuming(inner, statement.condition, holds=True))
        if statement.orelse:
            with self.out.block("else", statement):
                inner = _assuming(inner, statement.condition, holds=False)
                self.body(statement.orelse, inner, start=len(statement.body))


def _assuming(here: Here, condition: Expr, *, holds: bool) -> Here:
    names = here.names.assuming(condition, holds)
    return replace(here, names=elements_of(here.views, names))


def _lvalue(place: str) -> Written:
    return Written(place, LEVELS["*"] + 1 if place.startswith("*") else 20)


def _given(call: Call, places: Mapping[str, object]) -> list[str]:
    """The names of data that the arguments of a call are given; an empty text for a value."""
    keywords = dict(call.keywords)
    found = []
    for position, argument in enumerate(call.callee.value.arguments):
        if argument.name in places:
            given = call.arguments[position] if position < len(call.arguments) else keywords[argument.name]
            found.append(given.name if isinstance(given, Name | Index) else "")
    return found


def _touched(loop: For, views: Mapping[str, View], iterator: str | None = None) -> bool:
    """Whether arrays of registers are used in a loop, or allocated there; with an iterator, whether its number is in an
    index of them.
    """
    inner = {s.name for s in statements(loop.body) if isinstance(s, Alloc) and _in_registers(s)}
    for node in walk(loop.body):
        if not isinstance(node, Name | Index):
            continue
        view = views.get(node.name)
        if node.name in inner or (view is not None and view.memory.space == "registers" and view.is_array):
            indices = node.indices if isinstance(node, Index) else ()
            if iterator is None or Name(iterator) in walk(indices):
                return True
    return False


def _chosen(loop: For, views: Mapping[str, View]) -> bool:
    """Whether the iterator of a loop is in a control argument of an instruction on registers, of which it may choose
    some.
    """
    for call in statements(loop.body):
        if not isinstance(call, Call) or not isinstance(call.callee.value, Instruction):
            continue
        given = [*call.arguments, *(value for _, value in call.keywords)]
        named = {v.name for v in given if isinstance(v, Name | Index) and v.name in views}
        control = [v for v in given if not (isinstance(v, Name | Index) and v.name in views)]
        if any(views[n].memory.space == "registers" for n in named) and Name(loop.iterator) in walk(
            tuple(control)
        ):
            return True
    return False


def _in_registers(statement: Alloc) -> bool:
    assert statement.memory is not None
    memory: Memory = statement.memory.value
    return memory.space == "registers" and bool(statement.sizes)
