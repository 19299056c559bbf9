"""
The lowering pipeline
=====================

Eight stages take a Tensor graph to machine code. What a stage must keep, its *invariant*, is stated here as predicates
that run: conditions on the structure of what it made, and that it means what it meant before. Any lowering that has
these stages can be held to them, one stage at a time.

Before Rangeify a program is a Function of Buffers; its value is the elements of its outputs. From then on it is a
Linear of kernels, and its value is what they leave, run in order, in the Buffers of the outputs. Buffers are numbered:
the arguments from 0, then the outputs, then temporaries. Under the profile `exact` values are equal bit for bit (U-09),
so that the value of a stage is compared, not approximated. The evaluator cannot read the text that Render writes: that
text is compiled and run, and the results are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundline.spec.arrays.arrays import Array, same_cell
from soundline.spec.errors import EvaluationError, StageError
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.pipeline import instructions as sequences
from soundline.spec.pipeline import programs
from soundline.spec.pipeline.schema import Invariant, Lowering, Stage, Target, Violation, stage

__all__ = [
    "STAGES",
    "Invariant",
    "Lowering",
    "Stage",
    "Target",
    "Violation",
    "check",
    "check_pipeline",
    "meaning",
    "require",
    "structure",
    "value",
]

_SAME = "the outputs hold what they held before the stage, bit for bit"

STAGES: dict[str, Stage] = {
    s.name: s
    for s in (
        stage(
            "callify",
            "Callify",
            "Transform the Tensor graph into a single stateless function.",
            {
                "the program is one Function whose body is a Tuple": programs.is_one_function,
                "its body has no state: no Buffer, memory access, loop or call": programs.is_stateless,
                "its arguments are flat Buffers, numbered from 0": programs.has_flat_arguments,
            },
            "the elements of the function's Tuple are the values of the graphs",
        ),
        stage(
            "rangeify",
            "Rangeify",
            "Determine the kernel split of the function. Break everything down to shape ().",
            {
                "the program is a Linear of kernels": programs.is_list_of_kernels,
                "every value has the shape ()": programs.is_scalar,
                "every axis is LOOP or REDUCE": programs.is_sequential,
                "one kernel stores to each Buffer that is no argument, before any reads it": (
                    programs.stores_before_it_reads
                ),
            },
            _SAME,
        ),
        stage(
            "optimize",
            "Optimize",
            "Insert local buffers. Swap and split ranges, and determine which axes are parallel and which are serial.",
            {
                "the program is a Linear of kernels, whose axes have types that their closers admit; a reduction may "
                "run up to a bound that LOOP axes around it give": programs.is_list_of_scheduled_kernels,
                "no axis whose iterations run at once carries a dependence": programs.is_parallel_where_it_may_be,
                "a GLOBAL Buffer that is new is a temporary, to which one kernel stores before any reads it": (
                    programs.adds_temporaries_only
                ),
                "what threads have stored to a LOCAL Buffer is read after a Barrier (U-51)": programs.meets_at_barriers,
            },
            _SAME,
        ),
        stage(
            "expand",
            "Expand",
            "Expand the parallel ranges into shape.",
            {
                "the program is a Linear of closed Sinks": programs.is_list_of_sinks,
                "no Range is UPCAST or UNROLL": programs.has_no_lane_axes,
                "every shape is numbers": programs.has_static_shapes,
            },
            _SAME,
        ),
        stage(
            "select",
            "Instruction Selection",
            "Select target instructions, including WMMA and devectorization.",
            {
                "the program is a Linear of closed Sinks": programs.is_list_of_sinks,
                "every op is one of the target's table": programs.has_instructions_only,
                "every index fits the integer that holds it": programs.fits_its_index,
            },
            _SAME,
        ),
        stage(
            "linearize",
            "Linearize",
            "Topologically sort the graph and determine execution order.",
            {
                "the program is a Linear of Linears without a loop inside a value": sequences.is_list_of_sequences,
                "every instruction comes after its operands, once in a scope": sequences.operands_precede,
                "blocks nest, and all are closed": sequences.blocks_nest,
                "every instruction stands inside the loops that it depends on": sequences.stands_inside_its_loops,
            },
            _SAME,
        ),
        stage(
            "plan",
            "Register/Memory Plan",
            "Allocate and reuse GLOBAL, LOCAL, and REG storage for values with non-overlapping lifetimes.",
            {
                "only storage is replaced, by storage of as many elements": sequences.replaces_storage_only,
                "arguments and outputs keep their storage": sequences.keeps_arguments_and_outputs,
                "temporaries that share bytes never live at once": sequences.lifetimes_are_apart,
            },
            _SAME,
        ),
        stage(
            "render",
            "Render",
            "Output the machine code.",
            {
                "the text defines its entry and every kernel once": sequences.defines_every_kernel,
                "the entry runs the kernels in order": sequences.runs_the_kernels_in_order,
                "the entry names the storage of every GLOBAL Buffer": sequences.names_its_storage,
            },
            None,
        ),
    )
}
"""The stages, in order."""


# Values -----------------------------------------------------------------------------------------------------------


def meaning(program: UOp, contents: Mapping[int, Any], arguments: int, outputs: int) -> list[Array | None]:
    """The elements of each output, flat; None for an output that has no value, or that no kernel stores to.

    `contents` are those of the arguments, by slot.
    """
    if program.op is Op.Function:
        found = [evaluate(Op.GetTuple(program, arg=k), buffers=contents) for k in range(outputs)]
        return [Array(a.dtype, (len(a.elements),), a.elements) if a.elements else None for a in found]
    memory: dict[int, Any] = dict(contents)
    for kernel in program.src:
        shared = {n.arg.slot for n in toposort(kernel) if n.op is Op.Buffer and n.arg.addrspace == "GLOBAL"}
        left = execute(kernel, buffers=memory)
        memory |= {slot: array for slot, array in left.items() if slot in shared}
    return [memory.get(arguments + k) for k in range(outputs)]


def _differences(before: list[Array | None], after: list[Array | None]) -> list[str]:
    """Where two meanings differ."""
    found = []
    for k, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is None or new is None:
            if old is not new:
                found.append(f"output {k} is {'' if new else 'not '}stored")
            continue
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            found.append(f"output {k} is {new.dtype}{list(new.shape)}, not {old.dtype}{list(old.shape)}")
            continue
        rows = enumerate(zip(old.elements, new.elements, strict=True))
        wrong = next(((n, x, y) for n, (x, y) in rows if not same_cell(old.dtype, x, y)), None)
        if wrong:
            found.append(f"element {wrong[0]} of output {k} is {wrong[2]!r}, not {wrong[1]!r}")
    return found


# Checks -----------------------------------------------------------------------------------------------------------


def structure(name: str, given: Lowering) -> list[Violation]:
    """Which conditions on structure a stage broke. Where the form of the program is broken, nothing else is checked."""
    first, *rest = STAGES[name].invariants
    found = [Violation(first.id, what) for what in first.broken(given)]
    if not found:
        found = [Violation(i.id, what) for i in rest for what in i.broken(given)]
    return found


def value(name: str, given: Lowering, contents: Mapping[int, Any]) -> list[Violation]:
    """Where the outputs differ from those before the stage; nothing for Render, and where there is no before."""
    if STAGES[name].value is None or given.before is None:
        return []
    wanted = meaning(given.before, contents, given.arguments, given.outputs)
    try:
        found = meaning(given.after, contents, given.arguments, given.outputs)
    except EvaluationError as error:
        return [Violation(STAGES[name].value_id, f"the program has no value: {error.message}")]
    return [Violation(STAGES[name].value_id, what) for what in _differences(wanted, found)]


def check(name: str, given: Lowering, contents: Mapping[int, Any] | None = None) -> list[Violation]:
    """What a stage broke, in structure and, where the contents of the arguments are given, in value."""
    found = structure(name, given)
    return found if found or contents is None else value(name, given, contents)


def require(name: str, given: Lowering, contents: Mapping[int, Any] | None = None) -> None:
    """Raise a `StageError` where a stage broke its invariant."""
    found = check(name, given, contents)
    if found:
        raise StageError(STAGES[name].title, tuple((v.rule, v.what) for v in found))


def check_pipeline(
    stages: Mapping[str, UOp], source: str, target: Target, contents: Mapping[int, Any] | None = None
) -> list[Violation]:
    """What the stages of one program broke: `stages` has the program after each, by the stage's name."""
    arguments, outputs = len(stages["callify"].src) - 1, len(stages["callify"].src[0].src)
    found: list[Violation] = []
    before: UOp | None = None
    for name in STAGES:
        after = stages["plan"] if name == "render" else stages[name]
        given = Lowering(before, after, target, arguments, outputs, source)
        found += check(name, given, contents)
        before = after
    return found
