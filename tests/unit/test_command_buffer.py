"""The command buffer as UOps: the evaluator runs the commands in their order, on the memory as it is laid out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from soundline.impl.compilation import linking
from soundline.impl.executables import foreign
from soundline.impl.executables.signatures import Signature
from soundline.impl.program.compile import Program, compile  # noqa: A004
from soundline.impl.program.custom import CustomFunction
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import execute
from soundline.spec.uop import Op

RNG = np.random.default_rng(3)
NAMES = itertools.count()


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def shards(value: Any) -> list[np.ndarray]:
    return list(value.shards) if isinstance(value, Tensor) else [value]


def check(program: Program, *given: Any) -> None:
    """The evaluator leaves in the results what the program gives."""
    results = program(*given)
    results = results if isinstance(results, tuple) else (results,)
    takes, gives = ([a for v in some for a in shards(v)] for some in (given, results))
    held = {k: a.reshape(-1) for k, a in enumerate(takes)}
    commands = program.command_buffer
    assert len(commands.src) == program.command_count
    left = execute(commands, buffers=held, functions=foreign.references())
    for k, wanted in enumerate(gives):
        assert left[len(takes) + k].to_numpy().tobytes() == wanted.reshape(-1).tobytes()


def calls(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Calls, one in another, whose results are used near and far."""

    @function(inline=False)
    def inner(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (x @ y).relu(), x > y

    @function(inline=False)
    def outer(x: Tensor, y: Tensor) -> Tensor:
        z, positive = inner(x, y)
        return positive.where(z.softmax(0), inner(z, y)[0]) + x

    first = outer(a, b)
    second = outer(first.T, a)
    return outer(second, first), second


def test_calls_are_commands_of_one_kernel_on_other_storage() -> None:
    a, b = array(3, 3), array(3, 3)
    program = compile(calls, a, b)
    check(program, a, b)
    called = [c.src[0] for c in program.command_buffer.src]
    assert all(c.op is Op.Call and c.src[0].op is Op.Program for c in program.command_buffer.src)
    assert len(set(called)) == len(program.kernels) < len(called)


def test_copies_are_commands() -> None:
    x = Tensor(array(4, 2)).shard(("CPU:0", "CPU:1"), 0).realize()
    program = compile(lambda x: (x * 2).sum(0) + 1, x)
    check(program, x)
    names = [c.src[0].src[1].arg for c in program.command_buffer.src]
    assert names.count("copy") == len(program.copies) == 2


def test_custom_functions_and_programs_are_commands() -> None:
    name = f"commanded_{next(NAMES)}"
    square = Signature(float32, (2, 2))
    f = CustomFunction(
        name, takes=[square], gives=[square], call=lambda x: x.T.copy(), reference=lambda x: x.T * 1.0
    )
    inner = compile(lambda x: (x @ x).softmax(0).sum(1), array(2, 2))
    program = compile(lambda x: inner(f(x) + 1) - inner(x), array(2, 2))
    check(program, array(2, 2))


def test_a_layout_in_which_lives_meet_is_seen_by_the_evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant of the plan."""
    a, b = array(3, 3), array(3, 3)
    monkeypatch.setattr(linking, "layout", lambda lives: ([0] * len(lives), 2 * max(n for n, _, _ in lives)))
    broken = compile(calls, a, b)
    monkeypatch.undo()
    wanted = compile(calls, a, b)(a, b)
    try:
        left = execute(broken.command_buffer, buffers={0: a.reshape(-1), 1: b.reshape(-1)})
    except EvaluationError:  # bytes of one value read as another
        return
    assert any(left[2 + k].to_numpy().tobytes() != w.reshape(-1).tobytes() for k, w in enumerate(wanted))
