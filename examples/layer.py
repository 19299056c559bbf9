"""A layer of a network, from tensors to C: ``python examples/layer.py``."""

import numpy as np

import soundline as sl


def layer(x, weight, bias):
    """softmax(x @ weight + bias), row by row."""
    return (x @ weight + bias).softmax(-1)


def main() -> None:
    """Compile the layer, run it, and show what stands behind it."""
    random = np.random.default_rng(0)
    x, weight, bias = (random.standard_normal(s, np.float32) for s in ((4, 8), (8, 2), (2,)))
    program = sl.compile(layer, x, weight, bias)
    print(program(x, weight, bias))
    print(program.explain())


if __name__ == "__main__":
    main()
