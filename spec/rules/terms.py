"""
Terms of a rewrite rule
=======================

A rule's two sides and its conditions are terms: one small tree per side, with variables at the leaves. A term is not
yet typed; `instances` gives it dtypes, ranks and permutations and builds the UOps that it stands for.

Terms have sorts. A *value* is what a UOp computes, elementwise or as a whole tensor. A *vector* is one index per axis
(a shape or an offset). What is known when a rule meets a program (permutations, flags, sets of axes, dtypes, and the
static conditions on them) is the chapter `choices`; conditions on values, sizes and bounds are bool values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

from soundline.spec.dtypes import DType
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.choices import (
    Axes,
    DTypeTerm,
    DTypeVar,
    Flags,
    Perm,
    Static,
    axes,
    dtype_of,
    flagged,
    permutation,
)
from soundline.spec.rules.notation import Term, Variable, named_sizes, number, show, shown

__all__ = [
    "FOLDS",
    "Axes",
    "BinaryOp",
    "Bool",
    "Const",
    "DTypeTerm",
    "DTypeVar",
    "Flags",
    "Interval",
    "Monoid",
    "Offset",
    "Perm",
    "Shape",
    "Size",
    "Static",
    "Tensor",
    "Term",
    "UnaryOp",
    "Value",
    "Variable",
    "Vector",
    "apply",
    "axes",
    "conjuncts",
    "named_sizes",
    "rebuilt",
    "reduction_op",
    "show",
    "subterms",
    "value",
    "vector",
]


T = TypeVar("T", bound=Term)

FOLDS = (Op.Add, Op.Max, Op.Mul)
"""The ops that Reduce reduces with, in the order in which the instances of a Monoid are tried."""


class Value(Term):
    """An expression over values.

    As an annotation, any value: of the rule's dtype, of a dtype variable (``Value["s"]``) or of one dtype
    (``Value[int32]``).
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __new__(cls, *_: object) -> Self:
        """A Value of no narrower kind is an Expression, so that no term is of a class above another's.

        Python asks the right operand of ``x < c`` first where its class is below that of the left one.
        """
        return object.__new__(Expression if cls is Value else cls)  # type: ignore[return-value]

    def __class_getitem__(cls, item: object) -> Variable:
        """``Value["s"]`` has the dtype of the dtype variable s; ``Value[int32]`` has that dtype."""
        return Variable(cls.__name__, item if isinstance(item, tuple) else (item,))

    def __add__(self, other: object) -> Value:
        return apply(Op.Add, self, other)

    def __radd__(self, other: object) -> Value:
        return apply(Op.Add, other, self)

    def __sub__(self, other: object) -> Value:
        return apply(Op.Sub, self, other)

    def __rsub__(self, other: object) -> Value:
        return apply(Op.Sub, other, self)

    def __mul__(self, other: object) -> Value:
        return apply(Op.Mul, self, other)

    def __rmul__(self, other: object) -> Value:
        return apply(Op.Mul, other, self)

    def __truediv__(self, other: object) -> Value:
        return apply(Op.Div, self, other)

    def __rtruediv__(self, other: object) -> Value:
        return apply(Op.Div, other, self)

    def __floordiv__(self, other: object) -> Value:
        return apply(Op.Idiv, self, other)

    def __rfloordiv__(self, other: object) -> Value:
        return apply(Op.Idiv, other, self)

    def __mod__(self, other: object) -> Value:
        return apply(Op.Mod, self, other)

    def __rmod__(self, other: object) -> Value:
        return apply(Op.Mod, other, self)

    def __lshift__(self, other: object) -> Value:
        return apply(Op.Shl, self, other)

    def __rlshift__(self, other: object) -> Value:
        return apply(Op.Shl, other, self)

    def __rshift__(self, other: object) -> Value:
        return apply(Op.Shr, self, other)

    def __rrshift__(self, other: object) -> Value:
        return apply(Op.Shr, other, self)

    def __and__(self, other: object) -> Value:
        return apply(Op.And, self, other)

    def __rand__(self, other: object) -> Value:
        return apply(Op.And, other, self)

    def __or__(self, other: object) -> Value:
        return apply(Op.Or, self, other)

    def __ror__(self, other: object) -> Value:
        return apply(Op.Or, other, self)

    def __xor__(self, other: object) -> Value:
        return apply(Op.Xor, self, other)

    def __rxor__(self, other: object) -> Value:
        return apply(Op.Xor, other, self)

    def __lt__(self, other: object) -> Value:
        return apply(Op.CmpLt, self, other)

    def __gt__(self, other: object) -> Value:
        return apply(Op.CmpGt, self, other)

    def __le__(self, other: object) -> Value:
        return apply(Op.CmpLe, self, other)

    def __ge__(self, other: object) -> Value:
        return apply(Op.CmpGe, self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return apply(Op.CmpEq, self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return apply(Op.CmpNe, self, other)

    def __pow__(self, other: object) -> Value:
        """Pow of floats; an integer to the power of a number is multiplied by itself."""
        return Value("power", (self, value(other)))

    def __rpow__(self, other: object) -> Value:
        return Value("power", (value(other), self))

    def __abs__(self) -> Value:
        """The magnitude; the least integer of a dtype is its own."""
        return Value("abs", (self,))

    def __neg__(self) -> Value:
        return apply(Op.Neg, self)

    def __invert__(self) -> Value:
        return apply(Op.Not, self)

    def cast(self, dtype: DType | DTypeTerm) -> Value:
        """This value converted to `dtype`."""
        return Value(Op.Cast, (self, dtype_of(dtype)))

    def bitcast(self, dtype: DType | DTypeTerm) -> Value:
        """This value's bytes read as `dtype`."""
        return Value(Op.Bitcast, (self, dtype_of(dtype)))

    def recip(self) -> Value:
        """1/x."""
        return apply(Op.Recip, self)

    def trunc(self) -> Value:
        """The value rounded toward zero."""
        return apply(Op.Trunc, self)

    def sqrt(self) -> Value:
        """The square root."""
        return apply(Op.Sqrt, self)

    def exp2(self) -> Value:
        """Two to the power of this value."""
        return apply(Op.Exp2, self)

    def log2(self) -> Value:
        """The logarithm to base two."""
        return apply(Op.Log2, self)

    def sin(self) -> Value:
        """The sine."""
        return apply(Op.Sin, self)

    def permute(self, order: Perm | tuple[int, ...]) -> Value:
        """Reorder the axes."""
        return Value(Op.Permute, (self, permutation(order)))

    def flip(self, flags: Flags | tuple[bool, ...]) -> Value:
        """Reverse the flagged axes; those of a set, where Axes are given."""
        return Value(Op.Flip, (self, flagged(flags)))

    def reshape(self, shape: Vector | tuple[Any, ...]) -> Value:
        """The same elements in another shape."""
        return Value(Op.Reshape, (self, vector(shape)))

    def expand(self, shape: Vector | tuple[Any, ...]) -> Value:
        """Repeat axes of size 1."""
        return Value(Op.Expand, (self, vector(shape)))

    def pad(
        self,
        offset: Vector | tuple[Any, ...] | int,
        shape: Vector | tuple[Any, ...],
        stride: Vector | tuple[Any, ...] | Value | int | None = None,
        *,
        fill: object = None,
    ) -> Value:
        """Place at `offset` in a `shape` of zeros, or of `fill`; a stride leads from one element to the next."""
        more = () if stride is None else (vector(stride),)
        placed = Value(Op.Pad, (self, vector(offset), vector(shape), *more))
        if fill is None:
            return placed
        there = Value(Op.Pad, (apply(Op.Or, self == self, self != self), *placed.args[1:]))
        return apply(Op.Where, there, placed, fill)

    def shrink(
        self,
        offset: Vector | tuple[Any, ...] | int,
        shape: Vector | tuple[Any, ...],
        stride: Vector | tuple[Any, ...] | Value | int | None = None,
    ) -> Value:
        """Keep the part of this `shape` at `offset`; with a stride, one element for each step of that length."""
        more = () if stride is None else (vector(stride),)
        return Value(Op.Shrink, (self, vector(offset), vector(shape), *more))

    def reduce(self, op: Monoid | Op, over: Axes | tuple[int, ...] | int) -> Value:
        """Reduction with `op` along these axes, which stay with size 1."""
        return Value(Op.Reduce, (self, reduction_op(op), axes(over)))

    def sum(self, over: Axes | tuple[int, ...] | int) -> Value:
        """The sum along these axes, which stay with size 1."""
        return self.reduce(Op.Add, over)

    def max(self, over: Axes | tuple[int, ...] | int) -> Value:
        """The greatest along these axes, which stay with size 1."""
        return self.reduce(Op.Max, over)

    def prod(self, over: Axes | tuple[int, ...] | int) -> Value:
        """The product along these axes, which stay with size 1."""
        return self.reduce(Op.Mul, over)

    def index(self, *indices: object) -> Value:
        """The axes from the left indexed: a scalar removes its axis, an index of rank 1 makes it as long as itself."""
        return apply(Op.Index, self, *indices)

    def load(self, *indices: object, gate: object, alt: object) -> Value:
        """The element at these indices where the gate is true, else `alt`: the place is touched only there (U-01)."""
        return apply(Op.Where, gate, self.index(*indices), alt)

    def contiguous(self) -> Value:
        """The marker Contiguous."""
        return apply(Op.Contiguous, self)

    @property
    def shape(self) -> Vector:
        """The shape, one size per axis."""
        return Vector("shape of", (self,))

    @property
    def dtype(self) -> DTypeTerm:
        """The dtype."""
        return DTypeTerm("dtype of", (self,))

    @property
    def lo(self) -> Value:
        """The least value that the variable can have: its min_max says so. Only for an Interval."""
        return _bound(self, "lo")

    @property
    def hi(self) -> Value:
        """The greatest value that the variable can have. Only for an Interval."""
        return _bound(self, "hi")


class Expression(Value):
    """What an operation on values gives, and a variable of the kind Value."""

    __slots__ = ()
    __hash__ = object.__hash__


class Const(Value):
    """A constant: any value of the rule's dtype, known when the rule is applied."""

    __slots__ = ()
    __hash__ = object.__hash__


class Interval(Value):
    """A value with known bounds: `lo` ≤ value ≤ `hi`, and never NaN."""

    __slots__ = ()
    __hash__ = object.__hash__


class Bool(Value):
    """A bool value."""

    __slots__ = ()
    __hash__ = object.__hash__


class Size(Value):
    """An index ≥ 0: the size of an axis."""

    __slots__ = ()
    __hash__ = object.__hash__


class Tensor(Value):
    """A tensor of any shape of any rank; ``Tensor["m", "n"]`` has these named sizes, ``Tensor[bool_]`` that dtype."""

    __slots__ = ()
    __hash__ = object.__hash__


class Vector(Term):
    """One index per axis; arithmetic and comparisons are per axis, and a comparison means every axis."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __new__(cls, *_: object) -> Self:
        """A Vector of no narrower kind is a Sizes, as a Value is an Expression."""
        return object.__new__(Sizes if cls is Vector else cls)  # type: ignore[return-value]

    def __add__(self, other: object) -> Vector:
        return Vector(Op.Add, (self, vector(other)))

    def __radd__(self, other: object) -> Vector:
        return Vector(Op.Add, (vector(other), self))

    def __sub__(self, other: object) -> Vector:
        return Vector(Op.Sub, (self, vector(other)))

    def __rsub__(self, other: object) -> Vector:
        return Vector(Op.Sub, (vector(other), self))

    def __mul__(self, other: object) -> Vector:
        return Vector(Op.Mul, (self, vector(other)))

    def __rmul__(self, other: object) -> Vector:
        return Vector(Op.Mul, (vector(other), self))

    def __floordiv__(self, other: object) -> Vector:
        return Vector(Op.Idiv, (self, vector(other)))

    def __mod__(self, other: object) -> Vector:
        return Vector(Op.Mod, (self, vector(other)))

    def __lt__(self, other: object) -> Value:
        return Value("every axis", (Op.CmpLt, self, vector(other)))

    def __gt__(self, other: object) -> Value:
        return Value("every axis", (Op.CmpGt, self, vector(other)))

    def __le__(self, other: object) -> Value:
        return Value("every axis", (Op.CmpLe, self, vector(other)))

    def __ge__(self, other: object) -> Value:
        return Value("every axis", (Op.CmpGe, self, vector(other)))

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return Value("every axis", (Op.CmpEq, self, vector(other)))

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return apply(Op.Not, self == other)

    def permute(self, order: Perm | tuple[int, ...]) -> Vector:
        """Entry k of the result is entry order[k]."""
        return Vector("permuted", (self, permutation(order)))

    def __getitem__(self, axis: int) -> Value:
        """The entry of one axis, counted from the left, or from the right if negative."""
        at = number(axis)
        if type(at) is not int:
            raise RuleError(
                f"an entry belongs to one axis, not to {show(axis)}", hint="s[0], or s[-1] for the last"
            )
        return Value("entry", (self, at))


class Sizes(Vector):
    """What an operation on vectors gives."""

    __slots__ = ()
    __hash__ = object.__hash__


class Shape(Vector):
    """A shape: one size ≥ 0 per axis."""

    __slots__ = ()
    __hash__ = object.__hash__


class Offset(Vector):
    """An offset: one index per axis."""

    __slots__ = ()
    __hash__ = object.__hash__


class UnaryOp(Term):
    """Any elementwise op of one operand that keeps the dtype."""

    __slots__ = ()

    def __call__(self, x: object) -> Value:
        """The op applied to `x`, which may be a number."""
        return Value("op", (self, value(x)))


class BinaryOp(Term):
    """Any elementwise op of two operands that keeps the dtype."""

    __slots__ = ()

    def __call__(self, x: object, y: object) -> Value:
        """The op applied to `x` and `y`, of which one may be a number."""
        return Value("op", (self, value(x), value(y)))


class Monoid(BinaryOp):
    """Any op that Reduce reduces with: Add, Max or Mul, where the dtype has it."""

    __slots__ = ()


def apply(op: Op, *operands: object) -> Value:
    """`op` on values; numbers become literals of the dtype beside them."""
    return Value(op, tuple(value(x) for x in operands))


def value(x: object) -> Value:
    """`x` as a value term: a value, or a number."""
    if isinstance(x, Value):
        return x
    literal = number(x)
    if isinstance(literal, bool | int | float):
        return Value("literal", (literal,))
    raise RuleError(
        f"a value is needed, not {shown(x)}",
        hint="values are Value, Const, Interval, Bool, Size, Range, Tensor, and numbers",
    )


def vector(x: object) -> Vector:
    """`x` as a vector term: a vector, a tuple of sizes, or one number for every axis."""
    if isinstance(x, Vector):
        return x
    if isinstance(x, tuple | list):
        return Vector("entries", tuple(value(e) for e in x))
    if isinstance(number(x), int) or (isinstance(x, Value) and not isinstance(x, Tensor)):
        return Vector("everywhere", (value(x),))
    raise RuleError(f"a shape or an offset is needed, not {shown(x)}", hint="annotate it Shape or Offset")


def reduction_op(op: object) -> Monoid | Op:
    """`op` as what Reduce reduces with: a Monoid, or one of the three ops."""
    if isinstance(op, Monoid) or (isinstance(op, Op) and op in FOLDS):
        return op
    raise RuleError(
        f"a reduction uses a Monoid, or Add, Max or Mul, not {shown(op)}",
        hint="write x.sum(a), x.max(a), x.prod(a), or x.reduce(m, a) with m: Monoid",
    )


def _bound(of: Value, end: str) -> Value:
    if not isinstance(of, Interval):
        raise RuleError(
            f"{show(of)} has no known bounds", hint="annotate the variable Interval to use .lo and .hi"
        )
    return Value(end, (of,))


def subterms(term: Term) -> Iterator[Term]:
    """A term and all terms inside it, outermost first; one that is shared is met once."""
    met: set[int] = set()
    stack = [term]
    while stack:
        top = stack.pop()
        if id(top) not in met:
            met.add(id(top))
            yield top
            stack.extend(a for a in reversed(top.args) if isinstance(a, Term))


def rebuilt(term: T, change: Callable[[Term], Any]) -> T:
    """A term with each term among its arguments changed; the term itself where none is."""
    args = tuple(change(a) if isinstance(a, Term) else a for a in term.args)
    same = all(new is old for new, old in zip(args, term.args, strict=True))
    return term if same else type(term)(term.head, args)


def conjuncts(*conditions: Term) -> Iterator[Term]:
    """What all of the conditions demand: those that are joined by *and* are taken apart."""
    for condition in conditions:
        if condition.head in (Op.And, "and"):
            yield from conjuncts(*condition.args)
        else:
            yield condition
