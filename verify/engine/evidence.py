"""
Evidence for the implementation
===============================

The implementation asks what has been proved of a rule that it applied (`soundline.impl.evidence`), and gets the answer
from the cache of verdicts: no rule is proved while a program is compiled. A rule with a layer that was never judged, or
judged under another version of the law, the prover or the solver, is *not checked*; ``soundline verify`` checks it. An
application of a procedural rule is decided on the spot, where it is not in the cache: see `verify.engine.applications`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from soundline.impl.evidence import NOT_CHECKED, Ruling
from soundline.spec.ops.node import UOp
from soundline.spec.rules.language import Rule
from soundline.verify.verdicts.cache import Cache, Key
from soundline.verify.verdicts.effort import BUDGETS
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.sameness import structure
from soundline.verify.verdicts.verdict import RuleReport


@cache
def shipped() -> Mapping[str, Rule]:
    """The rules that the road may apply, by id."""
    from soundline.impl.rules import LIBRARY

    return {rule.id: rule for rule in LIBRARY}


@cache
def keys_of(rule_id: str) -> tuple[tuple[str, Key], ...]:
    """The layers of a shipped rule, each with the key of its verdict."""
    rule = shipped()[rule_id]
    digest = structure(rule)
    return tuple((name, Key(digest, name, dtype.name, rule.id, 0)) for name, dtype in layers_of(rule))


class CachedCourt:
    """Rulings from the cache of verdicts; applications of procedures are validated now."""

    def __init__(
        self,
        cached: Cache | None = None,
        keys: Callable[[str], tuple[tuple[str, Key], ...]] = keys_of,
    ) -> None:
        self.cached = cached or Cache()
        self.keys = keys

    def ruling(self, rule_id: str) -> Ruling:
        """What is known about the rule: its verdict where every layer was judged, else *not checked*."""
        try:
            keys = self.keys(rule_id)
        except KeyError:
            return Ruling(NOT_CHECKED)
        found = {name: self.cached.get(key, BUDGETS["normal"]) for name, key in keys}
        known = tuple(result for result in found.values() if result is not None)
        layers = tuple((n, r.verdict if r is not None else NOT_CHECKED) for n, r in found.items())
        report = RuleReport(rule_id, "", 0, "", known)
        if known and (len(known) == len(keys) or report.verdict == "refuted"):
            return Ruling(report.verdict, layers)
        return Ruling(NOT_CHECKED, layers)

    def application(self, before: UOp, after: UOp) -> Ruling:
        """Whether one node may stand for another."""
        from soundline.verify.engine.applications import ruled

        return ruled(before, after)
