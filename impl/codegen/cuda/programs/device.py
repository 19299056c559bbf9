"""
Device functions
================

What a ``CudaDeviceFunction`` becomes: a struct of its arguments, a struct of device functions, and a kernel.

A CTA executes tasks one after another, its share of them by turns (``main_loop``): cluster c of C executes tasks c,
c + C, c + 2C, … A task is a function; where warps have names, there is one function for each name, and each warp goes
the way of its name. What a kernel is given is what its code names: sizes, pointers, grid constants and tensor maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from soundline.impl.codegen.cuda.barriers.synchronization import LATER
from soundline.impl.codegen.cuda.dialects import CUDA, Helpers
from soundline.impl.codegen.cuda.expressions import control
from soundline.impl.codegen.cuda.kernels import ArgumentOfKernel, Kernel
from soundline.impl.codegen.cuda.library import Library, Synchronizing
from soundline.impl.codegen.cuda.names import Names, spelled
from soundline.impl.codegen.cuda.operators import LEVELS, Written, operator
from soundline.impl.codegen.cuda.outside import Outside, device_functions_of
from soundline.impl.codegen.cuda.programs.proxies import arrays_are_apart
from soundline.impl.codegen.cuda.programs.standard import LIBRARY
from soundline.impl.codegen.cuda.refusals import refused
from soundline.impl.codegen.cuda.statements import Here, Statements, elements_of
from soundline.impl.codegen.cuda.storage import check_shared, first_byte
from soundline.impl.codegen.cuda.windows import Kind
from soundline.impl.codegen.cuda.writing import Writer
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import HOST, Scope, inside
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    Call,
    CudaDeviceFunction,
    For,
    Statement,
    statements,
)
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.law import Facts, static_law
from soundline.spec.spork.static.windows import Path
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.warps import NamedWarps


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """The text of a device function."""

    node: CudaDeviceFunction
    path: Path
    kernel: Kernel
    arguments: tuple[ArgumentOfKernel, ...]
    header: Writer
    """The structs, for the ``.cuh``."""
    entry: Writer
    """The kernel itself, for the ``.cu``."""


def device_functions(
    proc: Proc, arch: int, contract: bool = False, library: Library | None = None
) -> tuple[DeviceFunction, ...]:
    """The device functions of a program, in the order of its text, for sm_80 or sm_90.

    Raises `ProgramError` where the program breaks the static law, and `CompileError` where there is no CUDA for it.
    """
    facts = static_law(proc)
    parts = LIBRARY if library is None else library
    found = []
    for number, (block, path, outside) in enumerate(device_functions_of(proc)):
        name = f"{proc.name}_device{number}"
        names = replace(outside.names, contract=contract, helpers=Helpers())
        found.append(_Function(block, path, replace(outside, names=names), name, arch, facts, parts).made())
    return tuple(found)


EVERYWHERE = replace(CUDA, qualifiers="static __host__ __device__ __forceinline__ ")
"""The dialect of what a launch computes as well."""

ON_SM90 = {
    InstrTl.tma_to_smem_async: "TMA",
    InstrTl.tma_to_gmem_async: "TMA",
    InstrTl.wgmma_async: "wgmma",
}
"""Timelines whose instructions an sm_80 does not have."""


MOST_CTAS = 16
"""The most CTAs of a cluster, of which only 8 are portable."""


def least_arch(proc: Proc) -> int:
    """The least architecture that a program needs: 80 or 90."""
    blocks = [block for block, _, _ in device_functions_of(proc)]
    if any(True for block in blocks for _ in _needs_sm90(block)):
        return 90
    # A fence may ask for the other proxy where nothing uses it.
    pieces = static_law(proc).pieces.values() if blocks else ()
    return 90 if any(piece in LATER for found in pieces for piece in found) else 80


def _needs_sm90(block: CudaDeviceFunction) -> Iterator[tuple[Node, str]]:
    """The statements that need sm_90, and what in them does."""
    if block.cluster_dim > 1:
        yield block, "clusters"
    if any(w.setmaxnreg_dec is not None or w.setmaxnreg_inc is not None for w in block.warp_config):
        yield block, "setmaxnreg"
    for statement in statements(block.body):
        if isinstance(statement, Call) and isinstance(statement.callee.value, Instruction):
            instr_tl = statement.callee.value.instr_tl
            if instr_tl in ON_SM90:
                yield statement, ON_SM90[instr_tl]


@dataclass(slots=True)
class _Function:
    """Makes the text of one device function."""

    block: CudaDeviceFunction
    path: Path
    outside: Outside
    name: str
    arch: int
    facts: Facts
    library: Library
    written: set[str] = field(default_factory=set)
    peak: int = 0

    def made(self) -> DeviceFunction:
        """The text."""
        self._check_arch()
        scope = inside(HOST, self.block)
        assert scope.shape is not None
        apart = arrays_are_apart(self.block, self.outside)
        sync = self.library.synchronization(self.facts, self.block, self.path, self.arch, apart)
        first = first_byte(self.block, sync.shared_bytes)
        loops, body, task_scope, task_path = self._tasks(scope)
        counting = self._counting(loops)  # first, so that the functions it asks for are there on the CPU
        tasks = self._task_names(loops)
        functions = [
            self._task(
                warps, loops, body, Here(task_scope, task_path, tasks, self.outside.views), sync, first
            )
            for warps in (scope.shape.warps or (None,))
        ]
        main = self._main_loop(loops, scope.shape.warps, sync, body[-1])
        size = first + self.peak if self.peak else sync.shared_bytes
        check_shared(self.block, size, self.block.blocks_per_sm, self.arch)
        text = "".join(part.text for part in (*functions, counting, main))
        arguments = tuple(a for a in self._candidates() if _is_named(a, text))
        kernel = Kernel(
            self.name,
            scope.shape.block_dim,
            self.block.cluster_dim,
            self.block.blocks_per_sm,
            size,
            f"{self.name}_Args",
        )
        header = Writer()
        self._args(header, arguments)
        header.line("")
        header.comment(self.block)
        with header.block(f"struct {self.name}", self.block, tail="};"):
            header.line(f"using Args = {self.name}_Args;")
            header.line("")
            sync.declare(header)
            for text_of_helper in self.outside.names.helpers.texts():
                header.line("")
                header.line(text_of_helper)
            for part in (*functions, counting, main):
                header.line("")
                self._unpacked(header, part, arguments)
        entry = _entry(kernel, self.block)
        return DeviceFunction(self.block, self.path, kernel, arguments, header, entry)

    def _check_arch(self) -> None:
        if self.block.cluster_dim > MOST_CTAS:
            given = f"clusters of {self.block.cluster_dim}"
            raise refused(self.block, "arch", f"at most {MOST_CTAS} CTAs in a cluster", given)
        if self.arch >= 90:
            return
        for statement, what in _needs_sm90(self.block):
            hint = "generate for sm_90a"
            raise refused(statement, "arch", f"what sm_{self.arch} has", what, hint)

    # Tasks --------------------------------------------------------------------------------------------------------

    def _tasks(self, scope: Scope) -> tuple[list[For], tuple[Statement, ...], Scope, Path]:
        """The task loops, outermost first, and the body of a task with its scope and path."""
        loops: list[For] = []
        body, path = self.block.body, self.path
        while len(body) == 1 and isinstance(body[0], For) and body[0].mode == CUDA_TASKS:
            loops.append(body[0])
            scope, path, body = inside(scope, body[0]), (*path, 0), body[0].body
        return loops, body, scope, path

    def _task_names(self, loops: list[For]) -> Names:
        names = self.outside.names
        for loop in loops:
            lo, hi = names.interval(loop.lo), names.interval(loop.hi)
            names = names.with_control(loop.iterator, (lo[0], None if hi[1] is None else hi[1] - 1))
        return elements_of(self.outside.views, names)

    def _task(
        self,
        warps: NamedWarps | None,
        loops: list[For],
        body: tuple[Statement, ...],
        here: Here,
        sync: Synchronizing,
        first: int,
    ) -> Writer:
        """The function of a task, for the warps of a name or for all."""
        out = Writer()
        name = None if warps is None else warps.name
        writer = Statements(out, self.facts, self.library, sync, self.arch, name, first)
        iterators = "".join(f", int {here.names.texts[loop.iterator]}" for loop in loops)
        function = "task" if name is None else f"task_{name}"
        head = (
            f"static __device__ __forceinline__ void {function}(Args const &args, SyncState &sync{iterators})"
        )
        with out.block(head, self.block):
            writer.body(body, here)
        self.written |= writer.written
        self.peak = max(self.peak, writer.peak)
        return out.without_unused()

    def _counting(self, loops: list[For]) -> Writer:
        """The function that counts tasks, for the device and for a launch."""
        out = Writer()
        names = replace(self.outside.names, dialect=EVERYWHERE)
        head = "static __host__ __device__ __forceinline__ int64_t tasks(Args const &args)"
        with out.block(head, self.block):
            total = [Written(CUDA.cast("int64_t", _count(loop, names).text)) for loop in loops]
            product = total[0]
            for factor in total[1:]:
                product = operator("*", product, factor)
            out.line(f"return {product.text};")
        return out

    def _main_loop(
        self, loops: list[For], warps: tuple[NamedWarps, ...], sync: Synchronizing, last: Statement
    ) -> Writer:
        """The loop over the tasks of a CTA."""
        out = Writer()
        with out.block("static __device__ __forceinline__ void main_loop(Args const &args)", self.block):
            out.line("SyncState sync;")
            sync.setup(out)
            if not warps:
                self._turns(out, loops, "task", sync, last)
            first = 0
            runs = list(_runs(warps))
            for number, run in enumerate(runs):
                end = first + 32 * sum(named.count for named in run)
                with out.block(_way(number, len(runs), end)):
                    out.lines(_registers(run[0]))
                    self._ways(out, run, first, loops, sync, last)
                first = end
            sync.shutdown(out)
        return out

    def _ways(
        self,
        out: Writer,
        run: Sequence[NamedWarps],
        first: int,
        loops: list[For],
        sync: Synchronizing,
        last: Statement,
    ) -> None:
        """The ways of the names of a run, whose threads begin at `first`."""
        for number, named in enumerate(run):
            if len(run) == 1:
                self._turns(out, loops, f"task_{named.name}", sync, last)
                return
            first += 32 * named.count
            with out.block(_way(number, len(run), first)):
                self._turns(out, loops, f"task_{named.name}", sync, last)

    def _turns(
        self, out: Writer, loops: list[For], function: str, sync: Synchronizing, last: Statement
    ) -> None:
        size = self.block.cluster_dim
        by = f" / {size}" if size > 1 else ""
        head = (
            f"for (int64_t task_number = blockIdx.x{by}, task_count = tasks(args); "
            f"task_number < task_count; task_number += gridDim.x{by})"
        )
        names = self.outside.names
        with out.block(head, self.block):
            rest = Written("task_number")
            decoded: list[tuple[For, str]] = []
            for position, loop in reversed(list(enumerate(loops))):
                if position:
                    count = _count(loop, names).within(LEVELS["*"] + 1)
                    dividend = rest.within(LEVELS["*"])
                    at, rest = f"{dividend} % {count}", Written(f"{dividend} / {count}", LEVELS["/"])
                else:
                    at = rest.text
                begin = control(loop.lo, names)
                value = Written(CUDA.cast("int", at))
                decoded.append((loop, value.text if begin.text == "0" else operator("+", begin, value).text))
            for loop, text in reversed(decoded):
                out.comment(loop)
                out.line(f"const int {spelled(loop.iterator)} = {text};", loop)
            given = "".join(f", {spelled(loop.iterator)}" for loop in loops)
            out.line(f"{self.name}::{function}(args, sync{given});", self.block)
            sync.task_boundary(out, last)

    # Arguments ----------------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[ArgumentOfKernel]:
        """What the kernel may be given, in the order of the program."""
        for name, thing in self.outside.things.items():
            view = self.outside.views.get(name)
            if isinstance(thing, str):
                yield ArgumentOfKernel(spelled(name), "bool" if thing == "bool" else "int", name, thing)  # type: ignore[arg-type]
            elif view is None:
                root, dimension = thing
                yield ArgumentOfKernel(name, "int64_t", root, "stride", dimension=dimension)
            elif view.kind is Kind.tensor_map:
                yield ArgumentOfKernel(spelled(name), "soundline::tensor_map", name, "map")
            elif view.kind is Kind.constant:
                count = self.outside.counts[name]
                yield ArgumentOfKernel(spelled(name), CUDA.type_of(view.dtype), name, "constant", count)
            elif view.base == spelled(name) and view.root == name:
                yield ArgumentOfKernel(spelled(name), CUDA.type_of(view.dtype), name, "pointer")

    def _args(self, out: Writer, arguments: tuple[ArgumentOfKernel, ...]) -> None:
        with out.block(f"struct {self.name}_Args", self.block, tail="};"):
            for argument in arguments:
                out.line(f"{self._declaration(argument)};", self.outside.origins.get(argument.spork))
            if not arguments:
                out.line("char nothing;")  # in C an empty struct has no size

    def _declaration(self, argument: ArgumentOfKernel) -> str:
        if argument.kind == "pointer":
            return f"{self._element(argument)} *{argument.name}"
        if argument.kind == "constant" and self.outside.views[argument.spork].is_array:
            return f"{argument.type} {argument.name}[{argument.count}]"
        return f"{argument.type} {argument.name}"

    def _element(self, argument: ArgumentOfKernel) -> str:
        return argument.type if argument.spork in self.written else f"{argument.type} const"

    def _unpacked(self, out: Writer, function: Writer, arguments: tuple[ArgumentOfKernel, ...]) -> None:
        """A function, at the top of which the arguments that it names have their names."""
        lines = list(zip(function.text.splitlines(), function.origins, strict=True))
        out.line(lines[0][0], lines[0][1])
        for argument in arguments:
            if argument.kind in ("constant", "map") or not _is_named(argument, function.text):
                continue
            if argument.kind == "pointer":
                declaration = f"{self._element(argument)} *const {argument.name}"
            else:
                declaration = f"const {argument.type} {argument.name}"
            out.line(f"    {declaration} = args.{argument.name};", self.block)
        for text, origin in lines[1:]:
            out.line(text, origin)


def _runs(warps: Sequence[NamedWarps]) -> Iterator[tuple[NamedWarps, ...]]:
    """Named warps that ask for the same number of registers, together: such a run is of whole warpgroups (the law), all
    of whose threads have to execute one ``setmaxnreg``. Where none asks, each name is by itself.
    """
    for key, found in groupby(warps, key=lambda w: (w.inc, w.dec)):
        run = tuple(found)
        yield from ((named,) for named in run) if key == (None, None) else (run,)


def _way(number: int, count: int, end: int) -> str:
    """The head of the block of one of so many ways, which threads before `end` go that have not gone another."""
    condition = f"if (threadIdx.x < {end})" if number + 1 < count else ""
    return f"{'else ' if number else ''}{condition}".strip()


def _count(loop: For, names: Names) -> Written:
    """The iterations of a task loop, which are none where it ends before it begins."""
    begin, end = control(loop.lo, names), control(loop.hi, names)
    count = end if begin.text == "0" else operator("-", end, begin)
    lo, hi = names.interval(loop.lo), names.interval(loop.hi)
    if lo[1] is not None and hi[0] is not None and hi[0] >= lo[1]:
        return count
    return Written(f"({count.within(LEVELS['<'])} > 0 ? {count.text} : 0)")


def _registers(warps: NamedWarps) -> Iterator[str]:
    if warps.inc is not None:
        yield f"ptx::setmaxnreg_inc_sync_aligned_u32<{warps.inc}>();"
    if warps.dec is not None:
        yield f"ptx::setmaxnreg_dec_sync_aligned_u32<{warps.dec}>();"


def _is_named(argument: ArgumentOfKernel, text: str) -> bool:
    """Whether code names an argument; comments do not count."""
    code = re.sub(r"//.*", "", text)
    before = r"\bargs\." if argument.kind in ("constant", "map") else r"(?<![\w.])"
    return re.search(rf"{before}{re.escape(argument.name)}\b", code) is not None


def _entry(kernel: Kernel, block: CudaDeviceFunction) -> Writer:
    """The kernel and its launch."""
    out = Writer()
    bounds = f"__launch_bounds__({kernel.block_dim}, {kernel.blocks_per_sm})"
    if kernel.cluster_dim > 1:
        bounds += f" SOUNDLINE_CLUSTER({kernel.cluster_dim})"
    head = f'extern "C" __global__ void {bounds} {kernel.name}(const __grid_constant__ {kernel.args} args)'
    with out.block(head, block):
        out.line(f"{kernel.name}::main_loop(args);", block)
    return out
