"""
The fast checker
================

The verdict of the abstract machine (`spec.abstract_machine`) at the sizes of real programs.

In order: `plan`, `terms`, `collectives`, `windows`, `arguments`, `footprints`, `instructions`, `planning`, `ranges`,
`values`, `uses`, `symmetry`, `periods`, `reducing`, `encoding`, `engine`, `replaying`, `findings`, `refusals`,
`checking`, `redundancy`, `machines`.
Doors: `plan`, `engine`, `machines`.
"""
