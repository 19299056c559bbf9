"""
Advice from a worker
====================

Rule files run in processes of their own, and so does the search for advice on their rules. A worker answers two
requests: ``advise`` about one rule of a file, and ``advise together`` about the rules of many files as a set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Rule
from soundline.verify.advice.advising import advise_rule, advise_together
from soundline.verify.advice.results import to_json
from soundline.verify.files.loader import Loaded, load
from soundline.verify.smt.goals.solving import Budget

Say = Callable[[dict[str, Any]], None]
Read = dict[tuple[str, tuple[int, ...]], Loaded]
"""The files that this worker has read, with the lines left out."""


def serve(request: dict[str, Any], say: Say, read: Read) -> dict[str, Any]:
    """The answer to one request for advice; what is wrong with the rules is said where they are judged."""
    budget = Budget(**request["budget"])
    files = [(f, _loaded(f, say, read)) for f in request["files"]]
    if any(loaded.digest != f["digest"] for f, loaded in files):
        return {"failure": "a file changed while its rules were verified"}
    say({"started": True})
    rules = [r for f, loaded in files for r in _chosen(f, loaded)]
    try:
        if request["do"] == "advise":
            return {"advice": to_json(advise_rule(rules[0], request["verdict"], budget))}
        covered, order = advise_together(rules, request["proved"], budget)
    except RuleError as error:
        return {"failure": error.message}
    found = {name: [to_json(s) for s in those] for name, those in covered.items()}
    return {"subsumed": found, "order": to_json(order)}


def _chosen(file: dict[str, Any], loaded: Loaded) -> list[Rule]:
    """The rules of a file that are asked about."""
    return [loaded.rules[n] for n in file["ordinals"] if n < len(loaded.rules)]


def _loaded(file: dict[str, Any], say: Say, read: Read) -> Loaded:
    key = (file["file"], tuple(file["skip"]))
    if key not in read:
        read[key] = load(
            file["file"], module=file["module"], skip=file["skip"], reached=lambda line: say({"at": line})
        )
    return read[key]
