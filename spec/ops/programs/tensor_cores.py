"""
Wmma
====

A matrix product that the lanes of a warp compute together (U-52). Its value asks what other lanes hold: the chapter
`spec.evaluation.lanes`.
"""

from __future__ import annotations

from soundline.spec.ops.adjoints import Refused
from soundline.spec.ops.laws import DTYPE_RANGE, INHERITED, NO_AXIS
from soundline.spec.ops.node import Op, WmmaArg
from soundline.spec.ops.schema import Law, entry, source

WMMA = entry(
    Op.Wmma,
    "codegen",
    "acc + A·B, where each of the 32 lanes of a warp holds a fragment of every matrix. The value here is the "
    "ascending reduction from acc on; the hardware accumulates in an order of its own, within the bound of the "
    "configuration.",
    sources=(
        source("A", "the left fragment"),
        source("B", "the right fragment"),
        source("acc", "the accumulator fragment"),
    ),
    arg="config: dims (N, M, K), input dtype, accumulator dtype, device",
    arg_types=(WmmaArg,),
    constraints=(
        (
            "A and B have the input dtype",
            lambda src, arg: src[0].dtype is arg.input and src[1].dtype is arg.input,
        ),
        ("acc has the accumulator dtype", lambda src, arg: src[2].dtype is arg.accumulator),
    ),
    typing=INHERITED.but(
        dtype=Law("src[2].dtype", lambda src, arg: src[2].dtype),
        shape=Law("src[2].shape", lambda src, arg: src[2].shape),
        axis=NO_AXIS,
    ),
    bounds=DTYPE_RANGE,
    adjoint=Refused("an error: fragments are made after gradients are taken"),
    example=">>> Op.Wmma(frag, frag, acc, arg=WmmaArg((8, 16, 16), float16, float32)).dtype\nfloat32",
    decisions=("U-09", "U-52"),
)
