"""
The fast checker
================

The verdict of the abstract machine (`spec.abstract_machine`) at the sizes of real programs.

In order: `plan`, `encoding`, `engine`.
Doors: `plan`, `engine`.
"""
