"""
Random graphs
=============

Small programs at random, well formed by construction, the same for the same seed and number: index arithmetic over
loops, scalars of every dtype, tensors that are moved, computed with and reduced, and left sides of rules with random
parts in the place of their variables, so that every rule meets its pattern.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from soundline.impl.analysis.facts import Facts
from soundline.impl.matching.matcher import patterns_of
from soundline.spec.dtypes import (
    DType,
    Element,
    all_dtypes,
    bool_,
    from_bits,
    index,
    order,
    round_to,
)
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op, ReduceArg, UOp, toposort
from soundline.spec.rules.building import Env, build
from soundline.spec.rules.instances import dtypes_of, ops_for
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.terms import Variable, named_sizes
from soundline.spec.uop import broadcast_to, const, element_of, expand, loop, pad, param, reshape, shrink

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = ((), (3,), (2, 2), (1, 3), (0,), (2, 1, 2), (1,), (2, 3))
UNARY = (Op.Neg, Op.Not, Op.Recip, Op.Trunc, Op.Sqrt)
BINARY = (
    *(Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod, Op.Div, Op.And, Op.Or, Op.Xor),
    *(Op.Shl, Op.Shr, Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe),
)
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    3.0,
    -2.5,
    1e-7,
    448.0,
    65504.0,
    1e-45,
    math.inf,
    -math.inf,
    math.nan,
)
WHOLE = (0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -5, 127, -128, 255, 1 << 31)
MOST_ELEMENTS = 48


@dataclass(frozen=True, slots=True)
class RandomGraph:
    """A program and what it was made by."""

    name: str
    root: UOp


@cache
def admitted(count: int, dtype: DType) -> tuple[Op, ...]:
    """The ops of so many operands of one dtype that are well typed at it."""
    found = []
    for op in UNARY if count == 1 else BINARY:
        try:
            UOp(op, (const(element_of(1, dtype), dtype),) * count)
        except IllFormed:
            continue
        found.append(op)
    return tuple(found)


def random_element(source: Random, dtype: DType) -> Element:
    """An element at which laws bend, or any bit pattern."""
    if dtype is bool_:
        return source.random() < 0.5
    if dtype is index:
        return source.choice(WHOLE) if source.random() < 0.7 else source.randrange(-20, 40)
    if source.random() < 0.25:
        return from_bits(dtype, source.getrandbits(dtype.bits))
    if dtype.is_float:
        return round_to(dtype, source.choice(SPECIAL))
    return element_of(source.choice(WHOLE), dtype)


@dataclass
class Grower:
    """Grows one program from its leaves."""

    source: Random
    dtypes: Sequence[DType]
    shapes: Sequence[Shape]
    pool: list[UOp] = field(default_factory=list)
    count: int = 0

    def parameter(self, dtype: DType, shape: Shape, *, bounded: bool = False) -> UOp:
        """A new Param."""
        bounds = None
        if bounded:
            ends = sorted((random_element(self.source, dtype) for _ in range(2)), key=order)
            bounds = (ends[0], ends[1]) if all(e == e for e in ends) else None
        self.count += 1
        return param(self.count - 1, dtype, shape, bounds=bounds)

    def leaf(self) -> UOp:
        """A Param, a constant, a loop, or an element that was looked up and may be invalid."""
        kind = self.source.choice(("param", "param", "bounded", "const", "const", "range", "gathered"))
        dtype, shape = self.source.choice(self.dtypes), self.source.choice(self.shapes)
        if kind == "const":
            return broadcast_to(const(random_element(self.source, dtype), dtype), shape)
        if kind == "range" and index in self.dtypes:
            return self.loop()
        if kind == "gathered" and dtype is not index:
            table = self.parameter(dtype, (4,))
            return Op.Index(table, self.parameter(index, ()))
        return self.parameter(dtype, shape, bounded=kind == "bounded")

    def loop(self) -> UOp:
        """One of three loops."""
        number = self.source.randrange(3)
        known = next(
            (n for p in self.pool for n in toposort(p) if n.op is Op.Range and n.arg.id == number), None
        )
        return known if known is not None else loop(self.source.choice((1, 2, 3, 4, 6, 8, 12)), number)

    def some(self, dtype: DType | None = None) -> UOp:
        """One of the nodes made last."""
        fitting = [n for n in self.pool if dtype is None or n.dtype is dtype][-4:]
        if fitting:
            return self.source.choice(fitting)
        wanted = dtype or self.source.choice(self.dtypes)
        return const(random_element(self.source, wanted), wanted)

    def like(self, node: UOp) -> UOp:
        """Another operand for an op on `node`."""
        same = [n for n in self.pool if n.dtype is node.dtype and n.shape == node.shape]
        if same and self.source.random() < 0.6:
            return self.source.choice(same)
        return broadcast_to(const(random_element(self.source, node.dtype), node.dtype), node.shape or ())

    def step(self, kinds: Sequence[str]) -> UOp:
        """A node on what there is."""
        x = self.some()
        match self.source.choice(kinds):
            case "unary" if admitted(1, x.dtype):
                return UOp(self.source.choice(admitted(1, x.dtype)), (x,))
            case "where":
                condition = self.some(bool_)
                if condition.shape != x.shape:
                    condition = (
                        broadcast_to(self.some(bool_), x.shape or ()) if condition.shape == () else condition
                    )
                return Op.Where(condition, x, self.like(x))
            case "cast":
                return Op.Cast(x, arg=self.source.choice(all_dtypes))
            case "move":
                return self.moved(x)
            case "reduce":
                return self.reduced(x)
            case "linear":
                return self.linear(x)
        pair = (x, self.like(x))
        return UOp(
            self.source.choice(admitted(2, x.dtype)), pair if self.source.random() < 0.5 else pair[::-1]
        )

    def linear(self, x: UOp) -> UOp:
        """A step of index arithmetic: what flattening and unflattening make."""
        if x.dtype is not index:
            return Op.Not(x) if x.dtype is bool_ else x
        op = self.source.choice((Op.Add, Op.Add, Op.Mul, Op.Mul, Op.Idiv, Op.Mod, Op.Sub, Op.CmpLt))
        number = const(self.source.choice((1, 2, 3, 4, 5, 6, 8, 12)), index)
        if op in (Op.Mul, Op.Idiv, Op.Mod):
            return UOp(op, (x, number))
        other = self.some(index) if self.source.random() < 0.7 else number
        return UOp(op, (x, other))

    def moved(self, x: UOp) -> UOp:
        """A movement op on x."""
        shape = tuple(int(s) for s in x.shape or () if isinstance(s, int))
        source = self.source
        match source.choice(("permute", "flip", "reshape", "expand", "pad", "shrink", "stack")):
            case "permute":
                return Op.Permute(x, arg=tuple(source.sample(range(len(shape)), len(shape))))
            case "flip":
                return Op.Flip(x, arg=tuple(source.random() < 0.5 for _ in shape))
            case "reshape":
                total = math.prod(shape)
                forms = [shape[::-1], (total,), (1, *shape), (*shape, 1)]
                return reshape(x, source.choice([s for s in forms if len(s) <= 3]))
            case "expand":
                return expand(x, tuple(source.choice((1, 2, 3)) if s == 1 else s for s in shape))
            case "pad":
                offset = tuple(source.randrange(2) for _ in shape)
                sizes = tuple(s + o + source.randrange(2) for s, o in zip(shape, offset, strict=True))
                return pad(x, offset, sizes)
            case "stack" if len(shape) < 3:
                return Op.Stack(x, self.like(x))
        offset = tuple(source.randrange(s + 1) for s in shape)
        return shrink(
            x, offset, tuple(source.randrange(s - o + 1) for s, o in zip(shape, offset, strict=True))
        )

    def reduced(self, x: UOp) -> UOp:
        """A reduction over some axes, or over a loop."""
        op = self.source.choice((Op.Max, Op.Mul) if x.dtype is bool_ else (Op.Add, Op.Add, Op.Max, Op.Mul))
        loops = [n for n in toposort(x) if n.op is Op.Range]
        if loops and x.shape == ():
            return Op.Reduce(x, self.source.choice(loops), arg=ReduceArg(op))
        axes = tuple(k for k in range(len(x.shape or ())) if self.source.random() < 0.6)
        return Op.Reduce(x, arg=ReduceArg(op, axes))

    def grow(self, leaves: int, steps: int, kinds: Sequence[str]) -> UOp:
        """The largest program that came of so many steps."""
        self.pool = [self.leaf() for _ in range(leaves)]
        for _ in range(steps):
            try:
                node = self.step(kinds)
            except IllFormed:
                continue
            if (
                node.shape is not None
                and math.prod(int(s) for s in node.shape if isinstance(s, int)) <= MOST_ELEMENTS
            ):
                self.pool.append(node)
        return max(self.pool, key=lambda n: sum(1 for _ in toposort(n)))


def _index_arithmetic(source: Random) -> UOp:
    grower = Grower(source, (index,), ((),))
    grower.pool = [grower.loop() for _ in range(2)]
    kinds = ("linear",) * 6 + ("binary", "unary", "where", "reduce")
    leaves = [grower.loop() for _ in range(source.randrange(1, 4))]
    root = grower.grow(1, 0, kinds)
    grower.pool = [*leaves, root, grower.parameter(index, (), bounded=source.random() < 0.5)]
    for _ in range(source.randrange(4, 14)):
        try:
            grower.pool.append(grower.step(kinds))
        except IllFormed:
            continue
    return grower.pool[-1]


def _scalars(source: Random) -> UOp:
    dtypes = tuple(source.choice(all_dtypes) for _ in range(source.randrange(1, 3)))
    grower = Grower(source, (*dtypes, dtypes[0], bool_), ((),))
    kinds = ("unary", "binary", "binary", "binary", "binary", "where", "cast")
    return grower.grow(source.randrange(1, 5), source.randrange(3, 14), kinds)


def _tensors(source: Random) -> UOp:
    dtypes = tuple(source.choice(all_dtypes) for _ in range(2))
    shapes = [source.choice(SHAPES) for _ in range(2)]
    grower = Grower(source, (*dtypes, dtypes[0], bool_), shapes)
    kinds = ("unary", "binary", "binary", "binary", "where", "cast", "move", "move", "move", "reduce")
    return grower.grow(source.randrange(1, 5), source.randrange(3, 14), kinds)


# Left sides of rules ----------------------------------------------------------------------------------------------


def _pattern(source: Random, rules: Sequence[Rule]) -> UOp | None:
    """The left side of a rule with random parts for its variables; None where these do not fit together."""
    stated = source.choice(rules)
    dtype = source.choice(dtypes_of(stated))
    shapes = (source.choice(SHAPES),) if source.random() < 0.4 else ((),)
    grower = Grower(source, (dtype, dtype, bool_), shapes)
    grower.grow(3, source.randrange(0, 4), ("unary", "binary", "binary"))
    found = None
    for _ in range(16):
        try:
            found = build(stated.left, Env(dtype, _bindings(stated, dtype, grower)))
        except (IllFormed, RuleError, KeyError, ValueError, AssertionError, TypeError, IndexError):
            continue  # a rule language that grows has kinds of variables that are not drawn here
        if found.shape is not None and any(p.match(found, Facts()) is not None for p in patterns_of(stated)):
            break
    return found


def _bindings(stated: Rule, dtype: DType, grower: Grower) -> dict[str, Any]:
    source = grower.source
    rank = source.randrange(4)
    bound: dict[str, Any] = {}
    classes = {
        name: source.choice(stated.dtype_classes.get(name, all_dtypes))
        for name, kind in stated.kinds.items()
        if kind.kind == "DTypeVar"
    }
    bound |= classes
    sizes = {name: source.choice((1, 2, 3, 0)) for name, kind in stated.kinds.items() if kind.kind == "Size"}
    bound |= {name: const(n, index) for name, n in sizes.items()}
    for name in stated.kinds:
        kind = stated.kinds[name]
        if name not in bound and name in variables_in(stated.left):
            bound[name] = _drawn(kind, _own_dtype(kind, dtype, classes), sizes, rank, grower)
            if kind.kind == "Interval":
                bound[f"{name}.lo"] = bound[f"{name}.hi"] = bound[name]
    return bound


def _own_dtype(kind: Variable, dtype: DType, classes: dict[str, DType]) -> DType:
    if kind.kind == "Bool":
        return bool_
    for inside in kind.inside:
        if isinstance(inside, DType):
            return inside
        if kind.kind != "Tensor" and inside in classes:
            return classes[str(inside)]
    return dtype


def _drawn(kind: Variable, dtype: DType, sizes: dict[str, int], rank: int, grower: Grower) -> Any:
    source = grower.source
    match kind.kind:
        case "Const":
            return const(random_element(source, dtype), dtype)
        case "Value" | "Bool":
            return grower.some(dtype) if source.random() < 0.7 else grower.parameter(dtype, grower.shapes[0])
        case "Interval":
            return grower.parameter(dtype, grower.shapes[0], bounded=True)
        case "Tensor":
            named = named_sizes(kind)
            shape = tuple(sizes.get(str(n), 2) if isinstance(n, str) else int(str(n)) for n in named)
            return grower.parameter(
                dtype, shape if named else tuple(source.choice((1, 2, 3)) for _ in range(rank))
            )
        case "Perm":
            return tuple(source.sample(range(rank), rank))
        case "Flags" | "Axes":
            return tuple(source.random() < 0.5 for _ in range(rank))
        case "Shape" | "Offset":
            return tuple(source.choice((0, 1, 2, 3)) for _ in range(rank))
        case "UnaryOp" | "BinaryOp":
            return source.choice(sorted(ops_for(kind.kind, dtype), key=lambda op: op.name))
        case "Monoid":
            return source.choice((Op.Add, Op.Max, Op.Mul))
    raise KeyError(kind.kind)


KINDS: dict[str, Callable[[Random], UOp]] = {
    "index": _index_arithmetic,
    "scalar": _scalars,
    "tensor": _tensors,
}


def random_graph(seed: int, number: int, rules: Sequence[Rule] = ()) -> RandomGraph:
    """The random graph of this number; `rules` are those whose left sides are drawn."""
    source = Random(f"soundline {seed} {number}")  # noqa: S311  # repeatable, and no secret
    kind = ("index", "scalar", "tensor", "pattern")[number % 4]
    root = _pattern(source, rules) if kind == "pattern" and rules else None
    if root is None:
        kind = kind if kind in KINDS else source.choice(list(KINDS))
        root = KINDS[kind](source)
    return RandomGraph(f"random {number} ({kind})", root)
