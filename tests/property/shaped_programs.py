"""Random programs of the shapes that lowering looks for: products, reductions along and across memory, windows, scans,
gathers, transposes, and values that are used twice; over any dtype, or over whole numbers that no order can round.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from soundline.impl.arrays import storage
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bool_, float32, float64, int32, int64, to_numpy, uint32
from soundline.spec.ops.node import Op
from soundline.spec.uop import ReduceArg, UOp, expand, reshape

sys.path.insert(0, str(Path(__file__).parent))
from programs import DTYPES, binary, elements, moved, ternary, unary

LIKELY = (float32, float32, float64, int32, uint32, int64)
"""The dtypes that have vectors."""
MOST = 160
"""Elements of a value."""
EXACT = 2**22
"""Whole numbers up to here, and their sums, are exact in float32."""

Shape = tuple[int, ...]


def shape_of(x: UOp) -> Shape:
    return tuple(int(s) for s in x.shape or ())


@dataclass
class Builder:
    """One program as it grows. `whole`: every element is a small whole number, and stays one."""

    draw: st.DrawFn
    whole: bool
    most: dict[UOp, int] = field(default_factory=dict)
    """Of whole numbers, how great they can be."""

    def stored(self, dtype: DType, shape: Shape) -> UOp:
        count = math.prod(shape)
        kind = st.integers(-3, 3) if self.whole else elements(dtype)
        if not self.whole and count > 24:  # a few special values among ordinary ones
            few = self.draw(st.lists(elements(dtype), min_size=6, max_size=6))
            seed = np.random.default_rng(self.draw(st.integers(0, 2**16)))
            ordinary = seed.integers(-99, 99, count) / (7 if dtype.is_float else 1)
            values: Any = ordinary.astype(to_numpy(dtype))
            values[seed.integers(0, count, 6)] = np.array(few, dtype=to_numpy(dtype))
        else:
            row = self.draw(st.lists(kind, min_size=count, max_size=count))
            values = np.array(row).astype(to_numpy(dtype)) if self.whole else np.array(row, to_numpy(dtype))
        made = storage.keep(values.reshape(shape))
        self.most[made] = 3
        return made

    def size(self, least: int = 1) -> int:
        return self.draw(st.sampled_from([n for n in (1, 2, 3, 4, 5, 7, 8, 9, 10, 13) if n >= least]))

    def product(self, x: UOp) -> UOp | None:
        """x[…, m, k] and another matrix, by a reduction over k; the other one may be transposed in memory."""
        *outer, m, k = shape_of(x)
        n = self.size(self.draw(st.sampled_from((1, 4))))
        if math.prod(outer) * m * k * n > 8 * MOST or x.dtype is bool_ or k * self.most[x] * 3 > EXACT:
            return None
        other = self.stored(x.dtype, (n, k) if (turned := self.draw(st.booleans())) else (k, n))
        if turned:
            other = Op.Permute(other, arg=(1, 0))
        rank = len(outer)
        left = expand(reshape(x, (*outer, m, k, 1)), (*outer, m, k, n))
        right = expand(reshape(other, (*([1] * rank), 1, k, n)), (*outer, m, k, n))
        reduction = Op.Add if self.whole else self.draw(st.sampled_from((Op.Add, Op.Add, Op.Add, Op.Max)))
        total = Op.Reduce(Op.Mul(left, right), arg=ReduceArg(reduction, (rank + 1,)))
        return self.noted(reshape(total, (*outer, m, n)), k * self.most[x] * 3)

    def noted(self, made: UOp, most: int) -> UOp:
        self.most[made] = most
        return made

    def reduced(self, x: UOp) -> UOp:
        """A reduction over some axes."""
        shape = shape_of(x)
        axes = tuple(k for k in range(len(shape)) if self.draw(st.booleans()))
        ops = (Op.Max,) if x.dtype is bool_ else (Op.Add, Op.Max)
        op = self.draw(st.sampled_from(ops if self.whole else (*ops, Op.Mul)))
        length = math.prod(shape[a] for a in axes)
        if self.whole and length == 0:
            op = Op.Add
        return self.noted(Op.Reduce(x, arg=ReduceArg(op, axes)), self.most[x] * max(length, 1))

    def apart(self, x: UOp) -> UOp | None:
        """x beside a reduction of itself, as in a softmax."""
        shape = shape_of(x)
        if not shape or x.dtype is bool_ or 0 in shape:
            return None
        axis = self.draw(st.integers(0, len(shape) - 1))
        reduction = Op.Reduce(x, arg=ReduceArg(self.draw(st.sampled_from((Op.Add, Op.Max))), (axis,)))
        most = self.most[x] * (shape[axis] + 1)
        other = expand(reduction, shape)
        return self.noted(Op.Sub(x, other) if self.draw(st.booleans()) else Op.Add(other, x), most)

    def scanned(self, x: UOp) -> UOp | None:
        """Running sums, along memory or across it."""
        shape = shape_of(x)
        if not shape or x.dtype is bool_ or math.prod(shape) == 0 or x.dtype.bits < 16:
            return None
        axis = self.draw(st.integers(0, len(shape) - 1))
        return self.noted(Tensor.of(x).cumsum(axis).cast(x.dtype).uop, self.most[x] * shape[axis])

    def gathered(self, x: UOp) -> UOp | None:
        """Rows at positions that are stored."""
        shape = shape_of(x)
        if not shape or shape[0] == 0:
            return None
        count = self.size()
        at = np.array(self.draw(st.lists(st.integers(0, shape[0] - 1), min_size=count, max_size=count)))
        return self.noted(Tensor.of(x).take(Tensor(at), 0).uop, self.most[x])

    def windowed(self, x: UOp) -> UOp | None:
        """A correlation with a few filters, with a border of zeros."""
        shape = shape_of(x)
        if len(shape) != 2 or min(shape) < 2 or x.dtype not in LIKELY or self.most[x] * 12 > EXACT:
            return None
        filters = self.stored(x.dtype, (self.draw(st.integers(1, 3)), 1, 2, 2))
        image = Tensor.of(reshape(x, (1, 1, *shape)))
        stride, border = self.draw(st.integers(1, 2)), self.draw(st.integers(0, 1))
        found = image.conv2d(Tensor.of(filters), stride=stride, padding=border).uop
        return self.noted(found, self.most[x] * 12)

    def elementwise(self, x: UOp, pool: list[UOp]) -> UOp | None:
        """One op on each element."""
        if not self.whole:
            step = self.draw(st.sampled_from(("unary", "binary", "ternary")))
            if step == "unary":
                return self.noted(self.draw(unary(x)), 0)
            return self.noted(self.draw(binary(x, pool) if step == "binary" else ternary(x, pool)), 0)
        other = self.stored(x.dtype, shape_of(x))
        op = self.draw(st.sampled_from((Op.Add, Op.Sub, Op.Max, Op.Mul, Op.Where)))
        if op is Op.Where:
            return self.noted(Op.Where(Op.CmpLt(x, other), x, other), self.most[x] + 3)
        return self.noted(op(x, other), self.most[x] * 3 + 3)

    def shifted(self, x: UOp) -> UOp:
        """Moved, padded or cut."""
        return self.noted(self.draw(moved(x)), self.most[x])


STEPS = ("product", "product", "reduced", "apart", "scanned", "gathered", "windowed", "shifted", "shifted")


@st.composite
def shaped(draw: st.DrawFn, whole: bool = False, steps: int = 4) -> list[UOp]:
    """One or two results of a random graph; over whole numbers if that is asked for."""
    build = Builder(draw, whole)
    dtype = draw(st.sampled_from((float32, float64) if whole else (*LIKELY, *DTYPES)))
    first = draw(st.sampled_from(("product", "any", "product", "windowed")))
    rank = 2 if first != "any" else draw(st.sampled_from((1, 2, 3)))
    shape = tuple(build.size(2 if first != "any" else 1) for _ in range(rank))
    while math.prod(shape) > MOST:
        shape = (*shape[:-1], shape[-1] // 2)
    pool = [build.stored(dtype, shape)]
    for step in range(draw(st.integers(1, steps))):
        x = draw(st.sampled_from(pool[-2:]))
        kind = draw(st.sampled_from((*STEPS, "elementwise", "elementwise")))
        kind = first if step == 0 and first != "any" else kind
        if kind == "product" and len(shape_of(x)) < 2:
            kind = "reduced"
        made = build.elementwise(x, pool) if kind == "elementwise" else getattr(build, kind)(x)
        if (
            made is not None
            and math.prod(shape_of(made)) <= MOST
            and (not whole or build.most[made] <= EXACT)
        ):
            pool.append(made)
    return pool[-draw(st.integers(1, 2)) :]
