"""Small Spork programs, each beside a twin that differs in one thing and is refused, written from the reference alone.

They are written as the synchronization bugs are, see `sync_bugs.form`: what stands in a program is accepted, and what its
comments put in its place is refused, with the id that the comment names, at its line.
"""

# ruff: noqa: E501 - what was there stands on the line of what is there

from __future__ import annotations

from .sync_bugs.form import Bug, cta, proc

X = "x: f32[128] @ CudaGmemLinear"
XY = "x: f32[128] @ CudaGmemLinear, y: f32[128] @ CudaGmemLinear"


def case(name: str, body: str, arguments: str = X, threads: int = 128, **sizes: int) -> Bug:
    """A case in a device function of one task."""
    return Bug(where=name, what=name, text=cta(arguments, body, threads=threads), sizes=sizes, unseen="-")


def whole(name: str, text: str, **sizes: int) -> Bug:
    """A case that is a whole program."""
    return Bug(where=name, what=name, text=proc(text), sizes=sizes, unseen="-")


def shaped(name: str, good: str, bad: str, rule: str, body: str = "") -> Bug:
    """A case about the header of a device function."""
    inside = proc(body or "for i in cuda_threads(0, 1, unit=cuda_thread):\n    x[i] = 0.0\n").splitlines()
    return whole(
        name,
        f"def f({X}):\n"
        f"    with CudaDeviceFunction({good}):  # was: with CudaDeviceFunction({bad}):  # {rule}\n"
        "        for t in cuda_tasks(0, 1):\n" + "".join(f"            {line}\n" for line in inside),
    )


LOOPS = (
    case(
        "no more warps than there are",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):  # was: for w in cuda_threads(0, 5, unit=cuda_warp):  # coll-tile-c5
            for i in cuda_threads(0, 1, unit=cuda_thread):
                x[w] = 0.0
        """,
    ),
    case(
        "threads of a warp in threes",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):
            for g in cuda_threads(0, 10, unit=3 * cuda_thread):  # was: for g in cuda_threads(0, 10, unit=4 * cuda_thread):  # coll-tile-c5
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    x[10 * w + g] = 0.0
        """,
    ),
    case(
        "a unit is scaled by a positive number",
        """
        for i in cuda_threads(0, 4, unit=2 * cuda_thread):  # was: for i in cuda_threads(0, 4, unit=0 * cuda_thread):  # coll-unit-c3
            for one in cuda_threads(0, 1, unit=cuda_thread):
                x[i] = 0.0
        """,
    ),
    case(
        "quadpairs are not scaled",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):
            for q in cuda_threads(0, 4, unit=cuda_quadpair):  # was: for q in cuda_threads(0, 2, unit=2 * cuda_quadpair):  # coll-unit-c4
                pass
        """,
    ),
    case(
        "quadpairs of a warp lie along one dimension, those of a CTA along two",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):  # was: for w in cuda_threads(0, 1, unit=4 * cuda_warp):
            for q in cuda_threads(0, 4, unit=cuda_quadpair):  # coll-tile-c4
                pass
        """,
    ),
    case(
        "a unit that divides nothing is looped over once",
        """
        for c in cuda_threads(0, 1, unit=cuda_cta_in_cluster):  # was: for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):  # coll-tile-c6
            pass
        """,
    ),
    case(
        "a loop over threads begins at 0",
        """
        for i in cuda_threads(0, 8, unit=cuda_thread):  # was: for i in cuda_threads(1, 8, unit=cuda_thread):  # prog-threads-bounds
            x[i] = 0.0
        """,
    ),
    case(
        "a loop over threads has a constant count",
        """
        for i in cuda_threads(0, 8, unit=cuda_thread):  # was: for i in cuda_threads(0, n, unit=cuda_thread):  # prog-threads-bounds
            x[i] = 0.0
        """,
        f"n: size, {X}",
        n=8,
    ),
    case(
        "a loop over threads has an iteration",
        """
        for i in cuda_threads(0, 1, unit=cuda_thread):  # was: for i in cuda_threads(0, 0, unit=cuda_thread):  # coll-tile-c2
            x[i] = 0.0
        """,
    ),
    case(
        "iterators in scope have different names",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):
            for i in cuda_threads(0, 32, unit=cuda_thread):  # was: for w in cuda_threads(0, 32, unit=cuda_thread):  # prog-fresh
                pass
        """,
    ),
    case(
        "a CTA of 96 threads has no warpgroup",
        """
        for g in cuda_threads(0, 1, unit=3 * cuda_warp):  # was: for g in cuda_threads(0, 1, unit=cuda_warpgroup):  # coll-tile-c5
            pass
        """,
        threads=96,
    ),
    case(
        "units of 64 threads",
        """
        for g in cuda_threads(0, 2, unit=64 * cuda_thread):  # was: for g in cuda_threads(0, 3, unit=64 * cuda_thread):  # coll-tile-c5
            pass
        """,
    ),
    case(
        "warps are chosen among those that are there",
        """
        with CudaWarps(1, 4):  # was: with CudaWarps(1, 5):  # coll-warps-c2
            pass
        """,
    ),
    case(
        "some warp is chosen",
        """
        with CudaWarps(2, 3):  # was: with CudaWarps(2, 2):  # prog-warps-range
            pass
        """,
    ),
    case(
        "warps of warps are counted from the first of these",
        """
        with CudaWarps(2, 4):
            with CudaWarps(1, 2):  # was: with CudaWarps(2, 3):  # coll-warps-c2
                pass
        """,
    ),
    case(
        "a warp has one warp",
        """
        for w in cuda_threads(0, 4, unit=cuda_warp):
            with CudaWarps(0, 1):  # was: with CudaWarps(1, 2):  # coll-warps-c2
                pass
        """,
    ),
)

TWO = 'warp_config=[CudaWarpConfig("a", 2), CudaWarpConfig("b", 2)]'


def named(name: str, body: str) -> Bug:
    """A case with two names of two warps each."""
    inside = "".join(f"            {line}\n" for line in proc(body).splitlines())
    return whole(
        name,
        f"def f({X}):\n    with CudaDeviceFunction({TWO}):\n        for t in cuda_tasks(0, 1):\n{inside}",
    )


DEVICES = (
    named(
        "a name is one of those that there are",
        """
        with CudaWarps(name="a"):  # was: with CudaWarps(name="c"):  # prog-warps-name
            pass
        """,
    ),
    named(
        "where warps have names, one is chosen",
        """
        with CudaWarps(0, 1, name="b"):  # was: with CudaWarps(0, 1):  # coll-named-c1
            pass
        """,
    ),
    named(
        "a chosen name stays",
        """
        with CudaWarps(name="a"):
            with CudaWarps(0, 1, name="a"):  # was: with CudaWarps(0, 1, name="b"):  # coll-named-c4
                pass
        """,
    ),
    named(
        "within a name warps are chosen by number",
        """
        with CudaWarps(name="a"):
            with CudaWarps(1, 2):  # was: with CudaWarps(name="a"):  # coll-named-c5
                pass
        """,
    ),
    named(
        "a name is chosen by the whole CTA",
        """
        # was here: for w in cuda_threads(0, 4, unit=cuda_warp):
        # was here:     with CudaWarps(name="a"):  # coll-named-c3
        # was here:         pass
        with CudaWarps(name="a"):  # was missing
            pass  # was missing
        """,
    ),
    shaped(
        "registers are counted in eights",
        'warp_config=[CudaWarpConfig("a", 4, setmaxnreg_dec=40)]',
        'warp_config=[CudaWarpConfig("a", 4, setmaxnreg_dec=41)]',
        "coll-maxnreg-c2",
    ),
    shaped(
        "registers are given up or taken",
        'warp_config=[CudaWarpConfig("a", 4, setmaxnreg_inc=80)]',
        'warp_config=[CudaWarpConfig("a", 4, setmaxnreg_inc=80, setmaxnreg_dec=40)]',
        "prog-warp-config",
    ),
    shaped(
        "four warps have the same registers",
        'warp_config=[CudaWarpConfig("a", 1, setmaxnreg_dec=40), CudaWarpConfig("b", 3, setmaxnreg_dec=40)]',
        'warp_config=[CudaWarpConfig("a", 1, setmaxnreg_dec=40), CudaWarpConfig("b", 3, setmaxnreg_dec=48)]',
        "coll-maxnreg-c4",
        'with CudaWarps(name="a"):\n    pass',
    ),
    shaped(
        "registers need whole warpgroups",
        'warp_config=[CudaWarpConfig("a", 4, setmaxnreg_dec=40)]',
        'warp_config=[CudaWarpConfig("a", 3, setmaxnreg_dec=40)]',
        "coll-maxnreg-c3",
    ),
    shaped("a CTA has whole warps", "blockDim=96", "blockDim=100", "coll-device-c2"),
    shaped(
        "a cluster has a power of two CTAs",
        "blockDim=32, clusterDim=2",
        "blockDim=32, clusterDim=3",
        "static-cluster",
        "pass",
    ),
    shaped(
        "threads are given in one way",
        "blockDim=32",
        'blockDim=32, warp_config=[CudaWarpConfig("a", 1)]',
        "prog-block-dim",
    ),
    shaped("a CTA has threads", "blockDim=32", "blockDim=0", "prog-device-number"),
    shaped(
        "a multiprocessor has a CTA",
        "blockDim=32, blocks_per_sm=1",
        "blockDim=32, blocks_per_sm=0",
        "prog-device-number",
    ),
    shaped(
        "names differ",
        'warp_config=[CudaWarpConfig("a", 1), CudaWarpConfig("b", 1)]',
        'warp_config=[CudaWarpConfig("a", 1), CudaWarpConfig("a", 1)]',
        "prog-warp-config",
        'with CudaWarps(name="a"):\n    pass',
    ),
    shaped(
        "a name has warps",
        'warp_config=[CudaWarpConfig("a", 1)]',
        'warp_config=[CudaWarpConfig("a", 0)]',
        "prog-device-number",
    ),
)

STRUCTURE = (
    whole(
        "a device function has tasks",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):  # was: for t in seq(0, 1):  # prog-device-nest
                    pass
        """,
    ),
    whole(
        "tasks stand alone",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    pass
                # was here: for u in cuda_tasks(0, 1):  # prog-device-nest
                # was here:     pass
        """,
    ),
    whole(
        "there are no tasks among threads",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        for u in seq(0, 1):  # was: for u in cuda_tasks(0, 1):  # prog-tasks-place
                            x[i] = 0.0
        """,
    ),
    whole(
        "tasks are a grid",
        """
        def f(n: size, x: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, n):
                    for u in cuda_tasks(0, n):  # was: for u in cuda_tasks(0, t):  # static-task-bounds
                        pass
        """,
        n=2,
    ),
    whole(
        "the CPU has no cuda_threads",
        """
        def f(x: f32[4] @ DRAM):
            for i in seq(0, 4):  # was: for i in cuda_threads(0, 4, unit=cuda_thread):  # prog-device-only
                x[i] = 0.0
        """,
    ),
    case(
        "the device has no par",
        """
        for i in cuda_threads(0, 4, unit=cuda_thread):
            for k in seq(0, 2):  # was: for k in par(0, 2):  # prog-cpu-only
                x[2 * i + k] = 0.0
        """,
    ),
    whole(
        "nothing is launched from par",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            for k in seq(0, 2):  # was: for k in par(0, 2):
                with CudaDeviceFunction(blockDim=32):  # static-par
                    for t in cuda_tasks(0, 1):
                        pass
        """,
    ),
    whole(
        "the CPU has no asynchronous blocks",
        """
        def f(x: f32[4] @ DRAM):
            for k in seq(0, 1):  # was: with CudaAsync(Sm80_cp_async):  # prog-device-only
                pass
        """,
    ),
    case(
        "asynchronous blocks do not nest",
        """
        with CudaAsync(Sm80_cp_async):
            for k in seq(0, 1):  # was: with CudaAsync(Sm80_cp_async):  # prog-async-nest
                pass
        """,
    ),
    case(
        "in order is not asynchronous",
        """
        with CudaAsync(wgmma_async):  # was: with CudaAsync(cuda_in_order):  # tl-async-block
            pass
        """,
    ),
    case(
        "what a thread does next does not depend on data",
        """
        for i in cuda_threads(0, 4, unit=cuda_thread):
            if i < 2:  # was: if x[i] < 2.0:  # prog-condition
                x[i] = 0.0
        """,
    ),
    whole(
        "assertions come first",
        """
        def f(n: size, x: f32[n] @ DRAM):
            assert n > 0  # was: x[0] = 0.0
            x[0] = 0.0  # was: assert n > 0  # prog-assert
        """,
        n=3,
    ),
    whole(
        "an array has as many indices as dimensions",
        """
        def f(x: f32[4, 4] @ DRAM):
            x[0, 1] = 0.0  # was: x[0] = 0.0  # prog-rank
        """,
    ),
    whole(
        "dtypes agree",
        """
        def f(x: f32[4] @ DRAM, y: f16[4] @ DRAM):
            x[0] = f32(y[0])  # was: x[0] = y[0]  # prog-dtype
        """,
    ),
    whole(
        "names are bound",
        """
        def f(x: f32[4] @ DRAM):
            x[0] = x[1]  # was: x[0] = z[1]  # prog-bound
        """,
    ),
    whole(
        "an index is an integer",
        """
        def f(x: f32[4] @ DRAM):
            x[1] = 0.0  # was: x[1.5] = 0.0  # prog-index
        """,
    ),
    whole(
        "an array is no value",
        """
        def f(x: f32[4] @ DRAM):
            x[0] = x[1]  # was: x[0] = x  # prog-window
        """,
    ),
    whole(
        "a proc returns nothing",
        """
        def f(x: f32[4] @ DRAM):
            pass  # was: return  # prog-syntax
        """,
    ),
    whole(
        "an index lies in the array",
        """
        def f(n: size, x: f32[n] @ DRAM):
            x[n - 1] = 0.0  # was: x[n] = 0.0  # seq-bounds
        """,
        n=4,
    ),
    whole(
        "assertions hold",
        """
        def f(n: size, x: f32[n] @ DRAM):
            assert n % 2 == 0  # was: assert n % 3 == 0  # seq-assert
            x[0] = 0.0
        """,
        n=4,
    ),
)

DISTRIBUTED = (
    case(
        "each thread has an element",
        """
        v: f32[4, 32] @ CudaRmem
        for w in cuda_threads(0, 4, unit=cuda_warp):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                v[w, i] = 0.0  # was: v[w, 0] = 0.0  # dist-c6
        """,
    ),
    case(
        "the size is the number of threads",
        """
        v: f32[64] @ CudaRmem  # was: v: f32[128] @ CudaRmem
        for i in cuda_threads(0, 64, unit=cuda_thread):
            v[i] = 0.0  # dist-c11
        """,
    ),
    case(
        "an index of a thread is a name",
        """
        v: f32[64] @ CudaRmem
        for i in cuda_threads(0, 64, unit=cuda_thread):
            v[i] = 0.0  # was: v[i + 0] = 0.0  # dist-c6
        """,
    ),
    case(
        "no sequential loop tells threads apart",
        """
        v: f32[64, 4] @ CudaRmem
        for i in cuda_threads(0, 64, unit=cuda_thread):
            for k in seq(0, 4):
                v[i, k] = 0.0  # was: v[k, i] = 0.0  # dist-c7
        """,
    ),
    case(
        "an iterator stands once",
        """
        v: f32[8, 8] @ CudaRmem
        for a in cuda_threads(0, 8, unit=8 * cuda_thread):
            for b in cuda_threads(0, 8, unit=cuda_thread):
                v[a, b] = 0.0  # was: v[a, a] = 0.0  # dist-c9
        """,
    ),
    case(
        "all uses mean the same shards",
        """
        v: f32[8, 8] @ CudaRmem
        for a in cuda_threads(0, 8, unit=8 * cuda_thread):
            for b in cuda_threads(0, 8, unit=cuda_thread):
                v[a, b] = 0.0
                x[8 * a + b] = v[a, b]  # was: x[8 * a + b] = v[b, a]  # dist-c13
        """,
    ),
    case(
        "all uses begin with the same thread",
        """
        v: f32[32] @ CudaRmem
        with CudaWarps(0, 1):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                v[i] = 0.0
        with CudaWarps(0, 1):  # was: with CudaWarps(1, 2):
            for i in cuda_threads(0, 32, unit=cuda_thread):
                x[i] = v[i]  # dist-c14
        """,
    ),
    case(
        "shared memory belongs to a whole CTA",
        """
        for w in cuda_threads(0, 1, unit=4 * cuda_warp):  # was: for w in cuda_threads(0, 1, unit=cuda_warp):
            s: f32[32] @ CudaSmemLinear  # dist-c2
            pass
        """,
    ),
    case(
        "a scalar of each thread is allocated by each thread",
        """
        # was here: v: f32 @ CudaRmem
        for i in cuda_threads(0, 64, unit=cuda_thread):
            v: f32 @ CudaRmem  # was missing
            v = x[i]  # dist-c5
            x[i] = 2.0 * v
        """,
    ),
    case(
        "fragments belong to warps",
        """
        d: f32[4, 16, 8] @ Sm80_RmemMatrixD
        for w in cuda_threads(0, 4, unit=cuda_warp):  # was: for w in cuda_threads(0, 1, unit=4 * cuda_warp):
            Sm80_mma_zero_d_tf32(d[w, :, :])  # instr-unit
        """,
    ),
    whole(
        "each CTA of a cluster has shared memory of its own",
        """
        def f(x: f32[8] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32, clusterDim=2):
                for t in cuda_tasks(0, 1):
                    s: f32[2, 8] @ CudaSmemLinear
                    for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                        for i in cuda_threads(0, 8, unit=cuda_thread):
                            s[cta, i] = x[i]  # was: s[0, i] = x[i]  # dist-c6
                    Fence(cuda_in_order, cuda_in_order)
        """,
    ),
)

MEMORIES = (
    whole(
        "global memory is allocated by the CPU",
        """
        def f(x: f32[4] @ CudaGmemLinear):
            g: f32[4] @ CudaGmemLinear  # was missing
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    # was here: g: f32[4] @ CudaGmemLinear  # mem-alloc
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        g[i] = x[i]
        """,
    ),
    whole(
        "shared memory is allocated by the device",
        """
        def f(x: f32[4] @ DRAM):
            s: f32[4] @ DRAM  # was: s: f32[4] @ CudaSmemLinear  # mem-alloc
            pass
        """,
    ),
    whole(
        "global memory holds no scalars",
        """
        def f():
            g: f32[1] @ CudaGmemLinear  # was: g: f32 @ CudaGmemLinear  # mem-scalar
            pass
        """,
    ),
    case(
        "shared memory has constant sizes",
        """
        s: f32[8] @ CudaSmemLinear  # was: s: f32[n] @ CudaSmemLinear  # mem-constant
        pass
        """,
        f"n: size, {X}",
        n=8,
    ),
    whole(
        "the CPU does not read global memory",
        """
        def f(x: f32[4] @ DRAM, y: f32[4] @ DRAM):  # was: def f(x: f32[4] @ CudaGmemLinear, y: f32[4] @ DRAM):
            y[0] = x[0]  # mem-read
        """,
    ),
    whole(
        "the CPU does not write global memory",
        """
        def f(x: f32[4] @ DRAM, y: f32[4] @ DRAM):  # was: def f(x: f32[4] @ DRAM, y: f32[4] @ CudaGmemLinear):
            y[0] = x[0]  # mem-write
        """,
    ),
    whole(
        "the device does not read memory of the CPU",
        """
        def f(x: f32[4] @ CudaGmemLinear, y: f32[4] @ CudaGmemLinear):  # was: def f(x: f32[4], y: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        y[i] = x[i]  # mem-read
        """,
    ),
    whole(
        "a grid constant is constant",
        """
        def f(c: f32[4] @ CudaGridConstant, y: f32[4] @ CudaGmemLinear):
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    for i in cuda_threads(0, 4, unit=cuda_thread):
                        y[i] = c[i]  # was: c[i] = y[i]  # mem-write
        """,
    ),
    case(
        "fragments are touched by instructions alone",
        """
        d: f32[16, 8] @ Sm80_RmemMatrixD
        Sm80_mma_zero_d_tf32(d[:, :])
        # was here: for i in cuda_threads(0, 1, unit=cuda_thread):
        # was here:     d[0, 0] = 1.0  # mem-write
        """,
        threads=32,
    ),
    case(
        "a fragment has its size",
        """
        d: f32[16, 8] @ Sm80_RmemMatrixD  # was: d: f32[16, 16] @ Sm80_RmemMatrixD  # mem-tile
        pass
        """,
        threads=32,
    ),
    case(
        "a swizzled row has its bytes",
        """
        s: f32[8, 8] @ Sm90_SmemSwizzled(32)  # was: s: f32[8, 16] @ Sm90_SmemSwizzled(32)  # mem-tile
        pass
        """,
    ),
    case(
        "an allocation on the device names a memory",
        """
        s: f32[8] @ CudaSmemLinear  # was: s: f32[8]  # mem-none
        pass
        """,
    ),
    whole(
        "a tensor map is no storage",
        """
        def f(x: f32[8] @ CudaGmemLinear):
            m = x[:] @ Sm90_tensorMap(0, 8)  # was: m: f32[8] @ Sm90_tensorMap(0, 8)  # mem-window
            pass
        """,
    ),
    whole(
        "a tensor map has the dimensions of its box",
        """
        def f(x: f32[8, 8] @ CudaGmemLinear):
            m = x[:, :] @ Sm90_tensorMap(0, 8, 8)  # was: m = x[:, :] @ Sm90_tensorMap(0, 8)  # mem-box
            pass
        """,
    ),
    whole(
        "what was not written is not read",
        """
        def f(x: f32[4] @ DRAM):
            v: f32[4] @ DRAM
            v[0] = 1.0  # was: v[1] = 1.0
            x[0] = v[0]  # seq-uninitialized
        """,
    ),
)

COPY = "s: f32[128] @ CudaSmemLinear\nfor i in cuda_threads(0, 32, unit=cuda_thread):\n"
DRAINED = "Fence(Sm80_generic, cuda_in_order)\n"


def copying(name: str, inside: str) -> Bug:
    """A case about a copy by each of 32 threads."""
    body = "".join(f"    {line}\n" for line in proc(inside).splitlines())
    return case(name, COPY + body + DRAINED, XY, 32)


INSTRUCTIONS = (
    copying(
        "cp.async stands in its block",
        """
        with CudaAsync(Sm80_cp_async):  # was: for k in seq(0, 1):
            Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)  # instr-timeline
        """,
    ),
    copying(
        "nothing in order stands in an asynchronous block",
        """
        for k in seq(0, 1):  # was: with CudaAsync(Sm80_cp_async):
            s[i] = x[i]  # instr-async-scalar
        """,
    ),
    copying(
        "copies have 4, 8 or 16 bytes",
        """
        with CudaAsync(Sm80_cp_async):
            Sm80_cp_async_f32(s[2 * i : 2 * i + 2], x[2 * i : 2 * i + 2], size=2)  # was: Sm80_cp_async_f32(s[3 * i : 3 * i + 3], x[3 * i : 3 * i + 3], size=3)  # instr-size
        """,
    ),
    copying(
        "windows have the size that is said",
        """
        with CudaAsync(Sm80_cp_async):
            Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)  # was: Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=2)  # instr-size
        """,
    ),
    copying(
        "cp.async goes to shared memory",
        """
        with CudaAsync(Sm80_cp_async):
            Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)  # was: Sm80_cp_async_f32(y[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)  # instr-memory
        """,
    ),
    copying(
        "a copy does not overlap itself",
        """
        cuda_copy_f32(s[4 * i : 4 * i + 2], x[0:2], size=2)
        cuda_copy_f32(s[4 * i + 2 : 4 * i + 4], s[4 * i : 4 * i + 2], size=2)  # was: cuda_copy_f32(s[4 * i + 1 : 4 * i + 3], s[4 * i : 4 * i + 2], size=2)  # seq-overlap
        """,
    ),
    case(
        "single threads assign",
        """
        for i in cuda_threads(0, 4, unit=cuda_thread):  # was: for i in cuda_threads(0, 4, unit=cuda_warp):
            x[i] = 0.0  # instr-scalar-unit
        """,
    ),
    case(
        "a TMA load has a trailing barrier",
        """
        s: f32[8] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        with CudaAsync(tma_to_smem_async):
            Sm90_bulk_copy_to_smem_f32(s[:], x[0:8], size=8) >> full  # was: Sm90_bulk_copy_to_smem_f32(s[:], x[0:8], size=8)  # instr-trailing
            Arrive(tma_to_smem_async, 1) >> full
        Await(full, cuda_in_order, ~0)
        """,
        threads=32,
    ),
    case(
        "cp.async has no trailing barrier",
        """
        s: f32[128] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        for i in cuda_threads(0, 32, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[i : i + 1], x[i : i + 1], size=1)  # was: Sm80_cp_async_f32(s[i : i + 1], x[i : i + 1], size=1) >> full  # instr-trailing
        Arrive(Sm80_cp_async, 1) >> full
        Await(full, cuda_in_order, ~0)
        """,
        threads=32,
    ),
    case(
        "after TMA loads comes their arrive",
        """
        s: f32[8] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        with CudaAsync(tma_to_smem_async):
            Sm90_bulk_copy_to_smem_f32(s[:], x[0:8], size=8) >> full  # bar-trailing
            Arrive(tma_to_smem_async, 1) >> full  # was missing
        # was here: with CudaAsync(tma_to_smem_async):
        # was here:     Arrive(tma_to_smem_async, 1) >> full
        Await(full, cuda_in_order, ~0)
        """,
        threads=32,
    ),
    case(
        "a warp asks TMA to load",
        """
        s: f32[8] @ CudaSmemLinear
        full: barrier @ CudaMbarrier
        for one in cuda_threads(0, 1, unit=cuda_warp):  # was: for one in cuda_threads(0, 1, unit=cuda_thread):
            with CudaAsync(tma_to_smem_async):
                Sm90_bulk_copy_to_smem_f32(s[:], x[0:8], size=8) >> full  # instr-unit
                Arrive(tma_to_smem_async, 1) >> full
            Await(full, cuda_in_order, ~0)
        """,
        threads=32,
    ),
    whole(
        "a box is that of its tensor map",
        """
        def f(x: f32[16] @ CudaGmemLinear):
            m = x[:] @ Sm90_tensorMap(0, 8)  # was: m = x[:] @ Sm90_tensorMap(0, 4)
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    s: f32[8] @ CudaSmemLinear
                    full: barrier @ CudaMbarrier
                    with CudaAsync(tma_to_smem_async):
                        Sm90_copy_tensor_to_smem_1d_f32(s[:], m[0:8], n0=8) >> full  # instr-memory
                        Arrive(tma_to_smem_async, 1) >> full
                    Await(full, cuda_in_order, ~0)
        """,
    ),
)

NAMES = (
    whole(
        "words of the language are not bound",
        """
        def f(x: f32[4] @ DRAM):
            for par_ in seq(0, 4):  # was: for seq in seq(0, 4):  # prog-identifier
                x[0] = 0.0
        """,
    ),
    case(
        "a barrier is no data",
        """
        full: barrier @ CudaMbarrier
        for i in cuda_threads(0, 1, unit=cuda_thread):
            x[0] = x[1]  # was: x[0] = full  # prog-kind
        """,
    ),
    whole(
        "literals are finite",
        """
        def f(x: f32[4] @ DRAM):
            x[0] = 1e9  # was: x[0] = 1e999  # prog-literal
        """,
    ),
    case(
        "a timeline is an object that exists",
        """
        Fence(cuda_in_order, cuda_in_order)  # was: Fence(cuda_ordered, cuda_in_order)  # prog-reference
        """,
    ),
    case(
        "a call gives every argument",
        """
        d: f32[16, 8] @ Sm80_RmemMatrixD
        Sm80_mma_zero_d_tf32(d[:, :])  # was: Sm80_mma_zero_d_tf32()  # prog-call
        """,
        threads=32,
    ),
    whole(
        "a tensor map is made of global memory",
        """
        def f(x: f32[8] @ CudaGmemLinear):  # was: def f(x: f32[8] @ DRAM):
            m = x[:] @ Sm90_tensorMap(0, 8)  # mem-view
            pass
        """,
    ),
    whole(
        "a tensor map has the swizzle of its copies",
        """
        def f(x: f32[8, 8] @ CudaGmemLinear):
            m = x[:, :] @ Sm90_tensorMap(32, 8, 8)  # was: m = x[:, :] @ Sm90_tensorMap(0, 8, 8)
            with CudaDeviceFunction(blockDim=32):
                for t in cuda_tasks(0, 1):
                    s: f32[8, 8] @ Sm90_SmemSwizzled(32)
                    full: barrier @ CudaMbarrier
                    with CudaAsync(tma_to_smem_async):
                        Sm90_copy_tensor_to_smem_2d_f32(s[:, :], m[0:8, 0:8], n0=8, n1=8) >> full  # instr-memory
                        Arrive(tma_to_smem_async, 1) >> full
                    Await(full, cuda_in_order, ~0)
        """,
    ),
    case(
        "an if after an await holds its turn alone",
        """
        full: barrier @ CudaMbarrier
        for k in seq(0, 2):
            with CudaWarps(0, 1):
                ReverseAwait(full, cuda_in_order, ~1)
                Arrive(cuda_in_order, 1) >> full
            with CudaWarps(1, 2):
                Await(full, cuda_in_order, ~0)
                if k >= 0:  # bar-turns-if
                    ReverseArrive(cuda_in_order, 1) >> full
                    # was here: Await(full, cuda_in_order, ~0)
                    # was here: ReverseArrive(cuda_in_order, 1) >> full
        """,
    ),
)
