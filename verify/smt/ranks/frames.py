"""
Frames
======

A permutation renames axes. Give the axes of a rank class names. A value, a vector or a vector of flags then has a
*frame*: which named axis stands at which place. A variable's frame is its own; ``t.permute(p)`` has the frame of t
followed by p; where an op joins terms axis by axis, their frames are one. So a frame is the frame of some occurrence of
a variable followed by a word over the permutations of the rule (`verify.smt.ranks.permutations`).

**If frames can be given to all terms of a rule so that both sides have one frame, the rule is as true at every
permutation as where each of them is the identity.** For let values of the variables be given at some rank and some
permutations. Store each variable in the order of the named axes instead of its own. By induction over terms, every
term of the rule then has, with the identity for every permutation, the value that it had, in that order: an op that
treats axis by axis does not ask in which order they stand. The sides are equal there as they were here, and so are the
conditions; and every choice of values comes from another one in this way.

The places at which a variable occurs get frames of their own first, and nothing clashes. Two places are then joined as
places of one variable if they have one frame, or if what stands there is invariant under the word between their frames:
under ``f.permute(p) == f`` the f at one of them may be written ``f.permute(p)``. Of a tensor of which only the shape is
asked, the shape need be invariant. Where neither is so, the places become places of *two variables*. The rule then says
more: it says the same of any two values, where it spoke of one value at both. A condition is stated for each choice of
these variables with which its parts have one frame. It holds of two variables as it held of one, and to drop a
condition makes a rule say more. So conditions on permutations are dropped, when the rule is proved with identities.

Some terms ask for the order of the axes, which is then taken for the order of their names: a reshape, of what is
reshaped and of what it becomes, in each class; a sum or a product of floats, whose elements are reduced in order (U-10)
unless a licence frees it; an axis with a number; and Index and Stack, which take away and add leading axes, so that
what they make has the order of the axes that are left (`verify.smt.ranks.leading_axes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Flags, Perm, Term, rebuilt, show, subterms
from soundline.verify.smt.ranks.conditions import Uniform, compares_permutations, stated
from soundline.verify.smt.ranks.permutations import Invariances, NoWord, Word, Words, inverted, joined
from soundline.verify.smt.ranks.shapes import Classes, class_of

MOST_COPIES = 32
"""A condition is stated again for so many choices of variables."""

Frame = tuple[str, Word]
"""A place at which a variable occurs, and the word that follows its frame."""

Ordered = Callable[[Term], bool]


class NoFrame(Exception):
    """The frames of a rule do not unify."""


@dataclass(frozen=True)
class Unpermuted:
    """A rule that is to be proved with the identity for every permutation."""

    rule: Rule
    classes: Classes
    apart: str = ""
    """A variable that became several, of which elements are asked; empty where there is none."""


def unpermuted(rule: Rule, classes: Classes, ordered: Ordered) -> Unpermuted:
    """A rule of which this one is a consequence if it is right where every permutation is the identity.

    `ordered` says which terms ask for the order of the axes. Raises ``NoFrame``, with the reason, where two such terms
    have their axes in different orders.
    """
    try:
        return _Variables(rule, classes, ordered).told()
    except NoWord as missing:
        raise NoFrame(str(missing)) from None


@dataclass(frozen=True)
class _Leaf:
    """A place at which a variable with axes occurs."""

    name: str
    place: str
    sizes: bool
    """Whether only its shape is asked."""


class _Frames:
    """A union-find over places, with a word along each edge."""

    def __init__(self, rule: Rule, classes: Mapping[str, str | int], ordered: Ordered) -> None:
        self.classes = classes
        self.ordered = ordered
        self.words = Words(rule)
        self.uniform = Uniform(rule)
        self.parent: dict[str, Frame] = {}
        self.leaves: list[_Leaf] = []
        self.met = 0

    def root(self, frame: Frame) -> Frame:
        """The frame, from the first of the places that are joined with it."""
        place, word = frame
        while place in self.parent:
            place, before = self.parent[place]
            word = joined(before, word)
        return place, self.words.normal(word)

    def between(self, a: Frame, b: Frame) -> Word | None:
        """The word that leads from one frame to the other; None where nothing joins them."""
        (x, v), (y, w) = self.root(a), self.root(b)
        return self.words.normal(joined(inverted(v), w)) if x == y else None

    def join(self, a: Frame | None, b: Frame | None, where: object) -> Frame | None:
        """Make two frames one; None is the frame of what has no axes of its own."""
        if a is None or b is None:
            return b if a is None else a
        (x, v), (y, w) = self.root(a), self.root(b)
        if x != y:
            self.parent[y] = x, joined(v, inverted(w))
        elif v != w:
            raise NoFrame(f"{show(where)}: its parts have their axes in different orders")
        return a

    def of(self, term: Any, *, sizes: bool = False) -> Frame | None:
        """The frame of a term; all joins in it are made on the way, and its places are noted in their order."""
        if not self.is_met(term):
            return None
        head, args = term.head, term.args
        if head == "var":
            return self._occurring(args[0], sizes)
        inside = [self.of(a, sizes=sizes or head == "shape of") for a in args]
        if head in (Op.Permute, "permuted"):
            return None if inside[0] is None else (inside[0][0], joined(inside[0][1], self.words.of(args[1])))
        if self._asks_for_order(term):
            for arg, frame in zip(args, inside, strict=True):
                self._in_order(class_of(arg, self.classes), frame, term)
        if head in ("entry", "product"):
            return None
        if head is Op.Reshape and self.ordered(term):
            return inside[1]
        if head in (Op.Index, Op.Stack):
            return self._order(class_of(term, self.classes))
        total: Frame | None = None
        for frame in inside:
            total = self.join(total, frame, term)
        return None if head in ("every axis", "same", "no_flags", "one_axis") else total

    def is_met(self, term: Any) -> bool:
        """Whether a term may have a frame: flags that are the same on every axis have any."""
        if not isinstance(term, Term) or isinstance(term, Perm):
            return False
        return not isinstance(term, Flags) or self.uniform.of(term) is None

    def _occurring(self, name: str, sizes: bool) -> Frame | None:
        if not isinstance(self.classes.get(name), str):
            return None
        self.met += 1
        self.leaves.append(_Leaf(name, f"{name} at {self.met}", sizes))
        return self.leaves[-1].place, ()

    def _asks_for_order(self, term: Term) -> bool:
        if term.head in (Op.Index, Op.Stack, "entry"):
            return True
        if isinstance(term.head, Op) and self.ordered(term):
            return True
        return any(isinstance(a, Flags) and _has_numbers(a) for a in term.args)

    def _in_order(self, rank_class: object, frame: Frame | None, where: Term) -> None:
        if frame is not None:
            self.join(self._order(rank_class), frame, where)

    def _order(self, rank_class: object) -> Frame | None:
        return (f"order of {rank_class}", ()) if isinstance(rank_class, str) else None


def _has_numbers(flags: Term) -> bool:
    """Whether axes are numbered in a set of axes."""
    return any(t.head == "axes" for t in subterms(flags))


class _Variables:
    """Joins the places of a variable, or makes several variables of it."""

    def __init__(self, rule: Rule, classes: Classes, ordered: Ordered) -> None:
        self.rule = rule
        self.frames = _Frames(rule, classes, ordered)
        self.invariances = Invariances(rule, self.frames.words)
        self.places: dict[str, list[tuple[str, Frame]]] = {}
        """By variable: the variables that it becomes, and the frame of each."""
        self.apart = ""

    def told(self) -> Unpermuted:
        """The rule with a variable for each frame."""
        rule, frames = self.rule, self.frames
        sides = [frames.of(side) for side in (rule.left, rule.right)]
        frames.join(sides[0], sides[1], "the sides")
        leaves = frames.leaves
        names = {leaf.place: self._name(leaf) for leaf in sorted(leaves, key=lambda leaf: leaf.sizes)}
        chosen = iter([names[leaf.place] for leaf in leaves])
        left, right = (self._renamed(side, chosen) for side in (rule.left, rule.right))
        given = [c for condition in stated(rule) for c in self._conditions(condition)]
        new = {copy: name for name, copies in self.places.items() for copy, _ in copies if copy != name}
        as_it_was = not new and _same_terms(given, rule.given)
        if not as_it_was:
            kinds = {**rule.kinds, **{copy: rule.kinds[name] for copy, name in new.items()}}
            rule = replace(rule, left=left, right=right, given=tuple(given), kinds=kinds)
        classes = {**frames.classes, **{copy: frames.classes[name] for copy, name in new.items()}}
        return Unpermuted(rule, classes, self.apart)

    def _name(self, leaf: _Leaf) -> str:
        """The variable that stands at a place: one of those that are there, or a new one."""
        copies = self.places.setdefault(leaf.name, [])
        for copy, frame in copies:
            if self._fits(leaf, frame):
                return copy
        copies.append((f"{leaf.name}'{len(copies) + 1}" if copies else leaf.name, (leaf.place, ())))
        if len(copies) > 1 and not leaf.sizes and self.rule.kinds[leaf.name].kind == "Tensor":
            self.apart = leaf.name
        return copies[-1][0]

    def _fits(self, leaf: _Leaf, frame: Frame) -> bool:
        """Whether a variable with this frame may stand at a place; then they are joined where nothing joined them."""
        word = self.frames.between(frame, (leaf.place, ()))
        if word is None:
            self.frames.join(frame, (leaf.place, ()), leaf.name)
            return True
        is_tensor = self.rule.kinds[leaf.name].kind == "Tensor"
        if is_tensor and not leaf.sizes:
            return not word
        return self.invariances.under(f"{leaf.name}.shape" if is_tensor else leaf.name, word)

    # conditions -------------------------------------------------------------------------------------------------

    def _conditions(self, condition: Term) -> Iterator[Term]:
        """A condition for each choice of variables with which its parts have one frame."""
        if compares_permutations(condition):
            return
        leaves = self._leaves(condition)
        if leaves is None:
            return
        options = [[copy for copy, _ in self.places.get(leaf.name, ())] or [leaf.name] for leaf in leaves]
        seen: set[tuple[str, ...]] = set()
        for chosen in product(*options):
            if len(seen) >= MOST_COPIES:
                return
            if chosen not in seen and self._hold(condition, chosen):
                yield self._renamed(condition, iter(chosen))
            seen.add(chosen)

    def _leaves(self, condition: Term) -> list[_Leaf] | None:
        """The places in a condition, which are now joined as it asks; None where that cannot be done."""
        before, self.frames.leaves = dict(self.frames.parent), []
        try:
            self.frames.of(condition)
        except NoFrame:
            self.frames.parent = before
            return None
        return self.frames.leaves

    def _hold(self, condition: Term, chosen: tuple[str, ...]) -> bool:
        """Whether the parts of a condition have one frame with these variables; they are joined then."""
        before = dict(self.frames.parent)
        leaves = self._leaves(condition)
        assert leaves is not None
        for leaf, name in zip(leaves, chosen, strict=True):
            copies = self.places.setdefault(leaf.name, [])
            if not copies:
                copies.append((leaf.name, (leaf.place, ())))
            frame = next(frame for copy, frame in copies if copy == name)
            if not self._fits(leaf, frame):
                self.frames.parent = before
                return False
        return True

    def _renamed(self, term: Any, names: Iterator[str]) -> Any:
        """A term with these variables at its places, in their order."""
        if not self.frames.is_met(term):
            return term
        if term.head == "var":
            if not isinstance(self.frames.classes.get(term.args[0]), str):
                return term
            name = next(names)
            return term if name == term.args[0] else type(term)("var", (name,))
        return rebuilt(term, lambda a: self._renamed(a, names))


def _same_terms(a: list[Term], b: tuple[Term, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
