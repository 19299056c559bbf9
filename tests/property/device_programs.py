"""Random programs over values on one to four devices: Buffers, divided and replicated Params, and what moves them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, bool_, float16, float32, index, int8, int16, int32
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Device
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    LoadArg,
    ReduceArg,
    SliceArg,
    UOp,
    broadcast_to,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shape_source,
    shrink,
)

DTYPES = (int8, int16, int32, float16, float32)
NAMES = ("d0", "d1", "d2", "d3")
MOST = 64
"""Elements of one value."""

_BINARY = (Op.Add, Op.Mul, Op.Max, Op.Sub, Op.CmpLt, Op.CmpNe)
_UNARY = (Op.Neg, Op.Contiguous, Op.Detach, Op.ContiguousBackward)


@dataclass
class Program:
    """A program under construction: the values so far, and what its leaves are bound to."""

    draw: st.DrawFn
    devices: tuple[str, ...] = ()
    params: dict[int, Array] = field(default_factory=dict)
    buffers: dict[int, Array] = field(default_factory=dict)
    pool: list[UOp] = field(default_factory=list)
    loops: int = 0

    # Leaves -----------------------------------------------------------------------------------------------------

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def array(self, dtype: DType, shape: tuple[int, ...], most: int = 5) -> Array:
        count = math.prod(shape)
        low = 0 if dtype is index else -most
        numbers = self.draw(st.lists(st.integers(low, most), min_size=count, max_size=count))
        if dtype.is_float:
            return Array(dtype, shape, tuple(-0.0 if n == 0 else n + n / 4 for n in numbers))
        return Array(dtype, shape, tuple(numbers))

    def leaf(self, shape: tuple[int, ...] | None = None, dtype: DType | None = None) -> UOp:
        """A Param: divided, replicated, or on no device."""
        dtype = self.pick(DTYPES) if dtype is None else dtype
        if shape is None:
            shape = tuple(self.pick((0, 1, 2, 3, 4, 6)) for _ in range(self.integer(0, 3)))
        n = len(self.devices)
        axes = [k for k, size in enumerate(shape) if size % n == 0]
        axis = self.pick(axes) if axes and self.integer(0, 3) else None
        slot = len(self.params)
        self.params[slot] = self.array(dtype, shape)
        device: Device = self.devices if axis is not None or self.flag() else None
        return param(slot, dtype, shape, device=device, axis=axis)

    def stored(self) -> UOp:
        """A Buffer."""
        dtype, size, slot = self.pick(DTYPES), self.integer(0, 4), len(self.buffers)
        self.buffers[slot] = self.array(dtype, (size * len(self.devices),))
        return buffer(slot, size, dtype, device=self.devices)

    # Ops --------------------------------------------------------------------------------------------------------

    def elementwise(self, x: UOp) -> UOp:
        alike = [p for p in self.pool if p.shape == x.shape and p.dtype is x.dtype]
        other = self.pick(alike) if alike and self.flag() else self.leaf(sizes(x), x.dtype)
        made: UOp = self.pick(_BINARY)(*((x, other) if self.flag() else (other, x)))
        return made if made.dtype is not bool_ else Op.Where(made, x, other)

    def unary(self, x: UOp) -> UOp:
        return self.pick(_UNARY)(x) if self.flag() else Op.Cast(x, arg=self.pick(DTYPES))

    def permute(self, x: UOp) -> UOp:
        return Op.Permute(x, arg=tuple(self.draw(st.permutations(range(len(sizes(x)))))))

    def flip(self, x: UOp) -> UOp:
        return Op.Flip(x, arg=tuple(self.flag() for _ in sizes(x)))

    def reshape(self, x: UOp) -> UOp:
        shape = sizes(x)
        total = math.prod(shape)
        factors = [f for f in range(1, total + 1) if total % f == 0] or [0]
        first = self.pick(factors)
        rest = total // first if first else 0
        splits = [f for f in range(1, rest + 1) if rest % f == 0] or [rest]
        second = self.pick(splits)
        third = rest // second if second else 0
        return reshape(
            x, self.pick([(total,), (first, rest), (first, second, third), (*shape, 1), (1, *shape)])
        )

    def expand(self, x: UOp) -> UOp:
        return expand(x, tuple(self.integer(0, 3) if s == 1 and self.flag() else s for s in sizes(x)))

    def grow(self, x: UOp) -> UOp:
        """Into n rows, the way that collectives begin."""
        return expand(reshape(x, (1, *sizes(x))), (len(self.devices), *sizes(x)))

    def pad(self, x: UOp) -> UOp:
        rows = [(0, s) if k == x.axis else self.margins(s) for k, s in enumerate(sizes(x))]
        return pad(x, tuple(o for o, _ in rows), tuple(s for _, s in rows))

    def margins(self, size: int) -> tuple[int, int]:
        before = self.integer(0, 1)
        return before, size + before + self.integer(0, 1)

    def shrink(self, x: UOp) -> UOp:
        rows = [(0, s) if k == x.axis else self.kept(s) for k, s in enumerate(sizes(x))]
        return shrink(x, tuple(o for o, _ in rows), tuple(s for _, s in rows))

    def kept(self, size: int) -> tuple[int, int]:
        offset = self.integer(0, size)
        return offset, self.integer(0, size - offset)

    def indexed(self, x: UOp) -> UOp:
        """Along the first axes, by numbers, constants, or vectors that may be divided themselves."""
        most = len(sizes(x)) if x.axis is None else x.axis
        indices = []
        for size in sizes(x)[: self.integer(0, most)]:
            kind = self.integer(0, 2)
            if kind == 0 or size == 0:
                indices.append(const(self.integer(0, max(size - 1, 0)), index))
            elif kind == 1:
                indices.append(
                    shape_source(tuple(self.integer(0, size - 1) for _ in range(self.integer(1, 3))))
                )
            else:
                count = len(self.devices) * self.integer(0, 2)
                slot = len(self.params)
                self.params[slot] = self.array(index, (count,), size - 1)
                axis = 0 if self.flag() else None
                indices.append(param(slot, index, (count,), device=self.devices, axis=axis))
        return Op.Index(x, *indices)

    def stack(self, x: UOp) -> UOp:
        alike = [p for p in self.pool if p.shape == x.shape and p.dtype is x.dtype]
        return Op.Stack(x, self.pick(alike))

    def slice(self, x: UOp) -> UOp:
        flat = reshape(x, (math.prod(sizes(x)),))
        dtype = self.pick(DTYPES)
        size = math.prod(sizes(x)) * x.dtype.itemsize // dtype.itemsize
        if x.axis is None and self.flag():
            size = self.integer(0, size)
        return Op.Slice(flat, const(0, index), arg=SliceArg(size, dtype))

    def bitcast(self, x: UOp) -> UOp:
        return Op.Bitcast(x, arg=self.pick(DTYPES))

    def reduced(self, x: UOp) -> UOp:
        axes = tuple(k for k in range(len(sizes(x))) if self.flag())
        return Op.Reduce(x, arg=ReduceArg(self.pick((Op.Add, Op.Max, Op.Mul)), axes))

    def folded(self, x: UOp) -> UOp:
        """A Reduce over a Range that indexes the first axis."""
        r = loop(sizes(x)[0] if sizes(x) and x.axis != 0 else 2, self.loops)
        self.loops += 1
        inner = Op.Index(x, r) if sizes(x) and x.axis != 0 else x
        return Op.Reduce(inner, r, arg=ReduceArg(self.pick((Op.Add, Op.Max))))

    def replicated(self, x: UOp) -> UOp:
        axes = [k for k, s in enumerate(sizes(x)) if s]
        return Op.Replicated(x, arg=(self.pick(axes),) if axes else ())

    def copied(self, x: UOp) -> UOp:
        target = self.pick(
            (self.devices, self.devices, self.devices[0], tuple(reversed(self.devices)), "other")
        )
        return Op.Load(x, arg=LoadArg(target))

    def back(self, x: UOp) -> UOp:
        """From wherever to all devices, as collectives end."""
        return reshape(Op.Replicated(Op.Load(self.grow(x), arg=LoadArg(self.devices)), arg=(0,)), sizes(x))

    def loaded(self, x: UOp) -> UOp:
        gate = broadcast_to(const(self.flag(), bool_), sizes(x)) if self.flag() else self.gate(x)
        return Op.Load(x, self.leaf(sizes(x), x.dtype), gate, arg=self.pick((None, LoadArg(self.devices[0]))))

    def gate(self, x: UOp) -> UOp:
        return Op.CmpLt(x, self.leaf(sizes(x), x.dtype))

    def written(self, x: UOp) -> UOp:
        """A Buffer after x has been stored in it."""
        n, count = len(self.devices), math.prod(sizes(x))
        slot = len(self.buffers)
        self.buffers[slot] = self.array(x.dtype, (count,))
        place = buffer(slot, count // n, x.dtype, device=self.devices)
        view = place if self.flag() else Op.After(place, Op.Store(place, self.leaf((count,), x.dtype)))
        return Op.After(view, Op.Store(view, reshape(x, (count,))))

    def called(self, x: UOp) -> UOp:
        p = param(0, x.dtype, sizes(x), device=x.device, axis=x.axis)
        return Op.GetTuple(Op.Function(Op.Tuple(Op.Add(p, p)), x), arg=0)


OPS: tuple[Callable[[Program, UOp], UOp], ...] = (
    Program.elementwise,
    Program.elementwise,
    Program.unary,
    Program.permute,
    Program.flip,
    Program.reshape,
    Program.reshape,
    Program.expand,
    Program.grow,
    Program.pad,
    Program.shrink,
    Program.indexed,
    Program.stack,
    Program.slice,
    Program.bitcast,
    Program.reduced,
    Program.reduced,
    Program.folded,
    Program.replicated,
    Program.copied,
    Program.back,
    Program.loaded,
    Program.written,
    Program.called,
)


def sizes(x: UOp) -> tuple[int, ...]:
    """The shape, which is made of numbers here."""
    return tuple(int(s) for s in x.shape or ())  # type: ignore[arg-type]


@st.composite
def programs(draw: st.DrawFn, steps: int = 6) -> tuple[UOp, dict[int, Array], dict[int, Array]]:
    """A program, what its Params are bound to, and what its Buffers hold."""
    made = Program(draw, NAMES[: draw(st.integers(1, 4))])
    made.pool = [made.stored(), made.leaf()]
    for _ in range(draw(st.integers(1, steps))):
        x = draw(st.sampled_from(made.pool[-3:]))
        try:
            node = draw(st.sampled_from(OPS))(made, x)
        except IllFormed:
            continue
        if math.prod(sizes(node)) <= MOST:
            made.pool.append(node)
    return made.pool[-1], made.params, made.buffers
