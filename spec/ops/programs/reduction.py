"""
Reduce
======

The ascending reduction of elements with Add, Max or Mul (U-10).
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.spec.dtypes import DType, Element, bool_, index, int64
from soundline.spec.errors import GradientError
from soundline.spec.ops.adjoints import Parts, Passes, filled, kept, shared, total
from soundline.spec.ops.bounds import At, Known, dtype_range
from soundline.spec.ops.building import broadcast_to, const, expand, pad, reshape, shrink
from soundline.spec.ops.elementwise.arithmetic import add, mul
from soundline.spec.ops.elementwise.selection import maximum
from soundline.spec.ops.laws import INHERITED, distinct_axes, reduced_shape, without
from soundline.spec.ops.movement.permute import inverse
from soundline.spec.ops.movement.shared import T
from soundline.spec.ops.node import Op, ReduceArg, Shape, Size, UOp
from soundline.spec.ops.schema import Law, entry, source
from soundline.spec.ops.sizes import add as plus
from soundline.spec.ops.sizes import multiply, product, shape_of

# Bounds -----------------------------------------------------------------------------------------------------------


def bounds_of_reduction(node: UOp, at: At) -> Known:
    """Those of the source for Max, where something is reduced."""
    sizes = [shape_of(node.src[0])[k] for k in node.arg.axes]
    loops = [at(r.src[0]) for r in node.src[1:]]
    runs = all(isinstance(s, int) and s >= 1 for s in sizes) and all(
        b is not None and b.lo >= 1 for b in loops
    )
    return at(node.src[0]) if node.arg.op is Op.Max and runs else dtype_range(node.dtype)


# Value ------------------------------------------------------------------------------------------------------------

JOINED = {Op.Add: add, Op.Max: maximum, Op.Mul: mul}
"""What joins two elements: the scalar law of the op."""


def identity(op: Op, dtype: DType) -> Element | None:
    """The value of the empty reduce; that of Max on index is invalid, for which None stands."""
    if op is Op.Max:
        return None if dtype is index else dtype.min
    one: Element = 0 if op is Op.Add else 1
    return bool(one) if dtype is bool_ else float(one) if dtype.is_float else one


def neutral(op: Op, dtype: DType) -> Element | None:
    """The e with e ∘ x = x for every x: -0.0 does not change a sum of floats, but +0.0 would turn -0.0 into +0.0."""
    return -0.0 if op is Op.Add and dtype.is_float else identity(op, dtype)


def reduction(op: Op, dtype: DType, elements: Sequence[Element]) -> Element | None:
    """The ascending reduction of elements, which starts at the first."""
    if not elements:
        return identity(op, dtype)
    reduced = elements[0]
    for element in elements[1:]:
        reduced = JOINED[op](dtype, reduced, element)
    return reduced


# Adjoint ----------------------------------------------------------------------------------------------------------


def adjoint(node: UOp, g: UOp) -> Parts:
    """By what the reduction is with."""
    _refuse_ranges(node)
    x, live = node.src[0], g.dtype is bool_
    wide = expand(g, shape_of(x))
    if node.arg.op is Op.Add:
        return (wide,)
    if node.arg.op is Op.Mul:
        return (wide if live else Op.Mul(wide, others(x, node.arg.axes)),)
    greatest = Op.Not(Op.CmpLt(x, expand(node, shape_of(x))))
    if live:
        return (kept(greatest, wide),)
    count = total(Op.Cast(greatest, arg=int64), node.arg.axes)
    return (kept(greatest, expand(shared(g, count), shape_of(x))),)


def _refuse_ranges(node: UOp) -> None:
    if len(node.src) > 1:
        raise GradientError(
            "a Reduce over ranges has no adjoint: gradients are taken before ranges are made",
            rule="uop-reduce-adjoint",
            where="Reduce",
        )


def others(x: UOp, axes: tuple[int, ...]) -> UOp:
    """For every element the product of the others along the axes, in their order; no division, so zeros are right."""
    order = (*(k for k in range(len(shape_of(x))) if k not in axes), *sorted(axes))
    moved = Op.Permute(x, arg=order)
    rest = shape_of(moved)[: len(order) - len(axes)]
    count = product(shape_of(moved)[len(rest) :])
    wide = broadcast_to(reshape(moved, (*rest, 1, count)), (*rest, count, count))
    itself = broadcast_to(diagonal(count), shape_of(wide))
    rows = Op.Reduce(Op.Where(itself, filled(wide, 1.0), wide), arg=ReduceArg(Op.Mul, (len(rest) + 1,)))
    return Op.Permute(reshape(rows, shape_of(moved)), arg=inverse(order))


def diagonal(n: Size) -> UOp:
    """True on the diagonal of an (n, n): a column of n of True, in rows one longer than n, read in rows of n."""
    column = broadcast_to(const(True, bool_), (n, 1))
    longer = plus(n, 1)
    long: Shape = (multiply(n, longer),)
    flat = reshape(pad(column, (0, 0), (n, longer)), long)
    return reshape(shrink(flat, (0,), (multiply(n, n),)), (n, n))


# Entry ------------------------------------------------------------------------------------------------------------

REDUCE = entry(
    Op.Reduce,
    "reduce",
    "Reduction T with Add, Max or Mul along axes (which stay, with size 1) or over ranges. A float reduction is "
    "ascending and starts at its first element; several axes are one reduction in row-major order; the first range "
    "is the outermost. The empty reduce is 0, 1, or the dtype's "
    "least value (invalid for index).",
    sources=(T, source("r", "ranges to reduce over, in the range form", variadic=True)),
    arg="op (Add, Max or Mul), axes",
    arg_types=(ReduceArg,),
    constraints=(
        ("op is Add, Max or Mul", lambda src, arg: arg.op in JOINED),
        (
            "axes are distinct axes of T; with ranges they are empty",
            lambda src, arg: (
                distinct_axes(arg.axes, len(shape_of(src[0]))) and not (len(src) > 1 and arg.axes)
            ),
        ),
        ("each r is a Range", lambda src, arg: all(r.op is Op.Range for r in src[1:])),
        ("Add is not on bool", lambda src, arg: not (arg.op is Op.Add and src[0].dtype is bool_)),
    ),
    typing=INHERITED.but(
        shape=Law("s with 1 on axes", lambda src, arg: reduced_shape(shape_of(src[0]), arg.axes)),
        axis=Law("null if the shard axis is reduced", lambda src, arg: without(src[0].axis, arg.axes)),
    ),
    bounds=Law("dtype range; bounds of src[0] for Max where something is reduced", bounds_of_reduction),
    adjoint=Passes(
        "Add, to T: g along the axes. Mul, to T: g times the ascending product of the other elements, never a "
        "quotient. Max, to T: g divided by the number of greatest elements, for each of them (all, if one is NaN), and "
        "0 for the others. Over ranges: an error, gradients are taken before ranges are made",
        adjoint,
        live=adjoint,
        narrows=lambda node: node.arg.op is Op.Max,
    ),
    example=">>> evaluate(Op.Reduce(tensor([[1, 2], [3, 4]]), arg=ReduceArg(Op.Add, (1,)))).elements\n(3, 7)",
    decisions=("U-10", "U-14", "U-20"),
)
