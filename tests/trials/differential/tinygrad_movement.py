"""
Families of movement
====================

What tinygrad's operator tests call by the names of moving elements: shapes, borders, slices, indices, tensors made of
numbers alone.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from trials.differential.tinygrad_programs import Family

Arrays = npt.NDArray[Any]

ALL = ("float32", "float16", "int32", "uint8")
MATRIX = (((3, 4),), ((1, 5),))
CUBE = (((2, 3, 4),),)

MOVEMENT: tuple[Family, ...] = (
    Family("reshape", lambda _, x: x.reshape(4, 6), lambda x: x.reshape(4, 6), ALL, CUBE),
    Family("flatten", lambda _, x: x.flatten(1), lambda x: x.reshape(2, 12), ALL, CUBE),
    Family("permute", lambda _, x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), ALL, CUBE),
    Family("transpose", lambda _, x: x.transpose(0, 1), lambda x: x.swapaxes(0, 1), ALL, MATRIX),
    Family(
        "expand",
        lambda _, x: x.expand(4, 3, 5),
        lambda x: np.broadcast_to(x, (4, 3, 5)),
        ALL,
        (((3, 1),), ((5,),), ((1, 1, 1),)),
    ),
    Family("flip", lambda _, x: x.flip(0), lambda x: np.flip(x, 0), ALL, MATRIX),
    Family("flip of two axes", lambda _, x: x.flip((0, 2)), lambda x: np.flip(x, (0, 2)), ALL, CUBE),
    Family(
        "pad",
        lambda _, x: x.pad(((1, 0), (2, 1))),
        lambda x: np.pad(x, ((1, 0), (2, 1))),
        (*ALL, "bool"),
        MATRIX,
    ),
    Family(
        "pad with a value",
        lambda _, x: x.pad(((1, 0), (2, 1)), value=3),
        lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=3),
        ALL,
        MATRIX,
    ),
    Family(
        "pad with less than nothing",
        lambda _, x: x.pad(((-1, 1), (0, -1))),
        lambda x: np.pad(x[1:, :-1], ((0, 1), (0, 0))),
        ALL,
        (((3, 4),),),
    ),
    Family(
        "pad, reflected",
        lambda _, x: x.pad((1, 2), mode="reflect"),
        lambda x: np.pad(x, (1, 2), mode="reflect"),
        ("float32", "int32"),
        (((5,),),),
    ),
    Family(
        "pad, replicated",
        lambda _, x: x.pad((1, 2), mode="replicate"),
        lambda x: np.pad(x, (1, 2), mode="edge"),
        ("float32", "int32"),
        (((5,),),),
    ),
    Family(
        "pad, circular",
        lambda _, x: x.pad((1, 2), mode="circular"),
        lambda x: np.pad(x, (1, 2), mode="wrap"),
        ("float32", "int32"),
        (((5,),),),
    ),
    Family("shrink", lambda _, x: x.shrink(((0, 2), (1, 3))), lambda x: x[0:2, 1:3], ALL, (((3, 4),),)),
    Family("slice", lambda _, x: x[1:, ::2], lambda x: x[1:, ::2], ALL, (((3, 5),),)),
    Family("slice backwards", lambda _, x: x[::-1, -3:-1], lambda x: x[::-1, -3:-1], ALL, (((3, 5),),)),
    Family("slice of nothing", lambda _, x: x[2:2], lambda x: x[2:2], ("float32", "int32"), MATRIX),
    Family("index by ints", lambda _, x: x[-1, 2], lambda x: x[-1, 2], ALL, (((3, 4),),)),
    Family("new axis", lambda _, x: x[:, None, ..., None], lambda x: x[:, None, ..., None], ALL, MATRIX),
    Family(
        "stack",
        lambda t, a, b: t.stack(a, b, dim=1),
        lambda a, b: np.stack((a, b), 1),
        ALL,
        (((3, 4), (3, 4)),),
    ),
    Family(
        "cat",
        lambda _, a, b: a.cat(b, dim=1),
        lambda a, b: np.concatenate((a, b), 1),
        ALL,
        (((3, 4), (3, 2)),),
    ),
    Family("repeat", lambda _, x: x.repeat(2, 3), lambda x: np.tile(x, (2, 3)), ALL, MATRIX),
    Family(
        "repeat_interleave", lambda _, x: x.repeat_interleave(2, 1), lambda x: np.repeat(x, 2, 1), ALL, MATRIX
    ),
    Family("roll", lambda _, x: x.roll(2, 1), lambda x: np.roll(x, 2, 1), ALL, MATRIX),
    Family("split", lambda _, x: x.split(2, 1)[1], lambda x: x[:, 2:4], ALL, (((3, 5),),)),
    Family("chunk", lambda _, x: x.chunk(2, 1)[0], lambda x: x[:, :2], ALL, (((3, 4),),)),
    Family("squeeze", lambda _, x: x.squeeze(), np.squeeze, ALL, (((1, 5),), ((3, 1, 2),))),
    Family(
        "unfold",
        lambda _, x: x.unfold(0, 3, 2),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3)[::2],
        ALL,
        (((7,),),),
    ),
    Family("tril", lambda _, x: x.tril(), np.tril, ALL, MATRIX),
    Family("triu", lambda _, x: x.triu(1), lambda x: np.triu(x, 1), ALL, MATRIX),
)


def _scattered(x: Arrays, at: Arrays, given: Arrays) -> Arrays:
    result = x.copy()
    np.put_along_axis(result, at, given, 0)
    return result


def _added(x: Arrays, at: Arrays, given: Arrays) -> Arrays:
    result = x.copy()
    columns = np.broadcast_to(np.arange(at.shape[1]), at.shape)
    np.add.at(result, (at, columns), given)
    return result


INDEXED = (((4, 3), (2, 3)),)
AT = ("any", "count int32")

INDEXING: tuple[Family, ...] = (
    Family(
        "gather", lambda _, x, i: x.gather(0, i), lambda x, i: np.take_along_axis(x, i, 0), ALL, INDEXED, AT
    ),
    Family("fancy index", lambda _, x, i: x[i], lambda x, i: x[i], ALL, (((4, 3), (5,)), ((4,), (2, 3))), AT),
    Family(
        "fancy index of a column", lambda _, x, i: x[:, i], lambda x, i: x[:, i], ALL, (((3, 4), (5,)),), AT
    ),
    Family(
        "two fancy indices",
        lambda _, x, i, j: x[i, j],
        lambda x, i, j: x[i, j],
        ALL,
        (((4, 4), (5,), (5,)),),
        AT,
    ),
    Family(
        "scatter",
        lambda _, x, i, v: x.scatter(0, i, v),
        _scattered,
        ALL,
        (((4, 3), (1, 3), (1, 3)),),
        (*AT, "any"),
    ),
    Family(
        "scatter_reduce",
        lambda _, x, i, v: x.scatter_reduce(0, i, v, "sum"),
        _added,
        ("float32", "int32"),
        (((4, 3), (2, 3), (2, 3)),),
        (*AT, "any"),
        ulps=4,
        scale=12,
    ),
    Family(
        "one_hot",
        lambda _, i: i.one_hot(4),
        lambda i: np.eye(4, dtype=np.int32)[i],
        ("int32", "uint8"),
        (((5,),), ((2, 3),)),
        ("count",),
    ),
    Family(
        "arange",
        lambda t, x: t.arange(7) + x,
        lambda x: np.arange(7, dtype=np.int32) + x,
        ("int32",),
        (((),),),
    ),
    Family(
        "arange with a step",
        lambda t, x: t.arange(5, -4, -2) + x,
        lambda x: np.arange(5, -4, -2, dtype=np.int32) + x,
        ("int32",),
        (((),),),
    ),
    Family(
        "arange of floats",
        lambda t, x: t.arange(0, 2, 0.25) + x,
        lambda x: np.arange(0, 2, 0.25) + x,
        ("float32",),
        (((),),),
        ulps=8,
        scale=4,
    ),
    Family("arange alone", lambda t: t.arange(6), lambda: np.arange(6), ("int32",), ((),)),
    Family(
        "eye",
        lambda t, x: t.eye(3) * x,
        lambda x: np.eye(3, dtype=x.dtype) * x,
        ("float32",),
        (((3,),),),
        ("positive",),
    ),
    Family("eye alone", lambda t: t.eye(3), lambda: np.eye(3), ("float32",), ((),)),
    Family("full", lambda t: t.full((2, 3), 4.5), lambda: np.full((2, 3), 4.5), ("float32",), ((),)),
    Family(
        "linspace",
        lambda t, x: t.linspace(0, 1, 5) + x,
        lambda x: np.linspace(0, 1, 5) + x,
        ("float32",),
        (((),),),
        ulps=8,
        scale=4,
    ),
    Family(
        "meshgrid",
        lambda _, a, b: a.meshgrid(b)[1],
        lambda a, b: np.meshgrid(a, b, indexing="ij")[1],
        ("float32", "int32"),
        (((3,), (4,)),),
    ),
    Family(
        "setitem",
        lambda _, x, v: _set(x, v),
        lambda x, v: np.concatenate((x[:1], v[None], x[2:])),
        ALL,
        (((3, 4), (4,)),),
    ),
    Family(
        "contiguous",
        lambda _, x: x.permute(1, 0).contiguous() + 1,
        lambda x: x.T + x.dtype.type(1),
        ALL,
        MATRIX,
    ),
    Family("detach", lambda _, x: x.detach() * 2, lambda x: x * x.dtype.type(2), ALL, MATRIX),
    Family(
        "assign", lambda _, a, b: a.contiguous().assign(a + b), lambda a, b: a + b, ALL, (((3, 4), (3, 4)),)
    ),
    Family(
        "bfloat16 in between",
        lambda _, x: (x.cast("bfloat16") * 3).cast("float32"),
        lambda x: _short(_short(x) * np.float32(3)),
        ("float32",),
        MATRIX,
    ),
)


def _set(x: Any, v: Any) -> Any:
    y = x + 0
    y[1] = v
    return y


def _short(x: Arrays) -> Arrays:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


FAMILIES = (*MOVEMENT, *INDEXING)
