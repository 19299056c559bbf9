"""
Lanes in C
==========

A value with axes is never an array of its own. Where a Store, or a reduction of lanes, needs it, loops of known length
run over its axes, and in them each element is computed like a scalar; what does not depend on an axis is computed
before the loop over that axis. The C compiler makes vectors of these loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from soundline.impl.codegen.c.helpers import ROLLED
from soundline.impl.codegen.c.kernel import Kernel, is_register
from soundline.impl.codegen.c.transpositions import transposition
from soundline.impl.lower.graphs.scalars import identity_of
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.schedule.transfers import Transposed, storage_of
from soundline.spec.uop import Op, UOp, const

_Axes = frozenset[int]


def store(kernel: Kernel, node: UOp) -> None:
    """Write every lane of a value."""
    if node in kernel.forms.transposed:
        _transpose(kernel, node, kernel.forms.transposed[node])
        return
    place, value, *gate = (_unflattened(s) for s in node.src)
    at = [_unflattened(place.src[1])] if place.op is Op.Index else []
    beside = kernel.forms.beside[node]
    axes = sorted(_long_axes(value), key=beside.__contains__)  # a page after the other

    def finish() -> None:
        text = kernel.operand(value)
        if place.op is Op.Index:
            if not is_register(storage_of(place)):  # a register holds the value itself, memory its bits
                text = kernel.c.stored(value.dtype, text)
            target = f"{kernel.storage_name(place)}[{kernel.operand(at[0])}]"
        else:
            target = _register_cell(kernel, place, shape_of(value))
        statement = f"{target} = {text};"
        kernel.line(f"if ({kernel.operand(gate[0])}) {statement}" if gate else statement)

    apart = axes != _long_axes(value)  # rows that are written lie far from each other
    _loops(kernel, axes, [value, *at, *gate], finish, rolled=apart)


def _transpose(kernel: Kernel, node: UOp, moved: Transposed) -> None:
    """Move blocks of lanes; their first places are those of the lanes 0."""
    load = node.src[1]
    while load.op is Op.Reshape:
        load = load.src[0]

    def finish() -> None:
        to, of = (
            f"{kernel.storage_name(place)}[{kernel.operand(at)}]"
            for place, at in ((node.src[0], moved.written), (load.src[0], moved.read))
        )
        kernel.line(transposition(kernel.c.use, moved, to, of))

    _loops(kernel, _long_axes(moved.written), [moved.written, moved.read], finish, first=True)


def reduction(kernel: Kernel, node: UOp) -> None:
    """Reduce lanes, ascending, into one value per remaining lane."""
    name = kernel.named(node)
    body = node.src[0]
    kernel.line(
        f"{kernel.c.value_type(node.dtype)} {name} = {kernel.operand(identity_of(node.arg.op, node.dtype))};"
    )

    def finish() -> None:
        so_far = const(0 if node.dtype.kind != "bool" else False, node.dtype)  # stands for the variable
        step = UOp(node.arg.op, (so_far, so_far))
        kernel.line(f"{name} = {kernel.c.expression(step, [name, kernel.operand(body)])};")

    _loops(kernel, sorted(node.arg.axes), [body], finish)


def _loops(
    kernel: Kernel,
    axes: Sequence[int],
    wanted: list[UOp],
    finish: Callable[[], None],
    first: bool = False,
    rolled: bool = False,
) -> None:
    """Loops over axes around `finish`, with each value that it needs computed in the outermost loop possible; or only
    the first iterations of these loops. The outermost loop may be one that must not be unrolled, `rolled`.
    """
    outside = dict(kernel.texts)
    opened = set(kernel.lanes)
    _compute(kernel, wanted, frozenset(opened))
    size = {k: n for w in wanted if w.shape for k, n in enumerate(shape_of(w)) if n > 1}
    for axis in axes:
        count = 1 if first else size.get(axis, 1)
        if rolled and axis == axes[0]:
            kernel.lines.append(ROLLED)
        kernel.line(f"for (idx l{axis} = 0; l{axis} < {count}; l{axis}++) {{")
        kernel.depth += 1
        kernel.lanes.add(axis)
        _compute(kernel, wanted, frozenset(kernel.lanes))
    finish()
    for axis in axes:
        kernel.lanes.discard(axis)
        kernel.depth -= 1
        kernel.line("}")
    kernel.texts = {n: t for n, t in kernel.texts.items() if n in outside}


def _compute(kernel: Kernel, wanted: list[UOp], opened: _Axes) -> None:
    """Compute what `wanted` needs and the open loops determine."""
    for node in _needed(kernel, wanted):
        if _depends(node, kernel.axes) <= opened:
            _element(kernel, node)


def _needed(kernel: Kernel, wanted: list[UOp]) -> Iterator[UOp]:
    """The values with axes that are not computed yet, sources first; the operands of a reduction of lanes are left to
    that reduction.
    """
    done: set[UOp] = set()
    stack: list[tuple[UOp, bool]] = [(w, False) for w in reversed(wanted)]
    while stack:
        node, ready = stack.pop()
        if node in done or node in kernel.texts or not node.shape or node.op in (Op.Const, Op.Buffer):
            continue
        if ready or node.op is Op.Reduce or _is_leaf(node):
            done.add(node)
            yield node
            continue
        stack.append((node, True))
        inner = (
            (node.src[0].src[1], *node.src[1:])
            if node.op is Op.Load
            else node.src[:1]
            if _is_view(node)
            else node.src
        )
        stack.extend((s, False) for s in reversed(inner))


def _is_view(node: UOp) -> bool:
    return node.op in (Op.Reshape, Op.Expand)


def _is_leaf(node: UOp) -> bool:
    """Whether a value with axes is read off directly: lane numbers, the lanes of a register, or one scalar for all."""
    return _is_register(node) or _is_numbers(node) or (_is_view(node) and not node.src[0].shape)


def _is_numbers(node: UOp) -> bool:
    """Whether a value is the numbers of lanes; those of the only axis have no other shape."""
    return node.op is Op.Stack or (node.op is Op.Reshape and node.src[0].op is Op.Stack)


def _is_register(node: UOp) -> bool:
    """Whether a value is all of a register, under the shape of what it holds."""
    load = _loaded(node)
    return load.op is Op.Load and load.src[0].op in (Op.After, Op.Buffer)


def _loaded(node: UOp) -> UOp:
    return node.src[0] if node.op is Op.Reshape else node


def _element(kernel: Kernel, node: UOp) -> None:
    """Compute a value at the present lanes."""
    if node.op is Op.Reduce:
        reduction(kernel, node)
    elif _is_numbers(node):
        kernel.texts[node] = f"l{_long_axes(node)[0]}"
    elif _is_register(node):
        cell = _register_cell(kernel, _loaded(node).src[0], shape_of(node))
        kernel.line(f"const {kernel.c.value_type(node.dtype)} {kernel.named(node)} = {cell};")
    elif _is_view(node):
        kernel.texts[node] = kernel.operand(node.src[0])
    else:
        kernel.value(node)


def _depends(node: UOp, found: dict[UOp, _Axes]) -> _Axes:
    """The axes on which a value depends; `found` remembers those of other values."""
    stack = [node]
    while stack:
        top = stack[-1]
        waiting = [s for s in _read(top) if s not in found]
        if top in found:
            stack.pop()
        elif waiting:
            stack.extend(waiting)
        else:
            found[top] = _own_axes(top).union(*(found[s] for s in _read(top))) - _folded(top)
            stack.pop()
    return found[node]


def _read(node: UOp) -> tuple[UOp, ...]:
    if not node.shape or _is_leaf(node) or node.op in (Op.Const, Op.Buffer):
        return ()
    if node.op is Op.Load:
        return (node.src[0].src[1], *node.src[1:])
    return node.src[:1] if _is_view(node) else node.src


def _own_axes(node: UOp) -> _Axes:
    if node.shape and _is_leaf(node) and (node.op is Op.Stack or node.src[0].shape):
        return frozenset(_long_axes(node))
    return frozenset()


def _folded(node: UOp) -> _Axes:
    return frozenset(node.arg.axes) if node.op is Op.Reduce and node.shape else frozenset()


def _long_axes(node: UOp) -> list[int]:
    return [k for k, n in enumerate(shape_of(node)) if n > 1]


def _unflattened(node: UOp) -> UOp:
    """A value as it was before it became one axis for a place."""
    return node.src[0] if node.op is Op.Reshape and node.src[0].shape and not _is_leaf(node) else node


def _register_cell(kernel: Kernel, place: UOp, shape: Sequence[int]) -> str:
    """The cell of a register for the present lanes, row-major over the axes of its value."""
    at = ""
    for axis, size in enumerate(shape):
        if size > 1:
            at = f"({at}) * {size} + l{axis}" if at else f"l{axis}"
    return f"{kernel.storage_name(place)}[{at or '0'}]"
