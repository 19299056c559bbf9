"""What the commands about programs print, on a program that the build compiles."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rst import block

from soundline.impl.program.compile import lower
from soundline.impl.program.program import Program
from soundline.verify.cli.main import main

FILE = """\
import numpy as np


def layer(x: "float32[64, 96]", w: "float32[96, 32]", b: "float32[32]"):
    return (x @ w + b).softmax(-1)


def layer_numpy(x, w, b):
    y = x @ w + b
    y = np.exp(y - y.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


def scaled(x: "float32[6, 8]"):
    return (x * 2).sum(1)
"""


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.py").write_text(FILE)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@functools.cache
def said(*commands: str) -> str:
    """What the last of these commands prints, on both streams."""
    printed = io.StringIO()
    with _folder():
        for command in commands:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                code = main(re.findall(r'"[^"]*"|\S+', command.replace("soundline ", "", 1)))
            assert code == 0, f"{command} ends with {code}: {printed.getvalue()}"
    return printed.getvalue()


def _session(*commands: str) -> str:
    return block("text", f"$ {commands[-1]}\n{said(*commands)}")


def file() -> str:
    """The file."""
    return block("python", FILE)


def compile_() -> str:
    """``soundline compile``."""
    return _session("soundline compile model.py:layer")


def bench() -> str:
    """``soundline bench``."""
    return _session("soundline bench model.py:layer")


def run() -> str:
    """``soundline run --check``."""
    return _session("soundline run model.py:scaled --random 7 --check")


def check() -> str:
    """``soundline compile --check``."""
    return _session("soundline compile model.py:scaled --check")


def log() -> str:
    """``-vv``."""
    lower.cache_clear()
    return _session("soundline compile model.py:scaled --stage plan -o plan.uops -vv")


def explain() -> str:
    """``soundline explain`` of a report."""
    return _session(
        "soundline compile model.py:layer --format json -o report.json", "soundline explain report.json"
    )


def pictures() -> str:
    """A program after some stages."""
    return "\n".join(
        _figure(_program().svg(stage), stage) for stage in ("callify", "rangeify", "optimize", "plan")
    )


@functools.cache
def _program() -> Program:
    import numpy as np

    import soundline as sl

    return sl.compile(lambda x: (x * 2).sum(1), np.ones((6, 8), np.float32))


def _figure(picture: str, stage: str) -> str:
    lines = "".join(f"   {line}\n" for line in picture.splitlines())
    caption = f"   <figcaption>after {stage}</figcaption>\n"
    return f'.. raw:: html\n\n   <figure class="graph">\n{lines}{caption}   </figure>\n'
