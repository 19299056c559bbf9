"""Random well-formed Spork programs: every construct, nested as the law allows, with names that are in scope."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from soundline.impl.spork import NAMES
from soundline.impl.spork.program import SporkProc
from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Span,
    Unary,
)
from soundline.spec.spork.language.nodes import DTYPES, Named, Ref
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    PAR,
    SEQ,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    BarrierAt,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Pass,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Argument, Control, CudaWarpConfig, Data
from soundline.spec.spork.library.memories import Sm90_SmemSwizzled, Sm90_tensorMap
from soundline.spec.spork.library.table import STANDARD

FLOATS = tuple(d for d in DTYPES.values() if d.is_float)
WHOLE = tuple(d for d in DTYPES.values() if d.is_int)
STAND_IN = Ref("stand_in", Named("stand_in", "instruction"))
INSTRUCTIONS = tuple(Ref(name, instruction) for name, instruction in STANDARD.items())


def _refs(sort: str) -> list[Ref]:
    return [Ref(n, o) for n, o in NAMES.items() if getattr(o, "spork_sort", None) == sort]


TIMELINES, MEMORIES, KINDS, UNITS = (_refs(sort) for sort in ("timeline", "memory", "barrier", "unit"))
MEMORIES += [Ref(m.name, m) for m in (Sm90_SmemSwizzled(64), Sm90_tensorMap(0, 8, 4))]
UNITS += [Ref(f"{n} * {u.name}", n * u.value) for n in (2, 32) for u in UNITS if u.value.scaled is not None]


class Maker:
    """Draws a program; keeps what is in scope as (control names, arrays, barriers)."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fresh = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def flip(self) -> bool:
        return self.random.random() < 0.5

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}_{self.fresh}"

    # Expressions

    def integer(self, scope: dict[str, Any], depth: int = 2) -> Expr:
        names = [n for n, kind in scope.items() if kind == "index"]
        if depth == 0 or self.flip():
            if names and self.flip():
                return Name(self.pick(*names))
            return Const(self.random.randint(0, 2**40))
        if self.random.randint(0, 5) == 0:
            return Unary(Op.Neg, self.integer(scope, depth - 1))
        op = self.pick(Op.Add, Op.Sub, Op.Mul, Op.Idiv, Op.Mod, Op.Max)
        sides = self.integer(scope, depth - 1), self.integer(scope, depth - 1)
        return Apply(op, sides) if op is Op.Max else Binary(op, *sides)

    def condition(self, scope: dict[str, Any], depth: int = 2) -> Expr:
        match self.random.randint(0, 4 if depth else 1):
            case 0:
                names = [n for n, kind in scope.items() if kind == "bool"]
                return Name(self.pick(*names)) if names else Const(self.flip())
            case 1:
                op = self.pick(Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe)
                return Binary(op, self.integer(scope, 1), self.integer(scope, 1))
            case 2:
                return Unary(Op.Not, self.condition(scope, depth - 1))
            case _:
                op = self.pick(Op.And, Op.Or, Op.Xor, Op.CmpEq)
                return Binary(op, self.condition(scope, depth - 1), self.condition(scope, depth - 1))

    def value(self, dtype: DType, scope: dict[str, Any], depth: int = 3) -> Expr:
        arrays = [n for n, kind in scope.items() if isinstance(kind, tuple) and kind[0] is dtype]
        if depth == 0 or self.random.randint(0, 2) == 0:
            if arrays and self.flip():
                return self.element(self.pick(*arrays), scope)
            if dtype.kind == "bool":
                return Const(self.flip())
            if dtype.is_float and self.flip():
                return Const(self.pick(0.0, 1.0, 0.1, 2.5, 1e-45, 3e38, 1e300, 5e-324))
            return Const(self.random.randint(0, 255))
        if self.random.randint(0, 4) == 0:
            other = self.pick(*DTYPES.values())
            inner = self.integer(scope, 1) if self.flip() else self.value(other, scope, depth - 1)
            return Cast(dtype, inner)
        if self.random.randint(0, 5) == 0:
            sides = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
            return Apply(Op.Where, (self.condition(scope, 1), *sides))
        if dtype.kind == "bool":
            return Binary(
                self.pick(Op.And, Op.Or, Op.Xor), *(self.value(dtype, scope, depth - 1) for _ in "ab")
            )
        if dtype.is_float and self.random.randint(0, 3) == 0:
            op, count = self.pick((Op.Sqrt, 1), (Op.Exp2, 1), (Op.Mulacc, 3), (Op.Pow, 2), (Op.Max, 2))
            return Apply(op, tuple(Cast(dtype, self.value(dtype, scope, 0)) for _ in range(count)))
        ops = [Op.Add, Op.Sub, Op.Mul]
        # Bits and shifts take integers of a width, which literals alone do not have.
        ops += [Op.Div] if dtype.is_float else [Op.Idiv, Op.Mod, Op.Shl, Op.Shr, Op.And, Op.Or, Op.Xor]
        left = Cast(dtype, self.value(dtype, scope, depth - 1))
        right = self.value(dtype, scope, depth - 1)
        both = Binary(self.pick(*ops), *self.pick((left, right), (right, left)))
        return Unary(Op.Neg, both) if self.flip() else both

    def interval(self, scope: dict[str, Any]) -> Span:
        ends = [None if self.flip() else self.integer(scope, 1) for _ in "ab"]
        return Span(*ends)

    def element(self, name: str, scope: dict[str, Any]) -> Name | Index:
        rank = scope[name][1]
        return Index(name, tuple(self.integer(scope) for _ in range(rank))) if rank else Name(name)

    def window(self, name: str, scope: dict[str, Any]) -> Index:
        rank = scope[name][1]
        at = self.random.randint(0, rank - 1)
        parts = [
            self.interval(scope) if i == at or self.flip() else self.integer(scope, 1) for i in range(rank)
        ]
        return Index(name, tuple(parts))

    def barrier(self, scope: dict[str, Any], name: str, *, multicast: bool) -> BarrierAt:
        rank = scope[name]["rank"]
        count = self.random.randint(0, 2) if rank is None else rank
        parts: list[Expr | Span] = [
            Span() if multicast and self.flip() else self.integer(scope, 1) for _ in range(count)
        ]
        return BarrierAt(name, tuple(parts))

    # Statements

    def body(self, scope: dict[str, Any], depth: int, device: Any, asynchronous: bool = False) -> Any:
        inner = dict(scope)
        count = self.random.randint(1, 3)
        return tuple(self.statement(inner, depth, device, asynchronous) for _ in range(count))

    def statement(self, scope: dict[str, Any], depth: int, device: Any, asynchronous: bool) -> Statement:
        kinds = [Pass, Alloc, AllocBarrier, Fence, Call]
        arrays = [n for n, kind in scope.items() if isinstance(kind, tuple)]
        barriers = [n for n, kind in scope.items() if isinstance(kind, dict)]
        if arrays:
            kinds += [Assign, Reduce]
        if any(scope[n][1] for n in arrays):
            kinds.append(WindowOf)
        if barriers:
            kinds += [Arrive, Await]
        if depth:
            kinds += [If, For, CudaDeviceFunction if device is None else CudaWarps]
            kinds += [CudaAsync] if device is not None and not asynchronous else []
        return self.of_kind(self.pick(*kinds), scope, depth, device, asynchronous, arrays, barriers)

    def of_kind(self, kind: Any, scope: Any, depth: int, device: Any, asynchronous: bool, *names: Any) -> Any:
        arrays, barriers = names
        if kind is Pass:
            return Pass()
        if kind in (Assign, Reduce):
            name = self.pick(*arrays)
            kind = Assign if scope[name][0].kind == "bool" else kind
            return kind(self.element(name, scope), self.value(scope[name][0], scope))
        if kind is Alloc:
            sizes = tuple(Const(self.random.randint(0, 64)) for _ in range(self.random.randint(0, 3)))
            memory = self.pick(None, *MEMORIES)
            name, dtype = self.name("x"), self.pick(*DTYPES.values())
            scope[name] = (dtype, len(sizes))
            return Alloc(name, dtype, sizes, memory)
        if kind is AllocBarrier:
            sizes = self.pick(None, (), (Const(4),), (Const(2), Const(3)))
            if sizes == ():
                sizes = None
            name = self.name("bar")
            scope[name] = {"rank": None if sizes is None else len(sizes)}
            return AllocBarrier(name, self.pick(*KINDS), sizes)
        if kind is WindowOf:
            of = self.pick(*(n for n in arrays if scope[n][1]))
            window = self.window(of, scope)
            name = self.name("w")
            scope[name] = (scope[of][0], sum(isinstance(i, Span) for i in window.indices))
            return WindowOf(name, window, self.pick(None, *MEMORIES))
        if kind is Arrive:
            name = self.pick(*barriers)
            targets = [self.barrier(scope, name, multicast=True) for _ in range(self.random.randint(1, 2))]
            return Arrive(self.pick(*TIMELINES), tuple(targets), 1, self.flip())
        if kind is Await:
            barrier = self.barrier(scope, self.pick(*barriers), multicast=False)
            return Await(barrier, self.pick(*TIMELINES), self.random.randint(-3, 3), self.flip())
        if kind is Fence:
            return Fence(self.pick(*TIMELINES), self.pick(*TIMELINES))
        if kind is Call:
            return self.call(scope, arrays, barriers)
        return self.block(kind, scope, depth - 1, device, asynchronous)

    def call(self, scope: dict[str, Any], arrays: list[str], barriers: list[str]) -> Call:
        """A call of an instruction of the library that takes what is in scope, or of a mere name."""
        trailing = tuple(self.barrier(scope, n, multicast=True) for n in barriers[:1])
        for callee in self.random.sample(INSTRUCTIONS, 60):
            given = [self.given(argument, scope, arrays) for argument in callee.value.arguments]
            if None not in given:
                named = self.random.randint(0, len(given))
                names = [argument.name for argument in callee.value.arguments]
                keywords = tuple(zip(names[named:], given[named:], strict=True))
                return Call(callee, tuple(given[:named]), keywords, trailing)
        free: list[Expr] = [self.integer(scope)]
        free += [Name(n) for n in arrays[:2]]
        free += [self.window(n, scope) for n in arrays[:2] if scope[n][1]]
        keywords = (("size", self.integer(scope, 1)),) if self.flip() else ()
        return Call(STAND_IN, tuple(free), keywords, trailing)

    def given(self, argument: Argument, scope: dict[str, Any], arrays: list[str]) -> Expr | None:
        """Something in scope that an argument takes, if there is any."""
        if isinstance(argument.type, Control):
            return self.integer(scope, 1)
        wanted, rank = argument.type.dtype, len(argument.type.sizes)
        fit = [n for n in arrays if scope[n][0] is wanted and scope[n][1] >= rank]
        if not fit:
            return None
        name = self.pick(*fit)
        if scope[name][1] == rank and self.flip():
            return Name(name)
        spans = set(self.random.sample(range(scope[name][1]), rank))
        parts = [
            self.interval(scope) if i in spans else self.integer(scope, 1) for i in range(scope[name][1])
        ]
        return Index(name, tuple(parts)) if parts else Name(name)

    def block(self, kind: Any, scope: Any, depth: int, device: Any, asynchronous: bool) -> Any:
        if kind is If:
            orelse = self.body(scope, depth, device, asynchronous) if self.flip() else ()
            return If(self.condition(scope), self.body(scope, depth, device, asynchronous), orelse)
        if kind is For:
            threads = device is not None and self.flip()
            mode = SEQ if device is not None else self.pick(SEQ, PAR)
            mode = CudaThreads(self.pick(*UNITS)) if threads else mode
            lo = Const(0) if threads else self.integer(scope, 1)
            hi = Const(self.random.randint(1, 256)) if threads else self.integer(scope)
            iterator = self.name("i")
            body = self.body({**scope, iterator: "index"}, depth, device, asynchronous)
            return For(iterator, mode, lo, hi, body)
        if kind is CudaAsync:
            return CudaAsync(self.pick(*TIMELINES), self.body(scope, depth, device, True))
        if kind is CudaWarps:
            names = [None, *(w.name for w in device)]
            name = self.pick(*names)
            lo, hi = self.pick((0, 1), (2, 5), *([(None, None)] if name is not None else []))
            return CudaWarps(self.body(scope, depth, device, asynchronous), lo, hi, name)
        warps = self.pick((), (CudaWarpConfig("producer", 1, 40), CudaWarpConfig('odd "name"', 8, None, 232)))
        return CudaDeviceFunction(
            (self.tasks(scope, depth, warps),),
            None if warps else self.pick(32, 128),
            warps,
            self.pick(1, 2),
            self.pick(1, 3),
        )

    def tasks(self, scope: Any, depth: int, warps: Any) -> For:
        iterator = self.name("t")
        inner = {**scope, iterator: "index"}
        deeper = depth and self.flip()
        body = (self.tasks(inner, depth - 1, warps),) if deeper else self.body(inner, depth, warps)
        return For(iterator, CUDA_TASKS, self.integer(scope, 1), self.integer(scope), body)


def program(seed: int, depth: int) -> SporkProc:
    """The well-formed program of a seed, with blocks in each other to a depth."""
    maker = Maker(seed)
    scope: dict[str, Any] = {}
    arguments = []
    for _ in range(maker.random.randint(0, 4)):
        word = maker.pick("size", "index", "bool", "data", "data")
        name = maker.name("a")
        if word == "data":
            dtype = maker.pick(*DTYPES.values())
            sizes = tuple(Const(maker.random.randint(0, 9)) for _ in range(maker.random.randint(0, 2)))
            window = bool(sizes) and maker.flip()
            memory = maker.pick(None, *MEMORIES)
            # A bool without sizes and memory is control.
            if dtype.kind == "bool" and not sizes and memory is None:
                memory = MEMORIES[0]
            arguments.append(Argument(name, Data(dtype, sizes, window), memory))
            scope[name] = (dtype, len(sizes))
        else:
            arguments.append(Argument(name, Control(word)))
            scope[name] = "bool" if word == "bool" else "index"
    conditions = tuple(maker.condition(scope) for _ in range(maker.random.randint(0, 2)))
    return SporkProc("f", tuple(arguments), conditions, maker.body(scope, depth, None))


def programs() -> st.SearchStrategy[SporkProc]:
    """Well-formed programs; of one that fails, the depth shrinks."""
    return st.builds(program, st.integers(0, 2**32), st.integers(0, 4))
