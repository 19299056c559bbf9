"""
Verdicts as JSON
================

How a layer's result travels between processes and rests in the cache.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

from soundline.verify.verdicts import Counterexample, LayerResult, Verdict


def layer_to_json(result: LayerResult) -> dict[str, Any]:
    """A layer's result as a JSON object."""
    return asdict(result)


def layer_from_json(data: dict[str, Any]) -> LayerResult:
    """The result that `layer_to_json` wrote. Raises ``ValueError``, ``KeyError`` or ``TypeError`` for anything else."""
    if data["verdict"] not in get_args(Verdict):
        raise ValueError(f"no verdict: {data['verdict']!r}")
    found = data["counterexample"]
    texts = ("layer", "verdict", "covered", "detail")
    if not all(isinstance(data[name], str) for name in texts):
        raise TypeError("a layer's result is made of texts")
    return LayerResult(
        layer=data["layer"],
        verdict=data["verdict"],
        covered=data["covered"],
        counterexample=None if found is None else _counterexample(found),
        detail=data["detail"],
    )


def _counterexample(data: dict[str, Any]) -> Counterexample:
    bindings = tuple((str(name), str(text)) for name, text in data["bindings"])
    rest = {name: str(data[name]) for name in ("instance", "left", "right", "test", "note")}
    return Counterexample(bindings=bindings, **rest)
