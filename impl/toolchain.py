"""
Toolchain
=========

The C compiler: which one there is, what it is, and how it is called. Where ``$CC`` names one, it is that one or an
error; otherwise the first that runs of ``cc``, ``gcc``, ``clang`` and the compiler that the Python package ``ziglang``
brings.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from soundline.impl.logs import logger
from soundline.spec.errors import ToolchainError

_LOG = logger("runtime")
FLAGS = (
    "-std=c11",
    "-O3",
    "-fPIC",
    "-shared",
    "-pthread",  # the host has threads
    "-ffp-contract=off",  # no operation of the program is merged with another
    "-fno-fast-math",
    "-fno-math-errno",
    "-fno-trapping-math",  # floating-point exceptions are not observed; values are
    "-fno-strict-aliasing",  # temporaries of several types share the arena
    "-w",
)
GCC = (
    "-fno-predictive-commoning",
)  # what a loop reads again next time would wait in memory instead of being read
_INSTALL = (
    "install a C compiler (Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install; "
    "anywhere: pip install ziglang), or name one in the environment variable CC"
)
_NAMED = "correct the environment variable CC, or unset it to have a compiler looked for"
_OPTIONS = "the compiler must accept C11 and GCC's options; name another in the environment variable CC"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: how it is called, what it says it is, and the flags for this machine."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]

    def build(self, source: Path, library: Path) -> None:
        """Compile one C file to a shared library; raises `ToolchainError` with what the compiler printed."""
        command = (*self.command, *self.flags, "-o", str(library), str(source), "-lm")
        # Its own temporary files lie beside the library, and its messages can be read on every machine.
        environment = {**os.environ, "TMPDIR": str(library.parent), "LC_ALL": "C"}
        began = time.perf_counter()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, env=environment
            )
        except OSError as error:
            raise ToolchainError(f"cannot be started: {error}", command=command, hint=_INSTALL) from error
        if done.returncode != 0:
            raise ToolchainError(
                f"exit status {done.returncode} from: {shlex.join(command)}\n{done.stderr.strip()}",
                command=command,
                stderr=done.stderr,
                hint=_OPTIONS,
            )
        if not library.is_file():
            raise ToolchainError(
                f"the compiler wrote no output: {shlex.join(command)}",
                command=command,
                stderr=done.stderr,
                hint=_OPTIONS,
            )
        _LOG.info(
            "compiled %d bytes of C in %.0f ms", source.stat().st_size, (time.perf_counter() - began) * 1e3
        )
        _LOG.debug("with %s", shlex.join(command))


def machine_flags() -> tuple[str, ...]:
    """What lets the compiler use all of this processor."""
    if platform.machine() in ("x86_64", "AMD64"):
        return ("-march=native", "-mprefer-vector-width=512")
    return ("-mcpu=native",)


def named() -> tuple[str, ...]:
    """The command in ``$CC``; empty where none is named."""
    text = os.environ.get("CC", "").strip()
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ToolchainError(f"CC is {text!r}, which is not a command: {error}", hint=_NAMED) from None


def candidates() -> Iterator[tuple[str, ...]]:
    """The commands that may be compilers where none is named, in order of preference."""
    for name in ("cc", "gcc", "clang"):
        yield (name,)
    if importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", "cc")


@functools.cache
def _version(command: tuple[str, ...], _path: str | None) -> str | None:
    """The first line of ``--version``, or None where the command does not run."""
    try:
        done = subprocess.run((*command, "--version"), capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.partition("\n")[0] if done.returncode == 0 else None


def find_compiler() -> Compiler:
    """The compiler that ``$CC`` names, or the first that runs.

    Raises a `ToolchainError`: where the named one does not run, it names that one, and no other takes its place; where
    none is named and none runs, it says what to install.
    """
    wanted = named()
    tried: list[str] = []
    for command in [wanted] if wanted else candidates():
        where = shutil.which(command[0])
        version = _version(command, where) if where else None
        if version is not None:
            own = () if "clang" in version else GCC
            return Compiler(command, version, (*FLAGS, *own, *machine_flags()))
        tried.append(shlex.join(command))
    if wanted:
        why = "is not there" if where is None else "does not run with --version"
        raise ToolchainError(f"CC names {tried[0]}, which {why}", command=wanted, hint=_NAMED)
    raise ToolchainError(f"no C compiler found; tried {', '.join(tried)}", hint=_INSTALL)


@functools.cache
def machine() -> str:
    """What of this machine decides whether a library built here runs on it: the processor and its features."""
    info = Path("/proc/cpuinfo")
    features = ""
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.system()} {platform.machine()} {features}"
