"""
Probes
======

For every op that a program can contain, the smallest program that contains it. The status matrix asks of each layer
(the evaluator, the renderer of C) whether it handles the probe, instead of believing a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from soundline.impl.lower.callify import callify
from soundline.impl.program.compile import Lowered, lower
from soundline.spec.dtypes import DType, bool_, float32, index, int32, uint32, uint64
from soundline.spec.errors import SoundlineError
from soundline.spec.evaluate import evaluate, execute
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.uop import (
    ReduceArg,
    SliceArg,
    UOp,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
    tensor,
    toposort,
)
from soundline.spec.values.tensor_cores import CORES

ELEMENTWISE = ("elementwise", "decomposed")
_X = reshape(buffer(1, 6, float32), (2, 3))
_B = buffer(0, 2, int32)
_ONE = reshape(Op.Index(_B, const(0, index)), ())
HELD = {0: [1, 2], 1: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2: [2.0], 3: [2], 4: [True], 5: [2]}
"""What the Buffers of the probes hold: nothing that a compiler could reduce."""
_STORE = Op.Store(_B, tensor([7, 8], int32))
_PLACE = Op.Index(_B, const(0, index))


def _fragment(size: int, dtype: DType) -> UOp:
    """What a lane of a warp holds: its own number."""
    lane = Op.Special(const(32, index), arg="lidx0")
    return expand(reshape(Op.Cast(Op.Cast(lane, arg=int32), arg=dtype), (1,)), (size,))


def _warp_product() -> UOp:
    core = CORES[0]
    sizes = (core.digits(operand).elements for operand in ("A", "B", "C"))
    dtypes = (core.input, core.input, core.accumulator)
    return Op.Wmma(*map(_fragment, sizes, dtypes), arg=core.arg)


def _in_a_function(call: Op) -> UOp:
    p = param(0, int32)
    return Op.GetTuple(call(Op.Tuple(Op.Add(p, p)), _ONE), arg=0)


VALUES: dict[Op, Callable[[], UOp]] = {
    Op.Param: lambda: _in_a_function(Op.Function),
    Op.Buffer: lambda: Op.Load(_B),
    Op.Const: lambda: _ONE,
    Op.Binary: lambda: Op.Binary(arg=b"\x01\x02"),
    Op.BinaryCode: lambda: Op.BinaryCode(arg=b"\x01"),
    Op.Permute: lambda: Op.Permute(_X, arg=(1, 0)),
    Op.Flip: lambda: Op.Flip(_X, arg=(True, False)),
    Op.Reshape: lambda: reshape(_X, (6,)),
    Op.Expand: lambda: expand(reshape(_X, (2, 3, 1)), (2, 3, 2)),
    Op.Pad: lambda: pad(_X, (1, 0), (4, 3)),
    Op.Shrink: lambda: shrink(_X, (0, 1), (2, 2)),
    Op.Index: lambda: Op.Index(_X, const(1, index)),
    Op.Stack: lambda: Op.Stack(_ONE, _ONE),
    Op.Replicated: lambda: Op.Replicated(Op.Stack(_ONE, _ONE), arg=(0,)),
    Op.Slice: lambda: Op.Slice(_B, const(1, index), arg=SliceArg(1, int32)),
    Op.Bitcast: lambda: Op.Bitcast(_X, arg=uint32),
    Op.Reduce: lambda: Op.Reduce(_X, arg=ReduceArg(Op.Add, (1,))),
    Op.Function: lambda: _in_a_function(Op.Function),
    Op.Call: lambda: _in_a_function(Op.Call),
    Op.Tuple: lambda: _in_a_function(Op.Function),
    Op.GetTuple: lambda: _in_a_function(Op.Function),
    Op.CustomFunction: lambda: Op.GetTuple(Op.Call(Op.CustomFunction(_ONE, arg="probe"), _ONE), arg=0),
    Op.Load: lambda: Op.Load(_B),
    Op.After: lambda: Op.Load(Op.After(_B, _STORE)),
    Op.Range: lambda: Op.Reduce(Op.Cast(loop(3, 0), arg=int32), loop(3, 0), arg=ReduceArg(Op.Add)),
    Op.Special: lambda: Op.Special(const(8, index), arg="gidx0"),
    Op.Wmma: _warp_product,
    Op.Cast: lambda: Op.Cast(_X, arg=int32),
    Op.Where: lambda: Op.Where(Op.CmpLt(_ONE, _ONE), _ONE, Op.Neg(_ONE)),
    Op.Contiguous: lambda: Op.Contiguous(_X),
    Op.ContiguousBackward: lambda: Op.ContiguousBackward(_X),
    Op.Detach: lambda: Op.Detach(_X),
}
"""Programs that have a value."""

_CODE = Op.Source(arg=""), Op.BinaryCode(arg=b"")

EFFECTS: dict[Op, Callable[[], UOp]] = {
    Op.Store: lambda: Op.Sink(_STORE),
    Op.Sink: lambda: Op.Sink(_STORE),
    Op.Group: lambda: Op.Sink(Op.Group(_STORE)),
    Op.End: lambda: Op.Sink(Op.End(Op.Store(Op.Index(_B, loop(2, 0)), _ONE), loop(2, 0))),
    Op.AtomicAdd: lambda: Op.Sink(Op.AtomicAdd(_PLACE, _ONE)),
    Op.Linear: lambda: Op.Linear(_STORE),
    Op.If: lambda: _conditional(),  # noqa: PLW0108  # defined below
    Op.Endif: lambda: _conditional(),  # noqa: PLW0108
    Op.Program: lambda: Op.Sink(Op.Call(_kernel(), _B)),
    Op.Barrier: lambda: Op.Linear(_STORE, Op.Barrier(_STORE)),
}
"""Programs that leave something in memory."""


def _kernel() -> UOp:
    written = param(0, int32, (2,))
    return Op.Program(Op.Linear(Op.Store(written, tensor([7, 8], int32))), *_CODE)


def _conditional() -> UOp:
    opened = Op.If(const(True, bool_))
    return Op.Linear(opened, _STORE, Op.Endif(opened))


def _operands(op: Op) -> Iterator[UOp]:
    """The elementwise op on Buffers of the first dtype that admits it."""
    for slot, dtype in enumerate((float32, int32, bool_, uint64), 2):
        try:
            yield op(*(buffer(slot, 1, dtype) for _ in TABLE[op].sources))
        except SoundlineError:
            continue


def value_probe(op: Op) -> UOp | None:
    """The probe that has a value, if the op has one."""
    if op in VALUES:
        return VALUES[op]()
    if TABLE[op].group in ELEMENTWISE or op in (Op.CDiv, Op.CMod):
        return next(_operands(op), None)
    return None


def evaluates(op: Op) -> bool:
    """Whether the evaluator gives the op's probe its meaning."""
    try:
        if op in EFFECTS:
            return bool(execute(EFFECTS[op](), HELD))
        probe = value_probe(op)
        if probe is None:
            return False
        evaluate(probe, buffers=HELD, ranges={"gidx0": 3, "lidx0": 5}, functions={"probe": lambda x: x})
    except SoundlineError:
        return False
    return True


@cache
def lowered(op: Op) -> Lowered | None:
    """The op's probe taken to C text, where the road does that."""
    probe = value_probe(op)
    if probe is None:
        return None
    try:
        function = callify([probe])
        held = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
        return lower(Op.Function(function.src[0], *held), "exact")
    except SoundlineError:
        return None


@cache
def rendered() -> frozenset[Op]:
    """The ops of which the last stage of any probe is made: those that the renderer writes as C."""
    found = (lowered(op) for op in TABLE)
    return frozenset(node.op for low in found if low for node in toposort(low.stages["plan"]))
