"""
Compilation
===========

The stages in order, the kernels of a program linked together, and the evidence that they leave.

In order: `stages`, `linking`, `derivation`, `certificate`.
Doors: `certificate`, `derivation`, `linking`, `stages`.
"""
