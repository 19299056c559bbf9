"""
Vectors in C
============

A value that is one vector of the machine (`impl.lower.schedule.vectors`) is a variable of a vector type, with C's own
operators; so is a register that holds one. Neighbours in memory are read and written through a type that asks for no
alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from soundline.impl.codegen.c.expressions import SIGNS
from soundline.impl.codegen.c.helpers import SHORT
from soundline.impl.codegen.c.masks import NUMBERS, choice, comparison, every, mask
from soundline.impl.codegen.c.streams import FETCH, storage_of, stream
from soundline.impl.codegen.c.vector_helpers import bits, fill, fused, loose, maximum, vector
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.vectors import COMPARISONS, computes, first_of, is_vector, lane_size
from soundline.spec.dtypes import DType, bool_, float32
from soundline.spec.uop import Op, UOp

if TYPE_CHECKING:
    from soundline.impl.codegen.c.kernel import Kernel


def _lane(dtype: DType, *, signed: bool = False) -> str:
    """What a lane holds. Signed integers are computed as unsigned ones, which wrap; where it is asked for they are what
    they stand for.
    """
    found = SHORT[dtype]
    return found if signed or found[0] != "i" else "u" + found[1:]


def _form(node: UOp, *, signed: bool = False) -> tuple[str, int]:
    """What the lanes of a vector hold, and how many there are."""
    return _lane(node.dtype, signed=signed), shape_of(node)[0]


def type_of(kernel: Kernel, node: UOp) -> str:
    """The C type of a vector."""
    if node.dtype is bool_:
        return kernel.c.use(mask(8 * (lane_size(node) or 0), shape_of(node)[0]))
    return kernel.c.use(vector(*_form(node)))


# which values are vectors -----------------------------------------------------------------------------------------


def vectors_in(nodes: Sequence[UOp]) -> frozenset[UOp]:
    """The values, stores and registers of a kernel that are written as vectors: those whose whole surroundings are."""
    found = {n for n in nodes if _may_be(n)}
    users: dict[UOp, list[UOp]] = {}
    for node in nodes:
        for source in node.src:
            users.setdefault(source, []).append(node)
    changed = True
    while changed:
        lost = {n for n in found if not _fits(n, found, users)}
        found -= lost
        changed = bool(lost)
    return frozenset(found)


def _may_be(node: UOp) -> bool:
    if node.op is Op.Store:
        return len(node.src) == 2 and is_vector(node.src[1]) and _is_whole(node.src[0])
    if node.op is Op.Buffer:
        return node.arg.addrspace == "REG" and is_vector(node)
    if node.op is Op.After:
        return is_vector(node)
    if not node.shape:
        return False
    if is_fill(node):
        return node.dtype is bool_ or is_vector(node)
    if not is_vector(node):
        return False
    if node.op is Op.Load:
        return len(node.src) == 1 and _is_whole(node.src[0])
    return computes(node)


def _is_whole(place: UOp) -> bool:
    """Whether a place is neighbours in memory, or all of a register."""
    if place.op is Op.Index:
        return first_of(place.src[1]) is not None
    return place.op in (Op.After, Op.Buffer)


def is_fill(node: UOp) -> bool:
    """Whether a vector is one scalar repeated."""
    return node.op is Op.Expand and node.src[0].op is Op.Reshape and not node.src[0].src[0].shape


def _fits(node: UOp, found: set[UOp], users: dict[UOp, list[UOp]]) -> bool:
    """Whether what a node reads, and all that read it, are vectors too; a repeated scalar may be read in any way."""
    if node.op is Op.Store:
        place, value = node.src
        return value in found and (place.op is Op.Index or place in found)
    if node.op is Op.After and node.src[0] not in found:
        return False
    if node.op is Op.Load and node.src[0].op is not Op.Index and node.src[0] not in found:
        return False
    if not is_fill(node) and computes(node) and not all(s in found for s in node.src):
        return False
    return is_fill(node) or all(u in found or _looks_on(u) for u in users.get(node, ()))


def _looks_on(user: UOp) -> bool:
    """Whether a user only orders: it reads no element."""
    return user.op in (Op.End, Op.Range, Op.Linear, Op.Group)


# text -------------------------------------------------------------------------------------------------------------


def register(kernel: Kernel, node: UOp) -> None:
    """Declare a register that holds one vector."""
    kernel.line(f"{type_of(kernel, node)} acc{node.arg.slot};")


def store(kernel: Kernel, node: UOp) -> None:
    """Write a vector to a register or to memory."""
    place, value = node.src
    if place.op is Op.Index and storage_of(place) in kernel.streamed:
        at = _address(kernel, place)
        kernel.fenced = True
        kernel.line(f"{kernel.c.use(stream(*_form(value)))}({at}, {operand(kernel, value)});")
        return
    kernel.line(f"{_place(kernel, place, value, to_write=True)} = {operand(kernel, value)};")


def value(kernel: Kernel, node: UOp) -> None:
    """Compute a vector at its place in the sequence."""
    if is_fill(node):
        return
    if node.op is Op.Load:
        text = _place(kernel, node.src[0], node, to_write=False)
        if node in kernel.ahead:
            address = _address(kernel, node.src[0])
            kernel.line(f"{kernel.c.use(FETCH)}({address}, {kernel.ahead[node]});")
    else:
        lane = next((n for n in map(lane_size, (*node.src, node)) if n is not None), 0)
        text = _expression(kernel, node, [operand(kernel, s, lane) for s in node.src])
    if node.op is not Op.Load and kernel.uses[node] <= 1 and len(text) <= _INLINE:
        kernel.texts[node] = text
    else:
        kernel.line(f"const {type_of(kernel, node)} {kernel.named(node)} = {text};")


def _expression(kernel: Kernel, node: UOp, operands: list[str]) -> str:
    use = kernel.c.use
    if node.op is Op.Mulacc:
        return f"{use(fused(*_form(node)))}({', '.join(operands)})"
    if node.op is Op.Where and node.dtype is bool_:
        gate, a, b = operands
        return f"(({gate} & {a}) | (~{gate} & {b}))"
    if node.op is Op.Where:
        gate, a, b = operands
        if _is_there(node.src[1]) and not _is_there(node.src[2]):
            gate, a, b = f"~{gate}", b, a  # one instruction with a mask
        return f"{use(choice(*_form(node)))}({a}, {b}, {gate})"
    if node.op is Op.Max:
        a, b = (_signed(kernel, o, s) for o, s in zip(operands, node.src, strict=True))
        found = f"{use(maximum(*_form(node, signed=True)))}({a}, {b})"
        return f"(({type_of(kernel, node)}){found})" if _is_signed(node) else found
    if node.op in COMPARISONS:
        a, b = (_signed(kernel, o, s) for o, s in zip(operands, node.src, strict=True))
        return f"{use(comparison(node.op, *_form(node.src[0], signed=True)))}({a}, {b})"
    if node.op is Op.Shr:
        return f"(({type_of(kernel, node)})({_signed(kernel, operands[0], node)} >> {_count(node)}))"
    if node.op is Op.Shl:
        return f"({operands[0]} << {_count(node)})"
    if node.op is Op.Bitcast:
        found = operands[0]
        if node.src[0].dtype.is_float:
            found = f"{use(bits(*_form(node.src[0])))}({found})"
        return f"(({type_of(kernel, node)}){found})"
    if node.op is Op.Recip:
        return f"({'1.0f' if node.dtype is float32 else '1.0'} / {operands[0]})"
    if node.op in _PREFIXED:
        return f"({_PREFIXED[node.op]}{operands[0]})"
    return f"({operands[0]} {SIGNS[node.op]} {operands[1]})"


def _is_signed(node: UOp) -> bool:
    return node.dtype.is_int and node.dtype.signed


def _is_there(value: UOp) -> bool:
    """Whether a value is no result of an instruction that could leave it where a mask is closed."""
    return is_fill(value) or value.op is Op.Load


_PREFIXED = {Op.Neg: "-", Op.Not: "~"}
_INLINE = 120
"""A vector that is used once and whose text is no longer than this is written where it is used."""


def _count(shift: UOp) -> int:
    count = shift.src[1]
    while count.op in (Op.Expand, Op.Reshape):
        count = count.src[0]
    return int(count.arg.value)


def _signed(kernel: Kernel, text: str, node: UOp) -> str:
    """A vector of signed integers as what it stands for."""
    return f"(({kernel.c.use(vector(*_form(node, signed=True)))}){text})" if _is_signed(node) else text


def operand(kernel: Kernel, node: UOp, lane: int = 0) -> str:
    """A vector that was computed, or a scalar repeated; bools are as many bytes wide as the other lanes."""
    if not is_fill(node):
        return kernel.texts[node]
    scalar, width = node.src[0].src[0], shape_of(node)[0]
    return (
        _repeated_bool(kernel, scalar, lane, width)
        if node.dtype is bool_
        else _repeated(kernel, scalar, width)
    )


def _repeated(kernel: Kernel, scalar: UOp, width: int) -> str:
    use = kernel.c.use
    return f"({use(vector(_lane(scalar.dtype), width))}){use(fill(width))}({kernel.operand(scalar)})"


def _repeated_bool(kernel: Kernel, scalar: UOp, lane: int, width: int) -> str:
    """A scalar as a mask. One that compares floats is better compared in all lanes: that is one instruction."""
    use = kernel.c.use
    if f"m{8 * lane}x{width}" in NUMBERS and scalar.op in COMPARISONS:
        compared = scalar.src[0].dtype
        if compared.is_float and compared.itemsize == lane:
            a, b = (_repeated(kernel, s, width) for s in scalar.src)
            return f"{use(comparison(scalar.op, SHORT[compared], width))}({a}, {b})"
    return f"{use(every(8 * lane, width))}({kernel.operand(scalar)})"


def _place(kernel: Kernel, place: UOp, moved: UOp, *, to_write: bool) -> str:
    while place.op is Op.After:
        place = place.src[0]
    if place.op is Op.Buffer and not is_global(place):
        return f"acc{place.arg.slot}"
    qualifier = "" if to_write else "const "
    return f"*({qualifier}{kernel.c.use(loose(*_form(moved)))} *)({_address(kernel, place)})"


def _address(kernel: Kernel, place: UOp) -> str:
    """Where the first of neighbours lies."""
    first = first_of(place.src[1])
    assert first is not None
    return f"{kernel.storage_name(place)} + {kernel.operand(first)}"
