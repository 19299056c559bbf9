"""The page of functions of real numbers: measured errors, special values and derivatives at kinks."""

from __future__ import annotations

import math

import numpy as np
from rst import code, table

import soundline as sl
from soundline.impl.tensors.core.accuracy import MEASURED, bound
from soundline.impl.tensors.core.kinks import KINKS, Kink

SPECIAL = (-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf)
"""The numbers at which the page shows values. NaN gives NaN, but for ``nan_to_num``."""


def _number(x: float) -> str:
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "∞" if x > 0 else "-∞"
    return f"{x:.4g}"


def _method(name: str) -> str:
    return code('gelu("tanh")' if name == "gelu_tanh" else name)


def accuracy() -> str:
    """For each function what is promised, and what was measured."""
    rows = []
    for name, m in MEASURED.items():
        cells = [
            "—" if found is None else f"{bound(found):g} ({found:g})"
            for found in (m.value32, m.value64, m.slope32, m.slope64)
        ]
        rows.append((_method(name), *cells))
    heads = ("method", "float32", "float64", "its derivative, float32", "float64")
    return table(heads, rows, widths=(20, 20, 20, 20, 20))


def special_values() -> str:
    """The values of the functions of one number, and of their derivatives, as the code gives them."""
    rows = []
    for name in MEASURED:
        if name in ("pow", "atan2", "hypot", "logaddexp"):
            continue
        x = sl.Tensor(np.array(SPECIAL))
        y = x.gelu("tanh") if name == "gelu_tanh" else getattr(x, name)()
        (slope,) = y.gradient(x, gradient=y.ones_like())
        pairs = zip(y.numpy().tolist(), slope.numpy().tolist(), strict=True)
        rows.append((_method(name), *(f"{_number(v)}; {_number(s)}" for v, s in pairs)))
    return table(("method", *map(_number, SPECIAL)), rows, widths=(16, *[14] * len(SPECIAL)))


def kinks() -> str:
    """The derivatives at kinks, jumps and ends, as the code gives them."""
    return table(
        ("of", "at", "derivative", "why"),
        [
            (code(k.use.replace("sl.Tensor.", "")), _point(place), _point(tuple(slopes(k, place))), k.why)
            for k in KINKS
            for place in k.places
        ],
        widths=(34, 14, 14, 38),
    )


def _point(numbers: tuple[float, ...]) -> str:
    shown = ", ".join(map(_number, numbers))
    return shown if len(numbers) == 1 else f"({shown})"


def slopes(kink: Kink, place: tuple[float, ...]) -> list[float]:
    """The derivatives in a place, computed."""
    given = dict(zip("xy", (sl.Tensor(np.array([v])) for v in place), strict=False))
    found = eval(kink.use, {"sl": sl, **given}).sum().gradient(*given.values())
    return [float(g.item()) for g in found]
