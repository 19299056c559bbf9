"""
Gradients
=========

The adjoint of each op, and the backward pass over a program.

In order: `table`, `backward`.
Doors: `backward`, `table`.
"""
