"""Mistakes that compilers really made; ``soundline verify examples/wrong_rewrites.py`` refutes each of them."""

from soundline.verify import (
    Const,
    DTypeVar,
    Offset,
    Perm,
    Shape,
    Tensor,
    UnaryOp,
    Value,
    compose,
    floats,
    given,
    index,
    ints,
    rule,
)


@rule(dtypes=ints)
def divide_a_multiple_that_wraps(x: Value, d: Const):
    """Forgets that x·d may wrap."""
    given(d != 0)
    return (x * d) // d, x


@rule(dtypes=[index])
def divide_a_sum(x: Value, y: Value, d: Const):
    """Forgets the carry."""
    given(d > 0)
    return (x + y) // d, x // d + y // d


@rule(dtypes=floats)
def quotient_by_reciprocal(x: Value, y: Value):
    """Rounds twice, and a subnormal divisor has no finite reciprocal."""
    return x / y, x * y.recip()


@rule(dtypes=floats)
def not_less_is_greater_or_equal(x: Value, y: Value):
    """Forgets NaN."""
    return ~(x < y), x >= y


@rule(dtypes=floats)
def times_zero(x: Value):
    """Forgets NaN, infinities and the sign of zero."""
    return x * 0, x - x


@rule(s=ints, t=ints)
def round_trip_through_anything(x: Value["s"], s: DTypeVar, t: DTypeVar):
    """Forgets that t may be narrower."""
    return x.cast(t).cast(s), x


@rule
def permutations_the_other_way_round(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(q, p))


@rule
def pad_undoes_shrink(x: Tensor, o: Offset, s: Shape):
    """The cut elements are lost."""
    return x.shrink(o, s).pad(o, x.shape), x


@rule
def op_before_any_pad(f: UnaryOp, x: Tensor, o: Offset, s: Shape):
    """Forgets that the padding goes through f as well."""
    return f(x.pad(o, s)), f(x).pad(o, s)
