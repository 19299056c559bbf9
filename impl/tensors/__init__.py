"""
Tensors
=======

`Tensor`, made of the chapters in `core` and `methods`; the formulas of its functions stand in `numerics`.

In order: `arguments`, `eager`, `differentiation`, `spaces`, `tensor`.
Doors: `tensor`.
"""
