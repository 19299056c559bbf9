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
    prose=(
        "A procedure. An argument is a `size`, an `index`, a `bool`, or data: a scalar `f32`, an array `f32[n, "
        "m]`, or a window `[f32][n, m]` with its own strides. An argument of data names the memory in which it "
        "lies; the default is `DRAM`. Assertions come first, and are about sizes, indices and bools. The body "
        "is code for the CPU."
    ),
    sequential=(
        "The statements are executed in order. A call that breaks an assertion, or passes arrays of other "
        "sizes, raises an error."
    ),
    machine="The data of its arguments has been allocated before, and everybody sees it.",
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
    prose=(
        "A value. An expression of only sizes, indices and numbers is *control*. Bounds, indices and conditions "
        "are control, so the control flow of a program never depends on data. All other expressions are data "
        "and have one dtype. The only conversion is a call of the dtype. Operators mean the ops of UOps with "
        "the same name."
    ),
    sequential=(
        "For data, the value of the op on its dtype; for control, that of integers, with // and % of U-03."
    ),
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
    prose=(
        "Part of an array, as an argument of a call. A statement can give it a name. If the memory in that "
        "statement makes windows, for example a tensor map, the window is in that memory from there on."
    ),
    sequential="The same elements under other indices; an interval that is not inside the array is an error.",
    machine="Nothing: an access through the window is an access to the array.",
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
    prose=(
        "Gives a value to an element or a scalar of the same dtype. On the device a single thread does it, in "
        "order."
    ),
    sequential="The location holds the value.",
    machine=(
        "The elements of E are read, then the location is written, by the threads and on the timeline of the "
        "statement (S-02)."
    ),
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
    prose="Adds a value to an element or a scalar. On the device a single thread does it, in order.",
    sequential="The location holds the sum of its previous value and the value.",
    machine="Like an assignment: the location is written, not read.",
    parallel="The thread reads, adds and writes; another thread may write in between.",
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
    prose="Does nothing; for blocks that need a statement.",
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
    prose="A choice by sizes, indices and bools. All threads of a collective make the same choice.",
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
    prose="An ordinary loop, on the CPU or by each collective of the device.",
    sequential="The body is executed for LO, LO + 1, ..., HI - 1; not at all if LO ≥ HI.",
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
    prose="A loop of the CPU whose iterations run on separate threads. It does not launch device functions.",
    sequential="As seq.",
    machine=(
        "Every iteration has its own thread of the CPU. The start and the end are fences by parent and "
        "children; the iterations are not ordered among each other."
    ),
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
    prose="On the CPU a proc calls another proc. Data lies in the memory that the argument declares.",
    sequential="The body is executed on the locations that were passed.",
    machine="The same.",
    parallel="The same.",
    lowering="On the CPU, a block of C that stands where the call does: each argument is a name for what it was "
    "given, and device functions of the callee become kernels of the caller, once for each call. An array in "
    "global memory that the outermost proc is given begins at a multiple of 16 bytes (S-29).",
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
