"""
Machine code
============

What stands for code: single instructions, pasted text, functions that soundline does not see into, compiled kernels.
"""

from __future__ import annotations

from soundline.spec.ops.adjoints import LEAF
from soundline.spec.ops.adjoints import NO_VALUE as NO_ADJOINT
from soundline.spec.ops.laws import BYTES, DTYPE_RANGE, NO_AXIS, NO_DEVICE, NO_VALUE
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Law, Typing, entry, source

INS = entry(
    Op.Ins,
    "codegen",
    "One machine instruction. It may do anything that the machine does, and has no meaning here: a program that "
    "contains it has no value.",
    sources=(source("operand", "operands of the instruction", variadic=True),),
    arg="the instruction",
    arg_types=(object,),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Ins(arg='s_nop').dtype\nvoid",
)

CUSTOM = entry(
    Op.Custom,
    "codegen",
    "A string that is pasted into generated code. It has no meaning here: a program that contains it has no value.",
    sources=(source("arg", "values that the format string names", variadic=True),),
    arg="fmt: str",
    arg_types=(str,),
    constraints=(("fmt is a str", lambda src, arg: type(arg) is str),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Custom(arg='asm volatile(\"\");').dtype\nvoid",
)

CUSTOM_FUNCTION = entry(
    Op.CustomFunction,
    "codegen",
    "A function that soundline does not see into, called through Call.",
    sources=(source("meta", "a prototype of each result", variadic=True),),
    arg="name: str",
    arg_types=(str,),
    constraints=(("name is a str", lambda src, arg: type(arg) is str),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.CustomFunction(arg='decode').dtype\nvoid",
    decisions=("U-31",),
)

PROGRAM = entry(
    Op.Program,
    "codegen",
    "A compiled kernel: its instructions, its source and its machine code.",
    sources=(
        source("linear", "the instructions"),
        source("source", "the rendered source"),
        source("binary", "the machine code"),
    ),
    constraints=(
        (
            "the sources are a Linear, a Source and a Binary (machine code)",
            lambda src, arg: tuple(s.op for s in src) == (Op.Linear, Op.Source, Op.BinaryCode),
        ),
    ),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Program(Op.Linear(), Op.Source(arg=''), Op.BinaryCode(arg=b'')).dtype\nvoid",
    decisions=("U-27",),
)

SOURCE = entry(
    Op.Source,
    "codegen",
    "Rendered source code.",
    arg="str",
    arg_types=(str,),
    constraints=(("arg is a str", lambda src, arg: type(arg) is str),),
    typing=NO_VALUE.but(device=NO_DEVICE),
    adjoint=LEAF,
    example=">>> Op.Source(arg='int x;').arg\n'int x;'",
)

BINARY_CODE = entry(
    Op.BinaryCode,
    "codegen",
    "Compiled machine code.",
    arg="bytes",
    arg_types=(bytes,),
    constraints=(("arg is bytes", lambda src, arg: type(arg) is bytes),),
    typing=Typing(
        dtype=BYTES,
        shape=Law("(len(bytes),)", lambda src, arg: (len(arg),)),
        device=NO_DEVICE,
        axis=NO_AXIS,
    ),
    bounds=DTYPE_RANGE,
    adjoint=LEAF,
    example=">>> Op.BinaryCode(arg=b'').shape\n(0,)",
    decisions=("U-27",),
    title="Binary (machine code)",
)
