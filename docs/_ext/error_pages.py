"""The error index: every class of error and every constraint, each with the anchor that `error.url` leads to."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import collective_pages
import composition_pages
import optop_pages
import synchronization_pages
from rst import code, escape, law, prose, table, title

from soundline.impl.importers import errors as _of_importers  # noqa: F401  # whose classes belong to the tree
from soundline.spec import errors as tree
from soundline.spec.adjoints import ADJOINTS
from soundline.spec.decisions import DECISIONS
from soundline.spec.ops import PROPERTIES, TABLE, Entry
from soundline.spec.program_conditions import CONDITIONS
from soundline.verify.problems import KINDS


def classes(root: type[tree.SoundlineError] = tree.SoundlineError) -> Iterator[type[tree.SoundlineError]]:
    """The tree of errors, parents first."""
    yield root
    for child in root.__subclasses__():
        yield from classes(child)


def anchors() -> list[str]:
    """Every anchor that the `url` of some error has: its rule's, or that of its class."""
    ids = [row[0] for e in TABLE.values() for row in _refusals(e)]
    ids += [*composition_pages.constraints(), *optop_pages.constraints(), *collective_pages.constraints()]
    ids += [*CONDITIONS, *(d.anchor for d in DECISIONS.values())]
    ids += synchronization_pages.constraints()
    return [*(c.__name__.lower() for c in classes()), *ids]


def errors() -> str:
    """The classes, then the constraints op by op, then the decisions that errors cite."""
    parts = [title("By class", "-")]
    parts += [_class(c) for c in classes()]
    parts.append(title("By kind of mistake", "-"))
    parts.append("What can be wrong with a rule file, in the words of reports (:doc:`cli`).\n")
    kinds = [(f":here:`{kind}`", prose(text)) for kind, text in KINDS.items()]
    parts.append(table(("kind", "means"), kinds, widths=(22, 78)))
    parts.append(title("By constraint", "-"))
    parts.append(
        "An ``IllFormed`` error names in ``.rule`` the constraint that a node broke, a ``GradientError`` the adjoint "
        "that it lacks.\n"
    )
    rows = [
        (f":here:`{identifier}`", f":ref:`{e.title} <op-{e.slug}>`", prose(text))
        for e in TABLE.values()
        for identifier, text in _refusals(e)
    ]
    rows += [
        (f":here:`{identifier}`", code(name), prose(text))
        for identifier, (name, text) in composition_pages.constraints().items()
    ]
    parts.append(table(("id", "op", "the node must satisfy"), rows, widths=(32, 18, 50)))
    parts.append(title("By kernel, OptOp and stage", "-"))
    parts.append(
        "A ``ScheduleError`` names a condition of a kernel or OptOp, a ``StageError`` one of a stage.\n"
    )
    rows = [
        (f":here:`{identifier}`", code(name), prose(text))
        for identifier, (name, text) in optop_pages.constraints().items()
    ]
    parts.append(table(("id", "of", "what must hold"), rows, widths=(32, 18, 50)))
    parts.append(title("By collective", "-"))
    parts.append(
        "A ``CollectiveError`` names a condition of units, loops over threads or distributed memory.\n"
    )
    rows = [
        (f":here:`{identifier}`", escape(name), prose(text))
        for identifier, (name, text) in collective_pages.constraints().items()
    ]
    parts.append(table(("id", "of", "what must hold"), rows, widths=(32, 18, 50)))
    parts.append(title("By condition of a Spork program", "-"))
    parts.append("A ``ProgramError`` names the condition that a program broke, and shows the place.\n")
    conditions = [(f":here:`{identifier}`", prose(text)) for identifier, text in CONDITIONS.items()]
    parts.append(table(("id", "what must hold"), conditions, widths=(24, 76)))
    parts.append(title("By timeline, fence, barrier and hazard", "-"))
    parts.append(
        "A ``SynchronizationError`` names what a statement of synchronization broke; a ``Hazard`` of the abstract "
        "machine has an id of the same kind.\n"
    )
    rows = [
        (f":here:`{identifier}`", escape(name), prose(text))
        for identifier, (name, text) in synchronization_pages.constraints().items()
    ]
    parts.append(table(("id", "of", "what must hold"), rows, widths=(32, 18, 50)))
    parts.append(title("By decision", "-"))
    parts.append("Errors that no single constraint explains name the decision they rest on.\n")
    rows = [(f":here:`{d.id}`", f"{law(d.id)} {escape(d.title)}", "") for d in DECISIONS.values()]
    parts.append(table(("id", "decision"), [row[:2] for row in rows], widths=(20, 80)))
    return "\n".join(parts)


def _refusals(entry: Entry) -> list[tuple[str, str]]:
    """Every id under which a node of this op can be refused, and what it asks: the shape of the tuple, the numbered
    constraints, and the derived properties on which the sources must agree."""
    names = ", ".join(s.name + ("…" if s.variadic else "?" if s.optional else "") for s in entry.sources)
    return [
        (entry.law_id("src"), f"its sources are ({names})"),
        (entry.law_id("arg"), f"its arg is: {entry.arg}"),
        *((c.id, c.text) for c in entry.constraints),
        *((entry.law_id(name), entry.laws[name]) for name in PROPERTIES),
        (entry.law_id("sem"), entry.semantics),
        (entry.law_id("adjoint"), ADJOINTS[entry.op].formula),
    ]


def _class(error: type[tree.SoundlineError]) -> str:
    parent = error.__mro__[1]
    under = f" (a ``{parent.__name__}``)" if parent is not Exception else ""
    return f":here:`{error.__name__}`{under}\n   {escape(inspect.getdoc(error) or '')}\n"
