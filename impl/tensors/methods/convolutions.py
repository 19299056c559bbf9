"""
Convolutions
============

Every convolution, with any number of spatial axes, is computed as one reduction over channels and window of the
products of the windows with the weights. The reduction ascends in row-major order and is never cut into blocks, like
that of a matrix product (U-10). So its axes remain separate, and the lowering tiles it like a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from soundline.impl.analysis import sums
from soundline.impl.tensors.methods.reductions import Reductions
from soundline.impl.tensors.methods.windows import Window, bordered, unfolded
from soundline.spec.uop import Op

T = TypeVar("T", bound=Reductions)


def convolved(x: T, weights: T, windows: Sequence[Window], groups: int) -> T:
    """Σ over channels and window of x[N, C, S…] · W[M, C/groups, K…], as [N, M, S'…], in the dtype of both.

    The windows lie along the axes of space. C must be the channels of the weights times the groups, which divide M.
    """
    n, (m, per_group) = x.shape[0], weights.shape[:2]
    rank = len(windows)
    views = unfolded(bordered(x, windows, 0), windows)
    space, kernel = views.shape[2 : 2 + rank], views.shape[2 + rank :]
    views = views.reshape(n, groups, 1, per_group, *space, *kernel)
    filters = weights.reshape(1, groups, m // groups, per_group, *([1] * rank), *kernel)
    products = views * filters
    axes = [3, *range(4 + rank, 4 + 2 * rank)]
    return x.of(sums.reduced(products.uop, Op.Add, axes)).reshape(n, m, *space)
