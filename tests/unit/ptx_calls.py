"""
Calls of the functions of PTX
=============================

Every function of ``soundline_ptx.cuh`` is called in a small kernel, whose parameters have the names that the law gives
the operands. The kernels become PTX, and each register of an instruction is followed back to the parameter that it came
from, or forth to where its value is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

HEADER = "soundline_ptx.cuh"
MAP = "soundline::tensor_map const *map"


@dataclass(frozen=True)
class Call:
    """A call of a function: the parameters of its kernel, and statements; a result is stored to ``out``."""

    function: str
    parameters: str
    text: str
    opcode: str = ""
    """The law's, where the name does not tell it from others."""

    def kernel(self, name: str) -> str:
        given = f", {self.parameters}" if self.parameters else ""
        return f'extern "C" __global__ void {name}(uint32_t *out{given}) {{ {self.text} }}'

    @property
    def names(self) -> list[str]:
        """What each parameter of the kernel is."""
        given = [p.split()[-1].lstrip("*") for p in self.parameters.split(",")] if self.parameters else []
        return ["out", *given]


def plain(function: str, parameters: str, *, template: str = "", text: str = "") -> Call:
    """A call with the parameters as arguments; what is `text` is done with it."""
    names = ", ".join(p.split()[-1].lstrip("*") for p in parameters.split(",")) if parameters else ""
    call = f"ptx::{function}{template}({names})"
    return Call(function, parameters, f"{text.format(call) if text else call};")


def result(function: str, parameters: str) -> Call:
    return plain(function, parameters, text="out[0] = {}")


def given(names: str, count: int, kind: str) -> tuple[str, str]:
    """Registers as parameters, and as the array that they become."""
    each = [f"{names}{i}" for i in range(count)]
    return ", ".join(f"{kind} {e}" for e in each), f"{kind} {names}[{count}] = {{{', '.join(each)}}};"


def stored(name: str, count: int, convert: str = "") -> str:
    return " ".join(f"out[{i}] = {convert}({name}[{i}]);" for i in range(count))


def tensors() -> Iterator[Call]:
    for rank in range(1, 6):
        c = ", ".join(f"int c{d}" for d in range(rank))
        box = f"cp_async_bulk_tensor_{rank}d"
        yield plain(f"{box}_shared_cluster_global", f"void *dst, {MAP}, uint64_t *bar, {c}")
        yield plain(
            f"{box}_shared_cluster_global_multicast_cluster",
            f"void *dst, {MAP}, uint64_t *bar, uint16_t ctas, {c}",
        )
        yield plain(f"{box}_global_shared_cta", f"{MAP}, {c}, void *src")
        yield plain(f"cp_reduce_async_bulk_tensor_{rank}d_global_shared_cta_add", f"{MAP}, {c}, void *src")


def fragments() -> Iterator[Call]:
    for count in (1, 2, 4):
        for turned in ("", "_trans"):
            function = f"ldmatrix_sync_aligned_m8n8_x{count}{turned}_shared_b16"
            text = f"uint32_t r[{count}]; ptx::{function}(r, row); {stored('r', count)}"
            yield Call(function, "void *row", text)
    for kind, k, a, b in (
        ("tf32", 4, 2, 1),
        ("tf32", 8, 4, 2),
        *((t, *s) for t in ("f16", "bf16") for s in ((8, 2, 1), (16, 4, 2))),
    ):
        function = f"mma_sync_aligned_m16n8k{k}_row_col_f32_{kind}_{kind}_f32"
        parts = [given("d", 4, "float"), given("a", a, "uint32_t"), given("b", b, "uint32_t")]
        arrays = " ".join(text for _, text in parts)
        text = f"{arrays} ptx::{function}(d, a, b); {stored('d', 4, '__float_as_uint')}"
        yield Call(function, ", ".join(p for p, _ in parts), text)


def products(widths: Iterable[int]) -> Iterator[Call]:
    """All forms of wgmma with so many columns."""
    for n in widths:
        for kind, k in (("tf32", 8), ("f16", 16), ("bf16", 16)):
            for trans in ("",) if k == 8 else (", 0", ", 1"):
                function = f"wgmma_mma_async_sync_aligned_m64k{k}_f32_{kind}_{kind}"
                d, array = given("d", n // 2, "float")
                a, registers = given("a", 4, "uint32_t")
                call = (
                    f"ptx::{function}<{n}{trans}>(d, a, b, scale_d); {stored('d', n // 2, '__float_as_uint')}"
                )
                yield Call(function, f"uint64_t a, uint64_t b, int scale_d, {d}", f"{array} {call}")
                yield Call(function, f"{a}, uint64_t b, int scale_d, {d}", f"{array} {registers} {call}")


CALLS_80 = (
    result("cvta_to_shared_u32", "void *address"),
    plain("cvta_to_global_u64", "void *address", text="*reinterpret_cast<uint64_t *>(out) = {}"),
    result("cvt_rn_f16_f32", "float value"),
    plain("cvt_f32_f16", "uint16_t bits", text="out[0] = __float_as_uint({})"),
    result("cvt_rn_bf16_f32", "float value"),
    result("cvt_rn_f16x2_f32", "float upper, float lower"),
    result("cvt_rn_bf16x2_f32", "float upper, float lower"),
    plain("max_NaN_f32", "float a, float b", text="out[0] = __float_as_uint({})"),
    plain("ex2_approx_f32", "float exponent", text="out[0] = __float_as_uint({})"),
    *(
        result(f"shfl_sync_{m}_b32", "uint32_t mask, uint32_t value, uint32_t lane")
        for m in ("idx", "bfly", "up", "down")
    ),
    *(
        plain(f"red_{space}_add_{kind}", f"{t} *at, {t} value")
        for space in ("global", "shared")
        for kind, t in (
            ("f32", "float"),
            ("f64", "double"),
            ("s32", "int32_t"),
            ("u32", "uint32_t"),
            ("u64", "uint64_t"),
            ("f16", "uint16_t"),
        )
    ),
    plain("barrier_cta_sync", "int id"),
    plain("barrier_cta_sync", "int id, int threads"),
    *(plain("cp_async_ca_shared_global", "void *dst, void *src", template=f"<{n}>") for n in (4, 8, 16)),
    plain("cp_async_cg_shared_global", "void *dst, void *src"),
    plain("cp_async_commit_group", ""),
    *(plain("cp_async_wait_group", "", template=f"<{n}>") for n in (0, 3)),
    plain("cp_async_wait_all", ""),
    plain("cp_async_mbarrier_arrive_noinc_shared_b64", "uint64_t *bar"),
    plain("mbarrier_init_shared_b64", "uint64_t *bar, uint32_t count"),
    plain("mbarrier_inval_shared_b64", "uint64_t *bar"),
    plain("mbarrier_arrive_shared_b64", "uint64_t *bar"),
    result("mbarrier_test_wait_parity_shared_b64", "uint64_t *bar, uint32_t parity"),
    *fragments(),
)
"""Of what sm_80 has."""

CALLS_90 = (
    *(plain(f"red_{space}_add_bf16", "uint16_t *at, uint16_t value") for space in ("global", "shared")),
    result("cluster_ctarank", ""),
    result("mapa_shared_cluster_u32", "void *bar, uint32_t cta"),
    result("elect_sync", ""),
    plain("barrier_cluster_arrive", ""),
    plain("barrier_cluster_wait", ""),
    plain("fence_proxy_async", ""),
    plain("fence_mbarrier_init_release_cluster", ""),
    plain("mbarrier_arrive_release_cluster_shared_cluster_b64", "uint64_t *bar, uint32_t cta"),
    plain("mbarrier_arrive_expect_tx_shared_b64", "uint64_t *bar, uint32_t bytes"),
    plain(
        "mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64",
        "uint64_t *bar, uint32_t cta, uint32_t bytes",
    ),
    result("mbarrier_try_wait_parity_shared_b64", "uint64_t *bar, uint32_t parity"),
    result("mbarrier_try_wait_parity_acquire_cluster_shared_b64", "uint64_t *bar, uint32_t parity"),
    *tensors(),
    plain("cp_async_bulk_shared_cluster_global", "void *dst, void *src, uint32_t bytes, uint64_t *bar"),
    plain("cp_async_bulk_global_shared_cta", "void *dst, void *src, uint32_t bytes"),
    plain("cp_async_bulk_commit_group", ""),
    *(plain("cp_async_bulk_wait_group", "", template=f"<{n}>") for n in (0, 2)),
)
"""Of what sm_90 has beside that."""

CALLS_90A = (
    plain("wgmma_fence_sync_aligned", ""),
    plain("wgmma_commit_group_sync_aligned", ""),
    *(plain("wgmma_wait_group_sync_aligned", "", template=f"<{n}>") for n in (0, 1)),
    *(plain(f"setmaxnreg_{way}_sync_aligned_u32", "", template="<40>") for way in ("inc", "dec")),
    *products((8, 64)),
)
"""Of what only sm_90a has."""


# PTX as it is read --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """An instruction of a kernel."""

    opcode: str
    operands: tuple[str, ...]
    inline: bool
    """Whether it is inline PTX."""


@dataclass
class Entry:
    """A kernel in PTX."""

    lines: list[Line] = field(default_factory=list)


def split(text: str) -> tuple[str, ...]:
    """Operands, at the commas that stand in no brackets.

    >>> split("[%rd1, {%r1, %r2}], [%r3], 16")
    ('[%rd1, {%r1, %r2}]', '[%r3]', '16')
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(p.strip() for p in parts) if text.strip() else ()


def entries(ptx: str) -> dict[str, Entry]:
    """The kernels of a text of PTX, by name."""
    found: dict[str, Entry] = {}
    inline = False
    entry: Entry | None = None
    for raw in ptx.splitlines():
        if (head := re.match(r"\.visible \.entry (\w+)\(", raw)) is not None:
            entry = found[head[1]] = Entry()
        inline = (inline or "begin inline asm" in raw) and "end inline asm" not in raw
        text = raw.partition("//")[0].strip().strip(";").strip()
        if entry is None or not re.match(r"[a-z][\w:]*(\.|$|\s)", text):
            continue
        opcode, _, operands = text.replace("\t", " ").partition(" ")
        entry.lines.append(Line(opcode, split(operands), inline))
    return found


TRANSPARENT = ("mov.", "cvt", "selp.u32", "setp.ne", "and.b", "mapa.")
"""What hands a value on: copies, conversions, and what makes numbers of predicates and predicates of numbers."""


def what_is(entry: Entry, names: list[str], register: str) -> str:
    """What a register of an inline instruction holds: the parameter it came from, or ``out`` and the place in which its
    value is stored.
    """
    for _ in range(8):
        made = next(
            (ln for ln in entry.lines if ln.operands[:1] == (register,) and not _inline_result(ln)), None
        )
        if made is None:
            break
        if made.opcode.startswith("ld.param") and (
            at := re.fullmatch(r"\[\w+_param_(\d+)\]", made.operands[1])
        ):
            return names[int(at[1])]
        register = made.operands[1]
    return register


def _inline_result(line: Line) -> bool:
    return line.inline and not line.opcode.startswith(TRANSPARENT)


def goes_to(entry: Entry, register: str) -> str:
    """Where the value of a register is stored: ``out`` with the offset in words; empty where it is not."""
    reached = {register.rsplit("|", maxsplit=1)[-1]}
    for line in entry.lines:
        if line.opcode.startswith("st.global") and line.operands[1] in reached:
            at = re.fullmatch(r"\[%\w+(?:\+(\d+))?\]", line.operands[0])
            return f"out{int(at[1] or 0) // 4}" if at is not None else ""
        if line.opcode.startswith(TRANSPARENT) and reached & set(line.operands[1:]):
            reached.add(line.operands[0])
    return ""
