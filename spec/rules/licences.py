"""
Licences
========

A licence is a permission that a program grants and a rewrite rule needs (U-09). Each is an equational theory, and only
that one (U-53): a rule under licences is right where both sides are equal by their equations and by what holds of the
operations bit for bit. NaN, infinities and the sign of zero are excluded only by the licences that say so.
"""

from __future__ import annotations

from typing import Final

LICENCES: Final[dict[str, str]] = {
    "reassociate": "Any order of the members of a chain of one associative op, or of the elements of a reduction: "
    "(a + b) + c = a + (b + c), (a · b) · c = a · (b · c). Nothing is distributed over a sum, and nothing cancels.",
    "contract": "a · b + c in one rounding or in two. No op of the language rounds once (Mulacc is two roundings), so "
    "that between programs it adds no equation; what renders a program may fuse.",
    "reciprocal": "A quotient is a product with a reciprocal, each rounded: x / y = x · (1 / y).",
    "approx": "An op is replaced by something that is near by a stated bound. Between programs of which no bound is "
    "stated it adds no equation.",
    "no_nan": "No input and no float on the way is NaN: where a float of the left side is, nothing is claimed.",
    "no_signed_zero": "The sign of a zero does not matter in the result; inside of other ops it does.",
    "tensor_core": "A product of matrices is accumulated as the hardware does it, within the bound of its "
    "configuration. Between programs it adds no equation.",
    "tf32": "The inputs of a product of matrices lose 13 bits of their mantissa. Between programs it adds no equation.",
}
"""What each licence of U-09 permits, by name."""
