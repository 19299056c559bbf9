"""
Products
========

Matrix products and Einstein sums. Narrow floats are multiplied and added in float32 and rounded once.
"""

from __future__ import annotations

import math

from soundline.impl.analysis.sums import reduced
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.reading.node import Node, Refusal, along, number_line, operator, selected
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import int32
from soundline.spec.uop import Op


@operator("MatMul")
def matmul(node: Node) -> Tensor:
    """The matrix product, batched as in numpy."""
    return node[0] @ node[1]


@operator("Gemm")
def gemm(node: Node) -> Tensor:
    """alpha · A·B + beta · C, with either matrix transposed."""
    a, b, c = node[0], node[1], node.get(2)
    a = a.T if node.flag("transA", False) else a
    b = b.T if node.flag("transB", False) else b
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    node.ignore(*(("broadcast",) if node.opset < 7 else ()))
    product = a @ b
    if alpha != 1.0:
        product = _scaled(product, alpha)
    return product if c is None else product + (c if beta == 1.0 else _scaled(c, beta))


def _scaled(x: Tensor, factor: float) -> Tensor:
    if x.dtype.is_float:
        return x * factor
    if not factor.is_integer():
        raise Refusal(f"integers times {factor}")
    return x * int(factor)


@operator("MatMulInteger")
def matmul_integer(node: Node) -> Tensor:
    """The product of integers less their zero points, in int32."""
    return centred(node[0], node.get(2), row=True) @ centred(node[1], node.get(3), row=False)


def centred(x: Tensor, zero: Tensor | None, *, row: bool) -> Tensor:
    """x less its zero point, of which there may be one for each row of A or column of B."""
    wide = x.cast(int32)
    if zero is None:
        return wide
    if zero.ndim == 1 and zero.size > 1 and row:
        zero = zero.reshape(zero.size, 1)
    elif zero.size == 1:
        zero = zero.reshape(())
    return wide - zero.cast(int32)


# Einstein sums ----------------------------------------------------------------------------------------------------


@operator("Einsum")
def einsum(node: Node) -> Tensor:
    """A product of tensors with named axes, summed over the names that the result lacks."""
    equation = node.text("equation", "").replace(" ", "")
    operands = node.all()
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise Refusal(f"{equation!r} names {len(terms)} operands of {len(operands)}")
    names = [_names(t, x.ndim) for t, x in zip(terms, operands, strict=True)]
    every = [n for row in names for n in row]
    if arrow:
        rank = max((sum(n.startswith(".") for n in row) for row in names), default=0)
        result = _names(right, len(right.replace("...", "")) + (rank if "..." in right else 0))
    else:
        shared = sorted({n for n in every if n.startswith(".")}, reverse=True)
        result = [*shared, *sorted(n for n in set(every) if every.count(n) == 1 and not n.startswith("."))]
    order = [*result, *dict.fromkeys(n for n in every if n not in result)]
    home = accumulated(operands[0].dtype)
    aligned = [_aligned(x.cast(home), row, order) for x, row in zip(operands, names, strict=True)]
    product = math.prod(aligned[1:], start=aligned[0])
    summed = list(range(len(result), len(order)))
    if not summed:
        return product.cast(operands[0].dtype)
    total = Tensor.of(reduced(product.uop, Op.Add, summed))  # ascending, as every product's
    return total.reshape(product.shape[: len(result)]).cast(operands[0].dtype)


def _names(term: str, rank: int) -> list[str]:
    """One name per axis; the axes of an ellipsis are numbered from its end."""
    before, dots, after = term.partition("...")
    if not dots:
        return list(term)
    count = rank - len(before) - len(after)
    return [*before, *(f".{k:03}" for k in reversed(range(count))), *after]


def _aligned(x: Tensor, names: list[str], order: list[str]) -> Tensor:
    """x with its axes where the names are in the order, and size 1 elsewhere; of a name twice, the diagonal."""
    names = list(names)
    for name in [n for n in dict.fromkeys(names) if names.count(n) > 1]:
        while names.count(name) > 1:
            a = names.index(name)
            b = names.index(name, a + 1)
            line = number_line(x.shape[a])
            x = selected(along(line, a, x.ndim) == along(line, b, x.ndim), x, b)
            del names[b]
    kept = [n for n in order if n in names]
    moved = x.permute([names.index(n) for n in kept])
    sizes = dict(zip(kept, moved.shape, strict=True))
    return moved.reshape(tuple(sizes.get(n, 1) for n in order))
