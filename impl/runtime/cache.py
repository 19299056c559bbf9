"""
Compile cache
=============

A library is stored under the hash of everything that decides what it does: the source, the flags, the compiler and the
machine. An entry appears by one atomic rename, so that processes may build the same program at once; each entry carries
a checksum, so that a damaged one is found and built again. A folder that cannot be written is replaced, with one
warning, by a private temporary one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import platformdirs

from soundline.impl.runtime.toolchain import Compiler, machine

VARIABLE = "SOUNDLINE_CACHE_DIR"


def cache_folder() -> Path:
    """The folder of the cache: ``$SOUNDLINE_CACHE_DIR``, or the platform's folder for caches of this user."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("soundline", appauthor=False))


def key_of(source: str, compiler: Compiler) -> str:
    """The hash that names the library of a source."""
    parts = (source, *compiler.command, compiler.version, *compiler.flags, machine())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def library_for(source: str, compiler: Compiler) -> Path:
    """The shared library of a C source, built now or taken from the cache."""
    folder = _usable(cache_folder())
    library = folder / f"{key_of(source, compiler)}.so"
    if not _intact(library):
        _build(source, compiler, library)
    return library


def _usable(folder: Path) -> Path:
    """`folder`, or a private temporary one where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return _replacement(str(folder), str(error))


@functools.cache
def _replacement(folder: str, reason: str) -> Path:
    """A temporary folder for this process, made and announced once."""
    warnings.warn(
        f"the compile cache {folder} cannot be used ({reason}); compiling into a temporary folder. "
        f"Set {VARIABLE} to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )
    made = tempfile.mkdtemp(prefix="soundline-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


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
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as scratch:
        text, built, checksum = (
            Path(scratch) / name for name in ("program.c", "program.so", "program.sha256")
        )
        text.write_text(source, encoding="utf-8")
        compiler.build(text, built)
        checksum.write_text(hashlib.sha256(built.read_bytes()).hexdigest(), encoding="ascii")
        text.replace(library.with_suffix(".c"))
        built.replace(library)
        checksum.replace(_checksum_file(library))


def clear() -> int:
    """Remove every entry of the cache; the number of files removed."""
    removed = 0
    for entry in cache_folder().glob("*.*"):
        if entry.suffix in (".so", ".c", ".sha256"):
            with contextlib.suppress(OSError):
                entry.unlink()
                removed += 1
    return removed
