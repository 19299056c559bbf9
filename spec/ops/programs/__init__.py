"""
Ops of programs
===============

Leaves, reductions, calls, memory, loops and order, and what describes generated code. The codegen ops are outside the
core of the language and may change.

In order: `leaves`, `reduction`, `calls`, `memory`, `loops`, `effects`, `markers`, `tensor_cores`, `machine_code`.
Doors: `calls`, `effects`, `leaves`, `loops`, `machine_code`, `markers`, `memory`, `reduction`, `tensor_cores`.
"""
