"""Idioms of CUDA and how Spork says them; tests run every program, and a wrong twin of each."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

from soundline.impl.spork import Proc, proc_from_text

HEAD = """\
def f(x: f32[{x}] @ CudaGmemLinear, y: f32[{x}] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim={threads}):
        for task in cuda_tasks(0, 1):
"""


@dataclass(frozen=True)
class Idiom:
    """What is written in CUDA, what in Spork, and a mistake that the machine names."""

    title: str
    cuda: str
    spork: str
    mistake: str
    """What is done wrong in the twin."""
    wrong: tuple[str, str]
    """A line, and what the twin has in its place, or nothing."""
    hazard: str
    """The first finding about the twin."""
    note: str = ""
    threads: int = 64
    rows: str = "4, 64"
    whole: bool = False
    """Whether the text is the whole program, and not the body of its task."""

    def text(self, *, twin: bool = False) -> str:
        """The program, or its twin."""
        body = dedent(self.spork).strip("\n")
        if twin:
            old, new = self.wrong
            lines = body.split("\n")
            (at,) = (k for k, line in enumerate(lines) if line.strip() == old)
            lines[at : at + 1] = [lines[at].replace(old, new)] if new else []
            body = "\n".join(lines)
        if self.whole:
            return body + "\n"
        return HEAD.format(x=self.rows, threads=self.threads) + indent(body, " " * 12) + "\n"

    def proc(self, *, twin: bool = False) -> Proc:
        """The same as a program."""
        return proc_from_text(self.text(twin=twin))


IDIOMS: tuple[Idiom, ...] = (
    Idiom(
        "``__syncthreads`` before shared memory is filled again",
        """
        for (int k = 0; k < 4; ++k) {
          s[t] = x[k][t];
          __syncthreads();
          y[k][t] = s[63 - t];
          __syncthreads();  // before the refill
        }
        """,
        """
        s: f32[64] @ CudaSmemLinear
        for k in seq(0, 4):
            for t in cuda_threads(0, 64, unit=cuda_thread):
                s[t] = x[k, t]
            Fence(cuda_in_order, cuda_in_order)
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[k, t] = s[63 - t]
            Fence(cuda_in_order, cuda_in_order)  # before the refill
        """,
        "the second fence is left out",
        ("Fence(cuda_in_order, cuda_in_order)  # before the refill", ""),
        "mach-write-war",
    ),
    Idiom(
        "``cp.async``, ``wait_group``, then ``__syncthreads``",
        """
        for (int k = 0; k < 5; ++k) {
          if (k < 4 && t < 16)
            __pipeline_memcpy_async(
                &s[k % 2][4 * t], &x[k][4 * t], 16);
          __pipeline_commit();
          if (k >= 1) __pipeline_wait_prior(1);
          __syncthreads();
          if (k >= 1)
            y[k - 1][t] = s[(k - 1) % 2][63 - t];
          __syncthreads();
        }
        __pipeline_wait_prior(0);
        """,
        """
        s: f32[2, 64] @ CudaSmemLinear
        groups: barrier[16] @ CudaCommitGroup
        for k in seq(0, 5):
            for i in cuda_threads(0, 16, unit=cuda_thread):
                if k < 4:
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(s[k % 2, 4 * i : 4 * i + 4], x[k, 4 * i : 4 * i + 4], size=4)
                Arrive(Sm80_cp_async, 1) >> groups[i]
                if k >= 1:
                    Await(groups[i], cuda_in_order, 1)
            Fence(cuda_in_order, cuda_in_order)
            if k >= 1:
                for t in cuda_threads(0, 64, unit=cuda_thread):
                    y[k - 1, t] = s[(k - 1) % 2, 63 - t]
            Fence(cuda_in_order, Sm80_generic)
        for i in cuda_threads(0, 16, unit=cuda_thread):
            Await(groups[i], cuda_in_order, 0)
        Fence(cuda_in_order, cuda_in_order)  # the shared memory ends
        """,
        "two groups may still be in flight",
        ("Await(groups[i], cuda_in_order, 1)", "Await(groups[i], cuda_in_order, 2)"),
        "mach-read-raw",
        "A commit group belongs to the thread that commits it. The fence after the wait synchronizes the "
        "other threads.",
    ),
    Idiom(
        "One thread arrives for its warp",
        """
        if (warp == 0) {
          s[lane] = x[0][lane];
          __syncwarp();
          if (lane == 0) mbarrier_arrive(&ready);
        } else {
          mbarrier_wait(&ready, phase);
          y[0][lane] = s[31 - lane];
        }
        """,
        """
        s: f32[64] @ CudaSmemLinear
        ready: barrier @ CudaMbarrier
        with CudaWarps(0, 1):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                s[t] = x[0, t]
            Fence(cuda_in_order, cuda_in_order)
            for e in cuda_threads(0, 1, unit=cuda_thread):
                Arrive(cuda_in_order, 1) >> ready
        with CudaWarps(1, 2):
            Await(ready, cuda_in_order, ~0)
            for t in cuda_threads(0, 32, unit=cuda_thread):
                y[0, t] = s[31 - t]
        Fence(cuda_in_order, cuda_in_order)  # the shared memory ends
        """,
        "the warp does not synchronize before its thread arrives",
        ("Fence(cuda_in_order, cuda_in_order)", ""),
        "mach-read-raw",
    ),
    Idiom(
        "Some warps synchronize, not the whole CTA",
        """
        // two groups of two warps
        s[g][t] = x[g][t];
        mbarrier_arrive(&met[g]);
        mbarrier_wait(&met[g], phase);
        y[g][t] = s[g][63 - t];
        """,
        """
        s: f32[2, 64] @ CudaSmemLinear
        met: barrier[2] @ CudaMbarrier
        for g in cuda_threads(0, 2, unit=2 * cuda_warp):
            for t in cuda_threads(0, 64, unit=cuda_thread):
                s[g, t] = x[g, t]
            Arrive(cuda_in_order, 1) >> met[g]
            Await(met[g], cuda_in_order, ~0)
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[g, t] = s[g, 63 - t]
        Fence(cuda_in_order, cuda_in_order)  # the shared memory ends
        """,
        "a group reads what the other group has written",
        ("y[g, t] = s[g, 63 - t]", "y[g, t] = s[1 - g, 63 - t]"),
        "mach-write-war",
        "A fence is executed by one warp, by a whole CTA or by a whole cluster (``bar.sync`` with a number of "
        "threads is not "
        "generated). Other groups of warps synchronize at an mbarrier.",
        threads=128,
    ),
    Idiom(
        "A pipeline of D stages with full and empty barriers",
        """
        // producer
        mbarrier_wait(&empty[k % 2], parity);
        s[k % 2][lane] = x[k][lane];
        mbarrier_arrive(&full[k % 2]);
        // consumer
        mbarrier_wait(&full[k % 2], parity);
        y[k][lane] = s[k % 2][31 - lane];
        mbarrier_arrive(&empty[k % 2]);
        """,
        """
        s: f32[2, 32] @ CudaSmemLinear
        ring: barrier @ CudaMbarrier
        for k in seq(0, 4):
            with CudaWarps(0, 1):
                ReverseAwait(ring, cuda_in_order, ~2)
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    s[k % 2, t] = x[k, t]
                Arrive(cuda_in_order, 1) >> ring
            with CudaWarps(1, 2):
                Await(ring, cuda_in_order, ~0)
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    y[k, t] = s[k % 2, 31 - t]
                ReverseArrive(cuda_in_order, 1) >> ring
        Fence(cuda_in_order, cuda_in_order)  # the shared memory ends
        """,
        "the ring has two slots, and the producer runs three ahead",
        ("ReverseAwait(ring, cuda_in_order, ~2)", "ReverseAwait(ring, cuda_in_order, ~3)"),
        "mach-write-war",
        "One barrier with two sides is both rings: its *forward* side is ``full``, its *reverse* side ``empty``. "
        "You do not write slots and parities: ``~N`` awaits the arrive N steps back, and the generated code "
        "counts both. "
        "A barrier is therefore not indexed by a stage (``full[k % 2]`` is refused, :law:`dist-barrier-c1`): "
        "an index distinguishes collectives.",
    ),
    Idiom(
        "One lane releases a slot of the ring",
        """
        y[k][lane] = s[k % 2][31 - lane];
        __syncwarp();
        if (lane == 0) mbarrier_arrive(&empty[k % 2]);
        """,
        """
        s: f32[2, 32] @ CudaSmemLinear
        ring: barrier @ CudaMbarrier
        for k in seq(0, 4):
            with CudaWarps(0, 1):
                ReverseAwait(ring, cuda_in_order, ~2)
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    s[k % 2, t] = x[k, t]
                Arrive(cuda_in_order, 1) >> ring
            with CudaWarps(1, 2):
                Await(ring, cuda_in_order, ~0)
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    y[k, t] = s[k % 2, 31 - t]
                Fence(cuda_in_order, cuda_in_order)
                for e in cuda_threads(0, 1, unit=cuda_thread):
                    ReverseArrive(cuda_in_order, 1) >> ring
        Fence(cuda_in_order, cuda_in_order)  # the shared memory ends
        """,
        "the lane does not wait for its warp",
        ("Fence(cuda_in_order, cuda_in_order)", ""),
        "mach-write-war",
    ),
    Idiom(
        "Several consumers of one ring",
        """
        // consumer warps 1 and 2, in code of their own
        mbarrier_wait(&full[k % 2], parity);
        ...
        mbarrier_arrive(&empty[k % 2]);  // count 2
        """,
        """
        s: f32[2, 32] @ CudaSmemLinear
        ring: barrier @ CudaMbarrier
        for k in seq(0, 4):
            with CudaWarps(0, 1):
                ReverseAwait(ring, cuda_in_order, ~2)
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    s[k % 2, t] = x[k, t]
                Arrive(cuda_in_order, 1) >> ring
            with CudaWarps(1, 3):
                Await(ring, cuda_in_order, ~0)
                for w in cuda_threads(0, 2, unit=cuda_warp):
                    for t in cuda_threads(0, 32, unit=cuda_thread):
                        y[k, 32 * w + t] = s[k % 2, 31 - t]
                ReverseArrive(cuda_in_order, 1) >> ring
        Fence(cuda_in_order, cuda_in_order)  # the shared memory ends
        """,
        "the consumers wait for the previous stage",
        ("Await(ring, cuda_in_order, ~0)", "Await(ring, cuda_in_order, ~1)"),
        "mach-read-raw",
        "All statements of one side of a barrier are executed by the same threads: two blocks of warps that each "
        "await it "
        "are refused (:law:`dist-barrier-c2`), because the number of arrivals would not be the same. Let both groups "
        "execute the "
        "await and the arrive together, and divide them in between with ``cuda_threads`` or ``CudaWarps``; or "
        "give each "
        "group a ring of its own.",
        threads=96,
    ),
    Idiom(
        "TMA, issued by one thread",
        """
        if (threadIdx.x == 0) {
          mbarrier_arrive_expect_tx(&ready, 256);
          cp_async_bulk_tensor_2d(s, &map, 0, 8 * k, &ready);
        }
        mbarrier_wait(&ready, phase);
        y[8 * k + t / 8][t % 8] = s[t / 8][7 - t % 8];
        fence_proxy_async();
        __syncthreads();
        """,
        """
        def f(x: f32[16, 8] @ CudaGmemLinear, y: f32[16, 8] @ CudaGmemLinear):
            x_map = x[:, :] @ Sm90_tensorMap(0, 8, 8)
            with CudaDeviceFunction(blockDim=64):
                for task in cuda_tasks(0, 1):
                    s: f32[8, 8] @ CudaSmemLinear
                    ready: barrier @ CudaMbarrier
                    for k in seq(0, 2):
                        tile = x_map[8 * k : 8 * k + 8, :]
                        with CudaWarps(0, 1):
                            with CudaAsync(tma_to_smem_async):
                                Sm90_copy_tensor_to_smem_2d_f32(s, tile, n0=8, n1=8) >> ready
                                Arrive(tma_to_smem_async, 1) >> ready
                        Await(ready, cuda_in_order, ~0)
                        for t in cuda_threads(0, 64, unit=cuda_thread):
                            y[8 * k + t // 8, t % 8] = s[t // 8, 7 - t % 8]
                        Fence(cuda_in_order, cuda_generic_and_async_proxy)
        """,
        "the next load does not wait for the proxy",
        ("Fence(cuda_in_order, cuda_generic_and_async_proxy)", "Fence(cuda_in_order, cuda_in_order)"),
        "mach-write-waw",
        "The instruction of the library is one of a warp, which elects the thread that issues it and announces "
        "the bytes; so it is inside ``CudaWarps(0, 1)`` and not in a loop over threads. ``>> ready`` and the "
        "Arrive are the "
        "``expect_tx``.",
        whole=True,
    ),
    Idiom(
        "A shuffle in place",
        """
        v += __shfl_xor_sync(~0u, v, 16);
        """,
        """
        v: f32[32] @ CudaRmem
        w: f32[32] @ CudaRmem
        for t in cuda_threads(0, 32, unit=cuda_thread):
            v[t] = x[0, t]
        cuda_shfl_xor_f32(w[:], v[:], mask=16)
        for t in cuda_threads(0, 32, unit=cuda_thread):
            y[0, t] = v[t] + w[t]
        """,
        "the result goes to the register that is read",
        ("cuda_shfl_xor_f32(w[:], v[:], mask=16)", "cuda_shfl_xor_f32(v[:], v[:], mask=16)"),
        "seq-overlap",
        "Memory that an instruction writes must not be accessed through another operand: in the sequential "
        "reading, the loop over lanes would read lanes that were already written. A second register "
        "costs nothing, because the compiler assigns both to "
        "one. ``cuda_warp_sum_f32`` is all five steps.",
        threads=32,
    ),
)
"""The idioms, in the order in which the page tells them."""

REFUSED = {
    "a barrier that is indexed by a stage": (
        """
        full: barrier[2] @ CudaMbarrier
        for k in seq(0, 4):
            with CudaWarps(0, 1):
                Arrive(cuda_in_order, 1) >> full[k % 2]
            with CudaWarps(1, 2):
                Await(full[k % 2], cuda_in_order, ~0)
        """,
        "dist-barrier-c1",
    ),
    "two groups that await in separate blocks": (
        """
        ring: barrier @ CudaMbarrier
        Arrive(cuda_in_order, 1) >> ring
        with CudaWarps(0, 1):
            Await(ring, cuda_in_order, ~0)
        with CudaWarps(1, 2):
            Await(ring, cuda_in_order, ~0)
        """,
        "dist-barrier-c2",
    ),
    "a fence of some warps": (
        """
        for g in cuda_threads(0, 2, unit=2 * cuda_warp):
            Fence(cuda_in_order, cuda_in_order)
        """,
        "fence-c6",
    ),
}
"""What the page says to be refused, and by which id."""

LEFT_OUT = {
    "``tcgen05`` and tensor memory (sm_100)": "the source has no timeline for them; they would need new "
    "instructions and a new memory",
    "programmatic dependent launch": "the kernels of a program run one after another; overlap would need a "
    "separate signature",
    "named barriers (``bar.sync id, count``)": "an mbarrier with the threads that synchronize (above)",
    "conditions that depend on data": "control flow depends only on sizes, loop indices and thread numbers, "
    "so that the machine can follow every thread; select values by a conditional expression instead",
    "loops whose length depends on data": "as above; run to the maximal length and select values",
    "warp votes, ``match`` and ``activemask``": "what the lanes of a warp do together is a shuffle or a warp reduction",
    "``volatile``, ``ld.acquire``, ``st.release``, ``__threadfence``": "threads communicate by fences and "
    "barriers; CTAs communicate at the end of the kernel, or by atomic additions",
    "cooperative grid synchronization": "all CTAs synchronize only at the end of a kernel",
    "dynamic shared memory sizes": "sizes of storage are those of the program's sizes, known at launch",
}
"""What CUDA has and Spork has not, and what stands for it."""
