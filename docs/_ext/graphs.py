"""The graph that an example builds, drawn."""

from __future__ import annotations

import contextlib
import doctest
import io
from collections.abc import Iterator
from typing import Any

from soundline.impl.inspect.graphs import svg
from soundline.spec.examples import namespace
from soundline.spec.ops.table import Entry
from soundline.spec.uop import UOp, toposort


@contextlib.contextmanager
def recording() -> Iterator[list[UOp]]:
    """The nodes that are made, or met again, in the block of a `with`."""
    found: list[UOp] = []
    make = UOp.__new__

    def recorded(cls: type[UOp], *args: Any, **named: Any) -> UOp:
        node = make(cls, *args, **named)
        found.append(node)
        return node

    UOp.__new__ = recorded  # type: ignore[method-assign]
    try:
        yield found
    finally:
        UOp.__new__ = make  # type: ignore[method-assign]


def built(entry: Entry) -> UOp | None:
    """The last graph with the op that the example of an entry builds; None where it builds none."""
    names = namespace()
    graphs: list[UOp] = []
    for example in doctest.DocTestParser().get_examples(entry.example):
        statement = compile(example.source, entry.op.name, "single")
        with recording() as found, contextlib.redirect_stdout(io.StringIO()):
            exec(statement, names)
        graphs += [n for n in found if any(below.op is entry.op for below in toposort(n))]
    largest = max((len(list(toposort(n))) for n in graphs), default=0)
    return next((n for n in graphs if len(list(toposort(n))) == largest), None)


def drawn(entry: Entry) -> str:
    """The picture of the example's graph, as reStructuredText."""
    graph = built(entry)
    if graph is None or not graph.src:  # one box says no more than the example
        return ""
    lines = "".join(f"   {line}\n" for line in svg(graph).splitlines())
    return f'.. raw:: html\n\n   <figure class="graph">\n{lines}   </figure>\n'
