"""
Threads
=======

Collective units, domains of threads, how domains are tiled, distributed memory and named warps.

In order: `units`, `domains`, `tilings`, `distributed_memory`, `warps`.
Doors: `distributed_memory`, `domains`, `tilings`, `units`, `warps`.
"""
