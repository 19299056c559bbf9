"""
Runtime
=======

What runs compiled programs: the compile cache, the host library, command buffers, callbacks; the CPU part of a CUDA
program, the compiler of its kernels, an emulator and a GPU.

In order: `cache`, `host`, `commands`, `callbacks`, `cpu`, `cpu_part`, `cuda`.
Doors: `cache`, `callbacks`, `commands`, `cpu`, `cpu_part`, `cuda`, `host`.
"""
