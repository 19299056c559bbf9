"""
Calls
=====

Which Functions are lowered into Calls (U-31). A Function is *substituted*, so that its body is compiled with what is
around it, or *lowered into a Call*: its body is compiled once, apart, and every site runs the same kernels on buffers
of its own.

The law of the choice, for a body with `size` computing nodes that `uses` sites run:

* the maker of the Function may decide (``function(inline=True)`` or ``inline=False``, a `Choice` in the tag);
* otherwise it becomes a Call where that saves the compiler enough work: ``uses ≥ 2`` and ``(uses - 1) · size ≥
  SPARED``.

A site inside a body that is itself a Call counts once, however often that runs, because it is compiled once. A Call
that a program contains is one already, and stays so. A Function of values on several devices is always substituted:
each device runs a part of it. Neither choice changes a bit under the profile ``exact``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from soundline.spec.ops.bodies import own_nodes
from soundline.spec.ops.table import group_of
from soundline.spec.ops.walks import postorder
from soundline.spec.uop import Op, UOp

SPARED: Final = 64
"""How many nodes must be spared the compiler for a Function to become a Call."""
_COMPUTING = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod, Op.Reduce))


@dataclass(frozen=True, slots=True)
class Choice:
    """What the maker of a Function wants: to have it substituted, or lowered into a Call. It stands in the tag."""

    inline: bool


def called_bodies(roots: Sequence[UOp], spared: int = SPARED) -> frozenset[UOp]:
    """The bodies of the Functions, at any depth, that become Calls."""
    uses: Counter[UOp] = Counter()
    chosen: set[UOp] = set()
    divided: set[UOp] = set()
    sizes: dict[UOp, int] = {}
    for body in _callers_first(roots):
        times = 1 if body is None or body in chosen else uses[body]
        for site in sites(roots if body is None else body.src):
            callee = site.src[0]
            uses[callee] += times
            if site.op is Op.Function and any(isinstance(a.device, tuple) for a in site.src[1:]):
                divided.add(callee)
            if site.op is Op.Call or (isinstance(site.tag, Choice) and not site.tag.inline):
                chosen.add(callee)
            elif not isinstance(site.tag, Choice):
                enough = uses[callee] >= 2 and (uses[callee] - 1) * size_of(callee, sizes) >= spared
                chosen.update({callee} if enough else ())
    return frozenset(chosen - divided)


def sites(roots: Sequence[UOp]) -> list[UOp]:
    """The Functions and Calls of Tuples that a graph applies, each once; not those inside their bodies."""
    applied = (n for n in own_nodes(*roots) if n.op in (Op.Function, Op.Call))
    return [n for n in applied if n.src[0].op is Op.Tuple]


def _callers_first(roots: Sequence[UOp]) -> Iterator[UOp | None]:
    """None for the graph itself, then every body after all that apply it."""

    def called(graph: Sequence[UOp]) -> tuple[UOp, ...]:
        return tuple(s.src[0] for s in sites(graph))

    yield None
    yield from reversed(postorder(called(roots), lambda body: called(body.src)))


def size_of(body: UOp, known: dict[UOp, int] | None = None) -> int:
    """How many nodes of a body compute, those of the Functions that it applies included."""
    sizes = {} if known is None else known
    if body not in sizes:
        own = sum(n.op in _COMPUTING for n in own_nodes(*body.src))
        sizes[body] = own + sum(size_of(s.src[0], sizes) for s in sites(body.src))
    return sizes[body]
