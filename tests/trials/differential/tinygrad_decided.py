"""
Where the law decides otherwise
===============================

Programs on which tinygrad, or numpy, gives something else than the law or may do so, each under the decision that says
why. What the law must give for the captured graph is stated here by hand, and must be equal bit for bit; `usual` is
what the same words give in numpy, where the captured graph says something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trials.differential.tinygrad_programs import Family

NAN, INF = float("nan"), float("inf")
LEAST = -(2**31)


def _decided(
    decision: str,
    name: str,
    build: Callable[..., Any],
    law: Any,
    dtype: str = "float32",
    usual: Any = None,
) -> Family:
    return Family(
        name,
        build,
        lambda: np.array(law, dtype),
        ("",),
        ((),),
        decision=decision,
        usual=None if usual is None else lambda: np.array(usual, dtype),
    )


def _with(x: Any, program: Callable[[Any], Any]) -> Any:
    """A program in which one tensor occurs more than once."""
    return program(x)


INTEGERS: tuple[Family, ...] = (
    _decided("U-03", "[7, -7, 0] // 0", lambda t: t([7, -7, 0]) // t([0, 0, 0]), [0, 0, 0], "int32"),
    _decided("U-03", "[7, -7, 0] % 0", lambda t: t([7, -7, 0]) % t([0, 0, 0]), [7, -7, 0], "int32"),
    _decided("U-03", "int32 least // -1", lambda t: t([LEAST]) // t([-1]), [LEAST], "int32"),
    _decided("U-04", "1 << -1", lambda t: t([1]) << t([-1]), [0], "int32"),
    _decided("U-04", "[-5, 5] >> 40", lambda t: t([-5, 5]) >> 40, [-1, 0], "int32"),
    _decided(
        "U-02",
        "uint32 [4294967291] + 5 < 3",
        lambda t: t([4294967291], dtype="uint32") + 5 < 3,
        [True],
        "bool",
    ),
    _decided("U-02", "-uint32 [7] < 1", lambda t: -t([7], dtype="uint32") < 1, [False], "bool"),
    _decided("U-02", "uint8 [1] + 255 < 5", lambda t: t([1], dtype="uint8") + 255 < 5, [True], "bool"),
    _decided("U-02", "int32 [greatest] + 1 < 1", lambda t: t([2**31 - 1]) + 1 < 1, [True], "bool"),
    _decided(
        "U-42",
        "(arange(256).cast(int8) < 0).sum()",
        lambda t: (t.arange(256).cast("int8") < 0).sum(),
        128,
        "int32",
    ),
    _decided(
        "U-42",
        "uint32 [2**31].cast(int32) < 0",
        lambda t: t([2**31], dtype="uint32").cast("int32") < 0,
        [True],
        "bool",
    ),
)

CONVERSIONS: tuple[Family, ...] = (
    _decided(
        "U-13",
        "[3e9, -3e9, inf].cast(int32)",
        lambda t: t([3e9, -3e9, INF]).cast("int32"),
        [2**31 - 1, LEAST, 2**31 - 1],
        "int32",
    ),
    _decided("U-13", "[nan].cast(int32)", lambda t: t([NAN]).cast("int32"), [0], "int32"),
    _decided(
        "U-13", "[300, -300].cast(int8)", lambda t: t([300.0, -300.0]).cast("int8"), [127, -128], "int8"
    ),
    _decided("U-13", "[-1, 256].cast(uint8)", lambda t: t([-1.0, 256.0]).cast("uint8"), [0, 255], "uint8"),
    _decided(
        "U-13", "([0.0] + 3e9).cast(int32)", lambda t: (t([0.0]) + 3e9).cast("int32"), [2**31 - 1], "int32"
    ),
    _decided(
        "U-13",
        "[nan, -0.0, 0.5].cast(bool)",
        lambda t: t([NAN, -0.0, 0.5]).cast("bool"),
        [True, False, True],
        "bool",
    ),
    _decided(
        "U-13",
        "float64 [1 + 2**-11 + 2**-30].cast(float16)",
        lambda t: t([1 + 2**-11 + 2**-30], dtype="float64").cast("float16"),
        [1 + 2**-10],
        "float16",
    ),
    _decided(
        "U-13",
        "[65519, 65520].cast(float16).cast(float32)",
        lambda t: t([65519.0, 65520.0]).cast("float16").cast("float32"),
        [65504.0, INF],
    ),
    _decided(
        "U-13",
        "[2**-25 + 2**-30, 2**-25].cast(float16).cast(float32)",
        lambda t: t([2**-25 + 2**-30, 2**-25]).cast("float16").cast("float32"),
        [2.0**-24, 0.0],
    ),
    _decided(
        "U-05",
        "[500, 464, 465, inf] in float8_e4m3fn",
        lambda t: t([500.0, 464.0, 465.0, INF]).cast("fp8e4m3").cast("float32"),
        [NAN, 448.0, NAN, NAN],
    ),
    _decided(
        "U-05",
        "[60000, 61440] in float8_e5m2",
        lambda t: t([60000.0, 61440.0]).cast("fp8e5m2").cast("float32"),
        [57344.0, INF],
    ),
    _decided("U-13", "[-0.5].trunc()", lambda t: t([-0.5]).trunc(), [-0.0]),
    _decided("U-13", "[-0.5].ceil()", lambda t: t([-0.5]).ceil(), [-0.0]),
)

SPECIAL_VALUES: tuple[Family, ...] = (
    _decided("U-06", "[1, nan, 2].max()", lambda t: t([1, NAN, 2]).max(), NAN),
    _decided("U-06", "maximum([1, nan], [nan, 1])", lambda t: t([1, NAN]).maximum(t([NAN, 1])), [NAN, NAN]),
    _decided("U-06", "minimum([1, nan], [nan, 1])", lambda t: t([1, NAN]).minimum(t([NAN, 1])), [NAN, NAN]),
    _decided(
        "U-06",
        "maximum([-0.0, 0.0], [0.0, -0.0])",
        lambda t: t([-0.0, 0.0]).maximum(t([0.0, -0.0])),
        [0.0, 0.0],
    ),
    _decided("U-06", "[1, nan, 2].argmax()", lambda t: t([1, NAN, 2]).argmax(), 3, "int32", usual=1),
    _decided(
        "U-06", "[1, nan, 2].sort()", lambda t: t([1, NAN, 2]).sort()[0], [NAN, NAN, NAN], usual=[1, 2, NAN]
    ),
    _decided("U-07", "[nan, 1] >= 0", lambda t: t([NAN, 1]) >= 0, [True, True], "bool", usual=[False, True]),
    _decided(
        "U-07", "[nan, 1] <= 0", lambda t: t([NAN, 1]) <= 0, [True, False], "bool", usual=[False, False]
    ),
    _decided("U-07", "[nan].relu()", lambda t: t([NAN]).relu(), [0.0], usual=[NAN]),
    _decided("U-07", "[nan, -0.0].sign()", lambda t: t([NAN, -0.0]).sign(), [1.0, 0.0], usual=[NAN, 0.0]),
    _decided("U-05", "[-0.0] + 0", lambda t: t([-0.0]) + 0, [0.0]),
    _decided("U-05", "0 - [0.0]", lambda t: 0 - t([0.0]), [0.0]),
    _decided("U-05", "-[0.0]", lambda t: -t([0.0]), [-0.0]),
    _decided("U-05", "[inf, nan, -1] * 0", lambda t: t([INF, NAN, -1.0]) * 0, [NAN, NAN, -0.0]),
    _decided("U-05", "x - x at [inf, nan]", lambda t: _with(t([INF, NAN]), lambda x: x - x), [NAN, NAN]),
    _decided(
        "U-05",
        "x / x at [0, inf, nan, 2]",
        lambda t: _with(t([0.0, INF, NAN, 2.0]), lambda x: x / x),
        [NAN, NAN, NAN, 1.0],
    ),
    _decided(
        "U-05", "x · y / y at x = 3, y = 0", lambda t: _with(t([0.0]), lambda y: t([3.0]) * y / y), [NAN]
    ),
    _decided(
        "U-05",
        "[1e-40] * [0.5]",
        lambda t: t([1e-40]) * t([0.5]),
        [float(np.float32(1e-40) * np.float32(0.5))],
    ),
    _decided(
        "U-08",
        "[5.0] / 3",
        lambda t: t([5.0]) / 3.0,
        [5 * float(np.float32(1) / np.float32(3))],
        usual=[5.0 / 3.0],
    ),
    _decided("U-08", "[-inf, -0.0, -8] ** 2.5", lambda t: t([-INF, -0.0, -8.0]) ** 2.5, [INF, 0.0, NAN]),
    _decided("U-08", "[1, nan] ** [nan, 0]", lambda t: t([1.0, NAN]) ** t([NAN, 0.0]), [1.0, 1.0]),
    _decided("U-08", "[-inf] ** 0.5", lambda t: t([-INF]) ** 0.5, [INF]),
    _decided(
        "U-08",
        "[2**-149] / [2**-149]",
        lambda t: t([2.0**-149]) / t([2.0**-149]),
        [INF],
        usual=[1.0],
    ),
    _decided(
        "U-05",
        "float16 [2**-24, 1].flip(0)",
        lambda t: t([2.0**-24, 1.0], dtype="float16").flip(0),
        [1.0, 2.0**-24],
        "float16",
    ),
    _decided(
        "U-05",
        "[-0.0].cat([1, 2])",
        lambda t: t([-0.0]).cat(t([1.0, 2.0])),
        [0.0, 1.0, 2.0],
        usual=[-0.0, 1.0, 2.0],
    ),
    _decided(
        "U-05", "[1].pad(((0, 1),)) * [1, inf]", lambda t: t([1.0]).pad(((0, 1),)) * t([1.0, INF]), [1.0, NAN]
    ),
    _decided("U-05", "[-0.0].abs()", lambda t: t([-0.0]).abs(), [-0.0], usual=[0.0]),
    _decided("U-30", "[1, 2, 3][[5]]", lambda t: t([1.0, 2.0, 3.0])[t([5])], [0.0]),
)

ASSOCIATION: tuple[Family, ...] = (
    _decided("U-09", "([1] + 1e30) - 1e30", lambda t: (t([1.0]) + 1e30) - 1e30, [0.0]),
    _decided("U-09", "[2**24] + 1 + 1", lambda t: t([2.0**24]) + 1.0 + 1.0, [2.0**24]),
    _decided(
        "U-09", "[2**-100] * 2**100 * 2**100", lambda t: t([2.0**-100]) * 2.0**100 * 2.0**100, [2.0**100]
    ),
    _decided("U-09", "[2**120] / 2**100 / 2**100", lambda t: t([2.0**120]) / 2.0**100 / 2.0**100, [2.0**-80]),
    _decided(
        "U-09",
        "x · (1 + x).reciprocal() at 2**-40",
        lambda t: _with(t([2.0**-40]), lambda x: x * (1 + x).reciprocal()),
        [2.0**-40],
    ),
    _decided("U-10", "[1e8, 1, -1e8, 1].sum()", lambda t: t([1e8, 1.0, -1e8, 1.0]).sum(), 1.0),
    _decided("U-10", "[-0.0, -0.0].sum()", lambda t: t([-0.0, -0.0]).sum(), -0.0),
    _decided("U-10", "[1, 2][2:].max()", lambda t: t([1.0, 2.0])[2:].max(), -INF),
    _decided(
        "U-14",
        "[True, True, False] + [True, False, False]",
        lambda t: t([True, True, False]) + t([True, False, False]),
        [True, True, False],
        "bool",
    ),
)

NOT_IN_THE_LAW: tuple[Family, ...] = (
    Family(
        "pow of ints",
        lambda _, a, b: a**b,
        lambda a, b: a**b,
        ("int32",),
        (((4,), (4,)),),
        ("positive", "count"),
    ),
    Family("int below what it can be", lambda _, x: x < -1, lambda x: x < -1, ("uint8",), (((3,),),)),
    Family(
        "setitem of what is stored",
        lambda _, x: _stored(x),
        lambda x: np.concatenate(([9], x[1:])),
        ("int32",),
        (((3,),),),
    ),
)
"""Families whose graphs are not imported: an op that is not translated, or a form that the law does not have."""


def _stored(x: Any) -> Any:
    x = x.contiguous().realize()
    x[0] = 9
    return x


FAMILIES = (*INTEGERS, *CONVERSIONS, *SPECIAL_VALUES, *ASSOCIATION)
