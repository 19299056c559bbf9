"""Random programs with any op in them: well formed by construction, over sizes that are numbers or symbols.

`cases(op)` draws a program whose last steps make `op`, with everything that its evaluation needs. Symbolic sizes are
Params whose values are drawn first, so that every size has a number from the beginning, and is written as that number,
as a symbol with that value, or as a sum of both. All choices shrink towards few steps, small shapes, and numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    all_dtypes,
    bool_,
    float32,
    floats,
    from_bits,
    index,
    int8,
    int32,
    ints,
    uint64,
)
from soundline.spec.errors import IllFormed
from soundline.spec.ops.table import TABLE, Op, group_of
from soundline.spec.uop import (
    AxisType,
    ReduceArg,
    SliceArg,
    UOp,
    buffer,
    const,
    loop,
    param,
    reshape,
    shape_source,
)

SIZE_SLOT = 100
"""Params from this slot on are sizes."""

STORED = tuple(d for d in all_dtypes if d is not index)
ELEMENTWISE = (*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)
ARITIES = {op: len(TABLE[op].sources) for op in ELEMENTWISE}
Shape = tuple[int, ...]


@dataclass
class Case:
    """A program and what its evaluation needs."""

    root: UOp
    params: dict[int, Any] = field(default_factory=dict)
    buffers: dict[int, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        from soundline.spec.ops.textual_form import program_text

        return f"{program_text(self.root)}\n# params {self.params}, buffers {self.buffers}"


FUNCTIONS = {"first": lambda *arrays: arrays[0]}
"""What the CustomFunctions of the programs compute."""


def elements(dtype: DType) -> st.SearchStrategy[Any]:
    """Elements of a dtype, by their bits; small indices."""
    if dtype is index:
        return st.integers(-3, 9)
    if dtype is bool_:
        return st.booleans()
    return st.one_of(
        st.integers(0, 3).map(lambda n: float(n) if dtype.is_float else n),
        st.integers(0, (1 << dtype.bits) - 1).map(lambda n: from_bits(dtype, n)),
    )


@cache
def admitted(op: Op) -> tuple[DType, ...]:
    """The dtypes on which an elementwise op is well typed with all operands alike; a Where's condition is bool."""
    found = []
    for dtype in all_dtypes:
        try:
            typed(op, [param(k, dtype) for k in range(ARITIES[op])])
        except IllFormed:
            continue
        found.append(dtype)
    return tuple(found)


def typed(op: Op, operands: list[UOp], target: DType = int32) -> UOp:
    """An elementwise op of operands of one dtype."""
    if op is Op.Cast:
        return Op.Cast(*operands, arg=target)
    if op is Op.Where:
        return Op.Where(Op.CmpNe(operands[0], operands[1]), *operands[1:])
    return UOp(op, tuple(operands))


class Maker:
    """Draws one program: leaves as they are needed, and steps on what there is."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.case = Case(const(0, int32))
        self.symbols: list[tuple[UOp, int]] = []
        for k in range(draw(st.integers(0, 2))):
            value = draw(st.integers(0, 3))
            self.symbols.append((param(SIZE_SLOT + k, index, bounds=(0, 9)), value))
            self.case.params[SIZE_SLOT + k] = value
        self.loops = 0

    # sizes

    def one(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def size(self, value: int) -> int | UOp:
        """A size with this value: the number, or an expression over a symbol."""
        if not self.symbols or not self.draw(st.booleans()):
            return value
        symbol, known = self.one(*self.symbols)
        if known == value:
            return symbol  # type: ignore[no-any-return]
        return Op.Add(symbol, const(value - known, index))  # type: ignore[no-any-return]

    def sizes(self, shape: Shape) -> tuple[int | UOp, ...]:
        return tuple(self.size(s) for s in shape)

    def shape(self, least: int = 0, most: int = 3) -> Shape:
        return tuple(self.draw(st.lists(st.integers(0, 3), min_size=least, max_size=most)))

    # leaves

    def values(self, dtype: DType, shape: Shape) -> Array:
        count = math.prod(shape)
        return Array(
            dtype, shape, tuple(self.draw(st.lists(elements(dtype), min_size=count, max_size=count)))
        )

    def leaf(self, dtype: DType, shape: Shape) -> UOp:
        """A bound Param; a constant or the Load of a Buffer where that is possible."""
        kind = self.draw(st.integers(0, 2))
        if kind == 1 and shape == ():
            return const(self.draw(elements(dtype)), dtype)
        if kind == 2 and dtype is not index and math.prod(shape):
            return reshape(Op.Load(self.storage(dtype, math.prod(shape))), self.sizes(shape))
        slot = len([s for s in self.case.params if s < SIZE_SLOT])
        self.case.params[slot] = self.values(dtype, shape)
        return param(slot, dtype, self.sizes(shape))

    def storage(self, dtype: DType, size: int) -> UOp:
        """A Buffer that holds something."""
        slot = len(self.case.buffers)
        self.case.buffers[slot] = self.values(dtype, (size,))
        return buffer(slot, size, dtype)

    def loop(self, size: int, kind: AxisType = AxisType.LOOP) -> UOp:
        self.loops += 1
        return loop(self.size(size), self.loops, kind)

    # steps

    def grown(self, dtype: DType, shape: Shape, steps: int) -> UOp:
        """A value of this dtype and shape, a few elementwise steps from its leaves."""
        x = self.leaf(dtype, shape)
        for _ in range(self.draw(st.integers(0, steps))):
            op = self.one(*(op for op in ELEMENTWISE if dtype in admitted(op) and op is not Op.Cast))
            made = typed(op, [x, *(self.leaf(dtype, shape) for _ in range(ARITIES[op] - 1))])
            x = made if made.dtype is dtype else x
        return x

    def any(self, *dtypes: DType, least: int = 0, most: int = 3) -> tuple[UOp, Shape]:
        """A value of one of these dtypes, or of any, and its shape in numbers."""
        shape = self.shape(least, most)
        return self.grown(self.one(*(dtypes or STORED)), shape, 2), shape


Step = Callable[[Maker], UOp]


def elementwise(op: Op) -> Step:
    def step(m: Maker) -> UOp:
        dtype = m.one(*admitted(op))
        shape = m.shape()
        operands = [m.grown(dtype, shape, 1) for _ in range(ARITIES[op])]
        if op is not Op.Cast:
            return typed(op, operands)
        targets = all_dtypes if dtype is not index and not dtype.is_float else STORED
        targets = tuple(t for t in targets if not (dtype is index and t in floats))
        return Op.Cast(*operands, arg=m.one(*targets))  # type: ignore[no-any-return]

    return step


def permute(m: Maker) -> UOp:
    x, shape = m.any()
    return Op.Permute(x, arg=tuple(m.draw(st.permutations(range(len(shape))))))  # type: ignore[no-any-return]


def flip(m: Maker) -> UOp:
    x, shape = m.any()
    return Op.Flip(x, arg=tuple(m.draw(st.booleans()) for _ in shape))  # type: ignore[no-any-return]


def reshaped(m: Maker) -> UOp:
    x, shape = m.any()
    count = math.prod(shape)
    others = [(count,), (1, count), (*shape, 1), tuple(reversed(shape))]
    others += [(k, count // k) for k in range(2, count) if count % k == 0]
    return UOp(Op.Reshape, (x, shape_source(m.sizes(m.one(*others)))))


def expanded(m: Maker) -> UOp:
    shape = tuple(m.one(1, 1, 2, 0) for _ in range(m.draw(st.integers(0, 3))))
    x = m.grown(m.one(*STORED), shape, 1)
    assert x.shape is not None
    new = [
        m.size(m.draw(st.integers(0, 3))) if s == 1 else own for s, own in zip(shape, x.shape, strict=True)
    ]
    return UOp(Op.Expand, (x, shape_source(tuple(new))))


def padded(m: Maker) -> UOp:
    x, shape = m.any()
    before = tuple(m.draw(st.integers(0, 2)) for _ in shape)
    after = tuple(m.draw(st.integers(0, 2)) for _ in shape)
    new = tuple(b + s + a for b, s, a in zip(before, shape, after, strict=True))
    return UOp(Op.Pad, (x, shape_source(m.sizes(before)), shape_source(m.sizes(new))))


def shrunk(m: Maker) -> UOp:
    x, shape = m.any()
    starts = tuple(m.draw(st.integers(0, s)) for s in shape)
    kept = tuple(m.draw(st.integers(0, s - o)) for s, o in zip(shape, starts, strict=True))
    return UOp(Op.Shrink, (x, shape_source(m.sizes(starts)), shape_source(m.sizes(kept))))


def indexed(m: Maker) -> UOp:
    shape = tuple(m.draw(st.integers(1, 3)) for _ in range(m.draw(st.integers(1, 3))))
    x = m.grown(m.one(*STORED), shape, 1)
    indices = []
    for size in shape[: m.draw(st.integers(1, len(shape)))]:
        chosen = m.draw(st.lists(st.integers(0, size - 1), max_size=3))
        scalars = [const(c, index) for c in chosen]
        indices.append(Op.Stack(*scalars) if scalars and m.draw(st.booleans()) else const(size - 1, index))
    return Op.Index(x, *indices)  # type: ignore[no-any-return]


def stacked(m: Maker) -> UOp:
    x, shape = m.any(most=2)
    others = [m.grown(x.dtype, shape, 1) for _ in range(m.draw(st.integers(0, 2)))]
    return Op.Stack(x, *others)  # type: ignore[no-any-return]


def replicated(m: Maker) -> UOp:
    x, _ = m.any(most=2)
    return Op.Replicated(Op.Stack(*[x] * m.draw(st.integers(1, 3))), arg=(0,))  # type: ignore[no-any-return]


def sliced(m: Maker) -> UOp:
    dtype = m.one(*(d for d in STORED if d is not bool_))
    size = m.draw(st.integers(0, 4))
    start = m.draw(st.integers(0, size))
    target = m.one(dtype, *(d for d in STORED if d is not bool_ and d.bits <= dtype.bits))
    count = m.draw(st.integers(0, (size - start) * (dtype.bits // target.bits)))
    x = m.grown(dtype, (size,), 1)
    return Op.Slice(x, const(start, index), arg=SliceArg(count, target))  # type: ignore[no-any-return]


def bitcast(m: Maker) -> UOp:
    dtype = m.one(*ints, *floats)
    target = m.one(*(d for d in (*ints, *floats) if d.bits <= dtype.bits))
    shape = m.shape(least=0 if target.bits == dtype.bits else 1)
    return Op.Bitcast(m.grown(dtype, shape, 1), arg=target)  # type: ignore[no-any-return]


def reduced(m: Maker) -> UOp:
    dtype = m.one(*STORED)
    reduction = m.one(*((Op.Max, Op.Mul) if dtype is bool_ else (Op.Add, Op.Max, Op.Mul)))
    if not m.draw(st.booleans()):
        shape = m.shape()
        axes = tuple(k for k in range(len(shape)) if m.draw(st.booleans()))
        return Op.Reduce(m.grown(dtype, shape, 1), arg=ReduceArg(reduction, axes))  # type: ignore[no-any-return]
    size = m.draw(st.integers(0, 3))
    r = m.loop(size, AxisType.REDUCE)
    return Op.Reduce(Op.Index(m.grown(dtype, (size,), 1), r), r, arg=ReduceArg(reduction))  # type: ignore[no-any-return]


def called(op: Op) -> Step:
    def step(m: Maker) -> UOp:
        x, shape = m.any(most=2)
        y = m.grown(x.dtype, shape, 1)
        p, q = (param(k, x.dtype, v.shape or ()) for k, v in enumerate((x, y)))
        sizes = dict.fromkeys(s for v in (p, q) for s in v.src[0].src if s.op is not Op.Const)
        if sizes:  # a body is closed: its sizes are numbers here
            p, q = (param(k, x.dtype, shape) for k in range(2))
            x, y = (reshape(v, shape) for v in (x, y))
        body = Op.Tuple(Op.CmpNe(p, q), q)
        return Op.GetTuple(op(body, x, y), arg=m.draw(st.integers(0, 1)))  # type: ignore[no-any-return]

    return step


def tupled(m: Maker) -> UOp:
    (x, _), (y, _) = m.any(), m.any()
    return Op.GetTuple(Op.Tuple(x, y), arg=m.draw(st.integers(0, 1)))  # type: ignore[no-any-return]


def custom(m: Maker) -> UOp:
    x, shape = m.any(most=2)
    x = reshape(x, shape)
    call = Op.Call(Op.CustomFunction(x, arg="first"), x)
    return Op.GetTuple(call, arg=0)  # type: ignore[no-any-return]


def loaded(m: Maker) -> UOp:
    x, shape = m.any()
    if m.draw(st.booleans()):
        return Op.Load(x)  # type: ignore[no-any-return]
    alternative = reshape(m.grown(x.dtype, shape, 1), x.shape or ())
    return Op.Load(x, alternative, m.leaf(bool_, ()))  # type: ignore[no-any-return]


def stored(m: Maker) -> tuple[UOp, UOp]:
    """A place and a Store to all of it."""
    dtype = m.one(*STORED)
    size = m.draw(st.integers(0, 3))
    place = m.storage(dtype, size)
    value = reshape(m.grown(dtype, (size,), 1), (size,))
    gate = (m.leaf(bool_, ()),) if m.draw(st.booleans()) else ()
    return place, Op.Store(place, value, *gate)


def after(m: Maker) -> UOp:
    place, store = stored(m)
    return Op.Load(Op.After(place, store))  # type: ignore[no-any-return]


def grouped(m: Maker) -> UOp:
    (place, store), (_, other) = stored(m), stored(m)
    return Op.Load(Op.After(place, Op.Group(store, other)))  # type: ignore[no-any-return]


def looped(m: Maker, kind: AxisType | None = None, close: Op = Op.End) -> UOp:
    """A loop, or the threads that meet at a Barrier, that stores one element after the other."""
    dtype = m.one(*STORED)
    size = m.draw(st.integers(0, 3))
    place = m.storage(dtype, size)
    i = m.loop(size, kind or m.one(*AxisType))
    value = Op.Index(m.grown(dtype, (size,), 1), i)
    store = Op.Store(Op.Index(place, i), value)
    closed = Op.End(store, i) if close is Op.End else Op.Barrier(store)
    return Op.Load(Op.After(place, closed))  # type: ignore[no-any-return]


def met(m: Maker) -> UOp:
    return looped(m, m.one(AxisType.LOCAL, AxisType.WARP), Op.Barrier)


def met_by_specials(m: Maker) -> UOp:
    size = m.draw(st.integers(0, 3))
    place = m.storage(int32, size)
    thread = Op.Special(const(size, index), arg="lidx0")
    store = Op.Store(Op.Index(place, thread), Op.Index(m.grown(int32, (size,), 1), thread))
    return Op.Load(Op.After(place, Op.Barrier(store)))  # type: ignore[no-any-return]


def added(m: Maker) -> UOp:
    dtype = m.one(int8, int32, float32, uint64)
    place = m.storage(dtype, 1)
    i = m.loop(m.draw(st.integers(0, 3)), AxisType.GLOBAL)
    add = Op.AtomicAdd(Op.Index(place, const(0, index)), m.leaf(dtype, ()))
    return Op.Load(Op.After(place, Op.End(add, i)))  # type: ignore[no-any-return]


def ran(m: Maker) -> UOp:
    """A compiled kernel that writes its argument under a condition."""
    dtype = m.one(*STORED)
    size = m.draw(st.integers(0, 3))
    place = m.storage(dtype, size)
    written, read = param(0, dtype, (size,)), param(1, dtype, (size,))
    opened = Op.If(const(m.draw(st.booleans()), bool_))
    steps = Op.Linear(opened, Op.Store(written, read), Op.Endif(opened))
    kernel = Op.Program(steps, Op.Source(arg=""), Op.BinaryCode(arg=b""))
    call = Op.Call(kernel, place, reshape(m.grown(dtype, (size,), 1), (size,)))
    return Op.Load(Op.After(place, call))  # type: ignore[no-any-return]


def bytes_of(op: Op) -> Step:
    return lambda m: op(arg=m.draw(st.binary(max_size=3)))  # type: ignore[no-any-return]


def marked(op: Op) -> Step:
    return lambda m: op(m.any()[0])  # type: ignore[no-any-return]


def param_of(m: Maker) -> UOp:
    slot = len([s for s in m.case.params if s < SIZE_SLOT])
    dtype, shape = m.one(*all_dtypes), m.shape()
    m.case.params[slot] = m.values(dtype, shape)
    return param(slot, dtype, m.sizes(shape))


def constant(m: Maker) -> UOp:
    dtype = m.one(*all_dtypes)
    return const(m.draw(elements(dtype)), dtype)


STEPS: dict[Op, Step] = {
    **{op: elementwise(op) for op in ELEMENTWISE},
    Op.Param: param_of,
    Op.Buffer: lambda m: Op.Load(m.storage(m.one(*STORED), m.draw(st.integers(0, 3)))),
    Op.Const: constant,
    Op.Binary: bytes_of(Op.Binary),
    Op.BinaryCode: bytes_of(Op.BinaryCode),
    Op.Permute: permute,
    Op.Flip: flip,
    Op.Reshape: reshaped,
    Op.Expand: expanded,
    Op.Pad: padded,
    Op.Shrink: shrunk,
    Op.Index: indexed,
    Op.Stack: stacked,
    Op.Replicated: replicated,
    Op.Slice: sliced,
    Op.Bitcast: bitcast,
    Op.Reduce: reduced,
    Op.Function: called(Op.Function),
    Op.Call: called(Op.Call),
    Op.Tuple: tupled,
    Op.GetTuple: tupled,
    Op.CustomFunction: custom,
    Op.Load: loaded,
    Op.Store: after,
    Op.After: after,
    Op.Group: grouped,
    Op.Range: looped,
    Op.End: looped,
    Op.Barrier: met,
    Op.Special: met_by_specials,
    Op.AtomicAdd: added,
    **dict.fromkeys((Op.Program, Op.Linear, Op.Source, Op.If, Op.Endif), ran),
    **{op: marked(op) for op in group_of("marker")},
}
"""How to make a value that has the op in it."""

OTHER = (Op.Sink, Op.Ins, Op.Custom, Op.Wmma)
"""The ops that no random value has in it: a root, two that mean nothing here, and one that needs a warp."""


@st.composite
def cases(draw: st.DrawFn, op: Op | None = None) -> Case:
    """A program that ends in a value made by `op`, or by any op."""
    maker = Maker(draw)
    maker.case.root = STEPS[op or draw(st.sampled_from(list(STEPS)))](maker)
    return maker.case
