"""
Verdicts as JSON
================

The form of a layer's result between processes and in the cache.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

from soundline.verify.verdicts.verdict import (
    Case,
    Confirmation,
    Counterexample,
    Difference,
    LayerResult,
    Opinion,
    Replay,
    Verdict,
)


def layer_to_json(result: LayerResult) -> dict[str, Any]:
    """A layer's result as a JSON object."""
    return asdict(result)


def layer_from_json(data: dict[str, Any]) -> LayerResult:
    """The result that `layer_to_json` wrote. Raises ``ValueError``, ``KeyError`` or ``TypeError`` for anything else."""
    if data["verdict"] not in get_args(Verdict):
        raise ValueError(f"not a verdict: {data['verdict']!r}")
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
        holds_when=tuple(str(text) for text in data["holds_when"]),
        opinions=tuple(Opinion(o["by"], o["answer"], o["detail"]) for o in data["opinions"]),
        bug=str(data["bug"]),
    )


def _counterexample(data: dict[str, Any]) -> Counterexample:
    texts = {name: str(data[name]) for name in ("instance", "left", "right", "test", "note")}
    return Counterexample(
        bindings=tuple((str(name), str(text)) for name, text in data["bindings"]),
        differences=tuple(
            Difference(tuple(d["position"]), str(d["left"]), str(d["right"])) for d in data["differences"]
        ),
        differing=int(data["differing"]),
        steps=tuple((str(expression), str(value)) for expression, value in data["steps"]),
        replays=tuple(replay_from_json(r) for r in data["replays"]),
        case=None if data["case"] is None else case_from_json(data["case"]),
        **texts,
    )


def replay_from_json(data: dict[str, Any]) -> Replay:
    """A replay, from what ``asdict`` made of it."""
    if data["result"] not in get_args(Confirmation):
        raise ValueError(f"not a result of a replay: {data['result']!r}")
    return Replay(str(data["by"]), data["result"], str(data["detail"]))


def case_from_json(data: dict[str, Any]) -> Case:
    """A case, from what ``asdict`` made of it."""
    inputs = tuple(
        (int(slot), str(dtype), tuple(shape), tuple(bits)) for slot, dtype, shape, bits in data["inputs"]
    )
    return Case(str(data["left"]), str(data["right"]), inputs)
