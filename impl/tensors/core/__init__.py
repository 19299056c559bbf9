"""
The core of Tensor
==================

What a tensor is: its value, its history, how it is shown, and its arithmetic.

In order: `accuracy`, `kinks`, `history`, `lines`, `parts`, `showing`, `values`, `arithmetic`, `functions`.
Doors: `arithmetic`, `functions`, `history`, `lines`, `parts`, `values`.
"""
