"""
Evidence
========

How the compiler learns what has been proved, without knowing how proofs are made. The court, which lives in `verify`,
implements `Court`; the package's front door plugs it in. Without a court every rule is *not checked*, and certificates
say so.

A declared rule is proved once, and the court is asked what it knows. A procedural rule is judged at each application,
and the court is asked to decide it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:  # `import soundline` loads this module, and nothing of the law
    from soundline.spec.ops.node import UOp

NOT_CHECKED: Final = "not checked"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a court knows about a rule: ``proved``, ``refuted``, ``unknown``, ``vacuous`` or ``not checked``."""

    verdict: str
    layers: tuple[tuple[str, str], ...] = ()
    """The verdict at each layer of the proof, for example ``("unbounded", "proved")``."""


class Court(Protocol):
    """Whoever can say what has been proved."""

    def ruling(self, rule_id: str) -> Ruling:
        """What is known about the rule with this id, without starting a long proof."""
        ...

    def application(self, before: UOp, after: UOp) -> Ruling:
        """Whether `after` may stand in the place of `before`, for all values of their leaves: decided now."""
        ...


class _NoCourt:
    def ruling(self, rule_id: str) -> Ruling:  # noqa: ARG002  # the same answer for every rule
        return Ruling(NOT_CHECKED)

    def application(self, before: UOp, after: UOp) -> Ruling:  # noqa: ARG002  # the same answer for every pair
        return Ruling(NOT_CHECKED)


_court: Court = _NoCourt()


def plug_in(court: Court | None) -> None:
    """Let this court rule from now on; None takes it away."""
    global _court  # noqa: PLW0603  # the one registration of the process
    _court = court if court is not None else _NoCourt()


def ruling(rule_id: str) -> Ruling:
    """What the court that is plugged in says about a rule."""
    return _court.ruling(rule_id)


def application(before: UOp, after: UOp) -> Ruling:
    """What the court that is plugged in says about one application of a procedural rule."""
    return _court.application(before, after)
