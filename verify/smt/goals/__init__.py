"""
Goals
=====

What is asked of the solver, at which points it is tried first, and in which order counterexamples are looked for.

In order: `strategies`, `solving`, `order`, `obligations`, `steps`, `algebra`, `points`, `sampling`, `trial`.
Doors: `algebra`, `obligations`, `order`, `points`, `sampling`, `solving`, `steps`, `trial`.
"""
