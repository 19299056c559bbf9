"""Wrong twins of ``impl/rules/scalars/floats_exact.py``."""

from soundline.verify import *


@rule(dtypes=[float32])
def add_negative_zero_wrong(x: Value):
    """The other zero."""
    return x + 0.0, x


@rule(dtypes=[float32])
def float_add_same_wrong(x: Value):
    """Another constant."""
    return x + x, x * 3


@rule(dtypes=[float32])
def div_two_wrong(x: Value):
    """A divisor whose reciprocal is not exact."""
    return x / 3, x * (1 / 3)


@rule(dtypes=[float32])
def div_four_wrong(x: Value):
    """Another constant."""
    return x / 4, x * 0.5


@rule(dtypes=[float16])
def div_1024_wrong(x: Value):
    """A size whose reciprocal is not exact."""
    return x / 1000, x * 0.001


@rule(dtypes=[float32])
def div_minus_one_wrong(x: Value):
    """A difference from zero, which loses the sign of a zero."""
    return x / -1, 0 - x


@rule(dtypes=[float32])
def one_div_wrong(x: Value):
    """Another constant."""
    return 2 / x, x.recip()


@rule(dtypes=[float32])
def mul_neg_wrong(x: Value, y: Value):
    """A difference from zero, which loses the sign of a zero."""
    return -x * y, 0 - x * y


@rule(dtypes=[float32])
def recip_neg_wrong(x: Value):
    """A difference from zero, which loses the sign of a zero."""
    return (-x).recip(), 0 - x.recip()


@rule(dtypes=[float32])
def trunc_trunc_wrong(x: Value):
    """The truncation forgotten."""
    return x.trunc().trunc(), x


@rule(dtypes=[float32])
def trunc_neg_wrong(x: Value):
    """A difference from zero, which loses the sign of a zero."""
    return (-x).trunc(), 0 - x.trunc()


@rule(dtypes=[int16], s=[float32])
def trunc_of_int_wrong(x: Value, s: DTypeVar):
    """Half of an integer need not be whole."""
    return (x.cast(s) / 2).trunc(), x.cast(s) / 2


@rule(dtypes=[float32])
def max_least_wrong(x: Value):
    """The least finite number is not below -∞."""
    return maximum(x, -3.4028234663852886e38), x


@rule(dtypes=[float32])
def mulacc_is_mul_add_wrong(x: Value, y: Value, z: Value):
    """The parts in another order."""
    return mulacc(x, y, z), x * z + y


@rule(dtypes=[float32])
def ne_zero_of_neg_wrong(x: Value):
    """Another constant."""
    return -x != 1, x != 1
