"""
Programs in CUDA
================

From a proc to its device functions and its files.

In order: `standard`, `device`, `files`.
Doors: `device`, `files`, `standard`.
"""
