"""
Names in a plan
===============

What names stand for while a program is planned: control is a term, data a view whose bases are terms
(`spec.spork.machine.names` and `arguments`, for all iterations at once). What a run would refuse is gathered as
conditions, until the statement takes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from soundline.impl.spork.checker.planning.collectives import Origin
from soundline.impl.spork.checker.planning.plan import Check, Placed, Term
from soundline.impl.spork.checker.planning.terms import Known, applied, as_number, variables
from soundline.impl.spork.checker.planning.windows import View
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Span,
    Unary,
)
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import BarrierAt, Call
from soundline.spec.spork.language.types import Argument, Control, Data
from soundline.spec.spork.static.calls import given_to
from soundline.spec.spork.synchronization.barriers import BarrierType


class NeedsNumber(Exception):
    """A plan has to have a number here, and what is here depends on iterators."""

    def __init__(self, iterators: set[int]) -> None:
        super().__init__(iterators)
        self.iterators = iterators


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a scalar argument was given: the elements that are read wherever the argument is."""

    loads: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class Ring:
    """The queues under one name."""

    number: int
    type: BarrierType
    sizes: tuple[Term, ...] | None


Bound = Term | View | Given | Ring


@dataclass(slots=True)
class Names:
    """The names in scope at a statement."""

    bound: dict[str, Bound]
    known: Known = field(default_factory=Known)
    origins: dict[int, Origin] = field(default_factory=dict)
    """What says who owns the elements of an array, by its number."""
    pending: list[Term] = field(default_factory=list)
    """What has to hold for the statement at hand, as far as it is not shown."""

    def looped(self, iterator: str, value: Term) -> Names:
        """The names in an iteration of a loop."""
        return Names({**self.bound, iterator: value}, self.known, self.origins, self.pending)

    def must(self, condition: Term) -> None:
        """The run is refused where a condition does not hold."""
        if not self.known.holds(condition):
            self.pending.append(condition)

    def checks(self, place: Placed) -> list[Check]:
        """What is left to be asked before a statement."""
        found = [Check(place, condition) for condition in dict.fromkeys(self.pending)]
        self.pending.clear()
        return found

    # Control ------------------------------------------------------------------------------------------------------

    def control(self, expression: Expr) -> Term:
        """An expression of control."""
        match expression:
            case Name(name):
                found = self.bound[name]
                assert not isinstance(found, View | Given | Ring)
                return found
            case Const(value):
                assert isinstance(value, int)
                return value
            case Binary(op, left, right):
                return applied(op, self.control(left), self.control(right))
            case Unary(op, operand):
                return applied(op, self.control(operand))
            case Apply(op, operands):
                return applied(op, *(self.control(o) for o in operands))
        raise AssertionError("program_laws lets nothing else be control")

    def size(self, expression: Expr) -> Term:
        """A size, which is not negative."""
        found = self.control(expression)
        self.must(applied(Op.CmpGe, found, 0))
        return found

    def whole_size(self, expression: Expr) -> int:
        """A size that is a number; 0 where it is refused."""
        return max(0, self.number(self.size(expression)))

    def number(self, term: Term) -> int:
        """A term that has to be a number."""
        found = as_number(term)
        if found is None:
            raise NeedsNumber({v.number for v in variables(term)})
        return found

    # Data ---------------------------------------------------------------------------------------------------------

    def view(self, name: str) -> View:
        """The view that a name stands for."""
        found = self.bound[name]
        assert isinstance(found, View)
        return found

    def window(self, place: Name | Index) -> View:
        """The view that a window stands for, or all of an array, or an element of it."""
        view = self.view(place.name)
        if isinstance(place, Name):
            return view
        return view.narrowed([self._part(i, n) for i, n in zip(place.indices, view.sizes, strict=True)])

    def _part(self, i: Expr | Span, size: int) -> tuple[Term, int | None]:
        if not isinstance(i, Span):
            return self._index(i, size), None
        lo: Term = 0 if i.lo is None else self.control(i.lo)
        hi: Term = size if i.hi is None else self.control(i.hi)
        for condition in (applied(Op.CmpGe, lo, 0), applied(Op.CmpLe, lo, hi), applied(Op.CmpLe, hi, size)):
            self.must(condition)
        return lo, max(0, self.number(applied(Op.Sub, hi, lo)))

    def _index(self, i: Expr, size: Term | None) -> Term:
        found = self.control(i)
        if size is not None:
            self.must(applied(Op.CmpGe, found, 0))
            self.must(applied(Op.CmpLt, found, size))
        return found

    def barrier(self, barrier: BarrierAt) -> tuple[Ring, tuple[Term | None, ...]]:
        """The queues of a name, and its indices, with None for a colon."""
        found = self.bound[barrier.name]
        assert isinstance(found, Ring)
        sizes: Sequence[Term | None] = found.sizes or [None] * len(barrier.indices)
        at = [
            None if isinstance(i, Span) else self._index(i, size)
            for i, size in zip(barrier.indices, sizes, strict=True)
        ]
        return found, tuple(at)

    def loads(self, expression: Expr) -> list[tuple[str, View]]:
        """The elements that a value is computed of, in order, with the names by which they are read."""
        match expression:
            case Index():
                return [(expression.name, self.window(expression))]
            case Name(name):
                found = self.bound[name]
                if isinstance(found, View):
                    return [(name, found)]
                return [(name, load) for load in found.loads] if isinstance(found, Given) else []
            case Unary(_, operand) | Cast(_, operand):
                return self.loads(operand)
            case Binary(_, left, right):
                return [*self.loads(left), *self.loads(right)]
            case Apply(_, operands):
                return [load for operand in operands for load in self.loads(operand)]
        return []

    # Calls --------------------------------------------------------------------------------------------------------

    def given_to(self, call: Call, callee: Proc) -> Names:
        """What the arguments of a proc stand for in it."""
        inner = Names({}, self.known, self.origins, self.pending)
        for argument, value in given_to(call):
            if isinstance(argument.type, Control):
                inner.bound[argument.name] = self._control(argument, self.control(value))
        for argument, value in given_to(call):
            if isinstance(argument.type, Data):
                inner.bound[argument.name] = self.data(value, argument.type, inner)
        for condition in callee.preconditions:
            self.must(inner.control(condition))
        return inner

    def _control(self, argument: Argument, value: Term) -> Term:
        """A value for an argument of control."""
        assert isinstance(argument.type, Control)
        if isinstance(value, int) and isinstance(value, bool) != (argument.type.name == "bool"):
            self.must(0)
        if argument.type.name == "size":
            self.must(applied(Op.CmpGe, value, 0))
        return value

    def data(self, value: Expr, type_: Data, inner: Names) -> View | Given:
        """What an argument of data is given: a place, which has the sizes that are declared, or a value."""
        sizes = [inner.size(size) for size in type_.sizes]
        if not isinstance(value, Name | Index) or not isinstance(self.bound[value.name], View):
            return Given(tuple(view for _, views in grouped(self.loads(value)) for view in views))
        found = self.window(value)
        if len(sizes) != len(found.sizes):
            self.must(0)
        for one, other in zip(found.sizes, sizes, strict=False):
            self.must(applied(Op.CmpEq, one, other))
        return found

    def numbers_given_to(self, call: Call) -> Mapping[str, int]:
        """What the arguments of control of an instruction are, which have to be numbers in a plan."""
        return {
            argument.name: self.number_of(self._control(argument, self.control(value)))
            for argument, value in given_to(call)
            if isinstance(argument.type, Control)
        }

    def number_of(self, term: Term) -> int:
        """A number, whose type is kept where it is one."""
        return term if isinstance(term, int) else self.number(term)


def grouped(loads: Sequence[tuple[str, View]]) -> list[tuple[str, tuple[View, ...]]]:
    """Elements as `Recorder.uses` orders them: by name and memory, each once, with the name."""
    groups: dict[tuple[str, str], list[View]] = {}
    for name, view in loads:
        groups.setdefault((name, view.memory.name), []).append(view)
    return [(name, tuple(dict.fromkeys(views))) for (name, _), views in groups.items()]
