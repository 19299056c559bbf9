"""
Programs made by code
=====================

A `Builder` makes a proc statement by statement, as a lowering does. Blocks are ``with`` blocks. Names and expressions
are objects of the class `Term`, which has the operators of the language::

    b = Builder("add")
    n = b.size("n")
    x = b.argument("x", float32, (n,), memory)
    with b.device_function(block_dim=128), b.tasks("t", n // 128) as t, b.threads("i", 128, thread) as i:
        b.reduce(x[t * 128 + i], 1.0)
    proc = b.done()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from soundline.impl.spork.program import SporkProc
from soundline.spec.dtypes import DType
from soundline.spec.errors import UsageError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    BINARY,
    FUNCTIONS,
    Apply,
    Binary,
    Cast,
    Expr,
    Index,
    Name,
    Span,
    Unary,
)
from soundline.spec.spork.language.nodes import Ref, ref
from soundline.spec.spork.language.programs import constant
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    PAR,
    SEQ,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    BarrierAt,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Mode,
    Pass,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Argument, Control, CudaWarpConfig, Data, Type
from soundline.spec.spork.language.well_formedness import check


class Term:
    """An expression with operators; indexing one that is a name gives an element or a window."""

    def __init__(self, expression: Expr) -> None:
        self.expression = expression

    def __getitem__(self, indices: Any) -> Term:
        if not isinstance(self.expression, Name):
            raise UsageError("only names of the program can be indexed")
        parts = indices if isinstance(indices, tuple) else (indices,)
        return Term(Index(self.expression.name, tuple(_index(i) for i in parts)))

    def __repr__(self) -> str:
        from soundline.spec.spork.language.text import expression

        return f"Term({expression(self.expression)})"

    def __neg__(self) -> Term:
        return Term(Unary(Op.Neg, self.expression))

    def __invert__(self) -> Term:
        return Term(Unary(Op.Not, self.expression))

    def __add__(self, other: Operand) -> Term:
        return binary("+", self, other)

    def __radd__(self, other: Operand) -> Term:
        return binary("+", other, self)

    def __sub__(self, other: Operand) -> Term:
        return binary("-", self, other)

    def __rsub__(self, other: Operand) -> Term:
        return binary("-", other, self)

    def __mul__(self, other: Operand) -> Term:
        return binary("*", self, other)

    def __rmul__(self, other: Operand) -> Term:
        return binary("*", other, self)

    def __truediv__(self, other: Operand) -> Term:
        return binary("/", self, other)

    def __rtruediv__(self, other: Operand) -> Term:
        return binary("/", other, self)

    def __floordiv__(self, other: Operand) -> Term:
        return binary("//", self, other)

    def __mod__(self, other: Operand) -> Term:
        return binary("%", self, other)

    def __and__(self, other: Operand) -> Term:
        return binary("&", self, other)

    def __or__(self, other: Operand) -> Term:
        return binary("|", self, other)

    def __lt__(self, other: Operand) -> Term:
        return binary("<", self, other)

    def __le__(self, other: Operand) -> Term:
        return binary("<=", self, other)

    def __gt__(self, other: Operand) -> Term:
        return binary(">", self, other)

    def __ge__(self, other: Operand) -> Term:
        return binary(">=", self, other)


Operand = Term | bool | int | float
"""What an operator or a statement takes: a term or a number."""


def expr(value: Operand) -> Expr:
    """A term or a number as an expression."""
    return value.expression if isinstance(value, Term) else constant(value)


def binary(operator: str, left: Operand, right: Operand) -> Term:
    """Two operands under an operator, as it is spelled in programs: ``==`` and ``^`` too."""
    return Term(Binary(BINARY[operator], expr(left), expr(right)))


def cast(dtype: DType, value: Operand) -> Term:
    """A value in another dtype."""
    return Term(Cast(dtype, expr(value)))


def apply(function: str, *operands: Operand) -> Term:
    """A function of scalars: ``sqrt``, ``max``, ``select`` …"""
    return Term(Apply(FUNCTIONS[function][0], tuple(expr(o) for o in operands)))


def _index(value: Any) -> Expr | Span:
    if isinstance(value, slice):
        if value.step is not None:
            raise UsageError("a window cannot have a step")
        lo, hi = (None if end is None else expr(end) for end in (value.start, value.stop))
        return Span(lo, hi)
    return expr(value)


def _place(term: Term) -> Name | Index:
    if isinstance(term.expression, Name | Index):
        return term.expression
    raise UsageError(f"{term} is not a place")


def _barrier(term: Term) -> BarrierAt:
    place = _place(term)
    return BarrierAt(place.name, place.indices if isinstance(place, Index) else ())


def _ref(value: Any) -> Ref:
    return value if isinstance(value, Ref) else ref(value)


class Builder:
    """Makes one proc. References are objects with a name, or a `Ref`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._arguments: list[Argument] = []
        self._preconditions: list[Expr] = []
        self._blocks: list[list[Statement]] = [[]]

    def done(self) -> SporkProc:
        """Return the proc; raises `ProgramError` if it is not well-formed."""
        body = tuple(self._blocks[0])
        made = SporkProc(self.name, tuple(self._arguments), tuple(self._preconditions), body)
        check(made)
        return made

    def add(self, statement: Statement) -> None:
        """Append any statement."""
        self._blocks[-1].append(statement)

    # Arguments

    def _argument(self, name: str, type_: Type, memory: Any = None) -> Term:
        self._arguments.append(Argument(name, type_, None if memory is None else _ref(memory)))
        return Term(Name(name))

    def size(self, name: str) -> Term:
        """An argument of type size."""
        return self._argument(name, Control("size"))

    def index(self, name: str) -> Term:
        """An argument of type index."""
        return self._argument(name, Control("index"))

    def flag(self, name: str) -> Term:
        """An argument of type bool."""
        return self._argument(name, Control("bool"))

    def argument(
        self,
        name: str,
        dtype: DType,
        sizes: Sequence[Operand] = (),
        memory: Any = None,
        *,
        window: bool = False,
    ) -> Term:
        """An argument of data."""
        return self._argument(name, Data(dtype, tuple(expr(s) for s in sizes), window), memory)

    def require(self, condition: Operand) -> None:
        """A precondition."""
        self._preconditions.append(expr(condition))

    # Statements

    def alloc(self, name: str, dtype: DType, sizes: Sequence[Operand] = (), memory: Any = None) -> Term:
        """Storage to the end of the block."""
        self.add(Alloc(name, dtype, tuple(expr(s) for s in sizes), None if memory is None else _ref(memory)))
        return Term(Name(name))

    def barrier(self, name: str, kind: Any, sizes: Sequence[Operand] | None = None) -> Term:
        """Barriers of a type."""
        known = None if sizes is None else tuple(expr(s) for s in sizes)
        self.add(AllocBarrier(name, _ref(kind), known))
        return Term(Name(name))

    def window(self, name: str, window: Term, memory: Any = None) -> Term:
        """A name for a window."""
        place = _place(window)
        if not isinstance(place, Index):
            raise UsageError(f"{window} is not a window")
        self.add(WindowOf(name, place, None if memory is None else _ref(memory)))
        return Term(Name(name))

    def nothing(self) -> None:
        """``pass``."""
        self.add(Pass())

    def assign(self, place: Term, value: Operand) -> None:
        """``place = value``."""
        self.add(Assign(_place(place), expr(value)))

    def reduce(self, place: Term, value: Operand) -> None:
        """``place += value``."""
        self.add(Reduce(_place(place), expr(value)))

    def fence(self, first: Any, second: Any) -> None:
        """``Fence(first, second)``."""
        self.add(Fence(_ref(first), _ref(second)))

    def arrive(self, first: Any, *barriers: Term, n: int = 1, reverse: bool = False) -> None:
        """``Arrive(first, n) >> barrier``, with several barriers multicast."""
        self.add(Arrive(_ref(first), tuple(_barrier(b) for b in barriers), n, reverse))

    def await_(self, barrier: Term, second: Any, n: int, *, reverse: bool = False) -> None:
        """``Await(barrier, second, n)``."""
        self.add(Await(_barrier(barrier), _ref(second), n, reverse))

    def call(
        self, callee: Any, *arguments: Operand, trailing: Sequence[Term] = (), **keywords: Operand
    ) -> None:
        """A call of a proc or instruction."""
        named = tuple((name, expr(value)) for name, value in keywords.items())
        barriers = tuple(_barrier(b) for b in trailing)
        self.add(Call(_ref(callee), tuple(expr(a) for a in arguments), named, barriers))

    # Blocks

    @contextmanager
    def _block(self) -> Iterator[list[Statement]]:
        block: list[Statement] = []
        self._blocks.append(block)
        try:
            yield block
        finally:
            self._blocks.pop()

    @contextmanager
    def _loop(self, iterator: str, mode: Mode, lo: Operand, hi: Operand) -> Iterator[Term]:
        with self._block() as block:
            yield Term(Name(iterator))
        self.add(For(iterator, mode, expr(lo), expr(hi), tuple(block)))

    def seq(self, iterator: str, hi: Operand, lo: Operand = 0) -> AbstractContextManager[Term]:
        """A sequential loop."""
        return self._loop(iterator, SEQ, lo, hi)

    def par(self, iterator: str, hi: Operand, lo: Operand = 0) -> AbstractContextManager[Term]:
        """A loop on threads of the CPU."""
        return self._loop(iterator, PAR, lo, hi)

    def tasks(self, iterator: str, hi: Operand, lo: Operand = 0) -> AbstractContextManager[Term]:
        """A loop over tasks."""
        return self._loop(iterator, CUDA_TASKS, lo, hi)

    def threads(self, iterator: str, hi: Operand, unit: Any) -> AbstractContextManager[Term]:
        """A loop whose iterations are executed by thread collectives of a unit."""
        return self._loop(iterator, CudaThreads(_ref(unit)), 0, hi)

    @contextmanager
    def when(self, condition: Operand) -> Iterator[None]:
        """``if condition:``."""
        with self._block() as block:
            yield
        self.add(If(expr(condition), tuple(block)))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """``else:`` of the statement before."""
        last = self._blocks[-1][-1] if self._blocks[-1] else None
        if not isinstance(last, If) or last.orelse:
            raise UsageError("otherwise must follow a when")
        with self._block() as block:
            yield
        self._blocks[-1][-1] = If(last.condition, last.body, tuple(block))

    @contextmanager
    def device_function(
        self,
        block_dim: int | None = None,
        *,
        warp_config: Sequence[CudaWarpConfig] = (),
        cluster_dim: int = 1,
        blocks_per_sm: int = 1,
    ) -> Iterator[None]:
        """``with CudaDeviceFunction(...):``."""
        with self._block() as block:
            yield
        self.add(CudaDeviceFunction(tuple(block), block_dim, tuple(warp_config), cluster_dim, blocks_per_sm))

    @contextmanager
    def asynchronous(self, timeline: Any) -> Iterator[None]:
        """``with CudaAsync(timeline):``."""
        with self._block() as block:
            yield
        self.add(CudaAsync(_ref(timeline), tuple(block)))

    @contextmanager
    def warps(self, lo: int | None = None, hi: int | None = None, name: str | None = None) -> Iterator[None]:
        """``with CudaWarps(lo, hi, name=name):``."""
        with self._block() as block:
            yield
        self.add(CudaWarps(tuple(block), lo, hi, name))
