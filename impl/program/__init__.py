"""
Programs
========

`compile`, the program that it returns, custom functions, and programs for every size.

In order: `promises`, `arguments`, `custom`, `program`, `every_size`, `compile`.
Doors: `compile`, `program`.
"""
