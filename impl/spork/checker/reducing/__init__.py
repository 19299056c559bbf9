"""
Less of a plan
==============

What need not be run of a plan for the same verdict: touches that can be no hazard, tasks that are equal to others,
repetitions of loops. Each step is exact, and leaves what it cannot show.

In order: `ranges`, `values`, `uses`, `symmetry`, `periods`, `plans`.
Doors: `plans`.
"""
