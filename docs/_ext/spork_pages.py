"""The Spork reference: one page per construct, every page in the same shape."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import constructs_in_cuda
import spork_laws
import spork_runs
from citations import ROOT, listed, tests_by_citation
from rst import block, bullets, escape, label, law, prose, table, title

from soundline.spec.decisions.table import DECISIONS
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.spork.constructs import device, programs, synchronization
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.language.expressions import BINARY, FUNCTIONS
from soundline.spec.spork.language.nodes import DTYPES

GROUPS = {
    "program": "Programs and expressions",
    "statement": "Statements",
    "loop": "Loops",
    "block": "Blocks",
    "storage": "Storage",
    "synchronization": "Synchronization",
    "call": "Calls",
}
SEE = {
    "expression": "spork",
    "window": "memories",
    "cuda-threads": "collective_units",
    "cuda-warps": "collective_units",
    "cuda-device-function": "collective_units",
    "cuda-async": "synchronization",
    "alloc": "memories",
    "instruction-call": "instructions",
    "fence": "synchronization",
    "barrier": "synchronization",
    "arrive": "synchronization",
    "await": "synchronization",
}
"""The page that has the tables behind a construct."""
CHAPTERS = (programs, device, synchronization)
_MARKED = re.compile(r"`([^`]+)`|(?<![\w*])\*(\w(?:[\w ]*\w)?)\*(?!\w)")


def pages() -> dict[str, str]:
    """The text of every construct's page, by file name."""
    return {slug: page(construct) for slug, construct in CONSTRUCTS.items()}


def page(construct: Construct) -> str:
    """The page of one construct."""
    readings = (
        ("sequential", construct.sequential),
        ("abstract machine", construct.machine),
        ("parallel", construct.parallel),
        ("CUDA", construct.lowering),
    )
    texts = spork_laws.constraints()
    rows = [(law(i), rich(texts[i][1])) for i in construct.laws]
    return "\n".join(
        (
            label(f"spork-{construct.slug}"),
            title(construct.title),
            f"*{GROUPS[construct.group]}* · source: Spork, {escape(construct.section)}{_see(construct)}\n",
            title("Form", "-"),
            block("text", construct.form),
            title("Meaning", "-"),
            f"{rich(construct.prose)}\n",
            title("Readings", "-"),
            table(("reading", "what it does"), [(n, rich(t)) for n, t in readings], widths=(20, 80)),
            title("Conditions", "-"),
            table(("id", "what must hold"), rows, widths=(26, 74)),
            title("Example", "-"),
            _shown(construct, construct.example),
            title("In CUDA", "-"),
            constructs_in_cuda.section(construct),
            title("Gone wrong", "-"),
            f"Breaks {law(construct.breaks)}:\n",
            _shown(construct, construct.wrong),
            title("Decisions", "-"),
            _decisions(construct),
            title("Source and tests", "-"),
            _links(construct),
        )
    )


def _see(construct: Construct) -> str:
    return f" · tables: :doc:`/{SEE[construct.slug]}`" if construct.slug in SEE else ""


def rich(text: str) -> str:
    """Prose in which a name between backquotes is code, and a word between stars is stressed."""
    pieces, at = [], 0
    for match in _MARKED.finditer(text):
        name, word = match.groups()
        pieces += [prose(text[at : match.start()]), f"``{name}``" if name else f"*{word}*"]
        at = match.end()
    return "".join([*pieces, prose(text[at:])])


def _shown(construct: Construct, text: str) -> str:
    """A program, and what is said of it at which sizes."""
    sizes = ", ".join(
        f"{name} = {value}" for name, value in construct.sizes.items() if f"{name}: size" in text
    )
    said = spork_runs.example(construct, text).text
    return _example(text, f"at {sizes}\n{said}" if sizes else said)


def _example(text: str, said: str) -> str:
    """A program over what is said of it."""
    return _together(f"{block('python', text)}\n{printed(said)}")


def _together(body: str) -> str:
    """What stands in the container of examples, whose output is broken into lines."""
    return f".. container:: example\n\n{textwrap.indent(body, '   ')}"


def printed(text: str) -> str:
    """A block of output."""
    return block("text", text).replace("\n\n", "\n   :class: printed\n\n", 1)


def _decisions(construct: Construct) -> str:
    """The decisions that the texts of a construct cite."""
    said = (
        construct.prose + construct.sequential + construct.machine + construct.parallel + construct.lowering
    )
    texts = spork_laws.constraints()
    said += "".join(texts[i][1] for i in construct.laws)
    cited = [d for d in DECISIONS.values() if re.search(rf"\b{d.id}\b", said)]
    return (
        bullets(f"{law(d.id)} {escape(d.title)}" for d in cited) if cited else "The source is clear here.\n"
    )


def _links(construct: Construct) -> str:
    """The entry, and the tests that cite the conditions of a construct."""
    cited = tests_by_citation()
    found = sorted({test for i in construct.laws for test in cited.get(i, ())})
    entry = f"Entry: :source:`{construct.slug} <{_entry(construct)}>`"
    return f"{entry}\n\n{listed(found, 'of its conditions') if found else 'No test cites its ids.'}\n"


def _entry(construct: Construct) -> str:
    """The file and line of an entry."""
    for module in CHAPTERS:
        path = f"{module.__name__.removeprefix('soundline.').replace('.', '/')}.py"
        for number, line in enumerate(Path(module.__file__ or "").read_text().splitlines(), 1):
            if line.strip() == f'slug="{construct.slug}",':
                return f"{path}:{number}"
    raise LookupError(construct.slug)


def index() -> str:
    """Every construct by group."""
    parts = []
    for group, name in GROUPS.items():
        members = [c for c in CONSTRUCTS.values() if c.group == group]
        rows = [(f":ref:`{c.title} <spork-{c.slug}>`", rich(c.prose)) for c in members]
        parts += [title(name, "-"), table(("construct", "meaning"), rows, widths=(22, 78))]
    parts.append(".. toctree::\n   :hidden:\n\n" + "".join(f"   spork/{slug}\n" for slug in CONSTRUCTS))
    return "\n".join(parts)


def words() -> str:
    """The dtypes, operators and functions of expressions, each with the op that it is."""
    rows = [("types of data", ", ".join(f"``{name}``" for name in DTYPES))]
    rows.append(("operators", ", ".join(f"``{sign}`` {_op(op)}" for sign, op in BINARY.items())))
    rows.append(("signs", f"``-`` {_op(Op.Neg)}; ``not`` of a condition"))
    functions = (
        f"``{name}({', '.join('abc'[:count])})`` {_op(op)}" for name, (op, count) in FUNCTIONS.items()
    )
    rows.append(("functions", ", ".join(functions)))
    rows.append(("conversion", f"``{next(iter(DTYPES))}(a)``, and so on: {_op(Op.Cast)}"))
    return table(("what", "how it is written, and the op"), rows, widths=(18, 82))


def _op(op: Op) -> str:
    return f":ref:`{TABLE[op].title} <op-{TABLE[op].slug}>`"


def examples() -> str:
    """The programs of the folder of examples, with the first lines of what they say of themselves."""
    rows = []
    for path in sorted((ROOT / "examples" / "spork").glob("*.py")):
        head, *rest = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")
        said = rich(" ".join((rest[0] if rest else head).split()).replace("``", "`"))
        rows.append(
            (f":source:`{path.name} <{path.relative_to(ROOT)}>`", f"{rich(head.split(':')[0])}. {said}")
        )
    return table(("program", "what it shows"), rows, widths=(28, 72))


def kernel() -> str:
    """A whole kernel with its verdict, and twins that are changed in one place with the first thing said of them."""
    text, right, twins = spork_runs.kernel()
    path = spork_runs.KERNEL.relative_to(ROOT)
    said = "a ring of TMA and wgmma with named warps, and the verdict of the abstract machine at these sizes"
    shown = f"This is the matrix product of :source:`{path.name} <{path}>`, {said}.\n"
    parts = [shown, _example(text, right.text)]
    for twin in twins:
        count = len(twin.judged.rules)
        more = f" The first of {count} findings:" if count > 1 else ""
        changed = f"``{twin.old}`` becomes ``{twin.new}``."
        first = twin.judged.text.split("\n\n")[0]
        parts += [f"{escape(twin.said)} {changed}{more}\n", _together(printed(first))]
    return "\n".join(parts)
