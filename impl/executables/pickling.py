"""
Programs as bytes
=================

How a compiled program is pickled: not its machine code, but its recipe: the graph that was compiled, and everything
else that the kernels depend on. The process that loads it lowers the same kernels from the recipe, and takes their
library from the compile cache or compiles it. The graph is a list of nodes, operands first, so that it may be of any
depth.

Objects that belong to one process are made again: the buffers, and the Variables of symbolic sizes. A custom function
is found by its name, and must be known where the program is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from soundline.impl.arrays import storage
from soundline.impl.arrays.sizes import Size, Variable, is_variable, name_of, size_of
from soundline.impl.executables.building import Recipe
from soundline.impl.executables.signatures import Signature
from soundline.spec.errors import UsageError
from soundline.spec.ops.node import BufferArg
from soundline.spec.uop import Op, UOp, toposort

FORM: Final = 1
"""The number of this form of a pickled program; it changes where an older one could not be read."""

Row = tuple[Op, tuple[int, ...], Any, Any]


def packed(recipe: Recipe) -> dict[str, Any]:
    """A recipe without what is this process's alone."""
    shapes: list[Any] = [s for signature in (*recipe.inputs, *recipe.outputs) for s in signature.shape]
    roots = [recipe.function.src[0], *recipe.called, *recipe.sizes]
    roots += [s.as_uop for s in shapes if isinstance(s, Size)]
    nodes = list(toposort(*roots))
    numbers = {node: k for k, node in enumerate(nodes)}
    rows: list[Row] = [(n.op, tuple(numbers[s] for s in n.src), n.arg, n.tag) for n in nodes]
    return {
        "form": FORM,
        "rows": rows,
        "variables": {numbers[n]: (name_of(n), _ends(n)) for n in nodes if is_variable(n)},
        "body": numbers[recipe.function.src[0]],
        "buffers": [b.arg for b in recipe.function.src[1:]],
        "called": [numbers[b] for b in recipe.called],
        "sizes": [numbers[v] for v in recipe.sizes],
        "inputs": [_packed_signature(s, numbers) for s in recipe.inputs],
        "outputs": [_packed_signature(s, numbers) for s in recipe.outputs],
        "rest": (
            *(recipe.name, recipe.captured, recipe.device, recipe.profile),
            *(recipe.takes, recipe.gives, recipe.given),
        ),
    }


def _ends(variable: UOp) -> tuple[int, int]:
    lo, hi = (int(end.value) for end in variable.arg.bounds)
    return lo, hi


def _packed_signature(signature: Signature, numbers: dict[UOp, int]) -> tuple[Any, ...]:
    """A signature whose symbolic sizes are rows: a number in a list."""
    sizes: tuple[Any, ...] = signature.shape
    shape = tuple([numbers[s.as_uop]] if isinstance(s, Size) else s for s in sizes)
    return signature.dtype, shape, signature.device, signature.axis


def unpacked(packed: dict[str, Any]) -> Recipe:
    """The recipe, with buffers and Variables of this process. Raises `UsageError` where it was packed by another
    version.
    """
    if packed.get("form") != FORM:
        raise UsageError("the program was pickled by another version of soundline", hint="compile it again")
    nodes = _nodes(packed["rows"], packed["variables"])
    name, captured, device, profile, takes, gives, given = packed["rest"]
    buffers = _buffers(packed["buffers"], captured)
    return Recipe(
        name=name,
        function=Op.Function(nodes[packed["body"]], *buffers),
        called=frozenset(nodes[k] for k in packed["called"]),
        captured=captured,
        inputs=tuple(_signature(s, nodes) for s in packed["inputs"]),
        outputs=tuple(_signature(s, nodes) for s in packed["outputs"]),
        device=device,
        profile=profile,
        takes=takes,
        gives=gives,
        given=given,
        sizes=tuple(nodes[k] for k in packed["sizes"]),
    )


def _nodes(rows: Sequence[Row], variables: dict[int, tuple[str, tuple[int, int]]]) -> list[UOp]:
    """The nodes of rows, with Variables of this process."""
    made: list[UOp] = []
    for k, (op, sources, arg, tag) in enumerate(rows):
        if k in variables:
            name, (lo, hi) = variables[k]
            made.append(Variable(name, lo, hi).as_uop)
        else:
            made.append(UOp(op, tuple(made[s] for s in sources), arg, tag))
    return made


def _buffers(args: Sequence[BufferArg], captured: Sequence[Any]) -> Iterable[UOp]:
    """Fresh buffers like others; the last hold the captured arrays."""
    first = len(args) - len(captured)
    for k, arg in enumerate(args):
        yield storage.fresh_buffer(
            arg.size, arg.dtype, arg.device, captured[k - first] if k >= first else None
        )


def _signature(packed: tuple[Any, ...], nodes: Sequence[UOp]) -> Signature:
    dtype, shape, device, axis = packed
    return Signature(
        dtype, tuple(size_of(nodes[s[0]]) if isinstance(s, list) else s for s in shape), device, axis
    )
