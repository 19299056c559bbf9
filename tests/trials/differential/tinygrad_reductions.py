"""
Families of reductions
=================

What tinygrad's operator tests call by the names of reductions along axes: sums, extrema, products of matrices, windows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trials.differential.tinygrad_programs import Family

Arrays = npt.NDArray[Any]

F = ("float32", "float64")
ALL = ("float32", "float16", "int32", "uint8")
MATRIX = (((3, 4),), ((1, 5),))
CUBE = (((2, 3, 4),),)
IMAGE = (((1, 2, 5, 5),),)
SQUARE = (((4, 4),),)

# A reduction of n ≤ 24 values of size ≤ 4 rounds n - 1 times at sums of at most 96: 12 units of that, wherever it
# starts.


def _softmax(x: Arrays, axis: int = -1) -> Arrays:
    e = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(e / e.sum(axis, keepdims=True))


def _logsumexp(x: Arrays) -> Arrays:
    return np.asarray(np.log(np.exp(x).sum(-1)))


FOLDS: tuple[Family, ...] = (
    Family("sum", lambda _, x: x.sum(), lambda x: x.sum(), F, (*MATRIX, *CUBE), ulps=12, scale=16),
    Family(
        "sum of ints",
        lambda _, x: x.sum(),
        lambda x: x.sum(dtype=np.int32),
        ("int32", "int8", "bool"),
        MATRIX,
    ),
    Family(
        "sum over rows", lambda _, x: x.sum(0), lambda x: x.sum(0), (*F, "float16"), MATRIX, ulps=4, scale=12
    ),
    Family("sum over axes", lambda _, x: x.sum((0, 2)), lambda x: x.sum((0, 2)), F, CUBE, ulps=8, scale=12),
    Family(
        "sum, axis kept",
        lambda _, x: x.sum(1, keepdim=True),
        lambda x: x.sum(1, keepdims=True),
        F,
        CUBE,
        ulps=4,
        scale=12,
    ),
    Family("mean", lambda _, x: x.mean(), lambda x: x.mean(), F, MATRIX, ulps=12, scale=4),
    Family(
        "mean over rows", lambda _, x: x.mean(0), lambda x: x.mean(0), (*F, "float16"), CUBE, ulps=4, scale=4
    ),
    Family("max", lambda _, x: x.max(), np.max, (*ALL, "bool"), MATRIX),
    Family("max over an axis", lambda _, x: x.max(1), lambda x: x.max(1), ALL, CUBE),
    Family("min", lambda _, x: x.min(), np.min, (*ALL, "bool"), MATRIX),
    Family("min over an axis", lambda _, x: x.min(-1), lambda x: x.min(-1), ALL, CUBE),
    Family("prod", lambda _, x: x.prod(1), lambda x: x.prod(1), F, MATRIX, ulps=6),
    Family("prod of ints", lambda _, x: x.prod(1), lambda x: x.prod(1, dtype=np.int32), ("int32",), MATRIX),
    Family("any", lambda _, x: x.any(1), lambda x: x.any(1), ("bool", "int32"), MATRIX, ("bit",)),
    Family("all", lambda _, x: x.all(1), lambda x: x.all(1), ("bool", "int32"), MATRIX, ("bit",)),
    Family("argmax", lambda _, x: x.argmax(), np.argmax, ("float32", "int32"), MATRIX),
    Family(
        "argmax over an axis", lambda _, x: x.argmax(0), lambda x: x.argmax(0), ("float32", "int32"), CUBE
    ),
    Family("argmin", lambda _, x: x.argmin(1), lambda x: x.argmin(1), ("float32", "int32"), CUBE),
    Family("var", lambda _, x: x.var(), lambda x: x.var(ddof=1), F, (((3, 4),),), ulps=16, scale=4),
    Family("std", lambda _, x: x.std(1), lambda x: x.std(1, ddof=1), F, (((3, 4),),), ulps=16, scale=4),
    Family("softmax", lambda _, x: x.softmax(), _softmax, (*F, "float16"), MATRIX, ulps=24),
    Family("softmax over rows", lambda _, x: x.softmax(0), lambda x: _softmax(x, 0), F, CUBE, ulps=24),
    Family(
        "log_softmax",
        lambda _, x: x.log_softmax(),
        lambda x: np.log(_softmax(x)),
        F,
        MATRIX,
        ulps=16,
        scale=8,
    ),
    Family("logsumexp", lambda _, x: x.logsumexp(1), _logsumexp, F, MATRIX, ulps=12, scale=4),
    Family("cumsum", lambda _, x: x.cumsum(1), lambda x: x.cumsum(1), F, MATRIX, ulps=5, scale=16),
    Family(
        "cumsum of ints", lambda _, x: x.cumsum(0), lambda x: x.cumsum(0, dtype=np.int32), ("int32",), MATRIX
    ),
    Family("cumprod", lambda _, x: x.cumprod(1), lambda x: x.cumprod(1), F, MATRIX, ulps=6),
    Family(
        "cummax",
        lambda _, x: x.cummax(1)[0],
        lambda x: np.maximum.accumulate(x, 1),
        ("float32", "int32"),
        MATRIX,
    ),
    Family(
        "layernorm",
        lambda _, x: x.layernorm(),
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
        F,
        (((3, 4),),),
        ulps=16,
        scale=1,
    ),
    Family("sort", lambda _, x: x.sort()[0], np.sort, ("float32", "int32"), MATRIX),
    Family(
        "argsort",
        lambda _, x: x.argsort(),
        lambda x: np.argsort(x, kind="stable"),
        ("float32", "int32"),
        MATRIX,
    ),
    Family("topk", lambda _, x: x.topk(2)[0], lambda x: -np.sort(-x)[..., :2], ("float32", "int32"), MATRIX),
)


def _conv2d(x: Arrays, w: Arrays, stride: int = 1, border: int = 0) -> Arrays:
    x = np.pad(x, ((0, 0), (0, 0), (border, border), (border, border)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.asarray(np.einsum("nchwij,ocij->nohw", windows, w))


def _windows(x: Arrays, stride: int = 2) -> Arrays:
    return np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, ::stride, ::stride]


PAIR = (((3, 4), (4, 2)), ((1, 5), (5, 3)))
FILTERED = (((1, 2, 5, 5), (3, 2, 3, 3)),)

PRODUCTS: tuple[Family, ...] = (
    Family("matmul", lambda _, a, b: a @ b, lambda a, b: a @ b, (*F, "float16"), PAIR, ulps=6, scale=48),
    Family("matmul of ints", lambda _, a, b: a @ b, lambda a, b: a @ b, ("int32",), PAIR),
    Family(
        "dot of vectors", lambda _, a, b: a.dot(b), lambda a, b: a @ b, F, (((5,), (5,)),), ulps=6, scale=64
    ),
    Family(
        "matmul of batches",
        lambda _, a, b: a @ b,
        lambda a, b: a @ b,
        F,
        (((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (4, 2))),
        ulps=6,
        scale=48,
    ),
    Family(
        "linear",
        lambda _, x, w, b: x.linear(w, b),
        lambda x, w, b: x @ w + b,
        F,
        (((3, 4), (4, 2), (2,)),),
        ulps=6,
        scale=48,
    ),
    Family(
        "einsum",
        lambda t, a, b: t.einsum("ij,kj->ik", a, b),
        lambda a, b: np.einsum("ij,kj->ik", a, b),
        F,
        (((3, 4), (2, 4)),),
        ulps=6,
        scale=48,
    ),
    Family(
        "einsum of a trace",
        lambda t, a: t.einsum("ij,ij->", a, a),
        lambda a: np.einsum("ij,ij->", a, a),
        F,
        SQUARE,
        ulps=12,
        scale=128,
    ),
    Family("conv2d", lambda _, x, w: x.conv2d(w), _conv2d, F, FILTERED, ulps=16, scale=96),
    Family(
        "conv2d, stride and padding",
        lambda _, x, w: x.conv2d(w, stride=2, padding=1),
        lambda x, w: _conv2d(x, w, 2, 1),
        F,
        FILTERED,
        ulps=16,
        scale=96,
    ),
    Family(
        "avg_pool2d",
        lambda _, x: x.avg_pool2d(2),
        lambda x: _windows(x).mean((-2, -1)),
        F,
        IMAGE,
        ulps=4,
        scale=4,
    ),
    Family(
        "max_pool2d",
        lambda _, x: x.max_pool2d(2),
        lambda x: _windows(x).max((-2, -1)),
        ("float32", "float16"),
        IMAGE,
    ),
    Family(
        "max_pool2d, stride 1",
        lambda _, x: x.max_pool2d(2, stride=1),
        lambda x: _windows(x, 1).max((-2, -1)),
        ("float32",),
        IMAGE,
    ),
    Family(
        "outer product", lambda _, a, b: a.unsqueeze(1) * b, np.outer, ("float32", "int32"), (((3,), (4,)),)
    ),
    Family("diagonal", lambda _, x: x.diagonal(), np.diag, ("float32", "int32"), SQUARE),
    Family("diag", lambda _, x: x.diag(), np.diag, ("float32", "int32"), (((3,),),)),
)

FAMILIES = (*FOLDS, *PRODUCTS)
