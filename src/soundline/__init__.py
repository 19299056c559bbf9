"""
soundline
=========

The public API. This module alone may import `spec`, `impl` and `verify` together: it plugs the court
(`verify`) into the road (`impl`), and everything else keeps to `spec` <- `impl` <- `verify`.

Names are imported when they are first used, so that reading the law does not load a compiler, and
compiling does not load a solver.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from soundline import former_names

former_names.install()

from soundline.impl import evidence  # noqa: E402  # the names must be found first

if TYPE_CHECKING:
    from soundline.impl import spork as spork
    from soundline.impl.arrays.sizes import Variable as Variable
    from soundline.impl.compilation.certificate import Certificate as Certificate
    from soundline.impl.executables.signatures import Signature as Signature
    from soundline.impl.importers.onnx import ImportedModel as ImportedModel
    from soundline.impl.importers.onnx import from_onnx as from_onnx
    from soundline.impl.importers.reading.errors import ExtraMissing as ExtraMissing
    from soundline.impl.importers.reading.errors import UnsupportedModel as UnsupportedModel
    from soundline.impl.program.compile import compile as compile  # noqa: A004  # the public name
    from soundline.impl.program.custom import CustomFunction as CustomFunction
    from soundline.impl.program.program import Program as Program
    from soundline.impl.tensors.core.functions import function as function
    from soundline.impl.tensors.core.history import no_grad as no_grad
    from soundline.impl.tensors.methods.randomness import manual_seed as manual_seed
    from soundline.impl.tensors.tensor import Tensor as Tensor
    from soundline.spec.dtypes import DType as DType
    from soundline.spec.dtypes import bfloat16 as bfloat16
    from soundline.spec.dtypes import bool_ as bool_
    from soundline.spec.dtypes import float8_e4m3fn as float8_e4m3fn
    from soundline.spec.dtypes import float8_e5m2 as float8_e5m2
    from soundline.spec.dtypes import float16 as float16
    from soundline.spec.dtypes import float32 as float32
    from soundline.spec.dtypes import float64 as float64
    from soundline.spec.dtypes import index as index
    from soundline.spec.dtypes import int8 as int8
    from soundline.spec.dtypes import int16 as int16
    from soundline.spec.dtypes import int32 as int32
    from soundline.spec.dtypes import int64 as int64
    from soundline.spec.dtypes import uint8 as uint8
    from soundline.spec.dtypes import uint16 as uint16
    from soundline.spec.dtypes import uint32 as uint32
    from soundline.spec.dtypes import uint64 as uint64
    from soundline.spec.errors import CompileError as CompileError
    from soundline.spec.errors import DeviceError as DeviceError
    from soundline.spec.errors import EmulationError as EmulationError
    from soundline.spec.errors import EvaluationError as EvaluationError
    from soundline.spec.errors import GeneratedCodeError as GeneratedCodeError
    from soundline.spec.errors import GradientError as GradientError
    from soundline.spec.errors import IllFormed as IllFormed
    from soundline.spec.errors import NoSpaceError as NoSpaceError
    from soundline.spec.errors import OutOfMemoryError as OutOfMemoryError
    from soundline.spec.errors import ProgramError as ProgramError
    from soundline.spec.errors import RuleError as RuleError
    from soundline.spec.errors import SoundlineError as SoundlineError
    from soundline.spec.errors import ToolchainError as ToolchainError
    from soundline.spec.errors import TracingError as TracingError
    from soundline.spec.errors import UsageError as UsageError
    from soundline.spec.errors import WrongIndex as WrongIndex
    from soundline.spec.errors import WrongType as WrongType
    from soundline.spec.ops.table import Op as Op
    from soundline.spec.uop import UOp as UOp

__version__ = "0.2.0"

_HOMES = {
    "soundline.impl.compilation.certificate": ("Certificate",),
    "soundline.impl.program.compile": ("compile",),
    "soundline.impl.program.custom": ("CustomFunction",),
    "soundline.impl.tensors.core.functions": ("function",),
    "soundline.impl.importers.reading.errors": ("ExtraMissing", "UnsupportedModel"),
    "soundline.impl.importers.onnx": ("ImportedModel", "from_onnx"),
    "soundline.impl.program.program": ("Program",),
    "soundline.impl.executables.signatures": ("Signature",),
    "soundline.impl.arrays.sizes": ("Variable",),
    "soundline.impl.tensors.tensor": ("Tensor",),
    "soundline.impl.tensors.core.history": ("no_grad",),
    "soundline.impl.tensors.methods.randomness": ("manual_seed",),
    "soundline.spec.dtypes": (
        "DType",
        "bfloat16",
        "bool_",
        "float8_e4m3fn",
        "float8_e5m2",
        "float16",
        "float32",
        "float64",
        "index",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    ),
    "soundline.spec.errors": (
        "CompileError",
        "DeviceError",
        "EmulationError",
        "EvaluationError",
        "GeneratedCodeError",
        "GradientError",
        "IllFormed",
        "NoSpaceError",
        "OutOfMemoryError",
        "ProgramError",
        "RuleError",
        "SoundlineError",
        "ToolchainError",
        "TracingError",
        "UsageError",
        "WrongIndex",
        "WrongType",
    ),
    "soundline.spec.ops.table": ("Op",),
    "soundline.spec.uop": ("UOp",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = {"spork": "soundline.impl.spork"}

__all__ = ["__version__", *sorted([*_HOME_OF, *_MODULES])]  # noqa: PLE0604  # the names are strings


class _Court:
    """The court, in session once something is asked of it."""

    def ruling(self, rule_id: str) -> evidence.Ruling:
        from soundline.verify.engine.evidence import CachedCourt

        return CachedCourt().ruling(rule_id)

    def application(self, before: UOp, after: UOp) -> evidence.Ruling:
        from soundline.verify.engine.evidence import CachedCourt

        return CachedCourt().application(before, after)


evidence.plug_in(_Court())


def _show_logs() -> None:
    """Follow ``SOUNDLINE_LOG`` where it is set; nothing is imported where it is not."""
    if os.environ.get("SOUNDLINE_LOG"):
        import_module("soundline.impl.logs").show_what_is_asked_for()


_show_logs()


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'soundline' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, those not yet imported included."""
    return sorted({*globals(), *__all__})
