"""
Selection
=========

Where takes one of two values; only the one that it takes is needed (U-01). Some of these rules need a value on the
right that the left may leave unused: the engine applies them only where that value cannot be invalid.
"""

from soundline.spec.dtypes import all_dtypes, bool_, floats, index, ints
from soundline.spec.rules.language import Sides, maximum, rule, where
from soundline.spec.rules.terms import Bool, Const, Value

whole = (index, *ints)
ordered = (bool_, *whole)


@rule
def where_same(p: Bool, x: Value) -> Sides:
    """A choice between equal values."""
    return where(p, x, x), x


@rule
def where_true(x: Value, y: Value) -> Sides:
    """A gate that is known to be open."""
    return where(True, x, y), x


@rule
def where_false(x: Value, y: Value) -> Sides:
    """A gate that is known to be closed."""
    return where(False, x, y), y


@rule
def where_not(p: Bool, x: Value, y: Value) -> Sides:
    """A negated gate exchanges the branches."""
    return where(~p, x, y), where(p, y, x)


@rule
def where_where_then(p: Bool, x: Value, y: Value, z: Value) -> Sides:
    """The same gate inside its own branch, as padding of padding has it."""
    return where(p, where(p, x, y), z), where(p, x, z)


@rule
def where_where_else(p: Bool, x: Value, y: Value, z: Value) -> Sides:
    """The same gate inside its other branch."""
    return where(p, x, where(p, y, z)), where(p, x, z)


@rule
def where_and(p: Bool, q: Bool, x: Value, y: Value) -> Sides:
    """Nested gates with one default become one gate."""
    return where(p, where(q, x, y), y), where(p & q, x, y)


@rule
def where_or(p: Bool, q: Bool, x: Value, y: Value) -> Sides:
    """Two gates that let the same value through become one."""
    return where(p, x, where(q, x, y)), where(p | q, x, y)


@rule(dtypes=[bool_])
def where_to_bool(p: Bool) -> Sides:
    """A gate written as a choice."""
    return where(p, True, False), p


@rule(dtypes=[bool_])
def where_to_not(p: Bool) -> Sides:
    """A negation written as a choice."""
    return where(p, False, True), ~p


@rule(dtypes=[bool_])
def where_to_and(p: Bool, x: Value) -> Sides:
    """A conjunction written as a choice."""
    return where(p, x, False), p & x


@rule(dtypes=[bool_])
def where_to_or(p: Bool, x: Value) -> Sides:
    """A disjunction written as a choice."""
    return where(p, True, x), p | x


@rule(dtypes=[index, *ints, *floats])
def where_add(p: Bool, x: Value, y: Value, c: Const, d: Const) -> Sides:
    """A constant goes into both branches, where the other constants are."""
    return where(p, x, c) + d, where(p, x + d, c + d)


@rule(dtypes=all_dtypes)
def where_lt_constants(p: Bool, c: Const, d: Const, e: Const) -> Sides:
    """A comparison of a choice between constants is a choice between bools, which reduces."""
    return where(p, c, d) < e, where(p, c < e, d < e)


@rule(dtypes=all_dtypes)
def where_ne_constants(p: Bool, c: Const, d: Const, e: Const) -> Sides:
    """A mask that was made a number and is made a mask again."""
    return where(p, c, d) != e, where(p, c != e, d != e)


@rule(dtypes=[index, *ints, *floats])
def where_mul_constants(p: Bool, c: Const, d: Const, e: Const) -> Sides:
    """A scaled mask."""
    return where(p, c, d) * e, where(p, c * e, d * e)


@rule(dtypes=whole)
def where_mask_mul(p: Bool, x: Value, y: Value) -> Sides:
    """A product with a masked value is masked; for floats 0 · ∞ is not 0."""
    return where(p, x, 0) * y, where(p, x * y, 0)


@rule(dtypes=[index, *ints, *floats])
def where_mul_chosen(p: Bool, x: Value, y: Value, z: Value, w: Value) -> Sides:
    """A factor that was chosen by the gate that chooses the product, as in the gradient of a masked value."""
    return where(p, where(p, x, y) * z, w), where(p, x * z, w)


@rule(dtypes=[index, *ints, *floats])
def where_mul_not_chosen(p: Bool, x: Value, y: Value, z: Value, w: Value) -> Sides:
    """The same in the other branch."""
    return where(p, w, where(p, y, x) * z), where(p, w, x * z)


@rule(dtypes=whole)
def where_add_complement(p: Bool, x: Value, y: Value) -> Sides:
    """Two values masked by a gate and by its opposite, as concatenation makes them."""
    return where(p, x, 0) + where(p, 0, y), where(p, x, y)


@rule(dtypes=ordered)
def where_lt_to_max(x: Value, y: Value) -> Sides:
    """The greater of two, written as a choice; a float could be NaN, or a zero of the other sign."""
    return where(x < y, y, x), maximum(x, y)


@rule(dtypes=ordered)
def where_eq_same(x: Value, y: Value) -> Sides:
    """A choice between values that are equal where it matters; -0.0 = 0.0 spoils it for floats."""
    return where(x == y, x, y), y


@rule(dtypes=ordered)
def where_ne_same(x: Value, y: Value) -> Sides:
    """The same choice, the other way round."""
    return where(x != y, x, y), x
