"""
UOps as StableHLO
=================

A program of elementwise ops, movement, reductions and products, printed as a StableHLO module. Each op is printed as
the one that the StableHLO specification defines alike; an op without such a twin is refused. A sum of products in the
form of the source's gemm is printed as `dot_general`, so that a product is compared as a whole.

Inputs and results are bits, because not every dtype crosses the border of Python: a bool is a `ui8`, a float an
unsigned integer of its width.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from soundline.spec.dtypes import DType, bfloat16, bool_, float16, float32, float64, index, to_bits
from soundline.spec.errors import UsageError
from soundline.spec.ops.sizes import sizes_of
from soundline.spec.uop import Op, UOp, toposort

_FLOATS = {float16: "f16", bfloat16: "bf16", float32: "f32", float64: "f64"}

_PLAIN = {
    Op.Add: "add",
    Op.Sub: "subtract",
    Op.Mul: "multiply",
    Op.Max: "maximum",
    Op.Div: "divide",
    Op.CDiv: "divide",
    Op.CMod: "remainder",
    Op.And: "and",
    Op.Or: "or",
    Op.Xor: "xor",
    Op.Not: "not",
    Op.Neg: "negate",
    Op.Sqrt: "sqrt",
    Op.Where: "select",
    Op.Cast: "convert",
    Op.Shl: "shift_left",
}

_COMPARISONS = {
    Op.CmpLt: "LT",
    Op.CmpNe: "NE",
    Op.CmpGt: "GT",
    Op.CmpGe: "GE",
    Op.CmpLe: "LE",
    Op.CmpEq: "EQ",
}

_FOLDS = {Op.Add: "add", Op.Mul: "multiply", Op.Max: "maximum"}


def element_type(dtype: DType) -> str:
    """The StableHLO name of a dtype."""
    if dtype is bool_:
        return "i1"
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    if dtype.is_int:
        return f"{'ui' if dtype.kind == 'uint' else 'i'}{dtype.bits}"
    raise UsageError(f"StableHLO's interpreter has no {dtype}")


def carrier(dtype: DType) -> str:
    """The type in which a value of a dtype is given and taken."""
    return "ui8" if dtype is bool_ else f"ui{dtype.bits}" if dtype.is_float else element_type(dtype)


def _typed(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def _shape(u: UOp) -> tuple[int, ...]:
    assert u.shape is not None
    return tuple(s for s in u.shape if isinstance(s, int))


def _type(u: UOp) -> str:
    return _typed(_shape(u), element_type(u.dtype))


class _Printer:
    """A module under construction: its lines, and the name of every value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[UOp, str] = {}
        self.fresh = (f"%v{n}" for n in itertools.count())

    def line(self, text: str, result: str) -> str:
        """Add an operation; the name of its result."""
        name = next(self.fresh)
        self.lines.append(f"    {name} = {text} : {result}")
        return name

    def constant(self, dtype: DType, literal: str, shape: tuple[int, ...] = ()) -> str:
        """A constant of one value."""
        return self.line(f"stablehlo.constant dense<{literal}>", _typed(shape, element_type(dtype)))

    def printed(self, u: UOp) -> str:
        """Print one node."""
        if u.op is Op.Const:
            return self.constant(u.dtype, literal(u.dtype, u.arg.value))
        product = product_of(u)
        if product is not None:
            return self.product(u, *product)
        if u.op is Op.Reduce:
            return self.reduce(u)
        if u.op in (Op.Reshape, Op.Expand, Op.Permute, Op.Pad, Op.Shrink, Op.Flip):
            return self.moved(u)
        return self.elementwise(u)

    def elementwise(self, u: UOp) -> str:
        """An operation on each element."""
        if any(s.dtype is index for s in u.src):
            raise UsageError(f"{u.op.name} of an index is not printed as StableHLO")
        names = [self.names[s] for s in u.src]
        types = ", ".join(_type(s) for s in u.src)
        if u.op in _COMPARISONS:
            kind = "FLOAT" if u.src[0].dtype.is_float else "SIGNED" if u.src[0].dtype.signed else "UNSIGNED"
            text = f"stablehlo.compare {_COMPARISONS[u.op]}, {', '.join(names)}, {kind}"
        elif u.op is Op.Shr:
            way = "arithmetic" if u.dtype.signed else "logical"
            text = f'"stablehlo.shift_right_{way}"({", ".join(names)})'
        elif u.op is Op.Recip:
            one = self.constant(u.dtype, literal(u.dtype, 1.0), _shape(u))
            return self.line(
                f'"stablehlo.divide"({one}, {names[0]})', f"({_type(u)}, {_type(u)}) -> {_type(u)}"
            )
        elif u.op in _PLAIN:
            text = f'"stablehlo.{_PLAIN[u.op]}"({", ".join(names)})'
        else:
            raise UsageError(f"{u.op.name} is not printed as StableHLO")
        return self.line(text, f"({types}) -> {_type(u)}")

    def moved(self, u: UOp) -> str:
        """A movement op."""
        (x, *_), shape = u.src, _shape(u)
        name, signature = self.names[x], f"({_type(x)}) -> {_type(u)}"
        if u.op is Op.Reshape:
            return self.line(f"stablehlo.reshape {name}", signature)
        if u.op is Op.Expand:
            return self.line(
                f"stablehlo.broadcast_in_dim {name}, dims = {_list(range(len(shape)))}", signature
            )
        if u.op is Op.Permute:
            order = list(u.arg or ())
            return self.line(f"stablehlo.transpose {name}, dims = {_list(order)}", signature)
        if u.op is Op.Flip:
            axes = [k for k, flagged in enumerate(u.arg) if flagged]
            return self.line(f"stablehlo.reverse {name}, dims = {_list(axes)}", f"{_type(u)}")
        offset = [s for s in sizes_of(u.src[1]) or () if isinstance(s, int)]
        if u.op is Op.Shrink:
            cuts = ", ".join(f"{a}:{a + s}" for a, s in zip(offset, shape, strict=True))
            return self.line(f"stablehlo.slice {name} [{cuts}]", signature)
        high = [s - a - n for s, a, n in zip(shape, offset, _shape(x), strict=True)]
        zero = self.constant(u.dtype, literal(u.dtype, 0.0 if u.dtype.is_float else 0))
        scalar = _typed((), element_type(u.dtype))
        widths = f"low = {_list(offset)}, high = {_list(high)}, interior = {_list([0] * len(shape))}"
        return self.line(f"stablehlo.pad {name}, {zero}, {widths}", f"({_type(x)}, {scalar}) -> {_type(u)}")

    def reduce(self, u: UOp) -> str:
        """A reduction over axes, then the axes put back with size 1."""
        x, reduction = u.src[0], _FOLDS[u.arg.op]
        if u.dtype is bool_:
            reduction = {Op.Mul: "and", Op.Max: "or"}[u.arg.op]
        start = self.constant(u.dtype, literal(u.dtype, _start(u)))
        kept = tuple(s for k, s in enumerate(_shape(x)) if k not in u.arg.axes)
        narrow, scalar = _typed(kept, element_type(u.dtype)), _typed((), element_type(u.dtype))
        text = f"stablehlo.reduce({self.names[x]} init: {start}) applies stablehlo.{reduction}"
        text += f" across dimensions = {_list(sorted(u.arg.axes))}"
        name = self.line(text, f"({_type(x)}, {scalar}) -> {narrow}")
        return self.line(f"stablehlo.reshape {name}", f"({narrow}) -> {_type(u)}")

    def product(self, u: UOp, a: UOp, b: UOp) -> str:
        """A matrix product, then the axis of the sum put back with size 1."""
        m, n = _shape(a)[0], _shape(b)[1]
        narrow = _typed((m, n), element_type(u.dtype))
        text = f"stablehlo.dot_general {self.names[a]}, {self.names[b]}, contracting_dims = [1] x [0]"
        name = self.line(text, f"({_type(a)}, {_type(b)}) -> {narrow}")
        return self.line(f"stablehlo.reshape {name}", f"({narrow}) -> {_type(u)}")


def _list(numbers: Sequence[int] | range) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _start(u: UOp) -> bool | int | float:
    """What leaves every element as it is, -0.0 of a sum included (U-10)."""
    if u.arg.op is Op.Max:
        return u.dtype.min
    if u.arg.op is Op.Mul:
        return True if u.dtype is bool_ else 1.0 if u.dtype.is_float else 1
    return -0.0 if u.dtype.is_float else 0


def literal(dtype: DType, value: bool | int | float) -> str:
    """A constant as StableHLO writes it; a float by its bits."""
    if dtype is bool_:
        return "true" if value else "false"
    if dtype.is_float:
        return f"0x{to_bits(dtype, float(value)):0{dtype.bits // 4}X}"
    return str(int(value))


def product_of(u: UOp) -> tuple[UOp, UOp] | None:
    """The matrices of a gemm as the source writes it: (A[M, K, 1] · B[1, K, N]) summed over K; None for any other."""
    if u.op is not Op.Reduce or u.arg.op is not Op.Add or tuple(u.arg.axes) != (1,) or u.dtype is bool_:
        return None
    x = u.src[0]
    if x.op is not Op.Mul or len(_shape(x)) != 3:
        return None
    a, b = (_below(s) for s in x.src)
    m, k, n = _shape(x)
    if a is None or b is None or (_shape(a), _shape(b)) != ((m, k), (k, n)):
        return None
    wide = [s.src[0] if s.op is Op.Expand else s for s in x.src]
    return (a, b) if [_shape(w) for w in wide] == [(m, k, 1), (1, k, n)] else None


def _below(x: UOp) -> UOp | None:
    x = x.src[0] if x.op is Op.Expand else x
    return x.src[0] if x.op is Op.Reshape else None


def module(root: UOp, params: Sequence[UOp]) -> str:
    """The StableHLO module of a program over these Params; raises `UsageError` for what is not printed."""
    printer = _Printer()
    given = [f"%p{k}: {_typed(_shape(p), carrier(p.dtype))}" for k, p in enumerate(params)]
    for k, p in enumerate(params):
        printer.names[p] = _opened(printer, f"%p{k}", p)
    for node in toposort(root):
        if node not in printer.names and node.dtype is not index:
            printer.names[node] = printer.printed(node)
    result = _typed(_shape(root), carrier(root.dtype))
    name = printer.names[root]
    if root.dtype is bool_ or root.dtype.is_float:
        way = "convert" if root.dtype is bool_ else "bitcast_convert"
        name = printer.line(f"stablehlo.{way} {name}", f"({_type(root)}) -> {result}")
    body = "\n".join(printer.lines)
    return (
        f"module {{\n  func.func @main({', '.join(given)}) -> {result} {{\n{body}\n"
        f"    func.return {name} : {result}\n  }}\n}}\n"
    )


def _opened(printer: _Printer, name: str, p: UOp) -> str:
    """A Param's value from its carrier."""
    outside = _typed(_shape(p), carrier(p.dtype))
    if p.dtype is bool_:
        return printer.line(f"stablehlo.convert {name}", f"({outside}) -> {_type(p)}")
    if p.dtype.is_float:
        return printer.line(f"stablehlo.bitcast_convert {name}", f"({outside}) -> {_type(p)}")
    return name
