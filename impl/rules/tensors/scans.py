# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
# mypy: disable-error-code="name-defined,type-arg,valid-type"
"""
Scans
=====

A running sum is written as a reduction over everything behind a gate, once for each element: n² steps. Two sorts of
rules make it n. A gate that only bounds the range becomes its bound; and a reduction with one iteration more is the
reduction without it, and one step. Lowering (``impl/lower/scans``) uses the second by induction over the loop around:
what an iteration has reduced, the next one continues.

What is left out must be what the reduction does not notice, and something must be left in: a reduction starts at its
first element, and of nothing it is +0.0, while -0.0 is what a sum of floats does not notice (U-10).

Lowering asks for these rules one by one, where it wants them; beside the rules that simplify they would be too early.
"""

from soundline.impl.rules.tensors.ranges import nearest
from soundline.spec.dtypes import bool_, floats, index, int32, int64, ints
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Sides, fresh, given, identity, maximum, rule, where
from soundline.spec.rules.ranges import Body, Range, max_over, prod_over, reduce_over, sum_over
from soundline.spec.rules.terms import Bool, Const, DTypeVar, Monoid, Size, Value

whole = (index, *ints)


@rule(dtypes=whole)
def fold_from(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """A gate that the first iterations fail, as padding in front makes it."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return reduce_over(m, r, where(c <= r, f(r), identity(m))), reduce_over(m, k, f(k + c))


@rule(dtypes=floats)
def sum_from_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a sum of floats, which notices +0.0, and does not notice -0.0."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return sum_over(r, where(c <= r, f(r), -0.0)), sum_over(k, f(k + c))


@rule(dtypes=floats)
def sum_from_among_zeros(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """Behind zeros, as the source's prefix sum has it: if there are any, 0.0 is added once."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    total = sum_over(k, f(k + c))
    return sum_over(r, where(c <= r, f(r), 0)), where(c > 0, total + 0.0, total)


@rule(dtypes=floats)
def product_from_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a product of floats."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return prod_over(r, where(c <= r, f(r), 1)), prod_over(k, f(k + c))


@rule(dtypes=floats)
def max_from_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for the greatest float."""
    given(c >= 0, c < n)
    k = fresh(n - c)
    return max_over(r, where(c <= r, f(r), identity(Op.Max))), max_over(k, f(k + c))


@rule(dtypes=whole)
def fold_up_to(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """A gate that the last iterations fail, as a triangular mask makes it."""
    given(c > 0, c <= n)
    k = fresh(c)
    return reduce_over(m, r, where(r < c, f(r), identity(m))), reduce_over(m, k, f(k))


@rule(dtypes=floats)
def sum_up_to_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a sum of floats."""
    given(c > 0, c <= n)
    k = fresh(c)
    return sum_over(r, where(r < c, f(r), -0.0)), sum_over(k, f(k))


@rule(dtypes=floats)
def sum_up_to_among_zeros(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """Before zeros, as a triangular mask leaves them."""
    given(c > 0, c <= n)
    k = fresh(c)
    total = sum_over(k, f(k))
    return sum_over(r, where(r < c, f(r), 0)), where(c < n, total + 0.0, total)


@rule(dtypes=floats)
def product_up_to_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a product of floats."""
    given(c > 0, c <= n)
    k = fresh(c)
    return prod_over(r, where(r < c, f(r), 1)), prod_over(k, f(k))


@rule(dtypes=floats)
def max_up_to_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for the greatest float."""
    given(c > 0, c <= n)
    k = fresh(c)
    return max_over(r, where(r < c, f(r), identity(Op.Max))), max_over(k, f(k))


# Reductions that may have nothing
# --------------------------------------------------------------------------------------
#
# A scan that leaves out its own element has nothing in its first iteration. So that each next one takes one step more,
# the first step is one that is not noticed: what is reduced starts at its second.


@rule(dtypes=whole)
def fold_from_or_none(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """A gate that the first iterations fail, and perhaps all."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    left = reduce_over(m, r, where(c <= r, f(r), identity(m)))
    return left, reduce_over(m, k, where(k > 0, f(k + c - 1), identity(m)))


@rule(dtypes=floats)
def sum_from_or_none_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a sum of floats."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    left = sum_over(r, where(c <= r, f(r), -0.0))
    return left, sum_over(k, where(k > 0, f(k + c - 1), -0.0))


@rule(dtypes=floats)
def sum_from_or_none_among_zeros(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same behind zeros, as the source's prefix sum has it."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    total = sum_over(k, where(k > 0, f(k + c - 1), -0.0))
    return sum_over(r, where(c <= r, f(r), 0)), where(c > 0, total + 0.0, total)


@rule(dtypes=floats)
def product_from_or_none_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a product of floats."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(n - c + 1)
    return prod_over(r, where(c <= r, f(r), 1)), prod_over(k, where(k > 0, f(k + c - 1), 1))


@rule(dtypes=floats)
def max_from_or_none_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for the greatest float."""
    given(c >= 0, c <= n, n > 0)
    k, least = fresh(n - c + 1), identity(Op.Max)
    return max_over(r, where(c <= r, f(r), least)), max_over(k, where(k > 0, f(k + c - 1), least))


@rule(dtypes=whole)
def fold_up_to_or_none(m: Monoid, r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """A gate that the last iterations fail, and perhaps all."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    left = reduce_over(m, r, where(r < c, f(r), identity(m)))
    return left, reduce_over(m, k, where(k > 0, f(k - 1), identity(m)))


@rule(dtypes=floats)
def sum_up_to_or_none_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a sum of floats."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    return sum_over(r, where(r < c, f(r), -0.0)), sum_over(k, where(k > 0, f(k - 1), -0.0))


@rule(dtypes=floats)
def sum_up_to_or_none_among_zeros(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same before zeros, as a triangular mask without its diagonal leaves them."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    total = sum_over(k, where(k > 0, f(k - 1), -0.0))
    return sum_over(r, where(r < c, f(r), 0)), where(c < n, total + 0.0, total)


@rule(dtypes=floats)
def product_up_to_or_none_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for a product of floats."""
    given(c >= 0, c <= n, n > 0)
    k = fresh(c + 1)
    return prod_over(r, where(r < c, f(r), 1)), prod_over(k, where(k > 0, f(k - 1), 1))


@rule(dtypes=floats)
def max_up_to_or_none_of_floats(r: Range["n"], n: Size, f: Body["r"], c: Value[index]) -> Sides:
    """The same for the greatest float."""
    given(c >= 0, c <= n, n > 0)
    k, least = fresh(c + 1), identity(Op.Max)
    return max_over(r, where(r < c, f(r), least)), max_over(k, where(k > 0, f(k - 1), least))


# Steps ------------------------------------------------------------------------------------------------------------


@rule
def fold_without_last(m: Monoid, r: Range["n"], n: Size, f: Body["r"]) -> Sides:
    """The last iteration is one step after all others; there must be others, for what it continues."""
    given(n > 1)
    k = fresh(n - 1)
    return reduce_over(m, r, f(r)), m(reduce_over(m, k, f(k)), f(n - 1))


@rule
def fold_of_one_iteration(m: Monoid, r: Range[1], f: Body["r"]) -> Sides:
    """A loop that runs once."""
    return reduce_over(m, r, f(r)), f(0)


# Choices ----------------------------------------------------------------------------------------------------------


@rule(dtypes=[bool_])
def any_gated_to_one(r: Range["n"], n: Size, f: Body["r"], k: Value[index]) -> Sides:
    """Of bools one is chosen as any other element is (`ranges`). It follows from `where_to_and` and `any_at_one`, which
    are tried before it.
    """
    given(n > 0)
    gate = (k >= 0) & (k < n)
    return max_over(r, where(r == k, f(r), False)), where(gate, f(nearest(k, n)), False)


@rule(dtypes=[index])
def nearest_of_inside(k: Value, c: Const) -> Sides:
    """Behind its gate the iteration that is nearest to an index is the index."""
    given(k >= 0, k <= -c)
    return -maximum(-maximum(k, 0), c), k


# Steps that do nothing --------------------------------------------------------------------------------------------


@rule(dtypes=whole)
def step_behind_gate(m: Monoid, p: Bool, x: Value, y: Value) -> Sides:
    """A step with what a reduction does not notice is none: only what passes its gate is done at all."""
    return m(x, where(p, y, identity(m))), where(p, m(x, y), x)


@rule(dtypes=floats)
def sum_step_behind_gate(p: Bool, x: Value, y: Value) -> Sides:
    """The same for a sum of floats."""
    return x + where(p, y, -0.0), where(p, x + y, x)


@rule(dtypes=floats)
def max_step_behind_gate(p: Bool, x: Value, y: Value) -> Sides:
    """The same for the greatest float."""
    return maximum(x, where(p, y, identity(Op.Max))), where(p, maximum(x, y), x)


# Whether any, or all ----------------------------------------------------------------------------------------------
#
# The greatest of whole numbers has vectors of lanes that are as wide as what was compared; one of bools has none.


@rule
def any_in_32_bits(r: Range["n"], n: Size, f: Body["r", bool_]) -> Sides:
    """Whether any is true, by whole numbers of 32 bits; of nothing the greatest is the least number, which is no 1."""
    return max_over(r, f(r)), max_over(r, f(r).cast(int32)) > 0


@rule
def any_in_64_bits(r: Range["n"], n: Size, f: Body["r", bool_]) -> Sides:
    """The same by whole numbers of 64 bits."""
    return max_over(r, f(r)), max_over(r, f(r).cast(int64)) > 0


@rule
def all_in_32_bits(r: Range["n"], n: Size, f: Body["r", bool_]) -> Sides:
    """Whether all are true: none is 1 of those that are false."""
    return prod_over(r, f(r)), max_over(r, (~f(r)).cast(int32)) < 1


@rule
def all_in_64_bits(r: Range["n"], n: Size, f: Body["r", bool_]) -> Sides:
    """The same by whole numbers of 64 bits."""
    return prod_over(r, f(r)), max_over(r, (~f(r)).cast(int64)) < 1


@rule(s=[int32, int64])
def mask_as_choice(p: Bool, s: DTypeVar) -> Sides:
    """A bool as a number is a choice, which lanes make by a mask."""
    return p.cast(s), where(p, 1, 0)
