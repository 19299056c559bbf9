"""
Functions
=========

What calling means, as rewriting (U-31): an element of a Function is the element of its body with argument k for Param
k. Evaluation passes values instead, and the two agree: wherever the element of a Function has a value, its substitution
has the same one, and the same dtype, shape, device and axis. (The converse fails where the body does not need all of
an argument, because evaluation computes an argument before the body.)

A Function binds the Params of its body outside the bodies of nested Functions. Substitution captures no loop:
`spec.ops.bodies.bind` renames the Ranges that the body closes where an argument depends on a loop of the same id. Two
bodies that differ only by such renaming are *alpha-equal*, `alpha_equal` (U-21).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from soundline.spec.errors import IllFormed
from soundline.spec.evaluation.frames import is_effect
from soundline.spec.ops import bodies as closed
from soundline.spec.ops.node import Op, UOp, over, rebuilt, toposort

# Substitution -----------------------------------------------------------------------------------------------------


def is_substitutable(node: UOp) -> bool:
    """Whether a node is an element of a Tuple, of a Function, or of the Call of a Tuple."""
    if node.op is not Op.GetTuple:
        return False
    called = node.src[0]
    return called.op is Op.Tuple or called.src[0].op is Op.Tuple


def substitute_function(node: UOp) -> UOp:
    """The element that a GetTuple takes, with the arguments in the place of the Params of the body.

    What is nested in the body or in the arguments stays as it is. A Call is opaque to rewrites; that the Call of a
    Tuple has the value of this is its meaning, not a rewrite.
    """
    if not is_substitutable(node):
        raise IllFormed(node.op.name, "uop-gettuple-c1", given=repr(node), wants="an element of a Function")
    return closed.element(node.src[0], node.arg)


def inlined(root: UOp) -> UOp:
    """`root` without GetTuple of Tuples and Functions: every one substituted, inside of bodies too."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is not Op.GetTuple or not is_substitutable(made := over(node, src)):
            return None
        element = substitute_function(made)
        return element if made.src[0].op is Op.Tuple else inlined(element)

    return rebuilt(root, change, closed.own_sources)


# Alpha-equality ---------------------------------------------------------------------------------------------------

_Pairs = tuple[tuple[UOp, UOp], ...]
"""Loops of the left side beside loops of the right side that they stand for, the innermost last."""
_Claim = tuple[UOp, UOp, _Pairs]
"""Two nodes that must be alike where these loops stand for each other."""


def alpha_equal(a: UOp, b: UOp) -> bool:
    """Whether two programs are one but for the ids of the Ranges that they close, and for tags.

    The kinds and bounds of the loops agree, and so does everything that is free. Each effect of the one is one effect
    of the other: two stores that renaming would make one are still two.
    """
    free = {**_free(a), **_free(b)}
    partners: dict[tuple[str, UOp], UOp] = {}
    todo: list[_Claim] = [(a, b, ())]
    seen: set[_Claim] = set()
    while todo:
        x, y, outer = todo.pop()
        pairs = _concerning(outer, free[x], free[y])
        if (x, y, pairs) in seen:
            continue
        seen.add((x, y, pairs))
        left, right = closed.closed_loops(x, free), closed.closed_loops(y, free)
        if len(left) != len(right) or not _same_head(x, y, pairs) or not _one_to_one(x, y, partners):
            return False
        todo.extend(_inside(x, y, pairs, zip(left, right, strict=True)))
    return True


def _free(root: UOp) -> dict[UOp, frozenset[UOp]]:
    """The free loops of every node, the bodies of Functions and Calls included."""
    bodies = [n.src[0] for n in toposort(root) if n.op in (Op.Function, Op.Call)]
    return closed.free_by_node(root, *bodies)


def _concerning(pairs: _Pairs, left: frozenset[UOp], right: frozenset[UOp]) -> _Pairs:
    """The pairs that two nodes depend on."""
    return tuple((p, q) for p, q in pairs if p in left or q in right)


def _same_head(x: UOp, y: UOp, pairs: _Pairs) -> bool:
    """Whether two nodes agree, leaving aside their sources."""
    if x.op is not y.op or len(x.src) != len(y.src):
        return False
    if x.op is Op.Range and any(p is x or q is y for p, q in pairs):
        return (x, y) in pairs and x.arg.type is y.arg.type
    return type(x.arg) is type(y.arg) and bool(x.arg == y.arg)


def _one_to_one(x: UOp, y: UOp, partners: dict[tuple[str, UOp], UOp]) -> bool:
    """Whether an effect has met only this one of the other side."""
    if not is_effect(x):
        return True
    return partners.setdefault(("left", x), y) is y and partners.setdefault(("right", y), x) is x


def _inside(x: UOp, y: UOp, pairs: _Pairs, loops: Iterable[tuple[UOp, UOp]]) -> Iterator[_Claim]:
    """The sources that must be alike, with the loops that stand for each other there; `loops` are those closed here."""
    inner = pairs
    for r, q in loops:
        kept = tuple((p, s) for p, s in inner if p is not r and s is not q)
        inner = (*kept, (r, q))
    bodies = len(x.src) - len(closed.own_sources(x))
    for k, (s, t) in enumerate(zip(x.src, y.src, strict=True)):
        yield s, t, () if k < bodies else inner
