"""Broken twins of the Spork examples: each is the text of an example with one mistake put in.

A twin says by which id it is refused, and at which statement: the first one that is flagged, by the beginning of its
line.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from soundline.spec.spork.synchronization.visibility import Policy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "spork"

RAW, WAW, WAR = "mach-read-raw", "mach-write-waw", "mach-write-war"
STUCK, UNEQUAL, OVERRUN = "mach-await-progress", "mach-barrier-unequal", "mach-arrive-overrun"
FREE_READ = "mach-free-read"


@dataclass(frozen=True)
class Twin:
    """One mistake in one example."""

    mistake: str
    old: str
    """What stands in the example."""
    new: str
    """What stands in its place; further lines are indented like the first."""
    rule: str
    at: str
    """How the line of the flagged statement begins; several lines may begin like that, see `line`."""
    nth: int = 1
    """Which of the places where `old` stands is changed."""
    line: int = 1
    """Which of the lines that begin with `at` is meant."""
    program: str = ""
    """The name of the program, where the file has several."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes that differ from those of the example."""
    policy: Policy = Policy.temporal
    unseen: str = ""
    """Why no interleaving shows the mistake, where none does."""

    def text(self, text: str) -> str:
        """The text of the twin."""
        parts = text.split(self.old)
        assert len(parts) > self.nth, f"{self.old!r} stands {len(parts) - 1} times"
        before = self.old.join(parts[: self.nth])
        own = before.rsplit("\n", 1)[-1]
        indent = own[: len(own) - len(own.lstrip())]
        return before + self.new.replace("\n", f"\n{indent}") + self.old.join(parts[self.nth :])

    def flagged(self, text: str) -> int:
        """The number of the line of the statement that is flagged, in the text of the twin."""
        found = [n for n, line in enumerate(text.splitlines(), 1) if line.strip().startswith(self.at)]
        assert len(found) >= self.line, f"no line begins with {self.at!r}"
        return found[self.line - 1]


def load(path: Path) -> ModuleType:
    """The module in a file, loaded anew under a name of its own."""
    name = f"spork_example_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


VECTOR_ADD = (
    Twin(
        "all tasks write the first chunk",
        "x[CHUNK * task + tid] += y[CHUNK * task + tid]",
        "x[tid] += y[CHUNK * task + tid]",
        WAW,
        "x[tid] += y",
    ),
    Twin(
        "an element is read that another thread writes",
        "+= y[CHUNK * task + tid]",
        "+= x[n - 1 - (CHUNK * task + tid)]",
        RAW,
        "x[CHUNK * task + tid] += x",
    ),
    Twin("the last chunk is not guarded", "CHUNK * task + tid < n", "0 < n", "seq-bounds", "x[CHUNK"),
    Twin("more warps than there are", "unit=cuda_thread", "unit=cuda_warp", "coll-tile-c5", "for tid in"),
    Twin(
        "a warp writes an element",
        "cuda_threads(0, CHUNK, unit=cuda_thread)",
        "cuda_threads(0, CHUNK // 32, unit=cuda_warp)",
        "instr-scalar-unit",
        "x[CHUNK",
    ),
)

FENCE = "Fence(cuda_in_order, cuda_in_order)"
BY_WARPS = f"for warp in cuda_threads(0, WARPS, unit=cuda_warp):\n    {FENCE}"

FENCES = (
    Twin("no fence of the warp", FENCE, "pass", RAW, "y[w, lane] = x"),
    Twin(
        "every lane has a fence of its own",
        FENCE,
        f"for lane in cuda_threads(0, 32, unit=cuda_thread):\n    {FENCE}",
        RAW,
        "y[w, lane] = x",
    ),
    Twin(
        "half warps have fences",
        FENCE,
        f"for half in cuda_threads(0, 2, unit=16 * cuda_thread):\n    {FENCE}",
        "fence-c5",
        FENCE,
    ),
    Twin("no fence of the CTA", FENCE, "pass", RAW, "y[w, lane] += sums", nth=2),
    Twin("the fence of the CTA is one of the warps", FENCE, BY_WARPS, RAW, "y[w, lane] += sums", nth=2),
    Twin(
        "the fence waits for nothing",
        FENCE,
        "Fence(cuda_temporal, cuda_in_order)",
        RAW,
        "y[w, lane] += sums",
        nth=2,
        unseen="the barrier of CUDA orders more than the fence asks for",
    ),
    Twin(
        "nothing sees what the fence waits for",
        FENCE,
        "Fence(cuda_in_order, cuda_temporal)",
        RAW,
        "y[w, lane] += sums",
        nth=2,
        unseen="the barrier of CUDA orders more than the fence asks for",
    ),
    Twin("shared memory ends while it is read", FENCE, "pass", FREE_READ, "sums: f32", nth=3),
    Twin("shared memory ends while other warps read it", FENCE, BY_WARPS, FREE_READ, "sums: f32", nth=3),
    Twin("two tasks write one tile", "cuda_tasks(0, 1)", "cuda_tasks(0, 2)", WAW, "y[w, lane] = x"),
)

WAIT_COPIES = "Fence(Sm80_cp_async, cuda_in_order)"

CP_ASYNC = (
    Twin("no fence after the stores", FENCE, "pass", RAW, "y[0, "),
    Twin("no fence after the copies", WAIT_COPIES, "pass", RAW, "y[1, "),
    Twin("a fence that knows nothing of copies", WAIT_COPIES, FENCE, RAW, "y[1, "),
    Twin(
        "a fence after which only copies see",
        WAIT_COPIES,
        "Fence(Sm80_cp_async, Sm80_cp_async)",
        RAW,
        "y[1, ",
    ),
    Twin(
        "every thread waits for its own copies",
        WAIT_COPIES,
        f"for tid in cuda_threads(0, THREADS, unit=cuda_thread):\n    {WAIT_COPIES}",
        RAW,
        "y[1, ",
    ),
    Twin(
        "a fence of a warp and a half",
        WAIT_COPIES,
        f"for part in cuda_threads(0, 1, unit=48 * cuda_thread):\n    {WAIT_COPIES}",
        "fence-c5",
        WAIT_COPIES,
    ),
    Twin(
        "a copy among ordinary statements",
        "with CudaAsync(Sm80_cp_async):",
        "if True:",
        "instr-timeline",
        "Sm80_cp_async_f32",
    ),
    Twin(
        "an ordinary store among copies",
        "with CudaAsync(Sm80_cp_async):",
        "with CudaAsync(Sm80_cp_async):\n    copied[4 * tid] = 0.0",
        "instr-async-scalar",
        "copied[4 * tid] = 0.0",
    ),
    Twin("a copy of 12 bytes", "size=4", "size=3", "instr-size", "Sm80_cp_async_f32"),
    Twin(
        "two threads copy to one place",
        "Sm80_cp_async_f32(copied[4 * tid : 4 * tid + 4]",
        "Sm80_cp_async_f32(copied[4 * (tid // 2) : 4 * (tid // 2) + 4]",
        WAW,
        "Sm80_cp_async_f32",
    ),
    Twin("shared memory ends while it is read", FENCE, "pass", FREE_READ, "copied: f32", nth=2),
)

WAIT_GROUP, LAST_GROUP = "Await(groups[tid], cuda_in_order, AHEAD)", "Await(groups[tid], cuda_in_order, 0)"
COMMIT, ORDER = "Arrive(Sm80_cp_async, 1) >> groups[tid]", "Fence(cuda_in_order, Sm80_generic)"

CP_ASYNC_GROUPS = (
    Twin("groups are not awaited", WAIT_GROUP, "pass", RAW, "y[i - AHEAD"),
    Twin(
        "one group too many may be in flight",
        WAIT_GROUP,
        "Await(groups[tid], cuda_in_order, AHEAD + 1)",
        RAW,
        "y[i - AHEAD",
    ),
    Twin(
        "only copies see a group that is done",
        WAIT_GROUP,
        "Await(groups[tid], Sm80_cp_async, AHEAD)",
        "bar-same-second",
        LAST_GROUP,
    ),
    Twin(
        "a thread reads what another one copied",
        "2.0 * rows[(i - AHEAD) % (AHEAD + 1), 4 * tid + j]",
        "2.0 * rows[(i - AHEAD) % (AHEAD + 1), 4 * (tid // 2) + j]",
        RAW,
        "y[i - AHEAD",
    ),
    Twin("copies may overtake reads", ORDER, "pass", WAR, "Sm80_cp_async_f32"),
    Twin("copies may overtake copies", ORDER, FENCE, WAW, "Sm80_cp_async_f32"),
    Twin("the row that is read is copied over", "rows[i %", "rows[(i - AHEAD) %", RAW, "y[i - AHEAD"),
    Twin("groups are left", LAST_GROUP, "pass", UNEQUAL, "groups: barrier"),
    Twin("a group is left", LAST_GROUP, LAST_GROUP.replace("0)", "1)"), UNEQUAL, "groups: barrier"),
    Twin(
        "an await of a group by a lag",
        LAST_GROUP,
        LAST_GROUP.replace("0)", "~0)"),
        "bar-group-n",
        "Await(groups[tid], cuda_in_order, ~0)",
    ),
    Twin(
        "groups of ordinary stores",
        COMMIT,
        "Arrive(cuda_in_order, 1) >> groups[tid]",
        "bar-group-first",
        "Arrive",
    ),
    Twin(
        "all threads commit to one group",
        COMMIT,
        "Arrive(Sm80_cp_async, 1) >> groups[0]",
        "dist-c6",
        "Arrive",
    ),
)

GENERIC = "Fence(Sm80_generic, Sm80_generic)"
LOAD_A, LOAD_B, COPY = "Sm80_mma_load_a_tf32(", "Sm80_mma_load_b_tf32(", "Sm80_cp_async_f32("
ONE_TILE, TWO_TILES = {"K": 8}, {"K": 16}

GEMM_SM80_FENCE = (
    Twin("no fence", GENERIC, "pass", RAW, LOAD_B, sizes=ONE_TILE),
    Twin(
        "the fence does not wait for copies",
        GENERIC,
        "Fence(cuda_in_order, Sm80_generic)",
        RAW,
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin("the fence waits for copies alone", GENERIC, "Fence(Sm80_cp_async, Sm80_generic)", WAR, COPY),
    Twin("copies do not see the fence", GENERIC, "Fence(Sm80_generic, cuda_in_order)", WAW, COPY),
    Twin(
        "only copies see the fence",
        GENERIC,
        "Fence(Sm80_generic, Sm80_cp_async)",
        RAW,
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin(
        "every warp has a fence of its own",
        GENERIC,
        f"for w in cuda_threads(0, WARPS, unit=cuda_warp):\n    {GENERIC}",
        RAW,
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin(
        "a fence in every second iteration",
        GENERIC,
        f"if k1 % 2 == 0:\n    {GENERIC}",
        RAW,
        LOAD_B,
        sizes=TWO_TILES,
    ),
    Twin(
        "B is read from the half that is being filled",
        "1 - k1 % 2",
        "k1 % 2",
        RAW,
        LOAD_B,
        sizes=TWO_TILES,
    ),
    Twin(
        "A is read from the half that is being filled",
        "1 - k1 % 2",
        "k1 % 2",
        RAW,
        LOAD_A,
        nth=2,
        sizes=TWO_TILES,
    ),
    Twin(
        "the copies of A have one half",
        "A_smem[k1 % 2,",
        "A_smem[0 * k1,",
        RAW,
        LOAD_A,
        sizes=TWO_TILES,
    ),
    Twin(
        "a tile is used before there is one",
        "if k1 > 0:",
        "if k1 >= 0:",
        "seq-uninitialized",
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin(
        "a copy among ordinary statements",
        "with CudaAsync(Sm80_cp_async):",
        "if True:",
        "instr-timeline",
        COPY,
    ),
    Twin(
        "warps execute copies",
        "for k in cuda_threads(0, K0 // 4, unit=cuda_thread):",
        "for k in seq(0, K0 // 4):",
        "instr-unit",
        COPY,
    ),
    Twin(
        "all warps have the accumulator of the first",
        "D_rmem[mw, nw, i, j, :, :])",
        "D_rmem[0, nw, i, j, :, :])",
        "dist-c6",
        "Sm80_mma_zero_d_tf32",
    ),
    Twin(
        "more accumulators than warps",
        "D_rmem: f32[M1 // Mw,",
        "D_rmem: f32[M1 // Mw + 1,",
        "dist-c11",
        "Sm80_mma_zero_d_tf32",
    ),
    Twin(
        "the tiles of two tasks are one",
        "M1 * m1 + Mw * mw + 16 * i : M1 * m1 + Mw * mw + 16 * i + 16,\n",
        "Mw * mw + 16 * i : Mw * mw + 16 * i + 16,\n",
        WAW,
        "Sm80_mma_store_d_tf32",
        sizes={"M": 64, "K": 8},
    ),
)

AWAIT_FULL, AWAIT_EMPTY = "Await(ring, cuda_in_order, ~0)", "ReverseAwait(ring, Sm80_cp_async, ~RING)"
FULL, EMPTY = "Arrive(Sm80_cp_async, 1) >> ring", "ReverseArrive(cuda_in_order, 1) >> ring"
WRAP_AROUND = {"K": 32}
"""One tile more than there are slots."""

GEMM_SM80_RING = (
    Twin("tiles are not awaited", AWAIT_FULL, "pass", RAW, LOAD_B, sizes=ONE_TILE),
    Twin(
        "the tile before is awaited",
        AWAIT_FULL,
        "Await(ring, cuda_in_order, ~1)",
        RAW,
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin(
        "who awaits does not see copies",
        AWAIT_FULL,
        "Await(ring, Sm80_cp_async, ~0)",
        RAW,
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin("who copies does not arrive", FULL, "pass", "bar-awaited", AWAIT_FULL),
    Twin(
        "the arrive does not wait for copies",
        FULL,
        "Arrive(cuda_in_order, 1) >> ring",
        RAW,
        LOAD_B,
        sizes=ONE_TILE,
    ),
    Twin("one arrive too many", FULL, f"{FULL}\n{FULL}", UNEQUAL, "ring: barrier", sizes=ONE_TILE),
    Twin(
        "the last tile is not awaited",
        "K // K0 + LAG):",
        "K // K0):",
        UNEQUAL,
        "ring: barrier",
        sizes=TWO_TILES,
    ),
    Twin(
        "more tiles are awaited than copied",
        "K // K0 + LAG):",
        "K // K0 + LAG + 1):",
        STUCK,
        AWAIT_FULL,
        sizes=ONE_TILE,
    ),
    Twin(
        "each warp arrives at the one barrier",
        FULL,
        f"for w in cuda_threads(0, WARPS, unit=cuda_warp):\n    {FULL}",
        "dist-c5",
        FULL,
    ),
    Twin("slots are not awaited", AWAIT_EMPTY, "pass", OVERRUN, FULL, sizes=WRAP_AROUND),
    Twin(
        "slots are awaited a tile late",
        AWAIT_EMPTY,
        "ReverseAwait(ring, Sm80_cp_async, ~(RING + 1))",
        WAR,
        COPY,
        sizes=WRAP_AROUND,
    ),
    Twin(
        "slots are awaited before they were used",
        AWAIT_EMPTY,
        "ReverseAwait(ring, Sm80_cp_async, ~(LAG - 1))",
        "bar-depth",
        "ring: barrier",
    ),
    Twin(
        "slots are awaited too early",
        AWAIT_EMPTY,
        "ReverseAwait(ring, Sm80_cp_async, ~LAG)",
        STUCK,
        "ReverseAwait",
        sizes=TWO_TILES,
    ),
    Twin(
        "copies do not see that a slot is free",
        AWAIT_EMPTY,
        "ReverseAwait(ring, cuda_in_order, ~RING)",
        WAW,
        COPY,
        sizes=WRAP_AROUND,
    ),
    Twin("who has read does not arrive", EMPTY, "pass", "bar-awaited", AWAIT_EMPTY),
    Twin(
        "who arrives does not wait for reads",
        EMPTY,
        "ReverseArrive(cuda_temporal, 1) >> ring",
        WAR,
        COPY,
        sizes=WRAP_AROUND,
    ),
    Twin(
        "who arrives waits for copies alone",
        EMPTY,
        "ReverseArrive(Sm80_cp_async, 1) >> ring",
        WAR,
        COPY,
        sizes=WRAP_AROUND,
    ),
    Twin(
        "B is read from the slot that is being filled",
        "(k1 - LAG) % RING",
        "k1 % RING",
        RAW,
        LOAD_B,
        sizes=TWO_TILES,
    ),
    Twin(
        "A is read from the slot that is being filled",
        "(k1 - LAG) % RING",
        "k1 % RING",
        RAW,
        LOAD_A,
        nth=2,
        sizes=TWO_TILES,
    ),
    Twin(
        "copies go to a slot that is still read",
        "A_smem[k1 % RING,",
        "A_smem[k1 % (RING - 1),",
        WAR,
        COPY,
        sizes={"K": 24},
    ),
    Twin("shared memory ends while it is read", FENCE, "pass", FREE_READ, "B_smem: f32", sizes=ONE_TILE),
)

LOAD, ZERO, WGMMA = "Sm90_copy_tensor_to_smem_2d_f32(", "Sm90_zero_scale_d_f32(", "Sm90_mma_async_tf32("
WRITE = "Sm90_mma_write_d_row_major_f32("
AWAIT_LOADED = "Await(ring, cuda_generic_and_async_proxy, ~0)"
AWAIT_FREE = "ReverseAwait(ring, tma_to_smem_async, ~RING)"
LOADED, FREE = "Arrive(tma_to_smem_async, 1) >> ring", "ReverseArrive(cuda_in_order, 1) >> ring"
WGMMA_FENCE = "Fence(wgmma_fence_1, wgmma_fence_2)"
GROUP = "Arrive(wgmma_async, 1) >> group[wg]"
AWAIT_GROUP = "Await(group[wg], cuda_in_order, 0)"
ONE_STEP, THREE_STEPS = {"N": 8, "K": 8}, {"N": 8, "K": 24}

GEMM_SM90_RING = (
    Twin("tiles are not awaited", AWAIT_LOADED, "pass", RAW, WGMMA, sizes=ONE_STEP),
    Twin(
        "the tile before is awaited",
        AWAIT_LOADED,
        "Await(ring, cuda_generic_and_async_proxy, ~1)",
        RAW,
        WGMMA,
        sizes=ONE_STEP,
    ),
    Twin(
        "wgmma does not see what was loaded",
        AWAIT_LOADED,
        "Await(ring, cuda_in_order, ~0)",
        RAW,
        WGMMA,
        sizes=ONE_STEP,
    ),
    Twin(
        "wgmma alone sees what was loaded",
        AWAIT_LOADED,
        "Await(ring, wgmma_async_smem, ~0)",
        WAW,
        LOAD,
        sizes=THREE_STEPS,
    ),
    Twin("the producer does not arrive", LOADED, "pass", "bar-trailing", LOAD),
    Twin(
        "a load is followed by no barrier",
        "n0=N1, n1=K0) >> ring",
        "n0=N1, n1=K0)",
        "instr-trailing",
        LOAD,
        line=2,
    ),
    Twin("the arrive is not the last of its block", LOADED, f"{LOADED}\npass", "bar-trailing", LOAD),
    Twin("slots are not awaited", AWAIT_FREE, "pass", OVERRUN, LOADED, sizes=THREE_STEPS),
    Twin(
        "slots are awaited a tile late",
        AWAIT_FREE,
        "ReverseAwait(ring, tma_to_smem_async, ~(RING + 1))",
        WAR,
        LOAD,
        sizes=THREE_STEPS,
    ),
    Twin(
        "the proxy does not see that a slot is free",
        AWAIT_FREE,
        "ReverseAwait(ring, cuda_in_order, ~RING)",
        WAW,
        LOAD,
        sizes=THREE_STEPS,
    ),
    Twin("the consumer does not arrive", FREE, "pass", "bar-awaited", AWAIT_FREE),
    Twin(
        "the consumer arrives before its group is done",
        FREE,
        "ReverseArrive(cuda_temporal, 1) >> ring",
        WAR,
        LOAD,
        sizes=THREE_STEPS,
    ),
    Twin(
        "one group may be in flight when the slot is given back",
        AWAIT_GROUP,
        "Await(group[wg], cuda_in_order, 1)",
        WAR,
        LOAD,
        sizes=THREE_STEPS,
    ),
    Twin(
        "one group may be in flight when the result is written",
        AWAIT_GROUP,
        "Await(group[wg], cuda_in_order, 1)",
        RAW,
        WRITE,
        sizes=ONE_STEP,
    ),
    Twin("groups are not awaited", AWAIT_GROUP, "pass", RAW, WRITE, sizes=ONE_STEP),
    Twin(
        "only wgmma sees the result",
        AWAIT_GROUP,
        "Await(group[wg], cuda_temporal, 0)",
        RAW,
        WRITE,
        sizes=ONE_STEP,
    ),
    Twin("a group that is not the last of its block", GROUP, f"{GROUP}\npass", "bar-group-last", GROUP),
    Twin("no wgmma.fence", WGMMA_FENCE, "pass", WAW, ZERO, sizes={"N": 16, "K": 8}),
    Twin(
        "a wgmma.fence for the first step of the first tile alone",
        WGMMA_FENCE,
        f"if n + k == 0:\n    {WGMMA_FENCE}",
        "fence-c3",
        WGMMA_FENCE,
    ),
    Twin(
        "a wgmma.fence that leads elsewhere",
        WGMMA_FENCE,
        "Fence(wgmma_fence_1, wgmma_async)",
        "fence-c1",
        "Fence(wg",
    ),
    Twin(
        "a fence of the consumer",
        FREE,
        f"{FENCE}\n{FREE}",
        "fence-c6",
        FENCE,
    ),
    Twin(
        "warps execute wgmma",
        "cuda_threads(0, GROUPS, unit=cuda_warpgroup)",
        "cuda_threads(0, 4 * GROUPS, unit=cuda_warp)",
        "fence-c2",
        WGMMA_FENCE,
    ),
    Twin(
        "A is read from the next slot",
        "a = A_smem[(n * (K // K0) + k) % RING",
        "a = A_smem[(n * (K // K0) + k + n) % RING",
        WAR,
        LOAD,
        sizes={"N": 16, "K": 24},
    ),
    Twin(
        "registers in steps of eight",
        "setmaxnreg_dec=40",
        "setmaxnreg_dec=36",
        "coll-maxnreg-c2",
        "with CudaDeviceFunction",
    ),
    Twin(
        "warps without their name",
        'CudaWarps(name="producer")',
        "CudaWarps(0, 1)",
        "coll-named-c1",
        "with CudaWarps(0, 1)",
    ),
    Twin("shared memory ends while it is read", FENCE, "pass", FREE_READ, "B_smem: f32", sizes=ONE_STEP),
)

MULTICAST = "Sm90_multicast_tensor_to_smem_2d_f32("
STEPS = {"K": 24}

GEMM_SM90_MULTICAST = (
    Twin(
        "the consumer arrives at its own barrier alone",
        "ReverseArrive(cuda_in_order, 1) >> ring[cta] >> ring[:]",
        "ReverseArrive(cuda_in_order, 1) >> ring[cta]",
        WAR,
        MULTICAST,
    ),
    Twin(
        "a copy to all arrives at one barrier",
        "ring[cta] >> ring[:]  #",
        "ring[cta]  #",
        "bar-trailing-ctas",
        ") >> ring[cta]  #",
    ),
    Twin(
        "all CTAs copy to one share of the tile",
        "k % RING, SHARE * cta : SHARE * cta + SHARE, :],",
        "k % RING, 0:SHARE, :],",
        WAW,
        MULTICAST,
        sizes={"K": 8},
    ),
    Twin(
        "a CTA copies to itself alone",
        "B_smem[:, k % RING, SHARE",
        "B_smem[cta : cta + 1, k % RING, SHARE",
        "instr-size",
        "B_smem[cta",
    ),
    Twin(
        "slots are awaited a tile late",
        "ReverseAwait(ring[cta], tma_to_smem_async, ~RING)",
        "ReverseAwait(ring[cta], tma_to_smem_async, ~(RING + 1))",
        WAR,
        LOAD,
    ),
    Twin(
        "an await of the barriers of all",
        "Await(ring[cta], cuda_generic",
        "Await(ring[:], cuda_generic",
        "prog-barrier-index",
        "Await(ring[:]",
    ),
    Twin(
        "the barrier of another CTA is awaited",
        "Await(ring[cta], cuda_generic",
        "Await(ring[1 - cta], cuda_generic",
        "dist-c6",
        "Await(ring[1",
    ),
    Twin("no cluster", ", clusterDim=CTAS", "", "coll-tile-c6", "for cta in"),
    Twin(
        "a cluster of three",
        "CTAS, GROUPS, N1, K0, RING = 2, 1, 8,",
        "CTAS, GROUPS, N1, K0, RING = 3, 1, 24,",
        "static-cluster",
        "with CudaDeviceFunction",
    ),
    Twin(
        "the tile of another CTA is overwritten",
        "M1 * (CTAS * m + cta) + 64 * wg : M1 * (CTAS * m + cta) + 64 * wg + 64,",
        "M1 * CTAS * m + 64 * wg : M1 * CTAS * m + 64 * wg + 64,",
        WAW,
        WRITE,
        sizes={"K": 8},
    ),
)

LOADED_TILE, PROXY_FENCE = (
    "Await(loaded, cuda_in_order, ~0)",
    "Fence(cuda_in_order, cuda_generic_and_async_proxy)",
)
STORE, STORED = "Sm90_copy_tensor_to_gmem_2d_f32(", "Await(stored, cuda_in_order, 0)"

TMA_ROUND_TRIP = (
    Twin("the load is not awaited", LOADED_TILE, "pass", RAW, "tile[tid"),
    Twin("the load before is awaited", LOADED_TILE, "Await(loaded, cuda_in_order, ~1)", RAW, "tile[tid"),
    Twin(
        "threads do not see what was loaded",
        LOADED_TILE,
        "Await(loaded, cuda_temporal, ~0)",
        RAW,
        "tile[tid",
        unseen="whoever waits for an mbarrier sees what TMA wrote",
    ),
    Twin("no proxy fence before the store", PROXY_FENCE, FENCE, RAW, STORE),
    Twin(
        "a fence of each thread before the store",
        PROXY_FENCE,
        f"for tid in cuda_threads(0, THREADS, unit=cuda_thread):\n    {PROXY_FENCE}",
        RAW,
        STORE,
    ),
    Twin(
        "the fence before the store waits for nothing",
        PROXY_FENCE,
        "Fence(cuda_temporal, cuda_generic_and_async_proxy)",
        RAW,
        STORE,
        unseen="the barrier of CUDA orders more than the fence asks for",
    ),
    Twin("no fence before the store", PROXY_FENCE, "pass", RAW, STORE),
    Twin(
        "no proxy fence before the next load",
        PROXY_FENCE,
        FENCE,
        WAR,
        LOAD,
        nth=2,
        policy=Policy.strict,
        unseen="a barrier suffices after reads",
    ),
    Twin("no fence after the store", PROXY_FENCE, "pass", WAR, LOAD, nth=2),
    Twin("the store is not awaited", STORED, "pass", WAR, LOAD),
    Twin(
        "a store may be in flight when the tile is loaded again",
        STORED,
        "Await(stored, cuda_in_order, 1)",
        WAR,
        LOAD,
    ),
    Twin(
        "a store that a warp executes",
        "for tid in cuda_threads(0, 1, unit=cuda_thread)",
        "for tid in cuda_threads(0, 1, unit=cuda_warp)",
        "instr-unit",
        STORE,
    ),
    Twin(
        "a box of another size",
        "Sm90_tensorMap(0, ROWS, COLUMNS)",
        "Sm90_tensorMap(0, ROWS, COLUMNS // 2)",
        "instr-memory",
        LOAD,
    ),
)

SPLIT_K_WORKSPACE = (
    Twin(
        "all tasks have one plane",
        "partial[s, TM * m + i, TN * n + j] = acc",
        "partial[0, TM * m + i, TN * n + j] = acc",
        WAW,
        "partial[0",
    ),
    Twin(
        "the tiles of two tasks are one",
        "C[TM * m + i, TN * n + j] = acc",
        "C[i, TN * n + j] = acc",
        WAW,
        "C[i",
    ),
    Twin(
        "partial sums are added up in the kernel that computes them",
        "partial[s, TM * m + i, TN * n + j] = acc[i, j]",
        "partial[s, TM * m + i, TN * n + j] = acc[i, j]\n"
        "if s == SPLITS - 1:\n"
        "    for other in seq(0, SPLITS):\n"
        "        acc[i, j] += partial[other, TM * m + i, TN * n + j]",
        RAW,
        "acc[i, j] += partial[other",
    ),
    Twin(
        "a thread has the sum of another one", "acc[i, j] = 0.0", "acc[j, i] = 0.0", "dist-c11", "acc[j, i]"
    ),
    Twin(
        "all threads have one sum",
        "acc: f32[TM, TN] @ CudaRmem",
        "acc: f32[TM, TN] @ CudaSmemLinear",
        FREE_READ,
        "acc: f32",
    ),
    Twin(
        "more rows than threads",
        "unit=TN * cuda_thread",
        "unit=2 * TN * cuda_thread",
        "coll-tile-c5",
        "for i in",
    ),
    Twin(
        "a slice too many",
        "for s in seq(0, SPLITS)",
        "for s in seq(0, SPLITS + 1)",
        "seq-bounds",
        "acc[i, j] += partial",
    ),
)

ADD = "cuda_atomic_add_f32(C[TM * m + i, TN * n + j], acc)"

SPLIT_K_ATOMICS = (
    Twin(
        "additions that are not atomic",
        ADD,
        "C[TM * m + i, TN * n + j] += acc",
        WAW,
        "C[TM * m + i, TN * n + j] += acc",
    ),
    Twin(
        "the first task of a tile sets it to zero",
        "acc = 0.0",
        "acc = 0.0\nif s == SPLITS - 1:\n    C[TM * m + i, TN * n + j] = 0.0",
        WAW,
        "C[TM * m + i, TN * n + j] = 0.0",
        line=2,
    ),
    Twin(
        "a task reads what all add to",
        ADD,
        f"acc += C[TM * m + i, TN * n + j]\n{ADD}",
        RAW,
        "acc += C",
    ),
    Twin(
        "an atomic addition to registers",
        "cuda_atomic_add_f32(C[TM * m + i, TN * n + j], acc)",
        "cuda_atomic_add_f32(acc, acc)",
        "instr-memory",
        "cuda_atomic",
    ),
    Twin(
        "a row of threads adds one element",
        "for j in cuda_threads(0, TN, unit=cuda_thread):",
        "for j in seq(0, TN):",
        "instr-scalar-unit",
        "C[TM * m + i, TN * n + j] = 0.0",
    ),
)

GEMV = (
    Twin("no fence before the first round", FENCE, "pass", RAW, "sums[w, lane] += sums[w, lane + 16]"),
    Twin("no fence between two rounds", FENCE, "pass", RAW, "sums[w, lane] += sums[w, lane + 4]", nth=3),
    Twin("no fence after the last round", FENCE, "pass", RAW, "y[WARPS * m + w] = sums", nth=5),
    Twin(
        "every lane has a fence of its own",
        FENCE,
        f"for lane in cuda_threads(0, 32, unit=cuda_thread):\n    {FENCE}",
        RAW,
        "sums[w, lane] += sums[w, lane + 8]",
        nth=2,
    ),
    Twin(
        "a round adds what others are adding to",
        "sums[w, lane + 8]",
        "sums[w, lane + 7]",
        WAR,
        "sums[w, lane] += sums[w, lane + 7]",
    ),
    Twin(
        "a round of all lanes",
        "cuda_threads(0, 16, unit=cuda_thread)",
        "cuda_threads(0, 32, unit=cuda_thread)",
        "seq-bounds",
        "sums[w, lane] += sums[w, lane + 16]",
    ),
    Twin("warps share a row", "sums[w, lane] += A", "sums[0, lane] += A", WAR, "sums[0, lane] += A"),
    Twin("shared memory ends while it is read", FENCE, "pass", FREE_READ, "sums: f32", nth=6),
    Twin(
        "a lane reads the register of another",
        "= total[w, lane]",
        "= total[w, 0]",
        "dist-c6",
        "y[WARPS * m + w] = total[w, 0]",
        program="by_shuffles",
    ),
    Twin(
        "every lane writes the sum",
        "if lane == 0:",
        "if lane >= 0:",
        WAW,
        "y[WARPS * m + w] = total",
        program="by_shuffles",
        unseen="all lanes write the same",
    ),
    Twin(
        "shuffles of all warps",
        "cuda_warp_sum_f32(total[w, :], sums[w, :])",
        "cuda_warp_sum_f32(total[0, :], sums[0, :])",
        "dist-c6",
        "cuda_warp_sum_f32",
        program="by_shuffles",
    ),
    Twin(
        "shared memory is shuffled",
        "sums: f32[WARPS, 32] @ CudaRmem",
        "sums: f32[WARPS, 32] @ CudaSmemLinear",
        "instr-memory",
        "cuda_warp_sum_f32",
        program="by_shuffles",
    ),
)

TWINS = {
    "vector_add": VECTOR_ADD,
    "fences": FENCES,
    "cp_async": CP_ASYNC,
    "cp_async_groups": CP_ASYNC_GROUPS,
    "gemm_sm80_fence": GEMM_SM80_FENCE,
    "gemm_sm80_ring": GEMM_SM80_RING,
    "tma_round_trip": TMA_ROUND_TRIP,
    "gemm_sm90_ring": GEMM_SM90_RING,
    "gemm_sm90_multicast": GEMM_SM90_MULTICAST,
    "split_k_workspace": SPLIT_K_WORKSPACE,
    "split_k_atomics": SPLIT_K_ATOMICS,
    "gemv": GEMV,
}
"""The twins of each example."""
