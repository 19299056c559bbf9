"""
Simplify
========

Run the rule library over a stage. Every rewrite is by a rule of the library, which the court proves; what this module
adds is only where gates of memory accesses have become constants, which is what they say.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections import Counter
from collections.abc import Collection

from soundline.impl.rewrite import rewrite
from soundline.spec.rules import Rule
from soundline.spec.uop import Op, UOp, toposort

Applied = Counter[str]
"""How often each rule was applied, by its id."""


@functools.cache
def library() -> tuple[Rule, ...]:
    """The rules that soundline ships, but those that only turn operands round, which the matcher has built in."""
    import soundline.impl.rules as package

    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "commutativity":
            stated = vars(importlib.import_module(f"{package.__name__}.{module.name}")).values()
            found.update({r.id: r for r in stated if isinstance(r, Rule)})
    return tuple(found.values())


def simplified(root: UOp, licences: Collection[str], applied: Applied) -> UOp:
    """A program without what the rules remove; `applied` counts them."""
    result = rewrite(root, library(), licences=licences)
    applied.update(dict(result.applied))
    return _with_known_gates(result.uop)


def _with_known_gates(root: UOp) -> UOp:
    """Loads whose gate is a constant: always read, or never."""
    new: dict[UOp, UOp] = {}
    for node in toposort(root):
        made = UOp(node.op, tuple(new[s] for s in node.src), node.arg, node.tag) if node.src else node
        if made.op is Op.Load and len(made.src) == 3 and made.src[2].op is Op.Const:
            made = UOp(Op.Load, made.src[:1], made.arg) if made.src[2].arg.value else made.src[1]
        new[node] = made
    return new[root]
