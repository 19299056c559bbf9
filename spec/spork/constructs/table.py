"""
The constructs of Spork
=======================

The table of everything that a program is made of, construct by construct, in the order of the reference.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.spork.constructs.device import DEVICE
from soundline.spec.spork.constructs.programs import PROGRAMS
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.synchronization import SYNCHRONIZATION

CONSTRUCTS: Final[dict[str, Construct]] = {c.slug: c for c in (*PROGRAMS, *DEVICE, *SYNCHRONIZATION)}
"""Every construct, by slug."""
