"""
Judging a rule
==============

The verdict of a rule over its layers, and what is said of it.

In order: `wording`, `weaker`, `overflow`, `judge`.
Doors: `judge`, `overflow`, `wording`.
"""
