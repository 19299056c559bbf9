"""
``soundline run``
=================

Compiles a function on Tensors, calls it once and prints what it returns.
"""

from __future__ import annotations

import argparse

import numpy as np

from soundline.verify import programs

DESCRIPTION = f"""\
Compile a function on Tensors, call it once, and print what it returns.

{programs.INPUTS_HELP}"""

EPILOG = """\
examples:
  soundline run model.py:layer --input x.npy --input 'float32[8, 2]' --input 'float32[2]'
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    programs.common_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compile, call and print."""
    with programs.chosen(options) as (program, inputs):
        returned = program(*inputs)
        results = returned if isinstance(returned, tuple) else (returned,)
        for signature, array in zip(program.outputs, results, strict=True):
            print(f"{signature}")
            print(np.array2string(array, threshold=200, prefix=""))
    return 0
