"""
Constructs of the device
========================

Device functions, tasks, loops over threads, warps, asynchronous blocks, storage and instructions: what they say in each
reading.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.spork.constructs.schema import Construct, program

DEVICE_FUNCTION: Final = Construct(
    slug="cuda-device-function",
    title="CudaDeviceFunction",
    group="block",
    section="Async Blocks",
    form=program(
        """
        with CudaDeviceFunction(blockDim=N | warp_config=[CudaWarpConfig(NAME, COUNT, setmaxnreg_dec=R), ...],
                                clusterDim=C, blocks_per_sm=B):
            TASKS
        """
    ),
    prose=(
        "Code for the device. Its threads are given by a number, or as named warps, which may give up or take "
        "registers (setmaxnreg)."
    ),
    sequential="The tasks are executed in order.",
    machine="The launch and the end order all timelines of CPU and device (S-12).",
    parallel="The tasks run between launch and end.",
    lowering=(
        "A kernel and its launch, with as many CTAs as the multiprocessors hold, C in a cluster. A kernel of "
        "clusters begins and ends with barrier.cluster, so that no CTA has exited while another signals it "
        "(S-20)."
    ),
    laws=(
        "prog-device-nest",
        "prog-cpu-only",
        "prog-block-dim",
        "prog-device-number",
        "prog-warp-config",
        *(f"coll-device-c{n}" for n in range(1, 9)),
        *(f"coll-maxnreg-c{n}" for n in range(1, 5)),
        "static-cluster",
    ),
    example=program(
        """
        def f(x: f32[64] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64, blocks_per_sm=2):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 64, unit=cuda_thread):
                        x[i] = 0.0
        """
    ),
    wrong=program(
        """
        def f(x: f32[64] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64):
                for i in cuda_threads(0, 64, unit=cuda_thread):
                    x[i] = 0.0
        """
    ),
    breaks="prog-device-nest",
)

TASKS: Final = Construct(
    slug="cuda-tasks",
    title="cuda_tasks",
    group="loop",
    section="Loop Mode",
    form=program(
        """
        for NAME in cuda_tasks(LO, HI):
            STATEMENTS
        """
    ),
    prose=(
        "A device function contains only a nest of one or more of these loops. Every iteration of the nest is a "
        "*task*. One top-level collective executes a task: a CTA, or a cluster if clusterDim is more than 1."
    ),
    sequential="As seq.",
    machine=(
        "Each task has its own threads, shared memory (S-07) and barriers (S-27), and two tasks of one launch are "
        "not ordered."
    ),
    parallel="The tasks are interleaved.",
    lowering="A persistent kernel whose CTAs or clusters take the tasks in turn; between two tasks of one of "
    "them the compiler emits a barrier and a proxy fence (S-28).",
    laws=(
        "prog-tasks-place",
        "prog-device-nest",
        "static-task-bounds",
        "mach-read-raw",
        "mach-write-waw",
        "mach-write-war",
    ),
    example=program(
        """
        def f(n: size, x: f32[128 * n] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=128):
                for t in cuda_tasks(0, n):
                    for i in cuda_threads(0, 128, unit=cuda_thread):
                        x[128 * t + i] = 1.0
        """
    ),
    wrong=program(
        """
        def f(n: size, x: f32[128 * n] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=128):
                for t in cuda_tasks(1, n):
                    for i in cuda_threads(0, 128, unit=cuda_thread):
                        x[128 * t + i] = x[128 * t + i - 128]
        """
    ),
    breaks="mach-read-raw",
    sizes={"n": 3},
)

THREADS: Final = Construct(
    slug="cuda-threads",
    title="cuda_threads",
    group="loop",
    section="cuda_threads Loops",
    form=program(
        """
        for NAME in cuda_threads(0, COUNT, unit=UNIT):
            STATEMENTS
        """
    ),
    prose=(
        "Divides the threads of the collective: every iteration is executed by one collective of the unit. "
        "COUNT is a constant, at most the number of such collectives. Remaining threads are idle."
    ),
    sequential="As seq.",
    machine="The threads of the iteration execute the statements inside; the loop itself orders nothing.",
    parallel="The collectives are interleaved; each thread executes the one iteration that is its own.",
    lowering=(
        "The iterator is an expression in threadIdx (and the rank of the CTA). If threads remain, there is a "
        "guard."
    ),
    laws=(
        "prog-threads-bounds",
        "prog-device-only",
        *(f"coll-tile-c{n}" for n in range(1, 7)),
        *(f"coll-unit-c{n}" for n in range(1, 7)),
        *(f"coll-domain-c{n}" for n in range(1, 5)),
    ),
    example=program(
        """
        def f(x: f32[8, 16] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=256):
                for t in cuda_tasks(0, 1):
                    for m in cuda_threads(0, 8, unit=16 * cuda_thread):
                        for n in cuda_threads(0, 16, unit=cuda_thread):
                            x[m, n] = 1.0
        """
    ),
    wrong=program(
        """
        def f(x: f32[8, 10] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=256):
                for t in cuda_tasks(0, 1):
                    for w in cuda_threads(0, 8, unit=cuda_warp):
                        for n in cuda_threads(0, 10, unit=4 * cuda_thread):
                            for i in cuda_threads(0, 1, unit=cuda_thread):
                                x[w, n] = 1.0
        """
    ),
    breaks="coll-tile-c5",
)

WARPS: Final = Construct(
    slug="cuda-warps",
    title="CudaWarps",
    group="block",
    section="Warp Specialization",
    form=program(
        """
        with CudaWarps(LO, HI, name=NAME):
            STATEMENTS
        """
    ),
    prose=(
        "Some of the warps execute the block: those with a name, those from LO to HI of the current collective, "
        "or those from LO to HI of a name."
    ),
    sequential="The statements are executed in order.",
    machine="They are executed by the threads of those warps.",
    parallel="The other threads continue.",
    lowering=(
        "A guard on threadIdx. Each name has a separate function, so that its code costs the other warps "
        "nothing."
    ),
    laws=(
        "prog-device-only",
        "prog-warps-range",
        "prog-warps-name",
        "coll-warps-c1",
        "coll-warps-c2",
        *(f"coll-named-c{n}" for n in range(1, 6)),
    ),
    example=program(
        """
        def f(x: f32[2] @ CudaGmemLinear):
            with CudaDeviceFunction(warp_config=[CudaWarpConfig("load", 1), CudaWarpConfig("compute", 3)]):
                for t in cuda_tasks(0, 1):
                    with CudaWarps(name="load"):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            x[0] = 0.0
                    with CudaWarps(0, 1, name="compute"):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            x[1] = 1.0
        """
    ),
    wrong=program(
        """
        def f(x: f32[2] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=128):
                for t in cuda_tasks(0, 1):
                    with CudaWarps(3, 5):
                        for i in cuda_threads(0, 1, unit=cuda_thread):
                            x[0] = 0.0
        """
    ),
    breaks="coll-warps-c2",
)

ASYNC: Final = Construct(
    slug="cuda-async",
    title="CudaAsync",
    group="block",
    section="Async Blocks",
    form=program(
        """
        with CudaAsync(TIMELINE):
            STATEMENTS
        """
    ),
    prose=(
        "The instructions in the block are on the instr-tl of the timeline: Sm80_cp_async, tma_to_smem_async, "
        "tma_to_gmem_async or wgmma_async. In the block only instructions read and write memory."
    ),
    sequential="The statements are executed in order.",
    machine="The accesses inside have signatures of that instr-tl.",
    parallel=(
        "The effects of the instructions happen at any time until somebody has waited for their completion."
    ),
    lowering="Nothing by itself; a block of wgmma begins with its fence and ends with its commit.",
    laws=(
        "prog-async-nest",
        "tl-async-block",
        "instr-timeline",
        "instr-async-scalar",
    ),
    example=program(
        """
        def f(x: f32[128] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    s: f32[128] @ CudaSmemLinear
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        with CudaAsync(Sm80_cp_async):
                            Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
                    Fence(Sm80_cp_async, cuda_in_order)
        """
    ),
    wrong=program(
        """
        def f(x: f32[128] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        with CudaAsync(Sm80_cp_async):
                            x[i] = 0.0
        """
    ),
    breaks="instr-async-scalar",
)

ALLOC: Final = Construct(
    slug="alloc",
    title="Allocation",
    group="storage",
    section="Distributed Memory",
    form="NAME: DTYPE[SIZE, ...] @ MEMORY",
    prose=(
        "Storage that exists until the end of its block. It is declared with the size of all shards together. "
        "There is one shard for each collective of the native unit of its memory. The leading indices, which "
        "select the shard, are iterators of cuda_threads loops."
    ),
    sequential="The elements have no values; reading one before it is written is an error (S-09).",
    machine=(
        "The lifetime of its cells begins. At the end of the block the collective that allocated it frees it, "
        "and must see all accesses (S-06). Registers for wgmma begin with the record of a write by their owner "
        "(S-11)."
    ),
    parallel="The cells have arbitrary contents. Shared memory is reused after it is freed.",
    lowering="Registers are variables of a thread without the distributed dimensions; shared memory is a "
    "static offset in one array; global memory is allocated by the CPU.",
    laws=(
        "mem-alloc",
        "mem-scalar",
        "mem-constant",
        "mem-tile",
        "mem-parameter",
        *(f"dist-c{n}" for n in range(1, 15)),
        "mach-use-before-alloc",
        "mach-use-after-free",
        "mach-alloc-live",
        "mach-free-dead",
        "mach-free-owner",
        "mach-free-write",
        "mach-free-read",
        "seq-uninitialized",
        "seq-size",
        "mem-none",
    ),
    example=program(
        """
        def f(x: f32[2, 32] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64):
                for t in cuda_tasks(0, 1):
                    v: f32[2, 32] @ CudaRmem
                    for w in cuda_threads(0, 2, unit=cuda_warp):
                        for i in cuda_threads(0, 32, unit=cuda_thread):
                            v[w, i] = x[w, i]
                            x[w, i] = 2.0 * v[w, i]
        """
    ),
    wrong=program(
        """
        def f(a: f32[2] @ CudaGmemLinear, b: f32[2] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    v: f32 @ CudaRmem
                    for i in cuda_threads(0, 2, unit=cuda_thread):
                        v = a[i]
                    for i in cuda_threads(0, 2, unit=cuda_thread):
                        b[i] = v
        """
    ),
    breaks="dist-c5",
)

INSTRUCTION: Final = Construct(
    slug="instruction-call",
    title="Call of an instruction",
    group="call",
    section="Async Blocks",
    form="INSTRUCTION(E, ARRAY[LO:HI], key=E) >> BARRIER[INDEX, ...]",
    prose=(
        "An instruction is a Python object. It states who executes it, on which timeline, and how it uses each "
        "argument; its body is its sequential meaning. A trailing barrier is for instructions that signal their "
        "completion to a barrier, such as TMA; it lies in the CTA whose shared memory is written, and several lie in "
        "all of those (S-26)."
    ),
    sequential="Its body is executed.",
    machine=(
        "The collective accesses every element that the body reads or writes, with the timelines of the "
        "operand. For out-of-order operands V_S begins empty. With a trailing barrier V_A begins empty too, and "
        "the records have the stamp of the next arrive at that barrier. Each thread has its own record, except "
        "for convergent operands (S-04). Atomic additions are not checked against each other (S-13)."
    ),
    parallel=(
        "In order: each thread does a part of it, at its own time; all threads use a convergent operand "
        "together. Asynchronous: each element is read and written at any time until completion."
    ),
    lowering="The CUDA text that is registered for the instruction. A function that hardware approximates is the "
    "exact one in the body, and may be off by as much as its chapter says (S-30).",
    laws=(
        "prog-call",
        "prog-reference",
        "instr-timeline",
        "instr-unit",
        "instr-memory",
        "instr-size",
        "instr-trailing",
        "instr-body",
        "mem-instruction",
        "coll-match-c1",
        "coll-match-c2",
        "mach-read-raw",
        "mach-write-waw",
        "mach-write-war",
        "seq-overlap",
        "seq-bounds",
        "mem-read-only",
        "dist-interval",
        "dist-interval-whole",
        "dist-interval-first",
        "dist-interval-unit",
        "dist-interval-alone",
        "bar-trailing",
        "bar-trailing-ctas",
        "tl-pair",
        "instr-operand",
        "instr-atomic",
        "instr-executor",
        "instr-completion",
        "instr-convergent",
        "instr-touch",
    ),
    example=program(
        """
        def f(x: f32[128] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    d: f32[16, 8] @ Sm80_RmemMatrixD
                    Sm80_mma_zero_d_tf32(d[:, :])
        """
    ),
    wrong=program(
        """
        def f(x: f32[128] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    s: f32[128] @ CudaSmemLinear
                    for i in cuda_threads(0, 32, unit=cuda_thread):
                        Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
        """
    ),
    breaks="instr-timeline",
)

DEVICE: Final = (DEVICE_FUNCTION, TASKS, THREADS, WARPS, ASYNC, ALLOC, INSTRUCTION)
"""The constructs of this chapter."""
