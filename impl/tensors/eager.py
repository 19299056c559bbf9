"""
Results whose shape depends on values
=====================================

Operations that need the values of a tensor, not only its shape: iteration, assignment to a part, and results whose
shapes depend on values (`nonzero`, `unique`, `masked_select`). They compute the value at once. So none of them is
possible on an argument of a function that is being traced; it raises a `TracingError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from soundline.impl.arrays import storage
from soundline.impl.arrays.sizes import is_size
from soundline.impl.tensors.core import history, parts
from soundline.impl.tensors.core.values import Operand, as_graph
from soundline.impl.tensors.methods.movement import refuse
from soundline.impl.tensors.methods.placement import Placement
from soundline.impl.tensors.methods.selection import Selection, indices_of
from soundline.spec.dtypes import bool_, to_numpy
from soundline.spec.errors import TracingError, UsageError, WrongIndex, WrongType
from soundline.spec.uop import Op


class Eager(Selection, Placement):
    """What is computed at once."""

    __slots__ = ()

    # Rows ---------------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Self]:
        """The slices of the first axis, in order: ``for row in x``, ``list(x)``, ``a, b = x``.

        They are ``x[0]``, ``x[1]`` and so on. Where the value of one is asked for, a lazy tensor is computed whole.
        """
        if not self.shape:
            raise WrongType("a tensor of shape () cannot be iterated over", where="iter")
        if is_size(self.shape[0]):
            raise WrongType(f"expected a known size; got {self.shape[0]}", where="iter")
        if self.is_computable:
            parts.go_along(self._uop)
        return (self[k] for k in range(self.shape[0]))

    def __contains__(self, value: Operand) -> bool:
        """Whether some element equals a value; shapes broadcast."""
        return bool(self.eq(value).any())

    # Parts --------------------------------------------------------------------------------------------------------

    def __setitem__(self, where: Any, value: Operand) -> None:
        """Let the tensor stand for one in which a part is replaced, chosen as numpy does; the value is cast.

        The tensor is copied for it, so that what was computed from it before, its own slices among them, keeps its
        value. No gradient passes an assignment: what asks for one, or depends on what does, is refused but under
        `no_grad`.
        """
        self._check_assignable(value)
        held = self._held("[] =").copy()
        given = self._given(value)
        try:
            held[indices_of(where)] = given
        except IndexError as error:
            raise WrongIndex(f"expected {_of(self.shape)}; {error}", where="[] =") from None
        except ValueError as error:
            raise UsageError(f"expected a value with the shape of the part; {error}", where="[] =") from None
        except TypeError as error:
            raise WrongType(f"expected {_of(self.shape)}; {error}", where="[] =") from None
        changed = self.of(storage.keep(held))
        if isinstance(self.device, tuple):
            changed = changed.shard(self.device, self.axis)
        elif self.device != "CPU":
            changed = changed.to(self.device)
        self._replace(changed)

    def _given(self, value: Operand) -> Any:
        """A value that is assigned, as an array of this dtype."""
        graph = as_graph(value, self.dtype)
        if graph.op is Op.Const:
            return np.array(graph.arg.value, to_numpy(self.dtype))
        return np.asarray(self.of(graph))

    def _check_assignable(self, value: Operand) -> None:
        if not self.is_computable or (isinstance(value, Selection) and not value.is_computable):
            raise TracingError(
                "the tensor has no value, because it belongs to a function that is being traced",
                where="[] =",
                hint="use mask.where(new, x), x.scatter(axis, indices, new) or Tensor.cat, which make a new tensor",
            )
        depends = history.tracked(history.seen(self._uop))
        depends = depends or (isinstance(value, Selection) and history.tracked(value.uop))
        if depends:
            raise UsageError(
                "gradients do not flow through an assignment to a part, and a gradient is required here",
                where="[] =",
                hint="use mask.where(new, x), which is differentiable, or assign under sl.no_grad()",
            )

    def _replace(self, changed: Self) -> None:
        """Stand for another value; a leaf stays one."""
        asks = history.is_leaf(self._uop)
        self._uop = changed._uop
        if asks:
            self._become_leaf()

    # Shapes that values decide ------------------------------------------------------------------------------------

    def nonzero(self, as_tuple: bool = False) -> Any:
        """The positions of the elements that are not 0, in order, one row each, as int64[count, rank].

        With `as_tuple` one vector for each axis, as numpy has it.
        """
        rows = np.argwhere(self._held("nonzero")).astype(np.int64)
        if as_tuple:
            return tuple(self.of(storage.keep(np.ascontiguousarray(column))) for column in rows.T)
        return self.of(storage.keep(np.ascontiguousarray(rows)))

    def unique(
        self, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
    ) -> Any:
        """The different elements of the flat tensor in ascending order; NaN once, at the end, as in numpy.

        Asked for, also the first position of each, for each element the number of the one that it is (in the shape of
        the tensor), and how often each occurs, as int64.
        """
        held = self._held("unique")
        values, first, inverse, counts = np.unique(
            held, return_index=True, return_inverse=True, return_counts=True
        )
        result = self.of(storage.keep(np.ascontiguousarray(values)))
        asked = (
            (return_index, first),
            (return_inverse, inverse.reshape(self.shape)),
            (return_counts, counts),
        )
        more = [self.of(storage.keep(np.ascontiguousarray(v, np.int64))) for wanted, v in asked if wanted]
        return (result, *more) if more else result

    def masked_select(self, mask: Operand) -> Self:
        """The elements where a mask of bools is True, as a vector in row-major order. Shapes broadcast.

        The mask is computed at once; the elements may be lazy, and gradients pass to them.
        """
        chosen = self.of(as_graph(mask))
        if chosen.dtype is not bool_:
            raise refuse("masked_select", "a mask of bools", chosen.dtype)
        shape = np.broadcast_shapes(self.shape, chosen.shape) if _fit(self.shape, chosen.shape) else None
        if shape is None:
            raise refuse("masked_select", f"a mask that broadcasts with {self.shape}", chosen.shape)
        held = np.broadcast_to(chosen._held("masked_select"), shape)
        whole = self.expand(shape).reshape(-1) if 0 not in shape else self.expand(shape).reshape(0)
        return whole.take(np.flatnonzero(held), 0)


def _fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


def _of(shape: tuple[int, ...]) -> str:
    return f"indices of a tensor of shape {shape}"
