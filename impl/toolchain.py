"""
Toolchain
=========

The compilers of C and of C++: which one there is, what it is, and how it is called. Where ``$CC`` names one, it is that
one or an error; otherwise the first that runs of ``cc``, ``gcc``, ``clang`` and the compiler that the Python package
``ziglang`` brings. For C++, where emulated CUDA is compiled, it is ``$CXX`` and ``c++``, ``g++``, ``clang++``.
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
from dataclasses import dataclass, replace
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
CPP_FLAGS = (
    "-x",
    "c++",
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-shared",
    "-pthread",
    "-ffp-contract=off",  # no operation of the program is merged with another
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-w",
)
_OPTIONS = "the compiler must accept {standard} and GCC's options; name another in the environment variable {variable}"


@dataclass(frozen=True, slots=True)
class Language:
    """A language to compile: where a compiler of it may be named, who may be one, and how to get one."""

    name: str
    standard: str
    variable: str
    commands: tuple[str, ...]
    zig: str
    """The compiler among the commands of zig."""
    flags: tuple[str, ...]
    install: str

    @property
    def named_wrong(self) -> str:
        """What to do about a variable that names no compiler."""
        return f"correct the environment variable {self.variable}, or unset it to have a compiler looked for"


C = Language(
    "C",
    "C11",
    "CC",
    ("cc", "gcc", "clang"),
    "cc",
    FLAGS,
    "install a C compiler (Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install; "
    "anywhere: pip install ziglang), or name one in the environment variable CC",
)
CPP = Language(
    "C++",
    "C++17",
    "CXX",
    ("c++", "g++", "clang++"),
    "c++",
    CPP_FLAGS,
    "install a C++ compiler (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; "
    "macOS: xcode-select --install; anywhere: pip install ziglang), or name one in the environment variable CXX",
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler: how it is called, what it says it is, the flags for this machine, and its language."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    language: Language = C

    def build(self, source: Path, library: Path) -> None:
        """Compile one file to a shared library; raises `ToolchainError` with what the compiler printed."""
        command = (*self.command, *self.flags, "-o", str(library), str(source), "-lm")
        # Its own temporary files lie beside the library, and its messages can be read on every machine.
        environment = {**os.environ, "TMPDIR": str(library.parent), "LC_ALL": "C"}
        options = _OPTIONS.format(standard=self.language.standard, variable=self.language.variable)
        where = f"{self.language.name} compiler"
        began = time.perf_counter()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, env=environment
            )
        except OSError as error:
            raise ToolchainError(
                f"cannot be started: {error}", command=command, hint=self.language.install, where=where
            ) from error
        if done.returncode != 0:
            raise ToolchainError(
                f"exit status {done.returncode} from: {shlex.join(command)}\n{done.stderr.strip()}",
                command=command,
                stderr=done.stderr,
                hint=options,
                where=where,
            )
        if not library.is_file():
            raise ToolchainError(
                f"the compiler wrote no output: {shlex.join(command)}",
                command=command,
                stderr=done.stderr,
                hint=options,
                where=where,
            )
        _LOG.info(
            "compiled %d bytes of %s in %.0f ms",
            source.stat().st_size,
            self.language.name,
            (time.perf_counter() - began) * 1e3,
        )
        _LOG.debug("with %s", shlex.join(command))


def machine_flags() -> tuple[str, ...]:
    """What lets the compiler use all of this processor."""
    if platform.machine() in ("x86_64", "AMD64"):
        return ("-march=native", "-mprefer-vector-width=512")
    return ("-mcpu=native",)


def named(language: Language = C) -> tuple[str, ...]:
    """The command in ``$CC``, or in the variable of another language; empty where none is named."""
    text = os.environ.get(language.variable, "").strip()
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ToolchainError(
            f"{language.variable} is {text!r}, which is not a command: {error}",
            hint=language.named_wrong,
            where=f"{language.name} compiler",
        ) from None


def candidates(language: Language = C) -> Iterator[tuple[str, ...]]:
    """The commands that may be compilers where none is named, in order of preference."""
    for name in language.commands:
        yield (name,)
    if importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", language.zig)


@functools.cache
def _version(command: tuple[str, ...], _path: str | None) -> str | None:
    """The first line of ``--version``, or None where the command does not run."""
    try:
        done = subprocess.run((*command, "--version"), capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.partition("\n")[0] if done.returncode == 0 else None


def find_compiler() -> Compiler:
    """The C compiler that ``$CC`` names, or the first that runs.

    Raises a `ToolchainError`: where the named one does not run, it names that one, and no other takes its place; where
    none is named and none runs, it says what to install.
    """
    found = _find(C)
    own = () if "clang" in found.version else GCC
    return replace(found, flags=(*FLAGS, *own, *machine_flags()))


def find_cpp_compiler() -> Compiler:
    """The C++ compiler that ``$CXX`` names, or the first that runs; errors are as for C."""
    return _find(CPP)


def _find(language: Language) -> Compiler:
    wanted = named(language)
    tried: list[str] = []
    for command in [wanted] if wanted else candidates(language):
        where = shutil.which(command[0])
        version = _version(command, where) if where else None
        if version is not None:
            return Compiler(command, version, language.flags, language)
        tried.append(shlex.join(command))
    place = f"{language.name} compiler"
    if wanted:
        why = "is not there" if where is None else "does not run with --version"
        raise ToolchainError(
            f"{language.variable} names {tried[0]}, which {why}",
            command=wanted,
            hint=language.named_wrong,
            where=place,
        )
    raise ToolchainError(
        f"no {language.name} compiler found; tried {', '.join(tried)}", hint=language.install, where=place
    )


@functools.cache
def machine() -> str:
    """What of this machine decides whether a library built here runs on it: the processor and its features."""
    info = Path("/proc/cpuinfo")
    features = ""
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.system()} {platform.machine()} {features}"
