"""
Static conditions
=================

`decide` decides the conditions of a rule that need no values: what they ask of permutations, flags, sets of axes,
dtypes and ops is known when the rule meets a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import DType, lossless, same_value, zero_of
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.building import Env, build_dtype, build_flags, build_perm, rank_of
from soundline.spec.rules.terms import DTypeTerm, Flags, Perm, Term, UnaryOp, show
from soundline.spec.values.elementwise import scalar


def decide(condition: Term, env: Env) -> bool:
    """A static condition, decided."""
    head, args = condition.head, condition.args
    match head:
        case "and":
            return all(decide(a, env) for a in args)
        case "or":
            return any(decide(a, env) for a in args)
        case "not":
            return not decide(args[0], env)
        case "same":
            return _same(args[0], args[1], env)
        case "is_identity":
            p = build_perm(args[0], env)
            return p == tuple(range(len(p)))
        case "no_flags":
            return not any(build_flags(args[0], env))
        case "one_axis":
            return sum(build_flags(args[0], env)) == 1
        case "lossless":
            return lossless(build_dtype(args[0], env), build_dtype(args[1], env))
        case "bits_at_most":
            return build_dtype(args[0], env).bits <= build_dtype(args[1], env).bits
        case "is_float":
            return build_dtype(args[0], env).is_float
        case "is_signed":
            return build_dtype(args[0], env).signed
        case "preserves_zero":
            return _preserves_zero(env.bound[args[0].args[0]], env.dtype, args[0])
    raise RuleError(f"{show(condition)} is not a condition")


def _same(a: Any, b: Any, env: Env) -> bool:
    """Whether two permutations, flags, sets of axes or dtypes are the same."""
    reader = next(r for sort, r in _READERS.items() if isinstance(a, sort))
    if reader is not build_flags:
        return bool(reader(a, env) == reader(b, env))
    rank = next((r for t in (a, b) if (r := rank_of(t, env)) is not None), None)
    return build_flags(a, env, rank) == build_flags(b, env, rank)


_READERS: dict[type, Callable[[Any, Env], object]] = {
    Perm: build_perm,
    Flags: build_flags,
    DTypeTerm: build_dtype,
}


def _preserves_zero(op: Op, dtype: DType, term: Term) -> bool:
    zero = zero_of(dtype)
    operands = (zero,) * (1 if isinstance(term, UnaryOp) else 2)
    return same_value(dtype, scalar(op, dtype, *operands), zero)
