"""
Rewriting
=========

`rewrite` applies rules to a program, sources before users, until none applies. What it applies is the `Rule` that the
court proves: `matching` compares its left side with a node, and `instances.build` makes its right side from the same
terms. Operations on constants are evaluated on the way.

What the engine keeps as it is: Params, Ranges and Specials, which are names; the sizes of movement ops; the bodies of
Functions and Calls; and the place that a Store, an AtomicAdd or a Load names, in which only indices are rewritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from soundline.impl.facts import Facts
from soundline.impl.folding import fold
from soundline.impl.matching import Match, Pattern, pattern_of
from soundline.spec.building import build
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.node import UOp, toposort
from soundline.spec.op_schema import Op
from soundline.spec.rules import Rule
from soundline.spec.sizes import same_shape

Watcher = Callable[[Rule, UOp, UOp], None]
"""Called with each rule that is applied, the node before and the node after."""

_NAMES = (Op.Param, Op.Range, Op.Special)
_SIZED = (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink)
_PLACED = (Op.Store, Op.AtomicAdd, Op.Load)
_PLACES = (Op.After, Op.Reshape, Op.Permute, Op.Flip, Op.Shrink, Op.Expand, Op.Index, Op.Slice, Op.Bitcast)
_STORAGE = (Op.Buffer, Op.Param)


class RewriteError(SoundlineError):
    """The engine was given rules that never end, or a rule whose sides differ in dtype or shape."""

    def __init__(self, message: str, rules: tuple[str, ...], hint: str) -> None:
        self.rules = rules
        super().__init__(message, rule=rules[0] if rules else None, hint=hint)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program after rewriting, and what was done."""

    uop: UOp
    applied: tuple[tuple[str, int], ...]
    """Each rule that was used and how often, by name; the commutativity rules of the matcher count as well."""
    folded: int
    """How many operations on constants were evaluated."""


def rewrite(
    root: UOp,
    rules: Sequence[Rule],
    *,
    limit: int | None = None,
    licences: Collection[str] = (),
    watch: Watcher | None = None,
) -> Rewritten:
    """Apply `rules` to `root` and everything under it until none applies; the earliest rule that matches wins.

    A rule that needs a licence is used only where `licences` grants it. `limit` bounds the number of applications; it
    grows with the program if not given. Raises `RewriteError` where the rules go round in a circle or on for ever.
    """
    granted = [r for r in rules if set(r.licences) <= set(licences)]
    if limit is None:
        limit = 10_000 + 100 * sum(1 for _ in toposort(root))
    run = _Run(_by_root([pattern_of(r) for r in granted]), limit, watch)
    result = run.normal_form(root)
    return Rewritten(result, tuple(sorted(run.applied.items())), run.folded)


def _by_root(patterns: Sequence[Pattern]) -> dict[Op, tuple[Pattern, ...]]:
    """The patterns that can match at a node of each op, in their order."""
    return {op: tuple(p for p in patterns if p.roots is None or op in p.roots) for op in Op}


@dataclass(slots=True)
class _Waiting:
    """A node whose normal form is being computed; `by` is the rule whose result it now waits for."""

    node: UOp
    result: UOp | None = None
    by: str = ""


@dataclass(slots=True)
class _Run:
    """One call of `rewrite`."""

    patterns: dict[Op, tuple[Pattern, ...]]
    limit: int
    watch: Watcher | None
    facts: Facts = field(default_factory=Facts)
    applied: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    folded: int = 0
    done: dict[UOp, UOp] = field(default_factory=dict)
    """The normal form of every node that has been finished."""
    places: dict[UOp, UOp] = field(default_factory=dict)
    """The same place with its indices in normal form."""

    def normal_form(self, root: UOp) -> UOp:
        """The normal form of a node, by an explicit stack: a program may be deeper than Python's."""
        stack = [_Waiting(root)]
        active: set[UOp] = {root}
        done = self.done
        while stack:
            top = stack[-1]
            wanted = self._next(top)
            if wanted is None:
                active.discard(top.node)
                stack.pop()
            elif wanted in active:
                raise _circle(stack, wanted)
            elif wanted not in done:
                active.add(wanted)
                stack.append(_Waiting(wanted))
        return done[root]

    def _next(self, top: _Waiting) -> UOp | None:
        """What must be finished before the node on top can go on; None when it is finished itself."""
        done = self.done
        if top.result is None:
            for source in self._operands(top.node):
                if source not in done:
                    return source
            top.result, top.by = self._step(top.node)
        if top.by and top.result not in done:
            return top.result
        done[top.node] = done[top.result] if top.by else top.result
        return None
