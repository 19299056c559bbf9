"""Rewrites that compilers shipped and took back, each beside what is right; the trackers that tell of them are named.

``soundline verify examples/famous_wrong_rewrites.py --filter '*_wrong'`` refutes the first of each pair.
"""

from soundline.verify import (
    Const,
    Size,
    Tensor,
    Value,
    cdiv,
    ediv,
    fits,
    given,
    ieee_floats,
    index,
    ints,
    maximum,
    rule,
    sints,
    uint32,
    uint64,
    uints,
)


@rule(dtypes=ieee_floats)
def log_of_exp_wrong(x: Value):
    """The power may overflow on the way, and what it has lost by rounding does not come back.

    XLA's simplifier, openxla/xla#42732 and jax-ml/jax#38100.
    """
    return x.exp2().log2(), x


@rule(dtypes=ieee_floats)
def product_of_powers_wrong(x: Value, y: Value):
    """One factor may be infinite and the other zero, where the sum of the exponents is harmless.

    XLA's simplifier, tensorflow/tensorflow#123169.
    """
    return x.exp2() * y.exp2(), (x + y).exp2()


@rule(dtypes=ieee_floats)
def root_of_square_wrong(x: Value):
    """The square may overflow or vanish.

    XLA's simplifier, openxla/xla#42732.
    """
    return (x * x).sqrt(), maximum(x, -x)


@rule(dtypes=ieee_floats)
def times_zero_wrong(x: Value):
    """Infinity times zero is no number, and a negative number times zero is -0.0.

    TileLang, which reduces without fast math, tile-ai/tilelang#2638.
    """
    return x * 0, x - x


@rule(dtypes=[index, *ints])
def times_zero_right(x: Value):
    """Integers have neither."""
    return x * 0, x - x


@rule(dtypes=[index])
def quotient_of_linear_wrong(x: Value):
    """The rewrite of floor division, used where division truncates: wrong as soon as the dividend is negative.

    TVM's canonical simplifier, apache/tvm#2308.
    """
    return cdiv(x * 48 + 241, 16), x * 3 + 15


@rule(dtypes=[index])
def quotient_of_linear_right(x: Value):
    """Below zero the two divisions differ, above they do not."""
    given(x >= 0)
    return cdiv(x * 48 + 241, 16), x * 3 + 15


@rule(dtypes=[index])
def difference_out_of_quotient_wrong(x: Value, y: Value, z: Value):
    """A minus sign does not pass through a division that rounds down.

    Proposed for Halide's simplifier and stopped in review, halide/Halide#1349.
    """
    return (x * 4 - y + z) // 2, x * 2 - (y - z) // 2


@rule(dtypes=[index])
def difference_out_of_quotient_right(x: Value, y: Value, z: Value):
    """The sign stays inside."""
    return (x * 4 - y + z) // 2, x * 2 + (z - y) // 2


@rule(dtypes=[index])
def common_factor_wrong(x: Value, a: Const, b: Const, g: Const):
    """A quotient that is rounded toward smaller remainders depends on the sign of the divisor, so that a negative
    common factor may not be cancelled.

    Halide's simplifier, found by its fuzzer, halide/Halide#2949.
    """
    given(b != 0, g != 0)
    return ediv(x * (a * g), b * g), ediv(x * a, b)


@rule(dtypes=[index])
def common_factor_right(x: Value, a: Const, b: Const, g: Const):
    given(b != 0, g > 0)
    return ediv(x * (a * g), b * g), ediv(x * a, b)


@rule(dtypes=[uint32])
def widening_a_shift_wrong(x: Value, k: Const):
    """The bits that the narrow shift pushes out are kept by the wide one.

    Cranelift's addressing modes on x86-64, a hole in a sandbox: CVE-2023-26489.
    """
    given(k < 32)
    return (x << k).cast(uint64), x.cast(uint64) << k.cast(uint64)


@rule(dtypes=[uint32])
def widening_a_shift_right(x: Value, k: Const):
    """They have to be cut off again."""
    given(k < 32)
    return (x << k).cast(uint64), (x.cast(uint64) << k.cast(uint64)) & 0xFFFFFFFF


@rule(dtypes=sints)
def midpoint_wrong(lo: Value, hi: Value):
    """The sum of two indices may wrap although their middle does not.

    The binary search of the Java library, for nine years: JDK-5045582.
    """
    given(lo >= 0, lo <= hi)
    return lo + (hi - lo) // 2, (lo + hi) // 2


@rule(dtypes=sints)
def midpoint_right(lo: Value, hi: Value):
    given(lo >= 0, lo <= hi, fits(lo + hi))
    return lo + (hi - lo) // 2, (lo + hi) // 2


@rule(dtypes=[index, *ints])
def padding_below_an_op_wrong(x: Tensor["n"], n: Size, m: Size, c: Const):
    """Zero is the identity of a sum, but what is summed is zero with the op applied to it.

    Tenstorrent's tiles, tenstorrent/tt-metal#16272; tinygrad's PADTO, tinygrad/tinygrad#2935.
    """
    given(n <= m)
    return (x + c).sum((0,)), (x.pad((0,), (m,)) + c).sum((0,))


@rule(dtypes=[index, *ints])
def padding_below_an_op_right(x: Tensor["n"], n: Size, m: Size, c: Const):
    """What is padded last is zero in the end."""
    given(n <= m)
    return (x + c).sum((0,)), (x + c).pad((0,), (m,)).sum((0,))


@rule(dtypes=[index, *ints])
def padding_below_a_maximum_wrong(x: Tensor["n"], n: Size, m: Size):
    """Zero beats every negative number.

    A constant zero for every kind of reduction, iree-org/iree#21550.
    """
    given(n > 0, n <= m)
    return x.max((0,)), x.pad((0,), (m,)).max((0,))


@rule(dtypes=uints)
def padding_below_a_maximum_right(x: Tensor["n"], n: Size, m: Size):
    """Zero is the least unsigned number."""
    given(n > 0, n <= m)
    return x.max((0,)), x.pad((0,), (m,)).max((0,))


@rule
def pad_after_crop_wrong(x: Tensor["n"], n: Size):
    """Cropping and padding by the same amount is not nothing: the first element is gone.

    XLA's simplifier adds a negative padding to a positive one, openxla/xla#48715.
    """
    given(n > 0)
    return x.shrink((1,), (n - 1,)).pad((1,), (n,)), x


@rule
def crop_after_pad_right(x: Tensor["n"], n: Size):
    return x.pad((1,), (n + 1,)).shrink((1,), (n,)), x
