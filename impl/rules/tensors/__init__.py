"""
Rules about tensors
===================

Movement, reductions, ranges, gates and scans.

In order: `elementwise_movement`, `gating`, `movement`, `ranges`, `reductions`, `scans`.
Doors: `elementwise_movement`, `gating`, `movement`, `ranges`, `reductions`, `scans`.
"""
