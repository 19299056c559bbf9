"""
Types of arguments
==================

What an argument of a proc or an instruction is: a control value, or data of a dtype and sizes in some memory; and the
named warps of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from soundline.spec.dtypes import DType
from soundline.spec.spork.language.expressions import Expr
from soundline.spec.spork.language.nodes import Node, Ref


@dataclass(frozen=True, slots=True)
class Control:
    """The type of an argument that says how much and where: ``size``, ``index``, or ``bool``; it is never written."""

    name: Literal["size", "index", "bool"]


@dataclass(frozen=True, slots=True)
class Data:
    """The type of data in memory: a scalar where there are no sizes; `window` is a view with strides of its own."""

    dtype: DType
    sizes: tuple[Expr, ...] = ()
    window: bool = False


Type = Control | Data


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """An argument of a proc or instruction, and the memory that its data lies in."""

    name: str
    type: Type
    memory: Ref | None = None


@dataclass(frozen=True, slots=True)
class CudaWarpConfig:
    """Warps of a block under one name, and the registers that each of their threads gives up or takes."""

    name: str
    count: int
    setmaxnreg_dec: int | None = None
    setmaxnreg_inc: int | None = None
