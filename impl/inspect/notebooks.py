"""
Notebooks
=========

How a node of a program shows itself in a notebook, and to rich. The specification contains no drawing code, so this
module adds it to the nodes. Importing Tensors or the compiler imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from soundline.spec.uop import UOp, toposort


def html_of(node: UOp) -> str:
    """The graph below a node, drawn; of a list of kernels each of them."""
    from soundline.impl.inspect.stages import stage_picture

    return stage_picture(node)


def rich_of(node: UOp) -> Iterator[Any]:
    """The fields of a node that rich shows, and how many nodes there are below it."""
    yield node.op.name
    if node.shape is not None:
        yield "dtype", str(node.dtype)
        yield "shape", node.shape
    yield "arg", node.arg, None
    yield "nodes", sum(1 for _ in toposort(node))


_METHODS: Final[dict[str, Callable[..., Any]]] = {"_repr_html_": html_of, "__rich_repr__": rich_of}

for _name, _method in _METHODS.items():
    setattr(UOp, _name, _method)
