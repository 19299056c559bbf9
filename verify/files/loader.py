"""
Reading a rule file
===================

A rule file is a user's Python code, so it may contain any mistake that Python code can contain. It is executed one
top-level statement at a time: a statement that fails is reported with its line, and the statements after it still run.
Where the text does not even parse, the top-level block around the mistake is set aside and the rest is read.

This module runs the file in the present process. The campaign calls it in processes of its own, so that a file that
never ends, or ends the process, costs only itself.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import hashlib
import io
import os
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Collection as Collected
from soundline.spec.rules.language import Rule, collecting
from soundline.spec.rules.procedures import Procedure
from soundline.verify.files.blame import Blame
from soundline.verify.files.problems import Problem
from soundline.verify.files.syntax import Source, parse

PRINTED_LIMIT = 4000
"""How much of what a file prints is kept."""


@dataclass
class Loaded:
    """What a file declares, in its order, and what is wrong with the rest."""

    file: str
    digest: str = ""
    rules: list[Rule] = field(default_factory=list)
    procedures: list[Procedure] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    imported: int = 0
    """How many rules the modules that it imports declare."""
    printed: str = ""
    """What the file printed while it was read."""
    helpers: list[str] = field(default_factory=list)
    """The files beside it that it imports, with the `__init__` files of its own package."""


def load(
    file: str,
    *,
    module: str | None = None,
    skip: Collection[int] = (),
    reached: Callable[[int], None] = lambda _line: None,
) -> Loaded:
    """Read a rule file: every rule in it, and every mistake.

    `module` is its name where it belongs to an installed package. The statements that begin at a line in `skip` are
    left out, because they were seen to end or to block the process; `reached` hears of each line before it runs.
    """
    loaded = Loaded(file)
    data = _read(file, loaded)
    if data is None:
        return loaded
    loaded.digest = hashlib.sha256(data).hexdigest()
    source = parse(data, file)
    loaded.problems += source.problems
    if source.tree is not None:
        printed = io.StringIO()
        with (
            surroundings(file, module) as namespace,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            known = set(sys.modules)
            _Run(source, namespace, loaded, frozenset(skip), reached).all()
            loaded.helpers = _helpers({*sys.modules} - known, Path(file), module)
        loaded.printed = printed.getvalue()[:PRINTED_LIMIT]
    return loaded


def _read(file: str, loaded: Loaded) -> bytes | None:
    try:
        data = Path(file).read_bytes()
    except FileNotFoundError:
        loaded.problems.append(Problem("missing-file", file, None, "there is no such file"))
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        loaded.problems.append(Problem("unreadable-file", file, None, f"cannot be read: {reason}"))
        return None
    if b"\0" in data:
        loaded.problems.append(
            Problem("unreadable-file", file, None, "is a binary file", "a rule file is Python text")
        )
        return None
    return data


class _Run:
    """One execution of a parsed rule file, statement by statement."""

    def __init__(
        self,
        source: Source,
        namespace: dict[str, Any],
        loaded: Loaded,
        skip: frozenset[int],
        reached: Callable[[int], None],
    ) -> None:
        self.source = source
        self.namespace = namespace
        self.loaded = loaded
        self.skip = skip
        self.reached = reached
        self.blame = Blame(loaded.file, namespace)
        self.flags = 0

    def all(self) -> None:
        """Run every statement, inside one collection of rules and errors."""
        assert self.source.tree is not None
        self.blame.broken.update(self.source.lost)
        with collecting() as collection:
            for statement in self.source.tree.body:
                self._one(statement, collection)
        self.loaded.problems += [self.blame.rule_error(e) for e in collection.errors]
        self.loaded.rules += collection.rules
        self.loaded.procedures += collection.procedures
        self.loaded.problems.sort(key=lambda p: (p.file != self.loaded.file, p.file, p.line or 0))

    def _one(self, statement: ast.stmt, collection: Collected) -> None:
        line = first_line(statement)
        if line in self.skip:
            self.blame.note(statement)
            return
        self.reached(line)
        known, procedures = len(collection.rules), len(collection.procedures)
        try:
            code = self._compiled(statement)
            exec(code, self.namespace)  # noqa: S102  # a rule file is a program, and this is its interpreter
        except BaseException as error:  # noqa: BLE001  # whatever a file does wrong is the file's error
            self.blame.note(statement)
            self.loaded.problems.append(self.blame.problem(error, statement))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            # A file answers for the rules that it states, not for those of the modules that it imports.
            self.loaded.imported += len(collection.rules) - known
            del collection.rules[known:]
            del collection.procedures[procedures:]

    def _compiled(self, statement: ast.stmt) -> CodeType:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                self.flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
        module = ast.Module([statement], type_ignores=[])
        code: CodeType = compile(module, self.loaded.file, "exec", flags=self.flags, dont_inherit=True)
        return code


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


# surroundings -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def surroundings(file: str, module: str | None = None) -> Iterator[dict[str, Any]]:
    """What a Python file finds around itself when it runs: its name, its folder on the path, its module.

    Gives the namespace to run it in. Afterwards everything is as before: the modules of its folder are forgotten, so
    that the next file may have helpers of the same names.
    """
    package, roots = _package(Path(file), module)
    name = f"{package}.{Path(file).stem}" if package else Path(file).stem
    if name in sys.modules:
        name = f"{name}__rules"
    running = ModuleType(name)
    running.__file__ = file
    running.__package__ = package
    path, folder, known = list(sys.path), Path.cwd(), set(sys.modules)
    sys.path[:0] = roots
    sys.modules[name] = running
    try:
        yield running.__dict__
    finally:
        sys.path[:] = path
        os.chdir(folder)
        _forget(name, {*sys.modules} - known, roots)


def _package(file: Path, module: str | None) -> tuple[str, list[str]]:
    """The dotted package that a file belongs to, if any, and the folders that its imports are looked up in."""
    if module is not None:
        return module.rpartition(".")[0], []
    parts: list[str] = []
    folder = file.parent
    while (folder / "__init__.py").exists() and folder != folder.parent:
        parts.insert(0, folder.name)
        folder = folder.parent
    roots = [str(folder), str(file.parent)] if parts else [str(file.parent)]
    return ".".join(parts), roots


def _forget(name: str, new: set[str], roots: list[str]) -> None:
    sys.modules.pop(name, None)
    for imported in new:
        if _stands_below(imported, roots):
            sys.modules.pop(imported, None)


def _stands_below(imported: str, roots: list[str]) -> str | None:
    """The file of a module, if it belongs to the user's own folders and is not installed."""
    origin = getattr(sys.modules.get(imported), "__file__", None) or ""
    ours = imported.partition(".")[0] == "soundline" or "site-packages" in origin
    return origin if not ours and any(origin.startswith(root + os.sep) for root in roots) else None


def _helpers(new: set[str], file: Path, module: str | None) -> list[str]:
    """What a file needs to run elsewhere: the modules of its folders that it imported, and where its package begins."""
    roots = _package(file, module)[1]
    found = {origin for name in new if (origin := _stands_below(name, roots)) and origin.endswith(".py")}
    if roots:
        folder = file.parent
        while folder != Path(roots[0]):
            found.add(str(folder / "__init__.py"))
            folder = folder.parent
    return sorted(found - {str(file)})


def ill_typed(error: RuleError, stated: Rule) -> Problem:
    """The problem of a rule that turns out not to be one when it is given types."""
    return Problem("ill-typed", stated.file, error.line or stated.line, error.message, error.hint, stated.id)
