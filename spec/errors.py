"""
Errors
======

One tree of typed errors. An error names the rule of the language that was broken (`rule`, the same id that the
documentation and the tests use), where it happened, and what to do about it. Tests match attributes, never text.

An error is also the built-in exception that a user of Python would catch in its place: a mistake in what was given is a
``ValueError``, one in its kind a ``TypeError``, a place outside an ``IndexError``; memory and room that cannot be had
are a ``MemoryError`` and an ``OSError``.
"""

from __future__ import annotations

import errno
from typing import Final

DOCUMENTATION: Final = "https://soundline.readthedocs.io/en/latest/errors.html"


class SoundlineError(Exception):
    """Base of every error that soundline raises on purpose."""

    rule: Final[str | None]
    """Id of the law that was broken, for example ``uop-reshape-c1``."""

    where: Final[str | None]
    """The op, statement or ``file:line`` the error is about."""

    hint: Final[str | None]
    """What the reader can do about it."""

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
        """The anchor of this error in the index of errors: that of its law, else that of its class."""
        return (self.rule or type(self).__name__).lower()

    @property
    def url(self) -> str:
        """The anchored section of the documentation that explains this error."""
        return f"{DOCUMENTATION}#{self.anchor}"


class IllFormed(SoundlineError, ValueError):
    """A node breaks a constraint of the op table and is refused at construction."""

    def __init__(self, op: str, rule: str, *, given: str, wants: str, hint: str | None = None) -> None:
        self.op = op
        self.given = given
        self.wants = wants
        super().__init__(f"wants {wants}; given {given}", rule=rule, where=op, hint=hint)


class EvaluationError(SoundlineError):
    """A program has no value: an unbound Param, or an invalid element that reaches a use (U-01)."""


class ScheduleError(SoundlineError, ValueError):
    """An OptOp does not apply to a kernel; carries the OptOp and the axis, what was given and what is wanted (U-50)."""

    def __init__(
        self, opt: str, rule: str, *, given: str, wants: str, axis: str | None = None, hint: str | None = None
    ) -> None:
        self.opt = opt
        self.axis = axis
        self.given = given
        self.wants = wants
        about = f" of {axis}" if axis else ""
        super().__init__(f"wants {wants}; given {given}{about}", rule=rule, where=opt, hint=hint)


class StageError(SoundlineError):
    """A lowering stage broke its invariant; carries every violation, of which `rule` names the first."""

    def __init__(self, stage: str, violations: tuple[tuple[str, str], ...]) -> None:
        self.violations = violations
        text = "; ".join(what for _, what in violations)
        super().__init__(text, rule=violations[0][0] if violations else None, where=stage)


class SynchronizationError(SoundlineError):
    """A timeline, fence or barrier that the law of Spork refuses; carries what was given and what is wanted."""

    def __init__(self, statement: str, rule: str, *, given: str, wants: str, hint: str | None = None) -> None:
        self.given = given
        self.wants = wants
        super().__init__(f"wants {wants}; given {given}", rule=rule, where=statement, hint=hint)


class GradientError(SoundlineError, ValueError):
    """A gradient that the law does not give: through an op without adjoint, or of what is no float."""


class TextError(SoundlineError, ValueError):
    """A text is no program, or a program has no text; carries line and column, counted from 1, and shows the line."""

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
    """A Spork program is not well formed; carries file, line and column, counted from 1, and shows the line."""

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
    """A statement of a Spork program breaks a law about threads, memory or synchronization; shows the statement.

    Carries what was given and what is wanted. `most` is the greatest loop count that the threads would allow, where
    that is what is wrong. Where a chapter of the law has refused the statement, its own error is the cause.
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
            f"{subject}: wants {wants}; given {given}",
            rule=rule,
            file=file,
            line=line,
            column=column,
            excerpt=excerpt,
            hint=hint,
        )


class RuleError(SoundlineError):
    """A rewrite rule is not a rule: bad syntax, unknown name, ill-typed sides, unbound variable, duplicate name."""

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
        """The anchor of the class, because `rule` may be the id of a reader's own rule."""
        rule = self.rule or ""
        return rule if rule.startswith("uop-") else type(self).__name__.lower()


class UsageError(SoundlineError, ValueError):
    """The command line or an API call was given something that it cannot take."""


class WrongType(UsageError, TypeError):
    """An API call was given a thing of the wrong kind: text where a number is wanted, or a dtype that is none."""


class WrongIndex(UsageError, IndexError):
    """An axis or an index that is outside of what it is to choose from."""


class TracingError(UsageError, TypeError):
    """A number was asked of a tensor that has none yet, since it depends on an argument of a function being traced."""


class OutOfMemoryError(SoundlineError, MemoryError):
    """Memory that the machine does not give; says how many bytes and what for."""


class CollectiveError(SoundlineError):
    """A collective unit, a loop over threads, a choice of warps or an index of distributed memory breaks its law.

    `most` is the greatest loop count that the threads would allow, where that is what is wrong.
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
        super().__init__(f"wants {wants}; given {given}", rule=rule, where=subject, hint=hint)


class CompileError(SoundlineError):
    """A program cannot be lowered or compiled; the message says which stage refused it and why."""


class ToolchainError(CompileError):
    """The C compiler is missing or failed; carries its command line and what it printed."""

    def __init__(
        self, message: str, *, command: tuple[str, ...] = (), stderr: str = "", hint: str | None = None
    ) -> None:
        self.command = command
        self.stderr = stderr
        super().__init__(message, where="C compiler", hint=hint)


class NoSpaceError(ToolchainError, OSError):
    """There is no folder with room for a compiled program, neither the cache nor a temporary one."""

    def __init__(
        self, message: str, *, command: tuple[str, ...] = (), stderr: str = "", hint: str | None = None
    ) -> None:
        super().__init__(message, command=command, stderr=stderr, hint=hint)
        self.errno = errno.ENOSPC
