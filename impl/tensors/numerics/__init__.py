"""
Numerics
========

Special functions as programs over tensors, and the derivatives that they state.

In order: `modulo`, `special`, `gates`, `normal`, `pairs`, `derivatives`, `gradients`.
Doors: `gates`, `gradients`, `normal`, `pairs`, `special`.
"""
