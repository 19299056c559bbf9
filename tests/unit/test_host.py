"""The host: the pool of threads under sanitizers and forks, and how it reads arrays."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from soundline.impl import cores as counted
from soundline.impl import toolchain
from soundline.impl.runtime import cache
from soundline.impl.runtime import host as hosts
from soundline.impl.runtime.host import Host, host
from soundline.spec.errors import ToolchainError, UsageError

TEXT = hosts.text()
PROGRAM = (Path(__file__).parent / "host_program.c").read_text(encoding="utf-8")
STRICT = ("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-pthread")


def built(folder: Path, *flags: str, text: str = TEXT) -> Path:
    """The test program with the host's text before it."""
    (folder / "program.c").write_text(text + PROGRAM, encoding="utf-8")
    command = (*toolchain.find_compiler().command, *STRICT, *flags, "program.c", "-o", "program", "-lm")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def ran(program: Path, cores: int, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, str(cores)],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
    )


# The pool ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("waiting", ["futex", "portable"])
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_commands_wait_for_each_other_and_threads_do_not_race(
    tmp_path: Path, sanitizer: str, waiting: str
) -> None:
    """Three callers at once, a barrier between any two commands of one; each command reads what other cores wrote."""
    portable = ["-DSOUNDLINE_PORTABLE"] if waiting == "portable" else []
    program = built(tmp_path, f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", *portable)
    for cores in (1, 2, 4):
        done = ran(program, cores)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", str(cores - 1))


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("    if (cores > 1) wait_until(&pool.working, 0);\n", ""),  # no barrier
        ("pthread_mutex_trylock(&pool.door)", "0"),  # two callers give the workers commands
    ],
)
def test_the_sanitizer_sees_a_pool_that_does_not_wait(tmp_path: Path, line: str, without: str) -> None:
    assert line in TEXT
    weaker = TEXT.replace(line, without)
    if "trylock" in line:
        weaker = weaker.replace("    pthread_mutex_unlock(&pool.door);\n}\n\n/* Use", "}\n/* Use")
    program = built(tmp_path, "-fsanitize=thread", text=weaker)
    with contextlib.suppress(subprocess.TimeoutExpired):  # two callers of one worker may also wait forever
        assert ran(program, 4, seconds=20).returncode != 0


def test_a_command_that_wants_more_cores_than_there_are_runs_on_fewer(tmp_path: Path) -> None:
    program = built(tmp_path, text="#define _GNU_SOURCE\n#include <pthread.h>\n" + REFUSING + TEXT)
    done = ran(program, 8)
    assert (done.returncode, done.stdout) == (0, "2")


REFUSING = """
static int made;
static int refusing(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
    return f && a && made++ >= 2 ? 11 : pthread_create(t, a, f, x);
}
#define pthread_create refusing
"""
"""A system that gives no more than two threads with attributes, which are those of the pool."""


SPREAD = """
import sys, numpy as np, os
from soundline.impl.runtime import cpu, host
source = sys.argv[1]
buffer = cpu.build(source)
def run():
    out = np.full(1000, -1, np.int32)
    buffer.run([out])
    return sorted(set(out.tolist()))
"""
WHO = """#include <stdint.h>
const uint32_t soundline_commands[] = {1, 8};
void soundline_run(void **slot, uint32_t command, uint32_t core, uint32_t cores) {
    for (int k = 1000 * core / cores; k < 1000 * (core + 1) / cores; k++) ((int *)slot[0])[k] = core;
}
"""
"""A kernel that says which core wrote each element."""


def python(code: str, before: str = "", **environment: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", before + SPREAD + code, WHO],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_number_of_threads_is_that_of_the_variable_or_of_the_processor() -> None:
    show = "print(run(), host.host().workers())"
    assert python(show, SOUNDLINE_THREADS="1") == "[0] 0"
    assert python(show, SOUNDLINE_THREADS="3") == "[0, 1, 2] 2"
    assert python(show, SOUNDLINE_THREADS="200") == "[0, 1, 2, 3, 4, 5, 6, 7] 7", (
        "no more than the kernel can use"
    )
    if hasattr(os, "sched_setaffinity"):
        one = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
        assert python(show, before=one, SOUNDLINE_THREADS="") == "[0] 0"


@pytest.mark.parametrize("named", ["0", "-1", "many", "1.5", "257", "²"])
def test_a_number_of_threads_that_is_none_is_refused(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(counted.VARIABLE, named)
    with pytest.raises(UsageError) as caught:
        counted.cores()
    assert counted.VARIABLE in caught.value.message


def test_the_number_in_use_can_change() -> None:
    code = "h = host.host()\nfor n in (1, 4, 2, 3): h.use(n); print(h.limit, run(), h.workers())"
    assert python(code).splitlines() == [
        "1 [0] 0",
        "4 [0, 1, 2, 3] 3",
        "2 [0, 1] 3",
        "3 [0, 1, 2] 3",
    ]


FORK = """
assert run() == [0, 1, 2]
def child(depth):
    pid = os.fork()
    if pid == 0:
        ok = host.host().workers() == 0 and run() == [0, 1, 2] and host.host().workers() == 2
        if depth: ok = ok and child(depth - 1)
        os._exit(0 if ok else 1)
    return os.waitpid(pid, 0)[1] == 0
print(child(2), run())
import threading
stop = False
def busy():
    while not stop: run()
others = [threading.Thread(target=busy) for _ in range(2)]
for t in others: t.start()
print(all([child(0) for _ in range(20)]))
stop = True
for t in others: t.join()
print(run())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_child_of_a_fork_has_a_pool_of_its_own() -> None:
    """Also of a child, and while other threads use the pool."""
    wanted = ["True [0, 1, 2]", "True", "[0, 1, 2]"]
    assert python(FORK, SOUNDLINE_THREADS="3", PYTHONWARNINGS="ignore").splitlines() == wanted


# Arrays -----------------------------------------------------------------------------------------------------------


def test_arrays_are_read_where_they_lie() -> None:
    assert host().layout is not None, "this Python or numpy keeps the fields of arrays elsewhere"


@pytest.mark.parametrize("field", ["data", "rank", "shape", "dtype", "flags", "array"])
def test_a_layout_that_is_wrong_is_found(field: str) -> None:
    layout = hosts.ffi().new("struct layout *", host().layout[0])
    if field == "array":
        layout.array = hosts.ffi().cast("void *", id(list))
    else:  # a field that is beside it, and is there
        beside = {"dtype": "data", "shape": "data"}
        setattr(layout, field, getattr(layout, beside.get(field, "shape")))
    assert not host()._reads(layout)


def test_another_python_is_asked_for_every_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts.sys.implementation, "name", "another")
    assert host()._layout() is None


def test_a_host_that_cannot_be_loaded_is_a_toolchain_error(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_bytes(b"no library")
    with pytest.raises(ToolchainError):
        Host(tmp_path / "no.so", 1)


def test_the_host_compiles_without_a_warning(tmp_path: Path) -> None:
    compiler = toolchain.find_compiler()
    flags = tuple(f for f in compiler.flags if f != "-w")
    strict = toolchain.Compiler(compiler.command, compiler.version, (*flags, "-Wall", "-Wextra", "-Werror"))
    assert cache.library_for(TEXT, strict).is_file()
    assert np.dtype(np.intp).itemsize == hosts.ffi().sizeof("intptr_t")
