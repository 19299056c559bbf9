"""
Drivers
=======

What a program asks of a GPU, behind one small interface, and the Python packages that provide it: pycuda, or else
cuda-bindings.

In order: `interface`, `libcuda`, `pycuda_driver`, `bindings_driver`, `choice`.
Doors: `choice`, `interface`.
"""
