"""
Values and accesses of a run
============================

What a statement computes, and what it touches: its expressions become values over elements, and its reads and writes
are gathered by the name through which they are done. A literal takes the dtype of what it meets, and so does what is
made of literals alone; what meets nothing is ``index`` or ``float64``.

The body of an instruction is executed here too: it assigns and reduces in seq loops and ifs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from soundline.spec.dtypes import DType, bool_, float64, index
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    COMPARISONS,
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Unary,
)
from soundline.spec.spork.language.names import typed
from soundline.spec.spork.language.statements import Assign, For, If, Reduce, Statement
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.machine.events import (
    Computed,
    Converted,
    Element,
    Load,
    Number,
    Step,
    Touch,
    Value,
    loaded,
)
from soundline.spec.spork.machine.names import Given, Names, View
from soundline.spec.spork.synchronization.timelines import CPU, InstrTl, pair
from soundline.spec.spork.synchronization.visibility import Kind, Thread


@dataclass(frozen=True, slots=True)
class Use:
    """What is accessed through one name in one way."""

    operand: str
    kind: Kind
    memory: Memory
    elements: tuple[Element, ...]


@dataclass(slots=True)
class Recorder:
    """Gathers the accesses and steps of one action."""

    atomic: frozenset[str] = frozenset()
    """The names whose reductions are atomic."""
    steps: list[Step] = field(default_factory=list)
    found: dict[tuple[str, Kind, str], tuple[Memory, dict[int, Element]]] = field(default_factory=dict)

    def uses(self) -> list[Use]:
        """All reads, then all writes."""
        made = [Use(n, kind, memory, tuple(e.values())) for (n, kind, _), (memory, e) in self.found.items()]
        return [u for u in made if u.kind is Kind.read] + [u for u in made if u.kind is not Kind.read]

    def _use(self, name: str, kind: Kind, memory: Memory, element: Element) -> None:
        _, elements = self.found.setdefault((name, kind, memory.name), (memory, {}))
        elements[id(element)] = element

    # Statements

    def run(self, body: Sequence[Statement], names: Names) -> None:
        """Execute the body of an instruction."""
        for statement in body:
            match statement:
                case Assign() | Reduce():
                    self.write(statement, names)
                case For(iterator=iterator, lo=lo, hi=hi, body=inner):
                    for value in range(names.control(lo), names.control(hi)):
                        self.run(inner, names.looped(iterator, value))
                case If(condition, inner, orelse):
                    self.run(inner if names.control(condition) else orelse, names)

    def write(self, statement: Assign | Reduce, names: Names) -> None:
        """Execute an assignment or a reduction."""
        place = statement.place
        target = names.element(place)
        value = self.value(statement.value, target.dtype, names)
        reduces = isinstance(statement, Reduce)
        atomic = reduces and place.name in self.atomic
        kind = Kind.atomic if atomic else Kind.write
        self._use(place.name, kind, names.view(place.name).memory, target)
        self.steps.append(Step(target, value, reduces, atomic))

    # Expressions

    def value(self, expression: Expr, wanted: DType, names: Names) -> Value:
        """The value of an expression, whose literals take the dtype that is wanted of them."""
        match expression:
            case Index():
                return self._load(expression, names)
            case Name(name):
                bound = names.bound[name]
                if isinstance(bound, View):
                    return self._load(expression, names)
                return self._given(name, bound)
            case Const(value):
                return literal(value, wanted)
            case Unary(op, operand):
                return Computed(op, (self.value(operand, wanted, names),), wanted)
            case Binary(op, left, right) if op in COMPARISONS:
                met = _met(left, right, names)
                return Computed(op, (self.value(left, met, names), self.value(right, met, names)), bool_)
            case Binary(op, left, right):
                both = self.value(left, wanted, names), self.value(right, wanted, names)
                return Computed(op, both, wanted)
            case Cast(dtype, Index() as place):
                return Converted(self._load(place, names), dtype)
            case Cast(dtype, operand):
                return Converted(self.value(operand, _met(operand, operand, names), names), dtype)
            case Apply(op, operands):
                own = [bool_, wanted, wanted] if op is Op.Where else [wanted] * len(operands)
                values = (self.value(o, d, names) for o, d in zip(operands, own, strict=True))
                return Computed(op, tuple(values), wanted)

    def _load(self, place: Name | Index, names: Names) -> Load:
        element = names.element(place)
        self._use(place.name, Kind.read, names.view(place.name).memory, element)
        return Load(element)

    def _given(self, name: str, bound: object) -> Value:
        if isinstance(bound, Given):
            for memory, element in bound.loads:
                self._use(name, Kind.read, memory, element)
            return bound.value
        assert isinstance(bound, int)
        return Number(bound, bool_ if isinstance(bound, bool) else index)


def literal(value: bool | int | float, dtype: DType) -> Number:
    """A literal in the dtype of its surroundings, as a cast would have it."""
    own = bool_ if isinstance(value, bool) else index if isinstance(value, int) else float64
    return Number(value if own is dtype else cast(own, value, dtype), dtype)


def given(expression: Expr, dtype: DType, names: Names) -> Given:
    """A value that is given for a scalar argument."""
    recorder = Recorder()
    value = recorder.value(expression, dtype, names)
    return Given(value, tuple((use.memory, e) for use in recorder.uses() for e in use.elements))


def _met(left: Expr, right: Expr, names: Names) -> DType:
    """The dtype that two operands have together."""
    bindings = names.bindings()
    both = typed(left, bindings).dtype, typed(right, bindings).dtype
    known = [dtype for dtype in both if isinstance(dtype, DType)]
    return known[0] if known else float64 if float in both else index


# Touches ----------------------------------------------------------------------------------------------------------


def direct_touches(uses: Sequence[Use], instr_tl: InstrTl) -> Iterator[Touch]:
    """The touches of an assignment or a reduction."""
    for use in uses:
        how = CPU if instr_tl is InstrTl.cpu_in_order else pair(instr_tl, use.memory.usage)
        yield Touch(use.operand, use.kind, how, use.elements, convergent=use.memory.convergent)


def instruction_touches(
    uses: Sequence[Use], instruction: Instruction, steps: Sequence[Step] = ()
) -> Iterator[Touch]:
    """The touches of an instruction that does these steps."""
    for use in uses:
        operand = instruction.operand(use.operand)
        convergent = use.memory.convergent if operand.convergent is None else operand.convergent
        touch = Touch(
            use.operand,
            use.kind,
            instruction.pair(use.operand, use.memory),
            use.elements,
            operand.out_of_order,
            convergent,
            operand.extended,
        )
        if operand.unit is not None:
            yield from _by_owner(touch)
        elif instruction.instr_tl is InstrTl.wgmma_async and not convergent:
            yield from _by_warps(touch, steps)
        else:
            yield touch


def _by_owner(touch: Touch) -> Iterator[Touch]:
    """A touch of the registers of several collectives, each of which accesses its own."""
    owned: dict[frozenset[Thread] | None, list[Element]] = {}
    for element in touch.elements:
        owned.setdefault(element.owner, []).append(element)
    for owner, elements in owned.items():
        yield replace(touch, elements=tuple(elements), seen_by=owner)


def _by_warps(touch: Touch, steps: Sequence[Step]) -> Iterator[Touch]:
    """A touch of shared memory by wgmma: each element by the warps whose rows of the result need it (S-15)."""
    users: dict[Element, set[Thread]] = {}
    for step in steps:
        for element in loaded(step.value):
            users.setdefault(element, set()).update(step.target.owner or ())
    shared: dict[frozenset[Thread], list[Element]] = {}
    for element in touch.elements:
        shared.setdefault(frozenset(users.get(element, ())), []).append(element)
    for who, elements in shared.items():
        yield replace(touch, elements=tuple(elements), by=who or None)
