"""
The command line
================

``soundline COMMAND …``. Each command is a module of its own, imported when it is used; this one finds it, reads the
options, and turns every error into one line and an exit code. Users never see a traceback of soundline.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from soundline import __version__
from soundline.spec.errors import SoundlineError, UsageError

USAGE = 2
INTERRUPTED = 130
READER_LEFT = 141
"""As a shell says of a program that writes to a closed pipe: the run is not complete, so it is not good either."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its module, which has `arguments(parser)` and `run(options)`, and a line about it."""

    module: str
    summary: str


COMMANDS = {
    "verify": Command("soundline.verify.cli.verify", "prove or refute rewrite rules"),
    "explain": Command("soundline.verify.cli.explain", "say what an id means, or what a report says"),
    "check": Command("soundline.verify.cli.check", "look for hazards in Spork programs"),
    "compile": Command(
        "soundline.verify.cli.compile", "show what becomes of a tensor program, or of a Spork program in CUDA"
    ),
    "run": Command("soundline.verify.cli.run", "compile a tensor program, call it, print what it returns"),
    "bench": Command("soundline.verify.cli.bench", "measure a tensor program, kernel by kernel"),
}

HELP = """\
usage: soundline COMMAND [options]

soundline proves the rewrites of tensor compilers, or shows the smallest input on which they are wrong.

commands:
{commands}

options:
  -h, --help      show this text; soundline COMMAND -h teaches one command
  --version       show the version

first steps:
  soundline verify                   prove the rules that soundline ships
  soundline verify my_rules.py       judge your own
  soundline check kernel.py          look for hazards in your Spork programs
  soundline compile model.py:layer   see what becomes of a tensor program
  soundline compile kernel.py:gemm --target cuda
  soundline explain Reshape          read the law of one op

exit codes: 0 all good, 1 findings, 2 wrong use or bad input, 3 only undecided rules, 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process with two lines of usage."""

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError``."""
        raise UsageError(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # What a terminal cannot show is shown as an escape; it must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _refused(error, arguments)
    except SoundlineError as error:
        print(f"soundline: error: {error}", file=sys.stderr)
        return USAGE
    except MemoryError:
        print("soundline: error: there is not enough memory for this", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("soundline: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; do not let Python complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except SystemExit as ended:  # argparse, after showing help
        return ended.code if isinstance(ended.code, int) else 0


def _refused(error: UsageError, arguments: list[str]) -> int:
    command = f" {arguments[0]}" if arguments and arguments[0] in COMMANDS else ""
    hint = error.hint or f"see soundline{command} -h"
    print(f"soundline: error: {error.message} ({hint})", file=sys.stderr)
    return USAGE


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        print(_help(), file=sys.stderr)
        return USAGE
    name, rest = arguments[0], arguments[1:]
    if name in ("-h", "--help", "help"):
        print(_help())
        return 0
    if name == "--version":
        print(f"soundline {__version__}")
        return 0
    if name not in COMMANDS:
        what = "option" if name.startswith("-") else "command"
        raise UsageError(
            f"there is no {what} {name}", hint=_closest(name, [*COMMANDS, "--help", "--version"])
        )
    module = importlib.import_module(COMMANDS[name].module)
    parser = Parser(
        prog=f"soundline {name}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    code: int = module.run(parsed(parser, rest))
    return code


def parsed(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command; raises ``UsageError`` for one that it does not have."""
    options, unknown = parser.parse_known_intermixed_args(arguments)
    if unknown:
        known = [o for action in parser._actions for o in action.option_strings]  # noqa: SLF001
        wrong = unknown[0].partition("=")[0]
        what = "option" if wrong.startswith("-") else "argument"
        raise UsageError(f"there is no {what} {wrong}", hint=_closest(wrong, known))
    return options


def _closest(wrong: str, known: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(wrong, known, n=1)
    return f"did you mean {close[0]}?" if close else None


def _help() -> str:
    width = max(len(name) for name in COMMANDS)
    rows = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return HELP.format(commands="\n".join(rows))
