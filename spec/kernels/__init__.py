"""
Kernels
=======

Kernels as iteration spaces, and the OptOps that schedule them, each with its conditions.

In order: `opt`, `warps`, `dependences`, `iteration_spaces`, `groups`, `schema`, `padto`, `tc`, `optops`.
Doors: `dependences`, `groups`, `iteration_spaces`, `opt`, `optops`, `padto`, `schema`.
"""
