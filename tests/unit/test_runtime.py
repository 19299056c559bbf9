"""The runtime: compilers that are missing or fail, a cache that is shared and damaged, threads, and memory."""

from __future__ import annotations

import gc
import json
import os
import random
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from soundline.impl import toolchain
from soundline.impl.arrays import memory
from soundline.impl.codegen.c.renderer import COMMANDS, ENTRY
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.runtime import cache, cpu
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import CompileError, ToolchainError

SOURCE = f"""#include <stdint.h>
const uint32_t {COMMANDS}[] = {{1, 1}};
void {ENTRY}(void **slot, uint32_t command, uint32_t core, uint32_t cores) {{ *(int *)slot[0] += 1; }}
"""


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a cache folder of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    return folder


def counted(library: cpu.Library) -> int:
    """What the test program leaves in a cell that held 41."""
    cell = np.array([41], np.int32)
    library.run([cell])
    return int(cell[0])


def script(folder: Path, name: str, body: str) -> str:
    """An executable that stands for a compiler."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# Compilers --------------------------------------------------------------------------------------------------------


def test_no_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError) as caught:
        compile(lambda x: x + 41, np.ones(3, np.float32))
    assert isinstance(caught.value, CompileError)
    assert caught.value.hint is not None
    assert "apt install gcc" in caught.value.hint
    for name in ("cc", "gcc", "clang"):
        assert name in caught.value.message


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("no-such-compiler --fast", "no-such-compiler --fast, which is not there"),
        ("/nowhere/gcc", "/nowhere/gcc, which is not there"),
        ("broken", "which does not run"),
        ("gcc 'unclosed", "which is not a command"),
    ],
)
def test_a_named_compiler_that_does_not_run_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str, says: str
) -> None:
    """Another compiler would give other machine code than the one that was asked for."""
    broken = script(tmp_path, "broken", "exit 1")
    monkeypatch.setenv("CC", broken if named == "broken" else named)
    with pytest.raises(ToolchainError) as caught:
        compile(lambda x: x + 41, np.ones(3, np.float32))
    assert says in caught.value.message
    assert caught.value.hint is not None
    assert "unset" in caught.value.hint


def test_the_named_compiler_comes_first_and_may_have_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = toolchain.find_compiler().command[0]
    named = script(tmp_path, "mine", f'exec {real} "$@"')
    monkeypatch.setenv("CC", f"{named} -DMARK")
    found = toolchain.find_compiler()
    assert found.command == (named, "-DMARK")
    assert counted(cpu.build(SOURCE.replace("+= 1", "+= 1\n#ifndef MARK\n#error\n#endif\n"))) == 42


@pytest.mark.parametrize("named", ["", " "])
def test_where_none_is_named_one_that_does_not_run_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str
) -> None:
    script(tmp_path, "cc", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CC", named)
    assert toolchain.find_compiler().command in (("gcc",), ("clang",))


def test_an_empty_name_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "")
    assert toolchain.find_compiler().command in (("cc",), ("gcc",), ("clang",))


def test_ziglang_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: object())
    candidates = list(toolchain.candidates())
    assert candidates[-1] == (sys.executable, "-m", "ziglang", "cc")


def test_a_failing_compiler_shows_its_command_and_what_it_printed() -> None:
    with pytest.raises(ToolchainError) as caught:
        cpu.build("this is no C\n")
    error = caught.value
    assert error.command[0] == toolchain.find_compiler().command[0]
    assert "-ffp-contract=off" in error.command
    assert "error" in error.stderr
    assert error.stderr.strip() in error.message


def test_a_compiler_that_vanishes_is_a_toolchain_error(tmp_path: Path) -> None:
    gone = toolchain.Compiler((str(tmp_path / "gone"),), "gone 1.0", toolchain.FLAGS)
    with pytest.raises(ToolchainError):
        cache.library_for(SOURCE, gone)


def test_a_library_that_cannot_be_loaded_is_a_toolchain_error(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_bytes(b"no library")
    with pytest.raises(ToolchainError):
        cpu.Library(tmp_path / "no.so")


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("cc (Debian 12.2.0) 12.2.0", True),
        ("Debian clang version 14.0.6", False),
        ("Apple clang version 15", False),
    ],
)
def test_only_gcc_is_given_what_only_gcc_knows(
    version: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "_version", lambda command, path: version)
    assert ("-fno-predictive-commoning" in toolchain.find_compiler().flags) == known


def test_the_flags_forbid_what_would_change_a_bit() -> None:
    flags = toolchain.find_compiler().flags
    assert "-ffp-contract=off" in flags
    assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math"} & set(flags)


# Cache ------------------------------------------------------------------------------------------------------------


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.so"))


def test_a_second_build_is_taken_from_the_cache(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = toolchain.find_compiler()
    first = cache.library_for(SOURCE, compiler)
    monkeypatch.setattr(toolchain.Compiler, "build", lambda *_: pytest.fail("built twice"))
    assert cache.library_for(SOURCE, compiler) == first
    assert counted(cpu.Library(first)) == 42


@pytest.mark.parametrize(
    "change",
    [{"version": "another"}, {"flags": ("-O0", *toolchain.FLAGS)}, {"command": ("other",)}],
    ids=["version", "flags", "command"],
)
def test_the_key_depends_on_the_compiler(change: dict[str, object]) -> None:
    found = toolchain.find_compiler()
    fields = {"command": found.command, "version": found.version, "flags": found.flags}
    other = toolchain.Compiler(**{**fields, **change})  # type: ignore[arg-type]
    assert cache.key_of(SOURCE, other) != cache.key_of(SOURCE, found)
    assert cache.key_of(SOURCE + " ", found) != cache.key_of(SOURCE, found)


def test_the_key_depends_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = toolchain.find_compiler()
    before = cache.key_of(SOURCE, compiler)
    monkeypatch.setattr(cache, "machine", lambda: "another machine")
    assert cache.key_of(SOURCE, compiler) != before


@pytest.mark.parametrize(
    "damage", ["truncated", "emptied", "changed", "no checksum", "no library", "bad checksum"]
)
def test_a_damaged_entry_is_built_again(fresh_cache: Path, damage: str) -> None:
    compiler = toolchain.find_compiler()
    library = cache.library_for(SOURCE, compiler)
    whole = library.read_bytes()
    checksum = library.with_suffix(".sha256")
    match damage:
        case "truncated":
            library.write_bytes(whole[: len(whole) // 2])
        case "emptied":
            library.write_bytes(b"")
        case "changed":
            library.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        case "no checksum":
            checksum.unlink()
        case "no library":
            library.unlink()
        case "bad checksum":
            checksum.write_bytes(b"\xff\xfe")
    again = cache.library_for(SOURCE, compiler)
    assert counted(cpu.Library(again)) == 42
    assert cache._intact(again)


def test_nothing_is_left_of_a_failed_build(fresh_cache: Path) -> None:
    with pytest.raises(ToolchainError):
        cpu.build("this is no C\n")
    assert list(fresh_cache.iterdir()) == []


def test_an_unwritable_folder_is_replaced_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv(cache.VARIABLE, str(blocked / "below"))
    with pytest.warns(RuntimeWarning, match=cache.VARIABLE):
        assert counted(cpu.build(SOURCE)) == 42
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counted(cpu.build(SOURCE)) == 42


def test_without_the_variable_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.VARIABLE)
    assert cache.cache_folder().name == "soundline"


def test_clear_removes_the_entries(fresh_cache: Path) -> None:
    cpu.build(SOURCE)
    assert cache.clear() == 3
    assert entries(fresh_cache) == []


BUILD_OFTEN = """
import json, sys
from soundline.impl.runtime import cpu

source = sys.stdin.read()
print(json.dumps([cpu.build(f"/* {k % 3} */{source}") is not None for k in range(6)]))
"""


def test_processes_may_build_the_same_programs_at_once(fresh_cache: Path) -> None:
    environment = {**os.environ, cache.VARIABLE: str(fresh_cache)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", BUILD_OFTEN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(SOURCE)
        worker.stdin.close()
    for worker in workers:
        assert worker.stdout is not None
        assert json.loads(worker.stdout.read()) == [True] * 6
        assert worker.wait() == 0
    assert len(entries(fresh_cache)) == 4, "three programs, and the host"
    assert [counted(cpu.build(f"/* {k} */{SOURCE}")) for k in range(3)] == [42] * 3
    assert not [p for p in fresh_cache.iterdir() if p.is_dir()]


# Programs ---------------------------------------------------------------------------------------------------------


def test_threads_share_one_program() -> None:
    program = compile(lambda x: (x @ x).softmax().sum(0), np.ones((40, 40), np.float32))
    inputs = [np.random.default_rng(k).standard_normal((40, 40)).astype(np.float32) for k in range(4)]
    expected = [program(x) for x in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(50) if not np.array_equal(program(inputs[k]), expected[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_results_do_not_depend_on_the_callers_floating_point_environment(tmp_path: Path) -> None:
    """A thread that flushes subnormals and rounds upward, as some libraries leave it, changes no bit."""
    text = "#include <fenv.h>\nvoid spoil(void) { fesetround(FE_UPWARD); }\n"
    text += (
        "#ifdef __x86_64__\n#include <xmmintrin.h>\nvoid flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
    )
    text += "#else\nvoid flush(void) {}\n#endif\n"
    source, library = tmp_path / "spoil.c", tmp_path / "spoil.so"
    source.write_text(text, encoding="utf-8")
    toolchain.find_compiler().build(source, library)
    code = f"""
import cffi, numpy as np, soundline as sl
tiny = np.array([1e-40, 1.0, 1.0], np.float32)
other = np.array([0.5, 2.0**-30, 2.0**-24], np.float32)
program = sl.compile(lambda x, y: (x * y, x + y), tiny, other)
before = [r.tobytes() for r in program(tiny, other)]
ffi = cffi.FFI(); ffi.cdef("void spoil(void); void flush(void);")
library = ffi.dlopen({str(library)!r}); library.spoil(); library.flush()
after = [r.tobytes() for r in program(tiny, other)]
print(before == after)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_unaligned_strided_and_foreign_arguments_are_taken() -> None:
    program = compile(lambda x: x * 2, np.ones(5, np.float32))
    unaligned = np.frombuffer(b"\0" + np.arange(5, dtype=np.float32).tobytes(), np.uint8)[1:].view(np.float32)
    assert not unaligned.flags.aligned
    wanted = np.arange(5, dtype=np.float32) * 2
    np.testing.assert_array_equal(program(unaligned), wanted)
    np.testing.assert_array_equal(program(np.arange(10, dtype=np.float32)[::2]), wanted * 2)
    np.testing.assert_array_equal(program(np.arange(5, dtype=">f4")), wanted)
    np.testing.assert_array_equal(program(Tensor(wanted)), wanted * 2)


def test_bools_of_any_byte_are_true() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    program = compile(lambda x: (x.cast(Tensor(1).dtype), x), odd)
    numbers, same = program(odd)
    np.testing.assert_array_equal(numbers, [0, 1, 1, 1])
    np.testing.assert_array_equal(same.view(np.uint8), [0, 1, 1, 1])


# Memory -----------------------------------------------------------------------------------------------------------


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_large_blocks_are_aligned_and_used_again_when_nothing_refers_to_them() -> None:
    pool = memory.Pool()
    count = memory.SMALL
    first = memory.empty(count, np.dtype(np.float32), pool)
    where = address(first)
    assert where % memory.ALIGNMENT == 0
    assert (first.shape, first.dtype) == ((count,), np.float32)
    del first
    gc.collect()
    assert address(memory.empty(count, np.dtype(np.float32), pool)) == where


def test_a_block_is_kept_while_any_view_of_it_lives() -> None:
    pool = memory.Pool()
    count = memory.SMALL
    first = memory.empty(count, np.dtype(np.float32), pool)
    view = first.reshape(2, -1)[1, 5:9].T
    kept = memoryview(view)
    first[:] = 7.0
    where = address(first)
    del first, view
    gc.collect()
    other = memory.empty(count, np.dtype(np.float32), pool)
    assert address(other) != where
    other[:] = 9.0
    assert list(kept) == [7.0] * 4


def spans(array: np.ndarray) -> range:
    return range(address(array), address(array) + array.nbytes)


@pytest.mark.parametrize("seed", range(4))
def test_no_live_array_shares_memory_with_another(seed: int) -> None:
    """Arrays are taken and dropped in any order, some through views; each keeps what was written to it."""
    source = random.Random(seed)
    pool = memory.Pool(kept=1 << 22)
    live: list[tuple[np.ndarray, int]] = []
    seen: set[int] = set()
    reused = 0
    for stamp in range(300):
        if live and source.random() < 0.5:
            live.pop(source.randrange(len(live)))
        count = memory.SMALL + source.choice((0, 0, 1, 63, 5000, 40_000))
        array = memory.empty(count, np.dtype(np.uint8), pool)
        assert all(
            spans(array).stop <= spans(a).start or spans(a).stop <= spans(array).start for a, _ in live
        )
        reused += address(array) in seen
        seen.add(address(array))
        array[:] = stamp % 251
        view = array[source.randrange(1000) :: source.choice((1, 2, 7))]
        live.append((source.choice((array, view, view.reshape(1, -1)[0])), stamp % 251))
        del array, view
        assert all((a == value).all() for a, value in live[-3:])
    assert all((a == value).all() for a, value in live)
    assert reused > 30, "blocks are used again"


@pytest.mark.thorough
def test_results_stay_what_they_were_while_programs_go_on() -> None:
    x = np.arange(memory.SMALL, dtype=np.float32)
    program = compile(lambda x, k: (x + k, (x * k)[1:]), x, np.float32(0))
    kept = []
    for k in range(12):
        added, scaled = program(x, np.float32(k))
        if k % 3 == 0:
            kept.append((k, added))
        elif k % 3 == 1:
            kept.append((-k, scaled[5:100]))
        del added, scaled
        gc.collect()
    for k, result in kept:
        wanted = x + np.float32(k) if k >= 0 else (x * np.float32(-k))[1:][5:100]
        np.testing.assert_array_equal(result, wanted)


def test_blocks_of_one_size_class_serve_each_other_and_no_larger_one() -> None:
    pool = memory.Pool()
    block = pool.take(1 << 17)
    pool.give(block)
    assert pool.take((1 << 17) + 1) is not block
    assert pool.take((1 << 17) - 1) is block
    for size in (1, 2, 3, 5, 9, memory.SMALL, memory.SMALL + 1, 100_003, (1 << 20) - 1, 1 << 20):
        fresh = memory.Pool().take(size)
        assert size + memory.ALIGNMENT <= fresh.nbytes <= size * 5 // 4 + 8 + memory.ALIGNMENT


def test_the_pool_keeps_no_more_than_it_may() -> None:
    pool = memory.Pool(kept=3 * memory.SMALL)
    blocks = [memory.empty(memory.SMALL, np.dtype(np.uint8), pool) for _ in range(6)]
    del blocks
    gc.collect()
    assert sum(b.nbytes for found in pool.free.values() for b in found) <= 3 * (
        memory.SMALL + memory.ALIGNMENT
    )


def test_small_arrays_are_plain_numpy() -> None:
    pool = memory.Pool()
    assert memory.empty(3, np.dtype(np.int8), pool).flags.owndata
    assert pool.free == {}


def resident(array: np.ndarray) -> int:
    """How many bytes of an array's memory are there, by what the system says of this process."""
    first, last = address(array) // 4096, -(-(address(array) + array.nbytes) // 4096)
    with Path("/proc/self/pagemap").open("rb") as pages:
        pages.seek(first * 8)
        entries = np.frombuffer(pages.read((last - first) * 8), np.uint64)
    return int((entries >> np.uint64(63)).sum()) * 4096


@pytest.mark.skipif(
    not Path("/proc/self/pagemap").exists(), reason="this system does not show what is resident"
)
def test_large_blocks_are_there_before_they_are_used() -> None:
    pool = memory.Pool()
    block = memory.empty(3 * memory.HUGE + 5, np.dtype(np.uint8), pool)
    assert address(block) % memory.ALIGNMENT == 0
    assert resident(block) >= 3 * memory.HUGE
    block[:] = 7
    del block
    gc.collect()
    assert sum(len(free) for free in pool.free.values()) == 1


def test_large_blocks_are_had_without_the_systems_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(22, "Invalid argument")

    class Refusing(memory.mmap.mmap):
        madvise = refuse  # type: ignore[assignment]

    for name, value in (("mmap", Refusing), ("MADV_HUGEPAGE", None)):
        monkeypatch.setattr(memory.mmap, name, value)
        block = memory.empty(2 * memory.HUGE, np.dtype(np.float32), memory.Pool())
        block[:] = 7.0
        assert block.sum() == 7.0 * block.size


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_has_large_blocks_of_its_own() -> None:
    code = """
import os, numpy as np
from soundline.impl.runtime import memory
block = memory.empty(2 * memory.HUGE, np.dtype(np.uint8))
block[:] = 1
if os.fork() == 0:
    block[:] = 2
    os._exit(0)
os.wait()
print(set(block[::4096].tolist()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{1}"
