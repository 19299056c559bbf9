"""
The function decorator
======================

Graph capture by tracing: a decorated function of tensors runs once per call on placeholders, and the graph that it
returns becomes the body of one Function node, applied to the arguments. The body refers to its Params alone; a tensor
that the function takes from outside becomes one more argument (U-31).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from soundline.impl import storage
from soundline.impl.lower.views import shape_of
from soundline.impl.tensor import Tensor
from soundline.impl.tensors import history
from soundline.spec.closed import own_nodes
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp, param, reshape, substitute

P = ParamSpec("P")
R = TypeVar("R")


def function(fn: Callable[P, R]) -> Callable[P, R]:
    """Make every call of `fn` one Function node.

    Tensors are found in the arguments, in lists, tuples and dicts as well, and one that occurs twice is one argument.
    The result is a Tensor, or a tuple or list of them.

    >>> @function
    ... def double(x):
    ...     return x + x
    >>> double(Tensor([1, 2])).uop.src[0].op.name
    'Function'
    """

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        inputs = list({id(t): t for t in _tensors((args, kwargs))}.values())
        places = [storage.placeholder(t.dtype, t.shape) for t in inputs]
        stand_ins = {id(t): Tensor.of(value) for t, (_, value) in zip(inputs, places, strict=True)}
        traced_args, traced_kwargs = _replaced((args, kwargs), stand_ins)
        result: Any = fn(*traced_args, **traced_kwargs)
        several = isinstance(result, tuple | list)
        outputs = list(result) if several else [result]
        if not outputs or not all(isinstance(o, Tensor) for o in outputs):
            raise UsageError(f"a function must return Tensors, not {type(result).__name__}")
        node = _function([o.uop for o in outputs], places, [t.uop for t in inputs])
        found = [Tensor.of(Op.GetTuple(node, arg=k)) for k in range(len(outputs))]
        made: Any = type(result)(found) if several else found[0]
        return cast(R, made)

    return call


def _function(bodies: Sequence[UOp], places: Sequence[tuple[UOp, UOp]], arguments: Sequence[UOp]) -> UOp:
    """The Function of traced results: placeholders become Params, and so do the stored values from outside."""
    whole = Op.Tuple(*bodies)
    replacements: dict[UOp, UOp] = {}
    for k, (buffer, value) in enumerate(places):
        own = param(k, value.dtype, shape_of(value))
        replacements[Op.Load(buffer)] = reshape(own, shape_of(buffer))  # as a nested function captured it
        replacements[value] = own
    closed = substitute(whole, replacements)
    outside: list[UOp] = []
    for is_outside in (
        history.is_leaf,
        history.is_result,
        _is_stored,
    ):  # what a derivative passes comes first
        found = [n for n in own_nodes(closed) if is_outside(n)]
        lifted = {n: param(len(places) + len(outside) + k, n.dtype, shape_of(n)) for k, n in enumerate(found)}
        closed = substitute(closed, lifted)
        outside += found
    return Op.Function(closed, *arguments, *outside)


def _is_stored(node: UOp) -> bool:
    """Whether a value is read from storage."""
    return node.op is Op.Load and node.src[0].op is Op.Buffer


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for v in value:
            yield from _tensors(v)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _replaced(value: Any, stand_ins: dict[int, Tensor]) -> Any:
    if isinstance(value, Tensor):
        return stand_ins[id(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(v, stand_ins) for v in value))
    if isinstance(value, tuple | list):
        return type(value)(_replaced(v, stand_ins) for v in value)
    if isinstance(value, dict):
        return {k: _replaced(v, stand_ins) for k, v in value.items()}
    return value
