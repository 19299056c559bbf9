"""Random functions: bodies with loops and nested functions, arguments that depend on loops and on memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from soundline.spec.dtypes import index, int32
from soundline.spec.ops.node import AxisType
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    ReduceArg,
    Size,
    UOp,
    buffer,
    const,
    expand,
    loop,
    param,
    reshape,
    shrink,
    tensor,
)

IDS = (0, 0, 1, 2)
"""Few ids, so that loops meet."""
SIZE = param(3, index)
"""The size of the vector arguments of a body."""
MEMORY = {0: [3, -1, 4], 1: [10]}
"""What the Buffers of the programs hold."""


@dataclass
class Builder:
    """One body, or the program outside of all bodies: int32 scalars over its leaves."""

    draw: st.DrawFn
    leaves: list[UOp]
    vectors: list[UOp]
    bounds: list[Size]
    depth: int
    open: list[UOp] = field(default_factory=list)
    """The loops that are open here."""

    def pick(self, choices: list[UOp]) -> UOp:
        return self.draw(st.sampled_from(choices))

    def scalar(self, steps: int) -> UOp:
        """An int32 scalar."""
        if steps <= 0:
            return self.leaf()
        kinds = ["leaf", "binary", "binary", "loop", "loop", "element", "where"]
        kinds += ["call", "call"] if self.depth < 2 else []
        match self.draw(st.sampled_from(kinds)):
            case "binary":
                op = self.draw(st.sampled_from((Op.Add, Op.Sub, Op.Mul, Op.Max)))
                return op(self.scalar(steps - 1), self.scalar(steps - 2))
            case "where":
                a, b = self.scalar(steps - 2), self.scalar(steps - 2)
                return Op.Where(Op.CmpLt(a, b), a, self.leaf())
            case "loop":
                return self.reduced(steps)
            case "element":
                return self.element()
            case "call":
                return self.call(steps)
            case _:
                return self.leaf()

    def leaf(self) -> UOp:
        choices = [*self.leaves, const(self.draw(st.integers(-3, 3)), int32)]
        choices += [Op.Cast(r, arg=int32) for r in self.open]
        return self.pick(choices)

    def element(self) -> UOp:
        """An element of a vector, at an open loop where there is one."""
        x = self.pick(self.vectors)
        at = self.pick([const(0, index), *self.open])
        fits = Op.CmpLt(at, const(1, index))
        return Op.Index(x, Op.Where(fits, at, const(0, index)))

    def reduced(self, steps: int, *, calling: bool = False) -> UOp:
        """A Reduce over one or two loops, of few ids, one of which may bound the other."""
        loops: list[UOp] = []
        for _ in range(self.draw(st.integers(1, 2))):
            bounds: list[Size] = [*self.bounds, *self.open, *loops, 2, 2, 2, 2, 3]
            made = loop(
                self.draw(st.sampled_from(bounds)),
                self.draw(st.sampled_from(IDS)),
                self.draw(st.sampled_from((AxisType.LOOP,) * 4 + (AxisType.REDUCE,))),
            )
            if made not in (*self.open, *loops):
                loops.append(made)
        self.open += loops
        body = self.call(steps - 1) if calling else self.scalar(steps - 1)
        del self.open[len(self.open) - len(loops) :]
        op = self.draw(st.sampled_from((Op.Add, Op.Max)))
        return Op.Reduce(body, *loops, arg=ReduceArg(op)) if loops else body

    def call(self, steps: int) -> UOp:
        """An element of a Function of two scalars, a vector of a symbolic size, and that size."""
        inner = Builder(
            self.draw,
            [param(0, int32), param(1, int32)],
            [param(2, int32, (SIZE,))],
            [SIZE],
            self.depth + 1,
        )
        bodies = Op.Tuple(inner.scalar(steps - 1), Op.Add(inner.leaves[0], inner.reduced(steps - 1)))
        size = self.draw(st.integers(1, 3))
        vector = expand(reshape(self.scalar(steps - 2), (1,)), (size,))
        known = [v for v in self.vectors if v.shape == (size,)]
        vector = self.pick([vector, *known])
        first = Op.Cast(self.pick(self.open), arg=int32) if self.open else self.scalar(steps - 1)
        arguments = (first, self.scalar(steps - 2), vector, const(size, index))
        return Op.GetTuple(Op.Function(bodies, *arguments), arg=self.draw(st.integers(0, 1)))


@st.composite
def programs(draw: st.DrawFn, steps: int = 4) -> UOp:
    """A program over two Buffers, before and after a store, with calls at the top and inside of loops."""
    stored, cell = buffer(0, 3, int32), buffer(1, 1, int32)
    later = Op.After(stored, Op.Store(shrink(stored, (1,), (2,)), tensor([7, 8])))
    vectors = [stored, later, Op.Load(later), Op.Flip(stored, arg=(True,))]
    leaves = [reshape(cell, ()), reshape(shrink(later, (2,), (1,)), ()), Op.Load(reshape(cell, ()))]
    outer = Builder(draw, leaves, vectors, [2], 0)
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return outer.scalar(steps)
    return outer.reduced(steps, calling=True)
