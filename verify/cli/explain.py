"""
``soundline explain``
=====================

What an id means, in the words of the law itself: a rewrite rule, a procedure, an op, a constraint or derived property
of an op, a name that Spork programs use, a condition of them, a hazard, a stage of the lowering pipeline, a step of a
schedule, a profile, a decision, a class or kind of error, a verdict. And what a report says that a command has written
as JSON.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from soundline.impl.codegen.cuda.refusals import CONDITIONS
from soundline.spec import errors
from soundline.spec.decisions.table import DECISIONS, ops_under
from soundline.spec.errors import SoundlineError, UsageError
from soundline.spec.kernels.optops import OptEntry
from soundline.spec.ops.table import PROPERTIES, TABLE, Entry
from soundline.spec.pipeline.stages import STAGES, Stage
from soundline.spec.rules.licences import LICENCES
from soundline.verify.cli.results import VERDICTS, explained, is_result
from soundline.verify.cli.spork import names, namesake, spork
from soundline.verify.cli.spork_tables import SPORK_TABLES, IdTable
from soundline.verify.files.problems import KINDS

WIDTH = 100

_TABLES = (*SPORK_TABLES, IdTable("generated CUDA", CONDITIONS))
"""The tables of ids of Spork programs, and that of what has no CUDA."""

DESCRIPTION = """\
Explain an id or a report. The id may be

  a rewrite rule           soundline explain permute_permute
  a procedure              soundline explain collect_terms
                           soundline explain my_rules.py::my_rule
  an op                    soundline explain Reshape
  a rule of an op          soundline explain uop-reshape-c2
                           soundline explain uop-add-min-max
  a condition of Spork     soundline explain mach-write-war
                           soundline explain fence-c4
  a name of Spork          soundline explain Fence
                           soundline explain cuda_warp
                           soundline explain CudaSmemLinear
  a stage or its invariant soundline explain rangeify
                           soundline explain stage-rangeify-c4
  a step of a schedule     soundline explain Split
  a profile or a licence   soundline explain fast
  a decision               soundline explain U-07
  an error                 soundline explain IllFormed
                           soundline explain unknown-name
  a verdict                soundline explain vacuous
  a report, or part of it  soundline explain report.json
                           soundline explain report.json::my_rule
                           soundline explain "bench.json::kernel 0"
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.add_argument("id", metavar="ID|REPORT", help="what to explain")


def run(options: argparse.Namespace) -> int:
    """Print the explanation; an id that nothing has is wrong use."""
    text = explanation(options.id)
    sys.stdout.write(text + "\n")
    return 0


def explanation(wanted: str) -> str:
    """The explanation of an id. Raises ``UsageError`` where there is no such id."""
    if is_result(wanted):
        return explained(wanted)
    if "::" in wanted or wanted.endswith(".py"):
        return _rule(*wanted.partition("::")[::2])
    readers: Sequence[Callable[[str], Iterator[str] | None]] = (
        _op,
        _law,
        _condition,
        _stage,
        _step,
        spork,
        _profile,
        _decision,
        _error,
        _kind,
        _verdict,
    )
    for reader in readers:
        lines = reader(wanted)
        if lines is not None:
            return "\n".join(lines)
    return _rule("", wanted)


def _filled(text: str, indent: int = 2) -> str:
    """Prose at the usual width; marks of code are dropped."""
    pad = " " * indent
    plain = text.replace("``", "")
    return "\n".join(
        textwrap.fill(p, WIDTH, initial_indent=pad, subsequent_indent=pad) for p in plain.split("\n")
    )


def _paragraphs(doc: str) -> str:
    """A documentation string, whose lines end anywhere."""
    return _filled("\n\n".join(" ".join(p.split()) for p in doc.split("\n\n")))


def _rows(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        pad = " " * (width + 4)
        yield textwrap.fill(text, WIDTH, initial_indent=f"  {name:<{width}}  ", subsequent_indent=pad)


# the law ----------------------------------------------------------------------------------------------------------


def _op(wanted: str) -> Iterator[str] | None:
    entry = next((e for e in TABLE.values() if e.slug == wanted.lower()), None)
    return None if entry is None else _entry(entry)


def _entry(entry: Entry) -> Iterator[str]:
    names = ", ".join(s.name + ("…" if s.variadic else "?" if s.optional else "") for s in entry.sources)
    yield f"{entry.title}({names})    {entry.group} op; {entry.section}"
    yield ""
    yield _filled(entry.semantics)
    if entry.sources or entry.arg != "none":
        yield "\nsources"
        arg = [("arg", entry.arg)] if entry.arg != "none" else []
        yield from _rows([*((s.name, s.doc) for s in entry.sources), *arg])
    if entry.constraints:
        yield "\nconstraints"
        yield from _rows([(c.id, c.text) for c in entry.constraints])
    yield "\nderived properties"
    yield from _rows([(entry.law_id(p), entry.laws[p]) for p in PROPERTIES])
    if entry.decomposition:
        licences = f" (licences: {', '.join(entry.licences)})" if entry.licences else ""
        yield f"\ndecomposition{licences}"
        yield _filled(entry.decomposition)
    if entry.decisions:
        yield "\ndecisions"
        yield from _rows([(d, DECISIONS[d].title) for d in entry.decisions if d in DECISIONS])
    yield "\nexample"
    yield textwrap.indent(entry.example, "  ")
    if entry.slug in STAGES:
        yield f"\nA stage of the lowering pipeline has the same name: soundline explain stage-{entry.slug}"
    if namesake(entry.title):
        yield f"\nA construct of Spork has the same name: soundline explain {namesake(entry.title)}"


def _law(wanted: str) -> Iterator[str] | None:
    for entry in TABLE.values():
        laws = dict(_laws(entry))
        if wanted.lower() in laws:
            return iter((f"{wanted.lower()}    a law of {entry.title}", "", _filled(laws[wanted.lower()])))
    return None


def _laws(entry: Entry) -> Iterator[tuple[str, str]]:
    names = ", ".join(s.name + ("…" if s.variadic else "?" if s.optional else "") for s in entry.sources)
    yield from ((c.id, c.text) for c in entry.constraints)
    yield from ((entry.law_id(p), f"{p}: {entry.laws[p]}") for p in PROPERTIES)
    yield entry.law_id("sem"), entry.semantics
    yield entry.law_id("src"), f"its sources are ({names})"
    yield entry.law_id("arg"), f"its arg is: {entry.arg}"


def _condition(wanted: str) -> Iterator[str] | None:
    found = next((t for t in _TABLES if wanted.lower() in t.ids), None)
    if found is None:
        return None
    text = found.ids[wanted.lower()]
    return iter((f"{wanted.lower()}    a condition of Spork: {found.name}", "", _filled(text)))


def _stage(wanted: str) -> Iterator[str] | None:
    """A stage by its name or its title, or a condition of one by its id."""
    for stage in STAGES.values():
        if wanted.lower() in (stage.name, stage.title.lower(), f"stage-{stage.name}"):
            return _told_stage(stage)
        conditions = {i.id: i.text for i in stage.invariants} | {stage.value_id: stage.value}
        if conditions.get(wanted.lower()):
            text = conditions[wanted.lower()] or ""
            return iter((f"{wanted.lower()}    what {stage.title} must keep", "", _filled(text)))
    return None


def _told_stage(stage: Stage) -> Iterator[str]:
    place = list(STAGES).index(stage.name) + 1
    yield f"{stage.title}    stage {place} of {len(STAGES)} of the lowering pipeline"
    yield ""
    yield _filled(stage.semantics)
    yield "\nwhat it must keep"
    value = [(stage.value_id, stage.value)] if stage.value else []
    yield from _rows([*((i.id, i.text) for i in stage.invariants), *value])
    yield f"\nsee a program after it: soundline compile FILE.py:NAME --stage {stage.name}"


def _step(wanted: str) -> Iterator[str] | None:
    """A step of a schedule by its name, or a condition of one by its id."""
    from soundline.impl.lower.schedule.schedules import STEPS

    for entry in STEPS.values():
        if wanted.lower() == entry.op.lower():
            return _told_step(entry)
        text = next((c.text for c in entry.constraints if c.id == wanted.lower()), None)
        if text:
            return iter((f"{wanted.lower()}    what {entry.op} wants", "", _filled(text)))
    return None


def _told_step(entry: OptEntry) -> Iterator[str]:
    yield f"{entry.op}    a step of schedules"
    yield ""
    yield _filled(entry.semantics)
    yield "\ntakes"
    yield from _rows([("axis", entry.axis), ("arg", entry.arg)])
    if entry.constraints:
        yield "\nwants"
        yield from _rows([(c.id, c.text) for c in entry.constraints])
    if entry.licences:
        yield f"\nlicences: {', '.join(entry.licences)}"


def _profile(wanted: str) -> Iterator[str] | None:
    """A profile of the compiler, or a licence that one grants."""
    from soundline.impl.compilation.stages import PROFILES

    name = wanted.lower()
    if name in PROFILES:
        licences = ", ".join(PROFILES[name])
        told = (
            f"It grants the licences {licences}: each may change the bits of results."
            if licences
            else "It grants no licence: results are those of the evaluator, bit for bit."
        )
        return iter(
            (f"{name}    a profile of the compiler", "", _filled(told), "", *_decided(DECISIONS["U-09"]))
        )
    if name not in LICENCES:
        return None
    under = [profile for profile, licences in PROFILES.items() if name in licences]
    granted = f"granted by the profile {' and '.join(under)}" if under else "which no profile grants"
    lines = (_filled(LICENCES[name]), "", *_decided(DECISIONS["U-53"]), "", *_decided(DECISIONS["U-09"]))
    return iter((f"{name}    a licence, {granted}", "", *lines))


def _decision(wanted: str) -> Iterator[str] | None:
    decision = DECISIONS.get(wanted.upper())
    return None if decision is None else _decided(decision)


def _decided(decision: Any) -> Iterator[str]:
    yield f"{decision.id}    {decision.title}"
    yield ""
    yield _filled(decision.law)
    if decision.source:
        yield "\nthe source says"
        yield _filled(decision.source)
    ops = ops_under(decision)
    if ops:
        yield "\nops that rest on it"
        yield _filled(", ".join(op.name for op in ops))


def _error(wanted: str) -> Iterator[str] | None:
    found = next((e for e in _errors(SoundlineError) if e.__name__.lower() == wanted.lower()), None)
    if found is None:
        return None
    parent = found.__mro__[1]
    kind = "an error" if parent is Exception else f"a {parent.__name__}"
    address = f"{errors.DOCUMENTATION}#{found.__name__.lower()}"
    return iter((f"{found.__name__}    {kind}", "", _filled(inspect.getdoc(found) or ""), "", f"  {address}"))


def _errors(root: type[SoundlineError]) -> Iterator[type[SoundlineError]]:
    yield root
    for child in root.__subclasses__():
        yield from _errors(child)


def _kind(wanted: str) -> Iterator[str] | None:
    text = next((t for k, t in KINDS.items() if k == wanted.lower()), None)
    return None if text is None else iter((f"{wanted.lower()}    a mistake in the input", "", _filled(text)))


def _verdict(wanted: str) -> Iterator[str] | None:
    text = VERDICTS.get(wanted.lower())
    return None if text is None else iter((f"{wanted.lower()}    a verdict", "", _filled(text)))


# rewrite rules ----------------------------------------------------------------------------------------------------


def _rule(file: str, name: str) -> str:
    """A rule of a file, or a published one."""
    from soundline.verify.campaigns.campaign import Campaign, Settings
    from soundline.verify.files.finding import named, published

    with Campaign(Settings()) as campaign:
        campaign.read(named([file]) if file else published(), judge=False)
    rules = [c.said for c in sorted(campaign.cases, key=lambda c: c.order)] + campaign.procedures
    problems = campaign.mistakes()
    if file and problems and not rules:
        raise UsageError(f"{problems[0].place}: {problems[0].message}", hint=problems[0].hint)
    if not name:
        return "\n\n".join("\n".join(_stated(r, file)) for r in rules)
    chosen = [r for r in rules if r["id"] == name]
    if not chosen:
        close = _closest(name, [r["id"] for r in rules], everything=not file)
        raise UsageError(f"there is nothing named {name}", hint=close)
    return "\n\n".join("\n".join(_stated(r, file)) for r in chosen)


def _stated(said: dict[str, Any], file: str) -> Iterator[str]:
    from soundline.verify.files.problems import displayed
    from soundline.verify.reports.text import in_families

    place = f"{displayed(said['file'])}:{said['line']}"
    if "statement" not in said:
        yield from _procedural(said, place)
        return
    yield f"{said['id']}    a rewrite rule; {place}"
    yield ""
    yield _filled(said["statement"])
    if said["doc"]:
        yield ""
        yield _paragraphs(said["doc"])
    if said["licences"]:
        yield f"\nlicences: {', '.join(said['licences'])}"
    yield "\nlayers"
    known = _known(said)
    groups: dict[str, list[str]] = {}
    for name, _ in said["layers"]:
        groups.setdefault(known.get(name, "not judged yet"), []).append(name)
    yield from _rows([(in_families(names), text) for text, names in groups.items()])
    if len(known) < len(said["layers"]):
        yield f"\njudge it: soundline verify {file}{' ' if file else ''}--filter {said['id']}"


def _procedural(said: dict[str, Any], place: str) -> Iterator[str]:
    yield f"{said['id']}    a procedure; {place}"
    yield ""
    yield _paragraphs(said["doc"] or "(it does not say what it does)")
    yield f"\nlooks at: {', '.join(said['ops'])}"
    yield "\nNo procedure is proved as a whole: each application of it is, before it is kept."


def _known(said: dict[str, Any]) -> dict[str, str]:
    """The verdicts that the cache has for the layers of a rule."""
    from soundline.verify.verdicts.cache import Cache, Key
    from soundline.verify.verdicts.effort import BUDGETS

    found = {}
    for layer, dtype in said["layers"]:
        key = Key(said["structure"], layer, dtype, said["id"], 0)
        result = Cache().get(key, BUDGETS["normal"])
        if result is not None:
            found[layer] = f"{result.verdict}: {result.covered}" if result.covered else result.verdict
    return found


def _closest(wanted: str, rules: Sequence[str], *, everything: bool) -> str | None:
    known = list(rules)
    if everything:
        known += [e.title for e in TABLE.values()] + list(DECISIONS) + list(KINDS) + list(VERDICTS)
        known += [i for e in TABLE.values() for i, _ in _laws(e)]
        known += [i for table in _TABLES for i in table.ids] + [*STAGES]
        known += [i.id for stage in STAGES.values() for i in stage.invariants]
        known += [e.__name__ for e in _errors(SoundlineError)]
        known += names()
    close = difflib.get_close_matches(wanted, known, n=1)
    return f"did you mean {close[0]}?" if close else None
