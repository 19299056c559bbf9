"""
Emulator
========

CUDA without a GPU: the CUDA C++ of a program, emitted or written by hand, is compiled by the C++ compiler of this
machine and runs on its processor. Threads are fibers; blocks, clusters, barriers, tensor cores and asynchronous copies
are C++ of their own (``emulator.cpp`` and what it includes), and what a program does wrong is reported with its line.

The C++, in the order in which to read it: ``interface.h`` is what a program and the emulator know of each other,
``soundline_ptx.cuh``, ``cuda_runtime.h`` and ``cuda.h`` what a program is compiled against. ``fibers.h`` switches
stacks, ``machine.h`` has the threads and whose turn it is, ``reports.h`` says what went wrong, ``blocks.h`` has shared
memory and barriers, ``global_memory.h`` global memory, ``mbarriers.h`` barriers that lie in memory, ``copies.h``
asynchronous copies, ``tensor_maps.h`` copies of boxes, ``warps.h`` what a warp does together, ``products.h`` wgmma,
``faults.h`` what a processor refuses, and ``emulator.cpp`` launches.

What is not emulated: time; the memory model of plain loads and stores, since threads take turns on one processor; and
which thread wrote what: a proxy fence publishes everything that was written before it, whoever wrote it. A write that
comes too early after a read of the other proxy is seen where it changes a value, and never for the missing fence alone.
A ``__shared__`` variable is one for all blocks, without clusters, and no place for asynchronous copies; dynamic shared
memory has none of these limits. A thread that loops without any instruction of `ptx` never ends.

In order: `texts`, `reports`, `emulation`.
Doors: `emulation`.
"""
