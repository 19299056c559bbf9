"""
Pausing the collector
=====================

Python's collector of reference cycles looks through every object that is alive, again and again while many are made.
The passes of the compiler and the abstract machine make many objects, which are in no cycles, so it is paused while
they run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 10_000
"""If more objects than this were made, the garbage collector treats them as old at once, and does not traverse them."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """No collection of cycles inside, unless another thread asks for it; where it was off, it stays off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.enable()
