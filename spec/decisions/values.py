"""
Decisions on values
===================

U-01 to U-14: totality, integers, floats, reductions, conversions, and the typing of operands.
"""

from __future__ import annotations

from soundline.spec.decisions.schema import Decision

VALUES: tuple[Decision, ...] = (
    Decision(
        "U-01",
        "Totality and validity",
        "Every elementwise op has a value for all operands. What can fail is memory and structure. An element read "
        "outside its buffer is invalid (written ⊥); ops are strict in ⊥, except that Where needs only the element it "
        "selects, and a gated Load or Store touches its place only where the gate is true. A ⊥ that reaches a Reduce, "
        "a Store or a result is an error of the evaluator and an obligation in compiled code. An unbound Param or a "
        "broken shape law is an error. A rewrite l → r is right when, wherever l is valid, r is valid, has the same "
        "shape, dtype, device and axis, and equal values; shape and validity are demanded even where no element "
        "exists, for empty tensors and at rank 0.",
    ),
    Decision(
        "U-02",
        "Fixed-width integers wrap; index does not",
        "Integers of fixed width wrap in two's complement at the node's own dtype. index is the mathematical "
        "integers, with Add, Mul, Max, Idiv, Mod, comparisons, Where, shifts by constants ≥ 0 and casts to and from "
        "integers; it has no float cast, no bitwise op and is never stored. Lowering picks int32 or int64 where "
        "min_max shows that the value fits, and may assume the gate of an access for the index under it; where "
        "neither fits it widens or refuses.",
    ),
    Decision(
        "U-03",
        "Division rounds down, and by zero it is zero",
        "Idiv is floor division, and Mod is the remainder that goes with it: Mod(a, b) = a - b·Idiv(a, b), with the "
        "sign of the divisor. Idiv(a, 0) = 0, hence Mod(a, 0) = a. The least value divided by -1 wraps. The "
        "truncating CDiv and CMod are codegen ops with laws of their own: CDiv(a, 0) = 0 and CMod(a, 0) = a. The plain "
        "operators of C may be emitted only where the signs and a divisor that is not zero are proved.",
    ),
    Decision(
        "U-04",
        "Shift counts",
        "The count is read as unsigned. A count of at least the width gives 0 for Shl and for the logical Shr, and "
        "the sign fill for the arithmetic Shr of signed dtypes.",
    ),
    Decision(
        "U-05",
        "Floats are IEEE 754",
        "Binary formats, round to nearest even, subnormals kept. Add, Mul, Recip, Div, Sqrt and Cast are correctly "
        "rounded, in bfloat16 and float16 once, at the op's result. The sign of a zero is observable; payload and sign "
        "of a NaN are not, and Bitcast of a NaN reads the canonical quiet NaN, so that float → int → float keeps a "
        "value but int → float → int is the identity only where NaN is excluded. Bitcast to or from bool and index "
        "is ill-typed. The 8-bit floats are the OCP formats: overflow is NaN in E4M3FN and ±∞ in E5M2; saturation is "
        "a separate cast.",
    ),
    Decision(
        "U-06",
        "Max propagates NaN and orders zeros",
        "Max is maximum of IEEE 754-2019: NaN if either operand is NaN, and +0 > -0. So it is commutative, "
        "associative and idempotent on every dtype, as theorems.",
    ),
    Decision(
        "U-07",
        "Comparisons with NaN are false",
        "[a ≥ b] and [a ≤ b] are false when an operand is NaN. The decomposition through Not(CmpLt) is licensed for "
        "integers and wherever NaN is excluded; elsewhere a ≥ b is Or(CmpLt(b, a), CmpEq(a, b)).",
        source="CmpGe decomposes into CmpNe(CmpLt(A, B), 1), which is true when an operand is NaN.",
    ),
    Decision(
        "U-08",
        "Quotient, root and power are not their decompositions",
        "The quotient, the square root and the power are correctly rounded (Pow within a stated bound, with the "
        "special cases of IEEE 754). Division by reciprocal needs the licence reciprocal. The decompositions of Sqrt "
        "and Pow through Exp2 and Log2 are theorems over the reals only and are never emitted. Integers have no Div.",
        source="Div is Mul(A, Recip(B)), Sqrt is Exp2(0.5·Log2(A)), Pow is Exp2(Log2(A)·B).",
    ),
    Decision(
        "U-09",
        "Licences and profiles",
        "A program grants licences, a rule states which it needs, a verdict names those it was proved under: "
        "reassociate, contract, reciprocal, approx, no_nan, no_signed_zero, tensor_core, tf32. Mulacc is two "
        "roundings; fusing them needs contract. The profile exact grants none and equals the evaluator bit for bit; "
        "it is the default. The profile fast grants reassociate, contract, approx and tensor_core. tf32 is asked for "
        "by name.",
    ),
    Decision(
        "U-10",
        "A float reduction has an order",
        "On integers a Reduce is exact. On floats it is the ascending reduction that starts at its first element; "
        "several axes are one reduction in row-major order, and in range form the first range is the outermost. The "
        "identity of float Add is -0.0, which is what masking uses; the empty reduce is +0.0, 1, or the dtype's least "
        "value (invalid for index). The tensor layer writes a float sum of more than 256 elements whose axes include "
        "the last one as a fixed blocked association, so that the order is in the program and not in the schedule. The "
        "elements, in row-major order, are cut into blocks of 2048. In a block, lane k of 32 adds every 32nd element "
        "from the k-th on, ascending; then the lanes are added, ascending. The sums of the blocks are summed as the "
        "elements are. What does not fill a block is one smaller block, whose sum is added last; its last row of lanes "
        "is filled up with -0.0, and fewer than 32 elements are added ascending. Under reassociate every association "
        "and permutation is admitted, with the usual error bounds.",
    ),
    Decision(
        "U-11",
        "Transcendental functions have one reference program",
        "Exp2, Log2, Sin and Pow are the real function within a stated error per dtype, with exact special values. The "
        "law gives each one reference program over correctly rounded primitives. The evaluator computes by it, so that "
        "the exact profile is defined bit for bit, and its distance from the real function is measured.",
    ),
    Decision(
        "U-12",
        "Threefry is Threefry-2x32-20",
        "The five rounds of the source are five groups of four rounds with a key injection after each. The low word "
        "comes first in the uint64. The published known answers of Random123 are the law.",
    ),
    Decision(
        "U-13",
        "Trunc and conversions",
        "Trunc keeps the sign of a zero. Integer to integer wraps; integer to float rounds to nearest even; float to "
        "float rounds once; float to integer truncates, then saturates, and NaN becomes 0; anything to bool is ≠ 0, "
        "so NaN becomes true.",
    ),
    Decision(
        "U-14",
        "Typing of operands",
        "The operands of a binary op have equal dtypes; the tensor layer inserts casts. On bool, Max is Or and Mul is "
        "And, elementwise and in Reduce, and Add is ill-typed. The condition of Where is bool, which narrows the "
        "source's P ≠ 0. Not is bool; And, Or and Xor take integers and bool, shifts take integers. Pad fills with "
        "False, 0 and +0.0.",
    ),
)
