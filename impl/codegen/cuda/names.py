"""
Names of a program in C++
=========================

What the names around a statement of Spork are in generated code, and what is known of the integers among them. A name
of Spork keeps its spelling, unless C++ or the generated code around has another meaning for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import gcd

from soundline.impl.codegen.cuda.dialects import CUDA, Dialect, Helpers
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Index, Name, Unary
from soundline.spec.spork.language.names import Binding
from soundline.spec.spork.language.types import Control

Interval = tuple[int | None, int | None]
"""The least and the greatest value of an integer; None where there is no such bound."""

ANY: Interval = (None, None)
SIZE: Interval = (0, None)
"""What is known of a size."""

_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit "
    "export extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast restrict return "
    "short signed sizeof static static_assert static_cast struct switch template this thread_local throw "
    "true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "threadIdx blockIdx blockDim gridDim warpSize args sync ptx soundline main_loop setup "
    "shutdown SyncState Args Turn tasks target_cta half device errno stdin stdout stderr NULL assert max min abs "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t intptr_t uintptr_t "
    "_Bool _Complex _Imaginary _Generic _Static_assert _Atomic _Noreturn _Thread_local _Alignas _Alignof "
    "NAN INFINITY MAXFLOAT EOF BUFSIZ BYTE_ORDER LITTLE_ENDIAN BIG_ENDIAN PDP_ENDIAN linux unix i386 "
)
_RESERVED = frozenset(_WORDS.split())

_MACRO = re.compile(
    r"M_(E|[A-Z0-9]*(PI|LN|LOG|SQRT)\w*)|(FP|HUGE_VAL|MATH|CUDA|CUDART|EXIT)(_\w+)?|SNAN\w*|U?INT\w*_C"
    r"|(U?INT\w*|SIZE|[SUW]?CHAR|WINT|U?SHRT|U?L?LONG|PTRDIFF|SIG_ATOMIC|RAND|L?DBL|FLT)_(MAX|MIN|WIDTH|\w+)"
)
"""Macros of the headers of C, C++ and CUDA: what they are would stand in place of a name."""


_HELPER = re.compile(r"(max|floor_(div|mod)|sh[lr]|exp2|log2|sin|pow|bits|cast|odd|sticky|task)_\w*")
"""The functions that stand beside the code of a device function."""


def of_headers(name: str) -> bool:
    """Whether a header of C, C++ or CUDA has another meaning for a name, wherever it stands.

    >>> [of_headers(name) for name in ("INT_MAX", "M_PI", "uint32_t", "TILE_MAX", "M_1")]
    [True, True, True, False, False]
    """
    return name in _RESERVED or _MACRO.fullmatch(name) is not None


def spelled(name: str) -> str:
    """How a name of Spork is spelled in C++.

    >>> spelled("k"), spelled("register")
    ('k', 'register_')
    """
    ascii_name = "".join(c if c.isascii() else f"_u{ord(c):04x}" for c in name)
    taken = of_headers(ascii_name.rstrip("_")) or _HELPER.fullmatch(ascii_name)
    return f"{ascii_name}_" if taken else ascii_name


def no_data(place: Name | Index) -> str:
    """The element of data that a place is, where there are no data."""
    raise AssertionError(f"{place.name} is no control")


@dataclass(frozen=True)
class Names:
    """The names around a statement."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """The C++ of every control name."""
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    """What is known of integers among them; nothing of a name that is not here."""
    multiples: Mapping[str, int] = field(default_factory=dict)
    """Of which number an integer among them is a multiple, where that is asserted."""
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    """What all names stand for, by which expressions have dtypes."""
    element: Callable[[Name | Index], str] = no_data
    """The C++ of an element of data."""
    helpers: Helpers = field(default_factory=Helpers)
    """Functions that expressions have asked for."""
    dialect: Dialect = CUDA
    contract: bool = False
    """Whether ``fma`` may round once."""

    def with_control(self, name: str, bounds: Interval = ANY, text: str | None = None) -> Names:
        """One more integer of control, such as an iterator."""
        return replace(
            self,
            texts={**self.texts, name: spelled(name) if text is None else text},
            bounds={**self.bounds, name: bounds},
            bindings={**self.bindings, name: Control("index")},
        )

    def with_data(self, name: str, binding: Binding) -> Names:
        """One more name of data or of barriers."""
        return replace(self, bindings={**self.bindings, name: binding})

    def interval(self, expression: Expr) -> Interval:
        """Between which numbers an integer of control lies.

        >>> Names().with_control("k", (0, 7)).interval(Binary(Op.Sub, Const(1), Name("k")))
        (-6, 1)
        """
        match expression:
            case Const(value):
                return int(value), int(value)
            case Name(name):
                return self.bounds.get(name, ANY)
            case Unary(Op.Neg, operand):
                lo, hi = self.interval(operand)
                return (None if hi is None else -hi), (None if lo is None else -lo)
            case Binary(op, left, right):
                return _of_binary(op, self.interval(left), self.interval(right))
            case Apply(Op.Max, (left, right)):
                return _maximum(self.interval(left), self.interval(right))
            case Apply(Op.Where, (_, left, right)):
                return _hull(self.interval(left), self.interval(right))
            case _:
                return ANY

    def divisor(self, expression: Expr) -> int:
        """A number of which an integer of control is a multiple; 0 of 0 itself.

        >>> Names().divisor(Binary(Op.Add, Binary(Op.Mul, Const(8), Name("k")), Const(4)))
        4
        """
        match expression:
            case Const(value):
                return abs(int(value))
            case Name(name):
                return self.multiples.get(name, 1)
            case Unary(Op.Neg, operand):
                return self.divisor(operand)
            case Binary(Op.Mul, left, right):
                return self.divisor(left) * self.divisor(right)
            case Binary(Op.Add | Op.Sub | Op.Mod, left, right):
                return gcd(self.divisor(left), self.divisor(right))
            case _:
                return 1

    def is_non_negative(self, expression: Expr) -> bool:
        """Whether an integer of control is shown to be 0 or more."""
        lo = self.interval(expression)[0]
        return lo is not None and lo >= 0

    def assuming(self, condition: Expr, holds: bool = True) -> Names:
        """The names where a condition holds, or where it does not."""
        match condition:
            case Unary(Op.Not, operand):
                return self.assuming(operand, not holds)
            case Binary(Op.And, left, right) if holds:
                return self.assuming(left).assuming(right)
            case Binary(Op.Or, left, right) if not holds:
                return self.assuming(left, False).assuming(right, False)
            case Binary(op, left, right) if op in _OPPOSITE:
                found = op if holds else _OPPOSITE[op]
                return _compared(_compared(self, found, left, right), _MIRRORED[found], right, left)
            case _:
                return self


def _compared(names: Names, op: Op, left: Expr, right: Expr) -> Names:
    """The names where ``left op right``, if the left side is a name."""
    if not isinstance(left, Name) or left.name not in names.texts:
        return names
    lo, hi = names.bounds.get(left.name, ANY)
    below, above = names.interval(right)
    if op in (Op.CmpLt, Op.CmpLe, Op.CmpEq) and above is not None:
        most = above - 1 if op is Op.CmpLt else above
        hi = most if hi is None else min(hi, most)
    if op in (Op.CmpGt, Op.CmpGe, Op.CmpEq) and below is not None:
        least = below + 1 if op is Op.CmpGt else below
        lo = least if lo is None else max(lo, least)
    return replace(names, bounds={**names.bounds, left.name: (lo, hi)})


_OPPOSITE = {
    Op.CmpLt: Op.CmpGe,
    Op.CmpGe: Op.CmpLt,
    Op.CmpLe: Op.CmpGt,
    Op.CmpGt: Op.CmpLe,
    Op.CmpEq: Op.CmpNe,
    Op.CmpNe: Op.CmpEq,
}
_MIRRORED = {
    Op.CmpLt: Op.CmpGt,
    Op.CmpGt: Op.CmpLt,
    Op.CmpLe: Op.CmpGe,
    Op.CmpGe: Op.CmpLe,
    Op.CmpEq: Op.CmpEq,
    Op.CmpNe: Op.CmpNe,
}


def _of_binary(op: Op, a: Interval, b: Interval) -> Interval:
    match op:
        case Op.Add:
            return _plus(a[0], b[0]), _plus(a[1], b[1])
        case Op.Sub:
            return _minus(a[0], b[1]), _minus(a[1], b[0])
        case Op.Mul:
            return _product(a, b)
        case Op.Idiv:
            return _quotient(a, b)
        case Op.Mod:
            return _remainder(a, b)
        case _:
            return ANY


def _plus(x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else x + y


def _minus(x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else x - y


def _product(a: Interval, b: Interval) -> Interval:
    (al, ah), (bl, bh) = a, b
    if al is not None and bl is not None and al >= 0 and bl >= 0:
        return al * bl, None if ah is None or bh is None else ah * bh
    if al is None or ah is None or bl is None or bh is None:
        return ANY
    corners = [x * y for x in (al, ah) for y in (bl, bh)]
    return min(corners), max(corners)


def _quotient(a: Interval, b: Interval) -> Interval:
    """A quotient by 0 is 0."""
    (al, ah), (bl, bh) = a, b
    if al is None or bl is None or al < 0 or bl < 0:
        return ANY
    least = al // bh if bh and bl else 0
    return least, None if ah is None else ah // max(bl, 1)


def _remainder(a: Interval, b: Interval) -> Interval:
    """A remainder by 0 is the dividend."""
    (al, ah), (bl, bh) = a, b
    if bl is not None and bl >= 1:
        most = None if bh is None else bh - 1
        if al is not None and al >= 0 and ah is not None:
            most = ah if most is None else min(most, ah)
        return 0, most
    return (0, ah) if al is not None and al >= 0 and bl == 0 else ANY


def _maximum(a: Interval, b: Interval) -> Interval:
    lows = [x for x in (a[0], b[0]) if x is not None]
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return (max(lows) if lows else None), high


def _hull(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return low, high
