"""
Results
=======

What advice on rules consists of, as data that travels between processes and stands in reports.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Missing:
    """What a refuted rule lacks: the weakest conditions found, each of which was proved to make it right.

    `weakest` holds one text for each condition, ready for ``given(…)``; several are incomparable. It is empty where
    none was found. `literals` is the size of the grammar, `tried` how many conditions were put before the prover.
    """

    weakest: tuple[str, ...]
    literals: int
    points: int
    tried: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class TooStrong:
    """A condition of a proved rule that asks for more than the rule needs; the rule is proved with `instead` of it.

    `instead` is empty where the condition can be left out. `example` is a point that the weaker rule gains.
    """

    condition: str
    instead: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Subsumed:
    """A rule of which every instance is one of another rule of the same run, with the same result."""

    by: str
    how: str
    """What the other rule's variables stand for."""
    same: bool
    """Whether the right sides are the same expression; else their values were proved equal."""


@dataclass(frozen=True, slots=True)
class UnderConvention:
    """What becomes of a rule under a convention of division."""

    name: str
    verdict: str
    at: str = ""
    """Where it is refuted, or why it is not decided."""
    stated: bool = False
    """Whether it is the convention in which the rule is stated."""


@dataclass(frozen=True, slots=True)
class RuleAdvice:
    """What is advised about one rule."""

    id: str
    file: str
    line: int
    missing: Missing | None = None
    too_strong: tuple[TooStrong, ...] = ()
    subsumed: tuple[Subsumed, ...] = ()
    note: str = ""
    """Why something could not be looked into."""
    conventions: tuple[UnderConvention, ...] = ()
    """For a rule that divides, what becomes of it under each convention of division."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.missing or self.too_strong or self.subsumed or self.note or self.conventions)


@dataclass(frozen=True, slots=True)
class Loop:
    """Rules for which no decreasing order was found; with a term on which the engine does not terminate, where one is
    known.

    `steps` are the terms of the loop, each with the rule that leads to the next; `text` says how it ends.
    """

    rules: tuple[str, ...]
    steps: tuple[tuple[str, str], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """Why rewriting ends: the measures that shrink, in the order in which they are compared."""

    measures: tuple[str, ...]
    rules: int
    """How many rules they cover."""
    exempt: tuple[str, ...] = ()
    """The rules that the engine keeps apart: those that its matcher uses itself, and decompositions."""
    loops: tuple[Loop, ...] = ()
    """The rules that no measure covers."""
    note: str = ""
    """Why it could not be looked into."""
    unread: tuple[str, ...] = ()
    """The rules that these measures do not reach."""
    first: tuple[tuple[str, str, str], ...] = ()
    """(rule, variable, earlier rule): the earlier one applies wherever the variable is a constant."""


@dataclass(frozen=True, slots=True)
class Advice:
    """All that is advised about the rules of a run."""

    rules: tuple[RuleAdvice, ...]
    order: Order | None = None

    def of(self, rule_id: str) -> RuleAdvice:
        """The advice on one rule. Raises ``KeyError`` where there is no such rule."""
        for advice in self.rules:
            if advice.id == rule_id:
                return advice
        raise KeyError(rule_id)


def to_json(part: RuleAdvice | Subsumed | Order) -> dict[str, Any]:
    """Advice as JSON data."""
    return asdict(part)


def rule_from_json(data: dict[str, Any]) -> RuleAdvice:
    """The advice on a rule that `to_json` wrote."""
    missing = data["missing"]
    return RuleAdvice(
        data["id"],
        data["file"],
        data["line"],
        None if missing is None else Missing(**{**missing, "weakest": tuple(missing["weakest"])}),
        tuple(TooStrong(**x) for x in data["too_strong"]),
        tuple(Subsumed(**x) for x in data["subsumed"]),
        data["note"],
        tuple(UnderConvention(**x) for x in data["conventions"]),
    )


def order_from_json(data: dict[str, Any]) -> Order:
    """The order that `to_json` wrote."""
    loops = tuple(
        Loop(tuple(x["rules"]), tuple((str(a), str(b)) for a, b in x["steps"]), x["text"])
        for x in data["loops"]
    )
    names = {name: tuple(data[name]) for name in ("measures", "exempt", "unread")}
    first = tuple((str(a), str(b), str(c)) for a, b, c in data["first"])
    return Order(rules=data["rules"], loops=loops, note=data["note"], first=first, **names)
