"""
Runtime
=======

What runs compiled programs: the compile cache, the host library, command buffers, callbacks.

In order: `cache`, `host`, `commands`, `callbacks`, `cpu`.
Doors: `cache`, `callbacks`, `commands`, `cpu`, `host`.
"""
