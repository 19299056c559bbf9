"""
Words of permutations
=====================

A permutation that is made of others is a *word* over the permutation variables of a rule and their inverses. Words are
compared as words of a free group: nothing is used of a permutation but that it has an inverse, and what conditions say.

Under ``is_identity(p)``, ``p == q`` or ``p == inverse(q)`` a variable that a relation determines is replaced. A
condition such as ``f.permute(p) == f`` says of a vector that it is *invariant* under a word. It then is so under every
product of such words and of their inverses, and so is each vector that conditions equate with it, with the word turned
over: if g is f permuted by w, and f is invariant under v, then g is invariant under w⁻¹ v w.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Flags, Perm, Term, show
from soundline.verify.smt.ranks.conditions import stated

Word = tuple[tuple[str, int], ...]
"""Permutation variables and, by -1, their inverses, applied from the left to the right; reduced."""

MOST_WORDS = 300
"""How many words under which a vector is invariant are made."""

_KEEPS_SHAPE = frozenset((Op.Flip, *group_of("marker")))


class NoWord(Exception):
    """A permutation is no word over variables."""


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


class Words:
    """The permutations of a rule as words, and what its conditions say of these."""

    def __init__(self, rule: Rule) -> None:
        self.known: dict[str, Word] = {}
        self.involutions: set[str] = set()
        for condition in stated(rule):
            self._relate(condition)

    def _relate(self, condition: Term) -> None:
        """Learn from a condition what word a permutation is."""
        if condition.head == "is_identity":
            relation = self.of(condition.args[0])
        elif condition.head == "same" and isinstance(condition.args[0], Perm):
            if not all(isinstance(a, Term) for a in condition.args):
                return  # a known permutation has a known rank, of which nothing is to be shown here
            relation = joined(self.of(condition.args[0]), inverted(self.of(condition.args[1])))
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

    def of(self, term: Any) -> Word:
        """The word of a permutation. Raises ``NoWord``."""
        if not isinstance(term, Term):
            raise NoWord(f"the permutation {show(term)} numbers the axes")
        if term.head == "compose":
            return joined(*map(self.of, term.args))
        if term.head == "inverse":
            return inverted(self.of(term.args[0]))
        return self.normal(((term.args[0], 1),))

    def normal(self, word: Word) -> Word:
        """The word with nothing in it that conditions determine."""
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


class Invariances:
    """Which vectors of a rule stay what they are when they are permuted, by the conditions that equate vectors."""

    def __init__(self, rule: Rule, words: Words) -> None:
        self.words = words
        self._parent: dict[str, tuple[str, Word]] = {}
        """A vector as another one that is permuted by a word."""
        self._rounds: dict[str, list[Word]] = {}
        """By vector, words under which it is invariant; all others follow from these."""
        self._made: dict[str, frozenset[Word]] = {}
        for a, b in _equated(rule):
            self._equate(self._permuted(a), self._permuted(b))

    def under(self, vector: str, word: Word) -> bool:
        """Whether a vector, a variable or the ``.shape`` of one, is known to be invariant under a word."""
        word = self.words.normal(word)
        if not word:
            return True
        root, path = self._root(vector)
        return self.words.normal(joined(path, word, inverted(path))) in self._group(root)

    def _group(self, root: str) -> frozenset[Word]:
        """Words under which a vector is invariant: products of those that conditions name."""
        if root not in self._made:
            steps = [w for g in self._rounds.get(root, ()) for w in (g, inverted(g))]
            found: set[Word] = {()}
            latest: list[Word] = [()] if steps else []
            while latest and len(found) < MOST_WORDS:
                made = {self.words.normal(joined(w, step)) for w in latest for step in steps} - found
                found |= made
                latest = sorted(made)
            self._made[root] = frozenset(found)
        return self._made[root]

    def _root(self, vector: str) -> tuple[str, Word]:
        word: Word = ()
        while vector in self._parent:
            vector, before = self._parent[vector]
            word = joined(before, word)
        return vector, word

    def _equate(self, a: tuple[str, Word] | None, b: tuple[str, Word] | None) -> None:
        """Learn that two permuted vectors are one."""
        if a is None or b is None:
            return
        (x, v), (y, w) = self._root(a[0]), self._root(b[0])
        turn = joined(v, a[1], inverted(joined(w, b[1])))
        if x != y:
            self._parent[y] = x, turn
            moved = [joined(turn, g, inverted(turn)) for g in self._rounds.pop(y, ())]
            self._rounds.setdefault(x, []).extend(moved)
        elif self.words.normal(turn):
            self._rounds.setdefault(x, []).append(turn)

    def _permuted(self, vector: Any) -> tuple[str, Word] | None:
        """A vector as a variable, or the shape of one, that is permuted by a word; None where it is none."""
        if not isinstance(vector, Term):
            return None
        head, args = vector.head, vector.args
        if head == "var":
            return str(args[0]), ()
        if head == "shape of":
            return self._shape(args[0])
        if head == "permuted":
            return self._turned(self._permuted(args[0]), args[1])
        return None

    def _shape(self, value: Term) -> tuple[str, Word] | None:
        head, args = value.head, value.args
        if head == "var":
            return f"{args[0]}.shape", ()
        if head is Op.Permute:
            return self._turned(self._shape(args[0]), args[1])
        return self._shape(args[0]) if head in _KEEPS_SHAPE else None

    def _turned(self, inside: tuple[str, Word] | None, order: Any) -> tuple[str, Word] | None:
        try:
            return None if inside is None else (inside[0], joined(inside[1], self.words.of(order)))
        except NoWord:
            return None


def _equated(rule: Rule) -> Iterator[tuple[Any, Any]]:
    """The pairs of vectors, or flags, of which a condition says that they are one."""
    for condition in stated(rule):
        if condition.head == "same" and any(isinstance(a, Flags) for a in condition.args):
            yield condition.args[0], condition.args[1]
        if condition.head == "every axis" and condition.args[0] is Op.CmpEq:
            yield condition.args[1], condition.args[2]
