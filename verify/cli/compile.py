"""
``soundline compile``
=====================

Shows what becomes of a program on its way from a function on Tensors to C.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from soundline.impl.compilation.stages import STAGES, stage_named
from soundline.impl.program.program import Program, stage_text
from soundline.spec.errors import UsageError
from soundline.spec.pipeline.stages import STAGES as LAW
from soundline.verify.cli import cuda
from soundline.verify.programs import loading

SCHEMA = 1

DESCRIPTION = f"""\
Compile a program and explain the result: what happened to each value and why, memory, stages and certificate;
or show the program after one stage, or after every stage. With --target cuda FILE is Python with Spork programs:
print the CUDA C++ of one, or write all generated files and the headers that they include to the folder -o.

{loading.INPUTS_HELP}"""

EPILOG = f"""\
stages in order, with their names in the specification:
  {", ".join(f"{n} ({LAW[n].title})" if n != LAW[n].title.lower() else n for n in STAGES)}

exit codes: 0 it compiles, 1 a rule that rewrote the program is refuted or --check found a broken invariant,
2 wrong use, or a program that does not compile, 3 --check could not decide

examples:
  soundline compile model.py:layer --input 'float32[4, 8]' --input 'float32[8, 2]' --input 'float32[2]'
  soundline compile model.py:layer --stage rangeify
  soundline compile model.py:layer --stage optimize --format svg -o layer.svg
  soundline compile model.py:layer --stage render > layer.c
  soundline compile model.py:layer --check
  soundline compile model.py:layer --schedule '0: Split 1 16 UPCAST'
  soundline compile kernel.py:gemm --target cuda
  soundline compile kernel.py:gemm --target cuda --arch sm_90a --size M=64 --size N=64 --size K=32 -o generated
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    loading.common_arguments(parser)
    parser.add_argument("--stage", metavar="NAME", help="show the program after this stage, or after 'all'")
    parser.add_argument("--check", action="store_true", help="check the invariants of every stage")
    loading.output_arguments(parser, "text", "svg", "json")
    cuda.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compile and print."""
    if options.target == "cuda":
        return cuda.run(options)
    cuda.check_unused(options)
    stage = options.stage
    if stage is not None:
        stage = "all" if stage.strip().lower() == "all" else stage_named(stage)
    if options.format == "svg" and stage == "all":
        raise UsageError("--format svg needs a single stage", hint=f"one of {', '.join(STAGES)}")
    if options.check and options.format != "text":
        raise UsageError("--check prints text only", hint="leave out --format")
    with loading.chosen(options) as found:
        program = found.program
        if options.check:
            return _checked(program, options.output)
        shown = {"text": _text, "svg": _svg, "json": _json}[options.format](program, stage)
        loading.written(shown, options.output)
        refuted = [r.id for r in program.certificate.rules if r.ruling.verdict == "refuted"]
    return 1 if refuted else 0


def _checked(program: Program, file: str | None) -> int:
    """Hold the stages to their law, and print how they stand."""
    from soundline.verify.programs.stage_checks import checked

    told = checked(program)
    loading.written("\n".join(map(str, told)), file)
    if any(check.broken for check in told):
        return 1
    return 3 if any(check.broken is None for check in told) else 0


def _text(program: Program, stage: str | None) -> str:
    if stage is None:
        return str(program.explain())
    if stage != "all":
        return stage_text(program, stage)
    parts = []
    for name in STAGES:
        parts += [f"# {LAW[name].title}: {LAW[name].semantics}", "", stage_text(program, name), ""]
    return "\n".join(parts).rstrip()


def _svg(program: Program, stage: str | None) -> str:
    return program.svg(stage or "callify")


def _json(program: Program, stage: str | None) -> str:
    report: dict[str, Any] = {"schema": SCHEMA, "kind": "compile", **program.explain().as_json()}
    if stage is not None:
        report["text"] = {n: stage_text(program, n) for n in (STAGES if stage == "all" else (stage,))}
    return json.dumps(report, indent=2, ensure_ascii=False)
