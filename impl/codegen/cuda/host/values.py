"""
Values of the CPU part
======================

Expressions in C. Control is computed in 64 bits, with ``//`` and ``%`` of the law: C's own where both sides are shown
not to be negative and the divisor is not zero. Data has the arithmetic of the law, every op rounded in its dtype, in
the C that tensor programs have (`expressions`); the functions that are programs of the law, such as ``exp2``, become C
functions that do the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from soundline.impl.codegen.c.expressions import Expressions
from soundline.impl.codegen.c.helpers import SHORT, Helpers
from soundline.impl.codegen.cuda.host.names import Given, Names, Number, Storage, bare, times, total
from soundline.spec.dtypes import DType, bool_, float64, index, int64
from soundline.spec.dtypes import Element as Scalar
from soundline.spec.errors import CompileError
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.node import Op, ParamArg, UOp, toposort
from soundline.spec.spork.language.expressions import (
    COMPARISONS,
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
from soundline.spec.spork.language.names import Binding, DataName, typed
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.language.types import Control
from soundline.spec.spork.static.sizes import value
from soundline.spec.values.decompositions import PROGRAMS

_SIGNS: Final = {
    Op.Add: "+",
    Op.Sub: "-",
    Op.Mul: "*",
    Op.CmpLt: "<",
    Op.CmpGt: ">",
    Op.CmpLe: "<=",
    Op.CmpGe: ">=",
    Op.CmpEq: "==",
    Op.CmpNe: "!=",
    Op.And: "&&",
    Op.Or: "||",
    Op.Xor: "!=",
}
_BITS: Final = (Op.And, Op.Or, Op.Xor)


@dataclass(slots=True)
class Values:
    """Writes expressions, and gathers what C has to be told for them."""

    helpers: Helpers = field(default_factory=Helpers)
    functions: dict[str, str] = field(default_factory=dict)
    """The C functions for programs of the law, by name."""
    rounds: bool = False
    """Whether there is arithmetic of floats."""
    c: Expressions = field(init=False)

    def __post_init__(self) -> None:
        self.c = Expressions(self.helpers)

    # Control ------------------------------------------------------------------------------------------------------

    def control(self, expression: Expr, names: Names) -> Number:
        """An integer or bool of control."""
        match expression:
            case Const(literal):
                if isinstance(literal, bool):
                    return Number("true" if literal else "false", None, expression, True)
                return Number(
                    f"{literal}" if literal < 1 << 31 else f"INT64_C({literal})", int(literal), expression
                )
            case Name(name):
                found = names[name]
                assert isinstance(found, Number), "the static law lets nothing else be control"
                return found
            case Unary(op, operand):
                inner = self.control(operand, names)
                text = f"(!{inner.text})" if op is Op.Not else f"(-{inner.text})"
                return Number(text, None, Unary(op, inner.known), op is Op.Not)
            case Binary(op, left, right):
                return self.binary(op, self.control(left, names), self.control(right, names))
            case Apply(op, operands):
                return self._applied(op, [self.control(o, names) for o in operands])
        raise AssertionError(f"{text_of(expression)} is no control")

    def binary(self, op: Op, a: Number, b: Number) -> Number:
        """An operator on two numbers."""
        whole = Binary(op, a.known, b.known)
        constant = value(whole) if op not in COMPARISONS else None
        if constant is not None and 0 <= constant < 1 << 31:
            return Number(str(constant), constant, whole)
        natural = a.natural and b.natural
        if op in (Op.Idiv, Op.Mod):
            divisor = value(b.known)
            if natural and divisor:
                text = f"({a.text} {'/' if op is Op.Idiv else '%'} {b.text})"
            else:
                function = f"soundline_floor_{'div' if op is Op.Idiv else 'mod'}"
                text = f"{function}({bare(a.text)}, {bare(b.text)})"
        elif op is Op.Mul:
            text = times(a.text, b.text)
        elif op is Op.Add:
            text = total((a.text, b.text))
        else:
            text = f"({a.text} {_SIGNS[op]} {b.text})"
        return Number(text, _least(op, a, b), whole, op in COMPARISONS or op in _BITS)

    def _applied(self, op: Op, operands: list[Number]) -> Number:
        whole = Apply(op, tuple(o.known for o in operands))
        texts = [o.text for o in operands]
        if op is Op.Max:
            text = f"({texts[0]} > {texts[1]} ? {texts[0]} : {texts[1]})"
            known = [o.least for o in operands if o.least is not None]
            return Number(text, max(known, default=None), whole)
        if op is Op.Where:
            text = f"({texts[0]} ? {texts[1]} : {texts[2]})"
            both = [o.least for o in operands[1:] if o.least is not None]
            return Number(text, min(both) if len(both) == 2 else None, whole, operands[1].flag)
        if op is Op.Mulacc:
            return self.binary(Op.Add, self.binary(Op.Mul, operands[0], operands[1]), operands[2])
        raise AssertionError(f"{op.name} is no op of control")

    # Places -------------------------------------------------------------------------------------------------------

    def offset(self, place: Name | Index, storage: Storage, names: Names) -> str:
        """How many elements an element, or the first one of a window, is from the first one of its storage."""
        if isinstance(place, Name):
            return "0"
        parts = []
        for part, stride in zip(place.indices, storage.strides, strict=True):
            at = part.lo if isinstance(part, Span) else part
            if at is not None:
                parts.append(times(self.control(at, names).text, stride))
        return total(parts)

    def element(self, place: Name | Index, names: Names) -> str:
        """The lvalue of an element."""
        storage = names.storage(place.name)
        if isinstance(place, Name):
            return storage.place
        return f"{storage.place}[{bare(self.offset(place, storage, names))}]"

    # Data ---------------------------------------------------------------------------------------------------------

    def stored(self, expression: Expr, dtype: DType, names: Names) -> str:
        """A value as it is stored in memory."""
        return bare(self.c.stored(dtype, self.data(expression, dtype, names)))

    def sum(self, place: str, added: str, dtype: DType) -> str:
        """What a reduction leaves in a place, as it is stored."""
        old = self.c.loaded(dtype, place)
        return bare(self.c.stored(dtype, self._computed(Op.Add, dtype, dtype, [old, added])))

    def data(self, expression: Expr, wanted: DType, names: Names) -> str:
        """A value of data, whose literals take the dtype that is wanted of them."""
        match expression:
            case Const(literal):
                return self.c.literal(_literal(literal, wanted), wanted)
            case Name(name):
                return self._named(expression, name, names)
            case Index():
                dtype = names.storage(expression.name).dtype
                return self.c.loaded(dtype, self.element(expression, names))
            case Unary(op, operand):
                return self._computed(op, wanted, wanted, [self.data(operand, wanted, names)])
            case Binary(op, left, right):
                met = _met(left, right, names) if op in COMPARISONS else wanted
                both = [self.data(left, met, names), self.data(right, met, names)]
                return self._computed(op, met, bool_ if op in COMPARISONS else wanted, both)
            case Cast(dtype, operand):
                source = _met(operand, operand, names)
                return self._converted(self.data(operand, source, names), source, dtype)
            case Apply(op, operands):
                own = [bool_, wanted, wanted] if op is Op.Where else [wanted] * len(operands)
                values = [self.data(o, d, names) for o, d in zip(operands, own, strict=True)]
                return self._computed(op, wanted, wanted, values)

    def _named(self, at: Name, name: str, names: Names) -> str:
        found = names[name]
        match found:
            case Number(text):
                return text
            case Given(expression, dtype, outer):
                return self.data(expression, dtype, outer)
            case _:
                return self.c.loaded(names.storage(name).dtype, self.element(at, names))

    def _computed(self, op: Op, dtype: DType, result: DType, v: list[str]) -> str:
        """An op on operands of a dtype."""
        self.rounds = self.rounds or dtype.is_float
        if op in PROGRAMS:
            return f"{self._function(op, dtype)}({', '.join(map(bare, v))})"
        if op is Op.Mulacc:  # two roundings: only a licence makes it one
            return self._computed(Op.Add, dtype, dtype, [self._computed(Op.Mul, dtype, dtype, v[:2]), v[2]])
        if op in (Op.Idiv, Op.Mod) and dtype.is_int and not dtype.signed:
            op = Op.CDiv if op is Op.Idiv else Op.CMod
        leaves = [_leaf(bool_ if op is Op.Where and k == 0 else dtype, k) for k in range(len(v))]
        node = UOp(op, tuple(leaves))
        assert node.dtype is result
        return self.c.expression(node, v)

    def _converted(self, x: str, source: DType, target: DType) -> str:
        own = int64 if source is index else source
        if own is target:
            return f"((int64_t){x})" if source is index else x
        text = f"(int64_t){x}" if source is index else x
        return self.c.expression(UOp(Op.Cast, (_leaf(own, 0),), target), [f"({text})"])

    def _function(self, op: Op, dtype: DType) -> str:
        """The C function that does the steps of a program of the law."""
        name = f"soundline_{op.name.lower()}_{SHORT[dtype]}"
        if name not in self.functions:
            if dtype not in PROGRAMS[op]:
                raise CompileError(f"{op.name} of {dtype} has no C form", where=op.name)
            self.functions[name] = self._steps(name, PROGRAMS[op][dtype])
        return name

    def _steps(self, name: str, program: UOp) -> str:
        texts: dict[UOp, str] = {}
        parameters: dict[int, str] = {}
        lines: list[str] = []
        for node in toposort(program):
            if node.op is Op.Param:
                texts[node] = f"x{node.arg.slot}"
                parameters[node.arg.slot] = f"{self.c.value_type(node.dtype)} x{node.arg.slot}"
            elif node.op is Op.Const:
                texts[node] = self.c.literal(node.arg.value, node.dtype)
            elif node.shape is not None and node.op is not Op.Stack:
                found = self._step(node, [texts[s] for s in node.src if s in texts])
                texts[node] = f"v{len(lines)}"
                lines.append(f"    {self.c.value_type(node.dtype)} const {texts[node]} = {bare(found)};")
        head = f"static {self.c.value_type(program.dtype)} {name}("
        given = ", ".join(parameters[k] for k in sorted(parameters))
        return "\n".join([f"{head}{given}) {{", *lines, f"    return {texts[program]};", "}"])

    def _step(self, node: UOp, v: list[str]) -> str:
        if node.op is Op.Cast or node.op is Op.Bitcast:
            return self.c.expression(node, v)
        dtype = node.src[1].dtype if node.op is Op.Where else node.src[0].dtype
        if node.op in (Op.Shl, Op.Shr, Op.CDiv, Op.CMod):
            return self.c.expression(node, v)
        return self._computed(node.op, dtype, node.dtype, v)


def _least(op: Op, a: Number, b: Number) -> int | None:
    """What an operator of two numbers is known not to be less than."""
    if a.least is None:
        return None
    subtracted = value(b.known)
    match op:
        case Op.Sub if subtracted is not None:
            return a.least - subtracted
        case Op.Add if b.least is not None:
            return a.least + b.least
        case Op.Mul if a.natural and b.natural and b.least is not None:
            return a.least * b.least
        case Op.Idiv | Op.Mod if a.natural and b.natural:
            return 0
        case _:
            return None


def _leaf(dtype: DType, slot: int) -> UOp:
    """An operand of which nothing but the dtype is known."""
    return UOp(Op.Param, (UOp(Op.Stack, ()),), ParamArg(slot, dtype))


def _literal(number: bool | int | float, dtype: DType) -> Scalar:
    """A literal in the dtype of its surroundings, as a cast would have it."""
    own = bool_ if isinstance(number, bool) else index if isinstance(number, int) else float64
    return number if own is dtype else cast(own, number, dtype)


def _met(left: Expr, right: Expr, names: Names) -> DType:
    """The dtype that two operands have together."""
    bindings = {n: b for n, m in names.meanings.items() if (b := _binding(m)) is not None}
    both = typed(left, bindings).dtype, typed(right, bindings).dtype
    known = [dtype for dtype in both if isinstance(dtype, DType)]
    return known[0] if known else float64 if float in both else index


def _binding(meaning: object) -> Binding | None:
    match meaning:
        case Number():
            return Control("bool" if meaning.flag else "index")
        case Storage():
            return DataName(meaning.dtype, len(meaning.sizes))
        case Given():
            return DataName(meaning.dtype, 0)
        case _:
            return None
