"""
Programs from files
===================

What ``soundline compile``, ``run`` and ``bench`` have in common: a file with a program, chosen by name where there are
several, and the inputs that it is compiled for. The file is Python with functions on Tensors, an ONNX model, or a graph
of UOps in the textual form.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import inspect
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl import logs
from soundline.impl.program.compile import PROFILES, Program, compile  # noqa: A004
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import SoundlineError, UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.verify.files.loader import surroundings
from soundline.verify.files.problems import displayed
from soundline.verify.programs.inputs import as_input, example_of, from_text
from soundline.verify.programs.texts import function_of
from soundline.verify.verdicts.effort import seed_of

Arrays = npt.NDArray[Any]

INPUTS_HELP = """\
FILE is Python, an ONNX model (.onnx), or a graph of UOps in the textual form (.uops). In Python a function takes
Tensors and returns one or several:

    import soundline as sl

    def layer(x: "float32[4, 8]", w: "float32[8, 2]", b: "float32[2]"):
        return (x @ w + b).softmax(-1)

Inputs are given by --input, in the order of the parameters: 'float32[4, 8]' for random numbers of that dtype and
shape, data.npy for an array from a file. Otherwise an input is the default value of the parameter, or random
with the dtype and shape of its annotation, or the entry for the function in a dict EXAMPLES of the file.
"""
ENDINGS = (".py", ".onnx", ".uops")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A compiled program with its inputs; the function that was compiled, where there is one; and what else the file
    defines.
    """

    program: Program
    inputs: Sequence[Any]
    function: Callable[..., Any] | None
    name: str
    namespace: Mapping[str, Any]


def common_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say which program is meant."""
    parser.add_argument("program", metavar="FILE[:NAME]", help="the file, and which program in it")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="WHAT",
        help="an input: 'float32[4, 8]', or a .npy file",
    )
    parser.add_argument("--profile", choices=sorted(PROFILES), help="of the compiler (default: exact)")
    parser.add_argument("--device", default="CPU", metavar="NAME", help="to compile for (default: CPU)")
    parser.add_argument(
        "--seed", "--random", default="0", metavar="N", help="of random inputs (default: 0)", dest="seed"
    )
    parser.add_argument(
        "--schedule",
        action="append",
        default=[],
        metavar="[K:] STEPS",
        help="the schedule of kernel K, or of kernel 0: 'Split 0 8 UPCAST; Swap 0 1'",
    )
    parser.add_argument("--beam", metavar="N", help="search for schedules, with N candidates at a time")
    parser.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="log to standard error; twice: more",
    )


def output_arguments(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Declare the options that say where a report goes, and in which form."""
    parser.add_argument("--format", choices=formats, default="text", help="of the report (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")


def written(text: str, file: str | None) -> None:
    """Print a report, or write it to a file. Raises ``UsageError`` where that cannot be written."""
    if file is None:
        print(text)
        return
    try:
        Path(file).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def chosen(options: argparse.Namespace) -> Iterator[Chosen]:
    """The compiled program and the inputs that the options name. Raises ``UsageError`` where there is none."""
    if options.verbose:
        logs.show("info" if options.verbose == 1 else "debug")
    path, name = split(options.program)
    generator = np.random.default_rng(seed_of(options.seed))
    given = [from_text(text, generator) for text in options.input]
    compiling = {"device": options.device, "profile": options.profile}
    compiling |= {"schedule": _schedules(options.schedule), "beam": _beam(options.beam)}
    if not path.endswith(".py"):
        if name is not None:
            raise UsageError(f"{displayed(path)} is a single program without names")
        yield _of_model(path, given, generator, compiling)
        return
    with surroundings(path) as namespace:
        execute(path, namespace)
        name, target = _target(namespace, path, name)
        with blamed(path):
            examples = _examples(namespace, path, name)
            yield _compiled(name, target, given, examples, generator, compiling, namespace)


def _schedules(given: Sequence[str]) -> dict[int, str] | None:
    """The schedules that are given, by the number of the kernel."""
    found: dict[int, str] = {}
    for text in given:
        number, colon, steps = text.partition(":")
        if colon and not number.strip().isdecimal():
            raise UsageError(f"--schedule {text!r} names no kernel", hint="such as '2: Split 0 8 UPCAST'")
        kernel = int(number) if colon else 0
        if kernel in found:
            raise UsageError(f"kernel {kernel} has two schedules")
        found[kernel] = steps if colon else text
    return found or None


def _beam(text: str | None) -> int | None:
    if text is not None and not (text.isascii() and text.isdecimal() and int(text)):
        raise UsageError(f"--beam {text} is not a number of candidates")
    return None if text is None else int(text)


def _made(function: Callable[..., Any], inputs: Sequence[Any], compiling: Mapping[str, Any]) -> Program:
    return compile(function, *inputs, **{**compiling, "profile": compiling["profile"] or "exact"})


def split(text: str) -> tuple[str, str | None]:
    """``FILE[:NAME]`` as the real path of the file and the name. Raises ``UsageError`` where there is no such file."""
    path, _, name = text.rpartition(":") if any(f"{e}:" in text for e in ENDINGS) else (text, "", "")
    if not path.endswith(ENDINGS):
        raise UsageError(f"{path} is not a Python file and does not end in {' or '.join(ENDINGS[1:])}")
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}")
    return os.path.realpath(path), name or None


def execute(path: str, namespace: dict[str, Any]) -> None:
    """Run a file in a namespace, see `loader.surroundings`. Raises ``UsageError`` for a mistake in it."""
    try:
        code = builtins.compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise UsageError(
            f"{displayed(path)}:{error.lineno}: syntax error: {error.msg}", hint="correct it"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{displayed(path)} cannot be read: {error}") from None
    with blamed(path):
        exec(code, namespace)  # noqa: S102  # the file is the program that the user asked to run


@contextlib.contextmanager
def blamed(path: str) -> Iterator[None]:
    """Tell an exception as a mistake in the user's file, with the line of that file that was running last."""
    try:
        yield
    except SoundlineError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        place = f"{displayed(path)}:{lines[-1]}" if lines else displayed(path)
        message = str(error).split("\n", 1)[0]
        raise UsageError(f"{place}: {type(error).__name__}: {message}", hint=_hint(error)) from error


def _hint(error: BaseException) -> str:
    """What to do about a mistake in a file: names of Spork in annotations are no names of Python."""
    from soundline.impl.spork import NAMES
    from soundline.spec.spork.language.nodes import DTYPES

    if isinstance(error, NameError) and error.name in (*NAMES, *DTYPES, "size", "index"):
        return (
            f"{error.name} is a word of Spork: begin the file with 'from __future__ import annotations', so that "
            "Python does not look for it"
        )
    return "in your file"


# Which program ----------------------------------------------------------------------------------------------------


def _target(namespace: dict[str, Any], path: str, name: str | None) -> tuple[str, Any]:
    """The function or Program of this name, or the only one."""
    own = {
        n: v
        for n, v in namespace.items()
        if _is_program(v, namespace["__name__"]) and not n.startswith("_") and not n.endswith("_numpy")
    }
    if name is None:
        name = "main" if "main" in own else next(iter(own), None) if len(own) == 1 else None
    if name is None:
        spork = [n for n, v in namespace.items() if isinstance(v, Proc) and not own]
        hint = f"{spork[0]} is a Spork program: add --target cuda" if spork else "name one: FILE.py:NAME"
        raise UsageError(f"{displayed(path)} defines {', '.join(own) or 'no program'}", hint=hint)
    if isinstance(namespace.get(name), Proc):
        raise UsageError(
            f"{name} is a Spork program", hint="soundline compile --target cuda, soundline check"
        )
    if not _is_program(namespace.get(name), None):
        raise UsageError(
            f"{displayed(path)} defines no program {name}", hint=f"it defines {', '.join(own) or 'none'}"
        )
    return name, namespace[name]


def _is_program(value: Any, module: str | None) -> bool:
    if isinstance(value, Program | Tensor):
        return True
    return inspect.isfunction(value) and module in (None, value.__module__)


def _examples(namespace: Mapping[str, Any], path: str, name: str) -> Sequence[Any]:
    """What the file has under a function's name in EXAMPLES."""
    examples = namespace.get("EXAMPLES", {})
    if not isinstance(examples, Mapping):
        raise UsageError(f"{displayed(path)}: EXAMPLES is a dict of inputs by the names of functions")
    found = examples.get(name, ())
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise UsageError(f"{displayed(path)}: EXAMPLES[{name!r}] is a tuple or list of inputs")
    return found


def _compiled(
    name: str,
    target: Any,
    given: Sequence[Any],
    examples: Sequence[Any],
    generator: np.random.Generator,
    compiling: Mapping[str, Any],
    namespace: Mapping[str, Any],
) -> Chosen:
    if isinstance(target, Program):
        options = [name for name in ("profile", "schedule", "beam") if compiling[name] is not None]
        if options:
            raise UsageError(
                "the file contains this Program already compiled", hint=f"leave out --{options[0]}"
            )
        found = given or [as_input(e, generator) for e in examples or target.inputs]
        return Chosen(target, found, None, name, namespace)
    function: Callable[..., Any] = (lambda: target) if isinstance(target, Tensor) else target
    inputs = _inputs(function, given, examples, generator)
    program = _made(function, inputs, compiling)
    return Chosen(program, inputs, function, name, namespace)


def _inputs(
    function: Callable[..., Any],
    given: Sequence[Any],
    examples: Sequence[Any],
    generator: np.random.Generator,
) -> list[Any]:
    """The inputs of a function: those that are given, then what its parameters or the file say."""
    declared = list(inspect.signature(function).parameters.values())
    parameters = [p for p in declared if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(given) > len(parameters) and not any(p.kind is p.VAR_POSITIONAL for p in declared):
        raise UsageError(f"{function.__name__} takes {len(parameters)} inputs, and {len(given)} are given")
    inputs = list(given)
    for position in range(len(given), len(parameters)):
        found = example_of(parameters[position], examples, position)
        if found is None:
            wanted = ", ".join(p.name for p in parameters)
            raise UsageError(
                f"{function.__name__} takes ({wanted}), and {len(given)} inputs are given",
                hint=f"name {parameters[position].name} as well: --input 'float32[4, 8]'",
            )
        inputs.append(as_input(found, generator))
    return inputs


def _of_model(
    path: str, given: Sequence[Any], generator: np.random.Generator, compiling: Mapping[str, Any]
) -> Chosen:
    """The program of a file that is not Python."""
    name = Path(path).stem
    if path.endswith(".onnx"):
        from soundline.impl.importers.onnx import from_onnx

        try:
            model = from_onnx(path)
        except UsageError as error:
            raise UsageError(f"{displayed(path)}: {error.message}", hint=error.hint) from None
        signatures = list(model.inputs.values())

        def function(*arguments: Any) -> Any:
            return model(*arguments)

    else:
        function, signatures = function_of(path)
    function.__name__ = name
    if given and len(given) != len(signatures):
        raise UsageError(f"{name} takes {len(signatures)} inputs, and {len(given)} are given")
    inputs = list(given) or [as_input(s, generator) for s in signatures]
    for k, (wanted, value) in enumerate(zip(signatures, inputs, strict=True)):
        if tuple(value.shape) != wanted.shape:
            raise UsageError(f"input {k} has shape {tuple(value.shape)}; {name} expects {wanted}")
    program = _made(function, inputs, compiling)
    return Chosen(program, inputs, function, name, {})
