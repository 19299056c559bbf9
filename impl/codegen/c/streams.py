"""
Streams in C
============

Non-temporal stores, which bypass the caches, and prefetches. A non-temporal store needs a vector that is aligned to its
size; an unaligned vector is stored in the ordinary way. A kernel with non-temporal stores ends with a fence, since
other cores may see them late.
"""

from __future__ import annotations

import functools

from soundline.impl.codegen.c.helpers import Helper, Part
from soundline.impl.codegen.c.vector_helpers import ELEMENTS, loose, vector

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
    """The non-temporal store of a vector, where the machine has one."""
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
"""The end of a kernel with non-temporal stores."""
