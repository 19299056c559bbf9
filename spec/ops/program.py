"""
Entries: load, store, ordering and codegen ops
==============================================

The ops that read and write memory, order effects, and describe generated code. The codegen ops are outside the core
of the language and may change.
"""

from __future__ import annotations

from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Entry, alu_laws, entry, inherited_laws, source, void_laws

_DEPS = source("dep", "what must have happened", variadic=True)
_STORED_AXIS = "none; what is written has the axis of src[0], or null"
_LOOP_INDEX = {"dtype": "index", "shape": "()", "device": "null", "min_max": "[0, n-1]", "axis": "null"}

_MEMORY: tuple[Entry, ...] = (
    entry(
        Op.Load,
        "load",
        (
            source("buf", "what is read"),
            source("alt", "the value where the gate is False", optional=True),
            source("gate", "bool: read only where True", optional=True),
        ),
        "The value of buf, as storage on the device and address space of arg. Where a gate is False the place is not "
        "touched and the value is alt. On an n-tuple device the value is split along axis 0.",
        arg="device?, addrspace?",
        constraints=(
            "alt and gate come together",
            "alt has the dtype and shape of buf",
            "gate is bool, a scalar or of the shape of buf",
            "n divides axis 0 on an n-tuple device",
        ),
        laws={
            "dtype": "src[0].dtype",
            "shape": "src[0].shape",
            "device": "from arg, else the one non-null device that all sources agree on (U-29)",
            "min_max": "hull of src[0] and alt",
            "axis": "0 where arg names an n-tuple device, null where it names one device, else the one "
            "non-null axis of the sources",
        },
        example=">>> evaluate(Op.Load(buffer(0, 2, int32)), buffers={0: [7, 8]}).elements\n(7, 8)",
        decisions=("U-01", "U-25", "U-26", "U-45"),
    ),
    entry(
        Op.Store,
        "store",
        (
            source("buf", "a place: a Buffer, or a view of one"),
            source("val", "what is written"),
            source("gate", "bool: write only where True", optional=True),
        ),
        "Write val into the place. All of val is read before anything is written.",
        constraints=(
            "buf is a place: a Buffer, or a Param without bounds, under movement ops and After",
            "val has the shape of buf",
            "val has the dtype of buf",
            "gate is bool, a scalar or of the shape of buf",
        ),
        laws=void_laws(device="src[0].device; the other sources are there too", axis=_STORED_AXIS),
        example=">>> b = buffer(0, 2, int32)\n"
        ">>> evaluate(Op.Load(Op.After(b, Op.Store(b, tensor([7, 8])))), buffers={0: [0, 0]}).elements\n(7, 8)",
        decisions=("U-26",),
    ),
)

_ORDERING: tuple[Entry, ...] = (
    entry(
        Op.Range,
        "ordering",
        (source("bound", "an index scalar"),),
        "An iterator from 0 to bound, exclusive. Its id tells equal loops apart.",
        arg="id, AxisType",
        constraints=("bound is an index scalar", "bound is ≥ 0"),
        laws=_LOOP_INDEX,
        example=">>> min_max(loop(4, 0)).hi\n3",
        decisions=("U-21", "U-44"),
    ),
    entry(
        Op.End,
        "ordering",
        (source("body", "the effect to repeat"), source("range", "the Range to close")),
        "Repeat body for every value of the range.",
        constraints=("body is an effect or a value", "range is a Range"),
        laws=void_laws(),
        example=">>> Op.End(Op.Group(), loop(4, 0)).dtype\nvoid",
        decisions=("U-26",),
    ),
    entry(
        Op.After,
        "ordering",
        (source("buf", "a value or a place"), _DEPS),
        "buf, as it is after the dependencies have happened.",
        laws=inherited_laws(min_max="src[0]; what may be stored to is never bounded tighter than its dtype"),
        example=">>> Op.After(buffer(0, 4, int32)).shape\n(4,)",
        decisions=("U-26", "U-45"),
    ),
    entry(
        Op.Group,
        "ordering",
        (source("u", "effects", variadic=True),),
        "Several effects as one, unordered.",
        laws=void_laws(),
        example=">>> Op.Group().dtype\nvoid",
        decisions=("U-26",),
    ),
    entry(
        Op.Sink,
        "ordering",
        (source("s", "effects", variadic=True),),
        "The root that collects the effects of a program.",
        constraints=("no Range is free: an End or a Reduce closes each",),
        laws=void_laws(),
        example=">>> Op.Sink().shape is None\nTrue",
        decisions=("U-26",),
    ),
    entry(
        Op.Linear,
        "ordering",
        (source("uops", "the instructions, in order", variadic=True),),
        "A sequence of instructions in execution order.",
        laws=void_laws(),
        example=">>> Op.Linear().dtype\nvoid",
    ),
)


def _truncating(op: Op, semantics: str, expected: int) -> Entry:
    return entry(
        op,
        "codegen",
        (source("a", "dividend"), source("b", "divisor")),
        semantics,
        constraints=(
            "all sources have one shape",
            "both operands have one dtype",
            "the dtype is an integer or index",
        ),
        laws=alu_laws(),
        example=f">>> scalar(Op.{op.name}, int32, -7, 2)\n{expected}",
        decisions=("U-03",),
    )


_CODEGEN: tuple[Entry, ...] = (
    entry(
        Op.Barrier,
        "codegen",
        (_DEPS,),
        "What all threads of the workgroup have done: the dependencies, for every value of the thread axes that are "
        "free in them (LOCAL, WARP and GROUP_REDUCE Ranges, and Specials that count threads). All threads reach it or "
        "none.",
        laws=void_laws(),
        example=">>> Op.Barrier().dtype\nvoid",
        decisions=("U-26", "U-51"),
    ),
    entry(
        Op.Ins,
        "codegen",
        (source("operand", "operands of the instruction", variadic=True),),
        "One machine instruction. It may do anything that the machine does, and has no meaning here: a program that "
        "contains it has no value.",
        arg="the instruction",
        laws=void_laws(),
        example=">>> Op.Ins(arg='s_nop').dtype\nvoid",
    ),
    entry(
        Op.Special,
        "codegen",
        (source("bound", "an index scalar"),),
        "The index of this workgroup (gidx) or of this thread in it (lidx), from 0 to bound, exclusive. The program is "
        "run by all of them.",
        arg="name, for example gidx0 or lidx1",
        constraints=(
            "bound is an index scalar",
            "bound is ≥ 0",
            "name is a str",
            "name is gidx or lidx and a number",
        ),
        laws=_LOOP_INDEX,
        example=">>> Op.Special(const(8, index), arg='gidx0').dtype\nindex",
        decisions=("U-26",),
    ),
    entry(
        Op.If,
        "codegen",
        (source("gate", "a bool scalar"),),
        "Begin a block that runs only where gate is True.",
        constraints=("gate is a bool scalar",),
        laws=void_laws(),
        example=">>> Op.If(const(True, bool_)).dtype\nvoid",
    ),
    entry(
        Op.Endif,
        "codegen",
        (source("if", "the If to end"),),
        "End the block of an If.",
        constraints=("src[0] is an If",),
        laws=void_laws(),
        example=">>> Op.Endif(Op.If(const(True, bool_))).dtype\nvoid",
    ),
    entry(
        Op.Wmma,
        "codegen",
        (
            source("A", "the left fragment"),
            source("B", "the right fragment"),
            source("acc", "the accumulator fragment"),
        ),
        "acc + A·B, where each of the 32 lanes of a warp holds a fragment of every matrix. The value here is the "
        "ascending reduction from acc on; the hardware accumulates in an order of its own, within the bound of the "
        "configuration.",
        arg="config: dims (N, M, K), input dtype, accumulator dtype, device",
        constraints=("A and B have the input dtype", "acc has the accumulator dtype"),
        laws=inherited_laws(dtype="src[2].dtype", shape="src[2].shape", min_max="dtype range", axis="null"),
        example=">>> Op.Wmma(frag, frag, acc, arg=WmmaArg((8, 16, 16), float16, float32)).dtype\nfloat32",
        decisions=("U-09", "U-52"),
    ),
    entry(
        Op.Custom,
        "codegen",
        (source("arg", "values that the format string names", variadic=True),),
        "A string that is pasted into generated code. It has no meaning here: a program that contains it has no value.",
        arg="fmt: str",
        constraints=("fmt is a str",),
        laws=void_laws(),
        example=">>> Op.Custom(arg='asm volatile(\"\");').dtype\nvoid",
    ),
    entry(
        Op.AtomicAdd,
        "codegen",
        (source("idx", "a place"), source("val", "what is added")),
        "Add val to the place in one indivisible step. Several may meet in one place; here they are added in the order "
        "of the iterations, and a machine may take any order, which matters to floats alone.",
        constraints=(
            "val has the shape of idx",
            "val has the dtype of idx",
            "the dtype is a number",
            "idx is a place: a Buffer, or a Param without bounds, under movement ops and After",
        ),
        laws=void_laws(device="src[0].device; the other sources are there too", axis=_STORED_AXIS),
        example=">>> Op.AtomicAdd(Op.Index(buffer(0, 2, int32), const(0, index)), const(1, int32)).dtype\nvoid",
        decisions=("U-26",),
    ),
    entry(
        Op.CustomFunction,
        "codegen",
        (source("meta", "a prototype of each result", variadic=True),),
        "A function that soundline does not see into, called through Call.",
        arg="name: str",
        constraints=("name is a str",),
        laws=void_laws(),
        example=">>> Op.CustomFunction(arg='decode').dtype\nvoid",
        decisions=("U-31",),
    ),
    entry(
        Op.Program,
        "codegen",
        (
            source("linear", "the instructions"),
            source("source", "the rendered source"),
            source("binary", "the machine code"),
        ),
        "A compiled kernel: its instructions, its source and its machine code.",
        constraints=("the sources are a Linear, a Source and a Binary (machine code)",),
        laws=void_laws(),
        example=">>> Op.Program(Op.Linear(), Op.Source(arg=''), Op.BinaryCode(arg=b'')).dtype\nvoid",
        decisions=("U-27",),
    ),
    entry(
        Op.Source,
        "codegen",
        (),
        "Rendered source code.",
        arg="str",
        constraints=("arg is a str",),
        laws=void_laws(device="null"),
        example=">>> Op.Source(arg='int x;').arg\n'int x;'",
    ),
    entry(
        Op.BinaryCode,
        "codegen",
        (),
        "Compiled machine code.",
        arg="bytes",
        constraints=("arg is bytes",),
        laws={
            "dtype": "uint8",
            "shape": "(len(bytes),)",
            "device": "null",
            "min_max": "dtype range",
            "axis": "null",
        },
        example=">>> Op.BinaryCode(arg=b'').shape\n(0,)",
        decisions=("U-27",),
        title="Binary (machine code)",
    ),
    _truncating(
        Op.CDiv, "a / b rounded toward zero; a div 0 = 0; the least value div -1 wraps to itself", -3
    ),
    _truncating(Op.CMod, "a - b·CDiv(a, b), with the sign of a; a mod 0 = a", -1),
)

ENTRIES: tuple[Entry, ...] = (*_MEMORY, *_ORDERING, *_CODEGEN)
