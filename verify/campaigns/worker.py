"""
The worker process
==================

Rule files run and goals are solved in processes of their own, which the campaign may kill. A worker reads one JSON
request per line from its standard input and answers in JSON lines on its standard output::

    {"do": "list", "file": …}    {"at": 12}* {"done": {"rules": […], "problems": […], …}}
    {"do": "prove", "file": …}   {"at": 12}* {"started": true} {"done": {"layer": {…}}}

The output of the file itself is redirected. When the campaign ends, the input ends, and so does the worker process,
even in the middle of a goal.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Rule
from soundline.verify.files.loader import Loaded, ill_typed, load
from soundline.verify.files.problems import Problem
from soundline.verify.verdicts.as_json import layer_to_json
from soundline.verify.verdicts.metering import measuring, to_json
from soundline.verify.verdicts.sameness import structure

Say = Callable[[dict[str, Any]], None]


def main(prover: str) -> None:
    """Serve requests until the input ends. `prover` names the module that proves rules."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = _own_streams()
    pending: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, pending), daemon=True).start()
    loaded: dict[tuple[str, tuple[int, ...]], Loaded] = {}

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    while True:
        request = pending.get()
        say({"done": _answer(request, say, prover, loaded)})


def _own_streams() -> tuple[IO[str], IO[str]]:
    """The pipes to the campaign, moved out of the way of what rule files and libraries print."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    return requests, answers


def _listen(requests: IO[str], pending: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in requests:
        pending.put(json.loads(line))
    os._exit(0)


def _answer(
    request: dict[str, Any], say: Say, prover: str, loaded: dict[tuple[str, tuple[int, ...]], Loaded]
) -> dict[str, Any]:
    if request["do"] in ("advise", "advise together"):
        from soundline.verify.advice.serving import serve

        return _guarded(lambda: serve(request, say, loaded))
    key = (request["file"], tuple(request["skip"]))
    if request["do"] == "list" or key not in loaded:
        loaded[key] = load(
            request["file"],
            module=request["module"],
            skip=request["skip"],
            reached=lambda line: say({"at": line}),
        )
    if request["do"] == "list":
        return _listing(loaded[key], say)
    say({"started": True})
    return _proof(loaded[key], request, prover)


def _guarded(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """An answer, or where a mistake of ours kept it from being given."""
    try:
        return answer()
    except Exception as error:  # noqa: BLE001  # as for proofs: it costs this answer only
        return {"failure": f"a mistake of soundline ({_where(error)})"}


def _listing(read: Loaded, say: Say) -> dict[str, Any]:
    """What the campaign must know of a file: its rules with their dtypes and structure, and its problems."""
    rules, problems = [], list(read.problems)
    for ordinal, stated in enumerate(read.rules):
        say({"at": stated.line})
        try:
            rules.append(_described(stated, ordinal))
        except RuleError as error:
            problems.append(ill_typed(error, stated))
        except RecursionError:
            message = "the rule is nested too deeply to be read"
            problems.append(Problem("not-a-rule", stated.file, stated.line, message, None, stated.id))
    return {
        "digest": read.digest,
        "rules": rules,
        "procedures": [
            {"id": p.id, "file": p.file, "line": p.line, "doc": p.doc, "ops": sorted(op.name for op in p.ops)}
            for p in read.procedures
        ],
        "problems": [p.to_json() for p in problems],
        "imported": read.imported,
        "helpers": read.helpers,
        "printed": read.printed,
    }


def _described(stated: Rule, ordinal: int) -> dict[str, Any]:
    from soundline.verify.verdicts.layers import layers_of

    return {
        "ordinal": ordinal,
        "id": stated.id,
        "file": stated.file,
        "line": stated.line,
        "statement": str(stated),
        "doc": stated.doc,
        "licences": list(stated.licences),
        "layers": [[name, dtype.name] for name, dtype in layers_of(stated)],
        "structure": structure(stated),
    }


def _proof(read: Loaded, request: dict[str, Any], prover: str) -> dict[str, Any]:
    """The result of one layer of one rule, or the problem that shows it to be no rule."""
    if read.digest != request["digest"] or request["ordinal"] >= len(read.rules):
        return {"problem": _read_otherwise(read, request).to_json()}
    stated = read.rules[request["ordinal"]]
    try:
        if structure(stated) != request["structure"]:
            return {"problem": _read_otherwise(read, request).to_json()}
        with measuring() as meter:
            found = layer_to_json(_solve(stated, request, importlib.import_module(prover)))
        return {"layer": found, "goals": to_json(meter), "gave_up": meter.gave_up}
    except RuleError as error:
        return {"problem": ill_typed(error, stated).to_json()}
    except Exception as error:  # noqa: BLE001  # a mistake of ours is not shown as a traceback, and decides nothing
        return {"failure": _where(error)}


def _read_otherwise(read: Loaded, request: dict[str, Any]) -> Problem:
    """The problem of a file that states other rules now than when its rules were listed."""
    if read.digest != request["digest"]:
        return Problem("changed-file", read.file, None, "changed while it was being verified", "run again")
    why = f": {read.problems[0].message}" if read.problems else ""
    hint = (
        "a rule file may depend on installed packages and on modules in its own folder, the same everywhere"
    )
    return Problem("changed-file", read.file, None, f"states other rules where they are proved{why}", hint)


def _solve(stated: Rule, request: dict[str, Any], prover: Any) -> Any:
    from soundline.spec import dtypes
    from soundline.verify.smt.goals.solving import Budget

    dtype = next(d for d in (*dtypes.all_dtypes, dtypes.bool_) if d.name == request["dtype"])
    return prover.prove_layer(
        stated,
        dtype,
        Budget(**{**request["budget"], "opinions": tuple(request["budget"].get("opinions", ()))}),
    )


def _where(error: Exception) -> str:
    """One line about a mistake of ours: what it was and which of our lines met it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}soundline{os.sep}" in f.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    message = str(error).split("\n", 1)[0][:200]
    return f"{type(error).__name__} in {place}: {message}".rstrip(": ")


if __name__ == "__main__":
    main(sys.argv[1])
