"""
Mistakes in generated text
==========================

A table of mistakes that a generator of CUDA could make, each as an edit of text: of what is generated for a program, or
of the header of the device. A mistake is made in every program in whose text its pattern stands, at its first and at
its last place; one that stands nowhere fails the trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from soundline.impl.runtime.emulator import texts
from soundline.impl.spork.program import SporkProc
from trials.waterline.batches import Case

Edit = str | Callable[[re.Match[str]], str]
HEADER: Final = "soundline_device.cuh"


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake."""

    name: str
    family: str
    where: str
    """The ending of the file, or the name of the header."""
    pattern: str
    new: Edit
    unobservable: str = ""
    """Why the emulator cannot notice it, where it cannot."""

    def places(self, text: str) -> list[re.Match[str]]:
        """Where it can be made: at the first and at the last place that the pattern has."""
        found = [
            m for m in re.finditer(self.pattern, text) if self._made(m) != m[0] and not _in_comment(text, m)
        ]
        return [found[0], *found[1:][-1:]] if found else []

    def _made(self, match: re.Match[str]) -> str:
        return match.expand(self.new) if isinstance(self.new, str) else self.new(match)

    def made(self, text: str, match: re.Match[str]) -> str:
        """The text with the mistake."""
        return text[: match.start()] + self._made(match) + text[match.end() :]


def _in_comment(text: str, match: re.Match[str]) -> bool:
    return "//" in text[text.rfind("\n", 0, match.start()) + 1 : match.start()]


def _plus(by: int, group: int = 2) -> Callable[[re.Match[str]], str]:
    """A number of the text, plus another."""

    def edit(match: re.Match[str]) -> str:
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}{int(match[group]) + by}{match[0][end:]}"

    return edit


def _times(by: int, group: int = 2) -> Callable[[re.Match[str]], str]:
    def edit(match: re.Match[str]) -> str:
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}{int(match[group]) * by}{match[0][end:]}"

    return edit


def _halved(group: int = 2) -> Callable[[re.Match[str]], str]:
    def edit(match: re.Match[str]) -> str:
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}{int(match[group]) // 2}{match[0][end:]}"

    return edit


_LINE = r"(?m)^ *"
_DESCRIPTOR = r"soundline::smem_descriptor<\d+>\(.*?\)"
_BAR = r"SyncState::mbarrier\((?:[^()]|\([^()]*\))*\)"

INDICES: Final = (
    Fault("a quotient of threadIdx", "threads", ".cuh", r"(= threadIdx\.x / )(\d+)", _times(2)),
    Fault("a remainder of threadIdx", "threads", ".cuh", r"(= threadIdx\.x % )(\d+)", _halved()),
    Fault(
        "a guard of threads one too far",
        "threads",
        ".cuh",
        r"(const int \w+ = threadIdx\.x[^;]*; \w+ < )(\d+)",
        _plus(1),
    ),
    Fault(
        "the first thread of a range", "threads", ".cuh", r"(const int \w+ = threadIdx\.x - )(\d+)", _plus(-1)
    ),
    Fault(
        "a range of warps one too long", "threads", ".cuh", r"( if \(threadIdx\.x < )(\d+)(?=\))", _plus(32)
    ),
    Fault("a slot off by one", "slots", ".cuh", r"\((\w+) & 1\) \*", r"((\1 + 1) & 1) *"),
    Fault("a slot of three off by one", "slots", ".cuh", r"(\w+) % 3 \*", r"(\1 + 1) % 3 *"),
    Fault("the distance of slots", "slots", ".cuh", r"((?:\(\w+ & 1\)|% 3) \* )(\d+)", _halved()),
    Fault(
        "the row stride of shared memory", "strides", ".cuh", r"(_smem[^;\n]*\) \* )(8|32|40|24)\b", _plus(1)
    ),
    Fault(
        "the row stride of global memory",
        "strides",
        ".cuh",
        r"(int64_t\([^;\n]*\) \* )([NK])\b",
        r"\1(\2 - 1)",
    ),
    Fault("a column off by one", "strides", ".cuh", r"( \+ )(4|8) \* (n|k|tid|nw|wn)\b", r"\1\2 * \3 + 1"),
    Fault(
        "rows and columns of a window swapped",
        "strides",
        ".cuh",
        r"(soundline::window<0, \d+>\([^;\n]*), (\d+|N), 1\)",
        r"\1, 1, \2)",
    ),
    Fault(
        "a fragment of a neighbour",
        "fragments",
        ".cuh",
        r"(mma_load_[ab]\(\w+\[)([^]]+)(\])",
        r"\g<1>(\2) ^ 1\3",
    ),
    Fault(
        "an accumulator of a neighbour",
        "fragments",
        ".cuh",
        r"(mma_sync\w+\(D\w*\[)([^]]+)(\])",
        r"\g<1>(\2) ^ 1\3",
    ),
    Fault("words of a fragment swapped", "fragments", ".cuh", r"= words__\[0\]", "= words__[1]"),
    Fault(
        "arrays that overlap", "layout", ".cuh", r"(soundline_dynamic_shared\(\) \+ )(\d{3,})", _plus(-128)
    ),
    Fault("too little shared memory", "layout", ".c", r"(\.shared_bytes = )(\d+)", _halved()),
    Fault(
        "a loop one too short",
        "loops",
        ".cuh",
        r"(for \(int k\w* = 0; k\w* < )(\(?K >> \d\)?(?: \+ 1)?)(?=;)",
        r"\1(\2) - 1",
    ),
    Fault(
        "a loop one too long",
        "loops",
        ".cuh",
        r"(for \(int k\w* = 0; k\w* < )(\(?K >> \d\)?(?: \+ 1)?)(?=;)",
        r"\1(\2) + 1",
    ),
    Fault(
        "a loop from one",
        "loops",
        ".cuh",
        r"for \(int (\w+) = 0; (\w+) < (\d*[2-9]\d*);(?!.*mbarrier)",
        r"for (int \1 = 1; \2 < \3;",
    ),
    Fault(
        "a condition that is never true",
        "loops",
        ".cuh",
        r"if \((\w+) (>|>=) (\d)\) \{",
        r"if (\1 \2 \3 + 100) {",
    ),
    Fault("a sum that is kept", "loops", ".cuh", r"if \(k == 0\) \{", "if (k == 1) {"),
    Fault("a task left out", "tasks", ".cuh", r"return int64_t\((.+)\);", r"return int64_t(\1) - 1;"),
    Fault(
        "tasks left out by the stride",
        "tasks",
        ".cuh",
        r"task_number \+= gridDim\.x",
        r"task_number += 2 * gridDim.x",
        unobservable="at the sizes of the examples a CTA has one task",
    ),
    Fault(
        "quotient and remainder of a task swapped",
        "tasks",
        ".cuh",
        r"task_number % ",
        "task_number / ",
        unobservable="at the sizes of the examples there is one tile in a direction",
    ),
)

RINGS: Final = (
    Fault("a parity that is inverted", "parity", ".cuh", r"(_awaits\.parity)\)", r"\1 ^ 1)"),
    Fault("a parity that never changes", "parity", ".cuh", r"parity \^= 1;", "parity ^= 0;"),
    Fault(
        "a ring that is one too long",
        "slots",
        ".cuh",
        r"if \(\+\+slot < DEPTH\) return;",
        "if (++slot < DEPTH + 1) return;",
    ),
    Fault("a lag one too large", "slots", ".cuh", r"(Turn<\d+, )(\d+)(?=>)", _plus(1)),
    Fault(
        "a lag one too small",
        "waits for more than is needed",
        ".cuh",
        r"(Turn<\d+, )(\d+)(?=>)",
        _plus(-1),
        unobservable="each await waits for the next slot to be given back as well, which only costs time",
    ),
    Fault("an await that does not advance", "slots", ".cuh", _LINE + r"sync\.\w+_awaits\.next\(\);", ""),
    Fault("an arrive that does not advance", "slots", ".cuh", _LINE + r"sync\.\w+_arrives\.next\(\);", ""),
    Fault(
        "the other side's mbarrier",
        "slots",
        ".cuh",
        r"SyncState::mbarrier\((\d+) \+ ",
        "SyncState::mbarrier(0 * \\1 + ",
    ),
    Fault("a neighbour's mbarrier", "slots", ".cuh", r"(_arrives)\.slot\)", r"\1.slot ^ 1)"),
    Fault(
        "an arrival too many expected",
        "counts",
        ".cuh",
        r"(mbarrier_init_shared_b64\(SyncState::mbarrier\(k\), )(\d+)",
        _plus(1),
    ),
    Fault(
        "an arrival too few expected",
        "counts",
        ".cuh",
        r"(mbarrier_init_shared_b64\(SyncState::mbarrier\(k\), )(\d*[02-9]|\d{2,})(?=\))",
        _plus(-1),
    ),
    Fault(
        "an mbarrier without initialization",
        "counts",
        ".cuh",
        r"(for \(int k = \d+; k < )(\d+)(; \+\+k\) ptx::mbarrier_init)",
        _plus(-1),
    ),
    Fault("an await left out", "waits", ".cuh", _LINE + r"while \(!ptx::mbarrier_\w+\(.*\) \{\}", ""),
    Fault("an arrive left out", "waits", ".cuh", r"ptx::mbarrier_arrive_(?:shared|release)\w+\(.*\);", ";"),
    Fault(
        "an arrive that does not wait for copies",
        "waits",
        ".cuh",
        r"ptx::cp_async_mbarrier_arrive_noinc_shared_b64",
        "ptx::mbarrier_arrive_shared_b64",
    ),
    Fault(
        "an arrive of all lanes",
        "waits",
        ".cuh",
        r"if \((?:ptx::elect_sync\(\)|threadIdx\.x % 32 == 0)\) (ptx::mbarrier_arrive)",
        r"\1",
    ),
    Fault(
        "an arrive at the own CTA alone", "clusters", ".cuh", r", target_cta\)", ", ptx::cluster_ctarank())"
    ),
    Fault("targets of an arrive", "clusters", ".cuh", r"0x3 >> target_cta", "0x1 >> target_cta"),
    Fault("the mask of a multicast", "clusters", ".cuh", r"uint16_t\(0x3\)", "uint16_t(0x1)"),
    Fault(
        "the rank in the cluster",
        "clusters",
        ".cuh",
        r"(const int cta = )blockIdx\.x % 2",
        r"\g<1>1 - blockIdx.x % 2",
    ),
    Fault("clusters of one", "clusters", ".c", r"\.cluster_dim = 2", ".cluster_dim = 1"),
)

FENCES: Final = (
    Fault(
        "no proxy fence before a store by TMA",
        "proxy fences",
        ".cuh",
        r"(?<=barrier_cta_sync\(0\);\n)( *)ptx::fence_proxy_async\w*\(\);(?=(?:\n *//.*)*\n *if \(const int)",
        "",
    ),
    Fault(
        "no proxy fence after an await",
        "proxy fences",
        ".cuh",
        r"(?<=part_awaits\.next\(\);\n)( *)ptx::fence_proxy_async\w*\(\);",
        "",
    ),
    Fault(
        "no proxy fence before a slot is loaded again",
        "proxy fences before loads",
        ".cuh",
        r"(?<=reverse_awaits\.next\(\);\n)( *)ptx::fence_proxy_async\w*\(\);",
        "",
        unobservable="what was read before is read at its turn, so that no later load overtakes it; where only TMA and "
        "wgmma touch the slot, both use one proxy and the fence orders nothing",
    ),
    Fault(
        "no proxy fence between tasks",
        "proxy fences before loads",
        ".cuh",
        r"(?<=the same mbarriers\.\n)( *)ptx::fence_proxy_async\w*\(\);",
        "",
        unobservable="the next task loads what the last one read: what was read is read at its turn",
    ),
    Fault(
        "no proxy fence after initialization",
        "proxy fences",
        ".cuh",
        r"(?<=, \d\);\n)( *)ptx::fence_proxy_async\w*\(\);",
        "",
    ),
    Fault(
        "no fence.mbarrier_init",
        "fence.mbarrier_init",
        ".cuh",
        r"ptx::fence_mbarrier_init_release_cluster\(\);",
        "",
        unobservable="the barrier of the cluster after it releases what the thread wrote, and a proxy fence stands "
        "beside it; threads of the emulator run on one processor",
    ),
    Fault("no wgmma.fence", "wgmma", ".cuh", r"ptx::wgmma_fence_sync_aligned\(\);", ""),
    Fault("no commit of wgmma", "groups", ".cuh", r"ptx::wgmma_commit_group_sync_aligned\(\);", ""),
    Fault("no commit of cp.async", "groups", ".cuh", r"ptx::cp_async_commit_group\(\);", ""),
    Fault("no commit of stores", "groups", ".cuh", r"ptx::cp_async_bulk_commit_group\(\);", ""),
    Fault("a wait for one group less", "groups", ".cuh", r"(wait_group\w*<)(\d+)(?=>)", _plus(1)),
    Fault("no wait for copies", "groups", ".cuh", r"ptx::cp_async_wait_all\(\);", ""),
    Fault("no wait for groups", "groups", ".cuh", r"ptx::\w*wait_group\w*<\d+>\(\);", ""),
    Fault(
        "no barrier of the CTA within a task",
        "barriers",
        ".cuh",
        r"(?<=wait_all\(\);\n)( *)ptx::barrier_cta_sync\(0\);",
        "",
    ),
    Fault(
        "no barrier before the results are read",
        "barriers",
        ".cuh",
        r"(?<=\}\n)( *//.*\n *)ptx::barrier_cta_sync\(0\);(?=(?:\n *//.*)*\n *(?:if|\{|for))",
        r"\1;",
    ),
    Fault(
        "no barrier after initialization",
        "barriers",
        ".cuh",
        r"ptx::barrier_cta_sync\(0\);(?=\n *for \(int64_t task_number)",
        "",
    ),
    Fault(
        "no barrier of the cluster after initialization",
        "barriers",
        ".cuh",
        r"ptx::barrier_cluster_arrive\(\);\n *ptx::barrier_cluster_wait\(\);(?=\n *if \(threadIdx\.x < \d+\) \{)",
        "",
    ),
    Fault(
        "a barrier that waits for fewer threads",
        "barriers",
        ".cuh",
        r"barrier_cta_sync\(0\)",
        "barrier_cta_sync(0, 32)",
    ),
    Fault(
        "a barrier of the cluster without its wait", "barriers", ".cuh", r"ptx::barrier_cluster_wait\(\);", ""
    ),
    Fault(
        "lanes that do not meet before one arrives",
        "__syncwarp",
        ".cuh",
        r"__syncwarp\(\);(?=\n *if \(threadIdx\.x % 32 == 0\))",
        "",
    ),
    Fault(
        "lanes that do not meet before one is elected",
        "__syncwarp before elect.sync",
        ".cuh",
        r"__syncwarp\(\);(?=\n *if \(ptx::elect_sync\(\)\))",
        "",
        unobservable="elect.sync waits for the lanes itself; that it orders no memory does not show on one processor",
    ),
)

TMA: Final = (
    Fault("half of the bytes expected", "bytes", ".cuh", r"(_bytes\w* \+= )(\d+)", _halved()),
    Fault("sixteen bytes too many expected", "bytes", ".cuh", r"(_bytes\w* \+= )(\d+)", _plus(16)),
    Fault("bytes of the last round", "bytes", ".cuh", _LINE + r"sync\.\w+_bytes\w* = 0;", ""),
    Fault("no bytes expected", "bytes", ".cuh", r"(expect_tx_shared_b64\(.*), sync\.\w+\)", r"\1, 0)"),
    Fault(
        "coordinates of a load swapped",
        "boxes",
        ".cuh",
        r"(2d_shared_cluster_global\w*\(.*" + _BAR + r"(?:, uint16_t\(0x3\))?), ([^,\n]+), ([^,\n]+)\);",
        r"\1, \3, \2);",
    ),
    Fault(
        "coordinates of a store swapped",
        "boxes",
        ".cuh",
        r"(2d_global_shared_cta\(&args\.\w+), ([^,\n]+), ([^,\n]+), ",
        r"\1, \3, \2, ",
    ),
    Fault(
        "a load to the place beside",
        "boxes",
        ".cuh",
        r"(2d_shared_cluster_global(?:_multicast_cluster)?\()(\w+)",
        r"\g<1>32 + \2",
    ),
    Fault(
        "a store from the place beside",
        "boxes",
        ".cuh",
        r"(2d_global_shared_cta\(.*, )(\w+(?: \+ [^,\n]+)?)\);",
        r"\1\2 + 32);",
    ),
    Fault("the other tensor map", "boxes", ".cuh", r"&args\.A_map", "&args.B_map"),
    Fault(
        "sizes of a tensor map swapped",
        "tensor maps",
        ".c",
        r"(_map_sizes\[\] = \{)(.+), (.+)\};",
        r"\1\3, \2};",
    ),
    Fault(
        "the stride of a tensor map", "tensor maps", ".c", r"(_map_strides\[\] = \{)(.+)\};", r"\g<1>2 * \2};"
    ),
    Fault(
        "the box of a tensor map swapped",
        "tensor maps",
        ".c",
        r"(_map_box\[\] = \{)(\d+), (\d+)\};",
        r"\1\3, \2};",
    ),
    Fault(
        "the swizzle of a tensor map",
        "tensor maps",
        ".c",
        r"(soundline_map\(.*, )(32|64|128)(?=\);)",
        lambda m: f"{m[1]}{ {'32': 64, '64': 32, '128': 64}[m[2]] }",
    ),
    Fault(
        "no swizzle in a tensor map",
        "tensor maps",
        ".c",
        r"(soundline_map\(.*, )(32|64|128)(?=\);)",
        r"\g<1>0",
    ),
    Fault(
        "the type of a tensor map",
        "tensor maps",
        ".c",
        r"SOUNDLINE_TENSOR_(FLOAT32|BFLOAT16)",
        lambda m: "SOUNDLINE_TENSOR_" + {"FLOAT32": "BFLOAT16", "BFLOAT16": "FLOAT32"}[m[1]],
    ),
    Fault("a size in the place of another", "host", ".c", r"args\.(K|N|n) = \(int\)\w+;", r"args.\1 = 8;"),
    Fault("fewer threads", "host", ".c", r"(\.block_dim = )(\d{2,})", _plus(-32)),
    Fault(
        "the stride of a descriptor",
        "descriptors",
        ".cuh",
        r"(smem_descriptor<\d+>\([^\n]*?, \d+, )(\d+)(?=\))",
        _halved(),
    ),
    Fault(
        "the start of a descriptor", "descriptors", ".cuh", r"(smem_descriptor<\d+>\()(\w+)", r"\g<1>4 + \2"
    ),
    Fault(
        "the swizzle of a descriptor",
        "descriptors",
        ".cuh",
        r"smem_descriptor<(\d+)>",
        lambda m: f"smem_descriptor<{64 if m[1] != '64' else 128}>",
    ),
    Fault(
        "the leading offset of a swizzled descriptor",
        "leading offsets that nobody reads",
        ".cuh",
        r"(smem_descriptor<(?:32|64|128)>\([^\n]*?, )(16)(?=, )",
        _times(2),
        unobservable="the hardware does not read the leading offset of a swizzled operand whose rows lie along K",
    ),
    Fault(
        "an operand of wgmma in the place of the other",
        "descriptors",
        ".cuh",
        rf"(wgmma_mma\w+<\d+(?:, \d)?>\(\w+\[\w+\]), ({_DESCRIPTOR}), ({_DESCRIPTOR}), ",
        r"\1, \3, \2, ",
    ),
    Fault(
        "a sum that is not kept", "descriptors", ".cuh", r"_holds_sum\[(\w+)\] = 1;", r"_holds_sum[\1] = 0;"
    ),
)


def _header(name: str, family: str, old: str, new: str, unobservable: str = "") -> Fault:
    return Fault(name, family, HEADER, re.escape(old), new.replace("\\", r"\\"), unobservable)


IN_HEADER: Final = (
    _header(
        "rows of fragment A",
        "fragments",
        "return lane / 4 + 8 * (word % 2); }",
        "return lane / 4 + 8 * (word / 2); }",
    ),
    _header(
        "rows of fragment A by lanes",
        "fragments",
        "return lane / 4 + 8 * (word % 2); }",
        "return lane % 4 + 8 * (word % 2); }",
    ),
    _header(
        "columns of fragment A", "fragments", "(lane % 4 + 4 * (word / 2))", "(lane % 4 + 4 * (word % 2))"
    ),
    _header("rows of fragment B", "fragments", "(lane % 4 + 4 * word)", "(lane % 4 + 4 * (1 - word))"),
    _header(
        "columns of fragment B",
        "fragments",
        "fragment_b_column(int lane) { return lane / 4; }",
        "fragment_b_column(int lane) { return lane % 8; }",
    ),
    _header(
        "rows of fragment D", "fragments", "lane / 4 + 8 * (e / 2 % 2)", "lane / 4 + 8 * (1 - e / 2 % 2)"
    ),
    _header("columns of fragment D", "fragments", "2 * (lane % 4) + e % 2", "2 * (lane % 4) + 1 - e % 2"),
    _header("blocks of columns of fragment D", "fragments", "8 * (e / 4) + 2", "4 * (e / 4) + 2"),
    _header("an accumulator that is not zero", "fragments", "d[e] = 0.0f;", "d[e] = 1.0f;"),
    _header(
        "the second of a pair",
        "fragments",
        "vector<float, 2>{{first, second}}",
        "vector<float, 2>{{second, first}}",
    ),
    _header(
        "rows of ldmatrix",
        "fragments",
        "from.at(l % 16, 8 * (l / 16))",
        "from.at(l % 8 + 8 * (l / 16), 8 * (l / 8 % 2))",
    ),
    _header("columns of ldmatrix", "fragments", "from.at(l % 16, 8 * (l / 16))", "from.at(l % 16, 0)"),
    _header(
        "rows of a warp of wgmma",
        "fragments",
        "16 * warp_in_group() + fragment_d_row(lane(), e)",
        "8 * warp_in_group() + fragment_d_row(lane(), e)",
    ),
    _header("warps of a warpgroup", "fragments", "threadIdx.x / 32 % 4", "3 - threadIdx.x / 32 % 4"),
    _header(
        "halves of a word",
        "fragments",
        "ptx::cvt_rn_bf16x2_f32(second, first)",
        "ptx::cvt_rn_bf16x2_f32(first, second)",
    ),
    _header(
        "values of rows",
        "fragments",
        "rows[e / 2 % 2] = maximum(rows[e / 2 % 2]",
        "rows[e % 2] = maximum(rows[e % 2]",
    ),
    _header("the distance of a swizzle", "swizzles", "(linear & rows) >> 3", "(linear & rows) >> 2"),
    _header(
        "the rows of a swizzle",
        "swizzles",
        "uintptr_t(BYTES / 16 - 1) << 7",
        "uintptr_t(BYTES / 16 - 1) << 8",
    ),
    _header(
        "the pieces of a swizzle",
        "swizzles",
        "uintptr_t(BYTES / 16 - 1) << 7",
        "uintptr_t(BYTES / 32 - 1) << 7",
    ),
    _header(
        "no swizzle",
        "swizzles",
        "return address + moved / int64_t(sizeof(T));",
        "return address + 0 * moved;",
    ),
    _header(
        "modes of a descriptor",
        "descriptors",
        "SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : SWIZZLE == 32 ? 3 : 0",
        "SWIZZLE == 128 ? 3 : SWIZZLE == 64 ? 1 : SWIZZLE == 32 ? 2 : 0",
    ),
    _header(
        "the unit of the start",
        "descriptors",
        "(ptx::cvta_to_shared_u32(address) & 0x3FFFF) >> 4",
        "(ptx::cvta_to_shared_u32(address) & 0x3FFFF) >> 3",
    ),
    _header("the bits of the stride", "descriptors", "stride << 32", "stride << 33"),
    _header("the bits of the mode", "descriptors", "mode << 62", "mode << 61"),
    _header(
        "leading and stride swapped",
        "descriptors",
        "start | leading << 16 | stride << 32",
        "start | stride << 16 | leading << 32",
    ),
    _header(
        "the last step of a sum of lanes",
        "warps",
        "mask > 0; mask /= 2) value = add",
        "mask > 1; mask /= 2) value = add",
    ),
    _header(
        "lanes that exchange",
        "warps",
        "from_lane_xor(value, 1));\n    return maximum",
        "from_lane_xor(value, 4));\n    return maximum",
    ),
    _header(
        "a copy by ordinary words that is short",
        "copies",
        "for (int i = 0; i < COUNT; ++i) value.at[i] = *from.at(i);",
        "for (int i = 0; i < COUNT - 1; ++i) value.at[i] = *from.at(i);",
    ),
    _header(
        "rows of a window",
        "copies",
        "first + row * row_step + column * column_step",
        "first + row * column_step + column * row_step",
    ),
    _header("the maximum of two", "arithmetic", "ptx::max_NaN_f32(a, b)", "(a < b ? a : b)"),
)
"""Mistakes of the header, each made for all programs."""

IN_PROGRAMS: Final = (*INDICES, *RINGS, *FENCES, *TMA)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A mistake at a place of a program."""

    fault: Fault
    place: int
    """The first place, or the last."""
    case: Case


NAMELESS: Final = "program_without_a_name"
"""What a program is called until it gets a name."""


def attempts(case: Case, last: bool = True) -> Iterator[Attempt]:
    """Every mistake that can be made in the CUDA of a program, or each at its first place alone; each in a program of
    its own name.
    """
    nameless = renamed(case, NAMELESS)
    count = 0
    for fault in IN_PROGRAMS:
        file = f"{NAMELESS}{fault.where}"
        text = nameless.source.files.get(file, "")
        places = fault.places(text)
        for place, match in enumerate(places if last else places[:1]):
            files = {**nameless.source.files, file: fault.made(text, match)}
            made = replace(nameless, source=replace(nameless.source, files=files))
            yield Attempt(fault, place, _named(made, f"{case.proc.name}_{count}"))
            count += 1


def renamed(case: Case, name: str) -> Case:
    """The program under another name."""
    proc = SporkProc(name, case.proc.arguments, case.proc.preconditions, case.proc.body)
    return replace(case, proc=proc, source=proc.cuda())


def _named(nameless: Case, name: str) -> Case:
    """The text under a name."""
    source = nameless.source
    files = {k.replace(NAMELESS, name): text.replace(NAMELESS, name) for k, text in source.files.items()}
    function = source.function.replace(NAMELESS, name)
    return replace(nameless, source=replace(source, name=name, files=files, function=function))


@contextmanager
def in_header(fault: Fault) -> Iterator[None]:
    """Programs are compiled against a header with the mistake."""
    library = texts._library
    text = library(HEADER)
    assert text is not None
    places = fault.places(text)
    assert places, f"{fault.name}: the header has no such text"
    made = text
    for match in reversed(list(re.finditer(fault.pattern, text))):
        made = fault.made(made, match)
    texts._library = lambda name: made if name == HEADER else library(name)
    try:
        yield
    finally:
        texts._library = library
