"""
Compositions
============

What the source writes as compositions of ops: gathers, scatters, prefix sums, and the collectives of several devices.

In order: `tensors`, `collectives`.
Doors: `collectives`, `tensors`.
"""
