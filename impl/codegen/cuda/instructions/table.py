"""
The texts of instructions
=========================

Which text each family of instructions has. A family is a class: one that is derived from a family of the table has its
text, and a reader's own instruction brings its own (`user`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from soundline.impl.codegen.cuda.instructions import copies, rows, sm80, sm90, tma, user, warps
from soundline.impl.codegen.cuda.instructions.places import refused
from soundline.impl.codegen.cuda.instructions.user import CudaInstruction
from soundline.impl.codegen.cuda.operands import CallSite
from soundline.spec.spork.library import approximate as approximate_of_law
from soundline.spec.spork.library import copies as copies_of_law
from soundline.spec.spork.library import rows as rows_of_law
from soundline.spec.spork.library import sm80 as sm80_of_law
from soundline.spec.spork.library import sm90 as sm90_of_law
from soundline.spec.spork.library import tma as tma_of_law
from soundline.spec.spork.library import warps as warps_of_law
from soundline.spec.spork.library.schema import Instruction

Text = Callable[[CallSite], Iterable[str]]
"""From a call to the lines of its C++."""

TEXTS: Final[Mapping[type[Instruction], Text]] = {
    copies_of_law.VectorCopy: copies.vector_copy,
    copies_of_law.CpAsync: copies.cp_async,
    copies_of_law.AtomicAdd: copies.atomic_add,
    warps_of_law.Shuffle: warps.shuffle,
    warps_of_law.WarpReduction: warps.warp_reduction,
    sm80_of_law.MmaZeroD: sm80.zero_d,
    sm80_of_law.MmaLoad: sm80.load,
    sm80_of_law.MmaStoreD: sm80.store_d,
    sm80_of_law.Mma: sm80.mma,
    sm80_of_law.LdMatrix: sm80.ldmatrix,
    tma_of_law.TensorLoad: tma.tensor_load,
    tma_of_law.TensorMulticast: tma.tensor_multicast,
    tma_of_law.TensorStore: tma.tensor_store,
    tma_of_law.TensorReduce: tma.tensor_reduce,
    tma_of_law.BulkLoad: tma.bulk_load,
    tma_of_law.BulkStore: tma.bulk_store,
    sm90_of_law.WgmmaZeroD: sm90.zero_d,
    sm90_of_law.Wgmma: sm90.product,
    sm90_of_law.WgmmaFromRegisters: sm90.product_from_registers,
    sm90_of_law.WgmmaLoadA: sm90.load_a,
    sm90_of_law.WgmmaWriteD: sm90.write_d,
    sm90_of_law.WgmmaWriteColumns: rows.write_columns,
    rows_of_law.RowsElementwise: rows.elementwise,
    rows_of_law.RowsReduction: rows.reduction,
    rows_of_law.RowsQuad: rows.quad,
    rows_of_law.AccumulatorByRows: rows.by_rows,
    rows_of_law.AccumulatorToA: rows.to_a,
    approximate_of_law.ApproximateExp2: rows.exp2_approximate,
    CudaInstruction: user.text,
}
"""The text of each family that is executed on the device."""


def text_of(site: CallSite) -> tuple[str, ...]:
    """The lines of C++ that a call becomes; raises `CompileError`."""
    for family in type(site.instruction).__mro__:
        if family in TEXTS:
            return tuple(TEXTS[family](site))
    raise refused(
        site,
        "an instruction of the library, or one that says what its CUDA is",
        f"the family {type(site.instruction).__name__}",
        'give the instruction its text: @instr(..., cuda="function({dst}, {src});")',
    )
