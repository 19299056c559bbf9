"""
Explaining Spork
================

What a name means that a Spork program may use: a construct, a unit, a memory, a type of barrier, a timeline or an
instruction. Everything is read from the tables of the law, so that every name of the law has an explanation.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType

from soundline.impl.spork.names import NAMES
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.language.types import CudaWarpConfig
from soundline.spec.spork.library import memories
from soundline.spec.spork.library.memories import MEMORY_CONSTRAINTS, SPACES, Memory, examples
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.text import memory_name
from soundline.spec.spork.library.text import text as instruction_text
from soundline.spec.spork.synchronization.barriers import BARRIER_TYPES, BarrierType
from soundline.spec.spork.synchronization.timelines import ASYNC_BLOCKS, InstrTl, Pair, SyncTl
from soundline.spec.spork.threads import units, warps
from soundline.spec.spork.threads.units import CollUnit
from soundline.verify.cli.spork_tables import SPORK_TABLES

Lines = Iterator[str]
Row = tuple[str, str]

_IDS = {name: text for table in SPORK_TABLES for name, text in table.ids.items()}


def names() -> tuple[str, ...]:
    """Every name that is explained here."""
    return (*(word for construct in CONSTRUCTS.values() for word in _words(construct)), *NAMES)


def spork(wanted: str) -> Lines | None:
    """The explanation of a name of Spork, however it is capitalized; None where Spork has no such name.

    ``spork-reduce`` is the construct where an op has the same name.
    """
    wanted = wanted.removeprefix("spork-")
    for construct in CONSTRUCTS.values():
        if wanted.lower() in (word.lower() for word in (construct.slug, *_words(construct))):
            return _construct(construct)
    name = wanted if wanted in NAMES else next((n for n in NAMES if n.lower() == wanted.lower()), None)
    return None if name is None else _object(name, NAMES[name])


def namesake(name: str) -> str | None:
    """How a construct is asked for that is called as an op is."""
    return next((f"spork-{slug}" for slug, c in CONSTRUCTS.items() if name in _words(c)), None)


def _words(construct: Construct) -> list[str]:
    """What a construct is called: a title may name several statements."""
    return construct.title.split(", ")


def _object(name: str, value: object) -> Lines:
    if isinstance(value, SyncTl):
        return _timeline(value)
    if isinstance(value, BarrierType):
        return _barrier(value)
    if isinstance(value, Instruction):
        return _instruction(value)
    if isinstance(value, CollUnit) or name in units.MEANINGS:
        return _unit(name, value)
    if value is CudaWarpConfig:
        return _class(name, "named warps", value)
    assert isinstance(value, Memory | FunctionType)
    return _memory(name, value)


# parts of an explanation ------------------------------------------------------------------------------------------


def _head(name: str, what: str, prose: str) -> Lines:
    yield f"{name}    {what}"
    yield ""
    yield _filled(prose)


def _filled(text: str) -> str:
    plain = " ".join(text.replace("``", "").split())
    return textwrap.fill(plain, 100, initial_indent="  ", subsequent_indent="  ")


def _rows(title: str, rows: Iterable[Row]) -> Lines:
    found = [(name, text) for name, text in rows if text]
    if found:
        width = max(len(name) for name, _ in found)
        yield f"\n{title}"
        for name, text in found:
            lead = f"  {name:<{width}}  "
            yield textwrap.fill(
                text.replace("``", ""), 100, initial_indent=lead, subsequent_indent=" " * len(lead)
            )


def _laws(ids: Iterable[str]) -> Lines:
    """The conditions with these ids, and the decisions that their texts cite."""
    return _rows("laws", ((name, _IDS[name]) for name in ids if name in _IDS))


def _decided(*texts: str) -> Lines:
    said = " ".join(texts)
    return _rows(
        "decisions", ((d.id, d.title) for d in DECISIONS.values() if re.search(rf"\b{d.id}\b", said))
    )


def _ids(prefix: str) -> list[str]:
    return [name for name in _IDS if name.startswith(prefix)]


def documented(module: ModuleType) -> dict[str, str]:
    """What a module says of its names: the text under an assignment, or the docstring of a function."""
    body = ast.parse(inspect.getsource(module)).body
    found = {}
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = ast.get_docstring(statement) or ""
        match statement, after:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(said)):
                found[name] = str(said)
    return found


# kinds of names ---------------------------------------------------------------------------------------------------


def _construct(construct: Construct) -> Lines:
    yield from _head(
        construct.title, f"a construct of Spork; the guide, {construct.section}", construct.prose
    )
    yield "\nform"
    yield textwrap.indent(construct.form, "  ")
    readings = (
        ("sequential", construct.sequential),
        ("abstract machine", construct.machine),
        ("parallel", construct.parallel),
        ("CUDA", construct.lowering),
    )
    yield from _rows("readings", readings)
    yield from _laws(construct.laws)
    texts = (_IDS.get(name, "") for name in construct.laws)
    yield from _decided(construct.prose, *(text for _, text in readings), *texts)
    yield "\nexample"
    yield textwrap.indent(construct.example, "  ")


def _timeline(timeline: SyncTl) -> Lines:
    block = ASYNC_BLOCKS.get(timeline.name)
    opens = f" CudaAsync({timeline.name}) opens a block whose instructions run on it." if block else ""
    prose = "Names accesses in Fence, Arrive and Await, by the instructions that make them and what they use."
    yield from _head(timeline.name, "a timeline of synchronization (sync-tl)", prose + opens)
    rows = (
        ("on the first side, waits for", _pairs(timeline.full)),
        ("on the second side, sees all before", _pairs(timeline.full)),
        ("on the second side, comes after reads", _pairs(timeline.temporal)),
        (
            "passes on what it was told",
            "yes: it is transitive" if timeline.transitive else "no: only what was done on it (S-03)",
        ),
    )
    yield from _rows("meaning", rows)
    yield from _laws(("tl-sync", "tl-pair", *(("tl-async-block",) if block else ())))
    yield from _decided("S-03 S-08", "S-11" if "wgmma" in timeline.name else "", "S-16")


def _pairs(pairs: Iterable[Pair]) -> str:
    """Pairs as instructions with what they use: ``cuda_in_order (cuda_ram, cuda_sync_rmem)``."""
    found: dict[InstrTl, list[str]] = {}
    for instr, usage in sorted(pairs):
        found.setdefault(instr, []).append(usage)
    return "; ".join(f"{instr} ({', '.join(usages)})" for instr, usages in found.items()) or "nothing"


def _barrier(kind: BarrierType) -> Lines:
    yield from _head(kind.name, "a type of barriers", BARRIER_TYPES[kind])
    part = {"CudaCommitGroup": "bar-group", "CudaMbarrier": "bar-mbarrier", "CudaEvent": "bar-event"}[kind]
    yield from _laws([*_ids(part), *(("bar-reverse", "bar-arrive-n") if kind != "CudaEvent" else ())])
    yield from _decided(
        {"CudaCommitGroup": "S-15", "CudaMbarrier": "S-05 S-14 S-23", "CudaEvent": "S-22"}[kind]
    )
    yield "\ndeclared and used as under: soundline explain barrier, soundline explain arrive"


def _unit(name: str, value: object) -> Lines:
    yield from _head(name, "a collective unit", units.MEANINGS[name])
    if isinstance(value, CollUnit):
        rows = (
            ("domain", _extents(value.domain)),
            ("box", _extents(value.box)),
            ("N * unit", "is no unit" if value.scaled is None else "is N of it side by side"),
        )
        yield from _rows("threads", rows)
    yield from _laws(units.CONSTRAINTS)
    yield from _decided("S-17")


def _extents(sizes: tuple[units.Extent | None, ...]) -> str:
    return "(" + ", ".join("any" if s is None else str(s) for s in sizes) + ")"


def _memory(name: str, made: Memory | FunctionType) -> Lines:
    said = documented(memories)[name]
    called = name if isinstance(made, Memory) else f"{name}({', '.join(inspect.signature(made).parameters)})"
    yield from _head(called, "a memory", said)
    (one,) = examples([made])
    rows = (
        ("lies in", SPACES[one.space]),
        ("a shard is owned by", str(one.native) if one.native else "nobody: it is not shared out"),
        ("usage-tl of an access", one.usage),
        ("allocated on", "nowhere: windows are of it" if one.window else str(one.allocated)),
        ("read directly on", _timelines(one.reads)),
        ("written directly on", _timelines(one.writes)),
        ("touched by instructions of", _timelines(one.instructions)),
        (
            "holds",
            ("scalars and arrays" if one.scalars else "arrays") + (" of constant sizes" * one.constant),
        ),
    )
    yield from _rows("use", rows)
    yield from _laws(MEMORY_CONSTRAINTS)
    yield from _decided("S-06", "S-18" if one.native else "")


def _timelines(found: Iterable[InstrTl]) -> str:
    return ", ".join(t for t in InstrTl if t in set(found)) or "none"


def _instruction(one: Instruction) -> Lines:
    yield from _head(one.name, "an instruction", one.doc)
    trailing = "none"
    if one.trailing is not None:
        trailing = f"{one.trailing}, {'always' if one.trailing_required else 'where there is one'}"
    rows = (
        ("unit", str(one.unit) if one.unit else "the CPU"),
        ("instr-tl", one.instr_tl),
        ("trailing barrier", trailing),
        ("becomes", one.ptx),
    )
    yield from _rows("executed", rows)
    yield from _rows("operands", ((name, _operand(one, name)) for name in one.data))
    yield "\ndefinition"
    yield textwrap.indent(instruction_text(one), "  ")
    yield "\nwhat a call of it is under: soundline explain instruction-call"


def _operand(one: Instruction, name: str) -> str:
    operand = one.operand(name)
    does = " and ".join(d for d, among in (("read", one.read), ("written", one.written)) if name in among)
    where = ", ".join(memory_name(m) for m in operand.memories)
    return f"{'atomically ' * operand.atomic}{does or 'not touched'}; {f'in {where}' if where else 'in any memory'}"


def _class(name: str, what: str, value: object) -> Lines:
    yield from _head(name, what, inspect.getdoc(value) or "")
    yield from _laws(warps.CONSTRAINTS)
