"""
Linear programs
===============

From nests of loops to instructions in order, and what is counted of them.

In order: `linearize`, `counts`, `loop_nests`, `plan`, `scans`, `expand`.
Doors: `counts`, `expand`, `linearize`, `loop_nests`, `plan`, `scans`.
"""
