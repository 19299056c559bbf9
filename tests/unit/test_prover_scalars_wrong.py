"""Wrong rules over integers and bools: the verdict of every layer, and small counterexamples that run."""

from __future__ import annotations

import pytest

from soundline.verify import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Interval,
    Size,
    UnaryOp,
    Value,
    bits_at_most,
    bool_,
    cdiv,
    cmod,
    fits,
    given,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    is_signed,
    lossless,
    maximum,
    rule,
    uint8,
    uint32,
    uint64,
    where,
)
from soundline.verify.judging.judge import prove

WIDTHS = (index, int8, int32, uint8, uint64)
FIXED = WIDTHS[1:]
SIGNED = (index, int8, int32)

WRONG = []


def wrong(verdicts, example=None, **options):
    """A rule with the verdicts of its layers, by one letter each in the order of the layers, and an example."""
    options.setdefault("dtypes", WIDTHS)
    return lambda f: WRONG.append((rule(**options)(f), verdicts, example))


@wrong("rrrrr", {"x": "0", "c": "0"})
def div_self(x: Value, c: Const):
    given(x == c)
    return x // c, x - x + 1


@wrong("prrrr", {"x": "64", "c": "2"})
def mul_div_that_wraps(x: Value, c: Const):
    given(c != 0)
    return (x * c) // c, x


@wrong("rrrrr", {"x": "1", "c": "0"})
def mul_div_by_zero(x: Value, c: Const):
    given(fits(x * c))
    return (x * c) // c, x


@wrong("rrrrr", {"x": "1"})
def square_is_double(x: Value):
    return x * x, x + x


@wrong("rrrrr", {"x": "0"})
def off_by_one(x: Value):
    return x + 1, x


@wrong("rrr", {"x": "-1", "c": "2"}, dtypes=SIGNED)
def truncation_for_floor(x: Value, c: Const):
    given(c > 0)
    return x // c, cdiv(x, c)


@wrong("rrr", {"x": "-1", "c": "2"}, dtypes=SIGNED)
def remainder_for_modulo(x: Value, c: Const):
    given(c > 0)
    return x % c, cmod(x, c)


@wrong("rrr", {"x": "-1", "c": "2"}, dtypes=SIGNED)
def modulo_has_the_sign_of_the_divisor(x: Value, c: Const):
    given(c != 0)
    return maximum(x % c, 0) * maximum(-x, 0), (x % c) * 0


@wrong("rrrrr", {"x": "1", "y": "0", "c": "0"})
def flat_div_by_zero(x: Value, y: Value, c: Const):
    given(fits(x * c + y))
    return (x * c + y) // c, x + y // c


@wrong("prrrr")
def flat_mod_that_wraps(x: Value, y: Value, c: Const):
    given(c > 0)
    return (x * c + y) % c, y % c


@wrong("prrrr")
def div_div_that_wraps(x: Value, c: Const, d: Const):
    given(c > 0, d > 0)
    return (x // c) // d, x // (c * d)


@wrong("rrr", dtypes=SIGNED)
def div_div_of_negatives(x: Value, c: Const, d: Const):
    given(c != 0, d != 0, fits(c * d))
    return (x // c) // d, x // (c * d)


@wrong("rrrrr")
def mod_of_no_multiple(x: Value, c: Const, d: Const):
    given(c > 0, d > 0)
    return (x % c) % d, x % d


@wrong("prrrr")
def lt_add_that_wraps(x: Value, y: Value, c: Const):
    return x + c < y + c, x < y


@wrong("prr", {"x": "127"}, dtypes=SIGNED)
def successor_is_greater(x: Value):
    return x < x + 1, x == x


@wrong("rrr", {"x": "-128"}, dtypes=(int8, int32, int64))
def negation_is_natural(x: Value):
    return maximum(x, -x) < 0, x != x


@wrong("rr", {"x": "0"}, dtypes=(uint8, uint64))
def predecessor_is_less(x: Value):
    return x - 1 < x, x == x


@wrong("rrrrr", {"x": "0", "y": "0"})
def lt_for_le(x: Value, y: Value):
    return x <= y, x < y


@wrong("rrrrr", {"x": "0", "y": "1"})
def le_reversed(x: Value, y: Value):
    return x <= y, y <= x


@wrong("rrrrr", {"x": "0", "y": "0"})
def not_lt_is_gt(x: Value, y: Value):
    return ~(x < y), x > y


@wrong("rrrrr", {"p": "False", "x": "0", "y": "1"})
def where_swapped(p: Bool, x: Value, y: Value):
    return where(p, x, y), where(p, y, x)


@wrong("rrrrr", {"p": "False", "x": "0", "y": "0", "z": "1"})
def where_nested_wrongly(p: Bool, x: Value, y: Value, z: Value):
    return where(p, where(p, x, y), z), where(p, x, y)


@wrong("rrrrr", {"x": "0", "y": "1"})
def max_is_left(x: Value, y: Value):
    return maximum(x, y), x


@wrong("rrr", {"x": "0", "y": "1", "c": "-1"}, dtypes=SIGNED)
def max_of_negative_scale(x: Value, y: Value, c: Const):
    given(fits(x * c), fits(y * c))
    return maximum(x * c, y * c), maximum(x, y) * c


@wrong("prrrr")
def max_add_that_wraps(x: Value, y: Value, c: Const):
    return maximum(x + c, y + c), maximum(x, y) + c


@wrong("rrrrr", {"x": "0", "x.lo": "0", "x.hi": "0", "c": "0"})
def interval_at_its_end(x: Interval, c: Const):
    given(x.lo >= 0, x.hi <= c)
    return x < c, x == x


@wrong("rrrrr")
def interval_without_lower_end(x: Interval, c: Const):
    given(c > 0, x.lo < c)
    return x < c, x == x


@wrong("rrr", {"x": "-1", "x.lo": "-1", "x.hi": "0", "c": "1"}, dtypes=SIGNED)
def mod_of_negative(x: Interval, c: Const):
    given(x.hi < c, c > 0)
    return x % c, x


@wrong("r", {"n": "0"}, dtypes=(index,))
def size_is_positive(n: Size):
    return n > 0, n == n


@wrong("r", {"n": "0", "x": "0"}, dtypes=(index,))
def mod_by_empty_size(n: Size, x: Value):
    given(x >= 0)
    return x % n < n, n == n


@wrong("rrrr", {"x": "1"}, dtypes=FIXED)
def shl_off_by_one(x: Value):
    return x << 3, x * 4


@wrong("rr", {"x": "-1"}, dtypes=(int8, int32))
def shr_is_truncation(x: Value):
    return x >> 1, cdiv(x, 2)


@wrong("rrrr", {"x": "64"}, dtypes=FIXED)
def shift_there_and_back(x: Value):
    return (x << 1) >> 1, x


@wrong("rrrr", {"x": "1", "c": "8"}, dtypes=FIXED)
def shift_count_wraps(x: Value, c: Const):
    given(c >= 0)
    return x << c, x << (c % 8)


@wrong("rrrr", {"x": "1"}, dtypes=FIXED)
def mask_is_shorter(x: Value):
    return x & 1, x & 0


@wrong("rr", {"x": "-1"}, dtypes=(int8, int32))
def mask_is_remainder(x: Value):
    return x & 15, cmod(x, 16)


@wrong("rrrr", {"x": "1", "y": "1"}, dtypes=FIXED)
def or_is_add(x: Value, y: Value):
    return x | y, x + y


@wrong("rrrr", {"x": "1", "y": "1"}, dtypes=FIXED)
def xor_is_or(x: Value, y: Value):
    return x ^ y, x | y


@wrong("r", {"a": "False", "b": "True"}, dtypes=None)
def de_morgan_wrongly(a: Bool, b: Bool):
    return ~(a & b), ~a & ~b


@wrong("r", {"a": "False", "b": "True"}, dtypes=None)
def xor_is_and(a: Bool, b: Bool):
    return a ^ b, a & b


@wrong("r", {"a": "False", "b": "False"}, dtypes=None)
def implication(a: Bool, b: Bool):
    return a <= b, a & b


@wrong("prpr", dtypes=FIXED, s=ints)
def cast_there_and_back_lossy(x: Value, s: DTypeVar):
    return x.cast(s).cast(x.dtype), x


@wrong("rr", {"x": "128"}, dtypes=(int32, uint64), s=ints)
def cast_to_narrower_and_back(x: Value, s: DTypeVar):
    given(bits_at_most(s, x.dtype), ~lossless(x.dtype, s), is_signed(s))
    return x.cast(s).cast(x.dtype), x


@wrong("rr", {"x": "-1"}, dtypes=(int8, int32))
def widening_keeps_the_sign(x: Value):
    return x.cast(uint64), x.cast(uint32).cast(uint64)


@wrong("r", {"x": "128"}, dtypes=(int16,))
def narrow_compares(x: Value):
    return x.cast(int8) < 0, x < 0


@wrong("rrrrr", {"x": "-1"})
def bool_cast_is_value(x: Value):
    return x.cast(bool_).cast(x.dtype), x


@wrong("rrrrr", {"x": "0"})
def bool_cast_of_zero(x: Value):
    return x.cast(bool_), x == x


@wrong("rr", dtypes=(int8, uint8))
def any_op_commutes(f: BinaryOp, x: Value, y: Value):
    return f(x, y), f(y, x)


@wrong("rr", dtypes=(int8, uint8))
def any_op_is_idempotent(f: UnaryOp, x: Value):
    return f(f(f(x))) + 0, x


@wrong("rrrrr", {"x": "0", "y": "1"})
def sub_commutes(x: Value, y: Value):
    return x - y, y - x


@wrong("rrrrr", {"x": "0", "c": "-1"})
def distribute_add(x: Value, c: Const):
    return (x + c) * c, x * c + c


@wrong("rrrrr", {"x": "1", "c": "0"})
def div_mul(x: Value, c: Const):
    return (x // c) * c, x


@wrong("r", {"x": "1000000007"}, dtypes=(index,))
def one_bad_number(x: Value):
    return x == 1000000007, x != x


@wrong("r", {"x": "825983827"}, dtypes=(int32,))
def one_bad_int32(x: Value):
    return (x ^ 123456789) == 912281158, x != x


@wrong("r", {"x": "536870912", "y": "536870912", "c": "3"}, dtypes=(int32,))
def least_of_the_greatest(x: Value, y: Value, c: Const):
    given(c == 3, x >= 0, y >= 0)
    return (x * c + y) % c, y % c


@wrong("r", {"x": "1073741824"}, dtypes=(int32,))
def doubling_fits(x: Value):
    return (x * 2) // 2, x


LETTERS = {"r": "refuted", "p": "proved", "v": "vacuous", "u": "unknown"}


@pytest.mark.parametrize(("stated", "verdicts", "example"), WRONG, ids=lambda x: getattr(x, "id", ""))
def test_wrong_rules_are_refuted(stated, verdicts, example):
    report = prove(stated)
    found = {layer.layer: layer.verdict for layer in report.layers}
    assert list(found.values()) == [LETTERS[v] for v in verdicts], found
    for layer in report.layers:
        if layer.verdict == "refuted":
            assert layer.counterexample is not None
            run(layer.counterexample.test)
        else:
            assert layer.counterexample is None
    assert report.verdict == "refuted"
    if example is not None:
        assert dict(report.counterexample.bindings) == example


def run(text):
    """Execute a paste-ready test."""
    scope = {}
    exec(compile(text, "counterexample", "exec"), scope)
    (test,) = (f for name, f in scope.items() if name.startswith("test_"))
    test()
