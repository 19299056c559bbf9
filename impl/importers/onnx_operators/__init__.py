"""
Operators of ONNX
=================

The translations of ONNX's operators, by subject.

In order: `casts`, `control`, `elementwise`, `movement`, `products`, `recurrent`, `reductions`, `sampling`, `windows`,
`activations`, `constants`, `indexing`, `pooling`, `quantisation`, `resize`, `convolution`, `normalisation`, `spectral`.
Doors: `activations`, `casts`, `constants`, `control`, `convolution`, `elementwise`, `indexing`, `movement`,
`normalisation`, `pooling`, `products`, `quantisation`, `recurrent`, `reductions`, `resize`, `sampling`, `spectral`.
"""
