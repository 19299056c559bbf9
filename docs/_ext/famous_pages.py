"""Famous wrong rewrites: the pairs of `examples/famous_wrong_rewrites.py`, with the counterexamples of the court."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from rst import block, escape, title

ROOT = Path(__file__).resolve().parents[2]
FILE = "examples/famous_wrong_rewrites.py"


@cache
def verdicts() -> dict[str, dict[str, Any]]:
    """What the court says of each rule of the file, by its id."""
    command = [sys.executable, "-m", "soundline", "verify", FILE, "--format", "json", "--quiet"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {rule["id"]: rule for rule in json.loads(ran.stdout)["rules"]}


def famous() -> str:
    """One section for each mistake: where it was made, the rule, the counterexample, and the rule that is right."""
    text = (ROOT / FILE).read_text()
    parts: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            parts += _section(node, text)
    return "\n".join(parts)


def _section(node: ast.FunctionDef, text: str) -> list[str]:
    rule = verdicts()[node.name]
    name, _, sort = node.name.rpartition("_")
    said = [" ".join(p.split()) for p in inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")]
    heading = [title(name.replace("_", " ").capitalize(), "-")] if sort == "wrong" else ["Right is:\n"]
    shown = [escape(p) + "\n" for p in said if p]
    return [*heading, *shown, block("python", _code(node, text)), *_verdict(rule)]


def _code(node: ast.FunctionDef, text: str) -> str:
    """The rule without its documentation."""
    lines = text.splitlines()
    first = min(d.lineno for d in node.decorator_list) - 1
    body = node.body[1:] if ast.get_docstring(node) else node.body
    head = lines[first : node.body[0].lineno - 1]
    return "\n".join([*head, *lines[body[0].lineno - 1 : node.end_lineno]])


def _verdict(rule: dict[str, Any]) -> list[str]:
    found = rule["counterexample"]
    if found is None:
        return [f":yes:`{rule['verdict']}` · {escape(', '.join(rule['layers']))}\n"]
    wrong = [layer for layer, verdict in rule["layers"].items() if verdict == "refuted"]
    rows = [*found["bindings"].items(), ("left side", found["left"]), ("right side", found["right"])]
    width = max(len(name) for name, _ in rows)
    values = "\n".join(f"{name:{width}} = {value}" for name, value in rows)
    where = f"{escape(', '.join(wrong))}. The smallest inputs found, {escape(found['instance'])}:"
    return [
        f":no:`{rule['verdict']}` · {where}\n",
        block("text", values),
    ]
