"""
Rewriting
=========

`rewrite` applies rules to a program, sources before users, until none applies. What it applies is the `Rule` that the
court proves: `matching` compares its left side with a node, and `building.build` makes its right side from the same
terms. Operations on constants are evaluated on the way.

What the engine keeps as it is: Params, Ranges and Specials, which are names; the sizes of movement ops; the bodies of
Functions and Calls; and the place that a Store, Load, After or Call names, in which only indices are rewritten.

Procedures (`spec.procedures`) are applied beside the rules, each in its place in the list, and each application is
validated on the way, see `applications`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from soundline.impl import construction as _construction  # noqa: F401  # what it checks is remembered
from soundline.impl.applications import Application, attempt
from soundline.impl.collecting import collection_paused
from soundline.impl.direct import UNSURE, Direct
from soundline.impl.facts import REPEATING, Facts
from soundline.impl.folding import fold
from soundline.impl.matching import Pattern, patterns_of, roots_of
from soundline.spec.building import Env, build
from soundline.spec.elementwise import ELEMENTWISE
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.node import UOp, toposort
from soundline.spec.op_schema import Op
from soundline.spec.ops import group_of
from soundline.spec.procedures import Procedure
from soundline.spec.rules import Rule
from soundline.spec.sizes import same_shape


@dataclass(frozen=True, slots=True)
class Folding:
    """The step that is no rule: an operation on constants was evaluated."""

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

_MAY_FOLD = frozenset((*ELEMENTWISE, *REPEATING, Op.Bitcast))
_CONSTANT = frozenset((Op.Const, *REPEATING))
"""Ops that a repeated constant can have."""

_VIEWS = frozenset(
    (Op.After, Op.Reshape, Op.Permute, Op.Flip, Op.Shrink, Op.Expand, Op.Index, Op.Slice, Op.Bitcast)
)
_STORAGE = (Op.Buffer, Op.Param)
_INDEXED = (Op.After, Op.Index, Op.Slice)
"""Views of a place whose other sources are values or effects; those of the rest are sizes."""


_MANY = 10_000
"""Any program may be rewritten so often, and a greater one more often."""


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
) -> Rewritten:
    """Apply `rules` to `root` and everything under it until none applies; the earliest rule that matches wins.

    A rule that needs a licence is used only where `licences` grants it. `limit` bounds the number of applications; it
    grows with the program if not given. Raises `RewriteError` where the rules go round in a circle or on for ever, and
    `WrongApplication` where the court refutes what a procedure did. If not `validate`, the court is not asked.
    """
    granted = tuple(r for r in rules if set(r.licences) <= set(licences))
    with collection_paused():
        run = _Run(_index(granted), root, limit, watch, validate)
        result = run.normal_form(root)
    return Rewritten(result, tuple(sorted(run.applied.items())), run.folded, tuple(run.applications))


_OFTEN = 50
"""After so many tries a pattern is written out as one function, which pays then."""


class _Candidate:
    """A pattern, and how often it has been tried."""

    __slots__ = ("direct", "pattern", "tried")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.direct: Direct | None = None
        self.tried = 0

    def right(self, node: UOp, facts: Facts) -> UOp | None:
        """The right side of the rule, where it applies to a node."""
        if self.direct is not None:
            right = self.direct(node, facts)
            if right is None or right is not UNSURE:
                return right  # type: ignore[no-any-return]
        else:
            self.tried += 1
            if self.tried == _OFTEN:
                self.direct = self.pattern.direct()
        env = self.pattern.match(node, facts)
        return _right_side(self.pattern.rule, env, node) if env is not None else None


class _Index:
    """The patterns of rules, by the ops of a node and of its sources; each combination is looked up once."""

    def __init__(self, rules: tuple[Rule | Procedure, ...]) -> None:
        self._rules = rules
        self._compiled: dict[Rule, tuple[_Candidate, ...]] = {}
        self._rooted: dict[Op, tuple[_Candidate | Procedure, ...]] = {}
        self._found: dict[tuple[Op, ...], tuple[_Candidate | Procedure, ...]] = {}

    def at(self, node: UOp) -> tuple[_Candidate | Procedure, ...]:
        """The patterns and procedures that can match at a node, in the order of their rules."""
        src = node.src
        if len(src) == 2:
            ops: tuple[Op, ...] = node.op, src[0].op, src[1].op
        else:
            ops = (node.op, *[s.op for s in src[:3]])
        found = self._found.get(ops)
        if found is None:
            found = self._found[ops] = tuple(p for p in self.rooted(node.op) if _may_match(p, ops))
        return found

    def rooted(self, op: Op) -> tuple[_Candidate | Procedure, ...]:
        """The patterns and procedures that can match at a node of this op; a rule is compiled when its op is met."""
        found = self._rooted.get(op)
        if found is None:
            every = [p for r in self._rules for p in self._of(r, op) if _may_match(p, (op,))]
            found = self._rooted[op] = tuple(every)
        return found

    def _of(self, rule: Rule | Procedure, op: Op) -> tuple[_Candidate | Procedure, ...]:
        if isinstance(rule, Procedure):
            return (rule,)
        roots = roots_of(rule)
        if roots is not None and op not in roots:
            return ()
        if rule not in self._compiled:
            self._compiled[rule] = tuple(map(_Candidate, patterns_of(rule)))
        return self._compiled[rule]


def _may_match(candidate: _Candidate | Procedure, ops: tuple[Op, ...]) -> bool:
    if isinstance(candidate, Procedure):
        return ops[0] in candidate.ops
    return candidate.pattern.may_match(ops)


@lru_cache(maxsize=64)
def _index(rules: tuple[Rule | Procedure, ...]) -> _Index:
    return _Index(rules)


_Step = tuple[UOp, UOp, str]
"""A step: the node on finished operands, what was made of it, whose normal form is then the node's, and the rule."""

_NEW: Any = object()


@dataclass(slots=True)
class _Run:
    """One call of `rewrite`."""

    index: _Index
    root: UOp
    limit: int | None
    watch: Watcher | None
    validate: bool
    facts: Facts = field(default_factory=Facts)
    applied: Counter[str] = field(default_factory=Counter)
    applications: list[Application] = field(default_factory=list)
    folded: int = 0
    steps: int = 0
    done: dict[UOp, UOp | None] = field(default_factory=dict)
    """The normal form of every node that is finished; None while it is being computed."""
    became: dict[UOp, _Step] = field(default_factory=dict)
    """The steps that were made of nodes whose normal form is being computed."""
    places: dict[UOp, UOp] = field(default_factory=dict)
    """A place with its indices in normal form."""

    def normal_form(self, root: UOp) -> UOp:
        """The normal form of a node. The stack is explicit, because a program may be deeper than Python's.

        A node is met up to three times: its operands are wanted, then the result of its step, then it is finished.
        """
        done, became = self.done, self.became
        stack = [root]
        while stack:
            node = stack[-1]
            known = done.get(node, _NEW)
            if known is not None and known is not _NEW:
                stack.pop()
                continue
            if known is _NEW:
                done[node] = None
                wanted = [
                    s
                    for s in (node.src[::-1] if node.op in _VALUES else self._operands(node))
                    if s not in done
                ]
                if wanted:
                    stack += wanted
                    continue
            step = became.get(node) or self._step(node, stack)
            if step is not None:
                rebuilt, result, _ = step
                final = done.get(result, _NEW)
                if final is _NEW or final is None:
                    became[node] = step
                    if final is None:
                        raise self._circle(stack, result)
                    stack.append(result)
                    continue
                done[node] = done[rebuilt] = final
            stack.pop()
        return self._finished(root)

    def _finished(self, node: UOp) -> UOp:
        final = self.done[node]
        assert final is not None
        return final

    def _step(self, original: UOp, stack: list[UOp]) -> _Step | None:
        """Rebuild a node on its finished operands, and apply to it what applies first. None where nothing does: then
        it is finished.
        """
        done = self.done
        if original.op in _VALUES:
            src = tuple([done[s] for s in original.src])
            if None in src:  # an operand waits for this node
                raise self._circle(stack, original.src[src.index(None)])
            node = original if src == original.src else _made(original, src)  # type: ignore[arg-type]
        else:
            waiting = next((n for n in self._operands(original) if done[n] is None), None)
            if waiting is not None:
                raise self._circle(stack, waiting)
            node = self._rebuilt(original)
        if node is not original and done.get(node) is not None:
            return node, node, ""
        if node.op in _MAY_FOLD and node.src[0].op in _CONSTANT and (folded := fold(node)) is not None:
            self.folded += 1
            if self.watch is not None:
                self.watch(FOLDING, node, folded)
            return node, folded, ""
        for candidate in self.index.at(node):
            if type(candidate) is _Candidate:
                right = candidate.right(node, self.facts)
                if right is not None:
                    rule = candidate.pattern.rule
                    self._count(rule, candidate.pattern.exchanged, node, right)
                    return node, right, rule.id
            else:
                assert isinstance(candidate, Procedure)
                right = self._attempted(candidate, node)
                if right is not None:
                    self._count(candidate, (), node, right)
                    return node, right, candidate.id
        done[original] = done[node] = node
        return None

    def _attempted(self, procedure: Procedure, node: UOp) -> UOp | None:
        """What a procedure makes of a node, where the application is kept."""
        application = attempt(procedure, node, self.facts, ask=self.validate)
        if application is None:
            return None
        self.applications.append(application)
        return application.after if application.kept else None

    def _count(self, step: Rule | Procedure, exchanged: tuple[str, ...], node: UOp, right: UOp) -> None:
        self.steps += 1
        self.applied[step.id] += 1
        for rule in exchanged:
            self.applied[rule] += 1
        if self.watch is not None:
            self.watch(step, node, right)
        if self.steps > (self.limit if self.limit is not None else _MANY):
            if self.limit is None:
                self.limit = _MANY + 100 * sum(1 for _ in toposort(self.root))
                return
            often = tuple(name for name, _ in self.applied.most_common(3))
            raise RewriteError(
                f"more than {self.limit} applications; most often {', '.join(often)}",
                often,
                hint="these rules make each other match again; orient them, or raise limit=",
            )

    # which parts of a node are rewritten

    def _operands(self, node: UOp) -> Sequence[UOp]:
        """The nodes that are rewritten before a node is, in reverse order; of `_VALUES`, all sources."""
        op = node.op
        if op in _WHOLE:
            return ()
        if op in _FIRST_ONLY:
            return node.src[:1]
        own = node.src[1:] if op in (Op.Function, Op.Call) else node.src
        return [n for s in own for n in (self._inside_place(s) if _is_place(s) else (s,))][::-1]

    def _rebuilt(self, node: UOp) -> UOp:
        """A node on its finished operands; itself where they are ill-formed together."""
        op = node.op
        if not node.src or op in _WHOLE:
            return node
        if op in _FIRST_ONLY:
            return _made(node, (self._finished(node.src[0]), *node.src[1:]))
        body = node.src[:1] if op in (Op.Function, Op.Call) else ()
        own = node.src[len(body) :]
        return _made(node, (*body, *(self._place(s) if _is_place(s) else self._finished(s) for s in own)))

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
            new = _made(view, (new, *(map(self._finished, rest) if view.op in _INDEXED else rest)))
            self.places[view] = new
        return new

    def _circle(self, stack: list[UOp], wanted: UOp) -> RewriteError:
        """The error for rules that lead from a node back to itself."""
        steps = [self.became[n] for n in stack[stack.index(wanted) :] if n in self.became]
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


def _made(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """A node with other sources. Where the laws refuse them, as for an argument whose bounds got wider, the old one."""
    if src == node.src:
        return node
    try:
        return UOp(node.op, src, node.arg, node.tag)
    except IllFormed:
        return node


def _right_side(rule: Rule, env: Env, node: UOp) -> UOp | None:
    """The right side of a match, if it is another node, at the same place, of known shape."""
    try:
        right = build(rule.right, env, node)
    except IllFormed:  # this dtype or device has no instance of the rule
        return None
    assert right.shape is not None
    assert node.shape is not None
    alike = same_shape(right.shape, node.shape)
    if right.dtype is not node.dtype or alike is False:
        raise RewriteError(
            f"{rule.id} makes {right.dtype}{list(right.shape)} of {node.dtype}{list(node.shape)}",
            (rule.id,),
            hint="the rule is wrong; prove it before it is used",
        )
    same_place = right.device == node.device and right.axis == node.axis
    return right if right is not node and alike is True and same_place else None
