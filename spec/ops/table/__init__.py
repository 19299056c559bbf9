"""
The op table
============

One entry for every op of the language, and the reading of programs that are written down. Everything else about an op
is derived from its entry: the checks of the constructor, the five derived properties, its values, its adjoint, its
meaning for the prover, its page in the documentation and its row in the status matrix.

In order: `entries`, `parsing`.
Doors: `entries`, `parsing`.
"""

from soundline.spec.ops.node import Op as Op
from soundline.spec.ops.schema import PROPERTIES as PROPERTIES
from soundline.spec.ops.schema import Constraint as Constraint
from soundline.spec.ops.schema import Entry as Entry
from soundline.spec.ops.schema import Group as Group
from soundline.spec.ops.schema import Source as Source
from soundline.spec.ops.table.entries import ENTRIES as ENTRIES
from soundline.spec.ops.table.entries import TABLE as TABLE
from soundline.spec.ops.table.entries import constraint_text as constraint_text
from soundline.spec.ops.table.entries import group_of as group_of
