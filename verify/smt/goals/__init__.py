"""
Goals
=====

The questions to the solver, the points that are tried first, and the order in which counterexamples are searched.

In order: `strategies`, `solving`, `order`, `obligations`, `steps`, `algebra`, `points`, `sampling`, `trial`.
Doors: `algebra`, `obligations`, `order`, `points`, `sampling`, `solving`, `steps`, `trial`.
"""
