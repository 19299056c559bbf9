"""
Differentiation
===============

Gradients by the adjoints of the specification (U-33), with the interface of torch: a tensor with `requires_grad` is a
leaf, and `backward` adds the gradient of a scalar to the `grad` of every leaf on which the scalar depends. A gradient
is a lazy tensor like any other. At ties the specification decides: the gradient of ``relu`` at 0 is ½.
"""

from __future__ import annotations

from typing import Any, Self
from weakref import WeakValueDictionary

from soundline.impl.tensors.core import history
from soundline.impl.tensors.core.values import Operand, Values, as_graph
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.numerics.gradients import gradients
from soundline.spec.errors import UsageError
from soundline.spec.uop import Op, UOp

_OWNERS: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The tensors that ask for gradients, by the numbers of their leaves."""


class Differentiation(Values):
    """Gradients."""

    __slots__ = ()

    def _become_leaf(self) -> None:
        super()._become_leaf()
        _OWNERS[self._uop.tag.number] = self

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor: it is a leaf that requires them, or depends on one."""
        return history.tracked(self._uop)

    @property
    def is_leaf(self) -> bool:
        """Whether the value does not depend on another tensor, as far as gradients are concerned."""
        (whole,), _ = history.whole([self._uop])
        return history.is_leaf(whole) or not history.tracked(whole)

    def requires_grad_(self, wanted: bool = True) -> Self:
        """Change whether this tensor requires gradients from now on; returns the tensor itself.

        What was computed from it before is not affected.
        """
        if wanted and not (self.is_leaf and self.requires_grad):
            self._become_leaf()
        elif not wanted:
            self._uop = history.without_marks(self._uop)
            self.grad = None
        return self

    def detach(self) -> Self:
        """The same value without gradients."""
        return self.of(Op.Detach(self._uop)) if history.tracked(self._uop) else self.of(self._uop)

    def contiguous_backward(self) -> Self:
        """The same value; its gradient is stored when it is computed."""
        return self.of(Op.ContiguousBackward(self.uop))

    def backward(self, gradient: Operand | None = None) -> None:
        """Add the gradient of this tensor to the `grad` of every leaf that it depends on.

        The tensor is a scalar, or `gradient`, of the same shape, has the weights of its elements. Raises `UsageError`
        if the tensor depends on no leaf, and `GradientError` if an op in between has no adjoint.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> w = Tensor([1.0, 2.0], requires_grad=True)
        >>> (w * w).sum().backward()
        >>> w.grad.tolist()
        [2.0, 4.0]
        """
        (whole,), _ = history.whole([self._uop])
        owners = {n: _OWNERS[n] for n in history.leaves(whole) if n in _OWNERS}
        if not owners:
            raise UsageError(
                "the tensor depends on no tensor with requires_grad",
                where="backward",
                hint="create one with requires_grad=True",
            )
        seed = self._seed("backward", gradient)
        found = gradients(self._uop, [t._uop for t in owners.values()], seed)
        for tensor, part in zip(owners.values(), found, strict=True):
            total = part if tensor.grad is None else Op.Add(tensor.grad.uop, part)
            tensor.grad = self.of(total).detach()

    def gradient(self, *targets: Self, gradient: Operand | None = None) -> tuple[Self, ...]:
        """The gradients of this tensor with respect to others, which need not have `requires_grad`.

        They are zeros for one that it does not depend on.

        The tensor is a scalar, or `gradient`, of the same shape, has the weights of its elements. Use this form in
        functions to compile.

        >>> from soundline.impl.tensors.tensor import Tensor
        >>> x = Tensor([1.0, 2.0])
        >>> (x * x).sum().gradient(x)[0].tolist()
        [2.0, 4.0]
        """
        for t in targets:
            if not t.dtype.is_float:
                raise refuse("gradient", "tensors of floats as targets", t.dtype)
        seed = self._seed("gradient", gradient)
        found = gradients(self._uop, [t._uop for t in targets], seed)
        return tuple(self.of(g) for g in found)

    def _seed(self, where: str, given: Operand | None) -> UOp | None:
        if not self.dtype.is_float:
            raise refuse(where, "a float to differentiate", self.dtype)
        if given is None:
            if self.shape != ():
                raise refuse(
                    where, "a scalar, or a gradient of the same shape", f"a tensor of shape {self.shape}"
                )
            return None
        seed = as_graph(given, self.dtype)
        if seed.shape != self.shape:
            raise refuse(where, f"a gradient of shape {self.shape}", seed.shape)
        return seed

    def assign(self, value: Operand) -> Self:
        """Give this tensor another value of the same shape and dtype; returns the tensor itself.

        A leaf remains a leaf and keeps its `grad`. Results computed from it before are not affected.
        """
        graph = as_graph(value, self.dtype)
        if graph.shape != self.shape:
            raise refuse("assign", f"a value of shape {self.shape}", graph.shape)
        asks = self.is_leaf and self.requires_grad
        graph = Op.Detach(graph) if history.tracked(graph) else graph
        self._uop = graph
        if asks:
            self._become_leaf()
        return self
