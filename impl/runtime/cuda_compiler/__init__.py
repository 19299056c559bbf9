"""
CUDA compiler
=============

Generated CUDA C++ becomes machine code, without a GPU: NVRTC compiles kernels, nvcc also the code that launches them.
What the compilers say is led back to the line of the generated text and to the statement of the program.

In order: `messages`, `nvrtc`, `nvcc`, `compilation`.
Doors: `compilation`, `messages`, `nvcc`, `nvrtc`.
"""
