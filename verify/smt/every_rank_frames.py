"""
Frames
======

A permutation renames axes. Give the axes of a rank class names. A value, a vector or a vector of flags then has a
*frame*: which named axis stands at which place. A variable's frame is its own; ``t.permute(p)`` has the frame of t
followed by p; where an op joins terms axis by axis, their frames are one. So a frame is the frame of some variable
followed by a word over the permutations of the rule and their inverses, and words are compared as words of a free
group: nothing is used of a permutation but that it has an inverse.

**If frames can be given to all terms of a rule so that both sides have one frame, the rule is as true at every
permutation as where each of them is the identity.** For let values of the variables be given at some rank and some
permutations. Store each variable in the order of the named axes instead of its own. By induction over terms, every
term of the rule then has, with the identity for every permutation, the value that it had, in that order: an op that
treats axis by axis does not ask in which order they stand. The sides are equal there as they were here, and so are the
conditions; and every choice of values comes from another one in this way.

Conditions may equate words: under ``is_identity(p)``, ``p == q`` or ``p == inverse(q)`` a variable that a relation
determines is replaced. Conditions that speak of permutations are dropped when the rule is proved with identities; to
drop a condition makes a rule say more.

A reshape asks for the order of the axes: what is reshaped, and what it becomes, has in each class one and the same
frame, which is taken for the order of the names. So does a sum or a product of floats, whose elements are folded in
order (U-10) unless a licence frees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from soundline.spec.op_schema import Op
from soundline.spec.rules import Rule
from soundline.spec.terms import Flags, Perm, Term, show, subterms

Word = tuple[tuple[str, int], ...]
"""Permutation variables and, by -1, their inverses, applied from the left to the right; reduced."""

Frame = tuple[str, Word]
"""A variable, and the word that follows its frame."""


Ordered = Callable[[Term], bool]


class NoFrame(Exception):
    """The frames of a rule do not unify."""


def joined(*words: Word) -> Word:
    """Words one after another; a permutation beside its inverse vanishes."""
    found: list[tuple[str, int]] = []
    for letter, sign in (pair for word in words for pair in word):
        if found and found[-1] == (letter, -sign):
            found.pop()
        else:
            found.append((letter, sign))
    return tuple(found)


def inverted(word: Word) -> Word:
    """The word that undoes a word."""
    return tuple((letter, -sign) for letter, sign in reversed(word))


def has_permutations(term: Any) -> bool:
    """Whether a permutation occurs in a term."""
    return isinstance(term, Term) and any(isinstance(t, Perm) for t in subterms(term))


def same_frames(rule: Rule, classes: Mapping[str, str | int], ordered: Ordered) -> None:
    """Give frames to all terms of a rule; `ordered` says which terms ask for the order of the axes.

    Raises ``NoFrame``, with the reason, where frames do not unify.
    """
    frames = _Frames(rule, classes, ordered)
    sides = [frames.of(side) for side in (rule.left, rule.right)]
    frames.join(sides[0], sides[1], "the sides")
    for condition in rule.given:
        frames.of(condition)


class _Frames:
    """A union-find over variables, with a word along each edge."""

    def __init__(self, rule: Rule, classes: Mapping[str, str | int], ordered: Ordered) -> None:
        self.classes = classes
        self.ordered = ordered
        self.parent: dict[str, Frame] = {}
        self.known: dict[str, Word] = {}
        self.involutions: set[str] = set()
        self.uniform = Uniform(rule)
        for condition in stated(rule):
            self._relate(condition)

    # words ------------------------------------------------------------------------------------------------------

    def _relate(self, condition: Term) -> None:
        """Learn from a condition what word a permutation is."""
        if condition.head == "is_identity":
            relation = self.word(condition.args[0])
        elif condition.head == "same" and isinstance(condition.args[0], Perm):
            if not all(isinstance(a, Term) for a in condition.args):
                return  # a known permutation has a known rank, of which nothing is to be shown here
            relation = joined(self.word(condition.args[0]), inverted(self.word(condition.args[1])))
        else:
            return
        letters = [letter for letter, _ in relation]
        if len(relation) == 2 and relation[0] == relation[1]:
            self.involutions.add(letters[0])
        for k, (letter, sign) in enumerate(relation):
            if letters.count(letter) == 1:
                rest = joined(inverted(relation[:k]), inverted(relation[k + 1 :]))
                self.known[letter] = rest if sign == 1 else inverted(rest)
                return

    def word(self, term: Any) -> Word:
        """The word of a permutation."""
        if not isinstance(term, Term):
            raise NoFrame(f"the permutation {show(term)} numbers the axes")
        if term.head == "compose":
            return joined(*map(self.word, term.args))
        if term.head == "inverse":
            return inverted(self.word(term.args[0]))
        return self._substituted(((term.args[0], 1),))

    def _substituted(self, word: Word) -> Word:
        while any(letter in self.known for letter, _ in word):
            parts = [
                ((letter, sign),)
                if letter not in self.known
                else self.known[letter]
                if sign == 1
                else inverted(self.known[letter])
                for letter, sign in word
            ]
            word = joined(*parts)
        return self._with_involutions(word)

    def _with_involutions(self, word: Word) -> Word:
        """The word, where a permutation that is its own inverse vanishes beside itself."""
        found: list[tuple[str, int]] = []
        for letter, sign in word:
            same = letter if letter in self.involutions else None
            if found and found[-1] == ((same, 1) if same else (letter, -sign)):
                found.pop()
            else:
                found.append((letter, 1 if same else sign))
        return tuple(found)

    # frames -----------------------------------------------------------------------------------------------------

    def _root(self, frame: Frame) -> Frame:
        variable, word = frame
        while variable in self.parent:
            variable, before = self.parent[variable]
            word = joined(before, word)
        return variable, self._substituted(word)

    def join(self, a: Frame | None, b: Frame | None, where: object) -> Frame | None:
        """Make two frames one; None is the frame of what has no axes of its own."""
        if a is None or b is None:
            return b if a is None else a
        (x, v), (y, w) = self._root(a), self._root(b)
        if x != y:
            self.parent[y] = x, joined(v, inverted(w))
        elif v != w:
            raise NoFrame(f"{show(where)}: its parts have their axes in different orders")
        return a

    def of(self, term: Any) -> Frame | None:
        """The frame of a term; all joins in it are made on the way."""
        if not isinstance(term, Term) or isinstance(term, Perm):
            return None
        if isinstance(term, Flags) and self.uniform.of(term) is not None:
            return None  # the same on every axis
        head, args = term.head, term.args
        if head == "var":
            free = isinstance(self.classes.get(args[0]), str)
            return (args[0], ()) if free else None
        inside = [self.of(a) for a in args]
        if head in (Op.Permute, "permuted"):
            return None if inside[0] is None else (inside[0][0], joined(inside[0][1], self.word(args[1])))
        if isinstance(head, Op) and self.ordered(term):
            for frame in inside:
                if frame is not None:
                    self.join((f"order of {self.classes[frame[0]]}", ()), frame, term)
        if head in ("entry", "product"):
            return None
        if head is Op.Reshape and self.ordered(term):
            return inside[1]
        total: Frame | None = None
        for frame in inside:
            total = self.join(total, frame, term)
        return None if head in ("every axis", "same", "no_flags") else total


class Uniform:
    """Which flags are known to be set on every axis, or on none."""

    def __init__(self, rule: Rule) -> None:
        self._known: dict[str, bool] = {}
        for condition in stated(rule):
            if condition.head == "no_flags":
                self._know(condition.args[0], False)

    def _know(self, flags: Term, value: bool) -> None:
        if flags.head == "not":
            self._know(flags.args[0], not value)
        else:
            self._known[show(flags)] = value

    def of(self, flags: Any) -> bool | None:
        """Whether flags are set everywhere or nowhere; None where that is not known."""
        if not isinstance(flags, Term):
            return None
        if flags.head == "not":
            inside = self.of(flags.args[0])
            return None if inside is None else not inside
        return self._known.get(show(flags))


def stated(rule: Rule) -> list[Term]:
    """The conditions of a rule, each of which must hold: what is joined by and is taken apart."""
    pending, found = list(rule.given), []
    while pending:
        condition = pending.pop(0)
        if condition.head in ("and", Op.And):
            pending[:0] = condition.args
        else:
            found.append(condition)
    return found
