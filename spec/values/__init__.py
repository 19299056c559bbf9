"""
Values
======

What each op computes on elements: elementwise laws, the ops that are decomposed into others, and how accurate these
are.

In order: `error_bounds`, `accuracy`, `steps`, `double_word`, `threefry`, `exponentials`, `sine`, `power`,
`decompositions`, `elementwise`, `tensor_cores`.
Doors: `accuracy`, `decompositions`, `double_word`, `elementwise`, `error_bounds`, `sine`, `tensor_cores`.
"""
