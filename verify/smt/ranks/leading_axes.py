"""
Leading axes
============

Index takes axes away on the left, Stack adds one there. The axes that are left are treated one by one as before, so
that the classes of what is indexed and of what it becomes are one class but for a number of *leading* axes. Counted
from the right, an axis of one is the same axis of the other.

What an index does to a leading axis has nothing to do with the other axes: it is a scalar, or one index for each
position of one new axis. So the leading axes that some term has are kept, as axes are that have a number, and of the
others few suffice (`verify.smt.ranks.counts`): to drop one of them drops it from all terms, and Index and Stack still
find their axes where they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Term, show, subterms
from soundline.verify.smt.ranks.shapes import SHIFT, Classes, class_of

LEADING = (Op.Index, Op.Stack)
"""The ops that take away or add leading axes."""


class NotLeading(Exception):
    """An Index or a Stack does more than to take away or to add leading axes."""


class Leading:
    """How many leading axes the terms of a rule have, in each family of classes that Index and Stack relate."""

    def __init__(self, rule: Rule, classes: Classes) -> None:
        self.classes = classes
        self._parent: dict[str, tuple[str, int]] = {}
        """A class by another one, and by how much its ranks are higher."""
        self._tops = (rule.left, rule.right, *rule.given)
        self.found = [t for t in self._all_terms() if t.head in LEADING and self._family(t) is not None]
        if self.found:
            self._relate(rule)
        heights: dict[str, list[int]] = {}
        for term in self._all_terms():
            family = self._family(term)
            if family is not None:
                heights.setdefault(family[0], []).append(family[1])
        self._most = {name: max(above) for name, above in heights.items()}
        self.depth = max((max(above) - min(above) for above in heights.values()), default=0)
        """How many axes some term has at most before the first axis of another."""

    def before(self, term: Term) -> int:
        """How many axes other terms have before the first axis of a term."""
        family = self._family(term)
        return 0 if family is None else self._most[family[0]] - family[1]

    def kept(self) -> int:
        """How many leading axes are to be kept, for the sake of Index and Stack."""
        kept = 0
        for term in self.found:
            own = len(term.args) - 1 if term.head is Op.Index else 1
            source = term.args[0] if term.head is Op.Index else term
            kept = max(kept, self.before(source) + own)
        return kept

    def _all_terms(self) -> Iterator[Term]:
        for top in self._tops:
            yield from subterms(top)

    def _relate(self, rule: Rule) -> None:
        for term in self._all_terms():
            if term.head is Op.Index:
                self._check(term)
            else:
                self._join([a for a in term.args if self._joins(term, a)], term)
        self._join([rule.left, rule.right], rule.right)

    def _check(self, term: Term) -> None:
        """An index is a scalar, or has a known rank."""
        for index in term.args[1:]:
            if isinstance(class_of(index, self.classes), str):
                raise NotLeading(f"{show(index)} indexes with an unknown number of axes")

    def _joins(self, term: Term, arg: Any) -> bool:
        """Whether an argument of a term has as many axes as its neighbours."""
        if term.head in (Op.Reshape, "entries", "entry", "product", "body", "over"):
            return False
        return isinstance(arg, Term) and class_of(arg, self.classes) is not None

    def _join(self, terms: list[Any], where: Term) -> None:
        families = [f for t in terms if (f := self._family(t)) is not None]
        if not families:
            return
        if any(isinstance(class_of(t, self.classes), int) for t in terms):
            raise NotLeading(f"{show(where)} has a known rank by its parts alone")
        for term in terms:
            (first, above), family = self._family(terms[0]) or families[0], self._family(term)
            if family is None or family == (first, above):
                continue
            if family[0] == first:
                raise NotLeading(f"{show(where)} joins axes that an Index or a Stack tells apart")
            self._parent[family[0]] = first, above - family[1]

    def _family(self, term: Any) -> tuple[str, int] | None:
        """The family of a term's class, and by how much its ranks are higher than those of the family."""
        rank_class = class_of(term, self.classes)
        if not isinstance(rank_class, str):
            return None
        name, _, by = rank_class.partition(SHIFT)
        above = int(by or 0)
        while name in self._parent:
            name, more = self._parent[name]
            above += more
        return name, above
