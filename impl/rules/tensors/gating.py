# mypy: disable-error-code="valid-type,type-arg"
"""
Gates
=====

A gate is a Where that keeps a value inside its bounds: of a padded load, of a partial tile, of a concatenation. Gates
meet when programs are fused; these rules join them, and drop those that another gate has answered already.
"""

from soundline.spec.dtypes import floats, index, ints
from soundline.spec.rules.language import Sides, given, maximum, rule, where
from soundline.spec.rules.terms import BinaryOp, Bool, Const, Value

whole = (index, *ints)
numbers = (*whole, *floats)


@rule
def gate_with_common_default(p: Bool, q: Bool, x: Value, y: Value, z: Value) -> Sides:
    """One gate in both branches, with one default, comes outward."""
    return where(p, where(q, x, z), where(q, y, z)), where(q, where(p, x, y), z)


@rule
def gate_with_common_value(p: Bool, q: Bool, x: Value, y: Value, z: Value) -> Sides:
    """The same with one value and two defaults."""
    return where(p, where(q, x, y), where(q, x, z)), where(q, x, where(p, y, z))


@rule
def gate_inside_opposite_then(i: Value[index], j: Value[index], x: Value, y: Value, z: Value) -> Sides:
    """The opposite gate inside is closed. `not_lt` has written the opposite of a bound in this way."""
    return where(i < j, where(j <= i, x, y), z), where(i < j, y, z)


@rule
def gate_inside_opposite_else(i: Value[index], j: Value[index], x: Value, y: Value, z: Value) -> Sides:
    """In the other branch the opposite gate is open."""
    return where(i < j, x, where(j <= i, y, z)), where(i < j, x, y)


@rule
def gate_inside_narrower(p: Bool, q: Bool, x: Value, y: Value, z: Value) -> Sides:
    """Inside a conjunction each of its parts holds."""
    return where(p & q, where(p, x, y), z), where(p & q, x, z)


@rule
def gate_outside_wider(p: Bool, q: Bool, x: Value, y: Value, z: Value) -> Sides:
    """Outside a disjunction none of its parts holds."""
    return where(p | q, x, where(p, y, z)), where(p | q, x, z)


@rule(dtypes=whole)
def bound_inside_tighter(i: Value, c: Const, d: Const, x: Value, y: Value, z: Value) -> Sides:
    """What is below a tighter bound is below this one."""
    given(c <= d)
    return where(i < c, where(i < d, x, y), z), where(i < c, x, z)


@rule(dtypes=whole)
def bound_outside_looser(i: Value, c: Const, d: Const, x: Value, y: Value, z: Value) -> Sides:
    """What is not below a looser bound is not below this one."""
    given(d <= c)
    return where(i < c, x, where(i < d, y, z)), where(i < c, x, z)


@rule(dtypes=whole)
def bounds_from_above(i: Value, c: Const, d: Const) -> Sides:
    """Two upper bounds are the lesser of them."""
    return (i < c) & (i < d), i < where(c < d, c, d)


@rule(dtypes=whole)
def bounds_from_below(i: Value, c: Const, d: Const) -> Sides:
    """Two lower bounds are the greater of them."""
    return (c < i) & (d < i), maximum(c, d) < i


@rule(dtypes=whole)
def bounds_that_exclude(i: Value, c: Const, d: Const) -> Sides:
    """Nothing is below one bound and at or above a greater one."""
    given(c <= d)
    return (i < c) & (d <= i), False


@rule(dtypes=ints)
def gate_of_and(p: Bool, x: Value, y: Value) -> Sides:
    """A masked word."""
    return where(p, x, 0) & y, where(p, x & y, 0)


@rule(dtypes=whole)
def max_of_gate_and_default(p: Bool, x: Value, y: Value) -> Sides:
    """The greater of a gated value and its own default."""
    return maximum(where(p, x, y), y), where(p, maximum(x, y), y)


@rule(dtypes=whole)
def gate_equals_value(p: Bool, x: Value, y: Value) -> Sides:
    """A gated value is itself where the gate is open."""
    return where(p, x, y) == x, p | (y == x)


@rule(dtypes=whole)
def gate_differs_from_value(p: Bool, x: Value, y: Value) -> Sides:
    """And may differ only where it is closed."""
    return where(p, x, y) != x, ~p & (y != x)


@rule(dtypes=numbers)
def sum_of_both_branches(p: Bool, x: Value, y: Value) -> Sides:
    """One gate and its mirror image add up to both values, in either order."""
    return where(p, x, y) + where(p, y, x), x + y


@rule(dtypes=numbers)
def product_of_both_branches(p: Bool, x: Value, y: Value) -> Sides:
    """The same for a product."""
    return where(p, x, y) * where(p, y, x), x * y


@rule(dtypes=numbers)
def max_of_both_branches(p: Bool, x: Value, y: Value) -> Sides:
    """The same for the greater one."""
    return maximum(where(p, x, y), where(p, y, x)), maximum(x, y)


@rule
def gates_of_operands(op: BinaryOp, p: Bool, x: Value, y: Value, u: Value, v: Value) -> Sides:
    """Two operands behind one gate are gated once. After the rules for ops of which more is known."""
    return op(where(p, x, y), where(p, u, v)), where(p, op(x, u), op(y, v))
