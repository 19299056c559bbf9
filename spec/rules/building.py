"""
From terms to UOps
==================

`build` turns a term into the UOp it stands for, given what each variable is bound to. There is one `build`: the prover
calls it with Params for variables, a replay with numbers, and the engine with the nodes it matched, so that all three
read a rule the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import DType, bool_, index, zero_of
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.evaluation.strides import of_sizes, strided_steps
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.bodies import bind
from soundline.spec.ops.node import AxisType, Op, ReduceArg, Shape, Size, UOp
from soundline.spec.ops.sizes import add, as_condition_node, as_node, as_size, every, multiply, product
from soundline.spec.ops.table.entries import group_of
from soundline.spec.rules.spellings import CAST_TO, SPELLED, sort_of, times_of
from soundline.spec.rules.terms import Tensor, Term, Value, show
from soundline.spec.uop import broadcast_to, const, element_of, loop, reshape, shape_source
from soundline.spec.values.elementwise import ELEMENTWISE, EQUALITY, ORDER, scalar


@dataclass(frozen=True)
class Abstraction:
    """What a Body is bound to: an expression, and the ranges in it for which other indices can stand."""

    expression: UOp
    ranges: tuple[UOp, ...]

    def at(self, indices: tuple[UOp, ...]) -> UOp:
        """The expression with these indices for its ranges; no range of an index is captured by a reduction inside."""
        return bind(self.expression, dict(zip(self.ranges, indices, strict=True)))


@dataclass(frozen=True)
class Env:
    """What the variables of a rule are bound to: UOps, shapes, permutations, flags, axes, ops, dtypes, abstractions."""

    dtype: DType
    bound: dict[str, Any] = field(default_factory=dict)
    loops: int = 0
    """No Range around has an id above this one, so that a fresh one can."""


def build(term: Term, env: Env, like: UOp | None = None) -> UOp:
    """The UOp that a value term stands for. `like` gives a bare number its dtype, and a scalar its shape.

    A scalar beside a tensor is repeated to its shape: whatever is built without a Tensor. Raises ``IllFormed``.
    """
    return _repeated(_built(term, env, like), term, like)


def _built(term: Term, env: Env, like: UOp | None) -> UOp:
    head, args = term.head, term.args
    if head == "var":
        return _bound_node(env, args[0])
    if head in WITHOUT_DTYPE:
        return _of_dtype(term, env, like.dtype if like is not None else env.dtype)
    if head in SPELLED:
        return _spelled(term, env, like)
    if head == "fill":
        return _filled(args, env, like)
    if head in ("lo", "hi"):
        return _bound_node(env, f"{args[0].args[0]}.{head}")
    if head == "over":
        return _reduction(args, env, like)
    if head == "body":
        return _abstraction(env, args[0]).at(tuple(build(a, env, const(0, index)) for a in args[1:]))
    if head == "fresh":
        return loop(_size(args[0], env), env.loops + args[1], AxisType.REDUCE)
    if head == "op":
        return UOp(env.bound[args[0].args[0]], _operands(args[1:], env, None))
    if head == "every axis":
        return _every_axis(args[0], args[1], args[2], env)
    if head == "entry":
        return as_node(_entry(build_vector(args[0], env, None), args[1]))
    if head == "product":
        return as_node(product(build_vector(args[0], env, None)))
    if isinstance(head, Op):
        return _node(head, args, env, like)
    raise RuleError(f"{show(term)} is not a value")


class NoInstance(IllFormed):
    """A choice of ranks, ops and dtypes for which a rule says nothing: it is no instance, and no mistake either."""


class NoSuchAxis(NoInstance):
    """A rule names an axis that tensors of this rank do not have, so that it has no instance here."""

    def __init__(self, axis: int, rank: int) -> None:
        super().__init__("Stack", "uop-stack-shape", given=f"rank {rank}", wants=f"an axis {axis}")


WITHOUT_DTYPE = ("literal", "identity", "invalid")
"""What takes its dtype from the operand beside it."""


def _of_dtype(term: Term, env: Env, dtype: DType) -> UOp:
    """A constant at a dtype."""
    if term.head == "literal":
        return _literal(term.args[0], dtype)
    if term.head == "identity":
        return _identity(build_op(term.args[0], env), dtype)
    return _invalid(dtype)


def _invalid(dtype: DType) -> UOp:
    """The element behind the last one."""
    one = reshape(const(zero_of(dtype), dtype), (1,))
    return UOp(Op.Index, (one, const(1, index)))


def _spelled(term: Term, env: Env, like: UOp | None) -> UOp:
    """What a word stands for at the dtype of its operands."""

    def number(n: int, beside: UOp) -> UOp:
        return broadcast_to(const(element_of(n, beside.dtype), beside.dtype), beside.shape or ())

    def make(op: Op, *operands: UOp) -> UOp:
        return UOp(op, operands, CAST_TO if op is Op.Cast else None)

    operands = _operands(term.args, env, like if term.head != "is_power_of_two" else None)
    more = times_of(term.head, term.args)
    made = SPELLED[term.head](sort_of(operands[0].dtype), make, number, *operands, *more)
    assert isinstance(made, UOp)
    return made


def _filled(args: tuple[Any, ...], env: Env, like: UOp | None) -> UOp:
    x = build(args[0], env, None if like is None else const(zero_of(like.dtype), like.dtype))
    shape = build_vector(args[1], env, None)
    if x.shape != ():
        raise IllFormed(
            "Expand", "uop-expand-c1", given=f"a value of shape {x.shape}", wants="a scalar to fill with"
        )
    return broadcast_to(x, shape)


def _entry(sizes: Shape, axis: int) -> Size:
    if not -len(sizes) <= axis < len(sizes):
        raise NoSuchAxis(axis, len(sizes))
    return sizes[axis]


def _bound_node(env: Env, name: str) -> UOp:
    node = env.bound[name]
    assert isinstance(node, UOp)
    return node


def _node(op: Op, args: tuple[Any, ...], env: Env, like: UOp | None) -> UOp:
    match op:
        case Op.Cast | Op.Bitcast:
            return UOp(op, (build(args[0], env),), build_dtype(args[1], env))
        case Op.Index:
            return UOp(op, (build(args[0], env), *(build(i, env, const(0, index)) for i in args[1:])))
        case Op.Permute:
            return UOp(op, (build(args[0], env),), build_perm(args[1], env))
        case Op.Flip:
            x = build(args[0], env)
            return UOp(op, (x,), build_flags(args[1], env, len(x.shape or ())))
        case Op.Reduce:
            x = build(args[0], env)
            flags = build_flags(args[2], env, len(x.shape or ()))
            over = tuple(k for k, reduced in enumerate(flags) if reduced)
            return UOp(op, (x,), ReduceArg(build_op(args[1], env), over))
        case Op.Reshape | Op.Expand | Op.Pad | Op.Shrink:
            x = build(args[0], env)
            assert x.shape is not None
            rank = None if op is Op.Reshape else len(x.shape)
            if len(args) == 4:
                return strided(op, x, *(build_vector(v, env, rank) for v in args[1:]))
            return UOp(op, (x, *(shape_source(build_vector(v, env, rank)) for v in args[1:])))
        case Op.Shl | Op.Shr:
            x, count = _operands(args, env, like, op)
            number = _number(count)
            return UOp(op, (x, count if number is None else const(number, index)))
        case _:
            return UOp(op, _operands(args, env, like if op in _ELEMENTWISE else None, op))


def _operands(args: tuple[Term, ...], env: Env, like: UOp | None, op: Op | None = None) -> tuple[UOp, ...]:
    """The operands of an elementwise op; numbers take dtype and shape from the operand beside them."""
    first = 1 if op is Op.Where else 0
    own = {k: build(a, env) for k, a in enumerate(args) if has_dtype(a)}
    peer = _widest([node for k, node in own.items() if k >= first], like)
    shaped = _widest(list(own.values()), like)
    built = [
        own[k] if k in own else build(a, env, peer if k >= first else const(False, bool_))
        for k, a in enumerate(args)
    ]
    return tuple(_repeated(b, a, shaped) for a, b in zip(args, built, strict=True))


@lru_cache(maxsize=4096)
def has_dtype(term: Term) -> bool:
    """Whether a term has a dtype of its own; a bare number has none."""
    if term.head in WITHOUT_DTYPE:
        return False
    if term.head in SPELLED and term.head != "is_power_of_two":
        return any(has_dtype(a) for a in term.args)
    if term.head == "fill":
        return has_dtype(term.args[0])
    if term.head == "over":
        return has_dtype(term.args[1])
    if term.head not in _ELEMENTWISE or term.head in (Op.Cast, *ORDER, *EQUALITY):
        return True
    return any(has_dtype(a) for a in (term.args[1:] if term.head is Op.Where else term.args))


@lru_cache(maxsize=4096)
def _has_tensor(term: Term) -> bool:
    """Whether the elements of a term are made of those of tensors; sizes and dtypes of tensors are no elements."""
    if isinstance(term, Tensor) or term.head in _OF_VECTORS:
        return isinstance(term, Tensor)
    if term.head == "fill":
        return True
    return any(_has_tensor(a) for a in term.args if isinstance(a, Value))


_OF_VECTORS = ("entry", "product", "every axis")
"""The scalars that are made of shapes and offsets."""

_ELEMENTWISE = frozenset(group_of("elementwise", "decomposed"))


def _widest(nodes: list[UOp], default: UOp | None) -> UOp | None:
    return max(nodes, key=lambda u: len(u.shape or ()), default=default)


def _repeated(node: UOp, term: Term, like: UOp | None) -> UOp:
    """A scalar repeated to the shape of its peer; anything else as it is."""
    if like is None or not like.shape or node.shape != () or _has_tensor(term):
        return node
    return broadcast_to(node, like.shape)


def _reduction(args: tuple[Any, ...], env: Env, like: UOp | None) -> UOp:
    op, expression, *ranges = args
    source = build(expression, env, like)
    return UOp(Op.Reduce, (source, *(build(r, env) for r in ranges)), ReduceArg(build_op(op, env)))


def _abstraction(env: Env, body: Term) -> Abstraction:
    bound = env.bound[body.args[0]]
    assert isinstance(bound, Abstraction)
    return bound


def _literal(number: Any, dtype: DType) -> UOp:
    if dtype is bool_ and number not in (0, 1):
        raise RuleError(
            f"the number {number} is not a bool",
            hint="restrict the dtypes of the rule:  @rule(dtypes=[index, *ints])",
        )
    if not dtype.is_float and isinstance(number, float) and not number.is_integer():
        raise RuleError(
            f"the number {number} is not a value of {dtype}",
            hint="restrict the dtypes of the rule:  @rule(dtypes=floats)",
        )
    return const(element_of(number, dtype), dtype)


def _identity(op: Op, dtype: DType) -> UOp:
    value = identity(op, dtype)
    if isinstance(value, Invalid):
        raise NoInstance("Reduce", "U-10", given=f"{op.name} of nothing", wants=f"a dtype other than {dtype}")
    return const(value, dtype)


def build_op(term: Any, env: Env) -> Op:
    """The op that a reduction names: one of three, or what its Monoid stands for."""
    op = env.bound[term.args[0]] if isinstance(term, Term) else term
    assert isinstance(op, Op)
    return op


def _every_axis(op: Op, a: Term, b: Term, env: Env) -> UOp:
    rank = rank_of(a, env) if rank_of(a, env) is not None else rank_of(b, env)
    left, right = (build_vector(v, env, rank) for v in (a, b))
    if len(left) != len(right):
        raise RuleError(f"{show(a)} and {show(b)} have different ranks ({len(left)} and {len(right)})")
    return as_condition_node(
        every(UOp(op, (as_node(x), as_node(y))) for x, y in zip(left, right, strict=True))
    )


def rank_of(term: Any, env: Env) -> int | None:
    """The number of entries of a vector, and of the flags or the permutation in it; None for one for every axis."""
    if not isinstance(term, Term):
        return len(term)
    match term.head:
        case "everywhere":
            return None
        case "entries":
            return len(term.args)
        case "axes":
            return None
        case "var":
            return len(env.bound[term.args[0]])
        case "shape of":
            return len(build(term.args[0], env).shape or ())
    return next((r for p in term.args if (r := rank_of(p, env)) is not None), None)


def build_vector(term: Term, env: Env, rank: int | None) -> Shape:
    """The sizes that a vector term stands for; `rank` is needed where one number stands for every axis."""
    head, args = term.head, term.args
    if head == "everywhere":
        if rank is None:
            raise RuleError(f"{show(term)} needs a rank from the terms beside it")
        return (_size(args[0], env),) * rank
    if head == "entries":
        return tuple(_size(a, env) for a in args)
    if head == "var":
        return tuple(env.bound[args[0]])
    if head == "shape of":
        return build(args[0], env).shape or ()
    rank = rank if rank is not None else rank_of(term, env)
    if head == "permuted":
        sizes = build_vector(args[0], env, rank)
        return tuple(sizes[k] for k in build_perm(args[1], env))
    if head == "where":
        flags = build_flags(args[0], env, rank)
        a, b = (build_vector(v, env, len(flags)) for v in args[1:])
        if not len(a) == len(b) == len(flags):
            raise RuleError(f"{show(term)} chooses on {len(flags)} axes between ranks {len(a)} and {len(b)}")
        return tuple(x if f else y for f, x, y in zip(flags, a, b, strict=True))
    a, b = (build_vector(v, env, rank) for v in args)
    if len(a) != len(b):
        raise RuleError(f"{show(term)} joins vectors of ranks {len(a)} and {len(b)}")
    return tuple(_VECTOR_OPS[head](x, y) for x, y in zip(a, b, strict=True))


def _size(term: Term, env: Env) -> Size:
    """The size that a term stands for: a number, if all that is in it are numbers."""
    node = build(term, env, const(0, index))
    number = _number(node)
    return as_size(node) if number is None else number


def _number(node: UOp) -> int | None:
    if node.dtype is not index:
        return None
    if node.op is Op.Const:
        return int(node.arg.value)
    if node.op not in ELEMENTWISE or node.op is Op.Cast:
        return None
    operands = [_number(s) for s in node.src]
    known = [n for n in operands if n is not None]
    return int(scalar(node.op, index, *known)) if len(known) == len(operands) else None


_VECTOR_OPS: dict[Any, Callable[[Size, Size], Size]] = {
    Op.Add: add,
    Op.Sub: lambda x, y: add(x, multiply(y, -1)),
    Op.Mul: multiply,
    Op.Idiv: lambda x, y: of_sizes(Op.Idiv, x, y),
    Op.Mod: lambda x, y: of_sizes(Op.Mod, x, y),
    Op.Max: lambda x, y: of_sizes(Op.Max, x, y),
}


def strided(op: Op, x: UOp, *vectors: Shape) -> UOp:
    """A Pad or a Shrink with an offset, a shape and a stride, as the movement ops that it is."""
    for step, *parts in strided_steps(op, x.shape or (), *vectors):
        x = UOp(step, (x, *map(shape_source, parts)))
    return x


def build_perm(term: Any, env: Env) -> tuple[int, ...]:
    """The permutation that a term stands for."""
    if not isinstance(term, Term):
        return tuple(term)
    match term.head:
        case "var":
            return tuple(env.bound[term.args[0]])
        case "compose":
            p, q = (build_perm(a, env) for a in term.args)
            if len(p) != len(q):
                raise RuleError(f"{show(term)} composes permutations of {len(p)} and {len(q)} axes")
            return tuple(p[k] for k in q)
        case "inverse":
            p = build_perm(term.args[0], env)
            return tuple(p.index(k) for k in range(len(p)))
    raise RuleError(f"{show(term)} is not a permutation")


def build_flags(term: Any, env: Env, rank: int | None = None) -> tuple[bool, ...]:
    """The flags, or the set of axes, that a term stands for; `rank` is needed where axes are numbered."""
    if not isinstance(term, Term):
        return tuple(term)
    head, args = term.head, term.args
    if head == "var":
        return tuple(env.bound[args[0]])
    if head == "axes":
        return _numbered(args, rank)
    rank = rank if rank is not None else rank_of(term, env)
    if head == "not":
        return tuple(not x for x in build_flags(args[0], env, rank))
    if head == "permuted":
        flags = build_flags(args[0], env, rank)
        return tuple(flags[k] for k in build_perm(args[1], env))
    if head not in _FLAG_OPS:
        raise RuleError(f"{show(term)} is not a vector of flags")
    f, g = (build_flags(a, env, rank) for a in args)
    if len(f) != len(g):
        raise RuleError(f"{show(term)} joins flags of ranks {len(f)} and {len(g)}")
    return tuple(_FLAG_OPS[head](x, y) for x, y in zip(f, g, strict=True))


_FLAG_OPS: dict[Any, Callable[[bool, bool], bool]] = {
    "xor": lambda x, y: x != y,
    "or": lambda x, y: x or y,
    "and": lambda x, y: x and y,
    "without": lambda x, y: x and not y,
}


def _numbered(numbers: tuple[int, ...], rank: int | None) -> tuple[bool, ...]:
    """The set of these axes, of which a negative one counts from the right."""
    if rank is None:
        raise RuleError(f"the axes {show(numbers)} need a rank from the terms beside them")
    for axis in numbers:
        if not -rank <= axis < rank:
            raise NoSuchAxis(axis, rank)
    found = {axis % rank for axis in numbers}
    if len(found) < len(numbers):
        raise NoInstance(
            "Reduce", "uop-reduce-c2", given=f"{show(numbers)} at rank {rank}", wants="distinct axes"
        )
    return tuple(k in found for k in range(rank))


def build_dtype(term: Any, env: Env) -> DType:
    """The dtype that a term stands for."""
    if isinstance(term, DType):
        return term
    if isinstance(term, Term) and term.head == "var":
        bound = env.bound[term.args[0]]
        assert isinstance(bound, DType)
        return bound
    if isinstance(term, Term) and term.head == "dtype of":
        return build(term.args[0], env).dtype
    raise RuleError(f"{show(term)} is not a dtype")
