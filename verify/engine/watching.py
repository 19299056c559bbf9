"""
Watching the engine
===================

One graph is rewritten with everything that the engine has, and each step that it makes is judged: *proved* where the
prover shows it for all values of the leaves, *evaluated* where the evaluator finds no difference on inputs, *undecided*
where neither is possible, *wrong* with the smallest term that shows it. Then the graph as a whole is evaluated before
and after: if every step preserves its value, the engine must too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from soundline.impl.rewriting.engine import FOLDING, RewriteError, Step, rewrite
from soundline.spec.arrays.arrays import Array, Cell
from soundline.spec.dtypes import Element
from soundline.spec.errors import EvaluationError, SoundlineError
from soundline.spec.evaluate import execute
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.textual_form import program_text
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure
from soundline.spec.rules.terms import Term
from soundline.verify.engine.applications import Validation, Validator
from soundline.verify.engine.blame import Shown, paste_ready, smallest
from soundline.verify.engine.corpus import Graph
from soundline.verify.engine.inputs import (
    SIMPLE,
    Difference,
    Inputs,
    difference,
    kernel_work,
    open_inputs,
    search,
    work,
)
from soundline.verify.engine.views import View, abstracted, whole_view

PROCEDURE_DEPTH = 4
"""How deep the first view of a procedure's application is cut, where both sides share nothing."""

TRIED = 200
"""On how many inputs a rewrite is evaluated that is not proved."""

MOST_WORK = 6_000
"""Graphs of more elements than this, counted by `work` and `kernel_work`, are not evaluated as a whole."""


@dataclass(frozen=True)
class Finding:
    """Something wrong: whose mistake, in which graph, and the smallest term that shows it."""

    step: str
    kind: str
    """``rule``, ``procedure``, ``constants`` or ``engine``."""
    where: str
    statement: str
    graph: str
    message: str
    before: str = ""
    after: str = ""
    bindings: tuple[tuple[str, str], ...] = ()
    left: str = ""
    right: str = ""
    test: str = ""
    size: int = 0


@dataclass
class Tally:
    """What became of the uses of one step."""

    fired: int = 0
    proved: int = 0
    evaluated: int = 0
    undecided: int = 0
    wrong: int = 0
    inputs: int = 0
    """On how many inputs the evaluated ones were found to agree."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why uses are not proved."""

    def add(self, other: Tally) -> None:
        """Take in another tally of the same step."""
        for name in ("fired", "proved", "evaluated", "undecided", "wrong", "inputs"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.reasons += other.reasons


@dataclass
class Seen:
    """What was seen of some graphs."""

    graphs: int = 0
    rewritten: int = 0
    """How many graphs were rewritten at all."""
    rewrites: int = 0
    compared: int = 0
    """How many of the rewritten graphs were evaluated whole, on at least one input on which they have a value."""
    inputs: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    obligations: int = 0
    """How many scalar obligations were met, equal ones counted once."""
    views: int = 0
    """How many views were looked at, equal ones counted once."""

    def add(self, other: Seen) -> None:
        """Take in what was seen of other graphs."""
        for name in ("graphs", "rewritten", "rewrites", "compared", "inputs", "obligations", "views"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, tally in other.tallies.items():
            self.tallies.setdefault(name, Tally()).add(tally)
        self.findings += other.findings


class Watch:
    """Rewrites graphs with these steps and judges what is done."""

    def __init__(self, steps: Sequence[Rule | Procedure], validator: Validator) -> None:
        self.steps = tuple(steps)
        self.validator = validator
        self.blamed: Counter[str] = Counter()

    def graph(self, graph: Graph, inputs: int) -> Seen:
        """What is seen of one graph, evaluated whole on so many inputs."""
        seen = Seen(graphs=1)
        made: list[tuple[Step, UOp, UOp]] = []
        try:
            done = rewrite(graph.root, self.steps, watch=lambda *step: made.append(step), validate=False)
        except RewriteError as error:
            seen.findings.append(_of_engine(graph, error.rule or "engine", error.message))
            return seen
        except SoundlineError as error:
            seen.findings.append(
                _of_engine(graph, error.rule or "engine", f"{type(error).__name__}: {error}")
            )
            return seen
        seen.rewrites, seen.rewritten = len(made), int(done.uop is not graph.root)
        for step, before, after in made:
            self._judge(seen, graph, step, before, after)
        if done.uop is not graph.root:
            self._compare(seen, graph, done.uop, inputs)
        return seen

    # one step -----------------------------------------------------------------------------------------------------

    def _judge(self, seen: Seen, graph: Graph, step: Step, before: UOp, after: UOp) -> None:
        tally = seen.tallies.setdefault(step.id, Tally())
        tally.fired += 1
        try:
            found = self.validator.validate(before, after, depth=depth_of(step))
        except Exception as error:  # noqa: BLE001  # a mistake of the court's is none of the step's
            found = Validation("unknown", f"the validation failed: {type(error).__name__}: {error}")
        if found.status == "proved":
            tally.proved += 1
            return
        view = whole_view(before, after)
        open_pair = abstracted(view, self.validator.reader)
        pair = open_pair or (before, after)
        agreed, differs = self._search(pair)
        if differs is None and open_pair is not None and found.status == "refuted":
            differs = self._from_solver(pair, view)
        if differs is not None:
            tally.wrong += 1
            tally.reasons["wrong"] += 1
            self._blame(seen, graph, step, pair, differs)
            return
        tally.inputs += agreed
        tally.evaluated += agreed > 0
        tally.undecided += agreed == 0
        tally.reasons[found.how] += 1

    def _search(self, pair: tuple[UOp, UOp]) -> tuple[int, Difference | None]:
        """On how many inputs both sides of a rewrite agree, and inputs on which they do not."""
        if work(*pair) > 24_000:
            return 0, None
        try:
            return search(*pair, seed="engine", count=TRIED if work(*pair) < 400 else 24)
        except SoundlineError:  # a program that is nothing by itself, such as a part of a kernel
            return 0, None

    def _from_solver(self, pair: tuple[UOp, UOp], view: View) -> Difference | None:
        """The inputs that the solver found, if the evaluator agrees."""
        found = self.validator.witness(view)
        if found is None:
            return None
        (inputs,) = open_inputs(Op.Tuple(*pair), "engine", 1)
        params = dict(inputs.params)
        for slot, leaf in enumerate(view.leaves):
            if slot in params and leaf in found:
                params[slot] = _with(params[slot], found[leaf])
        differs = difference(*pair, Inputs(params, inputs.buffers, inputs.ranges))
        return differs if isinstance(differs, Difference) else None

    def _blame(
        self, seen: Seen, graph: Graph, step: Step, pair: tuple[UOp, UOp], differs: Difference
    ) -> None:
        """Show the first wrong uses of a step, each as small as it can be made; count the others."""
        self.blamed[step.id] += 1
        if self.blamed[step.id] > 3:
            return
        seen.findings.append(_shown(step, graph, smallest(step, *pair, differs)))

    # the whole graph ----------------------------------------------------------------------------------------------

    def _compare(self, seen: Seen, graph: Graph, after: UOp, count: int) -> None:
        if graph.lowered:
            count = 1
        if (kernel_work(graph.root) if graph.lowered else work(graph.root, after)) > MOST_WORK:
            return
        agreed = 0
        for inputs in _inputs_of(graph, count):
            found = _differs(graph, after, inputs)
            if isinstance(found, str):
                if not seen.findings:
                    seen.findings.append(_of_engine(graph, "engine", found, after))
                return
            agreed += found
        seen.compared += agreed > 0
        seen.inputs += agreed


def _with(array: Array, elements: Sequence[tuple[int, Element]]) -> Array:
    """An array with some elements replaced; where one position stands for all, all of them."""
    cells: list[Cell] = list(array.elements)
    for position, value in elements:
        if len(elements) == 1 and position == 0:
            cells = [value] * len(cells)
        elif position < len(cells):
            cells[position] = value
    return Array(array.dtype, array.shape, tuple(cells))


def _inputs_of(graph: Graph, count: int) -> Iterator[Inputs]:
    if graph.buffers:
        yield Inputs({}, dict(graph.buffers), {})
    few = graph.lowered or bool(graph.buffers)
    yield from open_inputs(graph.root, graph.name, count, first=SIMPLE if few else 0)


def _differs(graph: Graph, after: UOp, inputs: Inputs) -> bool | str:
    """Whether a graph was found to agree with what was made of it; what is wrong where it does not."""
    if graph.lowered:
        try:
            first = execute(graph.root, inputs.buffers)
        except SoundlineError:
            return False
        try:
            second = {
                **inputs.buffers,
                **execute(after, inputs.buffers),
            }  # what it no longer reads is as it was
            same = all(second[slot] == array for slot, array in first.items())
            return same or "the kernel stores other values"
        except SoundlineError as error:
            return f"the kernel cannot be run: {type(error).__name__}: {error}"
    try:
        found = difference(graph.root, after, inputs)
    except EvaluationError:
        return False
    if isinstance(found, Difference):
        return f"is {found.before}, and after rewriting {found.after or found.refusal}"
    return found is None


def _of_engine(graph: Graph, step: str, message: str, after: UOp | None = None) -> Finding:
    """A finding that no single step is to blame for."""
    before = program_text(graph.root)
    return Finding(
        step, "engine", "", "", graph.name, message, before, "" if after is None else program_text(after)
    )


def _shown(step: Step, graph: Graph, shown: Shown) -> Finding:
    found = shown.difference
    inputs = [(f"p{slot}", repr(a)) for slot, a in sorted(found.inputs.params.items())]
    inputs += [(f"buffer {slot}", repr(a)) for slot, a in sorted(found.inputs.buffers.items())]
    inputs += [(f"loop {name}", str(n)) for name, n in found.inputs.ranges.items()]
    kind = "constants" if step is FOLDING else "procedure" if isinstance(step, Procedure) else "rule"
    return Finding(
        step=step.id,
        kind=kind,
        where=f"{step.file}:{step.line}" if isinstance(step, Rule | Procedure) else "",
        statement=str(step) if isinstance(step, Rule) else step.doc if isinstance(step, Procedure) else "",
        graph=graph.name,
        message="the rewrite makes another value",
        before=program_text(shown.before),
        after=program_text(shown.after),
        bindings=tuple(inputs),
        left=repr(found.before),
        right=repr(found.after) if found.after is not None else found.refusal,
        test=paste_ready(step.id, shown),
        size=len(program_text(shown.before).splitlines()),
    )


@cache
def depth_of(step: Step) -> int:
    """How many operations deep the left side of a rule is."""
    return max(1, _depth(step.left)) if isinstance(step, Rule) else 1 if step is FOLDING else PROCEDURE_DEPTH


def _depth(term: object) -> int:
    if not isinstance(term, Term):
        return 0
    inside = max((_depth(a) for a in term.args), default=0)
    return inside + (isinstance(term.head, Op) or term.head == "op")
