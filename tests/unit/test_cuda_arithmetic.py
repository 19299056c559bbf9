"""Arithmetic on data in generated code, compiled by the C++ compiler of this machine, against the law."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from soundline.impl.codegen.cuda.arithmetic import cast, literal, operation
from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.expressions import data_text
from soundline.impl.codegen.cuda.names import Names
from soundline.impl.codegen.cuda.operators import Written
from soundline.spec.dtypes import (
    DType,
    Element,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_bits,
    ieee_floats,
    int32,
    ints,
    to_bits,
)
from soundline.spec.ops.elementwise.conversion import cast as law_of_cast
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Cast, Const, Name
from soundline.spec.spork.language.names import DataName
from soundline.spec.values.elementwise import ELEMENTWISE

COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

SHIM = """
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#define __device__
#define __forceinline__ inline
namespace soundline {
struct f16 {
    _Float16 value;
    f16() = default;
    explicit f16(float x) : value((_Float16)x) {}
    explicit operator float() const { return (float)value; }
};
struct bf16 {
    uint16_t bits;
    bf16() = default;
    explicit bf16(float x) {
        uint32_t b;
        memcpy(&b, &x, 4);
        bits = x != x ? 0x7fc0 : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
    }
    explicit operator float() const {
        uint32_t b = (uint32_t)bits << 16;
        float x;
        memcpy(&x, &b, 4);
        return x;
    }
};
// max.NaN.f32: "the result is NaN if any input is NaN", and -0 < +0
inline float maximum(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return NAN;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}
} // namespace soundline
template <typename T> T loaded(uint64_t b) {
    T x;
    memcpy((void *)&x, &b, sizeof x);
    return x;
}
template <typename T> uint64_t stored(T x) {
    uint64_t b = 0;
    memcpy(&b, &x, sizeof x);
    return b;
}
"""
NUMBERS = (*ieee_floats, *ints)
ALL = (Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Neg, Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe)
OF_FLOATS = (Op.Div, Op.Sqrt, Op.Recip, Op.Trunc, Op.Exp2, Op.Log2, Op.Sin, Op.Pow)
OF_INTEGERS = (Op.Idiv, Op.Mod, Op.Shl, Op.Shr, Op.And, Op.Or, Op.Xor)
ARITY = {Op.Neg: 1, Op.Sqrt: 1, Op.Recip: 1, Op.Trunc: 1, Op.Exp2: 1, Op.Log2: 1, Op.Sin: 1, Op.Mulacc: 3}
COMPARISONS = (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe)
ROUNDS = 32
Rows = list[tuple[list[Element], Element]]
"""Operands, and what the law makes of them."""


def samples(dtype: DType, seed: random.Random) -> list[Element]:
    """Values of a dtype with all that is special in it."""
    if dtype is bool_:
        return [False, True]
    if not dtype.is_float:
        ends = [int(dtype.min), int(dtype.max), 0, 1, 2, 7, dtype.bits - 1, dtype.bits, int(dtype.max) - 1]
        more = [-1, -2, -7, int(dtype.min) + 1] if dtype.signed else []
        return ends + more + [seed.randint(int(dtype.min), int(dtype.max)) for _ in range(20)]
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, math.inf, -math.inf, math.nan, 2.5, -2.5, 100.0]
    return (
        special
        + [from_bits(dtype, seed.getrandbits(dtype.bits)) for _ in range(24)]
        + [from_bits(dtype, b) for b in (1, 2, (1 << dtype.mantissa_bits) - 1, 1 << dtype.mantissa_bits)]
    )


class Program:
    """Functions of C++, and calls of them with the bits of their operands."""

    def __init__(self) -> None:
        self.names = Names()
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.wanted: list[tuple[str, DType, Element]] = []

    def add(self, what: str, dtypes: list[DType], text: str, to: DType, rows: Rows) -> None:
        """A function of operands a, b and c of some dtypes, and its values by the law."""
        number = len(self.functions)
        arguments = ", ".join(f"{CUDA.type_of(d)} {name}" for d, name in zip(dtypes, "abc", strict=False))
        self.functions.append(f"static {CUDA.type_of(to)} f{number}({arguments}) {{ return {text}; }}")
        for operands, wanted in rows:
            given = ", ".join(
                f"loaded<{CUDA.type_of(d)}>({int(to_bits(d, x))}ull)"
                for d, x in zip(dtypes, operands, strict=True)
            )
            self.lines.append(f"stored(f{number}({given}))")
            self.wanted.append((f"{what} of {operands}", to, wanted))

    def check(self, folder: Path) -> None:
        """Compile, run, and compare bit for bit; NaN is NaN."""
        helpers = "\n".join(self.names.helpers.texts())
        chunks = [self.lines[k : k + 500] for k in range(0, len(self.lines), 500)]
        parts = "\n".join(
            f"static void part{k}() {{ {' '.join(f'put({line});' for line in chunk)} }}"
            for k, chunk in enumerate(chunks)
        )
        calls = " ".join(f"part{k}();" for k in range(len(chunks)))
        put = 'static void put(uint64_t b) { printf("%llu\\n", (unsigned long long)b); }'
        source = "\n".join([SHIM, helpers, *self.functions, put, parts, f"int main() {{ {calls} }}"])
        path = folder / "program.cpp"
        path.write_text(source)
        binary = folder / "program"
        assert COMPILER is not None
        command = [COMPILER, "-std=c++17", "-O0", "-ffp-contract=off", "-w", str(path), "-o", str(binary)]
        subprocess.run(command, check=True)
        found = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout.split()
        assert len(found) == len(self.wanted)
        wrong = []
        for text, (what, dtype, wanted) in zip(found, self.wanted, strict=True):
            got = from_bits(dtype, int(text) & ((1 << dtype.bits) - 1))
            same = (got != got and wanted != wanted) or (
                int(to_bits(dtype, got)) == int(to_bits(dtype, wanted))
            )
            if not same:
                wrong.append(f"{what}: {got!r}, not {wanted!r}")
        assert not wrong, "\n".join(wrong[:20])


def rows_of(op: Op, dtype: DType, seed: random.Random) -> Rows:
    values = samples(dtype, seed)
    arity = ARITY.get(op, 2)
    if arity == 1:
        chosen = [[x] for x in values]
    else:
        chosen = [[seed.choice(values) for _ in range(arity)] for _ in range(ROUNDS)]
    return [(operands, ELEMENTWISE[op](dtype, *operands)) for operands in chosen]


def add_operation(program: Program, op: Op, dtype: DType, seed: random.Random) -> None:
    arity = ARITY.get(op, 2)
    text = operation(op, dtype, [Written(x) for x in "abc"[:arity]], program.names).text
    to = bool_ if op in COMPARISONS else dtype
    program.add(f"{op.name} on {dtype}", [dtype] * arity, text, to, rows_of(op, dtype, seed))


@needs_compiler
@pytest.mark.parametrize("group", [(float16, bfloat16), (float32,), (float64,), ints], ids=str)
def test_every_op_on_every_dtype_has_the_bits_of_the_law(group: tuple[DType, ...], tmp_path: Path) -> None:
    seed = random.Random(17)
    program = Program()
    for dtype in group:
        for op in (*ALL, Op.Mulacc, *(OF_FLOATS if dtype.is_float else OF_INTEGERS)):
            add_operation(program, op, dtype, seed)
    program.check(tmp_path)


@needs_compiler
def test_casts_between_all_dtypes_have_the_bits_of_the_law(tmp_path: Path) -> None:
    seed = random.Random(18)
    program = Program()
    for source in (*NUMBERS, bool_):
        values = samples(source, seed)
        if source is float64:
            # Ties of half precision that a rounding in float32 would decide the wrong way.
            values += [
                1.0 + 2.0**-11 + 2.0**-40,
                1.0 + 2.0**-8 + 2.0**-40,
                1.0 + 2.0**-11 - 2.0**-40,
                65519.999999,
            ]
        if source in ints and source.bits == 64:
            values += [(1 << 61) + (1 << 50) + 1, (1 << 61) + (1 << 53) + 1]
        for target in (*NUMBERS, bool_):
            rows = [([x], law_of_cast(source, x, target)) for x in values]
            text = cast(source, target, Written("a"), program.names).text
            program.add(f"{target} of {source}", [source], text, target, rows)
    program.check(tmp_path)


@needs_compiler
def test_literals_are_the_nearest_numbers_of_their_dtypes(tmp_path: Path) -> None:
    program = Program()
    for dtype in (*NUMBERS, bool_):
        for value in (0, 1, 255, 2.5, 0.1, 1e30, 1e-40, 16777217):
            if isinstance(value, float) and not dtype.is_float:
                continue
            source = float64 if isinstance(value, float) else int32
            text = literal(value, dtype, program.names).text
            program.add(f"the literal {value}", [], text, dtype, [([], law_of_cast(source, value, dtype))])
    program.check(tmp_path)


def test_bools_and_choices_are_those_of_the_language() -> None:
    names = Names(
        bindings={"p": DataName(bool_, 0), "x": DataName(float32, 0)}, element=lambda place: place.name
    )
    both = Apply(Op.Where, (Name("p"), Name("x"), Const(0)))
    assert data_text(both, float32, names) == "p ? x : 0.0f"
    assert data_text(Cast(float32, Name("p")), float32, names) == "float(p)"
    assert operation(Op.Xor, bool_, [Written("p"), Written("q")], names).text == "p != q"
    assert operation(Op.Not, bool_, [Written("p && q", 4)], names).text == "!(p && q)"


def test_fma_rounds_twice_unless_it_may_be_contracted() -> None:
    parts = [Written(x) for x in "abc"]
    assert operation(Op.Mulacc, float32, parts, Names()).text == "a * b + c"
    assert operation(Op.Mulacc, float32, parts, Names(contract=True)).text == "soundline::fma(a, b, c)"
    assert operation(Op.Mulacc, int32, parts, Names(contract=True)).text.startswith("int32_t(uint32_t(")
