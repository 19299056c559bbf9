"""
The fast checker
================

The verdict of the abstract machine (`spec.abstract_machine`) at the sizes of real programs: a program becomes a plan,
the plan is reduced, an engine in C runs what is left, and each hazard that it sees is looked at again by the law.

`planning` makes plans and `reducing` makes less of them; here is what becomes of them.

In order: `encoding`, `engine`, `replaying`, `findings`, `refusals`, `checking`, `redundancy`, `machines`.
Doors: `engine`, `machines`.
"""
