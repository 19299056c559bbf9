"""
Rewriting
=========

`rewrite` applies rules to a program, sources before users, until none applies. What it applies is the `Rule` that the
court proves: `matching` compares its left side with a node, and `building.build` makes its right side from the same
terms. Operations on constants are evaluated on the way.

What the engine keeps as it is: Params, Ranges and Specials, which are names; the sizes of movement ops; the bodies of
Functions and Calls; and the place that a Store, Load, After or Call names, in which only indices are rewritten.

Procedures (`spec.rules.procedures`) are applied beside the rules, each in its place in the list, and each application
is validated on the way, see `applications`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from soundline.impl.analysis.checks import on_sources
from soundline.impl.analysis.facts import Facts
from soundline.impl.analysis.folding import fold
from soundline.impl.collecting import collection_paused
from soundline.impl.matching.candidates import (
    CONSTANT,
    MAY_FOLD,
    Candidates,
    combination,
    index_of,
)
from soundline.impl.matching.matcher import Pattern, RewriteError
from soundline.impl.rewriting.applications import Application, attempt
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.table import group_of
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure

__all__ = ["FOLDING", "Folding", "RewriteError", "Rewritten", "Step", "Watcher", "rewrite"]


@dataclass(frozen=True, slots=True)
class Folding:
    """The step that is not a rule: an operation on constants was evaluated."""

    id: str = "constants"
    licences: tuple[str, ...] = ()


FOLDING = Folding()

Step = Rule | Procedure | Folding
"""What may replace a node."""

Watcher = Callable[[Step, UOp, UOp], None]
"""Called with each step that is made, the node before and the node after."""

_WHOLE = frozenset((Op.Param, Op.Range, Op.Special, Op.Linear, Op.Program))
"""Names, and lists whose order has been fixed: nothing inside them is rewritten."""

_FIRST_ONLY = frozenset((Op.Reshape, Op.Expand, Op.Pad, Op.Shrink, Op.Reduce, Op.End))
"""Ops of whose sources only the first is a value: the rest are sizes, or the Ranges that they close."""

_VALUES = (
    frozenset((*group_of("elementwise", "decomposed", "movement", "marker"), Op.CDiv, Op.CMod, Op.Wmma))
    - _FIRST_ONLY
)
"""Ops that read all their sources' values; any other op may mean the place that a source names."""

_VIEWS = frozenset(
    (Op.After, Op.Reshape, Op.Permute, Op.Flip, Op.Shrink, Op.Expand, Op.Index, Op.Slice, Op.Bitcast)
)
_STORAGE = (Op.Buffer, Op.Param)
_PLACES = frozenset((*_VIEWS, *_STORAGE))
"""Ops that what names storage can have."""
_INDEXED = (Op.After, Op.Index, Op.Slice)
"""Views of a place whose other sources are values or effects; those of the rest are sizes."""


_MANY = 10_000
"""Any program may be rewritten so often, and a greater one more often."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program after rewriting, and what was done."""

    uop: UOp
    applied: tuple[tuple[str, int], ...]
    """Each rule that was used and how often, by name; the commutativity rules of the matcher count as well."""
    folded: int
    """How many operations on constants were evaluated."""
    applications: tuple[Application, ...] = ()
    """The uses of procedures, in order, those that were not kept because nothing is known of them among them."""


def rewrite(
    root: UOp,
    rules: Sequence[Rule | Procedure],
    *,
    limit: int | None = None,
    licences: Collection[str] = (),
    watch: Watcher | None = None,
    validate: bool = True,
    facts: Facts | None = None,
) -> Rewritten:
    """Apply `rules` to `root` and everything under it until none applies; the earliest rule that matches wins.

    A rule that needs a licence is used only where `licences` grants it. `limit` bounds the number of applications; it
    grows with the program if not given. Raises `RewriteError` where the rules go round in a cycle or do not terminate,
    and `WrongApplication` where the court refutes what a procedure did. If not `validate`, the court is not asked.
    `facts` may know more of nodes than their ops tell.
    """
    with collection_paused():
        granted = _granted(tuple(rules), frozenset(licences))
        run = Rewriting(granted, limit, watch, validate, facts or Facts(told=[]))
        result = run.normal_form(root)
        applied, folded, applications = (
            tuple(sorted(run.applied.items())),
            run.folded,
            tuple(run.applications),
        )
        del run  # most of what was made was for it
    return Rewritten(result, applied, folded, applications)


@lru_cache(maxsize=64)
def _granted(rules: tuple[Rule | Procedure, ...], licences: frozenset[str]) -> Candidates:
    """The index of the rules that these licences suffice for."""
    return index_of(tuple(r for r in rules if licences.issuperset(r.licences)))


_Step = tuple[UOp, UOp, str]
"""A step: the node on finished operands, what was made of it, whose normal form is then the node's, and the rule."""


@dataclass(slots=True)
class Rewriting:
    """One call of `rewrite`."""

    index: Candidates
    limit: int | None
    watch: Watcher | None
    validate: bool
    facts: Facts = field(default_factory=lambda: Facts(told=[]))
    applied: Counter[str] = field(default_factory=Counter)
    applications: list[Application] = field(default_factory=list)
    folded: int = 0
    steps: int = 0
    stack: list[UOp | None] = field(default_factory=list)
    done: dict[UOp, UOp | None] = field(default_factory=dict)
    """The normal form of every node that is finished; None while it is being computed."""
    became: dict[UOp, _Step] = field(default_factory=dict)
    """The steps that were made of nodes whose normal form is being computed."""
    places: dict[UOp, UOp] = field(default_factory=dict)
    """A place with its indices in normal form."""

    def normal_form(self, root: UOp) -> UOp:
        """The normal form of a node."""
        order, done = self._order(root), self.done
        if self.limit is None:
            self.limit = _MANY + 100 * len(order)
        for node in order:
            if node not in done:
                step = self._step(node)
                if step is not None and not self._takes(node, step):
                    self._finish(node)
        return self._finished(root)

    def _order(self, root: UOp) -> list[UOp]:
        """The nodes to rewrite at and under a node, operands before users."""
        met: set[UOp] = set()
        order: list[UOp] = []
        stack: list[UOp | None] = [root]
        while stack:
            node = stack.pop()
            if node is None:  # what lies below this mark is a node whose operands are listed
                order.append(stack.pop())  # type: ignore[arg-type]
            elif node not in met:
                met.add(node)
                if node.src:
                    stack += (node, None)
                    stack += node.src[::-1] if node.op in _VALUES else self._operands(node)[::-1]
                else:
                    order.append(node)
        return order

    def _takes(self, node: UOp, step: _Step) -> bool:
        """Finish a node of which a step made one that is finished; note the step of any other."""
        rebuilt, result, _ = step
        final = self.done.get(result)
        if final is None:
            self.became[node] = step
            return False
        self.done[node] = self.done[rebuilt] = final
        return True

    def _finish(self, root: UOp) -> None:
        """Find the normal form of a node of which a step was made.

        The stack is explicit, because the results of rules may be nested more deeply than Python's stack allows. A mark
        lies on each node that waits for its operands, and then for the result of its step.
        """
        done, became, stack = self.done, self.became, self.stack
        done[root] = None
        stack += (root, None)
        while stack:
            node = stack[-1]
            if node is not None:
                if node in done:
                    stack.pop()
                    continue
                done[node] = None
                stack.append(None)
                stack += node.src[::-1] if node.op in _VALUES else self._operands(node)[::-1]
                continue
            node = stack[-2]
            assert node is not None
            step = became.pop(node) if node in became else self._step(node)
            if step is None or self._takes(node, step):
                del stack[-2:]
            elif step[1] in done:  # it waits for this node
                raise self._circle(step[1])
            else:
                stack.append(step[1])

    def _finished(self, node: UOp) -> UOp:
        """The normal form of a node that is an operand."""
        final = self.done[node]
        if final is None:
            raise self._circle(node)
        return final

    def _step(self, original: UOp) -> _Step | None:
        """Rebuild a node on its finished operands, and apply to it what applies first. None where nothing does: then
        it is finished.
        """
        done, src = self.done, original.src
        if original.op not in _VALUES:
            node = self._rebuilt(original)
            src = node.src
        else:
            now: Any = (done[src[0]], done[src[1]]) if len(src) == 2 else tuple(map(done.get, src))
            if now == src:
                node = original
            elif None in now:
                raise self._circle(src[now.index(None)])
            else:
                node = on_sources(original, now)
                src = node.src
        if node is not original and done.get(node) is not None:
            return node, node, ""
        if src and src[0].op in CONSTANT and node.op in MAY_FOLD and (folded := fold(node)) is not None:
            self.folded += 1
            if self.watch is not None:
                self.watch(FOLDING, node, folded)
            return node, folded, ""
        for candidate in self.index[combination(node.op, src)]:
            if type(candidate) is Pattern:
                right = candidate.apply(node, self.facts)
                if right is not None:
                    self._count(candidate.rule, candidate.exchanged, node, right)
                    return node, right, candidate.rule.id
            else:
                assert isinstance(candidate, Procedure)
                right = self._attempted(candidate, node)
                if right is not None:
                    self._count(candidate, (), node, right)
                    return node, right, candidate.id
        done[original] = done[node] = node
        return None

    def _attempted(self, procedure: Procedure, node: UOp) -> UOp | None:
        """The result of a procedure at a node, where the application is kept."""
        application = attempt(procedure, node, self.facts, ask=self.validate)
        if application is None:
            return None
        self.applications.append(application)
        return application.after if application.kept else None

    def _count(self, step: Rule | Procedure, exchanged: tuple[str, ...], node: UOp, right: UOp) -> None:
        if self.watch is not None:
            self.watch(step, node, right)
        self.steps += 1
        self.applied[step.id] += 1
        for rule in exchanged:
            self.applied[rule] += 1
        if self.limit is not None and self.steps > self.limit:
            often = tuple(name for name, _ in self.applied.most_common(3))
            raise RewriteError(
                f"more than {self.limit} applications; most often {', '.join(often)}",
                often,
                hint="these rules undo each other's rewrites; orient them, or raise limit=",
            )

    # which parts of a node are rewritten

    def _operands(self, node: UOp) -> Sequence[UOp]:
        """The nodes that are rewritten before a node is; of `_VALUES`, all sources."""
        op = node.op
        if op in _WHOLE:
            return ()
        if op in _FIRST_ONLY:
            return node.src[:1]
        own = node.src[1:] if op in (Op.Function, Op.Call) else node.src
        return [n for s in own for n in (self._inside_place(s) if s.op in _PLACES and _is_place(s) else (s,))]

    def _rebuilt(self, node: UOp) -> UOp:
        """A node on its finished operands; itself where they are ill-formed together."""
        self.facts.tell(node)
        op = node.op
        if not node.src or op in _WHOLE:
            return node
        if op in _FIRST_ONLY:
            return on_sources(node, (self._finished(node.src[0]), *node.src[1:]))
        body = node.src[:1] if op in (Op.Function, Op.Call) else ()
        own = node.src[len(body) :]
        now = [self._place(s) if s.op in _PLACES and _is_place(s) else self._finished(s) for s in own]
        return on_sources(node, (*body, *now))

    def _inside_place(self, place: UOp) -> Iterator[UOp]:
        """The indices and effects in a place that has not been met before."""
        while place.op in _VIEWS and place not in self.places:
            if place.op in _INDEXED:
                yield from place.src[1:]
            place = place.src[0]

    def _place(self, place: UOp) -> UOp:
        """A place with its indices and effects in normal form."""
        spine = []
        while place.op in _VIEWS and place not in self.places:
            spine.append(place)
            place = place.src[0]
        new = self.places.get(place, place)
        for view in reversed(spine):
            rest = view.src[1:]
            new = on_sources(view, (new, *(map(self._finished, rest) if view.op in _INDEXED else rest)))
            self.places[view] = new
        return new

    def _circle(self, wanted: UOp) -> RewriteError:
        """The error for rules that lead from an unfinished node back to itself."""
        waiting = [n for n, mark in pairwise(self.stack) if n is not None and mark is None]
        steps = [self.became[n] for n in waiting[waiting.index(wanted) :] if n in self.became]
        names = tuple(dict.fromkeys(by for _, _, by in steps if by))
        return RewriteError(
            f"rewriting {wanted} leads back to it by {', '.join(names)}",
            names,
            hint="leave one of these rules out, or give it a direction by a condition",
        )


def _is_place(node: UOp) -> bool:
    """Whether a node names storage: a Buffer or Param under views."""
    while node.op in _VIEWS:
        node = node.src[0]
    return node.op in _STORAGE
