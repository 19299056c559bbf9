"""
Arguments with a structure
==========================

What a compiled function takes and gives besides single tensors: dicts, tuples, named tuples and lists of them, at any
depth, with None where there is none. A *tree* is such a structure without its leaves. Leaves have an order,
those of a dict in the order of its keys in the example; each has a path, by which errors name it.

A list or tuple of nothing but numbers is data, as everywhere: one leaf.

>>> leaves, tree = flattened({"w": [1.0, 2.0], "b": None})
>>> leaves, tree.paths()
([[1.0, 2.0]], ["['w']"])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from soundline.spec.errors import UsageError, WrongType


@dataclass(frozen=True, slots=True)
class Tree:
    """A structure without its leaves: the type of a container, the names of what it holds, and these."""

    kind: type | None = None
    """None of a leaf; of the structure None its type."""
    names: tuple[Any, ...] = ()
    parts: tuple[Tree, ...] = ()

    def paths(self, prefix: str = "") -> list[str]:
        """The path of every leaf, in order."""
        if self.kind is None:
            return [prefix]
        rows = zip(self.names, self.parts, strict=True)
        return [path for name, part in rows for path in part.paths(prefix + self.step(name))]

    def step(self, name: Any) -> str:
        """How a path goes on to a part."""
        return f".{name}" if isinstance(name, str) and self.kind not in (dict, list, tuple) else f"[{name!r}]"

    @property
    def is_single(self) -> bool:
        """Whether this is one leaf."""
        return self.kind is None

    @property
    def is_row(self) -> bool:
        """Whether this is a tuple or list of leaves: as a result, a tuple."""
        return self.kind in (tuple, list) and all(part.is_single for part in self.parts)


LEAF: Final = Tree()
NOTHING: Final = Tree(type(None))


def flattened(value: Any) -> tuple[list[Any], Tree]:
    """The leaves of a value, and its structure."""
    if value is None:
        return [], NOTHING
    names, held = _contents(value)
    if held is None:
        return [value], LEAF
    found = [flattened(v) for v in held]
    leaves = [leaf for own, _ in found for leaf in own]
    return leaves, Tree(type(value), names, tuple(tree for _, tree in found))


def _contents(value: Any) -> tuple[tuple[Any, ...], list[Any] | None]:
    """The names and values that a container holds; no values of a leaf."""
    if isinstance(value, dict):
        return tuple(value), list(value.values())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(value._fields), list(value)
    if isinstance(value, list | tuple) and not _is_data(value):
        return tuple(range(len(value))), list(value)
    return (), None


def _is_data(value: Sequence[Any]) -> bool:
    """Whether a list or tuple is numbers alone, at any depth."""
    return bool(value) and all(
        _is_data(v) if isinstance(v, list | tuple) else isinstance(v, bool | int | float | np.generic)
        for v in value
    )


def leaves_of(value: Any, tree: Tree, path: str) -> Iterator[Any]:
    """The leaves of a value that must have this structure; a list may stand for a tuple, and a tuple for a list."""
    if tree.kind is None:
        yield value
        return
    if tree.kind is type(None):
        if value is not None:
            raise WrongType(f"{path} is {_described(value)}; the program was compiled for None there")
        return
    held = _held(value, tree)
    if held is None:
        raise WrongType(f"{path} is {_described(value)}; the program was compiled for {_wanted(tree)}")
    for name, part, own in zip(tree.names, tree.parts, held, strict=True):
        yield from leaves_of(own, part, path + tree.step(name))


def _held(value: Any, tree: Tree) -> list[Any] | None:
    """What a container holds, in the order of the tree; None of one of another structure."""
    if tree.kind is dict or (tree.kind is not None and issubclass(tree.kind, dict)):
        same = isinstance(value, Mapping) and set(value) == set(tree.names)
        return [value[name] for name in tree.names] if same else None
    if isinstance(value, list | tuple) and len(value) == len(tree.names):
        return list(value)
    return None


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict of {', '.join(map(repr, value)) or 'nothing'}"
    return (
        f"a {type(value).__name__} of {len(value)}"
        if isinstance(value, list | tuple)
        else f"a {type(value).__name__}"
    )


def _wanted(tree: Tree) -> str:
    kind = tree.kind.__name__ if tree.kind else ""
    names = ", ".join(map(repr, tree.names)) or "nothing"
    return f"a {kind} of {names if tree.kind not in (list, tuple) else len(tree.names)}"


def rebuilt(tree: Tree, leaves: Iterator[Any]) -> Any:
    """The value of this structure with these leaves."""
    if tree.kind is None:
        return next(leaves)
    if tree.kind is type(None):
        return None
    parts = [rebuilt(part, leaves) for part in tree.parts]
    kind: Callable[..., Any] = tree.kind
    if issubclass(tree.kind, dict):
        return dict(zip(tree.names, parts, strict=True))
    return kind(*parts) if hasattr(tree.kind, "_fields") else kind(parts)


@dataclass(frozen=True, slots=True)
class Form:
    """How a program is called: the structure of each argument by place, and of each by name."""

    names: tuple[str, ...]
    """The names of the arguments by place, as far as they have one."""
    placed: tuple[Tree, ...]
    named: Mapping[str, Tree]

    @property
    def paths(self) -> list[str]:
        """The path of every leaf."""
        rows = [*((self.name(k), t) for k, t in enumerate(self.placed)), *self.named.items()]
        return [path for name, tree in rows for path in tree.paths(name)]

    @property
    def labels(self) -> list[str]:
        """What errors call each leaf."""
        if self.is_flat:
            return [f"argument {k}" for k in range(len(self.placed))]
        return [path if path.startswith("argument ") else f"argument {path}" for path in self.paths]

    def applied(self, fn: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """What a function returns for arguments of this form with these leaves."""
        rest = iter(leaves)
        placed = [rebuilt(tree, rest) for tree in self.placed]
        return fn(*placed, **{key: rebuilt(tree, rest) for key, tree in self.named.items()})

    def name(self, place: int) -> str:
        """What an argument by place is called in errors."""
        return self.names[place] if place < len(self.names) else f"argument {place}"

    @property
    def is_flat(self) -> bool:
        """Whether every argument is one leaf, and given by place."""
        return not self.named and all(t.is_single for t in self.placed)

    def leaves(self, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The leaves of the arguments of a call."""
        given = list(arguments)
        rest = dict(named)
        while len(given) < len(self.placed) and self.name(len(given)) in rest:
            given.append(rest.pop(self.name(len(given))))
        if len(given) != len(self.placed) or set(rest) != set(self.named):
            raise self.refuse(name, len(given), rest)
        rows = [(self.name(k), t, given[k]) for k, t in enumerate(self.placed)]
        rows += [(key, t, rest[key]) for key, t in self.named.items()]
        return [leaf for path, tree, value in rows for leaf in leaves_of(value, tree, path)]

    def refuse(self, name: str, given: int, rest: Mapping[str, Any]) -> UsageError:
        """The error of a call with other arguments."""
        also = f" and {', '.join(self.named)}" if self.named else ""
        by_name = f" and {', '.join(rest)}" if rest else ""
        return WrongType(f"{name} takes {len(self.placed)} arguments{also}, not {given}{by_name}")


def form_of(
    names: Sequence[str], examples: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Any], Form]:
    """The leaves of examples, and the form of a call like them."""
    by_place = [flattened(e) for e in examples]
    by_name = {key: flattened(e) for key, e in named.items()}
    leaves = [leaf for found, _ in (*by_place, *by_name.values()) for leaf in found]
    form = Form(tuple(names), tuple(t for _, t in by_place), {k: t for k, (_, t) in by_name.items()})
    return leaves, form


NO_ARGUMENTS: Final = Form((), (), {})


def several(count: int) -> Tree:
    """The structure of a tuple of leaves."""
    return Tree(tuple, tuple(range(count)), (LEAF,) * count)


def parameters_of(fn: Callable[..., Any]) -> list[str]:
    """The names of the parameters of a function that may be given by place."""
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # a function that does not tell
        return []
    return [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
