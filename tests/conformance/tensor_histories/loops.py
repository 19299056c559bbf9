# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
"""Loops and their reductions: splits, fusions, guards, peeled iterations and closed forms, of
Halide, TVM and tinygrad.
"""

from soundline.verify import (
    Body,
    Const,
    Monoid,
    Range,
    Size,
    Value,
    bool_,
    claim,
    float16,
    float32,
    fresh,
    given,
    identity,
    index,
    int8,
    int32,
    max_over,
    maximum,
    prod_over,
    reduce_over,
    sum_over,
    uint8,
    where,
)

from .form import Histories, minimum

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (index, int8, int32, uint8)
WRAPPING = (int8, int32, uint8)
FEW = (index, int8)


# A split by a factor ----------------------------------------------------------------------------------------------


@right(dtypes=WRAPPING)
def split_where_it_divides(m: Monoid, r: Range["n"], n: Size, f: Body["r"]):
    """Halide, split; tinygrad demands that the factor of an Upcast or Unroll divides."""
    given(n % 8 == 0)
    i, j = fresh(n // 8), fresh(8)
    return reduce_over(m, r, f(r)), reduce_over(m, (i, j), f(i * 8 + j))


@wrong(dtypes=FEW)
def split_that_drops_the_tail(r: Range["n"], n: Size, f: Body["r"]):
    """Every compiler that splits, where the check that the factor divides is left out."""
    i, j = fresh(n // 8), fresh(8)
    return sum_over(r, f(r)), sum_over((i, j), f(i * 8 + j))


@wrong(dtypes=FEW)
def split_rounded_up_without_a_guard(r: Range["n"], n: Size, f: Body["r"]):
    """Halide, TailStrategy::RoundUp over an input that was not allocated so long."""
    i, j = fresh((n + 7) // 8), fresh(8)
    return sum_over(r, f(r)), sum_over((i, j), f(i * 8 + j))


@right(dtypes=SOME)
def split_with_a_guard(r: Range["n"], n: Size, f: Body["r"]):
    """Halide, TailStrategy::GuardWithIf; TVM wraps the same guard in `likely`."""
    i, j = fresh((n + 7) // 8), fresh(8)
    return sum_over(r, f(r)), sum_over((i, j), where(i * 8 + j < n, f(i * 8 + j), 0))


@wrong(dtypes=[int8, int32])
def split_of_a_max_guarded_with_zero(r: Range["n"], n: Size, f: Body["r"]):
    """tt-mlir 3246: a Max over a padded axis, of negative values alone, was 0."""
    i, j = fresh((n + 7) // 8), fresh(8)
    return max_over(r, f(r)), max_over((i, j), where(i * 8 + j < n, f(i * 8 + j), 0))


@right(dtypes=WRAPPING)
def split_guarded_with_the_identity(m: Monoid, r: Range["n"], n: Size, f: Body["r"]):
    """tinygrad, PADTO since 2026: what is padded is the identity of the reduction."""
    i, j = fresh((n + 7) // 8), fresh(8)
    return reduce_over(m, r, f(r)), reduce_over(m, (i, j), where(i * 8 + j < n, f(i * 8 + j), identity(m)))


@right(dtypes=SOME)
def split_into_symbolic_parts(r: Range["n"], n: Size, a: Size, b: Size, f: Body["r"]):
    """TVM, Schedule.split with given extents of both loops."""
    given(n == a * b)
    i, j = fresh(a), fresh(b)
    return sum_over(r, f(r)), sum_over((i, j), f(i * b + j))


@wrong(dtypes=FEW)
def split_with_the_other_stride(r: Range["n"], n: Size, a: Size, b: Size, f: Body["r"]):
    """The stride of the outer loop is the extent of the inner one; every compiler had this once."""
    given(n == a * b)
    i, j = fresh(a), fresh(b)
    return sum_over(r, f(r)), sum_over((i, j), f(i * a + j))


@right(dtypes=SOME)
def split_with_the_blocks_inside(r: Range["n"], n: Size, f: Body["r"]):
    """tinygrad, a split from the top: the short loop is outside, and its stride is the rest."""
    given(n % 4 == 0)
    i, j = fresh(4), fresh(n // 4)
    return sum_over(r, f(r)), sum_over((i, j), f(i * (n // 4) + j))


@right(dtypes=SOME)
def split_twice_with_both_guards(r: Range["n"], n: Size, f: Body["r"]):
    """TVM 2249: the inner loop of a split is split again by a factor that does not divide it."""
    given(n % 6 == 0)
    o, i, j = fresh(n // 6), fresh(2), fresh(4)
    return sum_over(r, f(r)), sum_over((o, i, j), where(i * 4 + j < 6, f(o * 6 + i * 4 + j), 0))


@wrong(dtypes=FEW)
def split_twice_with_the_outer_guard(r: Range["n"], n: Size, f: Body["r"]):
    """TVM 2249: only the end of the whole loop was guarded, so points were visited twice."""
    given(n % 6 == 0)
    o, i, j = fresh(n // 6), fresh(2), fresh(4)
    at = o * 6 + i * 4 + j
    return sum_over(r, f(r)), sum_over((o, i, j), where(at < n, f(at), 0))


@wrong(dtypes=FEW)
def last_tile_shifted_inwards_in_a_sum(r: Range["n"], n: Size, f: Body["r"]):
    """Halide forbids ShiftInwards for updates: elements near the end would be added twice."""
    given(n >= 8)
    i, j = fresh((n + 7) // 8), fresh(8)
    return sum_over(r, f(r)), sum_over((i, j), f(minimum(i * 8, n - 8) + j))


@wrong(dtypes=[float32])
def split_into_two_sums_of_floats(r: Range["n"], n: Size, f: Body["r"]):
    """tinygrad, GROUP; TVM, rfactor: partial sums are rounded in another order."""
    given(n % 8 == 0)
    i, j = fresh(n // 8), fresh(8)
    return sum_over(r, f(r)), sum_over(i, sum_over(j, f(i * 8 + j)))


@right(dtypes=[float32], licences="reassociate")
def split_into_two_sums_licensed(r: Range["n"], n: Size, f: Body["r"]):
    """TVM, rfactor, for a compiler that may reassociate."""
    given(n % 8 == 0)
    i, j = fresh(n // 8), fresh(8)
    return sum_over(r, f(r)), sum_over(i, sum_over(j, f(i * 8 + j)))


@right(dtypes=[float32])
def split_that_keeps_the_order_of_floats(r: Range["n"], n: Size, f: Body["r"]):
    """Halide, a serial loop that is split but not reordered."""
    given(n % 8 == 0)
    i, j = fresh(n // 8), fresh(8)
    return sum_over(r, f(r)), sum_over((i, j), f(i * 8 + j))


# Fusion and interchange -------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def two_loops_fused(r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]):
    """Halide and TVM, fuse."""
    k = fresh(m * n)
    return sum_over(r, sum_over(s, f(r, s))), sum_over(k, f(k // n, k % n))


@wrong(dtypes=FEW)
def two_loops_fused_by_the_outer_extent(r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]):
    """TVM 8093: a fused index taken apart with the wrong extent."""
    k = fresh(m * n)
    return sum_over(r, sum_over(s, f(r, s))), sum_over(k, f(k // m, k % m))


@right(dtypes=SOME)
def two_loops_fused_column_first(r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]):
    """Integers are added in any order, so the fused loop may run down the columns."""
    k = fresh(m * n)
    return sum_over(r, sum_over(s, f(r, s))), sum_over(k, f(k % m, k // m))


@right(dtypes=[float32])
def one_fold_over_two_ranges_fused(r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]):
    """tinygrad, merge of adjacent ranges of one Reduce: the order stays."""
    k = fresh(m * n)
    return sum_over((r, s), f(r, s)), sum_over(k, f(k // n, k % n))


@wrong(dtypes=[float32])
def one_fold_over_two_ranges_fused_by_columns(
    r: Range["m"], s: Range["n"], m: Size, n: Size, f: Body["r", "s"]
):
    """tinygrad, Swap of two reduce axes without the licence."""
    k = fresh(m * n)
    return sum_over((r, s), f(r, s)), sum_over(k, f(k % m, k // m))


@right(dtypes=[int8, float32])
def maxima_interchanged(r: Range["m"], s: Range["n"], f: Body["r", "s"]):
    """Halide, reorder of an associative update: no order matters to Max, of floats neither."""
    return max_over(r, max_over(s, f(r, s))), max_over(s, max_over(r, f(r, s)))


@wrong(dtypes=[float16, float32])
def sums_of_floats_interchanged(r: Range["m"], s: Range["n"], f: Body["r", "s"]):
    """LLVM, LoopInterchange needs `reassoc` for this."""
    return sum_over(r, sum_over(s, f(r, s))), sum_over(s, sum_over(r, f(r, s)))


@wrong(dtypes=[int8, int32])
def max_and_sum_interchanged(r: Range["m"], s: Range["n"], f: Body["r", "s"]):
    """The reductions of two loops are exchanged only where they are one reduction."""
    return sum_over(r, max_over(s, f(r, s))), max_over(s, sum_over(r, f(r, s)))


@wrong(dtypes=[float16, float32])
def two_sums_of_floats_in_one_loop(r: Range["n"], f: Body["r"], g: Body["r"]):
    """XLA, horizontal fusion of reduces into one accumulator."""
    return sum_over(r, f(r)) + sum_over(r, g(r)), sum_over(r, f(r) + g(r))


@right(dtypes=SOME)
def triangle_interchanged(r: Range["n"], s: Range["n"], f: Body["r", "s"]):
    """Polyhedral schedulers: the same triangle by rows and by columns."""
    return sum_over(r, sum_over(s, where(s <= r, f(r, s), 0))), sum_over(
        s, sum_over(r, where(r >= s, f(r, s), 0))
    )


# Peeling and partition --------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def first_iteration_peeled(r: Range["n"], n: Size, f: Body["r"]):
    """Halide, loop partitioning with a prologue of one iteration."""
    given(n > 0)
    s = fresh(n - 1)
    return sum_over(r, f(r)), f(0) + sum_over(s, f(s + 1))


@wrong(dtypes=FEW)
def first_iteration_peeled_of_none(r: Range["n"], n: Size, f: Body["r"]):
    """tinygrad: an empty range was reduced as if it had an iteration."""
    s = fresh(maximum(n - 1, 0))
    return sum_over(r, f(r)), f(0) + sum_over(s, f(s + 1))


@right(dtypes=[float32])
def last_iteration_of_floats_peeled(r: Range["n"], n: Size, f: Body["r"]):
    """The last summand is added last, so an epilogue keeps the order."""
    given(n > 1)
    s = fresh(n - 1)
    return sum_over(r, f(r)), sum_over(s, f(s)) + f(n - 1)


@wrong(dtypes=[float32])
def only_iteration_of_floats_peeled(r: Range["n"], n: Size, f: Body["r"]):
    """The sum of nothing is 0.0, and 0.0 plus -0.0 is not -0.0."""
    given(n > 0)
    s = fresh(n - 1)
    return sum_over(r, f(r)), sum_over(s, f(s)) + f(n - 1)


@right(dtypes=SOME)
def loop_partitioned_at_a_condition(r: Range["n"], n: Size, k: Size, f: Body["r"], g: Body["r"]):
    """Halide, PartitionLoops: each side of the condition has a loop of its own."""
    given(k <= n)
    i, j = fresh(k), fresh(n - k)
    return sum_over(r, where(r < k, f(r), g(r))), sum_over(i, f(i)) + sum_over(j, g(j + k))


@wrong(dtypes=FEW)
def loop_partitioned_outside_of_it(r: Range["n"], n: Size, k: Size, f: Body["r"], g: Body["r"]):
    """Halide 1344: the bound between the two loops was not clamped to the loop."""
    i, j = fresh(k), fresh(maximum(n - k, 0))
    return sum_over(r, where(r < k, f(r), g(r))), sum_over(i, f(i)) + sum_over(j, g(j + k))


@right(dtypes=[float32])
def four_iterations_unrolled(r: Range[4], f: Body["r"]):
    """Every compiler: unrolled in the order of the loop."""
    return sum_over(r, f(r)), f(0) + f(1) + f(2) + f(3)


@wrong(dtypes=[float32])
def four_iterations_unrolled_as_a_tree(r: Range[4], f: Body["r"]):
    """GPU reductions: pairs first."""
    return sum_over(r, f(r)), (f(0) + f(1)) + (f(2) + f(3))


@right(dtypes=SOME)
def even_and_odd_iterations(r: Range["n"], n: Size, f: Body["r"]):
    """Unroll by two with a remainder."""
    i, j = fresh((n + 1) // 2), fresh(n // 2)
    return sum_over(r, f(r)), sum_over(i, f(i * 2)) + sum_over(j, f(j * 2 + 1))


@wrong(dtypes=FEW)
def even_and_odd_iterations_without_remainder(r: Range["n"], n: Size, f: Body["r"]):
    """The same, where an odd extent was forgotten."""
    i, j = fresh(n // 2), fresh(n // 2)
    return sum_over(r, f(r)), sum_over(i, f(i * 2)) + sum_over(j, f(j * 2 + 1))


@wrong(dtypes=FEW)
def loop_of_doubled_steps(r: Range["n"], n: Size, f: Body["r"]):
    """A stride that has a factor in common with the extent visits half of the elements twice."""
    return sum_over(r, f((r * 2) % n)), sum_over(r, f(r))


# Guards -----------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def guard_becomes_the_bound(r: Range["n"], n: Size, k: Size, f: Body["r"]):
    """Halide, trimming of loops; tinygrad shrinks a range whose body is gated."""
    s = fresh(minimum(k, n))
    return sum_over(r, where(r < k, f(r), 0)), sum_over(s, f(s))


@wrong(dtypes=FEW)
def guard_becomes_the_bound_off_by_one(r: Range["n"], n: Size, k: Size, f: Body["r"]):
    """r <= k has one iteration more than r < k."""
    given(k < n)
    s = fresh(k)
    return sum_over(r, where(r <= k, f(r), 0)), sum_over(s, f(s))


@wrong(dtypes=[int8, int32])
def guard_of_a_max_becomes_the_bound(r: Range["n"], n: Size, k: Size, f: Body["r"]):
    """What the guard put in, 0, counts for a Max."""
    given(k <= n)
    s = fresh(k)
    return max_over(r, where(r < k, f(r), 0)), max_over(s, f(s))


@right(dtypes=SOME)
def guard_from_below(r: Range["n"], n: Size, k: Size, f: Body["r"]):
    """tinygrad, reduce collapse: the other side of the comparison."""
    given(k <= n)
    s = fresh(n - k)
    return sum_over(r, where(r < k, 0, f(r))), sum_over(s, f(s + k))


@right(dtypes=[int8, float32])
def guard_hoisted(c: Value[bool_], r: Range["n"], f: Body["r"]):
    """LLVM, loop unswitching."""
    return sum_over(r, where(c, f(r), 0)), where(c, sum_over(r, f(r)), 0)


@wrong(dtypes=[int8, float32])
def guard_of_a_max_hoisted(c: Value[bool_], r: Range["n"], f: Body["r"]):
    """The Max of no iterations is not 0."""
    return max_over(r, where(c, f(r), 0)), where(c, max_over(r, f(r)), 0)


@right(dtypes=[int8, float32])
def guard_of_a_max_hoisted_out_of_a_loop_that_runs(c: Value[bool_], r: Range["n"], n: Size, f: Body["r"]):
    """The same, where there is an iteration."""
    given(n > 0)
    return max_over(r, where(c, f(r), 0)), where(c, max_over(r, f(r)), 0)


@right(dtypes=SOME)
def every_fourth_iteration(r: Range["n"], n: Size, f: Body["r"]):
    """Polyhedral code generation: a modulo guard is a stride."""
    s = fresh((n + 3) // 4)
    return sum_over(r, where(r % 4 == 0, f(r), 0)), sum_over(s, f(s * 4))


@wrong(dtypes=FEW)
def every_fourth_iteration_rounded_down(r: Range["n"], n: Size, f: Body["r"]):
    """The last one is lost where four does not divide."""
    s = fresh(n // 4)
    return sum_over(r, where(r % 4 == 0, f(r), 0)), sum_over(s, f(s * 4))


@right(dtypes=SOME)
def window_of_a_guarded_loop(r: Range["n"], n: Size, a: Size, b: Size, f: Body["r"]):
    """Halide, a guard with two ends."""
    given(a <= b, b <= n)
    s = fresh(b - a)
    return sum_over(r, where((a <= r) & (r < b), f(r), 0)), sum_over(s, f(a + s))


# Closed forms -----------------------------------------------------------------------------------------------------


@right(dtypes=[index])
def sum_of_a_line(r: Range["n"], n: Size, a: Value, b: Value):
    """LLVM, ScalarEvolution: the exit value of an affine recurrence."""
    return sum_over(r, a * r + b), a * (n * (n - 1) // 2) + b * n


@wrong(dtypes=[index])
def sum_of_a_line_to_its_end(r: Range["n"], n: Size, a: Value, b: Value):
    """The formula for 1 to n, taken for 0 to n - 1."""
    return sum_over(r, a * r + b), a * (n * (n + 1) // 2) + b * n


@wrong(dtypes=[index])
def sum_of_a_line_halved_too_early(r: Range["n"], n: Size):
    """The division by two does not distribute."""
    return sum_over(r, r), (n // 2) * (n - 1)


@right(dtypes=[int8, uint8, int32])
def sum_of_a_constant_wraps_alike(r: Range["n"], n: Size, c: Value):
    """tinygrad, a Reduce of a constant: the count is cast, and wraps as the sum does."""
    return sum_over(r, c), n.cast(c.dtype) * c


@wrong(dtypes=[float16, float32])
def sum_of_a_constant_of_floats(r: Range["n"], n: Size, c: Value):
    """tinygrad, the same on floats: n additions round, one product rounds once."""
    return sum_over(r, c), n.cast(int32).cast(c.dtype) * c


@wrong(dtypes=[int8])
def product_of_a_constant(r: Range["n"], n: Size, c: Value):
    """A product of equal factors is a power, not a multiple."""
    given(n > 0)
    return prod_over(r, c), c * n.cast(c.dtype)


@right(dtypes=[index])
def arange_without_a_loop(r: Range["n"], s: Range["n"]):
    """tinygrad, arange as a sum over a triangle."""
    return sum_over(s, where(s <= r, 1, 0)) - 1, r


@wrong(dtypes=[index])
def arange_without_a_loop_off_by_one(r: Range["n"], s: Range["n"]):
    """tinygrad 12319 and before: the offset of an arange that was reduced away."""
    return sum_over(s, where(s < r, 1, 0)) - 1, r


@right(dtypes=[index])
def count_of_the_rest(r: Range["n"], n: Size, k: Value):
    """tinygrad, reduce collapse of a comparison from below."""
    return sum_over(r, where(r < k, 0, 1)), maximum(minimum(n - k, n), 0)


@right(dtypes=[index])
def telescope(r: Range["n"], q: Range["m"], m: Size, n: Size, f: Body["q"]):
    """Halide, differences of neighbours in a summed-area table."""
    given(m == n + 1)
    return sum_over(r, f(r + 1) - f(r)), f(n) - f(0)


@right(dtypes=SOME)
def sum_of_a_product_of_independent_bodies(r: Range["m"], s: Range["n"], f: Body["r"], g: Body["s"]):
    """Einsum planners: a product of two sums."""
    return sum_over(r, sum_over(s, f(r) * g(s))), sum_over(r, f(r)) * sum_over(s, g(s))


@wrong(dtypes=FEW)
def sum_of_a_product_of_bodies(r: Range["n"], f: Body["r"], g: Body["r"]):
    """Einsum planners, with one index too few."""
    return sum_over(r, f(r) * g(r)), sum_over(r, f(r)) * sum_over(r, g(r))


@wrong(dtypes=FEW)
def sum_of_quotients(r: Range["n"], f: Body["r"], c: Const):
    """A mean of integers: floor does not distribute over a sum."""
    given(c > 1)
    return sum_over(r, f(r) // c), sum_over(r, f(r)) // c


@right(dtypes=[index, int8])
def max_of_quotients(r: Range["n"], n: Size, f: Body["r"], c: Const):
    """Halide, bounds of a division by a positive constant: floor is monotone."""
    given(n > 0, c > 0)
    return max_over(r, f(r) // c), max_over(r, f(r)) // c


@wrong(dtypes=[int8])
def max_of_quotients_of_nothing(r: Range["n"], f: Body["r"], c: Const):
    """The least value divided is no longer the least value."""
    given(c > 1)
    return max_over(r, f(r) // c), max_over(r, f(r)) // c


@wrong(but=[index], dtypes=[index, int8])
def max_of_multiples(r: Range["n"], n: Size, f: Body["r"], c: Const):
    """tinygrad, Max through a Mul by a positive constant; in a dtype that wraps it is not monotone."""
    given(n > 0, c > 0)
    return max_over(r, f(r) * c), max_over(r, f(r)) * c


@right(dtypes=[float32])
def max_of_doubled_floats(r: Range["n"], f: Body["r"]):
    """XLA, a positive scale moved out of a Max: rounding is monotone, and nothing overflows but to infinity."""
    return max_over(r, f(r) * 2.0), max_over(r, f(r)) * 2.0


@wrong(dtypes=[float32])
def max_of_negated_floats(r: Range["n"], n: Size, f: Body["r"]):
    """A negative scale turns a Max into a Min."""
    given(n > 0)
    return max_over(r, f(r) * -1.0), max_over(r, f(r)) * -1.0


@wrong(dtypes=[float32])
def max_of_floats_with_any_scale(r: Range["n"], f: Body["r"], c: Value):
    """The scale may be infinity, and 0 times infinity is NaN."""
    given(c > 0)
    return max_over(r, f(r) * c), max_over(r, f(r)) * c


# Bounds -----------------------------------------------------------------------------------------------------------


@wrong(dtypes=[index])
def count_is_less_than_the_extent(r: Range["n"], n: Size, b: Body["r", bool_]):
    """All of them may be true, and there may be none."""
    return claim(sum_over(r, where(b(r), 1, 0)) < n)


@wrong(dtypes=[float32])
def max_of_floats_is_reached_from_above(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """tinygrad 862: no comparison with NaN holds."""
    given(k >= 0, k < n)
    return claim(f(k) <= max_over(r, f(r)))


# Any and all ------------------------------------------------------------------------------------------------------


@right()
def not_any_is_all_not(r: Range["n"], b: Body["r", bool_]):
    """De Morgan, over a loop."""
    return ~max_over(r, b(r)), prod_over(r, ~b(r))


@wrong()
def not_any_is_any_not(r: Range["n"], b: Body["r", bool_]):
    """De Morgan, forgotten."""
    return ~max_over(r, b(r)), max_over(r, ~b(r))


@wrong()
def any_by_counting_in_bytes(r: Range["n"], b: Body["r", bool_]):
    """cumo 224 and others: 256 of them count as none."""
    return sum_over(r, b(r).cast(uint8)) > 0, max_over(r, b(r))


@right(dtypes=[int8, int32])
def any_below(r: Range["n"], n: Size, f: Body["r"], c: Value):
    """A comparison moved out of a Max."""
    given(n > 0)
    return max_over(r, c < f(r)), c < max_over(r, f(r))


@wrong(dtypes=[int8, int32])
def any_above(r: Range["n"], n: Size, f: Body["r"], c: Value):
    """Of the least, not of the greatest, asks the other comparison."""
    given(n > 0)
    return max_over(r, f(r) < c), max_over(r, f(r)) < c


# Rotations ---------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def loop_rotated(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """Halide, storage reducing: a circular buffer is summed from any start."""
    return sum_over(r, f((r + k) % n)), sum_over(r, f(r))


@right(dtypes=[int8, float16])
def maximum_rotated_backwards(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """The greatest is found whichever way the buffer is gone round."""
    return max_over(r, f((k - r) % n)), max_over(r, f(r))


@right(dtypes=FEW)
def loops_rotated_together(r: Range["n"], k: Value[index], n: Size, f: Body["r"], g: Body["r"]):
    """Two circular buffers in step."""
    return sum_over(r, f((r + k) % n) * g((r + k) % n)), sum_over(r, f(r) * g(r))


@right(dtypes=FEW)
def loop_rotated_by_two_amounts(r: Range["n"], j: Value[index], k: Value[index], n: Size, f: Body["r"]):
    """From one start as from another."""
    return sum_over(r, f((r + j) % n)), sum_over(r, f((r + k) % n))


@right(dtypes=FEW)
def loop_of_eight_rotated(r: Range[8], f: Body["r"]):
    """A known number of elements."""
    return sum_over(r, f((r + 3) % 8)), sum_over(r, f(r))


@right(dtypes=[int8])
def loop_rotated_by_a_choice(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """The remainder as a comparison and a difference."""
    given(k >= 0, k <= n)
    return sum_over(r, f(where(r + k < n, r + k, r + k - n))), sum_over(r, f(r))


@wrong(dtypes=[float16])
def float_loop_rotated(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """Floats are summed in another order then."""
    return sum_over(r, f((r + k) % n)), sum_over(r, f(r))


@wrong(dtypes=FEW)
def loop_rotated_in_a_smaller_buffer(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """One place is met twice and one never."""
    given(n > 1)
    return sum_over(r, f((r + k) % (n - 1))), sum_over(r, f(r))


@wrong(dtypes=FEW)
def loop_rotated_with_a_stride(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """A stride of two goes round twice where the extent is even."""
    return sum_over(r, f((2 * r + k) % n)), sum_over(r, f(r))


@wrong(dtypes=FEW)
def loops_rotated_apart(r: Range["n"], k: Value[index], n: Size, f: Body["r"], g: Body["r"]):
    """Only one of two buffers is turned."""
    return sum_over(r, f((r + k) % n) * g(r)), sum_over(r, f(r) * g(r))


@wrong(dtypes=FEW)
def loop_rotated_without_its_last(r: Range["n"], k: Value[index], n: Size, f: Body["r"]):
    """The last iteration is left out."""
    given(n > 0)
    i = fresh(n - 1)
    return sum_over(r, f((r + k) % n)), sum_over(i, f(i))


# Tiles that overlap -----------------------------------------------------------------------------------------------


@right(dtypes=WRAPPING)
def last_tile_shifted_inwards(r: Range["n"], n: Size, f: Body["r"]):
    """Halide, TailStrategy::ShiftInwards: what is computed twice does no harm to a Max."""
    given(n >= 8)
    i, j = fresh((n + 7) // 8), fresh(8)
    return max_over(r, f(r)), max_over((i, j), f(minimum(i * 8, n - 8) + j))


@right(dtypes=[int8, float16])
def last_tile_of_any_size_shifted_inwards(r: Range["n"], n: Size, t: Size, f: Body["r"]):
    """The same of a symbolic factor."""
    given(n >= t, t > 0)
    i, j = fresh((n + t - 1) // t), fresh(t)
    return max_over(r, f(r)), max_over((i, j), f(minimum(i * t, n - t) + j))


@wrong(dtypes=[int8])
def sum_of_a_tile_shifted_inwards(r: Range["n"], n: Size, f: Body["r"]):
    """Halide refuses it for updates: what is summed twice counts twice."""
    given(n >= 8)
    i, j = fresh((n + 7) // 8), fresh(8)
    return sum_over(r, f(r)), sum_over((i, j), f(minimum(i * 8, n - 8) + j))


@wrong(dtypes=[int8])
def last_tile_shifted_but_left_out(r: Range["n"], n: Size, f: Body["r"]):
    """The number of tiles is rounded down."""
    given(n >= 8)
    i, j = fresh(n // 8), fresh(8)
    return max_over(r, f(r)), max_over((i, j), f(minimum(i * 8, n - 8) + j))


@wrong(dtypes=[int8])
def last_tile_shifted_by_one_too_many(r: Range["n"], n: Size, f: Body["r"]):
    """The last element is not reached."""
    given(n >= 9)
    i, j = fresh((n + 7) // 8), fresh(8)
    return max_over(r, f(r)), max_over((i, j), f(minimum(i * 8, n - 9) + j))


@wrong(dtypes=[int8])
def halves_that_do_not_meet(r: Range["n"], n: Size, k: Size, f: Body["r"]):
    """One element may lie between them."""
    given(k <= n, n <= 2 * k + 1)
    i = fresh(k)
    return max_over(r, f(r)), maximum(max_over(i, f(i)), max_over(i, f(n - k + i)))


# Bounds of a maximum ----------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def max_is_reached_from_above(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Bounds of a Max: no element exceeds it."""
    given(k >= 0, k < n)
    return claim(f(k) <= max_over(r, f(r)), max_over(r, f(r)) >= f(k), ~(max_over(r, f(r)) < f(k)))


@right(dtypes=[int8])
def max_of_a_part_is_no_greater(r: Range["n"], s: Range["m"], n: Size, m: Size, f: Body["r"]):
    """Nor does the maximum of some of them."""
    given(m <= n)
    return claim(max_over(s, f(s)) <= max_over(r, f(r)))


@right(dtypes=[int8])
def max_of_one_is_no_greater_than_that_of_two(r: Range["n"], f: Body["r"], g: Body["r"]):
    """Nor that of what is joined with something."""
    return claim(max_over(r, f(r)) <= max_over(r, maximum(f(r), g(r))))


@wrong(dtypes=[int8])
def max_is_never_reached(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """The greatest element is as great as the maximum."""
    given(k >= 0, k < n)
    return claim(f(k) < max_over(r, f(r)))


@wrong(dtypes=[float16])
def float_max_is_reached_from_above(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """A NaN is at most nothing."""
    given(k >= 0, k < n)
    return claim(f(k) <= max_over(r, f(r)))


@wrong(dtypes=[int8])
def max_of_fewer_is_as_great(r: Range["n"], s: Range["m"], n: Size, m: Size, f: Body["r"]):
    """The greatest may be among the others."""
    given(m <= n)
    return claim(max_over(r, f(r)) <= max_over(s, f(s)))


@wrong(dtypes=[int8])
def max_lowered_is_reached(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """Each element one less."""
    given(k >= 0, k < n)
    return claim(f(k) <= max_over(r, f(r) - 1))


@wrong(dtypes=[int8])
def sum_is_reached_from_above(r: Range["n"], n: Size, f: Body["r"], k: Value[index]):
    """What holds of a maximum does not hold of a sum."""
    given(k >= 0, k < n)
    return claim(f(k) <= sum_over(r, f(r)))


# Counts -----------------------------------------------------------------------------------------------------------


@right(dtypes=[index])
def any_by_counting(r: Range["n"], b: Body["r", bool_]):
    """numpy and tinygrad: a count that is not 0."""
    return sum_over(r, where(b(r), 1, 0)) > 0, max_over(r, b(r))


@right(dtypes=[index])
def none_by_counting(r: Range["n"], b: Body["r", bool_]):
    """A count that is 0."""
    return sum_over(r, where(b(r), 1, 0)) == 0, ~max_over(r, b(r))


@right(dtypes=[int8])
def any_by_counting_few(r: Range["n"], n: Size, b: Body["r", bool_]):
    """A count that fits its dtype."""
    given(n <= 127)
    return sum_over(r, where(b(r), 1, 0)) >= 1, max_over(r, b(r))


@wrong(dtypes=[int8])
def any_by_counting_too_many(r: Range["n"], n: Size, b: Body["r", bool_]):
    """A count that does not: 128 of them are less than none."""
    given(n <= 128)
    return sum_over(r, where(b(r), 1, 0)) >= 1, max_over(r, b(r))


@wrong(dtypes=[index])
def two_by_counting(r: Range["n"], b: Body["r", bool_]):
    """More than one."""
    return sum_over(r, where(b(r), 1, 0)) > 1, max_over(r, b(r))


@wrong(dtypes=[index])
def any_by_counting_with_signs(r: Range["n"], b: Body["r", bool_], c: Body["r", bool_]):
    """What is taken off may make it nothing."""
    return sum_over(r, where(b(r), 1, 0) - where(c(r), 1, 0)) != 0, max_over(r, b(r))


@wrong(dtypes=[index])
def any_by_adding_up(r: Range["n"], b: Body["r", bool_], f: Body["r", index]):
    """Numbers of both signs may cancel."""
    return sum_over(r, where(b(r), f(r), 0)) != 0, max_over(r, where(b(r), f(r) != 0, False))


# Triangles --------------------------------------------------------------------------------------------------------


@right(dtypes=FEW)
def guard_as_an_inner_bound(i: Range["n"], j: Range["n"], f: Body["i", "j"]):
    """Halide and polyhedral compilers: a guard becomes the bound of the inner loop."""
    k = fresh(i + 1)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), 0))), sum_over(i, sum_over(k, f(i, k)))


@right(dtypes=FEW)
def triangle_by_columns(i: Range["n"], j: Range["n"], n: Size, f: Body["i", "j"]):
    """Loop interchange in a triangle: the column first, then what lies below its diagonal."""
    c = fresh(n)
    d = fresh(n - c)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), 0))), sum_over(c, sum_over(d, f(c + d, c)))


@right(dtypes=[float16])
def float_guard_as_an_inner_bound(i: Range["n"], j: Range["n"], f: Body["i", "j"]):
    """What is neutral is left out of each row, in order."""
    k = fresh(i + 1)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), -0.0))), sum_over(i, sum_over(k, f(i, k)))


@right(dtypes=[index])
def triangular_number(i: Range["n"]):
    """A loop that only counts."""
    k = fresh(i + 1)
    return sum_over(i, i + 1), sum_over(i, sum_over(k, 1))


@wrong(dtypes=FEW)
def triangle_without_its_diagonal(i: Range["n"], j: Range["n"], f: Body["i", "j"]):
    """The bound of the inner loop is one too small."""
    k = fresh(i)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), 0))), sum_over(i, sum_over(k, f(i, k)))


@wrong(dtypes=FEW)
def triangle_by_columns_turned(i: Range["n"], j: Range["n"], n: Size, f: Body["i", "j"]):
    """The other triangle."""
    c = fresh(n)
    d = fresh(n - c)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), 0))), sum_over(c, sum_over(d, f(c, c + d)))


@wrong(dtypes=FEW)
def triangle_by_columns_too_long(i: Range["n"], j: Range["n"], n: Size, f: Body["i", "j"]):
    """One row too many is read."""
    c = fresh(n)
    d = fresh(n - c + 1)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), 0))), sum_over(c, sum_over(d, f(c + d, c)))


@wrong(dtypes=[float16])
def float_triangle_by_columns(i: Range["n"], j: Range["n"], n: Size, f: Body["i", "j"]):
    """Floats are summed in another order then."""
    c = fresh(n)
    d = fresh(n - c)
    return sum_over(i, sum_over(j, where(j <= i, f(i, j), -0.0))), sum_over(c, sum_over(d, f(c + d, c)))


# Rules that say nothing -------------------------------------------------------------------------------------------


@vacuous(dtypes=[index, int8])
def loop_that_ends_before_it_starts(r: Range["n"], n: Size, f: Body["r"]):
    """A bound with the wrong sign."""
    given(n < 0)
    return sum_over(r, f(r)), f(0)


@vacuous(dtypes=[index, int8])
def guard_that_contradicts_the_range(r: Range[4], f: Body["r"], k: Value[index]):
    """An index within the range and beyond it."""
    given(k < 4, k - 4 >= 0)
    return sum_over(r, where(r == k, f(r), 0)), f(k)


@vacuous(dtypes=[index, int8])
def interchange_of_nothing(r: Range["m"], s: Range["n"], f: Body["r", "s"]):
    """Both sides are one term."""
    return sum_over(r, sum_over(s, f(r, s))), sum_over(r, sum_over(s, f(r, s)))
