"""
By peer
=======

How each peer runs a function of arrays: what is converted and compiled before, and what the measured call does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rows.row import BEAM, EXACT, FAST, Arrays, Builder, Call


def by_numpy(f: Callable[..., Any]) -> Builder:
    """The function as it is."""
    return lambda arrays: lambda: f(*arrays)


def by_torch(f: Callable[..., Any]) -> Builder:
    """Eager torch; the function gets `torch` first."""

    def build(arrays: Arrays) -> Call:
        import torch

        tensors = [torch.from_numpy(a) for a in arrays]

        def call() -> Any:
            with torch.no_grad():
                return f(torch, *tensors)

        return call

    return build


def by_torch_out(f: Callable[..., Any]) -> Builder:
    """Eager torch into a tensor that is there; the function gets `torch`, that tensor and the arguments."""

    def build(arrays: Arrays) -> Call:
        import torch

        tensors = [torch.from_numpy(a) for a in arrays]
        with torch.no_grad():
            out = torch.empty(0)
            first = f(torch, out, *tensors)
            kept = torch.empty_like(first)

        def call() -> Any:
            with torch.no_grad():
                return f(torch, kept, *tensors)

        return call

    return build


def by_torch_compiled(f: Callable[..., Any]) -> Builder:
    """``torch.compile`` of the function."""

    def build(arrays: Arrays) -> Call:
        import torch

        tensors = [torch.from_numpy(a) for a in arrays]
        compiled = torch.compile(lambda *given: f(torch, *given))

        def call() -> Any:
            with torch.no_grad():
                return compiled(*tensors)

        return call

    return build


def by_onednn_product(arrays: Arrays) -> Call:
    """A product with a weight that oneDNN has reordered before."""
    import torch

    a, b = (torch.from_numpy(x) for x in arrays)
    reorder, product = (getattr(torch.ops.mkldnn, n) for n in ("_reorder_linear_weight", "_linear_pointwise"))
    weight = reorder(b.t().contiguous(), a.shape[0])
    return lambda: product(a, weight, None, "none", [], "")


def by_jax(f: Callable[..., Any]) -> Builder:
    """``jax.jit`` of the function, which gets ``jax`` first."""

    def build(arrays: Arrays) -> Call:
        import jax

        placed = [jax.device_put(a) for a in arrays]
        compiled = jax.jit(lambda *given: f(jax, *given))
        return lambda: jax.block_until_ready(compiled(*placed))

    return build


def by_tinygrad(f: Callable[..., Any]) -> Builder:
    """``TinyJit`` of the function, which gets ``Tensor`` first."""

    def build(arrays: Arrays) -> Call:
        from tinygrad import Device, Tensor, TinyJit

        tensors = [Tensor(a).realize() for a in arrays]

        def realized(*given: Any) -> Any:
            results = f(Tensor, *given)
            return [r.realize() for r in results] if isinstance(results, tuple) else results.realize()

        compiled = TinyJit(realized)

        def call() -> Any:
            result = compiled(*tensors)
            Device[Device.DEFAULT].synchronize()
            return result

        return call

    return build


def by_soundline(f: Callable[..., Any], profile: str) -> Builder:
    """A program of the function, compiled before."""

    def build(arrays: Arrays) -> Call:
        import soundline as sl

        program = sl.compile(f, *arrays, profile=profile)
        return lambda: program(*arrays)

    return build


def all_of(
    ours: Callable[..., Any],
    numpy: Callable[..., Any] | None = None,
    torch: Callable[..., Any] | None = None,
    torch_out: Callable[..., Any] | None = None,
    jax: Callable[..., Any] | None = None,
    tinygrad: Callable[..., Any] | None = None,
) -> dict[str, Builder]:
    """The candidates of functions that say the same to each peer."""
    found: dict[str, Builder] = {}
    if numpy is not None:
        found["numpy"] = by_numpy(numpy)
    if torch is not None:
        found["torch"] = by_torch(torch)
        found["torch.compile"] = by_torch_compiled(torch)
    if torch_out is not None:
        found["torch out="] = by_torch_out(torch_out)
    if jax is not None:
        found["jax"] = by_jax(jax)
    if tinygrad is not None:
        found["tinygrad"] = found[BEAM] = by_tinygrad(tinygrad)
    return found | {EXACT: by_soundline(ours, "exact"), FAST: by_soundline(ours, "fast")}
