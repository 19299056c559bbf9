"""
Which files to read
===================

Rule files are named by path, found in a folder, or published by installed packages under the entry-point group
``soundline.rules``. In a folder only those files are read that state rules of ours: nothing else in it is executed.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from soundline.verify.files.problems import Problem, displayed

GROUP = "soundline.rules"
"""The entry-point group under which a package publishes the module or package that holds its rules."""

DECLARING = ("rule", "procedure")
"""The words with which a rule file declares."""

_NOT_SOURCE = {"__pycache__", "node_modules", "site-packages", "build", "dist"}


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file to read; `expected` says whether someone named it, so that it ought to hold rules."""

    path: str
    module: str | None = None
    expected: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """The files to read and what is wrong with the rest of what was named."""

    files: tuple[RuleFile, ...]
    problems: tuple[Problem, ...]


def named(paths: Sequence[str]) -> Found:
    """The rule files that these paths mean, each once, in the order named and then by name."""
    files: dict[str, RuleFile] = {}
    problems: list[Problem] = []
    for path in paths:
        for found in _at(path):
            if isinstance(found, Problem):
                problems.append(found)
            elif found.path not in files or found.expected:
                files[found.path] = found
    return Found(tuple(files.values()), tuple(problems))


def _at(path: str) -> Iterator[RuleFile | Problem]:
    real = os.path.realpath(path) if "\0" not in path else ""  # any text may come from the command line
    if not os.path.lexists(real):
        yield Problem("missing-file", path, None, "there is no such file")
    elif Path(real).is_dir():
        files = [p.resolve() for p in _in_folder(Path(real))]
        inside = [RuleFile(str(p), _own_module(p), expected=False) for p in files]
        if not inside:
            hint = "a rule file imports from soundline.verify and decorates functions with @rule"
            yield Problem("no-rules", path, None, "no file in this folder states a rule", hint)
        yield from inside
    elif not real.endswith(".py"):
        yield Problem("not-python", path, None, "is not a Python file", "a rule file ends in .py")
    else:
        yield RuleFile(real, _own_module(Path(real)))


def _in_folder(folder: Path) -> Iterator[Path]:
    for place, inner, files in os.walk(folder):
        at = Path(place)
        inner[:] = sorted(d for d in inner if _is_source(at / d))
        yield from (at / name for name in sorted(files) if name.endswith(".py") and states_rules(at / name))


def _is_source(folder: Path) -> bool:
    name = folder.name
    return not name.startswith(".") and name not in _NOT_SOURCE and not (folder / "pyvenv.cfg").exists()


def states_rules(file: Path) -> bool:
    """Whether a file looks like a rule file, told from its text alone."""
    try:
        data = file.read_bytes()
    except OSError:
        return False
    if b"soundline" not in data or not any(word.encode() in data for word in DECLARING):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return any(b"@" + word.encode() in data for word in DECLARING)
    return any(_imports_rule(s) for s in tree.body) and any(_declares(s) for s in ast.walk(tree))


def _imports_rule(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return any(a.name.startswith("soundline") for a in statement.names)
    return isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("soundline")


def _declares(node: ast.AST) -> bool:
    """Whether a node is a function that is decorated with `rule` or `procedure`, or a call of them."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    for decorator in decorators:
        used = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (used.attr if isinstance(used, ast.Attribute) else getattr(used, "id", "")) in DECLARING:
            return True
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in DECLARING


def _own_module(file: Path) -> str | None:
    """The module name of a file of this package, which is reached through links; None for all others."""
    package = Path(__file__).resolve().parents[2]
    for part in ("spec", "impl", "verify"):
        folder = package / part
        if file.is_relative_to(folder):
            return ".".join(("soundline", part, *file.relative_to(folder).with_suffix("").parts))
    return None


# published rules --------------------------------------------------------------------------------------------------


def published() -> Found:
    """The rule files of every installed package that publishes some, this one first."""
    points = sorted(entry_points(group=GROUP), key=lambda p: (p.name != "soundline", p.name, p.value))
    files: dict[str, RuleFile] = {}
    problems: list[Problem] = []
    for point in points:
        inside = list(_of_entry(point))
        for found in inside:
            if isinstance(found, Problem):
                problems.append(found)
            else:
                files.setdefault(found.path, found)
    return Found(tuple(files.values()), tuple(problems))


def _of_entry(point: EntryPoint) -> Iterator[RuleFile | Problem]:
    where = f"{GROUP}: {point.name} = {point.value}"
    try:
        spec = find_spec(point.module)
    except Exception as error:  # noqa: BLE001  # importing the parents of a published module runs its package
        yield Problem("import", where, None, f"cannot be found: {error}")
        return
    files = list(_of_module(point.module, spec))
    if not files:
        yield Problem("import", where, None, "names no module that is installed")
    yield from files


def _of_module(module: str, spec: ModuleSpec | None) -> Iterator[RuleFile]:
    if spec is None:
        return
    if not spec.submodule_search_locations:
        if spec.origin and spec.origin.endswith(".py"):
            yield RuleFile(os.path.realpath(spec.origin), module)
        return
    for place in spec.submodule_search_locations:
        root = Path(place)
        for file in _in_folder(root):
            inner = file.relative_to(root).with_suffix("").parts
            dotted = ".".join((module, *(p for p in inner if p != "__init__")))
            yield RuleFile(os.path.realpath(file), dotted, expected=False)


def in_words(files: Sequence[RuleFile]) -> str:
    """A few files by name, for messages."""
    names = [displayed(f.path) for f in files[:3]]
    return ", ".join(names) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
