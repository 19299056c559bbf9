"""The translations of ONNX's operators, by subject; importing this package enters them in the table."""

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
)

__all__ = [
    "activations",
    "casts",
    "constants",
    "control",
    "convolution",
    "elementwise",
    "indexing",
    "movement",
    "normalisation",
    "pooling",
    "products",
    "quantisation",
    "recurrent",
    "reductions",
    "resize",
    "sampling",
]
