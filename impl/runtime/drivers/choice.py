"""
Which provider
==============

pycuda where it is installed, else cuda-bindings; ``$SOUNDLINE_CUDA`` names one of them. The driver is opened at its
first use and kept, for the process has one primary context.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from typing import Final

from soundline.impl.runtime.drivers.bindings_driver import BindingsDriver
from soundline.impl.runtime.drivers.interface import Driver, Failure, refusal
from soundline.impl.runtime.drivers.pycuda_driver import PycudaDriver
from soundline.spec.errors import DeviceError, UsageError

VARIABLE: Final = "SOUNDLINE_CUDA"

PROVIDERS: Final[dict[str, tuple[str, Callable[[int], Driver]]]] = {
    "pycuda": ("pycuda", PycudaDriver),
    "cuda-bindings": ("cuda.bindings", BindingsDriver),
}
"""By the names of their packages on PyPI: the module, and what opens a device."""

_INSTALL: Final = (
    "pip install 'soundline[cuda]' brings pycuda; pip install cuda-bindings serves as well; without a GPU, "
    "device='CUDA-EMULATED' runs the same text"
)


@functools.cache
def driver(number: int = 0) -> Driver:
    """The driver of a device, opened at the first call."""
    name = _chosen()
    try:
        return PROVIDERS[name][1](number)
    except ImportError as error:
        raise DeviceError(f"{name} cannot be imported: {error}", where="CUDA", hint=_INSTALL) from error
    except Failure as failure:
        raise refusal(failure, f"device {number} cannot be opened") from failure


def _chosen() -> str:
    named = os.environ.get(VARIABLE)
    if named is not None and named not in PROVIDERS:
        raise UsageError(
            f"{VARIABLE} is {named!r}, not a provider of CUDA", hint=f"one of {', '.join(PROVIDERS)}"
        )
    for name, (module, _) in PROVIDERS.items():
        if named in (None, name) and _is_there(module):
            return name
    missing = named or " nor ".join(PROVIDERS)
    raise DeviceError(
        f"{'neither ' if named is None else ''}{missing} is installed", where="CUDA", hint=_INSTALL
    )


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
