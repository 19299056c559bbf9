"""
nvcc
====

The compiler of the CUDA toolkit, which compiles kernels and the code that launches them to an object for the linker.
The toolkit is not needed to run programs: only to link a generated file with handwritten ones.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.impl.runtime.cuda_compiler.messages import messages, refusal
from soundline.impl.runtime.cuda_compiler.nvrtc import TOOLKIT, TOOLKITS
from soundline.spec.errors import ToolchainError

WHERE: Final = "nvcc"
_INSTALL: Final = "install the CUDA toolkit, and have its nvcc on PATH or its folder in CUDA_HOME"
FLAGS: Final = ("-std=c++17", "--fmad=false", "-Xptxas", "-v", "-diag-suppress", "177")


def find_nvcc() -> str | None:
    """The command, from PATH or from the toolkit that ``$CUDA_HOME`` names; None where there is none."""
    if (found := shutil.which("nvcc")) is not None:
        return found
    folders = [os.environ[v] for v in TOOLKITS if os.environ.get(v)]
    return next((str(p) for f in (*folders, TOOLKIT) if (p := Path(f, "bin", "nvcc")).is_file()), None)


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
        call = (
            command,
            "-c",
            *FLAGS,
            *arch,
            "-I",
            scratch,
            "-o",
            str(target),
            str(Path(scratch, f"{source.name}.cu")),
        )
        try:
            done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise ToolchainError(
                f"cannot be started: {error}", command=call, where=WHERE, hint=_INSTALL
            ) from error
        said = messages(done.stderr, source)
        if done.returncode == 0:
            return done.stderr
        texts = ("", *source.files, *source.headers)  # the assembler names none
        if any(m.severity == "error" and m.file in texts for m in said):
            raise refusal(said, done.stderr, source)
        raise ToolchainError(
            f"exit status {done.returncode} from: {shlex.join(call)}\n{(done.stderr or done.stdout).strip()}",
            command=call,
            stderr=done.stderr,
            where=WHERE,
        )
