"""
The node
========

A UOp is the tuple (op, src, arg, tag). Equal tuples are one object: nodes are interned by structure, and constants by
dtype and bit pattern, so that ``1``, ``1.0``, ``True``, ``-0.0`` and NaN are five things (U-21). A node is immutable,
is checked against the op table when it is made, and carries the properties that its construction had to know.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar, Union

from soundline.spec.dtypes import DType, Element
from soundline.spec.errors import IllFormed
from soundline.spec.ops.walks import postorder


class Op(Enum):
    """The ops. Calling one builds a node: ``Op.Add(a, b)``, ``Op.Cast(x, arg=int8)``."""

    Param = "Param"
    Buffer = "Buffer"
    Const = "Const"
    Binary = "Binary"
    Permute = "Permute"
    Flip = "Flip"
    Reshape = "Reshape"
    Expand = "Expand"
    Pad = "Pad"
    Shrink = "Shrink"
    Index = "Index"
    Stack = "Stack"
    Replicated = "Replicated"
    Slice = "Slice"
    Bitcast = "Bitcast"
    Reduce = "Reduce"
    Function = "Function"
    Call = "Call"
    Tuple = "Tuple"
    GetTuple = "GetTuple"
    Load = "Load"
    Store = "Store"
    Range = "Range"
    End = "End"
    After = "After"
    Group = "Group"
    Sink = "Sink"
    Linear = "Linear"
    Recip = "Recip"
    Trunc = "Trunc"
    Cast = "Cast"
    Add = "Add"
    Mul = "Mul"
    Max = "Max"
    Mod = "Mod"
    Idiv = "Idiv"
    CmpLt = "CmpLt"
    CmpNe = "CmpNe"
    Xor = "Xor"
    Or = "Or"
    And = "And"
    Shr = "Shr"
    Shl = "Shl"
    Where = "Where"
    Neg = "Neg"
    Sub = "Sub"
    Div = "Div"
    CmpGt = "CmpGt"
    CmpGe = "CmpGe"
    CmpLe = "CmpLe"
    CmpEq = "CmpEq"
    Not = "Not"
    Exp2 = "Exp2"
    Log2 = "Log2"
    Sin = "Sin"
    Sqrt = "Sqrt"
    Pow = "Pow"
    Mulacc = "Mulacc"
    Threefry = "Threefry"
    Contiguous = "Contiguous"
    ContiguousBackward = "ContiguousBackward"
    Detach = "Detach"
    Barrier = "Barrier"
    Ins = "Ins"
    Special = "Special"
    If = "If"
    Endif = "Endif"
    Wmma = "Wmma"
    Custom = "Custom"
    AtomicAdd = "AtomicAdd"
    CustomFunction = "CustomFunction"
    Program = "Program"
    Source = "Source"
    BinaryCode = "BinaryCode"
    CDiv = "CDiv"
    CMod = "CMod"

    __hash__ = object.__hash__  # a member is one object, and is hashed wherever a node is made

    def __call__(self, *src: Any, arg: Any = None, tag: Any = None) -> UOp:
        """Build the node of this op with these sources; raises ``IllFormed`` where a constraint is broken."""
        return UOp(self, src, arg, tag)


Device = str | tuple[str, ...] | None
Size = Union[int, "UOp"]
"""A size: a number, or an ``index`` expression that is not yet one."""
Shape = tuple[Size, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ConstArg:
    """A constant's value and dtype; equal when the dtype and the bit pattern are."""

    value: Element
    dtype: DType
    key: tuple[object, ...] = field(init=False, repr=False)
    """The key that tells constants apart: the dtype, the type of the value, and its bits."""

    def __post_init__(self) -> None:
        kind = type(self.value)
        told: object = self.value
        if kind is float and (self.value != self.value or self.value == 0):
            told = str(self.value)  # every NaN is one constant, and the zeros are two
        object.__setattr__(self, "key", (self.dtype, kind, told))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstArg) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, slots=True)
class ParamArg:
    """Slot, dtype, and what a binding must have besides: device, address space, shard axis, bounds."""

    slot: int
    dtype: DType
    device: Device = None
    addrspace: str = "GLOBAL"
    axis: int | None = None
    bounds: tuple[ConstArg, ConstArg] | None = None


@dataclass(frozen=True, slots=True)
class BufferArg:
    """Slot (the identity), number of elements, dtype, device and address space."""

    slot: int
    size: int
    dtype: DType
    device: Device = "CPU"
    addrspace: str = "GLOBAL"


@dataclass(frozen=True, slots=True)
class SliceArg:
    """Number of elements and dtype of a Slice."""

    size: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class ReduceArg:
    """The operator of a Reduce and the axes it reduces."""

    op: Op
    axes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadArg:
    """Where a Load puts the value; None keeps the device or address space of its source."""

    device: Device = None
    addrspace: str | None = None


class AxisType(Enum):
    """The kind of a Range; the letter is the source's."""

    GLOBAL = "g"
    LOCAL = "l"
    WARP = "w"
    THREAD = "t"
    LOOP = "L"
    REDUCE = "R"
    GROUP_REDUCE = "G"
    UPCAST = "u"
    UNROLL = "r"

    __hash__ = object.__hash__  # a member is one object


@dataclass(frozen=True, slots=True)
class RangeArg:
    """The identity of a loop and its AxisType."""

    id: int
    type: AxisType = AxisType.LOOP


@dataclass(frozen=True, slots=True)
class WmmaArg:
    """Dims (N, M, K), input dtype and accumulator dtype of a tensor core, and the device that has it."""

    dims: tuple[int, int, int]
    input: DType
    accumulator: DType
    device: str = "CUDA"


@dataclass(frozen=True, slots=True, eq=False)
class Properties:
    """The four derived properties that construction computes; min_max is computed on demand."""

    dtype: DType
    shape: Shape | None
    device: Device
    axis: int | None


def _types(arg: object) -> object:
    """The types inside an arg: Python takes True and 1 for equal, but one is no arg where the other is."""
    if isinstance(arg, tuple):
        return tuple(_types(a) for a in arg)
    if isinstance(arg, ParamArg | BufferArg | SliceArg | ReduceArg | LoadArg | RangeArg | WmmaArg):
        return type(arg), *(type(getattr(arg, name)) for name in arg.__slots__)
    return type(arg)


def is_hashable(value: object) -> bool:
    """Whether an arg or a tag can take part in the identity of a node."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


_UNTYPED = (DType, str, bytes)
"""The types whose values equal no value of another type."""


def _identity(op: Op, src: tuple[UOp, ...], arg: Any, tag: object) -> tuple[object, ...]:
    """The key under which a tuple is interned: sources by identity, a constant by its own key, any other arg with its
    types.
    """
    kind = type(arg)
    if kind is ConstArg:
        arg = arg.key
    elif kind not in _UNTYPED:
        return op, src, _types(arg), arg, tag
    return op, src, kind, arg, tag


class _Fields:
    """What a node consists of; a node is one of these until it is complete."""

    __slots__ = ("__weakref__", "arg", "axis", "device", "dtype", "op", "properties", "shape", "src", "tag")
    op: Op
    src: tuple[UOp, ...]
    arg: Any
    tag: Any
    dtype: DType
    shape: Shape | None
    device: Device
    axis: int | None
    properties: Properties
    """The last four, as the laws gave them."""


class UOp(_Fields):
    """One node of a program; see the op table for what each op means.

    Raises ``IllFormed``, with the id of the broken constraint, where the op table does not admit the tuple.
    """

    __slots__ = ()
    laws: ClassVar[Callable[[Op, tuple[UOp, ...], Any], Properties]]
    """Checks a tuple and derives its properties. This and the next come from the op table, and are joined to the
    constructor by `uop`: nodes stand below the table, because the entries speak of nodes."""
    bounds: ClassVar[Callable[[UOp, Callable[[UOp], Any]], Any]]
    """The bounds of a node from those of its sources."""

    def __new__(cls, op: Op, src: tuple[UOp, ...] = (), arg: Any = None, tag: Any = None) -> UOp:
        """The one node of this tuple."""
        identity = (op, src, None, tag) if arg is None else _identity(op, src, arg, tag)
        try:
            entry = _INTERNED.get(identity)
        except TypeError:  # an arg that cannot be hashed is no arg of any op: let the laws say so
            entry = None
        known = entry() if entry is not None else None
        if known is not None:
            return known
        properties = cls.laws(op, src, arg)
        if tag is not None and not is_hashable(tag):
            raise IllFormed(op.name, "U-21", given=f"tag {tag!r}", wants="a tag that can be hashed")
        node: Any = object.__new__(_Fields)
        node.op, node.src, node.arg, node.tag = op, src, arg, tag
        node.dtype, node.shape = properties.dtype, properties.shape
        node.device, node.axis, node.properties = properties.device, properties.axis, properties
        node.__class__ = cls  # complete, and from now on immutable
        entry = _Entry(node, _forget)
        entry.identity = identity
        present = _INTERNED.setdefault(identity, entry)
        return node if present is entry else _entered(entry, node)

    def __setattr__(self, name: str, value: object) -> None:
        """Nodes are immutable."""
        raise AttributeError(f"a UOp is immutable: {name} cannot be set")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the tuple, so that a loaded node is interned again."""
        return UOp, (self.op, self.src, self.arg, self.tag)

    def __repr__(self) -> str:
        return _text(self, depth=4)


class _Entry(weakref.ref[UOp]):
    """A node in the table of nodes, which keeps none alive."""

    __slots__ = ("identity",)
    identity: tuple[object, ...]


_INTERNED: dict[tuple[object, ...], _Entry] = {}
_LOCK = threading.RLock()
"""Held while an entry is replaced or removed, so that threads that make one tuple get one node."""


def _entered(entry: _Entry, node: UOp) -> UOp:
    """Enter a node in place of one that was collected, or find the one that another thread has entered meanwhile."""
    with _LOCK:
        present = _INTERNED.setdefault(entry.identity, entry)
        known = present()
        if known is None:
            _INTERNED[entry.identity] = entry
    return node if known is None else known


def _forget(entry: _Entry) -> None:
    """Remove a collected node from the table, unless another node has taken its entry."""
    with _LOCK:
        if _INTERNED.get(entry.identity) is entry:
            del _INTERNED[entry.identity]


def _text(node: UOp, depth: int) -> str:
    """The node as the calls that build it, cut where it gets deep."""
    if node.op is Op.Const:
        return f"const({node.arg.value!r}, {node.dtype})"
    if node.op is Op.Param and depth:
        sizes = ", ".join(_size_text(s, depth - 1) for s in node.shape or ())
        shape = f", ({sizes}{',' if len(node.shape or ()) == 1 else ''})" if sizes else ""
        return f"param({node.arg.slot}, {node.dtype}{shape})"
    inside = [_text(s, depth - 1) if depth else "…" for s in node.src]
    if node.arg is not None:
        inside.append(f"arg={node.arg!r}")
    return f"Op.{node.op.name}({', '.join(inside)})"


def _size_text(size: Size, depth: int) -> str:
    return _text(size, depth) if isinstance(size, UOp) else str(size)


Below = Callable[[UOp], tuple[UOp, ...]]
"""Where a walk goes from a node."""
sources: Below = attrgetter("src")
"""To the sources, where it is not told another way."""


def toposort(*roots: UOp, below: Below = sources) -> Iterator[UOp]:
    """Every node that the roots reach, once each, sources before users."""
    return iter(postorder(roots, below))


def over(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """A node over other sources: the node itself where they are its own."""
    return node if src == node.src else UOp(node.op, src, node.arg, node.tag)


Change = Callable[[UOp, tuple[UOp, ...]], UOp | None]
"""The new node for a node, given the node and its new sources; None for the node over these sources."""


def rebuilt_nodes(order: Iterable[UOp], change: Change, below: Below = sources) -> dict[UOp, UOp]:
    """What each of the nodes becomes, where `order` has sources before users.

    A node with fewer nodes `below` it than it has sources keeps the first of its sources as they are.
    """
    new: dict[UOp, UOp] = {}
    for node in order:
        src = tuple([new[s] for s in below(node)])
        made = change(node, src)
        new[node] = over(node, node.src[: len(node.src) - len(src)] + src) if made is None else made
    return new


def rebuilt(root: UOp, change: Change, below: Below = sources) -> UOp:
    """The graph of `root`, every node changed over its changed sources; what no change reaches stays itself."""
    return rebuilt_nodes(toposort(root, below=below), change, below)[root]


def substitute(root: UOp, replacements: Mapping[UOp, UOp]) -> UOp:
    """`root` with nodes replaced; every node above a replacement is made, and so checked, anew."""
    return rebuilt(root, lambda node, _: replacements.get(node))
