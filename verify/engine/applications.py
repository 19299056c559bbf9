"""
Validating an application
=========================

One node put in the place of another: are they the same for all values of the leaves? Both are read element by element
(`elements`); where they are not the same expressions, each pair of elements becomes a scalar obligation for the prover
of rules. Equal obligations are one: variables are numbered in the order in which they are met, and what was decided is
remembered, and kept in the cache of verdicts.

Elements may be invalid (U-01). What replaces a node must use no element that the node did not use; where that is not
plain from the form of both, it is an obligation of its own, about bools that say which elements are valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from soundline.impl.evidence import Ruling
from soundline.spec.dtypes import DType, Element, bool_, index
from soundline.spec.errors import IllFormed
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.textual_form import program_text
from soundline.spec.ops.walks import filled, postorder
from soundline.spec.uop import const, param
from soundline.verify.engine.elements import Elements, Numbers, Outside, Row, TooLarge
from soundline.verify.engine.views import Reader, Structure, View, structure, views
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving import scalars
from soundline.verify.verdicts.cache import Cache, Key
from soundline.verify.verdicts.effort import Effort
from soundline.verify.verdicts.verdict import LayerResult

Status = Literal["proved", "refuted", "unknown"]

EFFORT = Effort(rlimit=3_000_000, seconds=10.0)
"""The limits of one obligation."""

MOST = 2_000_000
"""How many elements are read one by one."""

UNROLLED = 48
"""A longer reduction is one unknown function of what it reduces."""

PAIRS = 512
"""How many pairs of elements that differ in form are looked at."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """Two scalar programs over Params, and what holds of these."""

    left: UOp
    right: UOp
    hypotheses: tuple[UOp, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found of one view."""

    status: Status
    how: str
    obligations: int = 0
    """How many scalar obligations the prover was asked about."""
    leaves: int = 0


class Validator:
    """Validates applications; remembers what was decided."""

    def __init__(self, cache: Cache | None = None, effort: Effort = EFFORT) -> None:
        self.cache = cache
        self.effort = effort
        self.reader = Reader()
        self.decided: dict[Obligation, Status] = {}
        self.seen: dict[Structure, Validation] = {}
        """What was found of views, by their structure."""
        self.solved = 0
        """How many obligations were given to the prover."""

    def validate(self, before: UOp, after: UOp, *, depth: int = 4) -> Validation:
        """What can be shown of a rewrite, by views that show more and more."""
        if before is after:
            return Validation("proved", "one node")
        found = Validation("unknown", "it cannot be read element by element")
        asked = 0
        for view in views(before, after, depth):
            found = self.of_view(view)
            asked += found.obligations
            if found.status == "proved":
                break
        return Validation(found.status, found.how, asked, found.leaves)

    def of_view(self, view: View) -> Validation:
        """What is shown by one view; of equal views, once."""
        key = structure(view, self.reader)
        if key not in self.seen:
            self.seen[key] = self._of_view(view)
        return self.seen[key]

    def _of_view(self, view: View) -> Validation:
        """First as if all positions were alike, then position by position."""
        if (view.before.dtype, view.before.shape) != (view.after.dtype, view.after.shape):
            return Validation("refuted", "another dtype or shape")
        for uniform in (True, False):
            try:
                return self._read(view, uniform=uniform)
            except Outside:
                continue
            except TooLarge:
                return Validation("unknown", f"more than {MOST:,} elements")
            except IllFormed as refused:
                return Validation("unknown", f"no scalar program: {refused.rule}")
        return Validation("unknown", "it cannot be read element by element")

    def _read(self, view: View, *, uniform: bool) -> Validation:
        elements = Elements(view.leaves, MOST, uniform=uniform)
        left, right = elements.of(view.before), elements.of(view.after)
        pairs = _different(left, right)
        count = len(view.leaves)
        if not pairs:
            return Validation("proved", "the same elements", 0, count)
        if len(pairs) > PAIRS * 8:
            return Validation("unknown", f"{len(pairs):,} elements differ in form", 0, count)
        writer = Writer(elements, view.leaves, self.reader)
        asked: dict[Obligation, None] = {}
        for a, b in pairs:
            asked.update(dict.fromkeys(writer.obligations(a, b)))
            if len(asked) > PAIRS:
                return Validation("unknown", "too many kinds of elements differ in form", len(asked), count)
        found = [self.decide(o) for o in asked]
        status = _joined(found)
        if status == "proved":
            return Validation("proved", "each element, for all values", len(asked), count)
        how = "an element has another value" if status == "refuted" else "the prover did not decide it"
        return Validation(status, how, len(asked), count)

    def witness(self, view: View) -> dict[UOp, list[tuple[int, Element]]] | None:
        """Elements of the leaves on which the solver finds that the sides of a view differ; None where it finds none.

        For each leaf, positions with their elements; the others do not matter.
        """
        for uniform in (True, False):
            try:
                elements = Elements(view.leaves, MOST, uniform=uniform)
                pairs = _different(elements.of(view.before), elements.of(view.after))
            except (Outside, TooLarge):
                continue
            writer = Writer(elements, view.leaves, self.reader)
            for a, b in pairs[:PAIRS]:
                found = self._point(writer, a, b)
                if found is not None:
                    return _by_leaf(found, view, writer)
        return None

    def _point(self, writer: Writer, before: int, after: int) -> dict[int, Element] | None:
        """The elements, by the expressions that they are, at which one pair of expressions differs."""
        text = _Text(writer)
        left, right = text.node(before), text.node(after)
        if left is right:
            return None
        pair = scalars.pair(left, right, tuple(text.hypotheses))
        finding = scalars.decide(pair, Budget(self.effort.rlimit, self.effort.seconds, self.effort.seed))
        if finding.point is None:
            return None
        values = dict(zip(pair.variables.values(), finding.point, strict=True))
        return {k: values[v] for k, v in text.variables.items() if v in values}

    def decide(self, obligation: Obligation) -> Status:
        """What is known of a scalar obligation, decided if need be."""
        found = self.decided.get(obligation)
        if found is None:
            found = self.decided[obligation] = self._from_cache(obligation) or self._solve(obligation)
        return found

    def _from_cache(self, obligation: Obligation) -> Status | None:
        if self.cache is None:
            return None
        result = self.cache.get(_key(obligation), self.effort)
        return None if result is None else _status(result)

    def _solve(self, obligation: Obligation) -> Status:
        self.solved += 1
        budget = Budget(self.effort.rlimit, self.effort.seconds, self.effort.seed)
        result = scalars.equivalent(obligation.left, obligation.right, obligation.hypotheses, budget)
        status = _status(result)
        if self.cache is not None and status != "refuted":
            self.cache.put(_key(obligation), self.effort, result)
        return status


def _status(result: LayerResult) -> Status:
    """A vacuous obligation asks for nothing: no values meet the bounds."""
    return "proved" if result.verdict == "vacuous" else result.verdict


def _joined(found: Iterable[Status]) -> Status:
    statuses = set(found)
    if "refuted" in statuses:
        return "refuted"
    return "unknown" if "unknown" in statuses else "proved"


def _different(left: Numbers, right: Numbers) -> list[tuple[int, int]]:
    """The pairs of expressions that stand at one position and are not the same, each once."""
    a, b = left.reshape(-1), right.reshape(-1)
    unlike = a != b
    rows = np.unique(np.stack([a[unlike], b[unlike]], axis=-1), axis=0)
    return [(x, y) for x, y in rows.tolist()]


def _by_leaf(
    found: dict[int, Element], view: View, writer: Writer
) -> dict[UOp, list[tuple[int, Element]]] | None:
    """Elements by the leaf and position that they stand at; None where a loop runs over a leaf."""
    leaves: dict[UOp, list[tuple[int, Element]]] = {}
    for k, value in found.items():
        place, position, around = writer.elements.row(k).arg
        if around:
            return None
        leaves.setdefault(view.leaves[place], []).append((position, value))
    return leaves


@cache
def _version() -> str:
    """The digest of the modules of this package, on which a verdict rests besides the prover."""
    from pathlib import Path

    here = Path(__file__).resolve().parent
    names = ("applications", "elements", "views")
    return hashlib.sha256(b"".join((here / f"{n}.py").read_bytes() for n in names)).hexdigest()


def _key(obligation: Obligation) -> Key:
    text = program_text(obligation.left, obligation.right, *obligation.hypotheses)
    digest = hashlib.sha256(f"{_version()}\n{text}".encode()).hexdigest()
    return Key(digest, "application", obligation.left.dtype.name, "", 0)


# Scalar programs --------------------------------------------------------------------------------------------------


class Writer:
    """Writes expressions as scalar programs over Params."""

    def __init__(self, elements: Elements, leaves: Sequence[UOp], reader: Reader) -> None:
        self.elements = elements
        self.bounds = [reader.bounds(leaf) for leaf in leaves]
        self.valid = [reader.always_valid(leaf) for leaf in leaves]

    def obligations(self, before: int, after: int) -> Iterator[Obligation]:
        """What must hold for one expression to stand for another: equal values, and no element used that was not."""
        text = _Text(self)
        left, right = text.node(before), text.node(after)
        if left is not right:
            yield Obligation(left, right, tuple(text.hypotheses))
        if not self._possibly_used(after) <= self._surely_used(before):
            text = _Text(self)
            allowed, wanted = text.validity(before), text.validity(after)
            if wanted is not allowed:
                true = const(True, bool_)
                yield Obligation(wanted, true, (allowed, *text.hypotheses))

    def _surely_used(self, number: int) -> set[int]:
        return self._used(number, sure=True)

    def _possibly_used(self, number: int) -> set[int]:
        return {k for k in self._used(number, sure=False) if not self.is_valid(k)}

    def is_valid(self, number: int) -> bool:
        """Whether an element of a leaf is valid whatever the program is run on."""
        row = self.elements.row(number)
        return row.head == "leaf" and bool(self.valid[row.arg[0]])

    def _used(self, number: int, *, sure: bool) -> set[int]:
        rows = self.elements.row

        def below(k: int) -> tuple[int, ...]:
            return rows(k).operands[: 1 if sure and rows(k).head is Op.Where else None]

        return {k for k in postorder((number,), below) if rows(k).head in ("leaf", "invalid")}


class _Text:
    """One obligation: its variables in the order in which they are met."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.row = writer.elements.row
        self.known: dict[int, UOp] = {}
        self.checked: dict[int, UOp] = {}
        self.variables: dict[int, UOp] = {}
        """The Params that stand for elements of leaves."""
        self.count = 0
        self.hypotheses: list[UOp] = []

    def node(self, root: int) -> UOp:
        """The program of an expression."""

        def below(k: int) -> tuple[int, ...]:
            return () if self._is_opaque(self.row(k)) else self.row(k).operands

        def law(k: int) -> UOp:
            row = self.row(k)
            made = self._variable(row) if self._is_opaque(row) else self._made(row)
            if row.head == "leaf":
                self.variables[k] = made
            return made

        return filled(self.known, root, below, law)

    def _is_opaque(self, row: Row) -> bool:
        return row.head in ("leaf", "invalid") or (row.head == "reduction" and len(row.operands) > UNROLLED)

    def _made(self, row: Row) -> UOp:
        sources = tuple(self.known[o] for o in row.operands)
        if row.head is Op.Const:
            return const(row.arg.value, row.dtype)
        if row.head == "reduction":
            total = sources[0]
            for source in sources[1:]:
                total = UOp(row.arg, (total, source))
            return total
        return UOp(row.head, sources, row.arg)

    def _variable(self, row: Row) -> UOp:
        """A Param for an element of which its bounds are all that is known."""
        slot, self.count = self.count, self.count + 1
        if row.head != "leaf":
            return param(slot, row.dtype)
        known = self.writer.bounds[row.arg[0]]
        if known is None:  # there is no such element
            made = param(slot, row.dtype)
            self.hypotheses.append(const(False, bool_))
            return made
        made, conditions = bounded(slot, row.dtype, known)
        self.hypotheses += conditions
        return made

    def validity(self, root: int) -> UOp:
        """Whether an expression is valid, as a program."""
        self.node(root)
        return filled(
            self.checked, root, lambda k: self.row(k).operands, lambda k: self._validity_of(k, self.row(k))
        )

    def _validity_of(self, k: int, row: Row) -> UOp:
        if row.head == "invalid":
            return const(False, bool_)
        if row.head == "leaf":
            if self.writer.is_valid(k):
                return const(True, bool_)
            slot, self.count = self.count, self.count + 1
            return param(slot, bool_)
        parts = [self.checked[o] for o in row.operands]
        if row.head is Op.Where:
            chosen = Op.Where(self.node(row.operands[0]), parts[1], parts[2])
            return Op.And(parts[0], chosen)
        total = const(True, bool_)
        for part in dict.fromkeys(parts):
            total = Op.And(total, part)
        return total


def bounded(slot: int, dtype: DType, known: Bounds) -> tuple[UOp, list[UOp]]:
    """A Param with bounds, as far as a Param can have them, and what else the bounds say as conditions."""
    low, high = known.lo, known.hi
    if known.maybe_nan or (dtype is bool_ and low != high):
        return param(slot, dtype), []
    if dtype is bool_:
        flag = param(slot, dtype)
        return flag, [flag if low else Op.Not(flag)]
    open_low, open_high = low == dtype.min, high == dtype.max
    if open_low and open_high and not dtype.is_float:
        return param(slot, dtype), []
    if dtype is index and (open_low or open_high):
        made = param(slot, dtype)
        if open_high:
            return made, [Op.CmpLe(const(int(low), dtype), made)]
        return made, [Op.CmpLe(made, const(int(high), dtype))]
    ends = [_end(dtype, e) for e in (low, high)]
    made = param(slot, dtype, bounds=(ends[0], ends[1]))
    if dtype.is_float or low == dtype.max or high == dtype.min:
        low_end, high_end = (const(e, dtype) for e in ends)
        return made, [Op.CmpLe(low_end, made), Op.CmpLe(made, high_end)]
    return made, []


def _end(dtype: DType, end: Element) -> Element:
    return float(end) if dtype.is_float else int(end)


@cache
def _court_validator() -> Validator:
    return Validator(Cache())


def ruled(before: UOp, after: UOp) -> Ruling:
    """What the court says of one application of a procedural rule: decided now, if it is not known yet."""
    found = _court_validator().validate(before, after)
    return Ruling(found.status, (("application", found.status),))
