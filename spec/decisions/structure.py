"""
Decisions on shape, structure, bounds and kernels
=================================================

U-20 to U-35 fix shapes, identity, memory, devices and functions; U-40 to U-45 the interval of a node; U-50 to U-52
the scheduling of kernels.
"""

from __future__ import annotations

from soundline.spec.decisions.schema import Decision

STRUCTURE: tuple[Decision, ...] = (
    Decision(
        "U-20",
        "Two notations, and broadcasting",
        "The op tables fix the form of the nodes; the listings use tensor notation. Pad and Shrink nodes are (T, "
        "offset, size); pad((before, after)), shrink_to, sizes of -1 and broadcasting are conveniences of the tensor "
        "layer. Reduce keeps its axes with size 1, and sum drops them. Elementwise nodes need equal shapes. The "
        "broadcast of two sizes is the one that is not 1, so that 0 with 1 gives 0 and not their maximum.",
    ),
    Decision(
        "U-21",
        "Identity of nodes",
        "A node is determined by op, sources and arg. So that equal loops and equal buffers stay two things, Range "
        "carries an id and its axis type, and Buffer a slot; equality up to renaming of ranges is defined. A tag tells "
        "nodes apart that are otherwise equal, so it can be hashed; it is no part of the meaning. Constants are one "
        "node when dtype and bit pattern agree: 1, 1.0, True, -0.0 and NaN are five things.",
    ),
    Decision(
        "U-22",
        "Shape sources",
        "A shape source is a Stack of index scalars, and the empty Stack is the shape (). Sizes may be symbolic.",
    ),
    Decision(
        "U-23",
        "Bitcast scales the last axis; Slice is one-dimensional",
        "Bitcast takes its dtype from arg. Its last axis scales by the ratio of the item sizes, which must divide; "
        "the bytes are read little endian. Slice is a contiguous run of size elements of the dtype in its arg; it "
        "begins where element offset of T begins, which must be aligned to that dtype.",
        source="Bitcast preserves the total bytes (op table) and has the shape of its source (property table).",
    ),
    Decision(
        "U-24",
        "Several indices act per axis",
        "Vector indices of one Index act independently on their axes; they are not zipped.",
    ),
    Decision(
        "U-25",
        "Copy, Load, Contiguous",
        "Load with a device takes the place of Copy, and .copy(D) is its spelling in the tensor layer. Contiguous "
        "remains, as a marker. A Load denotes a value; where it is stored is the business of lowering. An alternative "
        "and a gate come together.",
    ),
    Decision(
        "U-26",
        "Stores, versions and the order of loops",
        "Store has no value and no shape, and reads all of its value before it writes. A Load reads the version of "
        "memory that its operand names, and After makes versions; lowering orders it before any store that would "
        "overwrite, or copies. The iterations of LOOP, REDUCE, UNROLL and UPCAST axes are ordered ascending, those of "
        "other axes are unordered. Overlapping accesses of unordered iterations are an error if one writes, except "
        "for two AtomicAdds.",
    ),
    Decision(
        "U-27",
        "Binary is two ops",
        "The source lists Binary twice. Raw data is Binary, a source op with dtype uint8; compiled machine code is "
        "BinaryCode, a codegen op.",
    ),
    Decision(
        "U-28",
        "Replicated and the collectives",
        "Replicated is valid only if all slices along its axes are equal, and its value is slice 0. A copy to n "
        "devices needs n to divide axis 0. broadcast, allgather and allreduce end with the reshape that removes the "
        "leading axis of size 1.",
        source="broadcast ends with replicated(0), of shape (1, s), where its comment says (s,); allgather likewise.",
    ),
    Decision(
        "U-29",
        "Device and axis of several sources",
        "The device of a node is the one device, other than null, that all sources agree on, and null for constants; "
        "disagreement is ill-formed. The same holds for the shard axis. A Reshape that breaks the shard boundary is "
        "ill-formed. A value on several devices whose axis is null is replicated.",
        source="The device of every ALU op is src[0].device, so 1 + x has none.",
    ),
    Decision(
        "U-30",
        "gather and scatter_add select, they do not multiply",
        "The one-hot mask selects with Where(mask, value, -0.0) in place of a product, so that a gather equals the "
        "load exactly, and a position out of range gives zero. scatter_add accumulates apart from T and adds once.",
        source="The value is multiplied by the mask and summed, so an infinity or NaN anywhere poisons every result.",
    ),
    Decision(
        "U-31",
        "Functions",
        "The body of a Function is a closed Tuple: it has no free Range, Buffer or Store, and binds exactly its "
        "Params outside of nested Functions. Each argument must match its Param after substitution, and substitution "
        "renames bound ranges. GetTuple has the properties of its element after substitution. A Function is "
        "differentiable, a Call is opaque.",
    ),
    Decision(
        "U-32",
        "Shape of a Buffer on several devices",
        "On an n-tuple of devices a Buffer has shape (n·size,). The row (size,) holds for one device.",
        source="The op table says (n·size,), the property table says (size,).",
    ),
    Decision(
        "U-33",
        "Adjoints",
        "Ties in Max and in Reduce(Max) share equally. The adjoint of Reduce(Mul) uses products of the others and "
        "never a division. Comparisons, integer ops and casts to integers pass nothing. A composition may state its "
        "adjoint in the place of the one that follows from its ops, which differs by rounding.",
    ),
    Decision(
        "U-34",
        "prefix_sum and arange",
        "Element i of a prefix sum is the ascending reduction of the first i+1 elements, and the prefix sum of nothing "
        "is nothing. The windows are filled with what a sum does not notice, which is -0.0 for floats. arange counts "
        "in 64 bits and casts once, so that element i is i in every dtype; the positions of gather and scatter_add are "
        "compared as index, where none of them wraps.",
        source="The windows are filled with zeros, which turn a leading -0.0 into +0.0; the ones of arange are added "
        "in the dtype of the result; for n = 0 the sizes are negative.",
    ),
    Decision(
        "U-35",
        "Parts of a value, and what moves between devices",
        "On n devices the shard axis is divided in n equal parts; for n = 1 the part is the whole, and axes need not "
        "agree. An op is computed on each device from what that device holds, a replica being cut where a part is "
        "wanted. Pad, Shrink, Flip and Slice leave the shard axis as it is, a Bitcast keeps each part whole, a sharded "
        "index gives its axis to what it picks, and the sources of a node, of a Store and of a gated Load included, "
        "are on one device. Two ops move data: a Load to a device, and a Reduce over the shard axis. Neither stands "
        "inside a loop where a program is computed device by device.",
        source="Ops that are not listed have axis null, so that a Flip along another axis would be n copies of the "
        "whole, which no device holds.",
    ),
)

BOUNDS: tuple[Decision, ...] = (
    Decision(
        "U-40",
        "Bounds of wrapping sums and products",
        "The interval of Add and Mul is the interval of the mathematical result if that fits the dtype, and otherwise "
        "the range of the dtype.",
        source="min_max of Add is [a+b, A+B], and of Mul the hull of the products, at every dtype.",
    ),
    Decision(
        "U-41",
        "Bounds of Pad and Stack",
        "The interval of Pad is the hull of its source with 0; that of Stack is the hull of all its sources.",
        source="min_max of every movement op is that of src[0].",
    ),
    Decision(
        "U-42",
        "Bounds of Cast",
        "A cast between integers keeps the interval if it fits the target, and otherwise has the range of the target, "
        "because such casts wrap. The ends of an interval are rounded as its values are on the way to a float, which "
        "is sound because rounding is monotonic; on the way from a float to an integer they truncate and saturate, and "
        "0 joins them where NaN is possible. A cast to bool has the interval of x ≠ 0.",
        source="min_max of Cast is that of its source, clamped to the target dtype.",
    ),
    Decision(
        "U-43",
        "Bounds of floats",
        "An interval of floats carries a flag that says whether NaN is possible; 0·∞ and ∞ - ∞ set it. Ends are "
        "rounded to nearest, as the values between them are: rounding is monotonic, so none leaves the interval. They "
        "are ordered with -0 < +0. A node may be reduced to a constant only if both ends are the same bits and NaN is "
        "excluded.",
    ),
    Decision(
        "U-44",
        "Bounds of Range",
        "[0, n-1]. For n = 0 the interval is empty: reducing a range needs n ≥ 1.",
    ),
    Decision(
        "U-45",
        "Bounds of memory",
        "The interval of a read of memory is the hull of everything that may be stored there, else the dtype range.",
    ),
)

KERNELS: tuple[Decision, ...] = (
    Decision(
        "U-50",
        "OptOps keep the meaning of a kernel",
        "An OptOp maps a kernel to one with the same meaning. Split needs its factor to divide the size; besides the "
        "source's column, THREAD is split from LOOP, LOOP from LOOP or GLOBAL, REDUCE from REDUCE. Before OptOps, LOOP "
        "axes without a loop-carried dependence become GLOBAL where the device has workgroups. Padto masks "
        "with the identity of the reduction, after all elementwise ops of the body, and never stores. Swap must not "
        "reverse a dependence. reassociate is needed only for float Add and Mul, and only where elements no longer "
        "enter one accumulator in ascending order. TC comes first and at most once, its fragment maps are proved "
        "bijections, and on floats it needs tensor_core.",
    ),
    Decision(
        "U-51",
        "Barriers of shared memory",
        "GROUP_REDUCE and LOCAL buffers need barriers; the abstract machine says whether they are there.",
    ),
    Decision(
        "U-52",
        "Numerics on a GPU",
        "The profile exact refuses tensor cores on floats and builds without contraction, with subnormals kept and "
        "correctly rounded division and root. Tensor cores round their operands to the declared format and accumulate "
        "in an unspecified order within a stated bound.",
    ),
    Decision(
        "U-53",
        "A licence is an equational theory, and only that one",
        "reassociate: any order of the chain or reduction of one associative op. contract: a·b + c in one rounding or "
        "two. reciprocal: x / y = x · (1 / y). approx: the bounded replacement that it names. no_nan and "
        "no_signed_zero: what their names exclude, of inputs and of what is computed on the way. A rule under licences "
        "is proved where both sides are equal in the theory of exactly these licences over otherwise exact "
        "operations. Points at which a side is NaN or infinite are not excluded unless a licence excludes them, and "
        "what is excluded stands in the verdict.",
        "Equality over the real numbers as the meaning of every licence that changes rounding.",
    ),
)
