"""
Entries: source, movement, reduce, call and marker ops
======================================================

Notation: ``s`` is the shape of the first source ``T``, ``s'`` the new shape, ``o`` an offset, ``k`` an axis. A shape or
offset source is a Stack of ``index`` scalars; the empty Stack is the shape ``()`` (U-22).
"""

from __future__ import annotations

from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Entry, entry, inherited_laws, source, void_laws

_T = source("T", "any value")
_NEW_SHAPE = source("s'", "the new shape: a Stack of index scalars")
_AGREED = "the one non-null device that all sources agree on (U-29)"
_OFFSET = source("o", "one offset per axis: a Stack of index scalars")

_SOURCE_OPS: tuple[Entry, ...] = (
    entry(
        Op.Param,
        "source",
        (source("s", "the shape: a Stack of index scalars"),),
        "A placeholder of shape s. A Function substitutes it; an evaluation binds it to a value by its slot.",
        arg="slot, dtype, device?, addrspace?, axis?, bounds?",
        constraints=(
            "the slot is an int ≥ 0",
            "s is a Stack of index scalars, each ≥ 0",
            "bounds, if given, are two values of the dtype with lo ≤ hi",
            "axis, if given, is an axis of s that the number of devices divides; on one device there is none",
        ),
        laws={
            "dtype": "from arg",
            "shape": "from src[0]",
            "device": "from arg",
            "min_max": "bounds from arg, else dtype range",
            "axis": "from arg",
        },
        example=">>> param(0, float32, (2, 3)).shape\n(2, 3)",
        decisions=("U-22", "U-31"),
    ),
    entry(
        Op.Buffer,
        "source",
        (),
        "Storage of size elements on one device, or on each device of an n-tuple. Its slot is its identity.",
        arg="slot, size, dtype, device, addrspace (GLOBAL, LOCAL or REG)",
        constraints=("size is an int ≥ 0", "the dtype can be stored: it is neither index nor void"),
        laws={
            "dtype": "from arg",
            "shape": "(n·size,) on an n-tuple device, else (size,)",
            "device": "from arg",
            "min_max": "dtype range",
            "axis": "0 on an n-tuple device, else null",
        },
        example=">>> buffer(0, 4, float32).shape\n(4,)",
        decisions=("U-21", "U-32", "U-51"),
    ),
    entry(
        Op.Const,
        "source",
        (),
        "A scalar constant. Two constants are the same node when dtype and bit pattern agree.",
        arg="value, dtype",
        constraints=("the value is a value of the dtype",),
        laws={
            "dtype": "from arg",
            "shape": "()",
            "device": "null",
            "min_max": "[v, v]; dtype range of NaN",
            "axis": "null",
        },
        example=">>> const(-0.0, float32) is const(0.0, float32)\nFalse",
        decisions=("U-21",),
    ),
    entry(
        Op.Binary,
        "source",
        (),
        "Raw binary data.",
        arg="data: bytes",
        constraints=("data is bytes",),
        laws={
            "dtype": "uint8",
            "shape": "(len(data),)",
            "device": "null",
            "min_max": "dtype range",
            "axis": "null",
        },
        example=">>> evaluate(Op.Binary(arg=b'\\x01\\x02')).elements\n(1, 2)",
        decisions=("U-27",),
        title="Binary (data)",
    ),
)

_MOVEMENT_OPS: tuple[Entry, ...] = (
    entry(
        Op.Permute,
        "movement",
        (_T,),
        "Reorder the axes: axis k of the result is axis π[k] of T.",
        arg="π: a permutation of the axes",
        constraints=("π is a permutation of 0 … rank-1",),
        laws=inherited_laws(shape="s'[k] = s[π[k]]", axis="the k with π[k] = src[0].axis"),
        example=">>> evaluate(Op.Permute(tensor([[1, 2, 3]]), arg=(1, 0))).shape\n(3, 1)",
    ),
    entry(
        Op.Flip,
        "movement",
        (_T,),
        "Reverse the axes whose flag is set: index i of such an axis reads s[k]-1-i.",
        arg="f: one bool per axis",
        constraints=("f has one bool per axis", "the shard axis of a multi-device value is not flipped"),
        laws=inherited_laws(),
        example=">>> evaluate(Op.Flip(tensor([1, 2, 3]), arg=(True,))).elements\n(3, 2, 1)",
    ),
    entry(
        Op.Reshape,
        "movement",
        (_T, _NEW_SHAPE),
        "Reinterpret the elements in row-major order under another shape.",
        constraints=(
            "s' is a Stack of index scalars, each ≥ 0",
            "∏ s'[k] = ∏ s[k]",
            "a shard boundary survives: some new axis starts at the same place and n divides it",
        ),
        laws=inherited_laws(
            shape="s'",
            device=_AGREED,
            axis="the new axis with the same product of sizes before it, and a size that n divides; of several (one "
            "device, or no elements) the first of the same size, else the last",
        ),
        example=">>> evaluate(reshape(tensor([[1, 2], [3, 4]]), (4,))).elements\n(1, 2, 3, 4)",
        decisions=("U-20", "U-22", "U-29"),
    ),
    entry(
        Op.Expand,
        "movement",
        (_T, _NEW_SHAPE),
        "Repeat the axes of size 1 up to the new size.",
        constraints=(
            "s' is a Stack of index scalars, each ≥ 0",
            "s' has the rank of T",
            "each s[k] is 1 or s'[k]",
        ),
        laws=inherited_laws(shape="s'", device=_AGREED),
        example=">>> evaluate(expand(tensor([[1], [2]]), (2, 2))).elements\n(1, 1, 2, 2)",
        decisions=("U-20", "U-22"),
    ),
    entry(
        Op.Pad,
        "movement",
        (_T, _OFFSET, _NEW_SHAPE),
        "Place T at offset o in an output of shape s' that is otherwise zero (False, 0, +0.0).",
        constraints=(
            "o and s' are Stacks of index scalars of the rank of T",
            "0 ≤ o[k] and o[k] + s[k] ≤ s'[k]",
            "the shard axis of a multi-device value keeps its size",
        ),
        laws=inherited_laws(shape="s'", device=_AGREED, min_max="hull of src[0] with 0"),
        example=">>> evaluate(pad(tensor([1, 2]), (1,), (4,))).elements\n(0, 1, 2, 0)",
        decisions=("U-14", "U-20", "U-22", "U-41"),
    ),
    entry(
        Op.Shrink,
        "movement",
        (_T, _OFFSET, _NEW_SHAPE),
        "Keep s'[k] elements of each axis from offset o[k] on. Shrink after the Pad with the same offset is T.",
        constraints=(
            "o and s' are Stacks of index scalars of the rank of T",
            "0 ≤ o[k], 0 ≤ s'[k] and o[k] + s'[k] ≤ s[k]",
            "the shard axis of a multi-device value keeps its size",
        ),
        laws=inherited_laws(shape="s'", device=_AGREED),
        example=">>> evaluate(shrink(tensor([1, 2, 3, 4]), (1,), (2,))).elements\n(2, 3)",
        decisions=("U-20", "U-22"),
    ),
    entry(
        Op.Index,
        "movement",
        (_T, source("i", "index of one axis from the left: shape () or (k,)", variadic=True)),
        "Index the axes from the left. A ()-shaped i removes its axis, a (k,)-shaped one makes it k; several act "
        "independently per axis. An index outside its axis reads an invalid element.",
        constraints=(
            "there are at most rank indices",
            "each index has dtype index and shape () or (k,)",
            "the shard axis of a multi-device value is not indexed",
        ),
        laws=inherited_laws(
            shape="the shapes of the indices, then the axes that were not indexed",
            device=_AGREED,
            axis="of T, shifted left by the axes that were removed before it, or the axis that a sharded index makes; "
            "there is at most one",
        ),
        example=">>> evaluate(Op.Index(tensor([5, 6, 7]), const(2, index))).elements\n(7,)",
        decisions=("U-01", "U-24", "U-29"),
    ),
    entry(
        Op.Stack,
        "movement",
        (source("T", "values of one shape and dtype", variadic=True),),
        "Join the sources along a new leading axis. The empty Stack is the shape (): dtype index, shape (0,).",
        constraints=("all sources have one shape", "all sources have one dtype"),
        laws={
            "dtype": "src[0].dtype; index for the empty Stack",
            "shape": "(number of sources, *src[0].shape); (0,) for the empty Stack",
            "device": _AGREED,
            "min_max": "hull of all sources",
            "axis": "the one non-null axis of the sources, plus 1",
        },
        example=">>> evaluate(Op.Stack(const(1, int32), const(2, int32))).elements\n(1, 2)",
        decisions=("U-22", "U-41"),
    ),
    entry(
        Op.Replicated,
        "movement",
        (_T,),
        "Assert that all slices along the axes are equal, and keep slice 0 of each; unequal slices are invalid.",
        arg="axes: distinct axes",
        constraints=("axes are distinct axes of T", "no axis has the constant size 0"),
        laws=inherited_laws(shape="s with 1 on axes", axis="null if the shard axis is in axes"),
        example=">>> evaluate(Op.Replicated(tensor([[1, 2], [1, 2]]), arg=(0,))).elements\n(1, 2)",
        decisions=("U-28",),
    ),
    entry(
        Op.Slice,
        "movement",
        (_T, source("offset", "an index scalar that counts elements of T")),
        "The size elements of dtype that begin at the byte where element offset of T begins (little endian).",
        arg="size, dtype",
        constraints=(
            "T has rank 1 and a stored dtype",
            "offset is an index scalar",
            "the dtype is stored and is not bool, unless it is that of T",
            "offset is byte-aligned to dtype, and where it is constant the slice lies inside T",
            "a multi-device value with a shard axis is sliced whole, into a size that n divides",
        ),
        laws=inherited_laws(dtype="from arg", shape="(size,)", min_max="dtype range", device=_AGREED),
        example=">>> evaluate(Op.Slice(tensor([1, 2, 3]), const(1, index), arg=SliceArg(2, int32))).elements\n(2, 3)",
        decisions=("U-23", "U-35"),
    ),
    entry(
        Op.Bitcast,
        "movement",
        (_T,),
        "Reinterpret the stored bytes, little endian. The last axis scales by the ratio of the item sizes.",
        arg="dtype",
        constraints=(
            "both dtypes are integers of fixed width or floats",
            "the item sizes are equal, or T has a last axis whose bytes the new item size divides",
            "where the last axis is the shard axis, so do the bytes of each of its n parts",
        ),
        laws=inherited_laws(dtype="from arg", shape="s with the last axis scaled", min_max="dtype range"),
        example=">>> evaluate(Op.Bitcast(const(1.0, float32), arg=uint32)).elements\n(1065353216,)",
        decisions=("U-05", "U-23", "U-35"),
    ),
)

_REDUCE_OPS: tuple[Entry, ...] = (
    entry(
        Op.Reduce,
        "reduce",
        (_T, source("r", "ranges to reduce over, in the range form", variadic=True)),
        "Reduction T with Add, Max or Mul along axes (which stay, with size 1) or over ranges. A float reduction is "
        "ascending and starts at its first element; several axes are one reduction in row-major order; the first range "
        "is the outermost. The empty reduce is 0, 1, or the dtype's "
        "least value (invalid for index).",
        arg="op (Add, Max or Mul), axes",
        constraints=(
            "op is Add, Max or Mul",
            "axes are distinct axes of T; with ranges they are empty",
            "each r is a Range",
            "Add is not on bool",
        ),
        laws=inherited_laws(
            shape="s with 1 on axes",
            min_max="dtype range; bounds of src[0] for Max where something is reduced",
            axis="null if the shard axis is reduced",
        ),
        example=">>> evaluate(Op.Reduce(tensor([[1, 2], [3, 4]]), arg=ReduceArg(Op.Add, (1,)))).elements\n(3, 7)",
        decisions=("U-10", "U-14", "U-20"),
    ),
)

_CALL_OPS: tuple[Entry, ...] = (
    entry(
        Op.Function,
        "call",
        (source("body", "a Tuple"), source("a", "the argument of Param k", variadic=True)),
        "Substitute argument k for Param k in the body. Differentiable.",
        constraints=(
            "the body is a Tuple",
            "the body is closed: no free Range, no Buffer, no Store",
            "the slots of the Params outside nested Functions are among 0 … number of arguments-1",
            "each argument has the dtype and shape of its Param, agrees with its device and axis, and is in its bounds",
        ),
        laws=void_laws(),
        example=">>> evaluate(Op.GetTuple(Op.Function(Op.Tuple(Op.Add(p, p)), const(3, int32)), arg=0)).elements\n(6,)",
        decisions=("U-31",),
    ),
    entry(
        Op.Call,
        "call",
        (
            source("body", "a Tuple, a Program or a CustomFunction"),
            source("a", "the argument of Param k", variadic=True),
        ),
        "An opaque invocation: the value of the body on the arguments, without looking inside.",
        constraints=(
            "the body is a Tuple, a Program or a CustomFunction",
            "each argument has the dtype and shape of its Param",
            "a Tuple as body is closed: no free Range, no Buffer, no Store",
        ),
        laws=void_laws(),
        example=">>> evaluate(Op.GetTuple(Op.Call(Op.Tuple(Op.Add(p, p)), const(3, int32)), arg=0)).elements\n(6,)",
        decisions=("U-31",),
    ),
    entry(
        Op.Tuple,
        "call",
        (source("v", "values", variadic=True),),
        "Pack values; the body of every Function.",
        laws=void_laws(),
        example=">>> Op.Tuple(const(1, int32)).dtype\nvoid",
        decisions=("U-31",),
    ),
    entry(
        Op.GetTuple,
        "call",
        (source("T", "a Tuple, or a Function or Call of one"),),
        "Element idx of a tuple.",
        arg="idx: int",
        constraints=("T is a Tuple, a Function or a Call with known elements", "idx is one of its positions"),
        laws={
            "dtype": "of the element",
            "shape": "of the element, with the arguments substituted",
            "device": "of the element, with the arguments substituted",
            "min_max": "of the element of a Tuple; dtype range of a Function or Call",
            "axis": "of the element, with the arguments substituted",
        },
        example=">>> Op.GetTuple(Op.Tuple(const(1, int8), const(2, int32)), arg=1).dtype\nint32",
        decisions=("U-31",),
    ),
)

_MARKER_OPS: tuple[Entry, ...] = tuple(
    entry(
        op,
        "marker",
        (_T,),
        semantics,
        laws=inherited_laws(),
        example=f">>> evaluate(Op.{op.name}(tensor([1, 2]))).elements\n(1, 2)",
        decisions=decisions,
    )
    for op, semantics, decisions in (
        (Op.Contiguous, "The identity; asks for a contiguous layout.", ("U-25",)),
        (
            Op.ContiguousBackward,
            "The identity; its adjoint asks for a contiguous layout.",
            ("U-31",),
        ),
        (Op.Detach, "The identity; no gradient passes through it.", ("U-31",)),
    )
)

ENTRIES: tuple[Entry, ...] = (*_SOURCE_OPS, *_MOVEMENT_OPS, *_REDUCE_OPS, *_CALL_OPS, *_MARKER_OPS)
