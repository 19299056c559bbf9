"""Wrong twins of ``impl/rules/scalars/selection.py``."""

from soundline.verify import *


@rule(dtypes=[int8])
def where_same_wrong(p: Bool, x: Value, y: Value):
    """Two values in place of one."""
    return where(p, x, y), x


@rule(dtypes=[int8])
def where_true_wrong(x: Value, y: Value):
    """The other branch."""
    return where(True, x, y), y


@rule(dtypes=[int8])
def where_false_wrong(x: Value, y: Value):
    """The other branch."""
    return where(False, x, y), x


@rule(dtypes=[int8])
def where_not_wrong(p: Bool, x: Value, y: Value):
    """The branches kept in their order."""
    return where(~p, x, y), where(p, x, y)


@rule(dtypes=[int8])
def where_where_then_wrong(p: Bool, q: Bool, x: Value, y: Value, z: Value):
    """Another gate inside."""
    return where(p, where(q, x, y), z), where(p, x, z)


@rule(dtypes=[int8])
def where_where_else_wrong(p: Bool, q: Bool, x: Value, y: Value, z: Value):
    """Another gate inside."""
    return where(p, x, where(q, y, z)), where(p, x, z)


@rule(dtypes=[int8])
def where_and_wrong(p: Bool, q: Bool, x: Value, y: Value):
    """The gates joined by the wrong op."""
    return where(p, where(q, x, y), y), where(p | q, x, y)


@rule(dtypes=[int8])
def where_or_wrong(p: Bool, q: Bool, x: Value, y: Value):
    """The gates joined by the wrong op."""
    return where(p, x, where(q, x, y)), where(p & q, x, y)


@rule(dtypes=[bool_])
def where_to_bool_wrong(p: Bool):
    """The branches exchanged."""
    return where(p, False, True), p


@rule(dtypes=[bool_])
def where_to_not_wrong(p: Bool):
    """The branches exchanged."""
    return where(p, True, False), ~p


@rule(dtypes=[bool_])
def where_to_and_wrong(p: Bool, x: Value):
    """Another default."""
    return where(p, x, True), p & x


@rule(dtypes=[bool_])
def where_to_or_wrong(p: Bool, x: Value):
    """Another default."""
    return where(p, False, x), p | x


@rule(dtypes=[float32])
def where_add_wrong(p: Bool, x: Value, y: Value, c: Const, d: Const):
    """The constant goes into one branch only."""
    return where(p, x, c) + d, where(p, x + d, c)


@rule(dtypes=[int8])
def where_lt_constants_wrong(p: Bool, c: Const, d: Const, e: Const):
    """One comparison turned round."""
    return where(p, c, d) < e, where(p, c < e, e < d)


@rule(dtypes=[float32])
def where_ne_constants_wrong(p: Bool, c: Const, d: Const, e: Const):
    """The condition itself, whatever the constants are."""
    return where(p, c, d) != e, p


@rule(dtypes=[int8])
def where_mul_constants_wrong(p: Bool, c: Const, d: Const, e: Const):
    """The factor forgotten in one branch."""
    return where(p, c, d) * e, where(p, c * e, d)


@rule(dtypes=[float32])
def where_mask_mul_wrong(p: Bool, x: Value, y: Value):
    """Widened to a float: 0 · ∞ is NaN."""
    return where(p, x, 0) * y, where(p, x * y, 0)


@rule(dtypes=[int8])
def where_mul_chosen_wrong(p: Bool, x: Value, y: Value, z: Value, w: Value):
    """The factor of the other branch."""
    return where(p, where(p, x, y) * z, w), where(p, y * z, w)


@rule(dtypes=[int8])
def where_mul_not_chosen_wrong(p: Bool, x: Value, y: Value, z: Value, w: Value):
    """The gate of the factor left out of the product."""
    return where(p, w, where(p, y, x) * z), where(p, y * z, x * z)


@rule(dtypes=[float32])
def where_add_complement_wrong(p: Bool, x: Value, y: Value):
    """Widened to a float: -0.0 + 0.0 is 0.0."""
    return where(p, x, 0) + where(p, 0, y), where(p, x, y)


@rule(dtypes=[float32])
def where_lt_to_max_wrong(x: Value, y: Value):
    """Widened to a float: NaN, and zeros of two signs."""
    return where(x < y, y, x), maximum(x, y)


@rule(dtypes=[float32])
def where_eq_same_wrong(x: Value, y: Value):
    """Widened to a float: -0.0 = 0.0."""
    return where(x == y, x, y), y


@rule(dtypes=[float32])
def where_ne_same_wrong(x: Value, y: Value):
    """Widened to a float: -0.0 = 0.0."""
    return where(x != y, x, y), x
