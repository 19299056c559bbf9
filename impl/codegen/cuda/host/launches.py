"""
Launches
========

What the CPU does at a device function: it counts the tasks, fills the arguments of the kernel, and asks for the launch.
A nest of loops without tasks launches nothing. The device computes with integers of 32 bits, so that control which does
not fit ends the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from soundline.impl.codegen.cuda.host.lines import Lines
from soundline.impl.codegen.cuda.host.names import (
    Map,
    Meaning,
    Names,
    Number,
    Storage,
    bare,
    c_type,
    row_major,
)
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.statements import CUDA_TASKS, CudaDeviceFunction, For, Statement


class KernelArgument(Protocol):
    """A member of the arguments of a kernel, as the device names it."""

    @property
    def name(self) -> str:
        """Its name in C."""

    @property
    def type(self) -> str:
        """Its type in C; that of an element where it is a pointer or an array."""

    @property
    def spork(self) -> str:
        """The name on the CPU that it stands for."""

    @property
    def kind(self) -> Literal["size", "bool", "pointer", "stride", "constant", "map"]:
        """Control; data in global memory, by its first element; a stride in elements; a grid constant by value; a
        tensor map.
        """

    @property
    def count(self) -> int:
        """Of a grid constant, how many elements it has."""

    @property
    def dimension(self) -> int:
        """Of a stride, the dimension that it is of."""


_HALVES: Final = {"f16", "bf16", "soundline_f16", "soundline_bf16", "soundline::f16", "soundline::bf16"}


def _element(argument: KernelArgument) -> str:
    """The C type of an element: half precision is stored as its bits."""
    return "uint16_t" if argument.type in _HALVES else argument.type


def _declaration(argument: KernelArgument) -> str:
    """The member in C."""
    match argument.kind:
        case "size":
            return f"int {argument.name}"
        case "bool":
            return f"bool {argument.name}"
        case "stride":
            return f"int64_t {argument.name}"
        case "map":
            return f"struct soundline_tensor_map {argument.name}"
        case "pointer":
            return f"{_element(argument)} *{argument.name}"
        case "constant":
            return (
                f"{_element(argument)} {argument.name}{f'[{argument.count}]' if argument.count > 1 else ''}"
            )


@dataclass(frozen=True, slots=True)
class Launch:
    """A device function, as the CPU sees it."""

    kernel: str
    arguments: Sequence[KernelArgument]
    block_dim: int
    cluster_dim: int
    blocks_per_sm: int
    shared_bytes: int

    @property
    def structure(self) -> str:
        """The name of the structure of its arguments."""
        return f"{self.kernel}_Args"

    def declaration(self) -> Iterator[str]:
        """The structure in C; the device has the same in C++."""
        yield f"struct {self.structure} {{"
        for argument in self.arguments:
            yield f"    {_declaration(argument)};"
        if not self.arguments:
            yield "    char nothing;"  # an empty structure has no size in C
        yield "};"


def task_loops(block: CudaDeviceFunction) -> Iterator[For]:
    """The loops of the nest of tasks, outermost first."""
    body: tuple[Statement, ...] = block.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].mode == CUDA_TASKS:
        yield body[0]
        body = body[0].body


def launch(block: CudaDeviceFunction, found: Launch, names: Names, out: Lines) -> None:
    """A device function: its tasks are counted, its arguments filled, and it is launched."""
    out.began = True
    out.comment(block)
    with out.block(""):
        out.line("int64_t tasks = 1;")
        for loop in task_loops(block):
            lo, hi = out.values.control(loop.lo, names), out.values.control(loop.hi, names)
            out.attempt(f"soundline_tasks(&tasks, {bare(lo.text)}, {bare(hi.text)})")
        with out.block("if (tasks > 0)"):
            _fill(found, names, out)
            _launch(found, out)


def _fill(found: Launch, names: Names, out: Lines) -> None:
    """The arguments of the kernel, whose bytes are all given."""
    meanings = [(argument, names[argument.spork]) for argument in found.arguments]
    out.fit(m for a, m in meanings if a.kind == "size" and isinstance(m, Number))
    for argument, meaning in meanings:
        if argument.kind in ("pointer", "constant") and isinstance(meaning, Storage):
            _check_dense(argument, meaning, found, out)
    out.line(f"struct {found.structure} args;")
    out.line("memset(&args, 0, sizeof args);")
    for argument, meaning in meanings:
        out.line(_filled(argument, meaning))


def _check_dense(argument: KernelArgument, given: Storage, found: Launch, out: Lines) -> None:
    """Refuses an array with gaps for a kernel that is not told its strides."""
    if any(a.kind == "stride" and a.spork == argument.spork for a in found.arguments):
        return
    for own, dense in zip(given.strides, row_major(given.sizes), strict=True):
        if own != dense:
            out.refuse(f"{own} != {dense}", "SOUNDLINE_GAPS")


def _filled(argument: KernelArgument, meaning: Meaning) -> str:
    """The statement that fills a member."""
    place = f"args.{argument.name}"
    match meaning:
        case Number(text):
            return f"{place} = {f'(int){text}' if argument.kind == 'size' else bare(text)};"
        case Map():
            return f"{place} = {meaning.place};"
        case Storage() if argument.kind == "stride":
            return f"{place} = {bare(meaning.strides[argument.dimension])};"
        case Storage() if argument.kind == "pointer":
            cast = f"({c_type(meaning.dtype)} *)" if meaning.constant else ""
            return f"{place} = {cast}{meaning.place};"
        case Storage() if not meaning.sizes:
            return f"{place} = {meaning.place};"
        case Storage() if argument.count == 1:
            return f"{place} = {meaning.place}[0];"
        case Storage():
            return f"memcpy({place}, {meaning.place}, sizeof {place});"
    raise CompileError(
        f"{argument.spork}: a kernel is given control, data in memory and tensor maps; got: an expression",
        where=argument.name,
        hint="store it in a grid constant first",
    )


def _launch(found: Launch, out: Lines) -> None:
    with out.block("struct soundline_launch const launch =", "};"):
        out.line(f'.kernel = "{found.kernel}",')
        out.line(f".function = SOUNDLINE_KERNEL({found.kernel}),")
        out.line(".args = &args,")
        out.line(".args_bytes = sizeof args,")
        out.line(f".block_dim = {found.block_dim},")
        out.line(f".cluster_dim = {found.cluster_dim},")
        out.line(f".blocks_per_sm = {found.blocks_per_sm},")
        out.line(f".shared_bytes = {found.shared_bytes},")
        out.line(".tasks = tasks,")
    out.attempt("device->launch(device->state, &launch)")
