"""
Ranks
=====

Rules about tensors at every rank: how many axes suffice, and why.

In order: `conditions`, `permutations`, `shapes`, `blocks`, `elements`, `frames`, `leading_axes`, `reductions`,
`counts`, `homomorphisms`, `parts`, `every_rank`, `instances`.
Doors: `elements`, `every_rank`, `instances`.
"""
