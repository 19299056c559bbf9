"""
The parts of the package
========================

What the generator uses where nothing else is given: the texts, storages and synchronization that this package has.
"""

from __future__ import annotations

from typing import Final

from soundline.impl.codegen.cuda.barriers.synchronization import Synchronization
from soundline.impl.codegen.cuda.instructions.table import TEXTS
from soundline.impl.codegen.cuda.instructions.tma import bytes_of
from soundline.impl.codegen.cuda.library import Library
from soundline.impl.codegen.cuda.memories import register_storage

LIBRARY: Final = Library(TEXTS, bytes_of, register_storage, Synchronization)
"""The library of this package."""
