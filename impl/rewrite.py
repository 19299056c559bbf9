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

from soundline.impl.applications import Application, attempt
from soundline.impl.facts import Facts
from soundline.impl.folding import fold
from soundline.impl.matching import Pattern, patterns_of
from soundline.spec.building import Env, build
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

_VALUES = frozenset(
    (*group_of("elementwise", "decomposed", "movement", "marker"), Op.Reduce, Op.CDiv, Op.CMod, Op.Wmma)
)
"""Ops that read their sources' values; any other op may mean the place that a source names."""

_FIRST_ONLY = frozenset((Op.Reshape, Op.Expand, Op.Pad, Op.Shrink, Op.Reduce, Op.End))
"""Ops of whose sources only the first is a value: the rest are sizes, or the Ranges that they close."""

_VIEWS = frozenset(
    (Op.After, Op.Reshape, Op.Permute, Op.Flip, Op.Shrink, Op.Expand, Op.Index, Op.Slice, Op.Bitcast)
)
_STORAGE = (Op.Buffer, Op.Param)
_INDEXED = (Op.After, Op.Index, Op.Slice)
"""Views of a place whose other sources are values or effects; those of the rest are sizes."""


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
    if limit is None:
        limit = 10_000 + 100 * sum(1 for _ in toposort(root))
    run = _Run(_index(granted), limit, watch, validate)
    result = run.normal_form(root)
    return Rewritten(result, tuple(sorted(run.applied.items())), run.folded, tuple(run.applications))


class _Index:
    """The patterns of rules, by the ops of a node and of its sources; each combination is looked up once."""

    def __init__(self, rules: tuple[Rule | Procedure, ...]) -> None:
        self._patterns: list[Pattern | Procedure] = []
        for r in rules:
            self._patterns += [r] if isinstance(r, Procedure) else patterns_of(r)
        self._found: dict[tuple[Op, ...], tuple[Pattern | Procedure, ...]] = {}

    def at(self, node: UOp) -> tuple[Pattern | Procedure, ...]:
        """The patterns and procedures that can match at a node, in the order of their rules."""
        ops = (node.op, *[s.op for s in node.src[:3]])
        found = self._found.get(ops)
        if found is None:
            found = self._found[ops] = tuple(p for p in self._patterns if _may_match(p, ops))
        return found


def _may_match(pattern: Pattern | Procedure, ops: tuple[Op, ...]) -> bool:
    return ops[0] in pattern.ops if isinstance(pattern, Procedure) else pattern.may_match(ops)


@lru_cache(maxsize=64)
def _index(rules: tuple[Rule | Procedure, ...]) -> _Index:
    return _Index(rules)


@dataclass(slots=True)
class _Frame:
    """A node whose normal form is being computed."""

    node: UOp
    wanted: Iterator[UOp]
    """What must be finished first: the operands, then the result of a step."""
    rebuilt: UOp | None = None
    """The node on finished operands."""
    result: UOp | None = None
    """What the step made of it."""
    by: str = ""
    """The rule of that step."""


@dataclass(slots=True)
class _Run:
    """One call of `rewrite`."""

    index: _Index
    limit: int
    watch: Watcher | None
    validate: bool
    facts: Facts = field(default_factory=Facts)
    applied: Counter[str] = field(default_factory=Counter)
    applications: list[Application] = field(default_factory=list)
    folded: int = 0
    steps: int = 0
    done: dict[UOp, UOp] = field(default_factory=dict)
    """The normal form of every node that is finished."""
    places: dict[UOp, UOp] = field(default_factory=dict)
    """A place with its indices in normal form."""

    def normal_form(self, root: UOp) -> UOp:
        """The normal form of a node. The stack is explicit, because a program may be deeper than Python's."""
        done, active = self.done, {root}
        stack = [_Frame(root, self._operands(root))]
        while stack:
            frame = stack[-1]
            wanted = next((n for n in frame.wanted if n not in done), None)
            if wanted is not None:
                if wanted in active:
                    raise _circle(stack, wanted)
                active.add(wanted)
                stack.append(_Frame(wanted, self._operands(wanted)))
            elif frame.rebuilt is None:
                self._step(frame)
            else:
                self._finish(frame)
                active.discard(frame.node)
                stack.pop()
        return done[root]

    def _finish(self, frame: _Frame) -> None:
        assert frame.rebuilt is not None
        final = frame.rebuilt if frame.result is None else self.done[frame.result]
        self.done[frame.node] = self.done[frame.rebuilt] = self.done[final] = final

    def _step(self, frame: _Frame) -> None:
        """Rebuild a node on its finished operands, and apply to it what applies first."""
        node = frame.rebuilt = self._rebuilt(frame.node)
        if node is not frame.node:
            frame.result = node if node in self.done else None
        if frame.result is None:
            folded = fold(node)
            if folded is not None:
                self.folded += 1
                frame.result = folded
                if self.watch is not None:
                    self.watch(FOLDING, node, folded)
            else:
                frame.result, frame.by = self._applied(node)
        if frame.result is not None:
            frame.wanted = iter((frame.result,))

    def _applied(self, node: UOp) -> tuple[UOp | None, str]:
        """The right side of the first rule that applies to a node, and the rule's name."""
        for pattern in self.index.at(node):
            if isinstance(pattern, Procedure):
                right = self._attempted(pattern, node)
                if right is not None:
                    self._count(pattern, (), node, right)
                    return right, pattern.id
                continue
            env = pattern.match(node, self.facts)
            right = _right_side(pattern.rule, env, node) if env is not None else None
            if right is not None:
                self._count(pattern.rule, pattern.exchanged, node, right)
                return right, pattern.rule.id
        return None, ""

    def _attempted(self, procedure: Procedure, node: UOp) -> UOp | None:
        """What a procedure makes of a node, where the application is kept."""
        application = attempt(procedure, node, self.facts, ask=self.validate)
        if application is None:
            return None
        self.applications.append(application)
        return application.after if application.kept else None

    def _count(self, step: Rule | Procedure, exchanged: tuple[str, ...], node: UOp, right: UOp) -> None:
        self.steps += 1
        self.applied.update((step.id, *exchanged))
        if self.watch is not None:
            self.watch(step, node, right)
        if self.steps > self.limit:
            often = tuple(name for name, _ in self.applied.most_common(3))
            raise RewriteError(
                f"more than {self.limit} applications; most often {', '.join(often)}",
                often,
                hint="these rules make each other match again; orient them, or raise limit=",
            )

    # which parts of a node are rewritten

    def _operands(self, node: UOp) -> Iterator[UOp]:
        """The nodes that are rewritten before a node is."""
        if node.op in _WHOLE:
            return iter(())
        if node.op in _FIRST_ONLY:
            return iter(node.src[:1])
        if node.op in _VALUES:
            return iter(node.src)
        own = node.src[1:] if node.op in (Op.Function, Op.Call) else node.src
        return (n for s in own for n in (self._inside_place(s) if _is_place(s) else (s,)))

    def _rebuilt(self, node: UOp) -> UOp:
        """A node on its finished operands; itself where they are ill-formed together."""
        done = self.done
        if not node.src or node.op in _WHOLE:
            return node
        if node.op in _FIRST_ONLY:
            return _made(node, (done[node.src[0]], *node.src[1:]))
        if node.op in _VALUES:
            return _made(node, tuple([done[s] for s in node.src]))
        body = node.src[:1] if node.op in (Op.Function, Op.Call) else ()
        own = node.src[len(body) :]
        return _made(node, (*body, *(self._place(s) if _is_place(s) else done[s] for s in own)))

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
            new = _made(view, (new, *((self.done[s] for s in rest) if view.op in _INDEXED else rest)))
            self.places[view] = new
        return new


def _is_place(node: UOp) -> bool:
    """Whether a node names storage: a Buffer or Param under views."""
    while node.op in _VIEWS:
        node = node.src[0]
    return node.op in _STORAGE


def _made(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """A node with other sources. Where the laws refuse them, as for an argument whose bounds got wider, the old one."""
    if all(a is b for a, b in zip(src, node.src, strict=True)):
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


def _circle(stack: list[_Frame], wanted: UOp) -> RewriteError:
    """The error for rules that lead from a node back to itself."""
    start = next(k for k, frame in enumerate(stack) if frame.node is wanted)
    names = tuple(dict.fromkeys(frame.by for frame in stack[start:] if frame.by))
    return RewriteError(
        f"rewriting {wanted} leads back to it by {', '.join(names)}",
        names,
        hint="leave one of these rules out, or give it a direction by a condition",
    )
