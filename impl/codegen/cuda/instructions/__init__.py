"""
Instructions in CUDA
====================

The C++ of each family of instructions: one statement for a call, which names PTX, or a function of
``soundline_device.cuh`` where a fragment or a window is more than PTX knows.

In order: `places`, `copies`, `warps`, `sm80`, `user`, `tma`, `sm90`, `rows`, `table`.
Doors: `table`, `tma`, `user`.
"""
