"""
Gradients
=========

The adjoint of each op, and the backward pass over a program.

In order: `schema`, `elementwise`, `tensor`, `table`, `backward`.
Doors: `backward`, `schema`.
"""
