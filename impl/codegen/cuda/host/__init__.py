"""
The CPU part
============

The statements of a proc that the CPU executes, in C: control, storage, arithmetic, copies, tensor maps, launches, and
loops on threads.

In order: `names`, `values`, `lines`, `windows`, `copies`, `launches`, `disjoint`, `loops`, `writing`, `function`.
Doors: `function`, `launches`, `writing`.
"""
