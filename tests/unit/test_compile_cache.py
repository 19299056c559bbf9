"""The compile cache among real processes: full disks, damage, builders that are killed, bad compilers."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from soundline.impl import toolchain
from soundline.impl.program.compile import compile  # noqa: A004
from soundline.impl.runtime import cache, cpu
from soundline.impl.runtime.host import host
from soundline.spec.errors import NoSpaceError, ToolchainError

SOURCE = """#include <stdint.h>
const uint32_t soundline_commands[] = {1, 1};
void soundline_run(void **slot, uint32_t command, uint32_t core, uint32_t cores) { *(int *)slot[0] += 1; }
"""


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    host()  # from the cache of all tests
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    return folder


def counted(library: cpu.Library) -> int:
    cell = np.array([41], np.int32)
    library.run([cell])
    return int(cell[0])


def script(folder: Path, body: str) -> str:
    """An executable that stands for a compiler."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def whole(folder: Path) -> bool:
    """Whether every entry that looks finished is."""
    checked = [f.with_suffix(".so") for f in folder.glob("*.sha256")]
    return all(cache._intact(library) for library in checked)


# Full disks -------------------------------------------------------------------------------------------------------

USE = """
import json, sys, warnings
import numpy as np
import soundline as sl
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    x = np.arange(6, dtype=np.float32)
    programs = [sl.compile(lambda a, k=k: a * k + 1, x) for k in (2, 3, 4)]
    right = all((p(x) == x * k + 1).all() for p, k in zip(programs, (2, 3, 4)))
print(json.dumps([right, [str(w.message) for w in seen if w.category is RuntimeWarning]]))
"""


def mounting(options: str) -> tuple[str, ...]:
    """The command before one that has a file system of its own at ``$SOUNDLINE_CACHE_DIR``."""
    text = f'mount -t tmpfs -o {options} none "${cache.VARIABLE}" && exec "$@"'
    return ("unshare", "--map-root-user", "--mount", "sh", "-c", text, "sh")


def can_mount(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            (*mounting("size=4k"), "true"),
            env={**os.environ, cache.VARIABLE: str(folder)},
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        *(("size=4k", False), ("size=16k", False), ("size=40k", False), ("size=64k", False)),
        *(("size=1m,nr_inodes=1", False), ("size=1m,nr_inodes=3", False), ("size=1m,nr_inodes=5", False)),
        *(("size=1m,ro", False), ("size=16m,noexec", False), ("size=16m", True)),
    ],
)
def test_a_file_system_that_is_full_costs_one_warning(fresh_cache: Path, options: str, fits: bool) -> None:
    if not can_mount(fresh_cache):
        pytest.skip("this system lets no user mount a file system; the next test makes writes fail by hand")
    done = subprocess.run(
        (*mounting(options), sys.executable, "-c", USE), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    right, seen = json.loads(done.stdout)
    assert right
    assert len(seen) == (0 if fits else 1), seen
    assert all(cache.VARIABLE in message for message in seen)


def failing_at(n: int, monkeypatch: pytest.MonkeyPatch, folder: Path, code: int) -> Callable[[], int]:
    """Let the n-th step that writes in the folder fail; what is returned tells how many there were."""
    steps = 0

    def wrapped(original: Callable[..., object], within: Callable[..., str]) -> Callable[..., object]:
        def step(*arguments: object, **options: object) -> object:
            nonlocal steps
            if within(*arguments, **options).startswith(str(folder)):
                steps += 1
                if steps == n:
                    raise OSError(code, os.strerror(code))
            return original(*arguments, **options)

        return step

    for name in ("write_text", "replace", "mkdir"):
        monkeypatch.setattr(Path, name, wrapped(getattr(Path, name), lambda path, *_, **__: str(path)))
    original = tempfile.mkdtemp
    monkeypatch.setattr(
        tempfile,
        "mkdtemp",
        wrapped(original, lambda suffix=None, prefix=None, dir=None: str(dir)),  # noqa: A006
    )
    return lambda: steps


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_whichever_write_fails_the_program_is_built(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    failed = 0
    for n in range(1, 20):
        text = f"/* {n} */{SOURCE}"
        with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            patched.setattr(cache, "_SPARE", {})
            steps = failing_at(n, patched, fresh_cache, code)
            assert counted(cpu.build(text)) == 42
            reached = steps() >= n
            assert len([w for w in seen if cache.VARIABLE in str(w.message)]) == reached
            assert whole(fresh_cache)
            again = cpu.build(text)
            assert counted(again) == 42
        failed += reached
        if not reached:
            break
    assert failed >= 6, "a folder, a scratch folder, two texts and three renames"
    assert not list(fresh_cache.glob("build-*"))


FULL = (
    'case "$*" in *--version*) echo full 1.0;; {what}) echo "ld: final link failed: {text}" >&2; exit 1;; '
    '*) exec {real} "$@";; esac'
)


def test_a_compiler_on_a_full_disk_is_told_from_one_that_fails(
    fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = toolchain.find_compiler().command[0]
    body = FULL.format(what=f"*{fresh_cache}*", text=os.strerror(errno.ENOSPC), real=real)
    monkeypatch.setenv("CC", script(tmp_path, body))
    monkeypatch.setattr(cache, "_SPARE", {})
    with pytest.warns(RuntimeWarning, match=os.strerror(errno.ENOSPC)):
        assert counted(cpu.build(SOURCE)) == 42
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ToolchainError):
            cpu.build("no C\n")


def nowhere(*_: object, **__: object) -> str:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_everywhere_is_a_toolchain_error(
    fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = FULL.format(what="*", text=os.strerror(errno.ENOSPC), real="false")
    monkeypatch.setenv("CC", script(tmp_path, body))
    monkeypatch.setattr(cache, "_SPARE", {})
    with pytest.warns(RuntimeWarning), pytest.raises(NoSpaceError) as caught:
        cpu.build(SOURCE)
    assert os.strerror(errno.ENOSPC) in caught.value.stderr
    monkeypatch.setattr(cache, "_SPARE", {})
    monkeypatch.setattr(tempfile, "mkdtemp", nowhere)
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(OSError, match="no directory for compiled libraries") as without,
    ):
        cpu.build(SOURCE)
    monkeypatch.setattr(cache, "_SPARE", {cache.cache_folder(): tmp_path / "spare"})
    monkeypatch.setattr(cache, "_build", nowhere)
    with pytest.raises(OSError, match="cannot be written") as unwritten:
        cpu.build(f"/* another */{SOURCE}")
    for error in (caught.value, without.value, unwritten.value):
        assert isinstance(error, NoSpaceError)
        assert isinstance(error, ToolchainError)
        assert error.errno == errno.ENOSPC
        assert error.hint is not None
        assert cache.VARIABLE in error.hint


def test_what_is_in_a_folder_that_cannot_be_written_is_used(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = cache.library_for(SOURCE, toolchain.find_compiler())
    monkeypatch.setattr(cache, "_build", lambda *_: pytest.fail("built again"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.library_for(SOURCE, toolchain.find_compiler()) == library


# Several processes ------------------------------------------------------------------------------------------------

WORK = """
import json, sys, warnings
import numpy as np
from soundline.impl.runtime import cpu
warnings.simplefilter("error")
source, right = sys.argv[1], []
for k in range(int(sys.argv[2])):
    cell = np.array([41], np.int32)
    cpu.build(f"/* {k % 2} */{source}").run([cell])
    right.append(int(cell[0]) == 42)
print(json.dumps(right))
"""


def worker(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORK, SOURCE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def spoil(entry: Path, how: int) -> None:
    """Damage an entry as a crash or a copy that was cut off leaves it."""
    content = entry.read_bytes()
    if how % 3 == 0:
        entry.unlink()
    else:
        spoiled = entry.with_name("spoiled")
        spoiled.write_bytes(content[: len(content) // 2] if how % 3 == 1 else b"\0" * len(content))
        spoiled.replace(entry)


@pytest.mark.thorough
def test_processes_on_one_key_stand_damaged_entries_and_removal(fresh_cache: Path) -> None:
    """Processes build and load the same programs from a damaged cache; while they do, entries are removed."""
    removed = 0
    for wave in range(3):
        for number, entry in enumerate(sorted(fresh_cache.glob("*.*"))):
            if entry.suffix in (".so", ".sha256"):
                spoil(entry, wave + number)
        workers = [worker("12") for _ in range(3)]
        while any(w.poll() is None for w in workers):
            time.sleep(0.05)
            for entry in fresh_cache.glob("*.so"):
                entry.unlink(missing_ok=True)
                removed += 1
        for w in workers:
            out, err = w.communicate()
            assert w.returncode == 0, err
            assert json.loads(out) == [True] * 12
    assert removed > 5
    assert counted(cpu.build(f"/* 0 */{SOURCE}")) == 42
    assert cache._intact(cache.library_for(f"/* 0 */{SOURCE}", toolchain.find_compiler()))


def test_a_builder_that_is_killed_leaves_nothing_that_is_taken(
    fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = toolchain.find_compiler().command[0]
    body = (
        f'case "$*" in *--version*) echo slow 1.0;; *) {real} "$@"; touch {tmp_path}/built; sleep 60;; esac'
    )
    slow = script(tmp_path, body)
    killed = subprocess.Popen(
        [sys.executable, "-c", WORK, SOURCE, "1"],
        env={**os.environ, "CC": slow},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (tmp_path / "built").exists():
        assert killed.poll() is None
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    left = set(fresh_cache.glob("build-*"))  # the program's, and the host's that is built beside it
    assert any((scratch / "program.so").exists() for scratch in left), (
        "killed between the compiler and the cache"
    )
    monkeypatch.setenv("CC", script(tmp_path, body.replace("sleep 60", "true")))
    assert counted(cpu.build(f"/* 0 */{SOURCE}")) == 42
    assert cache.clear() == 3
    assert all(scratch.is_dir() for scratch in left), "they may belong to a process that is alive"
    for scratch in left:
        os.utime(scratch, (0, 0))
    cache.clear()
    assert not left & set(fresh_cache.iterdir())


def test_an_entry_that_vanishes_before_it_is_loaded_is_built_again(fresh_cache: Path) -> None:
    paths: list[Path] = []

    def load(path: Path) -> cpu.Library:
        paths.append(path)
        if len(paths) == 1:
            shutil.rmtree(fresh_cache)
        return cpu.Library(path)

    assert counted(cache.loaded(SOURCE, toolchain.find_compiler(), load)) == 42
    assert len(paths) == 2


def test_the_temporary_folder_goes_with_its_process_and_not_with_a_child(tmp_path: Path) -> None:
    code = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
from soundline.impl.runtime import cache, cpu
cpu.build({SOURCE!r})
(spare,) = cache._SPARE.values()
if os.fork() == 0:
    sys.exit(0)  # which runs what is registered for the exit
os.wait()
print(spare, spare.is_dir())
"""
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, cache.VARIABLE: str(tmp_path / "file" / "below")},
        capture_output=True,
        text=True,
        check=True,
    )
    spare, existed = done.stdout.split()
    assert existed == "True"
    assert not Path(spare).exists()


# Compilers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo sorry, no licence >&2; exit 3", "sorry, no licence"),
        ("kill -9 $$", "exit status -9"),
        (r"printf '\377\376 not text' >&2; exit 1", "not text"),
        ("exit 0", "wrote no output"),
        (': > "$(echo "$@" | sed "s/.*-o \\([^ ]*\\).*/\\1/")"', "cannot be loaded"),
    ],
    ids=["fails", "killed", "no text", "writes nothing", "writes an empty file"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_compiler_that_fails_is_a_toolchain_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, says: str
) -> None:
    named = script(tmp_path, f'case "$*" in *--version*) echo mine 1.0;; *) {body};; esac')
    monkeypatch.setenv("CC", f"{named} --mine")
    monkeypatch.setattr(cache, "_SPARE", {})
    number = len(body)  # a program that no other test has compiled
    with pytest.raises(ToolchainError) as caught:
        compile(lambda x: x * 3 + number, np.ones(3, np.float32))
    assert says in caught.value.message
    if "loaded" not in says:
        assert caught.value.command[:2] == (named, "--mine")
        assert caught.value.hint is not None
    monkeypatch.delenv("CC")
    program = compile(lambda x: x * 3 + number, np.ones(3, np.float32))
    assert program(np.ones(3, np.float32)).tolist() == [3 + number] * 3, "the failure is not kept"
