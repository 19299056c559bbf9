"""
The entry of an OptOp
=====================

The form of an entry in the table of `optops`, and of a refusal. The conditions of an OptOp are
numbered like the constraints of an op: ``opt-split-c1`` is the first of Split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.iteration_spaces import Kernel, size_of
from soundline.spec.kernels.opt import OptOp
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Constraint


@dataclass(frozen=True, slots=True)
class OptEntry:
    """A row of the source's table of OptOps, with the conditions that U-50 gives it."""

    op: str
    axis: str
    arg: str
    semantics: str
    constraints: tuple[Constraint, ...]
    licences: tuple[str, ...]
    """What a program may have to grant; empty where the OptOp is exact."""

    @property
    def slug(self) -> str:
        """The part of every id of this OptOp, for example ``split``."""
        return self.op.lower()

    @property
    def form(self) -> str:
        """The id of the law that the triple has the form of its row, for example ``opt-split-arg``."""
        return f"opt-{self.slug}-arg"


def opt_entry(
    op: str,
    *,
    axis: str,
    arg: str,
    semantics: str,
    constraints: tuple[str, ...],
    licences: tuple[str, ...] = (),
) -> OptEntry:
    """The entry of an OptOp; its conditions are numbered in the order given."""
    numbered = tuple(Constraint(f"opt-{op.lower()}-c{k}", text) for k, text in enumerate(constraints, 1))
    return OptEntry(op, axis, arg, semantics, numbered, licences)


def axis_text(axis: UOp) -> str:
    """An axis as its letter and size; the size of a reduction along a loop is not a number."""
    bound = axis.src[0]
    return f"{axis.arg.type.value}{bound.arg.value if bound.op is Op.Const else '*'}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Makes the error of an OptOp that does not apply."""

    kernel: Kernel
    opt: OptOp
    table: Mapping[str, OptEntry]

    def of(
        self, condition: int, given: str, axis: UOp | None = None, hint: str | None = None
    ) -> ScheduleError:
        """The error of the condition with this number."""
        constraint = self.table[self.opt.op].constraints[condition - 1]
        return ScheduleError(
            str(self.opt),
            constraint.id,
            given=given,
            wants=constraint.text,
            axis=None if axis is None else self.named(axis),
            hint=hint,
        )

    def named(self, axis: UOp) -> str:
        """An axis as a reader finds it: its position, its letter and its size, which may be no number."""
        at = self.kernel.axes.index(axis)
        return f"axis {at} ({axis_text(axis)})"

    def malformed(self) -> ScheduleError:
        """The error of a triple that has not the form of its row."""
        entry = self.table[self.opt.op]
        wants = f"axis: {entry.axis}; arg: {entry.arg}"
        given = f"axis {self.opt.axis!r}, arg {self.opt.arg!r}"
        return ScheduleError(str(self.opt), entry.form, given=given, wants=wants)

    def unknown(self) -> ScheduleError:
        """The error of a name that no OptOp has."""
        return ScheduleError(
            str(self.opt), "U-50", given=self.opt.op, wants=f"one of {', '.join(self.table)}"
        )

    def axis(self, position: Any) -> UOp:
        """The axis at a position."""
        if type(position) is not int or not 0 <= position < len(self.kernel.axes):
            raise self.malformed()
        return self.kernel.axes[position]

    def size(self, axis: UOp, condition: int) -> int:
        """The number of iterations of an axis; the error of a condition where the kernel does not state it."""
        if axis.src[0].op is not Op.Const:
            raise self.of(condition, "a size that is no number", axis)
        return size_of(axis)
