"""
Programs and statements
=======================

Procs, expressions, windows and plain statements, loops of the CPU among them: what they say in each reading.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.spork.constructs.schema import Construct, program

PROC: Final = Construct(
    slug="proc",
    title="Proc",
    group="program",
    section="Async Blocks",
    form=program(
        """
        @proc
        def NAME(ARGUMENT: TYPE @ MEMORY, ...):
            assert CONDITION
            STATEMENTS
        """
    ),
    prose="A procedure. An argument is a `size`, an `index`, a `bool`, or data: a scalar `f32`, an array "
    "`f32[n, m]`, or a window `[f32][n, m]` with strides of its own. The memory of data is that which it lies "
    "in, `DRAM` where none is named. Assertions stand first and are about sizes, indices and bools. The body "
    "is code of the CPU.",
    sequential="The statements are executed in order. A call that breaks an assertion, or passes arrays of "
    "other sizes, is refused.",
    machine="The data of its arguments is allocated before, and seen by all.",
    parallel="The CPU executes it.",
    lowering="A function in C; device functions inside it become kernels that it launches.",
    laws=(
        "prog-syntax",
        "prog-identifier",
        "prog-assert",
        "prog-body",
        "seq-assert",
        "seq-argument",
        "static-object",
    ),
    example=program(
        """
        def scale(n: size, x: f32[n] @ DRAM):
            assert n % 4 == 0
            for i in seq(0, n):
                x[i] = 2.0 * x[i]
        """
    ),
    wrong=program(
        """
        def scale(n: size, x: f32[n] @ DRAM):
            x[0] = 1.0
            assert n % 4 == 0
        """
    ),
    breaks="prog-assert",
    sizes={"n": 8},
)

EXPRESSION: Final = Construct(
    slug="expression",
    title="Expression",
    group="program",
    section="Object Code Features",
    form="LITERAL   NAME   ARRAY[INDEX, ...]   -E   not E   E OPERATOR E   DTYPE(E)   FUNCTION(E, ...)",
    prose="A value. What is made of sizes, indices and numbers alone is *control*: bounds, indices and "
    "conditions are such, so that what a program does next never depends on data. All else is data, of one "
    "dtype; nothing is converted but by a call of the dtype. Operators are the ops of UOps that they are named "
    "after.",
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
    example=program(
        """
        def f(n: size, x: f32[n, n], y: f32[n]):
            for i in seq(0, n):
                y[i] = select(x[i, 0] < 0.0, -x[i, 0], sqrt(x[i, i])) + f32(i // 2)
        """
    ),
    wrong=program(
        """
        def f(n: size, x: f32[n, n], y: f64[n]):
            for i in seq(0, n):
                y[i] = y[i] + x[i, i]
        """
    ),
    breaks="prog-dtype",
    sizes={"n": 4},
)

WINDOW: Final = Construct(
    slug="window",
    title="Window",
    group="program",
    section="Distributed Memory",
    form=program(
        """
        ARRAY[INDEX, LO:HI, ...]        NAME = ARRAY[INDEX, LO:HI, ...] @ MEMORY
        """
    ),
    prose="Part of an array, as an argument of a call. A statement gives it a name; with a memory that makes "
    "windows, a tensor map for instance, the window is of that memory from there on.",
    sequential="The same elements under other indices; an interval that leaves the array is refused.",
    machine="Nothing: what is done through the window is done to the array.",
    parallel="Nothing.",
    lowering="A pointer with strides; for a tensor map a descriptor that the CPU makes.",
    laws=(
        "prog-window",
        "mem-window",
        "seq-bounds",
        "mem-view",
        "mem-box",
        "dist-interval",
    ),
    example=program(
        """
        def f(x: f32[8, 8] @ DRAM):
            row = x[3, 0:8]
            for i in seq(0, 8):
                row[i] = 0.0
        """
    ),
    wrong=program(
        """
        def f(x: f32[8, 8] @ DRAM):
            row = x[3, 1:9]
            for i in seq(0, 8):
                row[i] = 0.0
        """
    ),
    breaks="seq-bounds",
)

ASSIGN: Final = Construct(
    slug="assign",
    title="Assign",
    group="statement",
    section="cuda_threads Loops",
    form="PLACE = E",
    prose="An element or a scalar gets a value of its dtype. On the device one thread does it, in order.",
    sequential="The place holds the value.",
    machine="The elements of E are read, then the place is written, all by the threads and on the timeline of "
    "the statement (S-02).",
    parallel="The thread reads, then writes.",
    lowering="An assignment in C++.",
    laws=(
        "mem-read",
        "mem-write",
        "instr-scalar-unit",
        "instr-async-scalar",
        "seq-uninitialized",
    ),
    example=program(
        """
        def f(x: f32[4] @ DRAM):
            x[0] = x[1] * 2.0
        """
    ),
    wrong=program(
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    x[0] = x[1] * 2.0
        """
    ),
    breaks="instr-scalar-unit",
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
    lowering="A compound assignment in C++. It is not atomic; an atomic addition is an instruction (S-13).",
    laws=(
        "mem-read",
        "mem-write",
        "instr-scalar-unit",
        "instr-async-scalar",
        "seq-uninitialized",
        "mach-write-waw",
    ),
    example=program(
        """
        def f(n: size, x: f32[n] @ DRAM, s: f32 @ DRAM):
            s = 0.0
            for i in seq(0, n):
                s += x[i]
        """
    ),
    wrong=program(
        """
        def f(x: f32[64] @ CudaGmemLinear, s: f32[1] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=64):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 64, unit=cuda_thread):
                        s[0] += x[i]
        """
    ),
    breaks="mach-write-waw",
    sizes={"n": 8},
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
    laws=(
        "prog-body",
        "prog-syntax",
    ),
    example=program(
        """
        def f():
            pass
        """
    ),
    wrong=program(
        """
        def f():
            return
        """
    ),
    breaks="prog-syntax",
)

IF: Final = Construct(
    slug="if",
    title="If",
    group="statement",
    section="Object Code Features",
    form=program(
        """
        if CONDITION:
            STATEMENTS
        else:
            STATEMENTS
        """
    ),
    prose="A choice by sizes, indices and bools, which all threads of a collective make alike.",
    sequential="One of the blocks is executed.",
    machine="The same.",
    parallel="The same, by every thread of the collective.",
    lowering="An if in C++.",
    laws=(
        "prog-condition",
        "prog-body",
    ),
    example=program(
        """
        def f(n: size, x: f32[n] @ DRAM):
            if 0 < n:
                x[0] = 0.0
        """
    ),
    wrong=program(
        """
        def f(n: size, x: f32[n] @ DRAM):
            if 0.0 < x[0]:
                x[0] = 0.0
        """
    ),
    breaks="prog-condition",
    sizes={"n": 4},
)

SEQ: Final = Construct(
    slug="seq",
    title="seq",
    group="loop",
    section="Loop Mode",
    form=program(
        """
        for NAME in seq(LO, HI):
            STATEMENTS
        """
    ),
    prose="A plain loop, on the CPU or by each collective of the device.",
    sequential="The body is executed for LO, LO + 1, ..., HI - 1; not at all where LO ≥ HI.",
    machine="The same.",
    parallel="The same, by every thread.",
    lowering="A for loop.",
    laws=(
        "prog-fresh",
        "prog-index",
    ),
    example=program(
        """
        def f(n: size, x: f32[n] @ DRAM):
            for i in seq(1, n):
                x[i] = x[i - 1]
        """
    ),
    wrong=program(
        """
        def f(n: size, x: f32[n, n] @ DRAM):
            for i in seq(1, n):
                for i in seq(0, n):
                    x[i, i] = 0.0
        """
    ),
    breaks="prog-fresh",
    sizes={"n": 4},
)

PAR: Final = Construct(
    slug="par",
    title="par",
    group="loop",
    section="Loop Mode",
    form=program(
        """
        for NAME in par(LO, HI):
            STATEMENTS
        """
    ),
    prose="A loop of the CPU whose iterations run on threads of their own. It launches no device function.",
    sequential="As seq.",
    machine="Every iteration has a thread of the CPU. The start is a fence by parent and children, and so is "
    "the end; between the iterations nothing is ordered.",
    parallel="The iterations are interleaved.",
    lowering="An OpenMP loop.",
    laws=(
        "prog-cpu-only",
        "static-par",
        "mach-read-raw",
    ),
    example=program(
        """
        def f(n: size, x: f32[n] @ DRAM):
            for i in par(0, n):
                x[i] = 1.0
        """
    ),
    wrong=program(
        """
        def f(n: size, x: f32[n] @ DRAM):
            for i in par(1, n):
                x[i] = x[i - 1]
        """
    ),
    breaks="mach-read-raw",
    sizes={"n": 4},
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
    laws=(
        "prog-call",
        "prog-cpu-only",
        "prog-trailing",
        "mem-argument",
        "seq-assert",
    ),
    example=program(
        """
        def twice(n: size, x: f32[n] @ DRAM):
            assert n % 4 == 0
            scale(n, x)
            scale(n, x)
        """
    ),
    wrong=program(
        """
        def twice(n: size, x: f32[n] @ DRAM):
            scale(n, x)
            scale(n - 2, x[0 : n - 2])
        """
    ),
    breaks="seq-assert",
    sizes={"n": 8},
    calls="proc",
)

PROGRAMS: Final = (PROC, EXPRESSION, WINDOW, ASSIGN, REDUCE, PASS, IF, SEQ, PAR, PROC_CALL)
"""The constructs of this chapter."""
