"""Rewrite rules of every form; ``soundline verify examples/rewrites.py`` proves them all."""

from soundline.verify import (
    Bool,
    Const,
    DTypeVar,
    Flags,
    Interval,
    Offset,
    Perm,
    Shape,
    Tensor,
    UnaryOp,
    Value,
    fits,
    given,
    ieee_floats,
    index,
    ints,
    inverse,
    lossless,
    preserves_zero,
    rule,
    where,
)


@rule(dtypes=[index, *ints])
def merge_constant_factors(x: Value, a: Const, b: Const):
    """Right at every integer type, because products wrap alike."""
    return (x * a) * b, x * (a * b)


@rule(dtypes=[index])
def split_off_a_multiple(x: Value, q: Value, d: Const):
    """The usual step of index arithmetic: (x + q·d) / d = x/d + q."""
    given(d != 0)
    return (x + q * d) // d, x // d + q


@rule(dtypes=ints)
def divide_a_multiple(x: Value, d: Const):
    given(d != 0, fits(x * d))
    return (x * d) // d, x


@rule(dtypes=[index, *ints])
def remainder_of_a_small_value(x: Interval, d: Const):
    """A loop index that is already below the modulus."""
    given(x.lo >= 0, x.hi < d)
    return x % d, x


@rule
def choose_once(c: Bool, x: Value, y: Value, z: Value):
    return where(c, where(c, x, y), z), where(c, x, z)


@rule(dtypes=ieee_floats)
def double_negation(x: Value):
    """Keeps the sign of zero."""
    return -(-x), x


@rule(s=ints, t=ints)
def round_trip(x: Value["s"], s: DTypeVar, t: DTypeVar):
    given(lossless(s, t))
    return x.cast(t).cast(s), x


@rule
def undo_a_permutation(x: Tensor, p: Perm):
    return x.permute(p).permute(inverse(p)), x


@rule
def flip_twice(x: Tensor, f: Flags):
    return x.flip(f).flip(f), x


@rule
def shrink_of_shrink(x: Tensor, a: Offset, s: Shape, b: Offset, t: Shape):
    return x.shrink(a, s).shrink(b, t), x.shrink(a + b, t)


@rule
def op_before_pad(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    """Only where f keeps zero: 2^0 is not 0."""
    given(preserves_zero(f))
    return f(x.pad(o, s)), f(x).pad(o, s)
