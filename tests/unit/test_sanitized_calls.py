"""Command buffers with windows, copies and sizes under sanitizers: no byte is touched that is not the step's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl.arrays.sizes import Variable, bound
from soundline.impl.codegen.c.renderer import ENTRY
from soundline.impl.executables.signatures import Signature
from soundline.impl.program.compile import Program, compile  # noqa: A004
from soundline.impl.program.every_size import SizedProgram
from soundline.impl.runtime.host import ffi, host
from soundline.impl.tensors.core.functions import function
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import float32

from .test_sanitized_programs import UNDEFINED, ran

N, M = Variable("n", 1, 9), Variable("m", 2, 5)


def main_of(program: Program, blocks: Sequence[int], held: dict[int, np.ndarray]) -> str:
    """A main that runs a program's commands on blocks of exactly so many bytes, one for each slot without a window."""
    buffer = program._commands
    copy = ffi().addressof(host().library, "soundline_copy")
    rows = [buffer._commands[k] for k in range(buffer.count)]
    commands = [f"{{{'soundline_copy' if r.run == copy else ENTRY}, {r.number}, {r.first}, 1}}" for r in rows]
    data = [
        f"static const unsigned char data_{k}[] = {{{','.join(map(str, a.tobytes()))}}};"
        for k, a in held.items()
    ]
    lines = [f"void *slot[{buffer._slots}];"]
    lines += [f"if (posix_memalign(&slot[{k}], 64, {size})) return 2;" for k, size in enumerate(blocks)]
    lines += [f"memcpy(slot[{k}], data_{k}, {a.nbytes});" for k, a in held.items()]
    lines += [f"slot[{to}] = (char *)slot[{origin}] + {offset};" for to, origin, offset in buffer.aliases]
    lines += [
        f"static const struct command commands[] = {{{', '.join(commands)}}};",
        f"for (int round = 0; round < 2; round++) soundline_execute(commands, {len(commands)}, slot);",
        f"for (int k = 0; k < {len(blocks)}; k++) free(slot[k]);",
        "return 0;",
    ]
    text = "\n    ".join(lines)
    return "\n".join(["#include <stdlib.h>", *data, f"int main(void) {{\n    {text}\n}}\n"])


def layers() -> tuple[Program, list[np.ndarray]]:
    """Twelve sites of one layer, and Calls inside a Call."""

    @function(inline=False)
    def inner(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return (x @ w).relu(), x.sum(0)

    @function(inline=False)
    def layer(x: Tensor, w: Tensor) -> Tensor:
        a, b = inner(x, w)
        return inner(a + b, w)[0].softmax(-1) - x

    def network(x: Tensor, *weights: Tensor) -> Tensor:
        for w in weights:
            x = layer(x, w)
        return x * 2

    given = [np.ones((3, 5), np.float32), *(np.full((5, 5), k, np.float32) for k in range(12))]
    return compile(network, *given), given


def devices() -> tuple[Program, list[np.ndarray]]:
    """Parts, copies and collectives."""
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    parts = Tensor(x).shard(("CPU:0", "CPU:1", "CPU:2"), 0).realize()
    program = compile(lambda x: ((x * 2).softmax(0) + x.sum(0)).to("CPU:1"), parts)
    return program, list(parts.shards)


@pytest.mark.parametrize("make", [layers, devices], ids=["calls", "devices"])
def test_commands_touch_what_is_theirs(make: Any, tmp_path: Path) -> None:
    program, given = make()
    outputs = [p.nbytes for p in program._linked.steps.places[len(given) :][: program._linked.steps.results]]
    blocks = [*(a.nbytes for a in given), *outputs, program._arena]
    done = ran(program.source + main_of(program, blocks, dict(enumerate(given))), tmp_path, *UNDEFINED)
    assert (done.returncode, done.stderr) == (0, "")


def sized() -> SizedProgram:
    def many(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return (
            x @ x.T,
            x.softmax(0).sum(1),
            Tensor.cat(x, y, axis=0).flip(0),
            x.pad(((1, 2), (0, 1))),
            x.reshape(N * 3)[1:],
            (y.exp() + y[:1]).mean(0),
            x.T.contiguous(),
        )

    program = compile(many, Signature(float32, (N, 3)), Signature(float32, (M, 3)))
    assert isinstance(program, SizedProgram)
    return program


def at_sizes(program: SizedProgram, n: int, m: int) -> str:
    """The main of a program at some sizes, on blocks of exactly these."""
    values = dict(zip(program._sizes, (n, m), strict=True))
    arrays = [np.ones((n, 3), np.float32), np.ones((m, 3), np.float32)]
    given = [*arrays, *(np.array([values[v]], np.int32) for v in program._sizes)]
    outputs = [4 * int(np.prod([bound(s, values) for s in o.shape])) for o in program.outputs]
    return main_of(program, [*(a.nbytes for a in given), *outputs, program._arena], dict(enumerate(given)))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (4, 3)], ids=["least", "between"])
def test_sizes_stay_inside_what_they_are_given(n: int, m: int, tmp_path: Path) -> None:
    program = sized()
    done = ran(program.source + at_sizes(program, n, m), tmp_path, *UNDEFINED)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_sanitizer_sees_a_size_that_is_too_large(tmp_path: Path) -> None:
    """The twin: every loop over a size runs once more than this says."""
    program = sized()
    longer, changed = re.subn(
        r"(for \(idx r\d+ = 0; r\d+ < )([^\d;][^;]*);", r"\g<1>1 + \g<2>;", program.source
    )
    assert changed
    done = ran(longer + at_sizes(program, 4, 3), tmp_path, *UNDEFINED)
    assert "heap-buffer-overflow" in done.stderr
