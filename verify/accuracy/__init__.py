"""
Accuracy
========

Errors of functions, measured in units in the last place.

In order: `points`, `decompositions`, `functions`.
Doors: `decompositions`.
"""
