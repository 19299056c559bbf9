"""What is run on a GPU: the flagship kernels at the sizes of real work, with what torch does in their place."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import torch

from soundline.impl.runtime.cpu_part import DeviceArray
from soundline.impl.spork import SporkProc

FLAGSHIPS = Path(__file__).resolve().parents[1] / "examples" / "spork" / "flagships"

DTYPES = {
    torch.float32: np.dtype(np.float32),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
}


def flagship(module: str, name: str) -> SporkProc:
    """A program of a flagship's file."""
    if str(FLAGSHIPS) not in sys.path:
        sys.path.insert(0, str(FLAGSHIPS))
    found = getattr(importlib.import_module(module), name)
    assert isinstance(found, SporkProc)
    return found


def shared(tensor: Any) -> DeviceArray:
    """The memory of a tensor of torch, for a program to use."""
    assert tensor.is_cuda
    assert tensor.is_contiguous()
    return DeviceArray(tensor.data_ptr(), tuple(tensor.shape), DTYPES[tensor.dtype])


Tensors = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A kernel at one size."""

    name: str
    module: str
    program: str
    sizes: Mapping[str, int]
    make: Callable[[Mapping[str, int], Any], Tensors]
    """The arguments on the device, from a generator of random numbers; what is written is filled with NaN."""
    wanted: Callable[[Mapping[str, int], Tensors], Tensors]
    """What the program should write, in a wider type."""
    peer: Callable[[Mapping[str, int], Tensors], Callable[[], Any]]
    """What is timed beside it, made ready."""
    error: float
    """The greatest ‖found − wanted‖ / ‖wanted‖."""
    goal: float
    """The part of the peer's speed that is asked for."""
    operations: Callable[[Mapping[str, int]], float] | None = None
    """How many operations on floats it does."""
    moved: Callable[[Mapping[str, int]], float] | None = None
    """How many bytes it has to move."""
    contract: bool = False
    """Whether a product and a sum may be rounded once."""
    small: Mapping[str, int] = field(default_factory=dict)
    """Sizes at which values are compared and sanitizers run; those of the row where nothing is said."""

    def proc(self) -> SporkProc:
        """The program."""
        return flagship(self.module, self.program)


# Products ---------------------------------------------------------------------------------------------------------


def _operands(dtype: Any, result: Any, transposed: bool) -> Callable[[Mapping[str, int], Any], Tensors]:
    def make(sizes: Mapping[str, int], random: Any) -> Tensors:
        m, n, k = sizes["M"], sizes["N"], sizes["K"]

        def drawn(*shape: int) -> Any:
            return torch.randn(shape, device="cuda", generator=random).to(dtype)

        return {
            "A": drawn(m, k),
            "B": drawn(n, k) if transposed else drawn(k, n),
            "C": torch.full((m, n), torch.nan, device="cuda", dtype=result),
        }

    return make


def _product(transposed: bool) -> Callable[[Mapping[str, int], Tensors], Tensors]:
    def wanted(_sizes: Mapping[str, int], given: Tensors) -> Tensors:
        a, b = given["A"].double(), given["B"].double()
        return {"C": a @ (b.T if transposed else b)}

    return wanted


def _cublas(
    transposed: bool, tf32: bool = False
) -> Callable[[Mapping[str, int], Tensors], Callable[[], Any]]:
    def peer(_sizes: Mapping[str, int], given: Tensors) -> Callable[[], Any]:
        a, b = given["A"], given["B"].T if transposed else given["B"]
        out = torch.empty((a.shape[0], b.shape[1]), device="cuda", dtype=a.dtype)

        def run() -> Any:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            return torch.mm(a, b, out=out)

        return run

    return peer


def _multiplications(sizes: Mapping[str, int]) -> float:
    return 2.0 * sizes["M"] * sizes["N"] * sizes["K"]


def _product_row(name: str, module: str, program: str, sizes: Mapping[str, int], **how: Any) -> Row:
    dtype, result = how.pop("dtype"), how.pop("result")
    transposed, tf32 = how.pop("transposed"), how.pop("tf32", False)
    return Row(
        name,
        module,
        program,
        sizes,
        _operands(dtype, result, transposed),
        _product(transposed),
        _cublas(transposed, tf32),
        operations=_multiplications,
        **how,
    )


_8192 = {"M": 8192, "N": 8192, "K": 8192}
_BF16 = {"dtype": torch.bfloat16, "result": torch.bfloat16, "transposed": True, "error": 1e-2, "goal": 0.95}
_TF32 = {"dtype": torch.float32, "result": torch.float32, "transposed": True, "tf32": True, "error": 2e-3}

PRODUCTS = (
    _product_row(
        "gemm-bf16-wgmma",
        "gemm_sm90_bf16",
        "gemm",
        {**_8192, "WM": 16, "WN": 8},
        small={"M": 512, "N": 512, "K": 512, "WM": 2, "WN": 2},
        **_BF16,
    ),
    _product_row(
        "gemm-bf16-wgmma-clusters",
        "gemm_sm90_multicast_bf16",
        "gemm",
        {**_8192, "WM": 8, "WN": 8},
        small={"M": 1024, "N": 512, "K": 512, "WM": 2, "WN": 2},
        **_BF16,
    ),
    _product_row(
        "gemm-tf32-wgmma",
        "gemm_sm90_tf32",
        "gemm",
        {**_8192, "WM": 16, "WN": 8},
        small={"M": 512, "N": 512, "K": 256, "WM": 2, "WN": 2},
        goal=0.90,
        **_TF32,
    ),
    _product_row(
        "gemm-tf32-cp.async-mma",
        "gemm_sm80_tf32",
        "even",
        _8192,
        dtype=torch.float32,
        result=torch.float32,
        transposed=False,
        tf32=True,
        error=2e-3,
        goal=0.50,
        small={"M": 512, "N": 512, "K": 128},
    ),
    _product_row(
        "gemm-bf16-cp.async-mma",
        "gemm_sm80_bf16",
        "gemm",
        _8192,
        dtype=torch.bfloat16,
        result=torch.float32,
        transposed=False,
        error=1e-4,
        goal=0.40,
        small={"M": 512, "N": 512, "K": 256},
    ),
    _product_row(
        "gemm-f32-simt",
        "gemm_simt_f32",
        "gemm",
        {"M": 4096, "N": 4096, "K": 4096},
        dtype=torch.float32,
        result=torch.float32,
        transposed=False,
        error=1e-5,
        goal=0.70,
        contract=True,
        small={"M": 512, "N": 512, "K": 128},
    ),
)


# Rows and sums ----------------------------------------------------------------------------------------------------


def _softmax_arguments(sizes: Mapping[str, int], random: Any) -> Tensors:
    shape = sizes["ROWS"], 8192
    x = torch.randn(shape, device="cuda", generator=random)
    return {"x": x, "y": torch.full_like(x, torch.nan)}


def _vector_arguments(outputs: int | None) -> Callable[[Mapping[str, int], Any], Tensors]:
    def make(sizes: Mapping[str, int], random: Any) -> Tensors:
        x = torch.randn(sizes["n"], device="cuda", generator=random)
        return {"x": x, "y": torch.full((outputs or sizes["n"],), torch.nan, device="cuda")}

    return make


def _copied(_sizes: Mapping[str, int], given: Tensors) -> Callable[[], Any]:
    """A copy of the same bytes: what the memory of the device can do in this run."""
    out = torch.empty_like(given["x"])
    return lambda: out.copy_(given["x"])


MEMORY = (
    Row(
        "softmax",
        "softmax",
        "softmax",
        {"ROWS": 32768},
        _softmax_arguments,
        lambda _, given: {"y": given["x"].double().softmax(1)},
        _copied,
        error=1e-5,
        goal=0.90,
        moved=lambda sizes: 8.0 * sizes["ROWS"] * 8192,
        small={"ROWS": 300},
    ),
    Row(
        "sum",
        "reduction",
        "total",
        {"n": 1 << 28},
        _vector_arguments(1),
        lambda _, given: {"y": given["x"].double().sum(0, keepdim=True)},
        lambda _, given: given["x"].sum,
        error=1e-2,  # a sum of numbers that cancel
        goal=0.90,
        moved=lambda sizes: 4.0 * sizes["n"],
        small={"n": 1 << 20},
    ),
    Row(
        "prefix-sum",
        "prefix_sum",
        "prefixes",
        {"n": 1 << 27},
        _vector_arguments(None),
        lambda _, given: {"y": given["x"].double().cumsum(0)},
        lambda _, given: lambda: given["x"].cumsum(0),
        error=1e-4,
        goal=0.70,
        moved=lambda sizes: 8.0 * sizes["n"],
        small={"n": 1 << 20},
    ),
)


# Attention --------------------------------------------------------------------------------------------------------


def _attention_arguments(sizes: Mapping[str, int], random: Any) -> Tensors:
    def drawn(length: int) -> Any:
        shape = sizes["HEADS"] * length, 128
        return torch.randn(shape, device="cuda", generator=random).to(torch.bfloat16)

    q = drawn(sizes["QUERIES"])
    return {
        "Q": q,
        "K": drawn(sizes["KEYS"]),
        "V": drawn(sizes["KEYS"]),
        "Out": torch.full_like(q, torch.nan),
    }


def _heads(sizes: Mapping[str, int], given: Tensors) -> list[Any]:
    return [given[name].reshape(1, sizes["HEADS"], -1, 128) for name in ("Q", "K", "V")]


def _attended(sizes: Mapping[str, int], given: Tensors) -> Tensors:
    q, k, v = (a[0].double() for a in _heads(sizes, given))
    heads = [(a @ b.T / 128**0.5).softmax(1) @ c for a, b, c in zip(q, k, v, strict=True)]
    return {"Out": torch.cat(heads)}


def _fused(sizes: Mapping[str, int], given: Tensors) -> Callable[[], Any]:
    q, k, v = _heads(sizes, given)
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)


ATTENTION = (
    Row(
        "attention-8k-d128",
        "attention",
        "attention",
        {"HEADS": 16, "QUERIES": 8192, "KEYS": 8192},
        _attention_arguments,
        _attended,
        _fused,
        error=1e-2,
        goal=0.70,
        operations=lambda sizes: 4.0 * sizes["HEADS"] * sizes["QUERIES"] * sizes["KEYS"] * 128,
        small={"HEADS": 2, "QUERIES": 256, "KEYS": 512},
    ),
)

ROWS = (*PRODUCTS, *MEMORY, *ATTENTION)
