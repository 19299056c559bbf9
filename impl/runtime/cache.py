"""
Compile cache
=============

A library is stored under the hash of everything that decides what it does: the source, the flags, the compiler and the
machine. An entry appears by one atomic rename, so that processes may build the same program at once; each entry carries
a checksum, so that a damaged one is found and built again. A folder that cannot be written, that is full, or from which
nothing can be loaded is replaced, with one warning, by a private temporary one.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import platformdirs

from soundline.impl.logs import logger
from soundline.impl.toolchain import Compiler, machine
from soundline.spec.errors import NoSpaceError, ToolchainError

VARIABLE = "SOUNDLINE_CACHE_DIR"
_LOG = logger("runtime")
_LITTLE = 1 << 16
"""With fewer free bytes than this, a compiler may have failed because the disk is full."""
_SCRATCH = "build-"
PEAKS = "peaks-"
"""How the files begin that hold the measured peaks of the machine."""
_ABANDONED = 3600
"""Seconds after which nobody builds in a scratch folder any more."""
_ROOM = f"make room, or set {VARIABLE} and TMPDIR to folders that have some"
_ATTEMPTS = 8
"""If an entry vanishes this often before it is loaded, that is an error."""
_BELIEVED = 3
"""The number of attempts to load a whole entry before the folder is considered unusable."""
RESULT = ".result"
"""How the files end that hold what was computed once: `result_of`."""
_KEPT = (".so", ".c", ".sha256", ".schedule", ".lock", RESULT)
"""The endings of the files of entries: libraries, results, and what searches have found."""
_Loaded = TypeVar("_Loaded")


def cache_folder() -> Path:
    """The folder of the cache: ``$SOUNDLINE_CACHE_DIR``, or the platform's folder for caches of this user."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("soundline", appauthor=False))


def key_of(source: str, compiler: Compiler) -> str:
    """The hash that names the library of a source."""
    parts = (source, *compiler.command, compiler.version, *compiler.flags, machine())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def library_for(source: str, compiler: Compiler) -> Path:
    """The shared library of a C source, built now or taken from the cache. Where the folder of the cache cannot be
    written or is full, it is built in a temporary folder.
    """
    folder = cache_folder()
    kept = folder / f"{key_of(source, compiler)}.so"
    if _intact(kept):
        _LOG.debug("%s is in the compile cache", kept.name)
        return kept
    _LOG.debug("%s is not in the compile cache", kept.name)
    spare = _SPARE.get(folder)
    if spare is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _build(source, compiler, kept)
            return kept
        except (OSError, _NoRoom) as error:
            spare = _spare_for(folder, str(error))
    return _in_spare(spare, source, compiler)


def loaded(source: str, compiler: Compiler, load: Callable[[Path], _Loaded]) -> _Loaded:
    """What `load` makes of the library of a source. An entry that has vanished by then is built again; where one
    that is whole cannot be loaded, as from a file system that executes nothing, a temporary folder is tried.
    """
    folder = cache_folder()
    library = library_for(source, compiler)
    though_whole = 0
    for _ in range(_ATTEMPTS):
        try:
            return load(library)
        except ToolchainError as failure:
            though_whole += _intact(library)  # or whole again, because another process has built it since
            if though_whole < _BELIEVED:
                library = library_for(source, compiler)
            elif library.parent == folder:
                library = _in_spare(_spare_for(folder, failure.message), source, compiler)
            else:
                raise
    return load(library)


def result_of(key: str, make: Callable[[], bytes]) -> bytes:
    """The bytes that stand under a key: made now, or taken from the cache. They are only kept where that is possible:
    where nothing can be written they are made anew, and nothing else is lost.
    """
    folder = _SPARE.get(cache_folder(), cache_folder())
    kept = folder / f"{key}{RESULT}"
    if _intact(kept):
        with contextlib.suppress(OSError):
            return kept.read_bytes()
    made = make()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch:
            written, checksum = Path(scratch) / "result", Path(scratch) / "sha256"
            written.write_bytes(made)
            checksum.write_text(hashlib.sha256(made).hexdigest(), encoding="ascii")
            written.replace(kept)
            checksum.replace(_checksum_file(kept))
    return made


class _NoRoom(Exception):
    """The compiler failed on a full disk."""

    def __init__(self, failure: ToolchainError) -> None:
        super().__init__(os.strerror(errno.ENOSPC))
        self.failure = failure


def _is_full(folder: Path, failure: ToolchainError) -> bool:
    """Whether a compiler failed because the disk is full, and not because of its input."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(folder).free < _LITTLE:
            return True
    return any(os.strerror(code) in failure.stderr for code in (errno.ENOSPC, errno.EDQUOT))


_SPARE: dict[Path, Path] = {}
"""The temporary folders that stand for folders which cannot be used, in this process."""
_LOCK = threading.Lock()


def _spare_for(folder: Path, reason: str) -> Path:
    """The temporary folder that replaces another from now on, made and announced once."""
    with _LOCK:
        if folder in _SPARE:
            return _SPARE[folder]
        warnings.warn(
            f"the compile cache {folder} cannot be used ({reason}); compiling into a temporary folder. "
            f"Set {VARIABLE} to a folder that can be written and has room.",
            RuntimeWarning,
            stacklevel=2,
        )
        try:
            made = _SPARE[folder] = Path(tempfile.mkdtemp(prefix="soundline-"))
        except OSError as error:
            raise NoSpaceError(
                f"there is no directory for compiled libraries: {error}", hint=_ROOM
            ) from error
        atexit.register(_remove, made, os.getpid())
        return made


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a child of it that was forked
        shutil.rmtree(folder, ignore_errors=True)


def _in_spare(folder: Path, source: str, compiler: Compiler) -> Path:
    library = folder / f"{key_of(source, compiler)}.so"
    try:
        if not _intact(library):
            _build(source, compiler, library)
    except OSError as error:
        raise NoSpaceError(f"the library cannot be written: {error}", hint=_ROOM) from error
    except _NoRoom as error:
        failure = error.failure
        raise NoSpaceError(
            f"there is no space for the library in {folder}: {failure.message}",
            command=failure.command,
            stderr=failure.stderr,
            hint=_ROOM,
        ) from None
    return library


def _checksum_file(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _intact(library: Path) -> bool:
    """Whether an entry is there and is what was built."""
    try:
        expected = _checksum_file(library).read_text(encoding="ascii")
        return hashlib.sha256(library.read_bytes()).hexdigest() == expected
    except (OSError, UnicodeDecodeError):
        return False


def _build(source: str, compiler: Compiler, library: Path) -> None:
    """Build beside the entry and rename into place; the checksum comes last, so that an entry with one is whole."""
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=_SCRATCH) as scratch:
        text, built, checksum = (
            Path(scratch) / name for name in ("program.c", "program.so", "program.sha256")
        )
        text.write_text(source, encoding="utf-8")
        try:
            compiler.build(text, built)
        except ToolchainError as failure:
            if _is_full(library.parent, failure):
                raise _NoRoom(failure) from None
            raise
        checksum.write_text(hashlib.sha256(built.read_bytes()).hexdigest(), encoding="ascii")
        text.replace(library.with_suffix(".c"))
        built.replace(library)
        checksum.replace(_checksum_file(library))


def clear() -> int:
    """Remove every entry of the cache, and what killed processes left there; the number of entries' files removed."""
    removed = 0
    for entry in cache_folder().glob("*.*"):
        if entry.suffix in _KEPT or entry.name.startswith(PEAKS):
            with contextlib.suppress(OSError):
                entry.unlink()
                removed += 1
    for left in cache_folder().glob(f"{_SCRATCH}*"):  # of a process that was killed
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left)
    return removed
