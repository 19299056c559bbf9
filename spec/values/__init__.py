"""
Values
======

Arrays, and what each op computes on elements: elementwise laws, movement, the ops that are decomposed into others, and
how accurate these are.

In order: `arrays`, `error_bounds`, `accuracy`, `movement`, `steps`, `double_word`, `threefry`, `exponentials`, `sine`,
`power`, `decompositions`, `elementwise`, `tensor_cores`.
Doors: `accuracy`, `arrays`, `decompositions`, `double_word`, `elementwise`, `error_bounds`, `movement`, `sine`,
`tensor_cores`.
"""
