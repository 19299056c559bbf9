"""
Reductions
==========

Reductions that need no loop, or another one: closed forms, sums of gated products, scatters.

In order: `gated_sums`, `costs`, `closed_forms`, `scatters`.
Doors: `closed_forms`, `costs`, `gated_sums`, `scatters`.
"""
