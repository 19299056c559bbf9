"""
Vectors in C
============

A value that is one vector of the machine (`impl.lower.schedule.forms`) is a variable of a vector type, with C's own
operators; so is a register that holds one. Neighbours in memory are read and written through a type that asks for no
alignment.
"""

from __future__ import annotations

from soundline.impl.codegen.c.expressions import SIGNS
from soundline.impl.codegen.c.helpers import SHORT
from soundline.impl.codegen.c.kernel import Kernel
from soundline.impl.codegen.c.masks import NUMBERS, choice, comparison, every, mask
from soundline.impl.codegen.c.streams import FETCH, stream
from soundline.impl.codegen.c.vector_helpers import bits, fill, fused, loose, maximum, vector
from soundline.impl.lower.schedule.transfers import storage_of
from soundline.impl.lower.schedule.vector_types import COMPARISONS, Vector, first_of, is_fill, shift_count
from soundline.spec.dtypes import DType, bool_, float32
from soundline.spec.uop import Op, UOp

_PREFIXED = {Op.Neg: "-", Op.Not: "~"}
_INLINE = 120
"""A vector that is used once and whose text is no longer than this is written where it is used."""


def _lane(dtype: DType) -> str:
    """What a lane holds. Signed integers are computed as unsigned ones, which wrap."""
    found = SHORT[dtype]
    return "u" + found[1:] if found[0] == "i" else found


def _type(kernel: Kernel, own: Vector) -> str:
    """The C type of a vector."""
    is_mask = own.dtype is bool_
    return kernel.c.use(mask(own.bits, own.width) if is_mask else vector(_lane(own.dtype), own.width))


def register(kernel: Kernel, node: UOp) -> None:
    """Declare a register that holds one vector."""
    kernel.line(f"{_type(kernel, kernel.forms.vectors[node])} {kernel.storage_name(node)};")


def store(kernel: Kernel, node: UOp) -> None:
    """Write a vector to a register or to memory."""
    place, own = node.src[0], kernel.forms.vectors[node]
    written = operand(kernel, node.src[1], own)
    if place.op is Op.Index and storage_of(place) in kernel.forms.past:
        kernel.fenced = True
        to = kernel.c.use(stream(_lane(own.dtype), own.width))
        kernel.line(f"{to}({_address(kernel, place)}, {written});")
        return
    kernel.line(f"{_place(kernel, place, own)} = {written};")


def value(kernel: Kernel, node: UOp) -> None:
    """Compute a vector at its place in the sequence."""
    own = kernel.forms.vectors[node]
    if node.op is Op.Load:
        text = _place(kernel, node.src[0], own, "const ")
        if node in kernel.forms.ahead:
            address = _address(kernel, node.src[0])
            kernel.line(f"{kernel.c.use(FETCH)}({address}, {kernel.forms.ahead[node]});")
    else:
        text = _expression(kernel, node, own, [operand(kernel, s, own) for s in node.src])
    if node.op is not Op.Load and kernel.uses[node] <= 1 and len(text) <= _INLINE:
        kernel.texts[node] = text
    else:
        kernel.line(f"const {_type(kernel, own)} {kernel.named(node)} = {text};")


def _expression(kernel: Kernel, node: UOp, own: Vector, v: list[str]) -> str:
    use, lane, width = kernel.c.use, SHORT.get(node.dtype, ""), own.width
    match node.op:
        case Op.Mulacc:
            return f"{use(fused(lane, width))}({', '.join(v)})"
        case Op.Where if node.dtype is bool_:
            return f"(({v[0]} & {v[1]}) | (~{v[0]} & {v[2]}))"
        case Op.Where:
            gate, a, b = v
            if _is_there(node.src[1]) and not _is_there(node.src[2]):
                gate, a, b = f"~{gate}", b, a  # one instruction with a mask
            return f"{use(choice(_lane(node.dtype), width))}({a}, {b}, {gate})"
        case Op.Max:
            found = (
                f"{use(maximum(lane, width))}({', '.join(_true(kernel, node.dtype, width, o) for o in v)})"
            )
            return f"(({_type(kernel, own)}){found})" if lane[0] == "i" else found
        case _ if node.op in COMPARISONS:
            compared = node.src[0].dtype
            a, b = (_true(kernel, compared, width, o) for o in v)
            return f"{use(comparison(node.op, SHORT[compared], width))}({a}, {b})"
        case Op.Shr:
            return (
                f"(({_type(kernel, own)})({_true(kernel, node.dtype, width, v[0])} >> {shift_count(node)}))"
            )
        case Op.Shl:
            return f"({v[0]} << {shift_count(node)})"
        case Op.Bitcast:
            source = node.src[0].dtype
            found = f"{use(bits(SHORT[source], width))}({v[0]})" if source.is_float else v[0]
            return f"(({_type(kernel, own)}){found})"
        case Op.Recip:
            return f"({'1.0f' if node.dtype is float32 else '1.0'} / {v[0]})"
        case Op.Neg | Op.Not:
            return f"({_PREFIXED[node.op]}{v[0]})"
    return f"({v[0]} {SIGNS[node.op]} {v[1]})"


def _true(kernel: Kernel, dtype: DType, width: int, text: str) -> str:
    """A vector of signed integers as what it stands for."""
    lane = SHORT[dtype]
    return f"(({kernel.c.use(vector(lane, width))}){text})" if lane[0] == "i" else text


def _is_there(value: UOp) -> bool:
    """Whether a value does not come from an instruction that may leave lanes undefined where a mask is closed."""
    return is_fill(value) or value.op is Op.Load


def operand(kernel: Kernel, node: UOp, user: Vector) -> str:
    """A vector that was computed, or a scalar repeated; a bool is as wide as the lanes of its user."""
    if not is_fill(node):
        return kernel.texts[node]
    scalar = node.src[0].src[0]
    repeated = _repeated_bool if node.dtype is bool_ else _repeated
    return repeated(kernel, scalar, user)


def _repeated(kernel: Kernel, scalar: UOp, user: Vector) -> str:
    use, width = kernel.c.use, user.width
    return f"({use(vector(_lane(scalar.dtype), width))}){use(fill(width))}({kernel.operand(scalar)})"


def _repeated_bool(kernel: Kernel, scalar: UOp, user: Vector) -> str:
    """A scalar as a mask. One that compares floats is better compared in all lanes: that is one instruction."""
    use, width = kernel.c.use, user.width
    if mask(user.bits, width).name in NUMBERS and scalar.op in COMPARISONS:
        compared = scalar.src[0].dtype
        if compared.is_float and compared.bits == user.bits:
            a, b = (_repeated(kernel, s, user) for s in scalar.src)
            return f"{use(comparison(scalar.op, SHORT[compared], width))}({a}, {b})"
    return f"{use(every(user.bits, width))}({kernel.operand(scalar)})"


def _place(kernel: Kernel, place: UOp, own: Vector, qualifier: str = "") -> str:
    if place.op is not Op.Index:
        return kernel.storage_name(place)
    return f"*({qualifier}{kernel.c.use(loose(_lane(own.dtype), own.width))} *)({_address(kernel, place)})"


def _address(kernel: Kernel, place: UOp) -> str:
    """Where the first of neighbours lies."""
    first = first_of(place.src[1])
    assert first is not None
    return f"{kernel.storage_name(place)} + {kernel.operand(first)}"
