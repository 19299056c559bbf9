"""The rule library: every shipped rule with its verdict, as `soundline verify` reports it when the pages are built."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from rst import block, escape, prose, title

ROOT = Path(__file__).resolve().parents[2]


def library() -> str:
    """Every shipped rule, by the module that states it."""
    judged = report()
    by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for rule in judged["rules"]:
        by_file[str(Path(rule["file"]).resolve().relative_to(ROOT))].append(rule)
    summary = judged["summary"]
    counts = ", ".join(f"{summary[v]} {v}" for v in ("proved", "refuted", "unknown", "vacuous"))
    parts = [f"**{len(judged['rules'])} rules: {counts}.**\n"]
    for path in sorted(by_file):
        parts += [_module(path, sorted(by_file[path], key=lambda r: int(r["line"])))]
    return "\n".join(parts)


@cache
def report() -> dict[str, Any]:
    """The verdicts, from the cache where they are known."""
    command = [sys.executable, "-m", "soundline", "verify", "--format", "json", "--quiet"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1, 3):
        from sphinx.errors import ExtensionError  # tests read these pages without Sphinx

        raise ExtensionError(f"soundline verify failed with {ran.returncode}:\n{ran.stderr}")
    judged: dict[str, Any] = json.loads(ran.stdout)
    return judged


def _module(path: str, rules: list[dict[str, Any]]) -> str:
    tree = ast.parse((ROOT / path).read_text())
    heading, *said = (ast.get_docstring(tree) or path).split("\n\n")
    docs = {n.name: ast.get_docstring(n) or "" for n in tree.body if isinstance(n, ast.FunctionDef)}
    parts = [title(escape(heading.splitlines()[0]), "-")]
    parts += [prose(" ".join(p.split())) + "\n" for p in said if not p.startswith((" ", ">>>"))]
    parts += [_rule(path, rule, docs.get(rule["id"], "")) for rule in rules]
    return "\n".join(parts)


def _rule(path: str, rule: dict[str, Any], doc: str) -> str:
    statement, _, conditions = rule["statement"].partition("  given ")
    shown = statement + (f"\n    given {conditions}" if conditions else "")
    verdict = f":{'yes' if rule['verdict'] == 'proved' else 'no'}:`{rule['verdict']}`"
    layers = ", ".join(_grouped(rule["layers"]))
    return "\n".join(
        [
            f".. _rule-{rule['id'].replace('_', '-').lower()}:\n",
            title(escape(rule["id"]), "~"),
            f"{prose(' '.join(doc.split()))}\n" if doc else "",
            block("text", shown),
            f"{verdict} · {escape(layers)} · :source:`{path}:{rule['line']} <{path}:{rule['line']}>`\n",
        ]
    )


def _grouped(layers: dict[str, str]) -> list[str]:
    """Layer names with their dtypes gathered: `bit-precise int8, int16` and so on."""
    families: dict[str, list[str]] = defaultdict(list)
    for layer in layers:
        family, _, dtype = layer.partition(" ")
        families[family if family in ("bit-precise", "IEEE") else layer].append(dtype)
    return [f"{f} {', '.join(d)}" if f in ("bit-precise", "IEEE") else f for f, d in families.items()]
