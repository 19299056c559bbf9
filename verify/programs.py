"""
Programs from files
===================

What ``soundline compile`` and ``soundline run`` have in common: a Python file that defines functions on Tensors, one of
them chosen by name, and what it is to be compiled for.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import inspect
import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.impl.compile import PROFILES, Program, compile  # noqa: A004
from soundline.impl.tensor import Tensor
from soundline.spec.dtypes import DType, all_dtypes, index, to_numpy
from soundline.spec.errors import SoundlineError, UsageError
from soundline.verify.effort import seed_of
from soundline.verify.loader import surroundings
from soundline.verify.problems import displayed

Arrays = npt.NDArray[Any]

INPUTS_HELP = """\
The file is plain Python. A function takes Tensors and returns one or several:

    import soundline as sl

    def layer(x, w, b):
        return (x @ w + b).softmax(-1)

Its inputs are named in their order: --input 'float32[4, 8]' for random numbers of that dtype and shape,
--input data.npy for an array from a file. A parameter with a default value needs none.
"""

_INPUT = re.compile(r"(\w+)\[([\d\s,]*)\]")


def common_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say which program is meant."""
    parser.add_argument(
        "program", metavar="FILE[:NAME]", help="the file, and which function or Program in it"
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="WHAT",
        help="an input: 'float32[4, 8]', or a .npy file",
    )
    parser.add_argument("--profile", choices=sorted(PROFILES), help="of the compiler (default: exact)")
    parser.add_argument("--seed", default="0", metavar="N", help="of random inputs (default: 0)")


@contextlib.contextmanager
def chosen(options: argparse.Namespace) -> Iterator[tuple[Program, list[Any]]]:
    """The compiled program and the inputs that the options name. Raises ``UsageError`` where there is none."""
    path, name = split(options.program)
    generator = np.random.default_rng(seed_of(options.seed))
    given = [_input(text, generator) for text in options.input]
    with surroundings(path) as namespace:
        execute(path, namespace)
        target = _target(namespace, path, name)
        with blamed(path):
            yield _compiled(target, given, options.profile)


def split(text: str) -> tuple[str, str | None]:
    """``FILE[:NAME]`` as the real path of the file and the name. Raises ``UsageError`` where there is no such file."""
    path, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    if not path.endswith(".py"):
        raise UsageError(f"{path} is not a Python file")
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
        raise UsageError(f"{place}: {type(error).__name__}: {message}", hint="in your file") from error


def _target(namespace: dict[str, Any], path: str, name: str | None) -> Any:
    """The function or Program of this name, or the only one."""
    own = {
        n: v for n, v in namespace.items() if _is_program(v, namespace["__name__"]) and not n.startswith("_")
    }
    if name is None:
        name = "main" if "main" in own else next(iter(own), None) if len(own) == 1 else None
    if name is None:
        raise UsageError(
            f"{displayed(path)} defines {', '.join(own) or 'no program'}", hint="name one: FILE.py:NAME"
        )
    if not _is_program(namespace.get(name), None):
        raise UsageError(
            f"{displayed(path)} defines no program {name}", hint=f"it defines {', '.join(own) or 'none'}"
        )
    return namespace[name]


def _is_program(value: Any, module: str | None) -> bool:
    if isinstance(value, Program | Tensor):
        return True
    return inspect.isfunction(value) and module in (None, value.__module__)


def _compiled(target: Any, given: Sequence[Any], profile: str | None) -> tuple[Program, list[Any]]:
    if isinstance(target, Program):
        if profile is not None:
            raise UsageError("the file has compiled this Program already", hint="leave out --profile")
        return target, list(given)
    function: Callable[..., Any] = (lambda: target) if isinstance(target, Tensor) else target
    inputs = list(given)
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters[len(inputs) :]:
        if parameter.default is inspect.Parameter.empty:
            wanted = ", ".join(p.name for p in parameters)
            raise UsageError(
                f"{function.__name__} takes ({wanted}), and {len(given)} inputs are named",
                hint=f"name {parameter.name} as well: --input 'float32[4, 8]'",
            )
        inputs.append(parameter.default)
    if len(inputs) > len(parameters):
        raise UsageError(f"{function.__name__} takes {len(parameters)} inputs, and {len(inputs)} are named")
    return compile(function, *inputs, profile=profile or "exact"), inputs


# inputs -----------------------------------------------------------------------------------------------------------


def _input(text: str, generator: np.random.Generator) -> Arrays:
    """An array: from a file, or random of a dtype and shape."""
    if text.endswith(".npy"):
        try:
            array: Arrays = np.load(text, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise UsageError(f"--input {text} cannot be read: {str(error).splitlines()[0]}") from None
        return array
    told = _INPUT.fullmatch(text.strip())
    dtype = next((d for d in all_dtypes if told and d.name == told[1] and d is not index), None)
    if told is None or dtype is None:
        names = ", ".join(d.name for d in all_dtypes if d is not index)
        raise UsageError(
            f"--input {text!r} is no input", hint=f"such as 'float32[4, 8]'; the dtypes are {names}"
        )
    shape = tuple(int(n) for n in told[2].replace(" ", "").split(",") if n)
    return random_array(dtype, shape, generator)


def random_array(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> Arrays:
    """Random elements: numbers around 0 for floats, small whole numbers for integers."""
    if dtype.is_float:
        return generator.standard_normal(shape).astype(to_numpy(dtype))
    low = -8 if dtype.signed else 0
    high = 2 if dtype.name == "bool" else 9
    return generator.integers(low, high, shape).astype(to_numpy(dtype))
