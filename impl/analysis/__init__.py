"""
Analysis
========

What is known of a node: facts, sums, index arithmetic, constant folding.

In order: `cached`, `checks`, `sums`, `elementary`, `arithmetic`, `facts`, `folding`, `linear`.
Doors: `arithmetic`, `cached`, `checks`, `elementary`, `facts`, `folding`, `linear`, `sums`.
"""
