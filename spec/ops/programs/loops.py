"""
Loops
=====

Iterators, the ends of loops, and where the threads of a workgroup meet.
"""

from __future__ import annotations

from soundline.spec.ops.adjoints import LOOP_INDEX as NO_DERIVATIVE
from soundline.spec.ops.adjoints import NO_VALUE as NO_ADJOINT
from soundline.spec.ops.bounds import At, Bounds, Known
from soundline.spec.ops.laws import LOOP_INDEX, NO_VALUE, is_index_scalar
from soundline.spec.ops.node import Op, RangeArg, UOp
from soundline.spec.ops.programs.memory import DEPENDENCIES
from soundline.spec.ops.schema import Law, Predicate, entry, source
from soundline.spec.ops.sizes import at_most

BOUND = source("bound", "an index scalar")
IS_NUMBER: tuple[str, Predicate] = ("bound is an index scalar", lambda src, arg: is_index_scalar(src[0]))
IS_NATURAL: tuple[str, Predicate] = ("bound is ≥ 0", lambda src, arg: at_most(0, src[0]))


def iterations(node: UOp, at: At) -> Known:
    """From 0 to one below the greatest bound; none where no iteration runs."""
    bound = at(node.src[0])
    return None if bound is None or bound.hi < 1 else Bounds(0, bound.hi - 1)


RANGE = entry(
    Op.Range,
    "ordering",
    "An iterator from 0 to bound, exclusive. Its id tells equal loops apart.",
    sources=(BOUND,),
    arg="id, AxisType",
    arg_types=(RangeArg,),
    constraints=(IS_NUMBER, IS_NATURAL),
    typing=LOOP_INDEX,
    bounds=Law("[0, n-1]", iterations),
    adjoint=NO_DERIVATIVE,
    example=">>> min_max(loop(4, 0)).hi\n3",
    decisions=("U-21", "U-44"),
)

SPECIAL = entry(
    Op.Special,
    "codegen",
    "The index of this workgroup (gidx) or of this thread in it (lidx), from 0 to bound, exclusive. The program is "
    "run by all of them.",
    sources=(BOUND,),
    arg="name, for example gidx0 or lidx1",
    arg_types=(str,),
    constraints=(
        IS_NUMBER,
        IS_NATURAL,
        ("name is a str", lambda src, arg: type(arg) is str),
        (
            "name is gidx or lidx and a number",
            lambda src, arg: arg[:4] in ("gidx", "lidx") and arg[4:].isdecimal() and arg.isascii(),
        ),
    ),
    typing=LOOP_INDEX,
    bounds=Law("[0, n-1]", iterations),
    adjoint=NO_DERIVATIVE,
    example=">>> Op.Special(const(8, index), arg='gidx0').dtype\nindex",
    decisions=("U-26",),
)

END = entry(
    Op.End,
    "ordering",
    "Repeat body for every value of the range.",
    sources=(source("body", "the effect to repeat"), source("range", "the Range to close")),
    constraints=(
        (
            "body is an effect or a value",
            lambda src, arg: src[0].op not in (Op.Range, Op.Sink, Op.Linear),
        ),
        ("range is a Range", lambda src, arg: src[1].op is Op.Range),
    ),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.End(Op.Group(), loop(4, 0)).dtype\nvoid",
    decisions=("U-26",),
)

BARRIER = entry(
    Op.Barrier,
    "codegen",
    "What all threads of the workgroup have done: the dependencies, for every value of the thread axes that are "
    "free in them (LOCAL, WARP and GROUP_REDUCE Ranges, and Specials that count threads). All threads reach it or "
    "none.",
    sources=(DEPENDENCIES,),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Barrier().dtype\nvoid",
    decisions=("U-26", "U-51"),
)
