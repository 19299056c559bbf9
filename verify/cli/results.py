"""
Explaining results
==================

Explains in sentences a JSON report of ``soundline verify``, ``check``, ``compile``, ``run`` or ``bench``. With an id
after the file, ``report.json::my_rule`` or ``report.json::kernel 2``, it explains that entry alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from soundline.spec.errors import UsageError

Report = Mapping[str, Any]
Lines = Iterator[tuple[str, Sequence[str]]]
"""The id and the explanation of each entry of a report."""

VERDICTS = {
    "proved": "The rule is right at every layer, for everything that the layer covers: for all values of its "
    "variables that meet its conditions, if the left side is valid, the right side is, and they are equal.",
    "refuted": "The rule is wrong at some layer. The counterexample is the smallest that was found, and the law's own "
    "evaluator has computed both sides of it before it is shown.",
    "unknown": "Neither proved nor refuted within the budget. The report says what was covered and which goal "
    "resisted; a larger --budget may decide it.",
    "vacuous": "The rule says nothing: its conditions exclude every input, both sides are the same term, no dtype "
    "admits it, or only empty tensors match. It does not count as proved.",
}
"""The meaning of each verdict."""


def is_result(wanted: str) -> bool:
    """Whether a text names a file of results."""
    return wanted.partition("::")[0].endswith((".json", ".sarif"))


def explained(wanted: str) -> str:
    """What a report says, or what it says of one id. Raises ``UsageError`` where it is no report, or has no such id."""
    file, _, part = wanted.partition("::")
    report = _read(file)
    reader = next((r for asked, r in _READERS if asked(report)), None)
    if reader is None:
        raise UsageError(f"{file} is not a report of soundline")
    try:
        told = list(reader(report))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UsageError(f"{file} is a damaged report: {type(error).__name__}: {error}") from None
    if part:
        chosen = [lines for name, lines in told if name == part]
        if not chosen:
            known = ", ".join(dict.fromkeys(name for name, _ in told if name))
            raise UsageError(f"{file} contains nothing about {part}", hint=f"it contains {known}")
        return "\n".join(line for lines in chosen for line in lines)
    return "\n".join(line for _, lines in told for line in lines)


def _read(file: str) -> Report:
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no file {file}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{file} is not a report of soundline")
    return found


# Programs ---------------------------------------------------------------------------------------------------------


def _compiled(report: Report) -> Lines:
    yield "", [f"{report['program']}, compiled under the profile {report['profile']}"]
    for kernel in report["kernels"]:
        ops = ", ".join(name if n == 1 else f"{name} ×{n}" for name, n in kernel["ops"].items())
        lines = [
            f"kernel {kernel['number']} computes {kernel['title']}, and stores {', '.join(kernel['stores'])}"
        ]
        lines += [f"  because {why}" for why in kernel["why"]]
        lines += [f"  with it are computed: {ops}"] if ops else []
        lines += [f"  its schedule, by {kernel['schedule_by']}: {kernel['schedule'] or 'none'}"]
        lines += [f"  {note}" for note in kernel["notes"]]
        yield f"kernel {kernel['number']}", lines
    memory = report["memory"]
    yield (
        "memory",
        [f"at most {memory['peak']} bytes are in use at once, {memory['arena']} of them for temporaries"],
    )
    certificate = report["certificate"]
    licences = ", ".join(certificate["licences"])
    yield (
        "licences",
        [f"it may depart from the order and rounding of the law by: {licences}" if licences else _NONE],
    )
    if certificate.get("counts"):
        told = ", ".join(f"{n} {status}" for status, n in certificate["counts"].items() if n)
        whole = "proved as a whole" if certificate["proved"] else "not proved as a whole"
        yield "proved", [f"it is {whole}: of its steps are {told}"]
    if certificate.get("promised"):
        yield "promised", [f"promised: {line}" for line in certificate["promised"]]
    if certificate.get("trusted"):
        yield "trusted", [f"it trusts the custom functions {', '.join(certificate['trusted'])}"]
    for rule in certificate["rules"]:
        how = ", each application of it" if rule["procedural"] else ""
        yield rule["id"], [f"{rule['id']} rewrote it {_times(rule['count'])}; {rule['verdict']}{how}"]
    open_ones = [r["id"] for r in certificate["rules"] if r["verdict"] != "proved"]
    if open_ones:
        yield (
            "open",
            [f"not proved, as far as is known here: {', '.join(open_ones)}", "  soundline verify decides it"],
        )


_NONE = "it has no licence: every result is the evaluator's, bit for bit"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ran(report: Report) -> Lines:
    yield "", [f"{report['program']} ran, compiled under the profile {report['profile']}"]
    if "check" not in report:
        yield "check", ["nothing was compared; --check compares it with the evaluator"]
    elif report["check"] is None:
        yield "check", ["the evaluator would have taken too long: whether the results are right is unknown"]
    for found in report.get("check") or ():
        name = f"output {found['output']}"
        if not found["differing"]:
            yield name, [f"{name} is what the law says, bit for bit, in all {found['elements']} elements"]
            continue
        by = "" if found["ulp"] is None else f", by {found['ulp']:.4g} units in the last place at most"
        lines = [f"{name} differs from the law in {found['differing']} of {found['elements']} elements{by}"]
        lines += [f"  the first is at {found['first']}: {found['computed']}, and the law says {found['law']}"]
        if report["profile"] == "exact":
            lines += ["  under the profile exact this is a mistake of soundline's; please report it"]
        yield name, lines


def _benched(report: Report) -> Lines:
    from soundline.impl.inspect.profile import duration

    call = report["call"]["median_seconds"]
    yield (
        "",
        [f"{report['program']}: a call takes {duration(call)}, its kernels {duration(report['seconds'])}"],
    )
    reference = report.get("reference")
    if reference is not None:
        yield "reference", [f"the reference takes {reference['ratio']:.2f} times as long as the program"]
    for row in sorted(report["kernels"], key=lambda r: -r["seconds"]):
        share = row["seconds"] / report["seconds"]
        name = "a copy" if row["kernel"] is None else f"kernel {row['kernel']}"
        lines = [f"{name}, {row['name']}, takes {share:.0%} of the time: {duration(row['seconds'])}"]
        if row["bound"] in _BOUNDS:
            peak = f"{row['share_of_peak']:.0%} of the measured peak"
            lines += [f"  {_BOUNDS[row['bound']]}, and it reaches {peak}"]
        yield name, lines


_BOUNDS = {
    "operations": "its arithmetic takes longer than its memory at the peak",
    "memory": "its memory takes longer than its arithmetic at the peak",
}


# Verdicts ---------------------------------------------------------------------------------------------------------


def _verified(report: Report) -> Lines:
    summary = report["summary"]
    counts = ", ".join(f"{summary[v]} {v}" for v in VERDICTS if summary.get(v))
    yield "", [f"{len(report['rules'])} rules were judged: {counts or 'none'}"]
    for rule in report["rules"]:
        lines = [
            f"{rule['id']} is {rule['verdict']}    {rule['file']}:{rule['line']}",
            f"  {rule['statement']}",
        ]
        groups: dict[str, list[str]] = {}
        for layer, verdict in rule["layers"].items():
            groups.setdefault(verdict, []).append(layer)
        lines += [f"  {verdict}: {', '.join(layers)}" for verdict, layers in groups.items()]
        lines += _counterexample(rule["counterexample"])
        lines += [f"  it would hold when {', '.join(c)} ({layer})" for layer, c in rule["holds_when"].items()]
        yield rule["id"], lines
    for error in report["errors"]:
        yield error["kind"], [f"{error['file']}:{error['line']}: {error['message']} [{error['kind']}]"]


def _counterexample(found: Report | None) -> list[str]:
    if found is None:
        return []
    bound = ", ".join(f"{name} = {value}" for name, value in found["bindings"].items())
    replays = [f"{r['by']}: {r['result']}" for r in found["replays"]]
    lines = [
        f"  counterexample ({found['instance']}): {bound}",
        f"    left → {found['left']}",
        f"    right → {found['right']}",
    ]
    return [*lines, *([f"    replayed by {', '.join(replays)}"] if replays else [])]


def _checked(report: Report) -> Lines:
    programs = report.get("programs", [report])
    right = all(program["verdict"] == "no hazards" for program in programs)
    yield "", ["no hazards" if right else "there are hazards, or programs that the law refuses"]
    for program in programs:
        sizes = ", ".join(f"{n} = {v}" for n, v in program["sizes"].items())
        about = f"{program['proc']} ({sizes})" if sizes else program["proc"]
        if program["errors"]:
            yield (
                program["proc"],
                [f"{about} is refused [{e['id']}]: {e['message']}" for e in program["errors"]],
            )
            continue
        hazards = program["hazards"]
        lines = [f"{about} has {len(hazards) or 'no'} hazard{'s' * (len(hazards) != 1)}"]
        for h in hazards:
            one, other = (
                "" if h[k] is None else f"line {h[k]['line']}: {h[k]['statement']}"
                for k in ("second", "first")
            )
            told = f"{one}, after {other}" if other else one
            lines += [f"  {h['kind']} [{h['id']}], {_times(h['count'])}: {told}"]
        lines += [f"  line {r['line']} can be left out: {r['text']}" for r in program["redundant"]]
        yield program["proc"], lines


def _sarif(report: Report) -> Lines:
    results = [result for run in report["runs"] for result in run["results"]]
    yield "", [f"{len(results)} finding{'s' * (len(results) != 1)}"]
    for result in results:
        yield result["ruleId"], [f"{result['ruleId']}: {result['message']['text']}"]


_READERS: tuple[tuple[Callable[[Report], bool], Callable[[Report], Lines]], ...] = (
    (lambda r: r.get("kind") == "compile", _compiled),
    (lambda r: r.get("kind") == "run", _ran),
    (lambda r: r.get("kind") == "bench", _benched),
    (lambda r: "rules" in r and "summary" in r, _verified),
    (lambda r: "machine" in r and ("programs" in r or "hazards" in r), _checked),
    (lambda r: "runs" in r and "version" in r, _sarif),
)
