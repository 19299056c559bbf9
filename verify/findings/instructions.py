"""
Small instructions for testing the machine
==========================================

The timelines, units and completion of the instructions of CUDA, with operands of one or two elements: the machine's
verdict on them depends on nothing else, and the interleavings of a few elements can be enumerated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from soundline.impl.spork import proc_from_text
from soundline.spec.spork.library.memories import (
    DRAM,
    IN_ORDER,
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import InstrTl, UsageTl
from soundline.spec.spork.threads.units import CollUnit, cuda_cluster, cuda_thread, cuda_warp, cuda_warpgroup

TinyRegisters: Final = Memory(
    name="TinyRegisters",
    space="registers",
    native=cuda_warpgroup,
    usage=UsageTl.cuda_sync_rmem,
    allocated=InstrTl.cuda_in_order,
    instructions=IN_ORDER | {InstrTl.wgmma_async},
    scalars=False,
    constant=True,
    warp_rows=1,
)
"""Registers that a warpgroup shares out, as those of an accumulator of wgmma: row n is that of warp n."""

WarpRegisters: Final = Memory(
    name="WarpRegisters",
    space="registers",
    native=cuda_warp,
    usage=UsageTl.cuda_sync_rmem,
    allocated=InstrTl.cuda_in_order,
    instructions=IN_ORDER,
    scalars=False,
    constant=True,
)
"""Registers that a warp shares out, as those of a fragment of mma."""

_S, _G = (CudaSmemLinear,), (CudaGmemLinear,)
_IN = Operand(memories=_G, out_of_order=True)
_ASYNC_S = Operand(memories=_S, out_of_order=True)
_RESULT = Operand(memories=(TinyRegisters,), usage=UsageTl.cuda_async_d_rmem)


def _made(
    name: str,
    header: str,
    body: str,
    unit: CollUnit | None,
    timeline: InstrTl,
    operands: Mapping[str, Operand],
    **trailing: Any,
) -> Instruction:
    """An instruction whose meaning is written as a proc."""
    text = f"def {name}({header}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    meaning = proc_from_text(text)
    return Instruction(
        name=name,
        arguments=meaning.arguments,
        body=meaning.body,
        unit=unit,
        instr_tl=timeline,
        operands=dict(operands),
        **trailing,
    )


def _copy(
    name: str,
    count: int,
    unit: CollUnit | None,
    timeline: InstrTl,
    dst: Operand,
    src: Operand,
    **trailing: Any,
) -> Instruction:
    header = f"dst: [i32][{count}], src: [i32][{count}]"
    body = f"for i in seq(0, {count}):\n    dst[i] = src[i]"
    return _made(name, header, body, unit, timeline, {"dst": dst, "src": src}, **trailing)


_LOAD = {"trailing": BarrierType.CudaMbarrier, "trailing_required": True}
_ATOMIC = Operand(memories=(CudaSmemLinear, CudaGmemLinear), atomic=True)
_ATOMIC_OUT = Operand(memories=_G, out_of_order=True, atomic=True)
_BOTH = Operand(memories=(CudaSmemLinear, CudaGmemLinear))
_EVERYWHERE = Operand(memories=_S, out_of_order=True, unit=cuda_cluster)
_BY_CPU = Operand(memories=_G, usage=UsageTl.cpu)
_ASYNC = InstrTl.wgmma_async

INSTRUCTIONS: Final[Mapping[str, Instruction]] = {
    instruction.name: instruction
    for instruction in (
        *(
            made
            for n in (1, 2)
            for made in (
                _copy(f"cp_async_{n}", n, cuda_thread, InstrTl.Sm80_cp_async, _ASYNC_S, _IN),
                _copy(f"tma_load_{n}", n, cuda_thread, InstrTl.tma_to_smem_async, _ASYNC_S, _IN, **_LOAD),
                _copy(f"tma_store_{n}", n, cuda_thread, InstrTl.tma_to_gmem_async, _IN, _ASYNC_S),
                _copy(f"copy_{n}", n, cuda_thread, InstrTl.cuda_in_order, _BOTH, _BOTH),
            )
        ),
        _copy("tma_load_warp", 1, cuda_warp, InstrTl.tma_to_smem_async, _ASYNC_S, _IN, **_LOAD),
        _made(
            "tma_load_everywhere",
            "dst: [i32][2, 1], src: [i32][1]",
            "for c in seq(0, 2):\n    dst[c, 0] = src[0]",
            cuda_warp,
            InstrTl.tma_to_smem_async,
            {"dst": _EVERYWHERE, "src": _IN},
            **_LOAD,
        ),
        _made(
            "tma_add",
            "dst: [i32][1], src: [i32][1]",
            "dst[0] += src[0]",
            cuda_thread,
            InstrTl.tma_to_gmem_async,
            {"dst": _ATOMIC_OUT, "src": _ASYNC_S},
        ),
        _made(
            "atomic_add",
            "dst: [i32][1], src: [i32][1]",
            "dst[0] += src[0]",
            cuda_thread,
            InstrTl.cuda_in_order,
            {"dst": _ATOMIC, "src": Operand(memories=(CudaGmemLinear, CudaSmemLinear, CudaRmem))},
        ),
        _made(
            "warp_load",
            "dst: [i32][1], src: [i32][1]",
            "dst[0] = src[0]",
            cuda_warp,
            InstrTl.cuda_in_order,
            {"dst": Operand(memories=(WarpRegisters,)), "src": Operand(memories=_S)},
        ),
        _made(
            "warp_store",
            "dst: [i32][1], src: [i32][1]",
            "dst[0] = src[0] + 1",
            cuda_warp,
            InstrTl.cuda_in_order,
            {"dst": _BOTH, "src": Operand(memories=(WarpRegisters,))},
        ),
        _made("wg_zero", "d: [i32][1]", "d[0] = 0", cuda_warpgroup, _ASYNC, {"d": _RESULT}),
        _made(
            "wg_mma",
            "d: [i32][1], a: [i32][1], b: [i32][1]",
            "d[0] += a[0] * b[0]",
            cuda_warpgroup,
            _ASYNC,
            {"d": _RESULT, "a": _ASYNC_S, "b": _ASYNC_S},
        ),
        _made(
            "wg_mma_rows",
            "d: [i32][2], a: [i32][2], b: [i32][1]",
            "for i in seq(0, 2):\n    d[i] += a[i] * b[0]",
            cuda_warpgroup,
            _ASYNC,
            {"d": _RESULT, "a": _ASYNC_S, "b": _ASYNC_S},
        ),
        _made(
            "wg_read_rows",
            "dst: [i32][2], d: [i32][2]",
            "for i in seq(0, 2):\n    dst[i] = d[i]",
            cuda_warpgroup,
            InstrTl.cuda_in_order,
            {"dst": _BOTH, "d": Operand(memories=(TinyRegisters,))},
        ),
        _made(
            "wg_zero_rows",
            "d: [i32][2]",
            "for i in seq(0, 2):\n    d[i] = 0",
            cuda_warpgroup,
            _ASYNC,
            {"d": _RESULT},
        ),
        _made(
            "wg_mma_registers",
            "d: [i32][1], a: [i32][1], b: [i32][1]",
            "d[0] += a[0] * b[0]",
            cuda_warpgroup,
            _ASYNC,
            {
                "d": _RESULT,
                "a": Operand(
                    memories=(TinyRegisters,),
                    usage=UsageTl.cuda_async_a_rmem,
                    out_of_order=True,
                ),
                "b": _ASYNC_S,
            },
        ),
        _made(
            "wg_fill",
            "d: [i32][1], src: [i32][1]",
            "d[0] = src[0]",
            cuda_warpgroup,
            InstrTl.cuda_in_order,
            {"d": Operand(memories=(TinyRegisters,)), "src": Operand(memories=_G)},
        ),
        _made(
            "wg_read",
            "dst: [i32][1], d: [i32][1]",
            "dst[0] = d[0]",
            cuda_warpgroup,
            InstrTl.cuda_in_order,
            {"dst": _BOTH, "d": Operand(memories=(TinyRegisters,))},
        ),
        _copy(
            "cpu_copy", 1, None, InstrTl.cpu_in_order, Operand(memories=(DRAM,)), Operand(memories=(DRAM,))
        ),
        _copy("to_device", 2, None, InstrTl.cpu_in_order, _BY_CPU, Operand(memories=(DRAM,))),
        _copy("to_host", 2, None, InstrTl.cpu_in_order, Operand(memories=(DRAM,)), _BY_CPU),
    )
}
"""Every instruction, by name."""

NAMES: Final[Mapping[str, Any]] = {
    **INSTRUCTIONS,
    "TinyRegisters": TinyRegisters,
    "WarpRegisters": WarpRegisters,
}
"""The names that the test programs use beside the standard names."""
