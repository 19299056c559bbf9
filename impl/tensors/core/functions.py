"""
The function decorator
======================

Graph capture by tracing. A call of a decorated function of tensors goes through five steps, which are the source's:

1. **Extract the inputs** (`extracted`): every Tensor in the arguments, in nested tuples, lists and dicts as well; one
   that occurs twice is one input.
2. **Run the function** (`traced`) on placeholders of the inputs' dtypes and shapes. Nothing is computed; the result is
   a graph.
3. **Parameterize** (`parameterized`): each placeholder becomes a Param, input k the Param k. A stored value that the
   function takes from outside becomes one more argument (U-31), so that the body refers to Params alone.
4. **Wrap** the body in a Tuple, also where it is one value, and apply it: ``Function(Tuple(body), inputs…)``.
5. **Return** GetTuple 0 of it, or one GetTuple for each element of the tuple or list that the function returned.

`Traced.steps` shows what each step made. When a program is compiled, a Function is either substituted or lowered into
a Call that all its sites share (`calls`); ``function(inline=…)`` decides it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from soundline.impl.arrays import operands, storage
from soundline.impl.arrays.sizes import capacity, is_size, is_variable
from soundline.impl.lower.graphs.calls import Choice
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.tensors.core import history
from soundline.impl.tensors.core.values import Values
from soundline.spec.errors import UsageError
from soundline.spec.ops.bodies import own_nodes
from soundline.spec.uop import Op, UOp, param, reshape, shrink, substitute

_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Steps:
    """What the five steps made of one call."""

    inputs: tuple[Values, ...]
    """Step 1: the Tensors among the arguments, each once."""
    placeholders: tuple[UOp, ...]
    """What stood for them while the function ran."""
    result: Any
    """Step 2: what the function returned, over the placeholders."""
    body: tuple[UOp, ...]
    """Step 3: the graphs of the results, over Params alone."""
    outside: tuple[UOp, ...]
    """The stored values that the function takes from outside, as further arguments."""
    node: UOp
    """Step 4: the Function of the Tuple of the body, applied to the inputs and what is outside."""
    returned: Any
    """Step 5: the Tensors that the caller gets, one GetTuple each, in the container that the function returned."""


class Traced(Generic[_P, _R]):
    """A function of Tensors of which every call is one Function node."""

    def __init__(self, fn: Callable[_P, _R], inline: bool | None = None) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.inline = inline

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """The result of the function, as elements of one Function node."""
        return cast(_R, self.steps(*args, **kwargs).returned)

    def steps(self, *args: _P.args, **kwargs: _P.kwargs) -> Steps:
        """A call, step by step.

        >>> from soundline import Tensor
        >>> @function
        ... def double(x):
        ...     return x + x
        >>> shown = double.steps(Tensor([1, 2]))
        >>> [len(shown.inputs), shown.body[0].op.name, shown.node.op.name, shown.returned.uop.op.name]
        [1, 'Add', 'Function', 'GetTuple']
        """
        inputs = extracted((args, kwargs))
        places = [_placeholder(t) for t in inputs]
        result = traced(self.fn, args, kwargs, inputs, [value for _, value in places])
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        body, outside = parameterized([o.uop for o in outputs], places)
        node = wrapped(body, [*(t.uop for t in inputs), *outside], self.inline)
        found = tuple(value for _, value in places)
        return Steps(tuple(inputs), found, result, body, outside, node, returned(node, result))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A method, where the function is defined in a class."""
        return self if instance is None else functools.partial(cast(Any, self), instance)


@overload
def function(fn: Callable[_P, _R], /) -> Traced[_P, _R]: ...
@overload
def function(*, inline: bool | None = None) -> Callable[[Callable[_P, _R]], Traced[_P, _R]]: ...
def function(fn: Callable[..., Any] | None = None, /, *, inline: bool | None = None) -> Any:
    """Turn every call of `fn` into one Function node.

    The arguments may contain Tensors in lists, tuples and dicts; a Tensor that occurs twice is one argument. The result
    is a Tensor, or a tuple or list of Tensors.

    With ``inline=False`` a program compiles the function once and runs it at every call site. With ``inline=True`` the
    function is compiled together with the code around each call site. By default its size and the number of call sites
    decide.

    >>> from soundline import Tensor
    >>> @function
    ... def double(x):
    ...     return x + x
    >>> double(Tensor([1, 2])).uop.src[0].op.name
    'Function'
    """
    if fn is None:
        return lambda found: Traced(found, inline)
    return Traced(fn, inline)


# The five steps ---------------------------------------------------------------------------------------------------


def extracted(arguments: Any) -> list[Values]:
    """Step 1: every Tensor in nested tuples, lists and dicts, each once."""
    return list({id(t): t for t in _tensors(arguments)}.values())


def traced(
    fn: Callable[..., Any], args: Any, kwargs: Any, inputs: Sequence[Values], values: Sequence[UOp]
) -> Any:
    """Step 2: what the function returns for other values of its inputs; nothing is computed."""
    stand_ins = {id(t): t.of(value) for t, value in zip(inputs, values, strict=True)}
    own_args, own_kwargs = _replaced((args, kwargs), stand_ins)
    result = fn(*own_args, **own_kwargs)
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    if not outputs or not all(isinstance(o, Values) for o in outputs):
        raise UsageError(f"a function must return Tensors, not {type(result).__name__}")
    return result


def parameterized(
    bodies: Sequence[UOp], places: Sequence[tuple[UOp, UOp]]
) -> tuple[tuple[UOp, ...], tuple[UOp, ...]]:
    """Step 3: graphs over Params in the place of placeholders, each a Buffer and its value; and, in the order of their
    Params after those, the stored values from outside.
    """
    replacements: dict[UOp, UOp] = {}
    for k, (buffer, value) in enumerate(places):
        own = _binder(k, value)
        replacements[value] = own
        if not isinstance(buffer.device, tuple) and not any(map(is_size, operands.shape_of(value))):
            replacements[Op.Load(buffer)] = reshape(own, shape_of(buffer))  # as a nested function captured it
    closed = substitute(Op.Tuple(*bodies), replacements)
    outside: list[UOp] = []
    # what a derivative passes comes first
    for is_outside in (history.is_leaf, history.is_result, _is_stored, is_variable):
        found = [n for n in own_nodes(closed) if is_outside(n)]
        first = len(places) + len(outside)
        closed = substitute(closed, {n: _binder(first + k, n) for k, n in enumerate(found)})
        outside += found
    return closed.src, tuple(outside)


def wrapped(body: Sequence[UOp], arguments: Sequence[UOp], inline: bool | None = None) -> UOp:
    """Step 4: the Function of a body, applied; its tag holds the choice of who made it."""
    return Op.Function(Op.Tuple(*body), *arguments, tag=None if inline is None else Choice(inline))


def returned(node: UOp, result: Any) -> Any:
    """Step 5: the elements of a Function as Tensors, in a container like that of the function's result."""
    like = result[0] if isinstance(result, tuple | list) else result
    found = [like.of(Op.GetTuple(node, arg=k)) for k in range(len(node.src[0].src))]
    if not isinstance(result, tuple | list):
        return found[0]
    container: Any = type(result)
    return container(*found) if hasattr(result, "_fields") else container(found)


# Inside -----------------------------------------------------------------------------------------------------------


def _placeholder(tensor: Values) -> tuple[UOp, UOp]:
    """Fresh storage, and the value that stands for a tensor while a function is traced."""
    if not any(map(is_size, tensor.shape)):
        graph = tensor.uop
        return storage.placeholder_on(graph.device or "CPU", graph.axis, tensor.dtype, tensor.shape)
    buffer, value = storage.placeholder(tensor.dtype, (capacity(tensor.shape),))
    return buffer, reshape(shrink(value, (0,), (tensor.size,)), tensor.shape)


def _binder(slot: int, value: UOp) -> UOp:
    """The Param that stands for a value: on its devices, where they have names."""
    device = None if value.device == "CPU" else value.device
    return param(slot, value.dtype, value.shape or (), device=device, axis=value.axis)


def _is_stored(node: UOp) -> bool:
    """Whether a value is read from storage."""
    return node.op is Op.Load and node.src[0].op is Op.Buffer


def _tensors(value: Any) -> Iterator[Values]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, Values):
        yield value
    elif isinstance(value, tuple | list):
        for v in value:
            yield from _tensors(v)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _replaced(value: Any, stand_ins: dict[int, Values]) -> Any:
    if isinstance(value, Values):
        return stand_ins[id(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(v, stand_ins) for v in value))
    if isinstance(value, tuple | list):
        return type(value)(_replaced(v, stand_ins) for v in value)
    if isinstance(value, dict):
        return {k: _replaced(v, stand_ins) for k, v in value.items()}
    return value
