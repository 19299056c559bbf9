"""
Instructions of PTX
===================

What instructions, fences and barriers become in the end: the instructions of NVIDIA's virtual machine, with the order
of their operands as the PTX ISA has it, and the least architecture that has them.

The `ptx` of an instruction of the library, and a piece of a fence or barrier, name some of these: by the whole opcode
or its beginning. Others only the frame of a kernel needs: it makes mbarriers ready, elects a lane, and finds its place
in the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

RANKS: Final = "*d"
"""The dimensions of a box, 1 to 5."""


@dataclass(frozen=True, slots=True)
class PtxInstruction:
    """An instruction of PTX."""

    opcode: str
    """With all modifiers; ``*`` stands for a number."""
    operands: tuple[str, ...] = ("",)
    """The operands by what they are, in order; several texts where there are several forms. Brackets are an address,
    braces registers that belong together, ``_`` is a result that is dropped, and numbers stand for themselves.
    """
    arch: str = "sm_80"
    """The least architecture."""

    def is_of(self, opcode: str) -> bool:
        """Whether an opcode, with its numbers, is that of this instruction.

        >>> PtxInstruction("cp.async.bulk.tensor.*d.global").is_of("cp.async.bulk.tensor.2d.global")
        True
        """
        return re.fullmatch(re.escape(self.opcode).replace(r"\*", r"\d+"), opcode) is not None

    def begins_with(self, text: str) -> bool:
        """Whether the opcode, or its first modifiers, are this text."""
        return self.opcode == text or self.opcode.startswith(f"{text}.")


def _all(arch: str, *opcodes: str) -> Iterator[PtxInstruction]:
    for text in opcodes:
        opcode, _, operands = text.partition(" ")
        yield PtxInstruction(opcode, (operands,), arch)


def _shuffles() -> Iterator[PtxInstruction]:
    """Lanes from which is taken stay below 32, or for `up` above or at 0: that is what the fourth operand says."""
    for mode, bound in (("idx", "0x1f"), ("bfly", "0x1f"), ("up", "0"), ("down", "0x1f")):
        yield PtxInstruction(f"shfl.sync.{mode}.b32", (f"taken, value, lane, {bound}, mask",))


def _additions() -> Iterator[PtxInstruction]:
    for kind in ("f32", "f64", "s32", "u32", "u64", "noftz.f16", "noftz.bf16"):
        arch = "sm_90" if kind == "noftz.bf16" else "sm_80"
        yield from _all(arch, f"red.global.add.{kind} [at], value", f"red.shared.add.{kind} [at], value")


def _products() -> Iterator[PtxInstruction]:
    """Of those of a warpgroup A is in shared memory or registers; where it has 16 bits, B may be transposed, and A is
    not.
    """
    for kind in ("tf32", "f16", "bf16"):
        yield PtxInstruction(
            f"mma.sync.aligned.m16n8k*.row.col.f32.{kind}.{kind}.f32", ("{d}, {a}, {b}, {d}",)
        )
        k, shared, registers = (8, "", "") if kind == "tf32" else (16, ", 0, trans_b", ", trans_b")
        yield PtxInstruction(
            f"wgmma.mma_async.sync.aligned.m64n*k{k}.f32.{kind}.{kind}",
            (f"{{d}}, a, b, scale_d, 1, 1{shared}", f"{{d}}, {{a}}, b, scale_d, 1, 1{registers}"),
            "sm_90a",
        )


PTX: Final[tuple[PtxInstruction, ...]] = (
    *_all(
        "sm_80",
        "cvta.to.shared.u64 there, address",
        "cvta.to.global.u64 there, address",
        "cvt.rn.f16.f32 bits, value",
        "cvt.f32.f16 value, bits",
        "cvt.rn.bf16.f32 bits, value",
        "cvt.rn.f16x2.f32 bits, upper, lower",
        "cvt.rn.bf16x2.f32 bits, upper, lower",
        "max.NaN.f32 value, a, b",
        "ex2.approx.f32 value, exponent",
        "cp.async.ca.shared.global [dst], [src], bytes",
        "cp.async.cg.shared.global [dst], [src], 16",
        "cp.async.commit_group",
        "cp.async.wait_group groups",
        "cp.async.wait_all",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]",
        "mbarrier.init.shared.b64 [bar], count",
        "mbarrier.inval.shared.b64 [bar]",
        "mbarrier.arrive.shared.b64 state, [bar]",
        "mbarrier.test_wait.parity.shared.b64 complete, [bar], parity",
    ),
    PtxInstruction("barrier.cta.sync", ("id", "id, threads")),
    *_shuffles(),
    *_additions(),
    *(
        PtxInstruction(f"ldmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16", ("{r}, [row]",))
        for count in (1, 2, 4)
        for turned in ("", ".trans")
    ),
    *_all(
        "sm_90",
        "mov.u32 rank, %cluster_ctarank",
        "mapa.shared::cluster.u32 there, bar, cta",
        "elect.sync _|elected, 0xffffffff",
        "barrier.cluster.arrive",
        "barrier.cluster.wait",
        "fence.proxy.async",
        "fence.mbarrier_init.release.cluster",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar]",
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], bytes",
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [bar], bytes",
        "mbarrier.try_wait.parity.shared.b64 complete, [bar], parity",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [bar], parity",
        f"cp.async.bulk.tensor.{RANKS}.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [map, {{c}}], [bar]",
        f"cp.async.bulk.tensor.{RANKS}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [dst], [map, {c}], [bar], ctas",
        f"cp.async.bulk.tensor.{RANKS}.global.shared::cta.bulk_group [map, {{c}}], [src]",
        f"cp.reduce.async.bulk.tensor.{RANKS}.global.shared::cta.add.bulk_group [map, {{c}}], [src]",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar]",
        "cp.async.bulk.global.shared::cta.bulk_group [dst], [src], bytes",
        "cp.async.bulk.commit_group",
        "cp.async.bulk.wait_group groups",
    ),
    *_products(),
    *_all(
        "sm_90a",
        "wgmma.fence.sync.aligned",
        "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned groups",
        "setmaxnreg.inc.sync.aligned.u32 registers",
        "setmaxnreg.dec.sync.aligned.u32 registers",
    ),
)
"""All instructions of PTX that programs become, apart from those that compilers make of C++."""


def instructions_of(opcode: str, among: Iterable[PtxInstruction] = PTX) -> tuple[PtxInstruction, ...]:
    """The instructions that a text names: by an opcode with its numbers or stars, or by the beginning of one.

    >>> [found.arch for found in instructions_of("wgmma.fence")]
    ['sm_90a']
    """
    return tuple(i for i in among if i.is_of(opcode) or i.begins_with(opcode))
