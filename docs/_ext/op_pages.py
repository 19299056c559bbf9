"""One page per op, every page in the same shape, from the entry in the op table; and the indexes of ops and ids."""

from __future__ import annotations

import composition_pages
import conformance_pages
import graphs
import inference
import movement_formulas
import optop_pages
import special_cases
import spork_laws
import status_matrix
from citations import listed, tests_by_citation
from rst import block, bullets, code, escape, label, law, prose, table, title

from soundline.spec.decisions.table import DECISIONS
from soundline.spec.gradients.table import ADJOINTS
from soundline.spec.ops.table import PROPERTIES, TABLE, Entry, Op
from soundline.spec.values.accuracy import ACCURACY
from soundline.spec.values.decompositions import EXACT

GROUPS = {
    "source": "Source ops",
    "movement": "Movement ops",
    "reduce": "Reduce ops",
    "call": "Call ops",
    "load": "Load ops",
    "store": "Store ops",
    "ordering": "Ordering ops",
    "elementwise": "Elementwise ops",
    "decomposed": "Decomposed elementwise ops",
    "marker": "Marker ops",
    "codegen": "Codegen ops",
}

OTHERS = (composition_pages.constraints, optop_pages.constraints, spork_laws.constraints)
"""The ids that are not of ops, each with what it belongs to and its text."""


def pages() -> dict[str, str]:
    """The text of every op's page, by file name."""
    return {entry.slug: page(entry) for entry in TABLE.values()}


def page(entry: Entry) -> str:
    """The page of one op."""
    parts = [
        label(f"op-{entry.slug}"),
        title(entry.title),
        f"*{GROUPS[entry.group]}* · {conformance_pages.link(entry)} · source: {escape(entry.section)}\n",
        title("Semantics", "-"),
        f":anchor:`{entry.law_id('sem')}`\n\n{_sentence(entry.semantics)}\n",
        movement_formulas.section(entry.op),
        title("Special cases", "-"),
        special_cases.section(entry.op),
        title("Inputs", "-"),
        _inputs(entry),
        title("Derived properties", "-"),
        _properties(entry),
        title("Constraints", "-"),
        _constraints(entry),
        title("Typing rule", "-"),
        inference.rule(entry),
        title("Decomposition", "-"),
        _decomposition(entry),
        *_accuracy(entry),
        title("Adjoint", "-"),
        f":anchor:`{entry.law_id('adjoint')}`\n\n{_adjoint(entry)}\n",
        title("Example", "-"),
        block("pycon", entry.example),
        graphs.drawn(entry),
        title("Status", "-"),
        status_matrix.row(entry.op),
        title("Decisions", "-"),
        _decisions(entry),
        title("Source and tests", "-"),
        _links(entry),
    ]
    return "\n".join(part for part in parts if part)


def _sentence(text: str) -> str:
    """Prose that begins with a capital where it begins with a word, and ends with a full stop."""
    return prose(text if text.endswith(".") else f"{text}.")


def _inputs(entry: Entry) -> str:
    rows = []
    for number, source in enumerate(entry.sources, 1):
        many = "any number" if source.variadic else "optional" if source.optional else "one"
        rows.append((f"I{number}", code(source.name), many, prose(source.doc)))
    listed = (
        table(("", "name", "how many", "what"), rows, widths=(8, 14, 18, 60)) if rows else "No sources.\n"
    )
    sources = f"A wrong number or kind of sources is rejected with the id :anchor:`{entry.law_id('src')}`.\n"
    arg = f"**arg:** {prose(entry.arg)} (:anchor:`{entry.law_id('arg')}`)\n"
    return f"{listed}\n{sources}\n{arg}"


def _properties(entry: Entry) -> str:
    rows = [(name, prose(entry.laws[name]), f":anchor:`{entry.law_id(name)}`") for name in PROPERTIES]
    return table(("property", "law", "id"), rows, widths=(15, 55, 30))


def _constraints(entry: Entry) -> str:
    if not entry.constraints:
        return "Only the number and kind of its inputs.\n"
    rows = [(f"C{n}", prose(c.text), f":anchor:`{c.id}`") for n, c in enumerate(entry.constraints, 1)]
    return table(("", "condition", "id"), rows, widths=(8, 62, 30))


def _decomposition(entry: Entry) -> str:
    if entry.decomposition is None:
        return "None: the op is a primitive.\n"
    licence = "needs the licence " + " and ".join(code(name) for name in entry.licences)
    if not entry.licences:
        needs = "exact, under no licence"
    elif entry.op in EXACT:
        needs = f"the first {licence}, the second is exact"
    else:
        needs = licence
    return f"{prose(entry.decomposition)} — {needs} (:law:`U-09`).\n"


def _accuracy(entry: Entry) -> list[str]:
    """For a function that the law gives within an error: the bound, and what was measured."""
    stated = {dtype: found for (op, dtype), found in ACCURACY.items() if op is entry.op}
    if not stated:
        return []
    rows = [
        (
            code(dtype.name),
            f"{found.bound} ulp",
            f"{found.measured} ulp",
            "every number" if found.exhaustive else f"{found.points:,} points",
        )
        for dtype, found in stated.items()
    ]
    how = "The result is defined bit for bit by one program. Its distance from the real function (:law:`U-11`), "
    where = (
        "is given in units in the last place; :doc:`/chapters/spec.values.accuracy` says at which points:\n"
    )
    heads = ("dtype", "the law's bound", "greatest error found", "measured on")
    return [title("Accuracy", "-"), f"{how}{where}", table(heads, rows, widths=(20, 25, 30, 25))]


def _adjoint(entry: Entry) -> str:
    """What the sources receive in reverse mode, from the table that computes it."""
    formula = ADJOINTS[entry.op].formula
    return _sentence(formula[0].upper() + formula[1:])


def _decisions(entry: Entry) -> str:
    if not entry.decisions:
        return "The source is clear here.\n"
    return bullets(f"{law(i)} {escape(DECISIONS[i].title)}" for i in entry.decisions)


def _links(entry: Entry) -> str:
    tests = tests_by_citation()
    prefix = f"uop-{entry.slug}-"
    citing = sorted({t for key, found in tests.items() if key.startswith(prefix) for t in found})
    naming = [t for t in tests.get(f"Op.{entry.op.name}", []) if t not in citing]
    parts = [f"Entry: {status_matrix.entry_link(entry)}\n"]
    if citing:
        parts.append(listed(citing, "of its laws"))
    if naming:
        parts.append(listed(naming, "that use it"))
    if not citing and not naming:
        parts.append("No test names it by itself; tests over the whole table cover it.\n")
    return "\n".join(parts)


def registered_ids() -> list[str]:
    """Every id that the documentation must state: laws and constraints of ops, and decisions."""
    ids = [*DECISIONS, *(i for part in OTHERS for i in part())]
    for entry in TABLE.values():
        ids += [
            *(entry.law_id(name) for name in ("sem", "src", "arg", "adjoint")),
            *(entry.law_id(name) for name in PROPERTIES),
        ]
        ids += [c.id for c in entry.constraints]
    return ids


def _op_link(op: Op) -> str:
    return f":ref:`{TABLE[op].title} <op-{TABLE[op].slug}>`"


def index_of_ops() -> str:
    """Every op by group, with its meaning in one line."""
    parts = []
    for group, name in GROUPS.items():
        entries = [e for e in TABLE.values() if e.group == group]
        rows = [(_op_link(e.op), _sentence(e.semantics)) for e in entries]
        parts += [title(name, "-"), table(("op", "meaning"), rows, widths=(20, 80))]
    parts.append(".. toctree::\n   :hidden:\n\n" + "".join(f"   ops/{e.slug}\n" for e in TABLE.values()))
    return "\n".join(parts)


def index_of_ids() -> str:
    """Every id of the law in one table."""
    rows = []
    for entry in TABLE.values():
        where = _op_link(entry.op)
        rows.append((law(entry.law_id("sem")), where, "semantics"))
        rows.append((law(entry.law_id("src")), where, "number and kind of sources"))
        rows.append((law(entry.law_id("arg")), where, prose(f"arg: {entry.arg}")))
        rows += [(law(entry.law_id(name)), where, prose(entry.laws[name])) for name in PROPERTIES]
        rows.append((law(entry.law_id("adjoint")), where, prose(f"adjoint: {ADJOINTS[entry.op].formula}")))
        rows += [(law(c.id), where, prose(c.text)) for c in entry.constraints]
    for part in OTHERS:
        rows += [(law(i), escape(name), prose(text)) for i, (name, text) in part().items()]
    rows += [(law(d.id), "decision", escape(d.title)) for d in DECISIONS.values()]
    return table(("id", "where", "what"), rows, widths=(30, 20, 50))
