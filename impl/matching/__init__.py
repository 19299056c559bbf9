"""
Matching
========

Rules compiled into functions that match: what a rule demands, the steps of its pattern, its conditions, and the index
of candidates.

In order: `demands`, `types`, `reductions`, `strides`, `conditions`, `steps`, `straight_line`, `matcher`, `candidates`.
Doors: `candidates`, `matcher`.
"""
