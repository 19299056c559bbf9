"""
Judging a rule
==============

The verdict of a rule over its layers, and its wording.

In order: `wording`, `weaker`, `overflow`, `judge`.
Doors: `judge`, `overflow`, `wording`.
"""
