"""
The table of operators
======================

The translation of every operator of ONNX that has one, read from the modules: their functions under `operator`, and the
families of operators that differ in a function only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Final

from soundline.impl.importers.onnx_operators import (
    activations,
    casts,
    constants,
    control,
    convolution,
    elementwise,
    indexing,
    movement,
    normalisation,
    pooling,
    products,
    quantisation,
    recurrent,
    reductions,
    resize,
    sampling,
    spectral,
)
from soundline.impl.importers.reading.node import Operator, Translation

CHAPTERS: Final = (
    *(activations, casts, constants, control, convolution, elementwise, indexing, movement, normalisation),
    *(pooling, products, quantisation, recurrent, reductions, resize, sampling, spectral),
)


def operators_of(chapter: ModuleType) -> Iterator[Operator]:
    """The operators that a module translates."""
    yield from (found for found in vars(chapter).values() if isinstance(found, Operator))
    yield from getattr(chapter, "FAMILY", ())


OPERATORS: Final[Mapping[tuple[str, str], Translation]] = {
    name: found.translation for chapter in CHAPTERS for found in operators_of(chapter) for name in found.names
}
"""By domain and name."""
