"""The command line, from its own parsers: the help texts and the kinds of mistakes in the input."""

from __future__ import annotations

import argparse
import importlib
import os

from rst import block, code, prose, table, title

from soundline.verify.cli.main import COMMANDS, Parser
from soundline.verify.files.problems import KINDS


def commands() -> str:
    """Every command with its own help text."""
    parts = []
    for name, command in COMMANDS.items():
        parts += [title(f"soundline {name}", "-"), block("text", _help(name, command.module))]
    return "\n".join(parts)


def _help(name: str, module: str) -> str:
    os.environ["COLUMNS"] = "96"  # argparse breaks its lines there
    parser = Parser(prog=f"soundline {name}", formatter_class=argparse.RawDescriptionHelpFormatter)
    importlib.import_module(module).arguments(parser)
    return parser.format_help()


def kinds() -> str:
    """The kinds of mistakes that a report can name."""
    return table(("kind", "means"), [(code(k), prose(text)) for k, text in KINDS.items()], widths=(22, 78))
