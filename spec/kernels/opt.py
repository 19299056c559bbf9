"""
An optimization
===============

An OptOp is a step of the schedule of a kernel: its name, the axis or axes by position, and its arg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OptOp:
    """An optimization: its name, the axis or axes by position, and its arg.

    >>> from soundline.spec.ops.node import AxisType
    >>> OptOp("Split", 0, (4, AxisType.LOCAL))
    OptOp(op='Split', axis=0, arg=(4, <AxisType.LOCAL: 'l'>))
    """

    op: str
    axis: Any = None
    arg: Any = None

    def __str__(self) -> str:
        """The step as text: its name, its axis and its arg.

        >>> from soundline.spec.ops.node import AxisType
        >>> print(OptOp("Split", 0, (4, AxisType.THREAD, True)))
        Split 0 4 THREAD top
        """
        words: list[object] = [self.op]
        if self.axis is not None:
            words += self.axis if isinstance(self.axis, tuple) else (self.axis,)
        for part in self.arg if isinstance(self.arg, tuple) else () if self.arg is None else (self.arg,):
            words += ["top"] if part is True else [] if part is False else [getattr(part, "name", part)]
        return " ".join(map(str, words))
