"""
Arrays
======

Arrays of elements, and the laws of movement: which element of an operand each element of a result is.

In order: `arrays`, `movement`.
Doors: `arrays`, `movement`.
"""
