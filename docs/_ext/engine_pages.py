"""What became of every rewrite that the engine made, from the result that ``soundline verify --engine`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rst import block, code, escape, table, title

from soundline.impl.rules.procedural import PROCEDURES
from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import given, rule
from soundline.spec.rules.terms import Const, Value
from soundline.spec.uop import const, loop
from soundline.verify.engine.applications import Validator
from soundline.verify.engine.cli import GRAPHS
from soundline.verify.engine.corpus import SHORT, Graph
from soundline.verify.engine.watching import Watch

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks/results/engine.json"
COMMAND = "soundline verify --engine --format json --output benchmarks/results/engine.json"


def engine() -> str:
    """The numbers of the committed run: in one sentence, by part of the corpus, by rule, and what never fired."""
    if not RESULT.exists():
        return "No result is committed; the command below makes one.\n\n" + block("sh", COMMAND)
    result = json.loads(RESULT.read_text())
    parts = [
        _summary(result),
        title("The corpus", "-"),
        _sources(result),
        title("By rule", "-"),
        _steps(result),
    ]
    parts += [title("Never applied", "-"), _silent(result)]
    return "\n".join(parts)


def _summary(result: dict[str, Any]) -> str:
    s = result["summary"]
    wrong = "none was found wrong" if not s["wrong"] else f"**{s['wrong']} were wrong**"
    rest = f", {s['undecided']:,} were neither" if s["undecided"] else ""
    share = 100 * s["proved"] / max(1, s["rewrites"])
    repeat = COMMAND.replace("--engine", " ".join(["--engine", *_options(result["engine"])]))
    return (
        f"The engine made **{s['rewrites']:,} rewrites in {s['graphs']:,} graphs. {s['proved']:,} of them "
        f"({share:.2f} %) are proved**, {s['evaluated']:,} were evaluated only{rest}; {wrong}. Equal "
        f"rewrites are validated once, so this took {s['views']:,} views and {s['obligations']:,} obligations. "
        f"{s['compared whole']:,} "
        f"rewritten graphs were also evaluated before and after, on {s['inputs']:,} inputs. It took "
        f"{s['seconds']:.0f} s with {s['jobs']} processes. This command repeats it:\n\n" + block("sh", repeat)
    )


def _options(run: dict[str, Any]) -> list[str]:
    """The options with which the run was made, where they are not the default."""
    parts = [short for short, source in SHORT.items() if source in run["sources"]]
    chosen = [f"--corpus {short}" for short in parts] if len(parts) < len(SHORT) else []
    random = run["random graphs"]
    return [*chosen, *([] if random == GRAPHS else [f"--graphs {random}"])]


def _sources(result: dict[str, Any]) -> str:
    names = ("graphs", "rewritten", "rewrites", "compared whole", "inputs")
    rows = [(source, *(f"{row[n]:,}" for n in names)) for source, row in result["engine"]["sources"].items()]
    return table(("", *names), rows)


def _steps(result: dict[str, Any]) -> str:
    rows = [
        (code(name), f"{row['fired']:,}", f"{row['proved']:,}", _evaluated(row), _kind(row["kind"]))
        for name, row in sorted(result["engine"]["steps"].items(), key=lambda r: (-r[1]["fired"], r[0]))
    ]
    return table(("rule", "applied", "proved", "evaluated only", ""), rows)


def _evaluated(row: dict[str, Any]) -> str:
    return f"{row['evaluated']:,}, on {row['inputs']:,} inputs" if row["evaluated"] else ""


def _kind(kind: str) -> str:
    return {"rule": "", "constants": "the reducing of constants"}.get(kind, escape(kind))


def _silent(result: dict[str, Any]) -> str:
    names = result["engine"]["never fired"]
    listed = ", ".join(code(n) for n in names)
    return (
        f"{len(names)} rules were never applied. Most of them follow another rule that does the same, or "
        f"need a rare pattern. {listed}\n"
    )


def procedures() -> str:
    """The procedures that are shipped, with what they do."""
    rows = [
        (
            code(p.id),
            ", ".join(code(op.name) for op in sorted(p.ops, key=lambda op: op.name)),
            escape(_first(p.doc)),
        )
        for p in PROCEDURES
    ]
    return table(("procedure", "looks at", "what it does"), rows)


def _first(doc: str) -> str:
    return " ".join(doc.split("\n\n", maxsplit=1)[0].split())


def blame() -> str:
    """What is said of a rule with a forgotten condition, found in a larger program."""

    @rule(dtypes=[index])
    def mul_idiv_common(x: Value, c: Const, d: Const) -> Any:
        given(c != 0, d != 0)
        return (x * c) // d, x // (d // c)

    i = Op.Add(Op.Mul(loop(5, 0), const(3, index)), loop(3, 1))
    program = Op.Mod(
        Op.Add(Op.Idiv(Op.Mul(i, const(4, index)), const(6, index)), loop(7, 2)), const(5, index)
    )
    (found,) = Watch([mul_idiv_common], Validator(None)).graph(Graph("a program", program), 2).findings
    lines = [
        f"✗ {found.step}",
        f"  {found.statement}",
        "  before:",
        *(f"    {line}" for line in found.before.splitlines()),
        "  after:",
        *(f"    {line}" for line in found.after.splitlines()),
        *(f"  {name} = {text}" for name, text in found.bindings),
        f"  before → {found.left}",
        f"  after  → {found.right}",
        "",
        found.test,
    ]
    return block("text", "\n".join(lines))
