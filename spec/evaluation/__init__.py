"""
Evaluation
==========

What a program computes: memory, loops, lanes, workgroups and functions, each a reading of the nodes in a frame.
`spec.evaluate` puts them together.

In order: `memory`, `strides`, `frames`, `functions`, `lanes`, `memory_effects`, `loops`, `values`, `workgroups`,
`linear`.
Doors: `frames`, `functions`, `linear`, `loops`, `memory`, `memory_effects`, `strides`, `values`.
"""
