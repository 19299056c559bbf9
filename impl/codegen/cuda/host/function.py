"""
The C function of a proc
========================

The statements of a proc outside of its device functions, in C and in the order of the program. A proc that is called,
and an instruction of the CPU that is no copy, stand as a block where they are called: an argument is the very storage,
window or expression that it was given, as the law has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from soundline.impl.codegen.cuda.host.copies import copy, on_device
from soundline.impl.codegen.cuda.host.launches import Launch, launch
from soundline.impl.codegen.cuda.host.lines import Line, Lines, placed
from soundline.impl.codegen.cuda.host.loops import is_local, reason_against
from soundline.impl.codegen.cuda.host.names import (
    Given,
    Map,
    Meaning,
    Names,
    Number,
    Storage,
    bare,
    c_type,
    function_name,
    row_major,
)
from soundline.impl.codegen.cuda.host.windows import bind, pointer, window
from soundline.impl.codegen.cuda.host.writing import written
from soundline.spec.dtypes import float32, float64
from soundline.spec.errors import CompileError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Expr, Index, Name
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import (
    PAR,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaWarps,
    Fence,
    For,
    If,
    Pass,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.language.types import Argument, Control, Data
from soundline.spec.spork.library.copies import CpuCopy
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.calls import given_to
from soundline.spec.spork.static.memory import memory_of
from soundline.spec.spork.static.sizes import difference
from soundline.spec.spork.static.windows import Declared, Path


class Function(NamedTuple):
    """The C of a proc."""

    name: str
    """What it is called in C: the name of the proc, if C has no other meaning for it."""
    signature: str
    declarations: str
    """The headers and helpers that it needs."""
    lines: tuple[Line, ...]
    rounds: bool
    """Whether it computes with floats, so that a compiler must not make one rounding of two."""


def function(proc: Proc, launches: Mapping[Path, Launch]) -> Function:
    """The C function of a proc, whose device functions are launched as these say, by their paths."""
    body = _Body(launches, Lines())
    lines = body.lines
    constant = frozenset(a.name for a in proc.arguments) - written(proc)
    parameters = ["struct soundline_device const *device"]
    names = Names()
    for argument in proc.arguments:
        if isinstance(argument.type, Control):
            names = names.with_(argument.name, body.control_argument(argument))
    for argument in proc.arguments:
        if isinstance(argument.type, Data):
            names = names.with_(argument.name, body.data_argument(argument, names, argument.name in constant))
    for argument in proc.arguments:
        parameters += _parameters(argument, names[argument.name])
    body.entry(proc, names)
    body.block(proc.body, names, ())
    name = function_name(proc.name)
    signature = f"int {name}({', '.join(parameters)})"
    helpers = body.lines.values.helpers
    texts = [helpers.text(), *(f"\n{text}\n" for text in lines.values.functions.values())]
    return Function(
        name, signature, "".join(texts), tuple(_whole(signature, parameters, lines)), lines.values.rounds
    )


def _parameters(argument: Argument, meaning: Meaning) -> Iterator[str]:
    """The parameters of C for an argument."""
    match meaning:
        case Number(text):
            yield f"{'bool' if meaning.flag else 'int64_t'} {text}"
        case Map(place):
            yield f"struct soundline_tensor_map const *{place.strip('(*)')}"
        case Storage():
            const = " const" if meaning.constant else ""
            name = meaning.place.strip("(*)")
            yield f"{c_type(meaning.dtype)}{const} *{name}"
            if isinstance(argument.type, Data) and argument.type.window:
                yield from (f"int64_t {stride}" for stride in meaning.strides)


def _whole(signature: str, parameters: Iterable[str], lines: Lines) -> Iterator[Line]:
    """All lines of the function: what it holds, its statements, and its end."""
    yield Line(f"{signature} {{", None)
    used = {word for line in lines.found for word in re.findall(r"\w+", line.text.partition("//")[0])}
    names = [re.split(r"[ *]", parameter)[-1] for parameter in parameters]
    if unused := [f"(void){name};" for name in names if name not in used]:
        yield Line(f"    {' '.join(unused)}", None)
    if lines.fails:
        yield Line("    int error = SOUNDLINE_OK;", None)
    for held in lines.held:
        yield Line(f"    void *{held.variable} = 0;", None)
    yield from lines.found
    if lines.fails:
        yield Line("end:", None)
        for held in reversed(lines.held):
            yield Line(f"    if ({held.variable}) {held.release};", None)
        yield Line("    return error;", None)
    else:
        yield Line("    return SOUNDLINE_OK;", None)
    yield Line("}", None)


@dataclass(slots=True)
class _Body:
    """The statements of a function being written."""

    launches: Mapping[Path, Launch]
    lines: Lines
    natural: set[str] = field(default_factory=set)
    """The C names of integers that are not negative."""
    parallel: bool = False
    """Whether a loop of OpenMP is around."""

    # Arguments ----------------------------------------------------------------------------------------------------

    def control_argument(self, argument: Argument) -> Number:
        """A parameter of control."""
        assert isinstance(argument.type, Control)
        name = self.lines.spellings.take(argument.name)
        is_size, is_flag = argument.type.name == "size", argument.type.name == "bool"
        if is_size:
            self.natural.add(name)
        return Number(name, 0 if is_size else None, Name(name), is_flag)

    def data_argument(self, argument: Argument, names: Names, constant: bool) -> Storage | Map:
        """A parameter of data."""
        assert isinstance(argument.type, Data)
        type_, memory = argument.type, memory_of(argument.memory, argument)
        name = self.lines.spellings.take(argument.name)
        sizes = tuple(self.lines.values.control(size, names) for size in type_.sizes)
        declared = Declared(argument.name, type_.dtype, tuple(s.known for s in sizes), memory)
        if memory.window:
            return Map(f"(*{name})", type_.dtype, memory, declared.whole)
        strides = row_major(sizes)
        if type_.window:
            strides = tuple(self.lines.spellings.take(f"{name}_stride_{k}") for k in range(len(sizes)))
        place = name if sizes else f"(*{name})"
        return Storage(place, type_.dtype, memory, sizes, strides, declared.whole, constant)

    def entry(self, proc: Proc, names: Names) -> None:
        """What is asked of the arguments before anything else is done."""
        controls = [n for a in proc.arguments if isinstance(n := names[a.name], Number) and not n.flag]
        if negative := " || ".join(f"{n.text} < 0" for n in controls if n.natural):
            self.lines.refuse(negative, "SOUNDLINE_NEGATIVE_SIZE")
        if self.launches:
            self.lines.fit(controls)
            self.lines.fitting.update(n.text for n in controls)
        self.assertions(proc, names)
        found = [m for a in proc.arguments if isinstance(m := names[a.name], Storage)]
        self.sizes(tuple(size for storage in found for size in storage.sizes))
        self.lines.began = True

    def assertions(self, callee: Proc | Instruction, names: Names) -> None:
        """The preconditions of a proc or an instruction."""
        for condition in callee.preconditions:
            self.lines.origin = condition
            comment = placed(f"assert {text_of(condition)}", condition)
            self.lines.require(self.lines.values.control(condition, names), "SOUNDLINE_ASSERTION", comment)
        self.lines.origin = None

    def sizes(self, sizes: tuple[Number, ...]) -> None:
        """Sizes are not negative."""
        if negative := " || ".join(dict.fromkeys(f"{s.text} < 0" for s in sizes if not s.natural)):
            self.lines.refuse(negative, "SOUNDLINE_NEGATIVE_SIZE")

    # Statements ---------------------------------------------------------------------------------------------------

    def block(self, body: tuple[Statement, ...], names: Names, path: Path, first: int = 0) -> None:
        """Statements in order, and the end of what they allocate; they are numbered from `first`."""
        before = set(self.lines.spellings.taken)
        held: list[str] = []
        for k, statement in enumerate(body, first):
            self.lines.origin = statement
            match statement:
                case Alloc():
                    names = names.with_(statement.name, self.allocated(statement, names, held))
                case WindowOf():
                    names = bind(statement, names, self.lines)
                case AllocBarrier():
                    self.lines.comment(statement)
                    names = names.with_(statement.name, None)
                case _:
                    self.statement(statement, names, (*path, k))
            self.lines.origin = statement
        for variable in reversed(held):
            self.lines.release(variable)
        kept = {h.variable for h in self.lines.held}
        self.lines.spellings.release(self.lines.spellings.taken - before - kept)

    def statement(self, statement: Statement, names: Names, path: Path) -> None:
        """A statement that binds nothing."""
        match statement:
            case Pass():
                self.lines.line(";")
            case Assign() | Reduce():
                self.written(statement, names)
            case If():
                self.condition(statement, names, path)
            case For():
                self.loop(statement, names, path)
            case Call():
                self.call(statement, names, path)
            case CudaDeviceFunction():
                launch(statement, self.launches[path], names, self.lines)
            case Fence() | Arrive() | Await():  # all that is asked of the device is in one order
                self.lines.comment(statement)
            case CudaAsync() | CudaWarps() | Alloc() | AllocBarrier() | WindowOf():
                raise AssertionError(f"{type(statement).__name__} is not here")

    def written(self, statement: Assign | Reduce, names: Names) -> None:
        """An assignment or a reduction."""
        values, place = self.lines.values, self.lines.values.element(statement.place, names)
        dtype = names.storage(statement.place.name).dtype
        left = bare(place)
        if isinstance(statement, Assign):
            self.lines.line(f"{left} = {values.stored(statement.value, dtype, names)};")
        elif dtype in (float32, float64):
            self.lines.line(f"{left} += {bare(values.data(statement.value, dtype, names))};")
        else:
            added = values.data(statement.value, dtype, names)
            self.lines.line(f"{left} = {values.sum(place, added, dtype)};")

    def condition(self, statement: If, names: Names, path: Path) -> None:
        """An if."""
        choice = bare(self.lines.values.control(statement.condition, names).text)
        with self.lines.block(f"if ({choice})"):
            self.block(statement.body, names, path)
        if statement.orelse:
            with self.lines.block("else"):
                self.block(statement.orelse, names, path, len(statement.body))

    def loop(self, loop: For, names: Names, path: Path) -> None:
        """A loop in order, or on threads."""
        values, spellings = self.lines.values, self.lines.spellings
        lo, hi = values.control(loop.lo, names), values.control(loop.hi, names)
        iterator = spellings.take(loop.iterator)
        threads = loop.mode == PAR and not self.parallel
        if threads:
            reason = reason_against(loop, iterator, names, self.natural, self.lines)
            threads = reason is None
            self.lines.comment(loop)
            self.lines.line(f"// in order: {reason}" if reason else "#pragma omp parallel for")
        if lo.natural:
            self.natural.add(iterator)
        inner = names.with_(loop.iterator, Number(iterator, lo.least, Name(iterator)))
        self.parallel = self.parallel or threads
        head = f"for (int64_t {iterator} = {bare(lo.text)}; {iterator} < {hi.text}; {iterator}++)"
        with self.lines.block(head):
            self.block(loop.body, inner, path)
        self.parallel = self.parallel and not threads
        self.natural.discard(iterator)
        spellings.release([iterator])

    # Storage ------------------------------------------------------------------------------------------------------

    def allocated(self, statement: Alloc, names: Names, held: list[str]) -> Storage:
        """Storage to the end of the block."""
        self.lines.comment(statement)
        memory, type_ = memory_of(statement.memory, statement), c_type(statement.dtype)
        sizes = tuple(self.lines.values.control(size, names) for size in statement.sizes)
        declared = Declared(statement.name, statement.dtype, tuple(s.known for s in sizes), memory)
        found = Storage("", statement.dtype, memory, sizes, row_major(sizes), declared.whole)
        name = self.lines.spellings.take(statement.name)
        if not on_device(memory) and is_local(statement):
            extent = " * ".join(size.text for size in sizes)
            empty = any(size.text == "0" for size in sizes)
            self.lines.line(f"{type_} {name}{f'[{1 if empty else extent}]' if sizes else ''};")
            return _named(found, name)
        owner = self.lines.hold(name, "device" if on_device(memory) else "host")
        held.append(owner)
        count = ", ".join(bare(size.text) for size in sizes)
        size = self.lines.spellings.take(f"{name}_bytes")
        self.lines.line(f"size_t {size};")
        self.lines.attempt(
            f"soundline_bytes(&{size}, sizeof({type_}), {len(sizes)}, (int64_t const[]){{{count}}})"
        )
        if on_device(memory):
            self.lines.attempt(f"device->allocate(device->state, &{owner}, {size})")
        else:
            self.lines.line(f"{owner} = malloc({size} ? {size} : 1);")
            self.lines.refuse(f"!{owner}", "SOUNDLINE_OUT_OF_MEMORY")
        self.lines.line(f"{type_} *const {name} = {owner};")
        return _named(found, name)

    # Calls --------------------------------------------------------------------------------------------------------

    def call(self, call: Call, names: Names, path: Path) -> None:
        """A copy, or what is called in a block."""
        callee = call.callee.value
        self.lines.comment(call)
        with self.lines.block(""):
            before = set(self.lines.spellings.taken)
            inner = self.given(call, names)
            self.assertions(callee, inner)
            self.lines.origin = call
            if isinstance(callee, CpuCopy):
                copy(inner.storage("dst"), inner.storage("src"), self.lines)
            else:
                _check_reachable(call, callee, inner)
                self.block(callee.body, inner, path)
            kept = {h.variable for h in self.lines.held}
            self.lines.spellings.release(self.lines.spellings.taken - before - kept)

    def given(self, call: Call, names: Names) -> Names:
        """What the arguments of a callee stand for."""
        inner = Names()
        for argument, value in given_to(call):
            if isinstance(argument.type, Control):
                number = self.lines.values.control(value, names)
                if argument.type.name == "size" and not number.natural:
                    self.lines.refuse(f"{number.text} < 0", "SOUNDLINE_NEGATIVE_SIZE")
                    number = Number(number.text, 0, number.expression)
                inner = inner.with_(argument.name, number)
        for argument, value in given_to(call):
            if isinstance(argument.type, Data):
                inner = inner.with_(argument.name, self.data(argument, value, inner, names))
        return inner

    def data(self, argument: Argument, value: Expr, inner: Names, names: Names) -> Meaning:
        """What an argument of data is given."""
        assert isinstance(argument.type, Data)
        place = value if isinstance(value, Name | Index) else None
        meaning = None if place is None else names[place.name]
        if isinstance(meaning, Map) and (meaning.part or isinstance(place, Index)):
            raise CompileError(
                f"{argument.name} is given a part of a tensor map: {text_of(value)}; a proc takes all of one",
                where=argument.name,
                hint="give the whole map, and let the proc make the window",
            )
        if isinstance(meaning, Map | Given):
            return meaning
        if place is None or not isinstance(meaning, Storage):
            return Given(value, argument.type.dtype, names)
        found = window(place, names, self.lines)
        for own, wanted in zip(found.sizes, argument.type.sizes, strict=True):
            declared = self.lines.values.control(wanted, inner)
            if difference(own.known, declared.known) != 0:
                same = Binary(Op.CmpEq, own.known, declared.known)
                self.lines.require(
                    Number(f"({own.text} == {declared.text})", None, same, True), "SOUNDLINE_ASSERTION"
                )
        if isinstance(place, Name):
            return found
        return pointer(argument.name, found, self.lines)


def _named(found: Storage, name: str) -> Storage:
    return Storage(name, found.dtype, found.memory, found.sizes, found.strides, found.window, found.constant)


def _check_reachable(call: Call, callee: Proc | Instruction, names: Names) -> None:
    """The body of an instruction of the CPU is executed by the CPU, where it can reach its operands."""
    if not isinstance(callee, Instruction):
        return
    for name in callee.data:
        meaning = names[name]
        memory: Memory | None = meaning.memory if isinstance(meaning, Storage | Map) else None
        if memory is not None and on_device(memory):
            raise CompileError(
                f"{callee.name} of the CPU has no C: its body touches {name} in {memory}, which the CPU does not reach",
                where=callee.name,
                hint=f"copy to or from the CPU with cudaMemcpyAsync before and after {call.callee.name}",
            )
