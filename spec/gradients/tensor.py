"""
Adjoints of movement, reduce and memory ops
===========================================

What the sources of an op that moves, reductions or reads elements receive from the adjoint ``g`` of its value. A law
that only moves elements serves for two: applied to bools it says which elements are live (`adjoint_schema`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from soundline.spec.compositions.tensors import arange
from soundline.spec.dtypes import bool_, float64, index, int64
from soundline.spec.errors import GradientError
from soundline.spec.evaluation.frames import base_of
from soundline.spec.gradients.schema import Passes, always, dropped, filled, kept, routes, sizes, total
from soundline.spec.ops import bodies
from soundline.spec.ops.node import Op, ReduceArg, Shape, Size, UOp
from soundline.spec.ops.sizes import add, equal, multiply, product
from soundline.spec.uop import broadcast_to, const, expand, pad, reshape, shape_source, shrink

Parts = Sequence[UOp | None]


# Views ------------------------------------------------------------------------------------------------------------


def _permute(node: UOp, g: UOp) -> Parts:
    return (Op.Permute(g, arg=_inverse(node.arg)),)


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(k) for k in range(len(order)))


def _expand(node: UOp, g: UOp) -> Parts:
    """The sum over what was repeated; a symbolic size must be known to be repeated or not."""
    repeated = []
    for k, (old, new) in enumerate(zip(sizes(node.src[0]), sizes(node), strict=True)):
        if equal(old, new) is True:
            continue
        if old != 1:
            raise GradientError(
                f"it is not known whether {old!r} is repeated", rule="uop-expand-adjoint", where="Expand"
            )
        repeated.append(k)
    return total(g, tuple(repeated)), None


def _pad(node: UOp, g: UOp) -> Parts:
    return Op.Shrink(g, node.src[1], shape_source(sizes(node.src[0]))), None, None


def _shrink(node: UOp, g: UOp) -> Parts:
    return Op.Pad(g, node.src[1], shape_source(sizes(node.src[0]))), None, None


def _stack(node: UOp, g: UOp) -> Parts:
    return [Op.Index(g, const(k, index)) for k in range(len(node.src))]


def _slice(node: UOp, g: UOp) -> Parts:
    source, offset = node.src
    if node.dtype is not source.dtype:
        return None, None
    return Op.Pad(g, shape_source((offset,)), shape_source(sizes(source))), None


def _sliced_live(node: UOp, live: UOp) -> Parts:
    return Op.Pad(live, shape_source((node.src[1],)), shape_source(sizes(node.src[0]))), None


def _bitcast(node: UOp, g: UOp) -> Parts:
    return (g if node.dtype is node.src[0].dtype else None,)


# Index ------------------------------------------------------------------------------------------------------------


def _index(node: UOp, g: UOp) -> Parts:
    """Scatter-add, axis by axis: what equal indices read, they share; what no index reads receives zero."""
    source, *indices = node.src
    counts = tuple(sizes(i)[0] if sizes(i) else 1 for i in indices)
    spread = reshape(g, (*counts, *sizes(source)[len(indices) :]))
    for axis, (i, size) in enumerate(zip(indices, sizes(source), strict=False)):
        spread = _scattered(spread, axis, i, size)
    return spread, *(None for _ in indices)


def _index_of_live(node: UOp, live: UOp) -> UOp:
    """The Index with -1, which is no position, where an index belongs to nothing live: it may be invalid itself."""
    found, axis = [node.src[0]], 0
    for i in node.src[1:]:
        rows = len(sizes(i))
        beside = tuple(k for k in range(len(sizes(live))) if not axis <= k < axis + rows)
        needed = reshape(total(live, beside), sizes(i))
        found.append(Op.Where(needed, i, filled(i, -1)))
        axis += rows
    return Op.Index(*found)


def _scattered(g: UOp, axis: int, i: UOp, size: Size) -> UOp:
    """Row r of an axis added at position i[r] of an axis of `size`; at no position, if i[r] is outside."""
    before, rows, after = sizes(g)[:axis], sizes(g)[axis], sizes(g)[axis + 1 :]
    places = broadcast_to(_positions(size), (rows, size))
    hit = Op.CmpEq(expand(reshape(i, (rows, 1)), (rows, size)), places)
    wide = expand(reshape(g, (*before, rows, 1, *after)), (*before, rows, size, *after))
    beside = (*(1 for _ in before), rows, size, *(1 for _ in after))
    chosen = kept(expand(reshape(hit, beside), sizes(wide)), wide)
    return reshape(total(chosen, (axis,)), (*before, size, *after))


def _positions(size: Size) -> UOp:
    """0, 1, … size-1: of a number a Stack, of a symbol the composition."""
    if isinstance(size, int):
        return UOp(Op.Stack, tuple(const(k, index) for k in range(size)))
    return arange(size, index)


# Reduce -----------------------------------------------------------------------------------------------------------


def _reduce(node: UOp, g: UOp) -> Parts:
    _refuse_ranges(node)
    x, live = node.src[0], g.dtype is bool_
    wide = expand(g, sizes(x))
    if node.arg.op is Op.Add:
        return (wide,)
    if node.arg.op is Op.Mul:
        return (wide if live else Op.Mul(wide, others(x, node.arg.axes)),)
    greatest = Op.Not(Op.CmpLt(x, expand(node, sizes(x))))
    if live:
        return (kept(greatest, wide),)
    count = total(Op.Cast(greatest, arg=int64), node.arg.axes)
    return (kept(greatest, expand(shared(g, count), sizes(x))),)


def _refuse_ranges(node: UOp) -> None:
    if len(node.src) > 1:
        raise GradientError(
            "a Reduce over ranges has no adjoint: gradients are taken before ranges are made",
            rule="uop-reduce-adjoint",
            where="Reduce",
        )


def shared(g: UOp, count: UOp) -> UOp:
    """g/count, correctly rounded, for a count that the dtype of g need not hold."""
    return Op.Cast(Op.Div(Op.Cast(g, arg=float64), Op.Cast(count, arg=float64)), arg=g.dtype)


def others(x: UOp, axes: tuple[int, ...]) -> UOp:
    """For every element the product of the others along the axes, in their order; no division, so zeros are right."""
    order = (*(k for k in range(len(sizes(x))) if k not in axes), *sorted(axes))
    moved = Op.Permute(x, arg=order)
    rest = sizes(moved)[: len(order) - len(axes)]
    count = product(sizes(moved)[len(rest) :])
    wide = broadcast_to(reshape(moved, (*rest, 1, count)), (*rest, count, count))
    itself = broadcast_to(diagonal(count), sizes(wide))
    rows = Op.Reduce(Op.Where(itself, filled(wide, 1.0), wide), arg=ReduceArg(Op.Mul, (len(rest) + 1,)))
    return Op.Permute(reshape(rows, sizes(moved)), arg=_inverse(order))


def diagonal(n: Size) -> UOp:
    """True on the diagonal of an (n, n): a column of n of True, in rows one longer than n, read in rows of n."""
    column = broadcast_to(const(True, bool_), (n, 1))
    longer = add(n, 1)
    long: Shape = (multiply(n, longer),)
    flat = reshape(pad(column, (0, 0), (n, longer)), long)
    return reshape(shrink(flat, (0,), (multiply(n, n),)), (n, n))


def _narrowing_reduce(node: UOp) -> bool:
    return node.arg.op is Op.Max


# Replicas, loads and versions -------------------------------------------------------------------------------------


def _replicated(node: UOp, g: UOp) -> Parts:
    """Slices that are equal must stay equal when each moves along its adjoint: so each receives the same."""
    x = node.src[0]
    if g.dtype is bool_:
        return (expand(g, sizes(x)),)
    count = product(sizes(x)[k] for k in node.arg)
    if not isinstance(count, int):
        raise GradientError(
            f"the number of slices, {count!r}, is not known",
            rule="uop-replicated-adjoint",
            where="Replicated",
        )
    return (expand(shared(g, filled(g, count, int64)), sizes(x)),)


def _load(node: UOp, g: UOp) -> Parts:
    if len(node.src) == 1:
        return (g,)
    gate = broadcast_to(node.src[2], sizes(node))
    return kept(gate, g), dropped(gate, g), None


def _after(node: UOp, g: UOp) -> Parts:
    """What the dependencies write must not be read here: a derivative through memory is none of a value."""
    read = set(bodies.own_nodes(node.src[0]))
    if read & set(_written(bodies.own_nodes(*node.src[1:]))):
        raise GradientError(
            "this Load reads what the program wrote, and memory has no adjoint",
            rule="uop-after-adjoint",
            where="After",
            hint="take the gradient of the value before it is stored",
        )
    return g, *(None for _ in node.src[1:])


def _written(nodes: Iterable[UOp]) -> list[UOp]:
    """The storage that effects write, or may write."""
    found: list[UOp] = []
    for node in nodes:
        if node.op in (Op.Store, Op.AtomicAdd):
            found.append(base_of(node.src[0]))
        elif node.op in (Op.Custom, Op.Ins):
            found += [base_of(s) for s in node.src]
        elif node.op is Op.Call and node.src[0].op is Op.Program:
            found += [base_of(s) for s in node.src[1:]]
    return found


TENSOR: dict[Op, Passes] = {
    Op.Permute: routes("to T: g permuted by the inverse of π", _permute),
    Op.Flip: routes("to T: g with the same axes reversed", lambda node, g: (Op.Flip(g, arg=node.arg),)),
    Op.Reshape: routes("to T: g in the shape of T", lambda node, g: (reshape(g, sizes(node.src[0])), None)),
    Op.Expand: routes("to T: the sum of g over the axes that were repeated, ascending", _expand),
    Op.Pad: routes("to T: the part of g at offset o, of the shape of T", _pad),
    Op.Shrink: routes("to T: g at offset o in zeros of the shape of T", _shrink, narrows=always),
    Op.Index: Passes(
        "to T: at each position the sum, ascending, of the g of the indices that read it; zero where none does, and "
        "nothing for an index outside",
        _index,
        _index,
        always,
        scales=False,
        readable=_index_of_live,
    ),
    Op.Stack: routes("to source k: slice k of g", _stack),
    Op.Replicated: Passes(
        "to T: g divided by the number of slices, for every slice. On equal slices any weights of sum 1 are true; "
        "equal weights alone keep the adjoint, and T moved along it, equal too",
        _replicated,
        live=_replicated,
        scales=False,
    ),
    Op.Slice: Passes(
        "to T of the same dtype: g at offset in zeros. To T read as another dtype: nothing",
        _slice,
        live=_sliced_live,
        narrows=always,
        scales=False,
    ),
    Op.Bitcast: routes("to T of the same dtype: g. To any other: nothing, bits have no derivative", _bitcast),
    Op.Reduce: Passes(
        "Add, to T: g along the axes. Mul, to T: g times the ascending product of the other elements, never a "
        "quotient. Max, to T: g divided by the number of greatest elements, for each of them (all, if one is NaN), and "
        "0 for the others. Over ranges: an error, gradients are taken before ranges are made",
        _reduce,
        live=_reduce,
        narrows=_narrowing_reduce,
    ),
    Op.Load: routes(
        "to buf: g, where a gate is True. To alt: g where it is False. Each is brought back to the device and axis of "
        "its source",
        _load,
        narrows=lambda node: len(node.src) > 1,
    ),
    Op.After: routes("to buf: g. An error where a dependency writes what buf reads", _after),
    Op.Contiguous: routes("to T: g", lambda node, g: (g,)),
    Op.ContiguousBackward: Passes("to T: Contiguous(g)", lambda node, g: (Op.Contiguous(g),), scales=False),
}
"""The adjoint of every differentiable op that is not elementwise."""
