"""
Entries: elementwise and decomposed ops
=======================================

Every elementwise op is total (U-01): no operand values lead to undefined behaviour. All sources have one shape, which
is that of the result. The semantics column is the law; a decomposition is a rewrite that holds under its licences.
"""

from __future__ import annotations

from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Entry, alu_laws, entry, source

_X = source("x", "the operand")
_A, _B, _C = source("a", "left operand"), source("b", "right operand"), source("c", "addend")
_SAME_SHAPE = "all sources have one shape"
_SAME_DTYPE = "both operands have one dtype"
_NUMBER = "the dtype is a number: an integer, index or float"
_NUMBER_OR_BOOL = "the dtype is bool, an integer, index or float"
_WHOLE = "the dtype is an integer or index"
_FLOAT = "the dtype is a float"
_ROUNDED = "float ends round to nearest, and one that becomes NaN leaves the dtype range"
_COMPARISON = alu_laws(
    dtype="bool", min_max="from the intervals, where they decide it and NaN is excluded, else [False, True]"
)


def _unary(
    op: Op,
    semantics: str,
    wants: str,
    example: str,
    *,
    laws: dict[str, str] | None = None,
    decisions: tuple[str, ...] = (),
) -> Entry:
    return entry(
        op,
        "elementwise",
        (_X,),
        semantics,
        constraints=(wants,),
        example=example,
        laws=laws or alu_laws(),
        decisions=decisions,
    )


def _binary(
    op: Op,
    semantics: str,
    wants: str,
    example: str,
    *,
    laws: dict[str, str] | None = None,
    decisions: tuple[str, ...] = (),
) -> Entry:
    return entry(
        op,
        "elementwise",
        (_A, _B),
        semantics,
        constraints=(_SAME_SHAPE, _SAME_DTYPE, wants),
        example=example,
        laws=laws or alu_laws(),
        decisions=decisions,
    )


def _bitwise(op: Op, sign: str, name: str) -> Entry:
    return _binary(
        op,
        f"a {sign} b: bitwise {name} of integers in two's complement, logical {name} of bools",
        "the dtype is bool or an integer of fixed width",
        f">>> scalar(Op.{op.name}, int32, 6, 3)\n{ {'Xor': 5, 'Or': 7, 'And': 2}[op.name] }",
        laws=alu_laws(
            min_max="[0, min(A, B)] of And on non-negative intervals, exact on constants, else dtype range"
        ),
        decisions=("U-14",),
    )


_UNARY: tuple[Entry, ...] = (
    _unary(
        Op.Recip,
        "1/x, correctly rounded; 1/±0 is ±∞, which in E4M3FN is NaN",
        _FLOAT,
        ">>> scalar(Op.Recip, float32, 4.0)\n0.25",
        decisions=("U-05",),
    ),
    _unary(
        Op.Trunc,
        "x rounded toward zero to an integer; the sign of zero is kept",
        _FLOAT,
        ">>> scalar(Op.Trunc, float32, -2.5)\n-2.0",
        laws=alu_laws(min_max="[trunc a, trunc A]"),
        decisions=("U-13",),
    ),
    entry(
        Op.Cast,
        "elementwise",
        (_X,),
        "Convert to the dtype of arg. Integer to integer wraps; integer to float and float to float round to nearest "
        "even, once; float to integer truncates and saturates, NaN to 0; anything to bool is x ≠ 0, NaN to True.",
        arg="dtype",
        constraints=(
            "the target is a value dtype",
            "index converts only from and to integers and bool",
        ),
        laws=alu_laws(
            dtype="from arg",
            min_max="the ends, cast as values are, and 0 where a NaN becomes an integer; [x ≠ 0] for bool; dtype range "
            f"where an integer does not fit its target; {_ROUNDED}",
        ),
        example=">>> scalar(Op.Cast, float32, 3e9, arg=int32)\n2147483647",
        decisions=("U-02", "U-13", "U-42"),
    ),
)

_BINARY: tuple[Entry, ...] = (
    _binary(
        Op.Add,
        "a + b; integers wrap, floats round once",
        _NUMBER,
        ">>> scalar(Op.Add, int8, 127, 1)\n-128",
        laws=alu_laws(min_max=f"[a+b, A+B] where it fits the dtype, else dtype range; {_ROUNDED}"),
        decisions=("U-02", "U-05", "U-14", "U-40", "U-43"),
    ),
    _binary(
        Op.Mul,
        "a · b; integers wrap, floats round once; and of bools",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.Mul, float32, 0.0, -1.0)\n-0.0",
        laws=alu_laws(
            min_max="[min, max] of the products of the ends where it fits the dtype, else dtype range; "
            f"{_ROUNDED}"
        ),
        decisions=("U-02", "U-05", "U-14", "U-40", "U-43"),
    ),
    _binary(
        Op.Max,
        "the greater of a and b: IEEE 754-2019 maximum, so NaN if either is NaN, and +0 > -0; or of bools",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.Max, float32, -0.0, 0.0)\n0.0",
        laws=alu_laws(min_max="[max(a, b), max(A, B)]"),
        decisions=("U-06", "U-14"),
    ),
    _binary(
        Op.Mod,
        "a mod b = a - b·⌊a/b⌋, with the sign of b; a mod 0 = a",
        _WHOLE,
        ">>> scalar(Op.Mod, int32, -7, 2)\n1",
        laws=alu_laws(
            min_max="[0, B-1] for b ≥ 1, [b+1, 0] for B ≤ -1, src[0] where it is already reduced, else dtype range"
        ),
        decisions=("U-03",),
    ),
    _binary(
        Op.Idiv,
        "⌊a/b⌋; a div 0 = 0; the least value div -1 wraps to itself",
        _WHOLE,
        ">>> scalar(Op.Idiv, int32, -7, 2)\n-4",
        laws=alu_laws(
            min_max="[min, max] of the floor quotients where b excludes 0 and they fit the dtype, else dtype range"
        ),
        decisions=("U-03",),
    ),
    _binary(
        Op.CmpLt,
        "[a < b]; False if either is NaN; False < True",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.CmpLt, float32, float('nan'), 1.0)\nFalse",
        laws=_COMPARISON,
        decisions=("U-07", "U-43"),
    ),
    _binary(
        Op.CmpNe,
        "[a ≠ b]; True if either is NaN; -0 = +0",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.CmpNe, float32, float('nan'), float('nan'))\nTrue",
        laws=_COMPARISON,
        decisions=("U-07", "U-43"),
    ),
    _bitwise(Op.Xor, "⊕", "exclusive or"),
    _bitwise(Op.Or, "|", "or"),
    _bitwise(Op.And, "&", "and"),
    _binary(
        Op.Shr,
        "a ≫ b: arithmetic for signed dtypes, logical for unsigned ones. The count is read as unsigned; a count ≥ "
        "width gives the sign fill. On index it is ⌊a/2^b⌋ for a constant b ≥ 0",
        "the dtype is an integer, or index with a constant count ≥ 0",
        ">>> scalar(Op.Shr, int8, -128, 9)\n-1",
        decisions=("U-02", "U-04", "U-14"),
    ),
    _binary(
        Op.Shl,
        "a ≪ b, wrapped. The count is read as unsigned; a count ≥ width gives 0. On index it is a·2^b for a constant "
        "b ≥ 0",
        "the dtype is an integer, or index with a constant count ≥ 0",
        ">>> scalar(Op.Shl, int8, 1, 8)\n0",
        decisions=("U-02", "U-04", "U-14"),
    ),
)

_TERNARY: tuple[Entry, ...] = (
    entry(
        Op.Where,
        "elementwise",
        (source("p", "the condition, bool"), _A, _B),
        "a where p is True, else b; only the selected element is needed.",
        constraints=(_SAME_SHAPE, "p is bool", "a and b have one dtype"),
        laws=alu_laws(dtype="src[1].dtype", min_max="hull of src[1] and src[2]"),
        example=">>> evaluate(Op.Where(const(True, bool_), const(1, int8), const(2, int8))).elements\n(1,)",
        decisions=("U-01", "U-14"),
    ),
)


def _decomposed(
    op: Op,
    operands: int,
    semantics: str,
    decomposition: str,
    wants: str,
    example: str,
    *,
    laws: dict[str, str] | None = None,
    licences: tuple[str, ...] = (),
    decisions: tuple[str, ...] = (),
) -> Entry:
    return entry(
        op,
        "decomposed",
        (_X,) if operands == 1 else (_A, _B, _C)[:operands],
        semantics,
        constraints=(wants,) if operands == 1 else (_SAME_SHAPE, _SAME_DTYPE, wants),
        decomposition=decomposition,
        example=example,
        laws=laws or alu_laws(),
        licences=licences,
        decisions=decisions,
    )


_NEGATED = "[{}]; False if either is NaN"

_DECOMPOSED: tuple[Entry, ...] = (
    _decomposed(
        Op.Neg,
        1,
        "-x; integers wrap, and the sign bit of a float is reversed",
        "Mul(a, -1)",
        _NUMBER,
        ">>> scalar(Op.Neg, uint8, 1)\n255",
        laws=alu_laws(min_max="[-A, -a] where it fits the dtype, else dtype range"),
        decisions=("U-02", "U-40"),
    ),
    _decomposed(
        Op.Sub,
        2,
        "a - b; integers wrap, floats round once",
        "Add(a, Neg(b))",
        _NUMBER,
        ">>> scalar(Op.Sub, uint8, 0, 1)\n255",
        laws=alu_laws(min_max=f"[a-B, A-b] where it fits the dtype, else dtype range; {_ROUNDED}"),
        decisions=("U-02", "U-40", "U-43"),
    ),
    _decomposed(
        Op.Div,
        2,
        "a / b, correctly rounded",
        "Mul(a, Recip(b))",
        _FLOAT,
        ">>> scalar(Op.Div, float32, 5.0, 3.0) == scalar(Op.Mul, float32, 5.0, scalar(Op.Recip, float32, 3.0))\nFalse",
        licences=("reciprocal",),
        decisions=("U-05", "U-08"),
    ),
    _decomposed(
        Op.CmpGt,
        2,
        _NEGATED.format("a > b"),
        "CmpLt(b, a)",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.CmpGt, int32, 2, 1)\nTrue",
        laws=_COMPARISON,
        decisions=("U-07",),
    ),
    _decomposed(
        Op.CmpGe,
        2,
        _NEGATED.format("a ≥ b"),
        "CmpNe(CmpLt(a, b), True) where NaN is excluded; Or(CmpLt(b, a), CmpEq(a, b)) always",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.CmpGe, float32, float('nan'), 0.0)\nFalse",
        laws=_COMPARISON,
        licences=("no_nan",),
        decisions=("U-07",),
    ),
    _decomposed(
        Op.CmpLe,
        2,
        _NEGATED.format("a ≤ b"),
        "CmpNe(CmpLt(b, a), True) where NaN is excluded; Or(CmpLt(a, b), CmpEq(a, b)) always",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.CmpLe, float32, 0.0, float('nan'))\nFalse",
        laws=_COMPARISON,
        licences=("no_nan",),
        decisions=("U-07",),
    ),
    _decomposed(
        Op.CmpEq,
        2,
        _NEGATED.format("a = b"),
        "CmpNe(CmpNe(a, b), True)",
        _NUMBER_OR_BOOL,
        ">>> scalar(Op.CmpEq, float32, -0.0, 0.0)\nTrue",
        laws=_COMPARISON,
        decisions=("U-07",),
    ),
    _decomposed(
        Op.Not,
        1,
        "¬x",
        "CmpNe(x, True)",
        "the dtype is bool",
        ">>> scalar(Op.Not, bool_, True)\nFalse",
        laws=alu_laws(min_max="[¬A, ¬a]"),
        decisions=("U-14",),
    ),
    _decomposed(
        Op.Exp2,
        1,
        "2^x within a stated number of ulp; exact at integers, ±∞ and NaN",
        "split into integer and fraction, polynomial, scale by a power of two (chapter exponentials)",
        "the dtype is float16, bfloat16, float32 or float64",
        ">>> scalar(Op.Exp2, float32, 3.0)\n8.0",
        laws=alu_laws(min_max="[0, ∞]"),
        decisions=("U-11",),
    ),
    _decomposed(
        Op.Log2,
        1,
        "log₂ x within a stated number of ulp; exact at powers of two; -∞ at ±0, NaN below 0",
        "extract the exponent, polynomial on the significand (chapter exponentials)",
        "the dtype is float16, bfloat16, float32 or float64",
        ">>> scalar(Op.Log2, float32, 8.0)\n3.0",
        decisions=("U-11",),
    ),
    _decomposed(
        Op.Sin,
        1,
        "sin x within a stated number of ulp; ±0 at ±0, NaN at ±∞",
        "reduce the argument by the bits of 1/(2π), polynomial of sine or cosine (chapter sine)",
        "the dtype is float16, bfloat16, float32 or float64",
        ">>> scalar(Op.Sin, float64, 1e22)\n-0.8522008497671888",
        laws=alu_laws(min_max="[-1, 1]; NaN where an end is infinite"),
        decisions=("U-11",),
    ),
    _decomposed(
        Op.Sqrt,
        1,
        "√x, correctly rounded; √-0 = -0; NaN below 0",
        "Exp2(Mul(0.5, Log2(x))), over the reals only",
        _FLOAT,
        ">>> scalar(Op.Sqrt, float32, 9.0)\n3.0",
        laws=alu_laws(min_max="[√a, √A] for a ≥ 0, else [-0, the greatest of the dtype] or NaN"),
        licences=("approx",),
        decisions=("U-05", "U-08"),
    ),
    _decomposed(
        Op.Pow,
        2,
        "a^b within a stated number of ulp, with the special cases of IEEE 754-2019: 1 at a = 1 and at b = 0, else NaN "
        "where either is NaN; for a < 0 finite, NaN where b is finite and no integer; at a = ±0 or ±∞ or b = ±∞ the "
        "limit ∞ or 0, and 1 at a = -1. A negative a, -0 included, gives a negative result at odd b",
        "Exp2(Mul(Log2(a), b)), over the positive reals only; 2^(b·log₂ |a|) with special cases (chapter power) always",
        "the dtype is float16, bfloat16, float32 or float64",
        ">>> scalar(Op.Pow, float32, -2.0, 3.0)\n-8.0",
        licences=("approx",),
        decisions=("U-08", "U-11"),
    ),
    _decomposed(
        Op.Mulacc,
        3,
        "a · b + c in two roundings; integers wrap",
        "Add(Mul(a, b), c)",
        _NUMBER,
        ">>> scalar(Op.Mulacc, int32, 2, 3, 4)\n10",
        laws=alu_laws(min_max="of Add(Mul(a, b), c)"),
        decisions=("U-09",),
    ),
    _decomposed(
        Op.Threefry,
        2,
        "Threefry-2x32-20 of counter a under key b, low word first",
        "five groups of four add-rotate-xor rounds with key injection (chapter threefry)",
        "the dtype is uint64",
        ">>> hex(scalar(Op.Threefry, uint64, 0, 0))\n'0x99ba4efe6b200159'",
        decisions=("U-12",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*_UNARY, *_BINARY, *_TERNARY, *_DECOMPOSED)
