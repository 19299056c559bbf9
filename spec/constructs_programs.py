"""
Constructs of programs
======================

Procs, statements, loops, blocks and storage: what they say in each reading. The constructs that synchronize have a
chapter of their own.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.construct_schema import Construct

PROC: Final = Construct(
    slug="proc",
    title="Proc",
    group="program",
    section="Async Blocks",
    form="@proc\ndef NAME(ARGUMENT: TYPE @ MEMORY, ...):\n    assert CONDITION\n    STATEMENTS",
    prose="A procedure. An argument is a `size`, an `index`, a `bool`, or data: a scalar `f32`, an array "
    "`f32[n, m]`, or "
    "a window `[f32][n, m]` with strides of its own. The memory of data is that which it lies in, `DRAM` where none "
    "is named. Assertions stand first and are about sizes, indices and bools. The body is code of the CPU.",
    sequential="The statements are executed in order. A call that breaks an assertion, or passes arrays of "
    "other sizes, is "
    "refused.",
    machine="The data of its arguments is allocated before, and seen by all.",
    parallel="The CPU executes it.",
    lowering="A function in C; device functions inside it become kernels that it launches.",
    laws=("prog-syntax", "prog-identifier", "prog-assert", "prog-body", "seq-assert", "seq-argument"),
    example="def scale(n: size, x: f32[n] @ DRAM):\n    assert n % 4 == 0\n    for i in seq(0, n):\n        "
    "x[i] = 2.0 * x[i]",
)

EXPRESSION: Final = Construct(
    slug="expression",
    title="Expression",
    group="program",
    section="Object Code Features",
    form="LITERAL   NAME   ARRAY[INDEX, ...]   -E   not E   E OPERATOR E   DTYPE(E)   FUNCTION(E, ...)",
    prose="A value. What is made of sizes, indices and numbers alone is *control*: bounds, indices and "
    "conditions are such, "
    "so that what a program does next never depends on data. All else is data, of one dtype; nothing is "
    "converted but "
    "by a call of the dtype. Operators are the ops of UOps that they are named after.",
    sequential="On data the value of the op on its dtype; on control that of integers, with // and % of U-03.",
    machine="Every element that it names is read.",
    parallel="The elements are read one after another, in the order of the text.",
    lowering="The same expression in C++.",
    laws=(
        "prog-bound",
        "prog-kind",
        "prog-rank",
        "prog-index",
        "prog-dtype",
        "prog-condition",
        "prog-literal",
    ),
    example="def f(n: size, x: f32[n, n], y: f32[n]):\n    for i in seq(0, n):\n        y[i] = select(x[i, 0] < "
    "0.0, -x[i, 0], "
    "sqrt(x[i, i])) + f32(i // 2)",
)

WINDOW: Final = Construct(
    slug="window",
    title="Window",
    group="program",
    section="Distributed Memory",
    form="ARRAY[INDEX, LO:HI, ...]        NAME = ARRAY[INDEX, LO:HI, ...] @ MEMORY",
    prose="Part of an array, as an argument of a call. A statement gives it a name; with a memory that makes "
    "windows, a "
    "tensor map for instance, the window is of that memory from there on.",
    sequential="The same elements under other indices; an interval that leaves the array is refused.",
    machine="Nothing: what is done through the window is done to the array.",
    parallel="Nothing.",
    lowering="A pointer with strides; for a tensor map a descriptor that the CPU makes.",
    laws=("prog-window", "mem-window", "seq-bounds"),
    example="def f(x: f32[8, 8] @ DRAM):\n    row = x[3, 0:8]\n    for i in seq(0, 8):\n        row[i] = 0.0",
)

ASSIGN: Final = Construct(
    slug="assign",
    title="Assign",
    group="statement",
    section="cuda_threads Loops",
    form="PLACE = E",
    prose="An element or a scalar gets a value of its dtype. On the device one thread does it, in order.",
    sequential="The place holds the value.",
    machine="The elements of E are read, then the place is written, all by the threads and on the timeline of the "
    "statement.",
    parallel="The thread reads, then writes.",
    lowering="An assignment in C++.",
    laws=("mem-read", "mem-write", "instr-scalar-unit", "instr-async-scalar", "seq-uninitialized"),
    example="def f(x: f32[4] @ DRAM):\n    x[0] = x[1] * 2.0",
)

REDUCE: Final = Construct(
    slug="reduce",
    title="Reduce",
    group="statement",
    section="cuda_threads Loops",
    form="PLACE += E",
    prose="An element or a scalar gets a value added. On the device one thread does it, in order.",
    sequential="The place holds the sum of what it held and the value.",
    machine="As an assignment: the place is written, not read.",
    parallel="The thread reads, adds and writes; another thread may come between.",
    lowering="A compound assignment in C++. It is not atomic; an atomic addition is an instruction.",
    laws=("mem-read", "mem-write", "instr-scalar-unit", "instr-async-scalar", "seq-uninitialized"),
    example="def f(n: size, x: f32[n] @ DRAM, s: f32 @ DRAM):\n    s = 0.0\n    for i in seq(0, n):\n        s "
    "+= x[i]",
)

PASS: Final = Construct(
    slug="pass",
    title="Pass",
    group="statement",
    section="Object Code Features",
    form="pass",
    prose="Nothing, where a statement has to stand.",
    sequential="Nothing.",
    machine="Nothing.",
    parallel="Nothing.",
    lowering="An empty statement.",
    laws=("prog-body",),
    example="def f():\n    pass",
)

IF: Final = Construct(
    slug="if",
    title="If",
    group="statement",
    section="Object Code Features",
    form="if CONDITION:\n    STATEMENTS\nelse:\n    STATEMENTS",
    prose="A choice by sizes, indices and bools, which all threads of a collective make alike.",
    sequential="One of the blocks is executed.",
    machine="The same.",
    parallel="The same, by every thread of the collective.",
    lowering="An if in C++.",
    laws=("prog-condition", "prog-body"),
    example="def f(n: size, x: f32[n] @ DRAM):\n    if 0 < n:\n        x[0] = 0.0",
)

SEQ: Final = Construct(
    slug="seq",
    title="seq",
    group="loop",
    section="Loop Mode",
    form="for NAME in seq(LO, HI):\n    STATEMENTS",
    prose="A plain loop, on the CPU or by each collective of the device.",
    sequential="The body is executed for LO, LO + 1, ..., HI - 1; not at all where LO ≥ HI.",
    machine="The same.",
    parallel="The same, by every thread.",
    lowering="A for loop.",
    laws=("prog-fresh", "prog-index"),
    example="def f(n: size, x: f32[n] @ DRAM):\n    for i in seq(1, n):\n        x[i] = x[i - 1]",
)

PAR: Final = Construct(
    slug="par",
    title="par",
    group="loop",
    section="Loop Mode",
    form="for NAME in par(LO, HI):\n    STATEMENTS",
    prose="A loop of the CPU whose iterations run on threads of their own. It launches no device function.",
    sequential="As seq.",
    machine="Every iteration has a thread of the CPU. The start is a fence by parent and children, and so is "
    "the end; "
    "between the iterations nothing is ordered.",
    parallel="The iterations are interleaved.",
    lowering="An OpenMP loop.",
    laws=("prog-cpu-only",),
    example="def f(n: size, x: f32[n] @ DRAM):\n    for i in par(0, n):\n        x[i] = 1.0",
)

TASKS: Final = Construct(
    slug="cuda-tasks",
    title="cuda_tasks",
    group="loop",
    section="Loop Mode",
    form="for NAME in cuda_tasks(LO, HI):\n    STATEMENTS",
    prose="A nest of one or more of these loops is all that a device function holds. Every iteration of the "
    "nest is a "
    "*task*, which one top-level collective executes: a CTA, or a cluster where clusterDim is more than 1.",
    sequential="As seq.",
    machine="Each task has threads and shared memory of its own, and nothing orders two tasks of one launch (S-07).",
    parallel="The tasks are interleaved.",
    lowering="A persistent kernel whose CTAs or clusters take the tasks in turn; between two tasks of one of "
    "them the "
    "compiler emits a barrier and a proxy fence.",
    laws=("prog-tasks-place", "prog-device-nest"),
    example="def f(n: size, x: f32[128 * n] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=128):\n"
    "        for t in cuda_tasks(0, n):\n            for i in cuda_threads(0, 128, unit=cuda_thread):\n"
    "                x[128 * t + i] = 1.0",
)

THREADS: Final = Construct(
    slug="cuda-threads",
    title="cuda_threads",
    group="loop",
    section="cuda_threads Loops",
    form="for NAME in cuda_threads(0, COUNT, unit=UNIT):\n    STATEMENTS",
    prose="Divides the threads that are there: every iteration is executed by one collective of the unit. COUNT is a "
    "constant, and no more collectives may be asked for than there are; threads that are left over are idle.",
    sequential="As seq.",
    machine="The statements inside are executed by the threads of the iteration; no order comes from the loop.",
    parallel="The collectives are interleaved; each thread executes the one iteration that is its own.",
    lowering="The iterator is an expression in threadIdx (and the rank of the CTA); a guard stands where "
    "threads are left "
    "over.",
    laws=("prog-threads-bounds", "prog-device-only", *(f"coll-tile-c{n}" for n in range(1, 7))),
    example="def f(x: f32[8, 16] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=256):\n"
    "        for t in cuda_tasks(0, 1):\n            for m in cuda_threads(0, 8, unit=16 * cuda_thread):\n"
    "                for n in cuda_threads(0, 16, unit=cuda_thread):\n                    x[m, n] = 1.0",
)

DEVICE: Final = Construct(
    slug="cuda-device-function",
    title="CudaDeviceFunction",
    group="block",
    section="Async Blocks",
    form="with CudaDeviceFunction(blockDim=N | warp_config=[CudaWarpConfig(NAME, COUNT, setmaxnreg_dec=R), ...],\n"
    "                        clusterDim=C, blocks_per_sm=B):\n    TASKS",
    prose="Code of the device. Its threads are given by number, or as warps with names, which may give up or take "
    "registers (setmaxnreg).",
    sequential="The tasks are executed in order.",
    machine="The launch and the end order all timelines of CPU and device (S-12).",
    parallel="The tasks run between launch and end.",
    lowering="A kernel and its launch: as many CTAs as the multiprocessors hold, with C to a cluster.",
    laws=(
        "prog-device-nest",
        "prog-cpu-only",
        "prog-block-dim",
        "prog-device-number",
        "prog-warp-config",
        *(f"coll-device-c{n}" for n in range(1, 7)),
        *(f"coll-maxnreg-c{n}" for n in range(1, 5)),
    ),
    example="def f(x: f32[64] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=64, blocks_per_sm=2):\n"
    "        for t in cuda_tasks(0, 1):\n            for i in cuda_threads(0, 64, unit=cuda_thread):\n"
    "                x[i] = 0.0",
)

ASYNC: Final = Construct(
    slug="cuda-async",
    title="CudaAsync",
    group="block",
    section="Async Blocks",
    form="with CudaAsync(TIMELINE):\n    STATEMENTS",
    prose="The instructions in the block are on the instr-tl of the timeline: Sm80_cp_async, tma_to_smem_async, "
    "tma_to_gmem_async or wgmma_async. Nothing is read or written there but by instructions.",
    sequential="The statements are executed in order.",
    machine="The accesses inside have signatures of that instr-tl.",
    parallel="The effects of the instructions happen at any time until their completion was waited for.",
    lowering="Nothing by itself; the block of wgmma begins with its fence, and ends with its commit.",
    laws=("prog-async-nest", "tl-async-block", "instr-timeline", "instr-async-scalar"),
    example="def f(x: f32[128] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=32):\n"
    "        for t in cuda_tasks(0, 1):\n            s: f32[128] @ CudaSmemLinear\n"
    "            for i in cuda_threads(0, 32, unit=cuda_thread):\n                with CudaAsync(Sm80_cp_async):\n"
    "                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)\n"
    "            Fence(Sm80_cp_async, cuda_in_order)",
)

WARPS: Final = Construct(
    slug="cuda-warps",
    title="CudaWarps",
    group="block",
    section="Warp Specialization",
    form="with CudaWarps(LO, HI, name=NAME):\n    STATEMENTS",
    prose="The block is executed by some of the warps: by those of a name, by those from LO to HI of the warps "
    "that are "
    "there, or by those from LO to HI of a name.",
    sequential="The statements are executed in order.",
    machine="They are executed by the threads of those warps.",
    parallel="The other threads go on.",
    lowering="A guard on threadIdx; each name has a function of its own, so that its code costs no other warp "
    "anything.",
    laws=(
        "prog-device-only",
        "prog-warps-range",
        "prog-warps-name",
        "coll-warps-c1",
        "coll-warps-c2",
        *(f"coll-named-c{n}" for n in range(1, 6)),
    ),
    example="def f(x: f32[2] @ CudaGmemLinear):\n"
    '    with CudaDeviceFunction(warp_config=[CudaWarpConfig("load", 1), CudaWarpConfig("compute", 3)]):\n'
    "        for t in cuda_tasks(0, 1):\n"
    '            with CudaWarps(name="load"):\n                for i in cuda_threads(0, 1, unit=cuda_thread):\n'
    "                    x[0] = 0.0\n"
    '            with CudaWarps(0, 1, name="compute"):\n                for i in cuda_threads(0, 1, '
    "unit=cuda_thread):\n"
    "                    x[1] = 1.0",
)

ALLOC: Final = Construct(
    slug="alloc",
    title="Allocation",
    group="storage",
    section="Distributed Memory",
    form="NAME: DTYPE[SIZE, ...] @ MEMORY",
    prose="Storage that lives to the end of its block. It is declared with the size that all threads see, and "
    "stored in "
    "shards: one for each collective of the native unit of its memory. The leading indices that say which shard is "
    "meant are iterators of cuda_threads loops.",
    sequential="The elements hold nothing; reading one before it was written is refused (S-09).",
    machine="The life of its cells begins. At the end of the block the collective that allocated it frees it, "
    "and has to "
    "see all that was done (S-06).",
    parallel="The cells hold anything. Shared memory is used again after it is freed.",
    lowering="Registers are variables of a thread without the distributed dimensions; shared memory is a static "
    "offset in "
    "one array; global memory is allocated by the CPU.",
    laws=(
        "mem-alloc",
        "mem-scalar",
        "mem-constant",
        "mem-tile",
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
    ),
    example="def f(x: f32[2, 32] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=64):\n"
    "        for t in cuda_tasks(0, 1):\n            v: f32[2, 32] @ CudaRmem\n"
    "            for w in cuda_threads(0, 2, unit=cuda_warp):\n"
    "                for i in cuda_threads(0, 32, unit=cuda_thread):\n"
    "                    v[w, i] = x[w, i]\n                    x[w, i] = 2.0 * v[w, i]",
)

INSTRUCTION: Final = Construct(
    slug="instruction-call",
    title="Call of an instruction",
    group="call",
    section="Async Blocks",
    form="INSTRUCTION(E, ARRAY[LO:HI], key=E) >> BARRIER[INDEX, ...]",
    prose="An instruction is an object of the Python around the program: it says by whom it is executed, on which "
    "timeline, and how it uses each argument; its body is its sequential meaning. A trailing barrier stands "
    "where the "
    "instruction itself tells a barrier of its completion, as TMA does.",
    sequential="Its body is executed.",
    machine="Every element that the body reads or writes is accessed by the collective with the timelines of "
    "the operand. "
    "Out of order: V_S begins empty. With a trailing barrier V_A begins empty too, and the records carry the "
    "stamp of "
    "the next arrive there.",
    parallel="In order: each thread does some part of it, at its own time; an operand that is convergent is "
    "used by all at "
    "once. Asynchronous: each element is read and written at any time until completion.",
    lowering="The text of CUDA that is registered for the instruction.",
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
    ),
    example="def f(x: f32[128] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=32):\n"
    "        for t in cuda_tasks(0, 1):\n            d: f32[16, 8] @ Sm80_RmemMatrixD\n"
    "            Sm80_mma_zero_d_tf32(d[:, :])",
)

PROC_CALL: Final = Construct(
    slug="proc-call",
    title="Call of a proc",
    group="call",
    section="Async Blocks",
    form="PROC(E, ARRAY[LO:HI], key=E)",
    prose="On the CPU a proc calls another. Data lies in the memory that the argument declares.",
    sequential="Its body is executed, its arguments being the places that were given.",
    machine="The same.",
    parallel="The same.",
    lowering="A call in C.",
    laws=("prog-call", "prog-cpu-only", "prog-trailing"),
    example="def twice(n: size, x: f32[n] @ DRAM):\n    assert n % 4 == 0\n    scale(n, x)\n    scale(n, x)",
)

PROGRAMS: Final = (
    PROC,
    EXPRESSION,
    WINDOW,
    ASSIGN,
    REDUCE,
    PASS,
    IF,
    SEQ,
    PAR,
    TASKS,
    THREADS,
    DEVICE,
    ASYNC,
    WARPS,
    ALLOC,
    INSTRUCTION,
    PROC_CALL,
)
"""The constructs of this chapter."""
