"""
Invariants of programs under lowering
=====================================

The predicates of the stages up to instruction selection, where a program is a Function and then a Linear of Sinks, one
for each kernel. Those of sequences of instructions stand in `spec.pipeline.instructions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import index
from soundline.spec.kernels.dependences import carried, directions
from soundline.spec.kernels.groups import unsynchronized
from soundline.spec.kernels.iteration_spaces import nests, problems
from soundline.spec.ops import bodies
from soundline.spec.ops.axes import ORDERED, is_private
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.node import AxisType, Op, UOp, toposort
from soundline.spec.ops.places import base_of
from soundline.spec.pipeline.schema import Lowering
from soundline.spec.values.elementwise import ELEMENTWISE, operand_dtype

_STATE = (Op.Buffer, Op.Load, Op.Store, Op.AtomicAdd, Op.Range, Op.Special, Op.Function, Op.Call, Op.After)


def shown(node: UOp) -> str:
    """A node in a few words."""
    text = repr(node)
    return text if len(text) <= 80 else f"{text[:79]}…"


# Callify ----------------------------------------------------------------------------------------------------------


def is_one_function(given: Lowering) -> Iterator[str]:
    """A Function whose body is a Tuple."""
    if given.after.op is not Op.Function or given.after.src[0].op is not Op.Tuple:
        yield f"the program is {shown(given.after)}"


def is_stateless(given: Lowering) -> Iterator[str]:
    """No state and no call inside of the body."""
    for node in toposort(*given.after.src[:1]):
        if node.op in _STATE:
            yield f"the body has {shown(node)}"


def has_flat_arguments(given: Lowering) -> Iterator[str]:
    """The arguments are Buffers, numbered in their order."""
    for k, argument in enumerate(given.after.src[1:]):
        if argument.op is not Op.Buffer or argument.arg.slot != k:
            yield f"argument {k} is {shown(argument)}"


# Kernels ----------------------------------------------------------------------------------------------------------


def is_list_of_kernels(given: Lowering) -> Iterator[str]:
    """A Linear of kernels, in which a loop may also run up to a size that the arguments give."""
    if given.after.op is not Op.Linear:
        yield f"the program is {shown(given.after)}"
    for number, sink in enumerate(given.after.src):
        bounds = [n.src[0] for n in toposort(sink) if n.op is Op.Range and n.src[0].op is not Op.Const]
        sized = all(_is_given_by_arguments(b, given.arguments) for b in bounds)
        for rule, problem in problems(sink):
            if not (sized and rule == "kernel-c3"):
                yield f"kernel {number}: {problem} [{rule}]"


def is_list_of_scheduled_kernels(given: Lowering) -> Iterator[str]:
    """A Linear of kernels, in which a loop may also run up to a size that the arguments give, and a reduction up to a
    bound that the loops around it give: a running reduction.
    """
    if given.after.op is not Op.Linear:
        yield f"the program is {shown(given.after)}"
    for number, sink in enumerate(given.after.src):
        bounds = [n for n in toposort(sink) if n.op is Op.Range and n.src[0].op is not Op.Const]
        runs = all(
            (n.arg.type is AxisType.REDUCE and _is_given_by_loops(n.src[0]))
            or _is_given_by_arguments(n.src[0], given.arguments)
            for n in bounds
        )
        for rule, problem in problems(sink):
            if not (runs and rule == "kernel-c3"):
                yield f"kernel {number}: {problem} [{rule}]"


def _is_given_by_arguments(bound: UOp, arguments: int) -> bool:
    """Whether a bound is made of numbers and of the one element of arguments, of one at least."""
    leaves = [n for n in toposort(bound) if not n.src]
    sizes = [n for n in leaves if n.op is Op.Buffer and n.arg.slot < arguments and n.arg.size == 1]
    return bool(sizes) and all(n.op is Op.Const or n in sizes for n in leaves)


def _is_given_by_loops(bound: UOp) -> bool:
    """Whether a bound is made of numbers and of the indices of LOOP axes, of one at least."""
    leaves = [n for n in toposort(bound) if not n.src or n.op is Op.Range]
    loops = [n for n in leaves if n.op is Op.Range and n.arg.type is AxisType.LOOP]
    return bool(loops) and all(n.op is Op.Const or n in loops for n in leaves)


def is_scalar(given: Lowering) -> Iterator[str]:
    """Every value has the shape ()."""
    for node in toposort(given.after):
        if node.op is not Op.Buffer and node.shape not in ((), None):
            yield f"{shown(node)} has the shape {node.shape}"


def is_sequential(given: Lowering) -> Iterator[str]:
    """Every axis is LOOP or REDUCE: nothing is chosen yet."""
    for node in toposort(given.after):
        if node.op is Op.Range and node.arg.type not in (AxisType.LOOP, AxisType.REDUCE):
            yield f"{shown(node)} is {node.arg.type.name}"


def stored_by(kernel: UOp) -> set[UOp]:
    """The GLOBAL Buffers that a kernel stores to."""
    places = (base_of(n.src[0]) for n in toposort(kernel) if n.op in (Op.Store, Op.AtomicAdd))
    return {b for b in places if b.op is Op.Buffer and b.arg.addrspace == "GLOBAL"}


def loaded_by(kernel: UOp) -> set[UOp]:
    """The GLOBAL Buffers that a kernel reads."""
    places = (base_of(n.src[0]) for n in toposort(kernel) if n.op is Op.Load)
    return {b for b in places if b.op is Op.Buffer and b.arg.addrspace == "GLOBAL"}


def stores_before_it_reads(given: Lowering) -> Iterator[str]:
    """Arguments are never stored to; every other Buffer by one kernel, before those that read it."""
    done: set[UOp] = set()
    for number, kernel in enumerate(given.after.src):
        for b in loaded_by(kernel):
            if b.arg.slot >= given.arguments and b not in done:
                yield f"kernel {number} reads buffer {b.arg.slot}, to which nothing was stored"
        for b in stored_by(kernel):
            if b.arg.slot < given.arguments:
                yield f"kernel {number} stores to argument {b.arg.slot}"
            elif b in done:
                yield f"kernel {number} stores to buffer {b.arg.slot} again"
            done.add(b)


def adds_temporaries_only(given: Lowering) -> Iterator[str]:
    """A GLOBAL Buffer that was not there is a temporary under a number of its own, stored to by one kernel before
    any reads it: what is packed, say. Local ones may be inserted freely.
    """
    if given.before is None:
        return
    old, new = (
        {n for n in toposort(r) if n.op is Op.Buffer and n.arg.addrspace == "GLOBAL"}
        for r in (given.before, given.after)
    )
    taken = {*range(given.arguments + given.outputs), *(b.arg.slot for b in old)}
    for node in new - old:
        if node.arg.slot in taken:
            yield f"{shown(node)} is new and no temporary of its own"
        storing = [k for k, kernel in enumerate(given.after.src) if node in stored_by(kernel)]
        reading = [k for k, kernel in enumerate(given.after.src) if node in loaded_by(kernel)]
        if len(storing) != 1 or any(k <= storing[0] for k in reading):
            yield f"{shown(node)} is stored to by the kernels {storing} and read by {reading}"


def at_once(kind: AxisType) -> bool:
    """Whether the iterations of an output axis run at once: unordered ones, and the lanes of an UPCAST axis."""
    return kind not in ORDERED or kind is AxisType.UPCAST


def is_parallel_where_it_may_be(given: Lowering) -> Iterator[str]:
    """No axis whose iterations run at once carries a dependence, or may carry one."""
    for number, kernel in enumerate(given.after.src):
        for ranges, body in nests(kernel):
            if any(at_once(r.arg.type) for r in ranges):
                for position, r in enumerate(ranges):
                    own = [space for space in ("REG", "LOCAL") if is_private(space, r.arg.type)]
                    apart = partial(directions, private=own)
                    if at_once(r.arg.type) and carried(body, ranges, position, apart) is not False:
                        yield f"kernel {number}: {shown(r)} carries a dependence, or may"


def meets_at_barriers(given: Lowering) -> Iterator[str]:
    """What threads have stored to a LOCAL Buffer is read after a Barrier."""
    for number, kernel in enumerate(given.after.src):
        for node in unsynchronized(kernel):
            yield f"kernel {number}: {shown(node)} is read without a Barrier"


# Expand and selection ---------------------------------------------------------------------------------------------


def is_list_of_sinks(given: Lowering) -> Iterator[str]:
    """A Linear of Sinks in which no loop index is free."""
    if given.after.op is not Op.Linear:
        yield f"the program is {shown(given.after)}"
    for number, sink in enumerate(given.after.src):
        if sink.op is not Op.Sink or bodies.free_ranges(sink):
            yield f"kernel {number} is {shown(sink)}"


def has_no_lane_axes(given: Lowering) -> Iterator[str]:
    """No UPCAST or UNROLL Range is left: what they ran through is shape."""
    for node in toposort(given.after):
        if node.op is Op.Range and node.arg.type in (AxisType.UPCAST, AxisType.UNROLL):
            yield f"{shown(node)} is {node.arg.type.name}"


def has_static_shapes(given: Lowering) -> Iterator[str]:
    """Every shape is known: numbers only."""
    for node in toposort(given.after):
        if not all(isinstance(size, int) for size in node.shape or ()):
            yield f"{shown(node)} has the shape {node.shape}"


def has_instructions_only(given: Lowering) -> Iterator[str]:
    """Every op is one of the target's table."""
    for node in toposort(given.after):
        dtype = operand_dtype(node) if node.op in ELEMENTWISE else node.dtype
        if not given.target.has(node.op, dtype):
            yield f"the target has no {node.op.name} of {dtype}: {shown(node)}"


def fits_its_index(given: Lowering) -> Iterator[str]:
    """Every index expression fits the integer in which the target holds an index (U-02)."""
    known: dict[UOp, Bounds | None] = {}
    for node in toposort(given.after):
        known[node] = None if node.shape is None else MIN_MAX[_floor(node, known)](node, known.__getitem__)
        bounds = known[node]
        if node.dtype is index and bounds is not None:
            held = given.target.index
            if not (held.min <= bounds.lo and bounds.hi <= held.max):
                yield f"{shown(node)} is in [{bounds.lo}, {bounds.hi}]"


_FLOOR = {Op.CDiv: Op.Idiv, Op.CMod: Op.Mod}


def _floor(node: UOp, known: Mapping[UOp, Bounds | None]) -> Op:
    """The op whose bounds a node has: a truncating division by b ≥ 1 of a ≥ 0 is the floor division."""
    if node.op not in _FLOOR:
        return node.op
    a, b = (known[s] for s in node.src)
    return _FLOOR[node.op] if a is None or b is None or (a.lo >= 0 and b.lo >= 1) else node.op
