"""
Compiling kernels
=================

The kernels of a generated source become machine code for its architecture. Arithmetic stays as it is written: no
product is merged with a sum. What was compiled once is taken from the compile cache, which knows it by its text, its
options and the version of the compiler.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from soundline.impl.codegen.cuda.source import CudaSource, header_text
from soundline.impl.logs import logger
from soundline.impl.runtime import cache
from soundline.impl.runtime.cuda_compiler.messages import Message, Usage, messages, refusal, usages
from soundline.impl.runtime.cuda_compiler.nvcc import Nvcc, find_nvcc
from soundline.impl.runtime.cuda_compiler.nvrtc import VIRTUAL, WHERE, KernelCompiler, library_file, nvrtc
from soundline.spec.errors import ToolchainError

_LOG = logger("runtime")
OPTIONS: Final = (
    "--fmad=false",  # the law rounds after each operation
    "-std=c++17",
    "--ptxas-options=-v",  # registers and spills of each kernel
    "--generate-line-info",  # what the assembler says of PTX is about a line of the text
    "--diag-suppress=177",  # a program need not use every name that it gives
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code, and what the compiler says of it."""

    name: str
    arch: str
    cubin: bytes
    ptx: str
    kernels: Mapping[str, Usage]
    """What each kernel takes, by its name."""
    log: str
    warnings: tuple[Message, ...]
    """What the compiler noticed, as that it has serialized products of ``wgmma`` or ignored ``setmaxnreg``."""

    @property
    def spills(self) -> dict[str, Usage]:
        """The kernels whose registers do not suffice."""
        return {name: use for name, use in self.kernels.items() if use.spill_stores or use.spill_loads}


def kernel_compiler() -> KernelCompiler:
    """NVRTC, or where that is not installed nvcc. Raises `ToolchainError` where neither is."""
    command = find_nvcc() if library_file() is None else None
    return nvrtc() if command is None else Nvcc(command)


def compiled(
    source: CudaSource, options: tuple[str, ...] = (), compiler: KernelCompiler | None = None
) -> Compiled:
    """Compile the kernels of a source, or take them from the cache.

    Raises `ToolchainError` where there is no compiler, and `GeneratedCodeError` where it refuses the text.
    """
    used = kernel_compiler() if compiler is None else compiler
    given = (f"-arch={source.arch}", *OPTIONS, *options)
    headers = {**{name: header_text(name) for name in source.headers}, **source.files}
    parts = (
        used.version,
        *given,
        *(t for pair in sorted(headers.items()) for t in pair),
        source.name,
    )
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    made = json.loads(cache.result_of(key, lambda: _made(source, used, headers, given)))
    return Compiled(
        name=source.name,
        arch=source.arch,
        cubin=base64.b64decode(made["cubin"]),
        ptx=made["ptx"],
        kernels=usages(made["log"]),
        log=made["log"],
        warnings=tuple(m for m in messages(made["log"], source, made["ptx"]) if m.severity == "warning"),
    )


def _made(
    source: CudaSource, used: KernelCompiler, headers: Mapping[str, str], options: tuple[str, ...]
) -> bytes:
    file = f"{source.name}.cu"
    output = used.compile(file, source.files[file], headers, options)
    if not output.succeeded:
        # The assembler names lines of PTX, which the compiler gives out where it does not assemble.
        virtual = tuple(o.replace("-arch=sm_", VIRTUAL) for o in options)
        ptx = used.compile(file, source.files[file], headers, virtual).ptx if "ptxas" in output.log else ""
        said = messages(output.log, source, ptx)
        if all(m.severity != "error" for m in said):
            raise ToolchainError(
                f"{file} is not compiled: {output.log.strip()}", stderr=output.log, where=WHERE
            )
        raise refusal(said, output.log, source)
    _LOG.info("compiled %s for %s: %d bytes", source.name, source.arch, len(output.cubin))
    made = {"cubin": base64.b64encode(output.cubin).decode(), "ptx": output.ptx, "log": output.log}
    return json.dumps(made).encode()
