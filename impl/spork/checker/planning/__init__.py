"""
Plans of programs
=================

What a program does at given sizes, with what does not depend on loops computed once: names become terms, windows bases
and strides, instructions the elements that they touch.

In order: `plan`, `terms`, `collectives`, `windows`, `arguments`, `footprints`, `instructions`, `programs`.
Doors: `plan`, `programs`, `terms`.
"""
