"""
nvcc
====

The compiler of the CUDA toolkit. It compiles kernels and the code that launches them to an object for the linker, which
is needed where a generated file is linked with handwritten ones; and kernels alone, where NVRTC is not installed.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.cuda_compiler.messages import messages, refusal
from soundline.impl.runtime.cuda_compiler.nvrtc import TIMES, TOOLKIT, TOOLKITS, VIRTUAL, Output
from soundline.spec.errors import ToolchainError

WHERE: Final = "nvcc"
_INSTALL: Final = "install the CUDA toolkit, and have its nvcc on PATH or its folder in CUDA_HOME"
FLAGS: Final = ("-std=c++17", "--fmad=false", "-Xptxas", "-v", "-diag-suppress", "177")


def find_nvcc() -> str | None:
    """The command, from PATH or from the toolkit that ``$CUDA_HOME`` names; None where there is none."""
    if (found := shutil.which("nvcc")) is not None:
        return found
    folders = [Path(os.environ[v]) for v in TOOLKITS if os.environ.get(v)]
    return next((str(p) for f in (*folders, TOOLKIT) if (p := f / "bin" / "nvcc").is_file()), None)


@dataclass(frozen=True, slots=True)
class Nvcc:
    """The command, which compiles kernels as NVRTC does."""

    command: str

    @property
    def version(self) -> str:
        """What it says that it is."""
        return _version(self.command)

    def compile(self, name: str, text: str, headers: Mapping[str, str], options: Sequence[str]) -> Output:
        """Compile the kernels of one file; headers are found by their names."""
        virtual = any(o.startswith(VIRTUAL) for o in options)
        with tempfile.TemporaryDirectory(prefix="soundline-") as scratch:
            for file, content in {**headers, name: text}.items():
                Path(scratch, file).write_text(content, encoding="utf-8")
            made, ptx = Path(scratch, "made"), Path(scratch, name).with_suffix(".ptx")
            kind = ("-ptx",) if virtual else ("-cubin", "--keep")
            call = (self.command, *kind, *options, "-I", ".", "-o", made.name, name)
            done = _run(call, scratch)
            log = TIMES.sub("", done.stderr.replace(f"{scratch}/", ""))
            if done.returncode != 0 or not made.is_file():
                return Output(b"", "", log or done.stdout, succeeded=False)
            shown = (made if virtual else ptx).read_text(encoding="utf-8").replace(f"{scratch}/", "")
            return Output(b"" if virtual else made.read_bytes(), shown, log, succeeded=True)


def object_of(source: CudaSource, target: Path) -> str:
    """Compile kernels and launch code of a source to an object file; what the compiler said is returned.

    Raises `ToolchainError` where nvcc is missing, and `GeneratedCodeError` where it refuses the text.
    """
    command = find_nvcc()
    if command is None:
        raise ToolchainError(
            "nvcc, which compiles code that launches kernels, is not found", where=WHERE, hint=_INSTALL
        )
    with tempfile.TemporaryDirectory(prefix="soundline-") as scratch:
        source.write(scratch)
        number = source.arch.removeprefix("sm_")
        arch = ("-gencode", f"arch=compute_{number},code=sm_{number}")
        call = (command, "-c", *FLAGS, *arch, "-I", ".", "-o", str(target.absolute()), f"{source.name}.cu")
        done = _run(call, scratch)
    if done.returncode == 0:
        return done.stderr
    said = messages(done.stderr, source)
    texts = ("", *source.files, *source.headers)  # the assembler names none
    if any(m.severity == "error" and m.file in texts for m in said):
        raise refusal(said, done.stderr, source)
    raise ToolchainError(
        f"exit status {done.returncode} from: {shlex.join(call)}\n{(done.stderr or done.stdout).strip()}",
        command=call,
        stderr=done.stderr,
        where=WHERE,
    )


def _run(call: tuple[str, ...], folder: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(call, capture_output=True, text=True, errors="replace", check=False, cwd=folder)
    except OSError as error:
        raise ToolchainError(
            f"cannot be started: {error}", command=call, where=WHERE, hint=_INSTALL
        ) from error


@functools.cache
def _version(command: str) -> str:
    return " ".join(_run((command, "--version"), ".").stdout.split())
