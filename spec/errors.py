"""
Errors
======

One tree of typed errors. An error names the rule of the language that was broken (`rule`, the same id that the
documentation and the tests use), where it happened, and what to do about it. Tests match attributes, never text.

An error is also the built-in exception that Python users would catch: ``ValueError`` for a wrong value, ``TypeError``
for a wrong type, ``IndexError`` for an index out of range, ``MemoryError`` for memory that cannot be allocated, and
``OSError`` for a full disk.
"""

from __future__ import annotations

import errno
from typing import Final

DOCUMENTATION: Final = "https://soundline.readthedocs.io/en/latest/errors.html"


class SoundlineError(Exception):
    """Base of every error that soundline raises on purpose."""

    rule: Final[str | None]
    """Id of the rule of the language that was broken, for example ``uop-reshape-c1``."""

    where: Final[str | None]
    """The op, statement or ``file:line`` where the error occurred."""

    hint: Final[str | None]
    """How to fix it."""

    def __init__(
        self, message: str, *, rule: str | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        self.message = message
        self.rule = rule
        self.where = where
        self.hint = hint
        parts = [f"{where}: {message}" if where else message]
        if rule:
            parts[0] += f" [{rule}]"
        if hint:
            parts.append(f"  hint: {hint}")
        super().__init__("\n".join(parts))

    @property
    def anchor(self) -> str:
        """The anchor of this error in the index of errors: the id of its rule, or the name of its class."""
        return (self.rule or type(self).__name__).lower()

    @property
    def url(self) -> str:
        """The anchored section of the documentation that explains this error."""
        return f"{DOCUMENTATION}#{self.anchor}"


class IllFormed(SoundlineError, ValueError):
    """A node breaks a constraint of the op table and cannot be constructed."""

    def __init__(self, op: str, rule: str, *, given: str, wants: str, hint: str | None = None) -> None:
        self.op = op
        self.given = given
        self.wants = wants
        super().__init__(f"expected: {wants}; got: {given}", rule=rule, where=op, hint=hint)


class EvaluationError(SoundlineError):
    """A program has no value: a Param is unbound, or an invalid element is used (U-01)."""


class ScheduleError(SoundlineError, ValueError):
    """An OptOp cannot be applied to a kernel; has the OptOp, the axis, and what was expected and given (U-50)."""

    def __init__(
        self, opt: str, rule: str, *, given: str, wants: str, axis: str | None = None, hint: str | None = None
    ) -> None:
        self.opt = opt
        self.axis = axis
        self.given = given
        self.wants = wants
        about = f" of {axis}" if axis else ""
        super().__init__(f"expected: {wants}; got: {given}{about}", rule=rule, where=opt, hint=hint)


class StageError(SoundlineError):
    """A lowering stage broke its invariant; has all violations, and `rule` is that of the first."""

    def __init__(self, stage: str, violations: tuple[tuple[str, str], ...]) -> None:
        self.violations = violations
        text = "; ".join(what for _, what in violations)
        super().__init__(text, rule=violations[0][0] if violations else None, where=stage)


class SynchronizationError(SoundlineError):
    """A timeline, fence or barrier that Spork does not allow; has what was expected and given."""

    def __init__(self, statement: str, rule: str, *, given: str, wants: str, hint: str | None = None) -> None:
        self.given = given
        self.wants = wants
        super().__init__(f"expected: {wants}; got: {given}", rule=rule, where=statement, hint=hint)


class GradientError(SoundlineError, ValueError):
    """A gradient that does not exist: through an op without an adjoint, or of a value that is not a float."""


class TextError(SoundlineError, ValueError):
    """A text is not a program, or a program has no text form; has line and column, counted from 1, and the line."""

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        excerpt: str = "",
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.line = line
        self.column = column
        super().__init__(message, rule=rule, where=f"line {line}" if line else None, hint=hint)
        if column is not None:
            self.args = (f"{self}\n  {excerpt}\n  {' ' * (column - 1)}^",)


class ProgramError(SoundlineError):
    """A Spork program is not well-formed; has file, line and column, counted from 1, and shows the line."""

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str = "",
        hint: str | None = None,
    ) -> None:
        self.file = file
        self.line = line
        self.column = column
        where = f"{file}:{line}" if file and line else None
        super().__init__(message, rule=rule, where=where, hint=hint)
        if column is not None:
            self.args = (f"{self}\n  {excerpt}\n  {' ' * (column - 1)}^",)


class StaticError(ProgramError):
    """A statement of a Spork program breaks a condition on threads, memory or synchronization; shows the statement.

    Has what was expected and given. If a loop count is too large, `most` is the largest count that the threads permit.
    If a function of the specification refused the statement, the error of that function is the cause.
    """

    def __init__(
        self,
        subject: str,
        rule: str,
        *,
        given: str,
        wants: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str = "",
        most: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.subject = subject
        self.given = given
        self.wants = wants
        self.most = most
        super().__init__(
            f"{subject}: expected: {wants}; got: {given}",
            rule=rule,
            file=file,
            line=line,
            column=column,
            excerpt=excerpt,
            hint=hint,
        )


class RuleError(SoundlineError):
    """A mistake in a rewrite rule: bad syntax, unknown name, ill-typed sides, unbound variable, duplicate name."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.file = file
        self.line = line
        where = f"{file}:{line}" if file and line else file
        super().__init__(message, rule=rule, where=where, hint=hint)

    @property
    def anchor(self) -> str:
        """The anchor of the class, because `rule` may be the id of a user's rule."""
        rule = self.rule or ""
        return rule if rule.startswith("uop-") else type(self).__name__.lower()


class UsageError(SoundlineError, ValueError):
    """An argument of the command line or of an API call is not valid."""


class WrongType(UsageError, TypeError):
    """An argument has the wrong type: a string instead of a number, or an unknown dtype."""


class WrongIndex(UsageError, IndexError):
    """An axis or an index is out of range."""


class TracingError(UsageError, TypeError):
    """A value was requested of a tensor that has none, because it depends on an argument of a traced function."""


class OutOfMemoryError(SoundlineError, MemoryError):
    """Memory could not be allocated; says how many bytes and for what."""


class CollectiveError(SoundlineError):
    """A collective unit, a loop over threads, a choice of warps or an index of distributed memory breaks a condition.

    If a loop count is too large, `most` is the largest count that the threads permit.
    """

    def __init__(
        self,
        subject: str,
        rule: str,
        *,
        given: str,
        wants: str,
        most: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.subject = subject
        self.given = given
        self.wants = wants
        self.most = most
        super().__init__(f"expected: {wants}; got: {given}", rule=rule, where=subject, hint=hint)


class CompileError(SoundlineError):
    """A program cannot be lowered or compiled; the message names the stage and the reason."""


class DeviceError(SoundlineError):
    """A GPU is missing or cannot run a program: driver, architecture, shared memory, launch; names kernel and limit."""


class ToolchainError(CompileError):
    """A compiler of C, C++ or CUDA is missing or failed; has its command line and output."""

    def __init__(
        self,
        message: str,
        *,
        command: tuple[str, ...] = (),
        stderr: str = "",
        hint: str | None = None,
        where: str = "C compiler",
    ) -> None:
        self.command = command
        self.stderr = stderr
        super().__init__(message, where=where, hint=hint)


class NoSpaceError(ToolchainError, OSError):
    """There is no directory with enough space for a compiled program, neither the cache nor a temporary one."""

    def __init__(
        self, message: str, *, command: tuple[str, ...] = (), stderr: str = "", hint: str | None = None
    ) -> None:
        super().__init__(message, command=command, stderr=stderr, hint=hint)
        self.errno = errno.ENOSPC


class GeneratedCodeError(CompileError):
    """A compiler refuses generated text, of which a user's own instruction may be a part.

    Has the `file`, `line` and `text` of what was generated, and the `statement` of the program that it came from with
    its file and line; the `log` is all that the compiler said.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        text: str = "",
        kernel: str | None = None,
        statement: str = "",
        statement_file: str | None = None,
        statement_line: int | None = None,
        log: str = "",
        others: int = 0,
        hint: str | None = None,
    ) -> None:
        self.file = file
        self.line = line
        self.text = text
        self.kernel = kernel
        self.statement = statement
        self.statement_file = statement_file
        self.statement_line = statement_line
        self.log = log
        self.others = others
        where = f"{file}:{line}" if file and line else file or kernel
        parts = [f"{message} (and {others} more)" if others > 0 else message]
        if text:
            parts.append(f"  {text.strip()}")
        if statement_file:
            parts.append(f"  from {statement_file}:{statement_line}: {statement}")
        super().__init__("\n".join(parts), where=where, hint=hint)


class EmulationError(SoundlineError):
    """A kernel went wrong in the emulator.

    Has the `kind` of what went wrong, the `kernel`, `block` and `thread`, the `file`, `line` and `text` of CUDA C++,
    the `statement` of the program that it came from with its file and line, and of a deadlock what each warp waits for
    in `waits`.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        kernel: str = "",
        block: tuple[int, int, int] | None = None,
        thread: int | None = None,
        file: str | None = None,
        line: int | None = None,
        text: str = "",
        statement: str = "",
        statement_file: str | None = None,
        statement_line: int | None = None,
        waits: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> None:
        self.kind = kind
        self.kernel = kernel
        self.block = block
        self.thread = thread
        self.file = file
        self.line = line
        self.text = text
        self.statement = statement
        self.statement_file = statement_file
        self.statement_line = statement_line
        self.waits = waits
        who = f"thread {thread} of block {block}: " if block is not None and thread is not None else ""
        parts = [f"{who}{message}"]
        if file and line:
            parts.append(f"  at {file}:{line}: {text.strip()}")
        if statement_file:
            parts.append(f"  from {statement_file}:{statement_line}: {statement}")
        parts += [f"  {wait}" for wait in waits]
        super().__init__("\n".join(parts), where=kernel or None, hint=hint)
