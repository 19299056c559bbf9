"""
Tensor
======

`Tensor` is the front of the compiler: a lazy value over a UOp. An operation builds nodes and computes nothing; the
value is computed, by one compiled program, when it is asked for (`numpy`, `item`, ``np.asarray``). Shapes broadcast
and dtypes promote as in numpy; both are written into the graph as movement ops and casts, because UOps themselves do
neither (U-14, U-20).

Every method is a composition of UOps, and its value is the law's, bit for bit. The methods are told by subject in
chapters of their own: `values`, `showing`, `arguments`, `arithmetic`, `divisions`, `movement`, `reductions`,
`selection`, `eager`, `parts`, `linear_algebra`, `solving`, `elementwise`, `activations`, `numeric`, `creation`,
`randomness`, `networks`, `spaces`, `placement` and `differentiation`.

>>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
>>> (x @ x.T + 1).sum(axis=0).tolist()
[18.0, 38.0]
"""

from __future__ import annotations

from soundline.impl.tensors import arguments
from soundline.impl.tensors.differentiation import Differentiation
from soundline.impl.tensors.eager import Eager
from soundline.impl.tensors.methods.solving import Solving
from soundline.impl.tensors.spaces import Spaces


class Tensor(Differentiation, Eager, Solving, Spaces):
    """An array with a shape and a dtype, made from numbers, nested lists, arrays, or any object that supports DLPack.

    Without `dtype`, Python floats become float32, and Python integers int32, or int64 if they need it. An array keeps
    its dtype and is copied; `from_numpy`, `from_dlpack` and `from_buffer` share memory if possible. A tensor of floats
    with `requires_grad` gets gradients from `backward`.
    """

    __slots__ = ()


for _chapter in Tensor.__mro__:
    if _chapter.__module__.startswith("soundline.impl.tensors."):
        arguments.accept(_chapter)

__all__ = ["Tensor"]
