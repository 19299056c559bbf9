"""
``soundline compile``
=====================

Shows what becomes of a program on its way from a function on Tensors to C.
"""

from __future__ import annotations

import argparse

from soundline.impl.compile import STAGES, stage_text
from soundline.verify import programs

DESCRIPTION = f"""\
Compile a function on Tensors, and show it: its inputs and outputs, its certificate, or one stage of its way.

{programs.INPUTS_HELP}"""

EPILOG = f"""\
stages, in their order:
  {", ".join(STAGES)}

examples:
  soundline compile model.py:layer --input 'float32[4, 8]' --input 'float32[8, 2]' --input 'float32[2]'
  soundline compile model.py:layer --stage render > layer.c
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    programs.common_arguments(parser)
    parser.add_argument("--stage", metavar="NAME", help="print the program after this stage")


def run(options: argparse.Namespace) -> int:
    """Compile and print."""
    with programs.chosen(options) as (program, _):
        print(stage_text(program, options.stage) if options.stage else program.explain())
    return 0
