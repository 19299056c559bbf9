"""
Decisions on Spork
==================

Synchronization, hazards, the abstract machine and what counts as agreement with it.
"""

from __future__ import annotations

from soundline.spec.decisions.schema import Decision

SPORK: tuple[Decision, ...] = (
    Decision(
        "S-01",
        "Arrive and Await",
        "What comes before the arrive, by its collective and in its first timeline, comes before what follows the "
        "paired await, by its collective and in its second timeline.",
        source="The guide's two lists attach the before-side to the await and the after-side to the arrive.",
    ),
    Decision(
        "S-02",
        "Hazards of a write",
        "A write checks the records of earlier writes and of earlier reads: its hazards are write-after-write and "
        "write-after-read.",
        source="The guide prints read-after-write for the second of the two.",
    ),
    Decision(
        "S-03",
        "Synchronizes-with",
        "For a first timeline L1 and a collective C, a record synchronizes iff its visibility meets full(L1) × C and, "
        "where L1 is not transitive, its original timeline is in L1. Write records gain the full second set, read "
        "records the temporal one. An arrive snapshots the records that synchronize with it; the paired await "
        "augments those and no later ones.",
    ),
    Decision(
        "S-04",
        "An access by several threads",
        "An access by a collective makes one record per location and thread, and all must be visible; a "
        "synchronization by part of the collective advances only that part's records. Only operands that are declared "
        "convergent make one record for the whole collective.",
        source="One joint record for the collective would let one lane read what another wrote without a barrier.",
    ),
    Decision(
        "S-05",
        "Counters of a barrier",
        "An arrive stamps its records with the arrive count Q1 and increments it. Await with N ≥ 0 releases the "
        "records below Q1 - N and never blocks. Await with N < 0 and lag ~N does nothing while fewer than lag awaits "
        "went before, is an error where no arrive could ever meet it, and otherwise releases up to its own number "
        "less the lag. Unequal counters when the barrier ends are an error.",
        source="The guide counts from 0 for N ≥ 0 and from 1 for N < 0.",
    ),
    Decision(
        "S-06",
        "Lifetimes",
        "Use before allocation, use after free, and freeing while an access is not yet visible to the freeing "
        "collective are hazards. Records follow bytes, not names: storage that is used again carries its records.",
    ),
    Decision(
        "S-07",
        "Tasks",
        "The tasks of one device function are unordered among themselves; each has fresh threads and fresh shared "
        "memory, and only the end of the kernel orders them.",
    ),
    Decision(
        "S-08",
        "Write after read across proxies",
        "Two policies, both documented: temporal, the default, under which a barrier suffices between a generic read "
        "and a write of the asynchronous proxy; and strict, which asks for a proxy fence as well.",
    ),
    Decision(
        "S-09",
        "Uninitialized reads",
        "Reading a location that was never written is an error of the sequential reading.",
    ),
    Decision(
        "S-10",
        "Adequacy of the machine",
        "If the abstract machine accepts a program, every interleaving of the parallel reading ends in the sequential "
        "result; an accepted program that differs under some interleaving is a defect of the highest rank. A rejected "
        "program that never differs is counted and explained.",
    ),
    Decision(
        "S-11",
        "Zeroing an accumulator",
        "Zeroing a wgmma accumulator is an access on the wgmma register timeline, so that a missing fence is seen. "
        "Between any access in order and wgmma there is a wgmma.fence: no temporal set gives a read of registers to "
        "wgmma, registers that wgmma may touch begin as if their owner had written them in order, and while an "
        "accumulator or an operand is under way, wgmma.fence does not bring it to wgmma in the other role.",
        source="The temporal sets of the guide hold the registers of wgmma, so that a barrier would let it overwrite "
        "an accumulator that was read in order; and nothing asks for a fence before the first wgmma.",
    ),
    Decision(
        "S-12",
        "Launch and end",
        "The launch and the end of a device function order all timelines of CPU and device.",
    ),
    Decision(
        "S-13",
        "Atomic adds",
        "An atomic add never races with another atomic add, only with plain accesses.",
    ),
    Decision(
        "S-14",
        "Rings of mbarriers",
        "An arrive that uses a slot of the ring of its mbarrier again comes after the await of the arrive that used it "
        "before: each thread that awaited is waited for by one that arrives, and each that arrives waits for one that "
        "awaited. A slot tells only whether its phase is odd or even, so that who is a round behind waits for ever.",
        source="The guide pairs arrives and awaits by counting alone, and lets one side be any number of rounds ahead.",
    ),
    Decision(
        "S-15",
        "Whose wait a commit group is",
        "A commit group is waited for by who committed it. The groups of cp.async and of TMA stores are those of one "
        "thread. Those of wgmma are of each warp: wgmma.wait_group makes the warp that executes it wait for what it "
        "issued itself. So an Await by a warpgroup completes for each warp its own share: the reads of B, which every "
        "warp makes, those of the rows of A that are the rows of the warp, and the rows of the accumulator that it "
        "holds. Nothing of another warp's: who overwrites an operand that all of them read has to have met them. An "
        "mbarrier is no such case: each thread that finds its phase complete knows of all arrivals.",
        source="The guide lets the threads of an await wait for all that its collective did, as if the warpgroup had "
        "one queue. Hardware has four.",
    ),
    Decision(
        "S-16",
        "A fence whose CUDA is the same",
        "Where a hazard at a fence or an await disappears by a wider timeline that changes nothing in the generated "
        "CUDA, as Sm80_generic in the place of cuda_in_order on the second side before cp.async fills a slot again, "
        "the report says exactly that, first, and proposes no wait elsewhere.",
    ),
    Decision(
        "S-17",
        "Warpgroups of a CTA that they do not fill",
        "A unit of whole warps counts its collectives from the first warp of the CTA, and where their size does not "
        "divide blockDim the last warps are in none. PTX asks of a warpgroup that its first warp is a multiple of "
        "four, and nothing of the other warps: a CTA of 160 threads may have one warpgroup that multiplies and a warp "
        "that loads. A unit that is no multiple of a warp still divides blockDim.",
    ),
    Decision(
        "S-18",
        "Memory that several warps allocate and one uses",
        "A shard belongs to the native collective that uses it, and all uses have to agree on which one. Who else "
        "runs the allocation gets nothing of it: named warps declare their accumulators where all warps run, and "
        "registers that a warp never touches are none. Two warps that use one accumulator are refused.",
    ),
    Decision(
        "S-19",
        "Barriers that nobody uses or awaits",
        "A barrier without arrives and awaits becomes nothing, and is allowed. An await without an arrive is refused "
        "by the static law, since it would wait for ever. An arrive that nobody awaits leaves the counters unequal, "
        "which is a hazard at the end of the barrier: a commit group may still be under way when its storage goes, and "
        "the next task would find an mbarrier in another phase than it counts from.",
    ),
    Decision(
        "S-20",
        "The end of a cluster",
        "A device function of clusters begins, when its mbarriers are initialized, and ends with a barrier.cluster of "
        "all threads; both belong to the lowering. So no CTA exits while another one of its cluster may signal its "
        "mbarriers or use its shared memory, and the program needs no fence for that. Within a task shared memory is "
        "freed by the law of lifetimes (S-06), which asks for the writes of other CTAs as for any others.",
    ),
    Decision(
        "S-21",
        "Copies by the CPU",
        "A copy between CPU and device is done when the CPU goes on: it is on cpu_in_order, and no timeline of the CPU "
        "is asynchronous. The lowering of a copy to the CPU waits for its stream, so that a read on the CPU needs no "
        "fence. A launch and its end order it against kernels (S-12).",
    ),
    Decision(
        "S-22",
        "CudaEvent",
        "The guide names the type and gives it no statement, no timeline and no code. An event of CUDA tells the CPU, "
        "or another stream, when a stream has come so far; here launches, their ends and copies are all in order with "
        "the CPU (S-12, S-21) and there is one stream. Nothing is left that an event could order, so it may be "
        "declared and its arrives and awaits are refused.",
    ),
    Decision(
        "S-23",
        "Who gives a slot of a ring back, and when",
        "Who awaits one side of an mbarrier arrives at the other with all of its threads or with some, and several "
        "awaits may come before as many arrives. One lane that gives a slot back for its warp has to have met the warp "
        "before, which the machine sees (S-14). Both are wider than the guide, whose static pairing asks for the same "
        "collective and for an arrive after each await; what it is there to prevent, a ring that is overrun, the "
        "machine finds.",
    ),
    Decision(
        "S-24",
        "Multicast arrives",
        "A multicast arrive may stand under an if that all CTAs decide alike: its condition names no iterator of a "
        "loop over threads, so every home counts the same arrives. An arrive from Sm80_cp_async has no colon, since "
        "cp.async.mbarrier.arrive reaches only mbarriers of its own CTA.",
    ),
    Decision(
        "S-25",
        "Which queue a thread uses",
        "Each thread uses the same queue in all arrives of one side of a barrier, and in all its awaits; of commit "
        "groups it uses one for both. For a thread has one count for each side of an mbarrier, and the groups that it "
        "awaits are those that it has committed itself (S-15), where the law counts by index: bar[m, n] in one "
        "statement and bar[n, m] in another are refused.",
        source="The guide knows a queue by its variable and index alone, so that a thread may await what only "
        "another one can wait for.",
    ),
    Decision(
        "S-26",
        "Where a load arrives",
        "The trailing barriers of an instruction that writes shared memory lie in the CTAs that it writes to, in all "
        "of them and in no others, because TMA counts the bytes that come to a CTA at an mbarrier of that CTA. They "
        "are among the barriers of the arrive that ends the block, whose home counts for them.",
    ),
    Decision(
        "S-27",
        "Barriers of tasks and loops",
        "Each task begins with new queues: its first awaits with a lag wait for nothing, whatever the task before has "
        "left, and the lowering steps its counters over what was not waited for. Within a task a barrier that the same "
        "threads allocate again, in a loop, is the same as before, and its counters go on.",
    ),
    Decision(
        "S-28",
        "From task to task",
        "A CTA executes its next task in the same bytes of shared memory, which the law calls fresh (S-07), and no "
        "fence of the program stands between the two. It belongs to the lowering: all threads of the cluster meet "
        "between tasks, and each of them executes a proxy fence where anything goes through the asynchronous proxy. "
        "What a fence of all threads at the end of the task does of this is not done again.",
    ),
    Decision(
        "S-29",
        "Where arguments begin",
        "An array in global memory that a program is given begins at a multiple of 16 bytes, and the CPU part refuses "
        "another one where it starts device functions. A window that is an argument begins wherever an element may. A "
        "proc that is called knows of its arguments what is known of them where it is called.",
    ),
    Decision(
        "S-30",
        "Functions that hardware approximates",
        "An instruction that hardware approximates has the exact function as its sequential body, and says by how much "
        "hardware may differ: ex2.approx by two units in the last place. Of zeros, infinities and NaN it gives "
        "what exp2 gives. Agreement with the sequential reading is then asked up to that bound, and a program that "
        "needs the bits writes exp2.",
    ),
)
