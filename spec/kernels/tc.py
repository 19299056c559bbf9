"""
TC
==

A reduction of products, ``Reduce(Add)`` over k of ``A[m, k]·B[k, n]``, by a tensor core of dims (M, N, K): the output
axes are split by M and N and the reduce axis by K. A tile of the result becomes 32 lanes, a WARP axis, of a few
elements each, an UPCAST axis: the digits of the fragment map of C spell the row and the column that lane and element
hold. The K products of a step are unrolled at once: they are the fragments, Stacks in which element e is the operand at
the row and column of its fragment map. The remaining reduction adds the results of the steps, so that floats are added
in an order other than the source's. The licence `tensor_core` permits that, and what the hardware does inside a step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from soundline.spec.kernels.iteration_spaces import Kernel, own_storage, size_of
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.padto import neutral
from soundline.spec.kernels.schema import Refusal
from soundline.spec.kernels.warps import spelled
from soundline.spec.ops import bodies
from soundline.spec.ops.node import AxisType, Op, UOp, rebuilt, substitute, toposort
from soundline.spec.ops.sizes import as_node
from soundline.spec.values.tensor_cores import CORES, LANES, Digits, TensorCore, core_named


@dataclass(frozen=True, slots=True)
class _Match:
    """A product that a tensor core can compute: its axes, its reduction, and its operands."""

    n: UOp
    m: UOp
    k: UOp
    reduction: UOp
    a: UOp
    b: UOp


def with_tensor_core(kernel: Kernel, opt: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    """The kernel with a Wmma for a reduction of products."""
    if kernel.opts:
        raise refusal.of(1, f"a kernel after {', '.join(o.op for o in kernel.opts)}")
    core = core_named(opt.arg) if isinstance(opt.arg, str) else None
    if core is None:
        raise refusal.of(7, repr(opt.arg), hint=f"one of {', '.join(c.name for c in CORES)}")
    match = _matched(kernel, opt, refusal, core)
    for axis, size in ((match.m, core.dims[0]), (match.n, core.dims[1]), (match.k, core.dims[2])):
        count = refusal.size(axis, 5)
        if count % size:
            raise refusal.of(5, f"{count} iterations for {size}", axis)
    needed = {"tensor_core"} if core.accumulator.is_float else set()
    needed |= {"tf32"} if core.mantissa is not None else set()
    if not needed <= set(licences):
        missing = ", ".join(sorted(needed - set(licences)))
        raise refusal.of(8, f"{core.name} without {missing}", hint=f"grant {missing}")
    return _applied(kernel, match, core)


def _matched(kernel: Kernel, opt: OptOp, refusal: Refusal, core: TensorCore) -> _Match:
    """The axes and operands, checked."""
    if not isinstance(opt.axis, tuple) or len(opt.axis) != 3:
        raise refusal.malformed()
    n, m, k = (refusal.axis(position) for position in opt.axis)
    around = [ranges for ranges, _ in kernel.nests if {n, m} & set(ranges)]
    reductions = [f for f in toposort(kernel.sink) if f.op is Op.Reduce and k in f.src[1:]]
    if (
        n is m
        or len(around) != 1
        or not {n, m} <= set(around[0])
        or len(reductions) != 1
        or reductions[0].arg.op is not Op.Add
    ):
        raise refusal.of(2, "other axes", k)
    (reduction,) = reductions
    if not {n, m} & bodies.free_ranges(reduction) or own_storage(kernel.sink):
        raise refusal.of(2, "a reduction apart from the output axes", k)
    for axis in (n, m):
        carried = kernel.carried_by(axis)
        if axis.arg.type not in (AxisType.LOOP, AxisType.GLOBAL) or carried is not False:
            raise refusal.of(6, f"{axis.arg.type.name}, dependence: {carried}", axis)
    factors = _factors(reduction.src[0], core)
    if factors is None or reduction.dtype is not core.accumulator:
        raise refusal.of(3, repr(reduction.src[0]), k)
    free = [bodies.free_ranges(x) for x in factors]
    for a, b in ((0, 1), (1, 0)):
        if n not in free[a] and m not in free[b]:
            return _Match(n, m, k, reduction, factors[a], factors[b])
    raise refusal.of(4, repr(reduction.src[0]), k)


def _factors(product: UOp, core: TensorCore) -> tuple[UOp, UOp] | None:
    """The operands of a product in the core's dtypes, without the casts to the accumulator's."""
    if product.op is not Op.Mul:
        return None
    x, y = product.src
    if core.input is not core.accumulator:
        if not all(s.op is Op.Cast for s in (x, y)):
            return None
        x, y = x.src[0], y.src[0]
    return (x, y) if x.dtype is core.input and y.dtype is core.input else None


def _applied(kernel: Kernel, match: _Match, core: TensorCore) -> UOp:
    rows, columns, depth = core.dims
    old = (match.m, match.n, match.k)
    *new, warp, element = kernel.fresh_axes(
        *((size_of(axis) // size, axis.arg.type) for axis, size in zip(old, core.dims, strict=True)),
        (LANES, AxisType.WARP),
        (core.c.elements, AxisType.UPCAST),
    )
    steps = dict(zip(old, new, strict=True))

    def at(axis: UOp, size: int, inside: UOp) -> UOp:
        return Op.Add(Op.Mul(steps[axis], as_node(size)), inside)

    def fragment(operand: UOp, digits: Digits, row: tuple[UOp, int], column: tuple[UOp, int]) -> UOp:
        held = []
        for e in range(digits.elements):
            places = spelled(digits, warp, as_node(e))
            axes = {
                axis: at(axis, size, place) for (axis, size), place in zip((row, column), places, strict=True)
            }
            held.append(substitute(operand, axes))
        return Op.Stack(*held)

    a = fragment(match.a, core.a, (match.m, rows), (match.k, depth))
    b = fragment(match.b, core.b, (match.k, depth), (match.n, columns))
    start = neutral(Op.Add, core.accumulator)
    assert start is not None
    wmma = Op.Wmma(a, b, Op.Stack(*[start] * core.c.elements), arg=core.arg)
    others = tuple(steps.get(r, r) for r in match.reduction.src[1:])
    tile = UOp(Op.Reduce, (Op.Index(wmma, element), *others), match.reduction.arg)
    row, column = spelled(core.c, warp, element)
    values = {
        match.m: at(match.m, rows, row),
        match.n: at(match.n, columns, column),
        match.reduction: tile,
    }
    return _renested(kernel, match, steps, values, (warp, element))


def _renested(
    kernel: Kernel, match: _Match, steps: dict[UOp, UOp], values: dict[UOp, UOp], inner: tuple[UOp, UOp]
) -> UOp:
    """The kernel with the steps for the output axes, and the lanes and elements inside of the nest."""
    innermost = next(ranges[-1] for ranges, _ in kernel.nests if match.m in ranges)

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node in values:
            return values[node]
        if node.op is Op.End:
            body = src[0]
            if node.src[1] is innermost:
                body = Op.End(Op.End(body, inner[1]), inner[0])
            return Op.End(body, steps.get(node.src[1], node.src[1]))
        return None

    return rebuilt(kernel.sink, change)
