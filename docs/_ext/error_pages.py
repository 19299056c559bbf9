"""The error index: every class of error and every constraint, each with the anchor that `error.url` leads to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from textwrap import indent

import composition_pages
import optop_pages
import spork_laws
from rst import code, escape, law, prose, table, title

from soundline.impl.codegen.cuda.refusals import CONDITIONS as CUDA_CONDITIONS
from soundline.impl.importers.reading import errors as _of_importers  # noqa: F401  # whose classes belong to the tree
from soundline.spec import errors as tree
from soundline.spec.decisions.table import DECISIONS
from soundline.spec.gradients.table import ADJOINTS
from soundline.spec.ops.table import PROPERTIES, TABLE, Entry
from soundline.verify.files.problems import KINDS


def classes(root: type[tree.SoundlineError] = tree.SoundlineError) -> Iterator[type[tree.SoundlineError]]:
    """The tree of errors, parents first."""
    yield root
    for child in root.__subclasses__():
        yield from classes(child)


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


Row = tuple[str, str, str]
"""An id, what it belongs to and what must hold; all but the id are reStructuredText."""


def _rows(constraints: Mapping[str, tuple[str, str]], shown: Callable[[str], str] = escape) -> list[Row]:
    return [(i, shown(name), prose(text)) for i, (name, text) in constraints.items()]


def _ops() -> list[Row]:
    return [
        (i, f":ref:`{e.title} <op-{e.slug}>`", prose(text))
        for e in TABLE.values()
        for i, text in _refusals(e)
    ]


SECTIONS: tuple[tuple[str, str, list[Row]], ...] = (
    (
        "By constraint",
        "An ``IllFormed`` error names the constraint that a node breaks, and a ``GradientError`` the missing adjoint.",
        [*_ops(), *_rows(composition_pages.constraints(), code)],
    ),
    (
        "By kernel, OptOp and stage",
        "A ``ScheduleError`` names a condition of a kernel or OptOp, a ``StageError`` one of a stage.",
        _rows(optop_pages.constraints(), code),
    ),
    (
        "By collective",
        "A ``CollectiveError``, or in a program a ``StaticError``, names a condition on threads or distributed memory.",
        _rows(spork_laws.constraints("collective_units")),
    ),
    (
        "By condition of a Spork program",
        "A ``ProgramError`` or a ``StaticError`` names the condition that a program breaks, and shows the line.",
        _rows(spork_laws.constraints("spork_conditions")),
    ),
    (
        "By timeline, fence, barrier and hazard",
        "A ``SynchronizationError``, or in a program a ``StaticError``, names a condition. Hazards have ids too.",
        _rows(spork_laws.constraints("synchronization")),
    ),
    (
        "By condition of generated CUDA",
        "A ``CompileError`` or ``UsageError`` names what an instruction or memory lacks so that there is CUDA for it.",
        _rows({rule: ("CUDA", text) for rule, text in CUDA_CONDITIONS.items()}),
    ),
)
"""What an error can name in ``.rule``: the title of a section, its sentence and its rows."""


def anchors() -> list[str]:
    """Every anchor that the `url` of some error has: its rule's, or that of its class."""
    ids = [identifier for _, _, rows in SECTIONS for identifier, _, _ in rows]
    return [*(c.__name__.lower() for c in classes()), *ids, *(d.anchor for d in DECISIONS.values())]


def errors() -> str:
    """The classes, the kinds of mistakes, the sections, then the decisions that errors cite."""
    parts = [title("By class", "-")]
    parts += [_class(c) for c in classes()]
    parts.append(title("By kind of mistake", "-"))
    parts.append("The kinds of mistakes in rule files, as reports name them (:doc:`cli`).\n")
    kinds = [(f":here:`{kind}`", prose(text)) for kind, text in KINDS.items()]
    parts.append(table(("kind", "means"), kinds, widths=(22, 78)))
    for name, sentence, rows in SECTIONS:
        linked = [(f":here:`{identifier}`", of, text) for identifier, of, text in rows]
        parts += [title(name, "-"), f"{sentence}\n"]
        parts.append(table(("id", "of", "what must hold"), linked, widths=(32, 18, 50)))
    parts.append(title("By decision", "-"))
    parts.append("An error that is not about a single constraint names the decision on which it rests.\n")
    decided = [(f":here:`{d.id}`", f"{law(d.id)} {escape(d.title)}") for d in DECISIONS.values()]
    parts.append(table(("id", "decision"), decided, widths=(20, 80)))
    return "\n".join(parts)


def _class(error: type[tree.SoundlineError]) -> str:
    parents = [parent.__name__ for parent in error.__bases__ if parent is not Exception]
    named = [f"{'an' if name[0] in 'AEIOU' else 'a'} ``{name}``" for name in parents]
    under = f" ({' and '.join(named)})" if named else ""
    said = re.split(r"`+([^`]+)`+", inspect.getdoc(error) or "")
    shown = "".join(code(part) if k % 2 else escape(part) for k, part in enumerate(said))
    return f":here:`{error.__name__}`{under}\n{indent(shown, '   ')}\n"
