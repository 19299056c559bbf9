"""
Approximate functions
=====================

Functions of scalars that hardware has an instruction for, which is fast and not exact. The sequential body states the
function itself; `ex2.approx` differs from it by at most 2 units in the last place (PTX ISA, section 9.7.3.21), and not
at all where the argument is a zero, an infinity or NaN: it gives 1, 0 or infinity, and NaN. Where that is not enough a
program writes the function of the law instead, ``exp2(x)``, whose bits are the same everywhere (S-30).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from soundline.spec.dtypes import exponent_range, float32
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Name
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.library.memories import CudaRmem
from soundline.spec.spork.library.parts import scalar
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_thread


class ApproximateExp2(Instruction):
    """``ex2.approx``: two to the power of a value."""

    __slots__ = ()


UNITS: Final = 2
"""By how many units in the last place hardware may differ."""


def tolerance(exact: float) -> Fraction:
    """How far hardware may be from the exact power of two, a result in f32: `UNITS` of its last place.

    >>> tolerance(1.5) == 2 * Fraction(2) ** -23
    True
    """
    if not math.isfinite(exact):
        return Fraction(0)
    least, _ = exponent_range(float32)
    exponent = max(math.frexp(exact)[1] - 1, least) if exact else least
    return UNITS * Fraction(2) ** (exponent - float32.mantissa_bits)


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    ApproximateExp2(
        name="cuda_ex2_approx_f32",
        arguments=(scalar("dst", float32), scalar("value", float32)),
        body=(Assign(Name("dst"), Apply(Op.Exp2, (Name("value"),))),),
        unit=cuda_thread,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": Operand(memories=(CudaRmem,))},
        ptx="ex2.approx.f32",
        doc="Two to the power of a value, within 2 units in the last place.",
    ),
)
"""The approximate functions that a thread executes."""
