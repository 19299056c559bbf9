"""
Arguments as users write them
=============================

How the methods of `Tensor` treat their arguments. Integers and floats of numpy are accepted as integers and floats, and
so is any object that Python accepts as an index. Arguments can also have the names of torch and numpy (``dim``,
``keepdims``, ``kernel_size``). An argument of the wrong type raises a `WrongType` error that names the method and the
argument.

>>> import numpy as np
>>> from soundline.impl.tensors.tensor import Tensor
>>> Tensor.ones(np.int64(2), 3).sum(dim=np.int8(1), keepdims=True).tolist()
[[3.0], [3.0]]
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from soundline.impl.arrays.sizes import is_size
from soundline.impl.tensors.core.values import Values
from soundline.spec.errors import SoundlineError, WrongType

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "axis": ("dim", "dims"),
    "keepdim": ("keepdims",),
    "correction": ("ddof",),
    "kernel": ("kernel_size",),
    "indices": ("index",),
    "source": ("src",),
    "slope": ("negative_slope",),
    "probability": ("p",),
    "mask": ("attn_mask",),
    "order": ("dims", "axes"),
    "shape": ("size",),
    "shift": ("shifts",),
    "formula": ("equation", "subscripts"),
}
"""Other names of an argument, in every method that has one of this name."""

_OWN_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "adaptive_avg_pool2d": {"output_size": "size"},
    "adaptive_max_pool2d": {"output_size": "size"},
    "bincount": {"minlength": "size"},
    "chunk": {"chunks": "count"},
    "diff": {"n": "count"},
    "flatten": {"start_dim": "start", "end_dim": "end"},
    "full": {"fill_value": "value"},
    "full_like": {"fill_value": "value"},
    "group_norm": {"num_groups": "groups"},
    "linspace": {"num": "count", "steps": "count"},
    "matrix_power": {"n": "exponent"},
    "norm": {"p": "ord"},
    "one_hot": {"num_classes": "count"},
    "pixel_shuffle": {"upscale_factor": "factor"},
    "repeat_interleave": {"repeats": "count"},
    "split": {"split_size": "sizes", "split_size_or_sections": "sizes", "indices_or_sections": "sizes"},
    "swapaxes": {"axis1": "a", "axis2": "b"},
    "topk": {"k": "count"},
    "transpose": {"dim0": "a", "dim1": "b", "axis1": "a", "axis2": "b"},
}
"""Other names of an argument in one method."""

_WHOLE: Final = frozenset(
    ("int", "Sequence[int]", "Sequence[tuple[int,int]]", "tuple[int,int]", "Axes", "Sizes")
)
_ONE: Final = frozenset(("int", "Axes", "Sizes"))
"""Those that one integer may be."""
_NUMBER: Final = frozenset(("float", *_WHOLE))
_UNUSED: Final = ("out", "dtype")
"""What numpy's own functions hand on as None to a method of this name."""

Check = Callable[[str, str, Any], Any]


def _whole(where: str, name: str, value: Any) -> Any:
    """An integer, or integers in tuples and lists, as Python's."""
    if type(value) is int or is_size(value):
        return value
    if isinstance(value, tuple | list):
        return tuple(_whole(where, name, v) for v in value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return tuple(value.tolist())
    try:
        return operator.index(value)
    except SoundlineError:
        raise
    except TypeError:
        raise WrongType(f"expected integers for {name}; got {_shown(value)}", where=where) from None


def _number(where: str, name: str, value: Any) -> Any:
    """A number of Python, or several."""
    if type(value) in (float, int, bool) or is_size(value):
        return value
    if isinstance(value, tuple | list):
        return tuple(_number(where, name, v) for v in value)
    if isinstance(value, np.generic) and value.dtype.kind in "iufb":
        return value.item()
    if isinstance(value, int | float):
        return float(value) if isinstance(value, float) else int(value)
    if hasattr(value, "__float__") and hasattr(value, "shape") and value.shape == ():
        return float(value)
    raise WrongType(f"expected a number for {name}; got {_shown(value)}", where=where)


def _several(where: str, name: str, value: Any) -> Any:
    """Integers, or pairs of them, in a tuple or list."""
    found = _whole(where, name, value)
    if isinstance(found, tuple):
        return found
    raise WrongType(f"expected several integers for {name}; got {_shown(value)}", where=where)


def _truth(where: str, name: str, value: Any) -> Any:
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return bool(value)
    raise WrongType(f"expected True or False for {name}; got {_shown(value)}", where=where)


def _text(where: str, name: str, value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise WrongType(f"expected a string for {name}; got {_shown(value)}", where=where)


def _texts(where: str, name: str, value: Any) -> Any:
    if isinstance(value, str) or (isinstance(value, Sequence) and all(isinstance(v, str) for v in value)):
        return value
    raise WrongType(f"expected a string, or several, for {name}; got {_shown(value)}", where=where)


def _tensor(where: str, name: str, value: Any) -> Any:
    if isinstance(value, Values):
        return value
    raise WrongType(f"expected Tensors for {name}; got {_shown(value)}", where=where)


def _shown(value: Any) -> str:
    """A value that is refused, and short."""
    text = "None" if value is None else f"{type(value).__name__} {value!r}"
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


def _check_of(annotation: str) -> Check | None:
    """What an argument of this annotation is held to; None where the method itself sees to it."""
    kinds = frozenset(annotation.replace(" ", "").split("|"))
    optional = "None" in kinds or "Axes" in kinds
    kinds -= {"None"}
    if kinds <= _WHOLE:
        check: Check = _whole if kinds & _ONE else _several
    elif kinds <= _NUMBER:
        check = _number
    elif kinds == {"bool"}:
        check = _truth
    elif kinds == {"str"}:
        check = _text
    elif kinds <= {"str", "Sequence[str]"}:
        check = _texts
    elif kinds <= {"Self", "Values"}:
        check = _tensor
    else:
        return None
    return _optional(check) if optional else check


def _optional(check: Check) -> Check:
    return lambda where, name, value: None if value is None else check(where, name, value)


class _Arguments:
    """The arguments of one method: their names, and what each is held to."""

    def __init__(self, where: str, function: Callable[..., Any]) -> None:
        self.where = where
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        self.names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.checks = {p.name: _check_of(str(p.annotation)) for p in parameters}
        self.wanted = [
            p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        self.open = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.spellings = {other: p.name for p in parameters for other in _NAMES.get(p.name, ())}
        self.spellings |= _OWN_NAMES.get(where, {})
        self.spellings = {k: v for k, v in self.spellings.items() if k not in self.checks}

    def positional(self, given: tuple[Any, ...]) -> list[Any]:
        """The positional arguments."""
        if self.rest is None and len(given) > len(self.names):
            raise self.refuse(f"at most {len(self.names)} arguments", f"{len(given)}")
        found = list(given)
        for k, value in enumerate(given):
            name = self.names[k] if k < len(self.names) else self.rest
            check = self.checks[name] if name is not None else None
            if check is not None and name is not None:
                found[k] = check(self.where, name, value)
        return found

    def named(self, found: list[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The named arguments; those of a variadic parameter are appended to `found`."""
        result: dict[str, Any] = {}
        for spelled, value in named.items():
            name = self.spellings.get(spelled, spelled)
            if name in result or name in self.names[: len(found)]:
                raise self.refuse(f"{name} once", "it twice" if spelled == name else f"{spelled} as well")
            if name not in self.checks:
                if value is None and name in _UNUSED:
                    continue
                if self.open:
                    result[name] = value
                    continue
                raise self.refuse(f"arguments named {', '.join(self.checks) or '(none)'}", spelled)
            check = self.checks[name]
            fit = value if check is None else check(self.where, name, value)
            if name == self.rest:
                found.append(fit)
            else:
                result[name] = fit
        return result

    def check_wanted(self, count: int, named: Mapping[str, Any]) -> None:
        """Refuse a call without an argument that has no default."""
        missing = [n for n in self.wanted if n not in self.names[:count] and n not in named]
        if missing:
            raise self.refuse(", ".join(missing), "too few arguments")

    def refuse(self, wants: str, given: str) -> WrongType:
        """The error of a call with the wrong arguments."""
        return WrongType(f"expected {wants}; got {given}", where=self.where)


def accepting(where: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method accept its arguments as users write them."""
    arguments = _Arguments(where, function)

    @functools.wraps(function)
    def method(self: Any, *given: Any, **named: Any) -> Any:
        found = arguments.positional(given) if given else []
        by_name = arguments.named(found, named) if named else named
        if len(found) < len(arguments.wanted):
            arguments.check_wanted(len(found), by_name)
        return function(self, *found, **by_name)

    return method


def accept(cls: type) -> None:
    """Make the public methods of a class accept their arguments as users write them."""
    for name, member in list(vars(cls).items()):
        function = member.__func__ if isinstance(member, classmethod) else member
        if name.startswith("_") or not inspect.isfunction(function) or hasattr(function, "__wrapped__"):
            continue
        method = accepting(name, function)
        setattr(cls, name, classmethod(method) if isinstance(member, classmethod) else method)
