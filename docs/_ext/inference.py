"""
The typing of ops as inference rules
====================================

Premises over a line over a conclusion, one rule for each op, made from the op table: the premises are its sources and
constraints, the equations under the conclusion are its derived properties, and each carries its id. How a sentence of
the table is written as a formula stands in `formal`; a sentence that has no formula is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import formal
from rst import label, law, prose, table, title

from soundline.spec.ops.table import PROPERTIES, TABLE, Entry, Source

_WORD = re.compile(r"`([^`]*)`")
_PLACE = re.compile(r"<(\d)>")
_ROW = re.compile(r"(\\begin\{cases\}|\\\\)\s*\[")
"""A bracket that begins a row of cases would be read as an option of it."""
_EACH = re.compile(r"<(all|join):([^>]*)>")


def latex(formula: str, entry: Entry | None = None) -> str:
    """A formula of `formal` as LaTeX: names of sources filled in, words as text."""
    if entry is not None:
        names = [_name(s) for s in entry.sources]
        formula = _PLACE.sub(lambda m: names[int(m.group(1))], formula)
        formula = _EACH.sub(lambda m: _each(entry, m.group(1), m.group(2)), formula)
    formula = _ROW.sub(r"\1 {}[", formula)
    return _WORD.sub(lambda m: rf"\text{{{m.group(1)}}}", formula)


def math(formula: str, entry: Entry | None = None) -> str:
    """The same, inline."""
    return f":math:`{latex(formula, entry)}`"


def _name(source: Source) -> str:
    return source.name if len(source.name.rstrip("'")) == 1 else f"`{source.name}`"


def _each(entry: Entry, what: str, prefix: str) -> str:
    """A property of every source: equal, or joined."""
    parts = []
    for source in entry.sources:
        name = _name(source)
        if not source.variadic:
            parts.append(f"{prefix}{{{name}}}")
        elif what == "join":
            parts.append(rf"\bigsqcup_j {prefix}{{{name}_j}}")
        else:
            parts += [f"{prefix}{{{name}_0}}", r"\dots", f"{prefix}{{{name}_{{m-1}}}}"]
    return (r" \sqcup " if what == "join" else " = ").join(parts)


def _statement(written: dict[str, str], sentence: str, entry: Entry) -> str:
    """A sentence of the table: its formula, or itself."""
    return math(written[sentence], entry) if sentence in written else prose(sentence)


def _operand(source: Source) -> str:
    name = _name(source)
    if source.variadic:
        return rf"{name}_0, \dots, {name}_{{m-1}}"
    return f"{name}`?`" if source.optional else name


def _arg(entry: Entry) -> str:
    """The names of what stands in the arg, from the sentence on it."""
    if entry.arg == "none":
        return ""
    named = re.sub(r"\([^)]*\)", "", entry.arg.partition(":")[0].partition(", for example")[0])
    return "`" + re.sub(r"\s*,\s*", ", ", named.removeprefix("the ")).strip() + "`"


def _sources(entry: Entry) -> str:
    """The premise that every source is well formed."""
    shown = [
        rf"\vdash {_name(s)}_j \;\; (0 \le j < m)" if s.variadic else rf"\vdash {_operand(s)}"
        for s in entry.sources
    ]
    return r",\quad ".join(shown)


def premises(entry: Entry) -> list[tuple[str, str]]:
    """What must hold: (statement, id)."""
    found = []
    if entry.sources:
        found.append((math(_sources(entry)), entry.law_id("src")))
    if entry.arg != "none":
        found.append((f"arg: {prose(entry.arg)}", entry.law_id("arg")))
    return found + [(_statement(formal.CONSTRAINTS, c.text, entry), c.id) for c in entry.constraints]


def conclusion(entry: Entry) -> str:
    """The judgement that the rule gives."""
    operands = ", ".join(_operand(s) for s in entry.sources)
    arg = _arg(entry)
    inside = rf"{operands};\;{arg}" if arg else operands
    node = f"`{entry.op.name}`({inside})"
    made = "`void`" if entry.laws["dtype"] == "void" else r"\tau[s]"
    return math(rf"\vdash {node} \,:\, {made}")


def equations(entry: Entry) -> list[tuple[str, str]]:
    """The derived properties of the node: (statement, id)."""
    return [(_property(entry, name, formal.PROPERTIES[name]), entry.law_id(name)) for name in PROPERTIES]


def _property(entry: Entry, name: str, written: dict[str, str]) -> str:
    sentence = entry.laws[name]
    return _statement(written, sentence, entry) if sentence in written else f"{name}: {prose(sentence)}"


def rule(entry: Entry) -> str:
    """The inference rule of an op, as reStructuredText."""
    above = [_line(*p) for p in premises(entry)] or [math(r"\phantom{x}")]
    return "\n".join(
        [
            ".. container:: inference\n",
            "   .. container:: premises\n",
            *(f"      {line}\n" for line in above),
            "   .. container:: conclusion\n",
            f"      {conclusion(entry)}\n",
            "   .. container:: equations\n",
            *(f"      {_line(*e)}\n" for e in equations(entry)),
        ]
    )


def _line(statement: str, identifier: str) -> str:
    return f"{statement} {law(identifier)}"


def rules(groups: dict[str, str]) -> str:
    """The rules of all ops by group."""
    parts = []
    for group, name in groups.items():
        parts.append(title(name, "-"))
        for entry in (e for e in TABLE.values() if e.group == group):
            parts += [label(f"typing-{entry.slug}"), title(entry.title, "~")]
            parts += [f":ref:`The page of the op <op-{entry.slug}>`\n", rule(entry)]
    return "\n".join(parts)


def notation() -> str:
    """What the signs of the rules mean."""
    rows = [(math(sign), prose(text)) for sign, text in formal.NOTATION]
    return table(("written", "means"), rows, widths=(35, 65))


def problems() -> Iterator[str]:
    """Formulas whose sentence no op says; so a sentence cannot change without its formula."""
    said = {c.text for e in TABLE.values() for c in e.constraints}
    yield from (f"no constraint says {text!r}" for text in formal.CONSTRAINTS if text not in said)
    for name, written in formal.PROPERTIES.items():
        laws = {e.laws[name] for e in TABLE.values()}
        yield from (f"no {name} law says {text!r}" for text in written if text not in laws)
