"""
Checks that are remembered
==========================

What the op table says of an elementwise tuple depends on the op, its arg, and the dtypes, shapes, devices and shard
axes of the sources, and on nothing else. So the law's answer is remembered by these, and the law is asked once for each
combination: `remembering` is the law, faster. Refusals are not remembered, nor are shapes with sizes that are nodes.

The modules with which graphs are made and rewritten import this one; from then on every UOp is checked so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.node import _INTERNED, Properties, UOp, _entered, _Entry, _Fields, _forget
from soundline.spec.op_schema import Op
from soundline.spec.ops import group_of
from soundline.spec.uop import laws

Laws = Callable[[Op, tuple[UOp, ...], Any], Properties]

ALIKE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod)) - {Op.Shl, Op.Shr}
"""The ops that are so; a shift of index asks whether its second operand is a constant."""

MOST = 1 << 14
"""After so many combinations the memory starts again."""


Combinations = dict[tuple[Any, ...], Properties]
"""The properties of nodes, by op, arg, and the properties of each source."""

KNOWN: Combinations = {}
"""What is remembered of every UOp that is made."""


def remembering(law: Laws, known: Combinations | None = None) -> Laws:
    """The same law, which remembers its answers for the ops that are `ALIKE`."""
    known = {} if known is None else known
    shared: dict[tuple[Any, ...], Properties] = {}

    def one_of(found: Properties) -> Properties:
        """The one object of these properties."""
        if found.shape and not all(type(size) is int for size in found.shape):
            return found
        if len(shared) >= MOST:
            shared.clear()
            known.clear()
        return shared.setdefault((found.dtype, found.shape, found.device, found.axis), found)

    def answer(op: Op, src: tuple[UOp, ...], arg: Any) -> Properties:
        if op not in ALIKE:
            return one_of(law(op, src, arg))
        try:
            if len(src) == 2:
                combination: tuple[Any, ...] = (op, arg, src[0].properties, src[1].properties)
            else:
                combination = (op, arg, *[s.properties for s in src])
            found = known.get(combination)
        except (AttributeError, TypeError):  # no UOps, or no arg
            return law(op, src, arg)
        if found is None:
            found = one_of(law(op, src, arg))
            if all(type(size) is int for s in src for size in s.shape or ()):
                known[combination] = found
        return found

    return answer


UOp.laws = staticmethod(remembering(laws, KNOWN))


def made_of(op: Op, src: tuple[UOp, ...], properties: Properties) -> UOp:
    """The node of an op without arg on these sources, of which `KNOWN` has the properties: what `UOp` gives, sooner."""
    identity = (op, src, None, None)
    entry = _INTERNED.get(identity)
    known = entry() if entry is not None else None
    if known is not None:
        return known
    node: Any = object.__new__(_Fields)
    node.op, node.src, node.arg, node.tag = op, src, None, None
    node.dtype, node.shape = properties.dtype, properties.shape
    node.device, node.axis, node.properties = properties.device, properties.axis, properties
    node.__class__ = UOp
    entry = _Entry(node, _forget)
    entry.identity = identity
    present = _INTERNED.setdefault(identity, entry)
    return node if present is entry else _entered(entry, node)
