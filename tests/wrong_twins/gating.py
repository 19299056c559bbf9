"""Wrong twins of ``impl/rules/tensors/gating.py``."""

from soundline.verify import *


@rule(dtypes=[int8])
def gates_of_operands_wrong(op: BinaryOp, p: Bool, q: Bool, x: Value, y: Value, u: Value, v: Value):
    """Two gates that are not one."""
    return op(where(p, x, y), where(q, u, v)), where(p, op(x, u), op(y, v))


@rule(dtypes=[int8])
def gate_with_common_default_wrong(p: Bool, q: Bool, x: Value, y: Value, z: Value, w: Value):
    """The defaults differ."""
    return where(p, where(q, x, z), where(q, y, w)), where(q, where(p, x, y), z)


@rule(dtypes=[int8])
def gate_with_common_value_wrong(p: Bool, q: Bool, x: Value, y: Value, z: Value):
    """The gates exchanged."""
    return where(p, where(q, x, y), where(q, x, z)), where(p, x, where(q, y, z))


@rule(dtypes=[int8])
def gate_inside_opposite_then_wrong(i: Value[index], j: Value[index], x: Value, y: Value, z: Value):
    """Not opposites: where i equals j, both bounds hold."""
    return where(i <= j, where(j <= i, x, y), z), where(i <= j, y, z)


@rule(dtypes=[int8])
def gate_inside_opposite_else_wrong(i: Value[float32], j: Value[float32], x: Value, y: Value, z: Value):
    """With NaN neither bound holds."""
    return where(i < j, x, where(j <= i, y, z)), where(i < j, x, y)


@rule(dtypes=[int8])
def gate_inside_narrower_wrong(p: Bool, q: Bool, x: Value, y: Value, z: Value):
    """A disjunction holds without this part of it."""
    return where(p | q, where(p, x, y), z), where(p | q, x, z)


@rule(dtypes=[int8])
def gate_outside_wider_wrong(p: Bool, q: Bool, x: Value, y: Value, z: Value):
    """A conjunction fails though this part of it holds."""
    return where(p & q, x, where(p, y, z)), where(p & q, x, z)


@rule(dtypes=[index])
def bound_inside_tighter_wrong(i: Value, c: Const, d: Const, x: Value, y: Value, z: Value):
    """The order of the bounds turned round."""
    given(d <= c)
    return where(i < c, where(i < d, x, y), z), where(i < c, x, z)


@rule(dtypes=[index])
def bound_outside_looser_wrong(i: Value, c: Const, d: Const, x: Value, y: Value, z: Value):
    """The order of the bounds turned round."""
    given(c <= d)
    return where(i < c, x, where(i < d, y, z)), where(i < c, x, z)


@rule(dtypes=[index])
def bounds_from_above_wrong(i: Value, c: Const, d: Const):
    """The greater bound."""
    return (i < c) & (i < d), i < maximum(c, d)


@rule(dtypes=[index])
def bounds_from_below_wrong(i: Value, c: Const, d: Const):
    """The lesser bound."""
    return (c < i) & (d < i), where(c < d, c, d) < i


@rule(dtypes=[index])
def bounds_that_exclude_wrong(i: Value, c: Const, d: Const):
    """A window, not nothing."""
    given(d < c)
    return (i < c) & (d <= i), False


@rule(dtypes=[uint8])
def gate_of_and_wrong(p: Bool, x: Value, y: Value):
    """The default of a conjunction is not all ones."""
    return where(p, x, 255) & y, where(p, x & y, 255)


@rule(dtypes=[int8])
def max_of_gate_and_default_wrong(p: Bool, x: Value, y: Value):
    """Where the gate is open, the default counts as well."""
    return maximum(where(p, x, y), y), where(p, x, y)


@rule(dtypes=[float16])
def gate_equals_value_wrong(p: Bool, x: Value, y: Value):
    """NaN is not even itself."""
    return where(p, x, y) == x, p | (y == x)


@rule(dtypes=[int8])
def gate_differs_from_value_wrong(p: Bool, x: Value, y: Value):
    """The gate the wrong way round."""
    return where(p, x, y) != x, p & (y != x)


@rule(dtypes=[int8, float16])
def sum_of_both_branches_wrong(p: Bool, x: Value, y: Value):
    """Not a mirror image."""
    return where(p, x, y) + where(p, x, y), x + y


@rule(dtypes=[int8, float16])
def product_of_both_branches_wrong(p: Bool, x: Value, y: Value):
    """Not a mirror image."""
    return where(p, x, y) * where(p, x, y), x * y


@rule(dtypes=[int8])
def max_of_both_branches_wrong(p: Bool, x: Value, y: Value):
    """Not a mirror image."""
    return maximum(where(p, x, y), where(p, x, y)), maximum(x, y)
