"""Rules over truth values: muxes, absorption, consensus; and what happens when two of them are confused."""

from __future__ import annotations

from soundline.verify import (
    Bool,
    given,
    int32,
    maximum,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


@right()
def absorption(a: Bool, b: Bool):
    """Boole."""
    return a & (a | b), a


@right()
def absorption_of_the_negated(a: Bool, b: Bool):
    """LLVM, InstCombine."""
    return a | (~a & b), a | b


@wrong()
def absorption_of_the_negated_by_and(a: Bool, b: Bool):
    """LLVM, InstCombine, with one sign exchanged."""
    return a | (~a & b), a & b


@right()
def distribution(a: Bool, b: Bool, c: Bool):
    """Boole."""
    return (a | b) & (a | c), a | (b & c)


@wrong()
def distribution_without_parentheses(a: Bool, b: Bool, c: Bool):
    """Precedence."""
    return (a | b) & c, a | (b & c)


@right()
def de_morgan(a: Bool, b: Bool):
    """De Morgan."""
    return ~(a | b), ~a & ~b


@wrong()
def de_morgan_half(a: Bool, b: Bool):
    """De Morgan, half done."""
    return ~(a & b), ~a & ~b


@right()
def double_negation(a: Bool):
    """Aristotle."""
    return ~~a, a


@right()
def xor_is_associative(a: Bool, b: Bool, c: Bool):
    """Parity."""
    return (a ^ b) ^ c, a ^ (b ^ c)


@right()
def and_over_xor(a: Bool, b: Bool, c: Bool):
    """Zhegalkin."""
    return a & (b ^ c), (a & b) ^ (a & c)


@wrong()
def xor_over_and(a: Bool, b: Bool, c: Bool):
    """Zhegalkin, the wrong way round."""
    return a ^ (b & c), (a ^ b) & (a ^ c)


@wrong()
def xor_over_or(a: Bool, b: Bool, c: Bool):
    """The same for or."""
    return a ^ (b | c), (a ^ b) | (a ^ c)


@right()
def xor_by_and_and_or(a: Bool, b: Bool):
    """Gates."""
    return (a | b) & ~(a & b), a ^ b


@right()
def consensus(a: Bool, b: Bool, c: Bool):
    """Quine's consensus."""
    return (a & b) | (~a & c) | (b & c), (a & b) | (~a & c)


@wrong()
def consensus_of_the_wrong_term(a: Bool, b: Bool, c: Bool):
    """Quine's consensus: only the third term is needless."""
    return (a & b) | (~a & c) | (b & c), (a & b) | (b & c)


@right()
def majority(a: Bool, b: Bool, c: Bool):
    """A full adder's carry."""
    return (a & b) | (a & c) | (b & c), (a & (b ^ c)) ^ (b & c)


@right()
def majority_with_or(a: Bool, b: Bool, c: Bool):
    """A full adder's carry."""
    return (a & b) | (a & c) | (b & c), (a & b) | ((a ^ b) & c)


@right()
def mux_of_bools(c: Bool, a: Bool, b: Bool):
    """LLVM, InstCombine: select of i1."""
    return where(c, a, b), (c & a) | (~c & b)


@wrong()
def mux_of_bools_unguarded(c: Bool, a: Bool, b: Bool):
    """LLVM, InstCombine: one guard forgotten."""
    return where(c, a, b), (c & a) | b


@right()
def mux_with_false(c: Bool, a: Bool):
    """LLVM, InstCombine."""
    return where(c, a, c), c & a


@right()
def mux_with_true(c: Bool, a: Bool):
    """LLVM, InstCombine."""
    return where(c, c, a), c | a


@right()
def mux_negated(c: Bool, a: Bool):
    """LLVM, InstCombine."""
    return where(c, ~a, a), c ^ a


@wrong()
def implication_is_or(c: Bool, a: Bool):
    """The sign of the premise."""
    return where(c, a, a == a), c | a


@right()
def implication(c: Bool, a: Bool):
    """The premise negated."""
    return where(c, a, a == a), ~c | a


@right()
def inequality_is_xor(a: Bool, b: Bool):
    """LLVM: icmp ne of i1."""
    return a != b, a ^ b


@right()
def order_of_bools(a: Bool, b: Bool):
    """False is less than True."""
    return a < b, ~a & b


@wrong()
def order_of_bools_reversed(a: Bool, b: Bool):
    """LLVM: a signed i1 has it the other way round."""
    return a < b, a & ~b


@right()
def order_of_bools_or_equal(a: Bool, b: Bool):
    """False is less than True."""
    return a <= b, ~a | b


@right()
def maximum_is_or(a: Bool, b: Bool):
    """Reductions over masks."""
    return maximum(a, b), a | b


@right()
def product_is_and(a: Bool, b: Bool):
    """Reductions over masks."""
    return a * b, a & b


@wrong()
def product_is_or(a: Bool, b: Bool):
    """Reductions over masks, confused."""
    return a * b, a | b


@right()
def two_muxes_of_one_condition(c: Bool, a: Bool, b: Bool, d: Bool, e: Bool):
    """LLVM, InstCombine."""
    return where(c, a, b) & where(c, d, e), where(c, a & d, b & e)


@right()
def known_condition(a: Bool, b: Bool):
    """Conditional constant propagation."""
    given(a == b)
    return a ^ b, a & ~a


@right()
def numbers_of_bools(a: Bool, b: Bool):
    """Counting with bools."""
    return a.cast(int32) + b.cast(int32), (a ^ b).cast(int32) + 2 * (a & b).cast(int32)


@wrong()
def sum_of_bools_is_or(a: Bool, b: Bool):
    """Counting with bools, which go beyond one."""
    return a.cast(int32) + b.cast(int32), (a | b).cast(int32)


@vacuous()
def contradiction(a: Bool, b: Bool):
    """A condition and its opposite."""
    given(a == b, a != b)
    return a & b, a


@vacuous()
def contradiction_in_one(a: Bool, b: Bool):
    """A condition and its opposite, joined."""
    given((a == b) & ~(a == b))
    return a | b, a


@vacuous()
def same_on_both_sides(a: Bool, b: Bool):
    """A typing slip."""
    return a & b, a & b
