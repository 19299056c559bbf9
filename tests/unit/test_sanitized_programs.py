"""Whole programs, with the host that runs them, under sanitizers: tiles, packing, rows, scans, vectors and threads
touch no byte that is not theirs, have no undefined behaviour, and no two cores race.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c.renderer import COMMANDS, ENTRY
from soundline.impl.runtime import host as hosts
from soundline.impl.tensors.tensor import Tensor
from soundline.impl.toolchain import find_compiler, machine_flags
from soundline.spec.uop import Op, UOp, toposort

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from small_machine import Traced, count, features, small_machine, traced

UNDEFINED = ("-fsanitize=undefined,float-cast-overflow,address", "-fno-sanitize-recover=all")
RACES = ("-fsanitize=thread",)
CORES = 4


def numbers(*shape: int, dtype: type = np.float32) -> Tensor:
    values = np.random.default_rng(len(shape)).standard_normal(shape) * 100
    return Tensor(values.astype(dtype))


def images() -> Tensor:
    return numbers(1, 2, 5, 5).conv2d(numbers(2, 2, 3, 3), padding=1).max_pool2d(2, padding=1)


def everything() -> list[Tensor]:
    """Programs of every form, each an output of one."""
    at = Tensor(np.array([[3, 0, 2], [1, 1, 4]]))
    return [
        numbers(7, 5) @ numbers(5, 13),
        numbers(3, 4, dtype=np.float64).pad(((1, 0), (0, 2))) @ numbers(6, 9, dtype=np.float64),
        (numbers(4, 3) @ numbers(3, 9) + numbers(9)).relu().cast(sl.int16),
        numbers(5, 12).softmax(),
        numbers(3, 17).layer_norm(),
        numbers(5, 7).cumsum(1).flip(1).cumsum(0),
        numbers(9, 6).T.contiguous(),
        numbers(6, 3).take(at, 0),
        numbers(6).scatter_add(0, Tensor(np.array([0, 5, 5])), numbers(3)),
        images(),
        numbers(600).sum(),
        numbers(37, dtype=np.int8).max(),
        numbers(21, dtype=np.int64).sum() // 7,
        numbers(9, dtype=np.float16).exp(),
        numbers(3, 5).cast(sl.bfloat16) @ numbers(5, 3).cast(sl.bfloat16),
        numbers(4).sin(),
        numbers(0, 3).sum(0),
        numbers(3)[3:],
    ]


def lowered(machine: str, profile: str) -> tuple[str, Traced, UOp]:
    """The text of all programs in one, what it computes, and its plan."""
    with small_machine(machine):
        program = traced(*(t.uop for t in everything()))
        made = program.lowered(profile)
        found = features(made)
    assert found >= {"THREAD", "UPCAST", "packing", "vectors", "arena", "running reductions"}
    return made.source, program, made.stages["plan"]


def main_of(program: Traced, plan: UOp) -> str:
    """Data, and a main that runs the commands on memory that is exactly as large as it must be."""
    outputs = [count(r) * r.dtype.itemsize for r in program.roots]
    first = len(program.held) + len(outputs)
    arena = next((n.arg.size for n in toposort(plan) if n.op is Op.Buffer and n.arg.slot == first), 0)
    held = [program.held[k].tobytes() for k in range(len(program.held))]
    data = [
        f"static const unsigned char data_{k}[] = {{{','.join(map(str, row)) or '0'}}};"
        for k, row in enumerate(held)
    ]
    sizes = [*map(len, held), *outputs, arena]
    rows = [f"if (posix_memalign(&slot[{k}], 64, {size})) return 2;" for k, size in enumerate(sizes)] + [
        f"memcpy(slot[{k}], data_{k}, {len(row)});" for k, row in enumerate(held)
    ]
    run = f"""
    static struct command commands[4096];
    for (uint32_t k = 0; k < {COMMANDS}[0]; k++)
        commands[k] = (struct command){{{ENTRY}, k, 0, {COMMANDS}[1 + k]}};
    soundline_limit({CORES});
    for (int round = 0; round < 3; round++) soundline_execute(commands, {COMMANDS}[0], slot);
    for (int k = 0; k < {len(sizes)}; k++) free(slot[k]);
    return 0;
}}"""
    head = (
        f"#include <stdlib.h>\n{chr(10).join(data)}\nint main(void) {{\n    void *slot[{len(sizes)}];\n    "
    )
    return head + "\n    ".join(rows) + run + "\n"


def ran(text: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Build a text with the host before it, and run it."""
    (folder / "program.c").write_text(hosts.text() + text, encoding="utf-8")
    plain = ("-std=c11", "-O1", "-g", "-w", "-pthread", "-ffp-contract=off", *machine_flags())
    command = (*find_compiler().command, *plain, *flags, "program.c", "-o", "program", "-lm")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("machine", "profile"), [("narrow", "exact"), ("wide", "fast")])
def test_programs_have_no_undefined_behaviour(machine: str, profile: str, tmp_path: Path) -> None:
    source, program, plan = lowered(machine, profile)
    done = ran(source + main_of(program, plan), tmp_path, *UNDEFINED)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_two_cores_race(tmp_path: Path) -> None:
    source, program, plan = lowered("narrow", "exact")
    done = ran(source + main_of(program, plan), tmp_path, *RACES)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_sanitizer_sees_a_loop_that_is_too_long(tmp_path: Path) -> None:
    program, plan, source = small_product()
    longer, changed = re.subn(r"(for \(idx r\d+ = 0; r\d+ < )(\d+);", r"\g<1>\g<2> + 1;", source)
    assert changed
    done = ran(longer + main_of(program, plan), tmp_path, *UNDEFINED)
    assert "heap-buffer-overflow" in done.stderr


def test_the_sanitizer_sees_cores_that_do_the_same(tmp_path: Path) -> None:
    program, plan, source = small_product()
    same, changed = re.subn(r"\(idx\)\(\(int64_t\)\d+ \* core / cores\)", "0", source)
    assert changed
    text = same + main_of(program, plan)
    # where one core does all before another has woken, there is nothing to see: then once more
    assert any("data race" in ran(text, tmp_path, *RACES).stderr for _ in range(20))


def small_product() -> tuple[Traced, UOp, str]:
    with small_machine("narrow"):
        program = traced((numbers(40, 5).cumsum(1) * 2).uop, numbers(64, 9).sum(1).uop)
        made = program.lowered()
        return program, made.stages["plan"], made.source
