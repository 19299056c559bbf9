"""
The fast checker
================

The verdict of the abstract machine (`spec.abstract_machine`) at the sizes of real programs.

In order: `plan`, `terms`, `windows`, `collectives`, `footprints`, `arguments`, `instructions`, `planning`, `values`,
`ranges`, `uses`, `symmetry`, `periods`, `reducing`, `encoding`, `engine`.
Doors: `plan`, `planning`, `reducing`, `engine`.
"""
