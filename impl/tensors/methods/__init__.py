"""
Methods of Tensor
=================

The methods by subject; each module is a class of which `Tensor` inherits.

In order: `movement`, `placement`, `reductions`, `windows`, `convolutions`, `selection`, `elementwise`,
`linear_algebra`, `activations`, `creation`, `divisions`, `randomness`, `solving`, `networks`, `numeric`.
Doors: `activations`, `convolutions`, `movement`, `networks`, `numeric`, `placement`, `selection`, `solving`, `windows`.
"""
