"""
Streams in C
============

What goes past the caches, and what is fetched into them early.

A result that is larger than a cache, and that the program does not read again, is written by stores that bypass the
caches: otherwise every line of it would first be read, and push out what is still of use. Such a store needs a vector
that begins at a multiple of its size; where one does not, it is an ordinary store. A kernel that made some ends with a
fence, since other cores may see them late.

A row that a kernel reads a second time comes from the nearest cache, and leaves memory idle: with it, the same place of
the next row is fetched.
"""

from __future__ import annotations

import functools

from soundline.impl.codegen.c.helpers import Helper, Part
from soundline.impl.codegen.c.vector_helpers import ELEMENTS, loose, vector
from soundline.impl.lower.graphs.loops import stride
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.vectors import first_of, is_vector
from soundline.spec.uop import Op, UOp, toposort

LARGE = 1 << 25
"""From so many bytes on, a result goes past the caches."""
LONG = 1 << 10
"""From so many bytes on, the next row is too far away for a processor to fetch it by itself."""
NEAR = 1 << 17
"""Up to so many bytes, the next row finds room in a near cache."""


def streamed(program: UOp) -> frozenset[UOp]:
    """The Buffers that a Linear of Linears writes past the caches."""
    steps = [step for kernel in program.src for step in kernel.src]
    written = {storage_of(s.src[0]) for s in steps if s.op is Op.Store}
    large = {
        b for b in written if b.op is Op.Buffer and is_global(b) and b.arg.size * b.dtype.itemsize >= LARGE
    }
    if not large:
        return frozenset()
    return frozenset(large - {storage_of(n.src[0]) for n in toposort(*steps) if n.op is Op.Load})


def storage_of(place: UOp) -> UOp:
    """The Buffer or Slice that a place lies in."""
    while place.op in (Op.Index, Op.After, Op.Reshape):
        place = place.src[0]
    return place


def ahead(kernel: UOp) -> dict[UOp, int]:
    """The loads with which a place of the next row is fetched, and how many bytes further that is."""
    found: dict[UOp, int] = {}
    opened: list[UOp] = []
    visits = 0  # loops inside the outermost one that were opened
    first: dict[UOp, int] = {}
    second: dict[UOp, int] = {}
    written = {storage_of(s.src[0]) for s in kernel.src if s.op is Op.Store}
    for step in kernel.src:
        if step.op is Op.Range:
            opened.append(step)
            visits += len(opened) == 2
        elif step.op is Op.End:
            opened.pop()
        elif step.op is Op.Load and len(opened) > 1 and is_vector(step) and step.src[0].op is Op.Index:
            storage, at = storage_of(step.src[0]), first_of(step.src[0].src[1])
            row = stride(at, opened[0]) if at is not None else None
            if row is None or storage in written or not LONG <= row * step.dtype.itemsize <= NEAR:
                continue
            if first.setdefault(storage, visits) != visits and second.setdefault(storage, visits) == visits:
                found[step] = row * step.dtype.itemsize
    return found


_INSTRUCTION = {
    16: ("__SSE__", "__builtin_ia32_movntps"),
    32: ("__AVX__", "__builtin_ia32_movntps256"),
    64: ("__AVX512F__", "__builtin_ia32_movntps512"),
}
_STREAM = """static inline void sl_stream_{t}({element} *p, {t} v) {{
#if defined {feature}
    typedef float floats __attribute__((vector_size({bytes})));
    if ((uintptr_t)p % {bytes} == 0) {{
#if defined __clang__
        __builtin_nontemporal_store((floats)v, (floats *)p);
#else
        {instruction}((float *)p, (floats)v);
#endif
        return;
    }}
#endif
    *({t}u *)p = v;
}}
"""


@functools.cache
def stream(lane: str, width: int) -> Helper:
    """The store of a vector past the caches, where the machine has one."""
    size, t = width * int(lane[1:]) // 8, f"{lane}x{width}"
    feature, instruction = _INSTRUCTION.get(size, ("SL_NONE", ""))
    text = _STREAM.format(t=t, bytes=size, element=ELEMENTS[lane], feature=feature, instruction=instruction)
    needs = vector(lane, width), loose(lane, width)
    return Helper(f"sl_stream_{t}", text, Part.STREAMS, needs, (lane, str(width)))


FETCH = Helper(
    "SL_FETCH",
    "#define SL_FETCH(p, bytes) __builtin_prefetch((const void *)((uintptr_t)(p) + (bytes)))\n",
    Part.STREAMS,
    place=("~",),
)
FENCE = """#if defined __SSE__
    __builtin_ia32_sfence();
#endif"""
"""The end of a kernel with such stores."""
