"""
The court
=========

Proofs, refutations and reports about what `soundline.spec` states and `soundline.impl` does. This module is the
vocabulary of rule files: ``from soundline.verify import *`` gives everything that a rewrite rule is written with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soundline.verify import vocabulary

if TYPE_CHECKING:
    from soundline.verify.advice.advising import advise as advise
    from soundline.verify.vocabulary import *  # noqa: F403

__all__: list[str] = []
__all__ += vocabulary.__all__

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A word of the vocabulary, or `advise`, which is no word of it: it brings the solver."""
        if name in __all__:
            return getattr(vocabulary, name)
        if name == "advise":
            from soundline.verify.advice.advising import advise

            return advise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
